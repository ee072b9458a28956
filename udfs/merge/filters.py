"""What a record concerns: the filters of `merge`, cheap ones by its bytes first, rules only for what is left.

A record concerns a topic if it names it, alone, with a partition, or in a list; with `partitions`, if it names one of
these, or the topic as a whole. Text decides where it cannot be read in two ways, else the rule that knows the message.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from udfs.merge.blocks import Block
from udfs.rules.regex import late

if TYPE_CHECKING:
    from udfs.logs.layouts import Head, Layout
    from udfs.merge.blocks import Longs

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
SCOPES: Mapping[str, tuple[str, ...]] = {  # what `--only` names -> loggers; those that end in a dot, and all below
    "state-change": ("state.change.logger",),
    "controller": ("kafka.controller", "kafka.controller.", "org.apache.kafka.controller."),
    "partition": ("kafka.cluster.Partition",),
}


@dataclass(eq=False)
class Record:
    """One record, read as far as somebody asks."""

    raw: bytes
    layout: Layout | None = None  # None: the usual one
    node: int | None = None  # of its file, None: not known

    @cached_property
    def head(self) -> Head:
        """The parts of its first line; of one whose begin another writer tore, from where it goes on."""
        from udfs.logs.layouts import APACHE, read_head

        layout = self.layout or APACHE
        begin = 0
        if layout.torn is not None and not layout.start.match(self.raw) and self.raw[:1] not in _GLUE:
            torn = layout.torn.search(self.raw, 0, self._head_end)
            begin = torn.start() if torn else 0
        return read_head(layout, self.raw, begin, self._head_end, len(self.raw))

    @cached_property
    def _head_end(self) -> int:
        return self.raw.find(b"\n") + 1 or len(self.raw)

    @property
    def level(self) -> str:
        """Its level; empty if it has none."""
        return self.head[1].decode("ascii", "replace")

    @property
    def logger(self) -> str:
        """Its logger; empty if it has none."""
        return self.head[5].decode("utf-8", "backslashreplace") or (self.layout.logger if self.layout else "")

    @property
    def message(self) -> bytes:
        """What it says, without time, level and logger; of several lines the first."""
        return self.head[2]

    @property
    def detail(self) -> bytes:
        """Its further lines."""
        return self.raw[self._head_end :].rstrip(b"\r\n")

    @cached_property
    def told(self) -> dict[str, Any] | None:
        """What the rule that knows it reads: event type, columns, further fields, `node`. None if no rule knows it."""
        from udfs.rules.parsing import read_message

        return read_message(self.logger, self.message)

    @property
    def writer(self) -> int | None:
        """The node that wrote it: the one that it names, else its file's."""
        named: int | None = (self.told or {}).get("node")
        return self.node if named is None else named


MANY = 500
"""From so many records on it pays to know all rules of an event: what has none of their texts need not be read."""

Check = Callable[[Record], bool]
_GLUE = (b"\0", b"\xef")


@dataclass(frozen=True)
class Filters:
    """What is wanted; empty or None: everything. All must hold."""

    topic: str | None = None
    partitions: frozenset[int] = frozenset()
    brokers: frozenset[int] = frozenset()
    controller_epoch: int | None = None
    leader_epoch: int | None = None
    correlation_id: int | None = None
    events: frozenset[str] = frozenset()
    levels: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    grep: re.Pattern[bytes] | None = None
    topic_ids: frozenset[str] = frozenset()
    """Ids that the topic is known to have, for records that name nothing else."""

    @property
    def is_empty(self) -> bool:
        """Whether everything is wanted."""
        return self == Filters()

    def rows(self, block: Block, layout: Layout | None, node: int | None) -> Longs:
        """The records of a block that are wanted, in its order, which must be that of their bytes."""
        rows: set[int] | None = None  # None: all
        for number in (self.controller_epoch, self.leader_epoch, self.correlation_id):
            if number is not None:
                rows = _both(rows, rows_with(block, [str(number).encode()]))
        if self.levels:
            rows = _both(rows, rows_with(block, [level.encode() for level in sorted(self.levels)]))
        if self.events and layout is None and len(block) >= MANY and all(self._landmarks):
            rows = _both(rows, rows_with(block, sorted(self._landmarks)))
        sure: set[int] = set()
        if self._topic is not None:
            sure, unsure = self._topic.rows(block)
            rows = _both(rows, sure | unsure)
        checks = self._checks
        if not checks and rows is not None and rows <= sure:
            return np.array(sorted(rows), np.int64)
        kept = []
        for row in range(len(block)) if rows is None else sorted(rows):
            record = Record(block.raw(row), layout, node)
            is_about = self._topic is None or row in sure or self._topic.concerns(record)
            if is_about and all(check(record) for check in checks):
                kept.append(row)
        return np.array(kept, np.int64)

    @cached_property
    def _landmarks(self) -> set[bytes]:
        from udfs.rules.lookup import landmarks_of

        return landmarks_of(self.events)

    @cached_property
    def _topic(self) -> Topic | None:
        return None if self.topic is None else Topic(self.topic, self.partitions, self.topic_ids)

    @cached_property
    def _checks(self) -> list[Check]:
        """Cheap ones first."""
        checks: list[Check] = []
        if self.levels:
            checks.append(lambda record: record.level in self.levels)
        if self.only:
            names = tuple(name for scope in self.only for name in SCOPES[scope])
            checks.append(lambda record: _is_below(record.logger, names))
        if self.grep is not None:
            pattern = self.grep
            checks.append(lambda record: pattern.search(record.raw) is not None)
        for name in ("controller_epoch", "leader_epoch", "correlation_id"):
            if (number := getattr(self, name)) is not None:
                checks.append(_names_number(name, number))
        if self.brokers:
            checks.append(
                lambda record: record.writer in self.brokers or (record.told or {}).get("broker_id") in self.brokers
            )
        if self.events:
            checks.append(lambda record: (record.told or {}).get("event_type") in self.events)
        return checks


def _is_below(logger: str, names: Sequence[str]) -> bool:
    return any(logger == name or (name[-1] == "." and logger.startswith(name)) for name in names)


def _names_number(name: str, number: int) -> Check:
    """Whether a column is that number, or that of one of several partitions is."""

    def check(record: Record) -> bool:
        told = record.told or {}
        return told.get(name) == number or any(part.get(name) == number for part in told.get("partitions", ()))

    return check


def _both(some: set[int] | None, others: set[int]) -> set[int]:
    return others if some is None else some & others


def rows_with(block: Block, literals: Sequence[bytes]) -> set[int]:
    """The records that hold one of some texts."""
    found: set[int] = set()
    starts, ends, data = block.starts.tolist(), block.ends.tolist(), block.data
    for literal in literals if starts else ():
        at, stop = starts[0], ends[-1]
        while (at := data.find(literal, at, stop)) >= 0:
            row = bisect_right(starts, at) - 1
            if at < ends[row]:
                found.add(row)
            at = max(ends[row], at + 1)
    return found


_ALONE = 6  # the group of the name alone
_NAME_BYTES = frozenset(b"-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_FORMS = (  # how a partition's number stands behind its topic's name: what is before it, and behind
    (rb"-", rb"(?![\w-]|\.\w)"),  # topic-3, maybe at the end of a sentence
    (rb"(?<=[\[(]%b), *", rb"(?:, *\d+)?(?=[\])])"),  # [topic,3], up to 0.11; with a replica, too
    (rb"'?, ?[Pp]artition(?:Index|Id|_index)?=", rb"(?!\d)"),
    (rb'", ?"partition": ?"?', rb"(?!\d)"),
    (rb"/partitions/", rb"(?!\d)"),
)


def _with_number(name: bytes, number: bytes) -> bytes:
    """Alternatives of what follows a topic's name with a partition."""
    return b"|".join((before % name if b"%b" in before else before) + number + behind for before, behind in _FORMS)


def _alone(name: bytes) -> bytes:
    """What follows a topic's name that stands for the whole topic; an empty group."""
    return rb"(?![\w-]|\.[\w-]|\s*,\s*-?\d|" + _with_number(name, rb"\d+") + rb")()"


class Topic:
    """Whether records concern a topic, or some of its partitions.

    Of a topic whose name is a number, lists of two brokers look like a partition: there the rules alone decide.
    """

    def __init__(self, topic: str, partitions: frozenset[int], topic_ids: frozenset[str] = frozenset()) -> None:
        name = re.escape(topic.encode())
        self._topic, self._partitions, self._ids = topic, partitions, topic_ids
        self._is_number = topic.isdigit()
        self._named = late(
            rb"(?<![\w.-])" + name + rb"(?:" + _with_number(name, rb"(\d+)") + rb"|" + _alone(name) + rb")"
        )
        numbers = rb"0*(?:" + b"|".join(b"%d" % n for n in sorted(partitions)) + rb")" if partitions else rb"\d+"
        # as above, but of these partitions only, and what stands before the name is left to be looked at: so that names
        # are found in compiled loops
        self._wanted = re.compile(name + rb"(?:" + _with_number(name, numbers) + rb"|" + _alone(name) + rb")")
        self._token = late(
            "|".join(map(re.escape, [topic, *sorted(topic_ids)])).join((r"(?<![\w.-])(?:", r")(?![\w-]|\.\w)"))
        )

    def rows(self, block: Block) -> tuple[set[int], set[int]]:
        """The records of a block that surely concern it, and those of which more than a name has to be looked at."""
        sure: set[int] = set()
        unsure: set[int] = set()
        for id_ in self._ids:
            unsure |= rows_with(block, [id_.encode()])
        if self._is_number:
            return sure, unsure | rows_with(block, [self._topic.encode()])
        starts, ends, data = block.starts.tolist(), block.ends.tolist(), block.data
        end = -1
        for m in self._wanted.finditer(data, starts[0], ends[-1]) if starts else ():
            at = m.start()
            if at < end or (at and data[at - 1] in _NAME_BYTES):
                continue
            row = bisect_right(starts, at) - 1
            if at >= ends[row]:
                continue
            if m.lastindex is None:
                sure.add(row)
                end = ends[row]
            else:
                unsure.add(row)
        return sure, unsure - sure

    def concerns(self, record: Record) -> bool:
        """Whether a record concerns it."""
        if self._is_number:
            return self._told(record, by_text=False)
        is_alone = is_numbered = False
        for m in self._named.finditer(record.raw):
            if m.lastindex == _ALONE:
                is_alone = True
            elif not self._partitions or int(m[m.lastindex or 0]) in self._partitions:
                return True
            else:
                is_numbered = True
        if not is_alone and (is_numbered or not self._ids):
            return False
        return self._told(record, by_text=not is_numbered)

    def _told(self, record: Record, *, by_text: bool) -> bool:
        """Whether the rule that knows the record reads the topic from it. `by_text`: whether it is enough that a value
        holds its name, or the record, if no rule knows it.
        """
        told = record.told
        if told is None:
            return by_text and self._token.search(record.raw.decode("utf-8", "replace")) is not None
        parts = [
            part
            for part in (told, *told.get("partitions", ()))
            if part.get("topic") == self._topic or part.get("topic_id") in self._ids
        ]
        numbers = {part.get("partition") for part in parts}
        if numbers and (not self._partitions or None in numbers or numbers & self._partitions):
            return True
        if numbers or not by_text or told.get("topic") is not None:
            return False
        values = [value for value in told.values() if isinstance(value, str)]
        return any(self._token.search(value) for value in (*values, record.detail.decode("utf-8", "replace")))


_ID = rb"[\w-]{22}"


def topic_ids_in(data: bytes | bytearray, topic: str) -> set[str]:
    """Ids that a text gives a topic: KRaft's records often name nothing else."""
    name = re.escape(topic.encode())
    pattern = _id_pattern(name)
    return {(m[1] or m[2]).decode() for m in pattern.finditer(data)}


def _id_pattern(name: bytes) -> re.Pattern[bytes]:
    return re.compile(
        rb"(?<![\w.-])"
        + name
        + rb"(?:-\d+)?(?:'|\")?,? (?:with |and |in )?topic ?[iI][dD](?:=|: | )?(?:Some\()?("
        + _ID
        + rb")(?![\w-])"
        rb"|\"name\": ?\"" + name + rb"\", ?\"topicId\": ?\"(" + _ID + rb")\""
    )
