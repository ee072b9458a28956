"""Values cut out of the bytes of many records at once: texts, numbers and lists of numbers as Arrow arrays.

Where a value stands in a record its form tells (`udfs.forms`). A text becomes a slice of the bytes, a number is summed
up from its digits; neither is ever an object of Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from udfs.forms import Form
from udfs.framing import Longs
from udfs.marks import Span

Array = Any
"""An Arrow array; the stubs of pyarrow know neither `take` by numbers nor maps as they are used here."""
Flags = npt.NDArray[np.bool_]


def text(raw: Sequence[bytes | None]) -> Array:
    """Bytes -> strings; bytes that are not UTF-8 as `\\xNN`."""
    try:
        return pa.array(raw, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if b is None else b.decode("utf-8", "backslashreplace") for b in raw], pa.string())


@dataclass(frozen=True)
class Text:
    """Bytes, and where each number in them begins and ends, in order."""

    data: bytes
    number_starts: Longs
    number_ends: Longs

    @cached_property
    def codes(self) -> npt.NDArray[np.uint8]:
        """The bytes as numbers."""
        return np.frombuffer(self.data, np.uint8)

    @cached_property
    def is_ascii(self) -> bool:
        """Whether each byte is a character."""
        return self.data.isascii()

    @cached_property
    def is_utf8(self) -> bool:
        """Whether the bytes are UTF-8 as a whole."""
        try:
            self.data.decode()
        except UnicodeDecodeError:
            return False
        return True

    def raw(self, starts: Longs, ends: Longs) -> list[bytes]:
        """Parts of the bytes, one by one."""
        return [self.data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]

    def strings(self, starts: Longs, ends: Longs) -> Array:
        """Parts of the bytes as text."""
        if self.is_ascii or (self.is_utf8 and self._are_characters(starts) and self._are_characters(ends)):
            return self._slices(starts, ends, pa.string())
        return text(self.raw(starts, ends))

    def binaries(self, starts: Longs, ends: Longs) -> Array:
        """Parts of the bytes as they are."""
        return self._slices(starts, ends, pa.binary())

    def _are_characters(self, places: Longs) -> bool:
        """Whether a character begins at each place."""
        codes = self.codes[places[places < len(self.data)]]
        return not bool(((codes & 0xC0) == 0x80).any())

    def _slices(self, starts: Longs, ends: Longs, kind: pa.DataType) -> Array:
        """Every second value of an array whose values are the parts, and what is from one part to the next."""
        offsets = np.zeros(2 * len(starts) + 2, np.int32)
        offsets[1:-1:2], offsets[2:-1:2], offsets[-1] = starts, ends, len(self.data)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.data)]
        parts: Array = pa.Array.from_buffers(kind, len(offsets) - 1, buffers)
        return parts.take(pa.array(np.arange(1, len(offsets) - 1, 2)))

    def integers(self, numbers: Longs, is_negative: Flags | None = None) -> npt.NDArray[np.int32]:
        """The values of some of the numbers, none of which has more than nine digits."""
        ends = self.number_ends[numbers]
        lengths = ends - self.number_starts[numbers]
        values = self.codes[ends - 1].astype(np.int32) - 48
        left, place = np.flatnonzero(lengths > 1), 1
        while len(left):
            values[left] += (self.codes[ends[left] - 1 - place].astype(np.int32) - 48) * np.int32(10**place)
            place += 1
            left = left[lengths[left] > place]
        if is_negative is not None:
            np.negative(values, out=values, where=is_negative)
        return values


@dataclass(frozen=True)
class Rows:
    """Records in order, as places in a text, each with its form: its index in `forms`."""

    text: Text
    forms: list[Form]
    form: Longs
    starts: Longs
    head_ends: Longs
    ends: Longs
    first_numbers: Longs  # which number of the text is the record's first

    def __len__(self) -> int:
        return len(self.form)

    def those(self, kept: Longs) -> Rows:
        """Some of the rows."""
        parts = (self.form, self.starts, self.head_ends, self.ends, self.first_numbers)
        return Rows(self.text, self.forms, *(part[kept] for part in parts))

    def of_forms(self, forms: Sequence[int]) -> tuple[Longs, Longs]:
        """The rows of some forms, in order, and for each which one of these forms it has."""
        order = np.full(len(self.forms), -1)
        order[np.array(forms, np.int64)] = np.arange(len(forms))
        which = order[self.form]
        rows = np.flatnonzero(which >= 0)
        return rows, which[rows]

    def cut(self, rows: Longs, spans: Sequence[Span], which: Longs) -> tuple[Longs, Longs]:
        """Where in the text a part of each row begins and ends; `which` of the spans it is."""
        after, offset, end_after, end_offset = np.fromiter(chain.from_iterable(spans), np.int64).reshape(-1, 4).T
        return self._places(rows, after, offset, which), self._places(rows, end_after, end_offset, which)

    def _places(self, rows: Longs, after: Longs, offset: Longs, which: Longs) -> Longs:
        if (after < 0).all():
            return self.starts[rows] + offset[which]
        number = after[which]
        ends = self.text.number_ends[self.first_numbers[rows] + np.maximum(number, 0)]
        if (after < 0).any():
            ends = np.where(number < 0, self.starts[rows], ends)
        return ends + offset[which]

    def whole(self, spans: Sequence[Span]) -> tuple[Longs, Longs]:
        """Where in the text a part of every row begins and ends; one span for each form."""
        return self.cut(np.arange(len(self)), spans, self.form)

    def integers(self, rows: Longs, numbers: Longs, is_negative: Flags) -> Array:
        """For each row one of its numbers."""
        return pa.array(self.text.integers(self.first_numbers[rows] + numbers, is_negative))

    def lists(self, rows: Longs, firsts: Longs, counts: Longs) -> Array:
        """For each row so many of its numbers, from the given one on."""
        numbers = spread(self.first_numbers[rows] + firsts, counts)
        return pa.ListArray.from_arrays(offsets(counts), pa.array(self.text.integers(numbers)))


def offsets(counts: Longs) -> Array:
    """Where each of several lists begins in the array that holds them all, and at last where that ends."""
    return pa.array(np.append(0, np.cumsum(counts)), pa.int32())


def spread(firsts: Longs, counts: Longs) -> Longs:
    """For each first number so many numbers from it on.

    >>> spread(np.array([7, 3]), np.array([3, 2])).tolist()
    [7, 8, 9, 3, 4]
    """
    ends = np.cumsum(counts)
    return np.repeat(firsts - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)
