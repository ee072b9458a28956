"""Replay: each decision against the algorithm of its Kafka release, each partition's states against the invariants.

Spark joins the inputs; rows then stream through `udfs.kafka.verdict_rows` in the workers, sorted where order matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.settings import Settings
from jobs.timelines.cluster_facts import day_of, days
from jobs.timelines.controllers import kraft_takeovers
from jobs.timelines.known_spans import span_around
from jobs.timelines.observations import number_of
from jobs.timelines.row_streams import map_rows
from jobs.timelines.topics import INCARNATION
from schemas.findings import VERDICTS
from schemas.spark import IDS
from udfs.kafka.verdict_rows import Releases, controller_verdicts, election_verdicts, state_verdicts
from udfs.kafka.verdicts_columns import doubt, unclean_enabled, was_certainly_so

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DECISION = [*INCARNATION, "at", "decision"]
"""Names one election: its partition, its time and its leader epoch, -1 if it failed."""


def to_verdicts(
    elections: DataFrame,
    states: DataFrame,
    controllers: DataFrame,
    brokers: DataFrame,
    known_spans: DataFrame,
    events: DataFrame,
    shows_elr: DataFrame,
    releases: Releases,
    settings: Settings,
) -> DataFrame:
    """ELECTIONS, PARTITION_TIMELINE, CONTROLLER_TIMELINE, BROKER_TIMELINE -> VERDICTS.

    `known_spans`: rows of `to_known_spans` by cluster, when comings and goings of brokers would have been logged;
    `shows_elr`: see `showing_elr`; `releases`: by cluster the release and whether it ran KRaft; decisions of a cluster
    without one stay unjudged.
    """
    # a cluster in migration decides by other algorithms from the takeover on
    takeovers = kraft_takeovers(controllers)
    of_cluster = F.broadcast(shows_elr.withColumn("shows_elr", F.lit(True)).join(takeovers, "cluster", "full"))
    inputs = to_election_inputs(elections.join(of_cluster, "cluster", "left"), brokers, known_spans, events, settings)
    caused = to_caused_states(states.join(of_cluster, "cluster", "left"), elections)
    terms = controllers.repartition("cluster").sortWithinPartitions(
        "cluster", "cluster_incarnation", "mode", "since", "controller_epoch"
    )
    return (
        map_rows(inputs, lambda rows: election_verdicts(rows, releases), VERDICTS.schema)
        .unionByName(map_rows(caused, lambda rows: state_verdicts(rows, releases), VERDICTS.schema))
        .unionByName(map_rows(terms, controller_verdicts, VERDICTS.schema))
    )


def showing_elr(states: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE -> `cluster` of those in which any state has eligible leader replicas."""
    return states.where("size(elr) > 0 OR size(last_known_elr) > 0").select("cluster").distinct()


def to_caused_states(states: DataFrame, elections: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE, ELECTIONS -> states in stored order, each first of a leader epoch with its election.

    PARTITION_TIMELINE's columns, and null for other states: `trigger`, `live_brokers`. Incarnations stay together.
    """
    trigger = F.when(F.col("strategy") == "none", "epoch_refresh").otherwise(F.col("strategy"))
    causes = elections.where("succeeded").select(*INCARNATION, "leader_epoch", trigger.alias("trigger"), "live_brokers")
    first = states.groupBy(*INCARNATION, "leader_epoch").agg(F.min("ordinal").alias("ordinal"))
    caused = first.join(causes, [*INCARNATION, "leader_epoch"])
    rows = states.join(caused, [*INCARNATION, "leader_epoch", "ordinal"], "left")
    return rows.repartition(*INCARNATION).sortWithinPartitions(*INCARNATION, "ordinal")


def to_election_inputs(
    elections: DataFrame, brokers: DataFrame, known_spans: DataFrame, events: DataFrame, settings: Settings
) -> DataFrame:
    """ELECTIONS, BROKER_TIMELINE, EVENTS -> elections with the rest of what the controller decided by.

    Adds `possibly_online`, `certainly_online` (never null) and `unclean_enabled` (null unknown); `live_brokers` is
    filled from registrations where the controller did not log it, `shutting_down` with none.
    """
    none = F.array().cast(IDS)
    decisions = elections.withColumn("decision", F.coalesce("leader_epoch", F.lit(-1)))
    by_topic = {
        name: topic.unclean_leader_election_enable
        for name, topic in settings.topics.items()
        if topic.unclean_leader_election_enable is not None
    }
    joined = decisions.join(_registered(decisions, brokers, known_spans), DECISION, "left").join(
        _on_failed_directories(decisions, events), DECISION, "left"
    )
    return joined.withColumns(
        {
            "live_brokers": F.coalesce("live_brokers", "possible"),
            "possibly_online": F.coalesce("live_brokers", "possible", none),
            "certainly_online": F.array_except(
                F.coalesce("live_brokers", "certain", none), F.coalesce("on_failed_dir", none)
            ),
            "shutting_down": F.coalesce("shutting_down", none),
            "unclean_enabled": unclean_enabled(F.col("topic"), settings.unclean_leader_election_enable, by_topic),
        }
    )


def _on_failed_directories(decisions: DataFrame, events: DataFrame) -> DataFrame:
    """Elections, EVENTS -> DECISION, `on_failed_dir`: brokers on which the replica had been marked offline by then."""
    marked = (
        events.where("event_type = 'replicas_marked_offline' AND partitions IS NOT NULL")
        .select(
            "cluster",
            F.explode("partitions").alias("p"),
            F.coalesce("broker_id", number_of("broker")).alias("b"),
            F.col("at").alias("marked_at"),
        )
        .select("cluster", F.col("p.topic").alias("topic"), F.col("p.partition").alias("partition"), "b", "marked_at")
    )
    return (
        decisions.join(marked, ["cluster", "topic", "partition"])
        .where("marked_at <= at")
        .groupBy(*DECISION)
        .agg(F.collect_set("b").alias("on_failed_dir"))
    )


def _registered(decisions: DataFrame, brokers: DataFrame, known_spans: DataFrame) -> DataFrame:
    """Elections, BROKER_TIMELINE, spans -> DECISION, `possible`, `certain`: replicas that may have been registered
    then, and those that were.

    A broker that came or went before a hole in the controllers' logs, and one of which they say nothing, may have been
    there or not. Elections are left out if nothing is known of any replica.
    """
    last = F.broadcast(decisions.groupBy("cluster").agg(F.max("at").alias("last")))
    of_broker = Window.partitionBy("cluster", "broker").orderBy("since")
    times = brokers.select("cluster", "broker", "since", "until", F.lead("since").over(of_broker).alias("returned"))
    stays = times.select("cluster", "broker", F.lit(True).alias("is_up"), "since", "until").unionByName(
        times.where("until IS NOT NULL").select(
            "cluster",
            "broker",
            F.lit(False).alias("is_up"),
            F.col("until").alias("since"),
            F.col("returned").alias("until"),
        )
    )
    by_day = (
        stays.withColumnsRenamed({"since": "begin", "until": "end"})
        .join(last, "cluster")
        .withColumn("day", days(F.col("begin") - doubt(), F.greatest("begin", F.coalesce("end", "last")) + doubt()))
        .drop("last")
    )
    around = (
        decisions.select(*DECISION, "replicas", day_of("at").alias("day"), F.explode("replicas").alias("broker"))
        .join(F.broadcast(known_spans), "cluster", "left")
        .withColumn("known_since", span_around(F.col("at"))["since"])
        .join(F.broadcast(by_day), ["cluster", "broker", "day"], "left")
    )
    is_known = (F.col("begin") >= F.col("known_since")) & was_certainly_so(F.col("begin"), F.col("end"), F.col("at"))
    known = around.groupBy(*DECISION).agg(
        F.first("replicas").alias("replicas"),
        F.collect_set(F.when(is_known & F.col("is_up"), F.col("broker"))).alias("certain"),
        F.collect_set(F.when(is_known & ~F.col("is_up"), F.col("broker"))).alias("gone"),
    )
    return known.where("size(certain) > 0 OR size(gone) > 0").select(
        *DECISION, "certain", F.array_except("replicas", "gone").alias("possible")
    )
