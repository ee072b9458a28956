"""All partitions of a KRaft cluster at once: how many a step changed tells which, where histories leave a choice.

A controller logs `handleBrokerFenced: changing 3 partition(s)`. Where three surely changed no other did; where only
three can have, these did. Each answer may decide further steps of that partition, and so others' counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from udfs.reconstruct.kraft_engine import explain
from udfs.reconstruct.kraft_explanations import Explanation
from udfs.reconstruct.kraft_facts import ControllerStep, KnownState, PartitionRules
from udfs.reconstruct.kraft_shown import Coverage

Partition = TypeVar("Partition", bound=Hashable)
StepKey = tuple[str | None, int]
"""File and line of a step."""


class PartitionInput(NamedTuple):
    """What `udfs.reconstruct.kraft_engine.explain` takes of one partition."""

    known: Sequence[KnownState]
    steps: Sequence[ControllerStep]
    rules: PartitionRules
    coverage: Coverage
    until: int


def explain_together(partitions: Mapping[Partition, PartitionInput], *, is_whole: bool) -> dict[Partition, Explanation]:
    """What follows for each partition of a cluster, counts of changed partitions included.

    `is_whole`: no partition of the cluster is missing. Else a count can only tell which did not change.
    """
    answers: dict[Partition, dict[int, bool]] = {name: {} for name in partitions}
    explanations: dict[Partition, Explanation] = {}
    open_partitions = set(partitions)
    while open_partitions:
        for name in open_partitions:
            explanations[name] = explain(*partitions[name], answers[name])
        open_partitions = _decided(partitions, explanations, answers, is_whole=is_whole)
    return explanations


def _decided(
    partitions: Mapping[Partition, PartitionInput],
    explanations: Mapping[Partition, Explanation],
    answers: Mapping[Partition, dict[int, bool]],
    *,
    is_whole: bool,
) -> set[Partition]:
    """Add what counts decide to `answers`; the partitions for which that is new."""
    counts: dict[StepKey, int] = {}
    sure: dict[StepKey, int] = {}
    choices: dict[StepKey, list[tuple[Partition, int]]] = {}
    for name, evidence in partitions.items():
        for position, step in enumerate(evidence.steps):
            if step.changed is None:
                continue
            key = (step.file_id, step.line)
            counts[key] = step.changed
            has_changed = answers[name].get(position, explanations[name].changes.get(position))
            sure[key] = sure.get(key, 0) + (has_changed is True)
            if has_changed is None:
                choices.setdefault(key, []).append((name, position))
    news: set[Partition] = set()
    for key, undecided in choices.items():
        missing = counts[key] - sure[key]
        if missing == 0 or (is_whole and missing == len(undecided)):
            for name, position in undecided:
                answers[name][position] = missing > 0
                news.add(name)
    return news
