"""Which engine frames and parses the logs: `engines.py LOGS [--rounds N] [--only NAME,NAME] [--check]`.

The experiment behind docs/decisions/0001-framing-and-parsing-engine.md. LOGS is what generate_logs.py wrote. Each
engine gives the same rows: records of ten kinds as typed columns, every other record with its message as it stands.

Prints CPU seconds of the process tree (driver, JVM, Python workers), median of interleaved rounds, after one to warm
up. `--check` compares each engine with `oracle` below, which shares no pattern and no code with them.
"""

import argparse
import gc
import os
import re
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import accumulate, repeat
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow as pa
from cpu_time import cpu_seconds
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

MEBI = 1 << 20
TASK_BYTES = 16 * MEBI  # one task's share of the logs: its columns become one Arrow batch per kind
BLOCK_BYTES = 1 * MEBI  # what is framed and matched at a time; 256 KiB to 16 MiB differ by less than 20 %

# ---------------------------------------------------------------------------------------------------------------- rules

INTS = ["partition", "leader", "leader_epoch", "partition_epoch"]
INTS += ["controller_id", "controller_epoch", "correlation_id", "broker_id"]
LISTS = ["isr", "replicas", "brokers"]
STRINGS = ["topic", "was", "now", "transition", "request"]
FIELDS = INTS + LISTS + STRINGS

EVENTS = T.StructType(
    [T.StructField("at", T.TimestampType())]
    + [T.StructField(name, T.StringType()) for name in ("level", "logger", "kind")]
    + [T.StructField(name, T.IntegerType()) for name in INTS]
    + [T.StructField(name, T.ArrayType(T.IntegerType())) for name in LISTS]
    + [T.StructField(name, T.StringType()) for name in (*STRINGS, "message", "detail")]
)
PLACES = ["file", "line", "offset", "length"]  # file: its number; line from 1; offset and length in bytes
PLACED_EVENTS = T.StructType(EVENTS.fields + [T.StructField(name, T.LongType()) for name in PLACES])

ARROW = pa.schema(
    [("at", pa.timestamp("us", "UTC"))]
    + [(name, pa.string()) for name in ("level", "logger", "kind")]
    + [(name, pa.int32()) for name in INTS]
    + [(name, pa.list_(pa.int32())) for name in LISTS]
    + [(name, pa.string()) for name in (*STRINGS, "message", "detail")]
    + [(name, pa.int64()) for name in PLACES]
)


@dataclass(frozen=True)
class Rule:
    """One kind of record of one logger: its first two words, its whole message, and what each group is.

    The pattern is read by Python's `re` and by Java's. `cuts` is the same for polars, where a split can do it: the
    delimiter, then for each field the piece it is in, and what is to be cut off before and after it.
    """

    kind: str
    words: str
    pattern: str
    fields: tuple[str, ...]
    delimiter: str = ""
    cuts: tuple[tuple[str, int, str, str], ...] = ()
    logger: str = "state.change.logger"


BROKER = r"\[Broker id=(\d++)\] "
CONTROLLER = r"\[Controller id=(\d++) epoch=(\d++)\] "
STATE = (
    r"PartitionState\(topicName='([^']*+)', partitionIndex=(\d++), controllerEpoch=-?\d++, leader=(-?\d++), "
    r"leaderEpoch=(-?\d++), isr=\[([^\]]*+)\], zkVersion=(-?\d++), replicas=\[([^\]]*+)\], "
)
STATE_FIELDS = ("topic", "partition", "leader", "leader_epoch", "isr", "partition_epoch", "replicas")
REPLICAS_LEFT = r"addingReplicas=\[[^\]]*+\], removingReplicas=\[[^\]]*+\], isNew=\w++\) "
TRANSITION = r"the (become-\w++) transition for partition (\S+)-(\d++)(?: with leader (-?\d++))?+"
SENDER = ("controller_id", "controller_epoch")


def state_cuts(first: int) -> tuple[tuple[str, int, str, str], ...]:
    """Where the fields of a partition's state are when its record is split at `=`."""
    after = (
        "', partitionIndex",
        ", controllerEpoch",
        ", leader",
        ", leaderEpoch",
        ", isr",
        "], zkVersion",
        ", replicas",
    )
    before = ("'", "", "", "", "", "[", "")
    names = ("topic", "partition", None, "leader", "leader_epoch", "isr", "partition_epoch")
    cuts = [(n, first + i, b, a) for i, (n, b, a) in enumerate(zip(names, before, after, strict=True)) if n]
    return (*cuts, ("replicas", first + 7, "[", "]*"))


RULES = (
    Rule(
        "cached_leader",
        "Cached leader",
        BROKER
        + "Cached leader info UpdateMetadata"
        + STATE
        + r"offlineReplicas=\[[^\]]*+\]\) for partition \S++ in response "
        r"to UpdateMetadata request sent by controller (-?\d++) epoch (-?\d++) with correlation id (\d++)",
        ("broker_id", *STATE_FIELDS, *SENDER, "correlation_id"),
        "=",
        (
            ("broker_id", 1, "", "]*"),
            *state_cuts(2),
            ("controller_id", 10, "*controller ", " *"),
            ("controller_epoch", 10, "* epoch ", " *"),
            ("correlation_id", 10, "* id ", ""),
        ),
    ),
    Rule(
        "received_leader_and_isr",
        "Received LeaderAndIsr",
        BROKER
        + "Received LeaderAndIsr request LeaderAndIsr"
        + STATE
        + REPLICAS_LEFT
        + r"correlation id (\d++) from controller (-?\d++) epoch (-?\d++)",
        ("broker_id", *STATE_FIELDS, "correlation_id", *SENDER),
        "=",
        (
            ("broker_id", 1, "", "]*"),
            *state_cuts(2),
            ("correlation_id", 12, "* id ", " *"),
            ("controller_id", 12, "*controller ", " *"),
            ("controller_epoch", 12, "* epoch ", ""),
        ),
    ),
    Rule(
        "sending_update_metadata",
        "Sending UpdateMetadata",
        CONTROLLER
        + "Sending UpdateMetadata request UpdateMetadata"
        + STATE
        + r"offlineReplicas=\[[^\]]*+\]\) to brokers \w*+\(([^)]*+)\) for partition \S++",
        (*SENDER, *STATE_FIELDS, "brokers"),
        "=",
        (
            ("controller_id", 1, "", " *"),
            ("controller_epoch", 2, "", "]*"),
            *state_cuts(3),
            ("brokers", 11, "*Set(", ")*"),
        ),
    ),
    Rule(
        "sending_leader_and_isr",
        "Sending become",
        CONTROLLER
        + "Sending (become-\\w++) LeaderAndIsr request LeaderAndIsr"
        + STATE
        + REPLICAS_LEFT
        + r"to broker (-?\d++) for partition \S++",
        (*SENDER, "transition", *STATE_FIELDS, "broker_id"),
        "=",
        (
            ("controller_id", 1, "", " *"),
            ("controller_epoch", 2, "", "]*"),
            ("transition", 2, "*Sending ", " *"),
            *state_cuts(3),
            ("broker_id", 13, "*broker ", " *"),
        ),
    ),
    Rule(
        "ignored_leader_and_isr",
        "Ignoring LeaderAndIsr",
        BROKER
        + r"Ignoring LeaderAndIsr request from controller (-?\d++) with correlation id (\d++) epoch (-?\d++) for "
        r"partition (\S+)-(\d++) since its associated leader epoch (-?\d++) (?:matches the current leader epoch|"
        r"is not higher than the current leader epoch -?\d++)",
        ("broker_id", "controller_id", "correlation_id", "controller_epoch", "topic", "partition", "leader_epoch"),
    ),
    Rule(
        "changed_partition",
        "Changed partition",
        CONTROLLER + r"Changed partition (\S+)-(\d++) from (\w++) to (\w++) with state LeaderAndIsr\(leader=(-?\d++), "
        r"leaderEpoch=(-?\d++), isr=List\(([^)]*+)\), zkVersion=(-?\d++)\)",
        (*SENDER, "topic", "partition", "was", "now", "leader", "leader_epoch", "isr", "partition_epoch"),
    ),
    Rule(
        "changed_replica",
        "Changed state",
        CONTROLLER + r"Changed state of replica (\d++) for partition (\S+)-(\d++) from (\w++) to (\w++)",
        (*SENDER, "broker_id", "topic", "partition", "was", "now"),
        " ",
        (
            ("controller_id", 1, "id=", ""),
            ("controller_epoch", 2, "epoch=", "]"),
            ("broker_id", 7, "", ""),
            ("topic", 10, "", "-*"),
            ("partition", 10, "*-", ""),
            ("was", 12, "", ""),
            ("now", 14, "", ""),
        ),
    ),
    Rule(
        "handling_leader_and_isr",
        "Handling LeaderAndIsr",
        BROKER
        + r"Handling LeaderAndIsr request correlationId (\d++) from controller (-?\d++) epoch (-?\d++) starting "
        + TRANSITION,
        ("broker_id", "correlation_id", *SENDER, "transition", "topic", "partition", "leader"),
        " ",
        (
            ("broker_id", 1, "id=", "]"),
            ("correlation_id", 6, "", ""),
            ("controller_id", 9, "", ""),
            ("controller_epoch", 11, "", ""),
            ("transition", 14, "", ""),
            ("topic", 18, "", "-*"),
            ("partition", 18, "*-", ""),
            ("leader", 21, "", ""),
        ),
    ),
    Rule(
        "completed_leader_and_isr",
        "Completed LeaderAndIsr",
        BROKER
        + r"Completed LeaderAndIsr request correlationId (\d++) from controller (-?\d++) epoch (-?\d++) for "
        + TRANSITION,
        ("broker_id", "correlation_id", *SENDER, "transition", "topic", "partition", "leader"),
        " ",
        (
            ("broker_id", 1, "id=", "]"),
            ("correlation_id", 6, "", ""),
            ("controller_id", 9, "", ""),
            ("controller_epoch", 11, "", ""),
            ("transition", 14, "", ""),
            ("topic", 18, "", "-*"),
            ("partition", 18, "*-", ""),
            ("leader", 21, "", ""),
        ),
    ),
    Rule(
        "received_response",
        "Received response",
        CONTROLLER + r"Received response \{.*\} for request (\w++) with correlation id (\d++) sent to broker "
        r"\S++ \(id: (-?\d++) rack: [^)]*+\)",
        (*SENDER, "request", "correlation_id", "broker_id"),
    ),
)
CODES = {(rule.logger.encode(), rule.words.encode()): code for code, rule in enumerate(RULES, 1)}
PATTERNS = [re.compile(b"^" + rule.pattern.encode() + b"$", re.MULTILINE) for rule in RULES]

# --------------------------------------------------------------------- engine C: bytes in, Arrow columns out, in Python

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


class Found:
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
    found = LONG_HEAD.match(record) or NO_HEAD.match(record)
    if found is None:
        raise ValueError(f"no level in {record[:200]!r}")
    level, message, logger = found.groups()
    return level, message if logger else message.rstrip(b"\n"), b"", logger, record[found.end() + 1 :].rstrip(b"\n")


def parse_block(block: bytes, place: tuple[int, int, int], found: Found, match: "Matcher") -> None:
    """Adds the records of a block, which starts with one, to `found`.

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
        found.rows[kind] += rows
        add_texts(found, kind, records, texts, details)
    records = np.flatnonzero(kinds == 0).tolist()
    found.rows[0] += [(loggers[record],) for record in records]
    add_texts(found, 0, records, [messages[record] for record in records], details)
    level = np.fromiter(map(found.levels.__getitem__, levels), np.int8, count)
    places = (np.full(count, file), line + first_lines[:-1] + 1, offset + starts[:-1], np.diff(starts))
    found.numbers.append((kinds, at, level, *places))


def add_texts(found: Found, kind: int, records: list[int], texts: list[bytes], details: dict[int, bytes]) -> None:
    """Adds messages and details of the records of one kind of a block."""
    if details:
        before = len(found.messages[kind])
        found.details[kind] |= {before + row: details[r] for row, r in enumerate(records) if details.get(r)}
    found.messages[kind] += texts


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


def to_batches(found: Found, fields_of: FieldsOf, schema: pa.Schema, keep: bool) -> Iterator[pa.RecordBatch]:
    """One batch per kind; `keep`: with the messages of all records, not only of those no rule knows."""
    kinds, *numbers = (np.concatenate(blocks) for blocks in zip(*found.numbers, strict=True))
    by_kind = np.argsort(kinds, kind="stable")
    at, level, *places = (pa.array(number[by_kind]) for number in numbers)
    level_names = pa.array(list(found.levels), pa.binary()).cast(pa.string())
    common = {"at": at.cast(pa.timestamp("us", "UTC")), "level": level_names.take(level)}
    common |= dict(zip(PLACES, places, strict=True))
    first = 0
    for kind, messages in enumerate(found.messages):
        count = len(messages)
        columns = {name: column.slice(first, count) for name, column in common.items()}
        first += count
        if not count:
            continue
        if kind == 0:
            columns["logger"] = string_column([logger for (logger,) in found.rows[0]])
        else:
            columns["logger"] = pa.repeat(RULES[kind - 1].logger, count)
            columns["kind"] = pa.repeat(RULES[kind - 1].kind, count)
            columns |= fields_of(kind, found.rows[kind], messages)
        if kind == 0 or keep:
            columns["message"] = string_column(messages)
        if found.details[kind]:
            columns["detail"] = string_column([found.details[kind].get(row) for row in range(count)])
        yield pa.record_batch([columns.get(c.name, pa.nulls(count, c.type)) for c in schema], schema=schema)


@dataclass(frozen=True)
class Range:
    """Bytes of one file: those of the records that start in it."""

    path: str
    file: int
    start: int
    end: int
    lines_before: int = 0


Block = tuple[bytes, tuple[int, int, int]]  # whole records; file, byte offset, number of lines before


def read_blocks(part: Range) -> Iterator[Block]:
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
        if found := START.match(text, at + 1):
            return found
    return None


def parse_blocks(
    blocks: Iterable[Block], match: Matcher, fields_of: FieldsOf, schema: pa.Schema, keep: bool = False
) -> Iterator[pa.RecordBatch]:
    """One batch per kind of all records of some blocks."""
    found = Found()
    for block, place in blocks:
        parse_block(block, place, found, match)
    if found.numbers:
        yield from to_batches(found, fields_of, schema, keep)


def read_task(task: list[Range]) -> Iterator[Block]:
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


# ----------------------------------------------------------------------------- engine D: the same, fields cut by polars


def keep_all(code: int, messages: list[bytes]) -> list[tuple[bytes, ...]]:
    """D matches later, and only the rules with cuts: the others as C does."""
    return [()] * len(messages) if RULES[code - 1].cuts else match_all(code, messages)


def polars_fields(kind: int, rows: list[tuple[bytes, ...]], messages: list[bytes]) -> dict[str, pa.Array]:
    """The typed columns of one kind, by splitting its messages; numbers are checked by their cast, text is not."""
    import polars as pl

    rule = RULES[kind - 1]
    if not rule.cuts:
        return regex_fields(kind, rows, messages)
    texts = pl.from_arrow(string_column(messages))
    assert isinstance(texts, pl.Series)  # an array is one column
    pieces = texts.str.split(rule.delimiter)

    def cut(piece: int, before: str, after: str) -> pl.Expr:
        text = pl.col("pieces").list.get(piece, null_on_oob=True)
        if before == "*-":
            return text.str.split("-").list.last()
        if after == "-*":
            return text.str.head(-1 - text.str.split("-").list.last().str.len_bytes().cast(pl.Int64))
        if before.startswith("*"):
            text = text.str.split(before[1:]).list.last()
        elif before:
            text = text.str.strip_prefix(before)
        if after.endswith("*"):
            return text.str.splitn(after[:-1], 2).struct.field("field_0")
        return text.str.strip_suffix(after) if after else text

    types = dict.fromkeys(INTS, pl.Int32)
    wanted = [
        cut(piece, before, after).cast(types.get(name, pl.String)).alias(name)
        for name, piece, before, after in rule.cuts
    ]
    table = pl.DataFrame({"pieces": pieces}).select(wanted).to_arrow()
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    for name in LISTS:
        if name in columns:
            columns[name] = list_column(columns[name].cast(pa.binary()).to_pylist())
    return {name: column.cast(ARROW.field(name).type) for name, column in columns.items()}


# ---------------------------------------------------------------------------------------- engine A: Catalyst, no Python


def bytes_of(text: str, bounds: str) -> str:
    """SQL for a part of a text counted in bytes: `substring` of a string counts characters, from its begin."""
    return f"cast(substring(cast({text} AS binary), {bounds}) AS string)"


def catalyst(records: DataFrame) -> DataFrame:
    """Text framed by lineSep `\\n[20` -> EVENTS, all in the JVM.

    Each rule rewrites its messages to one delimited list of all FIELDS, which is then split once: no alternation of all
    rules (T2 of the notes), and '' is made null before it is cast (T1).
    """
    mark = "\u0001"
    without_20 = "CASE WHEN startswith(value, '[20') THEN substring(value, 4) ELSE value END"
    records = records.select(F.expr(f"rtrim('\n', {without_20})").alias("record"))
    records = records.withColumn("head", F.substring_index("record", "\n", 1))
    records = records.withColumn("end", F.substring_index("head", " (", -1))
    ends_in_logger = F.col("end").rlike(r"^[\w.$]+\)\r?$")
    level = f"substring_index(ltrim({bytes_of('head', '24, 12')}), ' ', 1)"
    records = records.select("record", "head", "end", ends_in_logger.alias("short"), F.expr(level).alias("level"))
    parts = r"(?s)\A[^\]]*\] +(\w+) +(.*?) \(([\w.$]+)\)\r?(?:\n(.*))?\z"
    long_head = F.split(F.regexp_replace("record", parts, f"$1{mark}$2{mark}$3{mark}$4"), mark)
    records = records.withColumn("p", F.when(~F.col("short"), long_head))
    said = "octet_length(level) + 25, octet_length(head) - octet_length(end) - 26 - octet_length(level)"
    exprs = {
        "at": f"cast(concat('20', replace({bytes_of('record', '1, 21')}, ',', '.')) AS timestamp)",
        "level": "level",
        "logger": f"CASE WHEN short THEN {bytes_of('end', '1, octet_length(end) - 1')} ELSE get(p, 2) END",
        "message": f"CASE WHEN short THEN {bytes_of('head', said)} ELSE get(p, 1) END",
        "detail": f"nullif(CASE WHEN short THEN {bytes_of('record', 'octet_length(head) + 2')} ELSE get(p, 3) END, '')",
    }
    records = records.select(*(F.expr(expr).alias(name) for name, expr in exprs.items()))
    after_actor = F.expr(bytes_of("message", "locate('] ', message) + 2, 24"))
    records = records.withColumn("words", F.when(F.col("logger") == "state.change.logger", after_actor))
    fields = F.when(F.col("words").isNull(), None)
    for rule in RULES:
        groups = {name: f"${group}" for group, name in enumerate(rule.fields, 1)}
        listed = mark + mark.join([rule.kind, *(groups.get(name, "") for name in FIELDS)])
        starts = F.startswith("words", F.lit(rule.words))
        fields = fields.when(starts, F.regexp_replace("message", f"^{rule.pattern}$", listed))
    records = records.withColumn("listed", fields)
    records = records.withColumn("f", F.when(F.startswith("listed", F.lit(mark)), F.split("listed", mark)))

    def typed(name: str) -> Column:
        text = F.nullif(F.get("f", F.lit(FIELDS.index(name) + 2)), F.lit(""))
        if name in INTS:
            return text.try_cast("int").alias(name)
        return (F.split(text, ", ").try_cast("array<int>") if name in LISTS else text).alias(name)

    known = F.col("f").isNotNull()
    return records.select(
        "at",
        "level",
        "logger",
        F.get("f", F.lit(1)).alias("kind"),
        *map(typed, [*INTS, *LISTS, *STRINGS]),
        F.when(~known, F.col("message")).alias("message"),
        "detail",
    ).select(*EVENTS.names)


# ------------------------------------------------------------------------------------------------ engines as DataFrames

Engine = Callable[[SparkSession, list[str]], DataFrame]


def framed(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Records as Spark's text source frames them: without `[20`, but for a file's first; no places to be had."""
    return spark.read.text(paths, lineSep="\n[20")


def tasks_of(paths: list[str], size: int = TASK_BYTES) -> list[list[Range]]:
    """Cuts files into ranges and packs them into tasks of about `size` bytes."""
    ranges = [
        Range(path, file, start, min(start + size, os.path.getsize(path)))
        for file, path in enumerate(paths)
        for start in range(0, os.path.getsize(path), size)
    ]
    filled = list(accumulate(part.end - part.start for part in ranges))
    tasks: dict[int, list[Range]] = {}
    for part, before in zip(ranges, [0, *filled], strict=False):
        tasks.setdefault(before // size, []).append(part)
    return list(tasks.values())


TaskReader = Callable[[int, list[Range]], Iterator[pa.RecordBatch]]


def over_tasks(spark: SparkSession, tasks: list[list[Range]], read: TaskReader, schema: T.StructType) -> DataFrame:
    """`read(number, task)` gives the batches of a task; one partition each."""

    def batches(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch["id"].to_pylist():
                yield from read(number, tasks[number])

    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(batches, schema)


def count_lines(number: int, task: list[Range]) -> Iterator[pa.RecordBatch]:
    """How many lines end in each range of a task."""
    counts = []
    for part in task:
        with open(part.path, "rb") as file:
            file.seek(part.start)
            counts.append(file.read(part.end - part.start).count(b"\n"))
    yield pa.record_batch({"number": [number] * len(counts), "lines": counts})


def with_lines_before(spark: SparkSession, tasks: list[list[Range]]) -> list[list[Range]]:
    """The same tasks; each range knows how many lines its file has before it. Reads all files once."""
    schema = T.StructType([T.StructField("number", T.LongType()), T.StructField("lines", T.LongType())])
    lines: dict[int, list[int]] = {}
    for number, count in over_tasks(spark, tasks, count_lines, schema).collect():
        lines.setdefault(number, []).append(count)
    before: dict[int, int] = {}
    counted: list[list[Range]] = []
    for number, task in enumerate(tasks):
        counted.append([])
        for part, count in zip(task, lines[number], strict=True):
            counted[-1].append(Range(part.path, part.file, part.start, part.end, before.get(part.file, 0)))
            before[part.file] = before.get(part.file, 0) + count
    return counted


def ranges_with(match: Matcher, fields_of: FieldsOf, keep: bool = False) -> Engine:
    """Engine C or D."""

    def read(number: int, task: list[Range]) -> Iterator[pa.RecordBatch]:
        return without_collector(parse_blocks(read_task(task), match, fields_of, ARROW, keep))

    def engine(spark: SparkSession, paths: list[str]) -> DataFrame:
        return over_tasks(spark, with_lines_before(spark, tasks_of(paths)), read, PLACED_EVENTS)

    return engine


def text_to_python(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Engine B: Spark frames, the worker does to each Arrow batch what C does to a range."""
    value = F.col("value")
    whole = F.concat(F.when(F.startswith(value, F.lit("[20")), "").otherwise(F.lit("[20")), value, F.lit("\n"))
    schema = pa.schema([field for field in ARROW if field.name not in PLACES])

    def texts(batches: Iterator[pa.RecordBatch]) -> Iterator[Block]:
        for batch in batches:
            _, offsets, data = batch.column(0).buffers()
            bounds = np.frombuffer(offsets, np.int32)
            yield data.slice(bounds[0], bounds[len(batch)] - bounds[0]).to_pybytes(), (0, 0, 0)

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return without_collector(parse_blocks(texts(batches), match_all, regex_fields, schema, keep=False))

    return framed(spark, paths).select(whole.alias("value")).mapInArrow(parse, EVENTS)


def text_to_python_and_dropped(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Floor of B: the text goes to the worker, which drops it."""

    def drop(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, 0)

    return framed(spark, paths).mapInArrow(drop, "value string")


def replayed(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Floor of C: its batches, kept in files by a run before, handed to Spark."""
    kept = Path(tempfile.gettempdir()) / "engines-replayed"
    tasks = tasks_of(paths)
    if not kept.exists():
        kept.mkdir()
        for number, task in enumerate(with_lines_before(spark, tasks)):
            with pa.ipc.new_file(str(kept / str(number)), ARROW) as out:
                for batch in parse_blocks(read_task(task), match_all, regex_fields, ARROW, keep=False):
                    out.write_batch(batch)

    def read(number: int, task: list[Range]) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(kept / str(number))) as file:
            batches = pa.ipc.open_file(file)
            for batch in range(batches.num_record_batches):
                yield batches.get_batch(batch)

    return over_tasks(spark, tasks, read, PLACED_EVENTS)


def parsed_and_dropped(spark: SparkSession, paths: list[str]) -> DataFrame:
    """C without its output: reading and parsing alone."""

    def read(number: int, task: list[Range]) -> Iterator[pa.RecordBatch]:
        for batch in without_collector(parse_blocks(read_task(task), match_all, regex_fields, ARROW, keep=False)):
            yield batch.slice(0, 0)

    return over_tasks(spark, with_lines_before(spark, tasks_of(paths)), read, PLACED_EVENTS)


FLOORS: dict[str, Engine] = {
    "text_count": lambda spark, paths: spark.read.text(paths).groupBy().count(),
    "text_noop": lambda spark, paths: spark.read.text(paths),
    "framed_noop": framed,
    "text_to_python_and_dropped": text_to_python_and_dropped,
    "C_output_replayed": replayed,
    "C_parsed_and_dropped": parsed_and_dropped,
}
ENGINES: dict[str, Engine] = {
    "A_text_catalyst": lambda spark, paths: catalyst(framed(spark, paths)),
    "B_text_python": text_to_python,
    "C_ranges_python": ranges_with(match_all, regex_fields),
    "C_with_messages": ranges_with(match_all, regex_fields, keep=True),
    "D_ranges_polars": ranges_with(keep_all, polars_fields),
}

# ----------------------------------------------------------------------------------------------------------- the oracle

ORACLE_HEAD = re.compile(r"\[(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d),(\d{3})\] +(\w+)( .*)", re.DOTALL)
PAIR = re.compile(r"(\w+)=(?:\[(?P<list>[^\]]*)\]|'(?P<quoted>[^']*)'|(?P<plain>[^,()\[\] ]+))")
OF_STATE = {
    "partitionIndex": "partition",
    "leader": "leader",
    "leaderEpoch": "leader_epoch",
    "zkVersion": "partition_epoch",
}
OF_TEXT = {  # what stands before a number
    "controller_id": ("from controller ", "by controller ", "[Controller id="),
    "controller_epoch": (" epoch=", " epoch "),
    "correlation_id": ("correlation id ", "correlationId "),
}
ORACLE_KINDS = {  # start and what else has to be there -> kind, and what the broker's id stands after
    ("Cached leader info UpdateMetadataPartitionState(", ") for partition "): ("cached_leader", "[Broker id="),
    ("Received LeaderAndIsr request ", "correlation id"): ("received_leader_and_isr", "[Broker id="),
    ("Sending UpdateMetadata request ", " to brokers "): ("sending_update_metadata", None),
    ("Sending become-", ") to broker "): ("sending_leader_and_isr", " to broker "),
    ("Ignoring LeaderAndIsr request from ", " leader epoch "): ("ignored_leader_and_isr", "[Broker id="),
    ("Changed partition ", " with state LeaderAndIsr("): ("changed_partition", None),
    ("Changed state of replica ", " from "): ("changed_replica", "of replica "),
    ("Handling LeaderAndIsr request ", " transition "): ("handling_leader_and_isr", "[Broker id="),
    ("Completed LeaderAndIsr request ", " transition "): ("completed_leader_and_isr", "[Broker id="),
    ("Received response ", " for request "): ("received_response", " (id: "),
}


def number_after(text: str, *anchors: str) -> int | None:
    """The number that follows the first of the anchors that is there."""
    found = (re.search(re.escape(anchor) + r"(-?\d+)", text) for anchor in anchors)
    return next((int(match[1]) for match in found if match), None)


def found_in(text: str, pattern: str) -> re.Match[str]:
    """The first match; the oracle stops at a message that has none."""
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"no {pattern} in {text[:200]!r}")
    return found


def oracle_fields(message: str) -> dict[str, object]:
    """Kind and fields of a message of state.change.logger; nothing if it is of no kind we type."""
    body = message.split("] ", 1)[-1]
    kinds = [kind for (start, needed), kind in ORACLE_KINDS.items() if body.startswith(start) and needed in body]
    if not kinds:
        return {}
    kind, broker = kinds[0]
    fields: dict[str, object] = {"kind": kind}
    for name, anchors in OF_TEXT.items():
        outside = re.sub(r"\(.*\)", "", message) if kind != "changed_partition" else message.split(" with ")[0]
        fields[name] = number_after(outside, *anchors)
    if broker:
        fields["broker_id"] = number_after(message, broker)
    if "State(" in body or kind == "changed_partition":
        for pair in PAIR.finditer(body):
            if pair[1] in OF_STATE:
                fields[OF_STATE[pair[1]]] = int(pair["plain"])
            elif pair[1] in LISTS and pair["list"] is not None:
                fields[pair[1]] = [int(id_) for id_ in pair["list"].split(",") if id_]
            elif pair[1] == "topicName":
                fields["topic"] = pair["quoted"]
    if kind == "changed_partition":
        fields["isr"] = [int(id_) for id_ in found_in(body, r"isr=List\((.*?)\)")[1].split(",") if id_]
    if kind == "sending_update_metadata":
        fields["brokers"] = [int(id_) for id_ in found_in(body, r"brokers \w+\((.*?)\)")[1].split(",") if id_]
    if "topic" not in fields and kind != "received_response":
        topic, _, partition = found_in(body, r"artition (\S+)")[1].rpartition("-")
        fields |= {"topic": topic, "partition": int(partition)}
    if kind.startswith("changed"):
        fields["was"], fields["now"] = found_in(body, r" from (\w+) to (\w+)").groups()
    if kind in ("sending_leader_and_isr", "handling_leader_and_isr", "completed_leader_and_isr"):
        fields["transition"] = found_in(body, r"become-\w+")[0]
    if kind in ("handling_leader_and_isr", "completed_leader_and_isr"):
        fields["leader"] = number_after(body, "with leader ")
    if kind == "ignored_leader_and_isr":
        fields["leader_epoch"] = number_after(body, "associated leader epoch ")
    if kind == "received_response":
        fields["request"] = body.split(" for request ")[1].split(" ")[0]
    return fields


def oracle(paths: list[str]) -> Iterator[dict[str, object]]:
    """Each record of some files, with what it says and where it is; line by line, in plain Python."""
    for file, path in enumerate(paths):
        record: list[bytes] = []
        first = offset = 0
        lines = Path(path).read_bytes().splitlines(keepends=True)
        for number, line in enumerate([*lines, b"[2000-01-01 00:00:00,000] "], 1):
            if re.match(rb"\[\d{4}-", line) and record:
                yield oracle_record(record) | {
                    "file": file,
                    "line": first,
                    "offset": offset,
                    "length": len(b"".join(record)),
                }
                offset += len(b"".join(record))
                record = []
            first = first if record else number
            record.append(line)


def oracle_record(lines: list[bytes]) -> dict[str, object]:
    """What one record says."""
    texts = [line.decode().rstrip("\n") for line in lines]
    last = next((i for i, text in enumerate(texts) if re.search(r" \([\w.$]+\)$", text)), len(texts) - 1)
    head = ORACLE_HEAD.fullmatch("\n".join(texts[: last + 1]))
    if head is None:
        raise ValueError(f"no head in {texts[0][:200]!r}")
    *when, level, said = head.groups()
    message, _, logger = said.rpartition(" (") if re.search(r" \([\w.$]+\)$", said) else (said, "", "")
    message = message.lstrip(" ")
    days = (date(*map(int, when[:3])) - date(1970, 1, 1)).days
    ms = ((days * 24 + int(when[3])) * 60 + int(when[4])) * 60_000 + int(when[5]) * 1000 + int(when[6])
    said_more = "\n".join(texts[last + 1 :]).rstrip("\n")
    fields = oracle_fields(message) if logger == "state.change.logger)" else {}
    record = {"at": ms, "level": level, "logger": logger.removesuffix(")"), "detail": said_more or None}
    return record | (fields or {"message": message})


def summary_of_oracle(paths: list[str]) -> dict[str, int]:
    """The figures `summary` gives, from the oracle."""
    totals: dict[str, int] = {}

    def add(name: str, value: int) -> None:
        totals[name] = totals.get(name, 0) + value

    for record in oracle(paths):
        texts = {}
        for name in [*EVENTS.names, *PLACES]:
            value = record.get(name)
            texts[name] = "~" if value is None else ",".join(map(str, value)) if isinstance(value, list) else str(value)
            add(f"{name}_count", value is not None)
            add(
                f"{name}_sum",
                value if isinstance(value, int) else 0 if value is None else zlib.crc32(texts[name].encode()),
            )
        add("rows", 1)
        add("row_sum", zlib.crc32("|".join(texts[name] for name in EVENTS.names).encode()))
        add("placed_sum", zlib.crc32("|".join(texts[name] for name in [*EVENTS.names, *PLACES]).encode()))
    return totals


def summary(events: DataFrame) -> dict[str, int]:
    """Counts and sums of all columns, and of whole rows; text counts by its CRC-32."""
    figures, texts = [F.count(F.lit(1)).alias("rows")], {}
    for field in events.schema:
        column = F.col(field.name)
        if isinstance(field.dataType, T.TimestampType):
            column = F.unix_millis(column)
        text = (
            F.concat_ws(",", column.cast("array<string>"))
            if isinstance(field.dataType, T.ArrayType)
            else column.cast("string")
        )
        number = isinstance(field.dataType, T.IntegerType | T.LongType | T.TimestampType)
        summed = column if number else F.when(column.isNotNull(), F.crc32(text.cast("binary")))
        figures += [
            F.count(column).alias(f"{field.name}_count"),
            F.coalesce(F.sum(summed), F.lit(0)).alias(f"{field.name}_sum"),
        ]
        texts[field.name] = F.when(column.isNull(), "~").otherwise(text)

    def crc(names: list[str]) -> Column:
        return F.sum(F.crc32(F.concat_ws("|", *(texts[name] for name in names)).cast("binary")))

    figures.append(crc(EVENTS.names).alias("row_sum"))
    if "line" in events.columns:
        figures.append(crc([*EVENTS.names, *PLACES]).alias("placed_sum"))
    row = events.agg(*figures).first()
    assert row is not None  # without groups there is one row
    return row.asDict()


# ------------------------------------------------------------------------------------------------------------ measuring


def session() -> SparkSession:
    """Spark as the project runs it on one machine."""
    os.environ |= {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(__file__).parent),
        "POLARS_MAX_THREADS": "1",
    }
    settings: dict[str, bool | float | int | str | None] = {"spark.ui.enabled": "false"}
    settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    # A's generated method is too large for the JVM to compile; with this limit Spark cuts it up, 1.4 x faster.
    settings |= {"spark.sql.codegen.hugeMethodLimit": "8000"}
    settings |= {"spark.sql.session.timeZone": "UTC", "spark.driver.memory": "6g", "spark.sql.shuffle.partitions": "2"}
    return SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()


def measure(spark: SparkSession, engines: dict[str, Engine], paths: list[str], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of each engine in each round but the first."""
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for number in range(rounds + 1):
        for name, engine in engines.items():
            before, began = cpu_seconds(), time.perf_counter()
            engine(spark, paths).write.format("noop").mode("overwrite").save()
            spent = cpu_seconds() - before
            print(f"# {number} {name}: cpu {spent:.2f} s, wall {time.perf_counter() - began:.2f} s", file=sys.stderr)
            seconds[name] += [spent] if number else []
    return seconds


def main() -> None:
    """Reads the command line, measures, prints a table."""
    parser = argparse.ArgumentParser(description="Measure the engines that could frame and parse the logs.")
    parser.add_argument("logs", type=Path, metavar="LOGS")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="names of engines and floors, separated by commas")
    parser.add_argument("--check", action="store_true", help="compare with the oracle instead of measuring")
    asked = parser.parse_args()
    paths = [str(path) for path in sorted(asked.logs.rglob("*.log"))]
    chosen = {
        name: engine for name, engine in (FLOORS | ENGINES).items() if not asked.only or name in asked.only.split(",")
    }
    spark = session()
    if asked.check:
        expected = summary_of_oracle(paths)
        for name in chosen.keys() & ENGINES.keys():
            got = summary(chosen[name](spark, paths))
            wrong = {figure: (value, expected[figure]) for figure, value in got.items() if value != expected[figure]}
            print(name, got["rows"], "rows:", wrong or "equal to the oracle", flush=True)
        return
    size = sum(os.path.getsize(path) for path in paths) / 1e6
    for name, seconds in measure(spark, chosen, paths, asked.rounds).items():
        median = statistics.median(seconds)
        print(f"{name:28} {median:6.2f} cpu s ({min(seconds):.2f}-{max(seconds):.2f}) {size / median:6.1f} MB/cpu-s")


if __name__ == "__main__":
    # Imported, so that workers import this module too, once, instead of being sent it with each task.
    sys.path.insert(0, str(Path(__file__).parent))
    import engines

    engines.main()
