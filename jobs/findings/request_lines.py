"""Lines about requests of ZooKeeper controllers, deletions and steps of reassignments, by partition, as
`udfs.kafka.request_verdicts`, `udfs.kafka.deletion_verdicts` and `udfs.kafka.reassignment_steps` judge them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.kafka_releases import node_release
from jobs.timelines.known_spans import span_around, to_known_spans
from jobs.timelines.observations import number_of, printed_ids
from jobs.timelines.sorted_times import last_until, number_until
from jobs.timelines.topics import INCARNATION, with_incarnation
from udfs.kafka import reassignment_steps
from udfs.kafka.deletion_verdicts import REPLICA_CHANGE, STATES
from udfs.kafka.gauge_verdicts import REMOVED
from udfs.kafka.message_verdicts import STOP_SENT
from udfs.kafka.request_verdicts import LINES
from udfs.kafka.verdicts_columns import doubt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from jobs.settings import Settings

_STARTS = ("broker_starting", "kafka_version", "broker_started")
"""Lines by which a process shows that it has started; a start counts once for each."""
SERVER_LOGS = ("server",)
"""Kinds of logs in which these stand."""


_OF_PARTITION = (*LINES, REMOVED, STOP_SENT, *reassignment_steps.LINES)
ABOUT_REQUESTS = (*_OF_PARTITION, reassignment_steps.UNLISTED, REPLICA_CHANGE)
"""Events of which all rows are made."""


def to_requests_by_partition(
    events: DataFrame,
    topics: DataFrame,
    brokers: DataFrame,
    node_releases: DataFrame,
    coverage: DataFrame,
    settings: Settings,
) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE, BROKER_TIMELINE, rows of `to_node_releases`, LOG_COVERAGE -> INCARNATION and the columns
    of `Line`, those of one incarnation together in order of time."""
    server_spans = to_known_spans(coverage, SERVER_LOGS, settings.coverage_tolerance, "cluster", "node_id")
    node = ["cluster", "node_id"]
    starts = (
        events.where(F.col("event_type").isin(*_STARTS) & F.col("node_id").isNotNull())
        .groupBy(*node)
        .agg(F.collect_list("at").alias("starts"))
    )
    registrations = brokers.groupBy("cluster", F.col("broker").alias("node_id")).agg(
        F.collect_list("since").alias("registrations")
    )
    at = F.col("at")
    # what is told while a process starts may be a little older than its first line
    span = span_around(at, early=doubt())
    return (
        with_incarnation(_lines_by_partition(events), topics)
        .join(F.broadcast(starts), node, "left")
        .join(F.broadcast(registrations), node, "left")
        .join(F.broadcast(node_releases), node, "left")
        .join(F.broadcast(server_spans), node, "left")
        .withColumns(
            {
                "life": number_until("starts", at),
                "log_since": span["since"],
                "node_release": node_release(at),
                "registered_at": last_until("registrations", at + doubt()),
            }
        )
        .drop("starts", "registrations", "processes", "spans")
        .repartition(*INCARNATION)
        .sortWithinPartitions(*INCARNATION, "at", "line", "file_id")
    )


def _lines_by_partition(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, topic, partition and the columns of `Line` that a line itself prints."""
    from_state, to_state = F.col("fields")["from_state"], F.col("fields")["to_state"]
    is_step = to_state.isin(*STATES, "NewReplica", "OfflineReplica") | (from_state == "NewReplica")
    return _of_one_partition(
        events.where(
            F.col("event_type").isin(*_OF_PARTITION, reassignment_steps.UNLISTED)
            | ((F.col("event_type") == REPLICA_CHANGE) & is_step)
        )
    ).select(
        "cluster", "topic", "partition", "at", "node_id", "file_id", "line", "event_type", "controller_id",
        "controller_epoch", "correlation_id", "leader", "leader_epoch",
        "replicas",
        from_state.alias("from_state"),
        to_state.alias("to_state"),
        *(printed_ids(name).alias(name) for name in ("target_replicas", "adding_replicas", "removing_replicas")),
        number_of("replica").alias("replica"),
        number_of("current_leader_epoch").alias("current_leader_epoch"),
        number_of("target_broker").alias("target_broker"),
        (F.col("fields")["delete_partition"] == "true").alias("deletes"),
    )  # fmt: skip


def _of_one_partition(lines: DataFrame) -> DataFrame:
    """EVENTS -> those of a node about one partition; a line that takes several off ZooKeeper's list is one of each."""
    about_one = lines.where("topic IS NOT NULL AND partition IS NOT NULL AND node_id IS NOT NULL")
    others = [name for name in lines.columns if name not in ("topic", "partition")]
    several = lines.where((F.col("event_type") == reassignment_steps.UNLISTED) & F.col("node_id").isNotNull()).select(
        *others, F.explode("partitions").alias("p")
    )
    listed = several.select(*others, F.col("p.topic").alias("topic"), F.col("p.partition").alias("partition"))
    return about_one.unionByName(listed.where("topic IS NOT NULL AND partition IS NOT NULL"))
