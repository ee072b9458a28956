"""Outages of which no line prints a state: a ZooKeeper controller failed to elect a leader; what it wrote is unseen.

A controller that loses a leader tries to elect another one first; as that fails it writes the leader -1 in the next
leader epoch (1.1 on: `PartitionStateMachine.doElectLeaderForPartitions`, `ReplicaStateMachine.removeReplicasFromIsr`).
It logs the failure as an error, but the state at TRACE only, and brokers log leaders only. So at INFO the failure is
there, and later a leader whose epoch is two higher: the one in between was without a leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.cluster_facts import day_of_or_open, days_or_open
from jobs.timelines.evidence import MOST_EVIDENCE
from jobs.timelines.topics import HISTORY, INCARNATION

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def to_unseen_losses(states: DataFrame, elections: DataFrame, brokers: DataFrame) -> DataFrame:
    """Timed rows of `to_states`, ELECTIONS, BROKER_TIMELINE -> INCARNATION, ordinal, `failed_at`, `failed_evidence`:
    states with a leader in which an offline election failed, each with the first one, if the next state has a leader
    and leader epochs between them are missing; or if it is the last one, and nobody who was in sync is back.

    Only an election whose previous leader is unknown counts: of others `jobs.findings.dead_leaders` knows more.
    """
    failed = elections.where("NOT succeeded AND strategy = 'offline' AND previous_leader IS NULL").select(
        *INCARNATION,
        F.col("at").alias("failed_at"),
        F.col("evidence").alias("failed_evidence"),
        day_of_or_open("at").alias("day"),
    )
    following = Window.partitionBy(HISTORY).orderBy("ordinal")
    next_names = {f"next_{name}": F.lead(name).over(following) for name in ("leader", "leader_epoch", "ordinal")}
    led = states.withColumns(next_names).where("leader >= 0 AND leader_epoch IS NOT NULL")
    spans = led.select(
        *INCARNATION, "ordinal", "leader", "isr", "leader_epoch", "since", "until", *next_names,
        days_or_open(F.col("since"), F.col("until")).alias("day"),
    )  # fmt: skip
    first = (
        failed.join(spans, [*INCARNATION, "day"])
        .where("failed_at >= since AND (until IS NULL OR failed_at < until)")
        .where(_is_replaced() | _is_last())
        .groupBy(*INCARNATION, "ordinal")
        .agg(
            *(F.first(name).alias(name) for name in ("leader", "isr")),
            F.first(_is_last()).alias("is_last"),
            F.min("failed_at").alias("failed_at"),
            F.slice(F.min_by("failed_evidence", "failed_at"), 1, MOST_EVIDENCE).alias("failed_evidence"),
        )
    )
    replaced = first.where(~F.col("is_last"))
    lost = replaced.unionByName(_still_lost(first.where("is_last"), brokers))
    return lost.select(*INCARNATION, "ordinal", "failed_at", "failed_evidence")


def _is_replaced() -> Column:
    """Whether the next state has a leader, and no state the leader epoch in between."""
    is_missing = F.col("next_leader_epoch") - F.col("leader_epoch") >= 2
    return F.coalesce((F.col("next_leader") >= 0) & is_missing, F.lit(False))


def _is_last() -> Column:
    """Whether no state of the partition follows."""
    return F.col("next_ordinal").isNull()


def _still_lost(last: DataFrame, brokers: DataFrame) -> DataFrame:
    """Last states in which an election failed, BROKER_TIMELINE -> those whose leader has gone, while neither it nor
    another one of the ISR has registered since: else lines about the next leader are missing."""
    registrations = brokers.select(
        "cluster", "broker", F.col("since").alias("came_at"), F.col("until").alias("went_at")
    )
    in_sync = F.array_union(F.coalesce("isr", F.array().cast("array<int>")), F.array("leader"))
    key = [*INCARNATION, "ordinal"]
    is_gone = F.col("went_at").isNotNull() & (F.col("broker") == F.col("leader"))
    is_back = F.col("came_at") > F.col("failed_at")
    gone = (
        last.withColumn("broker", F.explode(in_sync))
        .join(F.broadcast(registrations), ["cluster", "broker"])
        .groupBy(*key)
        .agg(F.max(is_gone).alias("is_gone"), F.max(F.coalesce(is_back, F.lit(False))).alias("is_back"))
        .where("is_gone AND NOT is_back")
    )
    return last.join(gone.select(*key), key, "left_semi")
