"""Which zeros of a summary are none: by kinds of logs, releases, and whether requests at TRACE are there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobs.nightly.summary_facts import ClusterSummary, summaries_of
from jobs.nightly.summary_text import summary_text
from jobs.nightly.unknown_zeros import missing_logs_by_fact
from jobs.settings import Settings
from tests.test_summary_text import AT, LATER, STREAM

ALL = {"state_change", "controller", "server"}
TRACE = "state-change.log at TRACE"
LEADERS = ("elections.succeeded", "elections.unclean", "outages")
MISSING: dict[str, tuple[set[str], str, bool, dict[str, str]]] = {  # kinds, releases, TRACE -> what is missing
    "2.4 at TRACE": (ALL, "2.4.0..2.4.1", True, {}),
    "2.4 at INFO": (ALL, "2.4.0..2.4.1", False, dict.fromkeys(LEADERS, TRACE)),
    "2.6 at INFO": (ALL, "2.6.0..2.7.2", False, {}),
    "2.6, server logs only": (
        {"server"},
        "2.6.0..2.7.2",
        False,
        dict.fromkeys(LEADERS, "state-change.log")
        | {"elections.failed": "state-change.log", "reassignments": "controller.log"},
    ),
    "0.10, controllers' logs at INFO have lost leaders": (
        {"controller"},
        "0.10.0..0.10.2",
        False,
        {"elections.failed": "state-change.log"},
    ),
    "0.10, server logs only": (
        {"server"},
        "0.10.0..0.10.2",
        False,
        dict.fromkeys(LEADERS, f"controller.log, or {TRACE},")
        | {"elections.failed": "state-change.log", "reassignments": "controller.log"},
    ),
    "controllers' logs only": (
        {"controller"},
        "2.4.0..2.4.1",
        False,
        dict.fromkeys(LEADERS, TRACE)
        | {"elections.failed": "state-change.log", "isr_changes": f"server.log, or {TRACE},"},
    ),
    "a dump of the metadata tells all": ({"metadata_dump"}, "3.0.0..", False, {}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("3.2.0..3.2.3", dict.fromkeys(LEADERS, "a metadata dump")),
        ("3.3.0..3.3.2", {}),
        ("3.0.0..", dict.fromkeys(LEADERS, "a metadata dump")),
    ],
)
def test_leaders_of_kraft_until_3_2(release: str, expected: dict[str, str]) -> None:
    assert missing_logs_by_fact(ALL, [release], has_requests=False, is_kraft=True) == expected
    assert missing_logs_by_fact({*ALL, "metadata_dump"}, [release], has_requests=False, is_kraft=True) == {}


@pytest.mark.parametrize("case", MISSING)
def test_what_is_missing(case: str) -> None:
    kinds, releases, has_requests, expected = MISSING[case]
    assert missing_logs_by_fact(kinds, [None, releases], has_requests=has_requests) == expected


def test_a_cluster_that_was_upgraded() -> None:
    """Streams of 2.3 without TRACE lack changes of leaders, whatever those of 2.8 log."""
    missing = missing_logs_by_fact(ALL, ["1.1.0..2.3.1", "2.8.0.."], has_requests=False)
    assert missing == dict.fromkeys(LEADERS, TRACE)


def test_elections_that_nobody_can_judge() -> None:
    missing = missing_logs_by_fact(ALL, ["2.6.0.."], has_requests=False, unjudged_elections=1)
    assert missing == {"elections.unclean": "ISRs and assignments before elections"}


def summary_at_info() -> ClusterSummary:
    """2.4 without TRACE: elections failed, and nothing else is in the tables."""
    stream = {**STREAM, "cluster": "pay", "kafka_versions": "2.4.0..2.4.1"}
    spans = [{"node_id": 1, "kind": kind, "since": AT, "until": LATER, "records": 9} for kind in ALL]
    rows: dict[str, list[Any]] = {
        "log_files": [stream],
        "log_coverage": [{"cluster": "pay", **span} for span in spans],
        "elections": [{"cluster": "pay", "nth": None, "succeeded": False, "unclean": None, "total": 97}],
    }
    return summaries_of(rows, Settings())[0]


def test_a_zero_that_logs_cannot_tell_is_none() -> None:
    summary = summary_at_info()
    assert summary.elections == {"succeeded": None, "failed": 97, "unclean": None}
    assert summary.outage_count is None
    assert (summary.isr_changes, summary.reassignments) == (0, {})
    reason = "cannot be told from these logs: state-change.log at TRACE is missing"
    assert summary.cannot_be_told == dict.fromkeys(LEADERS, reason)


def test_what_cannot_be_told_in_words() -> None:
    text = summary_text([summary_at_info()], "/w")
    reason = "cannot be told from these logs: state-change.log at TRACE is missing\n"
    assert "  elections    unknown how many succeeded, 97 failed, unknown how many unclean\n" in text
    assert f"               more {reason}" in text
    assert f"  outages      whether partitions were without a leader {reason}" in text
    is_open = replace(summary_at_info(), open_outages=1, new_outages=1)
    assert f"  outages      whether there were more outages {reason}" in summary_text([is_open], "/w")
    assert f"  unclean      {reason}" in text
