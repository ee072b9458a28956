"""Logs in, events out: every byte of every stream is an event, a reject, something else, or held back.

Two passes. The first surveys each stream (size, hash, layout, line counts), from which the driver knows which streams
are new or have grown and cuts them into ranges. The second reads the ranges in the workers: framing and parsing
happen there, over rules that are data (docs/decisions/0001). A stream that has grown is read anew as a whole.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.ingest.accounts import COUNTED, Row, Told, add, default_node, default_nodes, finish, move, spans
from jobs.ingest.overlaps import PLACE, find_overlaps, stream_of
from jobs.session import size_session
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse
from schemas.ingest import EVENTS, LOG_COVERAGE, LOG_FILES, REJECTS
from udfs.arrow.schema import SCHEMA
from udfs.errors import BadInput
from udfs.logs.coverage import CoverageSpan, merged_coverage
from udfs.logs.paths import find
from udfs.logs.streams import KnownStreams, Range, Survey, groups, known_streams, ranges, survey
from udfs.logs.worker_setup import prepare

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WORTH_BYTES = 128 << 20
"""Clusters with fewer bytes of logs are rebuilt as a whole: finding out what may stay takes a dozen Spark jobs. A night with news of
a tenth of the topics takes 120 CPU seconds instead of 106 over 66 MB, 227 instead of 270 over 300 MB."""
PARSED = from_arrow_schema(SCHEMA)
"""What the workers give back: records, and accounts of ranges."""
_SURVEY = T.StructType([T.StructField("survey", T.BinaryType())])
Say = Callable[[str], None]


@dataclass(frozen=True)
class NewInput:
    """What an ingest brought: the clusters with new bytes, how much was read, and whether a known stream has a new name.

    `streams_read`: the streams that were read, by cluster; clusters of which events in other streams changed, or that are small, are
    not there.
    """

    clusters: tuple[str, ...]
    streams: int = 0
    bytes_read: int = 0
    has_new_names: bool = False
    streams_read: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __add__(self, other: NewInput) -> NewInput:
        """Both."""
        twice = {*self.clusters} & {*other.clusters}
        return NewInput(
            tuple(sorted({*self.clusters, *other.clusters})),
            self.streams + other.streams,
            self.bytes_read + other.bytes_read,
            self.has_new_names or other.has_new_names,
            {
                name: streams
                for name, streams in {**self.streams_read, **other.streams_read}.items()
                if name not in twice
            },
        )


def ingest(
    warehouse: Warehouse, logs: Iterable[str], settings: Settings, cluster: str, run_id: str, say: Say
) -> NewInput:
    """Read what is new in the logs into the tables that hold records and streams.

    A file that cannot be read is said and noted, the others are read. Raises BadInput if none is a log; then nothing was
    written.
    """
    sources = find(logs)
    old = {row["file_id"]: row.asDict(recursive=True) for row in warehouse.current("log_files").collect()}
    by_cluster: defaultdict[str, list[str]] = defaultdict(list)
    for source in sources:
        by_cluster[settings.cluster_of(source.path, cluster)].append(source.path)
    plan = Plan(dict(old), run_id)
    known = {
        name: known_streams(
            [(r["size_bytes"], r["prefix_hash"], r["file_id"]) for r in old.values() if r["cluster"] == name]
        )
        for name in by_cluster
    }
    for name, surveyed in survey_all(warehouse.spark, by_cluster, known, settings):
        plan.add(name, surveyed)
    for surveyed in plan.doubtful:
        say(surveyed.error or "")
    if not plan.has_logs:
        refused = next((s.error for s in plan.doubtful if s.status == "refused" and s.error), None)
        raise BadInput(
            refused
            or f"None of the {len(sources)} files is a Kafka log: no line of {sources[0].name} begins as a log record does; "
            "give state-change.log, controller.log, server.log or kafka-dump-log text."
        )
    rows, fresh = plan.rows, plan.fresh
    if rows == old:
        return NewInput(())
    if not fresh:
        write_streams(warehouse, rows, settings)
        return NewInput((), has_new_names=True)
    size = sum(rows[i]["size_bytes"] for i in fresh)
    say(f"reading {len(fresh)} streams, {size / 1e6:.1f} MB")
    size_session(warehouse.spark, sum(row["size_bytes"] for row in rows.values()))
    parsed = read_ranges(warehouse.spark, plan.tasks).persist(StorageLevel.DISK_ONLY)
    try:
        told = _account(parsed, rows, fresh)
        nodes = {file_id: default_nodes(rows[file_id], told[file_id]) for file_id in fresh}
        for file_id in fresh:
            rows[file_id]["spans"] = spans(told[file_id], nodes[file_id])
        changed = _write(warehouse, parsed, rows, nodes, fresh & old.keys())
        write_streams(warehouse, rows, settings)
    finally:
        parsed.unpersist()
    sizes: Counter[str] = Counter()
    for row in rows.values():
        sizes[row["cluster"]] += row["size_bytes"]
    clusters = {rows[i]["cluster"] for i in fresh}
    streams_read = {
        name: tuple(i for i in sorted(fresh) if rows[i]["cluster"] == name)
        for name in clusters - changed
        if sizes[name] >= WORTH_BYTES
    }
    return NewInput(tuple(sorted(clusters | changed)), len(fresh), size, streams_read=streams_read)


_PLAIN = (
    "line", "at", "node_id", "logger", "event_type", "topic", "partition", "leader_epoch", "partition_epoch", "detail",
)  # fmt: skip
"""Columns by which events of a stream that was read again are seen to be the same; its bytes are, but zone and node may not be."""


def first_new_event_times(warehouse: Warehouse, streams: Iterable[str]) -> dict[str, datetime]:
    """By cluster the time of the first new event of streams that were read; one that has got further lines is new, too.

    Clusters are left out if any other of their published events is not as it was, or a new one has no time.
    """
    of_stream, told = ["cluster", "file_id"], F.xxhash64(*_PLAIN)
    before, now = (
        rows.where(F.col("file_id").isin(*streams)).select(*of_stream, *_PLAIN)
        for rows in (warehouse.read("events"), warehouse.newest("events"))
    )
    last = F.max_by(F.struct("line", "at", told.alias("told")), "line").alias("last")
    known = before.groupBy(*of_stream).agg(last, F.bit_xor(told).alias("was"))
    line = F.col("line")
    is_old, is_new = line <= F.col("last.line"), F.coalesce(line > F.col("last.line"), F.lit(True))
    by_stream = (
        now.join(F.broadcast(known.select(*of_stream, "last")), of_stream, "left")
        .groupBy(*of_stream)
        .agg(
            F.bit_xor(F.when(is_old, told)).alias("is"),
            F.max(F.when(line == F.col("last.line"), told)).alias("last_is"),
            F.min(F.when(is_new, F.col("at"))).alias("since"),
            F.max(is_new & F.col("at").isNull()).alias("is_timeless"),
        )
    )
    same = F.col("is") == F.col("was")
    but_last = F.col("is").bitwiseXOR(F.col("last_is")) == F.col("was").bitwiseXOR(F.col("last.told"))
    since = F.when(F.col("last").isNull() | same, F.col("since")).otherwise(F.least("since", "last.at"))
    is_sure = (F.col("last").isNull() | same | but_last) & ~F.col("is_timeless")
    found = known.join(by_stream, of_stream, "full").groupBy("cluster")
    by_cluster = found.agg(F.min(since).alias("since"), F.min(F.coalesce(is_sure, F.lit(False))).alias("is_sure"))
    return {row["cluster"]: row["since"] for row in by_cluster.collect() if row["is_sure"] and row["since"] is not None}


def _account(parsed: DataFrame, rows: dict[str, Row], fresh: set[str]) -> dict[str, Told]:
    """Add what the readers say of the fresh streams to their rows; what else they tell, by stream."""
    told: defaultdict[str, Told] = defaultdict(Told)
    for account in parsed.where("record = 'account'").select("file_id", "fields").collect():
        add(rows[account["file_id"]], told[account["file_id"]], account["fields"])
    for file_id in fresh:
        finish(rows[file_id], told[file_id])
    return told


def survey_all(
    spark: SparkSession, paths: Mapping[str, list[str]], known: Mapping[str, KnownStreams], settings: Settings
) -> list[tuple[str, Survey]]:
    """Survey each file of each cluster in the workers; clusters in order, and of each its sources in order."""
    usual, zones, limits = settings.time_zone or "UTC", dict(settings.node_time_zones), settings.limits

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare()
        for batch in batches:
            for name, path in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                surveys = survey(
                    path, known[name], lambda node, _: usual if node is None else zones.get(node, usual), limits
                )
                found = pa.array([pickle.dumps((name, one)) for one in surveys], pa.binary())
                yield pa.RecordBatch.from_arrays([found], names=["survey"])

    files = [(name, path) for name, mine in paths.items() for path in mine]
    table = pa.table({"cluster": [name for name, _ in files], "path": [path for _, path in files]})
    rows = _spread(spark, table, len(files)).mapInArrow(work, _SURVEY).collect()
    return sorted((pickle.loads(row[0]) for row in rows), key=lambda found: (found[0], found[1].source))


def read_ranges(spark: SparkSession, tasks: list[Range]) -> DataFrame:
    """The records of all ranges, as PARSED: events, rejects, and an `account` row for each range and channel."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from udfs.arrow.parse import read_range
        from udfs.logs.formats import format_named
        from udfs.logs.streams import open_ranges

        prepare()
        for batch in batches:
            for row in batch.column(0).to_pylist():
                group: list[Range] = pickle.loads(row)
                for task, stream in open_ranges(group[0].path, group):
                    place = (task.file_id, task.start, task.end, task.first_line)
                    yield from read_range(stream, format_named(task.format), task.zone, *place, task.clock_changes)

    if not tasks:
        return spark.createDataFrame([], PARSED)
    table = pa.table({"group": pa.array([pickle.dumps(group) for group in groups(tasks)], pa.binary())})
    return _spread(spark, table, table.num_rows).mapInArrow(work, PARSED)


def _spread(spark: SparkSession, table: pa.Table, most: int) -> DataFrame:
    """A small table, its rows dealt evenly to as many tasks as there are cores, at most one a row and at least 1 a core."""
    cores = spark.sparkContext.defaultParallelism
    parts = max(1, min(most, 4 * cores))
    order = [i for part in range(parts) for i in range(part, table.num_rows, parts)]
    counts = [len(range(part, table.num_rows, parts)) for part in range(parts)]
    numbered = table.take(pa.array(order, pa.int64())).append_column(
        "part", pa.array([part for part, count in enumerate(counts) for _ in range(count)], pa.int32())
    )
    return spark.createDataFrame(numbered).repartitionByRange(parts, "part").drop("part")


@dataclass
class Plan:
    """What is to be read: `rows` of LOG_FILES by id, to be completed by what the readers say, and the ranges of the
    `fresh` ones, which are new, have grown, or are to be read in another zone."""

    rows: dict[str, Row]
    run_id: str
    tasks: list[Range] = field(default_factory=list)
    fresh: set[str] = field(default_factory=set)
    doubtful: list[Survey] = field(default_factory=list)
    has_logs: bool = False

    def add(self, cluster: str, surveyed: Survey) -> None:
        """Plan one stream."""
        path = surveyed.source.name
        if surveyed.error:
            self.doubtful.append(surveyed)
        self.has_logs = self.has_logs or surveyed.format is not None
        refused = _id(cluster, f"refused\0{path}")
        before = self.rows.pop(refused, None)  # what could not be read once may be read now
        if surveyed.status == "refused":
            is_known = before is not None and before["findings"] == [surveyed.error]
            self.rows[refused] = before if before and is_known else self._row(refused, cluster, surveyed)
            return
        if surveyed.size == 0:
            return
        file_id = surveyed.known_as or _id(cluster, surveyed.digest)
        row = self.rows.get(file_id)
        if (
            row
            and file_id in self.fresh
            and surveyed.known_size < surveyed.size
            and row["prefix_hash"] != surveyed.digest
        ):
            # two streams go on from a known one; what they share is found as an overlap
            file_id = _id(cluster, surveyed.digest)
            row = self.rows.get(file_id)
        if row is not None and surveyed.size <= row["size_bytes"]:
            is_late = path == row["path"] and surveyed.zone != row["time_zone"] and surveyed.size == row["size_bytes"]
            if not is_late:
                if path != row["path"] and path not in row["also_seen_as"]:
                    self.rows[file_id] = {**row, "also_seen_as": sorted([*row["also_seen_as"], path])}
                return
        seen = [p for p in ([row["path"], *row["also_seen_as"]] if row else []) if p != path]
        self.rows[file_id] = {**self._row(file_id, cluster, surveyed), "also_seen_as": sorted(seen)}
        self.fresh.add(file_id)
        self.tasks = [task for task in self.tasks if task.file_id != file_id]
        self.tasks += ranges(surveyed, file_id)

    def _row(self, file_id: str, cluster: str, surveyed: Survey) -> Row:
        """A stream's row before its records are read."""
        return {
            **dict.fromkeys(LOG_FILES.columns),
            **{name: [] for name in ("node_ids", "also_seen_as", "channels", "spans")},
            "findings": [surveyed.error] if surveyed.error else [],
            **dict.fromkeys([*COUNTED, "duplicate_bytes"], 0),
            "cluster": cluster,
            "file_id": file_id,
            "path": surveyed.source.name,
            "format": surveyed.format,
            "size_bytes": surveyed.size,
            "other_bytes": 0 if surveyed.format else surveyed.size,
            "held_back_bytes": surveyed.held_back,
            "time_zone": surveyed.zone,
            "status": surveyed.status,
            "prefix_hash": surveyed.digest,
            "run_id": self.run_id,
        }


def _id(cluster: str, content: str) -> str:
    return hashlib.blake2b(f"{cluster}\0{content}".encode(), digest_size=8).hexdigest()


def _write(
    warehouse: Warehouse,
    parsed: DataFrame,
    rows: dict[str, Row],
    nodes: Mapping[str, Mapping[str, int | None]],
    again: set[str],
) -> set[str]:
    """Write events and rejects but those that are there already; the clusters of which published rows were taken away.

    `nodes`: by stream and channel the node of records that name none; `again`: the streams whose records are replaced.
    """
    spark, first = warehouse.spark, not warehouse.versions
    published = warehouse.current("events"), warehouse.current("rejects")
    streams = []
    for file_id, row in rows.items():
        by_channel = nodes.get(file_id, {"": default_node(row["node_ids"], "", row["path"])})
        only = next(iter(by_channel.values())) if len(by_channel) == 1 else None
        streams.append(stream_of(row, only, is_new=file_id in nodes))
    found = find_overlaps(spark, parsed, *published, [stream for stream in streams if stream])
    try:
        for file_id, moved in found.moved.items():
            move(rows[file_id], moved)
        if again:
            condition = "file_id IN (" + ", ".join(f"'{i}'" for i in sorted(again)) + ")"
            warehouse.delete(EVENTS, condition)
            warehouse.delete(REJECTS, condition)
        if found.superseded is not None:
            warehouse.delete_rows(EVENTS, found.superseded)
            warehouse.delete_rows(REJECTS, found.superseded)
        told = [
            (i, rows[i]["cluster"], channel, node) for i, of in sorted(nodes.items()) for channel, node in of.items()
        ]
        by_stream = spark.createDataFrame(told, "file_id string, cluster string, channel string, default_node int")
        records = parsed.where("record <> 'account'").join(F.broadcast(by_stream), ["file_id", "channel"])
        if found.duplicates is not None:
            records = records.join(found.duplicates, PLACE, "left_anti")
        named = records.withColumn("node_id", F.coalesce("node_id", "default_node"))
        rejects = named.where("record = 'reject'").withColumns({"reason": F.col("event_type"), "raw": F.col("message")})
        warehouse.write(EVENTS, named.where("record = 'event'").select(*EVENTS.columns), append=not first)
        warehouse.write(REJECTS, rejects.select(*REJECTS.columns), append=not first)
    finally:
        found.unpersist()
    return {rows[file_id]["cluster"] for file_id in found.moved}


def write_streams(warehouse: Warehouse, rows: dict[str, Row], settings: Settings) -> None:
    """Write LOG_FILES and LOG_COVERAGE anew."""
    spark = warehouse.spark
    ordered = [tuple(rows[i][c] for c in LOG_FILES.columns) for i in sorted(rows)]
    by_cluster: defaultdict[str, list[CoverageSpan]] = defaultdict(list)
    for row in rows.values():
        by_cluster[row["cluster"]] += [CoverageSpan(*span.values()) for span in row["spans"] or ()]
    coverage = [
        (name, *span)
        for name, some in sorted(by_cluster.items())
        for span in merged_coverage(some, settings.coverage_tolerance)
    ]
    with ThreadPoolExecutor(2) as pool:
        writes = [
            pool.submit(warehouse.write, table, spark.createDataFrame(told, table.schema), cache=True)
            for table, told in ((LOG_FILES, ordered), (LOG_COVERAGE, coverage))
        ]
        for write in writes:
            write.result()
