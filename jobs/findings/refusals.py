"""Lines by which controllers refuse ISR changes, as `udfs.kafka.refusal_verdicts` judges them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.observations import number_of, printed_ids
from jobs.timelines.topics import INCARNATION, with_incarnation
from udfs.kafka.refusal_verdicts import BAD_VERSION, LINES
from udfs.kafka.verdicts_columns import doubt, was_certainly_so

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PLACE = ["at", "node_id", "file_id", "line"]


def to_refusals(events: DataFrame, topics: DataFrame, states: DataFrame, brokers: DataFrame) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE, PARTITION_TIMELINE, BROKER_TIMELINE -> refusals with the columns of `judge_refusal`, and
    their first line as `evidence`. Those that say the same within a minute are one. INCARNATION is null where a line is
    about a broker's whole request."""
    lines = _lines(events)
    same = [name for name in lines.columns if name not in ("at", "file_id", "line")]
    place = F.struct("at", "file_id", "line")
    first = (
        lines.groupBy(*same, F.date_trunc("minute", "at").alias("minute"))
        .agg(F.min(place).alias("place"), F.count("*").alias("times"))
        .select("*", "place.*")
        .drop("place", "minute")
    )
    of_partition = with_incarnation(first.where("topic IS NOT NULL AND partition IS NOT NULL"), topics)
    of_broker = first.where("topic IS NULL")
    refusals = of_partition.unionByName(of_broker.withColumn("incarnation", F.lit(None).cast("int")))
    return (
        _with_state(refusals, states)
        .join(_registered(refusals, brokers), ["cluster", "file_id", "line"], "left")
        .dropDuplicates(["cluster", "topic", "partition", "incarnation", "sender", "at", "node_id", "line"])
        .withColumn("evidence", F.array(F.struct("node_id", "file_id", "line")))
    )


def _lines(events: DataFrame) -> DataFrame:
    """EVENTS -> refusals with what they print."""
    text = F.col("fields")
    numbers = ("current_leader_epoch", "current_partition_epoch", "broker_epoch", "current_broker_epoch")
    return events.where(F.col("event_type").isin(*LINES) & F.col("node_id").isNotNull()).select(
        "cluster", *_PLACE, "topic", "partition", "event_type", "leader", "leader_epoch", "partition_epoch", "isr",
        F.coalesce(number_of("broker"), "broker_id").alias("sender"),
        *(text[name].try_cast("bigint").alias(name) for name in numbers),
        printed_ids("ineligible_replicas").alias("ineligible"),
        number_of("new_in_sync_replica_id").alias("joining"),
        F.nullif(F.regexp_extract(text["reason"], r"rejected the request with ([A-Z_]+)", 1), F.lit("")).alias("error"),
        *(text[name].alias(name) for name in ("from_state", "to_state", "leader_recovery_state")),
        "replicas", F.col("message").contains("that doesn't include itself").alias("lacks_sender"),
    )  # fmt: skip


def _with_state(refusals: DataFrame, states: DataFrame) -> DataFrame:
    """Refusals, PARTITION_TIMELINE -> with `state_leader`: who led in the state that a refusal names, or that came in
    between, if it was there at that time."""
    earlier = F.when(F.col("event_type") == BAD_VERSION, F.col("partition_epoch") + 1)
    asked = refusals.withColumn("state_epoch", F.coalesce("current_partition_epoch", earlier))
    known = states.where("partition_epoch IS NOT NULL AND leader IS NOT NULL").select(
        *INCARNATION, F.col("partition_epoch").alias("state_epoch"), F.col("leader").alias("leader_then"),
        F.col("since").alias("begin"), F.col("until").alias("end"),
    )  # fmt: skip
    is_there = F.col("begin") <= F.col("at") + doubt()
    is_current = F.col("end").isNull() | (F.col("end") >= F.col("at") - doubt())
    return (
        asked.join(known, [*INCARNATION, "state_epoch"], "left")
        .withColumn(
            "state_leader", F.when(is_there & (is_current | (F.col("event_type") == BAD_VERSION)), F.col("leader_then"))
        )
        .drop("state_epoch", "leader_then", "begin", "end")
    )


def _registered(refusals: DataFrame, brokers: DataFrame) -> DataFrame:
    """Refusals, BROKER_TIMELINE -> `cluster`, `file_id`, `line`, `certain`: the brokers in question that were
    certainly registered then."""
    stays = brokers.groupBy("cluster", "broker").agg(F.collect_list(F.struct("since", "until")).alias("stays"))
    concerned = F.coalesce("ineligible", F.array(F.coalesce("joining", "sender")))
    return (
        refusals.select("cluster", "file_id", "line", "at", F.explode(concerned).alias("broker"))
        .join(F.broadcast(stays), ["cluster", "broker"])
        .where(F.exists("stays", lambda stay: was_certainly_so(stay["since"], stay["until"], F.col("at"))))
        .groupBy("cluster", "file_id", "line")
        .agg(F.collect_set("broker").alias("certain"))
    )
