"""Times without a leader over the states of a partition: who led when."""

from __future__ import annotations

from datetime import datetime

import pytest

from jobs.report.leaderless import leaderless_spans, led_spans


def minute(text: str) -> datetime | None:
    """`2` as 10:02; `-` is no time."""
    return None if text == "-" else datetime(2026, 11, 21, 10, int(text))


def spans(text: str) -> list[tuple[datetime | None, ...]]:
    """`2..3 5..-` as pairs of times."""
    return [tuple(map(minute, pair.split(".."))) for pair in text.split()]


LED = {  # state, its leader, times without a leader -> who led when
    "no outage": ("1..9", 4, "", "1..9 4"),
    "an outage within: the state goes on after it": ("1..9", 4, "2..3", "1..2 4, 2..3 -1, 3..9 4"),
    "two of them": ("1..9", 4, "2..3 5..6", "1..2 4, 2..3 -1, 3..5 4, 5..6 -1, 6..9 4"),
    "from its begin to its end": ("1..9", 4, "1..9", "1..9 -1"),
    "one that began before it": ("3..9", 4, "2..5", "3..5 -1, 5..9 4"),
    "one that ends after it": ("1..5", 4, "3..9", "1..3 4, 3..5 -1"),
    "others before and after it": ("3..5", 4, "1..3 5..9", "3..5 4"),
    "both last to the end of the logs": ("1..-", 4, "3..-", "1..3 4, 3..- -1"),
    "only the outage does": ("1..5", 4, "3..-", "1..3 4, 3..5 -1"),
    "only the state does": ("1..-", 4, "3..5", "1..3 4, 3..5 -1, 5..- 4"),
    "who stands in the state is not known": ("1..9", None, "2..3", "1..2 None, 2..3 -1, 3..9 None"),
    "a state without a leader is one as a whole": ("1..9", -1, "2..3", "1..9 -1"),
    "an outage of no length": ("1..9", 4, "2..2", "1..9 4"),
}


@pytest.mark.parametrize("case", LED)
def test_who_led(case: str) -> None:
    state, leader, outages, expected = LED[case]
    ((since, until),) = spans(state)
    assert since is not None
    pieces = led_spans(since, until, leader, spans(outages))  # type: ignore[arg-type]  # of two times each
    wanted = [one.rsplit(" ", 1) for one in expected.split(", ")]
    assert [(*piece[:2], str(piece[2])) for piece in pieces] == [(*spans(span)[0], leads) for span, leads in wanted]


OUTAGES = {  # until, ended before, healed by, surely for so many s -> known to be without a leader from 10:02 until
    "its end is known": ("4", "4", "broker_return", 120, "4"),
    "open at the end of the logs": ("-", "-", None, 60, "-"),
    "its end is not known: as long as is sure": ("-", "9", "broker_return", 60, "3"),
    "the topic was deleted, no line tells when": ("-", "-", "topic_deletion", 60, "3"),
}


@pytest.mark.parametrize("case", OUTAGES)
def test_until_when_there_was_no_leader(case: str) -> None:
    until, before, healer, sure_s, expected = OUTAGES[case]
    row = {
        "topic": "pay-in",
        "partition": 0,
        "since": minute("2"),
        "until": minute(until),
        "ended_before": minute(before),
        "healed_by": healer,
        "at_least_ms": sure_s * 1000,
    }
    assert leaderless_spans([row]) == {("pay-in", 0): [(minute("2"), minute(expected))]}
