"""Text of one channel and where each piece of it is from: line, offset and number of bytes in the stream on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from udfs.logs.arrays import Longs

_NO_NUMBERS = np.zeros(0, np.int64)


@dataclass(frozen=True)
class SourcePositions:
    """Where the pieces of a text are from. `begins` are positions in the text, whose length is `length`.

    A piece may be empty. A position inside of a piece is counted from its end, for unwrapping takes from the begin: as
    many bytes of it are left in the stream as in the text, if it has so many. So it is the same wherever texts are cut.
    """

    length: int
    begins: Longs
    lines: Longs
    offsets: Longs
    sizes: Longs

    def within(self, positions: Longs) -> tuple[Longs, Longs]:
        """The number of the piece of each position, and how many of its bytes in the stream are before."""
        piece = np.searchsorted(self.begins, positions, side="right") - 1
        ends = np.append(self.begins[1:], self.length)[piece]
        begins, sizes = self.begins[piece], self.sizes[piece]
        inside = np.maximum(sizes - (ends - positions), 0)
        inside = np.where(positions == begins, 0, inside)
        return piece, np.where(positions >= self.length, sizes, inside)

    def lines_of(self, positions: Longs) -> Longs:
        """The numbers of the lines that hold the positions."""
        return self.lines[self.within(positions)[0]]

    def offsets_of(self, positions: Longs) -> Longs:
        """The positions as they are in the stream."""
        piece, inside = self.within(positions)
        offsets: Longs = self.offsets[piece] + inside
        return offsets

    def volumes(self, positions: Longs) -> Longs:
        """How many bytes of these pieces are before each position; none are before the first one."""
        if not len(self.begins):
            return np.zeros(len(positions), np.int64)
        piece, inside = self.within(positions)
        volumes: Longs = (np.cumsum(self.sizes) - self.sizes)[piece] + inside
        return np.where(positions == 0, 0, volumes) if self.length else volumes

    def after(self, position: int) -> SourcePositions:
        """What is left behind a position."""
        if position == 0:
            return self
        if position >= self.length:
            return NO_POSITIONS
        (piece,), (inside,) = self.within(np.array([position]))
        offsets, sizes = self.offsets[piece:].copy(), self.sizes[piece:].copy()
        offsets[0] += inside
        sizes[0] -= inside
        begins = np.maximum(self.begins[piece:] - position, 0)
        return SourcePositions(self.length - position, begins, self.lines[piece:], offsets, sizes)

    def plus(self, more: SourcePositions) -> SourcePositions:
        """The places of two texts, one behind the other."""
        if not len(self.begins):
            return more
        return SourcePositions(
            self.length + more.length,
            np.append(self.begins, more.begins + self.length),
            np.append(self.lines, more.lines),
            np.append(self.offsets, more.offsets),
            np.append(self.sizes, more.sizes),
        )

    def regrouped(self, begins: Longs) -> tuple[Longs, Longs, Longs]:
        """Lines, offsets and sizes of other pieces of the same text, which begin at `begins`, the first one at 0."""
        volumes = self.volumes(begins)
        total = int(self.sizes.sum())
        return self.lines_of(begins), self.offsets_of(begins), np.diff(np.append(volumes, total))


NO_POSITIONS = SourcePositions(0, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS)


@dataclass(frozen=True)
class ChannelText:
    """A text of one channel, and where it is from."""

    data: bytes
    places: SourcePositions


def channel_text(data: bytes, begins: Longs, lines: Longs, offsets: Longs, sizes: Longs) -> ChannelText:
    return ChannelText(data, SourcePositions(len(data), begins, lines, offsets, sizes))


def line_begins(data: bytes) -> Longs:
    """Where the lines of a text begin that is not empty."""
    begins = np.append(0, np.flatnonzero(np.frombuffer(data, np.uint8) == 10) + 1)
    return begins[:-1] if begins[-1] == len(data) else begins


def joined_texts(texts: list[ChannelText]) -> ChannelText:
    places = NO_POSITIONS
    for text in texts:
        places = places.plus(text.places)
    return ChannelText(b"".join([text.data for text in texts]), places)


def text_until(text: ChannelText, stop: int) -> ChannelText:
    """The text before a position."""
    if stop == len(text.data):
        return text
    places = text.places
    (piece,), (inside,) = places.within(np.array([stop]))
    keep = piece + 1 if places.begins[piece] < stop else piece
    sizes = places.sizes[:keep].copy()
    if keep > piece:
        sizes[-1] = inside
    return channel_text(text.data[:stop], places.begins[:keep], places.lines[:keep], places.offsets[:keep], sizes)


Unit = tuple[int, str | None, bytes]
"""Where a piece of a text begins, its channel (None: that of the piece before), and what it becomes."""


def changed_lines(text: ChannelText, change: Callable[[bytes], bytes]) -> Iterator[tuple[str, ChannelText]]:
    """Each line of a text as something makes it; its line end is part of it."""
    data = text.data
    if data:
        begins = line_begins(data).tolist()
        units: list[Unit] = [
            (begin, "", change(data[begin:end])) for begin, end in zip(begins, [*begins[1:], len(data)], strict=True)
        ]
        yield from texts_of_units(units, text.places, len(data))


def texts_of_units(
    units: Sequence[Unit], places: SourcePositions, end: int, channel: str = ""
) -> Iterator[tuple[str, ChannelText]]:
    """What pieces of a text become, by channel. The last one ends at `end`; `channel` is that before the first."""
    if not units:
        return
    begins = np.array([begin for begin, _, _ in units], np.int64)
    volumes = np.append(places.volumes(begins), places.volumes(np.array([end])))
    lines, offsets, sizes = places.lines_of(begins), places.offsets_of(begins), np.diff(volumes)
    by_channel: dict[str, list[int]] = {}
    for i, (_, named, _) in enumerate(units):
        channel = channel if named is None else named
        by_channel.setdefault(channel, []).append(i)
    for name, mine in by_channel.items():
        texts = [units[i][2] for i in mine]
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        data, froms = b"".join(texts), np.cumsum(lengths) - lengths
        yield name, channel_text(data, froms, lines[mine], offsets[mine], sizes[mine])
