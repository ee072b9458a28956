"""Blocks of records of the usual layout, read into memory that is used again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from udfs.merge.block import Block, Pool, ReadTotals
from udfs.merge.search import CONTEXT_BYTES, MOST_HITS, Search, start_before, stretches
from udfs.merge.usual_layout import BYTES_BEHIND, records_in, stamped

if TYPE_CHECKING:
    from udfs.logs.arrays import Flags, Longs


class Limited:
    """At most so many bytes of a stream, read into memory that is there already."""

    def __init__(self, stream: BinaryIO, limit: int | None) -> None:
        self._stream, self._left = stream, limit

    def fill(self, view: memoryview) -> int:
        """How many bytes came; fewer than the view holds only at the end."""
        if self._left is not None:
            view = view[: self._left]
        filled = 0
        while filled < len(view):
            count = cast(int, self._stream.readinto(view[filled:]))  # type: ignore[attr-defined]  # raw or buffered
            if not count:
                break
            filled += count
        if self._left is not None:
            self._left -= filled
        return filled


def usual_blocks(
    stream: BinaryIO,
    totals: ReadTotals,
    pool: Pool,
    offset: int,
    limit: int | None,
    first_line: int | None,
    search: Search | None,
) -> Iterator[tuple[Block, Longs, Flags | None]]:
    """Blocks of a stream, with local times; byte offsets of their records, and which times are UTC (None: none).

    A record that is not whole is carried over to the next block; memory grows with a record of more than a block. With
    `search`, records are only found around what it finds; what else is found of them may be any.
    """
    window, line = _Window(stream, limit, pool, totals), first_line or 1
    is_begun = offset > 0  # what stands before the first record belongs to none
    while not window.is_last:
        window.fill()
        records = _around_hits(window, search) if search is not None and is_begun else None
        if records is None:
            records = _all_records(window, is_begun)
            is_begun = is_begun or records.has_start
        block = records.block
        if first_line is not None:
            newlines = np.flatnonzero(np.frombuffer(window.data, np.uint8, records.done_to) == 10)
            if block is not None:
                block.lines = line + np.searchsorted(newlines, records.starts)
            line += int(np.searchsorted(newlines, records.carried_from))
        window.carry(records)
        if block is not None:
            block.offset = offset
            yield block, offset + records.starts, records.is_utc
        offset += records.carried_from
    pool.give(window.data)


@dataclass(frozen=True)
class _Records:
    """What is found in a window: where its records start there, and which times are UTC already.

    What stands from `carried_from` on is looked at again; up to `done_to`, its records were given out. `has_start`:
    whether any record starts there, though it may not be whole.
    """

    block: Block | None
    starts: Longs
    is_utc: Flags | None
    carried_from: int
    done_to: int
    has_start: bool = True


def _all_records(window: _Window, is_begun: bool) -> _Records:
    """All whole records of the window."""
    starts, local, is_utc = records_in(window.data, window.whole)
    if len(starts):
        stop, keep = (window.filled, len(starts)) if window.is_last else (int(starts[-1]), len(starts) - 1)
    else:
        stop, keep = 0 if is_begun and not window.is_last else window.whole, 0
    if not is_begun:
        window.totals.unframed_bytes += int(starts[0]) if len(starts) else stop - window.is_end_added
    block = None
    if keep:
        ends = np.concatenate((starts[1 : keep + 1], np.full(1, stop)))[:keep]
        repeated = int(np.searchsorted(starts[:keep], window.done_to))
        block = Block(window.data, starts[:keep], ends, local[:keep], repeated=repeated)
    is_utc = None if is_utc is None else is_utc[:keep]
    return _Records(block, starts[:keep], is_utc, stop, max(stop, window.done_to), len(starts) > 0)


def _around_hits(window: _Window, search: Search) -> _Records | None:
    """The records around what is looked for, in memory of their own. None if all of the window have to be found."""
    data, filled, done_to = window.data, window.filled, window.done_to
    stop = filled if window.is_last else start_before(data, window.whole - 1)
    if stop <= max(done_to, filled // 2):
        return None
    hits = search(data, done_to, stop)
    if hits is None or len(hits) > MOST_HITS:
        return None
    carried_from = stop
    if window.is_last:
        hits = hits or [stop - 1]  # so that the last time is known
    elif (context := start_before(data, stop - CONTEXT_BYTES)) > filled // 2:
        carried_from = context
    parts = stretches(data, hits, stop)
    if parts is None:
        return None
    window.totals.passed_over += stop - done_to - parts.size(done_to, stop)
    if not hits:
        return _Records(None, _NONE, None, carried_from, stop)
    joined = parts.joined(BYTES_BEHIND)
    size = len(joined) - BYTES_BEHIND
    records = stamped(joined, size)
    if records is None:
        return None
    starts = parts.places(records[0])
    ends = np.append(records[0][1:], size)
    repeated = int(np.searchsorted(starts, done_to))
    return _Records(Block(joined, records[0], ends, records[1], repeated=repeated), starts, None, carried_from, stop)


_NONE = np.zeros(0, np.int64)


class _Window:
    """The part of a stream that is in memory: `data[:filled]`, of which `data[:whole]` are whole lines.

    The records in `data[:done_to]` were given out; they are here for what depends on them. Behind `whole` there are
    BYTES_BEHIND more bytes, at the end of the stream zeros. `is_end_added`: the last line had no line end, and was
    given one.
    """

    def __init__(self, stream: BinaryIO, limit: int | None, pool: Pool, totals: ReadTotals) -> None:
        self._source, self._pool, self.totals = Limited(stream, limit), pool, totals
        self._carried = 0  # bytes at the begin of `data` that are to be looked at again
        self.data = pool.take()
        self.filled = self.whole = self.done_to = 0
        self.is_last = self.is_end_added = False

    def fill(self) -> None:
        """Read on behind what was carried over."""
        if self._carried > len(self.data) // 2:  # a record of more than a block
            small, self.data = self.data, bytearray(2 * len(self.data))
            self.data[: self._carried] = memoryview(small)[: self._carried]
            self._pool.give(small)
        data, room = self.data, len(self.data) - BYTES_BEHIND
        with memoryview(data) as view:
            count = self._source.fill(view[self._carried : room])
        self.filled = self._carried + count
        self.totals.bytes += count
        self.is_last = self.filled < room
        if not self.is_last:
            self.whole = data.rfind(b"\n", 0, room - BYTES_BEHIND) + 1
            return
        self.is_end_added = self.filled > 0 and data[self.filled - 1] != 10
        if self.is_end_added:
            data[self.filled] = 10
            self.filled += 1
        data[self.filled : self.filled + BYTES_BEHIND] = bytes(min(BYTES_BEHIND, len(data) - self.filled))
        self.whole = self.filled

    def carry(self, records: _Records) -> None:
        """Keep what is to be looked at again for the next block; in new memory if this is the block's."""
        stop = records.carried_from
        data, self._carried, self.done_to = self.data, self.filled - stop, records.done_to - stop
        if records.block is not None and records.block.data is data:
            self.data = self._pool.take(2 * self._carried if 2 * self._carried > self._pool.size else 0)
        self.data[: self._carried] = memoryview(data)[stop : self.filled]
