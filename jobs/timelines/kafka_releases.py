"""Which Kafka release each cluster ran, and whether with KRaft, by its messages."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.sorted_times import number_until
from udfs.kafka.releases import Release, common_range, first_release, printed_range, printed_release, supporting_range

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KRAFT_ONLY = Release(4)
"""From here on no controller is in ZooKeeper mode, whatever logs are there."""
_VERSION = "kafka_version"
_REGISTRATIONS = ("metadata_register_broker", "metadata_register_controller")
_SUPPORTED = r'"name":"metadata\.version","minSupportedVersion":\d+,"maxSupportedVersion":(\d+)'
_BEGINS = ("broker_starting", "kraft_controller_created")
"""Lines with which a process begins. It prints its version seconds later, when it is at work already
(`KafkaServer.startup`, `KafkaRaftServer.startup`)."""


def releases(
    log_files: DataFrame, events: DataFrame, configured: Mapping[str, str] = MappingProxyType({})
) -> dict[str, tuple[str, bool]]:
    """By cluster the release whose algorithms it ran, or the range of those that it may have run (`4.1..`), and whether
    it ran KRaft; without those that show none.

    A release that is `configured` for a cluster counts before those that its brokers print when they start (several, as
    in a rolling upgrade, are a range), these before those of nodes that register in a metadata dump, and they before
    what messages allow.
    """
    # of messages that only KRaft's brokers print one is enough, where no controller's log is there
    from_kraft = events.where(
        "logger LIKE 'org.apache.kafka.controller%' OR logger = 'kafka-dump-log' OR event_type LIKE 'kraft%'"
    )
    supported = F.when(F.col("event_type").isin(*_REGISTRATIONS), F.regexp_extract("message", _SUPPORTED, 1))
    level = supported.try_cast("int")
    of_kraft = from_kraft.groupBy("cluster").agg(F.min(level).alias("lowest"), F.max(level).alias("highest"))
    registered = {row["cluster"]: supporting_range([row["lowest"], row["highest"]]) for row in of_kraft.collect()}
    kraft_clusters = registered.keys()
    ranges: dict[str, list[str | None]] = {}
    for row in log_files.select("cluster", "kafka_versions").collect():
        ranges.setdefault(row["cluster"], []).append(row["kafka_versions"])
    printed: dict[str, list[str | None]] = {}
    starts = events.where("event_type = 'kafka_version' AND node_id IS NOT NULL")
    for row in starts.select("cluster", starts["fields"]["kafka_version"].alias("version")).distinct().collect():
        printed.setdefault(row["cluster"], []).append(row["version"])
    known = {
        cluster: configured.get(cluster)
        or printed_range(printed.get(cluster, ()))
        or registered.get(cluster)
        or common_range(of_cluster)
        for cluster, of_cluster in ranges.items()
    }
    newest = {
        cluster: None if cluster in configured else printed_release(printed.get(cluster, ())) for cluster in known
    }
    return {
        cluster: (text, cluster in kraft_clusters or (newest[cluster] or first_release(text)) >= KRAFT_ONLY)
        for cluster, text in known.items()
        if text is not None
    }


def to_process_releases(events: DataFrame, configured: Collection[str] = ()) -> DataFrame:
    """EVENTS -> cluster, node_id, `started_at`, `version`: what each process of a node printed as its version, and when
    it began; of clusters whose release is not `configured`. A begin that is not logged is the version's own line."""
    order = Window.partitionBy("cluster", "node_id").orderBy("at", "file_id", "line")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    at, is_version = F.col("at"), F.col("event_type") == _VERSION
    lines = events.where(F.col("event_type").isin(_VERSION, *_BEGINS) & F.col("node_id").isNotNull()).withColumns(
        {
            "began": F.last(F.when(~is_version, at), ignorenulls=True).over(before),
            "printed": F.last(F.when(is_version, at), ignorenulls=True).over(before),
        }
    )
    is_own = F.col("printed").isNull() | (F.col("began") >= F.col("printed"))
    return (
        lines.where(is_version & (~F.col("cluster").isin(*configured) if configured else F.lit(True)))
        .withColumn("started_at", F.coalesce(F.when(is_own, F.col("began")), at))
        .select("cluster", "node_id", "started_at", F.col("fields")[_VERSION].alias("version"))
    )


def to_node_releases(events: DataFrame, configured: Collection[str] = ()) -> DataFrame:
    """EVENTS -> cluster, node_id, `processes`: rows of `to_process_releases`, a list for each node, see `node_release`;
    one row for each node."""
    process = F.struct("started_at", "version")
    return (
        to_process_releases(events, configured)
        .groupBy("cluster", "node_id")
        .agg(F.sort_array(F.collect_list(process)).alias("processes"))
    )


def node_release(at: Column) -> Column:
    """What a node's process at a time printed as its version, by its `processes`; null if no line tells."""
    return F.get("processes", number_until("processes.started_at", at) - 1)["version"]


def to_term_releases(controllers: DataFrame, events: DataFrame, configured: Collection[str] = ()) -> DataFrame:
    """CONTROLLER_TIMELINE, EVENTS -> cluster, controller_epoch, `term_release`: what the controller of a term printed
    as its version when it last started before; of clusters whose release is not `configured`.

    In a rolling upgrade the algorithms change when the controller moves to another broker.
    """
    starts = to_process_releases(events, configured).withColumnRenamed("node_id", "controller_id")
    return (
        controllers.select("cluster", "controller_id", "controller_epoch", "since")
        .join(starts, ["cluster", "controller_id"])
        .where("started_at <= since")
        .groupBy("cluster", "controller_epoch")
        .agg(F.max_by("version", "started_at").alias("term_release"))
    )
