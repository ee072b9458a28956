"""Changes of topics' and brokers' settings, as far as logged; how lines are read: `udfs.reconstruct.config_changes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.cluster_facts import EvidenceKinds
from jobs.timelines.controllers import by_active_controller
from jobs.timelines.row_streams import map_rows
from jobs.timelines.topics import with_incarnation
from schemas.config_changes import CONFIG_CHANGES
from schemas.kafka_values import MIN_ISR
from udfs.reconstruct.config_changes import KAFKA_CONFIG, NEW_LOG, RESOURCE, config_changes

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_LISTS = ("topic_config_changed", "broker_config_changed", "metadata_config_updated", "topic_creation_written")
"""Events that print all settings of a topic or broker that are not the default."""
_OF_KRAFT_BROKERS = "metadata_config_updated"
"""All settings, as a broker of KRaft knows them; one that starts may print those of topics that are gone by then."""
_OF_CONTROLLERS = "kraft_config_set"
"""A KRaft controller that replays a record with one setting, be it new or of any time."""
_OF_DUMPS = "metadata_config"
_OF_NODES = "kafka_config_printed"
_OF_NEW_LOGS = "replica_log_created"
_AS_PRINTED = (*_LISTS, _OF_DUMPS, _OF_NODES, _OF_NEW_LOGS)
"""Lines that count whoever wrote them; of KRaft's controllers only those of the active one do."""
SETTING_EVENTS = (*_AS_PRINTED, _OF_CONTROLLERS)
"""Lines that show settings."""
DEFAULT = "<default>"
"""Stands for all brokers, as in Kafka's own paths."""
AFTER_DELETION = "INTERVAL 1 MINUTE"
"""So long after a topic's deletion brokers may print that it has no settings."""


def to_config_changes(events: DataFrame, topics: DataFrame, controllers: DataFrame, kinds: EvidenceKinds) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE, CONTROLLER_TIMELINE -> CONFIG_CHANGES. What a topic loses by its deletion is none."""
    lines = events.where(F.col("event_type").isin(*_AS_PRINTED))
    if kinds.have([_OF_CONTROLLERS]):
        replayed = events.where(F.col("event_type") == _OF_CONTROLLERS)
        lines = lines.unionByName(by_active_controller(replayed, controllers, events))
    settings_lines = _told_settings(lines.where("at IS NOT NULL"))
    of_topics = _before_deletion(with_incarnation(settings_lines.where("topic IS NOT NULL"), topics), topics)
    others = settings_lines.where("topic IS NULL").withColumn("incarnation", F.lit(0))
    in_order = (
        of_topics.unionByName(others)
        .repartition("cluster", "resource_type", "topic", "resource")
        .sortWithinPartitions(*RESOURCE, "at", "line", "file_id")
    )
    changes = map_rows(in_order, config_changes, CONFIG_CHANGES.schema)
    return (
        changes.join(F.broadcast(_deletions(topics)), ["cluster", "topic"], "left")
        .where(~_is_of_deletion())
        .select(*CONFIG_CHANGES.columns)
    )


def _told_settings(lines: DataFrame) -> DataFrame:
    """Lines about settings -> the columns of `udfs.reconstruct.config_changes.Line`, without incarnation."""
    fields, kind = F.col("fields"), F.col("event_type")
    of_log, of_node = kind == _OF_NEW_LOGS, kind == _OF_NODES
    of_one = kind.isin(_OF_CONTROLLERS, _OF_DUMPS, _OF_NEW_LOGS)
    # a list of a broker's settings is about whom the line names, not about who wrote it
    broker = (
        F.when(of_node, F.col("node_id").cast("string"))
        .when(of_one, F.col("broker_id").cast("string"))
        .otherwise(fields["entity"])
    )
    named = F.coalesce(broker, fields["config_resource_name"])
    printed_type = F.coalesce(F.lower(fields["config_resource_type"]), fields["entity_type"], F.lit("broker"))
    type_ = (
        F.when(of_log, NEW_LOG)
        .when(of_node, KAFKA_CONFIG)
        .when(F.col("topic").isNotNull(), "topic")
        .when(printed_type == "node", "broker")
        .otherwise(F.regexp_replace(printed_type, " ", "_"))
    )
    listed = F.coalesce(F.when(of_node, F.col("detail")), fields["config"], fields["configs"], F.lit(""))
    name = F.when(of_log, MIN_ISR).otherwise(fields["config_name"])
    is_whose = F.when(of_node, F.col("node_id").isNotNull()).otherwise(~of_one | name.isNotNull())
    return lines.where(is_whose).select(
        "cluster",
        type_.alias("resource_type"),
        "topic",
        F.when(F.col("topic").isNull(), F.coalesce(named, F.lit(DEFAULT))).alias("resource"),
        "at",
        (kind == _OF_KRAFT_BROKERS).alias("is_of_kraft_broker"),
        F.when(~of_one, listed).alias("settings"),
        F.when(of_one, name).alias("name"),
        F.when(of_log, fields["min_insync_replicas"]).when(of_one, fields["config_value"]).alias("value"),
        "node_id",
        "file_id",
        "line",
    )


def _before_deletion(lines: DataFrame, topics: DataFrame) -> DataFrame:
    """Lines with `incarnation` without those that brokers of KRaft print after its deletion, as they start.

    With ZooKeeper the settings of a topic are there before the topic is: such a line may be about the next one.
    """
    deleted = topics.where("until IS NOT NULL").select(
        "cluster", "topic", "incarnation", F.col("until").alias("gone_at")
    )
    is_late = F.col("is_of_kraft_broker") & (F.col("at") > F.col("gone_at"))
    known = lines.join(F.broadcast(deleted), ["cluster", "topic", "incarnation"], "left")
    return known.where(~F.coalesce(is_late, F.lit(False))).drop("gone_at")


def _deletions(topics: DataFrame) -> DataFrame:
    """TOPIC_TIMELINE -> cluster, topic, `deletions`: when topics of that name were deleted."""
    deletion = F.struct("deletion_started", (F.col("until") + F.expr(AFTER_DELETION)).alias("until"))
    deleted = topics.where("deletion_started IS NOT NULL")
    return deleted.groupBy("cluster", "topic").agg(F.collect_list(deletion).alias("deletions"))


def _is_of_deletion() -> Column:
    """Whether a setting went with its topic."""
    at = F.col("at")
    went = F.exists("deletions", lambda one: at.between(one["deletion_started"], F.coalesce(one["until"], at)))
    return F.col("value").isNull() & F.coalesce(went, F.lit(False))
