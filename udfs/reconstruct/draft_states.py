"""States of one leader epoch in the making, by what an observation can state of them."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass

from udfs.reconstruct.epoch_observations import EpochObservation, Isr

CLOCKS_US = 1_000_000
"""Nodes' clocks may be so far apart: nobody reports a leader's change by more before the leader says it makes it."""


@dataclass
class DraftStep:
    """A state in the making; `change` is the leader's line that made it, None for the controller's write or unknown."""

    isr: Isr
    change: EpochObservation | None = None
    after_hole: bool = False


@dataclass
class DraftState:
    """A state in the making: what proves it, its partition epoch if known, and the time that orders those without."""

    step: DraftStep
    proofs: list[EpochObservation]
    at: int
    epoch: int | None = None


class DraftIndex:
    """Draft states by what an observation can state of them."""

    def __init__(self, drafts: list[DraftState]) -> None:
        self.drafts = drafts
        self.by_epoch = {draft.epoch: draft for draft in drafts if draft.epoch is not None}
        self.by_isr: dict[Isr, list[DraftState]] = {}
        for draft in drafts:
            self.by_isr.setdefault(draft.step.isr, []).append(draft)
        self.last_report: DraftState | None = None

    def put(self, observation: EpochObservation, isr: Isr) -> None:
        """Add an observation to its state: the latest with its ISR that had begun by then, or a new one."""
        epoch = observation.partition_epoch
        if epoch is not None and epoch in self.by_epoch:
            self.by_epoch[epoch].proofs.append(observation)
            return
        alike = self.by_isr.setdefault(isr, [])
        if (resumed := self._resumed(alike, observation.at)) is not None:
            resumed.proofs.append(observation)
            resumed.epoch = epoch if epoch is not None else resumed.epoch
            if epoch is not None:
                self.by_epoch[epoch] = resumed
            return
        begun = alike[: bisect_right(alike, observation.at, key=lambda draft: draft.at)]
        is_alone = epoch is None and bool(self.by_epoch)
        if not begun and (is_alone or not self._is_before_chain(alike, observation.at)):
            begun = alike[:1]
        if begun and epoch is not None and self._is_left_before(begun[-1], epoch):
            begun = []
        if begun and (epoch is None or begun[-1].epoch is None):
            begun[-1].proofs.append(observation)
            if epoch is not None and len(alike) == 1:
                begun[-1].epoch = epoch
                self.by_epoch[epoch] = begun[-1]
            return
        draft = DraftState(DraftStep(isr), [observation], observation.at, epoch)
        self.drafts.append(draft)
        insort(alike, draft, key=lambda draft: draft.at)
        if epoch is not None:
            self.by_epoch[epoch] = draft
            self.last_report = draft if observation.is_report else self.last_report

    def _is_left_before(self, draft: DraftState, epoch: int) -> bool:
        """Whether the leader reported another state since a draft, which has no partition epoch, before one of this
        epoch: it came back to that ISR, so they are two."""
        report = self.last_report
        return draft.epoch is None and report is not None and draft.at < report.at and (report.epoch or 0) < epoch

    def _resumed(self, alike: Sequence[DraftState], at: int) -> DraftState | None:
        """The state from which the leader goes on behind a hole in its log, if a time is in that hole, and no other
        state is known to have begun since."""
        resumed = next((d for d in alike if d.step.after_hole and d.epoch is None and d.at > at), None)
        if resumed is None or any(at < draft.at < resumed.at for draft in self.drafts):
            return None
        return resumed

    def _is_before_chain(self, alike: Sequence[DraftState], at: int) -> bool:
        """Whether a time is before the leader made any of some states: there was one like them before its first line
        that is known."""
        return bool(alike) and alike[0].step.change is not None and at < alike[0].at - CLOCKS_US
