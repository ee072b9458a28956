"""The steps after the ingest: timelines, detect, replay. Each reads tables that were written before and writes its own.

A step reads tables, never the plan that wrote them: as rows that are still cached where this run wrote them as a whole
(`Warehouse.is_cached`), else from the warehouse. That keeps plans small, and steps give the same one by one or in one
nightly run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.controller_activity import to_controller_activity
from jobs.findings.elections import to_elections
from jobs.findings.gauges import (
    to_cluster_minutely,
    to_preferred_replica_imbalance,
    to_topic_availability,
    with_assignments,
)
from jobs.findings.incidents import to_incidents
from jobs.findings.isr import to_isr_changes, to_isr_churn
from jobs.findings.log_dirs import to_log_dir_failures
from jobs.findings.metadata_caches import to_cache_verdicts
from jobs.findings.node_stops import to_node_stops
from jobs.findings.outage_causes import with_causes, with_latency
from jobs.findings.outages import to_outages
from jobs.findings.reassignments import to_reassignments
from jobs.findings.replay import showing_elr, to_verdicts
from jobs.nightly.incremental import BY_TOPIC, AppendedClusters, Scope, since_coverage_changed
from jobs.nightly.inputs import DerivationInputs
from jobs.nightly.plan import Plan
from jobs.nightly.window_check import WindowTooShort, compare, going_on
from jobs.nightly.windows import BEGINS, Windows, choose_windows, since_horizon, windows_of_pruned
from jobs.progress import SILENT, Progress
from jobs.session import checkpointed, with_settings
from jobs.settings import Settings
from jobs.timelines import clocks
from jobs.timelines.brokers import to_broker_timeline
from jobs.timelines.controllers import to_controller_timeline
from jobs.timelines.kafka_releases import releases, to_term_releases
from jobs.timelines.known_spans import CLUSTER_LOGS, CONTROLLER_LOGS, to_known_spans
from jobs.timelines.partitions import to_contradictions, to_partition_timeline, to_states, with_until
from jobs.timelines.topics import to_topic_timeline
from jobs.timelines.written_order import with_lines
from jobs.warehouse.tables import WRITERS, Warehouse
from schemas.tables import BY_NAME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Work:
    """What a step works on: the inputs, and which rows are rebuilt. A step that changes the scope returns another."""

    warehouse: Warehouse
    settings: Settings
    inputs: DerivationInputs
    scope: Scope
    _tables: dict[str, DataFrame] = field(default_factory=dict)  # by name, as `table` returned them

    def table(self, name: str) -> DataFrame:
        """The rows in scope of a table as it was written last; persisted for the next step that asks."""
        if name not in self._tables:
            rows = self._rows(name)
            self._tables[name] = rows if self.warehouse.is_cached(name) else rows.persist()
        return self._tables[name]

    def whole(self, name: str) -> DataFrame:
        """All rows of the clusters of a table as it was written last."""
        return self.inputs.all_rows(name) if self.scope.topics else self.table(name)

    def with_sealed(self, name: str, made_of_it: str) -> DataFrame:
        """All rows of the clusters of a table, as far as they matter to another one that has an earlier seal of its
        own: of a window sealed ones, and those after."""
        windows = self.scope.windows
        if not windows:
            return self.whole(name)
        sealed = self.warehouse.read(name).where(since_horizon(windows, name, made_of_it))
        rows_in_scope = self.scope.rows_of(name)
        return sealed.where(f"NOT ({rows_in_scope})").unionByName(self.table(name).where(rows_in_scope))

    def _rows(self, name: str) -> DataFrame:
        rows = self.warehouse.newest(name)
        return rows if self._is_all(name) else rows.where(self.scope.rows_of(name))

    def _is_all(self, name: str) -> bool:
        """Whether all rows of a table are in scope."""
        is_partial = (self.scope.topics and name in BY_TOPIC) or (self.scope.windows and name in BEGINS)
        return self.inputs.are_all_clusters and not is_partial

    @cached_property
    def events(self) -> DataFrame:
        """The events that the rows in scope are made of."""
        return self.inputs.events.where(self.scope.events).persist() if self.scope.topics else self.inputs.events

    @cached_property
    def states(self) -> DataFrame:
        """The partitions' states that are in events; not before topics and controller terms are written."""
        topics, terms = self.table("topic_timeline"), self.table("controller_timeline")
        return checkpointed(to_states(self.events, topics, terms, self.inputs.facts))

    def within(self, scope: Scope) -> Work:
        """The same with another scope."""
        tables = {name: rows for name, rows in self._tables.items() if name not in BY_TOPIC}
        return replace(self, scope=scope, _tables=tables)

    def write(self, frames: Mapping[str, DataFrame]) -> None:
        """Write derived tables, several at once: of each, the rows in scope are replaced.

        What later steps see of a window are all rows that its events give, also of the time before the seal.
        """
        if self.inputs.odd_formats:
            frames = {name: with_lines(rows) for name, rows in frames.items()}
        if self.scope.windows:
            for name, rows in frames.items():
                self._tables[name] = going_on(name, rows, self.warehouse, self.scope.windows)
            frames = {name: self._tables[name].where(self.scope.rows_of(name)) for name in frames}
        with ThreadPoolExecutor(WRITERS) as pool:
            writes = {
                name: pool.submit(
                    self.warehouse.write,
                    BY_NAME[name],
                    rows,
                    replace=None if self._is_all(name) else self.scope.rows_of(name),
                    cache=not self.scope.windows,
                    is_computed=bool(self.scope.windows),
                )
                for name, rows in frames.items()
            }
            for name, write in writes.items():
                if (cached := write.result()) is not None and not self.scope.windows:
                    self._tables[name] = cached

    def compare(self) -> list[str]:
        """What was worked out of windows, compared with what is published: see `window_check.compare`."""
        rows = {name: rows for name, rows in self._tables.items() if name in BEGINS}
        return compare(self.warehouse, rows, self.scope.windows)


TABLES: Mapping[str, tuple[str, ...]] = {
    "timelines": (
        "clock_offsets", "control_requests", "controller_timeline", "broker_timeline", "topic_timeline",
        "partition_timeline", "contradictions",
    ),
    "detect": (
        "elections", "isr_changes", "reassignments", "log_dir_failures", "offline_partitions", "isr_churn", "incidents",
        "topic_availability", "preferred_replica_imbalance", "cluster_minutely", "controller_activity",
    ),
    "replay": ("verdicts",),
}  # fmt: skip
"""By step the tables that it writes."""


WRAPPING = {"spark.sql.ansi.enabled": "false", "spark.sql.legacy.sizeOfNull": "false"}
"""A damaged line may print the largest number that there is as an epoch: what counts on from it wraps round, and is
next to no other, where Spark would else end the night. The size of a list that is not there stays unknown; it is -1
else without ANSI."""


def derive(
    warehouse: Warehouse,
    plan: Plan,
    settings: Settings,
    stage: Callable[[str], AbstractContextManager[None]],
    say: Callable[[str], None],
    progress: Progress = SILENT,
) -> None:
    """Do the steps of a plan, each within its stage; once more where a window turns out to be too short."""
    if not plan.clusters:
        return
    longest = windows_of_pruned(warehouse, plan.clusters)
    chosen = choose_windows(warehouse, since_coverage_changed(warehouse, plan.appended_since))
    windows = {
        **chosen,
        **{name: w for name, w in longest.items() if name not in chosen or chosen[name].begin < w.begin},
    }
    for cluster, window in sorted(windows.items()):
        why = "events before were pruned" if window.is_of_pruned else "with new events since then"
        say(f"{cluster}: rows that ended before {window.seal:%F %H:%M} stay, {why}")
    while True:
        try:
            _derive(warehouse, plan, settings, windows, stage, say, progress)
            return
        except WindowTooShort as too_short:
            for cluster, reason in sorted(too_short.reasons.items()):
                say(f"{cluster} is rebuilt {'since it was pruned' if cluster in longest else 'as a whole'}: {reason}")
            others = {name: window for name, window in windows.items() if name not in too_short.reasons}
            windows = others | {name: longest[name] for name in too_short.reasons if name in longest}
            # rows of all of its topics are those of the window by now
            left = {name: at for name, at in plan.appended_since.items() if name not in too_short.reasons}
            plan = replace(plan, appended_since=left)
            warehouse.spark.catalog.clearCache()


def _derive(
    warehouse: Warehouse,
    plan: Plan,
    settings: Settings,
    windows: Windows,
    stage: Callable[[str], AbstractContextManager[None]],
    say: Callable[[str], None],
    progress: Progress,
) -> None:
    """Do the steps of a plan. Raises WindowTooShort if a window gave other rows than are published."""
    measures_clocks = "timelines" in plan.steps or not warehouse.exists("clock_offsets")
    inputs = DerivationInputs(warehouse, plan.clusters, measures_clocks, windows)
    whole = tuple(name for name in plan.clusters if name not in windows)
    work = Work(warehouse, settings, inputs, Scope(whole, windows=windows))
    for name in plan.steps:
        tables = TABLES[name]

        def written(tables: Collection[str] = tables) -> int:
            return sum(table in warehouse.written or warehouse.is_cached(table) for table in tables)

        wraps = with_settings(warehouse.spark, WRAPPING)
        with wraps, stage(name), progress.step(name, len(tables), "tables", written):
            if name == "timelines":
                work = write_timelines(work, plan.appended_since, say)
            elif name == "detect":
                write_findings(work)
            else:
                write_verdicts(work)
    if windows:
        with stage("compare"):
            for sentence in work.compare():
                say(sentence)
    warehouse.spark.catalog.clearCache()


# ---- timelines ------------------------------------------------------------------------------------------------------
def write_timelines(work: Work, appended_since: Mapping[str, datetime], say: Callable[[str], None]) -> Work:
    """Who and what was there when, on one clock: requests, topics, controllers, brokers, partitions.

    Returns the work of the steps that follow: of clusters with `appended_since` often only some topics are rebuilt.
    """
    inputs = work.inputs
    offsets, requests = inputs.clock_offsets, inputs.requests
    if inputs.corrections is not None:
        requests = clocks.requests_on_cluster_clock(requests, inputs.corrections)
    controllers = checkpointed(to_controller_timeline(inputs.events, inputs.life_starts))
    brokers = checkpointed(to_broker_timeline(inputs.events, controllers))
    windows = work.scope.windows
    chosen = [name for name, window in windows.items() if not window.is_of_pruned]
    since = {name: at for name, at in appended_since.items() if name in chosen or not windows}
    if since:
        appended = AppendedClusters(work.warehouse, since, inputs.events, inputs.facts, inputs.life_starts)
        if not windows:
            work = work.within(appended.scope(inputs.clusters, offsets, controllers, brokers))
            _say_scope(work.scope, appended, say)
        else:
            appended.compare_evidence(offsets, controllers, brokers)
            if appended.reasons:
                raise WindowTooShort(appended.reasons)
    topics = to_topic_timeline(work.events, inputs.life_starts)
    first = {
        "clock_offsets": offsets,
        "control_requests": requests,
        "controller_timeline": controllers,
        "broker_timeline": brokers,
        "topic_timeline": topics.where(work.scope.rows_of("topic_timeline")) if work.scope.topics else topics,
    }
    work.write(first)
    partitions = to_partition_timeline(work.states, work.table("topic_timeline"), work.settings)
    work.write({"partition_timeline": partitions, "contradictions": to_contradictions(work.states)})
    return work


def _say_scope(scope: Scope, appended: AppendedClusters, say: Callable[[str], None]) -> None:
    """Say of each cluster that was appended to what of it is rebuilt."""
    for name, topics in scope.topics.items():
        count = f"{len(topics):,} topics have" if len(topics) != 1 else "1 topic has"
        say(f"{name}: {count} new events since {appended.since[name]:%F %T}; the others are unchanged")
    for name, reason in sorted(appended.reasons.items()):
        say(f"{name} is rebuilt as a whole, with new events since {appended.since[name]:%F %T}: {reason}")


# ---- detect ---------------------------------------------------------------------------------------------------------
def write_findings(work: Work) -> None:
    """What happened: elections, ISR changes, reassignments, then outages and churn, then what all of it comes to."""
    events, topics, partitions = work.events, work.table("topic_timeline"), work.table("partition_timeline")
    # a node's way is that of its cluster, whichever topics are rebuilt
    stops = to_node_stops(work.inputs.events, work.table("broker_timeline"))
    failures = to_log_dir_failures(work.inputs.events, stops)
    elections = to_elections(partitions, events, topics, _known_spans(work, CONTROLLER_LOGS, "node_id"))
    work.write(
        {
            "elections": with_latency(elections, stops, failures),
            "isr_changes": to_isr_changes(partitions, events, topics),
            "reassignments": to_reassignments(events, partitions, topics, work.table("controller_timeline")),
            "log_dir_failures": failures,
            "controller_activity": to_controller_activity(work.inputs.events),
        }
    )
    ends = work.inputs.events.groupBy("cluster").agg(F.max("at").alias("end_of_logs"))
    # of all topics: who is out of sync is so until the logs end
    changes, elections = work.whole("isr_changes"), work.whole("elections")
    work.write(
        {
            "offline_partitions": _outages_with_causes(work, stops),
            "isr_churn": to_isr_churn(
                work.with_sealed("isr_changes", "isr_churn"),
                work.with_sealed("elections", "isr_churn"),
                ends,
                work.settings,
            ),
        }
    )
    incidents = to_incidents(
        stops,
        work.table("log_dir_failures"),
        work.table("offline_partitions"),
        elections,
        work.whole("reassignments"),
        changes,
        work.table("controller_timeline"),
    )
    outages = work.table("offline_partitions")
    assigned = with_assignments(work.whole("partition_timeline")).persist()
    work.write(
        {
            "incidents": incidents,
            "topic_availability": to_topic_availability(
                work.with_sealed("offline_partitions", "topic_availability"),
                work.with_sealed("partition_timeline", "topic_availability"),
                work.whole("topic_timeline"),
                ends,
                work.settings,
            ),
            "preferred_replica_imbalance": to_preferred_replica_imbalance(assigned),
            "cluster_minutely": to_cluster_minutely(
                outages, assigned, work.table("controller_timeline"), elections, changes, work.inputs.facts.coverage
            ),
        }
    )


def _outages_with_causes(work: Work, stops: DataFrame) -> DataFrame:
    """Outages of all topics, of those in scope rebuilt: a cause may be known only later."""
    led = with_until(work.states.where("leader IS NOT NULL"), work.table("topic_timeline"))
    spans, lives = _known_spans(work, CLUSTER_LOGS), work.inputs.life_starts
    brokers = work.table("broker_timeline")
    outages = to_outages(led, work.table("elections"), brokers, spans, work.events, lives)
    if work.scope.topics:
        others = work.inputs.all_rows("offline_partitions").where(f"NOT ({work.scope.rows_of('topic_timeline')})")
        outages = outages.unionByName(others)
    return with_causes(outages, stops, work.table("log_dir_failures"), work.whole("topic_timeline"))


def _known_spans(work: Work, kinds: tuple[str, ...], *by: str) -> DataFrame:
    """See `to_known_spans`; of whole clusters."""
    return to_known_spans(work.inputs.facts.coverage, kinds, work.settings.coverage_tolerance, "cluster", *by)


# ---- replay ---------------------------------------------------------------------------------------------------------
def write_verdicts(work: Work) -> None:
    """Whether each decision matches Kafka's algorithm."""
    shows_elr = showing_elr(work.whole("partition_timeline"))
    work = _with_changed_elr(work, shows_elr)
    by_cluster = releases(work.table("log_files"), work.inputs.events, work.settings.kafka_versions)
    verdicts = to_verdicts(
        work.table("elections"),
        work.table("partition_timeline"),
        work.table("controller_timeline"),
        work.table("broker_timeline"),
        work.table("reassignments"),
        work.table("offline_partitions"),
        work.table("topic_timeline"),
        _known_spans(work, CONTROLLER_LOGS),
        work.events,
        shows_elr,
        work.inputs.facts.kraft_clusters,
        by_cluster,
        to_term_releases(work.table("controller_timeline"), work.inputs.events, work.settings.kafka_versions),
        work.settings,
    )
    # whatever topics are in scope, brokers are judged by all
    caches = to_cache_verdicts(
        work.inputs.events, work.whole("topic_timeline"), work.table("broker_timeline"), by_cluster
    )
    work.write({"verdicts": verdicts.unionByName(caches)})


def _with_changed_elr(work: Work, shows_elr: DataFrame) -> Work:
    """All topics of a cluster are judged again if its states show eligible leader replicas now and did not before."""
    if not work.scope.topics:
        return work
    sides = (showing_elr(work.warehouse.read("partition_timeline")), shows_elr)
    before, after = ({row["cluster"] for row in side.collect()} for side in sides)
    changed = (before ^ after) & {*work.scope.topics}
    return work.within(work.scope.widened(changed)) if changed else work
