"""ISRs that follow from the assignment of a new partition, of leader epochs of which lines show only the leader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.controllers import ZOOKEEPER
from jobs.timelines.known_spans import controller_run_at
from jobs.timelines.observations import ids_of, number_of
from jobs.timelines.running_windows import rows_behind
from jobs.timelines.topics import INCARNATION
from schemas.spark import IDS
from udfs.kafka.verdicts_columns import doubt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_LINE = "struct<node_id: int, file_id: string, line: bigint>"
_LINES = f"array<{_LINE}>"
_LOADED, _CHANGED = "controller_context_live_brokers", "broker_set_changed"
_LOADED_SHUTTING_DOWN, _SHUT_DOWN = "controller_context_shutting_down_brokers", "controlled_shutdown_started"
_ALIVE, _GONE, _LISTED, _ASKED = "alive", "gone", "listed", "asked"
_TERM = ("cluster", "node_id", "term")
_ORDER = ("at", "file_id", "line")
_PLACE = ("at", "node_id", "file_id", "line")


def with_assigned_isr(begins: DataFrame, assigned: DataFrame | None) -> DataFrame:
    """EVENTS with `incarnation` by which leaders begin, rows of `to_lone_isrs` and `to_first_isrs` (None: there are
    none) -> the former with `assigned_isr`, and `assigned_lines`, which show it: null where nothing tells the ISR."""
    if assigned is None:
        return begins.withColumns({"assigned_isr": F.lit(None).cast(IDS), "assigned_lines": F.lit(None).cast(_LINES)})
    is_then = F.col("at").between(F.col("assigned_since"), F.col("assigned_until"))
    is_then &= F.coalesce(F.col("leader_epoch") == F.col("of_epoch"), F.lit(True))
    return (
        begins.join(F.broadcast(assigned), [*INCARNATION, "node_id"], "left")
        .withColumns({name: F.when(is_then, F.col(name)) for name in ("assigned_isr", "assigned_lines")})
        .select(*begins.columns, "assigned_isr", "assigned_lines")
    )


def to_lone_isrs(new_assignments: DataFrame, reassignments: DataFrame, runs: DataFrame) -> DataFrame:
    """Rows of `PartitionEvidence.new_assignments`, of `_reassignments`, of `to_controller_runs` -> INCARNATION,
    `node_id`, `of_epoch` (null: any leader epoch), `assigned_isr`, `assigned_lines`, `assigned_since`,
    `assigned_until`: partitions with one replica, its broker, which is in sync alone; and from when to when the logs of
    all controllers say that they have no other one: until they were reassigned, if ever."""
    created = (
        _created(new_assignments)
        .where("size(replicas) = 1")
        .join(F.broadcast(reassignments), ["cluster", "topic", "partition"], "left")
    )
    run_ends, reassigned = controller_run_at(F.col("assigned_since"))["until"], F.col("reassigned_since") - doubt()
    return created.join(F.broadcast(runs), "cluster").select(
        *INCARNATION,
        F.get("replicas", F.lit(0)).alias("node_id"),
        F.lit(None).cast("int").alias("of_epoch"),
        F.col("replicas").alias("assigned_isr"),
        F.array("assignment_line").alias("assigned_lines"),
        "assigned_since",
        F.least(run_ends, reassigned).alias("assigned_until"),
    )


def to_first_isrs(
    new_assignments: DataFrame, events: DataFrame, controllers: DataFrame, runs: DataFrame, clusters: Sequence[str]
) -> DataFrame:
    """Rows of `PartitionEvidence.new_assignments`, EVENTS, CONTROLLER_TIMELINE, rows of `to_controller_runs` -> the
    same columns as `to_lone_isrs`, of some clusters: partitions with several replicas in their first leader epoch, of
    which each was alive to the controller that created them.

    It gives such a partition all of them as ISR, and the first one as leader
    (`PartitionStateMachine.initializeLeaderAndIsrForPartitions`). It counts a broker as alive from when it lists it as
    added, or as there, until it lists it as deleted or shuts it down, all of which it logs at INFO. If its next line on
    a broker contradicts that, a line is lost, and nothing is known.
    """
    created = _created(new_assignments.where(F.col("cluster").isin(*clusters))).where("size(replicas) > 1")
    asked = created.select(
        "cluster", F.col("assigned_since").alias("at"), "assignment_line.*", F.explode("replicas").alias("broker"),
        F.lit(_ASKED).alias("sign"), F.struct(*INCARNATION).alias("of_partition"),
    )  # fmt: skip
    signs = _signs(events.where(F.col("cluster").isin(*clusters)))
    in_order = Window.partitionBy("cluster", "node_id").orderBy(*_ORDER)
    rows = signs.unionByName(asked, allowMissingColumns=True).withColumn(
        "term", F.sum(F.when(F.col("is_first"), 1)).over(in_order.rangeBetween(Window.unboundedPreceding, 0))
    )
    is_known, is_sign = F.col("sign").isin(_ALIVE, _GONE), F.col("sign") != _ASKED
    before = Window.partitionBy(*_TERM, "broker").orderBy(*_ORDER).rowsBetween(Window.unboundedPreceding, -1)
    after = rows_behind((*_TERM, "broker"), _ORDER)
    known = F.struct("sign", F.struct(*_PLACE).alias("place"))
    looked_up = rows.withColumns(
        {
            "last_known": F.last(F.when(is_known, known), ignorenulls=True).over(before),
            "last_listed": F.last(F.when(is_sign, known), ignorenulls=True).over(before),
            "next": F.last(F.when(is_sign, F.col("sign")), ignorenulls=True).over(after),
        }
    ).where(F.col("sign") == _ASKED)
    last = F.coalesce("last_known", "last_listed")
    is_alive = F.coalesce(last["sign"] != _GONE, F.lit(False)) & ~F.col("next").eqNullSafe(_ALIVE)
    alive = looked_up.groupBy("of_partition").agg(
        F.min(is_alive).alias("are_alive"),
        F.min(last["place"]["at"]).alias("alive_since"),
        F.array_sort(F.collect_set(last["place"].dropFields("at"))).alias("lists"),
    )
    by_partition = alive.where("are_alive").select("of_partition.*", "alive_since", "lists")
    return _in_term(created.join(by_partition, INCARNATION), controllers, runs)


def _created(new_assignments: DataFrame) -> DataFrame:
    """Rows of `PartitionEvidence.new_assignments` -> INCARNATION, replicas, `assigned_since`, `assignment_line`: of
    partitions of which all lines show the same assignment, the first of these lines."""
    return (
        new_assignments.groupBy(*INCARNATION)
        .agg(
            F.min("replicas").alias("replicas"),
            F.max("replicas").alias("greatest"),
            F.min("at").alias("assigned_since"),
            F.min_by(F.struct("node_id", "file_id", "line"), "at").cast(_LINE).alias("assignment_line"),
        )
        .where("replicas = greatest")
        .drop("greatest")
    )


def _signs(events: DataFrame) -> DataFrame:
    """EVENTS -> a line's place, `broker`, `sign`, `is_first`: what a controller logs of which brokers are alive.

    A list has all that are (_LISTED), and who is new among them, or registered anew (_ALIVE). `is_first`: of a term,
    whose controller lists all brokers anew.
    """
    kind, none = F.col("event_type"), F.array().cast(IDS)

    def of(sign: str, brokers: Column) -> Column:
        return F.transform(brokers, lambda broker: F.struct(broker.alias("broker"), F.lit(sign).alias("sign")))

    def ids(name: str) -> Column:
        return F.coalesce(ids_of(name), none)

    new, shut_down = (
        F.concat(ids("added_brokers"), ids("bounced_brokers")),
        F.coalesce("broker_id", number_of("broker")),
    )
    changed = F.concat(
        of(_ALIVE, new), of(_GONE, ids("deleted_brokers")), of(_LISTED, F.array_except(ids("live_brokers"), new))
    )
    signs = (
        F.when(kind == _LOADED, of(_ALIVE, ids("live_brokers")))
        .when(kind == _LOADED_SHUTTING_DOWN, of(_GONE, ids("shutting_down_brokers")))
        .when(kind == _CHANGED, changed)
        .when(kind == _SHUT_DOWN, of(_GONE, F.array(shut_down)))
    )
    lines = events.where(kind.isin(_LOADED, _LOADED_SHUTTING_DOWN, _CHANGED, _SHUT_DOWN) & F.col("node_id").isNotNull())
    each = lines.select("cluster", *_PLACE, (kind == _LOADED).alias("is_first"), F.explode(signs).alias("one"))
    return each.select("cluster", *_PLACE, "is_first", "one.*").where("broker IS NOT NULL")


def _in_term(created: DataFrame, controllers: DataFrame, runs: DataFrame) -> DataFrame:
    """Created partitions with `alive_since`, `lists` -> the columns of `to_lone_isrs`: of those whose controller's log
    is there since it listed their brokers, until the next controller takes over."""
    terms = controllers.where(F.col("mode") == ZOOKEEPER)
    order = Window.partitionBy("cluster", "cluster_incarnation").orderBy("controller_epoch")
    ends = F.coalesce(F.lead("since").over(order), F.timestamp_micros(F.lit(2**60)))
    terms = terms.select(
        "cluster", F.col("controller_id").alias("creator"), F.col("since").alias("term_since"), ends.alias("term_ends")
    )
    run = controller_run_at(F.col("assigned_since"))
    return (
        created.withColumn("creator", F.col("assignment_line.node_id"))
        .join(F.broadcast(terms), ["cluster", "creator"])
        .where(F.col("assigned_since").between(F.col("term_since"), F.col("term_ends")))
        .join(F.broadcast(runs), "cluster")
        .where(run["since"] - doubt() <= F.col("alive_since"))
        .select(
            *INCARNATION,
            F.get("replicas", F.lit(0)).alias("node_id"),
            F.lit(0).alias("of_epoch"),
            F.array_sort("replicas").alias("assigned_isr"),
            F.concat(F.array("assignment_line"), "lists").cast(_LINES).alias("assigned_lines"),
            "assigned_since",
            F.least(run["until"], "term_ends").alias("assigned_until"),
        )
    )
