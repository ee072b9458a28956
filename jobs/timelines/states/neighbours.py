"""What follows from a state's neighbours: values that it kept from them, and contradictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.running_windows import row_and_behind, rows_behind
from jobs.timelines.topics import HISTORY
from udfs.reconstruct.draft_states import CLOCKS_US

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec

STATED = ("leader", "leader_epoch", "isr")
"""What lines may contradict each other about."""
KEPT_BY = {
    "keeps_leader": ("leader", "leader_epoch"),
    "keeps_isr": ("isr",),
    "keeps_elr": ("elr",),
    "keeps_last_known_elr": ("last_known_elr",),
}
"""Flags of observations, and what is then as in the partition epoch before."""


def with_kept_values(states: DataFrame, flags: Mapping[str, tuple[str, ...]]) -> DataFrame:
    """Values carried both ways along runs of adjacent partition epochs that are logged to have kept them.

    Also `highest_before` and `lowest_after`, of leader epochs that lines state. The flags go.
    """
    order = Window.partitionBy(HISTORY).orderBy("partition_epoch")
    is_adjacent = (
        (F.lag("partition_epoch").over(order) + 1 == F.col("partition_epoch"))
        & F.col("contradiction").isNull()
        & F.lag("contradiction").over(order).isNull()
    )

    def nearest(name: str, ends: Column, frame: WindowSpec) -> Column:
        """The value nearest in a frame, if no run ends before it."""
        stop = F.when(F.col(name).isNotNull() | ends, F.struct(name))
        return F.last(stop, ignorenulls=True).over(frame)[name]

    by_flag = [(flag, name) for flag, names in flags.items() for name in names]
    in_runs = states.withColumns(
        {flag: F.coalesce(F.col(flag) & is_adjacent, F.lit(False)) for flag in flags}
        | {"highest_before": F.max("leader_epoch").over(order.rowsBetween(Window.unboundedPreceding, -1))}
    )
    forward = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    carried = in_runs.withColumns(
        {f"{name}_before": nearest(name, ~F.col(flag), forward) for flag, name in by_flag}
        | {f"{flag}_next": F.lead(flag, 1, False).over(order) for flag in flags}
    )
    backward = row_and_behind([HISTORY], ["partition_epoch"])
    carried_back = carried.withColumns(
        {f"{name}_after": nearest(name, ~F.col(f"{flag}_next"), backward) for flag, name in by_flag}
        | {"lowest_after": F.min("leader_epoch").over(rows_behind([HISTORY], ["partition_epoch"]))}
    )
    return carried_back.withColumns(
        {name: F.coalesce(name, f"{name}_before", f"{name}_after") for _, name in by_flag}
    ).drop(
        *flags,
        *(f"{flag}_next" for flag in flags),
        *(f"{name}_before" for _, name in by_flag),
        *(f"{name}_after" for _, name in by_flag),
    )


def without_stale_terms(states: DataFrame, deduced: str) -> DataFrame:
    """States of ZooKeeper with partition epochs -> the same without leader epochs that were deduced (those where the
    flag of this name is set) and are stale: the leader had begun another one since, in a line that is lost.

    Each write changes something, and one that keeps leader and ISR raises the leader epoch: so a state that would
    repeat the one before, or behind, it is of a later leader epoch, or an earlier one, and so is what was deduced from
    the same line of later states. What the partition epoch is ahead of the leader epoch counts the leaders' writes,
    which never become fewer: a printed state behind it bounds it. And who writes knows the last leader epoch that was
    written, so none that is printed CLOCKS_US before, or earlier, is greater.
    """
    order = Window.partitionBy(HISTORY).orderBy("partition_epoch")
    of_term = Window.partitionBy(HISTORY, "leader_epoch").orderBy("partition_epoch")
    so_far = of_term.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    later = rows_behind([HISTORY], ["partition_epoch"])
    by_time = Window.partitionBy(HISTORY).orderBy(F.unix_micros("at"))
    earlier = by_time.rangeBetween(Window.unboundedPreceding, -CLOCKS_US)
    by_leaders = F.col("partition_epoch") - F.col("leader_epoch")
    is_deduced = F.coalesce(deduced, F.lit(False))

    def is_alike(other: Callable[[str], Column], distance: int) -> Column:
        same = [other(name).over(order) == F.col(name) for name in ("leader", "leader_epoch", "isr")]
        is_next = other("partition_epoch").over(order) == F.col("partition_epoch") + distance
        return F.coalesce(is_next & reduce(and_, same), F.lit(False))

    marked = states.withColumns(
        {
            "repeats": is_deduced & is_alike(F.lag, -1),
            "is_repeated": is_deduced & is_alike(F.lead, 1),
            "greatest_by_then": F.max(F.when(~is_deduced, F.col("leader_epoch"))).over(earlier),
            "least_behind": F.min(F.when(~is_deduced, by_leaders)).over(later),
        }
    ).withColumn("repeats", F.max("repeats").over(so_far))
    is_stale = F.col("is_repeated") | F.col("repeats") | F.coalesce(by_leaders > F.col("least_behind"), F.lit(False))
    is_stale |= F.coalesce(F.col("leader_epoch") < F.col("greatest_by_then"), F.lit(False))
    is_known = ~(is_deduced & F.coalesce(is_stale, F.lit(False)))
    return marked.withColumn("leader_epoch", F.when(is_known, F.col("leader_epoch"))).select(*states.columns)


def with_contradictions(states: DataFrame) -> DataFrame:
    """Rows of `with_kept_values` -> the same with `contradiction`; of contradictory states nothing else is left.

    A leader epoch has one leader, and it never falls from one partition epoch to the next. It has also one controller
    epoch: a leader writes the one it was elected under, but a controller of a later term may send the same state as its
    own.
    """
    in_epoch = Window.partitionBy(HISTORY, "leader_epoch")
    least, most = F.min("leader").over(in_epoch), F.max("leader").over(in_epoch)
    epoch, highest, lowest = F.col("leader_epoch"), F.col("highest_before"), F.col("lowest_after")
    contradiction = F.coalesce(
        "contradiction",
        F.when(epoch < highest, F.concat_ws(" ", F.lit("leader epoch"), epoch, F.lit("after"), highest)),
        F.when(epoch > lowest, F.concat_ws(" ", F.lit("leader epoch"), epoch, F.lit("before"), lowest)),
        F.when(
            epoch.isNotNull() & (least < most),
            F.concat(F.lit("leaders "), least, F.lit(", "), most, F.lit(" in one leader epoch")),
        ),
    )
    is_consistent = F.col("contradiction").isNull()
    of_epoch = F.min(F.when(is_consistent, F.col("controller_epoch"))).over(in_epoch)
    return (
        states.withColumn("contradiction", contradiction)
        .withColumn("controller_epoch", F.when(epoch.isNotNull(), of_epoch).otherwise(F.col("controller_epoch")))
        .withColumns({name: F.when(is_consistent, F.col(name)) for name in STATED})
        .drop("highest_before", "lowest_after")
    )
