"""The records of one stream, block by block, with their times in UTC."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from udfs.merge.block import Block, Pool, ReadTotals
from udfs.merge.framed_blocks import framed_blocks
from udfs.merge.usual_blocks import usual_blocks
from udfs.merge.usual_layout import NO_TIME

if TYPE_CHECKING:
    from udfs.logs.arrays import Flags, Longs
    from udfs.logs.formats import Format
    from udfs.merge.search import Search

    ToUtc = Callable[[Longs, Longs, Flags | None], Longs]
    """Local times, byte offsets of their records, and which are UTC already (None: none) -> microseconds UTC."""

USUAL = "apache"
"""The name of the format whose records are found by their bytes alone."""


def blocks(
    stream: BinaryIO,
    format_: Format | None,
    to_utc: ToUtc,
    totals: ReadTotals,
    *,
    pool: Pool,
    offset: int = 0,
    limit: int | None = None,
    first_line: int | None = None,
    search: Search | None = None,
) -> Iterator[Block]:
    """The records of a stream, block by block, in its order. Memory of a block is its reader's, who gives it back.

    The stream is read from where it is, which is byte `offset` of it, for `limit` bytes; None means to its end.
    `format_` None stands for the usual one. `offset` begins a record, or is 0. `first_line` is the number of the line
    there; None: lines are not counted. The same stream is cut into the same blocks each time, if the memory is of the
    same size. With `search`, of the usual format only records around what it finds need be there.
    """
    if format_ is None or format_.name == USUAL:
        local_blocks = usual_blocks(stream, totals, pool, offset, limit, first_line, search)
    else:
        local_blocks = framed_blocks(stream, format_, totals, limit, first_line)
    last: int | None = None  # time of the record before
    for block, offsets, is_utc in local_blocks:
        if not len(block):
            continue
        is_lost = block.times == NO_TIME
        block.times = to_utc(block.times, offsets, is_utc)
        if is_lost.any():
            last = _carry_forward(block.times, is_lost, last)
        last = int(block.times[-1])
        totals.add(block.times[block.repeated :])
        yield block


def _carry_forward(times: Longs, is_lost: Flags, last: int | None) -> int:
    """Give records without a time that of the one before; at the begin of a stream that of the first that has one."""
    there = np.flatnonzero(~is_lost)
    if last is None:
        last = int(times[there[0]]) if len(there) else 0
    before = np.searchsorted(there, np.flatnonzero(is_lost)) - 1
    times[is_lost] = np.where(before < 0, last, times[there[np.maximum(before, 0)]] if len(there) else last)
    return last
