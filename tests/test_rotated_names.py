"""Hourly file names that are another zone's are noticed; the usual lag of names is not."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from udfs.logs.rotated_names import RotatedFile, contradictions, named_time, shifts

HOUR = timedelta(hours=1)

NAMES = {  # path -> begin, hours
    "state-change.log.2026-11-21-04": (datetime(2026, 11, 21, 4), 1),
    "/logs.2020-01-01-01/server.log.2026-11-21-23.gz": (datetime(2026, 11, 21, 23), 1),
    "b.tar.gz!/broker-2/controller.log.2026-11-21": (datetime(2026, 11, 21), 24),
    "server-2026-11-21-04.log": (datetime(2026, 11, 21, 4), 1),
    "stage-change.log.2026-11-21-04.1": (datetime(2026, 11, 21, 4), 1),
    "server.log.2569-11-21-04": (datetime(2026, 11, 21, 4), 1),  # where the locale is Thai
    "logs.2026-11-21-04/server.log": None,
    "server.log": None,
    "server.log.1": None,
    "server.log.2026-13-21-04": None,
    "server.log.2026-11-21-24": None,
    "server.log.2026-11-21-0400": None,
}


@pytest.mark.parametrize("path", NAMES)
def test_names(path: str) -> None:
    expected = NAMES[path]
    assert named_time(path) == (expected and (expected[0], expected[1] * HOUR))


DAY = "2026-11-21 "
SHIFTS: dict[
    str, tuple[str, str, str, list[float] | None]
] = {  # name, first and last local time -> minutes by which the name can be ahead
    "a full hour": ("x.log.2026-11-21-04", "04:00:01", "04:59:58", [0]),
    "of a zone two hours behind": ("x.log.2026-11-21-04", "02:00:01", "02:59:58", [120]),
    "of a zone five and a half hours behind": ("x.log.2026-11-21-12", "06:30:01", "07:29:58", [330]),
    "a name that lags": ("x.log.2026-11-21-04", "05:00:01", "05:59:58", [-60]),
    "few records": ("x.log.2026-11-21-04", "04:20:00", "04:40:00", [-15, 0, 15]),
    "more than the hour": ("x.log.2026-11-21-04", "03:50:00", "04:55:00", None),
    "a day": ("x.log.2026-11-21", "00:00:10", "23:59:50", [0]),
    "no name": ("x.log", "04:00:01", "04:59:58", None),
}


@pytest.mark.parametrize("case", SHIFTS)
def test_shifts(case: str) -> None:
    path, first, last, expected = SHIFTS[case]
    deltas = shifts(path, datetime.fromisoformat(DAY + first), datetime.fromisoformat(DAY + last))
    assert (None if deltas is None else [shift / timedelta(minutes=1) for shift in deltas]) == expected


def files(node: str, lags: list[float], zone: str = "UTC", utc_ahead: float = 0) -> list[RotatedFile]:
    """One full hour each, with names that lag so many hours behind the records' time; -2: they are 2 h ahead.

    `utc_ahead` is how many hours UTC is ahead of the local time.
    """
    rows = []
    for i, lag in enumerate(lags):
        hour = datetime(2026, 11, 21, 6) + 2 * i * HOUR
        name = f"{node}/server.log.{hour - lag * HOUR:%Y-%m-%d-%H}"
        begin = hour + utc_ahead * HOUR
        rows.append(
            RotatedFile(node, name, begin + timedelta(seconds=2), begin + timedelta(minutes=59, seconds=50), zone)
        )
    return rows


SEEN = {  # files -> sentences
    "all right": (files("broker 1", [0] * 10), []),
    "two hours ahead": (
        files("broker 1", [0] * 5) + files("broker 2", [-2, -2, -2]),
        [
            "broker 2's file names are 2 h ahead of its time stamps (3 files): its zone is probably "
            "not UTC; see time_zone in conf"
        ],
    ),
    "most of them ahead, one lags behind that": (
        files("broker 2", [-2, -2, -1, -2]),
        [
            "broker 2's file names are 2 h ahead of its time stamps (3 files): its zone is probably "
            "not UTC; see time_zone in conf"
        ],
    ),
    "two are too few": (files("broker 2", [-2, -2]), []),
    "three ahead, but most lag": (files("broker 2", [-2, -2, -2, 1, 2, 3, 4]), []),
    "ahead by this and that": (files("broker 2", [-2, -5, -1, -3]), []),
    "six that all lag by one span": (
        files("broker 2", [7] * 6),
        [
            "broker 2's file names are 7 h behind its time stamps (6 files): its zone is probably not "
            "UTC; see time_zone in conf"
        ],
    ),
    "most lag by seven hours, the others by more": (
        files("broker 2", [7, 7, 8, 7, 7, 12, 7, 7]),
        [
            "broker 2's file names are 7 h behind its time stamps (6 files): its zone is probably not "
            "UTC; see time_zone in conf"
        ],
    ),
    "most lag by seven hours, but one by less": (files("broker 2", [7, 7, 7, 7, 7, 7, 3]), []),
    "most lag by one hour, the others by more": (files("broker 2", [1, 1, 2, 1, 1, 1, 1]), []),
    "as they lag in the wild": (files("broker 2", [1, 1, 2, 1, 1, 1, 15, 1, 1, 0, 0]), []),
    "five that all lag by one hour": (files("broker 2", [1] * 5), []),
    "six, but one of them is right": (files("broker 2", [1, 1, 1, 0, 1, 1, 1]), []),
    "right in their zone": (files("broker 2", [0] * 6, "America/New_York", utc_ahead=5), []),
    "names in UTC, records in another zone": (
        files("broker 2", [-5] * 3, "America/New_York", utc_ahead=5),
        [
            "broker 2's file names are 5 h ahead of its time stamps (3 files): its zone is probably "
            "not America/New_York; see time_zone in conf"
        ],
    ),
    "records that name their zone": (files("broker 2", [-2] * 6, ""), []),
    "no records": (
        [RotatedFile("broker 2", f"server.log.2026-11-21-{hour:02}", None, None, "UTC") for hour in range(9)],
        [],
    ),
    "nothing": ([], []),
}  # fmt: skip


@pytest.mark.parametrize("case", SEEN)
def test_contradictions(case: str) -> None:
    rows, expected = SEEN[case]
    assert contradictions(rows) == expected
    assert contradictions(reversed(rows)) == expected


def test_a_zone_of_half_hours() -> None:
    rows = [
        RotatedFile("broker 7", f"server.log.2026-11-21-{hour:02}", first, first + timedelta(minutes=59), "UTC")
        for hour in (8, 9, 10, 11)
        for first in [datetime(2026, 11, 21, hour) - timedelta(hours=5, minutes=30)]
    ]
    (sentence,) = contradictions(rows)
    assert sentence.startswith("broker 7's file names are 5 h 30 min ahead of its time stamps (4 files)")


def test_daily_names() -> None:
    rows = [
        RotatedFile("broker 7", f"server.log.2026-11-{day:02}", first, first + timedelta(hours=23, minutes=58), "UTC")
        for day in (8, 9, 10)
        for first in [datetime(2026, 11, day) - timedelta(hours=1, minutes=59)]
    ]
    (sentence,) = contradictions(rows)
    assert sentence.startswith("broker 7's file names are 2 h ahead of its time stamps (3 files)")
