"""What each line of a state's evidence prints of it, so that the fewest lines can stand for it."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.observations import sorted_ids
from jobs.timelines.topics import INCARNATION
from udfs.kafka.proof_lines import COLUMNS, Fact
from udfs.rules.state_events import LEADER_STATE_EVENTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_LINE = ["cluster", "topic", "partition", "file_id", "line"]


def with_printed(states: DataFrame, events: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE, EVENTS -> states with `printed`: of each line of the evidence the facts, as a sum of `Fact`,
    that it prints and the state has; null where there is one line only, or none prints any.

    A line that prints another epoch than the state's is about another one, and prints none.
    """
    state = [*INCARNATION, "ordinal"]
    proofs = states.where("size(evidence) > 1").select(
        *state, F.struct(*COLUMNS.values()).alias("stored"), F.posexplode("evidence").alias("place", "proof")
    )
    proofs = proofs.select(*state, "stored", "place", "proof.file_id", "proof.line")
    facts = (
        proofs.join(_state_lines(events), _LINE)
        .where(
            F.coalesce(_prints(Fact.LEADER_EPOCH), F.lit(True)) & F.coalesce(_prints(Fact.PARTITION_EPOCH), F.lit(True))
        )
        .groupBy(*state)
        .agg(F.map_from_entries(F.collect_set(F.struct("place", _sum_of_facts()))).alias("facts"))
    )
    places = F.sequence(F.lit(0), F.size("evidence") - 1)
    printed = F.when(
        F.col("facts").isNotNull(), F.transform(places, lambda at: F.coalesce(F.col("facts")[at], F.lit(0)))
    )
    return states.join(facts, state, "left").withColumn("printed", printed).drop("facts")


def _state_lines(events: DataFrame) -> DataFrame:
    """EVENTS -> _LINE, `shown`: the columns of all facts, of lines about one partition that print an epoch."""
    columns = {name: F.col(name) for name in COLUMNS.values()}
    by_leader = F.col("event_type").isin(*LEADER_STATE_EVENTS)
    columns["leader"] = F.when(by_leader, F.coalesce("node_id", "broker_id")).otherwise(F.col("leader"))
    columns["isr"] = sorted_ids(F.col("isr"))
    lines = events.where("topic IS NOT NULL AND coalesce(leader_epoch, partition_epoch) IS NOT NULL")
    return lines.select(*_LINE, F.struct(*(column.alias(name) for name, column in columns.items())).alias("shown"))


def _prints(fact: Fact) -> Column:
    """Whether a line prints a fact as the state has it; null where either has none."""
    return F.col(f"shown.{COLUMNS[fact]}") == F.col(f"stored.{COLUMNS[fact]}")


def _sum_of_facts() -> Column:
    return reduce(add, (F.when(_prints(fact), int(fact)).otherwise(0) for fact in Fact)).alias("facts")
