"""How tables join: which columns of one are which of another, as data."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.tables import DERIVED


@dataclass(frozen=True)
class Join:
    """Tables of which some columns have the values of columns of another one. The cluster is always one of them.

    `evidence.file_id` stands for the value in each struct of a list.
    """

    tables: tuple[str, ...]
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    rows: str
    """What the joined rows of the target are, and how many."""


_INCARNATION = ("topic", "partition", "incarnation")
_OF_PARTITIONS = ("elections", "offline_partitions", "isr_changes", "isr_churn", "reassignments", "contradictions")
WITH_EVIDENCE = tuple(table.name for table in DERIVED if "evidence" in table.columns)
"""Tables that name log lines in a column `evidence`."""

JOINS = (
    Join(WITH_EVIDENCE, ("evidence.file_id",), "log_files", ("file_id",), "the stream of a line, one row"),
    Join(
        WITH_EVIDENCE,
        ("evidence.file_id", "evidence.line"),
        "events",
        ("file_id", "line"),
        "the record that begins in that line",
    ),
    Join(("events", "rejects"), ("file_id",), "log_files", ("file_id",), "the stream of the record, one row"),
    Join(
        _OF_PARTITIONS,
        _INCARNATION,
        "partition_timeline",
        _INCARNATION,
        "all states of the partition; the one at a time `t` has `since <= t AND (until IS NULL OR t < until)`",
    ),
    Join(
        ("elections", "contradictions", "isr_changes"),
        (*_INCARNATION, "leader_epoch"),
        "partition_timeline",
        (*_INCARNATION, "leader_epoch"),
        "the states of that leader epoch",
    ),
    Join(
        ("isr_changes",),
        (*_INCARNATION, "ordinal"),
        "partition_timeline",
        (*_INCARNATION, "ordinal"),
        "the state that the change led to, one row",
    ),
    Join(
        ("offline_partitions",),
        (*_INCARNATION, "since"),
        "partition_timeline",
        (*_INCARNATION, "since"),
        "the state that began with leader -1",
    ),
    Join(
        ("verdicts",),
        ("topic", "partition"),
        "partition_timeline",
        ("topic", "partition"),
        "all states of the partition, of all incarnations",
    ),
    Join(
        ("partition_timeline", *_OF_PARTITIONS),
        ("topic", "incarnation"),
        "topic_timeline",
        ("topic", "incarnation"),
        "the topic's incarnation, one row",
    ),
    Join(
        ("partition_timeline", "elections", "control_requests"),
        ("controller_epoch",),
        "controller_timeline",
        ("controller_epoch",),
        "the controller's term, if it is in the logs; -1 (KRaft broker logs) has none",
    ),
    Join(
        ("control_requests",),
        ("controller_id", "controller_epoch"),
        "controller_timeline",
        ("controller_id", "controller_epoch"),
        "the term that the request was sent in, one row if it is in the logs",
    ),
    Join(
        ("control_requests",),
        ("broker",),
        "broker_timeline",
        ("broker",),
        "all registrations of the broker; the one at that time by `since` and `until`",
    ),
    Join(
        ("offline_partitions",),
        ("cause_broker",),
        "broker_timeline",
        ("broker",),
        "all registrations of the broker that was lost",
    ),
    Join(
        ("incidents",),
        ("root_broker",),
        "broker_timeline",
        ("broker",),
        "all registrations of the broker that it began with; a KRaft controller has none",
    ),
    Join(
        ("log_dir_failures", "preferred_replica_imbalance"),
        ("broker",),
        "broker_timeline",
        ("broker",),
        "all registrations of the broker",
    ),
    Join(
        ("topic_availability", "config_changes"),
        ("topic",),
        "topic_timeline",
        ("topic",),
        "all incarnations of the topic",
    ),
    Join(
        ("controller_activity",),
        ("controller_id",),
        "controller_timeline",
        ("controller_id",),
        "all terms of the controller; those of an hour by `since` and `until`",
    ),
    Join(
        ("cluster_minutely",),
        ("cluster",),
        "incidents",
        ("cluster",),
        "all incidents of the cluster; those of a minute by `since` and `until`",
    ),
    Join(
        ("events", "rejects", "log_coverage"),
        ("node_id",),
        "clock_offsets",
        ("node_id",),
        "the node's clock against the reference, a row for each hour",
    ),
    Join(
        ("log_files",),
        ("run_id",),
        "runs",
        ("run_id",),
        "the run that last read new bytes of it, one row; `runs` has no cluster",
    ),
)
"""The joins that make sense; a null does not join."""
