"""In which order a controller takes office, messages are logged, and a partition is counted as offline; and partitions
that are added. Worked out by hand after Kafka's source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jobs.findings.other_decisions import to_created_topics, with_run_of_terms
from schemas.timelines import CONTROLLER_TIMELINE, PARTITION_TIMELINE, TOPIC_TIMELINE
from udfs.kafka.creation_verdicts import judge_addition
from udfs.kafka.failover_verdicts import judge_failover
from udfs.kafka.gauge_verdicts import judge_gauge
from udfs.kafka.message_verdicts import judge_messages
from udfs.kafka.releases import Release
from udfs.kafka.verdict_rows import controller_verdicts, creation_verdicts, request_verdicts

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

MS = 1000


# ---- failover -------------------------------------------------------------------------------------------------------
def steps(*named: str, file_id: str = "controller.log") -> list[dict[str, Any]]:
    """Steps 1 ms apart, in lines of one file; `state-change.log: first_request` is of another one."""
    rows = []
    for at, name in enumerate(named):
        file, _, step = name.rpartition(": ")
        rows.append({"step": step, "at": at * MS, "node_id": 1, "file_id": file or file_id, "line": at + 1})
    return rows


ZK = ("elected", "context_loading", "context_loaded", "replica_state_machine_started",
      "partition_state_machine_started", "ready")  # fmt: skip
FAILOVERS = {  # mode, steps in the order in which they were logged -> verdict, what was logged
    "all of ZooKeeper's": ("zookeeper", ZK, "holds", "6 steps in that order"),
    "until 2.0 the epoch is raised by a line of its own": (
        "zookeeper", ("elected", "epoch_incremented", "ready"), "holds", "3 steps in that order"
    ),
    "partitions before replicas": (
        "zookeeper", (*ZK[:3], ZK[4], ZK[3], ZK[5]), "violated",
        "partition state machine started before replica state machine started",
    ),
    "ready before its partitions": (
        "zookeeper", (*ZK[:4], ZK[5], ZK[4]), "violated", "ready before partition state machine started"
    ),
    "a request as the replicas start": (
        "zookeeper", (*ZK[:3], "state-change.log: first_request", *ZK[3:]), "holds", "7 steps in that order"
    ),
    "a request before the context": (
        "zookeeper", (*ZK[:2], "state-change.log: first_request", *ZK[2:]), "violated",
        "first request before context loaded",
    ),
    "KRaft's": ("kraft", ("elected", "active", "activation"), "holds", "3 steps in that order"),
    "KRaft's controller before it is elected": (
        "kraft", ("active", "elected"), "violated", "active before elected"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILOVERS)
def test_failover_order(case: str) -> None:
    mode, named, verdict, actual = FAILOVERS[case]
    judged = judge_failover(mode, steps(*named), None)
    assert judged is not None
    assert (judged[0].verdict, judged[0].actual) == (verdict, actual)
    assert len(judged[1]) == (2 if verdict == "violated" else len(named))


def test_what_has_no_order_is_not_judged() -> None:
    assert judge_failover("zookeeper", steps("elected"), None) is None
    assert judge_failover("kraft", steps("elected", "ready"), None) is None
    swapped = steps("ready", "partition_state_machine_started")
    # the later line is of another term, or of another failover
    assert judge_failover("zookeeper", swapped, until=0) is None
    assert judge_failover("zookeeper", [swapped[0], {**swapped[1], "at": 11_000 * MS}], None) is None
    # two files, one time
    other = [swapped[0], {**swapped[1], "at": 0, "file_id": "other"}]
    judged = judge_failover("zookeeper", other, None)
    assert judged is not None
    assert judged[0].verdict == "holds"


def test_each_term_is_judged_once() -> None:
    term = {
        "cluster": "c", "cluster_incarnation": 0, "mode": "zookeeper", "controller_id": 1, "since": 0, "until": None,
        "claimed_by": [1], "evidence": [],
    }  # fmt: skip
    terms = [
        {**term, "controller_epoch": 1, "steps": steps(*ZK)},
        {**term, "controller_epoch": 2, "steps": steps("ready", "elected")},
        {**term, "controller_epoch": 3, "steps": None},
    ]
    rows = [row for row in controller_verdicts(terms) if row["rule"] == "failover_order"]
    assert [(row["subject"], row["verdict"]) for row in rows] == [
        ("controller 1 epoch 1", "holds"),
        ("controller 1 epoch 2", "violated"),
    ]
    assert [line["line"] for line in rows[1]["evidence"]] == [1, 2]


# ---- messages -------------------------------------------------------------------------------------------------------
COLUMNS = (
    "controller_id", "controller_epoch", "correlation_id", "leader", "leader_epoch", "from_state", "to_state",
    "target_broker", "replica", "deletes", "life", "registered_at", "current_leader_epoch", "replicas",
    "target_replicas", "adding_replicas", "removing_replicas", "node_release", "log_since",
)  # fmt: skip
RECEIVED, LEADS = "leader_and_isr_request_received", "become_leader_started"
CHANGED, REPLICA, STOP = "partition_state_change", "replica_state_change", "stop_replica_request_sent"


def line(event_type: str, ms: float, **values: Any) -> dict[str, Any]:
    """A line of node 1; those of one file have their numbers by time."""
    place = {"node_id": 1, "file_id": "f", "line": int(ms * 10) + 1, "at": int(ms * MS)}
    return {**dict.fromkeys(COLUMNS), "event_type": event_type, "controller_epoch": 4, **place, **values}


def request(event_type: str, ms: float, number: int = 7, **values: Any) -> dict[str, Any]:
    return line(event_type, ms, controller_id=3, correlation_id=number, life=1, **values)


def to_replica(state: str, ms: float, before: str = "OnlineReplica", replica: int = 2) -> dict[str, Any]:
    return line(REPLICA, ms, from_state=before, to_state=state, replica=replica)


def state(before: str, after: str, ms: float, **values: Any) -> dict[str, Any]:
    return line(CHANGED, ms, from_state=f"{before}Partition", to_state=f"{after}Partition", **values)


def stop(ms: float, *, deletes: bool = True, broker: int = 2) -> dict[str, Any]:
    return line(STOP, ms, target_broker=broker, deletes=deletes)


MESSAGES = {  # lines -> verdicts
    "a request is received, then handled": ([request(RECEIVED, 0), request(LEADS, 1)], ["holds"]),
    "handled before it is received": ([request(LEADS, 0), request(RECEIVED, 1)], ["violated"]),
    "another request": ([request(LEADS, 0), request(RECEIVED, 1, number=8)], []),
    "of another process": ([request(LEADS, 0), request(RECEIVED, 1) | {"life": 2}], []),
    "so late that it may be another connection's": ([request(LEADS, 0), request(RECEIVED, 1001)], ["holds"]),
    "offline, then deleted": ([to_replica("OfflineReplica", 0), stop(5)], ["holds"]),
    "deleted before it is offline": ([stop(0), to_replica("OfflineReplica", 5)], ["violated"]),
    "stopped, not deleted": ([stop(0, deletes=False), to_replica("OfflineReplica", 5)], []),
    "another replica": ([stop(0), to_replica("OfflineReplica", 5, replica=3)], []),
    "a deletion that failed": ([stop(0), to_replica("OfflineReplica", 5, before="ReplicaDeletionIneligible")], []),
    "stopped again a second later": ([stop(0), to_replica("OfflineReplica", 1001)], []),
    "gone at last": ([state("Online", "Offline", 0), state("Offline", "NonExistent", 1)], ["holds"]),
    "a state after it is gone": (
        [state("Offline", "NonExistent", 0), state("Online", "Offline", 1)], ["violated"]
    ),
    "created again": ([state("Offline", "NonExistent", 0), state("NonExistent", "New", 1)], []),
    "created again, and led": (
        [state("Offline", "NonExistent", 0), state("NonExistent", "New", 1), state("New", "Online", 2)], []
    ),
    "a state before it is created again": (
        [state("Offline", "NonExistent", 0), state("Online", "Offline", 1), state("NonExistent", "New", 2)],
        ["violated"],
    ),
    "much later": ([state("Offline", "NonExistent", 0), state("Online", "Offline", 1001)], []),
    "another controller's term": (
        [state("Offline", "NonExistent", 0), state("Online", "Offline", 1, controller_epoch=5)], []
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MESSAGES)
def test_message_order(case: str) -> None:
    lines, verdicts = MESSAGES[case]
    judged = list(judge_messages(sorted(lines, key=lambda row: row["at"])))
    assert [one.verdict.verdict for one in judged] == verdicts
    assert all(len(one.lines) == 2 for one in judged)


# ---- the gauge ------------------------------------------------------------------------------------------------------
def sent(ms: float, leader: int, epoch: int) -> dict[str, Any]:
    return line("update_metadata_request_sent", ms, leader=leader, leader_epoch=epoch, target_broker=1)


def removed(ms: float, leader: int, epoch: int) -> dict[str, Any]:
    return line("replica_removed_from_isr", ms, leader=leader, leader_epoch=epoch, replica=1)


def elected(ms: float, before: str, epoch: int = 5) -> dict[str, Any]:
    return state(before, "Online", ms, leader=2, leader_epoch=epoch)


GAUGES = {  # lines, releases -> verdicts
    "counted": ([sent(0, -1, 4), elected(9, "Offline")], ("2.4",), ["holds"]),
    "left out": ([sent(0, -1, 4), elected(9, "Online")], ("2.4",), ["violated"]),
    "left out, after its last leader went": ([removed(0, -1, 4), elected(9, "Online")], ("2.6",), ["violated"]),
    "counted, after its last leader went": ([removed(0, -1, 4), elected(9, "Offline")], ("2.6",), ["holds"]),
    "a follower went": ([removed(0, 1, 4), elected(9, "Online")], ("2.6",), []),
    "before 2.1 who is alive counts": ([sent(0, -1, 4), elected(9, "Online")], ("2.0",), []),
    "2.0 or later": ([sent(0, -1, 4), elected(9, "Online")], ("2.0", "2.4"), []),
    "it had a leader": ([sent(0, 1, 4), elected(9, "Online")], ("2.4",), []),
    "lines differ": ([sent(0, 1, 4), sent(1, -1, 4), elected(9, "Online")], ("2.4",), []),
    "another election may be in between": ([sent(0, -1, 3), elected(9, "Online")], ("2.4",), []),
    "a new partition": ([elected(9, "New", epoch=0)], ("2.4",), []),
    "an added replica led as its reassignment was cancelled": (
        [line("reassignment_assignment_updating", 0), removed(5, -1, 4), elected(9, "Online")], ("2.6",), []
    ),
    "reassigned long before": (
        [line("reassignment_assignment_updating", -10_001), removed(0, -1, 4), elected(9, "Online")], ("2.6",),
        ["violated"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GAUGES)
def test_offline_gauge_matches(case: str) -> None:
    lines, releases, verdicts = GAUGES[case]
    judged = list(judge_gauge(lines, [Release.parse(release) for release in releases]))
    assert [one.verdict.verdict for one in judged] == verdicts


def test_lines_of_a_partition_become_verdicts() -> None:
    place = {"cluster": "c", "topic": "a", "partition": 0, "incarnation": 0}
    lines = [sent(0, -1, 4), elected(9, "Online"), request(LEADS, 20), request(RECEIVED, 21)]
    rows = request_verdicts([{**row, **place} for row in lines], {"c": ("2.4.1", False)})
    violated = {row["rule"]: row["subject"] for row in rows if row["verdict"] == "violated"}
    assert violated == {
        "message_order": "a-0#0 requests to broker 1, controller epoch 4",
        "offline_gauge_matches": "a-0#0 leader epoch 5, controller epoch 4",
    }


# ---- added partitions -----------------------------------------------------------------------------------------------
ADDED = {  # replicas, how many partition 0 had, whether always known, KRaft -> verdict, missing
    "as many": ([3, 1], {2}, True, True, "holds", ()),
    "as many as while it was reassigned": ([3, 1], {2, 3}, True, True, "holds", ()),
    "a broker twice": ([3, 3], {2}, True, False, "violated", ()),
    "no broker": ([], {2}, True, False, "violated", ()),
    "another number": ([3], {2}, True, True, "violated", ()),
    "another number, by another program": ([3], {2}, True, False, "unknown", ("who wrote the assignment",)),
    "another number, of those that are known": ([3], {2}, False, True, "unknown", ("the assignment of partition 0",)),
    "nothing to compare with": ([3], set(), False, True, "unknown", ("the assignment of partition 0",)),
}  # fmt: skip


@pytest.mark.parametrize("case", ADDED)
def test_added_partitions(case: str) -> None:
    replicas, factors, knows_factors, is_kraft, verdict, missing = ADDED[case]
    judged = judge_addition(7, replicas, factors, knows_factors=knows_factors, is_kraft=is_kraft)
    assert (judged.verdict, judged.missing) == (verdict, missing)


TOPICS = """
cluster | topic | incarnation | since
c       | a     | 0           | 10:00
c       | old   | 0           | 08:00
c       | begun | 0           | 08:00
"""
STATES = """
cluster | topic | partition | incarnation | ordinal | since    | leader_epoch | partition_epoch | replicas
# created with two partitions, the second a little later; another one is added
c       | a     | 0         | 0           | 0       | 10:00:01 | 0            | 0               | 1,2
c       | a     | 0         | 0           | 1       | 10:30    | 1            | 1               | 1,2,3
c       | a     | 1         | 0           | 0       | 10:00:11 | 0            | 0               | 2,1
c       | a     | 2         | 0           | 0       | 10:00:12 | 0            | 0               | 3
# of which only the added ones are seen as they begin
c       | old   | 0         | 0           | 7       | 09:00    | 4            | 7               |
c       | old   | 5         | 0           | 0       | 10:00    | 0            | 0               | 3,1
c       | old   | 6         | 0           | 0       | 10:00    | 0            | 0               | 1,1
# a first assignment that is not known
c       | old   | 7         | 0           | 0       | 10:00    | 0            | 0               |
# logs begin when partition 0 has been reassigned: it may have had two replicas
c       | begun | 0         | 0           | 7       | 09:00    | 4            | 7               | 1,2,3
c       | begun | 5         | 0           | 0       | 10:00    | 0            | 0               | 3,1
"""


def test_partitions_of_new_topics_and_added_ones(frame: Frame) -> None:
    created = to_created_topics(frame(PARTITION_TIMELINE, STATES), frame(TOPIC_TIMELINE, TOPICS))
    rows = {row["topic"]: row.asDict(recursive=True) for row in created.collect()}
    shown = {
        topic: [[p["partition"] for p in row[name]] for name in ("partitions", "added")] for topic, row in rows.items()
    }
    assert shown == {"a": [[0, 1], [2]], "old": [[], [5, 6]], "begun": [[], [5]]}
    assert {topic: sorted(row["factors"]) for topic, row in rows.items()} == {"a": [2, 3], "old": [], "begun": [3]}
    knows_factors = {topic: row["knows_factors"] for topic, row in rows.items()}
    assert knows_factors == {"a": True, "old": False, "begun": False}
    judged = creation_verdicts([{**row, "kraft_began": None} for row in rows.values()], {"c": ("4.1", True)})
    assert sorted((row["rule"], row["subject"], row["verdict"]) for row in judged) == [
        ("added_partitions", "a-2#0", "violated"),
        ("added_partitions", "begun-5#0", "unknown"),
        ("added_partitions", "old-5#0", "unknown"),
        ("added_partitions", "old-6#0", "violated"),
        ("assignment_at_creation", "a#0", "holds"),
    ]


TERMS = """
cluster | controller_id | controller_epoch | mode      | since
zk      | 1             | 2                | zookeeper | 10:00
zk      | 2             | 3                | zookeeper | 10:05
# of those before the logs are missing
zk      | 1             | 10               | zookeeper | 10:20
# quorums skip epochs
kraft   | 100           | 3                | kraft     | 10:00
kraft   | 101           | 7                | kraft     | 10:10
"""
RUNS = """
cluster | controller_epoch | run_since
zk      | 2                | 10:00
zk      | 3                | 10:00
zk      | 10               | 10:20
kraft   | 3                |
kraft   | 7                |
"""


def test_terms_of_controllers_without_a_log_in_between(frame: Frame, same: Same) -> None:
    same(with_run_of_terms(frame(CONTROLLER_TIMELINE, TERMS)), RUNS)
