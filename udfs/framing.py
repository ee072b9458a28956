"""Records of a byte stream: where each starts and ends, on which line, whatever the reading was cut into.

A record is a line that a layout knows as a first line, with all lines up to the next such line. What stands before
the first one belongs to no record. A range reader owns the records that start in its range, so ranges may be cut
anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt

from udfs.layouts import Head, Layout

BLOCK = 512 << 10
"""Bytes read at once; 256 KiB to 1 MiB are fastest. A record longer than that is still one; memory grows with it."""

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Frames:
    """Records of one block. `heads[i]` is what the layout reads from the first line of record i.

    `starts` and `ends` are byte positions in `data`, `ends` the next record's start; `head_ends` is where the first
    line ends, its line end included. `offset` is the stream's byte at `data[0]`, `lines` the records' first lines.
    """

    data: bytes
    offset: int
    starts: Longs
    head_ends: Longs
    ends: Longs
    lines: Longs
    heads: list[Head]

    def __len__(self) -> int:
        return len(self.heads)

    def raw(self, i: int) -> bytes:
        """All bytes of record i."""
        return self.data[self.starts[i] : self.ends[i]]

    def detail(self, i: int) -> bytes:
        """Its further lines without the last line end; empty if there are none."""
        return self.data[self.head_ends[i] : self.ends[i]].rstrip(b"\r\n")


@dataclass(frozen=True)
class Stretch:
    """Bytes of no record: before the first one of a stream, or all of it."""

    size: int


def frames(
    stream: BinaryIO, layout: Layout, start: int, end: int | None, first_line: int
) -> Iterator[Frames | Stretch]:
    """The records that start in [start, end) of a stream, block by block; `end` None means to its end.

    `first_line` is the number of the line that holds byte `start`. With `start` > 0 the stream must be positioned one
    byte before it, for a record starts only after a line end. Reading goes on past `end` until the last record is
    whole. Bytes before the first record are yielded as a Stretch if `start` is 0, else they are the range before's.
    """
    data = stream.read(1) if start else b""
    searched = len(data)  # no record starts before this position of `data` but the one at its begin
    offset, line = start - len(data), first_line - data.count(b"\n")  # of data[0]
    begun: tuple[int, Head] | None = None  # the record of ours at data[0]: where its first line ends, and its head
    last = False  # nothing more to read
    while not last:
        block = stream.read(max(BLOCK, len(data)))  # more each time, for a huge record is copied with each block
        data, last = data + block, not block
        # Only whole lines are searched: `... (a) b (c)` cut behind `(a)` would look like a whole one.
        whole = len(data) if last else max(searched, data.rfind(b"\n", searched) + 1)
        found = list(layout.head.finditer(data, searched, whole))
        if end is not None and found and offset + found[-1].start() >= end:
            beyond = next(i for i, m in enumerate(found) if offset + m.start() >= end)
            data, last = data[: found[beyond].start()], True
            whole, found = len(data), found[:beyond]
        stop = whole if whole > searched or last else 0
        if begun or found:
            starts = [m.start() for m in found]
            head_ends = [m.end() + 1 for m in found]
            heads = [cast(Head, m.groups()) for m in found]
            if begun is None:
                if start == 0 and starts[0]:
                    yield Stretch(starts[0])
            else:
                starts.insert(0, 0)
                head_ends.insert(0, begun[0])
                heads.insert(0, begun[1])
            if not last:  # the last record may go on in the next block
                stop = starts.pop()
                begun = head_ends.pop() - stop, heads.pop()
            if heads:
                yield _framed(data, offset, line, starts, head_ends, stop, heads)
        elif start == 0:
            if whole:
                yield Stretch(whole)
        elif end is not None and offset + whole >= end:
            return
        line += data.count(b"\n", 0, stop)
        data, offset, searched = data[stop:], offset + stop, whole - stop


def _framed(
    data: bytes, offset: int, line: int, starts: list[int], head_ends: list[int], stop: int, heads: list[Head]
) -> Frames:
    """The records at `starts`, the last of which ends at `stop`; `line` is the number of the line at data[0]."""
    begins = np.array(starts, np.int64)
    ends = np.append(begins[1:], stop)
    newlines = np.flatnonzero(np.frombuffer(data, np.uint8, stop) == 10)
    lines = line + np.searchsorted(newlines, begins)
    return Frames(data, offset, begins, np.minimum(head_ends, ends), ends, lines, heads)
