"""Partition epochs of states that no line numbers, where those around them leave no write to a leader.

Each write raises the partition epoch by one, and one of the controller the leader epoch, too. So what the partition
epoch is ahead of the leader epoch counts the leaders' writes since the partition was created, with both at 0: it never
falls. Where it is the same at two states, no leader wrote between them, each leader epoch in between is one write of
the controller, and its place is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from udfs.reconstruct.epoch_observations import OrderedState

MOST_HELD = 1_000
"""States without partition epoch that are held until one with it comes: behind more of them nothing is counted."""


def with_counted_writes(states: Iterable[OrderedState]) -> Iterator[OrderedState]:
    """States of one incarnation in order -> the same, those numbered between which no leader wrote.

    Two lines of a leader epoch are two writes, the second of them its leader's, so one that is numbered elsewhere, or
    twice in between, is left as it is.

    >>> known = OrderedState(4, 0, 6, 1, (0, 1, 3), False, 1, ())
    >>> between = OrderedState(5, 0, None, 3, (0, 3), False, 2, ())
    >>> behind = OrderedState(6, 0, 8, 0, (0,), False, 3, ())
    >>> [state.partition_epoch for state in with_counted_writes([known, between, behind])]
    [6, 7, 8]
    """
    leader_epoch, by_leaders, held = -1, 0, list[OrderedState]()
    is_counted = True
    for state in states:
        if state.partition_epoch is None:
            held.append(state)
            if len(held) > MOST_HELD:
                yield from held
                held, is_counted = [], False
            continue
        ahead = state.partition_epoch - state.leader_epoch
        if held:
            epochs = [leader_epoch, *(one.leader_epoch for one in held), state.leader_epoch]
            is_known = is_counted and ahead == by_leaders and _is_rising(epochs)
            yield from (replace(one, partition_epoch=one.leader_epoch + ahead) for one in held) if is_known else held
        yield state
        leader_epoch, by_leaders, held, is_counted = state.leader_epoch, ahead, [], True
    yield from held


def without_refuted_numbers(states: Iterable[OrderedState]) -> Iterator[OrderedState]:
    """States of one incarnation in order -> the same, without partition epochs that were counted, as if no line were
    lost, up to a state whose printed one shows that one is. Where that was nobody knows.

    >>> born = OrderedState(0, 0, 0, 1, (1, 2), False, 1, (), is_printed=True)
    >>> counted = OrderedState(1, 0, 1, 2, (2,), False, 2, (), follows=True)
    >>> other = OrderedState(2, 0, 4, 1, (1,), False, 3, (), is_printed=True, refutes=True)
    >>> [(s.partition_epoch, s.follows) for s in without_refuted_numbers([born, counted, other])]
    [(0, False), (None, False), (4, False)]
    """
    held: list[OrderedState] = []
    for state in states:
        if state.refutes:
            held = [replace(one, partition_epoch=None, follows=False) for one in held]
        if state.is_printed or state.refutes or len(held) > MOST_HELD:
            yield from held
            held = []
        if state.is_printed:
            yield state
        else:
            held.append(state)
    yield from held


def _is_rising(numbers: Sequence[int]) -> bool:
    """Whether each number is greater than the one before."""
    return all(before < after for before, after in pairwise(numbers))
