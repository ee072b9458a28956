"""What follows for a KRaft partition around a hole in the controller's log, and around lines that contradict others."""

from __future__ import annotations

from typing import Any

from udfs.reconstruct.kraft_engine_columns import following_rows
from udfs.reconstruct.kraft_facts import FENCED, UNFENCED, ControllerStep, KnownState, PartitionRules
from udfs.reconstruct.kraft_shown import SECOND

KEEPS = PartitionRules(True, False, False, False)
RAISES = PartitionRules(True, True, True, False)


def row(
    epoch: int, leader: int, leader_epoch: int, isr: list[int], at: float, replicas: list[int] | None = None
) -> tuple[Any, ...]:
    return (*KnownState(epoch, leader, leader_epoch, isr, None, replicas, None, round(at * SECOND)), True, False)


def contradiction(epoch: int, at: float) -> tuple[Any, ...]:
    return (*KnownState(epoch, None, None, None, None, None, None, round(at * SECOND)), True, True)


def step(at: float, kind: str, broker: int) -> ControllerStep:
    return ControllerStep(round(at * SECOND), 101, "c", round(at * 10), kind, broker)


def follows(
    rows: list[tuple[Any, ...]],
    steps: list[ControllerStep],
    rules: PartitionRules,
    logged: list[tuple[int, int]],
    covered: list[tuple[int, int, int]],
    *shrinks: tuple[int, int, list[int]],
) -> dict[int, tuple[Any, ...]]:
    """Partition epoch -> leader, leader epoch, ISR and second of all that follows."""
    spans = [(since * SECOND, until * SECOND, True) for since, until in logged]
    coverage = [(broker, since * SECOND, until * SECOND) for broker, since, until in covered]
    rows_that_follow = following_rows(rows, steps, rules, coverage, spans, None, list(shrinks))
    assert rows_that_follow is not None
    states = [state for own, inserted in rows_that_follow for state in ([own] if own else []) + (inserted or [])]
    return {state[0]: (*state[1:4], state[5] and state[5] / SECOND) for state in states}


def test_whatever_was_lost_before_a_hole_is_before_what_lines_show_behind_it() -> None:
    """1, alone in sync or not, is fenced at 20, after any number of changes of the ISR, for its log is missing. Behind
    the hole it leads at partition epoch 9."""
    rows = [row(5, 1, 4, [1, 2], 10, [1, 2]), row(9, 1, 7, [1], 900)]
    steps = [step(1, UNFENCED, 1), step(15, FENCED, 2), step(20, FENCED, 1)]
    assert follows(rows, steps, KEEPS, [(0, 60), (800, 1000)], []) == {
        6: (1, 4, [1], 900),
        8: (-1, None, None, 20),
    }
    rows[1] = row(7, 1, 7, [1], 900)  # there is no room
    assert follows(rows, steps, KEEPS, [(0, 60), (800, 1000)], []) == {6: (1, 4, [1], 900)}


def test_right_behind_the_begin_of_a_hole_steps_are_missing() -> None:
    """The log ends at 30 for minutes, and at 37 brokers 3 and 0 are fenced: of [0, 1, 3] 0 leads with [0, 1], then 1
    alone. Without these steps only an election of 1 would be left, and that it took out both, as it did later."""
    rows = [row(2, 0, 1, [0, 1, 3], 28, [1, 0, 3]), row(4, 1, 3, [1], 37.7)]
    steps = [step(5, UNFENCED, 0), step(6, UNFENCED, 1), step(7, UNFENCED, 3)]
    covered = [(0, 0, 29), (1, 0, 1000), (3, 0, 29)]
    shrink = (1, 56 * SECOND, [1])
    assert follows(rows, steps, RAISES, [(0, 30), (800, 1000)], covered, shrink) == {}


def test_behind_the_end_of_the_controllers_log_steps_are_missing_where_brokers_log_on() -> None:
    """The log ends at 66, and at 67.2 broker 2, which leads [0, 2, 3], is fenced: 3 leads with [0, 3]. It may have been
    elected for it is preferred. Where all logs end then, it was: a controller that has nothing to do is silent."""
    rows = [row(2, 2, 0, [0, 2, 3], 33, [3, 2, 0]), row(3, 3, 1, [0, 3], 67.3)]
    rows[1] = (*rows[1][:3], None, *rows[1][4:])
    steps = [step(5, UNFENCED, 0), step(6, UNFENCED, 2), step(7, UNFENCED, 3)]
    assert follows(rows, steps, KEEPS, [(0, 66)], [(0, 0, 200), (2, 0, 61), (2, 98, 200)]) == {}
    assert follows(rows, steps, KEEPS, [(0, 66)], [(0, 0, 70), (2, 0, 70)])[3] == (3, 1, [0, 2, 3], None)


def test_what_was_before_a_contradiction_does_not_hold_behind_it() -> None:
    """Lines contradict each other about 6: that stays so, whatever would follow from 5."""
    rows = [row(5, 1, 4, [1, 2], 10, [1, 2]), contradiction(6, 20.1), row(7, 2, 5, [1, 2], 45, [1, 2])]
    steps = [step(1, UNFENCED, 1), step(2, UNFENCED, 2), step(20, FENCED, 1), step(40, UNFENCED, 1)]
    assert follows(rows, steps, KEEPS, [(0, 500)], [(1, 0, 19), (1, 38, 500), (2, 0, 500)]) == {}
