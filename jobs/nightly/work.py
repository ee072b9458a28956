"""What the steps of a run work on: inputs, which rows are rebuilt, and tables as they were written last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from jobs.checkpoints import checkpointed, held
from jobs.findings.clean_by_settings import clusters_without_requests
from jobs.findings.config_changes import SETTING_EVENTS, to_config_changes
from jobs.nightly.incremental import BY_TOPIC, Scope
from jobs.nightly.inputs import DerivationInputs
from jobs.nightly.window_check import compare, going_on
from jobs.nightly.windows import BEGINS, since_horizon
from jobs.session import compiling
from jobs.settings import Settings
from jobs.timelines.epoch_bounds import COMPLETED
from jobs.timelines.kafka_releases import releases
from jobs.timelines.known_spans import to_known_spans
from jobs.timelines.leader_epoch_starts import to_leader_epoch_starts, with_leader_epoch_starts
from jobs.timelines.leader_lines import NO_LEADER_SENT
from jobs.timelines.observations import EPOCH_STARTED
from jobs.timelines.partitions import to_states
from jobs.timelines.topics import to_numbered_incarnations
from jobs.timelines.written_order import with_lines
from jobs.warehouse.tables import Warehouse
from schemas.findings import VERDICTS
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
    pool: ThreadPoolExecutor
    """Where tables are made and saved."""
    _saves: list[Future[None]] = field(default_factory=list)
    _tables: dict[str, DataFrame] = field(default_factory=dict)  # by name, as `table` returned them
    _spans: dict[tuple[tuple[str, ...], tuple[str, ...]], DataFrame] = field(default_factory=dict)

    def table(self, name: str) -> DataFrame:
        """The rows in scope of a table as it was written last; persisted for the next step that asks."""
        if name not in self._tables:
            rows = self._rows(name)
            self._tables[name] = rows if self.warehouse.is_cached(name) else held(rows)
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
        return held(self.inputs.events.where(self.scope.events)) if self.scope.topics else self.inputs.events

    @cached_property
    def states(self) -> DataFrame:
        """The partitions' states that are in events; not before topics and controller terms are written."""
        topics, terms = self.table("topic_timeline"), self.table("controller_timeline")
        return checkpointed(to_states(self.events, topics, terms, self.inputs.facts))

    @cached_property
    def config_changes(self) -> DataFrame | None:
        """Changes of settings, of whole clusters; None if no line shows any. Not before topics and controller terms
        are written."""
        if not self.inputs.kinds.have(SETTING_EVENTS):
            return None
        topics, terms = self.whole("topic_timeline"), self.table("controller_timeline")
        return checkpointed(to_config_changes(self.inputs.events, topics, terms, self.inputs.kinds))

    @cached_property
    def leader_epoch_starts(self) -> DataFrame | None:
        """Leader epochs of which no line shows a whole state, only their leader that they began; None: there are none.
        Not before topics and controller terms are written."""
        if not self.inputs.kinds.have([EPOCH_STARTED]):
            return None
        incarnations = to_numbered_incarnations(self.table("topic_timeline"))
        have = self.inputs.kinds.have
        rows = to_leader_epoch_starts(
            self.events,
            incarnations,
            self.states,
            with_requests=self._has_unwritten_states,
            with_completed=have([COMPLETED]),
            with_unled=have([NO_LEADER_SENT]),
        )
        starts = checkpointed(rows)
        return None if starts.isEmpty() else starts

    @cached_property
    def releases(self) -> dict[str, tuple[str, bool]]:
        """See `releases`."""
        return releases(self.table("log_files"), self.inputs.events, self.settings.kafka_versions)

    @cached_property
    def clusters_without_requests(self) -> list[str]:
        """See `clusters_without_requests`; of others nobody asks which releases they ran."""
        return clusters_without_requests(self.releases, self.inputs.facts) if self._has_unwritten_states else []

    @property
    def _has_unwritten_states(self) -> bool:
        """Whether any cluster with ZooKeeper does not log its requests (TRACE), which have each state."""
        by_cluster = self.inputs.facts.kinds_by_cluster.values()
        return any(kinds.is_untraced_zookeeper for kinds in by_cluster)

    def known_spans(self, kinds: tuple[str, ...], *by: str) -> DataFrame:
        """See `to_known_spans`; of whole clusters."""
        if (kinds, by) not in self._spans:
            facts, tolerance = self.inputs.facts, self.settings.coverage_tolerance
            spans = to_known_spans(facts.coverage, kinds, tolerance, "cluster", *by, holes=facts.holes)
            self._spans[kinds, by] = checkpointed(spans)
        return self._spans[kinds, by]

    @property
    def led_states(self) -> DataFrame:
        """States of which it is known who leads, or that nobody does, and `leader_epoch_starts`."""
        led, starts = self.states.where("leader IS NOT NULL"), self.leader_epoch_starts
        return led if starts is None else with_leader_epoch_starts(led, starts)

    def within(self, scope: Scope) -> Work:
        """The same with another scope."""
        tables = {name: rows for name, rows in self._tables.items() if name not in BY_TOPIC}
        return replace(self, scope=scope, _tables=tables)

    def write(self, making: Mapping[str, Callable[[], DataFrame]]) -> None:
        """Make and write derived tables, several at once: of each, the rows in scope are replaced.

        `making`: by table what plans its rows; planning costs as much as small logs do, so that is done side by side,
        too. What later steps see of a window are all rows that its events give, also of the time before the seal.
        Where all rows of a table stay cached, it is saved while later steps go on; `finish` waits for that.
        """
        ready: dict[str, Future[DataFrame | None]] = {name: Future() for name in making}
        for name in making:
            self._saves.append(self.pool.submit(self._write, name, making[name], ready[name]))
        for name, rows in ready.items():
            if (cached := rows.result()) is not None and not self.scope.windows:
                self._tables[name] = cached

    def _write(self, name: str, make: Callable[[], DataFrame], ready: Future[DataFrame | None]) -> None:
        """Make and write a table; `ready` is done when others can go on with its rows."""
        windows = self.scope.windows
        is_partial = bool(self.scope.topics or windows)
        try:
            rows = with_lines(make()) if self.inputs.odd_formats else make()
            with compiling(self.warehouse.spark) if name == VERDICTS.name else nullcontext():
                if windows:
                    rows = self._tables[name] = going_on(name, rows, self.warehouse, windows)
                    rows = rows.where(self.scope.rows_of(name))
                cached = self.warehouse.write(
                    BY_NAME[name],
                    rows,
                    replace=None if self._is_all(name) else self.scope.rows_of(name),
                    cache=not windows,
                    is_computed=bool(windows),
                    when_cached=(lambda rows: None) if is_partial else ready.set_result,
                )
            if not ready.done():
                ready.set_result(cached)
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    def finish(self) -> None:
        """Wait until all tables are saved. Raises what kept one from that."""
        for save in self._saves:
            save.result()
        self._saves.clear()

    def compare(self) -> list[str]:
        """What was worked out of windows, compared with what is published: see `window_check.compare`."""
        rows = {name: rows for name, rows in self._tables.items() if name in BEGINS}
        return compare(self.warehouse, rows, self.scope.windows)
