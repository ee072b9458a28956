"""Rules of `kafka.cluster.Partition`: ISR changes by the leader and what became of them.

"Shrinking" and "Expanding" are intentions, "ISR updated" is the proof. A state that was refused fills no column.
"""

from __future__ import annotations

from udfs.rules.rule import Rule

PARTITION = ("kafka.cluster.Partition", "kafka.cluster.Partition$")
# the state a leader asked for or was given
LEADER_AND_ISR = (
    "LeaderAndIsr(leader=<leader>, leaderEpoch=<leader_epoch>, isr<?WithBrokerEpoch?>=<isr:list>, "
    "<?leaderRecoveryState=<leader_recovery_state:word>, "
    "?><?zkVersion?><?partitionEpoch?>=<partition_epoch>)"
)
# an ISR change under way; more fields follow from 3.1 on
PENDING = (
    "<pending_change:word>(<?isr=<_:list>, "
    "?><?outOfSyncReplicaIds=<out_of_sync_replica_ids:list>?><?newInSyncReplicaId=<new_in_sync_replica_id"
    ":int>?>"
)

RULES: tuple[Rule, ...] = (
    Rule(
        "isr_expanding",
        PARTITION,
        text="Expanding ISR <?for partition <tp> ?>from <old_isr:csv> to <isr:csv>",
        sample="[Partition pay-in-3 broker=4] Expanding ISR from 4 to 4,5",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "old_isr": "4", "isr": [4, 5]},
        since="0.8.0",
        until="2.7.2",
    ),
    Rule(
        "isr_shrinking",
        PARTITION,
        text=(
            "Shrinking ISR <?for partition <tp> ?>from <old_isr:csv> to <isr:csv><?. Leader: (highWatermark: "
            "<high_watermark>, endOffset: <leader_end_offset:int>). Out of sync replicas: "
            "<out_of_sync_replicas:text><?.?>?>"
        ),
        sample=(
            "[Partition pay-in-3 broker=4] Shrinking ISR from 4,6,5 to 4,5. Leader: (highWatermark: 880, "
            "endOffset: 902). Out of sync replicas: (brokerId: 6, endOffset: 881, lastCaughtUpTimeMs: unknown)."
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "old_isr": "4,6,5",
            "isr": [4, 5],
            "high_watermark": "880",
            "leader_end_offset": "902",
            "out_of_sync_replicas": "(brokerId: 6, endOffset: 881, lastCaughtUpTimeMs: unknown)",
        },
        since="0.8.0",
    ),
    Rule(
        "isr_updated",
        PARTITION,
        text=(
            "ISR updated <?from AlterIsr ?>to <?[?><isr:csv><?]?><? ?><? (<under_min_isr:word>)?> and "
            "<?version?><?zkVersion?> updated to <?[?><partition_epoch><?]?>"
        ),
        sample="[Partition pay-in-3 broker=4] ISR updated to 4,5 (under-min-isr) and version updated to 31",
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "isr": [4, 5],
            "under_min_isr": "under-min-isr",
            "partition_epoch": 31,
        },
        since="2.4.0",
    ),
    Rule(
        "isr_updated",
        PARTITION,
        text="ISR updated to [<isr:replica_objects>] and zkVersion updated to [<partition_epoch>]",
        sample=(
            "Partition [pay-in,3] on broker 4: ISR updated to [ReplicaId: 4; Topic: pay-in; Partition: 3; "
            "isLocal: true; Highwatermark: 880 [0 : 51200],ReplicaId: 5; Topic: pay-in; Partition: 3; isLocal: "
            "false] and zkVersion updated to [31]"
        ),
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "isr": [4, 5], "partition_epoch": 31},
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "isr_updated",
        PARTITION,
        text="Updated ISR for partition <tp> to <isr:replica_objects>",
        sample=(
            "Partition [pay-in,3] on broker 4: Updated ISR for partition pay-in-3 to ReplicaId: 4; Topic: "
            "pay-in; Partition: 3; isLocal: true; Highwatermark: 880 [0 : 51200],ReplicaId: 5; Topic: pay-in; "
            "Partition: 3; isLocal: false"
        ),
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "isr": [4, 5]},
        since="0.8.0",
        until="0.8.1.1",
    ),
    Rule(
        "isr_update_rejected_by_zk",
        PARTITION,
        text="Cached zkVersion <?[?><partition_epoch><?]?> not equal to that in zookeeper, skip updating ISR",
        sample="[Partition pay-in-3 broker=4] Cached zkVersion 31 not equal to that in zookeeper, skip updating ISR",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "partition_epoch": 31},
        since="0.8.0",
        until="2.7.2",
    ),
    Rule(
        "leader_epoch_started",
        PARTITION,
        text=(
            "<tp> starts at <?Leader Epoch?><?leader epoch?> <leader_epoch> from offset <start_offset:int><? "
            "with high watermark <high_watermark>?>. Previous <?Leader Epoch was:?><?leader epoch was?> "
            "<previous_leader_epoch><?.?>"
        ),
        sample=(
            "[Partition pay-in-3 broker=4] pay-in-3 starts at leader epoch 12 from offset 902 with high "
            "watermark 880. Previous leader epoch was 11."
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "leader_epoch": 12,
            "start_offset": "902",
            "high_watermark": "880",
            "previous_leader_epoch": "11",
        },
        since="0.11.0.0",
        until="2.5.1",
    ),
    Rule(
        "replica_log_no_checkpointed_hw",
        PARTITION,
        text="No checkpointed highwatermark is found for partition <tp>",
        sample="[Partition pay-in-3 broker=4] No checkpointed highwatermark is found for partition pay-in-3",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4},
        since="0.8.1",
    ),
    Rule(
        "replica_log_exists",
        PARTITION,
        text="<?Future ?><?Unified?>Log already exists.",
        sample="[Partition pay-in-3 broker=4] Future UnifiedLog already exists.",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4},
        since="2.4.0",
    ),
    Rule(
        "replica_log_loaded",
        PARTITION,
        text="Log loaded for partition <tp> with initial high watermark <high_watermark>",
        sample="[Partition pay-in-3 broker=4] Log loaded for partition pay-in-3 with initial high watermark 880",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "high_watermark": "880"},
        since="2.4.0",
    ),
    Rule(
        "replicas_out_of_sync",
        PARTITION,
        text=(
            "<?Possibly stuck?><?Stuck?><?Slow?><?Lagging?> replicas<? for partition <tp>?> are <lagging_replicas:csv>"
        ),
        sample="[Partition pay-in-3 broker=4] Lagging replicas are 4,5",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "lagging_replicas": "4,5"},
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "follower_position_recorded",
        PARTITION,
        text="Recording follower <replica> position <offset> for partition <tp>.",
        sample="Partition [pay-in,3] on broker 4: Recording follower 6 position 23 for partition pay-in-3.",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "replica": "6", "offset": "23"},
        since="0.8.0",
        until="0.8.1.1",
    ),
    Rule(
        "follower_position_recorded",
        PARTITION,
        text=(
            "Recorded replica <replica> log end offset (LEO) position <offset><? and log start offset "
            "<log_start_offset:int>?><? for partition <tp>?>."
        ),
        sample=(
            "[Partition pay-in-3 broker=4] Recorded replica 6 log end offset (LEO) position 23 and log start offset 23."
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "replica": "6",
            "offset": "23",
            "log_start_offset": "23",
        },
        since="0.9.0.0",
    ),
    Rule(
        "follower_position_rejected",
        PARTITION,
        text=(
            "Leader <leader> failed to record follower <replica>'s position <offset>, and last sent high "
            "watermark since the replica is not recognized to be one of the assigned replicas <replicas:csv> for "
            "leader epoch <leader_epoch> with partition epoch <partition_epoch>"
        ),
        sample=(
            "[Partition pay-in-3 broker=4] Leader 4 failed to record follower 7's position 23, and last sent "
            "high watermark since the replica is not recognized to be one of the assigned replicas 4,5,6 for "
            "leader epoch 12 with partition epoch 31"
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "leader": 4,
            "replica": "7",
            "offset": "23",
            "replicas": [4, 5, 6],
            "leader_epoch": 12,
            "partition_epoch": 31,
        },
        since="3.3.0",
    ),
    Rule(
        "high_watermark_updated",
        PARTITION,
        text="Highwatermark for partition <tp> updated to <high_watermark>",
        sample="Partition [pay-in,3] on broker 4: Highwatermark for partition pay-in-3 updated to 880",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "high_watermark": "880"},
        since="0.8.0",
        until="0.8.1.1",
    ),
    Rule(
        "high_watermark_updated",
        PARTITION,
        text=(
            "High watermark <?for partition <tp> ?>updated <?from (offset=<old_high_watermark:int><_:text>) ?>to "
            "<?(offset=?><high_watermark><_:rest>"
        ),
        sample=(
            "[Partition pay-in-3 broker=4] High watermark updated from (offset=870 segment=[0:51100]) to "
            "(offset=880 segment=[0:51200])"
        ),
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "old_high_watermark": "870", "high_watermark": "880"},
        since="0.8.2.0",
    ),
    Rule(
        "partition_log_delete_failed",
        PARTITION,
        text="Error deleting the log for partition <tp>",
        sample="[Partition pay-in-3 broker=4] Error deleting the log for partition pay-in-3",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4},
        since="0.8.1",
        until="0.11.0.3",
    ),
    Rule(
        "follower_log_start_reset",
        PARTITION,
        text=(
            "Unexpected offset in append to <tp>. First offset <first_offset:int> is less than log start offset "
            "<log_start_offset:int>. Since this is the first record to be appended to the "
            "<?follower?><?future replica?>'s log, will start the log from offset <_:int>."
        ),
        sample=(
            "[Partition pay-in-3 broker=4] Unexpected offset in append to pay-in-3. First offset 23 is less than "
            "log start offset 23. Since this is the first record to be appended to the future replica's log, will "
            "start the log from offset 23."
        ),
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "first_offset": "23", "log_start_offset": "23"},
        since="1.0.2",
    ),
    Rule(
        "isr_change_submitted",
        PARTITION,
        text=("Sent `AlterIsr` request to change state to " + LEADER_AND_ISR + " after transition to " + PENDING + ")"),
        sample=(
            "[Partition pay-in-3 broker=4] Sent `AlterIsr` request to change state to LeaderAndIsr(leader=4, "
            "leaderEpoch=12, isr=List(4, 5), zkVersion=31) after transition to PendingShrinkIsr(isr=Set(4, 5, "
            "6), outOfSyncReplicaIds=Set(6))"
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "partition_epoch": 31,
            "pending_change": "PendingShrinkIsr",
            "out_of_sync_replica_ids": "Set(6)",
        },
        since="2.7.0",
        until="2.7.2",
    ),
    Rule(
        "isr_change_submitted",
        PARTITION,
        text=("Enqueued ISR change to state " + LEADER_AND_ISR + " after transition to " + PENDING + ")"),
        sample=(
            "[Partition pay-in-3 broker=4] Enqueued ISR change to state LeaderAndIsr(leader=4, leaderEpoch=12, "
            "isr=List(4, 5), zkVersion=31) after transition to PendingShrinkIsr(isr=Set(4, 5, 6), "
            "outOfSyncReplicaIds=Set(6))"
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "partition_epoch": 31,
            "pending_change": "PendingShrinkIsr",
            "out_of_sync_replica_ids": "Set(6)",
        },
        since="2.8.0",
        until="3.0.2",
    ),
    Rule(
        "isr_change_submitted",
        PARTITION,
        text=("Submitting ISR state change " + PENDING + ", sentLeaderAndIsr=" + LEADER_AND_ISR + "<_:rest>)"),
        sample=(
            "[Partition pay-in-3 broker=4] Submitting ISR state change "
            "PendingShrinkIsr(outOfSyncReplicaIds=Set(6), sentLeaderAndIsr=LeaderAndIsr(leader=4, "
            "leaderEpoch=12, isrWithBrokerEpoch=List(BrokerState(brokerId=4, brokerEpoch=348), "
            "BrokerState(brokerId=5, brokerEpoch=-1)), leaderRecoveryState=RECOVERED, partitionEpoch=31), "
            "leaderRecoveryState=RECOVERED, lastCommittedState=CommittedPartitionState(isr=Set(4, 5, 6), "
            "leaderRecoveryState=RECOVERED))"
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "pending_change": "PendingShrinkIsr",
            "out_of_sync_replica_ids": "Set(6)",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "leader_recovery_state": "RECOVERED",
            "partition_epoch": 31,
        },
        since="3.1.0",
    ),
    Rule(
        "isr_change_submit_failed",
        PARTITION,
        text=("Failed to enqueue ISR change state " + LEADER_AND_ISR + " for partition <tp>"),
        sample=(
            "[Partition pay-in-3 broker=4] Failed to enqueue ISR change state LeaderAndIsr(leader=4, "
            "leaderEpoch=12, isr=List(4, 5), zkVersion=31) for partition pay-in-3"
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "partition_epoch": 31,
        },
        since="3.0.0",
        until="3.0.2",
    ),
    Rule(
        "isr_change_failed",
        PARTITION,
        text=(
            "Controller failed to update ISR to "
            + PENDING
            + "<?, <_:text>?>) due to unexpected <error:word>. Retrying."
        ),
        sample=(
            "[Partition pay-in-3 broker=4] Controller failed to update ISR to PendingShrinkIsr(isr=Set(4, 5, 6), "
            "outOfSyncReplicaIds=Set(6)) due to unexpected NOT_CONTROLLER. Retrying."
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "pending_change": "PendingShrinkIsr",
            "out_of_sync_replica_ids": "Set(6)",
            "error": "NOT_CONTROLLER",
        },
        since="2.7.0",
        until="2.7.2",
    ),
    Rule(
        "isr_change_failed",
        PARTITION,
        text=(
            "Failed to <?update ISR?><?alter partition?> to "
            + PENDING
            + "<?, <_:text>?>) due to unexpected <error:word>. Retrying."
        ),
        sample=(
            "[Partition pay-in-3 broker=4] Failed to update ISR to PendingShrinkIsr(isr=Set(4, 5, 6), "
            "outOfSyncReplicaIds=Set(6), sentLeaderAndIsr=LeaderAndIsr(leader=4, leaderEpoch=12, isr=List(4, 5), "
            "zkVersion=31)) due to unexpected NETWORK_EXCEPTION. Retrying."
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "pending_change": "PendingShrinkIsr",
            "out_of_sync_replica_ids": "Set(6)",
            "error": "NETWORK_EXCEPTION",
        },
        since="2.8.0",
    ),
    Rule(
        "isr_change_rejected",
        PARTITION,
        text=("Controller failed to update ISR to " + PENDING + "<?, <_:text>?>) <reason:clause>. Giving up."),
        sample=(
            "[Partition pay-in-3 broker=4] Controller failed to update ISR to PendingShrinkIsr(isr=Set(4, 5, 6), "
            "outOfSyncReplicaIds=Set(6)) since we sent an old leader epoch. Giving up."
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "pending_change": "PendingShrinkIsr",
            "out_of_sync_replica_ids": "Set(6)",
            "reason": "since we sent an old leader epoch",
        },
        since="2.7.0",
        until="2.7.2",
    ),
    Rule(
        "isr_change_rejected",
        PARTITION,
        text=(
            "Failed to <?update ISR?><?alter partition?> to "
            + PENDING
            + "<?, <_:text>?>) <reason:clause>. <?Giving up.?><?Partition state may be out of sync, awaiting new the "
            "latest metadata.?><?<_:text>has been reset to the latest committed state <_:rest>?>"
        ),
        sample=(
            "[Partition pay-in-3 broker=4] Failed to alter partition to PendingShrinkIsr(isr=Set(4, 5, 6), "
            "outOfSyncReplicaIds=Set(6), sentLeaderAndIsr=LeaderAndIsr(leader=4, leaderEpoch=12, isr=List(4, 5), "
            "zkVersion=31)) since the leader epoch is old. Partition state may be out of sync, awaiting new the "
            "latest metadata."
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "pending_change": "PendingShrinkIsr",
            "out_of_sync_replica_ids": "Set(6)",
            "reason": "since the leader epoch is old",
        },
        since="2.8.0",
    ),
    Rule(
        "isr_change_rejected",
        PARTITION,
        text=(
            "The alter partition request successfully updated the partition state to "
            + PENDING
            + "<?, <_:text>?>) but <reason:clause>. Waiting on new metadata to clean up this replica."
        ),
        sample=(
            "[Partition pay-in-3 broker=4] The alter partition request successfully updated the partition state "
            "to PendingShrinkIsr(isr=Set(4, 5, 6), outOfSyncReplicaIds=Set(6), "
            "sentLeaderAndIsr=LeaderAndIsr(leader=4, leaderEpoch=12, isr=List(4, 5), zkVersion=31)) but this "
            "replica got removed from the replica set while completing a reassignment. Waiting on new metadata "
            "to clean up this replica."
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "pending_change": "PendingShrinkIsr",
            "out_of_sync_replica_ids": "Set(6)",
            "reason": "this replica got removed from the replica set while completing a reassignment",
        },
        since="3.3.0",
    ),
    Rule(
        "isr_change_ignored",
        PARTITION,
        text=(
            "Ignoring <?ISR from AlterIsr with?><?new ISR?> "
            + LEADER_AND_ISR
            + " since we have a <?stale leader epoch <current_leader_epoch:int>?><?newer version "
            "<current_partition_epoch:int>?>."
        ),
        sample=(
            "[Partition pay-in-3 broker=4] Ignoring new ISR LeaderAndIsr(leader=4, leaderEpoch=12, "
            "isrWithBrokerEpoch=List(BrokerState(brokerId=4, brokerEpoch=348), BrokerState(brokerId=5, "
            "brokerEpoch=-1)), leaderRecoveryState=RECOVERED, partitionEpoch=31) since we have a stale leader "
            "epoch 12."
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "leader_recovery_state": "RECOVERED",
            "partition_epoch": 31,
            "current_leader_epoch": "12",
        },
        since="2.7.0",
    ),
    Rule(
        "isr_change_ignored",
        PARTITION,
        text=(
            "Ignoring failed ISR update to "
            + PENDING
            + "<?, <_:text>?>) since we have already updated state to <_:rest>"
        ),
        sample=(
            "[Partition pay-in-3 broker=4] Ignoring failed ISR update to PendingShrinkIsr(isr=Set(4, 5, 6), "
            "outOfSyncReplicaIds=Set(6), sentLeaderAndIsr=LeaderAndIsr(leader=4, leaderEpoch=12, isr=List(4, 5), "
            "zkVersion=31)) since we have already updated state to CommittedIsr(isr=Set(4, 5, 6))"
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "pending_change": "PendingShrinkIsr",
            "out_of_sync_replica_ids": "Set(6)",
        },
        since="2.7.0",
    ),
    Rule(
        "partition_acks_satisfied",
        PARTITION,
        text="<acks:int><?/<required_acks:int>?> acks satisfied<? for <tp>?><? with acks = -1?>",
        sample="[Partition pay-in-3 broker=4] 23 acks satisfied with acks = -1",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "acks": "23"},
        since="0.8.0",
        until="1.1.1",
    ),
    Rule(
        "partition_ack_received",
        PARTITION,
        text="Replica <replica> <?of <tp> ?>received offset <offset>",
        sample="[Partition pay-in-3 broker=4] Replica 6 received offset 23",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "replica": "6", "offset": "23"},
        since="0.9.0.0",
        until="1.1.1",
    ),
    Rule(
        "partition_acks_awaited",
        PARTITION,
        text="Progress awaiting ISR acks for offset <offset>: acked: <acked:text>, awaiting <awaiting:rest>",
        sample=(
            "[Partition pay-in-3 broker=4] Progress awaiting ISR acks for offset 23: acked: Set(broker 4: 880), "
            "awaiting Set(broker 5: 870)"
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "offset": "23",
            "acked": "Set(broker 4: 880)",
            "awaiting": "Set(broker 5: 870)",
        },
        since="2.0.0",
    ),
    Rule(
        "high_watermark_unchanged",
        PARTITION,
        text="Old hw for partition <tp> is <high_watermark>. New hw is <_:int>. All leo's are <log_ends:rest>",
        sample=(
            "Partition [pay-in,3] on broker 4: Old hw for partition pay-in-3 is 880. New hw is 870. All leo's "
            "are 880,870"
        ),
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "high_watermark": "880", "log_ends": "880,870"},
        since="0.8.0",
        until="0.8.1.1",
    ),
    Rule(
        "high_watermark_unchanged",
        PARTITION,
        text=(
            "Skipping update high watermark since <?O?><?o?>ld hw <high_watermark:text> is larger than new hw "
            "<_:text> for partition <tp>. All leo's are <log_ends:rest>"
        ),
        sample=(
            "[Partition pay-in-3 broker=4] Skipping update high watermark since Old hw 880 [0 : 51200] is larger "
            "than new hw 870 [0 : 51100] for partition pay-in-3. All leo's are 880 [0 : 51200]"
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "high_watermark": "880 [0 : 51200]",
            "log_ends": "880 [0 : 51200]",
        },
        since="0.8.2.0",
        until="0.10.2.2",
    ),
    Rule(
        "high_watermark_unchanged",
        PARTITION,
        text=(
            "Skipping update high watermark since new hw <_:text> is not larger than old <?hw "
            "<high_watermark:text>?><?value?>.<? ?>All <?current ?>LEOs are <log_ends:rest>"
        ),
        sample=(
            "[Partition pay-in-3 broker=4] Skipping update high watermark since new hw (offset=870 "
            "segment=[0:51100]) is not larger than old value. All current LEOs are Set(broker 4: 880)"
        ),
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "log_ends": "Set(broker 4: 880)"},
        since="0.11.0.0",
    ),
    Rule(
        "high_watermark_held_under_min_isr",
        PARTITION,
        text="Not increasing HWM because partition is under min ISR(ISR=<isr:list><?)?>",
        sample="[Partition pay-in-3 broker=4] Not increasing HWM because partition is under min ISR(ISR=List(4, 5)",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "isr": [4, 5]},
        since="3.7.0",
    ),
    Rule(
        "partition_log_missing",
        PARTITION,
        text="Leader does not have a local log",
        sample="[Partition pay-in-3 broker=4] Leader does not have a local log",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4},
        since="2.1.0",
        until="2.3.1",
    ),
    Rule(
        "isr_change_in_flight",
        PARTITION,
        text=(
            "ISR update in-flight, not <?adding new in-sync replica <replica>?><?removing out-of-sync replicas "
            "<out_of_sync_replica_ids:list>?>"
        ),
        sample="[Partition pay-in-3 broker=4] ISR update in-flight, not adding new in-sync replica 6",
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "replica": "6"},
        since="2.7.0",
        until="3.0.2",
    ),
    Rule(
        "follower_state_missing",
        PARTITION,
        text=(
            "The replica state of replica ID:[<replica>] doesn't exist in the leader node. It might because the "
            "topic is already deleted."
        ),
        sample=(
            "[Partition pay-in-3 broker=4] The replica state of replica ID:[6] doesn't exist in the leader node. "
            "It might because the topic is already deleted."
        ),
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "replica": "6"},
        since="3.6.0",
    ),
    Rule(
        "replica_log_creation_skipped",
        PARTITION,
        text=(
            "Skipping creation of log because there are potentially offline log directories and log may already "
            "exist there. directoryId=<?None?><?Some(<directory_id:id>)?>, topicId=<topic_id:some>, "
            "targetLogDirectoryId=<?None?><?Some(<target_directory_id:id>)?>"
        ),
        sample=(
            "[Partition pay-in-3 broker=4] Skipping creation of log because there are potentially offline log "
            "directories and log may already exist there. directoryId=Some(h5K2vX8bQ0-3mJtR_wYz1A), "
            "topicId=Some(h5K2vX8bQ0-3mJtR_wYz1A), targetLogDirectoryId=Some(h5K2vX8bQ0-3mJtR_wYz1A)"
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "broker_id": 4,
            "directory_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "target_directory_id": "h5K2vX8bQ0-3mJtR_wYz1A",
        },
        since="3.7.0",
    ),
    Rule(
        "future_replica_creation_skipped",
        PARTITION,
        text=(
            "Current log directory <dir:text> is same as requested log dir <_:text>. Skipping future replica creation."
        ),
        sample=(
            "[Partition pay-in-3 broker=4] Current log directory /srv/kafka/a is same as requested log dir "
            "/srv/kafka/a. Skipping future replica creation."
        ),
        reads={"topic": "pay-in", "partition": 3, "broker_id": 4, "dir": "/srv/kafka/a"},
        since="1.1.0",
    ),
)
