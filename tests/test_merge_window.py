"""Windows of time in large plain files: looked up, and proven to be all."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from jobs.cli import main
from udfs.merge.times import Moment, as_text, moment, span, stamp_prefixes

BEGIN = datetime(2026, 11, 21, 22, 0)
TAIL = "x" * 160 + " (kafka.controller.KafkaController)\n"


def line(seconds: float, text: str = "") -> str:
    at = BEGIN + timedelta(seconds=seconds)
    return f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}] INFO [Controller id=1] {text}{TAIL}"


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """8 MB of one controller's log over four hours and midnight, in order but for some milliseconds, and one record."""
    path = tmp_path_factory.mktemp("big") / "controller.log"
    lines = [line(i * 0.4 - (i % 7 == 3) * 0.9, f"{i} ") for i in range(36000)]
    lines.insert(30000, line(3600, "late "))
    lines.insert(100, line(3 * 3600, "early ") + "\tat a.stack.Trace\n")
    path.write_text("".join(lines))
    assert path.stat().st_size > 7 << 20
    return path


def in_window(path: Path, since: str, until: str) -> list[str]:
    """By brute force: records with their traces, by time, those of one time as in the file."""
    records = re.findall(r"^\[.*\n(?:[^\[].*\n)*", path.read_text(), re.MULTILINE)
    return sorted((r for r in records if since <= r[1:24] <= until), key=lambda record: record[1:24])


def merged(*argv: str) -> tuple[str, str]:
    result = CliRunner().invoke(main, ["merge", *argv], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout, result.stderr


WINDOWS = {  # name -> window, and whether most of the file is passed over
    "three minutes": ("2026-11-21 22:30:00,000", "2026-11-21 22:33:00,000", True),
    "where a late record belongs": ("2026-11-21 22:59:59,000", "2026-11-21 23:00:01,000", False),
    "where an early record belongs": ("2026-11-22 00:59:00,000", "2026-11-22 01:02:00,000", False),
    "over an hour's end": ("2026-11-21 22:58:00,000", "2026-11-21 22:59:58,000", True),
    "over midnight": ("2026-11-21 23:59:30,000", "2026-11-22 00:00:30,000", True),
    "one millisecond": ("2026-11-21 22:30:00,400", "2026-11-21 22:30:00,400", True),
    "before all": ("2026-11-21 20:00:00,000", "2026-11-21 20:01:00,000", True),
    "behind all": ("2026-11-22 05:00:00,000", "2026-11-22 05:01:00,000", True),
    "all": ("2026-11-21 20:00:00,000", "2026-11-22 05:00:00,000", False),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_a_window_is_complete(name: str, big: Path) -> None:
    since, until, is_quick = WINDOWS[name]
    out, err = merged(str(big), "--start-time", since, "--end-time", until)
    assert out.splitlines(keepends=True) == "".join(in_window(big, since, until)).splitlines(keepends=True)
    passed_over = re.search(r"([\d,]+) bytes outside the window", err)
    if is_quick:
        assert passed_over is not None
        assert int(passed_over[1].replace(",", "")) > 6_000_000


def test_a_stamp_that_is_cut_by_the_end_of_a_search_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is passed over is searched piece by piece; the late record's stamp stands at each place around a border."""
    from jobs.merge import window as merge_window

    monkeypatch.setattr(merge_window, "_SMALL_BYTES", 1000)
    monkeypatch.setattr(merge_window, "_PROBE_BYTES", 4096)
    monkeypatch.setattr(merge_window, "_SEARCHED_AT_ONCE", 20_000)
    early = "".join(line(i) for i in range(30))
    for before in range(19_970, 20_004):
        head = early + line(99, "y" * (before - len(early) - len(line(99))))
        path = tmp_path / "a.log"
        path.write_text(head + line(7200, "late ") + "".join(line(100 + i) for i in range(300)))
        assert path.read_text()[before] == "["
        out, _ = merged(str(path), "--start-time", "2026-11-22 00:00:00,000", "--end-time", "2026-11-22 00:01:00,000")
        assert out == line(7200, "late ")


@pytest.mark.parametrize(("minutes", "own"), [(30, "23:4"), (-30, "22:4")])
def test_a_clock_that_is_corrected_widens_what_is_looked_at(minutes: int, own: str, big: Path, tmp_path: Path) -> None:
    """Records of the window stand half an hour further on in the file, by its own clock, or half an hour before."""
    skew = tmp_path / "skew.txt"
    skew.write_text(f"1: {minutes * 60_000}\n")
    window = ("--start-time", "2026-11-21 23:10:00,000", "--end-time", "2026-11-21 23:12:00,000", "--skew", str(skew))
    expected = in_window(big, f"2026-11-21 {own}0:00,000", f"2026-11-21 {own}2:00,000")
    assert "".join(expected) == merged(str(big), *window)[0]
    assert "".join(expected) == merged(str(big), *window, "--trust-order")[0]
    assert len(expected) > 250


def test_each_file_is_looked_up_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs of several nodes, each with its own hours."""
    from jobs.merge import window as merge_window

    monkeypatch.setattr(merge_window, "_SMALL_BYTES", 1000)
    monkeypatch.setattr(merge_window, "_PROBE_BYTES", 4096)
    for node, begin in enumerate((-9000, 0, 1700, 3400)):
        path = tmp_path / f"broker-{node}.log"
        path.write_text("".join(line(begin + i * 10, f"of {node} ") for i in range(400)))
    window = ("--start-time", "2026-11-21 23:00:00,000", "--end-time", "2026-11-21 23:02:00,000")
    out, _ = merged(str(tmp_path), *window)
    of_each = [
        f"{begin + i * 10:05} of {node}" for node, begin in enumerate((-9000, 0, 1700, 3400)) for i in range(400)
    ]
    wanted = sorted(text for text in of_each if "03600" <= text[:5] <= "03720")
    assert [text[6:] for text in wanted] == re.findall(r"of \d", out)
    assert len(wanted) == 3 * 13


def test_only_with_trust_a_record_far_from_its_place_may_be_missed(big: Path) -> None:
    window = ("--start-time", "2026-11-21 22:59:59,000", "--end-time", "2026-11-21 23:00:01,000")
    safe, trusting = merged(str(big), *window)[0], merged(str(big), *window, "--trust-order")[0]
    assert "late" in safe
    assert trusting == "".join(record for record in safe.splitlines(keepends=True) if "late" not in record)


def test_with_trust_a_record_a_little_out_of_its_place_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the last second before 23:00 stands behind those of half a minute later."""
    from jobs.merge import window as merge_window

    monkeypatch.setattr(merge_window, "_SMALL_BYTES", 1000)
    monkeypatch.setattr(merge_window, "_PROBE_BYTES", 1024)
    lines = [line(i) for i in range(3000, 4200)]
    lines.insert(630, line(3599.5, "late "))
    (tmp_path / "controller.log").write_text("".join(lines))
    window = ("--start-time", "2026-11-21 22:59:59", "--end-time", "2026-11-21 22:59:59,999", "--trust-order")
    assert merged(str(tmp_path), *window)[0] == line(3599) + line(3599.5, "late ")


def test_line_numbers_count_what_was_passed_over(big: Path) -> None:
    out, _ = merged(str(big), "--start-time", "2026-11-21 22:30:00,400", "--limit", "1", "--format", "csv")
    number = int(out.splitlines()[1].split(",")[3])
    assert big.read_text().splitlines()[number - 1][1:24] == "2026-11-21 22:30:00,400"


# ---- times on the command line ---------------------------------------------------------------------------------------
DAY, HOUR = 86_400_000_000, 3_600_000_000
NOON = 20 * DAY + 12 * HOUR
TIMES: dict[str, Moment | None] = {
    "1970-01-21 12:00:00,000": Moment(local=NOON),
    "1970-01-21T12:00": Moment(local=NOON),
    "1970-01-21": Moment(local=20 * DAY),
    "1970-01-21 12:00:00.250": Moment(local=NOON + 250_000),
    ' "1970-01-21 12:00:00" ': Moment(local=NOON),
    "1970-01-21 12:00Z": Moment(utc=NOON),
    "1970-01-21T14:00:00,001+02:00": Moment(utc=NOON + 1000),
    "1970-01-21T12:00:00.001002999Z": Moment(utc=NOON + 1002),  # as Kubernetes writes it
    "1970-01-21 12:00:00.5": Moment(local=NOON + 500_000),
    "1970-01-21 12:00:00.25+02:00": Moment(utc=NOON - 2 * HOUR + 250_000),
    "12:00": Moment(clock=12 * HOUR),
    "12:00:00.5": Moment(clock=12 * HOUR + 500_000),
    "12:00:00.000250": Moment(clock=12 * HOUR + 250),
    "12:00:00,250": Moment(clock=12 * HOUR + 250_000),
    "-90m": Moment(ago=90 * 60_000_000),
    "-1h30m": Moment(ago=90 * 60_000_000),
    "0000-00-00 00:00:00,000": None,
    "9999-12-31 23:59:59,999": None,
}
NO_TIMES = [
    "",
    "tomorrow",
    "70-01-21 12:00:00",
    "1970-02-30",
    "1970-01-21 24:30",
    "1970-01-21 12:00:00,3",  # 3 ms to StateChangeLogMerger, 300 ms to most people
    "12:00:00.",
    "12:00:00.0123456789",
    "3h",
    "25:00",
]


@pytest.mark.parametrize("text", TIMES)
def test_a_time(text: str) -> None:
    assert moment(text) == TIMES[text]


@pytest.mark.parametrize("text", NO_TIMES)
def test_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="2026-11-21"):
        moment(text)


def test_a_time_of_day_is_the_last_one_of_the_logs() -> None:
    assert Moment(clock=12 * HOUR).before(NOON) == Moment(local=NOON)
    assert Moment(clock=13 * HOUR).before(NOON) == Moment(local=NOON - 23 * HOUR)
    assert Moment(ago=HOUR).before(NOON) == Moment(local=NOON - HOUR)


NEAREST = {  # first and last record of the logs, a time of day -> the moment, in hours after noon of that day
    "in the logs": (-10, 0, 11, -1),
    "in the logs of the day before": (-30, 0, 13, -23),
    "an hour behind their end, of that day": (-10, 0, 13, 1),
    "an hour before their begin": (-10, 0, 1, -11),
    "behind their end, past midnight": (-10, 11, 0, 12),
    "before their begin, the evening before": (-11, 0, 23, -13),
}


@pytest.mark.parametrize("case", NEAREST)
def test_a_time_of_day_that_is_not_in_the_logs_is_the_one_nearest_to_them(case: str) -> None:
    first, last, clock, expected = (hours * HOUR for hours in NEAREST[case])
    assert Moment(clock=clock).before(NOON + last, NOON + first) == Moment(local=NOON + expected)


def said_of(folder: Path, begin: float, *argv: str) -> list[str]:
    """What a merge says of a controller's log with a record at `begin` and one at 0, in seconds after 22:00."""
    (folder / "controller.log").write_text(line(begin) + line(0))
    return merged(str(folder), "--count", *argv)[1].splitlines()[:-1]


def test_only_times_that_count_back_are_explained_by_the_last_record(tmp_path: Path) -> None:
    last = "kafka-rewind: The last record is from 2026-11-21 22:00:00,000; "
    assert said_of(tmp_path, -60, "--since", "2026-11-21 21:59") == []
    assert said_of(tmp_path, -60, "--since", "21:59") == []
    assert said_of(tmp_path, -60, "--since", "-1m") == [f"{last}relative times count back from it."]
    assert said_of(tmp_path, -86_400, "--since", "21:59") == [f"{last}a time without a day is the last one before it."]


def test_a_time_of_day_behind_the_logs_matches_nothing(tmp_path: Path) -> None:
    assert said_of(tmp_path, -60, "--since", "23:00") == [
        "kafka-rewind: Nothing matched: no record since 2026-11-21 23:00:00,000 in 1 file with 2 records "
        "from 2026-11-21 21:59:00,000 to 2026-11-21 22:00:00,000."
    ]


REFUSED = {  # options -> how the message begins
    ("--since", "noon"): "--since 'noon' is no time that is understood; give one such as 2026-11-21 02:14:03,250",
    ("--start-time", "noon"): "--start-time 'noon' is no time",
    ("-end-time", "noon"): "--end-time 'noon' is no time",
    ("--until=noon",): "--until 'noon' is no time",
    ("--since", "22:00", "--around", "22:00"): "--around does not go with --since; give one or the other.",
    (
        "--until",
        "22:00",
        "--start-time",
        "21:00",
        "--around",
        "22:00",
    ): "--around does not go with --start-time and --until",
    ("--within", "5m"): "--within is of no use without --around; give both or none.",
    ("--since", "2026-11-22", "--until", "2026-11-21"): "--since 2026-11-22 00:00:00,000 is after --until 2026-11-21",
}


@pytest.mark.parametrize("options", REFUSED)
def test_a_message_names_the_option_that_was_given(options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "controller.log").write_text(line(0))
    result = CliRunner().invoke(main, ["merge", str(tmp_path), *options])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"kafka-rewind: {REFUSED[options]}")


def test_a_span() -> None:
    assert (span("90s"), span("250ms"), span("1d")) == (90_000_000, 250_000, DAY)
    for text in ("", "5", "m", "5 m", "5m3"):
        with pytest.raises(ValueError, match="90s"):
            span(text)


@pytest.mark.parametrize("length", [0, 1, 59, 61, 600, 3600, 7200, 40_000, 90_000])
@pytest.mark.parametrize("begin", [0, 59, 3599, 86_399, 35_990])
def test_each_time_of_a_window_begins_as_one_of_few_texts(begin: int, length: int) -> None:
    since, until = begin * 1_000_000, (begin + length) * 1_000_000
    prefixes = stamp_prefixes(since, until)
    assert len(prefixes) <= 2
    for i in range(101):
        assert not prefixes or as_text(since + (until - since) * i // 100).startswith(tuple(prefixes))


def test_years_of_the_buddhist_calendar_are_the_same_times(big: Path, tmp_path: Path) -> None:
    thai = tmp_path / "controller.log"
    thai.write_text(big.read_text().replace("[2026-", "[2569-"))
    window = ("--start-time", "2026-11-21 22:30:00,000", "--end-time", "2026-11-21 22:30:10,000")
    wanted, _ = merged(str(big), *window)
    assert wanted
    assert merged(str(thai), *window)[0] == wanted.replace("[2026-", "[2569-")
