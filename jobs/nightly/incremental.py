"""What a run rebuilds: clusters as a whole, or of a cluster only the topics that have news.

A topic's rows go by its own lines, and by what lines of the cluster say: who was controller, who was alive, whose logs are
there, whether a clock is wrong. So they stay as they are if it has no line since shortly before the news began, and if all
of these say of the time before it what they said when the rows were made. docs/decisions/0012 goes through them one by one.
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
from jobs.timelines.cluster_facts import (
    REMOVAL_RESULT,
    ClusterFacts,
    is_removal_result_until_1_0,
    is_replica_offline,
    to_kraft_clusters,
)
from jobs.timelines.kafka_releases import releases
from jobs.warehouse.tables import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BY_TOPIC = (
    "topic_timeline", "partition_timeline", "contradictions", "elections", "isr_changes", "reassignments",
    "offline_partitions", "verdicts",
)  # fmt: skip
"""Derived tables whose rows are those of one topic (verdicts: or of no topic); rows of the others are those of a cluster."""
MARGIN = timedelta(seconds=10)
"""How long before the news a line counts as news: what another node logs within 2 s (`udfs.kafka.verdicts_columns.DOUBT_MS`) of it may matter."""
MOST_TOPICS = 5_000
"""With news of more, clusters are rebuilt as a whole: each is a word in a condition."""
MOST_SHARE = 0.5
"""With news of more than this part of a cluster's topics, it is rebuilt as a whole, too."""


@dataclass(frozen=True)
class Scope:
    """Clusters to rebuild as a whole, and by cluster the topics of others."""

    whole: tuple[str, ...]
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def clusters(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(sorted({*self.whole, *self.topics}))

    def rows_of(self, table: str) -> str:
        """Condition of the rows of a table that are rebuilt, or read to rebuild others."""
        if table not in BY_TOPIC:
            return self._of_clusters(self.clusters)
        return self._of_topics("topic IS NULL" if table == "verdicts" else "")

    @property
    def events(self) -> str:
        """Condition of the events that the rows of BY_TOPIC are made of."""
        return self._of_topics(f"topic IS NULL OR event_type IN ({_literals(CONTEXT_EVENTS)})")

    def _of_clusters(self, names: Sequence[str]) -> str:
        return f"cluster IN ({_literals(names)})" if names else "false"

    def _of_topics(self, others: str) -> str:
        also = f" OR {others}" if others else ""
        some = [
            f"cluster = {_literals([cluster])} AND ({f'topic IN ({_literals(names)})' if names else 'false'}{also})"
            for cluster, names in sorted(self.topics.items())
        ]
        return " OR ".join([self._of_clusters(self.whole), *some])


def _literals(texts: Iterable[str]) -> str:
    """Texts as SQL.

    >>> print(_literals(["a-1", "it's", "b\\\\"]))
    'a-1', 'it\\'s', 'b\\\\'
    """
    return ", ".join("'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'" for text in texts)


# ---- what was said before the news -----------------------------------------------------------------------------------
REIGNS = ("controller_id", "controller_epoch", "since", "active_since", "until")
SPANS = ("broker", "epoch", "since", "until", "started_as", "ended_by")
"""Columns of CONTROLLER_TIMELINE and BROKER_TIMELINE that rows of topics go by; `ended_by` is told with `until`."""
Row = Mapping[str, Any]


def as_of(rows: Iterable[Row], columns: Sequence[str], at: datetime) -> set[tuple[Any, ...]]:
    """Rows with `since` and `until` as they were before some time: what began later is not there, nor what ended later ended.

    >>> noon = datetime(2026, 11, 21, 12)
    >>> as_of([{"since": datetime(2026, 11, 21, 11), "until": noon, "ended_by": "fenced"}], ("until", "ended_by"), noon)
    {(None, None)}
    """
    found = set()
    for row in rows:
        if row["since"] is None or row["since"] >= at:
            continue
        ended = row["until"] is not None and row["until"] < at
        told = {name: None if isinstance(row[name], datetime) and row[name] >= at else row[name] for name in columns}
        if not ended and "ended_by" in told:
            told["ended_by"] = None
        found.add(tuple(told[name] for name in columns))
    return found


Span = tuple[datetime, datetime]


def first_difference(before: Sequence[Span], after: Sequence[Span]) -> datetime | None:
    """The first time that is in spans of one side only; null if none is. The spans of each side are apart and in order."""
    for old, new in zip(before, after, strict=False):
        if old[0] != new[0]:
            return min(old[0], new[0])
        if old[1] != new[1]:
            return min(old[1], new[1])
    count = min(len(before), len(after))
    return next((span[0] for span in (*before[count:], *after[count:])), None)


def _by_cluster(rows: DataFrame, clusters: Iterable[str]) -> dict[str, list[Row]]:
    """Rows of a small table, by cluster."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows.where(F.col("cluster").isin(*clusters)).collect():
        found[row["cluster"]].append(row.asDict())
    return found


def _any(conditions: Iterable[Column]) -> Column:
    return reduce(or_, conditions, F.lit(False))


def _older(since: Mapping[str, datetime]) -> Column:
    """Whether an event is older than its cluster's news."""
    return _any((F.col("cluster") == name) & (F.col("at") < F.lit(at)) for name, at in since.items())


@dataclass
class Growth:
    """Clusters whose events only grew since their rows were published, and since when: the time of the first new one.

    `events` are all events of the clusters; `reasons` says by cluster why it has to be rebuilt as a whole nevertheless.
    """

    warehouse: Warehouse
    since: dict[str, datetime]
    events: DataFrame
    facts: ClusterFacts
    reasons: dict[str, str] = field(default_factory=dict)

    def scope(
        self,
        clusters: Iterable[str],
        offsets: DataFrame,
        controllers: DataFrame,
        brokers: DataFrame,
    ) -> Scope:
        """What is to be rebuilt of clusters, those without such news as a whole.

        Given are the new rows of CLOCK_OFFSETS, CONTROLLER_TIMELINE and BROKER_TIMELINE.
        """
        names = tuple(sorted({*clusters}))
        if self.since:
            self._compare_coverage()
            self._compare_clocks(offsets)
        if self._left:
            self._compare("controller_timeline", controllers, REIGNS)
        if self._left:
            self._compare("broker_timeline", brokers, SPANS)
        for compare in (self._compare_seen, self._compare_kraft, self._compare_removals, self._compare_releases):
            if self._left:
                compare()
        topics = self._topics() if self._left else {}
        return Scope(tuple(name for name in names if name not in topics), topics)

    @property
    def _left(self) -> dict[str, datetime]:
        return {name: at for name, at in self.since.items() if name not in self.reasons}

    def _differ(self, clusters: Iterable[str], what: str) -> None:
        for name in clusters:
            self.reasons.setdefault(name, what)

    def _compare_coverage(self) -> None:
        """What is covered now and was not before is news from there on."""
        sides: list[dict[str, dict[int | None, list[Span]]]] = []
        for rows in (self.warehouse.read("log_coverage"), self.warehouse.newest("log_coverage")):
            side: dict[str, dict[int | None, list[Span]]] = {}
            for cluster, some in _by_cluster(rows.where("kind = 'server'"), self.since).items():
                by_node = side.setdefault(cluster, defaultdict(list))
                for row in sorted(some, key=lambda row: row["since"]):
                    by_node[row["node_id"]].append((row["since"], row["until"]))
            sides.append(side)
        for cluster in self.since:
            old, new = (side.get(cluster, {}) for side in sides)
            changes = [first_difference(old.get(node, []), new.get(node, [])) for node in {*old, *new}]
            self.since[cluster] = min([self.since[cluster], *(at for at in changes if at is not None)])

    def _compare_clocks(self, offsets: DataFrame) -> None:
        for rows in (self.warehouse.read("clock_offsets"), offsets):
            applied = rows.where("size(applied) > 0").select("cluster").distinct().collect()
            self._differ({row["cluster"] for row in applied} & {*self.since}, "a clock is corrected")

    def _compare(self, name: str, rows: DataFrame, columns: Sequence[str]) -> None:
        left = self._left
        picked = ["cluster", *dict.fromkeys((*columns, "since", "until"))]
        before, after = (_by_cluster(side.select(*picked), left) for side in (self.warehouse.read(name), rows))
        for cluster, at in left.items():
            if as_of(before.get(cluster, ()), columns, at) != as_of(after.get(cluster, ()), columns, at):
                self._differ([cluster], f"{name} has changed for times before the news")

    def _compare_seen(self) -> None:
        """A log that was there, but at WARN, may be told to be at INFO by news."""
        kinds = self.facts.kinds
        if kinds.kraft or kinds.removals or kinds.unnumbered:
            left = self._left
            for cluster, some in _by_cluster(self.facts.server_coverage, left).items():
                if any(row["covered_since"] < left[cluster] <= row["first_logged"] for row in some):
                    self._differ([cluster], "a log's level is another than it seemed")

    def _compare_kraft(self) -> None:
        if self.facts.kinds.kraft:
            left = self._left
            before = _by_cluster(to_kraft_clusters(self.events.where(_older(left))), left)
            after = _by_cluster(self.facts.kraft_clusters, left)
            changed = (name for name in left if before.get(name) != after.get(name))
            self._differ(changed, "it is told anew how KRaft keeps the last in sync")

    def _compare_removals(self) -> None:
        """A reign, or node, that never said what it made of a replica that went away may do so in the news."""
        if not self.facts.kinds.removals:
            return
        left = self._left
        of_reign, of_node = F.col("event_type") == REMOVAL_RESULT, is_removal_result_until_1_0()
        kinds = {"removed": is_replica_offline(), "of_reign": of_reign, "of_node": of_node}
        first = {name: F.min(F.when(told, F.col("at"))).alias(name) for name, told in kinds.items()}
        told = self.events.where(_any(kinds.values())).groupBy("cluster", "controller_epoch", "node_id")
        for cluster, rows in _by_cluster(told.agg(*first.values()), left).items():
            for by, tells in (("controller_epoch", "of_reign"), ("node_id", "of_node")):
                silent = {row[by] for row in rows if row["removed"] and row["removed"] < left[cluster]}
                times: dict[Any, list[datetime]] = defaultdict(list)
                for row in rows:
                    times[row[by]] += [row[tells]] if row[tells] else []
                if any(times[one] and min(times[one]) >= left[cluster] for one in silent):
                    self._differ([cluster], "a controller says by now what it made of replicas that went away")

    def _compare_releases(self) -> None:
        left = self._left
        of = F.col("cluster").isin(*left)
        before = releases(self.warehouse.read("log_files").where(of), self.events.where(_older(left)))
        after = releases(self.warehouse.newest("log_files").where(of), self.events.where(of))
        changed = (name for name in left if before.get(name) != after.get(name))
        self._differ(changed, "its release is another than it seemed")

    def _topics(self) -> dict[str, tuple[str, ...]]:
        """By cluster the topics that news name, and those whose rows say how long something lasts until the end of the logs."""
        left = self._left
        recent = _any((F.col("cluster") == name) & (F.col("at") >= F.lit(at - MARGIN)) for name, at in left.items())
        lines = self.events.where(recent)
        by_line = lines.select("cluster", "topic", "topic_id")
        listed = lines.where("partitions IS NOT NULL").select("cluster", F.explode("partitions").alias("p"))
        told = by_line.unionByName(listed.select("cluster", "p.topic", "p.topic_id")).distinct()
        topics = self.warehouse.read("topic_timeline").where(F.col("cluster").isin(*left))
        ids = topics.where("topic_id IS NOT NULL").select("cluster", "topic_id", F.col("topic").alias("name"))
        names = (
            told.join(F.broadcast(ids.distinct()), ["cluster", "topic_id"], "left")
            .select("cluster", F.coalesce("topic", "name").alias("topic"))
            .where("topic IS NOT NULL")
        )
        lasting = [self.warehouse.read("offline_partitions").where("until IS NULL")]
        if self.facts.kinds.kraft:  # a leader alone in sync counts as lost once it was fenced
            lasting.append(self.warehouse.read("partition_timeline").where("until IS NULL AND size(isr) = 1"))
        for rows in lasting:
            names = names.unionByName(rows.where(F.col("cluster").isin(*left)).select("cluster", "topic"))
        found: dict[str, set[str]] = {name: set() for name in left}
        some = names.distinct().limit(MOST_TOPICS + 1).collect()
        if len(some) > MOST_TOPICS:
            self._differ(left, f"more than {MOST_TOPICS:,} topics have news")
            return {}
        for row in some:
            found[row["cluster"]].add(row["topic"])
        counts = topics.groupBy("cluster").agg(F.countDistinct("topic").alias("topics")).collect()
        known = {row["cluster"]: row["topics"] for row in counts}
        for name, named in found.items():
            if len(named) > MOST_SHARE * known.get(name, 0):
                self._differ([name], f"{len(named):,} topics have news, {known.get(name, 0):,} were known")
        return {name: tuple(sorted(named)) for name, named in found.items() if name not in self.reasons}
