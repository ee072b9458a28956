"""States of which a line only tells who begins to lead: the ISR follows from those before and after.

Until 2.5 a leader logs at INFO that it begins a leader epoch, and no ISR. With ZooKeeper a controller's write keeps the
ISR or takes replicas out of it, and who leads is in it; an unclean election leaves nobody but the new leader. Only
leaders add to an ISR, and they log that. So while the logs of all brokers are there, and no leader logs a change, each
ISR is part of the one before, and holds its leader.
"""

from __future__ import annotations

from collections.abc import Sequence

from udfs.reconstruct.epoch_observations import Isr


def isrs_of_begun(before: Isr, leaders: Sequence[int], after: Isr | None) -> list[Isr | None]:
    """The ISR with which each of several leader epochs began, by their leaders; None where the lines leave a choice.

    `before` is the last ISR before them, `after` the first one behind them (None: unknown), between which no leader
    changed it. An ISR of one behind them may be that of an unclean election, and shows nothing.

    >>> isrs_of_begun((1,), [1], None)
    [(1,)]
    >>> isrs_of_begun((0, 1, 2), [1, 0], (0, 2))
    [(0, 1, 2), None]
    """
    isrs: list[Isr | None] = [None] * len(leaders)
    certain = {*after} if after is not None and len(after) > 1 else set()
    if not certain <= {*before} or not {*leaders} <= {*before}:
        return isrs
    for number in reversed(range(len(leaders))):
        leader = leaders[number]
        if certain:
            certain = certain | {leader}
        if {leader} == {*before} or certain == {*before}:
            isrs[number] = before
    return isrs
