"""What the summary of a run is about: queries over the published tables, and the facts of each cluster. No wording."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse
from schemas.ledger import STEPS
from udfs.logs.coverage import CoverageSpan, coverage_gaps

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Row = Mapping[str, Any]
MOST = 5
"""Findings of one kind that are listed; of the others only the number is given."""


@dataclass
class ClusterSummary:
    """The facts about one cluster. Rows are those of `_QUERIES`, in the order in which they are listed."""

    cluster: str
    streams: list[Row] = field(default_factory=list)
    controller_terms: list[Row] = field(default_factory=list)
    """The last terms, one more than are listed; `total` is how many there are."""
    partitions: int = 0
    topics: int = 0
    states: int = 0
    inferred_states: int = 0
    missing_states: int = 0
    """States that the logs lack, or contradict each other about."""
    clocks: list[Row] = field(default_factory=list)
    requests: list[Row] = field(default_factory=list)
    contradictions: list[Row] = field(default_factory=list)
    elections: dict[str, int] = field(default_factory=dict)
    """Numbers of those that `succeeded`, `failed`, were `unclean`."""
    unclean_elections: list[Row] = field(default_factory=list)
    outages: list[Row] = field(default_factory=list)
    outage_count: int = 0
    open_outages: int = 0
    churn: list[Row] = field(default_factory=list)
    churning_followers: int = 0
    isr_changes: int = 0
    reassignments: dict[str, int] = field(default_factory=dict)
    """Numbers by state."""
    verdicts: dict[str, int] = field(default_factory=dict)
    """Numbers by verdict."""
    violations: list[Row] = field(default_factory=list)
    rejects: list[Row] = field(default_factory=list)
    is_zone_assumed: bool = False
    """Whether some stream's local times were read as UTC for want of a setting."""
    missing_logs: list[str] = field(default_factory=list)
    """Sentences about logs that are missing."""


def summarize(
    warehouse: Warehouse, steps: Sequence[str] = STEPS, settings: Settings | None = None
) -> list[ClusterSummary]:
    """The facts of every cluster in the published tables that some steps write, a bounded number of rows of each."""
    tables = [name for name, (writers, _) in _QUERIES.items() if {*writers} & {*steps}]

    def collect(name: str) -> list[Row]:
        return [row.asDict(recursive=True) for row in _QUERIES[name][1](warehouse.read(name)).collect()]

    with ThreadPoolExecutor(4) as pool:
        rows_by_table = dict(zip(tables, pool.map(collect, tables), strict=True))
    summaries = []
    for cluster in sorted({row["cluster"] for row in rows_by_table["log_files"]}):
        of_cluster = {
            name: [row for row in rows_by_table.get(name, []) if row["cluster"] == cluster] for name in _QUERIES
        }
        summaries.append(_summary(cluster, of_cluster, settings or Settings()))
    return summaries


# ---- queries --------------------------------------------------------------------------------------------------------
STREAM_COLUMNS = (
    "cluster", "path", "file_id", "also_seen_as", "kafka_versions", "node_ids", "role", "kind", "status", "findings",
    "size_bytes", "event_bytes", "detail_bytes", "reject_bytes", "other_bytes", "duplicate_bytes", "held_back_bytes",
    "event_lines", "first_at", "last_at", "time_zone",
)  # fmt: skip


def _first(rows: DataFrame, order: str, most: int = MOST) -> DataFrame:
    """The first rows of each cluster, with `nth`, from 1, and `total`, the number there are."""
    return rows.selectExpr(
        "*",
        f"row_number() OVER (PARTITION BY cluster ORDER BY {order}) AS nth",
        "count(*) OVER (PARTITION BY cluster) AS total",
    ).where(F.col("nth") <= most)


def _count() -> Column:
    return F.count(F.lit(1)).alias("total")


def _sum(condition: Column) -> Column:
    """In how many rows a condition holds; null where it is never known."""
    return F.sum(condition.cast("int"))


def _streams(log_files: DataFrame) -> DataFrame:
    return log_files.select(*STREAM_COLUMNS)


def _terms(controller_timeline: DataFrame) -> DataFrame:
    return _first(controller_timeline, "controller_epoch DESC", MOST + 1)


def _state_counts(partition_timeline: DataFrame) -> DataFrame:
    return partition_timeline.groupBy("cluster").agg(
        F.count(F.lit(1)).alias("states"),
        F.countDistinct("topic", "partition").alias("partitions"),
        F.countDistinct("topic").alias("topics"),
        _sum(F.col("inferred")).alias("inferred"),
        F.sum("missing_before").alias("missing"),
    )


def _clocks(clock_offsets: DataFrame) -> DataFrame:
    return clock_offsets.groupBy("cluster", "node_id").agg(
        F.sum("pairs").alias("pairs"),
        F.max("reference").alias("reference"),
        F.max("contradicting").alias("contradicting"),
        F.max(F.size("applied") > 0).alias("corrected"),
        F.min(F.array_min("applied.ahead_ms")).alias("from_ms"),
        F.max(F.array_max("applied.ahead_ms")).alias("to_ms"),
    )


def _request_counts(control_requests: DataFrame) -> DataFrame:
    is_only_sent = F.col("received_at").isNull() & F.col("responded_at").isNull()
    return control_requests.groupBy("cluster", "kind").agg(
        _count(),
        _sum(F.col("stale")).alias("stale"),
        _sum(F.col("error") != "NONE").alias("failed"),
        F.max("round_trip_ms").alias("slowest_ms"),
        _sum(is_only_sent).alias("only_sent"),
    )


def _contradictions(contradictions: DataFrame) -> DataFrame:
    return _first(contradictions, "at, topic, partition")


def _elections(elections: DataFrame) -> DataFrame:
    """The first unclean elections, and, with `nth` null, how many there are of each kind."""
    counts = elections.groupBy("cluster", "succeeded", "unclean").agg(_count())
    return _first(elections.where("unclean"), "at").unionByName(counts, allowMissingColumns=True)


def _outages(offline_partitions: DataFrame) -> DataFrame:
    open_totals = offline_partitions.groupBy("cluster").agg(_sum(F.col("until").isNull()).alias("open_total"))
    longest = _first(offline_partitions, "duration_ms DESC NULLS LAST, since, topic, partition")
    return longest.join(open_totals, "cluster")


def _churn(isr_churn: DataFrame) -> DataFrame:
    totals = isr_churn.groupBy("cluster").agg(
        _sum(F.col("churning")).alias("churning_total"), F.sum(F.col("shrinks") + F.col("expands")).alias("changes")
    )
    return _first(isr_churn, "flaps DESC, shrinks DESC, topic, partition, follower", 3).join(totals, "cluster")


def _reassignments(reassignments: DataFrame) -> DataFrame:
    return reassignments.groupBy("cluster", "state").agg(_count())


def _verdicts(verdicts: DataFrame) -> DataFrame:
    """The first violations, and, with `nth` null, how many there are of each verdict."""
    counts = verdicts.groupBy("cluster", "verdict").agg(_count())
    first = _first(verdicts.where("verdict = 'violated'"), "at, rule, subject")
    return first.unionByName(counts, allowMissingColumns=True)


def _rejects(rejects: DataFrame) -> DataFrame:
    """The most frequent kinds of messages that no rule knows, with the place of the first of each."""
    by_signature = rejects.groupBy("cluster", F.coalesce("signature", "reason").alias("signature")).agg(
        F.count(F.lit(1)).alias("count"), F.min(F.struct("at", "file_id", "line")).alias("first")
    )
    return _first(by_signature, "count DESC, signature")


def _coverage(log_coverage: DataFrame) -> DataFrame:
    return log_coverage


_QUERIES: Mapping[str, tuple[Sequence[str], Callable[[DataFrame], DataFrame]]] = {
    "log_files": (STEPS, _streams),
    "controller_timeline": (("timelines",), _terms),
    "partition_timeline": (("timelines",), _state_counts),
    "clock_offsets": (("timelines",), _clocks),
    "control_requests": (("timelines",), _request_counts),
    "contradictions": (("timelines",), _contradictions),
    "elections": (("detect",), _elections),
    "offline_partitions": (("detect",), _outages),
    "isr_churn": (("detect",), _churn),
    "reassignments": (("detect",), _reassignments),
    "verdicts": (("replay",), _verdicts),
    "rejects": (("ingest",), _rejects),
    "log_coverage": (("ingest",), _coverage),
}
"""By table the steps whose summary reads it, and what it reads."""


def frequent_rejects(warehouse: Warehouse) -> tuple[list[Row], list[str]]:
    """The most frequent rejects as they were written last, published or not; and the paths of all streams."""
    streams = warehouse.newest("log_files").select("file_id", "path").collect()
    paths = {row["file_id"]: row["path"] for row in streams}
    rows = [row.asDict(recursive=True) for row in _rejects(warehouse.newest("rejects")).collect()]
    rejects = [{**row, "path": paths[row["first"]["file_id"]]} for row in rows]
    return sorted(rejects, key=lambda r: (r["cluster"], r["nth"])), list(paths.values())


# ---- facts ----------------------------------------------------------------------------------------------------------
def _summary(cluster: str, rows: Mapping[str, list[Row]], settings: Settings) -> ClusterSummary:
    """The facts of a cluster, of the rows of each table."""
    streams = rows["log_files"]
    spans = [CoverageSpan(r["node_id"], r["kind"], r["since"], r["until"], r["records"]) for r in rows["log_coverage"]]
    summary = ClusterSummary(
        cluster,
        streams=streams,
        controller_terms=sorted(rows["controller_timeline"], key=lambda r: r["controller_epoch"]),
        clocks=sorted(rows["clock_offsets"], key=lambda r: r["node_id"]),
        requests=sorted(rows["control_requests"], key=lambda r: str(r["kind"])),
        contradictions=_in_order(rows["contradictions"]),
        unclean_elections=_in_order(rows["elections"]),
        outages=_in_order(rows["offline_partitions"]),
        churn=_in_order(rows["isr_churn"]),
        reassignments={r["state"]: r["total"] for r in rows["reassignments"]},
        verdicts={r["verdict"]: r["total"] for r in rows["verdicts"] if r["nth"] is None},
        violations=_in_order(rows["verdicts"]),
        rejects=_in_order(rows["rejects"]),
        is_zone_assumed=any(is_zone_assumed(row, settings) for row in streams),
        missing_logs=coverage_gaps(spans, node_roles(streams), settings.coverage_tolerance, MOST),
    )
    counts = [row for row in rows["elections"] if row["nth"] is None]
    summary.elections = {
        "succeeded": sum(r["total"] for r in counts if r["succeeded"]),
        "failed": sum(r["total"] for r in counts if not r["succeeded"]),
        "unclean": sum(r["total"] for r in counts if r["unclean"]),
    }
    for row in rows["partition_timeline"]:
        summary.states, summary.partitions, summary.topics = row["states"], row["partitions"], row["topics"]
        summary.inferred_states, summary.missing_states = row["inferred"] or 0, row["missing"] or 0
    for row in summary.outages[:1]:
        summary.outage_count, summary.open_outages = row["total"], row["open_total"]
    for row in summary.churn[:1]:
        summary.churning_followers, summary.isr_changes = int(row["churning_total"] or 0), int(row["changes"] or 0)
    return summary


def _in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows of `_first`, without counts that were added to them."""
    return sorted((row for row in rows if row["nth"] is not None), key=lambda r: r["nth"])


def is_zone_assumed(stream: Row, settings: Settings) -> bool:
    """Whether no setting names the zone of a stream's local times. A metadata dump counts from 1970, and needs none."""
    if settings.time_zone is not None or stream["first_at"] is None or stream["kind"] == "metadata_dump":
        return False
    return not stream["node_ids"] or not {*stream["node_ids"]} <= {*settings.node_time_zones}


def node_roles(streams: Iterable[Row]) -> dict[int, str]:
    """By node `broker` or `controller`, whatever most of its streams are."""
    votes: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for row in streams:
        for node in row["node_ids"] if row["role"] else ():
            votes[node][row["role"]] += 1
    return {node: max(sorted(counts), key=counts.__getitem__) for node, counts in votes.items()}
