"""Records of the usual layout, found by their bytes: `[2018-12-09 02:21:49,941] TRACE ...`.

The framer finds the same records (a test compares them), with more about each than a merge needs, and that takes
longer than all the rest of a merge. A stretch in which anything is odd is left to the framer.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from udfs.logs.years import western_year
from udfs.rules.regex import late

if TYPE_CHECKING:
    import numpy.typing as npt

    from udfs.logs.arrays import Bytes, Flags, Longs

    Words = npt.NDArray[np.uint64]

NO_TIME = -(2**63)
"""As in `udfs.logs.timestamps`: a time that does not exist."""


# A first line begins with `[2018-12-09 02:21:49,941] TRACE`. Its 24 bytes behind the first bracket are three words of
# eight; xor with the separators and with the digits' common bits leaves 0 to 9 for a digit and 0 for a separator.
def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text, "little"))


_PLACES = (b"0000x00x", b"00x00x00", b"x00x000x")
_XOR = tuple(_word(text) for text in (b"0000-00-", b"00 00:00", b":00,000]"))
_SIX = tuple(_word(text.translate(bytes.maketrans(b"0x", b"\6\0"))) for text in _PLACES)
_WRONG = tuple(_word(text.translate(bytes.maketrans(b"0x", b"\xf0\xff"))) for text in _PLACES)
_TWO, _BLANK_UPPER = _word(b"\xff\xe0"), _word(b" @")  # a blank, then one of 0x40 to 0x5F: a capital
BYTES_BEHIND = 128
"""Bytes that must be there behind the last line end that is searched."""

_FIRST = np.zeros(1, np.int64)
_GLUE = np.zeros(256, np.bool_)
_GLUE[[0, 0xEF, 0xBB, 0xBF]] = True  # holes and byte order marks belong to the record behind them
_DIGIT = np.zeros(256, np.bool_)
_DIGIT[0x30:0x3A] = True
_YEAR = _word(b"\xff\xff\xff\xff")
_STAMP = late(rb"\[\d{4}-\d\d-\d\d[ T]\d\d:")


def stamped(data: bytes | bytearray, whole: int) -> tuple[Longs, Longs] | None:
    """Where records start in `data[:whole]`, and their local times, if all first lines are of the usual form.

    None if something might start a record in another form: then the framer has to tell. Byte 0 must begin a line, and
    `whole` be behind a line end; the bytes behind it must be there.
    """
    view = np.frombuffer(data, np.uint8)
    at = np.flatnonzero(view[:whole] == 10)
    at += 1
    at = np.concatenate((_FIRST, at[:-1]))
    first = view[at]
    if _GLUE[first].any():
        return None
    at = at[first == 0x5B]
    words = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
    a, b, c, level = words[at + 1] ^ _XOR[0], words[at + 9] ^ _XOR[1], words[at + 17] ^ _XOR[2], words[at + 25]
    wrong = (a | (a + _SIX[0])) & _WRONG[0]
    wrong |= (b | (b + _SIX[1])) & _WRONG[1]
    wrong |= (c | (c + _SIX[2])) & _WRONG[2]
    wrong |= (level & _TWO) ^ _BLANK_UPPER
    if wrong.any():
        right = wrong == 0
        if _DIGIT[view[at[~right] + 1]].any():
            return None
        at, a, b, c = at[right], a[right], b[right], c[right]
    if not len(at):
        return None if _STAMP.search(data, 0, whole) else (at, at)
    of_year = bytes(data[at[0] + 1 : at[0] + 6])  # `2018-`: a stamp inside a line shows as one more of it
    is_one_year = not ((a ^ a[0]) & _YEAR).any()
    few = is_one_year and (_count(view, whole, of_year[3:]) == len(at) or _count(view, whole, of_year[1:]) == len(at))
    if not few and sum(1 for _ in _STAMP.finditer(data, 0, whole)) != len(at):
        return None
    return at, _local_micros(data, at, a, b, c)


def _count(view: Bytes, whole: int, text: bytes) -> int:
    """How often two or four bytes stand in the first `whole` ones."""
    size = len(text)
    wanted = int.from_bytes(text, "little")
    return sum(
        int(np.count_nonzero(view[at : at + (whole - at) // size * size].view(f"<u{size}") == wanted))
        for at in range(min(size, whole))
    )


_DAY = 86_400_000_000
_BYTE, _EIGHT, _TEN, _SIXTY, _THOUSAND = (np.uint64(n) for n in (255, 8, 10, 60, 1000))


@lru_cache(maxsize=4096)
def midnight_of(day: bytes) -> int:
    """Midnight of `2018-12-09` as microseconds since 1970, or NO_TIME."""
    try:
        year, month, number = map(int, day.split(b"-"))
        return (date(western_year(year), month, number).toordinal() - 719163) * _DAY
    except ValueError:
        return NO_TIME


def _local_micros(data: bytes | bytearray, at: Longs, a: Words, b: Words, c: Words) -> Longs:
    """Times of the records at `at` as local microseconds; NO_TIME for those that do not exist."""
    days = a ^ (b << np.uint64(56)) ^ ((b & np.uint64(0xFF00)) << np.uint64(24))  # into the places of separators
    changes = np.flatnonzero(days[1:] != days[:-1])
    changes += 1
    begins = np.concatenate((_FIRST, changes))
    midnights = [midnight_of(bytes(data[i + 1 : i + 11])) for i in at[begins].tolist()]
    two = b * _TEN + (b >> _EIGHT)  # in each byte the number that its digit and the next one make
    hour, minute = (two >> np.uint64(24)) & _BYTE, (two >> np.uint64(48)) & _BYTE
    two = c * _TEN + (c >> _EIGHT)
    second = (two >> _EIGHT) & _BYTE
    ms = ((two >> np.uint64(32)) & _BYTE) * _TEN + ((c >> np.uint64(48)) & _BYTE)
    micros = (((hour * _SIXTY + minute) * _SIXTY + second) * _THOUSAND + ms).view(np.int64) * 1000
    if len(midnights) == 1 and midnights[0] != NO_TIME:
        micros += midnights[0]
    else:
        of_day = np.repeat(np.array(midnights, np.int64), np.diff(np.append(begins, len(at))))
        micros = np.where(of_day == NO_TIME, NO_TIME, of_day + micros)
    if hour.max() > 23 or minute.max() > 59 or second.max() > 59:
        micros[(hour > 23) | (minute > 59) | (second > 59)] = NO_TIME
    return micros


def records_in(data: bytearray, whole: int) -> tuple[Longs, Longs, Flags | None]:
    """Where records start in `data[:whole]`, their local times, and which of these are UTC; None: none."""
    usual_starts = stamped(data, whole)
    if usual_starts is not None:
        return *usual_starts, None
    from udfs.logs.layouts import APACHE, read_head
    from udfs.logs.record_starts import find_starts
    from udfs.logs.timestamps import micros_of

    text = bytes(memoryview(data)[: whole + BYTES_BEHIND])
    newlines = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    starts = find_starts(APACHE, text, newlines, 0, whole, True)
    if not len(starts):
        return starts, starts, None
    ends = np.append(starts[1:], whole)
    line_ends = np.append(newlines[newlines < whole], whole - 1) + 1
    tops = np.minimum(line_ends[np.searchsorted(line_ends, starts, "right")], ends)
    places = zip(starts.tolist(), tops.tolist(), ends.tolist(), strict=True)
    times, is_utc = micros_of([read_head(APACHE, text, *place)[0] for place in places])
    return _at_line_begins(starts, newlines), times, is_utc


def _at_line_begins(starts: Longs, newlines: Longs) -> Longs:
    """Starts inside a line moved to its begin, for lines are printed whole; not if another record starts before."""
    begins = np.concatenate((_FIRST, newlines + 1))
    lines = begins[np.searchsorted(begins, starts, "right") - 1]
    is_first = np.concatenate((np.ones(1, np.bool_), lines[1:] != lines[:-1]))
    return np.where(is_first, lines, starts)


_LINE_START = late(rb"\n\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] {1,5}[A-Z]")
_READ_AT_ONCE = 64 << 10


def starts_from(file: BinaryIO, at: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Records of the usual form that start at the begin of a line in [at, end) of a file, with their stamps."""
    rest = b"\n" if at == 0 else b""
    file.seek(max(at - 1, 0))
    base = max(at - 1, 0) - len(rest)  # where in the file `rest` would stand
    while base + len(rest) < end + 64:
        data = file.read(_READ_AT_ONCE)
        if not data:
            return
        text = rest + data
        for m in _LINE_START.finditer(text):
            if base + m.start() + 1 >= end:
                return
            yield base + m.start() + 1, m[1]
        keep = min(len(text), 40)  # of a start that is not whole yet
        last = text.rfind(b"\n", len(text) - keep)
        keep = len(text) - last if last >= 0 and not _LINE_START.match(text, last) else 0
        base += len(text) - keep
        rest = text[len(text) - keep :]
