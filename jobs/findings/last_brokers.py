"""The broker that was shut down last, and was the controller: nobody was left to write that its partitions have no
leader.

In ZooKeeper it stays their leader until a broker starts and takes office. KRaft's controllers fence who is shut down,
and it is they who write what is left of the ISR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.controllers import ZOOKEEPER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_BETWEEN = "INTERVAL 10 SECONDS"
"""So long before its session with ZooKeeper ends a broker that shuts down resigns as controller, at most."""


def to_last_brokers(brokers: DataFrame, controllers: DataFrame) -> DataFrame:
    """BROKER_TIMELINE, CONTROLLER_TIMELINE -> cluster, `broker`, `stopped_at`, `evidence` (of its end): at most one row
    for a cluster, of the last controller, if no other broker was registered any more as it went."""
    of_broker = F.struct("broker", F.col("until").alias("stopped_at"), F.slice("evidence", -1, 1).alias("evidence"))
    last_broker = brokers.groupBy("cluster").agg(
        F.max_by(of_broker, "until").alias("last"), F.max(F.col("until").isNull()).alias("is_any_left")
    )
    of_term = F.struct("controller_id", "until", "mode")
    last_term = controllers.groupBy("cluster").agg(
        F.max_by(of_term, F.struct("cluster_incarnation", "since", "controller_epoch")).alias("term")
    )
    stopped_at = F.col("last.stopped_at")
    was_controller = (F.col("term.mode") == ZOOKEEPER) & (F.col("term.controller_id") == F.col("last.broker"))
    resigned_then = F.col("term.until").between(stopped_at - F.expr(MOST_BETWEEN), stopped_at + F.expr(MOST_BETWEEN))
    return (
        last_broker.where("NOT is_any_left")
        .join(last_term, "cluster")
        .where(was_controller & resigned_then)
        .select("cluster", "last.*")
    )


def without_deleted(outages: DataFrame, last_brokers: DataFrame) -> DataFrame:
    """Outages with causes, rows of `to_last_brokers` -> outages but those of topics that were being deleted as the last
    broker was shut down: no line tells whether they were still there."""
    stops = last_brokers.select("cluster", F.col("stopped_at").alias("since"), F.lit(True).alias("is_last"))
    is_of_deleted = F.coalesce(F.col("is_last") & (F.col("cause") == "topic_deletion"), F.lit(False))
    return outages.join(F.broadcast(stops), ["cluster", "since"], "left").where(~is_of_deleted).select(*outages.columns)
