"""What the KRaft controller's event queue works at: events, their failures, commits, periodic tasks."""

from __future__ import annotations

from udfs.rules.rule import Rule

CONTROLLER = ("org.apache.kafka.controller.QuorumController",)
PERFORMANCE = ("org.apache.kafka.controller.EventPerformanceMonitor",)
PERIODIC = ("org.apache.kafka.controller.PeriodicTaskControlManager",)

RULES: tuple[Rule, ...] = (
    Rule(
        "kraft_event_processed",
        CONTROLLER,
        text="Processed <event:event> in <elapsed_us:int> us",
        sample="[QuorumController id=101] Processed alterPartition in 311 us",
        reads={"controller_id": 101, "event": "alterPartition", "elapsed_us": "311"},
        since="2.8.0",
    ),
    Rule(
        "kraft_event_executing",
        CONTROLLER,
        text="Executing <event:event>.",
        sample="[QuorumController id=101] Executing handleCommit[baseOffset=73].",
        reads={"controller_id": 101, "event": "handleCommit[baseOffset=73]"},
        since="2.8.0",
    ),
    Rule(
        "kraft_event_not_started",
        CONTROLLER,
        text=(
            "<event:event>: <?event ?>unable to start processing because of <error:word><? (treated as "
            "<treated_as:word>)?>.<? Reason: <reason:rest>?><? Exception message: <reason:rest>?>"
        ),
        sample=(
            "[QuorumController id=101] alterPartition: event unable to start processing because of "
            "RejectedExecutionException (treated as TimeoutException). Exception message: The event queue is "
            "shutting down"
        ),
        reads={
            "controller_id": 101,
            "event": "alterPartition",
            "error": "RejectedExecutionException",
            "treated_as": "TimeoutException",
            "reason": "The event queue is shutting down",
        },
        since="3.2.0",
    ),
    Rule(
        "kraft_event_not_started",
        CONTROLLER,
        text="unable to start processing <event:event> because of <error:word>.",
        sample="[Controller 101] unable to start processing alterIsr because of TimeoutException.",
        reads={"controller_id": 101, "event": "alterIsr", "error": "TimeoutException"},
        since="2.8.0",
        until="3.1.2",
    ),
    Rule(
        "kraft_event_failed",
        CONTROLLER,
        text=(
            "<event:event>: <?event ?>failed with <error:word><? (treated as <treated_as:word>)?> in "
            "<elapsed_us:int> <?us?><?microseconds?><?.?><? Reason: <reason:rest>?><? Exception message: "
            "<reason:rest>?>"
        ),
        sample=(
            "[QuorumController id=101] alterPartition: event failed with NotControllerException in 311 "
            "microseconds. Exception message: The active controller appears to be node 102."
        ),
        reads={
            "controller_id": 101,
            "event": "alterPartition",
            "error": "NotControllerException",
            "elapsed_us": "311",
            "reason": "The active controller appears to be node 102.",
        },
        since="2.8.0",
    ),
    Rule(
        "kraft_event_failed_renounce",
        CONTROLLER,
        text=(
            "<event:event>: <?event ?>failed with <?unknown server exception ?><error:word><? (treated as "
            "<treated_as:word>)?> at epoch <controller_epoch> in <elapsed_us:int> <?us?><?microseconds?>.<? "
            "?> <?Reverting?><?Renouncing leadership and reverting?> to <?the ?>last committed offset "
            "<committed_offset:int>.<? Exception message: <reason:rest>?>"
        ),
        sample=(
            "[QuorumController id=101] writeNoOpRecord: event failed with NotLeaderException (treated as "
            "NotControllerException) at epoch 8 in 311 microseconds. Renouncing leadership and reverting to "
            "the last committed offset 640. Exception message: Append failed because the replica is not the "
            "current leader"
        ),
        reads={
            "controller_id": 101,
            "event": "writeNoOpRecord",
            "error": "NotLeaderException",
            "treated_as": "NotControllerException",
            "controller_epoch": 8,
            "elapsed_us": "311",
            "committed_offset": "640",
            "reason": "Append failed because the replica is not the current leader",
        },
        since="2.8.0",
    ),
    Rule(
        "kraft_event_failed_standby",
        CONTROLLER,
        text=(
            "<event:event>: <?event ?>failed with <?unknown server exception ?><error:word><? (treated as "
            "<treated_as:word>)?> in <elapsed_us:int> <?us?><?microseconds?>.<? ?> The controller is already "
            "in standby mode.<? Exception message: <reason:rest>?>"
        ),
        sample=(
            "[QuorumController id=101] alterPartition: event failed with NullPointerException (treated as "
            "UnknownServerException) in 311 microseconds. The controller is already in standby mode."
        ),
        reads={
            "controller_id": 101,
            "event": "alterPartition",
            "error": "NullPointerException",
            "treated_as": "UnknownServerException",
            "elapsed_us": "311",
        },
        since="3.3.0",
    ),
    Rule(
        "kraft_deferred_event_failed",
        CONTROLLER,
        text="Cancelling deferred write event <event:event> because <reason:text>.",
        sample=(
            "[QuorumController id=101] Cancelling deferred write event maybeFenceReplicas because the event "
            "queue is now closed."
        ),
        reads={"controller_id": 101, "event": "maybeFenceReplicas", "reason": "the event queue is now closed"},
        since="2.8.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_deferred_event_failed",
        CONTROLLER,
        text=(
            "Unexpected exception while executing deferred write event <event:event>. Rescheduling for a "
            "minute from now."
        ),
        sample=(
            "[QuorumController id=101] Unexpected exception while executing deferred write event "
            "maybeFenceReplicas. Rescheduling for a minute from now."
        ),
        reads={"controller_id": 101, "event": "maybeFenceReplicas"},
        since="2.8.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_read_op_completed",
        CONTROLLER,
        text="Completing read-only operation <event:event> immediately because the purgatory is empty.",
        sample=(
            "[QuorumController id=101] Completing read-only operation findAllTopicIds(73018822) immediately "
            "because the purgatory is empty."
        ),
        reads={"controller_id": 101, "event": "findAllTopicIds", "event_identity": "73018822"},
        since="2.8.0",
    ),
    Rule(
        "kraft_write_op_pending",
        CONTROLLER,
        text="Read-write operation <event:event> will be completed when the log reaches offset <offset>.",
        sample=(
            "[QuorumController id=101] Read-write operation alterPartition(73018822) will be completed when "
            "the log reaches offset 641."
        ),
        reads={"controller_id": 101, "event": "alterPartition", "event_identity": "73018822", "offset": "641"},
        since="2.8.0",
    ),
    Rule(
        "kraft_read_op_pending",
        CONTROLLER,
        text="Read-only operation <event:event> will be completed when the log reaches offset <offset>",
        sample=(
            "[QuorumController id=101] Read-only operation findAllTopicIds(73018822) will be completed when "
            "the log reaches offset 641"
        ),
        reads={"controller_id": 101, "event": "findAllTopicIds", "event_identity": "73018822", "offset": "641"},
        since="2.8.0",
    ),
    Rule(
        "kraft_commit_handled",
        CONTROLLER,
        text=(
            "Completing purgatory items up to <?offset <metadata_offset:int> and epoch "
            "<metadata_epoch:int>?><?offset <offset>?>."
        ),
        sample="[QuorumController id=101] Completing purgatory items up to offset 640 and epoch 8.",
        reads={"controller_id": 101, "metadata_offset": "640", "metadata_epoch": "8"},
        since="2.8.0",
    ),
    Rule(
        "kraft_commit_replayed",
        CONTROLLER,
        text=(
            "Replaying commits from the active node up to <?offset <metadata_offset:int> and epoch "
            "<metadata_epoch:int>?><?offset <offset>?>."
        ),
        sample="[QuorumController id=101] Replaying commits from the active node up to offset 640 and epoch 8.",
        reads={"controller_id": 101, "metadata_offset": "640", "metadata_epoch": "8"},
        since="2.8.0",
    ),
    Rule(
        "kraft_commit_replayed_records",
        CONTROLLER,
        text=(
            "Replaying commits from the active node up to <?offset <metadata_offset:int> and epoch "
            "<metadata_epoch:int>?><?offset <offset>?>: <records:record_names>)."
        ),
        sample=(
            "[Controller 101] Replaying commits from the active node up to offset 640 and epoch 8: "
            "ApiMessageAndVersion(TopicRecord(name='pay-in', topicId=L3mK9pQrSt2uVwXyZ0aBcD) at version 0)."
        ),
        reads={"controller_id": 101, "metadata_offset": "640", "metadata_epoch": "8", "records": '["TopicRecord"]'},
        since="2.8.0",
        until="3.4.1",
    ),
    Rule(
        "kraft_record_replayed",
        CONTROLLER,
        text="Replaying log record <record:printed> with <?offset?><?batchLastOffset?> <offset>",
        sample=(
            "[QuorumController id=101] Replaying log record PartitionChangeRecord(partitionId=3, "
            "topicId=L3mK9pQrSt2uVwXyZ0aBcD, isr=[5], leader=5, replicas=null, removingReplicas=null, "
            "addingReplicas=null, leaderRecoveryState=-1, directories=null, eligibleLeaderReplicas=null, "
            "lastKnownElr=null) with offset 640"
        ),
        reads={
            "controller_id": 101,
            "partition": 3,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "isr": [5],
            "leader": 5,
            "offset": "640",
        },
        since="3.5.0",
    ),
    Rule(
        "kraft_record_replay_failed",
        CONTROLLER,
        text=("Error replaying record <record:printed><?<? from snapshot <snapshot:text>?> at last offset <offset>.?>"),
        sample=(
            "[Controller 101] Error replaying record PartitionChangeRecord(partitionId=3, "
            "topicId=L3mK9pQrSt2uVwXyZ0aBcD, isr=[5], leader=5, replicas=null, removingReplicas=null, "
            "addingReplicas=null, leaderRecoveryState=-1) from snapshot OffsetAndEpoch(offset=640, epoch=8) "
            "at last offset 640."
        ),
        reads={
            "controller_id": 101,
            "partition": 3,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "isr": [5],
            "leader": 5,
            "snapshot": "OffsetAndEpoch(offset=640, epoch=8)",
            "offset": "640",
        },
        since="2.8.0",
        until="3.2.3",
    ),
    Rule(
        "kraft_records_appended",
        CONTROLLER,
        text="Atomically appended <record_count:int> record(s) ending with offset <offset>.",
        sample="[QuorumController id=101] Atomically appended 5 record(s) ending with offset 645.",
        reads={"controller_id": 101, "record_count": "5", "offset": "645"},
        since="3.3.0",
    ),
    Rule(
        "kraft_records_appended",
        CONTROLLER,
        text=("Appended <record_count:int> record(s) in <batch_count:int> batch(es), ending with offset <offset>."),
        sample="[QuorumController id=101] Appended 5 record(s) in 2 batch(es), ending with offset 645.",
        reads={"controller_id": 101, "record_count": "5", "batch_count": "2", "offset": "645"},
        since="3.3.0",
    ),
    Rule(
        "kraft_balance_scheduled",
        CONTROLLER,
        text=(
            "Scheduling write event for <event:word> because scheduled (<scheduled:word>), checkIntervalNs "
            "(<?OptionalLong[<check_interval_ns:int>]?><?OptionalLong.empty?>) and isImbalanced "
            "(<imbalanced:word>)"
        ),
        sample=(
            "[QuorumController id=101] Scheduling write event for maybeBalancePartitionLeaders because "
            "scheduled (false), checkIntervalNs (OptionalLong[300000000000]) and isImbalanced (true)"
        ),
        reads={
            "controller_id": 101,
            "event": "maybeBalancePartitionLeaders",
            "scheduled": "false",
            "check_interval_ns": "300000000000",
            "imbalanced": "true",
        },
        since="3.2.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_balance_result",
        CONTROLLER,
        text=(
            "maybeBalancePartitionLeaders: generated <record_count:int> records in <elapsed_us:int> "
            "microseconds.<? <rescheduled:wording>?>"
        ),
        sample="[QuorumController id=101] maybeBalancePartitionLeaders: generated 3 records in 311 microseconds.",
        reads={"controller_id": 101, "record_count": "3", "elapsed_us": "311"},
        since="3.9.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_unclean_election_scheduled",
        CONTROLLER,
        text=(
            "Scheduling write event for <event:word> because scheduled (<scheduled:word>), and "
            "areSomePartitionsLeaderless (<leaderless:word>)"
        ),
        sample=(
            "[QuorumController id=101] Scheduling write event for maybeElectUncleanLeaders because scheduled "
            "(false), and areSomePartitionsLeaderless (true)"
        ),
        reads={"controller_id": 101, "event": "maybeElectUncleanLeaders", "scheduled": "false", "leaderless": "true"},
        since="3.9.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_unclean_election_result",
        CONTROLLER,
        text=(
            "maybeElectUncleanLeaders: generated <record_count:int> records in <elapsed_us:int> "
            "microseconds.<? <rescheduled:wording>?>"
        ),
        sample="[QuorumController id=101] maybeElectUncleanLeaders: generated 3 records in 311 microseconds.",
        reads={"controller_id": 101, "record_count": "3", "elapsed_us": "311"},
        since="3.9.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_purgatory_fail_all",
        (
            "org.apache.kafka.controller.ControllerPurgatory",
            "org.apache.kafka.deferred.DeferredEventQueue",
        ),
        text="failAll(<error:word>): failing <event:event>.",
        sample="[QuorumController id=100] failAll(NotControllerException): failing completeActivation[3](1930420067).",
        reads={
            "controller_id": 100,
            "error": "NotControllerException",
            "event": "completeActivation[3]",
            "event_identity": "1930420067",
        },
        since="3.5.0",
    ),
    Rule(
        "kraft_create_partitions_result",
        CONTROLLER,
        text="CreatePartitions result(s): <results:partition_results>",
        sample=(
            "[QuorumController id=101] CreatePartitions result(s): "
            "[CreatePartitionsTopicResult(name='pay-in', errorCode=0, errorMessage=null)]"
        ),
        reads={"controller_id": 101, "topic": "pay-in", "error_code": "0"},
        since="3.2.1",
    ),
    Rule(
        "kraft_performance_report",
        PERFORMANCE,
        text=(
            "In the last <interval_ms:int> ms period, <event_count:int> controller events were completed, "
            "which took an average of <average_ms:word> ms each. The slowest event was <event:event>, which "
            "took <slowest_ms:word> ms."
        ),
        sample=(
            "[QuorumController id=101] In the last 60000 ms period, 412 controller events were completed, "
            "which took an average of 9.15 ms each. The slowest event was registerBroker(73018822), which "
            "took 151.02 ms."
        ),
        reads={
            "controller_id": 101,
            "interval_ms": "60000",
            "event_count": "412",
            "average_ms": "9.15",
            "event": "registerBroker",
            "event_identity": "73018822",
            "slowest_ms": "151.02",
        },
        since="3.9.0",
    ),
    Rule(
        "kraft_periodic_tasks_activated",
        PERIODIC,
        text="Activated periodic tasks: <tasks:rest>",
        sample=("[QuorumController id=101] Activated periodic tasks: electPreferred, electUnclean, writeNoOpRecord"),
        reads={"controller_id": 101, "tasks": "electPreferred, electUnclean, writeNoOpRecord"},
        since="4.0.0",
    ),
    Rule(
        "kraft_periodic_tasks_deactivated",
        PERIODIC,
        text="Deactivated periodic tasks: <tasks:rest>",
        sample=("[QuorumController id=101] Deactivated periodic tasks: electPreferred, electUnclean, writeNoOpRecord"),
        reads={"controller_id": 101, "tasks": "electPreferred, electUnclean, writeNoOpRecord"},
        since="4.0.0",
    ),
    Rule(
        "kraft_periodic_task_registered",
        PERIODIC,
        text="Registering periodic task <task:word> to run every <interval_ms:int> ms",
        sample="[QuorumController id=101] Registering periodic task electPreferred to run every 300000 ms",
        reads={"controller_id": 101, "task": "electPreferred", "interval_ms": "300000"},
        since="4.0.0",
    ),
    Rule(
        "kraft_periodic_task_result",
        PERIODIC,
        text="Periodic task <task:word> generated <record_count:int> records in <elapsed_us:int> microseconds.",
        sample="[QuorumController id=101] Periodic task electPreferred generated 4 records in 888 microseconds.",
        reads={"controller_id": 101, "task": "electPreferred", "record_count": "4", "elapsed_us": "888"},
        since="4.0.0",
    ),
    Rule(
        "kraft_purgatory_added",
        (
            "org.apache.kafka.controller.ControllerPurgatory",
            "org.apache.kafka.deferred.DeferredEventQueue",
        ),
        text="Adding deferred event <event:event> at offset <offset>",
        sample="[QuorumController id=101] Adding deferred event alterPartition(73018822) at offset 640",
        reads={"controller_id": 101, "event": "alterPartition", "event_identity": "73018822", "offset": "640"},
        since="3.5.0",
    ),
    Rule(
        "kraft_purgatory_completed",
        (
            "org.apache.kafka.controller.ControllerPurgatory",
            "org.apache.kafka.deferred.DeferredEventQueue",
        ),
        text="completeUpTo(<offset>): successfully completed <entry_count:int> deferred entries",
        sample="[QuorumController id=101] completeUpTo(640): successfully completed 7 deferred entries",
        reads={"controller_id": 101, "offset": "640", "entry_count": "7"},
        since="3.5.0",
    ),
    Rule(
        "kraft_purgatory_completing",
        (
            "org.apache.kafka.controller.ControllerPurgatory",
            "org.apache.kafka.deferred.DeferredEventQueue",
        ),
        text="completeUpTo(<offset>): successfully completing <event:event>",
        sample="[QuorumController id=101] completeUpTo(640): successfully completing alterPartition(73018822)",
        reads={"controller_id": 101, "offset": "640", "event": "alterPartition", "event_identity": "73018822"},
        since="3.5.0",
    ),
    Rule(
        "kraft_performance_report",
        PERFORMANCE,
        text="In the last <interval_ms:int> ms period, there were no controller events completed.",
        sample=("[QuorumController id=101] In the last 60000 ms period, there were no controller events completed."),
        reads={"controller_id": 101, "interval_ms": "60000"},
        since="4.0.0",
    ),
    Rule(
        "kraft_event_slow",
        PERFORMANCE,
        text="Exceptionally slow controller event <event:event> took <elapsed_ms:int> ms.",
        sample=("[QuorumController id=101] Exceptionally slow controller event writeNoOpRecord(73018822) took 7 ms."),
        reads={"controller_id": 101, "event": "writeNoOpRecord", "event_identity": "73018822", "elapsed_ms": "7"},
        since="4.0.0",
    ),
    Rule(
        "kraft_periodic_task_registered",
        PERIODIC,
        text="Periodic task <task:word> is already registered.",
        sample="[QuorumController id=101] Periodic task electPreferred is already registered.",
        reads={"controller_id": 101, "task": "electPreferred"},
        since="4.0.0",
    ),
    Rule(
        "kraft_periodic_task_unregistered",
        PERIODIC,
        text="Periodic task <task:word> is already unregistered.",
        sample="[QuorumController id=101] Periodic task electPreferred is already unregistered.",
        reads={"controller_id": 101, "task": "electPreferred"},
        since="4.0.0",
    ),
    Rule(
        "kraft_periodic_task_unregistered",
        PERIODIC,
        text="Unregistering periodic task <task:word>",
        sample="[QuorumController id=101] Unregistering periodic task electPreferred",
        reads={"controller_id": 101, "task": "electPreferred"},
        since="4.0.0",
    ),
    Rule(
        "kraft_periodic_task_scheduled",
        PERIODIC,
        text=("rescheduling <task:word> in <delay_ns:int> ns (immediate = <immediate:word>, error = <failed:word>)"),
        sample="[QuorumController id=101] rescheduling electPreferred in 7 ns (immediate = false, error = false)",
        reads={
            "controller_id": 101,
            "task": "electPreferred",
            "delay_ns": "7",
            "immediate": "false",
            "failed": "false",
        },
        since="4.0.0",
    ),
    Rule(
        "kraft_periodic_task_cancelled",
        PERIODIC,
        text="cancelling <task:word> because <reason:text>.",
        sample="[QuorumController id=101] cancelling electPreferred because we are inactive.",
        reads={"controller_id": 101, "task": "electPreferred", "reason": "we are inactive"},
        since="4.0.0",
    ),
    Rule(
        "kraft_write_scheduled",
        CONTROLLER,
        text="Scheduling write event for <event:word> because DelegationTokens are enabled.",
        sample=(
            "[QuorumController id=101] Scheduling write event for alterPartition because DelegationTokens are enabled."
        ),
        reads={"controller_id": 101, "event": "alterPartition"},
        since="3.6.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_write_scheduled",
        CONTROLLER,
        text=(
            "Scheduling write event for <event:word> because maxIdleIntervalNs (<max_idle_interval_ns:int>) "
            "and metadataVersion (<metadata_version:word>)"
        ),
        sample=(
            "[QuorumController id=101] Scheduling write event for writeNoOpRecord because maxIdleIntervalNs "
            "(7) and metadataVersion (3.9-IV0)"
        ),
        reads={
            "controller_id": 101,
            "event": "writeNoOpRecord",
            "max_idle_interval_ns": "7",
            "metadata_version": "3.9-IV0",
        },
        since="3.3.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_raft_event_ignored",
        CONTROLLER,
        text="Ignoring <event:text> raft event from an old registration",
        sample=("[QuorumController id=101] Ignoring handleCommit[baseOffset=640] raft event from an old registration"),
        reads={"controller_id": 101, "event": "handleCommit[baseOffset=640]"},
        since="3.0.0",
    ),
    Rule(
        "kraft_commit_skipped",
        CONTROLLER,
        text=(
            "Skipping handling commit for batch with no data records with offset <metadata_offset:int> and "
            "epoch <metadata_epoch:int>."
        ),
        sample=(
            "[QuorumController id=101] Skipping handling commit for batch with no data records with offset 7 "
            "and epoch 7."
        ),
        reads={"controller_id": 101, "metadata_offset": "7", "metadata_epoch": "7"},
        since="3.9.0",
    ),
    Rule(
        "kraft_create_partitions_validated",
        CONTROLLER,
        text="Validate-only CreatePartitions result(s): <results:partition_results>",
        sample=(
            "[QuorumController id=101] Validate-only CreatePartitions result(s): "
            "[CreatePartitionsTopicResult(name='pay-in', errorCode=0, errorMessage=null)]"
        ),
        reads={"controller_id": 101, "topic": "pay-in", "error_code": "0"},
        since="3.2.1",
    ),
    Rule(
        "kraft_authorizer_load",
        CONTROLLER,
        text=(
            "maybeCompleteAuthorizerInitialLoad: <?completing authorizer initial load at last committed "
            "offset <committed_offset:int>.?><?can't proceed because lastCommittedOffset<? ?> = "
            "<committed_offset:int>, but highWatermark = <high_watermark>.?><?highWatermark not set.?>"
        ),
        sample=(
            "[QuorumController id=101] maybeCompleteAuthorizerInitialLoad: completing authorizer initial "
            "load at last committed offset 640."
        ),
        reads={"controller_id": 101, "committed_offset": "640"},
        since="3.3.0",
        until="3.5.2",
    ),
)
