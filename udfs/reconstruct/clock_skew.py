"""How far each node's clock was ahead of the cluster's, over time, from what can only have followed something else.

A bound: at that time the clock of `effect` was ahead of that of `cause` by at most so much, for something on the first
node caused something on the second (a request sent and received, handled and answered). Bounds of both directions close
in on the difference. Clocks drift, by MAX_DRIFT at most: a bound of one moment holds at others, the less strictly the
farther away. Nodes without bounds in common are compared over a third.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Longs = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

MAX_DRIFT = 500e-6
"""By which two clocks drift apart at most, seconds a second: as much as NTP slews, ten times a bad crystal."""
RESOLUTION_US = 1_000
"""Logs cut times to milliseconds, so what seems to take no time may have taken up to that."""
BIN_US = 10_000_000
"""Of the pairs of two nodes, one way, in so many microseconds the closest counts: that limits memory."""
SLOT_US = 10_000_000
"""Between times that far apart, in microseconds, corrections grow evenly."""


@dataclass(frozen=True)
class SkewBound:
    """At `at` the clock of node `effect` was ahead of that of node `cause` by `ahead` microseconds at most.

    `at` is on the clock of `cause`; where that is not corrected, it may be off by as much as nobody noticed, and what
    drifts meanwhile is not counted. `pairs`: how many pairs of lines gave this bound or a looser one.
    """

    cause: int
    effect: int
    at: int
    ahead: int
    pairs: int = 1


@dataclass(frozen=True)
class ClockSkew:
    """How far one node's clock was ahead of the reference's, microseconds, at ascending times of the latter.

    `least` and `most` bound it, infinite where nothing does; None at all times where bounds are inconsistent.
    `applied` is what is taken off the node's times: nothing (all 0) for a node that may well be right.
    """

    node: int
    reference: int
    at: Longs
    least: Floats | None
    most: Floats | None
    applied: Floats

    @property
    def is_applied(self) -> bool:
        """Whether the node's times are corrected."""
        return bool(self.applied.any())


def clock_skews(bounds: Iterable[SkewBound]) -> dict[int, ClockSkew]:
    """The skew of every node that bounds connect with the reference, however far round; other nodes are missing.

    The reference is a node with which most others are consistent; of several the one with most pairs, then the least
    node id.
    """
    widened = sorted(
        (replace(bound, ahead=bound.ahead + RESOLUTION_US) for bound in bounds),
        key=lambda bound: (bound.at, bound.cause, bound.effect, bound.ahead),
    )
    if not widened:
        return {}
    rough = _skews_to_best_reference(widened)
    corrected = {node: skew for node, skew in rough.items() if skew.is_applied}
    if not corrected:
        return rough
    return _skews_to_best_reference(
        [replace(bound, at=on_reference_clock(bound.at, corrected.get(bound.cause))) for bound in widened]
    )


def ahead_at(skew: ClockSkew, at: Longs) -> Floats:
    """What is taken off times of the node's own clock: between two known times it grows evenly, outside it stays."""
    ahead: Floats = np.interp(at, skew.at + skew.applied, skew.applied)
    return ahead


def on_reference_clock(at: int, skew: ClockSkew | None) -> int:
    """A time of a node's own clock on the reference's; as it is where nothing is taken off."""
    return at if skew is None or not skew.is_applied else at - int(ahead_at(skew, np.array([at]))[0])


# ---- corrections -----------------------------------------------------------------------------------------------------
def correction_points(skew: ClockSkew, at: Sequence[int]) -> list[tuple[int, int]]:
    """At times of the reference's clock the node's own time and its correction, microseconds; empty if it has none."""
    if not skew.is_applied:
        return []
    applied = np.interp(at, skew.at, skew.applied)
    return [(int(time + ahead), round(ahead)) for time, ahead in zip(at, applied.tolist(), strict=True)]


def correction_slots(points: Iterable[tuple[int, float]]) -> tuple[int, list[float]]:
    """`correction_points` of a node -> the number of the first slot, and what is taken off at the borders of slots.

    >>> correction_slots([(5_000_000, 100.0), (25_000_000, 300.0)])
    (0, [100.0, 150.0, 250.0, 300.0])
    """
    at, ahead = (np.array(values) for values in zip(*sorted(points), strict=True))
    first = int(at[0] // SLOT_US)
    borders = np.arange(first, at[-1] // SLOT_US + 2) * SLOT_US
    return first, [float(value) for value in np.interp(borders, at, ahead)]


@dataclass(frozen=True)
class ClockCorrection:
    """What is taken off one node's times, see `correction_slots`; outside the slots as at their ends."""

    first_slot: int
    ahead: Sequence[float]

    @property
    def most(self) -> int:
        """By how many microseconds a time changes at most."""
        return round(max(map(abs, self.ahead))) + RESOLUTION_US

    def corrected(self, at: Longs) -> Longs:
        """Times on the cluster's clock, to the millisecond. They never change their order."""
        borders = (self.first_slot + np.arange(len(self.ahead))) * SLOT_US
        ahead = np.interp(at, borders, np.array(self.ahead))
        times: Longs = at - np.floor(ahead / 1000 + 0.5).astype(np.int64) * 1000
        return times


def clock_corrections(bounds: Sequence[SkewBound], skews: Mapping[int, ClockSkew]) -> dict[int, ClockCorrection]:
    """The correction of each node whose clock is corrected; `skews`: what `clock_skews` makes of these bounds."""
    moments: dict[int, set[int]] = defaultdict(set)
    for bound in bounds:
        at = on_reference_clock(bound.at, skews.get(bound.cause))
        moments[bound.cause].add(at)
        moments[bound.effect].add(at)
    return {
        node: ClockCorrection(*correction_slots(correction_points(skew, sorted(moments[node]))))
        for node, skew in skews.items()
        if skew.is_applied
    }


# ---- skews by bounds -------------------------------------------------------------------------------------------------
def _skews_to_best_reference(bounds: Sequence[SkewBound]) -> dict[int, ClockSkew]:
    """Skews against the first reference with which more than half are consistent, else with which most are."""
    nodes = sorted({node for bound in bounds for node in (bound.cause, bound.effect)})
    pairs: Counter[int] = Counter()
    for bound in bounds:
        pairs.update({bound.cause: bound.pairs, bound.effect: bound.pairs})
    best: tuple[int, dict[int, ClockSkew]] | None = None
    for reference in sorted(nodes, key=lambda node: (-pairs[node], node)):
        skews = _skews_to(reference, nodes, bounds)
        wrong = sum(skew.is_applied or skew.least is None for skew in skews.values()) + len(nodes) - len(skews)
        if best is None or wrong < best[0]:
            best = (wrong, skews)
        if wrong * 2 < len(nodes):
            break
    assert best is not None  # bounds name nodes
    return best[1]


@dataclass(frozen=True)
class _BoundArrays:
    """Bounds as arrays: at `at[moment[i]]`, node `effect[i]` is ahead of node `cause[i]` by `ahead[i]` at most."""

    at: Longs
    moment: Longs
    cause: Longs
    effect: Longs
    ahead: Floats

    def without(self, nodes: Sequence[int]) -> _BoundArrays:
        """The same without bounds of some nodes."""
        others = ~(np.isin(self.cause, nodes) | np.isin(self.effect, nodes))
        return _BoundArrays(self.at, self.moment[others], self.cause[others], self.effect[others], self.ahead[others])

    def turned(self) -> _BoundArrays:
        """Each bound the other way round, which bounds the others' lead over the reference from below."""
        return _BoundArrays(self.at, self.moment, self.effect, self.cause, self.ahead)


def _skews_to(reference: int, nodes: Sequence[int], bounds: Sequence[SkewBound]) -> dict[int, ClockSkew]:
    """Skews against one reference."""
    at = np.array(sorted({bound.at for bound in bounds}), np.int64)
    number = {node: i for i, node in enumerate(nodes)}
    arrays = _BoundArrays(
        at,
        np.searchsorted(at, np.array([bound.at for bound in bounds])),
        np.array([number[bound.cause] for bound in bounds]),
        np.array([number[bound.effect] for bound in bounds]),
        np.array([bound.ahead for bound in bounds], np.float64),
    )
    least, most, inconsistent = _consistent_bounds(arrays, number[reference], len(nodes))
    consistent = arrays.without(inconsistent)
    right = [i for i in range(len(nodes)) if i not in inconsistent and (least[i] <= 0).all() and (most[i] >= 0).all()]
    skews = {}
    for node, i in number.items():
        if i in inconsistent:
            skews[node] = ClockSkew(node, reference, at, None, None, np.zeros(len(at)))
        elif np.isfinite(least[i]).any() or np.isfinite(most[i]).any():
            applied = np.zeros(len(at))
            if i not in right:
                applied = _middle(*_narrowed(consistent, i, right, least[i], most[i]))
            skews[node] = ClockSkew(node, reference, at, least[i], most[i], applied)
    return skews


def _consistent_bounds(arrays: _BoundArrays, reference: int, nodes: int) -> tuple[Floats, Floats, list[int]]:
    """Least and most lead of each node over the reference at each moment, and the nodes whose bounds are inconsistent.

    As long as the least is more than the most anywhere, the node with the widest contradiction is left out.
    """
    inconsistent: list[int] = []
    while True:
        consistent = arrays.without(inconsistent)
        most = _farthest(consistent, reference, nodes)
        least = 0.0 - _farthest(consistent.turned(), reference, nodes)
        others = [i for i in range(nodes) if i not in inconsistent and (least[i] > most[i]).any()]
        if not others:
            return least, most, inconsistent
        inconsistent.append(max(others, key=lambda i: (float((least[i] - most[i]).max()), i)))


def _farthest(bounds: _BoundArrays, reference: int, nodes: int) -> Floats:
    """By how much each node may be ahead of the reference at each moment at most: shortest paths."""
    most = np.full((nodes, len(bounds.at)), np.inf)
    most[reference] = 0
    for _ in range(nodes):
        before = most.copy()
        np.minimum.at(most, (bounds.effect, bounds.moment), before[bounds.cause, bounds.moment] + bounds.ahead)
        most[reference] = 0
        most = _drifting(most, bounds.at)
        if (most == before).all():
            break
    return most


def _drifting(most: Floats, at: Longs) -> Floats:
    """Bounds that no two moments contradict, as far as clocks may drift between them."""
    drift = MAX_DRIFT * (at - at[0])
    later = np.minimum.accumulate(most - drift, axis=-1) + drift
    sooner = np.minimum.accumulate((most + drift)[..., ::-1], axis=-1)[..., ::-1] - drift
    bounds: Floats = np.minimum(later, sooner)
    return bounds


def _narrowed(
    bounds: _BoundArrays, node: int, right: Sequence[int], least: Floats, most: Floats
) -> tuple[Floats, Floats]:
    """Bounds against all nodes whose clocks are not corrected, if they leave room; else those against the reference."""
    upper, lower = np.full(len(bounds.at), np.inf), np.full(len(bounds.at), np.inf)
    for bound, ours, theirs in ((upper, bounds.effect, bounds.cause), (lower, bounds.cause, bounds.effect)):
        mine = (ours == node) & np.isin(theirs, right)
        np.minimum.at(bound, bounds.moment[mine], bounds.ahead[mine])
    new_most, new_least = _drifting(upper, bounds.at), -_drifting(lower, bounds.at)
    new_most, new_least = np.minimum(most, new_most), np.maximum(least, new_least)
    return (least, most) if (new_least > new_most).any() else (new_least, new_most)


def _middle(least: Floats, most: Floats) -> Floats:
    """What is taken off: the middle of the bounds; where there is only one, as little as fits."""
    if np.isfinite(least).all() and np.isfinite(most).all():
        return (least + most) / 2
    return np.where(least > 0, least, np.where(most < 0, most, 0.0))
