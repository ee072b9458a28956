"""Which incarnation of a topic was when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.evidence import evidence
from schemas.timelines import TOPIC_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

INCARNATION = ["cluster", "topic", "partition", "incarnation"]
"""What keys the states of a partition."""


def to_topic_timeline(events: DataFrame) -> DataFrame:
    """EVENTS -> TOPIC_TIMELINE. In KRaft an incarnation is a topic id; before, it ends with the controller's report of the deletion."""
    columns = ["cluster", "topic", "topic_id", "at", "node_id", "file_id", "line", "event_type", "partition"]
    named = events.where("topic IS NOT NULL").select(*columns)
    listed = events.where("partitions IS NOT NULL").select(
        "cluster", F.explode("partitions").alias("p"), "at", "node_id", "file_id", "line", "event_type"
    )
    seen = named.unionByName(
        listed.select(
            "cluster", F.col("p.topic").alias("topic"), F.col("p.topic_id").alias("topic_id"), "at", "node_id", "file_id",
            "line", "event_type", F.col("p.partition").alias("partition"),
        ).where("topic IS NOT NULL")
    )  # fmt: skip
    is_birth = F.col("event_type").isin("kraft_topic_created", "metadata_topic", "kraft_partition_created")
    names = (
        seen.where(is_birth & F.col("topic_id").isNotNull())
        .groupBy("cluster", "topic_id")
        .agg(F.min("topic").alias("topic"))
    )
    partitions = (
        seen.where("partition IS NOT NULL")
        .groupBy("cluster", "topic")
        .agg((F.max("partition") + 1).alias("partitions"))
    )
    born = (
        seen.where(is_birth & F.col("topic_id").isNotNull())
        .groupBy("cluster", "topic", "topic_id")
        .agg(F.min("at").alias("since"), evidence(2).alias("evidence"))
    )
    gone = (
        events.where(
            F.col("event_type").isin("kraft_topic_removed", "metadata_remove_topic") & F.col("topic_id").isNotNull()
        )
        .groupBy("cluster", "topic_id")
        .agg(F.min("at").alias("until"), evidence(2).alias("ended"))
    )
    by_id = (
        born.join(gone, ["cluster", "topic_id"], "left")
        .withColumn(
            "incarnation", F.row_number().over(Window.partitionBy("cluster", "topic").orderBy("since", "topic_id")) - 1
        )
        .withColumn("deletion_started", F.col("until"))
    )
    by_deletion = _by_deletion(
        seen.join(names.select("cluster", "topic").distinct(), ["cluster", "topic"], "left_anti")
    )
    return (
        by_id.unionByName(by_deletion)
        .join(partitions, ["cluster", "topic"], "left")
        .withColumn(
            "evidence",
            F.concat("evidence", F.coalesce("ended", F.array().cast(TOPIC_TIMELINE.schema["evidence"].dataType))),
        )
        .select(*TOPIC_TIMELINE.columns)
    )


def _by_deletion(seen: DataFrame) -> DataFrame:
    """Incarnations of topics without ids: each report of a completed deletion ends one."""
    by_topic = Window.partitionBy("cluster", "topic").orderBy("at", "file_id", "line")
    done = F.col("event_type") == "topic_deletion_completed"
    before = by_topic.rowsBetween(Window.unboundedPreceding, -1)
    numbered = seen.withColumn("incarnation", F.coalesce(F.sum(done.cast("int")).over(before), F.lit(0)).cast("int"))
    ended = F.when(done, F.struct("at", "node_id", "file_id", "line"))
    spans = numbered.groupBy("cluster", "topic", "incarnation").agg(
        F.max(F.when(F.col("topic_id").isNotNull(), F.col("topic_id"))).alias("topic_id"),
        F.min("at").alias("since"),
        F.min(F.when(F.col("event_type") == "topic_deletion_started", F.col("at"))).alias("deletion_started"),
        F.max(ended).alias("end"),
        F.min(F.struct("at", "node_id", "file_id", "line")).alias("start"),
        # brokers may speak of a topic once more after its deletion; that alone does not create it again
        F.max(
            F.col("event_type").isin("partition_state_change", "topics_changed", "leader_and_isr_request_sent")
        ).alias("alive"),
    )

    def as_evidence(name: str) -> Column:
        return F.array(F.struct(f"{name}.node_id", f"{name}.file_id", f"{name}.line"))

    return spans.where("incarnation = 0 OR alive").select(
        "cluster", "topic", "incarnation", "topic_id", "since", "deletion_started", F.col("end.at").alias("until"),
        as_evidence("start").alias("evidence"), F.when(F.col("end").isNotNull(), as_evidence("end")).alias("ended"),
    )  # fmt: skip


def with_incarnation(rows: DataFrame, topics: DataFrame) -> DataFrame:
    """Rows with `cluster, topic, at` -> the same with `incarnation`: by topic id where the row has one, else by time."""
    lives = topics.groupBy("cluster", "topic").agg(
        F.array_sort(F.collect_list(F.struct("incarnation", "topic_id", "since", "until"))).alias("lives")
    )
    by_id = F.filter("lives", lambda life: life["topic_id"] == F.col("topic_id"))
    # a life begins with its first proof; what the controller says of a deletion ends it for everybody
    started = F.filter("lives", lambda life: (life["incarnation"] == 0) | (life["since"] <= F.col("at")))
    incarnation = F.coalesce(
        F.get(by_id, F.lit(0))["incarnation"] if "topic_id" in rows.columns else F.lit(None).cast("int"),
        F.size(started) - 1,
    )
    return rows.join(F.broadcast(lives), ["cluster", "topic"]).withColumn("incarnation", incarnation).drop("lives")
