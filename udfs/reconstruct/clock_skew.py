"""How far each node's clock was ahead of the cluster's, over time, from what can only have followed something else.

A limit says: at that time the second node's clock was ahead of the first one's by at most so much, for something on the
first caused something on the second (a request sent and received, handled and answered). Limits of both directions close
in on the difference. Clocks drift, by MAX_DRIFT at most: a limit of one moment holds at others, the less strictly the
farther away. Bounds of nodes that share no limits come over a third.
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
"""By which two clocks drift apart at most, seconds a second: what NTP slews a clock by at most, and ten times a bad crystal's."""
RESOLUTION_US = 1_000
"""Microseconds: logs cut times to milliseconds, so what seems to take no time may have taken up to that."""
BIN_US = 10_000_000
"""Of the pairs of two nodes, one way, in so many microseconds the closest counts: that bounds what is held in memory."""
SLOT_US = 10_000_000
"""Between times that far apart, in microseconds, corrections grow evenly."""


@dataclass(frozen=True)
class SkewBound:
    """At `at` the clock of `then` was ahead of that of `first` by `ahead` microseconds at most.

    `at` is on the first node's clock; where that is not corrected, it may be off by as much as nobody noticed, and what
    drifts meanwhile is not counted. `pairs`: how many pairs of lines said so or less strictly.
    """

    first: int
    then: int
    at: int
    ahead: int
    pairs: int = 1


@dataclass(frozen=True)
class ClockSkew:
    """How far one node's clock was ahead of the reference's, in microseconds, at times of the reference's clock, in their order.

    `least` and `most` bound it, infinite where nothing does; None at all times where limits contradict each other.
    `applied` is what is taken off the node's times: nothing (all 0) for a node that may well go right.
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


def clock_skews(limits: Iterable[SkewBound]) -> dict[int, ClockSkew]:
    """The course of every node that limits connect with the reference, however far round; of the others nothing can be said.

    The reference is a node with whose clock most others may agree; of several the one with most pairs, then the least id.
    """
    known = sorted((_held(limit) for limit in limits), key=lambda one: (one.at, one.first, one.then, one.ahead))
    if not known:
        return {}
    rough = _courses(known)
    corrected = {node: course for node, course in rough.items() if course.is_applied}
    if not corrected:
        return rough
    return _courses([_timed(one, corrected.get(one.first)) for one in known])


def _held(limit: SkewBound) -> SkewBound:
    return replace(limit, ahead=limit.ahead + RESOLUTION_US)


def _timed(limit: SkewBound, course: ClockSkew | None) -> SkewBound:
    """A limit whose time is carried to the reference's clock."""
    return replace(limit, at=on_reference_clock(limit.at, course))


def ahead_at(course: ClockSkew, at: Longs) -> Floats:
    """What is taken off times of the node's own clock: between two known times it grows evenly, before and after it stays."""
    ahead: Floats = np.interp(at, course.at + course.applied, course.applied)
    return ahead


def on_reference_clock(at: int, course: ClockSkew | None) -> int:
    """A time of a node's own clock on the reference's; as it is where nothing is taken off."""
    return at if course is None or not course.is_applied else at - int(ahead_at(course, np.array([at]))[0])


def correction_points(course: ClockSkew, at: Sequence[int]) -> list[tuple[int, int]]:
    """At times of the reference's clock: the node's own time, and what is taken off it, microseconds; no times if nothing is."""
    if not course.is_applied:
        return []
    applied = np.interp(at, course.at, course.applied)
    return [(int(one + ahead), round(ahead)) for one, ahead in zip(at, applied.tolist(), strict=True)]


def correction_slots(told: Iterable[tuple[int, float]]) -> tuple[int, list[float]]:
    """What is taken off at known times of a node, microseconds -> the number of the first slot, and what is at the borders of slots.

    >>> correction_slots([(5_000_000, 100.0), (25_000_000, 300.0)])
    (0, [100.0, 150.0, 250.0, 300.0])
    """
    at, ahead = (np.array(values) for values in zip(*sorted(told), strict=True))
    first = int(at[0] // SLOT_US)
    borders = np.arange(first, at[-1] // SLOT_US + 2) * SLOT_US
    return first, [float(one) for one in np.interp(borders, at, ahead)]


@dataclass(frozen=True)
class ClockCorrection:
    """What is taken off one node's times, as `correction_slots` tells it; before the first and after the last border as there."""

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
        found: Longs = at - np.floor(ahead / 1000 + 0.5).astype(np.int64) * 1000
        return found


def clock_corrections(limits: Sequence[SkewBound], found: Mapping[int, ClockSkew]) -> dict[int, ClockCorrection]:
    """Of each node whose clock is corrected how; `found`: the clock skews by these bounds."""
    moments: dict[int, set[int]] = defaultdict(set)
    for one in limits:
        at = on_reference_clock(one.at, found.get(one.first))
        moments[one.first].add(at)
        moments[one.then].add(at)
    return {
        node: ClockCorrection(*correction_slots(correction_points(course, sorted(moments[node]))))
        for node, course in found.items()
        if course.is_applied
    }


def _courses(limits: Sequence[SkewBound]) -> dict[int, ClockSkew]:
    nodes = sorted({node for one in limits for node in (one.first, one.then)})
    pairs: Counter[int] = Counter()
    for one in limits:
        pairs.update({one.first: one.pairs, one.then: one.pairs})
    best: tuple[int, dict[int, ClockSkew]] | None = None
    for reference in sorted(nodes, key=lambda node: (-pairs[node], node)):
        found = _against(reference, nodes, limits)
        wrong = sum(course.is_applied or course.least is None for course in found.values()) + len(nodes) - len(found)
        if best is None or wrong < best[0]:
            best = (wrong, found)
        if wrong * 2 < len(nodes):
            break
    assert best is not None  # limits name nodes
    return best[1]


@dataclass(frozen=True)
class _Net:
    """Limits as arrays: at moment `moment[i]`, `then[i]` is ahead of `first[i]` by `ahead[i]` at most."""

    at: Longs
    moment: Longs
    first: Longs
    then: Longs
    ahead: Floats

    def without(self, nodes: Sequence[int]) -> _Net:
        """The same without limits of some nodes."""
        kept = ~(np.isin(self.first, nodes) | np.isin(self.then, nodes))
        return _Net(self.at, self.moment[kept], self.first[kept], self.then[kept], self.ahead[kept])

    def turned(self) -> _Net:
        """Each limit the other way round, which bounds the others' lead over the reference from below."""
        return _Net(self.at, self.moment, self.then, self.first, self.ahead)


def _against(reference: int, nodes: Sequence[int], limits: Sequence[SkewBound]) -> dict[int, ClockSkew]:
    at = np.array(sorted({one.at for one in limits}), np.int64)
    number = {node: i for i, node in enumerate(nodes)}
    net = _Net(
        at,
        np.searchsorted(at, np.array([one.at for one in limits])),
        np.array([number[one.first] for one in limits]),
        np.array([number[one.then] for one in limits]),
        np.array([one.ahead for one in limits], np.float64),
    )
    own = number[reference]
    torn: list[int] = []
    while True:
        most = _farthest(net.without(torn), own, len(nodes))
        least = 0.0 - _farthest(net.without(torn).turned(), own, len(nodes))
        more = [i for i in range(len(nodes)) if i not in torn and (least[i] > most[i]).any()]
        if not more:
            break
        torn.append(max(more, key=lambda i: (float((least[i] - most[i]).max()), i)))
    found = {}
    right = [i for i in range(len(nodes)) if i not in torn and (least[i] <= 0).all() and (most[i] >= 0).all()]
    for node, i in number.items():
        if i in torn:
            found[node] = ClockSkew(node, reference, at, None, None, np.zeros(len(at)))
        elif np.isfinite(least[i]).any() or np.isfinite(most[i]).any():
            applied = (
                np.zeros(len(at)) if i in right else _middle(*_narrowed(net.without(torn), i, right, least[i], most[i]))
            )
            found[node] = ClockSkew(node, reference, at, least[i], most[i], applied)
    return found


def _farthest(net: _Net, reference: int, nodes: int) -> Floats:
    """By how much each node may be ahead of the reference at each moment at most: shortest ways over limits and time."""
    most = np.full((nodes, len(net.at)), np.inf)
    most[reference] = 0
    for _ in range(nodes):
        before = most.copy()
        np.minimum.at(most, (net.then, net.moment), before[net.first, net.moment] + net.ahead)
        most[reference] = 0
        most = _drifting(most, net.at)
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


def _narrowed(net: _Net, node: int, right: Sequence[int], least: Floats, most: Floats) -> tuple[Floats, Floats]:
    """Bounds against all nodes whose clocks are left as they are, if they leave room; else the ones against the reference."""
    upper, lower = np.full(len(net.at), np.inf), np.full(len(net.at), np.inf)
    for bound, ours, theirs in ((upper, net.then, net.first), (lower, net.first, net.then)):
        mine = (ours == node) & np.isin(theirs, right)
        np.minimum.at(bound, net.moment[mine], net.ahead[mine])
    new_most, new_least = _drifting(upper, net.at), -_drifting(lower, net.at)
    new_most, new_least = np.minimum(most, new_most), np.maximum(least, new_least)
    return (least, most) if (new_least > new_most).any() else (new_least, new_most)


def _middle(least: Floats, most: Floats) -> Floats:
    """What is taken off: the middle of the bounds; where there is only one, as little as fits."""
    if np.isfinite(least).all() and np.isfinite(most).all():
        return (least + most) / 2
    return np.where(least > 0, least, np.where(most < 0, most, 0.0))
