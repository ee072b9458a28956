"""`udfs.reconstruct.kraft_engine` on columns: a UDF over one partition's whole history."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemas.spark import EVIDENCE, FLAG, IDS, INT, LONG, TEXT, struct
from udfs.reconstruct.kraft_engine import explain
from udfs.reconstruct.kraft_explanations import InferredState
from udfs.reconstruct.kraft_facts import (
    DIRECTORY_LISTED,
    DIRECTORY_LOST,
    REPLICA_LOST,
    SHOWN,
    ControllerStep,
    KnownState,
    PartitionRules,
    Shrink,
)
from udfs.reconstruct.kraft_shown import FOREVER

CONTROLLER_STEP = struct(
    at=LONG, node_id=INT, file_id=TEXT, line=LONG, kind=TEXT, broker=INT, leader=INT, isr=IDS, replicas=IDS,
    unassigned=IDS, changed=INT, is_sure=FLAG, partition_epoch=INT,
)  # fmt: skip
"""`udfs.reconstruct.kraft_records.ControllerStep`."""
KNOWN_STATE = struct(
    partition_epoch=INT, leader=INT, leader_epoch=INT, isr=IDS, eligible=IDS, replicas=IDS, unassigned=IDS, at=LONG,
    by_leader=FLAG, by_broker=FLAG, is_contradictory=FLAG,
)  # fmt: skip
"""`udfs.reconstruct.kraft_records.KnownState`, whether a broker shows it, and whether lines contradict each other."""
PARTITION_RULES = struct(
    keeps_last_member=FLAG, raises_epoch_of_shrink=FLAG, raises_epoch_of_last_member=FLAG, has_directories=FLAG
)
"""`udfs.reconstruct.kraft_records.PartitionRules`."""
COVERED = struct(broker=INT, since=LONG, until=LONG)
"""A span in which a broker's own log is there."""
SHRINK = struct(broker=INT, at=LONG, isr=IDS)
"""`udfs.reconstruct.kraft_records.Shrink`."""
LOGGED = struct(since=LONG, until=LONG, is_there=FLAG)
"""A span in which the log of the active controller is there, or a term of which it is not."""
FAILOVER_US = 60_000_000
"""So long there may be no active controller, and a line may be before or after its log, in microseconds."""
SAME_FAILURE_US = 15_000_000
"""A broker and the controller log one failed directory within so many microseconds."""
FOLLOWING_STATE = struct(
    partition_epoch=INT, leader=INT, leader_epoch=INT, isr=IDS, replicas=IDS, at=LONG, evidence=EVIDENCE
)
"""What follows of one partition epoch; `at` and `evidence`: the step that made it; where histories differ about that,
of a state that lines show, too, the first step behind it in all of them; else null."""
FOLLOWING = T.StructType(
    [T.StructField("own", FOLLOWING_STATE), T.StructField("inserted", T.ArrayType(FOLLOWING_STATE))]
)
"""What follows of a known state itself, null if nothing does, and of those between it and the next known one."""


def following_rows(
    known: list[Any] | None,
    steps: list[Any] | None,
    rules: Any,
    covered: list[Any] | None,
    logged: list[Any] | None,
    until: int | None,
    shrinks: list[Any] | None = None,
) -> list[Any] | None:
    """See `following`; rows as tuples."""
    if not known or rules is None:
        return None
    in_order = _with_lost_replicas(ControllerStep(*step) for step in steps or ())
    leaders_shrinks = None if shrinks is None else [Shrink(*shrink) for shrink in shrinks]
    coverage: dict[int, list[tuple[int, int]]] = {}
    for broker, since, end in covered or ():
        coverage.setdefault(broker, []).append((since, end))
    states: dict[int, tuple[InferredState, list[ControllerStep]]] = {}
    spans = [(-FOREVER, FOREVER)] if logged is None else _merged(logged)
    first_epoch = max((step.partition_epoch or 0 for step in in_order if step.is_creation), default=0)
    for part in _without_contradictions([row for row in known if row[0] >= first_epoch]):
        for since, end in spans:
            own_steps = [step for step in in_order if since <= step.at <= end]
            shown = {step.partition_epoch for step in own_steps if step.kind == SHOWN}
            own_known = [
                state
                for state, by_broker in part
                if since <= state.at <= end and (logged is None or by_broker or state.partition_epoch in shown)
            ]
            ends = end if until is None else min(until, end)
            inferred = explain(
                own_known, own_steps, PartitionRules(*rules), coverage, ends,
                has_controller_log=logged is not None, shrinks=leaders_shrinks,
            ).states  # fmt: skip
            states |= {e: (state, own_steps) for e, state in inferred.items()}
    epochs = [row[0] for row in known]
    last, in_order_of_epochs = max((*epochs, *states)), sorted(states)
    rows = []
    for n, (epoch, next_epoch) in enumerate(zip(epochs, [*epochs[1:], last + 1], strict=True)):
        own = _row(*states[epoch], None) if epoch in states else None
        # of unknown time it is as old as the first line about a later one
        proven_at = min((row[7] for row in known[n + 1 :]), default=known[n][7])
        # a damaged line may print an epoch that is far beyond all others
        between = in_order_of_epochs[
            bisect_right(in_order_of_epochs, epoch) : bisect_left(in_order_of_epochs, next_epoch)
        ]
        rows.append((own, [_row(*states[e], proven_at) for e in between] or None))
    return rows


def _with_lost_replicas(steps: Iterable[ControllerStep]) -> list[ControllerStep]:
    """Steps in order: a failed directory is one of this partition's where the broker's own line names it about then,
    and not where it names others only."""
    in_order = sorted(steps, key=lambda step: (step.at, step.line))
    named = [step for step in in_order if step.kind == REPLICA_LOST]

    def is_named(step: ControllerStep) -> bool:
        return any(line.broker == step.broker and abs(line.at - step.at) <= SAME_FAILURE_US for line in named)

    return [
        step._replace(kind=REPLICA_LOST) if step.kind in (DIRECTORY_LOST, DIRECTORY_LISTED) and is_named(step) else step
        for step in in_order
        if step.kind != REPLICA_LOST and (step.kind != DIRECTORY_LISTED or is_named(step))
    ]


def _merged(logged: Iterable[tuple[int, int | None, bool]]) -> list[tuple[int, int]]:
    """Spans of terms as one where no more than FAILOVER_US is between them, each longer by as much at both ends,
    without those of terms that nobody logged."""
    rows = sorted((since, FOREVER if until is None else until, is_there) for since, until, is_there in logged)
    spans: list[tuple[int, int]] = []
    for since, until in ((since - FAILOVER_US, until + FAILOVER_US) for since, until, is_there in rows if is_there):
        if spans and since <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], until)
        else:
            spans.append((since, until))
    for since, until in ((since, until) for since, until, is_there in rows if not is_there):
        parts = [part for begin, end in spans for part in ((begin, min(end, since)), (max(begin, until), end))]
        spans = [(begin, end) for begin, end in parts if begin < end]
    return spans


def _without_contradictions(known: list[Any]) -> list[list[tuple[KnownState, bool]]]:
    """Successive states, each with whether a broker shows it, apart where lines contradict each other: what was before
    is not known to hold after."""
    parts: list[list[tuple[KnownState, bool]]] = [[]]
    for row in known:
        *state, by_broker, is_contradictory = row
        if is_contradictory:
            parts.append([])
        else:
            parts[-1].append((KnownState(*state), by_broker))
    return [part for part in parts if part]


def _row(state: InferredState, steps: list[ControllerStep], proven_at: int | None) -> tuple[Any, ...]:
    """A FOLLOWING_STATE, at the time of the one of `steps` that made it, with the assignment that its record prints.

    Else at `proven_at`, null of a state that lines show: that one is at the time of the first step behind it.
    """
    index = state.shown_by if state.step is None and proven_at is None else state.step
    if index is None:
        return (*state[:4], None, proven_at, None)
    step = steps[index]
    replicas = None if state.step is None else step.replicas
    return (*state[:4], replicas, step.at, [(step.node_id, step.file_id, step.line)])


following = F.udf(following_rows, T.ArrayType(FOLLOWING), useArrow=False)
"""`following(known, steps, rules, covered, logged, until, shrinks)`: a FOLLOWING for each KNOWN_STATE of a partition.

These are in order. A state that only controllers show counts if the active one does: others replay all records as they
start. Of its brokers and of itself: CONTROLLER_STEPs, COVERED spans; of its cluster: LOGGED spans, outside
of which nothing follows, null if no controller's log is there; `until`: end of its topic, or null; `shrinks`: SHRINKs
of the partition, or null. Null if `rules` is.
Nothing follows of what ZooKeeper had before a migration (KIP-866), whose first record has its last partition epoch.
"""
