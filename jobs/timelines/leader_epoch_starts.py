"""Leader epochs that a leader or its followers log as they begin them, and of which no line shows a whole state.

From 0.11 to 2.5 a leader logs `payments-3 starts at Leader Epoch 5 from offset 220`: who leads since when, but not the
ISR. From 2.1 on a follower logs whom it fetches from in which leader epoch, also from a leader that was dead already
and logged nothing. With ZooKeeper at INFO that is often all that is logged of an election. A leader epoch has one
leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.epoch_bounds import COMPLETED, FETCHED, to_epoch_bounds, to_fetched_epochs, to_printed_bounds
from jobs.timelines.evidence import line_as_evidence
from jobs.timelines.leader_lines import NO_LEADER_SENT, PROCESS_STARTS, is_begin
from jobs.timelines.running_windows import row_and_behind, rows_behind, rows_from
from jobs.timelines.topics import HISTORY, INCARNATION, with_history, with_incarnation_of_history
from schemas.spark import EVIDENCE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LAST_OF_FIRST_REQUESTS = 2
"""Correlation id of the last of the requests by which a ZooKeeper controller that has just connected to a broker
tells it what is, however long it has been so: UpdateMetadata, LeaderAndIsr, UpdateMetadata
(`KafkaController.onBrokerStartup`, `ReplicaStateMachine.startup`)."""


def to_leader_epoch_starts(
    events: DataFrame,
    incarnations: DataFrame,
    states: DataFrame,
    *,
    with_requests: bool = True,
    with_completed: bool = False,
    with_unled: bool = False,
) -> DataFrame:
    """EVENTS, rows of `to_numbered_incarnations`, STATES -> HISTORY, INCARNATION, leader, leader_epoch, since,
    evidence, `is_elected`: leader epochs of which a line shows who leads, or that nobody does (-1), and no state has a
    leader and an ISR.

    `since` is the first such line; it and the leader's own first one are the evidence. A broker that starts again logs
    the leader epoch once more. One of which lines name two leaders is left out: they contradict each other.
    `is_elected`: also a controller's line shows that it came right then, or that of a follower which had known an
    earlier one. `with_requests`, `with_completed`: those of `_by_requests`, and of `_completed`, are among
    them; `with_unled`: of the former those without a leader, too.
    """
    leader, line = F.col("node_id").alias("leader"), line_as_evidence().alias("evidence")
    own = events.where(is_begin()).select("cluster", "topic", "partition", "at", "leader_epoch", leader, line)
    of_epoch = [HISTORY, "leader_epoch"]
    whole = states.where("leader IS NOT NULL AND isr IS NOT NULL").select(*of_epoch).distinct()
    names = (HISTORY, "at", "leader", "leader_epoch", "evidence")
    begun = with_history(own, incarnations).select(
        *names, F.lit(False).alias("is_elected"), F.lit(True).alias("is_own")
    )
    of_others = [_by_requests(events, incarnations, with_unled=with_unled)] if with_requests else []
    of_others += [_completed(events, incarnations)] if with_completed else []
    is_elected = F.col("leader") >= 0
    for lines in of_others:
        begun = begun.unionByName(lines.withColumns({"is_elected": is_elected, "is_own": F.lit(False)}))
    by_time = F.struct("at", "evidence")
    own_line = F.min_by("evidence", F.when(F.col("is_own"), by_time))
    evidence = F.concat(F.coalesce(own_line, F.array().cast(EVIDENCE)), F.min_by("evidence", by_time))
    starts = (
        begun.groupBy(*of_epoch)
        .agg(
            F.min("leader").alias("leader"),
            F.max("leader").alias("greatest"),
            F.min("at").alias("since"),
            F.array_distinct(evidence).alias("evidence"),
            F.max("is_elected").alias("is_elected"),
        )
        .where("leader = greatest")
        .drop("greatest")
        .join(whole, of_epoch, "left_anti")
    )
    return with_incarnation_of_history(starts, incarnations)


def _by_requests(events: DataFrame, incarnations: DataFrame, *, with_unled: bool) -> DataFrame:
    """EVENTS -> HISTORY, at, leader, leader_epoch, evidence: leader epochs that brokers were sent as they came, having
    logged an earlier one since they started. One that has just started, or begins to log, may be sent an old one.

    A follower prints from whom it begins to fetch, in which leader epoch. `with_unled`: a broker that is sent no leader
    (-1; at any level) does not print the leader epoch; it is the one between those that it shows before and after it,
    if only one is missing there: whatever a controller sends it, it takes none that is not newer than the one before.
    """
    fetched = to_fetched_epochs(_with_process(events, FETCHED), "started_at").withColumn("evidence", line_as_evidence())
    known = to_printed_bounds(events).where("is_known AND shown_epoch IS NOT NULL")
    names = ("cluster", "topic", "topic_id", "partition", "at", "node_id", "file_id", "line")
    of_line = ("leader", "started_at", "evidence")
    lines = known.select(*names, "shown_epoch").unionByName(
        fetched.select(*names, "shown_epoch", *of_line), allowMissingColumns=True
    )
    if with_unled:
        is_late = F.col("correlation_id") <= LAST_OF_FIRST_REQUESTS
        unled = _with_process(events, NO_LEADER_SENT).where(F.expr("leader = -1 AND topic IS NOT NULL") & ~is_late)
        unled = unled.withColumn("evidence", line_as_evidence()).select(*names, *of_line)
        lines = lines.unionByName(unled, allowMissingColumns=True)
    place = ("at", "line", "file_id")
    by_then = Window.partitionBy(HISTORY, "node_id").orderBy(*place).rowsBetween(Window.unboundedPreceding, -1)
    shown_at = F.last(F.when(F.col("shown_epoch").isNotNull(), F.col("at")), ignorenulls=True).over(by_then)
    between = F.when(F.expr("after = before + 2"), F.col("before") + 1)
    return (
        with_history(lines, incarnations)
        .withColumns(
            {
                "before": F.max("shown_epoch").over(by_then),
                "after": F.min("shown_epoch").over(rows_behind([HISTORY, "node_id"], place)),
                "is_of_process": F.col("started_at").isNull() | (shown_at >= F.col("started_at")),
                "leader_epoch": F.coalesce("shown_epoch", between),
            }
        )
        .where("evidence IS NOT NULL AND leader_epoch > before AND is_of_process")
        .select(HISTORY, "at", "leader", "leader_epoch", "evidence")
    )


def _with_process(events: DataFrame, event_type: str) -> DataFrame:
    """EVENTS -> those of a type, with `started_at`: when the process of their node started; null before the first
    start."""
    kind = F.col("event_type")
    by_node = Window.partitionBy("cluster", "node_id").orderBy("at", "line", "file_id")
    started_at = F.last(F.when(kind == PROCESS_STARTS, F.col("at")), ignorenulls=True).over(by_node)
    lines = events.where(kind.isin(event_type, PROCESS_STARTS) & F.col("node_id").isNotNull())
    return lines.withColumn("started_at", started_at).where(kind == event_type)


def _completed(events: DataFrame, incarnations: DataFrame) -> DataFrame:
    """EVENTS -> HISTORY, at, leader, leader_epoch, evidence: leader epochs by the line that a preferred election is
    completed, which has its leader alone.

    It is the one between that which lines show last before it, of another leader, and the next one that any line shows,
    if only one is missing there. (That leader may have died before it heard of it.) If it leads in the next one, the
    line may be of that, and lines of the one between are lost; not if its controller logs later that it writes the
    next one.
    """
    place = (HISTORY, "at", "node_id", "leader", "shown_epoch", "is_written", "evidence")
    shown = with_history(to_epoch_bounds(events).where("shown_epoch IS NOT NULL"), incarnations)
    lines = events.where((F.col("event_type") == COMPLETED) & F.expr("topic IS NOT NULL AND leader >= 0"))
    completed = with_history(lines, incarnations).withColumns(
        {"shown_epoch": F.lit(None).cast("int"), "is_written": F.lit(False)}
    )
    both = (
        shown.withColumn("evidence", F.lit(None))
        .select(*place)
        .unionByName(completed.withColumn("evidence", line_as_evidence()).select(*place))
    )
    by_time = Window.partitionBy(HISTORY).orderBy(F.unix_micros("at"))
    by_then = by_time.rangeBetween(Window.unboundedPreceding, 0)
    before = F.max(F.when(F.col("shown_epoch").isNotNull(), F.struct("shown_epoch", "leader"))).over(by_then)
    with_before = both.withColumn("before", before).withColumn(
        "own_epoch", F.coalesce("shown_epoch", "before.shown_epoch")
    )
    later = rows_from([HISTORY], "own_epoch", 1)
    with_leader = F.expr("shown_epoch IS NOT NULL AND leader IS NOT NULL")
    next_led = F.min(F.when(with_leader, F.struct("shown_epoch", "leader"))).over(later)
    writes = F.col("is_written") & F.col("shown_epoch").isNotNull()
    next_written = F.min(F.when(writes, F.struct("shown_epoch", "at", "node_id"))).over(later)
    leads_next = "coalesce(next_led.shown_epoch = following AND next_led.leader = leader, false)"
    is_same = "next_written.shown_epoch = following AND next_written.node_id = node_id"
    is_written_later = f"coalesce({is_same} AND next_written.at > at, false)"
    of_next = {"following": F.min("shown_epoch").over(later), "next_led": next_led, "next_written": next_written}
    return (
        with_before.withColumns(of_next)
        .where("evidence IS NOT NULL AND following = own_epoch + 2 AND before.leader <> leader")
        .where(f"NOT {leads_next} OR {is_written_later}")
        .select(HISTORY, "at", "leader", (F.col("own_epoch") + 1).alias("leader_epoch"), "evidence")
    )


def with_leader_epoch_starts(states: DataFrame, starts: DataFrame) -> DataFrame:
    """Rows with INCARNATION, `ordinal`, leader, leader_epoch and since, rows of `to_leader_epoch_starts` -> both, but
    for starts of a leader epoch that a row has already. All else is null of a start.

    `ordinal` is a struct that orders the rows, and nothing else: a start stands behind all rows of earlier leader
    epochs.
    """
    is_start = F.col("start").isNotNull()
    earlier = Window.partitionBy(*INCARNATION).orderBy("leader_epoch").rangeBetween(Window.unboundedPreceding, -1)
    of_earlier = F.max(F.when(~is_start & F.col("leader_epoch").isNotNull(), F.col("ordinal"))).over(earlier)
    both = states.withColumn("start", F.lit(None).cast("boolean")).unionByName(
        starts.withColumn("start", F.lit(True)), allowMissingColumns=True
    )
    is_new = F.min(is_start).over(Window.partitionBy(*INCARNATION, "leader_epoch"))
    place = F.struct(
        F.when(is_start, of_earlier).otherwise(F.col("ordinal")).alias("ordinal"),
        F.when(is_start, F.col("leader_epoch") + 1).otherwise(0).alias("nth"),
    )
    ordered = both.withColumns({"is_new": is_new, "place": place}).where(~is_start | F.col("is_new"))
    # no younger than the first proof of a later row, whatever clocks say no older than an earlier one
    by_then = (
        Window.partitionBy(*INCARNATION).orderBy("place").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    first_proof = F.min("since").over(row_and_behind(INCARNATION, ["place"]))
    began_before = F.max(F.when(~is_start, F.col("since"))).over(by_then)
    since = F.when(is_start, F.greatest(first_proof, began_before)).otherwise(F.col("since"))
    return ordered.withColumns({"since": since, "ordinal": F.col("place")}).select(*states.columns)
