"""States of ZooKeeper that only replicas taken offline show (`udfs.reconstruct.zk_inferred`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.evidence import MOST_EVIDENCE
from jobs.timelines.observations import number_of
from jobs.timelines.states.columns import NUMBERED_STATES, ORDERED_STATES, is_complete, with_inserted
from jobs.timelines.topics import HISTORY, INCARNATION
from udfs.reconstruct.zk_inferred_columns import ZK_STATE, inferred_states

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from jobs.timelines.states.partition_evidence import ZkEvidence


def with_states_of_removals(states: DataFrame, coverage: DataFrame, evidence: ZkEvidence) -> DataFrame:
    """NUMBERED_STATES -> the same, and those `inferred` that only the removal of a replica from the ISR shows.

    After the last logged state they count while the topic is being deleted, if its leader's log is there all the time
    without a change. `coverage`: cluster, leader, `coverage`.
    """
    return with_inserted(_with_reached(states, coverage, evidence, "partition_epoch"), NUMBERED_STATES)


def with_ordered_states_of_removals(states: DataFrame, coverage: DataFrame, evidence: ZkEvidence) -> DataFrame:
    """The same of ORDERED_STATES, numbered anew: where a leader's change that prints no partition epoch is between two
    states, only these show which removals made one of the other."""
    absent = {
        field.name: F.lit(None).cast(field.dataType) for field in ORDERED_STATES if field.name not in states.columns
    }
    ordered = _with_reached(states.withColumns(absent), coverage, evidence, "ordinal")
    order = Window.partitionBy(HISTORY).orderBy("ordinal", F.col("inferred").asc_nulls_first(), "partition_epoch")
    return with_inserted(ordered, ORDERED_STATES).withColumn("ordinal", (F.row_number().over(order) - 1).cast("long"))


def _with_reached(states: DataFrame, coverage: DataFrame, evidence: ZkEvidence, order_by: str) -> DataFrame:
    """States of a history in an order -> the same, dated by removals, and with `inserted`."""
    with_candidates = _with_candidates(states, _removals(evidence), order_by)
    with_coverage = with_candidates.join(F.broadcast(coverage), ["cluster", "leader"], "left")
    is_covered = F.exists(
        "coverage", lambda s: (s["covered_since"] <= F.col("at")) & (s["covered_until"] >= F.col("covered_to"))
    )
    counts = F.col("covered_to").isNull() | F.coalesce(is_covered, F.lit(False))
    candidates = F.when(counts, F.col("candidates"))
    inferred = with_coverage.withColumn(
        "reached", inferred_states(_state(), F.unix_micros("at"), candidates, F.col("state_after"))
    )
    return _dated(inferred, order_by)


def _removals(evidence: ZkEvidence) -> DataFrame:
    """INCARNATION, `removals`: replicas taken offline, in order, and `deleting`: those that belong to a deletion."""
    starts = evidence.deletions.groupBy("cluster", "topic", "incarnation", "node_id").agg(F.min("at").alias("started"))
    removal = F.struct(
        F.unix_micros("at").alias("at"),
        "node_id",
        "file_id",
        "line",
        number_of("replica").alias("replica"),
        "controller_epoch",
    )
    return (
        evidence.offline_replicas.join(F.broadcast(starts), ["cluster", "topic", "incarnation", "node_id"], "left")
        .groupBy(*INCARNATION)
        .agg(
            F.array_sort(F.collect_list(removal)).alias("removals"),
            F.array_sort(F.collect_list(F.when(F.col("started") <= F.col("at"), removal))).alias("deleting"),
        )
    )


def _state() -> Column:
    return F.struct(*ZK_STATE.names)


def _with_candidates(states: DataFrame, removals: DataFrame, order_by: str) -> DataFrame:
    """States with `state_after` (null if incomplete), `next_epoch`, and `candidates`: removals up to the next state.

    `covered_to`: until when the leader's log has to be there for them to count; null: it does not matter.
    """
    order = Window.partitionBy(HISTORY).orderBy(order_by)
    is_placed = is_complete() & F.col("partition_epoch").isNotNull()
    with_next = states.join(F.broadcast(removals), INCARNATION, "left").withColumns(
        {
            "next_epoch": F.lead("partition_epoch").over(order),
            "state_after": F.lead(F.when(is_placed, _state())).over(order),
            "next_at": F.unix_micros(F.lead("at").over(order)),
        }
    )
    is_between = is_placed & F.col("state_after").isNotNull()
    is_last = is_placed & F.col("next_at").isNull() & (F.size("deleting") > 0)
    in_time = F.filter("removals", lambda r: _is_after_first_proof(r) & (r["at"] <= F.col("next_at")))
    last_removal = F.try_element_at("deleting", F.lit(-1))
    return with_next.withColumns(
        {
            "candidates": F.when(is_between, in_time).when(is_last, F.col("deleting")),
            "covered_to": F.when(is_last & (F.col("leader") >= 0), F.timestamp_micros(last_removal["at"])),
        }
    )


def _is_after_first_proof(removal: Column) -> Column:
    """Whether a removal came after a state's first line, within a millisecond by the log that has both: it may be what
    made that state."""
    at, first = F.unix_micros("at"), F.try_element_at("evidence", F.lit(1))
    is_made_by = (removal["file_id"] == first["file_id"]) & (removal["line"] <= first["line"])
    return (removal["at"] > at) | ((removal["at"] == at) & ~F.coalesce(is_made_by, F.lit(False)))


def _dated(states: DataFrame, order_by: str) -> DataFrame:
    """Rows with `reached` -> the same with `inserted`; a state logged late is as old as the removal that made it."""
    order = Window.partitionBy(HISTORY).orderBy(order_by)
    only_between = F.filter(
        "reached", lambda s: F.col("next_epoch").isNull() | (s["partition_epoch"] < F.col("next_epoch"))
    )
    last = F.when(F.col("state_after").isNotNull(), F.try_element_at("reached", F.lit(-1))["made_by"])
    both = states.withColumns({"inserted": F.transform(only_between, _row), "removal": F.lag(last).over(order)})
    removed_at = F.timestamp_micros("removal.at")
    line = F.struct("removal.node_id", "removal.file_id", "removal.line")
    with_line = F.slice(F.concat(F.array(line), F.col("evidence")), 1, MOST_EVIDENCE)
    return both.withColumns(
        {
            "at": F.least("at", removed_at),
            "evidence": F.when(removed_at < F.col("at"), with_line).otherwise(F.col("evidence")),
        }
    )


def _row(state: Column) -> Column:
    """An inferred state as a row to insert."""
    removal = state["made_by"]
    line = F.struct(
        removal["node_id"].alias("node_id"), removal["file_id"].alias("file_id"), removal["line"].alias("line")
    )
    return F.struct(
        *(state[name].alias(name) for name in ZK_STATE.names),
        removal["controller_epoch"].alias("controller_epoch"),
        F.lit(True).alias("inferred"),
        F.timestamp_micros(removal["at"]).alias("at"),
        F.concat(F.slice("evidence", 1, 1), F.array(line)).alias("evidence"),
    )
