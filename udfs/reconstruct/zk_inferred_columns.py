"""`udfs.reconstruct.zk_inferred` on columns: evaluated only where there are removals, so that other states cost nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemas.kafka_values import NO_LEADER
from schemas.spark import IDS, INT, LONG, TEXT, struct

if TYPE_CHECKING:
    from pyspark.sql import Column

REMOVAL = struct(at=LONG, node_id=INT, file_id=TEXT, line=LONG, replica=INT, controller_epoch=INT)
"""`udfs.reconstruct.zk_inferred.Removal`."""
STATE = struct(leader=INT, leader_epoch=INT, partition_epoch=INT, isr=IDS)
WRITTEN = T.ArrayType(T.StructType([*STATE.fields, T.StructField("made_by", REMOVAL)]))
"""Of `udfs.reconstruct.zk_inferred.Written`."""


def _and(state: Column, removal: Column) -> Column:
    """What a removal makes of a state and those written before it (see `udfs.reconstruct.zk_inferred.without`)."""
    others = F.array_remove(state["isr"], removal["replica"])
    made = F.struct(
        F.when(state["leader"] == removal["replica"], NO_LEADER).otherwise(state["leader"]).alias("leader"),
        (state["leader_epoch"] + 1).alias("leader_epoch"),
        (state["partition_epoch"] + 1).alias("partition_epoch"),
        F.when(F.size(others) > 0, others).otherwise(state["isr"]).alias("isr"),
    )
    names = STATE.fieldNames()
    row = F.struct(*(made[name].alias(name) for name in names), removal.alias("made_by"))
    after = F.struct(
        *(made[name].alias(name) for name in names), F.concat(state["written"], F.array(row)).alias("written")
    )
    return F.when(F.array_contains(state["isr"], removal["replica"]), after).otherwise(state)


def written_by(state: Column, removals: Column) -> Column:
    """WRITTEN: the states that removals make of a STATE, in their order (see `udfs.reconstruct.zk_inferred.written_by`)."""
    names = STATE.fieldNames()
    begin = F.struct(*(state[name].alias(name) for name in names), F.array().cast(WRITTEN).alias("written"))
    return F.aggregate(removals, begin, _and, lambda state: state["written"])


def untold(before: Column, since: Column, removals: Column, after: Column) -> Column:
    """WRITTEN after the STATE `before`, first told at `since` (microseconds), as `udfs.reconstruct.zk_inferred.untold` says; null without removals."""
    alone = (before["leader"] == NO_LEADER) & (F.size(before["isr"]) == 1)
    early = F.exists(removals, lambda r: (r["at"] <= since) & F.array_contains(before["isr"], r["replica"]) & ~alone)
    none = F.array().cast(WRITTEN)
    last = F.when(early, none).otherwise(written_by(before, F.filter(removals, lambda r: r["at"] > since)))
    states = written_by(before, removals)
    reached = F.try_element_at(states, F.lit(-1))
    leads_there = F.lit(True)
    for name in STATE.fieldNames():
        leads_there = leads_there & reached[name].eqNullSafe(after[name])
    between = F.when(leads_there, states).otherwise(none)
    return F.when(F.size(removals) > 0, F.when(after.isNull(), last).otherwise(between))
