"""What shows that a broker was there, or gone, though no controller logged that it came or went: lines may be lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.findings.switches import DECISION
from jobs.timelines.cluster_facts import day_of, day_of_or_open, days_or_open
from jobs.timelines.leader_lines import STARTED
from jobs.timelines.topics import INCARNATION
from schemas.kafka_values import NO_LEADER
from udfs.kafka.verdicts_columns import doubt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

AT_ONCE_MS = 5000
"""What a controller does as it notices that a broker has gone is within so long."""
SOON_MS = 5000
"""A new leader that is alive logs that it begins its leader epoch so long after its election at most, usually."""
_STAY = ["cluster", "broker", "since"]


def to_broker_signs(states: DataFrame, events: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE, EVENTS -> cluster, broker, at, `is_alive`.

    A broker is alive as it begins to lead, and as a leader takes it into an ISR, for it has fetched. It is gone where a
    controller takes it out of ISRs though it stays assigned, and where partitions are left without a leader whose ISR
    it alone stays in; in several topics at a time, for a topic that is deleted, and a reassignment, do that to brokers
    that are there.
    """
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    is_next = F.col("missing_before") == 0
    in_order = states.withColumns(
        {f"{name}_before": F.when(is_next, F.lag(name).over(order)) for name in ("isr", "leader")}
    )
    joined = F.when(F.col("made_by") == "leader", F.array_except("isr", "isr_before"))
    lost = F.array_intersect(F.array_except("isr_before", "isr"), "replicas")
    is_alone = (F.col("leader") == NO_LEADER) & (F.col("isr") == F.array("leader_before"))
    gone = F.when(is_alone, F.col("isr")).when(F.col("made_by") == "controller", lost)
    begun = events.where(F.col("event_type").isin(*STARTED) & F.col("node_id").isNotNull())
    joins = in_order.select("cluster", F.explode(joined).alias("broker"), F.col("since").alias("at"))
    losses = in_order.select("cluster", "topic", F.explode(gone).alias("broker"), F.col("since").alias("at"))
    leads = begun.select("cluster", F.col("node_id").alias("broker"), "at")
    shown = F.min("at").alias("at"), F.size(F.collect_set("topic")).alias("topics")
    absent = losses.groupBy("cluster", "broker", F.floor(F.unix_millis("at") / AT_ONCE_MS)).agg(*shown)
    is_alive, is_gone = (F.lit(value).alias("is_alive") for value in (True, False))
    alive = joins.unionByName(leads).select("*", is_alive)
    return alive.unionByName(absent.where("topics > 1").select("cluster", "broker", "at", is_gone)).distinct()


def with_doubts(brokers: DataFrame, signs: DataFrame) -> DataFrame:
    """BROKER_TIMELINE, rows of `to_broker_signs` -> the former with `stay_in_doubt`: whether the broker was gone
    meanwhile, unseen, and `absence_in_doubt`: whether it was back before the next row of it, unseen.

    What is shown within the doubt about both ends is no reason, and nothing is of a dump, of which no record is lost. A
    broker that shuts down loses its partitions before it goes.
    """
    returned = F.lead("since").over(Window.partitionBy("cluster", "broker").orderBy("since"))
    is_logged = F.try_element_at("evidence", F.lit(1))["node_id"].isNotNull()
    rows = brokers.withColumn("returned", returned).where(is_logged)
    stays = rows.select(
        *_STAY, F.col("since").alias("begin"), F.coalesce("shutdown_since", "until").alias("end"),
        F.lit(False).alias("is_alive"),
    )  # fmt: skip
    absences = rows.where("until IS NOT NULL").select(
        *_STAY, F.col("until").alias("begin"), F.col("returned").alias("end"), F.lit(True).alias("is_alive")
    )
    by_day = stays.unionByName(absences).withColumn("day", days_or_open(F.col("begin"), F.col("end")))
    is_inside = (F.col("at") > F.col("begin") + doubt()) & (
        F.col("end").isNull() | (F.col("at") < F.col("end") - doubt())
    )
    doubted = (
        signs.withColumn("day", day_of_or_open("at"))
        .join(F.broadcast(by_day), ["cluster", "broker", "is_alive", "day"])
        .where(is_inside)
        .groupBy(*_STAY)
        .agg(F.bool_or(~F.col("is_alive")).alias("stay_in_doubt"), F.bool_or("is_alive").alias("absence_in_doubt"))
    )
    known = {name: F.coalesce(name, F.lit(False)) for name in ("stay_in_doubt", "absence_in_doubt")}
    return brokers.join(doubted, _STAY, "left").withColumns(known)


def clusters_in_other_doubt(before: DataFrame, now: DataFrame) -> set[str]:
    """Rows of `with_doubts` as they were and are -> clusters of which another stay or absence, of those that were
    known, is in doubt now."""
    columns = [*_STAY, "stay_in_doubt", "absence_in_doubt"]
    was, become = ({tuple(row[:3]): row[3:] for row in side.select(*columns).collect()} for side in (before, now))
    return {stay[0] for stay, doubts in was.items() if become.get(stay, doubts) != doubts}


def without_stale_lists(elections: DataFrame, signs: DataFrame) -> DataFrame:
    """ELECTIONS with DECISION, rows of `to_broker_signs` -> the former; `live_brokers` is null where the list that the
    controller logged lacks a leader that shows that it is alive: a later list is lost."""
    soon, early = F.expr(f"INTERVAL {SOON_MS} MILLISECONDS"), doubt()
    unlisted = elections.where("succeeded AND NOT array_contains(live_brokers, leader)").select(
        *DECISION, F.col("leader").alias("broker"), F.explode(
            F.array_distinct(F.array(day_of(F.col("at") - early), day_of(F.col("at") + soon)))
        ).alias("day"),
    )  # fmt: skip
    stale = (
        signs.where("is_alive")
        .withColumnRenamed("at", "shown_at")
        .withColumn("day", day_of("shown_at"))
        .join(F.broadcast(unlisted), ["cluster", "broker", "day"])
        .where(F.col("shown_at").between(F.col("at") - early, F.col("at") + soon))
        .select(*DECISION, F.lit(True).alias("is_stale"))
        .distinct()
    )
    is_stale = F.coalesce("is_stale", F.lit(False))
    return (
        elections.join(F.broadcast(stale), DECISION, "left")
        .withColumn("live_brokers", F.when(~is_stale, F.col("live_brokers")))
        .drop("is_stale")
    )
