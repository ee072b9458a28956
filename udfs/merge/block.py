"""Records of a stream in a block of arrays, with their times: what `merge` sorts. No line is parsed here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # a plain merge needs no numpy.typing, and must start quickly
    from udfs.logs.arrays import Flags, Longs

BLOCK_BYTES = 1 << 20
"""Bytes read at once."""


@dataclass(eq=False)
class Block:
    """Records of one file, in its order. Record i is `data[starts[i]:ends[i]]`.

    `times` are microseconds UTC; a record whose time does not exist has that of the record before it. `lines` are the
    numbers of the first lines, from 1; None where nobody asked for them. `offset` is the byte of the stream at data[0].
    `ranks`: see `udfs.rules.event_rank`; None where all records of a time are here, so that they can be ranked later.
    The first `repeated` records were in another block, too, and are not wanted again: ranks of others depend on them.
    """

    data: bytes | bytearray
    starts: Longs
    ends: Longs
    times: Longs
    lines: Longs | None = None
    offset: int = 0
    ranks: Longs | None = None
    repeated: int = 0

    def __len__(self) -> int:
        return len(self.starts)

    def raw(self, i: int) -> bytes:
        """All bytes of record i."""
        return bytes(self.data[self.starts[i] : self.ends[i]])

    def chosen(self, rows: Longs | Flags) -> Block:
        """The block with only these records, in the order of `rows`."""
        lines = None if self.lines is None else self.lines[rows]
        ranks = None if self.ranks is None else self.ranks[rows]
        repeated = int(np.count_nonzero(np.arange(len(self))[rows] < self.repeated)) if self.repeated else 0
        return Block(
            self.data, self.starts[rows], self.ends[rows], self.times[rows], lines, self.offset, ranks, repeated
        )

    def in_order(self) -> Block:
        """The records by time, those of one time as they are."""
        if (self.times[1:] >= self.times[:-1]).all():
            return self
        return self.chosen(np.argsort(self.times, kind="stable"))

    def with_line_ends(self) -> Block:
        """The same, each record ending in a line end: one that another writer cut short may have none."""
        if not len(self) or (np.frombuffer(self.data, np.uint8)[self.ends - 1] == 10).all():
            return self
        raws = [self.raw(i) for i in range(len(self))]
        raws = [raw if raw.endswith(b"\n") else raw + b"\n" for raw in raws]
        ends = np.cumsum([len(raw) for raw in raws])
        starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
        return Block(b"".join(raws), starts, ends, self.times, self.lines, ranks=self.ranks)

    def compact(self) -> Block:
        """The same records in their order, without the bytes between them, in memory of their own."""
        sizes = self.ends - self.starts
        ends = np.cumsum(sizes)
        data = b"".join(pieces([memoryview(self.data)], None, self.starts, self.ends))
        return Block(data, ends - sizes, ends, self.times, self.lines, ranks=self.ranks)


def pieces(views: list[memoryview], which: Longs | None, starts: Longs, ends: Longs) -> list[memoryview]:
    """The bytes of records in order, neighbours in one piece. `which`: the view each is in; None: all in the first."""
    if not len(starts):
        return []
    breaks = starts[1:] != ends[:-1]
    if which is not None:
        breaks |= which[1:] != which[:-1]
    last = np.flatnonzero(breaks)
    begins = np.concatenate((starts[:1], starts[last + 1])).tolist()
    stops = np.concatenate((ends[last], ends[-1:])).tolist()
    if which is None:
        view = views[0]
        return [view[begin:stop] for begin, stop in zip(begins, stops, strict=True)]
    of = np.concatenate((which[:1], which[last + 1])).tolist()
    return [views[i][begin:stop] for i, begin, stop in zip(of, begins, stops, strict=True)]


class Pool:
    """Memory for blocks, used again: new memory for each would cost more than reading into it."""

    def __init__(self, size: int = BLOCK_BYTES) -> None:
        self.size = size
        self._free: list[bytearray] = []

    def take(self, least: int = 0) -> bytearray:
        """Memory of at least this many bytes, with anything in it; 0: of the usual size."""
        if least == 0 or self.size // 2 < least <= self.size:
            return self._free.pop() if self._free else bytearray(self.size)
        return bytearray(least)

    def give(self, data: bytes | bytearray) -> None:
        """Memory that nobody uses any more."""
        if isinstance(data, bytearray) and len(data) == self.size:
            self._free.append(data)


@dataclass
class ReadTotals:
    """What was read of a stream; `first` and `last` are its least and greatest time.

    `unframed_bytes` belong to no record. `passed_over`: bytes in which a search found nothing, not counted as records.
    """

    bytes: int = 0
    records: int = 0
    unframed_bytes: int = 0
    passed_over: int = 0
    first: int | None = None
    last: int | None = None

    def add(self, times: Longs) -> None:
        """Count the records of one block."""
        if len(times):
            self.records += len(times)
            least, most = int(times.min()), int(times.max())
            self.first = least if self.first is None else min(self.first, least)
            self.last = most if self.last is None else max(self.last, most)
