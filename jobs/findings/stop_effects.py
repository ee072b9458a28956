"""What followed from stops of nodes: terms of controllers that ended, replicas that left ISRs, leaders that moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.findings.node_stops import living_on
from jobs.findings.outage_causes import FAILOVERS
from jobs.timelines.topics import INCARNATION
from schemas.spark import EVIDENCE
from udfs.incidents.node_stops import CRASHED, LIVED_ON

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SLACK = "INTERVAL 2 SECONDS"
"""What two nodes log about one thing may be so far apart."""


def of_node(node: str, at: str) -> Column:
    """The key of what followed from a node's stop."""
    return F.concat_ws(" ", F.lit("node"), node, F.unix_micros(at))


def term_ends(controllers: DataFrame, stops: DataFrame, events: DataFrame) -> DataFrame:
    """CONTROLLER_TIMELINE, NODE_STOPS, EVENTS -> the end of each term, with the stop of its node or by itself, and
    `how`: LIVED_ON if its node resigned, was elected anew, or logged on.

    Its line is the next one's election; of a term that nobody followed that it resigned, if it logged that. One that
    ended with a life of its cluster is left out: nobody took over.
    """
    slack = F.expr(SLACK)
    ended = _ended(controllers)
    of_stops = stops.select(
        "cluster",
        F.col("node_id").alias("controller_id"),
        of_node("node_id", "since").alias("of_stop"),
        F.coalesce("began_after", "since").alias("away_since"),
        F.col("since").alias("stopped"),
        F.col("until").alias("back_at"),
    )
    is_within = (F.col("away_since") <= F.col("until") + slack) & (
        F.col("back_at").isNull() | (F.col("until") <= F.col("back_at") + slack)
    )
    key = ["cluster", "cluster_incarnation", "mode", "controller_id", "controller_epoch"]
    explained = (
        ended.select(*key, "until")
        .join(of_stops, ["cluster", "controller_id"])
        .where(is_within)
        .groupBy(*key)
        .agg(F.max_by("of_stop", "stopped").alias("of_stop"))
    )
    # terms that end right after another one are of its incident, so often the office changes hands
    by_time = Window.partitionBy("cluster").orderBy("until", "controller_epoch", "controller_id")
    is_first = F.coalesce(F.col("until") > F.lag("until").over(by_time) + slack, F.lit(True))
    so_far = by_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    alone = F.concat_ws(" ", F.lit("term"), "controller_id", F.unix_micros("until"))
    ends = ended.join(F.broadcast(explained), key, "left").withColumns(
        {"own": F.coalesce("of_stop", alone), "number": F.sum(is_first.cast("int")).over(so_far)}
    )
    together = Window.partitionBy("cluster", "number").orderBy("until", "controller_epoch", "controller_id")
    first = F.first("own").over(together.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing))
    is_there = (F.col("other") == F.col("controller_id")) | (F.size(_resignation_line()) > 0) | F.col("logged_on")
    return _with_own_lines(ends, events).select(
        "cluster",
        F.coalesce("of_stop", first).alias("incident"),
        F.lit("controller").alias("kind"),
        F.when(is_there, LIVED_ON).alias("how"),
        F.col("until").alias("at"),
        F.col("other_ready").alias("until"),
        F.col("controller_id").alias("node"),
        "other",
        F.col("controller_epoch").alias("count"),
        F.col("other_since").alias("started_at"),
        F.col("end_line").alias("evidence"),
    )


def _ended(controllers: DataFrame) -> DataFrame:
    """CONTROLLER_TIMELINE -> the terms that ended, with who followed, and the line that shows it (`end_line`)."""
    order = Window.partitionBy("cluster", "cluster_incarnation", "mode").orderBy("controller_epoch", "since")
    following = {
        "other": F.lead("controller_id").over(order),
        "other_since": F.lead("since").over(order),
        "other_ready": F.lead("active_since").over(order),
        "end_line": F.coalesce(F.slice(F.lead("evidence").over(order), 1, 1), _resignation_line()),
    }
    is_of_life = F.coalesce(F.col("ended_by") == "replaced", F.lit(False)) & F.col("other").isNull()
    return controllers.withColumns(following).where("until IS NOT NULL AND active_since IS NOT NULL").where(~is_of_life)


def _with_own_lines(ends: DataFrame, events: DataFrame) -> DataFrame:
    """Ends of terms, EVENTS -> the former with `logged_on`, true where the controller's process goes on."""
    node = F.col("controller_id").alias("node_id")
    alive = living_on(events, ends.select("cluster", node, F.col("until").alias("at")).distinct())
    of_node_then = alive.select(
        "cluster", F.col("node_id").alias("controller_id"), F.col("at").alias("until"), F.lit(True).alias("logged_on")
    )
    return ends.join(F.broadcast(of_node_then), ["cluster", "controller_id", "until"], "left")


def _resignation_line() -> Column:
    """EVIDENCE of a controller's resignation, empty if it logged none; null where the row was written without."""
    steps = F.filter("resignation", lambda step: step["step"] == "resigned")
    lines = F.transform(steps, lambda step: F.struct(step["node_id"], step["file_id"], step["line"]))
    return F.slice(lines, 1, 1).cast(EVIDENCE)


def _stops_of_brokers(stops: DataFrame) -> DataFrame:
    """NODE_STOPS -> those of brokers, `until` ending with the next one, and `next_since`: when it stopped next after it
    was back."""
    of_broker = Window.partitionBy("cluster", "node_id").orderBy("since")
    is_last = F.col("followed_at").isNull()
    return stops.where("role = 'broker'").select(
        *("cluster", "node_id", "since", "began_after", "how", "noticed_at"),
        F.least("until", "followed_at").alias("until"),
        F.when(is_last, F.lead("since").over(of_broker))
        .otherwise(F.lead("since", 2).over(of_broker))
        .alias("next_since"),
    )


REPLICA_KINDS = ("out_of_isr", "rejoined", "moved")
BOTH = "out_of_isr IS NOT NULL AND rejoined IS NOT NULL"


def replicas_of_stops(isr_changes: DataFrame, elections: DataFrame, stops: DataFrame) -> DataFrame:
    """ISR_CHANGES, ELECTIONS, NODE_STOPS -> by stops of brokers the number of partitions out of whose ISR it fell, of
    those in whose ISR it was again before its next stop, and of those that others led at once; with the first of each
    kind, and when it was again in the last ISR.

    One that was not back before its next stop joins ISRs after both, and what it drops out of then is of the next one.
    Followers may have missed a broker since its last line. Its leaders are elected anew once it begins to shut down, or
    a controller finds it gone; and by an election that it led to it leaves the ISR, as by a preferred one it does not.
    """
    is_shrink = F.col("kind") == "shrink"
    changed = isr_changes.select(
        *INCARNATION,
        "at",
        F.explode(F.when(is_shrink, F.col("removed")).otherwise(F.col("added"))).alias("node_id"),
        F.when(is_shrink, "out_of_isr").otherwise("rejoined").alias("kind"),
        "evidence",
    )
    is_in_sync = F.coalesce(F.array_contains("isr", F.col("previous_leader")), F.lit(False))
    is_failover = F.coalesce(F.col("strategy").isin(*FAILOVERS), ~is_in_sync)
    moved = elections.where("succeeded AND previous_leader >= 0 AND leader <> previous_leader").where(is_failover)
    moved = moved.select(
        *INCARNATION, "at", F.col("previous_leader").alias("node_id"), F.lit("moved").alias("kind"), "evidence"
    )
    of_brokers = _stops_of_brokers(stops)
    is_back, is_moved = F.col("kind") == "rejoined", F.col("kind") == "moved"
    # a crash that only the next start shows may have been at any time since its last line
    is_late = F.coalesce(F.col("how") == CRASHED, F.lit(False)) & F.col("noticed_at").isNull()
    missed_since = F.greatest(F.col("began_after"), F.col("since") - F.expr("INTERVAL 30 SECONDS"))
    earliest = F.when(is_moved & ~is_late, F.col("since")).otherwise(missed_since) - F.expr(SLACK)
    end = F.when(is_back, F.col("next_since")).otherwise(F.col("until"))
    is_within = (F.col("at") >= F.when(is_back, F.col("since")).otherwise(earliest)) & (
        end.isNull() | (F.col("at") <= end)
    )
    by_stop = ["cluster", "node_id", "since"]
    firsts = {kind: F.min(F.when(F.col("kind") == kind, F.struct("at", "evidence"))) for kind in REPLICA_KINDS}
    # only who had left an ISR joins it again
    known = {**{kind: F.col(kind).isNotNull() for kind in REPLICA_KINDS}, "rejoined": F.expr(BOTH)}
    kinds = [
        F.when(known[kind], F.struct(F.lit(kind).alias("kind"), F.col(kind).alias("edge"))) for kind in REPLICA_KINDS
    ]
    return (
        changed.unionByName(moved)
        .join(F.broadcast(of_brokers), ["cluster", "node_id"])
        .where(is_within)
        .groupBy(*by_stop, "topic", "partition")
        .agg(*(first.alias(kind) for kind, first in firsts.items()))
        .select(*by_stop, F.explode(F.array_compact(F.array(*kinds))).alias("one"))
        .groupBy(*by_stop, F.col("one.kind").alias("kind"))
        .agg(F.count("*").alias("count"), F.min("one.edge").alias("first"), F.max("one.edge").alias("last"))
        .withColumn("edge", F.when(is_back, F.col("last")).otherwise(F.col("first")))
        .select(
            "cluster",
            of_node("node_id", "since").alias("incident"),
            *("kind", "count", "edge.at", "edge.evidence"),
        )
    )
