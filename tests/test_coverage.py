"""Spans of logs are joined over short silences; only gaps that matter are reported."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.logs.coverage import CoverageSpan, coverage_gaps, joined_spans, merged_coverage, time_spans

HOUR = timedelta(hours=1)
DAY = datetime(2026, 11, 21)


def at(text: str) -> datetime:
    """`02:10`, or `+1 02:10` for the day after."""
    days, _, time = text.rpartition(" ")
    hours, minutes = map(int, time.split(":"))
    return DAY + timedelta(days=int(days or 0), hours=hours, minutes=minutes)


def table(text: str) -> list[CoverageSpan]:
    """`node kind since-until, since-until ...` in each line; node `-` unknown."""
    rows = []
    for line in filter(None, map(str.strip, text.splitlines())):
        node, kind, times = line.split(maxsplit=2)
        for part in times.split(", "):
            since, until = map(at, part.split("-"))
            rows.append(CoverageSpan(None if node == "-" else int(node), kind, since, until, 10))
    return rows


JOINED: dict[
    str, tuple[str, list[tuple[int | None, str, str, str, int]]]
] = {  # streams -> coverage: node, kind, since, until, records
    "files of neighbouring hours": (
        "1 controller 01:00-01:59, 02:01-02:59, 00:02-00:58",
        [(1, "controller", "00:02", "02:59", 30)],
    ),
    "an hour's silence is no gap": ("1 server 01:00-02:00, 03:00-04:00", [(1, "server", "01:00", "04:00", 20)]),
    "more is": (
        "1 server 01:00-02:00, 03:01-04:00",
        [(1, "server", "01:00", "02:00", 10), (1, "server", "03:01", "04:00", 10)],
    ),
    "one within the other": ("1 server 01:00-09:00, 02:00-03:00", [(1, "server", "01:00", "09:00", 20)]),
    "nodes and kinds are apart": (
        "2 server 01:00-02:00\n1 server 01:00-02:00\n1 controller 02:00-03:00\n- server 01:00-02:00",
        [
            (1, "controller", "02:00", "03:00", 10),
            (1, "server", "01:00", "02:00", 10),
            (2, "server", "01:00", "02:00", 10),
            (None, "server", "01:00", "02:00", 10),
        ],
    ),
    "nothing": ("", []),
}


@pytest.mark.parametrize("case", JOINED)
def test_joined(case: str) -> None:
    text, expected = JOINED[case]
    spans = [CoverageSpan(node, kind, at(since), at(until), n) for node, kind, since, until, n in expected]
    assert merged_coverage(table(text)) == spans
    assert merged_coverage(reversed(table(text))) == spans


GAPS = {  # coverage, roles -> sentences
    "all there": (
        "1 state_change 00:00-07:00\n2 state_change 00:10-06:50\n1 controller 00:00-07:00\n1 server 00:00-07:00\n"
        "2 server 00:00-07:00",
        {},
        [],
    ),
    "a kind of one broker": (
        "1 state_change 00:00-07:00\n2 state_change 00:00-07:00\n3 state_change 00:00-02:10, 05:00-07:00\n"
        "1 server 00:00-07:00\n2 server 00:00-07:00\n3 server 00:00-07:00\n1 controller 00:00-07:00",
        {},
        ["no state-change log of broker 3 between 02:10 and 05:00 (nothing written, or not given)"],
    ),
    "an hour late is not late": (
        "1 state_change 00:00-07:00\n2 state_change 00:00-07:00\n3 state_change 01:00-06:00\n"
        "1 server 00:00-07:00\n2 server 00:00-07:00\n3 server 01:00-06:00\n1 controller 00:00-07:00",
        {},
        [],
    ),
    "it wrote nothing, as all others": (
        "1 state_change 00:00-02:11, 05:01-07:00\n2 state_change 00:00-02:09, 04:59-07:00\n3 "
        "state_change 00:00-02:10, 05:00-07:00\n"
        "1 server 00:00-07:00\n2 server 00:00-07:00\n3 server 00:00-07:00\n1 controller 00:00-07:00",
        {},
        [],
    ),
    "a broker is silent: that is reported once, not for each kind": (
        "1 state_change 00:00-07:00\n2 state_change 00:00-07:00\n3 state_change 00:00-02:05, 05:00-07:00\n"
        "1 server 00:00-07:00\n2 server 00:00-07:00\n3 server 00:00-02:10, 05:00-07:00\n1 controller 00:00-07:00",
        {},
        ["no log of broker 3 between 02:10 and 05:00 (down, or not given)"],
    ),
    "silent at the end, and at the begin": (
        "1 server 00:00-07:00\n2 server 00:00-03:00\n3 server 03:30-07:00\n4 server 00:00-07:00\n"
        "1 state_change 00:00-07:00\n2 state_change 00:00-03:00\n3 state_change 03:30-07:00\n4 "
        "state_change 00:00-07:00\n"
        "1 controller 00:00-07:00",
        {},
        [
            "no log of broker 2 after 03:00 (down, or not given)",
            "no log of broker 3 before 03:30 (down, or not given)",
        ],
    ),
    "brokers at about the same time: when all of them are silent": (
        "1 server 00:00-02:10, 05:00-07:00\n2 server 00:00-02:20, 05:10-07:00\n3 server 00:00-07:00\n"
        "4 server 00:00-07:00\n"
        "5 server 00:00-07:00\n3 state_change 00:00-07:00\n3 controller 00:00-07:00",
        {},
        ["no log of brokers 1 and 2 between 02:20 and 05:00 (down, or not given)"],
    ),
    "brokers one after the other: each for itself": (
        "1 server 00:00-02:00, 03:30-07:00\n2 server 00:00-02:50, 04:20-07:00\n3 server 00:00-07:00\n"
        "4 server 00:00-07:00\n"
        "3 state_change 00:00-07:00\n3 controller 00:00-07:00",
        {},
        [
            "no log of broker 1 between 02:00 and 03:30 (down, or not given)",
            "no log of broker 2 between 02:50 and 04:20 (down, or not given)",
        ],
    ),
    "nobody wrote anything": (
        "1 server 00:00-02:00, 05:00-07:00\n2 server 00:00-02:00, 05:00-07:00\n1 state_change "
        "00:00-02:00, 05:00-07:00\n"
        "2 state_change 00:00-02:00, 05:00-07:00\n1 controller 00:00-02:00, 05:00-07:00",
        {},
        ["no log of any node between 02:00 and 05:00 (nothing written, or not given)"],
    ),
    "a controller's silence is none where another one wrote": (
        "1 controller 00:00-03:00\n2 controller 03:00-07:00\n1 state_change 00:00-07:00\n2 state_change 00:00-07:00\n"
        "1 server 00:00-07:00\n2 server 00:00-07:00",
        {},
        [],
    ),
    "no controller's log, but leaders changed": (
        "1 controller 00:00-03:00\n2 controller 05:00-07:00\n1 state_change 00:00-07:00\n2 state_change 00:00-07:00\n"
        "1 server 00:00-07:00\n2 server 00:00-07:00",
        {},
        ["no controller log of any node between 03:00 and 05:00 (nothing written, or not given)"],
    ),
    "no controller's log, and nothing changed": (
        "1 controller 00:00-03:00, 05:00-07:00\n1 state_change 00:00-02:50, 05:05-07:00\n2 "
        "state_change 00:00-02:55, 05:05-07:00\n"
        "1 server 00:00-07:00\n2 server 00:00-07:00",
        {},
        [],
    ),
    "a node that never had a kind": (
        "1 state_change 00:00-07:00\n2 state_change 00:00-07:00\n1 server 00:00-07:00\n2 server "
        "00:00-07:00\n3 server 00:00-07:00\n"
        "1 controller 00:00-07:00",
        {},
        ["no state-change log of broker 3 (not given)"],
    ),
    "controllers of a quorum have no state-change log, brokers no controller log": (
        "1 state_change 00:00-07:00\n2 state_change 00:00-07:00\n1 server 00:00-07:00\n2 server 00:00-07:00\n"
        "100 controller 00:00-07:00\n100 server 00:00-07:00\n101 controller 00:00-07:00\n101 server 00:00-07:00",
        {100: "controller", 101: "controller"},
        [],
    ),
    "one of them is silent": (
        "1 state_change 00:00-07:00\n1 server 00:00-07:00\n2 server 00:00-07:00\n2 state_change 00:00-07:00\n"
        "100 controller 00:00-07:00\n100 server 00:00-07:00\n101 controller 00:00-03:00\n101 server 00:00-03:00",
        {100: "controller", 101: "controller"},
        ["no log of controller 101 after 03:00 (down, or not given)"],
    ),
    "a kind that nobody has": (
        "1 server 00:00-07:00\n2 server 00:00-07:00\n1 state_change 00:00-07:00\n2 state_change 00:00-07:00",
        {},
        ["no controller log of any node (not given)"],
    ),
    "but a dump tells it all": (
        "1 server 00:00-07:00\n2 server 00:00-07:00\n100 metadata_dump 00:00-07:00",
        {100: "controller"},
        [],
    ),
    "silence in a dump is none": ("- metadata_dump 00:00-01:00, 05:00-07:00", {}, []),
    "a log of an unknown node": ("- server 00:00-07:00\n- state_change 00:00-07:00\n- controller 00:00-07:00", {}, []),
    "one broker alone: nothing proves that there was something to write": (
        "1 server 00:00-07:00\n1 state_change 00:00-01:00, 05:00-05:30\n1 controller 00:00-07:00",
        {},
        [],
    ),
    "only a minority had something to say": (
        "1 server 00:00-07:00\n2 server 00:00-07:00\n3 server 00:00-07:00\n4 server 00:00-07:00\n1 "
        "controller 00:00-07:00\n"
        "1 state_change 00:00-07:00\n2 state_change 00:00-02:00, 06:00-07:00\n3 state_change 00:00-02:00, 06:00-07:00\n"
        "4 state_change 00:00-02:00, 06:00-07:00",
        {},
        [],
    ),
    "more than one day: with the date": (
        "1 server 00:00-+1 07:00\n2 server 00:00-+1 07:00\n3 server 00:00-20:00, +1 01:00-+1 07:00\n"
        "1 controller 00:00-+1 07:00\n"
        "1 state_change 00:00-+1 07:00\n3 state_change 00:00-20:00, +1 01:00-+1 07:00\n2 state_change 00:00-+1 07:00",
        {},
        ["no log of broker 3 between 2026-11-21 20:00 and 2026-11-22 01:00 (down, or not given)"],
    ),
    "nothing": ("", {}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", GAPS)
def test_gaps(case: str) -> None:
    text, roles, expected = GAPS[case]
    assert coverage_gaps(merged_coverage(table(text)), roles) == expected


ALL_KINDS = "1 server 00:00-07:00\n1 state_change 00:00-07:00\n100 controller 00:00-07:00\n"
UNLOGGED = {  # brokers 1, 2 and 3 are registered
    "of two brokers no log is there": (ALL_KINDS, ["no log of brokers 2 and 3 (not given)"]),
    "of controllers only": (
        "100 server 00:00-07:00\n100 controller 00:00-07:00",
        ["no state-change log of any node (not given)", "no log of brokers 1, 2 and 3 (not given)"],
    ),
    "a dump besides one broker's logs": (
        f"{ALL_KINDS}- metadata_dump 00:00-07:00",
        ["no log of brokers 2 and 3 (not given)"],
    ),
    "a dump and controllers' logs were chosen in place of theirs": (
        "100 server 00:00-07:00\n- metadata_dump 00:00-07:00",
        [],
    ),
    "a dump alone": ("- metadata_dump 00:00-07:00", []),
    "a log of an unknown node may be theirs": (f"{ALL_KINDS}- server 00:00-07:00", []),
    "all are there": (
        ALL_KINDS + "".join(f"{node} {kind} 00:00-07:00\n" for node in (2, 3) for kind in ("server", "state_change")),
        [],
    ),
}


@pytest.mark.parametrize("case", UNLOGGED)
def test_registered_brokers_without_any_log(case: str) -> None:
    text, expected = UNLOGGED[case]
    spans = merged_coverage(table(text))
    assert coverage_gaps(spans, {100: "controller"}, registered=[3, 1, 2]) == expected


def test_many_nodes_are_counted() -> None:
    there = "".join(f"{node} {kind} 00:00-07:00\n" for node in range(20) for kind in ("server", "state_change"))
    silent = "".join(f"{node} server 00:00-02:00\n" for node in range(20, 32))
    sentences = coverage_gaps(merged_coverage(table(f"{there}{silent}1 controller 00:00-07:00")))
    assert sentences == [
        "no log of brokers 20, 21, 22, 23, 24, 25, 26 and 5 more after 02:00 (down, or not given)",
        "no state-change log of brokers 20, 21, 22, 23, 24, 25, 26 and 5 more (not given)",
    ]


def test_many_gaps_are_counted() -> None:
    there = "".join(f"{node} server 00:00-23:00\n{node} state_change 00:00-23:00\n" for node in range(9))
    silent = "".join(
        f"{9 + i} server 00:00-{2 * i + 1:02}:00, {2 * i + 3:02}:00-23:00\n9 state_change 00:00-23:00\n"
        for i in range(8)
    )
    sentences = coverage_gaps(merged_coverage(table(f"{there}{silent}1 controller 00:00-23:00")), most=3)
    assert sentences[0] == "no log of broker 10 between 03:00 and 05:00 (down, or not given)"
    assert len(sentences) == 4
    assert sentences[3] == "and 6 more gaps"


MICROS = 1_000_000
STRETCHES = {  # seconds -> since, until, number
    "nothing": ([], []),
    "one": ([5], [(5, 5, 1)]),
    "an hour apart": ([0, 3600], [(0, 3600, 2)]),
    "more than that": ([0, 3601], [(0, 0, 1), (3601, 3601, 1)]),
    "in any order": ([9000, 1, 0, 9001, 2], [(0, 2, 3), (9000, 9001, 2)]),
}


@pytest.mark.parametrize("case", STRETCHES)
def test_stretches(case: str) -> None:
    seconds, expected = STRETCHES[case]
    spans = time_spans(np.array(seconds, np.int64) * MICROS)
    assert spans == [(since * MICROS, until * MICROS, n) for since, until, n in expected]


@given(st.lists(st.integers(0, 2000), max_size=60), st.integers(0, 60))
def test_parts_join_to_the_coverage_of_the_whole(minutes: list[int], cut: int) -> None:
    """However records are split into streams and ranges, the spans are the same."""

    def spans(some: list[int]) -> list[CoverageSpan]:
        in_micros = time_spans(np.array(some, np.int64) * 60 * MICROS)
        return [
            CoverageSpan(1, "server", DAY + timedelta(microseconds=a), DAY + timedelta(microseconds=b), n)
            for a, b, n in in_micros
        ]

    whole = spans(minutes)
    assert merged_coverage(spans(minutes[:cut]) + spans(minutes[cut:])) == merged_coverage(whole) == whole
    parts = [time_spans(np.array(some, np.int64) * 60 * MICROS) for some in (minutes[:cut], minutes[cut:])]
    assert joined_spans(parts[0] + parts[1]) == time_spans(np.array(minutes, np.int64) * 60 * MICROS)
    for a, b in pairwise(whole):
        assert b.since - a.until > HOUR
