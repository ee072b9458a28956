"""Rules of `state.change.logger`: what the controller decided for each partition and replica, what brokers did with it.

The logger of all eras, KRaft brokers included.
"""

from __future__ import annotations

from udfs.rules.rule import Rule

STATE_CHANGE = ("state.change.logger",)
# one partition of a LeaderAndIsr request whose name stands elsewhere in the line
PARTITION_STATE_UNNAMED = (
    "<?LeaderAndIsr?>PartitionState(<?topicName='<_:topic>', partitionIndex=<_:int>, "
    "?>controllerEpoch=<state_controller_epoch:int>, leader=<leader>, leaderEpoch=<leader_epoch>, "
    "isr=<?[?><isr:csv><?]?>, <?zkVersion?><?partitionEpoch?>=<partition_epoch>, "
    "replicas=<?[?><replicas:csv><?]?><?, addingReplicas=[<adding_replicas:ids>], "
    "removingReplicas=[<removing_replicas:ids>]?><?, isNew=<is_new:word>?><?, "
    "leaderRecoveryState=<leader_recovery_state:int>?>)"
)
# the same, named from 2.4.0 on
PARTITION_STATE = (
    "<?LeaderAndIsr?>PartitionState(<?topicName='<topic>', partitionIndex=<partition>, "
    "?>controllerEpoch=<state_controller_epoch:int>, leader=<leader>, leaderEpoch=<leader_epoch>, "
    "isr=<?[?><isr:csv><?]?>, <?zkVersion?><?partitionEpoch?>=<partition_epoch>, "
    "replicas=<?[?><replicas:csv><?]?><?, addingReplicas=[<adding_replicas:ids>], "
    "removingReplicas=[<removing_replicas:ids>]?><?, isNew=<is_new:word>?><?, "
    "leaderRecoveryState=<leader_recovery_state:int>?>)"
)
# one partition of an UpdateMetadata request, 1.0.0 on
CACHED_STATE = (
    "<?UpdateMetadata?>PartitionState(<?topicName='<_:topic>', partitionIndex=<_:int>, "
    "?>controllerEpoch=<state_controller_epoch:int>, leader=<leader>, leaderEpoch=<leader_epoch>, "
    "isr=[<isr>], zkVersion=<partition_epoch>, replicas=[<replicas>], "
    "offlineReplicas=[<offline_replicas:ids>])"
)
# what ZooKeeper holds of a partition, 1.1.0 on
LEADER_AND_ISR = (
    "LeaderAndIsr(leader=<leader>, leaderEpoch=<leader_epoch>, isr<?WithBrokerEpoch?>=<isr:list>, "
    "<?leaderRecoveryState=<leader_recovery_state:word>, "
    "?><?zkVersion?><?partitionEpoch?>=<partition_epoch>)"
)
# the same with the epoch of the controller that decided it
LEADER_ISR_EPOCH = (
    "(Leader:<leader>,ISR:<isr:csv>,<?LeaderRecoveryState:<leader_recovery_state:word>,"
    "?>LeaderEpoch:<leader_epoch>,<?ZkVersion:<partition_epoch>,"
    "?>ControllerEpoch:<state_controller_epoch:int>)"
)
# one partition of a request up to 0.11; the parentheses do not balance in Kafka either
PARTITION_STATE_INFO = (
    "(LeaderAndIsrInfo:(Leader:<leader>,ISR:<isr:csv>,LeaderEpoch:<leader_epoch>,"
    "ControllerEpoch:<state_controller_epoch:int>),ReplicationFactor:<replication_factor:int>),"
    "AllReplicas:<replicas:csv>)"
)
# who sent the request, in four word orders
FROM = " from controller <controller_id> epoch <controller_epoch>"
# the same, with the request's id
FROM_WITH = " from controller <controller_id> epoch <controller_epoch> with correlation id <correlation_id>"
# the same, id first
WITH_FROM = " with correlation id <correlation_id> from controller <controller_id> epoch <controller_epoch>"
# the same, id first and in one word
CORRELATION_FROM = " correlationId <correlation_id> from controller <controller_id> epoch <controller_epoch>"
# what made the metadata cache change
IN_RESPONSE = (
    " in response to UpdateMetadata request sent by controller <controller_id> epoch <controller_epoch> "
    "with correlation id <correlation_id>"
)

RULES: tuple[Rule, ...] = (
    Rule(
        "partition_state_change",
        STATE_CHANGE,
        text=("Changed partition <tp> from <from_state> to <to_state> with state " + LEADER_AND_ISR),
        sample=(
            "[Controller id=1 epoch=8] Changed partition pay-in-3 from OfflinePartition to OnlinePartition with "
            "state LeaderAndIsr(leader=4, leaderEpoch=12, isrWithBrokerEpoch=List(BrokerState(brokerId=4, "
            "brokerEpoch=-1), BrokerState(brokerId=5, brokerEpoch=-1)), leaderRecoveryState=RECOVERED, "
            "partitionEpoch=31)"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "from_state": "OfflinePartition",
            "to_state": "OnlinePartition",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "leader_recovery_state": "RECOVERED",
            "partition_epoch": 31,
        },
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "partition_state_change",
        STATE_CHANGE,
        text="Changed partition <tp> from <from_state> to <to_state> with leader <leader>",
        sample=(
            "[Controller id=1 epoch=8] Changed partition pay-in-3 from OfflinePartition to OnlinePartition with "
            "leader 4"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "from_state": "OfflinePartition",
            "to_state": "OnlinePartition",
            "leader": 4,
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "partition_state_change",
        STATE_CHANGE,
        text=("Changed partition <tp> state from <from_state> to <to_state><? with assigned replicas <replicas:csv>?>"),
        sample=(
            "Controller 1 epoch 8 changed partition [pay-in,3] state from NonExistentPartition to NewPartition "
            "with assigned replicas 4,5,6"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "from_state": "NonExistentPartition",
            "to_state": "NewPartition",
            "replicas": [4, 5, 6],
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "partition_state_change_failed",
        STATE_CHANGE,
        text=(
            "<?Controller <controller_id> epoch <controller_epoch> ?>failed to change state for partition <tp> "
            "from <from_state> to <to_state>"
        ),
        sample=(
            "[Controller id=1 epoch=8] Controller 1 epoch 8 failed to change state for partition pay-in-3 from "
            "OfflinePartition to OnlinePartition"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "from_state": "OfflinePartition",
            "to_state": "OnlinePartition",
        },
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "partition_state_change_failed",
        STATE_CHANGE,
        text="Initiated state change for partition <tp> from <from_state> to <to_state> failed",
        sample=(
            "[Controller id=1 epoch=8] Initiated state change for partition pay-in-3 from OfflinePartition to "
            "OnlinePartition failed"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "from_state": "OfflinePartition",
            "to_state": "OnlinePartition",
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "partition_leader_election_started",
        STATE_CHANGE,
        text="Started leader election for partition <tp>",
        sample="[Controller id=1 epoch=8] Started leader election for partition pay-in-3",
        reads={"controller_id": 1, "controller_epoch": 8, "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "partition_leader_elected",
        STATE_CHANGE,
        text="Elected leader <leader> for Offline partition <tp>",
        sample="[Controller id=1 epoch=8] Elected leader 4 for Offline partition pay-in-3",
        reads={"controller_id": 1, "controller_epoch": 8, "leader": 4, "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "partition_init_failed_no_live_replica",
        STATE_CHANGE,
        text=(
            "Encountered error during state change of partition <tp> from New to Online, assigned replicas are "
            "[<replicas>], live brokers are [<live_brokers:list>]. No assigned replica is alive."
        ),
        sample=(
            "[Controller id=1 epoch=8] Encountered error during state change of partition pay-in-3 from New to "
            "Online, assigned replicas are [4, 5, 6], live brokers are [Set(4, 5)]. No assigned replica is alive."
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "replicas": [4, 5, 6],
            "live_brokers": "Set(4, 5)",
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "partition_init_failed_path_exists",
        STATE_CHANGE,
        text=(
            "Encountered error while changing partition <tp>'s state from New to Online since LeaderAndIsr path "
            "already exists with value <state:state> and controller epoch <state_controller_epoch:int>"
        ),
        sample=(
            "[Controller id=1 epoch=8] Encountered error while changing partition pay-in-3's state from New to "
            'Online since LeaderAndIsr path already exists with value {"leader":4,"leader_epoch":12,"isr":[4,5]} '
            "and controller epoch 7"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "state_controller_epoch": "7",
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "leader_election_aborted_stale_controller",
        STATE_CHANGE,
        text=(
            "Aborted leader election for partition <tp> since the LeaderAndIsr path was already written by "
            "another controller. This probably means that the current controller <controller_id> went through a "
            "soft failure and another controller was elected with epoch <newer_controller_epoch:int>."
        ),
        sample=(
            "[Controller id=1 epoch=8] Aborted leader election for partition pay-in-3 since the LeaderAndIsr "
            "path was already written by another controller. This probably means that the current controller 1 "
            "went through a soft failure and another controller was elected with epoch 9."
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "newer_controller_epoch": "9",
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "leader_election_failed",
        STATE_CHANGE,
        text="Encountered error while electing leader for partition <tp> due to: <reason:election_error>",
        sample=(
            "[Controller id=1 epoch=8] Encountered error while electing leader for partition pay-in-3 due to: "
            "Preferred replica 6 for partition pay-in-3 is either not alive or not in the isr. Current leader "
            'and ISR: [{"leader":4,"leader_epoch":12,"isr":[4,5]}]'
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "reason": (
                "Preferred replica 6 for partition pay-in-3 is either not alive or not in the isr. Current leader "
                'and ISR: [{"leader":4,"leader_epoch":12,"isr":[4,5]}]'
            ),
            "preferred_leader": "6",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "replica_removed_from_isr",
        STATE_CHANGE,
        text=(
            "Partition <tp> state changed to "
            + LEADER_ISR_EPOCH
            + " after removing replica <replica> from the ISR as part of transition to <to_state>"
        ),
        sample=(
            "[Controller id=1 epoch=8] Partition pay-in-3 state changed to (Leader:4,ISR:4,5,"
            "LeaderRecoveryState:RECOVERED,LeaderEpoch:12,ZkVersion:31,ControllerEpoch:7) after removing replica "
            "6 from the ISR as part of transition to OfflineReplica"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "isr": [4, 5],
            "leader_recovery_state": "RECOVERED",
            "leader_epoch": 12,
            "partition_epoch": 31,
            "state_controller_epoch": "7",
            "replica": "6",
            "to_state": "OfflineReplica",
        },
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "replica_state_change",
        STATE_CHANGE,
        text="Changed state of replica <replica> for partition <tp><? from <from_state>?> to <to_state>",
        sample=(
            "[Controller id=1 epoch=8] Changed state of replica 6 for partition pay-in-3 from OnlineReplica to "
            "OfflineReplica"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "replica": "6",
            "topic": "pay-in",
            "partition": 3,
            "from_state": "OnlineReplica",
            "to_state": "OfflineReplica",
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "replica_state_change_failed",
        STATE_CHANGE,
        text=(
            "Controller <controller_id> epoch <controller_epoch> initiated state change of replica <replica> for "
            "partition <tp> from <from_state> to <to_state> failed"
        ),
        sample=(
            "[Controller id=1 epoch=8] Controller 1 epoch 8 initiated state change of replica 6 for partition "
            "pay-in-3 from OnlineReplica to OfflineReplica failed"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "replica": "6",
            "topic": "pay-in",
            "partition": 3,
            "from_state": "OnlineReplica",
            "to_state": "OfflineReplica",
        },
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "replica_state_change_failed",
        STATE_CHANGE,
        text="Initiated state change of replica <replica> for partition <tp><? from <from_state>?> to <to_state> failed",
        sample=(
            "[Controller id=1 epoch=8] Initiated state change of replica 6 for partition pay-in-3 from "
            "OnlineReplica to OfflineReplica failed"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "replica": "6",
            "topic": "pay-in",
            "partition": 3,
            "from_state": "OnlineReplica",
            "to_state": "OfflineReplica",
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "replicas_marked_offline",
        STATE_CHANGE,
        text="Mark replicas <partitions> on broker <broker> as offline",
        sample="[Controller id=1] Mark replicas pay-in-3,refunds-0 on broker 6 as offline",
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
            "broker": "6",
        },
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_request_sent",
        STATE_CHANGE,
        text=(
            "Sending <request_type:word> LeaderAndIsr request "
            + PARTITION_STATE_UNNAMED
            + " to broker <target_broker:int> for partition <tp>"
        ),
        sample=(
            "[Controller id=1 epoch=8] Sending become-follower LeaderAndIsr request "
            "LeaderAndIsrPartitionState(topicName='pay-in', partitionIndex=3, controllerEpoch=7, leader=4, "
            "leaderEpoch=12, isr=[4,5], partitionEpoch=31, replicas=[4,5,6], addingReplicas=[4, 5], "
            "removingReplicas=[4, 5], isNew=false, leaderRecoveryState=0) to broker 4 for partition pay-in-3"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "request_type": "become-follower",
            "state_controller_epoch": "7",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "partition_epoch": 31,
            "replicas": [4, 5, 6],
            "adding_replicas": "4, 5",
            "removing_replicas": "4, 5",
            "is_new": "false",
            "leader_recovery_state": "0",
            "target_broker": "4",
            "topic": "pay-in",
            "partition": 3,
        },
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_request_sent",
        STATE_CHANGE,
        text=(
            "Sending <request_type:word> LeaderAndIsr request <?(Leader:<leader>,ISR:<isr:csv>,"
            "LeaderEpoch:<leader_epoch>,ControllerEpoch:<state_controller_epoch:int>) ?><?with correlationId "
            "<correlation_id> ?>to broker <target_broker:int> for partition <tp>"
        ),
        sample=(
            "Controller 1 epoch 8 sending become-follower LeaderAndIsr request (Leader:4,ISR:4,5,LeaderEpoch:12,"
            "ControllerEpoch:7) with correlationId 27 to broker 4 for partition [pay-in,3]"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "request_type": "become-follower",
            "leader": 4,
            "isr": [4, 5],
            "leader_epoch": 12,
            "state_controller_epoch": "7",
            "correlation_id": 27,
            "target_broker": "4",
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.0",
        until="0.11.0.3",
    ),
    Rule(
        "leader_and_isr_request_sent_summary",
        STATE_CHANGE,
        text=(
            "Sending LeaderAndIsr request to broker <target_broker:int> with <become_leader_count:int> "
            "become-leader and <become_follower_count:int> become-follower partitions"
        ),
        sample=(
            "[Controller id=1 epoch=8] Sending LeaderAndIsr request to broker 4 with 23 become-leader and 23 "
            "become-follower partitions"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "target_broker": "4",
            "become_leader_count": "23",
            "become_follower_count": "23",
        },
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "update_metadata_request_sent",
        STATE_CHANGE,
        text=(
            "Sending UpdateMetadata request " + CACHED_STATE + " to brokers <target_brokers:list> for partition <tp>"
        ),
        sample=(
            "[Controller id=1 epoch=8] Sending UpdateMetadata request "
            "UpdateMetadataPartitionState(topicName='pay-in', partitionIndex=3, controllerEpoch=7, leader=4, "
            "leaderEpoch=12, isr=[4, 5], zkVersion=31, replicas=[4, 5, 6], offlineReplicas=[6]) to brokers "
            "Set(4, 5) for partition pay-in-3"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "state_controller_epoch": "7",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "partition_epoch": 31,
            "replicas": [4, 5, 6],
            "offline_replicas": "6",
            "target_brokers": "Set(4, 5)",
            "topic": "pay-in",
            "partition": 3,
        },
        since="1.0.0",
        until="2.5.1",
    ),
    Rule(
        "update_metadata_request_sent",
        STATE_CHANGE,
        text=(
            "Sending UpdateMetadata request <?(Leader:<leader>,ISR:<isr:csv>,LeaderEpoch:<leader_epoch>,"
            "ControllerEpoch:<state_controller_epoch:int>) ?><?with correlationId <correlation_id> ?><?to broker "
            "<target_broker:int>?><?to brokers <target_brokers:list>?> for partition <tp>"
        ),
        sample=(
            "Controller 1 epoch 8 sending UpdateMetadata request (Leader:4,ISR:4,5,LeaderEpoch:12,"
            "ControllerEpoch:7) with correlationId 27 to broker 4 for partition [pay-in,3]"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "leader": 4,
            "isr": [4, 5],
            "leader_epoch": 12,
            "state_controller_epoch": "7",
            "correlation_id": 27,
            "target_broker": "4",
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.0",
        until="0.11.0.3",
    ),
    Rule(
        "update_metadata_request_sent_summary",
        STATE_CHANGE,
        text="Sending UpdateMetadata request to brokers <target_brokers:list> for <partition_count:int> partitions",
        sample="[Controller id=1 epoch=8] Sending UpdateMetadata request to brokers Set(4, 5) for 17 partitions",
        reads={"controller_id": 1, "controller_epoch": 8, "target_brokers": "Set(4, 5)", "partition_count": "17"},
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "stop_replica_request_sent",
        STATE_CHANGE,
        text=(
            "Sending StopReplica request StopReplicaPartitionState(partitionIndex=<_:int>, "
            "leaderEpoch=<leader_epoch>, deletePartition=<delete_partition:word>) to broker <target_broker:int> "
            "for partition <tp>"
        ),
        sample=(
            "[Controller id=1 epoch=8] Sending StopReplica request StopReplicaPartitionState(partitionIndex=3, "
            "leaderEpoch=12, deletePartition=true) to broker 4 for partition pay-in-3"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "leader_epoch": 12,
            "delete_partition": "true",
            "target_broker": "4",
            "topic": "pay-in",
            "partition": 3,
        },
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "stop_replica_request_sent_summary",
        STATE_CHANGE,
        text=(
            "Sending StopReplica request <?(delete = <delete_partition:word>) ?>for <replica_count:int> replicas "
            "to broker <target_broker:int>"
        ),
        sample="[Controller id=1 epoch=8] Sending StopReplica request (delete = true) for 23 replicas to broker 4",
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "delete_partition": "true",
            "replica_count": "23",
            "target_broker": "4",
        },
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "reassignment_leader_and_isr_sent",
        STATE_CHANGE,
        text=(
            "Sent LeaderAndIsr request "
            + LEADER_ISR_EPOCH
            + " with new <?assigned replica list <target_replicas:csv>?><?replica assignment "
            "<assignment:assignment>?> to leader <_:int> for partition being reassigned <tp>"
        ),
        sample=(
            "[Controller id=1 epoch=8] Sent LeaderAndIsr request (Leader:4,ISR:4,5,LeaderRecoveryState:RECOVERED,"
            "LeaderEpoch:12,ZkVersion:31,ControllerEpoch:7) with new replica assignment "
            "ReplicaAssignment(replicas=4,5,6, addingReplicas=6, removingReplicas=5) to leader 4 for partition "
            "being reassigned pay-in-3"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "leader": 4,
            "isr": [4, 5],
            "leader_recovery_state": "RECOVERED",
            "leader_epoch": 12,
            "partition_epoch": 31,
            "state_controller_epoch": "7",
            "replicas": [4, 5, 6],
            "adding_replicas": "6",
            "removing_replicas": "5",
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "reassignment_leader_and_isr_failed",
        STATE_CHANGE,
        text=(
            "Failed to send LeaderAndIsr request with new <?assigned replica list "
            "<target_replicas:csv>?><?replica assignment <assignment:assignment>?> to leader for partition being "
            "reassigned <tp>"
        ),
        sample=(
            "[Controller id=1 epoch=8] Failed to send LeaderAndIsr request with new replica assignment "
            "ReplicaAssignment(replicas=4,5,6, addingReplicas=6, removingReplicas=5) to leader for partition "
            "being reassigned pay-in-3"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "replicas": [4, 5, 6],
            "adding_replicas": "6",
            "removing_replicas": "5",
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "controller_response_received",
        STATE_CHANGE,
        text=(
            "Received response <?correlationId <correlation_id>?><?<response:response>?> for <?a "
            "request?><?request <api:word> with correlation id <correlation_id>?> sent to broker "
            "<?Node(?><?id:?><?<_:text> (id: ?><target_broker:int><_:rest>"
        ),
        sample=(
            "[Controller id=1 epoch=8] Received response {error_code=0,partition_errors=[{topic_name=pay-in,"
            "partition_index=3,error_code=11,_tagged_fields={}}],_tagged_fields={}} for request LEADER_AND_ISR "
            "with correlation id 27 sent to broker kafka-4.pay:9092 (id: 4 rack: c)"
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "error_code": "0",
            "partition_errors": "[{topic_name=pay-in,partition_index=3,error_code=11,_tagged_fields={}}]",
            "api": "LEADER_AND_ISR",
            "correlation_id": 27,
            "target_broker": "4",
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_response_error",
        STATE_CHANGE,
        text=(
            "Received error in LeaderAndIsr response LeaderAndIsrResponse(responses={<?<partition_errors>?>}, "
            "error=<error:word>) from broker <broker>"
        ),
        sample=(
            "[Controller id=1] Received error in LeaderAndIsr response LeaderAndIsrResponse("
            "responses={pay-in-3=STALE_CONTROLLER_EPOCH}, error=STALE_CONTROLLER_EPOCH) from broker 6"
        ),
        reads={
            "controller_id": 1,
            "error": "STALE_CONTROLLER_EPOCH",
            "partition_errors": "pay-in-3=STALE_CONTROLLER_EPOCH",
            "broker": "6",
        },
        since="1.1.0",
        until="2.3.1",
    ),
    Rule(
        "leader_and_isr_response_error",
        STATE_CHANGE,
        text=(
            "Received error <?<error:word> ?>in LeaderAndIsr response "
            "<?LeaderAndIsrResponseData(errorCode=<error_code:int><_:rest>)?><?<_:word>?> from broker <broker>"
        ),
        sample=(
            "[Controller id=1] Received error STALE_CONTROLLER_EPOCH in LeaderAndIsr response "
            "LeaderAndIsrResponseData(errorCode=11, partitionErrors=[], topics=[]) from broker 6"
        ),
        reads={"controller_id": 1, "error": "STALE_CONTROLLER_EPOCH", "error_code": "11", "broker": "6"},
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "update_metadata_response_error",
        STATE_CHANGE,
        text="Received error <error:word> in UpdateMetadata response <_:text> from broker <broker>",
        sample=(
            "[Controller id=1] Received error STALE_BROKER_EPOCH in UpdateMetadata response "
            "UpdateMetadataResponseData(errorCode=77) from broker 6"
        ),
        reads={"controller_id": 1, "error": "STALE_BROKER_EPOCH", "broker": "6"},
        since="2.5.0",
        until="3.9.2",
    ),
    Rule(
        "migration_stop_replica_response_error",
        STATE_CHANGE,
        text="Received error <error:word> in StopReplica response <_:text> from broker <broker>",
        sample=(
            "[Controller id=1] Received error STALE_BROKER_EPOCH in StopReplica response "
            "StopReplicaResponseData(errorCode=77, partitionErrors=[]) from broker 6"
        ),
        reads={"controller_id": 1, "error": "STALE_BROKER_EPOCH", "broker": "6"},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "migration_stop_replica_partition_error",
        STATE_CHANGE,
        text="Received error <error:word> in StopReplica request for partition <tp> from broker <broker>",
        sample=(
            "[Controller id=1] Received error KAFKA_STORAGE_ERROR in StopReplica request for partition pay-in-3 "
            "from broker 6"
        ),
        reads={"controller_id": 1, "error": "KAFKA_STORAGE_ERROR", "topic": "pay-in", "partition": 3, "broker": "6"},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "migration_replicas_offline",
        STATE_CHANGE,
        text="Found <partitions> on broker <broker> as offline",
        sample="[Controller id=1] Found pay-in-3,refunds-0 on broker 6 as offline",
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
            "broker": "6",
        },
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "migration_broker_set_change",
        STATE_CHANGE,
        text="Adding brokers <added_brokers:text>, removing brokers <removed_brokers:rest>.",
        sample=(
            "Adding brokers Set(4 : (EndPoint(k4.pay,9092,ListenerName(PLAINTEXT),PLAINTEXT)) : null : "
            "Features{}), removing brokers Set()."
        ),
        reads={
            "added_brokers": ("Set(4 : (EndPoint(k4.pay,9092,ListenerName(PLAINTEXT),PLAINTEXT)) : null : Features{})"),
            "removed_brokers": "Set()",
        },
        since="3.5.0",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_request_received",
        STATE_CHANGE,
        text=(
            "Received LeaderAndIsr request "
            + PARTITION_STATE
            + " correlation id <correlation_id>"
            + FROM
            + "<? for partition <tp>?>"
        ),
        sample=(
            "[Broker id=4] Received LeaderAndIsr request LeaderAndIsrPartitionState(topicName='pay-in', "
            "partitionIndex=3, controllerEpoch=7, leader=4, leaderEpoch=12, isr=[4,5], partitionEpoch=31, "
            "replicas=[4,5,6], addingReplicas=[4, 5], removingReplicas=[4, 5], isNew=false) correlation id 27 "
            "from controller 1 epoch 8 for partition pay-in-3"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "state_controller_epoch": "7",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "partition_epoch": 31,
            "replicas": [4, 5, 6],
            "adding_replicas": "4, 5",
            "removing_replicas": "4, 5",
            "is_new": "false",
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
        },
        since="0.10.0.1",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_request_received",
        STATE_CHANGE,
        text=(
            "Received LeaderAndIsr request <?"
            + PARTITION_STATE_INFO
            + "?><?org.apache.kafka.common.requests.LeaderAndIsrRequest$PartitionState@<_:word>?> correlation "
            "id <correlation_id>" + FROM + " for partition <tp>"
        ),
        sample=(
            "Broker 4 received LeaderAndIsr request (LeaderAndIsrInfo:(Leader:4,ISR:4,5,LeaderEpoch:12,"
            "ControllerEpoch:7),ReplicationFactor:3),AllReplicas:4,5,6) correlation id 27 from controller 1 "
            "epoch 8 for partition pay-in-3"
        ),
        reads={
            "broker_id": 4,
            "leader": 4,
            "isr": [4, 5],
            "leader_epoch": 12,
            "state_controller_epoch": "7",
            "replication_factor": "3",
            "replicas": [4, 5, 6],
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.1",
        until="0.10.0.0",
    ),
    Rule(
        "leader_and_isr_request_received",
        STATE_CHANGE,
        text=("Handling LeaderAndIsr request correlation id <correlation_id> received" + FROM + " for partition <tp>"),
        sample=(
            "Broker 4 handling LeaderAndIsr request correlation id 27 received from controller 1 epoch 8 for "
            "partition pay-in-3"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.0",
        until="0.8.0",
    ),
    Rule(
        "leader_and_isr_request_received_summary",
        STATE_CHANGE,
        text=(
            "Handling LeaderAndIsr request correlationId <correlation_id> from controller <controller_id> for "
            "<partition_count:int> partitions"
        ),
        sample="[Broker id=4] Handling LeaderAndIsr request correlationId 27 from controller 1 for 17 partitions",
        reads={"broker_id": 4, "correlation_id": 27, "controller_id": 1, "partition_count": "17"},
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_request_finished_summary",
        STATE_CHANGE,
        text=(
            "Finished LeaderAndIsr request in <elapsed_ms:int>ms correlationId <correlation_id> from controller "
            "<controller_id> for <partition_count:int> partitions"
        ),
        sample=(
            "[Broker id=4] Finished LeaderAndIsr request in 36ms correlationId 27 from controller 1 for 17 partitions"
        ),
        reads={"broker_id": 4, "elapsed_ms": "36", "correlation_id": 27, "controller_id": 1, "partition_count": "17"},
        since="2.7.0",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_request_handled",
        STATE_CHANGE,
        text=("Handled LeaderAndIsr request correlationId <correlation_id> received" + FROM + " for partition <tp>"),
        sample=(
            "Broker 4 handled LeaderAndIsr request correlationId 27 received from controller 1 epoch 8 for "
            "partition pay-in-3"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.0",
        until="0.8.0",
    ),
    Rule(
        "leader_and_isr_stale_controller_epoch",
        STATE_CHANGE,
        text=(
            "Received LeaderAndIsr request correlation id <correlation_id> with an old controller epoch "
            "<controller_epoch>. Latest known controller epoch is <latest_controller_epoch:int>"
        ),
        sample=(
            "Broker 4 received LeaderAndIsr request correlation id 27 with an old controller epoch 7. Latest "
            "known controller epoch is 8"
        ),
        reads={"broker_id": 4, "correlation_id": 27, "controller_epoch": 7, "latest_controller_epoch": "8"},
        since="0.8.0",
        until="0.8.1.1",
    ),
    Rule(
        "leader_and_isr_stale_controller_epoch",
        STATE_CHANGE,
        text=(
            "Ignoring LeaderAndIsr request from controller <controller_id> with correlation id <correlation_id> "
            "since its controller epoch <controller_epoch> is old. Latest known controller epoch is "
            "<latest_controller_epoch:int>"
        ),
        sample=(
            "[Broker id=4] Ignoring LeaderAndIsr request from controller 1 with correlation id 27 since its "
            "controller epoch 7 is old. Latest known controller epoch is 8"
        ),
        reads={
            "broker_id": 4,
            "controller_id": 1,
            "correlation_id": 27,
            "controller_epoch": 7,
            "latest_controller_epoch": "8",
        },
        since="0.8.2.0",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_stale_leader_epoch",
        STATE_CHANGE,
        text=(
            "Discarded the <request_type:word> request"
            + WITH_FROM
            + " for partition <tp> since current leader epoch <current_leader_epoch:int> is >= the request's "
            "leader epoch <leader_epoch>"
        ),
        sample=(
            "Broker 4 discarded the become-follower request with correlation id 27 from controller 1 epoch 8 for "
            "partition pay-in-3 since current leader epoch 12 is >= the request's leader epoch 12"
        ),
        reads={
            "broker_id": 4,
            "request_type": "become-follower",
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "current_leader_epoch": "12",
            "leader_epoch": 12,
        },
        since="0.8.0",
        until="0.8.0",
    ),
    Rule(
        "leader_and_isr_stale_leader_epoch",
        STATE_CHANGE,
        text=(
            "Received invalid LeaderAndIsr request"
            + WITH_FROM
            + " with an older leader epoch <leader_epoch> for partition <tp>, current leader epoch is "
            "<current_leader_epoch:int>"
        ),
        sample=(
            "Broker 4 received invalid LeaderAndIsr request with correlation id 27 from controller 1 epoch 8 "
            "with an older leader epoch 12 for partition pay-in-3, current leader epoch is 12"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "leader_epoch": 12,
            "topic": "pay-in",
            "partition": 3,
            "current_leader_epoch": "12",
        },
        since="0.8.1",
        until="0.8.1.1",
    ),
    Rule(
        "leader_and_isr_stale_leader_epoch",
        STATE_CHANGE,
        text=(
            "Ignoring LeaderAndIsr request from controller <controller_id> with correlation id <correlation_id> "
            "epoch <controller_epoch> for partition <tp> since its associated leader epoch <leader_epoch> is "
            "<?old. Current leader epoch is?><?not higher than the current leader epoch?><?smaller than the "
            "current leader epoch?> <current_leader_epoch:int><? ?>"
        ),
        sample=(
            "[Broker id=4] Ignoring LeaderAndIsr request from controller 1 with correlation id 27 epoch 8 for "
            "partition pay-in-3 since its associated leader epoch 12 is smaller than the current leader epoch 12"
        ),
        reads={
            "broker_id": 4,
            "controller_id": 1,
            "correlation_id": 27,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "leader_epoch": 12,
            "current_leader_epoch": "12",
        },
        since="0.8.2.0",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_same_leader_epoch",
        STATE_CHANGE,
        text=(
            "Ignoring LeaderAndIsr request from controller <controller_id> with correlation id <correlation_id> "
            "epoch <controller_epoch> for partition <tp> since its associated leader epoch <leader_epoch> "
            "matches the current leader epoch"
        ),
        sample=(
            "[Broker id=4] Ignoring LeaderAndIsr request from controller 1 with correlation id 27 epoch 8 for "
            "partition pay-in-3 since its associated leader epoch 12 matches the current leader epoch"
        ),
        reads={
            "broker_id": 4,
            "controller_id": 1,
            "correlation_id": 27,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "leader_epoch": 12,
        },
        since="2.3.0",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_not_assigned_replica",
        STATE_CHANGE,
        text=(
            "Ignoring LeaderAndIsr request"
            + WITH_FROM
            + " as broker is not in assigned replica list <replicas:csv> for partition <tp>"
        ),
        sample=(
            "Broker 4 ignoring LeaderAndIsr request with correlation id 27 from controller 1 epoch 8 as broker "
            "is not in assigned replica list 4,5,6 for partition pay-in-3"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "replicas": [4, 5, 6],
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.1",
        until="0.8.1.1",
    ),
    Rule(
        "leader_and_isr_not_assigned_replica",
        STATE_CHANGE,
        text=(
            "Ignoring LeaderAndIsr request from controller <controller_id> with correlation id <correlation_id> "
            "epoch <controller_epoch> for partition <tp> as itself is not in assigned replica list <replicas:csv>"
        ),
        sample=(
            "[Broker id=4] Ignoring LeaderAndIsr request from controller 1 with correlation id 27 epoch 8 for "
            "partition pay-in-3 as itself is not in assigned replica list 4,5,6"
        ),
        reads={
            "broker_id": 4,
            "controller_id": 1,
            "correlation_id": 27,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "replicas": [4, 5, 6],
        },
        since="0.8.2.0",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_offline_log_dir",
        STATE_CHANGE,
        text=(
            "Ignoring LeaderAndIsr request from controller <controller_id> with correlation id <correlation_id> "
            "epoch <controller_epoch> for partition <tp> as the local replica for the partition is in an offline "
            "log directory"
        ),
        sample=(
            "[Broker id=4] Ignoring LeaderAndIsr request from controller 1 with correlation id 27 epoch 8 for "
            "partition pay-in-3 as the local replica for the partition is in an offline log directory"
        ),
        reads={
            "broker_id": 4,
            "controller_id": 1,
            "correlation_id": 27,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
        },
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_topic_id_mismatch",
        STATE_CHANGE,
        text=(
            "Topic I<?d?><?D?> in memory: <topic_id> does not match the topic I<?d?><?D?> for partition <tp> "
            "<?provided in the request?><?received?>: <request_topic_id:uuid>."
        ),
        sample=(
            "[Broker id=4] Topic ID in memory: h5K2vX8bQ0-3mJtR_wYz1A does not match the topic ID for partition "
            "pay-in-3 received: h5K2vX8bQ0-3mJtR_wYz1A."
        ),
        reads={
            "broker_id": 4,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "topic": "pay-in",
            "partition": 3,
            "request_topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
        },
        since="2.8.0",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_topic_id_assigned",
        STATE_CHANGE,
        text=(
            "Updating log for <tp> to assign topic ID <topic_id> from LeaderAndIsr request from controller "
            "<controller_id> with correlation id <correlation_id> epoch <controller_epoch>"
        ),
        sample=(
            "[Broker id=4] Updating log for pay-in-3 to assign topic ID h5K2vX8bQ0-3mJtR_wYz1A from LeaderAndIsr "
            "request from controller 1 with correlation id 27 epoch 8"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "controller_id": 1,
            "correlation_id": 27,
            "controller_epoch": 8,
        },
        since="3.0.0",
        until="3.9.2",
    ),
    Rule(
        "leader_and_isr_topic_id_removed",
        STATE_CHANGE,
        text=(
            "Updating PartitionFetchState for <tp> to remove log topic ID <topic_id> since LeaderAndIsr request "
            "from controller <controller_id> with correlation id <correlation_id> epoch <controller_epoch> did "
            "not contain a topic ID"
        ),
        sample=(
            "[Broker id=4] Updating PartitionFetchState for pay-in-3 to remove log topic ID "
            "h5K2vX8bQ0-3mJtR_wYz1A since LeaderAndIsr request from controller 1 with correlation id 27 epoch 8 "
            "did not contain a topic ID"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "controller_id": 1,
            "correlation_id": 27,
            "controller_epoch": 8,
        },
        since="3.1.0",
        until="3.9.2",
    ),
    Rule(
        "become_leader_started",
        STATE_CHANGE,
        text=(
            "Handling LeaderAndIsr request"
            + CORRELATION_FROM
            + " starting the become-leader transition for partition <tp>"
        ),
        sample=(
            "[Broker id=4] Handling LeaderAndIsr request correlationId 27 from controller 1 epoch 8 starting the "
            "become-leader transition for partition pay-in-3"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "become_leader_started",
        STATE_CHANGE,
        text=(
            "Received LeaderAndIsr request"
            + CORRELATION_FROM
            + " starting the become-leader transition for partition <tp>"
        ),
        sample=(
            "Broker 4 received LeaderAndIsr request correlationId 27 from controller 1 epoch 8 starting the "
            "become-leader transition for partition pay-in-3"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.0",
        until="0.8.0",
    ),
    Rule(
        "become_leader_stopped_fetchers",
        STATE_CHANGE,
        text=(
            "Stopped fetchers as part of become-leader request"
            + FROM_WITH
            + " for partition <tp><? (last update controller epoch <state_controller_epoch:int>)?>"
        ),
        sample=(
            "[Broker id=4] Stopped fetchers as part of become-leader request from controller 1 epoch 8 with "
            "correlation id 27 for partition pay-in-3 (last update controller epoch 7)"
        ),
        reads={
            "broker_id": 4,
            "controller_id": 1,
            "controller_epoch": 8,
            "correlation_id": 27,
            "topic": "pay-in",
            "partition": 3,
            "state_controller_epoch": "7",
        },
        since="0.8.1",
        until="2.5.1",
    ),
    Rule(
        "become_leader_stopped_fetchers_summary",
        STATE_CHANGE,
        text=(
            "Stopped fetchers as part of LeaderAndIsr request"
            + CORRELATION_FROM
            + " as part of the become-leader transition for <partition_count:int> partitions"
        ),
        sample=(
            "[Broker id=4] Stopped fetchers as part of LeaderAndIsr request correlationId 27 from controller 1 "
            "epoch 8 as part of the become-leader transition for 17 partitions"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "partition_count": "17",
        },
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "become_leader_skipped_already_leader",
        STATE_CHANGE,
        text=(
            "Skipped the become-leader state change after marking its partition as leader"
            + WITH_FROM
            + " for partition <tp><? (last update controller epoch <state_controller_epoch:int>)?> since it is "
            "already the leader for the partition."
        ),
        sample=(
            "[Broker id=4] Skipped the become-leader state change after marking its partition as leader with "
            "correlation id 27 from controller 1 epoch 8 for partition pay-in-3 (last update controller epoch 7) "
            "since it is already the leader for the partition."
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "state_controller_epoch": "7",
        },
        since="0.9.0.0",
        until="3.2.3",
    ),
    Rule(
        "become_leader_skipped_already_leader",
        STATE_CHANGE,
        text=(
            "Skipped the become-leader state change for <tp> with topic id <topic_id:some> and partition "
            "state "
            + PARTITION_STATE_UNNAMED
            + " since it is already the leader with leader epoch <current_leader_epoch:int>. Current high "
            "watermark <high_watermark>, ISR [<isr>], adding replicas [<_:ids>] and removing replicas "
            "[<_:ids>]."
        ),
        sample=(
            "[Broker id=4] Skipped the become-leader state change for pay-in-3 with topic id "
            "Some(h5K2vX8bQ0-3mJtR_wYz1A) and partition state LeaderAndIsrPartitionState(topicName='pay-in', "
            "partitionIndex=3, controllerEpoch=7, leader=4, leaderEpoch=12, isr=[4, 5], partitionEpoch=31, "
            "replicas=[4,5,6], addingReplicas=[4, 5], removingReplicas=[4, 5], isNew=false, "
            "leaderRecoveryState=0) since it is already the leader with leader epoch 12. Current high watermark "
            "880, ISR [4,5], adding replicas [] and removing replicas []."
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "state_controller_epoch": "7",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "partition_epoch": 31,
            "replicas": [4, 5, 6],
            "adding_replicas": "4, 5",
            "removing_replicas": "4, 5",
            "is_new": "false",
            "leader_recovery_state": "0",
            "current_leader_epoch": "12",
            "high_watermark": "880",
        },
        since="3.3.0",
        until="4.1.2",
    ),
    Rule(
        "become_leader_skipped_newer_partition_epoch",
        STATE_CHANGE,
        text=(
            "Skipped the become-leader state change for <tp> with topic id <topic_id:some> and partition "
            "state "
            + PARTITION_STATE_UNNAMED
            + " since the leader is already at a newer partition epoch <current_partition_epoch:int>."
        ),
        sample=(
            "[Broker id=4] Skipped the become-leader state change for pay-in-3 with topic id "
            "Some(h5K2vX8bQ0-3mJtR_wYz1A) and partition state LeaderAndIsrPartitionState(topicName='pay-in', "
            "partitionIndex=3, controllerEpoch=7, leader=4, leaderEpoch=12, isr=[4,5], partitionEpoch=31, "
            "replicas=[4,5,6], addingReplicas=[4, 5], removingReplicas=[4, 5], isNew=false, "
            "leaderRecoveryState=0) since the leader is already at a newer partition epoch 23."
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "state_controller_epoch": "7",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "partition_epoch": 31,
            "replicas": [4, 5, 6],
            "adding_replicas": "4, 5",
            "removing_replicas": "4, 5",
            "is_new": "false",
            "leader_recovery_state": "0",
            "current_partition_epoch": "23",
        },
        since="3.3.0",
        until="4.1.2",
    ),
    Rule(
        "become_leader_failed_storage",
        STATE_CHANGE,
        text=(
            "Skipped the become-leader state change"
            + WITH_FROM
            + " for partition <tp><? (last update controller epoch <state_controller_epoch:int>)?> since the "
            "replica for the partition is offline due to <?disk?><?storage?> error <error:rest>"
        ),
        sample=(
            "[Broker id=4] Skipped the become-leader state change with correlation id 27 from controller 1 epoch "
            "8 for partition pay-in-3 (last update controller epoch 7) since the replica for the partition is "
            "offline due to storage error org.apache.kafka.common.errors.KafkaStorageException: Log directory "
            "/srv/kafka/a is offline"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "state_controller_epoch": "7",
            "error": "org.apache.kafka.common.errors.KafkaStorageException: Log directory /srv/kafka/a is offline",
        },
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "become_leader_failed",
        STATE_CHANGE,
        text=(
            "Error<? on broker <broker_id>?> while processing LeaderAndIsr request correlationId "
            "<correlation_id> received" + FROM + " for partition <tp>"
        ),
        sample=(
            "Broker 4 error while processing LeaderAndIsr request correlationId 27 received from controller 1 "
            "epoch 8 for partition pay-in-3"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "become_leader_failed_zk",
        STATE_CHANGE,
        text=(
            "A ZooKeeper client exception has occurred and makeLeader will be skipping the state change for the "
            "partition <tp> with leader epoch: <leader_epoch><?.?><? ?>"
        ),
        sample=(
            "[Broker id=4] A ZooKeeper client exception has occurred and makeLeader will be skipping the state "
            "change for the partition pay-in-3 with leader epoch: 12."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "leader_epoch": 12},
        since="2.7.0",
        until="3.9.2",
    ),
    Rule(
        "become_leader_completed",
        STATE_CHANGE,
        text=(
            "Completed LeaderAndIsr request" + CORRELATION_FROM + " for the become-leader transition for partition <tp>"
        ),
        sample=(
            "[Broker id=4] Completed LeaderAndIsr request correlationId 27 from controller 1 epoch 8 for the "
            "become-leader transition for partition pay-in-3"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "become_leader_completed",
        STATE_CHANGE,
        text="Completed become-leader transition for partition <tp>",
        sample="Broker 4 completed become-leader transition for partition pay-in-3",
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="0.8.0",
    ),
    Rule(
        "become_follower_failed",
        STATE_CHANGE,
        text=(
            "Error<? on broker <broker_id>?> while processing LeaderAndIsr request with correlationId "
            "<correlation_id> received" + FROM + "<? when trying to update topic IDs in the fetchers?>"
        ),
        sample=(
            "[Broker id=4] Error while processing LeaderAndIsr request with correlationId 27 received from "
            "controller 1 epoch 8 when trying to update topic IDs in the fetchers"
        ),
        reads={"broker_id": 4, "correlation_id": 27, "controller_id": 1, "controller_epoch": 8},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "become_follower_started",
        STATE_CHANGE,
        text=(
            "Handling LeaderAndIsr request"
            + CORRELATION_FROM
            + " starting the become-follower transition for partition <tp><? with leader <leader>?>"
        ),
        sample=(
            "[Broker id=4] Handling LeaderAndIsr request correlationId 27 from controller 1 epoch 8 starting the "
            "become-follower transition for partition pay-in-3 with leader 4"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
        },
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "become_follower_started",
        STATE_CHANGE,
        text=(
            "Received LeaderAndIsr request"
            + CORRELATION_FROM
            + " starting the become-follower transition for partition <tp>"
        ),
        sample=(
            "Broker 4 received LeaderAndIsr request correlationId 27 from controller 1 epoch 8 starting the "
            "become-follower transition for partition pay-in-3"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.0",
        until="0.8.0",
    ),
    Rule(
        "become_follower_stopped_fetchers",
        STATE_CHANGE,
        text=(
            "Stopped fetchers as part of become-follower request"
            + FROM_WITH
            + " for partition <tp><? with leader <leader>?>"
        ),
        sample=(
            "[Broker id=4] Stopped fetchers as part of become-follower request from controller 1 epoch 8 with "
            "correlation id 27 for partition pay-in-3 with leader 4"
        ),
        reads={
            "broker_id": 4,
            "controller_id": 1,
            "controller_epoch": 8,
            "correlation_id": 27,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
        },
        since="0.8.1",
        until="2.5.1",
    ),
    Rule(
        "become_follower_stopped_fetchers_summary",
        STATE_CHANGE,
        text=(
            "Stopped fetchers as part of become-follower request" + FROM_WITH + " for <partition_count:int> partitions"
        ),
        sample=(
            "[Broker id=4] Stopped fetchers as part of become-follower request from controller 1 epoch 8 with "
            "correlation id 27 for 17 partitions"
        ),
        reads={
            "broker_id": 4,
            "controller_id": 1,
            "controller_epoch": 8,
            "correlation_id": 27,
            "partition_count": "17",
        },
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "become_follower_truncated_log",
        STATE_CHANGE,
        text=(
            "Truncated logs and checkpointed recovery boundaries for partition <tp> as part of "
            "become-follower request" + WITH_FROM + "<? with leader <leader>?>"
        ),
        sample=(
            "[Broker id=4] Truncated logs and checkpointed recovery boundaries for partition pay-in-3 as part of "
            "become-follower request with correlation id 27 from controller 1 epoch 8 with leader 4"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "leader": 4,
        },
        since="0.8.1",
        until="2.5.1",
    ),
    Rule(
        "become_follower_fetcher_started",
        STATE_CHANGE,
        text=(
            "Started fetcher to new leader as part of become-follower request"
            + FROM_WITH
            + " for partition <tp><? with leader <?BrokerEndPoint(id=?><leader><?, host=<_:word>)?>?>"
        ),
        sample=(
            "[Broker id=4] Started fetcher to new leader as part of become-follower request from controller 1 "
            "epoch 8 with correlation id 27 for partition pay-in-3 with leader BrokerEndPoint(id=4, "
            "host=k4.pay:9092)"
        ),
        reads={
            "broker_id": 4,
            "controller_id": 1,
            "controller_epoch": 8,
            "correlation_id": 27,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
        },
        since="0.8.2.0",
        until="2.5.1",
    ),
    Rule(
        "become_follower_fetcher_skipped_shutdown",
        STATE_CHANGE,
        text=(
            "Skipped the adding-fetcher step of the become-follower state change"
            + WITH_FROM
            + "<? for partition <tp>?><? with leader <leader>?> since it is shutting down"
        ),
        sample=(
            "[Broker id=4] Skipped the adding-fetcher step of the become-follower state change with correlation "
            "id 27 from controller 1 epoch 8 for partition pay-in-3 with leader 4 since it is shutting down"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
        },
        since="0.8.2.0",
        until="3.9.2",
    ),
    Rule(
        "become_follower_fetcher_skipped_shutdown",
        STATE_CHANGE,
        text=(
            "Ignored the become-follower state change"
            + WITH_FROM
            + "<? for partition <tp>?><? with leader <leader>?> since it is shutting down"
        ),
        sample=(
            "Broker 4 ignored the become-follower state change with correlation id 27 from controller 1 epoch 8 "
            "for partition pay-in-3 with leader 4 since it is shutting down"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
        },
        since="0.8.0",
        until="0.8.1.1",
    ),
    Rule(
        "become_follower_topic_id_update_skipped_shutdown",
        STATE_CHANGE,
        text=(
            "Skipped the update topic ID step of the become-follower state change"
            + WITH_FROM
            + " for partition <tp> since it is shutting down"
        ),
        sample=(
            "[Broker id=4] Skipped the update topic ID step of the become-follower state change with correlation "
            "id 27 from controller 1 epoch 8 for partition pay-in-3 since it is shutting down"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
        },
        since="3.1.0",
        until="3.9.2",
    ),
    Rule(
        "become_follower_leader_unavailable",
        STATE_CHANGE,
        text=("Aborted the become-follower state change" + WITH_FROM + " for partition <tp> new leader <leader>"),
        sample=(
            "Broker 4 aborted the become-follower state change with correlation id 27 from controller 1 epoch 8 "
            "for partition pay-in-3 new leader 4"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
        },
        since="0.8.0",
        until="0.8.1.1",
    ),
    Rule(
        "become_follower_leader_unavailable",
        STATE_CHANGE,
        text=(
            "Ignored the become-follower state change with correlation id <correlation_id> controller "
            "<controller_id> epoch <controller_epoch> for partition Topic: <topic>; Partition: <partition>; "
            "Leader: <_:some>; AssignedReplicas: <replicas:csv>; InSyncReplicas: <isr:csv> since the designated "
            "leader <leader> cannot be found in live or shutting down brokers <live_brokers:rest>"
        ),
        sample=(
            "Broker 4 ignored the become-follower state change with correlation id 27 controller 1 epoch 8 for "
            "partition Topic: pay-in; Partition: 3; Leader: Some(4); AssignedReplicas: 4,5,6; InSyncReplicas: 4,"
            "5 since the designated leader 4 cannot be found in live or shutting down brokers id:5,host:k5.pay,"
            "port:9092"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "replicas": [4, 5, 6],
            "isr": [4, 5],
            "leader": 4,
            "live_brokers": "id:5,host:k5.pay,port:9092",
        },
        since="0.8.1",
        until="0.8.1.1",
    ),
    Rule(
        "become_follower_leader_unavailable",
        STATE_CHANGE,
        text=(
            "Received LeaderAndIsrRequest"
            + WITH_FROM
            + " for partition <tp><? (last update controller epoch <state_controller_epoch:int>)?> but cannot "
            "become follower since the new leader <leader> is unavailable."
        ),
        sample=(
            "[Broker id=4] Received LeaderAndIsrRequest with correlation id 27 from controller 1 epoch 8 for "
            "partition pay-in-3 (last update controller epoch 7) but cannot become follower since the new leader "
            "4 is unavailable."
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "state_controller_epoch": "7",
            "leader": 4,
        },
        since="0.8.2.0",
        until="3.9.2",
    ),
    Rule(
        "become_follower_skipped_same_leader",
        STATE_CHANGE,
        text=(
            "Skipped the become-follower state change after marking its partition as follower"
            + WITH_FROM
            + " for partition <tp><? (last update controller epoch <state_controller_epoch:int>)?> since the "
            "new leader <leader> is the same as the old leader"
        ),
        sample=(
            "[Broker id=4] Skipped the become-follower state change after marking its partition as follower with "
            "correlation id 27 from controller 1 epoch 8 for partition pay-in-3 (last update controller epoch 7) "
            "since the new leader 4 is the same as the old leader"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "state_controller_epoch": "7",
            "leader": 4,
        },
        since="0.8.2.0",
        until="3.2.3",
    ),
    Rule(
        "become_follower_skipped_same_leader",
        STATE_CHANGE,
        text=(
            "Skipped the become-follower state change for <tp> with topic id <topic_id:some> and partition "
            "state "
            + PARTITION_STATE_UNNAMED
            + " since it is already a follower with leader epoch <current_leader_epoch:int>."
        ),
        sample=(
            "[Broker id=4] Skipped the become-follower state change for pay-in-3 with topic id "
            "Some(h5K2vX8bQ0-3mJtR_wYz1A) and partition state LeaderAndIsrPartitionState(topicName='pay-in', "
            "partitionIndex=3, controllerEpoch=7, leader=4, leaderEpoch=12, isr=[4,5], partitionEpoch=31, "
            "replicas=[4,5,6], addingReplicas=[4, 5], removingReplicas=[4, 5], isNew=false, "
            "leaderRecoveryState=0) since it is already a follower with leader epoch 12."
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "state_controller_epoch": "7",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "partition_epoch": 31,
            "replicas": [4, 5, 6],
            "adding_replicas": "4, 5",
            "removing_replicas": "4, 5",
            "is_new": "false",
            "leader_recovery_state": "0",
            "current_leader_epoch": "12",
        },
        since="3.3.0",
        until="4.1.2",
    ),
    Rule(
        "become_follower_skipped_newer_partition_epoch",
        STATE_CHANGE,
        text=(
            "Skipped the become-follower state change for <tp> with topic id <topic_id:some> and partition "
            "state "
            + PARTITION_STATE_UNNAMED
            + " since the follower is already at a newer partition epoch <current_partition_epoch:int>."
        ),
        sample=(
            "[Broker id=4] Skipped the become-follower state change for pay-in-3 with topic id "
            "Some(h5K2vX8bQ0-3mJtR_wYz1A) and partition state LeaderAndIsrPartitionState(topicName='pay-in', "
            "partitionIndex=3, controllerEpoch=7, leader=4, leaderEpoch=12, isr=[4,5], partitionEpoch=31, "
            "replicas=[4,5,6], addingReplicas=[4, 5], removingReplicas=[4, 5], isNew=false, "
            "leaderRecoveryState=0) since the follower is already at a newer partition epoch 23."
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "state_controller_epoch": "7",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "partition_epoch": 31,
            "replicas": [4, 5, 6],
            "adding_replicas": "4, 5",
            "removing_replicas": "4, 5",
            "is_new": "false",
            "leader_recovery_state": "0",
            "current_partition_epoch": "23",
        },
        since="3.3.0",
        until="4.1.2",
    ),
    Rule(
        "become_follower_failed_storage",
        STATE_CHANGE,
        text=(
            "Skipped the become-follower state change"
            + WITH_FROM
            + " for partition <tp><? (last update controller epoch <state_controller_epoch:int>)?><? with "
            "leader <leader>?> since the replica for the partition is offline due to <?disk?><?storage?> "
            "error <error:rest>"
        ),
        sample=(
            "[Broker id=4] Skipped the become-follower state change with correlation id 27 from controller 1 "
            "epoch 8 for partition pay-in-3 (last update controller epoch 7) with leader 4 since the replica for "
            "the partition is offline due to storage error org.apache.kafka.common.errors.KafkaStorageException: "
            "Log directory /srv/kafka/a is offline"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "state_controller_epoch": "7",
            "leader": 4,
            "error": "org.apache.kafka.common.errors.KafkaStorageException: Log directory /srv/kafka/a is offline",
        },
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "become_follower_failed_zk",
        STATE_CHANGE,
        text=(
            "A ZooKeeper client exception has occurred. makeFollower will be skipping the state change for the "
            "partition <tp> with leader epoch: <leader_epoch>."
        ),
        sample=(
            "[Broker id=4] A ZooKeeper client exception has occurred. makeFollower will be skipping the state "
            "change for the partition pay-in-3 with leader epoch: 12."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "leader_epoch": 12},
        since="2.7.0",
        until="3.9.2",
    ),
    Rule(
        "become_follower_completed",
        STATE_CHANGE,
        text=(
            "Completed LeaderAndIsr request"
            + CORRELATION_FROM
            + " for the become-follower transition for partition <tp><? with leader <leader>?>"
        ),
        sample=(
            "[Broker id=4] Completed LeaderAndIsr request correlationId 27 from controller 1 epoch 8 for the "
            "become-follower transition for partition pay-in-3 with leader 4"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
        },
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "become_follower_completed",
        STATE_CHANGE,
        text="Completed the become-follower transition for partition <tp>",
        sample="Broker 4 completed the become-follower transition for partition pay-in-3",
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="0.8.0",
    ),
    Rule(
        "partition_leader_epoch_started",
        STATE_CHANGE,
        text=(
            "Leader <tp><? with topic id <topic_id:some>?> starts at leader epoch <leader_epoch> from offset "
            "<start_offset:int> with <?partition epoch <partition_epoch>, ?>high watermark <high_watermark><?,?> "
            "ISR [<isr>]<?, adding replicas?><? addingReplicas?> [<adding_replicas:ids>]<? and removing "
            "replicas?><? removingReplicas?> [<removing_replicas:ids>]<? ?><?(<under_min_isr:word>)?>. Previous "
            "leader <?<?None?><?Some(<previous_leader>)?> and previous leader ?>epoch was <previous_leader_epoch>."
        ),
        sample=(
            "[Broker id=4] Leader pay-in-3 with topic id Some(h5K2vX8bQ0-3mJtR_wYz1A) starts at leader epoch 12 "
            "from offset 902 with partition epoch 31, high watermark 880, ISR [4,5], adding replicas [] and "
            "removing replicas [] . Previous leader Some(6) and previous leader epoch was 11."
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "leader_epoch": 12,
            "start_offset": "902",
            "partition_epoch": 31,
            "high_watermark": "880",
            "isr": [4, 5],
            "adding_replicas": "",
            "removing_replicas": "",
            "previous_leader": "6",
            "previous_leader_epoch": "11",
        },
        since="2.6.0",
    ),
    Rule(
        "partition_follower_epoch_started",
        STATE_CHANGE,
        text=(
            "Follower <tp> starts at leader epoch <leader_epoch> from offset <start_offset:int> with <?partition "
            "epoch <partition_epoch> and ?>high watermark <high_watermark>. <?Current leader is <leader>. "
            "?>Previous leader <?<?None?><?Some(<previous_leader>)?> and previous leader ?>epoch was "
            "<previous_leader_epoch>."
        ),
        sample=(
            "[Broker id=4] Follower pay-in-3 starts at leader epoch 12 from offset 902 with partition epoch 31 "
            "and high watermark 880. Current leader is 5. Previous leader Some(6) and previous leader epoch was "
            "11."
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "leader_epoch": 12,
            "start_offset": "902",
            "partition_epoch": 31,
            "high_watermark": "880",
            "leader": 5,
            "previous_leader": "6",
            "previous_leader_epoch": "11",
        },
        since="2.6.0",
    ),
    Rule(
        "partition_marked_recovering",
        STATE_CHANGE,
        text=(
            "The topic partition <tp> was marked as RECOVERING. <?Leader log recovery is not implemented. "
            "?>Marking the topic partition as RECOVERED."
        ),
        sample=(
            "[Broker id=4] The topic partition pay-in-3 was marked as RECOVERING. Marking the topic partition as "
            "RECOVERED."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3},
        since="3.2.0",
    ),
    Rule(
        "stop_replica_started",
        STATE_CHANGE,
        text="Handling stop replica<? (delete=<delete_partition:word>)?> for partition <tp>",
        sample="[Broker id=4] Handling stop replica (delete=true) for partition pay-in-3",
        reads={"broker_id": 4, "delete_partition": "true", "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="2.5.1",
    ),
    Rule(
        "stop_replica_ignored_no_replica",
        STATE_CHANGE,
        text=(
            "Ignoring stop replica<? (delete=<delete_partition:word>)?> for partition <tp> as replica doesn't "
            "exist on broker"
        ),
        sample=(
            "[Broker id=4] Ignoring stop replica (delete=true) for partition pay-in-3 as replica doesn't exist "
            "on broker"
        ),
        reads={"broker_id": 4, "delete_partition": "true", "topic": "pay-in", "partition": 3},
        since="0.8.1",
        until="2.5.1",
    ),
    Rule(
        "stop_replica_finished",
        STATE_CHANGE,
        text="Finished handling stop replica<? (delete=<delete_partition:word>)?> for partition <tp>",
        sample="[Broker id=4] Finished handling stop replica (delete=true) for partition pay-in-3",
        reads={"broker_id": 4, "delete_partition": "true", "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="2.5.1",
    ),
    Rule(
        "stop_replica_failed_storage",
        STATE_CHANGE,
        text=("Ignoring stop replica<? (delete=<delete_partition:word>)?> for partition <tp> due to storage exception"),
        sample="[Broker id=4] Ignoring stop replica (delete=true) for partition pay-in-3 due to storage exception",
        reads={"broker_id": 4, "delete_partition": "true", "topic": "pay-in", "partition": 3},
        since="1.0.0",
        until="2.5.1",
    ),
    Rule(
        "stop_replica_stale_controller_epoch",
        STATE_CHANGE,
        text=(
            "Received stop replica request from an old controller epoch <controller_epoch>. Latest known "
            "controller epoch is <?%d ?><latest_controller_epoch:int>"
        ),
        sample=(
            "[Broker id=4] Received stop replica request from an old controller epoch 7. Latest known controller "
            "epoch is 8"
        ),
        reads={"broker_id": 4, "controller_epoch": 7, "latest_controller_epoch": "8"},
        since="0.8.0",
        until="2.5.1",
    ),
    Rule(
        "stop_replica_stale_controller_epoch",
        STATE_CHANGE,
        text=(
            "Ignoring StopReplica request from controller <controller_id> with correlation id <correlation_id> "
            "since its controller epoch <controller_epoch> is old. Latest known controller epoch is "
            "<latest_controller_epoch:int>"
        ),
        sample=(
            "[Broker id=4] Ignoring StopReplica request from controller 1 with correlation id 27 since its "
            "controller epoch 7 is old. Latest known controller epoch is 8"
        ),
        reads={
            "broker_id": 4,
            "controller_id": 1,
            "correlation_id": 27,
            "controller_epoch": 7,
            "latest_controller_epoch": "8",
        },
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "stop_replica_request_received_summary",
        STATE_CHANGE,
        text=(
            "Handling StopReplica request correlationId <correlation_id> from controller <controller_id> for "
            "<partition_count:int> partitions"
        ),
        sample="[Broker id=4] Handling StopReplica request correlationId 27 from controller 1 for 17 partitions",
        reads={"broker_id": 4, "correlation_id": 27, "controller_id": 1, "partition_count": "17"},
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "stop_replica_request_received",
        STATE_CHANGE,
        text=(
            "Received StopReplica request StopReplicaPartitionState(partitionIndex=<_:int>, "
            "leaderEpoch=<leader_epoch>, deletePartition=<delete_partition:word>) correlation id "
            "<correlation_id>" + FROM + " for partition <tp>"
        ),
        sample=(
            "[Broker id=4] Received StopReplica request StopReplicaPartitionState(partitionIndex=3, "
            "leaderEpoch=12, deletePartition=true) correlation id 27 from controller 1 epoch 8 for partition "
            "pay-in-3"
        ),
        reads={
            "broker_id": 4,
            "leader_epoch": 12,
            "delete_partition": "true",
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
        },
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "stop_replica_offline_log_dir",
        STATE_CHANGE,
        text=(
            "Ignoring StopReplica request (delete=<delete_partition:word>) from controller <controller_id> with "
            "correlation id <correlation_id> epoch <controller_epoch> for partition <tp> as the local replica "
            "for the partition is in an offline log directory"
        ),
        sample=(
            "[Broker id=4] Ignoring StopReplica request (delete=true) from controller 1 with correlation id 27 "
            "epoch 8 for partition pay-in-3 as the local replica for the partition is in an offline log directory"
        ),
        reads={
            "broker_id": 4,
            "delete_partition": "true",
            "controller_id": 1,
            "correlation_id": 27,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
        },
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "stop_replica_stale_leader_epoch",
        STATE_CHANGE,
        text=(
            "Ignoring StopReplica request (delete=<delete_partition:word>) from controller <controller_id> with "
            "correlation id <correlation_id> epoch <controller_epoch> for partition <tp> since its associated "
            "leader epoch <leader_epoch> is smaller than the current leader epoch <current_leader_epoch:int>"
        ),
        sample=(
            "[Broker id=4] Ignoring StopReplica request (delete=true) from controller 1 with correlation id 27 "
            "epoch 8 for partition pay-in-3 since its associated leader epoch 12 is smaller than the current "
            "leader epoch 12"
        ),
        reads={
            "broker_id": 4,
            "delete_partition": "true",
            "controller_id": 1,
            "correlation_id": 27,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "leader_epoch": 12,
            "current_leader_epoch": "12",
        },
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "stop_replica_same_leader_epoch",
        STATE_CHANGE,
        text=(
            "Ignoring StopReplica request (delete=<delete_partition:word>) from controller <controller_id> with "
            "correlation id <correlation_id> epoch <controller_epoch> for partition <tp> since its associated "
            "leader epoch <leader_epoch> matches the current leader epoch"
        ),
        sample=(
            "[Broker id=4] Ignoring StopReplica request (delete=true) from controller 1 with correlation id 27 "
            "epoch 8 for partition pay-in-3 since its associated leader epoch 12 matches the current leader epoch"
        ),
        reads={
            "broker_id": 4,
            "delete_partition": "true",
            "controller_id": 1,
            "correlation_id": 27,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "leader_epoch": 12,
        },
        since="2.6.0",
        until="3.7.1",
    ),
    Rule(
        "stop_replica_failed",
        STATE_CHANGE,
        text=(
            "Ignoring StopReplica request (delete=<delete_partition:word>) from controller <controller_id> with "
            "correlation id <correlation_id> epoch <controller_epoch> for partition <tp> due to an unexpected "
            "<error:word> exception: <reason:rest>"
        ),
        sample=(
            "[Broker id=4] Ignoring StopReplica request (delete=true) from controller 1 with correlation id 27 "
            "epoch 8 for partition pay-in-3 due to an unexpected java.io.IOException exception: No space left on "
            "device"
        ),
        reads={
            "broker_id": 4,
            "delete_partition": "true",
            "controller_id": 1,
            "correlation_id": 27,
            "controller_epoch": 8,
            "topic": "pay-in",
            "partition": 3,
            "error": "java.io.IOException",
            "reason": "No space left on device",
        },
        since="2.7.0",
        until="3.9.2",
    ),
    Rule(
        "metadata_cache_updated",
        STATE_CHANGE,
        text=("Cached leader info " + CACHED_STATE + " for partition <tp>" + IN_RESPONSE),
        sample=(
            "[Broker id=4] Cached leader info UpdateMetadataPartitionState(topicName='pay-in', partitionIndex=3, "
            "controllerEpoch=7, leader=4, leaderEpoch=12, isr=[4, 5], zkVersion=31, replicas=[4, 5, 6], "
            "offlineReplicas=[6]) for partition pay-in-3 in response to UpdateMetadata request sent by "
            "controller 1 epoch 8 with correlation id 27"
        ),
        reads={
            "broker_id": 4,
            "state_controller_epoch": "7",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "partition_epoch": 31,
            "replicas": [4, 5, 6],
            "offline_replicas": "6",
            "topic": "pay-in",
            "partition": 3,
            "controller_id": 1,
            "controller_epoch": 8,
            "correlation_id": 27,
        },
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "metadata_cache_updated",
        STATE_CHANGE,
        text=("Cached leader info " + PARTITION_STATE_INFO + " for partition <tp>" + IN_RESPONSE),
        sample=(
            "Broker 4 cached leader info (LeaderAndIsrInfo:(Leader:4,ISR:4,5,LeaderEpoch:12,ControllerEpoch:7),"
            "ReplicationFactor:3),AllReplicas:4,5,6) for partition pay-in-3 in response to UpdateMetadata "
            "request sent by controller 1 epoch 8 with correlation id 27"
        ),
        reads={
            "broker_id": 4,
            "leader": 4,
            "isr": [4, 5],
            "leader_epoch": 12,
            "state_controller_epoch": "7",
            "replication_factor": "3",
            "replicas": [4, 5, 6],
            "topic": "pay-in",
            "partition": 3,
            "controller_id": 1,
            "controller_epoch": 8,
            "correlation_id": 27,
        },
        since="0.8.0",
        until="0.11.0.3",
    ),
    Rule(
        "metadata_cache_partition_deleted",
        STATE_CHANGE,
        text=("Deleted partition <tp> from metadata cache" + IN_RESPONSE),
        sample=(
            "[Broker id=4] Deleted partition pay-in-3 from metadata cache in response to UpdateMetadata request "
            "sent by controller 1 epoch 8 with correlation id 27"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "controller_id": 1,
            "controller_epoch": 8,
            "correlation_id": 27,
        },
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "metadata_cache_topic_deleted",
        STATE_CHANGE,
        text=(
            "Deleted partitions for topic <topic> from metadata cache in response to UpdateMetadata request <? "
            "?>sent by controller <controller_id> epoch <controller_epoch> with correlation id <correlation_id>"
        ),
        sample=(
            "Broker 4 deleted partitions for topic pay-in from metadata cache in response to UpdateMetadata "
            "request  sent by controller 1 epoch 8 with correlation id 27"
        ),
        reads={"broker_id": 4, "topic": "pay-in", "controller_id": 1, "controller_epoch": 8, "correlation_id": 27},
        since="0.8.1.1",
        until="0.8.1.1",
    ),
    Rule(
        "metadata_cache_update_summary",
        STATE_CHANGE,
        text=(
            "Add <added_partition_count:int> partitions and deleted <deleted_partition_count:int> partitions "
            "<?from?><?to the?> metadata cache" + IN_RESPONSE
        ),
        sample=(
            "[Broker id=4] Add 23 partitions and deleted 23 partitions from metadata cache in response to "
            "UpdateMetadata request sent by controller 1 epoch 8 with correlation id 27"
        ),
        reads={
            "broker_id": 4,
            "added_partition_count": "23",
            "deleted_partition_count": "23",
            "controller_id": 1,
            "controller_epoch": 8,
            "correlation_id": 27,
        },
        since="2.6.0",
        until="3.9.2",
    ),
    Rule(
        "update_metadata_stale_controller_epoch",
        STATE_CHANGE,
        text=(
            "Received update metadata request with correlation id <correlation_id> from an old controller "
            "<controller_id> with epoch <controller_epoch>. Latest known controller epoch is "
            "<latest_controller_epoch:int>"
        ),
        sample=(
            "[Broker id=4] Received update metadata request with correlation id 27 from an old controller 1 with "
            "epoch 7. Latest known controller epoch is 8"
        ),
        reads={
            "broker_id": 4,
            "correlation_id": 27,
            "controller_id": 1,
            "controller_epoch": 7,
            "latest_controller_epoch": "8",
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_become_deferred_started",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int>: starting the become-deferred transition for partition <tp> "
            "isNew=<is_new:word>"
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120: starting the become-deferred transition for partition pay-in-3 "
            "isNew=false"
        ),
        reads={"broker_id": 4, "metadata_offset": "5120", "topic": "pay-in", "partition": 3, "is_new": "false"},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_deferred_summary",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int>: as part of become-deferred request, stopped any fetchers for "
            "<partition_count:int> partitions"
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120: as part of become-deferred request, stopped any fetchers for 17 "
            "partitions"
        ),
        reads={"broker_id": 4, "metadata_offset": "5120", "partition_count": "17"},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_deferred_completed",
        STATE_CHANGE,
        text="Completed batch <metadata_offset:int> become-deferred transition for partition <tp>",
        sample="[Broker id=4] Completed batch 5120 become-deferred transition for partition pay-in-3",
        reads={"broker_id": 4, "metadata_offset": "5120", "topic": "pay-in", "partition": 3},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_leader_stopped_fetchers_summary",
        STATE_CHANGE,
        text="Metadata batch <metadata_offset:int>: stopped <fetcher_count:int> fetcher(s)",
        sample="[Broker id=4] Metadata batch 5120: stopped 23 fetcher(s)",
        reads={"broker_id": 4, "metadata_offset": "5120", "fetcher_count": "23"},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_leader_completed",
        STATE_CHANGE,
        text="Metadata batch <metadata_offset:int> <tp>: completed the become-leader state change.",
        sample="[Broker id=4] Metadata batch 5120 pay-in-3: completed the become-leader state change.",
        reads={"broker_id": 4, "metadata_offset": "5120", "topic": "pay-in", "partition": 3},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_leader_completed",
        STATE_CHANGE,
        text="Apply deferred leader partition <tp>: completed the become-leader state change.",
        sample="[Broker id=4] Apply deferred leader partition pay-in-3: completed the become-leader state change.",
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_leader_skipped_already_leader",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int> <tp>: skipped the become-leader state change since it is "
            "already the leader."
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120 pay-in-3: skipped the become-leader state change since it is "
            "already the leader."
        ),
        reads={"broker_id": 4, "metadata_offset": "5120", "topic": "pay-in", "partition": 3},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_leader_skipped_already_leader",
        STATE_CHANGE,
        text=(
            "Skipped the become-leader state change for <tp> with topic id <topic_id> because this partition is "
            "already a local leader."
        ),
        sample=(
            "[Broker id=4] Skipped the become-leader state change for pay-in-3 with topic id "
            "h5K2vX8bQ0-3mJtR_wYz1A because this partition is already a local leader."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A"},
        since="3.0.0",
        until="3.2.3",
    ),
    Rule(
        "kraft_become_leader_failed_storage",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int> <tp>: unable to make leader because the replica for the "
            "partition is offline due to disk error <error:rest>"
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120 pay-in-3: unable to make leader because the replica for the "
            "partition is offline due to disk error org.apache.kafka.common.errors.KafkaStorageException: Log "
            "directory /srv/kafka/a is offline"
        ),
        reads={
            "broker_id": 4,
            "metadata_offset": "5120",
            "topic": "pay-in",
            "partition": 3,
            "error": "org.apache.kafka.common.errors.KafkaStorageException: Log directory /srv/kafka/a is offline",
        },
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_leader_failed_storage",
        STATE_CHANGE,
        text=(
            "Skipped the become-leader state change for <tp> with topic id <topic_id:some> due to <?a "
            "storage?><?disk?> error <error:rest>"
        ),
        sample=(
            "[Broker id=4] Skipped the become-leader state change for pay-in-3 with topic id "
            "Some(h5K2vX8bQ0-3mJtR_wYz1A) due to a storage error "
            "org.apache.kafka.common.errors.KafkaStorageException: Log directory /srv/kafka/a is offline"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "error": "org.apache.kafka.common.errors.KafkaStorageException: Log directory /srv/kafka/a is offline",
        },
        since="3.0.0",
    ),
    Rule(
        "kraft_become_leader_failed",
        STATE_CHANGE,
        text="Metadata batch <metadata_offset:int>: error while processing batch.",
        sample="[Broker id=4] Metadata batch 5120: error while processing batch.",
        reads={"broker_id": 4, "metadata_offset": "5120"},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_follower_started",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int> <tp>: starting the become-follower transition with leader <leader>"
        ),
        sample="[Broker id=4] Metadata batch 5120 pay-in-3: starting the become-follower transition with leader 4",
        reads={"broker_id": 4, "metadata_offset": "5120", "topic": "pay-in", "partition": 3, "leader": 4},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_follower_leader_unavailable",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int> <tp>: cannot become follower since the new leader <leader> is "
            "unavailable."
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120 pay-in-3: cannot become follower since the new leader 4 is unavailable."
        ),
        reads={"broker_id": 4, "metadata_offset": "5120", "topic": "pay-in", "partition": 3, "leader": 4},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_follower_leader_unavailable",
        STATE_CHANGE,
        text=(
            "Unable to start fetching <tp> with topic ID <topic_id:some> from leader "
            "<?None?><?<?Some(?><leader><?)?>?> because it is not alive."
        ),
        sample=(
            "[Broker id=4] Unable to start fetching pay-in-3 with topic ID Some(h5K2vX8bQ0-3mJtR_wYz1A) from "
            "leader Some(5) because it is not alive."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A", "leader": 5},
        since="3.0.0",
    ),
    Rule(
        "kraft_become_follower_changed",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int> <tp>: completed the become-follower state change with new "
            "leader <leader>."
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120 pay-in-3: completed the become-follower state change with new leader 4."
        ),
        reads={"broker_id": 4, "metadata_offset": "5120", "topic": "pay-in", "partition": 3, "leader": 4},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_follower_skipped_same_leader",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int> <tp>: skipped the become-follower state change since the new "
            "leader <leader> is the same as the old leader."
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120 pay-in-3: skipped the become-follower state change since the new "
            "leader 4 is the same as the old leader."
        ),
        reads={"broker_id": 4, "metadata_offset": "5120", "topic": "pay-in", "partition": 3, "leader": 4},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_follower_skipped_same_leader",
        STATE_CHANGE,
        text=(
            "Skipped the become-follower state change after marking its partition as follower for partition "
            "<tp> with id <topic_id:some> and partition state " + PARTITION_STATE_UNNAMED + "."
        ),
        sample=(
            "[Broker id=4] Skipped the become-follower state change after marking its partition as follower for "
            "partition pay-in-3 with id Some(h5K2vX8bQ0-3mJtR_wYz1A) and partition state "
            "LeaderAndIsrPartitionState(topicName='pay-in', partitionIndex=3, controllerEpoch=7, leader=4, "
            "leaderEpoch=12, isr=[4,5], partitionEpoch=31, replicas=[4,5,6], addingReplicas=[4, 5], "
            "removingReplicas=[4, 5], isNew=false, leaderRecoveryState=0)."
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "state_controller_epoch": "7",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "partition_epoch": 31,
            "replicas": [4, 5, 6],
            "adding_replicas": "4, 5",
            "removing_replicas": "4, 5",
            "is_new": "false",
            "leader_recovery_state": "0",
        },
        since="3.0.0",
        until="3.2.3",
    ),
    Rule(
        "kraft_become_follower_failed_storage",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int> <tp>: unable to complete the become-follower state change "
            "since the replica for the partition is offline due to disk error <error:rest>"
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120 pay-in-3: unable to complete the become-follower state change "
            "since the replica for the partition is offline due to disk error "
            "org.apache.kafka.common.errors.KafkaStorageException: Log directory /srv/kafka/a is offline"
        ),
        reads={
            "broker_id": 4,
            "metadata_offset": "5120",
            "topic": "pay-in",
            "partition": 3,
            "error": "org.apache.kafka.common.errors.KafkaStorageException: Log directory /srv/kafka/a is offline",
        },
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_follower_failed_storage",
        STATE_CHANGE,
        text="Unable to start fetching <tp> with topic ID <topic_id:some> due to a storage error <error:rest>",
        sample=(
            "[Broker id=4] Unable to start fetching pay-in-3 with topic ID Some(h5K2vX8bQ0-3mJtR_wYz1A) due to a "
            "storage error Log directory /srv/kafka/a is offline"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "error": "Log directory /srv/kafka/a is offline",
        },
        since="3.1.0",
    ),
    Rule(
        "kraft_become_follower_stopped_fetchers_summary",
        STATE_CHANGE,
        text="Metadata batch <metadata_offset:int>: stopped followers for <partition_count:int> partitions",
        sample="[Broker id=4] Metadata batch 5120: stopped followers for 17 partitions",
        reads={"broker_id": 4, "metadata_offset": "5120", "partition_count": "17"},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_follower_stopped_fetchers_summary",
        STATE_CHANGE,
        text="Stopped fetchers as part of become-follower for <partition_count:int> partitions",
        sample="[Broker id=4] Stopped fetchers as part of become-follower for 17 partitions",
        reads={"broker_id": 4, "partition_count": "17"},
        since="3.0.0",
    ),
    Rule(
        "kraft_become_follower_fetcher_skipped_shutdown",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int> <tp>: skipped the adding-fetcher step of the become-follower "
            "state for <_:tp> since we are shutting down."
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120 pay-in-3: skipped the adding-fetcher step of the become-follower "
            "state for pay-in-3 since we are shutting down."
        ),
        reads={"broker_id": 4, "metadata_offset": "5120", "topic": "pay-in", "partition": 3},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_follower_failed",
        STATE_CHANGE,
        text="Metadata batch <metadata_offset:int>: error while processing batch",
        sample="[Broker id=4] Metadata batch 5120: error while processing batch",
        reads={"broker_id": 4, "metadata_offset": "5120"},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_follower_failed",
        STATE_CHANGE,
        text="Unable to start fetching <tp> with topic ID <topic_id:some> due to <error:word>",
        sample=(
            "[Broker id=4] Unable to start fetching pay-in-3 with topic ID Some(h5K2vX8bQ0-3mJtR_wYz1A) due to "
            "IllegalStateException"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "error": "IllegalStateException",
        },
        since="3.0.0",
    ),
    Rule(
        "kraft_become_follower_completed",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int> <tp>: completed become-follower transition for partition "
            "<_:tp> with new leader <leader>"
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120 pay-in-3: completed become-follower transition for partition "
            "pay-in-3 with new leader 4"
        ),
        reads={"broker_id": 4, "metadata_offset": "5120", "topic": "pay-in", "partition": 3, "leader": 4},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_become_follower_skipped_shutdown",
        STATE_CHANGE,
        text=(
            "Unable to start fetching <tp> with topic ID <topic_id:some> because the replica manager is shutting down."
        ),
        sample=(
            "[Broker id=4] Unable to start fetching pay-in-3 with topic ID Some(h5K2vX8bQ0-3mJtR_wYz1A) because "
            "the replica manager is shutting down."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A"},
        since="3.0.0",
        until="3.3.1",
    ),
    Rule(
        "kraft_become_follower_started_fetchers_summary",
        STATE_CHANGE,
        text="Started fetchers as part of become-follower for <partition_count:int> partitions",
        sample="[Broker id=4] Started fetchers as part of become-follower for 17 partitions",
        reads={"broker_id": 4, "partition_count": "17"},
        since="3.0.0",
    ),
    Rule(
        "kraft_controlled_shutdown_stopped_fetchers_summary",
        STATE_CHANGE,
        text="Stopped fetchers as part of controlled shutdown for <partition_count:int> partitions",
        sample="[Broker id=4] Stopped fetchers as part of controlled shutdown for 17 partitions",
        reads={"broker_id": 4, "partition_count": "17"},
        since="3.3.0",
    ),
    Rule(
        "kraft_deferral_initial",
        STATE_CHANGE,
        text="Metadata changes are initially being deferred",
        sample="[Broker id=4] Metadata changes are initially being deferred",
        reads={"broker_id": 4},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_deferral_begin",
        STATE_CHANGE,
        text="Metadata changes are now being deferred",
        sample="[Broker id=4] Metadata changes are now being deferred",
        reads={"broker_id": 4},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_deferral_end",
        STATE_CHANGE,
        text="Applying deferred metadata changes",
        sample="[Broker id=4] Applying deferred metadata changes",
        reads={"broker_id": 4},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_deferral_done",
        STATE_CHANGE,
        text="Metadata changes are no longer being deferred",
        sample="[Broker id=4] Metadata changes are no longer being deferred",
        reads={"broker_id": 4},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_deferral_failed",
        STATE_CHANGE,
        text="Apply deferred <role:word> partition <tp>: error while applying deferred metadata.",
        sample="[Broker id=4] Apply deferred leader partition pay-in-3: error while applying deferred metadata.",
        reads={"broker_id": 4, "role": "leader", "topic": "pay-in", "partition": 3},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_deferral_summary",
        STATE_CHANGE,
        text=(
            "Applied <partition_count:int> deferred partitions<? prior to the error?>: <leader_count:int> "
            "leader(s) and <follower_count:int> follower(s)<?in <elapsed_ms:int> ms?>"
        ),
        sample="[Broker id=4] Applied 17 deferred partitions: 23 leader(s) and 23 follower(s)in 36 ms",
        reads={
            "broker_id": 4,
            "partition_count": "17",
            "leader_count": "23",
            "follower_count": "23",
            "elapsed_ms": "36",
        },
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_metadata_batch_summary",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int>: <changed_partition_count:int> local partition(s) changed, "
            "<removed_partition_count:int> local partition(s) removed."
        ),
        sample="[Broker id=4] Metadata batch 5120: 23 local partition(s) changed, 23 local partition(s) removed.",
        reads={
            "broker_id": 4,
            "metadata_offset": "5120",
            "changed_partition_count": "23",
            "removed_partition_count": "23",
        },
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_partition_locally_changed",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int>: locally changed: MetadataPartition(<topic>,<partition>,"
            "<leader>,<leader_epoch>,[<replicas>],[<isr>],<partition_epoch>,[<offline_replicas:ids>],"
            "[<adding_replicas:ids>],[<removing_replicas:ids>])"
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120: locally changed: MetadataPartition(pay-in,3,4,12,[4, 5, 6],[4, "
            "5],31,[4, 5],[4, 5],[4, 5])"
        ),
        reads={
            "broker_id": 4,
            "metadata_offset": "5120",
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "leader_epoch": 12,
            "replicas": [4, 5, 6],
            "isr": [4, 5],
            "partition_epoch": 31,
            "offline_replicas": "4, 5",
            "adding_replicas": "4, 5",
            "removing_replicas": "4, 5",
        },
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_partition_locally_removed",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int>: locally removed: MetadataPartition(<topic>,<partition>,"
            "<leader>,<leader_epoch>,[<replicas>],[<isr>],<partition_epoch>,[<offline_replicas:ids>],"
            "[<adding_replicas:ids>],[<removing_replicas:ids>])"
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120: locally removed: MetadataPartition(pay-in,3,4,12,[4, 5, 6],[4, "
            "5],31,[4, 5],[4, 5],[4, 5])"
        ),
        reads={
            "broker_id": 4,
            "metadata_offset": "5120",
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "leader_epoch": 12,
            "replicas": [4, 5, 6],
            "isr": [4, 5],
            "partition_epoch": 31,
            "offline_replicas": "4, 5",
            "adding_replicas": "4, 5",
            "removing_replicas": "4, 5",
        },
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_partition_change_ignored_offline_log_dir",
        STATE_CHANGE,
        text=(
            "Ignoring handlePartitionChanges at <metadata_offset:int> for partition <tp> as the local replica "
            "for the partition is in an offline log directory"
        ),
        sample=(
            "[Broker id=4] Ignoring handlePartitionChanges at 5120 for partition pay-in-3 as the local replica "
            "for the partition is in an offline log directory"
        ),
        reads={"broker_id": 4, "metadata_offset": "5120", "topic": "pay-in", "partition": 3},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_partition_change_deferred_summary",
        STATE_CHANGE,
        text="Deferring metadata changes for <partition_count:int> partition(s)",
        sample="[Broker id=4] Deferring metadata changes for 17 partition(s)",
        reads={"broker_id": 4, "partition_count": "17"},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_metadata_batch_applied_summary",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int>: applied <partition_count:int> partitions: <leader_count:int> "
            "leader(s) and <follower_count:int> follower(s)"
        ),
        sample="[Broker id=4] Metadata batch 5120: applied 17 partitions: 23 leader(s) and 23 follower(s)",
        reads={
            "broker_id": 4,
            "metadata_offset": "5120",
            "partition_count": "17",
            "leader_count": "23",
            "follower_count": "23",
        },
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_replica_delete_failed",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int>: unable to delete <tp> as the local replica for the partition "
            "is in an offline log directory"
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120: unable to delete pay-in-3 as the local replica for the partition "
            "is in an offline log directory"
        ),
        reads={"broker_id": 4, "metadata_offset": "5120", "topic": "pay-in", "partition": 3},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_replica_delete_failed",
        STATE_CHANGE,
        text=(
            "Metadata batch <metadata_offset:int>: unable to delete <tp> due to an unexpected <error:word> "
            "exception: <reason:rest>"
        ),
        sample=(
            "[Broker id=4] Metadata batch 5120: unable to delete pay-in-3 due to an unexpected "
            "java.io.IOException exception: No space left on device"
        ),
        reads={
            "broker_id": 4,
            "metadata_offset": "5120",
            "topic": "pay-in",
            "partition": 3,
            "error": "java.io.IOException",
            "reason": "No space left on device",
        },
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_metadata_batch_finished",
        STATE_CHANGE,
        text="Metadata batch <metadata_offset:int>: handled replica changes in <elapsed_ms:int> ms",
        sample="[Broker id=4] Metadata batch 5120: handled replica changes in 36 ms",
        reads={"broker_id": 4, "metadata_offset": "5120", "elapsed_ms": "36"},
        since="2.8.0",
        until="2.8.2",
    ),
    Rule(
        "kraft_replica_delete_failed",
        STATE_CHANGE,
        text=(
            "Unable to delete replica <tp> because the local replica for the partition is in an offline log directory"
        ),
        sample=(
            "[Broker id=4] Unable to delete replica pay-in-3 because the local replica for the partition is in "
            "an offline log directory"
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3},
        since="3.0.0",
    ),
    Rule(
        "kraft_replica_delete_failed",
        STATE_CHANGE,
        text="Unable to delete replica <tp> because we got an unexpected <error:word> exception: <reason:rest>",
        sample=(
            "[Broker id=4] Unable to delete replica pay-in-3 because we got an unexpected java.io.IOException "
            "exception: No space left on device"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "error": "java.io.IOException",
            "reason": "No space left on device",
        },
        since="3.0.0",
    ),
    Rule(
        "kraft_partition_create_offline_log_dir",
        STATE_CHANGE,
        text=(
            "Unable to bring up new local <?leader?><?follower?> <tp> with topic id <topic_id> because it "
            "resides in an offline log directory."
        ),
        sample=(
            "[Broker id=4] Unable to bring up new local leader pay-in-3 with topic id h5K2vX8bQ0-3mJtR_wYz1A "
            "because it resides in an offline log directory."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A"},
        since="3.0.0",
    ),
    Rule(
        "kraft_partition_missing_created",
        STATE_CHANGE,
        text="Expected partition <tp> with topic id <topic_id> to exist, but it was missing. Creating...",
        sample=(
            "[Broker id=4] Expected partition pay-in-3 with topic id h5K2vX8bQ0-3mJtR_wYz1A to exist, but it was "
            "missing. Creating..."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A"},
        since="3.0.0",
    ),
    Rule(
        "kraft_partition_created",
        STATE_CHANGE,
        text="Creating new partition <tp> with topic id <topic_id>.",
        sample="[Broker id=4] Creating new partition pay-in-3 with topic id h5K2vX8bQ0-3mJtR_wYz1A.",
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A"},
        since="3.0.0",
    ),
    Rule(
        "kraft_partition_created_other_id_offline",
        STATE_CHANGE,
        text=(
            "Creating new partition <tp> with topic id <topic_id>.A topic with the same name but different id "
            "exists but it resides in an offline log directory."
        ),
        sample=(
            "[Broker id=4] Creating new partition pay-in-3 with topic id h5K2vX8bQ0-3mJtR_wYz1A.A topic with the "
            "same name but different id exists but it resides in an offline log directory."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A"},
        since="3.7.0",
    ),
    Rule(
        "kraft_deleting_partitions_summary",
        STATE_CHANGE,
        text="Deleting <partition_count:int> partition(s).",
        sample="[Broker id=4] Deleting 17 partition(s).",
        reads={"broker_id": 4, "partition_count": "17"},
        since="3.0.0",
    ),
    Rule(
        "kraft_local_leaders_summary",
        STATE_CHANGE,
        text="Transitioning <partition_count:int> partition(s) to local leaders.",
        sample="[Broker id=4] Transitioning 17 partition(s) to local leaders.",
        reads={"broker_id": 4, "partition_count": "17"},
        since="3.0.0",
    ),
    Rule(
        "kraft_local_followers_summary",
        STATE_CHANGE,
        text="Transitioning <partition_count:int> partition(s) to local followers.",
        sample="[Broker id=4] Transitioning 17 partition(s) to local followers.",
        reads={"broker_id": 4, "partition_count": "17"},
        since="3.0.0",
    ),
    Rule(
        "kraft_stray_replica_delete_failed",
        STATE_CHANGE,
        text=(
            "Unable to delete stray replica <tp> because the local replica for the partition is in an offline "
            "log directory: <error:rest>."
        ),
        sample=(
            "[Broker id=4] Unable to delete stray replica pay-in-3 because the local replica for the partition "
            "is in an offline log directory: Log directory /srv/kafka/a is offline."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "error": "Log directory /srv/kafka/a is offline"},
        since="3.0.0",
        until="3.6.2",
    ),
    Rule(
        "kraft_stray_replica_delete_failed",
        STATE_CHANGE,
        text=("Unable to delete stray replica <tp> because we got an unexpected <error:word> exception: <reason:rest>"),
        sample=(
            "[Broker id=4] Unable to delete stray replica pay-in-3 because we got an unexpected "
            "java.io.IOException exception: No space left on device"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "error": "java.io.IOException",
            "reason": "No space left on device",
        },
        since="3.0.0",
        until="3.6.2",
    ),
    Rule(
        "migration_full_update_metadata_rejected",
        STATE_CHANGE,
        text=(
            "Received UpdateMetadataRequest with Type=FULL (2), but ZK migrations are not enabled on this "
            "broker. Not treating this as a full metadata update"
        ),
        sample=(
            "[Broker id=4] Received UpdateMetadataRequest with Type=FULL (2), but ZK migrations are not enabled "
            "on this broker. Not treating this as a full metadata update"
        ),
        reads={"broker_id": 4},
        since="3.6.1",
        until="3.9.2",
    ),
    Rule(
        "migration_full_update_metadata_rejected",
        STATE_CHANGE,
        text=(
            "Received UpdateMetadataRequest with Type=FULL (2), but version of <request_version:int>, which "
            "should not be possible. Not treating this as a full metadata update"
        ),
        sample=(
            "[Broker id=4] Received UpdateMetadataRequest with Type=FULL (2), but version of 23, which should "
            "not be possible. Not treating this as a full metadata update"
        ),
        reads={"broker_id": 4, "request_version": "23"},
        since="3.6.2",
        until="3.9.2",
    ),
    Rule(
        "migration_full_update_metadata_deleted_topics",
        STATE_CHANGE,
        text="Received UpdateMetadataRequest with Type=FULL (2), but no deleted topics were detected.",
        sample=(
            "[Broker id=4] Received UpdateMetadataRequest with Type=FULL (2), but no deleted topics were detected."
        ),
        reads={"broker_id": 4},
        since="3.6.1",
        until="3.6.1",
    ),
    Rule(
        "migration_full_update_metadata_deleted_topics",
        STATE_CHANGE,
        text=(
            "Received UpdateMetadataRequest with Type=FULL (2), found <deleted_topic_count:int> deleted topic "
            "ID(s): <deleted_topic_ids:rest>."
        ),
        sample=(
            "[Broker id=4] Received UpdateMetadataRequest with Type=FULL (2), found 1 deleted topic ID(s): "
            "Set(h5K2vX8bQ0-3mJtR_wYz1A)."
        ),
        reads={"broker_id": 4, "deleted_topic_count": "1", "deleted_topic_ids": "Set(h5K2vX8bQ0-3mJtR_wYz1A)"},
        since="3.6.1",
        until="3.6.1",
    ),
    Rule(
        "migration_stray_partitions",
        STATE_CHANGE,
        text=(
            "While handling full LeaderAndIsr request from KRaft controller <controller_id> with correlation id "
            "<correlation_id>, found <stray_partition_count:int> stray partition(s)."
        ),
        sample=(
            "[Broker id=4] While handling full LeaderAndIsr request from KRaft controller 1 with correlation id "
            "27, found 23 stray partition(s)."
        ),
        reads={"broker_id": 4, "controller_id": 1, "correlation_id": 27, "stray_partition_count": "23"},
        since="3.6.2",
        until="3.9.2",
    ),
    Rule(
        "migration_full_update_metadata_topic_removed",
        STATE_CHANGE,
        text=(
            "Removing topic <topic> with ID <topic_id> from the metadata cache since the full UMR did not include it."
        ),
        sample=(
            "[Broker id=4] Removing topic pay-in with ID h5K2vX8bQ0-3mJtR_wYz1A from the metadata cache since "
            "the full UMR did not include it."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A"},
        since="3.6.2",
        until="3.9.2",
    ),
    Rule(
        "migration_full_update_metadata_partitions_removed",
        STATE_CHANGE,
        text=(
            "Removing <partition_count:int> partition(s) from topic <topic> with ID <topic_id> from the metadata "
            "cache since the full UMR did not include them."
        ),
        sample=(
            "[Broker id=4] Removing 17 partition(s) from topic pay-in with ID h5K2vX8bQ0-3mJtR_wYz1A from the "
            "metadata cache since the full UMR did not include them."
        ),
        reads={"broker_id": 4, "partition_count": "17", "topic": "pay-in", "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A"},
        since="3.6.2",
        until="3.9.2",
    ),
    Rule(
        "migration_full_update_metadata_error",
        STATE_CHANGE,
        text=(
            "Error: topic <topic> appeared in currentMetadata.topicNames, but not in currentMetadata.partitionStates."
        ),
        sample=(
            "[Broker id=4] Error: topic pay-in appeared in currentMetadata.topicNames, but not in "
            "currentMetadata.partitionStates."
        ),
        reads={"broker_id": 4, "topic": "pay-in"},
        since="3.6.2",
        until="3.9.2",
    ),
    Rule(
        "noise_jmx_logger_registered",
        STATE_CHANGE,
        text="PreRegister called. Server=<_:word>, name=log4j:logger=<log4j_logger:word>",
        sample=(
            "PreRegister called. Server=com.sun.jmx.mbeanserver.JmxMBeanServer@1b2c3d4e, "
            "name=log4j:logger=state.change.logger"
        ),
        reads={"log4j_logger": "state.change.logger"},
        since="0.8.0",
        until="2.5.1",
    ),
    Rule(
        "become_leader_skipped_already_leader",
        STATE_CHANGE,
        text=(
            "Skipped the become-leader state change for <tp> with topic id <topic_id:some>, partition "
            "registration <state:state> and isNew=<is_new:word> since it is already the leader with leader epoch "
            "<current_leader_epoch:int>. Current high watermark <high_watermark>, ISR [<_:ids>], adding replicas "
            "[<_:ids>] and removing replicas [<_:ids>]."
        ),
        sample=(
            "[Broker id=4] Skipped the become-leader state change for pay-in-3 with topic id "
            "Some(h5K2vX8bQ0-3mJtR_wYz1A), partition registration PartitionRegistration(replicas=[4, 5, 6], "
            "directories=[AAAAAAAAAAAAAAAAAAAAAA], isr=[4, 5], removingReplicas=[], addingReplicas=[], elr=[6], "
            "lastKnownElr=[], leader=4, leaderRecoveryState=RECOVERED, leaderEpoch=12, partitionEpoch=31) and "
            "isNew=false since it is already the leader with leader epoch 12. Current high watermark 880, ISR [4,"
            "5], adding replicas [] and removing replicas []."
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "replicas": [4, 5, 6],
            "isr": [4, 5],
            "removing_replicas": "",
            "adding_replicas": "",
            "elr": "6",
            "leader": 4,
            "leader_recovery_state": "RECOVERED",
            "leader_epoch": 12,
            "partition_epoch": 31,
            "is_new": "false",
            "current_leader_epoch": "12",
            "high_watermark": "880",
        },
        since="4.2.0",
    ),
    Rule(
        "become_leader_skipped_newer_partition_epoch",
        STATE_CHANGE,
        text=(
            "Skipped the become-leader state change for <tp> with topic id <topic_id:some>, partition "
            "registration <state:state> and isNew=<is_new:word> since the leader is already at a newer partition "
            "epoch <current_partition_epoch:int>."
        ),
        sample=(
            "[Broker id=4] Skipped the become-leader state change for pay-in-3 with topic id "
            "Some(h5K2vX8bQ0-3mJtR_wYz1A), partition registration PartitionRegistration(replicas=[4, 5, 6], "
            "directories=[AAAAAAAAAAAAAAAAAAAAAA], isr=[4, 5], removingReplicas=[], addingReplicas=[], elr=[6], "
            "lastKnownElr=[], leader=4, leaderRecoveryState=RECOVERED, leaderEpoch=12, partitionEpoch=31) and "
            "isNew=false since the leader is already at a newer partition epoch 23."
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "replicas": [4, 5, 6],
            "isr": [4, 5],
            "removing_replicas": "",
            "adding_replicas": "",
            "elr": "6",
            "leader": 4,
            "leader_recovery_state": "RECOVERED",
            "leader_epoch": 12,
            "partition_epoch": 31,
            "is_new": "false",
            "current_partition_epoch": "23",
        },
        since="4.2.0",
    ),
    Rule(
        "become_follower_skipped_same_leader",
        STATE_CHANGE,
        text=(
            "Skipped the become-follower state change for <tp> with topic id <topic_id:some>, partition "
            "registration <state:state> and isNew=<is_new:word> since it is already a follower with leader epoch "
            "<current_leader_epoch:int>."
        ),
        sample=(
            "[Broker id=4] Skipped the become-follower state change for pay-in-3 with topic id "
            "Some(h5K2vX8bQ0-3mJtR_wYz1A), partition registration PartitionRegistration(replicas=[4, 5, 6], "
            "directories=[AAAAAAAAAAAAAAAAAAAAAA], isr=[4, 5], removingReplicas=[], addingReplicas=[], elr=[6], "
            "lastKnownElr=[], leader=4, leaderRecoveryState=RECOVERED, leaderEpoch=12, partitionEpoch=31) and "
            "isNew=false since it is already a follower with leader epoch 12."
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "replicas": [4, 5, 6],
            "isr": [4, 5],
            "removing_replicas": "",
            "adding_replicas": "",
            "elr": "6",
            "leader": 4,
            "leader_recovery_state": "RECOVERED",
            "leader_epoch": 12,
            "partition_epoch": 31,
            "is_new": "false",
            "current_leader_epoch": "12",
        },
        since="4.2.0",
    ),
    Rule(
        "become_follower_skipped_newer_partition_epoch",
        STATE_CHANGE,
        text=(
            "Skipped the become-follower state change for <tp> with topic id <topic_id:some>, partition "
            "registration <state:state> and isNew=<is_new:word> since the follower is already at a newer "
            "partition epoch <current_partition_epoch:int>."
        ),
        sample=(
            "[Broker id=4] Skipped the become-follower state change for pay-in-3 with topic id "
            "Some(h5K2vX8bQ0-3mJtR_wYz1A), partition registration PartitionRegistration(replicas=[4, 5, 6], "
            "directories=[AAAAAAAAAAAAAAAAAAAAAA], isr=[4, 5], removingReplicas=[], addingReplicas=[], elr=[6], "
            "lastKnownElr=[], leader=4, leaderRecoveryState=RECOVERED, leaderEpoch=12, partitionEpoch=31) and "
            "isNew=false since the follower is already at a newer partition epoch 23."
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "replicas": [4, 5, 6],
            "isr": [4, 5],
            "removing_replicas": "",
            "adding_replicas": "",
            "elr": "6",
            "leader": 4,
            "leader_recovery_state": "RECOVERED",
            "leader_epoch": 12,
            "partition_epoch": 31,
            "is_new": "false",
            "current_partition_epoch": "23",
        },
        since="4.2.0",
    ),
)
