"""Whether a partition's assignment can have lost a replica: KRaft logs removals of replicas only with additions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.topics import HISTORY

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def with_kept_replicas(states: DataFrame, kraft_clusters: DataFrame, fencings: DataFrame) -> DataFrame:
    """ASSIGNED_STATES -> the same with `keeps_replicas`."""
    keeps_replicas = to_kept_replicas(states, kraft_clusters, fencings)
    return states.drop("keeps_replicas").join(keeps_replicas, [HISTORY, "ordinal"], "left")


def to_kept_replicas(states: DataFrame, kraft_clusters: DataFrame, fencings: DataFrame) -> DataFrame:
    """Of KRaft's states whether none can have lost a replica before: HISTORY, `ordinal`, `keeps_replicas`.

    KRaft logs each reassignment that adds replicas, but none that only removes some, which is done at once. So who is
    in sync at some time was a replica all the time before, and what a line prints counts for all states before it.
    After that, a removal would have raised the leader epoch (PartitionChangeBuilder), keeping the leader or taking it
    out of the ISR. So it was none where `_is_no_removal`.
    """
    of_partition = Window.partitionBy(HISTORY)
    order = of_partition.orderBy("ordinal")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    in_kraft = states.join(F.broadcast(kraft_clusters), "cluster", "left_semi")
    is_logged_later = F.max(F.when(F.col("replicas").isNotNull(), F.col("ordinal"))).over(of_partition) >= F.col(
        "ordinal"
    )
    members = F.first("replicas", ignorenulls=True).over(
        order.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    )
    in_sync_later = F.forall(
        "members", lambda r: F.coalesce(F.element_at("last_in_sync", r) >= F.col("ordinal"), F.lit(False))
    )
    with_before = (
        in_kraft.withColumns(
            {
                "before": F.lag(F.struct("leader", "leader_epoch", "at")).over(order),
                "members": members,
                "is_logged_later": is_logged_later,
            }
        )
        .withColumn("leader_before", F.col("before.leader"))
        .join(F.broadcast(fencings.withColumnRenamed("leader", "leader_before")), ["cluster", "leader_before"], "left")
        .join(_last_in_sync(in_kraft), HISTORY, "left")
    )
    starts_run = F.when(F.coalesce(_is_no_removal(), F.lit(False)), 0).otherwise(1)
    is_proven = F.coalesce("is_logged_later", F.lit(False)) | F.coalesce(in_sync_later, F.lit(False))
    in_run = Window.partitionBy(HISTORY, "run").orderBy("ordinal")
    keeps_replicas = F.max("is_proven").over(in_run.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    return with_before.withColumns({"run": F.sum(starts_run).over(so_far), "is_proven": is_proven}).select(
        HISTORY, "ordinal", keeps_replicas.alias("keeps_replicas")
    )


def _last_in_sync(states: DataFrame) -> DataFrame:
    """HISTORY, `last_in_sync`: for each replica the last state that has it in the ISR."""
    return (
        states.select(HISTORY, "ordinal", F.explode("isr").alias("replica"))
        .groupBy(HISTORY, "replica")
        .agg(F.max("ordinal").alias("last"))
        .groupBy(HISTORY)
        .agg(F.map_from_entries(F.collect_list(F.struct("replica", "last"))).alias("last_in_sync"))
    )


def _is_no_removal() -> Column:
    """Whether no replica can have been removed since the state before.

    The leader epoch stays, or rises because the leader was fenced, comes back, or gives way in sync.
    """
    epoch, epoch_before = F.col("leader_epoch"), F.col("before.leader_epoch")
    leader, leader_before = F.col("leader"), F.col("before.leader")
    is_fenced = F.exists("fencings", lambda fencing: (fencing >= F.col("before.at")) & (fencing <= F.col("at")))
    is_lost = (leader_before >= 0) & (leader == -1)
    is_back = (leader_before == -1) & (leader >= 0)
    gives_way = (leader_before != leader) & (
        F.array_contains("isr", leader_before) | F.coalesce(is_fenced, F.lit(False))
    )
    return (epoch == epoch_before) | ((epoch == epoch_before + 1) & (is_lost | is_back | gives_way))
