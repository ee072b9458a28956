"""Pairs of lines of two nodes of which one caused the other, found in one pass over all lines, and what they limit.

The same pairs as the timelines find (`jobs.timelines.clocks.to_pairs`), without Spark. What lines tell is put into a temporary
database on disk: both halves of a pair may stand anywhere in the logs, and these do not fit into memory.
"""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from typing import Any

from udfs.reconstruct.clock_skew import BIN_US, SkewBound
from udfs.reconstruct.control_requests import (
    APIS,
    HANDLED,
    REQUEST_EVENTS,
    STATE_EVENTS,
    STOP_REPLICA,
    ControlRequest,
    RequestLine,
    requests_of,
)
from udfs.rules.state_events import FULL_STATE_EVENTS, LEADER_STATE_EVENTS, STATE_CHANGE_EVENTS

DELETED = (
    "topic_deletion_started",
    "topic_deletion_completed",
    "metadata_cache_partition_deleted",
    "kraft_topic_removed",
)
"""A topic's epochs may come again after these."""
INTENTIONS = ("isr_shrinking", "isr_expanding")
"""What a leader says before it changes an ISR; `isr_updated` says that it was done."""
ELECTED, FOLLOWED = "raft_leader_elected", "raft_leader_changed"
STARTING, REGISTERED = "broker_incarnation_starting", ("kraft_broker_registering", "kraft_broker_registered")
"""A broker's process names its incarnation, then a controller registers that, and all controllers replay it."""
_ONCE = {  # what one node begins once and others tell of: whether this does, and what it is known by
    ELECTED: ("begun", "controller_epoch"),
    FOLLOWED: ("told", "controller_epoch"),
    STARTING: ("begun", "incarnation_id"),
    **dict.fromkeys(REGISTERED, ("told", "incarnation_id")),
}
CLOCK_EVENTS = frozenset(
    (*REQUEST_EVENTS, *FULL_STATE_EVENTS, *LEADER_STATE_EVENTS, *STATE_CHANGE_EVENTS, *DELETED, *INTENTIONS, *_ONCE)
)  # isr_updated is in LEADER_STATE_EVENTS
"""Event types that tell anything here."""

ParsedMessage = Mapping[str, Any]
"""What a rule reads from a message: see `udfs.rules.parsing.read_message`."""
Pair = tuple[int, int, int, int]
"""Node of the cause, node of the effect, and when each was logged on its own node's clock, microseconds."""

_TABLES = """
CREATE TABLE mark (controller, broker, side, kind, epoch, id, node, file, at, line, key, count);
CREATE TABLE isr (node, topic, partition, at, file, line, said, isr, partition_epoch);
CREATE TABLE begun (what, node, at);
CREATE TABLE told (what, node, at);
CREATE TABLE deleted (topic PRIMARY KEY) WITHOUT ROWID;
"""
_MARKS = """
SELECT controller, broker, side, node, file, at, min(line), max(line), kind, epoch, id, group_concat(key, char(10)), max(count)
FROM mark GROUP BY controller, broker, at, side, kind, epoch, id, node, file, iif(side = 'handled', 0, line)
ORDER BY controller, broker, at
"""
_MEANT = """
INSERT INTO begun SELECT topic || ':' || partition || ':' || partition_epoch, node, began FROM (
  SELECT *, lag(said) OVER own AS before, lag(at) OVER own AS began, lag(isr) OVER own AS meant
  FROM isr WINDOW own AS (PARTITION BY node, topic, partition ORDER BY at, file, line)
) WHERE said = 'isr_updated' AND before <> 'isr_updated' AND meant = isr AND partition_epoch IS NOT NULL
  AND topic NOT IN (SELECT topic FROM deleted)
"""
_LATER = """
SELECT once.node, later.node, once.at, later.at
FROM (SELECT what, min(node) AS node, min(at) AS at FROM begun GROUP BY what HAVING count(*) = 1) AS once
JOIN (SELECT what, node, min(at) AS at FROM told GROUP BY what, node) AS later USING (what)
"""
_ROWS = 10_000  # that are kept before they are written
_MARKS_AT_ONCE = 30_000
"""Marks of one controller and broker that are looked at together. That bounds memory, to some 70 MB."""


class ClockPairs:
    """What lines tell of other nodes' clocks. Note all lines of all nodes, in any order of files; then ask for the limits."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)  # a file of its own that has no name
        with _as_os_error():
            self._db.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_TABLES}")
        self._rows: dict[str, list[Sequence[Any]]] = {}

    def add(self, told: ParsedMessage, node: int, file: str, line: int, at: int) -> None:
        """What a rule reads from one line, who wrote it, where, and when by its own clock. Raises OSError if the disk is full."""
        event, topic = told["event_type"], told.get("topic")
        if event in REQUEST_EVENTS:
            for row in request_line_rows(told, node, file, line, at):
                self._insert("mark", row)
        if event in DELETED and topic is not None:
            self._insert("deleted", (topic,))
        if event in _ONCE and told.get(_ONCE[event][1]) is not None:
            table, name = _ONCE[event]
            self._insert(table, (f"{name}:{told[name]}", node, at))
        place = (topic, told.get("partition"))
        if event in (*INTENTIONS, "isr_updated") and topic is not None:
            self._insert(
                "isr", (node, *place, at, file, line, event, _ids(told.get("isr")), told.get("partition_epoch"))
            )
        if event in _STATES and topic is not None and told.get("partition_epoch") is not None:
            self._insert("told", (":".join(map(str, (*place, told["partition_epoch"]))), node, at))

    def _insert(self, table: str, row: Sequence[Any]) -> None:
        rows = self._rows.setdefault(table, [])
        rows.append(row)
        if len(rows) >= _ROWS:
            self._write(table)

    def _write(self, table: str) -> None:
        rows = self._rows.pop(table, [])
        with _as_os_error():
            self._db.execute("BEGIN")
            self._db.executemany(
                f"INSERT OR IGNORE INTO {table} VALUES ({','.join('?' * len(rows[0]))})",
                rows,
            )
            self._db.execute("COMMIT")

    def skew_bounds(self) -> list[SkewBound]:
        """What all lines limit: one limit for two nodes, one way, and BIN_US. Raises OSError if the disk is full."""
        for table in [*self._rows]:
            self._write(table)
        with _as_os_error():
            self._db.execute(_MEANT)
            return closest_bounds(self._pairs())

    def _pairs(self) -> Iterator[Pair]:
        for (controller, broker), rows in groupby(self._db.execute(_MARKS), key=lambda row: (row[0], row[1])):
            while some := [_mark(row) for row in islice(rows, _MARKS_AT_ONCE)]:
                for request in requests_of(some):
                    yield from pairs_of_request(request, controller, broker)
        yield from self._db.execute(_LATER)


_STATES = frozenset((*FULL_STATE_EVENTS, *LEADER_STATE_EVENTS, *STATE_CHANGE_EVENTS))


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(errno.EIO, f"temporary data could not be kept: {error}") from None


def pairs_of_request(request: ControlRequest, controller: int, broker: int) -> Iterator[Pair]:
    """A request is sent before it is received, and handled before it is answered; what one node logs itself tells nothing."""
    sent, received, handled, answered = request.sent, request.received, request.handled, request.answered
    if controller != broker and sent is not None and received is not None:
        yield controller, broker, sent.at, received.at
    if controller != broker and handled is not None and answered is not None:
        yield broker, controller, handled.at, answered.at


def closest_bounds(pairs: Iterable[Pair]) -> list[SkewBound]:
    """Of the pairs of two nodes, one way, in BIN_US the closest, of several the first; and how many there were."""
    closest: dict[tuple[int, int, int], tuple[int, int]] = {}
    counts: dict[tuple[int, int, int], int] = {}
    for first, then, first_at, then_at in pairs:
        if first == then:
            continue
        key, one = (first, then, first_at // BIN_US), (then_at - first_at, first_at)
        closest[key] = min(closest.get(key, one), one)
        counts[key] = counts.get(key, 0) + 1
    return [SkewBound(*key[:2], at, ahead, counts[key]) for key, (ahead, at) in closest.items()]


# ---- lines on requests -----------------------------------------------------------------------------------------------
def request_line_rows(told: ParsedMessage, node: int, file: str, line: int, at: int) -> Iterator[tuple[Any, ...]]:
    """What one line of REQUEST_EVENTS says of requests, for each broker that it concerns: rows of `mark`. None if it names no controller.

    Lines of the controller on several brokers are a row for each; the key is the state of the partition that it names.
    """
    side, kind = REQUEST_EVENTS[told["event_type"]]
    kind = APIS.get(told.get("api", ""), kind)
    brokers: Iterable[int] = (node,)
    if side != HANDLED:
        target = _int(told.get("target_broker"))
        brokers = (target,) if target is not None else map(int, _NUMBER.findall(told.get("target_brokers", "")))
    controller, epoch, id_ = (told.get(name) for name in ("controller_id", "controller_epoch", "correlation_id"))
    if controller is None:
        return
    key, count = _key(told, kind), _count(told)
    for broker in brokers:
        yield controller, broker, side, kind, epoch, id_, node, file, at, line, key, count


def _mark(row: Sequence[Any]) -> RequestLine:
    """One row of _MARKS."""
    *_, side, node, file, at, first, last, kind, epoch, id_, keys, count = row
    return RequestLine(
        side, node, file, at, first, last, kind, epoch, id_, tuple(keys.split("\n")) if keys else (), count
    )


_NUMBER = re.compile(r"-?\d+")


def _int(text: Any) -> int | None:
    return int(text) if text is not None and _NUMBER.fullmatch(str(text)) else None


def _ids(ids: Sequence[int] | None) -> str | None:
    return None if ids is None else ",".join(map(str, sorted(ids)))


def _key(told: ParsedMessage, kind: str | None) -> str | None:
    """The state of a partition that a request carries, as both sides print it: see `RequestLine`; None of lines that print none."""
    event, topic = told["event_type"], told.get("topic")
    if event not in STATE_EVENTS or topic is None:
        return None
    name = "-".join(str(part) for part in (topic, told.get("partition")) if part is not None)
    if event == "metadata_cache_partition_deleted" or told.get("leader") == -2:
        return f"{name}:-2::-"
    number = told.get("partition_epoch", "-" if kind == STOP_REPLICA else "")
    return f"{name}:{told.get('leader_epoch', '')}:{_ids(told.get('isr')) or ''}:{number}"


def _count(told: ParsedMessage) -> int | None:
    """The number of partitions that a line on a whole request says; None if it says none."""
    for names in _COUNTS:
        parts = [_int(told.get(name)) for name in names]
        if None not in parts:
            return sum(part for part in parts if part is not None)
    return None


_COUNTS = (
    ("partition_count",),
    ("replica_count",),
    ("become_leader_count", "become_follower_count"),
    ("added_partition_count", "deleted_partition_count"),
)
