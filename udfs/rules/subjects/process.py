"""Selected rules of a node as a process: how it starts and ends, its directories, its session with ZooKeeper.

They tell why a broker left and how it came back: a signal, a fatal error, a session that timed out, logs that were not
closed. Requests of the controller that failed on a broker, topics that clients created, and the topic configuration
that elections depend on are here too. What else these loggers write is out of scope.
"""

from __future__ import annotations

from udfs.rules.rule import Rule

SERVERS = (
    "kafka.server.BrokerServer",
    "kafka.server.ControllerServer",
    "kafka.server.KafkaServer",
    "kafka.server.KafkaServerStartable",
    "kafka.server.KafkaRaftServer",
)
CONTROLLER = ("kafka.server.ControllerServer",)
BROKER = ("kafka.server.BrokerServer",)
MAIN = ("kafka.Kafka$",)
HALTING = (
    "kafka.server.ReplicaManager",
    "kafka.log.LogManager",
    "kafka.server.HighwaterMarkCheckpoint",
    "kafka.server.KafkaApis",
)
SIGNALS = ("kafka.Kafka$", "kafka.utils.LoggingSignalHandler", "org.apache.kafka.common.utils.LoggingSignalHandler")
LOG_MANAGER = ("kafka.log.LogManager",)
REPLICA = ("kafka.cluster.Replica",)
APIS = ("kafka.server.KafkaApis", "kafka.server.RequestHandlerHelper")
REGISTRATION = ("kafka.server.ControllerRegistrationManager",)
CHANNEL = (
    "kafka.server.BrokerToControllerRequestThread",
    "kafka.server.NodeToControllerRequestThread",
)
SESSION = ("kafka.zookeeper.ZooKeeperClient", "kafka.zookeeper.ZooKeeperClient$", "kafka.controller.ZookeeperClient")
ZK_CONNECTION = ("org.apache.zookeeper.ClientCnxn",)

CONFIG = ("kafka.server.KafkaConfig", "org.apache.kafka.common.config.AbstractConfig")
CONFIG_MANAGER = (
    "kafka.server.DynamicConfigManager",
    "kafka.server.DynamicConfigManager$",
    "kafka.server.DynamicConfigManager$ConfigChangedNotificationHandler$",
    "kafka.server.ZkConfigManager",
    "kafka.server.ZkConfigManager$",
    "kafka.server.ZkConfigManager$ConfigChangedNotificationHandler$",
)

RULES: tuple[Rule, ...] = (
    Rule(
        "controller_server_starting",
        CONTROLLER,
        text="Starting controller",
        sample="[ControllerServer id=101] Starting controller",
        reads={"node": 101},
        since="2.8.0",
    ),
    Rule(
        "controller_server_stopping",
        CONTROLLER,
        text="Shutting down",
        sample="[ControllerServer id=101] shutting down",
        reads={"node": 101},
        since="2.8.0",
    ),
    Rule(
        "controller_registration_persisted",
        REGISTRATION,
        text="Our registration has been persisted to the metadata log.",
        sample="[ControllerRegistrationManager id=101 incarnation=h5K2vX8bQ0-3mJtR_wYz1A] Our registration has been persisted to the metadata log.",
        reads={"node": 101},
        since="3.7.0",
    ),
    Rule(
        "controller_registration_missing",
        REGISTRATION,
        text="<?Found registration for <incarnation_id:id> instead of our incarnation.?><?Registration removed for this node ID.?>",
        sample="[ControllerRegistrationManager id=101 incarnation=h5K2vX8bQ0-3mJtR_wYz1A] Found registration for q1WeRtYuIo-pAsDfGhJk_L instead of our incarnation.",
        reads={"node": 101, "incarnation_id": "q1WeRtYuIo-pAsDfGhJk_L"},
        since="3.7.0",
    ),
    Rule(
        "controller_registration_answered",
        REGISTRATION,
        text="RegistrationResponseHandler: controller <?acknowledged ControllerRegistrationRequest.?><?returned error <error:word> (<reason:text>)?>",
        sample="[ControllerRegistrationManager id=101 incarnation=h5K2vX8bQ0-3mJtR_wYz1A] RegistrationResponseHandler: controller returned error STALE (x)",
        reads={"node": 101, "error": "STALE", "reason": "x"},
        since="3.7.0",
    ),
    Rule(
        "kraft_server_started",
        ("kafka.server.KafkaRaftServer",),
        text="Kafka Server started",
        sample="[KafkaRaftServer nodeId=4] Kafka Server started",
        reads={"node": 4},
        since="2.8.0",
    ),
    Rule(
        "server_start_failed",
        SERVERS,
        text="Fatal error during <server:name> startup. Prepare to shutdown",
        sample="[KafkaServer id=4] Fatal error during KafkaServer startup. Prepare to shutdown",
        reads={"broker_id": 4, "server": "KafkaServer"},
        since="0.8.0",
    ),
    Rule(
        "server_stop_failed",
        SERVERS,
        text="Fatal error during <server:name> shutdown.<? Prepare to halt?>",
        sample="[KafkaServer id=4] Fatal error during KafkaServer shutdown.",
        reads={"broker_id": 4, "server": "KafkaServer"},
        since="0.8.2.0",
    ),
    Rule(
        "server_start_failed",
        ("kafka.server.SharedServer",),
        text="Got exception while starting <server:name>",
        sample="[SharedServer id=4] Got exception while starting SharedServer",
        reads={"broker_id": 4, "server": "SharedServer"},
        since="3.3.0",
    ),
    Rule(
        "process_exiting",
        MAIN,
        text="Exiting Kafka due to fatal exception<? during startup.?>",
        sample="Exiting Kafka due to fatal exception during startup.",
        reads={},
        since="1.1.0",
    ),
    Rule(
        "process_signalled",
        SIGNALS,
        text="Terminating process due to signal <signal:word>",
        sample="Terminating process due to signal SIGTERM",
        reads={"signal": "SIGTERM"},
        since="1.0.0",
    ),
    Rule(
        "process_halting",
        HALTING,
        text="Halting due to unrecoverable I/O error while <doing:text>: <reason:text>",
        sample="[Replica Manager on Broker 4]: Halting due to unrecoverable I/O error while handling produce request: ",
        reads={"broker_id": 4, "doing": "handling produce request", "reason": ""},
        since="0.8.0",
        until="0.11.0.3",
    ),
    Rule(
        "process_halting",
        ("kafka.server.ReplicaFetcherThread",),
        text="Disk error while replicating data<? for <tp>?><?.?>",
        sample="[ReplicaFetcherThread-0-5], Disk error while replicating data for pay-in-3",
        reads={"topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="0.11.0.3",
    ),
    Rule(
        "process_halting",
        ("kafka.server.OffsetCheckpoint", "kafka.server.checkpoints.CheckpointFile"),
        text=(
            "Halting writes to <?offset ?>checkpoint file <?(<file:text>) ?>because the underlying file system is "
            "inaccessible<? ?>:<? ?>"
        ),
        sample="Halting writes to offset checkpoint file because the underlying file system is inaccessible : ",
        reads={},
        since="0.10.0.0",
        until="0.11.0.3",
    ),
    Rule(
        "broker_catch_up_awaited",
        BROKER,
        text="Waiting for the controller to acknowledge that we are caught up",
        sample="[BrokerServer id=4] Waiting for the controller to acknowledge that we are caught up",
        reads={"broker_id": 4},
        since="3.5.0",
    ),
    Rule(
        "broker_caught_up",
        BROKER,
        text="Finished waiting for the controller to acknowledge that we are caught up",
        sample="[BrokerServer id=4] Finished waiting for the controller to acknowledge that we are caught up",
        reads={"broker_id": 4},
        since="3.5.0",
    ),
    Rule(
        "broker_unfencing_awaited",
        BROKER,
        text="Waiting for the broker to be unfenced",
        sample="[BrokerServer id=4] Waiting for the broker to be unfenced",
        reads={"broker_id": 4},
        since="3.3.0",
    ),
    Rule(
        "broker_unfenced_at_start",
        BROKER,
        text="Finished waiting for the broker to be unfenced",
        sample="[BrokerServer id=4] Finished waiting for the broker to be unfenced",
        reads={"broker_id": 4},
        since="3.3.0",
    ),
    Rule(
        "broker_start_wait_failed",
        SERVERS,
        text="Received a fatal error while waiting for <awaited:rest>",
        sample="[BrokerServer id=4] Received a fatal error while waiting for the broker to be unfenced",
        reads={"broker_id": 4, "awaited": "the broker to be unfenced"},
        since="3.3.0",
    ),
    Rule(
        "controller_recorded",
        CHANNEL,
        text=(
            "Recorded new <?<controller_type:controller_type> ?>controller, from now on will use <?broker?><?node?> "
            "<node:controller_node>"
        ),
        sample=(
            "[broker-4-to-controller-heartbeat-channel-manager]: Recorded new KRaft controller, from now on will use "
            "node node101.example.org:9093 (id: 101 rack: null isFenced: false)"
        ),
        reads={
            "broker_id": 4,
            "controller_type": "KRaft",
            "new_controller_id": "101",
            "new_controller": "node101.example.org:9093 (id: 101 rack: null isFenced: false)",
        },
        since="2.7.0",
    ),
    Rule(
        "control_request_failed",
        APIS,
        text="Error when handling request <request:printed_control_request>",
        sample=(
            "[KafkaApi-4] error when handling request Name:UpdateMetadataRequest;Version:1;Controller:2;"
            "ControllerEpoch:8;CorrelationId:27;ClientId:2;AliveBrokers:4 : (EndPoint(k4.pay,9092,PLAINTEXT));"
            "PartitionState:[pay-in,3] -> (LeaderAndIsrInfo:(Leader:5,ISR:5,4,LeaderEpoch:12,ControllerEpoch:7),"
            "ReplicationFactor:3),AllReplicas:4,5,6)"
        ),
        reads={
            "broker_id": 4,
            "api": "UPDATE_METADATA",
            "controller_id": 2,
            "controller_epoch": 8,
            "correlation_id": 27,
            "partitions": [
                {
                    "topic": "pay-in",
                    "partition": 3,
                    "leader": 5,
                    "leader_epoch": 12,
                    "controller_epoch": 7,
                    "isr": [5, 4],
                    "replicas": [4, 5, 6],
                }
            ],
        },
        since="0.8.0",
        until="2.0.1",
    ),
    Rule(
        "control_request_failed",
        APIS,
        text=(
            "Error when handling request: clientId=<_:text>, correlationId=<correlation_id>, "
            "api=<api:control_api>, <_:rest>"
        ),
        sample="[KafkaApi-4] Error when handling request: clientId=2, correlationId=27, api=LEADER_AND_ISR, version=4, "
        "body={controller_id=2,controller_epoch=8}",
        reads={"broker_id": 4, "correlation_id": 27, "api": "LEADER_AND_ISR"},
        since="2.1.0",
        until="2.8.2",
    ),
    Rule(
        "control_request_failed",
        APIS,
        text=(
            "Unexpected error handling request RequestHeader(apiKey=<api:control_api>, apiVersion=<_:int>, "
            "clientId=<_:text>, correlationId=<correlation_id><_:rest>"
        ),
        sample=(
            "[KafkaApi-4] Unexpected error handling request RequestHeader(apiKey=LEADER_AND_ISR, apiVersion=5, "
            "clientId=2, correlationId=27) -- LeaderAndIsrRequestData(controllerId=2) with context RequestContext()"
        ),
        reads={"broker_id": 4, "correlation_id": 27, "api": "LEADER_AND_ISR"},
        since="3.0.0",
        until="3.9.2",
    ),
    Rule(
        "topic_auto_created",
        APIS,
        text=(
            "Auto creation of topic <topic> with <partition_count:int> partitions and replication factor "
            "<replication_factor:int> is successful<?!?>"
        ),
        sample=("[KafkaApi-4] Auto creation of topic pay-in with 6 partitions and replication factor 3 is successful"),
        reads={"broker_id": 4, "topic": "pay-in", "partition_count": "6", "replication_factor": "3"},
        since="0.8.0",
        until="2.7.2",
    ),
    Rule(
        "topic_auto_creation_requested",
        ("kafka.server.DefaultAutoTopicCreationManager",),
        text="Sent auto-creation request for <?Hash?><?Mutable?>Set(<topics:text>) to the active controller.",
        sample="Sent auto-creation request for Set(pay-in) to the active controller.",
        reads={"topics": "pay-in"},
        since="2.8.0",
    ),
    Rule(
        "topic_config_changed",
        CONFIG_MANAGER,
        text="Processing override for entityPath: topics/<topic> with config: <config:rest>",
        sample="Processing override for entityPath: topics/pay-in with config: HashMap(min.insync.replicas -> 2)",
        reads={"topic": "pay-in", "config": "HashMap(min.insync.replicas -> 2)"},
        since="0.10.1.0",
        until="3.9.2",
    ),
    Rule(
        "broker_config_changed",
        CONFIG_MANAGER,
        text="Processing override for entityPath: brokers/<entity:word> with config: <config:rest>",
        sample=(
            "Processing override for entityPath: brokers/4 with config: "
            "Map(leader.replication.throttled.rate -> 1000000)"
        ),
        reads={"entity": "4", "config": "Map(leader.replication.throttled.rate -> 1000000)"},
        since="0.10.1.0",
        until="3.9.2",
    ),
    Rule(
        "kafka_config_printed",
        CONFIG,
        text="KafkaConfig values:",
        sample="KafkaConfig values:",
        reads={},
        since="0.9.0.0",
    ),
    Rule(
        "topic_config_changed",
        ("kafka.server.ZkAdminManager",),
        text="Updating topic <topic> with new configuration : <config:rest>",
        sample="[Admin Manager on Broker 4]: Updating topic pay-in with new configuration : min.insync.replicas -> 2",
        reads={"broker_id": 4, "topic": "pay-in", "config": "min.insync.replicas -> 2"},
        since="2.8.0",
        until="3.9.2",
    ),
    Rule(
        "scheduled_task_failed",
        ("kafka.utils.KafkaScheduler", "org.apache.kafka.server.util.KafkaScheduler"),
        text="Uncaught exception in scheduled task '<task:isr_task>'",
        sample="Uncaught exception in scheduled task 'isr-expiration'",
        reads={"task": "isr-expiration"},
        since="0.8.2.0",
    ),
    Rule(
        "replica_log_loaded",
        REPLICA,
        text="Replica loaded for partition <tp> with initial high watermark <high_watermark>",
        sample="Replica loaded for partition pay-in-3 with initial high watermark 880",
        reads={"topic": "pay-in", "partition": 3, "high_watermark": "880"},
        since="0.11.0.1",
        until="2.3.1",
    ),
    Rule(
        "replica_deletion_scheduled",
        LOG_MANAGER,
        text="Log for partition <tp> is renamed to <dir:text> and is scheduled for deletion",
        sample=(
            "Log for partition pay-in-3 is renamed to /srv/kafka/a/pay-in-3.49c004f8529d4268b0da81c79d66db4d-delete "
            "and is scheduled for deletion"
        ),
        reads={
            "topic": "pay-in",
            "partition": 3,
            "dir": "/srv/kafka/a/pay-in-3.49c004f8529d4268b0da81c79d66db4d-delete",
        },
        since="0.10.2.0",
    ),
    Rule(
        "log_dir_created",
        LOG_MANAGER,
        text="Log directory <?'?><log_dir:text><?'?> not found, creating it.",
        sample="Log directory /srv/kafka/a not found, creating it.",
        reads={"log_dir": "/srv/kafka/a"},
        since="0.8.0",
    ),
    Rule(
        "unclean_shutdown_found",
        LOG_MANAGER,
        text="Attempting recovery for all logs in <log_dir:text> since no clean shutdown file was found",
        sample="Attempting recovery for all logs in /srv/kafka/a since no clean shutdown file was found",
        reads={"log_dir": "/srv/kafka/a"},
        since="2.6.0",
        until="3.4.1",
    ),
    Rule(
        "unclean_shutdown_found",
        LOG_MANAGER,
        text="Recovering <log_count:int> logs from <log_dir:text> since no clean shutdown file was found",
        sample="Recovering 12 logs from /srv/kafka/a since no clean shutdown file was found",
        reads={"log_count": "12", "log_dir": "/srv/kafka/a"},
        since="3.5.0",
    ),
    Rule(
        "clean_shutdown_found",
        LOG_MANAGER,
        text="Skipping recovery for all logs in <log_dir:text> since clean shutdown file was found",
        sample="Skipping recovery for all logs in /srv/kafka/a since clean shutdown file was found",
        reads={"log_dir": "/srv/kafka/a"},
        since="2.6.0",
        until="3.4.1",
    ),
    Rule(
        "clean_shutdown_found",
        LOG_MANAGER,
        text="Skipping recovery of <log_count:int> logs from <log_dir:text> since clean shutdown file was found",
        sample="Skipping recovery of 12 logs from /srv/kafka/a since clean shutdown file was found",
        reads={"log_count": "12", "log_dir": "/srv/kafka/a"},
        since="3.5.0",
    ),
    Rule(
        "clean_shutdown_found",
        LOG_MANAGER,
        text="Found clean shutdown file. Skipping recovery for all logs in data directory: <log_dir:text>",
        sample="Found clean shutdown file. Skipping recovery for all logs in data directory: /srv/kafka/a",
        reads={"log_dir": "/srv/kafka/a"},
        since="0.8.1",
        until="2.5.1",
    ),
    Rule(
        "zk_session_awaited",
        SESSION,
        text="Waiting until connected.",
        sample="[ZooKeeperClient Kafka server] Waiting until connected.",
        reads={},
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_awaited",
        ("org.I0Itec.zkclient.ZkClient",),
        text="Waiting for keeper state <state:word>",
        sample="Waiting for keeper state SyncConnected",
        reads={"state": "SyncConnected"},
        since="0.8.2.0",
        until="1.0.2",
    ),
    Rule(
        "zk_session_closing",
        SESSION,
        text="Closing.",
        sample="[ZooKeeperClient Kafka server] Closing.",
        reads={},
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_closed",
        SESSION,
        text="Closed.",
        sample="[ZooKeeperClient Kafka server] Closed.",
        reads={},
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_auth_failed",
        SESSION,
        text="Auth failed<?.?><?, initialized=<initialized:word> connectionState=<state:word>?>",
        sample="[ZooKeeperClient Kafka server] Auth failed, initialized=true connectionState=CONNECTED",
        reads={"initialized": "true", "state": "CONNECTED"},
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_event",
        SESSION,
        text="Received event: <event:rest>",
        sample="[ZooKeeperClient Kafka server] Received event: WatchedEvent state:Expired type:None path:null",
        reads={"event": "WatchedEvent state:Expired type:None path:null"},
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_timed_out",
        SESSION,
        text=(
            "<?Timed out waiting for connection during session initialization while in state: <state:word>?>"
            "<?Error when recreating ZooKeeper, retrying after a short sleep?>"
        ),
        sample=(
            "[ZooKeeperClient Kafka server] Timed out waiting for connection during session initialization while in "
            "state: CONNECTING"
        ),
        reads={"state": "CONNECTING"},
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_established",
        ZK_CONNECTION,
        text=(
            "Session establishment complete on server <server:text>, session<? ?>id = <session_id:word>, "
            "negotiated timeout = <timeout_ms:int>"
        ),
        sample=(
            "Session establishment complete on server zk1/10.0.0.1:2181, sessionid = 0x163ee1b9d10007d, "
            "negotiated timeout = 6000"
        ),
        reads={"server": "zk1/10.0.0.1:2181", "session_id": "0x163ee1b9d10007d", "timeout_ms": "6000"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_timed_out",
        ZK_CONNECTION,
        text=(
            "Client session timed out, have not heard from server in <silent_ms:int>ms for session<? ?>id "
            "<session_id:word><?, closing socket connection and attempting reconnect?>"
        ),
        sample=(
            "Client session timed out, have not heard from server in 4003ms for sessionid 0x163ee1b9d10007d, "
            "closing socket connection and attempting reconnect"
        ),
        reads={"silent_ms": "4003", "session_id": "0x163ee1b9d10007d"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_expired",
        ZK_CONNECTION,
        text=(
            "Unable to reconnect to ZooKeeper service, session <session_id:word> has expired"
            "<?, closing socket connection?>"
        ),
        sample="Unable to reconnect to ZooKeeper service, session 0x163ee1b9d10007d has expired",
        reads={"session_id": "0x163ee1b9d10007d"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_disconnected",
        ZK_CONNECTION,
        text=(
            "Unable to read additional data from server session<? ?>id <session_id:word>, likely server has closed "
            "socket<?, closing socket connection and attempting reconnect?>"
        ),
        sample=(
            "Unable to read additional data from server sessionid 0x163ee1b9d10007d, likely server has closed socket, "
            "closing socket connection and attempting reconnect"
        ),
        reads={"session_id": "0x163ee1b9d10007d"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_disconnected",
        ZK_CONNECTION,
        text=(
            "Session <session_id:word> for server <server:text>, <?unexpected error, closing socket connection and "
            "attempting reconnect?><?Closing socket connection. Attempting reconnect except it is a "
            "SessionExpiredException.?>"
        ),
        sample=(
            "Session 0x163ee1b9d10007d for server zk1/10.0.0.1:2181, unexpected error, closing socket connection and "
            "attempting reconnect"
        ),
        reads={"session_id": "0x163ee1b9d10007d", "server": "zk1/10.0.0.1:2181"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_ended",
        ZK_CONNECTION,
        text="EventThread shut down for session: <session_id:word>",
        sample="EventThread shut down for session: 0x163ee1b9d10007d",
        reads={"session_id": "0x163ee1b9d10007d"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "zk_session_ended",
        ("org.apache.zookeeper.ZooKeeper",),
        text="Session: <session_id:word> closed",
        sample="Session: 0x163ee1b9d10007d closed",
        reads={"session_id": "0x163ee1b9d10007d"},
        since="0.8.0",
        until="3.9.2",
    ),
)
