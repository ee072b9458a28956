"""Lines of leaders and controllers that use ZooKeeper, at INFO, which do not go with the one before: others are lost.

In the whole logs of nineteen clusters there is none among 1,180 changes of ISRs (0.11 to 2.6), and 520 lists of brokers
(0.8 to 3.9).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.observations import EPOCH_STARTED, LEADER_STARTED, ids_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BEGUN, SHRINKS, GROWS = (EPOCH_STARTED, LEADER_STARTED), "isr_shrinking", "isr_expanding"
"""Events by which a leader begins a leader epoch, and says that it changes the ISR."""
LISTED, CAME, WENT = "broker_set_changed", "broker_startup", "broker_failure"
"""Events by which a ZooKeeper controller lists brokers that came and went, and takes up each of both next."""
TERM_BEGINS = ("controller_elected", "controller_epoch_incremented", "broker_starting")


def breaks_of_leaders(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, since, until: from one change of an ISR to the leader's next one, if that begins with another
    ISR than the former led to. Only leaders that print when they begin a leader epoch (0.11 on) and both kinds of
    changes (until 2.6) can tell. They do so in another file than the changes (2.6), or by clocks of seconds: what is as
    old as the begin of a leader epoch may be of the one before."""
    is_begin, is_change = F.col("event_type").isin(*BEGUN), F.col("event_type").isin(SHRINKS, GROWS)
    old_isr, isr = ids_of("old_isr"), F.array_sort("isr")
    is_shown = is_begin | (is_change & old_isr.isNotNull() & isr.isNotNull())
    own = events.where(is_shown & F.col("topic").isNotNull())
    of_leader = Window.partitionBy("cluster", "node_id", "topic", "partition")
    in_order, by_then = of_leader.orderBy("at", "line", "file_id"), of_leader.orderBy("at")
    change = F.when(is_change, F.struct("at", old_isr.alias("begin"), isr.alias("end")))
    changes = own.select(
        "cluster", "node_id", "at", change.alias("change"), F.lag(change).over(in_order).alias("before"),
        F.max(F.when(is_begin, F.col("at"))).over(by_then.rangeBetween(Window.unboundedPreceding, 0)).alias("begun_at"),
    ).where("begun_at < before.at AND change IS NOT NULL")  # fmt: skip
    goes_on = F.col("change.begin").isin(F.col("before.end"), F.col("before.begin"))
    last = own.where(F.col("event_type") == GROWS).groupBy("cluster", "node_id").agg(F.max("at").alias("last_growth"))
    return (
        changes.where(~goes_on)
        .join(F.broadcast(last), ["cluster", "node_id"])
        .where("at <= last_growth")
        .select("cluster", F.col("before.at").alias("since"), F.col("at").alias("until"))
    )


def breaks_of_controllers(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, at: lists of brokers that came and went without the line by which the controller takes that
    up, or with one that it has no reason for. Of the last list of a term that line may never have been written.

    Exports may have lines of one millisecond in any order, and logs may be there twice: a list comes first, and once.
    """
    kind = F.col("event_type")
    is_list, begins_term = kind == LISTED, kind.isin(*TERM_BEGINS)

    def names_any(*names: str) -> Column:
        return F.bool_or(F.greatest(*(F.coalesce(F.size(ids_of(name)), F.lit(0)) > 0 for name in names)))

    lines = events.where(kind.isin(LISTED, CAME, WENT, *TERM_BEGINS) & F.col("node_id").isNotNull())
    once = lines.groupBy("cluster", "node_id", "at", "event_type").agg(
        names_any("added_brokers", "bounced_brokers").alias("lists_start"),
        names_any("deleted_brokers", "bounced_brokers").alias("lists_end"),
    )
    in_order = Window.partitionBy("cluster", "node_id").orderBy(
        "at", F.desc(begins_term), F.desc(is_list), "event_type"
    )
    parts = once.withColumn("part", F.count_if(is_list | begins_term).over(in_order))
    by_part = parts.groupBy("cluster", "node_id", "part").agg(
        F.bool_or(is_list).alias("is_list"),
        F.min("at").alias("at"),
        (F.bool_or(is_list & F.col("lists_start")) != F.bool_or(kind == CAME)).alias("is_odd_start"),
        (F.bool_or(is_list & F.col("lists_end")) != F.bool_or(kind == WENT)).alias("is_odd_end"),
    )
    is_followed = F.lead("is_list").over(Window.partitionBy("cluster", "node_id").orderBy("part"))
    return (
        by_part.withColumn("is_followed", is_followed)
        .where("is_list AND is_followed AND (is_odd_start OR is_odd_end)")
        .select("cluster", "at")
    )
