"""Reassignments of partitions, in the shapes of before 2.4, of 2.4 on (KIP-455) and of KRaft."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.controllers import by_active_controller
from jobs.timelines.evidence import line_as_evidence
from jobs.timelines.order import EVENT_ORDER, with_rank
from jobs.timelines.topics import INCARNATION, with_incarnation
from schemas.findings import REASSIGNMENTS
from schemas.spark import EVIDENCE, IDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def to_reassignments(events: DataFrame, states: DataFrame, topics: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS, PARTITION_TIMELINE -> REASSIGNMENTS.

    From 2.4 on (KIP-455) from an assignment with replicas to add or remove to one without; a line or record that leaves a
    list out leaves it as it was, and one whose target is the original again is cancelled. Before, see `_before_2_4`.
    """
    none = F.array().cast(IDS)
    names = topics.select("cluster", "topic_id", F.col("topic").alias("name")).where("topic_id IS NOT NULL")
    zk = events.where(F.col("event_type").isin("reassignment_assignment_updating", "reassignment_assignment_updated"))
    dumped = events.where("event_type = 'metadata_partition_change'")
    replayed = by_active_controller(events.where("event_type = 'kraft_partition_assignment_changed'"), controllers)
    told = F.coalesce("replicas", _ids("adding_replicas"), _ids("removing_replicas"))
    rows = (
        zk.unionByName(dumped)
        .unionByName(replayed)
        .where(F.col("partition").isNotNull() & told.isNotNull())
        .join(F.broadcast(names), ["cluster", "topic_id"], "left")
        .withColumn("topic", F.coalesce("topic", "name"))
        .where("topic IS NOT NULL")
    )
    order = Window.partitionBy(*INCARNATION).orderBy(*EVENT_ORDER)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    asked = with_incarnation(with_rank(rows, "topic", "partition"), topics).withColumns(
        {
            "replicas": F.last("replicas", ignorenulls=True).over(so_far),
            "adding": F.coalesce(F.last(_ids("adding_replicas"), ignorenulls=True).over(so_far), none),
            "removing": F.coalesce(F.last(_ids("removing_replicas"), ignorenulls=True).over(so_far), none),
        }
    )
    same = F.struct("replicas", "adding", "removing")
    steps = asked.withColumns({"said": same, "before": F.lag(same).over(order)}).where(
        ~F.col("said").eqNullSafe(F.col("before"))
    )
    turns = steps.withColumns(
        {
            "next_at": F.lead("at").over(order),
            "next_replicas": F.lead("replicas").over(order),
            "next_evidence": F.lead(line_as_evidence()).over(order),
        }
    ).where((F.size("adding") > 0) | (F.size("removing") > 0))
    target = F.filter("replicas", lambda r: ~F.array_contains("removing", r))
    original = F.coalesce(_ids("old_replicas"), F.filter("replicas", lambda r: ~F.array_contains("adding", r)))
    in_sync = states.groupBy(*INCARNATION).agg(F.max_by("isr", "ordinal").alias("last_isr"))
    completed = F.array_sort("next_replicas") == F.array_sort("target_replicas")
    from_2_4 = (
        turns.withColumns({"target_replicas": target, "original_replicas": original})
        .join(in_sync, INCARNATION, "left")
        .withColumns(
            {
                "since": F.col("at"),
                "until": F.col("next_at"),
                "adding_replicas": F.array_sort("adding"),
                "removing_replicas": F.array_sort("removing"),
                "missing": F.array_sort(F.array_except("target_replicas", "last_isr")),
            }
        )
        .withColumns(
            {
                "phase": _phase(
                    F.col("until").isNotNull() & completed, F.col("until").isNull() & (F.size("missing") == 0)
                ),
                "state": F.when(
                    F.col("until").isNull(), F.when(F.size("missing") > 0, "stuck").otherwise("in_progress")
                )
                .when(completed, "completed")
                .otherwise("cancelled"),
                "blocked_by": F.when(F.col("until").isNull(), F.col("missing")).otherwise(none),
                "evidence": F.concat(line_as_evidence(), F.coalesce("next_evidence", F.array().cast(EVIDENCE))),
            }
        )
        .select(*REASSIGNMENTS.columns)
    )
    return from_2_4.unionByName(_before_2_4(events, states, topics))


def _phase(done: Column, in_sync: Column) -> Column:
    """How far a reassignment came: KIP-455's phase A waits for the ISR, B hands over; what was done before 2.4 is the same."""
    return F.when(done, "done").when(in_sync, "handing_over").otherwise("waiting_for_isr")


_STEPS_BEFORE_2_4 = (
    "reassignment_started",
    "reassignment_assignment_updated",
    "reassignment_leader_alive",
    "reassignment_leader_not_in_new_replicas",
    "reassignment_leader_dead",
    "reassignment_failed",
)


def _before_2_4(events: DataFrame, states: DataFrame, topics: DataFrame) -> DataFrame:
    """REASSIGNMENTS that controllers until 2.3 logged: begun with a target, ended when the partition is off ZooKeeper's list.

    A controller that takes over begins what is on the list again: that is the same reassignment. It cannot be cancelled,
    but fails if a target is not alive. The assignment before is the last that was told by then, null if none was.
    """
    asked = events.where(F.col("event_type").isin(*_STEPS_BEFORE_2_4) & F.col("topic").isNotNull())
    line = ["cluster", "at", "node_id", "file_id", "line", "event_type"]
    listed = events.where("event_type = 'reassignment_removed_from_zk'").select(
        *line, F.explode("partitions").alias("p")
    )
    rows = asked.select(
        *line, "topic", "partition", "replicas", "topic_id",
        F.when(F.col("event_type") == "reassignment_started", _ids("target_replicas")).alias("target"),
    ).unionByName(
        listed.select(*line, F.col("p.topic").alias("topic"), F.col("p.partition").alias("partition")), allowMissingColumns=True
    )  # fmt: skip
    order = Window.partitionBy(*INCARNATION).orderBy("at", "line", "file_id")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    kind = F.col("event_type")
    begun = kind == "reassignment_started"
    known = F.last(
        F.when(begun | (kind == "reassignment_removed_from_zk"), F.struct("event_type", "target")), ignorenulls=True
    )
    numbered = (
        with_incarnation(rows, topics)
        .withColumn("open", known.over(before))
        .withColumn(
            "turn",
            F.sum(
                F.when(
                    begun
                    & ~F.coalesce((F.col("open.event_type") == "reassignment_started") & (F.col("open.target") == F.col("target")), F.lit(False)),
                    1,
                ).otherwise(0)
            ).over(order.rowsBetween(Window.unboundedPreceding, Window.currentRow)),
        )
        .where("turn > 0")
    )  # fmt: skip
    ended = F.min(
        F.when(
            kind.isin("reassignment_removed_from_zk", "reassignment_failed"),
            F.struct("at", "node_id", "line", "file_id"),
        )
    )
    turns = numbered.groupBy(*INCARNATION, "turn").agg(
        F.min("at").alias("since"),
        F.first("target", ignorenulls=True).alias("target_replicas"),
        F.max_by("replicas", F.when(F.col("replicas").isNotNull(), F.col("at"))).alias("written"),
        F.max((kind == "reassignment_failed").cast("int")).alias("failed"),
        F.max(kind.startswith("reassignment_leader").cast("int")).alias("handing_over"),
        F.min(F.struct("at", "node_id", "line", "file_id")).alias("start"),
        ended.alias("end"),
    )  # fmt: skip
    key = [*INCARNATION, "turn"]
    then = (
        turns.select(*key, F.col("since").alias("asked_at"))
        .join(states.select(*INCARNATION, "ordinal", "since", "replicas", "isr"), INCARNATION)
        .groupBy(*key)
        .agg(
            F.max_by("replicas", F.when((F.col("since") <= F.col("asked_at")) & F.col("replicas").isNotNull(), F.col("ordinal"))).alias("original_replicas"),
            F.max_by("isr", "ordinal").alias("last_isr"),
        )
    )  # fmt: skip
    none = F.array().cast(IDS)
    done = F.col("end").isNotNull() & (F.col("failed") == 0)
    missing = F.array_sort(F.array_except("target_replicas", "last_isr"))
    open_now = F.col("end").isNull()
    both = F.array(F.struct("start.node_id", "start.file_id", "start.line"))
    end = F.array(F.struct("end.node_id", "end.file_id", "end.line"))
    return (
        turns.join(then, key, "left")
        .withColumns(
            {
                "until": F.col("end.at"),
                "adding_replicas": F.array_sort(F.array_except("target_replicas", "original_replicas")),
                "removing_replicas": F.array_sort(F.array_except("original_replicas", "target_replicas")),
                "phase": _phase(done, F.col("handing_over") == 1),
                "state": F.when(done, "completed")
                .when(F.col("failed") == 1, "cancelled")
                .when(F.size(missing) > 0, "stuck")
                .otherwise("in_progress"),
                "blocked_by": F.when(open_now, missing).otherwise(none),
                "evidence": F.when(open_now, both).otherwise(F.concat(both, end)),
            }
        )
        .select(*REASSIGNMENTS.columns)
    )


def _ids(name: str) -> Column:
    """A further field with broker ids, as printed; null if there is none."""
    text = F.col("fields")[name]
    return F.when(text.isNotNull() & (text != "null"), F.regexp_extract_all(text, F.lit(r"(-?\d+)")).cast(IDS))
