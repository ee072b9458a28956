"""The queries of a run's summary, over the published tables, by Spark; what their rows mean is in `summary_facts`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.nightly.summary_facts import (
    CHURN_ORDER,
    INCIDENT_ORDER,
    IS_ALONE,
    IS_DELETION,
    MOST,
    NAMED,
    NOTHING_KNOWN,
    NOTHING_NAMED,
    STREAM_COLUMNS,
    UNCLEAN_ORDER,
    WAIT_ORDER,
    ClusterSummary,
    Named,
    Row,
    summaries_of,
)
from jobs.nightly.wording import distinct_names
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse
from schemas.incidents import SEVERITIES
from schemas.kafka_values import UNDER_REPLICATED_STATES
from schemas.ledger import STEPS
from udfs.kafka.decision_rules import KINDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def summarize(
    warehouse: Warehouse,
    steps: Sequence[str] = STEPS,
    settings: Settings | None = None,
    known_until: Mapping[str, datetime] = NOTHING_KNOWN,
    named: Named = NOTHING_NAMED,
) -> list[ClusterSummary]:
    """The facts of every cluster in the published tables that some steps write, a bounded number of rows of each."""
    tables = [name for name, (writers, _) in _QUERIES.items() if {*writers} & {*steps}]
    tables += [name for name, (step, _, _) in _OF_SEVERAL.items() if step in steps]
    known = F.lit(None).cast("timestamp_ntz")
    for cluster, until in sorted(known_until.items()):
        known = F.when(F.col("cluster") == cluster, F.lit(until).cast("timestamp_ntz")).otherwise(known)

    def collect(name: str) -> list[Row]:
        if name in _OF_SEVERAL:
            _, read, query = _OF_SEVERAL[name]
            return [row.asDict() for row in query(*map(warehouse.read, read)).collect()]
        rows = warehouse.read(name)
        rows = with_named(rows.withColumn("known_until", known), name, named) if name in NAMED else rows
        return [row.asDict(recursive=True) for row in _QUERIES[name][1](rows).drop(*_OF_NEWS).collect()]

    with ThreadPoolExecutor(4) as pool:
        rows_by_table = dict(zip(tables, pool.map(collect, tables), strict=True))
    return summaries_of(rows_by_table, settings or Settings(), known_until)


_OF_NEWS = ("known_until", "is_named")


def with_named(rows: DataFrame, table: str, named: Named) -> DataFrame:
    """Rows of a table with `is_named`: whether they were named before."""
    if not named.get(table):
        return rows.withColumn("is_named", F.lit(False))
    keys = ("cluster", *NAMED[table][2])
    before = F.broadcast(rows.sparkSession.createDataFrame([*named[table]], rows.select(*keys).schema))
    is_same = reduce(and_, (rows[key].eqNullSafe(before[key]) for key in keys))
    others = rows.join(before, is_same, "left_anti").withColumn("is_named", F.lit(False))
    return rows.join(before, is_same, "left_semi").withColumn("is_named", F.lit(True)).unionByName(others)


def _first(rows: DataFrame, order: str, most: int = MOST, by: str = "cluster") -> DataFrame:
    """The first rows of each cluster (or of what `by` names), with `nth`, from 1, and `total`, the number there are."""
    return rows.selectExpr(
        "*",
        f"row_number() OVER (PARTITION BY {by} ORDER BY {order}) AS nth",
        "count(*) OVER (PARTITION BY cluster) AS total",
    ).where(F.col("nth") <= most)


def _is_new(time: str) -> Column:
    """Whether a row is later than what was known, or open, and was not named before."""
    return F.coalesce(F.col(time) > F.col("known_until"), F.lit(True)) & ~F.col("is_named")


def _count() -> Column:
    return F.count(F.lit(1)).alias("total")


def _sum(condition: Column) -> Column:
    """In how many rows a condition holds; null where it is never known."""
    return F.sum(condition.cast("int"))


def _streams(log_files: DataFrame) -> DataFrame:
    return log_files.select(*STREAM_COLUMNS)


def _terms(controller_timeline: DataFrame) -> DataFrame:
    # KRaft's terms follow those of ZooKeeper, whatever their epochs
    return _first(controller_timeline, "cluster_incarnation DESC, mode NULLS LAST, controller_epoch DESC", MOST + 1)


def _state_counts(partition_timeline: DataFrame) -> DataFrame:
    return partition_timeline.groupBy("cluster").agg(
        F.count(F.lit(1)).alias("states"),
        F.countDistinct("topic", "partition").alias("partitions"),
        F.countDistinct("topic").alias("topics"),
        _sum(F.col("inferred")).alias("inferred"),
        F.sum("missing_before").alias("missing"),
        _sum(F.col("until").isNull()).alias("current"),
    )


def _leaders_at_end(partition_timeline: DataFrame, offline_partitions: DataFrame) -> DataFrame:
    """By broker what it leads at the end: alone in sync, under-replicated. One that is dead and still leads in
    ZooKeeper leads nothing."""
    without_leader = offline_partitions.where("ended_before IS NULL")
    led = partition_timeline.where("until IS NULL AND leader >= 0").join(
        without_leader, ["cluster", "topic", "partition"], "left_anti"
    )
    is_alone, has_others = F.expr(IS_ALONE.format(size="size")), F.size("replicas") > 1
    places = F.array_sort(F.collect_list(F.when(is_alone & has_others, F.struct("topic", "partition"))))
    return led.groupBy("cluster", F.col("leader").alias("broker")).agg(
        F.count_if(is_alone & has_others).alias("alone"),
        F.count_if(is_alone & ~has_others).alias("unreplicated"),
        F.count_if(F.col("availability").isin(*UNDER_REPLICATED_STATES)).alias("under_replicated"),
        F.transform(F.slice(places, 1, MOST), lambda p: F.concat_ws("-", p["topic"], p["partition"])).alias("names"),
    )


def _first_leader_waits(elections: DataFrame, partition_timeline: DataFrame, topic_timeline: DataFrame) -> DataFrame:
    """New partitions that have no state at the end, though elections for a first leader failed, and are not to be
    deleted."""
    topic = ["cluster", "topic", "incarnation"]
    failed = elections.where("strategy = 'new' AND NOT succeeded")
    waiting = failed.join(partition_timeline, [*topic, "partition"], "left_anti")
    deleted = topic_timeline.where("coalesce(deletion_started, until) IS NOT NULL")
    waits = waiting.join(deleted, topic, "left_anti").groupBy(*topic, "partition").agg(F.min("at").alias("since"))
    return _first(waits, WAIT_ORDER)


def _printed_releases(events: DataFrame) -> DataFrame:
    """What nodes printed as they started."""
    release = F.col("fields")["kafka_version"].alias("release")
    starts = events.where("event_type = 'kafka_version'").select("cluster", release)
    return starts.where("release IS NOT NULL").distinct()


def _registered_brokers(broker_timeline: DataFrame, partition_timeline: DataFrame) -> DataFrame:
    """Brokers that a controller registered and that a partition is on: the number of one damaged line is none."""
    on = partition_timeline.select("cluster", F.explode(F.coalesce("replicas", "isr")).alias("broker")).distinct()
    return broker_timeline.select("cluster", "broker").distinct().join(on, ["cluster", "broker"], "left_semi")


def _clocks(clock_offsets: DataFrame) -> DataFrame:
    return clock_offsets.groupBy("cluster", "node_id").agg(
        F.sum("pairs").alias("pairs"),
        F.max("reference").alias("reference"),
        F.max("contradicting").alias("contradicting"),
        F.max(F.size("applied") > 0).alias("corrected"),
        F.min(F.array_min("applied.ahead_ms")).alias("from_ms"),
        F.max(F.array_max("applied.ahead_ms")).alias("to_ms"),
    )


def _request_counts(control_requests: DataFrame) -> DataFrame:
    is_only_sent = F.col("received_at").isNull() & F.col("responded_at").isNull()
    return control_requests.groupBy("cluster", "kind").agg(
        _count(),
        _sum(F.col("stale")).alias("stale"),
        _sum(F.col("error") != "NONE").alias("failed"),
        F.max("round_trip_ms").alias("slowest_ms"),
        _sum(is_only_sent).alias("only_sent"),
        _sum(F.col("sent_at").isNotNull() & F.col("partitions").isNotNull()).alias("traced"),
    )


def _contradictions(contradictions: DataFrame) -> DataFrame:
    return _first(contradictions, "at, topic, partition")


def _elections(elections: DataFrame) -> DataFrame:
    """The first new unclean elections, and, with `nth` null, how many there are of each kind."""
    rows = elections.withColumn("is_new", _is_new("at"))
    counts = rows.groupBy("cluster", "succeeded", "unclean", "is_new").agg(
        _count(),
        F.sum("lost_records_min").alias("lost_min"),
        F.sum("lost_records_max").alias("lost_max"),
        _sum(F.col("lost_records_max").isNull()).alias("unbounded"),
        _sum(F.col("leader") == F.col("last_leader")).alias("led_on"),
    )
    first = _first(rows.where("unclean AND is_new"), UNCLEAN_ORDER.format(at="at"))
    return first.unionByName(counts, allowMissingColumns=True)


def _outages(offline_partitions: DataFrame) -> DataFrame:
    """The first outages that are open, the first that are new and ended, and, with `nth` null, how many there are."""
    is_deletion = F.expr(IS_DELETION)
    rows = offline_partitions.select(
        "*",
        _is_new("ended_before").alias("is_new"),
        is_deletion.alias("is_deletion"),
    )
    is_counted = ~F.col("is_deletion")
    is_open = is_counted & F.col("ended_before").isNull()
    is_shutdown = is_open & (F.col("cause") == "controlled_shutdown")
    counts = rows.groupBy("cluster").agg(
        _sum(is_counted).alias("total"),
        _sum(is_open).alias("open_total"),
        _sum(is_shutdown).alias("shutdown_total"),
        F.array_sort(F.collect_set(F.when(is_shutdown, F.col("cause_broker")))).alias("shutdown_brokers"),
        _sum(is_counted & F.col("is_new")).alias("new_total"),
        _sum(~is_counted & F.col("is_new")).alias("deletion_total"),
        _sum(~is_counted & F.col("ended_before").isNull()).alias("deleting_total"),
    )
    order = "at_least_ms DESC NULLS LAST, since, topic, partition"
    first = _first(rows.where("is_new AND NOT is_deletion"), order, by="cluster, ended_before IS NULL")
    return first.unionByName(counts, allowMissingColumns=True)


def _incidents(incidents: DataFrame) -> DataFrame:
    """The worst incidents that are open or new, and, with `nth` null, how many are of each severity, and how many of
    these are open since before."""
    is_open = F.col("until").isNull()
    was_known = F.coalesce(F.col("since") <= F.col("known_until"), F.lit(False)) | F.col("is_named")
    new = incidents.where(is_open | _is_new("until")).select("*", (is_open & was_known).alias("is_older"))
    counts = new.groupBy("cluster", "severity").agg(_count(), _sum(F.col("is_older")).alias("older_total"))
    rank = f"array_position(array({', '.join(map(repr, SEVERITIES))}), severity)"
    first = _first(new.where("severity <> 'info'"), INCIDENT_ORDER.format(rank=rank))
    return first.unionByName(counts, allowMissingColumns=True)


def _churn(isr_churn: DataFrame) -> DataFrame:
    totals = isr_churn.groupBy("cluster").agg(
        _sum(F.col("churning")).alias("churning_total"), F.sum(F.col("shrinks") + F.col("expands")).alias("changes")
    )
    return _first(isr_churn, CHURN_ORDER, 3).join(totals, "cluster")


def _reassignments(reassignments: DataFrame) -> DataFrame:
    return reassignments.groupBy("cluster", "state").agg(_count())


def _verdicts(verdicts: DataFrame) -> DataFrame:
    """The first new violations, and, with `nth` null, how many there are of each verdict and kind of rule."""
    kind = F.lit("invariants")
    for name, rules in KINDS.items():
        kind = F.when(F.col("rule").isin([rule.name for rule in rules]), name).otherwise(kind)
    counts = verdicts.groupBy("cluster", kind.alias("kind"), "verdict").agg(_count())
    first = _first(verdicts.where("verdict = 'violated'").where(_is_new("at")), "at, rule, subject")
    return first.unionByName(counts, allowMissingColumns=True)


def _rejects(rejects: DataFrame) -> DataFrame:
    """The most frequent kinds of messages that no rule knows, with the place of the first of each."""
    by_signature = rejects.groupBy("cluster", F.coalesce("signature", "reason").alias("signature")).agg(
        F.count(F.lit(1)).alias("count"), F.min(F.struct("at", "file_id", "line")).alias("first")
    )
    return _first(by_signature, "count DESC, signature")


def _coverage(log_coverage: DataFrame) -> DataFrame:
    return log_coverage


_QUERIES: Mapping[str, tuple[Sequence[str], Callable[[DataFrame], DataFrame]]] = {
    "log_files": (STEPS, _streams),
    "controller_timeline": (("timelines",), _terms),
    "partition_timeline": (("timelines",), _state_counts),
    "clock_offsets": (("timelines",), _clocks),
    "control_requests": (("timelines",), _request_counts),
    "contradictions": (("timelines",), _contradictions),
    "elections": (("detect",), _elections),
    "offline_partitions": (("detect",), _outages),
    "incidents": (("detect",), _incidents),
    "isr_churn": (("detect",), _churn),
    "reassignments": (("detect",), _reassignments),
    "verdicts": (("replay",), _verdicts),
    "rejects": (("ingest",), _rejects),
    "log_coverage": (("ingest",), _coverage),
}
"""By table the steps whose summary reads it, and what it reads."""
_OF_SEVERAL: Mapping[str, tuple[str, Sequence[str], Callable[..., DataFrame]]] = {
    "leaders_at_end": ("detect", ("partition_timeline", "offline_partitions"), _leaders_at_end),
    "first_leader_waits": ("detect", ("elections", "partition_timeline", "topic_timeline"), _first_leader_waits),
    "printed_releases": ("ingest", ("events",), _printed_releases),
    "registered_brokers": ("timelines", ("broker_timeline", "partition_timeline"), _registered_brokers),
}
"""By what is asked of several tables, or of one once more, the step whose summary tells it, the tables, the query."""


def frequent_rejects(warehouse: Warehouse, clusters: Sequence[str]) -> list[Row]:
    """Of some clusters the most frequent rejects as they were written last, published or not, with the `place` of the
    first of each kind."""
    streams = warehouse.newest("log_files").select("file_id", "path").collect()
    names = distinct_names(row["path"] for row in streams)
    paths = {row["file_id"]: names[row["path"]] for row in streams}
    rejects = _rejects(warehouse.newest("rejects").where(F.col("cluster").isin(*clusters))).collect()
    rows = [row.asDict(recursive=True) for row in rejects]
    placed = [{**row, "place": f"{paths[row['first']['file_id']]}:{row['first']['line']}"} for row in rows]
    return sorted(placed, key=lambda row: (row["cluster"], row["nth"]))
