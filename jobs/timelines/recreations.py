"""When topics without ids were deleted and created again, from the deletions and epochs that lines print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.cluster_lives import LifeStarts
from jobs.timelines.observations import EPOCH_STARTED, LEADER_STARTED
from jobs.timelines.order import EVENT_ORDER, with_rank
from udfs.reconstruct.incarnations_columns import incarnation_starts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec

DROPPED_FROM_CACHE = "metadata_cache_partition_deleted"
"""A broker dropped a partition from its metadata cache: UpdateMetadata lists it once the topic's deletion has begun."""
OFFSETS_DROPPED = "group_offsets_removed"
"""A broker gave up what groups had committed of partitions that it so dropped: one line for all, at INFO (2.0 on)."""
LOG_DELETED = "replica_deletion_scheduled"
"""A broker gave up its replica: its topic is deleted, or the partition reassigned."""
ON_DISK = "log_loaded"
"""Lines of brokers that start about what is on their disks, be the topic deleted long ago."""
CREATING = "partition_creation_callback"
"""A ZooKeeper controller begins to create partitions."""
EPOCH_EVENTS = (
    "leader_and_isr_request_received",
    "metadata_cache_updated",
    "partition_state_change",
    EPOCH_STARTED,
)
"""Lines that print a partition's epochs in the order in which the node learned of them."""
STATE_LINES = (LEADER_STARTED, "replica_removed_from_isr")
"""Other lines by which a node shows that it knows a partition; at INFO from 2.6 on."""

_EPOCH_COLUMNS = ("at", "leader_epoch", "partition_epoch", "controller_epoch")


def to_incarnation_starts(events: DataFrame, life_starts: LifeStarts) -> DataFrame:
    """EVENTS -> cluster, topic, `starts`: when each incarnation after the first began (microseconds, ascending).

    A cluster that was created anew has none of the topics before (`life_starts`).

    Which signs are of one recreation is decided in `udfs.reconstruct.incarnations`. Signs, where no controller reports
    the deletion, all of one partition:
    - an epoch went back from one line of a node to its next of that kind, and no older controller had sent the next one
      (not between LeaderAndIsr requests: until 2.3 a controller may repeat the epoch before in a reassignment);
    - a broker that dropped the partition from its metadata cache got it again;
    - a controller created it that had logged it before, or whose node had its epochs, or after an older controller had;
    - a leader began leader epoch 0 of it after any broker had given up its replica: a reassignment raises the epoch.
    And of all its partitions: lines print another topic id.
    """
    signs = _with_signs_of_ids(_recreation_signs(_with_lines_before(_partition_lines(events))), events)
    deletions = (
        events.where("event_type = 'topic_deletion_completed' AND topic IS NOT NULL")
        .groupBy("cluster", "topic")
        .agg(F.array_sort(F.collect_set(F.unix_micros("at"))).alias("deleted"))
    )
    if life_starts:
        deletions = _with_ends_of_lives(deletions, events, life_starts)
    no_times = F.array().cast("array<long>")
    return (
        signs.join(deletions, ["cluster", "topic"], "full")
        .withColumns(
            {
                "deleted": F.coalesce("deleted", no_times),
                "signs": F.coalesce("signs", F.array().cast("array<struct<after: long, at: long>>")),
                "births": F.coalesce("births", no_times),
            }
        )
        .select("cluster", "topic", incarnation_starts("deleted", "signs", "births").alias("starts"))
    )


def to_creations(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, topic, topic_id, partition, at: lines that show that partitions are new (`is_creation`), and
    by which a ZooKeeper controller begins to create them (INFO)."""
    names = ["cluster", "topic", "topic_id", "partition", "at"]
    listed = events.where((F.col("event_type") == CREATING) & F.col("partitions").isNotNull())
    one = listed.select("cluster", "at", F.explode("partitions").alias("p")).select("cluster", "at", "p.*")
    return events.where(is_creation()).select(*names).unionByName(one.where("topic IS NOT NULL").select(*names))


def is_creation() -> Column:
    """Whether a line shows that a partition is a new one: to a ZooKeeper controller, or the broker that is sent it."""
    kind, fields = F.col("event_type"), F.col("fields")
    is_sent = kind.isin("leader_and_isr_request_sent", "leader_and_isr_request_received") & (fields["is_new"] == "true")
    # a broker that starts knows of none before, either, but has records
    is_first = (
        (F.col("leader_epoch") == 0) & (fields["previous_leader_epoch"] == "-1") & (fields["start_offset"] == "0")
    )
    return F.col("topic").isNotNull() & F.coalesce(is_new_to_controller() | is_sent | is_first, F.lit(False))


def is_new_to_controller() -> Column:
    """Whether a ZooKeeper controller takes up a partition that it did not know: one that it has in another state is
    none."""
    fields = F.col("fields")
    is_known = F.coalesce(
        fields["from_state"].isin("NewPartition", "OnlinePartition", "OfflinePartition"), F.lit(False)
    )
    return (F.col("event_type") == "partition_state_change") & (fields["to_state"] == "NewPartition") & ~is_known


def _with_signs_of_ids(signs: DataFrame, events: DataFrame) -> DataFrame:
    """Rows of `_recreation_signs` -> the same with the signs of topics that got another id.

    What is on a broker's disk may have been deleted long ago: it shows no more than that there was such an id before.
    """
    at = F.when(F.col("event_type") != ON_DISK, F.unix_micros("at"))
    by_id = (
        events.where("topic IS NOT NULL AND topic_id IS NOT NULL")
        .groupBy("cluster", "topic", "topic_id")
        .agg(F.min(at).alias("first"), F.max(at).alias("last"), F.min(F.unix_micros("at")).alias("seen"))
    )
    ids = F.array_sort(F.collect_list(F.struct("seen", "first", "last"))).alias("ids")
    topics = by_id.groupBy("cluster", "topic").agg(ids).where("size(ids) > 1")

    def sign(one: Column) -> Column:
        before = F.filter("ids", lambda other: F.coalesce(other["first"], other["seen"]) < one["first"])
        last = F.transform(before, lambda other: F.when(other["last"] < one["first"], other["last"]))
        after = F.array_max(F.concat(last, F.transform(before, lambda other: other["first"])))
        return F.when(
            F.size(before) > 0,
            F.struct(F.coalesce(after, F.lit(0).cast("long")).alias("after"), one["first"].alias("at")),
        )

    of_ids = F.filter(F.transform("ids", sign), lambda one: one.isNotNull()).alias("of_ids")
    no_signs = F.array().cast(signs.schema["signs"].dataType)
    return signs.join(topics.select("cluster", "topic", of_ids), ["cluster", "topic"], "full").withColumn(
        "signs", F.array_sort(F.concat(F.coalesce("signs", no_signs), F.coalesce("of_ids", no_signs)))
    )


def _with_ends_of_lives(deletions: DataFrame, events: DataFrame, life_starts: LifeStarts) -> DataFrame:
    """Topics with `deleted` -> the same with the ends of lives of their clusters, of topics that were there before."""
    lives = events.sparkSession.createDataFrame(list(life_starts.items()), "cluster string, life_starts array<long>")
    first_at = F.unix_micros(F.min("at")).alias("first_at")
    named = events.where("topic IS NOT NULL").select("cluster", "topic", "at")
    lists = events.where("partitions IS NOT NULL").select("cluster", F.explode("partitions.topic").alias("topic"), "at")
    topics = named.unionByName(lists.where("topic IS NOT NULL")).groupBy("cluster", "topic").agg(first_at)
    ends = F.transform(F.filter("life_starts", lambda start: start > F.col("first_at")), lambda start: start - 1)
    deleted = F.array_sort(F.array_union(F.coalesce("deleted", F.array().cast("array<long>")), F.col("ends")))
    return (
        topics.join(F.broadcast(lives), "cluster")
        .select("cluster", "topic", ends.alias("ends"))
        .join(deletions, ["cluster", "topic"], "full")
        .withColumn("deleted", F.when(F.col("ends").isNull(), F.col("deleted")).otherwise(deleted))
        .drop("ends")
    )


def _partition_lines(events: DataFrame) -> DataFrame:
    """EVENTS -> lines of one partition that print its epochs, create it, drop it from a metadata cache or from disk.

    Columns: cluster, topic, partition, those of EVENT_ORDER, event_type, the three epochs, `has_epochs`, `is_known`,
    `is_new`.
    """
    kind = F.col("event_type")
    is_new = is_new_to_controller()
    # leader -2: the topic is being deleted (LeaderDuringDelete)
    has_epochs = kind.isin(*EPOCH_EVENTS) & F.col("leader_epoch").isNotNull() & (F.coalesce("leader", F.lit(0)) > -2)
    is_known = has_epochs | kind.isin(*STATE_LINES)
    is_of_partition = F.col("topic").isNotNull() & F.col("partition").isNotNull()
    return (
        with_rank(
            events.where(is_of_partition & (is_known | kind.isin(DROPPED_FROM_CACHE, LOG_DELETED) | is_new)),
            "topic",
            "partition",
        )
        .withColumns({"has_epochs": has_epochs, "is_known": is_known, "is_new": F.coalesce(is_new, F.lit(False))})
        .select(
            "cluster", "topic", "partition", *EVENT_ORDER, "event_type", "leader_epoch", "partition_epoch",
            "controller_epoch", "has_epochs", "is_known", "is_new",
        )
    )  # fmt: skip


def _with_lines_before(lines: DataFrame) -> DataFrame:
    """Rows of `_partition_lines` -> the same with what came before each in its partition, as structs; null if nothing
    did.

    `epochs_before`: epochs in the node's last line of this kind; `cached_before`: the node's last change of its
    metadata cache; `decided_before`: the node's last line of this kind that has epochs or creates; `known_before`: its
    last one that shows that it knows the partition;
    `epochs_of_anyone`: the last epochs that any node logged; `deleted_by_anyone`: the last replica that one gave up.
    """
    partition = ("cluster", "topic", "partition")
    by_kind = Window.partitionBy(*partition, "node_id", "event_type").orderBy("at", "line", "file_id")
    by_node = Window.partitionBy(*partition, "node_id").orderBy("at", "line", "file_id")
    by_all = Window.partitionBy(*partition).orderBy(*EVENT_ORDER)

    def last(condition: Column, *names: str, over: WindowSpec) -> Column:
        before = over.rowsBetween(Window.unboundedPreceding, -1)
        return F.last(F.when(condition, F.struct(*names)), ignorenulls=True).over(before)

    of_cache = F.col("event_type").isin(DROPPED_FROM_CACHE, "metadata_cache_updated")
    return lines.withColumns(
        {
            "epochs_before": last(F.col("has_epochs"), *_EPOCH_COLUMNS, over=by_kind),
            "cached_before": last(of_cache, "event_type", over=by_node),
            "decided_before": last(F.col("has_epochs") | F.col("is_new"), "at", over=by_kind),
            "known_before": last(F.col("is_known"), "at", over=by_node),
            "epochs_of_anyone": last(F.col("has_epochs"), "at", "controller_epoch", over=by_all),
            "deleted_by_anyone": last(F.col("event_type") == LOG_DELETED, "at", over=by_all),
        }
    )


def _recreation_signs(lines: DataFrame) -> DataFrame:
    """Rows of `_with_lines_before` -> topics with signs: cluster, topic, `signs` and `births`, see `incarnations`."""
    kind = F.col("event_type")
    # a leader begins the epochs of one partition in their order
    is_in_order = (kind == EPOCH_STARTED) | (
        (kind != "leader_and_isr_request_received")
        & (F.col("controller_epoch") >= F.col("epochs_before.controller_epoch"))
    )
    leader_epoch_fell = F.col("leader_epoch") < F.col("epochs_before.leader_epoch")
    partition_epoch_fell = (F.col("leader_epoch") == F.col("epochs_before.leader_epoch")) & (
        F.col("partition_epoch") < F.col("epochs_before.partition_epoch")
    )
    was_dropped = F.col("cached_before.event_type") == DROPPED_FROM_CACHE
    created_again = F.col("is_new") & (
        F.col("decided_before").isNotNull()
        | F.col("known_before").isNotNull()
        | (F.col("epochs_of_anyone.controller_epoch") < F.col("controller_epoch"))
    )
    begins_anew = (
        (kind == EPOCH_STARTED)
        & (F.col("leader_epoch") == 0)
        & (F.col("deleted_by_anyone.at") > F.col("epochs_of_anyone.at"))
    )
    after = (
        F.when(begins_anew, F.col("deleted_by_anyone.at"))
        .when(F.col("has_epochs") & is_in_order & (leader_epoch_fell | partition_epoch_fell), F.col("epochs_before.at"))
        .when(
            (kind == "metadata_cache_updated") & was_dropped,
            F.coalesce("epochs_before.at", F.timestamp_micros(F.lit(0))),
        )
        .when(
            created_again,
            F.coalesce(F.greatest("known_before.at", "decided_before.at"), "epochs_of_anyone.at"),
        )
    )
    is_birth = (
        F.col("is_new")
        | begins_anew
        | (
            (kind == "leader_and_isr_request_received")
            & (F.col("leader_epoch") == 0)
            & (was_dropped | leader_epoch_fell)
        )
    )
    at = F.unix_micros("at")
    sign = F.when(after.isNotNull(), F.struct(F.unix_micros(after).alias("after"), at.alias("at")))
    return (
        lines.groupBy("cluster", "topic")
        .agg(
            F.array_sort(F.collect_set(sign)).alias("signs"),
            F.array_sort(F.collect_set(F.when(F.coalesce(is_birth, F.lit(False)), at))).alias("births"),
        )
        .where("size(signs) > 0")
        .select("cluster", "topic", "signs", "births")
    )
