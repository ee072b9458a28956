"""From when on a cluster's events are new, if all others are as they were published."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.warehouse.tables import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COMPARED = (
    "line", "at", "node_id", "logger", "event_type", "topic", "partition", "leader_epoch", "partition_epoch", "detail",
)  # fmt: skip
"""Columns by which events of a stream that was read again are seen to be unchanged: its bytes are, but its zone and
node may have changed."""
_STREAM = ["cluster", "file_id"]


def first_new_event_times(warehouse: Warehouse, streams: Iterable[str]) -> dict[str, datetime]:
    """By cluster the time of the first new event of streams that were read; one that got further lines is new, too.

    Clusters are left out if another one of their published events has changed, or a new one has no time.
    """
    digest = F.xxhash64(*_COMPARED)
    before, after = (
        events.where(F.col("file_id").isin(*streams)).select(*_STREAM, *_COMPARED)
        for events in (warehouse.read("events"), warehouse.newest("events"))
    )
    last = F.max_by(F.struct("line", "at", digest.alias("digest")), "line").alias("last")
    published = before.groupBy(*_STREAM).agg(last, F.bit_xor(digest).alias("published_digest"))
    by_stream = _to_digests(after.join(F.broadcast(published.select(*_STREAM, "last")), _STREAM, "left"))
    is_same = F.col("digest") == F.col("published_digest")
    is_same_but_last = F.col("digest").bitwiseXOR(F.col("last_digest")) == F.col("published_digest").bitwiseXOR(
        F.col("last.digest")
    )
    is_new_stream = F.col("last").isNull()
    since = F.when(is_new_stream | is_same, F.col("since")).otherwise(F.least("since", "last.at"))
    is_sure = (is_new_stream | is_same | is_same_but_last) & ~F.col("is_timeless")
    by_cluster = (
        published.join(by_stream, _STREAM, "full")
        .groupBy("cluster")
        .agg(F.min(since).alias("since"), F.min(F.coalesce(is_sure, F.lit(False))).alias("is_sure"))
    )
    return {row["cluster"]: row["since"] for row in by_cluster.collect() if row["is_sure"] and row["since"] is not None}


def _to_digests(events: DataFrame) -> DataFrame:
    """Events with the `last` published one of their stream (null: a new stream) -> one row a stream.

    cluster, file_id, digest and last_digest (of the events up to the last published line, and of that line), since (the
    first time of later events), is_timeless (one of those has no time).
    """
    digest, line, last_line = F.xxhash64(*_COMPARED), F.col("line"), F.col("last.line")
    is_new = F.coalesce(line > last_line, F.lit(True))
    return events.groupBy(*_STREAM).agg(
        F.bit_xor(F.when(line <= last_line, digest)).alias("digest"),
        F.max(F.when(line == last_line, digest)).alias("last_digest"),
        F.min(F.when(is_new, F.col("at"))).alias("since"),
        F.max(is_new & F.col("at").isNull()).alias("is_timeless"),
    )
