"""States of partitions over time, rebuilt from statements with window functions.

What orders a partition's states is its partition epoch, never a clock: several nodes tell of one state, each at its
own time; where lines do not print it, the chain of changes does (`udfs.histories`). A state is as old as its first proof,
and no younger than the first proof of any later state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.controllers import by_active_controller
from jobs.evidence import MOST_EVIDENCE, evidence, line_as_evidence
from jobs.histories import SAID, to_ordered
from jobs.session import kept
from jobs.settings import Settings
from jobs.statements import (
    ids_of,
    number_of,
    to_changes_by_leader,
    to_statements,
    to_unnumbered,
)
from jobs.topics import INCARNATION, with_incarnation
from schemas.timelines import PARTITION_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def to_states(events: DataFrame, topics: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE, CONTROLLER_TIMELINE -> a row per state that any line tells of, with what all say of it.

    Columns as in PARTITION_TIMELINE; `leader`, `leader_epoch`, `isr`, `replicas` may be null: no line tells. `ordinal`
    orders the states of an incarnation.
    """
    seen = _seen(events)
    fenced = _fenced(events, controllers)
    told = _numbered(with_incarnation(to_statements(events), topics))
    numbered = kept(_with_implied(told, _kraft(events), seen, fenced))
    unnumbered = kept(with_incarnation(to_unnumbered(events), topics))
    changes = kept(to_changes_by_leader(with_incarnation(events.where("topic IS NOT NULL"), topics)))
    told_by_steps = kept(
        unnumbered.select(*INCARNATION).union(changes.where("leader_epoch IS NOT NULL").select(*INCARNATION)).distinct()
    )
    by_steps = to_ordered(
        _said(numbered.join(told_by_steps, INCARNATION, "left_semi"), unnumbered, changes, seen), MOST_EVIDENCE
    )
    by_number = numbered.join(told_by_steps, INCARNATION, "left_anti").withColumn(
        "ordinal", F.col("partition_epoch").cast("long")
    )
    states = by_number.unionByName(by_steps, allowMissingColumns=True)
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    after = order.rowsBetween(Window.currentRow, Window.unboundedFollowing)
    whole = order.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    never_moved = ~F.coalesce("reassigned", F.lit(False)) & (F.size(F.collect_set("replicas").over(whole)) == 1)
    known = states.join(F.broadcast(_reassigned(events, topics)), ["cluster", "topic", "partition"], "left").join(
        _assigned(events, topics), INCARNATION, "left"
    )
    return known.withColumns(
        {
            # a partition that was never seen reassigned has one assignment; of others only what is said of a state counts
            # (KRaft logs no word of a reassignment that only removes replicas and is done at once)
            "replicas": F.coalesce(
                "replicas",
                F.when(never_moved, F.first("replicas", ignorenulls=True).over(whole)),
                F.when(~F.coalesce("reassigned", F.lit(False)), F.col("assigned")),
            ),
            "topic_id": F.max("topic_id").over(Window.partitionBy(*INCARNATION)),
            # a leader writes the epoch it was elected under; a later reign may send the same state as its own
            "controller_epoch": F.min("controller_epoch").over(Window.partitionBy(*INCARNATION, "leader_epoch")),
            "since": F.min("at").over(after),
        }
    )


def _numbered(said: DataFrame) -> DataFrame:
    """STATEMENTS with `incarnation` -> one row per partition epoch, parts filled in from neighbours that are known to share them."""

    def first(name: str) -> Column:
        return F.get(F.array_sort(F.collect_set(name)), F.lit(0)).alias(name)

    states = said.groupBy(*INCARNATION, "partition_epoch").agg(
        F.max("topic_id").alias("topic_id"),
        first("leader"),
        first("leader_epoch"),
        first("isr"),
        first("elr"),
        F.min("controller_epoch").alias("controller_epoch"),
        F.max_by("replicas", F.when(F.col("replicas").isNotNull(), F.col("at"))).alias("replicas"),
        F.max("by_leader").alias("by_leader"),
        F.max("keeps_leader").alias("keeps_leader"),
        F.max("keeps_isr").alias("keeps_isr"),
        F.max("keeps_elr").alias("keeps_elr"),
        F.min("at").alias("at"),
        evidence().alias("evidence"),
    )
    filled = states
    for flag, names in (("keeps_leader", ("leader", "leader_epoch")), ("keeps_isr", ("isr",)), ("keeps_elr", ("elr",))):
        filled = _fill(filled, flag, names)
    return filled


def _kraft(events: DataFrame) -> DataFrame:
    """Clusters whose controllers run KRaft: cluster, and `keeps_last`: whether a lost last member stays in the ISR; null unknown.

    It stays without eligible leader replicas, which no release before 4.0 turns on; one that is printed proves them.
    """
    elr = F.col("event_type").startswith("kraft") & (F.size(ids_of("elr")) > 0)
    major = F.regexp_extract(F.col("fields")["kafka_version"], r"^(\d+)", 1).try_cast("int")
    told = events.where("event_type = 'kafka_version' OR event_type LIKE 'kraft%'").groupBy("cluster")
    return (
        told.agg(
            F.max(F.col("event_type").startswith("kraft")).alias("kraft"),
            F.max(elr).alias("elr"),
            F.max(F.when(F.col("event_type") == "kafka_version", major)).alias("major"),
        )
        .where("kraft")
        .select("cluster", F.when(F.col("elr"), False).when(F.col("major") < 4, True).alias("keeps_last"))
    )


def _fenced(events: DataFrame, controllers: DataFrame) -> DataFrame:
    """When the active KRaft controller fenced whom: cluster, leader, `fencings`, all of its times in order."""
    told = events.where("event_type = 'kraft_broker_fenced'").select(
        "cluster", "node_id", "at", F.coalesce(number_of("broker"), F.col("broker_id")).alias("leader")
    )
    return (
        by_active_controller(told, controllers)
        .groupBy("cluster", "leader")
        .agg(F.array_sort(F.collect_set("at")).alias("fencings"))
    )


def _with_implied(states: DataFrame, kraft: DataFrame, seen: DataFrame, fenced: DataFrame) -> DataFrame:
    """Rows of `_numbered` -> the same, and what KRaft's rules leave no choice about, marked `inferred`.

    - A leader that was the only one in sync is lost (only followers tell, and not the ISR): it stays the last member, or
      with eligible leader replicas the ISR is empty. It was lost when it was fenced, however late somebody tells.
    - One partition epoch between two that agree in leader, leader epoch and ISR: only the leader expands an ISR, and it
      says so. So where it was heard all the time and said nothing, neither changed (but replicas, directories or the like).
    - One between a leader alone in sync and nobody: the leader, once fenced, becomes an eligible leader replica. So where
      it is none afterwards, it was lost in the partition epoch between (and that it was eligible was taken back after).
    """
    order = Window.partitionBy(*INCARNATION).orderBy("partition_epoch")

    def lag(name: str) -> Column:
        return F.lag(name).over(order)

    adjacent = lag("partition_epoch") + 1 == F.col("partition_epoch")
    lost = (F.col("leader") == -1) & (F.col("leader_epoch") == lag("leader_epoch") + 1) & adjacent
    last_isr = F.when(F.col("keeps_last"), lag("isr")).when(~F.col("keeps_last"), F.array().cast("array<int>"))
    implied_isr = F.when(F.col("isr").isNull() & lost & (lag("isr") == F.array(lag("leader"))), last_isr)
    hidden = (
        (lag("partition_epoch") + 2 == F.col("partition_epoch"))
        & (lag("leader") == F.col("leader"))
        & (F.col("leader") >= 0)
        & (lag("leader_epoch") == F.col("leader_epoch"))
        & (lag("isr") == F.col("isr"))
        & ~F.coalesce("by_leader", F.lit(False))
    )
    hidden_loss = (
        (lag("partition_epoch") + 2 == F.col("partition_epoch"))
        & (F.col("leader") == -1)
        & (lag("leader_epoch") + 1 == F.col("leader_epoch"))
        & (lag("isr") == F.array(lag("leader")))
        & (F.size("isr") == 0)
        & ~F.array_contains("elr", lag("leader"))
    )
    fenced_at = F.get(F.filter("fencings", lambda t: (t >= F.col("at_before")) & (t <= F.col("at"))), F.lit(0))
    loser = fenced.withColumnRenamed("leader", "leader_before")
    known = states.join(F.broadcast(kraft.withColumn("kraft", F.lit(True))), "cluster", "left").withColumns(
        {
            "lost": F.coalesce("kraft", F.lit(False)) & F.coalesce(lost, F.lit(False)),
            "leader_before": lag("leader"),
            "implied_isr": F.when(F.col("kraft"), implied_isr),
            "hidden_loss": F.coalesce(hidden_loss & ~F.col("keeps_last"), F.lit(False)),
            "hidden": F.coalesce("kraft", F.lit(False)) & F.coalesce(hidden, F.lit(False)),
            "at_before": lag("at"),
            "evidence_before": lag("evidence"),
        }
    )
    filled = kept(
        known.join(F.broadcast(loser), ["cluster", "leader_before"], "left").withColumns(
            {
                "fenced_at": fenced_at,
                "inferred": F.col("implied_isr").isNotNull(),
                "isr": F.coalesce("isr", "implied_isr"),
                "elr": F.coalesce("elr", F.when(F.col("keeps_last"), F.array().cast("array<int>"))),
                "at": F.coalesce(F.when(F.col("lost"), fenced_at), F.col("at")),
            }
        )
    )
    implied = {
        "partition_epoch": F.col("partition_epoch") - 1,
        "evidence": F.slice(F.concat("evidence_before", "evidence"), 1, MOST_EVIDENCE),
        "replicas": F.lit(None).cast("array<int>"),
        "elr": F.lit(None).cast("array<int>"),
        "inferred": F.lit(True),
    }
    between = (
        filled.where("hidden")
        .join(F.broadcast(seen), ["cluster", "leader"])
        .where("seen_since <= at_before AND at <= seen_until")
        .withColumns(implied)
    )
    losses = filled.where(F.col("hidden_loss") & F.col("fenced_at").isNotNull()).withColumns(
        {**implied, "at": F.col("fenced_at")}
    )
    columns = [*states.columns, "inferred"]
    return filled.select(*columns).unionByName(between.select(*columns)).unionByName(losses.select(*columns))


def _said(numbered: DataFrame, unnumbered: DataFrame, changes: DataFrame, seen: DataFrame) -> DataFrame:
    """All that is said of incarnations whose states are ordered by their steps -> SAID."""
    nothing = {"was": F.lit(None).cast("array<int>"), "written": F.lit(True)}
    told = (
        unnumbered.groupBy(*INCARNATION, "leader_epoch", "leader", "isr")
        .agg(
            F.max("topic_id").alias("topic_id"),
            F.min("at").alias("at"),
            F.min("line").alias("line"),
            F.min("controller_epoch").alias("controller_epoch"),
            F.max_by("replicas", F.when(F.col("replicas").isNotNull(), F.col("at"))).alias("replicas"),
            evidence().alias("evidence"),
        )
        .withColumns(nothing)
    )
    whole = numbered.where("leader IS NOT NULL AND leader_epoch IS NOT NULL AND isr IS NOT NULL")
    rows = (
        whole.withColumns(nothing)
        .withColumn("line", F.lit(0).cast("long"))
        .unionByName(told, allowMissingColumns=True)
        .unionByName(changes.withColumn("evidence", line_as_evidence()), allowMissingColumns=True)
    )
    return rows.join(F.broadcast(seen), ["cluster", "leader"], "left").select(*SAID.names)


def _seen(events: DataFrame) -> DataFrame:
    """From when to when each node's own log (not its controller's) is there: cluster, leader, seen_since, seen_until."""
    own = events.where(
        "node_id IS NOT NULL AND logger <> 'state.change.logger' AND logger NOT LIKE 'kafka.controller%'"
    )
    return own.groupBy("cluster", F.col("node_id").alias("leader")).agg(
        F.min("at").alias("seen_since"), F.max("at").alias("seen_until")
    )


def _assigned(events: DataFrame, topics: DataFrame) -> DataFrame:
    """Assignments that ZooKeeper's controllers gave new partitions: INCARNATION, `assigned`."""
    new = events.where(
        "event_type = 'partition_state_change' AND fields['to_state'] = 'NewPartition' AND replicas IS NOT NULL"
    )
    return with_incarnation(new, topics).groupBy(*INCARNATION).agg(F.min_by("replicas", "at").alias("assigned"))


def _reassigned(events: DataFrame, topics: DataFrame) -> DataFrame:
    """Partitions that any controller's log or dump shows being reassigned: cluster, topic, partition, `reassigned`."""
    names = topics.where("topic_id IS NOT NULL").select("cluster", "topic_id", F.col("topic").alias("name"))
    asked = F.col("event_type").isin("reassignment_assignment_updating", "reassignment_assignment_updated") | (
        F.col("event_type").isin("kraft_partition_assignment_changed", "metadata_partition_change")
        & (F.col("replicas").isNotNull() | F.col("fields")["adding_replicas"].isNotNull())
    )
    return (
        events.where(asked)
        .join(F.broadcast(names), ["cluster", "topic_id"], "left")
        .select("cluster", F.coalesce("topic", "name").alias("topic"), "partition", F.lit(True).alias("reassigned"))
        .distinct()
    )


def with_until(states: DataFrame, topics: DataFrame) -> DataFrame:
    """Rows of `to_states` -> the same with `until`: the next row's start, or the end of the topic."""
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    ends = topics.select("cluster", "topic", "incarnation", F.col("until").alias("gone"))
    end = F.greatest("gone", F.when(F.col("gone").isNotNull(), F.col("since")))
    known = states.join(F.broadcast(ends), ["cluster", "topic", "incarnation"], "left")
    return known.withColumn("until", F.coalesce(F.lead("since").over(order), end)).drop("gone")


def to_partition_timeline(states: DataFrame, topics: DataFrame, settings: Settings) -> DataFrame:
    """Rows of `to_states`, TOPIC_TIMELINE -> PARTITION_TIMELINE: those whose leader, leader epoch and ISR are known."""
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    known = states.where("leader IS NOT NULL AND leader_epoch IS NOT NULL AND isr IS NOT NULL")
    timed = with_until(known, topics).withColumns(
        {
            "previous_leader_epoch": F.lag("leader_epoch").over(order),
            "adjacent": F.coalesce(F.lag("partition_epoch").over(order) + 1 == F.col("partition_epoch"), F.lit(False)),
        }
    )
    return timed.withColumns(
        {
            "availability": availability(settings),
            "made_by": made_by(),
            "inferred": F.coalesce("inferred", F.lit(False)),
        }
    ).select(*PARTITION_TIMELINE.columns)


def _fill(states: DataFrame, flag: str, names: tuple[str, ...]) -> DataFrame:
    """Carry values both ways along runs of adjacent partition epochs that are known to have kept them."""
    order = Window.partitionBy(*INCARNATION).orderBy("partition_epoch")
    goes_on = F.coalesce(F.col(flag), F.lit(False)) & (
        F.lag("partition_epoch").over(order) + 1 == F.col("partition_epoch")
    )
    run = F.sum(F.when(goes_on, 0).otherwise(1)).over(order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    in_run = (
        Window.partitionBy(*INCARNATION, "run")
        .orderBy("partition_epoch")
        .rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    )
    marked = states.withColumn("run", run)
    return marked.withColumns(
        {name: F.coalesce(F.col(name), F.first(name, ignorenulls=True).over(in_run)) for name in names}
    ).drop("run")


def availability(settings: Settings) -> Column:
    """KIP-427 ladder of a state; the lower steps need `min.insync.replicas`, else null below FullyInSync is UnderReplicated."""
    least = F.lit(settings.min_insync_replicas).cast("int")
    for topic, told in settings.topics.items():
        if told.min_insync_replicas is not None:
            least = F.when(F.col("topic") == topic, told.min_insync_replicas).otherwise(least)
    least = F.when(least.isNotNull(), F.least(least, F.size("replicas")))  # least() alone would pass a null over
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
    """`leader` if it reported the change as its own, or (ZooKeeper) only the partition epoch moved; else `controller` if the leader epoch did."""
    return (
        F.when(F.col("by_leader"), "leader")
        .when(F.col("previous_leader_epoch").isNull() & (F.col("partition_epoch") == 0), "controller")
        .when(F.col("adjacent") & (F.col("leader_epoch") > F.col("previous_leader_epoch")), "controller")
        .when(F.col("adjacent") & (F.col("controller_epoch") >= 0), "leader")
    )
