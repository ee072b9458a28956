"""States ordered by how they follow each other; every case is one partition's evidence, written by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.reconstruct.epoch_observations import EpochObservation, OrderedState
from udfs.reconstruct.partition_history import ordered_states

ALL_THE_TIME = (0, 1000)
"""From when to when the leaders' logs are there in these cases, if the case does not say otherwise."""


def evidence(text: str, coverage: tuple[int, int] | None = ALL_THE_TIME) -> list[EpochObservation]:
    """One observation per line: leader epoch, time, then one of

    `1 leads 1,2` (with `#3`: prints partition epoch 3), `1 makes 1,2 -> 1` (with `refused` or `in doubt`), `refreshed`,
    `1 begins`; `listed`: only a list states it; `long there`: no line shows the partition's creation;
    `reported`: the leader says that it wrote it.
    The logs of brokers 1 to 3 are there all the time.
    """
    rows = []
    for key, line in enumerate(line.strip() for line in text.strip().splitlines()):
        head, _, what = line.partition(": ")
        epoch, at = (int(part) for part in head.split(" @"))
        printed = re.search(r"#(\d+)", what)
        row = EpochObservation(
            epoch, at, partition_epoch=int(printed[1]) if printed else None, coverage=coverage, whole_since=0,
            there=frozenset({1, 2, 3}), is_listed="listed" in what, is_report="reported" in what,
            is_of_creation="long there" not in what, key=key,
        )  # fmt: skip
        if state := re.match(r"(-?\d+) leads ([\d,]+)", what):
            row = replace(row, leader=int(state[1]), isr=ids(state[2]))
        elif change := re.match(r"(\d+) makes ([\d,]+) -> ([\d,]+)( refused)?( in doubt)?", what):
            row = replace(
                row, leader=int(change[1]), isr_before=ids(change[2]), isr=ids(change[3]), is_accepted=not change[4],
                is_doubtful=bool(change[5]),
            )  # fmt: skip
        elif begin := re.match(r"(\d+) begins", what):
            row = replace(row, leader=int(begin[1]), is_begin=True)
        else:
            assert what == "refreshed"
        rows.append(row)
    return rows


def ids(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def shown(states: list[OrderedState]) -> list[str]:
    """Leader epoch, partition epoch, time, leader, ISR: `0.1 @5: 1 leads 1,2`."""
    return [
        f"{s.leader_epoch}.{'?' if s.partition_epoch is None else s.partition_epoch} @{s.since}:"
        f" {s.leader} leads {','.join(map(str, s.isr))}"
        for s in states
    ]


CASES = {  # evidence -> states
    "what only a list has as logs begin was once: the leader may have changed it since": (
        """3 @1: 1 leads 1,2 listed, long there
           4 @20: 2 leads 1,2,3 long there""",
        ["4.? @20: 2 leads 1,2,3"],
    ),
    "a later change that leads to it is no proof of it": (
        """3 @1: 1 leads 1 listed, long there
           3 @9: 1 makes 1,2 -> 1 long there
           4 @20: 1 leads 1 long there""",
        ["3.? @9: 1 leads 1,2", "3.? @9: 1 leads 1", "4.? @20: 1 leads 1"],
    ),
    "nor is a line that has it behind that change": (
        """3 @1: 1 leads 1 listed, long there
           3 @9: 1 makes 1,2 -> 1 long there
           3 @10: 1 leads 1 long there
           4 @20: 1 leads 1 long there""",
        ["3.? @9: 1 leads 1,2", "3.? @9: 1 leads 1", "4.? @20: 1 leads 1"],
    ),
    "another line is, if the leader changes nothing": (
        """3 @1: 1 leads 1 listed, long there
           3 @10: 1 leads 1 long there
           4 @20: 1 leads 1 long there""",
        ["3.? @1: 1 leads 1", "4.? @20: 1 leads 1"],
    ),
    "one that led to it by then is": (
        """3 @1: 1 makes 1,2 -> 1 long there
           3 @9: 1 leads 1 listed, long there
           4 @20: 1 leads 1 long there""",
        ["3.? @1: 1 leads 1,2", "3.? @1: 1 leads 1", "4.? @20: 1 leads 1"],
    ),
    "it still is if the leader's first change starts from it": (
        """3 @1: 1 leads 1,2 listed, long there
           3 @9: 1 makes 1,2 -> 1 long there
           4 @20: 2 leads 1 long there""",
        ["3.? @1: 1 leads 1,2", "3.? @9: 1 leads 1", "4.? @20: 2 leads 1"],
    ),
    "a printed state long before the leader made one like it is another one": (
        """7 @1000000: 1 leads 1,2 #11 long there
           7 @9000000: 1 makes 1 -> 1,2 long there
           8 @40000000: 2 leads 2 #16 long there""",
        ["7.11 @1000000: 1 leads 1,2", "7.? @9000000: 1 leads 1", "7.? @9000000: 1 leads 1,2",
         "8.16 @40000000: 2 leads 2"],
    ),
    "a leader that reports another ISR in between came back to the one that it began with": (
        """2 @1: 1 leads 1 long there
           2 @5: 1 leads 1,2 #4 long there, reported
           2 @9: 1 leads 1 #5 long there, reported""",
        ["2.? @1: 1 leads 1", "2.4 @5: 1 leads 1,2", "2.5 @9: 1 leads 1"],
    ),
    "one that reports nothing in between still has it": (
        """2 @1: 1 leads 1 long there
           2 @9: 1 leads 1 #5 long there
           2 @12: 1 leads 1,2 #6 long there, reported""",
        ["2.5 @1: 1 leads 1", "2.6 @12: 1 leads 1,2"],
    ),
    "nobody changes it where nobody leads": (
        """3 @1: -1 leads 1 listed, long there
           4 @20: 1 leads 1 long there""",
        ["3.? @1: -1 leads 1", "4.? @20: 1 leads 1"],
    ),
    "what a list has of a later leader epoch is as its controller wrote it": (
        """3 @1: 1 leads 1,2 long there
           4 @20: 2 leads 2 listed, long there""",
        ["3.? @1: 1 leads 1,2", "4.? @20: 2 leads 2"],
    ),
    "each write adds 1, the leader's own too": (
        """0 @1: 1 leads 1,2,3
           0 @5: 1 makes 1,2,3 -> 1,2
           0 @9: 1 makes 1,2 -> 1,2,3
           1 @20: 2 leads 2,3""",
        ["0.0 @1: 1 leads 1,2,3", "0.1 @5: 1 leads 1,2", "0.2 @9: 1 leads 1,2,3", "1.3 @20: 2 leads 2,3"],
    ),
    "a state logged late belongs to the last change before it, not to the first with its ISR": (
        """0 @1: 1 leads 1,2
           0 @5: 1 makes 1,2 -> 1
           0 @9: 1 makes 1 -> 1,2
           0 @12: 1 leads 1,2
           1 @20: 2 leads 2""",
        ["0.0 @1: 1 leads 1,2", "0.1 @5: 1 leads 1", "0.2 @9: 1 leads 1,2", "1.3 @20: 2 leads 2"],
    ),
    "a state logged long before the leader made one like it was there before the changes that are known": (
        """7 @1000000: 1 leads 1,2,3
           7 @9000000: 1 makes 1,2 -> 1
           7 @20000000: 1 makes 1 -> 1,2
           7 @30000000: 1 makes 1,2 -> 1,2,3
           8 @40000000: 2 leads 2""",
        ["7.? @1000000: 1 leads 1,2,3", "7.? @9000000: 1 leads 1,2", "7.? @9000000: 1 leads 1",
         "7.? @20000000: 1 leads 1,2", "7.? @30000000: 1 leads 1,2,3", "8.? @40000000: 2 leads 2"],
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
    "what a leader without a connection was about to write is left out, and nothing is counted past it": (
        """0 @1: 1 leads 1,2
           0 @5: 1 makes 1,2 -> 1 in doubt
           1 @8: -1 leads 1""",
        ["0.0 @1: 1 leads 1,2", "1.? @8: -1 leads 1"],
    ),
    "but not if the next change starts from it": (
        """0 @1: 1 leads 1,2
           0 @5: 1 makes 1,2 -> 1 in doubt
           0 @7: 1 makes 1 -> 1,2
           1 @8: -1 leads 2""",
        ["0.0 @1: 1 leads 1,2", "0.1 @5: 1 leads 1", "0.2 @7: 1 leads 1,2", "1.3 @8: -1 leads 2"],
    ),
    "or a line states what it led to": (
        """0 @1: 1 leads 1,2
           0 @5: 1 makes 1,2 -> 1 in doubt
           0 @6: 1 leads 1
           1 @8: -1 leads 1""",
        ["0.0 @1: 1 leads 1,2", "0.1 @5: 1 leads 1", "1.2 @8: -1 leads 1"],
    ),
    "or the next write's printed version counts it": (
        """0 @1: 1 leads 1,2 #0
           0 @5: 1 makes 1,2 -> 1 in doubt
           1 @8: -1 leads 1 #2""",
        ["0.0 @1: 1 leads 1,2", "0.1 @5: 1 leads 1", "1.2 @8: -1 leads 1"],
    ),
    "a refreshed epoch keeps leader and ISR of the last change": (
        """0 @1: 1 leads 1,2
           0 @5: 1 makes 1,2 -> 1
           1 @8: refreshed
           2 @9: -1 leads 1""",
        ["0.0 @1: 1 leads 1,2", "0.1 @5: 1 leads 1", "1.2 @8: 1 leads 1", "2.3 @9: -1 leads 1"],
    ),
    "a refreshed epoch after a hole shows nothing": (
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
        ["0.0 @1: 1 leads 1,2,3", "0.1 @5: 1 leads 1,2", "0.? @9: 1 leads 1",
         "0.? @9: 1 leads 1,3", "1.? @20: -1 leads 1"],
    ),
    "a state that no change leads to shows a hole": (
        """0 @1: 1 leads 1,2
           0 @5: 1 leads 1
           1 @20: -1 leads 1""",
        ["0.0 @1: 1 leads 1,2", "0.? @5: 1 leads 1", "1.? @20: -1 leads 1"],
    ),
    "a printed version of the next write that is not its first shows that one is missing before it, and no state": (
        """0 @1: 1 leads 1
           1 @9: 2 leads 2 #2
           2 @12: -1 leads 2""",
        ["0.0 @1: 1 leads 1", "1.2 @9: 2 leads 2", "2.3 @12: -1 leads 2"],
    ),
    "printed versions find the place in a chain": (
        """3 @1: 1 makes 1,2 -> 1
           3 @2: 1 makes 1 -> 1,2
           3 @3: 1 leads 1 #8""",
        ["3.7 @1: 1 leads 1,2", "3.8 @1: 1 leads 1", "3.9 @2: 1 leads 1,2"],
    ),
    "a printed version that fits two places shows nothing of the others": (
        """3 @1: 1 makes 1,2 -> 1
           3 @2: 1 makes 1 -> 1,2
           3 @3: 1 leads 1,2 #9""",
        ["3.? @1: 1 leads 1,2", "3.? @1: 1 leads 1", "3.? @2: 1 leads 1,2"],
    ),
    "printed versions come before times, which are those of the first lines": (
        """6 @6: 1 leads 1,2 #13
           6 @16: 1 leads 1 #14
           6 @18: 1 makes 1 -> 1,3""",
        ["6.13 @6: 1 leads 1,2", "6.14 @16: 1 leads 1", "6.? @18: 1 leads 1,3"],
    ),
    "a leader that was alone in sync begins again: it still is, and each leader epoch was one write": (
        """0 @1: 1 makes 1,2 -> 1
           2 @9: 1 begins
           4 @12: 1 makes 1 -> 1,2""",
        ["0.0 @1: 1 leads 1,2", "0.1 @1: 1 leads 1", "2.3 @9: 1 leads 1", "4.5 @12: 1 leads 1",
         "4.6 @12: 1 leads 1,2"],
    ),
    "who is in sync later, and who leads, was in sync before; so much that nobody can have left": (
        """0 @1: 1 makes 1,2 -> 1,2,3
           1 @9: 2 begins
           2 @10: 1 begins
           3 @12: 3 makes 1,3 -> 1,2,3""",
        ["0.0 @1: 1 leads 1,2", "0.1 @1: 1 leads 1,2,3", "1.2 @9: 2 leads 1,2,3", "3.4 @12: 3 leads 1,3",
         "3.5 @12: 3 leads 1,2,3"],
    ),
    "who is alone in sync may have been elected unclean: it shows nothing of the ISR before": (
        """0 @1: 1 makes 1 -> 1,2
           1 @9: 1 begins
           2 @12: 2 makes 2 -> 1,2""",
        ["0.0 @1: 1 leads 1", "0.1 @1: 1 leads 1,2", "2.3 @12: 2 leads 2", "2.4 @12: 2 leads 1,2"],
    ),
    "a leader that was not in sync: the change before was not written, or the election unclean": (
        """0 @1: 1 makes 1,2 -> 1
           1 @9: 2 begins
           3 @12: 2 makes 2 -> 1,2""",
        ["0.0 @1: 1 leads 1,2", "3.? @12: 2 leads 2", "3.? @12: 2 leads 1,2"],
    ),
    "if it was not in sync before that change either, the election was unclean in any case": (
        """0 @1: 1 leads 1
           0 @5: 1 makes 1 -> 1,3
           1 @12: 2 leads 2""",
        ["0.0 @1: 1 leads 1", "0.1 @5: 1 leads 1,3", "1.2 @12: 2 leads 2"],
    ),
    "two leader epochs in a row without a line: whoever led in one of them would have logged it, so lines are lost": (
        """0 @1: 1 makes 1,2 -> 1
           1 @9: 1 begins
           4 @12: 1 makes 1 -> 1,2""",
        ["0.0 @1: 1 leads 1,2", "0.1 @1: 1 leads 1", "1.2 @9: 1 leads 1", "4.? @12: 1 leads 1",
         "4.? @12: 1 leads 1,2"],
    ),
    "what begins behind such a gap has no known ISR either": (
        """0 @1: 1 makes 1,2 -> 1
           3 @9: 1 begins""",
        ["0.0 @1: 1 leads 1,2", "0.1 @1: 1 leads 1"],
    ),
    "the log of a broker that is named is missing: somebody may have led unseen": (
        """0 @1: 1 makes 1,4 -> 1
           2 @9: 1 begins""",
        ["0.0 @1: 1 leads 1,4", "0.1 @1: 1 leads 1"],
    ),
    "the controller's write is at least as old as the line by which its leader begins": (
        """3 @10: 1 begins
           3 @20: 1 makes 1,2 -> 1
           3 @30: 1 makes 1 -> 1,2
           4 @40: 2 begins
           4 @45: 2 leads 2 #9""",
        ["3.? @10: 1 leads 1,2", "3.? @20: 1 leads 1", "3.? @30: 1 leads 1,2", "4.9 @40: 2 leads 2"],
    ),
    "a leader begins the leader epoch that a controller refreshed: nothing else changed": (
        """3 @10: 1 leads 1,2
           4 @20: refreshed
           4 @21: 1 begins
           5 @30: 2 leads 2""",
        ["3.? @10: 1 leads 1,2", "4.? @20: 1 leads 1,2", "5.? @30: 2 leads 2"],
    ),
    "an ISR that came back: of two places in the chain only one leaves room for all printed ones": (
        """6 @10: 1 leads 1 #9 long there
           6 @20: 1 makes 1 -> 1,2 long there
           6 @30: 1 makes 1,2 -> 1 long there
           6 @35: 1 leads 1 #11 long there
           6 @40: 1 makes 1 -> 1,2 long there
           6 @45: 1 leads 1,2 #12 long there""",
        ["6.9 @10: 1 leads 1", "6.10 @20: 1 leads 1,2", "6.11 @30: 1 leads 1", "6.12 @40: 1 leads 1,2"],
    ),
    "a change that was not confirmed may have been written: then both do": (
        """6 @10: 1 leads 1 #9 long there
           6 @20: 1 makes 1 -> 1,2 long there
           6 @30: 1 makes 1,2 -> 1 long there
           6 @35: 1 leads 1 #11 long there
           6 @40: 1 makes 1 -> 1,2 long there
           6 @45: 1 leads 1,2 #12 long there
           6 @50: 1 makes 1,2 -> 1,2,3 refused long there""",
        ["6.? @10: 1 leads 1", "6.? @20: 1 leads 1,2", "6.? @30: 1 leads 1", "6.? @40: 1 leads 1,2"],
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
    observations, expected = CASES[name]
    assert shown(list(ordered_states(evidence(observations)))) == expected


def test_a_leader_without_log_coverage_may_have_changed_the_isr_since_it_began() -> None:
    """What its first known change starts from need not be what it began with."""
    lines = "3 @10: 1 begins\n3 @20: 1 makes 1,2 -> 1"
    assert shown(list(ordered_states(evidence(lines, None)))) == ["3.? @20: 1 leads 1,2", "3.? @20: 1 leads 1"]


COVERAGE = {  # when the log of leader 1, who leads from 1 to 9, is there -> partition epochs of the states at 1 and 9
    "all the time": ((0, 20), [0, 1]),
    "never: it may have changed the ISR before": (None, [None, None]),
    "from too late": ((5, 20), [None, None]),
    "not to the end": ((0, 8), [0, None]),
}


@pytest.mark.parametrize("name", COVERAGE)
def test_a_leader_without_log_coverage_may_have_written(name: str) -> None:
    coverage, expected = COVERAGE[name]
    states = list(ordered_states(evidence("0 @1: 1 leads 1,2\n1 @9: -1 leads 2", coverage)))
    assert [s.partition_epoch for s in states] == expected


def test_another_span_of_the_leaders_log_does_not_cover_the_time_before() -> None:
    """The leader's log is there from 0 to 5 and from 8 on: what it wrote between is not logged."""
    observations = [
        EpochObservation(0, 1, 1, (1, 2), coverage=(0, 5)),
        EpochObservation(0, 9, 1, (1, 2), isr_before=(1,), coverage=(8, 20)),
        EpochObservation(1, 12, -1, (1, 2)),
    ]
    assert [s.partition_epoch for s in ordered_states(observations)][-1] is None


def test_a_change_that_starts_anew_behind_a_hole_says_nothing_of_the_one_before() -> None:
    """What made the ISR whole again may have been logged in the hole: 1 was alone, then not, then it is again."""
    observations = evidence("3 @1: 1 leads 1,2 #7\n3 @5: 1 makes 1,2 -> 1\n3 @60: 1 makes 1,2 -> 1")
    with_hole = [replace(o, coverage=(0, 20) if o.at < 20 else (50, 99)) for o in observations]
    assert shown([*ordered_states(observations)]) == ["3.7 @1: 1 leads 1,2", "3.8 @60: 1 leads 1"]
    expected = ["3.7 @1: 1 leads 1,2", "3.8 @5: 1 leads 1", "3.? @60: 1 leads 1,2", "3.? @60: 1 leads 1"]
    assert shown([*ordered_states(with_hole)]) == expected


def test_a_first_change_behind_a_hole_does_not_start_from_what_the_controller_wrote() -> None:
    """Between the line by which 2 begins leader epoch 1 and the first change that it logs others may be lost: what it
    starts from has a place in the leader epoch, and no number."""
    observations = evidence(
        """
        0 @1: 1 leads 1,2,3
        1 @10: 2 begins
        1 @60: 2 makes 2,3 -> 2"""
    )
    whole = ["0.0 @1: 1 leads 1,2,3", "1.1 @10: 2 leads 2,3", "1.2 @60: 2 leads 2"]
    assert shown([*ordered_states(observations)]) == whole
    with_hole = [replace(o, coverage=(0, 20) if o.at < 20 else (50, 99)) for o in observations]
    expected = ["0.0 @1: 1 leads 1,2,3", "1.? @10: 2 leads 2,3", "1.? @60: 2 leads 2"]
    assert shown([*ordered_states(with_hole)]) == expected
    assert [[state.follows for state in ordered_states(rows)] for rows in (observations, with_hole)] == [
        [False, True, True],
        [False, False, True],
    ]


def test_what_is_printed_behind_a_hole_refutes_nothing_before_it() -> None:
    """The writes that raised the partition epoch to 9 may all have been in the hole: what was counted before stays."""
    observations = evidence(
        """
        0 @1: 1 leads 1,2,3
        0 @5: 1 makes 1,2,3 -> 1,2
        1 @10: 2 begins
        1 @60: 2 makes 1,2 -> 2
        1 @70: 2 leads 2 #9"""
    )
    with_hole = [replace(o, coverage=(0, 20) if o.at < 20 else (50, 99)) for o in observations]
    expected = ["0.0 @1: 1 leads 1,2,3", "0.1 @5: 1 leads 1,2", "1.? @10: 2 leads 1,2", "1.9 @60: 2 leads 2"]
    assert shown([*ordered_states(with_hole)]) == expected


def test_what_others_log_in_a_hole_is_the_state_from_which_the_leader_goes_on() -> None:
    observations = evidence(
        """3 @1: 1 leads 1,2
           3 @5: 1 makes 1,2 -> 1
           3 @55: 1 leads 1,2 #9
           3 @60: 1 makes 1,2 -> 1"""
    )
    with_hole = [replace(o, coverage=(0, 20) if o.at < 20 else (58, 99)) for o in observations]
    expected = ["3.? @1: 1 leads 1,2", "3.? @5: 1 leads 1", "3.9 @55: 1 leads 1,2", "3.? @60: 1 leads 1"]
    assert shown([*ordered_states(with_hole)]) == expected


def test_a_state_names_what_proves_it() -> None:
    """Not logged itself, the ISR before the first change is proved by that change."""
    observations = "0 @1: -1 leads 1\n1 @5: 1 makes 1 -> 1,2\n1 @7: 1 leads 1,2"
    assert [s.proofs for s in ordered_states(evidence(observations))] == [(0,), (1,), (1, 2)]


def test_a_state_behind_leader_epochs_that_only_began_follows_none() -> None:
    """How many writes there were is known, but not what each of them was."""
    observations = evidence(
        """3 @1: 1 leads 1,2 #5
           4 @9: 2 begins
           6 @12: 2 leads 2"""
    )
    assert [(s.leader_epoch, s.follows) for s in ordered_states(observations)] == [(3, False), (6, False)]


def test_states_that_follow_right_away_without_partition_epochs() -> None:
    """A leader's change follows what it starts from; what the controller writes in the next leader epoch does if no
    change of the leader before can be missing, as none is without a leader."""
    observations = evidence(
        """3 @1: 1 leads 1,2,3 long there
           3 @5: 1 makes 1,2,3 -> 1,2 long there
           4 @9: -1 leads 2 long there
           5 @20: 1 leads 1 long there
           6 @25: refreshed
           8 @30: 2 leads 2 long there"""
    )
    assert [s.partition_epoch for s in ordered_states(observations)] == [None] * 6
    assert [s.follows for s in ordered_states(observations)] == [False, True, True, True, True, False]
    without_log = [replace(o, coverage=None) for o in observations]
    assert [s.follows for s in ordered_states(without_log)] == [False, True, False, False, False]


NEXT = {  # what a leader epoch begins with behind 1 leading 1,2 of 1,2,3 -> whether it may be the next state
    "who is in sync leads": ("2 leads 1,2", True),
    "the leader goes": ("2 leads 2", True),
    "who is not in sync leads alone": ("3 leads 3", True),
    "who is not in sync leads others": ("3 leads 2,3", False),
    "a replica has come in between": ("2 leads 1,2,3", False),
    "the leader goes, and nobody leads": ("-1 leads 2", True),
    "nobody leads, but the leader is in sync": ("-1 leads 1,2", False),
    "nobody leads, and others have gone before": ("-1 leads 1", False),
}


@pytest.mark.parametrize("name", NEXT)
def test_a_leader_epoch_that_cannot_follow_the_state_before_shows_that_lines_are_lost(name: str) -> None:
    begins_with, is_next = NEXT[name]
    observations = evidence(f"0 @1: 1 leads 1,2\n1 @9: {begins_with}", (0, 20))
    states = list(ordered_states(observations))
    assert [s.partition_epoch for s in states] == [0, 1 if is_next else None]
    assert states[1].follows == is_next


LACKING = {  # lines of leader epoch 0, at microseconds -> whether its leader's changes have numbers
    "its first change starts from what was shown": ("0 @1: 1 leads 1,2\n0 @30000000: 1 makes 1,2 -> 1", True),
    "it leads to what was shown before": ("0 @1: 1 leads 1,2\n0 @30000000: 1 makes 1 -> 1,2", False),
    "it starts from another ISR": ("0 @1: 1 leads 1,2,3\n0 @30000000: 1 makes 1 -> 1,2", False),
    "clocks may differ so much": ("0 @29500000: 1 leads 1,2\n0 @30000000: 1 makes 1 -> 1,2", True),
}


@pytest.mark.parametrize("name", LACKING)
def test_a_state_that_is_shown_before_the_change_that_leads_to_it_shows_that_one_is_lost(name: str) -> None:
    lines, has_numbers = LACKING[name]
    changes = [s for s in ordered_states(evidence(lines, (0, 10**8))) if s.by_leader]
    assert [s.partition_epoch for s in changes] == [1 if has_numbers else None]


def test_a_refused_change_that_starts_from_another_isr_than_was_shown_shows_that_one_is_lost() -> None:
    """The ISR that was shown comes first; how many changes led from it to the other one nobody knows."""
    lines = "0 @1: 1 leads {}\n0 @30000000: 1 makes 1 -> 1,2 refused\n1 @40000000: 1 leads 1"
    assert shown([*ordered_states(evidence(lines.format("1,2,3"), (0, 10**8)))]) == [
        "0.? @1: 1 leads 1,2,3", "0.? @30000000: 1 leads 1", "1.? @40000000: 1 leads 1",
    ]  # fmt: skip
    assert shown([*ordered_states(evidence(lines.format("1"), (0, 10**8)))]) == [
        "0.0 @1: 1 leads 1", "1.1 @40000000: 1 leads 1",
    ]  # fmt: skip


def test_a_printed_partition_epoch_refutes_what_was_counted_as_if_no_line_were_lost() -> None:
    """1 logs nothing of two changes in its leader epoch 0, nor 2 in 1: only the partition's creation stays."""
    lines = "0 @1: 1 leads 1,2\n1 @9: 2 leads 2\n2 @20: 1 leads 1 #{}"
    assert shown([*ordered_states(evidence(lines.format(2), (0, 99)))]) == [
        "0.0 @1: 1 leads 1,2", "1.1 @9: 2 leads 2", "2.2 @20: 1 leads 1",
    ]  # fmt: skip
    assert shown([*ordered_states(evidence(lines.format(6), (0, 99)))]) == [
        "0.0 @1: 1 leads 1,2", "1.? @9: 2 leads 2", "2.6 @20: 1 leads 1",
    ]  # fmt: skip


# ---- any history ----------------------------------------------------------------------------------------------------
@st.composite
def incarnations(draw: st.DrawFn) -> list[tuple[int, int, int, tuple[int, ...], tuple[int, ...] | None]]:
    """Leader epoch, partition epoch, leader, ISR, and of the leader's own changes the ISR before."""
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
            in_sync = draw(st.sets(st.sampled_from(isr), min_size=1))
            loses_leader = draw(st.booleans())
            if loses_leader and leader >= 0:  # the leader alone is taken out
                in_sync = {*isr} - {leader} or {*isr}
            isr = tuple(sorted(in_sync))
            leader, epoch = -1 if loses_leader else draw(st.sampled_from(isr)), epoch + 1
            states.append((epoch, number, leader, isr, None))
    return states


@given(incarnations())
def test_an_incarnation_logged_in_full_is_rebuilt(
    states: list[tuple[int, int, int, tuple[int, ...], tuple[int, ...] | None]],
) -> None:
    """The controller's writes without partition epoch, and the leaders' changes: nothing else is needed."""
    observations = [
        EpochObservation(epoch, at, leader, isr, isr_before=was, coverage=ALL_THE_TIME)
        for epoch, at, leader, isr, was in states
    ]
    rebuilt = [*ordered_states(observations)]
    assert [(s.leader_epoch, s.partition_epoch, s.leader, s.isr) for s in rebuilt] == [row[:4] for row in states]
    assert all(s.follows for s in rebuilt[1:])
    unnumbered = [*ordered_states(replace(o, is_of_creation=False) for o in observations)]
    assert [(s.partition_epoch, s.follows) for s in unnumbered] == [(None, n > 0) for n in range(len(states))]


@given(incarnations(), st.data())
def test_an_incarnation_logged_in_part_is_never_rebuilt_wrong(
    states: list[tuple[int, int, int, tuple[int, ...], tuple[int, ...] | None]], data: st.DataObject
) -> None:
    """Whatever is left out: a partition epoch that is given is right, each state was one, and before one that
    follows the one before none is missing."""
    lines = data.draw(
        st.lists(st.sampled_from(["missing", "logged", "printed"]), min_size=len(states), max_size=len(states))
    )
    blind = {
        leader for (_, _, leader, _, was), how in zip(states, lines, strict=True) if was is not None and how != "logged"
    }
    observations = []
    for (epoch, at, leader, isr, was), how in zip(states, lines, strict=True):
        coverage = None if leader in blind else ALL_THE_TIME
        if how == "printed":
            observations.append(EpochObservation(epoch, at, leader, isr, at, coverage=coverage))
        elif how == "logged":
            observations.append(EpochObservation(epoch, at, leader, isr, isr_before=was, coverage=coverage))
    true = {row[:4] for row in states}
    values = [(epoch, leader, isr) for epoch, _, leader, isr, _ in states]
    rebuilt = [*ordered_states(observations)]
    for state in rebuilt:
        assert (state.leader_epoch, state.leader, state.isr) in values
        numbered = (state.leader_epoch, state.partition_epoch, state.leader, state.isr)
        assert state.partition_epoch is None or numbered in true
    assert not any(state.follows for state in rebuilt[:1])
    steps = pairwise((state.leader_epoch, state.leader, state.isr) for state in rebuilt)
    following = {step for step, state in zip(steps, rebuilt[1:], strict=True) if state.follows}
    assert following <= {*pairwise(values)}


def test_a_state_from_which_only_an_unwritten_change_starts_is_proved_by_it() -> None:
    """Without TRACE nothing else shows the ISR from which a change starts that came to nothing."""
    states = [*ordered_states(evidence("3 @5: 1 makes 1,2 -> 1 refused"))]
    assert shown(states) == ["3.? @5: 1 leads 1,2"]
    assert states[0].proofs == (0,)


REPORTED = {  # evidence, beside the report of a leader that it wrote partition epoch 1 -> states
    "the controller's next write comes after it": (
        """0 @1: 1 leads 1
           1 @9: 1 leads 1,3""",
        ["0.0 @1: 1 leads 1", "1.? @9: 1 leads 1,3"],
    ),
    "what the controller kept of it is unknown": (
        """0 @1: 1 leads 1,2
           1 @9: refreshed
           2 @12: -1 leads 1""",
        ["0.0 @1: 1 leads 1,2", "2.? @12: -1 leads 1"],
    ),
    "nor is it if the version before is unknown": (
        """3 @1: 1 leads 1,2
           4 @9: refreshed
           5 @12: -1 leads 1""",
        ["3.? @1: 1 leads 1,2", "5.? @12: -1 leads 1"],
    ),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_leader_whose_leader_epoch_no_line_tells_may_write_in_between(name: str) -> None:
    observations, expected = REPORTED[name]
    assert shown(list(ordered_states(evidence(observations), {1}))) == expected


ISRS, BROKERS = st.sampled_from(((1,), (2,), (1, 2), (1, 2, 3))), st.sampled_from((1, 2))
USUAL = {
    "leader_epoch": st.integers(0, 4), "at": st.integers(0, 30), "coverage": st.sampled_from((None, (0, 40), (5, 12))),
    "whole_since": st.sampled_from((None, 0)), "there": st.just(frozenset({1, 2, 3})), "is_of_creation": st.booleans(),
}  # fmt: skip
EPOCHS = st.one_of(st.none(), st.integers(0, 9))
LINES = st.one_of(
    st.builds(
        EpochObservation, leader=st.sampled_from((-1, 1, 2)), isr=ISRS, partition_epoch=EPOCHS, is_listed=st.booleans(),
        is_report=st.booleans(), **USUAL,
    ),
    st.builds(
        EpochObservation, leader=BROKERS, isr_before=ISRS, isr=ISRS, partition_epoch=EPOCHS, is_accepted=st.booleans(),
        is_doubtful=st.booleans(), **USUAL,
    ),
    st.builds(EpochObservation, **USUAL),  # refreshed
    st.builds(EpochObservation, leader=BROKERS, is_begin=st.just(True), **USUAL),
)  # fmt: skip


@given(st.lists(LINES, max_size=9), st.sets(st.integers(0, 9), max_size=2))
def test_lines_that_contradict_each_other_end_nothing(lines: list[EpochObservation], reported: set[int]) -> None:
    """Damaged and mixed logs have any lines: states are in order, and each has lines that show it."""
    in_order = sorted(lines, key=lambda line: (line.leader_epoch, line.at))
    states = list(ordered_states([replace(line, key=key) for key, line in enumerate(in_order)], reported))
    assert [s.leader_epoch for s in states] == sorted(s.leader_epoch for s in states)
    assert all(s.proofs and in_order[key].leader_epoch == s.leader_epoch for s in states for key in s.proofs)
