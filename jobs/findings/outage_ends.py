"""The lines that show what ended an outage: the election of the next leader, or the end of the topic's deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.topics import INCARNATION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_END = [*INCARNATION, "ended_before"]
_OF_TOPIC = [name for name in _END if name != "partition"]


def with_ends(outages: DataFrame, elections: DataFrame, topics: DataFrame) -> DataFrame:
    """OFFLINE_PARTITIONS, ELECTIONS, TOPIC_TIMELINE -> the first with `end_evidence`, one line; null if none is known.

    An election's first line is its own; the last one of a topic that is gone tells so.
    """
    elected = (
        elections.where("succeeded")
        .groupBy(*INCARNATION, F.col("at").alias("ended_before"))
        .agg(F.max_by(F.slice("evidence", 1, 1), "leader_epoch").alias("of_election"))
    )
    gone = topics.where("until IS NOT NULL").select(
        *(F.col("until").alias(name) if name == "ended_before" else name for name in _OF_TOPIC),
        F.slice("evidence", -1, 1).alias("of_topic"),
    )
    is_deleted = F.col("healed_by") == "topic_deletion"
    return (
        outages.join(elected, _END, "left")
        .join(F.broadcast(gone), _OF_TOPIC, "left")
        .withColumn("end_evidence", F.when(is_deleted, F.col("of_topic")).otherwise(F.col("of_election")))
        .drop("of_election", "of_topic")
    )
