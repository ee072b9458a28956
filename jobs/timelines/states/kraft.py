"""States of KRaft that no line states, by what its controller's steps leave no choice about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.timelines.evidence import MOST_EVIDENCE
from jobs.timelines.states.columns import NUMBERED_STATES, is_complete, with_inserted
from jobs.timelines.topics import HISTORY, INCARNATION
from schemas.spark import EVIDENCE
from udfs.reconstruct.kraft_engine_columns import (
    CONTROLLER_STEP,
    FOLLOWING,
    KNOWN_STATE,
    PARTITION_RULES,
    SHRINK,
    following,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from jobs.timelines.cluster_facts import ClusterFacts
    from jobs.timelines.states.partition_evidence import KraftEvidence

NO_BROKER = -1
"""Stands for the broker of a step that is no broker's."""


def with_following_states(states: DataFrame, topics: DataFrame, facts: ClusterFacts, steps: KraftEvidence) -> DataFrame:
    """NUMBERED_STATES -> the same, completed and dated by what follows, and states that no line mentions.

    Only those of KRaft's clusters; each partition's history is searched by itself (`udfs.reconstruct.kraft_engine`).
    """
    histories = _with_evidence(_histories(states), topics, facts, steps)
    # of other clusters nothing is given to the UDF, and nothing follows
    known = F.when(F.col("is_kraft"), _known())
    rules = F.struct(*PARTITION_RULES.names)
    follows = following(known, "steps", rules, "covered", "logged", F.unix_micros("gone"), "shrinks")
    searched = histories.withColumn("follows", F.coalesce(follows, F.array().cast(T.ArrayType(FOLLOWING))))
    rows = searched.select(
        HISTORY, *INCARNATION, "keeps_last_member", F.explode(F.arrays_zip("rows", "follows")).alias("both")
    ).select(HISTORY, *INCARNATION, "keeps_last_member", "both.rows.*", "both.follows.*")
    return with_inserted(_completed(rows), NUMBERED_STATES)


def _histories(states: DataFrame) -> DataFrame:
    """NUMBERED_STATES -> HISTORY, INCARNATION, `rows`: all others of its columns, by partition epoch."""
    others = [name for name in NUMBERED_STATES.names if name not in (HISTORY, *INCARNATION, "partition_epoch")]
    rows = F.array_sort(F.collect_list(F.struct("partition_epoch", *others)))
    return states.groupBy(HISTORY, *INCARNATION).agg(rows.alias("rows"))


def _with_evidence(histories: DataFrame, topics: DataFrame, facts: ClusterFacts, steps: KraftEvidence) -> DataFrame:
    """Rows of `_histories` with `brokers`, `steps` and `covered` spans of these, what holds of their cluster, when the
    active controller `logged`, and when their topic was `gone`."""
    broker = F.coalesce(F.col("step.broker"), F.lit(NO_BROKER))
    of_brokers = _by_broker(steps.broker_steps.select("cluster", broker.alias("broker"), "step"), "step", "of_brokers")
    spans = facts.server_coverage.select(
        "cluster",
        F.col("leader").alias("broker"),
        F.struct(
            F.col("leader").alias("broker"),
            F.unix_micros("covered_since").alias("since"),
            F.unix_micros("covered_until").alias("until"),
        ).alias("span"),
    )
    of_partition = steps.partition_steps.groupBy(*INCARNATION).agg(F.collect_list("step").alias("of_partition"))
    ends = topics.select("cluster", "topic", "incarnation", F.col("until").alias("gone"))
    rules = facts.kraft_clusters.where("is_whole").withColumn("is_kraft", F.lit(True))
    none = F.array().cast(T.ArrayType(CONTROLLER_STEP))
    joined = (
        histories.join(F.broadcast(rules), "cluster", "left")
        .join(F.broadcast(of_brokers), "cluster", "left")
        .join(F.broadcast(_by_broker(spans, "span", "spans")), "cluster", "left")
        .join(F.broadcast(steps.logged), "cluster", "left")
        .join(F.broadcast(of_partition), INCARNATION, "left")
        .join(F.broadcast(steps.shrinks), INCARNATION, "left")
        .join(F.broadcast(ends), ["cluster", "topic", "incarnation"], "left")
        .withColumn("shrinks", F.coalesce("shrinks", F.array().cast(T.ArrayType(SHRINK))))
        .withColumn("of_partition", F.coalesce("of_partition", none))
        .withColumn("brokers", _brokers())
    )

    def of_each(name: str) -> Column:
        return F.flatten(F.filter(F.transform("brokers", lambda b: F.try_element_at(name, b)), F.isnotnull))

    own = F.filter(of_each("of_brokers"), _is_in_time)
    return joined.withColumns(
        {"steps": F.concat(F.coalesce(own, none), F.filter("of_partition", _is_in_time)), "covered": of_each("spans")}
    ).drop("of_brokers", "spans", "of_partition")


def _by_broker(rows: DataFrame, name: str, alias: str) -> DataFrame:
    """Rows with `cluster, broker` and a value -> cluster, and a map from broker to all its values."""
    lists = rows.groupBy("cluster", "broker").agg(F.collect_list(name).alias("values"))
    return lists.groupBy("cluster").agg(F.map_from_entries(F.collect_list(F.struct("broker", "values"))).alias(alias))


def _brokers() -> Column:
    """All brokers that lines show as replicas of a partition, and NO_BROKER."""
    no_ids = F.array().cast("array<int>")
    of_rows = F.flatten(
        F.transform("rows", lambda r: F.coalesce(F.concat(_ids(r["replicas"]), _ids(r["isr"])), no_ids))
    )
    leaders = F.transform("rows", lambda row: F.coalesce(row["leader"], F.lit(NO_BROKER)))
    of_records = F.flatten(F.transform("of_partition", lambda step: _ids(step["replicas"])))
    return F.array_distinct(F.concat(F.array(F.lit(NO_BROKER)), of_rows, leaders, of_records))


def _ids(ids: Column) -> Column:
    return F.coalesce(ids, F.array().cast("array<int>"))


def _is_in_time(step: Column) -> Column:
    """Whether a step was before the topic's end."""
    return F.coalesce(step["at"] <= F.unix_micros("gone"), F.lit(True))


def _known() -> Column:
    """`rows` as KNOWN_STATEs."""

    def known(row: Column) -> Column:
        values = {
            "eligible": row["elr"],
            "unassigned": F.lit(None).cast("array<int>"),
            "at": F.unix_micros(row["at"]),
            "by_leader": F.coalesce(row["by_leader"], F.lit(False)),
            "by_broker": F.exists(row["evidence"], lambda line: F.array_contains("brokers", line["node_id"])),
            "is_contradictory": row["contradiction"].isNotNull(),
        }
        return F.struct(*(values.get(name, row[name]).alias(name) for name in KNOWN_STATE.names))

    return F.transform("rows", known)


def _completed(rows: DataFrame) -> DataFrame:
    """Rows with `own` and `inserted`, FOLLOWING_STATEs -> completed and dated by the one, the others as rows."""
    own = F.col("own")
    is_earlier = F.timestamp_micros(own["at"]) < F.col("at")
    with_line = F.slice(F.concat(own["evidence"], F.col("evidence")), 1, MOST_EVIDENCE)
    parts = {name: F.coalesce(name, own[name]) for name in ("leader", "leader_epoch", "isr", "replicas")}
    no_replicas = F.when(F.col("keeps_last_member"), F.array().cast("array<int>"))
    is_replayed = F.col("is_replayed") & own.isNull()
    return rows.withColumns(
        {
            "inserted": F.transform("inserted", lambda state: _row(state, F.col("evidence"), no_replicas, is_replayed)),
            "inferred": F.coalesce("inferred", F.lit(False)) | (own["isr"].isNotNull() & ~is_complete()),
            "elr": F.coalesce("elr", no_replicas),
            **parts,
            "is_replayed": is_replayed,
            "evidence": F.when(is_earlier, with_line).otherwise(F.col("evidence")),
            "at": F.when(is_earlier, F.timestamp_micros(own["at"])).otherwise(F.col("at")),
        }
    )


def _row(state: Column, evidence: Column, elr: Column, is_replayed: Column) -> Column:
    """A FOLLOWING_STATE as a row to insert after another, whose `evidence` is given. What follows from one that is only
    replayed, by no step of a controller, is as old as that may be."""
    step = F.coalesce(state["evidence"], F.array().cast(EVIDENCE))
    return F.struct(
        *(state[name].alias(name) for name in ("partition_epoch", "leader", "leader_epoch", "isr", "replicas")),
        elr.alias("elr"), F.lit(True).alias("inferred"), F.timestamp_micros(state["at"]).alias("at"),
        F.concat(F.slice(evidence, 1, 1), step).alias("evidence"),
        (is_replayed & (F.size(step) == 0)).alias("is_replayed"),
    )  # fmt: skip
