"""Local log times carried to UTC (design, rule 4: the zone comes from conf, default UTC)."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

Micros = npt.NDArray[np.int64]

NO_TIME = int(np.iinfo(np.int64).min)
"""Stands for a time that does not exist, such as February 31; numpy's own NaT."""

_MINUTE = 60_000_000
_YEAR_1 = -719162 * 1440 * _MINUTE  # what Python's and Spark's calendars can hold, with a day to spare for zones
_YEAR_9999 = 2932896 * 1440 * _MINUTE


def local_micros(stamps: list[bytes]) -> Micros:
    """`yyyy-MM-dd HH:mm:ss,SSS` texts, all 23 bytes long -> microseconds since 1970 as if they were UTC, or NO_TIME."""
    if not stamps:
        return np.zeros(0, np.int64)
    digits = np.frombuffer(b"".join(stamps), np.uint8).reshape(len(stamps), 23).astype(np.int64) - 48

    def number(*places: int) -> Micros:
        value: Micros = digits[:, places[0]].copy()
        for place in places[1:]:
            value = value * 10 + digits[:, place]
        return value

    month, day, hour, minute, second = number(5, 6), number(8, 9), number(11, 12), number(14, 15), number(17, 18)
    months = ((number(0, 1, 2, 3) - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype(np.int64) + day - 1
    micros = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + number(20, 21, 22) * 1000
    there = (month >= 1) & (month <= 12) & (day >= 1) & (hour < 24) & (minute < 60) & (second < 60)
    there &= days < (months + 1).astype("datetime64[D]").astype(np.int64)
    return _held(np.where(there, micros, NO_TIME))


def epoch_micros(stamps: list[bytes]) -> Micros:
    """Digits of milliseconds since 1970 -> microseconds since 1970, or NO_TIME."""
    return _held(np.array([int(ms) * 1000 if len(ms) < 16 else NO_TIME for ms in stamps], np.int64))


def _held(micros: Micros) -> Micros:
    held: Micros = np.where((micros > _YEAR_1) & (micros < _YEAR_9999), micros, NO_TIME)
    return held


@lru_cache(maxsize=65536)
def _offset_micros(zone: str, minute: int) -> int:
    """Offset of a zone from UTC, microseconds, at a minute of local time; the first of two in a fold."""
    local = datetime.fromtimestamp(minute * 60, UTC).replace(tzinfo=ZoneInfo(zone))
    offset = local.utcoffset()
    return 0 if offset is None else int(offset.total_seconds()) * 1_000_000


def to_utc(local: Micros, zone: str) -> Micros:
    """Local microseconds -> UTC microseconds; zone by IANA name. NO_TIME stays.

    A repeated hour is read as its first pass; a time that the clocks skipped as if they had not been put forward yet.
    """
    if zone == "UTC":
        return local
    utc = local.copy()
    there = local != NO_TIME
    minutes, where = np.unique(local[there] // _MINUTE, return_inverse=True)
    utc[there] -= np.array([_offset_micros(zone, int(m)) for m in minutes], np.int64)[where]
    return utc
