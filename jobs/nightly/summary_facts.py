"""What the summary of a run is about: the facts of each cluster, of rows that queries gave. No queries, no wording.

The queries are in `jobs.nightly.summary_queries` for a run, and in `jobs.nightly.published_summary` for readers without
Spark.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jobs.nightly.unknown_zeros import ISR_CHANGES, OUTAGES, REASSIGNMENTS, cannot_be_told, missing_logs_by_fact
from jobs.settings import Settings
from udfs.kafka.releases import Release
from udfs.logs.coverage import CoverageSpan, coverage_gaps

Row = Mapping[str, Any]
MOST = 5
"""Findings of one kind that are listed; of the others only the number is given."""
IS_ALONE = "{size}(isr) = 1 AND {size}(replicas) >= 1"
"""Of PARTITION_TIMELINE, in SQL: only the leader is in sync, if there is one. `size` is the engine's function."""
UNCLEAN_ORDER = "coalesce(lost_records_min, 0) DESC, coalesce(leader = last_leader, false), {at}, topic, partition"
"""Of unclean elections, in SQL: those that surely lost most records first, those of the last leader itself last."""
CHURN_ORDER = "flaps DESC, shrinks DESC, topic, partition, incarnation, follower, hour"
"""Of ISR_CHURN, in SQL: the follower that flapped most first."""
WAIT_ORDER = "since, topic, partition, incarnation"
"""Of new partitions that wait for their first leader, in SQL."""
INCIDENT_ORDER = "{rank}, coalesce(leaderless_partition_minutes, 0) DESC, since, incident_id"
"""Of INCIDENTS, in SQL: the worst first, `rank` is how the engine ranks severities; then those that cost most time."""
DELETION = "topic_deletion"
"""Value of `offline_partitions.cause` and `healed_by`."""
IS_DELETION = (
    f"(coalesce(cause = '{DELETION}', healed_by = '{DELETION}', false)"
    f" OR (ended_before IS NULL AND coalesce(healed_by = '{DELETION}', false)))"
)
"""Of OFFLINE_PARTITIONS, in SQL: nobody misses the partition, for its topic was being deleted, or has been since: when
is in no line. One that lost its leader for another reason is missed until somebody deletes its topic."""
NAMED = {
    "elections": ("unclean", "at", ("topic", "partition", "incarnation", "leader_epoch")),
    "offline_partitions": (
        "ended_before IS NOT NULL", "ended_before", ("topic", "partition", "incarnation", "since", "ended_before"),
    ),
    "incidents": ("true", "until", ("incident_id", "severity", "until")),
    "verdicts": ("verdict = 'violated'", "at", ("rule", "subject", "at")),
}  # fmt: skip
"""By table which rows a summary names, as a condition in SQL, the time by which they are new, and what tells that a row
of a later run is the same."""
Named = Mapping[str, Sequence[tuple[Any, ...]]]
"""By table of NAMED what was named before: cluster and the columns that tell a row."""
NOTHING_NAMED: Named = {}
NOTHING_KNOWN: Mapping[str, datetime] = {}
"""`known_until` of clusters that no run saw before."""


@dataclass
class ClusterSummary:
    """The facts about one cluster. Rows are those of the queries, in the order in which they are listed."""

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
    elections: dict[str, int | None] = field(default_factory=dict)
    """Numbers of those that `succeeded`, `failed`, were `unclean`; None: none is logged, but the logs cannot tell."""
    known_until: datetime | None = None
    """What later lines show is new: the runs before saw the logs up to then. None: all is new."""
    current_partitions: int = 0
    """Partitions that are there at the end of the logs."""
    under_replicated: int = 0
    """Of these, those with replicas out of sync, or fewer in sync than `min.insync.replicas`."""
    single_points: list[Row] = field(default_factory=list)
    """By `broker` the number of partitions of which it `alone` is in sync at the end of the logs, of several replicas,
    the first of their `names`, and of those that have no other replica, `unreplicated`; most first."""
    incidents: list[Row] = field(default_factory=list)
    """The worst that are open or new, and were not planned."""
    incident_counts: dict[str, int] = field(default_factory=dict)
    """Numbers of those that are open or ended after `known_until`, by severity."""
    older_incidents: dict[str, int] = field(default_factory=dict)
    """Of these the numbers of those that are open, and had begun by `known_until`; no zeros."""
    unclean_elections: list[Row] = field(default_factory=list)
    """New ones, those that surely lost most records first."""
    new_unclean: int = 0
    lost_records: tuple[int, int | None] = (0, 0)
    """What new unclean elections lost at least and at most; None: no upper bound is known."""
    new_led_on: int = 0
    """Of the new unclean elections those of the last leader itself."""
    lost_to_others: tuple[int, int | None] = (0, 0)
    """What the others lost at least and at most, as `lost_records`."""
    outages: list[Row] = field(default_factory=list)
    """Those that are open, then new ones that ended, of each the longest; deletions apart."""
    outage_count: int | None = 0
    """None: none is logged, but the logs cannot tell. So are the next ones. Without those of deletions."""
    open_outages: int = 0
    open_by_shutdown: int = 0
    """Those of them whose leader was shut down, and `shut_down` the brokers."""
    shut_down: list[int] = field(default_factory=list)
    open_deletions: int = 0
    """Partitions that wait for their topic's deletion without a leader, at the end of the logs."""
    first_leader_waits: list[Row] = field(default_factory=list)
    """Of new partitions whose elections failed, and which have no state at the end of the logs, those that have waited
    longest: `topic`, `partition`, and when the first of its elections failed, `since`."""
    waiting_partitions: int = 0
    """How many they are."""
    new_outages: int = 0
    """Those that are open or ended after `known_until`."""
    deletion_outages: int = 0
    """New ones of topics that were being deleted."""
    churn: list[Row] = field(default_factory=list)
    churning_followers: int = 0
    isr_changes: int | None = 0
    reassignments: dict[str, int] | None = field(default_factory=dict)
    """Numbers by state."""
    verdicts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Numbers by kind of rule (`elections`, `decisions`, `invariants`) and verdict."""
    violations: list[Row] = field(default_factory=list)
    """The first new ones."""
    new_violations: int = 0
    rejects: list[Row] = field(default_factory=list)
    is_zone_assumed: bool = False
    """Whether some stream's local times were read as UTC for want of a setting."""
    printed_releases: list[str] = field(default_factory=list)
    """Kafka's releases that nodes printed as they started, in order; none if that was not looked for."""
    missing_logs: list[str] = field(default_factory=list)
    """Sentences about logs that are missing."""
    cannot_be_told: dict[str, str] = field(default_factory=dict)
    """By fact, `elections.failed`, why the logs cannot tell all of it."""


FACTS_OF_STEP: Mapping[str, tuple[str, ...]] = {
    "ingest": ("rejects", "printed_releases", "missing_logs"),
    "timelines": (
        "controller_terms", "partitions", "topics", "states", "inferred_states", "missing_states", "clocks", "requests",
        "contradictions", "current_partitions",
    ),
    "detect": (
        "elections", "incidents", "incident_counts", "older_incidents", "unclean_elections", "new_unclean",
        "new_led_on", "lost_records", "lost_to_others", "outages", "outage_count", "open_outages", "open_by_shutdown",
        "shut_down", "open_deletions", "first_leader_waits", "waiting_partitions", "new_outages", "deletion_outages",
        "churn", "churning_followers", "isr_changes", "reassignments", "cannot_be_told", "current_partitions",
        "under_replicated", "single_points",
    ),
    "replay": ("verdicts", "violations", "new_violations"),
}  # fmt: skip
"""Fields of ClusterSummary by the steps after which they are told; the others are told after each."""


STREAM_COLUMNS = (
    "cluster", "path", "file_id", "also_seen_as", "kafka_versions", "node_ids", "role", "kind", "status", "findings",
    "size_bytes", "event_bytes", "detail_bytes", "reject_bytes", "other_bytes", "duplicate_bytes", "held_back_bytes",
    "event_lines", "first_at", "last_at", "time_zone", "drift",
)  # fmt: skip
"""What is read of each stream."""


def summaries_of(
    rows_by_table: Mapping[str, list[Row]], settings: Settings, known_until: Mapping[str, datetime] = NOTHING_KNOWN
) -> list[ClusterSummary]:
    """The facts of every cluster, of the rows that the query of each table gave; a table that is left out has none.

    `known_until`: by cluster, see ClusterSummary.
    """
    return [
        _summary(
            cluster,
            defaultdict(
                list,
                {name: [row for row in rows if row["cluster"] == cluster] for name, rows in rows_by_table.items()},
            ),
            settings,
            known_until.get(cluster),
        )
        for cluster in sorted({row["cluster"] for row in rows_by_table["log_files"]})
    ]


# ---- facts ----------------------------------------------------------------------------------------------------------
def _summary(
    cluster: str, rows: Mapping[str, list[Row]], settings: Settings, known_until: datetime | None
) -> ClusterSummary:
    """The facts of a cluster, of the rows of each table."""
    streams = rows["log_files"]
    spans = [CoverageSpan(r["node_id"], r["kind"], r["since"], r["until"], r["records"]) for r in rows["log_coverage"]]
    summary = ClusterSummary(
        cluster,
        streams=streams,
        known_until=known_until,
        controller_terms=sorted(
            rows["controller_timeline"],
            key=lambda r: (r["cluster_incarnation"] or 0, r["mode"] == "kraft", r["controller_epoch"]),
        ),
        clocks=sorted(rows["clock_offsets"], key=lambda r: r["node_id"]),
        requests=sorted(rows["control_requests"], key=lambda r: str(r["kind"])),
        contradictions=_in_order(rows["contradictions"]),
        incidents=_in_order(rows["incidents"]),
        incident_counts={row["severity"]: row["total"] for row in rows["incidents"] if row["nth"] is None},
        older_incidents={row["severity"]: row["older_total"] for row in rows["incidents"] if row["older_total"]},
        unclean_elections=_in_order(rows["elections"]),
        outages=sorted(_in_order(rows["offline_partitions"]), key=lambda row: row["ended_before"] is not None),
        first_leader_waits=_in_order(rows["first_leader_waits"]),
        waiting_partitions=sum(r["total"] for r in rows["first_leader_waits"] if r["nth"] == 1),
        churn=_in_order(rows["isr_churn"]),
        reassignments={r["state"]: r["total"] for r in rows["reassignments"]},
        verdicts=_by_kind(r for r in rows["verdicts"] if r["nth"] is None),
        new_violations=sum(r["total"] for r in rows["verdicts"] if r["nth"] == 1),
        violations=_in_order(rows["verdicts"]),
        rejects=_in_order(rows["rejects"]),
        is_zone_assumed=any(is_zone_assumed(row, settings) for row in streams),
        printed_releases=_in_order_of_release(row["release"] for row in rows["printed_releases"]),
        missing_logs=coverage_gaps(
            spans,
            node_roles(streams),
            settings.coverage_tolerance,
            MOST,
            [row["broker"] for row in rows["registered_brokers"]],
        ),
    )
    counts = [row for row in rows["elections"] if row["nth"] is None]
    _count_elections(summary, counts)
    summary.single_points = sorted(
        (row for row in rows["leaders_at_end"] if row["alone"] or row["unreplicated"]),
        key=lambda row: (-row["alone"], -row["unreplicated"], row["broker"]),
    )
    summary.under_replicated = sum(row["under_replicated"] for row in rows["leaders_at_end"])
    for row in rows["partition_timeline"]:
        summary.states, summary.partitions, summary.topics = row["states"], row["partitions"], row["topics"]
        summary.inferred_states, summary.missing_states = row["inferred"] or 0, row["missing"] or 0
        summary.current_partitions = row["current"] or 0
    _count_outages(summary, [row for row in rows["offline_partitions"] if row["nth"] is None])
    for row in summary.churn[:1]:
        summary.churning_followers, summary.isr_changes = int(row["churning_total"] or 0), int(row["changes"] or 0)
    unjudged = sum(r["total"] for r in counts if r["succeeded"] and r["unclean"] is None)
    _mark_unknown_zeros(summary, {span.kind for span in spans}, unjudged)
    return summary


def _count_elections(summary: ClusterSummary, counts: Sequence[Row]) -> None:
    """The numbers of elections, of rows with `succeeded, unclean, is_new, total, lost_min, lost_max, unbounded,
    led_on`."""
    summary.elections = {
        "succeeded": sum(r["total"] for r in counts if r["succeeded"]),
        "failed": sum(r["total"] for r in counts if not r["succeeded"]),
        "unclean": sum(r["total"] for r in counts if r["unclean"]),
    }
    new = [row for row in counts if row["unclean"] and row["is_new"]]
    summary.new_unclean = sum(row["total"] for row in new)
    least, most = (sum(row[name] or 0 for row in new) for name in ("lost_min", "lost_max"))
    unbounded, summary.new_led_on = (sum(row[name] or 0 for row in new) for name in ("unbounded", "led_on"))
    summary.lost_records = least, None if unbounded else most
    # of those that led on the least is 0, and the most is unknown
    summary.lost_to_others = least, None if unbounded > summary.new_led_on else most


def _count_outages(summary: ClusterSummary, counts: Sequence[Row]) -> None:
    """The numbers of times without a leader, of at most one row."""
    for row in counts:
        summary.outage_count, summary.open_outages = row["total"] or 0, row["open_total"] or 0
        summary.new_outages, summary.deletion_outages = row["new_total"] or 0, row["deletion_total"] or 0
        summary.open_deletions = row["deleting_total"] or 0
        summary.open_by_shutdown, summary.shut_down = row["shutdown_total"] or 0, row["shutdown_brokers"] or []


def _mark_unknown_zeros(summary: ClusterSummary, kinds: Collection[str], unjudged_elections: int) -> None:
    """Zeros that the logs of these kinds cannot tell become None, and get their reasons."""
    missing = missing_logs_by_fact(
        kinds,
        [row["kafka_versions"] for row in summary.streams],
        has_requests=any(row["traced"] for row in summary.requests),
        is_kraft=any(row["mode"] == "kraft" for row in summary.controller_terms[-1:]),
        unjudged_elections=unjudged_elections,
    )
    summary.cannot_be_told = {fact: cannot_be_told(what) for fact, what in missing.items()}
    for name, count in summary.elections.items():
        if not count and f"elections.{name}" in missing:
            summary.elections[name] = None
    if OUTAGES in missing and not summary.outage_count:
        summary.outage_count = None
    if ISR_CHANGES in missing and not summary.isr_changes:
        summary.isr_changes = None
    if REASSIGNMENTS in missing and not summary.reassignments:
        summary.reassignments = None


def _by_kind(counts: Iterable[Row]) -> dict[str, dict[str, int]]:
    """Numbers of verdicts, by kind of rule and verdict, of rows with these and `total`."""
    totals: dict[str, dict[str, int]] = defaultdict(dict)
    for row in counts:
        totals[row["kind"]][row["verdict"]] = row["total"]
    return {kind: dict(sorted(of_kind.items())) for kind, of_kind in sorted(totals.items())}


def _in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows of `_first`, without counts that were added to them."""
    return sorted((row for row in rows if row["nth"] is not None), key=lambda r: r["nth"])


def _in_order_of_release(texts: Iterable[str]) -> list[str]:
    """`2.6.3`, `2.10.0`; what is no release comes last."""

    def rank(text: str) -> tuple[bool, Release, str]:
        try:
            return False, Release.parse(text), text
        except ValueError:
            return True, Release(0, 0), text

    return sorted(texts, key=rank)


def is_zone_assumed(stream: Row, settings: Settings) -> bool:
    """Whether no setting names the zone of a stream's local times. A metadata dump counts from 1970, and needs none."""
    if settings.time_zone is not None or stream["first_at"] is None or stream["kind"] == "metadata_dump":
        return False
    return not stream["node_ids"] or not {*stream["node_ids"]} <= {*settings.node_time_zones}


def node_roles(streams: Sequence[Row]) -> dict[int, str]:
    """By node `broker` or `controller`, whatever most of its streams are.

    A server.log of a KRaft controller may look like a broker's: a node with a controller's log of its own that writes
    no state-change.log, as brokers do, is a controller.
    """
    votes: defaultdict[int, Counter[str]] = defaultdict(Counter)
    brokers = {node for row in streams if row.get("kind") == "state_change" for node in row["node_ids"]}
    for row in streams:
        for node in row["node_ids"] if row["role"] else ():
            votes[node][row["role"]] += 1
    roles = {node: max(sorted(counts), key=counts.__getitem__) for node, counts in votes.items()}
    own = {row["node_ids"][0] for row in streams if row["role"] == "controller" and len(row["node_ids"]) == 1}
    return roles | dict.fromkeys(own - brokers, "controller")
