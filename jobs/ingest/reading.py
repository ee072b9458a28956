"""From files to records: streams are surveyed, what is new of them is planned and read, and accounted for.

Surveying, reading and parsing happen in Python workers. A stream's account, a row of `log_files`, says what became of
each of its bytes, and what follows from its records.
"""

from __future__ import annotations

import os
import pickle
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.ingest.bytes_read import NOT_COUNTED, BytesRead, shown_while_read
from jobs.ingest.first_look import no_logs
from jobs.ingest.read_plan import COUNTED, LogFileRow, ReadPlan
from jobs.progress import SILENT, Progress
from jobs.settings import Settings
from udfs.arrow.schema import SCHEMA
from udfs.errors import FileChanged
from udfs.kafka.releases import Release
from udfs.logs.coverage import CoverageSpan, merged_coverage
from udfs.logs.paths import find, name_on_disk, node_of_path
from udfs.logs.ranges import Range, groups
from udfs.logs.survey import KnownStreams, Survey, known_streams, survey
from udfs.logs.worker_setup import prepare

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARSED = from_arrow_schema(SCHEMA)
"""What reading ranges gives: records, and accounts of ranges."""
_SURVEY = T.StructType([T.StructField("survey", T.BinaryType())])
FINEST = timedelta(minutes=1)
"""Silences up to this length do not end a span, whatever the tolerance; this bounds the spans of a stream."""
Nodes = Mapping[str, Mapping[str, int | None]]
"""By stream and channel the node of records that name none."""


# ---- what is to be read ----------------------------------------------------------------------------------------------
def plan_reading(
    spark: SparkSession,
    logs: Iterable[str],
    published: Mapping[str, LogFileRow],
    settings: Settings,
    cluster: str,
    run_id: str,
    say: Callable[[str], None],
    progress: Progress = SILENT,
) -> ReadPlan:
    """Survey the logs, and plan what is to be read of them. `cluster`: for paths that the settings do not name.

    A file that cannot be read is reported. Raises BadInput if none is a log.
    """
    sources = find(logs)
    by_cluster: defaultdict[str, list[str]] = defaultdict(list)
    for source in sources:
        by_cluster[settings.cluster_of(source.path, cluster)].append(source.path)
    known = {
        name: known_streams(
            [(r["size_bytes"], r["prefix_hash"], r["file_id"]) for r in published.values() if r["cluster"] == name]
        )
        for name in by_cluster
    }
    plan = ReadPlan(dict(published), run_id)
    size = sum(map(_size_on_disk, (source.path for source in sources)))
    with shown_while_read(spark, progress, "ingest, looking for what is new", size) as bytes_read:
        for name, surveyed in survey_all(spark, by_cluster, known, settings, bytes_read):
            plan.add(name, surveyed)
    for surveyed in plan.damaged:
        say(surveyed.error or "")
    if not plan.has_logs:
        raise no_logs([source.path for source in sources], plan.damaged)
    return plan


def survey_all(
    spark: SparkSession,
    paths: Mapping[str, list[str]],
    known: Mapping[str, KnownStreams],
    settings: Settings,
    bytes_read: BytesRead = NOT_COUNTED,
) -> list[tuple[str, Survey]]:
    """Survey each file of each cluster in the workers; clusters in order, and of each its sources in order."""
    default_zone, zones, limits = settings.time_zone or "UTC", dict(settings.node_time_zones), settings.limits

    def zone_of(node: int | None, _: str) -> str:
        return default_zone if node is None else zones.get(node, default_zone)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare()
        for batch in batches:
            for name, path in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                surveys = survey(path, known[name], zone_of, limits)
                pickled = pa.array([pickle.dumps((name, surveyed)) for surveyed in surveys], pa.binary())
                bytes_read.add(_size_on_disk(path))
                yield pa.RecordBatch.from_arrays([pickled], names=["survey"])

    files = [(name, path) for name, of_cluster in paths.items() for path in of_cluster]
    table = pa.table({"cluster": [name for name, _ in files], "path": [path for _, path in files]})
    rows = _spread(spark, table, len(files)).mapInArrow(work, _SURVEY).collect()
    return sorted((pickle.loads(row[0]) for row in rows), key=lambda surveyed: (surveyed[0], surveyed[1].source))


def _size_on_disk(path: str) -> int:
    """Bytes of a file; 0 if it is gone."""
    with suppress(OSError):
        return os.stat(name_on_disk(path)).st_size
    return 0


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_ranges(spark: SparkSession, tasks: list[Range], bytes_read: BytesRead = NOT_COUNTED) -> DataFrame:
    """The records of all ranges, as PARSED: events, rejects, and an `account` row for each range and channel; of a file
    that is not what the survey saw a row `changed` for each of its streams."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from udfs.arrow.parse import read_range
        from udfs.arrow.schema import changed_batch
        from udfs.logs.formats import format_named
        from udfs.logs.ranges import open_ranges

        prepare()
        for batch in batches:
            for row in batch.column(0).to_pylist():
                group: list[Range] = pickle.loads(row)
                try:
                    for task, stream in open_ranges(group[0].path, group):
                        place = (task.file_id, task.start, task.end, task.first_line)
                        at = stream.tell()
                        parsed = read_range(stream, format_named(task.format), task.zone, *place, task.clock_changes)
                        for records in parsed:
                            yield records
                            at, before = stream.tell(), at
                            bytes_read.add(at - before)
                except FileChanged:
                    yield changed_batch(sorted({task.file_id for task in group}))

    if not tasks:
        return spark.createDataFrame([], PARSED)
    table = pa.table({"group": pa.array([pickle.dumps(group) for group in groups(tasks)], pa.binary())})
    return _spread(spark, table, table.num_rows).mapInArrow(work, PARSED)


def _spread(spark: SparkSession, table: pa.Table, most: int) -> DataFrame:
    """A small table, its rows dealt evenly to tasks: at most `most`, and at most four a core."""
    cores = spark.sparkContext.defaultParallelism
    parts = max(1, min(most, 4 * cores))
    order = [i for part in range(parts) for i in range(part, table.num_rows, parts)]
    counts = [len(range(part, table.num_rows, parts)) for part in range(parts)]
    numbered = table.take(pa.array(order, pa.int64())).append_column(
        "part", pa.array([part for part, count in enumerate(counts) for _ in range(count)], pa.int32())
    )
    return spark.createDataFrame(numbered).repartitionByRange(parts, "part").drop("part")


def parse_rejects(rejects: DataFrame) -> DataFrame:
    """REJECTS, the columns READ, with their streams' `format` and `time_zone` -> PARSED (see `udfs.arrow.reparse`)."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from udfs.arrow.reparse import reparse

        for batch in batches:
            yield from reparse(batch)

    return rejects.mapInArrow(work, PARSED)


# ---- accounts --------------------------------------------------------------------------------------------------------


Account = tuple[str, Mapping[str, str]]
"""The account of a range and channel: its stream's file id, and its fields."""


def accounts_of(parsed: DataFrame) -> tuple[list[Account], set[str]]:
    """Of PARSED the accounts of all ranges, and the file ids of streams that changed while they were read."""
    rows = parsed.where("record IN ('account', 'changed')").select("record", "file_id", "fields").collect()
    changed = {row["file_id"] for row in rows if row["record"] == "changed"}
    return [(r["file_id"], r["fields"]) for r in rows if r["record"] == "account"], changed


def account_for(accounts: Iterable[Account], rows: Mapping[str, LogFileRow], to_read: Collection[str]) -> Nodes:
    """Complete the rows of streams that were read, by the accounts of their ranges; the nodes of all streams."""
    summaries: defaultdict[str, StreamSummary] = defaultdict(StreamSummary)
    for file_id, account in accounts:
        if file_id in to_read:
            add_account(rows[file_id], summaries[file_id], account)
    nodes: dict[str, Mapping[str, int | None]] = {}
    for file_id, row in rows.items():
        summary = summaries[file_id]
        if file_id in to_read:
            complete_row(row, summary)
        else:
            # of a stream that was not read again: its nodes as in its row, as of one without channels
            summary.nodes[""] = Counter(f"node {number}" for number in row["node_ids"])
        nodes[file_id] = default_nodes(row, summary)
        if file_id in to_read:
            row["spans"] = spans_of(summary, nodes[file_id])
    return nodes


@dataclass
class StreamSummary:
    """What the accounts of a stream's ranges add up to, besides numbers."""

    nodes: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By channel the writers that records name, `broker 3` or `controller 100`, with the number of these records."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Records in scope of each kind."""
    spans: defaultdict[str, list[tuple[str, int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    """By channel: kind, number of records, first and last time, microseconds UTC."""
    versions: set[str] = field(default_factory=set)
    """Ranges of the releases that write its messages: `2.4.0..2.5.1`."""
    drift: Counter[str] = field(default_factory=Counter)
    """Events by what no rule knows of them."""


def add_account(row: LogFileRow, summary: StreamSummary, account: Mapping[str, str]) -> None:
    """Add the account of one range and channel to its stream's."""
    for name in COUNTED:
        row[name] += int(account[name])
    for name, pick in (("first_at", min), ("last_at", max)):
        if name in account:
            at = _time(int(account[name]))
            row[name] = pick(row[name], at) if row[name] else at
    summary.nodes[account["channel"]].update(counts(account["nodes"]))
    summary.kinds.update(counts(account["kinds"]))
    for part in filter(None, account["spans"].split(",")):
        kind, _, numbers = part.partition("=")
        records, first, last = map(int, numbers.split(":"))
        summary.spans[account["channel"]].append((kind, records, first, last))
    summary.versions.update(filter(None, account["versions"].split(",")))
    summary.drift.update(counts(account["drift"]))


def _time(micros: int) -> datetime:
    """UTC, whole milliseconds; without a zone, as Spark takes it."""
    return datetime(1970, 1, 1) + timedelta(milliseconds=micros // 1000)


def counts(text: str) -> dict[str, int]:
    """Counters of an account: `broker 1=3,broker 2=1` -> numbers by name."""
    return {name: int(count) for name, _, count in (part.rpartition("=") for part in text.split(",") if part)}


def complete_row(row: LogFileRow, summary: StreamSummary) -> None:
    """Add what follows from all ranges of a stream: its nodes, their role, its kind, the releases it can be from."""
    names = Counter[str]()
    for by_channel in summary.nodes.values():
        names.update(by_channel)
    row["node_ids"] = sorted({int(name.split()[1]) for name in names})
    roles = {name.split()[0] for name in names}
    row["role"] = "broker" if "broker" in roles else "controller" if roles else None
    kinds = +summary.kinds
    if not kinds:
        for spans in summary.spans.values():
            for kind, records, *_ in spans:
                kinds[kind] += records
    row["kind"] = max(sorted(kinds), key=kinds.__getitem__, default=None)
    row["channels"] = sorted(filter(None, summary.nodes))
    row["kafka_versions"] = release_range(summary.versions)
    row["drift"] = dict(summary.drift)
    row["findings"] = sorted({*row["findings"], *_several_writers(summary)})


def _several_writers(summary: StreamSummary) -> list[str]:
    """A sentence for each output that several nodes write to: processes that share a file overwrite each other."""
    sentences = []
    for channel, names in sorted(summary.nodes.items()):
        nodes = sorted({int(name.split()[1]) for name in names})
        if len(nodes) > 1:
            what = f"its channel {channel}" if channel else "it"
            listed = ", ".join(map(str, nodes))
            sentences.append(f"several nodes write to {what}: {listed}; records may be missing")
    return sentences


def release_range(versions: Iterable[str]) -> str | None:
    """The releases that write messages of all these `since..until` ranges, `2.4.0..2.5.1`; None if there is none.

    >>> release_range({"1.1.0..3.1.2", "2.4.0.."})
    '2.4.0..3.1.2'
    """
    bounds = [text.split("..") for text in versions]
    if not bounds:
        return None
    since = max((first for first, _ in bounds), key=Release.parse)
    ends = [last for _, last in bounds if last]
    until = min(ends, key=Release.parse) if ends else ""
    return f"{since}..{until}" if not until or Release.parse(since) <= Release.parse(until) else None


def default_nodes(row: LogFileRow, summary: StreamSummary) -> dict[str, int | None]:
    """By channel the node of records that name none: the only one that the channel's other records name; if they name
    none either, that of the channel's name or the file's path. None: unknown."""
    channels = {channel: names for channel, names in summary.nodes.items() if channel or len(summary.nodes) == 1}
    return {
        channel: default_node(sorted({int(name.split()[1]) for name in names}), channel, row["path"])
        for channel, names in channels.items()
    }


def default_node(named: list[int], channel: str, path: str) -> int | None:
    """The node of a channel's records that name none; `named` are those that its other records name."""
    if named:
        return named[0] if len(named) == 1 else None
    return node_of_path(f"{channel}/-") if channel else node_of_path(path)


def spans_of(summary: StreamSummary, nodes: Mapping[str, int | None]) -> list[dict[str, Any]]:
    """When the stream has records of which kind, as in `log_files.spans`; `nodes` by channel."""
    spans = [
        CoverageSpan(nodes.get(channel), kind, _time(first), _time(last), records)
        for channel, of_channel in summary.spans.items()
        for kind, records, first, last in of_channel
    ]
    return [span._asdict() for span in merged_coverage(spans, FINEST)]
