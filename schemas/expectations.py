"""What must hold of each table before readers may see it: one suite a table, as data.

An expectation is a condition that marks a violating row. Windows see only the table itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, Window, WindowSpec
from pyspark.sql import functions as F

from schemas.columns import Table
from schemas.tables import DERIVED, SOURCES

INCARNATION = ("cluster", "topic", "partition", "incarnation")
_ORDERS: Mapping[
    str, tuple[tuple[str, ...], tuple[str, ...]]
] = {  # table -> what its windows go by, and in which order
    "partition_timeline": (INCARNATION, ("ordinal",)),
    "contradictions": (INCARNATION, ("leader_epoch", "partition_epoch")),
    "elections": (INCARNATION, ("at", "leader_epoch")),
    "offline_partitions": (INCARNATION, ("since",)),
    "isr_changes": (INCARNATION, ("ordinal", "kind")),
    "isr_churn": (INCARNATION, ("follower", "hour")),
    "reassignments": (INCARNATION, ("since",)),
    "events": (("cluster", "file_id"), ("line", "byte_offset")),
    "rejects": (("cluster", "file_id"), ("line", "byte_offset")),
    "verdicts": (("cluster", "rule"), ("subject",)),
    "log_coverage": (("cluster", "node_id", "kind"), ("since",)),
    "broker_timeline": (("cluster", "broker"), ("since",)),
    "topic_timeline": (("cluster", "topic"), ("incarnation",)),
    "controller_timeline": (("cluster",), ("controller_epoch", "controller_id")),
    "control_requests": (("cluster", "controller_id", "broker"), ("number",)),
    "clock_offsets": (("cluster", "node_id"), ("hour",)),
}


@dataclass(frozen=True)
class Expectation:
    """One rule of a suite: its name, what it expects, in words, the rows that violate it, and the columns to show of them."""

    name: str
    description: str
    violated: Callable[[], Column]
    columns: tuple[str, ...]


def keys_unique(table: Table) -> Expectation:
    """No two rows share the table's key. Equal keys are neighbours in the one order that all of a table's rules use."""
    by, order = _ORDERS.get(table.name, (table.key[:1], table.key[1:]))
    rest = [name for name in table.key if name not in by]

    def repeated() -> Column:
        window = Window.partitionBy(*by).orderBy(*order)
        same = F.row_number().over(window) > 1
        for name in rest:
            same = same & F.col(name).eqNullSafe(F.lag(name).over(window))
        return same

    return Expectation("keys_unique", f"no two rows share {', '.join(table.key)}", repeated, table.key)


def keys_known(table: Table, *nullable: str) -> Expectation:
    """No part of a key is null, but those that may be."""
    parts = [name for name in table.key if name not in nullable]

    def missing() -> Column:
        found = F.lit(False)
        for name in parts:
            found = found | F.col(name).isNull()
        return found

    return Expectation("keys_known", f"none of {', '.join(parts)} is null", missing, table.key)


def _window(table: str) -> WindowSpec:
    by, order = _ORDERS[table]
    return Window.partitionBy(*by).orderBy(*order)


def no_overlap(table: str) -> Expectation:
    """Intervals of one thing do not overlap."""
    by = _ORDERS[table][0]
    return Expectation(
        "no_overlap",
        f"intervals of one {', '.join(by[1:])} do not overlap",
        lambda: F.coalesce(F.col("until") > F.lead("since").over(_window(table)), F.lit(False)),
        (*by, "since", "until"),
    )


def since_before_until(*columns: str) -> Expectation:
    """No interval ends before it begins."""
    return Expectation(
        "since_before_until",
        "no interval ends before it begins",
        lambda: F.coalesce(F.col("until") < F.col("since"), F.lit(False)),
        columns,
    )


def monotone(table: str, name: str) -> Expectation:
    """A column does not fall along the table's order."""
    by, order = _ORDERS[table]
    return Expectation(
        f"{name}_monotone",
        f"{name} does not fall as {order[0]} grows",
        lambda: F.coalesce(F.col(name) < F.lag(name).over(_window(table)), F.lit(False)),
        (*by, order[0], name),
    )


def has_evidence(table: Table) -> Expectation:
    """Each row names a line that proves it."""
    return Expectation(
        "has_evidence",
        "each row names a line that proves it",
        lambda: F.coalesce(F.size("evidence"), F.lit(0)) < 1,
        table.key,
    )


BYTES = ("event_bytes", "detail_bytes", "reject_bytes", "other_bytes", "duplicate_bytes", "held_back_bytes")
WRITTEN = ("written_event_bytes", "written_event_lines", "written_reject_bytes", "written_reject_lines")
"""What the gate adds to each row of `log_files`: sums over the stream's rows in `events` and `rejects`."""
ALLOWED = "allowed_reject_ratio"
"""And most rejects that the stream may have per event and reject, if it has more than 20 of them."""


def _not_as_written() -> Column:
    """Whether a stream's account differs from the records written; null sums: they were not counted."""
    told = (
        F.col("event_bytes") + F.col("detail_bytes"),
        F.col("event_lines"),
        F.col("reject_bytes"),
        F.col("reject_lines"),
    )
    different = F.lit(False)
    for account, written in zip(told, WRITTEN, strict=True):
        different = different | ~account.eqNullSafe(F.col(written))
    return F.col(WRITTEN[0]).isNotNull() & different


_OWN: Mapping[str, tuple[Expectation, ...]] = {
    "log_files": (
        Expectation(
            "bytes_accounted",
            "size = event + detail + reject + other + duplicate + held_back bytes",
            lambda: F.col("size_bytes") != sum((F.col(name) for name in BYTES), F.lit(0)),
            ("path", "size_bytes", *BYTES),
        ),
        Expectation(
            "as_written",
            "the bytes and lines of a stream's events and rejects are those that were written",
            _not_as_written,
            ("path", "file_id", "event_bytes", "detail_bytes", "event_lines", "reject_bytes", "reject_lines", *WRITTEN),
        ),
        Expectation(
            "reject_ratio",
            "of a stream's records in scope no more are rejects than max_reject_percent allows, unless it is damaged",
            lambda: (
                ~F.col("status").eqNullSafe("truncated")
                & (F.col("reject_lines") > 20)
                & (F.col("reject_lines") > F.col(ALLOWED) * (F.col("reject_lines") + F.col("event_lines")))
            ),
            ("path", "reject_lines", "event_lines"),
        ),
    ),
    "events": (
        Expectation(
            "typed",
            "each event has a type and a logger",
            lambda: F.col("event_type").isNull() | F.col("logger").isNull(),
            ("file_id", "line"),
        ),
    ),
    "log_coverage": (no_overlap("log_coverage"), since_before_until("cluster", "node_id", "kind", "since", "until")),
    "topic_timeline": (no_overlap("topic_timeline"), since_before_until("cluster", "topic", "since", "until")),
    "partition_timeline": (
        no_overlap("partition_timeline"),
        since_before_until(*INCARNATION, "since", "until"),
        monotone("partition_timeline", "leader_epoch"),
        monotone("partition_timeline", "since"),
    ),
    "controller_timeline": (
        monotone("controller_timeline", "since"),
        since_before_until("cluster", "controller_epoch", "since", "until"),
    ),
    "broker_timeline": (no_overlap("broker_timeline"), since_before_until("cluster", "broker", "since", "until")),
    "elections": (
        Expectation(
            "leader_if_succeeded",
            "an election that succeeded names its leader",
            lambda: F.col("succeeded") & F.col("leader").isNull(),
            (*INCARNATION, "at"),
        ),
    ),
    "offline_partitions": (no_overlap("offline_partitions"), since_before_until(*INCARNATION, "since", "until")),
    "isr_changes": (
        Expectation(
            "changes_something",
            "a shrink removes and an expand adds a replica",
            lambda: F.when(F.col("kind") == "shrink", F.size("removed") < 1).otherwise(F.size("added") < 1),
            (*INCARNATION, "at", "kind"),
        ),
    ),
    "control_requests": (
        Expectation(
            "received_before_handled",
            "no broker's last line on a request is older than its first",
            lambda: F.coalesce(F.col("handled_at") < F.col("received_at"), F.lit(False)),
            ("controller_id", "broker", "number", "received_at", "handled_at"),
        ),
    ),
    "clock_offsets": (
        Expectation(
            "bounds_in_order",
            "no clock's least offset is above its greatest",
            lambda: F.coalesce(F.col("offset_ms_min") > F.col("offset_ms_max"), F.lit(False)),
            ("node_id", "hour", "offset_ms_min", "offset_ms_max"),
        ),
    ),
    "reassignments": (since_before_until(*INCARNATION, "since", "until"),),
    "verdicts": (
        Expectation(
            "three_valued",
            "a verdict is holds, violated or unknown, and unknown names what is missing",
            lambda: (
                ~F.col("verdict").isin("holds", "violated", "unknown")
                | ((F.col("verdict") == "unknown") & (F.size("missing_inputs") < 1))
            ),
            ("rule", "subject", "verdict"),
        ),
    ),
}
_NULLABLE_KEYS = {  # a failed election began no epoch; who wrote a log may be unknown, and so may what contradicts itself
    "elections": ("leader_epoch",),
    "log_coverage": ("node_id",),
    "contradictions": ("leader_epoch", "partition_epoch"),
}
_WITHOUT_EVIDENCE = {"clock_offsets", "log_files", "log_coverage", "events", "rejects", "isr_churn"}


def suite(table: Table) -> tuple[Expectation, ...]:
    """All expectations of a table: keys, evidence, and its own."""
    common = [keys_unique(table), keys_known(table, *_NULLABLE_KEYS.get(table.name, ()))]
    if table.name not in _WITHOUT_EVIDENCE:
        common.append(has_evidence(table))
    return (*common, *_OWN.get(table.name, ()))


SUITES: Mapping[str, tuple[Expectation, ...]] = {table.name: suite(table) for table in (*SOURCES, *DERIVED)}
"""The suite of each table that a run publishes."""
