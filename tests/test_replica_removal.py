"""Replicas that a ZooKeeper controller takes offline: the Column form against the plain one."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from udfs.kafka.releases import Release
from udfs.kafka.replica_removal import ReplicaRemoved, zk_remove_replica

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_and_python_agree(spark: SparkSession) -> None:
    """Of every ISR of up to three brokers, each leader of it or none, and each of its members."""
    from pyspark.sql import functions as F

    from schemas.spark import IDS, INT, struct
    from udfs.kafka import replica_removal_columns

    isrs = [list(isr) for size in (1, 2, 3) for isr in combinations((1, 2, 3), size)]
    cases = [(leader, 5, isr, replica) for isr in isrs for leader in (*isr, -1) for replica in isr]
    rows = spark.createDataFrame(cases, struct(leader=INT, leader_epoch=INT, isr=IDS, replica=INT))
    leadership = F.struct("leader", "leader_epoch", "isr")
    after = replica_removal_columns.zk_remove_replica(leadership, F.col("replica"))
    columns = (F.col(name) for name in ("leader", "leader_epoch", "isr", "replica"))
    for row in rows.select(
        F.struct(*columns).alias("case"), *(column.alias(name) for name, column in after.items())
    ).collect():
        leader, leader_epoch, isr, replica = row["case"]
        removed = zk_remove_replica(
            Release(2, 4), replica, assigned=isr, leader=leader, isr=isr, leader_epoch=leader_epoch
        )
        assert isinstance(removed, ReplicaRemoved)
        assert removed.written
        assert (row["leader"], row["leader_epoch"], tuple(row["isr"])) == (
            removed.leader,
            removed.leader_epoch,
            removed.isr,
        )
