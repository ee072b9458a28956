"""`udfs.kafka.replica_removal` on columns, as releases from 1.1 on do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from schemas.kafka_values import NO_LEADER

if TYPE_CHECKING:
    from pyspark.sql import Column


def zk_remove_replica(leadership: Column, replica: Column) -> dict[str, Column]:
    """`leader`, `leader_epoch` and `isr` after a replica went offline that is in the ISR (of others nothing is
    written).

    `leadership`: a struct with these three fields. The last member stays in the ISR, without leading.
    """
    others = F.array_remove(leadership["isr"], replica)
    return {
        "leader": F.when(leadership["leader"] == replica, NO_LEADER).otherwise(leadership["leader"]),
        "leader_epoch": leadership["leader_epoch"] + 1,
        "isr": F.when(F.size(others) > 0, others).otherwise(leadership["isr"]),
    }
