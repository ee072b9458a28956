"""What lines log of partitions, gathered before states are made of it; rows have the incarnation of their topic."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.timelines.cluster_facts import (
    ClusterFacts,
    EvidenceKinds,
    is_replica_offline,
)
from jobs.timelines.controllers import ZOOKEEPER, to_replay_spans
from jobs.timelines.epoch_bounds import to_added_replicas, to_assignments_told, to_epoch_bounds
from jobs.timelines.known_spans import to_controller_runs
from jobs.timelines.leader_lines import (
    PROCESS_STARTS,
    is_begin,
    to_broken_sessions,
    to_changes_by_leader,
    to_leader_lines,
    to_reported_states,
    with_lost_begins,
    with_styles_of_nodes,
)
from jobs.timelines.logged_assignments import is_assignment_write, is_reassignment, to_new_assignments
from jobs.timelines.observations import (
    INITIALIZED,
    SELECTED,
    printed_ids,
    to_listed_observations,
    to_observations,
    to_selected_observations,
    to_unnumbered_observations,
)
from jobs.timelines.recreations import to_creations
from jobs.timelines.sent_epochs import to_sent_epochs, with_limits
from jobs.timelines.states.assigned_isrs import to_first_isrs, to_lone_isrs, with_assigned_isr
from jobs.timelines.states.controller_steps import (
    to_controller_steps,
    to_logged_spans,
    to_lost_replicas,
    with_listed_directories,
)
from jobs.timelines.topics import (
    INCARNATION,
    with_history,
    with_incarnation,
    with_topic_name,
)
from udfs.reconstruct.kraft_facts import ASSIGNMENT_CHANGED, FENCED, SHOWN
from udfs.rules.state_events import STATE_CHANGE_EVENTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


SHOWING_BY_CONTROLLERS = ("kraft_partition_created", "kraft_partition_record_replayed", *STATE_CHANGE_EVENTS)
"""Events by which KRaft's controllers, active or not, print states as they replay the records of them."""


RETRIED = "controller_request_retry"
RETRIED_WITHIN = timedelta(seconds=90)
"""How long a ZooKeeper controller's request waits until it fails to be sent, as it is assumed: behind others to a
broker that is frozen, each of which fails after 30 s (`controller.socket.timeout.ms`)."""


@dataclass(frozen=True)
class KraftEvidence:
    """What active KRaft controllers did; `step` is a `udfs.reconstruct.kraft_engine_columns.CONTROLLER_STEP`."""

    broker_steps: DataFrame
    """Rows of EVENTS with `step`: what they did with brokers, and with partitions that no line names."""
    partition_steps: DataFrame
    """INCARNATION, `step`: records of changed assignments, states that they printed, and replicas in directories that
    failed."""
    fencings: DataFrame
    """cluster, leader, `fencings`: when the broker was fenced, all times in order."""
    shrinks: DataFrame
    """INCARNATION, `shrinks`: SHRINKs of `udfs.reconstruct.kraft_engine_columns`, the ISRs that leaders say they shrink
    to."""
    logged: DataFrame
    """cluster, `logged`: spans in which the active controller's log is there."""


@dataclass(frozen=True)
class ZkEvidence:
    """Replicas that ZooKeeper's controllers took offline without logging what came of it."""

    offline_replicas: DataFrame
    """Rows of EVENTS with `incarnation`."""
    deletions: DataFrame
    """Rows of EVENTS with `incarnation`: deletions of topics that began."""


@dataclass(frozen=True)
class UnnumberedEvidence:
    """What lines log without partition epoch: Kafka until 2.3."""

    observations: DataFrame
    """OBSERVATIONS without partition epoch, with `incarnation`."""
    changes: DataFrame
    """CHANGES_BY_LEADER."""
    bounds: DataFrame | None
    """Rows of `to_epoch_bounds` with `incarnation`, of partitions with changes whose leader epoch no line of the writer
    shows; None: there are none."""
    begins: DataFrame
    """Rows of `with_assigned_isr`: leaders that begin a leader epoch, of which their lines do not print the ISR."""
    creations: DataFrame
    """INCARNATION, `created_at`: partitions of which lines show the creation."""
    incarnations: DataFrame
    """INCARNATION of those partitions: all their states are put in order without partition epochs."""
    listed: DataFrame | None
    """Rows of `with_term` with `incarnation`; partitions of which they hold a state that is in no other line are put in
    order so, too."""


@dataclass(frozen=True)
class PartitionEvidence:
    """What lines log of partitions; None for a kind of which events hold nothing."""

    incarnations: DataFrame
    """`jobs.timelines.topics.to_numbered_incarnations`."""
    observations: DataFrame
    """OBSERVATIONS with HISTORY, each with its partition epoch."""
    kraft: KraftEvidence | None
    zk: ZkEvidence | None
    unnumbered: UnnumberedEvidence | None
    new_assignments: DataFrame | None
    """Rows of `to_new_assignments` with `incarnation`."""
    reassignments: DataFrame | None
    """cluster, topic, partition, `reassigned`, `writes`, `before_writes`."""
    controller_runs: DataFrame | None = None
    """See `to_controller_runs`."""


def gather(
    events: DataFrame,
    topics: DataFrame,
    controllers: DataFrame,
    incarnations: DataFrame,
    facts: ClusterFacts,
    kinds: EvidenceKinds,
) -> PartitionEvidence:
    """EVENTS, TOPIC_TIMELINE, CONTROLLER_TIMELINE -> what they hold of partitions, of these kinds; `incarnations`: see
    `PartitionEvidence`."""
    reassignments = _reassignments(events, topics)
    has_leader_lines = kinds.reads_leader_lines
    if kinds.kraft:
        events = _with_replayed(events, controllers)
    observations = to_observations(events, kraft=kinds.kraft, dumps=kinds.dumps, isr_updates=not has_leader_lines)
    kraft_clusters = facts.kraft_clusters if kinds.kraft else None
    without_epoch = to_unnumbered_observations(events, kraft_clusters) if kinds.unnumbered else None
    if without_epoch is not None and kinds.have([SELECTED, INITIALIZED]):
        without_epoch = without_epoch.unionByName(to_selected_observations(events))
    kraft = zk = unnumbered = leader_lines = shown = new_assignments = assigned = None
    starts = events.where((F.col("event_type") == PROCESS_STARTS) & F.col("node_id").isNotNull())
    if has_leader_lines:
        of_partitions = with_incarnation(events.where("topic IS NOT NULL"), incarnations)
        shown = with_incarnation(to_epoch_bounds(events), incarnations)
        leader_lines = checkpointed(to_leader_lines(of_partitions, facts.coverage, starts, shown))
        leader_lines = with_styles_of_nodes(with_lost_begins(leader_lines, events), events)
        observations = observations.unionByName(to_reported_states(leader_lines))
    listed = None
    if kinds.listed:
        current = without_old_retries(events, controllers, facts.coverage) if kinds.have([RETRIED]) else events
        states_of_lists = checkpointed(to_listed_observations(current))
        with_epoch = states_of_lists.where("partition_epoch IS NOT NULL").drop("is_by_comma")
        observations = observations.unionByName(with_epoch)
        without_number = states_of_lists.where("partition_epoch IS NULL")
        listed = with_incarnation(with_term(without_number, controllers), incarnations)
    if kinds.kraft:
        kraft = _kraft_evidence(events, controllers, facts, incarnations, kinds)
    if kinds.removals:
        zk = _zk_evidence(events, incarnations, facts)
    runs = to_controller_runs(controllers, facts.coverage) if kinds.zookeeper else None
    if kinds.assigned:
        new_assignments = with_incarnation(to_new_assignments(events), incarnations)
        if runs is not None:
            assigned = _assigned_isrs(new_assignments, events, controllers, reassignments, runs, facts)
    if without_epoch is not None and leader_lines is not None and shown is not None:
        unnumbered = _unnumbered_evidence(
            events, without_epoch, leader_lines, shown, starts, runs, assigned, listed, incarnations
        )
    return PartitionEvidence(
        incarnations=incarnations,
        observations=with_history(observations, incarnations),
        kraft=kraft,
        zk=zk,
        unnumbered=unnumbered,
        new_assignments=new_assignments,
        reassignments=reassignments if kinds.reassigned else None,
        controller_runs=runs,
    )


def _zk_evidence(events: DataFrame, incarnations: DataFrame, facts: ClusterFacts) -> ZkEvidence:
    """Replicas that ZooKeeper's controllers took offline, and deletions."""
    offline_replicas = facts.without_result(events.where(is_replica_offline()))
    deletions = events.where("event_type = 'topic_deletion_started' AND topic IS NOT NULL")
    return ZkEvidence(with_incarnation(offline_replicas, incarnations), with_incarnation(deletions, incarnations))


def with_term(listed: DataFrame, controllers: DataFrame) -> DataFrame:
    """Rows of `to_listed_observations`, CONTROLLER_TIMELINE -> the same with `is_of_term`: whether the logs show the
    controller's election. Then it read all states since they begin."""
    terms = controllers.where(F.col("mode") == ZOOKEEPER).groupBy("cluster", F.col("controller_id").alias("node_id"))
    with_first = listed.join(F.broadcast(terms.agg(F.min("since").alias("elected_at"))), ["cluster", "node_id"], "left")
    return with_first.withColumn("is_of_term", F.coalesce(F.col("elected_at") <= F.col("at"), F.lit(False))).drop(
        "elected_at"
    )


def without_old_retries(events: DataFrame, controllers: DataFrame, coverage: DataFrame) -> DataFrame:
    """EVENTS, CONTROLLER_TIMELINE, LOG_COVERAGE -> events without requests that a controller fails to send within
    RETRIED_WITHIN of the begin of its cluster's logs, unless these show its election: what they ask for may have been
    over before the logs begin."""
    lines = ("cluster", "node_id", "at", "file_id", "line")
    retries = with_term(events.where(F.col("event_type") == RETRIED).select(*lines), controllers)
    begins = coverage.groupBy("cluster").agg(F.min("since").alias("begin"))
    old = retries.join(F.broadcast(begins), "cluster").where(
        ~F.col("is_of_term") & (F.col("at") < F.col("begin") + F.lit(RETRIED_WITHIN))
    )
    return events.join(
        F.broadcast(old.select("cluster", "file_id", "line")), ["cluster", "file_id", "line"], "left_anti"
    )


def _unnumbered_evidence(
    events: DataFrame,
    without_epoch: DataFrame,
    leader_lines: DataFrame,
    shown: DataFrame,
    starts: DataFrame,
    runs: DataFrame | None,
    assigned: DataFrame | None,
    listed: DataFrame | None,
    incarnations: DataFrame,
) -> UnnumberedEvidence:
    """What lines log without partition epoch."""
    states = checkpointed(with_incarnation(without_epoch, incarnations))
    changes = checkpointed(to_changes_by_leader(leader_lines, to_broken_sessions(events), starts))
    changed = changes.where("leader_epoch IS NOT NULL").select(*INCARNATION)
    to_order, bounds = states.select(*INCARNATION).union(changed), None
    unplaced = changes.where("leader_epoch IS NULL AND is_accepted AND writes").select(*INCARNATION).distinct()
    if not unplaced.isEmpty():
        sent = with_incarnation(to_sent_epochs(events), incarnations)
        shown = with_limits(shown, sent, events)
        if runs is not None:
            assignments = with_incarnation(to_assignments_told(events), incarnations)
            shown = shown.unionByName(to_added_replicas(assignments, runs), allowMissingColumns=True)
        bounds = checkpointed(shown.join(F.broadcast(unplaced), INCARNATION, "left_semi"))
        to_order = to_order.union(bounds.select(*INCARNATION))
    created = with_incarnation(to_creations(events), incarnations).groupBy(*INCARNATION)
    return UnnumberedEvidence(
        observations=states,
        changes=changes,
        bounds=bounds,
        begins=with_assigned_isr(with_incarnation(events.where(is_begin()), incarnations), assigned),
        creations=created.agg(F.min("at").alias("created_at")),
        incarnations=checkpointed(to_order.distinct()),
        listed=listed,
    )


def _assigned_isrs(
    new_assignments: DataFrame,
    events: DataFrame,
    controllers: DataFrame,
    reassignments: DataFrame,
    runs: DataFrame,
    facts: ClusterFacts,
) -> DataFrame:
    """Rows of `to_lone_isrs`, and of `to_first_isrs` for clusters that do not log what their controllers ask of brokers
    (TRACE), which has each state."""
    lone = to_lone_isrs(new_assignments, reassignments, runs)
    kinds_by_cluster = facts.kinds_by_cluster.items()
    untraced = [name for name, kinds in kinds_by_cluster if kinds.is_untraced_zookeeper]
    return lone.unionByName(to_first_isrs(new_assignments, events, controllers, runs, untraced)) if untraced else lone


def _kraft_evidence(
    events: DataFrame, controllers: DataFrame, facts: ClusterFacts, incarnations: DataFrame, kinds: EvidenceKinds
) -> KraftEvidence:
    """What active KRaft controllers did."""
    steps = to_controller_steps(events, controllers)
    if kinds.lost_directories:
        steps = with_listed_directories(steps, events)
    is_of_partition = F.col("step.kind").isin(ASSIGNMENT_CHANGED, SHOWN)
    of_partitions = with_incarnation(steps.where(is_of_partition), incarnations).select(*INCARNATION, "step")
    if kinds.lost_directories:
        lost = with_incarnation(to_lost_replicas(events), incarnations)
        of_partitions = of_partitions.unionByName(lost.select(*INCARNATION, "step"))
    return KraftEvidence(
        broker_steps=steps.where(~is_of_partition),
        partition_steps=of_partitions,
        fencings=steps.where(F.col("step.kind") == FENCED)
        .groupBy("cluster", F.col("step.broker").alias("leader"))
        .agg(F.array_sort(F.collect_set("at")).alias("fencings")),
        shrinks=_shrinks(events, incarnations),
        logged=to_logged_spans(facts.coverage, controllers, facts.holes),
    )


def _shrinks(events: DataFrame, incarnations: DataFrame) -> DataFrame:
    """`KraftEvidence.shrinks`."""
    lines = events.where("event_type = 'isr_shrinking' AND isr IS NOT NULL AND node_id IS NOT NULL")
    shrink = F.struct(F.col("node_id").alias("broker"), F.unix_micros("at").alias("at"), "isr")
    of_partitions = with_incarnation(lines, incarnations).groupBy(*INCARNATION)
    return of_partitions.agg(F.collect_list(shrink).alias("shrinks"))


def _with_replayed(events: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS with `is_replayed`: of a KRaft controller's line about a state, whether it was starting; else null."""
    spans = checkpointed(to_replay_spans(events, controllers))
    is_showing = F.col("event_type").isin(*SHOWING_BY_CONTROLLERS)
    is_in_span = F.col("lines.at").between(F.col("spans.replays_since"), F.col("spans.replays_until"))
    is_of_node = (F.col("lines.cluster") == F.col("spans.cluster")) & (F.col("lines.node_id") == F.col("spans.node_id"))
    return (
        events.alias("lines")
        .join(F.broadcast(spans).alias("spans"), is_of_node & is_in_span & is_showing, "left")
        .select("lines.*", F.when(F.col("spans.replays_since").isNotNull(), True).alias("is_replayed"))
    )


def _reassignments(events: DataFrame, topics: DataFrame) -> DataFrame:
    """Partitions that any controller's log or dump shows being reassigned: cluster, topic, partition, `reassigned`, and
    `reassigned_since`, the first line about that.

    `writes`: when a ZooKeeper controller had written which assignment, in order; `before_writes`: the one that it
    replaced first (logged from 2.4 on).
    """
    written = F.when(is_assignment_write(), F.struct("at", "replicas"))
    replaced = printed_ids("old_replicas")
    return (
        with_topic_name(events.where(is_reassignment()), topics)
        .groupBy("cluster", "topic", "partition")
        .agg(
            F.lit(True).alias("reassigned"),
            F.min("at").alias("reassigned_since"),
            F.array_sort(F.collect_set(written)).alias("writes"),
            F.min_by(replaced, F.when(replaced.isNotNull(), F.col("at"))).alias("before_writes"),
        )
    )
