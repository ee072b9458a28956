"""Pairs of lines that compare clocks, in plain Python: the cases of `tests/test_clocks.py`, as lines."""

from __future__ import annotations

import sqlite3

import pytest

from udfs.reconstruct import clock_pairs
from udfs.reconstruct.clock_pairs import ClockPairs, closest_bounds, request_line_rows
from udfs.reconstruct.clock_skew import SkewBound
from udfs.rules.parsing import read_message

SECOND = 1_000_000
STATE, PARTITION, QUORUM = "state.change.logger", "kafka.cluster.Partition", "org.apache.kafka.raft.QuorumState"
TO_2 = "[Controller id=1 epoch=4] Sending become-leader LeaderAndIsr request LeaderAndIsrPartitionState(topicName='a', partitionIndex={0}, controllerEpoch=4, leader=2, leaderEpoch=3, isr=[2, 1], zkVersion=7, replicas=[2, 1], addingReplicas=[], removingReplicas=[], isNew=false) to broker 2 for partition a-{0}"
BY_2 = "[Broker id=2] Received LeaderAndIsr request LeaderAndIsrPartitionState(topicName='a', partitionIndex={0}, controllerEpoch=4, leader=2, leaderEpoch=3, isr=[2, 1], zkVersion=7, replicas=[2, 1], addingReplicas=[], removingReplicas=[], isNew=false) correlation id 9 from controller 1 epoch 4"
DONE = "[Broker id=2] Completed LeaderAndIsr request correlationId 9 from controller 1 epoch 4 for the become-leader transition for partition a-{0}"
ANSWERED = "[Controller id=1 epoch=4] Received response {error_code=0,partition_errors=[],_tagged_fields={}} for request LEADER_AND_ISR with correlation id 9 sent to broker 127.0.0.1:9092 (id: 2 rack: null)"
CACHED = "[Broker id={2}] Cached leader info UpdateMetadataPartitionState(topicName='{0}', partitionIndex=0, controllerEpoch=4, leader=2, leaderEpoch=3, isr=[1, 2], zkVersion={1}, replicas=[1, 2], offlineReplicas=[]) for partition {0}-0 in response to UpdateMetadata request sent by controller 1 epoch 4 with correlation id 7"

Line = tuple[float, str, str]  # seconds on the writer's clock, logger, message
EXCHANGE: dict[int, list[Line]] = {
    1: [(0.0, STATE, TO_2.format(0)), (0.0, STATE, TO_2.format(1)), (0.05, STATE, ANSWERED)],
    2: [
        (5.02, STATE, BY_2.format(0)), (5.02, STATE, BY_2.format(1)), (5.03, STATE, DONE.format(0)), (5.04, STATE, DONE.format(1)),
    ],
}  # fmt: skip
CHANGED: dict[int, list[Line]] = {
    2: [
        (10.0, PARTITION, "[Partition a-0 broker=2] Shrinking ISR from 1,2,3 to 2,1. Leader: (highWatermark: 5, endOffset: 9). Out of sync replicas: (brokerId: 3, endOffset: 5)."),
        (10.2, PARTITION, "[Partition a-0 broker=2] ISR updated to [1,2] and zkVersion updated to [5]"),
        (20.0, PARTITION, "[Partition a-0 broker=2] Expanding ISR from 1,2 to 1,2,3"),
        (21.0, PARTITION, "[Partition a-0 broker=2] ISR updated to [1,2] and zkVersion updated to [6]"),  # not as intended
        (10.0, PARTITION, "[Partition b-0 broker=2] Shrinking ISR from 2,3 to 1,2. Leader: (highWatermark: 5, endOffset: 9). Out of sync replicas: (brokerId: 3, endOffset: 5)."),
        (11.0, PARTITION, "[Partition b-0 broker=2] ISR updated to [1,2] and zkVersion updated to [1]"),
    ],
    3: [
        (11.5, STATE, CACHED.format("a", 5, 3)), (11.0, STATE, CACHED.format("a", 5, 3)), (22.0, STATE, CACHED.format("a", 6, 3)),
        (12.0, STATE, CACHED.format("b", 1, 3)),  # the epochs of a topic that was deleted come again
        (30.0, STATE, "[Broker id=3] Deleted partition b-0 from metadata cache in response to UpdateMetadata request sent by controller 1 epoch 4 with correlation id 8"),
    ],
}  # fmt: skip
TWICE: dict[int, list[Line]] = {  # two leaders log the same partition epoch as theirs: one of them is wrong
    node: [
        (at, PARTITION, f"[Partition d-0 broker={node}] Shrinking ISR from 1,2,3 to 2,1. Leader: (highWatermark: 5, endOffset: 9). Out of sync replicas: (brokerId: 3, endOffset: 5)."),
        (at + 1, PARTITION, f"[Partition d-0 broker={node}] ISR updated to [1,2] and zkVersion updated to [9]"),
    ]
    for node, at in ((1, 40.0), (2, 42.0))
}  # fmt: skip
ELECTED = "[RaftManager id=101] Completed transition to Leader(localReplicaKey=ReplicaKey(id=101, directoryId=AAAAAAAAAAAAAAAAAAAAAA), epoch={0}, epochStartOffset=10, highWatermark=Optional.empty, voterStates={{}}) from CandidateState(localId=101, epoch={0}, retries=1, voteStates={{}}, highWatermark=Optional.empty, electionTimeoutMs=1000)"
FOLLOWS = "[RaftManager id=102] Completed transition to FollowerState(fetchTimeoutMs=2000, epoch={0}, leader=101, leaderEndpoints=Endpoints(endpoints={{}}), votedKey=Optional.empty, voters=[101, 102], highWatermark=Optional.empty, fetchingSnapshot=Optional.empty) from UnattachedState(epoch={0}, leaderId=OptionalInt.empty, votedKey=Optional.empty, voters=[101, 102], electionTimeoutMs=1000, highWatermark=Optional.empty)"
FOLLOWED: dict[int, list[Line]] = {
    101: [(60.0, QUORUM, ELECTED.format(4))],
    102: [(65.0, QUORUM, FOLLOWS.format(4)), (500.0, QUORUM, FOLLOWS.format(4)), (510.0, QUORUM, FOLLOWS.format(5))],
}
LIFECYCLE, CLUSTER = "kafka.server.BrokerLifecycleManager", "org.apache.kafka.controller.ClusterControlManager"
REGISTERED: dict[int, list[Line]] = {
    5: [(120.0, LIFECYCLE, "[BrokerLifecycleManager id=5] Incarnation h5K2vX8bQ0-3mJtR_wYz1A of broker 5 in cluster q1WeRtYuIo-pAsDfGhJk_L is now STARTING.")],
    101: [
        (120.5, CLUSTER, "[QuorumController id=101] No previous registration found for broker 5. New incarnation ID is h5K2vX8bQ0-3mJtR_wYz1A.  Generated 0 record(s) to clean up previous incarnations. New broker epoch is 300."),
        (121.0, CLUSTER, "[QuorumController id=101] Replayed initial RegisterBrokerRecord for broker 5: RegisterBrokerRecord(brokerId=5, isMigratingZkBroker=false, incarnationId=h5K2vX8bQ0-3mJtR_wYz1A, brokerEpoch=300, endPoints=[], features=[], rack=null, fenced=true, inControlledShutdown=false, logDirs=[])"),
    ],
}  # fmt: skip

# what nodes log -> bounds: cause, effect, when on the clock of the cause, ahead at most; seconds
CASES = {
    "a request that is sent and received, done and answered": (EXCHANGE, {(1, 2, 0.0, 5.02), (2, 1, 5.04, -4.99)}),
    "only one side is there": ({1: EXCHANGE[1]}, set()),
    "an ISR as a leader intended it, and who logs it later": (CHANGED, {(2, 3, 10.0, 1.0)}),
    "a partition epoch that two leaders log as theirs": (TWICE, set()),
    "a quorum's leader, and who follows it": (FOLLOWED, {(101, 102, 60.0, 5.0)}),
    "a broker's process, and who registers it": (REGISTERED, {(5, 101, 120.0, 0.5)}),
}


def bounds_of(logs: dict[int, list[Line]]) -> list[SkewBound]:
    pairs = ClockPairs()
    for node, lines in logs.items():
        for number, (seconds, logger, message) in enumerate(lines, 1):
            fields = read_message(logger, message)
            assert fields is not None, message
            pairs.add(fields, node, f"{node}.log", number, round(seconds * SECOND))
    return pairs.skew_bounds()


@pytest.mark.parametrize("case", CASES)
def test_pairs(case: str) -> None:
    logs, expected = CASES[case]
    bounds = bounds_of(logs)
    assert {(one.cause, one.effect, one.at / SECOND, one.ahead / SECOND) for one in bounds} == expected
    assert {bound.pairs for bound in bounds} <= {1}


def test_a_controllers_own_broker_compares_no_clocks() -> None:
    def of_broker_1(text: str) -> str:
        return (
            text.replace("roker id=2", "roker id=1").replace("to broker 2", "to broker 1").replace("(id: 2", "(id: 1")
        )

    own = [(at, logger, of_broker_1(text)) for lines in EXCHANGE.values() for at, logger, text in lines]
    assert bounds_of({1: own}) == []


def test_of_many_pairs_the_closest_of_ten_seconds_counts() -> None:
    pairs = [(1, 2, 1_000, 2_900), (1, 2, 2_000, 2_500), (1, 2, 12_000_000, 12_000_700), (1, 1, 0, 1)]
    assert closest_bounds(pairs) == [SkewBound(1, 2, 2_000, 500, 2), SkewBound(1, 2, 12_000_000, 700, 1)]


def test_what_does_not_fit_into_memory_is_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred exchanges, a minute apart: some whose two sides fall into two parts are lost, none is wrong."""
    many: dict[int, list[Line]] = {1: [], 2: []}
    for i in range(100):
        for node, lines in EXCHANGE.items():
            for at, logger, text in lines:
                numbered = text.replace("Epoch=3", f"Epoch={i}").replace("Id 9", f"Id {i}").replace(" id 9", f" id {i}")
                many[node].append((at + 60 * i, logger, numbered))
    monkeypatch.setattr(clock_pairs, "_ROWS_AT_ONCE", 7)
    whole = bounds_of(many)
    assert {(one.cause, one.effect, one.ahead) for one in whole} == {(1, 2, 5_020_000), (2, 1, -4_990_000)}
    assert len(whole) == 200
    monkeypatch.setattr(clock_pairs, "_LINES_AT_ONCE", 63)
    few = bounds_of(many)
    assert {(one.cause, one.effect, one.ahead) for one in few} == {(1, 2, 5_020_000), (2, 1, -4_990_000)}
    assert 160 <= len(few) < 200


def test_a_line_on_several_brokers_is_a_row_for_each() -> None:
    fields = read_message(
        STATE, "[Controller id=1 epoch=4] Sending UpdateMetadata request to brokers HashSet(3, 2) for 17 partitions"
    )
    assert fields is not None
    rows = [*request_line_rows(fields, 1, "f", 5, 6)]
    assert rows == [(1, broker, "sent", "UpdateMetadata", 4, None, 1, "f", 6, 5, None, 17) for broker in (3, 2)]


def test_a_full_disk_is_an_os_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def execute(self, *_: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

    pairs = ClockPairs()
    monkeypatch.setattr(pairs, "_db", Full())
    with pytest.raises(OSError, match="disk is full"):
        pairs.skew_bounds()
