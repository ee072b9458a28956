"""States of partitions over time, rebuilt from observations with window functions.

What orders a partition's states is its partition epoch, never a clock: several nodes log one state, each at its own
time; where lines do not print it, the chain of changes does (`udfs.reconstruct.partition_history`). A state is as old
as its first proof, and no younger than the first proof of any later state.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.settings import Settings
from jobs.timelines.cluster_facts import ClusterFacts, EvidenceKinds
from jobs.timelines.controllers import without_epochs_of_kraft
from jobs.timelines.lossy_hours import without_inferred
from jobs.timelines.min_isr import with_min_isr
from jobs.timelines.states.assignments import with_assignments, with_start_and_replicas
from jobs.timelines.states.columns import is_complete
from jobs.timelines.states.kraft import with_following_states
from jobs.timelines.states.kraft_assignments import with_kept_replicas
from jobs.timelines.states.neighbours import without_stale_terms
from jobs.timelines.states.numbered import to_numbered_states
from jobs.timelines.states.partition_evidence import gather
from jobs.timelines.states.unnumbered import with_unnumbered_states
from jobs.timelines.states.zookeeper import with_states_of_removals
from jobs.timelines.topics import HISTORY, to_numbered_incarnations
from schemas.timelines import CONTRADICTIONS, PARTITION_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import Column


def to_states(events: DataFrame, topics: DataFrame, controllers: DataFrame, facts: ClusterFacts) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE, CONTROLLER_TIMELINE -> STATES (`states.columns`), one row per logged or inferred state.

    The topics may be some of the clusters', then events of others need not be there; `facts` are those of whole
    clusters. `leader`, `leader_epoch`, `isr`, `replicas` may be null: no line states them, or lines contradict each
    other, and then `contradiction` says how. `ordinal` orders the states of an incarnation, HISTORY numbers it.

    Clusters are worked out with those that are alike (`ClusterFacts.alike`). Observations are exchanged and sorted
    once, by HISTORY and partition epoch; all that follows keeps to that, so that no row is sent anywhere again, unless
    clusters differ. Frames up to the end of a history are read from there: from each row they would be quadratic.
    """
    incarnations = checkpointed(to_numbered_incarnations(topics))
    groups = facts.alike()
    if len(groups) <= 1:
        return _states_of_alike(events, topics, controllers, incarnations, facts, facts.kinds)
    of_groups = []
    for clusters, kinds in groups:
        is_alike = F.col("cluster").isin(*clusters)
        lines, lives, terms, numbers = (table.where(is_alike) for table in (events, topics, controllers, incarnations))
        of_groups.append(_states_of_alike(lines, lives, terms, numbers, facts, kinds))
    return reduce(DataFrame.unionByName, of_groups)


def _states_of_alike(
    events: DataFrame,
    topics: DataFrame,
    controllers: DataFrame,
    incarnations: DataFrame,
    facts: ClusterFacts,
    kinds: EvidenceKinds,
) -> DataFrame:
    """The same, of clusters with evidence of these kinds; `incarnations` as `to_numbered_incarnations` has them."""
    if kinds.kraft and kinds.zookeeper:
        events = without_epochs_of_kraft(events, controllers)
    evidence = gather(events, topics, controllers, incarnations, facts, kinds)
    states = to_numbered_states(evidence, is_kraft=kinds.kraft or kinds.dumps)
    if evidence.kraft is not None:
        follows = checkpointed(with_following_states(states, topics, facts, evidence.kraft))
        states = without_inferred(follows, facts.lossy_hours, evidence.kraft.shrinks)
    if evidence.zk is not None:
        states = with_states_of_removals(states, facts.coverage_by_leader, evidence.zk)
    by_number = {"ordinal": F.col("partition_epoch").cast("long"), "follows": F.lit(None).cast("boolean")}
    states = states.withColumns(by_number)
    if evidence.unnumbered is not None:
        states = checkpointed(states)
        states = with_unnumbered_states(states, evidence.unnumbered, evidence.zk, evidence.incarnations, facts)
        if not (kinds.kraft or kinds.dumps):
            states = without_stale_terms(states, "inferred")
    states = with_assignments(states, evidence)
    if evidence.kraft is not None:
        states = checkpointed(states)
        states = with_kept_replicas(states, facts.kraft_clusters, evidence.kraft.fencings, evidence.kraft.logged)
    return with_start_and_replicas(states)


def with_until(states: DataFrame, topics: DataFrame) -> DataFrame:
    """STATES, TOPIC_TIMELINE -> STATES with `until`: the next row's start, or the end of the topic."""
    # as `to_states` leaves its rows
    backwards = Window.partitionBy(HISTORY).orderBy(F.desc("ordinal"))
    ends = topics.select("cluster", "topic", "incarnation", F.col("until").alias("gone"))
    end = F.greatest("gone", F.when(F.col("gone").isNotNull(), F.col("since")))
    with_ends = states.join(F.broadcast(ends), ["cluster", "topic", "incarnation"], "left")
    return with_ends.withColumn("until", F.coalesce(F.lag("since").over(backwards), end)).drop("gone")


def to_partition_timeline(
    states: DataFrame, topics: DataFrame, settings: Settings, config_changes: DataFrame | None = None
) -> DataFrame:
    """STATES, TOPIC_TIMELINE, CONFIG_CHANGES -> PARTITION_TIMELINE: those whose leader, leader epoch and ISR are known.

    `config_changes` is None where no line has a setting of a topic.
    """
    # as `to_states` leaves its rows
    backwards = Window.partitionBy(HISTORY).orderBy(F.desc("ordinal"))
    complete = states.where(is_complete())
    timed = with_until(complete, topics).withColumns(
        {
            "previous_leader_epoch": F.lead("leader_epoch").over(backwards),
            "missing_before": F.coalesce(
                F.col("partition_epoch") - 1 - F.lead("partition_epoch", 1, -1).over(backwards),
                F.when(F.col("follows"), 0),
            ),
        }
    )
    is_next = F.col("previous_leader_epoch").isNotNull() & (F.col("missing_before") == 0)
    timed = timed.withColumn("adjacent", F.coalesce(is_next, F.lit(False)))
    return (
        with_min_isr(timed, topics, settings, config_changes)
        .withColumns(
            {
                "availability": availability(),
                "made_by": made_by(),
                "inferred": F.coalesce("inferred", F.lit(False)),
            }
        )
        .select(*PARTITION_TIMELINE.columns)
    )


def to_contradictions(states: DataFrame) -> DataFrame:
    """STATES -> CONTRADICTIONS."""
    return states.where("contradiction IS NOT NULL").select(*CONTRADICTIONS.columns)


def availability() -> Column:
    """KIP-427 ladder of a state; AtMinIsr and UnderMinIsr need `min_isr`, without it they are UnderReplicated."""
    # F.least alone would pass a null over
    least = F.when(F.col("min_isr").isNotNull(), F.least("min_isr", F.size("replicas")))
    in_sync = F.size("isr")
    return (
        F.when(F.col("leader") == -1, "Offline")
        .when(F.col("replicas").isNull(), None)
        .when(in_sync < least, "UnderMinIsr")
        .when((in_sync == least) & (in_sync < F.size("replicas")), "AtMinIsr")
        .when(in_sync < F.size("replicas"), "UnderReplicated")
        .otherwise("FullyInSync")
    )


def made_by() -> Column:
    """`leader` if it reported the change as its own, or (ZooKeeper) only the partition epoch moved; else `controller`
    if the leader epoch did; null unknown."""
    return (
        F.when(F.col("by_leader"), "leader")
        .when(F.col("previous_leader_epoch").isNull() & (F.col("partition_epoch") == 0), "controller")
        .when(F.col("adjacent") & (F.col("leader_epoch") > F.col("previous_leader_epoch")), "controller")
        .when(F.col("adjacent") & (F.col("controller_epoch") >= 0), "leader")
    )
