"""States that no line numbers, between numbered ones; every case is one partition's evidence, written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.timelines.partition_history import EPOCH_OBSERVATIONS, ordered_rows
from tests.test_partition_history import evidence, incarnations, shown
from udfs.reconstruct.counted_writes import MOST_HELD, with_counted_writes
from udfs.reconstruct.epoch_observations import OrderedState
from udfs.reconstruct.partition_history import ordered_states

CASES = {  # evidence, where no leader's log is there -> leader epoch and partition epoch of each state
    "two writes, two leader epochs: the one between is the controller's": (
        """4 @1: 1 leads 0,1,3 #6
           5 @5: 3 leads 0,3
           6 @9: 0 leads 0 #8""",
        "4.6 5.7 6.8",
    ),
    "so with several, and with some of which there is no line": (
        """4 @1: 1 leads 0,1,3 #6
           5 @5: 3 leads 0,3
           7 @6: 3 leads 3
           8 @9: -1 leads 3 #10""",
        "4.6 5.7 7.9 8.10",
    ),
    "three writes, two leader epochs: a leader wrote before it or after it": (
        """4 @1: 1 leads 0,1,3 #6
           5 @5: 3 leads 0,3
           6 @9: 0 leads 0 #9""",
        "4.6 5.? 6.9",
    ),
    "nothing is counted from a state that is not numbered": (
        """4 @1: 1 leads 0,1,3 #6
           5 @5: 3 leads 0,3
           6 @7: 3 leads 3
           7 @9: -1 leads 3 #10""",
        "4.6 5.? 6.? 7.10",
    ),
    "two states of one leader epoch are two writes, for which there is no room": (
        """4 @1: 1 leads 0,1,3 #6
           5 @5: 3 leads 0,3
           5 @6: 3 leads 3
           6 @9: 0 leads 0 #8""",
        "4.6 5.? 5.? 6.8",
    ),
    "nor is there for another state of the leader epoch of a numbered one": (
        """4 @1: 1 leads 0,1,3 #6
           5 @5: 3 leads 0,3
           6 @6: 0 leads 0,3
           6 @9: 0 leads 0 #8""",
        "4.6 5.? 6.? 6.8",
    ),
    "fewer writes than leader epochs cannot be": (
        """4 @1: 1 leads 0,1,3 #6
           5 @5: 3 leads 0,3
           7 @9: 0 leads 0 #8""",
        "4.6 5.? 7.8",
    ),
    "a partition is created with both at 0": (
        """0 @1: 1 leads 0,1,3
           1 @5: 3 leads 0,3
           2 @9: 0 leads 0 #2""",
        "0.0 1.1 2.2",
    ),
    "since then a leader wrote": (
        """0 @1: 1 leads 0,1,3
           1 @5: 3 leads 0,3
           2 @9: 0 leads 0 #3""",
        "0.? 1.? 2.3",
    ),
    "behind the last number nothing is counted": (
        """4 @1: 1 leads 0,1,3 #6
           5 @5: 3 leads 0,3""",
        "4.6 5.?",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_state_is_numbered_where_no_leader_can_have_written(name: str) -> None:
    lines, numbers = CASES[name]
    states = shown(list(ordered_states(evidence(lines, coverage=None))))
    assert " ".join(state.split()[0] for state in states) == numbers


def test_a_topic_that_is_created_anew_is_counted_anew() -> None:
    """No line numbers what came last of the first incarnation; the first number of the second one shows nothing."""
    text = ["4 @1: 1 leads 1,3 #6", "5 @5: 3 leads 3", "6 @9: 3 leads 3 #8"]
    none = dict.fromkeys(field.name for field in EPOCH_OBSERVATIONS)
    of_partition = none | {"cluster": "c", "topic": "t", "partition": 0}

    def row(number: int, incarnation: int) -> dict[str, object]:
        one = evidence(text[number], coverage=None)[0]
        values = {name: getattr(one, name) for name in ("leader_epoch", "at", "leader", "isr", "partition_epoch")}
        return of_partition | values | {"incarnation": incarnation, "line": 1, "is_accepted": True}

    def numbers(*incarnations: int) -> list[int | None]:
        rows = [row(number, incarnation) for number, incarnation in enumerate(incarnations)]
        return [state["partition_epoch"] for state in ordered_rows(rows, 1)]

    assert numbers(0, 0, 0) == [6, 7, 8]
    assert numbers(0, 0, 1) == [6, None, 8]


def test_more_states_than_are_held_are_not_counted() -> None:
    """Behind them it begins anew with the next number."""
    first = OrderedState(0, 0, 0, 1, (1,), False, 0, ())
    behind = MOST_HELD + 2

    def states(held: int) -> list[int | None]:
        printed = {0, held + 1, held + 3}
        all_of_them = (
            replace(first, leader_epoch=n, partition_epoch=n if n in printed else None) for n in range(held + 4)
        )
        return [state.partition_epoch for state in with_counted_writes(all_of_them)]

    assert states(MOST_HELD) == [*range(MOST_HELD + 4)]
    assert states(MOST_HELD + 1) == [0, *([None] * (MOST_HELD + 1)), behind, behind + 1, behind + 2]


@given(incarnations(), st.data())
def test_of_any_history_exactly_the_states_without_choice_are_numbered(
    states: list[tuple[int, int, int, tuple[int, ...], tuple[int, ...] | None]], data: st.DataObject
) -> None:
    """Of some states lines tell the number; of others of the controller there is a line, or none."""
    lines = data.draw(st.lists(st.sampled_from("#- "), min_size=len(states), max_size=len(states)))
    rows = [
        OrderedState(epoch, 0, number if how == "#" else None, leader, isr, was is not None, number, ())
        for (epoch, number, leader, isr, was), how in zip(states, lines, strict=True)
        if how == "#" or (how == "-" and was is None)
    ]
    numbered = list(with_counted_writes(rows))
    assert [replace(state, partition_epoch=None) for state in rows] == [
        replace(state, partition_epoch=None) for state in numbered
    ]
    printed = [state for state in rows if state.partition_epoch is not None]
    for state in numbered:
        # `since` is the true number here
        before = [(p.since, p.leader_epoch) for p in printed if p.since <= state.since] or [(-1, -1)]
        behind = [(p.since, p.leader_epoch) for p in printed if p.since >= state.since]
        is_known = bool(behind) and behind[0][0] - before[-1][0] == behind[0][1] - before[-1][1]
        assert state.partition_epoch == (state.since if is_known else None)
