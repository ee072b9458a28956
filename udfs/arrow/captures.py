"""Captures: where the values stand in the lines of a log template, relative to the numbers of the line.

A text that a reader takes apart, such as a list of partitions, is read once for a template: with a different number in
place of each number, the values read show which number or which part of the text each of them is. Where that does not
work, as with JSON, the reader itself is called for each text.
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
"""Digits of a number that fits any column of numbers."""
NUMBER = re.compile(rb"\d+")


class CaptureSpan(NamedTuple):
    """Where a value stands in the lines of a template: begin and end, each as an offset from the end of a number of the
    line, counted from 0; number -1 is the begin of the line."""

    after: int
    offset: int
    end_after: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class Capture:
    """How one value is read. `layer`: of two captures of one line that may fill the same column the higher one wins.

    `how` it is read: `int` and `ids` from the digits of the line's numbers `first`, of which there are `count`; `text`
    as it is; `field` the same for `fields`; `states` from the captures of each partition, in order, `parts`; `python`
    by the reader of its kind.
    """

    how: str
    name: str
    kind: ValueKind
    layer: int
    span: CaptureSpan
    first: int = 0
    count: int = 1
    is_negative: bool = False
    parts: tuple[tuple[Capture, ...], ...] = ()


class NumberedText:
    """A text and the numbers in it, relative to which positions in it are given."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        spans = [m.span() for m in NUMBER.finditer(text)]
        self.starts = [start for start, _ in spans]
        self.ends = [end for _, end in spans]

    def position(self, index: int) -> tuple[int, int] | None:
        """An index of the text as one of its numbers and an offset from that one's end; None within a number."""
        number = bisect_right(self.ends, index) - 1
        if number + 1 < len(self.starts) and self.starts[number + 1] < index:
            return None
        return number, index - (self.ends[number] if number >= 0 else 0)

    def span(self, start: int, end: int) -> CaptureSpan:
        """A part of the text. What begins or ends within a number is counted from the begin: right for this
        text only."""
        return CaptureSpan(*(self.position(start) or (-1, start)), *(self.position(end) or (-1, end)))

    def slice(self, span: CaptureSpan) -> str:
        """The part of the text at a span."""
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


def captures_of(
    line: NumberedText, name: str, kind: ValueKind, edges: tuple[int, int], before: Sequence[Capture]
) -> Iterator[Capture]:
    """How a value of a rule is read from the lines of a template; `before` are the captures before it."""
    start, end = edges
    text = line.text[start:end]
    inside = line.within(start, end)
    is_short = all(line.ends[i] - line.starts[i] <= SHORT for i in inside)
    parts = _parts(line, name, kind, edges) if kind in _BY_TEMPLATE and is_short else None

    def capture(
        how: str, name: str, start: int, end: int, first: int = 0, count: int = 1, is_negative: bool = False
    ) -> Capture:
        return Capture(how, name, kind, _layer(how, name, before), line.span(start, end), first, count, is_negative)

    if kind is KINDS["tp"] and is_short and inside:
        topic = len(partition_name(text.decode("utf-8", "backslashreplace"))[0].encode())
        start += text[:1] in (b"[", b"(")
        yield capture("text", "topic", start, start + topic)
        yield capture("int", "partition", start, end, inside[-1])
    elif parts is not None:
        yield from (replace(part, layer=_layer(part.how, part.name, before)) for part in parts)
    elif kind.spreads:
        yield capture("python", "", start, end)
    elif name not in COLUMNS:
        yield capture("field", name, start, end)
    elif COLUMNS[name] == "int" and kind.read is int and len(inside) == 1 and is_short:
        yield capture("int", name, start, end, inside[0], is_negative=text[:1] == b"-")
    elif COLUMNS[name] == "ids" and kind in _ID_LISTS and is_short and b"-" not in text and b"brokerId=" not in text:
        yield capture("ids", name, start, end, inside[0] if inside else 0, len(inside))
    elif COLUMNS[name] == "text" and kind.read is None:
        yield capture("text", name, start, end)
    else:
        yield capture("python", name, start, end)


_ID_LISTS = [KINDS[name] for name in ("ids", "csv", "list")]


def _layer(how: str, name: str, before: Sequence[Capture]) -> int:
    return 1 + max((capture.layer for capture in before if _may_clash(capture, how, name)), default=-1)


def _may_clash(capture: Capture, how: str, name: str) -> bool:
    """Whether two values may be for the same column or field."""
    spreads = not capture.name or not name or "python" in (capture.how, how)  # a reader may give more than its name
    return spreads or capture.name == name


# ------------------------------------------------------------------------------- what readers give, by template

_BY_TEMPLATE = [
    KINDS[name]
    for name in (
        "tps", "names", "fetched", "assignments", "states", "named_replicas", "unsent", "replicas_list",
        "replica_states", "partition_states", "results", "response",
    )
]  # fmt: skip
"""Kinds whose readers look for words and numbers only, so that it does not matter which numbers."""
ONCE = [KINDS[name] for name in ("tps", "names", "replicas_list", "replica_states", "partition_states", "results")]
"""Of them those that give each partition once, and nothing else of it."""
LONGEST = 16 << 10
"""Bytes of a text that is read by template; longer lists are seldom written twice, and their captures would take much
memory."""
_FIRST = 10 ** (SHORT - 1)


def _parts(line: NumberedText, name: str, kind: ValueKind, edges: tuple[int, int]) -> list[Capture] | None:
    """Captures for all that the reader of a kind gives for a text; None if its values are not numbers and parts of it.

    They are found in the text with other numbers, all of nine digits and different, and must give the same for the text
    itself. They do not show which lines of the template name a partition twice; the caller must see to that.
    """
    start, end = edges
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
        captures = _Probe(line, kind, edges, NumberedText(other), inside).captures(read_value(name, kind, other))
        if captures is None or captured_values(captures, line) != read_value(name, kind, text):
            return None
    except Exception:  # whatever the reader raises: the columnar reader will meet it again
        return None
    return captures


@dataclass(frozen=True)
class _Probe:
    """A text that is read to see where its values stand: `other`, in which the numbers `inside` the line are others."""

    line: NumberedText
    kind: ValueKind
    edges: tuple[int, int]
    other: NumberedText
    inside: range

    def captures(self, values: Mapping[str, Any], columns: Mapping[str, Any] = COLUMNS) -> list[Capture] | None:
        """Captures of values of the other text; None if one of them cannot be captured."""
        captures = [self._capture(name, value, name in columns) for name, value in values.items()]
        return None if None in captures else [capture for capture in captures if capture is not None]

    def _capture(self, name: str, value: Any, is_column: bool) -> Capture | None:
        if isinstance(value, str):
            span = self._span(value.encode())
            return span and Capture("text" if is_column else "field", name, self.kind, 0, span)
        whole = self.line.span(*self.edges)
        if isinstance(value, int):
            i = self._number(abs(value))
            return None if i is None else Capture("int", name, self.kind, 0, whole, i, is_negative=value < 0)
        if all(isinstance(one, int) for one in value) and name != "partitions":
            numbers = [self._number(one) for one in value]
            first = numbers[0] if numbers else 0
            if first is None or numbers != list(range(first, first + len(numbers))):
                return None
            return Capture("ids", name, self.kind, 0, whole, first, len(numbers))
        parts = [self.captures(one, one) for one in value]
        if None in parts:
            return None
        return Capture("states", name, self.kind, 0, whole, parts=tuple(tuple(part or ()) for part in parts))

    def _number(self, value: int) -> int | None:
        """Which number of the line one of the other text is."""
        order = value - _FIRST
        return self.inside[order] if 0 <= order < len(self.inside) else None

    def _span(self, value: bytes) -> CaptureSpan | None:
        """Where in the line a part of the other text stands; the first of several, for they are the same."""
        start = self.other.text.find(value)
        edges = [self.other.position(start), self.other.position(start + len(value))]
        if start < 0 or None in edges:
            return None
        return CaptureSpan(*(part for edge in edges for part in self._in_line(*edge)))  # type: ignore[misc]

    def _in_line(self, after: int, offset: int) -> tuple[int, int]:
        """A position of the other text as one of the line."""
        if after >= 0:
            return self.inside[after], offset
        return self.line.position(self.edges[0] + offset) or (-1, self.edges[0] + offset)


def captured_values(captures: Sequence[Capture], line: NumberedText) -> dict[str, Any]:
    """The values of captures in a line."""
    return {capture.name: _captured_value(capture, line) for capture in captures}


def _captured_value(capture: Capture, line: NumberedText) -> Any:
    if capture.how == "int":
        return -line.number(capture.first) if capture.is_negative else line.number(capture.first)
    if capture.how == "ids":
        return [line.number(i) for i in range(capture.first, capture.first + capture.count)]
    if capture.how == "states":
        states = [captured_values(part, line) for part in capture.parts]
        return list({tuple(one.items()): one for one in states}.values()) if capture.kind in ONCE else states
    return line.slice(capture.span)
