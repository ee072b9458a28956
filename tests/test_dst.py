"""A repeated hour is told apart by the order of the records, or called ambiguous; however the stream is cut."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.logs.dst import AmbiguousTimeFinder
from udfs.logs.timestamps import CLOCK_VALUES, ClockChanges, micros_of, to_utc

EPOCH = datetime(1970, 1, 1)


def stream(times: list[str], ending: str = "\n") -> bytes:
    """Records of 70 bytes or more at local times."""
    message = "[Broker id=1] Something happened here (state.change.logger)"
    return "".join(f"[{time},000] INFO {message}{ending}" for time in times).encode()


def clock_changes_of(data: bytes, zone: str, block: int = 1 << 20, encoding: str = "") -> ClockChanges:
    finder = AmbiguousTimeFinder(zone, encoding)
    for start in range(0, len(data), block):
        finder.feed(data[start : start + block], start)
    return finder.clock_changes


def read(times: list[str], zone: str) -> list[tuple[str, str | None]]:
    """UTC and clock value of records at local times, in file order."""
    lines = stream(times).splitlines(keepends=True)
    offsets = np.cumsum([0, *map(len, lines[:-1])])
    stamps = micros_of([time.encode() for time in times])
    utc, clocks = to_utc(stamps.micros, zone, offsets, clock_changes_of(b"".join(lines), zone))
    shown = [f"{EPOCH + timedelta(microseconds=m):%m-%d %H:%M:%S}" for m in utc.tolist()]
    return list(zip(shown, [CLOCK_VALUES[clock] for clock in clocks], strict=True))


# In Berlin, 2024-10-27, clocks went from 03:00 (01:00 UTC) back to 02:00.
FIRST, SECOND, UNSURE = "first_pass", "second_pass", "ambiguous"
BERLIN: dict[str, tuple[str, str, list[str | None]]] = {  # local times -> UTC hours and minutes, clock values
    "a jump back": (
        "01:50 02:10 02:50 02:05 02:55 03:10",
        "23:50 00:10 00:50 01:05 01:55 02:10",
        [None, FIRST, FIRST, SECOND, SECOND, None],
    ),
    "a jump back, with nothing before and nothing after": ("02:50 02:05", "00:50 01:05", [FIRST, SECOND]),
    "a record is late by some seconds": (
        "01:50 02:10:05 02:10:03 02:10:07 02:15",
        "23:50 00:10:05 00:10:03 00:10:07 00:15",
        [None, FIRST, FIRST, FIRST, FIRST],
    ),
    "threads overlap at the turn": (
        "02:59:58 02:00:00 02:59:59 02:00:01 02:30",
        "00:59:58 01:00:00 00:59:59 01:00:01 01:30",
        [FIRST, SECOND, FIRST, SECOND, SECOND],
    ),
    "a rest is likelier than a record that is late by minutes": (
        "02:59:59 02:00:00 02:55:00",
        "00:59:59 01:00:00 01:55:00",
        [FIRST, SECOND, SECOND],
    ),
    "threads overlap at the begin": (
        "01:59:58 02:00:00 01:59:59 02:00:01 02:15",
        "23:59:58 00:00:00 23:59:59 00:00:01 00:15",
        [None, FIRST, None, FIRST, FIRST],
    ),
    "threads overlap at the end": (
        "02:40 02:59:58 03:00:00 02:59:59 03:00:01",
        "01:40 01:59:58 02:00:00 01:59:59 02:00:01",
        [SECOND, SECOND, None, SECOND, None],
    ),
    "it ends in the hour, without a rest": ("01:45 02:10 02:35", "23:45 00:10 00:35", [None, FIRST, FIRST]),
    "it begins in the hour, without a rest": ("02:20 02:40 03:05", "01:20 01:40 02:05", [SECOND, SECOND, None]),
    "nothing but the hour": ("02:20 02:40", "00:20 00:40", [UNSURE, UNSURE]),
    "a silence of an hour, who knows where": (
        "01:50 02:10 02:35 02:50 03:10",
        "23:50 00:10 00:35 00:50 02:10",
        [None, UNSURE, UNSURE, UNSURE, None],
    ),
    "a silence of an hour where there is a rest": (
        "01:50 02:05 02:50 03:10",
        "23:50 00:05 01:50 02:10",
        [None, FIRST, SECOND, None],
    ),
    "two rests": (
        "01:55 02:00 02:29 02:30 02:59 03:00",
        "23:55 00:00 00:29 00:30 00:59 02:00",
        [None, UNSURE, UNSURE, UNSURE, UNSURE, None],
    ),
    "a rest before the hour": ("01:10 02:30 02:50", "23:10 00:30 00:50", [None, UNSURE, UNSURE]),
    "a rest behind the hour": ("02:10 02:20 03:10", "00:10 00:20 02:10", [UNSURE, UNSURE, None]),
    "two brokers' logs, one behind the other": (
        "01:50 02:55 02:05 03:10 01:55 02:50 02:01 03:05",
        "23:50 00:55 01:05 02:10 23:55 00:50 01:01 02:05",
        [None, FIRST, SECOND, None, None, FIRST, SECOND, None],
    ),
    "no record in the hour": ("01:50 03:10", "23:50 02:10", [None, None]),
}  # fmt: skip


@pytest.mark.parametrize("case", BERLIN)
def test_berlin(case: str) -> None:
    local, utc, clocks = BERLIN[case]
    got = read([f"2024-10-27 {time}:00"[:19] for time in local.split()], "Europe/Berlin")
    assert [clock for _, clock in got] == clocks
    assert [time[6:] for time, _ in got] == [f"{time}:00"[:8] for time in utc.split()]


ELSEWHERE: dict[str, tuple[str, str, str, list[str | None]]] = {  # zone, local times -> UTC, clock values
    "half an hour": (
        "Australia/Lord_Howe",
        "2024-04-07 01:20:00, 2024-04-07 01:35:00, 2024-04-07 01:55:00, 2024-04-07 01:40:00, 2024-04-07 02:05:00",
        "04-06 14:20:00, 04-06 14:35:00, 04-06 14:55:00, 04-06 15:10:00, 04-06 15:35:00",
        [None, FIRST, FIRST, SECOND, None],
    ),
    "for good": (
        "Europe/Moscow",
        "2014-10-26 00:50:00, 2014-10-26 01:55:00, 2014-10-26 01:05:00, 2014-10-26 02:00:00",
        "10-25 20:50:00, 10-25 21:55:00, 10-25 22:05:00, 10-25 23:00:00",
        [None, FIRST, SECOND, None],
    ),
    "put forward for good": (
        "Europe/Moscow",
        "2011-03-27 01:50:00, 2011-03-27 02:10:00, 2011-03-27 03:10:00",
        "03-26 22:50:00, 03-26 23:10:00, 03-26 23:10:00",
        [None, "gap", None],
    ),
    "before midnight": (
        "America/Sao_Paulo",
        "2018-02-17 23:50:00, 2018-02-17 23:05:00, 2018-02-18 00:01:00",
        "02-18 01:50:00, 02-18 02:05:00, 02-18 03:01:00",
        [FIRST, SECOND, None],
    ),
    "years in one stream": (
        "Europe/Berlin",
        "2023-10-29 02:50:00, 2023-10-29 02:10:00, 2024-07-01 12:00:00, 2024-10-27 01:50:00, "
        "2024-10-27 02:10:00, 2025-10-26 02:50:00, "
        "2025-10-26 02:10:00",
        (
            "10-29 00:50:00, 10-29 01:10:00, 07-01 10:00:00, 10-26 23:50:00, 10-27 00:10:00, 10-26 "
            "00:50:00, 10-26 01:10:00"
        ),
        [FIRST, SECOND, None, None, FIRST, FIRST, SECOND],
    ),
    "years, with nothing shortly before the hour": (
        "Europe/Berlin",
        "2023-10-29 02:50:00, 2023-10-29 02:10:00, 2024-07-01 12:00:00, 2024-10-27 02:50:00, 2024-10-27 02:10:00",
        "10-29 00:50:00, 10-29 01:10:00, 07-01 10:00:00, 10-27 00:50:00, 10-27 01:10:00",
        [FIRST, SECOND, None, FIRST, SECOND],
    ),
    "no summer time": (
        "Asia/Kolkata",
        "2024-10-27 02:50:00, 2024-10-27 02:10:00",
        "10-26 21:20:00, 10-26 20:40:00",
        [None, None],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ELSEWHERE)
def test_elsewhere(case: str) -> None:
    zone, local, utc, clocks = ELSEWHERE[case]
    assert read(local.split(", "), zone) == list(zip(utc.split(", "), clocks, strict=True))
    data = stream(local.split(", "))
    assert clock_changes_of(data, zone, LINE) == clock_changes_of(data, zone)


BACK = ["2024-10-27 01:50:00", "2024-10-27 02:50:00", "2024-10-27 02:05:00", "2024-10-27 03:05:00"]
LINE = len(stream(BACK[:1]))
WRAPPED = {  # how a line is written, before and after
    "plain": ("", "\n"),
    "ends of lines as in Windows": ("", "\r\n"),
    "a container's own time before it": ("2024-10-27T00:59:58.123456789Z stdout F ", "\n"),
    "a time in its text": ("", " since 2024-10-27 02:59:59 ok\n"),
    "a time in its second line": ("", "\n\tsince 2024-10-27T05:59:59Z\n"),
    "NULs": ("\0" * 100, "\n"),
}


@pytest.mark.parametrize("case", WRAPPED)
def test_wrapped(case: str) -> None:
    """The turn lies behind the begin of the second record and not behind that of the third."""
    before, behind = WRAPPED[case]
    lines = [before.encode() + stream([time], "") + behind.encode() for time in BACK]
    ((turn, clock),) = clock_changes_of(b"".join(lines), "Europe/Berlin")
    assert CLOCK_VALUES[clock] == SECOND
    assert len(lines[0]) < turn <= 2 * len(lines[0])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("block", [1 << 20, 501, 7])
def test_two_bytes_a_character(encoding: str, block: int) -> None:
    data = ("\ufeff" + stream(BACK).decode()).encode(encoding)
    ((turn, clock),) = clock_changes_of(data, "Europe/Berlin", block, encoding)
    assert CLOCK_VALUES[clock] == SECOND
    assert 2 + 2 * LINE < turn <= 2 + 4 * LINE


def test_stamps_with_a_zone_need_no_turn() -> None:
    data = b"".join(b"%s,000+0100 INFO [main] Broker:1 - text\n" % time.encode() for time in BACK)
    assert clock_changes_of(data, "Europe/Berlin") == ()


def test_an_unterminated_last_line_counts() -> None:
    data = stream(BACK[:3]).rstrip(b"\n")
    assert [CLOCK_VALUES[clock] for _, clock in clock_changes_of(data, "Europe/Berlin")] == [SECOND]


def test_a_line_longer_than_all_blocks() -> None:
    data = stream(BACK[:1]) + b"x" * (3 << 20) + b"\n" + stream(BACK[1:])
    ((turn, _),) = clock_changes_of(data, "Europe/Berlin", 1 << 19)
    assert LINE + (3 << 20) + 1 < turn <= (3 << 20) + 1 + 2 * LINE


AFTER = ["2024-10-27 03:10:00"] * 300
EDGES = {  # a block's records, what its last one has as further lines -> values of the clock changes
    "a late record behind the first": (["2024-10-27 03:00:01", "2024-10-27 02:59:59", *AFTER], "", [SECOND]),
    "only a long record behind the turn": (["2024-10-26 12:00:00", *BACK[1:3]], "\tat some.Frame\n" * 2000, [SECOND]),
    "years of nonsense around": (["0001-01-03 00:00:00", *BACK, *AFTER, "9998-01-01 00:00:00"], "", [SECOND]),
}


@pytest.mark.parametrize("case", EDGES)
def test_a_repeated_hour_is_noticed_in_the_midst_of_a_block(case: str) -> None:
    times, detail, expected = EDGES[case]
    begun = time.process_time()
    assert [
        CLOCK_VALUES[clock] for _, clock in clock_changes_of(stream(times) + detail.encode(), "Europe/Berlin")
    ] == expected
    assert time.process_time() - begun < 2


NO_LOGS = {
    "nothing": b"",
    "no stamps": b"one\ntwo\n" * 1000,
    "times that are none": b"[2024-99-27 02:10:00,000] INFO x (y)\n" * 1000,
    "bytes of any kind": bytes(range(256)) * 100,
}


@pytest.mark.parametrize("case", NO_LOGS)
def test_what_is_no_log_has_no_turns(case: str) -> None:
    assert clock_changes_of(NO_LOGS[case], "Europe/Berlin", 100) == ()


def test_time_that_jumps_to_and_fro_is_not_decided() -> None:
    data = stream(["2024-10-27 02:50:00", "2024-10-27 02:05:00"] * 60_000)
    assert [CLOCK_VALUES[clock] for _, clock in clock_changes_of(data, "Europe/Berlin")] == [UNSURE]


# ---- properties -----------------------------------------------------------------------------------------------------
AMBIGUOUS_TIMES = {  # zone -> the turn, UTC; minutes that come twice
    "Europe/Berlin": (datetime(2024, 10, 27, 1), 60),
    "America/New_York": (datetime(2025, 11, 2, 6), 60),
    "Australia/Lord_Howe": (datetime(2024, 4, 6, 15), 30),
    "America/Sao_Paulo": (datetime(2018, 2, 18, 2), 60),
    "Europe/Moscow": (datetime(2014, 10, 25, 22), 60),
    "America/St_Johns": (datetime(2024, 11, 3, 4, 30), 60),
}


@st.composite
def instants(draw: st.DrawFn) -> tuple[str, list[datetime]]:
    """A zone and UTC instants in order, two around its clock change, less than half of the repeated time apart."""
    zone = draw(st.sampled_from(list(AMBIGUOUS_TIMES)))
    turn, minutes = AMBIGUOUS_TIMES[zone]
    half = minutes * 30
    before = draw(st.integers(1, half - 1))
    after = draw(st.integers(0, half - 1 - before))
    others = draw(st.lists(st.integers(-3 * 3600, 3 * 3600), max_size=12))
    seconds = [s for s in others if not -before < s < after] + [-before, after]
    return zone, [turn + timedelta(seconds=s) for s in sorted(seconds)]


def local(instant: datetime, zone: str) -> str:
    return f"{instant.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S}"


@given(instants(), st.integers(30, 1000))
def test_reading_gives_the_instants_back(zone_and_times: tuple[str, list[datetime]], block: int) -> None:
    zone, times = zone_and_times
    written = [local(time, zone) for time in times]
    assert [time for time, _ in read(written, zone)] == [f"{time:%m-%d %H:%M:%S}" for time in times]
    assert clock_changes_of(stream(written), zone, block) == clock_changes_of(stream(written), zone)


@given(instants(), st.data())
def test_records_in_ranges_are_read_as_in_the_whole(
    zone_and_times: tuple[str, list[datetime]], data: st.DataObject
) -> None:
    zone, times = zone_and_times
    stamps = micros_of([local(time, zone).encode() for time in times])
    clock_changes = clock_changes_of(stream([local(time, zone) for time in times]), zone)
    offsets = np.arange(len(times)) * LINE
    whole, clocks = to_utc(stamps.micros, zone, offsets, clock_changes)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(times)))) | {0, len(times)})
    parts = [to_utc(stamps.micros[a:b], zone, offsets[a:b], clock_changes) for a, b in pairwise(cuts)]
    assert np.concatenate([utc for utc, _ in parts]).tolist() == whole.tolist()
    assert np.concatenate([clock for _, clock in parts]).tolist() == clocks.tolist()


@given(instants(), st.data())
def test_records_out_of_order_by_seconds_are_read_right(
    zone_and_times: tuple[str, list[datetime]], data: st.DataObject
) -> None:
    """Far from the turn the order of records within some seconds decides nothing."""
    zone, times = zone_and_times
    turn = AMBIGUOUS_TIMES[zone][0]
    jitter = [data.draw(st.integers(0, 20)) if abs((time - turn).total_seconds()) > 20 else 0 for time in times]
    order = sorted(range(len(times)), key=lambda i: times[i] + timedelta(seconds=jitter[i]))
    times = [times[i] for i in order]
    read_ = [time for time, _ in read([local(time, zone) for time in times], zone)]
    assert read_ == [f"{time:%m-%d %H:%M:%S}" for time in times]
