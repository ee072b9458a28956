"""What lines show of one KRaft partition, and when each state of it can have been written."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate

from schemas.kafka_values import NO_LEADER
from udfs.reconstruct.kraft_facts import ASSIGNMENT_CHANGED, REPLICAS_REMOVED, ControllerStep, KnownState, Shrink
from udfs.reconstruct.kraft_possible_state import PossibleState

SECOND = 1_000_000
FOREVER = 2**62
CLOCK_TOLERANCE = 1 * SECOND
"""A line may be dated so long before the step that made its state: clocks of two nodes, in microseconds."""
LOG_DELAY = 15 * SECOND
"""A line about a state comes at most so long after another took its place, and a new leader's so long after its
election, in microseconds."""
SAME_EVENT = SECOND // 10
"""A record that the controller logs so near to a step belongs to it, in microseconds."""
MOST_HIDDEN = 10
"""Partition epochs in a row that no line mentions; more are taken as missing logs."""
LEADS_SILENTLY = 30 * SECOND
"""A broker that leads for longer logs that it does, if its log is there, in microseconds."""

Coverage = Mapping[int, Sequence[tuple[int, int]]]
"""Broker -> spans of time in which its own log is there."""


class ShownStates:
    """States that lines show, by partition epoch, beside the controller's steps and the brokers' own logs."""

    def __init__(
        self,
        known: Sequence[KnownState],
        steps: Sequence[ControllerStep],
        coverage: Coverage,
        shrinks: Sequence[Shrink] | None,
    ) -> None:
        self.known, self.steps, self.coverage, self.shrinks = known, steps, coverage, shrinks
        self.written_at = {step.partition_epoch: step.at for step in steps if step.partition_epoch is not None}
        self.by_epoch = {state.partition_epoch: state for state in known}
        self.epochs = [state.partition_epoch for state in known]
        self.lasting = list(accumulate((state.at for state in known), max))
        """Of each known state, until when it lasted at least, but for LOG_DELAY: lines are about what is."""
        self.leader_epochs = {state.leader_epoch for state in known}
        self.last_epoch = known[-1].partition_epoch
        self.latest = self._latest()
        ids = ((state.leader, *(state.isr or ()), *(state.replicas or ()), *(state.eligible or ())) for state in known)
        self.members = frozenset(n for of_state in ids for n in of_state if n is not None and n >= 0)

    def _latest(self) -> dict[int, int]:
        """Partition epoch -> when it was there at the latest: first line of it, or of any later one."""
        latest: dict[int, int] = {}
        soonest = FOREVER
        for state in reversed(self.known):
            soonest = min(soonest, state.at)
            latest[state.partition_epoch] = soonest
        return latest

    def likely_replicas(self) -> tuple[int, ...] | None:
        """The assignment that lines show later, if it cannot have changed until then; else unknown."""
        shown = next((state for state in self.known if state.replicas), None)
        if shown is None or shown.replicas is None:
            return None
        moved = [step.at for step in self.steps if step.kind in (ASSIGNMENT_CHANGED, REPLICAS_REMOVED)]
        is_kept = all(at < self.known[0].at - LOG_DELAY or at > shown.at for at in moved)
        return tuple(shown.replicas) if is_kept else None

    def may_be_written(self, epoch: int, begins: int, ends: int) -> bool:
        """Whether a partition epoch can have been written in a span of time, by when lines show it."""
        known = self.by_epoch.get(epoch)
        following = bisect_left(self.epochs, epoch)
        if following and ends < self.lasting[following - 1] - LOG_DELAY:
            return False
        if known is None:
            return True
        if epoch in self.written_at:
            return begins - SAME_EVENT <= self.written_at[epoch] <= ends + SAME_EVENT
        return begins <= self.latest[epoch] + CLOCK_TOLERANCE and ends >= self.earliest(known)

    def earliest(self, known: KnownState) -> int:
        """When a state that lines show can have been written at the earliest.

        Who leads a new leader epoch logs it soon, if its log is there, and its own changes of the ISR; other changes
        nobody may log until a replica returns. A state that the controller printed was there no earlier than it.
        """
        if known.partition_epoch in self.written_at:
            return self.written_at[known.partition_epoch] - SAME_EVENT
        before = self.by_epoch.get(known.partition_epoch - 1)
        is_new_epoch = (
            before is not None
            and before.leader_epoch is not None
            and known.leader_epoch is not None
            and before.leader_epoch < known.leader_epoch
            and self._has_log(known.leader, known.at)
        )
        is_soon = is_new_epoch or known.by_leader or known.partition_epoch == 0
        return known.at - LOG_DELAY if is_soon else -FOREVER

    def _has_log(self, broker: int | None, at: int) -> bool:
        """Whether a broker's own log is there at a time; not of nobody, and not of one that is unknown."""
        return broker is not None and any(start <= at <= end for start, end in self.coverage.get(broker, ()))

    def is_printed_with(self, known: KnownState, step: ControllerStep) -> bool:
        """Whether the controller printed a state as it did something with a broker."""
        printed_at = self.written_at.get(known.partition_epoch)
        return printed_at is not None and step.broker is not None and abs(printed_at - step.at) <= SAME_EVENT

    def is_hidden_too_long(self, epoch: int) -> bool:
        """Whether more partition epochs in a row are hidden than are tried."""
        return all(epoch - n not in self.by_epoch for n in range(MOST_HIDDEN + 1))

    def covers(self, leader: int, epoch: int) -> bool:
        """Whether the leader's own log is there all the time around a partition epoch, while it leads."""
        following = bisect_left(self.epochs, epoch)
        before = self.known[max(following - 1, 0)]
        after = self.known[following] if following < len(self.known) else None
        is_same = after is not None and after.leader_epoch in (None, before.leader_epoch)
        until = after.at if after is not None and is_same else before.at
        return any(start <= before.at and until <= end for start, end in self.coverage.get(leader, ()))

    def shrinks_of(self, leader: int, begins: int, ends: int) -> set[frozenset[int]] | None:
        """The ISRs to which a leader says it shrinks, so that they may be written in a span of time; None unknown."""
        if self.shrinks is None:
            return None
        since, until = begins - LOG_DELAY, ends + CLOCK_TOLERANCE
        return {frozenset(one.isr) for one in self.shrinks if one.broker == leader and since <= one.at <= until}

    def is_within_term(self, epoch: int) -> bool:
        """Whether the states that are known before and after a partition epoch are of one leader epoch.

        Who leads otherwise may have come by a reassignment, which can leave any leader with any ISR.
        """
        before = [state for state in self.known if state.partition_epoch < epoch and state.is_complete]
        after = [state for state in self.known if state.partition_epoch > epoch and state.is_complete]
        return bool(before and after) and before[-1].leader_epoch == after[0].leader_epoch

    def is_lost(self, epoch: int) -> bool:
        """Whether lines show that an epoch has no leader, and all of the one before: that is no reassignment."""
        state, before = self.by_epoch.get(epoch), self.by_epoch.get(epoch - 1)
        return state is not None and state.leader == NO_LEADER and before is not None and before.is_complete

    def would_be_logged(self, state: PossibleState, begins: int, ends: int) -> bool:
        """Whether lines would show a leader epoch, for its leader's log is there, and it led long.

        Or a leader's own change of the ISR: it kept its place for so long that it logged the answer.
        """
        is_new = state.leader >= 0 and state.leader_epoch not in self.leader_epochs
        silence = LEADS_SILENTLY if is_new else LOG_DELAY if state.is_unlogged else FOREVER
        shown_by = begins + silence
        covered = self.coverage.get(state.leader, ())
        return shown_by <= ends and any(start <= begins and shown_by <= end for start, end in covered)
