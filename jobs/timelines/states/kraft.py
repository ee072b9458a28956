"""States of KRaft that no line states, by what its controller's rules leave no choice about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.evidence import MOST_EVIDENCE
from jobs.timelines.states.columns import NUMBERED_STATES, with_inserted
from jobs.timelines.topics import HISTORY

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from jobs.timelines.cluster_facts import ClusterFacts

MOST_HIDDEN = 10
"""Partition epochs in a row that are inferred of their neighbours; more are taken as missing logs."""


def with_states_between(states: DataFrame, facts: ClusterFacts, fencings: DataFrame) -> DataFrame:
    """NUMBERED_STATES -> the same, and what KRaft's rules leave no choice about, marked `inferred`.

    - A leader that was the only one in sync is lost (only followers log it, and not the ISR): it stays the last member,
      or with eligible leader replicas the ISR is empty.
    - A leader gives way, to another or to none, when it is fenced, however late a line shows it.
    - Partition epochs between two that agree in leader, leader epoch and ISR: only the leader expands an ISR, and it
      logs that. So where its log is there all the time without a change, neither changed (but replicas, directories or
      the like).
    - One between a leader alone in sync and nobody: the leader, once fenced, becomes an eligible leader replica. So
      where it is none afterwards, it was lost in the partition epoch between (and that it was eligible was taken back
      after).
    """
    with_before = _with_state_before(states, facts, fencings).withColumns(
        {"fenced_at": _fenced_at(), "lost_isr": _isr_of_lost_leader()}
    )
    epochs = F.sequence(_before("partition_epoch") + 1, F.col("partition_epoch") - 1)
    unchanged = F.transform(epochs, lambda epoch: _state_at(epoch, F.col("at")))
    loss = F.array(_state_at(F.col("partition_epoch") - 1, F.col("fenced_at")))
    no_replicas = F.array().cast("array<int>")
    inferred = with_before.withColumns(
        {
            "inserted": F.when(_is_unchanged_between(), unchanged).when(_is_loss_between(), loss),
            "inferred": F.col("lost_isr").isNotNull(),
            "isr": F.coalesce("isr", "lost_isr"),
            "elr": F.coalesce("elr", F.when(F.col("keeps_last_member"), no_replicas)),
            "at": F.coalesce(F.when(F.col("is_kraft") & _gave_way(), F.col("fenced_at")), F.col("at")),
        }
    )
    return with_inserted(inferred, NUMBERED_STATES)


def _with_state_before(states: DataFrame, facts: ClusterFacts, fencings: DataFrame) -> DataFrame:
    """States with `before` (the state before), `leader_before`, its `fencings`, and the leader's `coverage`."""
    order = Window.partitionBy(HISTORY).orderBy("partition_epoch")
    before = F.struct("leader", "leader_epoch", "partition_epoch", "isr", "at", "evidence")
    kraft_clusters = facts.kraft_clusters.withColumn("is_kraft", F.lit(True))
    fencings_before = fencings.withColumnRenamed("leader", "leader_before")
    return (
        states.join(F.broadcast(kraft_clusters), "cluster", "left")
        .withColumn("before", F.lag(before).over(order))
        .withColumn("leader_before", _before("leader"))
        .join(F.broadcast(fencings_before), ["cluster", "leader_before"], "left")
        .join(F.broadcast(facts.coverage_by_leader), ["cluster", "leader"], "left")
    )


def _before(name: str) -> Column:
    """A value of the state before."""
    return F.col("before")[name]


def _is_next_epoch() -> Column:
    return F.col("leader_epoch") == _before("leader_epoch") + 1


def _was_alone_in_sync() -> Column:
    return _before("isr") == F.array(_before("leader"))


def _gave_way() -> Column:
    """Whether the leader of the partition epoch before lost its place by this one write."""
    is_adjacent = _before("partition_epoch") + 1 == F.col("partition_epoch")
    return (F.col("leader") != _before("leader")) & _is_next_epoch() & is_adjacent


def _fenced_at() -> Column:
    """When the leader before was fenced between the two states; null not logged."""
    return F.get(F.filter("fencings", lambda at: (at >= _before("at")) & (at <= F.col("at"))), F.lit(0))


def _isr_of_lost_leader() -> Column:
    """The ISR after a leader alone in sync was lost, where no line states it; else null."""
    is_lost = (F.col("leader") == -1) & _gave_way()
    last_isr = F.when(F.col("keeps_last_member"), _before("isr")).when(
        ~F.col("keeps_last_member"), F.array().cast("array<int>")
    )
    return F.when(F.col("is_kraft") & F.col("isr").isNull() & is_lost & _was_alone_in_sync(), last_isr)


def _is_unchanged_between() -> Column:
    """Whether neither leader, leader epoch nor ISR changed in the partition epochs between the two states."""
    return (
        F.col("is_kraft")
        & (F.col("partition_epoch") - _before("partition_epoch")).between(2, MOST_HIDDEN + 1)
        & (_before("leader") == F.col("leader"))
        & (F.col("leader") >= 0)
        & (_before("leader_epoch") == F.col("leader_epoch"))
        & (_before("isr") == F.col("isr"))
        & ~F.coalesce("by_leader", F.lit(False))
        & F.exists("coverage", lambda s: (s["covered_since"] <= _before("at")) & (F.col("at") <= s["covered_until"]))
    )


def _is_loss_between() -> Column:
    """Whether the one partition epoch between the two states is the loss of a leader alone in sync."""
    return (
        F.col("is_kraft")
        & (_before("partition_epoch") + 2 == F.col("partition_epoch"))
        & ~F.col("keeps_last_member")
        & (F.col("leader") == -1)
        & _is_next_epoch()
        & _was_alone_in_sync()
        & (F.size("isr") == 0)
        & ~F.array_contains("elr", _before("leader"))
        & F.col("fenced_at").isNotNull()
    )


def _state_at(epoch: Column, at: Column) -> Column:
    """An inferred state with leader, leader epoch and ISR of the row."""
    return F.struct(
        epoch.alias("partition_epoch"), "leader", "leader_epoch", "isr", "controller_epoch",
        F.lit(True).alias("inferred"), at.alias("at"),
        F.slice(F.concat(_before("evidence"), F.col("evidence")), 1, MOST_EVIDENCE).alias("evidence"),
    )  # fmt: skip
