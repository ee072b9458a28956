"""Reads the logs of a merge: all of their records once, or those that are wanted, as streams that can be merged.

Plain files and single compressed ones are read twice, to look records up and to write them (`udfs.merge.streams`);
with a filter, and of members of bundles, what is wanted is put aside in one pass. A window of time is looked up in
plain files by bisection, and a search for its time stamps in what is passed over proves that nothing stands elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from jobs.merge.inputs import Inputs
from jobs.merge.log import Log
from jobs.merge.request import MergeRequest
from udfs.merge.block import Pool, ReadTotals
from udfs.merge.blocks import blocks

if TYPE_CHECKING:
    from udfs.logs.arrays import Flags, Longs
    from udfs.logs.timestamps import ClockChanges
    from udfs.merge.block import Block
    from udfs.merge.blocks import ToUtc
    from udfs.merge.order import RecordStream
    from udfs.merge.streams import RecordIndex, SpilledRecords
    from udfs.reconstruct.clock_skew import ClockCorrection

_MEMORY = 16 << 20  # bytes of blocks that are held at once, about
_LEAST_PIECE = 16 << 10
SEARCHED_FROM = 32 << 20
"""Bytes of all plain files from which on filters look for bytes first; of fewer, all records are found and counted."""


class LogReader:
    """The logs of one merge. `skews`: by node, microseconds that its clock is ahead, or how they change."""

    def __init__(self, request: MergeRequest, inputs: Inputs, logs: list[Log], bundles: Sequence[str]) -> None:
        self.request, self.inputs, self.logs, self.bundles = request, inputs, logs, bundles
        self.skews: dict[int, int | ClockCorrection] = {}
        self.pool = Pool()
        self._ranges: dict[int, list[tuple[int, int | None]]] = {}  # of plain files, by their number

    # ---- all of it ---------------------------------------------------------------------------------------------------
    def every_stream(self) -> Iterator[tuple[Log, BinaryIO]]:
        """All streams one after another, each from its begin."""
        for log in self.logs:
            with self.inputs.guarded(log), self._opened(log) as stream:
                yield log, stream
        yield from self._members()

    def all_blocks(self, *, with_lines: bool = False) -> Iterator[tuple[Log, Block]]:
        """All records."""
        for log, stream in self.every_stream():
            if log.is_log:
                for block in self._blocks_from(log, stream, 0, 1 if with_lines else None):
                    yield log, block

    def time_span(self) -> tuple[int, int] | None:
        """The times of the first and the last record of all logs, UTC; None if there are none. Of long plain files it
        looks at their begin and their end only."""
        spans = []
        for log, stream in self.every_stream():
            if not log.is_log:
                continue
            tail = log.tail_begin() if log.is_plain else 0
            for begin in (0, tail) if tail else (0,):
                if begin:
                    stream.seek(begin)
                for block in self._blocks_from(log, stream, begin, None):
                    spans.append((int(block.times.min()), int(block.times.max())))
                    if tail and not begin:
                        break
        return (min(first for first, _ in spans), max(last for _, last in spans)) if spans else None

    def _blocks_from(self, log: Log, stream: BinaryIO, begin: int, first_line: int | None) -> Iterator[Block]:
        """The records of a log from an offset on, where its stream is; lent, not given."""
        format_ = None if log.is_usual else log.format
        for block in blocks(
            stream, format_, self._to_utc(log), ReadTotals(), pool=self.pool, offset=begin, first_line=first_line
        ):
            yield block
            self.pool.give(block.data)

    @contextmanager
    def _opened(self, log: Log) -> Iterator[BinaryIO]:
        """The bytes of a log from the begin; if they end in damage it is said."""
        with log.open() as stream:
            yield stream
            if not log.is_plain:
                with self.inputs.guarded(log, stream):
                    pass

    def _members(self) -> Iterator[tuple[Log, BinaryIO]]:
        """The streams of the bundles, but for those that another log holds."""
        for path in self.bundles:
            yield from self.inputs.members(path, self.logs)

    # ---- times -------------------------------------------------------------------------------------------------------
    def _to_utc(self, log: Log) -> ToUtc:
        """Carries the times of a log to UTC, and to the cluster's clock if skews are known."""
        zone = self.request.zone_of(log.node)
        ahead = self.skews.get(log.node) if log.node is not None else None
        if zone == "UTC" and ahead is None:
            return lambda local, offsets, is_utc: local
        from udfs.logs import timestamps

        clock_changes = () if zone == "UTC" else self._clock_changes(log, zone)

        def to_utc(local: Longs, offsets: Longs, is_utc: Flags | None) -> Longs:
            utc, _ = timestamps.to_utc(local, zone, offsets, clock_changes, is_utc)
            if ahead is None:
                return utc
            return utc - ahead if isinstance(ahead, int) else ahead.corrected(utc)

        return to_utc

    def _clock_changes(self, log: Log, zone: str) -> ClockChanges:
        """Which pass of repeated local times the records of a log are of."""
        from udfs.logs.dst import AmbiguousTimeFinder, passes_in_stream

        finder, offset = AmbiguousTimeFinder(zone, "" if log.is_usual or log.format is None else log.format.encoding), 0
        with self.inputs.guarded(log), self._opened(log) as stream:
            while data := stream.read(1 << 20):
                finder.feed(data, offset)
                offset += len(data)
        return passes_in_stream(finder, log.format is not None and log.format.is_newest_first)

    def _find_ranges(self) -> None:
        """The parts of plain files that can hold records of the window.

        Two files at a time: while one is read, another is searched. One that cannot be read is left for later, when it
        is said.
        """
        since, until = self.request.window
        if since is None and until is None:
            return
        from threading import Thread

        from jobs.merge.window import ranges_of

        def find(numbers: Iterator[int]) -> None:
            for number in numbers:
                log = self.logs[number]
                ahead = self.skews.get(log.node, 0) if log.node is not None else 0
                slack = abs(ahead) if isinstance(ahead, int) else ahead.most
                zone = self.request.zone_of(log.node)
                with suppress(OSError):
                    ranges = ranges_of(log, since, until, zone, slack, trust=self.request.options.trust_order)
                    self._ranges[number] = ranges

        left = iter([number for number, log in enumerate(self.logs) if log.has_plain_stamps])
        other = Thread(target=find, args=(left,))
        other.start()
        find(left)
        other.join()
        for number, ranges in self._ranges.items():
            size = self.logs[number].size
            self.logs[number].passed_over = size - sum((size if end is None else end) - begin for begin, end in ranges)

    # ---- what is wanted ----------------------------------------------------------------------------------------------
    def wanted(self) -> Sequence[RecordStream]:
        """All that is wanted, as streams in the order of node and file; their `file` is the place in `by_place`."""
        from udfs.merge.streams import RecordIndex, SpilledRecords

        self.piece = min(max(_MEMORY // max(len(self.logs), 1), _LEAST_PIECE), self.pool.size)
        index, spilled = RecordIndex(), SpilledRecords()
        streams: list[RecordStream] = []
        self.logs.sort(key=place_of)
        self._searches = sum(log.size for log in self.logs) >= SEARCHED_FROM
        self._find_ranges()
        for number, log in enumerate(self.logs):
            stream = self._read_single(number, log, index, spilled)
            if stream is not None:
                streams.append(stream)
        for log, member in self._members():
            self.logs.append(log)
            if log.is_log:
                with self.inputs.guarded(log):
                    self._put_aside(len(self.logs) - 1, log, member, spilled)
            else:
                self.inputs.no_log(log)
        numbers = sorted(range(len(self.logs)), key=lambda number: place_of(self.logs[number]))
        places = {number: place for place, number in enumerate(numbers)}
        streams += spilled.streams()
        for stream in streams:
            stream.file = places[stream.file]
        return sorted(streams, key=lambda stream: stream.file)

    def by_place(self) -> list[Log]:
        """The logs in the order of their places."""
        return sorted(self.logs, key=place_of)

    def _read_single(self, number: int, log: Log, index: RecordIndex, spilled: SpilledRecords) -> RecordStream | None:
        """Look the records of a log up, or put those that are wanted aside."""
        from udfs.merge.streams import MOST_KEPT, IndexedStream

        if not log.is_log:
            self.inputs.no_log(log)
            return None
        if self.request.filters.is_empty and log.is_usual and not self.request.options.count:
            cut_short = partial(self.inputs.cut_short, log)
            stream = IndexedStream(number, log.open, log.is_plain, index, self.piece, cut_short)
            with self.inputs.guarded(log), self._opened(log) as source:
                for block in self._wanted_blocks(number, log, source):
                    stream.note(block)
                    self.pool.give(block.data)
            stream.done()
            if stream.most_kept() <= MOST_KEPT:
                return stream
            log.forget()
        with self.inputs.guarded(log), self._opened(log) as source:
            self._put_aside(number, log, source, spilled)
        return None

    def _put_aside(self, number: int, log: Log, stream: BinaryIO, spilled: SpilledRecords) -> None:
        """What is wanted of a stream that is read once; counted only if no more is asked for."""
        for block in self._wanted_blocks(number, log, stream):
            if not self.request.options.count:
                spilled.add(number, block)
            self.pool.give(block.data)

    def _wanted_blocks(self, number: int, log: Log, stream: BinaryIO) -> Iterator[Block]:
        """The records of a stream that pass window and filters. All is counted."""
        select, to_utc = self._selection(log), self._to_utc(log)
        search = self.request.filters.search if self._searches and log.is_usual else None
        at, line = 0, 1
        for begin, end in self._ranges.get(number, [(0, None)]):
            first_line = None
            if self.request.with_lines:
                if begin > at:
                    line += log.count_lines(at, begin)
                first_line = line
            if begin:
                stream.seek(begin)
            for block in blocks(
                stream,
                None if log.is_usual else log.format,
                to_utc,
                log.totals,
                pool=self.pool,
                offset=begin,
                limit=None if end is None else end - begin,
                first_line=first_line,
                search=search,
            ):
                selected = select(block)
                log.matched += len(selected)
                if len(selected):
                    yield selected
                else:
                    self.pool.give(block.data)
            if self.request.with_lines and end is not None:
                at, line = end, line + log.count_lines(begin, end)

    def _selection(self, log: Log) -> Callable[[Block], Block]:
        """Takes the next block of a log. Returns its records that pass window and filters, with their ranks."""
        import numpy as np

        from udfs.merge.order import FileRanks

        since, until = self.request.window
        filters = self.request.filters
        ranked = None if filters.is_empty or self.request.options.count else FileRanks()

        def select(block: Block) -> Block:
            if since is not None or until is not None:
                block = _in_window(block, since, until)
            if filters.is_empty:
                return block
            rows = filters.rows(block, log.layout, log.node)
            rows = rows[rows >= block.repeated]
            if ranked is not None:
                block.ranks = np.zeros(len(block), np.int64)
                block.ranks[rows] = ranked.of(block, rows) if len(block) else 0
            return block.chosen(rows)

        return select


def place_of(log: Log) -> tuple[bool, int, str]:
    """The order of files: by node, those of unknown nodes last, then by name."""
    return log.node is None, log.node or 0, log.name


def _in_window(block: Block, since: int | None, until: int | None) -> Block:
    import numpy as np

    inside = np.ones(len(block), np.bool_)
    if since is not None:
        inside &= block.times >= since
    if until is not None:
        inside &= block.times <= until
    return block if inside.all() else block.chosen(inside)
