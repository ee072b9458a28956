"""A wrapper's time beside the local one of its line: by how much the line's zone is ahead of UTC."""

from __future__ import annotations

import pytest

from udfs.logs.time_texts import ZoneOfLines, stamp

LINE = b"[2026-11-21 11:44:16,212] INFO x"
OFFSETS = {  # why -> when the wrapper wrote it, offset
    "the same time": ("2026-11-21T11:44:16.3Z", b"+0000"),
    "an hour ahead, written at once": ("2026-11-21T10:44:16.3Z", b"+0100"),
    "India's zone, a minute late": ("2026-11-21T06:15:10.0Z", b"+0530"),
    "behind UTC": ("2026-11-21T16:44:17Z", b"-0500"),
    "no zone is a quarter and an hour ahead": ("2026-11-21T10:29:16.3Z", b""),
    "later than a wrapper writes": ("2026-11-21T10:54:16.3Z", b""),
}


@pytest.mark.parametrize("case", OFFSETS)
def test_the_offset_of_a_line(case: str) -> None:
    outer, offset = OFFSETS[case]
    assert ZoneOfLines().with_offset(LINE, outer) == LINE.replace(b",212]", b",212%s]" % offset)


def test_a_line_that_was_written_late_has_the_offset_of_the_one_before() -> None:
    zone = ZoneOfLines()
    zone.with_offset(LINE, "2026-11-21T10:44:16.3Z")
    assert zone.with_offset(LINE, "2026-11-21T10:54:16.3Z") == LINE.replace(b",212]", b",212+0100]")


def test_alone_a_line_that_was_written_late_has_none() -> None:
    zone = ZoneOfLines(alone=True)
    zone.with_offset(LINE, "2026-11-21T10:44:16.3Z")
    assert zone.with_offset(LINE, "2026-11-21T10:54:16.3Z") == LINE


NUMBERS = {  # a number as an export has it -> the moment that it is, None: it is none
    "1709251199": "2024-02-29 23:59:59,000Z",
    "1709251199.999": "2024-02-29 23:59:59,999Z",
    "1709251199999": "2024-02-29 23:59:59,999Z",
    "1709251199999999": "2024-02-29 23:59:59,999Z",
    "1709251199999999999": "2024-02-29 23:59:59,999Z",
    "1.709251199999e12": "2024-02-29 23:59:59,999Z",
    "12e4567": None,  # hexadecimal ids
    "41e8073620": None,
    "8e5512345678": None,
    "17e45": None,
    "9223372036854775807": None,  # the longest period there is, as nanoseconds a day in 2262
    "999999999": None,
}


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_a_moment_of_this_century_or_none(text: str) -> None:
    assert stamp(text) == NUMBERS[text]


ZONES = {  # a zone as it stands behind a time -> its offset as Kafka's own stamps have it
    "": "",
    " UTC": "Z",
    "Z": "Z",
    "+02": "+0200",
    "+02:00": "+0200",
    " GMT+02:00": "+0200",
    " UTC-0330": "-0330",
    " GMT+8": "+0800",
    " PDT": "-0700",
    " PST": "-0800",
    " CET": "+0100",
    " CEST": "+0200",
}


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("time", ["2024-07-15 12:00:00,000", "15 Jul 2024 12:00:00,000", "15/Jul/2024:12:00:00.000"])
def test_a_zone_may_be_written_in_many_ways(zone: str, time: str) -> None:
    assert stamp(time + zone) == "2024-07-15 12:00:00,000" + ZONES[zone]


@pytest.mark.parametrize("zone", [" CST", " IST", " BST", " Europe/Berlin", " GMT+02:0"])
def test_a_name_that_means_several_offsets_is_no_zone(zone: str) -> None:
    assert stamp("2024-07-15 12:00:00,000" + zone) is None
