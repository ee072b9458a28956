"""What derived tables are made of, whichever topics are rebuilt: events on the cluster's clock, facts about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed, checkpointed_if_few, held
from jobs.nightly.incremental import Scope
from jobs.nightly.window_events import events_in
from jobs.nightly.windows import Windows
from jobs.session import compiling
from jobs.timelines import clocks
from jobs.timelines.cluster_facts import (
    ClusterFacts,
    EvidenceKinds,
    evidence_kinds,
    kinds_of_any,
    untraced_clusters,
)
from jobs.timelines.cluster_lives import LifeStarts, collect_life_starts
from jobs.timelines.controllers import to_controller_timeline
from jobs.timelines.lossy_hours import ANNOUNCED, LossyHours, collect_lossy_hours
from jobs.timelines.lost_minutes import TELLING, collect_lost_minutes
from jobs.timelines.requests import to_request_lines, to_requests
from jobs.timelines.reverted_records import LEARNING, collect_reverted_spans, without_reverted
from jobs.timelines.row_streams import no_rows
from jobs.timelines.written_order import ODD_FORMATS, with_written_order
from jobs.warehouse.tables import Warehouse
from schemas.requests import CONTROL_REQUESTS
from udfs.logs.lost_minutes import LostMinutes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class DerivationInputs:
    """The inputs of some clusters, each worked out when it is first asked for, and then the same for all steps."""

    warehouse: Warehouse
    clusters: tuple[str, ...]
    measures_clocks: bool
    """Whether this run measures the clocks; otherwise they are corrected as by `clock_offsets`."""
    windows: Windows = field(default_factory=dict)
    """Of clusters of which only a window of history is worked out: their events are those that it needs."""

    @cached_property
    def are_all_clusters(self) -> bool:
        """Whether the warehouse has no other clusters."""
        rows = self.warehouse.newest("log_files").select("cluster").distinct().collect()
        return {row["cluster"] for row in rows} <= set(self.clusters)

    def all_rows(self, name: str) -> DataFrame:
        """The clusters' rows of a table as it was written last."""
        rows = self.warehouse.newest(name)
        return rows if self.are_all_clusters else rows.where(Scope(self.clusters).rows_of(name))

    def _held_rows(self, name: str) -> DataFrame:
        """The same, persisted unless this run has them at hand."""
        rows = self.all_rows(name)
        return rows if self.warehouse.is_cached(name) else held(rows)

    @cached_property
    def logged_events(self) -> DataFrame:
        """EVENTS, `at` on the clock of the node that logged them."""
        events = self.all_rows("events")
        if self.windows:
            # compiled, so that only those that are needed become rows: of a year's events they are few
            with compiling(self.warehouse.spark):
                needed = events_in(self.windows, events, self.warehouse)
                return held(with_written_order(needed, self.odd_formats))
        return checkpointed_if_few(with_written_order(events, self.odd_formats))

    @cached_property
    def odd_formats(self) -> dict[str, str]:
        """The formats of files in which line numbers do not tell the order of records, by file id."""
        streams = self.all_rows("log_files").where(F.col("format").rlike(ODD_FORMATS))
        return {row["file_id"]: row["format"] for row in streams.select("file_id", "format").collect()}

    @cached_property
    def kinds_by_cluster(self) -> dict[str, EvidenceKinds]:
        """Which kinds of evidence the events of each cluster hold."""
        return evidence_kinds(self.logged_events)

    @cached_property
    def kinds(self) -> EvidenceKinds:
        """The same, of any cluster."""
        return kinds_of_any(self.kinds_by_cluster.values())

    @cached_property
    def requests(self) -> DataFrame:
        """What controllers asked of brokers, each time on the clock of the node that logged it."""
        if not self.kinds.requests:
            return no_rows(self.warehouse.spark, CONTROL_REQUESTS.schema)
        return checkpointed(to_requests(to_request_lines(self.logged_events)))

    @cached_property
    def clock_offsets(self) -> DataFrame:
        """How far the nodes' clocks are apart: a row for each node and hour, held by the driver."""
        if not self.measures_clocks:
            return self._held_rows("clock_offsets")
        pairs = clocks.to_clock_pairs(self.requests, self.logged_events)
        return clocks.to_clock_offsets(self.warehouse.spark, clocks.collect_skew_bounds(pairs))

    @cached_property
    def corrections(self) -> DataFrame | None:
        """What is taken off the times of which nodes; None if no clock is corrected."""
        return clocks.to_clock_corrections(self.clock_offsets)

    @cached_property
    def _all_events(self) -> DataFrame:
        """EVENTS, `at` on the cluster's clock."""
        if self.corrections is None:
            return self.logged_events
        return checkpointed_if_few(clocks.on_cluster_clock(self.logged_events, self.corrections, {"at": "node_id"}))

    @cached_property
    def life_starts(self) -> LifeStarts:
        """When clusters were created anew."""
        return collect_life_starts(self._all_events)

    @cached_property
    def controllers(self) -> DataFrame:
        """CONTROLLER_TIMELINE of the clusters."""
        return checkpointed(to_controller_timeline(self._all_events, self.life_starts))

    @cached_property
    def events(self) -> DataFrame:
        """EVENTS, `at` on the cluster's clock, without what controllers log of records that were not committed."""
        if not self.kinds.have(LEARNING):
            return self._all_events
        return without_reverted(self._all_events, collect_reverted_spans(self._all_events, self.controllers))

    @cached_property
    def facts(self) -> ClusterFacts:
        """What is known of each cluster as a whole."""
        coverage = self._held_rows("log_coverage")
        if self.corrections is not None:
            coverage = clocks.on_cluster_clock(coverage, self.corrections, {"since": "node_id", "until": "node_id"})
        return ClusterFacts(
            self.events,
            coverage,
            self.kinds,
            self.kinds_by_cluster,
            self.life_starts,
            self.lost_minutes,
            self.lossy_hours,
        )

    @cached_property
    def lossy_hours(self) -> LossyHours:
        """When single lines of clusters are lost."""
        untraced = untraced_clusters(self.kinds_by_cluster)
        return collect_lossy_hours(self.events, untraced, has_kraft=self.kinds.have(ANNOUNCED))

    @cached_property
    def lost_minutes(self) -> dict[str, LostMinutes]:
        """What tells that all nodes' logs are missing for some time, of KRaft's clusters without a metadata dump and of
        ZooKeeper's; of a window, too, by lines of all times."""
        kinds = self.kinds_by_cluster
        traced = [name for name, own in kinds.items() if own.is_traced and not own.kraft]
        of_kraft = [name for name, own in kinds.items() if own.kraft and not own.dumps and own.have(TELLING)]
        untraced = untraced_clusters(kinds)
        names = of_kraft + traced + untraced
        if not names:
            return {}
        events = self._all_events
        if self.windows:
            events = with_written_order(self.all_rows("events"), self.odd_formats)
            if self.corrections is not None:
                events = clocks.on_cluster_clock(events, self.corrections, {"at": "node_id"})
        of_names = events.where(F.col("cluster").isin(*names))
        return collect_lost_minutes(of_names, self.controllers, traced, untraced, has_kraft=bool(of_kraft))
