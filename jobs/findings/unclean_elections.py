"""Whether an election was unclean, by the states before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column


def is_next_epoch() -> Column:
    return F.col("leader_epoch") == F.col("epoch_before") + 1


def was_unclean() -> Column:
    """Whether the new leader was neither in the ISR before nor an eligible leader replica (KIP-966); null unknown.

    One that has led already is in sync. A record of KRaft that completes a reassignment adds its new leader to the ISR
    and elects it in one step, for the one before is dropped. With ZooKeeper, where states have a controller epoch, none
    holds an assignment; but who is elected uncleanly is alone in the ISR, and while replicas are reassigned one that is
    not has joined it before, which lines that are lost may have shown.
    """
    isr_before, elr_before = F.col("state_before.isr"), F.col("state_before.elr")
    replicas_before, replicas = F.col("state_before.replicas"), F.col("replicas")
    is_kraft = F.coalesce(F.col("controller_epoch") < 0, F.lit(True))
    is_unknown = replicas_before.isNull() | replicas.isNull()
    was_completed = is_kraft & (F.size(F.array_except(replicas_before, replicas)) > 0)
    may_be_completed = is_kraft & is_unknown & (F.col("leader_before") >= 0)
    may_have_joined = ~is_kraft & (is_unknown | (replicas_before != replicas)) & (F.size("isr") > 1)
    return (
        F.when((F.col("leader") == F.col("leader_before")) & is_next_epoch(), False)
        .when(~F.col("is_adjacent") | isr_before.isNull(), None)
        .when(F.array_contains(isr_before, F.col("leader")), False)
        .when(F.coalesce(F.array_contains(elr_before, F.col("leader")), F.lit(False)), False)
        .when(was_completed, False)
        .when(F.col("has_elr") & elr_before.isNull(), None)
        .when(may_be_completed | may_have_joined, None)
        .otherwise(True)
    )
