"""Lines that can be read wrongly are read right, and tell which releases can have written them.

Up to 0.10 the commas inside of an ISR are those between the fields, an ISR may be empty, and brackets do not balance.
A topic may end in a number or be one, may have dots and dashes; a list of two ids looks like a partition `[topic,p]`.
"""

from __future__ import annotations

from typing import Any

import pytest

from jobs.ingest.stream_accounts import release_range
from udfs.rules.parsing import find_rule, read_message, split_prefix

STATE_CHANGE = "state.change.logger"
CONTROLLER = "kafka.controller.KafkaController"
PARTITION = "kafka.cluster.Partition"
QUORUM_CONTROLLER = "org.apache.kafka.controller.QuorumController"

READ: dict[str, tuple[str, str, dict[str, Any]]] = {  # logger, message -> what must be read; None: must not be there
    "0.8: ISR of two, followed by a field": (
        STATE_CHANGE,
        "Controller 3 epoch 9 sending become-leader LeaderAndIsr request (Leader:1,ISR:1,2,LeaderEpoch:3,"
        "ControllerEpoch:8) with correlationId 7 to broker 5 for partition [test-3-2,4]",
        {
            "leader": 1,
            "isr": [1, 2],
            "leader_epoch": 3,
            "controller_epoch": 9,
            "state_controller_epoch": "8",
            "topic": "test-3-2",
            "partition": 4,
            "target_broker": "5",
        },
    ),
    "0.8: empty ISR": (
        STATE_CHANGE,
        "Controller 3 epoch 9 sending UpdateMetadata request (Leader:-1,ISR:,LeaderEpoch:3,ControllerEpoch:9) with "
        "correlationId 7 to broker 1 for partition [a-1,0]",
        {"leader": -1, "isr": [], "leader_epoch": 3, "topic": "a-1", "partition": 0, "correlation_id": 7},
    ),
    "0.8: brackets that do not balance": (
        STATE_CHANGE,
        "Broker 1 cached leader info (LeaderAndIsrInfo:(Leader:1,ISR:1,2,LeaderEpoch:3,ControllerEpoch:9),"
        "ReplicationFactor:2),AllReplicas:4,5) for partition [__consumer_offsets,12] in response to UpdateMetadata "
        "request sent by controller 3 epoch 9 with correlation id 7",
        {
            "leader": 1,
            "isr": [1, 2],
            "leader_epoch": 3,
            "replicas": [4, 5],
            "topic": "__consumer_offsets",
            "partition": 12,
            "controller_id": 3,
        },
    ),
    "0.8: the same with an empty ISR and one replica": (
        STATE_CHANGE,
        "Broker 1 cached leader info (LeaderAndIsrInfo:(Leader:-1,ISR:,LeaderEpoch:3,ControllerEpoch:9),"
        "ReplicationFactor:1),AllReplicas:2) for partition [a-1,0] in response to UpdateMetadata request sent by "
        "controller 3 epoch 9 with correlation id 7",
        {"leader": -1, "isr": [], "leader_epoch": 3, "replicas": [2], "topic": "a-1", "partition": 0},
    ),
    "0.8: several states in one line": (
        CONTROLLER,
        "[Controller 3]: All leaders = [a-1,0] -> (Leader:1,ISR:1,2,LeaderEpoch:3,ControllerEpoch:9),[2,1] -> "
        "(Leader:-1,ISR:,LeaderEpoch:4,ControllerEpoch:9)",
        {
            "partitions": [
                {
                    "topic": "a-1",
                    "partition": 0,
                    "leader": 1,
                    "isr": [1, 2],
                    "leader_epoch": 3,
                    "controller_epoch": 9,
                },
                {"topic": "2", "partition": 1, "leader": -1, "isr": [], "leader_epoch": 4, "controller_epoch": 9},
            ]
        },
    ),
    "0.8: a failed change is told by its controller": (
        STATE_CHANGE,
        (
            "Controller 3 epoch 9 initiated state change for partition [a-1,0] from OfflinePartition to "
            "OnlinePartition failed"
        ),
        {"node": 3, "controller_id": 3, "controller_epoch": 9, "topic": "a-1", "partition": 0},
    ),
    "0.8.0: a failed change of a replica, without its old state": (
        STATE_CHANGE,
        "Controller 3 epoch 9 initiated state change of replica 5 for partition [a-1,0] to OnlineReplica failed",
        {"node": 3, "controller_epoch": 9, "replica": "5", "from_state": None, "to_state": "OnlineReplica"},
    ),
    "1.1: the controller is told twice": (
        STATE_CHANGE,
        "[Controller id=3 epoch=9] Controller 3 epoch 9 initiated state change of replica 5 for partition a-1-0 from "
        "NewReplica to OnlineReplica failed",
        {"node": 3, "controller_epoch": 9, "replica": "5", "from_state": "NewReplica"},
    ),
    "0.11: ISR without brackets inside of a state": (
        STATE_CHANGE,
        "[Broker id=1] Received LeaderAndIsr request PartitionState(controllerEpoch=9, leader=1, leaderEpoch=3, "
        "isr=1,2, zkVersion=4, replicas=2,1, isNew=false) correlation id 7 from controller 3 epoch 9 for partition "
        "a-1-0",
        {"isr": [1, 2], "replicas": [2, 1], "partition_epoch": 4, "topic": "a-1", "partition": 0},
    ),
    "a topic that ends in a number, behind a dash": (
        STATE_CHANGE,
        "[Controller id=3 epoch=9] Changed partition test-3-2 from NewPartition to OnlinePartition with state "
        "LeaderAndIsr(leader=1, leaderEpoch=0, isr=List(1, 2), zkVersion=0)",
        {"topic": "test-3", "partition": 2, "leader": 1, "isr": [1, 2], "partition_epoch": 0},
    ),
    "a partition of two digits": (
        STATE_CHANGE,
        "[Controller id=3 epoch=9] Changed partition a-1-10 state from NewPartition to OfflinePartition",
        {"topic": "a-1", "partition": 10, "leader": None},
    ),
    "an internal topic, and an empty Scala list": (
        STATE_CHANGE,
        "[Controller id=3 epoch=9] Changed partition __consumer_offsets-0 from OnlinePartition to "
        "OfflinePartition with "
        "state LeaderAndIsr(leader=-1, leaderEpoch=2, isr=List(), zkVersion=5)",
        {"topic": "__consumer_offsets", "partition": 0, "leader": -1, "isr": [], "partition_epoch": 5},
    ),
    "a list of two ids is no partition": (
        PARTITION,
        "[Partition test-3-2 broker=1] ISR updated to [1,2] and zkVersion updated to [3]",
        {"topic": "test-3", "partition": 2, "isr": [1, 2], "partition_epoch": 3, "partitions": None},
    ),
    "nor is one in a state": (
        STATE_CHANGE,
        "[Broker id=1] Cached leader info PartitionState(controllerEpoch=9, leader=1, leaderEpoch=3, isr=[1, 2], "
        "zkVersion=4, replicas=[1, 2], offlineReplicas=[]) for partition 1-2 in response to UpdateMetadata request "
        "sent by controller 3 epoch 9 with correlation id 7",
        {"topic": "1", "partition": 2, "isr": [1, 2], "replicas": [1, 2], "partitions": None},
    ),
    "a topic that is a number": (
        PARTITION,
        "[Partition 2-1 broker=5] Shrinking ISR from 1,5 to 5",
        {"topic": "2", "partition": 1, "isr": [5], "old_isr": "1,5", "broker_id": 5},
    ),
    "a list of partitions up to 0.11": (
        CONTROLLER,
        "[Controller 3]: Partitions undergoing preferred replica election: [a-1,0],[2,1]",
        {"partitions": [{"topic": "a-1", "partition": 0}, {"topic": "2", "partition": 1}]},
    ),
    "the same from 1.0 on": (
        CONTROLLER,
        "[Controller id=3] Partitions undergoing preferred replica election: a-1-0,2-1",
        {"partitions": [{"topic": "a-1", "partition": 0}, {"topic": "2", "partition": 1}]},
    ),
    "ids behind a partition without brackets": (
        CONTROLLER,
        "[Controller id=3] Updated assigned replicas for partition test-3-2 being reassigned to 1,2",
        {"topic": "test-3", "partition": 2, "replicas": [1, 2]},
    ),
    "up to 0.10 the ISR's partition is told twice": (
        PARTITION,
        "Partition [test-3-2,0] on broker 1: Shrinking ISR for partition [test-3-2,0] from 1,2 to 1",
        {"topic": "test-3-2", "partition": 0, "isr": [1], "old_isr": "1,2"},
    ),
    "3.0: parentheses in an event's name, and its identity behind": (
        QUORUM_CONTROLLER,
        "[Controller 101] Processed handleSnapshot[snapshotId=OffsetAndEpoch(offset=640, epoch=8)](735877098) in 35 us",
        {"event": "handleSnapshot[snapshotId=OffsetAndEpoch(offset=640, epoch=8)]", "event_identity": "735877098"},
    ),
    "4.1: brackets in an event's brackets": (
        QUORUM_CONTROLLER,
        "[QuorumController id=101] handleLoadSnapshot[snapshotId=OffsetAndEpoch[offset=640, epoch=8]]: event failed "
        "with RejectedExecutionException in 35 microseconds. Exception message: null",
        {"event": "handleLoadSnapshot[snapshotId=OffsetAndEpoch[offset=640, epoch=8]]", "event_identity": None},
    ),
    "3.4: a prefix with a bare id": (
        "org.apache.kafka.image.publisher.SnapshotGenerator",
        "[SnapshotGenerator 101] Creating new KRaft snapshot file snapshot 00000000000000000640-0000000008 because we "
        "have waited at least 60 minute(s).",
        {"node": 101, "snapshot": "00000000000000000640-0000000008"},
    ),
    "a consumer group with a blank": (
        "kafka.server.metadata.DynamicConfigPublisher",
        "[DynamicConfigPublisher broker id=4] Updating group pay in (2) with new configuration : "
        "consumer.session.timeout.ms -> 45000",
        {"entity": "pay in (2)", "config": "consumer.session.timeout.ms -> 45000", "topic": None},
    ),
}

RELEASES: dict[str, tuple[list[tuple[str, str]], str]] = {  # lines of one file -> the releases that write all of them
    "one text of many releases": ([(CONTROLLER, "[Controller id=3] Resigning")], "1.0.0..3.9.2"),
    "two that overlap": (
        [
            (CONTROLLER, "[Controller id=3] Resigning"),
            (
                PARTITION,
                "[Partition a-0 broker=1] a-0 starts at leader epoch 5 from offset 4 with high watermark 3. "
                "Previous leader epoch was 4.",
            ),
        ],
        "1.0.0..2.5.1",
    ),
    "three that leave two minor releases": (
        [
            (
                PARTITION,
                "[Partition a-0 broker=1] a-0 starts at leader epoch 5 from offset 4 with high watermark 3. "
                "Previous leader epoch was 4.",
            ),
            (
                CONTROLLER,
                "[Controller id=3] Starting replica leader election (PREFERRED) for partitions a-0 triggered "
                "by AutoTriggered",
            ),
            (STATE_CHANGE, "[Broker id=1] Handling stop replica (delete=false) for partition a-0"),
        ],
        "2.4.0..2.5.1",
    ),
    "a text that is still written": (
        [(QUORUM_CONTROLLER, "[QuorumController id=1] Performing controller activation.")],
        "3.6.0..",
    ),
}


@pytest.mark.parametrize("case", READ)
def test_it_is_read_right(case: str) -> None:
    logger, message, expected = READ[case]
    read = read_message(logger, message)
    assert read is not None
    assert {name: read.get(name) for name in expected} == expected


@pytest.mark.parametrize("case", RELEASES)
def test_shapes_tell_the_releases(case: str) -> None:
    lines, expected = RELEASES[case]
    rules = [find_rule(logger.encode(), split_prefix(message.encode())[1]) for logger, message in lines]
    assert None not in rules
    assert release_range(f"{rule.since}..{rule.until}" for rule in rules if rule) == expected
