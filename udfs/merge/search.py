"""The stretches of a block that hold what is looked for: records are framed there only.

To search bytes costs a fifth of finding all records in them. A stretch begins and ends with records of the usual form,
whose times exist, so that what is in it does not depend on what stands around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from udfs.merge.usual_layout import NO_TIME, midnight_of
from udfs.rules.regex import late

if TYPE_CHECKING:
    from udfs.logs.arrays import Longs

Search = Callable[[bytes | bytearray, int, int], list[int] | None]
"""Where between two bytes something stands, in order; None if at so many places that a search does not pay."""

MOST_HITS = 200
"""In one block; from more on it is quicker to find all of its records."""

CONTEXT_BYTES = 32 << 10
"""Carried over to the next block, for ranks depend on records before."""

_SAME_TIME_BYTES = 64 << 10  # by which records of one time may be apart
_STAMP_BYTES = 25  # `[2018-12-09 02:21:49,941]`
_USUAL_START = late(rb"\[(\d{4}-\d\d-\d\d) (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d,\d{3}\] [A-Z]")


class Stretches:
    """Parts of a block, in order: `begins[i]` to `ends[i]`. They begin with a record and end before one."""

    def __init__(self, data: bytearray, stop: int) -> None:
        self._data, self._stop = data, stop
        self.begins: list[int] = []
        self.ends: list[int] = []

    def add(self, at: int) -> bool:
        """Take the record at a byte, with those before it that have its time; False if no record starts before it.

        `at` must not be less than that of the call before.
        """
        if self.ends and at < self.ends[-1]:
            return True
        begin = start_before(self._data, at)
        if begin < 0:
            return False
        begin, end = self._first_of_its_time(begin), _start_behind(self._data, at, self._stop)
        while self.ends and begin <= self.ends[-1]:
            begin, end = min(begin, self.begins.pop()), max(end, self.ends.pop())
        self.begins.append(begin)
        self.ends.append(end)
        return True

    def _first_of_its_time(self, start: int) -> int:
        """Where the first record with the time of this one starts; further back they may be 64 kB apart."""
        stamp = self._data[start : start + _STAMP_BYTES]
        while start > 0:
            least = max(start - _SAME_TIME_BYTES, 0)
            if least == 0 and self._data.startswith(stamp):
                return 0
            first = self._data.find(b"\n" + stamp, least, start)
            if first < 0 or not is_start(self._data, first + 1):
                break
            start = first + 1
        return start

    def size(self, begin: int, end: int) -> int:
        """How many of the bytes between two are in them."""
        return sum(
            max(min(last, end) - max(first, begin), 0) for first, last in zip(self.begins, self.ends, strict=True)
        )

    def joined(self, behind: int) -> bytes:
        """Their bytes, and so many zeros behind them."""
        with memoryview(self._data) as view:
            pieces = [view[begin:end] for begin, end in zip(self.begins, self.ends, strict=True)]
            return b"".join([*pieces, bytes(behind)])

    def places(self, starts: Longs) -> Longs:
        """Where in the block bytes of `joined` stand."""
        begins, ends = np.array(self.begins, np.int64), np.array(self.ends, np.int64)
        joined_ends = np.cumsum(ends - begins)
        which = np.searchsorted(joined_ends, starts, "right")
        return starts + (ends - joined_ends)[which]


def stretches(data: bytearray, hits: list[int], stop: int) -> Stretches | None:
    """The stretches of `data[:stop]` around some places; None if all of it has to be framed."""
    parts = Stretches(data, stop)
    return parts if all(parts.add(at) for at in hits) else None


def is_start(data: bytes | bytearray, at: int) -> bool:
    """Whether a record of the usual form, whose time exists, starts at a byte that begins a line."""
    m = _USUAL_START.match(data, at)
    return m is not None and midnight_of(m[1]) != NO_TIME


def start_before(data: bytes | bytearray, at: int) -> int:
    """Where the last such record before a byte, or there, starts; -1 if none does."""
    newline = at
    while (newline := data.rfind(b"\n[", 0, newline + 1)) >= 0:
        if is_start(data, newline + 1):
            return newline + 1
    return 0 if is_start(data, 0) else -1


def _start_behind(data: bytes | bytearray, at: int, stop: int) -> int:
    """Where the first such record behind a byte starts; `stop` if none does before."""
    newline = at
    while (newline := data.find(b"\n[", newline, stop)) >= 0:
        if is_start(data, newline + 1):
            return newline + 1
        newline += 1
    return stop
