"""KRaft's records and objects, in both renderings and in all shapes of the releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from udfs.logs.layouts import APACHE, DUMP
from udfs.rules.kraft_quorum_values import raft_state
from udfs.rules.logger_scopes import covers
from udfs.rules.parsing import read_message

CAPTURES = Path(__file__).resolve().parents[2] / "shared" / "captures"
KRAFT = (
    "org.apache.kafka.controller.",
    "org.apache.kafka.deferred.",
    "org.apache.kafka.image.",
    "org.apache.kafka.metadata.",
    "org.apache.kafka.raft.",
    "org.apache.kafka.server.fault.",
    "kafka.raft.",
    "kafka.server.metadata.",
)
ID = "L3mK9pQrSt2uVwXyZ0aBcD"

OLD_HEAD = (  # 2.8: the batch's values again in each record
    "| offset: 12 isValid: true crc: null keySize: -1 valueSize: 24 CreateTime: 1617000000123 baseOffset: 11"
    " lastOffset: 12 baseSequence: -1 lastSequence: -1 producerEpoch: -1 partitionLeaderEpoch: 3 batchSize: 120"
    " magic: 2 compressType: NONE position: 900 sequence: -1 headerKeys: [] "
)
HEAD = "| offset: 12 CreateTime: 1617000000123 keySize: 4 valueSize: 24 sequence: -1 headerKeys: [] "
DUMP_LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "2.8 repeats the epoch": (
        OLD_HEAD + f'payload: {{"type":"TOPIC_RECORD","version":0,"data":{{"name":"a-1","topicId":"{ID}"}}}}',
        {"event_type": "metadata_topic", "controller_epoch": 3, "topic": "a-1", "topic_id": ID},
    ),
    "a leader of -2 is no leader": (
        HEAD + f'payload: {{"type":"PARTITION_CHANGE_RECORD","version":0,"data":{{"partitionId":3,"topicId":"{ID}",'
        '"isr":null,"leader":-2,"leaderRecoveryState":-1}}',
        {"event_type": "metadata_partition_change", "topic_id": ID, "partition": 3},
    ),
    "a lost leader is -1": (
        HEAD + f'payload: {{"type":"PARTITION_CHANGE_RECORD","version":2,"data":{{"partitionId":0,"topicId":"{ID}",'
        '"isr":[],"leader":-1,"leaderRecoveryState":1,"eligibleLeaderReplicas":[4]}}',
        {
            "event_type": "metadata_partition_change",
            "topic_id": ID,
            "partition": 0,
            "isr": [],
            "leader": -1,
            "leader_recovery_state": "RECOVERING",
            "elr": "[4]",
        },
    ),
    "fencing names the broker `id`": (
        HEAD + 'payload: {"type":"FENCE_BROKER_RECORD","version":0,"data":{"id":0,"epoch":41}}',
        {"event_type": "metadata_fence_broker", "broker_id": 0, "broker_epoch": "41"},
    ),
    "a broker's configuration": (
        HEAD + 'payload: {"type":"CONFIG_RECORD","version":0,"data":{"resourceType":4,"resourceName":"0",'
        '"name":"a.b","value":null}}',
        {
            "event_type": "metadata_config",
            "config_resource_type": "BROKER",
            "broker_id": 0,
            "config_name": "a.b",
        },
    ),
    "any other record": (
        HEAD + 'payload: {"type":"DELEGATION_TOKEN_RECORD","version":0,"data":{"owner":"User:ann"}}',
        {"event_type": "metadata_record", "record_type": "DELEGATION_TOKEN_RECORD", "data": '{"owner":"User:ann"}'},
    ),
    "a record cut off in its middle keeps its text": (
        HEAD + 'payload: {"type":"TOPIC_RECORD","version":0,"data":{"name":{}}',
        {"event_type": "metadata_topic", "data": '{"name":{}'},
    ),
    "a new leader, without saying which": (
        HEAD + "controlType: LEADER_CHANGE(2)",
        {"event_type": "metadata_control", "control_type": "LEADER_CHANGE"},
    ),
    "a new leader": (
        HEAD + 'LeaderChange: {"version":0,"leaderId":0,"voters":[{"voterId":0}],"grantingVoters":[]}',
        {"event_type": "metadata_leader_change", "controller_id": 0, "voters": "[0]", "granting_voters": "[]"},
    ),
    "a snapshot's head": (
        HEAD + 'SnapshotHeader {"version":0,"lastContainedLogTimestamp":1617000000000}',
        {
            "event_type": "metadata_control",
            "control_type": "SnapshotHeader",
            "data": '{"version":0,"lastContainedLogTimestamp":1617000000000}',
        },
    ),
}


@pytest.mark.parametrize("case", DUMP_LINES)
def test_dump_line(case: str) -> None:
    line, expected = DUMP_LINES[case]
    head = DUMP.head.fullmatch(line.encode())
    assert head
    assert head["at"] == b"1617000000123"
    read = read_message("kafka-dump-log", line)
    assert read is not None
    assert read.pop("offset") == "12"
    assert {key: value for key, value in read.items() if key != "version"} == expected


STATES: dict[str, tuple[str, dict[str, Any]]] = {  # a quorum state as printed -> what it tells
    "2.8 leader": (
        "Leader(localId=0, epoch=12, epochStartOffset=15)",
        {"raft_epoch": "12", "raft_leader": "0", "controller_id": 0, "controller_epoch": 12, "offset": "15"},
    ),
    "4.1 leader": (
        f"Leader(localVoterNode=VoterNode(voterKey=ReplicaKey(id=0, directoryId={ID})), epoch=12, epochStartOffset=15)",
        {"raft_epoch": "12", "raft_leader": "0", "controller_id": 0, "controller_epoch": 12, "offset": "15"},
    ),
    "3.8 follower": (
        "FollowerState(fetchTimeoutMs=2000, epoch=12, leader=c:9093 (id: 1 rack: null) voters=[0, 1])",
        {"raft_epoch": "12", "raft_leader": "1", "controller_id": 1, "controller_epoch": 12},
    ),
    "4.1 unattached, knows no leader": (
        "UnattachedState(epoch=12, leaderId=OptionalInt.empty, votedKey=Optional.empty, voters=[0])",
        {"raft_epoch": "12"},
    ),
    "4.1 unattached, knows one": (
        f"UnattachedState(epoch=12, leaderId=OptionalInt[1], votedKey=Optional[ReplicaKey(id=0, directoryId={ID})])",
        {"raft_epoch": "12", "raft_leader": "1", "controller_id": 1, "controller_epoch": 12, "voted_id": "0"},
    ),
    "3.8 candidate: a comma without blank": (
        f"CandidateState(localId=0, localDirectoryId={ID},epoch=12, retries=1, voteStates={{0=GRANTED}})",
        {"raft_epoch": "12", "retries": "1"},
    ),
    "who resigns is named": (
        "ResignedState(localId=0, epoch=12, voters=[0], electionTimeoutMs=2, unackedVoters=[])",
        {"raft_epoch": "12", "controller_id": 0, "controller_epoch": 12},
    ),
}


@pytest.mark.parametrize("case", STATES)
def test_raft_state(case: str) -> None:
    text, expected = STATES[case]
    read = raft_state(text)
    assert read.pop("to_state") == text.partition("(")[0]
    assert read == expected


def test_previous_and_new_state_are_kept_apart() -> None:
    previous = "PartitionRegistration(replicas=[1, 2], isr=[], elr=[1], leader=-1, leaderEpoch=2, partitionEpoch=6)"
    change = f"PartitionChangeRecord(partitionId=1, topicId={ID}, isr=null, leader=-2, replicas=null)"
    read = read_message(
        "org.apache.kafka.controller.PartitionChangeBuilder",
        f"Setting new leader for topicId {ID}, partition 1 to 2 using an unclean election. "
        f"Previous partition: {previous}, change record: {change}",
    )
    assert read == {
        "event_type": "kraft_leader_elected_unclean",
        "topic_id": ID,
        "partition": 1,
        "leader": 2,
        "unclean": "true",
        "previous_replicas": "[1, 2]",
        "previous_isr": "[]",
        "previous_elr": "[1]",
        "previous_leader": "-1",
        "previous_leader_epoch": "2",
        "previous_partition_epoch": "6",
    }


@pytest.mark.skipif(not CAPTURES.exists(), reason=f"no {CAPTURES}")
@pytest.mark.parametrize("name", ["kraft-3.9.1", "kraft-4.1.0", "kraft-4.1.0-chaos", "zk-3.3.2", "zk-3.9.1"])
def test_every_message_of_a_capture_is_known(name: str) -> None:
    unknown: list[str] = []
    for path in sorted((CAPTURES / name / "logs").rglob("*.log*")):
        for head in APACHE.head.finditer(path.read_bytes()):
            logger, message = head["logger"].decode(), head["message"].decode()
            if covers(KRAFT, logger) and read_message(logger, message) is None:
                unknown.append(f"{logger} {message[:200]}")
    dump = CAPTURES / name / "metadata-dump.txt"
    if dump.exists():
        lines = dump.read_bytes()
        known = [read_message("kafka-dump-log", head["message"].decode()) for head in DUMP.head.finditer(lines)]
        assert None not in known
        assert len(known) == lines.count(b"\n") - 2  # `Dumping ...` and `Log starting offset: ...`
    assert not unknown
