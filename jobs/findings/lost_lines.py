"""Where lines are lost here and there (`jobs.timelines.lossy_hours`), what cannot be accuses nobody: the last list of
live brokers may be a wrong one, and no line tells that another one came after it.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.timelines.lossy_hours import lossy_hour_rows, to_lossy_hours_of_zookeeper, with_lossy_mark
from udfs.kafka.judgements import UNKNOWN, VIOLATED

if TYPE_CHECKING:
    from jobs.timelines.cluster_facts import ClusterFacts

LOST_LINES = "lost_lines"
"""Name of the missing input."""
BY_PRINTED_VALUES = (
    "leader_in_isr",
    "one_leader_per_leader_epoch",
    "controller_epoch_grows",
    "one_controller_per_epoch",
    "stored_controller_epoch_never_falls",
    "partition_epoch_grows",
    "isr_within_replicas",
    "elr_disjoint_from_isr",
    "broker_epoch_grows",
)
"""Rules that compare what lines print, whatever others may have said in between."""

OF_DEAD = ("broker_failure", "broker_startup", "controller_failover")
"""Triggers of elections for partitions whose leader is gone."""


def with_refuted_input(elections: DataFrame) -> DataFrame:
    """Rows of `to_election_inputs` -> the same with `refuted_input`: an input that cannot have been so, for then a
    ZooKeeper controller would not have elected at all; lines that changed it are lost. Null: there is none.

    It moves leaders in a controlled shutdown off the brokers that shut down (KafkaController.doControlledShutdown), and
    elects for partitions that are offline: their leader is gone, or its directory has failed. One that comes back may
    be elected again.
    """
    leader = F.col("previous_leader")
    stays = ~F.array_contains("shutting_down", leader)
    is_there = F.col("live_brokers").isNotNull() & F.array_contains("certainly_online", leader)
    is_of_dead = (
        (F.col("strategy") == "offline") & F.col("trigger").isin(*OF_DEAD) & ~F.col("leader").eqNullSafe(leader)
    )
    refuted = F.when((F.col("strategy") == "controlled_shutdown") & stays, "shutting_down").when(
        is_of_dead & is_there, "live_brokers"
    )
    return elections.withColumn("refuted_input", F.when(leader >= 0, refuted))


def all_lossy_hours(requests: DataFrame, facts: ClusterFacts) -> DataFrame | None:
    """CONTROL_REQUESTS -> cluster, hour: those of ZooKeeper's clusters and of KRaft's; None: nothing shows any."""
    sources = [to_lossy_hours_of_zookeeper(requests)] if facts.kinds.requests else []
    if facts.lossy_hours:
        sources.append(lossy_hour_rows(requests.sparkSession, facts.lossy_hours))
    return reduce(DataFrame.unionByName, sources) if sources else None


def without_lost_lines(verdicts: DataFrame, lossy_hours: DataFrame | None) -> DataFrame:
    """VERDICTS, rows of `all_lossy_hours` -> VERDICTS: nothing of such an hour is `violated`, but by what is
    printed."""
    if lossy_hours is None:
        return verdicts
    goes_by_more = ~F.col("rule").isin(*BY_PRINTED_VALUES)
    is_doubtful = F.col("is_lossy") & (F.col("verdict") == VIOLATED) & goes_by_more
    explanation = F.concat(
        "rule", F.lit(" cannot be judged: other lines of that hour are lost; logged "), "actual", F.lit(".")
    )
    doubtful = {"verdict": F.lit(UNKNOWN), "missing_inputs": F.array(F.lit(LOST_LINES)), "explanation": explanation}
    changed = {name: F.when(is_doubtful, value).otherwise(F.col(name)) for name, value in doubtful.items()}
    return with_lossy_mark(verdicts, lossy_hours).withColumns(changed).select(*verdicts.columns)
