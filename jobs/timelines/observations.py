"""EVENTS -> what each line states of one partition's committed state: the evidence that timelines are made of.

Most name a partition epoch, the counter that orders a partition's states; before Kafka 1.1 few do. Intentions
(`Shrinking ISR`, requests that failed) are no observations, nor is leader -2, which only marks a topic under deletion.
What leaders log of their own ISR is read together with when they began to lead: `leader_lines`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.timelines.elr_clearings import CLEARED, offset, with_clearings
from schemas.spark import CLUSTER, FLAG, IDS, INT, LONG, TEXT, TIME, column
from udfs.rules.state_events import FULL_STATE_EVENTS, LEADER_STATE_EVENTS, LISTED_STATE_EVENTS, STATE_CHANGE_EVENTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OBSERVATIONS = T.StructType(
    [
        CLUSTER,
        column("topic", TEXT, "Topic name."),
        column("topic_id", TEXT, "Topic id; null if the line does not give it."),
        column("partition", INT, "Partition."),
        column("at", TIME, "When it was logged."),
        column("node_id", INT, "Node that logged it."),
        column("file_id", TEXT, "File."),
        column("line", LONG, "Line."),
        column("leader", INT, "Leader; -1 none; null not logged."),
        column("leader_epoch", INT, "Leader epoch; null not logged."),
        column("partition_epoch", INT, "Partition epoch; null not logged."),
        column("controller_epoch", INT, "Epoch of the deciding controller; null not logged."),
        column("isr", IDS, "In-sync replicas, sorted; null not logged."),
        column("replicas", IDS, "Assignment; null not logged."),
        column("elr", IDS, "Eligible leader replicas, sorted; null not logged."),
        column("last_known_elr", IDS, "Last known eligible leader replicas, sorted; null not logged."),
        column("by_leader", FLAG, "The leader's own report of an ISR change that was accepted."),
        column("keeps_leader", FLAG, "Leader and leader epoch are those of the partition epoch before; null unknown."),
        column("keeps_isr", FLAG, "So is the ISR; null unknown."),
        column("keeps_elr", FLAG, "So are the eligible leader replicas; null unknown."),
        column("keeps_last_known_elr", FLAG, "So are the last known eligible leader replicas; null unknown."),
        column("is_replayed", FLAG, "A controller replayed it as it started, whenever it was; null: it did not."),
        column("is_deduced", FLAG, "The line does not print all of it, but the lines of its writer leave no choice."),
    ]
)

UNNUMBERED = ("controller_isr_removed", "reassignment_isr_listener_fired")
"""Events until 1.0: as FULL_STATE_EVENTS, without partition epoch."""
SELECTED = "offline_election_selected"
"""A controller until 1.0 is about to write whom it elects for a partition without a leader."""
EPOCH_STARTED = "leader_epoch_started"
"""A leader begins a leader epoch (0.11 to 2.5); the line prints no ISR."""
LEADER_STARTED = "partition_leader_epoch_started"
"""A leader begins a leader epoch (2.6 on), with the ISR that it was sent; the partition epoch from 3.3 on."""
INITIALIZED = "partition_init_leader_and_isr"
"""A controller until 1.0 is about to write the first state of a partition (DEBUG)."""
REFRESHED = "leader_epoch_updated"
"""The controller raised the leader epoch, and changed nothing else."""
RECORDS = ("metadata_partition", "metadata_partition_change")
"""Records of a metadata dump."""


def ids_of(name: str) -> Column:
    """A further field with a list of ids, as a sorted array; null if there is no such field, or a number in it is no
    id."""
    text = F.col("fields")[name]
    return F.when(text.isNotNull(), F.sort_array(as_ids(F.regexp_extract_all(text, F.lit(r"(-?\d+)")))))


def printed_ids(name: str) -> Column:
    """A further field with a list of ids, in the order printed; null as with `ids_of`."""
    text = F.col("fields")[name]
    return F.when(text.isNotNull() & (text != "null"), as_ids(F.regexp_extract_all(text, F.lit(r"(-?\d+)"))))


def as_ids(numbers: Column) -> Column:
    """Numbers in text as ids; null if one of them is more than an int holds, as in a line that was damaged."""
    ids = numbers.try_cast(IDS)
    return F.when(~F.exists(ids, F.isnull), ids)


def sorted_ids(ids: Column) -> Column:
    """Ids as a sorted array of int."""
    return F.sort_array(ids.cast(IDS))


def number_of(name: str) -> Column:
    """A further field as an int; null if there is no such field, or it is no int."""
    return F.col("fields")[name].try_cast("int")


def assignment_in_order(replicas: Column) -> Column:
    """The assignment that a line prints; null where it prints another: a set (0.10's brokers, in the order of its
    hashes), or the one that a reassignment is about to write."""
    message, kind = F.col("message"), F.col("event_type")
    received = (kind == "leader_and_isr_request_received") & message.contains(" PartitionState(")
    cached = (kind == "metadata_cache_updated") & message.contains("AllReplicas:")
    a_set = (received & ~message.contains("isNew=")) | (cached & ~message.contains(" for partition ["))
    to_come = kind == "reassignment_leader_and_isr_sent"
    return F.when(~F.coalesce(a_set | to_come, F.lit(False)), replicas)


def select_observations(events: DataFrame, *others: str, **columns: Column) -> DataFrame:
    """OBSERVATIONS from events, and other columns of theirs; columns that are not given are the event's own, or
    null."""
    own = set(events.columns)
    picked = [
        columns[f.name].alias(f.name)
        if f.name in columns
        else (F.col(f.name) if f.name in own else F.lit(None).cast(f.dataType).alias(f.name))
        for f in OBSERVATIONS
    ]
    return events.select(*picked, *others)


def to_observations(
    events: DataFrame, *, kraft: bool = True, dumps: bool = True, isr_updates: bool = True
) -> DataFrame:
    """EVENTS -> OBSERVATIONS, one row per partition state that a line states, in full or in part.

    `kraft` and `dumps`: whether there are lines of KRaft controllers and records of metadata dumps. `isr_updates`:
    false where `leader_lines` reads the leaders' own reports.
    """
    by_leader = F.col("event_type").isin(*LEADER_STATE_EVENTS)
    read = (*FULL_STATE_EVENTS, *(name for name in LEADER_STATE_EVENTS if isr_updates or name != "isr_updated"))
    changed = F.when(F.col("event_type") == "isr_updated", True)
    observations = select_observations(
        events.where(F.col("event_type").isin(*read) & F.col("partition_epoch").isNotNull()),
        leader=F.when(by_leader, F.coalesce("node_id", "broker_id")).otherwise(F.col("leader")),
        isr=sorted_ids(F.col("isr")),
        replicas=assignment_in_order(F.col("replicas")),
        elr=F.when(~by_leader, ids_of("elr")),
        last_known_elr=F.when(~by_leader, ids_of("last_known_elr")),
        controller_epoch=F.when(~by_leader, F.coalesce(number_of("state_controller_epoch"), F.col("controller_epoch"))),
        by_leader=F.when(by_leader, F.coalesce(changed, F.lit(False))),
        keeps_leader=changed,
    )
    if kraft:
        observations = observations.unionByName(_changes(events)).unionByName(_before_elections(events))
    if dumps:
        observations = observations.unionByName(_from_dump(events))
    return observations.where(
        (F.col("leader").isNull() | (F.col("leader") > -2)) & F.col("partition_epoch").isNotNull()
    )


def _changes(events: DataFrame) -> DataFrame:
    """OBSERVATIONS of lines about KRaft's changes: the state after and the state before."""
    changes = events.where(F.col("event_type").isin(*STATE_CHANGE_EVENTS))
    after = select_observations(
        changes,
        isr=sorted_ids(F.col("isr")),
        elr=ids_of("elr"),
        last_known_elr=ids_of("last_known_elr"),
        controller_epoch=F.lit(None).cast("int"),
        keeps_leader=F.col("leader_epoch").isNull(),
        keeps_isr=F.col("isr").isNull(),
        keeps_elr=F.col("fields")["elr"].isNull(),
        keeps_last_known_elr=F.col("fields")["last_known_elr"].isNull(),
    )
    return after.unionByName(_state_before(changes, "old_"))


def _before_elections(events: DataFrame) -> DataFrame:
    """OBSERVATIONS of `Setting new leader ... Previous partition: ...` (KRaft, 4.0 on): the state before the
    election."""
    printed = events.where(F.col("event_type").startswith("kraft_leader_elected")).where(
        "fields['previous_partition_epoch'] IS NOT NULL AND topic_id IS NOT NULL"
    )
    names = (
        events.where("event_type LIKE 'kraft%' AND topic IS NOT NULL AND topic_id IS NOT NULL")
        .groupBy("cluster", "topic_id")
        .agg(F.min("topic").alias("topic"))
    )
    return _state_before(printed.drop("topic").join(F.broadcast(names), ["cluster", "topic_id"]), "previous_")


def _state_before(events: DataFrame, prefix: str) -> DataFrame:
    """OBSERVATIONS of the state before a change, which its line prints in further fields of that prefix."""
    return select_observations(
        events,
        leader=number_of(f"{prefix}leader"),
        leader_epoch=number_of(f"{prefix}leader_epoch"),
        partition_epoch=number_of(f"{prefix}partition_epoch"),
        isr=ids_of(f"{prefix}isr"),
        replicas=as_ids(F.regexp_extract_all(F.col("fields")[f"{prefix}replicas"], F.lit(r"(-?\d+)"))),
        elr=ids_of(f"{prefix}elr"),
        last_known_elr=ids_of(f"{prefix}last_known_elr"),
        controller_epoch=F.lit(None).cast("int"),
    )


def to_unnumbered_observations(events: DataFrame, kraft_clusters: DataFrame | None = None) -> DataFrame:
    """EVENTS -> OBSERVATIONS without partition epoch, as Kafka printed them until 1.0: one row per logged state.

    Leaders print it so from 2.6 to 3.2, when they begin to lead. Where leader and ISR are null, the controller raised
    the leader epoch and kept both. In `kraft_clusters` (rows with `cluster`) leaders' states are ordered otherwise.
    """
    is_start = F.col("event_type") == LEADER_STARTED
    if kraft_clusters is not None:
        of_kraft = kraft_clusters.select("cluster", F.lit(True).alias("of_kraft"))
        events = events.join(F.broadcast(of_kraft), "cluster", "left")
        is_start = is_start & F.col("of_kraft").isNull()
    is_state = (
        F.col("event_type").isin(*FULL_STATE_EVENTS, *UNNUMBERED) & F.col("isr").isNotNull() & (F.col("leader") > -2)
    ) | (is_start & F.col("isr").isNotNull() & F.coalesce("node_id", "broker_id").isNotNull())
    is_refresh = F.col("event_type") == REFRESHED
    return select_observations(
        events.where((is_state | is_refresh) & F.col("leader_epoch").isNotNull() & F.col("partition_epoch").isNull()),
        leader=F.when(is_start, F.coalesce("node_id", "broker_id")).when(~is_refresh, F.col("leader")),
        isr=F.when(~is_refresh, sorted_ids(F.col("isr"))),
        replicas=assignment_in_order(F.col("replicas")),
        elr=F.lit(None).cast(IDS),
        controller_epoch=F.when(~is_start, F.coalesce(number_of("state_controller_epoch"), F.col("controller_epoch"))),
    )


def to_selected_observations(events: DataFrame) -> DataFrame:
    """EVENTS -> OBSERVATIONS without partition epoch, of what SELECTED or INITIALIZED is about to write, of partitions
    whose transitions no controller logs (TRACE), which would show what was written.

    Where a state cannot be written the controller reads it anew, and selects again, for the same leader epoch: the last
    selection counts. A first state cannot be written if there is one.
    """
    partition = ["cluster", "topic", "partition"]
    changed = events.where("event_type = 'partition_state_change' AND topic IS NOT NULL").select(*partition).distinct()
    in_order = Window.partitionBy(*partition, "node_id").orderBy("at", "line")
    is_selection = F.col("event_type") == SELECTED
    is_again = (F.lead("leader_epoch").over(in_order) == F.col("leader_epoch")) & is_selection
    is_whole = F.expr("topic IS NOT NULL AND leader IS NOT NULL AND leader_epoch IS NOT NULL AND isr IS NOT NULL")
    selected = events.where(F.col("event_type").isin(SELECTED, INITIALIZED) & is_whole)
    last = selected.withColumn("is_again", is_again).where("is_again IS NULL OR NOT is_again")
    return select_observations(
        last.join(changed, partition, "left_anti"),
        isr=sorted_ids(F.col("isr")),
        replicas=F.lit(None).cast(IDS),
        controller_epoch=F.lit(None).cast("int"),
    )


def to_listed_observations(events: DataFrame) -> DataFrame:
    """EVENTS -> OBSERVATIONS of the lines in which ZooKeeper controllers list states: their cache, and requests that
    they could not send. Many are old by then; some lack the partition epoch.

    And `is_by_comma`: partitions are printed as `[topic,0]`, as until 0.10.
    """
    listed = events.where(F.col("event_type").isin(*LISTED_STATE_EVENTS) & F.col("partitions").isNotNull())
    one = F.explode("partitions").alias("one")
    names = ["cluster", "at", "node_id", "file_id", "line", "is_by_comma"]
    is_by_comma = F.coalesce(F.col("message").rlike(r"\[[^\[\],]+,\d+\]"), F.lit(False))
    rows = listed.withColumn("is_by_comma", is_by_comma).select(*names, one).select(*names, "one.*")
    is_state = (F.col("leader") > -2) & F.col("leader_epoch").isNotNull() & F.col("isr").isNotNull()
    return select_observations(
        rows.where(is_state & F.col("topic").isNotNull()),
        "is_by_comma",
        isr=sorted_ids(F.col("isr")),
        replicas=F.lit(None).cast(IDS),
        controller_epoch=F.lit(None).cast("int"),
    )


def with_quorum_epoch(events: DataFrame) -> DataFrame:
    """EVENTS -> those of metadata dumps, each with its batch's `controller_epoch`: only 2.8 repeats it in the
    records."""
    so_far = (
        Window.partitionBy("cluster", "file_id")
        .orderBy("line")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    epoch = F.last("controller_epoch", ignorenulls=True).over(so_far)
    return events.where("logger = 'kafka-dump-log'").withColumn("controller_epoch", epoch)


def records_once(records: DataFrame) -> DataFrame:
    """Partition records of dumps -> each offset once: every node's dump holds the same records."""
    same_record = Window.partitionBy("cluster", "topic_id", "partition", F.col("fields")["offset"]).orderBy(
        "file_id", "line"
    )
    return records.withColumn("nth", F.row_number().over(same_record)).where("nth = 1").drop("nth")


def _from_dump(events: DataFrame) -> DataFrame:
    """OBSERVATIONS of a metadata dump: each change record adds 1 to the partition epoch, and 1 to the leader epoch if
    it names a leader."""
    names = (
        events.where("event_type = 'metadata_topic'")
        .groupBy("cluster", "topic_id")
        .agg(F.min("topic").alias("topic"))
        .alias("names")
    )
    records = with_clearings(records_once(events.where(F.col("event_type").isin(*RECORDS))).drop("topic"), events)
    return select_observations(_replayed(_with_eligible(records)).join(F.broadcast(names), ["cluster", "topic_id"]))


def _with_eligible(records: DataFrame) -> DataFrame:
    """Partition records of a dump, with rows of `with_clearings` -> the same with `elr` and `last_known_elr`, null
    unchanged, but for rows that clear what is empty, or not known: these change nothing."""
    order = Window.partitionBy("cluster", "topic_id", "partition").orderBy(offset(), "line")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    is_creation, none = F.col("event_type") == "metadata_partition", F.array().cast(IDS)
    names = ("elr", "last_known_elr")
    eligible = {n: F.when(is_creation, F.coalesce(ids_of(n), none)).otherwise(ids_of(n)) for n in names}
    sizes = {f"{n}_size": F.coalesce(F.size(F.last(n, ignorenulls=True).over(before)), F.lit(0)) for n in names}
    known = records.withColumns(eligible).withColumns(sizes)
    is_change = (F.col("event_type") != CLEARED) | F.expr("elr_size > 0 OR last_known_elr_size > 0")
    return known.where(is_change).drop(*sizes)


def _replayed(records: DataFrame) -> DataFrame:
    """Partition records of a dump, each once, with who is eligible after them -> the same with the state after each: a
    record holds only what it changes."""
    order = Window.partitionBy("cluster", "topic_id", "partition").orderBy(offset(), "line")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_creation = F.col("event_type") == "metadata_partition"
    changes = records.withColumns(
        {
            "names_leader": F.col("leader").isNotNull(),
            "creation": F.sum(is_creation.cast("int")).over(so_far),
        }
    )
    of_creation = Window.partitionBy("cluster", "topic_id", "partition", "creation").orderBy(offset(), "line")
    before = of_creation.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    starts = {
        f"start_{name}": F.first(name, ignorenulls=True).over(before) for name in ("leader_epoch", "partition_epoch")
    }
    elections = F.sum(F.when(~is_creation & F.col("names_leader"), 1).otherwise(0)).over(before)
    writes = F.sum(F.when(is_creation, 0).otherwise(1)).over(before)
    return changes.withColumns(starts).withColumns(
        {name: F.last(name, ignorenulls=True).over(before) for name in ("leader", "replicas", "elr", "last_known_elr")}
        | {
            "isr": F.last(sorted_ids(F.col("isr")), ignorenulls=True).over(before),
            "leader_epoch": F.col("start_leader_epoch") + elections.cast("int"),
            "partition_epoch": F.col("start_partition_epoch") + writes.cast("int"),
        }
    )
