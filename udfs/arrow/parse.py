"""The columnar interpreter of the rules: framed records in, Arrow batches out. It runs in Spark's Python workers.

Which rule knows a record, and where its values stand, its form tells (`udfs.arrow.templates`); here the values of all records of
a batch are cut out of its bytes together, column by column, without a Python object for each. Only what a column holds
in another shape than its digits or its text is read by Python, each different text once. `udfs.rules.parsing` is the plain
form of the same; a test proves that both agree.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from itertools import accumulate
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from udfs.arrow.slices import Array, Flags, Rows, Text, offsets, spread, text
from udfs.arrow.template_table import Marks, Numbered, States, TemplateTable
from udfs.arrow.templates import Lines, template_cache
from udfs.logs import timestamps as clock
from udfs.logs.coverage import time_spans
from udfs.logs.escapes import protected
from udfs.logs.formats import Format
from udfs.logs.framing import BLOCK, Frames, Longs, OtherBytes, frames
from udfs.rules.logger_scopes import covers
from udfs.rules.message_signature import message_signature
from udfs.rules.parsing import read_value
from udfs.rules.prefixes import read_prefix
from udfs.rules.rule import COLUMNS, ValueKind
from udfs.rules.rulebook import RULES

FLUSH_RECORDS = 25_000
"""Records that are enough for a batch, as are FLUSH_BYTES: a block is one, but not each of several channels' parts of it."""
FLUSH_BYTES = BLOCK // 2

REASONS = (
    "no rule knows this message",
    "a value of this message cannot be read",
    "the time of this record is none",
    "its logger is missing: the line is torn or cut",
)
NO_RULE, NO_VALUE, NO_TIME, NO_LOGGER = range(len(RULES), len(RULES) + len(REASONS))

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
    ("channel", pa.string()),
    ("line", pa.int64()),
    ("byte_offset", pa.int64()),
    ("size_bytes", pa.int64()),
    ("head_bytes", pa.int64()),
    ("node_id", pa.int32()),
    ("at", pa.timestamp("us", tz="UTC")),
    ("clock", pa.string()),
    ("level", pa.string()),
    ("logger", pa.string()),
    ("event_type", pa.string()),
    *COLUMN_TYPES.items(),
    ("fields", FIELDS),
    ("message", pa.string()),
    ("detail", pa.string()),
    ("signature", pa.string()),
]
_SILENCE = timedelta(minutes=1)  # longer ones are told, see Account.spans
_MICROSECOND = timedelta(microseconds=1)
SCHEMA = pa.schema(_CELLS)
"""What a worker gives back; `record` is `event`, `reject` or `account`. A reject's `event_type` is its reason, its
`message` all its bytes (`udfs.logs.escapes`), and only it has a `signature`."""

_EVENT_TYPES = pa.array([*(rule.event_type for rule in RULES), *REASONS], pa.string())
_RECORDS = pa.array(["event"] * len(RULES) + ["reject"] * len(REASONS), pa.string())
_MARKS = pa.array(clock.CLOCK_VALUES, pa.string())


@dataclass
class Account:
    """What became of the bytes of one range and channel, and what its records tell of the stream."""

    channel: str = ""
    event_bytes: int = 0
    detail_bytes: int = 0
    reject_bytes: int = 0
    other_bytes: int = 0
    event_lines: int = 0
    reject_lines: int = 0
    first_at: int | None = None  # microseconds, UTC
    last_at: int | None = None
    nodes: Counter[str] = field(default_factory=Counter)  # `broker 3`: records that name it as their writer
    kinds: Counter[str] = field(default_factory=Counter)  # records in scope by kind of log, `state_change`
    spans: defaultdict[str, list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    """By kind of log the times, microseconds, in which all its records are: first, last, number."""
    versions: set[tuple[str, str]] = field(default_factory=set)  # release ranges of the rules used

    def fields(self) -> dict[str, str]:
        """As text, for the `fields` of an `account` row; spans as `server=records:first:last`, a kind maybe several times."""
        told = {name: str(value) for name, value in vars(self).items() if isinstance(value, int | str)}
        told["nodes"] = ",".join(f"{node}={count}" for node, count in sorted(self.nodes.items()))
        told["kinds"] = ",".join(f"{kind}={count}" for kind, count in sorted(self.kinds.items()))
        told["spans"] = ",".join(f"{kind}={n}:{a}:{b}" for kind, some in sorted(self.spans.items()) for a, b, n in some)
        told["versions"] = ",".join(f"{since}..{until}" for since, until in sorted(self.versions))
        return told

    def add_times(self, kind: str, times: Longs) -> None:
        """The times of records of a kind, at least one."""
        first, last = int(times.min()), int(times.max())
        if np.abs(np.diff(times)).max(initial=0) <= _SILENCE // _MICROSECOND:
            self.spans[kind].append((first, last, len(times)))
        else:
            self.spans[kind] += time_spans(times, _SILENCE)
        self.first_at = first if self.first_at is None else min(first, self.first_at)
        self.last_at = last if self.last_at is None else max(last, self.last_at)


def read_range(
    stream: BinaryIO,
    format_: Format,
    zone: str,
    file_id: str,
    start: int,
    end: int | None,
    first_line: int,
    clock_changes: clock.ClockChanges | None = None,
) -> Iterator[pa.RecordBatch]:
    """All records that start in [start, end) of a stream as batches of SCHEMA, in order, and last an `account` row for
    each channel; `clock_changes` is what `udfs.logs.dst.AmbiguousTimeFinder` found in the stream."""
    accounts = {"": Account()}
    for gathered in _gathered(
        frames(stream, format_, start, end, first_line), format_, zone, clock_changes, file_id, accounts
    ):
        batch = gathered.batch()
        if batch.num_rows:
            yield batch
    told = [list(account.fields().items()) for account in accounts.values()]
    columns = {"record": ["account"] * len(told), "file_id": [file_id] * len(told), "channel": list(accounts)}
    yield _batch(
        {**{name: pa.array(cells) for name, cells in columns.items()}, "fields": pa.array(told, FIELDS)}, len(told)
    )


def _gathered(
    parts: Iterator[Frames | OtherBytes],
    format_: Format,
    zone: str,
    clock_changes: clock.ClockChanges | None,
    file_id: str,
    accounts: dict[str, Account],
) -> Iterator[Gathered]:
    """The records of a range, as many together as make a batch."""
    gathered = Gathered(format_, zone, clock_changes, file_id, accounts)
    for part in parts:
        if isinstance(part, OtherBytes):
            accounts[""].other_bytes += part.size
            continue
        gathered.add(part)
        if gathered.is_full():
            yield gathered
            gathered = Gathered(format_, zone, clock_changes, file_id, accounts)
    if gathered.blocks:
        yield gathered


class Gathered:
    """Records of one range that will be one batch: events and rejects by row. What is neither is only counted."""

    def __init__(
        self,
        format_: Format,
        zone: str,
        clock_changes: clock.ClockChanges | None,
        file_id: str,
        accounts: dict[str, Account],
    ) -> None:
        self.blocks: list[tuple[Frames, Lines]] = []
        self._layout, self._zone, self._clock_changes = format_.layout, zone, clock_changes
        self._file_id, self._accounts = file_id, accounts
        self._book = template_cache(format_.layout)
        self._records = self._bytes = 0

    def add(self, block: Frames) -> None:
        """Find the forms of a block's records."""
        self.blocks.append((block, self._book.read(block)))
        self._records += len(block)
        self._bytes += len(block.data)

    def is_full(self) -> bool:
        """Whether it is time to make a batch."""
        return self._records >= FLUSH_RECORDS or self._bytes >= FLUSH_BYTES

    def batch(self) -> pa.RecordBatch:
        """The records as one batch of SCHEMA, in order; adds them to their accounts."""
        rows = self._rows()
        lines, places, sizes, head_sizes = (
            np.concatenate([getattr(block, name) for block, _ in self.blocks])
            for name in ("lines", "offsets", "sizes", "head_sizes")
        )
        micros, marks, is_wrong = self._times(rows, places)
        prefixes, prefix = _prefixes(rows)
        told = [read_prefix(one) or {} for one in prefixes]
        codes = _codes(rows.table)[rows.form]
        is_whole = rows.table.is_whole[rows.form]
        kept = np.flatnonzero((codes < len(RULES)) | is_whole)
        values = Values(rows.those(kept), told, prefix[kept])
        columns = values.columns()
        codes[kept[values.unread]] = NO_VALUE
        codes[is_wrong & (codes < len(RULES))] = NO_TIME
        is_event = codes < len(RULES)
        self._count(rows, codes, is_event, is_event | is_whole, sizes, head_sizes, micros, prefixes, prefix)
        columns |= _texts(rows.those(kept), is_event[kept])
        columns |= _said_by_form(rows, kept)
        columns |= {
            "record": _RECORDS.take(pa.array(codes[kept])),
            "file_id": pa.repeat(pa.scalar(self._file_id), len(kept)),
            "channel": self._channels().take(pa.array(kept)),
            "line": pa.array(lines[kept]),
            "byte_offset": pa.array(places[kept]),
            "size_bytes": pa.array(sizes[kept]),
            "head_bytes": pa.array(head_sizes[kept]),
            "node_id": _told_column(told, "node", pa.int32()).take(pa.array(prefix[kept])),
            "at": pa.array(micros[kept], mask=micros[kept] == clock.NO_TIME).cast(pa.timestamp("us", tz="UTC")),
            "clock": _MARKS.take(pa.array(marks[kept])),
            "event_type": _EVENT_TYPES.take(pa.array(codes[kept])),
        }
        batch = _batch(columns, len(kept))
        is_lost = ~(is_event | is_whole)[kept]  # a rule knew it, but could not read it
        return batch.filter(pa.array(~is_lost)) if is_lost.any() else batch

    def _rows(self) -> Rows:
        """All records of the blocks."""
        blocks = [block for block, _ in self.blocks]
        lines = [lines for _, lines in self.blocks]
        bytes_before = _before([len(block.data) for block in blocks])
        numbers_before = _before([len(one.number_starts) for one in lines])
        return Rows(
            text=Text(
                b"".join([block.data for block in blocks]),
                _joined([one.number_starts for one in lines], bytes_before),
                _joined([one.number_ends for one in lines], bytes_before),
            ),
            table=self._book.table,
            form=np.concatenate([one.templates for one in lines]),
            starts=_joined([block.starts for block in blocks], bytes_before),
            head_ends=_joined([block.head_ends for block in blocks], bytes_before),
            ends=_joined([block.ends for block in blocks], bytes_before),
            first_numbers=_joined([one.first_numbers for one in lines], numbers_before),
        )

    def _channels(self) -> Array:
        """The channel of each record."""
        names = pa.array([block.channel for block, _ in self.blocks], pa.string())
        return names.take(pa.array(np.repeat(np.arange(len(self.blocks)), [len(block) for block, _ in self.blocks])))

    def _times(self, rows: Rows, places: Longs) -> tuple[Longs, clock.ClockCodes, Flags]:
        """When each record was written, microseconds UTC or NO_TIME; the mark of that time; and where the record has a
        time stamp that is none."""
        if self._layout.batches:
            stamps = [head[0] for block, _ in self.blocks for head in block.heads]
            found = clock.micros_of(stamps)
            is_there = np.fromiter(map(bool, stamps), np.bool_, len(stamps))
        else:
            starts, ends = rows.whole(rows.table.at)
            is_there = ends > starts
            found = _stamps(rows.text, starts, ends)
        micros, marks = clock.to_utc(found.micros, self._zone, places, self._clock_changes, found.is_utc)
        return micros, marks, is_there & (micros == clock.NO_TIME)

    def _count(
        self,
        rows: Rows,
        codes: Longs,
        is_event: Flags,
        is_kept: Flags,
        sizes: Longs,
        head_sizes: Longs,
        micros: Longs,
        prefixes: list[bytes],
        prefix: Longs,
    ) -> None:
        """Add all records to their channels' accounts."""
        kinds = Numbered()
        kind = np.array([kinds[_log_kind(logger)] for logger in rows.table.loggers], np.int64)[
            rows.table.logger[rows.form]
        ]
        first = 0
        for channel, block in _runs([(block.channel, len(block)) for block, _ in self.blocks]):
            some = slice(first, first := first + block)
            account = self._accounts.setdefault(channel, Account(channel))
            event, kept, size, head = is_event[some], is_kept[some], sizes[some], head_sizes[some]
            account.event_bytes += int(head[event].sum())
            account.detail_bytes += int((size - head)[event].sum())
            account.event_lines += int(event.sum())
            account.reject_bytes += int(size[kept & ~event].sum())
            account.reject_lines += int((kept & ~event).sum())
            account.other_bytes += int(size[~kept].sum())
            used = np.flatnonzero(np.bincount(codes[some][event], minlength=1))
            account.versions |= {(RULES[code].since, RULES[code].until) for code in used.tolist()}
            for name, number in kinds.items():
                mine = kind[some] == number
                if count := int((mine & kept).sum()):
                    account.kinds[name] += count
                times = micros[some][mine & (micros[some] != clock.NO_TIME)]
                if len(times):
                    account.add_times(name, times)
            for number, count in enumerate(np.bincount(prefix[some]).tolist()):
                if count and (writer := _writer(prefixes[number])):
                    account.nodes[writer] += count


def _before(lengths: list[int]) -> list[int]:
    """How much is before each of several parts."""
    return [0, *accumulate(lengths)][:-1]


def _joined(parts: list[Longs], bases: list[int]) -> Longs:
    """Places in several parts as places in all of them together."""
    if len(parts) == 1:
        return parts[0]
    ends = [*accumulate(map(len, parts))]
    joined = np.empty(ends[-1], np.int64)
    for part, base, end in zip(parts, bases, ends, strict=True):
        np.add(part, base, out=joined[end - len(part) : end])
    return joined


def _runs(parts: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Names with lengths, those of equal neighbours added up."""
    found: list[tuple[str, int]] = []
    for name, length in parts:
        if found and found[-1][0] == name:
            length += found.pop()[1]
        found.append((name, length))
    return found


def _codes(table: TemplateTable) -> Longs:
    """For each form the index in RULES, or why a record of it is no event."""
    no_rule = np.where(table.logger == table.loggers.get(b"", -1), NO_LOGGER, NO_RULE)
    return np.where(table.rules < 0, no_rule, table.rules)


@lru_cache(maxsize=65536)
def _writer(prefix: bytes) -> str | None:
    """`broker 3`, if a prefix tells who writes, and as what."""
    told = read_prefix(prefix) or {}
    roles = (role for role in ("broker", "controller") if told.get("node") is not None)
    return next((f"{role} {told['node']}" for role in roles if told.get(f"{role}_id") == told["node"]), None)


_KINDS = {  # kind of log, after the files of Kafka's own configuration -> its loggers
    "state_change": ("state.change.logger",),
    "controller": ("kafka.controller", "kafka.controller.", "org.apache.kafka.controller."),
    "metadata_dump": ("kafka-dump-log",),
}


@lru_cache(maxsize=4096)
def _log_kind(logger: bytes) -> str:
    """Which log a logger writes to; `server` is all that has none of its own."""
    name = logger.decode("utf-8", "backslashreplace")
    return next((kind for kind, loggers in _KINDS.items() if covers(loggers, name)), "server")


def _stamps(text: Text, starts: Longs, ends: Longs) -> clock.Stamps:
    """Time stamps as times; the usual ones together."""
    usual = np.flatnonzero(ends - starts == 23)
    micros = np.full(len(starts), clock.NO_TIME, np.int64)
    is_utc = np.zeros(len(starts), np.bool_)
    places = np.ndarray((max(len(text.data) - 22, 0),), "V23", text.data, 0, (1,))
    micros[usual] = clock.matrix_micros(places[starts[usual]].view(np.uint8).reshape(-1, 23))
    rest = np.flatnonzero((micros == clock.NO_TIME) & (ends > starts))
    if len(rest):
        found = clock.micros_of(text.raw(starts[rest], ends[rest]))
        micros[rest], is_utc[rest] = found.micros, found.is_utc
    return clock.Stamps(micros, is_utc)


def _prefixes(rows: Rows) -> tuple[list[bytes], Longs]:
    """The different prefixes, and which of them each row has."""
    found = rows.text.binaries(*rows.whole(rows.table.prefix)).dictionary_encode()
    return found.dictionary.to_pylist(), _numbers(found.indices)


def _numbers(array: Array) -> Longs:
    """An Arrow array of numbers, none of them null."""
    found: Longs = array.to_numpy().astype(np.int64)
    return found


def _told_column(told: Sequence[Mapping[str, Any]], name: str, kind: pa.DataType) -> Array:
    return pa.array([one.get(name) for one in told], kind)


def _said_by_form(rows: Rows, kept: Longs) -> dict[str, Array]:
    """Columns that are the same in all lines of a form."""
    table, form = rows.table, rows.form[kept]
    return {
        name: text([one or None for one in values]).take(pa.array(numbers[form]))
        for name, values, numbers in (("level", table.levels, table.level), ("logger", table.loggers, table.logger))
    }


def _texts(rows: Rows, is_event: Flags) -> dict[str, Array]:
    """Message and further lines of events; of rejects all of it, and its signature."""
    starts, ends = rows.whole(rows.table.message)
    events, rejects = np.flatnonzero(is_event), np.flatnonzero(~is_event)
    raw = [protected(part) for part in rows.text.raw(rows.starts[rejects], rows.ends[rejects])]
    messages = rows.text.raw(starts[rejects], ends[rejects])
    signatures = [message_signature(message.decode("utf-8", "backslashreplace")) for message in messages]
    more = events[rows.head_ends[events] < rows.ends[events]]
    details = _without_line_end(rows.text, rows.head_ends[more], rows.ends[more])
    n = len(rows)
    return {
        "message": _column([(0, events, rows.text.strings(starts[events], ends[events])), (0, rejects, text(raw))], n),
        "detail": _column([(0, more, rows.text.strings(rows.head_ends[more], details))], n),
        "signature": _column([(0, rejects, pa.array(signatures, pa.string()))], n),
    }


def _without_line_end(text: Text, starts: Longs, ends: Longs) -> Longs:
    """Where parts end if the line ends at their end are left out."""
    ends = ends.copy()
    while True:
        last = text.codes[ends - 1]
        longer = (ends > starts) & ((last == 10) | (last == 13))
        if not longer.any():
            return ends
        ends -= longer


Chunk = tuple[int, Longs, Array]  # layer, rows and values of a column; in one layer each row comes once
Pairs = tuple[int, Longs, Longs, Array]  # layer, rows, names and values of `fields`


def _column(chunks: list[Chunk], n: int) -> Array:
    """Values by row; null where there are none. Of a row's values the one of the highest layer counts."""
    filled = [chunk for chunk in chunks if len(chunk[1])] or chunks[:1]
    ordered = [_there(chunk) for chunk in sorted(filled, key=lambda chunk: chunk[0])]
    all_rows, arrays = zip(*ordered, strict=True)
    if len(arrays) == 1 and len(all_rows[0]) == n and bool((np.diff(all_rows[0]) == 1).all()):
        return arrays[0]
    if arrays[0].type == pa.int32():
        numbers, is_null = np.zeros(n, np.int32), np.ones(n, np.bool_)
        for rows, values in ordered:
            numbers[rows] = values.to_numpy()
            is_null[rows] = False
        return pa.array(numbers, mask=is_null)
    where = np.full(n, -1)
    first = 0
    for rows in all_rows:
        where[rows] = np.arange(first, first + len(rows))
        first += len(rows)
    return pa.concat_arrays(arrays).take(pa.array(where, mask=where < 0))


def _named_again(owners: Longs, topics: Array, topic_ids: Array, numbers: Array) -> Longs:
    """Which parts have the name of one before them with the same owner."""
    names = pa.concat_arrays([topics, topic_ids]).dictionary_encode().indices.fill_null(-1).to_numpy()
    table = np.stack([numbers.fill_null(-1).to_numpy(), *np.split(names, 2), owners])
    order = np.lexsort(table)  # what is equal stays in order
    ordered = table[:, order]
    again: Longs = order[1:][(ordered[:, 1:] == ordered[:, :-1]).all(axis=0)]
    return again


def _there(chunk: Chunk) -> tuple[Longs, Array]:
    """Rows and values of a chunk without the nulls."""
    _, rows, values = chunk
    if not values.null_count:
        return rows, values
    return rows[values.is_valid().to_numpy(zero_copy_only=False)], values.drop_null()


class Values:
    """Columns and `fields` of the records of a batch; what the text tells goes before what the prefix tells."""

    def __init__(self, rows: Rows, told: list[Mapping[str, Any]], prefix: Longs) -> None:
        self._rows, self._told, self._prefix = rows, told, prefix
        self._chunks: defaultdict[str, list[Chunk]] = defaultdict(list)
        self._pairs: list[Pairs] = []
        self._names = rows.table.names  # of fields
        self._unread = [np.zeros(0, np.int64)]

    @property
    def unread(self) -> Longs:
        """Rows of which a value cannot be read; known when the columns are."""
        return np.concatenate(self._unread)

    def columns(self) -> dict[str, Array]:
        """All columns that have a value, and `fields`."""
        rows = self._rows
        names = {name for told in self._told for name in told}
        for name, kind in COLUMN_TYPES.items():
            if name in names:
                said = _told_column(self._told, name, kind)
                self._chunks[name].append((-1, np.arange(len(rows)), said.take(pa.array(self._prefix))))
        for (how, name, kind, layer), marks in rows.table.marks.items():
            mine, which = rows.of_forms(marks.templates)
            if not len(mine):
                continue
            if how == "int":
                values = rows.integers(mine, marks.firsts[which], marks.is_negative[which])
                self._chunks[name].append((layer, mine, values))
            elif how == "ids":
                self._chunks[name].append((layer, mine, rows.lists(mine, marks.firsts[which], marks.counts[which])))
            elif isinstance(marks, States):
                self._chunks[name] += self._states(layer, mine, marks, which)
            elif how == "text":
                starts, ends = rows.cut(mine, marks.spans, which)
                self._chunks[name].append((layer, mine, rows.text.strings(starts, ends)))
            else:
                assert kind is not None
                self._read(name, kind, layer, mine, rows.text.binaries(*rows.cut(mine, marks.spans, which)))
        columns = {name: _column(chunks, len(rows)) for name, chunks in self._chunks.items()}
        columns["fields"] = self._maps()
        return columns

    def _states(self, layer: int, mine: Longs, marks: States, which: Longs) -> Iterator[Chunk]:
        """What rows tell of several partitions each; `which` of the marks a row has."""
        rows = self._rows
        counts = marks.part_count.array[which]
        owners = np.repeat(np.arange(len(mine)), counts)
        part = spread(marks.first_part.array[which], counts)
        columns = [self._of_parts(f.type, marks.values(f.name), mine[owners], part) for f in _STATE]
        states = pa.StructArray.from_arrays(columns, fields=list(_STATE))
        again = _named_again(owners, *columns[:3])
        is_plain = np.ones(len(mine), np.bool_)
        if len(again):
            is_once = marks.is_once.array[which] == 1
            is_plain[owners[again]] = is_once[owners[again]]
            kept = np.setdiff1d(np.flatnonzero(is_plain[owners]), again)
            states, counts = states.take(pa.array(kept)), np.bincount(owners[kept], minlength=len(mine))
            odd = np.flatnonzero(~is_plain)
            raws = rows.text.raw(*rows.cut(mine[odd], marks.spans, which[odd]))
            kinds = [marks.marks[n].kind for n in which[odd].tolist()]
            values = [read_value("partitions", kind, raw)["partitions"] for kind, raw in zip(kinds, raws, strict=True)]
            yield layer, mine[odd], pa.array(values, COLUMN_TYPES["partitions"])
        yield layer, mine[is_plain], pa.ListArray.from_arrays(offsets(counts[is_plain]), states)

    def _of_parts(self, kind: pa.DataType, told: tuple[Marks, Longs] | None, owners: Longs, part: Longs) -> Array:
        """One value of each of several parts, which are of the rows `owners`; null where a part has none."""
        if told is None:
            return pa.nulls(len(part), kind)
        marks, of_part = told
        which = of_part[part]
        there = np.flatnonzero(which >= 0)
        if not len(there):
            return pa.nulls(len(part), kind)
        mine, which = owners[there], which[there]
        if kind == pa.int32():
            values = self._rows.integers(mine, marks.firsts[which], marks.is_negative[which])
        elif kind == _IDS:
            values = self._rows.lists(mine, marks.firsts[which], marks.counts[which])
        else:
            values = self._rows.text.strings(*self._rows.cut(mine, marks.spans, which))
        return _column([(0, there, values)], len(part))

    def _read(self, name: str, kind: ValueKind, layer: int, rows: Longs, raw: Array) -> None:
        """Values that need Python: each different text is read once."""
        found = raw.dictionary_encode()
        codes = _numbers(found.indices)
        told: list[dict[str, Any]] = []
        for number, one in enumerate(found.dictionary.to_pylist()):
            try:
                told.append(read_value(name, kind, one))
            except Exception:  # whatever a reader stumbles over: its record becomes a reject
                told.append({})
                self._unread.append(rows[codes == number])
        for column in dict.fromkeys(key for one in told for key in one if key in COLUMNS):
            self._chunks[column].append(
                (layer, rows, _told_column(told, column, COLUMN_TYPES[column]).take(found.indices))
            )
        pairs = [[(self._names[key], value) for key, value in one.items() if key not in COLUMNS] for one in told]
        lengths = np.array([len(some) for some in pairs], np.int64)
        if lengths.any():
            names = np.array([name for some in pairs for name, _ in some], np.int64)
            values = pa.array([value for some in pairs for _, value in some], pa.string())
            counts = lengths[codes]
            index = spread((np.cumsum(lengths) - lengths)[codes], counts)
            self._pairs.append((layer, np.repeat(rows, counts), names[index], values.take(pa.array(index))))

    def _maps(self) -> Array:
        """A map for each row, its keys in order."""
        rows, table = self._rows, self._rows.table
        counts = table.field_count[rows.form]
        owners = np.repeat(np.arange(len(rows)), counts)
        which = spread(table.first_field[rows.form], counts)
        names = table.field_names.array[which]
        values = rows.text.strings(*rows.cut(owners, table.fields.spans, which))
        keys = sorted(self._names)
        key = np.argsort(np.argsort(list(self._names)))  # place among the sorted names, by number
        if self._pairs:
            layers = table.fields.layers[which]
            owners, names, values = self._merged(owners, names, layers, values, key)
            counts = np.bincount(owners, minlength=len(rows))
        named: Array = pa.array(keys, pa.string()).take(pa.array(key[names]))
        return pa.MapArray.from_arrays(offsets(counts), named, values, type=FIELDS)

    def _merged(
        self, owners: Longs, names: Longs, layers: Longs, values: Array, key: Longs
    ) -> tuple[Longs, Longs, Array]:
        """Rows, names and values of fields together with those that readers told, in order of row and name; of one name
        the one of the highest layer."""
        rows = np.concatenate([owners, *(pairs[1] for pairs in self._pairs)])
        named = np.concatenate([names, *(pairs[2] for pairs in self._pairs)])
        layer = np.concatenate([layers, *(np.full(len(pairs[1]), pairs[0]) for pairs in self._pairs)])
        place = rows * len(key) + key[named]
        order = np.lexsort((layer, place))
        order = order[np.append(place[order][1:] != place[order][:-1], True)]
        taken = pa.concat_arrays([values, *(pairs[3] for pairs in self._pairs)]).take(pa.array(order))
        return rows[order], named[order], taken


def _batch(columns: Mapping[str, Array], n: int) -> pa.RecordBatch:
    """A batch of SCHEMA; columns that are not given are null."""
    arrays = [columns[f.name] if f.name in columns else pa.nulls(n, f.type) for f in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
