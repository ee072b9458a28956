"""Replicas of which it is known that they were not in the ISR as they were elected, though no line has the ISR.

With ZooKeeper at INFO the states before an election are in no line. But where a broker's session ends, the controller
takes it out of the ISR of each partition that another broker leads then (`doRemoveReplicasFromIsr`, from 0.8 on), and
it joins again only while one leads, which logs that it adds it. A broker that comes back when that leader has gone,
too, and nobody else has led, cannot have joined; nor has one that the leader of meanwhile has not added. Elected, it
leads uncleanly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.findings.node_stops import AT_ONCE
from jobs.timelines.controllers import ZOOKEEPER
from jobs.timelines.known_spans import span_around
from jobs.timelines.leader_lines import REPORTED
from jobs.timelines.sorted_times import number_until
from jobs.timelines.topics import INCARNATION, with_incarnation

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SERVER_LOGS = ("server",)
"""Where brokers log that they begin to lead."""
_KEY = [*INCARNATION, "leader_epoch"]
_SHOWN = [*_KEY, "gone_at", "absence_evidence"]
"""Unclean elections, with the absence that shows it, and its lines."""
MOST_EPOCHS = 3
"""Leader epochs from one leader to the other: the replica is taken out, nobody leads, the replica is elected. In more,
others may have led."""


def to_overtaken(brokers: DataFrame, controllers: DataFrame, known_spans: DataFrame) -> DataFrame:
    """BROKER_TIMELINE, CONTROLLER_TIMELINE, rows of `to_known_spans` of server logs by node -> absences of brokers that
    a ZooKeeper controller noticed, with the logs of all brokers there.

    Columns: cluster, `leader` (the broker, which may be elected later), `leaves_at` (when it began to shut down, or
    `gone_at`), `gone_at`, `gone_line`, `back_at`, `gone_again_at` (null: it was not), `reigns_until` (the controller),
    and `overtakers`, those that went before it was back, as the same controller saw it: structs `last_leader`,
    `lost_at`, `lost_line`; null if none did.
    """
    order = Window.partitionBy("cluster", "broker").orderBy("since")
    line = F.slice("evidence", -1, 1)
    absences = (
        brokers.withColumns({"back_at": F.lead("since").over(order), "gone_again_at": F.lead("until").over(order)})
        .where("until IS NOT NULL")
        .select(
            "cluster",
            "broker",
            F.col("until").alias("gone_at"),
            "back_at",
            "gone_again_at",
            line.alias("line"),
            F.coalesce("shutdown_since", "until").alias("leaves_at"),
        )
    )
    terms = controllers.where(F.col("mode") == ZOOKEEPER).select(
        "cluster", F.col("since").alias("reigns_since"), F.col("until").alias("reigns_until")
    )
    reigned = (
        absences.where("back_at IS NOT NULL")
        .withColumnsRenamed({"broker": "leader", "line": "gone_line"})
        .join(F.broadcast(terms), "cluster")
        .where("reigns_since <= gone_at AND (reigns_until IS NULL OR reigns_until > gone_at)")
    )
    key = ["cluster", "leader", "gone_at"]
    count = brokers.groupBy("cluster").agg(F.countDistinct("broker").alias("brokers"))
    own_spans = known_spans.join(
        brokers.select("cluster", F.col("broker").alias("node_id")), ["cluster", "node_id"], "semi"
    )
    is_there = span_around(F.col("gone_at"))["until"] >= F.col("back_at")
    logged = (
        reigned.join(F.broadcast(own_spans), "cluster")
        .where(is_there)
        .groupBy(*key)
        .agg(F.countDistinct("node_id").alias("logs"))
        .join(count, "cluster")
        .where("logs >= brokers")
    )
    renamed = {"broker": "last_leader", "gone_at": "lost_at", "line": "lost_line"}
    lost = absences.select("cluster", *(F.col(name).alias(other) for name, other in renamed.items()))
    overtakers = (
        reigned.join(lost, "cluster")
        .where("leader <> last_leader AND gone_at < lost_at AND lost_at <= back_at")
        .where("reigns_until IS NULL OR reigns_until >= lost_at")
        .groupBy(*key)
        .agg(F.array_sort(F.collect_list(F.struct("last_leader", "lost_at", "lost_line"))).alias("overtakers"))
    )
    return reigned.join(logged.select(*key), key).join(overtakers, key, "left").drop("reigns_since")


def with_overtaken(elections: DataFrame, overtaken: DataFrame, failed: DataFrame | None, joins: DataFrame) -> DataFrame:
    """Committed ELECTIONS with `last_leader`, `led_since` (when that began), `led_until` (when a line shows last that
    it leads), `led_epoch` and `led_unseen`; rows of `to_overtaken`, elections that failed (`at`, `strategy`), rows
    of `to_joins` -> the first with `unclean` and evidence of those of which it was not known."""
    in_question = elections.where("unclean IS NULL AND led_epoch IS NOT NULL AND leader <> last_leader")
    met = in_question.join(F.broadcast(overtaken), ["cluster", "leader"]).where(
        _is_near("back_at", "at") & (F.col("gone_again_at").isNull() | (F.col("at") <= F.col("gone_again_at")))
    )
    if failed is None:
        met = met.withColumn("failures", F.lit(None).cast("array<timestamp>"))
    else:
        offline = failed.where("strategy = 'offline'").groupBy(*INCARNATION).agg(F.collect_list("at").alias("failures"))
        met = met.join(offline, INCARNATION, "left")
    shown = (
        _came_too_late(met)
        .unionByName(_was_not_added(met, joins))
        .groupBy(*_KEY)
        .agg(F.max_by("absence_evidence", "gone_at").alias("absence_evidence"))
    )
    is_shown = F.col("absence_evidence").isNotNull()
    return (
        elections.join(shown, _KEY, "left")
        .withColumns(
            {
                "unclean": F.coalesce("unclean", F.when(is_shown, True)),
                "led_unseen": F.coalesce("led_unseen", F.lit(False)) & ~is_shown,
                "evidence": F.when(is_shown, F.concat("evidence", "absence_evidence")).otherwise(F.col("evidence")),
            }
        )
        .drop("absence_evidence")
    )


def to_joins(events: DataFrame, topics: DataFrame) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE -> INCARNATION, `joined_at`, `leader`: when a leader said of which broker that it adds it
    to the ISR, or has it in it."""
    lines = events.where(F.col("event_type").isin("isr_expanding", REPORTED) & F.col("topic").isNotNull())
    each = lines.select("cluster", "topic", "partition", "topic_id", "at", F.explode("isr").alias("leader"))
    return with_incarnation(each, topics).select(*INCARNATION, F.col("at").alias("joined_at"), "leader")


def _is_near(at: str, other: str) -> Column:
    return F.col(at) <= F.col(other) + F.expr(AT_ONCE)


def _came_too_late(met: DataFrame) -> DataFrame:
    """Elections with an absence of their leader in which their last leader went, too, and `failures`, when elections of
    the partition failed -> _SHOWN.

    Where one failed meanwhile nobody led then, however many had led before that.
    """
    led_then = (F.col("led_since") <= F.col("gone_at")) & (F.col("leader_epoch") - F.col("led_epoch") <= MOST_EPOCHS)
    nobody_led = _has_failed(F.col("lost_at") - F.expr(AT_ONCE), F.col("back_at"))
    return (
        met.withColumn("other", F.explode("overtakers"))
        .where("other.last_leader = last_leader")
        .withColumns({"lost_at": F.col("other.lost_at"), "lost_line": F.col("other.lost_line")})
        .where(_is_near("led_until", "lost_at") & (led_then | nobody_led))
        .withColumn("absence_evidence", F.concat("gone_line", "lost_line"))
        .select(*_SHOWN)
    )


def _has_failed(since: Column, until: Column) -> Column:
    """Whether an election of the partition failed in a span of time."""
    return F.coalesce(number_until("failures", until) > number_until("failures", since), F.lit(False))


def _was_not_added(met: DataFrame, joins: DataFrame) -> DataFrame:
    """Elections with an absence of their leader about which the leader of the leader epoch before had begun to lead ->
    _SHOWN: of those that it has not added to the ISR since.

    It began then because the controller took the other one out, or elected it in its place. The leader epoch between
    may have been nobody's, where an election failed.
    """
    is_next = F.coalesce(F.col("previous_leader") == F.col("last_leader"), F.lit(False))
    is_second = (F.col("leader_epoch") - F.col("led_epoch") == 2) & _has_failed(F.col("led_until"), F.col("at"))
    followed = met.where(is_next | is_second).where(
        _is_near("leaves_at", "led_until")
        & _is_near("led_until", "back_at")
        & (F.col("reigns_until").isNull() | (F.col("reigns_until") > F.col("led_until")))
    )
    joined = followed.join(joins, [*INCARNATION, "leader"]).where(
        _is_near("leaves_at", "joined_at") & _is_near("joined_at", "at")
    )
    left = followed.join(joined, [*_KEY, "leader", "gone_at"], "anti")
    return left.withColumnRenamed("gone_line", "absence_evidence").select(*_SHOWN)
