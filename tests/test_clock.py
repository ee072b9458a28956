"""Local times are what Python's calendar and zones say, and times that do not exist are none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.clock import NO_TIME, epoch_micros, local_micros, to_utc

EPOCH = datetime(1970, 1, 1)


def stamp(time: datetime) -> bytes:
    return f"{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03}".rjust(23, "0").encode()


def utc(text: str, zone: str) -> str | None:
    """A time on the clock of a zone, as UTC."""
    micros = int(to_utc(local_micros([text.encode()]), zone)[0])
    return None if micros == NO_TIME else f"{EPOCH + timedelta(microseconds=micros):%Y-%m-%d %H:%M:%S}"


ZONES = {  # local time, zone -> UTC
    "UTC": ("2024-03-01 02:03:04,005", "UTC", "2024-03-01 02:03:04"),
    "east": ("2024-03-01 02:03:04,005", "Asia/Kolkata", "2024-02-29 20:33:04"),
    "west": ("2024-12-31 20:00:00,000", "America/New_York", "2025-01-01 01:00:00"),
    "winter": ("2024-03-31 01:59:59,999", "Europe/Berlin", "2024-03-31 00:59:59"),
    "summer": ("2024-03-31 03:00:00,000", "Europe/Berlin", "2024-03-31 01:00:00"),
    "an hour that was skipped": ("2024-03-31 02:30:00,000", "Europe/Berlin", "2024-03-31 01:30:00"),
    "an hour that comes twice is its first": ("2024-10-27 02:30:00,000", "Europe/Berlin", "2024-10-27 00:30:00"),
    "after it": ("2024-10-27 03:00:00,000", "Europe/Berlin", "2024-10-27 02:00:00"),
    "half an hour of summer time": ("2024-04-07 01:45:00,000", "Australia/Lord_Howe", "2024-04-06 14:45:00"),
    "a change at 00:01": ("2020-10-04 00:00:30,000", "Antarctica/Casey", "2020-10-03 16:00:30"),
    "a day that was skipped": ("2011-12-31 00:00:00,000", "Pacific/Apia", "2011-12-30 10:00:00"),
}


@pytest.mark.parametrize("case", ZONES)
def test_zones(case: str) -> None:
    text, zone, expected = ZONES[case]
    assert utc(text, zone) == expected


TIMES = {  # local time -> whether there is such a time
    "2024-02-29 00:00:00,000": True,
    "2023-02-29 00:00:00,000": False,
    "2000-02-29 00:00:00,000": True,
    "1900-02-29 00:00:00,000": False,
    "2024-02-31 00:00:00,000": False,
    "2024-04-31 00:00:00,000": False,
    "2024-12-31 23:59:59,999": True,
    "2024-00-01 00:00:00,000": False,
    "2024-13-01 00:00:00,000": False,
    "2024-01-00 00:00:00,000": False,
    "2024-01-32 00:00:00,000": False,
    "2024-01-01 24:00:00,000": False,
    "2024-01-01 00:60:00,000": False,
    "2024-01-01 00:00:60,000": False,
    "0000-01-01 00:00:00,000": False,
    "0001-01-03 00:00:00,000": True,
    "9999-12-30 00:00:00,000": True,
    "9999-99-99 99:99:99,999": False,
}


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("text", TIMES)
def test_times_that_exist(text: str, zone: str) -> None:
    assert (utc(text, zone) is not None) == TIMES[text]


def test_none_among_others_stays_where_it_is() -> None:
    stamps = [b"2024-02-28 12:00:00,001", b"2024-02-31 12:00:00,001", b"2024-03-01 12:00:00,001"]
    there = to_utc(local_micros(stamps), "Europe/Berlin") != NO_TIME
    assert there.tolist() == [True, False, True]


def test_nothing() -> None:
    assert len(to_utc(local_micros([]), "Europe/Berlin")) == 0
    assert len(epoch_micros([])) == 0


@given(st.lists(st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 30)), min_size=1, max_size=20))
def test_calendar(times: list[datetime]) -> None:
    expected = [(time - EPOCH) // timedelta(milliseconds=1) * 1000 for time in times]
    assert local_micros([stamp(time) for time in times]).tolist() == expected


@given(
    st.lists(st.datetimes(datetime(2011, 1, 1), datetime(2037, 1, 1)), min_size=1, max_size=20),
    st.sampled_from(["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Africa/Casablanca", "Pacific/Apia"]),
)
def test_zones_agree_with_python(times: list[datetime], zone: str) -> None:
    micros = to_utc(np.array([(time - EPOCH) // timedelta(microseconds=1) for time in times], np.int64), zone)
    expected = [time.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC).replace(tzinfo=None) for time in times]
    assert [EPOCH + timedelta(microseconds=int(m)) for m in micros] == expected


def test_epoch() -> None:
    stamps = [b"0", b"1795261802093", b"99999999999999", b"999999999999999", b"9" * 40, b"9" * 5000]
    assert epoch_micros(stamps).tolist() == [0, 1795261802093000, 99999999999999000, NO_TIME, NO_TIME, NO_TIME]
