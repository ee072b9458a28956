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

Only streams that cross in time, logger and node, and of which one is new, are compared. Usually there are none: the
streams' first and last times show that, or else one aggregate over those streams. Which streams those are is in
`jobs.ingest.crossing_streams`, how their records are compared in `jobs.ingest.equal_records`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.ingest.crossing_streams import (
    ComparedStream,
    StreamPair,
    StreamSpan,
    crossing_pairs,
    is_overlap,
    ordered,
    windows,
)
from jobs.ingest.equal_records import (
    KEY,
    PLACE,
    TruncatedRecord,
    comparable_records,
    extents_of,
    frame,
    matches_of,
    to_copies,
    truncated_records,
    within,
)
from schemas.spark import LONG, TEXT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


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


def find_overlaps(
    parsed: DataFrame, events: DataFrame, rejects: DataFrame, streams: Iterable[ComparedStream]
) -> Overlaps:
    """The records of this run that other streams have, too, and published ones that this run's replace.

    `parsed` are this run's records (udfs.arrow.schema.SCHEMA), `events` and `rejects` the published tables; of these,
    rows of streams that are new or not in `streams` are ignored, so those of an appended stream may still be there.
    """
    by_id = {stream.file_id: stream for stream in streams}
    pairs = crossing_pairs(
        StreamSpan(s.file_id, (s.cluster,), s.nodes, s.first_at, s.last_at, s.is_new) for s in by_id.values()
    )
    if not pairs:
        return Overlaps()
    compared = {file_id for pair in pairs for file_id in pair}
    records = comparable_records(parsed, events, rejects, [s for s in by_id.values() if s.file_id in compared])
    extents = extents_of(records)
    pairs &= crossing_pairs(
        StreamSpan(file_id, (by_id[file_id].cluster, logger), by_id[file_id].nodes, *times, by_id[file_id].is_new)
        for file_id, extent in extents.items()
        for logger, times in extent.loggers.items()
    )
    if not pairs:
        return Overlaps()
    crossing = within(records, windows(pairs, extents))
    slim = crossing.drop("level", "text", "detail", "end").persist()
    try:
        copies = to_copies(slim, pairs).persist()
        truncated = truncated_records(crossing, pairs, extents)
        matches = matches_of(records, copies, extents, truncated)
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
    are_new = {by_id[file_id].is_new for file_id in moved}
    return Overlaps(duplicates if True in are_new else None, superseded if False in are_new else None, moved, dropped)


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
    places = [(t.file_id, t.byte_offset) for t in truncated if ordered(t.file_id, t.other_id) in are_accepted]
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
