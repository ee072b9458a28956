"""Intervals in which partitions have no leader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.session import checkpointed
from jobs.timelines.topics import HISTORY, INCARNATION
from schemas.findings import OFFLINE_PARTITIONS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def to_offline_partitions(states: DataFrame, elections: DataFrame, brokers: DataFrame, ends: DataFrame) -> DataFrame:
    """Timed rows of `to_states`, ELECTIONS, BROKER_TIMELINE -> OFFLINE_PARTITIONS; `ends`: cluster, end of its logs.

    Only rows whose leader is known count; that there is none is often told without the ISR. Successive states without a leader
    are one interval; one that was over when the first line tells of it is left out, for nobody knows when it was. The broker to
    blame is the last leader, if it went away then.
    """
    order = Window.partitionBy(HISTORY).orderBy("ordinal")
    down = F.col("leader") == -1
    marked = states.withColumns(
        {
            "begins": down & ~F.coalesce(F.lag("leader").over(order) == -1, F.lit(False)),
            "last_leader": F.lag("leader").over(order),
            "isr_then": F.coalesce(
                F.last("isr", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, -1)), F.col("isr")
            ),
            "next_leader": F.lead("leader").over(order),
            "next_epoch": F.lead("leader_epoch").over(order),
        }
    ).withColumn(
        "number",
        F.sum(F.col("begins").cast("int")).over(order.rowsBetween(Window.unboundedPreceding, Window.currentRow)),
    )
    spells = checkpointed(
        marked.where(down)
        .groupBy(*INCARNATION, "number")
        .agg(
            F.min("since").alias("since"),
            F.max_by("until", "ordinal").alias("until"),
            F.min_by("last_leader", "ordinal").alias("last_leader"),
            F.min_by("isr_then", "ordinal").alias("last_isr"),
            F.max_by("next_leader", "ordinal").alias("next_leader"),
            F.max_by("next_epoch", "ordinal").alias("leader_epoch"),
            F.flatten(F.collect_list("evidence")).alias("evidence"),
        )
        .where("until IS NULL OR until > since")
    )
    failed = elections.where("NOT succeeded").select(*INCARNATION, F.col("at").alias("failed_at"))
    failures = (
        spells.join(failed, INCARNATION)
        .where("failed_at >= since AND (until IS NULL OR failed_at <= until)")
        .groupBy(*INCARNATION, "number")
        .agg(F.count("*").cast("int").alias("failed_elections"))
    )
    healing = elections.where("succeeded").select(*INCARNATION, "leader_epoch", "unclean")
    lost = brokers.where("until IS NOT NULL").select(
        "cluster",
        F.col("broker").alias("last_leader"),
        F.col("until").alias("gone_at"),
        F.col("ended_by").alias("went"),
    )
    near = F.abs(F.unix_millis("gone_at") - F.unix_millis("since")) <= 1000
    causes = (
        spells.join(lost, ["cluster", "last_leader"])
        .where(near)
        .groupBy(*INCARNATION, "number")
        .agg(F.min_by("went", F.abs(F.unix_millis("gone_at") - F.unix_millis("since"))).alias("went"))
    )
    cause = F.when(F.col("went") == "session_expired", "broker_failure").otherwise(F.col("went"))
    return (
        spells.join(failures, [*INCARNATION, "number"], "left")
        .join(causes, [*INCARNATION, "number"], "left")
        .join(healing, [*INCARNATION, "leader_epoch"], "left")
        .join(F.broadcast(ends), "cluster", "left")
        .withColumns(
            {
                "duration_ms": (F.unix_millis(F.coalesce("until", "end_of_logs")) - F.unix_millis("since")).cast(
                    "long"
                ),
                "cause": cause,
                "cause_broker": F.when(F.col("went").isNotNull(), F.col("last_leader")),
                "failed_elections": F.coalesce("failed_elections", F.lit(0)),
                "healed_by": F.when(F.col("until").isNull(), None)
                .when(F.col("next_leader").isNull(), "topic_deletion")
                .when(F.col("unclean"), "unclean_election")
                .when(~F.col("unclean"), "clean_election"),
                "evidence": F.slice(F.array_distinct("evidence"), 1, 8),
            }
        )
        .select(*OFFLINE_PARTITIONS.columns)
    )
