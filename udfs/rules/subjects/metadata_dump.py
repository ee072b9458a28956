"""Lines of `kafka-dump-log --cluster-metadata-decoder`: the committed metadata log itself, record by record.

A record tells the new state of a partition or broker as far as it changes; what is missing in a change record stays
as it was. The epoch of a batch is the epoch of the controller that wrote it. Text lines such as `Dumping ...` and
`Log starting offset: ...` are no records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from udfs.rules.rule import Rule

DUMP = ("kafka-dump-log",)
HEAD = "| offset: <offset> <_:text><?partitionLeaderEpoch: <controller_epoch> <_:text>?>"  # 2.8 repeats the epoch here
PAYLOAD = f"<?{HEAD}?><?|?><? ?>payload: "  # with `--skip-record-metadata` it stands alone, behind a blank
SAMPLE = "| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "


def record(
    type_: str, kind: str, data: str, reads: Mapping[str, Any], since: str = "2.8.0", until: str = "", version: int = 0
) -> Rule:
    """The rule of one record type; `data` is its sample's JSON, `reads` what comes from it."""
    return Rule(
        f"metadata_{type_.lower()}",
        DUMP,
        text=f'{PAYLOAD}{{"type":"{type_}_RECORD","version":<version:int>,"data":<data:{kind}>}}',
        sample=f'{SAMPLE}payload: {{"type":"{type_}_RECORD","version":{version},"data":{data}}}',
        reads={"offset": "640", "version": str(version), **reads},
        since=since,
        until=until,
    )


RULES: tuple[Rule, ...] = (
    record(
        "PARTITION_CHANGE",
        "record",
        (
            '{"partitionId":3,"topicId":"L3mK9pQrSt2uVwXyZ0aBcD","isr":[5],"leader":5,'
            '"eligibleLeaderReplicas":[4],"lastKnownElr":[]}'
        ),
        {
            "partition": 3,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "isr": [5],
            "leader": 5,
            "elr": "[4]",
            "last_known_elr": "[]",
        },
        version=2,
    ),
    record("NO_OP", "record", "{}", {}, since="3.3.0"),
    record(
        "PARTITION",
        "record",
        (
            '{"partitionId":3,"topicId":"L3mK9pQrSt2uVwXyZ0aBcD","replicas":[4,5],"isr":[4,5],'
            '"removingReplicas":[],"addingReplicas":[],"leader":4,"leaderEpoch":0,"partitionEpoch":0,'
            '"directories":["r7YzA2bCdE9fGhIj_KlMnO","d8FgH1jKLm-NoPq_RsTu5w"]}'
        ),
        {
            "partition": 3,
            "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
            "replicas": [4, 5],
            "isr": [4, 5],
            "removing_replicas": "[]",
            "adding_replicas": "[]",
            "leader": 4,
            "leader_epoch": 0,
            "partition_epoch": 0,
            "directories": '["r7YzA2bCdE9fGhIj_KlMnO", "d8FgH1jKLm-NoPq_RsTu5w"]',
        },
        version=1,
    ),
    record(
        "BROKER_REGISTRATION_CHANGE",
        "broker_change_record",
        '{"brokerId":4,"brokerEpoch":300,"fenced":1}',
        {"broker_id": 4, "broker_epoch": "300", "fenced_change": "1"},
        since="3.0.0",
    ),
    record(
        "REGISTER_BROKER",
        "broker_record",
        (
            '{"brokerId":4,"isMigratingZkBroker":false,"incarnationId":"q1WeRtYuIo-pAsDfGhJk_L",'
            '"brokerEpoch":300,"endPoints":[{"name":"PLAINTEXT","host":"node4.example.org","port":9092,'
            '"securityProtocol":0}],"features":[{"name":"metadata.version","minSupportedVersion":7,'
            '"maxSupportedVersion":27}],"rack":"east","fenced":true,"inControlledShutdown":false,'
            '"logDirs":["r7YzA2bCdE9fGhIj_KlMnO"]}'
        ),
        {
            "broker_id": 4,
            "is_migrating_zk_broker": "false",
            "incarnation_id": "q1WeRtYuIo-pAsDfGhJk_L",
            "broker_epoch": "300",
            "listeners": '[{"name": "PLAINTEXT", "host": "node4.example.org", "port": 9092, "securityProtocol": 0}]',
            "features": '[{"name": "metadata.version", "minSupportedVersion": 7, "maxSupportedVersion": 27}]',
            "rack": "east",
            "fenced": "true",
            "in_controlled_shutdown": "false",
            "log_dirs": '["r7YzA2bCdE9fGhIj_KlMnO"]',
        },
        version=3,
    ),
    record(
        "UNREGISTER_BROKER",
        "broker_record",
        '{"brokerId":4,"brokerEpoch":300}',
        {"broker_id": 4, "broker_epoch": "300"},
    ),
    record("FENCE_BROKER", "broker_record", '{"id":4,"epoch":300}', {"broker_id": 4, "broker_epoch": "300"}),
    record("UNFENCE_BROKER", "broker_record", '{"id":4,"epoch":300}', {"broker_id": 4, "broker_epoch": "300"}),
    record(
        "REGISTER_CONTROLLER",
        "controller_record",
        (
            '{"controllerId":102,"incarnationId":"q1WeRtYuIo-pAsDfGhJk_L","zkMigrationReady":false,'
            '"endPoints":[],"features":[]}'
        ),
        {
            "controller_id": 102,
            "incarnation_id": "q1WeRtYuIo-pAsDfGhJk_L",
            "zk_migration_ready": "false",
            "listeners": "[]",
            "features": "[]",
        },
        since="3.7.0",
    ),
    record(
        "TOPIC",
        "record",
        '{"name":"pay-in","topicId":"L3mK9pQrSt2uVwXyZ0aBcD"}',
        {"topic": "pay-in", "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD"},
    ),
    record("REMOVE_TOPIC", "record", '{"topicId":"L3mK9pQrSt2uVwXyZ0aBcD"}', {"topic_id": "L3mK9pQrSt2uVwXyZ0aBcD"}),
    record(
        "CONFIG",
        "config_record",
        '{"resourceType":2,"resourceName":"pay-in","name":"min.insync.replicas","value":"2"}',
        {"config_resource_type": "TOPIC", "topic": "pay-in", "config_name": "min.insync.replicas", "config_value": "2"},
    ),
    record("CLEAR_ELR", "record", '{"topicName":"pay-in"}', {"topic": "pay-in"}, since="4.0.0"),
    record(
        "FEATURE_LEVEL",
        "feature_record",
        '{"name":"metadata.version","featureLevel":27}',
        {"feature": "metadata.version", "feature_level": "27"},
    ),
    record(
        "REMOVE_FEATURE_LEVEL",
        "feature_record",
        '{"name":"metadata.version"}',
        {"feature": "metadata.version"},
        since="3.0.0",
        until="3.2.3",
    ),
    record("BEGIN_TRANSACTION", "record", '{"name":"Bootstrap records"}', {"name": "Bootstrap records"}, since="3.6.0"),
    record("END_TRANSACTION", "record", "{}", {}, since="3.6.0"),
    record(
        "ABORT_TRANSACTION",
        "record",
        '{"reason":"Controller failover"}',
        {"reason": "Controller failover"},
        since="3.6.0",
    ),
    record(
        "PRODUCER_IDS",
        "broker_record",
        '{"brokerId":4,"brokerEpoch":300,"nextProducerId":2000}',
        {"broker_id": 4, "broker_epoch": "300", "next_producer_id": "2000"},
        since="3.0.0",
    ),
    record(
        "ZK_MIGRATION_STATE",
        "record",
        '{"zkMigrationState":0}',
        {"zk_migration_state": "0"},
        since="3.4.0",
        until="3.9.2",
    ),
    Rule(
        "metadata_record",
        DUMP,
        text=PAYLOAD + '{"type":"<record_type:other_record>","version":<version:int>,"data":<data:json>}',
        sample=SAMPLE
        + (
            'payload: {"type":"CLIENT_QUOTA_RECORD","version":0,"data":{"entity":[{"entityType":"user",'
            '"entityName":"ann"}],"key":"producer_byte_rate","value":1048576.0}}'
        ),
        reads={
            "offset": "640",
            "record_type": "CLIENT_QUOTA_RECORD",
            "version": "0",
            "data": (
                '{"entity":[{"entityType":"user","entityName":"ann"}],"key":"producer_byte_rate","value":1048576.0}'
            ),
        },
        since="2.8.0",
    ),
    Rule(
        "metadata_record_undecoded",
        DUMP,
        text=PAYLOAD + "Error at <_:int>, skipping. <reason:rest>",
        sample=SAMPLE + "payload: Error at 640, skipping. Unknown metadata id 99",
        reads={"offset": "640", "reason": "Unknown metadata id 99"},
        since="2.8.0",
    ),
    Rule(
        "metadata_leader_change",
        DUMP,
        text=HEAD + "LeaderChange<?:?> <data:controller_record>",
        sample=(
            "| offset: 640 CreateTime: 1764000000123 keySize: 4 valueSize: 30 sequence: -1 headerKeys: [] "
            'LeaderChange: {"version":0,"leaderId":102,"voters":[{"voterId":101},{"voterId":102}],'
            '"grantingVoters":[{"voterId":102},{"voterId":101}]}'
        ),
        reads={
            "offset": "640",
            "controller_id": 102,
            "version": "0",
            "voters": "[101, 102]",
            "granting_voters": "[102, 101]",
        },
        since="4.1.0",
    ),
    Rule(
        "metadata_control",
        DUMP,
        text=HEAD + "controlType: <control_type:name>(<_:int>)",
        sample=(
            "| offset: 640 CreateTime: 1764000000123 keySize: 4 valueSize: 30 sequence: -1 headerKeys: [] "
            "controlType: LEADER_CHANGE(2)"
        ),
        reads={"offset": "640", "control_type": "LEADER_CHANGE"},
        since="2.8.0",
    ),
    Rule(
        "metadata_control",
        DUMP,
        text=HEAD + "headerKeys: [<_:text>] <control_type:control><?:?> <data:json>",
        sample=(
            "| offset: 640 CreateTime: 1764000000123 keySize: 4 valueSize: 30 sequence: -1 headerKeys: [] "
            'SnapshotHeader {"version":0,"lastContainedLogTimestamp":1764000000100}'
        ),
        reads={
            "offset": "640",
            "control_type": "SnapshotHeader",
            "data": '{"version":0,"lastContainedLogTimestamp":1764000000100}',
        },
        since="3.1.0",
    ),
    Rule(
        "metadata_voters",
        DUMP,
        text=HEAD + "KRaftVoters<?:?> <data:controller_record>",
        sample=(
            "| offset: 640 CreateTime: 1764000000123 keySize: 4 valueSize: 90 sequence: -1 headerKeys: [] "
            'KRaftVoters {"version":0,"voters":[{"voterId":101,"voterDirectoryId":"r7YzA2bCdE9fGhIj_KlMnO",'
            '"endpoints":[],"kRaftVersionFeature":{"minSupportedVersion":0,"maxSupportedVersion":1}}]}'
        ),
        reads={"offset": "640", "version": "0", "voters": "[101]"},
        since="3.9.0",
    ),
    Rule(
        "metadata_batch",
        DUMP,
        text=(
            "baseOffset: <offset> lastOffset: <last_offset:int> count: <record_count:word> <_:text> "
            "partitionLeaderEpoch: <controller_epoch> isTransactional: <_:word> isControl: <is_control:word> "
            "<_:rest>"
        ),
        sample=(
            "baseOffset: 640 lastOffset: 644 count: 5 baseSequence: -1 lastSequence: -1 producerId: -1 "
            "producerEpoch: -1 partitionLeaderEpoch: 8 isTransactional: false isControl: false "
            "deleteHorizonMs: OptionalLong.empty position: 9300 CreateTime: 1764000000123 size: 274 magic: 2 "
            "compresscodec: none crc: 68046943 isvalid: true"
        ),
        reads={
            "offset": "640",
            "last_offset": "644",
            "record_count": "5",
            "controller_epoch": 8,
            "is_control": "false",
        },
        since="2.8.0",
    ),
)
