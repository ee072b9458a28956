"""When which broker was there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.session import checkpointed
from jobs.timelines.controllers import by_active_controller, standby_controllers
from jobs.timelines.observations import ids_of, number_of
from schemas.timelines import BROKER_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def to_broker_timeline(events: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS, CONTROLLER_TIMELINE -> BROKER_TIMELINE: spans in which the controller counted a broker as there (ZooKeeper) or unfenced (KRaft).

    Where the active KRaft controller's log is missing, a standby's counts, which replays the same records.
    """
    telling = checkpointed(events.where(F.col("event_type").isin(*_ZK, *_KRAFT, *_DUMP, *_LEAVING) | _starts_dump()))
    by_controllers = _kraft_marks(
        telling.where(F.col("event_type").isin(*_KRAFT)).withColumn("from_start", F.lit(False))
    )
    replayed = by_active_controller(by_controllers, controllers).unionByName(
        _by_standby_controllers(by_controllers, standby_controllers(events, controllers))
    )
    whole = telling.where(_starts_dump()).select("cluster", "file_id", F.lit(True).alias("from_start")).distinct()
    dumps = telling.where(F.col("event_type").isin(*_DUMP)).join(F.broadcast(whole), ["cluster", "file_id"], "left")
    marks = _zk_marks(telling).unionByName(replayed).unionByName(_kraft_marks(dumps))
    by_broker = Window.partitionBy("cluster", "broker").orderBy("at", "rank", "node_id", "line", "file_id")
    before = by_broker.rowsBetween(Window.unboundedPreceding, -1)
    was_new = F.first("is_new").over(by_broker.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    turns = marks.withColumns({"was_up": F.last("up").over(before), "was_new": was_new}).where(
        (F.col("up") & ~F.coalesce("was_up", F.lit(False))) | (~F.col("up") & F.coalesce("was_up", F.lit(False)))
    )
    spans = turns.withColumns(
        {
            "until": F.lead("at").over(by_broker),
            "ended_by": F.lead("how").over(by_broker),
            "end_node": F.lead("node_id").over(by_broker),
            "end_file": F.lead("file_id").over(by_broker),
            "end_line": F.lead("line").over(by_broker),
            "nth": F.row_number().over(by_broker),
            "since": F.col("at"),
        }
    ).where("up")
    leaving = telling.where(F.col("event_type").isin(*_LEAVING)).select(
        "cluster", F.coalesce(number_of("broker"), F.col("broker_id")).alias("broker"), F.col("at").alias("leaving_at")
    )
    left = (
        spans.join(leaving, ["cluster", "broker"], "left")
        .withColumn(
            "left",
            (F.col("leaving_at") >= F.col("since"))
            & (F.col("until").isNull() | (F.col("leaving_at") <= F.col("until"))),
        )
        .groupBy("cluster", "broker", "since")
        .agg(F.max("left").alias("left"))
    )
    both = F.array(F.struct("node_id", "file_id", "line"))
    end = F.array(
        F.struct(
            F.col("end_node").alias("node_id"), F.col("end_file").alias("file_id"), F.col("end_line").alias("line")
        )
    )
    return (
        spans.join(left, ["cluster", "broker", "since"], "left")
        .withColumns(
            {
                "started_as": F.when(F.col("how") == "there", None)
                .when(F.col("how") == "bounced", "bounced")
                .when((F.col("nth") > 1) | ~F.col("was_new"), "returned")
                .when(F.col("was_new"), "new"),
                "ended_by": F.when(F.col("until").isNull(), None)
                .when(F.col("left"), "controlled_shutdown")
                .otherwise(F.col("ended_by")),
                "evidence": F.when(F.col("end_line").isNull(), both).otherwise(F.concat(both, end)),
            }
        )
        .select(*BROKER_TIMELINE.columns)
    )


_ZK = ("broker_set_changed", "controller_context_live_brokers")
_KRAFT = ("kraft_broker_unfenced", "kraft_broker_fenced", "kraft_broker_registered", "kraft_broker_unregistered")
_DUMP = (
    "metadata_register_broker",
    "metadata_unregister_broker",
    "metadata_fence_broker",
    "metadata_unfence_broker",
    "metadata_broker_registration_change",
)
_LEAVING = (
    "controlled_shutdown_started",
    "kraft_broker_controlled_shutdown_granted",
    "kraft_broker_controlled_shutdown_replayed",
)
"""Events by which a controlled shutdown begins."""


def _starts_dump() -> Column:
    """Whether an event is the first batch of a metadata log."""
    return (F.col("event_type") == "metadata_batch") & (F.col("fields")["offset"] == "0")


_MARK = ["cluster", "broker", "epoch", "at", "rank", "up", "how", "is_new", "node_id", "file_id", "line"]
"""`is_new`: whether the cluster did not know the broker before, as far as the controller of these logs can have seen; null unknown."""


def _zk_marks(events: DataFrame) -> DataFrame:
    """Turns of brokers as ZooKeeper's controller logged them."""
    base = ["cluster", "at", "node_id", "file_id", "line"]
    changed = events.where("event_type = 'broker_set_changed'")
    parts = [
        (changed, "bounced_brokers", 0, False, "bounced"),
        (changed, "bounced_brokers", 1, True, "bounced"),
        (changed, "deleted_brokers", 0, False, "session_expired"),
        (changed, "added_brokers", 1, True, "added"),
        (events.where("event_type = 'controller_context_live_brokers'"), "live_brokers", 1, True, "there"),
    ]
    frames = [
        rows.select(
            *base, F.explode(ids_of(name)).alias("broker"), F.lit(rank).alias("rank"), F.lit(up).alias("up"),
            F.lit(how).alias("how"), F.lit(None).cast("long").alias("epoch"),
        )
        for rows, name, rank, up, how in parts
    ]  # fmt: skip
    marks = frames[0]
    for frame in frames[1:]:
        marks = marks.unionByName(frame)
    # a new controller lists who is there; whoever was known and is not in the list went away before
    listed = events.where("event_type = 'controller_context_live_brokers'").select(
        *base, ids_of("live_brokers").alias("live")
    )
    absent = (
        listed.join(F.broadcast(marks.select("cluster", "broker").distinct()), "cluster")
        .where(~F.array_contains("live", F.col("broker")))
        .select(
            *base, "broker", F.lit(0).alias("rank"), F.lit(False).alias("up"), F.lit("session_expired").alias("how"),
            F.lit(None).cast("long").alias("epoch"),
        )
    )  # fmt: skip
    return marks.unionByName(absent).withColumn("is_new", F.lit(True)).select(*_MARK)


def _kraft_marks(events: DataFrame) -> DataFrame:
    """Turns of brokers as KRaft's controllers replayed them, or as a dump has them; `from_start`: whether it begins with the log.

    Controllers say who registers for the first time. In a dump from the start it is who was not there before. A snapshot
    holds everybody's last registration; its epoch, the offset at which it was written, is not where it stands.
    """
    kind, epoch = F.col("event_type"), F.col("fields")["broker_epoch"]
    fenced, turn = F.col("fields")["fenced"], F.col("fields")["fenced_change"]
    registers = kind == "metadata_register_broker"
    of_snapshot = registers & (epoch != F.col("fields")["offset"])
    is_new = (
        F.when(kind == "kraft_broker_registered", F.col("fields")["kind"] == "new")
        .when(of_snapshot | (~registers & ~F.col("up")), False)
        .when(registers & F.col("from_start"), True)
    )
    up = (
        F.when(kind.isin("kraft_broker_unfenced", "metadata_unfence_broker"), True)
        .when(registers, fenced == "false")
        .when(kind == "metadata_broker_registration_change", F.when(turn == "1", False).when(turn == "-1", True))
        .otherwise(False)
    )
    return (
        events.withColumns(
            {
                "up": up,
                "rank": F.lit(0),
                "how": F.when(up & of_snapshot, "there").when(up, "added").otherwise("fenced"),
                "broker": F.coalesce(number_of("broker"), F.col("broker_id")),
                "epoch": F.coalesce(epoch.try_cast("long"), F.col("fields")["epoch"].try_cast("long")),
            }
        )
        .withColumn("is_new", is_new)
        .where("up IS NOT NULL AND broker IS NOT NULL")
        .select(*_MARK)
    )


def _by_standby_controllers(marks: DataFrame, standby_controllers: DataFrame) -> DataFrame:
    """Turns of brokers as a standby replayed them for a reign; of those before it was up to date only each broker's last."""
    told = marks.join(F.broadcast(standby_controllers), ["cluster", "node_id"]).where(
        "at >= started AND (reign_until IS NULL OR at <= reign_until)"
    )
    is_past = F.col("at") <= F.col("current_since")
    last = Window.partitionBy("cluster", "node_id", "current_since", "broker", is_past).orderBy(
        F.desc("at"), F.desc("line"), F.desc("file_id")
    )
    return (
        told.withColumn("nth", F.row_number().over(last))
        .where(~is_past | (F.col("nth") == 1))
        .withColumn("how", F.when(is_past & F.col("up"), "there").otherwise(F.col("how")))
        .groupBy(*(name for name in _MARK if name != "how"))  # the past of one reign may be news of the one before
        .agg(F.min("how").alias("how"))
        .select(*_MARK)
    )
