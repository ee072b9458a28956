"""The columnar interpreter of the rules: framed records in, Arrow batches out. It runs in Spark's Python workers.

A batch is made in six steps: records are framed (`udfs.logs.framing`), matched to log templates
(`udfs.arrow.templates`), their secrets are masked (`udfs.logs.secrets`), their times read (`record_times`), their
values sliced out column by column (`columns`), and all of them counted (`accounts`). Only what a column holds in
another shape than its digits or its text is read by Python, each different text once. `udfs.rules.parsing` is the plain
form of the same; a test proves that both agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.arrow.accounts import Accounts, Outcomes
from udfs.arrow.columns import EventColumns, dictionary, mapping_column, merged_column
from udfs.arrow.record_times import record_times
from udfs.arrow.schema import NO_LOGGER, NO_RULE, NO_TIME, NO_VALUE, REASONS, record_batch
from udfs.arrow.slices import Array, BatchBytes, RecordRows, text
from udfs.arrow.template_table import TemplateTable
from udfs.arrow.templates import MatchedBlock, template_cache
from udfs.logs.arrays import Flags, Longs
from udfs.logs.escapes import protected
from udfs.logs.formats import Format, can_go_on
from udfs.logs.framing import BLOCK, Frames, OtherBytes, frames
from udfs.logs.secrets import masked
from udfs.logs.timestamps import ClockChanges
from udfs.rules.known_fields import APPENDED, APPENDED_TEXT, NEW_FIELDS
from udfs.rules.message_signature import message_signature
from udfs.rules.prefixes import read_prefix
from udfs.rules.rulebook import RULES

FLUSH_RECORDS = 25_000
"""Records that are enough for a batch, as are FLUSH_BYTES: a block is one, but not each of several channels' parts of
it."""
FLUSH_BYTES = BLOCK // 2

_EVENT_TYPES = pa.array([*(rule.event_type for rule in RULES), *REASONS], pa.string())
_RECORDS = pa.array(["event"] * len(RULES) + ["reject"] * len(REASONS), pa.string())


def read_range(
    stream: BinaryIO,
    format_: Format,
    zone: str,
    file_id: str,
    start: int,
    end: int | None,
    first_line: int,
    clock_changes: ClockChanges | None = None,
    *,
    last_apart: bool = False,
) -> Iterator[pa.RecordBatch]:
    """All records that start in [start, end) of a stream as batches of SCHEMA, in order, and last an `account` row for
    each channel; `clock_changes` is what `udfs.logs.dst.AmbiguousTimeFinder` found in the stream.

    `last_apart`: the last record of a stream that can go on (`udfs.logs.formats.can_go_on`) has an account of its own,
    which says where it begins.
    """
    accounts = Accounts(file_id)
    parts = frames(stream, format_, start, end, first_line)
    last_record: list[Frames] = []
    if last_apart and end is None and can_go_on(format_):
        parts = _all_but_last(parts, last_record)
    for blocks in _batches_of_blocks(parts, accounts):
        batch = _batch(blocks, format_, zone, clock_changes, file_id, accounts)
        if batch.num_rows:
            yield batch
    yield accounts.batch()
    if last_record:
        [last], account = last_record, Accounts(file_id)
        batch = _batch([last], format_, zone, clock_changes, file_id, account)
        if batch.num_rows:
            yield batch
        record = batch["record"][0].as_py() if batch.num_rows else ""
        yield account.batch({"last_record": f"{last.offsets[0]},{last.lines[0]},{last.sizes[0]},{record}"})


def _all_but_last(parts: Iterator[Frames | OtherBytes], last_record: list[Frames]) -> Iterator[Frames | OtherBytes]:
    """All parts but their last record, which is put into a list."""
    waiting: Frames | None = None
    for part in parts:
        if isinstance(part, Frames):
            if waiting is not None:
                yield waiting
            waiting = part
        else:
            yield part
    if waiting is not None:
        before, last = waiting.without_last()
        if len(before):
            yield before
        last_record.append(last)


def _batches_of_blocks(parts: Iterator[Frames | OtherBytes], accounts: Accounts) -> Iterator[list[Frames]]:
    """Blocks of records, as many together as make a batch; bytes of no record are only counted."""
    blocks: list[Frames] = []
    records = size = 0
    for part in parts:
        if isinstance(part, OtherBytes):
            accounts.add_other_bytes(part.size)
            continue
        blocks.append(part)
        records, size = records + len(part), size + len(part.data)
        if records >= FLUSH_RECORDS or size >= FLUSH_BYTES:
            yield blocks
            blocks, records, size = [], 0, 0
    if blocks:
        yield blocks


def _batch(
    blocks: list[Frames],
    format_: Format,
    zone: str,
    clock_changes: ClockChanges | None,
    file_id: str,
    accounts: Accounts,
) -> pa.RecordBatch:
    """The records of some blocks as one batch of SCHEMA, events and rejects in order; counts all in `accounts`."""
    rows = _matched_rows(blocks, format_)
    lines, byte_offsets, sizes, head_sizes = (
        np.concatenate([getattr(block, name) for block in blocks])
        for name in ("lines", "offsets", "sizes", "head_sizes")
    )
    times = record_times(blocks, rows, byte_offsets, zone, clock_changes)
    prefixes, prefix = dictionary(rows.data.binaries(*rows.edges_by_template(rows.table.prefix)))
    prefix_columns = [read_prefix(text) or {} for text in prefixes]
    codes = _template_codes(rows.table)[rows.template]
    is_wholly_scoped = rows.table.is_wholly_scoped[rows.template]
    stored = np.flatnonzero((codes < len(RULES)) | is_wholly_scoped)
    values = EventColumns(rows.take(stored), prefix_columns, prefix[stored])
    columns = values.columns()
    codes[stored[values.unread]] = NO_VALUE
    codes[times.is_invalid & (codes < len(RULES))] = NO_TIME
    is_event = codes < len(RULES)
    logger = rows.table.logger[rows.template]
    outcomes = Outcomes(
        codes, is_event, rows.table.is_drifted[rows.template], is_event | is_wholly_scoped, sizes, head_sizes,
        times.micros, logger, prefix, list(rows.table.loggers), prefixes, _drift(rows.table, columns["fields"], stored),
    )  # fmt: skip
    channels = [(block.channel, len(block)) for block in blocks]
    accounts.add(channels, outcomes)
    columns |= _text_columns(rows.take(stored), is_event[stored])
    columns |= _template_columns(rows, stored)
    columns |= times.columns(stored)
    columns |= {
        "record": _RECORDS.take(pa.array(codes[stored])),
        "file_id": pa.repeat(pa.scalar(file_id), len(stored)),
        "channel": _channel_column(channels).take(pa.array(stored)),
        "line": pa.array(lines[stored]),
        "byte_offset": pa.array(byte_offsets[stored]),
        "size_bytes": pa.array(sizes[stored]),
        "head_bytes": pa.array(head_sizes[stored]),
        "node_id": mapping_column(prefix_columns, "node", pa.int32()).take(pa.array(prefix[stored])),
        "event_type": _EVENT_TYPES.take(pa.array(codes[stored])),
    }
    batch = record_batch(columns, len(stored))
    # a rule matched, but its values could not be read, and its logger is not wholly in scope
    is_dropped = ~(is_event | is_wholly_scoped)[stored]
    return batch.filter(pa.array(~is_dropped)) if is_dropped.any() else batch


def _matched_rows(blocks: list[Frames], format_: Format) -> RecordRows:
    """All records of the blocks with their templates; positions are those in the blocks' bytes put together."""
    cache = template_cache(format_.layout)
    matches: list[MatchedBlock] = [cache.match(block) for block in blocks]
    data = [
        masked(block.data) if match.may_have_secrets else block.data
        for block, match in zip(blocks, matches, strict=True)
    ]
    bytes_before = _before([len(block.data) for block in blocks])
    numbers_before = _before([len(match.number_starts) for match in matches])
    return RecordRows(
        data=BatchBytes(
            b"".join(data),
            _joined([match.number_starts for match in matches], bytes_before),
            _joined([match.number_ends for match in matches], bytes_before),
        ),
        table=cache.table,
        template=np.concatenate([match.templates for match in matches]),
        starts=_joined([block.starts for block in blocks], bytes_before),
        head_ends=_joined([block.head_ends for block in blocks], bytes_before),
        ends=_joined([block.ends for block in blocks], bytes_before),
        first_numbers=_joined([match.first_numbers for match in matches], numbers_before),
    )


def _before(lengths: list[int]) -> list[int]:
    """How much is before each of several parts."""
    return [0, *accumulate(lengths)][:-1]


def _joined(parts: list[Longs], bases: list[int]) -> Longs:
    """Positions in several parts as positions in all of them together."""
    if len(parts) == 1:
        return parts[0]
    ends = [*accumulate(map(len, parts))]
    joined = np.empty(ends[-1], np.int64)
    for part, base, end in zip(parts, bases, ends, strict=True):
        np.add(part, base, out=joined[end - len(part) : end])
    return joined


def _template_codes(table: TemplateTable) -> Longs:
    """For each template the index in RULES, or why a record of it is no event."""
    no_rule = np.where(table.logger == table.loggers.get(b"", -1), NO_LOGGER, NO_RULE)
    return np.where(table.rules < 0, no_rule, table.rules)


def _drift(table: TemplateTable, fields: Array, stored: Longs) -> tuple[Longs, Array]:
    """Records that no rule knows in full, and what is new in each: names of fields, or APPENDED_TEXT."""
    marks = pa.array([name for name in (NEW_FIELDS, APPENDED) if name in table.names], pa.string())
    if not len(marks):
        return np.zeros(0, np.int64), pa.array([], pa.string())
    owners = np.repeat(stored, np.diff(fields.offsets.to_numpy()))
    marked = pc.is_in(fields.keys, marks)
    values = pc.if_else(pc.equal(fields.keys, APPENDED), APPENDED_TEXT, fields.items).filter(marked)
    return owners[marked.to_numpy(zero_copy_only=False)], values


def _channel_column(channels: list[tuple[str, int]]) -> Array:
    """The channel of each record."""
    names = pa.array([name for name, _ in channels], pa.string())
    return names.take(pa.array(np.repeat(np.arange(len(channels)), [count for _, count in channels])))


def _template_columns(rows: RecordRows, stored: Longs) -> dict[str, Array]:
    """Columns that are the same in all lines of a template."""
    table, template = rows.table, rows.template[stored]
    return {
        name: text([value or None for value in values]).take(pa.array(numbers[template]))
        for name, values, numbers in (("level", table.levels, table.level), ("logger", table.loggers, table.logger))
    }


def _text_columns(rows: RecordRows, is_event: Flags) -> dict[str, Array]:
    """Message and further lines of events; of rejects all of it, and the message's signature."""
    data, n = rows.data, len(rows)
    starts, ends = rows.edges_by_template(rows.table.message)
    events, rejects = np.flatnonzero(is_event), np.flatnonzero(~is_event)
    raw = [protected(part) for part in data.raw(rows.starts[rejects], rows.ends[rejects])]
    messages = data.raw(starts[rejects], ends[rejects])
    signatures = [message_signature(message.decode("utf-8", "backslashreplace")) for message in messages]
    multiline = events[rows.head_ends[events] < rows.ends[events]]
    detail_starts = rows.head_ends[multiline]
    detail_ends = _without_line_end(data, detail_starts, rows.ends[multiline])
    event_messages = data.strings(starts[events], ends[events])
    return {
        "message": merged_column([(0, events, event_messages), (0, rejects, text(raw))], n),
        "detail": merged_column([(0, multiline, data.strings(detail_starts, detail_ends))], n),
        "signature": merged_column([(0, rejects, pa.array(signatures, pa.string()))], n),
    }


def _without_line_end(data: BatchBytes, starts: Longs, ends: Longs) -> Longs:
    """Where parts end if the line ends at their end are left out."""
    ends = ends.copy()
    while True:
        last = data.codes[ends - 1]
        longer = (ends > starts) & ((last == 10) | (last == 13))
        if not longer.any():
            return ends
        ends -= longer
