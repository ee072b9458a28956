"""`merge --topic`: which records concern a topic, or a partition of it; each line judged by hand.

Of records on a whole request those are kept that name the topic, among others or as a whole. A line that only counts
partitions names none: whom it concerns cannot be known.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from jobs.cli import main

ID, OTHER_ID = "h5K2vX8bQ0-3mJtR_wYz1A", "Qq1rStUvWx2yZaBcDeFg3h"
S, C, M = "state.change.logger", "kafka.controller.KafkaController", "kafka.server.metadata.BrokerMetadataPublisher"
L, HEX = "org.apache.kafka.storage.internals.log.LogSegment", "c9b16c5918b6471cadd35a7e5caf16ce"
REQUEST = (
    "Name:LeaderAndIsrRequest;Version:0;Controller:1;ControllerEpoch:8;CorrelationId:{0};"
    "ClientId:id_1-host_null-port_9092;Leaders:id:4,host:k,port:9092;PartitionState:{1}"
)
STATE = "(LeaderAndIsrInfo:(Leader:4,ISR:4,5,LeaderEpoch:12,ControllerEpoch:7),ReplicationFactor:2),AllReplicas:4,5)"

NONE, ALL, P3, P7, OTHER = "", "37", "3", "7", "-"
RECORDS: list[tuple[str, str, str]] = [  # logger, message, which of the partitions 3 and 7 of pay-in it concerns
    # whole requests and responses
    (S, "[Replica Manager on Broker 4]: Handling LeaderAndIsr request "
        f"{REQUEST.format(1, f'(pay-in,3) -> {STATE},(refunds,7) -> {STATE}')}", P3),
    (S, "[Replica Manager on Broker 4]: Handling LeaderAndIsr request "
        f"{REQUEST.format(2, f'(refunds,3) -> {STATE},(pay-in-eu,7) -> {STATE}')}", NONE),
    (S, "[Replica Manager on Broker 4]: Handled leader and isr request "
        f"{REQUEST.format(3, f'(refunds,3) -> {STATE},(pay-in,7) -> {STATE}')}", P7),
    (S, "[Controller id=1 epoch=8] Received response "
        "{error_code=0,partition_errors=[{topic_name=refunds,partition_index=3,error_code=0,_tagged_fields={}},"
        "{topic_name=pay-in,partition_index=7,error_code=11,_tagged_fields={}}],_tagged_fields={}} for request "
        "LEADER_AND_ISR with correlation id 27 sent to broker k:9092 (id: 4 rack: c)", P7),
    (S, "[Controller id=1 epoch=8] Received response "
        "{error_code=0,partition_errors=[{topic_name=refunds,partition_index=3,error_code=0,_tagged_fields={}}],"
        "_tagged_fields={}} for request LEADER_AND_ISR with correlation id 28 sent to broker k:9092 (id: 4 rack: c)",
        NONE),
    (S, "[Controller id=1 epoch=8] Received response {error_code=0,_tagged_fields={}} for request UPDATE_METADATA "
        "with correlation id 29 sent to broker k:9092 (id: 4 rack: c)", NONE),
    (C, "[Controller id=1] Delete topic callback invoked for "
        "{error_code=0,partitions=[{topic=pay-in,partition=3,error_code=0}]}", P3),
    (C, "[Controller id=1] Delete topic callback invoked for "
        "{error_code=0,partitions=[{topic=refunds,partition=3,error_code=0}]}", NONE),
    (S, "[Controller id=1 epoch=8] Sending LeaderAndIsr request to broker 4 with 23 become-leader and 37 "
        "become-follower partitions", NONE),
    (S, "[Controller id=1 epoch=8] Sending UpdateMetadata request to brokers Set(4, 5) for 17 partitions", NONE),
    (S, "[Broker id=4] Handling LeaderAndIsr request correlationId 27 from controller 1 for 17 partitions", NONE),
    # a topic as a whole
    (C, "[Topic Deletion Manager 1] Handling deletion for topics pay-in,refunds", ALL),
    (C, "[Topic Deletion Manager 1] Handling deletion for topics pay-in-eu,refunds", NONE),
    (S, "Broker 4 deleted partitions for topic pay-in from metadata cache in response to UpdateMetadata request  "
        "sent by controller 1 epoch 8 with correlation id 27", ALL),
    (C, "[Controller id=1] Skipping adding partitions 4,5 for topic pay-in since it is currently being deleted", ALL),
    (C, "[Topic Deletion Manager 1] Retrying deletion of topics pay-in since replicas "
        "[Topic=pay-in,Partition=3,Replica=4] were not successfully deleted", P3),  # names what it concerns
    (C, "[AddPartitionsListener on 1]: Add Partition triggered {\"version\":1,\"partitions\":{\"3\":[4,5,6]}} for "
        "path /brokers/topics/pay-in", ALL),
    # several partitions
    (S, "[Controller id=1] Mark replicas pay-in-3,refunds-7 on broker 6 as offline", P3),
    (S, "[Controller id=1] Mark replicas refunds-3,pay-in-7,pay-in-3 on broker 6 as offline", ALL),
    (S, "[Controller id=1] Mark replicas refunds-3,x-pay-in-7 on broker 6 as offline", NONE),
    (C, "[Partition state machine on Controller 1]: After leader election, leader cache is updated to "
        "Map([refunds,3] -> (Leader:4,ISR:4,5,LeaderEpoch:12,ControllerEpoch:7), [pay-in,7] -> "
        "(Leader:4,ISR:4,5,LeaderEpoch:12,ControllerEpoch:7))", P7),
    # one partition
    (S, "[Broker id=4] Handling LeaderAndIsr request correlationId 12 from controller 1 epoch 4 starting the "
        "become-leader transition for partition pay-in-3", P3),
    (S, "[Broker id=4] Handling LeaderAndIsr request correlationId 12 from controller 1 epoch 4 starting the "
        "become-leader transition for partition pay-in-33", OTHER),
    (S, "[Broker id=4] Handling LeaderAndIsr request correlationId 12 from controller 1 epoch 4 starting the "
        "become-leader transition for partition pay-in-3-7", NONE),
    # in a folder that Kafka renamed
    (L, f"Deleted log /srv/kafka/pay-in-3.{HEX}-delete/00000000000000000000.log.deleted.", P3),
    (L, f"Deleted time index /srv/kafka/pay-in-7.{HEX}-future/00000000000000000000.timeindex.deleted.", P7),
    (L, f"Deleted log /srv/kafka/pay-in-33.{HEX}-delete/00000000000000000000.log.deleted.", OTHER),
    (L, f"Deleted log /srv/kafka/pay-in-3.{HEX}-eu-0/00000000000000000000.log.deleted.", NONE),
    # by its id
    (S, f"[Broker id=4] Removing topic pay-in with ID {ID} from the metadata cache since the full UMR did not "
        "include it.", ALL),
    # no rule knows it: its text decides
    (C, "[Controller id=1] Something quite new about pay-in happened", ALL),
    (C, "[Controller id=1] Something quite new about pay-in-7 happened", P7),
    (C, "[Controller id=1] Something quite new about pay-in.eu happened", NONE),
    (C, "[Controller id=1] Something quite new about pay-in: pay-in-7 is moved", P7),
    # another's, whose other values hold the name
    ("kafka.server.ReplicaManager", "[ReplicaManager broker=4] Error while making broker the leader for partition "
        "Topic: refunds; Partition: 3; Leader: Some(4); Replicas: 4,5,6; ISR: 4,5 in dir Some(/srv/pay-in)", NONE),
]  # fmt: skip


def lines() -> dict[str, str]:
    """Line -> which partitions it concerns."""
    return {
        f"[2026-11-21 10:00:{i:02},000] INFO {message} ({logger})\n": concerned
        for i, (logger, message, concerned) in enumerate(RECORDS)
    }


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "broker-4.log"
    path.write_text("".join(lines()))
    return path


WANTED = {"": "37-", "--partitions 3": "3", "--partitions 7": "7", "--partitions 3,7": "37"}


@pytest.mark.parametrize("argv", WANTED)
@pytest.mark.parametrize("other", ["", "--level INFO"])  # another filter looks at each record, none at blocks of them
def test_what_concerns_a_topic_or_its_partitions(argv: str, other: str, log: Path) -> None:
    result = CliRunner().invoke(main, ["merge", str(log), "--topic", "pay-in", *argv.split(), *other.split()])
    expected = [line for line, concerned in lines().items() if set(concerned) & set(WANTED[argv])]
    assert result.stdout.splitlines(keepends=True) == expected


def test_a_topic_that_nothing_names_has_no_record(log: Path) -> None:
    for topic in ("in", "pay", "pay-in-e", "in-eu", "eu"):
        assert CliRunner().invoke(main, ["merge", str(log), "--topic", topic]).stdout == ""


BY_ID = [  # what KRaft logs -> which partitions of pay-in it concerns
    ("org.apache.kafka.controller.ReplicationControlManager", "[QuorumController id=1] Created topic pay-in with "
        f"topic ID {ID}.", ALL),
    ("org.apache.kafka.controller.ReplicationControlManager", "[QuorumController id=1] Replayed RemoveTopicRecord "
        f"for topic pay-in with ID {ID}.", ALL),
    ("org.apache.kafka.controller.ReplicationControlManager", "[QuorumController id=1] Created topic refunds with "
        f"topic ID {OTHER_ID}.", NONE),
    ("org.apache.kafka.controller.QuorumController", "[QuorumController id=1] Replaying log record "
        f"PartitionChangeRecord(partitionId=3, topicId={ID}, isr=[5], leader=5, replicas=null, "
        "removingReplicas=null, addingReplicas=null, leaderRecoveryState=-1, directories=null, "
        "eligibleLeaderReplicas=null, lastKnownElr=null) with offset 640", P3),
    ("org.apache.kafka.controller.QuorumController", "[QuorumController id=1] Replaying log record "
        f"PartitionChangeRecord(partitionId=3, topicId={OTHER_ID}, isr=[5], leader=5, replicas=null, "
        "removingReplicas=null, addingReplicas=null, leaderRecoveryState=-1, directories=null, "
        "eligibleLeaderReplicas=null, lastKnownElr=null) with offset 641", NONE),
    ("kafka.server.NewThing", f"Nobody knows this about {ID}", ALL),
    ("kafka.server.NewThing", f"Nobody knows this about {OTHER_ID}", NONE),
    ("kafka.server.NewThing", f"Nobody knows this about x{ID}", NONE),
]  # fmt: skip


def test_an_id_stands_for_its_topic(tmp_path: Path) -> None:
    log_lines = [
        f"[2026-11-21 10:00:{i:02},000] INFO {message} ({logger})\n" for i, (logger, message, _) in enumerate(BY_ID)
    ]
    (tmp_path / "controller-1.log").write_text("".join(log_lines))
    for argv, partitions in (((), "37"), (("--partitions", "3"), "3"), (("--partitions", "7"), "7")):
        expected = [
            line for line, (*_, concerned) in zip(log_lines, BY_ID, strict=True) if set(concerned) & set(partitions)
        ]
        result = CliRunner().invoke(main, ["merge", str(tmp_path), "--topic", "pay-in", *argv])
        assert result.stdout.splitlines(keepends=True) == expected


def test_a_topic_whose_name_is_a_number(tmp_path: Path) -> None:
    """Lists of brokers such as `[4, 5]` look like its partitions."""
    messages = {  # message -> which of its partitions 5 and 7 it concerns
        "[Controller id=1 epoch=4] Changed partition 4-5 from OfflinePartition to OnlinePartition with state "
        "LeaderAndIsr(leader=2, leaderEpoch=7, isr=List(2, 3), zkVersion=9)": "5",
        "[Controller id=1 epoch=4] Changed partition a-0 from OfflinePartition to OnlinePartition with state "
        "LeaderAndIsr(leader=4, leaderEpoch=7, isr=List(4, 5), zkVersion=9)": "",
        "[Broker id=4] Handling LeaderAndIsr request correlationId 4 from controller 1 epoch 4 starting the "
        "become-leader transition for partition a-4": "",
        "[Controller id=1] Mark replicas refunds-0,4-5 on broker 6 as offline": "5",
        "[Controller id=1 epoch=4] Sending UpdateMetadata request to brokers Set(4, 5) for 17 partitions": "",
        "Broker 4 deleted partitions for topic 4 from metadata cache in response to UpdateMetadata request  sent by "
        "controller 1 epoch 8 with correlation id 27": "57",
    }
    text = {
        f"[2026-11-21 10:00:0{i},000] TRACE {line} ({S})\n": wanted for i, (line, wanted) in enumerate(messages.items())
    }
    (tmp_path / "broker-4.log").write_text("".join(text))
    for argv, partitions in (((), "57"), (("--partitions", "5"), "5"), (("--partitions", "7"), "7")):
        result = CliRunner().invoke(main, ["merge", str(tmp_path), "--topic", "4", *argv])
        assert result.stdout == "".join(line for line, concerned in text.items() if set(concerned) & set(partitions))


HINTS = {  # options -> what is said before the counts; the logs have partitions 3 and 7 of pay-in, and refunds-0
    "--topic pay-inn": "Did you mean --topic pay-in?",
    "--topic pay.*": "--topic takes one topic's name, no regular expression; of such names the logs have pay-in.",
    "--topic pay-in-3": "pay-in-3 is a partition of pay-in: give --topic pay-in --partitions 3.",
    "--topic pay-in --partitions 4": (
        "No record names partition 4 of pay-in: what matched is about the topic as a whole."
    ),
    "--topic pay-in --partitions 3,4": None,
    "--topic refunds --partitions 1": None,  # nothing matched, and the topic is right
    "--topic refunds --since 11:00": None,
    "--topic stock": None,
}


@pytest.mark.parametrize("options", HINTS)
def test_a_topic_that_is_not_there_is_answered_with_what_is(options: str, tmp_path: Path) -> None:
    text = "partition {} state from OnlinePartition to OfflinePartition (state.change.logger)"
    lines = [
        *(f"Changed {text.format(name)}" for name in ("pay-in-3", "pay-in-7", "refunds-0")),
        "[Topic Deletion Manager 1] Handling deletion for topics pay-in (kafka.controller.TopicDeletionManager)",
    ]
    stamped = [f"[2026-11-21 10:00:0{n},000] TRACE {line}\n" for n, line in enumerate(lines)]
    (tmp_path / "state-change.log").write_text("".join(stamped))
    result = CliRunner().invoke(main, ["merge", str(tmp_path), "--count", *options.split()], catch_exceptions=False)
    assert result.exit_code == 0
    sentences = [line.removeprefix("kafka-rewind: ") for line in result.stderr.splitlines()[:-1]]
    expected = HINTS[options]
    assert [line for line in sentences if not line.startswith("Nothing matched")] == ([expected] if expected else [])
