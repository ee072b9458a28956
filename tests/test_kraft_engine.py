"""What follows from a KRaft controller's steps. Cases named after a partition are those of a capture, values its
truth's."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pytest

from tests.proofs.prove_simulated_kraft import count
from udfs.reconstruct.kraft_counts import PartitionInput, explain_together
from udfs.reconstruct.kraft_engine import explain
from udfs.reconstruct.kraft_engine_columns import following_rows
from udfs.reconstruct.kraft_explanations import Explanation
from udfs.reconstruct.kraft_facts import (
    ASSIGNMENT_CHANGED,
    CONTROLLED_SHUTDOWN,
    DIRECTORY_LISTED,
    DIRECTORY_LOST,
    FENCED,
    NONE_ELIGIBLE,
    PREFERRED_ELECTED,
    REPLICA_LOST,
    REPLICAS_REMOVED,
    SHOWN,
    UNCLEAN_RESTART,
    UNFENCED,
    ControllerStep,
    KnownState,
    PartitionRules,
    Shrink,
)
from udfs.reconstruct.kraft_shown import SECOND

KEEPS = PartitionRules(True, False, False, False)
"""From 3.6 to 3.9: the last member stays in sync, and a shrink leaves the leader epoch alone."""
RAISES = PartitionRules(True, True, True, False)
"""Until 3.5."""
ELIGIBLE = PartitionRules(False, False, False, False)
"""With eligible leader replicas, as 4.1 has them."""
TELLS_DIRECTORIES = PartitionRules(True, False, False, True)
FIRST, LAST = 0, 1000
"""Seconds."""


class Case(NamedTuple):
    """`expected`: partition epoch -> leader, leader epoch, ISR of what no line states in full."""

    known: list[KnownState]
    steps: list[ControllerStep]
    expected: dict[int, tuple[int, int, list[int]]]
    rules: PartitionRules = KEEPS
    coverage: dict[int, list[tuple[int, int]]] = {}  # noqa: RUF012  (read only)
    shrinks: list[Shrink] | None = None


def known(
    epoch: int, leader: int, leader_epoch: int, isr: list[int] | None, at: float, replicas: list[int] | None = None
) -> KnownState:
    return KnownState(epoch, leader, leader_epoch, isr, None, replicas, None, round(at * SECOND))


def step(at: float, kind: str, broker: int, changed: int | None = None, *, is_sure: bool = True) -> ControllerStep:
    line = round(at * 10)
    return ControllerStep(round(at * SECOND), 101, "c", line, kind, broker, changed=changed, is_sure=is_sure)


def of_all(at: float, kind: str) -> ControllerStep:
    return step(at, kind, 0)._replace(broker=None)


def printed(at: float, epoch: int, *, replicas: list[int] | None = None, unassigned: object = None) -> ControllerStep:
    missing = list(unassigned) if isinstance(unassigned, list | tuple) else None
    return of_all(at, SHOWN)._replace(replicas=replicas, unassigned=missing, partition_epoch=epoch)


def record(
    at: float, replicas: list[int], leader: int | None = None, isr: list[int] | None = None, *, unassigned: object = ()
) -> ControllerStep:
    line = round(at * 10)
    missing = list(unassigned) if isinstance(unassigned, list | tuple) else None
    return ControllerStep(round(at * SECOND), 101, "c", line, ASSIGNMENT_CHANGED, None, leader, isr, replicas, missing)


CASES = {
    "orders-10 of 3.9.1: a leader alone in sync is fenced and returns": Case(
        [known(11, 1, 3, [1], 0, [1]), known(13, 1, 5, [1], 20.1)],
        [step(14, FENCED, 1, 5), step(20, UNFENCED, 1, 3)],
        {12: (-1, 4, [1])},
    ),
    "a-1-3 of 3.3.1: five replicas are put in another order, which only brokers log": Case(
        [
            known(12, 1, 6, [1], 0, [3, 2, 0, 1, 4]), known(13, 1, 6, [1], 2.8, [2, 3, 0, 1, 4]),
            known(15, 1, 8, [1], 20.1),
        ],
        [of_all(2.3, REPLICAS_REMOVED), step(14, FENCED, 1), step(20, UNFENCED, 1)],
        {14: (-1, 7, [1])},
    ),
    "payments-0 of 3.3.2: until 3.5 each step names nobody again": Case(
        [known(1, 1, 1, [1], 0, [1, 2]), known(6, 1, 6, [1], 103.3)],
        [
            step(10, FENCED, 2), step(44, FENCED, 1), step(50, UNFENCED, 1), step(71, CONTROLLED_SHUTDOWN, 1),
            step(72, FENCED, 1), step(103, UNFENCED, 1),
        ],
        {2: (-1, 2, [1]), 3: (1, 3, [1]), 4: (-1, 4, [1]), 5: (-1, 5, [1])},
        RAISES,
    ),
    "a-1-2 of 4.1.0: a reassignment to a dead broker, the loss, and eligibility lost": Case(
        [known(13, 4, 4, [0, 4], 0, [0, 1, 4]), known(16, -1, 6, [], 60)._replace(eligible=[])],
        [
            record(10, [4], 4, [4]), step(20, FENCED, 4, 2), step(55, UNCLEAN_RESTART, 2),
            step(59, UNCLEAN_RESTART, 4),
        ],
        {14: (4, 5, [4]), 15: (-1, 6, [])},
        ELIGIBLE,
    ),
    "audit.events-v1-1 of 4.0.0: a leader lost, a reassignment, and a directory": Case(
        [known(1, 3, 0, [3], 0, [3])._replace(unassigned=[]), known(4, -1, 1, None, 40)],
        [step(10, FENCED, 3, 6), record(20, [4, 1, 3], unassigned=[1, 4])],
        {2: (-1, 1, [3]), 3: (-1, 1, [3]), 4: (-1, 1, [3])},
        TELLS_DIRECTORIES,
    ),
    "orders-0 of 4.0.0: who follows is the first of the assignment in sync": Case(
        [known(17, 2, 1, [0, 1, 2], 0, [2, 0, 1]), known(19, 1, 3, [1], 30.1)],
        [step(10, FENCED, 2, 16), step(30, FENCED, 0, 6)],
        {18: (0, 2, [0, 1])},
    ),
    "orders-3 of 4.4.0: whatever reassignment only took replicas away, it was not of this one": Case(
        [known(3, 3, 0, [0, 3, 4], 0, [3, 4, 0]), known(7, 4, 3, [4], 48.8, [3, 4, 0])],
        [
            of_all(8, REPLICAS_REMOVED), step(40, FENCED, 0), step(40.1, FENCED, 3),
            step(43, FENCED, 4), step(48.6, UNFENCED, 4),
        ],
        {4: (3, 0, [3, 4]), 5: (4, 1, [4]), 6: (-1, 2, [])},
        ELIGIBLE, {3: [(-SECOND, 40 * SECOND)]}, [],
    ),
    "whoever follows is unknown where the assignment's order is": Case(
        [known(17, 2, 1, [0, 1, 2], 0), known(19, -1, 3, None, 60)],
        [step(10, FENCED, 2), step(59, FENCED, 0), step(59.5, FENCED, 1)],
        {},
    ),
    "of an unknown order the later leader epoch tells who was first": Case(
        [known(17, 2, 1, [0, 1, 2], 0), known(20, -1, 4, [1], 60)],
        [step(10, FENCED, 2), step(30, CONTROLLED_SHUTDOWN, 0), step(59, FENCED, 1)],
        {18: (0, 2, [0, 1]), 19: (1, 3, [1])},
    ),
    "after the last line: its leader leads on, and would have logged a change of its own": Case(
        [known(4, 1, 0, [0, 1, 2], 20, [1, 2, 0]), known(5, 1, 0, None, 36)],
        [step(35, FENCED, 0), step(36, UNFENCED, 0)],
        {5: (1, 0, [1, 2])},
        coverage={n: [(FIRST, LAST * SECOND)] for n in (0, 1, 2)},
    ),
    "after the last line: if the logs end right then, it may have been the leader's": Case(
        [known(4, 1, 0, [0, 1, 2], 20, [1, 2, 0]), known(5, 1, 0, None, 36)],
        [step(35, FENCED, 0), step(36, UNFENCED, 0)],
        {},
        coverage={n: [(FIRST, 37 * SECOND)] for n in (0, 1, 2)},
    ),
    "after the last line: nobody else can have followed": Case(
        [known(5, 4, 1, [4], 20, [4, 0])], [step(1, FENCED, 0), step(30, FENCED, 4)], {6: (-1, 2, [4])}
    ),
    "after the last line: the other replica may have come into sync unseen": Case(
        [known(5, 4, 1, [4], 20, [4, 0])], [step(1, UNFENCED, 0), step(30, FENCED, 4)], {}
    ),
    "orders-5 of 4.1.0, controllers' logs only: of an unknown assignment the other replica may join, too": Case(
        [known(9, 2, 3, [2], 20)],
        [step(1, UNFENCED, 0), step(30, FENCED, 2), step(40, UNCLEAN_RESTART, 2)],
        {},
        ELIGIBLE,
    ),
    "after the last line: if it had, its own log would show that it leads": Case(
        [known(5, 4, 1, [4], 20, [4, 0])],
        [step(1, UNFENCED, 0), step(30, FENCED, 4)],
        {6: (-1, 2, [4])},
        coverage={0: [(FIRST, LAST * SECOND)], 4: [(FIRST, 30 * SECOND)]},
    ),
    "the controller counts no partition that changed": Case(
        [known(5, 4, 1, [4], 20, [4])], [step(30, FENCED, 4, 0)], {}
    ),
    "a controller that lost its office may not have committed it": Case(
        [known(5, 4, 1, [4], 20, [4])], [step(30, FENCED, 4, is_sure=False)], {}
    ),
    "it was committed if a later state shows it": Case(
        [known(5, 4, 1, [4], 20, [4]), known(7, 4, 3, [4], 50.1)],
        [step(30, FENCED, 4, is_sure=False), step(50, UNFENCED, 4)],
        {6: (-1, 2, [4])},
    ),
    "somebody else wrote, too: only that the leader was lost is sure": Case(
        [known(7, 3, 0, [3], 0, [3, 2]), known(9, -1, 1, None, 30)],
        [step(1, FENCED, 2), step(20, FENCED, 3)],
        {9: (-1, 1, [3])},
        TELLS_DIRECTORIES,
    ),
    "a broker out of sync is fenced: it may have come into sync before, or directories changed": Case(
        [known(7, 3, 0, [3], 0, [3, 2]), known(9, 3, 0, [3], 30)], [step(20, FENCED, 2)], {}, TELLS_DIRECTORIES
    ),
    "two records that keep the leader epoch, and no directories: a replica came into sync and left": Case(
        [known(7, 3, 0, [3], 0, [3, 2]), known(9, 3, 0, [3], 30)], [step(20, FENCED, 2)], {8: (3, 0, [2, 3])}
    ),
    "a line without ISR: a lost leader leaves the one in sync": Case(
        [known(7, 3, 0, [3], 0, [3, 2]), known(8, -1, 1, None, 30)], [step(1, FENCED, 2), step(29, FENCED, 3)],
        {8: (-1, 1, [3])},
    ),
    "a broker is fenced, and one that was not in sync follows it at once: the controller prints that state": Case(
        [known(8, 3, 3, [2, 3], 0, [3, 2, 4]), known(10, 4, 4, [4], 50.1)],
        [step(40, FENCED, 2), step(50, FENCED, 3), printed(50.02, 10)],
        {9: (3, 3, [3])},
    ),
    "what the controller prints 0.2 s later did not come of that step": Case(
        [known(8, 3, 3, [2, 3], 0, [3, 2, 4]), known(10, 4, 4, [4], 50.3)],
        [step(40, FENCED, 2), step(50, FENCED, 3), printed(50.2, 10)],
        {},
    ),
    "a directory failed that the controller did not know for that replica's: it stays in sync": Case(
        [known(0, 1, 0, [1, 2], 0, [1, 2]), known(1, 2, 1, None, 60.2)],
        [printed(0, 0, replicas=[1, 2], unassigned=[1, 2]), step(30, REPLICA_LOST, 2), step(60, FENCED, 1)],
        {1: (2, 1, [2])},
        TELLS_DIRECTORIES,
    ),
    # 2 leads from 30 on, takes 1 in at 42, and 1 is elected as the preferred leader at 45; or nobody leads till 40
    "of a leader alone in sync another eligible replica may take the place at once": Case(
        [
            known(4, 1, 4, [1], 0, [1, 2])._replace(eligible=[2]), known(5, 2, 5, None, 29.9),
            known(7, 1, 6, [1, 2], 45.1),
        ],
        [step(-9, UNFENCED, 2), step(30, FENCED, 1, 1), step(40, UNFENCED, 1)],
        {5: (2, 5, [2]), 6: (2, 5, [1, 2])},
        ELIGIBLE, {1: [(-SECOND, 29 * SECOND), (39 * SECOND, LAST * SECOND)]},
    ),
    "where nobody says who leads then, it may be either": Case(
        [known(4, 1, 4, [1], 0, [1, 2]), known(7, 1, 6, [1, 2], 45.1)],
        [step(-9, UNFENCED, 2), step(30, FENCED, 1, 1), step(40, UNFENCED, 1)],
        {},
        ELIGIBLE, {1: [(-SECOND, 29 * SECOND), (39 * SECOND, LAST * SECOND)]}, [],
    ),
    "an eligible replica that is able leads for sure": Case(
        [known(4, 1, 4, [1], 0, [1, 2])._replace(eligible=[2]), known(7, 1, 6, [1, 2], 45.1)],
        [step(-9, UNFENCED, 2), step(30, FENCED, 1, 1), step(40, UNFENCED, 1)],
        {5: (2, 5, [2]), 6: (2, 5, [1, 2])},
        ELIGIBLE, {1: [(-SECOND, 29 * SECOND), (39 * SECOND, LAST * SECOND)]}, [],
    ),
    "an eligible replica that is fenced does not": Case(
        [known(4, 1, 4, [1], 0, [1, 2])._replace(eligible=[2]), known(7, 1, 6, [1, 2], 45.1)],
        [step(-9, FENCED, 2), step(30, FENCED, 1, 1), step(40, UNFENCED, 1)],
        {5: (-1, 5, []), 6: (1, 6, [1])},
        ELIGIBLE, {1: [(-SECOND, 29 * SECOND), (39 * SECOND, LAST * SECOND)]}, [],
    ),
    "one that was taken off the assignment is eligible still, but does not": Case(
        [known(4, 1, 4, [1], 0, [1])._replace(eligible=[2]), known(6, 1, 6, [1], 40.1)],
        [step(-9, UNFENCED, 2), step(30, FENCED, 1, 1), step(40, UNFENCED, 1, 1)],
        {5: (-1, 5, [])},
        ELIGIBLE,
    ),
    # had 3 or 4 led in between, nobody would lead in leader epoch 5
    "a-1-0 of 4.1.0: 3 and 4 were taken off an assignment that no line shows": Case(
        [known(11, 2, 3, [2], 0)._replace(eligible=[3, 4]), known(13, -1, 4, [], 60.4)._replace(eligible=[3, 4])],
        [step(-9, UNFENCED, 3), step(-9, UNFENCED, 4), step(20, FENCED, 2, 9), step(60, UNCLEAN_RESTART, 2, 6)],
        {12: (-1, 4, [])},
        ELIGIBLE,
    ),
    "eligible replicas are taken back, and nobody leads as the leader goes": Case(
        [known(5, 1, 2, [1], 0, [1, 2])._replace(eligible=[2], unassigned=[]), known(8, 1, 4, [1], 40.1)],
        [step(-9, UNFENCED, 2), of_all(10, NONE_ELIGIBLE), step(30, FENCED, 1), step(40, UNFENCED, 1)],
        {6: (1, 2, [1]), 7: (-1, 3, [])},
        ELIGIBLE,
    ),
    # 3 is new and tells its directory at 10: 2 does not lead as it comes back at 40, and 1, which led last, does at 60
    "a broker tells its directory, and nobody is eligible any more": Case(
        [known(5, -1, 3, [], 0, [1, 2, 3])._replace(eligible=[1, 2], unassigned=[3]), known(7, 1, 4, [1], 60.1)],
        [step(9, UNFENCED, 3, 0), step(40, UNFENCED, 2, 0), step(60, UNFENCED, 1)],
        {6: (-1, 3, [])},
        ELIGIBLE._replace(has_directories=True),
    ),
    "without a record where there are none": Case(
        [known(5, 1, 2, [1], 0, [1])._replace(unassigned=[]), known(7, 1, 4, [1], 40.1)],
        [of_all(10, NONE_ELIGIBLE), step(30, FENCED, 1), step(40, UNFENCED, 1)],
        {6: (-1, 3, [])},
        ELIGIBLE,
    ),
    # [0, 1] after 2 is fenced, or the leader took one of them out before; 0 comes back at 42, with leader epoch 2
    "of a leader without a log another broker tells late, so it may have led for long": Case(
        [known(0, 1, 0, [0, 1, 2], 0, [1, 0, 2]), known(1, 1, 1, None, 3), known(2, 1, 2, None, 42)],
        [step(2, FENCED, 2, 1), step(5, FENCED, 0, 1), step(41, UNFENCED, 0, 0)],
        {2: (1, 2, [1])},
        RAISES,
    ),
    # no other broker says so: 1 is asked to go at 10, and tells its directory at 11, or the other way round
    # of the three records one is by the removal, which names nobody again
    "replicas are taken away of an assignment that no line shows": Case(
        [known(2, 1, 1, [1], 0), known(4, 1, 3, [1], 17), known(7, 1, 6, [1], 70.1)],
        [
            step(14, FENCED, 1), step(16.9, UNFENCED, 1), record(16.9, [], 1)._replace(replicas=None, line=170),
            step(30, FENCED, 1), of_all(68, REPLICAS_REMOVED), step(70, UNFENCED, 1),
        ],
        {3: (-1, 2, [1]), 6: (-1, 5, [1])},
    ),
    "a broker tells its directory as it is about to go, too": Case(
        [known(0, 1, 0, [1], 0, [1])._replace(unassigned=[1]), known(2, -1, 1, None, 30)],
        [printed(0, 0, replicas=[1], unassigned=[1]), step(10, CONTROLLED_SHUTDOWN, 1, 1), step(12, FENCED, 1, 0)],
        {2: (-1, 1, [1])},
        TELLS_DIRECTORIES,
    ),
    # 2 is taken into the assignment at 40, and leads by an unclean election that no line tells
    "payments-2 of 4.1.0: a broker that is no replica does not lead as it comes back": Case(
        [known(8, -1, 1, [], 0, [3, 4]), known(10, 2, 2, [2], 50, [2, 3, 4])],
        [step(20, UNFENCED, 2), record(40, [2, 3, 4])],
        {},
        ELIGIBLE,
    ),
    "replicas are put in another order while nobody is in sync": Case(
        [known(6, -1, 3, [], 0, [1, 2])._replace(eligible=[1]), known(8, 1, 4, [1], 40.2, [2, 1])],
        [of_all(10, REPLICAS_REMOVED), step(40, UNFENCED, 1)],
        {7: (-1, 3, [])},
        ELIGIBLE,
    ),
    "no replica is taken away at once while nobody is in sync": Case(
        [known(6, -1, 3, [], 0, [1, 2])._replace(eligible=[1]), known(8, 1, 5, [1], 40.2, [1])],
        [of_all(10, REPLICAS_REMOVED), step(40, UNFENCED, 1)],
        {},
        ELIGIBLE,
    ),
    "a topic's new partition before any step": Case([known(0, 3, 0, [3], 0, [3])], [], {}),
}  # fmt: skip


def test_an_epoch_that_was_damaged_is_far_beyond_all_others() -> None:
    """Nothing is looked for in each epoch between."""
    rows = [(*state, False, False) for state in (known(5, 4, 1, [4], 20, [4]), known(2**31 - 1, 4, 1, [4], 30, [4]))]
    assert following_rows(rows, [], KEEPS, None, None, None) == [(None, None)] * 2


def explained(case: Case) -> Explanation:
    return explain(case.known, case.steps, case.rules, case.coverage, LAST * SECOND, shrinks=case.shrinks)


@pytest.mark.parametrize("name", CASES)
def test_what_follows(name: str) -> None:
    case = CASES[name]
    complete = {state.partition_epoch for state in case.known if state.is_complete}
    states = explained(case).states
    inferred = {epoch: state[1:4] for epoch, state in states.items() if epoch not in complete}
    assert inferred == case.expected


def test_a_lost_leader_is_sure_though_a_preferred_election_before_is_not() -> None:
    """a-1-1 of 3.6.2, at 31:49.761 of its truth: both replicas are killed, and 2, which leads, is fenced first.

    Either 4 follows it then, or had been elected before, as the preferred one; no line tells, and partition epoch 18 or
    19 has no leader. While 4 is not fenced, or once it is back, somebody leads, in an epoch that nobody knows.
    """
    coverage = {n: [(FIRST, LAST * SECOND)] for n in (2, 4)}

    def after(*steps: ControllerStep) -> dict[int, tuple[object, ...]]:
        start = [known(16, 2, 6, [2, 4], 29, [4, 2])]
        states = explain(start, steps, KEEPS, coverage, LAST * SECOND, shrinks=[]).states
        return {epoch: (state.leader, state.leader_epoch, state.isr, state.step) for epoch, state in states.items()}

    assert after(step(48.5, FENCED, 2), step(49.8, FENCED, 4)) == {19: (-1, None, None, 1)}
    assert after(step(48.5, FENCED, 2)) == {}
    assert after(step(48.5, FENCED, 2), step(49.8, FENCED, 4), step(60, UNFENCED, 4)) == {}


UNCLEAN = ControllerStep(round(119.05 * SECOND), 101, "c", 1191, SHOWN, partition_epoch=13)
"""The controller logs that it wrote 13, as it does if the new leader was not in sync."""


@pytest.mark.parametrize(
    ("shrinks", "line", "is_sure"),
    [
        (None, [UNCLEAN], False),
        ([], [UNCLEAN], True),
        ([Shrink(2, 10 * SECOND, [3])], [UNCLEAN], True),
        ([Shrink(3, -60 * SECOND, [3])], [UNCLEAN], True),
        ([Shrink(3, 10 * SECOND, [3]), Shrink(3, 8 * SECOND, [2, 3])], [UNCLEAN], False),
        (None, [], True),
    ],
)
def test_a_leader_says_that_it_shrinks(
    shrinks: list[Shrink] | None, line: list[ControllerStep], *, is_sure: bool
) -> None:
    """orders-7 of 3.6.2: all replicas are fenced in turn. What the leader does not say first it did not ask for.

    Had 3 shrunk the ISR to itself, 4 would have been elected uncleanly: without the controller's line it was not.
    """
    states = explain(
        [known(9, 3, 3, [2, 3, 4], 0, [2, 3, 4]), known(12, -1, 5, None, 69), known(13, 4, 6, [4], 119.4)],
        [step(19.4, FENCED, 2), step(19.5, FENCED, 3), step(20.7, FENCED, 4), step(119, UNFENCED, 4), *line],
        KEEPS._replace(raises_epoch_of_shrink=None),
        {broker: [(FIRST * SECOND, LAST * SECOND)] for broker in (2, 3, 4)},
        LAST * SECOND,
        shrinks=shrinks,
    ).states
    between = {epoch: state[1:4] for epoch, state in states.items() if epoch < 13 and epoch > 9}
    expected = {10: (3, 3, [3, 4]), 11: (4, 4, [4]), 12: (-1, 5, [4])}
    assert (between == expected) is is_sure


HOUR = 3600
Spans = list[tuple[int, int] | tuple[int, int, bool]]
LOGGED: dict[str, tuple[Spans | None, list[ControllerStep], int]] = {
    # spans of the active controller's log, steps, first partition epoch -> that the fencing left it without a leader
    "the controller's log is there": ([(FIRST, LAST)], [], 1),
    "from one term to the next": ([(FIRST, 25), (40, LAST)], [], 1),
    "it logged a state that no broker does": (
        [(FIRST, LAST)],
        [step(0, SHOWN, 0)._replace(broker=None, partition_epoch=0)],
        0,
    ),
}
NOT_LOGGED: dict[str, tuple[Spans | None, list[ControllerStep], int]] = {
    "of no controller is a log there: reassignments that only take replicas away raise the leader epoch, too": (
        None,
        [],
        1,
    ),
    "no active controller's log is there": ([], [], 1),
    "a hole in it": ([(-HOUR, -40), (110, HOUR)], [], 1),
    "it ended before": ([(-HOUR, -HOUR)], [], 1),
    "another controller, whose log is not there, took over at once": ([(FIRST, 25), (25, LAST, False)], [], 1),
    "and gave back": ([(FIRST, 25), (25, 35, False), (35, LAST)], [], 1),
    "a controller that starts replays an old state": ([(FIRST, LAST)], [], 0),
}


@pytest.mark.parametrize("case", LOGGED | NOT_LOGGED)
def test_nothing_follows_from_a_log_that_is_not_there(case: str) -> None:
    spans, more, epoch = (LOGGED | NOT_LOGGED)[case]
    is_replayed = epoch == 0
    first, last = known(epoch, 1, 3, [1], 1, [1]), known(epoch + 2, 1, 5, [1], 50)
    steps = [*more, step(30, FENCED, 1), step(49, UNFENCED, 1)]
    logged = None
    if spans is not None:
        logged = [(since * SECOND, until * SECOND, not lacks) for since, until, *lacks in spans]
    rows = following_rows([(*first, not is_replayed, False), (*last, True, False)], steps, KEEPS, [], logged, None)
    between = rows[0][1] if rows else None
    assert [row[:4] for row in between or ()] == ([(epoch + 1, -1, 4, [1])] if case in LOGGED else [])


SILENT_REASSIGNMENT = [known(5, 2, 1, [2], 0, [1, 2]), known(6, 2, 1, None, 100), known(7, 1, 2, [1], 101)]
"""unclean_ok-3 of 3.9.1: from [1, 2] to [1]. The record that begins it changes neither leader nor ISR; the one that
completes it, once 1 is in sync, takes 2 out."""


@pytest.mark.parametrize("since", [3.2, -10])
def test_what_zookeeper_had_before_a_migration_is_no_history_of_the_controller(since: float) -> None:
    """audit.events-v1-0 of 3.9.1: the controller takes it over at partition epoch 8, and shuts its leader down.

    That state may be shown long before, and brokers of a migration register in between.
    """
    in_zookeeper = [known(6, 4, 5, [4], -40), known(7, -1, 6, [4], since - 3.2)]
    taken_over, lost, back = (
        known(8, 4, 7, [4], since, [4]),
        KnownState(9, -1, 8, None, None, None, None, 246 * SECOND),
        (known(10, 4, 9, [4], 246.4)),
    )
    creation = ControllerStep(4 * SECOND, 101, "c", 40, SHOWN, unassigned=[4], partition_epoch=8)
    steps = [
        step(1, UNFENCED, 4),
        creation,
        step(234.3, CONTROLLED_SHUTDOWN, 4, 14),
        step(236.4, FENCED, 4, 0),
        step(246.2, UNFENCED, 4, 2),
    ]
    rows = [(*state, True, False) for state in (*in_zookeeper, taken_over, lost, back)]
    logged = [(-20 * SECOND, 300 * SECOND, True)]
    follows = following_rows(rows, steps, PartitionRules(True, None, False, None), [], logged, None)
    assert follows is not None
    assert follows[:3] == [(None, None)] * 3
    shutdown, unfencing = (101, "c", 2343), (101, "c", 2462)
    assert follows[3] == ((9, -1, 8, [4], None, 234_300_000, [shutdown]), None)
    assert follows[4] == ((10, 4, 9, [4], None, 246_200_000, [unfencing]), None)


def test_a_new_replica_may_be_in_sync_before_a_line_shows_it() -> None:
    """Of [0] 3 becomes a replica unseen, and is in sync at 3; 0 takes it out again."""
    states = [known(0, 0, 0, [0], 0, [0]), known(3, 0, 0, None, 41), known(4, 0, 0, [0], 55, [2, 3, 1, 0])]
    inferred = explain(states, [], TELLS_DIRECTORIES, {}, LAST * SECOND, has_controller_log=False).states
    assert 3 not in inferred


def test_a_reassignment_may_have_begun_while_no_controller_log_is_there() -> None:
    rules = TELLS_DIRECTORIES
    assert explain(SILENT_REASSIGNMENT, [], rules, {}, LAST * SECOND, has_controller_log=False).states == {}


def test_without_a_controller_log_states_of_one_leader_epoch_follow_if_the_leader_logs_its_changes() -> None:
    joined = known(7, 2, 1, [1, 2], 40)._replace(by_leader=True)
    states, own_log = [known(5, 2, 1, [2], 0), known(6, 2, 1, None, 20), joined], {2: [(FIRST, LAST * SECOND)]}
    follows = explain(states, [], KEEPS, own_log, LAST * SECOND, has_controller_log=False).states
    assert {epoch: state[1:4] for epoch, state in follows.items()} == {6: (2, 1, [2])}


def test_what_the_controllers_log_does_not_explain_ends_its_use_until_the_next_whole_state_only() -> None:
    """2 leaves the ISR, and neither the leader nor the controller logs it; the fencing behind it is logged."""
    rules, own_log = KEEPS._replace(raises_epoch_of_shrink=False), {1: [(FIRST, LAST * SECOND)]}
    states = [known(5, 1, 3, [1, 2], 0, [1, 2]), known(6, 1, 3, [1], 20), known(8, 1, 5, [1], 60)]
    steps = [step(40, FENCED, 1), step(59, UNFENCED, 1)]
    follows = explain(states, steps, rules, own_log, LAST * SECOND, shrinks=[]).states
    assert {epoch: state[1:4] for epoch, state in follows.items()} == {7: (-1, 4, [1]), 8: (1, 5, [1])}


def test_a_replica_whose_directory_failed_cannot_lead_before_its_broker_is_back() -> None:
    """payments-3 of 4.3.1: 4, alone in sync, loses the directory at 28:04.672; broker 0 returns, 4 is shut down, and as
    it starts again it is not eligible any more, for its shutdown was unclean.

    The controller names the directory only, the broker the partitions in it: without its line the loss may be of the
    shutdown, and has no time.
    """
    states = [known(5, 4, 2, [4], 0, [4])._replace(eligible=[]), known(7, -1, 3, [], 200)]
    steps = [
        step(1, UNFENCED, 4), step(68, DIRECTORY_LOST, 4), step(130, UNFENCED, 0, 2),
        step(164, CONTROLLED_SHUTDOWN, 4, 12), step(165, FENCED, 4, 0), step(198, UNCLEAN_RESTART, 4),
    ]  # fmt: skip
    line = ControllerStep(round(67.9 * SECOND), 4, "b", 679, REPLICA_LOST, 4)
    rows = [(*state, True, False) for state in states]

    def loss(*more: ControllerStep) -> tuple[object, ...]:
        own_log = [(4, FIRST, LAST * SECOND)]
        follows = following_rows(rows, [*steps, *more], ELIGIBLE, own_log, [(FIRST, LAST * SECOND, True)], None, [])
        assert follows is not None
        (state,) = follows[0][1]
        return (*state[:4], state[5] if state[6] else None)

    assert loss() == (6, -1, 3, [], None)
    assert loss(line) == (6, -1, 3, [], 68 * SECOND)
    steps[1] = steps[1]._replace(kind=DIRECTORY_LISTED)  # it names others: then 4 was lost as it shut down
    assert loss() == (6, -1, 3, [], 164 * SECOND)
    assert loss(line) == (6, -1, 3, [], 68 * SECOND)


def test_a_state_is_as_old_as_the_step_that_made_it() -> None:
    case = Case(
        [known(5, 4, 1, [4, 0], 0, [4, 0]), known(6, 0, 2, [0], 41)], [step(30, UNFENCED, 7), step(40, FENCED, 4)], {}
    )
    assert explained(case).states[6].step == 1


def test_a_state_of_which_it_is_not_known_what_made_it_is_as_old_as_the_first_step_behind_it() -> None:
    """orders-4 of 3.4.1: 1 is fenced, and the first line about the ISR without it comes as it returns.

    The leader's log had ended, so it may have taken 1 out itself before; but not later, for 1 was out then. If no step
    came between the state before and the line, nothing is surely behind the state.
    """
    states = [known(7, 4, 4, [0, 1, 4], 0, [4, 0, 1]), known(8, 4, 5, [0, 4], 31)]

    def dated_by(*steps: ControllerStep) -> object:
        rows, logged = [(*state, True, False) for state in states], [(FIRST, LAST * SECOND, True)]
        follows = following_rows(rows, list(steps), RAISES, [], logged, None)
        assert follows is not None
        return follows[1][0][5:]

    fencing = [(101, "c", 200)]
    able = step(1, UNFENCED, 4)
    assert dated_by(able, step(20, FENCED, 1, 11), step(30, FENCED, 7, 3)) == (20 * SECOND, fencing)
    assert dated_by(able, step(20, FENCED, 7, 3)) == (None, None)


PREFERRED = {  # when the task elected leaders, when the new leader's line comes -> its state is dated by the task
    "the line comes at once": (60, 60.3, True),
    "the leader's clock is behind": (60, 59.2, True),
    "an admin may have asked for it 2 s later": (60, 62.1, False),
    "the line comes first": (60, 58.5, False),
}


@pytest.mark.parametrize("name", PREFERRED)
def test_a_preferred_leader_is_as_old_as_the_task_that_elects_such(name: str) -> None:
    elected_at, line_at, is_dated = PREFERRED[name]
    states = [known(5, 2, 1, [1, 2], 0, [1, 2]), known(6, 1, 2, [1, 2], line_at)]
    follows = explained(Case(states, [of_all(elected_at, PREFERRED_ELECTED)], {})).states
    assert follows[6].step == (0 if is_dated else None)


def test_the_task_elects_nobody_who_is_not_in_sync() -> None:
    """1 is preferred and was fenced; it comes back into sync behind the task, and is elected by an admin's request."""
    states = [known(5, 2, 1, [2], 0, [1, 2]), known(6, 2, 1, [1, 2], 70)._replace(by_leader=True)]
    steps = [of_all(60, PREFERRED_ELECTED)]
    coverage = {1: [(FIRST, LAST * SECOND)]}
    explanation = explained(Case([*states, known(7, 1, 2, [1, 2], 80)], steps, {}, coverage=coverage))
    assert explanation.states[7].step is None
    assert explanation.changes == {0: False}


def test_an_unclean_election_is_as_old_as_the_step_of_the_broker() -> None:
    states = [known(9, 3, 3, [3], 0, [2, 3]), known(10, 2, 4, [2], 50.1)]
    explanation = explained(Case(states, [step(50, FENCED, 3), printed(50.02, 10)], {}))
    assert explanation.states[10].step == 0
    assert explanation.changes == {0: True, 1: False}


def test_a_state_that_the_controller_printed_was_not_there_before() -> None:
    """2 is fenced shortly before the partition is created, and again behind that: only then can it leave the ISR."""
    states = [known(0, 1, 0, [1, 2], 100.1, [1, 2]), known(1, 1, 0, [1], 160)]
    steps = [step(90, FENCED, 2), step(95, UNFENCED, 2), printed(100, 0), step(150, FENCED, 2)]
    own_log = {1: [(FIRST, LAST * SECOND)]}
    assert explain(states, steps, KEEPS, own_log, LAST * SECOND, shrinks=[]).states[1].step == 3


def test_a_change_that_its_leader_logs_is_no_step_of_the_controller() -> None:
    shrunk = known(6, 4, 1, [4], 40.2)._replace(by_leader=True)
    own_log = {4: [(FIRST, LAST * SECOND)]}
    case = Case([known(5, 4, 1, [4, 0], 0, [4, 0]), shrunk], [step(40, FENCED, 0)], {}, coverage=own_log)
    explanation = explained(case)
    assert explanation.states[6].step is None
    assert explanation.changes == {0: False}


def test_whether_a_step_changed_the_partition_is_told() -> None:
    case = CASES["orders-10 of 3.9.1: a leader alone in sync is fenced and returns"]
    assert explained(case).changes == {0: True, 1: True}


def test_more_hidden_partition_epochs_than_are_tried_are_missing_logs() -> None:
    case = Case([known(0, 3, 0, [3], 0, [3]), known(30, 3, 0, [3], 60)], [step(20, FENCED, 3)], {}, TELLS_DIRECTORIES)
    assert explained(case).states == {}


def test_nothing_follows_where_not_all_histories_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 or 3 may have been out of sync at partition epoch 1, or both: all three come to the state that is known."""
    case = Case([known(0, 1, 0, [1, 2, 3], 0, [1, 2, 3]), known(2, 1, 0, [1], 9)], [], {})
    assert 1 not in explained(case).states
    monkeypatch.setattr("udfs.reconstruct.kraft_engine.MOST_POSSIBLE", 4)
    assert explained(case).states == {}


def test_what_follows_before_there_are_too_many_histories_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """1, alone in sync, is fenced and returns, as in `orders-10`. At first one of two replicas got its directory, so
    there are two histories all along; then replicas may have been removed, and there are too many."""
    monkeypatch.setattr("udfs.reconstruct.kraft_engine.MOST_POSSIBLE", 12)
    created = ControllerStep(0, 101, "c", 0, SHOWN, None, 1, [1], [1, 2, 3], [2, 3], partition_epoch=0)
    removed = of_all(60, REPLICAS_REMOVED)
    states = [known(n, 1, epoch, [1], at, [1, 2, 3]) for n, epoch, at in ((0, 0, 0), (1, 0, 5), (3, 2, 20.1))]
    steps = [created, step(14, FENCED, 1), step(20, UNFENCED, 1), removed]
    follows = explained(Case(states, steps, {}, TELLS_DIRECTORIES)).states
    assert {epoch: state[1:4] for epoch, state in follows.items()} == {
        1: (1, 0, [1]), 2: (-1, 1, [1]), 3: (1, 2, [1]),
    }  # fmt: skip


def test_a_count_of_changed_partitions_tells_which_changed() -> None:
    """2 leads one partition; in the other it may have come into sync unseen, but only one changes when it is fenced."""
    steps = [step(1, UNFENCED, 2), step(30, FENCED, 2, 1), step(60, FENCED, 1, 2)]
    led = [known(5, 2, 1, [1, 2], 20, [2, 1]), known(6, 1, 2, [1], 30.1)]
    silent = [known(5, 1, 1, [1], 20, [1, 2])]
    partitions = {
        name: PartitionInput(rows, steps, KEEPS, {}, LAST * SECOND)
        for name, rows in {"led": led, "silent": silent}.items()
    }
    assert explain(*partitions["silent"]).changes[1] is None
    explanations = explain_together(partitions, is_whole=False)
    assert explanations["silent"].changes[1] is False
    assert explanations["led"].changes[1] is True


def test_a_count_of_changed_partitions_tells_that_all_did() -> None:
    steps = [step(1, UNFENCED, 2), step(30, FENCED, 2, 1)]
    rows = [known(5, 1, 1, [1], 20, [1, 2])]
    partitions = {"silent": PartitionInput(rows, steps, KEEPS, {}, LAST * SECOND)}
    assert explain_together(partitions, is_whole=True)["silent"].changes[1] is True
    assert explain_together(partitions, is_whole=False)["silent"].changes[1] is None


def test_a_simulated_cluster_under_random_faults() -> None:
    """A short form of `tests.proofs.prove_simulated_kraft`."""
    total: Counter[str] = sum((count(seed) for seed in range(60)), Counter())
    assert not total["wrong"]
    assert not total["refuted"]
    assert total["inferred of decidable"] >= 0.99 * total["decidable"] > 100
