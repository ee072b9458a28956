"""Partitions without a leader of which no state says so: the controller failed to elect one, and wrote nothing.

Until 2.0 a ZooKeeper controller that takes office while a leader is dead, and nobody else is in sync, counts the
partition as offline and tries to elect a leader (`PartitionStateMachine.initializePartitionState`,
`triggerOnlinePartitionStateChange`). As that fails it writes no state: the dead broker stays the leader in ZooKeeper
until it is back. And a leader that dies while no controller reigns stays leader until one takes over, which may elect
another one at once; or for good, if it was the last broker and the controller itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.findings.failures_in_states import first_failures, to_failures_in_states
from jobs.findings.unseen_losses import to_unseen_losses
from jobs.timelines.evidence import MOST_EVIDENCE, milliseconds
from jobs.timelines.topics import HISTORY, INCARNATION

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SOON_MS = 2000
"""A state without a leader that follows so soon was written by the same pass of the controller: the outage begins
with it."""
MOST_ELECTION_MS = 15_000
"""A leader that is back is elected within so much time, or lines about that are missing."""


def with_dead_leaders(
    states: DataFrame, elections: DataFrame, brokers: DataFrame, takeovers: DataFrame, last_brokers: DataFrame
) -> DataFrame:
    """Timed rows of `to_states`, ELECTIONS, BROKER_TIMELINE, rows of `to_takeovers` and of `to_last_brokers` -> the
    same, and where a leader was dead, from an election that failed, a takeover or the end of the last broker until the
    next state, a row with the leader -1, whose evidence is that of the failed election or of the broker's end; so where
    only the failed election shows a state without a leader that was written (`to_unseen_losses`), in the leader epoch
    of that state.

    `ordinal` is a struct that orders the rows, and nothing else. Where the controller writes the leader -1 SOON after,
    nothing is added.
    """
    key = [*INCARNATION, "ordinal"]
    failures = checkpointed(to_failures_in_states(states, elections))
    unwritten = (
        _dead_leaders(failures, brokers)
        .unionByName(_found_dead(states, takeovers))
        .unionByName(_left_behind(states, last_brokers))
    )
    dead = checkpointed(
        unwritten.withColumn("raises_epoch", F.lit(0))
        .unionByName(to_unseen_losses(failures, brokers).withColumn("raises_epoch", F.lit(1)))
        .groupBy(*key)
        .agg(
            F.min("failed_at").alias("failed_at"),
            *(F.min_by(name, "failed_at").alias(name) for name in ("failed_evidence", "raises_epoch")),
        )
    )
    marked = states.join(dead, key, "left")
    is_dead = F.col("failed_at").isNotNull()
    led = marked.withColumns(
        {"until": F.when(is_dead, F.col("failed_at")).otherwise(F.col("until")), "ordinal": _place(0)}
    )
    offline = marked.where(is_dead).withColumns(
        {
            "leader": F.lit(-1),
            "leader_epoch": F.col("leader_epoch") + F.col("raises_epoch"),
            "partition_epoch": F.lit(None).cast(states.schema["partition_epoch"].dataType),
            "since": F.col("failed_at"),
            "evidence": F.col("failed_evidence"),
            "ordinal": _place(1),
        }
    )
    return led.unionByName(offline).select(*states.columns)


def _place(nth: int) -> Column:
    """The place of a row among those of one ordinal; ordinals of states at INFO fill a whole long."""
    return F.struct("ordinal", F.lit(nth).alias("nth"))


def _dead_leaders(failures: DataFrame, brokers: DataFrame) -> DataFrame:
    """-> INCARNATION, ordinal, `failed_at`, `failed_evidence`: states whose leader was dead, each with the first
    offline election that failed meanwhile.

    Left out if the leader was back long before the next state: lines about its election are missing then.
    """
    is_written = (F.col("next_leader") == -1) & (milliseconds("failed_at", "until") <= SOON_MS)
    of_leader = failures.where("previous_leader = leader").where(~F.coalesce(is_written, F.lit(False)))
    first = first_failures(of_leader, "leader", "until")
    back = brokers.select("cluster", F.col("broker").alias("leader"), F.col("since").alias("back_at"))
    is_later = F.col("back_at") > F.col("failed_at")
    returned = (
        first.join(F.broadcast(back), ["cluster", "leader"], "left")
        .groupBy(*INCARNATION, "ordinal", "until", "failed_at", "failed_evidence")
        .agg(F.min(F.when(is_later, F.col("back_at"))).alias("back_at"))
    )
    is_ended_in_time = milliseconds("back_at", "until") <= MOST_ELECTION_MS
    is_known = F.col("back_at").isNull() | F.coalesce(is_ended_in_time, F.lit(False))
    return returned.where(is_known).select(*INCARNATION, "ordinal", "failed_at", "failed_evidence")


def _found_dead(states: DataFrame, takeovers: DataFrame) -> DataFrame:
    """-> INCARNATION, ordinal, `failed_at`, `failed_evidence`: states whose leader a controller found dead as it took
    over, and soon replaced. Takeovers are few."""
    following = F.lead("leader").over(Window.partitionBy(HISTORY).orderBy("ordinal"))
    dead_since = takeovers.select(
        "cluster",
        F.col("broker").alias("leader"),
        F.col("noticed_at").alias("failed_at"),
        F.slice("evidence", 1, MOST_EVIDENCE).alias("failed_evidence"),
    )
    return (
        states.withColumn("next_leader", following)
        .where("leader >= 0 AND until IS NOT NULL AND next_leader >= 0")
        .join(F.broadcast(dead_since), ["cluster", "leader"])
        .where("since < failed_at AND failed_at < until")
        .where(milliseconds("failed_at", "until") <= MOST_ELECTION_MS)
        .select(*INCARNATION, "ordinal", "failed_at", "failed_evidence")
    )


def _left_behind(states: DataFrame, last_brokers: DataFrame) -> DataFrame:
    """-> INCARNATION, ordinal, `failed_at`, `failed_evidence`: last states of the partitions that the last broker led
    as it was shut down."""
    last = last_brokers.select(
        "cluster",
        F.col("broker").alias("leader"),
        F.col("stopped_at").alias("failed_at"),
        F.col("evidence").alias("failed_evidence"),
    )
    return (
        states.where("until IS NULL")
        .join(F.broadcast(last), ["cluster", "leader"])
        .where("since < failed_at")
        .select(*INCARNATION, "ordinal", "failed_at", "failed_evidence")
    )
