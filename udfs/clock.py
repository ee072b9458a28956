"""Local log times carried to UTC (design, rule 4: the zone comes from conf, default UTC)."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

Micros = npt.NDArray[np.int64]


def local_micros(stamps: list[bytes]) -> Micros:
    """`yyyy-MM-dd HH:mm:ss,SSS` texts, all 23 bytes long -> microseconds since 1970 as if they were UTC."""
    if not stamps:
        return np.zeros(0, np.int64)
    digits = np.frombuffer(b"".join(stamps), np.uint8).reshape(len(stamps), 23).astype(np.int64) - 48

    def number(*places: int) -> Micros:
        value: Micros = digits[:, places[0]].copy()
        for place in places[1:]:
            value = value * 10 + digits[:, place]
        return value

    months = (number(0, 1, 2, 3) - 1970) * 12 + number(5, 6) - 1
    days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + number(8, 9) - 1
    seconds = days * 86400 + number(11, 12) * 3600 + number(14, 15) * 60 + number(17, 18)
    return (seconds * 1000 + number(20, 21, 22)) * 1000


@lru_cache(maxsize=65536)
def _offset_micros(zone: str, quarter: int) -> int:
    """Offset of a zone from UTC, microseconds, at a quarter of an hour of local time; the first of two in a fold."""
    local = datetime.fromtimestamp(quarter * 900, timezone.utc).replace(tzinfo=ZoneInfo(zone))
    offset = local.utcoffset()
    return 0 if offset is None else int(offset.total_seconds()) * 1_000_000


def to_utc(local: Micros, zone: str) -> Micros:
    """Local microseconds -> UTC microseconds; zone by IANA name. A repeated hour is read as its first pass."""
    if zone == "UTC":
        return local
    quarters, where = np.unique(local // 900_000_000, return_inverse=True)
    return local - np.array([_offset_micros(zone, int(q)) for q in quarters], np.int64)[where]
