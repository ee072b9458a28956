"""States by partition epoch, the counter of a partition's states: what all lines about each agree on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.evidence import evidence
from jobs.timelines.states.columns import NUMBERED_STATES, first_assignment, of_first_assignment
from jobs.timelines.states.neighbours import KEPT_BY, STATED, with_contradictions, with_kept_values, without_stale_terms
from jobs.timelines.topics import HISTORY, with_incarnation_of_history

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from jobs.timelines.states.partition_evidence import PartitionEvidence

ELIGIBLE = ("elr", "last_known_elr")


def to_numbered_states(lines: PartitionEvidence, *, is_kraft: bool) -> DataFrame:
    """Observations -> NUMBERED_STATES, one row per partition epoch, completed from neighbours.

    What lines contradict each other about stays null, and `contradiction` gives what they state. Without KRaft's lines
    only leaders are logged as kept, and there are no eligible leader replicas.

    Observations are exchanged and sorted once, by HISTORY and partition epoch.
    """
    flags = KEPT_BY if is_kraft else {"keeps_leader": KEPT_BY["keeps_leader"]}
    grouped = _grouped(lines.observations, flags, is_kraft=is_kraft)
    states = with_contradictions(
        with_kept_values(grouped if is_kraft else without_stale_terms(grouped, "is_deduced"), flags)
    )
    is_consistent = F.col("contradiction").isNull()
    eligible = {name: F.when(is_consistent, F.col(name) if is_kraft else None).cast("array<int>") for name in ELIGIBLE}
    flags_of_state = {
        "inferred": F.lit(False) if is_kraft else F.col("is_deduced"),
        "is_replayed": F.col("is_replayed") if is_kraft else F.lit(None).cast("boolean"),
    }
    completed = states.withColumns(of_first_assignment() | flags_of_state | eligible)
    return with_incarnation_of_history(completed, lines.incarnations).select(*NUMBERED_STATES.names)


def _grouped(observations: DataFrame, flags: Iterable[str], *, is_kraft: bool) -> DataFrame:
    """OBSERVATIONS with HISTORY -> one row per partition epoch: what all lines agree on, null where they do not.

    With `first_assignment`, and flags of what is kept from the partition epoch before.
    """

    def agreed(name: str) -> Column:
        return F.when(F.min(name) == F.max(name), F.min(name)).alias(name)

    is_contradiction = F.coalesce(F.greatest(*(F.min(name) < F.max(name) for name in STATED)), F.lit(False))
    is_deduced = F.coalesce("is_deduced", F.lit(False))
    if is_kraft:  # a line about a change states two partition epochs, which may be one state
        lines = evidence()
    else:
        # a line that begins a term has the time of the change of which it tells only the leader epoch
        lines = evidence(once=True, besides=is_deduced & ~F.coalesce("by_leader", F.lit(False)))
        printed = evidence(of=~is_deduced | F.col("by_leader"), once=True)
        lines = F.when(F.min(is_deduced), lines).otherwise(printed)
    in_order = observations.repartition(HISTORY).sortWithinPartitions(HISTORY, "partition_epoch")
    return in_order.groupBy(HISTORY, "partition_epoch").agg(
        F.max("topic_id").alias("topic_id"),
        *(agreed(name) for name in (*STATED, *(ELIGIBLE if is_kraft else ()))),
        F.when(is_contradiction, _in_words(F.collect_set(F.struct(*STATED)))).alias("contradiction"),
        F.min("controller_epoch").alias("controller_epoch"),
        first_assignment().alias("first_assignment"),
        F.max("by_leader").alias("by_leader"),
        *(F.max(flag).alias(flag) for flag in flags),
        *((_first_proof(), F.min(_is_replayed()).alias("is_replayed")) if is_kraft else (F.min("at").alias("at"),)),
        *(() if is_kraft else (F.min(is_deduced).alias("is_deduced"),)),
        lines.alias("evidence"),
    )


def _is_replayed() -> Column:
    return F.coalesce("is_replayed", F.lit(False))


def _first_proof() -> Column:
    """Aggregate `at`: the first line of a state that is not one of a controller that starts, if there is any."""
    return F.coalesce(F.min(F.when(~_is_replayed(), F.col("at"))), F.min("at")).alias("at")


def _in_words(states: Column) -> Column:
    """What different lines state, in words: `leader 1, leader epoch 3, ISR 1,2; leader 2, leader epoch 3`."""

    def words(state: Column) -> Column:
        isr = F.concat(F.lit("ISR "), F.concat_ws(",", state["isr"].cast("array<string>")))
        return F.concat_ws(
            ", ",
            F.concat(F.lit("leader "), state["leader"]),
            F.concat(F.lit("leader epoch "), state["leader_epoch"]),
            F.when(state["isr"].isNotNull(), isr),
        )

    return F.concat_ws("; ", F.array_sort(F.transform(states, words)))
