"""What controllers were busy with, by hour: how often, and how long, as far as their lines tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.evidence import milliseconds
from schemas.gauges import CONTROLLER_ACTIVITY
from udfs.kafka.controller_states import CONTROLLER_STATES, ControllerState

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

IN_A_ROW = "INTERVAL 1 SECOND"
"""Lines about one partition after the other are of one event if no more is between them."""
QUORUM_CONTROLLER = "QuorumController"
_NODE = ["cluster", "node_id"]
_TIMES = ["cluster", "node_id", "state", "event", "metric", "since"]


def to_controller_activity(events: DataFrame) -> DataFrame:
    """EVENTS -> CONTROLLER_ACTIVITY."""
    own = events.where("node_id IS NOT NULL AND at IS NOT NULL")
    return (
        _zookeeper(own.where("logger LIKE 'kafka.controller.%'"))
        .unionByName(_quorum(own))
        .withColumn("window", F.date_trunc("hour", "since"))
        .groupBy("cluster", F.col("node_id").alias("controller_id"), "window", "state", "event")
        .agg(
            F.first("metric").alias("metric"),
            F.sum("count").alias("count"),
            (F.sum("count") / 3600).alias("rate"),
            # to the nanosecond: the last digits of such a sum hang on the order in which Spark comes upon the rows
            F.round(F.sum(F.col("mean_ms") * F.col("count")) / F.sum("count"), 6).alias("mean_ms"),
            F.max("max_ms").alias("max_ms"),
            F.array(F.min_by("line", F.struct("since", "line"))).alias("evidence"),
        )
        .select(*CONTROLLER_ACTIVITY.columns)
    )


def _zookeeper(lines: DataFrame) -> DataFrame:
    """Lines of ZooKeeper's controllers -> _TIMES, count, mean_ms, max_ms, line: a row for each event that they handled.

    An event lasts from the line that opens it to the last line of the same kind before the next one is opened: at
    least so long. Lines are of one kind if they have one metric: what opens it names the state.
    """
    kind, opens, repeats = F.lit(None).cast("struct<state:string,metric:string>"), F.lit(False), F.lit(False)
    event_type = F.col("event_type")
    for known in reversed(CONTROLLER_STATES):  # so that the first of them decides
        for prefix in known.prefixes:
            kind = F.when(event_type.startswith(prefix), _kind(known)).otherwise(kind)
    for known in CONTROLLER_STATES:  # what opens one is of that one, however its name begins
        is_opening = event_type.isin(*known.opened_by)
        kind = F.when(is_opening, _kind(known)).otherwise(kind)
        opens |= is_opening
        repeats |= is_opening & F.lit(known.is_repeated)
    order = Window.partitionBy(*_NODE).orderBy("at", "line", "file_id")
    is_in_a_row = repeats & (F.lag("kind.metric").over(order) == F.col("kind.metric"))
    is_in_a_row &= F.col("at") <= F.lag("at").over(order) + F.expr(IN_A_ROW)
    begins = F.col("opens") & ~F.coalesce(is_in_a_row, F.lit(False))
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    activities = (
        lines.select(
            *_NODE, "at", "file_id", "line", "event_type", kind.alias("kind"), opens.alias("opens")
        )
        .where("kind IS NOT NULL")
        .withColumn("begins", begins)
        .withColumns(
            {
                "number": F.sum(F.col("begins").cast("int")).over(so_far),
                "current": F.last(F.when(F.col("begins"), F.col("kind")), ignorenulls=True).over(so_far),
            }
        )
        .where("kind.metric = current.metric")
        .groupBy(*_NODE, "number", "current.state", "current.metric")
        .agg(F.min("at").alias("since"), F.max("at").alias("until"), _first_line())
    )  # fmt: skip
    ms = milliseconds("since", "until").cast("double")
    return activities.withColumns({"event": F.lit(None).cast("string"), "count": F.lit(1), "ms": ms}).select(
        *_TIMES, "count", F.col("ms").alias("mean_ms"), F.col("ms").alias("max_ms"), "line"
    )


def _kind(known: ControllerState) -> Column:
    """A state and its metric."""
    return F.struct(F.lit(known.name).alias("state"), F.lit(known.metric).alias("metric"))


def _first_line() -> Column:
    place = F.struct("node_id", "file_id", "line")
    return F.min_by(place, F.struct("at", "line")).alias("line")


def _quorum(lines: DataFrame) -> DataFrame:
    """Lines of KRaft's controllers -> _TIMES, count, mean_ms, max_ms, line: a row for each line that tells times.

    At DEBUG each event is timed, by its name; from 3.9 on a line a minute tells of all of them together.
    """
    fields = F.col("fields")
    is_one = F.col("event_type") == "kraft_event_processed"
    one_ms = fields["elapsed_us"].try_cast("double") / 1000
    return lines.where("event_type IN ('kraft_event_processed', 'kraft_performance_report')").select(
        *_NODE,
        F.lit(QUORUM_CONTROLLER).alias("state"),
        F.when(is_one, fields["event"]).alias("event"),
        F.lit("EventQueueProcessingTimeMs").alias("metric"),
        F.col("at").alias("since"),
        F.when(is_one, 1).otherwise(fields["event_count"].try_cast("int")).alias("count"),
        F.when(is_one, one_ms).otherwise(fields["average_ms"].try_cast("double")).alias("mean_ms"),
        F.when(is_one, one_ms).otherwise(fields["slowest_ms"].try_cast("double")).alias("max_ms"),
        F.struct("node_id", "file_id", "line").alias("line"),
    )
