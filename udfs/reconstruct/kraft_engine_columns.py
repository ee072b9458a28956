"""`udfs.reconstruct.kraft_engine` on columns: a UDF over one partition's whole history."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
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
"""So long there may be no active controller twice, and a line may be after the last line of its log, in
microseconds."""
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
    last_logged = max((end for _, end in chain.from_iterable(coverage.values())), default=-FOREVER)
    spans = [(-FOREVER, FOREVER)] if logged is None else _merged(logged, last_logged)
    first_epoch = max((step.partition_epoch or 0 for step in in_order if step.is_creation), default=0)
    for part, part_until in _without_contradictions([row for row in known if row[0] >= first_epoch]):
        for since, span_until in spans:
            end = min(span_until, part_until)
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
            last = own_known[-1].partition_epoch if own_known else 0
            states |= {state.partition_epoch: (state, own_steps) for state in _agreeing(inferred, last, known)}
    epochs = [row[0] for row in known]
    end_epoch, in_order_of_epochs = max((*epochs, *states)) + 1, sorted(states)
    rows = []
    for n, (epoch, next_epoch) in enumerate(zip(epochs, [*epochs[1:], end_epoch], strict=True)):
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


def _agreeing(inferred: Mapping[int, InferredState], last: int, rows: list[Any]) -> Iterator[InferredState]:
    """States that follow from known ones, of which `last` is the latest, up to the first that disagrees with what lines
    show outside of the span of those.

    One that is lost in an unknown epoch is right before what they show next, if there is room for it.
    """
    later = {row[0]: row for row in rows if row[0] > last}
    following = min(later, default=None)
    for epoch, state in sorted(inferred.items()):
        row = later.get(epoch)
        if row is not None and (row[-1] or _differs(state, row)):
            return
        if state.isr is not None or following is None or epoch < following:
            yield state
            last = max(last, epoch)
        elif last < following - 1:
            yield state._replace(partition_epoch=following - 1)


def _differs(state: InferredState, row: Any) -> bool:
    """Whether lines show something else of a partition epoch than what follows."""
    pairs = ((state.leader, row[1]), (state.leader_epoch, row[2]), (state.isr, row[3]))
    return any(None not in (value, shown) and value != shown for value, shown in pairs)


def _merged(logged: Iterable[tuple[int, int | None, bool]], last_logged: int) -> list[tuple[int, int]]:
    """Spans of terms as one where no more than twice FAILOVER_US is between them, without those of terms that nobody
    logged. Right before a span, and right behind it, steps may be missing. But the last one ends later if brokers' logs
    end about then, too (`last_logged`), for a controller that has nothing to do logs nothing."""
    rows = sorted((since, FOREVER if until is None else until, is_there) for since, until, is_there in logged)
    spans: list[tuple[int, int]] = []
    for since, until in ((since, until) for since, until, is_there in rows if is_there):
        if spans and since <= spans[-1][1] + 2 * FAILOVER_US:
            spans[-1] = spans[-1][0], max(spans[-1][1], until)
        else:
            spans.append((since, until))
    if spans and last_logged <= spans[-1][1] + FAILOVER_US:
        spans[-1] = spans[-1][0], spans[-1][1] + FAILOVER_US
    for since, until in ((since, until) for since, until, is_there in rows if not is_there):
        parts = [part for begin, end in spans for part in ((begin, min(end, since)), (max(begin, until), end))]
        spans = [(begin, end) for begin, end in parts if begin < end]
    return spans


def _without_contradictions(known: list[Any]) -> list[tuple[list[tuple[KnownState, bool]], int]]:
    """Successive states, each with whether a broker shows it, apart where lines contradict each other: what was before
    is not known to hold after. With each part when its last line is, for what came then, others may show, too; of the
    last one FOREVER."""
    parts: list[list[tuple[KnownState, bool]]] = [[]]
    for row in known:
        *state, by_broker, is_contradictory = row
        if is_contradictory:
            parts.append([])
        else:
            parts[-1].append((KnownState(*state), by_broker))
    ends = [max((state.at for state, _ in part), default=0) for part in parts[:-1]]
    return [(part, end) for part, end in zip(parts, [*ends, FOREVER], strict=True) if part]


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
