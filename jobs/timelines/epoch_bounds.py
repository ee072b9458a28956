"""What lines show of a partition's leader epochs without stating its ISR: bounds for leaders' changes, whose lines lack
the leader epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.known_spans import controller_run_at
from jobs.timelines.leader_lines import FOLLOWS, STARTED
from jobs.timelines.observations import INITIALIZED, REFRESHED, SELECTED, number_of, sorted_ids
from jobs.timelines.topics import INCARNATION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STALE = "leader_and_isr_stale_leader_epoch"
"""A broker is sent a leader epoch that is no news, and prints the one that it knows."""
REMOVED = "controller_isr_removed"
"""A controller takes a replica out of the ISR; who leads leads on, if it is not that replica: then nobody does."""
WRITTEN_STATES = (REMOVED, INITIALIZED, SELECTED)
WRITTEN = (*WRITTEN_STATES, REFRESHED)
"""Lines that a controller logs as it writes a new leader epoch, before it sends it to anybody."""
NEXT = "become_leader_skipped_already_leader"
"""A broker is sent a later leader epoch in which it leads on. Until 1.0 the line does not say which; from 0.11 on
another one has printed it (`Partition.makeLeader`)."""
CREATED, ASSIGNED = "topics_changed", "reassignment_assignment_updated"
"""A ZooKeeper controller has new topics, with the assignments of their partitions; it writes another assignment."""
NOT_IN_ISR = "controller_isr_removal_not_in_isr"
COMPLETED = "preferred_election_completed"
"""A ZooKeeper controller has elected a preferred leader, or finds it leading: who leads, and nothing else."""
READ = (NOT_IN_ISR, "preferred_election_triggered", COMPLETED)
"""Lines of controllers until 1.0 about who leads, as it reads or has written."""
EPOCH_CACHED = "leader_epoch_cached"
"""A log has a first record of a leader epoch, of whatever leader: it began before (0.11 on, KIP-101)."""
FETCHED = "fetcher_added"
"""A broker begins to fetch from the leader, and prints which leader epoch it follows (2.1 on)."""
_PLACE = ("cluster", "topic", "topic_id", "partition", "at", "node_id", "file_id", "line")
_FLAGS = ("is_written", "is_known", "is_read", "is_shown", "keeps_leader")


def to_epoch_bounds(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, topic, partition, at, node_id, file_id, line, `shown_epoch`, leader, isr, `is_written`,
    `is_known`, `is_read`, `is_shown`, `keeps_leader`: lines of which each shows that a leader epoch had begun by then,
    that its node began another one, or who led (`udfs.reconstruct.placed_changes`); `is_read`: a controller has read
    the state from ZooKeeper right then."""
    return to_printed_bounds(events).unionByName(to_fetched_epochs(events), allowMissingColumns=True)


def to_printed_bounds(events: DataFrame) -> DataFrame:
    """Rows of `to_epoch_bounds` by lines about one partition."""
    kind = F.col("event_type")
    is_written, is_state, is_read = kind.isin(*WRITTEN), kind.isin(*WRITTEN_STATES), kind.isin(*READ)
    shown = F.when(kind == STALE, number_of("current_leader_epoch")).when(~is_read, F.col("leader_epoch"))
    written_or_read = F.when(is_state | is_read, F.coalesce("leader", number_of("current_leader")))
    leader = F.when(kind.isin(*STARTED, NEXT), F.col("node_id")).otherwise(written_or_read)
    says = shown.isNotNull() | (kind == NEXT) | (is_read & (leader >= 0))
    is_whole = F.col("topic").isNotNull() & F.col("node_id").isNotNull() & says
    lines = events.where(kind.isin(STALE, NEXT, *STARTED, FOLLOWS, EPOCH_CACHED, *WRITTEN, *READ) & is_whole)
    return _without_begun(lines).select(
        *_PLACE,
        shown.alias("shown_epoch"),
        leader.alias("leader"),
        F.when(is_state, sorted_ids(F.col("isr"))).alias("isr"),
        is_written.alias("is_written"),
        (~is_written & ~is_read & (kind != EPOCH_CACHED)).alias("is_known"),
        (kind == NOT_IN_ISR).alias("is_read"),
        F.lit(True).alias("is_shown"),
        ((kind == REFRESHED) | ((kind == REMOVED) & (F.col("leader") >= 0))).alias("keeps_leader"),
    )


def _without_begun(lines: DataFrame) -> DataFrame:
    """EVENTS without NEXT of nodes that print the leader epochs that they begin: they have printed this one already,
    and it is no later one."""
    is_printing = F.col("event_type").isin(*STARTED)
    printing = lines.where(is_printing).select("cluster", "node_id", F.lit(NEXT).alias("event_type")).distinct()
    return lines.join(F.broadcast(printing), ["cluster", "node_id", "event_type"], "left_anti")


def to_fetched_epochs(events: DataFrame, *more: str) -> DataFrame:
    """Rows of `to_epoch_bounds` by which followers begin to fetch, with `more` columns of the events. From its own
    other directory a broker fetches, too, whoever leads."""
    source = number_of("source_broker")
    lines = events.where(
        (F.col("event_type") == FETCHED) & F.col("partitions").isNotNull() & (source != F.col("node_id"))
    )
    of_partition = (F.col(f"one.{name}").alias(name) for name in ("topic", "topic_id", "partition"))
    return (
        lines.withColumns({"source": source, "one": F.explode("partitions")})
        .where("one.leader_epoch IS NOT NULL AND one.topic IS NOT NULL AND one.partition IS NOT NULL")
        .select(
            "cluster", *of_partition, "at", "node_id", "file_id", "line",
            F.col("one.leader_epoch").alias("shown_epoch"),
            F.col("source").alias("leader"),
            *(F.lit(name in ("is_known", "is_shown")).alias(name) for name in _FLAGS),
            *more,
        )
    )  # fmt: skip


def to_assignments_told(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, topic, topic_id, partition, at, node_id, file_id, line, replicas, `is_new`, `shown_epoch`: the
    assignments that ZooKeeper's controllers give new partitions (`is_new`), and that they write in reassignments.

    `shown_epoch`: the leader epoch that the controller writes next, if its next line about the partition is that it
    raised it; null else. Leaders learn of the assignment with that one.
    """
    kind = F.col("event_type")
    place = ["cluster", "at", "node_id", "file_id", "line"]
    new = events.where((kind == CREATED) & F.col("partitions").isNotNull()).select(
        *place, F.explode("partitions").alias("one"), F.lit(True).alias("is_new")
    )
    lines = events.where(kind.isin(ASSIGNED, *WRITTEN, *READ) & F.col("topic").isNotNull())
    order = Window.partitionBy("cluster", "topic", "partition", "node_id").orderBy("at", "line", "file_id")
    raised = F.lead(F.when(kind == REFRESHED, F.col("leader_epoch"))).over(order)
    written = lines.withColumn("shown_epoch", raised).where(kind == ASSIGNED)
    names = ["topic", "topic_id", "partition", "replicas"]
    return (
        written.select(*place, *names, F.lit(False).alias("is_new"), "shown_epoch")
        .unionByName(new.select(*place, *(F.col(f"one.{name}") for name in names), "is_new"), allowMissingColumns=True)
        .where("topic IS NOT NULL AND partition IS NOT NULL AND replicas IS NOT NULL AND node_id IS NOT NULL")
    )


def to_added_replicas(assignments: DataFrame, runs: DataFrame) -> DataFrame:
    """Rows of `to_assignments_told` with `incarnation`, of `to_controller_runs` -> rows as those of `to_epoch_bounds`
    with `adds`: before that leader epoch no leader knew of this replica.

    So it is of a replica that no assignment has before, if the logs of all controllers are there since they gave the
    partition its first one.
    """
    place = ["at", "node_id", "file_id", "line"]
    step = F.struct(*place, "topic_id", "is_new", "shown_epoch")
    created = assignments.where("is_new").groupBy(*INCARNATION).agg(F.min("at").alias("created_at"))
    firsts = (
        assignments.withColumn("adds", F.explode("replicas"))
        .groupBy(*INCARNATION, "adds")
        .agg(F.min_by(step, F.struct("at", "line")).alias("first"))
        .select(*INCARNATION, "adds", "first.*")
        .where("NOT is_new AND shown_epoch IS NOT NULL")
    )
    run = controller_run_at(F.col("created_at"))
    return (
        firsts.join(created, INCARNATION)
        .join(F.broadcast(runs), "cluster")
        .where(run["until"] >= F.col("at"))
        .select(*INCARNATION, "topic_id", *place, "shown_epoch", "adds", F.lit(True).alias("is_shown"))
    )
