"""Which incarnation of a topic was when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.evidence import evidence
from jobs.timelines.order import EVENT_ORDER, with_rank
from schemas.kafka_values import METADATA_LOG
from schemas.timelines import TOPIC_TIMELINE
from udfs.reconstruct.incarnations_columns import incarnation_starts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec

INCARNATION = ["cluster", "topic", "partition", "incarnation"]
"""What keys the states of a partition."""
HISTORY = "history"
"""The same as one number: of a topic's life in the high half, of the partition in the low. Sorting by it is comparing integers."""

GONE = "metadata_cache_partition_deleted"
"""A broker dropped a partition from its metadata: the controller says so once its topic's deletion has begun."""
OBEYED = ("leader_epoch_started",)
TOLD = ("leader_and_isr_request_received", "metadata_cache_updated", "partition_state_change", *OBEYED)
"""Lines by which a node tells a partition's epochs in the order in which it learned them."""
ALIVE = (
    "partition_state_change",
    "topics_changed",
    "leader_and_isr_request_sent",
    "leader_and_isr_request_received",
)
"""Lines that are not written of a topic that is gone."""


def to_topic_timeline(events: DataFrame) -> DataFrame:
    """EVENTS -> TOPIC_TIMELINE. In KRaft an incarnation is a topic id; before, deletions are reported or shown (`_rebirths`).

    KRaft's own log has a topic's name (`__cluster_metadata`), but is none, unless a controller tells of it as one.
    """
    columns = ["cluster", "topic", "topic_id", "at", "node_id", "file_id", "line", "event_type", "partition"]
    told = (F.col("event_type") == "metadata_cache_updated") & (F.col("leader") > -2)
    is_topic = (F.col("topic") != METADATA_LOG) | F.col("event_type").isin(*ALIVE)
    named = events.where(F.col("topic").isNotNull() & is_topic).select(
        *columns, F.coalesce(told, F.lit(False)).alias("told")
    )
    listed = events.where("partitions IS NOT NULL").select(
        "cluster", F.explode("partitions").alias("p"), "at", "node_id", "file_id", "line", "event_type"
    )
    seen = named.unionByName(
        listed.select(
            "cluster", F.col("p.topic").alias("topic"), F.col("p.topic_id").alias("topic_id"), "at", "node_id", "file_id",
            "line", "event_type", F.col("p.partition").alias("partition"), F.lit(False).alias("told"),
        ).where("topic IS NOT NULL")
    )  # fmt: skip
    is_birth = F.col("event_type").isin("kraft_topic_created", "metadata_topic", "kraft_partition_created")
    names = (
        seen.where(is_birth & F.col("topic_id").isNotNull())
        .groupBy("cluster", "topic_id")
        .agg(F.min("topic").alias("topic"))
    )
    partitions = (
        seen.where("partition IS NOT NULL")
        .groupBy("cluster", "topic")
        .agg((F.max("partition") + 1).alias("partitions"))
    )
    born = (
        seen.where(is_birth & F.col("topic_id").isNotNull())
        .groupBy("cluster", "topic", "topic_id")
        .agg(F.min("at").alias("since"), evidence(2).alias("evidence"))
    )
    gone = (
        events.where(
            F.col("event_type").isin("kraft_topic_removed", "metadata_remove_topic") & F.col("topic_id").isNotNull()
        )
        .groupBy("cluster", "topic_id")
        .agg(F.min("at").alias("until"), evidence(2).alias("ended"))
    )
    by_id = (
        born.join(gone, ["cluster", "topic_id"], "left")
        .withColumn(
            "incarnation", F.row_number().over(Window.partitionBy("cluster", "topic").orderBy("since", "topic_id")) - 1
        )
        .withColumn("deletion_started", F.col("until"))
    )
    nameless = F.broadcast(names.select("cluster", "topic").distinct())
    by_deletion = _by_deletion(
        seen.join(nameless, ["cluster", "topic"], "left_anti"),
        _rebirths(events.join(nameless, ["cluster", "topic"], "left_anti")),
    )
    return (
        by_id.unionByName(by_deletion)
        .join(partitions, ["cluster", "topic"], "left")
        .withColumn(
            "evidence",
            F.concat("evidence", F.coalesce("ended", F.array().cast(TOPIC_TIMELINE.schema["evidence"].dataType))),
        )
        .select(*TOPIC_TIMELINE.columns)
    )


def _by_deletion(seen: DataFrame, rebirths: DataFrame) -> DataFrame:
    """Incarnations of topics without ids, by when they were reborn; the controller's report of a deletion ends one exactly.

    Where nobody reports it, it ends with the last word of a broker that dropped it, or when the next is first told of.
    """
    done, dropped = F.col("event_type") == "topic_deletion_completed", F.col("event_type") == GONE
    lives = (
        seen.join(F.broadcast(rebirths), ["cluster", "topic"], "left")
        .withColumn("begins", F.coalesce("begins", F.array().cast("array<long>")))
        .withColumn("incarnation", F.size(F.filter("begins", lambda b: b <= F.unix_micros("at"))))
    )
    line = F.struct("at", "node_id", "line", "file_id")
    begins_here = F.unix_micros("at") == F.get("begins", F.col("incarnation") - 1)
    spans = lives.groupBy("cluster", "topic", "incarnation").agg(
        F.max("topic_id").alias("topic_id"),
        F.min(line).alias("start"),
        # brokers may speak of a topic once more after its deletion; that alone does not create it again
        F.min(F.when(F.col("event_type").isin(*ALIVE) | F.col("told"), line)).alias("alive"),
        F.max(F.col("event_type").isin(*ALIVE) | (F.col("told") & begins_here)).alias("lives"),
        F.min(F.when(F.col("event_type") == "topic_deletion_started", F.col("at"))).alias("asked"),
        F.min(F.when(dropped, F.col("at"))).alias("first_dropped"),
        F.max(F.when(done, line)).alias("end"),
        F.max(F.when(dropped, line)).alias("dropped"),
        F.first("begins").alias("begins"),
    )

    def as_evidence(name: str) -> Column:
        return F.array(F.struct(f"{name}.node_id", f"{name}.file_id", f"{name}.line"))

    next_begin = F.timestamp_micros(F.get("begins", F.col("incarnation")))
    last = F.coalesce("end", F.when(next_begin.isNotNull(), F.col("dropped")))
    first = F.coalesce("alive", "start")
    # what is dropped before its first word is the life before
    gone_at = [F.when(at >= F.col("first.at"), at) for at in (F.col("first_dropped"), F.col("dropped.at"))]
    return (
        spans.where("incarnation = 0 OR lives")
        .withColumns({"first": first, "last": last})
        .select(
            "cluster", "topic", "incarnation", "topic_id", F.col("first.at").alias("since"),
            F.coalesce("asked", *gone_at).alias("deletion_started"),
            F.coalesce("last.at", next_begin).alias("until"), as_evidence("first").alias("evidence"),
            F.when(F.col("last").isNotNull(), as_evidence("last")).alias("ended"),
        )
    )  # fmt: skip


def _rebirths(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, topic, `begins`: when each life after the first began (microseconds), by `udfs.reconstruct.incarnations`.

    Signs, where the controller does not report the deletion, all of one partition:
    - an epoch went back from one line of a node to its next of that kind, and no older controller had sent the next one
      (not from one LeaderAndIsr request to another: until 2.3 a controller may repeat the epoch before in a reassignment);
    - a broker that dropped it from its metadata was told of it again;
    - a controller created it that had told of it before, or after an older controller had.
    """
    kind, state_change = F.col("event_type"), F.col("event_type") == "partition_state_change"
    is_new = state_change & (F.col("fields")["to_state"] == "NewPartition")
    names = ["cluster", "topic", "partition", *EVENT_ORDER]
    told = kind.isin(*TOLD) & F.col("leader_epoch").isNotNull() & (F.coalesce("leader", F.lit(0)) > -2)
    concerned = F.col("topic").isNotNull() & F.col("partition").isNotNull() & (told | (kind == GONE) | is_new)
    lines = (
        with_rank(events.where(concerned), "topic", "partition")
        .withColumns(
            {
                "told": told,
                "is_new": F.coalesce(is_new, F.lit(False)),
            }
        )
        .select(*names, "event_type", "leader_epoch", "partition_epoch", "controller_epoch", "told", "is_new")
    )
    by_kind = Window.partitionBy("cluster", "topic", "partition", "node_id", "event_type").orderBy(
        "at", "line", "file_id"
    )
    by_node = Window.partitionBy("cluster", "topic", "partition", "node_id").orderBy("at", "line", "file_id")
    by_all = Window.partitionBy("cluster", "topic", "partition").orderBy(*EVENT_ORDER)

    def last(condition: Column, *names: str, over: WindowSpec) -> Column:
        before = over.rowsBetween(Window.unboundedPreceding, -1)
        return F.last(F.when(condition, F.struct(*names)), ignorenulls=True).over(before)

    epochs = ("at", "leader_epoch", "partition_epoch", "controller_epoch")
    known = lines.withColumns(
        {
            "before": last(F.col("told"), *epochs, over=by_kind),
            "cached": last(kind.isin(GONE, "metadata_cache_updated"), "event_type", over=by_node),
            "decided": last(F.col("told") | F.col("is_new"), "at", over=by_kind),
            "by_anyone": last(F.col("told"), "at", "controller_epoch", over=by_all),
        }
    )
    in_order = kind.isin(*OBEYED) | (
        (kind != "leader_and_isr_request_received") & (F.col("controller_epoch") >= F.col("before.controller_epoch"))
    )
    back = F.col("leader_epoch") < F.col("before.leader_epoch")
    back_within = (F.col("leader_epoch") == F.col("before.leader_epoch")) & (
        F.col("partition_epoch") < F.col("before.partition_epoch")
    )
    was_dropped = F.col("cached.event_type") == GONE
    created_again = F.col("is_new") & (
        F.col("decided").isNotNull() | (F.col("by_anyone.controller_epoch") < F.col("controller_epoch"))
    )
    after = (
        F.when(F.col("told") & in_order & (back | back_within), F.col("before.at"))
        .when((kind == "metadata_cache_updated") & was_dropped, F.coalesce("before.at", F.timestamp_micros(F.lit(0))))
        .when(created_again, F.coalesce("decided.at", "by_anyone.at"))
    )
    birth = F.col("is_new") | (
        (kind == "leader_and_isr_request_received") & (F.col("leader_epoch") == 0) & (was_dropped | back)
    )
    at = F.unix_micros("at")
    signs = (
        known.groupBy("cluster", "topic")
        .agg(
            F.array_sort(F.collect_set(F.when(after.isNotNull(), F.struct(F.unix_micros(after).alias("after"), at.alias("at"))))).alias("signs"),
            F.array_sort(F.collect_set(F.when(birth, at))).alias("births"),
        )
        .where("size(signs) > 0")
    )  # fmt: skip
    reported = (
        events.where("event_type = 'topic_deletion_completed' AND topic IS NOT NULL")
        .groupBy("cluster", "topic")
        .agg(F.array_sort(F.collect_set(at)).alias("deleted"))
    )
    none = F.array().cast("array<long>")
    return (
        signs.join(reported, ["cluster", "topic"], "full")
        .withColumns(
            {
                "deleted": F.coalesce("deleted", none),
                "signs": F.coalesce("signs", F.array().cast("array<struct<after: long, at: long>>")),
                "births": F.coalesce("births", none),
            }
        )
        .select("cluster", "topic", incarnation_starts("deleted", "signs", "births").alias("begins"))
    )


def with_incarnation(rows: DataFrame, topics: DataFrame) -> DataFrame:
    """Rows with `cluster, topic, at` -> the same with `incarnation`: by topic id where the row has one, else by time."""
    return _with_life(rows, topics, "incarnation")


def _with_life(rows: DataFrame, topics: DataFrame, *names: str) -> DataFrame:
    """Rows with `cluster, topic, at` -> the same with columns of their topic's life."""
    columns = dict.fromkeys((*names, "incarnation", "topic_id", "since"))
    lives = topics.groupBy("cluster", "topic").agg(
        F.array_sort(
            F.collect_list(F.struct("incarnation", *(name for name in columns if name != "incarnation")))
        ).alias("lives")
    )
    # a life begins with its first proof; what the controller says of a deletion ends it for everybody
    by_time = F.try_element_at(
        F.filter("lives", lambda life: (life["incarnation"] == 0) | (life["since"] <= F.col("at"))), F.lit(-1)
    )
    if "topic_id" in rows.columns:
        by_time = F.coalesce(
            F.get(F.filter("lives", lambda life: life["topic_id"] == F.col("topic_id")), F.lit(0)), by_time
        )
    only = F.get("lives", F.lit(0))
    life = F.when((F.size("lives") == 1) & (only["incarnation"] == 0), only).otherwise(by_time)
    return (
        rows.join(F.broadcast(lives), ["cluster", "topic"])
        .withColumn("life", life)
        .withColumns({name: F.col("life")[name] for name in names})
        .drop("lives", "life")
    )


def to_numbered_incarnations(topics: DataFrame) -> DataFrame:
    """TOPIC_TIMELINE -> the same with `number`, which numbers its rows from 0. It is a small table."""
    in_order = Window.partitionBy(F.lit(0)).orderBy("cluster", "topic", "incarnation")
    return topics.withColumn("number", F.row_number().over(in_order).cast("long") - 1)


def with_history(rows: DataFrame, lives: DataFrame) -> DataFrame:
    """Rows with `cluster, topic, partition, at`, `to_numbered_incarnations` -> the same with HISTORY, by topic id or time as `with_incarnation`."""
    known = _with_life(rows, lives, "number")
    return known.withColumn(HISTORY, F.shiftleft("number", 32) + F.col("partition")).drop("number")


def with_history_of_incarnation(states: DataFrame, lives: DataFrame) -> DataFrame:
    """Rows with INCARNATION, `to_numbered_incarnations` -> the same with HISTORY."""
    numbers = lives.select("number", "cluster", "topic", "incarnation")
    known = states.join(F.broadcast(numbers), ["cluster", "topic", "incarnation"])
    return known.withColumn(HISTORY, F.shiftleft("number", 32) + F.col("partition")).drop("number")


def with_incarnation_of_history(states: DataFrame, lives: DataFrame) -> DataFrame:
    """Rows with HISTORY, `to_numbered_incarnations` -> the same with INCARNATION."""
    names = lives.select("number", "cluster", "topic", "incarnation")
    return (
        states.withColumn("number", F.shiftright(HISTORY, 32))
        .join(F.broadcast(names), "number")
        .withColumn("partition", F.col(HISTORY).bitwiseAND(F.lit(0xFFFFFFFF)).cast("int"))
        .drop("number")
    )
