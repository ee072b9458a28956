"""States of KRaft that no line states, by the steps of the active controller (`udfs.reconstruct.kraft_inferred`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.timelines.evidence import MOST_EVIDENCE
from jobs.timelines.states.columns import NUMBERED_STATES, is_complete, with_inserted
from jobs.timelines.topics import HISTORY, INCARNATION
from udfs.reconstruct.kraft_inferred import ASSIGNMENT_CHANGED
from udfs.reconstruct.kraft_inferred_columns import CONTROLLER_STEP, KRAFT_STATE, inferred_after

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from jobs.timelines.cluster_facts import ClusterFacts
    from jobs.timelines.states.partition_evidence import KraftEvidence


def with_states_of_steps(states: DataFrame, topics: DataFrame, facts: ClusterFacts, steps: KraftEvidence) -> DataFrame:
    """NUMBERED_STATES -> the same, and those that steps lead through up to the next state that a line states.

    That one is completed and dated by its step, if they lead there; a record gives its assignment. After the last state
    a leader alone in sync counts as lost once it was fenced for good, if it logged that state itself, its log is there
    until then, and the topic was not gone.
    """
    with_steps = _with_steps(_with_state_after(states), topics, facts, steps)
    after = F.when(F.col("after").isNotNull(), F.struct(*(F.col("after")[name] for name in KRAFT_STATE.names)))
    reached = with_steps.withColumn(
        "reached", inferred_after(F.struct(*KRAFT_STATE.names), _steps_that_count(), after, "keeps_last_member")
    )
    return with_inserted(_completed(reached), NUMBERED_STATES)


def _with_state_after(states: DataFrame) -> DataFrame:
    """States with `after`: the next one, its time in microseconds, whether it is complete and without contradiction."""
    order = Window.partitionBy(HISTORY).orderBy("partition_epoch")
    after = F.struct(
        *KRAFT_STATE.names,
        F.unix_micros("at").alias("at"),
        is_complete().alias("is_complete"),
        F.col("contradiction").isNull().alias("is_consistent"),
    )
    return states.withColumn("after", F.lead(after).over(order))


def _with_steps(states: DataFrame, topics: DataFrame, facts: ClusterFacts, steps: KraftEvidence) -> DataFrame:
    """Rows of `_with_state_after` with `steps` up to the next state, `keeps_last_member`, and the leader's `coverage`.

    `steps` is null where none count: of states in part, or contradicting, and while `keeps_last_member` is unknown.
    """
    of_brokers = steps.broker_steps.groupBy("cluster").agg(F.array_sort(F.collect_list("step")).alias("of_brokers"))
    of_partition = steps.partition_steps.groupBy(*INCARNATION).agg(
        F.array_sort(F.collect_list("step")).alias("of_partition")
    )
    ends = topics.select("cluster", "topic", "incarnation", F.col("until").alias("gone"))
    since = F.unix_micros("at")
    until = F.coalesce(F.col("after")["at"], F.unix_micros("gone"), F.lit(2**62))

    def in_time(name: str) -> Column:
        none = F.array().cast(T.ArrayType(CONTROLLER_STEP))
        return F.coalesce(F.filter(name, lambda step: (step["at"] > since) & (step["at"] <= until)), none)

    between = F.array_sort(F.concat(in_time("of_brokers"), in_time("of_partition")))
    counts = is_complete() & F.col("contradiction").isNull() & F.col("keeps_last_member").isNotNull()
    return (
        states.join(F.broadcast(facts.kraft_clusters), "cluster", "left")
        .join(F.broadcast(of_brokers), "cluster", "left")
        .join(F.broadcast(of_partition), INCARNATION, "left")
        .join(F.broadcast(ends), ["cluster", "topic", "incarnation"], "left")
        .join(F.broadcast(facts.coverage_by_leader), ["cluster", "leader"], "left")
        .withColumn("steps", F.when(counts, between))
        .drop("of_brokers", "of_partition")
    )


def _steps_that_count() -> Column:
    """Of `steps` those to infer states from: up to the next state all, after the last one those of a lost leader."""
    after = F.col("after")
    has_record = F.exists("steps", lambda step: step["kind"] == ASSIGNMENT_CHANGED)
    leads_on = ~after["is_complete"] | (after["partition_epoch"] > F.col("partition_epoch") + 1) | has_record
    of_leader = F.filter(
        "steps", lambda step: step["kind"].isin(ASSIGNMENT_CHANGED) | (step["broker"] == F.col("leader"))
    )
    first = F.try_element_at(of_leader, F.lit(1))
    is_covered = F.exists(
        "coverage",
        lambda span: (
            (span["covered_since"] <= F.col("at")) & (span["covered_until"] >= F.timestamp_micros(first["at"]))
        ),
    )
    is_alone_in_sync = F.col("isr") == F.array("leader")
    is_own_line = F.exists("evidence", lambda line: line["node_id"] == F.col("leader"))
    return F.when(after.isNotNull(), F.when(after["is_consistent"] & leads_on, F.col("steps"))).when(
        is_alone_in_sync & is_own_line & F.coalesce(is_covered, F.lit(False)), of_leader
    )


def _completed(states: DataFrame) -> DataFrame:
    """Rows with `reached` -> the same with `inserted`; the state that steps lead to is completed and dated by them."""
    order = Window.partitionBy(HISTORY).orderBy("partition_epoch")
    after = F.col("after")
    only_between = F.filter(
        "reached", lambda s: after["partition_epoch"].isNull() | (s["partition_epoch"] < after["partition_epoch"])
    )
    last = F.when(after.isNotNull(), F.try_element_at("reached", F.lit(-1)))
    inferred, step = F.col("inferred_here"), F.col("inferred_here.made_by")
    is_earlier = F.timestamp_micros(step["at"]) < F.col("at")
    with_line = F.slice(F.concat(F.array(_line(step)), F.col("evidence")), 1, MOST_EVIDENCE)
    both = states.withColumns({"inserted": F.transform(only_between, _row), "inferred_here": F.lag(last).over(order)})
    parts = {name: F.coalesce(name, inferred[name]) for name in ("leader", "leader_epoch", "isr", "replicas")}
    return both.withColumns(
        {
            "inferred": F.col("inferred") | (inferred.isNotNull() & ~is_complete()),
            **parts,
            "evidence": F.when(is_earlier, with_line).otherwise(F.col("evidence")),
            "at": F.when(is_earlier, F.timestamp_micros(step["at"])).otherwise(F.col("at")),
        }
    )


def _line(step: Column) -> Column:
    """The line of a step, as evidence."""
    return F.struct(step["node_id"].alias("node_id"), step["file_id"].alias("file_id"), step["line"].alias("line"))


def _row(state: Column) -> Column:
    """An inferred state as a row to insert."""
    step = state["made_by"]
    return F.struct(
        *(state[name].alias(name) for name in KRAFT_STATE.names),
        F.lit(True).alias("inferred"), F.timestamp_micros(step["at"]).alias("at"),
        F.concat(F.slice("evidence", 1, 1), F.array(_line(step))).alias("evidence"),
    )  # fmt: skip
