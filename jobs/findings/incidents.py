"""What went wrong: symptoms with one cause become one incident, told once.

Facts of all kinds get the key of their incident here: the stop of a node, a failed directory, a topic's deletion. What
they add up to, and the story, is worked out over each incident's rows in a stream (`udfs.incidents`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.checkpoints import checkpointed
from jobs.findings.node_stops import FAILED_START, RESTART
from jobs.findings.outage_causes import with_stop_around
from jobs.findings.outage_ends import with_ends
from jobs.findings.outages import takes_leader
from jobs.findings.shrink_storms import to_shrink_storms
from jobs.findings.stop_effects import SLACK, of_node, replicas_of_stops, term_ends
from jobs.timelines.row_streams import map_rows
from jobs.timelines.topics import INCARNATION
from schemas.incidents import INCIDENTS
from schemas.spark import CLUSTER, EVIDENCE, EVIDENCE_COLUMN, IDS, INT, LONG, TEXT, TIME, column
from udfs.incidents.incidents import incidents_of
from udfs.incidents.node_stops import LOG_DIR_FAILED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

AWAY = T.ArrayType(
    T.StructType([column("node", INT, "Broker."), column("since", LONG, "Since when, microseconds since 1970.")])
)
"""Other brokers that were away already as one went, those that had gone first before."""
FACTS = T.StructType(
    [
        CLUSTER,
        column("incident", TEXT, "What it belongs to."),
        column("kind", TEXT, "As in `udfs.incidents.symptoms`."),
        column("at", TIME, "When it was, or began."),
        column("until", TIME, "When it was over; null: it is not, or it took no time."),
        column("node", INT, "Node that it is about."),
        column("other", INT, "A second one: who was elected, or took over."),
        column("role", TEXT, "Of a stop, as in NODE_STOPS. So are the next ones."),
        column("how", TEXT, "How the node went; of a term's end LIVED_ON, or null."),
        column("ended_by", TEXT, "How the controller saw it."),
        column("began_after", TIME, "Its last line before."),
        column("noticed_at", TIME, "When the controller noticed."),
        column("started_at", TIME, "When a new process started; of a term's end when the next term began."),
        column("restarts", INT, "Of a stop how many more processes started before the node was back."),
        T.StructField("last_restart", RESTART),
        column("failed_starts", INT, "Of a stop how many processes could not start."),
        T.StructField("failed_start", FAILED_START),
        column("followed_at", TIME, "When the node's next stop began, if it was not back before."),
        column("topic", TEXT, "Topic."),
        column("partition", INT, "Partition."),
        column("ms", LONG, "How long it surely was, ms."),
        column("most_ms", LONG, "How long an outage that is over can have been, ms; null: no bound is known."),
        column("ended_at", TIME, "When an outage was over, if the line that shows it was logged then."),
        column("count", LONG, "How many."),
        column("ids", IDS, "The ISR as the leader was lost; of a failed election the brokers that were alive."),
        T.StructField("others", AWAY),
        column("lost_min", LONG, "Lost records, at least."),
        column("lost_max", LONG, "Lost records, at most."),
        column("healed_by", TEXT, "As in OFFLINE_PARTITIONS."),
        column("healed_by_broker", INT, "As in OFFLINE_PARTITIONS."),
        column("text", TEXT, "A name."),
        column("error", TEXT, "Of a stop, as in NODE_STOPS; of a log directory, as in LOG_DIR_FAILURES."),
        EVIDENCE_COLUMN,
        T.StructField("end_evidence", EVIDENCE),
    ]
)
"""`evidence` begins with the line that shows the fact best, `end_evidence` shows what ended an outage; null unknown."""
BLOCKED = "INTERVAL 5 SECONDS"
"""A reassignment that waits so long for a broker that is away is blocked by it."""
TOGETHER = "INTERVAL 10 SECONDS"
"""What has no known cause is one incident if no more is between."""


def to_incidents(
    stops: DataFrame,
    failures: DataFrame,
    outages: DataFrame,
    elections: DataFrame,
    reassignments: DataFrame,
    isr_changes: DataFrame,
    controllers: DataFrame,
    topics: DataFrame,
    events: DataFrame,
) -> DataFrame:
    """NODE_STOPS, LOG_DIR_FAILURES, OFFLINE_PARTITIONS with causes, ELECTIONS, REASSIGNMENTS, ISR_CHANGES,
    CONTROLLER_TIMELINE, TOPIC_TIMELINE, EVENTS -> INCIDENTS; all of whole clusters."""
    small_stops = F.broadcast(stops)
    dir_keys = F.broadcast(checkpointed(_dir_keys(failures, stops)))
    outage_facts = _outages(with_ends(outages, elections, topics), dir_keys)
    kinds = [
        _stops(stops),
        _log_dirs(failures, dir_keys),
        outage_facts,
        _deletions(outages),
        _elections(elections, outage_facts, stops),
        term_ends(controllers, small_stops, events),
        _blocked(reassignments, small_stops),
        replicas_of_stops(isr_changes, elections, small_stops),
        to_shrink_storms(isr_changes, stops).withColumns({"kind": F.lit("storm"), "incident": _of_storm()}),
    ]
    facts = reduce(lambda some, others: some.union(others), map(_as_facts, kinds))
    in_order = facts.repartition("cluster", "incident").sortWithinPartitions(
        "cluster", "incident", "at", "kind", "topic", "partition"
    )
    return map_rows(in_order, incidents_of, INCIDENTS.schema).select(*INCIDENTS.columns)


def _as_facts(rows: DataFrame) -> DataFrame:
    """FACTS, of rows with some of their columns."""
    own = {*rows.columns}
    return rows.select(
        *(
            (F.col(field.name) if field.name in own else F.lit(None)).cast(field.dataType).alias(field.name)
            for field in FACTS
        )
    )


def _together(prefix: str, by: Sequence[Column | str], at: str) -> Column:
    """A key for rows without a known cause: those of a group that follow each other closely have the same."""
    order = Window.partitionBy(*by).orderBy(at)
    is_first = F.coalesce(F.col(at) > F.lag(at).over(order) + F.expr(TOGETHER), F.lit(True))
    starts = F.when(is_first, F.col(at))
    start = F.max(starts).over(order.rangeBetween(Window.unboundedPreceding, Window.currentRow))
    return F.concat_ws(" ", F.lit(prefix), F.unix_micros(start))


def _stops(stops: DataFrame) -> DataFrame:
    before = Window.partitionBy("cluster").orderBy("since", "node_id").rowsBetween(-MOST_BEFORE, -1)
    until = F.least("until", "followed_at").alias("until")
    earlier = F.collect_list(F.struct(F.col("node_id").alias("node"), "since", until, "role")).over(before)
    return stops.select(
        "cluster",
        of_node("node_id", "since").alias("incident"),
        F.lit("stop").alias("kind"),
        F.col("since").alias("at"),
        "until",
        F.col("node_id").alias("node"),
        F.when(F.col("role") == "broker", _away(earlier)).alias("others"),
        *("role", "how", "ended_by", "began_after", "noticed_at", "started_at", "restarts", "last_restart"),
        *("failed_starts", "failed_start", "error"),
        *("followed_at", "evidence"),
    )


MOST_BEFORE = 100
"""Stops before one among which those are looked for that were not over yet."""


def _away(earlier: Column) -> Column:
    """Of stops before one: other brokers that were not back when it began."""

    def is_away(stop: Column) -> Column:
        is_other = (stop["role"] == "broker") & (stop["node"] != F.col("node_id"))
        return is_other & (stop["until"].isNull() | (stop["until"] > F.col("since")))

    return F.transform(F.filter(earlier, is_away), lambda stop: F.struct(stop["node"], F.unix_micros(stop["since"])))


def _dir_keys(failures: DataFrame, stops: DataFrame) -> DataFrame:
    """LOG_DIR_FAILURES, NODE_STOPS -> cluster, broker, at, and the key of what failed at a time, `dir_key`: the stop of
    its broker that it led to, which ends with the same start, or else a key of its own."""
    of_halts = stops.where(F.col("how") == LOG_DIR_FAILED).select(
        "cluster", F.col("node_id").alias("broker"), F.col("since").alias("at"), F.col("started_at").alias("until")
    )
    key = ["cluster", "broker", "at"]
    times = failures.select(*key, "until", "broker_halted").union(of_halts.withColumn("broker_halted", F.lit(True)))
    known = times.groupBy(*key).agg(F.min("until").alias("until"), F.max("broker_halted").alias("broker_halted"))
    halts = of_halts.withColumnRenamed("at", "halted_at")
    led_to = [*(F.col(f"k.{name}") == F.col(f"h.{name}") for name in key[:2]), F.expr("broker_halted")]
    apart = F.abs(F.unix_micros("halted_at") - F.unix_micros("at"))
    alone = F.concat_ws(" ", F.lit("dir"), "broker", F.unix_micros("at"))
    return (
        known.alias("k")
        .join(halts.alias("h"), [*led_to, F.col("k.until").eqNullSafe(F.col("h.until"))], "left")
        .select(*(f"k.{name}" for name in key), "halted_at")
        .groupBy(*key)
        .agg(F.min_by("halted_at", apart).alias("halted_at"))
        .select(
            *key, F.when(F.col("halted_at").isNull(), alone).otherwise(of_node("broker", "halted_at")).alias("dir_key")
        )
    )


def _log_dirs(failures: DataFrame, dir_keys: DataFrame) -> DataFrame:
    return failures.join(dir_keys, ["cluster", "broker", "at"]).select(
        "cluster",
        F.col("dir_key").alias("incident"),
        F.lit("log_dir").alias("kind"),
        *("at", "until", "evidence"),
        F.col("broker").alias("node"),
        F.col("partitions_offline").alias("count"),
        F.col("log_dir").alias("text"),
        "error",
    )


def _outages(outages: DataFrame, dir_keys: DataFrame) -> DataFrame:
    """OFFLINE_PARTITIONS with `end_evidence`, rows of `_dir_keys` -> facts with `incarnation` and their cause's key."""
    key = (
        F.when(F.col("cause") == "topic_deletion", F.concat_ws(" ", F.lit("topic"), "topic", F.unix_micros("cause_at")))
        .when(F.col("cause") == "log_dir_failure", F.col("dir_key"))
        .when(F.col("cause").isNotNull(), of_node("cause_broker", "cause_at"))
        .otherwise(F.col("together"))
    )
    of_cause = dir_keys.withColumnsRenamed({"broker": "cause_broker", "at": "cause_at"})
    together = _together("lost", ["cluster", F.col("cause").isNull()], "since")
    keyed = outages.withColumn("together", together).join(of_cause, ["cluster", "cause_broker", "cause_at"], "left")
    return keyed.select(
        *INCARNATION,
        key.alias("incident"),
        F.lit("outage").alias("kind"),
        F.col("since").alias("at"),
        F.col("ended_before").alias("until"),
        F.col("at_least_ms").alias("ms"),
        F.coalesce("duration_ms", "at_most_ms").alias("most_ms"),
        F.col("until").alias("ended_at"),
        F.col("failed_elections").alias("count"),
        F.col("last_isr").alias("ids"),
        _proof_first().alias("evidence"),
        *("healed_by", "healed_by_broker", "end_evidence"),
    )


def _proof_first() -> Column:
    """The evidence of an outage, those lines first that show its cause, too: others may be of a state before."""
    shows_cause = F.array_intersect("evidence", F.coalesce("cause_evidence", F.array().cast(EVIDENCE)))
    return F.array_distinct(F.concat(shows_cause, "evidence"))


def _deletions(outages: DataFrame) -> DataFrame:
    return (
        outages.where("cause = 'topic_deletion'")
        .groupBy("cluster", "topic", "cause_at")
        .agg(F.min("cause_evidence").alias("evidence"))
        .select(
            "cluster",
            F.concat_ws(" ", F.lit("topic"), "topic", F.unix_micros("cause_at")).alias("incident"),
            F.lit("deletion").alias("kind"),
            F.col("cause_at").alias("at"),
            *("topic", "evidence"),
        )
    )


def _elections(elections: DataFrame, outage_facts: DataFrame, stops: DataFrame) -> DataFrame:
    """ELECTIONS, facts of outages, NODE_STOPS -> unclean elections, with the outages that they ended, else with the
    stop of the leader that was lost, or by themselves; and those that failed in an outage, or right before it."""
    of_outages = outage_facts.select(
        *INCARNATION, F.col("at").alias("lost_at"), "until", "healed_by", F.col("incident").alias("of_outage")
    )
    known = elections.where("unclean OR NOT succeeded").select(
        *INCARNATION,
        "at",
        F.when(F.col("succeeded"), "unclean").otherwise("failed").alias("kind"),
        F.col("leader").alias("other"),
        F.col("last_leader").alias("node"),
        F.col("live_brokers").alias("ids"),
        F.col("lost_records_min").alias("lost_min"),
        F.col("lost_records_max").alias("lost_max"),
        "previous_leader",
        "strategy",
        "evidence",
    )
    ends = (F.col("kind") == "unclean") & (F.col("healed_by") == "unclean_election") & (F.col("until") == F.col("at"))
    begin = F.when(takes_leader(), F.col("lost_at") - F.expr(SLACK)).otherwise(F.col("lost_at"))
    within = (F.col("at") >= begin) & (F.col("until").isNull() | (F.col("at") <= F.col("until")))
    of_one = F.when(F.col("kind") == "unclean", ends).otherwise(within)
    joined = (
        known.alias("e")
        .join(
            of_outages.alias("o"),
            [F.col(f"e.{name}") == F.col(f"o.{name}") for name in INCARNATION] + [of_one],
            "left",
        )
        .select("e.*", "of_outage")
        .where("kind = 'unclean' OR of_outage IS NOT NULL")
    )
    alone = _together("unclean", ["cluster", F.col("of_outage").isNull()], "at")
    of_stop = F.when(F.col("stopped").isNotNull(), of_node("node", "stopped"))
    return (
        with_stop_around(joined, stops, F.col("node"), "stopped")
        .withColumn("incident", F.coalesce("of_outage", of_stop, alone))
        .drop("stopped", "strategy")
    )


def _blocked(reassignments: DataFrame, stops: DataFrame) -> DataFrame:
    """REASSIGNMENTS, NODE_STOPS -> those that waited for a broker that was away, or are stuck for another reason."""
    wanted = reassignments.withColumn(
        "broker",
        F.explode(F.array_except("target_replicas", F.coalesce("original_replicas", F.array().cast("array<int>")))),
    )
    of_stops = stops.where("role = 'broker'").select(
        "cluster",
        F.col("node_id").alias("broker"),
        F.col("since").alias("stopped"),
        F.least("until", "followed_at").alias("back_at"),
        of_node("node_id", "since").alias("of_stop"),
    )
    begin = F.greatest("since", "stopped")
    end = F.least("until", "back_at")
    is_away = end.isNull() | (end > begin + F.expr(BLOCKED))
    waiting = (
        wanted.join(of_stops, ["cluster", "broker"])
        .where(is_away & (F.col("back_at").isNull() | (F.col("back_at") > F.col("since"))))
        .where(F.col("until").isNull() | (F.col("stopped") < F.col("until")))
        .where("until IS NOT NULL OR state = 'stuck' OR back_at IS NOT NULL")
    )
    key = [*INCARNATION, "since"]
    alone = reassignments.where("state = 'stuck'").join(waiting.select(*key).distinct(), key, "left_anti")
    columns: list[Column | str] = [*INCARNATION, F.lit("reassignment").alias("kind"), "evidence"]
    return waiting.select(
        *columns,
        F.col("of_stop").alias("incident"),
        begin.alias("at"),
        end.alias("until"),
        F.col("broker").alias("node"),
    ).unionByName(
        alone.select(
            *columns,
            F.concat_ws(" ", F.lit("stuck"), F.try_element_at("blocked_by", F.lit(1))).alias("incident"),
            F.col("since").alias("at"),
            F.lit(None).cast("timestamp").alias("until"),
            F.try_element_at("blocked_by", F.lit(1)).alias("node"),
        )
    )


def _of_storm() -> Column:
    return F.concat_ws(" ", F.lit("storm"), "node", F.unix_micros("at"))
