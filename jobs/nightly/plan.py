"""What a run derives: which steps, of which clusters, and of which of them old rows may stay."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.resources import files
from importlib.resources.abc import Traversable

from jobs.ingest.ingest import NewInput
from jobs.ingest.new_events import first_new_event_times
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse
from schemas.ledger import STEPS
from udfs.errors import BadInput

DERIVING_STEPS: Sequence[str] = STEPS[1:]
"""The steps after the ingest."""


@dataclass(frozen=True)
class Plan:
    """What a run derives after the ingest, and what its row of `runs` says about that."""

    steps: tuple[str, ...]
    clusters: tuple[str, ...]
    """Those that any of the steps has to bring up to date."""
    appended_since: Mapping[str, datetime]
    """Of clusters whose events were only appended to since they were up to date, the time of the first new one."""
    pending: Mapping[str, list[str]]
    """By step the clusters that are out of date after the run."""
    derived_with: Mapping[str, str]
    """By cluster the digest of code and settings that made all its derived rows, after the run."""


def make_plan(warehouse: Warehouse, steps: Sequence[str], settings: Settings, new_input: NewInput) -> Plan:
    """The plan of a run of some steps, once the ingest has written what is new."""
    derived = tuple(name for name in steps if name in DERIVING_STEPS)
    digest = code_and_settings(settings)
    pending = pending_after(warehouse.pending, "ingest", new_input.clusters)
    clusters = tuple(sorted({name for step in derived for name in pending.get(step, ())}))
    streams = [
        stream
        for cluster in appended_clusters(warehouse, new_input, derived, digest)
        for stream in new_input.streams_read[cluster]
    ]
    for name in derived:
        pending = pending_after(pending, name, clusters)
    derived_with = {cluster: code for cluster, code in warehouse.derived_with.items() if cluster not in clusters}
    if derived == tuple(DERIVING_STEPS):
        derived_with |= dict.fromkeys(clusters, digest)
    appended_since = first_new_event_times(warehouse, streams) if streams else {}
    return Plan(derived, clusters, appended_since, pending, derived_with)


def appended_clusters(warehouse: Warehouse, new_input: NewInput, derived: Sequence[str], digest: str) -> list[str]:
    """Clusters of which old rows may stay: they are out of date only by this run's input, and all their rows were made
    with today's code and settings (`digest`). A run of single steps has none.
    """
    if tuple(derived) != tuple(DERIVING_STEPS):
        return []
    late = {name for names in warehouse.pending.values() for name in names}
    return sorted(
        name for name in new_input.streams_read if name not in late and warehouse.derived_with.get(name) == digest
    )


def pending_after(pending: Mapping[str, Iterable[str]], step: str, clusters: Iterable[str]) -> dict[str, list[str]]:
    """By step the clusters that are out of date, once a step was done for some clusters.

    >>> pending_after({"detect": ["eu"]}, "timelines", ["us"])
    {'detect': ['eu', 'us'], 'replay': ['us']}
    """
    done = set(clusters)
    after: dict[str, list[str]] = {}
    for number, name in enumerate(STEPS):
        before = set(pending.get(name, ()))
        now = before - done if name == step else before | done if number > STEPS.index(step) else before
        if now:
            after[name] = sorted(now)
    return after


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


def code_and_settings(settings: Settings) -> str:
    """A digest of what derived rows depend on beside the logs: our code, and the settings."""
    digest = hashlib.blake2b(json.dumps(asdict(settings), sort_keys=True, default=str).encode(), digest_size=8)
    for package in ("jobs", "schemas", "udfs"):
        for source in _sources(files(package)):
            digest.update(source.read_bytes())
    return digest.hexdigest()


def _sources(folder: Traversable) -> Iterator[Traversable]:
    """Modules of a package, also one in a zip, in order."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _sources(entry)
        elif entry.name.endswith(".py"):
            yield entry
