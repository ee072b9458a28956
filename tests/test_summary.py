"""The screen a run ends with: the words, and the figures of the two real clusters."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from jobs.nightly.summary import (
    Facts,
    clock,
    doubts,
    gather,
    ids,
    is_guessed,
    length,
    plural,
    roles,
    screen,
    short,
    size,
    told_clocks,
    told_requests,
    versions,
)  # fmt: skip
from jobs.settings import Settings

if TYPE_CHECKING:
    from tests.conftest import Run

LENGTHS = {
    None: "for an unknown time",
    14: "14 ms",
    999: "999 ms",
    17_800: "17.8 s",
    59_949: "59.9 s",
    200_000: "3 min 20 s",
    7_500_000: "2 h 5 min",
}
PLURALS = {
    (1, "partition"): "1 partition",
    (2, "partition"): "2 partitions",
    (0, "flap"): "0 flaps",
    (1200, "pass"): "1,200 passes",
}
RANGES = {  # ranges of the streams -> the sentence
    (): "unknown: no message tells its release",
    (None,): "unknown: no message tells its release",
    ("1.1.0..2.5.1", "2.4.0..", "2.0.0..2.4.1"): "2.4 to 2.4.1 by its messages",
    ("3.0.0..",): "3.0 or later by its messages",
    ("2.4.0..", "1.0.0..2.0.1"): "2.4 or later by its messages",  # streams that contradict each other
}


@pytest.mark.parametrize("ms", LENGTHS)
def test_length(ms: int | None) -> None:
    assert length(ms) == LENGTHS[ms]


@pytest.mark.parametrize("given", PLURALS)
def test_plural(given: tuple[int, str]) -> None:
    assert plural(*given) == PLURALS[given]


@pytest.mark.parametrize("ranges", RANGES)
def test_versions(ranges: tuple[str | None, ...]) -> None:
    assert versions([{"kafka_versions": told} for told in ranges]) == RANGES[ranges]


def test_small_words() -> None:
    assert clock(datetime(2026, 11, 21, 11, 47, 34, 963000)) == "2026-11-21 11:47:34.963"
    assert clock(None) == "now"
    assert (size(99_999), size(6_600_000)) == ("99,999 bytes", "6.6 MB")
    assert (ids([0, 1]), ids([])) == ("0, 1", "unknown")
    assert short("/var/log/broker-3/state-change.log") == "broker-3/state-change.log"


def test_a_cluster_in_words() -> None:
    """Facts by hand: an open outage, a healed one, an unclean election, a violation, a reject."""
    at, later = datetime(2026, 11, 21, 10), datetime(2026, 11, 21, 10, 3, 20)
    stream = {
        "cluster": "pay", "also_seen_as": [], "role": "broker", "kind": "state_change", "status": "ok", "findings": [], "path": "/logs/broker-1/state-change.log", "file_id": "f", "kafka_versions": "2.4.0..2.4.1", "node_ids": [1],
        **dict.fromkeys(("size_bytes", "event_bytes", "detail_bytes", "reject_bytes", "other_bytes", "held_back_bytes", "duplicate_bytes"), 1000),
        "event_lines": 12, "reject_lines": 1, "first_at": at, "last_at": later, "time_zone": "UTC",
    }  # fmt: skip
    where = {"evidence": [{"node_id": 1, "file_id": "f", "line": 7}]}
    outage = {"topic": "t", "partition": 0, "since": at, "last_leader": 2, "failed_elections": 0, **where}
    facts = Facts(
        "pay",
        streams=[stream, {**stream, "file_id": "g", "path": "/logs/notes.txt", "status": "no_records"}],
        reigns=[{"controller_id": 1, "controller_epoch": 4, "since": at, "until": None, "total": 1}],
        partitions=3, topics=1, states=9, inferred=2, missing=4, elections={"held": 2, "failed": 1, "unclean": 1},
        unclean=[{"topic": "t", "partition": 1, "leader": 3, "leader_epoch": 6, "at": at, "isr_before": [1], **where}],
        offline=[
            {**outage, "until": None, "duration_ms": 200_000, "cause": "broker_failure", "cause_broker": 2, "healed_by": None},
            {**outage, "until": later, "duration_ms": 14, "cause": None, "cause_broker": None, "healed_by": "clean_election", "failed_elections": 1},
        ],
        contradictions=[{"topic": "t", "partition": 2, "at": at, "contradiction": "leader 1; leader 2", "total": 3, **where}],
        offline_count=2, offline_open=1, verdicts={"holds": 5, "violated": 1},
        violated=[{"rule": "leader_in_isr", "subject": "t-0#0", "at": at, "expected": "a", "actual": "b", **where}],
        rejects=[{"count": 2, "signature": "Never seen <n>", "first": {"file_id": "f", "line": 9}, "total": 3}],
        zone_is_guessed=True, doubts=[f"doubt {i}" for i in range(7)], holes=["no log of broker 3", "no server log of any node"],
    )  # fmt: skip
    said = screen([facts], "/w").splitlines()
    proof = "(broker-1/state-change.log:7)"
    assert (
        said[0]
        == "Cluster pay: 2026-11-21 10:00:00.000 to 2026-11-21 10:03:20.000 (3 min 20 s), local times read as UTC (no time_zone is set)"
    )
    for line in (
        "  Kafka        2.4 to 2.4.1 by its messages",
        '               2 lines like "Never seen <n>", first at broker-1/state-change.log:9',
        "               and 2 other kinds: SELECT signature, count(*) FROM rejects GROUP BY signature",
        "  doubtful     doubt 0",
        "               doubt 4",
        "               and 2 more: SELECT path, findings FROM log_files",
        "  missing      no log of broker 3",
        "               no server log of any node",
        "  controllers  1 reign: 1 (epoch 4) 10:00:00.000 to the end",
        "  partitions   3 in 1 topic, 9 committed states, 2 of them inferred; 4 more that no line tells in full",
        f"  contradict   t-2 at 10:00:00.000: leader 1; leader 2 {proof}; of 3 states lines say different things",
        "  elections    2 held, 1 failed, 1 unclean",
        "  offline      2 intervals without a leader, 1 still open at the end of the logs, longest first:",
        f"    t-0 had no leader for 3 min 20 s from 10:00:00.000, when broker 2 failed; still offline at the end of the logs {proof}",
        f"    t-0 had no leader for 14 ms from 10:00:00.000, when it lost leader 2; a clean election ended it at 10:03:20.000, 1 election failed meanwhile {proof}",
        f"    t-1 got leader 3 at 10:00:00.000 in leader epoch 6, ISR was 1 {proof}",
        "  reassigned   none",
        "  replay       5 decisions as the algorithm says, 1 not, 0 unknown for lack of inputs",
        f"    leader_in_isr on t-0#0 at 10:00:00.000: expected a, found b {proof}",
    ):
        assert line in said
    assert said[2].startswith("  logs         2 streams (1 of them no log) of nodes 1, ")
    assert said[2].endswith(", known already 2,000 bytes")
    assert said[-4] == "Where to look next:"
    assert all("--warehouse /w" in line for line in said[-3:])


def offset(node: int, *, applied: tuple[float, float] | None = None, **words: Any) -> dict[str, Any]:
    """What the offsets of a node are together; `applied`: what was taken off at least and at most."""
    least, most = applied or (None, None)
    usual = {"reference": 1, "pairs": 10, "contradicting": False}
    return {"node_id": node, "corrected": applied is not None, "from_ms": least, "to_ms": most, **usual, **words}


CLOCKS: dict[str, tuple[list[dict[str, Any]], set[int], list[str]]] = {  # offsets by node, who logged -> sentences
    "one node has nothing to agree with": ([], {1}, []),
    "all agree": ([offset(1), offset(2)], {1, 2}, ["nodes 1, 2 may agree, compared by 10 pairs of lines"]),
    "nothing tells": ([], {1, 2}, ["nothing compares nodes 1, 2 with the others: own times are kept"]),
    "one is ahead, one behind, one was set, one tells nothing": (
        [offset(1), offset(2, applied=(299_997.2, 300_031.0)), offset(3, applied=(-20.0, -20.2)), offset(4, contradicting=True)],
        {1, 2, 3, 4, 5},
        [
            "node 2 was ahead of node 1 by 299,997 to 300,031 ms, which is taken off",
            "node 3 was behind node 1 by 20 ms, which is added",
            "what compares node 4 contradicts itself, as if a clock had been set: own times are kept",
            "node 1 may agree, compared by 20 pairs of lines",
            "nothing compares node 5 with the others: own times are kept",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CLOCKS)
def test_clocks_in_words(case: str) -> None:
    offsets, nodes, sentences = CLOCKS[case]
    assert told_clocks(offsets, nodes) == sentences


def test_requests_in_words() -> None:
    none = {"stale": None, "failed": None, "slowest_ms": None, "unseen": 0}
    assert told_requests([{"kind": None, "total": 2, **none}]) == "2 of controllers to brokers: 2 of unknown kind"
    both = [
        {"kind": "LeaderAndIsr", "total": 1300, "stale": 2, "failed": 1, "slowest_ms": 1500, "unseen": 0},
        {"kind": "UpdateMetadata", "total": 3, "stale": 0, "failed": 0, "slowest_ms": 20, "unseen": 3},
    ]
    assert told_requests(both) == (
        "1,303 of controllers to brokers: 1,300 LeaderAndIsr, 3 UpdateMetadata; slowest answered after 1.5 s; "
        "2 ignored as stale; 1 answered with an error; 3 of which nothing but the sending is logged"
    )


ROW = {
    "path": "/l/broker-1/server.log.2026-11-21-04", "also_seen_as": [], "node_ids": [1], "role": "broker", "kind": "server",
    "findings": [], "first_at": datetime(2026, 11, 21, 4, 1), "last_at": datetime(2026, 11, 21, 4, 59), "time_zone": "UTC",
}  # fmt: skip


def test_what_makes_streams_doubtful() -> None:
    """Their own findings, by name unless they name it; and names of hours that contradict their zone: here by two hours."""
    hours = [
        {
            **ROW,
            "path": f"/l/broker-1/server.log.2026-11-21-0{hour + 2}",
            "first_at": at,
            "last_at": at.replace(minute=59),
        }
        for hour in (3, 4, 5)
        for at in [datetime(2026, 11, 21, hour, 1)]
    ]
    dark = {
        **ROW,
        "path": "/l/a.gz",
        "findings": ["This file cannot be read: /l/a.gz (it ends early); leave it out."],
        "first_at": None,
    }
    mixed = {**ROW, "findings": ["several nodes write to it: 1, 2; records may be missing"]}
    assert doubts([dark, mixed, *hours]) == [
        "broker 1's file names are 2 h ahead of its time stamps (3 files): its zone is probably not UTC; see time_zone in conf",
        "This file cannot be read: /l/a.gz (it ends early); leave it out.",
        "broker-1/server.log.2026-11-21-04: several nodes write to it: 1, 2; records may be missing",
    ]
    assert doubts([ROW]) == []


GUESSED: dict[
    str, tuple[Settings, dict[str, Any], bool]
] = {  # settings, what differs in the row -> whether its zone is a guess
    "nobody said": (Settings(), {}, True),
    "said for all": (Settings(time_zone="UTC"), {}, False),
    "said for its node": (Settings(node_time_zones={1: "UTC"}), {}, False),
    "said for one of its nodes": (Settings(node_time_zones={1: "UTC"}), {"node_ids": [1, 2]}, True),
    "of nobody": (Settings(node_time_zones={1: "UTC"}), {"node_ids": []}, True),
    "a dump counts from 1970": (Settings(), {"kind": "metadata_dump"}, False),
    "no times": (Settings(), {"first_at": None}, False),
}


@pytest.mark.parametrize("case", GUESSED)
def test_a_zone_that_nobody_set(case: str) -> None:
    settings, row, guessed = GUESSED[case]
    assert is_guessed({**ROW, **row}, settings) == guessed


def test_what_nodes_are() -> None:
    rows = [("broker", [1]), ("broker", [1]), ("controller", [1, 100]), (None, [7])]
    assert roles([{"role": role, "node_ids": nodes} for role, nodes in rows]) == {1: "broker", 100: "controller"}


def test_the_screen_of_the_zookeeper_cluster(zk: Run) -> None:
    """Figures of data/README.md: 29 partitions, 3 unclean elections, 24 outages of which none is open, 4 reigns."""
    said = screen(gather(zk.warehouse), zk.warehouse.root)
    lines = {line.split()[0]: line for line in said.splitlines() if line.startswith("  ") and line[2] != " "}
    assert said.startswith(
        "Cluster default: 2026-11-21 11:44:15.962 to 2026-11-21 11:48:19.436 (4 min 3 s), local times read as UTC (no time_zone is set)\n"
    )
    assert "2.4 to 2.4.1" in lines["Kafka"]
    assert "nodes 0, 1, 2, 3, 4" in lines["logs"]
    assert "rejected 0 bytes" in lines["logs"]
    assert "4 reigns: 3 (epoch 1)" in lines["controllers"]
    assert "0 (epoch 4) 11:46:45.431 to the end" in lines["controllers"]
    assert lines["partitions"].endswith("29 in 5 topics, 362 committed states, 4 of them inferred")
    assert lines["elections"].endswith("3 unclean")
    assert "24 intervals without a leader, 0 still open" in lines["offline"]
    assert "3 unclean elections, each may have lost records:" in lines["unclean"]
    assert "12 completed" in lines["reassigned"]
    assert ", 0 not, " in lines["replay"]
    assert (
        "    payments-0 had no leader for 17.8 s from 11:47:34.961, when broker 1 failed; a clean election ended it at 11:47:52.714"
        in said
    )
    for partition, epoch in ((0, 6), (1, 7), (3, 6)):
        assert f"    unclean_ok-{partition} got leader 2 at 11:47:37.28" in said
        assert f"in leader epoch {epoch}, ISR was 1 (broker-0/state-change.log:" in said


def test_the_screen_of_the_kraft_cluster(kraft: Run) -> None:
    said = screen(gather(kraft.warehouse), kraft.warehouse.root)
    assert "nodes 0, 1, 2, 3, 4, 100, 101, 102" in said
    assert "rejected 0 bytes" in said
    assert "4 reigns: 100 (epoch 2) 11:50:02.109" in said
    assert "  unclean      7 unclean elections, each may have lost records:" in said
    assert "1 cancelled, 11 completed" in said
    assert ", 0 not, " in said
