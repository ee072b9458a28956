"""What a ZooKeeper controller was doing, and whom it believed alive, at each moment of its log.

A controller is one thread (0.11 on), so a decision belongs to what it logged last before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.cluster_facts import day_of
from jobs.timelines.known_spans import span_around, spans_by_day
from jobs.timelines.observations import ids_of, number_of, printed_ids
from schemas.spark import IDS
from udfs.kafka.election_verdicts import JUST_ALLOWED
from udfs.kafka.rebalance_verdicts import STARTED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

ACTIVITIES = {
    "broker_failure": ("offline", "broker_failure"),
    "broker_startup": ("offline", "broker_startup"),
    "controlled_shutdown_started": ("controlled_shutdown", "controlled_shutdown"),
    "reassignment_leader_not_in_new_replicas": ("reassign", "reassignment"),
    "reassignment_leader_dead": ("reassign", "reassignment"),
    "log_dir_failure_handling": ("offline", "log_dir_failure"),
    "unclean_election_enabled_default": ("offline", JUST_ALLOWED),
    "unclean_election_enabled_topic": ("offline", JUST_ALLOWED),
    "controller_elected": ("offline", "controller_failover"),
    "controller_epoch_incremented": ("offline", "controller_failover"),
    "preferred_election_started": ("preferred", None),
}
"""Event type -> strategy of the elections that it leads to, and their trigger; None: its lines do not tell it."""

LEADER_MOVES = ("reassignment_leader_not_in_new_replicas", "reassignment_leader_dead")
"""Events by which a reassignment looks for another leader; they list its target."""
TERM_BEGINS = ("controller_elected", "controller_epoch_incremented")
"""Events by which a controller begins its term, knowing nobody; the second one alone is in its log until 1.0."""
LIVE_LISTS = ("broker_set_changed", "controller_context_live_brokers")
"""Events that list the live brokers."""
SHUTDOWN_LISTS = ("controlled_shutdown_shutting_down_brokers", "controller_context_shutting_down_brokers")
"""Events that list the brokers that are shutting down, the first of them at DEBUG."""
SHUTDOWN_STARTED = "controlled_shutdown_started"
SHUTDOWN_DONE = ("broker_removed_from_shutting_down", "broker_failure", "broker_startup")
"""Events by which brokers are not shutting down any more; one that is dead, or starts, is not even where the first of
them is lost (kafka.controller.KafkaController, `onBrokerFailure`)."""
CONTEXT_EVENTS = (*ACTIVITIES, *STARTED, *LIVE_LISTS, *SHUTDOWN_LISTS, *SHUTDOWN_DONE)
"""Events that later decisions depend on, whichever topic they name."""


def strategy_of() -> Column:
    """Strategy of the elections that an activity leads to; null if the event is no activity."""
    strategy = F.when(
        F.col("event_type") == "replica_election_started",
        F.when(F.col("fields")["election_type"] == "UNCLEAN", "offline").otherwise("preferred"),
    )
    for event_type, (name, _) in ACTIVITIES.items():
        strategy = strategy.when(F.col("event_type") == event_type, name)
    return strategy


def trigger_of() -> Column:
    """What set an activity off; null if the event is no activity.

    Replica elections name theirs from 2.4 on (KIP-460).
    """
    logged = F.col("fields")["trigger"]
    of_election = F.when(logged == "AutoTriggered", "auto").when(logged == "ZkTriggered", "zk").otherwise("admin")
    trigger = F.when(F.col("event_type") == "replica_election_started", of_election)
    for event_type, (_, name) in ACTIVITIES.items():
        trigger = trigger.when(F.col("event_type") == event_type, F.lit(name))
    return trigger


def _activity() -> Column:
    """Strategy and trigger of an activity together, with the brokers that it takes for dead, and all the partitions
    that it is about, if it lists them: its trigger may not be known; null if the event is no activity."""
    strategy = strategy_of()
    failing = F.when(F.col("event_type") == "broker_failure", ids_of("brokers"))
    names = F.transform(
        "partitions", lambda one: F.struct(one["topic"].alias("topic"), one["partition"].alias("partition"))
    )
    partitions = F.when(F.col("event_type").isin(*STARTED), names)
    of_activity = F.struct(
        strategy.alias("strategy"),
        trigger_of().alias("trigger"),
        failing.alias("failing"),
        partitions.alias("partitions"),
    )
    return F.when(strategy.isNotNull(), of_activity)


def with_activity(events: DataFrame, event_types: Iterable[str], known_spans: DataFrame) -> DataFrame:
    """EVENTS -> those of ZooKeeper controllers of some types, with `strategy`, `trigger`, `alive` (by which line:
    `live_evidence`), `shutting_down` then, and `target_replicas` of the reassignment that looked for a leader last.

    `known_spans`: rows of `to_known_spans` of controllers' logs, by cluster and node. What stands before a hole in the
    node's log is not known after it, nor what the node believed as a controller before in the term that begins.

    Lines of equal time in two files of one node: first what the controller set out to do, then what it did. A
    controller's lines are put in order in one place; so only those of these types and of CONTEXT_EVENTS are, for most
    are about requests.
    """
    is_wanted = F.col("event_type").isin(*event_types)
    own = events.where(is_wanted | F.col("event_type").isin(*CONTEXT_EVENTS)).where(
        "logger LIKE 'kafka.controller%' OR (logger = 'state.change.logger' AND controller_epoch IS NOT NULL)"
    )
    rank = F.when(F.col("logger") == "state.change.logger", 1).otherwise(0)
    nobody = F.array().cast(IDS)
    stretch = ["cluster", "node_id", "known_since"]
    order = Window.partitionBy(*stretch).orderBy("at", "rank", "line", "file_id")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    since_list = (
        Window.partitionBy(*stretch, "list_number")
        .orderBy("at", "rank", "line", "file_id")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    of_target = F.struct("topic", "partition", printed_ids("target_replicas").alias("ids"))
    target = F.when(F.col("event_type").isin(*LEADER_MOVES), of_target)
    move = F.when(
        F.col("event_type").isin(SHUTDOWN_STARTED, *SHUTDOWN_DONE),
        F.struct(
            F.coalesce(ids_of("brokers"), F.array(number_of("broker")), nobody).alias("brokers"),
            F.col("event_type").isin(*SHUTDOWN_DONE).alias("is_done"),
        ),
    )
    last_listed = F.coalesce(F.last("listed", ignorenulls=True).over(so_far), nobody)
    return (
        _with_refuted(_with_known_since(own, known_spans))
        .withColumns({"rank": rank, "listed": _listed_shutdowns(), "move": move})
        .withColumn("list_number", F.count("listed").over(so_far))
        .withColumns(
            {
                "activity": F.last(_activity(), ignorenulls=True).over(so_far),
                "target": F.last(target, ignorenulls=True).over(so_far),
                "live_list": F.last(_live_list(), ignorenulls=True).over(so_far),
                "shutting_down": F.aggregate(F.collect_list("move").over(since_list), last_listed, _after_move),
            }
        )
        .where(is_wanted)
        .withColumns(_of_activity())
        .withColumn("target_replicas", F.when(_is_of_target(), F.col("target.ids")))
        .drop("target", "rank", "listed", "move", "list_number", "known_since", "activity", "live_list", "is_refuted")
    )


def _is_of_target() -> Column:
    """Whether a line is about the partition whose reassignment looked for a leader last: else the line by which its own
    one did is lost. A line without partition is about any."""
    return F.col("partition").isNull() | (
        (F.col("topic") == F.col("target.topic")) & (F.col("partition") == F.col("target.partition"))
    )


def _begins_term() -> Column:
    return F.col("event_type").isin(*TERM_BEGINS)


def _live_list() -> Column:
    """Live brokers that an event lists, as `ids` with `evidence`; `ids` is null where a term begins, and where a list
    between it and the next one is lost, else all is."""
    ids = F.when(F.col("event_type").isin(*LIVE_LISTS), ids_of("live_brokers"))
    line = F.array(F.struct("node_id", "file_id", "line"))
    believed = F.when(F.col("is_refuted").isNull(), ids)
    return F.when(_begins_term() | ids.isNotNull(), F.struct(believed.alias("ids"), line.alias("evidence")))


def _with_refuted(events: DataFrame) -> DataFrame:
    """EVENTS with `known_since` -> the same with `is_refuted`: true of lists of live brokers that do not become the
    next one in the term by the changes that it tells, else null."""
    none = F.array().cast(IDS)
    order = Window.partitionBy("cluster", "node_id", "known_since").orderBy("at", "line", "file_id")
    lists = F.struct(
        *(F.coalesce(ids_of(name), none).alias(name) for name in ("live_brokers", "added_brokers", "deleted_brokers")),
        (F.col("event_type") == LIVE_LISTS[0]).alias("is_change"),
    )
    is_list = F.col("event_type").isin(*LIVE_LISTS)
    in_order = events.where(is_list | _begins_term()).withColumn("own", F.when(is_list, lists))
    later = F.lead("own").over(order)
    expected = F.array_union(F.array_except("own.live_brokers", later["deleted_brokers"]), later["added_brokers"])
    # who comes was not there, who goes was
    was_other = F.arrays_overlap("own.live_brokers", later["added_brokers"]) | (
        F.size(F.array_except(later["deleted_brokers"], "own.live_brokers")) > 0
    )
    is_other = later["is_change"] & (was_other | (F.array_sort(expected) != F.array_sort(later["live_brokers"])))
    refuted = in_order.withColumn("is_refuted", is_other).where("is_refuted")
    line = ["cluster", "file_id", "line"]
    return events.join(F.broadcast(refuted.select(*line, "is_refuted")), line, "left")


def _listed_shutdowns() -> Column:
    """Brokers that are shutting down by an event that lists them, nobody where a term begins; else null."""
    ids = F.coalesce(ids_of("shutting_down_brokers"), F.array().cast(IDS))
    return F.when(_begins_term() | F.col("event_type").isin(*SHUTDOWN_LISTS), ids)


def _with_known_since(events: DataFrame, known_spans: DataFrame) -> DataFrame:
    """EVENTS, spans by cluster and node -> the former with `known_since`: the begin of the node's span at that time."""
    names = ("cluster", "node_id", "day")
    by_day = spans_by_day(known_spans, "cluster", "node_id")
    spans = F.broadcast(by_day.select(*(F.col(name).alias(f"span_{name}") for name in names), "spans"))
    is_of_node = F.col("cluster").eqNullSafe(F.col("span_cluster")) & F.col("node_id").eqNullSafe(F.col("span_node_id"))
    is_of_day = day_of("at") == F.col("span_day")
    return (
        events.join(spans, is_of_node & is_of_day, "left")
        .withColumn("known_since", span_around(F.col("at"))["since"])
        .drop("spans", *(f"span_{name}" for name in names))
    )


def _of_activity() -> dict[str, Column]:
    """Columns of a line by the activity that it belongs to.

    A bounced broker is among the live ones that are listed, but the controller takes it for dead before it starts (2.2
    on). What a controller decides about a partition that its last activity does not list comes of another one, whose
    line is lost.
    """
    failing = F.coalesce("activity.failing", F.array().cast(IDS))
    own = F.struct("topic", "partition")
    is_other = F.col("topic").isNotNull() & ~F.array_contains("activity.partitions", own)
    names = ("strategy", "trigger")
    return {name: F.when(~F.coalesce(is_other, F.lit(False)), F.col(f"activity.{name}")) for name in names} | {
        "alive": F.array_except("live_list.ids", failing),
        "live_evidence": F.when(F.col("live_list.ids").isNotNull(), F.col("live_list.evidence")),
    }


def _after_move(shutting_down: Column, move: Column) -> Column:
    """Who is shutting down after one more began, or some are gone."""
    done = F.array_except(shutting_down, move["brokers"])
    return F.when(move["is_done"], done).otherwise(F.array_union(shutting_down, move["brokers"]))
