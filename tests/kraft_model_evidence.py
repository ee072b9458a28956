"""Lines of `tests.kraft_model` as the engine takes them, and what is left where logs begin late or have holes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from udfs.reconstruct.kraft_engine_columns import following_rows
from udfs.reconstruct.kraft_facts import ControllerStep, KnownState, PartitionRules, Shrink

Spans = Mapping[int, Sequence[tuple[int, int]]]


class ModelEvidence(NamedTuple):
    """What lines show of one partition; `logged`: when the controller's log is there, None if never."""

    known: Sequence[KnownState]
    steps: Sequence[ControllerStep]
    shrinks: Sequence[Shrink]
    rules: PartitionRules
    coverage: Spans
    logged: Sequence[tuple[int, int | None, bool]] | None

    def from_time(self, begin: int) -> ModelEvidence:
        """What is left where all logs begin only then, in microseconds."""
        return self._replace(
            known=[state for state in self.known if state.at >= begin],
            steps=[step for step in self.steps if step.at >= begin],
            shrinks=[shrink for shrink in self.shrinks if shrink.at >= begin],
            coverage={n: [(max(a, begin), b) for a, b in spans if b > begin] for n, spans in self.coverage.items()},
            logged=[(begin, None, True)],
        )

    def without_controller(self, begin: int, end: int) -> ModelEvidence:
        """What is left where the controller's log has a hole."""
        return self._replace(
            steps=[step for step in self.steps if not begin < step.at < end],
            logged=[(0, begin, True), (end, None, True)],
        )

    def follows(self) -> dict[int, tuple[int, int | None, list[int] | None, int | None]]:
        """Partition epoch -> leader, leader epoch, ISR and time of states that follow, which no line shows in full."""
        rows: list[Any] = [(*state, True, False) for state in self.known]
        covered = [(n, *span) for n, spans in self.coverage.items() for span in spans]
        logged = None if self.logged is None else list(self.logged)
        follows = following_rows(rows, list(self.steps), self.rules, covered, logged, None, list(self.shrinks))
        complete = {state.partition_epoch for state in self.known if state.is_complete}
        states = [state for own, inserted in follows or () for state in ([own] if own else []) + (inserted or [])]
        return {state[0]: (*state[1:4], state[5]) for state in states if state[0] not in complete}


def as_evidence(
    lines: Sequence[KnownState],
    steps: Sequence[ControllerStep],
    shrinks: Sequence[Shrink],
    rules: PartitionRules,
    coverage: Spans,
) -> ModelEvidence:
    """One state for each partition epoch, with what any of its lines shows. A change by the leader keeps its epoch."""
    by_epoch: dict[int, list[KnownState]] = {}
    for line in lines:
        by_epoch.setdefault(line.partition_epoch, []).append(line)
    known: list[KnownState] = []
    for epoch, of_epoch in sorted(by_epoch.items()):

        def first(name: str, states: Sequence[KnownState] = of_epoch) -> Any:
            return next((value for state in states if (value := getattr(state, name)) is not None), None)

        leader_epoch, at = first("leader_epoch"), min(state.at for state in of_epoch)
        if leader_epoch is None and known and known[-1].partition_epoch == epoch - 1:
            leader_epoch = known[-1].leader_epoch
        known.append(
            KnownState(
                epoch, first("leader"), leader_epoch, first("isr"), None, first("replicas"), first("unassigned"), at,
                any(state.by_leader for state in of_epoch),
            )
        )  # fmt: skip
    in_order = sorted(steps, key=lambda step: (step.at, step.line))
    return ModelEvidence(known, in_order, shrinks, rules, coverage, [(0, None, True)])
