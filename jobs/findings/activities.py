"""What a ZooKeeper controller was doing, and whom it believed alive, at each moment of its log.

A controller is one thread (0.11 on), so what it logged last before a decision is what the decision belongs to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.observations import ids_of
from schemas.spark import IDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

ACTIVITIES = {  # event type -> strategy of the elections it leads to, and its trigger
    "broker_failure": ("offline", "broker_failure"),
    "broker_startup": ("offline", "broker_startup"),
    "controlled_shutdown_started": ("controlled_shutdown", "controlled_shutdown"),
    "reassignment_leader_not_in_new_replicas": ("reassign", "reassignment"),
    "reassignment_leader_dead": ("reassign", "reassignment"),
    "log_dir_failure_handling": ("offline", "log_dir_failure"),
    "unclean_election_enabled_default": ("offline", "unclean_election_enabled"),
    "unclean_election_enabled_topic": ("offline", "unclean_election_enabled"),
    "controller_elected": ("offline", "controller_failover"),
}

LIVE = ("broker_set_changed", "controller_context_live_brokers")
"""Events that list the live brokers."""
LEAVING = ("controlled_shutdown_shutting_down_brokers", "controller_context_shutting_down_brokers")
"""Events that list the brokers that are shutting down."""
LEFT = "broker_removed_from_shutting_down"
CONTEXT_EVENTS = (*ACTIVITIES, "replica_election_started", *LIVE, *LEAVING, LEFT)
"""Events that later decisions go by, whichever topic they name."""


def strategy_of() -> Column:
    """Strategy of the elections that an activity leads to; null if the event is no activity."""
    kind = F.when(
        F.col("event_type") == "replica_election_started",
        F.when(F.col("fields")["election_type"] == "UNCLEAN", "offline").otherwise("preferred"),
    )
    for event_type, (strategy, _) in ACTIVITIES.items():
        kind = kind.when(F.col("event_type") == event_type, strategy)
    return kind


def trigger_of() -> Column:
    """What set an activity off; null if the event is no activity."""
    said = F.col("fields")["trigger"]  # KIP-460, 2.4 on
    admin = F.when(said == "AutoTriggered", "auto").when(said == "ZkTriggered", "zk").otherwise("admin")
    kind = F.when(F.col("event_type") == "replica_election_started", admin)
    for event_type, (_, trigger) in ACTIVITIES.items():
        kind = kind.when(F.col("event_type") == event_type, trigger)
    return kind


def with_activity(events: DataFrame, kinds: Iterable[str]) -> DataFrame:
    """EVENTS -> those of ZooKeeper controllers of some kinds, with `strategy`, `trigger`, `alive`, `shutting_down` as of each line.

    Lines of equal time in two files of one node: first what the controller set out to do, then what it did. A controller's lines
    are put in order in one place; so only those of these kinds and of what they go by are, for most tell of requests.
    """
    of_kinds = F.col("event_type").isin(*kinds)
    own = events.where(of_kinds | F.col("event_type").isin(*CONTEXT_EVENTS)).where(
        "logger LIKE 'kafka.controller%' OR (logger = 'state.change.logger' AND controller_epoch IS NOT NULL)"
    )
    rank = F.when(F.col("logger") == "state.change.logger", 1).otherwise(0)
    order = Window.partitionBy("cluster", "node_id").orderBy("at", "rank", "line", "file_id")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    alive = F.when(F.col("event_type").isin(*LIVE), ids_of("live_brokers"))
    leaving = F.when(
        F.col("event_type").isin(*LEAVING), F.coalesce(ids_of("shutting_down_brokers"), F.array().cast(IDS))
    )
    left = F.when(F.col("event_type") == LEFT, ids_of("brokers"))
    marked = own.withColumns({"rank": rank, "told": leaving, "left": left}).withColumn(
        "list_number", F.count("told").over(so_far)
    )
    since_list = (
        Window.partitionBy("cluster", "node_id", "list_number")
        .orderBy("at", "rank", "line", "file_id")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    known = marked.withColumns(
        {
            "strategy": F.last(strategy_of(), ignorenulls=True).over(so_far),
            "trigger": F.last(trigger_of(), ignorenulls=True).over(so_far),
            "alive": F.last(alive, ignorenulls=True).over(so_far),
            "shutting_down": F.array_except(
                F.coalesce(F.last("told", ignorenulls=True).over(so_far), F.array().cast(IDS)),
                F.flatten(F.collect_list("left").over(since_list)),
            ),
        }
    )
    return known.where(of_kinds).drop("rank", "told", "left", "list_number")
