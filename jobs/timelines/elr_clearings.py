"""Records of a metadata dump that empty the eligible leader replicas of whole topics (KIP-966)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CLEARED = "metadata_clear_elr"
"""A ClearElrRecord, which a change of `min.insync.replicas` brings along (4.0 on)."""


def with_clearings(records: DataFrame, events: DataFrame) -> DataFrame:
    """Partition records of a dump, each once, EVENTS -> the former and one row of each partition whose topic there was
    at a ClearElrRecord: a change that leaves nobody eligible. Those of partitions of which nobody was are still there.

    After org.apache.kafka.image.TopicDelta.replay and ReplicationControlManager.replayClearTopicElrs: where somebody
    was, it is a change as any other, which adds 1 to the partition epoch. A record without a topic is of all topics.
    """
    place = [F.min(offset()).alias("offset"), F.min(F.struct("file_id", "line", "at", "node_id")).alias("place")]
    cleared = events.where(F.col("event_type") == CLEARED)
    by_topic = F.nullif("topic", F.lit("")).alias("cleared_topic")
    clearings = cleared.groupBy("cluster", by_topic, F.col("fields")["offset"].alias("of")).agg(*place).drop("of")
    born = events.where("event_type = 'metadata_topic'").groupBy("cluster", "topic_id")
    gone = events.where("event_type = 'metadata_remove_topic'").groupBy("cluster", "topic_id")
    topics = born.agg(F.min("topic").alias("name"), F.min(offset()).alias("born")).join(
        gone.agg(F.min(offset()).alias("gone")), ["cluster", "topic_id"], "left"
    )
    is_of_topic = F.expr("cleared_topic IS NULL OR cleared_topic = name")
    is_there = F.expr("born < offset AND (gone IS NULL OR gone > offset)")
    partitions = records.select("cluster", "topic_id", "partition").distinct()
    rows = (
        partitions.join(F.broadcast(topics), ["cluster", "topic_id"])
        .join(F.broadcast(clearings), "cluster")
        .where(is_of_topic & is_there)
    )
    nobody = F.lit("[]")
    values: dict[str, Column] = {name: F.col(name) for name in ("cluster", "topic_id", "partition")}
    values |= {name: F.col(f"place.{name}") for name in ("file_id", "line", "at", "node_id")}
    values |= {
        "event_type": F.lit(CLEARED),
        "fields": _fields(offset=F.col("offset"), elr=nobody, last_known_elr=nobody),
    }
    none = F.lit(None)
    return records.unionByName(
        rows.select(*(values.get(f.name, none).cast(f.dataType).alias(f.name) for f in records.schema))
    )


def offset() -> Column:
    """The offset of a record of a dump."""
    return F.col("fields")["offset"].try_cast("long")


def _fields(**values: Column) -> Column:
    """Further fields of an event."""
    return F.create_map(*(part for name, value in values.items() for part in (F.lit(name), value.cast("string"))))
