"""`udfs.reconstruct.kraft_engine` on columns: a UDF over one partition's whole history."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemas.spark import EVIDENCE, FLAG, IDS, INT, LONG, TEXT, struct
from udfs.reconstruct.kraft_engine import FOREVER, InferredState, explain
from udfs.reconstruct.kraft_records import ControllerStep, KnownState, PartitionRules

CONTROLLER_STEP = struct(
    at=LONG, node_id=INT, file_id=TEXT, line=LONG, kind=TEXT, broker=INT, leader=INT, isr=IDS, replicas=IDS,
    unassigned=IDS, changed=INT, is_sure=FLAG, partition_epoch=INT,
)  # fmt: skip
"""`udfs.reconstruct.kraft_records.ControllerStep`."""
KNOWN_STATE = struct(
    partition_epoch=INT, leader=INT, leader_epoch=INT, isr=IDS, eligible=IDS, replicas=IDS, unassigned=IDS, at=LONG,
    by_leader=FLAG, is_contradictory=FLAG,
)  # fmt: skip
"""`udfs.reconstruct.kraft_records.KnownState`, and whether lines contradict each other about it."""
PARTITION_RULES = struct(
    keeps_last_member=FLAG, raises_epoch_of_shrink=FLAG, raises_epoch_of_last_member=FLAG, has_directories=FLAG
)
"""`udfs.reconstruct.kraft_records.PartitionRules`."""
COVERED = struct(broker=INT, since=LONG, until=LONG)
"""A span in which a broker's own log is there."""
FOLLOWING_STATE = struct(
    partition_epoch=INT, leader=INT, leader_epoch=INT, isr=IDS, replicas=IDS, at=LONG, evidence=EVIDENCE
)
"""What follows of one partition epoch; `at` and `evidence`: the step that made it, null where histories differ."""
FOLLOWING = T.StructType(
    [T.StructField("own", FOLLOWING_STATE), T.StructField("inserted", T.ArrayType(FOLLOWING_STATE))]
)
"""What follows of a known state itself, null if nothing does, and of those between it and the next known one."""


def _following(
    known: list[Any] | None, steps: list[Any] | None, rules: Any, covered: list[Any] | None, until: int | None
) -> list[Any] | None:
    """See `following`."""
    if not known or rules is None:
        return None
    in_order = sorted((ControllerStep(*step) for step in steps or ()), key=lambda step: (step.at, step.line))
    coverage: dict[int, list[tuple[int, int]]] = {}
    for broker, since, end in covered or ():
        coverage.setdefault(broker, []).append((since, end))
    states: dict[int, InferredState] = {}
    for part in _without_contradictions(known):
        explanation = explain(part, in_order, PartitionRules(*rules), coverage, FOREVER if until is None else until)
        states |= explanation.states
    epochs = [row[0] for row in known]
    last = max((*epochs, *states))
    rows = []
    for n, (epoch, next_epoch) in enumerate(zip(epochs, [*epochs[1:], last + 1], strict=True)):
        own = _row(states[epoch], in_order, None) if epoch in states else None
        # of unknown time it is as old as the first line about a later one
        proven_at = min((row[7] for row in known[n + 1 :]), default=known[n][7])
        between = [states[e] for e in range(epoch + 1, next_epoch) if e in states]
        rows.append((own, [_row(state, in_order, proven_at) for state in between] or None))
    return rows


def _without_contradictions(known: list[Any]) -> list[list[KnownState]]:
    """Successive states, apart where lines contradict each other: what was before is not known to hold after."""
    parts: list[list[KnownState]] = [[]]
    for row in known:
        *state, is_contradictory = row
        if is_contradictory:
            parts.append([])
        else:
            parts[-1].append(KnownState(*state))
    return [part for part in parts if part]


def _row(state: InferredState, steps: list[ControllerStep], proven_at: int | None) -> tuple[Any, ...]:
    """A FOLLOWING_STATE, at the time of its step, else at another; with the assignment that its record prints."""
    if state.step is None:
        return (*state[:4], None, proven_at, None)
    step = steps[state.step]
    return (*state[:4], step.replicas, step.at, [(step.node_id, step.file_id, step.line)])


following = F.udf(_following, T.ArrayType(FOLLOWING), useArrow=False)
"""`following(known, steps, rules, covered, until)` -> a FOLLOWING for each of one partition's KNOWN_STATEs.

These are in order. Of its brokers and of itself: CONTROLLER_STEPs, COVERED spans; `until`: end of its topic, or null.
Null if `rules` is.
"""
