"""Which incarnation of a topic existed when, and to which one the rows of other tables belong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.timelines.cluster_lives import LifeStarts
from jobs.timelines.evidence import evidence
from jobs.timelines.observations import EPOCH_STARTED, LEADER_STARTED
from jobs.timelines.recreations import DROPPED_FROM_CACHE, OFFSETS_DROPPED, ON_DISK, to_incarnation_starts
from schemas.kafka_values import METADATA_LOG
from schemas.timelines import TOPIC_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

INCARNATION = ["cluster", "topic", "partition", "incarnation"]
"""Key of a partition's history, whose states are ordered by `ordinal`."""
HISTORY = "history"
"""The same key as one number, so that sorting compares integers: number of the topic's incarnation in the high half,
the partition in the low half."""

EXISTENCE_EVENTS = (
    "partition_state_change",
    "topics_changed",
    "leader_and_isr_request_sent",
    "leader_and_isr_request_received",
)
"""Lines that are not written about a topic that is gone."""
_REQUESTS = (
    "kraft_create_topics_result",
    "kraft_create_topics_validated",
    "kraft_delete_topics_failed",
    "kraft_create_partitions_result",
    "kraft_create_partitions_validated",
    "kraft_create_partitions_failed",
)
"""Lines about what somebody asked for: topics that they name may never have been created."""
_LEFT_OVER = ("stray_partition_found",)
"""Lines about what is left on a disk of a topic that is gone."""
_CREATIONS = ("kraft_topic_created", "metadata_topic", "kraft_partition_created")
_REMOVALS = ("kraft_topic_removed", "metadata_remove_topic")

_MENTION = [
    "cluster", "topic", "topic_id", "at", "node_id", "file_id", "line", "event_type", "partition", "is_cached",
    "is_removed",
]  # fmt: skip
_INTERVAL = [
    "cluster", "topic", "incarnation", "topic_id", "since", "deletion_started", "until", "partitions", "evidence",
    "end_evidence", "deletion_evidence",
]  # fmt: skip


# ---- the timeline ----------------------------------------------------------------------------------------------------
def to_topic_timeline(events: DataFrame, life_starts: LifeStarts | None = None) -> DataFrame:
    """EVENTS -> TOPIC_TIMELINE. In KRaft an incarnation is a topic id; before, see `recreations`."""
    all_events, events = events, events.where(F.col("event_type") != ON_DISK)
    mentions = _mentions(events)
    names = _creations(mentions).groupBy("cluster", "topic_id").agg(F.min("topic").alias("topic"))
    with_ids = F.broadcast(checkpointed(names.select("cluster", "topic").distinct()))
    without_ids = all_events.join(with_ids, ["cluster", "topic"], "left_anti")
    starts = to_incarnation_starts(without_ids, life_starts or {})
    by_deletion = _by_deletion(
        mentions.join(with_ids, ["cluster", "topic"], "left_anti"), _with_life_starts(starts, life_starts or {})
    )
    no_evidence = F.array().cast(TOPIC_TIMELINE.schema["evidence"].dataType)
    return (
        _by_topic_id(mentions, events, life_starts or {})
        .unionByName(by_deletion)
        .withColumn("evidence", F.concat("evidence", F.coalesce("end_evidence", no_evidence)))
        .select(*TOPIC_TIMELINE.columns)
    )


def _mentions(events: DataFrame) -> DataFrame:
    """EVENTS -> _MENTION: a row for each topic that a line names, alone or in its list of partitions.

    `is_cached`: a broker cached a partition of it that is not being deleted; `is_removed`: for a controller a partition
    of it does not exist any more. KRaft's own log has a topic's name (`__cluster_metadata`), but is none, unless a
    controller treats it as one.
    """
    kind = F.col("event_type")
    is_topic = (F.col("topic") != METADATA_LOG) | kind.isin(*EXISTENCE_EVENTS)
    is_topic &= ~kind.isin(*_REQUESTS) | F.coalesce(F.col("fields")["result"] == "SUCCESS", F.lit(False))
    is_cached = (F.col("event_type") == "metadata_cache_updated") & (F.col("leader") > -2)
    is_removed = (kind == "partition_state_change") & (F.col("fields")["to_state"] == "NonExistentPartition")
    no = F.lit(False)
    named = events.where(F.col("topic").isNotNull() & is_topic).withColumns(
        {"is_cached": F.coalesce(is_cached, no), "is_removed": F.coalesce(is_removed, no)}
    )
    listed = events.where(F.col("partitions").isNotNull() & ~kind.isin(*_REQUESTS)).select(
        "cluster", F.explode("partitions").alias("p"), "at", "node_id", "file_id", "line", "event_type"
    )
    return named.select(*_MENTION).unionByName(
        listed.select(
            "cluster", F.col("p.topic").alias("topic"), F.col("p.topic_id").alias("topic_id"), "at", "node_id",
            "file_id", "line", "event_type", F.col("p.partition").alias("partition"), no.alias("is_cached"),
            no.alias("is_removed"),
        ).where("topic IS NOT NULL")
    )  # fmt: skip


def _creations(mentions: DataFrame) -> DataFrame:
    """_MENTION -> those that create a topic or a partition with an id."""
    return mentions.where(F.col("event_type").isin(*_CREATIONS) & F.col("topic_id").isNotNull())


def _by_topic_id(mentions: DataFrame, events: DataFrame, life_starts: LifeStarts) -> DataFrame:
    """_MENTION, EVENTS -> _INTERVAL of topics with ids, in the order in which they were there.

    Whoever starts replays what was long ago, each in its order: the topic that lines name last was there last. A name
    of which a creation is logged has an incarnation for each id that lines show to be there, its creation logged or
    not. Lines that name a partition without the topic's id count where the name had one id only. What is not named any
    more ends with the life of its cluster.
    """
    created = _shown_ids(mentions)
    removed = (
        events.where(F.col("event_type").isin(*_REMOVALS) & F.col("topic_id").isNotNull())
        .groupBy("cluster", "topic_id")
        .agg(F.min("at").alias("until"), evidence(2).alias("end_evidence"))
    )
    numbers = mentions.where("partition IS NOT NULL").groupBy("cluster", "topic", "topic_id")
    highest = numbers.agg(F.max("partition").alias("highest"), F.min("at").alias("at"))
    by_id = (
        highest.where("topic_id IS NOT NULL")
        .groupBy("cluster", "topic_id")
        .agg(F.max("highest").alias("by_id"), F.min("at").alias("first_at"))
    )
    by_name = highest.where("topic_id IS NULL").select("cluster", "topic", F.col("highest").alias("by_name"))
    is_only = F.count(F.lit(1)).over(Window.partitionBy("cluster", "topic")) == 1
    in_order = Window.partitionBy("cluster", "topic").orderBy("last_at", "first_shown_at", "topic_id")
    later_lives = F.filter("life_starts", lambda start: start > F.unix_micros("last_at"))
    life_end = F.timestamp_micros(F.get(later_lives, F.lit(0)))
    return (
        _with_life_starts(created, life_starts)
        .join(removed, ["cluster", "topic_id"], "left")
        .withColumn("last_at", F.least("last_at", "until"))  # a broker may name later what was removed by then
        .join(by_id, ["cluster", "topic_id"], "left")
        .join(by_name, ["cluster", "topic"], "left")
        # a controller that starts replays creations and removals long after: a topic is no younger than the lines with
        # its id, and had ended when the next one was there
        .withColumn("since", F.least("first_shown_at", "first_at"))
        .withColumn("deletion_started", F.least("until", F.lead("since").over(in_order)))
        .withColumn("until", F.least("deletion_started", life_end))
        .withColumn("since", F.least("since", "until"))
        .withColumns(
            {
                "incarnation": F.row_number().over(in_order) - 1,
                "deletion_started": F.when(F.col("deletion_started") <= F.col("until"), F.col("deletion_started")),
                "deletion_evidence": F.when(F.col("until").isNotNull(), F.col("end_evidence")),
                "partitions": F.coalesce("by_id", F.when(is_only, F.col("by_name"))) + 1,
            }
        )
        .select(*_INTERVAL)
    )


def _shown_ids(mentions: DataFrame) -> DataFrame:
    """_MENTION -> cluster, topic, topic_id, `first_shown_at`, `last_at`, `evidence`: ids of topics of which a creation
    is logged, and when lines show the first and the last time that there was one."""
    is_creation = F.col("event_type").isin(*_CREATIONS)
    topic = ("cluster", "topic")
    return (
        mentions.where(F.col("topic_id").isNotNull() & ~F.col("event_type").isin(*_LEFT_OVER))
        .groupBy(*topic, "topic_id")
        .agg(
            F.max(is_creation).alias("is_created"),
            F.min("at").alias("first_at_all"),
            F.min(F.when(is_creation, F.col("at"))).alias("created_at"),
            F.max("at").alias("last_at"),
            evidence(2, of=is_creation).alias("of_creation"),
            evidence(2).alias("evidence"),
        )
        .withColumn("has_creation", F.max("is_created").over(Window.partitionBy(*topic)))
        .where("has_creation")
        .select(
            *topic, "topic_id", F.coalesce("created_at", "first_at_all").alias("first_shown_at"), "last_at",
            F.when(F.col("is_created"), F.col("of_creation")).otherwise(F.col("evidence")).alias("evidence"),
        )
    )  # fmt: skip


def _with_life_starts(starts: DataFrame, life_starts: LifeStarts) -> DataFrame:
    """Rows of `to_incarnation_starts` -> the same with `life_starts`, those of their cluster."""
    if not life_starts:
        return starts.withColumn("life_starts", F.array().cast("array<long>"))
    lives = starts.sparkSession.createDataFrame(list(life_starts.items()), "cluster string, life_starts array<long>")
    return starts.join(F.broadcast(lives), "cluster", "left")


def _by_deletion(mentions: DataFrame, starts: DataFrame) -> DataFrame:
    """_MENTION, rows of `_with_life_starts` -> _INTERVAL of topics without ids.

    A deletion that the controller reports ends an incarnation exactly. Where nobody reports it, it ends with the last
    line of a controller for which a partition does not exist any more, or of a broker that dropped it, or at the first
    line about the next one. Logs may begin amid a deletion: what brokers drop before the first line that shows the
    topic does not end it.
    """
    incarnations = _first_and_last_lines(mentions, starts)

    def as_evidence(name: str) -> Column:
        return F.array(F.struct(f"{name}.node_id", f"{name}.file_id", f"{name}.line"))

    next_start = F.timestamp_micros(F.get("starts", F.col("incarnation")))
    # a new life of the cluster has no lines about topics of the one before
    first = F.when(F.col("begins_life"), F.col("first_mention")).otherwise(
        F.coalesce("first_existing", "first_mention")
    )
    last_line = F.greatest("last_removed", "last_dropped")
    last_line = F.when(next_start.isNotNull() & (last_line["at"] >= first["at"]), last_line)
    last = F.coalesce("completed", last_line)
    # what is dropped before the first line about it is the incarnation before
    dropped = [
        F.when(F.col(f"{name}.at") >= F.col("first.at"), F.col(name)) for name in ("first_dropped", "last_dropped")
    ]
    return (
        incarnations.where("incarnation = 0 OR was_there")
        .withColumns({"first": first, "last": last})
        .withColumn("deletion", F.coalesce("asked", *dropped))
        .withColumns(
            {
                "since": F.col("first.at"),
                "deletion_started": F.col("deletion.at"),
                "deletion_evidence": F.when(F.col("deletion").isNotNull(), as_evidence("deletion")),
                "until": F.coalesce("last.at", next_start),
                "evidence": as_evidence("first"),
                "end_evidence": F.when(F.col("last").isNotNull(), as_evidence("last")),
            }
        )
        .select(*_INTERVAL)
    )


def _first_and_last_lines(mentions: DataFrame, starts: DataFrame) -> DataFrame:
    """_MENTION, rows of `_with_life_starts` -> a row for each incarnation with the lines that may bound it.

    `was_there`: false where brokers only mentioned the topic once more after its deletion, which does not create it
    again; one that leads it then under another topic id shows that it was. `begins_life`: it is the topic's first in a
    new life of the cluster.
    """
    kind = F.col("event_type")
    is_completed = kind == "topic_deletion_completed"
    is_dropped = kind.isin(DROPPED_FROM_CACHE, OFFSETS_DROPPED)
    line = F.struct("at", "node_id", "line", "file_id")
    start = F.get("starts", F.col("incarnation") - 1)
    starts_here = F.unix_micros("at") == start
    exists = kind.isin(*EXISTENCE_EVENTS, EPOCH_STARTED)
    begins_life = F.coalesce(F.array_contains("life_starts", start), F.lit(False))
    return (
        mentions.join(F.broadcast(starts), ["cluster", "topic"], "left")
        .withColumn("starts", F.coalesce("starts", F.array().cast("array<long>")))
        .withColumn("incarnation", F.size(F.filter("starts", lambda start: start <= F.unix_micros("at"))))
        .groupBy("cluster", "topic", "incarnation")
        .agg(
            F.max("topic_id").alias("topic_id"),
            F.min(line).alias("first_mention"),
            F.min(F.when(kind.isin(*EXISTENCE_EVENTS) | F.col("is_cached"), line)).alias("first_existing"),
            F.max(begins_life).alias("begins_life"),
            F.max(exists | (F.col("is_cached") & starts_here) | begins_life).alias("was_there"),
            F.max((kind == LEADER_STARTED) & F.col("topic_id").isNotNull()).alias("was_led"),
            F.min(F.when((kind == "topic_deletion_started") & F.col("at").isNotNull(), line)).alias("asked"),
            F.min(F.when(is_dropped & F.col("at").isNotNull(), line)).alias("first_dropped"),
            F.max(F.when(is_completed, line)).alias("completed"),
            F.max(F.when(is_dropped, line)).alias("last_dropped"),
            F.max(F.when(F.col("is_removed"), line)).alias("last_removed"),
            (F.max(F.when(~is_dropped, F.col("partition"))) + 1).alias("partitions"),
            F.first("starts").alias("starts"),
        )
        .withColumn("id_before", F.lag("topic_id").over(Window.partitionBy("cluster", "topic").orderBy("incarnation")))
        .withColumn("was_there", F.col("was_there") | (F.col("was_led") & ~F.col("topic_id").eqNullSafe("id_before")))
        .drop("was_led", "id_before")
    )


# ---- rows of other tables --------------------------------------------------------------------------------------------
def with_topic_name(rows: DataFrame, topics: DataFrame) -> DataFrame:
    """Rows with `cluster, topic, topic_id` -> the same, named where only the id is printed; null if no line does."""
    names = topics.where("topic_id IS NOT NULL").select("cluster", "topic_id", F.col("topic").alias("name"))
    return (
        rows.join(F.broadcast(names), ["cluster", "topic_id"], "left")
        .withColumn("topic", F.coalesce("topic", "name"))
        .drop("name")
    )


def with_incarnation(rows: DataFrame, topics: DataFrame) -> DataFrame:
    """Rows with `cluster, topic, at` -> the same with `incarnation`: by topic id if the row has one, else by time."""
    return _with_columns_of_incarnation(rows, topics, "incarnation")


def _with_columns_of_incarnation(rows: DataFrame, topics: DataFrame, *names: str) -> DataFrame:
    """Rows with `cluster, topic, at` -> the same with columns of their topic's incarnation."""
    columns = [name for name in dict.fromkeys((*names, "topic_id", "since")) if name != "incarnation"]
    incarnations = topics.groupBy("cluster", "topic").agg(
        F.array_sort(F.collect_list(F.struct("incarnation", *columns))).alias("incarnations")
    )
    # an incarnation begins with its first proof; the controller's report of a deletion ends it for everybody
    by_time = F.try_element_at(
        F.filter("incarnations", lambda one: (one["incarnation"] == 0) | (one["since"] <= F.col("at"))), F.lit(-1)
    )
    if "topic_id" in rows.columns:
        by_id = F.get(F.filter("incarnations", lambda one: one["topic_id"] == F.col("topic_id")), F.lit(0))
        by_time = F.coalesce(by_id, by_time)
    only = F.get("incarnations", F.lit(0))
    matching = F.when((F.size("incarnations") == 1) & (only["incarnation"] == 0), only).otherwise(by_time)
    return (
        rows.join(F.broadcast(incarnations), ["cluster", "topic"])
        .withColumn("matching", matching)
        .withColumns({name: F.col("matching")[name] for name in names})
        .drop("incarnations", "matching")
    )


def to_numbered_incarnations(topics: DataFrame) -> DataFrame:
    """TOPIC_TIMELINE -> the same with `number`, which numbers its rows from 0. It is a small table."""
    in_order = Window.partitionBy(F.lit(0)).orderBy("cluster", "topic", "incarnation")
    return topics.withColumn("number", F.row_number().over(in_order).cast("long") - 1)


def with_history(rows: DataFrame, incarnations: DataFrame) -> DataFrame:
    """Rows with `cluster, topic, partition, at` -> the same with HISTORY, by topic id or time as `with_incarnation`.

    `incarnations`: rows of `to_numbered_incarnations`.
    """
    return _number_as_history(_with_columns_of_incarnation(rows, incarnations, "number"))


def with_history_of_incarnation(states: DataFrame, incarnations: DataFrame) -> DataFrame:
    """Rows with INCARNATION, rows of `to_numbered_incarnations` -> the same with HISTORY."""
    numbers = incarnations.select("number", "cluster", "topic", "incarnation")
    return _number_as_history(states.join(F.broadcast(numbers), ["cluster", "topic", "incarnation"]))


def _number_as_history(rows: DataFrame) -> DataFrame:
    """Rows with `number, partition` -> the same with HISTORY in place of `number`."""
    return rows.withColumn(HISTORY, F.shiftleft("number", 32) + F.col("partition")).drop("number")


def with_incarnation_of_history(states: DataFrame, incarnations: DataFrame) -> DataFrame:
    """Rows with HISTORY, rows of `to_numbered_incarnations` -> the same with INCARNATION."""
    names = incarnations.select("number", "cluster", "topic", "incarnation")
    return (
        states.withColumn("number", F.shiftright(HISTORY, 32))
        .join(F.broadcast(names), "number")
        .withColumn("partition", F.col(HISTORY).bitwiseAND(F.lit(0xFFFFFFFF)).cast("int"))
        .drop("number")
    )
