"""Engine C of `engines.py`: bytes in, Arrow columns out, in Python."""

import gc
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import repeat
from operator import itemgetter

import numpy as np
import pyarrow as pa
from engine_rules import CODES, INTS, LISTS, PATTERNS, PLACES, RULES

BLOCK_BYTES = 1 << 20
"""What is framed and matched at a time; 256 KiB to 16 MiB differ by less than 20 %."""


START = re.compile(rb"^\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] ", re.MULTILINE)
# Level, message, its first two words, logger; all empty if the first line does not end in a logger.
HEAD = re.compile(
    rb"\n\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] "
    rb"(?: *+(\w++) +((?:\[[^\]\n]*+\] )?+(\w*+(?: \w++)?+).*) \(([\w.$]++)\)\r?$)?+",
    re.MULTILINE,
)
LONG_HEAD = re.compile(rb"\[[^\]]*\] +(\w+) +(.*?) \(([\w.$]+)\)\r?$", re.MULTILINE | re.DOTALL)
NO_HEAD = re.compile(rb"\[[^\]]*\] +(\w+) +(.*)()", re.DOTALL)
CLOCK = np.array([12, 13, 15, 16, 18, 19, 21, 22, 23])  # where the digits of hour, minute, second and ms are
CLOCK_MS = np.array([36_000_000, 3_600_000, 600_000, 60_000, 10_000, 1_000, 100, 10, 1], np.int64)
DAY = np.array([1, 2, 3, 4, 6, 7, 9, 10])
DAY_DIGITS = 10 ** np.arange(7, -1, -1, dtype=np.int64)


class Codes(dict[bytes, int]):
    """Numbers different texts from 0; `map(codes.__getitem__, texts)` then runs without a Python call per text."""

    def __missing__(self, text: bytes) -> int:
        number = self[text] = len(self)
        return number


class ParsedColumns:
    """What a task found so far: of each kind the texts, in the order of the records, and of all records the numbers."""

    def __init__(self) -> None:
        kinds = range(len(RULES) + 1)  # 0: what no rule knows
        self.rows: list[list[tuple[bytes, ...]]] = [[] for _ in kinds]  # the groups of the rule; of kind 0 the logger
        self.messages: list[list[bytes]] = [[] for _ in kinds]
        self.details: list[dict[int, bytes]] = [{} for _ in kinds]  # by row
        self.levels = Codes()
        self.numbers: list[tuple[np.ndarray, ...]] = []  # per block: kind, at, level, then PLACES


def starts_and_lines(block: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Where each record starts, and where each line does; both end with the block's length.

    A start is `[20` at a line's begin and `] ` in its place: HEAD's matches and maybe
    more, so equal counts mean equal records.
    """
    text = np.frombuffer(block, np.uint8)
    lines = np.concatenate(([0], np.flatnonzero(text == 10) + 1))
    if lines[-1] != len(block):
        lines = np.append(lines, len(block))
    maybe = lines[: np.searchsorted(lines, len(block) - 25, "right")]
    headed = (text[maybe] == 91) & (text[maybe + 1] == 50) & (text[maybe + 2] == 48) & (text[maybe + 24] == 93)
    return np.append(maybe[headed], len(block)), lines


def times(block: bytes, starts: np.ndarray) -> np.ndarray:
    """Microseconds since 1970 of the records at `starts`."""
    text = np.frombuffer(block, np.uint8)
    clock = (text[starts[:, None] + CLOCK] - 48) @ CLOCK_MS
    days, which = np.unique((text[starts[:, None] + DAY] - 48) @ DAY_DIGITS, return_inverse=True)
    epoch = date(1970, 1, 1)
    since = [(date(day // 10_000, day // 100 % 100, day % 100) - epoch).days for day in days.tolist()]
    at: np.ndarray = (np.array(since, np.int64)[which] * 86_400_000 + clock) * 1000
    return at


def long_head(record: bytes) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    """Level, message, '', logger and detail of a record whose logger is not on its first line, or nowhere."""
    match = LONG_HEAD.match(record) or NO_HEAD.match(record)
    if match is None:
        raise ValueError(f"no level in {record[:200]!r}")
    level, message, logger = match.groups()
    return level, message if logger else message.rstrip(b"\n"), b"", logger, record[match.end() + 1 :].rstrip(b"\n")


def parse_block(block: bytes, place: tuple[int, int, int], columns: ParsedColumns, match: "Matcher") -> None:
    """Adds the records of a block, which starts with one, to `columns`.

    `place` is the block's file, byte offset and the number of lines before it.
    """
    file, offset, line = place
    starts, line_starts = starts_and_lines(block)
    heads = HEAD.findall(b"\n" + block)
    count = len(heads)
    if count != len(starts) - 1:
        starts = np.array([*(start.start() for start in START.finditer(block)), len(block)])
    at = times(block, starts[:-1])
    first_lines = np.searchsorted(line_starts, starts)
    details: dict[int, bytes] = {}
    for record in np.flatnonzero(np.diff(first_lines) > 1).tolist():  # has more lines than one
        if heads[record][0]:
            details[record] = block[line_starts[first_lines[record] + 1] : starts[record + 1]].rstrip(b"\n")
        else:
            *heads[record], details[record] = long_head(block[starts[record] : starts[record + 1]])
    if b"" in map(itemgetter(0), heads):  # one line, and no logger at its end
        for record in [record for record, head in enumerate(heads) if not head[0]]:
            *heads[record], _ = long_head(block[starts[record] : starts[record + 1]])
    levels, messages, words, loggers = zip(*heads, strict=True)
    kinds = np.fromiter(map(CODES.get, zip(loggers, words, strict=True), repeat(0)), np.int8, count)
    by_kind = np.argsort(kinds, kind="stable").tolist()
    first = 0
    for kind, records_of_kind in enumerate(np.bincount(kinds).tolist()):
        records = by_kind[first : first + records_of_kind]
        first += records_of_kind
        if not kind or not records:
            continue
        texts = [messages[record] for record in records]
        rows = match(kind, texts)
        if len(rows) != len(texts):  # not all of them are this rule's after all
            matches = [PATTERNS[kind - 1].fullmatch(text) for text in texts]
            kinds[[record for record, hit in zip(records, matches, strict=True) if not hit]] = 0
            records = [record for record, hit in zip(records, matches, strict=True) if hit]
            texts, rows = [messages[record] for record in records], [hit.groups(b"") for hit in matches if hit]
        columns.rows[kind] += rows
        add_texts(columns, kind, records, texts, details)
    records = np.flatnonzero(kinds == 0).tolist()
    columns.rows[0] += [(loggers[record],) for record in records]
    add_texts(columns, 0, records, [messages[record] for record in records], details)
    level = np.fromiter(map(columns.levels.__getitem__, levels), np.int8, count)
    places = (np.full(count, file), line + first_lines[:-1] + 1, offset + starts[:-1], np.diff(starts))
    columns.numbers.append((kinds, at, level, *places))


def add_texts(
    columns: ParsedColumns, kind: int, records: list[int], texts: list[bytes], details: dict[int, bytes]
) -> None:
    """Adds messages and details of the records of one kind of a block."""
    if details:
        before = len(columns.messages[kind])
        columns.details[kind] |= {before + row: details[r] for row, r in enumerate(records) if details.get(r)}
    columns.messages[kind] += texts


Matcher = Callable[[int, list[bytes]], list[tuple[bytes, ...]]]


def match_all(code: int, messages: list[bytes]) -> list[tuple[bytes, ...]]:
    """The groups of all messages of one rule, in one call; fewer than messages if one does not fit."""
    return PATTERNS[code - 1].findall(b"\n".join(messages))


def int_column(texts: Iterable[bytes]) -> pa.Array:
    """Numbers, null for ''."""
    column = pa.array(texts, pa.binary()).cast(pa.string())
    try:
        return column.cast(pa.int32())
    except pa.ArrowInvalid:
        return pa.array([int(text) if text else None for text in texts], pa.int32())


def list_column(texts: Iterable[bytes]) -> pa.Array:
    """Lists of numbers such as `1, 2`; each different one is read once."""
    codes = Codes()
    taken = np.fromiter(map(codes.__getitem__, texts), np.int32)
    lists = [[int(number) for number in text.split(b",")] if text else [] for text in codes]
    return pa.array(lists, pa.list_(pa.int32())).take(pa.array(taken))


def string_column(texts: Iterable[bytes | None]) -> pa.Array:
    """Text, null for None; raises if it is not UTF-8."""
    return pa.array(texts, pa.binary()).cast(pa.string())


def field_column(name: str, texts: Iterable[bytes]) -> pa.Array:
    """A field's texts as its typed column."""
    return int_column(texts) if name in INTS else list_column(texts) if name in LISTS else string_column(texts)


def regex_fields(kind: int, rows: list[tuple[bytes, ...]], messages: list[bytes]) -> dict[str, pa.Array]:
    """The typed columns of one kind, from the groups of its pattern."""
    names = RULES[kind - 1].fields
    return {name: field_column(name, texts) for name, texts in zip(names, zip(*rows, strict=True), strict=True)}


FieldsOf = Callable[[int, list[tuple[bytes, ...]], list[bytes]], dict[str, pa.Array]]


def to_batches(
    parsed_columns: ParsedColumns, fields_of: FieldsOf, schema: pa.Schema, keep: bool
) -> Iterator[pa.RecordBatch]:
    """One batch per kind; `keep`: with the messages of all records, not only of those no rule knows."""
    kinds, *numbers = (np.concatenate(blocks) for blocks in zip(*parsed_columns.numbers, strict=True))
    by_kind = np.argsort(kinds, kind="stable")
    at, level, *places = (pa.array(number[by_kind]) for number in numbers)
    level_names = pa.array(list(parsed_columns.levels), pa.binary()).cast(pa.string())
    common = {"at": at.cast(pa.timestamp("us", "UTC")), "level": level_names.take(level)}
    common |= dict(zip(PLACES, places, strict=True))
    first = 0
    for kind, messages in enumerate(parsed_columns.messages):
        count = len(messages)
        columns = {name: column.slice(first, count) for name, column in common.items()}
        first += count
        if not count:
            continue
        if kind == 0:
            columns["logger"] = string_column([logger for (logger,) in parsed_columns.rows[0]])
        else:
            columns["logger"] = pa.repeat(RULES[kind - 1].logger, count)
            columns["kind"] = pa.repeat(RULES[kind - 1].kind, count)
            columns |= fields_of(kind, parsed_columns.rows[kind], messages)
        if kind == 0 or keep:
            columns["message"] = string_column(messages)
        if parsed_columns.details[kind]:
            columns["detail"] = string_column([parsed_columns.details[kind].get(row) for row in range(count)])
        yield pa.record_batch([columns.get(c.name, pa.nulls(count, c.type)) for c in schema], schema=schema)


@dataclass(frozen=True)
class FileRange:
    """Bytes of one file: those of the records that start in it."""

    path: str
    file: int
    start: int
    end: int
    lines_before: int = 0


Block = tuple[bytes, tuple[int, int, int]]  # whole records; file, byte offset, number of lines before


def read_blocks(part: FileRange) -> Iterator[Block]:
    """The records that start in a range, in blocks of about BLOCK_BYTES; reads on past its end to finish the last."""
    with open(part.path, "rb", buffering=0) as file:
        offset = file.seek(max(part.start - 1, 0))  # so that ^ sees whether a line starts at `start`
        text = file.read(BLOCK_BYTES)
        skip = part.start - offset
        while not (first := START.search(text, skip)):
            more = file.read(BLOCK_BYTES)
            if not more or offset + len(text) > part.end + 64:
                return
            text += more
        line = part.lines_before + text.count(b"\n", skip, first.start())
        offset, text = offset + first.start(), text[first.start() :]
        if offset >= part.end:
            return
        while True:
            if offset + len(text) > part.end:
                cut = START.search(text, part.end - offset)
                at_end = cut is not None
            else:
                cut, at_end = last_start(text), False
            more = b"" if at_end else file.read(BLOCK_BYTES)
            if cut and (at_end or more):
                block, text = text[: cut.start()], text[cut.start() :]
            elif more:
                text += more
                continue
            else:
                block, text = text, b""
            yield block, (part.file, offset, line)
            if at_end or not text:
                return
            offset, line, text = offset + len(block), line + block.count(b"\n"), text + more


def last_start(text: bytes) -> re.Match[bytes] | None:
    """The last record start in a text but the one at 0."""
    at = len(text)
    while (at := text.rfind(b"\n[20", 0, at)) >= 0:
        if match := START.match(text, at + 1):
            return match
    return None


def parse_blocks(
    blocks: Iterable[Block], match: Matcher, fields_of: FieldsOf, schema: pa.Schema, keep: bool = False
) -> Iterator[pa.RecordBatch]:
    """One batch per kind of all records of some blocks."""
    columns = ParsedColumns()
    for block, place in blocks:
        parse_block(block, place, columns, match)
    if columns.numbers:
        yield from to_batches(columns, fields_of, schema, keep)


def read_task(task: list[FileRange]) -> Iterator[Block]:
    """The blocks of all ranges of a task."""
    for part in task:
        yield from read_blocks(part)


def without_collector(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same, with Python's cycle collector off: nothing is cyclic, and it would visit each tuple again and again."""
    gc.disable()
    try:
        yield from batches
    finally:
        gc.enable()
