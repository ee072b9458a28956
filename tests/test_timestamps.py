"""Time stamps are read in all their forms; local times are what Python's calendar and zones say."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.logs.timestamps import (
    AMBIGUOUS,
    CLOCK_VALUES,
    FIRST_PASS,
    NO_TIME,
    SECOND_PASS,
    ClockChanges,
    has_repeats,
    local_micros,
    matrix_micros,
    micros_of,
    readings,
    to_utc,
)

EPOCH = datetime(1970, 1, 1)


def stamp(time: datetime) -> bytes:
    return f"{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03}".rjust(23, "0").encode()


def shown(micros: int) -> str | None:
    return None if micros == NO_TIME else f"{EPOCH + timedelta(microseconds=micros):%Y-%m-%d %H:%M:%S.%f}"[:-3]


# ---- forms ----------------------------------------------------------------------------------------------------------
LOCAL, AS_UTC, NONE = "local", "UTC", "none"
FORMS = {  # as written -> time, whether local or UTC
    "2018-12-09 02:21:49,941": ("2018-12-09 02:21:49.941", LOCAL),
    "2018-12-09 02:21:49.941": ("2018-12-09 02:21:49.941", LOCAL),
    "2018-12-09T02:21:49,941": ("2018-12-09 02:21:49.941", LOCAL),
    "2018-12-09T02:21:49.941": ("2018-12-09 02:21:49.941", LOCAL),
    "2018-12-09 02:21:49": ("2018-12-09 02:21:49.000", LOCAL),
    "2018-12-09T02:21:49": ("2018-12-09 02:21:49.000", LOCAL),
    "2018-12-09 02:21:49,9": ("2018-12-09 02:21:49.900", LOCAL),
    "2018-12-09 02:21:49,09": ("2018-12-09 02:21:49.090", LOCAL),
    "2018-12-09 02:21:49,9417": ("2018-12-09 02:21:49.941", LOCAL),
    "2018-12-09 02:21:49.941999": ("2018-12-09 02:21:49.941", LOCAL),
    "2018-12-09 02:21:49.941999999": ("2018-12-09 02:21:49.941", LOCAL),
    "2561-12-09 02:21:49,941": ("2018-12-09 02:21:49.941", LOCAL),  # where the locale is Thai
    "2563-02-29 02:21:49": ("2020-02-29 02:21:49.000", LOCAL),
    "9999-12-09 02:21:49,941": ("9999-12-09 02:21:49.941", LOCAL),
    "2018-12-09 02:21:49,941Z": ("2018-12-09 02:21:49.941", AS_UTC),
    "2018-12-09T02:21:49.94Z": ("2018-12-09 02:21:49.940", AS_UTC),  # 23 bytes, too
    "2018-12-09T02:21:49Z": ("2018-12-09 02:21:49.000", AS_UTC),
    "2023-01-31T22:46:07.635701791Z": ("2023-01-31 22:46:07.635", AS_UTC),
    "2018-12-09 02:21:49,941 UTC": ("2018-12-09 02:21:49.941", AS_UTC),
    "2018-12-09 02:21:49,941 GMT": ("2018-12-09 02:21:49.941", AS_UTC),
    "2026-05-27 13:33:12,000+0200": ("2026-05-27 11:33:12.000", AS_UTC),
    "2026-05-27 13:33:12,000+02:00": ("2026-05-27 11:33:12.000", AS_UTC),
    "2026-05-27 13:33:12,000 +0200": ("2026-05-27 11:33:12.000", AS_UTC),
    "2026-05-27 13:33:12+02": ("2026-05-27 11:33:12.000", AS_UTC),
    "2026-05-27 13:33:12-0330": ("2026-05-27 17:03:12.000", AS_UTC),
    "2026-01-01T00:10:00.5+05:45": ("2025-12-31 18:25:00.500", AS_UTC),
    "2026-05-27 13:33:12,000-00:00": ("2026-05-27 13:33:12.000", AS_UTC),
    "0": ("1970-01-01 00:00:00.000", AS_UTC),
    "1": ("1970-01-01 00:00:00.001", AS_UTC),
    "1544322109941": ("2018-12-09 02:21:49.941", AS_UTC),
    "1544322109.941": ("2018-12-09 02:21:49.941", AS_UTC),
    "1544322109.9": ("2018-12-09 02:21:49.900", AS_UTC),
    "1544322109.941000000": ("2018-12-09 02:21:49.941", AS_UTC),
    "2026-05-27 13:33:12+1900": (None, NONE),
    "2026-05-27 13:33:12+0260": (None, NONE),
    "2026-05-27 13:33:12,": (None, NONE),
    "2026-05-27 13:33:12,1234567890": (None, NONE),
    "2026-05-27 13:33": (None, NONE),
    "2026-05-27": (None, NONE),
    "2026/05/27 13:33:12,000": (None, NONE),
    "2026-05-27 13:33:12,0x0": (None, NONE),
    "2026-05-27 13h33:12,000": (None, NONE),
    "2026-05-27 13:33m12,000": (None, NONE),
    "2026-02-29T13:33:12Z": (None, NONE),
    "999999999999999": (None, NONE),  # beyond the year 9999
    "9" * 40: (None, NONE),
    "9" * 5000: (None, NONE),
    "9999999999999.5": (None, NONE),
    "18446744073710.5": (None, NONE),  # 2 ** 64 microseconds, and a bit
    "-1": (None, NONE),
    "": (None, NONE),
    "soon": (None, NONE),
}


@pytest.mark.parametrize("text", FORMS)
def test_forms(text: str) -> None:
    expected, kind = FORMS[text]
    micros, is_utc = micros_of([text.encode()])
    assert shown(int(micros[0])) == expected
    if kind != NONE:
        assert bool(is_utc[0]) == (kind == AS_UTC)


@given(st.lists(st.sampled_from(list(FORMS)), max_size=30))
def test_mixed_forms_are_read_one_by_one(texts: list[str]) -> None:
    micros, is_utc = micros_of([text.encode() for text in texts])
    alone = [micros_of([text.encode()]) for text in texts]
    assert micros.tolist() == [int(one.micros[0]) for one in alone]
    assert is_utc.tolist() == [bool(one.is_utc[0]) for one in alone]


@given(st.lists(st.binary(max_size=30), max_size=5))
def test_any_bytes_are_a_time_or_none(texts: list[bytes]) -> None:
    assert len(micros_of(texts).micros) == len(texts)


def test_a_matrix_of_bytes() -> None:
    texts = [b"2018-12-09 02:21:49,941", b"2018-12-09T02:21:49.942", b"2018-12-09 02:21:49+020"]
    matrix = np.frombuffer(b"".join(texts), np.uint8).reshape(3, 23)
    assert [shown(m) for m in matrix_micros(matrix).tolist()] == [
        "2018-12-09 02:21:49.941",
        "2018-12-09 02:21:49.942",
        None,
    ]


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
    utc, _ = to_utc(local_micros([text.encode()]), zone)
    assert (utc[0] != NO_TIME) == TIMES[text]


OF_THE_COMMON_ERA = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 30)).filter(
    lambda at: not 2500 <= at.year < 2700
)


@given(st.lists(OF_THE_COMMON_ERA, min_size=1, max_size=20))
def test_calendar(times: list[datetime]) -> None:
    expected = [(time - EPOCH) // timedelta(milliseconds=1) * 1000 for time in times]
    assert local_micros([stamp(time) for time in times]).tolist() == expected


def test_nothing() -> None:
    assert len(to_utc(local_micros([]), "Europe/Berlin")[0]) == 0
    assert len(micros_of([]).micros) == 0


# ---- zones ----------------------------------------------------------------------------------------------------------
ZONES = {  # local time, zone -> UTC, clock value
    "UTC": ("2024-03-01 02:03:04,005", "UTC", "2024-03-01 02:03:04.005", None),
    "east": ("2024-03-01 02:03:04,005", "Asia/Kolkata", "2024-02-29 20:33:04.005", None),
    "west": ("2024-12-31 20:00:00,000", "America/New_York", "2025-01-01 01:00:00.000", None),
    "winter": ("2024-03-31 01:59:59,999", "Europe/Berlin", "2024-03-31 00:59:59.999", None),
    "summer": ("2024-03-31 03:00:00,000", "Europe/Berlin", "2024-03-31 01:00:00.000", None),
    "an hour that was skipped": ("2024-03-31 02:30:00,000", "Europe/Berlin", "2024-03-31 01:30:00.000", "gap"),
    "before an hour that comes twice": ("2024-10-27 01:59:59,999", "Europe/Berlin", "2024-10-26 23:59:59.999", None),
    "its begin": ("2024-10-27 02:00:00,000", "Europe/Berlin", "2024-10-27 00:00:00.000", "ambiguous"),
    "its end": ("2024-10-27 02:59:59,999", "Europe/Berlin", "2024-10-27 00:59:59.999", "ambiguous"),
    "after it": ("2024-10-27 03:00:00,000", "Europe/Berlin", "2024-10-27 02:00:00.000", None),
    "half an hour that comes twice": (
        "2024-04-07 01:45:00,000",
        "Australia/Lord_Howe",
        "2024-04-06 14:45:00.000",
        "ambiguous",
    ),
    "before that half hour": ("2024-04-07 01:29:00,000", "Australia/Lord_Howe", "2024-04-06 14:29:00.000", None),
    "half an hour that was skipped": (
        "2024-10-06 02:15:00,000",
        "Australia/Lord_Howe",
        "2024-10-05 15:45:00.000",
        "gap",
    ),
    "the hour before midnight comes twice": (
        "2018-02-17 23:30:00,000",
        "America/Sao_Paulo",
        "2018-02-18 01:30:00.000",
        "ambiguous",
    ),
    "the hour after midnight comes twice": (
        "2024-10-27 00:30:00,000",
        "Atlantic/Azores",
        "2024-10-27 00:30:00.000",
        "ambiguous",
    ),
    "clocks put back for good": ("2014-10-26 01:30:00,000", "Europe/Moscow", "2014-10-25 21:30:00.000", "ambiguous"),
    "a change at 00:01": ("2020-10-04 00:00:30,000", "Antarctica/Casey", "2020-10-03 16:00:30.000", None),
    "a day that was skipped": ("2011-12-30 12:00:00,000", "Pacific/Apia", "2011-12-30 22:00:00.000", "gap"),
    "after that day": ("2011-12-31 00:00:00,000", "Pacific/Apia", "2011-12-30 10:00:00.000", None),
}


@pytest.mark.parametrize("case", ZONES)
def test_zones(case: str) -> None:
    text, zone, expected, clock = ZONES[case]
    utc, clocks = to_utc(local_micros([text.encode()]), zone)
    assert (shown(int(utc[0])), CLOCK_VALUES[clocks[0]]) == (expected, clock)


def test_none_among_others_stays_where_it_is() -> None:
    stamps = [b"2024-02-28 12:00:00,001", b"2024-02-31 12:00:00,001", b"2024-03-01 12:00:00,001"]
    utc, _ = to_utc(local_micros(stamps), "Europe/Berlin")
    assert (utc != NO_TIME).tolist() == [True, False, True]


def test_what_is_utc_needs_no_zone() -> None:
    stamps = micros_of([b"2024-10-27 02:30:00,000", b"2024-10-27T02:30:00.000Z"])
    utc, clocks = to_utc(stamps.micros, "Europe/Berlin", is_utc=stamps.is_utc)
    assert [shown(m) for m in utc.tolist()] == ["2024-10-27 00:30:00.000", "2024-10-27 02:30:00.000"]
    assert [CLOCK_VALUES[clock] for clock in clocks] == ["ambiguous", None]


def test_turns_decide_by_byte_offset() -> None:
    """Records of two autumns, of a summer and of a spring, 100 bytes each."""
    records = [
        ("2023-10-29 02:30:00,000", "2023-10-29 00:30:00.000", "first_pass"),
        ("2023-10-29 02:10:00,000", "2023-10-29 01:10:00.000", "second_pass"),
        ("2024-03-31 02:10:00,000", "2024-03-31 01:10:00.000", "gap"),
        ("2024-07-01 12:00:00,000", "2024-07-01 10:00:00.000", None),
        ("2024-10-27 02:20:00,000", "2024-10-27 00:20:00.000", "first_pass"),
        ("2024-10-27 02:15:00,000", "2024-10-27 01:15:00.000", "second_pass"),
        ("2025-10-26 02:15:00,000", "2025-10-26 00:15:00.000", "ambiguous"),
    ]
    clock_changes: ClockChanges = ((100, SECOND_PASS), (350, FIRST_PASS), (401, SECOND_PASS), (501, AMBIGUOUS))
    local = local_micros([text.encode() for text, _, _ in records])
    utc, clocks = to_utc(local, "Europe/Berlin", np.arange(7) * 100, clock_changes)
    assert [(shown(m), CLOCK_VALUES[clock]) for m, clock in zip(utc.tolist(), clocks, strict=True)] == [
        r[1:] for r in records
    ]
    alone = [to_utc(local[i : i + 1], "Europe/Berlin", np.array([i * 100]), clock_changes) for i in range(7)]
    assert [(int(u[0]), int(m[0])) for u, m in alone] == list(zip(utc.tolist(), clocks.tolist(), strict=True))


@given(
    st.lists(st.datetimes(datetime(1973, 1, 1), datetime(2037, 1, 1)), min_size=1, max_size=20),
    st.sampled_from(["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Africa/Casablanca", "Pacific/Apia"]),
)
def test_zones_agree_with_python(times: list[datetime], zone: str) -> None:
    local = np.array([(time - EPOCH) // timedelta(microseconds=1) for time in times], np.int64)
    for fold, micros in enumerate(readings(local, zone)):
        expected = [time.replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC) for time in times]
        assert [EPOCH + timedelta(microseconds=int(m)) for m in micros] == [at.replace(tzinfo=None) for at in expected]


REPEATS = {  # zone, since, until -> whether a time between comes twice
    "the hour": ("Europe/Berlin", "2024-10-27 02:10:00,000", "2024-10-27 02:20:00,000", True),
    "up to its first minute": ("Europe/Berlin", "2024-10-20 00:00:00,000", "2024-10-27 02:00:00,000", True),
    "before it": ("Europe/Berlin", "2024-10-20 00:00:00,000", "2024-10-27 01:59:59,999", False),
    "after it": ("Europe/Berlin", "2024-10-27 03:00:00,000", "2025-10-26 01:59:00,000", False),
    "a whole year": ("Europe/Berlin", "2024-01-01 00:00:00,000", "2024-12-31 00:00:00,000", True),
    "the hour that was skipped": ("Europe/Berlin", "2024-03-31 00:00:00,000", "2024-03-31 05:00:00,000", False),
    "no summer time": ("Asia/Kolkata", "2010-01-01 00:00:00,000", "2024-12-31 00:00:00,000", False),
    "UTC": ("UTC", "2010-01-01 00:00:00,000", "2024-12-31 00:00:00,000", False),
}


@pytest.mark.parametrize("case", REPEATS)
def test_repeats(case: str) -> None:
    zone, since, until, expected = REPEATS[case]
    first, last = local_micros([since.encode(), until.encode()]).tolist()
    assert has_repeats(zone, first, last) == expected


def test_a_time_that_is_wild_costs_no_search_through_all_years() -> None:
    local = local_micros([b"0001-01-03 00:00:00,000", b"2024-01-01 00:00:00,000", b"9999-12-30 00:00:00,000"])
    begun = time.process_time()
    to_utc(local, "America/Los_Angeles")
    assert time.process_time() - begun < 0.5
