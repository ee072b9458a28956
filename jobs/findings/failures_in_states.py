"""Offline elections that failed, by the state with a leader in which they did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.cluster_facts import day_of_or_open, days_or_open
from jobs.timelines.evidence import MOST_EVIDENCE
from jobs.timelines.topics import HISTORY, INCARNATION
from schemas.spark import IDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def to_failures_in_states(states: DataFrame, elections: DataFrame) -> DataFrame:
    """Timed rows of `to_states`, ELECTIONS -> a row for each offline election that failed in a state with a leader that
    did not shut down then: the controller counts who shuts down as not alive (`liveBrokerIds`), and so its partition as
    offline, but writes nothing; it leads on until it goes.

    INCARNATION, ordinal, leader, leader_epoch, isr and until of the state, `next_ordinal`, `next_leader` and
    `next_leader_epoch` of the one that follows (null: none does), `failed_at`, `previous_leader` (null: unknown) and
    `failed_evidence` of the election.
    """
    failed = elections.where("NOT succeeded AND strategy = 'offline'").select(
        *INCARNATION,
        "previous_leader",
        F.col("at").alias("failed_at"),
        F.col("evidence").alias("failed_evidence"),
        F.coalesce("shutting_down", F.array().cast(IDS)).alias("shutting_down"),
        day_of_or_open("at").alias("day"),
    )
    following = Window.partitionBy(HISTORY).orderBy("ordinal")
    next_names = {f"next_{name}": F.lead(name).over(following) for name in ("ordinal", "leader", "leader_epoch")}
    spans = (
        states.withColumns(next_names)
        .where("leader >= 0")
        .select(
            *INCARNATION, "ordinal", "leader", "leader_epoch", "isr", "since", "until", *next_names,
            days_or_open(F.col("since"), F.col("until")).alias("day"),
        )
    )  # fmt: skip
    return (
        failed.join(spans, [*INCARNATION, "day"])
        .where("failed_at >= since AND (until IS NULL OR failed_at < until)")
        .where("NOT array_contains(shutting_down, leader)")
        .drop("day", "since", "shutting_down")
    )


def first_failures(failures: DataFrame, *names: str) -> DataFrame:
    """Rows of `to_failures_in_states` -> of each state INCARNATION, ordinal, these of its columns, `failed_at` and
    `failed_evidence` of the first."""
    return failures.groupBy(*INCARNATION, "ordinal", *names).agg(
        F.min("failed_at").alias("failed_at"),
        F.slice(F.min_by("failed_evidence", "failed_at"), 1, MOST_EVIDENCE).alias("failed_evidence"),
    )
