"""For how long what a log line shows stays known: as long as the logs that would show a change of it are there.

What was learned before a hole in the logs is not known after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.cluster_facts import days
from jobs.timelines.controllers import ZOOKEEPER
from jobs.timelines.lost_minutes import without_holes
from jobs.timelines.sorted_times import number_until
from udfs.logs.lost_minutes import LineGap

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.window import WindowSpec

DUMP = "metadata_dump"
"""Kind of a dump of the metadata log, which has no holes, however long nothing was written to it."""
CLUSTER_LOGS = ("controller", "state_change", DUMP)
"""Kinds of logs in which changes of leaders stand."""
CONTROLLER_LOGS = ("controller", DUMP)
"""Kinds of logs in which brokers come and go."""
SLACK = timedelta(minutes=1)
"""So long after the last line of a span it still holds: what one file tells was decided with what another one tells."""

_SPANS = "array<struct<since: timestamp, until: timestamp>>"


def to_known_spans(
    coverage: DataFrame,
    kinds: tuple[str, ...],
    tolerance: timedelta,
    *by: str,
    holes: Mapping[str, Sequence[LineGap]] = MappingProxyType({}),
) -> DataFrame:
    """LOG_COVERAGE -> one row for each group `by` (columns, such as `cluster`) with `spans`: when any of its logs of
    some kinds is there.

    Spans of several logs are one if no more than `tolerance` is between them, and no hole (`holes`, by cluster).
    """
    is_dump = F.col("kind") == DUMP
    dump = Window.partitionBy("cluster", "node_id", "kind")
    whole = coverage.where(F.col("kind").isin(*kinds)).withColumns(
        {
            "since": F.when(is_dump, F.min("since").over(dump)).otherwise(F.col("since")),
            "until": F.when(is_dump, F.max("until").over(dump)).otherwise(F.col("until")),
        }
    )
    order = Window.partitionBy(*by).orderBy("since", "until")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    silence = F.expr(f"INTERVAL {int(tolerance.total_seconds())} SECONDS")
    is_first = F.coalesce(F.col("since") > F.max("until").over(before) + silence, F.lit(True))
    slack = SLACK // timedelta(microseconds=1)
    # what was known before a hole does not hold behind it, be it shorter than what spans are extended by
    apart = {
        name: [LineGap(min(hole.since, hole.until - slack), max(hole.until, hole.since + slack)) for hole in some]
        for name, some in holes.items()
    }
    return _as_list("spans", without_holes(_merged(whole, is_first, order, *by), apart), *by)


def _merged(spans: DataFrame, is_first: Column, order: WindowSpec, *of: str) -> DataFrame:
    """Rows with `since, until` in an order -> `of`, `since`, `until`: each that `is_first`, with those behind it up to
    the next such one, as one."""
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        spans.withColumn("is_first", is_first.cast("int"))
        .withColumn("number", F.sum("is_first").over(so_far))
        .groupBy(*of, "number")
        .agg(F.min("since").alias("since"), F.max("until").alias("until"))
    )


def _as_list(name: str, spans: DataFrame, *by: str) -> DataFrame:
    """Rows with `since, until` -> one for each group `by` with these as a list, in order."""
    in_order = F.array_sort(F.collect_list(F.struct("since", "until"))).cast(_SPANS)
    return spans.groupBy(*by).agg(in_order.alias(name))


def within_terms(known_spans: DataFrame, terms: DataFrame) -> DataFrame:
    """Rows of `to_known_spans` by cluster, of `to_logged_terms` -> the former, without the times in which controllers
    were at work whose logs are missing; of clusters without terms as they are."""
    order = Window.partitionBy("cluster").orderBy("since", "until")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    end = F.coalesce("until", F.timestamp_micros(F.lit(2**60)))
    ends = terms.select("cluster", "since", end.alias("until"))
    is_first = F.coalesce(F.col("since") > F.max("until").over(before), F.lit(True))
    runs = _as_list("runs", _merged(ends, is_first, order, "cluster"), "cluster")

    def within(span: Column) -> Column:
        return F.transform(
            "runs",
            # nothing holds any longer than the log that shows it
            lambda run: F.struct(
                F.greatest(span["since"], run["since"]).alias("since"),
                F.least(span["until"], run["until"] - _slack()).alias("until"),
            ),
        )

    cut = F.flatten(F.transform("spans", within))
    there = F.filter(cut, lambda span: span["since"] <= span["until"] + _slack())
    joined = known_spans.join(F.broadcast(runs), "cluster", "left")
    return joined.withColumn("spans", F.when(F.col("runs").isNull(), F.col("spans")).otherwise(there)).drop("runs")


def to_controller_runs(controllers: DataFrame, coverage: DataFrame) -> DataFrame:
    """CONTROLLER_TIMELINE, LOG_COVERAGE -> cluster, `runs`: structs `since`, `until`, in order, of the times in which
    the logs of all of ZooKeeper's controllers are there: one controller epoch follows the other, and no log has a hole.

    The last run ends with the logs. Of a term that no next one follows it is not known when it ended: its begin counts.
    """
    life, epoch = ["cluster", "cluster_incarnation"], F.col("controller_epoch")
    order = Window.partitionBy(*life).orderBy("controller_epoch")
    next_epoch, next_since = F.lead("controller_epoch").over(order), F.lead("since").over(order)
    end = F.when(next_epoch == epoch + 1, next_since).when(next_epoch.isNotNull(), F.col("since"))
    terms = controllers.where(F.col("mode") == ZOOKEEPER).select(
        *life, "controller_id", epoch, "since", F.coalesce(end, F.timestamp_micros(F.lit(2**60))).alias("until")
    )
    logs = coverage.where("kind = 'controller'").select(
        "cluster", F.col("node_id").alias("controller_id"), F.col("since").alias("log_since"),
        F.col("until").alias("log_until"),
    )  # fmt: skip
    whole = (
        terms.join(F.broadcast(logs), ["cluster", "controller_id"])
        .where("log_since <= until AND log_until >= since")
        .groupBy(*life, "controller_epoch", "since", "until")
        .agg(F.count(F.lit(1)).alias("logs"))
        .where("logs = 1")
    )
    is_first = ~F.coalesce(F.lag("until").over(order) == F.col("since"), F.lit(False))
    return _as_list("runs", _merged(whole, is_first, order, *life), "cluster")


def controller_run_at(at: Column) -> Column:
    """The run of a row with `runs` of `to_controller_runs` that a time is in, a struct `since, until`; null: the logs
    of all controllers are not there then."""
    return span_around(at, "runs", early=timedelta(0), late=timedelta(0))


def spans_by_day(known_spans: DataFrame, *by: str) -> DataFrame:
    """Rows of `to_known_spans` -> `by`, `day`, `spans`: those in which a time of that day may be, see `span_around`. A
    long history has many."""
    span = known_spans.select(*by, F.explode("spans").alias("span"))
    on_days = span.withColumn("day", days(F.col("span.since") - _slack(), F.col("span.until") + _slack()))
    return on_days.groupBy(*by, "day").agg(F.array_sort(F.collect_list("span")).alias("spans"))


def _slack() -> Column:
    return F.expr(f"INTERVAL {int(SLACK.total_seconds())} SECONDS")


def span_around(
    at: Column, spans: str = "spans", *, early: Column | timedelta = SLACK, late: Column | timedelta = SLACK
) -> Column:
    """The last of a group's spans, which are in order and apart, that a time is in, a struct `since, until`; null
    outside of all. A time may be so much too `early` for its span, or too `late`."""
    last = F.get(spans, number_until(f"{spans}.since", at + F.lit(early)) - 1)
    return F.when(at <= last["until"] + F.lit(late), last)
