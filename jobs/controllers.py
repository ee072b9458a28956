"""Who was the controller, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.evidence import evidence, milliseconds
from jobs.statements import with_quorum_epoch
from schemas.timelines import CONTROLLER_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def to_controller_timeline(events: DataFrame) -> DataFrame:
    """EVENTS -> CONTROLLER_TIMELINE. ZooKeeper: who won the election; KRaft: who became the active controller, or a dump's leader changes.

    A leader of the quorum that lost its office before it became active is no controller.
    """
    told = _claims(events)
    dumped = with_quorum_epoch(events).where("event_type = 'metadata_leader_change'")
    elected = (
        told.withColumn("controller_id", F.coalesce("controller_id", "node_id"))
        .unionByName(dumped)
        .where("controller_epoch IS NOT NULL")
    )
    reigns = elected.groupBy("cluster", "controller_epoch").agg(
        F.max("controller_id").alias("controller_id"), F.min("at").alias("since"), evidence().alias("evidence")
    )
    ready = (
        events.where(F.col("event_type").isin("controller_ready"))
        .groupBy("cluster", "controller_id", "controller_epoch")
        .agg(F.min("at").alias("active_since"))
    )
    resigned = events.where(F.col("event_type").isin("controller_resigned", "kraft_controller_resigned")).select(
        "cluster", F.coalesce("controller_id", "node_id").alias("controller_id"), F.col("at").alias("resigned_at")
    )
    acted = (
        events.where(
            F.col("event_type").isin(
                "partition_state_change", "leader_and_isr_request_sent", "update_metadata_request_sent"
            )
        )
        .groupBy("cluster", "controller_id", "controller_epoch")
        .agg(F.max("at").alias("last_act"))
    )
    order = Window.partitionBy("cluster").orderBy("controller_epoch")
    known = (
        reigns.where("controller_id IS NOT NULL")
        .withColumn("next_since", F.lead("since").over(order))
        .join(ready, ["cluster", "controller_id", "controller_epoch"], "left")
        .join(acted, ["cluster", "controller_id", "controller_epoch"], "left")
    )
    own_next = Window.partitionBy("cluster", "controller_id").orderBy("controller_epoch")
    ended = (
        known.withColumn("own_next", F.lead("since").over(own_next))
        .join(resigned, ["cluster", "controller_id"], "left")
        .withColumn(
            "resigned_at",
            F.when(
                (F.col("resigned_at") >= F.col("since"))
                & (F.col("own_next").isNull() | (F.col("resigned_at") <= F.col("own_next"))),
                F.col("resigned_at"),
            ),
        )
        .groupBy(
            "cluster",
            "controller_id",
            "controller_epoch",
            "since",
            "active_since",
            "next_since",
            "last_act",
            "evidence",
        )
        .agg(F.min("resigned_at").alias("resigned_at"))
    )
    first_end = F.least("resigned_at", "next_since")
    active_since = F.coalesce("active_since", F.when(F.col("last_act").isNull(), F.col("since")))
    return (
        ended.withColumn("active_since", active_since)
        .withColumns(
            {
                "until": first_end,
                "failover_ms": milliseconds("since", "active_since"),
                "ended_by": F.when(first_end.isNull(), None)
                .when(
                    F.col("resigned_at").isNotNull()
                    & (F.col("resigned_at") <= F.coalesce("next_since", "resigned_at")),
                    "resigned",
                )
                .otherwise("replaced"),
                "overlap_ms": F.greatest(F.coalesce(milliseconds("next_since", "last_act"), F.lit(0)), F.lit(0)),
            }
        )
        .select(*CONTROLLER_TIMELINE.columns)
    )


def _claims(events: DataFrame) -> DataFrame:
    """Lines by which a node says that it is the controller of an epoch. Before 2.1 winning and raising the epoch are two lines."""
    kinds = ("controller_elected", "controller_epoch_incremented", "kraft_controller_elected")
    own = Window.partitionBy("cluster", "node_id").orderBy("at", "file_id", "line")
    won_before = (F.lag("event_type").over(own) == "controller_elected") & F.lag("controller_epoch").over(own).isNull()
    return (
        events.where(F.col("event_type").isin(*kinds))
        .withColumn("won_at", F.when(won_before, F.lag("at").over(own)))
        .withColumn("at", F.coalesce(F.when(F.col("event_type") == kinds[1], F.col("won_at")), F.col("at")))
        .drop("won_at")
    )


def by_active_controller(rows: DataFrame, controllers: DataFrame) -> DataFrame:
    """Rows of KRaft controllers -> those logged by the controller that was active then.

    Standby controllers replay the same records, and a restarted one replays old ones as if they were news.
    """
    reigns = controllers.select(
        "cluster",
        F.col("controller_id").alias("node_id"),
        F.col("since").alias("reign_since"),
        F.col("until").alias("reign_until"),
    )
    now = (F.col("at") >= F.col("reign_since")) & (
        F.col("reign_until").isNull() | (F.col("at") <= F.col("reign_until"))
    )
    return rows.join(F.broadcast(reigns), ["cluster", "node_id"]).where(now).drop("reign_since", "reign_until")
