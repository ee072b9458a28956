"""Logs in, events out: every byte of every stream is an event, a reject, something else, or held back.

Two passes. The first surveys each stream (size, hash, layout, line counts), from which the driver knows which streams
are new or were appended to, and divides them into ranges. The second reads the ranges in the workers: framing and
parsing happen there, over rules that are data (docs/decisions/0001). A stream that was appended to is read as a whole
again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark import StorageLevel

from jobs.ingest.accounts import LogFileRow, StreamSummary, add_account, complete_row, default_nodes, spans_of
from jobs.ingest.plan import ReadPlan
from jobs.ingest.workers import read_ranges, survey_all
from jobs.ingest.write import write_records, write_streams
from jobs.session import size_session
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse
from udfs.errors import BadInput
from udfs.logs.paths import Source, find
from udfs.logs.survey import known_streams

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WORTH_BYTES = 128 << 20
"""Clusters with fewer bytes of logs are rebuilt as a whole: finding out what may stay takes a dozen Spark jobs. With
new input of a tenth of the topics a run takes 120 CPU seconds instead of 106 over 66 MB, 227 instead of 270 over
300 MB."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class NewInput:
    """What an ingest brought."""

    clusters: tuple[str, ...]
    """Those with new bytes, or whose published events changed."""
    streams: int = 0
    bytes_read: int = 0
    has_new_names: bool = False
    """Whether all that is new is another path of a known stream, or a file that cannot be read."""
    streams_read: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By cluster the streams that were read, if they have all its changed events and the cluster is not small."""

    def __add__(self, other: NewInput) -> NewInput:
        """Both."""
        in_both = {*self.clusters} & {*other.clusters}
        streams_read = {**self.streams_read, **other.streams_read}
        return NewInput(
            tuple(sorted({*self.clusters, *other.clusters})),
            self.streams + other.streams,
            self.bytes_read + other.bytes_read,
            self.has_new_names or other.has_new_names,
            {name: streams for name, streams in streams_read.items() if name not in in_both},
        )


def ingest(
    warehouse: Warehouse, logs: Iterable[str], settings: Settings, cluster: str, run_id: str, say: Say
) -> NewInput:
    """Read what is new in the logs into the tables that hold records and streams.

    A file that cannot be read is reported and noted, the others are read. Raises BadInput if none is a log; then
    nothing was written.
    """
    sources = find(logs)
    published = {row["file_id"]: row.asDict(recursive=True) for row in warehouse.current("log_files").collect()}
    plan = _plan(warehouse, sources, published, settings, cluster, run_id)
    for surveyed in plan.damaged:
        say(surveyed.error or "")
    if not plan.has_logs:
        raise BadInput(_no_logs(sources, plan))
    if plan.rows == published:
        return NewInput(())
    if not plan.to_read:
        write_streams(warehouse, plan.rows, settings)
        return NewInput((), has_new_names=True)
    size = sum(plan.rows[file_id]["size_bytes"] for file_id in plan.to_read)
    say(f"reading {len(plan.to_read)} streams, {size / 1e6:.1f} MB")
    size_session(warehouse.spark, sum(row["size_bytes"] for row in plan.rows.values()))
    changed = _read(warehouse, plan, plan.to_read & published.keys(), settings)
    clusters = {plan.rows[file_id]["cluster"] for file_id in plan.to_read}
    streams_read = _streams_read(plan, clusters - changed)
    return NewInput(tuple(sorted(clusters | changed)), len(plan.to_read), size, streams_read=streams_read)


def _plan(
    warehouse: Warehouse,
    sources: Sequence[Source],
    published: Mapping[str, LogFileRow],
    settings: Settings,
    cluster: str,
    run_id: str,
) -> ReadPlan:
    """Survey the sources, and plan what is to be read of them. `cluster`: for paths that the settings do not name."""
    by_cluster: defaultdict[str, list[str]] = defaultdict(list)
    for source in sources:
        by_cluster[settings.cluster_of(source.path, cluster)].append(source.path)
    known = {
        name: known_streams(
            [(r["size_bytes"], r["prefix_hash"], r["file_id"]) for r in published.values() if r["cluster"] == name]
        )
        for name in by_cluster
    }
    plan = ReadPlan(dict(published), run_id)
    for name, surveyed in survey_all(warehouse.spark, by_cluster, known, settings):
        plan.add(name, surveyed)
    return plan


def _no_logs(sources: Sequence[Source], plan: ReadPlan) -> str:
    """Why none of the sources can be read, in a sentence: of files that are refused the first reason."""
    reasons = [surveyed.error for surveyed in plan.damaged if surveyed.status == "refused" and surveyed.error]
    if reasons:
        return reasons[0]
    return (
        f"None of the {len(sources)} files is a Kafka log: no line of {sources[0].name} begins as a log record does; "
        "give state-change.log, controller.log, server.log or kafka-dump-log text."
    )


def _read(warehouse: Warehouse, plan: ReadPlan, replaced: set[str], settings: Settings) -> set[str]:
    """Read the planned ranges, complete the rows of their streams, and write both.

    The clusters of which published rows were deleted. `replaced`: published streams that are read again.
    """
    rows = plan.rows
    parsed = read_ranges(warehouse.spark, plan.tasks).persist(StorageLevel.DISK_ONLY)
    try:
        summaries = _summarize(parsed, rows, plan.to_read)
        nodes = {file_id: default_nodes(rows[file_id], summaries[file_id]) for file_id in plan.to_read}
        for file_id in plan.to_read:
            rows[file_id]["spans"] = spans_of(summaries[file_id], nodes[file_id])
        changed = write_records(warehouse, parsed, rows, nodes, replaced)
        write_streams(warehouse, rows, settings)
    finally:
        parsed.unpersist()
    return changed


def _summarize(
    parsed: DataFrame, rows: Mapping[str, LogFileRow], to_read: Iterable[str]
) -> Mapping[str, StreamSummary]:
    """Add the accounts of the ranges to the rows of their streams; by stream what else follows from them."""
    summaries: defaultdict[str, StreamSummary] = defaultdict(StreamSummary)
    for account in parsed.where("record = 'account'").select("file_id", "fields").collect():
        add_account(rows[account["file_id"]], summaries[account["file_id"]], account["fields"])
    for file_id in to_read:
        complete_row(rows[file_id], summaries[file_id])
    return summaries


def _streams_read(plan: ReadPlan, clusters: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """By cluster the streams that were read, of those of the clusters that have WORTH_BYTES."""
    sizes: Counter[str] = Counter()
    for row in plan.rows.values():
        sizes[row["cluster"]] += row["size_bytes"]
    return {
        name: tuple(file_id for file_id in sorted(plan.to_read) if plan.rows[file_id]["cluster"] == name)
        for name in clusters
        if sizes[name] >= WORTH_BYTES
    }
