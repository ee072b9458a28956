"""A wrapper's time beside the local one of its line: by how much the line's zone is ahead of UTC."""

from __future__ import annotations

import pytest

from udfs.logs.time_texts import ZoneOfLines

LINE = b"[2026-11-21 11:44:16,212] INFO x"
OFFSETS = {  # why -> when the wrapper wrote it, offset
    "the same time": ("2026-11-21T11:44:16.3Z", b""),
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
