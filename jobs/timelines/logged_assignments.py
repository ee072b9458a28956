"""Lines by which ZooKeeper's controllers tell assignments, of new partitions and of reassigned ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.observations import LEADER_STARTED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LISTS_OF_NEW = ("topics_changed", "partitions_added")
"""Events that list new partitions with their assignments, at INFO in all releases."""


def is_new_partition() -> Column:
    """Whether a controller logs, at TRACE, that a partition is new, and its assignment."""
    is_new = (F.col("event_type") == "partition_state_change") & (F.col("fields")["to_state"] == "NewPartition")
    return is_new & F.col("replicas").isNotNull()


def has_new_assignments() -> Column:
    """Whether a controller logs assignments of new partitions."""
    return is_new_partition() | (F.col("event_type").isin(*LISTS_OF_NEW) & (F.size("partitions") > 0))


def to_new_assignments(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, at, topic, topic_id (null: not printed), partition, replicas, node_id, file_id, line:
    assignments that controllers read of new partitions, in the order in which they are stored."""
    place = ["node_id", "file_id", "line"]
    key = ["topic", "topic_id", "partition", "replicas"]
    listed = events.where(F.col("event_type").isin(*LISTS_OF_NEW)).withColumn("one", F.explode("partitions"))
    of_list = listed.select("cluster", "at", *(F.col(f"one.{name}").alias(name) for name in key), *place)
    of_partition = events.where(is_new_partition()).select("cluster", "at", *key, *place)
    return of_partition.unionByName(of_list.where("replicas IS NOT NULL"))


TOLD_ASSIGNMENTS = (LEADER_STARTED, "become_leader_skipped_already_leader", "become_follower_skipped_same_leader")
"""Events by which brokers print which replicas a reassignment adds and removes, at INFO."""


def is_reassignment() -> Column:
    """Whether an event is part of a partition's reassignment: a controller's line, a record of a metadata dump, or the
    line of a broker that is told of one."""
    moved = F.concat_ws(",", F.col("fields")["adding_replicas"], F.col("fields")["removing_replicas"])
    is_told = F.col("event_type").isin(*TOLD_ASSIGNMENTS) & moved.rlike("[0-9]")
    return (
        is_told
        | F.col("event_type").isin("reassignment_assignment_updating", "reassignment_assignment_updated")
        | (
            F.col("event_type").isin("kraft_partition_assignment_changed", "metadata_partition_change")
            & (F.col("replicas").isNotNull() | F.col("fields")["adding_replicas"].isNotNull())
        )
    )


def is_assignment_write() -> Column:
    """Whether a ZooKeeper controller logs that it wrote an assignment: a step of a reassignment."""
    return F.col("event_type") == "reassignment_assignment_updated"
