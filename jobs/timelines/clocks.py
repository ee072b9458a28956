"""One clock for a cluster: how far the nodes' clocks were apart, and events carried to one of them.

What the logs say is not changed: `events.at` stays the node's own clock. What is derived from events goes by the times
that `on_cluster_clock` gives.
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
from udfs.reconstruct.clock_pairs import DELETED, REGISTERED, STARTING
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
        column("first", INT, "Node of the cause."),
        column("then", INT, "Node of the effect, another one."),
        column("first_at", TIME, "When the cause was logged, on its node's clock."),
        column("then_at", TIME, "When the effect was, on its node's."),
    ]
)
HOUR_US = 3_600_000_000


def to_clock_pairs(requests: DataFrame, events: DataFrame) -> DataFrame:
    """CONTROL_REQUESTS on the nodes' own clocks, EVENTS -> CLOCK_PAIRS of lines of which one caused the other.

    A request is sent before it is received, and handled before it is answered. What only one node can have begun, once,
    no other node tells of before: see `_begun`.
    """
    on_its_way = requests.where("sent_at IS NOT NULL AND received_at IS NOT NULL").select(
        "cluster", F.col("controller_id").alias("first"), F.col("broker").alias("then"), F.col("sent_at").alias("first_at"), F.col("received_at").alias("then_at"),
    )  # fmt: skip
    on_its_way_back = requests.where("handled_at IS NOT NULL AND responded_at IS NOT NULL").select(
        "cluster", F.col("broker").alias("first"), F.col("controller_id").alias("then"), F.col("handled_at").alias("first_at"), F.col("responded_at").alias("then_at"),
    )  # fmt: skip
    once = (
        _begun(events)
        .groupBy("cluster", "what")
        .agg(F.min("node_id").alias("first"), F.min("at").alias("first_at"), F.count("*").alias("times"))
        .where("times = 1")
        .drop("times")
    )
    told = _told(events).groupBy("cluster", "what", F.col("node_id").alias("then")).agg(F.min("at").alias("then_at"))
    later = told.join(F.broadcast(once), ["cluster", "what"]).select(*CLOCK_PAIRS.names)
    return on_its_way.unionByName(on_its_way_back).unionByName(later).where("first <> then").select(*CLOCK_PAIRS.names)


def _begun(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, what, node_id, at: who began something that others tell of, before they can.

    A leader that means to change the ISR: the partition epoch of what came of it is in its next report (2.4 on). Topics that
    were deleted are left out, for their epochs come again. KRaft: a leader of the quorum, elected in an epoch; a broker's
    process, whose incarnation is registered by controllers.
    """
    own = Window.partitionBy("cluster", "node_id", "topic", "partition").orderBy("at", "line", "file_id")
    isr = sorted_ids(F.col("isr"))
    deleted = events.where(F.col("event_type").isin(*DELETED)).select("cluster", "topic").distinct()
    meant = (
        events.where("event_type IN ('isr_shrinking', 'isr_expanding', 'isr_updated') AND topic IS NOT NULL AND node_id IS NOT NULL")
        .withColumns({"said": F.lag("event_type").over(own), "began": F.lag("at").over(own), "meant": F.lag(isr).over(own)})
        .where((F.col("event_type") == "isr_updated") & (F.col("said") != "isr_updated") & (F.col("meant") == isr))
        .where("partition_epoch IS NOT NULL")
        .join(F.broadcast(deleted), ["cluster", "topic"], "left_anti")
        .select("cluster", _state().alias("what"), "node_id", F.col("began").alias("at"))
    )  # fmt: skip
    elected = events.where("event_type = 'raft_leader_elected' AND controller_epoch IS NOT NULL")
    started = events.where((F.col("event_type") == STARTING) & _incarnation().isNotNull())
    return meant.unionByName(_named(elected, _term())).unionByName(_named(started, _incarnation()))


def _named(events: DataFrame, what: Column) -> DataFrame:
    return events.select("cluster", what.alias("what"), "node_id", "at")


def _state() -> Column:
    return F.concat_ws(":", "topic", "partition", "partition_epoch")


def _term() -> Column:
    return F.concat(F.lit("quorum:"), F.col("controller_epoch").cast("string"))


def _incarnation() -> Column:
    return F.concat(F.lit("incarnation:"), F.col("fields")["incarnation_id"])


def _told(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, what, node_id, at: what nodes tell of the things in `_begun`."""
    states = events.where(
        F.col("event_type").isin(*FULL_STATE_EVENTS, *LEADER_STATE_EVENTS, *STATE_CHANGE_EVENTS)
    ).where("topic IS NOT NULL AND partition_epoch IS NOT NULL")
    followed = events.where("event_type = 'raft_leader_changed' AND controller_epoch IS NOT NULL")
    registered = events.where(F.col("event_type").isin(*REGISTERED) & _incarnation().isNotNull())
    return (
        _named(states, _state()).unionByName(_named(followed, _term())).unionByName(_named(registered, _incarnation()))
    )


def collect_skew_bounds(pairs: DataFrame) -> dict[str, list[SkewBound]]:
    """CLOCK_PAIRS -> by cluster what bounds the clocks: a row for two nodes, one way, and 10 seconds, whatever the logs' size."""
    ahead = F.unix_micros("then_at") - F.unix_micros("first_at")
    closest = F.min(F.struct(ahead.alias("ahead"), F.unix_micros("first_at").alias("at")))
    bins = (
        pairs.groupBy("cluster", "first", "then", F.floor(F.unix_micros("first_at") / BIN_US).alias("bin"))
        .agg(closest.alias("closest"), F.count("*").alias("pairs"))
        .select("cluster", "first", "then", "closest.at", "closest.ahead", "pairs")
    )
    found: dict[str, list[SkewBound]] = defaultdict(list)
    for row in bins.collect():
        found[row["cluster"]].append(SkewBound(row["first"], row["then"], row["at"], row["ahead"], row["pairs"]))
    return found


def clock_offset_rows(cluster: str, limits: Sequence[SkewBound]) -> list[dict[str, Any]]:
    """Rows of CLOCK_OFFSETS of one cluster, by node and hour."""
    found = clock_skews(limits)
    pairs: Counter[tuple[int, int]] = Counter()
    times: dict[tuple[int, int], set[int]] = defaultdict(set)
    for one in limits:
        reference_at = on_reference_clock(one.at, found.get(one.first))
        hour = reference_at // HOUR_US
        for node in (one.first, one.then):
            pairs[node, hour] += one.pairs
            times[node, hour].add(reference_at)
    return [
        _row(cluster, found[node], hour, count, sorted(times[node, hour]))
        for (node, hour), count in sorted(pairs.items())
        if node in found
    ]


def _row(cluster: str, course: ClockSkew, hour: int, pairs: int, times: Sequence[int]) -> dict[str, Any]:
    at = np.array(times, np.int64)
    return {
        "cluster": cluster,
        "node_id": course.node,
        "hour": time_of(hour * HOUR_US),
        "reference": course.reference,
        "offset_ms_min": _least(course, at),
        "offset_ms_max": _most(course, at),
        "pairs": pairs,
        "contradicting": course.least is None,
        "applied": [(time_of(own), ahead / 1000) for own, ahead in correction_points(course, times)],
    }


def _least(course: ClockSkew, at: np.ndarray[Any, Any]) -> float | None:
    if course.least is None or not np.isfinite(course.least).any():
        return None
    return round(float(np.interp(at, course.at, course.least).min())) / 1000


def _most(course: ClockSkew, at: np.ndarray[Any, Any]) -> float | None:
    if course.most is None or not np.isfinite(course.most).any():
        return None
    return round(float(np.interp(at, course.at, course.most).max())) / 1000


def time_of(micros: int) -> datetime:
    """A time by its microseconds since 1970 UTC."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def to_clock_offsets(spark: SparkSession, limits: Mapping[str, Sequence[SkewBound]]) -> DataFrame:
    """What `collect_skew_bounds` found -> CLOCK_OFFSETS."""
    rows = [row for cluster, some in sorted(limits.items()) for row in clock_offset_rows(cluster, some)]
    return spark.createDataFrame(
        [tuple(row[name] for name in CLOCK_OFFSETS.columns) for row in rows], CLOCK_OFFSETS.schema
    )


# ---- times on one clock ----------------------------------------------------------------------------------------------
CLOCK_CORRECTIONS = T.StructType(
    [
        column("cluster", TEXT, "Cluster."),
        column("node_id", INT, "Node whose clock is corrected."),
        column("first_slot", LONG, "The first stretch of SLOT_US since 1970, on its own clock, in which anything is known."),
        column("ahead_us", T.ArrayType(T.DoubleType()), "What is taken off at the begin of each slot from there, and at the last one's end."),
    ]
)  # fmt: skip


def to_clock_corrections(offsets: DataFrame) -> DataFrame | None:
    """CLOCK_OFFSETS -> CLOCK_CORRECTIONS, a row for each node whose clock is corrected; None if there is none."""
    told = offsets.where("size(applied) > 0").select("cluster", "node_id", F.explode("applied").alias("knot"))
    at, ahead = F.unix_micros("knot.at").alias("at"), (F.col("knot.ahead_ms") * 1000).alias("ahead")
    knots: dict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
    for row in told.select("cluster", "node_id", at, ahead).collect():
        knots[row["cluster"], row["node_id"]].append((row["at"], row["ahead"]))
    rows = [(*node, *correction_slots(some)) for node, some in sorted(knots.items())]
    return offsets.sparkSession.createDataFrame(rows, CLOCK_CORRECTIONS) if rows else None


def on_cluster_clock(rows: DataFrame, corrections: DataFrame, clocks: Mapping[str, str]) -> DataFrame:
    """Rows with `cluster` -> the same with times on the cluster's clock, to the millisecond; CLOCK_CORRECTIONS say how.

    `clocks`: column of a time -> column of the node on whose clock it is. Times of one clock never change their order.
    """
    names = rows.columns
    for node in sorted({*clocks.values()}):
        mine = corrections.select(
            F.col("cluster").alias("_cluster"), F.col("node_id").alias("_node"), "first_slot", "ahead_us"
        )
        known = (F.col("cluster") == F.col("_cluster")) & (F.col(node) == F.col("_node"))
        times = {at: F.coalesce(_corrected(at), F.col(at)) for at, of in clocks.items() if of == node}
        rows = rows.join(F.broadcast(mine), known, "left").withColumns(times).select(*names)
    return rows


def _corrected(name: str) -> Column:
    """A time less what is taken off in its slot, before the first and after the last slot at their ends; null if nothing is."""
    at, count = F.unix_micros(name), F.size("ahead_us") - 1
    place = F.least(F.greatest(at / SLOT_US - F.col("first_slot"), F.lit(0.0)), count.cast("double"))
    slot = F.least(F.floor(place).cast("int"), count - 1)
    begin, end = F.get("ahead_us", slot), F.get("ahead_us", slot + 1)
    ahead = begin + (end - begin) * (place - slot)
    return F.timestamp_micros(at - F.round(ahead / 1000).cast("long") * 1000)


def requests_on_cluster_clock(requests: DataFrame, corrections: DataFrame) -> DataFrame:
    """CONTROL_REQUESTS on the nodes' own clocks -> on the cluster's, and latencies by it."""
    ours, theirs = ("sent_at", "responded_at"), ("received_at", "handled_at")
    clocks = {**dict.fromkeys(ours, "controller_id"), **dict.fromkeys(theirs, "broker")}
    return with_latencies(on_cluster_clock(requests, corrections, clocks))
