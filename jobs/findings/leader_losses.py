"""When the leader was lost that an election replaces, as far as states tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, WindowSpec


def with_lost_at(states: DataFrame, order: WindowSpec) -> DataFrame:
    """PARTITION_TIMELINE, its order -> the same with `lost_at`: since when there had been no leader before a state.

    Null if there was one, and where it is not known: the state with the last leader is in no line, or others are
    missing since. Without a leader other things change too, as eligible leader replicas: the first of such states lost
    it, and only a leader epoch that is missing between them may have had one.
    """
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    leader, leader_before = F.col("leader"), F.lag("leader").over(order)
    follows_epoch = F.col("leader_epoch") - F.lag("leader_epoch").over(order) <= 1
    follows_number = F.lag("partition_epoch").over(order) + 1 == F.col("partition_epoch")
    is_still_lost = (leader == -1) & (leader_before == -1)
    follows = F.when(is_still_lost, follows_epoch).otherwise(F.coalesce(follows_number, follows_epoch))
    begins = (leader == -1) & ~leader_before.eqNullSafe(F.lit(-1))
    gaps = F.sum((~F.coalesce(follows, F.lit(False))).cast("int")).over(so_far)
    loss = F.struct("since", "gaps", (leader_before >= 0).alias("is_known"), follows.alias("follows"))
    last = states.withColumn("gaps", gaps).withColumn(
        "loss", F.last(F.when(begins, loss), ignorenulls=True).over(before)
    )
    is_told = F.col("loss.is_known") & F.col("loss.follows") & (F.col("loss.gaps") == F.col("gaps"))
    return last.withColumn("lost_at", F.when(is_told, F.col("loss.since"))).drop("gaps", "loss")
