"""Outages of which no line prints a state: a ZooKeeper controller failed to elect a leader; what it wrote is unseen.

A controller that loses a leader tries to elect another one first; as that fails it writes the leader -1 in the next
leader epoch (1.1 on: `PartitionStateMachine.doElectLeaderForPartitions`, `ReplicaStateMachine.removeReplicasFromIsr`).
It logs the failure as an error, but the state at TRACE only, and brokers log leaders only. So at INFO the failure is
there, and later a leader whose epoch is two higher: the one in between was without a leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.failures_in_states import first_failures
from jobs.timelines.topics import INCARNATION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def to_unseen_losses(failures: DataFrame, brokers: DataFrame) -> DataFrame:
    """Rows of `to_failures_in_states`, BROKER_TIMELINE -> INCARNATION, ordinal, `failed_at`, `failed_evidence`: states
    in which an election failed, each with the first one, if the next state has a leader and leader epochs between them
    are missing; or if it is the last one, and nobody who was in sync is back.

    Only an election whose previous leader is unknown counts: of others `jobs.findings.dead_leaders` knows more.
    """
    unknown = failures.where("previous_leader IS NULL AND leader_epoch IS NOT NULL")
    replaced = first_failures(unknown.where("next_leader >= 0 AND next_leader_epoch - leader_epoch >= 2"))
    last = first_failures(unknown.where("next_ordinal IS NULL"), "leader", "isr")
    return replaced.unionByName(_still_lost(last, brokers).select(*replaced.columns))


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
