"""Old rejects read by today's rules, from what was stored of them; the files they came from are not needed."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from udfs.arrow.parse import read_range
from udfs.arrow.schema import SCHEMA
from udfs.logs.escapes import recovered
from udfs.logs.formats import Format, format_named

PLACE = ("line", "byte_offset", "size_bytes", "head_bytes")
"""What a record that is now an event keeps of the reject: where and how long it is in the stream on disk."""


def reparse(rejects: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """REJECTS with their streams' `format` and `time_zone` -> batches of parsing's SCHEMA: those that are events now,
    and `account` rows of the streams, of which only the releases count. What is still a reject does not come back.
    """
    groups: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    keys = (rejects.column(name).to_pylist() for name in ("file_id", "format", "time_zone"))
    for row, key in enumerate(zip(*keys, strict=True)):
        groups[key].append(row)
    for (file_id, name, zone), rows in groups.items():
        layout = format_named(name).layout  # raw is without the wrapper, and in UTF-8
        yield from _reparse_stream(rejects.take(pa.array(rows)), file_id, Format("", "", layout), zone)


def _reparse_stream(rejects: pa.RecordBatch, file_id: str, format_: Format, zone: str) -> Iterator[pa.RecordBatch]:
    """Records of one stream, put one behind the other and read as a stream; each has to come out whole."""
    raws = [_ended(recovered(text)) for text in rejects.column("raw").to_pylist()]
    row_at: dict[int, int] = {}
    position = 0
    for row, raw in enumerate(raws):
        row_at[position] = row
        position += len(raw)
    for batch in read_range(io.BytesIO(b"".join(raws)), format_, zone, file_id, 0, None, 1):
        positions: list[tuple[int, int]] = []  # row of the batch, row of the rejects
        account = None
        records = zip(
            *(batch.column(name).to_pylist() for name in ("record", "byte_offset", "size_bytes")), strict=True
        )
        for i, (record, offset, size) in enumerate(records):
            if record == "account":
                account = batch.slice(i, 1)
            elif record == "event" and offset in row_at and size == len(raws[row_at[offset]]):
                positions.append((i, row_at[offset]))
        if positions:
            there, here = (pa.array(rows) for rows in zip(*positions, strict=True))
            yield _placed(batch.take(there), rejects.take(here))
        if account is not None:
            yield account


def _ended(raw: bytes) -> bytes:
    return raw if raw.endswith(b"\n") else raw + b"\n"


def _placed(events: pa.RecordBatch, rejects: pa.RecordBatch) -> pa.RecordBatch:
    """Events with the place, time and node of the rejects that they were."""
    columns: dict[str, Any] = {name: events.column(name) for name in SCHEMA.names}
    columns |= {name: rejects.column(name).cast(SCHEMA.field(name).type) for name in PLACE}
    for name, first, second in (("at", rejects, events), ("clock", rejects, events), ("node_id", events, rejects)):
        kind = SCHEMA.field(name).type
        columns[name] = pc.coalesce(first.column(name).cast(kind), second.column(name).cast(kind))
    return pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)
