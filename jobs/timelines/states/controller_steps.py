"""What active KRaft controllers log of what they do: the steps that states follow from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.timelines.cluster_facts import DIRECTORY_PARTITIONS
from jobs.timelines.controllers import with_active
from jobs.timelines.lost_minutes import hole_rows
from jobs.timelines.observations import ids_of, number_of, sorted_ids
from jobs.timelines.running_windows import number_between, rows_from
from udfs.logs.lost_minutes import LineGap
from udfs.reconstruct.kraft_engine_columns import CONTROLLER_STEP, LOGGED, SAME_FAILURE_US
from udfs.reconstruct.kraft_facts import (
    ASSIGNMENT_CHANGED,
    CONTROLLED_SHUTDOWN,
    DIRECTORY_LISTED,
    DIRECTORY_LOST,
    FENCED,
    NONE_ELIGIBLE,
    PREFERRED_ELECTED,
    REPLICA_LOST,
    REPLICAS_REMOVED,
    SHOWN,
    UNCLEAN_RESTART,
    UNFENCED,
    UNREGISTERED,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

REQUESTS = {
    "kraft_broker_session_timeout": FENCED,
    "kraft_broker_shutdown_granted": FENCED,
    "kraft_broker_immediate_shutdown_granted": FENCED,
    "kraft_broker_fencing_requested": FENCED,
    "kraft_broker_unfence_granted": UNFENCED,
    "kraft_broker_controlled_shutdown_granted": CONTROLLED_SHUTDOWN,
    "kraft_broker_unregistered": UNREGISTERED,
}
"""Events by which a controller logs why it does something with a broker: the only ones from 3.3 to 3.5."""
REPLAYS = {
    "kraft_broker_fenced": FENCED,
    "kraft_broker_unfenced": UNFENCED,
    "kraft_broker_controlled_shutdown_replayed": CONTROLLED_SHUTDOWN,
}
"""Events by which it logs the record of it: with the other at once, or alone."""
ANSWERED = ("kraft_broker_shutdown_granted", "kraft_broker_immediate_shutdown_granted", "kraft_broker_unfence_granted")
"""Requests whose answer the broker logs. A controller answers when all that it had written by then is committed
(`QuorumController.ControllerWriteEvent`, from 2.8 on)."""
PREFERRED_RESULTS = ("kraft_balance_result", "kraft_periodic_task_result")
"""Events by which it logs how many preferred leaders it elected, for leaders were out of balance: 3.9, from 4.0 on."""
OTHERS = (
    *PREFERRED_RESULTS,
    "kraft_broker_registering",
    "kraft_elr_removed",
    "kraft_partition_assignment_changed",
    "kraft_partitions_changing",
    "kraft_partitions_changing_summary",
    "kraft_reassignment_summary",
)
SHOWING = ("kraft_partition_created", "kraft_partition_changed", "kraft_partition_changed_unclean")
ASSIGNING = ("kraft_partition_created", "kraft_partition_assignment_changed")
NEAR_US = 50_000
"""Lines of one step are logged within so many microseconds."""
TWIN_US = 1_000_000
RECORDS_US = 500_000
"""Records of accepted reassignments are logged within so many microseconds."""
RESIGNED_US, REPLACED_US = 250_000, 3_000_000
"""What a controller did so shortly before it resigned, or another took its place, may never have been committed."""
COMMITTED_US, STARTING_US = 30_000_000, 60_000_000
"""Other controllers replay a record once it is committed: so long after it was written at most, and old ones, too, for
so long after they started."""
NO_DIRECTORY = ("AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAA")
"""Directory ids of replicas in no directory yet (KIP-858): UNASSIGNED and MIGRATING."""


def to_controller_steps(events: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS, CONTROLLER_TIMELINE -> a row per step of active KRaft controllers: its event's columns, and `step`.

    `step` is a `udfs.reconstruct.kraft_engine_columns.CONTROLLER_STEP`.
    """
    of_controller = F.col("event_type").isin(*REQUESTS, *REPLAYS, *OTHERS, *SHOWING)
    lines = events.where(of_controller | _answer().isNotNull())
    named = with_active(lines, controllers, events).withColumns(
        {
            "kind": _kind(),
            "context": F.col("fields")["context"],
            "broker": F.coalesce(number_of("broker"), F.col("broker_id")),
            "micros": F.unix_micros("at"),
        }
    )
    steps = _with_counts(_without_twins(_with_certainty(named, controllers))).where("kind IS NOT NULL")
    of_record = F.col("kind").isin(ASSIGNMENT_CHANGED, SHOWN)
    step = F.struct(
        F.col("micros").alias("at"), "node_id", "file_id", "line", "kind",
        F.when(~of_record, F.col("broker")).alias("broker"),
        F.when(of_record & (F.col("leader") >= -1), F.col("leader")).alias("leader"),
        F.when(of_record, sorted_ids(F.col("isr"))).alias("isr"),
        F.when(of_record, F.col("replicas")).alias("replicas"),
        F.when(of_record, _without_directory()).alias("unassigned"),
        "changed", "is_sure", F.when(F.col("kind") == SHOWN, F.col("partition_epoch")).alias("partition_epoch"),
    )  # fmt: skip
    return steps.withColumn("step", step)


def to_logged_spans(
    coverage: DataFrame, controllers: DataFrame, holes: Mapping[str, Sequence[LineGap]] = MappingProxyType({})
) -> DataFrame:
    """LOG_COVERAGE, CONTROLLER_TIMELINE -> cluster, `logged`, spans of KRaft's terms of which the controller's own log
    is there, and the terms, and `holes` by cluster, of which it is not: LOGGED of
    `udfs.reconstruct.kraft_engine_columns`. No row if it is there of none."""
    terms = controllers.where("mode = 'kraft'").select(
        "cluster", "controller_epoch", F.col("controller_id").alias("node_id"), F.col("since").alias("begin"),
        F.col("until").alias("end"),
    )  # fmt: skip
    # null: the term has not ended
    since, until = F.greatest("since", "begin"), F.least("until", "end")
    logs = coverage.where("kind = 'controller'").select("cluster", "node_id", "since", "until")
    is_there = F.coalesce(since <= until, F.lit(False))

    def span(since: Column, until: Column, is_there: bool) -> Column:
        times = F.unix_micros(since).alias("since"), F.unix_micros(until).alias("until")
        return F.struct(*times, F.lit(is_there).alias("is_there"))

    spans = (
        terms.join(F.broadcast(logs), ["cluster", "node_id"], "left")
        .withColumn("there", F.when(is_there, span(since, until, True)))
        .groupBy("cluster", "controller_epoch", "begin", "end")
        .agg(F.collect_list("there").alias("there"))
    )
    lacking = F.array(span(F.col("begin"), F.col("end"), False))
    logged = F.flatten(F.collect_list(F.when(F.size("there") > 0, F.col("there")).otherwise(lacking)))
    of_terms = (
        spans.groupBy("cluster")
        .agg(F.max(F.size("there")).alias("most_there"), logged.alias("logged"))
        .where("most_there > 0")
        .drop("most_there")
    )
    if not any(holes.values()):
        return of_terms
    rows = hole_rows(coverage.sparkSession, holes)
    hole = F.struct("since", "until", F.lit(False).alias("is_there"))
    of_holes = rows.groupBy("cluster").agg(F.collect_list(hole).alias("holes"))
    with_holes = F.concat("logged", F.coalesce("holes", F.array().cast(T.ArrayType(LOGGED))))
    return of_terms.join(F.broadcast(of_holes), "cluster", "left").select("cluster", with_holes.alias("logged"))


def with_listed_directories(steps: DataFrame, events: DataFrame) -> DataFrame:
    """Rows of `to_controller_steps`, EVENTS -> the same, failed directories told apart whose broker lists what is in
    them."""
    times = (
        _directory_lists(events)
        .groupBy("cluster", F.col("node_id").alias("broker"))
        .agg(F.collect_set(F.unix_micros("at")).alias("listed_at"))
    )
    is_listed = (F.col("step.kind") == DIRECTORY_LOST) & F.exists(
        "listed_at", lambda at: F.abs(at - F.col("step.at")) <= SAME_FAILURE_US
    )
    kind = F.when(is_listed, DIRECTORY_LISTED).otherwise(F.col("step.kind"))
    joined = steps.join(F.broadcast(times), ["cluster", "broker"], "left")
    return joined.withColumn("step", F.col("step").withField("kind", kind)).drop("listed_at")


def to_lost_replicas(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, topic, partition, topic_id, at, and `step`: a replica that its broker names among those of a
    log directory that failed."""
    step = F.struct(
        *(
            {
                "at": F.unix_micros("at"),
                "node_id": F.col("node_id"),
                "file_id": F.col("file_id"),
                "line": F.col("line"),
                "kind": F.lit(REPLICA_LOST),
                "broker": F.col("node_id"),
                "is_sure": F.lit(True),
            }.get(field.name, F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in CONTROLLER_STEP
        )
    )
    replicas = _directory_lists(events).select("cluster", "at", F.explode("partitions").alias("p"), step.alias("step"))
    return replicas.select("cluster", "p.topic", "p.partition", "p.topic_id", "at", "step")


def _directory_lists(events: DataFrame) -> DataFrame:
    """EVENTS -> those by which a broker lists the partitions of a log directory that failed."""
    return events.where((F.col("event_type") == DIRECTORY_PARTITIONS) & F.col("node_id").isNotNull())


def is_broker_step() -> Column:
    """Whether an event may be a step that changes partitions which no line names; without a broker it may be any."""
    of_any = F.col("fields")["context"].rlike("^(handleDirectoriesOffline|offline-dir)")
    others = "kraft_broker_registering", "kraft_elr_removed", "kraft_reassignment_summary"
    named = F.col("event_type").isin(*REQUESTS, *REPLAYS, *others)
    return named | _elects_preferred() | F.coalesce(of_any, F.lit(False))


def _elects_preferred() -> Column:
    """Whether an event says that preferred leaders were elected: the task logs how many, also if there are none."""
    task = F.coalesce(F.col("fields")["task"], F.lit("electPreferred"))
    is_result = F.col("event_type").isin(*PREFERRED_RESULTS) & (task == "electPreferred")
    return is_result & F.coalesce(number_of("record_count") > 0, F.lit(False))


def _answer() -> Column:
    """Of the line by which a broker logs the answer to its request, the kind of the step; null of other lines."""
    is_running = (F.col("event_type") == "broker_status_changed") & (F.col("fields")["to_state"] == "RUNNING")
    return F.when(F.col("event_type") == "controlled_shutdown_approved", FENCED).when(is_running, UNFENCED)


def _with_certainty(lines: DataFrame, controllers: DataFrame) -> DataFrame:
    """Lines of active controllers with `is_sure`: false of what was logged so late in a term that it may never have
    been committed, and which no other controller replays, no broker has as its answer, and nothing follows of which
    that is so: records are committed in their order."""
    late = F.when(F.col("ended_by") == "resigned", RESIGNED_US).otherwise(REPLACED_US)
    ends = controllers.where("until IS NOT NULL").groupBy("cluster", F.col("controller_id").alias("node_id"))
    spans = ends.agg(F.collect_list(F.struct(F.unix_micros("until").alias("end"), late.alias("late"))).alias("ends"))
    micros = F.col("micros")
    is_record = F.col("kind") == ASSIGNMENT_CHANGED
    record = F.regexp_extract("message", r"PartitionChangeRecord\(.*", 0)
    of_record = F.concat_ws(" ", "topic", "partition", record)
    own = ("cluster", "subject", "kind")
    is_starting = F.exists("starts", lambda at: micros.between(F.unix_micros(at), F.unix_micros(at) + STARTING_US))
    is_replay = F.col("event_type").isin(*REPLAYS) | is_record
    is_committed = is_replay & ~F.col("is_active") & ~F.coalesce(is_starting, F.lit(False))

    def first_from(is_wanted: Column, distance: int) -> Column:
        return F.min(F.when(is_wanted, micros)).over(rows_from(own, "micros", distance))

    def is_soon(at: Column, next_at: Column) -> Column:
        return (at <= micros + COMMITTED_US) & (at < F.coalesce(next_at, F.lit(2**62)))

    is_replayed = is_soon(first_from(is_committed, -NEAR_US), first_from(F.col("is_active"), TWIN_US))
    is_request = F.col("is_active") & F.col("event_type").isin(*ANSWERED)
    is_answered = is_request & is_soon(first_from(F.col("is_answer"), -NEAR_US), first_from(is_request, 1))
    is_known = F.coalesce(is_replayed, F.lit(False)) | F.coalesce(is_answered, F.lit(False))
    known_at = F.min(F.when(F.col("is_known"), micros)).over(rows_from(("cluster", "node_id"), "micros", 0))

    def is_open(end: Column) -> Column:
        is_late = (micros <= end["end"]) & (micros > end["end"] - end["late"])
        return is_late & ~F.coalesce(F.col("known_at") <= end["end"], F.lit(False))

    return (
        lines.withColumn("is_answer", _answer().isNotNull())
        .withColumn("is_active", F.col("is_active") & ~F.col("is_answer"))
        .withColumn("subject", F.when(is_record, of_record).otherwise(F.col("broker").cast("string")))
        .withColumn("is_known", F.col("subject").isNotNull() & is_known)
        .where("is_active")
        .withColumn("known_at", known_at)
        .join(F.broadcast(spans), ["cluster", "node_id"], "left")
        .withColumn("is_sure", ~F.coalesce(F.exists("ends", is_open), F.lit(False)))
        .drop("ends", "is_active", "starts", "is_answer", "is_known", "known_at", "subject")
    )


def _kind() -> Column:
    """The kind of step that an event shows; null none."""
    event, context = F.col("event_type"), F.col("fields")["context"]
    of_broker = F.create_map(*(F.lit(part) for pair in (REQUESTS | REPLAYS).items() for part in pair))
    is_directory = context.startswith("handleDirectoriesOffline") | context.startswith("offline-dir")
    return (
        F.when(_elects_preferred(), PREFERRED_ELECTED)
        .when(event == "kraft_partition_assignment_changed", F.when(F.col("topic").isNotNull(), ASSIGNMENT_CHANGED))
        .when(event.isin(*SHOWING), F.when(F.col("partition_epoch").isNotNull(), SHOWN))
        .when(event == "kraft_broker_registering", F.when(number_of("cleanup_record_count") > 0, UNCLEAN_RESTART))
        .when(event == "kraft_elr_removed", F.when(number_of("partition_count") > 0, NONE_ELIGIBLE))
        .when(event == "kraft_reassignment_summary", F.when(number_of("altered_count") > 0, REPLICAS_REMOVED))
        .when(is_directory, DIRECTORY_LOST)
        .otherwise(F.coalesce(F.try_element_at(of_broker, event), _answer()))
    )


def _without_twins(lines: DataFrame) -> DataFrame:
    """The same without records whose request is logged, too: both are one step."""
    near = rows_from(("cluster", "node_id", "broker", "kind"), "micros", -TWIN_US)
    requested_at = F.min(F.when(F.col("event_type").isin(*REQUESTS), F.col("micros"))).over(near)
    is_twin = F.col("event_type").isin(*REPLAYS) & (requested_at <= F.col("micros") + TWIN_US)
    return lines.withColumn("is_twin", is_twin).where("NOT coalesce(is_twin, false)").drop("is_twin")


def _with_counts(lines: DataFrame) -> DataFrame:
    """The same with `changed`, how many partitions a broker's step changed, 0 where it would be logged; null unknown.

    Reassignments all of whose records are logged go: none of them only removes replicas.
    """
    is_count = F.col("event_type").startswith("kraft_partitions_changing")
    is_step = F.col("kind").isin(FENCED, UNFENCED, CONTROLLED_SHUTDOWN)
    is_request = F.col("event_type").isin(*REQUESTS)
    context = (
        F.when(F.col("kind") == CONTROLLED_SHUTDOWN, F.concat(F.lit("enterControlledShutdown["), "broker", F.lit("]")))
        .when(F.col("kind") == FENCED, "handleBrokerFenced")
        .when(F.col("kind") == UNFENCED, "handleBrokerUnfenced")
        .otherwise(F.col("context"))
    )
    of_node, of_context = ("cluster", "node_id"), ("cluster", "node_id", "step_context")
    in_order = Window.partitionBy(*of_context).orderBy("micros", "line")
    by_then = Window.partitionBy(*of_context).orderBy("micros").rangeBetween(Window.unboundedPreceding, NEAR_US)

    def number_near(is_counted: Column) -> Column:
        return number_between(is_counted, of_context, "micros", -NEAR_US, NEAR_US)

    moves = ["adding_replicas", "removing_replicas"]
    is_move = (F.col("kind") == ASSIGNMENT_CHANGED) & (F.greatest(*(F.size(ids_of(name)) for name in moves)) > 0)
    counted = lines.withColumn("step_context", context).withColumns(
        {
            "near_steps": number_near(is_step),
            "near_requests": number_near(is_step & is_request),
            "next_count": F.lead(F.when(is_count, number_of("partition_count"))).over(in_order),
            "next_at": F.lead("micros").over(in_order),
            "near_counts": number_near(is_count),
            # the one near, if there is one
            "last_count": F.last(
                F.when(is_count, F.struct(number_of("partition_count").alias("partition_count"))), ignorenulls=True
            ).over(by_then),
            "counts": F.max(is_count).over(Window.partitionBy(*of_node)),
            "moves": number_between(is_move, of_node, "micros", -NEAR_US, RECORDS_US),
        }
    )
    # the first elections that a process logs may take long, and the count comes behind them
    count_behind = F.when(is_request & (F.col("next_at") <= F.col("micros") + RECORDS_US), F.col("next_count"))
    has_none = (F.col("near_counts") == 0) & F.col("counts")
    changed = F.when(
        is_step & (F.col("near_steps") == 1),
        F.when(F.col("near_counts") == 1, F.col("last_count.partition_count")).when(
            has_none, F.coalesce(count_behind, F.lit(0))
        ),
    ).when(
        is_step & (F.col("near_steps") == F.col("near_requests")) & F.col("counts"), F.coalesce("next_count", F.lit(0))
    )
    is_logged = (F.col("kind") == REPLICAS_REMOVED) & (F.col("moves") >= number_of("altered_count"))
    return counted.withColumn("changed", changed).where(~F.coalesce(is_logged, F.lit(False)))


def _without_directory() -> Column:
    """Replicas for which a new partition, or a new assignment, is printed with no directory; none if it has no
    directories, as until 3.6; null if none are printed, for they stay as they were.

    From 4.3 on a record is printed with the assignment before and after it, also where it keeps that."""
    directories = F.from_json(F.col("fields")["directories"], "array<string>")
    pairs = F.arrays_zip(F.col("replicas").alias("replica"), directories.alias("directory"))
    missing = F.transform(F.filter(pairs, lambda p: p["directory"].isin(*NO_DIRECTORY)), lambda p: p["replica"])
    is_kept = directories.isNull() & F.col("fields")["old_replicas"].isNotNull()
    is_assignment = F.col("replicas").isNotNull() & F.col("event_type").isin(*ASSIGNING) & ~is_kept
    return F.when(is_assignment, F.coalesce(missing, F.array()).cast("array<int>"))
