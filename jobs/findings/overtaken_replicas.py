"""Replicas of which it is known that they were not in the ISR as they were elected, though no line has the ISR.

With ZooKeeper at INFO the states before an election are in no line. But where a broker's session ends, the controller
takes it out of the ISR of each partition that another broker leads then (`doRemoveReplicasFromIsr`, from 0.8 on), and
it joins again only while one leads. A broker that comes back when that leader has gone, too, and nobody else has led,
cannot have joined: elected, it leads uncleanly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.controllers import ZOOKEEPER
from jobs.timelines.known_spans import span_around
from jobs.timelines.sorted_times import number_until

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SERVER_LOGS = ("server",)
"""Where brokers log that they begin to lead."""
AT_ONCE = "INTERVAL 2 SECONDS"
"""What the controller notices of a broker, and what that logs itself, may be so far apart."""
MOST_EPOCHS = 3
"""Leader epochs from one leader to the other: the replica is taken out, nobody leads, the replica is elected. In more,
others may have led."""


def to_overtaken(brokers: DataFrame, controllers: DataFrame, known_spans: DataFrame) -> DataFrame:
    """BROKER_TIMELINE, CONTROLLER_TIMELINE, rows of `to_known_spans` of server logs by node -> rows by cluster.

    Two brokers of which the one that went first came back after the other had gone, all as one ZooKeeper controller saw
    it, with the logs of all brokers there: `leader`, `gone_at`, `back_at`, `gone_again_at` (null: it was not),
    `last_leader`, `lost_at`, and the lines, `absence_evidence`.
    """
    order = Window.partitionBy("cluster", "broker").orderBy("since")
    line = F.slice("evidence", -1, 1)
    absences = (
        brokers.withColumns({"back_at": F.lead("since").over(order), "gone_again_at": F.lead("until").over(order)})
        .where("until IS NOT NULL")
        .select("cluster", "broker", F.col("until").alias("gone_at"), "back_at", "gone_again_at", line.alias("line"))
    )
    first = absences.where("back_at IS NOT NULL").withColumnRenamed("broker", "leader")
    then = absences.select(
        "cluster",
        F.col("broker").alias("last_leader"),
        F.col("gone_at").alias("lost_at"),
        F.col("line").alias("then_line"),
    )
    terms = controllers.where(F.col("mode") == ZOOKEEPER).select(
        "cluster", F.col("since").alias("reigns_since"), F.col("until").alias("reigns_until")
    )
    pairs = (
        first.join(then, "cluster")
        .where("leader <> last_leader AND gone_at < lost_at AND lost_at <= back_at")
        .join(F.broadcast(terms), "cluster")
        .where("reigns_since <= gone_at AND (reigns_until IS NULL OR reigns_until >= lost_at)")
        .withColumn("absence_evidence", F.concat("line", "then_line"))
        .drop("line", "then_line", "reigns_since", "reigns_until")
    )
    count = brokers.groupBy("cluster").agg(F.countDistinct("broker").alias("brokers"))
    own_spans = known_spans.join(
        brokers.select("cluster", F.col("broker").alias("node_id")), ["cluster", "node_id"], "semi"
    )
    key = ["cluster", "leader", "gone_at", "last_leader", "lost_at"]
    is_there = span_around(F.col("gone_at"))["until"] >= F.col("back_at")
    logged = (
        pairs.join(F.broadcast(own_spans), "cluster")
        .where(is_there)
        .groupBy(*key)
        .agg(F.countDistinct("node_id").alias("logs"))
        .join(count, "cluster")
        .where("logs >= brokers")
    )
    return pairs.join(logged.select(*key), key)


def with_overtaken(elections: DataFrame, overtaken: DataFrame, failed: DataFrame | None) -> DataFrame:
    """Committed ELECTIONS with `last_leader`, `led_since` (when that began), `led_until` (when a line shows last that
    it leads), `led_epoch` and `led_unseen`; rows of `to_overtaken`, ELECTIONS that failed -> the first with `unclean`
    and evidence of those of which it was not known.

    Where an election failed meanwhile nobody led then, however many had led before that.
    """
    key = ["cluster", "topic", "partition", "incarnation", "leader_epoch"]
    slack = F.expr(AT_ONCE)

    def is_near(at: str, other: str) -> Column:
        return F.col(at) <= F.col(other) + slack

    offline = F.lit(None).cast("array<timestamp>")
    if failed is not None:
        life = key[:-1]
        times = failed.where("strategy = 'offline'").groupBy(*life).agg(F.collect_list("at").alias("failures"))
        elections, offline = elections.join(times, life, "left"), F.col("failures")
    led_then = (F.col("led_since") <= F.col("gone_at")) & (F.col("leader_epoch") - F.col("led_epoch") <= MOST_EPOCHS)
    nobody_led = number_until(offline, F.col("back_at")) > number_until(offline, F.col("lost_at") - slack)
    shown = (
        elections.where("unclean IS NULL AND led_epoch IS NOT NULL")
        .join(F.broadcast(overtaken), ["cluster", "leader", "last_leader"])
        .where(is_near("led_until", "lost_at") & is_near("back_at", "at"))
        .where(F.col("gone_again_at").isNull() | (F.col("at") <= F.col("gone_again_at")))
        .where(led_then | F.coalesce(nobody_led, F.lit(False)))
        .groupBy(*key)
        .agg(F.max_by("absence_evidence", "gone_at").alias("absence_evidence"))
    )
    is_shown = F.col("absence_evidence").isNotNull()
    return (
        elections.join(shown, key, "left")
        .withColumns(
            {
                "unclean": F.coalesce("unclean", F.when(is_shown, True)),
                "led_unseen": F.coalesce("led_unseen", F.lit(False)) & ~is_shown,
                "evidence": F.when(is_shown, F.concat("evidence", "absence_evidence")).otherwise(F.col("evidence")),
            }
        )
        .drop("absence_evidence", "failures")
    )
