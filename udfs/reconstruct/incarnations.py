"""When a topic without an id was deleted and created again.

The controller that completes a deletion logs it, but its log may be missing. A recreation shows in other lines, too:
within one incarnation neither epoch of a partition goes back, no controller creates it twice, and a broker that
dropped it from its metadata cache does not get it again (a topic whose deletion has begun is deleted in the end;
UpdateMetadata marks it until then). Each such sign only shows between which two lines of one node the topic was
created again; several signs agree on a narrower interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

RecreationSign = tuple[int, int]
"""Between which two times a topic was created again: of the last line on the incarnation before, and of the first on
the new one. Microseconds."""

MAX_CLOCK_DIFFERENCE_US = 5_000_000
"""By how much two nodes' clocks may differ, so that one's report of a deletion still explains the other's sign."""


def incarnation_starts(
    deleted: Iterable[int], signs: Iterable[RecreationSign], births: Sequence[int] = ()
) -> list[int]:
    """When each incarnation after the first began, ascending: as few of them as explain all signs.

    `deleted`: when deletions were completed, as reported; later lines belong to the next incarnation. A recreation
    that nobody reported is placed at the first of `births` (times at which a partition seems to be logged for the
    first time) that all its signs allow, else where the first sign ends. All times are microseconds.

    >>> minute = 60_000_000
    >>> incarnation_starts(deleted=[10 * minute], signs=[(8 * minute, 12 * minute), (20 * minute, 25 * minute)])
    [600000001, 1500000000]
    """
    starts = [end + 1 for end in deleted]
    # where the first sign ends -> the latest line on the incarnation before, by all signs of that recreation
    unreported: dict[int, int] = {}
    for after, at in sorted(signs, key=lambda sign: sign[1]):
        if any(after - MAX_CLOCK_DIFFERENCE_US < start <= at + MAX_CLOCK_DIFFERENCE_US for start in starts):
            continue
        same = next((first_end for first_end in unreported if after < first_end + MAX_CLOCK_DIFFERENCE_US), None)
        if same is None:
            unreported[at] = after
        else:
            unreported[same] = max(unreported[same], min(after, same - 1))
    starts += [min((birth for birth in births if after < birth <= at), default=at) for at, after in unreported.items()]
    return sorted(starts)
