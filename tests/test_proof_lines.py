"""The fewest lines that prove a verdict: as plain functions, and by what lines of EVENTS print of a state."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import combinations
from operator import or_
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.test_election_verdicts import ELECTION
from udfs.kafka.proof_lines import EPOCHS, GOES_BY, STATE, Fact, fewest
from udfs.kafka.verdict_rows import COMPARING, election_verdicts, state_verdicts

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

RELEASES = {"c": ("3.9", True)}
LEADS, IN_ISR = Fact.LEADER | Fact.LEADER_EPOCH, Fact.ISR | Fact.PARTITION_EPOCH


def line(number: int) -> dict[str, Any]:
    return {"node_id": 1, "file_id": "f", "line": number}


def lines_by_rule(*printed: list[int] | None) -> dict[str, list[int]]:
    """Lines of each verdict on the second of two states, of lines 1 to 3 and 4 to 6 that print these facts."""
    state = {
        "cluster": "c", "topic": "a", "partition": 0, "incarnation": 0, "ordinal": 7, "since": 10, "leader": 1,
        "leader_epoch": 3, "partition_epoch": 7, "controller_epoch": 2, "isr": [1, 2], "replicas": [1, 2], "elr": None,
        "made_by": None, "shows_elr": None, "kraft_since": None, "kraft_began": None,
    }  # fmt: skip
    changed = {**state, "ordinal": 8, "since": 20, "partition_epoch": 8, "isr": [1], "made_by": "leader"}
    lines = ((1, 2, 3), (4, 5, 6))
    states = [
        {**row, "evidence": [line(number) for number in numbers], "printed": facts}
        for row, numbers, facts in zip((state, changed), lines, printed, strict=True)
    ]
    verdicts = [row for row in state_verdicts(states, RELEASES) if row["at"] == 20]
    return {row["rule"]: [line["line"] for line in row["evidence"]] for row in verdicts}


def test_a_verdict_rests_on_the_fewest_lines_that_print_what_its_rule_goes_by() -> None:
    """Its own lines come first, then, if the rule compares the two, those of the state before."""
    lines = lines_by_rule([LEADS, IN_ISR, 0], [LEADS, IN_ISR, STATE | Fact.CONTROLLER_EPOCH])
    assert lines["leader_in_isr"] == [6]
    assert lines["one_leader_per_leader_epoch"] == [4, 1]
    assert lines["isr_change"] == lines["epoch_increments"] == [6, 1, 2]
    # no line prints the controller epoch of the state before: all of them stay
    assert lines["stored_controller_epoch_never_falls"] == [6, 1, 2, 3]


def test_a_verdict_rests_on_all_lines_where_they_do_not_print_what_its_rule_goes_by() -> None:
    lines = lines_by_rule(None, [Fact.LEADER, 0, IN_ISR])
    # the line with the leader has no epoch, so nobody can tell that it is about this state
    assert lines["leader_in_isr"] == [4, 5, 6]
    assert lines["isr_change"] == [4, 5, 6, 1, 2, 3]


def test_rules_that_compare_two_states_say_what_they_go_by() -> None:
    assert set(COMPARING) <= GOES_BY.keys()


@pytest.mark.parametrize(
    ("printed", "numbers"), [([LEADS, IN_ISR, Fact.REPLICAS], [1, 2, 7, 8]), (None, [1, 2, 3, 7, 8])]
)
def test_an_election_rests_on_the_fewest_lines_of_its_state_and_on_what_it_was_decided_by(
    printed: list[int] | None, numbers: list[int]
) -> None:
    of_state = [line(1), line(2), line(3)]
    row = {
        **ELECTION, "cluster": "c", "topic": "a", "partition": 0, "incarnation": 0, "at": 10, "shows_elr": None,
        "leader_epoch": 3, "partition_epoch": 4, "controller_epoch": 1, "elr_before": None, "kraft_since": None,
        "kraft_began": None, "state_evidence": of_state, "evidence": [*of_state, line(7), line(8)], "printed": printed,
    }  # fmt: skip
    verdict = next(iter(election_verdicts([row], {"c": ("2.4", True)})))
    assert [line["line"] for line in verdict["evidence"]] == numbers


def prints(lines: Iterable[int], wanted: int) -> bool:
    """Whether lines that have an epoch print all that is wanted."""
    return reduce(or_, (facts for facts in lines if facts & EPOCHS), 0) & wanted == wanted


@given(st.lists(st.integers(0, 63), max_size=8), st.integers(1, 63))
def test_the_fewest_lines_print_what_is_wanted_and_fewer_do_not(printed: list[int], wanted: int) -> None:
    chosen = fewest(tuple(printed), wanted)
    if chosen is None:
        assert not prints(printed, wanted)
    else:
        assert prints((printed[at] for at in chosen), wanted)
        assert not any(prints(fewer, wanted) for fewer in combinations(printed, len(chosen) - 1))


STATES = """
topic | partition | incarnation | leader | leader_epoch | partition_epoch | controller_epoch | isr | replicas | evidence
many  | 0         | 0           | 1      | 3            | 7               | 2                | 1,2 | 2,1      | 1@f:1, 1@f:2, 2@f:3, 1@f:4, 1@f:5
one   | 0         | 0           | 1      | 3            | 7               | 2                | 1,2 | 2,1      | 1@f:6
none  | 0         | 0           | 1      | 3            | 7               | 2                | 1,2 | 2,1      | 1@f:7, 1@f:8
"""
LINES = """
line | node_id | topic | partition | event_type                     | leader | leader_epoch | partition_epoch | controller_epoch | isr | replicas
1    | 1       | many  | 0         | partition_state_change         | 1      | 3            | 7               | 2                | 2,1 | 2,1
# the next leader epoch: about another state
2    | 1       | many  | 0         | partition_state_change         | 1      | 4            |                 |                  | 2,1 | 2,1
# a follower prints no ISR
3    | 2       | many  | 0         | partition_follower_epoch_started | 1    | 3            | 7               |                  |     |
# the leader writes, and names no leader; the assignment in another order is not that of the state
4    | 1       | many  | 0         | isr_updated                    |        |              | 7               |                  | 1,2 | 1,2
5    | 1       | other | 0         | partition_state_change         | 1      | 3            | 7               | 2                | 2,1 | 2,1
6    | 1       | one   | 0         | partition_state_change         | 1      | 3            | 7               | 2                | 2,1 | 2,1
7    | 1       | none  | 0         | broker_fenced                  | 1      |              |                 |                  |     |
"""


def test_what_lines_print_of_a_state(frame: Frame, same: Same) -> None:
    from jobs.findings.printed_facts import with_printed
    from schemas.ingest import EVENTS
    from tests.test_findings import states

    rows = with_printed(states(frame, STATES), frame(EVENTS, LINES))
    whole = LEADS | IN_ISR | Fact.CONTROLLER_EPOCH | Fact.REPLICAS
    followed, changed = LEADS | Fact.PARTITION_EPOCH, Fact.LEADER | IN_ISR
    same(rows, f"topic | printed\nmany | {whole},0,{followed},{changed},0\none |\nnone |")
