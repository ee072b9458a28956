"""`kafka-rewind merge`: one history out of many logs, merged and filtered. No Spark, no JVM.

Plain files and single compressed ones are read twice, to look records up and to write them (`udfs.merge.streams`);
with a filter, and of members of bundles, what is wanted is put aside in one pass. A window of time is looked up in
plain files by bisection, and a search for its time stamps in what is passed over proves that nothing stands elsewhere.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, TYPE_CHECKING, BinaryIO

from jobs.merge.logs import Log, Reading, counted, found_paths, single_logs, without_duplicates
from jobs.merge.request import Options, Refused, Request, local_time, understood

if TYPE_CHECKING:
    from udfs.logs.timestamps import ClockChanges
    from udfs.merge.blocks import Block, Flags, Longs, ToUtc
    from udfs.merge.order import Picked, Stream
    from udfs.merge.streams import Aside, Index
    from udfs.reconstruct.clock_skew import ClockCorrection

DONE, BAD_INPUT = 0, 2

_MEMORY = 16 << 20  # bytes of blocks that are held at once, about
_LEAST_PIECE = 16 << 10


def merge(options: Options, out: IO[bytes], say: Callable[[str], None], is_terminal: bool = False) -> int:
    """Merge the logs to `out`, say on the side what happened; the exit code."""
    reading = Reading(options.keep_duplicates, say)
    try:
        request = understood(options)
        return Merge(request, reading, out, is_terminal).run()
    except Refused as error:
        say(str(error))
        return BAD_INPUT
    except (BrokenPipeError, NotWritten):
        raise
    except OSError as error:
        say(f"The merge ended early: {error.strerror or error}; run it again.")
        return BAD_INPUT
    finally:
        reading.clean()


class NotWritten(OSError):
    """The output could not be written: a full disk, most often."""


class Merge:
    """One run."""

    def __init__(self, request: Request, reading: Reading, out: IO[bytes], is_terminal: bool) -> None:
        self.request, self.reading, self.out = request, reading, out
        self.is_terminal = is_terminal
        self.logs: list[Log] = []
        self.bundles: list[str] = []
        self.skews: dict[int, int | ClockCorrection] = {}  # node -> microseconds ahead, or how they change
        self.ranges: dict[int, list[tuple[int, int | None]]] = {}  # of plain files, by their number
        self.written = 0

    def run(self) -> int:
        """Do it; the exit code."""
        options, reading = self.request.options, self.reading
        paths = found_paths(reading, options)
        singles, self.bundles = single_logs(reading, paths)
        self.logs = without_duplicates(reading, singles)
        self._look_ahead()
        streams = self._streams()
        if options.count:
            self._write(str(self._matched()).encode() + b"\n")
        else:
            self._write_all(streams)
        self._summarize()
        return BAD_INPUT if reading.troubles else DONE

    # ---- what must be known before -----------------------------------------------------------------------------------
    def _look_ahead(self) -> None:
        """The last record's time, the clocks' skews, the topic's ids: each only if it is needed."""
        request = self.request
        if request.options.skew == "auto":
            self._estimate_skews()
        else:
            self.skews = dict(request.skews)
        if request.is_relative:
            last = max((int(block.times.max()) for _, block in self._all_blocks(quick=True)), default=None)
            if last is not None:
                from udfs.merge.times import as_text

                own = local_time(last, request.own_zone)
                self.reading.say(f"The last record is of {as_text(own)}; times that were given are told by it.")
            request.set_window(last)
        if request.filters.topic is not None and (self.bundles or any(log.has_ids for log in self.logs)):
            self._find_ids(request.filters.topic)

    def _find_ids(self, topic: str) -> None:
        """What ids the logs give the topic: records of KRaft often name nothing else."""
        from dataclasses import replace

        from udfs.merge.filters import topic_ids_in

        ids: set[str] = set()
        for log, stream in self._every_stream():
            if not log.is_log or not (log.is_inside or log.has_ids):
                continue
            rest = b""
            while data := stream.read(1 << 20):
                ids |= topic_ids_in(rest + data, topic)
                rest = data[-512:]
        self.request.filters = replace(self.request.filters, topic_ids=frozenset(ids))

    def _estimate_skews(self) -> None:
        """Corrections of the nodes' clocks from what one node can only have logged after another."""
        from jobs.merge.clocks import estimated

        found, sentence = estimated(self._all_blocks(quick=False, with_lines=True))
        self.skews = {**found}
        self.reading.say(sentence)

    def _every_stream(self) -> Iterator[tuple[Log, BinaryIO]]:
        """All streams one after another, each from its begin."""
        for log in self.logs:
            with self.reading.guarded(log), self._opened(log) as stream:
                yield log, stream
        yield from self._members()

    @contextmanager
    def _opened(self, log: Log) -> Iterator[BinaryIO]:
        """The bytes of a log from the begin; if they end in damage it is said."""
        with log.open() as stream:
            yield stream
            if not log.is_plain:
                with self.reading.guarded(log, stream):
                    pass

    def _members(self) -> Iterator[tuple[Log, BinaryIO]]:
        """The streams of the bundles; those that were given already are passed over."""
        for path in self.bundles:
            yield from self.reading.members(path, self.logs)

    def _all_blocks(self, *, quick: bool, with_lines: bool = False) -> Iterator[tuple[Log, Block]]:
        """All records. `quick`: of plain files only the last ones, which have no line numbers."""
        from udfs.merge.blocks import Account, Pool, blocks

        pool = Pool()
        for log, stream in self._every_stream():
            if not log.is_log:
                continue
            begin = log.tail_begin() if quick and log.is_plain else 0
            if begin:
                stream.seek(begin)
            format_, first_line = None if log.is_usual else log.format, 1 if with_lines else None
            for block in blocks(
                stream, format_, self._to_utc(log), Account(), pool=pool, offset=begin, first_line=first_line
            ):
                yield log, block
                pool.give(block.data)

    # ---- reading -----------------------------------------------------------------------------------------------------
    def _to_utc(self, log: Log) -> ToUtc:
        """Carries the times of a log to UTC, and to the cluster's clock if skews are known."""
        zone = self.request.zone_of(log.node)
        ahead = self.skews.get(log.node) if log.node is not None else None
        if zone == "UTC" and ahead is None:
            return lambda local, offsets, is_utc: local
        from udfs.logs import timestamps as clock

        clock_changes = () if zone == "UTC" else self._clock_changes(log, zone)

        def to_utc(local: Longs, offsets: Longs, is_utc: Flags | None) -> Longs:
            utc, _ = clock.to_utc(local, zone, offsets, clock_changes, is_utc)
            if ahead is None:
                return utc
            return utc - ahead if isinstance(ahead, int) else ahead.corrected(utc)

        return to_utc

    def _clock_changes(self, log: Log, zone: str) -> ClockChanges:
        """Which pass of repeated local times the records of a log are of."""
        from udfs.logs.dst import AmbiguousTimeFinder

        finder, offset = AmbiguousTimeFinder(zone, "" if log.is_usual or log.format is None else log.format.encoding), 0
        with self.reading.guarded(log), self._opened(log) as stream:
            while data := stream.read(1 << 20):
                finder.feed(data, offset)
                offset += len(data)
        return finder.clock_changes

    def _streams(self) -> Sequence[Stream]:
        """All that is wanted, as streams in the order of node and file."""
        from udfs.merge.blocks import Pool
        from udfs.merge.streams import Aside, Index

        self.pool = Pool()
        self.piece = min(max(_MEMORY // max(len(self.logs), 1), _LEAST_PIECE), self.pool.size)
        index, aside = Index(), Aside()
        streams: list[Stream] = []
        self.logs.sort(key=_place)
        self._find_ranges()
        for number, log in enumerate(self.logs):
            found = self._read_single(number, log, index, aside)
            if found is not None:
                streams.append(found)
        for log, member in self._members():
            self.logs.append(log)
            self._put_aside(len(self.logs) - 1, log, member, aside)
        places = {number: place for place, number in enumerate(sorted(range(len(self.logs)), key=self._place_of))}
        streams += aside.streams()
        for stream in streams:
            stream.file = places[stream.file]
        self.by_place = sorted(self.logs, key=_place)
        return sorted(streams, key=lambda stream: stream.file)

    def _place_of(self, number: int) -> tuple[bool, int, str]:
        return _place(self.logs[number])

    def _read_single(self, number: int, log: Log, index: Index, aside: Aside) -> Stream | None:
        """Look the records of a log up, or put those that are wanted aside."""
        from udfs.merge.streams import MOST_KEPT, IndexedStream

        if not log.is_log:
            self.reading.no_log(log)
            return None
        to_utc = self._to_utc(log)
        ranges = self.ranges.get(number, [(0, None)])
        if self.request.filters.is_empty and log.is_usual and not self.request.options.count:
            lost = partial(self.reading.lost, log)
            stream = IndexedStream(number, log.open, log.is_plain, index, self.piece, lost)
            with self.reading.guarded(log), self._opened(log) as source:
                for block in self._wanted(log, source, ranges, to_utc):
                    stream.note(block)
                    self.pool.give(block.data)
            stream.done()
            if stream.most_kept() <= MOST_KEPT:
                return stream
            log.forget()
        with self.reading.guarded(log), self._opened(log) as source:
            for block in self._wanted(log, source, ranges, to_utc):
                if not self.request.options.count:
                    aside.add(number, block)
                self.pool.give(block.data)
        return None

    def _put_aside(self, number: int, log: Log, stream: BinaryIO, aside: Aside) -> None:
        """What is wanted of a stream that is read once."""
        if not log.is_log:
            self.reading.no_log(log)
            return
        with self.reading.guarded(log):
            for block in self._wanted(log, stream, [(0, None)], self._to_utc(log)):
                if not self.request.options.count:
                    aside.add(number, block)
                self.pool.give(block.data)

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
                    found = ranges_of(log, since, until, zone, slack, trust=self.request.options.trust_order)
                    self.ranges[number] = found

        left = iter([number for number, log in enumerate(self.logs) if log.is_usual and log.is_plain])
        other = Thread(target=find, args=(left,))
        other.start()
        find(left)
        other.join()
        for number, found in self.ranges.items():
            size = self.logs[number].size
            self.logs[number].passed_over = size - sum((size if end is None else end) - begin for begin, end in found)

    def _wanted(
        self, log: Log, stream: BinaryIO, ranges: Sequence[tuple[int, int | None]], to_utc: ToUtc
    ) -> Iterator[Block]:
        """The records of some ranges of a stream that pass window and filters. All is counted."""
        import numpy as np

        from udfs.merge.blocks import blocks
        from udfs.merge.order import RankedSoFar

        since, until = self.request.window
        filters, format_ = self.request.filters, None if log.is_usual else log.format
        ranked = None if filters.is_empty or self.request.options.count else RankedSoFar()
        at, line = 0, 1
        for begin, end in ranges:
            first_line = None
            if self.request.with_lines:
                if begin > at:
                    line += log.count_lines(at, begin)
                first_line = line
            if begin:
                stream.seek(begin)
            limit = None if end is None else end - begin
            for block in blocks(
                stream, format_, to_utc, log.account, pool=self.pool, offset=begin, limit=limit, first_line=first_line
            ):
                wanted = block
                if since is not None or until is not None:
                    wanted = _in_window(block, since, until)
                if not filters.is_empty:
                    rows = filters.rows(wanted, log.layout, log.node)
                    if ranked is not None:
                        wanted.ranks = np.zeros(len(wanted), np.int64)
                        wanted.ranks[rows] = ranked.of(wanted, rows) if len(wanted) else 0
                    wanted = wanted.chosen(rows)
                log.matched += len(wanted)
                if len(wanted):
                    yield wanted
                else:
                    self.pool.give(block.data)
            if self.request.with_lines and end is not None:
                at, line = end, line + log.count_lines(begin, end)

    # ---- writing -----------------------------------------------------------------------------------------------------
    def _write(self, data: bytes) -> None:
        """Raises NotWritten, or BrokenPipeError if nobody reads."""
        try:
            self.out.write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise NotWritten(error.errno, error.strerror) from None

    def _write_all(self, streams: Sequence[Stream]) -> None:
        """The records in order, until the limit."""
        from udfs.merge.order import merged

        options = self.request.options
        left = options.limit
        printer = self._printer()
        for picked in merged(streams, self.pool):
            if left is not None:
                picked = picked.first(left)
                left -= len(picked)
            self.written += len(picked)
            self._write(printer(picked))
            if left == 0:
                break

    def _printer(self) -> Callable[[Picked], bytes]:
        """How records become bytes."""
        options = self.request.options
        is_coloured = self.is_terminal
        if options.form == "raw" and not options.node and not is_coloured:
            return lambda picked: b"".join(picked.pieces())
        from jobs.merge.print import Printer

        printer = Printer(options, self.by_place, self.request.own_zone, is_coloured)
        if options.form == "csv":
            self._write(printer.header())
        return printer.printed

    # ---- what is said at the end -------------------------------------------------------------------------------------
    def _matched(self) -> int:
        return sum(log.matched for log in self.logs)

    def _summarize(self) -> None:
        """One line, or with `--verbose` one for each file, too; a sentence if nothing matched."""
        say, logs = self.reading.say, self.logs
        if self.request.options.verbose:
            for log in sorted(logs, key=_place):
                say(log.summary())
        if absent := sorted(self.request.skews.keys() - {log.node for log in logs}):
            say(f"No log is of node {', '.join(map(str, absent))}, which --skew names.")
        records, matched = sum(log.account.records for log in logs), self._matched()
        if matched == 0:
            say(f"Nothing matched: {self.request.described()} {_looked_at(logs, self.request.own_zone)}.")
        unframed = sum(log.account.unframed_bytes for log in logs)
        parts = [f"{counted(records, 'record')} read of {counted(len(logs), 'file')}", f"{matched:,} matched"]
        if self.written < matched and not self.request.options.count:
            parts.append(f"{self.written:,} printed")
        parts.append(f"{counted(unframed, 'byte')} of no record")
        if passed_over := sum(log.passed_over for log in logs):
            parts.append(f"{counted(passed_over, 'byte')} outside the window passed over")
        say(", ".join(parts))


def _place(log: Log) -> tuple[bool, int, str]:
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


def _looked_at(logs: Sequence[Log], zone: str) -> str:
    """`in 3 files with 120 records from ... to ...`."""
    from udfs.merge.times import as_text

    records = sum(log.account.records for log in logs)
    text = f"in {counted(len(logs), 'file')} with {counted(records, 'record')}"
    first = [log.account.first for log in logs if log.account.first is not None]
    last = [log.account.last for log in logs if log.account.last is not None]
    if first and last:
        since, until = as_text(local_time(min(first), zone)), as_text(local_time(max(last), zone))
        text += f" from {since} to {until}"
    return text


def write_to_stdout(options: Options) -> int:
    """The command: merge to standard output, say what happened on standard error. A closed pipe ends it silently."""
    if sys.stdout is None:
        _say("Standard output is closed; nothing was merged.")
        return BAD_INPUT
    out: IO[bytes] = sys.stdout.buffer
    if isinstance(out, io.RawIOBase):  # `python -u`; a raw stream may write only a part
        out = io.BufferedWriter(out)
    try:
        code = merge(options, out, _say, is_terminal=sys.stdout.isatty())
        out.flush()
        return code
    except BrokenPipeError:
        code = DONE
    except OSError as error:
        _say(f"The output cannot be written ({error.strerror}); what was printed is not all.")
        code = BAD_INPUT
    except KeyboardInterrupt:
        _say("Stopped; what was printed is not all.")
        code = BAD_INPUT
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left would be written at the exit
    return code


def _say(text: str) -> None:
    """On standard error, if anybody listens there."""
    with suppress(OSError):
        if sys.stderr is not None:
            print(f"kafka-rewind: {text}", file=sys.stderr)
