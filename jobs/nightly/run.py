"""A run: ingest, timelines, detect, replay, or some of them; then gate and publish.

Everything between the first write and the `runs` row is invisible to readers; see `jobs.warehouse.tables`.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable

from jobs.ingest.ingest import NewInput, ingest
from jobs.ingest.new_events import first_new_event_times
from jobs.ingest.reparse import reparse_rejects
from jobs.nightly.steps import DERIVE, Work, pending_after
from jobs.settings import Settings
from jobs.warehouse.gate import Audit, audit
from jobs.warehouse.tables import Warehouse
from schemas.ledger import STEPS
from udfs.errors import BadInput

Say = Callable[[str], None]


@dataclass
class Outcome:
    """What a run did: its id, whether it brought anything, the gate's findings, and seconds by stage."""

    run_id: str
    has_new_input: bool
    audit: Audit | None
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def published(self) -> bool:
        """Whether readers see this run."""
        return self.audit is None or not self.audit.failures


def product_version() -> str:
    """Version of the installed distribution; `unknown` when it runs from a bare zip."""
    try:
        return version("kafka-rewind")
    except PackageNotFoundError:
        return "unknown"


def nightly(warehouse: Warehouse, logs: Iterable[str], settings: Settings, cluster: str, say: Say) -> Outcome:
    """Read the logs, rebuild what they change, and publish it if the gate lets it pass. Raises BadInput for bad logs."""
    return run(warehouse, STEPS, settings, say, logs=logs, cluster=cluster)


def run(
    warehouse: Warehouse,
    steps: Sequence[str],
    settings: Settings,
    say: Say,
    *,
    logs: Iterable[str] = (),
    cluster: str = "default",
    with_rejects: bool = False,
) -> Outcome:
    """Do some of STEPS, in their order, for the clusters that are out of date, and publish what they wrote.

    `with_rejects`: the ingest reads old rejects again, too. Raises BadInput for bad logs, and for a step whose inputs are out of date themselves.
    """
    inputs = list(logs)
    check_order(warehouse, steps)
    started = datetime.now(UTC).replace(tzinfo=None)
    run_id = str(warehouse.last_run + 1)
    outcome = Outcome(run_id, has_new_input=True, audit=None)
    stage = _Stages(outcome.seconds, say)
    with stage("take back", quiet=True):
        for name in warehouse.roll_back():
            say(f"put {name} back: an earlier run was not published")
    news, pending = NewInput(()), dict(warehouse.pending)
    if "ingest" in steps:
        with stage("ingest"):
            if with_rejects:
                news = reparse_rejects(warehouse, settings, say)
            if inputs:
                news += ingest(warehouse, inputs, settings, cluster, run_id, say)
        pending = pending_after(pending, "ingest", news.clusters)
    derived = [name for name in steps if name in DERIVE]
    by = made_with(settings)
    stale = tuple(sorted({name for step in derived for name in pending.get(step, ())}))
    if stale:
        grown = [stream for name in may_stay(warehouse, news, derived, by) for stream in news.streams_read[name]]
        work = Work(warehouse, settings, stale, first_new_event_times(warehouse, grown) if grown else {}, say)
        for name in derived:
            with stage(name):
                DERIVE[name](work)
            pending = pending_after(pending, name, stale)
        warehouse.spark.catalog.clearCache()
    outcome.has_new_input = bool(stale or news.clusters)
    is_whole = tuple(derived) == tuple(DERIVE)
    derivations = {name: told for name, told in warehouse.derived_with.items() if name not in stale}
    derivations |= dict.fromkeys(stale, by) if is_whole else {}
    if outcome.has_new_input:
        with stage("audit"):
            written = {name: warehouse.newest(name) for name in warehouse.written}
            outcome.audit = audit(written, settings.max_reject_percent)
    with stage("publish"):
        warehouse.publish(
            {
                "started_at": started,
                "finished_at": datetime.now(UTC).replace(tzinfo=None),
                "version": product_version(),
                "steps": list(steps),
                "clusters": sorted({*news.clusters, *stale}),
                "inputs": inputs,
                "table_versions": {**warehouse.versions, **warehouse.written},
                "rows": _sorted({**warehouse.rows, **(outcome.audit.rows if outcome.audit else {})}),
                "expectations": _sorted(outcome.audit.violations if outcome.audit else {}),
                "pending": pending,
                "derived_with": derivations,
                "status": "published" if outcome.published else "refused",
            }
        )
    if outcome.published:
        warehouse.versions |= warehouse.written
        warehouse.rows |= outcome.audit.rows if outcome.audit else {}
        warehouse.pending = pending
        warehouse.derived_with = derivations
    return outcome


def may_stay(warehouse: Warehouse, news: NewInput, derived: Sequence[str], by: str) -> list[str]:
    """Clusters that are out of date only because of this run's news, and of which all rows were made with the same code and
    settings as now (`by`): some of their rows may stay. A run of single steps has none.
    """
    if tuple(derived) != tuple(DERIVE):
        return []
    late = {name for names in warehouse.pending.values() for name in names}
    return sorted(name for name in news.streams_read if name not in late and warehouse.derived_with.get(name) == by)


def made_with(settings: Settings) -> str:
    """A digest of what derived rows go by beside the logs: our code, and the settings."""
    told = hashlib.blake2b(json.dumps(asdict(settings), sort_keys=True, default=str).encode(), digest_size=8)
    for package in ("jobs", "schemas", "udfs"):
        for source in _sources(files(package)):
            told.update(source.read_bytes())
    return told.hexdigest()


def _sources(folder: Traversable) -> Iterator[Traversable]:
    """Modules of a package, also one in a zip, in order."""
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.is_dir():
            yield from _sources(one)
        elif one.name.endswith(".py"):
            yield one


def check_order(warehouse: Warehouse, steps: Sequence[str]) -> None:
    """Raises BadInput if the first of the steps reads what is not there or out of date."""
    if steps[0] == "ingest":
        return
    at = f"--warehouse {warehouse.root}"
    if not warehouse.versions:
        raise BadInput(f"Nothing was ever published in {warehouse.root}; run `kafka-rewind ingest LOGS {at}` first.")
    for name in STEPS[1 : STEPS.index(steps[0])]:
        if late := warehouse.pending.get(name):
            clusters = ", ".join(late)
            raise BadInput(f"The {name} step is out of date for {clusters}; run `kafka-rewind {name} {at}` first.")


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    """By name, so that equal runs leave equal rows."""
    return dict(sorted(counts.items()))


class _Stages:
    """Says what is being done, and notes how long each stage took."""

    def __init__(self, seconds: dict[str, float], say: Say) -> None:
        self._seconds, self._say = seconds, say
        self._name, self._begun = "", 0.0

    def __call__(self, name: str, *, quiet: bool = False) -> _Stages:
        self._name = name
        if not quiet:
            self._say(f"{name} ...")
        return self

    def __enter__(self) -> None:
        self._begun = time.monotonic()

    def __exit__(self, *error: object) -> None:
        self._seconds[self._name] = time.monotonic() - self._begun
