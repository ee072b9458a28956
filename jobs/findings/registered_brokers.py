"""Which brokers were registered, in KRaft unfenced, when something was decided."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.findings.switches import DECISION
from jobs.timelines.cluster_facts import day_of, days
from jobs.timelines.known_spans import span_around
from jobs.timelines.topics import INCARNATION
from udfs.kafka.verdicts_columns import doubt

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def with_earliest(
    decisions: DataFrame, states: DataFrame, known_spans: DataFrame, kraft_clusters: DataFrame
) -> DataFrame:
    """Elections, PARTITION_TIMELINE, spans of controllers' logs, rows of `to_kraft_clusters` -> the elections with
    `earliest`: when each may have been decided, at the earliest; it was by `at`.

    With ZooKeeper the line of the decision, which would tell the strategy, may not be there (it is at TRACE). Then the
    leader's first line shows the election, or only its first change of the ISR: it came after the state before, of
    which the first line is there. Those whose state before began before a hole in the controllers' logs are left out:
    they may have been decided in the hole, when nobody knows who was alive.
    """
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    begun = (
        states.withColumn("before_at", F.lag("since").over(order))
        .groupBy(*INCARNATION, "leader_epoch")
        .agg(F.min_by("before_at", "ordinal").alias("before_at"))
    )
    kraft = F.broadcast(kraft_clusters.select("cluster", F.lit(True).alias("is_kraft")))
    is_undated = F.col("succeeded") & F.col("strategy").isNull()
    is_older = is_undated & (F.col("before_at") < span_around(F.col("at"))["since"])
    before = F.when(is_undated & F.col("is_kraft").isNull(), F.col("before_at"))
    return (
        decisions.join(begun, [*INCARNATION, "leader_epoch"], "left")
        .join(F.broadcast(known_spans), "cluster", "left")
        .join(kraft, "cluster", "left")
        .where(~F.coalesce(is_older, F.lit(False)))
        .withColumn("earliest", F.least("at", before))
        .drop("before_at", "spans", "is_kraft")
    )


def registered(
    decisions: DataFrame, brokers: DataFrame, known_spans: DataFrame, kraft_clusters: DataFrame
) -> DataFrame:
    """Rows with DECISION, `earliest`, `concerned` brokers and `evidence`, rows of `with_doubts`, spans, rows of
    `to_kraft_clusters` -> DECISION, `possible`, `certain`: those of them that may have been registered then, and those
    that were, whenever it was between `earliest` and `at`.

    A broker that came or went before a hole in the controllers' logs, and one of which they say nothing, may have been
    there or not; likewise one of which something shows that it did so unseen, one that did so at about that time
    (`doubt`), unless lines tell that it was before (`_follows`), and in KRaft one that is shutting down: it is there
    until it is fenced, but leads nothing any more (3.3 on, KIP-841). Elections are left out if nothing is known of any
    replica.
    """
    last = F.broadcast(decisions.groupBy("cluster").agg(F.max("at").alias("last")))
    by_day = (
        _stays(brokers)
        .join(F.broadcast(kraft_clusters.select("cluster", F.lit(True).alias("is_kraft"))), "cluster", "left")
        .join(last, "cluster")
        .withColumn("day", days(F.col("begin") - doubt(), F.greatest("begin", F.coalesce("end", "last")) + doubt()))
        .drop("last")
    )
    is_same = [F.col(f"asked.{name}") == F.col(f"stays.{name}") for name in ("cluster", "broker", "day")]
    begin, end, at = F.col("begin"), F.col("end"), F.col("at")
    lasted = end.isNull() | (end >= at + doubt())
    was_so = ((begin <= F.col("earliest") - doubt()) | (_follows() & (F.col("earliest") == at))) & lasted
    around = (
        decisions.select(
            *DECISION, "earliest", day_of("at").alias("day"), F.col("concerned").alias("replicas"), "evidence"
        )
        .join(F.broadcast(known_spans), "cluster", "left")
        .withColumn("known_since", span_around(at)["since"])
        .drop("spans")
        .withColumn("broker", F.explode("replicas"))
        .alias("asked")
        .join(F.broadcast(by_day).alias("stays"), reduce(and_, [*is_same, was_so]), "left")
        .select("asked.*", "is_up", "begin", "end", "is_kraft", "shutdown_since")
    )
    is_known = F.col("begin") >= F.col("known_since")
    shuts_down = F.coalesce(F.col("is_kraft") & (F.col("shutdown_since") < at + doubt()), F.lit(False))
    known = around.groupBy(*DECISION).agg(
        F.first("replicas").alias("replicas"),
        F.collect_set(F.when(is_known & F.col("is_up"), F.col("broker"))).alias("registered"),
        F.collect_set(F.when(is_known & F.col("is_up") & ~shuts_down, F.col("broker"))).alias("certain"),
        F.collect_set(F.when(is_known & ~F.col("is_up"), F.col("broker"))).alias("gone"),
    )
    return known.where("size(registered) > 0 OR size(gone) > 0").select(
        *DECISION, "certain", F.array_except("replicas", "gone").alias("possible")
    )


def _stays(brokers: DataFrame) -> DataFrame:
    """Rows of `with_doubts` -> cluster, broker, `is_up`, `begin`, `end`, `begin_line` (as in evidence),
    `shutdown_since`: when a broker was registered, and (`shutdown_since` null) when it was not, having been before; not
    when that is in doubt."""
    of_broker = Window.partitionBy("cluster", "broker").orderBy("since")
    returned = F.lead("since").over(of_broker).alias("returned")
    times = brokers.select(
        "cluster", "broker", "since", "until", "shutdown_since", returned, "evidence",
        "stay_in_doubt", "absence_in_doubt",
    )  # fmt: skip

    def stays(rows: DataFrame, is_up: bool, begin: str, end: str) -> DataFrame:
        line = F.try_element_at("evidence", F.lit(1 if is_up else 2))
        return rows.select(
            "cluster", "broker", F.lit(is_up).alias("is_up"), F.col(begin).alias("begin"), F.col(end).alias("end"),
            line.alias("begin_line"), F.when(F.lit(is_up), F.col("shutdown_since")).alias("shutdown_since"),
        )  # fmt: skip

    there, gone = times.where("NOT stay_in_doubt"), times.where("until IS NOT NULL AND NOT absence_in_doubt")
    return stays(there, True, "since", "until").unionByName(stays(gone, False, "until", "returned"))


def _follows() -> Column:
    """Whether a decision with `evidence` at `at` was taken after the line `begin_line` of `begin`, however shortly.

    A dump has its records in order. A ZooKeeper controller works on one event at a time, by one clock, and logs what
    it noticed before it decides on it. What KRaft decides may be logged later than what followed it, unless it is that
    very line that made the decision.
    """
    line, is_kraft = F.col("begin_line"), F.coalesce("is_kraft", F.lit(False))
    is_cause = F.array_contains("evidence", line)
    in_dump = F.exists(
        "evidence", lambda e: e["node_id"].isNull() & (e["file_id"] == line["file_id"]) & (e["line"] > line["line"])
    )
    is_dump = is_kraft & line["node_id"].isNull() & (F.col("begin") <= F.col("at"))
    by_controller = F.array_contains("evidence.node_id", line["node_id"])
    return is_cause | (is_dump & in_dump) | (~is_kraft & (F.col("begin") < F.col("at")) & by_controller)
