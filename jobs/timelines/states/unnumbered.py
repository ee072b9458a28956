"""States whose lines lack the partition epoch, as in Kafka until 2.3: ordered by how they follow each other."""

from __future__ import annotations

from datetime import timedelta
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.timelines.cluster_facts import ClusterFacts, day_of, days, to_whole_coverage
from jobs.timelines.evidence import MOST_EVIDENCE, evidence, line_as_evidence
from jobs.timelines.partition_history import EPOCH_OBSERVATIONS, to_ordered_states, to_rival_leaders
from jobs.timelines.states.columns import ORDERED_STATES, first_assignment, is_complete, of_first_assignment
from jobs.timelines.states.zookeeper import with_ordered_states_of_removals
from jobs.timelines.topics import HISTORY, INCARNATION, with_history_of_incarnation
from schemas.spark import EVIDENCE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from jobs.timelines.states.partition_evidence import UnnumberedEvidence, ZkEvidence

REFRESHED_WITHIN = timedelta(seconds=90)
"""kafka.server.ReplicaManager notifies the controller of changed ISRs at least once a minute, if any (0.9 to 2.6)."""
_OF_BEGINS = ("is_accepted", "inferred")
_OF_BOUNDS = ("is_shown", "shown_epoch", "is_written", "is_known", "keeps_leader", "adds", "limit")


def with_unnumbered_states(
    numbered: DataFrame,
    unnumbered: UnnumberedEvidence,
    zk: ZkEvidence | None,
    incarnations: DataFrame,
    facts: ClusterFacts,
) -> DataFrame:
    """States by partition epoch -> ORDERED_STATES: those of incarnations with lines that lack it are put in order
    anew, and what follows between them from replicas that went offline, if any did."""
    to_order, states = unnumbered.incarnations, unnumbered.observations.withColumn("is_listed", F.lit(False))
    complete = numbered.where(is_complete())
    if unnumbered.listed is not None:
        states, to_order = _with_listed(unnumbered.listed, complete, states, to_order, facts.coverage)
    begins, to_order = _with_begins(unnumbered, complete, states, to_order)
    is_report = F.col("by_leader") & F.col("isr").isNotNull() & F.col("leader_epoch").isNull()
    of_those = numbered.where(is_complete() | is_report).join(to_order, INCARNATION, "left_semi")
    rows = _epoch_observations(of_those, states, unnumbered, begins).join(
        F.broadcast(unnumbered.creations), INCARNATION, "left"
    )
    observations = checkpointed(_with_coverage(rows, facts))
    in_order = with_history_of_incarnation(to_ordered_states(observations, MOST_EVIDENCE), incarnations)
    if zk is not None:
        in_order = with_ordered_states_of_removals(checkpointed(in_order), facts.coverage_by_leader, zk)
    rivals = with_history_of_incarnation(to_rival_leaders(observations, MOST_EVIDENCE), incarnations)
    by_steps = in_order.unionByName(rivals, allowMissingColumns=True)
    in_epoch = Window.partitionBy(HISTORY, "leader_epoch")
    of_one_term = by_steps.withColumn("controller_epoch", F.min("controller_epoch").over(in_epoch))
    by_number = numbered.join(to_order, INCARNATION, "left_anti")
    return by_number.unionByName(of_one_term, allowMissingColumns=True).select(*ORDERED_STATES.names)


def _with_listed(
    listed: DataFrame, complete: DataFrame, states: DataFrame, to_order: DataFrame, coverage: DataFrame
) -> tuple[DataFrame, DataFrame]:
    """Observations of lists that no numbered state has, besides the others, and which of them may have been over as the
    cluster's logs begin, `is_listed`; and the partitions to put in order.

    From 0.9 on controllers learn within REFRESHED_WITHIN what leaders changed. Lines of 0.9 and 0.10 look like those of
    0.8, which learn nothing. One that was elected since the logs begin has read all states after that.
    """
    state = [*INCARNATION, "leader_epoch", "leader", "isr"]
    of_state = Window.partitionBy(*state)
    once = listed.withColumns(
        {
            "first": F.row_number().over(of_state.orderBy("at", "file_id", "line")),
            "last_at": F.max("at").over(of_state),
            "is_read_since": F.max("is_of_term").over(of_state),
        }
    )
    news = once.where("first = 1").drop("first").join(complete.select(*state), state, "left_anti")
    news = checkpointed(news)
    begins = coverage.groupBy("cluster").agg(F.min("since").alias("begin"))
    may_be_old = F.col("is_by_comma") | (F.col("last_at") < F.col("begin") + F.lit(REFRESHED_WITHIN))
    is_listed = may_be_old & ~F.col("is_read_since")
    marked = news.join(F.broadcast(begins), "cluster", "left").withColumn(
        "is_listed", F.coalesce(is_listed, F.lit(False))
    )
    with_news = states.unionByName(marked.drop("is_by_comma", "is_of_term", "is_read_since", "last_at", "begin"))
    return with_news, checkpointed(to_order.union(news.select(*INCARNATION)).distinct())


def _with_begins(
    unnumbered: UnnumberedEvidence, complete: DataFrame, states: DataFrame, to_order: DataFrame
) -> tuple[DataFrame, DataFrame]:
    """The partitions to put in order, those with leader epochs of which nothing else is known, too; and of them the
    first lines of leader epochs, where more is known of the partition."""
    epoch = [*INCARNATION, "leader_epoch"]
    known = complete.select(*epoch).union(states.select(*epoch)).union(unnumbered.changes.select(*epoch))
    known = checkpointed(known.where("leader_epoch IS NOT NULL").distinct())
    first = Window.partitionBy(*epoch, "node_id").orderBy("at", "file_id", "line")
    firsts = checkpointed(
        unnumbered.begins.withColumns({"nth": F.row_number().over(first), "leader": F.col("node_id")})
        .where("nth = 1")
        .drop("nth")
    )
    # of which an ISR may be known: by other lines, or by the assignment
    of_assigned = firsts.where("assigned_isr IS NOT NULL")
    with_more = known.select(*INCARNATION).union(of_assigned.select(*INCARNATION)).distinct()
    begins = firsts.join(with_more, INCARNATION, "left_semi")
    alone = begins.join(known, epoch, "left_anti")
    to_order = checkpointed(to_order.union(alone.select(*INCARNATION)).distinct())
    # of the others all states are there by number
    return begins.join(to_order, INCARNATION, "left_semi"), to_order


def _epoch_observations(
    numbered: DataFrame, without_epoch: DataFrame, unnumbered: UnnumberedEvidence, begins: DataFrame
) -> DataFrame:
    """States by partition epoch, complete or reported by their leader, and what lines log without one ->
    EPOCH_OBSERVATIONS, but when whose logs are there."""
    no_change = {"isr_before": F.lit(None).cast("array<int>"), "is_accepted": F.lit(True)}
    states = (
        without_epoch.groupBy(*INCARNATION, "leader_epoch", "leader", "isr", "is_listed")
        .agg(
            F.max("topic_id").alias("topic_id"),
            F.min("at").alias("at"),
            F.min("line").alias("line"),
            F.min("controller_epoch").alias("controller_epoch"),
            first_assignment().alias("first_assignment"),
            evidence().alias("evidence"),
        )
        .withColumns(no_change | of_first_assignment())
    )
    has_isr = F.col("assigned_isr").isNotNull()
    begun = begins.select(
        *INCARNATION, "topic_id", "at", "line", "leader_epoch", "leader", *(F.lit(True).alias(n) for n in _OF_BEGINS),
        F.col("assigned_isr").alias("isr"), F.when(~has_isr, True).alias("is_begin"),
        _own_line_and(F.col("assigned_lines")).alias("evidence"),
    )  # fmt: skip
    rows = (
        numbered.withColumns(no_change)
        .withColumns({"line": F.lit(0).cast("long"), "is_report": F.col("by_leader")})
        .unionByName(states, allowMissingColumns=True)
        .unionByName(unnumbered.changes.withColumn("evidence", line_as_evidence()), allowMissingColumns=True)
        .unionByName(begun, allowMissingColumns=True)
    )
    if unnumbered.bounds is None:
        return rows.withColumns({name: F.lit(None).cast(EPOCH_OBSERVATIONS[name].dataType) for name in _OF_BOUNDS})
    of_changes = unnumbered.bounds.select(*INCARNATION).distinct()
    shown = states.where("leader_epoch IS NOT NULL").select(
        *INCARNATION,
        "at",
        "line",
        F.col("leader_epoch").alias("shown_epoch"),
        "leader",
        F.slice("evidence", 1, 1).alias("evidence"),
        F.lit(True).alias("is_shown"),
    )
    bounds = unnumbered.bounds.withColumn("evidence", _own_line_and(F.array("limit_line")))
    return rows.unionByName(bounds, allowMissingColumns=True).unionByName(
        shown.join(of_changes, INCARNATION, "left_semi"), allowMissingColumns=True
    )


def _own_line_and(others: Column) -> Column:
    """EVIDENCE of a row's own line, and of those in a list, which may be null."""
    no_line = F.array().cast(EVIDENCE)
    return F.array_compact(F.concat(line_as_evidence(), F.coalesce(others, no_line)))


def _with_coverage(rows: DataFrame, facts: ClusterFacts) -> DataFrame:
    """Rows of `_epoch_observations` -> EPOCH_OBSERVATIONS: when the leader's logs are there, and those of all brokers
    that have any by then."""
    is_at_the_time = F.col("at").between(F.col("spans.covered_since"), F.col("spans.covered_until"))
    spans = facts.server_coverage.withColumn("day", days("covered_since", "covered_until"))
    is_leader = reduce(and_, (F.col(f"rows.{name}") == F.col(f"spans.{name}") for name in ("cluster", "leader", "day")))
    names = (
        name if name.startswith("covered_") else f"rows.{name}"
        for name in EPOCH_OBSERVATIONS.names
        if name not in ("whole_since", "there")
    )
    known = facts.server_coverage.groupBy("cluster", "leader").agg(F.min("covered_since").alias("first_at"))
    brokers = known.groupBy("cluster").agg(F.collect_list(F.struct("leader", "first_at")).alias("brokers"))
    one_day = to_whole_coverage(facts).withColumn("day", days("valid_since", "covered_until"))
    span = F.struct("leader", "valid_since", "covered_since", "covered_until")
    of_day = one_day.groupBy("cluster", "day").agg(F.collect_list(span).alias("spans"))
    there = F.filter("spans", lambda one: F.col("at").between(one["valid_since"], one["covered_until"]))
    known_by_then = F.filter("brokers", lambda one: one["first_at"] <= F.col("at"))
    is_whole = F.size(F.array_except(known_by_then["leader"], there["leader"])) == 0
    return (
        rows.withColumn("day", day_of("at"))
        .alias("rows")
        .join(F.broadcast(spans).alias("spans"), is_leader & is_at_the_time, "left")
        .select("rows.day", *(F.col(name) for name in names))
        .join(F.broadcast(of_day.join(brokers, "cluster")), ["cluster", "day"], "left")
        .withColumn("whole_since", F.when(is_whole, F.array_max(there["covered_since"])))
        .withColumn("there", F.when(is_whole, there["leader"]))
        .select(*EPOCH_OBSERVATIONS.names)
    )
