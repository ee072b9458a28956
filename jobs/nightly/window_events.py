"""Which events a window needs: those since its begin, and of the ones before the lines that its rows rest on."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.activities import CONTEXT_EVENTS
from jobs.findings.config_changes import SETTING_EVENTS
from jobs.nightly.windows import BEGINS, ENDS, Windows, time_of_cluster
from jobs.timelines.logged_assignments import has_new_assignments, is_reassignment
from jobs.warehouse.tables import Warehouse
from udfs.rules.state_events import LISTED_STATE_EVENTS

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import Column, DataFrame

_LINE = ["cluster", "file_id", "line"]
_PARTITION = ["cluster", "topic", "partition"]


def events_in(windows: Windows, events: DataFrame, warehouse: Warehouse) -> DataFrame:
    """EVENTS -> those that are needed, of clusters with a window; all of the others.

    Of the events before a window's begin these are: lines that name no partition, for who was controller, which
    brokers there were, and topics follow from all of them; assignments and settings, for a partition keeps its own; the
    lines of rows that last into the window; all lines about a partition since the leader began that leads it then, for
    what a leader wrote is one chain (before it those that number its first state), and since a reassignment began that
    lasts.
    """
    begins = {cluster: window.begin for cluster, window in windows.items()}
    lines = _lines_of_lasting_rows(warehouse, begins)
    changes = _begins_of_changes(warehouse, events, begins)
    joined = events.join(F.broadcast(lines), _LINE, "left").join(F.broadcast(changes), _PARTITION, "left")
    is_before = F.col("at") < time_of_cluster(begins)
    is_kept = is_context() | F.col("is_of_lasting_row") | (F.col("at") >= F.col("changed_since"))
    return joined.where(~F.coalesce(is_before, F.lit(False)) | F.coalesce(is_kept, F.lit(False))).select(
        *events.columns
    )


def is_context() -> Column:
    """Whether a line is needed however old it is."""
    kind = F.col("event_type")
    names_no_partition = F.col("partition").isNull() & (F.col("partitions").isNull() | ~kind.isin(*LISTED_STATE_EVENTS))
    is_assignment = has_new_assignments() | is_reassignment()
    return (
        names_no_partition
        | F.coalesce(is_assignment, F.lit(False))
        | F.coalesce(kind.isin(*CONTEXT_EVENTS, *SETTING_EVENTS), F.lit(False))
    )


def _lasting(warehouse: Warehouse, table: str, begins: dict[str, datetime]) -> DataFrame:
    """Published rows of a table that began before a window did, and had not ended by then."""
    begin, began, ended = time_of_cluster(begins), F.expr(BEGINS[table]), F.col(ENDS[table])
    return warehouse.read(table).where((began < begin) & F.coalesce(ended >= begin, F.lit(True)))


def _lines_of_lasting_rows(warehouse: Warehouse, begins: dict[str, datetime]) -> DataFrame:
    """cluster, file_id, line, `is_of_lasting_row`: the lines in the evidence of rows that last into a window."""
    frames = []
    for table in ENDS:
        rows = _lasting(warehouse, table, begins)
        if "evidence" in rows.columns:
            frames.append(rows.select("cluster", F.explode("evidence").alias("of")))
    lines = reduce(lambda some, others: some.unionByName(others), frames)
    return lines.select("cluster", "of.file_id", "of.line").distinct().withColumn("is_of_lasting_row", F.lit(True))


def _begins_of_changes(warehouse: Warehouse, events: DataFrame, begins: dict[str, datetime]) -> DataFrame:
    """cluster, topic, partition, `changed_since`: since when there is the leader epoch, or the reassignment, that lasts
    into a window.

    Where no line prints the partition epoch of that leader epoch's first state, those before come too, back to the last
    one that has it printed: from there on states are counted.
    """
    begin = time_of_cluster(begins)
    until = F.max(F.coalesce("until", F.timestamp_seconds(F.lit(253_402_300_799))))
    epochs = (
        warehouse.read("partition_timeline")
        .where(F.col("cluster").isin(*begins))
        .groupBy(*_PARTITION, "incarnation", "leader_epoch")
        .agg(F.min("since").alias("since"), until.alias("until"), F.min("partition_epoch").alias("first_epoch"))
    )
    lasting = epochs.where((F.col("since") < begin) & (F.col("until") >= begin))
    counted = _begins_of_counts(events.where(F.col("at") < begin), epochs, lasting)
    reassigned = _lasting(warehouse, "reassignments", begins).select(*_PARTITION, "since")
    since = lasting.select(*_PARTITION, "since").unionByName(reassigned).unionByName(counted)
    return since.groupBy(*_PARTITION).agg(F.min("since").alias("changed_since"))


def _begins_of_counts(events: DataFrame, epochs: DataFrame, lasting: DataFrame) -> DataFrame:
    """cluster, topic, partition, `since`: since when there was the last leader epoch with a printed partition epoch
    before one that lasts and whose first state has none printed.

    `epochs`, `lasting`: leader epochs of partitions with `since` and `first_epoch`, their lowest partition epoch.
    """
    printed = events.where("partition_epoch IS NOT NULL").select(*_PARTITION, "leader_epoch", "partition_epoch", "at")
    lowest = printed.groupBy(*_PARTITION, "leader_epoch").agg(F.min("partition_epoch").alias("lowest"))
    is_printed = F.coalesce(F.col("lowest") <= F.col("first_epoch"), F.lit(False))
    unnumbered = (
        lasting.join(lowest, [*_PARTITION, "leader_epoch"], "left")
        .where(~is_printed & F.col("first_epoch").isNotNull())
        .select(*_PARTITION, F.col("since").alias("first_since"))
    )
    numbered = printed.join(F.broadcast(unnumbered), _PARTITION).where("at < first_since")
    last = numbered.groupBy(*_PARTITION).agg(F.max("at").alias("numbered_at"))
    counted = epochs.join(F.broadcast(last), _PARTITION).where("since <= numbered_at")
    return counted.groupBy(*_PARTITION).agg(F.max("since").alias("since"))
