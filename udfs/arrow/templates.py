"""What the lines of a log have in common: lines that differ in their digits only have one form, and are matched once.

    [2024-02-29 23:59:59,999] TRACE [Broker id=3] Stopped fetchers as part of become-follower for 17 partitions (...)

The form of this line is the line with a mark for each number. Which rule knows the form, and after which of its numbers
each value begins and ends, is found by the rule's pattern from the first such line; all others look it up. Logs say the
same few hundred or thousand things again and again, so hardly a line is matched, and the values of all lines are cut
out of the bytes in compiled loops (`udfs.arrow.parse`).

That holds while it does not matter which digits they are, and how many (up to nine; longer numbers are marked
otherwise, for no column holds them). It is tried out for each form with other digits, see `_is_loose`. A line for
which it matters, such as one whose rule writes digits out, is matched by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from udfs.arrow.captures import NUMBER, SHORT, Digits, Mark, Span, marks_of
from udfs.arrow.template_table import TemplateTable
from udfs.logs.framing import Frames, Longs
from udfs.logs.layouts import Layout, full_logger, read_head
from udfs.rules.logger_scopes import is_wholly_scoped
from udfs.rules.lookup import candidates
from udfs.rules.parsing import split_prefix
from udfs.rules.prefixes import read_prefix
from udfs.rules.rule import Rule
from udfs.rules.rulebook import RULES

MAX_TEMPLATES = 20_000
"""Forms that are remembered; beyond that all are forgotten. A form takes some 3 kB, as do PARTS partitions of its lists."""
PARTS = 5

_DIGITS = b"0123456789"
_MARK, _LONG_MARK = 1, 2  # bytes that stand for a number in a key
Key = bytes | tuple[bytes, bytes]
"""A first line with a mark for each number; with it the logger where the line does not tell it."""


@dataclass(frozen=True, slots=True)
class LogTemplate:
    """What is the same in all lines of a form."""

    rule: int | None  # index in RULES; None: no rule knows it
    is_whole: bool  # whether each record of the logger must be known
    level: bytes
    logger: bytes  # empty if there is none: the line is torn or cut
    at: Span
    prefix: Span  # empty if there is none that is known
    message: Span
    marks: tuple[Mark, ...]  # of columns
    fields: tuple[Mark, ...]  # of `fields`, by name


@dataclass(frozen=True)
class Lines:
    """The records of a block with their forms, and the numbers in the block: byte positions in its data, in order.
    `first_numbers`: which of them is each record's first, or would be."""

    templates: Longs
    first_numbers: Longs
    number_starts: Longs
    number_ends: Longs


class TemplateCache:
    """The forms of one layout met so far, by number. Those of single lines are among them, but nobody finds them again."""

    def __init__(self, layout: Layout) -> None:
        self.templates: list[LogTemplate] = []
        self.table = TemplateTable()
        self._layout = layout
        self._numbers: dict[Key, int] = {}
        self._strict: set[Key] = set()  # of lines whose digits matter
        self._weight = 0  # of the forms, in ordinary ones

    @property
    def size(self) -> int:
        """How much is remembered: forms, those with long lists for several, and lines known to have none."""
        return self._weight + len(self._strict)

    def read(self, block: Frames) -> Lines:
        """The forms of a block's records."""
        data = np.frombuffer(block.data, np.uint8)
        starts, ends = numbers(data)
        keys, key_of = _keys(data, starts, ends)
        mine = key_of[: len(block)] if _is_each_a_line(block, data) else key_of[_lines(block)]
        forms = np.fromiter(map(self._numbers.get, keys, repeat(-1)), np.int64, len(keys))[mine]
        odd = _odd(block, data)
        forms[odd] = -1
        strange = set(odd.tolist())
        for i in np.flatnonzero(forms < 0).tolist():
            forms[i] = self._learn(block, i, None if i in strange else keys[mine[i]])
        return Lines(forms, np.searchsorted(starts, block.starts), starts, ends)

    def _learn(self, block: Frames, i: int, line: bytes | None) -> int:
        """The number of the form of one record; without its line's key it is its own."""
        if line in self._numbers:
            return self._numbers[line]
        start, head_end, end = int(block.starts[i]), int(block.head_ends[i]), int(block.ends[i])
        head = _head(self._layout, block.data, start, head_end, end)
        key = None if line is None else _key(line, head)
        if key in self._numbers:
            return self._numbers[key]
        may_be_loose = key is not None and key not in self._strict
        form, is_loose = _form(head, block.data[start:head_end], may_be_loose)
        number = len(self.templates)
        self.templates.append(form)
        self.table.add(form)
        self._weight += 1 + sum(len(mark.parts) for mark in form.marks) // PARTS
        if key is not None and is_loose:
            self._numbers[key] = number
        elif key is not None and may_be_loose:
            self._strict.add(key)
        return number


@lru_cache(maxsize=4)
def _shelf(layout: Layout) -> list[TemplateCache]:
    return [TemplateCache(layout)]


def template_cache(layout: Layout) -> TemplateCache:
    """The forms of a layout that this process knows."""
    shelf = _shelf(layout)
    if shelf[0].size > MAX_TEMPLATES:
        shelf[0] = TemplateCache(layout)
    return shelf[0]


def clear_templates() -> None:
    """Forget all forms; for tests that change rules."""
    _shelf.cache_clear()


def numbers(data: npt.NDArray[np.uint8]) -> tuple[Longs, Longs]:
    """Where each run of digits begins and ends."""
    is_digit = np.zeros(len(data) + 2, np.bool_)
    np.less(data - np.uint8(48), 10, out=is_digit[1:-1])
    edges = np.flatnonzero(is_digit[1:] != is_digit[:-1])
    return edges[::2], edges[1::2]


def _keys(data: npt.NDArray[np.uint8], starts: Longs, ends: Longs) -> tuple[list[bytes], Longs]:
    """The different lines of a block with a mark for each number, and which of them each line is; one line too many if
    the block ends with a line end."""
    text = bytearray(data)
    marked = np.frombuffer(text, np.uint8)
    marked[starts] = _MARK
    long = ends - starts > SHORT
    if long.any():
        marked[starts[long]] = _LONG_MARK
    text = text.translate(None, _DIGITS)
    line_ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    places = np.empty(len(line_ends) + 2, np.int32)
    places[0], places[1:-1], places[-1] = 0, line_ends + 1, len(text)
    lines = pa.Array.from_buffers(pa.binary(), len(places) - 1, [None, pa.py_buffer(places), pa.py_buffer(text)])
    found: Any = lines.dictionary_encode()
    return found.dictionary.to_pylist(), found.indices.to_numpy()


def _key(line: bytes, head: _Head) -> Key:
    """What a form is found by: the line's key, and the logger if that does not tell it, for it stands further below or
    has digits."""
    return line if head.is_usual and not NUMBER.search(head.logger) else (line, head.logger)


def _is_each_a_line(block: Frames, data: npt.NDArray[np.uint8]) -> bool:
    """Whether the lines of a block are its records, one each."""
    begins = np.append(0, block.head_ends[:-1])
    is_tight = np.array_equal(block.starts, begins) and np.array_equal(block.head_ends, block.ends)
    return is_tight and bool((data[block.head_ends[:-1] - 1] == 10).all())


def _lines(block: Frames) -> Longs:
    """For each record the line of the block that it begins on, from 0."""
    return np.searchsorted(block.newlines, block.starts)


def _odd(block: Frames, data: npt.NDArray[np.uint8]) -> Longs:
    """Records whose first line is not one whole line of the block, and those that hold marks."""
    odd = (block.starts > 0) & (data[np.maximum(block.starts - 1, 0)] != 10)
    odd |= (block.head_ends < len(data)) & (data[block.head_ends - 1] != 10)
    if any(bytes([mark]) in block.data for mark in (_MARK, _LONG_MARK)):
        marks = np.flatnonzero((data == _MARK) | (data == _LONG_MARK))
        odd |= np.searchsorted(marks, block.starts) != np.searchsorted(marks, block.head_ends)
    return np.flatnonzero(odd)


# ---------------------------------------------------------------------------------------------------- one line's form


class _Head(NamedTuple):
    """What a first line says, places counted from its begin; `is_usual` where all of it is there."""

    at: tuple[int, int]
    message: tuple[int, int]
    prefix: bytes
    level: bytes
    logger: bytes
    is_usual: bool


def _head(layout: Layout, data: bytes, start: int, head_end: int, end: int) -> _Head:
    """The first line of the record at [start, end)."""
    m = layout.head.match(data, start, head_end)
    if m is None:
        at, level, message, prefix, _, logger = read_head(layout, data, start, head_end, end)
        first, begin = data.find(at, start), data.rfind(message, start, head_end)
        spans = (first, first + len(at)), (begin, begin + len(message))
    else:
        level, message, prefix, logger = (m[name] or b"" for name in ("level", "message", "prefix", "logger"))
        spans = m.span("at") if m["at"] else (start, start), m.span("message") if message else (start, start)
        if layout.short_loggers:
            logger = full_logger(logger, message)
    places = [(first - start, last - start) for first, last in spans]
    return _Head(places[0], places[1], prefix, level, logger or layout.logger.encode(), m is not None)


def _form(head: _Head, first_line: bytes, may_be_loose: bool) -> tuple[LogTemplate, bool]:
    """The form of a record's first line, and whether it is one for all lines with its key."""
    line = Digits(first_line)
    begin, message = head.message[0], line.text[slice(*head.message)]
    behind = len(head.prefix) if head.prefix and read_prefix(head.prefix) is not None else 0
    found = _find(head.logger, message, behind)
    marks: list[Mark] = []
    if found is not None:
        rule, match = found
        for group, (name, kind) in enumerate(rule.marks, 1):
            if match[group] is not None:
                place = match.start(group) + begin, match.end(group) + begin
                marks += marks_of(line, name, kind, place, marks)
    form = LogTemplate(
        rule=None if found is None else _INDEX[id(found[0])],
        is_whole=_is_whole(head.logger) if head.logger else has_scoped_prefix(message),
        level=head.level,
        logger=head.logger,
        at=line.span(*head.at),
        prefix=line.span(begin, begin + behind),
        message=line.span(*head.message),
        marks=tuple(mark for mark in marks if mark.how != "field"),
        fields=tuple(sorted(_last(mark for mark in marks if mark.how == "field"), key=lambda mark: mark.name)),
    )
    if not may_be_loose or not (head.is_usual or head.level):
        return form, False
    edges = [line.place(edge) for edge in (*head.at, *head.message)]
    return form, None not in edges and _is_loose(head.logger, message, behind, found)


_IN_SCOPE = re.compile(
    rb"\[(?:Controller |QuorumController |Broker id=|Partition |\w*StateMachine |\w+ state machine on |RaftManager "
    rb"|Topic Deletion Manager |ControllerEventThread |RequestSendThread |Channel manager |Controller-\d+-to-)"
    rb"|Controller \d+ epoch |Broker \d+ |Partition \["
)


def has_scoped_prefix(message: bytes) -> bool:
    """Whether the prefix of a message is one that only loggers wholly in scope have.

    A record that has lost its logger is judged by it, for it says the same however a stream is cut.
    """
    return _IN_SCOPE.match(message) is not None


_INDEX = {id(rule): i for i, rule in enumerate(RULES)}
Found = tuple[Rule, re.Match[bytes]]


def _find(logger: bytes, message: bytes, behind: int) -> Found | None:
    """The rule that knows a message, and its match; `behind` is where the prefix ends."""
    for rule in candidates(logger, message[behind:]):
        if m := rule.pattern.fullmatch(message, behind):
            return rule, m
    return None


@lru_cache(maxsize=4096)
def _is_whole(logger: bytes) -> bool:
    return is_wholly_scoped(logger.decode("utf-8", "backslashreplace"))


def _is_loose(logger: bytes, message: bytes, behind: int, found: Found | None) -> bool:
    """Whether other digits would give the same rule with the same values, after the same numbers.

    Tried with all numbers of one digit and of three, which no rule writes out. Rules that do write digits out, or
    count characters, must have no part in it at all.
    """
    if any(
        rule.digit_insensitive and rule.digit_insensitive.fullmatch(message, behind)
        for rule in candidates(logger, message[behind:])
    ):
        return False
    told = _places(message, behind, found)
    if told is None:
        return False
    for digits in (b"8", b"758"):
        other = NUMBER.sub(lambda m, digits=digits: m[0] if len(m[0]) > SHORT else digits, message)  # type: ignore[misc]
        prefix, _ = split_prefix(other)
        if _places(other, len(prefix), _find(logger, other, len(prefix))) != told:
            return False
    return True


def _places(message: bytes, behind: int, found: Found | None) -> list[object] | None:
    """Where in a message its prefix and its values end, told by its numbers; None if one does within a number."""
    text = Digits(message)
    places: list[object] = [text.place(behind)]
    if found is not None:
        rule, m = found
        places += [text.place(p) if p >= 0 else -1 for group in range(1, len(rule.marks) + 1) for p in m.span(group)]
        return None if None in places else [rule.event_type, id(rule), *places]
    return None if None in places else places


def _last(marks: Iterator[Mark]) -> list[Mark]:
    """Of marks of one name the last."""
    return list({mark.name: mark for mark in marks}.values())
