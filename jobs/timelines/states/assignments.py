"""Which assignment a state began with. ZooKeeper stores assignments apart from states; KRaft: `kraft_assignments`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.known_spans import controller_run_at
from jobs.timelines.running_windows import row_and_behind, rows_behind
from jobs.timelines.states.columns import ASSIGNED_STATES, STATES
from jobs.timelines.topics import HISTORY, INCARNATION
from udfs.kafka.verdicts_columns import doubt

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from jobs.timelines.states.partition_evidence import PartitionEvidence

SOON = "INTERVAL 1 SECOND"
"""An assignment that ends a reassignment is that of the state that it leaves, if it is written so soon after that
began, and before the next one."""


def with_assignments(states: DataFrame, evidence: PartitionEvidence) -> DataFrame:
    """ORDERED_STATES -> ASSIGNED_STATES, with what lines log of their assignments; `keeps_replicas` is still null."""
    new_replicas, new_at, reassigned = F.lit(None).cast("array<int>"), F.lit(None).cast("timestamp"), F.lit(False)
    writes, before_writes = (F.lit(None).cast(ASSIGNED_STATES[name].dataType) for name in ("writes", "before_writes"))
    if evidence.new_assignments is not None:
        assigned = evidence.new_assignments.groupBy(*INCARNATION).agg(
            F.min_by("replicas", "at").alias("new_replicas"), F.min("at").alias("new_at")
        )
        states = states.join(F.broadcast(assigned), INCARNATION, "left")
        new_replicas, new_at = F.col("new_replicas"), F.col("new_at")
    if evidence.reassignments is not None:
        states = states.join(F.broadcast(evidence.reassignments), ["cluster", "topic", "partition"], "left")
        reassigned = F.coalesce("reassigned", F.lit(False))
        writes, before_writes = F.col("writes"), F.col("before_writes")
    runs = F.lit(None).cast(ASSIGNED_STATES["runs"].dataType)
    if evidence.controller_runs is not None:
        states = states.join(F.broadcast(evidence.controller_runs), "cluster", "left")
        runs = F.col("runs")
    columns = {
        "runs": runs,
        "new_replicas": new_replicas,
        "new_at": new_at,
        "reassigned": reassigned,
        "writes": writes,
        "before_writes": before_writes,
        "keeps_replicas": F.lit(None).cast("boolean"),
    }
    return states.withColumns(columns).select(*ASSIGNED_STATES.names)


def with_start_and_replicas(states: DataFrame) -> DataFrame:
    """ASSIGNED_STATES -> STATES: when each began, and with which assignment.

    What only controllers that started show goes: nobody knows when it was.

    It is as old as the first proof of it or of any later one. A partition that was never reassigned has one assignment;
    of one that ZooKeeper's controllers reassigned it is the one that they wrote last, or that it was created with; of
    others only what is logged of a state counts. One of whose ISRs has other brokers, or with which lines print another
    assignment, was reassigned, too: the log of the controller that did it is missing. Where the logs of all controllers
    are there since the assignment was printed, it was not: then the ISR has brokers that are not assigned.
    """
    backwards = Window.partitionBy(HISTORY).orderBy(F.desc("ordinal"))
    of_partition = backwards.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    least = F.min("replicas").over(of_partition)
    is_only = ~F.col("reassigned") & (least == F.max("replicas").over(of_partition))
    of_creation = F.when(~F.col("reassigned"), F.col("new_replicas"))
    timed = states.withColumns(
        {
            "of_partition": F.coalesce(F.when(is_only & F.coalesce("keeps_replicas", F.lit(True)), least), of_creation),
            "topic_id": F.max("topic_id").over(of_partition),
            "since": F.min("at").over(row_and_behind([HISTORY], ["ordinal"])),
            "next_since": F.min("at").over(rows_behind([HISTORY], ["ordinal"])),
        }
    )
    run = controller_run_at(F.col("since"))
    timed = timed.withColumn("run_since", run["since"])
    of_run = Window.partitionBy(HISTORY, "run_since")
    printed_at = F.when(F.col("replicas") == F.col("of_partition"), F.col("replicas_at"))
    shown_at = F.min(_not_before(F.col("run_since"), F.array(printed_at, "new_at"))).over(of_run)
    is_assured = F.coalesce(shown_at <= F.col("since"), F.lit(False))
    is_elsewhere = F.max((F.size(F.array_except("isr", "of_partition")) > 0) & ~is_assured).over(of_partition)
    kept = F.when(~F.coalesce(is_elsewhere, F.lit(False)), F.col("of_partition"))
    first = F.when(_is_of_state(), F.col("replicas"))
    dated = timed.where(~F.coalesce("is_replayed", F.lit(False)))
    chosen = dated.withColumns(
        {"first": first, "kept": kept, "began": F.least("new_at", F.min("since").over(of_partition))}
    )
    return _with_written(chosen).withColumn("replicas", F.coalesce("written", "first", "kept")).select(*STATES.names)


def _with_written(states: DataFrame) -> DataFrame:
    """Rows with `first`, the assignment that is logged with a state, and `began`, when the partition did as far as it
    is known -> the same with `written`, the one that ZooKeeper's controllers wrote last by then, or that the partition
    was created with.

    Their last write of a reassignment, which adds no replica to what they wrote before (where that is unknown, to the
    ISR), follows the state that it leaves within milliseconds: it counts from that on. The first one comes before the
    state that it leads to.

    Null if a line or an ISR until their next write shows another one; an ISR does not where the logs of all controllers
    are there since, and none is written at about that time. Until 2.3 lines print the next one shortly before
    it is written: it is in the controller's cache by then.
    """
    before = F.when(F.col("reassigned"), F.coalesce("new_replicas", "before_writes"))
    soon = F.least("next_since", F.col("since") + F.expr(SOON))

    def counts(write: Column, nth: Column) -> Column:
        replicas_before = F.coalesce(F.get("writes", nth - 1)["replicas"], before)
        added = F.array_except(write["replicas"], F.coalesce(replicas_before, "isr"))
        adds_none = F.coalesce(F.size(added) == 0, F.lit(True))
        return (write["at"] <= F.col("since")) | (adds_none & (write["at"] <= soon))

    written = F.filter("writes", lambda write, nth: counts(write, nth) & (write["at"] >= F.col("began")))
    numbered = states.withColumn("write", F.greatest(F.coalesce(F.size(written), F.lit(0)), F.lit(0)))
    between = Window.partitionBy(HISTORY, "write")
    last = F.try_element_at(written, F.lit(-1))["replicas"]
    assigned = numbered.withColumn("written", F.when(F.col("write") > 0, last).otherwise(before))
    later = F.filter("writes", lambda write, nth: ~counts(write, nth) & (write["at"] > F.col("since")))
    coming = F.try_element_at(later, F.lit(1))["replicas"]
    is_coming = F.coalesce(F.col("first") == coming, F.lit(False))
    written_at = F.when(F.col("write") > 0, F.try_element_at(written, F.lit(-1))["at"]).otherwise(F.col("new_at"))
    is_near = F.exists("writes", lambda w: w["at"].between(F.col("since") - doubt(), F.col("since") + doubt()))
    is_assured = F.coalesce(F.col("run_since") <= written_at, F.lit(False)) & ~F.coalesce(is_near, F.lit(False))
    is_elsewhere = (F.size(F.array_except("isr", "written")) > 0) & ~is_assured
    is_other = ((F.col("first") != F.col("written")) & ~is_coming) | is_elsewhere
    return assigned.withColumn("is_other", F.max(F.coalesce(is_other, F.lit(False))).over(between)).withColumn(
        "written", F.when(~F.col("is_other"), F.col("written"))
    )


def _not_before(since: Column, times: Column) -> Column:
    """The first of some times that is not before another one; null if there is none."""
    return F.array_min(F.filter(times, lambda time: time >= since))


def _is_of_state() -> Column:
    """Whether the assignment that was logged first with a state is the one it began with.

    KRaft's assignments are part of the states. ZooKeeper stores them apart, and they change within states: a controller
    that sends a state prints with it the assignment of that moment, up to 1.1 even with states of its cache that are
    over. So it must have been logged before the state was over, and before the first assignment written in it.
    """
    is_in_time = F.coalesce(F.col("replicas_at") <= F.col("next_since"), F.lit(True))
    is_rewritten = F.exists("writes", lambda w: (w["at"] > F.col("since")) & (w["at"] <= F.col("replicas_at")))
    is_kraft = F.col("keeps_replicas").isNotNull()
    return is_kraft | (is_in_time & ~F.coalesce(is_rewritten, F.lit(False)))
