"""Logs in, events out: every byte of every stream is an event, a reject, something else, or held back.

Two passes. The first surveys each stream (size, hash, layout, line counts), from which the driver knows which streams
are new or have grown and cuts them into ranges. The second reads the ranges in the workers: framing and parsing
happen there, over rules that are data (docs/decisions/0001). A stream that has grown is read anew as a whole.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.session import size_session
from jobs.settings import Settings
from jobs.warehouse import Warehouse
from schemas.columns import INT, TEXT
from schemas.ingest import EVENTS, LOG_FILES, REJECTS
from udfs.eras import Release
from udfs.streams import BadInput, Range, Survey, find, known_streams, node_of_path, ranges, survey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARSED = T.StructType([T.StructField("record", TEXT), *(f for f in EVENTS.schema if f.name != "cluster")])
_SURVEY = T.StructType([T.StructField("survey", T.BinaryType())])
Say = Callable[[str], None]


@dataclass(frozen=True)
class News:
    """What an ingest brought: the clusters with new bytes, how much was read, and whether a known stream has a new name."""

    clusters: tuple[str, ...]
    streams: int = 0
    bytes_read: int = 0
    seen_again: bool = False


def ingest(warehouse: Warehouse, logs: Iterable[str], settings: Settings, cluster: str, run_id: str, say: Say) -> News:
    """Read what is new in the logs into `log_files`, `events` and `rejects`. Raises BadInput; then nothing was written."""
    paths = find(logs)
    old = {row["file_id"]: row.asDict() for row in warehouse.read("log_files").collect()}
    by_cluster: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        by_cluster[settings.cluster_of(path, cluster)].append(path)
    rows = dict(old)
    tasks: list[Range] = []
    is_log = False
    for name in sorted(by_cluster):
        mine = [(r["size_bytes"], r["prefix_hash"], r["file_id"]) for r in old.values() if r["cluster"] == name]
        surveys = survey_all(warehouse.spark, by_cluster[name], known_streams(mine))
        is_log = is_log or any(surveyed.layout for surveyed in surveys)
        tasks += _plan(name, surveys, rows, settings, run_id)
    if not is_log:
        raise BadInput(
            f"None of the {len(paths)} files is a Kafka log: no line of {paths[0]} begins as a log record does; "
            "give state-change.log, controller.log, server.log or kafka-dump-log text."
        )
    fresh = {task.file_id for task in tasks} | {i for i in rows if i not in old}
    if rows == old:
        return News(())
    if not tasks and not fresh:
        _write_streams(warehouse, rows)
        return News((), seen_again=True)
    size = sum(rows[i]["size_bytes"] for i in fresh)
    say(f"reading {len(fresh)} streams, {size / 1e6:.1f} MB")
    size_session(warehouse.spark, sum(row["size_bytes"] for row in rows.values()))
    parsed = read_ranges(warehouse.spark, tasks).persist()
    try:
        for account in parsed.where("record = 'account'").select("file_id", "fields").collect():
            _add(rows[account["file_id"]], account["fields"])
        for file_id in fresh:
            _finish(rows[file_id])
        _write(warehouse, parsed, rows, fresh & old.keys(), fresh)
    finally:
        parsed.unpersist()
    return News(tuple(sorted({rows[i]["cluster"] for i in fresh})), len(fresh), size)


def survey_all(spark: SparkSession, paths: list[str], known: dict[int, dict[str, str]]) -> list[Survey]:
    """Survey each file in the workers; in the order of `paths`. Raises BadInput if one cannot be decompressed."""
    import pickle

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [pickle.dumps(survey(path, known)) for path in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], names=["survey"])

    rows = _spread(spark, pa.table({"path": paths}), len(paths)).mapInArrow(work, _SURVEY).collect()
    surveys = sorted((pickle.loads(row[0]) for row in rows), key=lambda s: s.path)
    for surveyed in surveys:
        if surveyed.error:
            raise BadInput(f"This file cannot be read: {surveyed.path} ({surveyed.error}); replace it or leave it out.")
    return surveys


def read_ranges(spark: SparkSession, tasks: list[Range]) -> DataFrame:
    """The records of all ranges, as PARSED: events, rejects and one `account` row a range."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import gc

        from udfs.parsing_arrow import read_range
        from udfs.streams import LAYOUT_BY_NAME, open_range

        gc.disable()  # nothing here is cyclic, and millions of tuples make each collection long
        for batch in batches:
            for row in batch.to_pylist():
                task = Range(**row)
                with open_range(task) as stream:
                    layout = LAYOUT_BY_NAME[task.layout]
                    yield from read_range(
                        stream, layout, task.zone, task.file_id, task.start, task.end, task.first_line
                    )

    if not tasks:
        return spark.createDataFrame([], PARSED)
    table = pa.Table.from_pylist(
        [asdict(task) for task in sorted(tasks, key=lambda t: t.start - (t.end or t.limit))],
        pa.schema(
            [
                ("file_id", pa.string()),
                ("path", pa.string()),
                ("layout", pa.string()),
                ("zone", pa.string()),
                ("start", pa.int64()),
                ("end", pa.int64()),
                ("limit", pa.int64()),
                ("first_line", pa.int64()),
            ]
        ),
    )
    return _spread(spark, table, len(tasks)).mapInArrow(work, PARSED)


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


def _plan(
    cluster: str, surveys: list[Survey], rows: dict[str, dict[str, Any]], settings: Settings, run_id: str
) -> list[Range]:
    """The ranges to read of one cluster's streams. Adds the rows of new streams to `rows` and renews those of grown ones."""
    tasks: list[Range] = []
    for surveyed in surveys:
        if surveyed.size == 0:
            continue
        file_id = surveyed.known_as
        if file_id is None:
            file_id = hashlib.blake2b(f"{cluster}\0{surveyed.digest}".encode(), digest_size=8).hexdigest()
        row = rows.get(file_id)
        path = os.path.abspath(surveyed.path)
        if row is not None and surveyed.size <= row["size_bytes"]:
            if path != row["path"] and path not in row["also_seen_as"]:
                rows[file_id] = {**row, "also_seen_as": sorted([*row["also_seen_as"], path])}
            continue
        seen = [p for p in ([row["path"], *row["also_seen_as"]] if row else []) if p != path]
        rows[file_id] = {
            **dict.fromkeys(LOG_FILES.columns),
            "cluster": cluster,
            "file_id": file_id,
            "node_ids": [],
            "path": path,
            "also_seen_as": sorted(seen),
            "kind": surveyed.layout,
            "size_bytes": surveyed.size,
            **dict.fromkeys(_NUMBERS, 0),
            "other_bytes": 0 if surveyed.layout else surveyed.size,
            "duplicate_bytes": 0,
            "held_back_bytes": surveyed.held_back,
            "time_zone": settings.zone_of(path),
            "status": "ok" if surveyed.layout else "no_records",
            "prefix_hash": surveyed.digest,
            "run_id": run_id,
            "_nodes": defaultdict(int),
            "_versions": set(),
        }
        tasks = [task for task in tasks if task.file_id != file_id]
        tasks += ranges(surveyed, file_id, settings.zone_of(path))
    return tasks


_NUMBERS = ("event_bytes", "detail_bytes", "reject_bytes", "other_bytes", "event_lines", "reject_lines")


def _add(row: dict[str, Any], account: dict[str, str]) -> None:
    """Add one range's account to its stream's row."""
    for name in _NUMBERS:
        row[name] += int(account[name])
    for name, pick in (("first_at", min), ("last_at", max)):
        if name in account:
            at = datetime.fromtimestamp(int(account[name]) // 1000 / 1000, UTC).replace(tzinfo=None)
            row[name] = pick(row[name], at) if row[name] else at
    for part in filter(None, account["nodes"].split(",")):
        node, count = part.split("=")
        row["_nodes"][node] += int(count)
    row["_versions"].update(filter(None, account["versions"].split(",")))


def _finish(row: dict[str, Any]) -> None:
    """What follows from all ranges of a stream: its nodes, their role, the releases it can be from."""
    nodes, versions = row.pop("_nodes", {}), row.pop("_versions", set())
    row["node_ids"] = sorted({int(node.split()[1]) for node in nodes})
    roles = {node.split()[0] for node in nodes}
    row["role"] = "broker" if "broker" in roles else "controller" if roles else None
    row["kafka_versions"] = release_range(versions)


def release_range(versions: Iterable[str]) -> str | None:
    """The releases that write all of the given `since..until` shapes, `2.4.0..2.5.1`; None if no shape or no release does.

    >>> release_range({"1.1.0..3.1.2", "2.4.0.."})
    '2.4.0..3.1.2'
    """
    pairs = [v.split("..") for v in versions]
    if not pairs:
        return None
    since = max((s for s, _ in pairs), key=Release.parse)
    ends = [u for _, u in pairs if u]
    until = min(ends, key=Release.parse) if ends else ""
    return f"{since}..{until}" if not until or Release.parse(since) <= Release.parse(until) else None


def _write(
    warehouse: Warehouse, parsed: DataFrame, rows: dict[str, dict[str, Any]], again: set[str], fresh: set[str]
) -> None:
    """Write events, rejects and streams; `again` are the streams whose rows are replaced, `fresh` all that were read."""
    spark = warehouse.spark
    if again:
        condition = "file_id IN (" + ", ".join(f"'{i}'" for i in sorted(again)) + ")"
        warehouse.delete(EVENTS, condition)
        warehouse.delete(REJECTS, condition)
    streams = spark.createDataFrame(
        [(i, rows[i]["cluster"], default_node(rows[i])) for i in sorted(fresh)],
        T.StructType(
            [T.StructField("file_id", TEXT), T.StructField("cluster", TEXT), T.StructField("default_node", INT)]
        ),
    )
    named = parsed.where("record <> 'account'").join(F.broadcast(streams), "file_id")
    events = named.where("record = 'event'").withColumn("node_id", F.coalesce("node_id", "default_node"))
    rejects = named.where("record = 'reject'").withColumns({"reason": F.col("event_type"), "raw": F.col("message")})
    first = not warehouse.versions
    warehouse.write(EVENTS, events.select(*EVENTS.columns), append=not first)
    warehouse.write(REJECTS, rejects.select(*REJECTS.columns), append=not first)
    _write_streams(warehouse, rows)


def _write_streams(warehouse: Warehouse, rows: dict[str, dict[str, Any]]) -> None:
    """Write LOG_FILES anew."""
    ordered = [tuple(rows[i][c] for c in LOG_FILES.columns) for i in sorted(rows)]
    warehouse.write(LOG_FILES, warehouse.spark.createDataFrame(ordered, LOG_FILES.schema))


def default_node(row: dict[str, Any]) -> int | None:
    """The node of records that do not name it: the only one that the stream's other records name, else the path's."""
    if len(row["node_ids"]) == 1:
        return int(row["node_ids"][0])
    return None if row["node_ids"] else node_of_path(row["path"])
