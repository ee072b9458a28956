"""One leader epoch of a partition whose states lines seldom number: the chain of its leader's changes, and where
printed partition epochs place it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from operator import itemgetter

from schemas.kafka_values import NO_LEADER
from udfs.reconstruct.draft_states import CLOCKS_US, DraftStep
from udfs.reconstruct.epoch_observations import EpochObservation, Isr

MOST_PRINTED = 100
"""Printed partition epochs of one leader epoch that are tried to place its chain; they agree or never will."""


@dataclass
class LeaderTerm:
    """One leader epoch: its states in order, as the leader's changes have them, and all other observations.

    `began` is the time of its first line, `coverage` the span of the leader's own log around it.
    """

    leader_epoch: int
    leader: int
    steps: list[DraftStep]
    observations: list[EpochObservation]
    began: int
    coverage: tuple[int, int] | None
    changes: list[EpochObservation] = field(default_factory=list)
    """All that the leader logged, whether they were written or not."""
    oldest: EpochObservation | None = None
    """The first line about it."""
    begin: EpochObservation | None = None
    """The line of the leader that it began it."""

    @property
    def printed_at(self) -> dict[tuple[Isr, int], int]:
        """ISRs that lines print together with their partition epoch, and when the first one does."""
        printed: dict[tuple[Isr, int], int] = {}
        for o in self.observations:
            if o.isr is not None and o.partition_epoch is not None:
                key = o.isr, o.partition_epoch
                printed[key] = min(o.at, printed.get(key, o.at))
        return printed

    @property
    def last_at(self) -> int:
        """The time of the last line about it."""
        return max((o.at for o in self.observations), default=self.began)

    @property
    def may_go_on(self) -> bool:
        """Whether there may be states behind the chain: behind a hole, and a change that the store did not confirm."""
        return self.length < len(self.steps) or any(not change.is_accepted for change in self.changes)

    @property
    def lacks_changes(self) -> bool:
        """Whether a line shows an ISR before the leader logs any change that leads to it, or, before it logs any change
        at all, another one than that from which its first one starts: a change is lost."""
        first_at: dict[Isr, float] = {}
        for step in self.steps:
            at = -inf if step.change is None else step.change.at - CLOCKS_US
            first_at[step.isr] = min(at, first_at.get(step.isr, inf))
        begins = min((change.at for change in self.changes), default=-inf) - CLOCKS_US
        return any(o.isr is not None and o.at < first_at.get(o.isr, begins) for o in self.observations)

    def fits(self, start: int) -> bool:
        """Whether no printed partition epoch speaks against the first state having partition epoch `start`: none is of
        another ISR, before it, or, where the leader's log is whole, behind all that the leader logged; and none is
        printed before the leader logs that it makes it."""
        length, is_whole = self.length, self.is_covered_to(self.last_at) and not self.may_go_on
        for (isr, epoch), at in self.printed_at.items():
            if epoch < start or (is_whole and epoch - start >= length):
                return False
            if epoch - start < length and not self._may_be(epoch - start, isr, at):
                return False
        return True

    def _may_be(self, number: int, isr: Isr, at: int) -> bool:
        """Whether a state that was printed at a time may be that of a step."""
        step = self.steps[number]
        return step.isr == isr and (step.change is None or at >= step.change.at - CLOCKS_US)

    @property
    def length(self) -> int:
        """Steps before the first hole."""
        return next((n for n, step in enumerate(self.steps) if step.after_hole), len(self.steps))

    @property
    def is_covered_from_start(self) -> bool:
        """Whether no change of the ISR can be missing before the first logged one; without a leader there is none."""
        return self.leader < 0 or (self.coverage is not None and self.coverage[0] <= self.began)

    @property
    def is_covered_to_first_change(self) -> bool:
        """Whether the ISR from which the leader's first logged change starts is the one that the controller wrote."""
        return self.is_covered_from_start and all(self.is_covered_to(change.at) for change in self.changes[:1])

    @property
    def begins_with(self) -> set[int]:
        """Who was surely in sync as the leader epoch began."""
        return set(self.steps[0].isr) if self.steps else {self.leader} - {NO_LEADER}

    def first_isr(self, partition_epoch: int | None) -> Isr | None:
        """The ISR that the controller wrote, if its partition epoch is such; None unknown."""
        printed = {epoch: isr for isr, epoch in self.printed_at}
        if printed:
            return printed.get(partition_epoch) if partition_epoch is not None else None
        return self.steps[0].isr if self.changes and self.steps else None

    def is_covered_to(self, end: int) -> bool:
        """Whether no change of the ISR can be missing up to a time."""
        return self.leader < 0 or (self.is_covered_from_start and self.coverage is not None and end <= self.coverage[1])

    @property
    def ends_in_doubt(self) -> bool:
        """Whether the leader's last change may never have been written: no other line states what it led to."""
        last = self.steps[-1].change
        if last is None or not last.is_doubtful:
            return False
        return not any(o.isr == last.isr and o.at >= last.at for o in self.observations)

    def anchor(self) -> int | None:
        """The first state's partition epoch by printed ones alone.

        None if they leave a choice or contradict the chain, or if they may belong to a state that is not in it.
        """
        if not self.is_covered_to(self.last_at):
            return None
        printed = sorted(((epoch, isr, at) for (isr, epoch), at in self.printed_at.items()), key=itemgetter(0))
        if not printed:
            return None
        steps = self.steps[: self.length]
        epoch, isr, at = printed[0]
        starts = {epoch - n for n in range(len(steps)) if self._may_be(n, isr, at)}
        for epoch, isr, at in printed[1:MOST_PRINTED]:
            if len(starts) < 2:
                break
            starts = {
                s
                for s in starts
                if epoch >= s and (self._may_be(epoch - s, isr, at) if epoch - s < len(steps) else self.may_go_on)
            }
        return starts.pop() if len(starts) == 1 and self.fits(max(starts)) else None
