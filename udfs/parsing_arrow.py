"""The columnar interpreter of the rules: framed records in, Arrow batches out. It runs in Spark's Python workers.

Every record of a block is looked up once; the values of one rule become columns together, and equal texts are read
only once. `udfs.parsing` is the plain form; a test proves that both agree.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs import clock
from udfs.framing import Frames, Stretch, frames
from udfs.layouts import Layout
from udfs.prefixes import read_prefix
from udfs.rule import COLUMNS, Rule
from udfs.rulebook import candidates
from udfs.scopes import is_whole

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
_ARROW = {
    "int": pa.int32(),
    "text": pa.string(),
    "ids": _IDS,
    "partitions": pa.list_(_STATE),
}
COLUMN_TYPES = {name: _ARROW[kind] for name, kind in COLUMNS.items()}
FIELDS = pa.map_(pa.string(), pa.string())
SCHEMA = pa.schema(  # what a worker gives back; `record` is `event`, `reject` or `account`
    [
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
)


def text(raw: Sequence[bytes | None]) -> pa.Array:
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
        numbers = {
            name: str(value)
            for name, value in vars(self).items()
            if isinstance(value, int)
        }
        numbers["nodes"] = ",".join(f"{node}={count}" for node, count in sorted(self.nodes.items()))
        numbers["versions"] = ",".join(f"{since}..{until}" for since, until in sorted(self.versions))
        return numbers


def read_range(
    stream: BinaryIO, layout: Layout, zone: str, file_id: str, start: int, end: int | None, first_line: int
) -> Iterator[pa.RecordBatch]:
    """All records that start in [start, end) of a stream as batches of SCHEMA, and last one `account` row."""
    account = Account()
    for part in frames(stream, layout, start, end, first_line):
        if isinstance(part, Stretch):
            account.other_bytes += part.size
        else:
            yield from read_block(part, layout, zone, file_id, account)
    fields = pa.array([list(account.fields().items())], FIELDS)
    yield _batch({"record": pa.array(["account"]), "file_id": pa.array([file_id]), "fields": fields}, 1)


def read_block(block: Frames, layout: Layout, zone: str, file_id: str, account: Account) -> Iterator[pa.RecordBatch]:
    """The events and rejects of one block of records as batches of SCHEMA; adds to `account`."""
    group = layout.head.groupindex
    i_at, i_level, i_prefix, i_rest, i_logger = (group[n] - 1 for n in ("at", "level", "prefix", "rest", "logger"))
    default_logger = layout.logger.encode()
    found: defaultdict[Rule, tuple[list[int], list[tuple[bytes, ...]]]] = defaultdict(lambda: ([], []))
    rejects: list[int] = []
    others: list[int] = []
    prefixes: dict[bytes, int] = {b"": 0}
    known: list[Any] = [{}]  # what each prefix tells
    prefix_of: list[int] = []
    whole: dict[bytes, bool] = {}
    for i, groups in enumerate(block.groups):
        prefix, rest, logger = groups[i_prefix], groups[i_rest], groups[i_logger] or default_logger
        number = prefixes.get(prefix)
        if number is None:
            told = read_prefix(prefix)
            number = prefixes[prefix] = len(known) if told is not None else -1
            if told is not None:
                known.append(told)
        if number < 0:  # no known prefix: part of the message
            rest, number = prefix + rest, 0
        prefix_of.append(number)
        for rule in candidates(logger, rest):
            m = rule.pattern.fullmatch(rest)
            if m is not None:
                places, values = found[rule]
                places.append(i)
                values.append(m.groups())
                break
        else:
            if logger not in whole:
                whole[logger] = is_whole(logger.decode("utf-8", "backslashreplace"))
            (rejects if whole[logger] else others).append(i)

    n = len(block.groups)
    at = [g[i_at] for g in block.groups]
    micros = (
        clock.to_utc(clock.local_micros(at), zone)
        if layout.time == "local"
        else np.array([int(ms) * 1000 for ms in at], np.int64)
    )
    sizes = block.ends - block.starts
    line_ends = np.minimum(block.head_ends + 1, block.ends)
    prefix_index = np.array(prefix_of, np.int64)
    told_nodes = pa.array([told.get("node") for told in known], pa.int32())
    common = {
        "line": pa.array(block.lines),
        "byte_offset": pa.array(block.starts + block.offset),
        "size_bytes": pa.array(sizes),
        "node_id": told_nodes.take(pa.array(prefix_index)),
        "at": pa.array(micros).cast(pa.timestamp("us", tz="UTC")),
    }
    if n:
        account.first_at = min(int(micros.min()), account.first_at if account.first_at is not None else int(micros.min()))
        account.last_at = max(int(micros.max()), account.last_at if account.last_at is not None else int(micros.max()))
    account.other_bytes += int(sizes[others].sum())
    account.reject_bytes += int(sizes[rejects].sum())
    account.reject_lines += len(rejects)
    for number, count in Counter(prefix_of).items():
        for role in ("broker_id", "controller_id"):
            if known[number].get("node") is not None and known[number].get(role) == known[number]["node"]:
                account.nodes[f"{role[:-3]} {known[number]['node']}"] += count
                break

    for rule, (places, values) in found.items():
        index = np.array(places, np.int64)
        heads = int((line_ends[index] - block.starts[index]).sum())
        account.event_bytes += heads
        account.detail_bytes += int(sizes[index].sum()) - heads
        account.event_lines += len(places)
        account.versions.add((rule.since, rule.until))
        columns = _rule_columns(rule, values, known, prefix_index[index])
        rows = [block.groups[i] for i in places]
        columns |= {name: column.take(pa.array(index)) for name, column in common.items()}
        columns |= {
            "record": _constant("event", len(places)),
            "file_id": _constant(file_id, len(places)),
            "event_type": _constant(rule.event_type, len(places)),
            "level": text([g[i_level] or None for g in rows]),
            "logger": text([g[i_logger] or default_logger for g in rows]),
            "message": text([g[i_prefix] + g[i_rest] for g in rows]),
            "detail": _details(block, index, line_ends),
        }
        yield _batch(columns, len(places))
    if rejects:
        index = np.array(rejects, np.int64)
        columns = {name: column.take(pa.array(index)) for name, column in common.items()}
        columns |= {
            "record": _constant("reject", len(rejects)),
            "file_id": _constant(file_id, len(rejects)),
            "event_type": _constant("no rule knows this message", len(rejects)),
            "logger": text([block.groups[i][i_logger] or default_logger for i in rejects]),
            "message": text([block.data[block.starts[i] : block.ends[i]] for i in rejects]),
        }
        yield _batch(columns, len(rejects))


def _rule_columns(rule: Rule, values: list[tuple[bytes, ...]], known: list[Any], prefix: Any) -> dict[str, pa.Array]:
    """The contract's columns and `fields` of all records of one rule; the text goes before the prefix."""
    read: dict[str, pa.Array] = {}

    def tell(name: str, column: pa.Array) -> None:
        read[name] = pc.coalesce(column, read[name]) if name in read else column  # a name told twice: the later one

    for (name, kind), raw in zip(rule.marks, zip(*values, strict=True), strict=True):
        if kind.read is None or not (kind.spreads or name in COLUMNS):
            tell(name, text(raw))
        elif COLUMNS.get(name) == "int" and not kind.spreads:
            tell(name, text(raw).cast(pa.int32()))
        else:
            codes = pc.dictionary_encode(text(raw))
            told = [kind.read(t) for t in codes.dictionary.to_pylist()]
            if not kind.spreads:
                tell(name, pa.array(told, COLUMN_TYPES[name]).take(codes.indices))
                continue
            for key in dict.fromkeys(key for one in told for key in one):
                kept = [one.get(key) for one in told]
                column = pa.array(kept, COLUMN_TYPES[key]) if key in COLUMNS else pa.array(map(_as_text, kept), pa.string())
                tell(key, column.take(codes.indices))
    columns = {name: column for name, column in read.items() if name in COLUMNS}
    used = set(prefix.tolist())
    for key in COLUMNS:
        if any(key in known[number] for number in used):
            said = pa.array([p.get(key) for p in known], COLUMN_TYPES[key]).take(pa.array(prefix))
            columns[key] = pc.coalesce(columns[key], said) if key in columns else said
    columns["fields"] = _maps([(name, column) for name, column in read.items() if name not in COLUMNS], len(values))
    return columns


def _as_text(value: Any) -> str | None:
    """A further field as it is stored: text as it is, a list of ids as `1,2,3`."""
    if value is None or isinstance(value, str):
        return value
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _maps(fields: list[tuple[str, pa.Array]], n: int) -> pa.Array:
    """One map a record from columns of values; a null value is left out."""
    if not fields:
        return pa.array([[]] * n, FIELDS)
    width = len(fields)
    order = np.arange(n * width).reshape(width, n).T.ravel()
    items = pa.concat_arrays([column for _, column in fields]).take(pa.array(order))
    keys = pa.array([name for name, _ in fields]).take(pa.array(np.tile(np.arange(width), n)))
    offsets = np.arange(0, n * width + 1, width)
    if items.null_count:
        there = items.is_valid().to_numpy(zero_copy_only=False)
        offsets = np.concatenate([[0], np.cumsum(there)])[offsets]
        items, keys = items.drop_null(), keys.filter(pa.array(there))
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, items, type=FIELDS)


def _details(block: Frames, index: Any, line_ends: Any) -> pa.Array:
    """Further lines of records, without the last line end; null where there are none."""
    longer = line_ends[index] < block.ends[index]
    if not longer.any():
        return pa.nulls(len(index), pa.string())
    return text(
        [
            block.data[line_ends[i] : block.ends[i]].rstrip(b"\r\n") if more else None
            for i, more in zip(index, longer, strict=True)
        ]
    )



def _constant(value: str, n: int) -> pa.Array:
    return pa.repeat(pa.scalar(value), n)


def _batch(columns: dict[str, pa.Array], n: int) -> pa.RecordBatch:
    """A batch of SCHEMA; columns that are not given are null."""
    arrays = [columns[f.name] if f.name in columns else pa.nulls(n, f.type) for f in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
