"""A cluster at one moment, out of the published tables: what `describe` prints.

Spark picks the rows that hold at that moment; what they mean is in `udfs.describe.snapshot`,
`udfs.describe.kafka_topics` and `udfs.describe.controller_context`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from jobs.settings import Settings
from jobs.timelines.cluster_facts import is_assignment_write, is_new_assignment
from jobs.timelines.controllers import by_active_controller
from jobs.timelines.kafka_releases import releases
from jobs.timelines.observations import number_of
from jobs.timelines.topics import INCARNATION
from udfs.describe.controller_context import ClusterState, ControllerTerm
from udfs.describe.snapshot import Snapshot, cluster_state_of, iso, tool_of, topics_of
from udfs.errors import BadInput
from udfs.logs.coverage import CoverageSpan, coverage_gaps_at
from udfs.merge.times import Moment

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from jobs.warehouse.tables import Warehouse

READERS = 4
"""Queries asked at once: a small one is mostly waiting."""
EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)


# ---- which rows -----------------------------------------------------------------------------------------------------
def holding(rows: DataFrame, at: datetime | Column) -> DataFrame:
    """Rows with `since` and `until` -> those that hold at a moment (or at a column's); one that ends then does not."""
    moment = F.lit(at)
    return rows.where((F.col("since") <= moment) & (F.col("until").isNull() | (F.col("until") > moment)))


def latest(rows: DataFrame, at: datetime, key: str, order: str) -> DataFrame:
    """Rows with `since` -> of those that had begun by a moment, the last of each key."""
    others = [name for name in rows.columns if name != key]
    begun = rows.where(F.col("since") <= F.lit(at))
    return begun.groupBy(key).agg(F.max_by(F.struct(*others), order).alias("row")).select(key, "row.*")


def to_reassignments_around(reassignments: DataFrame, at: datetime) -> DataFrame:
    """REASSIGNMENTS -> of each partition the last that had begun by a moment, and the first after it."""
    is_past = F.col("since") <= F.lit(at)
    past, next_ = F.when(is_past, F.col("since")), F.when(~is_past, F.col("since"))
    row = F.struct(*[name for name in reassignments.columns if name not in INCARNATION])
    around = reassignments.groupBy(*INCARNATION).agg(
        F.array_compact(F.array(F.max_by(row, past), F.min_by(row, next_))).alias("rows")
    )
    return around.select(*INCARNATION, F.explode("rows").alias("row")).select(*INCARNATION, "row.*")


def to_assignments(events: DataFrame, at: datetime) -> DataFrame:
    """EVENTS -> the last assignment of each partition that a ZooKeeper controller had written.

    Columns: topic, partition, replicas, at.
    """
    return (
        assignments_written(events)
        .where(F.col("at") <= F.lit(at))
        .groupBy("topic", "partition")
        .agg(F.max_by(F.struct("replicas", "at"), F.struct("at", "line", "file_id")).alias("row"))
        .select("topic", "partition", "row.*")
    )


def assignments_written(events: DataFrame) -> DataFrame:
    """EVENTS -> those in which a ZooKeeper controller writes an assignment.

    Of a new partition, and with each step of a reassignment.
    """
    has_assignment = is_new_assignment() | is_assignment_write()
    return events.where(has_assignment & F.col("topic").isNotNull() & F.col("replicas").isNotNull())


def to_configs(events: DataFrame, at: datetime) -> DataFrame:
    """EVENTS -> the last value by a moment of each topic's settings and (topic null) of the brokers' defaults.

    Columns: topic, name, value, at. With ZooKeeper a line has all of a topic's overrides, `name` is null; KRaft's lines
    and records have one each.
    """
    changes = _events_until(events, at, "topic_config_changed", "kraft_config_set", "config_record")
    whose = F.col("fields")["config_resource_type"]
    of_all = (whose == "BROKER") & F.col("broker_id").isNull()
    value = F.coalesce(F.col("fields")["config_value"], F.col("fields")["config"])
    return (
        changes.where(whose.isNull() | (whose == "TOPIC") | of_all)
        .groupBy("topic", F.col("fields")["config_name"].alias("name"))
        .agg(F.max_by(F.struct(value.alias("value"), "at"), F.struct("at", "line", "file_id")).alias("row"))
        .select("topic", "name", "row.*")
    )


def to_context_lines(events: DataFrame, controllers: DataFrame, at: datetime, began: datetime | None) -> DataFrame:
    """EVENTS, CONTROLLER_TIMELINE -> the last lines on what a controller held: CONTEXT_LINE without `each`, and `at`.

    By `kind`:

    - `leaving`: a controlled shutdown of a broker began;
    - `epochs`: broker epochs, as printed;
    - `deleting`: the deletion of topics was asked for, as printed;
    and of the controller term that began then, if there is one:
    - `state`: the state that a partition, or (broker not null) a replica, went into;
    - `offline_dir`: a replica was marked offline for a failed log directory.
    """
    own = events.where(F.col("at") >= F.lit(began)) if began else events.limit(0)
    fields = F.col("fields")
    number = F.coalesce(number_of("broker"), F.col("broker_id"))
    place = {"topic": F.col("topic"), "partition": F.col("partition")}
    kraft = by_active_controller(
        _events_until(
            events, at, "kraft_broker_controlled_shutdown_granted", "kraft_broker_controlled_shutdown_replayed"
        ),
        controllers,
    )
    marked = _events_until(own, at, "replicas_marked_offline").withColumn("p", F.explode("partitions"))
    printed = _events_until(events, at, "broker_epochs_updated", "controller_context_broker_epochs")
    deletions = _events_until(events, at, "topic_deletion_requested")
    moved = _events_until(own, at, "replica_state_change")
    parts = [
        _context_lines("leaving", _events_until(events, at, "controlled_shutdown_started"), broker=number),
        _context_lines("leaving", kraft, broker=number),
        _context_lines("epochs", printed, value=fields["broker_epochs"]),
        _context_lines("deleting", deletions, value=fields["topics"], each=fields["topics"]),
        _context_lines("state", _events_until(own, at, "partition_state_change"), **place, value=fields["to_state"]),
        _context_lines("state", moved, **place, broker=number_of("replica"), value=fields["to_state"]),
        _context_lines("offline_dir", marked, topic=F.col("p.topic"), partition=F.col("p.partition"), broker=number),
    ]
    lines = parts[0]
    for part in parts[1:]:
        lines = lines.unionByName(part)
    keys = ["kind", "topic", "partition", "broker"]
    last = lines.groupBy(*keys, "each").agg(F.max_by(F.struct("value", "place.at"), "place").alias("row"))
    return last.select(*keys, "row.*")


CONTEXT_LINE = {"topic": "string", "partition": "int", "broker": "int", "value": "string", "each": "string"}
"""Columns of `to_context_lines` with their types; `each` tells apart lines of which all count, not only the last."""


def _context_lines(kind: str, rows: DataFrame, **columns: Column) -> DataFrame:
    """Rows of EVENTS in the columns of CONTEXT_LINE, with null for those without a value, and `place` in the logs."""
    shown = [columns.get(name, F.lit(None)).cast(type_).alias(name) for name, type_ in CONTEXT_LINE.items()]
    return rows.select(F.lit(kind).alias("kind"), *shown, F.struct("at", "file_id", "line").alias("place"))


def _events_until(events: DataFrame, at: datetime, *kinds: str) -> DataFrame:
    """Events of some types up to a moment."""
    return events.where(F.col("event_type").isin(*kinds) & (F.col("at") <= F.lit(at)))


# ---- the snapshot ---------------------------------------------------------------------------------------------------
def cluster_named(warehouse: Warehouse, name: str | None) -> str:
    """The cluster of a name, or the only one. Raises BadInput."""
    names = sorted(row["cluster"] for row in warehouse.read("log_coverage").select("cluster").distinct().collect())
    if not names:
        raise BadInput("The warehouse has no logs with times; run `kafka-rewind nightly LOGS` first.")
    if name is None and len(names) > 1:
        raise BadInput(f"The warehouse has several clusters: {', '.join(names)}; name one with --cluster.")
    if name is not None and name not in names:
        raise BadInput(f"There is no cluster {name} in the warehouse; it has {', '.join(names)}.")
    return name or names[0]


def moment_of(asked: Moment, last: datetime) -> datetime:
    """The time that was asked for, UTC; relative ones count from the last record. Times without a zone are UTC."""
    moment = asked.before((last - EPOCH) // MICROSECOND)
    micros = moment.local if moment.utc is None else moment.utc
    if micros is None:
        raise ValueError(f"No time: {asked!r}; expected one of udfs.merge.times.moment")
    return EPOCH + micros * MICROSECOND


def snapshot_at(
    warehouse: Warehouse,
    asked: Moment,
    settings: Settings,
    cluster: str | None = None,
    topic: str | None = None,
    *,
    with_controller: bool = False,
) -> Snapshot:
    """The snapshot of a moment. `topic`: as kafka-topics takes it, a regular expression, or several names with commas.

    Without `with_controller` nothing is read that only the controller held: shutdowns, states, broker epochs. Raises
    BadInput for a cluster or a topic that the tables do not have.
    """
    name = cluster_named(warehouse, cluster)

    @cache
    def table(of: str) -> DataFrame:
        return warehouse.read(of).where(F.col("cluster") == name)

    coverage = [CoverageSpan(*row) for row in table("log_coverage").select(*CoverageSpan._fields).collect()]
    first, last = min(span.since for span in coverage), max(span.until for span in coverage)
    moment = moment_of(asked, last)
    if moment < first:
        return Snapshot(name, moment, first, last, ClusterState(tool_of(None, []), ControllerTerm(), (), ()))
    at = min(moment, last)
    rows = _rows_at(table, at, topic)
    by_messages = releases(table("log_files"), table("events")).get(name)
    term = next(iter(rows["terms"]), None)
    if with_controller:
        began = term["since"] if term and (term["until"] is None or term["until"] > at) else None
        context_lines = to_context_lines(table("events"), table("controller_timeline"), at, began)
        rows |= collect({"context_lines": context_lines})
    tool = tool_of(by_messages, [row["version"] for row in rows["versions"]])
    topics = topics_of(
        tool,
        rows["incarnations"],
        rows["partitions"],
        rows["reassignments"],
        rows["assignments"],
        rows["configs"],
        {row["file_id"]: row["path"] for row in rows["files"]},
        settings.least_in_sync,
        at,
    )
    state = cluster_state_of(tool, term, rows["registrations"], topics, rows.get("context_lines", []), at)
    return Snapshot(name, moment, first, last, state, tuple(_notes(coverage, at, by_messages)))


def _rows_at(table: Callable[[str], DataFrame], at: datetime, topic: str | None) -> dict[str, list[dict[str, Any]]]:
    """Rows of one cluster's tables that hold at a moment, or show what does, by subject.

    Raises BadInput if no topic matches.
    """
    events, incarnations = table("events"), matching(table("topic_timeline"), topic)
    version = F.col("fields")["kafka_version"].alias("version")
    rows = collect({"incarnations": holding(incarnations, at)}, topic)
    if topic is not None and not rows["incarnations"]:
        raise BadInput(_no_topic(topic, incarnations, at))
    return rows | collect(
        {
            "partitions": holding(matching(table("partition_timeline"), topic), at),
            "reassignments": to_reassignments_around(matching(table("reassignments"), topic), at),
            "registrations": latest(table("broker_timeline"), at, "broker", "since"),
            "terms": latest(table("controller_timeline"), at, "cluster", "controller_epoch"),
            "assignments": to_assignments(matching(events, topic), at),
            "configs": to_configs(events, at),
            "versions": _events_until(events, at, "kafka_version").select(version).distinct(),
            "files": table("log_files").select("file_id", "path"),
        }
    )


def matching(rows: DataFrame, topic: str | None) -> DataFrame:
    """Rows with `topic` -> those whose topic an expression matches as a whole; None: all. As kafka-topics reads it."""
    if topic is None:
        return rows
    expression = topic.strip().strip("\"'").replace(",", "|").replace(" ", "")
    return rows.where(F.col("topic").rlike(f"^(?:{expression})$"))


def collect(queries: Mapping[str, DataFrame], topic: str | None = None) -> dict[str, list[dict[str, Any]]]:
    """Rows of several queries, asked at once. Raises BadInput if the topic is not a regular expression."""

    def as_dicts(rows: DataFrame) -> list[dict[str, Any]]:
        return [row.asDict(recursive=True) for row in rows.collect()]

    try:
        with ThreadPoolExecutor(READERS) as pool:
            return dict(zip(queries, pool.map(as_dicts, queries.values()), strict=True))
    except PySparkException as error:
        if topic is not None and "REGEX" in str(error.getCondition()).upper() + str(error).upper():
            raise BadInput(f"--topic {topic!r} is not a regular expression; give the name of a topic.") from None
        raise


def _no_topic(topic: str, incarnations: DataFrame, at: datetime) -> str:
    """Why no topic of a name is shown, in a sentence."""
    spans = sorted((row["since"], row["until"]) for row in incarnations.select("since", "until").collect())
    times = [f"from {iso(since)} to {iso(until) or 'the end of the logs'}" for since, until in spans[:3]]
    existed = f"it existed {', '.join(times)}" if times else "nor did it at any other time"
    return f"According to the logs, topic {topic!r} did not exist at {iso(at)}; {existed}."


def _notes(coverage: Sequence[CoverageSpan], at: datetime, by_messages: tuple[str, bool] | None) -> Iterator[str]:
    """What is missing in the logs around a moment, and for the choice of the format, a sentence each."""
    is_kraft = by_messages is not None and by_messages[1]
    roles = {s.node_id: "controller" for s in coverage if is_kraft and s.node_id is not None and s.kind == "controller"}
    gaps = coverage_gaps_at(coverage, at, roles)
    if gaps:
        yield f"The logs have a gap at that time, in which changes may be missing: {'; '.join(gaps)}."
    if by_messages is None:
        yield "No message shows the Kafka release; the format is that of the newest one."
