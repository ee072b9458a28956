"""Rules of `kafka.controller.*`: the ZooKeeper controller, up to 3.9.

One tuple of loggers for all: classes were split, nested and renamed, the texts stayed.
"""

from __future__ import annotations

from udfs.rules.rule import Rule

CONTROLLER = ("kafka.controller", "kafka.controller.")
# what ZooKeeper holds of a partition, 1.1.0 on
LEADER_AND_ISR = (
    "LeaderAndIsr(leader=<leader>, leaderEpoch=<leader_epoch>, isr<?WithBrokerEpoch?>=<isr:list>, "
    "<?leaderRecoveryState=<leader_recovery_state:word>, "
    "?><?zkVersion?><?partitionEpoch?>=<partition_epoch>)"
)
# the same with the epoch of the controller that decided it, up to 1.0
LEADER_ISR_EPOCH = (
    "(Leader:<leader>,ISR:<isr:csv>,LeaderEpoch:<leader_epoch>,ControllerEpoch:<state_controller_epoch:int>)"
)
# a broker: `4`, `id:4,host:h,port:9092`, `Node(4, h, 9092)`, `h:9092 (id: 4 rack: null)`
NODE = "<?Node(?><?id:?><?<_:text> (id: ?><target_broker:int><?,host:<_:text>?><?, <_:text>)?><? rack: <_:text>)?>"
# a broker's request after its restart
STALE_EPOCH = (
    " due to stale broker epoch <broker_epoch:int><? and local broker epoch "
    "<?None?><?Some(<current_broker_epoch:int>)?>?> for broker <broker>"
)

RULES: tuple[Rule, ...] = (
    Rule(
        "controller_starting",
        CONTROLLER,
        text="Controller starting up",
        sample="[Controller 1]: Controller starting up",
        reads={"controller_id": 1},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "controller_started",
        CONTROLLER,
        text="Controller startup complete",
        sample="[Controller 1]: Controller startup complete",
        reads={"controller_id": 1},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "controller_stopped",
        CONTROLLER,
        text="Controller shutdown complete",
        sample="[Controller 1]: Controller shutdown complete",
        reads={"controller_id": 1},
        since="0.8.0",
        until="0.8.1.1",
    ),
    Rule(
        "controller_elected",
        CONTROLLER,
        text=(
            "<controller_id> successfully elected as the controller<?. Epoch incremented to <controller_epoch> "
            "and epoch zk version is now <epoch_zk_version:int>?>"
        ),
        sample=(
            "[Controller id=1] 1 successfully elected as the controller. Epoch incremented to 8 and epoch zk "
            "version is now 23"
        ),
        reads={"controller_id": 1, "controller_epoch": 8, "epoch_zk_version": "23"},
        since="0.11.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_election_lost",
        CONTROLLER,
        text="Broker <new_controller_id:int> has been elected as the controller, so stopping the election process.",
        sample="[Controller id=1] Broker 2 has been elected as the controller, so stopping the election process.",
        reads={"controller_id": 1, "new_controller_id": "2"},
        since="0.11.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_election_lost",
        CONTROLLER,
        text="Broker <new_controller_id:int> was elected as controller instead of broker <_:int>",
        sample="[Controller id=1] Broker 2 was elected as controller instead of broker 1",
        reads={"controller_id": 1, "new_controller_id": "2"},
        since="0.11.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_election_raced",
        CONTROLLER,
        text="A controller has been elected but just resigned, this will result in another round of election",
        sample=(
            "[Controller id=1] A controller has been elected but just resigned, this will result in another "
            "round of election"
        ),
        reads={"controller_id": 1},
        since="0.11.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_election_failed",
        CONTROLLER,
        text=(
            "Error while electing or becoming controller on broker <controller_id><?. Trigger controller "
            "movement immediately?>"
        ),
        sample=(
            "[Controller id=1] Error while electing or becoming controller on broker 1. Trigger controller "
            "movement immediately"
        ),
        reads={"controller_id": 1},
        since="0.11.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_move_already_happened",
        CONTROLLER,
        text="Controller has already moved when trying to trigger controller movement",
        sample="[Controller id=1] Controller has already moved when trying to trigger controller movement",
        reads={"controller_id": 1},
        since="2.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_info_legacy_format",
        CONTROLLER,
        text=(
            "Failed to parse the controller info as json. Probably this controller is still using the old format "
            "[<controller_id>] to store the broker id in zookeeper"
        ),
        sample=(
            "Failed to parse the controller info as json. Probably this controller is still using the old format "
            "[1] to store the broker id in zookeeper"
        ),
        reads={"controller_id": 1},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "controller_failover_started",
        CONTROLLER,
        text="Broker <_:int> starting become controller state transition",
        sample="[Controller 1]: Broker 1 starting become controller state transition",
        reads={"controller_id": 1},
        since="0.8.0",
        until="0.11.0.3",
    ),
    Rule(
        "controller_failover_started",
        CONTROLLER,
        text="Starting become controller state transition",
        sample="[Controller id=1] Starting become controller state transition",
        reads={"controller_id": 1},
        since="1.0.0",
        until="1.0.2",
    ),
    Rule(
        "controller_failover_started",
        CONTROLLER,
        text="Reading controller epoch from ZooKeeper",
        sample="[Controller id=1] Reading controller epoch from ZooKeeper",
        reads={"controller_id": 1},
        since="1.1.0",
        until="2.0.1",
    ),
    Rule(
        "controller_failover_aborted",
        CONTROLLER,
        text="Controller has been shut down, aborting startup/failover",
        sample="[Controller 1]: Controller has been shut down, aborting startup/failover",
        reads={"controller_id": 1},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "controller_failover_step",
        CONTROLLER,
        text="Incrementing controller epoch in ZooKeeper",
        sample="[Controller id=1] Incrementing controller epoch in ZooKeeper",
        reads={"controller_id": 1},
        since="1.1.0",
        until="2.0.1",
    ),
    Rule(
        "controller_failover_step",
        CONTROLLER,
        text="Initializing partition state",
        sample="[PartitionStateMachine controllerId=1] Initializing partition state",
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_failover_step",
        CONTROLLER,
        text="Triggering online partition state changes",
        sample="[PartitionStateMachine controllerId=1] Triggering online partition state changes",
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_failover_step",
        CONTROLLER,
        text="Initializing replica state",
        sample="[ReplicaStateMachine controllerId=1] Initializing replica state",
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_failover_step",
        CONTROLLER,
        text="Triggering online replica state changes",
        sample="[ReplicaStateMachine controllerId=1] Triggering online replica state changes",
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_failover_step",
        CONTROLLER,
        text="Triggering offline replica state changes",
        sample="[ReplicaStateMachine controllerId=1] Triggering offline replica state changes",
        reads={"controller_id": 1},
        since="2.3.0",
        until="3.9.2",
    ),
    Rule(
        "controller_failover_step",
        CONTROLLER,
        text="Registering handlers",
        sample="[Controller id=1] Registering handlers",
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_failover_step",
        CONTROLLER,
        text="Deleting log dir event notifications",
        sample="[Controller id=1] Deleting log dir event notifications",
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_failover_step",
        CONTROLLER,
        text="Deleting isr change notifications",
        sample="[Controller id=1] Deleting isr change notifications",
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_failover_step",
        CONTROLLER,
        text="Initializing controller context",
        sample="[Controller id=1] Initializing controller context",
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_failover_step",
        CONTROLLER,
        text="Fetching topic deletions in progress",
        sample="[Controller id=1] Fetching topic deletions in progress",
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_failover_step",
        CONTROLLER,
        text="Initializing topic deletion manager",
        sample="[Controller id=1] Initializing topic deletion manager",
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_failover_step",
        CONTROLLER,
        text="Sending update metadata request",
        sample="[Controller id=1] Sending update metadata request",
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_epoch_initialized",
        CONTROLLER,
        text="Initialized controller epoch to <controller_epoch> and zk version <epoch_zk_version:int>",
        sample="[Controller id=1] Initialized controller epoch to 8 and zk version 23",
        reads={"controller_id": 1, "controller_epoch": 8, "epoch_zk_version": "23"},
        since="0.8.0",
        until="2.0.1",
    ),
    Rule(
        "controller_epoch_listener_fired",
        CONTROLLER,
        text="Controller epoch listener fired with new epoch <controller_epoch>",
        sample="[ControllerEpochListener on 1]: Controller epoch listener fired with new epoch 8",
        reads={"controller_id": 1, "controller_epoch": 8},
        since="0.8.0",
        until="0.8.1.1",
    ),
    Rule(
        "controller_epoch_incremented",
        CONTROLLER,
        text="Controller <controller_id> incremented epoch to <controller_epoch>",
        sample="[Controller 1]: Controller 1 incremented epoch to 8",
        reads={"controller_id": 1, "controller_epoch": 8},
        since="0.8.0",
        until="0.11.0.3",
    ),
    Rule(
        "controller_epoch_incremented",
        CONTROLLER,
        text="Incremented epoch to <controller_epoch>",
        sample="[Controller id=1] Incremented epoch to 8",
        reads={"controller_id": 1, "controller_epoch": 8},
        since="1.0.0",
        until="1.0.2",
    ),
    Rule(
        "controller_epoch_incremented",
        CONTROLLER,
        text="Epoch incremented to <controller_epoch>",
        sample="[Controller id=1] Epoch incremented to 8",
        reads={"controller_id": 1, "controller_epoch": 8},
        since="1.1.0",
        until="2.0.1",
    ),
    Rule(
        "controller_epoch_increment_failed",
        CONTROLLER,
        text="Error while incrementing controller epoch",
        sample="[Controller id=1] Error while incrementing controller epoch",
        reads={"controller_id": 1},
        since="0.8.0",
        until="2.0.1",
    ),
    Rule(
        "controller_ready",
        CONTROLLER,
        text="Broker <_:int> is ready to serve as the new controller with epoch <controller_epoch>",
        sample="[Controller 1]: Broker 1 is ready to serve as the new controller with epoch 8",
        reads={"controller_id": 1, "controller_epoch": 8},
        since="0.8.0",
        until="0.11.0.3",
    ),
    Rule(
        "controller_ready",
        CONTROLLER,
        text="Ready to serve as the new controller with epoch <controller_epoch>",
        sample="[Controller id=1] Ready to serve as the new controller with epoch 8",
        reads={"controller_id": 1, "controller_epoch": 8},
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_resigning",
        CONTROLLER,
        text="Controller resigning, broker id <_:int>",
        sample="[Controller 1]: Controller resigning, broker id 1",
        reads={"controller_id": 1},
        since="0.9.0.0",
        until="0.11.0.3",
    ),
    Rule(
        "controller_resigning",
        CONTROLLER,
        text="Resigning",
        sample="[Controller id=1] Resigning",
        reads={"controller_id": 1},
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_resigned",
        CONTROLLER,
        text="Broker <_:int> resigned as the controller",
        sample="[Controller 1]: Broker 1 resigned as the controller",
        reads={"controller_id": 1},
        since="0.9.0.0",
        until="0.11.0.3",
    ),
    Rule(
        "controller_resigned",
        CONTROLLER,
        text="Resigned",
        sample="[Controller id=1] Resigned",
        reads={"controller_id": 1},
        since="1.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_forced_resign",
        CONTROLLER,
        text="Forcing the controller to resign",
        sample="[Controller id=1] Forcing the controller to resign",
        reads={"controller_id": 1},
        since="0.9.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_zk_session_expired",
        CONTROLLER,
        text=(
            "ZK expired<?; shut down all controller components and try to re-elect?><?, but the current "
            "controller id <_:int> is the same as this broker id, skip re-elect?>"
        ),
        sample=(
            "[SessionExpirationListener on 1], ZK expired; shut down all controller components and try to re-elect"
        ),
        reads={"controller_id": 1},
        since="0.8.1",
        until="0.10.2.2",
    ),
    Rule(
        "controller_scheduler_started",
        CONTROLLER,
        text="Starting the <?partition rebalance?><?controller?> scheduler",
        sample="[Controller id=1] Starting the controller scheduler",
        reads={"controller_id": 1},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "controller_token_scheduler_started",
        CONTROLLER,
        text="Starting the token expiry check scheduler",
        sample="[Controller id=1] Starting the token expiry check scheduler",
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_context_live_brokers",
        CONTROLLER,
        text="Currently active brokers in the cluster: <live_brokers:list>",
        sample="[Controller id=1] Currently active brokers in the cluster: Set(4, 5)",
        reads={"controller_id": 1, "live_brokers": "Set(4, 5)"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controller_context_shutting_down_brokers",
        CONTROLLER,
        text="Currently shutting brokers in the cluster: <shutting_down_brokers:list>",
        sample="[Controller id=1] Currently shutting brokers in the cluster: Set()",
        reads={"controller_id": 1, "shutting_down_brokers": "Set()"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controller_context_topics",
        CONTROLLER,
        text="Current list of topics in the cluster: <topics:rest>",
        sample="[Controller id=1] Current list of topics in the cluster: Set(pay-in, refunds)",
        reads={"controller_id": 1, "topics": "Set(pay-in, refunds)"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controller_context_broker_epochs",
        CONTROLLER,
        text="Initialized broker epochs cache: <broker_epochs:rest>",
        sample="[Controller id=1] Initialized broker epochs cache: Map(4 -> 313, 5 -> 348)",
        reads={"controller_id": 1, "broker_epochs": "Map(4 -> 313, 5 -> 348)"},
        since="2.2.0",
        until="3.9.2",
    ),
    Rule(
        "controller_partition_state_machine_started",
        CONTROLLER,
        text="Started partition state machine with initial state -> <states:partition_states>",
        sample=(
            "[PartitionStateMachine controllerId=1] Started partition state machine with initial state -> "
            "Map(pay-in-3 -> OnlinePartition)"
        ),
        reads={
            "controller_id": 1,
            "partition_states": "Map(pay-in-3 -> OnlinePartition)",
            "partitions": [{"topic": "pay-in", "partition": 3}],
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controller_replica_state_machine_started",
        CONTROLLER,
        text="Started replica state machine with initial state -> <states:replica_states>",
        sample=(
            "[ReplicaStateMachine controllerId=1] Started replica state machine with initial state -> "
            "Map([Topic=pay-in,Partition=3,Replica=4] -> OnlineReplica)"
        ),
        reads={
            "controller_id": 1,
            "replica_states": "Map([Topic=pay-in,Partition=3,Replica=4] -> OnlineReplica)",
            "partitions": [{"topic": "pay-in", "partition": 3}],
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controller_partition_state_machine_stopped",
        CONTROLLER,
        text="Stopped partition state machine",
        sample="[PartitionStateMachine controllerId=1] Stopped partition state machine",
        reads={"controller_id": 1},
        since="0.8.2.0",
        until="3.9.2",
    ),
    Rule(
        "controller_replica_state_machine_stopped",
        CONTROLLER,
        text="Stopped replica state machine",
        sample="[ReplicaStateMachine controllerId=1] Stopped replica state machine",
        reads={"controller_id": 1},
        since="0.8.2.0",
        until="3.9.2",
    ),
    Rule(
        "controller_all_leaders",
        CONTROLLER,
        text="All leaders = <partitions:states>",
        sample=(
            "[Controller id=1] All leaders = pay-in-3 -> (Leader:4,ISR:4,5,LeaderEpoch:12,ControllerEpoch:7),"
            "refunds-0 -> (Leader:-1,ISR:6,LeaderEpoch:3,ControllerEpoch:7)"
        ),
        reads={
            "controller_id": 1,
            "partitions": [
                {
                    "topic": "pay-in",
                    "partition": 3,
                    "leader": 4,
                    "leader_epoch": 12,
                    "controller_epoch": 7,
                    "isr": [4, 5],
                },
                {
                    "topic": "refunds",
                    "partition": 0,
                    "leader": -1,
                    "leader_epoch": 3,
                    "controller_epoch": 7,
                    "isr": [6],
                },
            ],
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "broker_change_listener_fired",
        CONTROLLER,
        text="Broker change listener fired for path /brokers/ids with children <live_brokers:rest>",
        sample=(
            "[BrokerChangeListener on Controller 1]: Broker change listener fired for path /brokers/ids with "
            "children 4,5"
        ),
        reads={"controller_id": 1, "live_brokers": "4,5"},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "broker_set_changed",
        CONTROLLER,
        text=(
            "Newly added brokers: <added_brokers:csv>, deleted brokers: <deleted_brokers:csv>, <?bounced "
            "brokers: <bounced_brokers:csv>, ?>all live brokers: <live_brokers:csv>"
        ),
        sample=(
            "[Controller id=1] Newly added brokers: 6, deleted brokers: , bounced brokers: 5, all live brokers: 4,5,6"
        ),
        reads={
            "controller_id": 1,
            "added_brokers": "6",
            "deleted_brokers": "",
            "bounced_brokers": "5",
            "live_brokers": "4,5,6",
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "broker_change_failed",
        CONTROLLER,
        text="Error while handling broker changes",
        sample="[BrokerChangeListener on Controller 1]: Error while handling broker changes",
        reads={"controller_id": 1},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "broker_epochs_updated",
        CONTROLLER,
        text="Updated broker epochs cache: <broker_epochs:rest>",
        sample="[Controller id=1] Updated broker epochs cache: Map(4 -> 313, 5 -> 348)",
        reads={"controller_id": 1, "broker_epochs": "Map(4 -> 313, 5 -> 348)"},
        since="2.2.0",
        until="3.9.2",
    ),
    Rule(
        "broker_startup",
        CONTROLLER,
        text="New broker startup callback for <brokers:csv>",
        sample="[Controller id=1] New broker startup callback for 4,5",
        reads={"controller_id": 1, "brokers": "4,5"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "broker_failure",
        CONTROLLER,
        text="Broker failure callback for <brokers:csv>",
        sample="[Controller id=1] Broker failure callback for 4,5",
        reads={"controller_id": 1, "brokers": "4,5"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "broker_removed_from_shutting_down",
        CONTROLLER,
        text="Removed <brokers:list> from list of shutting down brokers.",
        sample="[Controller id=1] Removed 5 from list of shutting down brokers.",
        reads={"controller_id": 1, "brokers": "5"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "broker_failure_no_partitions",
        CONTROLLER,
        text="No state transitions triggered since no partitions are assigned to brokers <brokers:csv>",
        sample=(
            "[Replica state machine on controller 1]: No state transitions triggered since no partitions are "
            "assigned to brokers 4,5"
        ),
        reads={"controller_id": 1, "brokers": "4,5"},
        since="0.8.0",
        until="0.8.0",
    ),
    Rule(
        "broker_info_changed",
        CONTROLLER,
        text=(
            "Updated broker<? metadata?>: <?<_:int> : (EndPoint(<old_host:word>,<_:rest> -> ?><broker> : "
            "(EndPoint(<host:word>,<port:int>,<_:rest>"
        ),
        sample=(
            "[Controller id=1] Updated broker metadata: 6 : (EndPoint(k6.pay,9092,ListenerName(PLAINTEXT),"
            "PLAINTEXT)) : null -> 6 : (EndPoint(k6b.pay,9092,ListenerName(PLAINTEXT),PLAINTEXT)) : null"
        ),
        reads={"controller_id": 1, "old_host": "k6.pay", "broker": "6", "host": "k6b.pay", "port": "9092"},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "broker_info_changed",
        CONTROLLER,
        text="Broker info update callback for <broker>",
        sample="[Controller id=1] Broker info update callback for 6",
        reads={"controller_id": 1, "broker": "6"},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "broker_registration_ignored_features",
        CONTROLLER,
        text=(
            "Ignoring registration of <?new?><?bounced?> brokers due to incompatibilities with finalized "
            "features: <brokers:csv>"
        ),
        sample=(
            "[Controller id=1] Ignoring registration of new brokers due to incompatibilities with finalized "
            "features: 4,5"
        ),
        reads={"controller_id": 1, "brokers": "4,5"},
        since="2.7.0",
        until="3.9.2",
    ),
    Rule(
        "broker_modifications_handler_registered",
        CONTROLLER,
        text="Register BrokerModifications handler for <brokers:list>",
        sample="[Controller id=1] Register BrokerModifications handler for Set(4, 5)",
        reads={"controller_id": 1, "brokers": "Set(4, 5)"},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "broker_modifications_handler_unregistered",
        CONTROLLER,
        text="Unregister BrokerModifications handler for <brokers:list>",
        sample="[Controller id=1] Unregister BrokerModifications handler for Set(4, 5)",
        reads={"controller_id": 1, "brokers": "Set(4, 5)"},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_started",
        CONTROLLER,
        text="Shutting down broker <broker>",
        sample="[Controller id=1] Shutting down broker 6",
        reads={"controller_id": 1, "broker": "6"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_shutting_down_brokers",
        CONTROLLER,
        text="All shutting down brokers: <shutting_down_brokers:csv>",
        sample="[Controller id=1] All shutting down brokers: 4,5",
        reads={"controller_id": 1, "shutting_down_brokers": "4,5"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_live_brokers",
        CONTROLLER,
        text="Live brokers: <live_brokers:csv>",
        sample="[Controller id=1] Live brokers: 4,5",
        reads={"controller_id": 1, "live_brokers": "4,5"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controlled_shutdown_stale_broker_epoch",
        CONTROLLER,
        text=(
            "Received controlled shutdown request from an old broker epoch <broker_epoch:int> for broker "
            "<broker>. Current broker epoch is <current_broker_epoch:int>."
        ),
        sample=(
            "[Controller id=1] Received controlled shutdown request from an old broker epoch 23 for broker 6. "
            "Current broker epoch is 23."
        ),
        reads={"controller_id": 1, "broker_epoch": "23", "broker": "6", "current_broker_epoch": "23"},
        since="2.2.0",
        until="3.9.2",
    ),
    Rule(
        "topic_change_listener_fired",
        CONTROLLER,
        text="Topic change listener fired for path /brokers/topics with children <topics:rest>",
        sample=(
            "[TopicChangeListener on Controller 1]: Topic change listener fired for path /brokers/topics with "
            "children pay-in,refunds"
        ),
        reads={"controller_id": 1, "topics": "pay-in,refunds"},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "topics_changed",
        CONTROLLER,
        text=(
            "New topics: [<new_topics:text>], deleted topics: [<deleted_topics:text>], new partition replica "
            "assignment [<partitions:assignments>]"
        ),
        sample=(
            "[Controller id=1] New topics: [Set(pay-in)], deleted topics: [Set()], new partition replica "
            "assignment [Set(TopicIdReplicaAssignment(pay-in,Some(h5K2vX8bQ0-3mJtR_wYz1A),Map(pay-in-3 -> "
            "ReplicaAssignment(replicas=4,5, addingReplicas=, removingReplicas=))))]"
        ),
        reads={
            "controller_id": 1,
            "new_topics": "Set(pay-in)",
            "deleted_topics": "Set()",
            "partitions": [
                {
                    "topic": "pay-in",
                    "partition": 3,
                    "replicas": [4, 5],
                    "adding_replicas": [],
                    "removing_replicas": [],
                    "topic_id": "h5K2vX8bQ0-3mJtR_wYz1A",
                }
            ],
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "topic_change_failed",
        CONTROLLER,
        text="Error while handling new topic",
        sample="[TopicChangeListener on Controller 1]: Error while handling new topic",
        reads={"controller_id": 1},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "topic_creation_callback",
        CONTROLLER,
        text="New topic creation callback for <partitions>",
        sample="[Controller id=1] New topic creation callback for pay-in-3,refunds-0",
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "partition_creation_callback",
        CONTROLLER,
        text="New partition creation callback for <partitions>",
        sample="[Controller id=1] New partition creation callback for pay-in-3,refunds-0",
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "partition_modification_listener_fired",
        CONTROLLER,
        text="<?Add Partition?><?Partition modification?> triggered <assignment:path_assignment>",
        sample=(
            '[AddPartitionsListener on 1]: Add Partition triggered {"version":1,"partitions":{"3":[4,5,6]}} for '
            "path /brokers/topics/pay-in"
        ),
        reads={
            "controller_id": 1,
            "topic": "pay-in",
            "partitions": [{"topic": "pay-in", "partition": 3, "replicas": [4, 5, 6]}],
        },
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "partitions_added",
        CONTROLLER,
        text="New partitions to be added <partitions:assignments>",
        sample="[Controller id=1] New partitions to be added pay-in-3 -> List(4, 5),refunds-0 -> List(6)",
        reads={
            "controller_id": 1,
            "partitions": [
                {"topic": "pay-in", "partition": 3, "replicas": [4, 5]},
                {"topic": "refunds", "partition": 0, "replicas": [6]},
            ],
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "partitions_add_skipped_topic_deleting",
        CONTROLLER,
        text="Skipping adding partitions <partition_ids:csv> for topic <topic> since it is currently being deleted",
        sample=(
            "[Controller id=1] Skipping adding partitions 4,5 for topic pay-in since it is currently being deleted"
        ),
        reads={"controller_id": 1, "partition_ids": "4,5", "topic": "pay-in"},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "partitions_add_failed",
        CONTROLLER,
        text="Error while handling add partitions for data path /brokers/topics/<topic>",
        sample=(
            "[AddPartitionsListener on 1]: Error while handling add partitions for data path /brokers/topics/pay-in"
        ),
        reads={"controller_id": 1, "topic": "pay-in"},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "partition_assignment_restored",
        CONTROLLER,
        text="Restoring the partition replica assignment for topic <topic>",
        sample="[Controller id=1] Restoring the partition replica assignment for topic pay-in",
        reads={"controller_id": 1, "topic": "pay-in"},
        since="2.0.0",
        until="3.9.2",
    ),
    Rule(
        "partition_change_ignored_topic_deleting",
        CONTROLLER,
        text="Ignoring partition change during topic deletion as no new partitions are added",
        sample="[Controller id=1] Ignoring partition change during topic deletion as no new partitions are added",
        reads={"controller_id": 1},
        since="2.0.0",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_listener_fired",
        CONTROLLER,
        text="Delete topics listener fired for topics <topics:text> to be deleted",
        sample="[Controller id=1] Delete topics listener fired for topics pay-in,refunds to be deleted",
        reads={"controller_id": 1, "topics": "pay-in,refunds"},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_requested",
        CONTROLLER,
        text="Starting topic deletion for topics <topics:rest>",
        sample="[Controller id=1] Starting topic deletion for topics pay-in,refunds",
        reads={"controller_id": 1, "topics": "pay-in,refunds"},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_unknown_topics",
        CONTROLLER,
        text="Ignoring request to delete non-existing topics <topics:rest>",
        sample="[Controller id=1] Ignoring request to delete non-existing topics pay-in,refunds",
        reads={"controller_id": 1, "topics": "pay-in,refunds"},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_disabled",
        CONTROLLER,
        text="Removing <topics:text> since delete topic is disabled",
        sample="[Topic Deletion Manager 1] Removing Set(pay-in) since delete topic is disabled",
        reads={"controller_id": 1, "topics": "Set(pay-in)"},
        since="0.10.2.0",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_queue",
        CONTROLLER,
        text="List of topics to be deleted: <topics:rest>",
        sample="[Controller id=1] List of topics to be deleted: pay-in,refunds",
        reads={"controller_id": 1, "topics": "pay-in,refunds"},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_ineligible",
        CONTROLLER,
        text="List of topics ineligible for deletion: <topics:rest>",
        sample="[Controller id=1] List of topics ineligible for deletion: pay-in,refunds",
        reads={"controller_id": 1, "topics": "pay-in,refunds"},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_manager_init",
        CONTROLLER,
        text=(
            "Initializing manager with initial deletions: <topics:text>, initial ineligible deletions: "
            "<ineligible_topics:rest>"
        ),
        sample=(
            "[Topic Deletion Manager 1] Initializing manager with initial deletions: Set(pay-in), initial "
            "ineligible deletions: HashSet(refunds)"
        ),
        reads={"controller_id": 1, "topics": "Set(pay-in)", "ineligible_topics": "HashSet(refunds)"},
        since="2.3.0",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_restart_on_broker",
        CONTROLLER,
        text=(
            "Some replicas <replicas:replicas_list> for topics scheduled for deletion <topics:text> are on the "
            "newly restarted brokers <brokers:csv>. Signaling restart of topic deletion for these topics"
        ),
        sample=(
            "[Controller id=1] Some replicas [Topic=pay-in,Partition=3,Replica=4],[Topic=pay-in,Partition=3,"
            "Replica=5] for topics scheduled for deletion pay-in are on the newly restarted brokers 4,5. "
            "Signaling restart of topic deletion for these topics"
        ),
        reads={
            "controller_id": 1,
            "replicas_list": "[Topic=pay-in,Partition=3,Replica=4],[Topic=pay-in,Partition=3,Replica=5]",
            "partitions": [{"topic": "pay-in", "partition": 3}],
            "topics": "pay-in",
            "brokers": "4,5",
        },
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_waiting",
        CONTROLLER,
        text="Waiting for signal to start or continue topic deletion",
        sample="Waiting for signal to start or continue topic deletion",
        reads={},
        since="0.8.1",
        until="0.10.2.2",
    ),
    Rule(
        "topic_deletion_handling",
        CONTROLLER,
        text="Handling deletion for topics <topics:rest>",
        sample="[Topic Deletion Manager 1] Handling deletion for topics pay-in,refunds",
        reads={"controller_id": 1, "topics": "pay-in,refunds"},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_started",
        CONTROLLER,
        text="Deletion of topic <topic> (re)started",
        sample="[Topic Deletion Manager 1] Deletion of topic pay-in (re)started",
        reads={"controller_id": 1, "topic": "pay-in"},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_in_progress",
        CONTROLLER,
        text="Deletion for replicas <replicas:csv> for partition <partitions> of topic <topic> in progress",
        sample=(
            "[Topic Deletion Manager 1], Deletion for replicas 4,5,6 for partition pay-in-3,refunds-0 of topic "
            "pay-in in progress"
        ),
        reads={
            "controller_id": 1,
            "replicas": [4, 5, 6],
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
            "topic": "pay-in",
        },
        since="0.8.1",
        until="2.2.2",
    ),
    Rule(
        "topic_deletion_completed",
        CONTROLLER,
        text="Deletion of topic <topic> successfully completed",
        sample="[Topic Deletion Manager 1] Deletion of topic pay-in successfully completed",
        reads={"controller_id": 1, "topic": "pay-in"},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_not_retried",
        CONTROLLER,
        text="Not retrying deletion of topic <topic> at this time since it is marked ineligible for deletion",
        sample=(
            "[Topic Deletion Manager 1], Not retrying deletion of topic pay-in at this time since it is marked "
            "ineligible for deletion"
        ),
        reads={"controller_id": 1, "topic": "pay-in"},
        since="0.8.1",
        until="2.2.2",
    ),
    Rule(
        "topic_deletion_retry",
        CONTROLLER,
        text=(
            "Retrying deletion of <?topic <topic>?><?topics <topics:text>?> since replicas "
            "<replicas:replicas_list> were not successfully deleted"
        ),
        sample=(
            "[Topic Deletion Manager 1] Retrying deletion of topics pay-in since replicas [Topic=pay-in,"
            "Partition=3,Replica=4],[Topic=pay-in,Partition=3,Replica=5] were not successfully deleted"
        ),
        reads={
            "controller_id": 1,
            "topics": "pay-in",
            "replicas_list": "[Topic=pay-in,Partition=3,Replica=4],[Topic=pay-in,Partition=3,Replica=5]",
            "partitions": [{"topic": "pay-in", "partition": 3}],
        },
        since="2.3.0",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_retry",
        CONTROLLER,
        text=(
            "Retrying delete topic for topic <topic> since replicas <replicas:replicas_list> were not "
            "successfully deleted"
        ),
        sample=(
            "[delete-topics-thread-1], Retrying delete topic for topic pay-in since replicas [Topic=pay-in,"
            "Partition=3,Replica=4],[Topic=pay-in,Partition=3,Replica=5] were not successfully deleted"
        ),
        reads={
            "controller_id": 1,
            "topic": "pay-in",
            "replicas_list": "[Topic=pay-in,Partition=3,Replica=4],[Topic=pay-in,Partition=3,Replica=5]",
            "partitions": [{"topic": "pay-in", "partition": 3}],
        },
        since="0.8.1",
        until="2.2.2",
    ),
    Rule(
        "topic_deletion_halted",
        CONTROLLER,
        text="Halted deletion of topics <topics:text><? due to <reason:rest>?>",
        sample="[Topic Deletion Manager 1] Halted deletion of topics pay-in due to replica deletion failure",
        reads={"controller_id": 1, "topics": "pay-in", "reason": "replica deletion failure"},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_replica_failed",
        CONTROLLER,
        text="Deletion failed for replicas <replicas:replicas_list>. Halting deletion for topics <topics:rest>",
        sample=(
            "[Topic Deletion Manager 1] Deletion failed for replicas [Topic=pay-in,Partition=3,Replica=4],"
            "[Topic=pay-in,Partition=3,Replica=5]. Halting deletion for topics Set(pay-in)"
        ),
        reads={
            "controller_id": 1,
            "replicas_list": "[Topic=pay-in,Partition=3,Replica=4],[Topic=pay-in,Partition=3,Replica=5]",
            "partitions": [{"topic": "pay-in", "partition": 3}],
            "topics": "Set(pay-in)",
        },
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_replica_started",
        CONTROLLER,
        text="Deletion started for replicas <replicas:replicas_list>",
        sample=(
            "[Topic Deletion Manager 1] Deletion started for replicas [Topic=pay-in,Partition=3,Replica=4],"
            "[Topic=pay-in,Partition=3,Replica=5]"
        ),
        reads={
            "controller_id": 1,
            "replicas_list": "[Topic=pay-in,Partition=3,Replica=4],[Topic=pay-in,Partition=3,Replica=5]",
            "partitions": [{"topic": "pay-in", "partition": 3}],
        },
        since="0.8.1",
        until="2.4.1",
    ),
    Rule(
        "topic_deletion_replica_completed",
        CONTROLLER,
        text="Deletion successfully completed for replicas <replicas:replicas_list>",
        sample=(
            "[Topic Deletion Manager 1] Deletion successfully completed for replicas [Topic=pay-in,Partition=3,"
            "Replica=4],[Topic=pay-in,Partition=3,Replica=5]"
        ),
        reads={
            "controller_id": 1,
            "replicas_list": "[Topic=pay-in,Partition=3,Replica=4],[Topic=pay-in,Partition=3,Replica=5]",
            "partitions": [{"topic": "pay-in", "partition": 3}],
        },
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_dead_replicas",
        CONTROLLER,
        text="Dead Replicas (<replicas:replicas_list>) found for topic <topic>",
        sample=(
            "[Topic Deletion Manager 1], Dead Replicas ([Topic=pay-in,Partition=3,Replica=4],[Topic=pay-in,"
            "Partition=3,Replica=5]) found for topic pay-in"
        ),
        reads={
            "controller_id": 1,
            "replicas_list": "[Topic=pay-in,Partition=3,Replica=4],[Topic=pay-in,Partition=3,Replica=5]",
            "partitions": [{"topic": "pay-in", "partition": 3}],
            "topic": "pay-in",
        },
        since="0.8.2.0",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_callback",
        CONTROLLER,
        text="Topic deletion callback for <topics:rest>",
        sample="[Topic Deletion Manager 1] Topic deletion callback for pay-in,refunds",
        reads={"controller_id": 1, "topics": "pay-in,refunds"},
        since="0.8.1",
        until="2.4.1",
    ),
    Rule(
        "partition_deletion_callback",
        CONTROLLER,
        text="Partition deletion callback for <partitions>",
        sample="[Topic Deletion Manager 1] Partition deletion callback for pay-in-3,refunds-0",
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.8.1",
        until="2.4.1",
    ),
    Rule(
        "topic_deletion_stop_replica_response",
        CONTROLLER,
        text="Delete topic callback invoked for <response:response>",
        sample=(
            "[Controller id=1] Delete topic callback invoked for {error_code=0,partitions=[{topic=pay-in,"
            "partition=3,error_code=0}]}"
        ),
        reads={"controller_id": 1, "error_code": "0", "partition_errors": "[{topic=pay-in,partition=3,error_code=0}]"},
        since="0.8.1",
        until="2.2.2",
    ),
    Rule(
        "topic_deletion_stop_replica_response",
        CONTROLLER,
        text=(
            "Delete topic callback invoked on StopReplica response received from broker <broker>: request error "
            "= <error:word>, partition errors = <partition_errors:rest>"
        ),
        sample=(
            "[Controller id=1] Delete topic callback invoked on StopReplica response received from broker 6: "
            "request error = NONE, partition errors = Map(pay-in-3 -> NONE)"
        ),
        reads={"controller_id": 1, "broker": "6", "error": "NONE", "partition_errors": "Map(pay-in-3 -> NONE)"},
        since="2.3.0",
        until="3.9.2",
    ),
    Rule(
        "topic_deletion_all_replicas_deleted_check",
        CONTROLLER,
        text="Are all replicas for topic <topic> deleted <states:replica_states>",
        sample=(
            "[ReplicaStateMachine controllerId=1] Are all replicas for topic pay-in deleted Map([Topic=pay-in,"
            "Partition=3,Replica=4] -> ReplicaDeletionStarted)"
        ),
        reads={
            "controller_id": 1,
            "topic": "pay-in",
            "replica_states": "Map([Topic=pay-in,Partition=3,Replica=4] -> ReplicaDeletionStarted)",
            "partitions": [{"topic": "pay-in", "partition": 3}],
        },
        since="0.8.1",
        until="1.0.2",
    ),
    Rule(
        "state_machine_invoked_partitions",
        CONTROLLER,
        text="Invoking state change to <to_state> for partitions <partitions>",
        sample=(
            "[PartitionStateMachine controllerId=1] Invoking state change to OnlinePartition for partitions "
            "pay-in-3,refunds-0"
        ),
        reads={
            "controller_id": 1,
            "to_state": "OnlinePartition",
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "state_machine_invoked_replicas",
        CONTROLLER,
        text="Invoking state change to <to_state> for replicas <replicas:replicas_list>",
        sample=(
            "[ReplicaStateMachine controllerId=1] Invoking state change to OfflineReplica for replicas "
            "[Topic=pay-in,Partition=3,Replica=4],[Topic=pay-in,Partition=3,Replica=5]"
        ),
        reads={
            "controller_id": 1,
            "to_state": "OfflineReplica",
            "replicas_list": "[Topic=pay-in,Partition=3,Replica=4],[Topic=pay-in,Partition=3,Replica=5]",
            "partitions": [{"topic": "pay-in", "partition": 3}],
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "state_machine_partitions_failed",
        CONTROLLER,
        text="Error while moving some partitions to <?the ?><to_state> state",
        sample=(
            "[PartitionStateMachine controllerId=1] Error while moving some partitions to the OnlinePartition state"
        ),
        reads={"controller_id": 1, "to_state": "OnlinePartition"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "state_machine_replicas_failed",
        CONTROLLER,
        text="Error while moving some replicas to <to_state> state",
        sample="[ReplicaStateMachine controllerId=1] Error while moving some replicas to OfflineReplica state",
        reads={"controller_id": 1, "to_state": "OfflineReplica"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "state_machine_controller_moved",
        CONTROLLER,
        text=(
            "Controller moved to another broker when <?moving some partitions to <to_state> state?><?moving some "
            "replicas to <to_state> state?><?trying to create the topic partition state znode?>"
        ),
        sample=(
            "[PartitionStateMachine controllerId=1] Controller moved to another broker when moving some "
            "partitions to OnlinePartition state"
        ),
        reads={"controller_id": 1, "to_state": "OnlinePartition"},
        since="2.1.0",
        until="3.9.2",
    ),
    Rule(
        "partition_init_live_replicas",
        CONTROLLER,
        text="Live assigned replicas for partition <tp> are: [<live_replicas:list>]",
        sample=(
            "[PartitionStateMachine controllerId=1] Live assigned replicas for partition pay-in-3 are: [Set(4, 5)]"
        ),
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3, "live_replicas": "Set(4, 5)"},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "partition_init_leader_and_isr",
        CONTROLLER,
        text=("Initializing leader and isr for partition <tp> to " + LEADER_ISR_EPOCH),
        sample=(
            "[PartitionStateMachine controllerId=1] Initializing leader and isr for partition pay-in-3 to "
            "(Leader:4,ISR:4,5,LeaderEpoch:12,ControllerEpoch:7)"
        ),
        reads={
            "controller_id": 1,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "isr": [4, 5],
            "leader_epoch": 12,
            "state_controller_epoch": "7",
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "partition_leader_cache_after_election",
        CONTROLLER,
        text="After leader election, leader cache is updated to <partitions:states>",
        sample=(
            "[Partition state machine on Controller 1]: After leader election, leader cache is updated to "
            "Map([pay-in,3] -> (Leader:4,ISR:4,5,LeaderEpoch:12,ControllerEpoch:7))"
        ),
        reads={
            "controller_id": 1,
            "partitions": [
                {
                    "topic": "pay-in",
                    "partition": 3,
                    "leader": 4,
                    "leader_epoch": 12,
                    "controller_epoch": 7,
                    "isr": [4, 5],
                }
            ],
        },
        since="0.8.0",
        until="0.11.0.1",
    ),
    Rule(
        "partition_leader_cache_after_election",
        CONTROLLER,
        text=("After leader election, leader cache for <tp> is updated to " + LEADER_ISR_EPOCH),
        sample=(
            "[PartitionStateMachine controllerId=1] After leader election, leader cache for pay-in-3 is updated "
            "to (Leader:4,ISR:4,5,LeaderEpoch:12,ControllerEpoch:7)"
        ),
        reads={
            "controller_id": 1,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "isr": [4, 5],
            "leader_epoch": 12,
            "state_controller_epoch": "7",
        },
        since="0.11.0.2",
        until="1.0.2",
    ),
    Rule(
        "offline_election_isr_alive",
        CONTROLLER,
        text="Some broker in ISR is alive for <tp>. Select <leader> from ISR <live_isr:csv> to be the leader.",
        sample=(
            "[OfflinePartitionLeaderSelector]: Some broker in ISR is alive for pay-in-3. Select 4 from ISR 4,5 "
            "to be the leader."
        ),
        reads={"topic": "pay-in", "partition": 3, "leader": 4, "live_isr": "4,5"},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "offline_election_isr_dead",
        CONTROLLER,
        text=(
            "No broker in ISR is alive for <tp>. Pick the leader from the alive assigned replicas: <live_replicas:csv>"
        ),
        sample=(
            "[OfflinePartitionLeaderSelector]: No broker in ISR is alive for pay-in-3. Pick the leader from the "
            "alive assigned replicas: 4,5"
        ),
        reads={"topic": "pay-in", "partition": 3, "live_replicas": "4,5"},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "unclean_leader_election",
        CONTROLLER,
        text=(
            "No broker in ISR is alive for <tp>. Elect leader <leader> from live brokers <live_replicas:csv>. "
            "There's potential data loss."
        ),
        sample=(
            "[OfflinePartitionLeaderSelector]: No broker in ISR is alive for pay-in-3. Elect leader 4 from live "
            "brokers 4,5. There's potential data loss."
        ),
        reads={"topic": "pay-in", "partition": 3, "leader": 4, "live_replicas": "4,5"},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "offline_election_selected",
        CONTROLLER,
        text="Selected new leader and ISR <state:state> for offline partition <tp>",
        sample=(
            '[OfflinePartitionLeaderSelector]: Selected new leader and ISR {"leader":4,"leader_epoch":12,'
            '"isr":[4,5]} for offline partition pay-in-3'
        ),
        reads={"leader": 4, "leader_epoch": 12, "isr": [4, 5], "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "preferred_election_triggered",
        CONTROLLER,
        text=(
            "Current leader <current_leader:int> for partition <tp> is not the preferred replica. "
            "<?Triggering?><?Trigerring?> preferred replica leader election"
        ),
        sample=(
            "[PreferredReplicaPartitionLeaderSelector]: Current leader 23 for partition pay-in-3 is not the "
            "preferred replica. Triggering preferred replica leader election"
        ),
        reads={"current_leader": "23", "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "controlled_shutdown_election_selected",
        CONTROLLER,
        text="Partition <tp> : current leader = <current_leader:int>, new leader = <leader>",
        sample="[ControlledShutdownLeaderSelector]: Partition pay-in-3 : current leader = 23, new leader = 4",
        reads={"topic": "pay-in", "partition": 3, "current_leader": "23", "leader": 4},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "noop_election",
        CONTROLLER,
        text=(
            "I should never have been asked to perform leader election, returning the current LeaderAndIsr and "
            "replica assignment."
        ),
        sample=(
            "[NoOpLeaderSelector]: I should never have been asked to perform leader election, returning the "
            "current LeaderAndIsr and replica assignment."
        ),
        reads={},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "election_retry_bad_version",
        CONTROLLER,
        text="Retrying leader election with strategy <strategy:text> for partitions <partitions>",
        sample=(
            "Retrying leader election with strategy OfflinePartitionLeaderElectionStrategy(false) for partitions "
            "ArrayBuffer(pay-in-3, refunds-0)"
        ),
        reads={
            "strategy": "OfflinePartitionLeaderElectionStrategy(false)",
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="2.4.0",
        until="3.9.2",
    ),
    Rule(
        "election_bad_version",
        CONTROLLER,
        text=(
            "Controller failed to elect leader for partition <tp>. Attempted to write state "
            + LEADER_AND_ISR
            + ", but failed with bad ZK version. This will be retried."
        ),
        sample=(
            "[PartitionStateMachine controllerId=1] Controller failed to elect leader for partition pay-in-3. "
            "Attempted to write state LeaderAndIsr(leader=4, leaderEpoch=12, "
            "isrWithBrokerEpoch=List(BrokerState(brokerId=4, brokerEpoch=-1), BrokerState(brokerId=5, "
            "brokerEpoch=-1)), leaderRecoveryState=RECOVERED, partitionEpoch=31), but failed with bad ZK "
            "version. This will be retried."
        ),
        reads={
            "controller_id": 1,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "leader_recovery_state": "RECOVERED",
            "partition_epoch": 31,
        },
        since="2.7.2",
        until="3.9.2",
    ),
    Rule(
        "isr_removal_bad_version",
        CONTROLLER,
        text=(
            "Controller failed to remove replica <replica> from ISR of partition <tp>. Attempted to write "
            "state " + LEADER_AND_ISR + ", but failed with bad ZK version. This will be retried."
        ),
        sample=(
            "[ReplicaStateMachine controllerId=1] Controller failed to remove replica 6 from ISR of partition "
            "pay-in-3. Attempted to write state LeaderAndIsr(leader=4, leaderEpoch=12, "
            "isrWithBrokerEpoch=List(BrokerState(brokerId=4, brokerEpoch=-1), BrokerState(brokerId=5, "
            "brokerEpoch=-1)), leaderRecoveryState=RECOVERED, partitionEpoch=31), but failed with bad ZK "
            "version. This will be retried."
        ),
        reads={
            "controller_id": 1,
            "replica": "6",
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "leader_recovery_state": "RECOVERED",
            "partition_epoch": 31,
        },
        since="2.7.2",
        until="3.9.2",
    ),
    Rule(
        "replica_not_in_assignment",
        CONTROLLER,
        text="Adding replica (<replica>) that is not part of the assignment <assignment:assignment>",
        sample=(
            "[ReplicaStateMachine controllerId=1] Adding replica (6) that is not part of the assignment "
            "ReplicaAssignment(replicas=4,5,6, addingReplicas=6, removingReplicas=5)"
        ),
        reads={
            "controller_id": 1,
            "replica": "6",
            "replicas": [4, 5, 6],
            "adding_replicas": "6",
            "removing_replicas": "5",
        },
        since="2.5.0",
        until="3.9.2",
    ),
    Rule(
        "unclean_election_enabled_default",
        CONTROLLER,
        text="Unclean leader election has been enabled by default",
        sample="[Controller id=1] Unclean leader election has been enabled by default",
        reads={"controller_id": 1},
        since="2.3.0",
        until="3.9.2",
    ),
    Rule(
        "unclean_election_enabled_topic",
        CONTROLLER,
        text="Unclean leader election has been enabled for topic <topic>",
        sample="[Controller id=1] Unclean leader election has been enabled for topic pay-in",
        reads={"controller_id": 1, "topic": "pay-in"},
        since="2.3.0",
        until="3.9.2",
    ),
    Rule(
        "controller_isr_removal_started",
        CONTROLLER,
        text="Removing replica <replica> from ISR <isr:csv> for partition <tp>.",
        sample="[Controller id=1] Removing replica 6 from ISR 4,5 for partition pay-in-3.",
        reads={"controller_id": 1, "replica": "6", "isr": [4, 5], "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "controller_isr_removed",
        CONTROLLER,
        text="New leader and ISR for partition <tp> is <state:state>",
        sample=(
            '[Controller id=1] New leader and ISR for partition pay-in-3 is {"leader":4,"leader_epoch":12,"isr":[4,5]}'
        ),
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3, "leader": 4, "leader_epoch": 12, "isr": [4, 5]},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "controller_isr_removal_not_in_isr",
        CONTROLLER,
        text=(
            "Cannot remove replica <replica> from ISR of <?partition ?><tp><?. ?><? since it is not in the ISR. "
            "?>Leader = <leader> ; ISR = <isr:list>"
        ),
        sample=(
            "[Controller id=1] Cannot remove replica 6 from ISR of partition pay-in-3 since it is not in the "
            "ISR. Leader = 4 ; ISR = List(4, 5)"
        ),
        reads={"controller_id": 1, "replica": "6", "topic": "pay-in", "partition": 3, "leader": 4, "isr": [4, 5]},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "controller_isr_removal_no_state",
        CONTROLLER,
        text="Cannot remove replica <replica> from ISR of <tp> - leaderAndIsr is empty.",
        sample="[Controller id=1] Cannot remove replica 6 from ISR of pay-in-3 - leaderAndIsr is empty.",
        reads={"controller_id": 1, "replica": "6", "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "controller_isr_last_replica_retained",
        CONTROLLER,
        text="Retaining last ISR <replica> of partition <tp> since unclean leader election is disabled",
        sample=(
            "[Controller id=1] Retaining last ISR 6 of partition pay-in-3 since unclean leader election is disabled"
        ),
        reads={"controller_id": 1, "replica": "6", "topic": "pay-in", "partition": 3},
        since="0.8.2.0",
        until="1.0.2",
    ),
    Rule(
        "leader_epoch_update_started",
        CONTROLLER,
        text="Updating leader epoch for partition <tp><?.?>",
        sample="[Controller id=1] Updating leader epoch for partition pay-in-3",
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "leader_epoch_updated",
        CONTROLLER,
        text="Updated leader epoch for partition <tp> to <leader_epoch><?, zkVersion=<partition_epoch>?>",
        sample="[Controller id=1] Updated leader epoch for partition pay-in-3 to 12, zkVersion=31",
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3, "leader_epoch": 12, "partition_epoch": 31},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "preferred_election_listener_fired",
        CONTROLLER,
        text=(
            "Preferred replica election listener fired for path /admin/preferred_replica_election. Record "
            "partitions to undergo preferred replica election <partitions:json_partitions>"
        ),
        sample=(
            "[PreferredReplicaElectionListener on 1]: Preferred replica election listener fired for path "
            "/admin/preferred_replica_election. Record partitions to undergo preferred replica election "
            '{"version":1,"partitions":[{"topic":"pay-in","partition":3}]}'
        ),
        reads={"controller_id": 1, "partitions": [{"topic": "pay-in", "partition": 3}]},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "preferred_election_already_running",
        CONTROLLER,
        text="These partitions are already undergoing preferred replica election: <partitions>",
        sample=(
            "[PreferredReplicaElectionListener on 1]: These partitions are already undergoing preferred replica "
            "election: pay-in-3,refunds-0"
        ),
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "preferred_election_undergoing",
        CONTROLLER,
        text="Partitions undergoing preferred replica election: <partitions>",
        sample="[Controller id=1] Partitions undergoing preferred replica election: pay-in-3,refunds-0",
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "preferred_election_completed_list",
        CONTROLLER,
        text="Partitions that completed preferred replica election: <partitions>",
        sample="[Controller id=1] Partitions that completed preferred replica election: pay-in-3,refunds-0",
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "preferred_election_skipped_deleting_list",
        CONTROLLER,
        text="Skipping preferred replica election for partitions due to topic deletion: <partitions>",
        sample=(
            "[Controller id=1] Skipping preferred replica election for partitions due to topic deletion: "
            "pay-in-3,refunds-0"
        ),
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.11.0.0",
        until="3.9.2",
    ),
    Rule(
        "preferred_election_resuming",
        CONTROLLER,
        text="Resuming preferred replica election for partitions: <partitions>",
        sample="[Controller id=1] Resuming preferred replica election for partitions: pay-in-3,refunds-0",
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "preferred_election_started",
        CONTROLLER,
        text="Starting preferred replica leader election for partitions <partitions>",
        sample="[Controller id=1] Starting preferred replica leader election for partitions pay-in-3,refunds-0",
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "replica_election_started",
        CONTROLLER,
        text=(
            "Starting replica leader election (<election_type:word>) for partitions <partitions> triggered by "
            "<trigger:word>"
        ),
        sample=(
            "[Controller id=1] Starting replica leader election (PREFERRED) for partitions pay-in-3,refunds-0 "
            "triggered by AutoTriggered"
        ),
        reads={
            "controller_id": 1,
            "election_type": "PREFERRED",
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
            "trigger": "AutoTriggered",
        },
        since="2.4.0",
        until="3.9.2",
    ),
    Rule(
        "preferred_election_failed",
        CONTROLLER,
        text="Error completing preferred replica leader election for partition<?s?> <partitions:names>",
        sample=(
            "[Controller id=1] Error completing preferred replica leader election for partitions pay-in-3,refunds-0"
        ),
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "preferred_election_controller_moved",
        CONTROLLER,
        text=(
            "Error completing preferred replica leader election for partition<?s?> <partitions:names> because "
            "controller has moved to another broker."
        ),
        sample=(
            "[Controller id=1] Error completing preferred replica leader election for partitions pay-in-3,"
            "refunds-0 because controller has moved to another broker."
        ),
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="2.1.0",
        until="2.3.1",
    ),
    Rule(
        "replica_election_failed",
        CONTROLLER,
        text="Error completing replica leader election (<election_type:word>) for partition <tp>",
        sample="[Controller id=1] Error completing replica leader election (PREFERRED) for partition pay-in-3",
        reads={"controller_id": 1, "election_type": "PREFERRED", "topic": "pay-in", "partition": 3},
        since="2.4.0",
        until="3.9.2",
    ),
    Rule(
        "replica_election_controller_moved",
        CONTROLLER,
        text=(
            "Error completing replica leader election (<election_type:word>) for partition <tp> because "
            "controller has moved to another broker."
        ),
        sample=(
            "[Controller id=1] Error completing replica leader election (PREFERRED) for partition pay-in-3 "
            "because controller has moved to another broker."
        ),
        reads={"controller_id": 1, "election_type": "PREFERRED", "topic": "pay-in", "partition": 3},
        since="2.4.0",
        until="3.9.2",
    ),
    Rule(
        "preferred_election_skipped_deleting",
        CONTROLLER,
        text=(
            "Skipping preferred replica election for partitions <partitions> since the respective topics are "
            "being deleted"
        ),
        sample=(
            "[Controller id=1] Skipping preferred replica election for partitions pay-in-3,refunds-0 since the "
            "respective topics are being deleted"
        ),
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.8.1",
        until="2.3.1",
    ),
    Rule(
        "preferred_election_skipped_unknown",
        CONTROLLER,
        text="Skipping preferred replica leader election for partition <tp> since it doesn't exist.",
        sample=(
            "[Controller id=1] Skipping preferred replica leader election for partition pay-in-3 since it "
            "doesn't exist."
        ),
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3},
        since="2.2.0",
        until="2.3.1",
    ),
    Rule(
        "replica_election_skipped_unknown",
        CONTROLLER,
        text=(
            "Skipping replica leader election (<election_type:word>) for partition <tp> by <trigger:word> since "
            "it doesn't exist."
        ),
        sample=(
            "[Controller id=1] Skipping replica leader election (PREFERRED) for partition pay-in-3 by "
            "AutoTriggered since it doesn't exist."
        ),
        reads={
            "controller_id": 1,
            "election_type": "PREFERRED",
            "topic": "pay-in",
            "partition": 3,
            "trigger": "AutoTriggered",
        },
        since="2.4.0",
        until="3.9.2",
    ),
    Rule(
        "replica_election_skipped_deleting",
        CONTROLLER,
        text=(
            "Skipping replica leader election (<election_type:word>) for partitions <partitions> by "
            "<trigger:word> since the respective topics are being deleted"
        ),
        sample=(
            "[Controller id=1] Skipping replica leader election (PREFERRED) for partitions pay-in-3,refunds-0 by "
            "AutoTriggered since the respective topics are being deleted"
        ),
        reads={
            "controller_id": 1,
            "election_type": "PREFERRED",
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
            "trigger": "AutoTriggered",
        },
        since="2.4.0",
        until="3.9.2",
    ),
    Rule(
        "preferred_election_waiting",
        CONTROLLER,
        text="PreferredReplicaLeaderElection waiting: <partitions>, results: <results:rest>",
        sample=(
            "[Controller id=1] PreferredReplicaLeaderElection waiting: pay-in-3,refunds-0, results: "
            "Map(refunds-0 -> ApiError(error=PREFERRED_LEADER_NOT_AVAILABLE, message=null))"
        ),
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
            "results": "Map(refunds-0 -> ApiError(error=PREFERRED_LEADER_NOT_AVAILABLE, message=null))",
        },
        since="2.2.0",
        until="2.3.1",
    ),
    Rule(
        "replica_election_waiting",
        CONTROLLER,
        text=(
            "Waiting for any successful result for election type (<election_type:word>) by <trigger:word> for "
            "partitions: <results:results>"
        ),
        sample=(
            "[Controller id=1] Waiting for any successful result for election type (PREFERRED) by AutoTriggered "
            "for partitions: Map(pay-in-3 -> Right(4))"
        ),
        reads={
            "controller_id": 1,
            "election_type": "PREFERRED",
            "trigger": "AutoTriggered",
            "results": "Map(pay-in-3 -> Right(4))",
            "partitions": [{"topic": "pay-in", "partition": 3}],
        },
        since="2.4.0",
        until="3.9.2",
    ),
    Rule(
        "preferred_election_completed",
        CONTROLLER,
        text="Partition <tp> completed preferred replica leader election. New leader is <leader>",
        sample="[Controller id=1] Partition pay-in-3 completed preferred replica leader election. New leader is 4",
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3, "leader": 4},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "preferred_election_not_completed",
        CONTROLLER,
        text=(
            "Partition <tp> failed to complete preferred replica leader election<? to <preferred_leader:int>?>. "
            "Leader is <?still ?><leader>"
        ),
        sample=(
            "[Controller id=1] Partition pay-in-3 failed to complete preferred replica leader election to 5. "
            "Leader is still 4"
        ),
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3, "preferred_leader": "5", "leader": 4},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "auto_rebalance_check",
        CONTROLLER,
        text="Checking need to trigger <?partition rebalance?><?auto leader balancing?>",
        sample="[Controller id=1] Checking need to trigger auto leader balancing",
        reads={"controller_id": 1},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "auto_rebalance_check",
        CONTROLLER,
        text="Processing automatic preferred replica leader election",
        sample="[Controller id=1] Processing automatic preferred replica leader election",
        reads={"controller_id": 1},
        since="2.3.0",
        until="3.9.2",
    ),
    Rule(
        "auto_rebalance_preferred_map",
        CONTROLLER,
        text="Preferred replicas by broker <partitions:assignments>",
        sample="[Controller id=1] Preferred replicas by broker Map(4 -> Map(pay-in-3 -> List(4, 5)))",
        reads={"controller_id": 1, "partitions": [{"topic": "pay-in", "partition": 3, "replicas": [4, 5]}]},
        since="0.8.1",
        until="2.4.1",
    ),
    Rule(
        "auto_rebalance_not_preferred",
        CONTROLLER,
        text="Topics not in preferred replica <?for broker <broker> ?><partitions:assignments>",
        sample=(
            "[Controller id=1] Topics not in preferred replica for broker 6 pay-in-3 -> List(4, 5),refunds-0 -> List(6)"
        ),
        reads={
            "controller_id": 1,
            "broker": "6",
            "partitions": [
                {"topic": "pay-in", "partition": 3, "replicas": [4, 5]},
                {"topic": "refunds", "partition": 0, "replicas": [6]},
            ],
        },
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "auto_rebalance_imbalance_ratio",
        CONTROLLER,
        text="Leader imbalance ratio for broker <broker> is <imbalance_ratio:rest>",
        sample="[Controller id=1] Leader imbalance ratio for broker 6 is 0.25",
        reads={"controller_id": 1, "broker": "6", "imbalance_ratio": "0.25"},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "reassignment_listener_fired",
        CONTROLLER,
        text=(
            "Partitions reassigned listener fired for path /admin/reassign_partitions. Record partitions to be "
            "reassigned <partitions:json_partitions>"
        ),
        sample=(
            "[PartitionsReassignedListener on 1]: Partitions reassigned listener fired for path "
            '/admin/reassign_partitions. Record partitions to be reassigned {"version":1,'
            '"partitions":[{"topic":"pay-in","partition":3,"replicas":[4,5]}]}'
        ),
        reads={"controller_id": 1, "partitions": [{"topic": "pay-in", "partition": 3, "replicas": [4, 5]}]},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "reassignment_in_progress_list",
        CONTROLLER,
        text="Partitions being reassigned: <partitions:assignments>",
        sample="[Controller id=1] Partitions being reassigned: pay-in-3 -> List(4, 5),refunds-0 -> List(6)",
        reads={
            "controller_id": 1,
            "partitions": [
                {"topic": "pay-in", "partition": 3, "replicas": [4, 5]},
                {"topic": "refunds", "partition": 0, "replicas": [6]},
            ],
        },
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "reassignment_already_done_list",
        CONTROLLER,
        text="Partitions already reassigned: <partitions>",
        sample="[Controller id=1] Partitions already reassigned: pay-in-3,refunds-0",
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "reassignment_resuming_list",
        CONTROLLER,
        text="Resuming reassignment of partitions: <partitions:assignments>",
        sample="[Controller id=1] Resuming reassignment of partitions: pay-in-3 -> List(4, 5),refunds-0 -> List(6)",
        reads={
            "controller_id": 1,
            "partitions": [
                {"topic": "pay-in", "partition": 3, "replicas": [4, 5]},
                {"topic": "refunds", "partition": 0, "replicas": [6]},
            ],
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "reassignment_started",
        CONTROLLER,
        text="Handling reassignment of partition <tp> to new replicas <target_replicas:csv>",
        sample="[Controller id=1] Handling reassignment of partition pay-in-3 to new replicas 4,5",
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3, "target_replicas": "4,5"},
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "reassignment_assignment_updating",
        CONTROLLER,
        text=(
            "Updating assignment of partition <tp> from ReplicaAssignment(replicas=<old_replicas:csv>, "
            "addingReplicas=<_:csv>, removingReplicas=<_:csv>) to <assignment:assignment>"
        ),
        sample=(
            "[Controller id=1] Updating assignment of partition pay-in-3 from ReplicaAssignment(replicas=4,5, "
            "addingReplicas=, removingReplicas=) to ReplicaAssignment(replicas=4,5,6, addingReplicas=6, "
            "removingReplicas=5)"
        ),
        reads={
            "controller_id": 1,
            "topic": "pay-in",
            "partition": 3,
            "old_replicas": "4,5",
            "replicas": [4, 5, 6],
            "adding_replicas": "6",
            "removing_replicas": "5",
        },
        since="2.4.0",
        until="3.9.2",
    ),
    Rule(
        "reassignment_assignment_updated",
        CONTROLLER,
        text="Updated assigned replicas for partition <tp> being reassigned to <replicas:csv><? ?>",
        sample="[Controller id=1] Updated assigned replicas for partition pay-in-3 being reassigned to 4,5,6",
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3, "replicas": [4, 5, 6]},
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "reassignment_assignment_updated",
        CONTROLLER,
        text="Successfully updated assignment of partition <tp> to <assignment:assignment>",
        sample=(
            "[Controller id=1] Successfully updated assignment of partition pay-in-3 to "
            "ReplicaAssignment(replicas=4,5,6, addingReplicas=6, removingReplicas=5)"
        ),
        reads={
            "controller_id": 1,
            "topic": "pay-in",
            "partition": 3,
            "replicas": [4, 5, 6],
            "adding_replicas": "6",
            "removing_replicas": "5",
        },
        since="2.4.0",
        until="3.9.2",
    ),
    Rule(
        "reassignment_path_updated",
        CONTROLLER,
        text="Updated path <assignment:path_assignment> for replica assignment",
        sample=(
            '[Controller id=1] Updated path /brokers/topics/pay-in with {"version":1,"partitions":{"3":[4,5,6]}} '
            "for replica assignment"
        ),
        reads={
            "controller_id": 1,
            "topic": "pay-in",
            "partitions": [{"topic": "pay-in", "partition": 3, "replicas": [4, 5, 6]}],
        },
        since="0.8.0",
        until="1.0.2",
    ),
    Rule(
        "reassignment_not_caught_up",
        CONTROLLER,
        text=(
            "New replicas <target_replicas:csv> for partition <tp> being reassigned not yet caught up with the leader"
        ),
        sample=(
            "[Controller id=1] New replicas 4,5 for partition pay-in-3 being reassigned not yet caught up with "
            "the leader"
        ),
        reads={"controller_id": 1, "target_replicas": "4,5", "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "reassignment_waiting_catch_up",
        CONTROLLER,
        text=(
            "Waiting for new replicas <target_replicas:csv> for partition <tp> being reassigned to catch up with "
            "the leader"
        ),
        sample=(
            "[Controller id=1] Waiting for new replicas 4,5 for partition pay-in-3 being reassigned to catch up "
            "with the leader"
        ),
        reads={"controller_id": 1, "target_replicas": "4,5", "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "reassignment_isr_listener_fired",
        CONTROLLER,
        text=(
            "Reassigned partitions isr change listener fired for path "
            "/brokers/topics/<topic>/partitions/<partition>/state with children <state:state>"
        ),
        sample=(
            "[ReassignedPartitionsIsrChangeListener on controller 1]: Reassigned partitions isr change listener "
            'fired for path /brokers/topics/pay-in/partitions/3/state with children {"controller_epoch":7,'
            '"leader":4,"version":1,"leader_epoch":12,"isr":[4,5]}'
        ),
        reads={
            "controller_id": 1,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "state_controller_epoch": "7",
        },
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "reassignment_caught_up",
        CONTROLLER,
        text=(
            "<caught_up_count:int>/<target_replica_count:int> replicas have caught up with the leader for "
            "partition <tp> being reassigned.<? ?>Resuming partition reassignment"
        ),
        sample=(
            "[Controller id=1] 23/23 replicas have caught up with the leader for partition pay-in-3 being "
            "reassigned. Resuming partition reassignment"
        ),
        reads={
            "controller_id": 1,
            "caught_up_count": "23",
            "target_replica_count": "23",
            "topic": "pay-in",
            "partition": 3,
        },
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "reassignment_caught_up",
        CONTROLLER,
        text=(
            "Target replicas <target_replicas:list> have all caught up with the leader for reassigning partition <tp>"
        ),
        sample=(
            "[Controller id=1] Target replicas Set(4, 5) have all caught up with the leader for reassigning "
            "partition pay-in-3"
        ),
        reads={"controller_id": 1, "target_replicas": "Set(4, 5)", "topic": "pay-in", "partition": 3},
        since="2.4.0",
        until="3.9.2",
    ),
    Rule(
        "reassignment_still_lagging",
        CONTROLLER,
        text=(
            "<caught_up_count:int>/<target_replica_count:int> replicas have caught up with the leader for "
            "partition <tp> being reassigned.<? ?>Replica(s) <lagging_replicas:csv> still need to catch up"
        ),
        sample=(
            "[Controller id=1] 23/23 replicas have caught up with the leader for partition pay-in-3 being "
            "reassigned. Replica(s) 4,5 still need to catch up"
        ),
        reads={
            "controller_id": 1,
            "caught_up_count": "23",
            "target_replica_count": "23",
            "topic": "pay-in",
            "partition": 3,
            "lagging_replicas": "4,5",
        },
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "reassignment_unknown_partition",
        CONTROLLER,
        text=(
            "Error handling reassignment of partition <tp> to replicas <target_replicas:csv> as it was never created"
        ),
        sample=(
            "[Controller id=1] Error handling reassignment of partition pay-in-3 to replicas 4,5 as it was never "
            "created"
        ),
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3, "target_replicas": "4,5"},
        since="0.8.0",
        until="2.3.1",
    ),
    Rule(
        "reassignment_unknown_partition",
        CONTROLLER,
        text="Ignoring request to reassign partition <tp> that doesn't exist.",
        sample="[Controller id=1] Ignoring request to reassign partition pay-in-3 that doesn't exist.",
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3},
        since="1.1.0",
        until="2.3.1",
    ),
    Rule(
        "reassignment_failed",
        CONTROLLER,
        text="Error while handling partition reassignment",
        sample=("[ReassignedPartitionsIsrChangeListener on controller 1]: Error while handling partition reassignment"),
        reads={"controller_id": 1},
        since="0.8.0",
        until="0.10.2.2",
    ),
    Rule(
        "reassignment_failed",
        CONTROLLER,
        text="Error completing reassignment of partition <tp>",
        sample="[Controller id=1] Error completing reassignment of partition pay-in-3",
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "reassignment_controller_moved",
        CONTROLLER,
        text=(
            "<?Error?><?Failed?> completing reassignment of partition <tp> because controller has moved to "
            "another broker"
        ),
        sample=(
            "[Controller id=1] Failed completing reassignment of partition pay-in-3 because controller has moved "
            "to another broker"
        ),
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3},
        since="2.1.0",
        until="3.9.2",
    ),
    Rule(
        "reassignment_skipped_deleting",
        CONTROLLER,
        text=(
            "Skipping reassignment of <?partition ?><tp><? for topic <_:topic>?> since <?it?><?the topic?> is "
            "currently being deleted"
        ),
        sample=(
            "[Controller id=1] Skipping reassignment of partition pay-in-3 since the topic is currently being deleted"
        ),
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "reassignment_already_assigned",
        CONTROLLER,
        text=(
            "Partition <tp> to be reassigned is already assigned to replicas <replicas:csv>. Ignoring request "
            "for partition reassignment."
        ),
        sample=(
            "[Controller id=1] Partition pay-in-3 to be reassigned is already assigned to replicas 4,5,6. "
            "Ignoring request for partition reassignment."
        ),
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3, "replicas": [4, 5, 6]},
        since="1.1.0",
        until="2.3.1",
    ),
    Rule(
        "reassignment_leader_not_in_new_replicas",
        CONTROLLER,
        text=(
            "Leader <leader> for partition <tp> being reassigned, is not in the new list of replicas "
            "<target_replicas:csv>. Re-electing leader"
        ),
        sample=(
            "[Controller id=1] Leader 4 for partition pay-in-3 being reassigned, is not in the new list of "
            "replicas 4,5. Re-electing leader"
        ),
        reads={"controller_id": 1, "leader": 4, "topic": "pay-in", "partition": 3, "target_replicas": "4,5"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "reassignment_leader_alive",
        CONTROLLER,
        text=(
            "Leader <leader> for partition <tp> being reassigned, is already in the new list of replicas "
            "<target_replicas:csv> and is alive"
        ),
        sample=(
            "[Controller id=1] Leader 4 for partition pay-in-3 being reassigned, is already in the new list of "
            "replicas 4,5 and is alive"
        ),
        reads={"controller_id": 1, "leader": 4, "topic": "pay-in", "partition": 3, "target_replicas": "4,5"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "reassignment_leader_dead",
        CONTROLLER,
        text=(
            "Leader <leader> for partition <tp> being reassigned, is already in the new list of replicas "
            "<target_replicas:csv> but is dead"
        ),
        sample=(
            "[Controller id=1] Leader 4 for partition pay-in-3 being reassigned, is already in the new list of "
            "replicas 4,5 but is dead"
        ),
        reads={"controller_id": 1, "leader": 4, "topic": "pay-in", "partition": 3, "target_replicas": "4,5"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "reassignment_removed_from_zk",
        CONTROLLER,
        text=(
            "Remov<?ed?><?ing?> partition<?s?> <partitions:named_replicas> from the list of reassigned "
            "partitions in zookeeper"
        ),
        sample=(
            "[Controller id=1] Removing partitions Map(pay-in-3 -> Buffer(4, 5)) from the list of reassigned "
            "partitions in zookeeper"
        ),
        reads={"controller_id": 1, "partitions": [{"topic": "pay-in", "partition": 3, "replicas": [4, 5]}]},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "reassignment_zk_path_deleted",
        CONTROLLER,
        text="No more partitions need to be reassigned. Deleting zk path /admin/reassign_partitions",
        sample=(
            "[Controller id=1] No more partitions need to be reassigned. Deleting zk path /admin/reassign_partitions"
        ),
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "reassignment_zk_failed",
        CONTROLLER,
        text="Failed reassignment through zk with the following errors: <results:results>",
        sample=(
            "[Controller id=1] Failed reassignment through zk with the following errors: Map(pay-in-3 -> "
            "ApiError(error=UNKNOWN_TOPIC_OR_PARTITION, message=gone))"
        ),
        reads={
            "controller_id": 1,
            "results": "Map(pay-in-3 -> ApiError(error=UNKNOWN_TOPIC_OR_PARTITION, message=gone))",
            "partitions": [{"topic": "pay-in", "partition": 3}],
        },
        since="2.4.0",
        until="3.9.2",
    ),
    Rule(
        "isr_notification_listener_registered",
        CONTROLLER,
        text="Registering IsrChangeNotificationListener",
        sample="[Controller id=1] Registering IsrChangeNotificationListener",
        reads={"controller_id": 1},
        since="0.9.0.0",
        until="1.0.2",
    ),
    Rule(
        "isr_notification_listener_deregistered",
        CONTROLLER,
        text="De-registering IsrChangeNotificationListener",
        sample="[Controller id=1] De-registering IsrChangeNotificationListener",
        reads={"controller_id": 1},
        since="0.9.0.0",
        until="1.0.2",
    ),
    Rule(
        "isr_notification_fired",
        CONTROLLER,
        text="Fired!!!",
        sample="[IsrChangeNotificationListener] Fired!!!",
        reads={},
        since="0.9.0.0",
        until="0.10.1.1",
    ),
    Rule(
        "isr_notification_fired",
        CONTROLLER,
        text="ISR change notification listener fired",
        sample="[IsrChangeNotificationListener on Controller 1]: ISR change notification listener fired",
        reads={"controller_id": 1},
        since="0.10.2.0",
        until="0.10.2.2",
    ),
    Rule(
        "isr_notification_update_metadata",
        CONTROLLER,
        text=(
            "Sending MetadataRequest to Brokers:<? ?><target_brokers:list> for "
            "Topic<?AndPartitions:?><?Partitions: ?><partitions>"
        ),
        sample=(
            "[Controller id=1] Sending MetadataRequest to Brokers: Set(4, 5) for TopicPartitions: pay-in-3,refunds-0"
        ),
        reads={
            "controller_id": 1,
            "target_brokers": "Set(4, 5)",
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="0.9.0.0",
        until="3.9.2",
    ),
    Rule(
        "isr_notification_invalid_json",
        CONTROLLER,
        text=(
            "Invalid topic and partition JSON<?: <_:text> in ZK: <znode:word>?><? in ZK. ZK notification node: "
            "<znode:word>, JSON: <_:rest>?>"
        ),
        sample=(
            "Invalid topic and partition JSON in ZK. ZK notification node: "
            '/isr_change_notification/isr_change_0000000031, JSON: {"version":1}'
        ),
        reads={"znode": "/isr_change_notification/isr_change_0000000031"},
        since="0.9.0.0",
        until="1.0.2",
    ),
    Rule(
        "alter_isr_rejected_unknown_broker",
        CONTROLLER,
        text="Ignoring AlterIsr due to unknown broker <broker>",
        sample="[Controller id=1] Ignoring AlterIsr due to unknown broker 6",
        reads={"controller_id": 1, "broker": "6"},
        since="2.7.0",
        until="3.1.2",
    ),
    Rule(
        "alter_partition_rejected_unknown_broker",
        CONTROLLER,
        text="Ignoring AlterPartition due to unknown broker <broker>",
        sample="[Controller id=1] Ignoring AlterPartition due to unknown broker 6",
        reads={"controller_id": 1, "broker": "6"},
        since="3.2.0",
        until="3.9.2",
    ),
    Rule(
        "alter_isr_rejected_stale_broker_epoch",
        CONTROLLER,
        text=("Ignoring AlterIsr" + STALE_EPOCH),
        sample=(
            "[Controller id=1] Ignoring AlterIsr due to stale broker epoch 23 and local broker epoch Some(348) "
            "for broker 6"
        ),
        reads={"controller_id": 1, "broker_epoch": "23", "current_broker_epoch": "348", "broker": "6"},
        since="2.7.0",
        until="3.1.2",
    ),
    Rule(
        "alter_partition_rejected_stale_broker_epoch",
        CONTROLLER,
        text=("Ignoring AlterPartition" + STALE_EPOCH),
        sample=(
            "[Controller id=1] Ignoring AlterPartition due to stale broker epoch 23 and local broker epoch "
            "Some(348) for broker 6"
        ),
        reads={"controller_id": 1, "broker_epoch": "23", "current_broker_epoch": "348", "broker": "6"},
        since="3.2.0",
        until="3.9.2",
    ),
    Rule(
        "alter_isr_updating",
        CONTROLLER,
        text="Updating ISRs for partitions: <partitions>.",
        sample="[Controller id=1] Updating ISRs for partitions: pay-in-3,refunds-0.",
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="2.7.0",
        until="3.9.2",
    ),
    Rule(
        "alter_isr_updated",
        CONTROLLER,
        text="ISR for partition <tp> updated to [<isr>] and zkVersion updated to [<partition_epoch>]",
        sample="[Controller id=1] ISR for partition pay-in-3 updated to [4, 5] and zkVersion updated to [31]",
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3, "isr": [4, 5], "partition_epoch": 31},
        since="2.7.0",
        until="3.2.3",
    ),
    Rule(
        "alter_isr_updated",
        CONTROLLER,
        text=("ISR for partition <tp> updated to " + LEADER_AND_ISR + "."),
        sample=(
            "[Controller id=1] ISR for partition pay-in-3 updated to LeaderAndIsr(leader=4, leaderEpoch=12, "
            "isrWithBrokerEpoch=List(BrokerState(brokerId=4, brokerEpoch=-1), BrokerState(brokerId=5, "
            "brokerEpoch=-1)), leaderRecoveryState=RECOVERED, partitionEpoch=31)."
        ),
        reads={
            "controller_id": 1,
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "leader_recovery_state": "RECOVERED",
            "partition_epoch": 31,
        },
        since="3.3.0",
        until="3.9.2",
    ),
    Rule(
        "alter_isr_failed",
        CONTROLLER,
        text="Failed to update ISR for partition <tp>",
        sample="[Controller id=1] Failed to update ISR for partition pay-in-3",
        reads={"controller_id": 1, "topic": "pay-in", "partition": 3},
        since="2.7.0",
        until="3.9.2",
    ),
    Rule(
        "alter_isr_failed_bad_version",
        CONTROLLER,
        text=("Failed to update ISR <?to " + LEADER_AND_ISR + " ?>for partition <tp>, bad ZK version<?.?>"),
        sample=(
            "[Controller id=1] Failed to update ISR to LeaderAndIsr(leader=4, leaderEpoch=12, "
            "isrWithBrokerEpoch=List(BrokerState(brokerId=4, brokerEpoch=-1), BrokerState(brokerId=5, "
            "brokerEpoch=-1)), leaderRecoveryState=RECOVERED, partitionEpoch=31) for partition pay-in-3, bad ZK "
            "version."
        ),
        reads={
            "controller_id": 1,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "leader_recovery_state": "RECOVERED",
            "partition_epoch": 31,
            "topic": "pay-in",
            "partition": 3,
        },
        since="2.7.0",
        until="3.9.2",
    ),
    Rule(
        "alter_isr_error",
        CONTROLLER,
        text="Error when processing AlterIsr for partitions: <partitions>",
        sample="[Controller id=1] Error when processing AlterIsr for partitions: pay-in-3,refunds-0",
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="2.7.0",
        until="3.1.2",
    ),
    Rule(
        "alter_partition_error",
        CONTROLLER,
        text="Error when processing AlterPartition for partitions: <partitions>",
        sample="[Controller id=1] Error when processing AlterPartition for partitions: pay-in-3,refunds-0",
        reads={
            "controller_id": 1,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
        },
        since="3.2.0",
        until="3.2.3",
    ),
    Rule(
        "alter_partition_error",
        CONTROLLER,
        text=(
            "Error when processing AlterPartition: AlterPartitionRequestData(brokerId=<broker>, "
            "brokerEpoch=<broker_epoch:int>, topics=<partitions:alter_request>)"
        ),
        sample=(
            "[Controller id=1] Error when processing AlterPartition: AlterPartitionRequestData(brokerId=6, "
            "brokerEpoch=23, topics=[TopicData(topicName='pay-in', topicId=h5K2vX8bQ0-3mJtR_wYz1A, "
            "partitions=[PartitionData(partitionIndex=3, leaderEpoch=12, newIsr=[4, 5], leaderRecoveryState=0, "
            "partitionEpoch=31)])])"
        ),
        reads={
            "controller_id": 1,
            "broker": "6",
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
        since="3.3.0",
        until="3.9.2",
    ),
    Rule(
        "alter_partition_rejected_recovering",
        CONTROLLER,
        text=(
            "Rejecting AlterPartition from node <broker> for <tp> because leader is recovering and ISR is "
            "greater than 1: " + LEADER_AND_ISR
        ),
        sample=(
            "[Controller id=1] Rejecting AlterPartition from node 6 for pay-in-3 because leader is recovering "
            "and ISR is greater than 1: LeaderAndIsr(leader=4, leaderEpoch=12, "
            "isrWithBrokerEpoch=List(BrokerState(brokerId=4, brokerEpoch=-1), BrokerState(brokerId=5, "
            "brokerEpoch=-1)), leaderRecoveryState=RECOVERED, partitionEpoch=31)"
        ),
        reads={
            "controller_id": 1,
            "broker": "6",
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "leader_recovery_state": "RECOVERED",
            "partition_epoch": 31,
        },
        since="3.2.0",
        until="3.9.2",
    ),
    Rule(
        "alter_partition_rejected_recovery_state",
        CONTROLLER,
        text=(
            "Rejecting AlterPartition from node <broker> for <tp> because the leader recovery state cannot "
            "change from RECOVERED to RECOVERING: " + LEADER_AND_ISR
        ),
        sample=(
            "[Controller id=1] Rejecting AlterPartition from node 6 for pay-in-3 because the leader recovery "
            "state cannot change from RECOVERED to RECOVERING: LeaderAndIsr(leader=4, leaderEpoch=12, "
            "isrWithBrokerEpoch=List(BrokerState(brokerId=4, brokerEpoch=-1), BrokerState(brokerId=5, "
            "brokerEpoch=-1)), leaderRecoveryState=RECOVERED, partitionEpoch=31)"
        ),
        reads={
            "controller_id": 1,
            "broker": "6",
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "leader_epoch": 12,
            "isr": [4, 5],
            "leader_recovery_state": "RECOVERED",
            "partition_epoch": 31,
        },
        since="3.2.0",
        until="3.9.2",
    ),
    Rule(
        "alter_partition_rejected_ineligible",
        CONTROLLER,
        text=(
            "Rejecting AlterPartition request from node <broker> for <tp> because it specified ineligible "
            "replicas <ineligible_replicas:list> in the new ISR <isr:list>."
        ),
        sample=(
            "[Controller id=1] Rejecting AlterPartition request from node 6 for pay-in-3 because it specified "
            "ineligible replicas Set(4, 5) in the new ISR List(4, 5)."
        ),
        reads={
            "controller_id": 1,
            "broker": "6",
            "topic": "pay-in",
            "partition": 3,
            "ineligible_replicas": "Set(4, 5)",
            "isr": [4, 5],
        },
        since="3.3.0",
        until="3.9.2",
    ),
    Rule(
        "log_dir_event_listener_registered",
        CONTROLLER,
        text="Registering logDirEventNotificationListener",
        sample="[Controller id=1] Registering logDirEventNotificationListener",
        reads={"controller_id": 1},
        since="1.0.0",
        until="1.0.2",
    ),
    Rule(
        "log_dir_event_listener_deregistered",
        CONTROLLER,
        text="De-registering logDirEventNotificationListener",
        sample="[Controller id=1] De-registering logDirEventNotificationListener",
        reads={"controller_id": 1},
        since="1.0.0",
        until="1.0.2",
    ),
    Rule(
        "log_dir_failure_handling",
        CONTROLLER,
        text="Handling log directory failure for brokers <brokers:csv>",
        sample="[Controller id=1] Handling log directory failure for brokers 4,5",
        reads={"controller_id": 1, "brokers": "4,5"},
        since="2.2.0",
        until="3.9.2",
    ),
    Rule(
        "controller_request_dropped_broker_offline",
        CONTROLLER,
        text="Not sending request <request:request> to broker <target_broker:int>, since it is offline.",
        sample=(
            "[Channel manager on controller 1]: Not sending request (type=StopReplicaRequest, controllerId=1, "
            "controllerEpoch=8, deletePartitions=false, brokerEpoch=348, partitions=pay-in-3,refunds-0) to "
            "broker 4, since it is offline."
        ),
        reads={
            "controller_id": 1,
            "api": "STOP_REPLICA",
            "broker_epoch": "348",
            "delete_partition": "false",
            "controller_epoch": 8,
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
            "target_broker": "4",
        },
        since="0.8.2.0",
        until="3.9.2",
    ),
    Rule(
        "controller_connecting_to_broker",
        CONTROLLER,
        text="Controller <controller_id> trying to connect to broker <target_broker:int>",
        sample="[Channel manager on controller 1]: Controller 1 trying to connect to broker 4",
        reads={"controller_id": 1, "target_broker": "4"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controller_connected_to_broker",
        CONTROLLER,
        text=("Controller <controller_id> connected to " + NODE + " for sending state change requests"),
        sample=(
            "[RequestSendThread controllerId=1] Controller 1 connected to k4.pay:9092 (id: 4 rack: c) for "
            "sending state change requests"
        ),
        reads={"controller_id": 1, "target_broker": "4"},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "controller_connection_failed",
        CONTROLLER,
        text=("Controller <controller_id>'s connection to broker " + NODE + " was unsuccessful"),
        sample=(
            "[RequestSendThread controllerId=1] Controller 1's connection to broker k4.pay:9092 (id: 4 rack: c) "
            "was unsuccessful"
        ),
        reads={"controller_id": 1, "target_broker": "4"},
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "controller_request_send_failed",
        CONTROLLER,
        text=("Controller <controller_id> fails to send a request to broker " + NODE),
        sample=(
            "[Controller-1-to-broker-4-send-thread], Controller 1 fails to send a request to broker k4.pay:9092 "
            "(id: 4 rack: c)"
        ),
        reads={"controller_id": 1, "target_broker": "4"},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controller_request_retry",
        CONTROLLER,
        text=(
            "Controller <controller_id> epoch <controller_epoch> fail<?s?><?ed?> to send <?request "
            "?><request:request> to broker " + NODE + ". Reconnecting to broker."
        ),
        sample=(
            "[RequestSendThread controllerId=1] Controller 1 epoch 8 fails to send request "
            "(type=StopReplicaRequest, controllerId=1, controllerEpoch=8, deletePartitions=false, "
            "brokerEpoch=348, partitions=pay-in-3,refunds-0) to broker k4.pay:9092 (id: 4 rack: c). Reconnecting "
            "to broker."
        ),
        reads={
            "controller_id": 1,
            "controller_epoch": 8,
            "api": "STOP_REPLICA",
            "broker_epoch": "348",
            "delete_partition": "false",
            "partitions": [{"topic": "pay-in", "partition": 3}, {"topic": "refunds", "partition": 0}],
            "target_broker": "4",
        },
        since="0.8.1",
        until="3.9.2",
    ),
    Rule(
        "controller_remove_broker_failed",
        CONTROLLER,
        text="Error while removing broker by the controller",
        sample="[Channel manager on controller 1]: Error while removing broker by the controller",
        reads={"controller_id": 1},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "update_metadata_skipped_no_leader",
        CONTROLLER,
        text=(
            "Leader not <?assigned yet?><?yet assigned?> for partition <tp>. Skip sending <?udpate metadata "
            "request?><?UpdateMetadataRequest.?>"
        ),
        sample="Leader not yet assigned for partition pay-in-3. Skip sending UpdateMetadataRequest.",
        reads={"topic": "pay-in", "partition": 3},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "stop_replica_batch",
        CONTROLLER,
        text=(
            "The stop replica request (delete = <delete_partition:word>) sent to broker <target_broker:int> is "
            "<replicas:replicas_list>"
        ),
        sample=(
            "The stop replica request (delete = true) sent to broker 4 is [Topic=pay-in,Partition=3,Replica=4],"
            "[Topic=pay-in,Partition=3,Replica=5]"
        ),
        reads={
            "delete_partition": "true",
            "target_broker": "4",
            "replicas_list": "[Topic=pay-in,Partition=3,Replica=4],[Topic=pay-in,Partition=3,Replica=5]",
            "partitions": [{"topic": "pay-in", "partition": 3}],
        },
        since="0.8.0",
        until="2.5.1",
    ),
    Rule(
        "controller_batch_leader_and_isr_unsent",
        CONTROLLER,
        text=(
            "Haven't been able to send leader and isr requests, current state of the map is "
            "Map(<partitions:unsent>)<?. Exception message: <error:rest>?>"
        ),
        sample=(
            "Haven't been able to send leader and isr requests, current state of the map is Map(4 -> "
            "Map(pay-in-3 -> LeaderAndIsrPartitionState(topicName='pay-in', partitionIndex=3, controllerEpoch=7, "
            "leader=4, leaderEpoch=12, isr=[4, 5], partitionEpoch=31, replicas=[4, 5, 6], addingReplicas=[], "
            "removingReplicas=[], isNew=false, leaderRecoveryState=0))). Exception message: "
            "java.lang.IllegalStateException: shutting down"
        ),
        reads={
            "partitions": [
                {
                    "topic": "pay-in",
                    "partition": 3,
                    "leader": 4,
                    "leader_epoch": 12,
                    "partition_epoch": 31,
                    "controller_epoch": 7,
                    "isr": [4, 5],
                    "replicas": [4, 5, 6],
                    "adding_replicas": [],
                    "removing_replicas": [],
                }
            ],
            "error": "java.lang.IllegalStateException: shutting down",
        },
        since="0.9.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_batch_update_metadata_unsent",
        CONTROLLER,
        text=(
            "Haven't been able to send metadata update requests<? to brokers <target_brokers:list>?>, current "
            "state of the <?map?><?partition info?> is <partitions:unsent><?. Exception message: <error:rest>?>"
        ),
        sample=(
            "Haven't been able to send metadata update requests to brokers Set(4, 5), current state of the "
            "partition info is Map(pay-in-3 -> UpdateMetadataPartitionState(topicName='pay-in', "
            "partitionIndex=3, controllerEpoch=7, leader=4, leaderEpoch=12, isr=[4, 5], zkVersion=31, "
            "replicas=[4, 5, 6], offlineReplicas=[6])). Exception message: java.lang.IllegalStateException: "
            "shutting down"
        ),
        reads={
            "target_brokers": "Set(4, 5)",
            "partitions": [
                {
                    "topic": "pay-in",
                    "partition": 3,
                    "leader": 4,
                    "leader_epoch": 12,
                    "partition_epoch": 31,
                    "controller_epoch": 7,
                    "isr": [4, 5],
                    "replicas": [4, 5, 6],
                    "offline_replicas": [6],
                }
            ],
            "error": "java.lang.IllegalStateException: shutting down",
        },
        since="0.9.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_batch_stop_replica_unsent",
        CONTROLLER,
        text=(
            "Haven't been able to send stop replica requests, current state of the map is <partitions:unsent><?. "
            "Exception message: <error:rest>?>"
        ),
        sample=(
            "Haven't been able to send stop replica requests, current state of the map is Map(4 -> "
            "ListBuffer(StopReplicaRequestInfo([Topic=pay-in,Partition=3,Replica=4],true))). Exception message: "
            "java.lang.IllegalStateException: shutting down"
        ),
        reads={
            "partitions": [{"topic": "pay-in", "partition": 3}],
            "error": "java.lang.IllegalStateException: shutting down",
        },
        since="0.9.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_event_failed",
        CONTROLLER,
        text="Error processing event <event:rest>",
        sample="[ControllerEventThread controllerId=1] Error processing event BrokerChange",
        reads={"controller_id": 1, "event": "BrokerChange"},
        since="0.11.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_event_listener_failed",
        CONTROLLER,
        text="Error while invoking listener for processed event <event:rest>",
        sample=(
            "[ControllerEventThread controllerId=1] Error while invoking listener for processed event BrokerChange"
        ),
        reads={"controller_id": 1, "event": "BrokerChange"},
        since="0.11.0.0",
        until="2.2.2",
    ),
    Rule(
        "controller_event_uncaught",
        CONTROLLER,
        text="Uncaught error processing event <event:rest>",
        sample="[ControllerEventThread controllerId=1] Uncaught error processing event BrokerChange",
        reads={"controller_id": 1, "event": "BrokerChange"},
        since="2.3.0",
        until="3.9.2",
    ),
    Rule(
        "controller_event_controller_moved",
        CONTROLLER,
        text="Controller moved to another broker when processing <event:text>.",
        sample=(
            "[ControllerEventThread controllerId=1] Controller moved to another broker when processing BrokerChange."
        ),
        reads={"controller_id": 1, "event": "BrokerChange"},
        since="2.1.0",
        until="3.9.2",
    ),
    Rule(
        "controller_event_unexpected",
        CONTROLLER,
        text="Received a <event:word> event. This type of event is supposed to be handle by ControllerEventThread",
        sample=(
            "[Controller id=1] Received a BrokerChange event. This type of event is supposed to be handle by "
            "ControllerEventThread"
        ),
        reads={"controller_id": 1, "event": "BrokerChange"},
        since="2.4.0",
        until="3.9.2",
    ),
    Rule(
        "feature_znode_written",
        CONTROLLER,
        text="<?Creating?><?Updating?> FeatureZNode at path: <path:word> with contents: <contents:rest>",
        sample=(
            "[Controller id=1] Creating FeatureZNode at path: /feature with contents: FeatureZNode(2,Enabled,Map())"
        ),
        reads={"controller_id": 1, "path": "/feature", "contents": "FeatureZNode(2,Enabled,Map())"},
        since="2.7.0",
        until="3.9.2",
    ),
    Rule(
        "producer_ids_rejected_unknown_broker",
        CONTROLLER,
        text="Ignoring AllocateProducerIds due to unknown broker <broker>",
        sample="[Controller id=1] Ignoring AllocateProducerIds due to unknown broker 6",
        reads={"controller_id": 1, "broker": "6"},
        since="3.0.0",
        until="3.9.2",
    ),
    Rule(
        "producer_ids_rejected_stale_broker_epoch",
        CONTROLLER,
        text="Ignoring AllocateProducerIds due to stale broker epoch <broker_epoch:int> for broker <broker>",
        sample="[Controller id=1] Ignoring AllocateProducerIds due to stale broker epoch 23 for broker 6",
        reads={"controller_id": 1, "broker_epoch": "23", "broker": "6"},
        since="3.0.0",
        until="3.9.2",
    ),
    Rule(
        "controller_thread_starting",
        CONTROLLER,
        text="Starting<? ?>",
        sample="[RequestSendThread controllerId=1] Starting",
        reads={"controller_id": 1},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controller_thread_stopped",
        CONTROLLER,
        text="Stopped<? ?>",
        sample="[RequestSendThread controllerId=1] Stopped",
        reads={"controller_id": 1},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controller_thread_stopping",
        CONTROLLER,
        text="Shutting down",
        sample="[RequestSendThread controllerId=1] Shutting down",
        reads={"controller_id": 1},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controller_thread_stop_completed",
        CONTROLLER,
        text="Shutdown completed",
        sample="[RequestSendThread controllerId=1] Shutdown completed",
        reads={"controller_id": 1},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "controller_thread_error",
        CONTROLLER,
        text="Error due to<? ?>",
        sample="[RequestSendThread controllerId=1] Error due to",
        reads={"controller_id": 1},
        since="0.8.0",
        until="3.9.2",
    ),
    Rule(
        "noise_jmx_logger_registered",
        CONTROLLER,
        text="PreRegister called. Server=<_:word>, name=log4j:logger=<log4j_logger:word>",
        sample=(
            "PreRegister called. Server=com.sun.jmx.mbeanserver.JmxMBeanServer@1b2c3d4e, "
            "name=log4j:logger=kafka.controller"
        ),
        reads={"log4j_logger": "kafka.controller"},
        since="0.8.0",
        until="3.1.0",
    ),
    Rule(
        "controller_thread_stopping",
        CONTROLLER,
        text="ShutdownInitiated latch count reached zero. Shutdown called.",
        sample="[RequestSendThread controllerId=1] ShutdownInitiated latch count reached zero. Shutdown called.",
        reads={"controller_id": 1},
        since="1.1.0",
        until="3.9.2",
    ),
    Rule(
        "producer_ids_block_acquired",
        CONTROLLER,
        text="Acquired new producerId block <block:text> by writing to Zk with path version <zk_path_version:int>",
        sample=(
            "[Controller id=1] Acquired new producerId block ProducerIdsBlock(assignedBrokerId=4, "
            "firstProducerId=0, size=1000) by writing to Zk with path version 1"
        ),
        reads={
            "controller_id": 1,
            "block": "ProducerIdsBlock(assignedBrokerId=4, firstProducerId=0, size=1000)",
            "zk_path_version": "1",
        },
        since="3.0.0",
        until="3.9.2",
    ),
    Rule(
        "producer_ids_block_read",
        CONTROLLER,
        text="Read current producerId block <block:text>, Zk path version <zk_path_version:int>",
        sample=(
            "[Controller id=1] Read current producerId block ProducerIdsBlock(assignedBrokerId=4, "
            "firstProducerId=0, size=1000), Zk path version 1"
        ),
        reads={
            "controller_id": 1,
            "block": "ProducerIdsBlock(assignedBrokerId=4, firstProducerId=0, size=1000)",
            "zk_path_version": "1",
        },
        since="3.0.0",
        until="3.9.2",
    ),
    Rule(
        "producer_ids_block_missing",
        CONTROLLER,
        text="There is no producerId block yet (Zk path version <zk_path_version:int>), creating the first block",
        sample="[Controller id=1] There is no producerId block yet (Zk path version 1), creating the first block",
        reads={"controller_id": 1, "zk_path_version": "1"},
        since="3.0.0",
        until="3.9.2",
    ),
    Rule(
        "feature_znode_inconsistent",
        CONTROLLER,
        text="FeatureZNode at path: <path:word> with disabled status contains non-empty features: <contents:rest>",
        sample=(
            "[Controller id=1] FeatureZNode at path: /feature with disabled status contains non-empty features: "
            "Features{}"
        ),
        reads={"controller_id": 1, "path": "/feature", "contents": "Features{}"},
        since="2.7.0",
        until="3.9.2",
    ),
    Rule(
        "feature_update_failed",
        CONTROLLER,
        text="Processing of feature updates: <request:text> failed due to error: <error:rest>",
        sample=(
            "[Controller id=1] Processing of feature updates: UpdateFeaturesRequestData(timeoutMs=60000) failed "
            "due to error: org.apache.kafka.common.errors.FeatureUpdateFailedException: refused"
        ),
        reads={
            "controller_id": 1,
            "request": "UpdateFeaturesRequestData(timeoutMs=60000)",
            "error": "org.apache.kafka.common.errors.FeatureUpdateFailedException: refused",
        },
        since="2.7.0",
        until="3.9.2",
    ),
)
