"""Of a story with too many steps those are told that explain it, and what repeats is told once. No tables."""

from __future__ import annotations

import pytest

from jobs.answers.selection import gathered, most_telling
from jobs.answers.story import Step
from tests.answers_warehouse import moment

STILL = "still no leader in {count} new leader epochs until {until}"
FAILED = "election failed {count} times until {until}: alive 1"


def step(at: str, kind: str, text: str = "", again: str | None = None) -> Step:
    return Step(moment(at), text or kind, kind=kind, again=again)


def words_of(steps: list[Step]) -> list[str]:
    return [f"{one.at:%M:%S} {one.text}" for one in steps]


LONG = [
    step("10:00:00", "cause", "broker 1 crashed"),
    step("10:00:01", "outage", "NO LEADER"),
    *(step(f"10:00:{second}", kind) for second in range(10, 40) for kind in ("controller", "process")),
    step("10:00:40", "election", "broker 2 became leader"),
    step("10:00:40", "process", "broker 1 starts"),
    *(step(f"10:00:{second}", "isr") for second in range(41, 51)),
]  # fmt: skip


def test_few_steps_are_all_words_of() -> None:
    again = [step("10:00:00", "leaderless", again=STILL), step("10:00:01", "leaderless", again=STILL)]
    assert most_telling(again, 2) == again


def test_the_begin_the_cause_and_the_end_are_told_though_much_is_between() -> None:
    assert words_of(most_telling(LONG, 5, kept=[moment("10:00:40")])) == [
        "00:00 broker 1 crashed",
        "00:01 NO LEADER",
        "00:10 controller",
        "00:10 process",
        "00:40 broker 2 became leader",
    ]


def test_what_is_next_to_the_moment_that_was_asked_for_is_words_of() -> None:
    """Three steps before it and two after it, whatever they are; of the others the nearest one, the first of two."""
    assert words_of(most_telling(LONG, 9, moment("10:00:20.500"))) == [
        "00:00 broker 1 crashed",
        "00:01 NO LEADER",
        "00:19 controller",
        "00:19 process",
        "00:20 controller",
        "00:20 process",
        "00:21 controller",
        "00:21 process",
        "00:40 broker 2 became leader",
    ]


REPEATED = [  # time, kind, text, how it is told if it repeats
    ("10:00:01", "outage", "NO LEADER", None),
    ("10:00:02", "leaderless", "still no leader (leader epoch 7)", STILL),
    ("10:00:02", "failed_election", "election failed: alive 1", FAILED),
    ("10:00:03", "controller", "controller 4 took over", None),
    ("10:00:03.5", "leaderless", "still no leader (leader epoch 8)", STILL),
    ("10:00:04", "failed_election", "election failed: alive 1", FAILED),
    ("10:00:05", "failed_election", "election failed: alive 1,2", FAILED + ",2"),
    ("10:00:06", "leaderless", "still no leader (leader epoch 9)", STILL),
    ("10:00:07", "failed_election", "election failed: alive 1", FAILED),
    ("10:00:08", "election", "broker 1 became leader", None),
    ("10:00:09", "outage", "NO LEADER", None),
    ("10:00:10", "leaderless", "still no leader (leader epoch 12)", STILL),
]


def test_what_repeats_is_told_once_with_how_often_and_until_when() -> None:
    """A leader between begins anew; so do others that are alive, of elections."""
    assert words_of(gathered([step(*one) for one in REPEATED])) == [
        "00:01 NO LEADER",
        "00:02 still no leader in 3 new leader epochs until 10:00:06.000",
        "00:02 election failed 2 times until 10:00:04.000: alive 1",
        "00:03 controller 4 took over",
        "00:05 election failed: alive 1,2",
        "00:07 election failed: alive 1",
        "00:08 broker 1 became leader",
        "00:09 NO LEADER",
        "00:10 still no leader (leader epoch 12)",
    ]


@pytest.mark.parametrize("most", range(1, 20))
def test_no_more_steps_than_wanted_are_told_and_they_are_in_order(most: int) -> None:
    steps = most_telling(LONG, most, moment("10:00:30"), [moment("10:00:00")])
    assert len(steps) == most
    assert [LONG.index(one) for one in steps] == sorted(LONG.index(one) for one in steps)
