"""What lines of a simulated KRaft partition decide, by brute force: all histories that fit them, one by one.

Written from PartitionChangeBuilder and ReplicationControlManager for the clusters of `tests.simulated_kraft`, with the
times that docs/inference.md grants lines; shares no code with the engine, which merges and gives up histories.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import NamedTuple

from tests.simulated_kraft import Evidence
from udfs.reconstruct.kraft_facts import ASSIGNMENT_CHANGED, UNFENCED, ControllerStep, KnownState

SECOND = 1_000_000
EARLY, LATE, SILENT = 1 * SECOND, 15 * SECOND, 30 * SECOND
"""A line is so much before its state at most, and after it was over; a leader that leads for longer logs it."""
FOREVER = 2**60
MOST_TRIED, MOST_AFTER = 200_000, 8


class TooMany(Exception):
    """More histories than are tried."""


class History(NamedTuple):
    """Where a history is: its last state, since when at the earliest, and whether its leader has yet to log it."""

    epoch: int
    leader: int
    leader_epoch: int
    isr: frozenset[int]
    replicas: tuple[int, ...]
    since: int
    is_unlogged: bool = False


Value = tuple[int, int, list[int]]
"""Leader, leader epoch and ISR, sorted."""


class Oracle:
    """All histories of one partition from its creation to the end of the logs; `raises`: until 3.5."""

    def __init__(self, evidence: Evidence, partition: int, partitions: int, *, raises: bool) -> None:
        self.known = {state.partition_epoch: state for state in evidence.known[partition]}
        self.steps = evidence.steps[partition]
        self.coverage, self.partitions, self.raises = evidence.coverage, partitions, raises
        self.last, self.until = max(self.known), evidence.until
        self.ends: set[int] = set()
        """Partition epochs that histories end with."""
        self.logged = {state.leader_epoch for state in self.known.values()}
        self.inactive = list(self._inactive(self.steps))
        self.possible: dict[int, list[Value]] = {}
        self.fits: dict[tuple[int, History], bool] = {}

    def decidable(self) -> dict[int, Value]:
        """States that no line states in full and all histories share. Raises TooMany."""
        first = self.known[0]
        assert first.is_complete
        start = History(
            0, first.leader or 0, first.leader_epoch or 0, frozenset(first.isr or ()), tuple(first.replicas or ()), 0
        )
        self._is_possible(0, start)
        return {
            epoch: values[0]
            for epoch, values in self.possible.items()
            if len(values) == 1
            and epoch <= min(self.ends)
            and not (epoch in self.known and self.known[epoch].is_complete)
        }

    @staticmethod
    def _inactive(steps: Sequence[ControllerStep]) -> Iterator[frozenset[int]]:
        """Before each step, and after the last, who cannot lead."""
        gone: frozenset[int] = frozenset()
        yield gone
        for step in steps:
            if step.broker is not None:
                gone = gone - {step.broker} if step.kind == UNFENCED else gone | {step.broker}
            yield gone

    def _is_possible(self, number: int, now: History) -> bool:
        """Whether a history, after `number` steps, can go on to the end of the logs, through all that is known."""
        if (number, now) not in self.fits:
            if len(self.fits) > MOST_TRIED:
                raise TooMany
            # what goes on for so long after the last line is taken to go on somehow
            is_long = now.epoch > self.last + MOST_AFTER
            later = [] if is_long else [self._is_possible(*after) for after in self._next(number, now)]
            is_last = number == len(self.steps) and now.epoch >= self.last and self._can_last(now, self.until)
            is_end = is_long or is_last
            if is_end:
                self.ends.add(now.epoch)
            self.fits[number, now] = is_end or any(later)
            if self.fits[number, now]:
                self._add(now)
        return self.fits[number, now]

    def _add(self, now: History) -> None:
        value, others = (now.leader, now.leader_epoch, sorted(now.isr)), self.possible.setdefault(now.epoch, [])
        if value not in others:
            others.append(value)

    def _next(self, number: int, now: History) -> Iterator[tuple[int, History]]:
        """All that can come next: a record before the next step, or that step."""
        begin = max(now.since, self.steps[number - 1].at if number else 0)
        end = self.steps[number].at if number < len(self.steps) else self.until
        for after in self._without_a_line(number, now):
            if (written := self._written(now, after, begin, end)) is not None:
                yield number, written
        if number == len(self.steps) or not self._can_last(now, end):
            return
        step = self.steps[number]
        after_step = self._by_step(number, now, step)
        if step.kind != ASSIGNMENT_CHANGED and (after_step is None) != (step.changed == 0) and self._is_counted(step):
            return
        if after_step is None:
            yield number + 1, now
        elif (written := self._written(now, after_step, step.at, step.at)) is not None:
            yield number + 1, written

    def _is_counted(self, step: ControllerStep) -> bool:
        return step.changed in (0, self.partitions)

    def _without_a_line(self, number: int, now: History) -> Iterator[History]:
        """A change of the ISR by the leader, or a preferred election."""
        if now.leader < 0:
            return
        others = sorted(now.isr - {now.leader})
        for followers in chain.from_iterable(combinations(others, size) for size in range(len(others))):
            isr = frozenset({now.leader, *followers})
            after = now._replace(isr=isr, leader_epoch=now.leader_epoch + self.raises)
            yield after if self.raises else after._replace(is_unlogged=True)
        for replica in now.replicas:
            if replica not in now.isr | self.inactive[number]:
                yield now._replace(isr=now.isr | {replica}, is_unlogged=True)
        preferred = now.replicas[0]
        if preferred != now.leader and preferred in now.isr - self.inactive[number]:
            yield now._replace(leader=preferred, leader_epoch=now.leader_epoch + 1, is_unlogged=False)

    def _by_step(self, number: int, now: History, step: ControllerStep) -> History | None:
        """What a step makes of a state; None if it leaves it."""
        if step.kind == ASSIGNMENT_CHANGED:
            return now._replace(replicas=tuple(step.replicas or now.replicas), is_unlogged=False)
        broker = step.broker
        if broker is None or broker not in now.isr:
            return None
        if step.kind == UNFENCED:
            elected = now._replace(leader=broker, leader_epoch=now.leader_epoch + 1, is_unlogged=False)
            return elected if now.leader < 0 else None
        others = now.isr - {broker}
        if not others:
            is_written = now.leader >= 0 or self.raises
            lost = now._replace(leader=-1, leader_epoch=now.leader_epoch + 1, is_unlogged=False)
            return lost if is_written else None
        if now.leader in others:
            return now._replace(isr=others, leader_epoch=now.leader_epoch + self.raises, is_unlogged=False)
        leader = next((r for r in now.replicas if r in others - self.inactive[number]), -1)
        return now._replace(leader=leader, leader_epoch=now.leader_epoch + 1, isr=others, is_unlogged=False)

    def _written(self, now: History, after: History, begin: int, end: int) -> History | None:
        """The history with a record written in a span of time; None if lines speak against it."""
        epoch = now.epoch + 1
        shown, before = self.known.get(epoch), self.known.get(now.epoch)
        is_by_leader = shown is not None and shown.by_leader
        is_own_change = after.is_unlogged
        if is_by_leader and not (is_own_change or (self.raises and after.isr < now.isr)):
            return None
        if now.is_unlogged and after.leader_epoch == now.leader_epoch:
            return None  # who logs no answer makes no further change, and keeps its place no longer
        # a line about the state before is late by LATE at most
        begin = max(begin, before.at - LATE if before is not None else 0)
        if shown is not None:
            end = min(end, shown.at + EARLY)
            begin = max(begin, shown.at - LATE if is_by_leader else 0)
            if not self._agree(after, shown):
                return None
        written = after._replace(
            epoch=epoch, since=begin, is_unlogged=is_own_change and not is_by_leader and self._covers(now.leader, begin)
        )
        return written if begin <= end and self._can_last(now, begin) else None

    @staticmethod
    def _agree(state: History, shown: KnownState) -> bool:
        return (
            shown.leader in (None, state.leader)
            and shown.leader_epoch in (None, state.leader_epoch)
            and (shown.isr is None or frozenset(shown.isr) == state.isr)
        )

    def _covers(self, broker: int, at: int) -> bool:
        return any(since <= at <= until for since, until in self.coverage.get(broker, ()))

    def _can_last(self, now: History, until: int) -> bool:
        """Whether a state can last until then: its leader would have logged its leader epoch, or its own change."""
        is_new = now.leader >= 0 and now.leader_epoch not in self.logged
        silence = SILENT if is_new else LATE if now.is_unlogged else FOREVER
        logs_by = now.since + silence
        spans = self.coverage.get(now.leader, ())
        return logs_by > until or not any(since <= now.since and logs_by <= end for since, end in spans)
