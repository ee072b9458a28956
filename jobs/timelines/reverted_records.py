"""What a KRaft controller logs of records that were never committed, for another controller was elected meanwhile.

An active controller replays what it writes at once, before a majority of the quorum has it. One that was paused, or cut
off, goes on so until it learns of a newer epoch, and then reverts to what was committed (QuorumController.renounce, 3.0
to 4.3). Until then its lines look like any others: brokers that it fenced were not, leaders that it elected never led.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.controllers import KRAFT, STARTED, with_active

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, Row

LEARNING = "kraft_controller_resigned", "kraft_controller_epoch_changed", STARTED
"""Events by which a controller learns that it is none any more."""
_LOGGERS = "org.apache.kafka.controller."
"""Loggers of what a controller decides and replays, but for that of `_QUORUM`, which logs who the controller is."""
_QUORUM = "org.apache.kafka.controller.QuorumController"
_RECORD = "^(?:Replayed |UNCLEAN partition change )"
"""How lines begin, behind the name of the node, that each controller logs when it replays a record."""
_NEAR = "INTERVAL 50 MILLISECONDS"
"""Lines of one decision are logged within this time."""
_CLOCKS = "INTERVAL 1 SECOND"
"""Clocks of two controllers may be so far apart, and no line shows it."""
_LATE = "INTERVAL 10 SECONDS"
"""A controller whose followers do not fetch loses its office within this time: `controller.quorum.fetch.timeout.ms` is
2 s, and an election takes a few."""
_COMMITTED = "INTERVAL 30 SECONDS"
"""Other controllers replay a record within this time of when it was written."""
_STARTING = "INTERVAL 60 SECONDS"
"""A process that started replays old records for so long at most."""
SPAN = "reverted_cluster", "reverted_node", "reverted_since", "reverted_until"


def collect_reverted_spans(events: DataFrame, controllers: DataFrame) -> Sequence[Row]:
    """EVENTS, CONTROLLER_TIMELINE -> SPAN of each KRaft controller that logged records which were not committed: both
    ends are within it.

    It is sure of what a controller wrote once its successor was elected, but for _CLOCKS: a majority no longer takes
    records of the older epoch. What it wrote shortly before, or within _CLOCKS, was not committed if it replayed it
    itself and no other controller did, though its successor was there and replays what is committed before it becomes
    active. Records are committed in order, so all behind the first one that was not is reverted, too. Where a release
    logs no records (3.3 to 3.5), or the successor's log is missing, only the first can be told.
    """
    own = events.where(F.col("logger").startswith(_LOGGERS))
    terms = _ended_terms(own, controllers)
    first_reverted = _first_reverted(own, terms, controllers, events)
    spans = (
        terms.join(first_reverted, ["cluster", "node_id", "controller_epoch"], "left")
        .select(
            F.col("cluster").alias("reverted_cluster"),
            F.col("node_id").alias("reverted_node"),
            F.least(F.col("next_since") + F.expr(_CLOCKS), "first_reverted").alias("reverted_since"),
            F.col("learned_at").alias("reverted_until"),
        )
        .where("reverted_since < reverted_until")
    )
    is_reverted = _is_of_record() & _is_within(F.struct(*SPAN))
    return own.join(F.broadcast(spans), is_reverted).select(*SPAN).distinct().collect()


def without_reverted(events: DataFrame, spans: Sequence[Row]) -> DataFrame:
    """EVENTS without lines about records that were not committed; `spans` as `collect_reverted_spans` has them."""
    if not spans:
        return events
    # not joined: each plan over these events would broadcast them once more
    reverted = F.array(*(F.struct(*map(F.lit, span)).cast(_span_type(events)) for span in spans))
    is_reverted = _is_of_record() & F.exists(reverted, _is_within)
    return events.where(~F.coalesce(is_reverted, F.lit(False)))


def _span_type(events: DataFrame) -> str:
    """SPAN's type, as EVENTS have its parts."""
    types = (events.schema[name].dataType.simpleString() for name in ("cluster", "node_id", "at", "at"))
    return f"struct<{', '.join(f'{name}: {of_part}' for name, of_part in zip(SPAN, types, strict=True))}>"


def _is_of_record() -> Column:
    """Whether a line may be about a record."""
    return F.col("logger").startswith(_LOGGERS) & (F.col("logger") != _QUORUM)


def _is_within(span: Column) -> Column:
    """Whether a line is of a span's node and time."""
    cluster, node, since, until = (span[name] for name in SPAN)
    return (F.col("cluster") == cluster) & (F.col("node_id") == node) & F.col("at").between(since, until)


def _ended_terms(own: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS of controllers, CONTROLLER_TIMELINE -> cluster, node_id, controller_epoch, `began` of KRaft's terms that
    ended, `learned_at` when the controller learned of it, `next_since` and `next_id` of its successor."""
    in_order = Window.partitionBy("cluster", "cluster_incarnation").orderBy("controller_epoch")
    terms = (
        controllers.where(F.col("mode") == KRAFT)
        .withColumns({"next_since": F.lead("since").over(in_order), "next_id": F.lead("controller_id").over(in_order)})
        .where("next_id <> controller_id AND active_since IS NOT NULL")
        .select(
            "cluster", F.col("controller_id").alias("node_id"), "controller_epoch",
            F.col("active_since").alias("began"), "next_since", "next_id",
        )
    )  # fmt: skip
    learned = own.where(F.col("event_type").isin(*LEARNING)).select(
        "cluster", "node_id", "at", "event_type", F.col("controller_epoch").alias("learned_epoch")
    )
    is_newer = F.col("learned_epoch") > F.col("controller_epoch")
    is_end = (
        F.when(F.col("event_type") == STARTED, True)
        .when(F.col("event_type") == "kraft_controller_epoch_changed", is_newer)
        .otherwise(F.col("learned_epoch") == F.col("controller_epoch"))
    )
    return (
        learned.join(F.broadcast(terms), ["cluster", "node_id"])
        .where((F.col("at") > F.col("began")) & is_end)
        .groupBy(*terms.columns)
        .agg(F.min("at").alias("learned_at"))
    )


def _first_reverted(own: DataFrame, terms: DataFrame, controllers: DataFrame, events: DataFrame) -> DataFrame:
    """EVENTS of controllers, rows of `_ended_terms`, CONTROLLER_TIMELINE, EVENTS -> cluster, node_id, controller_epoch,
    `first_reverted`: about when the first record was written that no other controller replayed; none if all were, or
    nobody was there to do so."""
    record = F.regexp_replace("message", r"^\[[^\]]*\] ", "")
    records = with_active(
        own.withColumn("record", record).where(F.col("record").rlike(_RECORD)), controllers, events
    ).select("cluster", "node_id", "file_id", "line", "at", "level", "record", "is_active", "starts")
    # as it becomes active it replays what others wrote, within the same millisecond
    is_own = (F.col("at") > F.col("began")) & (F.col("at") <= F.col("learned_at"))
    is_late = F.col("at") >= F.least("next_since", "learned_at") - F.expr(_LATE)
    # what it logs at DEBUG other controllers need not
    written = (
        records.where("level = 'INFO'")
        .join(F.broadcast(terms), ["cluster", "node_id"])
        .where(is_own & is_late)
        .drop("is_active", "starts")
    )
    is_starting = F.exists("starts", lambda at: F.col("replayed_at").between(at, at + F.expr(_STARTING)))
    others = records.select(
        "cluster", "record", F.col("node_id").alias("other_id"), F.col("at").alias("replayed_at"), "is_active", "starts"
    ).where(~F.coalesce(is_starting, F.lit(False)))
    is_replay = (
        (F.col("other_id") != F.col("node_id"))
        & (F.col("written.cluster") == F.col("other.cluster"))
        & (F.col("written.record") == F.col("other.record"))
        & F.col("replayed_at").between(F.col("at") - F.expr(_CLOCKS), F.col("at") + F.expr(_COMMITTED))
    )
    key = ["cluster", "node_id", "controller_epoch", "file_id", "line", "at", "next_id", "next_since"]
    repeated_at = F.min(F.when(F.col("is_active"), F.col("replayed_at")))
    replayed_at = F.min(F.when(~F.col("is_active"), F.col("replayed_at")))
    never = F.timestamp_micros(F.lit(2**60))
    decided = (
        written.alias("written")
        .join(others.alias("other"), is_replay, "left")
        .groupBy(*(F.col(f"written.{name}").alias(name) for name in key))
        .agg(repeated_at.alias("repeated_at"), replayed_at.alias("replayed_at"))
        .withColumn("is_committed", F.col("replayed_at") < F.coalesce(F.col("repeated_at") - F.expr(_NEAR), never))
        .withColumn("is_committed", F.coalesce("is_committed", F.lit(False)))
        .join(F.broadcast(_witnesses(own)), ["cluster", "next_id"], "left")
        .withColumn(
            "is_witnessed", (F.col("there_since") < F.col("at")) & (F.col("there_until") >= F.col("next_since"))
        )
    )
    last_committed = F.max(F.when(F.col("is_committed"), F.col("at")))
    of_term = Window.partitionBy("cluster", "node_id", "controller_epoch")
    return (
        decided.withColumn("last_committed", last_committed.over(of_term))
        .where("is_witnessed AND NOT is_committed AND (last_committed IS NULL OR at > last_committed)")
        .groupBy("cluster", "node_id", "controller_epoch")
        .agg(
            F.greatest(F.min("at") - F.expr(_NEAR), F.max("last_committed") + F.expr("INTERVAL 1 MILLISECOND")).alias(
                "first_reverted"
            )
        )
    )


def _witnesses(own: DataFrame) -> DataFrame:
    """EVENTS of controllers -> cluster, next_id, `there_since`, `there_until`: the logs, a file of one process each, of
    nodes that replayed all that was committed until they became active."""
    in_order = Window.partitionBy("cluster", "node_id").orderBy("at", "line", "file_id")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    started = F.last(F.when(F.col("event_type") == STARTED, F.col("at")), ignorenulls=True).over(so_far)
    is_elected = F.col("event_type") == "kraft_controller_elected"
    return (
        own.withColumn("started", started)
        .groupBy("cluster", F.col("node_id").alias("next_id"), "file_id", "started")
        .agg(F.min("at").alias("first_at"), F.max(F.when(is_elected, F.col("at"))).alias("there_until"))
        .where("there_until IS NOT NULL")
        .withColumn("there_since", F.greatest("first_at", F.col("started") + F.expr(_STARTING)))
        .select("cluster", "next_id", "there_since", "there_until")
    )
