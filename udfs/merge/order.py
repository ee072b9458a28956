"""The one order of records, and the merge of many streams into it.

The key is (time, rank, node, file, line): total and transitive. The rank says cause before effect, for records of one
millisecond: a leader asks, a controller decides and sends, brokers receive and act, the controller has the answer.
Lines of one file never swap at equal time, so a record's rank there is the greatest of its own and of those before it
in its file at that time.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Protocol

import numpy as np

from udfs.merge.block import Block, Pool, pieces
from udfs.rules.event_rank import RANKS, ranks_of

if TYPE_CHECKING:
    from udfs.logs.arrays import Longs

_NEAR = 100_000
"""Microseconds by which healthy logs step back."""


class FileRanks:
    """Ranks of some records of one file that depend on all of it: never less than that of one before, of the same time.

    Of a time that comes back after a block and more than 100 ms what was before is forgotten.
    """

    def __init__(self) -> None:
        self._times = np.zeros(0, np.int64)
        self._ranks = np.zeros(0, np.int64)

    def of(self, block: Block, rows: Longs) -> Longs:
        """Ranks of some records of the next block of the file."""
        times = block.times
        is_ranked = times >= times.max() - _NEAR
        if len(rows):
            wanted = np.sort(times[rows])
            is_ranked |= wanted[np.minimum(np.searchsorted(wanted, times), len(wanted) - 1)] == times
        ranked = np.flatnonzero(is_ranked)
        ranked = ranked[np.argsort(times[ranked], kind="stable")]
        ranks = ranks_of([block.data], np.zeros(len(ranked), np.int64), block.starts[ranked])
        is_new = np.concatenate((np.ones(1, np.bool_), times[ranked[1:]] != times[ranked[:-1]]))
        firsts = np.flatnonzero(is_new)
        before = np.searchsorted(self._times, times[ranked[firsts]])
        if len(self._times):
            goes_on = self._times[np.minimum(before, len(self._times) - 1)] == times[ranked[firsts]]
            ranks[firsts[goes_on]] = np.maximum(ranks[firsts[goes_on]], self._ranks[before[goes_on]])
        group = np.cumsum(is_new)
        ranks = np.maximum.accumulate(group * RANKS + ranks) - group * RANKS
        lasts = np.concatenate((firsts[1:], np.full(1, len(ranked)))) - 1
        self._times, self._ranks = times[ranked[lasts]], ranks[lasts]
        of_row = np.zeros(len(block), np.int64)
        of_row[ranked] = ranks
        return of_row[rows]


class RecordStream(Protocol):
    """Records of one file, or of a part of it, as blocks.

    `file` is the place of the file among all, by node and name; `minima` are for each block the least time in it and
    all that follow.
    """

    file: int
    minima: Sequence[int]

    def blocks(self, pool: Pool) -> Iterator[Block]:
        """The blocks; the memory of each is given back to the pool by who takes it."""


@dataclass(eq=False)
class OrderedRecords:
    """Records in the final order. Record i is `blocks[which[i]].data[starts[i]:ends[i]]`; `which`
    None: all in the first.

    `files` are the files of the blocks. All of it is valid only until the next one is asked for.
    """

    blocks: list[Block]
    files: list[int]
    which: Longs | None
    starts: Longs
    ends: Longs
    times: Longs
    lines: Longs | None
    ranks: Longs | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def pieces(self) -> list[memoryview]:
        """The bytes in order, neighbours in one piece."""
        return pieces([memoryview(block.data) for block in self.blocks], self.which, self.starts, self.ends)

    def first(self, most: int) -> OrderedRecords:
        """The first so many."""
        which = None if self.which is None else self.which[:most]
        lines = None if self.lines is None else self.lines[:most]
        return OrderedRecords(
            self.blocks, self.files, which, self.starts[:most], self.ends[:most], self.times[:most], lines
        )


@dataclass(order=True)
class _Part:
    """A block that is not used up. Parts are in the order of streams and, in a stream, of blocks."""

    stream: int
    number: int
    block: Block = field(compare=False)
    at: int = field(default=0, compare=False)  # records before this one are used up

    def until(self, horizon: int | None) -> int:
        """Records before this one have a time before the horizon."""
        if horizon is None:
            return len(self.block)
        return int(np.searchsorted(self.block.times, horizon))


def merged(streams: Sequence[RecordStream], pool: Pool, is_ranked: bool = True) -> Iterator[OrderedRecords]:
    """All records of the streams in the one order. Streams of one file must follow each other, in its order.

    What is in memory: of each stream the blocks that hold records no earlier than one that is yet to come from any. A
    stream is opened when the time of its first record has come. Without `is_ranked` the key is (time, file, line).
    """
    waiting = [(stream.minima[0], i) for i, stream in enumerate(streams) if len(stream.minima)]
    heapify(waiting)
    opened: dict[int, tuple[Iterator[Block], Iterator[int]]] = {}
    pending: list[_Part] = []
    while waiting:
        _, i = heappop(waiting)
        stream = streams[i]
        source, numbers = opened.pop(i) if i in opened else (stream.blocks(pool), count())
        number = next(numbers)
        insort(pending, _Part(i, number, next(source).in_order()))
        if number + 1 < len(stream.minima):
            opened[i] = (source, numbers)
            heappush(waiting, (stream.minima[number + 1], i))
        elif hasattr(source, "close"):
            source.close()
        horizon = waiting[0][0] if waiting else None
        taken = [(part, end) for part in pending if (end := part.until(horizon)) > part.at]
        if not taken:
            continue
        yield _picked(taken, streams, is_ranked)
        for part, end in taken:
            part.at = end
            if end == len(part.block):
                pool.give(part.block.data)
        pending = [part for part in pending if part.at < len(part.block)]


def _picked(taken: list[tuple[_Part, int]], streams: Sequence[RecordStream], is_ranked: bool) -> OrderedRecords:
    """The records of some parts up to an end each, in order."""
    blocks, files = [part.block for part, _ in taken], [streams[part.stream].file for part, _ in taken]
    if len(taken) == 1:
        ((part, end),) = taken
        block, rows = part.block, slice(part.at, end)
        lines = None if block.lines is None else block.lines[rows]
        return OrderedRecords(blocks, files, None, block.starts[rows], block.ends[rows], block.times[rows], lines)
    times = np.concatenate([part.block.times[part.at : end] for part, end in taken])
    order = np.argsort(times, kind="stable")
    times = times[order]
    which = np.repeat(np.arange(len(taken)), [end - part.at for part, end in taken])[order]
    starts = np.concatenate([part.block.starts[part.at : end] for part, end in taken])[order]
    ends = np.concatenate([part.block.ends[part.at : end] for part, end in taken])[order]
    with_lines = [part.block.lines[part.at : end] for part, end in taken if part.block.lines is not None]
    lines = np.concatenate(with_lines)[order] if with_lines else None
    with_ranks = [part.block.ranks[part.at : end] for part, end in taken if part.block.ranks is not None]
    ranks = np.concatenate(with_ranks)[order] if with_ranks else None
    picked = OrderedRecords(blocks, files, which, starts, ends, times, lines, ranks)
    return _ranked(picked) if is_ranked else picked


def _ranked(picked: OrderedRecords) -> OrderedRecords:
    """Records in the order of (time, file, line) put into that of (time, rank, file, line)."""
    assert picked.which is not None
    file = np.array(picked.files)[picked.which]
    is_same = picked.times[1:] == picked.times[:-1]
    mixed = is_same & (file[1:] != file[:-1])
    if not mixed.any():
        return picked
    group = np.concatenate(([0], np.cumsum(~is_same)))
    in_mixed = np.zeros(int(group[-1]) + 1, np.bool_)
    in_mixed[group[1:][mixed]] = True
    rows = np.flatnonzero(in_mixed[group])
    if picked.ranks is None:
        ranks = ranks_of([block.data for block in picked.blocks], picked.which[rows], picked.starts[rows])
    else:
        ranks = picked.ranks[rows]
    of_one_file = np.concatenate(([0], np.cumsum((np.diff(group[rows]) != 0) | (np.diff(file[rows]) != 0))))
    ranks = np.maximum.accumulate(of_one_file * RANKS + ranks) - of_one_file * RANKS
    order = np.argsort(group[rows] * RANKS + ranks, kind="stable")
    if (order[1:] > order[:-1]).all():
        return picked
    new = np.arange(len(file))
    new[rows] = rows[order]
    lines = None if picked.lines is None else picked.lines[new]
    return OrderedRecords(
        picked.blocks, picked.files, picked.which[new], picked.starts[new], picked.ends[new], picked.times[new], lines
    )
