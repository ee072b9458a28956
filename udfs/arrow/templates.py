"""Log templates: lines that differ in their digits only are matched against the rules once.

    [2024-02-29 23:59:59,999] TRACE [Broker id=3] Stopped fetchers as part of become-follower for 17 partitions (...)

The template of this line is the line with a placeholder for each number. Which rule matches it, and after which of its
numbers each value begins and ends, is found by the rule's pattern from the first such line; all others look it up. Logs
repeat the same few hundred or thousand templates, so hardly a line is matched, and the values of all lines are sliced
out of the bytes in compiled loops (`udfs.arrow.parse`).

That holds while it does not matter which digits they are, and how many (up to nine; longer numbers have another
placeholder, for no column holds them). It is tried out for each template with other digits, see
`_is_digit_insensitive`. A line for which it matters, such as one whose rule writes digits out, is matched by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from udfs.arrow.captures import NUMBER, SHORT, Capture, NumberedText, captures_of
from udfs.arrow.log_template import LogTemplate
from udfs.arrow.template_table import TemplateTable
from udfs.logs.arrays import Longs
from udfs.logs.framing import Frames
from udfs.logs.layouts import Layout, read_head
from udfs.logs.levels import full_level
from udfs.logs.loggers import full_logger
from udfs.logs.secrets import may_have_secrets
from udfs.rules.drift import RuleMatch, find_match, may_drift_with_other_digits
from udfs.rules.logger_scopes import SCOPED_PREFIX, is_wholly_scoped
from udfs.rules.lookup import candidates
from udfs.rules.parsing import split_prefix
from udfs.rules.prefixes import read_prefix
from udfs.rules.rulebook import RULES

MAX_TEMPLATES = 20_000
"""Templates that are remembered; beyond that all are forgotten. A template takes some 3 kB, as do PARTS partitions of
its lists."""
PARTS = 5

_DIGITS = b"0123456789"
_NUMBER_BYTE, _LONG_NUMBER_BYTE = 1, 2  # placeholders: bytes that stand for a number in a key
Key = bytes | tuple[bytes, bytes]
"""A first line with a placeholder for each number; with it the logger where the line does not name it."""


@dataclass(frozen=True)
class MatchedBlock:
    """The records of a block with their templates, and the numbers in the block: byte positions in its data, in order.
    `first_numbers`: which of them is each record's first, or would be. `may_have_secrets`: whether its data is to be
    looked through for some."""

    templates: Longs
    first_numbers: Longs
    number_starts: Longs
    number_ends: Longs
    may_have_secrets: bool


class TemplateCache:
    """The templates of one layout met so far, by number. Those of single lines are among them, but are never found
    again."""

    def __init__(self, layout: Layout) -> None:
        self.templates: list[LogTemplate] = []
        self.table = TemplateTable()
        self._layout = layout
        self._numbers: dict[Key, int] = {}
        self._digit_sensitive: set[Key] = set()
        self._weight = 0  # of the templates, in ordinary ones

    @property
    def size(self) -> int:
        """How much is remembered: templates, those with long lists for several, and keys of digit-sensitive lines."""
        return self._weight + len(self._digit_sensitive)

    def match(self, block: Frames) -> MatchedBlock:
        """The templates of a block's records."""
        data = np.frombuffer(block.data, np.uint8)
        starts, ends = numbers(data)
        keys, key_of_line = _keys(data, starts, ends)
        key_of = key_of_line[: len(block)] if _is_each_a_line(block, data) else key_of_line[_lines(block)]
        templates = np.fromiter(map(self._numbers.get, keys, repeat(-1)), np.int64, len(keys))[key_of]
        irregular = _irregular(block, data)
        templates[irregular] = -1
        without_key = set(irregular.tolist())
        for i in np.flatnonzero(templates < 0).tolist():
            templates[i] = self._learn(block, i, None if i in without_key else keys[key_of[i]])
        # each different line once
        has_secrets = may_have_secrets(b"\n".join(keys))
        return MatchedBlock(templates, np.searchsorted(starts, block.starts), starts, ends, has_secrets)

    def _learn(self, block: Frames, i: int, line: bytes | None) -> int:
        """The number of the template of one record; without its line's key it is its own."""
        if line in self._numbers:
            return self._numbers[line]
        start, head_end, end = int(block.starts[i]), int(block.head_ends[i]), int(block.ends[i])
        head = _head(self._layout, block.data, start, head_end, end)
        key = None if line is None else _key(line, head)
        if key in self._numbers:
            return self._numbers[key]
        may_be_shared = key is not None and key not in self._digit_sensitive
        template, is_shared = _template(head, block.data[start:head_end], may_be_shared)
        number = len(self.templates)
        self.templates.append(template)
        self.table.add(template)
        self._weight += 1 + sum(len(capture.parts) for capture in template.captures) // PARTS
        if key is not None and is_shared:
            self._numbers[key] = number
        elif key is not None and may_be_shared:
            self._digit_sensitive.add(key)
        return number


@lru_cache(maxsize=4)
def _current_cache(layout: Layout) -> list[TemplateCache]:
    """A list of one, so that a cache that is full can be replaced."""
    return [TemplateCache(layout)]


def template_cache(layout: Layout) -> TemplateCache:
    """The templates of a layout that this process has learned; a new cache once the last one is full."""
    current = _current_cache(layout)
    if current[0].size > MAX_TEMPLATES:
        current[0] = TemplateCache(layout)
    return current[0]


def clear_templates() -> None:
    """Forget all templates; for tests that change rules."""
    _current_cache.cache_clear()


def numbers(data: npt.NDArray[np.uint8]) -> tuple[Longs, Longs]:
    """Where each run of digits begins and ends."""
    is_digit = np.zeros(len(data) + 2, np.bool_)
    np.less(data - np.uint8(48), 10, out=is_digit[1:-1])
    edges = np.flatnonzero(is_digit[1:] != is_digit[:-1])
    return edges[::2], edges[1::2]


def _keys(data: npt.NDArray[np.uint8], starts: Longs, ends: Longs) -> tuple[list[bytes], Longs]:
    """The different lines of a block with a placeholder for each number, and which of them each line is; one line too
    many if the block ends with a line end."""
    text = bytearray(data)
    replaced = np.frombuffer(text, np.uint8)
    replaced[starts] = _NUMBER_BYTE
    long = ends - starts > SHORT
    if long.any():
        replaced[starts[long]] = _LONG_NUMBER_BYTE
    text = text.translate(None, _DIGITS)
    line_ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    edges = np.empty(len(line_ends) + 2, np.int32)
    edges[0], edges[1:-1], edges[-1] = 0, line_ends + 1, len(text)
    lines = pa.Array.from_buffers(pa.binary(), len(edges) - 1, [None, pa.py_buffer(edges), pa.py_buffer(text)])
    encoded: Any = lines.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def _key(line: bytes, head: _Head) -> Key:
    """What a template is looked up by: the line's key, and the logger if the line does not name it, because it stands
    further below or has digits."""
    return line if head.is_usual and not NUMBER.search(head.logger) else (line, head.logger)


def _is_each_a_line(block: Frames, data: npt.NDArray[np.uint8]) -> bool:
    """Whether the lines of a block are its records, one each."""
    begins = np.append(0, block.head_ends[:-1])
    is_tight = np.array_equal(block.starts, begins) and np.array_equal(block.head_ends, block.ends)
    return is_tight and bool((data[block.head_ends[:-1] - 1] == 10).all())


def _lines(block: Frames) -> Longs:
    """For each record the line of the block that it begins on, from 0."""
    return np.searchsorted(block.newlines, block.starts)


def _irregular(block: Frames, data: npt.NDArray[np.uint8]) -> Longs:
    """Records whose first line is not one whole line of the block, and those that hold placeholders."""
    irregular = (block.starts > 0) & (data[np.maximum(block.starts - 1, 0)] != 10)
    irregular |= (block.head_ends < len(data)) & (data[block.head_ends - 1] != 10)
    if any(bytes([placeholder]) in block.data for placeholder in (_NUMBER_BYTE, _LONG_NUMBER_BYTE)):
        placeholders = np.flatnonzero((data == _NUMBER_BYTE) | (data == _LONG_NUMBER_BYTE))
        irregular |= np.searchsorted(placeholders, block.starts) != np.searchsorted(placeholders, block.head_ends)
    return np.flatnonzero(irregular)


# ------------------------------------------------------------------------------------------------ one line's template


class _Head(NamedTuple):
    """The parts of a first line, positions counted from its begin; `is_usual` where all of it is there."""

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
        logger = full_logger(logger, message)
    at_span, message_span = ((first - start, last - start) for first, last in spans)
    return _Head(at_span, message_span, prefix, full_level(level), logger or layout.logger.encode(), m is not None)


def _template(head: _Head, first_line: bytes, may_be_shared: bool) -> tuple[LogTemplate, bool]:
    """The template of a record's first line, and whether it is one for all lines with its key."""
    line = NumberedText(first_line)
    begin, message = head.message[0], line.text[slice(*head.message)]
    prefix_size = len(head.prefix) if head.prefix and read_prefix(head.prefix) is not None else 0
    match = find_match(head.logger, message, prefix_size)
    captures = _captures(line, match, begin)
    fields = {capture.name: capture for capture in captures if capture.how == "field"}  # of one name the last
    template = LogTemplate(
        rule=None if match is None else _INDEX[id(match.rule)],
        is_drifted=match is not None and match.is_drifted,
        is_wholly_scoped=_is_wholly_scoped(head.logger) if head.logger else has_scoped_prefix(message),
        level=head.level,
        logger=head.logger,
        at=line.span(*head.at),
        prefix=line.span(begin, begin + prefix_size),
        message=line.span(*head.message),
        captures=tuple(capture for capture in captures if capture.how != "field"),
        fields=tuple(fields[name] for name in sorted(fields)),
    )
    if not may_be_shared or not (head.is_usual or head.level):
        return template, False
    edges = [line.position(edge) for edge in (*head.at, *head.message)]
    return template, None not in edges and _is_digit_insensitive(head.logger, message, prefix_size, match)


_INDEX = {id(rule): i for i, rule in enumerate(RULES)}


def _captures(line: NumberedText, match: RuleMatch | None, begin: int) -> list[Capture]:
    """How each value of a message that begins at `begin` is read."""
    captures: list[Capture] = []
    if match is not None:
        m = match.match
        for name, kind, group in match.values:
            if m[group] is not None:
                captures += captures_of(line, name, kind, (m.start(group) + begin, m.end(group) + begin), captures)
    return captures


def has_scoped_prefix(message: bytes) -> bool:
    """Whether the prefix of a message is one that only wholly scoped loggers write.

    A record that has lost its logger is judged by it, for it is the same however a stream is cut.
    """
    return SCOPED_PREFIX.match(message) is not None


@lru_cache(maxsize=4096)
def _is_wholly_scoped(logger: bytes) -> bool:
    return is_wholly_scoped(logger.decode("utf-8", "backslashreplace"))


def _is_digit_insensitive(logger: bytes, message: bytes, prefix_size: int, match: RuleMatch | None) -> bool:
    """Whether other digits would give the same rule with the same values, after the same numbers.

    Tried with all numbers of one digit and of three, which no rule writes out. Rules that do write digits out, or
    count characters, must not match at all, whatever the digits.
    """
    for rule in candidates(logger, message[prefix_size:]):
        if rule.digit_insensitive and rule.digit_insensitive.fullmatch(message, prefix_size):
            return False
    if (match is None or match.is_drifted) and may_drift_with_other_digits(logger, message, prefix_size):
        return False
    positions = _capture_positions(message, prefix_size, match)
    if positions is None:
        return False
    for digits in (b"8", b"758"):
        other = _with_numbers(message, digits)
        prefix, _ = split_prefix(other)
        if _capture_positions(other, len(prefix), find_match(logger, other, len(prefix))) != positions:
            return False
    return True


def _with_numbers(message: bytes, digits: bytes) -> bytes:
    """A message with other digits for each of its numbers but the long ones."""
    return NUMBER.sub(lambda m: m[0] if len(m[0]) > SHORT else digits, message)


def _capture_positions(message: bytes, prefix_size: int, match: RuleMatch | None) -> list[object] | None:
    """Where in a message its prefix and its values end, relative to its numbers; None if one does within a number."""
    text = NumberedText(message)
    positions: list[object] = [text.position(prefix_size)]
    if match is None:
        return None if None in positions else positions
    edges: Iterator[int] = (edge for *_, group in match.values for edge in match.match.span(group))
    positions += [text.position(edge) if edge >= 0 else -1 for edge in edges]
    return None if None in positions else [match.rule.event_type, id(match.rule), match.is_drifted, *positions]
