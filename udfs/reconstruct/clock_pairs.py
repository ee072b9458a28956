"""Pairs of lines of two nodes of which one caused the other, found in one pass over all lines, and how they bound skew.

The same pairs as the timelines find (`jobs.timelines.clocks.to_clock_pairs`), without Spark. What lines say is put into
a temporary database on disk: both halves of a pair may stand anywhere in the logs, and these do not fit into memory.
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
from udfs.reconstruct.control_request_lines import (
    APIS,
    HANDLED,
    REQUEST_EVENTS,
    STATE_EVENTS,
    STOP_REPLICA,
    ControlRequest,
    RequestLine,
)
from udfs.reconstruct.control_requests import requests_of
from udfs.rules.state_events import FULL_STATE_EVENTS, LEADER_STATE_EVENTS, STATE_CHANGE_EVENTS

DELETED = (
    "topic_deletion_started",
    "topic_deletion_completed",
    "metadata_cache_partition_deleted",
    "kraft_topic_removed",
)
"""A topic's epochs may come again after these."""
INTENTIONS = ("isr_shrinking", "isr_expanding")
"""What a leader logs before it changes an ISR; `isr_updated` follows when it is done."""
ELECTED, FOLLOWED = "raft_leader_elected", "raft_leader_changed"
STARTING, REGISTERED = "broker_incarnation_starting", ("kraft_broker_registering", "kraft_broker_registered")
"""A broker's process names its incarnation, then a controller registers that, and all controllers replay it."""
_BEGUN_ONCE = {
    ELECTED: ("cause", "controller_epoch"),
    FOLLOWED: ("effect", "controller_epoch"),
    STARTING: ("cause", "incarnation_id"),
    **dict.fromkeys(REGISTERED, ("effect", "incarnation_id")),
}
"""What one node begins once and others log later: the table of the line, and the field by which it is known."""
_COMMITTED_STATES = frozenset((*FULL_STATE_EVENTS, *LEADER_STATE_EVENTS, *STATE_CHANGE_EVENTS))
CLOCK_EVENTS = frozenset((*REQUEST_EVENTS, *_COMMITTED_STATES, *DELETED, *INTENTIONS, *_BEGUN_ONCE))
"""Event types of lines that compare clocks; `isr_updated` is in LEADER_STATE_EVENTS."""

ParsedMessage = Mapping[str, Any]
"""What a rule reads from a message: see `udfs.rules.parsing.read_message`."""
ClockPair = tuple[int, int, int, int]
"""Node of the cause, node of the effect, and when each was logged on its own node's clock, microseconds."""

_TABLES = """
CREATE TABLE request_line (controller, broker, side, kind, epoch, id, node, file, at, line, key, count);
CREATE TABLE isr (node, topic, partition, at, file, line, event, isr, partition_epoch);
CREATE TABLE cause (what, node, at);
CREATE TABLE effect (what, node, at);
CREATE TABLE deleted (topic PRIMARY KEY) WITHOUT ROWID;
"""
_REQUEST_LINES = """
SELECT controller, broker, side, node, file, at, min(line), max(line), kind, epoch, id,
  group_concat(key, char(10)), max(count)
FROM request_line
GROUP BY controller, broker, at, side, kind, epoch, id, node, file, iif(side = 'handled', 0, line)
ORDER BY controller, broker, at
"""
_INTENDED = """
INSERT INTO cause SELECT topic || ':' || partition || ':' || partition_epoch, node, began FROM (
  SELECT *, lag(event) OVER own AS event_before, lag(at) OVER own AS began, lag(isr) OVER own AS intended
  FROM isr WINDOW own AS (PARTITION BY node, topic, partition ORDER BY at, file, line)
) WHERE event = 'isr_updated' AND event_before <> 'isr_updated' AND intended = isr AND partition_epoch IS NOT NULL
  AND topic NOT IN (SELECT topic FROM deleted)
"""
_LATER = """
SELECT once.node, later.node, once.at, later.at
FROM (SELECT what, min(node) AS node, min(at) AS at FROM cause GROUP BY what HAVING count(*) = 1) AS once
JOIN (SELECT what, node, min(at) AS at FROM effect GROUP BY what, node) AS later USING (what)
"""
_ROWS_AT_ONCE = 10_000
"""Rows that are collected before they are written."""
_LINES_AT_ONCE = 30_000
"""Lines of one controller and broker that are looked at together. That bounds memory, to some 70 MB."""


class ClockPairs:
    """What lines say about other nodes' clocks. Add all lines of all nodes, in any order; then ask for the bounds."""

    def __init__(self) -> None:
        # a file of its own that has no name
        self._db = sqlite3.connect("", isolation_level=None)
        with _as_os_error():
            self._db.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_TABLES}")
        self._rows: dict[str, list[Sequence[Any]]] = {}

    def add(self, fields: ParsedMessage, node: int, file: str, line: int, at: int) -> None:
        """Adds what a rule reads from one line, its node, place, and time by the node's own clock.

        Raises OSError if the disk is full.
        """
        event, topic = fields["event_type"], fields.get("topic")
        partition, partition_epoch = fields.get("partition"), fields.get("partition_epoch")
        if event in REQUEST_EVENTS:
            for row in request_line_rows(fields, node, file, line, at):
                self._insert("request_line", row)
        if event in DELETED and topic is not None:
            self._insert("deleted", (topic,))
        if event in _BEGUN_ONCE and fields.get(_BEGUN_ONCE[event][1]) is not None:
            table, name = _BEGUN_ONCE[event]
            self._insert(table, (f"{name}:{fields[name]}", node, at))
        if event in (*INTENTIONS, "isr_updated") and topic is not None:
            isr = _joined_ids(fields.get("isr"))
            self._insert("isr", (node, topic, partition, at, file, line, event, isr, partition_epoch))
        if event in _COMMITTED_STATES and topic is not None and partition_epoch is not None:
            self._insert("effect", (f"{topic}:{partition}:{partition_epoch}", node, at))

    def _insert(self, table: str, row: Sequence[Any]) -> None:
        rows = self._rows.setdefault(table, [])
        rows.append(row)
        if len(rows) >= _ROWS_AT_ONCE:
            self._write(table)

    def _write(self, table: str) -> None:
        rows = self._rows.pop(table, [])
        places = ",".join("?" * len(rows[0]))
        with _as_os_error():
            self._db.execute("BEGIN")
            self._db.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({places})", rows)
            self._db.execute("COMMIT")

    def skew_bounds(self) -> list[SkewBound]:
        """What all lines bound: one bound for two nodes, one way, and BIN_US. Raises OSError if the disk is full."""
        for table in [*self._rows]:
            self._write(table)
        with _as_os_error():
            self._db.execute(_INTENDED)
            return closest_bounds(self._pairs())

    def _pairs(self) -> Iterator[ClockPair]:
        rows_in_order = self._db.execute(_REQUEST_LINES)
        for (controller, broker), rows in groupby(rows_in_order, key=lambda row: (row[0], row[1])):
            while lines := [_request_line(row) for row in islice(rows, _LINES_AT_ONCE)]:
                for request in requests_of(lines):
                    yield from pairs_of_request(request, controller, broker)
        yield from self._db.execute(_LATER)


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(errno.EIO, f"cannot write temporary data: {error}") from None


def pairs_of_request(request: ControlRequest, controller: int, broker: int) -> Iterator[ClockPair]:
    """A request is sent before it is received, and handled before it is answered; lines of one node compare no
    clocks."""
    sent, received, handled, answered = request.sent, request.received, request.handled, request.answered
    if controller != broker and sent is not None and received is not None:
        yield controller, broker, sent.at, received.at
    if controller != broker and handled is not None and answered is not None:
        yield broker, controller, handled.at, answered.at


def closest_bounds(pairs: Iterable[ClockPair]) -> list[SkewBound]:
    """Of the pairs of two nodes, one way, in BIN_US the closest, of several the first; `pairs` counts them all."""
    closest: dict[tuple[int, int, int], tuple[int, int]] = {}
    counts: dict[tuple[int, int, int], int] = {}
    for cause, effect, cause_at, effect_at in pairs:
        if cause == effect:
            continue
        key, ahead_and_at = (cause, effect, cause_at // BIN_US), (effect_at - cause_at, cause_at)
        closest[key] = min(closest.get(key, ahead_and_at), ahead_and_at)
        counts[key] = counts.get(key, 0) + 1
    return [SkewBound(*key[:2], at, ahead, counts[key]) for key, (ahead, at) in closest.items()]


# ---- lines on requests -----------------------------------------------------------------------------------------------
def request_line_rows(fields: ParsedMessage, node: int, file: str, line: int, at: int) -> Iterator[tuple[Any, ...]]:
    """One line of REQUEST_EVENTS as rows of `request_line`, one for each broker; none if it names no controller.

    The key is the state of the partition that the line names.
    """
    side, kind = REQUEST_EVENTS[fields["event_type"]]
    kind = APIS.get(fields.get("api", ""), kind)
    brokers: Iterable[int] = (node,)
    if side != HANDLED:
        target = _int(fields.get("target_broker"))
        brokers = (target,) if target is not None else map(int, _NUMBER.findall(fields.get("target_brokers", "")))
    controller, epoch, id_ = (fields.get(name) for name in ("controller_id", "controller_epoch", "correlation_id"))
    if controller is None:
        return
    key, count = _state_key(fields, kind), _partition_count(fields)
    for broker in brokers:
        yield controller, broker, side, kind, epoch, id_, node, file, at, line, key, count


def _request_line(row: Sequence[Any]) -> RequestLine:
    """One row of _REQUEST_LINES."""
    *_, side, node, file, at, first, last, kind, epoch, id_, keys, count = row
    states = tuple(keys.split("\n")) if keys else ()
    return RequestLine(side, node, file, at, first, last, kind, epoch, id_, states, count)


_NUMBER = re.compile(r"-?\d+")


def _int(text: Any) -> int | None:
    return int(text) if text is not None and _NUMBER.fullmatch(str(text)) else None


def _joined_ids(ids: Sequence[int] | None) -> str | None:
    return None if ids is None else ",".join(map(str, sorted(ids)))


def _state_key(fields: ParsedMessage, kind: str | None) -> str | None:
    """The state of a partition that a request carries, as both sides print it: see `RequestLine`; None of lines that
    print none."""
    event, topic = fields["event_type"], fields.get("topic")
    if event not in STATE_EVENTS or topic is None:
        return None
    name = "-".join(str(part) for part in (topic, fields.get("partition")) if part is not None)
    if event == "metadata_cache_partition_deleted" or fields.get("leader") == -2:
        return f"{name}:-2::-"
    partition_epoch = fields.get("partition_epoch", "-" if kind == STOP_REPLICA else "")
    return f"{name}:{fields.get('leader_epoch', '')}:{_joined_ids(fields.get('isr')) or ''}:{partition_epoch}"


def _partition_count(fields: ParsedMessage) -> int | None:
    """The number of partitions in a line on a whole request; None if it has none."""
    for names in _COUNTS:
        parts = [_int(fields.get(name)) for name in names]
        if None not in parts:
            return sum(part for part in parts if part is not None)
    return None


_COUNTS = (
    ("partition_count",),
    ("replica_count",),
    ("become_leader_count", "become_follower_count"),
    ("added_partition_count", "deleted_partition_count"),
)
