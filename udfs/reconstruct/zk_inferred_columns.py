"""`udfs.reconstruct.zk_inferred` on columns: evaluated only where there are removals, so that other states cost
nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemas.kafka_values import NO_LEADER
from schemas.spark import IDS, INT, LONG, TEXT, struct
from udfs.kafka.replica_removal_columns import zk_remove_replica

if TYPE_CHECKING:
    from pyspark.sql import Column

REPLICA_OFFLINE = struct(at=LONG, node_id=INT, file_id=TEXT, line=LONG, replica=INT, controller_epoch=INT)
"""`udfs.reconstruct.zk_inferred.ReplicaOffline`."""
ZK_STATE = struct(leader=INT, leader_epoch=INT, partition_epoch=INT, isr=IDS)
ZK_INFERRED_STATES = T.ArrayType(T.StructType([*ZK_STATE.fields, T.StructField("made_by", REPLICA_OFFLINE)]))
"""Of `udfs.reconstruct.zk_inferred.ZkInferredState`."""


def _after_removal(state: Column, removal: Column) -> Column:
    """The last state and those written so far, in `written`, after one more removal."""
    after = zk_remove_replica(state, removal["replica"]) | {"partition_epoch": state["partition_epoch"] + 1}
    fields = [after[name].alias(name) for name in ZK_STATE.fieldNames()]
    row = F.struct(*fields, removal.alias("made_by"))
    next_state = F.struct(*fields, F.concat(state["written"], F.array(row)).alias("written"))
    return F.when(F.array_contains(state["isr"], removal["replica"]), next_state).otherwise(state)


def written_by(state: Column, removals: Column) -> Column:
    """ZK_INFERRED_STATES: the states that removals make of a ZK_STATE, in their order."""
    begin = F.struct(
        *(state[name].alias(name) for name in ZK_STATE.fieldNames()),
        F.array().cast(ZK_INFERRED_STATES).alias("written"),
    )
    return F.aggregate(removals, begin, _after_removal, lambda state: state["written"])


def inferred_states(before: Column, since: Column, removals: Column, after: Column) -> Column:
    """ZK_INFERRED_STATES after the ZK_STATE `before`, first logged at `since` (microseconds); null without removals.

    See `udfs.reconstruct.zk_inferred.inferred_states`.
    """
    is_last_member = (before["leader"] == NO_LEADER) & (F.size(before["isr"]) == 1)
    is_missing_earlier = F.exists(
        removals, lambda r: (r["at"] <= since) & F.array_contains(before["isr"], r["replica"]) & ~is_last_member
    )
    none = F.array().cast(ZK_INFERRED_STATES)
    later = F.filter(removals, lambda r: r["at"] > since)
    is_whole = is_last_member | (F.size(F.array_except(before["isr"], later["replica"])) == 0)
    after_the_last = F.when(is_missing_earlier | ~is_whole, none).otherwise(written_by(before, later))
    states = written_by(before, removals)
    reached = F.try_element_at(states, F.lit(-1))
    leads_there = F.lit(True)
    for name in ZK_STATE.fieldNames():
        leads_there = leads_there & reached[name].eqNullSafe(after[name])
    between = F.when(leads_there, states).otherwise(none)
    return F.when(F.size(removals) > 0, F.when(after.isNull(), after_the_last).otherwise(between))
