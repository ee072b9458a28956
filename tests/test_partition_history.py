"""States ordered by how they follow each other; every case is one partition's evidence, written by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.reconstruct.partition_history import Said, State, history

ALL_THE_TIME = (0, 1000)
"""From when to when the leaders' logs are there in these cases, if the case does not say otherwise."""


def evidence(text: str, seen: tuple[int, int] | None = ALL_THE_TIME) -> list[Said]:
    """One statement per line: leader epoch, time, then one of

    `1 leads 1,2` (with `#3`: prints partition epoch 3), `1 makes 1,2 -> 1` (with `refused`), `refreshed`.
    """
    rows = []
    for key, line in enumerate(line.strip() for line in text.strip().splitlines()):
        head, _, what = line.partition(": ")
        epoch, at = (int(part) for part in head.split(" @"))
        printed = re.search(r"#(\d+)", what)
        row = Said(epoch, at, partition_epoch=int(printed[1]) if printed else None, seen=seen, key=key)
        if told := re.match(r"(-?\d+) leads ([\d,]+)", what):
            row = replace(row, leader=int(told[1]), isr=ids(told[2]))
        elif made := re.match(r"(\d+) makes ([\d,]+) -> ([\d,]+)( refused)?", what):
            row = replace(row, leader=int(made[1]), was=ids(made[2]), isr=ids(made[3]), written=not made[4])
        else:
            assert what == "refreshed"
        rows.append(row)
    return rows


def ids(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def shown(states: list[State]) -> list[str]:
    """Leader epoch, partition epoch, time, leader, ISR: `0.1 @5: 1 leads 1,2`."""
    return [
        f"{s.leader_epoch}.{'?' if s.partition_epoch is None else s.partition_epoch} @{s.since}:"
        f" {s.leader} leads {','.join(map(str, s.isr))}"
        for s in states
    ]


CASES = {  # evidence -> states
    "each write adds 1, the leader's own too": (
        """0 @1: 1 leads 1,2,3
           0 @5: 1 makes 1,2,3 -> 1,2
           0 @9: 1 makes 1,2 -> 1,2,3
           1 @20: 2 leads 2,3""",
        ["0.0 @1: 1 leads 1,2,3", "0.1 @5: 1 leads 1,2", "0.2 @9: 1 leads 1,2,3", "1.3 @20: 2 leads 2,3"],
    ),
    "a state told late belongs to the last change before it, not to the first of its looks": (
        """0 @1: 1 leads 1,2
           0 @5: 1 makes 1,2 -> 1
           0 @9: 1 makes 1 -> 1,2
           0 @12: 1 leads 1,2
           1 @20: 2 leads 2""",
        ["0.0 @1: 1 leads 1,2", "0.1 @5: 1 leads 1", "0.2 @9: 1 leads 1,2", "1.3 @20: 2 leads 2"],
    ),
    "what the store refused was never a state": (
        """0 @1: 1 leads 1,2
           0 @5: 1 makes 1,2 -> 1 refused #0
           1 @6: 2 leads 2""",
        ["0.0 @1: 1 leads 1,2", "1.1 @6: 2 leads 2"],
    ),
    "nor what the leader's next line does not start from": (
        """0 @1: 1 leads 1,2
           0 @5: 1 makes 1,2 -> 1
           0 @7: 1 makes 1,2 -> 1 refused #0
           1 @8: 2 leads 2""",
        ["0.0 @1: 1 leads 1,2", "1.1 @8: 2 leads 2"],
    ),
    "nor what the next write's printed version leaves no room for": (
        """0 @1: 1 leads 1,2 #0
           0 @5: 1 makes 1,2 -> 1
           1 @8: 2 leads 2 #1""",
        ["0.0 @1: 1 leads 1,2", "1.1 @8: 2 leads 2"],
    ),
    "a change that the controller seems not to have found is left out, and nothing is counted past it": (
        """0 @1: 1 leads 1,2
           0 @5: 1 makes 1,2 -> 1
           1 @8: 2 leads 2
           2 @9: 2 leads 2""",
        ["0.0 @1: 1 leads 1,2", "1.? @8: 2 leads 2", "2.? @9: 2 leads 2"],
    ),
    "a refreshed epoch keeps leader and ISR of the last change": (
        """0 @1: 1 leads 1,2
           0 @5: 1 makes 1,2 -> 1
           1 @8: refreshed
           2 @9: -1 leads 1""",
        ["0.0 @1: 1 leads 1,2", "0.1 @5: 1 leads 1", "1.2 @8: 1 leads 1", "2.3 @9: -1 leads 1"],
    ),
    "a refreshed epoch after a hole tells nothing": (
        """1 @8: refreshed
           2 @9: 2 leads 2""",
        ["2.? @9: 2 leads 2"],
    ),
    "a missing leader epoch ends the count, a printed version begins it anew": (
        """0 @1: 1 leads 1,2
           2 @8: 2 leads 2
           3 @9: 2 leads 2 #7
           4 @10: -1 leads 2""",
        ["0.0 @1: 1 leads 1,2", "2.? @8: 2 leads 2", "3.7 @9: 2 leads 2", "4.8 @10: -1 leads 2"],
    ),
    "a hole in the leader's changes ends the count": (
        """0 @1: 1 leads 1,2,3
           0 @5: 1 makes 1,2,3 -> 1,2
           0 @9: 1 makes 1 -> 1,3
           1 @20: -1 leads 1""",
        ["0.0 @1: 1 leads 1,2,3", "0.1 @5: 1 leads 1,2", "0.? @9: 1 leads 1", "0.? @9: 1 leads 1,3", "1.? @20: -1 leads 1"],
    ),
    "a state that no change leads to shows a hole": (
        """0 @1: 1 leads 1,2
           0 @5: 1 leads 1
           1 @20: -1 leads 1""",
        ["0.0 @1: 1 leads 1,2", "0.? @5: 1 leads 1", "1.? @20: -1 leads 1"],
    ),
    "printed versions find the place in a chain": (
        """3 @1: 1 makes 1,2 -> 1
           3 @2: 1 makes 1 -> 1,2
           3 @3: 1 leads 1 #8""",
        ["3.7 @1: 1 leads 1,2", "3.8 @1: 1 leads 1", "3.9 @2: 1 leads 1,2"],
    ),
    "a printed version that fits two places says nothing of the others": (
        """3 @1: 1 makes 1,2 -> 1
           3 @2: 1 makes 1 -> 1,2
           3 @3: 1 leads 1,2 #9""",
        ["3.? @1: 1 leads 1,2", "3.? @1: 1 leads 1", "3.? @2: 1 leads 1,2"],
    ),
    "two leaders of one epoch contradict each other": (
        """0 @1: 1 leads 1,2
           1 @5: 1 leads 1,2
           1 @6: 2 leads 1,2
           2 @7: -1 leads 2""",
        ["0.0 @1: 1 leads 1,2", "2.? @7: -1 leads 2"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_states_follow_each_other(name: str) -> None:
    told, expected = CASES[name]
    assert shown(list(history(evidence(told)))) == expected


SIGHT = {  # when the log of leader 1, who leads from 1 to 9, is there -> partition epochs of the states at 1 and 9
    "all the time": ((0, 20), [0, 1]),
    "never: it may have changed the ISR before it was told": (None, [None, None]),
    "from too late": ((5, 20), [None, None]),
    "not to the end": ((0, 8), [0, None]),
}


@pytest.mark.parametrize("name", SIGHT)
def test_a_leader_out_of_sight_may_have_written(name: str) -> None:
    seen, expected = SIGHT[name]
    states = list(history(evidence("0 @1: 1 leads 1,2\n1 @9: -1 leads 1", seen)))
    assert [s.partition_epoch for s in states] == expected


def test_another_span_of_the_leaders_log_says_nothing_of_the_time_before() -> None:
    """The leader's log is there from 0 to 5 and from 8 on: what it wrote between is not told."""
    told = [
        Said(0, 1, 1, (1, 2), seen=(0, 5)),
        Said(0, 9, 1, (1, 2), was=(1,), seen=(8, 20)),
        Said(1, 12, -1, (1, 2)),
    ]
    assert [s.partition_epoch for s in history(told)][-1] is None


def test_a_state_names_what_proves_it() -> None:
    """Not told itself, the ISR before the first change is proved by that change."""
    told = "0 @1: -1 leads 1\n1 @5: 1 makes 1 -> 1,2\n1 @7: 1 leads 1,2"
    assert [s.proofs for s in history(evidence(told))] == [(0,), (1,), (1, 2)]


# ---- any history ----------------------------------------------------------------------------------------------------
@st.composite
def lives(draw: st.DrawFn) -> list[tuple[int, int, int, tuple[int, ...], tuple[int, ...] | None]]:
    """Leader epoch, partition epoch, leader, ISR, and of the leader's own changes the ISR before, of a whole life."""
    brokers = (1, 2, 3)
    isr: tuple[int, ...] = brokers
    leader, epoch = 1, 0
    states: list[tuple[int, int, int, tuple[int, ...], tuple[int, ...] | None]] = [(0, 0, 1, isr, None)]
    for number in range(1, draw(st.integers(1, 12))):
        if leader >= 0 and draw(st.booleans()):
            other = draw(st.sampled_from([b for b in brokers if b != leader]))
            after = tuple(sorted(set(isr) ^ {other}))
            states.append((epoch, number, leader, after, isr))
            isr = after
        else:
            kept = draw(st.sets(st.sampled_from(isr), min_size=1))
            isr = tuple(sorted(kept))
            leader, epoch = draw(st.sampled_from([*isr, -1])), epoch + 1
            states.append((epoch, number, leader, isr, None))
    return states


@given(lives())
def test_a_life_told_in_full_is_rebuilt(
    life: list[tuple[int, int, int, tuple[int, ...], tuple[int, ...] | None]],
) -> None:
    """The controller's writes without partition epoch, and the leaders' changes: nothing else is needed."""
    said = [Said(epoch, at, leader, isr, was=was, seen=ALL_THE_TIME) for epoch, at, leader, isr, was in life]
    assert [(s.leader_epoch, s.partition_epoch, s.leader, s.isr) for s in history(said)] == [row[:4] for row in life]


@given(lives(), st.data())
def test_a_life_told_in_part_is_never_told_wrong(
    life: list[tuple[int, int, int, tuple[int, ...], tuple[int, ...] | None]], data: st.DataObject
) -> None:
    """Whatever is left out: a partition epoch that is given is right, and each state was one."""
    kept = data.draw(st.lists(st.sampled_from(["gone", "told", "printed"]), min_size=len(life), max_size=len(life)))
    blind = {
        leader for (_, _, leader, _, was), how in zip(life, kept, strict=True) if was is not None and how != "told"
    }
    said = []
    for (epoch, at, leader, isr, was), how in zip(life, kept, strict=True):
        seen = None if leader in blind else ALL_THE_TIME
        if how == "printed":
            said.append(Said(epoch, at, leader, isr, at, seen=seen))
        elif how == "told":
            said.append(Said(epoch, at, leader, isr, was=was, seen=seen))
    true = {row[:4] for row in life}
    values = {(epoch, leader, isr) for epoch, _, leader, isr, _ in life}
    for s in history(said):
        assert (s.leader_epoch, s.leader, s.isr) in values
        assert s.partition_epoch is None or (s.leader_epoch, s.partition_epoch, s.leader, s.isr) in true
