"""Where the values stand in the lines of a form: told by the numbers of the line, whatever their digits.

A text that a reader takes apart, such as a list of partitions, is read once for a form: with a number of its own in
place of each number it is seen which number or which part of the text each value is. What cannot be told so, such as
JSON, is left to the reader.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from udfs.rules.parsing import read_value
from udfs.rules.rule import COLUMNS, KINDS, ValueKind
from udfs.rules.values import partition_name

SHORT = 9
"""Digits of a number that any column of numbers holds."""
NUMBER = re.compile(rb"\d+")


class Span(NamedTuple):
    """Where a value stands in the lines of a form: begin and end, each as an offset from the end of a number of the
    line, counted from 0; number -1 is the begin of the line."""

    after: int
    offset: int
    end_after: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A marked value. `layer`: of two marks of one line that may fill the same column the one with the higher counts.

    `how` it is read: `int` and `ids` from the digits of the line's numbers `first`, of which there are `count`; `text`
    as it is; `field` the same for `fields`; `states` from the marks of each partition, in order, `parts`; `python` by
    the reader of its kind.
    """

    how: str
    name: str
    kind: ValueKind
    layer: int
    span: Span
    first: int = 0
    count: int = 1
    is_negative: bool = False
    parts: tuple[tuple[Mark, ...], ...] = ()


class Digits:
    """A text and the numbers in it, by which places in it are told."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        places = [m.span() for m in NUMBER.finditer(text)]
        self.starts = [start for start, _ in places]
        self.ends = [end for _, end in places]

    def place(self, position: int) -> tuple[int, int] | None:
        """A position as a number of the text and an offset from its end; None within a number."""
        number = bisect_right(self.ends, position) - 1
        if number + 1 < len(self.starts) and self.starts[number + 1] < position:
            return None
        return number, position - (self.ends[number] if number >= 0 else 0)

    def span(self, start: int, end: int) -> Span:
        """A part of the text. What begins or ends within a number is told from the begin: right for this text only."""
        return Span(*(self.place(start) or (-1, start)), *(self.place(end) or (-1, end)))

    def cut(self, span: Span) -> str:
        """The part of the text that a span tells."""
        start, end = (
            offset + (self.ends[after] if after >= 0 else 0)
            for after, offset in ((span[0], span[1]), (span[2], span[3]))
        )
        return self.text[start:end].decode("utf-8", "backslashreplace")

    def number(self, i: int) -> int:
        """A number of the text."""
        return int(self.text[self.starts[i] : self.ends[i]])

    def within(self, start: int, end: int) -> range:
        """The numbers in a part of the text."""
        return range(bisect_left(self.starts, start), bisect_right(self.ends, end))


def marks_of(
    line: Digits, name: str, kind: ValueKind, place: tuple[int, int], before: Sequence[Mark]
) -> Iterator[Mark]:
    """How a marked value is read from the lines of a form; `before` are the marks before it."""
    start, end = place
    text = line.text[start:end]
    inside = line.within(start, end)
    is_short = all(line.ends[i] - line.starts[i] <= SHORT for i in inside)
    parts = _parts(line, name, kind, place) if kind in _BY_FORM and is_short else None

    def mark(
        how: str, name: str, start: int, end: int, first: int = 0, count: int = 1, is_negative: bool = False
    ) -> Mark:
        return Mark(how, name, kind, _layer(how, name, before), line.span(start, end), first, count, is_negative)

    if kind is KINDS["tp"] and is_short and inside:
        topic = len(partition_name(text.decode("utf-8", "backslashreplace"))[0].encode())
        start += text[:1] in (b"[", b"(")
        yield mark("text", "topic", start, start + topic)
        yield mark("int", "partition", start, end, inside[-1])
    elif parts is not None:
        yield from (replace(part, layer=_layer(part.how, part.name, before)) for part in parts)
    elif kind.spreads:
        yield mark("python", "", start, end)
    elif name not in COLUMNS:
        yield mark("field", name, start, end)
    elif COLUMNS[name] == "int" and kind.read is int and len(inside) == 1 and is_short:
        yield mark("int", name, start, end, inside[0], is_negative=text[:1] == b"-")
    elif COLUMNS[name] == "ids" and kind in _ID_LISTS and is_short and b"-" not in text and b"brokerId=" not in text:
        yield mark("ids", name, start, end, inside[0] if inside else 0, len(inside))
    elif COLUMNS[name] == "text" and kind.read is None:
        yield mark("text", name, start, end)
    else:
        yield mark("python", name, start, end)


_ID_LISTS = [KINDS[name] for name in ("ids", "csv", "list")]


def _layer(how: str, name: str, before: Sequence[Mark]) -> int:
    return 1 + max((mark.layer for mark in before if _may_clash(mark, how, name)), default=-1)


def _may_clash(mark: Mark, how: str, name: str) -> bool:
    """Whether two values may be for the same column or field."""
    spreads = not mark.name or not name or "python" in (mark.how, how)  # a reader may tell more than its name
    return spreads or mark.name == name


# ------------------------------------------------------------------------------------------- what readers tell, by form

_BY_FORM = [
    KINDS[name]
    for name in (
        "tps", "names", "fetched", "assignments", "states", "named_replicas", "unsent", "replicas_list",
        "replica_states", "partition_states", "results", "response",
    )
]  # fmt: skip
"""Kinds whose readers look for words and numbers only, so that it does not matter which numbers."""
ONCE = [KINDS[name] for name in ("tps", "names", "replicas_list", "replica_states", "partition_states", "results")]
"""Of them those that tell each partition once, and nothing else of it."""
LONGEST = 16 << 10
"""Bytes of a text that is read by form; longer lists are seldom written twice, and their marks would take much memory."""
_FIRST = 10 ** (SHORT - 1)


def _parts(line: Digits, name: str, kind: ValueKind, place: tuple[int, int]) -> list[Mark] | None:
    """Marks for all that the reader of a kind tells of a text; None if its values are not numbers and parts of it.

    They are found in the text with other numbers, all of nine digits and different, and must tell the same of the text
    itself. Which lines of the form name a partition twice they cannot tell; whoever uses them must see to that.
    """
    start, end = place
    text = line.text[start:end]
    if (name not in COLUMNS and not kind.spreads) or not text.isascii() or b'"' in text or len(text) > LONGEST:
        return None
    inside = line.within(start, end)
    pieces, last = [], start
    for order, i in enumerate(inside):
        pieces += [line.text[last : line.starts[i]], b"%d" % (_FIRST + order)]
        last = line.ends[i]
    other = b"".join([*pieces, line.text[last:end]])
    try:
        found = _Probe(line, kind, place, Digits(other), inside).marks(read_value(name, kind, other))
        if found is None or told(found, line) != read_value(name, kind, text):
            return None
    except Exception:  # whatever a reader stumbles over: the columnar reader stumbles over it again
        return None
    return found


@dataclass(frozen=True)
class _Probe:
    """A text that is read to see where its values stand: `other`, in which the numbers `inside` the line are others."""

    line: Digits
    kind: ValueKind
    place: tuple[int, int]
    other: Digits
    inside: range

    def marks(self, values: Mapping[str, Any], columns: Mapping[str, Any] = COLUMNS) -> list[Mark] | None:
        """Marks for values of the other text; None if one of them cannot be marked."""
        found = [self._mark(name, value, name in columns) for name, value in values.items()]
        return None if None in found else [mark for mark in found if mark is not None]

    def _mark(self, name: str, value: Any, is_column: bool) -> Mark | None:
        if isinstance(value, str):
            span = self._span(value.encode())
            return span and Mark("text" if is_column else "field", name, self.kind, 0, span)
        whole = self.line.span(*self.place)
        if isinstance(value, int):
            i = self._number(abs(value))
            return None if i is None else Mark("int", name, self.kind, 0, whole, i, is_negative=value < 0)
        if all(isinstance(one, int) for one in value) and name != "partitions":
            numbers = [self._number(one) for one in value]
            first = numbers[0] if numbers else 0
            if first is None or numbers != list(range(first, first + len(numbers))):
                return None
            return Mark("ids", name, self.kind, 0, whole, first, len(numbers))
        parts = [self.marks(one, one) for one in value]
        if None in parts:
            return None
        return Mark("states", name, self.kind, 0, whole, parts=tuple(tuple(part or ()) for part in parts))

    def _number(self, value: int) -> int | None:
        """Which number of the line one of the other text is."""
        order = value - _FIRST
        return self.inside[order] if 0 <= order < len(self.inside) else None

    def _span(self, value: bytes) -> Span | None:
        """Where in the line a part of the other text stands; the first place of several, for they say the same."""
        start = self.other.text.find(value)
        edges = [self.other.place(start), self.other.place(start + len(value))]
        if start < 0 or None in edges:
            return None
        return Span(*(part for edge in edges for part in self._in_line(*edge)))  # type: ignore[misc]

    def _in_line(self, after: int, offset: int) -> tuple[int, int]:
        """A place of the other text as one of the line."""
        if after >= 0:
            return self.inside[after], offset
        return self.line.place(self.place[0] + offset) or (-1, self.place[0] + offset)


def told(marks: Sequence[Mark], line: Digits) -> dict[str, Any]:
    """What marks tell of a line."""
    return {mark.name: _told(mark, line) for mark in marks}


def _told(mark: Mark, line: Digits) -> Any:
    if mark.how == "int":
        return -line.number(mark.first) if mark.is_negative else line.number(mark.first)
    if mark.how == "ids":
        return [line.number(i) for i in range(mark.first, mark.first + mark.count)]
    if mark.how == "states":
        states = [told(part, line) for part in mark.parts]
        return list({tuple(one.items()): one for one in states}.values()) if mark.kind in ONCE else states
    return line.cut(mark.span)
