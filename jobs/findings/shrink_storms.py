"""Shrink storms: one broker out of many ISRs at once, see `udfs.incidents.storms`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.findings.node_stops import absences_from_isrs, joins_around, was_absent
from jobs.timelines.row_streams import map_rows
from jobs.timelines.topics import INCARNATION
from schemas.spark import CLUSTER, EVIDENCE_COLUMN, INT, LONG, TEXT, TIME, column
from udfs.incidents.storms import shrink_storms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STORMS = T.StructType(
    [
        CLUSTER,
        column("at", TIME, "When the first follower was taken out."),
        column("until", TIME, "When the last one that came back was in sync again; null: none did."),
        column("node", INT, "The broker at fault."),
        column("role", TEXT, "As what: `follower`, which did not fetch, or `leader`, which did not answer."),
        column("count", LONG, "Partitions."),
        EVIDENCE_COLUMN,
    ]
)


def to_shrink_storms(isr_changes: DataFrame, stops: DataFrame) -> DataFrame:
    """ISR_CHANGES, NODE_STOPS -> STORMS, but of brokers that were stopped: those belong to their stop.

    Who was back, had joined again, and is taken out once more is at fault anew; so is who joined again before it was
    stopped.
    """
    moves = isr_changes.select(
        *INCARNATION, "ordinal", "at", "kind", "made_by", "leader",
        F.explode(F.concat("added", "removed")).alias("follower"),
        F.try_element_at("evidence", F.lit(1)).alias("proof"),
    )  # fmt: skip
    order = Window.partitionBy(*INCARNATION, "follower").orderBy("ordinal", F.desc("kind"))
    joined_at, rejoined_at = joins_around(F.col("kind") == "expand", order)
    shrinks = (
        moves.withColumns({"back_at": F.lead("at").over(order), "joined_at": joined_at, "rejoined_at": rejoined_at})
        .where("kind = 'shrink' AND made_by = 'leader'")
        .join(F.broadcast(absences_from_isrs(stops)), "cluster", "left")
        .where(~was_absent("follower", F.col("joined_at"), F.col("rejoined_at")))
        .withColumn("leader_stops", was_absent("leader"))
        .select("cluster", "at", "topic", "partition", "follower", "leader", "leader_stops", "back_at", "proof.*")
    )
    in_order = shrinks.repartition("cluster").sortWithinPartitions("cluster", "at", "topic", "partition", "follower")
    return map_rows(in_order, shrink_storms, STORMS)
