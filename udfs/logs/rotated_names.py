"""Names of rotated files against what is in them: `state-change.log.2026-11-21-04` has the hour by the clock of whoever
named the file, its records have it by the clock of their writer.

One process does both by one clock, and then a name is the hour of the file's first record, or an earlier one: where
several processes rotate one log, where it was quiet, or after a restart, names lag behind, by any number of hours.
They never run ahead. So names that are ahead, most of them by the same span, are another zone's; names that lag are
only if most of many do by the same span and none by less, and if that span is the usual hour, all. (Of 136 such names
of public logs 43 lag behind, 11 of one node's 16 by one hour, and none is ahead.)
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from udfs.logs.years import western_year

AHEAD = 3
"""Files of other hours that it takes for names that are ahead."""
BEHIND = 6
"""And for names that lag."""

_QUARTER = timedelta(minutes=15)  # the offsets of all zones are whole quarters of an hour
_FARTHEST = timedelta(hours=26)  # between two zones
_USUAL_LAG = timedelta(hours=1)
_NAME = re.compile(r"[._-](\d{4})-(\d\d)-(\d\d)(?:-(\d\d))?(?=$|[^0-9:-])")


class RotatedFile(NamedTuple):
    """A stream whose file was rotated by the hour or day."""

    node: str  # `broker 2`
    path: str
    first_at: datetime | None  # UTC, of the records; None: no time
    last_at: datetime | None
    zone: str  # in which their local times were read; empty: they name their zone themselves


@dataclass(frozen=True)
class ZoneMismatch:
    """A node whose file names are of another zone: `ahead` is the names' time less the records'."""

    node: str
    zone: str
    ahead: timedelta
    files: int


def named_time(path: str) -> tuple[datetime, timedelta] | None:
    """Begin and length of the hour or day in a rotated file's name; None if it has none.

    >>> named_time("logs/state-change.log.2026-11-21-04.gz")
    (datetime.datetime(2026, 11, 21, 4, 0), datetime.timedelta(seconds=3600))
    """
    dates = _NAME.findall(path.replace("\\", "/").rsplit("/", 1)[-1])
    if not dates:
        return None
    year, month, day, hour = dates[-1]
    try:
        begin = datetime(western_year(int(year)), int(month), int(day), int(hour or 0))
    except ValueError:  # no date
        return None
    return begin, timedelta(hours=1 if hour else 24)


def shifts(path: str, first: datetime, last: datetime) -> list[timedelta] | None:
    """By how much a name can be ahead of its records' local times, in quarters of an hour, so that they fit into it.

    None if the name has no time or the records are of a longer one: then they prove nothing.
    """
    named = named_time(path)
    if named is None:
        return None
    begin, length = named
    least, most = begin - first, begin + length - last
    if most <= least:
        return None
    quarters = range(-(-least // _QUARTER), -(-most // _QUARTER))  # least <= quarter < most
    return [n * _QUARTER for n in quarters] if abs(least) <= _FARTHEST else []


def zone_mismatches(files: Iterable[RotatedFile]) -> list[ZoneMismatch]:
    """The nodes of one cluster whose file names contradict their zone, by name."""
    by_node: defaultdict[tuple[str, str], dict[datetime, list[set[timedelta]]]] = defaultdict(dict)
    for file in files:
        if file.first_at is None or file.last_at is None or not file.zone:
            continue
        fits = shifts(file.path, _local(file.first_at, file.zone), _local(file.last_at, file.zone))
        named = named_time(file.path)
        if fits is not None and named is not None:
            by_node[file.node, file.zone].setdefault(named[0], []).append(set(fits))
    mismatches = []
    for (node, zone), by_time in sorted(by_node.items()):
        votes = [fits for some in by_time.values() for fits in some]
        ahead = _agreed(votes)
        if ahead is None:
            continue
        times = sum(any(ahead in fits for fits in some) for some in by_time.values())
        agree = sum(ahead in fits for fits in votes)
        if ahead > timedelta(0):
            is_zone = times >= AHEAD and 2 * agree > len(votes)
        else:  # lags come on top of a zone's
            nearer = any(min(fits) > ahead for fits in votes if fits)
            enough = len(votes) if ahead >= -_USUAL_LAG else len(votes) // 2 + 1
            is_zone = times >= BEHIND and agree >= enough and not nearer
        if is_zone:
            mismatches.append(ZoneMismatch(node, zone, ahead, agree))
    return mismatches


def contradictions(files: Iterable[RotatedFile]) -> list[str]:
    """`zone_mismatches` as sentences."""
    return [_sentence(mismatch) for mismatch in zone_mismatches(files)]


def _sentence(mismatch: ZoneMismatch) -> str:
    """`broker 2's file names are 2 h ahead of its time stamps (9 files): ...`."""
    side = "ahead of" if mismatch.ahead > timedelta(0) else "behind"
    return (
        f"{mismatch.node}'s file names are {_length(abs(mismatch.ahead))} {side} its time stamps "
        f"({mismatch.files} files): its zone is probably not {mismatch.zone}; see time_zone in conf"
    )


def _agreed(votes: list[set[timedelta]]) -> timedelta | None:
    """The shift that fits most names, whole hours first, then the smallest; None if most names fit as they are."""
    counts = Counter(shift for fits in votes for shift in fits)
    if not counts or 2 * counts[timedelta(0)] >= len(votes):
        return None
    return max(counts, key=lambda s: (counts[s], s % timedelta(hours=1) == timedelta(0), -abs(s), s))


def _local(at: datetime, zone: str) -> datetime:
    """A time on the zone's clock; of a repeated one either pass."""
    return at.replace(tzinfo=ZoneInfo("UTC")).astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def _length(span: timedelta) -> str:
    """`2 h`, `5 h 30 min`."""
    hours, minutes = divmod(span // timedelta(minutes=1), 60)
    return " ".join([f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(minutes))
