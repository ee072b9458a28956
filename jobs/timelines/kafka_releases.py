"""Which Kafka release each cluster ran, and whether with KRaft, by its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from udfs.kafka.releases import Release, lowest_release, printed_release

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KRAFT_ONLY = Release(4)
"""From here on no controller is in ZooKeeper mode, whatever logs are there."""


def releases(log_files: DataFrame, events: DataFrame) -> dict[str, tuple[str, bool]]:
    """By cluster the release whose algorithms it ran, and whether it ran KRaft; without those that show none.

    A release that a broker prints at its start counts before what messages allow.
    """
    from_kraft = events.where("logger LIKE 'org.apache.kafka.controller%' OR logger = 'kafka-dump-log'")
    kraft_clusters = {row["cluster"] for row in from_kraft.select("cluster").distinct().collect()}
    ranges: dict[str, list[str | None]] = {}
    for row in log_files.select("cluster", "kafka_versions").collect():
        ranges.setdefault(row["cluster"], []).append(row["kafka_versions"])
    printed: dict[str, list[str | None]] = {}
    starts = events.where("event_type = 'kafka_version' AND node_id IS NOT NULL")
    for row in starts.select("cluster", starts["fields"]["kafka_version"].alias("version")).distinct().collect():
        printed.setdefault(row["cluster"], []).append(row["version"])
    lowest = {
        cluster: printed_release(printed.get(cluster, ())) or lowest_release(of_cluster)
        for cluster, of_cluster in ranges.items()
    }
    return {
        cluster: (str(release), cluster in kraft_clusters or release >= KRAFT_ONLY)
        for cluster, release in lowest.items()
        if release is not None
    }
