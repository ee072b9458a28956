"""Time stamps of log records: read in every form the layouts have, and carried to UTC.

A stamp that names its zone is UTC at once. Any other is the writer's local time: its zone comes from conf
(default UTC), and where the clocks were put back, which pass of the repeated time it is comes from the order
in the file (`udfs.logs.dst`). The content is milliseconds: further digits are cut off.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from udfs.logs.arrays import Bytes, Flags
from udfs.logs.years import BUDDHIST_SINCE, BUDDHIST_UNTIL, BUDDHIST_YEARS
from udfs.rules.regex import late

Micros = npt.NDArray[np.int64]
"""Microseconds since 1970; of local times as if they were UTC."""
ClockCodes = npt.NDArray[np.int8]
"""For each record an index of CLOCK_VALUES."""
ClockChanges = tuple[tuple[int, int], ...]
"""(byte offset, index of CLOCK_VALUES), in order: from this byte of a stream on a repeated local time (PEP 495 `fold`)
is of this pass. Before: the first."""

NO_TIME = int(np.iinfo(np.int64).min)
"""Stands for a time that does not exist, such as February 31; numpy's own NaT."""

ORDINARY, FIRST_PASS, SECOND_PASS, AMBIGUOUS, GAP = range(5)
CLOCK_VALUES = (None, "first_pass", "second_pass", "ambiguous", "gap")
"""How a local time became UTC. `ambiguous`: of a repeated time, which pass is unknown; read as the first. `gap`: a
time that the zone's clocks skipped; read as if they had not been put forward yet."""

_MILLI = 1000
_SECOND = 1_000_000
_MINUTE = 60 * _SECOND
_DAY = 1440 * _MINUTE
_YEAR_1 = -719162 * _DAY  # what Python's and Spark's calendars can hold, with a day to spare for zones
_YEAR_9999 = 2932896 * _DAY


class Stamps(NamedTuple):
    """Times as written; `is_utc`: those that name their zone, or count from 1970, and so need no zone."""

    micros: Micros
    is_utc: Flags


# ---- reading --------------------------------------------------------------------------------------------------------
def micros_of(stamps: Sequence[bytes]) -> Stamps:
    """Time stamps in any of these forms, mixed as they come; NO_TIME for others and for times that do not exist.

    `2018-12-09 02:21:49`, a `T` for the blank, a fraction of 1 to 9 digits behind a comma, a point or a colon; behind
    that, maybe after a blank, `Z`, `UTC`, `GMT`, `+02`, `+0200` or `+02:00`. Digits only are milliseconds since 1970,
    digits with a point seconds.
    """
    n = len(stamps)
    if n == 0:
        return Stamps(np.zeros(0, np.int64), np.zeros(0, np.bool_))
    length = len(stamps[0])
    if length and set(map(len, stamps)) == {length}:  # most batches are of one form
        text = np.frombuffer(b"".join(stamps), np.uint8).reshape(n, length)
        if length == 23 and _is_usual(text).all():
            return Stamps(_local(text, 3), np.zeros(n, np.bool_))
        shapes = np.where(text - 48 < 10, np.uint8(48), text)
        if (shapes == shapes[0]).all():
            micros, are_utc = _of_shape(text, shapes[0].tobytes())
            return Stamps(micros, np.full(n, are_utc))
    micros, is_utc = np.full(n, NO_TIME, np.int64), np.zeros(n, np.bool_)
    rows_by_shape: dict[bytes, list[int]] = {}
    for row, stamp in enumerate(stamps):
        rows_by_shape.setdefault(stamp.translate(_SHAPE), []).append(row)
    for shape, rows in rows_by_shape.items():
        if shape:
            text = np.frombuffer(b"".join([stamps[row] for row in rows]), np.uint8).reshape(len(rows), len(shape))
            micros[rows], is_utc[rows] = _of_shape(text, shape)
    return Stamps(micros, is_utc)


def matrix_micros(text: Bytes) -> Micros:
    """`yyyy-MM-dd HH:mm:ss,SSS` texts as an (n, 23) matrix of bytes -> local times, or NO_TIME."""
    micros: Micros = np.where(_is_usual(text), _local(text, 3), NO_TIME)
    return micros


def local_micros(stamps: Sequence[bytes]) -> Micros:
    """`yyyy-MM-dd HH:mm:ss,SSS` texts, all 23 bytes long -> local times, or NO_TIME."""
    return matrix_micros(np.frombuffer(b"".join(stamps), np.uint8).reshape(len(stamps), 23))


_SHAPE = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else byte for byte in range(256))
_USUAL = [place for place, char in enumerate("0000-00-00 00:00:00,000") if char == "0"]
_DATED = late(
    rb"0000-00-00[ T]00:00:00(?:[.,:](?P<fraction>0{1,9}))?"
    rb"(?: ?(?P<zone>Z|UTC|GMT|(?P<sign>[+-])00(?P<minutes>:?00)?))?"
)
_COUNTED = late(rb"(?P<whole>0{1,15})(?:[.](?P<fraction>0{1,9}))?")


def _is_usual(text: Bytes) -> Flags:
    """Which rows are `yyyy-MM-dd HH:mm:ss,SSS`, with `T` or `.` as the case may be."""
    columns = np.ascontiguousarray(text.T)
    usual: Flags = np.all(columns[_USUAL] - 48 < 10, axis=0)  # bytes below "0" wrap around
    usual &= (columns[4] == 45) & (columns[7] == 45) & (columns[13] == 58) & (columns[16] == 58)
    usual &= ((columns[10] == 32) | (columns[10] == 84)) & ((columns[19] == 44) | (columns[19] == 46))
    return usual


def _number(columns: Bytes, start: int, end: int) -> Micros:
    """The decimal number in some columns."""
    kind = np.int32 if end - start < 10 else np.int64
    value = (columns[start] - 48).astype(kind)
    for place in range(start + 1, end):
        value = value * 10 + (columns[place] - 48)
    number: Micros = value.astype(np.int64, copy=False)
    return number


def _local(text: Bytes, fraction: int) -> Micros:
    """Rows `yyyy-MM-dd HH:mm:ss` with so many digits of a fraction behind -> times as written, or NO_TIME."""
    columns = np.ascontiguousarray(text.T)
    dates = _number(columns, 0, 4) * 10000 + _number(columns, 5, 7) * 100 + _number(columns, 8, 10)
    hour, minute, second = _number(columns, 11, 13), _number(columns, 14, 16), _number(columns, 17, 19)
    times = (hour * 3600 + minute * 60 + second) * _SECOND + _millis(columns, 20, fraction) * _MILLI
    there = (hour < 24) & (minute < 60) & (second < 60)
    if len(dates) and (dates == dates[0]).all():  # a log's dates seldom change
        days, which = _days(dates[:1]), np.zeros(1, np.int64)
    else:
        dates, which = np.unique(dates, return_inverse=True)
        days = _days(dates)
    day = days[which]
    return _held(np.where(there & (day != NO_TIME), day * _DAY + times, NO_TIME))


def _days(dates: Micros) -> Micros:
    """Numbers such as 20181209 -> days since 1970, or NO_TIME."""
    year, month, day = dates // 10000, dates // 100 % 100, dates % 100
    year = year - BUDDHIST_YEARS * ((year >= BUDDHIST_SINCE) & (year < BUDDHIST_UNTIL))
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype(np.int64) + day - 1
    there = (month >= 1) & (month <= 12) & (day >= 1)
    there &= days < (months + 1).astype("datetime64[D]").astype(np.int64)
    in_range: Micros = np.where(there, days, NO_TIME)
    return in_range


def _millis(columns: Bytes, start: int, digits: int) -> Micros:
    """Milliseconds of a fraction of so many digits."""
    digits_read = min(digits, 3)
    if digits_read == 0:
        return np.zeros(columns.shape[1], np.int64)
    return _number(columns, start, start + digits_read) * (100, 10, 1)[digits_read - 1]


def _of_shape(text: Bytes, shape: bytes) -> tuple[Micros, bool]:
    """Rows of one shape, `0` for each digit -> times, and whether they are UTC."""
    if m := _DATED.fullmatch(shape):
        micros = _local(text, len(m["fraction"] or b""))
        return (micros, False) if m["zone"] is None else (_less_offset(micros, text, m), True)
    if m := _COUNTED.fullmatch(shape):
        columns = np.ascontiguousarray(text.T)
        whole = _number(columns, 0, m.end("whole"))
        if m["fraction"] is None:
            return _held(whole * _MILLI), True
        if m.end("whole") <= 12:
            fraction = _millis(columns, m.start("fraction"), len(m["fraction"]))
            return _held(whole * _SECOND + fraction * _MILLI), True
    return np.full(len(text), NO_TIME, np.int64), False


def _less_offset(micros: Micros, text: Bytes, m: re.Match[bytes]) -> Micros:
    """Times less the offset that stands behind them; NO_TIME where it is none, beyond 18 hours (as Java has it)."""
    if m["sign"] is None:
        return micros
    columns = np.ascontiguousarray(text.T)
    hours = _number(columns, m.end("sign"), m.end("sign") + 2)
    minutes = _number(columns, m.end() - 2, m.end()) if m["minutes"] else np.zeros_like(hours)
    offset = (hours * 60 + minutes) * _MINUTE
    there = (micros != NO_TIME) & (minutes < 60) & (offset <= 18 * 60 * _MINUTE)
    return _held(np.where(there, micros + offset if m["sign"] == b"-" else micros - offset, NO_TIME))


def _held(micros: Micros) -> Micros:
    held: Micros = np.where((micros > _YEAR_1) & (micros < _YEAR_9999), micros, NO_TIME)
    return held


# ---- zones ----------------------------------------------------------------------------------------------------------
def to_utc(
    local: Micros,
    zone: str,
    offsets: npt.NDArray[np.int64] | None = None,
    clock_changes: ClockChanges | None = None,
    is_utc: Flags | None = None,
) -> tuple[Micros, ClockCodes]:
    """Local times -> UTC, and how each became it; zone by IANA name. NO_TIME stays.

    `offsets` are the records' byte offsets in their stream, `clock_changes` what `udfs.logs.dst.AmbiguousTimeFinder`
    found in it; without them a repeated time is ambiguous. `is_utc`: times that are UTC already.
    """
    clock = np.zeros(len(local), np.int8)
    if zone == "UTC":
        return local, clock
    there = local != NO_TIME if is_utc is None else (local != NO_TIME) & ~is_utc
    first, second = readings(local[there], zone)
    utc = local.copy()
    utc[there] = first
    if not (first == second).all():
        repeated, skipped = np.zeros_like(there), np.zeros_like(there)
        repeated[there], skipped[there] = second > first, second < first
        clock[skipped] = GAP
        if offsets is None or clock_changes is None:
            clock[repeated] = AMBIGUOUS
        else:
            passes = np.array([FIRST_PASS, *(clock_value for _, clock_value in clock_changes)], np.int8)
            begins = np.array([begin for begin, _ in clock_changes], np.int64)
            clock[repeated] = passes[np.searchsorted(begins, offsets[repeated], side="right")]
            late = clock[there] == SECOND_PASS
            utc[there] = np.where(late, second, first)
    return utc, clock


def readings(local: Micros, zone: str) -> tuple[Micros, Micros]:
    """Local times, none of them NO_TIME -> UTC by the clocks before and by those after a change nearby.

    Both are the same but for a repeated time, where the second is later, and a skipped one, where it is earlier.
    """
    if not len(local):
        return local, local
    days = local // _DAY
    if days.min() == days.max():  # most batches are of one day
        some, which = days[:1], np.zeros(len(days), np.int64)
    else:
        some, which = np.unique(days, return_inverse=True)
    offsets = [_offsets(zone, day) for day in some.tolist()]
    usual = np.array([offset[0][0] for offset in offsets], np.int64)
    first = local - (usual[0] if len(some) == 1 else usual[which])
    if all(len(offset[0]) == 1 for offset in offsets):
        return first, first
    second = first.copy()
    for number, (before, after) in enumerate(offsets):
        if len(before) > 1:
            rows = np.flatnonzero(which == number)
            minutes = local[rows] % _DAY // _MINUTE
            first[rows] = local[rows] - before[minutes]
            second[rows] = local[rows] - after[minutes]
    return first, second


@lru_cache(maxsize=65536)
def _offsets(zone: str, day: int) -> tuple[Micros, Micros]:
    """Offsets of a zone from UTC, microseconds, by minute of a local day: before and after a change nearby.

    One value each on a day without a change; zones change at whole minutes since 1972.
    """
    begin = _both(zone, day * 1440)
    if begin == _both(zone, day * 1440 + 1440):
        both = np.array([begin])
    else:
        both = np.array([_both(zone, day * 1440 + minute) for minute in range(1440)])
    return both[:, 0], both[:, 1]


def _both(zone: str, minute: int) -> tuple[int, int]:
    """The offsets by the clocks before and by those after a change that makes this minute come twice or not at all."""
    local = datetime.fromtimestamp(minute * 60, UTC).replace(tzinfo=ZoneInfo(zone))
    before, after = local.utcoffset(), local.replace(fold=1).utcoffset()
    assert before is not None
    assert after is not None
    return int(before.total_seconds()) * _SECOND, int(after.total_seconds()) * _SECOND


def has_repeats(zone: str, since: int, until: int) -> bool:
    """Whether a local time from `since` to `until` (microseconds) comes twice."""
    if zone == "UTC":
        return False
    for day in range(since // _DAY, until // _DAY + 1):
        before, after = _offsets(zone, day)
        if len(before) > 1:
            minutes = np.arange(max(since - day * _DAY, 0) // _MINUTE, min(until - day * _DAY, _DAY - 1) // _MINUTE + 1)
            if (before[minutes] > after[minutes]).any():
                return True
    return False
