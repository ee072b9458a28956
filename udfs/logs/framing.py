"""Records of a byte stream: where each starts and ends, on which line, whatever the reading was cut into.

A record starts where a line begins as the layout's first lines do, and goes on to the next start; what stands before
the first one belongs to no record. Whether a record starts at a byte shows in the few bytes around it alone, so
ranges and blocks may be cut anywhere: a range reader owns the records that start in its range.

Starts are found for a whole block at once, in compiled loops; nothing here runs once per record except irregular ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import BinaryIO

import numpy as np

from udfs.logs.arrays import Longs
from udfs.logs.channel_text import NO_POSITIONS, ChannelText, SourcePositions
from udfs.logs.formats import Format
from udfs.logs.layouts import REACH, Head, Layout, last_time, read_head
from udfs.logs.record_starts import find_starts, len_without_glue
from udfs.logs.wrappers import unwrapped

BLOCK = 4 << 20
"""Bytes read at once, and what becomes one batch. A record longer than that is still one; memory grows with it."""
_BEYOND = 64 << 10  # bytes read at once behind the end of a range, to complete its last record


@dataclass(frozen=True)
class Frames:
    """Records of one block, in order.

    `starts` and `ends` are byte positions in `data`; `head_ends` is where the first line ends, its line end included.
    The others are the records' positions in the stream as it is on disk, decompressed: number of the first line, offset
    of the first byte, bytes in all and bytes of the first line. `newlines` are positions of line ends in `data`.
    `channel` is which of several interleaved outputs they are from; empty if there is only one. `batch` is the time of
    the batch that goes on in the first record; empty where the layout knows no batches.
    """

    data: bytes
    starts: Longs
    head_ends: Longs
    ends: Longs
    lines: Longs
    offsets: Longs
    sizes: Longs
    head_sizes: Longs
    newlines: Longs
    layout: Layout
    channel: str = ""
    batch: bytes = b""

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def heads(self) -> list[Head]:
        """What the layout reads from each record; read when first asked for."""
        layout, data = self.layout, self.data
        places = zip(self.starts.tolist(), self.head_ends.tolist(), self.ends.tolist(), strict=True)
        heads = [read_head(layout, data, *place) for place in places]
        if layout.batches:
            at = self.batch
            for i, head in enumerate(heads):
                at = head[0] or at
                heads[i] = (at, *head[1:])
        return heads

    def raw(self, i: int) -> bytes:
        """All bytes of record i."""
        return self.data[self.starts[i] : self.ends[i]]

    def without_last(self) -> tuple[Frames, Frames]:
        """The same records without the last one, and that by itself; of a layout without batches."""
        begin, end = int(self.starts[-1]), int(self.ends[-1])
        columns = ("starts", "head_ends", "ends", "lines", "offsets", "sizes", "head_sizes")
        last = {name: getattr(self, name)[-1:] for name in columns}
        last |= {name: last[name] - begin for name in ("starts", "head_ends", "ends")}
        newlines = self.newlines[(self.newlines >= begin) & (self.newlines < end)] - begin
        return (
            replace(self, **{name: getattr(self, name)[:-1] for name in columns}),
            replace(self, data=self.data[begin:end], newlines=newlines, **last),
        )

    def detail(self, i: int) -> bytes:
        """Its further lines without the last line end; empty if there are none."""
        return self.data[self.head_ends[i] : self.ends[i]].rstrip(b"\r\n")


@dataclass(frozen=True)
class OtherBytes:
    """Bytes of no record: before the first one of a stream or channel, or lines that are known to be none."""

    size: int


def frames(
    stream: BinaryIO, format_: Format, start: int, end: int | None, first_line: int
) -> Iterator[Frames | OtherBytes]:
    """The records that start in [start, end) of a stream, block by block; `end` None means to its end.

    `first_line` is the number of the line that holds byte `start`. With `start` > 0 the stream must be positioned one
    byte before it, for what a byte starts depends on the one before. Reading goes on past `end` until the last record
    is whole. Bytes before the first record are yielded as OtherBytes if `start` is 0, else they are the range before's.

    Only streams whose format is splittable can be read from elsewhere than their begin. Of several interleaved
    channels each one's records are in order.
    """
    if not format_.encoding and not format_.wrapper:
        yield from _plain(stream, format_.layout, start, end, first_line)
        return
    channels: dict[str, _Framer] = {}
    for name, text in unwrapped(stream, format_.encoding, format_.wrapper, BLOCK):
        if name not in channels:
            channels[name] = _Framer(format_.layout, _Pieced(), name)
        yield from channels[name].pieces(text)
    for channel in channels.values():
        yield from channel.pieces(None)


def _plain(
    stream: BinaryIO, layout: Layout, start: int, end: int | None, first_line: int
) -> Iterator[Frames | OtherBytes]:
    before = stream.read(1) if start else b""
    place = _Straight(start - len(before), first_line - before.count(b"\n"))
    framer = _Framer(layout, place, "", before)
    while not framer.is_done:
        size = BLOCK if end is None or place.offset + len(framer.data) < end else min(BLOCK, _BEYOND)
        block = stream.read(max(size, len(framer.data)))  # more each time: a huge record is copied with each block
        yield from framer.read(block, last=not block, end=end)


class _Straight:
    """Places in a stream that is read as it is."""

    def __init__(self, offset: int, line: int) -> None:
        self.offset, self._line = offset, line  # of position 0

    def lines(self, positions: Longs, newlines: Longs) -> Longs:
        """The numbers of the lines that hold the positions; `newlines` are the positions of all line ends."""
        return self._line + np.searchsorted(newlines, positions)

    def offsets(self, positions: Longs) -> Longs:
        """The positions as they are in the stream."""
        return positions + self.offset

    def volumes(self, positions: Longs) -> Longs:
        """How many bytes of the stream are before each position."""
        return positions

    def cut(self, stop: int, newlines: int) -> None:
        """Make `stop` position 0; `newlines` line ends are before it."""
        self.offset += stop
        self._line += newlines


class _Pieced:
    """Places in a stream whose text was unwrapped."""

    def __init__(self) -> None:
        self._places = NO_POSITIONS

    def add(self, places: SourcePositions) -> None:
        """Append the places of a text."""
        self._places = self._places.plus(places)

    def lines(self, positions: Longs, newlines: Longs) -> Longs:
        """The numbers of the lines in the stream."""
        return self._places.lines_of(positions)

    def offsets(self, positions: Longs) -> Longs:
        """The positions as they are in the stream."""
        return self._places.offsets_of(positions)

    def volumes(self, positions: Longs) -> Longs:
        """How many bytes of the stream, of this channel, are before each position."""
        return self._places.volumes(positions)

    def cut(self, stop: int, newlines: int) -> None:
        """Make `stop` position 0."""
        self._places = self._places.after(stop)


class _Framer:
    """Finds the records of a text that comes in blocks; keeps the last one until its end is known."""

    def __init__(self, layout: Layout, place: _Straight | _Pieced, channel: str, before: bytes = b"") -> None:
        self.data = before  # what is kept: from the start of the record that is not ended on, else one byte or more
        self.is_done = False
        self._layout, self._place, self._channel = layout, place, channel
        self._newlines = np.flatnonzero(np.frombuffer(before, np.uint8) == 10)  # positions in `data`
        self._searched = len(before)  # all starts before this position are known
        self._is_range = bool(before)  # what is before the first start belongs to another reader
        self._is_begun = False  # whether data[0] starts a record
        self._is_line_begin = not before  # whether data[0] is a line's first byte
        self._batch = b""
        self._waiting: list[ChannelText] = []
        self._waiting_size = 0

    def pieces(self, text: ChannelText | None) -> Iterator[Frames | OtherBytes]:
        """Take a block of an unwrapped text; None: there is no more.

        Beside a huge record blocks wait until they are as long, for it is copied with each of them.
        """
        if text is not None:
            self._waiting.append(text)
            self._waiting_size += len(text.data)
            if self._waiting_size < len(self.data):
                return
        assert isinstance(self._place, _Pieced)
        for some in self._waiting:
            self._place.add(some.places)
        block = b"".join([some.data for some in self._waiting])
        self._waiting, self._waiting_size = [], 0
        yield from self.read(block, last=text is None)

    def read(self, block: bytes, last: bool, end: int | None = None) -> Iterator[Frames | OtherBytes]:
        """Take a block, give what is complete. Records that start at `end` of the stream or later are another's."""
        line_ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10)
        self._newlines = np.append(self._newlines, line_ends + len(self.data))
        self.data += block
        data, place = self.data, self._place
        whole = len(data) if last else max(self._searched, len(data) - REACH)
        starts = find_starts(self._layout, data, self._newlines, self._searched, whole, self._is_line_begin)
        if self._is_range and not self._is_begun and len(starts) and starts[0] == 0:
            starts = starts[1:]  # started before the range
        if end is not None and isinstance(place, _Straight):
            beyond = int(np.searchsorted(starts, end - place.offset))
            if beyond < len(starts):
                last, whole = True, int(starts[beyond])
                starts = starts[:beyond]
        if self._is_begun:
            starts = np.append(0, starts)
        if last:
            stop = whole
        elif len(starts):
            stop = int(starts[-1])
        else:
            stop = self._dispensable(whole)
            if self._is_range and end is not None and isinstance(place, _Straight):
                self.is_done = place.offset + stop >= end
        if not self._is_begun and not self._is_range:
            first = np.array([starts[0] if len(starts) else stop])
            before = int(place.volumes(first)[0]) if last or first[0] else 0
            if before:
                yield OtherBytes(before)
        count = len(starts) if last else len(starts) - 1
        if count > 0:
            yield from self._framed(starts[:count], np.append(starts[1:], stop)[:count])
        if self._layout.batches:
            self._batch = last_time(data[:stop]) or self._batch
        cut = int(np.searchsorted(self._newlines, stop))
        place.cut(stop, cut)
        self._is_begun = not last and len(starts) > 0
        self._is_line_begin = self._is_line_begin and stop == 0
        self._newlines = self._newlines[cut:] - stop
        self._searched = whole - stop
        self.data = data[stop:]
        self.is_done = self.is_done or last

    def _dispensable(self, whole: int) -> int:
        """How much of `data`, in which nothing starts, need not be kept for what comes."""
        glued = len_without_glue(self.data, whole)
        if glued == 0:
            return max(whole - 1, 0) if self._is_range else 0
        return glued - 1

    def _framed(self, starts: Longs, ends: Longs) -> Iterator[Frames | OtherBytes]:
        """The records at `starts`."""
        place, newlines, layout = self._place, self._newlines, self._layout
        line_ends = np.append(newlines, len(self.data))[np.searchsorted(newlines, starts)] + 1
        head_ends = np.minimum(line_ends, ends)
        before = place.volumes(starts)
        if starts[0] == 0:
            before[0] = 0
        sizes = place.volumes(ends) - before
        head_sizes = place.volumes(head_ends) - before
        columns = (starts, head_ends, ends, place.lines(starts, newlines), place.offsets(starts), sizes, head_sizes)
        if layout.apart:
            odd = [bool(layout.apart.match(self.data, start)) for start in starts.tolist()]
            if any(odd):
                yield OtherBytes(int(sizes[odd].sum()))
                columns = tuple(column[~np.array(odd)] for column in columns)
        if len(columns[0]):
            yield Frames(self.data, *columns, newlines, layout, self._channel, self._batch)
