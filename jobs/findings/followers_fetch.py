"""How soon after an election the followers fetched from the new leader, by the lines of their fetcher managers.

A follower that learns of another leader stops fetching, and adds a fetcher anew: `Added fetcher to broker 2 for
partitions …` (server.log at INFO, all releases). From 2.1 on the line has the leader epoch; before, a follower whose
leader stays fetches on (`Partition.makeFollower`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.cluster_facts import EvidenceKinds
from jobs.timelines.epoch_bounds import FETCHED
from jobs.timelines.evidence import milliseconds
from jobs.timelines.topics import INCARNATION

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LONGEST_S = 300
"""So long after an election a fetcher belongs to it. A night's window begins no nearer to what is new (decision 18)."""
EARLY_S, EARLY_WITHOUT_EPOCH_S = 2.0, 0.05
"""So long before the election's line a follower's may be, by another node's clock; and one without leader epoch, which
the epoch before may have led to."""
_KEY = [*INCARNATION, "leader_epoch"]
_FETCHER = ["cluster", "topic", "partition", "follower", "leader", "span"]


def with_followers_fetch(elections: DataFrame, events: DataFrame, kinds: EvidenceKinds) -> DataFrame:
    """Rows of ELECTIONS, EVENTS -> the same with `followers_fetch_ms`: when the last follower of the ISR fetched.

    `last_leader`: of each election the last leader before.

    Milliseconds after `at`, at least 0. Null if the line of one of them is not there, if no one else is in the ISR, and
    where it is not known.
    """
    if not kinds.have([FETCHED]):
        return elections.withColumn("followers_fetch_ms", F.lit(None).cast("long"))
    in_order = Window.partitionBy("cluster", "topic", "partition").orderBy("at", "incarnation", "leader_epoch")
    followed = (
        elections.where("succeeded")
        .withColumn("next_elected_at", F.lead("at").over(in_order))
        .withColumn("followers", F.array_except("isr", F.array("leader")))
    )
    waited_for = followed.select(
        *_KEY,
        "leader",
        "at",
        "next_elected_at",
        (F.col("leader") != F.col("last_leader")).alias("is_moved"),
        F.size("followers").alias("waited_for"),
        F.explode("followers").alias("follower"),
    ).withColumn("span", F.explode(F.sequence(_span(_seconds("at") - EARLY_S), _span(_seconds("at") + LONGEST_S))))
    last = (
        waited_for.join(_added_fetchers(events), _FETCHER)
        .where(_is_of_election())
        .groupBy(*_KEY, "at", "waited_for", "follower")
        .agg(F.min("fetched_at").alias("fetched_at"))
        .groupBy(*_KEY, "at", "waited_for")
        .agg(F.count(F.lit(1)).alias("number"), F.max("fetched_at").alias("fetched_at"))
        .where("number = waited_for")
        .select(*_KEY, F.greatest(F.lit(0), milliseconds("at", "fetched_at")).alias("followers_fetch_ms"))
    )
    return elections.join(last, _KEY, "left")


def _added_fetchers(events: DataFrame) -> DataFrame:
    """EVENTS -> `_FETCHER`, `fetched_at`, `fetched_epoch` (null: not printed), a row for each partition of a line."""
    listed = events.where(F.col("event_type") == FETCHED).withColumn("one", F.explode_outer("partitions"))
    # 0.8.0 prints a line for each partition; the lines from 2.1 on are of one leader
    source_broker = F.col("fields")["source_broker"].try_cast("int")
    return listed.select(
        "cluster",
        F.coalesce("one.topic", "topic").alias("topic"),
        F.coalesce("one.partition", "partition").alias("partition"),
        F.coalesce("node_id", "broker_id").alias("follower"),
        F.coalesce("one.leader", source_broker).alias("leader"),
        F.col("at").alias("fetched_at"),
        F.col("one.leader_epoch").alias("fetched_epoch"),
    ).withColumn("span", _span(_seconds("fetched_at")))


def _is_of_election() -> Column:
    """Whether a follower added its fetcher because of the election: by the leader epoch, else by the time."""
    after_s = _seconds("fetched_at") - _seconds("at")
    is_before_next = F.col("next_elected_at").isNull() | (F.col("fetched_at") < F.col("next_elected_at"))
    by_time = F.col("is_moved") & (after_s >= -EARLY_WITHOUT_EPOCH_S) & is_before_next
    by_epoch = (F.col("fetched_epoch") == F.col("leader_epoch")) & (after_s >= -EARLY_S)
    return F.when(F.col("fetched_epoch").isNull(), by_time).otherwise(by_epoch) & (after_s <= LONGEST_S)


def _seconds(name: str) -> Column:
    """A time as seconds since 1970, with their fractions."""
    return F.col(name).cast("double")


def _span(seconds: Column) -> Column:
    """Which span of LONGEST_S a time is in."""
    return F.floor(seconds / LONGEST_S)
