"""How incidents are put into words: times, lengths, names, and numbers of things."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


def at_text(us: int, day_of: int | None = None) -> str:
    """Microseconds since 1970 as `11:46:45.467`, with the date unless it is that of another time.

    >>> at_text(1795261605467000), at_text(1795261605467000, 1795261600000000)
    ('2026-11-21 11:46:45.467', '11:46:45.467')
    """
    time = _FIRST + timedelta(microseconds=us)
    text = time.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    return text[11:] if day_of is not None and (_FIRST + timedelta(microseconds=day_of)).date() == time.date() else text


def length_text(ms: float) -> str:
    """`14 ms`, `17.8 s`, `3 min 20 s`, `2 h 5 min`."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    return f"{minutes} min {int(seconds % 60)} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def bounds_text(least_ms: float, most_ms: float | None) -> str:
    """`17.8 s`; where it is not known, what is sure: `at least 2.0 s, at most 17.4 s`, `an unknown time`."""
    if least_ms == most_ms:
        return length_text(least_ms)
    bounds = [f"at least {length_text(least_ms)}"] if least_ms else []
    bounds += [f"at most {length_text(most_ms)}"] if most_ms is not None else []
    return ", ".join(bounds) or "an unknown time"


def count_text(count: int, noun: str) -> str:
    """`1 partition`, `1,200 partitions`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def brokers_text(brokers: Iterable[int]) -> str:
    """`broker 3`, `brokers 0, 3 and 4`."""
    ids = [str(broker) for broker in brokers]
    return f"broker{'' if len(ids) == 1 else 's'} {listed_text(ids)}"


def listed_text(texts: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    every = list(texts)
    return " and ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)


def names_text(names: Iterable[str], count: int) -> str:
    """The names of some of so many: `a-1, b-0 and 4 more`, of all of them `a-1 and b-0`."""
    some = list(names)
    rest = count - len(some)
    return f"{', '.join(some)} and {rest:,} more" if rest > 0 else listed_text(some)
