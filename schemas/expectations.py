"""What must hold of each table before readers may see it: one suite a table, as data.

How a violating row is recognised is in `jobs.warehouse.expectations`, by the name of each expectation's condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from schemas.table import Table
from schemas.tables import DERIVED, SOURCES

INCARNATION = ("cluster", "topic", "partition", "incarnation")


class RowOrder(NamedTuple):
    """How a table's rows are compared with their neighbours: within groups, along an order."""

    by: tuple[str, ...]
    order: tuple[str, ...]


_ROW_ORDERS: Mapping[str, RowOrder] = {
    "partition_timeline": RowOrder(INCARNATION, ("ordinal",)),
    "contradictions": RowOrder(INCARNATION, ("leader_epoch", "partition_epoch")),
    "elections": RowOrder(INCARNATION, ("at", "leader_epoch")),
    "offline_partitions": RowOrder(INCARNATION, ("since",)),
    "isr_changes": RowOrder(INCARNATION, ("ordinal", "kind")),
    "isr_churn": RowOrder(INCARNATION, ("follower", "hour")),
    "reassignments": RowOrder(INCARNATION, ("since",)),
    "events": RowOrder(("cluster", "file_id"), ("line", "byte_offset")),
    "rejects": RowOrder(("cluster", "file_id"), ("line", "byte_offset")),
    "verdicts": RowOrder(("cluster", "rule"), ("subject",)),
    "log_coverage": RowOrder(("cluster", "node_id", "kind"), ("since",)),
    "broker_timeline": RowOrder(("cluster", "broker"), ("since",)),
    "topic_timeline": RowOrder(("cluster", "topic"), ("incarnation",)),
    "controller_timeline": RowOrder(("cluster", "cluster_incarnation", "mode"), ("controller_epoch", "controller_id")),
    "control_requests": RowOrder(("cluster", "controller_id", "broker"), ("number",)),
    "clock_offsets": RowOrder(("cluster", "node_id"), ("hour",)),
    "log_dir_failures": RowOrder(("cluster", "broker"), ("log_dir", "at")),
    "incidents": RowOrder(("cluster",), ("incident_id",)),
    "topic_availability": RowOrder(("cluster", "topic"), ("span", "window")),
    "preferred_replica_imbalance": RowOrder(("cluster", "broker"), ("since",)),
    "cluster_minutely": RowOrder(("cluster",), ("minute",)),
}


def row_order(table: Table) -> RowOrder:
    """The one order that all expectations of a table share, so that Spark sorts it once."""
    return _ROW_ORDERS.get(table.name, RowOrder(table.key[:1], table.key[1:]))


@dataclass(frozen=True)
class Expectation:
    """One expectation of a suite: its name, what is expected, in words, and the columns that show a violating row."""

    name: str
    description: str
    columns: tuple[str, ...]
    condition: str = ""
    """Which condition a violating row meets; empty: the one of the expectation's own name."""
    about: tuple[str, ...] = ()
    """Columns that the condition is applied to, where it could be any."""


def keys_unique(table: Table) -> Expectation:
    """No two rows share the table's key."""
    return Expectation("keys_unique", f"no two rows share {', '.join(table.key)}", table.key)


def keys_known(table: Table, *nullable: str) -> Expectation:
    """No part of a key is null, but those that may be."""
    parts = tuple(name for name in table.key if name not in nullable)
    return Expectation("keys_known", f"none of {', '.join(parts)} is null", table.key, about=parts)


def no_overlap(table: str) -> Expectation:
    """Intervals of one group do not overlap."""
    by = _ROW_ORDERS[table].by
    return Expectation("no_overlap", f"intervals of one {', '.join(by[1:])} do not overlap", (*by, "since", "until"))


def since_before_until(*columns: str) -> Expectation:
    """No interval ends before it begins."""
    return Expectation("since_before_until", "no interval ends before it begins", columns)


def monotone(table: str, name: str) -> Expectation:
    """A column does not fall along the table's order."""
    by, (first, *_) = _ROW_ORDERS[table]
    return Expectation(
        f"{name}_monotone", f"{name} does not fall as {first} grows", (*by, first, name), "monotone", (name,)
    )


def has_evidence(table: Table) -> Expectation:
    """Each row names a line that proves it."""
    return Expectation("has_evidence", "each row names a line that proves it", table.key)


BYTES = ("event_bytes", "detail_bytes", "reject_bytes", "other_bytes", "duplicate_bytes", "held_back_bytes")
"""Columns of `log_files` that add up to `size_bytes`."""
WRITTEN = ("written_event_bytes", "written_event_lines", "written_reject_bytes", "written_reject_lines")
"""Columns that the gate adds to `log_files`: sums over the stream's rows in `events` and `rejects`."""
ALLOWED = "allowed_reject_ratio"
"""Another one: the most rejects that a stream may have per event and reject, if it has more than 20 of them."""


_OWN: Mapping[str, tuple[Expectation, ...]] = {
    "log_files": (
        Expectation(
            "bytes_accounted",
            "size = event + detail + reject + other + duplicate + held_back bytes",
            ("path", "size_bytes", *BYTES),
        ),
        Expectation(
            "as_written",
            "the bytes and lines of a stream's events and rejects are those that were written",
            ("path", "file_id", "event_bytes", "detail_bytes", "event_lines", "reject_bytes", "reject_lines", *WRITTEN),
        ),
        Expectation(
            "reject_ratio",
            "a stream has no more rejects per record in scope than max_reject_percent allows, unless it is damaged",
            ("path", "reject_lines", "event_lines"),
        ),
    ),
    "events": (
        Expectation(
            "typed",
            "each event has a type and a logger",
            ("file_id", "line"),
        ),
    ),
    "log_coverage": (no_overlap("log_coverage"), since_before_until("cluster", "node_id", "kind", "since", "until")),
    "topic_timeline": (no_overlap("topic_timeline"), since_before_until("cluster", "topic", "since", "until")),
    "partition_timeline": (
        no_overlap("partition_timeline"),
        since_before_until(*INCARNATION, "since", "until"),
        monotone("partition_timeline", "since"),
    ),
    "controller_timeline": (
        monotone("controller_timeline", "since"),
        since_before_until("cluster", "controller_epoch", "since", "until"),
        Expectation(
            "of_one_cluster",
            "no node's cluster ids take turns: these are logs of several clusters, of which each needs a name "
            "(`clusters` in the --conf file)",
            ("cluster", "controller_id", "controller_epoch"),
        ),
    ),
    "broker_timeline": (no_overlap("broker_timeline"), since_before_until("cluster", "broker", "since", "until")),
    "elections": (
        Expectation(
            "leader_if_succeeded",
            "an election that succeeded names its leader",
            (*INCARNATION, "at"),
        ),
    ),
    "offline_partitions": (no_overlap("offline_partitions"), since_before_until(*INCARNATION, "since", "until")),
    "isr_changes": (
        Expectation(
            "changes_something",
            "a shrink removes and an expand adds a replica",
            (*INCARNATION, "at", "kind"),
        ),
    ),
    "control_requests": (
        Expectation(
            "received_before_handled",
            "no broker logs the end of a request before its receipt",
            ("controller_id", "broker", "number", "received_at", "handled_at"),
        ),
    ),
    "clock_offsets": (
        Expectation(
            "bounds_in_order",
            "no clock's smallest offset is above its largest",
            ("node_id", "hour", "offset_ms_min", "offset_ms_max"),
        ),
    ),
    "reassignments": (since_before_until(*INCARNATION, "since", "until"),),
    "incidents": (since_before_until("cluster", "incident_id", "since", "until"),),
    "preferred_replica_imbalance": (no_overlap("preferred_replica_imbalance"),),
    "verdicts": (
        Expectation(
            "three_valued",
            "a verdict is holds, violated or unknown, and unknown names what is missing",
            ("rule", "subject", "verdict"),
        ),
    ),
}
# a failed election began no epoch; a log's node may be unknown, and so may the epochs of contradicting lines
_NULLABLE_KEYS = {
    "elections": ("leader_epoch",),
    "log_coverage": ("node_id",),
    "contradictions": ("leader_epoch", "partition_epoch"),
    "controller_activity": ("event",),
    "config_changes": ("topic", "resource"),
}
_WITHOUT_EVIDENCE = {
    "clock_offsets", "log_files", "log_coverage", "events", "rejects", "isr_churn", "topic_availability",
    "preferred_replica_imbalance", "cluster_minutely",
}  # fmt: skip


def suite(table: Table) -> tuple[Expectation, ...]:
    """All expectations of a table: keys, evidence, and its own."""
    common = [keys_unique(table), keys_known(table, *_NULLABLE_KEYS.get(table.name, ()))]
    if table.name not in _WITHOUT_EVIDENCE:
        common.append(has_evidence(table))
    return (*common, *_OWN.get(table.name, ()))


SUITES: Mapping[str, tuple[Expectation, ...]] = {table.name: suite(table) for table in (*SOURCES, *DERIVED)}
"""The suite of each table that a run publishes."""
