"""Where in a plain file the records of a window of time are: by bisection, and a search that proves it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from jobs.merge.log import Log
from jobs.merge.request import local_time
from udfs.merge.times import as_text, stamp_prefixes
from udfs.merge.usual_layout import BYTES_BEHIND, stamped, starts_from

_SMALL_BYTES = 4 << 20  # files up to that many bytes are read whole
_PROBE_BYTES = 64 << 10
_SEARCHED_AT_ONCE = 256 << 10
_MARGIN = 60_000_000
"""Microseconds that a record may be out of place where nothing proves the order."""


def ranges_of(
    log: Log, since: int | None, until: int | None, zone: str, slack: int, *, trust: bool
) -> list[tuple[int, int | None]]:
    """Ranges of a plain file of the usual layout that hold all records from `since` to `until`, UTC, inclusive.

    `slack`: microseconds by which its times may be corrected. With `trust` the file is taken to be in order, but for
    one minute. Otherwise what is left out is searched for the first characters of all time stamps in the window, so
    that a record far from its place is not missed.
    """
    whole: list[tuple[int, int | None]] = [(0, None)]
    if log.size <= _SMALL_BYTES:
        return whole
    with log.open() as file:
        sample = file.read(_PROBE_BYTES)
    if stamped(sample, sample.rfind(b"\n", 0, len(sample) - BYTES_BEHIND) + 1) is None:
        return whole
    first, last = _local_bounds(since, until, zone, slack + (_MARGIN if trust else 0))
    prefixes = [] if first is None or last is None else [text.encode() for text in stamp_prefixes(first, last)]
    if not prefixes and not trust:
        return whole
    low = prefixes[0] if prefixes else as_text(first).encode() if first is not None else b""
    high = prefixes[-1] if prefixes else as_text(last).encode() if last is not None else b"~"
    with log.open() as file:
        begin = _first_from(file, log.size, low, is_after=False)
        end = _first_from(file, log.size, high, is_after=True)
        end = max(begin, end)
        if not trust:
            begin, end = _widened(file, log.size, begin, end, prefixes)
    return [(begin, None if end >= log.size else end)] if begin < end else []


def _local_bounds(since: int | None, until: int | None, zone: str, slack: int) -> tuple[int | None, int | None]:
    """A window as the zone's clocks show it, as wide as it can be: an hour that comes twice is in it both times."""
    day = 86_400_000_000
    offsets = [local_time(at + d, zone) - at - d for at in (since, until) if at is not None for d in (-day, 0, day)]
    first = None if since is None else since + min(offsets) - slack
    return first, None if until is None else until + max(offsets) + slack


def _first_from(file: BinaryIO, size: int, text: bytes, *, is_after: bool) -> int:
    """Where the first record starts whose stamp does not come before the text, or with `is_after` comes after all that
    begin with it; the file's size if there is none. Right if the file is in order.
    """
    low, high = 0, size  # what starts before `low` comes before, what starts from `high` on does not
    while high - low > _PROBE_BYTES:
        middle = (low + high) // 2
        start, stamp = next(starts_from(file, middle, high), (high, b""))
        if start >= high or _is_reached(stamp, text, is_after):
            high = middle
        else:
            low = start + 1
    starts = (start for start, stamp in starts_from(file, low, size) if _is_reached(stamp, text, is_after))
    return next(starts, size)


def _is_reached(stamp: bytes, text: bytes, is_after: bool) -> bool:
    begin = stamp[: len(text)]
    return begin > text if is_after else begin >= text


def _widened(file: BinaryIO, size: int, begin: int, end: int, prefixes: list[bytes]) -> tuple[int, int]:
    """The range with all records outside of it whose stamps begin with one of the texts."""
    before = [at for text in prefixes for at in _first_and_last(file, 0, begin, b"[" + text)]
    behind = [at for text in prefixes for at in _first_and_last(file, end, size, b"[" + text)]
    if behind:
        end, _ = next(starts_from(file, max(behind) + 1, size), (size, b""))
    return min([begin, *before]), end


def _first_and_last(file: BinaryIO, begin: int, end: int, text: bytes) -> Iterator[int]:
    """Where a text stands for the first and for the last time in a part of the file; nothing if nowhere."""
    first = last = -1
    data, at = bytearray(_SEARCHED_AT_ONCE + len(text)), begin
    with memoryview(data) as view:
        while at < end:
            file.seek(at)
            size = file.readinto(view[: min(len(data), end + len(text) - at)])  # type: ignore[attr-defined]  # raw
            if not size:
                break
            hit = data.rfind(text, 0, size)
            if hit >= 0:
                first = at + data.find(text, 0, size) if first < 0 else first
                last = at + hit
            at += min(size, _SEARCHED_AT_ONCE)
    if first >= 0:
        yield from (first, last)
