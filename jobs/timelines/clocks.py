"""One clock for a cluster: how far the nodes' clocks were apart, and rows carried to the cluster's clock.

Events are not changed: `events.at` stays the node's own clock. What is derived from events goes by the times that
`on_cluster_clock` gives.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.timelines.observations import sorted_ids
from jobs.timelines.requests import with_latencies
from schemas.requests import CLOCK_OFFSETS
from schemas.spark import INT, LONG, TEXT, TIME, column
from udfs.reconstruct.clock_pairs import DELETED, ELECTED, FOLLOWED, INTENTIONS, REGISTERED, STARTING
from udfs.reconstruct.clock_skew import (
    BIN_US,
    SLOT_US,
    ClockSkew,
    SkewBound,
    clock_skews,
    correction_points,
    correction_slots,
    on_reference_clock,
)
from udfs.rules.state_events import FULL_STATE_EVENTS, LEADER_STATE_EVENTS, STATE_CHANGE_EVENTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

CLOCK_PAIRS = T.StructType(
    [
        column("cluster", TEXT, "Cluster."),
        column("cause", INT, "Node of the cause."),
        column("effect", INT, "Node of the effect, another one."),
        column("cause_at", TIME, "When the cause was logged, on its node's clock."),
        column("effect_at", TIME, "When the effect was, on its node's."),
    ]
)
_OCCURRENCE = ["cluster", "what", "node_id", "at"]
"""Something that several nodes log, by its name `what`."""
HOUR_US = 3_600_000_000


# ---- pairs of lines --------------------------------------------------------------------------------------------------
def to_clock_pairs(requests: DataFrame, events: DataFrame) -> DataFrame:
    """CONTROL_REQUESTS on the nodes' own clocks, EVENTS -> CLOCK_PAIRS of lines of which one caused the other.

    A request is sent before it is received, and handled before it is answered. What only one node can have begun, once,
    no other node logs before: see `_causes`.
    """
    on_the_way = requests.where("sent_at IS NOT NULL AND received_at IS NOT NULL").select(
        "cluster",
        F.col("controller_id").alias("cause"),
        F.col("broker").alias("effect"),
        F.col("sent_at").alias("cause_at"),
        F.col("received_at").alias("effect_at"),
    )
    on_the_way_back = requests.where("handled_at IS NOT NULL AND responded_at IS NOT NULL").select(
        "cluster",
        F.col("broker").alias("cause"),
        F.col("controller_id").alias("effect"),
        F.col("handled_at").alias("cause_at"),
        F.col("responded_at").alias("effect_at"),
    )
    begun_once = (
        _causes(events)
        .groupBy("cluster", "what")
        .agg(F.min("node_id").alias("cause"), F.min("at").alias("cause_at"), F.count("*").alias("times"))
        .where("times = 1")
        .drop("times")
    )
    effects = (
        _effects(events)
        .groupBy("cluster", "what", F.col("node_id").alias("effect"))
        .agg(F.min("at").alias("effect_at"))
    )
    logged_later = effects.join(F.broadcast(begun_once), ["cluster", "what"]).select(*CLOCK_PAIRS.names)
    return (
        on_the_way.unionByName(on_the_way_back)
        .unionByName(logged_later)
        .where("cause <> effect")
        .select(*CLOCK_PAIRS.names)
    )


def _causes(events: DataFrame) -> DataFrame:
    """EVENTS -> _OCCURRENCE: what a node began before any other can log it.

    A leader that intends to change the ISR: the partition epoch of the state that follows is in its next line about the
    ISR (2.4 on). Topics that were deleted are left out, for their epochs come again. KRaft: a leader of the quorum,
    elected in an epoch; a broker's process, whose incarnation controllers register.
    """
    own = Window.partitionBy("cluster", "node_id", "topic", "partition").orderBy("at", "line", "file_id")
    isr = sorted_ids(F.col("isr"))
    is_isr_line = F.col("event_type").isin(*INTENTIONS, "isr_updated")
    deleted = events.where(F.col("event_type").isin(*DELETED)).select("cluster", "topic").distinct()
    intended = (
        events.where(is_isr_line & F.col("topic").isNotNull() & F.col("node_id").isNotNull())
        .withColumns(
            {
                "event_before": F.lag("event_type").over(own),
                "began_at": F.lag("at").over(own),
                "intended_isr": F.lag(isr).over(own),
            }
        )
        .where((F.col("event_type") == "isr_updated") & (F.col("event_before") != "isr_updated"))
        .where((F.col("intended_isr") == isr) & F.col("partition_epoch").isNotNull())
        .join(F.broadcast(deleted), ["cluster", "topic"], "left_anti")
        .select("cluster", _state_name().alias("what"), "node_id", F.col("began_at").alias("at"))
    )
    elected = events.where((F.col("event_type") == ELECTED) & F.col("controller_epoch").isNotNull())
    started = events.where((F.col("event_type") == STARTING) & _process_name().isNotNull())
    return intended.unionByName(_occurrences(elected, _quorum_term_name())).unionByName(
        _occurrences(started, _process_name())
    )


def _effects(events: DataFrame) -> DataFrame:
    """EVENTS -> _OCCURRENCE: lines of all nodes about what `_causes` began."""
    states = events.where(
        F.col("event_type").isin(*FULL_STATE_EVENTS, *LEADER_STATE_EVENTS, *STATE_CHANGE_EVENTS)
    ).where("topic IS NOT NULL AND partition_epoch IS NOT NULL")
    followed = events.where((F.col("event_type") == FOLLOWED) & F.col("controller_epoch").isNotNull())
    registered = events.where(F.col("event_type").isin(*REGISTERED) & _process_name().isNotNull())
    return (
        _occurrences(states, _state_name())
        .unionByName(_occurrences(followed, _quorum_term_name()))
        .unionByName(_occurrences(registered, _process_name()))
    )


def _occurrences(events: DataFrame, what: Column) -> DataFrame:
    return events.withColumn("what", what).select(*_OCCURRENCE)


def _state_name() -> Column:
    return F.concat_ws(":", "topic", "partition", "partition_epoch")


def _quorum_term_name() -> Column:
    return F.concat(F.lit("quorum:"), F.col("controller_epoch").cast("string"))


def _process_name() -> Column:
    return F.concat(F.lit("incarnation:"), F.col("fields")["incarnation_id"])


# ---- offsets ---------------------------------------------------------------------------------------------------------
def collect_skew_bounds(pairs: DataFrame) -> dict[str, list[SkewBound]]:
    """CLOCK_PAIRS -> by cluster what bounds the clocks: one bound for two nodes, one way, and BIN_US, however many
    pairs."""
    ahead = F.unix_micros("effect_at") - F.unix_micros("cause_at")
    closest = F.min(F.struct(ahead.alias("ahead"), F.unix_micros("cause_at").alias("at")))
    bins = (
        pairs.groupBy("cluster", "cause", "effect", F.floor(F.unix_micros("cause_at") / BIN_US).alias("bin"))
        .agg(closest.alias("closest"), F.count("*").alias("pairs"))
        .select("cluster", "cause", "effect", "closest.at", "closest.ahead", "pairs")
    )
    bounds: dict[str, list[SkewBound]] = defaultdict(list)
    for row in bins.collect():
        bounds[row["cluster"]].append(SkewBound(row["cause"], row["effect"], row["at"], row["ahead"], row["pairs"]))
    return bounds


def clock_offset_rows(cluster: str, bounds: Sequence[SkewBound]) -> list[dict[str, Any]]:
    """Rows of CLOCK_OFFSETS of one cluster, by node and hour."""
    skews = clock_skews(bounds)
    pairs: Counter[tuple[int, int]] = Counter()
    times: dict[tuple[int, int], set[int]] = defaultdict(set)
    for bound in bounds:
        reference_at = on_reference_clock(bound.at, skews.get(bound.cause))
        hour = reference_at // HOUR_US
        for node in (bound.cause, bound.effect):
            pairs[node, hour] += bound.pairs
            times[node, hour].add(reference_at)
    return [
        _offset_row(cluster, skews[node], hour, count, sorted(times[node, hour]))
        for (node, hour), count in sorted(pairs.items())
        if node in skews
    ]


def _offset_row(cluster: str, skew: ClockSkew, hour: int, pairs: int, times: Sequence[int]) -> dict[str, Any]:
    at = np.array(times, np.int64)
    return {
        "cluster": cluster,
        "node_id": skew.node,
        "hour": time_of(hour * HOUR_US),
        "reference": skew.reference,
        "offset_ms_min": _least_ms(skew, at),
        "offset_ms_max": _most_ms(skew, at),
        "pairs": pairs,
        "contradicting": skew.least is None,
        "applied": [(time_of(own), ahead / 1000) for own, ahead in correction_points(skew, times)],
    }


def _least_ms(skew: ClockSkew, at: np.ndarray[Any, Any]) -> float | None:
    if skew.least is None or not np.isfinite(skew.least).any():
        return None
    return round(float(np.interp(at, skew.at, skew.least).min())) / 1000


def _most_ms(skew: ClockSkew, at: np.ndarray[Any, Any]) -> float | None:
    if skew.most is None or not np.isfinite(skew.most).any():
        return None
    return round(float(np.interp(at, skew.at, skew.most).max())) / 1000


def time_of(micros: int) -> datetime:
    """A time by its microseconds since 1970 UTC."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def to_clock_offsets(spark: SparkSession, bounds: Mapping[str, Sequence[SkewBound]]) -> DataFrame:
    """Bounds by cluster, see `collect_skew_bounds` -> CLOCK_OFFSETS."""
    rows = [row for cluster, of_cluster in sorted(bounds.items()) for row in clock_offset_rows(cluster, of_cluster)]
    return spark.createDataFrame(
        [tuple(row[name] for name in CLOCK_OFFSETS.columns) for row in rows], CLOCK_OFFSETS.schema
    )


# ---- times on the cluster's clock ------------------------------------------------------------------------------------
CLOCK_CORRECTIONS = T.StructType(
    [
        column("cluster", TEXT, "Cluster."),
        column("node_id", INT, "Node whose clock is corrected."),
        column(
            "first_slot",
            LONG,
            "Number of the first interval of SLOT_US since 1970, on its own clock, for which a correction is known.",
        ),
        column(
            "ahead_us",
            T.ArrayType(T.DoubleType()),
            "What is taken off at the start of each slot from there, and at the last one's end, microseconds.",
        ),
    ]
)


def to_clock_corrections(offsets: DataFrame) -> DataFrame | None:
    """CLOCK_OFFSETS -> CLOCK_CORRECTIONS, a row for each node whose clock is corrected; None if there is none."""
    applied = offsets.where("size(applied) > 0").select("cluster", "node_id", F.explode("applied").alias("point"))
    at, ahead = F.unix_micros("point.at").alias("at"), (F.col("point.ahead_ms") * 1000).alias("ahead")
    points: dict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
    for row in applied.select("cluster", "node_id", at, ahead).collect():
        points[row["cluster"], row["node_id"]].append((row["at"], row["ahead"]))
    rows = [(*node, *correction_slots(of_node)) for node, of_node in sorted(points.items())]
    return offsets.sparkSession.createDataFrame(rows, CLOCK_CORRECTIONS) if rows else None


def on_cluster_clock(rows: DataFrame, corrections: DataFrame, clocks: Mapping[str, str]) -> DataFrame:
    """Rows with `cluster`, CLOCK_CORRECTIONS -> the same rows with times on the cluster's clock, to the millisecond.

    `clocks`: column of a time -> column of the node on whose clock it is. Times of one clock never change their order.
    """
    names = rows.columns
    for node in sorted({*clocks.values()}):
        of_node = corrections.select(
            F.col("cluster").alias("_cluster"), F.col("node_id").alias("_node"), "first_slot", "ahead_us"
        )
        is_same = (F.col("cluster") == F.col("_cluster")) & (F.col(node) == F.col("_node"))
        times = {at: F.coalesce(_corrected(at), F.col(at)) for at, clock in clocks.items() if clock == node}
        rows = rows.join(F.broadcast(of_node), is_same, "left").withColumns(times).select(*names)
    return rows


def _corrected(name: str) -> Column:
    """A time less what is taken off in its slot; before the first and after the last slot as at their ends.

    Null for rows of nodes without a correction.
    """
    at, count = F.unix_micros(name), F.size("ahead_us") - 1
    place = F.least(F.greatest(at / SLOT_US - F.col("first_slot"), F.lit(0.0)), count.cast("double"))
    slot = F.least(F.floor(place).cast("int"), count - 1)
    start, end = F.get("ahead_us", slot), F.get("ahead_us", slot + 1)
    ahead = start + (end - start) * (place - slot)
    return F.timestamp_micros(at - F.round(ahead / 1000).cast("long") * 1000)


def requests_on_cluster_clock(requests: DataFrame, corrections: DataFrame) -> DataFrame:
    """CONTROL_REQUESTS on the nodes' own clocks, CLOCK_CORRECTIONS -> the same on the cluster's clock, with
    latencies."""
    by_controller, by_broker = ("sent_at", "responded_at"), ("received_at", "handled_at")
    clocks = {**dict.fromkeys(by_controller, "controller_id"), **dict.fromkeys(by_broker, "broker")}
    return with_latencies(on_cluster_clock(requests, corrections, clocks))
