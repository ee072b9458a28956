"""Who was the controller, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.evidence import evidence, milliseconds
from jobs.timelines.observations import number_of, with_quorum_epoch
from schemas.timelines import CONTROLLER_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def to_controller_timeline(events: DataFrame) -> DataFrame:
    """EVENTS -> CONTROLLER_TIMELINE. ZooKeeper: who won the election; KRaft: who led the quorum, or a dump's leader changes.

    Of a leader of the quorum that lost its office before another voter followed it nothing is left: it was no controller.
    """
    told = _claims(events)
    dumped = with_quorum_epoch(events).where("event_type = 'metadata_leader_change'")
    elected = (
        told.withColumn("controller_id", F.coalesce("controller_id", "node_id"))
        .unionByName(dumped)
        .where("controller_epoch IS NOT NULL")
    )
    reigns = elected.groupBy("cluster", "controller_epoch").agg(
        F.max("controller_id").alias("controller_id"),
        F.min("at").alias("since"),
        evidence().alias("evidence"),
        F.max(F.col("event_type") != "raft_leader_elected").alias("followed"),
    )
    ready = (
        events.where(F.col("event_type").isin("controller_ready", "kraft_controller_elected"))
        .withColumn("controller_id", F.coalesce("controller_id", "node_id"))
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
    # a reign is no younger than the first proof of any later one, whatever clocks say; its own times stay those of its node
    and_later = order.rowsBetween(Window.currentRow, Window.unboundedFollowing)
    known = (
        reigns.where("controller_id IS NOT NULL AND followed")
        .drop("followed")
        .withColumns({"said_since": F.col("since"), "since": F.min("since").over(and_later)})
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
            "said_since",
            "active_since",
            "next_since",
            "last_act",
            "evidence",
        )
        .agg(F.min("resigned_at").alias("resigned_at"))
    )
    first_end = F.least("resigned_at", "next_since")
    return ended.withColumns(
        {
            "until": first_end,
            "failover_ms": milliseconds("said_since", "active_since"),
            "ended_by": F.when(first_end.isNull(), None)
            .when(
                F.col("resigned_at").isNotNull() & (F.col("resigned_at") <= F.coalesce("next_since", "resigned_at")),
                "resigned",
            )
            .otherwise("replaced"),
            "overlap_ms": F.greatest(F.coalesce(milliseconds("next_since", "last_act"), F.lit(0)), F.lit(0)),
        }
    ).select(*CONTROLLER_TIMELINE.columns)


def _claims(events: DataFrame) -> DataFrame:
    """Lines that name the controller of an epoch: its own, or in KRaft another voter's that follows it.

    Before 2.1 winning and raising the epoch are two lines.
    """
    kinds = (
        "controller_elected",
        "controller_epoch_incremented",
        "kraft_controller_elected",
        "kraft_controller_epoch_changed",
        "raft_leader_elected",
    )
    followed = F.col("event_type") == "kraft_controller_epoch_changed"
    own = Window.partitionBy("cluster", "node_id").orderBy("at", "line", "file_id")
    won_before = (F.lag("event_type").over(own) == "controller_elected") & F.lag("controller_epoch").over(own).isNull()
    return (
        events.where(F.col("event_type").isin(*kinds))
        .withColumn("controller_id", F.when(followed, number_of("new_controller_id")).otherwise(F.col("controller_id")))
        .where(~followed | F.col("controller_id").isNotNull())
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
        F.coalesce("active_since", "since").alias("reign_since"),
        F.col("until").alias("reign_until"),
    )
    now = (F.col("at") >= F.col("reign_since")) & (
        F.col("reign_until").isNull() | (F.col("at") <= F.col("reign_until"))
    )
    return rows.join(F.broadcast(reigns), ["cluster", "node_id"]).where(now).drop("reign_since", "reign_until")


def standby_controllers(events: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS, CONTROLLER_TIMELINE -> a standby for each KRaft reign whose controller's own log is missing, if one tells.

    Columns: cluster, node_id, `started` (the standby's process), `current_since`, `reign_until`. A controller registers itself once
    it runs, and replays that record too: what it replays after its own is news, what before may be any time old.
    """
    kraft = events.where("event_type LIKE 'kraft%' AND node_id IS NOT NULL")
    own = Window.partitionBy("cluster", "node_id").orderBy("at", "line", "file_id")
    starts = F.col("event_type") == "kraft_controller_created"
    itself = (F.col("event_type") == "kraft_controller_registered") & (number_of("node_id") == F.col("node_id"))
    lives = (
        kraft.where(starts | itself)
        .withColumn(
            "life", F.sum(starts.cast("int")).over(own.rowsBetween(Window.unboundedPreceding, Window.currentRow))
        )
        .groupBy("cluster", "node_id", "life")
        .agg(
            F.min(F.when(starts, F.col("at"))).alias("started"), F.max(F.when(itself, F.col("at"))).alias("live_since")
        )
        .withColumn("ended", F.lead("started").over(Window.partitionBy("cluster", "node_id").orderBy("life")))
        .where("started IS NOT NULL AND live_since IS NOT NULL")
    )
    reigns = controllers.select(
        "cluster",
        "controller_id",
        "controller_epoch",
        F.col("since").alias("reign_since"),
        F.col("until").alias("reign_until"),
    )
    ends = F.coalesce("reign_until", F.timestamp_micros(F.lit(2**60)))
    telling = (
        kraft.select("cluster", F.col("node_id").alias("controller_id"), "at")
        .join(F.broadcast(reigns), ["cluster", "controller_id"])
        .where((F.col("at") >= F.col("reign_since")) & (F.col("at") <= ends))
        .select("cluster", "controller_epoch")
        .distinct()
    )
    known = F.greatest("live_since", "reign_since")
    until = F.coalesce(F.least("ended", "reign_until"), "ended", "reign_until")
    first = Window.partitionBy("cluster", "controller_epoch").orderBy("current_since", "node_id")
    return (
        reigns.join(telling, ["cluster", "controller_epoch"], "left_anti")
        .join(lives, "cluster")
        .withColumns({"current_since": known, "reign_until": until})
        .where("node_id <> controller_id AND (reign_until IS NULL OR current_since < reign_until)")
        .withColumn("nth", F.row_number().over(first))
        .where("nth = 1")
        .select("cluster", "node_id", "started", "current_since", "reign_until")
    )
