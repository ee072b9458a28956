"""Windows of history: of a cluster with a long one a night works out only the time since shortly before its news.

Rows that began before the *seal* and have ended by then stay as they are published. All others are made of the events
since the *begin* of the window, six hours of logs before the seal, and of older lines that they rest on
(`jobs.nightly.window_events`). That this gives what all events would give is not assumed: the last hours before the
seal are worked out, too, and compared with what is published (`jobs.nightly.window_check`).
docs/decisions/0018 has the reasons and what lies beyond the horizon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.nightly.sql_literals import text_literals, time_literal
from jobs.timelines.topics import INCARNATION
from jobs.warehouse.tables import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MARGIN = timedelta(minutes=5)
"""How long before its first news, and the last event before them, a window is sealed at least: so long after its begin
what a row says is known."""
WARM_UP = timedelta(hours=6)
"""How much of the logs before the seal is read again."""
COMPARED = timedelta(hours=3)
"""How much of that is compared with what is published; the hours before it are what its rows rest on."""
HORIZON = timedelta(days=7)
"""How far back a window reaches for what has not ended: outages, incidents, failed directories, absences from ISRs."""
LOSS_HORIZON = timedelta(hours=6)
"""How far back it reaches for unclean elections whose loss is not known yet: most will never be."""
LEAD = timedelta(hours=1)
"""How long before the first of these a window begins."""

WORTH_EVENTS, WORTH_SHARE = 50_000, 1 / 3
"""A window that leaves out fewer events, or a smaller part of all, is not worth it: all of them take no longer
than what a window needs besides. One that leaves out 38,000 of 62,000 takes 238 CPU seconds, all of them 247."""

BEGINS: Mapping[str, str] = {
    "clock_offsets": "hour",
    "control_requests": "least(sent_at, received_at, handled_at, responded_at)",
    "controller_timeline": "since",
    "broker_timeline": "since",
    "topic_timeline": "since",
    "partition_timeline": "since",
    "contradictions": "at",
    "elections": "at",
    "isr_changes": "at",
    "reassignments": "since",
    "config_changes": "at",
    "log_dir_failures": "at",
    "offline_partitions": "since",
    "isr_churn": "hour",
    "incidents": "since",
    "topic_availability": "window",
    "preferred_replica_imbalance": "since",
    "cluster_minutely": "minute",
    "controller_activity": "window",
    "verdicts": "at",
}
"""By derived table when a row begins."""
LASTING = (
    "controller_timeline", "broker_timeline", "topic_timeline", "partition_timeline", "preferred_replica_imbalance",
    "reassignments",
)  # fmt: skip
"""Tables of what lasts long, `until` its end: a row that lasts into a window is made of its own lines."""
STORIES: Mapping[str, str] = {"offline_partitions": "ended_before", "log_dir_failures": "until", "incidents": "until"}
"""Tables of what seldom lasts long, and when a row of them ends: it is made of all that happened since its begin."""
ENDS: Mapping[str, str] = {**dict.fromkeys(LASTING, "until"), **STORIES}
"""By table whose rows last when a row ends."""
FROM_SEALED = ("isr_churn", "topic_availability")
"""Tables made of rows of others, sealed ones among them: that their own seal is earlier makes no window longer."""


@dataclass(frozen=True)
class Window:
    """What of a cluster a night works out: `begin` < `compared_from` < `seal`, on the cluster's clock."""

    begin: datetime
    compared_from: datetime
    seal: datetime
    own_seals: Mapping[str, datetime] = field(default_factory=dict)
    """Seals of tables that have one of their own, before `seal`: a row of theirs can change later."""
    is_of_pruned: bool = False
    """Whether events before it were pruned, so that no more than this window can be worked out."""
    share: float = field(default=1.0, compare=False)
    """The share of the cluster's events that are not before its begin, as far as that was counted."""

    def seal_of(self, table: str) -> str:
        """The seal of a derived table, as SQL."""
        return time_literal(self.own_seals.get(table, self.seal))

    def is_later(self, table: str) -> str:
        """Condition of the rows of a derived table that the night replaces; the others are sealed."""
        seal = self.seal_of(table)
        is_later = f"{BEGINS[table]} >= {seal}"
        return f"{is_later} OR until IS NULL OR until >= {seal}" if table in LASTING else is_later


Windows = Mapping[str, Window]
"""By cluster."""


def any_window(windows: Windows, condition: Callable[[Window], str]) -> str:
    """Condition of the rows that meet the condition of their cluster's window."""
    conditions = [
        f"cluster = {text_literals([cluster])} AND ({condition(window)})" for cluster, window in sorted(windows.items())
    ]
    return " OR ".join(conditions) or "false"


def rows_in(windows: Windows, table: str) -> str:
    """Condition of the rows of a derived table that are replaced, of clusters with a window."""
    return any_window(windows, lambda window: window.is_later(table))


def lasting_into(windows: Windows, end: str) -> str:
    """Condition of rows that last into the window of their cluster, or ended within a day before it began, by the
    column `end`, null if they have not; and of all rows of clusters without a window. What is looked up for each row of
    a window is looked up in these: all of history is longer each night."""
    if not windows:
        return "true"

    def lasts(window: Window) -> str:
        return f"{end} IS NULL OR {end} >= {time_literal(window.begin - timedelta(days=1))}"

    return f"cluster NOT IN ({text_literals(sorted(windows))}) OR {any_window(windows, lasts)}"


def since_horizon(windows: Windows, table: str, made_of_it: str) -> str:
    """Condition of the rows of a derived table that matter to one of FROM_SEALED: what an hour of absence from an ISR
    rests on is up to a week older, what a day is made of lasts into it."""

    def matters(window: Window) -> str:
        own_seal = window.own_seals.get(made_of_it, window.seal)
        if table in ENDS:
            return f"coalesce({ENDS[table]} >= {time_literal(own_seal)}, true)"
        return f"{BEGINS[table]} >= {time_literal(own_seal - HORIZON)}"

    return any_window(windows, matters)


# ---- where a window begins -------------------------------------------------------------------------------------------
def choose_windows(warehouse: Warehouse, since: Mapping[str, datetime]) -> dict[str, Window]:
    """Windows of the clusters that are worth one, and can have one. `since`: of clusters that were only appended to,
    the time of the first new event.

    A cluster with a corrected clock has none: a correction goes by all that compares the clocks.
    """
    if not since or not warehouse.exists("clock_offsets"):
        return {}
    offsets = warehouse.read("clock_offsets").where("size(applied) > 0").select("cluster").distinct()
    corrected = {row["cluster"] for row in offsets.collect()}
    # after a silence, what was logged just before it is understood by what comes after
    seals = {
        cluster: hour_of(min(last, since[cluster]) - MARGIN)
        for cluster, last in _last_events(warehouse, since).items()
        if cluster not in corrected
    }
    windows = windows_before(warehouse, seals)
    shares = _shares_worth_it(warehouse, windows) if windows else {}
    return {cluster: replace(windows[cluster], share=share) for cluster, share in shares.items()}


def windows_of_pruned(warehouse: Warehouse, clusters: Iterable[str]) -> dict[str, Window]:
    """The longest window of each cluster whose older events were pruned: what stands for all of its history."""
    seals = {cluster: warehouse.pruned[cluster] for cluster in clusters if cluster in warehouse.pruned}
    return {name: replace(window, is_of_pruned=True) for name, window in windows_before(warehouse, seals).items()}


def windows_before(warehouse: Warehouse, seals: Mapping[str, datetime]) -> dict[str, Window]:
    """The window of each cluster with a seal, but of those without an event before it."""
    if not seals:
        return {}
    own_seals = _own_seals(warehouse, seals)
    return {
        cluster: window_before(seals[cluster], last, own_seals.get(cluster, {}))
        for cluster, last in _last_events(warehouse, seals).items()
    }


def window_before(seal: datetime, last_event: datetime, own_seals: Mapping[str, datetime]) -> Window:
    """The window with a seal; its hours count back from the last event before, so that they are hours with logs."""
    end = min(seal, last_event)
    firsts = [at - LEAD for table, at in own_seals.items() if table not in FROM_SEALED]
    by_day = {"topic_availability": seal.replace(hour=0)}
    return Window(min([end - WARM_UP, *firsts]), end - COMPARED, seal, {**own_seals, **by_day})


def hour_of(time: datetime) -> datetime:
    """The hour that a time is in: its begin."""
    return time.replace(minute=0, second=0, microsecond=0)


def time_of_cluster(times: Mapping[str, datetime]) -> Column:
    """The time of each row's cluster."""
    column = F.lit(None).cast("timestamp")
    for cluster, time in times.items():
        column = F.when(F.col("cluster") == cluster, F.lit(time)).otherwise(column)
    return column


def _own_seals(warehouse: Warehouse, seals: Mapping[str, datetime]) -> dict[str, dict[str, datetime]]:
    """By cluster and table the seals that are earlier: before what had not ended by the seal began, within the
    horizon."""
    seal = time_of_cluster(seals)
    lasting = reduce(lambda some, others: some.unionByName(others), [*_stories(warehouse), _losses(warehouse, seal)])
    has_not_ended = F.col("until").isNull() | (F.col("until") >= seal)
    absences = _absences(warehouse, seal)
    firsts = (
        lasting.where(F.col("since").between(seal - F.lit(HORIZON), seal) & has_not_ended)
        .select("cluster", "what", "since")
        .unionByName(absences)
        .groupBy("cluster", "what")
        .agg(F.min("since").alias("since"))
    )
    own: dict[str, dict[str, datetime]] = {}
    for row in firsts.collect():
        tables = STORIES if row["what"] == "stories" else (row["what"],)
        own.setdefault(row["cluster"], {}).update(dict.fromkeys(tables, hour_of(row["since"])))
    return own


def _stories(warehouse: Warehouse) -> list[DataFrame]:
    """cluster, `what`, since, until of all STORIES."""
    return [
        warehouse.read(table).select(
            "cluster",
            F.lit("stories").alias("what"),
            F.col(BEGINS[table]).alias("since"),
            F.col(end).alias("until"),
        )
        for table, end in STORIES.items()
    ]


def _losses(warehouse: Warehouse, seal: Column) -> DataFrame:
    """The same of unclean elections whose loss may still become known: when the last leader comes back."""
    unclean = warehouse.read("elections").where("unclean AND lost_records_max IS NULL")
    return unclean.where(F.col("at") >= seal - F.lit(LOSS_HORIZON)).select(
        "cluster",
        F.lit("elections").alias("what"),
        F.col("at").alias("since"),
        F.lit(None).cast("timestamp").alias("until"),
    )


def _absences(warehouse: Warehouse, seal: Column) -> DataFrame:
    """cluster, `what`, since: followers that left an ISR within the horizon, and were not back by the seal."""
    changes = warehouse.read("isr_changes").where(F.col("at").between(seal - F.lit(HORIZON), seal))
    moves = changes.select(*INCARNATION, "at", "kind", F.explode(F.concat("added", "removed")).alias("follower"))
    last = moves.groupBy(*INCARNATION, "follower").agg(F.max(F.struct("at", "kind")).alias("last"))
    return last.where("last.kind = 'shrink'").select(
        "cluster", F.lit("isr_churn").alias("what"), F.col("last.at").alias("since")
    )


def _last_events(warehouse: Warehouse, times: Mapping[str, datetime]) -> dict[str, datetime]:
    """By cluster the time of its last published event before a time; clusters without one are left out."""
    events = warehouse.read("events").where(F.col("at") < time_of_cluster(times))
    last = events.groupBy("cluster").agg(F.max("at").alias("last"))
    return {row["cluster"]: row["last"] for row in last.collect()}


def _shares_worth_it(warehouse: Warehouse, windows: Windows) -> dict[str, float]:
    """Of clusters of which a window leaves out enough events the share that it does not leave out."""
    is_before = F.col("at") < time_of_cluster({cluster: window.begin for cluster, window in windows.items()})
    counts = (
        warehouse.newest("events")
        .where(F.col("cluster").isin(*windows))
        .groupBy("cluster")
        .agg(F.count_if(is_before).alias("before"), F.count("*").alias("events"))
    )
    enough = F.col("before") >= F.greatest(F.lit(WORTH_EVENTS), F.lit(WORTH_SHARE) * F.col("events"))
    return {row["cluster"]: 1 - row["before"] / row["events"] for row in counts.where(enough).collect()}
