"""EVENTS -> what each line says of one partition's committed state: the evidence that timelines are made of.

A statement names a partition epoch, for that counter orders a partition's states. Intentions (`Shrinking ISR`,
requests that failed) are no statements, nor is leader -2, which only marks a topic under deletion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemas.columns import CLUSTER, FLAG, IDS, INT, LONG, TEXT, TIME, column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

STATEMENTS = T.StructType(
    [
        CLUSTER,
        column("topic", TEXT, "Topic name."),
        column("topic_id", TEXT, "Topic id; null if the line does not give it."),
        column("partition", INT, "Partition."),
        column("at", TIME, "When it was said."),
        column("node_id", INT, "Who said it."),
        column("file_id", TEXT, "Where."),
        column("line", LONG, "On which line."),
        column("leader", INT, "Leader; -1 none; null not said."),
        column("leader_epoch", INT, "Leader epoch; null not said."),
        column("partition_epoch", INT, "Partition epoch."),
        column("controller_epoch", INT, "Epoch of the deciding controller; null not said."),
        column("isr", IDS, "In-sync replicas, sorted; null not said."),
        column("replicas", IDS, "Assignment; null not said."),
        column("elr", IDS, "Eligible leader replicas, sorted; null not said."),
        column("by_leader", FLAG, "The leader's own report of an ISR change that was accepted."),
        column("keeps_leader", FLAG, "Leader and leader epoch are those of the partition epoch before; null unknown."),
        column("keeps_isr", FLAG, "So is the ISR; null unknown."),
        column("keeps_elr", FLAG, "So are the eligible leader replicas; null unknown."),
    ]
)

WHOLE = (  # messages that print leader, leader epoch, partition epoch and ISR of a state that was committed
    "partition_state_change",
    "leader_and_isr_request_sent",
    "update_metadata_request_sent",
    "leader_and_isr_request_received",
    "metadata_cache_updated",
    "replica_removed_from_isr",
    "reassignment_leader_and_isr_sent",
    "alter_isr_updated",
    "become_leader_skipped_already_leader",
    "become_follower_skipped_same_leader",
    "become_leader_skipped_newer_partition_epoch",
    "become_follower_skipped_newer_partition_epoch",
    "kraft_partition_created",
    "kraft_partition_record_replayed",
    "partition_follower_epoch_started",  # all but the ISR
)
BY_LEADER = ("isr_updated", "partition_leader_epoch_started")  # the writer is the leader
CHANGES = ("kraft_partition_changed", "kraft_partition_changed_unclean")  # `isr: [1] -> [2], leader: 1 -> 2, ...`
RECORDS = ("metadata_partition", "metadata_partition_change")  # of a metadata dump


def ids_of(name: str) -> Column:
    """A further field with a list of ids, as a sorted array; null if there is no such field."""
    return F.when(
        F.col("fields")[name].isNotNull(), sorted_ids(F.regexp_extract_all(F.col("fields")[name], F.lit(r"(-?\d+)")))
    )


def sorted_ids(ids: Column) -> Column:
    """Ids as a sorted array of int."""
    return F.array_sort(ids.cast(IDS))


def number_of(name: str) -> Column:
    """A further field as an int; null if there is no such field, or it is no int."""
    return F.col("fields")[name].try_cast("int")


def _select(events: DataFrame, **columns: Column) -> DataFrame:
    """STATEMENTS from events; columns that are not given are the event's own, or null."""
    own = set(events.columns)
    picked = [
        columns[f.name].alias(f.name)
        if f.name in columns
        else (F.col(f.name) if f.name in own else F.lit(None).cast(f.dataType).alias(f.name))
        for f in STATEMENTS
    ]
    return events.select(*picked)


def to_statements(events: DataFrame) -> DataFrame:
    """EVENTS -> STATEMENTS, one row per partition state that a line tells, whole or in part."""
    whole = _select(
        events.where(F.col("event_type").isin(*WHOLE) & F.col("partition_epoch").isNotNull()),
        isr=sorted_ids(F.col("isr")),
        elr=ids_of("elr"),
        controller_epoch=F.coalesce(number_of("state_controller_epoch"), F.col("controller_epoch")),
    )
    by_leader = _select(
        events.where(F.col("event_type").isin(*BY_LEADER) & F.col("partition_epoch").isNotNull()),
        leader=F.coalesce("node_id", "broker_id"),
        isr=sorted_ids(F.col("isr")),
        controller_epoch=F.lit(None).cast("int"),
        by_leader=F.col("event_type") == "isr_updated",
        keeps_leader=F.when(F.col("event_type") == "isr_updated", True),
    )
    changes = events.where(F.col("event_type").isin(*CHANGES))
    after = _select(
        changes,
        isr=sorted_ids(F.col("isr")),
        elr=ids_of("elr"),
        controller_epoch=F.lit(None).cast("int"),
        keeps_leader=F.col("leader_epoch").isNull(),
        keeps_isr=F.col("isr").isNull(),
        keeps_elr=F.col("fields")["elr"].isNull(),
    )
    before = _select(
        changes,
        leader=number_of("old_leader"),
        leader_epoch=number_of("old_leader_epoch"),
        partition_epoch=number_of("old_partition_epoch"),
        isr=ids_of("old_isr"),
        replicas=F.lit(None).cast(IDS),
        elr=ids_of("old_elr"),
        controller_epoch=F.lit(None).cast("int"),
    )
    said = whole.unionByName(by_leader).unionByName(after).unionByName(before).unionByName(_from_dump(events))
    return said.where((F.col("leader").isNull() | (F.col("leader") > -2)) & F.col("partition_epoch").isNotNull())


def with_quorum_epoch(events: DataFrame) -> DataFrame:
    """EVENTS -> those of metadata dumps, each with its batch's `controller_epoch`: only 2.8 repeats it in the records."""
    so_far = (
        Window.partitionBy("cluster", "file_id")
        .orderBy("line")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    epoch = F.last("controller_epoch", ignorenulls=True).over(so_far)
    return events.where("logger = 'kafka-dump-log'").withColumn("controller_epoch", epoch)


def once(records: DataFrame) -> DataFrame:
    """Partition records of dumps -> each offset once: every node's dump holds the same records."""
    same = Window.partitionBy("cluster", "topic_id", "partition", F.col("fields")["offset"]).orderBy("file_id", "line")
    return records.withColumn("nth", F.row_number().over(same)).where("nth = 1").drop("nth")


def _from_dump(events: DataFrame) -> DataFrame:
    """STATEMENTS of a metadata dump: each change record adds 1 to the partition epoch, and 1 to the leader epoch if it names a leader."""
    records = once(events.where(F.col("event_type").isin(*RECORDS)))
    names = (
        events.where("event_type = 'metadata_topic'")
        .groupBy("cluster", "topic_id")
        .agg(F.min("topic").alias("topic"))
        .alias("names")
    )
    order = Window.partitionBy("cluster", "topic_id", "partition").orderBy(
        F.col("fields")["offset"].cast("long"), "line"
    )
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    born = F.col("event_type") == "metadata_partition"
    steps = records.drop("topic").withColumns(
        {
            "led": F.col("leader").isNotNull(),
            "life": F.sum(born.cast("int")).over(so_far),
        }
    )
    in_life = Window.partitionBy("cluster", "topic_id", "partition", "life").orderBy(
        F.col("fields")["offset"].cast("long"), "line"
    )
    before = in_life.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    told = steps.withColumns(
        {
            "start_leader_epoch": F.first("leader_epoch", ignorenulls=True).over(before),
            "start_partition_epoch": F.first("partition_epoch", ignorenulls=True).over(before),
            "elr": F.when(born, F.coalesce(ids_of("elr"), F.array().cast(IDS))).otherwise(ids_of("elr")),
        }
    ).withColumns(
        {
            "leader": F.last("leader", ignorenulls=True).over(before),
            "isr": F.last(sorted_ids(F.col("isr")), ignorenulls=True).over(before),
            "replicas": F.last("replicas", ignorenulls=True).over(before),
            "elr": F.last("elr", ignorenulls=True).over(before),
            "leader_epoch": F.col("start_leader_epoch")
            + F.sum(F.when(~born & F.col("led"), 1).otherwise(0)).over(before).cast("int"),
            "partition_epoch": F.col("start_partition_epoch")
            + F.sum(F.when(born, 0).otherwise(1)).over(before).cast("int"),
        }
    )
    return _select(told.join(F.broadcast(names), ["cluster", "topic_id"]))
