"""KRaft's states that only the steps of the active controller tell (`udfs.reconstruct.kraft_inferred`), beside those that lines state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.timelines.controllers import by_active_controller
from jobs.timelines.evidence import MOST_EVIDENCE
from jobs.timelines.observations import number_of, sorted_ids
from jobs.timelines.topics import HISTORY, INCARNATION, with_incarnation
from udfs.reconstruct.kraft_inferred import ASSIGNMENT_CHANGED, FENCED, UNCLEAN_RESTART, UNFENCED
from udfs.reconstruct.kraft_inferred_columns import CONTROLLER_STEP, inferred_after

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def _steps(events: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS -> a row per step of the active KRaft controller: its event's columns, and `step`."""
    kind = (
        F.when(F.col("event_type") == "kraft_partition_assignment_changed", ASSIGNMENT_CHANGED)
        .when(F.col("event_type") == "kraft_broker_fenced", FENCED)
        .when(F.col("event_type") == "kraft_broker_unfenced", UNFENCED)
        .when(
            (F.col("event_type") == "kraft_broker_registering") & (number_of("cleanup_record_count") > 0),
            UNCLEAN_RESTART,
        )
    )
    told = events.where(
        "event_type IN ('kraft_partition_assignment_changed', 'kraft_broker_fenced', 'kraft_broker_unfenced', "
        "'kraft_broker_registering')"
    )
    of_record = kind == ASSIGNMENT_CHANGED
    step = F.struct(
        F.unix_micros("at").alias("at"), "node_id", "file_id", "line", kind.alias("kind"),
        F.when(~of_record, F.coalesce(number_of("broker"), F.col("broker_id"))).alias("broker"),
        F.when(of_record & (F.col("leader") >= -1), F.col("leader")).alias("leader"),
        F.when(of_record, sorted_ids(F.col("isr"))).alias("isr"),
        F.when(of_record, F.col("replicas")).alias("replicas"),
    )  # fmt: skip
    return by_active_controller(told.withColumn("step", step).where(kind.isNotNull()), controllers)


def with_untold(
    states: DataFrame, events: DataFrame, topics: DataFrame, controllers: DataFrame, kraft: DataFrame, heard: DataFrame
) -> DataFrame:
    """Numbered states -> the same with `new`, the states that steps lead through up to the next one that any line tells of.

    That one is completed and dated by its step, if they lead there; a record tells its assignment. After the last one a
    leader alone in sync counts as lost once it was fenced for good, if it told that state itself, its log was there until
    then, and the topic was not gone. `kraft`: cluster, keeps_last_member; `heard`: cluster, leader and when its log is there.
    """
    steps = _steps(events, controllers)
    of_brokers = (
        steps.where(F.col("step.kind") != ASSIGNMENT_CHANGED)
        .groupBy("cluster")
        .agg(F.array_sort(F.collect_list("step")).alias("of_brokers"))
    )
    of_partition = (
        with_incarnation(steps.where((F.col("step.kind") == ASSIGNMENT_CHANGED) & F.col("topic").isNotNull()), topics)
        .groupBy(*INCARNATION)
        .agg(F.array_sort(F.collect_list("step")).alias("of_partition"))
    )
    ends = topics.select("cluster", "topic", "incarnation", F.col("until").alias("gone"))
    order = Window.partitionBy(HISTORY).orderBy("partition_epoch")
    told = ("leader", "leader_epoch", "partition_epoch", "isr", "replicas")
    is_whole = F.col("leader").isNotNull() & F.col("leader_epoch").isNotNull() & F.col("isr").isNotNull()
    sure = F.col("contradiction").isNull()
    following = F.lead(F.struct(*told, F.unix_micros("at").alias("at"), is_whole.alias("is_whole"), sure.alias("sure")))
    after = F.col("after")
    has_record = F.exists("between", lambda step: step["kind"] == ASSIGNMENT_CHANGED)
    leads_on = ~after["is_whole"] | (after["partition_epoch"] > F.col("partition_epoch") + 1) | has_record
    alone = F.col("isr") == F.array("leader")
    since, until = F.unix_micros("at"), F.coalesce(after["at"], F.unix_micros("gone"), F.lit(2**62))

    def in_time(name: str) -> Column:
        none = F.array().cast(T.ArrayType(CONTROLLER_STEP))
        at_most = F.filter(name, lambda step: (step["at"] > since) & (step["at"] <= until))
        return F.coalesce(at_most, none)

    between = F.array_sort(F.concat(in_time("of_brokers"), in_time("of_partition")))
    lost = F.filter("between", lambda step: step["kind"].isin(ASSIGNMENT_CHANGED) | (step["broker"] == F.col("leader")))
    first = F.try_element_at(lost, F.lit(1))
    in_sight = F.exists(
        "coverage",
        lambda span: (
            (span["covered_since"] <= F.col("at")) & (span["covered_until"] >= F.timestamp_micros(first["at"]))
        ),
    )
    by_itself = F.exists("evidence", lambda line: line["node_id"] == F.col("leader"))
    candidates = F.when(after.isNotNull(), F.when(after["sure"] & leads_on, F.col("between"))).when(
        alone & by_itself & F.coalesce(in_sight, F.lit(False)), lost
    )
    known = (
        states.withColumn("after", following.over(order))
        .join(F.broadcast(kraft), "cluster", "left")
        .join(F.broadcast(of_brokers), "cluster", "left")
        .join(F.broadcast(of_partition), INCARNATION, "left")
        .join(F.broadcast(ends), ["cluster", "topic", "incarnation"], "left")
        .join(F.broadcast(heard), ["cluster", "leader"], "left")
        .withColumn(
            "between",
            F.when(is_whole & sure & F.col("keeps_last_member").isNotNull(), between),
        )
        .drop("of_brokers", "of_partition")
    )
    written = known.withColumn(
        "written", inferred_after(F.struct(*told), candidates, F.when(after.isNotNull(), F.struct(*(after[n] for n in told))), "keeps_last_member")
    )  # fmt: skip
    last = F.try_element_at("written", F.lit(-1))
    reached = F.lag(F.when(after.isNotNull(), last)).over(order)
    only_new = F.filter(
        "written", lambda w: after["partition_epoch"].isNull() | (w["partition_epoch"] < after["partition_epoch"])
    )
    step = F.col("reached.made_by")
    is_earlier = F.timestamp_micros(step["at"]) < F.col("at")
    with_line = F.slice(F.concat(F.array(_line(step)), F.col("evidence")), 1, MOST_EVIDENCE)
    return written.withColumns({"new": F.transform(only_new, _new), "reached": reached}).withColumns(
        {
            "inferred": F.col("inferred") | (F.col("reached").isNotNull() & ~is_whole),
            **{
                name: F.coalesce(name, F.col("reached")[name]) for name in ("leader", "leader_epoch", "isr", "replicas")
            },
            "evidence": F.when(is_earlier, with_line).otherwise(F.col("evidence")),
            "at": F.when(is_earlier, F.timestamp_micros(step["at"])).otherwise(F.col("at")),
        }
    )


def _line(step: Column) -> Column:
    return F.struct(step["node_id"].alias("node_id"), step["file_id"].alias("file_id"), step["line"].alias("line"))


def _new(written: Column) -> Column:
    step = written["made_by"]
    return F.struct(
        *(written[name].alias(name) for name in ("leader", "leader_epoch", "partition_epoch", "isr", "replicas")),
        F.lit(True).alias("inferred"), F.timestamp_micros(step["at"]).alias("at"),
        F.concat(F.slice("evidence", 1, 1), F.array(_line(step))).alias("evidence"),
    )  # fmt: skip
