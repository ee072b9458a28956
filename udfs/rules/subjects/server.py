"""Selected rules of the broker process: replicas, log directories, fetchers, ZooKeeper, start and stop.

What else these loggers write is no decision about a partition, a broker or a controller. `replica_log_created`, loads
and truncations of logs, the fetchers' errors and `zk_session_*` go beyond it: the first has `min.insync.replicas`, the
others show who lost records, and why a broker left.
"""

from __future__ import annotations

from udfs.rules.rule import Rule

REPLICA_MANAGER = ("kafka.server.ReplicaManager",)
LOG_DIRS = ("kafka.server.LogDirFailureChannel", "org.apache.kafka.storage.internals.log.LogDirFailureChannel")
DIR_FAILURE_HANDLER = ("kafka.server.ReplicaManager", "kafka.server.ReplicaManager$")
LOG_MANAGER = (
    "kafka.log.LogManager",
    "kafka.log.LogManager$",
    "org.apache.kafka.storage.internals.log.LogManager",
)
LOG = ("kafka.log.Log", "kafka.log.UnifiedLog", "org.apache.kafka.storage.internals.log.UnifiedLog")
OLD_LOG = ("kafka.log.Log",)  # until 3.0
EPOCH_CACHE = (
    "kafka.server.epoch.LeaderEpochFileCache",
    "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache",
)
APIS = ("kafka.server.KafkaApis",)
FETCHER_MANAGER = ("kafka.server.ReplicaFetcherManager",)
GROUP_COORDINATOR = ("kafka.coordinator.group.GroupCoordinator",)
FETCHER = ("kafka.server.ReplicaFetcherThread",)
ISR_MANAGER = (
    "kafka.server.AlterIsrManagerImpl",
    "kafka.server.DefaultAlterIsrManager",
    "kafka.server.DefaultAlterPartitionManager",
)
ZK_ISR_MANAGER = ("kafka.server.ZkIsrManager", "kafka.server.ZkAlterPartitionManager")
ZK = (
    "kafka.zk.KafkaZkClient",
    "kafka.zk.KafkaZkClient$",
    "kafka.utils.ZkUtils",
    "kafka.utils.ZkUtils$",
    "kafka.utils.ZKCheckedEphemeral",
    "kafka.utils.ReplicationUtils",
    "kafka.utils.ReplicationUtils$",
)
ADMIN = ("kafka.admin.AdminUtils", "kafka.admin.AdminUtils$", "kafka.zk.AdminZkClient", "kafka.zk.AdminZkClient$")
ELECTOR = ("kafka.server.ZookeeperLeaderElector", "kafka.server.ZookeeperLeaderElector$")
SERVER = ("kafka.server.KafkaServer", "kafka.server.BrokerServer")
LIFECYCLE = ("kafka.server.BrokerLifecycleManager", "org.apache.kafka.server.BrokerLifecycleManager")
HEALTH_CHECK = (
    "kafka.server.KafkaHealthcheck",
    "kafka.server.KafkaHealthcheck$",
    "kafka.server.KafkaZooKeeper",
    "kafka.server.KafkaZooKeeper$",
)
SESSION = ("kafka.zookeeper.ZooKeeperClient", "kafka.zookeeper.ZooKeeperClient$", "kafka.controller.ZookeeperClient")
OLD_SESSION = ("org.I0Itec.zkclient.ZkClient",)
APP_INFO = ("org.apache.kafka.common.utils.AppInfoParser",)
# an epoch and the one before, up to 2.0.0
NEW_AND_CURRENT = (
    "New: {epoch:<leader_epoch>, offset:<start_offset:int>}, Current: {epoch:<previous_leader_epoch>, "
    "offset<?:?><previous_start_offset:int>} for Partition: <tp>"
)
# an epoch, 2.0.1 on
ENTRY = "EpochEntry(epoch=<leader_epoch>, startOffset=<start_offset:int>)"
# a log that no assignment wants
STRAY = (
    "Found stray log dir Log(dir=<dir:text>, topicId=<topic_id:some>, topic=<topic>, "
    "partition=<partition>, highWatermark=<high_watermark>, lastStableOffset=<_:int>, "
    "logStartOffset=<_:int>, logEndOffset=<log_end_offset:int>): "
)
# a log as it was loaded, in its partition's own directory: one that is to be deleted or moved has a longer name
LOADED = (
    "Completed load of Log(dir=<_:word>-<_:int>, <?topicId=<topic_id:uuid>, ?>topic=<topic>, partition=<partition>, "
    "highWatermark=<_:int>, lastStableOffset=<_:int>, logStartOffset=<log_start_offset:int>, "
    "logEndOffset=<log_end_offset:int>) with <_:int> segments"
)
# a `Partition` printed, five renderings
PARTITION_OBJECT = (
    "Topic: <topic>; Partition: <partition>; Leader: <?None?><?Some(<leader>)?>; "
    "<?Assigned?><?All?>Replica<?s?><?Ids?>: <replicas:csv>; <?InSyncReplica<?s?><?Ids?>?><?ISR?>: "
    "<isr:csv>"
)
# the request's name up to 3.1 and from 3.2 on
ALTER = "<?AlterIsr?><?AlterPartition?>"
# one partition of its response
ANSWER = (
    "<?<topic_id>:?><tp>: PartitionData(partitionIndex=<_:int>, errorCode=<error_code:int>, "
    "leaderId=<leader>, leaderEpoch=<leader_epoch>, isr=[<isr>], "
    "<?leaderRecoveryState=<leader_recovery_state:int>, "
    "?><?currentIsrVersion?><?partitionEpoch?>=<partition_epoch>)"
)
# a write of a partition's state, up to 0.8.2
CONDITIONAL_UPDATE = (
    "Conditional update of path /brokers/topics/<topic>/partitions/<partition>/state with "
    "<?value?><?data?> <state:state> and expected version <expected_zk_version:int> "
)
# states of a KRaft broker
TRANSITION = "Transitioning from <from_state> to <to_state>."

RULES: tuple[Rule, ...] = (
    Rule(
        "leader_and_isr_request_received",
        REPLICA_MANAGER,
        text="Handling LeaderAndIsr request <request:request>",
        sample=(
            "[Replica Manager on Broker 4]: Handling LeaderAndIsr request "
            "Name:LeaderAndIsrRequest;Version:0;Controller:1;ControllerEpoch:8;CorrelationId:27;ClientId:c;Partit"
            "ionState:(pay-in,3) -> (LeaderAndIsrInfo:(Leader:4,ISR:4,5,LeaderEpoch:12,ControllerEpoch:7),"
            "ReplicationFactor:3),AllReplicas:4,5,6);Leaders:id:4,host:k4.pay,port:9092"
        ),
        reads={
            "broker_id": 4,
            "api": "LEADER_AND_ISR",
            "controller_epoch": 8,
            "correlation_id": 27,
            "controller_id": 1,
            "partitions": [
                {
                    "topic": "pay-in",
                    "partition": 3,
                    "leader": 4,
                    "leader_epoch": 12,
                    "controller_epoch": 7,
                    "isr": [4, 5],
                    "replicas": [4, 5, 6],
                }
            ],
        },
        since="0.8.0",
        until="0.8.0",
    ),
    Rule(
        "leader_and_isr_request_completed",
        REPLICA_MANAGER,
        text="Handled leader and isr request <request:request>",
        sample=(
            "[Replica Manager on Broker 4]: Handled leader and isr request "
            "Name:LeaderAndIsrRequest;Version:0;Controller:1;ControllerEpoch:8;CorrelationId:27;ClientId:c;Partit"
            "ionState:(pay-in,3) -> (LeaderAndIsrInfo:(Leader:4,ISR:4,5,LeaderEpoch:12,ControllerEpoch:7),"
            "ReplicationFactor:3),AllReplicas:4,5,6);Leaders:id:4,host:k4.pay,port:9092"
        ),
        reads={
            "broker_id": 4,
            "api": "LEADER_AND_ISR",
            "controller_epoch": 8,
            "correlation_id": 27,
            "controller_id": 1,
            "partitions": [
                {
                    "topic": "pay-in",
                    "partition": 3,
                    "leader": 4,
                    "leader_epoch": 12,
                    "controller_epoch": 7,
                    "isr": [4, 5],
                    "replicas": [4, 5, 6],
                }
            ],
        },
        since="0.8.0",
        until="0.8.0",
    ),
    Rule(
        "become_leader_failed",
        REPLICA_MANAGER,
        text=(
            "Error while making broker the leader for partition <?" + PARTITION_OBJECT + "?><?<tp>?> in dir "
            "<?None?><?Some(<dir:text>)?>"
        ),
        sample=(
            "[ReplicaManager broker=4] Error while making broker the leader for partition Topic: pay-in; "
            "Partition: 3; Leader: Some(4); Replicas: 4,5,6; ISR: 4,5 in dir Some(/srv/kafka/a)"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "replicas": [4, 5, 6],
            "isr": [4, 5],
            "dir": "/srv/kafka/a",
        },
        since="1.0.0",
        until="3.0.2",
    ),
    Rule(
        "become_follower_failed",
        REPLICA_MANAGER,
        text=(
            "Error while making broker the follower for partition "
            + PARTITION_OBJECT
            + " in dir <?None?><?Some(<dir:text>)?>"
        ),
        sample=(
            "[ReplicaManager broker=4] Error while making broker the follower for partition Topic: pay-in; "
            "Partition: 3; Leader: Some(4); Replicas: 4,5,6; ISR: 4,5 in dir Some(/srv/kafka/a)"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "replicas": [4, 5, 6],
            "isr": [4, 5],
            "dir": "/srv/kafka/a",
        },
        since="1.0.0",
        until="1.1.1",
    ),
    Rule(
        "become_follower_failed",
        REPLICA_MANAGER,
        text=(
            "Error while making broker the follower for partition Topic: <topic>; Partition: <partition>; "
            "Leader: <?None?><?Some(<previous_leader>)?>; <?Assigned?><?All?>Replica<?s?><?Ids?>: "
            "<replicas:csv>; <?InSyncReplica<?s?><?Ids?>?><?ISR?>: <isr:csv> with leader <leader> in dir "
            "<?None?><?Some(<dir:text>)?>"
        ),
        sample=(
            "[ReplicaManager broker=4] Error while making broker the follower for partition Topic: pay-in; "
            "Partition: 3; Leader: Some(4); Replicas: 4,5,6; ISR: 4,5 with leader 5 in dir Some(/srv/kafka/a)"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "previous_leader": "4",
            "replicas": [4, 5, 6],
            "isr": [4, 5],
            "leader": 5,
            "dir": "/srv/kafka/a",
        },
        since="2.0.0",
        until="3.0.2",
    ),
    Rule(
        "log_dir_failure_started",
        REPLICA_MANAGER,
        text=(
            "Stopping serving replicas in dir <dir:text><? with uuid <?Optional[?><?Some(?><directory_id:id><?]?><?)?> because the log "
            "directory has failed.?>"
        ),
        sample=(
            "[ReplicaManager broker=4] Stopping serving replicas in dir /srv/kafka/a with uuid "
            "Optional[h5K2vX8bQ0-3mJtR_wYz1A] because the log directory has failed."
        ),
        reads={"broker_id": 4, "dir": "/srv/kafka/a", "directory_id": "h5K2vX8bQ0-3mJtR_wYz1A"},
        since="1.0.0",
    ),
    Rule(
        "log_dir_failure_partitions",
        REPLICA_MANAGER,
        text="Partitions <partitions> are offline due to failure on log directory <dir:rest>",
        sample=(
            "[ReplicaManager broker=4] Partitions pay-in-3,refunds-0 are offline due to failure on log directory "
            "/srv/kafka/a"
        ),
        reads={
            "broker_id": 4,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
            "dir": "/srv/kafka/a",
        },
        since="1.0.0",
        until="1.0.2",
    ),
    Rule(
        "log_dir_failure_partitions",
        REPLICA_MANAGER,
        text=(
            "Broker <_:int> stopped fetcher for partitions <partitions><? and stopped moving logs for partitions "
            "<future_partitions:text>?> because they are in the failed log dir<?ectory?> <dir:text><?.?>"
        ),
        sample=(
            "[ReplicaManager broker=4] Broker 4 stopped fetcher for partitions pay-in-3,refunds-0 and stopped "
            "moving logs for partitions  because they are in the failed log directory /srv/kafka/a."
        ),
        reads={
            "broker_id": 4,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
            "future_partitions": "",
            "dir": "/srv/kafka/a",
        },
        since="1.0.0",
    ),
    Rule(
        "log_dir_failure_completed",
        REPLICA_MANAGER,
        text="Stopped serving replicas in dir <dir:rest>",
        sample="[ReplicaManager broker=4] Stopped serving replicas in dir /srv/kafka/a",
        reads={"broker_id": 4, "dir": "/srv/kafka/a"},
        since="1.0.0",
    ),
    Rule(
        "log_dir_failure_broker_halt",
        REPLICA_MANAGER,
        text=(
            "Shutdown broker because <?the metadata log dir <dir:text> has failed?><?some log directory has "
            "failed during migration mode: <dir:rest>?>"
        ),
        sample="[ReplicaManager broker=4] Shutdown broker because the metadata log dir /srv/kafka/a has failed",
        reads={"broker_id": 4, "dir": "/srv/kafka/a"},
        since="3.7.0",
    ),
    Rule(
        "log_dir_failure_not_propagated",
        REPLICA_MANAGER,
        text=(
            "Unable to propagate <?log dir failure via Zookeeper in KRaft mode?><?directory failure disabled "
            "because directory <dir:text> has no UUID?>"
        ),
        sample=(
            "[ReplicaManager broker=4] Unable to propagate directory failure disabled because directory "
            "/srv/kafka/a has no UUID"
        ),
        reads={"broker_id": 4, "dir": "/srv/kafka/a"},
        since="2.8.0",
    ),
    Rule(
        "stray_partitions_found",
        REPLICA_MANAGER,
        text="Found stray partitions <partitions>",
        sample="[ReplicaManager broker=4] Found stray partitions pay-in-3,refunds-0",
        reads={
            "broker_id": 4,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="3.6.1",
    ),
    Rule(
        "stray_partition_delete_failed",
        REPLICA_MANAGER,
        text="Unable to stop stray partition <tp>",
        sample="[ReplicaManager broker=4] Unable to stop stray partition pay-in-3",
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3},
        since="3.6.1",
    ),
    Rule(
        "stray_partition_delete_failed",
        REPLICA_MANAGER,
        text="Failed to delete stray partition <tp> due to <error:word> exception: <reason:rest>",
        sample=(
            "[ReplicaManager broker=4] Failed to delete stray partition pay-in-3 due to java.io.IOException "
            "exception: No space left on device"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "error": "java.io.IOException",
            "reason": "No space left on device",
        },
        since="3.6.1",
    ),
    Rule(
        "high_watermark_checkpoint_failed",
        REPLICA_MANAGER,
        text="Error <?while ?>writing to highwatermark file<? in directory <dir:text>?><?:?><? ?>",
        sample="[ReplicaManager broker=4] Error while writing to highwatermark file in directory /srv/kafka/a",
        reads={"broker_id": 4, "dir": "/srv/kafka/a"},
        since="0.8.1",
    ),
    Rule(
        "follower_position_rejected",
        REPLICA_MANAGER,
        text=(
            "While recording the <?follower position?><?replica LEO?>, the partition <?<topic_id>:?><tp> hasn't "
            "been created<?, skip updating leader HW?><?.?>"
        ),
        sample=(
            "[ReplicaManager broker=4] While recording the replica LEO, the partition "
            "h5K2vX8bQ0-3mJtR_wYz1A:pay-in-3 hasn't been created."
        ),
        reads={"broker_id": 4, "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A", "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="3.2.3",
    ),
    Rule(
        "follower_position_rejected",
        REPLICA_MANAGER,
        text=(
            "Leader <leader> failed to record follower <replica>'s position <offset><?, and last sent HW?> since "
            "the replica is not recognized to be one of the assigned replicas <replicas:csv> for partition "
            "<?<topic_id>:?><tp><?. Empty records will be returned for this partition?>."
        ),
        sample=(
            "[ReplicaManager broker=4] Leader 4 failed to record follower 7's position 23, and last sent HW "
            "since the replica is not recognized to be one of the assigned replicas 4,5,6 for partition "
            "h5K2vX8bQ0-3mJtR_wYz1A:pay-in-3. Empty records will be returned for this partition."
        ),
        reads={
            "broker_id": 4,
            "leader": 4,
            "replica": "7",
            "offset": "23",
            "replicas": [4, 5, 6],
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "topic": "pay-in",
            "partition": 3,
        },
        since="1.0.0",
        until="3.2.3",
    ),
    Rule(
        "log_dir_io_error",
        LOG_DIRS,
        text="Error while <action:letters> <tp> in <?log ?>dir <dir:text><? with offset <offset>?>",
        sample="Error while appending records to pay-in-3 in dir /srv/kafka/a",
        reads={"action": "appending records to", "topic": "pay-in", "partition": 3, "dir": "/srv/kafka/a"},
        since="1.0.0",
    ),
    Rule(
        "log_dir_io_error",
        LOG_DIRS,
        text="Error while <?reading?><?writing to?> checkpoint file <file:rest>",
        sample="Error while writing to checkpoint file /srv/kafka/a/replication-offset-checkpoint",
        reads={"file": "/srv/kafka/a/replication-offset-checkpoint"},
        since="1.0.0",
    ),
    Rule(
        "log_dir_failure_broker_halt",
        DIR_FAILURE_HANDLER,
        text="Halting broker because dir <dir:text> is offline",
        sample="[LogDirFailureHandler]: Halting broker because dir /srv/kafka/a is offline",
        reads={"dir": "/srv/kafka/a"},
        since="1.0.0",
    ),
    Rule(
        "log_dir_failure_broker_halt",
        LOG_MANAGER,
        text=(
            "Shutdown broker because <?all log dirs in <dirs:text> have failed?><?none of the specified log dirs from "
            "<dirs:text> can be created or validated?>"
        ),
        sample="Shutdown broker because all log dirs in /srv/kafka/a, /srv/kafka/b have failed",
        reads={"dirs": "/srv/kafka/a, /srv/kafka/b"},
        since="1.0.0",
    ),
    Rule(
        "log_dir_failure_logs_offline",
        LOG_MANAGER,
        text="Stopping serving logs in dir <dir:rest>",
        sample="Stopping serving logs in dir /srv/kafka/a",
        reads={"dir": "/srv/kafka/a"},
        since="1.0.0",
    ),
    Rule(
        "log_dir_failure_logs_offline",
        LOG_MANAGER,
        text=(
            "Logs for partitions <partitions> are offline and logs for future partitions "
            "<future_partitions:text> are offline due to failure on log directory <dir:rest>"
        ),
        sample=(
            "Logs for partitions pay-in-3,refunds-0 are offline and logs for future partitions  are offline due "
            "to failure on log directory /srv/kafka/a"
        ),
        reads={
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
            "future_partitions": "",
            "dir": "/srv/kafka/a",
        },
        since="1.1.0",
    ),
    Rule(
        "log_dir_failure_logs_offline",
        LOG_MANAGER,
        text="Partitions <partitions> are offline due to failure on log directory <dir:rest>",
        sample="Partitions pay-in-3,refunds-0 are offline due to failure on log directory /srv/kafka/a",
        reads={
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
            "dir": "/srv/kafka/a",
        },
        since="1.0.0",
        until="1.0.2",
    ),
    Rule(
        "replica_deleted_from_disk",
        LOG_MANAGER,
        text="Deleted log for partition <tp> in <dir:text>.",
        sample="Deleted log for partition pay-in-3 in /srv/kafka/a/pay-in-3.",
        reads={"topic": "pay-in", "partition": 3, "dir": "/srv/kafka/a/pay-in-3"},
        since="0.8.1",
    ),
    Rule(
        "replica_log_created",
        LOG_MANAGER,
        text=(
            "Created log for partition <tp> in <dir:text> with properties {<?<_:text>min.insync.replicas<? -> "
            "?><?=?><min_insync_replicas:int>?><_:text>}<?.?>"
        ),
        sample=(
            "Created log for partition pay-in-3 in /srv/kafka/a with properties {min.insync.replicas=2, "
            "unclean.leader.election.enable=true}"
        ),
        reads={"topic": "pay-in", "partition": 3, "dir": "/srv/kafka/a", "min_insync_replicas": "2"},
        since="0.8.1",
    ),
    Rule(
        "stray_partition_found",
        LOG_MANAGER,
        text=(
            STRAY + "<?the current replica assignment <?[<replicas>]?><?[I@<_:word>?> does not contain the local "
            "brokerId <broker_id>.?><?this partition now exists with topic ID <new_topic_id:uuid> not "
            "<_:uuid>.?><?this partition does not exist in the new full LeaderAndIsrRequest.?><?the topicId "
            "<_:uuid> does not exist in the metadata image<?.?>?>"
        ),
        sample=(
            "Found stray log dir Log(dir=/srv/kafka/a/pay-in-3, topicId=h5K2vX8bQ0-3mJtR_wYz1A, topic=pay-in, "
            "partition=3, highWatermark=880, lastStableOffset=870, logStartOffset=23, logEndOffset=23): the "
            "current replica assignment [5, 6] does not contain the local brokerId 4."
        ),
        reads={
            "dir": "/srv/kafka/a/pay-in-3",
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "topic": "pay-in",
            "partition": 3,
            "high_watermark": "880",
            "log_end_offset": "23",
            "replicas": [5, 6],
            "broker_id": 4,
        },
        since="3.6.2",
    ),
    Rule(
        "stray_partition_renamed",
        LOG_MANAGER,
        text="Log for partition <tp> is marked as stray and renamed to <dir:rest>",
        sample="Log for partition pay-in-3 is marked as stray and renamed to /srv/kafka/a/pay-in-3.9bbf-stray",
        reads={"topic": "pay-in", "partition": 3, "dir": "/srv/kafka/a/pay-in-3.9bbf-stray"},
        since="3.6.1",
    ),
    Rule(
        "stray_partition_renamed",
        LOG_MANAGER,
        text="Log in <_:text> marked stray and renamed to <dir:rest>",
        sample="Log in /srv/kafka/a/pay-in-3 marked stray and renamed to /srv/kafka/a/pay-in-3.9bbf-stray",
        reads={"dir": "/srv/kafka/a/pay-in-3.9bbf-stray"},
        since="3.7.0",
    ),
    Rule(
        "log_loaded",
        OLD_LOG,
        text="Completed load of log <tp> with log end offset <log_end_offset:int>",
        sample="Completed load of log pay-in-3 with log end offset 23",
        reads={"topic": "pay-in", "partition": 3, "log_end_offset": "23"},
        since="0.8.0",
        until="0.10.0.1",
    ),
    Rule(
        "log_loaded",
        OLD_LOG,
        text=(
            "Completed load of log <tp> with <_:int> log segments<?, log start offset <log_start_offset:int>?> and "
            "log end offset <log_end_offset:int> in <_:int> ms"
        ),
        sample="Completed load of log pay-in-3 with 1 log segments, log start offset 7 and log end offset 23 in 18 ms",
        reads={"topic": "pay-in", "partition": 3, "log_start_offset": "7", "log_end_offset": "23"},
        since="0.10.1.0",
        until="1.0.2",
    ),
    Rule(
        "log_loaded",
        OLD_LOG,
        text=(
            "Completed load of log with <_:int> segments, log start offset <log_start_offset:int> and log end offset "
            "<log_end_offset:int> in <_:int> ms"
        ),
        sample=(
            "[Log partition=pay-in-3, dir=/srv/kafka/a] Completed load of log with 1 segments, log start offset 7 and "
            "log end offset 23 in 18 ms"
        ),
        reads={"topic": "pay-in", "partition": 3, "log_start_offset": "7", "log_end_offset": "23"},
        since="1.1.0",
        until="2.5.1",
    ),
    Rule(
        "log_loaded",
        LOG_MANAGER,
        text=LOADED + " in <_:int>ms (<_:int>/<_:int> <?loaded?><?completed?> in <_:rest>",
        sample=(
            "Completed load of Log(dir=/srv/kafka/a/pay-in-3, topic=pay-in, partition=3, highWatermark=20, "
            "lastStableOffset=20, logStartOffset=7, logEndOffset=23) with 1 segments in 18ms (1/6 loaded in /srv/kafka/a)"
        ),
        reads={"topic": "pay-in", "partition": 3, "log_start_offset": "7", "log_end_offset": "23"},
        since="2.6.0",
        until="3.5.2",
    ),
    Rule(
        "log_loaded",
        LOG_MANAGER,
        text=(
            LOADED + ", local-log-start-offset <_:int> and log-end-offset <_:int> in <_:int>ms (<_:int>/<_:int> "
            "completed in <_:rest>"
        ),
        sample=(
            "Completed load of Log(dir=/srv/kafka/a/pay-in-3, topicId=h5K2vX8bQ0-3mJtR_wYz1A, topic=pay-in, "
            "partition=3, highWatermark=20, lastStableOffset=20, logStartOffset=7, logEndOffset=23) with 1 segments, "
            "local-log-start-offset 7 and log-end-offset 23 in 18ms (1/6 completed in /srv/kafka/a)"
        ),
        reads={
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "topic": "pay-in",
            "partition": 3,
            "log_start_offset": "7",
            "log_end_offset": "23",
        },
        since="3.6.0",
    ),
    Rule(
        "log_truncated",
        LOG,
        text="Truncating to offset <offset>",
        sample="[UnifiedLog partition=pay-in-3, dir=/srv/kafka/a] Truncating to offset 23",
        reads={"topic": "pay-in", "partition": 3, "offset": "23"},
        since="1.1.0",
    ),
    Rule(
        "log_truncated",
        LOG,
        text="Truncating log <tp> to offset <offset>.",
        sample="Truncating log pay-in-3 to offset 23.",
        reads={"topic": "pay-in", "partition": 3, "offset": "23"},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "log_truncated_fully",
        LOG,
        text="Truncate and start at offset <offset><?, logStartOffset: <log_start_offset:int>?>",
        sample=(
            "[UnifiedLog partition=pay-in-3, dir=/srv/kafka/a] Truncate and start at offset 23, logStartOffset: 880"
        ),
        reads={"topic": "pay-in", "partition": 3, "offset": "23", "log_start_offset": "880"},
        since="1.1.0",
    ),
    Rule(
        "leader_epoch_cached",
        EPOCH_CACHE,
        text=("Updated PartitionLeaderEpoch. " + NEW_AND_CURRENT + ". Cache now contains <_:int> entries."),
        sample=(
            "Updated PartitionLeaderEpoch. New: {epoch:12, offset:902}, Current: {epoch:11, offset:23} for "
            "Partition: pay-in-3. Cache now contains 2 entries."
        ),
        reads={
            "leader_epoch": 12,
            "start_offset": "902",
            "previous_leader_epoch": "11",
            "previous_start_offset": "23",
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.11.0.0",
        until="2.0.0",
    ),
    Rule(
        "leader_epoch_out_of_order",
        EPOCH_CACHE,
        text=(
            "Received a PartitionLeaderEpoch assignment for an <?epoch < latestEpoch?><?offset < latest "
            "offset for the most recent, stored PartitionLeaderEpoch?>. This implies messages have arrived "
            "out of order. " + NEW_AND_CURRENT
        ),
        sample=(
            "Received a PartitionLeaderEpoch assignment for an epoch < latestEpoch. This implies messages have "
            "arrived out of order. New: {epoch:12, offset:902}, Current: {epoch:11, offset:23} for Partition: "
            "pay-in-3"
        ),
        reads={
            "leader_epoch": 12,
            "start_offset": "902",
            "previous_leader_epoch": "11",
            "previous_start_offset": "23",
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.11.0.0",
        until="2.0.0",
    ),
    Rule(
        "leader_epoch_out_of_order",
        EPOCH_CACHE,
        text=(
            "Received leader epoch assignment "
            + ENTRY
            + " which has <?an epoch less than the epoch?><?a starting offset which is less than the starting "
            "offset?> of the latest entry EpochEntry(epoch=<previous_leader_epoch>, "
            "startOffset=<previous_start_offset:int>). This implies messages have arrived out of order."
        ),
        sample=(
            "[LeaderEpochCache pay-in-3] Received leader epoch assignment EpochEntry(epoch=12, startOffset=902) "
            "which has an epoch less than the epoch of the latest entry EpochEntry(epoch=11, startOffset=23). "
            "This implies messages have arrived out of order."
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "leader_epoch": 12,
            "start_offset": "902",
            "previous_leader_epoch": "11",
            "previous_start_offset": "23",
        },
        since="2.0.1",
        until="2.6.3",
    ),
    Rule(
        "leader_epoch_truncated",
        EPOCH_CACHE,
        text=(
            "Cleared latest <?Hash?>Set(<truncated_entries:text>) entries from epoch cache based on passed offset "
            "<offset> leaving <_:int> in EpochFile for partition <tp>"
        ),
        sample=(
            "Cleared latest Set(EpochEntry(13,950)) entries from epoch cache based on passed offset 902 leaving 2 in "
            "EpochFile for partition pay-in-3"
        ),
        reads={"truncated_entries": "EpochEntry(13,950)", "offset": "902", "topic": "pay-in", "partition": 3},
        since="0.11.0.0",
        until="2.0.0",
    ),
    Rule(
        "leader_epoch_truncated",
        EPOCH_CACHE,
        text=(
            "New epoch entry "
            + ENTRY
            + " caused truncation of conflicting entries <truncated_entries:text>. Cache now contains <_:int> "
            "entries."
        ),
        sample=(
            "[LeaderEpochCache pay-in-3] New epoch entry EpochEntry(epoch=12, startOffset=902) caused truncation "
            "of conflicting entries [EpochEntry(epoch=13, startOffset=950)]. Cache now contains 2 entries."
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "leader_epoch": 12,
            "start_offset": "902",
            "truncated_entries": "[EpochEntry(epoch=13, startOffset=950)]",
        },
        since="2.0.1",
    ),
    Rule(
        "leader_and_isr_disk_error",
        APIS,
        text="Disk error during leadership change.",
        sample="[KafkaApi-4] Disk error during leadership change.",
        reads={"broker_id": 4},
        since="0.8.0",
        until="0.11.0.3",
    ),
    Rule(
        "stale_broker_epoch_request_ignored",
        APIS,
        text=(
            "Received <api:text> request with broker epoch <request_broker_epoch:int> smaller than the current "
            "broker epoch <broker_epoch:int><? from controller <controller_id> with epoch <controller_epoch>.?>"
        ),
        sample=(
            "[KafkaApi-4] Received StopReplica request with broker epoch 23 smaller than the current broker "
            "epoch 23 from controller 1 with epoch 8."
        ),
        reads={
            "broker_id": 4,
            "api": "StopReplica",
            "request_broker_epoch": "23",
            "broker_epoch": "23",
            "controller_id": 1,
            "controller_epoch": 8,
        },
        since="2.2.0",
        until="3.9.2",
    ),
    Rule(
        "fetcher_added",
        FETCHER_MANAGER,
        text=(
            "Adding fetcher for partition <tp>, initOffset <offset> to broker <source_broker:int> with fetcherId "
            "<fetcher_id:int>"
        ),
        sample=(
            "[ReplicaFetcherManager on broker 4] Adding fetcher for partition pay-in-3, initOffset 23 to broker "
            "23 with fetcherId 23"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "offset": "23",
            "source_broker": "23",
            "fetcher_id": "23",
        },
        since="0.8.0",
        until="0.8.0",
    ),
    Rule(
        "fetcher_added",
        FETCHER_MANAGER,
        text=(
            "Added fetcher <?to broker <?BrokerEndPoint(id=?><source_broker:int><?, host=<_:word>)?> ?>for "
            "partitions <partitions:fetched>"
        ),
        sample=(
            "[ReplicaFetcherManager on broker 4] Added fetcher to broker 5 for partitions Map(pay-in-3 -> "
            "InitialFetchState(Some(h5K2vX8bQ0-3mJtR_wYz1A),BrokerEndPoint(id=5, host=k-5:9092),12,880))"
        ),
        reads={
            "broker_id": 4,
            "source_broker": "5",
            "partitions": [
                {"topic": "pay-in", "partition": 3, "leader_epoch": 12, "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A"}
            ],
        },
        since="0.8.1",
    ),
    Rule(
        "fetcher_removed",
        FETCHER_MANAGER,
        text="Remov<?ed?><?ing?> fetcher for partition<?s?> <partitions>",
        sample="[ReplicaFetcherManager on broker 4] Removed fetcher for partitions pay-in-3,refunds-0",
        reads={
            "broker_id": 4,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.8.0",
    ),
    Rule(
        "group_offsets_removed",
        GROUP_COORDINATOR,
        text="Removed <offsets> offsets associated with deleted partitions: <partitions>.",
        sample="[GroupCoordinator 4]: Removed 2 offsets associated with deleted partitions: pay-in-3, refunds-0.",
        reads={
            "broker_id": 4,
            "offsets": "2",
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="2.0.0",
        until="3.9.2",
    ),
    Rule(
        "fetcher_fenced",
        FETCHER,
        text=(
            "Partition <tp> has an older epoch (<leader_epoch>) than the current leader. Will await the new "
            "LeaderAndIsr state before resuming fetching."
        ),
        sample=(
            "[ReplicaFetcher replicaId=4, leaderId=5, fetcherId=0] Partition pay-in-3 has an older epoch (12) "
            "than the current leader. Will await the new LeaderAndIsr state before resuming fetching."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "leader_epoch": 12},
        since="2.1.0",
    ),
    Rule(
        "fetcher_ahead_of_leader",
        FETCHER,
        text=(
            "Partition <tp> has a<?n new?><? newer?> epoch (<leader_epoch>) than the current leader. <?retry the "
            "partition later?><?Retry the partition later.?>"
        ),
        sample=(
            "[ReplicaFetcher replicaId=4, leaderId=5, fetcherId=0] Partition pay-in-3 has a newer epoch (12) "
            "than the current leader. Retry the partition later."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "leader_epoch": 12},
        since="2.5.0",
    ),
    Rule(
        "follower_truncated",
        FETCHER,
        text="Truncating <tp> to offset <offset> below high watermark <high_watermark>",
        sample=(
            "[ReplicaFetcher replicaId=4, leaderId=5, fetcherId=0] Truncating pay-in-3 to offset 23 below high "
            "watermark 880"
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "offset": "23", "high_watermark": "880"},
        since="2.0.0",
        until="2.3.1",
    ),
    Rule(
        "follower_truncated",
        FETCHER,
        text="Truncating partition <tp> to local high watermark <high_watermark>",
        sample=(
            "[ReplicaFetcher replicaId=4, leaderId=5, fetcherId=0] Truncating partition pay-in-3 to local high "
            "watermark 880"
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "high_watermark": "880"},
        since="2.1.1",
        until="3.0.2",
    ),
    Rule(
        "follower_truncated",
        FETCHER,
        text=(
            "Truncating partition <tp> with TruncationState(offset=<offset>, completed=<completed:word>) due to "
            "<?local high watermark <high_watermark>?><?leader epoch and offset <leader_end:rest>?>"
        ),
        sample=(
            "[ReplicaFetcher replicaId=4, leaderId=5, fetcherId=0] Truncating partition pay-in-3 with "
            "TruncationState(offset=23, completed=true) due to local high watermark 880"
        ),
        reads={
            "broker_id": 4,
            "topic": "pay-in",
            "partition": 3,
            "offset": "23",
            "completed": "true",
            "high_watermark": "880",
        },
        since="3.1.0",
    ),
    Rule(
        "high_watermark_decreased",
        LOG,
        text=(
            "Non-monotonic update of high watermark from <?(?><?LogOffsetMetadata(?><?offset=?>"
            "<previous_high_watermark:int><_:text> to <?(?><?LogOffsetMetadata(?><?offset=?><high_watermark><_:rest>"
        ),
        sample=(
            "[UnifiedLog partition=pay-in-3, dir=/srv/kafka/a] Non-monotonic update of high watermark from "
            "(offset=528, segment=[0:90127]) to (offset=527, segment=[-1:-1])"
        ),
        reads={"topic": "pay-in", "partition": 3, "previous_high_watermark": "528", "high_watermark": "527"},
        since="2.7.1",
    ),
    Rule(
        "log_truncation_without_effect",
        LOG,
        text="Truncating to <offset> has no effect as the largest offset in the log is <last_offset:int>",
        sample=(
            "[UnifiedLog partition=pay-in-3, dir=/srv/kafka/a] Truncating to 23 has no effect as the largest "
            "offset in the log is 22"
        ),
        reads={"topic": "pay-in", "partition": 3, "offset": "23", "last_offset": "22"},
        since="1.0.2",
    ),
    Rule(
        "log_truncation_without_effect",
        LOG,
        text="Truncating <tp> to <offset> has no effect as the largest offset in the log is <last_offset:int>.",
        sample="Truncating pay-in-3 to 23 has no effect as the largest offset in the log is 22.",
        reads={"topic": "pay-in", "partition": 3, "offset": "23", "last_offset": "22"},
        since="0.8.1",
        until="1.0.1",
    ),
    Rule(
        "follower_truncation_not_needed",
        FETCHER,
        text=(
            "Based on follower's leader epoch, leader replied with an offset <leader_end_offset:int> >= the "
            "follower's log end offset <log_end_offset:int> in <tp>. No truncation needed."
        ),
        sample=(
            "[ReplicaFetcher replicaId=4, leaderId=5, fetcherId=0] Based on follower's leader epoch, leader replied "
            "with an offset 23 >= the follower's log end offset 22 in pay-in-3. No truncation needed."
        ),
        reads={
            "broker_id": 4,
            "leader_end_offset": "23",
            "log_end_offset": "22",
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.11.0.0",
        until="1.1.1",
    ),
    Rule(
        "follower_truncated",
        FETCHER,
        text=(
            "Based on <?follower?><?replica?>'s leader epoch, leader replied with an unknown offset in <tp>. The "
            "initial fetch offset <offset> will be used for truncation."
        ),
        sample=(
            "[ReplicaFetcher replicaId=4, leaderId=5, fetcherId=0] Based on replica's leader epoch, leader replied "
            "with an unknown offset in pay-in-3. The initial fetch offset 23 will be used for truncation."
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "offset": "23"},
        since="0.11.0.0",
    ),
    Rule(
        "fetcher_partition_error",
        FETCHER,
        text="Error for partition <tp> at offset <offset>",
        sample="[ReplicaFetcher replicaId=4, leaderId=5, fetcherId=0] Error for partition pay-in-3 at offset 23",
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "offset": "23"},
        since="1.1.0",
    ),
    Rule(
        "fetcher_partition_error",
        FETCHER,
        text="Error for partition <tp> to broker <source_broker:int>:<error:rest>",
        sample=(
            "[ReplicaFetcherThread-0-5], Error for partition [pay-in,3] to broker "
            "5:org.apache.kafka.common.errors.NotLeaderForPartitionException: This server is not the leader."
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "source_broker": "5",
            "error": "org.apache.kafka.common.errors.NotLeaderForPartitionException: This server is not the leader.",
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "fetcher_epoch_request_retried",
        FETCHER,
        text=(
            "Retrying leaderEpoch request for partition <tp> as the <?leader?><?current replica?> reported an error: "
            "<error:word>"
        ),
        sample=(
            "[ReplicaFetcher replicaId=4, leaderId=5, fetcherId=0] Retrying leaderEpoch request for partition "
            "pay-in-3 as the leader reported an error: UNKNOWN_LEADER_EPOCH"
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "error": "UNKNOWN_LEADER_EPOCH"},
        since="0.11.0.0",
    ),
    Rule(
        "fetcher_partition_failed",
        FETCHER,
        text="Partition <tp> marked as failed",
        sample="[ReplicaFetcher replicaId=4, leaderId=5, fetcherId=0] Partition pay-in-3 marked as failed",
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3},
        since="2.3.0",
    ),
    Rule(
        "fetcher_not_leader",
        FETCHER,
        text=(
            "Remote broker is not the leader for partition <tp>, which could indicate that the partition is being moved"
        ),
        sample=(
            "[ReplicaFetcher replicaId=4, leaderId=5, fetcherId=0] Remote broker is not the leader for partition "
            "pay-in-3, which could indicate that the partition is being moved"
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3},
        since="1.1.0",
    ),
    Rule(
        "unclean_election_truncation",
        FETCHER,
        text=(
            "Replica <replica> for partition <tp> reset its fetch offset <?from <offset> ?>to current leader "
            "<leader>'s latest offset <leader_end_offset:int>"
        ),
        sample=(
            "[ReplicaFetcherThread-0-5], Replica 4 for partition pay-in-3 reset its fetch offset from 23 to "
            "current leader 4's latest offset 23"
        ),
        reads={
            "replica": "4",
            "topic": "pay-in",
            "partition": 3,
            "offset": "23",
            "leader": 4,
            "leader_end_offset": "23",
        },
        since="0.8.0",
        until="0.11.0.3",
    ),
    Rule(
        "unclean_election_truncation",
        FETCHER,
        text=(
            "Reset fetch offset for partition <tp> from <offset> to current leader's latest offset "
            "<leader_end_offset:int>"
        ),
        sample=(
            "[ReplicaFetcher replicaId=4, leaderId=5, fetcherId=0] Reset fetch offset for partition pay-in-3 "
            "from 23 to current leader's latest offset 23"
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "offset": "23", "leader_end_offset": "23"},
        since="1.0.0",
    ),
    Rule(
        "unclean_election_truncation_forbidden",
        FETCHER,
        text=(
            "<?Halting?><?Exiting?> because log truncation is not allowed for <?topic <topic>?><?partition "
            "<tp>?>, <?Current?><?current?> leader<? <leader>?>'s latest offset <leader_end_offset:int> is less "
            "than replica<? <replica>?>'s latest offset <offset>"
        ),
        sample=(
            "[ReplicaFetcher replicaId=4, leaderId=5, fetcherId=0] Exiting because log truncation is not allowed "
            "for partition pay-in-3, current leader's latest offset 23 is less than replica's latest offset 23"
        ),
        reads={"broker_id": 4, "topic": "pay-in", "partition": 3, "leader_end_offset": "23", "offset": "23"},
        since="0.8.2.0",
        until="2.0.0",
    ),
    Rule(
        "isr_change_request_sent",
        ISR_MANAGER,
        text=(
            "Sending " + ALTER + " to controller <_:word>(brokerId=<broker_id>, brokerEpoch=<broker_epoch:int>, "
            "topics=<partitions:alter_request>)"
        ),
        sample=(
            "Sending AlterPartition to controller AlterPartitionRequestData(brokerId=4, brokerEpoch=23, "
            "topics=[TopicData(topicName='pay-in', topicId=h5K2vX8bQ0-3mJtR_wYz1A, "
            "partitions=[PartitionData(partitionIndex=3, leaderEpoch=12, newIsr=[4, 5], leaderRecoveryState=0, "
            "partitionEpoch=31)])])"
        ),
        reads={
            "broker_id": 4,
            "broker_epoch": "23",
            "partitions": [
                {
                    "topic": "pay-in",
                    "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
                    "partition": 3,
                    "leader_epoch": 12,
                    "partition_epoch": 31,
                    "isr": [4, 5],
                }
            ],
        },
        since="2.7.0",
    ),
    Rule(
        "isr_change_accepted",
        ISR_MANAGER,
        text=("Controller successfully handled " + ALTER + " request for " + ANSWER),
        sample=(
            "Controller successfully handled AlterPartition request for h5K2vX8bQ0-3mJtR_wYz1A:pay-in-3: "
            "PartitionData(partitionIndex=3, errorCode=0, leaderId=4, leaderEpoch=12, isr=[4, 5], "
            "leaderRecoveryState=0, partitionEpoch=31)"
        ),
        reads={
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "topic": "pay-in",
            "partition": 3,
            "error_code": "0",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "leader_recovery_state": "0",
            "partition_epoch": 31,
        },
        since="2.7.0",
    ),
    Rule(
        "isr_change_request_stale_broker_epoch",
        ISR_MANAGER,
        text="Broker had a stale broker epoch (<broker_epoch:int>), retrying.",
        sample="Broker had a stale broker epoch (23), retrying.",
        reads={"broker_epoch": "23"},
        since="2.7.0",
    ),
    Rule(
        "isr_change_request_failed",
        ISR_MANAGER,
        text=("Broker is not authorized to send " + ALTER + " to controller"),
        sample="Broker is not authorized to send AlterPartition to controller",
        reads={},
        since="2.7.0",
    ),
    Rule(
        "isr_change_request_failed",
        ISR_MANAGER,
        text=("Controller returned an unexpected top-level error when handling " + ALTER + " request: <error:word>"),
        sample=(
            "Controller returned an unexpected top-level error when handling AlterPartition request: "
            "STALE_CONTROLLER_EPOCH"
        ),
        reads={"error": "STALE_CONTROLLER_EPOCH"},
        since="2.7.0",
    ),
    Rule(
        "isr_change_request_failed",
        ISR_MANAGER,
        text=("Controller returned an invalid leader recovery state (<_:int>) for " + ANSWER),
        sample=(
            "Controller returned an invalid leader recovery state (2) for h5K2vX8bQ0-3mJtR_wYz1A:pay-in-3: "
            "PartitionData(partitionIndex=3, errorCode=0, leaderId=4, leaderEpoch=12, isr=[4, 5], "
            "leaderRecoveryState=2, partitionEpoch=31)"
        ),
        reads={
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "topic": "pay-in",
            "partition": 3,
            "error_code": "0",
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "leader_recovery_state": "2",
            "partition_epoch": 31,
        },
        since="3.2.0",
    ),
    Rule(
        "isr_change_not_in_response",
        ISR_MANAGER,
        text="Partition <?<topic_id>:?><tp> was sent but not included in the response",
        sample="Partition h5K2vX8bQ0-3mJtR_wYz1A:pay-in-3 was sent but not included in the response",
        reads={"topic_id": "h5K2vX8bQ0-3mJtR_wYz1A", "topic": "pay-in", "partition": 3},
        since="2.7.0",
    ),
    Rule(
        "isr_change_written_to_zk",
        ZK_ISR_MANAGER,
        text=(
            "Writing new ISR <isr:list> to ZooKeeper with version <partition_epoch> for partition <?<topic_id>:?><tp>"
        ),
        sample=(
            "Writing new ISR List(4, 5) to ZooKeeper with version 31 for partition h5K2vX8bQ0-3mJtR_wYz1A:pay-in-3"
        ),
        reads={
            "isr": [4, 5],
            "partition_epoch": 31,
            "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "topic": "pay-in",
            "partition": 3,
        },
        since="2.8.0",
    ),
    Rule(
        "isr_written_to_zk",
        ZK,
        text="Updated ISR for <?partition ?><tp> to <isr:csv>",
        sample="Updated ISR for partition pay-in-3 to 4,5",
        reads={"topic": "pay-in", "partition": 3, "isr": [4, 5]},
        since="0.8.2.0",
        until="3.9.2",
    ),
    Rule(
        "isr_change_notification_created",
        ZK,
        text="Added /isr_change_notification/isr_change_<sequence:int> for <partitions>",
        sample="Added /isr_change_notification/isr_change_23 for pay-in-3,refunds-0",
        reads={
            "sequence": "23",
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.9.0.0",
    ),
    Rule(
        "log_dir_event_notification_created",
        ZK,
        text="Added /log_dir_event_notification/log_dir_event_<sequence:int> for broker <broker_id>",
        sample="Added /log_dir_event_notification/log_dir_event_23 for broker 4",
        reads={"sequence": "23", "broker_id": 4},
        since="1.1.0",
    ),
    Rule(
        "zk_state_updated",
        ZK,
        text=(CONDITIONAL_UPDATE + "succeeded, returning the new version: <partition_epoch>"),
        sample=(
            "Conditional update of path /brokers/topics/pay-in/partitions/3/state with value "
            '{"controller_epoch":7,"leader":4,"version":1,"leader_epoch":12,"isr":[4,5]} and expected version 30 '
            "succeeded, returning the new version: 31"
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "state_controller_epoch": "7",
            "expected_zk_version": "30",
            "partition_epoch": 31,
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "zk_state_update_failed",
        ZK,
        text=(CONDITIONAL_UPDATE + "failed due to <error:rest>"),
        sample=(
            "Conditional update of path /brokers/topics/pay-in/partitions/3/state with data "
            '{"controller_epoch":7,"leader":4,"version":1,"leader_epoch":12,"isr":[4,5]} and expected version 30 '
            "failed due to KeeperErrorCode = BadVersion for /brokers/topics/pay-in/partitions/3/state"
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "state_controller_epoch": "7",
            "expected_zk_version": "30",
            "error": "KeeperErrorCode = BadVersion for /brokers/topics/pay-in/partitions/3/state",
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controller_epoch_initialized",
        ZK,
        text="Successfully created /controller_epoch with initial epoch <controller_epoch>",
        sample="Successfully created /controller_epoch with initial epoch 8",
        reads={"controller_epoch": 8},
        since="2.1.0",
        until="3.9.2",
    ),
    Rule(
        "broker_registered_in_zk",
        ZK,
        text=(
            "Registered broker <broker> at path /brokers/ids/<_:int> with address<?es?><?:?> <endpoints:text><?, "
            "czxid (broker epoch): <broker_epoch:int>?><?.?>"
        ),
        sample=(
            "Registered broker 6 at path /brokers/ids/6 with addresses: PLAINTEXT://k6.pay:9092, czxid (broker "
            "epoch): 23"
        ),
        reads={"broker": "6", "endpoints": "PLAINTEXT://k6.pay:9092", "broker_epoch": "23"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "broker_info_updated_in_zk",
        ZK,
        text="Updated broker <broker> at path /brokers/ids/<_:int> with addresses: <endpoints:rest>",
        sample="Updated broker 6 at path /brokers/ids/6 with addresses: PLAINTEXT://k6.pay:9092",
        reads={"broker": "6", "endpoints": "PLAINTEXT://k6.pay:9092"},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "broker_deregistered_in_zk",
        ZK,
        text="Deregistered broker <broker> at path /brokers/ids/<_:int>.",
        sample="Deregistered broker 6 at path /brokers/ids/6.",
        reads={"broker": "6"},
        since="0.8.2.0",
        until="0.8.2.0",
    ),
    Rule(
        "zk_ephemeral_create",
        ZK,
        text="Creating <path:word> (is it secure? <secure:word>)",
        sample="Creating /controller (is it secure? false)",
        reads={"path": "/controller", "secure": "false"},
        since="0.9.0.0",
        until="3.9.2",
    ),
    Rule(
        "zk_ephemeral_created",
        ZK,
        text="Result of znode creation <?at <path:word> ?>is: <result:word>",
        sample="Result of znode creation at /controller is: OK",
        reads={"path": "/controller", "result": "OK"},
        since="0.9.0.0",
        until="2.1.1",
    ),
    Rule(
        "zk_ephemeral_created",
        ZK,
        text="Stat of the created znode at <path:word> is: <broker_epoch:int>,<_:rest>",
        sample=(
            "Stat of the created znode at /brokers/ids/4 is: 23,348,1704164645678,1704164645678,1,0,0,"
            "72057594037927941,198,0,348"
        ),
        reads={"path": "/brokers/ids/4", "broker_epoch": "23"},
        since="2.2.0",
        until="3.9.2",
    ),
    Rule(
        "zk_ephemeral_conflict",
        ZK,
        text="Conflict in <path:word> data: <data:text> stored data: <stored_data:rest>",
        sample='Conflict in /controller data: {"brokerid":4} stored data: {"brokerid":5}',
        reads={"path": "/controller", "data": '{"brokerid":4}', "stored_data": '{"brokerid":5}'},
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "zk_ephemeral_conflict",
        ZK,
        text=(
            "I wrote this conflicted ephemeral node [<data:text>] at <path:word> a while back in a different "
            "session, hence I will backoff for this node to be deleted by Zookeeper and retry"
        ),
        sample=(
            'I wrote this conflicted ephemeral node [{"brokerid":4}] at /controller a while back in a different '
            "session, hence I will backoff for this node to be deleted by Zookeeper and retry"
        ),
        reads={"data": '{"brokerid":4}', "path": "/controller"},
        since="0.8.0",
        until="0.8.2.2",
    ),
    Rule(
        "zk_ephemeral_conflict",
        ZK,
        text=(
            "Error while creating ephemeral at <path:word>, node already exists and owner '<owner:word>' does "
            "not match current session '<session:word>'"
        ),
        sample=(
            "Error while creating ephemeral at /brokers/ids/4, node already exists and owner '0x100000000000005' "
            "does not match current session '0x100000000000006'"
        ),
        reads={"path": "/brokers/ids/4", "owner": "0x100000000000005", "session": "0x100000000000006"},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "zk_ephemeral_conflict",
        ZK,
        text=(
            "Was not possible to create the ephemeral at <path:word>, node already exists and owner "
            "'<owner:word>' does not match current session '<session:word>', trying to delete and re-create it "
            "with the newest Zookeeper session"
        ),
        sample=(
            "Was not possible to create the ephemeral at /brokers/ids/4, node already exists and owner "
            "'0x100000000000005' does not match current session '0x100000000000006', trying to delete and "
            "re-create it with the newest Zookeeper session"
        ),
        reads={"path": "/brokers/ids/4", "owner": "0x100000000000005", "session": "0x100000000000006"},
        since="2.2.0",
        until="3.9.2",
    ),
    Rule(
        "controller_znode_create_attempt",
        ZK,
        text=(
            "Try to create /controller and increment controller epoch to <controller_epoch> with expected "
            "controller epoch zkVersion <epoch_zk_version:int>"
        ),
        sample=(
            "Try to create /controller and increment controller epoch to 8 with expected controller epoch zkVersion 23"
        ),
        reads={"controller_epoch": 8, "epoch_zk_version": "23"},
        since="2.1.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_controller_claims_zk",
        ZK,
        text=(
            "KRaft controller <kraft_controller_id:int> <?overwriting?><?creating?> /controller to become the "
            "active controller with ZK epoch <controller_epoch>. <?The previous controller was "
            "<previous_controller_id:int>.?><?There was no active controller.?>"
        ),
        sample=(
            "KRaft controller 3000 overwriting /controller to become the active controller with ZK epoch 8. The "
            "previous controller was 1."
        ),
        reads={"kraft_controller_id": "3000", "controller_epoch": 8, "previous_controller_id": "1"},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_controller_claimed_zk",
        ZK,
        text="Successfully registered KRaft controller <kraft_controller_id:int> with ZK epoch <controller_epoch>",
        sample="Successfully registered KRaft controller 3000 with ZK epoch 8",
        reads={"kraft_controller_id": "3000", "controller_epoch": 8},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_controller_claim_zk_failed",
        ZK,
        text=(
            "The <?ZK controller epoch changed?><?ephemeral node at /controller went away?><?ephemeral node at "
            "/controller was created by another controller?> while trying to register KRaft controller "
            "<kraft_controller_id:int> with ZK epoch <controller_epoch>. KRaft controller was not registered."
        ),
        sample=(
            "The ZK controller epoch changed while trying to register KRaft controller 3000 with ZK epoch 8. "
            "KRaft controller was not registered."
        ),
        reads={"kraft_controller_id": "3000", "controller_epoch": 8},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "kraft_controller_claim_zk_failed",
        ZK,
        text=(
            "ZooKeeper had an error while trying to register KRaft controller <kraft_controller_id:int> with ZK "
            "epoch <controller_epoch>. KRaft controller was not registered."
        ),
        sample=(
            "ZooKeeper had an error while trying to register KRaft controller 3000 with ZK epoch 8. KRaft "
            "controller was not registered."
        ),
        reads={"kraft_controller_id": "3000", "controller_epoch": 8},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "reassignment_znode_updated",
        ZK,
        text="Updated partition reassignment path with <partitions:json_partitions>",
        sample=(
            'Updated partition reassignment path with {"version":1,"partitions":[{"topic":"pay-in","partition":3,'
            '"replicas":[4,5]}]}'
        ),
        reads={"partitions": [{"topic": "pay-in", "partition": 3, "replicas": [4, 5]}]},
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "reassignment_znode_removed",
        ZK,
        text="No more partitions need to be reassigned. Deleting zk path <path:word>",
        sample="No more partitions need to be reassigned. Deleting zk path /admin/reassign_partitions",
        reads={"path": "/admin/reassign_partitions"},
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "topic_creation_written",
        ADMIN,
        text="Topic creation <assignment:path_assignment>",
        sample='Topic creation {"version":1,"partitions":{"1":[5,4],"0":[4,5]}}',
        reads={"partitions": [{"partition": 1, "replicas": [5, 4]}, {"partition": 0, "replicas": [4, 5]}]},
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "topic_creation_written",
        ADMIN,
        text="Creating topic <assignment:path_assignment>",
        sample=(
            "Creating topic pay-in with configuration {min.insync.replicas=2} and initial partition assignment "
            "HashMap(3 -> ArrayBuffer(4, 5))"
        ),
        reads={
            "topic": "pay-in",
            "configs": "{min.insync.replicas=2}",
            "partitions": [{"topic": "pay-in", "partition": 3, "replicas": [4, 5]}],
        },
        since="2.2.0",
        until="3.9.2",
    ),
    Rule(
        "topic_update_written",
        ADMIN,
        text="Topic update <assignment:path_assignment>",
        sample="Topic update Map(pay-in-3 -> ArrayBuffer(4, 5))",
        reads={"partitions": [{"topic": "pay-in", "partition": 3, "replicas": [4, 5]}]},
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "topic_partitions_added",
        ADMIN,
        text="Add partition list <assignment:path_assignment>",
        sample="Add partition list for pay-in is Map(3 -> List(4, 5))",
        reads={"topic": "pay-in", "partitions": [{"topic": "pay-in", "partition": 3, "replicas": [4, 5]}]},
        since="0.8.1",
        until="0.11.0.3",
    ),
    Rule(
        "topic_partitions_added",
        ADMIN,
        text="Creating <partition_count:int> partitions <assignment:path_assignment>",
        sample=(
            "Creating 1 partitions for 'pay-in' with the following replica assignment: Map(3 -> ArrayBuffer(4, 5))."
        ),
        reads={
            "partition_count": "1",
            "topic": "pay-in",
            "partitions": [{"topic": "pay-in", "partition": 3, "replicas": [4, 5]}],
        },
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "topic_assignment_zk_write",
        ADMIN,
        text="Updated path <assignment:path_assignment> for replica assignment",
        sample=(
            'Updated path /brokers/topics/pay-in with {"version":1,"partitions":{"3":[4,5]}} for replica assignment'
        ),
        reads={"topic": "pay-in", "partitions": [{"topic": "pay-in", "partition": 3, "replicas": [4, 5]}]},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controller_elected",
        ELECTOR,
        text="<controller_id> successfully elected as leader",
        sample="1 successfully elected as leader",
        reads={"controller_id": 1},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "controller_election_lost",
        ELECTOR,
        text=(
            "Broker <new_controller_id:int> <?was elected as leader instead of broker <broker_id>?><?has been "
            "elected as leader, so stopping the election process.?>"
        ),
        sample="Broker 2 was elected as leader instead of broker 4",
        reads={"new_controller_id": "2", "broker_id": 4},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "controller_election_raced",
        ELECTOR,
        text="A leader has been elected but just resigned, this will result in another round of election",
        sample="A leader has been elected but just resigned, this will result in another round of election",
        reads={},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "controller_election_failed",
        ELECTOR,
        text="Error while electing or becoming leader on broker <broker_id>",
        sample="Error while electing or becoming leader on broker 4",
        reads={"broker_id": 4},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "controller_changed",
        ELECTOR,
        text="New leader is <new_controller_id:int>",
        sample="New leader is 2",
        reads={"new_controller_id": "2"},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "controller_znode_deleted",
        ELECTOR,
        text=(
            "<broker_id> leader change listener fired for path <path:word> to handle data deleted: trying to "
            "elect as a leader"
        ),
        sample=(
            "4 leader change listener fired for path /controller to handle data deleted: trying to elect as a leader"
        ),
        reads={"broker_id": 4, "path": "/controller"},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "broker_starting",
        SERVER,
        text="Starting<? broker?>",
        sample="[KafkaServer id=4] Starting",
        reads={"broker_id": 4},
        since="0.8.0",
    ),
    Rule(
        "broker_started",
        SERVER,
        text="Started",
        sample="[KafkaServer id=4] Started",
        reads={"broker_id": 4},
        since="0.8.0",
    ),
    Rule(
        "broker_stopping",
        SERVER,
        text="Shutting down",
        sample="[KafkaServer id=4] Shutting down",
        reads={"broker_id": 4},
        since="0.8.0",
    ),
    Rule(
        "broker_stopped",
        SERVER,
        text="Shut down completed",
        sample="[KafkaServer id=4] Shut down completed",
        reads={"broker_id": 4},
        since="0.8.0",
    ),
    Rule(
        "cluster_id_logged",
        SERVER,
        text="Cluster ID = <cluster_id:word>",
        sample="Cluster ID = h5K2vX8bQ0-3mJtR_wYz1A",
        reads={"cluster_id": "h5K2vX8bQ0-3mJtR_wYz1A"},
        since="0.10.1.0",
    ),
    Rule(
        "controlled_shutdown_requested",
        SERVER,
        text="Starting controlled shutdown",
        sample="[KafkaServer id=4] Starting controlled shutdown",
        reads={"broker_id": 4},
        since="0.8.0",
    ),
    Rule(
        "controlled_shutdown_succeeded",
        SERVER,
        text="Controlled shutdown succeeded",
        sample="[KafkaServer id=4] Controlled shutdown succeeded",
        reads={"broker_id": 4},
        since="0.8.0",
        until="3.0.2",
    ),
    Rule(
        "controlled_shutdown_succeeded",
        SERVER,
        text="Controlled shutdown request returned successfully after <elapsed_ms:int>ms",
        sample="[KafkaServer id=4] Controlled shutdown request returned successfully after 36ms",
        reads={"broker_id": 4, "elapsed_ms": "36"},
        since="3.1.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_incomplete",
        SERVER,
        text="Remaining partitions to move<? during controlled shutdown?>: <partitions>",
        sample=(
            "[KafkaServer id=4] Remaining partitions to move: [RemainingPartition(topicName='pay-in', "
            "partitionIndex=3)]"
        ),
        reads={"broker_id": 4, "partitions": [{"topic": "pay-in", "partition": 3}]},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_incomplete",
        SERVER,
        text=(
            "Controlled shutdown request returned after <elapsed_ms:int>ms with <remaining_count:int> partitions "
            "remaining to move"
        ),
        sample=(
            "[KafkaServer id=4] Controlled shutdown request returned after 36ms with 23 partitions remaining to move"
        ),
        reads={"broker_id": 4, "elapsed_ms": "36", "remaining_count": "23"},
        since="3.1.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_error",
        SERVER,
        text="Error <?code from controller: <error_code:int>?><?from controller: <error:word>?>",
        sample="[KafkaServer id=4] Error from controller: STALE_CONTROLLER_EPOCH",
        reads={"broker_id": 4, "error": "STALE_CONTROLLER_EPOCH"},
        since="0.8.0",
        until="3.0.2",
    ),
    Rule(
        "controlled_shutdown_error",
        SERVER,
        text="Controlled shutdown request returned after <elapsed_ms:int>ms with error <error:word>",
        sample=("[KafkaServer id=4] Controlled shutdown request returned after 36ms with error STALE_CONTROLLER_EPOCH"),
        reads={"broker_id": 4, "elapsed_ms": "36", "error": "STALE_CONTROLLER_EPOCH"},
        since="3.1.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_retry",
        SERVER,
        text=(
            "Retrying controlled shutdown <?after the previous attempt failed...?><?(<retries_remaining:int> "
            "retries remaining)?>"
        ),
        sample="[KafkaServer id=4] Retrying controlled shutdown (23 retries remaining)",
        reads={"broker_id": 4, "retries_remaining": "23"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_io_error",
        SERVER,
        text=(
            "Error during controlled shutdown, possibly because leader movement took longer than the configured "
            "<?controller.?>socket.timeout.ms<? and/or request.timeout.ms?>: <reason:rest>"
        ),
        sample=(
            "[KafkaServer id=4] Error during controlled shutdown, possibly because leader movement took longer "
            "than the configured controller.socket.timeout.ms and/or request.timeout.ms: Connection refused"
        ),
        reads={"broker_id": 4, "reason": "Connection refused"},
        since="0.8.2.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_gave_up",
        SERVER,
        text="Proceeding to do an unclean shutdown as all the controlled shutdown attempts failed",
        sample=(
            "[KafkaServer id=4] Proceeding to do an unclean shutdown as all the controlled shutdown attempts failed"
        ),
        reads={"broker_id": 4},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_no_controller",
        SERVER,
        text=(
            "Broker registration for controller <controller_id> is not available <?(i.e. the Controller's ZK "
            "session expired)?><?in the metadata cache?>"
        ),
        sample="[KafkaServer id=4] Broker registration for controller 1 is not available in the metadata cache",
        reads={"broker_id": 4, "controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_no_controller",
        SERVER,
        text="No <?zk ?>controller <?registered in ZooKeeper?><?present in the metadata cache?>",
        sample="[KafkaServer id=4] No zk controller present in the metadata cache",
        reads={"broker_id": 4},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_via_kraft",
        SERVER,
        text=(
            "ZkBroker currently has a KRaft controller. Controlled shutdown will be handled through broker "
            "life<? ?>cycle manager"
        ),
        sample=(
            "[KafkaServer id=4] ZkBroker currently has a KRaft controller. Controlled shutdown will be handled "
            "through broker lifecycle manager"
        ),
        reads={"broker_id": 4},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_via_kraft",
        SERVER,
        text="Notifying KRaft of controlled shutdown",
        sample="[KafkaServer id=4] Notifying KRaft of controlled shutdown",
        reads={"broker_id": 4},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_timeout",
        SERVER,
        text="Timed out waiting for the controller to approve controlled shutdown",
        sample="[BrokerServer id=4] Timed out waiting for the controller to approve controlled shutdown",
        reads={"broker_id": 4},
        since="2.8.0",
    ),
    Rule(
        "broker_status_changed",
        SERVER,
        text="Transition from <from_state> to <to_state>",
        sample="[BrokerServer id=4] Transition from STARTING to STARTED",
        reads={"broker_id": 4, "from_state": "STARTING", "to_state": "STARTED"},
        since="3.1.0",
    ),
    Rule(
        "broker_status_changed",
        LIFECYCLE,
        text=("The broker has <?caught up?><?been unfenced?>. " + TRANSITION),
        sample="[BrokerLifecycleManager id=4] The broker has been unfenced. Transitioning from RECOVERY to RUNNING.",
        reads={"broker_id": 4, "from_state": "RECOVERY", "to_state": "RUNNING"},
        since="2.8.0",
    ),
    Rule(
        "broker_status_changed",
        LIFECYCLE,
        text=TRANSITION,
        sample="[BrokerLifecycleManager id=4] Transitioning from RUNNING to SHUTTING_DOWN.",
        reads={"broker_id": 4, "from_state": "RUNNING", "to_state": "SHUTTING_DOWN"},
        since="2.8.0",
    ),
    Rule(
        "broker_incarnation_starting",
        LIFECYCLE,
        text="Incarnation <incarnation_id:uuid> of broker <broker> in cluster <cluster_id:text> is now STARTING.",
        sample=(
            "[BrokerLifecycleManager id=4] Incarnation h5K2vX8bQ0-3mJtR_wYz1A of broker 4 in cluster "
            "h5K2vX8bQ0-3mJtR_wYz1A is now STARTING."
        ),
        reads={
            "broker_id": 4,
            "incarnation_id": "h5K2vX8bQ0-3mJtR_wYz1A",
            "broker": "4",
            "cluster_id": "h5K2vX8bQ0-3mJtR_wYz1A",
        },
        since="2.8.0",
    ),
    Rule(
        "broker_registered_with_controller",
        LIFECYCLE,
        text="Successfully registered broker <broker> with broker epoch <broker_epoch:int>",
        sample="[BrokerLifecycleManager id=4] Successfully registered broker 4 with broker epoch 23",
        reads={"broker_id": 4, "broker": "4", "broker_epoch": "23"},
        since="2.8.0",
    ),
    Rule(
        "broker_registration_failed",
        LIFECYCLE,
        text=(
            "Unable to register broker <broker><? because the controller returned error <error:word>?><? because "
            "<reason:text>.?><?.?>"
        ),
        sample=(
            "[BrokerLifecycleManager id=4] Unable to register broker 4 because the controller returned error "
            "DUPLICATE_BROKER_REGISTRATION"
        ),
        reads={"broker_id": 4, "broker": "4", "error": "DUPLICATE_BROKER_REGISTRATION"},
        since="2.8.0",
    ),
    Rule(
        "broker_registration_failed",
        LIFECYCLE,
        text="Unable to register the broker because <reason:text>.",
        sample=(
            "[BrokerLifecycleManager id=4] Unable to register the broker because the RPC got timed out before it "
            "could be sent."
        ),
        reads={"broker_id": 4, "reason": "the RPC got timed out before it could be sent"},
        since="2.8.0",
    ),
    Rule(
        "broker_registration_failed",
        LIFECYCLE,
        text="Shutting down because we were unable to register with the controller quorum.",
        sample=(
            "[BrokerLifecycleManager id=4] Shutting down because we were unable to register with the controller quorum."
        ),
        reads={"broker_id": 4},
        since="2.8.0",
    ),
    Rule(
        "broker_recovering",
        LIFECYCLE,
        text="The broker is in RECOVERY.",
        sample="[BrokerLifecycleManager id=4] The broker is in RECOVERY.",
        reads={"broker_id": 4},
        since="2.8.0",
    ),
    Rule(
        "controlled_shutdown_skipped",
        LIFECYCLE,
        text="Skipping controlled shutdown because we are in state <state:word>.",
        sample="[BrokerLifecycleManager id=4] Skipping controlled shutdown because we are in state STARTING.",
        reads={"broker_id": 4, "state": "STARTING"},
        since="2.8.0",
    ),
    Rule(
        "controlled_shutdown_requested",
        LIFECYCLE,
        text="Beginning controlled shutdown.",
        sample="[BrokerLifecycleManager id=4] Beginning controlled shutdown.",
        reads={"broker_id": 4},
        since="2.8.0",
    ),
    Rule(
        "controlled_shutdown_requested",
        LIFECYCLE,
        text="Attempted to enter pending controlled shutdown state, but we are already in that state.",
        sample=(
            "[BrokerLifecycleManager id=4] Attempted to enter pending controlled shutdown state, but we are "
            "already in that state."
        ),
        reads={"broker_id": 4},
        since="2.8.0",
    ),
    Rule(
        "controlled_shutdown_waiting",
        LIFECYCLE,
        text="The broker is in PENDING_CONTROLLED_SHUTDOWN state, still waiting for the active controller.",
        sample=(
            "[BrokerLifecycleManager id=4] The broker is in PENDING_CONTROLLED_SHUTDOWN state, still waiting for "
            "the active controller."
        ),
        reads={"broker_id": 4},
        since="2.8.0",
    ),
    Rule(
        "controlled_shutdown_approved",
        LIFECYCLE,
        text="The controll<?ed?><?er?> has asked us to exit controlled shutdown.",
        sample="[BrokerLifecycleManager id=4] The controller has asked us to exit controlled shutdown.",
        reads={"broker_id": 4},
        since="2.8.0",
    ),
    Rule(
        "broker_heartbeat_ignored",
        LIFECYCLE,
        text="The broker is SHUTTING_DOWN. Ignoring heartbeat response.",
        sample="[BrokerLifecycleManager id=4] The broker is SHUTTING_DOWN. Ignoring heartbeat response.",
        reads={"broker_id": 4},
        since="2.8.0",
    ),
    Rule(
        "broker_heartbeat_failed",
        LIFECYCLE,
        text="Broker <broker> sent a heartbeat request but received error <error:word>.",
        sample="[BrokerLifecycleManager id=4] Broker 4 sent a heartbeat request but received error NOT_CONTROLLER.",
        reads={"broker_id": 4, "broker": "4", "error": "NOT_CONTROLLER"},
        since="2.8.0",
    ),
    Rule(
        "broker_heartbeat_failed",
        LIFECYCLE,
        text="Unable to send broker heartbeat for <broker><? because <reason:text>?>.<? Retrying.?>",
        sample=(
            "[BrokerLifecycleManager id=4] Unable to send broker heartbeat for 4 because of an authentication "
            "exception."
        ),
        reads={"broker_id": 4, "broker": "4", "reason": "of an authentication exception"},
        since="2.8.0",
    ),
    Rule(
        "broker_heartbeat_failed",
        LIFECYCLE,
        text="Unable to send a heartbeat because <reason:text>.",
        sample=(
            "[BrokerLifecycleManager id=4] Unable to send a heartbeat because the RPC got timed out before it "
            "could be sent."
        ),
        reads={"broker_id": 4, "reason": "the RPC got timed out before it could be sent"},
        since="2.8.0",
    ),
    Rule(
        "log_dir_failure_broker_halt",
        LIFECYCLE,
        text="Shutting down because couldn't communicate offline log dir<?s?> <directory_id:text> with controllers",
        sample=(
            "[BrokerLifecycleManager id=4] Shutting down because couldn't communicate offline log dir "
            "h5K2vX8bQ0-3mJtR_wYz1A with controllers"
        ),
        reads={"broker_id": 4, "directory_id": "h5K2vX8bQ0-3mJtR_wYz1A"},
        since="3.8.0",
    ),
    Rule(
        "broker_zk_session_reestablished",
        HEALTH_CHECK,
        text="Re-registering broker info in ZK for broker <broker>",
        sample="Re-registering broker info in ZK for broker 4",
        reads={"broker": "4"},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "broker_zk_reregistered",
        HEALTH_CHECK,
        text="Done re-registering broker",
        sample="Done re-registering broker",
        reads={},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "zk_session_connecting",
        SESSION,
        text="Initializing a new session to <servers:text>.",
        sample="[ZooKeeperClient Kafka server] Initializing a new session to zk1:2181,zk2:2181.",
        reads={"servers": "zk1:2181,zk2:2181"},
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_connected",
        SESSION,
        text="Connected.",
        sample="[ZooKeeperClient Kafka server] Connected.",
        reads={},
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_expired",
        SESSION,
        text="Session expired.",
        sample="[ZooKeeperClient Kafka server] Session expired.",
        reads={},
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_state_changed",
        OLD_SESSION,
        text="Zookeeper state changed (<state:word>)",
        sample="Zookeeper state changed (Expired)",
        reads={"state": "Expired"},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "kafka_version",
        APP_INFO,
        text="Kafka version<? ?>: <kafka_version:rest>",
        sample="Kafka version: 3.5.1",
        reads={"kafka_version": "3.5.1"},
        since="0.9.0.0",
    ),
)
