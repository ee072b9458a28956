"""Failed elections of partitions of which the last known state was over by then: later leader epochs had begun."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.topics import INCARNATION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def with_outdated(elections: DataFrame, states: DataFrame, begun: DataFrame | None) -> DataFrame:
    """ELECTIONS, PARTITION_TIMELINE; INCARNATION, leader_epoch, `begun_at`: when leader epochs began (None: no need of
    it) -> elections with `is_outdated`: whether one that failed did so in a later leader epoch than any state that is
    known by then. What such a state has of the assignment is `replicas` of the election no more."""
    if begun is None:
        return elections.withColumn("is_outdated", F.lit(False))
    asked = elections.where("NOT succeeded").select(*INCARNATION, "at").distinct().withColumn("is_asked", F.lit(True))
    known = states.select(*INCARNATION, F.col("since").alias("at"), "leader_epoch", F.col("replicas").alias("assigned"))
    begins = begun.select(*INCARNATION, F.col("begun_at").alias("at"), F.col("leader_epoch").alias("begun_epoch"))
    rows = asked.unionByName(known, allowMissingColumns=True).unionByName(begins, allowMissingColumns=True)
    so_far = Window.partitionBy(*INCARNATION).orderBy("at").rangeBetween(Window.unboundedPreceding, Window.currentRow)
    looked_up = rows.withColumns(
        {
            "last_known": F.coalesce(F.max("leader_epoch").over(so_far), F.lit(-1)),
            "last_begun": F.max("begun_epoch").over(so_far),
            "of_state": F.last("assigned", ignorenulls=True).over(so_far),
        }
    )
    outdated = looked_up.where("is_asked AND last_begun > last_known").select(
        *INCARNATION, "at", F.lit(False).alias("succeeded"), "of_state", F.lit(True).alias("is_outdated")
    )
    joined = elections.join(outdated, [*INCARNATION, "at", "succeeded"], "left")
    is_outdated = F.coalesce("is_outdated", F.lit(False))
    replicas = F.when(~(is_outdated & F.col("replicas").eqNullSafe(F.col("of_state"))), F.col("replicas"))
    return joined.withColumns({"replicas": replicas, "is_outdated": is_outdated}).drop("of_state")
