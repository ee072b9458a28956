"""What ZooKeeper's controllers send shows which leader epochs had not been written before.

A controller reads the state of every partition when its term begins, and keeps it; it keeps what it writes, and what it
reads as it takes a replica out of an ISR. Nobody else writes leader epochs in its term. So it sends none that is less
than what it has read, and whatever it read was no later one than what it sends afterwards
(kafka.controller.KafkaController, 0.8.2 to 1.0: `initializeControllerContext`, `removeReplicaFromIsr`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.epoch_bounds import STALE
from jobs.timelines.running_windows import rows_behind
from jobs.timelines.topics import INCARNATION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DROPPED = "controller_request_dropped_broker_offline"
"""A controller leaves a request unsent, and prints it."""
TERM_BEGINS = "controller_epoch_incremented"
"""A controller has its epoch, and reads the states of all partitions only after that."""


def to_sent_epochs(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, topic, topic_id, partition, at, node_id, line, file_id, controller_epoch, `sent_epoch`,
    `sent_line` (`node_id, file_id, line`), `is_own`: the leader epochs that controllers (`node_id`) send, by their own
    lines, of requests that they drop, and by those of brokers that ignore them."""
    place = ("cluster", "at", "file_id", "line", "controller_epoch", "sent_line")
    names = ("topic", "topic_id", "partition")
    lines = events.withColumn("sent_line", F.struct("node_id", "file_id", "line"))
    dropped = lines.where((F.col("event_type") == DROPPED) & F.col("partitions").isNotNull()).select(
        *place, "node_id", F.explode("partitions").alias("one")
    )
    own = dropped.select(
        *place, "node_id", *(F.col(f"one.{name}") for name in names),
        F.col("one.leader_epoch").alias("sent_epoch"), F.lit(True).alias("is_own"),
    )  # fmt: skip
    ignored = lines.where((F.col("event_type") == STALE) & F.col("topic").isNotNull()).select(
        *place, F.col("controller_id").alias("node_id"), *names,
        F.col("leader_epoch").alias("sent_epoch"), F.lit(False).alias("is_own"),
    )  # fmt: skip
    return own.unionByName(ignored).where("sent_epoch IS NOT NULL AND node_id IS NOT NULL AND topic IS NOT NULL")


def with_limits(shown: DataFrame, sent: DataFrame, events: DataFrame) -> DataFrame:
    """Rows of `to_epoch_bounds` and of `to_sent_epochs` with `incarnation`, EVENTS -> the former with `limit` and
    `limit_line`: the greatest leader epoch that may have been written by then, and the line that shows it; and rows of
    beginnings of controllers' terms that have only these."""
    least = F.struct("sent_epoch", "at", "sent_line")
    behind = rows_behind((*INCARNATION, "node_id"), ("at", "line", "file_id"))
    sent_later = F.min(F.when(F.col("is_own"), least)).over(behind)
    own = sent.where("is_own").drop("controller_epoch")
    of_reads = (
        shown.unionByName(own, allowMissingColumns=True)
        .withColumn("least", F.when(F.col("is_read"), sent_later))
        .where("is_own IS NULL")
        .drop("is_own", "sent_epoch", "sent_line")
    )
    is_begin = (F.col("event_type") == TERM_BEGINS) & F.col("controller_epoch").isNotNull()
    in_term = ["cluster", "node_id", "controller_epoch"]
    terms = events.where(is_begin).select(*in_term, "at", "file_id", "line")
    of_terms = (
        sent.groupBy(*INCARNATION, "node_id", "controller_epoch")
        .agg(F.max("topic_id").alias("topic_id"), F.min(least).alias("least"))
        .join(F.broadcast(terms), in_term)
        .withColumn("is_shown", F.lit(True))
        .drop("controller_epoch")
    )
    limits = {"limit": F.col("least.sent_epoch"), "limit_line": F.col("least.sent_line")}
    return of_reads.unionByName(of_terms, allowMissingColumns=True).withColumns(limits).drop("least")
