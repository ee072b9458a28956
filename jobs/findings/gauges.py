"""What dashboards show, from the timelines: availability by hour, preferred replica imbalance, gauges by minute.

Intervals become changes of a number at their two ends, which are summed up in order of time.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.configured import configured
from jobs.timelines.running_windows import row_and_behind
from jobs.timelines.topics import INCARNATION
from schemas.gauges import CLUSTER_MINUTELY, PREFERRED_REPLICA_IMBALANCE, TOPIC_AVAILABILITY
from schemas.kafka_values import IS_MIN_ISR_OF_NODES, IS_MIN_ISR_OF_TOPIC

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from jobs.settings import Settings


def _union(frames: list[DataFrame]) -> DataFrame:
    return reduce(lambda some, others: some.unionByName(others, allowMissingColumns=True), frames)


def with_assignments(partitions: DataFrame, outages: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE, OFFLINE_PARTITIONS -> rows of `with_unwritten_losses` with `replicas` of the state before, or
    of the next one, where theirs are in no line; null if none of the partition's are."""
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    before = F.last("replicas", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    after = F.last("replicas", ignorenulls=True).over(row_and_behind(INCARNATION, ["ordinal"]))
    assigned = partitions.withColumn("replicas", F.coalesce(before, after))
    return with_unwritten_losses(assigned, outages).select(
        *INCARNATION, "leader", "isr", "since", "until", "availability", "replicas"
    )


def with_unwritten_losses(partitions: DataFrame, outages: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE, OFFLINE_PARTITIONS -> the former, each state with a leader only until an outage that begins
    within it, and that outage as a row with leader -1.

    Until 2.0 a ZooKeeper controller writes nothing as it fails to elect another leader for a dead one, nor does anybody
    as the last broker goes.
    """
    losses = outages.select(
        *INCARNATION,
        "since",
        _surely_until().alias("until"),
        F.lit(-1).alias("leader"),
        F.lit("Offline").alias("availability"),
        F.lit(True).alias("is_loss"),
    )
    order = Window.partitionBy(*INCARNATION).orderBy("since", F.desc_nulls_last("is_loss"), "ordinal")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    is_loss = F.coalesce("is_loss", F.lit(False))
    state = F.struct("leader", "until", "isr", "replicas")
    rows = partitions.unionByName(losses, allowMissingColumns=True).withColumns(
        {
            "state": F.last(F.when(~is_loss, state), ignorenulls=True).over(before),
            "lost_at": F.when(F.lead("is_loss").over(order), F.lead("since").over(order)),
        }
    )
    lasts = F.col("state.until").isNull() | (F.col("state.until") > F.col("since"))
    is_within = F.coalesce((F.col("state.leader") >= 0) & lasts, F.lit(False))
    # what is not null is the lesser
    led_until = F.when(F.col("leader") >= 0, F.least("until", "lost_at")).otherwise(F.col("until"))
    return (
        rows.where(~is_loss | is_within)
        .withColumns(
            {
                "until": F.when(is_loss, F.least("until", "state.until")).otherwise(led_until),
                **{
                    name: F.when(is_loss, F.col(f"state.{name}")).otherwise(F.col(name)) for name in ("isr", "replicas")
                },
            }
        )
        .select(*partitions.columns)
    )


# ---- availability ---------------------------------------------------------------------------------------------------
def to_topic_availability(
    outages: DataFrame,
    partitions: DataFrame,
    topics: DataFrame,
    ends: DataFrame,
    settings: Settings,
    config_changes: DataFrame | None = None,
) -> DataFrame:
    """OFFLINE_PARTITIONS, PARTITION_TIMELINE, TOPIC_TIMELINE, CONFIG_CHANGES -> TOPIC_AVAILABILITY.

    `ends`: cluster, end_of_logs. `config_changes` is None where no line has a setting of a topic.
    """
    leaderless = outages.select("cluster", "topic", "since", _sure_end().alias("until"), F.lit(1).alias("leaderless"))
    under = (
        with_unwritten_losses(partitions.where("availability = 'UnderMinIsr'"), outages)
        .where("availability = 'UnderMinIsr'")
        .join(F.broadcast(ends), "cluster")
        .select("cluster", "topic", "since", F.coalesce("until", "end_of_logs").alias("until"))
        .withColumn("leaderless", F.lit(0))
    )
    hour = F.expr("INTERVAL 1 HOUR")
    hours = F.sequence(F.date_trunc("hour", "since"), F.date_trunc("hour", "until"), hour)
    ms = (F.unix_millis(F.least("until", F.col("window") + hour)) - F.unix_millis(F.greatest("since", "window"))).cast(
        "long"
    )
    by_hour = (
        leaderless.unionByName(under)
        .where("until > since")
        .withColumn("window", F.explode(hours))
        .withColumn("ms", ms)
        .groupBy("cluster", "topic", "window")
        .agg(
            F.sum(F.when(F.col("leaderless") == 1, F.col("ms")).otherwise(0)).alias("leaderless_ms"),
            F.sum(F.when(F.col("leaderless") == 0, F.col("ms")).otherwise(0)).alias("under_min_isr_ms"),
        )
        .where("leaderless_ms + under_min_isr_ms > 0")
    )
    by_day = by_hour.groupBy("cluster", "topic", F.date_trunc("day", "window").alias("window")).agg(
        F.sum("leaderless_ms").alias("leaderless_ms"), F.sum("under_min_isr_ms").alias("under_min_isr_ms")
    )
    both = by_hour.withColumn("span", F.lit("hour")).unionByName(by_day.withColumn("span", F.lit("day")))
    sizes = topics.groupBy("cluster", "topic").agg(F.max("partitions").alias("partitions"))
    span_ms = F.when(F.col("span") == "hour", 3_600_000).otherwise(86_400_000)
    part = F.col("leaderless_ms") / (F.col("partitions").cast("double") * span_ms)
    return (
        _with_known_min_isr(both.join(sizes, ["cluster", "topic"], "left"), settings, config_changes)
        .withColumns(
            {
                "availability": F.greatest(F.lit(0.0), 1 - part),
                "under_min_isr_ms": F.when(F.col("knows_min_isr"), F.col("under_min_isr_ms")),
            }
        )
        .select(*TOPIC_AVAILABILITY.columns)
    )


def _with_known_min_isr(rows: DataFrame, settings: Settings, config_changes: DataFrame | None) -> DataFrame:
    """Rows with `knows_min_isr`: whether `min.insync.replicas` of the topic is in the settings, or in a line, or by
    lines the topic has none of its own and all nodes print one and the same."""
    is_set = configured(settings, "min_insync_replicas", "int").isNotNull()
    if config_changes is None:
        return rows.withColumn("knows_min_isr", is_set)
    by_node = config_changes.where(IS_MIN_ISR_OF_NODES).groupBy("cluster")
    default = by_node.agg((F.countDistinct("value") == 1).alias("has_default"))
    by_lines = config_changes.where(IS_MIN_ISR_OF_TOPIC).join(F.broadcast(default), "cluster", "left")
    known = by_lines.where("value IS NOT NULL OR has_default").select("cluster", "topic").distinct()
    known = known.withColumn("in_line", F.lit(True))
    with_lines = rows.join(F.broadcast(known), ["cluster", "topic"], "left")
    return with_lines.withColumn("knows_min_isr", is_set | F.coalesce("in_line", F.lit(False))).drop("in_line")


# ---- imbalance ------------------------------------------------------------------------------------------------------
def to_preferred_replica_imbalance(assigned: DataFrame) -> DataFrame:
    """Rows of `with_assignments` -> PREFERRED_REPLICA_IMBALANCE."""
    preferred = F.try_element_at("replicas", F.lit(1))
    leads = assigned.where("leader >= 0").select("cluster", F.col("leader").alias("broker"), "since", "until")
    first = assigned.where("size(replicas) > 0").select(
        "cluster",
        preferred.alias("broker"),
        "since",
        "until",
        F.lit(1).alias("preferred"),
        F.when(F.col("leader") != preferred, 1).otherwise(0).alias("imbalanced"),
    )
    names = ("leaders", "preferred", "imbalanced")
    changes = _changes(_union([leads.withColumn("leaders", F.lit(1)), first]), ["cluster", "broker"], names)
    order = Window.partitionBy("cluster", "broker").orderBy("at")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    sums = {name: F.sum(name).over(so_far).cast("int") for name in names}
    return (
        changes.withColumns({**sums, "until": F.lead("at").over(order)})
        .withColumn("since", F.col("at"))
        .withColumn("ratio", F.when(F.col("preferred") > 0, F.col("imbalanced") / F.col("preferred")))
        .select(*PREFERRED_REPLICA_IMBALANCE.columns)
    )


def _changes(intervals: DataFrame, by: list[str], names: tuple[str, ...]) -> DataFrame:
    """`by`, at, and by how much each number changes then, where any does. A null number counts as 0."""
    numbers = [F.coalesce(F.col(name), F.lit(0)).alias(name) for name in names]
    begins = intervals.select(*by, F.col("since").alias("at"), *numbers)
    ends = intervals.where("until IS NOT NULL").select(
        *by, F.col("until").alias("at"), *((-F.coalesce(F.col(name), F.lit(0))).alias(name) for name in names)
    )
    changes_any = reduce(lambda some, name: some | (F.col(name) != 0), names, F.lit(False))
    return (
        begins.unionByName(ends).groupBy(*by, "at").agg(*(F.sum(name).alias(name) for name in names)).where(changes_any)
    )


# ---- minutes --------------------------------------------------------------------------------------------------------
def to_cluster_minutely(
    outages: DataFrame,
    assigned: DataFrame,
    controllers: DataFrame,
    elections: DataFrame,
    isr_changes: DataFrame,
    coverage: DataFrame,
) -> DataFrame:
    """OFFLINE_PARTITIONS, rows of `with_assignments`, CONTROLLER_TIMELINE, ELECTIONS, ISR_CHANGES, LOG_COVERAGE ->
    CLUSTER_MINUTELY."""
    gauges = {
        "offline_partitions_count": outages.select("cluster", "since", _surely_until().alias("until")),
        "under_replicated_partitions": assigned.where("leader >= 0 AND size(isr) < size(replicas)"),
        # one that another has replaced may go on until it is ready, and only then learn of it
        "active_controller_count": controllers.where(
            "active_since IS NOT NULL AND (until IS NULL OR active_since < until)"
        ).select("cluster", F.col("active_since").alias("since"), "until"),
    }
    counts: Mapping[str, DataFrame] = {
        "offline_begins": _first_begins(outages),
        "leader_elections": elections.where("succeeded"),
        "unclean_leader_elections": elections.where("unclean"),
        "isr_shrinks": isr_changes.where("kind = 'shrink'"),
        "isr_expands": isr_changes.where("kind = 'expand'"),
    }
    minute = F.date_trunc("minute", "at").alias("minute")
    intervals = _union(
        [rows.select("cluster", "since", "until", F.lit(1).alias(name)) for name, rows in gauges.items()]
    )
    changes = _changes(intervals, ["cluster"], tuple(gauges)).select("cluster", minute, *gauges)
    instants = _union([rows.select("cluster", minute, F.lit(1).alias(name)) for name, rows in counts.items()])
    numbers = (*gauges, *counts)
    by_minute = (
        _union([changes, instants, _minutes(coverage)])
        .groupBy("cluster", "minute")
        .agg(*(F.coalesce(F.sum(name), F.lit(0)).cast("int").alias(name) for name in numbers))
    )
    order = Window.partitionBy("cluster").orderBy("minute")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = F.coalesce(
        F.sum("offline_partitions_count").over(order.rowsBetween(Window.unboundedPreceding, -1)), F.lit(0)
    )
    sums = {name: F.sum(name).over(so_far).cast("int") for name in gauges}
    seen = (before + F.col("offline_begins")).cast("int")
    return by_minute.withColumns({"offline_partitions_seen": seen, **sums}).select(*CLUSTER_MINUTELY.columns)


def _first_begins(outages: DataFrame) -> DataFrame:
    """OFFLINE_PARTITIONS -> cluster, at: when each began, but those of a partition that was without a leader before in
    the same minute: it counts once."""
    order = Window.partitionBy("cluster", "topic", "partition").orderBy("since", "incarnation")
    last = F.max(_surely_until()).over(order.rowsBetween(Window.unboundedPreceding, -1))
    is_counted = F.coalesce(last >= F.date_trunc("minute", "since"), F.lit(False))
    return (
        outages.withColumn("is_counted", is_counted)
        .where("NOT is_counted")
        .select("cluster", F.col("since").alias("at"))
    )


def _sure_end() -> Column:
    """Until when a row of OFFLINE_PARTITIONS surely had no leader."""
    return F.timestamp_micros(F.unix_micros("since") + F.col("at_least_ms") * 1000)


def _surely_until() -> Column:
    """The end of an outage; where it is only known to be over, be it by some later time or by its topic's deletion, the
    end of what is sure; null if it is open."""
    is_over = F.col("ended_before").isNotNull() | F.col("healed_by").isNotNull()
    return F.coalesce("until", F.when(is_over, _sure_end()))


def _minutes(coverage: DataFrame) -> DataFrame:
    """LOG_COVERAGE -> cluster, minute: all from the first to the last line."""
    ends = coverage.groupBy("cluster").agg(
        F.date_trunc("minute", F.min("since")).alias("since"), F.date_trunc("minute", F.max("until")).alias("until")
    )
    minutes = F.sequence("since", "until", F.expr("INTERVAL 1 MINUTE"))
    return ends.where("since IS NOT NULL").select("cluster", F.explode(minutes).alias("minute"))
