"""The columnar interpreter of the rules: framed records in, Arrow batches out. It runs in Spark's Python workers.

Records are matched one by one and gathered by rule; their values are gathered by column, across all rules, and become
Arrow arrays together, some 20,000 records at a time. Equal texts are read only once. `udfs.parsing` is the plain form;
a test proves that both agree.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from udfs import clock
from udfs.framing import Frames, Longs, Stretch, frames
from udfs.layouts import Head, Layout
from udfs.parsing import read_value
from udfs.prefixes import read_prefix
from udfs.rule import COLUMNS, KINDS, Kind, Rule
from udfs.rulebook import RULES, candidates
from udfs.scopes import is_whole

FLUSH_RECORDS = 20_000
"""Records that become one batch, or fewer if they fill FLUSH_BYTES; bounds what a range of any size takes in memory."""
FLUSH_BYTES = 16 << 20

REASONS = ("no rule knows this message", "a value of this message cannot be read", "the time of this record is none")
NO_RULE, NO_VALUE, NO_TIME = range(len(RULES), len(RULES) + len(REASONS))

_IDS = pa.list_(pa.int32())
_STATE = pa.struct(
    [
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("leader", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("partition_epoch", pa.int32()),
        ("controller_epoch", pa.int32()),
        ("isr", _IDS),
        ("replicas", _IDS),
        ("adding_replicas", _IDS),
        ("removing_replicas", _IDS),
        ("offline_replicas", _IDS),
        ("elr", _IDS),
    ]
)
_ARROW: Mapping[str, pa.DataType] = {
    "int": pa.int32(),
    "text": pa.string(),
    "ids": _IDS,
    "partitions": pa.list_(_STATE),
}
COLUMN_TYPES = {name: _ARROW[kind] for name, kind in COLUMNS.items()}
FIELDS: Any = pa.map_(pa.string(), pa.string())
_CELLS: list[tuple[str, pa.DataType]] = [
    ("record", pa.string()),
    ("file_id", pa.string()),
    ("line", pa.int64()),
    ("byte_offset", pa.int64()),
    ("size_bytes", pa.int64()),
    ("node_id", pa.int32()),
    ("at", pa.timestamp("us", tz="UTC")),
    ("level", pa.string()),
    ("logger", pa.string()),
    ("event_type", pa.string()),
    *COLUMN_TYPES.items(),
    ("fields", FIELDS),
    ("message", pa.string()),
    ("detail", pa.string()),
]
SCHEMA = pa.schema(_CELLS)
"""What a worker gives back; `record` is `event`, `reject` or `account`. A reject's `event_type` is its reason."""

_EVENT_TYPES = pa.array([*(rule.event_type for rule in RULES), *REASONS], pa.string())
_RECORDS = pa.array(["event"] * len(RULES) + ["reject"] * len(REASONS), pa.string())
Flags = npt.NDArray[np.bool_]
Array = Any
"""An Arrow array; the stubs of pyarrow know neither `take` by numbers nor maps as they are used here."""

_CODES = {id(rule): code for code, rule in enumerate(RULES)}


class Numbered(dict[Any, int]):
    """Numbers different things from 0, so that `map(numbered.__getitem__, things)` runs without a Python call each."""

    def __missing__(self, thing: Any) -> int:
        number = self[thing] = len(self)
        return number

    def all(self, things: Sequence[Any]) -> Longs:
        """The numbers of some things."""
        return np.fromiter(map(self.__getitem__, things), np.int64, len(things))


def text(raw: Sequence[bytes | None]) -> Array:
    """Bytes -> strings; bytes that are not UTF-8 as `\\xNN`."""
    try:
        return pa.array(raw, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if b is None else b.decode("utf-8", "backslashreplace") for b in raw], pa.string())


@dataclass
class Account:
    """What became of the bytes of one range, and what its records tell of the stream."""

    event_bytes: int = 0
    detail_bytes: int = 0
    reject_bytes: int = 0
    other_bytes: int = 0
    event_lines: int = 0
    reject_lines: int = 0
    first_at: int | None = None  # microseconds, UTC
    last_at: int | None = None
    nodes: Counter[str] = field(default_factory=Counter)  # `broker 3`: records that name it as their writer
    versions: set[tuple[str, str]] = field(default_factory=set)  # release ranges of the rules used

    def fields(self) -> dict[str, str]:
        """As text, for the `fields` of an `account` row."""
        numbers = {name: str(value) for name, value in vars(self).items() if isinstance(value, int)}
        numbers["nodes"] = ",".join(f"{node}={count}" for node, count in sorted(self.nodes.items()))
        numbers["versions"] = ",".join(f"{since}..{until}" for since, until in sorted(self.versions))
        return numbers


def read_range(
    stream: BinaryIO, layout: Layout, zone: str, file_id: str, start: int, end: int | None, first_line: int
) -> Iterator[pa.RecordBatch]:
    """All records that start in [start, end) of a stream as batches of SCHEMA, in order, and last one `account` row."""
    account = Account()
    gathered = Gathered(layout, zone, file_id, account)
    for part in frames(stream, layout, start, end, first_line):
        if isinstance(part, Stretch):
            account.other_bytes += part.size
            continue
        gathered.add(part)
        if gathered.is_full():
            yield gathered.batch()
            gathered = Gathered(layout, zone, file_id, account)
    if gathered.heads:
        yield gathered.batch()
    fields = pa.array([list(account.fields().items())], FIELDS)
    yield _batch({"record": pa.array(["account"]), "file_id": pa.array([file_id]), "fields": fields}, 1)


@dataclass
class Found:
    """Records of one rule: their rows, and the groups of its pattern."""

    rows: list[int] = field(default_factory=list)
    groups: list[tuple[bytes | None, ...]] = field(default_factory=list)


class Gathered:
    """Records of one range that will be one batch: events and rejects by row. What is neither is only counted."""

    def __init__(self, layout: Layout, zone: str, file_id: str, account: Account) -> None:
        self.heads: list[Head] = []  # by row
        self._layout, self._zone, self._file_id, self._account = layout, zone, file_id, account
        self._bytes = 0
        self._found: dict[int, Found] = {}  # by code of the rule
        self._routes = _Routes(layout.logger.encode(), self._found)
        self._prefixes = _Prefixes()
        self._blocks: list[tuple[Frames, Longs]] = []  # with the numbers of the records kept
        self._first_rows: list[int] = []  # of each block
        self._numbers: list[
            tuple[Longs, ...]
        ] = []  # of the records kept: line, offset, size, head's size, time, prefix

    def is_full(self) -> bool:
        """Whether it is time to make a batch."""
        return len(self.heads) >= FLUSH_RECORDS or self._bytes >= FLUSH_BYTES

    def add(self, block: Frames) -> None:
        """Find the rule of each record of a block."""
        prefixes, routes = self._prefixes, self._routes
        row = len(self.heads)
        kept: list[int] = []
        numbers: list[int] = []
        for i, (_, _, message, prefix, word, logger) in enumerate(block.heads):
            number = prefixes[prefix]
            numbers.append(number)
            if number:
                behind = len(prefix)
            else:  # no known prefix: part of the message
                behind = 0
                if prefix:
                    word = message.partition(b" ")[0]
            is_known_whole, tries = routes[logger, word]
            for fullmatch, rows, groups in tries:
                m = fullmatch(message, behind)
                if m is not None:
                    rows.append(row)
                    groups.append(m.groups())
                    break
            else:
                if not is_known_whole:
                    continue
            kept.append(i)
            row += 1
        self.heads += block.heads if len(kept) == len(block) else [block.heads[i] for i in kept]
        at = [head[0] for head in block.heads]
        if self._layout.time == "local":
            micros = clock.to_utc(clock.local_micros(at), self._zone)
        else:
            micros = clock.epoch_micros(at)
        sizes = block.ends - block.starts
        index = np.array(kept, np.int64)
        spoken = np.array(numbers, np.int64)
        columns = (block.lines, block.starts + block.offset, sizes, block.head_ends - block.starts, micros, spoken)
        self._numbers.append(tuple(column[index] for column in columns))
        self._blocks.append((block, index))
        self._first_rows.append(row - len(kept))
        self._bytes += len(block.data)
        self._account.other_bytes += int(sizes.sum() - sizes[index].sum())
        self._count_all(micros, spoken)

    def _count_all(self, micros: Longs, prefixes: Longs) -> None:
        """What all records of a block tell of their stream, whether kept or not."""
        account = self._account
        times = micros[micros != clock.NO_TIME]
        if len(times):
            first, last = int(times.min()), int(times.max())
            account.first_at = first if account.first_at is None else min(first, account.first_at)
            account.last_at = last if account.last_at is None else max(last, account.last_at)
        for number, count in enumerate(np.bincount(prefixes).tolist()):
            told = self._prefixes.told[number]
            for role in ("broker_id", "controller_id"):
                if count and told.get("node") is not None and told.get(role) == told["node"]:
                    account.nodes[f"{role[:-3]} {told['node']}"] += count
                    break

    def batch(self) -> pa.RecordBatch:
        """The records as one batch of SCHEMA, in order; adds them to the account."""
        n = len(self.heads)
        codes = np.full(n, NO_RULE, np.int64)
        values = Values(n)
        for code, found in self._found.items():
            if found.rows:
                rows = np.array(found.rows, np.int64)
                codes[rows] = code
                values.add(RULES[code], rows, found.groups)
        _, levels, messages, _, _, loggers = (list(parts) for parts in zip(*self.heads, strict=True))
        lines, offsets, sizes, head_sizes, micros, prefixes = map(np.concatenate, zip(*self._numbers, strict=True))
        columns, unread = values.columns(self._prefixes.told, prefixes)
        codes[unread] = NO_VALUE
        codes[micros == clock.NO_TIME] = NO_TIME
        is_event = codes < len(RULES)
        is_kept = is_event.copy()
        for row in np.flatnonzero(~is_event).tolist():  # also what a rule knew, but could not read
            is_kept[row] = _is_whole(loggers[row] or self._layout.logger.encode())
        details: list[bytes | None] = [None] * n
        for row in np.flatnonzero((head_sizes < sizes) | ~is_event).tolist():
            if is_event[row]:
                details[row] = self._record(row, Frames.detail)
            else:
                messages[row] = self._record(row, Frames.raw)
        self._count_kept(codes, sizes, head_sizes, is_event, is_kept)
        numbered_levels, numbered_loggers = Numbered(), Numbered()
        level, logger = numbered_levels.all(levels), numbered_loggers.all(loggers)
        columns |= {
            "record": _RECORDS.take(codes),
            "file_id": pa.repeat(pa.scalar(self._file_id), n),
            "line": pa.array(lines),
            "byte_offset": pa.array(offsets),
            "size_bytes": pa.array(sizes),
            "node_id": self._prefixes.column("node", pa.int32()).take(prefixes),
            "at": pa.array(micros, mask=micros == clock.NO_TIME).cast(pa.timestamp("us", tz="UTC")),
            "level": text([name or None for name in numbered_levels]).take(level),
            "logger": text([name or self._layout.logger.encode() for name in numbered_loggers]).take(logger),
            "event_type": _EVENT_TYPES.take(codes),
            "message": text(messages),
            "detail": text(details),
        }
        batch = _batch(columns, n)
        return batch if is_kept.all() else batch.filter(pa.array(is_kept))

    def _record(self, row: int, part: Callable[[Frames, int], bytes]) -> bytes:
        """Some bytes of the record in a row, from its block."""
        number = bisect_right(self._first_rows, row) - 1
        block, index = self._blocks[number]
        return part(block, int(index[row - self._first_rows[number]]))

    def _count_kept(self, codes: Longs, sizes: Longs, heads: Longs, is_event: Flags, is_kept: Flags) -> None:
        account = self._account
        account.event_bytes += int(heads[is_event].sum())
        account.detail_bytes += int((sizes - heads)[is_event].sum())
        account.event_lines += int(is_event.sum())
        account.reject_bytes += int(sizes[is_kept & ~is_event].sum())
        account.reject_lines += int((is_kept & ~is_event).sum())
        account.other_bytes += int(sizes[~is_kept].sum())
        account.versions |= {(RULES[c].since, RULES[c].until) for c in np.unique(codes[is_event]).tolist()}


# How to match a rule, and where to put the row and the groups of a match.
Try = tuple[Callable[[bytes, int], re.Match[bytes] | None], list[int], list[tuple[bytes | None, ...]]]


class _Routes(dict[tuple[bytes, bytes], tuple[bool, list[Try]]]):
    """By logger and first word: whether the logger is wholly in scope, and the rules to try."""

    def __init__(self, default_logger: bytes, found: dict[int, Found]) -> None:
        self._default, self._found = default_logger, found

    def __missing__(self, key: tuple[bytes, bytes]) -> tuple[bool, list[Try]]:
        logger = key[0] or self._default
        tries: list[Try] = []
        for rule in candidates(logger, key[1]):
            found = self._found.setdefault(_CODES[id(rule)], Found())
            tries.append((rule.pattern.fullmatch, found.rows, found.groups))
        self[key] = _is_whole(logger), tries
        return self[key]


class _Prefixes(dict[bytes, int]):
    """Numbers known prefixes from 1; 0 is none, or one that is not known."""

    def __init__(self) -> None:
        self[b""] = 0
        self.told: list[Mapping[str, Any]] = [{}]  # by number

    def __missing__(self, prefix: bytes) -> int:
        told = read_prefix(prefix)
        self[prefix] = 0 if told is None else len(self.told)
        if told is not None:
            self.told.append(told)
        return self[prefix]

    def column(self, name: str, type_: pa.DataType) -> Array:
        """What each prefix tells, by number."""
        return pa.array([told.get(name) for told in self.told], type_)


@lru_cache(maxsize=4096)
def _is_whole(logger: bytes) -> bool:
    return is_whole(logger.decode("utf-8", "backslashreplace"))


@dataclass
class Pool:
    """Marked values of several rules that are read alike."""

    raw: list[bytes | None] = field(default_factory=list)
    _rows: list[Longs] = field(default_factory=list)
    _ranks: list[int] = field(default_factory=list)
    _names: list[int] = field(default_factory=list)

    def add(self, raw: Sequence[bytes | None], rows: Longs, rank: int, name: int = 0) -> None:
        """One mark of one rule; `rank` is its place in the rule."""
        self.raw.extend(raw)
        self._rows.append(rows)
        self._ranks.append(rank)
        self._names.append(name)

    def places(self) -> tuple[Longs, Longs, Longs]:
        """Row, rank and name of each value."""
        lengths = [len(rows) for rows in self._rows]
        return np.concatenate(self._rows), np.repeat(self._ranks, lengths), np.repeat(self._names, lengths)


Chunk = tuple[Longs, Longs, Array]  # rows, ranks and values of a column, before they are put in order


class Values:
    """Columns and fields of the records of a batch. Of a name told twice in one record the later value counts."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._names = Numbered()  # of fields
        self._fields = Pool()
        self._texts: defaultdict[str, Pool] = defaultdict(Pool)  # by column
        self._ints: defaultdict[str, Pool] = defaultdict(Pool)
        self._others: defaultdict[tuple[str, Kind], Pool] = defaultdict(Pool)  # need Python, by name and kind

    def add(self, rule: Rule, rows: Longs, groups: list[tuple[bytes | None, ...]]) -> None:
        """The values of all records of one rule."""
        for rank, ((name, kind), raw) in enumerate(zip(rule.marks, zip(*groups, strict=True), strict=True)):
            if kind.spreads:
                self._others["", kind].add(raw, rows, rank)
            elif name not in COLUMNS:
                self._fields.add(raw, rows, rank, self._names[name])
            elif kind.read is int and COLUMNS[name] == "int":
                self._ints[name].add(raw, rows, rank)
            elif kind.read is None and COLUMNS[name] == "text":
                self._texts[name].add(raw, rows, rank)
            else:
                self._others[name, kind].add(raw, rows, rank)

    def columns(self, prefixes: list[Mapping[str, Any]], prefix: Longs) -> tuple[dict[str, Array], Longs]:
        """All columns and `fields`, and the rows of records of which a value cannot be read.

        `prefixes` is what each prefix tells, `prefix` the number of each row's; what the text tells goes before it.
        """
        self._chunks: defaultdict[str, list[Chunk]] = defaultdict(list)
        self._field_chunks: list[tuple[Longs, Longs, Longs, Array]] = []
        self._unread = [np.zeros(0, np.int64)]
        for name in COLUMNS:
            if any(name in told for told in prefixes):
                said = pa.array([told.get(name) for told in prefixes], COLUMN_TYPES[name])
                self._chunks[name].append((np.arange(self._n), np.full(self._n, -1), said.take(prefix)))
        for name, pool in self._texts.items():
            self._chunks[name].append((*pool.places()[:2], text(pool.raw)))
        for name, pool in self._ints.items():
            try:
                numbers = text(pool.raw).cast(pa.int32())
            except pa.ArrowInvalid:  # a number of more than 32 bits
                self._read(name, KINDS["int"], pool)
            else:
                self._chunks[name].append((*pool.places()[:2], numbers))
        for (name, kind), pool in self._others.items():
            self._read(name, kind, pool)
        if self._fields.raw:
            self._field_chunks.append((*self._fields.places(), text(self._fields.raw)))
        columns = {name: self._column(chunks) for name, chunks in self._chunks.items()}
        columns["fields"] = self._maps()
        return columns, np.concatenate(self._unread)

    def _read(self, name: str, kind: Kind, pool: Pool) -> None:
        """Values that need Python: each different text is read once."""
        numbered = Numbered()
        codes = numbered.all(pool.raw)
        rows, ranks, _ = pool.places()
        told: list[dict[str, Any]] = []
        for number, raw in enumerate(numbered):
            try:
                told.append({} if raw is None else read_value(name, kind, raw))
            except Exception:  # whatever a reader stumbles over: its record becomes a reject
                told.append({})
                self._unread.append(rows[codes == number])
        for column in dict.fromkeys(key for one in told for key in one if key in COLUMNS):
            values = pa.array([one.get(column) for one in told], COLUMN_TYPES[column])
            self._chunks[column].append((rows, ranks, values.take(codes)))
        pairs = [[(self._names[key], value) for key, value in one.items() if key not in COLUMNS] for one in told]
        lengths = np.array([len(some) for some in pairs], np.int64)
        if lengths.any():
            names = np.array([name for some in pairs for name, _ in some], np.int64)
            values = pa.array([value for some in pairs for _, value in some], pa.string())
            counts = lengths[codes]
            ends = np.cumsum(counts)
            firsts = (np.cumsum(lengths) - lengths)[codes] - (ends - counts)  # of each text's pairs, less those before
            index = np.repeat(firsts, counts) + np.arange(ends[-1])
            taken = values.take(index)
            self._field_chunks.append((np.repeat(rows, counts), np.repeat(ranks, counts), names[index], taken))

    def _column(self, chunks: list[Chunk]) -> Array:
        """Values by row; null where there are none."""
        all_rows, all_ranks, arrays = zip(*chunks, strict=True)
        rows, ranks, values = np.concatenate(all_rows), np.concatenate(all_ranks), pa.concat_arrays(arrays)
        there = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
        there = there[np.argsort(ranks[there], kind="stable")]
        where = np.full(self._n, -1)
        where[rows[there]] = there  # of equal rows the last one counts
        return values.take(pa.array(where, mask=where < 0))

    def _maps(self) -> Array:
        """A map for each row, its keys in order; a null value is left out."""
        if not self._field_chunks:
            return pa.array([[]] * self._n, FIELDS)
        all_rows, all_ranks, all_names, arrays = zip(*self._field_chunks, strict=True)
        rows, ranks, names = map(np.concatenate, (all_rows, all_ranks, all_names))
        values = pa.concat_arrays(arrays)
        there = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
        keys = sorted(self._names)
        key = np.argsort(np.argsort(list(self._names)))[names]
        place = (rows * len(keys) + key)[there]
        order = np.lexsort((ranks[there], place))
        order = order[np.append(place[order][1:] != place[order][:-1], True)] if len(order) else order
        there = there[order]
        offsets = np.append(0, np.cumsum(np.bincount(rows[there], minlength=self._n)))
        items = values.take(there)
        named: Array = pa.array(keys, pa.string()).take(key[there])
        ends: Array = pa.array(offsets, pa.int32())
        return pa.MapArray.from_arrays(ends, named, items, type=FIELDS)


def _batch(columns: Mapping[str, Array], n: int) -> pa.RecordBatch:
    """A batch of SCHEMA; columns that are not given are null."""
    arrays = [columns[f.name] if f.name in columns else pa.nulls(n, f.type) for f in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
