"""ISR changes, and how often followers leave and rejoin the ISR in an hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.findings.node_stops import absences_from_isrs, joins_around, was_absent
from jobs.settings import Settings
from jobs.timelines.cluster_facts import EvidenceKinds
from jobs.timelines.controllers import KRAFT
from jobs.timelines.topics import INCARNATION, with_incarnation
from schemas.findings import ISR_CHANGES, ISR_CHURN
from schemas.spark import IDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


LATE_MS, EARLY_MS = 5000, 50
"""So long after the leader's line a state may be proved first, and before it."""
TELLING_MS = 10_000
"""So long after a change a ZooKeeper controller tells brokers of it: leaders collect changes for up to 5 s
(`ReplicaManager.IsrChangePropagationBlackOut`, `IsrChangePropagationInterval`)."""
ASKING = {"isr_shrinking": "shrink", "isr_expanding": "expand"}
"""The leader's own lines on a change, by event type, with the kind of the change."""
TELLING = "isr_notification_update_metadata"
"""A controller tells brokers of changes that leaders wrote to ZooKeeper (DEBUG)."""
CHANGE = [*INCARNATION, "ordinal", "kind"]
_OF_LINES = ("asked_at", "told_at", "leader_end_offset", "high_watermark", "behind", "lag")
"""Columns of ISR_CHANGES that lines other than the state's tell."""


def to_isr_changes(
    states: DataFrame, events: DataFrame, topics: DataFrame, controllers: DataFrame, kinds: EvidenceKinds
) -> DataFrame:
    """PARTITION_TIMELINE, EVENTS, TOPIC_TIMELINE, CONTROLLER_TIMELINE -> ISR_CHANGES: what each state's ISR has lost or
    gained.

    A state that both loses and gains replicas is two rows. Until 3.5 a KRaft controller raises the leader epoch with
    each shrink (KAFKA-15021), be it that the leader asked for it.
    """
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    before = {f"{name}_before": F.lag(name).over(order) for name in ("isr", "leader", "leader_epoch")}
    changed = checkpointed(
        states.withColumns(before)
        .where("isr_before IS NOT NULL")
        .withColumns(
            {
                "removed": F.array_except("isr_before", "isr"),
                "added": F.array_except("isr", "isr_before"),
            }
        )
        .withColumn("made_by", F.coalesce("made_by", F.when(_has_grown(), "leader")))
    )
    nobody = F.array().cast(IDS)
    shrinks = changed.where("size(removed) > 0").withColumns({"kind": F.lit("shrink"), "added": nobody})
    expands = changed.where("size(added) > 0").withColumns({"kind": F.lit("expand"), "removed": nobody})
    changes = shrinks.unionByName(expands).withColumn("at", F.col("since"))
    if kinds.have((*ASKING, TELLING)):
        changes = changes.join(F.broadcast(_kraft_clusters(controllers)), "cluster", "left").withColumns(
            {"raised_by": F.col("made_by"), "made_by": F.when(~_may_be_asked_for(), F.col("made_by"))}
        )
        changes = changes.join(_of_lines(changes, _lines(events, topics, kinds)), CHANGE, "left")
        is_asked = F.col("asked_at").isNotNull()
        changes = changes.withColumn("made_by", F.coalesce("made_by", F.when(is_asked, "leader"), "raised_by"))
    else:
        types = {name: ISR_CHANGES.schema[name].dataType for name in _OF_LINES}
        changes = changes.withColumns({name: F.lit(None).cast(type_) for name, type_ in types.items()})
    return changes.select(*ISR_CHANGES.columns)


def _has_grown() -> Column:
    """Whether the ISR only grew beneath a leader: no controller does that."""
    is_same = (F.col("leader") == F.col("leader_before")) & (F.col("leader_epoch") == F.col("leader_epoch_before"))
    return (F.col("missing_before") == 0) & is_same & (F.size("removed") == 0) & (F.size("added") > 0)


def _kraft_clusters(controllers: DataFrame) -> DataFrame:
    return controllers.where(F.col("mode") == KRAFT).select("cluster", F.lit(True).alias("is_kraft")).distinct()


def _may_be_asked_for() -> Column:
    """Whether the leader may have asked for a shrink that raised its leader epoch, as it does with KRaft."""
    is_own = (F.col("kind") == "shrink") & (F.col("leader") == F.col("leader_before")) & F.col("is_kraft")
    return F.coalesce(is_own & (F.col("made_by") == "controller"), F.lit(False))


def _of_lines(changes: DataFrame, lines: DataFrame) -> DataFrame:
    """Rows of ISR_CHANGES, of `_lines` -> CHANGE, _OF_LINES, of the changes that leaders made, or may have made.

    The leader's line is logged up to LATE_MS before the first proof of the state, or by the clock of another node up to
    EARLY_MS after. A change of which nobody knows who made it is the leader's if that has asked for the same. Lines are
    looked up by the minute, for a long history has many of each partition.
    """
    at, logged_at = F.unix_millis("at"), F.unix_millis("logged_at")
    latest = F.when(F.col("asks").isNull(), EARLY_MS).otherwise(LATE_MS)
    earliest = F.when(F.col("asks").isNull(), TELLING_MS).otherwise(EARLY_MS)
    minutes = F.sequence(_minute(logged_at - earliest), _minute(logged_at + latest))
    is_asked = (F.col("asks") == F.col("kind")) & (F.col("asked_isr") == F.col("isr"))
    asked_at, is_known = F.when(is_asked, F.col("logged_at")), F.col("made_by").isNotNull()
    is_leader = F.col("asker") == F.col("leader")
    return (
        changes.where("made_by = 'leader' OR made_by IS NULL AND leader >= 0")
        .select(*CHANGE, "at", "isr", "leader", "made_by", _minute(at).alias("minute"))
        .join(lines.withColumn("minute", F.explode(minutes)), [*INCARNATION, "minute"])
        .where((at - logged_at).between(-earliest, latest))
        .where(F.when(is_known, is_asked | F.col("asks").isNull()).otherwise(is_asked & is_leader))
        .groupBy(*CHANGE)
        .agg(
            F.max(asked_at).alias("asked_at"),
            F.min(F.when(F.col("asks").isNull(), F.col("logged_at"))).alias("told_at"),
            *(F.max_by(name, asked_at).alias(name) for name in ("leader_end_offset", "high_watermark", "behind")),
        )
        .withColumn("lag", F.array_max(F.transform("behind", lambda follower: follower["lag"])))
    )


def _lines(events: DataFrame, topics: DataFrame, kinds: EvidenceKinds) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE -> INCARNATION, `logged_at`, and of leaders' lines on their own changes `asks`, the kind,
    `asker`, `asked_isr` and what they print; the others are controllers' that tell brokers of changes."""
    fields, end_offset = F.col("fields"), F.col("fields")["leader_end_offset"].try_cast("long")
    kind = F.create_map(*(F.lit(text) for pair in ASKING.items() for text in pair))[F.col("event_type")]
    asking = events.where(F.col("event_type").isin(*ASKING) & F.col("topic").isNotNull()).select(
        *("cluster", "topic", "partition", "topic_id", "at"),
        F.coalesce("broker_id", "node_id").alias("asker"),
        kind.alias("asks"),
        F.array_sort("isr").alias("asked_isr"),
        end_offset.alias("leader_end_offset"),
        F.regexp_extract(fields["high_watermark"], r"(\d+)", 1).try_cast("long").alias("high_watermark"),
        _followers_behind(fields["out_of_sync_replicas"], end_offset).alias("behind"),
    )
    lines = asking
    if kinds.have([TELLING]):
        announced = events.where(F.col("event_type") == TELLING).select(
            "cluster", "at", F.explode("partitions").alias("p")
        )
        announced = announced.select("cluster", "at", "p.topic", "p.partition")
        lines = asking.unionByName(announced, allowMissingColumns=True)
    return with_incarnation(lines, topics).withColumnRenamed("at", "logged_at").drop("topic_id")


def _followers_behind(text: Column, end_offset: Column) -> Column:
    """`(brokerId: 6, endOffset: 881, lastCaughtUpTimeMs: 1795263091328)`, one after another -> `behind` of ISR_CHANGES;
    null if it names none. Kafka until 3.5 does not print when; what a new leader does not know yet is -1 or
    `unknown`."""
    replicas = F.regexp_extract_all(text, F.lit(r"(\(brokerId: [^)]*\))"), 1)

    def number(replica: Column, name: str) -> Column:
        return F.regexp_extract(replica, rf"{name}: (\d+)", 1).try_cast("long")

    def follower(replica: Column) -> Column:
        offset, caught_up = number(replica, "endOffset"), number(replica, "lastCaughtUpTimeMs")
        return F.struct(
            number(replica, "brokerId").cast("int").alias("follower"),
            offset.alias("end_offset"),
            (end_offset - offset).alias("lag"),
            F.timestamp_millis(caught_up).alias("caught_up_at"),
        )

    return F.when(F.size(replicas) > 0, F.array_sort(F.transform(replicas, follower)))


def _minute(millis: Column) -> Column:
    return F.floor(millis / 60_000)


def to_isr_churn(
    changes: DataFrame,
    elections: DataFrame,
    states: DataFrame,
    topics: DataFrame,
    ends: DataFrame,
    stops: DataFrame,
    settings: Settings,
) -> DataFrame:
    """ISR_CHANGES, ELECTIONS, PARTITION_TIMELINE, TOPIC_TIMELINE, `end_of_logs`, NODE_STOPS -> ISR_CHURN."""
    timed = _timed_moves(changes, states, topics, ends, stops)

    def count(condition: Column) -> Column:
        return F.sum(F.coalesce(condition, F.lit(False)).cast("int")).cast("int")

    by_hour = timed.groupBy(*INCARNATION, "follower", "hour").agg(
        count(~F.col("joined")).alias("shrinks"),
        count(F.col("joined")).alias("expands"),
        count(F.col("is_flap")).alias("flaps"),
        count(F.col("stopped")).alias("stops"),
        count(F.col("is_flap_while_up")).alias("flaps_while_up"),
        F.max("out_ms").cast("long").alias("worst_out_ms"),
    )
    leader_changes = (
        elections.where("succeeded AND previous_leader IS NOT NULL AND leader <> previous_leader")
        .groupBy(*INCARNATION, F.date_trunc("hour", "at").alias("hour"))
        .agg(F.count("*").cast("int").alias("leader_changes"))
    )
    return (
        by_hour.join(leader_changes, [*INCARNATION, "hour"], "left")
        .withColumns(
            {
                "leader_changes": F.coalesce("leader_changes", F.lit(0)),
                "churning": F.col("flaps") >= settings.churn_flaps,
                "marginal": F.col("flaps_while_up") >= settings.churn_flaps,
            }
        )
        .select(*ISR_CHURN.columns)
    )


def _timed_moves(
    changes: DataFrame, states: DataFrame, topics: DataFrame, ends: DataFrame, stops: DataFrame
) -> DataFrame:
    """ISR_CHANGES, PARTITION_TIMELINE, TOPIC_TIMELINE, rows `cluster, end_of_logs`, NODE_STOPS -> INCARNATION,
    `follower`, `hour`, a row for each time that one left or joined an ISR, with what isr_churn sums up.

    Who is no replica any more, or whose topic is gone, is absent from no ISR: `out_ms` ends with that.
    """
    moves = changes.select(
        *INCARNATION,
        "at",
        "ordinal",
        F.explode(F.concat("added", "removed")).alias("follower"),
        (F.col("kind") == "expand").alias("joined"),
    ).unionByName(_removals(states), allowMissingColumns=True)
    order = Window.partitionBy(*INCARNATION, "follower").orderBy("ordinal", F.col("joined").asc_nulls_last())
    gone = topics.where("until IS NOT NULL").select("cluster", "topic", "incarnation", F.col("until").alias("gone"))
    known = (
        moves.join(F.broadcast(ends), "cluster", "left")
        .join(F.broadcast(absences_from_isrs(stops)), "cluster", "left")
        .join(F.broadcast(gone), ["cluster", "topic", "incarnation"], "left")
    )
    is_flap = F.col("joined") & (F.lag("joined").over(order) == F.lit(False))
    back_at = F.greatest("at", F.coalesce(F.lead("at").over(order), "gone", "end_of_logs"))
    out_ms = F.unix_millis(back_at) - F.unix_millis("at")
    joined_at, rejoined_at = joins_around(F.col("joined"), order)
    return (
        known.withColumns({"joined_at": joined_at, "rejoined_at": rejoined_at})
        .withColumn("stopped", ~F.col("joined") & was_absent("follower", F.col("joined_at"), F.col("rejoined_at")))
        .withColumns(
            {
                "hour": F.date_trunc("hour", "at"),
                "is_flap": is_flap,
                "is_flap_while_up": is_flap & ~F.lag("stopped").over(order),
                "out_ms": F.when(~F.col("joined"), out_ms),
            }
        )
        .where("joined IS NOT NULL")
    )


def _removals(states: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE -> INCARNATION, `at`, `ordinal`, `follower`: when a reassignment had taken a replica away."""
    before = Window.partitionBy(*INCARNATION).orderBy("ordinal").rowsBetween(Window.unboundedPreceding, -1)
    removed = F.array_except(F.last("replicas", ignorenulls=True).over(before), "replicas")
    return states.withColumn("removed", removed).select(
        *INCARNATION, F.col("since").alias("at"), "ordinal", F.explode("removed").alias("follower")
    )
