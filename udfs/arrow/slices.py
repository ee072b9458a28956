"""Values sliced out of the bytes of many records at once: texts, numbers and lists of numbers as Arrow arrays.

Where a value stands in a record is in its log template (`udfs.arrow.templates`). A text becomes a slice of the bytes, a
number is summed up from its digits; neither is ever an object of Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from udfs.arrow.template_table import TemplateTable
from udfs.logs.arrays import Flags, Longs

Array = Any
"""An Arrow array; the stubs of pyarrow know neither `take` by numbers nor maps as they are used here."""


def text(raw: Sequence[bytes | None]) -> Array:
    """Bytes -> strings; bytes that are not UTF-8 as `\\xNN`."""
    try:
        return pa.array(raw, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if b is None else b.decode("utf-8", "backslashreplace") for b in raw], pa.string())


@dataclass(frozen=True)
class BatchBytes:
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

    def _are_characters(self, positions: Longs) -> bool:
        """Whether a character begins at each position."""
        codes = self.codes[positions[positions < len(self.data)]]
        return not bool(((codes & 0xC0) == 0x80).any())

    def _slices(self, starts: Longs, ends: Longs, kind: pa.DataType) -> Array:
        """Every second value of an array whose values are the parts, and what is from one part to the next."""
        offsets = np.zeros(2 * len(starts) + 2, np.int32)
        offsets[1:-1:2], offsets[2:-1:2], offsets[-1] = starts, ends, len(self.data)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.data)]
        parts: Array = pa.Array.from_buffers(kind, len(offsets) - 1, buffers)
        return parts.take(pa.array(np.arange(1, len(offsets) - 1, 2)))

    @cached_property
    def _words(self) -> npt.NDArray[np.uint64]:
        """The eight bytes from each position on as one number, the first byte lowest."""
        data = self.data.ljust(8)
        return np.ndarray((len(data) - 7,), "<u8", data, 0, (1,))

    def integers(self, numbers: Longs, is_negative: Flags | None = None) -> npt.NDArray[np.int32]:
        """The values of some of the numbers, none of which has more than nine digits.

        The last eight digits are one word, of which pairs, then fours, then all eight are summed up together.
        """
        ends = self.number_ends[numbers]
        lengths = ends - self.number_starts[numbers]
        digits = np.minimum(lengths, 8)
        begins, last = ends - digits, max(len(self.data) - 8, 0)
        words = self._words[np.minimum(begins, last)]
        words <<= (64 - 8 * digits).astype(np.uint64)
        words &= 0x0F0F0F0F0F0F0F0F
        words = ((words * 2561) >> 8) & 0x00FF00FF00FF00FF
        words = ((words * 6553601) >> 16) & 0x0000FFFF0000FFFF
        values: npt.NDArray[np.int32] = ((words * 42949672960001) >> 32).astype(np.int32)
        for i in np.flatnonzero(begins > last).tolist():  # at the end of the text
            values[i] = int(self.data[begins[i] : ends[i]])
        nine = np.flatnonzero(lengths > 8)
        values[nine] += (self.codes[begins[nine] - 1].astype(np.int32) - 48) * 10**8
        if is_negative is not None:
            np.negative(values, out=values, where=is_negative)
        return values


@dataclass(frozen=True)
class RecordRows:
    """Records in order, as positions in the bytes of a batch, each with the number of its template in `table`."""

    data: BatchBytes
    table: TemplateTable
    template: Longs
    starts: Longs
    head_ends: Longs
    ends: Longs
    first_numbers: Longs  # which number of the bytes is the record's first

    def __len__(self) -> int:
        return len(self.template)

    def take(self, indices: Longs) -> RecordRows:
        """Some of the rows."""
        if len(indices) == len(self):
            return self
        parts = (self.template, self.starts, self.head_ends, self.ends, self.first_numbers)
        return RecordRows(self.data, self.table, *(part[indices] for part in parts))

    @cached_property
    def _by_template(self) -> tuple[Longs, Longs, Longs]:
        """The rows in order of their templates; of each template its first row in that order, and how many it has."""
        narrow = self.template.astype(np.min_scalar_type(len(self.table)))  # up to 65,536 templates are sorted by radix
        order = np.argsort(narrow, kind="stable")
        counts = np.bincount(self.template, minlength=len(self.table))
        return order, np.cumsum(counts) - counts, counts

    def of_templates(self, templates: Longs) -> tuple[Longs, Longs]:
        """The rows of some templates, those of each in order, and which one of these templates each row has."""
        order, firsts, counts = self._by_template
        there = np.flatnonzero(counts[templates])
        used = templates[there]
        return order[spread(firsts[used], counts[used])], np.repeat(there, counts[used])

    def edges(self, rows: Longs, spans: Longs, which: Longs) -> tuple[Longs, Longs]:
        """Where in the bytes a part of each row begins and ends; `which` of the spans it is."""
        after, offset, end_after, end_offset = spans.take(which, axis=0).T  # several times as fast as spans[which]
        return self._positions(rows, after, offset), self._positions(rows, end_after, end_offset)

    def _positions(self, rows: Longs, after: Longs, offset: Longs) -> Longs:
        is_begin = after < 0
        if is_begin.all():
            return self.starts[rows] + offset
        # a record without numbers may be the last one
        ends = self.data.number_ends[np.where(is_begin, 0, self.first_numbers[rows] + after)]
        return (np.where(is_begin, self.starts[rows], ends) if is_begin.any() else ends) + offset

    def edges_by_template(self, spans: Longs) -> tuple[Longs, Longs]:
        """Where in the bytes a part of every row begins and ends; one span for each template."""
        return self.edges(np.arange(len(self)), spans, self.template)

    def integers(self, rows: Longs, numbers: Longs, is_negative: Flags) -> Array:
        """For each row one of its numbers."""
        return pa.array(self.data.integers(self.first_numbers[rows] + numbers, is_negative))

    def lists(self, rows: Longs, firsts: Longs, counts: Longs) -> Array:
        """For each row `counts` of its numbers, from number `firsts` on."""
        numbers = spread(self.first_numbers[rows] + firsts, counts)
        return pa.ListArray.from_arrays(offsets(counts), pa.array(self.data.integers(numbers)))


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
