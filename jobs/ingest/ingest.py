"""Logs in, events out: every byte of every stream is an event, a reject, something else, or held back.

Two passes. The first surveys each stream (size, hash, layout, line counts), from which the driver knows which streams
are new or were appended to, and divides them into ranges. The second reads the ranges in the workers: framing and
parsing happen there, over rules that are data (docs/decisions/0001). A stream that was appended to is read from its
last record on (`jobs.ingest.grown_streams`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import functions as F

from jobs.ingest.bytes_read import BytesRead, shown_while_read
from jobs.ingest.crossing_streams import PLACE, compared_streams, crossing_streams, frame
from jobs.ingest.grown_streams import (
    account_before,
    complete_last_records,
    last_records,
    not_going_on,
    published_accounts,
)
from jobs.ingest.overlaps import find_overlaps, subtract_moved
from jobs.ingest.read_plan import LogFileRow, ReadPlan
from jobs.ingest.reading import accounts_of, parse_rejects, plan_reading, read_ranges
from jobs.ingest.stream_accounts import Account, Nodes, account_for, counts, release_range
from jobs.progress import SILENT, Progress
from jobs.session import size_session
from jobs.settings import Settings
from jobs.warehouse.gate import WrittenStream
from jobs.warehouse.tables import Warehouse
from schemas.ingest import EVENTS, LOG_COVERAGE, LOG_FILES, REJECTS
from schemas.spark import LONG, TEXT
from udfs.logs.coverage import CoverageSpan, merged_coverage
from udfs.logs.paths import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WORTH_BYTES = 24 << 20
"""Clusters with fewer bytes of logs are rebuilt as a whole: finding out what may stay takes a dozen Spark jobs, as much
as all of their events do."""
READ = (*PLACE, "size_bytes", "head_bytes", "node_id", "at", "clock", "raw")
"""Columns of REJECTS that parsing needs."""
TABLES = (EVENTS, REJECTS, LOG_FILES, LOG_COVERAGE)
"""What an ingest writes."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class NewInput:
    """What an ingest brought."""

    clusters: tuple[str, ...]
    """Those with new bytes, or whose published events changed."""
    streams: int = 0
    bytes_read: int = 0
    has_new_names: bool = False
    """Whether all that is new is another path of a known stream, or a file that cannot be read."""
    streams_read: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By cluster the streams that were read, and from which line on, if they have all its changed events and the
    cluster is not small."""
    written: tuple[WrittenStream, ...] | None = ()
    """Streams of which records were written or deleted; None: maybe of all."""

    def __add__(self, other: NewInput) -> NewInput:
        """Both."""
        in_both = {*self.clusters} & {*other.clusters}
        streams_read = {**self.streams_read, **other.streams_read}
        return NewInput(
            tuple(sorted({*self.clusters, *other.clusters})),
            self.streams + other.streams,
            self.bytes_read + other.bytes_read,
            self.has_new_names or other.has_new_names,
            {name: streams for name, streams in streams_read.items() if name not in in_both},
            None if self.written is None or other.written is None else (*self.written, *other.written),
        )


@dataclass(frozen=True)
class Changes:
    """What is to be written: streams, and records if there are any to write."""

    rows: Mapping[str, LogFileRow]
    """All rows of LOG_FILES by file id."""
    events: DataFrame | None = None
    """EVENTS besides those of the table."""
    rejects: DataFrame | None = None
    """REJECTS besides those of the table, or instead of them."""
    are_all_rejects: bool = False
    replaced: Collection[str] = ()
    """Published streams whose records are deleted."""
    replaced_records: Collection[tuple[str, int]] = ()
    """Published records that are deleted, by stream and byte offset."""
    superseded: DataFrame | None = None
    """Published records that are deleted, the columns PLACE."""


# ---- old rejects ----------------------------------------------------------------------------------------------------
def reparse_rejects(warehouse: Warehouse, settings: Settings, say: Say) -> NewInput:
    """Parse the published rejects by today's rules, from the table alone; those that are events now move, and their
    streams' accounts with them."""
    rows = {row["file_id"]: row.asDict(recursive=True) for row in warehouse.current("log_files").collect()}
    streams = [(i, row["format"], row["time_zone"]) for i, row in rows.items() if row["reject_lines"] and row["format"]]
    if not streams:
        say("there are no rejects to read again")
        return NewInput(())
    spark = warehouse.spark
    rejects = warehouse.current("rejects")
    formats = spark.createDataFrame(streams, "file_id string, format string, time_zone string")
    parsed = parse_rejects(rejects.select(*READ).join(F.broadcast(formats), "file_id")).persist()
    try:
        events = parsed.where("record = 'event'")
        size, head = F.col("size_bytes"), F.col("head_bytes")
        sums = events.groupBy("file_id").agg(F.count(F.lit(1)), F.sum(head), F.sum(size - head)).collect()
        if not sums:
            count = sum(row["reject_lines"] for row in rows.values())
            say(f"today's rules match none of the {count:,} rejects")
            return NewInput(())
        fields = F.col("fields")
        accounts = parsed.where("record = 'account'").select("file_id", fields["versions"], fields["drift"]).collect()
        for file_id, lines, event_bytes, detail_bytes in sums:
            row = rows[file_id]
            row["event_lines"] += lines
            row["reject_lines"] -= lines
            row["event_bytes"] += event_bytes
            row["detail_bytes"] += detail_bytes
            row["reject_bytes"] -= event_bytes + detail_bytes
            row["last_record"] = None
            ranges = {part for stream, text, _ in accounts if stream == file_id for part in text.split(",") if part}
            drift = (Counter(counts(text)) for stream, _, text in accounts if stream == file_id)
            row["drift"] = dict(sum(drift, Counter(row["drift"] or {})))
            row["kafka_versions"] = release_range(ranges | ({row["kafka_versions"]} - {None}))
        clusters = spark.createDataFrame(
            [(i, row["cluster"]) for i, row in rows.items()], "file_id string, cluster string"
        )
        changes = Changes(
            rows,
            events.join(F.broadcast(clusters), "file_id").select(*EVENTS.columns),
            rejects.join(events.select(*PLACE), PLACE, "left_anti"),
            are_all_rejects=True,
        )
        write_changes(warehouse, changes, settings)
    finally:
        parsed.unpersist()
    say(f"{sum(lines for _, lines, *_ in sums):,} rejects are events now")
    return NewInput(tuple(sorted({rows[file_id]["cluster"] for file_id, *_ in sums})), written=None)


# ---- logs -----------------------------------------------------------------------------------------------------------
def ingest(
    warehouse: Warehouse,
    sources: Sequence[Source],
    settings: Settings,
    cluster: str,
    run_id: str,
    say: Say,
    progress: Progress = SILENT,
) -> NewInput:
    """Read what is new in files into the tables that hold records and streams.

    A file that cannot be read, or that changes while it is read, is reported and noted, the others are read. Raises
    BadInput if none is a log; then nothing was written.
    """
    published = {row["file_id"]: row.asDict(recursive=True) for row in warehouse.current("log_files").collect()}
    plan = plan_reading(warehouse.spark, sources, published, settings, cluster, run_id, say, progress)
    rows = plan.rows
    if rows == published and warehouse.exists(LOG_COVERAGE.name):
        return NewInput(())
    if not plan.to_read:
        write_changes(warehouse, Changes(rows), settings)
        return NewInput((), has_new_names=True)
    size = plan.size
    say(f"reading {len(plan.to_read)} streams, {size / 1e6:.1f} MB")
    size_session(warehouse.spark, sum(row["size_bytes"] for row in rows.values()))
    with shown_while_read(warehouse.spark, progress, "ingest, reading logs", size) as bytes_read:
        read = _read(warehouse, plan, published, bytes_read)
    try:
        for sentence in read.changed:
            say(sentence)
        if not plan.to_read:
            write_changes(warehouse, Changes(rows), settings)
            return NewInput((), has_new_names=True)
        moved = _write_read(warehouse, plan, read, published, settings, progress)
    finally:
        read.parsed.unpersist()
    return _new_input(plan, moved, size)


@dataclass(frozen=True)
class _Read:
    """What was read: PARSED, the accounts of all streams from their begin on, and sentences about files that changed
    meanwhile."""

    parsed: DataFrame
    accounts: list[Account]
    changed: list[str]


def _read(warehouse: Warehouse, plan: ReadPlan, published: Mapping[str, LogFileRow], bytes_read: BytesRead) -> _Read:
    """Read what is planned; then as a whole what turns out not to go on from where it was left."""
    spark = warehouse.spark
    parsed = read_ranges(spark, plan.tasks(plan.to_read), bytes_read).persist(StorageLevel.DISK_ONLY)
    accounts, changed = accounts_of(parsed)
    sentences = plan.postpone(changed, published)
    if plan.grown:
        records = (warehouse.current(name) for name in ("events", "rejects"))
        if anew := not_going_on(plan, accounts, parsed, *records):
            for file_id in anew:
                del plan.grown[file_id]
            again = read_ranges(spark, plan.tasks(sorted(anew)), bytes_read)
            both = parsed.where(~F.col("file_id").isin(sorted(anew))).unionByName(again)
            both = both.persist(StorageLevel.DISK_ONLY)
            accounts, changed = accounts_of(both)
            parsed.unpersist()
            parsed, sentences = both, [*sentences, *plan.postpone(changed & plan.to_read.keys(), published)]
    return _Read(parsed, [*published_accounts(plan), *accounts], sentences)


def _write_read(
    warehouse: Warehouse,
    plan: ReadPlan,
    read: _Read,
    published: Mapping[str, LogFileRow],
    settings: Settings,
    progress: Progress,
) -> Collection[str]:
    """Write what was read, but for records that are there already; the streams of which other streams have records."""
    rows, parsed = plan.rows, read.parsed
    nodes = account_for(read.accounts, rows, plan.to_read)
    complete_last_records(rows, read.accounts, plan.to_read)
    compared = compared_streams(rows, nodes, plan.to_read)
    compared = [stream for stream in compared if stream.file_id not in plan.grown]  # they cross no other one
    crossing = crossing_streams(parsed, warehouse.current("events"), warehouse.current("rejects"), compared)
    overlaps = find_overlaps(crossing)
    try:
        for file_id, moved in overlaps.moved.items():
            subtract_moved(rows[file_id], moved)
            rows[file_id]["last_record"] = None
        records = _with_nodes(parsed, plan, nodes)
        if overlaps.duplicates is not None:
            records = records.join(overlaps.duplicates, PLACE, "left_anti")
        last = last_records(plan, parsed)
        if last.same:
            same = frame(warehouse.spark, last.same, file_id=TEXT, byte_offset=LONG)
            records = records.join(F.broadcast(same), ["file_id", "byte_offset"], "left_anti")
        rejects = records.where("record = 'reject'")
        rejects = rejects.withColumns({"reason": F.col("event_type"), "raw": F.col("message")})
        changes = Changes(
            rows,
            records.where("record = 'event'").select(*EVENTS.columns),
            rejects.select(*REJECTS.columns),
            replaced=(plan.to_read.keys() - plan.grown.keys()) & published.keys(),
            replaced_records=last.changed,
            superseded=overlaps.superseded,
        )
        with progress.step("ingest, writing", len(TABLES), "tables", lambda: len(warehouse.written)):
            write_changes(warehouse, changes, settings)
    finally:
        overlaps.unpersist()
    return overlaps.moved


def _with_nodes(parsed: DataFrame, plan: ReadPlan, nodes: Nodes) -> DataFrame:
    """The records of PARSED with their cluster, and with the default node where they name none."""
    defaults = [
        (file_id, plan.rows[file_id]["cluster"], channel, node)
        for file_id in sorted(plan.to_read)
        for channel, node in nodes[file_id].items()
    ]
    by_stream = parsed.sparkSession.createDataFrame(
        defaults, "file_id string, cluster string, channel string, default_node int"
    )
    records = parsed.where("record <> 'account'").join(F.broadcast(by_stream), ["file_id", "channel"])
    return records.withColumn("node_id", F.coalesce("node_id", "default_node"))


# ---- both -----------------------------------------------------------------------------------------------------------
def write_changes(warehouse: Warehouse, changes: Changes, settings: Settings) -> None:
    """Delete records that are replaced, write the others, then LOG_FILES and LOG_COVERAGE."""
    conditions = [f"file_id = '{file_id}' AND byte_offset = {at}" for file_id, at in sorted(changes.replaced_records)]
    if changes.replaced:
        conditions.append("file_id IN (" + ", ".join(f"'{file_id}'" for file_id in sorted(changes.replaced)) + ")")
    if conditions:
        condition = " OR ".join(conditions)
        warehouse.delete(EVENTS, condition)
        warehouse.delete(REJECTS, condition)
    if changes.superseded is not None:
        warehouse.delete_rows(EVENTS, changes.superseded)
        warehouse.delete_rows(REJECTS, changes.superseded)
    appends = bool(warehouse.versions)
    if changes.events is not None:
        warehouse.write(EVENTS, changes.events, append=appends)
    if changes.rejects is not None:
        warehouse.write(REJECTS, changes.rejects, append=appends and not changes.are_all_rejects)
    write_streams(warehouse, changes.rows, settings)


def write_streams(warehouse: Warehouse, rows: Mapping[str, LogFileRow], settings: Settings) -> None:
    """Write LOG_FILES, whose rows these are by file id, and LOG_COVERAGE."""
    spark = warehouse.spark
    streams = [tuple(rows[file_id][name] for name in LOG_FILES.columns) for file_id in sorted(rows)]
    by_cluster: defaultdict[str, list[CoverageSpan]] = defaultdict(list)
    for row in rows.values():
        by_cluster[row["cluster"]] += [CoverageSpan(*span.values()) for span in row["spans"] or ()]
    coverage = [
        (name, *span)
        for name, spans in sorted(by_cluster.items())
        for span in merged_coverage(spans, settings.coverage_tolerance)
    ]
    with ThreadPoolExecutor(2) as pool:
        writes = [
            pool.submit(warehouse.write, table, spark.createDataFrame(tuples, table.schema), cache=True)
            for table, tuples in ((LOG_FILES, streams), (LOG_COVERAGE, coverage))
        ]
        for write in writes:
            write.result()


def _new_input(plan: ReadPlan, moved: Collection[str], bytes_read: int) -> NewInput:
    """What was read; `moved`: streams of which other streams have records, so that published ones may be deleted."""
    changed = {plan.rows[file_id]["cluster"] for file_id in moved}
    clusters = {plan.rows[file_id]["cluster"] for file_id in plan.to_read}
    sizes: Counter[str] = Counter()
    for row in plan.rows.values():
        sizes[row["cluster"]] += row["size_bytes"]
    streams_read = {
        name: {
            file_id: plan.first_line(file_id)
            for file_id in sorted(plan.to_read)
            if plan.rows[file_id]["cluster"] == name
        }
        for name in clusters - changed
        if sizes[name] >= WORTH_BYTES
    }
    written = tuple(_written(plan, file_id) for file_id in sorted({*plan.to_read, *moved}))
    return NewInput(
        tuple(sorted(clusters | changed)), len(plan.to_read), bytes_read, streams_read=streams_read, written=written
    )


def _written(plan: ReadPlan, file_id: str) -> WrittenStream:
    """What was written of a stream."""
    cluster = plan.rows[file_id]["cluster"]
    if file_id not in plan.grown:
        return WrittenStream(cluster, file_id)
    before = account_before(plan.grown[file_id])
    return WrittenStream(
        cluster,
        file_id,
        plan.first_line(file_id),
        int(before["event_bytes"]) + int(before["detail_bytes"]),
        int(before["event_lines"]),
        int(before["reject_bytes"]),
        int(before["reject_lines"]),
    )
