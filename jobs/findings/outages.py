"""Intervals in which a partition has no leader, what caused them and what ended them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.session import checkpointed
from jobs.timelines.evidence import MOST_EVIDENCE
from jobs.timelines.topics import HISTORY, INCARNATION
from schemas.findings import OFFLINE_PARTITIONS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OUTAGE = [*INCARNATION, "number"]
"""Key of an outage: outages of a partition are numbered."""
MAX_CAUSE_DISTANCE_MS = 1000
"""A broker that went away at most so long before or after its partition lost its leader is the cause."""


def to_offline_partitions(states: DataFrame, elections: DataFrame, brokers: DataFrame, ends: DataFrame) -> DataFrame:
    """Timed rows of `to_states`, ELECTIONS, BROKER_TIMELINE -> OFFLINE_PARTITIONS; `ends`: cluster, end_of_logs.

    Only rows whose leader is known count; often the lines say that there is none without the ISR. The broker to blame
    is the last leader, if it went away then.
    """
    outages = checkpointed(_outages(states))
    ended_by = elections.where("succeeded").select(*INCARNATION, "leader_epoch", "unclean")
    duration = F.unix_millis(F.coalesce("until", "end_of_logs")) - F.unix_millis("since")
    return (
        outages.join(_failed_elections(outages, elections), OUTAGE, "left")
        .join(_lost_brokers(outages, brokers), OUTAGE, "left")
        .join(ended_by, [*INCARNATION, "leader_epoch"], "left")
        .join(F.broadcast(ends), "cluster", "left")
        .withColumns(
            {
                "duration_ms": duration.cast("long"),
                "cause": F.when(F.col("went_by") == "session_expired", "broker_failure").otherwise(F.col("went_by")),
                "cause_broker": F.when(F.col("went_by").isNotNull(), F.col("last_leader")),
                "failed_elections": F.coalesce("failed_elections", F.lit(0)),
                "healed_by": F.when(F.col("until").isNull(), None)
                .when(F.col("next_leader").isNull(), "topic_deletion")
                .when(F.col("unclean"), "unclean_election")
                .when(~F.col("unclean"), "clean_election"),
                "evidence": F.slice(F.array_distinct("evidence"), 1, MOST_EVIDENCE),
            }
        )
        .select(*OFFLINE_PARTITIONS.columns)
    )


def _outages(states: DataFrame) -> DataFrame:
    """Timed rows of `to_states` -> OUTAGE, since, until, last_leader, last_isr, next_leader, leader_epoch, evidence.

    Successive states without a leader are one outage. One that was over when the first line about it was logged is left
    out: nobody knows when it was.
    """
    order = Window.partitionBy(HISTORY).orderBy("ordinal")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_offline = F.col("leader") == -1
    return (
        states.withColumns(
            {
                "starts": is_offline & ~F.coalesce(F.lag("leader").over(order) == -1, F.lit(False)),
                "last_leader": F.lag("leader").over(order),
                "last_isr": F.coalesce(F.last("isr", ignorenulls=True).over(before), F.col("isr")),
                "next_leader": F.lead("leader").over(order),
                "next_epoch": F.lead("leader_epoch").over(order),
            }
        )
        .withColumn("number", F.sum(F.col("starts").cast("int")).over(so_far))
        .where(is_offline)
        .groupBy(*OUTAGE)
        .agg(
            F.min("since").alias("since"),
            F.max_by("until", "ordinal").alias("until"),
            F.min_by("last_leader", "ordinal").alias("last_leader"),
            F.min_by("last_isr", "ordinal").alias("last_isr"),
            F.max_by("next_leader", "ordinal").alias("next_leader"),
            F.max_by("next_epoch", "ordinal").alias("leader_epoch"),
            F.flatten(F.collect_list("evidence")).alias("evidence"),
        )
        .where("until IS NULL OR until > since")
    )


def _failed_elections(outages: DataFrame, elections: DataFrame) -> DataFrame:
    """Rows of `_outages`, ELECTIONS -> OUTAGE, failed_elections: how many failed meanwhile, where any did."""
    failed = elections.where("NOT succeeded").select(*INCARNATION, F.col("at").alias("failed_at"))
    return (
        outages.join(failed, INCARNATION)
        .where("failed_at >= since AND (until IS NULL OR failed_at <= until)")
        .groupBy(*OUTAGE)
        .agg(F.count("*").cast("int").alias("failed_elections"))
    )


def _lost_brokers(outages: DataFrame, brokers: DataFrame) -> DataFrame:
    """Rows of `_outages`, BROKER_TIMELINE -> OUTAGE, `went_by`: how the last leader went away, where it did about
    then."""
    lost = brokers.where("until IS NOT NULL").select(
        "cluster",
        F.col("broker").alias("last_leader"),
        F.col("until").alias("lost_at"),
        F.col("ended_by").alias("went_by"),
    )
    distance_ms = F.abs(F.unix_millis("lost_at") - F.unix_millis("since"))
    return (
        outages.join(lost, ["cluster", "last_leader"])
        .where(distance_ms <= MAX_CAUSE_DISTANCE_MS)
        .groupBy(*OUTAGE)
        .agg(F.min_by("went_by", distance_ms).alias("went_by"))
    )
