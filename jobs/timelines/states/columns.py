"""Columns of a partition's states between the stages, and how a stage inserts states that it infers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.timelines.topics import HISTORY, INCARNATION
from schemas.spark import EVIDENCE_COLUMN, FLAG, IDS, INT, LONG, PARTITION_KEY, TEXT, TIME, column, struct

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

NUMBERED_STATES = T.StructType(
    [
        column(HISTORY, LONG, "Incarnation of the partition as one number."),
        *PARTITION_KEY,
        column("partition_epoch", INT, "Partition epoch: orders the states of an incarnation."),
        column("topic_id", TEXT, "Topic id; null not logged."),
        column("leader", INT, "Leader; -1 none; null not logged, or lines contradict each other."),
        column("leader_epoch", INT, "Leader epoch; null as for the leader."),
        column("isr", IDS, "In-sync replicas, sorted; null as for the leader."),
        column("elr", IDS, "Eligible leader replicas (KIP-966), sorted; null as for the leader, or ZooKeeper."),
        column("last_known_elr", IDS, "Last known eligible leader replicas, sorted; null as for `elr`."),
        column("contradiction", TEXT, "What lines contradict each other about; null: they do not."),
        column("controller_epoch", INT, "Epoch of the deciding controller; null not logged."),
        column("by_leader", FLAG, "Whether the leader reported it as its own ISR change; null not logged."),
        column("inferred", FLAG, "No line states it in full, but it follows; null as false."),
        column("replicas", IDS, "Assignment that was logged first with it; null not logged."),
        column("replicas_at", TIME, "When that assignment was logged."),
        column("at", TIME, "First proof of the state itself."),
        column("is_replayed", FLAG, "Only controllers that started show it, so it may be of any time; null as false."),
        EVIDENCE_COLUMN,
    ]
)
"""States by partition epoch, one row each."""

ORDERED_STATES = T.StructType(
    [
        *NUMBERED_STATES,
        column("ordinal", LONG, "Orders the states of an incarnation."),
        column(
            "follows", FLAG, "No state between the one before and this one is missing; null: not known but by epochs."
        ),
    ]
)
"""The same, and states without partition epoch, one row per HISTORY and ordinal; in rows of contradictions null."""

WRITE = struct(at=TIME, replicas=IDS)
RUN = struct(since=TIME, until=TIME)
"""An assignment that a ZooKeeper controller wrote; and a run of `jobs.timelines.known_spans.to_controller_runs`."""
ASSIGNED_STATES = T.StructType(
    [
        *ORDERED_STATES,
        column("new_replicas", IDS, "Assignment that a ZooKeeper controller gave the new partition; null not logged."),
        column("new_at", TIME, "When that was logged."),
        column("reassigned", FLAG, "Whether any line shows the partition being reassigned."),
        column(
            "writes", T.ArrayType(WRITE), "When ZooKeeper controllers wrote which assignment, in order; null never."
        ),
        column("before_writes", IDS, "The assignment that the first of them replaced; null not logged."),
        column("keeps_replicas", FLAG, "KRaft: whether no replica can have been removed before; null for ZooKeeper."),
        column("runs", T.ArrayType(RUN), "When the logs of all of ZooKeeper's controllers are there; null: never."),
    ]
)
"""The same with what lines log of their partition's assignments."""

STATES = T.StructType(
    [
        *(field for field in ORDERED_STATES if field.name not in ("replicas_at", "is_replayed")),
        column("since", TIME, "First proof of the state or of any later one."),
    ]
)
"""What `jobs.timelines.partitions.to_states` ends in; `replicas` is the assignment that the state began with."""


def is_complete() -> Column:
    """Whether leader, leader epoch and ISR of a state are known."""
    return F.col("leader").isNotNull() & F.col("leader_epoch").isNotNull() & F.col("isr").isNotNull()


def first_assignment() -> Column:
    """Aggregate: of a group of observations the assignment that was logged first, with its time; null if none was."""
    return F.min(F.when(F.col("replicas").isNotNull(), F.struct("at", "replicas")))


def of_first_assignment() -> dict[str, Column]:
    """`replicas`, and `replicas_at`, when they were logged, of a column `first_assignment`."""
    return {"replicas": F.col("first_assignment.replicas"), "replicas_at": F.col("first_assignment.at")}


def with_inserted(states: DataFrame, columns: T.StructType) -> DataFrame:
    """Rows with `inserted`, an array of structs -> `columns` of the rows and of what is inserted after them.

    An inserted row has the keys of its row, and its `ordinal`, if there is one; and null for what its struct does not
    have. All in one pass: a union would read (and plan) the rows twice.
    """
    types = {field.name: field.dataType for field in states.schema}
    fields = cast("T.StructType", cast("T.ArrayType", types["inserted"]).elementType).fieldNames()
    keys = {HISTORY, *INCARNATION, "topic_id", "ordinal"}

    def value(row: Column, name: str) -> Column:
        return row[name] if name in fields else F.col(name) if name in keys else F.lit(None).cast(types[name])

    # HISTORY stays a column of its own, for Spark knows how the rows are distributed by it
    others = [name for name in columns.names if name != HISTORY]
    inserted = F.transform("inserted", lambda row: F.struct(*(value(row, name).alias(name) for name in others)))
    own = F.array(F.struct(*others))
    rows = states.select(HISTORY, F.explode(F.coalesce(F.concat(own, inserted), own)).alias("state"))
    return rows.select(HISTORY, "state.*").select(*columns.names)
