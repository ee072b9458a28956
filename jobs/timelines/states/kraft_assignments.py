"""Which assignment KRaft's states began with, where no line prints it: removals of replicas are logged only with
additions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.topics import HISTORY

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def with_kept_replicas(
    states: DataFrame, kraft_clusters: DataFrame, fencings: DataFrame, logged: DataFrame
) -> DataFrame:
    """ASSIGNED_STATES -> the same with `keeps_replicas`, and the assignment of states that cannot have another one.

    `logged`: clusters of which a controller's log is there; without one a reassignment may have gone by unseen.
    """
    is_logged = F.broadcast(logged.select("cluster", F.lit(True).alias("is_logged")))
    kept = to_kept_replicas(states, kraft_clusters.join(is_logged, "cluster", "left"), fencings)
    return (
        states.drop("keeps_replicas")
        .join(kept, [HISTORY, "ordinal"], "left")
        .withColumn("replicas", F.coalesce("replicas", "unchanged_replicas"))
        .drop("unchanged_replicas")
    )


def to_kept_replicas(states: DataFrame, kraft_clusters: DataFrame, fencings: DataFrame) -> DataFrame:
    """Of KRaft's states whether none can have lost a replica before: HISTORY, `ordinal`, `keeps_replicas`; and
    `unchanged_replicas`, see `_with_unchanged`.

    KRaft logs each reassignment that adds replicas, but none that only removes some, which is done at once. So who is
    in sync at some time was a replica all the time before, and what a line prints counts for all states before it.
    After that, a removal would have raised the leader epoch (PartitionChangeBuilder), keeping the leader or taking it
    out of the ISR. So it was none where `_is_no_removal`.
    """
    of_partition = Window.partitionBy(HISTORY)
    order = of_partition.orderBy("ordinal")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    in_kraft = states.join(F.broadcast(kraft_clusters.select("cluster", "migrates", "is_logged")), "cluster")
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
                "before": F.lag(F.struct("leader", "leader_epoch", "isr", "ordinal", "at")).over(order),
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
    is_kept = F.col("is_proven") & F.coalesce("is_logged", F.lit(False))
    keeps_replicas = F.max(is_kept).over(in_run.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    steps = with_before.withColumns(
        {
            "run": F.sum(starts_run).over(so_far),
            "unseen": F.sum(F.when(_changes_state(), 0).otherwise(1)).over(so_far),
            "gaps": F.sum(F.when(_follows(), 0).otherwise(1)).over(so_far),
            "is_proven": is_proven,
        }
    )
    return _with_unchanged(steps.withColumn("keeps_replicas", keeps_replicas)).select(
        HISTORY, "ordinal", "keeps_replicas", "unchanged_replicas"
    )


def _with_unchanged(states: DataFrame) -> DataFrame:
    """Rows with `run`, `unseen` and `gaps`, numbers of steps so far -> the same with `unchanged_replicas`; null:
    unknown, and in clusters that migrated, which stored assignments apart from states before.

    A step that adds replicas or puts them in another order changes neither leader, leader epoch nor ISR. One that takes
    replicas away is not `_is_no_removal`. What is neither leaves the assignment as it was. From an assignment back to
    the same one it takes two steps, the last of which adds or orders replicas.
    """
    order = Window.partitionBy(HISTORY).orderBy("ordinal")
    backwards = Window.partitionBy(HISTORY).orderBy(F.desc("ordinal"))
    known = F.when(F.col("replicas").isNotNull(), F.struct("replicas", "run", "unseen", "gaps"))
    last, following = F.col("last_known"), F.col("next_known")
    kept_since, keeps_until = (
        (one["run"] == F.col("run")) & (one["unseen"] == F.col("unseen")) for one in (last, following)
    )
    unseen, lost = following["unseen"] - last["unseen"], following["run"] - last["run"]
    has_way_back = (following["gaps"] != last["gaps"]) | (unseen > 1) | ((unseen == 1) & (lost > 0))
    return (
        states.withColumn("known", known)
        .withColumn("next_known", F.last("known", ignorenulls=True).over(backwards))
        .withColumn("last_known", F.last("known", ignorenulls=True).over(order))
        .withColumn(
            "unchanged_replicas",
            F.when(F.col("migrates"), None)
            .when(kept_since, last["replicas"])
            .when(keeps_until, following["replicas"])
            .when((last["replicas"] == following["replicas"]) & ~has_way_back, last["replicas"]),
        )
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


def _follows() -> Column:
    """Whether a state is the next one after that before it."""
    return F.coalesce(F.col("ordinal") == F.col("before.ordinal") + 1, F.lit(False))


def _changes_state() -> Column:
    """Whether leader, leader epoch or ISR are others than in the state before, next to it."""
    differ = [
        F.coalesce(F.col(name) != F.col(f"before.{name}"), F.lit(False)) for name in ("leader", "leader_epoch", "isr")
    ]
    return _follows() & (differ[0] | differ[1] | differ[2])


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
