"""When the records of a batch were written: their time stamps read together, and carried to UTC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from udfs.arrow.schema import SCHEMA
from udfs.arrow.slices import Array, BatchBytes, RecordRows
from udfs.logs import timestamps
from udfs.logs.arrays import Flags, Longs
from udfs.logs.framing import Frames

_CLOCK_VALUES = pa.array(timestamps.CLOCK_VALUES, pa.string())


class RecordTimes(NamedTuple):
    """Times of records, in order."""

    micros: Longs  # UTC; timestamps.NO_TIME where there is none
    clock: timestamps.ClockCodes
    is_invalid: Flags  # the record has a time stamp that is no time

    def columns(self, rows: Longs) -> dict[str, Array]:
        """`at` and `clock` of some records."""
        micros = self.micros[rows]
        return {
            "at": pa.array(micros, mask=micros == timestamps.NO_TIME).cast(SCHEMA.field("at").type),
            "clock": _CLOCK_VALUES.take(pa.array(self.clock[rows])),
        }


def record_times(
    blocks: Sequence[Frames],
    rows: RecordRows,
    byte_offsets: Longs,
    zone: str,
    clock_changes: timestamps.ClockChanges | None,
) -> RecordTimes:
    """The times of all records of some blocks of one layout; a local time is read in `zone`."""
    if blocks[0].layout.batches:
        texts = [head[0] for block in blocks for head in block.heads]
        stamps = timestamps.micros_of(texts)
        is_present = np.fromiter(map(bool, texts), np.bool_, len(texts))
    else:
        starts, ends = rows.edges_by_template(rows.table.at)
        is_present = ends > starts
        stamps = _stamps(rows.data, starts, ends)
    micros, clock = timestamps.to_utc(stamps.micros, zone, byte_offsets, clock_changes, stamps.is_utc)
    return RecordTimes(micros, clock, is_present & (micros == timestamps.NO_TIME))


def _stamps(data: BatchBytes, starts: Longs, ends: Longs) -> timestamps.Stamps:
    """Time stamps as times; those of the usual length together."""
    usual = np.flatnonzero(ends - starts == 23)
    micros = np.full(len(starts), timestamps.NO_TIME, np.int64)
    is_utc = np.zeros(len(starts), np.bool_)
    texts = np.ndarray((max(len(data.data) - 22, 0),), "V23", data.data, 0, (1,))
    micros[usual] = timestamps.matrix_micros(texts[starts[usual]].view(np.uint8).reshape(-1, 23))
    others = np.flatnonzero((micros == timestamps.NO_TIME) & (ends > starts))
    if len(others):
        stamps = timestamps.micros_of(data.raw(starts[others], ends[others]))
        micros[others], is_utc[others] = stamps.micros, stamps.is_utc
    return timestamps.Stamps(micros, is_utc)
