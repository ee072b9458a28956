"""Reassignments of partitions, as logged until 2.3, from 2.4 on (KIP-455), and in KRaft."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.findings.reassignment_waits import with_stuck, with_waits
from jobs.timelines.cluster_facts import EvidenceKinds
from jobs.timelines.controllers import by_active_controller
from jobs.timelines.evidence import line_as_evidence
from jobs.timelines.observations import printed_ids
from jobs.timelines.order import EVENT_ORDER, with_rank
from jobs.timelines.row_streams import no_rows
from jobs.timelines.topics import INCARNATION, with_incarnation, with_topic_name
from schemas.findings import REASSIGNMENTS
from schemas.spark import EVIDENCE, IDS

if TYPE_CHECKING:
    from pyspark.sql import Column

_EVENTS_FROM_2_4 = ("reassignment_assignment_updating", "reassignment_assignment_updated")
_KRAFT_EVENTS = ("kraft_partition_assignment_changed", "kraft_partition_created")
_DUMP_EVENTS = ("metadata_partition_change", "metadata_partition")
_UNLISTED = "reassignment_removed_from_zk"
_EVENTS_BEFORE_2_4 = (
    "reassignment_started",
    "reassignment_assignment_updated",
    "reassignment_leader_alive",
    "reassignment_leader_not_in_new_replicas",
    "reassignment_leader_dead",
    "reassignment_failed",
)


def to_reassignments(
    events: DataFrame,
    states: DataFrame,
    topics: DataFrame,
    controllers: DataFrame,
    stops: DataFrame,
    kinds: EvidenceKinds,
) -> DataFrame:
    """EVENTS, PARTITION_TIMELINE, TOPIC_TIMELINE, CONTROLLER_TIMELINE, NODE_STOPS -> REASSIGNMENTS."""
    eras = []
    if kinds.have((*_EVENTS_FROM_2_4, *_KRAFT_EVENTS, *_DUMP_EVENTS)):
        eras.append(_from_2_4(_assignments(events, topics, controllers, kinds), states))
    if kinds.have((*_EVENTS_BEFORE_2_4, _UNLISTED)):
        eras.append(_before_2_4(_reassignment_lines(events, topics), states))
    if not eras:
        return no_rows(events.sparkSession, REASSIGNMENTS.schema)
    known = checkpointed(_until_deletion(reduce(DataFrame.unionByName, eras), topics))
    waiting = with_waits(known, states)
    return with_stuck(waiting, stops).select(*REASSIGNMENTS.columns)


_COLUMNS = [name for name in REASSIGNMENTS.columns if name not in ("waits", "stuck")]
"""What the eras' transforms give: without the columns of `reassignment_waits`."""


def _until_deletion(reassignments: DataFrame, topics: DataFrame) -> DataFrame:
    """REASSIGNMENTS, TOPIC_TIMELINE -> the same, open ones cancelled by the deletion of their topic."""
    key = ["cluster", "topic", "incarnation"]
    gone = topics.where("until IS NOT NULL").select(*key, F.col("until").alias("gone"))
    is_cancelled = F.col("until").isNull() & F.col("gone").isNotNull()
    return (
        reassignments.join(F.broadcast(gone), key, "left")
        .withColumns(
            {
                "until": F.coalesce("until", F.greatest("gone", F.when(F.col("gone").isNotNull(), F.col("since")))),
                "state": F.when(is_cancelled, "cancelled").otherwise(F.col("state")),
                "blocked_by": F.when(is_cancelled, F.array().cast(IDS)).otherwise(F.col("blocked_by")),
            }
        )
        .select(*_COLUMNS)
    )


def _phase(is_done: Column, is_in_sync: Column) -> Column:
    """How far a reassignment came: KIP-455's phase A waits for the ISR, B hands over; before 2.4 it was done the same
    way."""
    return F.when(is_done, "done").when(is_in_sync, "handing_over").otherwise("waiting_for_isr")


# ---- 2.4 and later ---------------------------------------------------------------------------------------------------
def _assignments(events: DataFrame, topics: DataFrame, controllers: DataFrame, kinds: EvidenceKinds) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE, CONTROLLER_TIMELINE -> changes of assignments with INCARNATION, replicas, adding,
    removing.

    Columns: those of EVENTS, `adding`, `removing`, `next_at`, `next_replicas`, `next_is_settled` (nobody is added or
    removed then), `next_evidence`: of the next change. A line or record that leaves a list out leaves it as it was.
    """
    changes = events.where(F.col("event_type").isin(*_EVENTS_FROM_2_4, *_DUMP_EVENTS))
    if kinds.have(_KRAFT_EVENTS):
        replayed = events.where(F.col("event_type").isin(*_KRAFT_EVENTS))
        changes = changes.unionByName(by_active_controller(replayed, controllers, events))
    lists = F.coalesce("replicas", printed_ids("adding_replicas"), printed_ids("removing_replicas"))
    printed = changes.where(F.col("partition").isNotNull() & lists.isNotNull())
    lines = with_topic_name(printed, topics).where("topic IS NOT NULL")
    order = Window.partitionBy(*INCARNATION).orderBy(*EVENT_ORDER)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    nobody = F.array().cast(IDS)
    assignment = F.struct("replicas", "adding", "removing")
    return (
        with_incarnation(with_rank(lines, "topic", "partition"), topics)
        .withColumns(
            {
                "replicas": F.last("replicas", ignorenulls=True).over(so_far),
                "adding": F.coalesce(F.last(printed_ids("adding_replicas"), ignorenulls=True).over(so_far), nobody),
                "removing": F.coalesce(F.last(printed_ids("removing_replicas"), ignorenulls=True).over(so_far), nobody),
            }
        )
        .withColumns({"assignment": assignment, "assignment_before": F.lag(assignment).over(order)})
        .where(~F.col("assignment").eqNullSafe(F.col("assignment_before")))
        .withColumns(
            {
                "next_at": F.lead("at").over(order),
                "next_replicas": F.lead("replicas").over(order),
                "next_is_settled": F.lead((F.size("adding") == 0) & (F.size("removing") == 0)).over(order),
                "next_evidence": F.lead(line_as_evidence()).over(order),
            }
        )
    )


def _from_2_4(assignments: DataFrame, states: DataFrame) -> DataFrame:
    """Rows of `_assignments`, PARTITION_TIMELINE -> REASSIGNMENTS from an assignment with replicas to add or remove
    to one without, and in KRaft those of one step.

    One whose target is the original again is cancelled, and so is one that another request replaces: in KRaft one that
    only puts the target in another order leaves no line, but the one that ends has that order.
    """
    target = F.filter("replicas", lambda replica: ~F.array_contains("removing", replica))
    in_sync = states.groupBy(*INCARNATION).agg(F.max_by("isr", "ordinal").alias("last_isr"))
    is_open = F.col("until").isNull()
    is_completed = F.col("next_is_settled") & (F.col("next_replicas") == F.col("target_replicas"))
    open_state = F.when(F.size("missing") > 0, "stuck").otherwise("in_progress")
    begun = assignments.where((F.size("adding") > 0) | (F.size("removing") > 0)).withColumn("target_replicas", target)
    lasting = (
        begun.join(_replicas_before(begun, states), [*INCARNATION, "at"], "left")
        .join(in_sync, INCARNATION, "left")
        .withColumns(
            {
                "original_replicas": _original_replicas(),
                "since": F.col("at"),
                "until": F.col("next_at"),
                "adding_replicas": F.array_sort("adding"),
                "removing_replicas": F.array_sort("removing"),
                "missing": F.array_sort(F.array_except("target_replicas", "last_isr")),
            }
        )
        .withColumns(
            {
                "phase": _phase(~is_open & is_completed, is_open & (F.size("missing") == 0)),
                "state": F.when(is_open, open_state).when(is_completed, "completed").otherwise("cancelled"),
                "blocked_by": F.when(is_open, F.col("missing")).otherwise(F.array().cast(IDS)),
                "evidence": F.concat(line_as_evidence(), F.coalesce("next_evidence", F.array().cast(EVIDENCE))),
            }
        )
        .select(*_COLUMNS)
    )
    return lasting.unionByName(_of_one_step(assignments))


def _original_replicas() -> Column:
    """The assignment before a reassignment, in its order: as printed, or as logged before; null if no line tells it.

    The controller puts the target's replicas first while it reassigns (`ReplicaAssignment.reassignTo`,
    `PartitionReassignmentReplicas`), so the order of those that are in both shows in earlier lines only.
    """
    members = F.filter("replicas", lambda replica: ~F.array_contains("adding", replica))

    def with_these_members(replicas: Column) -> Column:
        return F.when(F.array_sort(replicas) == F.array_sort(members), replicas)

    return F.coalesce(
        printed_ids("old_replicas"),
        with_these_members(F.col("assignment_before.replicas")),
        with_these_members(F.col("replicas_before")),
        F.when((F.size(members) < 2) | ~F.arrays_overlap(members, "target_replicas"), members),
    )


def _replicas_before(begun: DataFrame, states: DataFrame) -> DataFrame:
    """Rows with INCARNATION and at, PARTITION_TIMELINE -> of each `replicas_before`: the last assignment before it."""
    earlier = states.where("replicas IS NOT NULL").select(*INCARNATION, "ordinal", "since", "replicas")
    return (
        begun.select(*INCARNATION, "at")
        .join(earlier, INCARNATION)
        .where("since < at")
        .groupBy(*INCARNATION, "at")
        .agg(F.max_by("replicas", "ordinal").alias("replicas_before"))
    )


def _of_one_step(assignments: DataFrame) -> DataFrame:
    """Rows of `_assignments` -> REASSIGNMENTS that were complete when they began, for nobody had to catch up: they
    change the order, or in KRaft take replicas away."""
    was_settled = (F.size("assignment_before.adding") == 0) & (F.size("assignment_before.removing") == 0)
    before = F.coalesce(printed_ids("old_replicas"), F.col("assignment_before.replicas"))
    is_reordered = (F.array_sort("replicas") == F.array_sort(before)) & (F.col("replicas") != before)
    is_less = was_settled & (F.size(F.array_except("replicas", before)) == 0) & (F.size("replicas") < F.size(before))
    kind, nobody = F.col("event_type"), F.array().cast(IDS)
    is_of_kraft = kind.isin(_KRAFT_EVENTS[0], _DUMP_EVENTS[0])
    is_whole = (is_reordered & (is_of_kraft | (kind == _EVENTS_FROM_2_4[0]))) | (is_less & is_of_kraft)
    return (
        assignments.where((F.size("adding") == 0) & (F.size("removing") == 0))
        .where(is_whole & F.coalesce(was_settled, F.lit(True)))
        .withColumns(
            {
                "since": F.col("at"),
                "until": F.col("at"),
                "original_replicas": before,
                "target_replicas": F.col("replicas"),
                "adding_replicas": nobody,
                "removing_replicas": F.array_sort(F.array_except(before, F.col("replicas"))),
                "phase": F.lit("done"),
                "state": F.lit("completed"),
                "blocked_by": nobody,
                "evidence": line_as_evidence(),
            }
        )
        .select(*_COLUMNS)
    )


# ---- until 2.3 -------------------------------------------------------------------------------------------------------
def _reassignment_lines(events: DataFrame, topics: DataFrame) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE -> lines about reassignments until 2.3, numbered by reassignment.

    Columns: INCARNATION, number, at, node_id, file_id, line, event_type, replicas, `target`. A controller that takes
    over begins what is on ZooKeeper's list again: that is the same reassignment.
    """
    kind = F.col("event_type")
    is_start = kind == "reassignment_started"
    line = ["cluster", "at", "node_id", "file_id", "line", "event_type"]
    target = F.when(is_start, printed_ids("target_replicas"))
    about_one = events.where(kind.isin(*_EVENTS_BEFORE_2_4) & F.col("topic").isNotNull()).select(
        *line,
        "topic",
        "partition",
        "replicas",
        "topic_id",
        target.alias("target"),
    )
    listed = (
        events.where(kind == _UNLISTED)
        .select(*line, F.explode("partitions").alias("p"))
        .select(*line, F.col("p.topic").alias("topic"), F.col("p.partition").alias("partition"))
    )
    order = Window.partitionBy(*INCARNATION).orderBy("at", "line", "file_id")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    bound = F.when(is_start | (kind == _UNLISTED), F.struct("event_type", "target"))
    is_started_again = F.coalesce(
        (F.col("bound.event_type") == "reassignment_started") & (F.col("bound.target") == F.col("target")),
        F.lit(False),
    )
    return (
        with_incarnation(about_one.unionByName(listed, allowMissingColumns=True), topics)
        .withColumn("bound", F.last(bound, ignorenulls=True).over(before))
        .withColumn("number", F.sum(F.when(is_start & ~is_started_again, 1).otherwise(0)).over(so_far))
        .where("number > 0")
        .select(*INCARNATION, "number", "at", "node_id", "file_id", "line", "event_type", "replicas", "target")
    )


def _before_2_4(lines: DataFrame, states: DataFrame) -> DataFrame:
    """Rows of `_reassignment_lines`, PARTITION_TIMELINE -> REASSIGNMENTS that controllers until 2.3 logged.

    Begun with a target, ended when the partition is off ZooKeeper's list. It cannot be cancelled, but fails if a
    target is not alive. The assignment before is the last that was logged by then, null if none was.
    """
    kind, key = F.col("event_type"), [*INCARNATION, "number"]
    line = F.struct("at", "node_id", "line", "file_id")
    is_end = kind.isin("reassignment_removed_from_zk", "reassignment_failed")
    reassignments = lines.groupBy(*key).agg(
        F.min("at").alias("since"),
        F.first("target", ignorenulls=True).alias("target_replicas"),
        F.max((kind == "reassignment_failed").cast("int")).alias("failed"),
        F.max(kind.startswith("reassignment_leader").cast("int")).alias("handing_over"),
        F.min(line).alias("start"),
        F.min(F.when(is_end, line)).alias("end"),
    )
    is_open = F.col("end").isNull()
    is_done = ~is_open & (F.col("failed") == 0)
    missing = F.array_sort(F.array_except("target_replicas", "last_isr"))
    start = F.array(F.struct("start.node_id", "start.file_id", "start.line"))
    end = F.array(F.struct("end.node_id", "end.file_id", "end.line"))
    return (
        reassignments.join(_replicas_then(reassignments, states), key, "left")
        .withColumns(
            {
                "until": F.col("end.at"),
                "adding_replicas": F.array_sort(F.array_except("target_replicas", "original_replicas")),
                "removing_replicas": F.array_sort(F.array_except("original_replicas", "target_replicas")),
                "phase": _phase(is_done, F.col("handing_over") == 1),
                "state": F.when(is_done, "completed")
                .when(F.col("failed") == 1, "cancelled")
                .when(F.size(missing) > 0, "stuck")
                .otherwise("in_progress"),
                "blocked_by": F.when(is_open, missing).otherwise(F.array().cast(IDS)),
                "evidence": F.when(is_open, start).otherwise(F.concat(start, end)),
            }
        )
        .select(*_COLUMNS)
    )


def _replicas_then(reassignments: DataFrame, states: DataFrame) -> DataFrame:
    """Rows with INCARNATION, number, since; PARTITION_TIMELINE -> of each `original_replicas` and `last_isr`."""
    key = [*INCARNATION, "number"]
    is_before = (F.col("since") <= F.col("started_at")) & F.col("replicas").isNotNull()
    return (
        reassignments.select(*key, F.col("since").alias("started_at"))
        .join(states.select(*INCARNATION, "ordinal", "since", "replicas", "isr"), INCARNATION)
        .groupBy(*key)
        .agg(
            F.max_by("replicas", F.when(is_before, F.col("ordinal"))).alias("original_replicas"),
            F.max_by("isr", "ordinal").alias("last_isr"),
        )
    )
