"""What invariants of KRaft's states go by besides the states: recovery states (KIP-704), and `min.insync.replicas`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.findings.switches import OF_ONE_SETTING
from jobs.settings import Settings
from jobs.timelines.cluster_facts import ClusterFacts
from jobs.timelines.configured import configured
from jobs.timelines.elr_clearings import CLEARED
from jobs.timelines.known_spans import span_around
from jobs.timelines.observations import RECORDS
from jobs.timelines.odd_lines import BEGUN
from jobs.timelines.states.partition_evidence import RETRIED
from jobs.timelines.topics import INCARNATION
from schemas.kafka_values import MIN_ISR
from udfs.kafka.elections import RECOVERED
from udfs.kafka.verdicts_columns import doubt

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SETTINGS = ("own", "default")
"""What lines say of a setting, of the topic and of all."""
CREATED = "metadata_partition"
"""Of RECORDS the one that creates a partition."""


def with_state_inputs(
    states: DataFrame, events: DataFrame, known_spans: DataFrame, facts: ClusterFacts, settings: Settings
) -> DataFrame:
    """PARTITION_TIMELINE, EVENTS -> states with `recovery` and `min_isr`, null unknown, and of ZooKeeper's states;
    and `in_record`: whether a record of a dump shows it; `replicas` is null of those that may be older than it."""
    if facts.kinds.have([RETRIED]):
        states = _without_late_assignments(states, events)
    by_cluster = facts.kinds_by_cluster.items()
    blind = [name for name, kinds in by_cluster if kinds.is_untraced_zookeeper and not kinds.have(BEGUN)]
    if blind:
        states = _without_refuted_assignments(states, blind)
    if not (facts.kinds.kraft or facts.kinds.dumps):
        none = {"recovery": F.lit(None).cast("string"), "min_isr": F.lit(None).cast("int"), "in_record": F.lit(False)}
        return states.withColumns(none)
    return _with_min_isr(_with_recovery(states, events), events, known_spans, settings)


def _without_late_assignments(states: DataFrame, events: DataFrame) -> DataFrame:
    """States, without `replicas` those that are only in requests that a controller failed to send: it had made them
    some time before, when the assignment may have been another one."""
    key = [*INCARNATION, "ordinal"]
    late = events.where(F.col("event_type") == RETRIED).select("cluster", "file_id", "line", F.lit(True).alias("late"))
    proofs = states.select(*key, F.explode("evidence").alias("proof")).select(*key, "proof.file_id", "proof.line")
    is_late = F.coalesce("late", F.lit(False))
    marked = proofs.join(F.broadcast(late), ["cluster", "file_id", "line"], "left").groupBy(*key)
    only_late = marked.agg(F.min(is_late).alias("is_late")).where("is_late")
    replicas = F.when(F.col("is_late").isNull(), F.col("replicas"))
    return states.join(only_late, key, "left").withColumn("replicas", replicas).drop("is_late")


def _without_refuted_assignments(states: DataFrame, clusters: Sequence[str]) -> DataFrame:
    """States, without `replicas` of those of some clusters whose ISR has others: until 0.10 at INFO no line of a state
    prints its assignment, and none would tell that the line of another one is missing."""
    is_refuted = F.col("cluster").isin(*clusters) & (F.size(F.array_except("isr", "replicas")) > 0)
    return states.withColumn("replicas", F.when(~F.coalesce(is_refuted, F.lit(False)), F.col("replicas")))


def _with_recovery(states: DataFrame, events: DataFrame) -> DataFrame:
    """States with `in_record`, and `recovery`: what a line of the evidence prints with the state's epoch.

    Records of a dump print it if it changes, and a new partition's if it is not RECOVERED: there it goes on.
    """
    printed = F.col("fields")["leader_recovery_state"]
    in_record = F.col("event_type").isin(*RECORDS, CLEARED)
    lines = events.where(printed.isNotNull() | in_record).select(
        "cluster",
        "file_id",
        "line",
        F.col("partition_epoch").alias("printed_epoch"),
        F.when(F.col("event_type") == CREATED, F.coalesce(printed, F.lit(RECOVERED))).otherwise(printed).alias("state"),
        in_record.alias("in_record"),
    )
    key = [*INCARNATION, "ordinal"]
    by_state = (
        states.select(*key, "partition_epoch", F.explode("evidence").alias("proof"))
        .select(*key, "partition_epoch", "proof.file_id", "proof.line")
        .join(lines, ["cluster", "file_id", "line"])
        .where(F.coalesce(F.col("printed_epoch") == F.col("partition_epoch"), F.lit(True)))
        .groupBy(*key)
        .agg(
            F.when(F.min("state") == F.max("state"), F.max("state")).alias("printed_recovery"),
            F.max("in_record").alias("in_record"),
        )
    )
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    is_next = F.col("in_record") & (F.col("missing_before") == 0)
    in_run = Window.partitionBy(*INCARNATION, "run").orderBy("ordinal")
    return (
        states.join(by_state, key, "left")
        .withColumn("in_record", F.coalesce("in_record", F.lit(False)))
        .withColumn("run", F.sum(F.when(is_next, 0).otherwise(1)).over(order))
        .withColumn("recovery", F.last("printed_recovery", ignorenulls=True).over(in_run))
        .drop("printed_recovery", "run")
    )


def _with_min_isr(states: DataFrame, events: DataFrame, known_spans: DataFrame, settings: Settings) -> DataFrame:
    """States with `min_isr`: the topic's `min.insync.replicas`, as set for us or as the last line before has it.

    KRaft logs each setting of a topic and of the whole cluster (the brokers' default, as far as it is in the metadata).
    A topic that no line names has none of its own if its creation is logged. Where it changes at about that time, the
    greatest counts, and where it was changed at run time to less than what is set for us.
    """
    name, kind = F.col("fields")["config_name"], F.col("fields")["config_resource_type"]
    of_cluster = (kind == "BROKER") & F.coalesce(F.col("broker_id"), F.col("fields")["broker"].try_cast("int")).isNull()
    lines = events.where(F.col("event_type").isin(*OF_ONE_SETTING) & (name == MIN_ISR))
    setting = F.struct("at", F.col("fields")["config_value"].try_cast("int").alias("value"))
    by_topic = lines.where((kind == "TOPIC") & F.col("topic").isNotNull()).groupBy("cluster", "topic")
    own = by_topic.agg(F.array_sort(F.collect_set(setting)).alias("own"))
    default = lines.where(of_cluster).groupBy("cluster").agg(F.array_sort(F.collect_set(setting)).alias("default"))
    created = F.min(F.when(F.col("partition_epoch") == 0, F.col("since"))).over(Window.partitionBy(*INCARNATION))
    own_since = F.greatest("known_since", F.col("created") - doubt())
    by_lines = F.coalesce(
        _greatest_around("own", own_since),
        F.when(F.col("created") >= F.col("known_since"), _greatest_around("default", F.col("known_since"))),
    )
    as_set = configured(settings, "min_insync_replicas", "int")
    return (
        states.join(F.broadcast(own), ["cluster", "topic"], "left")
        .join(F.broadcast(default), "cluster", "left")
        .join(F.broadcast(known_spans), "cluster", "left")
        .withColumns({"known_since": span_around(F.col("since"))["since"], "created": created})
        .withColumn("min_isr", F.greatest(F.when(~_is_changed_later(), as_set), by_lines))
        .drop("own", "default", "spans", "known_since", "created")
    )


def _is_changed_later() -> Column:
    """Whether the first line about a setting is later than a state: what it was before is not what is set for us
    now."""
    lines = F.concat(*(F.coalesce(name, F.array().cast("array<struct<at:timestamp,value:int>>")) for name in _SETTINGS))
    is_told = F.exists(lines, lambda line: line["at"] <= F.col("since") + doubt())
    return ~is_told & (F.size(lines) > 0)


def _greatest_around(settings: str, known_since: Column) -> Column:
    """The greatest of the values that a setting had when a state may have been decided; null if lines tell none."""
    known = F.filter(settings, lambda line: line["at"] >= known_since)
    before = F.try_element_at(F.filter(known, lambda line: line["at"] <= F.col("since") - doubt()), F.lit(-1))
    around = F.filter(known, lambda line: line["at"].between(F.col("since") - doubt(), F.col("since") + doubt()))
    return F.array_max(F.transform(F.concat(F.array(before), around), lambda line: line["value"]))
