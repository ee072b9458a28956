"""Leader epochs that a leader logs as it begins them, and of which no line shows a whole state.

From 0.11 to 2.5 a leader logs `payments-3 starts at Leader Epoch 5 from offset 220`: who leads since when, but not the
ISR. With ZooKeeper at INFO it is often all that is logged of an election. A leader epoch has one leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.epoch_bounds import COMPLETED, to_epoch_bounds
from jobs.timelines.evidence import line_as_evidence
from jobs.timelines.leader_lines import is_begin
from jobs.timelines.running_windows import row_and_behind, rows_from
from jobs.timelines.topics import HISTORY, INCARNATION, with_history, with_incarnation_of_history

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def to_leader_epoch_starts(
    events: DataFrame, incarnations: DataFrame, states: DataFrame, *, with_completed: bool
) -> DataFrame:
    """EVENTS, rows of `to_numbered_incarnations`, STATES -> HISTORY, INCARNATION, leader, leader_epoch, since,
    evidence, `is_elected`: leader epochs that a line of their leader shows, and that no state with a leader and an ISR
    has.

    `since` is its first such line; a broker that starts again logs the leader epoch once more. One that two brokers
    log is left out: lines contradict each other. `is_elected`: also a controller's line shows that it came right then.
    `with_completed`: those of `_completed` are among them.
    """
    leader, line = F.col("node_id").alias("leader"), line_as_evidence().alias("evidence")
    own = events.where(is_begin()).select("cluster", "topic", "partition", "at", "leader_epoch", leader, line)
    of_epoch = [HISTORY, "leader_epoch"]
    whole = states.where("leader IS NOT NULL AND isr IS NOT NULL").select(*of_epoch).distinct()
    names = (HISTORY, "at", "leader", "leader_epoch", "evidence")
    begun = with_history(own, incarnations).select(*names, F.lit(False).alias("is_elected"))
    if with_completed:
        begun = begun.unionByName(_completed(events, incarnations).withColumn("is_elected", F.lit(True)))
    starts = (
        begun.groupBy(*of_epoch)
        .agg(
            F.min("leader").alias("leader"),
            F.max("leader").alias("greatest"),
            F.min("at").alias("since"),
            F.min_by("evidence", F.struct("at", "evidence")).alias("evidence"),
            F.max("is_elected").alias("is_elected"),
        )
        .where("leader = greatest")
        .drop("greatest")
        .join(whole, of_epoch, "left_anti")
    )
    return with_incarnation_of_history(starts, incarnations)


def _completed(events: DataFrame, incarnations: DataFrame) -> DataFrame:
    """EVENTS -> HISTORY, at, leader, leader_epoch, evidence: leader epochs by the line that a preferred election is
    completed, which has its leader alone.

    It is the one between that which lines show last before it, of another leader, and the next one that any line shows,
    if only one is missing there. (That leader may have died before it heard of it.) If it leads in the next one, the
    line may be of that, and lines of the one between are lost.
    """
    place = (HISTORY, "at", "leader", "shown_epoch", "evidence")
    shown = with_history(to_epoch_bounds(events).where("shown_epoch IS NOT NULL"), incarnations)
    lines = events.where((F.col("event_type") == COMPLETED) & F.expr("topic IS NOT NULL AND leader >= 0"))
    completed = with_history(lines, incarnations).withColumn("shown_epoch", F.lit(None).cast("int"))
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
    leads_next = "coalesce(next_led.shown_epoch = following AND next_led.leader = leader, false)"
    return (
        with_before.withColumns({"following": F.min("shown_epoch").over(later), "next_led": next_led})
        .where("evidence IS NOT NULL AND following = own_epoch + 2 AND before.leader <> leader")
        .where(f"NOT {leads_next}")
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
