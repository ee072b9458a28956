"""Which pass of a repeated local time a stream's records are of, where clocks were put back: by the order in the file.

A stream is looked at once, in blocks, before its ranges are read; what is found are byte offsets from which on a
repeated time is of this pass or that. So ranges of the stream, read by themselves, agree with the whole.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from udfs.logs.timestamps import (
    AMBIGUOUS,
    FIRST_PASS,
    NO_TIME,
    SECOND_PASS,
    ClockChanges,
    has_repeats,
    micros_of,
    readings,
)

STEP = 12
"""Threads and processes write a record late by some seconds; a step back of more than this part of the repeated time
(5 minutes of an hour) is a clock's."""
REST = 2
"""Two records with less than this part of the repeated time (30 minutes of an hour) between them leave no doubt that
the clock just went on."""
MOST_RUNS = 100_000
"""Time that jumps to and fro more often within repeated hours is nothing to decide by; bounds memory."""

MOST_STAMPS = 10
"""A line with more of them holds several records, whose order does not show by the first stamp of each line."""

_SILENCE = 1.0  # how unlikely a silence is
_LATE = 2.0  # and that a record is late by some seconds
_BACK = 1000.0  # and that time steps back
_HOUR = 3_600_000_000
_TWENTY_YEARS = 20 * 8766 * _HOUR
_LONGEST_LINE = 1 << 20  # of a longer one a time in the midst may count as its first
_END = 8 << 10
_NO_ZONE = (
    rb"(?!(?:[.,:]\d{1,9}+)? ?(?:Z|UTC|GMT|[+-]\d\d))(?:[.,:]\d{1,9})?"  # a stamp that names its zone is unambiguous
)
_STAMP = re.compile(rb"(?P<at>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)" + _NO_ZONE)
_BEHIND = re.compile(_NO_ZONE)
_SEPARATORS = {4: b"-", 7: b"-", 13: b":", 16: b":"}  # places in a stamp of 19 bytes


class Run(NamedTuple):
    """Neighbouring records between which time just went on: all of a repeated time, or none.

    `since` and `until` are the first one's and the last one's time, UTC if of the first pass; `repeats` is how much
    later they are if of the second, 0 if their time is not repeated. All microseconds.
    """

    start: int  # behind the stamp before: the first record's begin, or a byte of the one before
    since: int
    until: int
    repeats: int


class AmbiguousTimeFinder:
    """Finds the clock changes of one stream whose local times are of one zone. Feed its blocks in order, then ask.

    Nothing is searched but the blocks that touch a repeated time; of the others the first and the last stamp are read.
    """

    def __init__(self, zone: str, encoding: str = "") -> None:
        self._zone = zone
        self._width = 2 if encoding.startswith("utf-16") else 1  # bytes of a character
        self._phase = 1 if encoding == "utf-16-be" else 0  # where in it the ASCII byte is
        self._rest = b""  # the begin of a line that is not over
        self._rest_at = 0
        self._seen = -1  # position of the last stamp
        self._runs: list[Run] = []
        self._is_undecided = False

    def feed(self, data: bytes, offset: int) -> None:
        """The next bytes of the stream; `offset` is the position of the first."""
        if self._zone == "UTC":
            return
        if self._width == 2:  # look at the ASCII bytes only
            data, offset = data[(self._phase - offset) % 2 :: 2], (offset + 1 - self._phase) // 2
        if not self._rest:
            self._rest_at = offset
        cut = data.rfind(b"\n") + 1
        if not cut:
            self._rest += data
            if len(self._rest) > _LONGEST_LINE:  # not worth the memory
                self._look(self._rest, self._rest_at)
                self._rest = b""
            return
        self._look(self._rest + data[:cut] if self._rest else data[:cut], self._rest_at)
        self._rest, self._rest_at = data[cut:], offset + cut

    @property
    def clock_changes(self) -> ClockChanges:
        """From which byte on a repeated time is of which pass, in order; before the first turn it is the first pass."""
        if self._rest:
            self._look(self._rest, self._rest_at)
            self._rest = b""
        if len(self._runs) > MOST_RUNS or self._is_undecided:
            return ((0, AMBIGUOUS),)
        clock_changes: list[tuple[int, int]] = []
        for run, pass_ in zip(self._runs, passes(self._runs), strict=True):
            if run.repeats and pass_ != (clock_changes[-1][1] if clock_changes else FIRST_PASS):
                clock_changes.append((run.start * self._width, pass_))
        return tuple(clock_changes)

    @property
    def has_repeats(self) -> bool:
        """Whether any time comes twice; then later records may show of which pass it is. Ask when all are fed."""
        return len(self._runs) > MOST_RUNS or any(run.repeats for run in self._runs)

    def _look(self, lines: bytes, offset: int) -> None:
        """Whole lines."""
        first = _STAMP.search(lines)
        if first is None:
            return
        stamps = [first, *_STAMP.finditer(lines, max(first.end(), len(lines) - _END))]
        if len(stamps) == 1:  # the last record is a long one
            stamps += _STAMP.finditer(lines, first.end())
        local, _ = micros_of([m["at"] for m in stamps])
        low, high = int(local.min()), int(local.max())
        if low == NO_TIME or high - low > _TWENTY_YEARS or has_repeats(self._zone, low - _HOUR, high + _HOUR):
            self._search(lines, offset)
        else:
            utc, _ = readings(local[[0, -1]], self._zone)
            self._add([Run(self._seen + 1, int(utc[0]), int(utc[1]), 0)])
            self._seen = offset + stamps[-1].start()

    def _search(self, lines: bytes, offset: int) -> None:
        """Lines, some of whose times may come twice."""
        positions = _stamps(lines)
        local, _ = micros_of([lines[position : position + 19] for position in positions.tolist()])
        newlines = np.flatnonzero(np.frombuffer(lines, np.uint8) == 10)
        line = np.searchsorted(newlines, positions)
        is_first = np.append(True, line[1:] != line[:-1])  # a record's time comes first in its line
        is_first &= local != NO_TIME
        self._is_undecided |= np.bincount(line).max(initial=0) > MOST_STAMPS
        positions, local = positions[is_first] + offset, local[is_first]
        if not len(local):
            return
        first, second = readings(local, self._zone)
        repeats = np.maximum(second - first, 0)
        starts = np.append(self._seen, positions[:-1]) + 1
        begins = np.append(0, np.flatnonzero(_breaks(first, repeats)) + 1)
        ends = np.append(begins[1:], len(first)) - 1
        columns = (starts[begins], first[begins], first[ends], repeats[begins])
        self._add([Run(*numbers) for numbers in zip(*(column.tolist() for column in columns), strict=True)])
        self._seen = int(positions[-1])

    def _add(self, runs: list[Run]) -> None:
        """The runs of a block; its first is joined with the one before if time just went on between them."""
        if len(self._runs) > MOST_RUNS:
            return
        if self._runs:
            before, run = self._runs[-1], runs[0]
            times, repeats = np.array([before.until, run.since]), np.array([before.repeats, run.repeats])
            if not _breaks(times, repeats).any():
                self._runs[-1] = before._replace(until=run.until)
                runs = runs[1:]
        self._runs += runs


def passes_in_stream(finder: AmbiguousTimeFinder, is_newest_first: bool) -> ClockChanges:
    """The clock changes of a whole stream; ambiguous where its order tells nothing, or no repeated time was seen.

    Then there is none, or times are of a form that the finder does not look for.
    """
    clock_changes = finder.clock_changes
    return clock_changes if finder.has_repeats and not is_newest_first else ((0, AMBIGUOUS),)


def _stamps(lines: bytes) -> npt.NDArray[np.int64]:
    """Positions of what looks like a stamp without zone."""
    text = np.frombuffer(lines, np.uint8)
    there = np.ones(max(len(text) - 18, 0), np.bool_)
    for place, separator in _SEPARATORS.items():  # several times as fast as a pattern
        there &= text[place : place + len(there)] == ord(separator)
    positions = np.flatnonzero(there)
    has_no_zone = [_BEHIND.match(lines, position + 19) is not None for position in positions.tolist()]
    return positions[np.array(has_no_zone, np.bool_)]


def _breaks(times: npt.NDArray[np.int64], repeats: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Between which neighbours a repeated time begins or ends, or time did not just go on within it."""
    steps, part = np.diff(times), repeats[1:]
    jumps = (part > 0) & ((steps * STEP < -part) | (steps * REST > part))
    broken: npt.NDArray[np.bool_] = (repeats[1:] != repeats[:-1]) | jumps
    return broken


def passes(runs: list[Run]) -> list[int]:
    """For each run the pass that it is of, AMBIGUOUS if unknown; of no meaning where its time is not repeated.

    Of all ways to read the runs that one holds in which time seldom steps back, then, in which records are seldom
    late, and then, in which they are seldom far apart. If the best way with a run in the first pass and the best way
    with it in the second are equally good, it is ambiguous.
    """
    if not runs:
        return []
    ahead = _costs(runs)
    back = _costs([Run(0, -run.until - run.repeats, -run.since - run.repeats, run.repeats) for run in reversed(runs)])
    run_passes = []
    for (first, second), (second_back, first_back) in zip(ahead, reversed(back), strict=True):
        better = first + first_back - second - second_back
        run_passes.append(FIRST_PASS if better < 0 else SECOND_PASS if better > 0 else AMBIGUOUS)
    return run_passes


def _costs(runs: list[Run]) -> list[tuple[float, float]]:
    """What reading the runs up to each one costs at least, if this one is of the first pass and if of the second."""
    costs = [(0.0, 0.0)]
    for a, b in pairwise(runs):
        part = max(a.repeats, b.repeats)
        first, second = (
            min(
                cost + _step(b.since + later - a.until - earlier, part)
                for cost, earlier in zip(costs[-1], (0, a.repeats), strict=True)
            )
            for later in (0, b.repeats)
        )
        costs.append((first, second))
    return costs


def _step(micros: int, repeats: int) -> float:
    """What a step of time from one record to the next costs."""
    if micros < 0:
        return _BACK if micros * STEP < -repeats else _LATE
    return _SILENCE if micros * REST > repeats else 0.0
