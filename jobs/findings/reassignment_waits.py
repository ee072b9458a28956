"""Which replicas a reassignment waits for, and on which of them it is stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.findings.node_stops import lists_by_broker
from jobs.timelines.topics import INCARNATION
from schemas.findings import REASSIGNMENTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

AWAY = "INTERVAL 5 SECONDS"
"""A reassignment that waits at least so long for a broker that is away is stuck on it."""
_ABSENCES = "array<struct<since: timestamp, until: timestamp>>"


def with_waits(reassignments: DataFrame, states: DataFrame) -> DataFrame:
    """Rows of REASSIGNMENTS without `waits` and `stuck`, PARTITION_TIMELINE -> the same with `waits`."""
    key = [*INCARNATION, "since"]
    following = F.lead("since").over(Window.partitionBy(*INCARNATION).orderBy("ordinal"))
    spans = states.select(*INCARNATION, "isr", F.col("since").alias("state_since"), following.alias("state_until"))
    out = (
        reassignments.select(*key, "until", "target_replicas")
        .join(spans.where("isr IS NOT NULL"), INCARNATION)
        .where("(until IS NULL OR state_since < until) AND (state_until IS NULL OR state_until > since)")
        .select(
            *key,
            F.explode(F.array_except("target_replicas", "isr")).alias("broker"),
            F.greatest("since", "state_since").alias("out_since"),
            F.least("state_until", "until").alias("out_until"),  # what is not null
        )
    )
    waits = (
        out.groupBy(*key, "broker")
        .agg(
            F.struct(
                "broker",
                F.min("out_since").alias("since"),
                F.when(~F.max(F.col("out_until").isNull()), F.max("out_until")).alias("until"),
            ).alias("wait")
        )
        .groupBy(*key)
        .agg(F.sort_array(F.collect_list("wait")).alias("waits"))
    )
    nobody = F.array().cast(REASSIGNMENTS.schema["waits"].dataType)
    return reassignments.join(waits, key, "left").withColumn("waits", F.coalesce("waits", nobody))


def with_stuck(reassignments: DataFrame, stops: DataFrame) -> DataFrame:
    """Rows of `with_waits`, NODE_STOPS -> the same with `stuck`: waits for brokers that were away, and those that have
    not ended. Stops are few."""
    # two stops that end with one return
    absence = F.struct("since", F.least("until", "followed_at").alias("until"))
    absences = lists_by_broker(stops.where("role = 'broker'"), "node_id", {"absences": absence})

    def while_away(wait: Column) -> Column:
        # a key that is not there, and a map that is not, give null
        return F.transform(
            F.coalesce(F.try_element_at("absences", wait["broker"]), F.array().cast(_ABSENCES)),
            lambda away: _stuck(
                wait["broker"],
                F.greatest(wait["since"], away["since"]),
                F.least(wait["until"], away["until"]),
                "broker_away",
            ),
        )

    def lasts(stuck: Column) -> Column:
        return stuck["until"].isNull() | (stuck["until"] > stuck["since"] + F.expr(AWAY))

    away = F.filter(F.flatten(F.transform("waits", while_away)), lasts)
    is_open = F.filter("waits", lambda wait: wait["until"].isNull() & (F.col("state") == "stuck"))
    left = F.transform(is_open, lambda wait: _stuck(wait["broker"], wait["since"], wait["until"], "not_in_sync"))

    def is_explained(stuck: Column) -> Column:
        return F.exists("away", lambda away: away["until"].isNull() & (away["broker"] == stuck["broker"]))

    known = reassignments.join(F.broadcast(absences), "cluster", "left").withColumn("away", away)
    others = F.filter(left, lambda stuck: ~is_explained(stuck))
    return known.withColumn("stuck", F.array_sort(F.concat("away", others)))


def _stuck(broker: Column, since: Column, until: Column, cause: str) -> Column:
    """An element of `stuck`."""
    return F.struct(since.alias("since"), until.alias("until"), broker.alias("broker"), F.lit(cause).alias("cause"))
