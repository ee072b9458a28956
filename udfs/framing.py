"""Records of a byte stream: where each starts and ends, on which line, whatever the reading was cut into.

A record is a line that a layout knows as a first line, with all lines up to the next such line. What stands before
the first one belongs to no record. A range reader owns the records that start in its range, so ranges may be cut
anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from udfs.layouts import Layout

BLOCK = 8 << 20
"""Bytes read at once. One record longer than that is still one record; memory then grows with it."""

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Frames:
    """Records of one block. `groups[i]` are the layout's groups of record i, in the order of its pattern.

    `starts` and `ends` are byte positions in `data`, `ends` the next record's start; `head_ends` is where the first
    line ends, without its line end. `offset` is the stream's byte at `data[0]`, `lines` the record's first lines.
    """

    data: bytes
    offset: int
    starts: Longs
    head_ends: Longs
    ends: Longs
    lines: Longs
    groups: list[tuple[bytes, ...]]

    def __len__(self) -> int:
        return len(self.groups)


@dataclass(frozen=True)
class Stretch:
    """Bytes of no record: before the first one of a stream, or all of it."""

    size: int


def frames(stream: BinaryIO, layout: Layout, start: int, end: int | None, first_line: int) -> Iterator[Frames | Stretch]:
    """The records that start in [start, end) of a stream, block by block; `end` None means to its end.

    `first_line` is the number of the line that holds byte `start`. With `start` > 0 the stream must be positioned one
    byte before it, for a record starts only after a line end. Reading goes on past `end` until the last record is
    whole. Bytes before the first record are yielded as a Stretch if `start` is 0, else they are the range before's.
    """
    data = stream.read(1) if start else b""
    offset, line = start - len(data), first_line - data.count(b"\n")  # of data[0]
    leading, last = True, False  # no record of ours begun yet; nothing more to read
    while not last:
        block = stream.read(BLOCK)
        data, last = data + block, not block
        heads = [m for m in layout.head.finditer(data) if offset + m.start() >= start]
        if end is not None and heads and offset + heads[-1].start() >= end:
            beyond = next(i for i, m in enumerate(heads) if offset + m.start() >= end)
            data, last = data[: heads[beyond].start()], True
            heads = heads[:beyond]
        if last:
            stop = len(data)
        elif heads:  # the last record may go on in the next block
            stop = heads.pop().start()
        else:
            stop = data.rfind(b"\n") + 1 if leading else 0
        newlines = np.flatnonzero(np.frombuffer(data, np.uint8, stop) == 10)
        if leading:
            before = heads[0].start() if heads else stop
            if before and not start:
                yield Stretch(before)
            if not heads and end is not None and offset + stop > end:
                return
            leading = not heads and not (stop < len(data) and layout.head.match(data, stop))
        if heads:
            spans = np.array([m.span() for m in heads], np.int64)
            yield Frames(
                data,
                offset,
                spans[:, 0],
                spans[:, 1],
                np.append(spans[1:, 0], stop),
                line + np.searchsorted(newlines, spans[:, 0]),
                [m.groups() for m in heads],
            )
        data, offset, line = data[stop:], offset + stop, line + len(newlines)
