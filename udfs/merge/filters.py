"""Which records of a block are wanted: cheap filters by their bytes first, rules only for what is left."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from udfs.merge.block import Block
from udfs.merge.record import Record
from udfs.merge.topic_filter import TopicFilter, literal_hits, rows_with
from udfs.rules.regex import late

if TYPE_CHECKING:
    from udfs.logs.arrays import Longs
    from udfs.logs.layouts import Layout
    from udfs.merge.search import Search

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
SCOPES: Mapping[str, tuple[str, ...]] = {  # what `--only` names -> loggers; those that end in a dot, and all below
    "state-change": ("state.change.logger",),
    "controller": ("kafka.controller", "kafka.controller.", "org.apache.kafka.controller."),
    "partition": ("kafka.cluster.Partition",),
}

RULES_PAY_FROM = 500
"""From so many records on it pays to load all rules of an event: what has none of their texts need not be parsed."""

_MOST_LITERALS = 3  # of more, finding all records is quicker
_OPERATORS = late(rb"[\\.^$*+?{}\[\]|()\n]")

Check = Callable[[Record], bool]


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
    """Ids of the topic, for records that name nothing else."""

    @property
    def is_empty(self) -> bool:
        """Whether everything is wanted."""
        return self == Filters()

    @property
    def names_partition(self) -> bool:
        """Whether a record that was looked at names one of the partitions, not only the topic."""
        return self._topic is not None and self._topic.names_partition

    @cached_property
    def search(self) -> Search | None:
        """Looks for bytes that all wanted records of the usual layout have; None if there are none to look for."""
        if self._topic is not None:
            return self._topic.hits
        literals: list[bytes] = []
        if self.grep is not None and self.grep.pattern and not _OPERATORS.search(self.grep.pattern):
            literals = [self.grep.pattern]
        elif self.correlation_id is not None:
            literals = [b"%d" % self.correlation_id]
        elif 0 < len(self.levels) <= _MOST_LITERALS:
            literals = self._begins_of_levels
        elif self.events and 0 < len(self._landmarks) <= _MOST_LITERALS and all(self._landmarks):
            literals = sorted(self._landmarks)
        return partial(literal_hits, literals) if literals else None

    def rows(self, block: Block, layout: Layout | None, node: int | None) -> Longs:
        """The records of a block that are wanted, in its order, which must be that of their bytes."""
        rows: set[int] | None = None  # None: all
        for number in (self.controller_epoch, self.leader_epoch, self.correlation_id):
            if number is not None:
                rows = _both(rows, rows_with(block, [str(number).encode()]))
        if self.levels:
            rows = _both(rows, rows_with(block, self._begins_of_levels))
        if self.events and layout is None and len(block) >= RULES_PAY_FROM and all(self._landmarks):
            rows = _both(rows, rows_with(block, sorted(self._landmarks)))
        sure: set[int] = set()
        if self._topic is not None:
            sure, unsure = self._topic.rows(block)
            rows = _both(rows, sure | unsure)
        checks = self._checks
        if not checks and rows is not None and rows <= sure:
            return np.array(sorted(rows), np.int64)
        wanted = []
        for row in range(len(block)) if rows is None else sorted(rows):
            record = Record(block.raw(row), layout, node)
            is_about = self._topic is None or row in sure or self._topic.concerns(record)
            if is_about and all(check(record) for check in checks):
                wanted.append(row)
        return np.array(wanted, np.int64)

    @property
    def _begins_of_levels(self) -> list[bytes]:
        """What of the names of the levels is there, too, where they are cut short."""
        return [level[:3].encode() for level in sorted(self.levels)]

    @cached_property
    def _landmarks(self) -> set[bytes]:
        from udfs.rules.lookup import landmarks_of

        return landmarks_of(self.events)

    @cached_property
    def _topic(self) -> TopicFilter | None:
        return None if self.topic is None else TopicFilter(self.topic, self.partitions, self.topic_ids)

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
                lambda record: record.writer in self.brokers or (record.event or {}).get("broker_id") in self.brokers
            )
        if self.events:
            checks.append(lambda record: (record.event or {}).get("event_type") in self.events)
        return checks


def _is_below(logger: str, names: Sequence[str]) -> bool:
    return any(logger == name or (name[-1] == "." and logger.startswith(name)) for name in names)


def _names_number(name: str, number: int) -> Check:
    """Whether a column is that number, or that of one of several partitions is."""

    def check(record: Record) -> bool:
        event = record.event or {}
        return event.get(name) == number or any(part.get(name) == number for part in event.get("partitions", ()))

    return check


def _both(rows: set[int] | None, others: set[int]) -> set[int]:
    return others if rows is None else rows & others
