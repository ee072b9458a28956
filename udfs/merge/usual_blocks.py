"""Blocks of records of the usual layout, read into memory that is used again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from udfs.merge.block import Block, Pool, ReadTotals
from udfs.merge.usual_layout import BYTES_BEHIND, records_in

if TYPE_CHECKING:
    from udfs.merge.block import Flags, Longs


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
    stream: BinaryIO, totals: ReadTotals, pool: Pool, offset: int, limit: int | None, first_line: int | None
) -> Iterator[tuple[Block, Longs, Flags | None]]:
    """Blocks of a stream, with local times; byte offsets of their records, and which times are UTC (None: none).

    A record that is not whole is carried over to the next block; memory grows with a record of more than a block.
    """
    window, line = _Window(stream, limit, pool, totals), first_line or 1
    is_begun = offset > 0  # what stands before the first record belongs to none
    while not window.is_last:
        window.fill()
        data, is_last = window.data, window.is_last
        starts, local, is_utc = records_in(data, window.whole)
        if len(starts):
            stop, keep = (window.filled, len(starts)) if is_last else (int(starts[-1]), len(starts) - 1)
        else:
            stop, keep = 0 if is_begun and not is_last else window.whole, 0
        if not is_begun:
            totals.unframed_bytes += int(starts[0]) if len(starts) else stop - window.is_end_added
        lines = None
        if first_line is not None:
            newlines = np.flatnonzero(np.frombuffer(data, np.uint8, stop) == 10)
            lines = line + np.searchsorted(newlines, starts[:keep])
            line += len(newlines)
        is_begun = is_begun or len(starts) > 0
        window.carry(stop, in_new_memory=keep > 0)
        if keep:
            ends = np.concatenate((starts[1 : keep + 1], np.full(1, stop)))[:keep]
            block = Block(data, starts[:keep], ends, local[:keep], lines, offset)
            yield block, offset + starts[:keep], None if is_utc is None else is_utc[:keep]
        offset += stop
    pool.give(window.data)


class _Window:
    """The part of a stream that is in memory: `data[:filled]`, of which `data[:whole]` are whole lines.

    Behind `whole` there are BYTES_BEHIND more bytes, at the end of the stream zeros. `is_end_added`: the last line had
    no line end, and was given one.
    """

    def __init__(self, stream: BinaryIO, limit: int | None, pool: Pool, totals: ReadTotals) -> None:
        self._source, self._pool, self._totals = Limited(stream, limit), pool, totals
        self._carried = 0  # bytes at the begin of `data` that are to be looked at again
        self.data = pool.take()
        self.filled = self.whole = 0
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
        self._totals.bytes += count
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

    def carry(self, stop: int, *, in_new_memory: bool) -> None:
        """Keep what stands behind `stop` for the next block; in new memory if somebody has this."""
        data, self._carried = self.data, self.filled - stop
        if in_new_memory:
            self.data = self._pool.take(2 * self._carried if 2 * self._carried > self._pool.size else 0)
        self.data[: self._carried] = memoryview(data)[stop : self.filled]
