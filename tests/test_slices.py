"""Values cut out of bytes are what Python would cut out one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.arrow.slices import BatchBytes, offsets, spread
from udfs.arrow.templates import numbers


def text_of(data: bytes) -> BatchBytes:
    return BatchBytes(data, *numbers(np.frombuffer(data, np.uint8)))


PARTS = {  # bytes, begins and ends -> texts
    "in order": (b"abcdef", [0, 2], [2, 6], ["ab", "cdef"]),
    "in any order, with overlaps": (b"abcdef", [4, 0, 1], [6, 3, 5], ["ef", "abc", "bcde"]),
    "empty ones, at the begin and the end": (b"abc", [0, 3], [0, 3], ["", ""]),
    "none": (b"abc", [], [], []),
    "of nothing": (b"", [0], [0], [""]),
    "UTF-8": ("aéb".encode(), [0, 1], [3, 4], ["aé", "éb"]),
    "UTF-8, cut within a character": ("aéb".encode(), [0, 2], [2, 4], ["a\\xc3", "\\xa9b"]),
    "not UTF-8": (b"a\xffb", [0, 1], [1, 3], ["a", "\\xffb"]),
}


@pytest.mark.parametrize("case", PARTS)
def test_strings(case: str) -> None:
    data, starts, ends, expected = PARTS[case]
    strings = text_of(data).strings(np.array(starts, np.int64), np.array(ends, np.int64))
    strings.validate(full=True)
    assert strings.to_pylist() == expected


def test_integers() -> None:
    text = text_of(b"x 7 042 -999999999 1000 0")
    assert text.integers(np.array([4, 0, 1, 2, 3, 2])).tolist() == [0, 7, 42, 999999999, 1000, 999999999]
    assert text.integers(np.array([2, 0]), np.array([True, False])).tolist() == [-999999999, 7]
    assert text.integers(np.array([], np.int64)).tolist() == []


@given(st.lists(st.integers(0, 999999999), min_size=1))
def test_integers_of_any_length(values: list[int]) -> None:
    text = text_of(b",".join(b"%d" % value for value in values))
    assert text.integers(np.arange(len(values))).tolist() == values


SPREAD = {  # first numbers, counts -> all numbers
    "each its own": ([7, 3], [3, 2], [7, 8, 9, 3, 4]),
    "some empty": ([7, 5, 3, 1], [0, 2, 0, 1], [5, 6, 1]),
    "all empty": ([7, 5], [0, 0], []),
    "none": ([], [], []),
}


@pytest.mark.parametrize("case", SPREAD)
def test_spread(case: str) -> None:
    firsts, counts, expected = SPREAD[case]
    assert spread(np.array(firsts, np.int64), np.array(counts, np.int64)).tolist() == expected


def test_offsets() -> None:
    assert offsets(np.array([2, 0, 1])).to_pylist() == [0, 2, 2, 3]
    assert offsets(np.array([], np.int64)).to_pylist() == [0]
