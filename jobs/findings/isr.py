"""ISR changes, and how often followers leave and rejoin the ISR in an hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.session import checkpointed
from jobs.settings import Settings
from jobs.timelines.topics import INCARNATION, with_incarnation
from schemas.findings import ISR_CHANGES, ISR_CHURN
from schemas.spark import IDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


LATE_MS, EARLY_MS = 5000, 50
"""So long after the leader's line a state may be proved first, and before it."""


def to_isr_changes(states: DataFrame, events: DataFrame, topics: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE, EVENTS, TOPIC_TIMELINE -> ISR_CHANGES: what each state's ISR has lost or gained.

    A state that both loses and gains replicas is two rows.
    """
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    changed = checkpointed(
        states.withColumn("isr_before", F.lag("isr").over(order))
        .where("isr_before IS NOT NULL")
        .withColumns(
            {
                "removed": F.array_except("isr_before", "isr"),
                "added": F.array_except("isr", "isr_before"),
            }
        )
    )
    nobody = F.array().cast(IDS)
    shrinks = changed.where("size(removed) > 0").withColumns({"kind": F.lit("shrink"), "added": nobody})
    expands = changed.where("size(added) > 0").withColumns({"kind": F.lit("expand"), "removed": nobody})
    return (
        shrinks.unionByName(expands)
        .withColumn("at", F.col("since"))
        .join(_shrink_lags(shrinks, events, topics), [*INCARNATION, "ordinal", "kind"], "left")
        .select(*ISR_CHANGES.columns)
    )


def _shrink_lags(shrinks: DataFrame, events: DataFrame, topics: DataFrame) -> DataFrame:
    """Shrinks, EVENTS, TOPIC_TIMELINE -> INCARNATION, ordinal, kind, `lag`: what the leader's own shrink line printed.

    The line is logged up to LATE_MS before the first proof of the state, or by the clock of another node up to EARLY_MS
    after. Lines are looked up by the minute, for a long history has many of each partition.
    """
    end_offset = F.col("fields")["leader_end_offset"].try_cast("long")
    behind = F.transform(
        F.regexp_extract_all(F.col("fields")["out_of_sync_replicas"], F.lit(r"endOffset: (\d+)"), 1),
        lambda offset: end_offset - offset.try_cast("long"),
    )
    lines = (
        with_incarnation(events.where("event_type = 'isr_shrinking' AND topic IS NOT NULL"), topics)
        .select(
            *INCARNATION,
            F.col("at").alias("logged_at"),
            F.array_sort("isr").alias("isr"),
            F.array_max(behind).alias("lag"),
        )
        .where("lag IS NOT NULL")
    )
    since, logged_at = F.unix_millis("since"), F.unix_millis("logged_at")
    minutes = F.sequence(_minute(logged_at - EARLY_MS), _minute(logged_at + LATE_MS))
    return (
        shrinks.where("made_by = 'leader'")
        .select(*INCARNATION, "ordinal", "since", "isr", _minute(since).alias("minute"))
        .join(lines.withColumn("minute", F.explode(minutes)), [*INCARNATION, "isr", "minute"])
        .where((since - logged_at).between(-EARLY_MS, LATE_MS))
        .groupBy(*INCARNATION, "ordinal")
        .agg(F.max_by("lag", "logged_at").alias("lag"))
        .withColumn("kind", F.lit("shrink"))
    )


def _minute(millis: Column) -> Column:
    return F.floor(millis / 60_000)


def to_isr_churn(changes: DataFrame, elections: DataFrame, ends: DataFrame, settings: Settings) -> DataFrame:
    """ISR_CHANGES, ELECTIONS -> ISR_CHURN; `ends`: cluster, end_of_logs."""
    moves = changes.select(
        *INCARNATION,
        "at",
        "ordinal",
        F.explode(F.concat("added", "removed")).alias("follower"),
        (F.col("kind") == "expand").alias("joined"),
    )
    order = Window.partitionBy(*INCARNATION, "follower").orderBy("ordinal", "joined")
    timed = moves.join(F.broadcast(ends), "cluster", "left").withColumns(
        {
            "next_at": F.lead("at").over(order),
            "hour": F.date_trunc("hour", "at"),
            "is_flap": F.col("joined") & (F.lag("joined").over(order) == F.lit(False)),
        }
    )
    out_ms = F.when(~F.col("joined"), F.unix_millis(F.coalesce("next_at", "end_of_logs")) - F.unix_millis("at"))
    by_hour = timed.groupBy(*INCARNATION, "follower", "hour").agg(
        F.sum((~F.col("joined")).cast("int")).cast("int").alias("shrinks"),
        F.sum(F.col("joined").cast("int")).cast("int").alias("expands"),
        F.sum(F.coalesce(F.col("is_flap"), F.lit(False)).cast("int")).cast("int").alias("flaps"),
        F.max(out_ms).cast("long").alias("worst_out_ms"),
    )
    leader_changes = (
        elections.where("succeeded AND previous_leader IS NOT NULL AND leader <> previous_leader")
        .groupBy(*INCARNATION, F.date_trunc("hour", "at").alias("hour"))
        .agg(F.count("*").cast("int").alias("leader_changes"))
    )
    return (
        by_hour.join(leader_changes, [*INCARNATION, "hour"], "left")
        .withColumns(
            {
                "leader_changes": F.coalesce("leader_changes", F.lit(0)),
                "churning": F.col("flaps") >= settings.churn_flaps,
            }
        )
        .select(*ISR_CHURN.columns)
    )
