"""Lines that are not as they were written: the newest first, or cut to a width."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from udfs.logs.arrays import Longs
from udfs.logs.channel_text import ChannelText, Unit, channel_text, joined_texts, texts_of_units
from udfs.logs.layouts import LAYOUTS
from udfs.logs.line_patterns import looks_first
from udfs.logs.timestamps import NO_TIME
from udfs.rules.regex import late


class NewestFirst:
    """Turns a text round: `rows` piece by piece, which are lines or an export's rows; `records` record by record, each
    with its further lines behind it. All of it is held in memory."""

    def __init__(self, unit: str) -> None:
        if unit not in ("rows", "records"):
            raise ValueError(f"{unit!r} is no unit; expected rows or records")
        self._by_records = unit == "records"
        self._texts: list[ChannelText] = []

    def feed(self, text: ChannelText, last: bool) -> Iterator[tuple[str, ChannelText]]:
        """Nothing, and in the end all of it."""
        self._texts.append(text)
        if not last:
            return
        whole, self._texts = joined_texts(self._texts), []
        if not len(whole.places.begins):
            return
        data, places = whole.data, whole.places
        pieces = [piece + b"\n" * (piece[-1:] not in b"\n") for piece in _pieces(data, places.begins)]
        by_records = self._by_records and unit_of_reversal(pieces) == "records"  # the begin may have shown neither
        order = _by_record(pieces) if by_records else list(range(len(pieces)))[::-1]
        which: Longs = np.array(order, np.int64)
        some = [pieces[i] for i in order]
        lengths = np.fromiter(map(len, some), np.int64, len(some))
        begins = np.cumsum(lengths) - lengths
        yield "", channel_text(b"".join(some), begins, places.lines[which], places.offsets[which], places.sizes[which])


def _pieces(data: bytes, begins: Longs) -> list[bytes]:
    ends = [*begins[1:].tolist(), len(data)]
    return [data[begin:end] for begin, end in zip(begins.tolist(), ends, strict=True)]


def _by_record(pieces: Sequence[bytes]) -> list[int]:
    """The numbers of the pieces, records turned round; what stands before the first stays there."""
    starts = [i for i, piece in enumerate(pieces) if begins_record(piece)]
    if not starts:
        return list(range(len(pieces)))
    runs = [range(begin, end) for begin, end in pairwise([*starts, len(pieces)])]
    return [*range(starts[0]), *(i for run in reversed(runs) for i in run)]


def begins_record(line: bytes) -> bool:
    """Whether a line is a record's first in any layout that has times."""
    return any(layout.start.match(line) for layout in LAYOUTS if layout.time == "local")


_TRACE = late(rb"\s+at [\w$/@<>-]+[.(]|\s+\.\.\. \d+ more|Caused by: |\s+Suppressed: ")
_CLOCK = late(rb"[^\n]{0,60}?\b\d\d:\d\d:\d\d\b")
_NUMBER = late(rb"\d+")
_LEAST_STEPS = 3


def is_newest_first(micros: Sequence[Sequence[int]]) -> bool:
    """Whether records go back in time; `micros`: their times, by channel."""
    back = ahead = 0
    descent = 0
    for times in micros:
        known = [at for at in times if at != NO_TIME]
        steps = [b - a for a, b in pairwise(known)]
        back += sum(step < 0 for step in steps)
        ahead += sum(step > 0 for step in steps)
        descent += sum(steps)
    return back >= _LEAST_STEPS and back >= 4 * ahead and descent < 0


def unit_of_reversal(lines: Sequence[bytes]) -> str:
    """`rows` if further lines of records stand before them, the last one first; else `records`."""
    upward = downward = 0
    for a, b in pairwise(lines):
        is_trace, was_trace = _TRACE.match(b) is not None, _TRACE.match(a) is not None
        downward += is_trace and not was_trace and not begins_record(a) and bool(a.strip())
        upward += was_trace and not is_trace and not begins_record(b) and bool(b.strip())
    first = next((line for line in lines if line.strip()), b"")
    return "rows" if upward > downward or _TRACE.match(first) else "records"


# ---- lines cut to a width -------------------------------------------------------------------------------------------
class HardWrapped:
    """Joins lines that were cut where they reached a width; `how`: in `columns`, or at `blanks` before it."""

    def __init__(self, width: int, how: str = "") -> None:
        self._width, self._how = width, how
        self._open = b""  # the line that may go on; only what is needed to tell
        self._is_open = False

    def feed(self, text: ChannelText, last: bool) -> Iterator[tuple[str, ChannelText]]:
        """The lines as they were before."""
        units: list[Unit] = []
        lines = text.data.split(b"\n")
        begin = 0
        for i, line in enumerate(lines):
            bare = line.removesuffix(b"\r")
            has_end = i < len(lines) - 1
            if not has_end and not line:
                break
            if self._is_open and not self._goes_on(bare):
                self._is_open = False
                units.append((begin, "", b"\n" + line + b"\n" * has_end))
                self._open = bare
            else:
                units.append((begin, "", line + b"\n" * has_end))
                self._open = self._open + bare if self._is_open else bare
            self._is_open = self._is_full(bare) and has_end
            if self._is_open:
                start, channel, some = units[-1]
                units[-1] = (start, channel, some[: len(some) - 1 - line.endswith(b"\r")])
            begin += len(line) + 1
        yield from texts_of_units(units, text.places, len(text.data))

    def _is_full(self, line: bytes) -> bool:
        if self._how == "blanks":
            return line.endswith(b" ")
        return widths(line)[self._how == "columns"] == self._width

    def _goes_on(self, line: bytes) -> bool:
        """Whether this line is the rest of the open one."""
        if begins_record(line) or _TRACE.match(line) or not line or looks_first(line) or _begin_alike(self._open, line):
            return False
        return not any(layout.ends_in_logger and layout.head.fullmatch(self._open) for layout in LAYOUTS[:1])


def widths(line: bytes) -> tuple[int, int]:
    """Characters of a line, and columns with a tab stop each eight."""
    text = line.decode("utf-8", "replace")
    return len(text), len(text.expandtabs())


def wrap_of(text: bytes) -> str | None:
    """The width that lines were cut to, and how: `80`, `80,columns` or `80,blanks`; None if they do not look so.

    At most half of the lines of that width may be whole: a longest line that came often, and once was torn, is no cut.
    """
    lines = [line.removesuffix(b"\r") for line in text.split(b"\n")[:-1]]
    if len(lines) < 4:
        return None
    choices = []
    for number, how in enumerate(("", ",columns")):
        of_lines = [widths(line)[number] for line in lines]
        longest = max(of_lines)
        choices.append((of_lines.count(longest), f"{longest}{how}", _torn(lines, of_lines, longest)))
        if longest >= 40 and how == "" and of_lines.count(longest) * 20 >= len(lines):
            break
    full, name, torn = max(choices, key=lambda choice: choice[0])
    longest = int(name.partition(",")[0])
    if longest >= 40 and full >= 3 and full * 20 >= len(lines) and torn * 2 >= full:
        return name
    blanks = sum(line.endswith(b" ") for line in lines)
    return f"{longest},blanks" if longest <= 400 and blanks >= 3 and blanks * 10 >= len(lines) else None


def _torn(lines: Sequence[bytes], of_lines: Sequence[int], longest: int) -> int:
    """How many of the longest lines are followed by the rest of a record, not by its end."""
    return sum(
        width == longest
        and following != b""
        and not (begins_record(following) or looks_first(following))
        and not _TRACE.match(following)
        and not _begin_alike(line, following)
        for width, line, following in zip(of_lines, lines, lines[1:], strict=False)
    )


def _begin_alike(line: bytes, following: bytes) -> bool:
    """Whether two lines have times of the day in one place, behind texts that differ in numbers alone.

    >>> _begin_alike(b"[x-1] 09:59:59 a", b"[x-2] 10:00:00 b"), _begin_alike(b"[x-1] 09:59:59 a", b"to 10:00:00")
    (True, False)
    """
    clocks = [_CLOCK.match(some) for some in (line, following)]
    begins = {_NUMBER.sub(b"0", clock[0]) for clock in clocks if clock}
    return all(clocks) and len(begins) == 1


def is_wrapped_at_blanks(text: bytes) -> bool:
    """Whether records lost their loggers to lines further down, because of a width, and blanks with them."""
    lines = text.split(b"\n")
    starts = [line for line in lines if begins_record(line)]
    ends = [line for line in lines if not begins_record(line) and re.search(rb"\([\w$]+\.[\w.$]+\)\r?$", line)]
    named = [line for line in starts if re.search(rb" \([\w.$-]+(?::\d+)?\)\r?$", line)]
    longest = max(map(len, lines), default=0)
    many = len(starts) - len(named)
    return longest <= 250 and len(starts) >= 3 and many * 3 > len(starts) and len(ends) * 2 > many
