"""What a run derives: which steps, of which clusters, and of which of them old rows may stay."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.ingest.ingest import NewInput
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse
from schemas.ledger import STEPS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DERIVING_STEPS: Sequence[str] = STEPS[1:]
"""The steps after the ingest."""
_COMPARED = (
    "line", "at", "node_id", "logger", "event_type", "topic", "partition", "leader_epoch", "partition_epoch", "detail",
)  # fmt: skip
"""Columns by which events of a stream that was read again are seen to be unchanged: its bytes are, but its zone and
node may have changed."""
_STREAM = ["cluster", "file_id"]


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
    made_otherwise: tuple[str, ...] = ()
    """Clusters whose derived rows another release, or other settings, had made before the run."""


def make_plan(warehouse: Warehouse, steps: Sequence[str], settings: Settings, new_input: NewInput) -> Plan:
    """The plan of a run of some steps, once the ingest has written what is new."""
    derived = tuple(name for name in steps if name in DERIVING_STEPS)
    digest = code_and_settings(settings)
    pending = pending_after(warehouse.pending, "ingest", new_input.clusters)
    clusters = tuple(sorted({name for step in derived for name in pending.get(step, ())}))
    streams = {
        stream: line
        for cluster in appended_clusters(warehouse, new_input, derived, digest)
        for stream, line in new_input.streams_read[cluster].items()
    }
    for name in derived:
        pending = pending_after(pending, name, clusters)
    derived_with = {cluster: code for cluster, code in warehouse.derived_with.items() if cluster not in clusters}
    if derived == tuple(DERIVING_STEPS):
        derived_with |= dict.fromkeys(clusters, digest)
    appended_since = first_new_event_times(warehouse, streams) if streams else {}
    published = warehouse.derived_with.items() if derived == tuple(DERIVING_STEPS) else ()
    made_otherwise = tuple(sorted(cluster for cluster, code in published if code != digest))
    return Plan(derived, clusters, appended_since, pending, derived_with, made_otherwise)


def made_otherwise_sentences(plan: Plan) -> list[str]:
    """What becomes of clusters whose rows were made with other settings, or by another release."""
    what = "was made with other settings, or by another release of Kafka Rewind"
    anew = [f"{name} {what}: it is rebuilt as a whole" for name in plan.made_otherwise if name in plan.clusters]
    kept = [
        f"{name} {what}, and has no new logs: its tables stay as they are; --rebuild makes them anew"
        for name in plan.made_otherwise
        if name not in plan.clusters
    ]
    return [*anew, *kept]


def without_clusters(plan: Plan, warehouse: Warehouse, refused: Collection[str]) -> Plan:
    """The plan as its run's row tells it, once the rows of clusters are again those of the last published run: what
    they were out of date with then, they are now."""
    pending = {
        step: sorted({*plan.pending.get(step, ())} - {*refused} | {*warehouse.pending.get(step, ())} & {*refused})
        for step in STEPS
    }
    derived_with = {name: code for name, code in plan.derived_with.items() if name not in refused}
    derived_with |= {name: code for name, code in warehouse.derived_with.items() if name in refused}
    return replace(
        plan,
        clusters=tuple(name for name in plan.clusters if name not in refused),
        pending={step: names for step, names in pending.items() if names},
        derived_with=derived_with,
    )


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


# ---- from when on events are new -------------------------------------------------------------------------------------
def first_new_event_times(warehouse: Warehouse, streams: Mapping[str, int]) -> dict[str, datetime]:
    """By cluster the time of the first new event of streams that were read; one that got further lines is new, too.

    `streams`: from which line on each was read. Clusters are left out if another one of their published events has
    changed, or a new one has no time.
    """
    digest, published_events = F.xxhash64(*_COMPARED), warehouse.read("events")
    lines = published_events.sparkSession.createDataFrame(sorted(streams.items()), "file_id string, first_line long")
    before, after = (
        events.select(*_STREAM, *_COMPARED)
        .join(F.broadcast(lines), "file_id")
        .where("line >= first_line")
        .drop("first_line")
        for events in (published_events, warehouse.newest("events"))
    )
    last = F.max_by(F.struct("line", "at", digest.alias("digest")), "line").alias("last")
    published = before.groupBy(*_STREAM).agg(last, F.bit_xor(digest).alias("published_digest"))
    by_stream = _to_digests(after.join(F.broadcast(published.select(*_STREAM, "last")), _STREAM, "left"))
    is_same = F.col("digest") == F.col("published_digest")
    is_same_but_last = F.col("digest").bitwiseXOR(F.col("last_digest")) == F.col("published_digest").bitwiseXOR(
        F.col("last.digest")
    )
    is_new_stream = F.col("last").isNull()
    since = F.when(is_new_stream | is_same, F.col("since")).otherwise(F.least("since", "last.at"))
    is_sure = (is_new_stream | is_same | is_same_but_last) & ~F.col("is_timeless")
    by_cluster = (
        published.join(by_stream, _STREAM, "full")
        .groupBy("cluster")
        .agg(F.min(since).alias("since"), F.min(F.coalesce(is_sure, F.lit(False))).alias("is_sure"))
    )
    return {row["cluster"]: row["since"] for row in by_cluster.collect() if row["is_sure"] and row["since"] is not None}


def _to_digests(events: DataFrame) -> DataFrame:
    """Events with the `last` published one of their stream (null: a new stream) -> one row a stream.

    cluster, file_id, digest and last_digest (of the events up to the last published line, and of that line), since (the
    first time of later events), is_timeless (one of those has no time).
    """
    digest, line, last_line = F.xxhash64(*_COMPARED), F.col("line"), F.col("last.line")
    is_new = F.coalesce(line > last_line, F.lit(True))
    return events.groupBy(*_STREAM).agg(
        F.bit_xor(F.when(line <= last_line, digest)).alias("digest"),
        F.max(F.when(line == last_line, digest)).alias("last_digest"),
        F.min(F.when(is_new, F.col("at"))).alias("since"),
        F.max(is_new & F.col("at").isNull()).alias("is_timeless"),
    )
