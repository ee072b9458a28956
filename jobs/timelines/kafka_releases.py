"""Which Kafka release each cluster ran, and whether with KRaft, by its messages."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from udfs.kafka.releases import Release, common_range, first_release, printed_release

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KRAFT_ONLY = Release(4)
"""From here on no controller is in ZooKeeper mode, whatever logs are there."""


def releases(
    log_files: DataFrame, events: DataFrame, configured: Mapping[str, str] = MappingProxyType({})
) -> dict[str, tuple[str, bool]]:
    """By cluster the release whose algorithms it ran, or the range of those that it may have run (`4.1..`), and whether
    it ran KRaft; without those that show none.

    A release that is `configured` for a cluster counts before those that its brokers print when they start, and these
    before what messages allow.
    """
    # of messages that only KRaft's brokers print one is enough, where no controller's log is there
    from_kraft = events.where(
        "logger LIKE 'org.apache.kafka.controller%' OR logger = 'kafka-dump-log' OR event_type LIKE 'kraft%'"
    )
    kraft_clusters = {row["cluster"] for row in from_kraft.select("cluster").distinct().collect()}
    ranges: dict[str, list[str | None]] = {}
    for row in log_files.select("cluster", "kafka_versions").collect():
        ranges.setdefault(row["cluster"], []).append(row["kafka_versions"])
    printed: dict[str, list[str | None]] = {}
    starts = events.where("event_type = 'kafka_version' AND node_id IS NOT NULL")
    for row in starts.select("cluster", starts["fields"]["kafka_version"].alias("version")).distinct().collect():
        printed.setdefault(row["cluster"], []).append(row["version"])
    known = {
        cluster: configured.get(cluster) or printed_release(printed.get(cluster, ())) or common_range(of_cluster)
        for cluster, of_cluster in ranges.items()
    }
    return {
        cluster: (str(release), cluster in kraft_clusters or first_release(str(release)) >= KRAFT_ONLY)
        for cluster, release in known.items()
        if release is not None
    }


def to_term_releases(controllers: DataFrame, events: DataFrame, configured: Collection[str] = ()) -> DataFrame:
    """CONTROLLER_TIMELINE, EVENTS -> cluster, controller_epoch, `term_release`: what the controller of a term printed
    as its version when it last started before; of clusters whose release is not `configured`.

    In a rolling upgrade the algorithms change when the controller moves to another broker.
    """
    starts = events.where("event_type = 'kafka_version' AND node_id IS NOT NULL").select(
        "cluster",
        F.col("node_id").alias("controller_id"),
        F.col("at").alias("started_at"),
        F.col("fields")["kafka_version"].alias("version"),
    )
    return (
        controllers.where(~F.col("cluster").isin(*configured) if configured else F.lit(True))
        .select("cluster", "controller_id", "controller_epoch", "since")
        .join(starts, ["cluster", "controller_id"])
        .where("started_at <= since")
        .groupBy("cluster", "controller_epoch")
        .agg(F.max_by("version", "started_at").alias("term_release"))
    )
