"""Equal records of streams that cross: what makes two records equal, and how those of two streams lie in them.

Each function is a stage of `jobs.ingest.overlaps.find_overlaps`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.ingest.crossing_streams import ComparedStream, StreamExtent, StreamMatch, StreamPair, is_wide, ordered
from schemas.spark import FLAG, INT, LONG, TEXT, struct

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

KEY = ["cluster", "at", "logger", "digest"]
"""Columns in which equal records agree."""
PLACE = ["file_id", "line", "byte_offset"]
"""Columns that name a record."""
_ALIKE = ["cluster", "at", "logger", "is_event", "level"]
"""Columns in which a truncated record agrees with the whole one."""


def frame(spark: SparkSession, rows: list[tuple[Any, ...]], **columns: T.DataType) -> DataFrame:
    """A small frame from the driver's rows."""
    return spark.createDataFrame(rows, struct(**columns))


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


def to_copies(records: DataFrame, pairs: set[StreamPair]) -> DataFrame:
    """Records, the columns KEY, PLACE, node, is_new -> KEYs that two crossing streams have.

    KEY, file_id, copies (how often the stream has it), first, last (byte offsets), node, is_new; and of the other
    stream other_id, other_copies, other_first, ... Both ways round; not where the two name different nodes.
    """
    counted = records.groupBy(*KEY, "file_id").agg(
        F.count("*").alias("copies"),
        F.min("byte_offset").alias("first"),
        F.max("byte_offset").alias("last"),
        F.max("node").alias("node"),
        F.first("is_new").alias("is_new"),
    )
    of_key = Window.partitionBy(*KEY).rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    several = counted.withColumn("streams", F.count("*").over(of_key)).where("streams > 1").drop("streams")
    other = several.select(
        *KEY, *(F.col(c).alias(f"other_{c}") for c in several.columns if c == "file_id" or c not in KEY)
    )
    other = other.withColumnRenamed("other_file_id", "other_id")
    crossing = frame(records.sparkSession, sorted(pairs), file_id=TEXT, other_id=TEXT)
    both = crossing.unionByName(crossing.select(F.col("file_id").alias("other_id"), F.col("other_id").alias("file_id")))
    return (
        several.join(other, KEY)
        .join(F.broadcast(both), ["file_id", "other_id"])
        .where("node = other_node OR node IS NULL OR other_node IS NULL")
    )


@dataclass(frozen=True)
class TruncatedRecord:
    """The last record of a stream, and the record of another stream that continues it."""

    file_id: str
    byte_offset: int
    other_id: str
    other_offset: int
    same_node: bool


def truncated_records(
    records: DataFrame, pairs: set[StreamPair], extents: Mapping[str, StreamExtent]
) -> list[TruncatedRecord]:
    """Last records of streams that end where their stream ends, and what continues them in a crossing stream.

    A stream of several nodes may end within a record of each. An event is continued in its further lines, a reject
    wherever it ends. The longer one must not be in both streams; of several in the other stream it is the first.
    """
    spark = records.sparkSession
    file_ids = sorted({file_id for pair in pairs for file_id in pair})
    lasts = sorted({(file_id, last) for file_id in file_ids for last in extents[file_id].lasts.values()})
    ends = frame(spark, lasts, short_id=TEXT, short_offset=LONG)
    both = frame(spark, [*pairs, *((b, a) for a, b in pairs)], short_id=TEXT, file_id=TEXT)
    short = (
        records.where("byte_offset + size_bytes >= end")
        .withColumnsRenamed({"file_id": "short_id", "byte_offset": "short_offset"})
        .withColumnsRenamed({"text": "short_text", "detail": "short_detail", "node": "short_node"})
        .join(F.broadcast(ends), ["short_id", "short_offset"])
        .join(F.broadcast(both), "short_id")
        .select(*_ALIKE, "file_id", "short_id", "short_offset", "short_text", "short_detail", "short_node")
    )
    continues = F.when(
        F.col("is_event"), (F.col("text") == F.col("short_text")) & F.col("detail").startswith(F.col("short_detail"))
    ).otherwise(F.col("text").startswith(F.col("short_text")))
    is_longer = F.length("text") + F.length("detail") > F.length("short_text") + F.length("short_detail")
    candidates = (
        records.join(F.broadcast(short), [*_ALIKE, "file_id"])
        .where(continues & is_longer & F.expr("node = short_node OR node IS NULL OR short_node IS NULL"))
        .select("short_id", "short_offset", "file_id", "byte_offset", F.expr("node <=> short_node"), *KEY)
        .collect()
    )
    if not candidates:
        return []
    keys = [(row[0], *row[5:]) for row in candidates]
    table = frame(spark, keys, file_id=TEXT, cluster=TEXT, at=LONG, logger=TEXT, digest=LONG)
    by_key = records.join(F.broadcast(table.distinct()), ["file_id", *KEY]).select("file_id", *KEY).distinct()
    in_both = {tuple(row) for row in by_key.collect()}
    truncated: dict[tuple[str, int, str], TruncatedRecord] = {}
    for row in sorted(candidates, key=lambda row: row[3]):
        if (row[0], *row[5:]) not in in_both:
            truncated.setdefault((row[0], row[1], row[2]), TruncatedRecord(*row[:5]))
    return [truncated[place] for place in sorted(truncated)]


@dataclass
class _Run:
    """The equal records of two streams: by stream their first and last byte offset, and how many they are."""

    same_node: bool
    places: dict[str, list[int]]

    def add(self, file_id: str, byte_offset: int) -> None:
        first, last, count = self.places.get(file_id, (byte_offset, byte_offset, 0))
        self.places[file_id] = [min(first, byte_offset), max(last, byte_offset), count + 1]


def matches_of(
    records: DataFrame, copies: DataFrame, extents: Mapping[str, StreamExtent], truncated: list[TruncatedRecord]
) -> dict[StreamPair, StreamMatch]:
    """How the equal records of any two streams lie in them. A truncated record counts as equal to the one that
    continues it.
    """
    runs = _runs(copies, truncated)
    wide = {pair: is_wide(pair, extents) for pair in runs}
    unsure = [pair for pair, run in runs.items() if not (run.same_node and wide[pair])]
    counts = _counts(records, {pair: runs[pair].places for pair in unsure})
    matches: dict[StreamPair, StreamMatch] = {}
    for pair, run in runs.items():
        places = [run.places[file_id] for file_id in pair]
        begins = [first == extents[f].first for f, (first, _, _) in zip(pair, places, strict=True)]
        ends = [last == extents[f].last for f, (_, last, _) in zip(pair, places, strict=True)]
        unbroken = [counts.get((pair, f)) == count for f, (_, _, count) in zip(pair, places, strict=True)]
        matches[pair] = StreamMatch(
            run.same_node,
            wide[pair],
            (begins[0], begins[1]),
            (ends[0], ends[1]),
            (unbroken[0], unbroken[1]),
            min(count for _, _, count in places),
        )
    return matches


def _runs(copies: DataFrame, truncated: list[TruncatedRecord]) -> dict[StreamPair, _Run]:
    """By pair of streams their equal records, truncated ones included."""
    measures = [F.expr("max(coalesce(node = other_node, false))")]
    for side in ("", "other_"):
        measures += [F.min(f"{side}first"), F.max(f"{side}last"), F.sum(f"{side}copies")]
    runs: dict[StreamPair, _Run] = {}
    for row in copies.where("file_id < other_id").groupBy("file_id", "other_id").agg(*measures).collect():
        runs[row[0], row[1]] = _Run(row[2], {row[0]: list(row[3:6]), row[1]: list(row[6:9])})
    for record in truncated:
        run = runs.setdefault(ordered(record.file_id, record.other_id), _Run(False, {}))
        run.same_node = run.same_node or record.same_node
        run.add(record.file_id, record.byte_offset)
        run.add(record.other_id, record.other_offset)
    return runs


def _counts(
    records: DataFrame, runs: Mapping[StreamPair, Mapping[str, list[int]]]
) -> dict[tuple[StreamPair, str], int]:
    """For any two streams how many records each has in its run, equal ones and others."""
    if not runs:
        return {}
    places = [
        (*pair, file_id, first, last) for pair, by_file in runs.items() for file_id, (first, last, _) in by_file.items()
    ]
    table = frame(records.sparkSession, places, a=TEXT, b=TEXT, file_id=TEXT, first=LONG, last=LONG)
    inside = records.join(F.broadcast(table), "file_id").where("byte_offset BETWEEN first AND last")
    return {((a, b), file_id): count for a, b, file_id, count in inside.groupBy("a", "b", "file_id").count().collect()}
