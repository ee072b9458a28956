"""Times on a command line, in the forms that people copy out of logs.

A time without a zone is meant as it stands in the logs. Short ones are the begin of their day, minute or second.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from udfs.rules.regex import late

_TIME = r"(?P<time>\d\d:\d\d(?::\d\d)?)(?:(?:\.(?=\d{1,9}(?!\d))|,(?=(?:\d{3}){1,3}(?!\d)))(?P<fraction>\d+))?"
"""With a fraction of the second: behind a comma as logs write it, since `,3` is 3 ms to StateChangeLogMerger."""
_DATED = late(rf"(?P<date>\d{{4}}-\d\d-\d\d)(?:[ T]{_TIME})? ?(?P<zone>Z|UTC|[+-]\d\d:?\d\d)?")
_CLOCK = late(_TIME)
_AGO = late(r"-(?P<span>(?:\d+[smhd])+)")
_SPAN = late(r"(\d+)(ms|s|m|h|d)")
_MILLIS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_NO_BOUND = ("0000-00-00 00:00:00,000", "9999-12-31 23:59:59,999")
"""The bounds that StateChangeLogMerger had by default."""

TIME_EXAMPLES = "2026-11-21 02:14:03,250, 2026-11-21T02:14, 02:14:03.5, 02:14 or -3h"


@dataclass(frozen=True)
class Moment:
    """A time of the command line, in microseconds: of the logs' own clock, or UTC if it has a zone.

    `clock` and `ago` are times whose day is only known with the logs: the last such time of day in them, or so long
    before the last record.
    """

    local: int | None = None
    utc: int | None = None
    clock: int | None = None
    ago: int | None = None

    @property
    def is_relative(self) -> bool:
        """Whether the last record's time is needed."""
        return self.clock is not None or self.ago is not None

    def before(self, last: int, first: int | None = None) -> Moment:
        """The same as a local time, if `last` is that of the last record, and `first` that of the first one.

        A time of day that is not between them is the one that is nearer to the logs: behind their end, or before their
        begin. Without `first` it is before their end in any case.

        >>> Moment(clock=2 * 3_600_000_000).before(25 * 3_600_000_000)
        Moment(local=7200000000, utc=None, clock=None, ago=None)
        """
        day = 86_400_000_000
        if self.ago is not None:
            return Moment(local=last - self.ago)
        if self.clock is not None:
            behind = last // day * day + self.clock
            behind += 0 if behind > last else day
            before = behind - day
            is_nearer_behind = first is not None and before < first and behind - last < first - before
            return Moment(local=behind if is_nearer_behind else before)
        return self


def moment(text: str) -> Moment | None:
    """The time that a text means; None for a bound that is none. Raises ValueError with what is expected.

    >>> moment(" 2026-11-21 02:14 ").local == moment("2026-11-21T02:14:00.000").local
    True
    """
    stripped = text.strip(" \"'")
    if stripped in _NO_BOUND:
        return None
    try:
        if m := _DATED.fullmatch(stripped):
            at = datetime.fromisoformat(f"{m['date']}T{m['time'] or '00:00'}")
            zone = m["zone"]
            if zone:
                zone = "+00:00" if zone in ("Z", "UTC") else zone
                at = datetime.fromisoformat(f"{at.isoformat()}{zone}")
                return Moment(utc=_micros(at) + _fraction(m["fraction"]))
            return Moment(local=_micros(at.replace(tzinfo=UTC)) + _fraction(m["fraction"]))
        if m := _CLOCK.fullmatch(stripped):
            at = datetime.fromisoformat(f"1970-01-01T{m['time']}+00:00")
            return Moment(clock=_micros(at) + _fraction(m["fraction"]))
    except ValueError:
        raise ValueError(f"{stripped!r} does not exist; give a time such as {TIME_EXAMPLES}") from None
    if m := _AGO.fullmatch(stripped):
        return Moment(ago=span(m["span"]))
    raise ValueError(f"{stripped!r} is no time that is understood; give one such as {TIME_EXAMPLES}")


def span(text: str) -> int:
    """Microseconds of `90s`, `5m`, `1h30m` or `250ms`. Raises ValueError."""
    parts = _SPAN.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is no span of time; give one such as 90s, 5m or 1h30m")
    return sum(int(number) * _MILLIS[unit] for number, unit in parts) * 1000


def _micros(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _fraction(digits: str | None) -> int:
    return int(digits.ljust(6, "0")[:6]) if digits else 0


def as_text(micros: int, separator: str = ",") -> str:
    """`2026-11-21 02:14:03,250`, as logs write it; times outside of the calendar as a number."""
    try:
        at = datetime(1970, 1, 1) + timedelta(microseconds=micros)
    except OverflowError:
        return str(micros)
    return f"{at:%Y-%m-%d %H:%M:%S}{separator}{at.microsecond // 1000:03d}"


def stamp_prefixes(since: int, until: int) -> list[str]:
    """Few texts with one of which each stamp in a window begins, such as `2026-11-21 02:1`; local times, inclusive.

    >>> stamp_prefixes(0, 179_999_000), stamp_prefixes(0, 86_400_000_000)
    (['1970-01-01 00:0'], ['1970-01-01', '1970-01-02'])
    """
    first, last = as_text(since), as_text(until)
    for length, step in ((16, 60), (15, 600), (13, 3600), (12, 36_000), (10, 86_400)):
        prefixes = [first[:length]]
        at = since
        while at < until and len(prefixes) <= 2:
            at = min(at + step * 1_000_000, until)
            text = as_text(at)[:length]
            if text != prefixes[-1]:
                prefixes.append(text)
        if len(prefixes) <= 2 and prefixes[-1] == last[:length]:
            return prefixes
    return []
