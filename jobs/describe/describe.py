"""A cluster at one moment, out of the published tables: what `describe` prints. It needs no Spark.

DuckDB picks the rows that hold at that moment; what they mean is in `udfs.describe.snapshot`,
`udfs.describe.kafka_topics` and `udfs.describe.controller_context`. Queries are texts over the views of
`jobs.read.views`, whose times are naive; a function `..._at` gives the text of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from jobs.read.create_views import literal, rows, time_literal
from jobs.read.published import nearest
from jobs.read.views import REGISTERED_BROKERS, the_cluster
from jobs.settings import Settings
from schemas.kafka_values import IS_MIN_ISR_OF_NODES, IS_MIN_ISR_OF_TOPIC
from udfs.describe.controller_context import ClusterState, ControllerTerm
from udfs.describe.snapshot import Snapshot, cluster_state_of, iso, tool_of, topics_of
from udfs.errors import BadInput
from udfs.kafka.releases import lowest_release
from udfs.logs.coverage import CoverageSpan, coverage_gaps_at
from udfs.merge.times import Moment

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TABLES = (
    "log_coverage", "log_files", "events", "topic_timeline", "partition_timeline", "reassignments", "broker_timeline",
    "controller_timeline", "config_changes",
)  # fmt: skip
"""What is read."""
EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)
FIRST_MICROS, LAST_MICROS = ((datetime(year, 1, 1) - EPOCH) // MICROSECOND for year in (1000, 9000))


# ---- which rows -----------------------------------------------------------------------------------------------------
def holding(table: str, at: datetime) -> str:
    """Rows with `since` and `until` -> those that hold at a moment; one that ends then does not."""
    moment = time_literal(at)
    return f"SELECT * FROM {table} WHERE since <= {moment} AND (until IS NULL OR until > {moment})"


def latest(table: str, at: datetime, key: str, order: str) -> str:
    """Rows with `since` -> of those that had begun by a moment, the last of each key."""
    last = _last_of(key, order)
    return f"SELECT * FROM {table} WHERE since <= {time_literal(at)} {last}"


def controller_at(at: datetime) -> str:
    """CONTROLLER_TIMELINE -> the term that decided at a moment, or the last before it.

    In a migration terms of ZooKeeper and of KRaft overlap: KRaft's decides when the other has ended.
    """
    is_over = f"until IS NOT NULL AND until <= {time_literal(at)}"
    decides = f"CASE WHEN {is_over} THEN 0 WHEN mode = 'zookeeper' THEN 2 ELSE 1 END"
    return latest("controller_timeline", at, "cluster", f"cluster_incarnation, {decides}, mode, controller_epoch")


def reassignments_around(at: datetime) -> str:
    """REASSIGNMENTS -> of each partition the last that had begun by a moment, and the first after it."""
    moment, key = time_literal(at), "cluster, topic, partition, incarnation"
    before = f"SELECT * FROM reassignments WHERE since <= {moment} {_last_of(key, 'since')}"
    after = f"SELECT * FROM reassignments WHERE since > {moment} {_last_of(key, 'since', 'ASC')}"
    return f"{before} UNION ALL {after}"


ASSIGNMENT_WRITTEN = """topic IS NOT NULL AND replicas IS NOT NULL AND (
    event_type = 'reassignment_assignment_updated'
    OR (event_type = 'partition_state_change' AND fields['to_state'] = 'NewPartition'))"""
"""Of EVENTS: a ZooKeeper controller writes an assignment, of a new partition or with a step of a reassignment."""


def assignments_at(at: datetime) -> str:
    """EVENTS -> the last assignment of each partition that a ZooKeeper controller had written.

    Columns: topic, partition, replicas, at.
    """
    return (
        'SELECT topic, partition, replicas, "at" FROM events'
        f" WHERE {ASSIGNMENT_WRITTEN} AND {_until(at)} {_last_of('topic, partition', _PLACE)}"
    )


def configs_at(at: datetime) -> str:
    """EVENTS -> the last value by a moment of each topic's settings and (topic null) of the brokers' defaults, by time.

    Columns: topic, name, value, at. Lines of KRaft's controllers and records have one setting each, its value `null`
    where it was removed; one of ZooKeeper or of KRaft's brokers has all of a topic, or all defaults: `name` is null.
    """
    name, type_ = "fields['config_name']", "fields['config_resource_type']"
    changes = _events(
        "config", at, "topic_config_changed", "kraft_config_set", "metadata_config", "metadata_config_updated"
    )
    # a record that removes a setting has no value
    removed = f"CASE WHEN event_type = 'metadata_config' AND {name} IS NOT NULL THEN 'null' END"
    return f"""SELECT topic, {name} AS name,
            coalesce(fields['config_value'], fields['config'], {removed}) AS value, "at"
        FROM ({changes})
        WHERE ({type_} IS NULL OR {type_} = 'TOPIC' OR ({type_} = 'BROKER' AND broker_id IS NULL))
            AND fields['entity_type'] IS NULL AND (event_type <> 'metadata_config' OR {name} IS NOT NULL)
        {_last_of(f"topic, {name}", _PLACE)} ORDER BY {_PLACE}"""


def min_isrs_at(at: datetime) -> str:
    """CONFIG_CHANGES -> of each topic with lines about its `min.insync.replicas` what the last one by a moment has.

    Columns: topic, value (null: it has none of its own), default_value: what all nodes print that it is then, null if
    they differ, or none did.
    """
    by_moment = f'"at" <= {time_literal(at)}'
    last_of_node, last_of_topic = _last_of("resource", '"at"'), _last_of("topic", '"at", resource_type')
    by_node = f"FROM config_changes WHERE {IS_MIN_ISR_OF_NODES} AND {by_moment} {last_of_node}"
    default = f"(SELECT min(value) FROM ({by_node}) HAVING count(DISTINCT value) = 1)"
    return f"""SELECT topic, value, {default} AS default_value
        FROM config_changes WHERE {IS_MIN_ISR_OF_TOPIC} AND {by_moment} {last_of_topic}"""


def context_lines_at(at: datetime, began: datetime | None) -> str:
    """EVENTS, CONTROLLER_TIMELINE -> the last lines on a controller's state: kind, topic, partition, broker, value, at.

    By `kind`:

    - `leaving`: a controlled shutdown of a broker began;
    - `epochs`: broker epochs, as printed;
    - `deleting`: the deletion of topics was asked for, as printed; of these all count, not only the last;
    - `registration`: KRaft `registered` a broker, or `unregistered` it;
    and of the controller term that began at `began`, if there is one:
    - `state`: the state that a partition, or (broker not null) a replica, went into;
    - `offline_dir`: a replica was marked offline for a failed log directory.
    """
    broker = f"coalesce({_number('broker')}, broker_id)"
    of_term = "false" if began is None else f'"at" >= {time_literal(began)}'
    registrations = (
        "kraft_broker_registered", "kraft_broker_unregistered", "metadata_register_broker", "metadata_unregister_broker"
    )  # fmt: skip
    shutdowns = ("kraft_broker_controlled_shutdown_granted", "kraft_broker_controlled_shutdown_replayed")
    by_active = """EXISTS (FROM controller_timeline t WHERE t.controller_id = e.node_id
        AND e."at" >= coalesce(t.active_since, t.since) AND (t.until IS NULL OR e."at" <= t.until))"""
    null = {"topic": "NULL", "partition": "NULL", "broker": "NULL", "value": "NULL", "each": "NULL"}
    place = {"topic": "topic", "partition": "partition", "value": "fields['to_state']"}

    def lines(kind: str, events: str, **columns: str) -> str:
        values = {**null, **columns}
        types = {"topic": "VARCHAR", "partition": "INTEGER", "broker": "INTEGER", "value": "VARCHAR", "each": "VARCHAR"}
        shown = ", ".join(f"({values[name]})::{type_} AS {name}" for name, type_ in types.items())
        return f"SELECT '{kind}' AS kind, {shown}, \"at\", file_id, line FROM ({events}) e"

    asked = "fields['topics']"
    marked_offline = _events("e", at, "replicas_marked_offline")
    marked = f"SELECT * EXCLUDE (topic, partition), unnest(partitions) AS p FROM ({marked_offline})"
    replica_states = _events("e", at, "replica_state_change")
    parts = [
        lines("leaving", _events("e", at, "controlled_shutdown_started"), broker=broker),
        f"{lines('leaving', _events('e', at, *shutdowns), broker=broker)} WHERE {by_active}",
        lines(
            "epochs",
            _events("e", at, "broker_epochs_updated", "controller_context_broker_epochs"),
            value="fields['broker_epochs']",
        ),
        lines(
            "registration",
            _events("e", at, *registrations),
            broker=broker,
            value="CASE WHEN contains(event_type, 'unregister') THEN 'unregistered' ELSE 'registered' END",
        ),
        lines("deleting", _events("e", at, "topic_deletion_requested"), value=asked, each=asked),
        f"{lines('state', _events('e', at, 'partition_state_change'), **place)} WHERE {of_term}",
        f"{lines('state', replica_states, **place, broker=_number('replica'))} WHERE {of_term}",
        f"{lines('offline_dir', marked, topic='p.topic', partition='p.partition', broker=broker)} WHERE {of_term}",
    ]
    keys = "kind, topic, partition, broker"
    last = _last_of(f"{keys}, each", '"at", file_id, line')
    return f'SELECT {keys}, value, "at" FROM ({" UNION ALL ".join(parts)}) {last}'


_PLACE = '"at", line, file_id'
"""What orders the lines of a cluster: of those of one time the later in its file counts."""


def _last_of(key: str, order: str, direction: str = "DESC") -> str:
    """The end of a query: of the rows of each key the last by an order, or the first."""
    by = ", ".join(f"{column} {direction}" for column in order.split(", "))
    return f"QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {by}) = 1"


def _events(name: str, at: datetime, *kinds: str) -> str:
    """Events of some types up to a moment."""
    return f"SELECT * FROM events WHERE event_type IN ({', '.join(map(literal, kinds))}) AND {_until(at)}"


def _until(at: datetime) -> str:
    return f'"at" <= {time_literal(at)}'


def _number(field: str) -> str:
    """A further field as an int; null if there is no such field, or it is no int."""
    value = f"trim(fields['{field}'])"
    return f"CASE WHEN regexp_full_match({value}, '[+-]?[0-9]+') THEN TRY_CAST({value} AS INTEGER) END"


# ---- the snapshot ---------------------------------------------------------------------------------------------------
def moment_of(asked: Moment, last: datetime, first: datetime | None = None) -> datetime:
    """The time that was asked for, UTC; relative ones count from the last record. Times without a zone are UTC.

    With the time of the first record, a time of day that is not in the logs is the one nearest to them. What is before
    the year 1000 or after 8999, as of `-999999999d`, is the begin or the end of these: times near it are times, too.
    """
    moment = asked.before((last - EPOCH) // MICROSECOND, None if first is None else (first - EPOCH) // MICROSECOND)
    micros = moment.local if moment.utc is None else moment.utc
    if micros is None:
        raise ValueError(f"No time: {asked!r}; expected one of udfs.merge.times.moment")
    return EPOCH + max(FIRST_MICROS, min(micros, LAST_MICROS)) * MICROSECOND


def snapshot_at(
    views: DuckDBPyConnection,
    asked: Moment,
    settings: Settings,
    cluster: str | None = None,
    topic: str | None = None,
    *,
    with_controller: bool = False,
) -> Snapshot:
    """The snapshot of a moment. `topic`: as kafka-topics takes it, a regular expression, or several names with commas.

    Without `with_controller` nothing is read that only the controller held: shutdowns, states, broker epochs, and
    whether any state has eligible leader replicas. Raises
    BadInput for a cluster or a topic that the tables do not have.
    """
    name = the_cluster(views, cluster)
    for table in TABLES:
        _narrow(views, table, f"cluster = {literal(name)}")
    columns = ", ".join(CoverageSpan._fields)
    coverage = [CoverageSpan(**row) for row in rows(views, f"SELECT {columns} FROM log_coverage")]
    first, last = min(span.since for span in coverage), max(span.until for span in coverage)
    moment = moment_of(asked, last, first)
    if moment < first:
        return Snapshot(name, moment, first, last, ClusterState(tool_of(None, []), ControllerTerm(), (), ()))
    at = min(moment, last)
    registered = [row["broker"] for row in rows(views, REGISTERED_BROKERS)]
    if topic is not None:
        _only_topics(views, name, topic, at)
    by_messages = _release(views)
    term = next(iter(rows(views, controller_at(at))), None)
    context_lines: list[dict[str, Any]] = []
    if with_controller:
        began = term["since"] if term and (term["until"] is None or term["until"] > at) else None
        context_lines = rows(views, context_lines_at(at, began))
    versions = rows(views, f"SELECT DISTINCT fields['kafka_version'] AS v FROM ({_events('e', at, 'kafka_version')})")
    tool = tool_of(by_messages, [row["v"] for row in versions])
    topics = topics_of(
        tool,
        rows(views, holding("topic_timeline", at)),
        rows(views, holding("partition_timeline", at)),
        rows(views, reassignments_around(at)),
        rows(views, assignments_at(at)),
        rows(views, configs_at(at)),
        {row["file_id"]: row["path"] for row in rows(views, "SELECT file_id, path FROM log_files")},
        least_in_sync(rows(views, min_isrs_at(at)), settings),
        at,
    )
    registrations = rows(views, latest("broker_timeline", at, "broker", "since"))
    state = cluster_state_of(tool, term, registrations, topics, context_lines, at)
    shows_elr = with_controller and bool(rows(views, SHOWS_ELR))
    return Snapshot(name, moment, first, last, state, tuple(_notes(coverage, at, registered, by_messages)), shows_elr)


def least_in_sync(by_topic: Iterable[dict[str, Any]], settings: Settings) -> Callable[[str], int | None]:
    """Rows of `min_isrs_at` -> a topic's `min.insync.replicas` by its name: its own, else as set for us, else as
    brokers print it, if lines show that it has none of its own; None unknown, as what is no number is."""
    printed = {row["topic"]: row for row in by_topic}

    def of_topic(topic: str) -> int | None:
        row = printed.get(topic, {"value": None, "default_value": None})
        values = row["value"], settings.least_in_sync(topic), row["default_value"]
        return next((int(text) for text in map(str, values) if text.isdecimal()), None)

    return of_topic


SHOWS_ELR = "SELECT 1 FROM partition_timeline WHERE len(elr) > 0 OR len(last_known_elr) > 0 LIMIT 1"
"""PARTITION_TIMELINE -> a row if any state has eligible leader replicas."""


def _only_topics(views: DuckDBPyConnection, cluster: str, topic: str, at: datetime) -> None:
    """Narrow the views of topics to those whose name an expression matches as a whole, as kafka-topics reads it.

    Raises BadInput if none existed at the moment.
    """
    incarnations = rows(views, "SELECT topic, since, until FROM topic_timeline")
    names = matching(topic, {row["topic"] for row in incarnations})
    spans = sorted((row["since"], row["until"] or datetime.max) for row in incarnations if row["topic"] in names)
    if not any(since <= at < until for since, until in spans):
        times = [f"from {iso(a)} to {'the end of the logs' if b == datetime.max else iso(b)}" for a, b in spans[:3]]
        existed = f"it existed {', '.join(times)}."
        if not times:
            existed = f"nor did it at any other time; {topic_meant(topic, {row['topic'] for row in incarnations})}"
        raise BadInput(f"According to the logs, topic {topic!r} did not exist at {iso(at)}; {existed}")
    listed = ", ".join(map(literal, sorted(names)))
    for table in ("topic_timeline", "partition_timeline", "reassignments"):
        _narrow(views, table, f"cluster = {literal(cluster)} AND topic IN ({listed})")


def topic_meant(topic: str, names: Collection[str]) -> str:
    """Which topic is meant by one that is not there: the end of a sentence.

    >>> topic_meant("payments-1", ["payments", "orders"])
    'payments-1 is partition 1 of topic payments, give --topic payments.'
    >>> topic_meant("paymnts", ["payments", "orders"])
    'did you mean payments?'
    """
    name, dash, number = topic.rpartition("-")
    if dash and number.isdecimal() and name in names:
        return f"{topic} is partition {int(number)} of topic {name}, give --topic {name}."
    return nearest(topic, names)


def _narrow(views: DuckDBPyConnection, table: str, condition: str) -> None:
    """Let a table's name stand for some of its rows."""
    views.execute(f"CREATE OR REPLACE TEMP VIEW {table} AS FROM memory.main.{table} WHERE {condition}")


def matching(topic: str, names: Iterable[str]) -> set[str]:
    """Names that an expression matches as a whole. Raises BadInput if it is none."""
    expression = topic.strip().strip("\"'").replace(",", "|").replace(" ", "")
    try:
        return {name for name in names if re.fullmatch(expression, name)}
    except re.error:
        raise BadInput(f"--topic {topic!r} is not a regular expression; give the name of a topic.") from None


def _release(views: DuckDBPyConnection) -> tuple[str, bool] | None:
    """The release whose algorithms the cluster ran, and whether it ran KRaft; None if no message shows it."""
    ranges = [row["kafka_versions"] for row in rows(views, "SELECT kafka_versions FROM log_files")]
    from_kraft = (
        "SELECT 1 FROM events WHERE logger LIKE 'org.apache.kafka.controller%' OR logger = 'kafka-dump-log' LIMIT 1"
    )
    release = lowest_release(ranges)
    return None if release is None else (str(release), bool(rows(views, from_kraft)))


def _notes(
    coverage: Sequence[CoverageSpan], at: datetime, registered: Collection[int], by_messages: tuple[str, bool] | None
) -> Iterator[str]:
    """What is missing in the logs around a moment, and for the choice of the format, a sentence each."""
    is_kraft = by_messages is not None and by_messages[1]
    roles = {s.node_id: "controller" for s in coverage if is_kraft and s.node_id is not None and s.kind == "controller"}
    gaps = coverage_gaps_at(coverage, at, roles, registered=registered)
    if gaps:
        yield f"The logs have a gap at that time, in which changes may be missing: {'; '.join(gaps)}."
    if by_messages is None:
        yield "No message shows the Kafka release; the format is that of the newest one."
