"""Hours of which lines are lost here and there, as a log shipper drops them: nothing is inferred there in KRaft.

Other losses show where they are: a log that is missing, a hole, an epoch without a line. Single lines do not, but where
two lines tell of one thing. A broker prints each request that it receives, and a ZooKeeper controller each one that it
sends (TRACE): the share of those that nobody sent is about that of the lines that are lost. In KRaft a broker says how
many partitions it goes through next, and then logs a line for each: those of more partitions than it said follow
an announcement that is lost. A leader that writes its ISR to ZooKeeper says from which ISR to which it changes: within
a leader epoch it goes on from the one to which it came, or, if it failed to write that, from the one before. And a
ZooKeeper controller that lists who came and went says next that it takes up the one and the other. In whole logs, and
in logs with holes, there is no line that lacks its other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.timelines.lost_minutes import STARTS
from jobs.timelines.observations import number_of
from jobs.timelines.odd_lines import breaks_of_controllers, breaks_of_leaders
from jobs.timelines.topics import INCARNATION
from schemas.spark import LONG, TEXT, struct
from udfs.logs.lost_minutes import LineGap

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


LossyHours = Mapping[str, Sequence[int]]
"""By cluster when hours with lost lines begin, in microseconds since 1970 UTC, in order; of others nothing."""
ANNOUNCED = ("kraft_local_leaders_summary", "kraft_local_followers_summary")
"""Events by which a broker says how many partitions it makes leaders or followers of next (3.0 on)."""
DONE = (
    *STARTS,
    "become_leader_skipped_already_leader",
    "become_leader_skipped_newer_partition_epoch",
    "become_follower_skipped_same_leader",
    "become_follower_skipped_newer_partition_epoch",
)
"""Events by which it goes through one of them."""
LEAST, LEAST_SHARE = 5, 0.04
"""So many lost announcements in an hour are no accident; nor so many requests of a controller, if such a share of those
that brokers received of it have no line of being sent. In whole logs these are 3 % of an hour at most, as it is not
certain which line is whose."""
LEAST_BREAKS, ONE_BY_ONE = 2, "INTERVAL 10 MINUTES"
"""So many lines of leaders and controllers in an hour that do not go with the one before are no accident; changes of
ISRs further apart may have a hole between them."""
NEAR_US = 10_000_000
"""A leader writes a smaller ISR within so many microseconds after it says so."""
_HOURS = struct(cluster=TEXT, micros=LONG)
_HOUR_US = 3_600_000_000


def to_lossy_hours_of_zookeeper(requests: DataFrame) -> DataFrame:
    """CONTROL_REQUESTS -> cluster, hour: those with lost lines. A controller that logged nothing it sent in an hour
    tells nothing: its log is missing, or is not at TRACE."""
    hour = F.date_trunc("hour", F.coalesce("sent_at", "received_at"))
    is_lost = F.col("sent_at").isNull() & F.col("received_at").isNotNull()
    return (
        requests.groupBy("cluster", "controller_id", hour.alias("hour"))
        .agg(
            F.count("sent_at").alias("sent"),
            F.count("received_at").alias("received"),
            F.count_if(is_lost).alias("lost"),
        )
        .where((F.col("sent") > 0) & (F.col("lost") >= LEAST) & (F.col("lost") >= LEAST_SHARE * F.col("received")))
        .select("cluster", "hour")
        .distinct()
    )


def to_lossy_hours_of_kraft(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, hour: those in which brokers went through more partitions than they had said, LEAST times or
    more. An hour that is among them stays so, whatever lines come later."""
    is_announced = F.col("event_type").isin(*ANNOUNCED)
    in_order = Window.partitionBy("cluster", "node_id", "file_id").orderBy("line")
    lines = events.where(
        (is_announced | F.col("event_type").isin(*DONE)) & (F.col("logger") == "state.change.logger")
    ).select("cluster", "node_id", "file_id", "line", "at", is_announced.alias("is_announced"),
             number_of("partition_count").alias("count"))  # fmt: skip
    numbered = lines.withColumn("number", F.sum(F.col("is_announced").cast("int")).over(in_order))
    # lines before the first one have none that they could be too many for
    by_announcement = numbered.groupBy("cluster", "node_id", "file_id", "number")
    return (
        by_announcement.agg(
            F.max("count").alias("announced"), F.count_if(~F.col("is_announced")).alias("done"), F.min("at").alias("at")
        )
        .where("done > announced")
        .groupBy("cluster", F.date_trunc("hour", "at").alias("hour"))
        .agg(F.count(F.lit(1)).alias("lost"))
        .where(F.col("lost") >= LEAST)
        .select("cluster", "hour")
    )


def to_lossy_hours_at_info(events: DataFrame) -> DataFrame:
    """EVENTS of clusters with ZooKeeper -> cluster, hour: those in which LEAST_BREAKS lines or more, of leaders and
    controllers, do not go with the one before."""
    return (
        breaks_of_leaders(events)
        .where(F.col("until") <= F.col("since") + F.expr(ONE_BY_ONE))
        .select("cluster", F.col("until").alias("at"))
        .unionByName(breaks_of_controllers(events))
        .groupBy("cluster", F.date_trunc("hour", "at").alias("hour"))
        .agg(F.count(F.lit(1)).alias("breaks"))
        .where(F.col("breaks") >= LEAST_BREAKS)
        .select("cluster", "hour")
    )


def collect_lossy_hours(events: DataFrame, untraced: Collection[str] = (), *, has_kraft: bool = True) -> LossyHours:
    """Rows of `to_lossy_hours_of_kraft`, if any cluster may have them, and of `to_lossy_hours_at_info` of clusters with
    ZooKeeper that do not log their requests, by cluster, in order; there are few."""
    parts = [to_lossy_hours_of_kraft(events)] if has_kraft else []
    if untraced:
        parts.append(to_lossy_hours_at_info(events.where(F.col("cluster").isin(*untraced))))
    if not parts:
        return {}
    rows = reduce(DataFrame.unionByName, parts)
    hours = defaultdict[str, list[int]](list)
    for row in sorted(rows.select("cluster", F.unix_micros("hour").alias("hour")).distinct().collect()):
        hours[row["cluster"]].append(row["hour"])
    return dict(hours)


def with_lossy_hours(holes: Mapping[str, Sequence[LineGap]], hours: LossyHours) -> dict[str, list[LineGap]]:
    """Holes by cluster -> the same with these hours, as holes that do not overlap, in order."""
    together = {name: list(some) for name, some in holes.items()}
    for name, starts in hours.items():
        ordered = sorted([*together.get(name, ()), *(LineGap(start, start + _HOUR_US) for start in starts)])
        merged = ordered[:1]
        for gap in ordered[1:]:
            if gap.since <= merged[-1].until:
                merged[-1] = LineGap(merged[-1].since, max(merged[-1].until, gap.until))
            else:
                merged.append(gap)
        together[name] = merged
    return together


def with_lossy_mark(rows: DataFrame, hours: DataFrame) -> DataFrame:
    """Rows with `cluster, at`; cluster, hour -> the former with `is_lossy`: true in these hours, else null."""
    lossy = F.broadcast(hours.withColumn("is_lossy", F.lit(True)))
    return rows.withColumn("hour", F.date_trunc("hour", "at")).join(lossy, ["cluster", "hour"], "left")


def lossy_hour_rows(spark: SparkSession, hours: LossyHours) -> DataFrame:
    """Hours by cluster -> cluster, hour."""
    rows = spark.createDataFrame([(name, hour) for name, some in hours.items() for hour in some], _HOURS)
    return rows.select("cluster", F.timestamp_micros("micros").alias("hour"))


def without_inferred(states: DataFrame, hours: LossyHours, shrinks: DataFrame) -> DataFrame:
    """NUMBERED_STATES, INCARNATION with `shrinks` (the ISRs to which leaders say that they shrink: `broker, at, isr`)
    -> those that are not inferred, or of other hours, or that their leader says it writes: what follows where no line
    is lost may not follow there."""
    if not hours:
        return states
    by_hour = with_lossy_mark(states, lossy_hour_rows(states.sparkSession, hours))
    by_shrink = by_hour.join(F.broadcast(shrinks), INCARNATION, "left")

    def is_of_state(shrink: Column) -> Column:
        is_near = F.abs(shrink["at"] - F.unix_micros("at")) <= NEAR_US
        return is_near & (shrink["broker"] == F.col("leader")) & (shrink["isr"] == F.col("isr"))

    is_told = F.coalesce(F.exists("shrinks", is_of_state), F.lit(False))
    is_guess = F.coalesce(F.col("is_lossy") & F.col("inferred"), F.lit(False)) & ~is_told
    return by_shrink.where(~is_guess).select(*states.columns)
