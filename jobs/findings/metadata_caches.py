"""Which topics the brokers of ZooKeeper clusters have learned from UpdateMetadata, and which they should have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.cluster_facts import EvidenceKinds
from jobs.timelines.row_streams import map_rows, no_rows
from schemas.findings import VERDICTS
from udfs.kafka.verdict_rows import Releases, cache_verdicts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_LEARNED = "metadata_cache_updated"
"""Event by which a broker logs that it learned a partition's state."""
BUCKET_S = 10
AROUND = 30
"""A broker logs what it learns if it did so in one file within this many buckets of BUCKET_S seconds before and after:
between two files one may be missing."""


def to_cache_verdicts(
    events: DataFrame, topics: DataFrame, brokers: DataFrame, releases: Releases, kinds: EvidenceKinds
) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE and BROKER_TIMELINE of whole clusters -> VERDICTS on brokers, see `judge_cache`."""
    if not kinds.have([_LEARNED]):
        return no_rows(events.sparkSession, VERDICTS.schema)
    rows = to_metadata_caches(events, topics, brokers)
    return map_rows(rows, lambda caches: cache_verdicts(caches, releases), VERDICTS.schema)


def to_metadata_caches(events: DataFrame, topics: DataFrame, brokers: DataFrame) -> DataFrame:
    """-> cluster, node_id, at, `topics` (how many it should have learned), `missing` (those that no line of it names),
    `evidence`: its last line about metadata, and the first of another broker about the first one missing.

    A topic is due when another broker has learned it and this one is registered: a broker that comes is told all that
    there is. It counts if that was at least BUCKET_S before the last such line of this one, and this one logged others
    before and after that, or before and after another broker learned it. Topics that were deleted and created again are
    left out, and those that are being deleted: brokers are told these without a leader, and drop them.
    """
    place = F.struct("at", "node_id", "file_id", "line")
    lines = events.where(f"event_type = '{_LEARNED}' AND topic IS NOT NULL AND node_id IS NOT NULL").select(
        "cluster", "topic", "node_id", place.alias("place"), F.floor(F.unix_seconds("at") / BUCKET_S).alias("bucket")
    )
    learned = lines.groupBy("cluster", "node_id", "topic", "bucket", "place.file_id").agg(
        F.min("place").alias("first"), F.max("place").alias("last")
    )
    of_file = learned.groupBy("cluster", "node_id", "file_id").agg(
        F.collect_set("bucket").alias("buckets"), F.max("last").alias("last")
    )
    of_node = of_file.groupBy("cluster", "node_id").agg(
        F.collect_list("buckets").alias("buckets_by_file"), F.max("last").alias("last")
    )
    of_topic = learned.groupBy("cluster", "topic").agg(
        F.min("first").alias("first"), F.collect_set("node_id").alias("learners")
    )
    gone = F.max(F.coalesce("deletion_started", "until")).alias("gone")
    once = topics.groupBy("cluster", "topic").agg(F.count(F.lit(1)).alias("lives"), gone)
    stays = brokers.select("cluster", F.col("broker").alias("node_id"), "since", "until")
    due = F.greatest("first.at", "since")
    is_due = F.unix_seconds("last.at") - F.unix_seconds(due) >= BUCKET_S
    expected = (
        of_node.join(F.broadcast(stays), ["cluster", "node_id"])
        .where("since <= last.at AND (until IS NULL OR until >= last.at)")
        .join(of_topic.join(once.where("lives = 1"), ["cluster", "topic"]), "cluster")
        .where(
            (_logs_around(F.col("first.at")) | _logs_around(due)) & is_due & F.expr("gone IS NULL OR gone >= last.at")
        )
    )
    is_missing = ~F.array_contains("learners", F.col("node_id"))
    missing = F.array_sort(F.collect_list(F.when(is_missing, F.struct("topic", "first"))))
    line = F.struct("last.node_id", "last.file_id", "last.line")
    return expected.groupBy("cluster", "node_id").agg(
        F.first("last.at").alias("at"),
        F.count(F.lit(1)).alias("topics"),
        F.transform(missing, lambda m: m["topic"]).alias("missing"),
        F.concat(
            F.array(F.first(line)),
            F.transform(
                F.slice(missing, 1, 1),
                lambda m: F.struct(m["first"]["node_id"], m["first"]["file_id"], m["first"]["line"]),
            ),
        ).alias("evidence"),
    )


def _logs_around(at: Column) -> Column:
    """Whether a broker logged what it learned shortly before and after a time, in one of its files, by its
    `buckets_by_file`."""
    begun = F.floor(F.unix_seconds(at) / BUCKET_S)

    def spans(buckets: Column) -> Column:
        before = F.exists(buckets, lambda b: (b >= begun - AROUND) & (b < begun))
        return before & F.exists(buckets, lambda b: (b > begun) & (b <= begun + AROUND))

    return F.exists("buckets_by_file", spans)
