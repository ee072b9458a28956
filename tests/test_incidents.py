"""How nodes went away, and what an incident adds up to: plain functions over rows written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from udfs.incidents.incidents import incident_of, incidents_of
from udfs.incidents.node_stops import BACK, GONE, LIFE_SIGNS, SHUTDOWN_GRANTED, node_stops
from udfs.incidents.symptoms import symptoms_of

NOON = 1795262400_000_000
"""2026-11-21 12:00:00 UTC, in microseconds."""


def at(seconds: float | None) -> int | None:
    """Microseconds of a time so many seconds after noon."""
    return None if seconds is None else NOON + round(seconds * 1_000_000)


def sign(line: int, seconds: float, what: str, last: float | None = None, after: float | None = None) -> dict[str, Any]:
    """A sign of life, by its event type, or `gone how` and `back`."""
    kind, _, how = what.partition(" ")
    source = how if kind == "server_start_failed" else None
    kinds = {**LIFE_SIGNS, **SHUTDOWN_GRANTED}
    return {
        "cluster": "c", "node_id": 3, "at": at(seconds), "event_type": None if kind in (GONE, BACK) else kind,
        "kind": kinds.get(kind, kind), "ended_by": None if source else how or None,
        "last_before": at(last), "first_after": at(after),
        "source": source, "text": source or ("disk" if kind.startswith("high_watermark") else None),
        "line_node_id": 3, "file_id": "f", "line": line,
    }  # fmt: skip


FIRST = [("broker_starting", 0), ("broker_started", 1), ("back", 1)]
STOPS: dict[str, tuple[list[tuple[Any, ...]], list[str]]] = {
    # what was logged -> how, since, until, noticed, started, the last line before
    "shut down, and started again": (
        [("process_signalled", 10), ("broker_stopping", 10.1), ("gone controlled_shutdown", 11, 11.5, 11.2),
         ("broker_starting", 20, 11.5), ("clean_shutdown_found", 21), ("back", 22)],
        ["shut_down 10 22 11 20 None"],
    ),
    # broker 1 of 2.2.2, which had been frozen before
    "shut down, and its session ended meanwhile, so it registered once more": (
        [("process_signalled", 10), ("zk_session_expired", 10.9), ("gone session_expired", 11, 10.9, 11.1),
         ("back", 11.5), ("gone session_expired", 13, 12, 13.1), ("broker_starting", 60, 15), ("back", 61)],
        ["shut_down 10 61 11 60 None"],
    ),
    "crashed: it starts with nothing of a stop before": (
        [("gone session_expired", 19, 10, 30), ("broker_starting", 30, 10), ("unclean_shutdown_found", 31),
         ("back", 32)],
        ["crashed 19 32 19 30 10"],
    ),
    # its session with ZooKeeper is still there: the broker shuts down again, and leaves clean disks to the next start
    "crashed, and its first start fails": (
        [("broker_starting", 15, 10), ("unclean_shutdown_found", 15.5), ("broker_stopping", 16),
         ("gone session_expired", 18, 15.9, 20), ("broker_starting", 20, 17), ("clean_shutdown_found", 20.5),
         ("back", 22)],
        ["crashed 15 22 18 15 10 restarts 1 20"],
    ),
    "its disks are clean, and the process that found them so is killed": (
        [("broker_starting", 15, 10), ("clean_shutdown_found", 15.5), ("broker_starting", 20, 17),
         ("unclean_shutdown_found", 20.5), ("back", 22)],
        ["shut_down 15 22 None 15 10 restarts 1 20"],
    ),
    "crashed and started so soon that no controller noticed": (
        [("broker_starting", 15, 10), ("broker_started", 17)],
        ["crashed 15 17 None 15 10"],
    ),
    "frozen: it goes on logging, and is registered again without a start": (
        [("gone fenced", 19, 10, 25), ("back", 26)],
        ["cut_off 19 26 19 None 10"],
    ),
    "frozen, and crashed before it was registered again": (
        [("gone fenced", 19, 10, 25), ("broker_starting", 40, 35), ("back", 42)],
        ["cut_off 19 42 19 None 10 followed 40", "crashed 40 42 None 40 35"],
    ),
    "cut off, shut down before it was registered again, and started": (
        [("gone session_expired", 19, 10, 20), ("process_signalled", 300), ("broker_starting", 310, 305),
         ("back", 325)],
        ["cut_off 19 325 19 None 10 followed 300", "shut_down 300 325 None 310 None"],
    ),
    "cut off, and shut down for good": (
        [("gone session_expired", 19, 10, 20), ("process_signalled", 300)],
        ["cut_off 19 None 19 None 10 followed 300", "shut_down 300 None None None None"],
    ),
    "nothing of its own after the session ended": ([("gone fenced", 19, 10)], ["None 19 None 19 None 10"]),
    "without lines of its own the controller's word counts": (
        [("gone controlled_shutdown", 19), ("back", 30)], ["shut_down 19 30 19 None None"],
    ),
    # a standby controller replays an old shutdown as it starts
    "a shutdown that its own lines show nothing of is none": (
        [("gone controlled_shutdown", 19, 10, 25), ("back", 26)], ["cut_off 19 26 19 None 10"],
    ),
    "halted as its log directories failed": (
        [("log_dir_failure_broker_halt", 10), ("gone session_expired", 19, 10)],
        ["log_dir_failed 10 None 19 None None"],
    ),
    "halted after a fatal fault, and started anew": (
        [("kraft_fatal_fault", 10), ("gone fenced", 19, 10), ("broker_starting", 30, 10), ("back", 32)],
        ["halted 10 32 19 30 None"],
    ),
    "its fatal fault was that its log directories failed": (
        [("kraft_fatal_fault", 10), ("log_dir_failure_broker_halt", 10.1), ("gone fenced", 19, 10)],
        ["log_dir_failed 10 None 19 None None"],
    ),
    "bounced, as the controller saw it": ([("gone bounced", 19), ("back", 19)], ["None 19 19 19 None None"]),
    "bounced, and what logs on may be a new process": (
        [("gone bounced", 19, 10, 20), ("back", 19)], ["None 19 19 19 None 10"],
    ),
    "bounced, for its session had timed out": (
        [("zk_session_timed_out", 18), ("gone bounced", 19, 10, 20), ("zk_session_expired", 19), ("back", 19)],
        ["cut_off 19 19 19 None 10"],
    ),
    "bounced, by a start": (
        [("broker_starting", 15, 10), ("gone bounced", 19, 18, 20), ("back", 19)], ["crashed 15 19 19 15 10"],
    ),
    # broker 0 of a migration, as it begins to write to ZooKeeper and KRaft
    "shut down, and its Raft starts after it was registered": (
        [("process_signalled", 10), ("broker_stopping", 10.1), ("gone controlled_shutdown", 11, 11.5, 11.2),
         ("broker_starting", 12, 11.5), ("back", 14), ("raft_log_snapshots_initialized", 14.1, 14.05),
         ("raft_thread_starting", 14.2, 14.15), ("raft_thread_starting", 14.3, 14.25), ("broker_started", 15)],
        ["shut_down 10 14 11 12 None"],
    ),
    "its Raft starts late, and it crashes after that": (
        [("broker_starting", 12, 11.5), ("back", 14), ("raft_thread_starting", 14.1, 14.05), ("broker_started", 15),
         ("broker_starting", 50, 40), ("back", 51), ("raft_thread_starting", 51.5, 51), ("broker_started", 52)],
        ["crashed 12 14 None 12 11.5", "crashed 50 51 None 50 40"],
    ),
    "a process of KRaft comes long after one of ZooKeeper had gone": (
        [("raft_thread_starting", 400, 350), ("broker_starting", 401, 400.5), ("broker_started", 402)],
        ["crashed 400 402 None 400 350"],
    ),
    "several lines of one start": (
        [("gone fenced", 19, 10), ("raft_thread_starting", 30, 10), ("broker_starting", 31, 27), ("back", 32)],
        ["crashed 19 32 19 30 10"],
    ),
    "in a loop: each process that starts dies before it is back": (
        [("gone fenced", 19, 10), ("raft_log_snapshots_initialized", 30, 10), ("raft_thread_starting", 30.5, 30.4),
         ("raft_thread_starting", 30.6, 30.5), ("broker_starting", 30.7, 30.6),
         ("raft_log_snapshots_initialized", 40, 31), ("raft_thread_starting", 40.5, 40.4),
         ("broker_starting", 40.7, 40.6), ("raft_log_snapshots_initialized", 60, 41),
         ("broker_starting", 60.5, 60.4), ("back", 62), ("gone fenced", 80, 78)],
        ["crashed 19 62 19 30 10 restarts 2 60", "None 80 None 80 None 78"],
    ),
    # 0.10.2, of which the server and the process as a whole say it
    "two processes cannot start after a crash, the third can": (
        [("gone session_expired", 19, 10), ("broker_starting", 30, 10), ("server_start_failed server", 31),
         ("broker_stopping", 31), ("server_start_failed main", 32), ("broker_starting", 40, 32),
         ("server_start_failed server", 41), ("server_start_failed main", 42), ("broker_starting", 50, 42),
         ("back", 52)],
        ["crashed 19 52 19 30 10 restarts 2 50 failed 2 41"],
    ),
    "of each process another of its servers says so": (
        [("gone session_expired", 19, 10), ("broker_starting", 30, 10), ("server_start_failed server", 31),
         ("broker_starting", 40, 32), ("server_start_failed main", 41), ("broker_starting", 50, 42), ("back", 52)],
        ["crashed 19 52 19 30 10 restarts 2 50 failed 2 41"],
    ),
    "its process ends before it logs that it starts": (
        [("gone fenced", 19, 10), ("server_start_failed main", 30), ("server_start_failed main", 40),
         ("broker_starting", 50, 40), ("back", 52)],
        ["crashed 19 52 19 30 10 restarts 1 50 failed 2 40"],
    ),
    "a disk fails it, and it halts": (
        [("high_watermark_checkpoint_failed", 18), ("gone session_expired", 27), ("broker_starting", 30, 18),
         ("back", 32)],
        ["log_dir_failed 18 32 27 30 None"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STOPS)
def test_how_a_broker_went(case: str) -> None:
    lines, expected = STOPS[case]
    rows = [sign(number, seconds, what, *near) for number, (what, seconds, *near) in enumerate([*FIRST, *lines])]

    def seconds(time: int | None) -> str:
        return "None" if time is None else f"{(time - NOON) / 1_000_000:g}"

    times = ("since", "until", "noticed_at", "started_at", "began_after")
    stops = list(node_stops(rows))
    texts = [" ".join([str(stop["how"]), *(seconds(stop[name]) for name in times)]) for stop in stops]
    followed = [f" followed {seconds(stop['followed_at'])}" if stop["followed_at"] else "" for stop in stops]
    again = [
        f" restarts {stop['restarts']} {seconds(stop['last_restart']['at'])}" if stop["restarts"] else ""
        for stop in stops
    ]
    failed = [
        f" failed {stop['failed_starts']} {seconds(stop['failed_start']['at'])}" if stop["failed_starts"] else ""
        for stop in stops
    ]
    assert list(map("".join, zip(texts, again, failed, followed, strict=True))) == expected
    assert all(stop["role"] == "broker" and stop["evidence"] for stop in stops)


def test_a_broker_that_never_comes_up() -> None:
    """The logs begin with a loop of starts that fail: it was not shut down, though each process says that it stops."""
    rows = [
        sign(1, 0, "broker_starting"), sign(2, 1, "server_start_failed server"), sign(3, 1, "broker_stopping"),
        sign(4, 2, "server_start_failed main"), sign(5, 9, "broker_starting", 2),
        sign(6, 10, "server_start_failed server"), sign(7, 10, "broker_stopping"),
    ]  # fmt: skip
    (stop,) = node_stops(rows)
    assert [stop[name] for name in ("how", "since", "started_at", "until", "failed_starts")] == [
        "start_failed", at(1), at(9), None, 2,
    ]  # fmt: skip
    assert stop["failed_start"] == {"at": at(10), "node_id": 3, "file_id": "f", "line": 6, "text": "server"}


def test_a_broker_of_whose_first_process_only_the_failure_is_there() -> None:
    rows = [
        sign(1, 0, "broker_starting"), sign(2, 1, "server_start_failed server"), sign(3, 9, "broker_starting", 2),
        sign(4, 10, "server_start_failed main"), sign(5, 20, "broker_starting", 11), sign(6, 21, "back"),
    ]  # fmt: skip
    (stop,) = node_stops(rows)
    assert [stop[name] for name in ("how", "failed_starts", "until")] == ["start_failed", 2, at(21)]


def test_controllers_have_no_registration() -> None:
    """One that starts anew had crashed, if nothing of a shutdown is there."""
    rows = [
        sign(1, 0, "raft_thread_starting"), sign(2, 1, "kraft_server_started"),
        sign(3, 50, "raft_thread_starting", 40), sign(4, 52, "kraft_server_started"),
        sign(5, 60, "controller_server_stopping"),
    ]  # fmt: skip
    stops = [(stop["role"], stop["how"], stop["until"]) for stop in node_stops(rows)]
    assert stops == [("controller", "crashed", at(52)), ("controller", "shut_down", None)]


def test_a_controller_of_a_migration_has_sessions_with_zookeeper() -> None:
    rows = [
        sign(1, 0, "raft_thread_starting"), sign(2, 1, "kraft_server_started"), sign(3, 20, "zk_session_expired"),
        sign(4, 50, "raft_thread_starting", 40), sign(5, 52, "kraft_server_started"),
    ]  # fmt: skip
    assert [(stop["role"], stop["how"]) for stop in node_stops(rows)] == [("controller", "crashed")]


# ---- incidents ------------------------------------------------------------------------------------------------------
def fact(kind: str, seconds: float, until: float | None = None, line: int = 1, **values: Any) -> dict[str, Any]:
    """A fact of an incident; what is not given is null."""
    names = (
        "node", "other", "role", "how", "ended_by", "began_after", "noticed_at", "started_at", "restarts",
        "last_restart", "failed_starts", "failed_start", "followed_at", "topic", "partition", "ms", "most_ms",
        "ended_at", "count", "lost_min",
        "lost_max", "healed_by", "healed_by_broker", "text", "ids", "others", "end_evidence", "error",
    )  # fmt: skip
    evidence = [{"node_id": 1, "file_id": "f", "line": line}]
    common = {"cluster": "c", "incident": "i", "kind": kind, "at": at(seconds), "until": at(until)}
    return {**dict.fromkeys(names), **common, "evidence": evidence, **values}


CRASH = fact(
    "stop", 19, 32, role="broker", node=3, how="crashed", ended_by="session_expired", began_after=at(10),
    noticed_at=at(19), started_at=at(30),
)  # fmt: skip


def outage(topic: str, since: float, until: float | None, healed_by: str | None, line: int = 2) -> dict[str, Any]:
    sure = (until if until is not None else 60) - since
    return fact(
        "outage", since, until, line, topic=topic, partition=0, ms=round(sure * 1000), count=1, healed_by=healed_by,
        most_ms=None if until is None else round(sure * 1000), ended_at=at(until),
        healed_by_broker=None if healed_by is None else 3,
        end_evidence=None if until is None else [{"node_id": 1, "file_id": "f", "line": line + 100}],
    )  # fmt: skip


def test_an_incident_with_its_symptoms() -> None:
    """a-0 had another replica in sync, b-0 had broker 3 alone; broker 2 was away already."""
    away = {**CRASH, "others": [{"node": 2, "since": at(5)}]}
    facts = [
        away, {**outage("a", 19.1, 19.2, "clean_election"), "ids": [1, 3], "healed_by_broker": 1, "count": 0},
        {**outage("b", 19.1, 32.1, "broker_return", 4), "ids": [3], "count": 2},
        fact("failed", 19.08, line=7, topic="b", partition=0, ids=[0, 1]),
        fact("controller", 19.05, 19.111, node=3, other=1, count=7, line=5),
        fact("out_of_isr", 19.1, count=12, line=8), fact("rejoined", 33, count=11, line=9),
        fact("moved", 19.1, count=4, line=10), fact("reassignment", 20, 32, line=6, topic="c", partition=1, node=3),
    ]  # fmt: skip
    incident = incident_of(symptoms_of("c", facts))
    assert incident is not None
    assert {name: incident[name] for name in ("severity", "root_cause", "root_broker", "healed_by", "out_of_isr")} == {
        "severity": "major", "root_cause": "broker_crash", "root_broker": 3, "healed_by": "broker_return",
        "out_of_isr": 12,
    }  # fmt: skip
    assert (incident["since"], incident["began_after"], incident["until"]) == (at(19), at(10), at(32.1))
    assert incident["incident_id"] == "broker_crash-3-20261121T120019000"
    assert (incident["partitions_affected"], incident["topics_affected"], incident["elections_failed"]) == (2, 2, 2)
    assert incident["leaderless_partition_minutes"] == pytest.approx((0.1 + 13) / 60)
    assert incident["story"] == (
        "Broker 3 crashed after 2026-11-21 12:00:10.000, its last line; a controller noticed at 12:00:19.000 that it "
        "was gone [1], and it started anew at 12:00:30.000 with nothing of a shutdown logged before [1]; broker 2 "
        "had been away since 12:00:05.000. "
        "Node 3 was the controller (epoch 7): node 1 took over at 12:00:19.050 [2] and was ready 61 ms later. "
        "2 partitions (b-0 and a-0) were without a leader from 12:00:19.100 on [3], 13.1 s summed over "
        "them; 4 that it led got another leader at once [4]. "
        "Broker 3 was the only replica in sync of b-0, so no other one could be elected; 2 elections failed, the "
        "first at 12:00:19.080 with brokers 0 and 1 alive [5]. "
        "The longest, of b-0, ended with the return of broker 3 at 12:00:32.100, after 13.0 s [6]; the others: 1 by "
        "a clean election within 100 ms. "
        "The reassignment of c-1 waited for broker 3 [7]. "
        "Broker 3 was back at 12:00:32.000, after 13.0 s [1]; its replicas of 12 partitions had dropped out of the "
        "ISR [8], those of 11 were in it again by 12:00:33.000 [9]."
    )
    assert [step["what"] for step in incident["steps"]] == [
        "a controller noticed that broker 3 was gone",
        "node 1 took over as controller from node 3",
        "an election of b-0 failed",
        "a-0 lost its leader",
        "the reassignment of c-1 waits for broker 3",
        "broker 3 started anew",
        "broker 3 was back",
        "b-0 was no longer without a leader",
        "the last replica of broker 3 was in the ISR again",
    ]
    assert [line["line"] for line in incident["evidence"]] == [1, 5, 2, 10, 7, 104, 6, 8, 9]


SHUTDOWN = {**CRASH, "how": "shut_down", "ended_by": "controlled_shutdown"}
DELETION = fact("deletion", 0, topic="a")
UNCLEAN = fact("unclean", 20, topic="a", partition=0, other=2, lost_min=5, lost_max=9)
SEVERITIES = {  # facts -> severity and cause; None: no incident
    "a crash, others led at once": ([CRASH, outage("a", 19, 19.5, "clean_election")], "minor broker_crash"),
    "a crash, a partition was out": ([CRASH, outage("a", 19, 21, "broker_return")], "major broker_crash"),
    "a crash, a partition is out": ([CRASH, outage("a", 19, None, None)], "critical broker_crash"),
    "an unclean election": ([CRASH, outage("a", 19, 20, "unclean_election"), UNCLEAN], "critical broker_crash"),
    "by itself": ([UNCLEAN], "critical unclean_election"),
    "a restart": ([SHUTDOWN], "info controlled_shutdown"),
    "a restart of the only replica": ([SHUTDOWN, outage("a", 19, 32, "broker_return")], "minor controlled_shutdown"),
    "a shutdown at the end": ([{**SHUTDOWN, "until": None}, outage("a", 19, None, None)], "minor controlled_shutdown"),
    "a deletion that waited": ([DELETION, outage("a", 0, 10, "topic_deletion")], "info topic_deletion"),
    "a deletion": ([DELETION, outage("a", 0, 1, "topic_deletion")], None),
    "a crash, the topic was deleted, no line tells when": (
        [CRASH, {**outage("a", 19, None, None), "healed_by": "topic_deletion"}],
        "major broker_crash",
    ),
    "a moment without known cause": ([outage("a", 0, 0.5, "clean_election")], None),
    "longer, without known cause": ([outage("a", 0, 5, "clean_election")], "major None"),
    "another controller": ([fact("controller", 5, node=1, other=2, count=7)], "minor controller_changed"),
}


@pytest.mark.parametrize("case", SEVERITIES)
def test_severity(case: str) -> None:
    facts, expected = SEVERITIES[case]
    incidents = [f"{row['severity']} {row['root_cause']}" for row in incidents_of(facts)]
    assert incidents == ([] if expected is None else [expected])


def incident_with(*facts: dict[str, Any]) -> dict[str, Any]:
    """The incident of some facts."""
    incident = incident_of(symptoms_of("c", facts))
    assert incident is not None
    return incident


def test_each_line_of_a_crash_stands_where_it_proves_something() -> None:
    """The first line of the evidence is the controller's notice, the second the next start."""
    lines = [{"node_id": node, "file_id": "f", "line": line} for node, line in ((1, 7), (3, 8), (1, 9))]
    incident = incident_with({**CRASH, "evidence": lines})
    assert "that it was gone [1], and it started anew at 12:00:30.000 with nothing of a shutdown" in incident["story"]
    assert "logged before [2]." in incident["story"]
    assert [line["line"] for line in incident["evidence"]] == [7, 8, 9]
    unseen = incident_with({**CRASH, "at": at(30), "noticed_at": None, "evidence": lines[1:]})
    assert "crashed after 2026-11-21 12:00:10.000, its last line, and started anew at" in unseen["story"]
    assert "logged before [1]." in unseen["story"]


STILL: dict[str, tuple[list[tuple[str, float | None]], str]] = {  # outages -> the sentence about what is open
    "the only one": ([("a", None)], "Partition a-0 was without a leader from 12:00:19.000 on [2], and is so still"),
    "all of them": ([("a", None), ("b", None)], ", 1 min 22 s summed over them, and are so still at the end of the"),
    "some of them": ([("a", None), ("b", 21), ("c", None)], " summed over them; 2 of them are so still at the end of"),
    "one of them": ([("a", None), ("b", 21)], " summed over them; 1 of them is so still at the end of the logs."),
}


@pytest.mark.parametrize("case", STILL)
def test_what_is_open_is_said_once(case: str) -> None:
    outages, expected = STILL[case]
    story = incident_with(
        CRASH, *(outage(topic, 19, until, "broker_return" if until else None) for topic, until in outages)
    )["story"]
    assert expected in story
    assert story.count("at the end of the logs") == 1


HOLE = {"ms": 240_000, "most_ms": 352_450_000, "ended_at": None, "end_evidence": None}
BOUNDS: dict[str, tuple[list[dict[str, Any]], str, str]] = {  # outages until 12:01:00 -> title, sentences about them
    "at least and at most": (
        [HOLE],
        "for at least 4 min 0 s, at most 97 h 54 min",
        "That had ended by 12:01:00.000, after at least 4 min 0 s, at most 97 h 54 min.",
    ),
    "at most": ([{**HOLE, "ms": 0, "most_ms": 6000}], "for at most 6.0 s", "after at most 6.0 s."),
    "at least": ([{**HOLE, "most_ms": None}], "for at least 4 min 0 s", "after at least 4 min 0 s."),
    "nothing": ([{**HOLE, "ms": 0, "most_ms": None}], "for an unknown time", "after an unknown time."),
    "only the begin is unknown": (
        [{"ms": 2000, "most_ms": 3000}],
        "for at least 2.0 s, at most 3.0 s",
        "That ended at 12:01:00.000, after at least 2.0 s, at most 3.0 s [102].",
    ),
    "the longest is known": (
        [{"ms": 41_000, "most_ms": 41_000}, {"ms": 0, "most_ms": 6000, "healed_by": "clean_election"}],
        "for up to 41.0 s",
        "at least 41.0 s summed over them. The longest, of t-0, ended at 12:01:00.000, after 41.0 s [102]; the "
        "others: 1 by a clean election.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BOUNDS)
def test_bounds_are_told_as_such(case: str) -> None:
    changes, length, sentence = BOUNDS[case]
    lost = [{**outage("t", 19, 60, None), "partition": n, "count": 0, **one} for n, one in enumerate(changes)]
    incident = incident_with(CRASH, *lost)
    assert incident["title"].endswith(f"without a leader {length}")
    assert sentence.replace("[102]", "[3]") in incident["story"]


def test_an_outage_is_over_if_its_topic_was_deleted_though_no_line_tells_when() -> None:
    """It surely lasted from 12:00:19 to 12:01:00, and the broker was back at 12:00:32."""
    deleted = {**outage("a", 19, None, None), "healed_by": "topic_deletion", "count": 0}
    incident = incident_with(CRASH, deleted)
    assert (incident["until"], incident["healed_by"]) == (at(60), "topic_deletion")
    assert incident["title"].endswith("; 1 partition without a leader for at least 41.0 s")
    sentence = (
        "on [2]. That ended with the topic's deletion, after at least 41.0 s: when is in no line. Broker 3 was back"
    )
    assert sentence in incident["story"]
    waits = incident_with(DELETION, {**deleted, "at": at(0), "ms": 60_000})
    assert (waits["severity"], waits["until"]) == ("info", at(60))
    assert "the deletion was over" not in waits["story"].lower()


def test_who_was_in_sync_is_no_reason_why_a_deleted_topic_had_no_leader() -> None:
    """The last in sync of a-0 was broker 3, of a-1 broker 4: both are there, the controller elects nobody."""
    waits = [outage("a", 0, 10, "topic_deletion"), outage("a", 0, 9, "topic_deletion")]
    waits = [{**wait, "partition": broker - 3, "ids": [broker]} for broker, wait in zip((3, 4), waits, strict=True)]
    story = incident_with(DELETION, *waits)["story"]
    assert "in sync" not in story
    assert "2 partitions of topic a (a-0 and a-1) were without a leader" in story
    both = incident_with(DELETION, *({**wait, "ids": [3, 4]} for wait in waits))["story"]
    assert "elected" not in both


def test_an_outage_of_unknown_cause_is_an_incident_unless_it_surely_was_short() -> None:
    unsure = {**outage("a", 0, 6, None), "ms": 0, "most_ms": 6000, "ended_at": None}
    assert (
        incident_with(unsure)["title"]
        == "Partitions lost their leaders; 1 partition without a leader for at most 6.0 s"
    )
    assert incident_of(symptoms_of("c", [{**unsure, "most_ms": 999}])) is None


def test_how_long_a_crash_lasted_that_nobody_noticed_has_bounds() -> None:
    """Its last line is of 12:00:10, its next start of 12:00:30, and it was ready at 12:00:32."""
    unseen = {**CRASH, "role": "controller", "node": 101, "at": at(30), "noticed_at": None, "ended_by": None}
    incident = incident_with(unseen)
    assert incident["title"] == "Controller 101 crashed, back after at least 2.0 s, at most 22.0 s"
    assert "Controller 101 was back at 12:00:32.000, after at least 2.0 s, at most 22.0 s [1]." in incident["story"]
    assert incident_with(CRASH)["title"] == "Broker 3 crashed, back after 13.0 s"
    taken_over = incident_with(unseen, fact("controller", 14, node=101, other=102, count=7))
    assert taken_over["title"] == "Controller 101 crashed, back after 18.0 s"
    assert incident_with({**unseen, "began_after": None})["title"] == "Controller 101 crashed, back after 2.0 s"


def test_lost_records_are_summed_where_they_are_bounded() -> None:
    unbounded = {**UNCLEAN, "topic": "b", "lost_min": None, "lost_max": None}
    both, one = (incident_of(symptoms_of("c", facts)) for facts in ([UNCLEAN, unbounded], [UNCLEAN, UNCLEAN]))
    assert both is not None
    assert one is not None
    assert (both["lost_records_min"], both["lost_records_max"]) == (5, None)
    assert (one["lost_records_min"], one["lost_records_max"]) == (10, 18)


ONE, TWO = "The unclean election of t-0 [2] ", "2 unclean elections of broker 2 (t-0 and t-1) [2] "
LOSSES: dict[str, tuple[list[tuple[int | None, int | None, int | None]], str]] = {
    # last leader, lost at least, at most, of each unclean election of broker 2 -> the sentence
    "exact": ([(1, 5, 5)], f"{ONE}lost 5 records that broker 1 had."),
    "the last leader": (
        [(2, 0, None)], f"{ONE}made the last leader itself, broker 2, leader, from the end of its log.",
    ),
    "last leaders": (
        [(2, 0, None), (2, 0, None)], f"{TWO}made the last leaders themselves leaders, from the end of their logs.",
    ),
    "several": (
        [(1, 5, 5), (3, 1, 1)], f"{TWO}lost 6 records that brokers 1 and 3 had (5 of t-0 and 1 of t-1).",
    ),
    "bounds": ([(1, 5, 9), (None, 1, 2)], f"{TWO}lost 6 to 11 records that broker 1 had."),
    "no upper bound": (
        [(1, 5, 9), (1, None, None)],
        f"{TWO}lost at least 5 records that broker 1 had; how many at most is not in the logs.",
    ),
    "nothing known": ([(1, None, None)], f"{ONE}lost records or not: how many is not in the logs."),
    "nothing lost": ([(1, 0, 0)], f"{ONE}lost no records."),
    "one led on": (
        [(1, 5, 5), (2, 0, None)],
        f"{TWO}lost 5 records that broker 1 had; in 1 of them the last leader itself led on.",
    ),
    "many": (
        [(1, 1, 1)] * 4,
        "4 unclean elections of broker 2 (t-0, t-1, t-2 and 1 more) [2] lost 4 records that broker 1 had.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LOSSES)
def test_what_unclean_elections_lost(case: str) -> None:
    elections, sentence = LOSSES[case]
    facts = [
        fact("unclean", 20, line=9, topic="t", partition=n, other=2, node=last, lost_min=least, lost_max=most)
        for n, (last, least, most) in enumerate(elections)
    ]
    assert sentence in incident_with(CRASH, *facts)["story"]


ISR: dict[str, tuple[list[dict[str, Any]], str]] = {  # outages -> why nobody could be elected
    "one, alone": ([{"ids": [3]}], "Broker 3 was its only replica in sync, so no other one could be elected;"),
    "all alone": ([{"ids": [3]}, {"ids": [3]}], "Broker 3 was the only replica in sync of all of them, so"),
    "some alone": (
        [{"ids": [3]}, {"ids": [3, 4]}],
        "Broker 3 was the only replica in sync of t-0, so no other one could be elected; of the ISR of t-1 (3 and 4) "
        "none was elected meanwhile; 2 elections failed.",
    ),
    "unknown": ([{"ids": None, "count": 0}], "without a leader from 12:00:19.000 on [2]. That ended"),
    "at once": ([{"ids": [3, 4], "until": at(19.9), "ms": 900, "count": 0}], "on [2]. That ended"),
    "empty": ([{"ids": [], "count": 0}], "on [2]. That ended"),
    "many": (
        [{"ids": [3]}] * 4 + [{"ids": None}], "the only replica in sync of 4 of them (t-0, t-1, t-2 and 1 more), so",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ISR)
def test_why_nobody_could_be_elected(case: str) -> None:
    changes, expected = ISR[case]
    lost = [
        {**outage("t", 19, 30, "broker_return"), "partition": number, **changed}
        for number, changed in enumerate(changes)
    ]
    assert expected in incident_with(CRASH, *lost)["story"]


WENT_ON = "Node 1 was no longer controller, though its process went on (epoch 1): "
TERMS: dict[str, tuple[list[tuple[int, int | None, int | None]], str, str]] = {
    # by term: who, who took over, ready after so many ms -> title, story
    "another": (
        [(1, 2, 61)],
        "The controller changed from node 1 to 2",
        f"{WENT_ON}node 2 took over at 12:00:05.000 [1] and was ready 61 ms later. "
        "No partition is known to have been without a leader because of it.",
    ),
    "the same again": (
        [(1, 1, None)],
        "Node 1 resigned as controller and was elected anew",
        f"{WENT_ON}node 1 took over again at 12:00:05.000 [1]. ",
    ),
    "nobody known": (
        [(1, None, None)],
        "Node 1 was no longer controller",
        f"{WENT_ON}the logs name no successor after 12:00:05.000 [1]. ",
    ),
    "twice": (
        [(1, 2, None), (2, 3, None)],
        "The controller changed 2 times in a row, from node 1 to 3",
        f"{WENT_ON}node 2 took over at 12:00:05.000 [1]; after epoch 2 node 3 took over at 12:00:05.000 [1]. ",
    ),
}


@pytest.mark.parametrize("case", TERMS)
def test_controllers_that_changed(case: str) -> None:
    terms, title, story = TERMS[case]
    facts = [
        fact(
            "controller", 5, None if ms is None else 5 + ms / 1000, node=node, other=other, count=n + 1, how="lived_on"
        )
        for n, (node, other, ms) in enumerate(terms)
    ]
    incident = incident_with(*facts)
    assert incident["title"] == title
    assert story in incident["story"]


def test_why_a_term_ended_is_told_only_where_its_node_is_known_to_have_lived_on() -> None:
    unknown = incident_with(fact("controller", 5, node=1, other=2, count=1))["story"]
    assert unknown.startswith("Node 1 was no longer controller, why is not known (epoch 1): node 2 took over at")


def test_a_controller_takes_over_when_it_is_elected() -> None:
    """Who was controller until then resigned 4 ms before."""
    facts = [fact("controller", 5, 5.061, node=1, other=2, count=1, started_at=at(5.004), line=9)]
    incident = incident_with(*facts)
    assert "node 2 took over at 12:00:05.004 [1] and was ready 57 ms later." in incident["story"]
    assert [(step["at"], step["line"]) for step in incident["steps"]] == [(at(5.004), 9)]


def test_what_ended_an_outage_has_no_line_where_none_is_known() -> None:
    lost = {**outage("t", 19, 30, "broker_return"), "end_evidence": None}
    assert "ended with the return of broker 3 at 12:00:30.000, after 11.0 s. " in incident_with(CRASH, lost)["story"]


def test_replicas_that_never_joined_again() -> None:
    left = incident_with(SHUTDOWN, fact("out_of_isr", 19, count=3))["story"]
    assert left.endswith("dropped out of the ISR [1], and no line shows that they joined it again.")
    gone = incident_with({**SHUTDOWN, "until": None}, fact("out_of_isr", 19, count=1))
    assert gone["story"].endswith(
        "Broker 3 was not back by the end of the logs; its replicas of 1 partition had dropped out of the ISR [1]."
    )
    assert gone["title"] == "Broker 3 was shut down, not back when the logs end"


def test_a_broker_that_halts_as_its_directory_fails() -> None:
    """The directory failed at 12:00:10, and the broker halted 100 ms later."""
    halt = {**CRASH, "at": at(10.1), "how": "log_dir_failed", "began_after": None}
    failure = fact("log_dir", 10, 30, node=3, count=2, text="/a", line=5)
    incident = incident_with(failure, halt, outage("t", 10.2, 32, "broker_return"))
    title = (
        "Broker 3 halted as its log directory failed, back after 22.0 s; 1 partition without a leader for up to 21.8 s"
    )
    assert (incident["title"], incident["since"], incident["until"]) == (title, at(10), at(32))
    assert incident["incident_id"] == "log_dir_failure-3-20261121T120010000"
    assert incident["story"].startswith(
        "Broker 3 halted at 2026-11-21 12:00:10.100 because its log directory failed [1]. "
        "Log directory /a of broker 3 failed with 2 replicas at 12:00:10.000 [2]. "
        "Partition t-0 was without a leader from 12:00:10.200 on [3]. "
    )
    assert [step["what"] for step in incident["steps"]].count("broker 3 started anew") == 1
    assert incident_with({**halt, "until": None})["title"] == (
        "Broker 3 halted as its log directory failed, not back when the logs end"
    )


def test_a_broker_that_bounces_was_not_fenced() -> None:
    bounced = {**CRASH, "until": at(19), "how": None, "ended_by": "bounced", "started_at": None, "began_after": None}
    incident = incident_with(bounced)
    assert (incident["root_cause"], incident["title"]) == ("bounced", "Broker 3 registered anew")
    assert incident["story"].startswith(
        "Broker 3 registered anew at 2026-11-21 12:00:19.000 [1]: its logs do not tell whether it was restarted or its "
        "session had ended."
    )
    assert incident_with({**bounced, "how": "cut_off"})["root_cause"] == "session_expired"


def test_a_stop_is_over_when_the_next_one_of_its_node_begins() -> None:
    """Its session ended at 12:00:19, it was shut down at 12:05:00, and was back at 12:05:25 or not at all."""
    cut_off = {**CRASH, "how": "cut_off", "started_at": None, "followed_at": at(300)}
    back, gone = incident_with({**cut_off, "until": at(325)}), incident_with({**cut_off, "until": None})
    assert (back["title"], back["until"]) == ("Broker 3 lost its session, back after 5 min 6 s", at(325))
    assert (gone["title"], gone["until"]) == ("Broker 3 lost its session, not back before it stopped", at(300))
    assert gone["story"].endswith("Broker 3 was not back before its process stopped, too, at 12:05:00.000.")


def test_a_broker_whose_return_alone_shows_that_it_had_lost_its_session() -> None:
    """Nobody noticed it, for it was the only one: since when its session was gone is in no line."""
    cut_off = {**CRASH, "how": "cut_off", "started_at": None, "until": CRASH["at"]}
    incident = incident_with(cut_off)
    assert incident["title"] == "Broker 3 lost its session, back after an unknown time"


def test_a_controller_that_stood_by() -> None:
    standby = {**CRASH, "role": "controller", "node": 101, "noticed_at": None}
    none = "No partition is known to have been without a leader because of it, and no other controller took over."
    assert none in incident_with(standby)["story"]
    active = incident_with(standby, fact("controller", 14, node=101, other=102, count=7))["story"]
    assert "no other controller took over" not in active


def test_a_broker_that_crashes_in_a_loop() -> None:
    last = {"at": at(60), "node_id": 3, "file_id": "f", "line": 9}
    incident = incident_with({**CRASH, "until": at(62), "restarts": 2, "last_restart": last})
    assert incident["title"] == "Broker 3 crashed, started 3 times, back after 43.0 s"
    assert (
        "started anew at 12:00:30.000 with nothing of a shutdown logged before [1]; it stopped before it was back, and "
        "started anew 2 times more, the last time at 12:01:00.000 [2]." in incident["story"]
    )
    steps = [(step["at"], step["line"]) for step in incident["steps"] if step["what"] == "broker 3 started anew"]
    assert steps == [(at(30), 1), (at(60), 9)]
    assert incident["evidence"][1]["line"] == 9


def test_a_broker_that_never_came_up_says_so_once() -> None:
    failure = {"at": at(20), "node_id": 1, "file_id": "f", "line": 1, "text": "java.io.IOException: full"}
    never = fact("stop", 20, role="broker", node=3, how="start_failed", failed_starts=1, failed_start=failure)
    story = incident_with(never)["story"]
    assert story.startswith(
        "Broker 3 was not there, and failed to start at 2026-11-21 12:00:20.000 [1]: java.io.IOException: full. "
    )


def test_the_error_of_which_a_process_halts() -> None:
    """Where a directory is known to have failed its own error is told, once."""
    rows = [
        sign(1, 0, "broker_started"),
        sign(2, 10, "high_watermark_checkpoint_failed"),
        sign(3, 20, "broker_starting"),
    ]
    (stop,) = node_stops(rows)
    assert (stop["how"], stop["error"]) == ("log_dir_failed", "disk")
    halt = {**CRASH, "how": "halted", "at": at(19), "error": "Encountered fatal fault: Error starting LogManager"}
    assert (
        "because of an error [1]: Encountered fatal fault: Error starting LogManager. " in incident_with(halt)["story"]
    )
    of_disk = {**halt, "how": "log_dir_failed", "error": "Disk error"}
    assert "because its log directory failed [1]: Disk error. " in incident_with(of_disk)["story"]
    failure = fact(
        "log_dir", 19, 40, line=2, node=3, text="/srv/a", error="java.io.IOException: No space left on device"
    )
    assert "Disk error" not in incident_with(of_disk, failure)["story"]


def test_the_error_by_which_a_directory_failed() -> None:
    failure = fact(
        "log_dir", 19, 40, node=3, text="/srv/a", count=2, error="java.io.IOException: No space left on device"
    )
    story = incident_with(failure)["story"]
    assert (
        "Log directory /srv/a of broker 3 failed with 2 replicas at 12:00:19.000 [1]: java.io.IOException: No" in story
    )


def test_a_broker_that_cannot_start() -> None:
    failure = {"at": at(60), "node_id": 3, "file_id": "f", "line": 9, "text": "java.io.IOException: No space left"}
    last = {"at": at(70), "node_id": 3, "file_id": "f", "line": 12}
    loop = {**CRASH, "until": at(72), "restarts": 2, "last_restart": last, "failed_starts": 2, "failed_start": failure}
    incident = incident_with(loop)
    assert incident["title"] == "Broker 3 crashed, failed to start 2 times, back after 53.0 s"
    assert (
        "[1]; it could not start 2 times, the last time at 12:01:00.000 [2]: java.io.IOException: No space left. "
        in incident["story"]
    )
    steps = [(step["at"], step["line"]) for step in incident["steps"] if "failed to start" in step["what"]]
    assert steps == [(at(60), 9)]
    once = {**loop, "failed_starts": 1, "failed_start": {**failure, "text": None}}
    assert incident_with(once)["title"] == "Broker 3 crashed, failed to start once, back after 53.0 s"
    assert "; it could not start at 12:01:00.000 [2]. " in incident_with(once)["story"]
    never = {
        **loop, "how": "start_failed", "at": at(20), "until": None, "began_after": None, "noticed_at": None,
        "started_at": at(50),
    }  # fmt: skip
    incident = incident_with(never)
    assert (incident["root_cause"], incident["since"]) == ("start_failed", at(20))
    assert incident["title"] == "Broker 3 failed to start 2 times, not back when the logs end"
    assert incident["story"].startswith(
        "Broker 3 was not there, and failed to start at 2026-11-21 12:00:20.000 [1]; it could not start 2 times"
    )


def test_no_story_has_more_than_eight_sentences() -> None:
    facts = [
        {**CRASH, "others": [{"node": 1, "since": at(1)}, {"node": 2, "since": at(2)}]},
        *(fact("controller", 19 + n / 10, node=n, other=n + 1, count=n) for n in range(3)),
        *({**outage("t", 19, 30, "broker_return"), "partition": n, "ids": [3, 4][: n % 2 + 1]} for n in range(4)),
        fact("failed", 19, topic="t", partition=0, ids=[1]), UNCLEAN, fact("moved", 19, count=4),
        fact("out_of_isr", 19, count=3), fact("rejoined", 40, count=3),
        fact("reassignment", 20, 32, topic="c", partition=1, node=3),
    ]  # fmt: skip
    story = incident_with(*facts)["story"]
    assert story.count(". ") + 1 == 8
    assert "brokers 1 (since 12:00:01.000) and 2 (since 12:00:02.000) were away already" in story


def test_a_controller_that_crashed_had_gone_when_another_took_over() -> None:
    stop = {**CRASH, "role": "controller", "at": at(30), "noticed_at": None, "node": 101}
    incident = incident_of(symptoms_of("c", [stop, fact("controller", 14, node=101, other=102, count=7)]))
    assert incident is not None
    assert (incident["root_cause"], incident["since"], incident["began_after"]) == ("controller_crash", at(14), at(10))
