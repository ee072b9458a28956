"""Times as platforms and other layouts print them, carried to the stamp that Kafka's own lines have."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from udfs.logs.timestamps import NO_TIME, micros_of
from udfs.rules.regex import late

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = "(?:" + "|".join(_MONTHS) + ")[a-z]*"
_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,:]\d{1,9})?(?: ?[ap]m\b)?"
ZONES = {
    "Z": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "EST": -5,
    "EDT": -4, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11,
    "NZST": 12, "NZDT": 13,
}  # fmt: skip
"""Names of zones that Java prints for one offset from UTC alone, hours; `CST`, `IST` and `BST` have several."""
_NAMES = "|".join(sorted(ZONES, key=len, reverse=True)).lower()
_ZONED = rf"(?:(?:utc|gmt)?[+-]\d\d(?::?\d\d)?|(?:utc|gmt)[+-]\d|{_NAMES})(?![a-z0-9]|[+-]\d)"
_ZONE = rf"(?: ?{_ZONED})?"
_FORMS = (
    rf"\d{{4}}[-/.]\d\d[-/.]\d\d(?:t| +|_){_CLOCK}{_ZONE}",
    rf"(?<!\d)20\d{{6}}t\d{{6}}(?:[.,]\d{{1,9}})?{_ZONE}",  # log4j's COMPACT
    rf"\d{{1,2}}/{_MONTH}/\d{{4}}[: ]{_CLOCK}{_ZONE}",  # common log format
    rf"\d{{1,2}}[ -]{_MONTH}[ -]\d{{4}},? {_CLOCK}{_ZONE}",
    rf"(?:[a-z]{{3}},? )?{_MONTH} +\d{{1,2}},? \d{{4}},?(?: @)? {_CLOCK}{_ZONE}",  # Kibana
    rf"[a-z]{{3}} {_MONTH} +\d{{1,2}} {_CLOCK} {_ZONED} \d{{4}}",  # date(1)
    r"\d{1,2}/\d{1,2}/\d{4},? \d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})? ?[ap]m\b(?: ?(?:utc|gmt))?",  # Azure
)
_COUNTS = r"\d{10}\.\d{1,9}|\d{13}(?:\d{3}(?:\d{3})?)?"
DATED = "(?i:" + "|".join(_FORMS) + rf")|(?<![\w.])(?:{_COUNTS})(?![\w.-])"
"""Regular expression of a moment: a date with a time, or a number since 1970 (seconds with a fraction, ms, us, ns)."""
_PARTS = late(
    rf"(?:(?P<y>\d{{4}})[-/.](?P<mo>\d\d)[-/.](?P<d>\d\d)"
    rf"|(?P<d2>\d{{1,2}})[ /-](?P<mo2>{_MONTH})[ /-](?P<y2>\d{{4}})"
    rf"|(?:[a-z]{{3}},? )?(?P<mo3>{_MONTH}) +(?P<d3>\d{{1,2}})(?:,? (?P<y3>\d{{4}}))?"
    r"|(?P<mo4>\d{1,2})/(?P<d4>\d{1,2})/(?P<y4>\d{4}))"
    r"(?:[t:,_ ]| @)+(?P<h>\d{1,2}):(?P<mi>\d\d):(?P<s>\d\d)(?:[.,:](?P<f>\d{1,9}))?(?: ?(?P<half>[ap])m)?"
    rf" ?(?P<zone>{_ZONED})?(?: (?P<y5>\d{{4}}))?",
    re.IGNORECASE,
)
_COMPACT = late(r"\A(20\d\d)(\d\d)(\d\d)[Tt](\d\d)(\d\d)(\d\d)(?!\d)")
_COUNTED = late(_COUNTS + r"|\d{10}|-?\d{1,18}(?:\.\d+)?(?:e[+-]?\d+)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST = 1e20  # nanoseconds of what has fewer seconds than 12 digits
_CENTURY = (1e9, 4_102_444_800)  # seconds: from 2001 to 2099


def stamp(text: str) -> str | None:
    """A moment as `2024-02-29 23:59:59,999`, with the zone behind it if it names one; None if it is none.

    >>> stamp("Feb 29, 2024 @ 23:59:59.999"), stamp("29/Feb/2024:23:59:59 +0100"), stamp("1709251199999")
    ('2024-02-29 23:59:59,999', '2024-02-29 23:59:59,000+0100', '2024-02-29 23:59:59,999Z')
    """
    text = text.strip()
    if _COUNTED.fullmatch(text):
        return _counted(text)
    m = _PARTS.fullmatch(_COMPACT.sub(r"\1-\2-\3T\4:\5:\6", text))
    if m is None:
        return None
    part = m.groupdict()
    year = next((part[name] for name in ("y", "y2", "y3", "y4", "y5") if part[name]), None)
    month = next(part[name] for name in ("mo", "mo2", "mo3", "mo4") if part[name])
    day = next(part[name] for name in ("d", "d2", "d3", "d4") if part[name])
    if year is None:
        return None
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
    hour = int(part["h"]) % 12 + 12 * (part["half"] in ("p", "P")) if part["half"] else int(part["h"])
    millis = (part["f"] or "").ljust(3, "0")[:3]
    return f"{year}-{number:02}-{int(day):02} {hour:02}:{part['mi']}:{part['s']},{millis}{_offset(part['zone'] or '')}"


def _offset(zone: str) -> str:
    """`+0200` for each way to write a zone; `Z` for UTC, empty if none is written."""
    zone = zone.upper()
    if zone in ZONES:
        return f"{ZONES[zone]:+03}00" if ZONES[zone] else "Z"
    sign, digits = zone.lstrip("UTCGM")[:1], zone.lstrip("UTCGM+-").replace(":", "")
    return sign + digits.zfill(2).ljust(4, "0") if zone else ""


def _counted(text: str) -> str | None:
    """Seconds, milliseconds, microseconds or nanoseconds since 1970, by how many there are; this century's only."""
    try:
        number = float(text) if not text.isdigit() else int(text)
        if not abs(number) < _MOST:  # an id such as `12e4567` is infinite
            return None
        while abs(number) >= 1e11:
            number = number // 1000 if isinstance(number, int) and number >= 10**14 else number / 1000
        at = _EPOCH + timedelta(milliseconds=round(number * 1000, 3) // 1)
    except (ValueError, OverflowError):
        return None
    return at.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3] + "Z" if _CENTURY[0] < number < _CENTURY[1] else None


_INNER = late(rb"(?<!\d)\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,:]\d{1,9})?(?P<zone> ?(?:Z|UTC|GMT|[+-]\d\d))?")
_REACH = 200  # bytes of a line in which its own time begins
_MINUTE = 60_000_000
_QUARTER = 15 * _MINUTE
_EARLY, _LATE = _MINUTE // 12, 2 * _MINUTE
_BROKEN_HOURS = (-9.5, -3.5, -2.5, 3.5, 4.5, 5.5, 5.75, 6.5, 8.75, 9.5, 10.5, 12.75, 13.75)
_OFFSETS = frozenset(4 * hours for hours in range(-12, 15)) | {round(4 * hours) for hours in _BROKEN_HOURS}
"""In quarters of an hour, the offsets from UTC that some zone has today (IANA's tz database, 2024)."""


class ZoneOfLines:
    """Finds out by which zone a line's own time is written, from the time that its wrapper tells with a zone.

    A wrapper notes a line within two minutes, and a zone is one of `_OFFSETS` from UTC; a line that was noted later, or
    by a clock that is no zone's, has the offset of the line before it, but if each is to stand `alone`.
    """

    def __init__(self, alone: bool = False) -> None:
        self._alone = alone
        self._offset: int | None = None  # quarters of an hour

    def with_offset(self, line: bytes, outer: str) -> bytes:
        """The line, its offset from UTC written behind its time if one is known."""
        m = _INNER.search(line, 0, _REACH)
        if m is None or m["zone"]:
            return line
        quarters = _quarters(m[0], outer)
        if quarters is not None or self._alone:
            self._offset = quarters
        if self._offset is None:
            return line
        hours, rest = divmod(abs(self._offset), 4)
        return line[: m.end()] + b"%c%02d%02d" % (b"-+"[self._offset >= 0], hours, rest * 15) + line[m.end() :]


@lru_cache(maxsize=4096)
def _outer_micros(outer: str) -> int:
    at = stamp(outer)
    micros, is_utc = micros_of([at.encode() if at else b""])
    return int(micros[0]) if is_utc[0] else NO_TIME


def _quarters(inner: bytes, outer: str) -> int | None:
    """By how many quarters of an hour a local time is ahead of a moment; None if that is not plain."""
    utc, local = _outer_micros(outer), int(micros_of([inner])[0][0])
    if NO_TIME in (utc, local):
        return None
    quarters = -((utc - local + _EARLY) // _QUARTER)
    late_by = utc - (local - quarters * _QUARTER)
    return quarters if -_EARLY <= late_by <= _LATE and quarters in _OFFSETS else None
