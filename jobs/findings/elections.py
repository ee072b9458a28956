"""Leader elections of partitions: committed ones by the states they began, failed ones by the lines of ZooKeeper controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.findings.activities import with_activity
from jobs.session import checkpointed
from jobs.timelines.evidence import milliseconds
from jobs.timelines.topics import INCARNATION, with_incarnation
from schemas.findings import ELECTIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


DECISION_EVENTS = ("partition_state_change", "partition_state_change_failed", "leader_epoch_updated")
"""Events in which a ZooKeeper controller tells what it decided of a partition."""


def to_elections(states: DataFrame, events: DataFrame, topics: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE, EVENTS, TOPIC_TIMELINE -> ELECTIONS.

    A leader epoch that names a broker is an election, unless it is the partition's first. Strategy, trigger and live
    brokers are what the controller that logged the transition was doing and knew; in KRaft the logs do not tell them.
    """
    acting = checkpointed(with_activity(events, DECISION_EVENTS))
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")

    def lag(name: str) -> Column:
        return F.lag(name).over(order)

    steps = states.withColumns(
        {
            "epoch_before": lag("leader_epoch"),
            "leader_before": lag("leader"),
            "adjacent": lag("partition_epoch") + 1 == F.col("partition_epoch"),
            # where any state's eligible leader replicas are told, those of the others are unknown; elsewhere there are none
            "has_elr": F.max(F.col("elr").isNotNull()).over(Window.partitionBy(*INCARNATION)),
            "state_before": F.struct(
                lag("isr").alias("isr"), lag("elr").alias("elr"), lag("replicas").alias("replicas")
            ),
            "lost_at": F.last(F.when((F.col("leader") == -1), F.col("since")), ignorenulls=True).over(
                order.rowsBetween(Window.unboundedPreceding, -1)
            ),
        }
    ).where("leader >= 0 AND leader_epoch > epoch_before")
    isr_before, elr_before = F.col("state_before.isr"), F.col("state_before.elr")
    moved = ~F.col("state_before.replicas").eqNullSafe(F.col("replicas"))
    in_isr = F.array_contains(isr_before, F.col("leader"))
    unclean = (
        F.when(~F.col("adjacent"), None)
        .when(in_isr, False)
        .when(F.coalesce(F.array_contains(elr_before, F.col("leader")), F.lit(False)), False)
        # a record that completes a reassignment adds its new leader to the ISR and elects it in one step
        .when(moved & F.col("state_before.replicas").isNotNull() & F.col("replicas").isNotNull(), False)
        .when(F.col("has_elr") & elr_before.isNull(), None)
        .when(
            (F.col("state_before.replicas").isNull() | F.col("replicas").isNull()) & (F.col("leader_before") >= 0), None
        )
        .otherwise(True)
    )
    won = steps.select(
        *INCARNATION,
        F.col("since").alias("at"),
        "controller_epoch",
        F.when(F.col("leader_epoch") == F.col("epoch_before") + 1, F.col("leader_before")).alias("previous_leader"),
        "leader",
        "leader_epoch",
        F.when(F.col("adjacent"), isr_before).alias("isr_before"),
        F.when(F.col("adjacent"), elr_before).alias("elr_before"),
        "isr",
        "replicas",
        F.when(F.col("adjacent"), F.col("state_before.replicas")).alias("replicas_before"),
        unclean.alias("unclean"),
        F.lit(True).alias("succeeded"),
        F.when((F.col("leader_before") == -1) & F.col("lost_at").isNotNull(), milliseconds("lost_at", "since")).alias(
            "latency_ms"
        ),
        "evidence",
    )
    decided = _decisions(acting, topics)
    explained = won.join(decided, [*INCARNATION, "leader_epoch"], "left")
    failed = _failed_elections(acting, topics)
    extra = {"lost_records_min": F.lit(None).cast("long"), "lost_records_max": F.lit(None).cast("long")}
    return explained.unionByName(failed, allowMissingColumns=True).withColumns(extra).select(*ELECTIONS.columns)


def _decisions(acting: DataFrame, topics: DataFrame) -> DataFrame:
    """Strategy, trigger and live brokers of each leader epoch that a controller logged as decided."""
    online = acting.where(
        "event_type = 'partition_state_change' AND fields['to_state'] = 'OnlinePartition' AND leader_epoch IS NOT NULL"
    )
    from_state = F.col("fields")["from_state"]
    strategy = F.when(from_state == "OfflinePartition", "offline").when(
        (from_state == "OnlinePartition") & F.col("strategy").isin("preferred", "controlled_shutdown", "reassign"),
        F.col("strategy"),
    )
    refreshed = acting.where("event_type = 'leader_epoch_updated'").select(
        "cluster", "topic", "partition", "at", "leader_epoch", F.lit("none").alias("strategy"), F.lit("reassignment").alias("trigger"),
        F.array_sort(F.array_except("alive", "shutting_down")).alias("live_brokers"), "alive", "shutting_down",
    )  # fmt: skip
    told = online.select(
        "cluster", "topic", "partition", "at", "leader_epoch", strategy.alias("strategy"),
        F.when(strategy.isNotNull(), F.col("trigger")).alias("trigger"),
        F.array_sort(F.array_except("alive", "shutting_down")).alias("live_brokers"), "alive", "shutting_down",
    )  # fmt: skip
    first = told.unionByName(refreshed)
    return (
        with_incarnation(first, topics)
        .groupBy(*INCARNATION, "leader_epoch")
        .agg(*(F.min_by(name, "at").alias(name) for name in ("strategy", "trigger", "live_brokers", "shutting_down")))
    )


def _failed_elections(acting: DataFrame, topics: DataFrame) -> DataFrame:
    """ELECTIONS that a controller logged as failed; its stack trace names the strategy (1.1 on)."""
    named = F.regexp_extract("detail", r"(Offline|Reassign|Preferred|ControlledShutdown)\w*?Partition\w*?Leader", 1)
    strategy = (
        F.when(named == "Offline", "offline")
        .when(named == "Reassign", "reassign")
        .when(named == "Preferred", "preferred")
        .when(named == "ControlledShutdown", "controlled_shutdown")
    )
    rows = acting.where(
        "event_type = 'partition_state_change_failed' AND fields['to_state'] = 'OnlinePartition'"
    ).withColumn("named_strategy", strategy)
    return (
        with_incarnation(rows, topics)
        .groupBy(*INCARNATION, "at")
        .agg(
            F.first("named_strategy", ignorenulls=True).alias("strategy"),
            F.first("trigger", ignorenulls=True).alias("trigger"),
            F.max("controller_epoch").alias("controller_epoch"),
            F.lit(None).cast("int").alias("leader"),
            F.lit(None).cast("int").alias("leader_epoch"),
            F.array_sort(F.array_except(F.first("alive"), F.first("shutting_down"))).alias("live_brokers"),
            F.array_sort(F.first("shutting_down")).alias("shutting_down"),
            F.lit(None).cast("boolean").alias("unclean"),
            F.lit(False).alias("succeeded"),
            F.array_sort(F.collect_set(F.struct("node_id", "file_id", "line"))).alias("evidence"),
        )
    )
