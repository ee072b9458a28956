"""The steps after the ingest: timelines, detect, replay. Each reads tables that were written before and writes its own.

A step reads tables, never the plan that wrote them: as rows that are still at hand where this run wrote them as a whole
(`Warehouse.holds`), else from the warehouse. That keeps plans small, and steps give the same one by one or in one nightly run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.elections import to_elections
from jobs.findings.isr import to_isr_changes, to_isr_churn
from jobs.findings.outages import to_offline_partitions
from jobs.findings.reassignments import to_reassignments
from jobs.findings.replay import showing_elr, to_verdicts
from jobs.nightly.incremental import BY_TOPIC, Growth, Scope
from jobs.session import checkpointed, checkpointed_if_few
from jobs.settings import Settings
from jobs.timelines import clocks
from jobs.timelines.brokers import to_broker_timeline
from jobs.timelines.cluster_facts import ClusterFacts, evidence_kinds
from jobs.timelines.controllers import to_controller_timeline
from jobs.timelines.kafka_releases import releases
from jobs.timelines.partitions import to_contradictions, to_partition_timeline, to_states, with_until
from jobs.timelines.requests import to_request_lines, to_requests
from jobs.timelines.topics import to_topic_timeline
from jobs.warehouse.tables import WRITERS, Warehouse
from schemas.ingest import EVENTS
from schemas.ledger import STEPS
from schemas.tables import BY_NAME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class Work:
    """The clusters that are out of date, and the rows of theirs that steps share.

    `since`: of clusters whose events only grew since they were up to date, the time of the first new one.
    """

    warehouse: Warehouse
    settings: Settings
    clusters: tuple[str, ...]
    since: Mapping[str, datetime]
    say: Callable[[str], None]
    scope: Scope = field(init=False)
    """What is rebuilt; `write_timelines` finds out of which clusters not all topics need to be."""
    _tables: dict[str, DataFrame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scope = Scope(self.clusters)

    def table(self, name: str) -> DataFrame:
        """The rows in scope of a table as written last, kept for whoever asks next, unless they are many events."""
        if name not in self._tables:
            rows = self._rows(name, self.scope)
            if not self.warehouse.is_cached(name):
                rows = checkpointed_if_few(rows) if name == EVENTS.name else rows.persist()
            self._tables[name] = rows
        return self._tables[name]

    def whole(self, name: str) -> DataFrame:
        """All rows of the clusters of a table as written last."""
        return self._rows(name, Scope(self.clusters)) if self.scope.topics else self.table(name)

    def _rows(self, name: str, scope: Scope) -> DataFrame:
        rows = self.warehouse.newest(name)
        return rows if self._is_all(name, scope) else rows.where(scope.rows_of(name))

    def _is_all(self, name: str, scope: Scope) -> bool:
        """Whether a scope has all rows of a table."""
        return self.are_all and not (scope.topics and name in BY_TOPIC)

    @cached_property
    def are_all(self) -> bool:
        """Whether the warehouse has no other clusters."""
        found = self.warehouse.newest("log_files").select("cluster").distinct().collect()
        return {row["cluster"] for row in found} <= set(self.clusters)

    @cached_property
    def requests(self) -> DataFrame:
        """What controllers asked of brokers, each time on the clock of the node that logged it."""
        return checkpointed(to_requests(to_request_lines(self.table("events"))))

    @cached_property
    def offsets(self) -> DataFrame:
        """How far the nodes' clocks are apart: a row for each node and hour, held by the driver."""
        pairs = clocks.to_clock_pairs(self.requests, self.table("events"))
        return clocks.to_clock_offsets(self.warehouse.spark, clocks.collect_skew_bounds(pairs))

    @cached_property
    def corrections(self) -> DataFrame | None:
        """What is taken off the times of which nodes; None if no clock is corrected."""
        told = "offsets" in self.__dict__ or not self.warehouse.exists("clock_offsets")
        return clocks.to_clock_corrections(self.offsets if told else self.table("clock_offsets"))

    @cached_property
    def all_events(self) -> DataFrame:
        """The clusters' events, `at` on the cluster's clock."""
        own = self.table("events")
        if self.corrections is None:
            return own
        return checkpointed_if_few(clocks.on_cluster_clock(own, self.corrections, {"at": "node_id"}))

    @cached_property
    def events(self) -> DataFrame:
        """Those of them that the rows in scope are made of."""
        return self.all_events.where(self.scope.events).persist() if self.scope.topics else self.all_events

    @cached_property
    def facts(self) -> ClusterFacts:
        """What is said of the clusters as a whole."""
        coverage = self.table("log_coverage")
        if self.corrections is not None:
            coverage = clocks.on_cluster_clock(coverage, self.corrections, {"since": "node_id", "until": "node_id"})
        return ClusterFacts(self.all_events, coverage, evidence_kinds(self.table("events")))

    @cached_property
    def states(self) -> DataFrame:
        """The partitions' states that events tell."""
        return checkpointed(
            to_states(self.events, self.table("topic_timeline"), self.table("controller_timeline"), self.facts)
        )

    def narrow(self, offsets: DataFrame, controllers: DataFrame, brokers: DataFrame) -> None:
        """Find out what has to be rebuilt, before anything in scope was asked for. Given are the new rows of three tables."""
        if not self.since:
            return
        growth = Growth(self.warehouse, dict(self.since), self.all_events, self.facts)
        self.scope = growth.scope(self.clusters, offsets, controllers, brokers)
        for name, topics in self.scope.topics.items():
            count = f"{len(topics):,} topic{'s' * (len(topics) != 1)}"
            self.say(f"{name}: news of {count} since {growth.since[name]:%F %T}, others stay as they are")
        for name, why in sorted(growth.reasons.items()):
            self.say(f"{name} is rebuilt as a whole, with news since {growth.since[name]:%F %T}: {why}")

    def widen(self, clusters: Iterable[str]) -> None:
        """From now on, all topics of these clusters are in scope."""
        whole = {*self.scope.whole, *clusters}
        self.scope = Scope(tuple(sorted(whole)), {n: t for n, t in self.scope.topics.items() if n not in whole})
        self._tables = {name: rows for name, rows in self._tables.items() if name not in BY_TOPIC}
        self.__dict__.pop("events", None)

    def write(self, frames: Mapping[str, DataFrame]) -> None:
        """Write derived tables, several at once: of each, the rows in scope are replaced."""
        with ThreadPoolExecutor(WRITERS) as pool:
            writes = {
                name: pool.submit(
                    self.warehouse.write,
                    BY_NAME[name],
                    rows,
                    replace=None if self._is_all(name, self.scope) else self.scope.rows_of(name),
                    cache=True,
                )
                for name, rows in frames.items()
            }
            for name, write in writes.items():
                if (held := write.result()) is not None:
                    self._tables[name] = held


def write_timelines(work: Work) -> None:
    """What was when, on one clock: requests, topics, controllers, partitions, brokers."""
    offsets, requests = work.offsets, work.requests
    if work.corrections is not None:
        requests = clocks.requests_on_cluster_clock(requests, work.corrections)
    controllers = checkpointed(to_controller_timeline(work.all_events))
    brokers = checkpointed(to_broker_timeline(work.all_events, controllers))
    work.narrow(offsets, controllers, brokers)
    topics = to_topic_timeline(work.events)
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


def write_findings(work: Work) -> None:
    """What happened: elections, ISR changes, reassignments, then outages and churn."""
    events, topics, partitions = work.events, work.table("topic_timeline"), work.table("partition_timeline")
    first = {
        "elections": to_elections(partitions, events, topics),
        "isr_changes": to_isr_changes(partitions, events, topics),
        "reassignments": to_reassignments(events, partitions, topics, work.table("controller_timeline")),
    }
    work.write(first)
    ends = work.all_events.groupBy("cluster").agg(F.max("at").alias("end_of_logs"))
    led = with_until(work.states.where("leader IS NOT NULL"), topics)
    changes, elections = (
        work.whole("isr_changes"),
        work.whole("elections"),
    )  # who is out of sync is so until the logs end
    second = {
        "offline_partitions": to_offline_partitions(led, work.table("elections"), work.table("broker_timeline"), ends),
        "isr_churn": to_isr_churn(changes, elections, ends, work.settings),
    }
    work.write(second)


def write_verdicts(work: Work) -> None:
    """Whether it was decided right."""
    shows_elr = showing_elr(work.whole("partition_timeline"))
    if (
        work.scope.topics
    ):  # whose other topics were judged by whether any state had shown eligible leader replicas by then
        sides = (showing_elr(work.warehouse.read("partition_timeline")), shows_elr)
        before, after = ({row["cluster"] for row in side.collect()} for side in sides)
        if changed := (before ^ after) & {*work.scope.topics}:
            work.widen(changed)
    verdicts = to_verdicts(
        work.table("elections"),
        work.table("partition_timeline"),
        work.table("controller_timeline"),
        work.table("broker_timeline"),
        work.events,
        shows_elr,
        releases(work.table("log_files"), work.all_events),
        work.settings,
    )
    work.write({"verdicts": verdicts})


DERIVE: Mapping[str, Callable[[Work], None]] = {
    "timelines": write_timelines,
    "detect": write_findings,
    "replay": write_verdicts,
}
"""What each step after the ingest does."""


def pending_after(pending: Mapping[str, Iterable[str]], step: str, clusters: Iterable[str]) -> dict[str, list[str]]:
    """By step the clusters that are out of date, once a step has done its work and brought news of some clusters.

    >>> pending_after({"detect": ["eu"]}, "timelines", ["us"])
    {'detect': ['eu', 'us'], 'replay': ['us']}
    """
    news = set(clusters)
    found: dict[str, list[str]] = {}
    for number, name in enumerate(STEPS):
        before = set(pending.get(name, ()))
        now = before - news if name == step else before | news if number > STEPS.index(step) else before
        if now:
            found[name] = sorted(now)
    return found
