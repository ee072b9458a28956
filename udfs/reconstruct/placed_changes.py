"""In which leader epoch a leader changed the ISR of which its own log does not say: other lines leave no choice.

Until 0.10 a leader logs at INFO what it changes, and not in which leader epoch. It wrote it in the one that was
committed then, for a write needs the version that the controller wrote last, or the leader since. Leader epochs grow by
one with each write of the controller, and have one leader each. So what lines show of leaders and leader epochs before
a change and after it bounds that of the change; and so do other changes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from udfs.reconstruct.draft_states import CLOCKS_US
from udfs.reconstruct.epoch_observations import Isr

MOST_ROUNDS = 10
"""Bounds are carried to and fro so often at most: each time more leaders are known."""


class EpochBound(NamedTuple):
    """What one line shows of a partition at a time (microseconds): that a leader epoch had begun by then, or, where
    that is None, only who led then, or that its node began another one (`is_known`), and who leads in that.

    `is_written`: the controller wrote it right then, so that there was one less before. `is_known`: the node that
    logged it, `node_id`, had begun it itself, and no later one. `leader` and `isr` as far as the line has them. `key`
    is the caller's name for it. `node_id` None: it may have been any. `keeps_leader`: who led in the leader epoch
    before leads on. `adds`: the line only shows that leaders knew nothing of this replica before that leader epoch.
    `limit`: until `at` no later leader epoch than this had been written.
    """

    at: int
    leader_epoch: int | None
    node_id: int | None = None
    is_written: bool = False
    is_known: bool = False
    leader: int | None = None
    isr: Isr | None = None
    key: int = 0
    keeps_leader: bool = False
    adds: int | None = None
    limit: int | None = None


class LeaderChange(NamedTuple):
    """A change of the ISR that a leader wrote in an unknown leader epoch, at a time (microseconds); its log goes on
    without a hole until `covered_until`, None if that is not known.

    `process`: the number of the process that logged it; None if that may not have written it though no line says that
    the store refused it, as when its session with the store ended.
    """

    at: int
    leader: int
    isr_before: Isr
    isr: Isr
    covered_until: int | None = None
    process: int | None = None


class Place(NamedTuple):
    """The leader epoch of a change, and the keys of bounds that leave no other; None where they leave a choice, or
    contradict each other. It is one from `least` to `most` in any case."""

    leader_epoch: int | None = None
    keys: tuple[int, ...] = ()
    least: float = 0
    most: float = inf


def placed_changes(changes: Sequence[LeaderChange], bounds: Sequence[EpochBound]) -> list[Place]:
    """The place of each change.

    Lines of other nodes count from CLOCKS_US away on, for clocks differ.

    >>> begun = EpochBound(0, leader_epoch=4, leader=1, isr=(1, 2), is_written=True, key=7)
    >>> over = EpochBound(9_000_000, leader_epoch=5, leader=2, is_written=True, key=8)
    >>> placed_changes([LeaderChange(4_000_000, 1, (1, 2), (1,))], [begun, over])
    [Place(leader_epoch=4, keys=(7, 8), least=4, most=4)]
    """
    leaders = _leaders_of(bounds)
    points = [*(_point_of(bound) for bound in bounds if bound.adds is None), *_points_of(changes, bounds)]
    # a change that bounds contradict was never written; then changes bound each other
    points = _without_contradicted(points, leaders, by_changes=False)
    points = _without_contradicted(points, leaders, by_changes=True)
    if any(point.least > point.most for point in points):
        return [Place()] * len(changes)
    bound_to = _bound_to(points)
    places = [Place()] * len(changes)
    for point in points:
        if point.change is not None:
            place = _place(point, leaders, bounds, changes)
            is_alone = place.leader_epoch is None or bound_to.get(place.leader_epoch, {point.leader}) == {point.leader}
            places[point.change] = place if is_alone else Place()
    return places


def _leaders_of(bounds: Sequence[EpochBound]) -> dict[int, set[int]]:
    """Who leads in each leader epoch, by lines about it, and by the writes before and behind it that kept the
    leader."""
    leaders: dict[int, set[int]] = {}
    for bound in bounds:
        if bound.leader_epoch is not None and bound.leader is not None:
            leaders.setdefault(bound.leader_epoch, set()).add(bound.leader)
    kept = sorted({bound.leader_epoch for bound in bounds if bound.keeps_leader and bound.leader_epoch is not None})
    for epoch, other in [*((epoch, epoch - 1) for epoch in kept), *((epoch - 1, epoch) for epoch in reversed(kept))]:
        if epoch not in leaders and other in leaders:
            leaders[epoch] = leaders[other]
    return leaders


@dataclass(eq=False)
class _Point:
    """A line on a partition's way through leader epochs: at its time these were between `least` and `most`.

    `leader` led then. `known`: the leader epoch that its node had begun by then. `is_next`: its node began another one
    then; `leader`, `least` and `most` are of that one, and others may have been written since. `is_fixed`: the
    controller wrote it then. `change`: its number. `before`: the change that its node logged before, in an earlier
    leader epoch; `after` the other way round. `first` and `last` are keys of the bounds from which `least` and `most`
    come.
    """

    at: int
    node_id: int | None
    leader: int | None
    least: float = 0
    most: float = inf
    known: int | None = None
    is_next: bool = False
    is_fixed: bool = False
    change: int | None = None
    before: _Point | None = None
    after: _Point | None = None
    first: int | None = None
    last: int | None = None


def _point_of(bound: EpochBound) -> _Point:
    """A bound as a point. Who leads in a leader epoch that had only begun by then may not lead any more."""
    epoch, key = bound.leader_epoch, bound.key
    if epoch is None and bound.is_known:
        return _Point(bound.at, bound.node_id, bound.leader, is_next=True, first=key, last=key)
    if epoch is None:
        most, last = (inf, None) if bound.limit is None else (bound.limit, key)
        return _Point(bound.at, bound.node_id, bound.leader, most=most, last=last)
    if bound.is_written:
        return _Point(bound.at, bound.node_id, bound.leader, epoch, epoch, is_fixed=True, first=key, last=key)
    return _Point(bound.at, bound.node_id, None, epoch, known=epoch if bound.is_known else None, first=key, last=key)


def _points_of(changes: Sequence[LeaderChange], bounds: Sequence[EpochBound]) -> list[_Point]:
    """Changes as points. A leader that adds a replica knows of it; one that goes on from an ISR that it did not make
    has begun another leader epoch.

    From the one before its last change it may go on because that was never written; but a process whose session with
    the store goes on logs that as refused, and those are no changes here.
    """
    points = [_Point(change.at, change.leader, change.leader, change=n) for n, change in enumerate(changes)]
    for point, change in zip(points, changes, strict=True):
        for bound in bounds:
            if bound.adds is not None and bound.adds in {*change.isr} - {*change.isr_before}:
                _tighten(point, 1, bound.leader_epoch or 0, bound.key)
    last: dict[int, int] = {}
    for number in sorted(range(len(changes)), key=lambda n: changes[n].at):
        change = changes[number]
        previous = last.get(change.leader)
        last[change.leader] = number
        if previous is None or changes[previous].covered_until is None:
            continue
        before = changes[previous]
        is_covered = change.at <= (before.covered_until or 0)
        is_of_before = change.isr_before == before.isr
        if before.process is None or before.process != change.process:
            is_of_before = is_of_before or change.isr_before == before.isr_before
        if is_covered and not is_of_before:
            points[number].before, points[previous].after = points[previous], points[number]
    return points


def _without_contradicted(points: Sequence[_Point], leaders: dict[int, set[int]], *, by_changes: bool) -> list[_Point]:
    """Points with what the others leave of their bounds, `by_changes`: changes among these; without changes, and lines
    about who led, of which nothing is left. Leaders of leader epochs are added as they become known."""
    for _ in range(MOST_ROUNDS):
        before = [(point.least, point.most) for point in points]
        _carry(points, 1, leaders, by_changes)
        _carry(points, -1, leaders, by_changes)
        if by_changes:
            for epoch, nodes in _bound_to(points).items():
                leaders.setdefault(epoch, nodes)
        if before == [(point.least, point.most) for point in points]:
            break
    is_line = [p.is_fixed or p.is_next or p.known is not None for p in points]
    return [point for point, is_kept in zip(points, is_line, strict=True) if is_kept or point.least <= point.most]


def _bound_to(points: Sequence[_Point]) -> dict[int, set[int]]:
    """Leader epochs to which changes, and lines about who led, are bound, with their leaders: two contradict each
    other."""
    nodes: dict[int, set[int]] = defaultdict(set)
    for point in points:
        if not point.is_fixed and point.leader is not None and point.least == point.most:
            nodes[int(point.least)].add(point.leader)
    return nodes


class _Passed:
    """Of points that were passed the greatest leader epochs, by leader, and the bounds that they come from."""

    def __init__(self) -> None:
        self.greatest: dict[int | None, tuple[float, int | None]] = {}

    def add(self, leader: int | None, epoch: float, key: int | None) -> None:
        """Pass a point."""
        if leader not in self.greatest or self.greatest[leader][0] < epoch:
            self.greatest[leader] = epoch, key

    def bound(self, leader: int | None) -> tuple[float, int | None]:
        """The leader epoch that a point with this leader has at least: another leader has another one."""
        bounds = (
            (epoch + (other != leader and None not in (other, leader)), key)
            for other, (epoch, key) in self.greatest.items()
        )
        return max(bounds, key=lambda bound: bound[0], default=(-inf, None))


def _carry(points: Sequence[_Point], way: int, leaders: Mapping[int, set[int]], by_changes: bool) -> None:
    """Carry bounds to later points (`way` 1), or, with all numbers negated, to earlier ones (-1)."""
    in_order = sorted(points, key=lambda point: way * point.at)
    everybody, nodes, waiting = _Passed(), defaultdict[int | None, _Node](_Node), deque(in_order)
    for point in in_order:
        now = way * point.at
        while way * waiting[0].at <= now - CLOCKS_US:
            _pass(everybody, waiting.popleft(), way, by_changes)
        node = nodes[point.node_id]
        while point.node_id is not None and node.waiting and way * node.waiting[0].at < now:
            passed = node.waiting.popleft()
            _pass(node.committed, passed, way, by_changes)
            _pass_known(node.known, passed, way, by_changes)
        node.waiting.append(point)
        if point.is_fixed:
            continue
        bounds = [everybody.bound(point.leader), node.committed.bound(point.leader)]
        if point.is_next and way > 0:
            epoch, key = node.known.bound(None)
            bounds = [(epoch + 1, key)]
        elif point.is_next or point.change is not None:
            bounds.append(node.known.bound(None))
        _tighten(point, way, *max(bounds, key=lambda bound: bound[0]))
        neighbour = point.before if way > 0 else point.after
        if by_changes and neighbour is not None:
            least, key = (neighbour.least, neighbour.first) if way > 0 else (-neighbour.most, neighbour.last)
            _tighten(point, way, least + 1, key)
        _leave_out(point, way, leaders)


class _Node:
    """Of a node the points that were passed, and those at the same time: what they show of committed leader epochs, and
    of those that it had begun itself."""

    def __init__(self) -> None:
        self.committed, self.known = _Passed(), _Passed()
        self.waiting: deque[_Point] = deque()


def _pass(passed: _Passed, point: _Point, way: int, by_changes: bool) -> None:
    """Add what a point shows those behind it: before the controller's write there was one leader epoch less. What a
    node began may be over."""
    if point.change is not None and not by_changes:
        return
    if way > 0:
        passed.add(point.leader, point.least, point.first)
    elif point.is_fixed:
        passed.add(None, 1 - point.most, point.last)
    elif not point.is_next:
        passed.add(point.leader, -point.most, point.last)


def _pass_known(known: _Passed, point: _Point, way: int, by_changes: bool) -> None:
    """Add what a point shows of the leader epochs that its node had begun by then, or before it began another one."""
    if point.known is not None:
        known.add(None, way * point.known, point.first)
    elif point.is_next or (point.change is not None and by_changes):
        known.add(None, point.least if way > 0 else point.is_next - point.most, point.first if way > 0 else point.last)


def _tighten(point: _Point, way: int, bound: float, key: int | None) -> None:
    """Narrow a point's bounds, if this one does."""
    if way > 0 and bound > point.least:
        point.least, point.first = bound, key
    elif way < 0 and -bound < point.most:
        point.most, point.last = -bound, key


def _leave_out(point: _Point, way: int, leaders: Mapping[int, set[int]]) -> None:
    """Leave out leader epochs at a point's bounds in which another one leads."""
    while way > 0 and point.least <= point.most and not _may_lead(point, point.least, leaders):
        point.least += 1
    while way < 0 and point.least <= point.most < inf and not _may_lead(point, point.most, leaders):
        point.most -= 1


def _may_lead(point: _Point, leader_epoch: float, leaders: Mapping[int, set[int]]) -> bool:
    """Whether a point's leader may be that of a leader epoch."""
    of_epoch = leaders.get(int(leader_epoch)) if leader_epoch < inf else None
    return point.leader is None or of_epoch is None or point.leader in of_epoch


def _place(
    point: _Point,
    leaders: Mapping[int, set[int]],
    bounds: Sequence[EpochBound],
    changes: Sequence[LeaderChange],
) -> Place:
    """Where a change has its place: in one leader epoch, if its bounds, or the ISR that it starts from, leave one."""
    place = Place(least=point.least, most=point.most)
    if point.change is None or point.most == inf:
        return place
    epochs = [e for e in range(int(point.least), int(point.most) + 1) if _may_lead(point, e, leaders)]
    if len(epochs) > 1:
        epochs = _starts_in(changes[point.change], epochs, bounds, changes)
    if len(epochs) != 1:
        return place
    keys = tuple(key for key in (point.first, point.last) if key is not None)
    return place._replace(leader_epoch=epochs[0], keys=keys)


def _starts_in(
    change: LeaderChange, epochs: Sequence[int], bounds: Sequence[EpochBound], changes: Sequence[LeaderChange]
) -> list[int]:
    """Of leader epochs those with whose first ISR a change starts, or with one that its writer made of it; all if it is
    not known with which each of them began."""
    written = [b for b in bounds if b.is_written and b.isr is not None and b.leader_epoch in epochs]
    isrs = {epoch: {b.isr for b in written if b.leader_epoch == epoch} for epoch in epochs}
    if any(len(of_epoch) != 1 for of_epoch in isrs.values()):
        return list(epochs)
    began = {epoch: min(b.at for b in written if b.leader_epoch == epoch) - CLOCKS_US for epoch in epochs}
    own = [other for other in changes if other.leader == change.leader and other.at < change.at]
    return [
        epoch
        for epoch in epochs
        if change.isr_before in isrs[epoch] | {other.isr for other in own if other.at >= began[epoch]}
    ]
