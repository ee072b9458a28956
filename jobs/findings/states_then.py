"""What partitions were when elections of them failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.cluster_facts import day_of_or_open, days_or_open
from jobs.timelines.topics import INCARNATION

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LATE_MS, EARLY_MS = 2000, 50
"""So long after a state was committed, and before, by the clock of another node, a line may show it."""


def states_then(failed: DataFrame, states: DataFrame, *, supposes: bool = False) -> DataFrame:
    """Failed elections, PARTITION_TIMELINE -> INCARNATION, at, `previous_leader`, `isr_before`, `replicas` and
    `state_evidence`: what the partition was then; null where states that it may have been in differ.

    `supposes`: an ISR that is the same before and after states that are missing is taken to have been so in between,
    and the last one that is known to have stayed. Else that has stayed only where the controller's log is at TRACE,
    `is_traced`, as it is where it has transitions.
    A line shows a state up to LATE_MS after it was committed, or by the clock of another node EARLY_MS too early. Where
    states between two are missing nothing is known of the time between them.
    """
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    next_since = F.lead("since").over(order)
    # without a leader only a controller changes a state, and each time with a new leader epoch
    is_stuck = (F.col("leader") == -1) & (F.lead("leader_epoch").over(order) <= F.col("leader_epoch") + 1)
    is_followed = F.coalesce(F.lead("missing_before").over(order) == 0, F.lit(False)) | is_stuck
    if supposes:
        is_followed |= F.lead("isr").over(order).eqNullSafe(F.col("isr"))
    late, early = (F.expr(f"INTERVAL {ms} MILLISECONDS") for ms in (LATE_MS, EARLY_MS))
    spans = states.select(
        *INCARNATION, "ordinal", "leader", "isr", "replicas", "since", next_since.alias("next_since"),
        is_followed.alias("is_followed"), F.col("evidence").alias("state_evidence"),
    ).withColumn("day", days_or_open(F.col("since") - late, F.col("next_since") + early))  # fmt: skip
    # by a line of the controller that failed to elect it is exact
    is_own = F.coalesce(F.get("state_evidence.node_id", F.lit(0)) == F.col("node_id"), F.lit(False))
    is_then = (F.col("since") <= F.when(is_own, F.col("at")).otherwise(F.col("at") + late)) & (
        F.col("next_since").isNull() | (F.col("next_since") >= F.col("at") - early)
    )

    def only(name: str) -> Column:
        """The value of a column, if all rows have the same and it is known of each."""
        is_one = (F.size(F.collect_set(name)) == 1) & (F.count(name) == F.count(F.lit(1)))
        return F.when(is_one, F.first(name))

    is_last = F.col("next_since").isNull() & F.col("is_traced")
    is_sure = F.min(F.coalesce(F.col("is_followed"), F.lit(False)) | is_last) & (F.min("since") <= F.first("at"))
    first_node = F.get("evidence.node_id", F.lit(0)).alias("node_id")
    is_traced = F.lit(True) if supposes else F.coalesce("is_traced", F.lit(False))
    return (
        failed.select(*INCARNATION, "at", first_node, is_traced.alias("is_traced"), day_of_or_open("at").alias("day"))
        .join(spans, [*INCARNATION, "day"])
        .where(is_then)
        .groupBy(*INCARNATION, "at")
        .agg(
            F.when(is_sure, only("leader")).alias("previous_leader"),
            F.when(is_sure, only("isr")).alias("isr_before"),
            F.when(F.min("since") <= F.first("at"), only("replicas")).alias("replicas"),
            F.slice(F.min_by("state_evidence", "ordinal"), 1, 1).alias("state_evidence"),
        )
    )
