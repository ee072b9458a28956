"""A cluster at one moment, out of the published tables: what `describe` prints.

Spark picks the rows that hold at that moment; what they mean is in `udfs.describe.snapshot`, `udfs.describe.kafka_topics` and
`udfs.describe.controller_context`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from udfs.describe.snapshot import Snapshot, evidence_of, iso, tool_of, topics_of
from udfs.errors import BadInput
from udfs.logs.coverage import CoverageSpan, coverage_gaps_at
from udfs.merge.times import Moment

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from jobs.warehouse.tables import Warehouse

READERS = 4
"""Queries asked at once: a small one is mostly waiting."""
BEGIN = datetime(1970, 1, 1)
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


def to_moves(reassignments: DataFrame, at: datetime) -> DataFrame:
    """REASSIGNMENTS -> of each partition the last that had begun by a moment, and the first after it."""
    is_past = F.col("since") <= F.lit(at)
    past, next_ = F.when(is_past, F.col("since")), F.when(~is_past, F.col("since"))
    row = F.struct(*[name for name in reassignments.columns if name not in INCARNATION])
    around = reassignments.groupBy(*INCARNATION).agg(
        F.array_compact(F.array(F.max_by(row, past), F.min_by(row, next_))).alias("rows")
    )
    return around.select(*INCARNATION, F.explode("rows").alias("row")).select(*INCARNATION, "row.*")


def to_assigned(events: DataFrame, at: datetime) -> DataFrame:
    """EVENTS -> the assignment that a ZooKeeper controller had last written of each partition: topic, partition, replicas, at."""
    return (
        assignments_written(events)
        .where(F.col("at") <= F.lit(at))
        .groupBy("topic", "partition")
        .agg(F.max_by(F.struct("replicas", "at"), F.struct("at", "line", "file_id")).alias("row"))
        .select("topic", "partition", "row.*")
    )


def assignments_written(events: DataFrame) -> DataFrame:
    """EVENTS -> those by which a ZooKeeper controller tells an assignment: of a new partition, and each step of a reassignment."""
    told = is_new_assignment() | is_assignment_write()
    return events.where(told & F.col("topic").isNotNull() & F.col("replicas").isNotNull())


def to_configs(events: DataFrame, at: datetime) -> DataFrame:
    """EVENTS -> what was last said by a moment of each topic's settings and (topic null) all brokers': topic, name, value, at.

    With ZooKeeper a line tells all of a topic's overrides, `name` is null; KRaft's lines and records tell one each.
    """
    told = _told(events, at, "topic_config_changed", "kraft_config_set", "config_record")
    whose = F.col("fields")["config_resource_type"]
    of_all = (whose == "BROKER") & F.col("broker_id").isNull()
    value = F.coalesce(F.col("fields")["config_value"], F.col("fields")["config"])
    return (
        told.where(whose.isNull() | (whose == "TOPIC") | of_all)
        .groupBy("topic", F.col("fields")["config_name"].alias("name"))
        .agg(F.max_by(F.struct(value.alias("value"), "at"), F.struct("at", "line", "file_id")).alias("row"))
        .select("topic", "name", "row.*")
    )


def to_said(events: DataFrame, controllers: DataFrame, at: datetime, began: datetime | None) -> DataFrame:
    """EVENTS, CONTROLLER_TIMELINE -> last lines that tell what a controller held: kind, topic, partition, broker, value, at.

    - `leaving`: a controlled shutdown of a broker was begun;
    - `epochs`: broker epochs, as printed;
    - `deleting`: the deletion of topics was asked for, as printed;
    and of the reign that began then, if there is one:
    - `state`: the state that a partition, or (broker not null) a replica, went into;
    - `offline_dir`: a replica was marked offline for a failed log directory.
    """
    own = events.where(F.col("at") >= F.lit(began)) if began else events.limit(0)
    fields = F.col("fields")
    number = F.coalesce(number_of("broker"), F.col("broker_id"))
    place = {"topic": F.col("topic"), "partition": F.col("partition")}
    kraft = by_active_controller(
        _told(events, at, "kraft_broker_controlled_shutdown_granted", "kraft_broker_controlled_shutdown_replayed"),
        controllers,
    )
    marked = _told(own, at, "replicas_marked_offline").withColumn("p", F.explode("partitions"))
    printed = _told(events, at, "broker_epochs_updated", "controller_context_broker_epochs")
    parts = [
        _said("leaving", _told(events, at, "controlled_shutdown_started"), broker=number),
        _said("leaving", kraft, broker=number),
        _said("epochs", printed, value=fields["broker_epochs"]),
        _said("deleting", _told(events, at, "topic_deletion_requested"), value=fields["topics"], each=fields["topics"]),
        _said("state", _told(own, at, "partition_state_change"), **place, value=fields["to_state"]),
        _said(
            "state", _told(own, at, "replica_state_change"), **place, broker=number_of("replica"), value=fields["to_state"]
        ),
        _said("offline_dir", marked, topic=F.col("p.topic"), partition=F.col("p.partition"), broker=number),
    ]  # fmt: skip
    said = parts[0]
    for part in parts[1:]:
        said = said.unionByName(part)
    keys = ["kind", "topic", "partition", "broker"]
    last = said.groupBy(*keys, "each").agg(F.max_by(F.struct("value", "place.at"), "place").alias("row"))
    return last.select(*keys, "row.*")


_SAID = {"topic": "string", "partition": "int", "broker": "int", "value": "string", "each": "string"}


def _said(kind: str, rows: DataFrame, **columns: Column) -> DataFrame:
    """Rows of EVENTS in the columns of `to_said`; those not given are null."""
    shown = [columns.get(name, F.lit(None)).cast(type_).alias(name) for name, type_ in _SAID.items()]
    return rows.select(F.lit(kind).alias("kind"), *shown, F.struct("at", "file_id", "line").alias("place"))


def _told(events: DataFrame, at: datetime, *kinds: str) -> DataFrame:
    """Events of some types up to a moment."""
    return events.where(F.col("event_type").isin(*kinds) & (F.col("at") <= F.lit(at)))


# ---- the picture ----------------------------------------------------------------------------------------------------
def the_cluster(warehouse: Warehouse, name: str | None) -> str:
    """The cluster that was named, or the only one. Raises BadInput."""
    known = sorted(row["cluster"] for row in warehouse.read("log_coverage").select("cluster").distinct().collect())
    if not known:
        raise BadInput("The warehouse has no logs with times; run `kafka-rewind nightly LOGS` first.")
    if name is None and len(known) > 1:
        raise BadInput(f"The warehouse has several clusters: {', '.join(known)}; name one with --cluster.")
    if name is not None and name not in known:
        raise BadInput(f"There is no cluster {name} in the warehouse; it has {', '.join(known)}.")
    return name or known[0]


def moment_of(asked: Moment, last: datetime) -> datetime:
    """The time that was asked for, UTC; relative ones are told by the last record. Times without a zone are UTC."""
    found = asked.before((last - BEGIN) // MICROSECOND)
    micros = found.local if found.utc is None else found.utc
    if micros is None:
        raise ValueError(f"No time: {asked!r}; expected one of udfs.merge.times.moment")
    return BEGIN + micros * MICROSECOND


def take(
    warehouse: Warehouse,
    asked: Moment,
    settings: Settings,
    cluster: str | None = None,
    topic: str | None = None,
    *,
    with_controller: bool = False,
) -> Snapshot:
    """The picture of a moment. `topic`: as kafka-topics takes it, a regular expression, or several names with commas.

    Without `with_controller` nothing is asked that only the controller held: shutdowns, states, broker epochs. Raises
    BadInput for a cluster or a topic that the tables do not have.
    """
    name = the_cluster(warehouse, cluster)

    @cache
    def table(of: str) -> DataFrame:
        return warehouse.read(of).where(F.col("cluster") == name)

    spans = [CoverageSpan(*row) for row in table("log_coverage").select(*CoverageSpan._fields).collect()]
    first, last = min(span.since for span in spans), max(span.until for span in spans)
    wanted = moment_of(asked, last)
    if wanted < first:
        return Snapshot(name, wanted, first, last, ClusterState(tool_of(None, []), ControllerTerm(), (), ()))
    at = min(wanted, last)
    events, lives = table("events"), matching(table("topic_timeline"), topic)
    version = F.col("fields")["kafka_version"].alias("version")
    rows = collect({"lives": holding(lives, at)}, topic)
    if topic is not None and not rows["lives"]:
        raise BadInput(_no_topic(topic, lives, at))
    rows |= collect(
        {
            "partitions": holding(matching(table("partition_timeline"), topic), at),
            "moves": to_moves(matching(table("reassignments"), topic), at),
            "brokers": latest(table("broker_timeline"), at, "broker", "since"),
            "reigns": latest(table("controller_timeline"), at, "cluster", "controller_epoch"),
            "assigned": to_assigned(matching(events, topic), at),
            "configs": to_configs(events, at),
            "versions": _told(events, at, "kafka_version").select(version).distinct(),
            "files": table("log_files").select("file_id", "path"),
        }
    )
    by_messages = releases(table("log_files"), events).get(name)
    reign = next(iter(rows["reigns"]), None)
    if with_controller:
        began = reign["since"] if reign and (reign["until"] is None or reign["until"] > at) else None
        rows |= collect({"said": to_said(events, table("controller_timeline"), at, began)})
    tool = tool_of(by_messages, [row["version"] for row in rows["versions"]])
    topics = topics_of(
        tool,
        rows["lives"],
        rows["partitions"],
        rows["moves"],
        rows["assigned"],
        rows["configs"],
        {row["file_id"]: row["path"] for row in rows["files"]},
        settings.least_in_sync,
        at,
    )
    evidence = evidence_of(tool, reign, rows["brokers"], topics, rows.get("said", []), at)
    return Snapshot(name, wanted, first, last, evidence, tuple(_notes(spans, at, by_messages)))


def matching(rows: DataFrame, topic: str | None) -> DataFrame:
    """Rows with `topic` -> those whose topic an expression matches as a whole; None: all. As kafka-topics reads it."""
    if topic is None:
        return rows
    expression = topic.strip().strip("\"'").replace(",", "|").replace(" ", "")
    return rows.where(F.col("topic").rlike(f"^(?:{expression})$"))


def collect(queries: Mapping[str, DataFrame], topic: str | None = None) -> dict[str, list[dict[str, Any]]]:
    """Rows of several queries, asked at once. Raises BadInput if a topic that was asked for is no regular expression."""

    def one(rows: DataFrame) -> list[dict[str, Any]]:
        return [row.asDict(recursive=True) for row in rows.collect()]

    try:
        with ThreadPoolExecutor(READERS) as pool:
            return dict(zip(queries, pool.map(one, queries.values()), strict=True))
    except PySparkException as error:
        if topic is not None and "REGEX" in str(error.getCondition()).upper() + str(error).upper():
            raise BadInput(f"--topic {topic!r} is no regular expression; give a topic's name.") from None
        raise


def _no_topic(topic: str, lives: DataFrame, at: datetime) -> str:
    """Why no topic of a name is shown, in a sentence."""
    known = sorted((row["since"], row["until"]) for row in lives.select("since", "until").collect())
    told = [f"from {iso(since)} to {iso(until) or 'the end of the logs'}" for since, until in known[:3]]
    other = f"it did {', '.join(told)}" if told else "nor at any other time"
    return f"Topic {topic!r} did not exist at {iso(at)}, as far as the logs tell; {other}."


def _notes(spans: Sequence[CoverageSpan], at: datetime, by_messages: tuple[str, bool] | None) -> Iterator[str]:
    """What is missing around a moment, and for the form of the answer."""
    kraft = by_messages is not None and by_messages[1]
    roles = {s.node_id: "controller" for s in spans if kraft and s.node_id is not None and s.kind == "controller"}
    holes = coverage_gaps_at(spans, at, roles)
    if holes:
        yield f"There is a hole in the logs at that time, changes in it are not seen: {'; '.join(holes)}."
    if by_messages is None:
        yield "No message tells the release of Kafka; this is how the newest would print it."
