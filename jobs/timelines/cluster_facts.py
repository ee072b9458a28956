"""What holds of a cluster as a whole, and each of its partitions' states goes by: which evidence there is, whose logs
are there and when, how KRaft keeps the last in sync, which controllers log what came of a replica that went offline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.timelines.kraft_clusters import to_kraft_clusters
from jobs.timelines.logged_assignments import has_new_assignments, is_reassignment
from jobs.timelines.lossy_hours import LossyHours, with_lossy_hours
from jobs.timelines.lost_minutes import without_holes
from jobs.timelines.observations import (
    EPOCH_STARTED,
    LEADER_STARTED,
    RECORDS,
    REFRESHED,
    UNNUMBERED,
    ids_of,
)
from jobs.timelines.requests import is_about_request
from udfs.logs.lost_minutes import LineGap, LostMinutes
from udfs.rules.state_events import FULL_STATE_EVENTS, LISTED_STATE_EVENTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


TRACED = ("leader_and_isr_request_received", "metadata_cache_updated")
"""Events of brokers that are told of a state by a ZooKeeper controller."""


@dataclass(frozen=True)
class EvidenceKinds:
    """Which kinds of evidence events hold; what there is none of is left out of the plan."""

    kraft: bool = True
    dumps: bool = True
    """Metadata dumps."""
    removals: bool = True
    """Replicas that ZooKeeper's controllers took offline."""
    unnumbered: bool = True
    """States, or changes that leaders wrote themselves, without partition epoch: Kafka up to 2.3."""
    assigned: bool = True
    """Assignments that ZooKeeper's controllers gave new partitions."""
    reassigned: bool = True
    """Partitions that are reassigned."""
    listed: bool = True
    """Lists of states by ZooKeeper's controllers."""
    lost_directories: bool = True
    """Brokers that name the partitions of a log directory that failed."""
    begun_by_leaders: bool = True
    """Leaders that begin a leader epoch and print no partition epoch: ZooKeeper, and KRaft until 3.2."""
    zookeeper: bool = True
    """Leaders that write their ISR to ZooKeeper, or lines of controllers that use it."""
    requests: bool = True
    """Requests of ZooKeeper's controllers, by them or by brokers."""
    event_types: frozenset[str] | None = None
    """All types that events have; None: any."""

    def have(self, event_types: Iterable[str]) -> bool:
        """Whether there may be an event of one of these types: plans of none are not worth making."""
        return self.event_types is None or not self.event_types.isdisjoint(event_types)

    @property
    def is_traced(self) -> bool:
        """Whether brokers log what ZooKeeper's controllers ask of them (TRACE); what fails is logged at any level."""
        return self.requests and self.have(TRACED)

    @property
    def is_untraced_zookeeper(self) -> bool:
        """Whether controllers use ZooKeeper, and no broker logs what they ask of it: at INFO not each state is in a
        line."""
        return self.zookeeper and not self.is_traced

    @property
    def reads_leader_lines(self) -> bool:
        """Whether ISR changes of leaders are read together with when they began to lead: their lines lack the epoch."""
        return self.zookeeper or self.unnumbered or self.begun_by_leaders


def evidence_kinds(events: DataFrame) -> dict[str, EvidenceKinds]:
    """Which kinds of evidence the events of each cluster hold, looked up in one pass."""
    kind, message = F.col("event_type"), F.col("message")
    is_state = (kind.isin(*FULL_STATE_EVENTS, *UNNUMBERED) & F.col("isr").isNotNull()) | (kind == REFRESHED)
    is_unnumbered = is_state & F.col("leader_epoch").isNotNull() & F.col("partition_epoch").isNull()
    is_leader = (kind == "leader_and_isr_request_received") & ~message.contains("LeaderAndIsrPartitionState(")
    is_change = kind.isin("isr_shrinking", "isr_expanding") & message.startswith("Partition [")
    is_start = (kind == EPOCH_STARTED) | (
        (kind == LEADER_STARTED) & F.col("partition_epoch").isNull() & F.col("isr").isNotNull()
    )
    conditions = {
        "kraft": kind.startswith("kraft"),
        "dumps": kind.isin(*RECORDS),
        "removals": is_replica_offline(),
        "unnumbered": is_unnumbered | is_leader | is_change,
        "starts": is_start,
        "assigned": has_new_assignments(),
        "reassigned": is_reassignment(),
        "listed": kind.isin(*LISTED_STATE_EVENTS),
        "lost_directories": kind == DIRECTORY_PARTITIONS,
        "zookeeper": F.col("logger").startswith("kafka.controller.") | is_leader | is_change,
        "isr_reported": kind == "isr_updated",
        "requests": is_about_request(),
    }
    any_row = [F.max(F.coalesce(condition, F.lit(False))).alias(name) for name, condition in conditions.items()]
    rows = events.groupBy("cluster").agg(*any_row, F.collect_set("event_type").alias("event_types")).collect()
    return {row["cluster"]: _kinds_of(row.asDict()) for row in rows}


def _kinds_of(row: dict[str, Any]) -> EvidenceKinds:
    """The kinds of evidence of a cluster by which of them any event is."""
    kinds = {name: flag for name, flag in row.items() if name not in ("cluster", "event_types")}
    # where there is no line of KRaft, leaders write to ZooKeeper
    is_reported, starts = kinds.pop("isr_reported"), kinds.pop("starts")
    kinds["begun_by_leaders"] = starts
    kinds["zookeeper"] = kinds["zookeeper"] or ((is_reported or starts) and not kinds["kraft"])
    kinds["unnumbered"] = kinds["unnumbered"] or kinds["listed"] or (starts and kinds["zookeeper"])
    kinds["zookeeper"] = kinds["zookeeper"] or kinds["listed"]
    return EvidenceKinds(**kinds, event_types=frozenset(row["event_types"]))


def untraced_clusters(kinds_by_cluster: Mapping[str, EvidenceKinds]) -> list[str]:
    """Clusters with ZooKeeper alone of which no line logs requests: what is lost of them other lines have to tell."""
    return [name for name, own in kinds_by_cluster.items() if own.is_untraced_zookeeper and not own.kraft]


def kinds_of_any(kinds: Iterable[EvidenceKinds]) -> EvidenceKinds:
    """The kinds of evidence that any of some clusters has."""
    every = tuple(kinds)
    flags = (name for name in EvidenceKinds.__dataclass_fields__ if name != "event_types")
    types = frozenset[str]().union(*(one.event_types or () for one in every))
    return EvidenceKinds(**{name: any(getattr(one, name) for one in every) for name in flags}, event_types=types)


@dataclass(frozen=True)
class ClusterFacts:
    """Of clusters with these `events` and `coverage` (LOG_COVERAGE), times on their clocks; worked out when asked
    for."""

    events: DataFrame
    coverage: DataFrame
    kinds: EvidenceKinds
    """Of any of them."""
    kinds_by_cluster: Mapping[str, EvidenceKinds] = field(default_factory=dict)
    """Of those that have events; without any, `kinds` is that of each."""
    life_starts: Mapping[str, list[int]] = field(default_factory=dict)
    """Of those that were created anew: see `jobs.timelines.cluster_lives`."""
    lost_minutes: Mapping[str, LostMinutes] = field(default_factory=dict)
    """Of those whose lines prove that others are missing: see `jobs.timelines.lost_minutes`."""
    lossy_hours: LossyHours = field(default_factory=dict)
    """Of those of which single lines are lost: see `jobs.timelines.lossy_hours`."""

    def alike(self) -> list[tuple[tuple[str, ...], EvidenceKinds]]:
        """Clusters whose partitions are read from evidence of the same kinds, and those kinds: what one has must not
        change how another's lines are read."""
        groups: dict[tuple[bool, ...], list[str]] = {}
        for cluster, kinds in sorted(self.kinds_by_cluster.items()):
            groups.setdefault((kinds.kraft, kinds.dumps, kinds.reads_leader_lines), []).append(cluster)
        return [
            (tuple(clusters), kinds_of_any(self.kinds_by_cluster[name] for name in clusters))
            for clusters in groups.values()
        ]

    @cached_property
    def holes(self) -> dict[str, list[LineGap]]:
        """Times of which the logs of all nodes are missing though no silence is long enough to tell, by cluster."""
        return {name: holes for name, lost in self.lost_minutes.items() if (holes := lost.holes())}

    @cached_property
    def server_coverage(self) -> DataFrame:
        """See `to_server_coverage`; without hours of which lines of ZooKeeper's leaders are lost, for what follows from
        such coverage follows from lines that are not there."""
        kraft = {name for name, kinds in self.kinds_by_cluster.items() if kinds.kraft}
        of_leaders = {name: hours for name, hours in self.lossy_hours.items() if name not in kraft}
        holes = with_lossy_hours(self.holes, of_leaders)
        return checkpointed(to_server_coverage(self.events, without_holes(self.coverage, holes)))

    @cached_property
    def coverage_by_leader(self) -> DataFrame:
        """The same, a row for each node: cluster, leader, `coverage`, an array of `covered_since`, `covered_until`."""
        spans = F.collect_list(F.struct("covered_since", "covered_until"))
        return self.server_coverage.groupBy("cluster", "leader").agg(spans.alias("coverage"))

    @cached_property
    def kraft_clusters(self) -> DataFrame:
        """See `to_kraft_clusters`."""
        return checkpointed(to_kraft_clusters(self.events))

    def without_result(self, offline_replicas: DataFrame) -> DataFrame:
        """Rows of replicas that ZooKeeper's controllers took offline -> those of which no line logs what came of it."""
        terms = self.events.where(F.col("event_type") == REMOVAL_RESULT).select("cluster", "controller_epoch")
        nodes = self.events.where(is_removal_result_until_1_0()).select("cluster", "node_id")
        return offline_replicas.join(F.broadcast(terms.distinct()), ["cluster", "controller_epoch"], "left_anti").join(
            F.broadcast(nodes.distinct()), ["cluster", "node_id"], "left_anti"
        )


REMOVAL_RESULT = "replica_removed_from_isr"
"""Event by which a controller's term logs what came of a replica that went offline (from 1.1 on)."""


def is_removal_result_until_1_0() -> Column:
    """Whether a controller until 1.0 logs what came of a replica that went offline: its node logs all of them."""
    return F.col("event_type").startswith("controller_isr_remov")


def is_replica_offline() -> Column:
    """Whether a ZooKeeper controller logs that it took a replica offline."""
    return (F.col("event_type") == "replica_state_change") & (F.col("fields")["to_state"] == "OfflineReplica")


DIRECTORY_PARTITIONS = "log_dir_failure_partitions"
"""Event by which a broker names the partitions of a log directory that failed."""


def to_server_coverage(events: DataFrame, coverage: DataFrame) -> DataFrame:
    """Spans in which each node's own log (not its controller's) is there, at INFO: one kept at WARN lacks changes of
    ISRs.

    Columns: cluster, leader (the node), covered_since, covered_until, first_logged (its first line at INFO).
    """
    own = events.where(
        "node_id IS NOT NULL AND coalesce(level, '') NOT IN ('WARN', 'ERROR', 'FATAL') "
        "AND logger <> 'state.change.logger' AND logger NOT LIKE 'kafka.controller%'"
    ).select("cluster", F.col("node_id").alias("leader"), "at", day_of("at").alias("day"))
    spans = coverage.where("kind = 'server'").select(
        "cluster",
        F.col("node_id").alias("leader"),
        F.col("since").alias("covered_since"),
        F.col("until").alias("covered_until"),
    )
    by_day = spans.withColumn("day", days("covered_since", "covered_until"))
    lines = own.join(F.broadcast(by_day), ["cluster", "leader", "day"]).where(
        "at BETWEEN covered_since AND covered_until"
    )
    return lines.groupBy("cluster", "leader", "covered_since", "covered_until").agg(F.min("at").alias("first_logged"))


_GONE_S = 60
"""A broker whose log ends less than so many seconds before the controller takes it for gone has ended with its log:
longer than sessions last."""


def to_whole_coverage(facts: ClusterFacts) -> DataFrame:
    """Spans in which nothing is missing that a broker logs: its log is there, or it had ended and the controller knew.

    Columns: cluster, leader (the node), valid_since, covered_since, covered_until. Of a time from `valid_since` on the
    span reaches back to `covered_since`: that the controller takes a broker for gone shows of the time before that
    nothing is missing.
    """
    own = facts.server_coverage.select(
        "cluster", "leader", F.col("covered_since").alias("valid_since"), "covered_since", "covered_until"
    )
    ends = own.withColumn("day", day_of("covered_until"))
    gone = to_absences(facts).withColumn("day", day_of("gone_at"))
    late_s = F.unix_seconds("gone_at") - F.unix_seconds("covered_until")
    ended = ends.join(F.broadcast(gone), ["cluster", "leader", "day"]).where(late_s.between(0, _GONE_S))
    return own.unionByName(
        ended.select(
            "cluster",
            "leader",
            F.col("gone_at").alias("valid_since"),
            "covered_since",
            F.col("back_at").alias("covered_until"),
        )
    )


def to_absences(facts: ClusterFacts) -> DataFrame:
    """cluster, leader, `gone_at`, `back_at`: brokers that a ZooKeeper controller takes for gone, until one lists them
    as alive, or as far as controllers' logs go."""
    kind = F.col("event_type")
    lines = facts.events.where(kind.isin("broker_set_changed", "controller_context_live_brokers"))
    live, gone = (F.explode(ids_of(name)).alias("leader") for name in ("live_brokers", "deleted_brokers"))
    mentions = lines.select("cluster", "at", live, F.lit(False).alias("is_gone")).unionByName(
        lines.select("cluster", "at", gone, F.lit(True).alias("is_gone"))
    )
    backwards = Window.partitionBy("cluster", "leader").orderBy(F.desc("at"), "is_gone")
    later = backwards.rowsBetween(Window.unboundedPreceding, -1)
    next_alive = F.last(F.when(~F.col("is_gone"), F.col("at")), ignorenulls=True).over(later)
    ends = facts.coverage.where("kind = 'controller'").groupBy("cluster").agg(F.max("until").alias("logged_until"))
    return (
        mentions.withColumn("next_alive", next_alive)
        .where("is_gone")
        .join(F.broadcast(ends), "cluster", "left")
        .select(
            "cluster", "leader", F.col("at").alias("gone_at"), F.coalesce("next_alive", "logged_until").alias("back_at")
        )
        .where("back_at >= gone_at")
    )


def day_of(time: Column | str) -> Column:
    """The day of a time, as a number."""
    return F.floor(F.unix_seconds(time) / 86_400)


def days(since: Column | str, until: Column | str) -> Column:
    """A row for each day of a span, which is not null: there may be many spans, and a time is looked up in those of
    its day."""
    return F.explode(F.sequence(day_of(since), day_of(until)))


_OPEN = -(1 << 40)
"""Stands for the days of a span that has not ended."""


def days_or_open(since: Column, until: Column) -> Column:
    """The same, and one row for a span that has not ended (`until` null): joined with `day_of_or_open`, a time meets
    each span of its day once, and each that is open."""
    open_day = F.array(F.lit(_OPEN))
    return F.explode(F.when(until.isNull(), open_day).otherwise(F.sequence(day_of(since), day_of(until))))


def day_of_or_open(time: Column | str) -> Column:
    """A row for the day of a time, and one for spans that have not ended."""
    return F.explode(F.array(day_of(time), F.lit(_OPEN)))
