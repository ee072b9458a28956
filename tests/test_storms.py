"""Shrink storms: which broker was out of many ISRs at once, from single shrinks written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from udfs.incidents.incidents import incident_of
from udfs.incidents.storms import shrink_storms, storm_text
from udfs.incidents.symptoms import symptoms_of

NOON = 1795262400_000_000
"""2026-11-21 12:00:00 UTC, in microseconds."""


def shrink(
    seconds: float, partition: int, follower: int, leader: int, back: float | None = None, stops: bool = False
) -> dict[str, Any]:
    """One follower out of one ISR, so many seconds after noon."""
    return {
        "cluster": "c", "at": NOON + round(seconds * 1e6), "topic": "t", "partition": partition, "follower": follower,
        "leader": leader, "leader_stops": stops, "back_at": None if back is None else NOON + round(back * 1e6),
        "node_id": leader, "file_id": "f", "line": partition,
    }  # fmt: skip


BY_TWO = [shrink(partition / 10, partition, 2, partition % 2, 6 + partition) for partition in range(6)]
CASES: dict[str, tuple[list[dict[str, Any]], list[tuple[Any, ...]]]] = {
    # shrinks -> storms as (broker, role, partitions, at, until)
    "two leaders take a broker out of six ISRs": (BY_TWO, [(2, "follower", 6, 0.0, 11.0)]),
    "four partitions are no storm": (BY_TWO[:4], []),
    "nor are five in which it was out twice, of four partitions": (
        [*BY_TWO[:4], shrink(5, 3, 2, 1)],
        [],
    ),
    "one leader takes three brokers out: it did not answer": (
        [shrink(n / 10, n, follower, 1) for n, follower in enumerate((2, 3, 4, 2, 3, 4))],
        [(1, "leader", 6, 0.0, None)],
    ),
    "one leader takes three brokers out as it is stopped: that is known": (
        [shrink(n / 10, n, follower, 1, None, stops=True) for n, follower in enumerate((2, 3, 4, 2, 3, 4))],
        [],
    ),
    "one leader takes one broker out": (
        [shrink(n / 10, n, 2, 1, 7) for n in range(5)],
        [(2, "follower", 5, 0.0, 7.0)],
    ),
    "a frozen broker is taken out, and takes others out as it wakes up": (
        [*BY_TWO, *(shrink(3, 10 + n, follower, 2, 4) for n, follower in enumerate((0, 1, 3, 0, 1)))],
        [(2, "follower", 11, 0.0, 11.0)],
    ),
    "two brokers at once": (
        sorted([*BY_TWO, *(shrink(0.2, 20 + n, 5, n % 2) for n in range(5))], key=lambda one: one["at"]),
        [(2, "follower", 6, 0.0, 11.0), (5, "follower", 5, 0.2, None)],
    ),
    "a minute later it is another one": (
        [*BY_TWO, *(shrink(60 + n / 10, n, 2, n % 2) for n in range(5))],
        [(2, "follower", 6, 0.0, 11.0), (2, "follower", 5, 60.0, None)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_storms(case: str) -> None:
    shrinks, expected = CASES[case]
    seen = [
        (storm["node"], storm["role"], storm["count"], (storm["at"] - NOON) / 1e6,
         None if storm["until"] is None else (storm["until"] - NOON) / 1e6)
        for storm in shrink_storms(shrinks)
    ]  # fmt: skip
    assert seen == expected


def test_clusters_are_apart() -> None:
    other = [{**one, "cluster": "d"} for one in BY_TWO[:3]]
    assert [storm["cluster"] for storm in shrink_storms([*BY_TWO, *other])] == ["c"]


def test_a_storm_is_one_incident() -> None:
    (storm,) = shrink_storms(BY_TWO)
    incident = incident_of(symptoms_of("c", [{**storm, "kind": "storm"}]))
    assert incident is not None
    assert incident["incident_id"] == "isr_shrink_storm-2-20261121T120000000"
    assert (incident["severity"], incident["root_broker"], incident["out_of_isr"]) == ("minor", 2, 6)
    assert (incident["since"], incident["until"]) == (NOON, NOON + 11_000_000)
    assert incident["title"] == "Broker 2 fell out of the ISR of 6 partitions at once"
    assert incident["story"].startswith(
        "Broker 2 fell out of the ISR of 6 partitions at once from 2026-11-21 12:00:00.000 on [1], "
        "though its session did not end. By 12:00:11.000 those that came back were in sync again."
    )
    assert incident["evidence"][0] == {"node_id": 0, "file_id": "f", "line": 0}


def test_words() -> None:
    storm = {"node": 1, "role": "leader", "count": 5}
    assert storm_text(storm) == "broker 1 lost its followers of 5 partitions at once"
