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

from jobs.findings.node_stops import absences_from_isrs, was_absent
from jobs.timelines.row_streams import map_rows
from jobs.timelines.topics import INCARNATION
from schemas.incidents import INCIDENTS
from schemas.spark import CLUSTER, EVIDENCE_COLUMN, INT, LONG, TEXT, TIME, column
from udfs.incidents.incidents import incidents_of
from udfs.incidents.storms import shrink_storms

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

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
        column("how", TEXT, "How the node went."),
        column("ended_by", TEXT, "How the controller saw it."),
        column("began_after", TIME, "Its last line before."),
        column("noticed_at", TIME, "When the controller noticed."),
        column("started_at", TIME, "When a new process started."),
        column("topic", TEXT, "Topic."),
        column("partition", INT, "Partition."),
        column("ms", LONG, "How long it surely was, ms."),
        column("count", LONG, "How many."),
        column("lost_min", LONG, "Lost records, at least."),
        column("lost_max", LONG, "Lost records, at most."),
        column("healed_by", TEXT, "As in OFFLINE_PARTITIONS."),
        column("healed_by_broker", INT, "As in OFFLINE_PARTITIONS."),
        column("text", TEXT, "A name."),
        EVIDENCE_COLUMN,
    ]
)
_STORMS = T.StructType([FACTS[name] for name in ("cluster", "at", "until", "node", "role", "count", "evidence")])
SLACK = "INTERVAL 2 SECONDS"
"""What two nodes log about one thing may be so far apart."""
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
) -> DataFrame:
    """NODE_STOPS, LOG_DIR_FAILURES, OFFLINE_PARTITIONS with causes, ELECTIONS, REASSIGNMENTS, ISR_CHANGES,
    CONTROLLER_TIMELINE -> INCIDENTS; all of whole clusters."""
    small_stops = F.broadcast(stops)
    outage_facts = _outages(outages)
    kinds = [
        _stops(stops),
        _log_dirs(failures),
        outage_facts,
        _deletions(outages),
        _unclean(elections, outage_facts),
        _terms(controllers, small_stops),
        _blocked(reassignments, small_stops),
        _out_of_isr(isr_changes, small_stops),
        _storms(isr_changes, stops),
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


def _of_node(node: str, at: str) -> Column:
    """The key of what followed from a node's stop."""
    return F.concat_ws(" ", F.lit("node"), node, F.unix_micros(at))


def _together(prefix: str, by: Sequence[Column | str], at: str) -> Column:
    """A key for rows without a known cause: those of a group that follow each other closely have the same."""
    order = Window.partitionBy(*by).orderBy(at)
    is_first = F.coalesce(F.col(at) > F.lag(at).over(order) + F.expr(TOGETHER), F.lit(True))
    starts = F.when(is_first, F.col(at))
    start = F.max(starts).over(order.rangeBetween(Window.unboundedPreceding, Window.currentRow))
    return F.concat_ws(" ", F.lit(prefix), F.unix_micros(start))


def _stops(stops: DataFrame) -> DataFrame:
    return stops.select(
        "cluster",
        _of_node("node_id", "since").alias("incident"),
        F.lit("stop").alias("kind"),
        F.col("since").alias("at"),
        "until",
        F.col("node_id").alias("node"),
        *("role", "how", "ended_by", "began_after", "noticed_at", "started_at", "evidence"),
    )


def _log_dirs(failures: DataFrame) -> DataFrame:
    return failures.select(
        "cluster",
        F.concat_ws(" ", F.lit("dir"), "broker", F.unix_micros("at")).alias("incident"),
        F.lit("log_dir").alias("kind"),
        *("at", "until", "evidence"),
        F.col("broker").alias("node"),
        F.col("partitions_offline").alias("count"),
        F.col("log_dir").alias("text"),
    )


def _outages(outages: DataFrame) -> DataFrame:
    """OFFLINE_PARTITIONS -> facts with `incarnation`, each with the key of its cause."""
    key = (
        F.when(F.col("cause") == "topic_deletion", F.concat_ws(" ", F.lit("topic"), "topic", F.unix_micros("cause_at")))
        .when(F.col("cause") == "log_dir_failure", F.col("dir_key"))
        .when(F.col("cause").isNotNull(), _of_node("cause_broker", "cause_at"))
        .otherwise(F.col("together"))
    )
    keyed = outages.withColumns(
        {
            "dir_key": F.concat_ws(" ", F.lit("dir"), "cause_broker", F.unix_micros("cause_at")),
            "together": _together("lost", ["cluster", F.col("cause").isNull()], "since"),
        }
    )
    return keyed.select(
        *INCARNATION,
        key.alias("incident"),
        F.lit("outage").alias("kind"),
        F.col("since").alias("at"),
        F.col("ended_before").alias("until"),
        F.col("at_least_ms").alias("ms"),
        F.col("failed_elections").alias("count"),
        *("healed_by", "healed_by_broker", "evidence"),
    )


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


def _unclean(elections: DataFrame, outage_facts: DataFrame) -> DataFrame:
    """ELECTIONS, facts of outages -> unclean elections, with the outages that they ended, or by themselves."""
    ended = outage_facts.where("healed_by = 'unclean_election'").select(
        *INCARNATION, F.col("until").alias("at"), F.col("incident").alias("of_outage")
    )
    unclean = elections.where("unclean").select(
        *INCARNATION,
        "at",
        F.col("leader").alias("other"),
        F.col("last_leader").alias("node"),
        F.col("lost_records_min").alias("lost_min"),
        F.col("lost_records_max").alias("lost_max"),
        "evidence",
    )
    joined = unclean.join(F.broadcast(ended), [*INCARNATION, "at"], "left")
    alone = _together("unclean", ["cluster", F.col("of_outage").isNull()], "at")
    return joined.withColumns({"kind": F.lit("unclean"), "incident": F.coalesce("of_outage", alone)})


def _terms(controllers: DataFrame, stops: DataFrame) -> DataFrame:
    """CONTROLLER_TIMELINE, NODE_STOPS -> the end of each term, with the stop of its node or by itself."""
    order = Window.partitionBy("cluster", "cluster_incarnation", "mode").orderBy("controller_epoch", "since")
    slack = F.expr(SLACK)
    ended = controllers.withColumn("other", F.lead("controller_id").over(order)).where(
        "until IS NOT NULL AND active_since IS NOT NULL"
    )
    of_stops = stops.select(
        "cluster",
        F.col("node_id").alias("controller_id"),
        _of_node("node_id", "since").alias("of_stop"),
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
    return ends.select(
        "cluster",
        F.coalesce("of_stop", first).alias("incident"),
        F.lit("controller").alias("kind"),
        F.col("until").alias("at"),
        F.col("controller_id").alias("node"),
        F.when(F.col("other") != F.col("controller_id"), F.col("other")).alias("other"),
        F.col("controller_epoch").alias("count"),
        "evidence",
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
        F.col("until").alias("back_at"),
        _of_node("node_id", "since").alias("of_stop"),
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


def _out_of_isr(isr_changes: DataFrame, stops: DataFrame) -> DataFrame:
    """ISR_CHANGES, NODE_STOPS -> in how many partitions' ISR a broker was no longer, by its stops."""
    removed = isr_changes.where("kind = 'shrink'").select(*INCARNATION, "at", F.explode("removed").alias("node_id"))
    of_brokers = stops.where("role = 'broker'").select("cluster", "node_id", "since", "began_after", "until")
    begin = F.greatest(F.col("began_after"), F.col("since") - F.expr("INTERVAL 30 SECONDS")) - F.expr(SLACK)
    is_within = (F.col("at") >= begin) & (F.col("until").isNull() | (F.col("at") <= F.col("until")))
    return (
        removed.join(of_brokers, ["cluster", "node_id"])
        .where(is_within)
        .groupBy("cluster", "node_id", "since")
        .agg(F.countDistinct("topic", "partition").alias("count"))
        .select(
            "cluster",
            _of_node("node_id", "since").alias("incident"),
            F.lit("out_of_isr").alias("kind"),
            F.col("since").alias("at"),
            "count",
        )
    )


def _storms(isr_changes: DataFrame, stops: DataFrame) -> DataFrame:
    """ISR_CHANGES, NODE_STOPS -> shrink storms, but of brokers that were stopped: those belong to their stop."""
    moves = isr_changes.select(
        *INCARNATION, "ordinal", "at", "kind", "made_by", "leader",
        F.explode(F.concat("added", "removed")).alias("follower"),
        F.try_element_at("evidence", F.lit(1)).alias("proof"),
    )  # fmt: skip
    order = Window.partitionBy(*INCARNATION, "follower").orderBy("ordinal", F.desc("kind"))
    shrinks = (
        moves.withColumn("back_at", F.lead("at").over(order))
        .where("kind = 'shrink' AND made_by = 'leader'")
        .join(F.broadcast(absences_from_isrs(stops)), "cluster", "left")
        .where(~was_absent("follower"))
        .withColumn("leader_stops", was_absent("leader"))
        .select("cluster", "at", "topic", "partition", "follower", "leader", "leader_stops", "back_at", "proof.*")
    )
    in_order = shrinks.repartition("cluster").sortWithinPartitions("cluster", "at", "topic", "partition", "follower")
    key = F.concat_ws(" ", F.lit("storm"), "node", F.unix_micros("at"))
    storms = map_rows(in_order, shrink_storms, _STORMS)
    return storms.withColumns({"kind": F.lit("storm"), "incident": key})
