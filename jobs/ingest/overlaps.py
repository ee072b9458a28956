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
- Where a record names no node and its stream neither, or where streams meet in no more than a second (a rotation may
  fall between two equal records), two excerpts are one stream's only if their equal records are a run that begins with
  the first record of one of them and ends with the last one of one of them, as a common piece of one stream must, or
  that both begin with, or that is longer than chance could make it.
- A last record that is cut in its further lines is the same record as the one that goes on.
- A file that was replaced by another with the same beginning, one kilobyte or more: records of the common beginning have
  the same times, so they were logged once, and count once; all that follow are new. (The file itself is a new stream.)
- Records without a time (of a metadata snapshot) are never compared. Streams of different clusters neither. Times are
  those that ingest read: an excerpt that begins in a repeated hour may be an hour off, and is then not known again.

Which copy stays: one that knows its node before one that does not; then the published one; then that of the stream that
repeats it most often; then that of the smaller file id. So published rows move only when a new stream has more of a
record than they have: its node, or its end. The rows that stay have the same content in whatever order streams come.

Only streams that cross in time, logger and node, and of which one is new, are compared. Usually there are none: that
is seen from the streams' first and last times, or else from one aggregate over those streams.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemas.spark import INT, LONG, TEXT, struct

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

LONG_RUN = 16
"""Equal records in a row that no two nodes log by chance, whatever stands at the ends (a record that was cut, say)."""
NARROW_MICROS = 1_000_000
"""Streams that cross for no longer may just meet: time stamps of some layouts have no more than seconds."""
KEY = ["cluster", "at", "logger", "digest"]
PLACE = ["file_id", "line", "byte_offset"]
_FLAG = T.BooleanType()


@dataclass(frozen=True)
class Stream:
    """What is known of a stream before its records are compared with others'. Times are microseconds, UTC."""

    file_id: str
    cluster: str
    nodes: frozenset[int]  # that may have written it; empty: unknown
    node: int | None  # of its records that name none
    first_at: int
    last_at: int
    end: int  # byte at which its last record ends
    is_new: bool  # read tonight: its records are not the published ones


def stream_of(row: Mapping[str, Any], node: int | None, *, is_new: bool) -> Stream | None:
    """The stream of a LOG_FILES row; None if no record of it has a time.

    `node` is that of records that name none. A metadata dump has none: it tells of the cluster, whoever printed it.
    """
    if row["first_at"] is None or row["last_at"] is None:
        return None
    if str(row["format"]).endswith("metadata_dump"):
        node = None
    named = frozenset(row["node_ids"]) or frozenset(() if node is None else (node,))
    end = row["size_bytes"] - row["held_back_bytes"]
    return Stream(
        row["file_id"], row["cluster"], named, node, _micros(row["first_at"]), _micros(row["last_at"]), end, is_new
    )


def _micros(at: datetime) -> int:
    whole = at.replace(tzinfo=at.tzinfo or UTC)
    return int(whole.timestamp()) * 1_000_000 + whole.microsecond


@dataclass(frozen=True)
class Moved:
    """What of a stream turned out to be another's: to be taken from its numbers, the bytes added to `duplicate_bytes`."""

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
    """Records that are there twice. Both frames have the columns PLACE; None: no rows.

    `duplicates` are tonight's and need not be written; `superseded` are published ones, of which tonight brought more.
    `moved` sums both by file id.
    """

    duplicates: DataFrame | None = None
    superseded: DataFrame | None = None
    moved: dict[str, Moved] = field(default_factory=dict)
    _cached: DataFrame | None = None

    def unpersist(self) -> None:
        """Free what the frames are computed from; call it when they are written."""
        if self._cached is not None:
            self._cached.unpersist()


def find_overlaps(
    spark: SparkSession, parsed: DataFrame, events: DataFrame, rejects: DataFrame, streams: Iterable[Stream]
) -> Overlaps:
    """The records of tonight's streams that other streams have, too, and published ones that tonight's replace.

    `parsed` are tonight's records (udfs.arrow.parse.SCHEMA), `events` and `rejects` the published tables; of these,
    rows of streams that are new or not in `streams` are not looked at, so those of a grown stream may still be there.
    """
    known = {stream.file_id: stream for stream in streams}
    crossing = pairs(Span(s.file_id, (s.cluster,), s.nodes, s.first_at, s.last_at, s.is_new) for s in known.values())
    if not crossing:
        return Overlaps()
    records = _records(spark, parsed, events, rejects, known, {file_id for pair in crossing for file_id in pair})
    extents = _extents(records)
    crossing = crossing & pairs(
        Span(file_id, (known[file_id].cluster, logger), known[file_id].nodes, first_at, last_at, known[file_id].is_new)
        for file_id, extent in extents.items()
        for logger, (first_at, last_at) in extent.loggers.items()
    )
    if not crossing:
        return Overlaps()
    shared = _shared(records, windows(crossing, extents))
    slim = shared.drop("level", "text", "detail", "end").persist()
    try:
        copies = _copies(slim, _frame(spark, sorted(crossing), file_id=TEXT, other_id=TEXT)).persist()
        cuts = _cuts(shared, crossing, extents)
        matches = _matches(records, copies, extents, cuts)
        accepted = sorted(pair for pair, match in matches.items() if is_overlap(match))
        found = _duplicates(slim, copies, accepted, cuts).persist()
        moved = _moved(found) if accepted else {}
    finally:
        slim.unpersist()
        copies.unpersist()
    if not moved:
        found.unpersist()
        return Overlaps()
    duplicates, superseded = found.where("is_new").select(*PLACE), found.where("NOT is_new").select(*PLACE)
    from_new = {known[file_id].is_new for file_id in moved}
    return Overlaps(duplicates if True in from_new else None, superseded if False in from_new else None, moved, found)


# ---- which streams to compare ----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Span:
    """A stretch of time in which a stream has records; of streams in different groups none are the same."""

    file_id: str
    group: tuple[str, ...]
    nodes: frozenset[int]
    first_at: int
    last_at: int
    is_new: bool


def pairs(spans: Iterable[Span]) -> set[tuple[str, str]]:
    """Streams that cross in time and of which one is new, the smaller file id first; not those of different nodes."""
    groups: defaultdict[tuple[str, ...], defaultdict[int | None, list[Span]]]
    groups = defaultdict(lambda: defaultdict(list))
    for span in spans:
        for node in span.nodes or (None,):
            groups[span.group][node].append(span)
    found: set[tuple[str, str]] = set()
    for by_node in groups.values():
        unnamed = by_node.pop(None, [])
        for some in by_node.values() if by_node else ([],):
            found |= _crossing([*some, *unnamed])
    return found


def _crossing(spans: list[Span]) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    open_: list[Span] = []
    for span in sorted(spans, key=lambda s: s.first_at):
        open_ = [other for other in open_ if other.last_at >= span.first_at]
        for other in open_:
            if (span.is_new or other.is_new) and span.file_id != other.file_id:
                found.add((min(span.file_id, other.file_id), max(span.file_id, other.file_id)))
        open_.append(span)
    return found


@dataclass
class Extent:
    """Where the records of a stream lie: byte offsets of the first and the last one, of the last one by node, and times,
    microseconds, by logger."""

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


def windows(crossing: Iterable[tuple[str, str]], extents: Mapping[str, Extent]) -> dict[str, tuple[int, int]]:
    """By stream the times, first and last, between which it crosses any other."""
    found: dict[str, tuple[int, int]] = {}
    for pair in crossing:
        since, until = _window(pair, extents)
        for file_id in pair:
            old = found.get(file_id, (since, until))
            found[file_id] = min(old[0], since), max(old[1], until)
    return found


def _window(pair: tuple[str, str], extents: Mapping[str, Extent]) -> tuple[int, int]:
    a, b = (extents[file_id] for file_id in pair)
    return max(a.first_at, b.first_at), min(a.last_at, b.last_at)


@dataclass(frozen=True)
class Match:
    """How the equal records of two streams a and b lie in them; pairs of flags are of (a, b)."""

    same_node: bool  # of one of them, both streams know the node
    wide: bool  # the streams cross for more than NARROW_MICROS
    begins: tuple[bool, bool]  # the first record is one of them
    ends: tuple[bool, bool]  # the last record is one of them
    unbroken: tuple[bool, bool]  # no other record stands between them
    length: int  # how many they are, in the one that has fewer


def is_overlap(match: Match) -> bool:
    """Whether the equal records of two streams are the same records, as the module's docstring says."""
    if match.same_node and match.wide:
        return True
    touches = (any(match.begins) and any(match.ends)) or all(match.begins)
    is_long = all(match.unbroken) and match.length >= LONG_RUN
    return any(match.unbroken) and (touches or is_long)


# ---- their records ---------------------------------------------------------------------------------------------------
def _records(
    spark: SparkSession,
    parsed: DataFrame,
    events: DataFrame,
    rejects: DataFrame,
    known: Mapping[str, Stream],
    wanted: set[str],
) -> DataFrame:
    """Kept records with a time of the wanted streams, tonight's and published ones alike: PLACE, what makes them equal."""
    table = _frame(
        spark,
        [
            (s.file_id, s.cluster, bool(s.nodes), s.node, s.end if len(s.nodes) < 2 else 0, s.is_new)
            for s in known.values()
            if s.file_id in wanted
        ],
        file_id=TEXT, cluster=TEXT, is_named=_FLAG, default_node=INT, end=LONG, is_new=_FLAG,
    )  # fmt: skip
    old = sorted(file_id for file_id in wanted if not known[file_id].is_new)
    is_event, new = F.col("record") == "event", sorted(wanted - set(old))
    found = _uniform(
        parsed.where(F.col("record").isin("event", "reject") & F.col("file_id").isin(new)), is_event, F.col("message")
    )
    if old:
        some = F.col("file_id").isin(old)
        rejected = rejects.where(some).withColumns(
            {"node_id": F.lit(None).cast(INT), "level": F.lit(None).cast(TEXT), "detail": F.lit(None).cast(TEXT)}
        )
        found = found.unionByName(_uniform(events.where(some), F.lit(True), F.col("message")))
        found = found.unionByName(_uniform(rejected, F.lit(False), F.col("raw")))
    return (
        found.where("at IS NOT NULL")
        .join(F.broadcast(table), "file_id")
        .withColumn("node", F.when(F.col("is_named"), F.coalesce("node", "default_node")))
        .drop("default_node", "is_named")
    )


def _uniform(rows: DataFrame, is_event: Column, message: Column) -> DataFrame:
    """Events and rejects of any origin in the same columns. A reject's text is the whole record, and has no node."""
    level, detail = F.when(is_event, F.col("level")), F.when(is_event, F.col("detail"))
    text = F.when(is_event, message).otherwise(F.regexp_replace(message, r"\n+$|\r", ""))
    size = F.col("size_bytes")
    guessed = F.when(detail.isNull(), size).otherwise(size - F.octet_length(detail) - 1)
    return rows.select(
        *PLACE,
        size,
        (F.col("head_bytes") if "head_bytes" in rows.columns else guessed).alias("head_bytes"),
        F.when(is_event, F.col("node_id")).alias("node"),
        F.unix_micros("at").alias("at"),
        F.coalesce("logger", F.lit("")).alias("logger"),
        is_event.alias("is_event"),
        text.alias("text"),
        F.regexp_replace(F.coalesce(detail, F.lit("")), "\r", "").alias("detail"),
        F.coalesce(level, F.lit("")).alias("level"),
    )


def _extents(records: DataFrame) -> dict[str, Extent]:
    """Where the records of each stream lie: the one aggregate that most nights need."""
    ends = [F.min("at"), F.max("at"), F.min("byte_offset"), F.max("byte_offset")]
    found: dict[str, Extent] = {}
    grouped = records.groupBy("file_id", "logger", "node").agg(*ends).collect()
    for file_id, logger, node, first_at, last_at, first, last in grouped:
        extent = found.setdefault(file_id, Extent(first, last))
        extent.first, extent.last = min(extent.first, first), max(extent.last, last)
        extent.lasts[node] = max(extent.lasts.get(node, 0), last)
        since, until = extent.loggers.get(logger, (first_at, last_at))
        extent.loggers[logger] = min(since, first_at), max(until, last_at)
    return found


def _shared(records: DataFrame, when: Mapping[str, tuple[int, int]]) -> DataFrame:
    """The records in which streams may overlap: those of the windows. `digest` stands for level, text and detail."""
    spark = records.sparkSession
    spans = _frame(spark, [(f, *span) for f, span in when.items()], file_id=TEXT, since=LONG, until=LONG)
    return (
        records.join(F.broadcast(spans), "file_id")
        .where("at BETWEEN since AND until")
        .withColumn("digest", F.xxhash64("is_event", "level", "text", "detail"))
        .drop("since", "until")
    )


def _frame(spark: SparkSession, rows: list[tuple[Any, ...]], **columns: T.DataType) -> DataFrame:
    return spark.createDataFrame(rows, struct(**columns))


# ---- equal records ---------------------------------------------------------------------------------------------------
def _copies(shared: DataFrame, crossing: DataFrame) -> DataFrame:
    """KEYs that two crossing streams have: how often each has them and where, those of the other as `other_...`.

    Both ways round; not where the two name different nodes.
    """
    counted = shared.groupBy(*KEY, "file_id").agg(
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
    both = crossing.unionByName(crossing.select(F.col("file_id").alias("other_id"), F.col("other_id").alias("file_id")))
    return (
        several.join(other, KEY)
        .join(F.broadcast(both), ["file_id", "other_id"])
        .where("node = other_node OR node IS NULL OR other_node IS NULL")
    )


@dataclass(frozen=True)
class Cut:
    """The last record of a stream, which another stream's record continues."""

    file_id: str
    byte_offset: int
    other_id: str
    other_offset: int
    same_node: bool


def _cuts(shared: DataFrame, crossing: set[tuple[str, str]], extents: Mapping[str, Extent]) -> list[Cut]:
    """Last records of streams that end where their stream ends, and what goes on like them in a crossing stream.

    A stream of several nodes may end within a record of each. An event goes on in its further lines, a reject wherever
    it was cut. The longer one must not be in both streams; of several in the other stream it is the first.
    """
    spark = shared.sparkSession
    files = sorted({file_id for pair in crossing for file_id in pair})
    lasts = sorted({(f, last) for f in files for last in extents[f].lasts.values()})
    ends = _frame(spark, lasts, short_id=TEXT, short_offset=LONG)
    both = _frame(spark, [*crossing, *((b, a) for a, b in crossing)], short_id=TEXT, file_id=TEXT)
    short = (
        shared.where("byte_offset + size_bytes >= end")
        .withColumnsRenamed({"file_id": "short_id", "byte_offset": "short_offset"})
        .withColumnsRenamed({"text": "short_text", "detail": "short_detail", "node": "short_node"})
        .join(F.broadcast(ends), ["short_id", "short_offset"])
        .join(F.broadcast(both), "short_id")
        .select(*_ALIKE, "file_id", "short_id", "short_offset", "short_text", "short_detail", "short_node")
    )
    goes_on = F.when(
        F.col("is_event"), (F.col("text") == F.col("short_text")) & F.col("detail").startswith(F.col("short_detail"))
    ).otherwise(F.col("text").startswith(F.col("short_text")))
    is_longer = F.length("text") + F.length("detail") > F.length("short_text") + F.length("short_detail")
    rows = (
        shared.join(F.broadcast(short), [*_ALIKE, "file_id"])
        .where(goes_on & is_longer & F.expr("node = short_node OR node IS NULL OR short_node IS NULL"))
        .select("short_id", "short_offset", "file_id", "byte_offset", F.expr("node <=> short_node"), *KEY)
        .collect()
    )
    if not rows:
        return []
    keys = _frame(spark, [(r[0], *r[5:]) for r in rows], file_id=TEXT, cluster=TEXT, at=LONG, logger=TEXT, digest=LONG)
    there = shared.join(F.broadcast(keys.distinct()), ["file_id", *KEY]).select("file_id", *KEY).distinct().collect()
    whole = {tuple(row) for row in there}
    found: dict[tuple[str, int, str], Cut] = {}
    for row in sorted(rows, key=lambda row: row[3]):
        if (row[0], *row[5:]) not in whole:
            found.setdefault((row[0], row[1], row[2]), Cut(*row[:5]))
    return [found[place] for place in sorted(found)]


_ALIKE = ["cluster", "at", "logger", "is_event", "level"]


def _matches(
    records: DataFrame, copies: DataFrame, extents: Mapping[str, Extent], cuts: list[Cut]
) -> dict[tuple[str, str], Match]:
    """How the equal records of any two streams lie in them. A cut record counts as equal to the one that goes on."""
    runs: dict[tuple[str, str], _Run] = {}
    measures = [F.expr("max(coalesce(node = other_node, false))")]
    for side in ("", "other_"):
        measures += [F.min(f"{side}first"), F.max(f"{side}last"), F.sum(f"{side}copies")]
    for row in copies.where("file_id < other_id").groupBy("file_id", "other_id").agg(*measures).collect():
        runs[row[0], row[1]] = _Run(row[2], {row[0]: list(row[3:6]), row[1]: list(row[6:9])})
    for cut in cuts:
        pair = min(cut.file_id, cut.other_id), max(cut.file_id, cut.other_id)
        run = runs.setdefault(pair, _Run(False, {}))
        run.same_node = run.same_node or cut.same_node
        run.add(cut.file_id, cut.byte_offset)
        run.add(cut.other_id, cut.other_offset)
    is_wide = {pair: _is_wide(pair, extents) for pair in runs}
    unsure = [pair for pair, run in runs.items() if not (run.same_node and is_wide[pair])]
    counts = _counts(records, {pair: runs[pair].places for pair in unsure})
    found: dict[tuple[str, str], Match] = {}
    for pair, run in runs.items():
        of = [run.places[file_id] for file_id in pair]
        begins = [first == extents[f].first for f, (first, _, _) in zip(pair, of, strict=True)]
        ends = [last == extents[f].last for f, (_, last, _) in zip(pair, of, strict=True)]
        unbroken = [counts.get((pair, f)) == count for f, (_, _, count) in zip(pair, of, strict=True)]
        found[pair] = Match(
            run.same_node,
            is_wide[pair],
            (begins[0], begins[1]),
            (ends[0], ends[1]),
            (unbroken[0], unbroken[1]),
            min(count for _, _, count in of),
        )
    return found


@dataclass
class _Run:
    """The equal records of two streams: by stream their first and last byte offset, and how many they are."""

    same_node: bool
    places: dict[str, list[int]]

    def add(self, file_id: str, byte_offset: int) -> None:
        first, last, count = self.places.get(file_id, (byte_offset, byte_offset, 0))
        self.places[file_id] = [min(first, byte_offset), max(last, byte_offset), count + 1]


def _is_wide(pair: tuple[str, str], extents: Mapping[str, Extent]) -> bool:
    since, until = _window(pair, extents)
    return until - since > NARROW_MICROS


def _counts(
    records: DataFrame, runs: Mapping[tuple[str, str], Mapping[str, list[int]]]
) -> dict[tuple[tuple[str, str], str], int]:
    """For any two streams how many records each has in its run, equal ones and others."""
    if not runs:
        return {}
    places = [(*pair, file_id, first, last) for pair, of in runs.items() for file_id, (first, last, _) in of.items()]
    table = _frame(records.sparkSession, places, a=TEXT, b=TEXT, file_id=TEXT, first=LONG, last=LONG)
    inside = records.join(F.broadcast(table), "file_id").where("byte_offset BETWEEN first AND last")
    return {((a, b), file_id): count for a, b, file_id, count in inside.groupBy("a", "b", "file_id").count().collect()}


def _duplicates(slim: DataFrame, copies: DataFrame, accepted: list[tuple[str, str]], cuts: list[Cut]) -> DataFrame:
    """The records that are not kept, of new streams and published ones.

    Of a record each stream has as many as are left when those that come first in order have been taken: published
    ones together (they were counted before), of new streams the one that has it most often.
    """
    spark = slim.sparkSession
    are_same = _frame(spark, [pair for a, b in accepted for pair in ((a, b), (b, a))], file_id=TEXT, other_id=TEXT)
    rank, other_rank = _rank("node", "is_new"), _rank("other_node", "other_is_new")
    goes_first = (other_rank < rank) | (
        (other_rank == rank) & F.expr("other_copies > copies OR (other_copies = copies AND other_id < file_id)")
    )
    there = (
        copies.join(F.broadcast(are_same), ["file_id", "other_id"])
        .where(goes_first)
        .groupBy(*KEY, "file_id")
        .agg(
            F.sum(F.expr("if(other_is_new, 0, other_copies)")).alias("published"),
            F.max(F.expr("if(other_is_new, other_copies, 0)")).alias("new"),
        )
        .select(*KEY, "file_id", F.greatest("published", "new").alias("there"))
    )
    in_order = Window.partitionBy(*KEY, "file_id").orderBy("byte_offset")
    wanted = [*PLACE, "is_new", "is_event", "size_bytes", "head_bytes"]
    twice = slim.join(there, [*KEY, "file_id"]).withColumn("number", F.row_number().over(in_order))
    ok = set(accepted)
    short = [(c.file_id, c.byte_offset) for c in cuts if (min(c.file_id, c.other_id), max(c.file_id, c.other_id)) in ok]
    shorter = slim.join(F.broadcast(_frame(spark, short, file_id=TEXT, byte_offset=LONG)), ["file_id", "byte_offset"])
    return twice.where("number <= there").select(wanted).unionByName(shorter.select(wanted)).distinct()


def _rank(node: str, is_new: str) -> Column:
    """0 a published record that knows its node, 1 a new one, 2 a published record that does not, 3 a new one."""
    return F.expr(f"if({node} IS NULL, 2, 0) + if({is_new}, 1, 0)")


def _moved(found: DataFrame) -> dict[str, Moved]:
    """What each stream loses."""
    sums = (
        F.sum(F.expr("if(is_event, head_bytes, 0)")),
        F.sum(F.expr("if(is_event, size_bytes - head_bytes, 0)")),
        F.sum(F.expr("if(is_event, 0, size_bytes)")),
        F.sum(F.expr("if(is_event, 1, 0)")),
        F.sum(F.expr("if(is_event, 0, 1)")),
    )
    return {row[0]: Moved(*row[1:]) for row in found.groupBy("file_id").agg(*sums).collect()}
