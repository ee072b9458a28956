"""Brokers and controllers in the KRaft controller: registration, fencing, controlled shutdown."""

from __future__ import annotations

from udfs.rules.rule import Rule

CLUSTER = ("org.apache.kafka.controller.ClusterControlManager",)
HEARTBEAT = ("org.apache.kafka.controller.BrokerHeartbeatManager",)

RULES: tuple[Rule, ...] = (
    Rule(
        "kraft_broker_registered",
        CLUSTER,
        text="Replayed <kind:wording> broker <_:int>: <record:printed>",
        sample=(
            "[QuorumController id=101] Replayed RegisterBrokerRecord establishing a new incarnation of "
            "broker 4: RegisterBrokerRecord(brokerId=4, isMigratingZkBroker=false, "
            "incarnationId=q1WeRtYuIo-pAsDfGhJk_L, brokerEpoch=300, "
            "endPoints=[BrokerEndpoint(name='PLAINTEXT', host='node4.example.org', port=9092, "
            "securityProtocol=0)], features=[BrokerFeature(name='metadata.version', minSupportedVersion=7, "
            "maxSupportedVersion=27)], rack='east', fenced=true, inControlledShutdown=false, "
            "logDirs=[r7YzA2bCdE9fGhIj_KlMnO])"
        ),
        reads={
            "controller_id": 101,
            "kind": "new_incarnation",
            "broker": "4",
            "is_migrating_zk_broker": "false",
            "incarnation_id": "q1WeRtYuIo-pAsDfGhJk_L",
            "broker_epoch": "300",
            "listeners": "[BrokerEndpoint(name='PLAINTEXT', host='node4.example.org', port=9092, securityProtocol=0)]",
            "features": "[BrokerFeature(name='metadata.version', minSupportedVersion=7, maxSupportedVersion=27)]",
            "rack": "east",
            "fenced": "true",
            "in_controlled_shutdown": "false",
            "log_dirs": '["r7YzA2bCdE9fGhIj_KlMnO"]',
        },
        since="3.6.0",
    ),
    Rule(
        "kraft_broker_registered",
        CLUSTER,
        text="Registered <kind:new> broker: <record:printed>",
        sample=(
            "[Controller 101] Registered new broker: RegisterBrokerRecord(brokerId=4, "
            "incarnationId=q1WeRtYuIo-pAsDfGhJk_L, brokerEpoch=300, endPoints=[], features=[], rack=null, "
            "fenced=true)"
        ),
        reads={
            "controller_id": 101,
            "kind": "new",
            "broker": "4",
            "incarnation_id": "q1WeRtYuIo-pAsDfGhJk_L",
            "broker_epoch": "300",
            "listeners": "[]",
            "features": "[]",
            "fenced": "true",
        },
        since="2.8.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_broker_registered",
        CLUSTER,
        text="Re-registered <kind:wording><? <_:int>?>: <record:printed>",
        sample=(
            "[Controller 101] Re-registered broker incarnation: RegisterBrokerRecord(brokerId=4, "
            "incarnationId=q1WeRtYuIo-pAsDfGhJk_L, brokerEpoch=300, endPoints=[], features=[], rack=null, "
            "fenced=true)"
        ),
        reads={
            "controller_id": 101,
            "kind": "same_incarnation",
            "broker": "4",
            "incarnation_id": "q1WeRtYuIo-pAsDfGhJk_L",
            "broker_epoch": "300",
            "listeners": "[]",
            "features": "[]",
            "fenced": "true",
        },
        since="2.8.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_broker_unregistered",
        CLUSTER,
        text="Replayed UnregisterBrokerRecord(brokerId=<broker>, brokerEpoch=<broker_epoch:int>)",
        sample="[QuorumController id=101] Replayed UnregisterBrokerRecord(brokerId=4, brokerEpoch=300)",
        reads={"controller_id": 101, "broker": "4", "broker_epoch": "300"},
        since="3.6.0",
    ),
    Rule(
        "kraft_broker_unregistered",
        CLUSTER,
        text="Unregistered broker: UnregisterBrokerRecord(brokerId=<broker>, brokerEpoch=<broker_epoch:int>)",
        sample="[Controller 101] Unregistered broker: UnregisterBrokerRecord(brokerId=4, brokerEpoch=300)",
        reads={"controller_id": 101, "broker": "4", "broker_epoch": "300"},
        since="2.8.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_broker_unregistered",
        CLUSTER,
        text="Removed broker: <broker>",
        sample="[Controller 101] Removed broker: 4",
        reads={"controller_id": 101, "broker": "4"},
        since="3.3.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_broker_fenced",
        CLUSTER,
        text=(
            "Replayed FenceBrokerRecord modifying the registration for broker <_:int>: "
            "FenceBrokerRecord(id=<broker>, epoch=<broker_epoch:int>)"
        ),
        sample=(
            "[QuorumController id=101] Replayed FenceBrokerRecord modifying the registration for broker 4: "
            "FenceBrokerRecord(id=4, epoch=300)"
        ),
        reads={"controller_id": 101, "broker": "4", "broker_epoch": "300"},
        since="3.6.0",
    ),
    Rule(
        "kraft_broker_fenced",
        CLUSTER,
        text="Fenced broker: FenceBrokerRecord(id=<broker>, epoch=<broker_epoch:int>)",
        sample="[Controller 101] Fenced broker: FenceBrokerRecord(id=4, epoch=300)",
        reads={"controller_id": 101, "broker": "4", "broker_epoch": "300"},
        since="2.8.0",
        until="3.2.3",
    ),
    Rule(
        "kraft_broker_fenced",
        CLUSTER,
        text="Fenced broker: <broker>",
        sample="[Controller 101] Fenced broker: 4",
        reads={"controller_id": 101, "broker": "4"},
        since="3.3.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_broker_fenced",
        CLUSTER,
        text="Added <kind:new> fenced broker: <broker>",
        sample="[Controller 101] Added new fenced broker: 4",
        reads={"controller_id": 101, "kind": "new", "broker": "4"},
        since="3.3.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_broker_fenced",
        CLUSTER,
        text=(
            "Replayed BrokerRegistrationChangeRecord modifying the registration for broker <broker>: "
            "BrokerRegistrationChangeRecord(brokerId=<_:int>, brokerEpoch=<broker_epoch:int>, "
            "fenced=<fenced_change:one>, inControlledShutdown=<in_controlled_shutdown_change:int><?, "
            "logDirs=<log_dirs:log_dirs>?><?, cordonedLogDirs=<cordoned_log_dirs:cordoned_log_dirs>?>)"
        ),
        sample=(
            "[QuorumController id=101] Replayed BrokerRegistrationChangeRecord modifying the registration "
            "for broker 4: BrokerRegistrationChangeRecord(brokerId=4, brokerEpoch=300, fenced=1, "
            "inControlledShutdown=0, logDirs=[])"
        ),
        reads={
            "controller_id": 101,
            "broker": "4",
            "broker_epoch": "300",
            "fenced_change": "1",
            "in_controlled_shutdown_change": "0",
            "log_dirs": "[]",
        },
        since="3.6.0",
    ),
    Rule(
        "kraft_broker_unfenced",
        CLUSTER,
        text=(
            "Replayed UnfenceBrokerRecord modifying the registration for broker <_:int>: "
            "UnfenceBrokerRecord(id=<broker>, epoch=<broker_epoch:int>)"
        ),
        sample=(
            "[QuorumController id=101] Replayed UnfenceBrokerRecord modifying the registration for broker 4: "
            "UnfenceBrokerRecord(id=4, epoch=300)"
        ),
        reads={"controller_id": 101, "broker": "4", "broker_epoch": "300"},
        since="3.6.0",
    ),
    Rule(
        "kraft_broker_unfenced",
        CLUSTER,
        text="Unfenced broker: UnfenceBrokerRecord(id=<broker>, epoch=<broker_epoch:int>)",
        sample="[Controller 101] Unfenced broker: UnfenceBrokerRecord(id=4, epoch=300)",
        reads={"controller_id": 101, "broker": "4", "broker_epoch": "300"},
        since="2.8.0",
        until="3.2.3",
    ),
    Rule(
        "kraft_broker_unfenced",
        CLUSTER,
        text="Unfenced broker: <broker>",
        sample="[Controller 101] Unfenced broker: 4",
        reads={"controller_id": 101, "broker": "4"},
        since="3.3.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_broker_unfenced",
        CLUSTER,
        text="Added <kind:new> unfenced broker: <broker>",
        sample="[Controller 101] Added new unfenced broker: 4",
        reads={"controller_id": 101, "kind": "new", "broker": "4"},
        since="3.3.0",
        until="3.5.2",
    ),
    Rule(
        "kraft_broker_unfenced",
        CLUSTER,
        text=(
            "Replayed BrokerRegistrationChangeRecord modifying the registration for broker <broker>: "
            "BrokerRegistrationChangeRecord(brokerId=<_:int>, brokerEpoch=<broker_epoch:int>, "
            "fenced=<fenced_change:minus_one>, inControlledShutdown=<in_controlled_shutdown_change:int><?, "
            "logDirs=<log_dirs:log_dirs>?><?, cordonedLogDirs=<cordoned_log_dirs:cordoned_log_dirs>?>)"
        ),
        sample=(
            "[QuorumController id=101] Replayed BrokerRegistrationChangeRecord modifying the registration "
            "for broker 4: BrokerRegistrationChangeRecord(brokerId=4, brokerEpoch=300, fenced=-1, "
            "inControlledShutdown=0, logDirs=[])"
        ),
        reads={
            "controller_id": 101,
            "broker": "4",
            "broker_epoch": "300",
            "fenced_change": "-1",
            "in_controlled_shutdown_change": "0",
            "log_dirs": "[]",
        },
        since="3.6.0",
    ),
    Rule(
        "kraft_broker_controlled_shutdown_replayed",
        CLUSTER,
        text=(
            "Replayed BrokerRegistrationChangeRecord modifying the registration for broker <broker>: "
            "BrokerRegistrationChangeRecord(brokerId=<_:int>, brokerEpoch=<broker_epoch:int>, "
            "fenced=<fenced_change:zero>, inControlledShutdown=<in_controlled_shutdown_change:one><?, "
            "logDirs=<log_dirs:log_dirs>?><?, cordonedLogDirs=<cordoned_log_dirs:cordoned_log_dirs>?>)"
        ),
        sample=(
            "[QuorumController id=101] Replayed BrokerRegistrationChangeRecord modifying the registration "
            "for broker 4: BrokerRegistrationChangeRecord(brokerId=4, brokerEpoch=300, fenced=0, "
            "inControlledShutdown=1, logDirs=[])"
        ),
        reads={
            "controller_id": 101,
            "broker": "4",
            "broker_epoch": "300",
            "fenced_change": "0",
            "in_controlled_shutdown_change": "1",
            "log_dirs": "[]",
        },
        since="3.6.0",
    ),
    Rule(
        "kraft_broker_registration_changed",
        CLUSTER,
        text=(
            "Replayed BrokerRegistrationChangeRecord modifying the registration for broker <broker>: "
            "BrokerRegistrationChangeRecord(brokerId=<_:int>, brokerEpoch=<broker_epoch:int>, "
            "fenced=<fenced_change:zero>, inControlledShutdown=<in_controlled_shutdown_change:zero><?, "
            "logDirs=<log_dirs:log_dirs>?><?, cordonedLogDirs=<cordoned_log_dirs:cordoned_log_dirs>?>)"
        ),
        sample=(
            "[QuorumController id=101] Replayed BrokerRegistrationChangeRecord modifying the registration "
            "for broker 4: BrokerRegistrationChangeRecord(brokerId=4, brokerEpoch=300, fenced=0, "
            "inControlledShutdown=0, logDirs=[], cordonedLogDirs=[r7YzA2bCdE9fGhIj_KlMnO])"
        ),
        reads={
            "controller_id": 101,
            "broker": "4",
            "broker_epoch": "300",
            "fenced_change": "0",
            "in_controlled_shutdown_change": "0",
            "log_dirs": "[]",
            "cordoned_log_dirs": '["r7YzA2bCdE9fGhIj_KlMnO"]',
        },
        since="3.7.0",
    ),
    Rule(
        "kraft_broker_registration_noop",
        CLUSTER,
        text="Ignoring no-op registration change for <registration:broker_registration>",
        sample=(
            "[QuorumController id=101] Ignoring no-op registration change for BrokerRegistration(id=4, "
            "epoch=300, incarnationId=q1WeRtYuIo-pAsDfGhJk_L, listeners=[Endpoint(listenerName='PLAINTEXT', "
            "securityProtocol=PLAINTEXT, host='node4.example.org', port=9092)], "
            "supportedFeatures={metadata.version: 7-27}, rack=Optional[east], fenced=true, "
            "inControlledShutdown=true, isMigratingZkBroker=false, directories=[r7YzA2bCdE9fGhIj_KlMnO])"
        ),
        reads={
            "controller_id": 101,
            "broker": "4",
            "broker_epoch": "300",
            "incarnation_id": "q1WeRtYuIo-pAsDfGhJk_L",
            "listeners": (
                "[Endpoint(listenerName='PLAINTEXT', securityProtocol=PLAINTEXT, host='node4.example.org', port=9092)]"
            ),
            "supported_features": "{metadata.version: 7-27}",
            "fenced": "true",
            "in_controlled_shutdown": "true",
            "is_migrating_zk_broker": "false",
            "log_dirs": '["r7YzA2bCdE9fGhIj_KlMnO"]',
            "rack": "east",
        },
        since="3.3.0",
    ),
    Rule(
        "kraft_broker_registering",
        CLUSTER,
        text=(
            "No previous registration found for broker <broker>. New incarnation ID is "
            "<incarnation_id:uuid>.  Generated <cleanup_record_count:int> record(s) to clean up previous "
            "incarnations. New broker epoch is <broker_epoch:int>."
        ),
        sample=(
            "[QuorumController id=101] No previous registration found for broker 4. New incarnation ID is "
            "q1WeRtYuIo-pAsDfGhJk_L.  Generated 0 record(s) to clean up previous incarnations. New broker "
            "epoch is 300."
        ),
        reads={
            "controller_id": 101,
            "broker": "4",
            "incarnation_id": "q1WeRtYuIo-pAsDfGhJk_L",
            "cleanup_record_count": "0",
            "broker_epoch": "300",
        },
        since="3.9.0",
    ),
    Rule(
        "kraft_broker_registering",
        CLUSTER,
        text=(
            "Registering a new incarnation of broker <broker>. Previous incarnation ID was "
            "<previous_incarnation_id:uuid>; new incarnation ID is <incarnation_id:uuid>. Generated "
            "<cleanup_record_count:int> record(s) to clean up previous incarnations. Broker epoch will "
            "become <broker_epoch:int>."
        ),
        sample=(
            "[QuorumController id=101] Registering a new incarnation of broker 4. Previous incarnation ID "
            "was d8FgH1jKLm-NoPq_RsTu5w; new incarnation ID is q1WeRtYuIo-pAsDfGhJk_L. Generated 3 record(s) "
            "to clean up previous incarnations. Broker epoch will become 300."
        ),
        reads={
            "controller_id": 101,
            "broker": "4",
            "previous_incarnation_id": "d8FgH1jKLm-NoPq_RsTu5w",
            "incarnation_id": "q1WeRtYuIo-pAsDfGhJk_L",
            "cleanup_record_count": "3",
            "broker_epoch": "300",
        },
        since="3.9.0",
    ),
    Rule(
        "kraft_broker_registering",
        CLUSTER,
        text=(
            "Amending registration of broker <broker><?, incarnation ID <incarnation_id:uuid>. Broker epoch "
            "remains <broker_epoch:int>.?>"
        ),
        sample=(
            "[QuorumController id=101] Amending registration of broker 4, incarnation ID "
            "q1WeRtYuIo-pAsDfGhJk_L. Broker epoch remains 300."
        ),
        reads={"controller_id": 101, "broker": "4", "incarnation_id": "q1WeRtYuIo-pAsDfGhJk_L", "broker_epoch": "300"},
        since="3.7.1",
    ),
    Rule(
        "kraft_broker_feature_unknown",
        CLUSTER,
        text=(
            "Broker <broker> registered with<? version range (<min_version:int>, <max_version:int>] of?> "
            "feature <feature:word> <?that is unknown to the controller?><?which controller does not know or "
            "has finalized version of 0.?>"
        ),
        sample=(
            "[QuorumController id=101] Broker 4 registered with version range (0, 1] of feature "
            "group.version which controller does not know or has finalized version of 0."
        ),
        reads={"controller_id": 101, "broker": "4", "min_version": "0", "max_version": "1", "feature": "group.version"},
        since="3.3.0",
    ),
    Rule(
        "kraft_broker_unclean_shutdown_request",
        CLUSTER,
        text="Received an unclean shutdown request",
        sample="[QuorumController id=101] Received an unclean shutdown request",
        reads={"controller_id": 101},
        since="3.7.0",
        until="3.8.1",
    ),
    Rule(
        "kraft_controller_registered",
        CLUSTER,
        text=(
            "Replayed RegisterControllerRecord conta<?i?>ning ControllerRegistration(id=<node_id:int>, "
            "incarnationId=<incarnation_id:uuid>, <_:text>)<?. Previous incarnation was "
            "<previous_incarnation_id:uuid>?><?.?>"
        ),
        sample=(
            "[QuorumController id=101] Replayed RegisterControllerRecord containing "
            "ControllerRegistration(id=102, incarnationId=q1WeRtYuIo-pAsDfGhJk_L, zkMigrationReady=false, "
            "listeners=[Endpoint(listenerName='CONTROLLER', securityProtocol=PLAINTEXT, "
            "host='node102.example.org', port=9093)], supportedFeatures={metadata.version: 7-27})."
        ),
        reads={"controller_id": 101, "node_id": "102", "incarnation_id": "q1WeRtYuIo-pAsDfGhJk_L"},
        since="3.7.0",
    ),
    Rule(
        "kraft_broker_unfence_granted",
        HEARTBEAT,
        text=(
            "The request from broker <broker> to unfence has been granted because it has caught up with the "
            "<?last committed metadata offset?><?offset of it<?'?>s register broker record?> <offset>."
        ),
        sample=(
            "[QuorumController id=101] The request from broker 4 to unfence has been granted because it has "
            "caught up with the offset of its register broker record 300."
        ),
        reads={"controller_id": 101, "broker": "4", "offset": "300"},
        since="2.8.0",
    ),
    Rule(
        "kraft_broker_unfence_denied",
        HEARTBEAT,
        text=(
            "The request from broker <broker> to unfence cannot yet be granted because it has not caught up "
            "with the <?last committed metadata offset?><?offset of it<?'?>s register broker record?> "
            "<offset>. It is still at offset <current_offset:int>."
        ),
        sample=(
            "[QuorumController id=101] The request from broker 4 to unfence cannot yet be granted because it "
            "has not caught up with the offset of its register broker record 300. It is still at offset 212."
        ),
        reads={"controller_id": 101, "broker": "4", "offset": "300", "current_offset": "212"},
        since="2.8.0",
    ),
    Rule(
        "kraft_broker_fencing_requested",
        HEARTBEAT,
        text="Unfenced broker <broker> has requested and been granted fencing",
        sample="[QuorumController id=101] Unfenced broker 4 has requested and been granted fencing",
        reads={"controller_id": 101, "broker": "4"},
        since="2.8.0",
    ),
    Rule(
        "kraft_broker_controlled_shutdown_granted",
        HEARTBEAT,
        text="Unfenced broker <broker> has requested and been granted a controlled shutdown.",
        sample=("[QuorumController id=101] Unfenced broker 4 has requested and been granted a controlled shutdown."),
        reads={"controller_id": 101, "broker": "4"},
        since="2.8.0",
    ),
    Rule(
        "kraft_broker_immediate_shutdown_granted",
        HEARTBEAT,
        text="<fenced:wording> <broker> has requested and been granted an immediate shutdown.",
        sample=("[QuorumController id=101] Unfenced broker 4 has requested and been granted an immediate shutdown."),
        reads={"controller_id": 101, "fenced": "false", "broker": "4"},
        since="2.8.0",
    ),
    Rule(
        "kraft_broker_shutdown_granted",
        HEARTBEAT,
        text=(
            "The request from broker <broker> to shut down has been granted since the lowest active offset "
            "<lowest_active_offset:int> is now greater than the broker's controlled shutdown offset "
            "<controlled_shutdown_offset:int>."
        ),
        sample=(
            "[QuorumController id=101] The request from broker 4 to shut down has been granted since the "
            "lowest active offset 402 is now greater than the broker's controlled shutdown offset 400."
        ),
        reads={"controller_id": 101, "broker": "4", "lowest_active_offset": "402", "controlled_shutdown_offset": "400"},
        since="2.8.0",
    ),
    Rule(
        "kraft_broker_shutdown_denied",
        HEARTBEAT,
        text=(
            "The request from broker <broker> to shut down can not yet be granted because the lowest active "
            "offset <lowest_active_offset:int> is not greater than the broker's shutdown offset "
            "<controlled_shutdown_offset:int>."
        ),
        sample=(
            "[QuorumController id=101] The request from broker 4 to shut down can not yet be granted because "
            "the lowest active offset 390 is not greater than the broker's shutdown offset 400."
        ),
        reads={"controller_id": 101, "broker": "4", "lowest_active_offset": "390", "controlled_shutdown_offset": "400"},
        since="2.8.0",
    ),
    Rule(
        "kraft_broker_shutdown_leaders_remaining",
        HEARTBEAT,
        text=(
            "Broker <broker> is in controlled shutdown state, but can not shut down because more leaders "
            "still need to be moved."
        ),
        sample=(
            "[QuorumController id=101] Broker 4 is in controlled shutdown state, but can not shut down "
            "because more leaders still need to be moved."
        ),
        reads={"controller_id": 101, "broker": "4"},
        since="2.8.0",
    ),
    Rule(
        "kraft_broker_controlled_shutdown_offset",
        HEARTBEAT,
        text="Updated the controlled shutdown offset for broker <broker> to <controlled_shutdown_offset:int>.",
        sample="[QuorumController id=101] Updated the controlled shutdown offset for broker 4 to 400.",
        reads={"controller_id": 101, "broker": "4", "controlled_shutdown_offset": "400"},
        since="2.8.0",
    ),
)
