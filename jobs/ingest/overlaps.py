"""Overlapping excerpts of one stream add exactly their new records.

`tail -n`, `kubectl logs --since` called twice, bundles trimmed at the head, rotated files and their concatenation: such
streams share records, though neither is a prefix of the other. What makes two records the same one:

- Of one node, records of two streams with equal time, level, logger, message and further lines are the same record,
  wherever in the streams they stand: a node has one file a logger, so nothing else writes them twice. (Two streams also
  share records if a logger has two appenders, a file and the console; those are the same records, too.) In all
  captures, no two streams of one node share a record that is not a copy, though one stream repeats records within a
  millisecond, up to 2 % of them. Therefore
- equal records within one stream are several: of a record that streams have 1, 2 and 2 times there are 2.
- Streams whose records name other nodes, or name none and lie in folders of other nodes, never share any. Brokers log
  the same texts in the same millisecond (up to 8 records a pair of files in the captures).
- Where neither a record nor its stream names a node, or where streams meet in no more than a second (a rotation may
  fall between two equal records), two excerpts are one stream's only if their equal records are a run that begins with
  the first record of one of them and ends with the last one of one of them, as a common piece of one stream must,
  or that both begin with, or that is longer than chance could make it.
- A last record that is truncated in its further lines is the same record as the one that continues it.
- A file that was replaced by another with the same beginning, one kilobyte or more: records of the common beginning
  have the same times, so they were logged once, and count once; all that follow are new. (The file is a new stream.)
- Records without a time (of a metadata snapshot) are never compared, nor are streams of different clusters. Times are
  those that ingest read: an excerpt that begins in a repeated hour may be an hour off, and is then not recognised.

Which copy stays: one that knows its node before one that does not; then the published one; then that of the stream that
repeats it most often; then that of the smaller file id. So published rows move only when a new stream has more of a
record than they have: its node, or its end. The rows that stay have the same content in whatever order streams come.

Only streams that cross in time, logger and node, and of which one is new, are compared; usually there are none. Which
streams those are is in `jobs.ingest.crossing_streams`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.ingest.crossing_streams import PLACE, Crossing, StreamExtent, StreamPair, frame
from schemas.spark import LONG, TEXT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KEY = ["cluster", "at", "logger", "digest"]
"""Columns in which equal records agree."""
_ALIKE = ["cluster", "at", "logger", "is_event", "level"]
"""Columns in which a truncated record agrees with the whole one."""
LONG_RUN = 16
"""Equal records in a row that no two nodes log by chance, whatever stands at the ends (a truncated record, say)."""


@dataclass(frozen=True)
class MovedRecords:
    """Records of a stream that turned out to be another's: its numbers lose them, and `duplicate_bytes` gains their
    bytes.
    """

    event_bytes: int = 0
    detail_bytes: int = 0
    reject_bytes: int = 0
    event_lines: int = 0
    reject_lines: int = 0

    @property
    def duplicate_bytes(self) -> int:
        """All bytes."""
        return self.event_bytes + self.detail_bytes + self.reject_bytes


def subtract_moved(row: dict[str, Any], moved: MovedRecords) -> None:
    """Move records that another stream has to `duplicate_bytes` of a LOG_FILES row."""
    for name in ("event_bytes", "detail_bytes", "reject_bytes", "event_lines", "reject_lines"):
        row[name] -= getattr(moved, name)
    row["duplicate_bytes"] += moved.duplicate_bytes


@dataclass
class Overlaps:
    """Records that two streams have. Both frames have the columns PLACE; None: no rows.

    `duplicates` were read in this run and need not be written; `superseded` are published ones, of which this run
    brought more. `moved` sums both by file id.
    """

    duplicates: DataFrame | None = None
    superseded: DataFrame | None = None
    moved: dict[str, MovedRecords] = field(default_factory=dict)
    _persisted: DataFrame | None = None

    def unpersist(self) -> None:
        """Free what the frames are computed from; call it when they are written."""
        if self._persisted is not None:
            self._persisted.unpersist()


def find_overlaps(crossing: Crossing | None) -> Overlaps:
    """The records of this run that other streams have, too, and published ones that this run's replace."""
    if crossing is None:
        return Overlaps()
    slim = crossing.crossing_records.drop("level", "text", "detail", "end").persist()
    try:
        copies = to_copies(slim, crossing.pairs).persist()
        truncated = truncated_records(crossing.crossing_records, crossing.pairs, crossing.extents)
        matches = matches_of(crossing, copies, truncated)
        accepted = sorted(pair for pair, match in matches.items() if is_overlap(match))
        dropped = _to_dropped(slim, copies, accepted, truncated).persist()
        moved = _moved_records(dropped) if accepted else {}
    finally:
        slim.unpersist()
        copies.unpersist()
    if not moved:
        dropped.unpersist()
        return Overlaps()
    duplicates, superseded = dropped.where("is_new").select(*PLACE), dropped.where("NOT is_new").select(*PLACE)
    are_new = {crossing.streams[file_id].is_new for file_id in moved}
    return Overlaps(duplicates if True in are_new else None, superseded if False in are_new else None, moved, dropped)


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

    @property
    def pair(self) -> StreamPair:
        """The two streams."""
        return min(self.file_id, self.other_id), max(self.file_id, self.other_id)


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


@dataclass(frozen=True)
class StreamMatch:
    """How the equal records of two streams a and b lie in them; pairs of flags are of (a, b)."""

    same_node: bool
    """Of one of the records, both streams know the node."""
    wide: bool
    """The streams cross for more than NARROW_MICROS."""
    begins: tuple[bool, bool]
    """The first record is one of them."""
    ends: tuple[bool, bool]
    """The last record is one of them."""
    unbroken: tuple[bool, bool]
    """No other record stands between them."""
    length: int
    """How many they are, in the stream that has fewer."""


@dataclass
class _Run:
    """The equal records of two streams: by stream their first and last byte offset, and how many they are."""

    same_node: bool
    places: dict[str, list[int]]

    def add(self, file_id: str, byte_offset: int) -> None:
        first, last, count = self.places.get(file_id, (byte_offset, byte_offset, 0))
        self.places[file_id] = [min(first, byte_offset), max(last, byte_offset), count + 1]


def matches_of(
    crossing: Crossing, copies: DataFrame, truncated: list[TruncatedRecord]
) -> dict[StreamPair, StreamMatch]:
    """How the equal records of any two streams lie in them. A truncated record counts as equal to the one that
    continues it.
    """
    runs = _runs(copies, truncated)
    extents = crossing.extents
    unsure = [pair for pair, run in runs.items() if not (run.same_node and pair in crossing.wide)]
    counts = _counts(crossing.records, {pair: runs[pair].places for pair in unsure})
    matches: dict[StreamPair, StreamMatch] = {}
    for pair, run in runs.items():
        places = [run.places[file_id] for file_id in pair]
        begins = [first == extents[f].first for f, (first, _, _) in zip(pair, places, strict=True)]
        ends = [last == extents[f].last for f, (_, last, _) in zip(pair, places, strict=True)]
        unbroken = [counts.get((pair, f)) == count for f, (_, _, count) in zip(pair, places, strict=True)]
        matches[pair] = StreamMatch(
            run.same_node,
            pair in crossing.wide,
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
        run = runs.setdefault(record.pair, _Run(False, {}))
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


def is_overlap(match: StreamMatch) -> bool:
    """Whether the equal records of two streams are the same records, by the rules above."""
    if match.same_node and match.wide:
        return True
    touches = (any(match.begins) and any(match.ends)) or all(match.begins)
    is_long = all(match.unbroken) and match.length >= LONG_RUN
    return any(match.unbroken) and (touches or is_long)


def _to_dropped(
    records: DataFrame, copies: DataFrame, accepted: list[StreamPair], truncated: list[TruncatedRecord]
) -> DataFrame:
    """The records that do not stay, of new streams and published ones: PLACE, is_new, is_event, size_bytes, head_bytes.

    Of a record each stream keeps as many as are left when those that come first in order have been taken: published
    ones together (they were counted before), of new streams the one that has it most often.
    """
    spark = records.sparkSession
    both_ways = [pair for a, b in accepted for pair in ((a, b), (b, a))]
    are_same = frame(spark, both_ways, file_id=TEXT, other_id=TEXT)
    rank, other_rank = _rank("node", "is_new"), _rank("other_node", "other_is_new")
    goes_first = (other_rank < rank) | (
        (other_rank == rank) & F.expr("other_copies > copies OR (other_copies = copies AND other_id < file_id)")
    )
    elsewhere = (
        copies.join(F.broadcast(are_same), ["file_id", "other_id"])
        .where(goes_first)
        .groupBy(*KEY, "file_id")
        .agg(
            F.sum(F.expr("if(other_is_new, 0, other_copies)")).alias("published"),
            F.max(F.expr("if(other_is_new, other_copies, 0)")).alias("new"),
        )
        .select(*KEY, "file_id", F.greatest("published", "new").alias("elsewhere"))
    )
    in_order = Window.partitionBy(*KEY, "file_id").orderBy("byte_offset")
    columns = [*PLACE, "is_new", "is_event", "size_bytes", "head_bytes"]
    numbered = records.join(elsewhere, [*KEY, "file_id"]).withColumn("number", F.row_number().over(in_order))
    are_accepted = set(accepted)
    places = [(t.file_id, t.byte_offset) for t in truncated if t.pair in are_accepted]
    shorter = records.join(
        F.broadcast(frame(spark, places, file_id=TEXT, byte_offset=LONG)), ["file_id", "byte_offset"]
    )
    return numbered.where("number <= elsewhere").select(columns).unionByName(shorter.select(columns)).distinct()


def _rank(node: str, is_new: str) -> Column:
    """0 a published record that knows its node, 1 a new one, 2 a published record that does not, 3 a new one."""
    return F.expr(f"if({node} IS NULL, 2, 0) + if({is_new}, 1, 0)")


def _moved_records(dropped: DataFrame) -> dict[str, MovedRecords]:
    """What each stream loses."""
    sums = (
        F.sum(F.expr("if(is_event, head_bytes, 0)")),
        F.sum(F.expr("if(is_event, size_bytes - head_bytes, 0)")),
        F.sum(F.expr("if(is_event, 0, size_bytes)")),
        F.sum(F.expr("if(is_event, 1, 0)")),
        F.sum(F.expr("if(is_event, 0, 1)")),
    )
    return {row[0]: MovedRecords(*row[1:]) for row in dropped.groupBy("file_id").agg(*sums).collect()}
