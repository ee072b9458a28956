"""When which broker was registered, in KRaft unfenced."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.timelines.cluster_facts import EvidenceKinds
from jobs.timelines.controllers import (
    by_active_controller,
    kraft_takeovers,
    standby_controllers,
    to_replay_spans,
    without_deposed,
)
from jobs.timelines.evidence import line_as_evidence
from jobs.timelines.observations import ids_of, number_of
from jobs.timelines.zk_registrations import (
    EPOCH_EVENTS,
    LIFE_EVENTS,
    to_last_stops,
    to_printed_epochs,
    with_registrations,
)
from schemas.spark import IDS
from schemas.timelines import BROKER_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import Column

_ZK_EVENTS = ("broker_set_changed", "controller_context_live_brokers")
_KRAFT_EVENTS = (
    "kraft_broker_unfenced",
    "kraft_broker_fenced",
    "kraft_broker_registered",
    "kraft_broker_unregistered",
)
_GRANTED_EVENTS = ("kraft_broker_unfence_granted",)
_ENDED_EVENTS = (
    "kraft_broker_session_timeout",
    "kraft_broker_shutdown_granted",
    "kraft_broker_immediate_shutdown_granted",
    "kraft_broker_fencing_requested",
)
"""What the active controller decides, which is logged in every release. From 3.3 to 3.5 the records of it are not, so
there these lines are all there is."""
_DUMP_EVENTS = (
    "metadata_register_broker",
    "metadata_unregister_broker",
    "metadata_fence_broker",
    "metadata_unfence_broker",
    "metadata_broker_registration_change",
)
_CONTROLLER_EVENTS = (*_KRAFT_EVENTS, *_GRANTED_EVENTS, *_ENDED_EVENTS)
_SHUTDOWN_EVENTS = (
    "controlled_shutdown_started",
    "kraft_broker_controlled_shutdown_granted",
    "kraft_broker_controlled_shutdown_replayed",
    "kraft_broker_immediate_shutdown_granted",
)
"""Events by which a controlled shutdown begins; a broker that leads nothing may go at once."""

MOST_OF_BATCH = 100
"""Records that a controller writes at once, at most. One that has replayed a registration takes the last offset of its
batch for that of the registration (3.5.2 logs `register broker record 5` of a broker whose epoch is 4)."""

_TRANSITION = ["cluster", "broker", "epoch", "at", "rank", "is_up", "how", "is_new", "node_id", "file_id", "line"]
"""A broker comes up or goes down, or is logged as either again.

`how`: `there` (already up), `added`, `granted` (the record of it may follow), `bounced`, `session_expired`, `fenced`.
`is_new`: whether the cluster did not know the broker before, as far as the controller of these logs can have seen; null
unknown.
"""
_ORDER = ["at", "rank", "node_id", "line", "file_id"]
_LINE = ["cluster", "at", "node_id", "file_id", "line"]


def to_broker_timeline(events: DataFrame, controllers: DataFrame, kinds: EvidenceKinds) -> DataFrame:
    """EVENTS, CONTROLLER_TIMELINE -> BROKER_TIMELINE: when the controller counted a broker as registered, or unfenced
    (KRaft).

    Where the active KRaft controller's log is missing, a standby's counts, which replays the same records.
    """
    broker_events = checkpointed(
        events.where(
            F.col("event_type").isin(
                *_ZK_EVENTS, *EPOCH_EVENTS, *LIFE_EVENTS, *_CONTROLLER_EVENTS, *_DUMP_EVENTS, *_SHUTDOWN_EVENTS
            )
            | _starts_dump()
        )
    )
    has_kraft = kinds.have((*_CONTROLLER_EVENTS, *_DUMP_EVENTS))
    has_zookeeper = kinds.have((*_ZK_EVENTS, *EPOCH_EVENTS))
    if has_kraft and has_zookeeper:
        by_kraft = _by_kraft(broker_events, events, controllers, kinds)
        transitions = _of_deciding_mode(_zk_transitions(broker_events), by_kraft, kraft_takeovers(controllers))
    elif has_kraft:
        transitions = _by_kraft(broker_events, events, controllers, kinds)
    else:
        transitions = _zk_transitions(broker_events)
    intervals = checkpointed(_intervals(transitions))
    shutdowns = _controlled_shutdowns(intervals, broker_events, to_replay_spans(events, controllers), controllers)
    return (
        intervals.join(shutdowns, ["cluster", "broker", "since"], "left")
        .withColumn(
            "ended_by",
            F.when(F.col("until").isNull(), None)
            .when(F.col("shutdown_since").isNotNull(), "controlled_shutdown")
            .otherwise(F.col("ended_by")),
        )
        .select(*BROKER_TIMELINE.columns)
    )


def _by_kraft(broker_events: DataFrame, events: DataFrame, controllers: DataFrame, kinds: EvidenceKinds) -> DataFrame:
    """EVENTS, CONTROLLER_TIMELINE -> _TRANSITION as KRaft's controllers logged them, or dumps have them."""
    transitions = [_dump_transitions(broker_events)] if kinds.have(_DUMP_EVENTS) else []
    if kinds.have(_CONTROLLER_EVENTS):
        by_controllers = _kraft_transitions(
            broker_events.where(F.col("event_type").isin(*_CONTROLLER_EVENTS)).withColumn("from_start", F.lit(False))
        )
        transitions.append(by_active_controller(by_controllers, controllers, events))
        transitions.append(_by_standby_controllers(by_controllers, standby_controllers(events, controllers)))
    return reduce(DataFrame.unionByName, transitions)


def _of_deciding_mode(by_zookeeper: DataFrame, by_kraft: DataFrame, takeovers: DataFrame) -> DataFrame:
    """_TRANSITION of both modes, `kraft_takeovers` -> those by which the controller of the moment went: in a migration
    KRaft's from the takeover on, both where no line tells it. A broker that was registered with ZooKeeper then goes
    on."""
    takeovers = F.broadcast(takeovers.select("cluster", "kraft_since"))
    is_later = F.col("at") >= F.col("kraft_since")
    return (
        by_zookeeper.join(takeovers, "cluster", "left")
        .where(F.coalesce(~is_later, F.lit(True)))
        .unionByName(by_kraft.join(takeovers, "cluster", "left").where(F.coalesce(is_later, F.lit(True))))
        .select(*_TRANSITION)
    )


def _intervals(transitions: DataFrame) -> DataFrame:
    """_TRANSITION -> BROKER_TIMELINE without `shutdown_since`; `ended_by` is `how` of what ended the interval."""
    by_broker = Window.partitionBy("cluster", "broker").orderBy(*_ORDER)
    before = by_broker.rowsBetween(Window.unboundedPreceding, -1)
    so_far = by_broker.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    was_up = F.coalesce("was_up", F.lit(False))
    record_epoch = F.when(F.lead("is_up").over(by_broker), F.lead("epoch").over(by_broker))  # of what was decided
    epoch_before = F.last("epoch", ignorenulls=True).over(before)
    is_of_batch = (epoch_before <= F.col("epoch")) & (epoch_before > F.col("epoch") - MOST_OF_BATCH)
    granted_epoch = F.coalesce(record_epoch, F.when(is_of_batch, epoch_before), "epoch")
    changes = transitions.withColumns(
        {
            "was_up": F.last("is_up").over(before),
            "was_new": F.first("is_new").over(so_far),
            "epoch": F.when(F.col("how") == "granted", granted_epoch).otherwise(F.col("epoch")),
        }
    ).where((F.col("is_up") & ~was_up) | (~F.col("is_up") & was_up))
    ups = changes.withColumns(
        {
            "until": F.lead("at").over(by_broker),
            "ended_by": F.lead("how").over(by_broker),
            "end_node": F.lead("node_id").over(by_broker),
            "end_file": F.lead("file_id").over(by_broker),
            "end_line": F.lead("line").over(by_broker),
            "nth": F.row_number().over(by_broker),
            "since": F.col("at"),
        }
    ).where("is_up")
    started_as = (
        F.when(F.col("how") == "there", None)
        .when(F.col("how") == "bounced", "bounced")
        .when((F.col("nth") > 1) | ~F.col("was_new"), "returned")
        .when(F.col("was_new"), "new")
    )
    end = F.array(
        F.struct(
            F.col("end_node").alias("node_id"), F.col("end_file").alias("file_id"), F.col("end_line").alias("line")
        )
    )
    both = F.concat(line_as_evidence(), end)
    return ups.withColumns(
        {
            "started_as": started_as,
            "evidence": F.when(F.col("end_line").isNull(), line_as_evidence()).otherwise(both),
        }
    ).select(*(name for name in BROKER_TIMELINE.columns if name != "shutdown_since"))


def _controlled_shutdowns(
    intervals: DataFrame, broker_events: DataFrame, replays: DataFrame, controllers: DataFrame
) -> DataFrame:
    """Rows of `_intervals`, EVENTS, rows of `to_replay_spans`, CONTROLLER_TIMELINE -> cluster, broker, since,
    `shutdown_since`: the first controlled shutdown that is logged in the interval. A controller that starts replays old
    ones, and one that another has replaced may know that no longer."""
    is_replay = F.col("at").between(F.col("replays_since"), F.col("replays_until"))
    in_dump = (F.col("event_type") == "metadata_broker_registration_change") & (
        F.col("fields")["in_controlled_shutdown_change"] == "1"
    )
    begins = broker_events.where(F.col("event_type").isin(*_SHUTDOWN_EVENTS) | F.coalesce(in_dump, F.lit(False)))
    shutdowns = (
        without_deposed(begins, controllers)
        .join(F.broadcast(replays), ["cluster", "node_id"], "left")
        .groupBy("cluster", F.coalesce(number_of("broker"), F.col("broker_id")).alias("broker"), "node_id", "at")
        .agg(F.max(F.coalesce(is_replay, F.lit(False))).alias("is_replay"))
        .where("NOT is_replay")
        .select("cluster", "broker", F.col("at").alias("shutdown_at"))
    )
    is_within = (F.col("shutdown_at") >= F.col("since")) & (
        F.col("until").isNull() | (F.col("shutdown_at") <= F.col("until"))
    )
    return (
        intervals.join(shutdowns, ["cluster", "broker"])
        .where(is_within)
        .groupBy("cluster", "broker", "since")
        .agg(F.min("shutdown_at").alias("shutdown_since"))
    )


def _starts_dump() -> Column:
    """Whether an event is the first batch of a metadata log."""
    return (F.col("event_type") == "metadata_batch") & (F.col("fields")["offset"] == "0")


def _zk_transitions(events: DataFrame) -> DataFrame:
    """EVENTS -> _TRANSITION as ZooKeeper's controller logged them."""
    is_change = F.col("event_type") == "broker_set_changed"
    listed = events.where("event_type = 'controller_context_live_brokers'")
    changes = F.concat(
        _changes(ids_of("bounced_brokers"), 0, False, "bounced"),
        _changes(ids_of("bounced_brokers"), 1, True, "bounced"),
        _changes(ids_of("deleted_brokers"), 0, False, "session_expired"),
        _changes(ids_of("added_brokers"), 1, True, "added"),
    )
    there = _changes(ids_of("live_brokers"), 1, True, "there")
    lines = events.where(F.col("event_type").isin(*_ZK_EVENTS))
    transitions = checkpointed(_by_broker(lines, F.when(is_change, changes).otherwise(there)))
    # a new controller lists who is there; whoever was known and is not in the list went away before
    absent = (
        listed.select(*_LINE, ids_of("live_brokers").alias("live"))
        .join(F.broadcast(transitions.select("cluster", "broker").distinct()), "cluster")
        .where(~F.array_contains("live", F.col("broker")))
    )
    absences = _by_broker(absent, _changes(F.array("broker"), 0, False, "session_expired"))
    noticed = checkpointed(_with_unseen(transitions.unionByName(absences), events.where(is_change)))
    # who is shut down last is seen by nobody
    stops = _by_broker(to_last_stops(events, noticed), _changes(F.array("broker"), 0, False, "session_expired"))
    counted = noticed.unionByName(stops).withColumn("is_new", F.lit(True)).select(*_TRANSITION)
    printed = to_printed_epochs(events).withColumns(
        {"is_up": F.lit(None).cast("boolean"), "is_new": F.lit(None).cast("boolean"), "rank": F.lit(2)}
    )
    return with_registrations(counted.unionByName(printed.select(*_TRANSITION)), [F.col(name) for name in _ORDER])


def _changes(brokers: Column, rank: int, is_up: bool, how: str) -> Column:
    """A list of brokers -> what happens to each, as _TRANSITION has it; none of null."""
    facts = F.lit(rank).alias("rank"), F.lit(is_up).alias("is_up"), F.lit(how).alias("how")
    return F.transform(F.coalesce(brokers, F.array().cast(IDS)), lambda one: F.struct(one.alias("broker"), *facts))


def _by_broker(lines: DataFrame, changes: Column) -> DataFrame:
    """Rows with _LINE, their `_changes` -> a row for each broker, as _TRANSITION without `is_new`; `epoch` null."""
    rows = lines.select(*_LINE, F.explode(changes).alias("change"))
    return rows.select(*_LINE, "change.*", F.lit(None).cast("long").alias("epoch"))


def _with_unseen(noticed: DataFrame, changed: DataFrame) -> DataFrame:
    """Transitions that a controller noticed, its lists of changes -> the former, with those that only a later list
    shows, for it has a broker, or lacks one, that did not change in it: the line of that is lost."""
    none = F.array().cast(IDS)
    changes = ("added_brokers", "deleted_brokers", "bounced_brokers")
    moved = F.concat(*(F.coalesce(ids_of(name), none) for name in changes))
    lists = changed.withColumns({"live": ids_of("live_brokers"), "moved": moved}).where("live IS NOT NULL")
    known = F.broadcast(noticed.select("cluster", "broker").distinct())
    listed = lists.join(known, "cluster").where(~F.array_contains("moved", F.col("broker")))
    there = _changes(F.array("broker"), 1, True, "there")
    gone = _changes(F.array("broker"), 0, False, "session_expired")
    unseen = _by_broker(listed, F.when(F.array_contains("live", F.col("broker")), there).otherwise(gone))
    marked = noticed.withColumn("is_listed", F.lit(False)).unionByName(unseen.withColumn("is_listed", F.lit(True)))
    order = Window.partitionBy("cluster", "broker").orderBy(*(F.col(name) for name in _ORDER))
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    last = F.last(F.when(~F.col("is_listed"), F.col("is_up")), ignorenulls=True).over(before)
    return marked.withColumn("last", last).where("NOT is_listed OR last != is_up").drop("is_listed", "last")


def _dump_transitions(events: DataFrame) -> DataFrame:
    """EVENTS -> _TRANSITION as dumps of the metadata log have them."""
    complete = events.where(_starts_dump()).select("cluster", "file_id", F.lit(True).alias("from_start")).distinct()
    dumped = events.where(F.col("event_type").isin(*_DUMP_EVENTS))
    return _kraft_transitions(dumped.join(F.broadcast(complete), ["cluster", "file_id"], "left"))


def _kraft_transitions(events: DataFrame) -> DataFrame:
    """EVENTS -> _TRANSITION as KRaft's controllers replayed them, or as a dump has them.

    `from_start`: whether a dump begins with the log; null or false if not. Controllers log who registers for the first
    time. In a dump from the start it is who was not there before. A snapshot holds everybody's last registration; its
    epoch, the offset at which it was written, is not where it stands. A controller that loads one logs it with who is
    unfenced, as it logs a broker that registers anew as it is, for the metadata version was raised (3.7 on).
    """
    kind, epoch = F.col("event_type"), F.col("fields")["broker_epoch"]
    fenced, change = F.col("fields")["fenced"], F.col("fields")["fenced_change"]
    registers = kind == "metadata_register_broker"
    of_snapshot = registers & (epoch != F.col("fields")["offset"])
    stays_up = (kind == "kraft_broker_registered") & F.coalesce(fenced == "false", F.lit(False))
    is_up = (
        F.when(kind.isin("kraft_broker_unfenced", "metadata_unfence_broker", *_GRANTED_EVENTS) | stays_up, True)
        .when(registers, fenced == "false")
        .when(kind == "metadata_broker_registration_change", F.when(change == "1", False).when(change == "-1", True))
        .otherwise(False)
    )
    is_new = (
        F.when(kind == "kraft_broker_registered", (F.col("fields")["kind"] == "new") & ~stays_up)
        .when(of_snapshot | (~registers & ~F.col("is_up")), False)
        .when(registers & F.col("from_start"), True)
    )
    return (
        events.withColumns(
            {
                "is_up": is_up,
                "rank": F.lit(0),
                "how": F.when(kind.isin(*_GRANTED_EVENTS), "granted")
                .when(is_up, F.when(of_snapshot | stays_up, "there").otherwise("added"))
                .otherwise("fenced"),
                "broker": F.coalesce(number_of("broker"), F.col("broker_id")),
                "epoch": F.coalesce(
                    epoch.try_cast("long"), F.col("fields")["epoch"].try_cast("long"), _registered_at()
                ),
            }
        )
        .withColumn("is_new", is_new)
        .where("is_up IS NOT NULL AND broker IS NOT NULL")
        .select(*_TRANSITION)
    )


def _registered_at() -> Column:
    """The offset of a broker's registration; null if a line tells another offset (up to 3.2).

    Up to 3.6 it is the broker's epoch. Since 3.7 (KIP-966) changes of the partitions of a broker that was not shut down
    cleanly may be written before its registration, whose offset is greater than the epoch then; it logs the record.
    """
    tells_it = (F.col("event_type") == "kraft_broker_unfence_granted") & F.col("message").contains("register broker")
    return F.when(tells_it, F.col("fields")["offset"].try_cast("long"))


def _by_standby_controllers(transitions: DataFrame, standbys: DataFrame) -> DataFrame:
    """_TRANSITION, rows of `standby_controllers` -> _TRANSITION as a standby replayed them for a controller term.

    Of those before it was up to date only the last one of each broker.
    """
    replayed = transitions.join(F.broadcast(standbys), ["cluster", "node_id"]).where(
        "at >= started AND (term_until IS NULL OR at <= term_until)"
    )
    is_past = F.col("at") <= F.col("current_since")
    last = Window.partitionBy("cluster", "node_id", "current_since", "broker", is_past).orderBy(
        F.desc("at"), F.desc("line"), F.desc("file_id")
    )
    return (
        replayed.withColumn("nth", F.row_number().over(last))
        .where(~is_past | (F.col("nth") == 1))
        .withColumn("how", F.when(is_past & F.col("is_up"), "there").otherwise(F.col("how")))
        # what is past to one term may be new in the one before
        .groupBy(*(name for name in _TRANSITION if name != "how"))
        .agg(F.min("how").alias("how"))
        .select(*_TRANSITION)
    )
