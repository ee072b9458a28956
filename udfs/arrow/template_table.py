"""Log templates as tables of numbers, so that a batch looks up what it needs by number, not template by template.

A batch of some ten thousand lines has a thousand templates of several captures each, and going through them in Python
would cost as much as slicing out their values. The tables grow with the templates of a cache (`udfs.arrow.templates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from udfs.arrow.captures import ONCE, Capture
from udfs.arrow.log_template import LogTemplate
from udfs.logs.arrays import Longs
from udfs.rules.rule import ValueKind


def _flags(numbers: Longs) -> npt.NDArray[np.bool_]:
    return numbers.astype(np.bool_)


class Numbered(dict[Any, int]):
    """Numbers different things from 0, so that `map(numbered.__getitem__, things)` runs without a Python call each."""

    def __missing__(self, thing: Any) -> int:
        number = self[thing] = len(self)
        return number


class Growing:
    """An array to which numbers are added one by one, or rows of `width` numbers."""

    def __init__(self, *width: int) -> None:
        self._width = width
        self._array = np.zeros((0, *width), np.int64)
        self._new: list[int | Sequence[int]] = []

    def __len__(self) -> int:
        return len(self._array) + len(self._new)

    def add(self, row: int | Sequence[int]) -> None:
        """One more."""
        self._new.append(row)

    def pad(self, length: int, row: int) -> None:
        """As many more of the same as make it so long."""
        self._new += [row] * (length - len(self))

    @property
    def array(self) -> Longs:
        """All so far."""
        if self._new:
            new = np.array(self._new, np.int64).reshape(-1, *self._width)
            self._array, self._new = np.concatenate([self._array, new]), []
        return self._array


class CaptureTable:
    """Captures by number: where their values stand, and which template each is of."""

    def __init__(self) -> None:
        self.captures: list[Capture] = []
        self._templates, self._spans, self._cells = Growing(), Growing(4), Growing(4)

    def add(self, template: int, capture: Capture) -> None:
        """One more capture."""
        self.captures.append(capture)
        self._templates.add(template)
        self._spans.add(capture.span)
        self._cells.add((capture.first, capture.count, capture.is_negative, capture.layer))

    @property
    def templates(self) -> Longs:
        """The template of each capture."""
        return self._templates.array

    @property
    def spans(self) -> Longs:
        """The `CaptureSpan` of each capture: rows of four."""
        return self._spans.array

    @property
    def firsts(self) -> Longs:
        """Which number of the line is the first of each capture."""
        return self._cells.array[:, 0]

    @property
    def counts(self) -> Longs:
        """How many numbers of the line each capture has."""
        return self._cells.array[:, 1]

    @property
    def is_negative(self) -> npt.NDArray[np.bool_]:
        """Whether a minus stands before the number of each capture."""
        return _flags(self._cells.array[:, 2])

    @property
    def layers(self) -> Longs:
        """Which capture wins where several fill a column."""
        return self._cells.array[:, 3]


class PartitionListTable(CaptureTable):
    """Captures of several partitions each, and by name where each value of each partition stands."""

    def __init__(self) -> None:
        super().__init__()
        self.first_part, self.part_count = Growing(), Growing()  # by capture
        self.is_once = Growing()  # by capture: whether each partition is given once, see `captures.ONCE`
        self._parts = 0
        self._values: dict[str, tuple[CaptureTable, Growing]] = {}

    def add(self, template: int, capture: Capture) -> None:
        """One more capture."""
        super().add(template, capture)
        self.first_part.add(self._parts)
        self.part_count.add(len(capture.parts))
        self.is_once.add(capture.kind in ONCE)
        for number, part in enumerate(capture.parts, self._parts):
            for value in {value.name: value for value in part}.values():
                values, of_part = self._values.setdefault(value.name, (CaptureTable(), Growing()))
                of_part.pad(number, -1)
                of_part.add(len(values.captures))
                values.add(template, value)
        self._parts += len(capture.parts)

    def values(self, name: str) -> tuple[CaptureTable, Longs] | None:
        """Captures of a value of partitions, and which of them each part has, -1 for none; None if no part has one."""
        if name not in self._values:
            return None
        values, of_part = self._values[name]
        of_part.pad(self._parts, -1)
        return values, of_part.array


class TemplateTable:
    """The templates of a cache, by their number."""

    def __init__(self) -> None:
        self.levels, self.loggers = Numbered(), Numbered()
        self.names = Numbered()  # of fields
        self.fields = CaptureTable()  # those of a template one after another, by name
        self.field_names = Growing()  # of each of `fields`
        self.captures: dict[tuple[str, str, ValueKind | None, int], CaptureTable] = {}
        """Captures of columns, those together that are read alike: by how, name, kind (for `python` only) and layer."""
        self._properties = Growing(7)
        self._at, self._prefix, self._message = Growing(4), Growing(4), Growing(4)

    def __len__(self) -> int:
        return len(self._properties)

    def add(self, template: LogTemplate) -> None:
        """One more template."""
        number = len(self)
        self._properties.add(
            (
                -1 if template.rule is None else template.rule,
                template.is_wholly_scoped,
                self.levels[template.level],
                self.loggers[template.logger],
                len(self.fields.captures),
                len(template.fields),
                template.is_drifted,
            )
        )
        self._at.add(template.at)
        self._prefix.add(template.prefix)
        self._message.add(template.message)
        for capture in template.fields:
            self.fields.add(number, capture)
            self.field_names.add(self.names[capture.name])
        for capture in template.captures:
            alike = capture.how, capture.name, capture.kind if capture.how == "python" else None, capture.layer
            if alike not in self.captures:
                self.captures[alike] = PartitionListTable() if capture.how == "states" else CaptureTable()
            self.captures[alike].add(number, capture)

    @property
    def rules(self) -> Longs:
        """Index in RULES; -1 if no rule matches the template."""
        return self._properties.array[:, 0]

    @property
    def is_wholly_scoped(self) -> npt.NDArray[np.bool_]:
        """Whether each record of the logger must match a rule."""
        return _flags(self._properties.array[:, 1])

    @property
    def level(self) -> Longs:
        """Which of `levels`."""
        return self._properties.array[:, 2]

    @property
    def logger(self) -> Longs:
        """Which of `loggers`; one of them may be empty: the line is torn or cut off."""
        return self._properties.array[:, 3]

    @property
    def first_field(self) -> Longs:
        """Which of `fields` is its first."""
        return self._properties.array[:, 4]

    @property
    def field_count(self) -> Longs:
        """How many of `fields` it has."""
        return self._properties.array[:, 5]

    @property
    def is_drifted(self) -> npt.NDArray[np.bool_]:
        """Whether its rule knows it only in part."""
        return _flags(self._properties.array[:, 6])

    @property
    def at(self) -> Longs:
        """Where the time stamp stands, a `CaptureSpan`: rows of four; so the next two."""
        return self._at.array

    @property
    def prefix(self) -> Longs:
        """Where the prefix stands; empty if there is no known prefix."""
        return self._prefix.array

    @property
    def message(self) -> Longs:
        """Where the message stands."""
        return self._message.array
