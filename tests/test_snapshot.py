"""Rows of one moment put together, and the remarks about the output."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from udfs.describe.controller_context import BrokerStatus, ClusterState, ControllerTerm, alive_of
from udfs.describe.kafka_topics import AT_MIN_ISR, DescribedPartition, DescribedTopic, Tool, select
from udfs.describe.output import BROKERS, CONTEXT, CONTROLLER, as_data, as_text, remarks
from udfs.describe.snapshot import (
    Snapshot,
    cluster_state_of,
    configs_of,
    controller_term_of,
    tool_of,
    topics_of,
    without_fenced_leaders,
)
from udfs.kafka.releases import TRUNK, Release
from udfs.logs.coverage import CoverageSpan, coverage_gaps_at

ZK, KRAFT = Tool(Release(2, 4, 1)), Tool(Release(4, 1), kraft=True)


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-21 {clock}")


# ---- topics ---------------------------------------------------------------------------------------------------------
def incarnation(topic: str, incarnation: int = 0, since: str = "10:00", deleted: str | None = None) -> dict[str, Any]:
    started = at(deleted) if deleted else None
    return {
        "topic": topic,
        "incarnation": incarnation,
        "topic_id": None,
        "since": at(since),
        "deletion_started": started,
    }


def state(topic: str, partition: int, leader: int, incarnation: int = 0) -> dict[str, Any]:
    return {
        "topic": topic, "partition": partition, "incarnation": incarnation, "leader": leader, "leader_epoch": 3,
        "partition_epoch": 5, "isr": [1, 2], "replicas": [2, 1], "elr": None, "last_known_elr": None,
        "since": at("10:01:02.5"), "inferred": False,
        "evidence": [{"node_id": 1, "file_id": "f", "line": 7}],
    }  # fmt: skip


def topics(incarnations: list[dict[str, Any]], states: list[dict[str, Any]], **more: Any) -> list[DescribedTopic]:
    nothing: dict[str, Any] = {
        "reassignments": [],
        "assignments": [],
        "configs": [],
        "default_min_isr": lambda _: None,
    }
    arguments = {"tool": ZK, "paths": {"f": "broker-1/server.log"}, **nothing, **more}
    return topics_of(incarnations=incarnations, partitions=states, at=at("11:00"), **arguments)


def test_partitions_stand_in_their_topics_with_their_proof() -> None:
    b, a = topics([incarnation("b"), incarnation("a")], [state("b", 1, -1), state("b", 0, 2), state("a", 0, 1)])[::-1]
    assert (a.name, [p.leader for p in a.partitions]) == ("a", [1])
    assert (b.name, [p.leader for p in b.partitions]) == ("b", [2, -1])
    assert a.partitions[0].evidence == ("broker-1/server.log:7",)
    assert a.partitions[0].since == "2026-11-21T10:01:02.500Z"
    assert a.partitions[0].replicas == (2, 1)


def test_the_latest_incarnation_counts() -> None:
    (only,) = topics([incarnation("a", 0), incarnation("a", 1)], [state("a", 0, 1, 0), state("a", 0, 2, 1)])
    assert [p.leader for p in only.partitions] == [2]


def test_krafts_own_log_is_no_topic() -> None:
    assert topics([incarnation("__cluster_metadata")], []) == []


@pytest.mark.parametrize(("deleted", "deleting"), [(None, False), ("10:59", True), ("11:00", True), ("11:01", False)])
def test_deletion_counts_from_its_begin(deleted: str | None, deleting: bool) -> None:
    assert topics([incarnation("a", deleted=deleted)], [])[0].deleting is deleting


def move(since: str, until: str | None, how: str, incarnation: int = 0) -> dict[str, Any]:
    """A reassignment of a-0 from 1, 2 to 2, 3."""
    return {
        "topic": "a", "partition": 0, "incarnation": incarnation, "since": at(since), "until": at(until) if until else None,
        "state": how, "original_replicas": [1, 2], "target_replicas": [2, 3], "adding_replicas": [3], "removing_replicas": [1],
    }  # fmt: skip


def test_reassignment_is_of_its_incarnation() -> None:
    moves = [move("10:59", None, "in_progress", 1)]
    (old,) = topics([incarnation("a")], [state("a", 0, 1)], reassignments=moves)
    (new,) = topics([incarnation("a", 1)], [state("a", 0, 1, 1)], reassignments=moves)
    assert (old.partitions[0].reassigning, old.partitions[0].adding, old.partitions[0].removing) == (False, (), ())
    assert (new.partitions[0].reassigning, new.partitions[0].adding, new.partitions[0].removing) == (True, (3,), (1,))


IMPLIED = {  # reassignments around 11:00, tool -> assignment, where no line of the state has it
    "none": ([], ZK, None),
    "before the first": ([move("11:01", "11:02", "completed")], ZK, (1, 2)),
    "after the last": ([move("10:01", "11:00", "completed")], ZK, (2, 3)),
    "after one that was cancelled": ([move("10:01", "10:02", "cancelled")], ZK, (1, 2)),
    "between two": ([move("10:01", "10:02", "completed"), move("11:01", None, "in_progress")], ZK, (2, 3)),
    "during one": ([move("10:59", "11:01", "completed")], ZK, None),
    "KRaft is silent about some": ([move("11:01", "11:02", "completed")], KRAFT, None),
}


@pytest.mark.parametrize("case", IMPLIED)
def test_assignment_that_reassignments_imply(case: str) -> None:
    moves, tool, replicas = IMPLIED[case]
    (topic,) = topics([incarnation("a")], [{**state("a", 0, 1), "replicas": None}], reassignments=moves, tool=tool)
    assert topic.partitions[0].replicas == replicas


def test_assignment_of_the_state_counts() -> None:
    (topic,) = topics([incarnation("a")], [state("a", 0, 1)], reassignments=[move("11:01", "11:02", "completed")])
    assert topic.partitions[0].replicas == (2, 1)


def config(topic: str | None, name: str | None, value: str, clock: str = "10:30") -> dict[str, Any]:
    return {"topic": topic, "name": name, "value": value, "at": at(clock)}


WRITTEN = {  # when it was written, replicas as the state has them -> assignment; the state is of 10:01:02.5, the topic of 10:00
    "after the state": ("10:30", [2, 1], (3, 4)),
    "before the state, which has another": ("10:01", [2, 1], (2, 1)),
    "before the state, which has none": ("10:01", None, (3, 4)),
    "of a topic of that name before": ("09:59", None, None),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_assignment_as_written(case: str) -> None:
    clock, replicas, expected = WRITTEN[case]
    write = {"topic": "a", "partition": 0, "replicas": [3, 4], "at": at(clock)}
    (topic,) = topics([incarnation("a")], [{**state("a", 0, 1), "replicas": replicas}], assignments=[write])
    assert topic.partitions[0].replicas == expected


LEAST = {  # configs, default of the settings -> min.insync.replicas, settings as shown
    "nothing known": ([], None, None, None),
    "the settings file has it": ([], 3, 3, None),
    "a line has all overrides (ZooKeeper)": ([config("a", None, "Map(min.insync.replicas -> 2, x -> y)")], 3, 2, {"min.insync.replicas": "2", "x": "y"}),
    "a line shows that there is none": ([config("a", None, "Map()")], 3, 3, {}),
    "a line of each (KRaft)": ([config("a", "min.insync.replicas", "2"), config("a", "retention.ms", "5")], None, 2, {"min.insync.replicas": "2", "retention.ms": "5"}),
    "taken back": ([config("a", "min.insync.replicas", "null")], 3, 3, {}),
    "the brokers' default": ([config(None, "min.insync.replicas", "1", "09:00")], 3, 1, {"min.insync.replicas": "1"}),
    "the topic's own goes before it": ([config("a", "min.insync.replicas", "2"), config(None, "min.insync.replicas", "1", "10:59")], 3, 2, {"min.insync.replicas": "2"}),
    "a default that topics have not": ([config(None, "log.retention.ms", "1")], None, None, None),
    "of another topic": ([config("b", "min.insync.replicas", "2")], None, None, None),
    "of an incarnation before": ([config("a", "min.insync.replicas", "2", "09:59")], None, None, None),
}  # fmt: skip


@pytest.mark.parametrize("case", LEAST)
def test_settings_of_a_topic(case: str) -> None:
    configs, default, least, shown = LEAST[case]
    (topic,) = topics([incarnation("a")], [], configs=configs, default_min_isr=lambda _: default)
    assert (topic.min_insync_replicas, topic.configs) == (least, None if shown is None else shown)


def test_values_of_settings_are_as_printed() -> None:
    line = [{"name": None, "value": "HashMap(cleanup.policy -> compact, min.insync.replicas -> 2)"}]
    assert configs_of([], line) == {"cleanup.policy": "compact", "min.insync.replicas": "2"}


SETTINGS: dict[str, Any] = {  # defaults, a topic's own, each name -> value (None: all there are), in order of time -> settings
    "a line with all takes earlier ones away": ([], [("a", "1"), (None, "b -> 2")], {"b": "2"}),
    "a later one is added to them": ([], [(None, "a -> 1,b -> 2"), ("c", "3")], {"a": "1", "b": "2", "c": "3"}),
    "a removed one leaves the default": (
        [("min.insync.replicas", "1")], [("min.insync.replicas", "null")], {"min.insync.replicas": "1"},
    ),
    "all defaults in one line": ([(None, "min.insync.replicas -> 1,num.io.threads -> 8")], [], {"min.insync.replicas": "1"}),
    "all were removed": ([], [("a", "1"), (None, "")], {}),
    "none is in the logs": ([("num.io.threads", "8")], [], None),
}  # fmt: skip


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_in_order_of_time(case: str) -> None:
    *changes, settings = SETTINGS[case]
    shared, own = ([{"name": name, "value": value} for name, value in rows] for rows in changes)
    assert configs_of(shared, own) == settings


# ---- brokers and the controller -------------------------------------------------------------------------------------
def span(broker: int, since: str, until: str | None = None, epoch: int | None = None) -> dict[str, Any]:
    return {"broker": broker, "since": at(since), "until": at(until) if until else None, "epoch": epoch}


def line(kind: str, clock: str, **columns: Any) -> dict[str, Any]:
    return {"kind": kind, "topic": None, "partition": None, "broker": None, "value": None, "at": at(clock), **columns}


TERM = {"controller_id": 1, "controller_epoch": 7, "since": at("10:00"), "active_since": None, "until": at("12:00")}


def cluster_state(*spans: dict[str, Any], tool: Tool = ZK, lines: list[dict[str, Any]] | None = None) -> ClusterState:
    pay = DescribedTopic("pay", (DescribedPartition(0, replicas=(1, 9)),), since="2026-11-21T10:30:00.000Z")
    return cluster_state_of(tool, TERM, spans, [pay], lines or [], at("11:00"))


STATES = {  # spans, lines, tool -> state and epoch of broker 2
    "there": ([span(2, "10:10")], [], ZK, ("alive", None)),
    "gone": ([span(2, "10:10", "10:20")], [], ZK, ("gone", None)),
    "gone right then": ([span(2, "10:10", "11:00")], [], ZK, ("gone", None)),
    "gone later": ([span(2, "10:10", "11:01")], [], ZK, ("alive", None)),
    "shutting down": ([span(2, "10:10")], [line("leaving", "10:50", broker=2)], ZK, ("shutting_down", None)),
    "shut down before, and back": ([span(2, "10:55")], [line("leaving", "10:50", broker=2)], ZK, ("alive", None)),
    "another is shutting down": ([span(2, "10:10")], [line("leaving", "10:50", broker=1)], ZK, ("alive", None)),
    "a new controller does not know of it": ([span(2, "09:00")], [line("leaving", "09:50", broker=2)], ZK, ("alive", None)),
    "KRaft's does": ([span(2, "09:00", epoch=5)], [line("leaving", "09:50", broker=2)], KRAFT, ("shutting_down", 5)),
    "its epoch as the controller printed it": ([span(2, "10:10")], [line("epochs", "10:10", value="Map(1 -> 11, 2 -> 12)")], ZK, ("alive", 12)),
    "as another controller printed it": ([span(2, "09:10")], [line("epochs", "09:59", value="Map(2 -> 12)")], ZK, ("alive", None)),
}  # fmt: skip


@pytest.mark.parametrize("case", STATES)
def test_broker(case: str) -> None:
    spans, lines, tool, expected = STATES[case]
    (broker,) = (b for b in cluster_state(*spans, tool=tool, lines=lines).brokers if b.broker == 2)
    assert (broker.state, broker.epoch) == expected


def test_brokers_that_are_only_assigned_are_unknown() -> None:
    state = cluster_state(span(1, "10:10"))
    assert [(b.broker, b.state) for b in state.brokers] == [(1, "alive"), (9, "unknown")]
    assert alive_of(state.brokers) == {1: True}


def test_what_the_controller_held() -> None:
    lines = [
        line("state", "10:40", topic="pay", partition=0, value="OnlinePartition"),
        line("state", "10:41", topic="pay", partition=0, broker=1, value="OnlineReplica"),
        line("offline_dir", "10:42", topic="pay", partition=0, broker=1),
        line("offline_dir", "10:05", topic="pay", partition=1, broker=1),  # before it came back: forgotten
        line("offline_dir", "10:42", topic="pay", partition=0, broker=3),  # gone: forgotten
        line("deleting", "10:45", value="pay,refunds"),
    ]
    state = cluster_state(span(1, "10:10"), span(3, "09:00", "09:30"), lines=lines)
    assert state.logged_states == {("pay", 0): "OnlinePartition", ("pay", 0, 1): "OnlineReplica"}
    assert state.offline_dirs == {1: frozenset({("pay", 0)})}
    assert state.deletion_requested == {"pay"}
    assert state.gone_before == {3}


def test_deletion_of_a_topic_of_the_same_name_before() -> None:
    assert cluster_state(lines=[line("deleting", "10:29", value="pay")]).deletion_requested == frozenset()


def test_controller_term() -> None:
    assert controller_term_of(None, at("11:00")) == ControllerTerm()
    assert controller_term_of(TERM, at("11:00")).controller_id == 1
    assert controller_term_of(TERM, at("12:00")) == ControllerTerm(is_known=True)  # over, and the next has not begun


def test_release_of_the_tool() -> None:
    assert tool_of(("2.4", False), []) == Tool(Release(2, 4))
    assert tool_of(("2.8", True), ["3.3.2", "2.8.0", "?"]) == Tool(Release(3, 3, 2), kraft=True)
    assert tool_of(None, []) == Tool(TRUNK, kraft=True)


LED = {  # leader, replicas, tool -> leader as shown; broker 1 is alive, 2 and 3 are gone, 9 is unknown
    "a leader that is alive": (1, (1, 2), KRAFT, 1),
    "one of whom nothing is known": (9, (9, 2), KRAFT, 9),
    "fenced, and so are all others": (2, (2, 3), KRAFT, -1),
    "fenced, another may lead": (2, (2, 1), KRAFT, None),
    "fenced, another may be alive": (2, (2, 9), KRAFT, None),
    "fenced, and its assignment is unknown": (2, None, KRAFT, None),
    "with ZooKeeper a dead leader stays stored": (2, (2, 3), ZK, 2),
}


@pytest.mark.parametrize("case", LED)
def test_a_fenced_leader_leads_nothing(case: str) -> None:
    leader, replicas, tool, expected = LED[case]
    before = DescribedPartition(0, leader=leader, isr=(2,), replicas=replicas, leader_epoch=4, partition_epoch=6)
    (topic,) = without_fenced_leaders(tool, [DescribedTopic("a", (before,))], {1: True, 2: False, 3: False})
    after = topic.partitions[0]
    assert after.leader == expected
    assert (after.isr, after.leader_epoch, after.inferred) == (
        ((2,), 4, False) if expected == leader else (None, None, True)
    )


REPLACED = {  # spans of brokers, lines, ISR -> leader as shown at 11:00; the last state has broker 2 as leader
    "gone, another in sync is there": ([span(1, "10:10"), span(2, "10:10", "10:59:55")], [], (1, 2), None),
    "gone just now": ([span(1, "10:10"), span(2, "10:10", "10:59:55.001")], [], (1, 2), 2),
    "the other one came just now": ([span(1, "10:59:55.001"), span(2, "10:10", "10:50")], [], (1, 2), 2),
    "the other one is out of sync": ([span(1, "10:10"), span(2, "10:10", "10:50")], [], (2,), 2),
    "the ISR is unknown": ([span(1, "10:10"), span(2, "10:10", "10:50")], [], None, 2),
    "the other one is gone, too": ([span(1, "10:10", "10:59:59"), span(2, "10:10", "10:50")], [], (1, 2), 2),
    "the other one is leaving": (
        [span(1, "10:10"), span(2, "10:10", "10:50")], [line("leaving", "10:40", broker=1)], (1, 2), 2,
    ),
    "it is there": ([span(1, "10:10"), span(2, "10:10")], [], (1, 2), 2),
}  # fmt: skip


@pytest.mark.parametrize("case", REPLACED)
def test_a_dead_leader_whose_place_another_one_had_to_take_leads_no_more(case: str) -> None:
    """Where logs are missing: with ZooKeeper, too, another replica in sync is elected at once."""
    spans, lines, isr, leader = REPLACED[case]
    p = DescribedPartition(0, leader=2, isr=isr, replicas=(2, 1), leader_epoch=4, partition_epoch=6)
    state = cluster_state_of(ZK, TERM, spans, [DescribedTopic("pay", (p,))], lines, at("11:00"))
    ((shown,),) = (topic.partitions for topic in state.topics)
    known = (2, isr, 4, 6, False) if leader == 2 else (None, None, None, None, True)
    assert (shown.leader, shown.isr, shown.leader_epoch, shown.partition_epoch, shown.inferred) == known
    assert shown.replicas == (2, 1)


# ---- the output -----------------------------------------------------------------------------------------------------
def snapshot(asked: str = "11:00", *topics: DescribedTopic, tool: Tool = ZK, notes: tuple[str, ...] = ()) -> Snapshot:
    brokers = [
        BrokerStatus(1, "alive", 11, "2026-11-21T10:10:00.000Z"),
        BrokerStatus(3, "gone", None, "2026-11-21T10:20:00.000Z"),
    ]
    state = ClusterState(tool, controller_term_of(TERM, at("11:00")), topics, brokers)
    return Snapshot("eu", at(asked), at("09:00"), at("11:30"), state, notes)


def remarks_on(shown: Snapshot, only: str | None = None, view: str | None = None) -> list[str]:
    state = shown.state
    return list(remarks(shown, select(state.tool, state.topics, only, state.alive), view))


OF = "Cluster eu at 2026-11-21T11:00:00.000Z, as kafka-topics 2.4.1 would print it."


def test_remarks() -> None:
    blank = DescribedTopic("a", (DescribedPartition(0), DescribedPartition(1, leader=1, isr=(1,), replicas=(1,))))
    assert remarks_on(snapshot()) == [OF]
    assert remarks_on(snapshot(notes=("A gap.",))) == [OF, "A gap."]
    assert remarks_on(snapshot("11:00", blank)) == [OF, "The logs do not show the state of a-0 at that time."]
    assert remarks_on(snapshot("11:00", blank), AT_MIN_ISR) == [
        OF,
        "2 partitions are left out: the logs do not show whether the filter applies "
        "(if min.insync.replicas is missing, give it with --conf).",
    ]
    assert remarks_on(snapshot("11:00", DescribedTopic("b", deleting=True))) == [
        OF,
        "Topic b is left out: it was being deleted, and brokers no longer listed it.",
    ]


def test_after_the_end_of_the_logs_the_last_state_stands() -> None:
    late = snapshot("12:00", DescribedTopic("a", (DescribedPartition(0, leader=1, isr=(1,), replicas=(1,)),)))
    assert remarks_on(late) == [
        "Cluster eu at 2026-11-21T11:30:00.000Z, as kafka-topics 2.4.1 would print it.",
        "Its logs end then; changes until 2026-11-21T12:00:00.000Z are not known.",
    ]
    assert len(as_text(late, select(ZK, late.state.topics, None, {}), None)) == 2


@pytest.mark.parametrize("view", [None, BROKERS, CONTROLLER, CONTEXT])
def test_before_the_begin_of_the_logs_nothing_is_known(view: str | None) -> None:
    early = snapshot("08:00")
    nothing = select(ZK, [], None, {})
    assert remarks_on(early, view=view)[1:] == [
        "Its logs begin at 2026-11-21T09:00:00.000Z: nothing is known about 2026-11-21T08:00:00.000Z."
    ]
    assert as_text(early, nothing, view) == []
    assert as_data(early, nothing, view)["known"] is False


def test_brokers_and_controller_as_text() -> None:
    nothing = select(ZK, [], None, {})
    assert as_text(snapshot(), nothing, BROKERS) == [
        "Broker: 1\tState: alive\tEpoch: 11\tSince: 2026-11-21T10:10:00.000Z",
        "Broker: 3\tState: gone\tSince: 2026-11-21T10:20:00.000Z",
    ]
    assert as_text(snapshot(tool=Tool(Release(1, 1))), nothing, BROKERS)[0] == (
        "Broker: 1\tState: alive\tSince: 2026-11-21T10:10:00.000Z"  # there are no broker epochs before 2.2
    )
    assert as_text(snapshot(), nothing, CONTROLLER) == [
        "Controller: 1\tEpoch: 7\tSince: 2026-11-21T10:00:00.000Z\tActiveSince: unknown"
    ]


# ---- gaps -----------------------------------------------------------------------------------------------------------
def test_a_gap_is_named_where_it_is() -> None:
    spans = [
        CoverageSpan(node, kind, at(since), at(until), 9)
        for node in (1, 2)
        for kind in ("server", "state_change", "controller")
        for since, until in ([("00:00", "03:00"), ("06:00", "09:00")] if node == 2 else [("00:00", "09:00")])
    ]
    assert coverage_gaps_at(spans, at("02:00")) == []
    assert coverage_gaps_at(spans, at("04:30")) == [
        "no log of broker 2 between 2026-11-21 03:00 and 2026-11-21 06:00 (down, or not given)"
    ]
