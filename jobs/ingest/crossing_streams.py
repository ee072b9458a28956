"""Which streams may be excerpts of one, by their times, loggers and nodes; and their records where they cross.

First by a few numbers of each stream, then by one aggregate over the streams that are left; `jobs.ingest.overlaps` says
by what rules, and compares the records.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemas.spark import FLAG, INT, LONG, TEXT, struct

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PLACE = ["file_id", "line", "byte_offset"]
"""Columns that name a record."""
NARROW_MICROS = 1_000_000
"""Streams that cross for no longer may just meet: time stamps of some layouts have no more than seconds."""
StreamPair = tuple[str, str]
"""Two streams, the smaller file id first."""


@dataclass(frozen=True)
class ComparedStream:
    """What is known of a stream before its records are compared with those of others. Times are microseconds, UTC."""

    file_id: str
    cluster: str
    nodes: frozenset[int]
    """Those that may have written it; empty: unknown."""
    node: int | None
    """That of its records that name none."""
    first_at: int
    last_at: int
    end: int
    """Byte at which its last record ends."""
    is_new: bool
    """Whether it was read in this run: its records are not the published ones."""


def compared_streams(
    rows: Mapping[str, Mapping[str, Any]], nodes: Mapping[str, Mapping[str, int | None]], new: Collection[str]
) -> list[ComparedStream]:
    """All streams whose records have times: of LOG_FILES rows by file id, of which some are `new`.

    `nodes`: by stream and channel the node of records that name none.
    """
    streams = []
    for file_id, row in rows.items():
        node = next(iter(nodes[file_id].values())) if len(nodes[file_id]) == 1 else None
        streams.append(compared_stream(row, node, is_new=file_id in new))
    return [stream for stream in streams if stream]


def compared_stream(row: Mapping[str, Any], node: int | None, *, is_new: bool) -> ComparedStream | None:
    """The stream of a LOG_FILES row; None if none of its records has a time.

    `node` is that of records that name none. A metadata dump has none: it is about the cluster, whoever printed it.
    """
    if row["first_at"] is None or row["last_at"] is None:
        return None
    if str(row["format"]).endswith("metadata_dump"):
        node = None
    nodes = frozenset(row["node_ids"]) or frozenset(() if node is None else (node,))
    end = row["size_bytes"] - row["held_back_bytes"]
    first_at, last_at = _micros(row["first_at"]), _micros(row["last_at"])
    return ComparedStream(row["file_id"], row["cluster"], nodes, node, first_at, last_at, end, is_new)


def _micros(at: datetime) -> int:
    in_utc = at.replace(tzinfo=at.tzinfo or UTC)
    return int(in_utc.timestamp()) * 1_000_000 + in_utc.microsecond


@dataclass(frozen=True)
class Crossing:
    """Streams that cross in time, logger and node, and of which one is new."""

    streams: Mapping[str, ComparedStream]
    """By file id."""
    pairs: set[StreamPair]
    wide: set[StreamPair]
    """Pairs that cross for more than NARROW_MICROS."""
    extents: Mapping[str, StreamExtent]
    """By file id."""
    records: DataFrame
    """All their records that have a time, see `comparable_records`."""
    crossing_records: DataFrame
    """Those within the times in which their stream crosses any other, with a `digest`, see `within`."""


def crossing_streams(
    parsed: DataFrame, events: DataFrame, rejects: DataFrame, streams: Iterable[ComparedStream]
) -> Crossing | None:
    """The streams of this run and published ones that cross; None if there are none.

    `parsed` are this run's records (udfs.arrow.schema.SCHEMA), `events` and `rejects` the published tables; of these,
    rows of streams that are new or not in `streams` are ignored, so those of an appended stream may still be there.
    """
    by_id = {stream.file_id: stream for stream in streams}
    pairs = crossing_pairs(
        StreamSpan(s.file_id, (s.cluster,), s.nodes, s.first_at, s.last_at, s.is_new) for s in by_id.values()
    )
    if not pairs:
        return None
    compared = {file_id for pair in pairs for file_id in pair}
    records = comparable_records(parsed, events, rejects, [s for s in by_id.values() if s.file_id in compared])
    extents = extents_of(records)
    pairs &= crossing_pairs(
        StreamSpan(file_id, (by_id[file_id].cluster, logger), by_id[file_id].nodes, *times, by_id[file_id].is_new)
        for file_id, extent in extents.items()
        for logger, times in extent.loggers.items()
    )
    if not pairs:
        return None
    times = {pair: common_times(pair, extents) for pair in pairs}
    wide = {pair for pair, (since, until) in times.items() if until - since > NARROW_MICROS}
    return Crossing(by_id, pairs, wide, extents, records, within(records, windows(times)))


@dataclass(frozen=True)
class StreamSpan:
    """A stretch of time in which a stream has records; those of different groups are never the same."""

    file_id: str
    group: tuple[str, ...]
    nodes: frozenset[int]
    first_at: int
    last_at: int
    is_new: bool


def crossing_pairs(spans: Iterable[StreamSpan]) -> set[StreamPair]:
    """Streams that cross in time and of which one is new; not those of different nodes."""
    groups: defaultdict[tuple[str, ...], defaultdict[int | None, list[StreamSpan]]]
    groups = defaultdict(lambda: defaultdict(list))
    for span in spans:
        for node in span.nodes or (None,):
            groups[span.group][node].append(span)
    pairs: set[StreamPair] = set()
    for by_node in groups.values():
        unnamed = by_node.pop(None, [])
        for named in by_node.values() if by_node else ([],):
            pairs |= _crossing([*named, *unnamed])
    return pairs


def _crossing(spans: list[StreamSpan]) -> set[StreamPair]:
    pairs: set[StreamPair] = set()
    open_spans: list[StreamSpan] = []
    for span in sorted(spans, key=lambda span: span.first_at):
        open_spans = [other for other in open_spans if other.last_at >= span.first_at]
        for other in open_spans:
            if (span.is_new or other.is_new) and span.file_id != other.file_id:
                pairs.add((min(span.file_id, other.file_id), max(span.file_id, other.file_id)))
        open_spans.append(span)
    return pairs


def comparable_records(
    parsed: DataFrame, events: DataFrame, rejects: DataFrame, streams: Iterable[ComparedStream]
) -> DataFrame:
    """The records of some streams that have a time, those of this run and published ones alike.

    PLACE, size_bytes, head_bytes, node, at (microseconds, UTC), logger, is_event, text, detail, level, cluster, end (of
    the stream; 0 if it has several nodes), is_new.
    """
    streams = list(streams)
    table = frame(
        parsed.sparkSession,
        [
            (s.file_id, s.cluster, bool(s.nodes), s.node, s.end if len(s.nodes) < 2 else 0, s.is_new)
            for s in streams
        ],
        file_id=TEXT, cluster=TEXT, is_named=FLAG, default_node=INT, end=LONG, is_new=FLAG,
    )  # fmt: skip
    published = sorted(stream.file_id for stream in streams if not stream.is_new)
    new = sorted(stream.file_id for stream in streams if stream.is_new)
    is_event = F.col("record") == "event"
    is_read = F.col("record").isin("event", "reject") & F.col("file_id").isin(new)
    records = _uniform(parsed.where(is_read), is_event, F.col("message"))
    if published:
        is_published = F.col("file_id").isin(published)
        rejected = rejects.where(is_published).withColumns(
            {"node_id": F.lit(None).cast(INT), "level": F.lit(None).cast(TEXT), "detail": F.lit(None).cast(TEXT)}
        )
        records = records.unionByName(_uniform(events.where(is_published), F.lit(True), F.col("message")))
        records = records.unionByName(_uniform(rejected, F.lit(False), F.col("raw")))
    return (
        records.where("at IS NOT NULL")
        .join(F.broadcast(table), "file_id")
        .withColumn("node", F.when(F.col("is_named"), F.coalesce("node", "default_node")))
        .drop("default_node", "is_named")
    )


def _uniform(rows: DataFrame, is_event: Column, message: Column) -> DataFrame:
    """Events and rejects of any origin in the same columns. A reject's text is the whole record, and has no node."""
    level, detail = F.when(is_event, F.col("level")), F.when(is_event, F.col("detail"))
    text = F.when(is_event, message).otherwise(F.regexp_replace(message, r"\n+$|\r", ""))
    size = F.col("size_bytes")
    estimated_head = F.when(detail.isNull(), size).otherwise(size - F.octet_length(detail) - 1)
    return rows.select(
        *PLACE,
        size,
        (F.col("head_bytes") if "head_bytes" in rows.columns else estimated_head).alias("head_bytes"),
        F.when(is_event, F.col("node_id")).alias("node"),
        F.unix_micros("at").alias("at"),
        F.coalesce("logger", F.lit("")).alias("logger"),
        is_event.alias("is_event"),
        text.alias("text"),
        F.regexp_replace(F.coalesce(detail, F.lit("")), "\r", "").alias("detail"),
        F.coalesce(level, F.lit("")).alias("level"),
    )


@dataclass
class StreamExtent:
    """Where the records of a stream lie: byte offsets of the first and the last one, of the last one by node, and
    times, microseconds, by logger."""

    first: int
    last: int
    lasts: dict[int | None, int] = field(default_factory=dict)
    loggers: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def first_at(self) -> int:
        """The earliest time."""
        return min(first_at for first_at, _ in self.loggers.values())

    @property
    def last_at(self) -> int:
        """The latest time."""
        return max(last_at for _, last_at in self.loggers.values())


def extents_of(records: DataFrame) -> dict[str, StreamExtent]:
    """Where the records of each stream lie: the one aggregate that most nights need."""
    bounds = [F.min("at"), F.max("at"), F.min("byte_offset"), F.max("byte_offset")]
    extents: dict[str, StreamExtent] = {}
    for file_id, logger, node, first_at, last_at, first, last in (
        records.groupBy("file_id", "logger", "node").agg(*bounds).collect()
    ):
        extent = extents.setdefault(file_id, StreamExtent(first, last))
        extent.first, extent.last = min(extent.first, first), max(extent.last, last)
        extent.lasts[node] = max(extent.lasts.get(node, 0), last)
        since, until = extent.loggers.get(logger, (first_at, last_at))
        extent.loggers[logger] = min(since, first_at), max(until, last_at)
    return extents


def common_times(pair: StreamPair, extents: Mapping[str, StreamExtent]) -> tuple[int, int]:
    """The first and the last time, microseconds, that two streams have in common."""
    a, b = (extents[file_id] for file_id in pair)
    return max(a.first_at, b.first_at), min(a.last_at, b.last_at)


def windows(times: Mapping[StreamPair, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """By stream the times, first and last, between which it crosses any other; `times` are by pair."""
    by_stream: dict[str, tuple[int, int]] = {}
    for pair, (since, until) in times.items():
        for file_id in pair:
            first, last = by_stream.get(file_id, (since, until))
            by_stream[file_id] = min(first, since), max(last, until)
    return by_stream


def within(records: DataFrame, times: Mapping[str, tuple[int, int]]) -> DataFrame:
    """The records within each stream's times, with a `digest` of is_event, level, text and detail."""
    spans = [(file_id, since, until) for file_id, (since, until) in times.items()]
    table = frame(records.sparkSession, spans, file_id=TEXT, since=LONG, until=LONG)
    return (
        records.join(F.broadcast(table), "file_id")
        .where("at BETWEEN since AND until")
        .withColumn("digest", F.xxhash64("is_event", "level", "text", "detail"))
        .drop("since", "until")
    )


def frame(spark: SparkSession, rows: list[tuple[Any, ...]], **columns: T.DataType) -> DataFrame:
    """A small frame from the driver's rows."""
    return spark.createDataFrame(rows, struct(**columns))
