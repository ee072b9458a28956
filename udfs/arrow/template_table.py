"""Forms as tables of numbers, so that what a batch needs of its forms is taken by number, not asked of form after form.

A batch of some ten thousand lines has a thousand forms of several marks each, and going through them in Python would
cost as much as cutting out their values. The tables grow with the forms of a book (`udfs.arrow.templates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from udfs.arrow.captures import ONCE, Mark
from udfs.logs.framing import Longs
from udfs.rules.rule import ValueKind

if TYPE_CHECKING:
    from udfs.arrow.templates import LogTemplate


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


class Marks:
    """Marks by number: where their values stand, and which form each is of."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self._templates, self._spans, self._cells = Growing(), Growing(4), Growing(4)

    def add(self, form: int, mark: Mark) -> None:
        """One more mark."""
        self.marks.append(mark)
        self._templates.add(form)
        self._spans.add(mark.span)
        self._cells.add((mark.first, mark.count, mark.is_negative, mark.layer))

    @property
    def templates(self) -> Longs:
        """The form of each mark."""
        return self._templates.array

    @property
    def spans(self) -> Longs:
        """A `Span` of each mark: rows of four."""
        return self._spans.array

    @property
    def firsts(self) -> Longs:
        """Which number of the line is the first of each mark."""
        return self._cells.array[:, 0]

    @property
    def counts(self) -> Longs:
        """How many numbers of the line each mark has."""
        return self._cells.array[:, 1]

    @property
    def is_negative(self) -> npt.NDArray[np.bool_]:
        """Whether a minus stands before the number of each mark."""
        return _flags(self._cells.array[:, 2])

    @property
    def layers(self) -> Longs:
        """Which mark counts where several fill a column."""
        return self._cells.array[:, 3]


class States(Marks):
    """Marks of several partitions each, and by name what stands where of each partition."""

    def __init__(self) -> None:
        super().__init__()
        self.first_part, self.part_count = Growing(), Growing()  # by mark
        self.is_once = Growing()  # by mark: whether each partition is told once, see `marks.ONCE`
        self._parts = 0
        self._values: dict[str, tuple[Marks, Growing]] = {}

    def add(self, form: int, mark: Mark) -> None:
        """One more mark."""
        super().add(form, mark)
        self.first_part.add(self._parts)
        self.part_count.add(len(mark.parts))
        self.is_once.add(mark.kind in ONCE)
        for number, part in enumerate(mark.parts, self._parts):
            for value in {value.name: value for value in part}.values():
                values, of_part = self._values.setdefault(value.name, (Marks(), Growing()))
                of_part.pad(number, -1)
                of_part.add(len(values.marks))
                values.add(form, value)
        self._parts += len(mark.parts)

    def values(self, name: str) -> tuple[Marks, Longs] | None:
        """Marks of a value of partitions, and which of them each part has, -1 for none; None if no part has one."""
        if name not in self._values:
            return None
        values, of_part = self._values[name]
        of_part.pad(self._parts, -1)
        return values, of_part.array


class TemplateTable:
    """What is known of the forms of a book, by their number."""

    def __init__(self) -> None:
        self.levels, self.loggers = Numbered(), Numbered()
        self.names = Numbered()  # of fields
        self.fields = Marks()  # those of a form one after another, by name
        self.field_names = Growing()  # of each of `fields`
        self.marks: dict[tuple[str, str, ValueKind | None, int], Marks] = {}
        """Of columns, those together that are read alike: by how, name, kind (of readers in Python) and layer."""
        self._said = Growing(6)
        self._at, self._prefix, self._message = Growing(4), Growing(4), Growing(4)

    def __len__(self) -> int:
        return len(self._said)

    def add(self, form: LogTemplate) -> None:
        """One more form."""
        number = len(self)
        self._said.add(
            (
                -1 if form.rule is None else form.rule,
                form.is_whole,
                self.levels[form.level],
                self.loggers[form.logger],
                len(self.fields.marks),
                len(form.fields),
            )
        )
        self._at.add(form.at)
        self._prefix.add(form.prefix)
        self._message.add(form.message)
        for mark in form.fields:
            self.fields.add(number, mark)
            self.field_names.add(self.names[mark.name])
        for mark in form.marks:
            alike = mark.how, mark.name, mark.kind if mark.how == "python" else None, mark.layer
            if alike not in self.marks:
                self.marks[alike] = States() if mark.how == "states" else Marks()
            self.marks[alike].add(number, mark)

    @property
    def rules(self) -> Longs:
        """Index in RULES; -1 if no rule knows the form."""
        return self._said.array[:, 0]

    @property
    def is_whole(self) -> npt.NDArray[np.bool_]:
        """Whether each record of the logger must be known."""
        return _flags(self._said.array[:, 1])

    @property
    def level(self) -> Longs:
        """Which of `levels`."""
        return self._said.array[:, 2]

    @property
    def logger(self) -> Longs:
        """Which of `loggers`; one of them may be empty: the line is torn or cut."""
        return self._said.array[:, 3]

    @property
    def first_field(self) -> Longs:
        """Which of `fields` is its first."""
        return self._said.array[:, 4]

    @property
    def field_count(self) -> Longs:
        """How many of `fields` it has."""
        return self._said.array[:, 5]

    @property
    def at(self) -> Longs:
        """Where the time stamp stands, a `Span`: rows of four; so the next two."""
        return self._at.array

    @property
    def prefix(self) -> Longs:
        """Where the prefix stands; empty if there is none that is known."""
        return self._prefix.array

    @property
    def message(self) -> Longs:
        """Where the message stands."""
        return self._message.array
