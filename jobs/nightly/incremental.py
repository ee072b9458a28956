"""What a run rebuilds: clusters as a whole, or of a cluster only the topics with new events.

A topic's rows depend on its own lines, and on what lines of the cluster show: who was controller, which brokers were
alive, whose logs are there, whether a clock is wrong. So old rows stay if the topic has no line since shortly before
the new events begin, and if all of these show the same about the time before as when the rows were made.
docs/decisions/0012 goes through them one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from jobs.findings.activities import CONTEXT_EVENTS
from jobs.nightly.sql_literals import text_literals
from jobs.nightly.windows import BEGINS, Windows, rows_in
from jobs.timelines.cluster_facts import (
    REMOVAL_RESULT,
    ClusterFacts,
    is_removal_result_until_1_0,
    is_replica_offline,
    untraced_clusters,
)
from jobs.timelines.cluster_lives import LifeStarts
from jobs.timelines.kafka_releases import releases
from jobs.timelines.kraft_clusters import to_kraft_clusters
from jobs.timelines.lossy_hours import ANNOUNCED, collect_lossy_hours
from jobs.timelines.observations import number_of
from jobs.timelines.states.controller_steps import is_broker_step
from jobs.timelines.topics import with_topic_name
from jobs.warehouse.tables import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BY_TOPIC = (
    "topic_timeline", "partition_timeline", "contradictions", "elections", "isr_changes", "reassignments", "verdicts",
)  # fmt: skip
"""Derived tables with rows about one topic (verdicts: also about none); rows of the others are about a cluster, or, as
outages with their causes, made anew for all of its topics."""
MARGIN = timedelta(seconds=10)
"""How long before the first new event a line counts as new: what another node logs within 2 s of it
(`udfs.kafka.verdicts_columns.DOUBT_MS`) may matter."""
MOST_TOPICS = 5_000
"""With new events of more, clusters are rebuilt as a whole: each is a word in a condition."""
MOST_SHARE = 0.5
"""With new events of more than this part of a cluster's topics, it is rebuilt as a whole, too."""


@dataclass(frozen=True)
class Scope:
    """Clusters to rebuild as a whole, by cluster the topics of others, and of others a window of history.

    Where there are windows, there are no topics.
    """

    whole: tuple[str, ...]
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    windows: Windows = field(default_factory=dict)

    @property
    def clusters(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(sorted({*self.whole, *self.topics, *self.windows}))

    def rows_of(self, table: str) -> str:
        """Condition of the rows of a table that are rebuilt, or read to rebuild others."""
        if self.windows and table in BEGINS:
            return f"{self._of_clusters(self.whole)} OR {rows_in(self.windows, table)}"
        if table not in BY_TOPIC:
            return self._of_clusters(self.clusters)
        return self._of_topics("topic IS NULL" if table == "verdicts" else "")

    @property
    def events(self) -> str:
        """Condition of the events that the rows of BY_TOPIC are made of."""
        return self._of_topics(f"topic IS NULL OR event_type IN ({text_literals(CONTEXT_EVENTS)})")

    def widened(self, clusters: Iterable[str]) -> Scope:
        """The same with these clusters as a whole."""
        whole = {*self.whole, *clusters}
        return Scope(tuple(sorted(whole)), {name: topics for name, topics in self.topics.items() if name not in whole})

    def _of_clusters(self, names: Sequence[str]) -> str:
        return f"cluster IN ({text_literals(names)})" if names else "false"

    def _of_topics(self, others: str) -> str:
        also = f" OR {others}" if others else ""
        by_topic = [
            f"cluster = {text_literals([cluster])} AND ({_is_topic(names)}{also})"
            for cluster, names in sorted(self.topics.items())
        ]
        return " OR ".join([self._of_clusters(self.whole), *by_topic])


def _is_topic(names: Sequence[str]) -> str:
    """Condition of the rows of some topics."""
    return f"topic IN ({text_literals(names)})" if names else "false"


# ---- what tables showed before the new events ------------------------------------------------------------------------
TERM_COLUMNS = ("controller_id", "controller_epoch", "since", "active_since", "until")
BROKER_COLUMNS = ("broker", "epoch", "since", "until", "started_as", "ended_by", "shutdown_since")
"""Columns of CONTROLLER_TIMELINE and BROKER_TIMELINE that rows of topics depend on; `ended_by` comes with `until`."""
Row = Mapping[str, Any]


def as_of(rows: Iterable[Row], columns: Sequence[str], at: datetime) -> set[tuple[Any, ...]]:
    """Rows with `since` and `until` as they were before a time: without what began later, open where they ended later.

    >>> noon = datetime(2026, 11, 21, 12)
    >>> as_of([{"since": datetime(2026, 11, 21, 11), "until": noon, "ended_by": "fenced"}], ("until", "ended_by"), noon)
    {(None, None)}
    """
    earlier = set()
    for row in rows:
        if row["since"] is None or row["since"] >= at:
            continue
        has_ended = row["until"] is not None and row["until"] < at
        cells = {name: None if isinstance(row[name], datetime) and row[name] >= at else row[name] for name in columns}
        if not has_ended and "ended_by" in cells:
            cells["ended_by"] = None
        earlier.add(tuple(cells[name] for name in columns))
    return earlier


Period = tuple[datetime, datetime]
Log = tuple[int | None, str]
"""The log of a node and a kind, as in LOG_COVERAGE."""


def first_difference(before: Sequence[Period], after: Sequence[Period]) -> datetime | None:
    """The first time in periods of one side only; None if there is none. Each side is in order, its periods apart."""
    for old, new in zip(before, after, strict=False):
        if old[0] != new[0]:
            return min(old[0], new[0])
        if old[1] != new[1]:
            return min(old[1], new[1])
    count = min(len(before), len(after))
    return next((period[0] for period in (*before[count:], *after[count:])), None)


def _by_cluster(rows: DataFrame, clusters: Iterable[str]) -> dict[str, list[Row]]:
    """Rows of a small table, by cluster."""
    by_cluster: dict[str, list[Row]] = defaultdict(list)
    for row in rows.where(F.col("cluster").isin(*clusters)).collect():
        by_cluster[row["cluster"]].append(row.asDict())
    return by_cluster


def since_coverage_changed(warehouse: Warehouse, since: Mapping[str, datetime]) -> dict[str, datetime]:
    """By cluster the time of its first new event; where a node's log of some kind is covered now and was not before,
    new events begin."""
    if not since:
        return {}
    old_periods, new_periods = (
        _covered(rows, since) for rows in (warehouse.read("log_coverage"), warehouse.newest("log_coverage"))
    )
    changed = {}
    for cluster, at in since.items():
        old, new = old_periods.get(cluster, {}), new_periods.get(cluster, {})
        changes = [first_difference(old.get(log, []), new.get(log, [])) for log in {*old, *new}]
        changed[cluster] = min([at, *(change for change in changes if change is not None)])
    return changed


def _covered(log_coverage: DataFrame, clusters: Iterable[str]) -> dict[str, dict[Log, list[Period]]]:
    """By cluster and log when it is there."""
    periods: dict[str, dict[Log, list[Period]]] = {}
    for cluster, rows in _by_cluster(log_coverage, clusters).items():
        by_log = periods.setdefault(cluster, defaultdict(list))
        for row in sorted(rows, key=lambda row: row["since"]):
            by_log[row["node_id"], row["kind"]].append((row["since"], row["until"]))
    return periods


def _micros(at: datetime) -> int:
    """A time of a table in microseconds since 1970."""
    return (at - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def _any(conditions: Iterable[Column]) -> Column:
    return reduce(or_, conditions, F.lit(False))


def _older(since: Mapping[str, datetime]) -> Column:
    """Whether an event is older than its cluster's new ones."""
    return _any((F.col("cluster") == name) & (F.col("at") < F.lit(at)) for name, at in since.items())


@dataclass
class AppendedClusters:
    """Clusters whose events were only appended to since their rows were published.

    `since` is by cluster the time of the first new one, `events` are all events of the clusters; `reasons` has by
    cluster why it has to be rebuilt as a whole nevertheless.
    """

    warehouse: Warehouse
    since: dict[str, datetime]
    events: DataFrame
    facts: ClusterFacts
    life_starts: LifeStarts
    reasons: dict[str, str] = field(default_factory=dict)

    def scope(
        self,
        clusters: Iterable[str],
        offsets: DataFrame,
        controllers: DataFrame,
        brokers: DataFrame,
    ) -> Scope:
        """What is to be rebuilt of clusters, those that were not only appended to as a whole.

        Takes the new rows of CLOCK_OFFSETS, CONTROLLER_TIMELINE and BROKER_TIMELINE.
        """
        names = tuple(sorted({*clusters}))
        self.compare_evidence(offsets, controllers, brokers)
        topics = self._topics() if self._left else {}
        return Scope(tuple(name for name in names if name not in topics), topics)

    def compare_evidence(self, offsets: DataFrame, controllers: DataFrame, brokers: DataFrame) -> None:
        """Find the `reasons`: what the new rows show of the time before the new events must be what it was."""
        if self.since:
            self.since = since_coverage_changed(self.warehouse, self.since)
            self._compare_clocks(offsets)
            self._compare_lives()
            self._compare_holes()
            self._compare_lossy_hours()
        if self._left:
            self._compare("controller_timeline", controllers, TERM_COLUMNS)
        if self._left:
            self._compare("broker_timeline", brokers, BROKER_COLUMNS)
        for compare in (self._compare_levels, self._compare_elr, self._compare_removals, self._compare_releases):
            if self._left:
                compare()

    @property
    def _left(self) -> dict[str, datetime]:
        """Clusters that nothing speaks against so far."""
        return {name: at for name, at in self.since.items() if name not in self.reasons}

    def _rebuild(self, clusters: Iterable[str], reason: str) -> None:
        """Clusters are rebuilt as a whole."""
        for name in clusters:
            self.reasons.setdefault(name, reason)

    def _compare_clocks(self, offsets: DataFrame) -> None:
        """A correction moves times of old events."""
        for rows in (self.warehouse.read("clock_offsets"), offsets):
            applied = rows.where("size(applied) > 0").select("cluster").distinct().collect()
            self._rebuild({row["cluster"] for row in applied} & {*self.since}, "a clock is corrected")

    def _compare_lives(self) -> None:
        """With a new life of a cluster all of its topics are others."""
        first = datetime(1970, 1, 1)
        begun = {
            name: first + timedelta(microseconds=max(starts)) for name, starts in self.life_starts.items() if starts
        }
        anew = [name for name, at in self.since.items() if name in begun and begun[name] >= at]
        self._rebuild(anew, "the new events show that it was created anew")

    def _compare_holes(self) -> None:
        """New events may prove that old ones are missing."""
        for name, at in self._left.items():
            lost = self.facts.lost_minutes.get(name)
            if lost is None:
                continue
            news = _micros(at)
            known = [hole for hole in lost.older(news).holes() if hole.until < news]
            if known != [hole for hole in lost.holes() if hole.until < news]:
                self._rebuild([name], "the new events show that logs before them are missing")

    def _compare_lossy_hours(self) -> None:
        """An hour in which new events begin may have lost lines only by these: then nothing of it is inferred."""
        left, lossy = self._left, self.facts.lossy_hours
        if not lossy.keys() & left.keys():
            return
        untraced, has_kraft = untraced_clusters(self.facts.kinds_by_cluster), self.facts.kinds.have(ANNOUNCED)
        before = collect_lossy_hours(self.events.where(_older(left)), untraced, has_kraft=has_kraft)
        for name, at in left.items():
            if any(hour < _micros(at) and hour not in before.get(name, ()) for hour in lossy.get(name, ())):
                self._rebuild([name], "the new events show that lines before them are lost")

    def _compare(self, name: str, rows: DataFrame, columns: Sequence[str]) -> None:
        left = self._left
        picked = ["cluster", *dict.fromkeys((*columns, "since", "until"))]
        before, after = (_by_cluster(side.select(*picked), left) for side in (self.warehouse.read(name), rows))
        for cluster, at in left.items():
            if as_of(before.get(cluster, ()), columns, at) != as_of(after.get(cluster, ()), columns, at):
                self._rebuild([cluster], f"{name} changed for times before the new events")

    def _compare_levels(self) -> None:
        """New events may show that a log that seemed to be at WARN is at INFO."""
        kinds = self.facts.kinds
        if kinds.kraft or kinds.removals or kinds.unnumbered:
            left = self._left
            for cluster, rows in _by_cluster(self.facts.server_coverage, left).items():
                if any(row["covered_since"] < left[cluster] <= row["first_logged"] for row in rows):
                    self._rebuild([cluster], "the new events show that a log is at level INFO")

    def _compare_elr(self) -> None:
        if self.facts.kinds.kraft or self.facts.kinds.dumps:
            left = self._left
            before = _by_cluster(to_kraft_clusters(self.events.where(_older(left))), left)
            after = _by_cluster(self.facts.kraft_clusters, left)
            changed = (name for name in left if before.get(name) != after.get(name))
            self._rebuild(changed, "evidence about eligible leader replicas changed")

    def _compare_removals(self) -> None:
        """A controller term, or node, that never logged how it removed offline replicas may do so in the new events."""
        if not self.facts.kinds.removals:
            return
        left = self._left
        is_kind = {
            "offline": is_replica_offline(),
            "term_result": F.col("event_type") == REMOVAL_RESULT,
            "node_result": is_removal_result_until_1_0(),
        }
        first = [F.min(F.when(is_it, F.col("at"))).alias(name) for name, is_it in is_kind.items()]
        by_term_and_node = self.events.where(_any(is_kind.values())).groupBy("cluster", "controller_epoch", "node_id")
        for cluster, rows in _by_cluster(by_term_and_node.agg(*first), left).items():
            for key, result in (("controller_epoch", "term_result"), ("node_id", "node_result")):
                silent = {row[key] for row in rows if row["offline"] and row["offline"] < left[cluster]}
                times: dict[Any, list[datetime]] = defaultdict(list)
                for row in rows:
                    times[row[key]] += [row[result]] if row[result] else []
                if any(times[value] and min(times[value]) >= left[cluster] for value in silent):
                    self._rebuild([cluster], "the new events show how a controller removed offline replicas")

    def _compare_releases(self) -> None:
        left = self._left
        is_left = F.col("cluster").isin(*left)
        before = releases(self.warehouse.read("log_files").where(is_left), self.events.where(_older(left)))
        after = releases(self.warehouse.newest("log_files").where(is_left), self.events.where(is_left))
        changed = (name for name in left if before.get(name) != after.get(name))
        self._rebuild(changed, "evidence about its Kafka release changed")

    def _topics(self) -> dict[str, tuple[str, ...]]:
        """By cluster the topics to rebuild: those that new events name, and those with rows that end with the logs."""
        left = self._left
        is_left = F.col("cluster").isin(*left)
        known_topics = self.warehouse.read("topic_timeline").where(is_left)
        names = self._named_topics(known_topics)
        for rows in self._open_ended():
            names = names.unionByName(rows.where(is_left).select("cluster", "topic"))
        topics: dict[str, set[str]] = {name: set() for name in left}
        rows_to_rebuild = names.distinct().limit(MOST_TOPICS + 1).collect()
        if len(rows_to_rebuild) > MOST_TOPICS:
            self._rebuild(left, f"more than {MOST_TOPICS:,} topics have new events")
            return {}
        for row in rows_to_rebuild:
            topics[row["cluster"]].add(row["topic"])
        counts = known_topics.groupBy("cluster").agg(F.countDistinct("topic").alias("topics")).collect()
        totals = {row["cluster"]: row["topics"] for row in counts}
        for name, of_cluster in topics.items():
            if len(of_cluster) > MOST_SHARE * totals.get(name, 0):
                self._rebuild([name], f"{len(of_cluster):,} topics have new events ({totals.get(name, 0):,} before)")
        return {name: tuple(sorted(of_cluster)) for name, of_cluster in topics.items() if name not in self.reasons}

    def _named_topics(self, known_topics: DataFrame) -> DataFrame:
        """Cluster and topic that new events name: by itself, in a list of partitions, or by its id."""
        is_new = ((F.col("cluster") == name) & (F.col("at") >= F.lit(at - MARGIN)) for name, at in self._left.items())
        events = self.events.where(_any(is_new))
        single = events.select("cluster", "topic", "topic_id")
        listed = events.where("partitions IS NOT NULL").select("cluster", F.explode("partitions").alias("p"))
        named = single.unionByName(listed.select("cluster", "p.topic", "p.topic_id")).distinct()
        ids = known_topics.select("cluster", "topic", "topic_id").distinct()
        return with_topic_name(named, ids).select("cluster", "topic").where("topic IS NOT NULL")

    def _open_ended(self) -> list[DataFrame]:
        """Published rows with `cluster, topic` that last until the end of the logs."""
        rows = [self.warehouse.read("offline_partitions").where("ended_before IS NULL")]
        if self.facts.kinds.kraft:  # what follows from a controller's steps after the last line of a partition
            can_follow = (F.size("isr") == 1) | self._is_in_new_steps()
            rows.append(self.warehouse.read("partition_timeline").where("until IS NULL").where(can_follow))
        return rows

    def _is_in_new_steps(self) -> Column:
        """Whether a replica in sync is of a broker that new steps of KRaft's controllers are about, or may be."""
        broker = F.coalesce(number_of("broker"), F.col("broker_id"))
        conditions = []
        for cluster, at in self._left.items():
            is_new = (F.col("cluster") == cluster) & (F.col("at") >= F.lit(at - MARGIN)) & is_broker_step()
            brokers = {row[0] for row in self.events.where(is_new).select(broker).distinct().collect()}
            is_about = F.lit(None in brokers)
            if ids := sorted(brokers - {None}):
                is_about |= F.arrays_overlap("isr", F.array(*map(F.lit, ids)))
            conditions.append((F.col("cluster") == cluster) & is_about)
        return _any(conditions)
