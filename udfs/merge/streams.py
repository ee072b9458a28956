"""Streams that can be merged: files whose records were looked up first, and records that were put aside.

To merge truly, one must know of each block that no earlier record follows it. So a file is read twice: once to find
its records, which leaves 12 bytes of index for each, and once to write them. What cannot be read twice, or is so far
out of order that a merge would have to keep too much of it, is sorted in pieces and put aside in a temporary file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from udfs.errors import BadInput
from udfs.merge.block import BLOCK_BYTES, Block, Pool
from udfs.merge.scratch import Scratch
from udfs.merge.usual_blocks import Limited
from udfs.merge.usual_layout import BYTES_BEHIND

if TYPE_CHECKING:
    from udfs.logs.arrays import Longs

MOST_KEPT = 8 << 20
"""Bytes of one file that a merge may keep because of records that come late. Of healthy logs it keeps one block."""

_INDEX_IN_MEMORY = 2 << 20
_ASIDE_IN_MEMORY = 12 << 20
_SORTED = 4 << 20  # bytes of one file that are sorted together before they are put aside
_PIECE = 128 << 10  # and read together when they are merged


def suffix_minima(least: Sequence[int]) -> list[int]:
    """For each of several minima the least of it and all that follow.

    >>> suffix_minima([3, 1, 2, 5])
    [1, 1, 2, 5]
    """
    minima: list[int] = np.minimum.accumulate(np.array(least[::-1], np.int64))[::-1].tolist() if least else []
    return minima


class RecordIndex:
    """Where the records of blocks are, and their times; in a file, for it grows with the logs."""

    def __init__(self) -> None:
        self._scratch = Scratch(_INDEX_IN_MEMORY)

    def add(self, starts: Longs, times: Longs) -> int:
        """Note a block. Where the note is."""
        return self._scratch.add(starts.astype(np.uint32).tobytes(), times.tobytes())

    def read(self, place: int, records: int) -> tuple[Longs, Longs]:
        """Starts and times of a block that was noted."""
        data = self._scratch.read(place, 12 * records)
        return (
            np.frombuffer(data, np.uint32, records).astype(np.int64),
            np.frombuffer(data, np.int64, records, 4 * records),
        )


@dataclass(frozen=True)
class _Note:
    """One block of a file: its place there, its records' place in the index."""

    offset: int
    size: int
    records: int
    indexed: int
    least: int
    greatest: int
    first_line: int | None
    has_line_ends: bool


def _runs(block: Block, most: int) -> Iterator[tuple[int, int]]:
    """Records that follow each other, of so many bytes at most or one: the first, and the one behind the last."""
    breaks = (np.flatnonzero(block.starts[1:] != block.ends[:-1]) + 1).tolist() if len(block) else []
    for first, end in zip([0, *breaks], [*breaks, len(block)], strict=True):
        while first < end:
            last = int(np.searchsorted(block.ends[first:end], block.starts[first] + most, "right")) + first
            last = min(max(last, first + 1), end)
            yield first, last
            first = last


def _raise(error: Exception) -> None:
    raise error


_NONE = np.zeros(0, np.int64)


@dataclass(eq=False)
class IndexedStream:
    """A file, or some ranges of it, whose blocks were looked up. Note all blocks, then ask.

    `cut_short` is called if the file cannot be read a second time; from there on its blocks are empty.
    """

    file: int
    open: Callable[[], BinaryIO]  # from byte 0 on
    is_plain: bool  # can be read from anywhere
    index: RecordIndex
    piece: int = BLOCK_BYTES  # bytes of a block when it is read again, about
    cut_short: Callable[[Exception], None] = _raise
    minima: Sequence[int] = ()
    _notes: list[_Note] = field(default_factory=list)

    def note(self, block: Block) -> None:
        """The next records, each run of neighbours by itself."""
        has_line_ends = block.with_line_ends() is block
        for first, last in _runs(block, self.piece):
            begin, size = int(block.starts[first]), int(block.ends[last - 1] - block.starts[first])
            times = block.times[first:last]
            place = self.index.add(block.starts[first:last] - begin, times)
            line = None if block.lines is None else int(block.lines[first])
            least, greatest = int(times.min()), int(times.max())
            self._notes.append(
                _Note(block.offset + begin, size, last - first, place, least, greatest, line, has_line_ends)
            )

    def done(self) -> None:
        """All blocks were noted."""
        self.minima = suffix_minima([note.least for note in self._notes])

    def most_kept(self) -> int:
        """Bytes that a merge keeps at most: of blocks that hold a record later than one which is yet to come."""
        ends = np.cumsum([0, *(note.size for note in self._notes)])
        greatest = np.maximum.accumulate(np.array([note.greatest for note in self._notes], np.int64))
        first = np.searchsorted(greatest, np.array(self.minima, np.int64))  # the first block that is still needed
        here = np.arange(len(self._notes))
        return int((ends[here + 1] - ends[np.minimum(first, here)]).max(initial=0))

    def blocks(self, pool: Pool) -> Iterator[Block]:
        """The blocks again."""
        done = 0
        try:
            for block in self._again(pool):
                done += 1
                yield block
        except (OSError, EOFError, BadInput) as error:
            self.cut_short(error)
            for _ in self._notes[done:]:
                yield Block(b"", _NONE, _NONE, _NONE)

    def _again(self, pool: Pool) -> Iterator[Block]:
        """The blocks again. Raises OSError if the file has become shorter."""
        if self.is_plain:  # opened for each block: there may be more files than a process may open
            for note in self._notes:
                with self.open() as stream:
                    stream.seek(note.offset)
                    yield self._read(note, stream, pool)
            return
        with self.open() as stream:
            at = 0
            for note in self._notes:
                while at < note.offset:
                    at += len(stream.read(min(note.offset - at, pool.size))) or note.offset
                yield self._read(note, stream, pool)
                at = note.offset + note.size

    def _read(self, note: _Note, stream: BinaryIO, pool: Pool) -> Block:
        """A block at whose begin the stream is."""
        data = pool.take(note.size + BYTES_BEHIND)
        with memoryview(data) as view:
            filled = Limited(stream, note.size).fill(view[: note.size])
        if filled < note.size - 1:
            raise OSError("it became shorter while it was read")
        if filled < note.size:  # its last line has no end
            data[filled] = 10
        starts, times = self.index.read(note.indexed, note.records)
        lines = None
        if note.first_line is not None:
            newlines = np.flatnonzero(np.frombuffer(data, np.uint8, note.size) == 10)
            lines = note.first_line + np.searchsorted(newlines, starts)
        block = Block(data, starts, np.append(starts[1:], note.size), times, lines)
        return block if note.has_line_ends else block.with_line_ends()


class SpilledRecords:
    """Records that were put aside: file by file, each sorted in pieces. In memory while they are few."""

    def __init__(self) -> None:
        self._streams: list[SortedRun] = []
        self._file = -1
        self._held: list[Block] = []  # of that file, not sorted yet
        self._held_bytes = 0
        self._in_memory = 0
        self.scratch = Scratch(0)

    def add(self, file: int, block: Block) -> None:
        """Records of a file, in its order; all of one file before those of the next."""
        if not len(block):
            return
        if self._held and self._file != file:
            self._sort()
        self._file = file
        block = block.with_line_ends().compact()
        self._held.append(block)
        self._held_bytes += len(block.data) + 24 * len(block)
        if self._held_bytes > _SORTED:
            self._sort()

    def _sort(self) -> None:
        """Make a stream of what is held."""
        if not self._held:
            return
        ends = np.cumsum([0, *(len(block.data) for block in self._held)])
        whole = Block(
            b"".join([block.data for block in self._held]),
            np.concatenate([block.starts + end for block, end in zip(self._held, ends, strict=False)]),
            np.concatenate([block.ends + end for block, end in zip(self._held, ends, strict=False)]),
            np.concatenate([block.times for block in self._held]),
            joined([block.lines for block in self._held]),
            ranks=joined([block.ranks for block in self._held]),
        )
        self._held, self._held_bytes = [], 0
        stream = SortedRun(self._file, self, list(_cut(whole.in_order())))
        self._streams.append(stream)
        self._in_memory += stream.size
        if self._in_memory > _ASIDE_IN_MEMORY:
            for stream in self._streams:
                stream.write()
            self._in_memory = 0

    def streams(self) -> list[SortedRun]:
        """What was added, as streams: those of a file follow each other."""
        self._sort()
        return self._streams


def joined(columns: Sequence[Longs | None]) -> Longs | None:
    """Columns one after another; None if there are none."""
    there = [column for column in columns if column is not None]
    return np.concatenate(there) if there else None


def _cut(block: Block) -> Iterator[Block]:
    """A block cut into small ones of their own."""
    sizes = np.cumsum(block.ends - block.starts)
    first = 0
    while first < len(block):
        done = int(sizes[first - 1]) if first else 0
        last = max(int(np.searchsorted(sizes, done + _PIECE, "right")), first + 1)
        yield block.chosen(np.arange(first, min(last, len(block)))).compact()
        first = last


@dataclass(eq=False)
class SortedRun:
    """Some records of one file, sorted."""

    file: int
    owner: SpilledRecords
    held: list[Block]
    minima: Sequence[int] = ()
    _written: list[tuple[int, int, int, bool, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.minima = [int(block.times[0]) for block in self.held]

    @property
    def size(self) -> int:
        """Bytes that it takes in memory."""
        return sum(len(block.data) + 24 * len(block) for block in self.held)

    def write(self) -> None:
        """Put it into the file."""
        for block in self.held:
            columns = [c for c in (block.ends, block.times, block.lines, block.ranks) if c is not None]
            place = self.owner.scratch.add(bytes(block.data), *(column.tobytes() for column in columns))
            self._written.append((place, len(block.data), len(block), block.lines is not None, block.ranks is not None))
        self.held = []

    def blocks(self, pool: Pool) -> Iterator[Block]:
        """The blocks, in order of time."""
        yield from self.held
        for place, size, records, with_lines, with_ranks in self._written:
            data = self.owner.scratch.read(place, size)
            bytes_each = 8 * (2 + with_lines + with_ranks)
            columns = np.frombuffer(self.owner.scratch.read(place + size, bytes_each * records), np.int64)
            ends, times, *others = columns.reshape(-1, records)
            lines = others[0] if with_lines else None
            starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
            yield Block(data, starts, ends, times, lines, ranks=others[-1] if with_ranks else None)
