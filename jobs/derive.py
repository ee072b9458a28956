"""The steps after the ingest: timelines, detect, replay. Each reads tables that were written before and writes its own.

A step reads tables, never the plan that wrote them: as rows that are still at hand where this run wrote them as a whole
(`Warehouse.holds`), else from the warehouse. That keeps plans small, and steps give the same one by one or in one nightly run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs import clocks, detect
from jobs.brokers import to_broker_timeline
from jobs.controllers import to_controller_timeline
from jobs.partitions import kinds_of, to_contradictions, to_partition_timeline, to_states, with_until
from jobs.replay import release_of, to_verdicts
from jobs.requests import to_marks, to_requests
from jobs.session import kept
from jobs.settings import Settings
from jobs.topics import to_topic_timeline
from jobs.warehouse import WRITERS, Warehouse
from schemas.ledger import STEPS
from schemas.tables import BY_NAME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class Work:
    """The clusters that are out of date, and the rows of theirs that steps share."""

    warehouse: Warehouse
    settings: Settings
    clusters: tuple[str, ...]
    _tables: dict[str, DataFrame] = field(default_factory=dict)

    def table(self, name: str) -> DataFrame:
        """The clusters' rows of a table as written last, kept for whoever asks next."""
        if name not in self._tables:
            rows = self.warehouse.newest(name)
            mine = rows if self.are_all else rows.where(F.col("cluster").isin(*self.clusters))
            self._tables[name] = mine if self.warehouse.holds(name) else mine.persist()
        return self._tables[name]

    @cached_property
    def are_all(self) -> bool:
        """Whether the warehouse has no other clusters."""
        found = self.warehouse.newest("log_files").select("cluster").distinct().collect()
        return {row["cluster"] for row in found} <= set(self.clusters)

    @cached_property
    def requests(self) -> DataFrame:
        """What controllers asked of brokers, each time on the clock of the node that logged it."""
        return kept(to_requests(to_marks(self.table("events"))))

    @cached_property
    def offsets(self) -> DataFrame:
        """How far the nodes' clocks are apart: a row for each node and hour, held by the driver."""
        pairs = clocks.to_pairs(self.requests, self.table("events"))
        return clocks.to_clock_offsets(self.warehouse.spark, clocks.limits_of(pairs))

    @cached_property
    def corrections(self) -> DataFrame | None:
        """What is taken off the times of which nodes; None if no clock is corrected."""
        told = "offsets" in self.__dict__ or not self.warehouse.exists("clock_offsets")
        return clocks.to_corrections(self.offsets if told else self.table("clock_offsets"))

    @cached_property
    def events(self) -> DataFrame:
        """The clusters' events, `at` on the cluster's clock."""
        own = self.table("events")
        if self.corrections is None:
            return own
        return clocks.carried(own, self.corrections, {"at": "node_id"}).persist()

    @cached_property
    def states(self) -> DataFrame:
        """The partitions' states that events tell."""
        coverage = self.table("log_coverage")
        if self.corrections is not None:
            coverage = clocks.carried(coverage, self.corrections, {"since": "node_id", "until": "node_id"})
        topics, controllers = self.table("topic_timeline"), self.table("controller_timeline")
        return kept(to_states(self.events, topics, controllers, coverage, kinds_of(self.table("events"))))

    def write(self, frames: Mapping[str, DataFrame]) -> None:
        """Write derived tables, several at once: of each, the rows of the clusters are replaced."""
        names = ", ".join("'" + name.replace("'", "''") + "'" for name in self.clusters)
        mine = None if self.are_all else f"cluster IN ({names})"
        with ThreadPoolExecutor(WRITERS) as pool:
            writes = [
                pool.submit(self.warehouse.write, BY_NAME[name], rows, replace=mine, hold=True)
                for name, rows in frames.items()
            ]
            for write in writes:
                write.result()


def write_timelines(work: Work) -> None:
    """What was when, on one clock: requests, topics, controllers, partitions, brokers."""
    offsets, requests = work.offsets, work.requests
    if work.corrections is not None:
        requests = clocks.requests_on_one_clock(requests, work.corrections)
    events = work.events
    first = {
        "clock_offsets": offsets,
        "control_requests": requests,
        "topic_timeline": to_topic_timeline(events),
        "controller_timeline": to_controller_timeline(events),
    }
    work.write(first)
    partitions = to_partition_timeline(work.states, work.table("topic_timeline"), work.settings)
    contradictions = to_contradictions(work.states)
    brokers = to_broker_timeline(events, work.table("controller_timeline"))
    work.write({"partition_timeline": partitions, "contradictions": contradictions, "broker_timeline": brokers})


def write_findings(work: Work) -> None:
    """What happened: elections, ISR changes, reassignments, then outages and churn."""
    events, topics, partitions = work.events, work.table("topic_timeline"), work.table("partition_timeline")
    first = {
        "elections": detect.to_elections(partitions, events, topics),
        "isr_changes": detect.to_isr_changes(partitions, events, topics),
        "reassignments": detect.to_reassignments(events, partitions, topics, work.table("controller_timeline")),
    }
    work.write(first)
    ends = events.groupBy("cluster").agg(F.max("at").alias("end_of_logs"))
    led = with_until(work.states.where("leader IS NOT NULL"), topics)
    elections, brokers, changes = work.table("elections"), work.table("broker_timeline"), work.table("isr_changes")
    second = {
        "offline_partitions": detect.to_offline_partitions(led, elections, brokers, ends),
        "isr_churn": detect.to_isr_churn(changes, elections, ends, work.settings),
    }
    work.write(second)


def write_verdicts(work: Work) -> None:
    """Whether it was decided right."""
    events = work.events
    verdicts = to_verdicts(
        work.table("elections"),
        work.table("partition_timeline"),
        work.table("controller_timeline"),
        work.table("broker_timeline"),
        events,
        releases(work.table("log_files"), events),
        work.settings,
    )
    work.write({"verdicts": verdicts})


DERIVE: Mapping[str, Callable[[Work], None]] = {
    "timelines": write_timelines,
    "detect": write_findings,
    "replay": write_verdicts,
}
"""What each step after the ingest does."""


def releases(log_files: DataFrame, events: DataFrame) -> dict[str, tuple[str, bool]]:
    """By cluster the Kafka release whose algorithms it ran, and whether it ran KRaft, from its streams' messages."""
    kraft = events.where("logger LIKE 'org.apache.kafka.controller%' OR logger = 'kafka-dump-log'")
    by_kraft = {row["cluster"] for row in kraft.select("cluster").distinct().collect()}
    ranges: dict[str, list[str | None]] = {}
    for row in log_files.select("cluster", "kafka_versions").collect():
        ranges.setdefault(row["cluster"], []).append(row["kafka_versions"])
    found = {name: release_of(of) for name, of in ranges.items()}
    return {name: (str(release), name in by_kraft) for name, release in found.items() if release is not None}


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
