"""Minutes of which the logs of all nodes are missing though no silence is long enough to tell: see
`udfs.logs.lost_minutes`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.timelines.controllers import with_active
from jobs.timelines.observations import LEADER_STARTED, number_of
from jobs.timelines.odd_lines import breaks_of_leaders
from schemas.kafka_values import LEADER_DURING_DELETE
from schemas.spark import LONG, TEXT, struct
from udfs.logs.lost_minutes import LEAST_SILENCE, LineGap, LostMinutes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STARTS = (LEADER_STARTED, "partition_follower_epoch_started")
"""Events by which a broker begins a leader epoch of a partition, and says which it had before."""
REPORT = "kraft_performance_report"
"""Event of the active controller once in a period, also if nothing happened (4.0 on)."""
REGISTERED = ("kraft_broker_registered", "kraft_broker_registering")
"""Events by which a controller gives a broker its epoch."""
WITH_EPOCH = (
    "kraft_broker_fenced",
    "kraft_broker_unfenced",
    "kraft_broker_controlled_shutdown_replayed",
    "kraft_broker_registration_changed",
    "kraft_broker_session_timeout",
)
"""Events that repeat the epoch of the broker."""
TELLING = (*STARTS, REPORT, *WITH_EPOCH)
"""Events that tell what a line before them must have said."""
LATE = 1.5
"""A report that is so many periods later than the one before is not the next one."""
PART_US = 10_000_000
"""Silences are looked for between the first and the last line of parts of so many microseconds each."""
_HOLES = struct(cluster=TEXT, since=LONG, until=LONG)


def to_losses(
    events: DataFrame,
    controllers: DataFrame,
    traced: Collection[str] = (),
    untraced: Collection[str] = (),
    *,
    has_kraft: bool = True,
) -> DataFrame:
    """EVENTS, CONTROLLER_TIMELINE, clusters of ZooKeeper that log requests, and that do not -> cluster, since, until:
    from one line to a later one, between which others must be missing; times in microseconds. `has_kraft`: whether any
    is of KRaft.

    A broker says which leader epoch it had of a partition, and its last line about that has a lower one; from 3.9 on
    followers print the new one, which tells nothing. A controller repeats a broker's epoch, and no line of its
    registration has that. One that is active for longer than a period reports no period. Where requests are logged
    (TRACE), each leader epoch of a partition is in some line, but for those of its deletion. Where they are not, a
    leader changes the ISR that it had (`breaks_of_leaders`).
    """
    named = events.select("cluster", "node_id", "at", "file_id", "line", "event_type", "fields", "broker_id",
                          "topic", "partition", "leader", "leader_epoch",
                          F.unix_micros("at").alias("micros"))  # fmt: skip
    parts = [_with_other_epochs(named)]
    if has_kraft:
        parts += [_with_unknown_registrations(named, controllers, events), _with_late_reports(named, controllers)]
    if traced:
        parts.append(_with_skipped_epochs(named.where(F.col("cluster").isin(*traced))))
    if untraced:
        breaks = breaks_of_leaders(events.where(F.col("cluster").isin(*untraced)))
        parts.append(breaks.withColumns({name: F.unix_micros(name) for name in ("since", "until")}))
    losses = reduce(DataFrame.unionByName, parts)
    # of those that end within one part the shortest is enough
    by_part = losses.groupBy("cluster", F.floor(F.col("until") / PART_US).alias("part"))
    shortest = F.max(F.struct("since", (-F.col("until")).alias("before"))).alias("one")
    return by_part.agg(shortest).select("cluster", "one.since", (-F.col("one.before")).alias("until"))


def _with_other_epochs(named: DataFrame) -> DataFrame:
    """Losses of brokers that had a leader epoch of which they have no line."""
    of_broker = Window.partitionBy("cluster", "node_id", "topic", "partition").orderBy("micros", "line")
    had = number_of("previous_leader_epoch")
    return (
        named.where(F.col("event_type").isin(*STARTS) & F.col("node_id").isNotNull())
        .withColumn("had", had)
        .withColumns({"since": F.lag("micros").over(of_broker), "last": F.lag("leader_epoch").over(of_broker)})
        .where("last < had AND had < leader_epoch")
        .select("cluster", "since", F.col("micros").alias("until"))
    )


def _with_skipped_epochs(named: DataFrame) -> DataFrame:
    """Losses of clusters in which no line has a leader epoch of a partition between two others. As a topic is deleted
    its controller raises them without a line: partitions that ever were are left out."""
    partition = ("cluster", "topic", "partition")
    of_deletions = named.where(F.col("leader") == LEADER_DURING_DELETE).select(*partition).distinct()
    in_order = Window.partitionBy(*partition).orderBy("leader_epoch")
    return (
        named.where("topic IS NOT NULL AND partition IS NOT NULL AND leader_epoch IS NOT NULL")
        .groupBy(*partition, "leader_epoch")
        .agg(F.min("micros").alias("until"), F.max("micros").alias("last"))
        .withColumns({"since": F.lag("last").over(in_order), "before": F.lag("leader_epoch").over(in_order)})
        .where("before < leader_epoch - 1 AND since < until")
        .join(of_deletions, [*partition], "left_anti")
        .select("cluster", "since", "until")
    )


def _with_unknown_registrations(named: DataFrame, controllers: DataFrame, events: DataFrame) -> DataFrame:
    """Losses of active controllers that know a registration of a broker of which they have no line."""
    lines = with_active(named.where(F.col("event_type").isin(*REGISTERED, *WITH_EPOCH)), controllers, events)
    of_broker = Window.partitionBy("cluster", "broker").orderBy("micros", "line")
    epoch = F.col("fields")["broker_epoch"].try_cast("long")
    return (
        lines.where("is_active")
        .withColumns({"broker": F.coalesce(number_of("broker"), "broker_id"), "epoch": epoch})
        .where("broker IS NOT NULL AND epoch IS NOT NULL")
        .withColumns({"since": F.lag("micros").over(of_broker), "last": F.lag("epoch").over(of_broker)})
        .where(F.col("event_type").isin(*WITH_EPOCH) & (F.col("last") < F.col("epoch")))
        .select("cluster", "since", F.col("micros").alias("until"))
    )


def _with_late_reports(named: DataFrame, controllers: DataFrame) -> DataFrame:
    """Losses of controllers that did not report a period within a term."""
    terms = controllers.groupBy("cluster").agg(F.collect_list(F.unix_micros("since")).alias("terms"))
    of_node = Window.partitionBy("cluster", "node_id").orderBy("micros", "line")
    period = number_of("interval_ms") * 1000
    return (
        named.where(F.col("event_type") == REPORT)
        .withColumns({"since": F.lag("micros").over(of_node), "period": period})
        .where(F.col("micros") - F.col("since") > LATE * F.col("period"))
        .join(F.broadcast(terms), "cluster")
        .where(~F.exists("terms", lambda at: (at > F.col("since")) & (at <= F.col("micros"))))
        .select("cluster", "since", F.col("micros").alias("until"))
    )


def to_silences(events: DataFrame, *by: str) -> DataFrame:
    """EVENTS -> cluster, since, until in microseconds: LEAST_SILENCE or longer in which no node logs anything; with
    `by` (`node_id`) of each node by itself."""
    micros, own = F.unix_micros("at"), ("cluster", *by)
    parts = (
        events.where("at IS NOT NULL")
        .groupBy(*own, F.floor(micros / PART_US).alias("part"))
        .agg(F.min(micros).alias("until"), F.max(micros).alias("last"))
    )
    in_order = Window.partitionBy(*own).orderBy("part")
    return (
        parts.withColumn("since", F.lag("last").over(in_order))
        .where(F.col("until") - F.col("since") >= LEAST_SILENCE)
        .select(*own, "since", "until")
    )


def collect_lost_minutes(
    events: DataFrame,
    controllers: DataFrame,
    traced: Collection[str] = (),
    untraced: Collection[str] = (),
    *,
    has_kraft: bool = True,
) -> dict[str, LostMinutes]:
    """Arguments of `to_losses` -> what tells of holes, by cluster of which lines are missing. Silences are looked for
    only there."""
    losses = _by_cluster(to_losses(events, controllers, traced, untraced, has_kraft=has_kraft))
    if not losses:
        return {}
    silences = _by_cluster(to_silences(events.where(F.col("cluster").isin(*losses))))
    return {name: LostMinutes(tuple(some), tuple(silences.get(name, ()))) for name, some in losses.items()}


def _by_cluster(rows: DataFrame) -> dict[str, list[LineGap]]:
    """Rows with since and until, in order, by cluster."""
    stretches: dict[str, list[LineGap]] = defaultdict(list)
    for row in sorted(rows.collect()):
        stretches[row["cluster"]].append(LineGap(row["since"], row["until"]))
    return stretches


def hole_rows(spark: SparkSession, holes: Mapping[str, Sequence[LineGap]]) -> DataFrame:
    """Holes by cluster -> cluster, since, until, in microseconds."""
    return spark.createDataFrame([(name, *hole) for name, some in holes.items() for hole in some], _HOLES)


def without_holes(spans: DataFrame, holes: Mapping[str, Sequence[LineGap]]) -> DataFrame:
    """Rows with `cluster, since, until`, as LOG_COVERAGE -> the same, each in parts where a hole is within it."""
    if not any(holes.values()):
        return spans
    rows = hole_rows(spans.sparkSession, holes)
    of_cluster = rows.groupBy("cluster").agg(F.array_sort(F.collect_list(F.struct("since", "until"))).alias("holes"))
    since, until = F.unix_micros("since"), F.unix_micros("until")
    own = F.filter("holes", lambda hole: (hole["until"] > since) & (hole["since"] < until))
    within = F.coalesce(own, F.array().cast("array<struct<since: bigint, until: bigint>>"))
    begins = F.concat(F.array(since), F.transform("within", lambda hole: hole["until"]))
    ends = F.concat(F.transform("within", lambda hole: hole["since"]), F.array(until))
    return (
        spans.join(F.broadcast(of_cluster), "cluster", "left")
        .withColumn("within", within)
        .withColumn("part", F.explode(F.arrays_zip(begins.alias("begin"), ends.alias("end"))))
        .where("part.begin <= part.end")
        .withColumns({"since": F.timestamp_micros("part.begin"), "until": F.timestamp_micros("part.end")})
        .select(*spans.columns)
    )
