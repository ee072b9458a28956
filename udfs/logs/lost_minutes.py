"""Holes in logs that no silence tells: minutes of which all nodes lack their lines, proven by what comes behind them.

A cluster may be quiet for minutes, so a silence alone tells nothing. But some lines say what a line before them must
have said: where that one is missing, a silence of all nodes between them is no rest but a hole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

LEAST_SILENCE = 20_000_000
"""A silence of all nodes that may be a hole, in microseconds: clusters that are not idle are silent for less."""


class LineGap(NamedTuple):
    """A time from one line to a later one, in microseconds."""

    since: int
    until: int


class LostMinutes(NamedTuple):
    """What one cluster's lines tell of holes."""

    losses: tuple[LineGap, ...]
    """From the last line of a node about something to one that tells of another in between."""
    silences: tuple[LineGap, ...]
    """In which no node of the cluster logs anything, LEAST_SILENCE or longer; in order."""

    def holes(self) -> list[LineGap]:
        """See `holes_of`."""
        return holes_of(self.losses, self.silences)

    def older(self, than: int) -> LostMinutes:
        """What was told by lines before a time in microseconds."""
        return LostMinutes(*(tuple(one for one in part if one.until < than) for part in self))


def holes_of(losses: Iterable[LineGap], silences: Iterable[LineGap]) -> list[LineGap]:
    """The fewest silences that explain each stretch in which lines were lost, in order.

    Of the shortest stretch the longest silence within it is a hole, and so on, but for stretches within which one is
    known by then. A stretch without a silence is none: a node may lose a line while it goes on logging.
    """
    in_order = sorted({*silences})
    begins = [one.since for one in in_order]
    holes: list[LineGap] = []
    for loss in sorted({*losses}, key=lambda one: (one.until - one.since, one)):
        known = bisect_left(holes, LineGap(loss.since, loss.since))
        if known < len(holes) and holes[known].until <= loss.until:
            continue
        first, last = bisect_left(begins, loss.since), bisect_right(begins, loss.until)
        within = [one for one in in_order[first:last] if one.until <= loss.until]
        if within:
            longest = max(within, key=lambda one: (one.until - one.since, -one.since))
            holes.insert(bisect_left(holes, longest), longest)
    return holes
