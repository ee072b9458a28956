"""A run: ingest, timelines, detect, replay, or some of them; then the audit, and a row of `runs`.

Everything between the first write and the `runs` row is invisible to readers; see `jobs.warehouse.tables`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from jobs.checkpoints import releasing
from jobs.ingest.ingest import NewInput, ingest, reparse_rejects
from jobs.nightly.incremental import Scope
from jobs.nightly.news import Known, known_before
from jobs.nightly.plan import Plan, made_otherwise_sentences, make_plan, without_clusters
from jobs.nightly.steps import derive
from jobs.nightly.summary_facts import Row
from jobs.nightly.summary_queries import frequent_rejects
from jobs.progress import SILENT, Progress
from jobs.settings import Settings
from jobs.version import product_version
from jobs.warehouse.gate import REJECTED, Audit, WrittenStream, audit, prepare
from jobs.warehouse.stored_tables import WRITERS
from jobs.warehouse.tables import Warehouse
from schemas.ledger import STEPS
from schemas.tables import BY_NAME
from udfs.errors import BadInput
from udfs.logs.paths import Source, find

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Say = Callable[[str], None]


@dataclass
class Outcome:
    """What a run did: its id, whether anything was new or out of date, the gate's findings, and seconds by stage."""

    run_id: str
    has_new_input: bool
    audit: Audit | None
    seconds: dict[str, float] = field(default_factory=dict)
    clusters: tuple[str, ...] = ()
    """Those that had new input or were brought up to date, whether the gate let them pass or not."""
    known: Known = field(default_factory=Known)
    """What the runs before knew and named."""
    rejects: list[Row] = field(default_factory=list)
    """If the gate refused clusters for their rejects, the most frequent kinds of these, see `frequent_rejects`."""

    @property
    def refused(self) -> tuple[str, ...]:
        """Clusters that the gate refused, sorted; all of the run if rows of no cluster violate an expectation."""
        names = self.audit.refused if self.audit else frozenset()
        of_clusters = {name for name in names if name is not None}
        return tuple(sorted(of_clusters | {*self.clusters} if None in names else of_clusters))

    @property
    def published(self) -> bool:
        """Whether readers see this run: the gate let some of its clusters pass."""
        return not self.refused or not {*self.clusters} <= {*self.refused}


def nightly(warehouse: Warehouse, logs: Iterable[str], settings: Settings, cluster: str, say: Say) -> Outcome:
    """Read the logs, rebuild what they change, publish it if the gate lets it pass. Raises BadInput for bad logs."""
    return run(warehouse, STEPS, settings, say, logs=logs, cluster=cluster)


@releasing()
def run(
    warehouse: Warehouse,
    steps: Sequence[str],
    settings: Settings,
    say: Say,
    *,
    logs: Iterable[str] = (),
    sources: Sequence[Source] | None = None,
    cluster: str = "default",
    with_rejects: bool = False,
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Outcome:
    """Do some of STEPS, in their order, for the clusters that are out of date, and publish what they wrote.

    `sources`: what `find` has for the logs, if that is known. `with_rejects`: the ingest reads old rejects again, too.
    `rebuild`: all clusters are out of date. Raises BadInput for bad logs, and for a step whose inputs are out of date
    themselves.
    """
    check_order(warehouse, steps)
    started, inputs = _now(), list(logs)
    outcome = Outcome(str(warehouse.last_run + 1), has_new_input=True, audit=None)
    stage = _stages(outcome.seconds, say, progress)
    with stage("take back", quiet=True):
        for name in warehouse.roll_back():
            say(f"{name} was rolled back: an earlier run was not published")
    new_input = NewInput(())
    if "ingest" in steps:
        with stage("ingest"):
            if with_rejects:
                new_input = reparse_rejects(warehouse, settings, say)
            if inputs:
                files = find(inputs) if sources is None else sources
                new_input += ingest(warehouse, files, settings, cluster, outcome.run_id, say, progress)
    outcome.known = known_before(warehouse)
    if rebuild:
        clusters = tuple(sorted(row["cluster"] for row in _clusters(warehouse).collect()))
        warehouse.pending = {name: list(clusters) for name in STEPS[1:]}
    plan = make_plan(warehouse, steps, settings, new_input)
    for sentence in made_otherwise_sentences(plan):
        say(sentence)
    if plan.clusters or new_input.clusters:
        prepare()
    derive(warehouse, plan, settings, stage, say, progress)
    outcome.clusters = tuple(sorted({*new_input.clusters, *plan.clusters}))
    outcome.has_new_input = bool(outcome.clusters)
    rows = warehouse.rows
    if outcome.has_new_input:
        with stage("audit"):
            rows = {**rows, **_audit(warehouse, outcome, settings, new_input.written)}
    with stage("publish"):
        if outcome.published and outcome.refused:
            plan = without_clusters(plan, warehouse, outcome.refused)
        row = {"started_at": started, "steps": list(steps), "inputs": inputs, "rows": dict(sorted(rows.items()))}
        _publish(warehouse, row, plan, outcome)
    return outcome


def _clusters(warehouse: Warehouse) -> DataFrame:
    """The clusters of which there are logs."""
    return warehouse.current("log_files").select("cluster").distinct()


def check_order(warehouse: Warehouse, steps: Sequence[str]) -> None:
    """Raises BadInput if the first of the steps reads what is not there or out of date.

    Also for single steps over pruned clusters: what a step reads of a window is what the one before worked out.
    """
    if steps[0] == "ingest":
        return
    if warehouse.pruned:
        raise BadInput(
            f"Events of {', '.join(sorted(warehouse.pruned))} were pruned: single steps do not go on from there, run "
            f"`kafka-rewind nightly --warehouse {warehouse.root}`."
        )
    at = f"--warehouse {warehouse.root}"
    if not warehouse.versions:
        raise BadInput(f"Nothing was ever published in {warehouse.root}; run `kafka-rewind ingest LOGS {at}` first.")
    for name in STEPS[1 : STEPS.index(steps[0])]:
        if late := warehouse.pending.get(name):
            clusters = ", ".join(late)
            raise BadInput(f"The {name} step is out of date for {clusters}; run `kafka-rewind {name} {at}` first.")


def _audit(
    warehouse: Warehouse, outcome: Outcome, settings: Settings, streams: Sequence[WrittenStream] | None
) -> Mapping[str, int]:
    """Let the gate judge what was written, of records those of some streams (see `audit`). If it refuses some clusters
    only, their rows are those of the last published run again, in all tables that were written. The number of rows of
    each table."""
    # reading a version for the first time costs Delta more than judging rows that are at hand
    at_hand = warehouse.rows_replaced
    written = {name: at_hand[name] if name in at_hand else warehouse.newest(name) for name in warehouse.written}
    replaced = {name: condition for name, condition in warehouse.replaced.items() if name not in at_hand}
    stayed = {name: warehouse.rows_kept(name) for name in at_hand}
    outcome.audit = audit(written, settings.max_reject_percent, streams, replaced, stayed)
    if any(failure.name == REJECTED for failure in outcome.audit.failures):
        outcome.rejects = frequent_rejects(warehouse, outcome.refused)
    if not outcome.refused or not outcome.published:
        return outcome.audit.rows
    condition = Scope(outcome.refused).rows_of("log_files")
    published = {name: warehouse.read(name).where(condition) for name in written}

    def put_back(name: str) -> int:
        warehouse.write(BY_NAME[name], published[name], replace=condition)
        return published[name].count()

    with ThreadPoolExecutor(WRITERS) as pool:
        counts = dict(zip(published, pool.map(put_back, published), strict=True))
    kept = {
        name: sum(rows for cluster, rows in by_cluster.items() if cluster not in outcome.refused)
        for name, by_cluster in outcome.audit.rows_by_cluster.items()
    }
    return {name: kept[name] + counts[name] for name in counts}


def _publish(warehouse: Warehouse, row: Mapping[str, object], plan: Plan, outcome: Outcome) -> None:
    """Add the run's row to `runs`; if the gate let any cluster pass, its versions are what readers see from then on."""
    versions = {**warehouse.versions, **warehouse.written}
    left = [name for name in outcome.clusters if name not in outcome.refused or not outcome.published]
    warehouse.publish(
        {
            **row,
            "clusters": left,
            "refused": list(outcome.refused),
            "finished_at": _now(),
            "version": product_version(),
            "table_versions": versions,
            "expectations": dict(sorted(outcome.audit.violations.items())) if outcome.audit else {},
            "pending": plan.pending,
            "derived_with": plan.derived_with,
            "status": "published" if outcome.published else "refused",
        }
    )
    if outcome.published:
        warehouse.versions, warehouse.rows = versions, cast(dict[str, int], row["rows"])
        warehouse.pending, warehouse.derived_with = dict(plan.pending), dict(plan.derived_with)


def _now() -> datetime:
    """The time, UTC, as tables have it."""
    return datetime.now(UTC).replace(tzinfo=None)


def _stages(seconds: dict[str, float], say: Say, progress: Progress) -> Callable[..., AbstractContextManager[None]]:
    """`with stage(name):` says what is being done, or shows it on a terminal, and notes how long it took."""

    @contextmanager
    def stage(name: str, *, quiet: bool = False) -> Iterator[None]:
        if not quiet and not progress.is_shown:
            say(f"{name} ...")
        start = time.monotonic()
        with progress.step(name):
            yield
        seconds[name] = time.monotonic() - start

    return stage
