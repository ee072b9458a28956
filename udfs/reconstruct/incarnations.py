"""When a topic without an id was deleted and created again.

The controller that finishes a deletion says so, but its log may be missing. Deletion and creation show in other lines, too:
within one life neither epoch of a partition goes back, nobody creates it twice, and a broker that dropped it from its
metadata is not told of it again (a topic whose deletion has begun is deleted in the end; UpdateMetadata says so until then).
Each such sign tells only between which two lines of one node the topic was reborn; few signs agree on the moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

RecreationSign = tuple[int, int]
"""Between what two times a topic was reborn: the last line of the old life, the first of the new one. Microseconds."""

MAX_CLOCK_DIFFERENCE_US = 5_000_000
"""Microseconds by which two nodes' clocks may differ, so that one's report of a deletion still explains the other's sign."""


def incarnation_starts(
    deleted: Iterable[int], signs: Iterable[RecreationSign], births: Sequence[int] = ()
) -> list[int]:
    """When a new life begins, in order: as few lives as explain all signs, so none is counted that nobody saw.

    `deleted` are the reported ends; what is said later belongs to the next life. A rebirth nobody reported is placed at
    the first of `births` (times at which a partition seems to be told for the first time) that all its signs allow, else
    where the first sign ends.

    >>> minute = 60_000_000
    >>> incarnation_starts(deleted=[10 * minute], signs=[(8 * minute, 12 * minute), (20 * minute, 25 * minute)])
    [600000001, 1500000000]
    """
    begins = [end + 1 for end in deleted]
    unreported: dict[int, int] = {}  # where the first sign ends -> the latest line of the old life by all of its signs
    for after, at in sorted(signs, key=lambda sign: sign[1]):
        if any(after - MAX_CLOCK_DIFFERENCE_US < begin <= at + MAX_CLOCK_DIFFERENCE_US for begin in begins):
            continue
        same = next((known for known in unreported if after < known + MAX_CLOCK_DIFFERENCE_US), None)
        if same is None:
            unreported[at] = after
        else:
            unreported[same] = max(unreported[same], min(after, same - 1))
    begins += [min((b for b in births if after < b <= at), default=at) for at, after in unreported.items()]
    return sorted(begins)
