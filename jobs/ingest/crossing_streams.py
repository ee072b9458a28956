"""Which streams may be excerpts of one, by their times, loggers and nodes; and whether their equal records say so.

Plain Python over a few numbers of each stream; `jobs.ingest.overlaps` says by what rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

LONG_RUN = 16
"""Equal records in a row that no two nodes log by chance, whatever stands at the ends (a truncated record, say)."""
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
                pairs.add(ordered(span.file_id, other.file_id))
        open_spans.append(span)
    return pairs


def ordered(a: str, b: str) -> StreamPair:
    """Two file ids as a pair."""
    return min(a, b), max(a, b)


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


def common_times(pair: StreamPair, extents: Mapping[str, StreamExtent]) -> tuple[int, int]:
    """The first and the last time, microseconds, that two streams have in common."""
    a, b = (extents[file_id] for file_id in pair)
    return max(a.first_at, b.first_at), min(a.last_at, b.last_at)


def windows(pairs: Iterable[StreamPair], extents: Mapping[str, StreamExtent]) -> dict[str, tuple[int, int]]:
    """By stream the times, first and last, between which it crosses any other."""
    times: dict[str, tuple[int, int]] = {}
    for pair in pairs:
        since, until = common_times(pair, extents)
        for file_id in pair:
            first, last = times.get(file_id, (since, until))
            times[file_id] = min(first, since), max(last, until)
    return times


def is_wide(pair: StreamPair, extents: Mapping[str, StreamExtent]) -> bool:
    """Whether two streams cross for more than NARROW_MICROS."""
    since, until = common_times(pair, extents)
    return until - since > NARROW_MICROS


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


def is_overlap(match: StreamMatch) -> bool:
    """Whether the equal records of two streams are the same records, by the rules in `jobs.ingest.overlaps`."""
    if match.same_node and match.wide:
        return True
    touches = (any(match.begins) and any(match.ends)) or all(match.begins)
    is_long = all(match.unbroken) and match.length >= LONG_RUN
    return any(match.unbroken) and (touches or is_long)
