"""Replay: each logged decision against the algorithm of its Kafka release, and each partition's states against the invariants.

Rows stream through plain functions in the workers, sorted where order matters; nothing is grouped by Python.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from jobs.settings import Settings
from jobs.timelines.clocks import time_of
from jobs.timelines.cluster_facts import day_of, days
from jobs.timelines.observations import number_of
from jobs.timelines.row_streams import RowStream, map_rows
from jobs.timelines.topics import INCARNATION
from schemas.findings import VERDICTS
from schemas.spark import IDS
from udfs.kafka.invariants import Cluster, check_controllers, explain
from udfs.kafka.releases import Release
from udfs.kafka.verdicts import Verdict, judge_election, judge_states

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DOUBT_MS = 2000
"""How far a broker's coming or going may lie from a KRaft election for it to be in doubt: records are logged up to 0.5 s late."""


def release_of(ranges: list[str | None]) -> Release | None:
    """The release whose algorithms a cluster ran: the lowest that all its streams' messages allow; None if none tells."""
    lowest = [Release.parse(r.split("..")[0]) for r in ranges if r]
    return max(lowest) if lowest else None


def releases(log_files: DataFrame, events: DataFrame) -> dict[str, tuple[str, bool]]:
    """By cluster the Kafka release whose algorithms it ran, and whether it ran KRaft, from its streams' messages."""
    kraft = events.where("logger LIKE 'org.apache.kafka.controller%' OR logger = 'kafka-dump-log'")
    by_kraft = {row["cluster"] for row in kraft.select("cluster").distinct().collect()}
    ranges: dict[str, list[str | None]] = {}
    for row in log_files.select("cluster", "kafka_versions").collect():
        ranges.setdefault(row["cluster"], []).append(row["kafka_versions"])
    found = {name: release_of(of) for name, of in ranges.items()}
    return {name: (str(release), name in by_kraft) for name, release in found.items() if release is not None}


def to_verdicts(
    elections: DataFrame,
    states: DataFrame,
    controllers: DataFrame,
    brokers: DataFrame,
    events: DataFrame,
    shows_elr: DataFrame,
    releases: dict[str, tuple[str, bool]],
    settings: Settings,
) -> DataFrame:
    """ELECTIONS, PARTITION_TIMELINE, CONTROLLER_TIMELINE, BROKER_TIMELINE -> VERDICTS.

    `shows_elr`: see `showing_elr`; `releases`: by cluster the release and whether it ran KRaft; decisions of a cluster without one
    stay unjudged.
    """
    with_elr = F.broadcast(shows_elr.withColumn("shows_elr", F.lit(True)))
    judged = _election_verdicts(elections.join(with_elr, "cluster", "left"), brokers, events, releases, settings)
    kept = _state_verdicts(states.join(with_elr, "cluster", "left"), elections, releases)
    return judged.unionByName(kept).unionByName(_controller_verdicts(controllers, releases))


def showing_elr(states: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE -> `cluster` of those in which any state has eligible leader replicas."""
    return states.where("size(elr) > 0 OR size(last_known_elr) > 0").select("cluster").distinct()


def eras_of(release: str, is_kraft: bool, shows_elr: bool | None) -> tuple[Release, bool]:
    """The release to judge by, and whether eligible leader replicas are on: from 4.1, or where any state shows some (3.7 on).

    >>> [(str(release), elr) for release, elr in (eras_of("3.0", True, True), eras_of("4.1", True, None))]
    [('3.7', True), ('4.1', True)]
    """
    lowest = Release.parse(release)
    if is_kraft and shows_elr:
        return max(lowest, Release(3, 7)), True
    return lowest, is_kraft and lowest >= Release(4, 1)


JUDGED_BY_ELR = ("J8", "J9", "J11")
"""Invariants that ask who was eligible: in the ISR, or an eligible leader replica."""


def without_elr(verdict: Verdict, missing: str = "elr_before") -> Verdict:
    """The verdict where nobody tells the eligible leader replicas: a leader outside the ISR may have been one of them.

    >>> without_elr(Verdict("J9", "violated", "a", "b", (), "c")).missing
    ('elr_before',)
    """
    if verdict.verdict != "violated":
        return verdict
    told = f"{verdict.rule} is unknown: {missing} is not told; {verdict.actual} was logged"
    return replace(verdict, verdict="unknown", missing=(missing,), explanation=told)


def _row(given: dict[str, Any], verdict: Verdict, subject: str, at: Any) -> dict[str, Any]:
    return {
        "cluster": given["cluster"],
        "rule": verdict.rule,
        "subject": subject,
        "topic": given.get("topic"),
        "partition": given.get("partition"),
        "at": at,
        "verdict": verdict.verdict,
        "expected": verdict.expected,
        "actual": verdict.actual,
        "missing_inputs": list(verdict.missing),
        "explanation": verdict.explanation,
        "evidence": given["evidence"],
    }


# ---- elections ------------------------------------------------------------------------------------------------------
def unclean_setting(settings: Settings) -> Column:
    """Whether a topic allows unclean elections, as far as the settings tell; null unknown."""
    value = F.lit(settings.unclean_leader_election_enable).cast("boolean")
    for topic, told in settings.topics.items():
        if told.unclean_leader_election_enable is not None:
            value = F.when(F.col("topic") == topic, F.lit(told.unclean_leader_election_enable)).otherwise(value)
    return value


def _election_verdicts(
    elections: DataFrame,
    brokers: DataFrame,
    events: DataFrame,
    releases: dict[str, tuple[str, bool]],
    settings: Settings,
) -> DataFrame:
    """ELECTIONS -> VERDICTS; failed ones get the state before from nobody, and are judged by their replicas if known."""
    none = F.array().cast(IDS)
    offline_dirs = (
        events.where("event_type = 'replicas_marked_offline' AND partitions IS NOT NULL")
        .select(
            "cluster",
            F.explode("partitions").alias("p"),
            F.coalesce("broker_id", number_of("broker")).alias("b"),
            F.col("at").alias("marked_at"),
        )
        .select("cluster", F.col("p.topic").alias("topic"), F.col("p.partition").alias("partition"), "b", "marked_at")
    )
    decisions = elections.withColumn("decision", F.coalesce("leader_epoch", F.lit(-1)))
    key = [*INCARNATION, "at", "decision"]
    doubtful = (
        decisions.join(offline_dirs, ["cluster", "topic", "partition"])
        .where("marked_at <= at")
        .groupBy(*key)
        .agg(F.collect_set("b").alias("on_failed_dir"))
    )
    margin = F.expr(f"INTERVAL {DOUBT_MS} MILLISECONDS")
    last = F.broadcast(decisions.groupBy("cluster").agg(F.max("at").alias("last")))
    ended = F.greatest("up", F.coalesce("down", "last"))
    spans = (
        brokers.select("cluster", "broker", F.col("since").alias("up"), F.col("until").alias("down"))
        .join(last, "cluster")
        .select("cluster", "broker", "up", "down", days(F.col("up") - margin, ended + margin).alias("day"))
    )
    around = (  # of replicas that are known as brokers: of others nobody says when they were there
        decisions.select(*key, day_of("at").alias("day"), F.explode("replicas").alias("broker"))
        .join(F.broadcast(brokers.select("cluster", "broker").distinct()), ["cluster", "broker"])
        .join(F.broadcast(spans), ["cluster", "broker", "day"], "left")
    )
    overlaps = (F.col("up") <= F.col("at") + margin) & (
        F.col("down").isNull() | (F.col("down") >= F.col("at") - margin)
    )
    covers = (F.col("up") <= F.col("at") - margin) & (F.col("down").isNull() | (F.col("down") >= F.col("at") + margin))
    by_span = around.groupBy(*key).agg(
        F.collect_set(F.when(overlaps, F.col("broker"))).alias("possible"),
        F.collect_set(F.when(covers, F.col("broker"))).alias("certain"),
    )
    given = decisions.join(by_span, key, "left").join(doubtful, key, "left")
    told = given.withColumns(
        {
            "live_brokers": F.coalesce("live_brokers", "possible"),
            "possibly_online": F.coalesce("live_brokers", "possible", none),
            "certainly_online": F.array_except(
                F.coalesce("live_brokers", "certain", none), F.coalesce("on_failed_dir", none)
            ),
            "shutting_down": F.coalesce("shutting_down", none),
            "unclean_enabled": unclean_setting(settings),
        }
    )

    def work(rows: RowStream) -> RowStream:
        for row in rows:
            release, kraft = releases.get(row["cluster"], (None, False))
            if release is None:
                continue
            era, elr = eras_of(release, kraft, row["shows_elr"])
            verdict = judge_election(row, era, is_kraft=kraft, elr_enabled=elr)
            if elr and row["elr_before"] is None:
                verdict = without_elr(verdict)
            elif elr and not row["isr_before"] and not row["elr_before"]:
                verdict = without_elr(verdict, "last_known_elr")  # with both empty the last known leader may be elected
            won, at = f"leader epoch {row['leader_epoch']}", row["at"]
            epoch = won if row["succeeded"] else f"failed at {time_of(at):%F %H:%M:%S.%f}"
            subject = f"{row['topic']}-{row['partition']}#{row['incarnation']} {epoch}"
            yield _row(row, verdict, subject, at)

    return map_rows(told, work, VERDICTS.schema)


# ---- invariants -----------------------------------------------------------------------------------------------------
def _state_verdicts(states: DataFrame, elections: DataFrame, releases: dict[str, tuple[str, bool]]) -> DataFrame:
    """PARTITION_TIMELINE, ELECTIONS -> VERDICTS: the invariants of neighbouring states."""
    trigger = F.when(F.col("strategy") == "none", "epoch_refresh").otherwise(F.col("strategy"))
    why = elections.where("succeeded").select(*INCARNATION, "leader_epoch", trigger.alias("trigger"), "live_brokers")
    first = states.groupBy(*INCARNATION, "leader_epoch").agg(F.min("ordinal").alias("ordinal"))
    marked = first.join(why, [*INCARNATION, "leader_epoch"])
    rows = states.join(marked, [*INCARNATION, "leader_epoch", "ordinal"], "left")
    ordered = rows.repartition(*INCARNATION).sortWithinPartitions(*INCARNATION, "ordinal")

    def work(rows: RowStream) -> RowStream:
        for _, life in groupby(rows, key=itemgetter(*INCARNATION)):
            yield from judge(list(life))

    def judge(life: list[dict[str, Any]]) -> RowStream:
        release, kraft = releases.get(life[0]["cluster"], (None, False))
        if release is None:
            return
        era, elr = eras_of(release, kraft, life[0]["shows_elr"])
        cluster = Cluster(era, kraft=kraft, elr_enabled=elr)
        for at, found in judge_states(cluster, life):
            row = life[at]
            unknown_elr = cluster.elr_enabled and at > 0 and life[at - 1]["elr"] is None
            verdict = without_elr(found) if unknown_elr and found.rule in JUDGED_BY_ELR else found
            epoch = row["partition_epoch"]
            place = f"epochs {row['leader_epoch']}.{epoch}" if epoch is not None else f"state {row['ordinal']}"
            subject = f"{row['topic']}-{row['partition']}#{row['incarnation']} {place}"
            yield _row(row, verdict, subject, row["since"])

    return map_rows(ordered, work, VERDICTS.schema)


def _controller_verdicts(controllers: DataFrame, releases: dict[str, tuple[str, bool]]) -> DataFrame:
    """CONTROLLER_TIMELINE -> VERDICTS: epochs rise and each belongs to one controller (J4, J5)."""
    ordered = controllers.repartition("cluster").sortWithinPartitions("cluster", "since", "controller_epoch")

    def work(rows: RowStream) -> RowStream:
        for _, reigns in groupby(rows, key=itemgetter("cluster")):
            claims = list(reigns)
            for f in check_controllers([(row["controller_epoch"], row["controller_id"]) for row in claims]):
                claim = claims[f.at]
                verdict = Verdict(f.rule, f.verdict, f.expected or None, f.actual or None, f.missing, explain(f))
                subject = f"controller {claim['controller_id']} epoch {claim['controller_epoch']}"
                yield _row(claim, verdict, subject, claim["since"])

    return map_rows(ordered, work, VERDICTS.schema)
