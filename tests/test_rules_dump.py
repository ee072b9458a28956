"""Lines of `kafka-dump-log --cluster-metadata-decoder`, as each release prints them, are read alike.

The shapes are those of the tool's own source from 2.8 to 4.2; a log and a snapshot differ in nothing but their control
records.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.test_parsing import columnar
from udfs.logs.formats import format_of
from udfs.rules.parsing import read_message
from udfs.rules.rulebook import RULES

CHANGE = (
    '{"type":"PARTITION_CHANGE_RECORD","version":0,"data":{"partitionId":0,"topicId":"L3mK9pQrSt2uVwXyZ0aBcD",'
    '"isr":[2,3],"leader":3}}'
)
CHANGED = {
    "event_type": "metadata_partition_change",
    "topic_id": "L3mK9pQrSt2uVwXyZ0aBcD",
    "partition": 0,
    "isr": [2, 3],
    "leader": 3,
    "version": "0",
}
SHAPES: dict[str, tuple[str, dict[str, Any]]] = {  # a line -> what is read from it
    "2.8: the record repeats what its batch says": (
        "| offset: 7 isValid: true crc: null keySize: -1 valueSize: 30 CreateTime: 1612345678901 baseOffset: 7 "
        "lastOffset: 7 baseSequence: -1 lastSequence: -1 producerEpoch: -1 partitionLeaderEpoch: 4 batchSize: 98 "
        f"magic: 2 compressType: NONE position: 640 sequence: -1 headerKeys: [] payload: {CHANGE}",
        {**CHANGED, "offset": "7", "controller_epoch": 4},
    ),
    "3.0 on": (
        "| offset: 7 CreateTime: 1612345678901 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
        f"payload: {CHANGE}",
        {**CHANGED, "offset": "7"},
    ),
    "--skip-record-metadata, all releases": (f" payload: {CHANGE}", CHANGED),
    "--skip-record-metadata with the mark of a record": (f"| payload: {CHANGE}", CHANGED),
    "a record that the tool is too old for": (
        "| offset: 7 CreateTime: 1612345678901 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] "
        "payload: Error at 7, skipping. Unknown metadata id 28",
        {"event_type": "metadata_record_undecoded", "offset": "7", "reason": "Unknown metadata id 28"},
    ),
    "2.8 to 3.9: a control record has its name only": (
        "| offset: 0 CreateTime: 1612345678901 keySize: 4 valueSize: 34 sequence: -1 headerKeys: [] "
        "controlType: LEADER_CHANGE(2)",
        {"event_type": "metadata_control", "offset": "0", "control_type": "LEADER_CHANGE"},
    ),
    "4.0 on: a change of the quorum's leader": (
        "| offset: 0 CreateTime: 1612345678901 keySize: 4 valueSize: 34 sequence: -1 headerKeys: [] "
        'LeaderChange: {"version":1,"leaderId":0,"voters":[{"voterId":0,"voterDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA"}],'
        '"grantingVoters":[]}',
        {
            "event_type": "metadata_leader_change",
            "offset": "0",
            "version": "1",
            "controller_id": 0,
            "voters": "[0]",
            "granting_voters": "[]",
        },
    ),
    "a snapshot's first record": (
        "| offset: 0 CreateTime: 1612345678901 keySize: 4 valueSize: 34 sequence: -1 headerKeys: [] "
        'SnapshotHeader {"version":0,"lastContainedLogTimestamp":1612345678000}',
        {
            "event_type": "metadata_control",
            "offset": "0",
            "control_type": "SnapshotHeader",
            "data": '{"version":0,"lastContainedLogTimestamp":1612345678000}',
        },
    ),
    "a snapshot's last record": (
        "| offset: 9 CreateTime: 1612345678901 keySize: 4 valueSize: 34 sequence: -1 headerKeys: [] "
        'SnapshotFooter {"version":0}',
        {
            "event_type": "metadata_control",
            "offset": "9",
            "control_type": "SnapshotFooter",
            "data": '{"version":0}',
        },
    ),
    "3.9 on: the quorum's protocol": (
        "| offset: 1 CreateTime: 1612345678901 keySize: 4 valueSize: 34 sequence: -1 headerKeys: [] "
        'KRaftVersion {"version":0,"kRaftVersion":1}',
        {
            "event_type": "metadata_control",
            "offset": "1",
            "control_type": "KRaftVersion",
            "data": '{"version":0,"kRaftVersion":1}',
        },
    ),
    "3.9 on: the quorum's voters": (
        "| offset: 2 CreateTime: 1612345678901 keySize: 4 valueSize: 34 sequence: -1 headerKeys: [] "
        'KRaftVoters {"version":0,"voters":[{"voterId":0,"voterDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","endpoints":[]},'
        '{"voterId":2,"voterDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","endpoints":[]}]}',
        {"event_type": "metadata_voters", "offset": "2", "version": "0", "voters": "[0, 2]"},
    ),
    "2.8: a batch": (
        "baseOffset: 7 lastOffset: 9 count: 3 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
        "partitionLeaderEpoch: 4 isTransactional: false isControl: false position: 640 CreateTime: 1612345678901 "
        "size: 98 magic: 2 compresscodec: NONE crc: 3205953764 isvalid: true",
        {
            "event_type": "metadata_batch",
            "offset": "7",
            "last_offset": "9",
            "record_count": "3",
            "controller_epoch": 4,
            "is_control": "false",
        },
    ),
    "3.2 on: a batch": (
        "baseOffset: 0 lastOffset: 0 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
        "partitionLeaderEpoch: 2 isTransactional: false isControl: true deleteHorizonMs: OptionalLong.empty "
        "position: 0 CreateTime: 1612345678901 size: 106 magic: 2 compresscodec: none crc: 3205953764 isvalid: true",
        {
            "event_type": "metadata_batch",
            "offset": "0",
            "last_offset": "0",
            "record_count": "1",
            "controller_epoch": 2,
            "is_control": "true",
        },
    ),
}

TYPES = {  # record type of 2.8 to 4.2 -> its data, what of it has a column
    "REGISTER_BROKER": ({"brokerId": 0, "brokerEpoch": 9, "endPoints": [], "fenced": True}, {"broker_id": 0}),
    "UNREGISTER_BROKER": ({"brokerId": 0, "brokerEpoch": 9}, {"broker_id": 0}),
    "TOPIC": ({"name": "a-1", "topicId": "T"}, {"topic": "a-1", "topic_id": "T"}),
    "PARTITION": (
        {"partitionId": 2, "topicId": "T", "replicas": [0, 1], "isr": [1], "leader": 1, "leaderEpoch": 0},
        {"partition": 2, "topic_id": "T", "replicas": [0, 1], "isr": [1], "leader": 1, "leader_epoch": 0},
    ),
    "CONFIG": (
        {"resourceType": 2, "resourceName": "a-1", "name": "min.insync.replicas", "value": "2"},
        {"topic": "a-1"},
    ),
    "PARTITION_CHANGE": (
        {"partitionId": 2, "topicId": "T", "isr": [], "leader": -1},
        {"partition": 2, "topic_id": "T", "isr": [], "leader": -1},
    ),
    "ACCESS_CONTROL": ({"principal": "User:ann"}, {}),
    "FENCE_BROKER": ({"id": 0, "epoch": 9}, {"broker_id": 0}),
    "UNFENCE_BROKER": ({"id": 0, "epoch": 9}, {"broker_id": 0}),
    "REMOVE_TOPIC": ({"topicId": "T"}, {"topic_id": "T"}),
    "DELEGATION_TOKEN": ({"owner": "ann"}, {}),
    "USER_SCRAM_CREDENTIAL": ({"name": "ann", "mechanism": 1}, {}),
    "FEATURE_LEVEL": ({"name": "metadata.version", "featureLevel": 27}, {}),
    "REMOVE_FEATURE_LEVEL": ({"name": "metadata.version"}, {}),
    "QUOTA": ({"entity": [], "key": "consumer_byte_rate"}, {}),
    "CLIENT_QUOTA": ({"entity": [], "key": "consumer_byte_rate"}, {}),
    "PRODUCER_IDS": ({"brokerId": 0, "brokerEpoch": 9, "nextProducerId": 1000}, {"broker_id": 0}),
    "BROKER_REGISTRATION_CHANGE": ({"brokerId": 0, "brokerEpoch": 9, "fenced": -1}, {"broker_id": 0}),
    "ACCESS_CONTROL_ENTRY": ({"id": "T", "principal": "User:ann"}, {}),
    "REMOVE_ACCESS_CONTROL_ENTRY": ({"id": "T"}, {}),
    "NO_OP": ({}, {}),
    "ZK_MIGRATION_STATE": ({"zkMigrationState": 0}, {}),
    "REMOVE_USER_SCRAM_CREDENTIAL": ({"name": "ann", "mechanism": 1}, {}),
    "BEGIN_TRANSACTION": ({"name": "Bootstrap records"}, {}),
    "END_TRANSACTION": ({}, {}),
    "ABORT_TRANSACTION": ({"reason": "failover"}, {}),
    "REMOVE_DELEGATION_TOKEN": ({"tokenId": "t"}, {}),
    "REGISTER_CONTROLLER": ({"controllerId": 0, "endPoints": [], "features": []}, {"controller_id": 0}),
    "CLEAR_ELR": ({"topicName": "a-1"}, {"topic": "a-1"}),
}
OF_NO_STATE = {  # they carry no state of a broker, topic, partition or controller: one event type for all of them
    "ACCESS_CONTROL",
    "ACCESS_CONTROL_ENTRY",
    "CLIENT_QUOTA",
    "DELEGATION_TOKEN",
    "QUOTA",
    "REMOVE_ACCESS_CONTROL_ENTRY",
    "REMOVE_DELEGATION_TOKEN",
    "REMOVE_USER_SCRAM_CREDENTIAL",
    "USER_SCRAM_CREDENTIAL",
}
COLUMNS = ("controller_id", "broker_id", "topic", "topic_id", "partition", "leader", "leader_epoch", "isr", "replicas")


@pytest.mark.parametrize("shape", SHAPES)
def test_shape(shape: str) -> None:
    line, read = SHAPES[shape]
    assert read_message("kafka-dump-log", line) == read


@pytest.mark.parametrize("type_", TYPES)
def test_record_type(type_: str) -> None:
    data, columns = TYPES[type_]
    payload = json.dumps({"type": f"{type_}_RECORD", "version": 0, "data": data}, separators=(",", ":"))
    for head in ("| offset: 1 CreateTime: 1 keySize: -1 valueSize: 2 sequence: -1 headerKeys: []", ""):
        read = read_message("kafka-dump-log", f"{head} payload: {payload}")
        assert read is not None
        assert read["event_type"] == ("metadata_record" if type_ in OF_NO_STATE else f"metadata_{type_.lower()}")
        assert {name: read[name] for name in COLUMNS if name in read} == columns


def test_every_rule_of_a_record_has_a_case() -> None:
    ruled = {rule.event_type for rule in RULES if '"type":"' in rule.text} - {"metadata_record"}
    assert ruled == {f"metadata_{type_.lower()}" for type_ in TYPES if type_ not in OF_NO_STATE}


BATCH = (
    "baseOffset: {first} lastOffset: {last} count: 1 baseSequence: -1 lastSequence: -1 producerId: "
    "-1 producerEpoch: -1 "
    "partitionLeaderEpoch: 2 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 "
    "CreateTime: 1612345678901 size: 106 magic: 2 compresscodec: none crc: 3205953764 isvalid: true\n"
)


def test_a_dump_without_record_metadata() -> None:
    """As the tool prints it: an empty line for a control record, a blank before a payload, headers between files."""
    text = (
        "Dumping 00000000000000000000.log\nLog starting offset: 0\n"
        + BATCH.format(first=0, last=0)
        + "\n"
        + BATCH.format(first=1, last=2)
        + f" payload: {CHANGE}\n"
        + ' payload: {"type":"NO_OP_RECORD","version":0,"data":{}}\n'
        + "Found 12 invalid bytes at the end of 00000000000000000000.log\n"
        + "Dumping bootstrap.checkpoint\nKRaft bootstrap snapshot\n"
        + BATCH.format(first=0, last=0)
    ).encode()
    format_ = format_of(text)
    assert format_ is not None
    rows, _ = columnar(text, format_)
    assert [(row["event_type"], row["line"], row.get("partition")) for row in rows] == [
        ("metadata_batch", 3, None),
        ("metadata_batch", 5, None),
        ("metadata_partition_change", 6, 0),
        ("metadata_no_op", 7, None),
        ("metadata_batch", 11, None),
    ]
