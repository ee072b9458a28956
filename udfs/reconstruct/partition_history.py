"""The states of one partition where lines seldom name the partition epoch: put in order by how they follow each other.

With ZooKeeper a state is written either by the controller, which raises the leader epoch with every write, or by the
leader, which changes the ISR and nothing else. So the states of one incarnation are ordered by (leader epoch, step):
step 0 is the controller's write, step k the leader's k-th change, and each change names the ISR that it starts from. The
partition epoch (the version of the state's znode) counts all writes from 0: it is known as far as the chain of changes
reaches without a hole from the partition's creation, or from a line that prints it. Elsewhere it stays unknown.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, islice, pairwise

Isr = tuple[int, ...]
"""In-sync replicas, sorted."""

MOST_MARKS = 100
"""Printed partition epochs of one leader epoch that are tried to find the place of its chain; they agree or never will."""


@dataclass(frozen=True)
class Said:
    """What one line, or several that agree, say of one leader epoch of one partition. One of:

    - a state: leader and ISR, and its partition epoch if the line prints it;
    - the leader's own change of the ISR from `was` to `isr`; `written` is false if the store refused it, and then
      `partition_epoch` is the one that the leader took for that of `was`;
    - only that the controller wrote this leader epoch and changed nothing else: neither leader nor ISR are given.

    `at` is in microseconds. `seen` is the span around `at` in which the leader's own log is there, None if it is not. `key`
    is the caller's name for it.
    """

    leader_epoch: int
    at: int
    leader: int | None = None
    isr: Isr | None = None
    partition_epoch: int | None = None
    was: Isr | None = None
    written: bool = True
    seen: tuple[int, int] | None = None
    key: int = 0


@dataclass(frozen=True)
class State:
    """One committed state, the `step`-th of its leader epoch from 0, and the keys of what proves it.

    `since` is the time of its own first proof. The partition epoch is None where it is not known.
    """

    leader_epoch: int
    step: int
    partition_epoch: int | None
    leader: int
    isr: Isr
    by_leader: bool
    since: int
    proofs: tuple[int, ...]


@dataclass
class _Step:
    """A state in the making; `change` is the leader's line that made it, None for the controller's write or unknown."""

    isr: Isr
    change: Said | None = None
    after_hole: bool = False


@dataclass
class _Term:
    """What is known of one leader epoch: its states in order, as told by the leader's changes, and all other statements."""

    leader_epoch: int
    leader: int
    steps: list[_Step]
    told: list[Said]
    began: int
    seen: tuple[int, int] | None
    start: int | None = None

    @property
    def marks(self) -> set[tuple[Isr, int]]:
        """ISRs that lines print together with their partition epoch."""
        return {(s.isr, s.partition_epoch) for s in self.told if s.isr is not None and s.partition_epoch is not None}

    def fits(self, start: int) -> bool:
        """Whether no printed partition epoch speaks against the first state having partition epoch `start`."""
        length = self.length
        for isr, epoch in self.marks:
            if epoch < start or (epoch - start < length and self.steps[epoch - start].isr != isr):
                return False
        return True

    @property
    def length(self) -> int:
        """Steps before the first hole."""
        return next((n for n, step in enumerate(self.steps) if step.after_hole), len(self.steps))

    @property
    def begun_in_sight(self) -> bool:
        """Whether no change of the ISR can have escaped before the first that is told; without a leader nobody changes it."""
        return self.leader < 0 or (self.seen is not None and self.seen[0] <= self.began)

    def in_sight(self, end: int) -> bool:
        """Whether no change of the ISR can have escaped up to a time."""
        return self.leader < 0 or (self.begun_in_sight and self.seen is not None and end <= self.seen[1])

    def anchor(self) -> int | None:
        """The first state's partition epoch by printed ones alone.

        None if they leave a choice or contradict the chain, or if they may speak of a state that is not in it.
        """
        if not self.in_sight(max((s.at for s in self.told), default=self.began)):
            return None
        marks = sorted(self.marks, key=lambda mark: mark[1])
        steps = self.steps[: self.length]
        starts = {marks[0][1] - n for n, step in enumerate(steps) if step.isr == marks[0][0]} if marks else set()
        for isr, epoch in marks[1:MOST_MARKS]:
            if len(starts) < 2:
                break
            starts = {s for s in starts if epoch - s >= len(steps) or (epoch >= s and steps[epoch - s].isr == isr)}
        return starts.pop() if len(starts) == 1 and self.fits(max(starts)) else None


def history(said: Iterable[Said]) -> Iterator[State]:
    """States in order, from all that is said of one incarnation, in the order of (leader epoch, time, line).

    Two leader epochs are held in memory at a time.

    >>> born = Said(0, at=1, leader=1, isr=(1, 2), seen=(0, 9))
    >>> left = Said(0, at=5, leader=1, was=(1, 2), isr=(1,), seen=(0, 9))
    >>> lost = Said(1, at=8, leader=-1, isr=(1,))
    >>> [(s.leader_epoch, s.partition_epoch, s.leader, s.isr) for s in history([born, left, lost])]
    [(0, 0, 1, (1, 2)), (0, 1, 1, (1,)), (1, 2, -1, (1,))]
    """
    before: _Term | None = None
    counted: int | None = None  # partition epoch of the controller's next write, if all writes so far are known
    for leader_epoch, group in groupby(said, key=lambda s: s.leader_epoch):
        term = _term(leader_epoch, list(group))
        if before is None:
            counted = 0 if leader_epoch == 0 and term is not None else None
        else:
            states, counted, sure = _close(before, counted, term)
            yield from states
            if term is not None and not term.steps and sure:  # refreshed: the leader epoch, and nothing else
                term.leader, term.seen = before.leader, before.seen
                term.steps.append(_Step(states[-1].isr))
                term.told = [replace(s, leader=term.leader, isr=states[-1].isr) for s in term.told]
        before = term if term is not None and term.steps else None
    if before is not None:
        yield from _close(before, counted, None)[0]


def _term(leader_epoch: int, rows: list[Said]) -> _Term | None:
    """A leader epoch as far as its own lines tell it: without steps if they say nothing of its ISR. None: they contradict."""
    leaders = {s.leader for s in rows if s.leader is not None}
    if len(leaders) > 1:
        return None
    told = [s for s in rows if s.was is None and (s.isr is not None or not leaders)]
    steps = _chain([s for s in rows if s.was is not None]) or [_Step(s.isr) for s in told[:1] if s.isr is not None]
    # what the leader took for the version of its ISR is as good as a printed one
    told += [replace(s, isr=s.was, was=None) for s in rows if not s.written and s.partition_epoch is not None]
    first = min((s for s in rows if s.leader is not None), key=lambda s: (s.at, s.seen is None), default=None)
    seen = first.seen if first is not None else None
    return _Term(leader_epoch, leaders.pop() if leaders else -1, steps, told, min(s.at for s in rows), seen)


def _chain(changes: list[Said]) -> list[_Step]:
    """The states that the leader's changes pass through.

    A change that starts where the one before it had started proves that one was never written: the store refused it, or
    was out of reach. One that starts elsewhere follows a hole.
    """
    steps: list[_Step] = []
    for change in changes:
        if change.was is None or change.isr is None:
            continue
        if not steps:
            steps.append(_Step(change.was))
        elif steps[-1].isr != change.was:
            if len(steps) > 1 and not steps[-1].after_hole and steps[-2].isr == change.was:
                steps.pop()
            else:
                steps.append(_Step(change.was, after_hole=True))
        if change.written:
            steps.append(_Step(change.isr, change))
    return steps


def _close(term: _Term, counted: int | None, following: _Term | None) -> tuple[list[State], int | None, bool]:
    """States of one leader epoch, the partition epoch of the write after them if that is known, and whether the last is sure."""
    start = counted if counted is not None and term.begun_in_sight and term.fits(counted) else None
    if start is None:
        start = term.anchor()
    adjacent = following is not None and following.leader_epoch == term.leader_epoch + 1
    sure = following is not None and adjacent and term.in_sight(following.began)
    if following is not None and adjacent and following.steps and len(term.steps) == term.length:
        anchored = following.anchor()
        if start is not None and anchored is not None:
            room = anchored - start
            while len(term.steps) > max(room, 1) and term.steps[-1].change is not None:
                term.steps.pop()  # the next write's version leaves no room for it: it never reached the store
        elif term.steps[-1].change is not None and not set(following.steps[0].isr) <= set(term.steps[-1].isr):
            term.steps.pop()  # the controller found another ISR, or elected one who was not in it: who knows
            sure = False
    states, whole = _states(term, start)
    last = states[-1].partition_epoch
    return states, last + 1 if sure and whole and last is not None else None, sure and whole


@dataclass
class _Place:
    """A state as it will be put out: what proves it, its partition epoch if known, and the time that orders those without."""

    step: _Step
    proofs: list[Said]
    at: int
    epoch: int | None = None


def _states(term: _Term, start: int | None) -> tuple[list[State], bool]:
    """A leader epoch's states in order, its first with partition epoch `start`; and whether none before the last is missing."""
    length = term.length
    places = _places(term, start)
    chain = len(places)
    index = _Index(places)
    for said in term.told:
        if said.isr is not None:
            index.put(said, said.isr)
    places.sort(key=lambda p: (p.epoch is None, p.epoch or 0) if start is not None else (False, 0))
    if start is None and len(places) > chain:
        places.sort(key=lambda p: p.at)
    states = []
    for number, place in enumerate(places):
        proofs = place.proofs
        if not proofs:  # the first state, told only by the change that ended it
            proofs = list(islice((step.change for step in term.steps if step.change is not None), 1))
        since = min((p.at for p in proofs), default=term.began)
        by_leader = place.step.change is not None
        keys = tuple(p.key for p in proofs)
        states.append(
            State(term.leader_epoch, number, place.epoch, term.leader, place.step.isr, by_leader, since, keys)
        )
    return states, len(states) == length == len(term.steps)


def _places(term: _Term, start: int | None) -> list[_Place]:
    """The states of the chain; only those before its first hole get a partition epoch."""
    places, length = [], term.length
    for number, (step, after) in enumerate(pairwise([*term.steps, None])):
        if step is None:
            continue
        proof = step.change
        if proof is None and step.after_hole and after is not None:
            proof = after.change
        epoch = start + number if start is not None and number < length else None
        places.append(_Place(step, [proof] if proof else [], proof.at if proof else term.began, epoch))
    return places


class _Index:
    """Places by what a statement can tell of them."""

    def __init__(self, places: list[_Place]) -> None:
        self.places = places
        self.by_epoch = {place.epoch: place for place in places if place.epoch is not None}
        self.by_isr: dict[Isr, list[_Place]] = {}
        for place in places:
            self.by_isr.setdefault(place.step.isr, []).append(place)

    def put(self, said: Said, isr: Isr) -> None:
        """Add a statement to the state that it tells: the latest with its ISR that had begun by then, or a new one."""
        epoch = said.partition_epoch
        if epoch is not None and epoch in self.by_epoch:
            self.by_epoch[epoch].proofs.append(said)
            return
        alike = self.by_isr.setdefault(isr, [])
        begun = alike[: bisect_right(alike, said.at, key=lambda place: place.at)] or alike[:1]
        if begun and (epoch is None or begun[-1].epoch is None):
            begun[-1].proofs.append(said)
            if epoch is not None and len(alike) == 1:
                begun[-1].epoch = epoch
                self.by_epoch[epoch] = begun[-1]
            return
        place = _Place(_Step(isr), [said], said.at, epoch)
        self.places.append(place)
        insort(alike, place, key=lambda place: place.at)
        if epoch is not None:
            self.by_epoch[epoch] = place
