"""What brokers have a setting at by default, by the configuration that they print as they start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.row_streams import map_rows
from schemas.spark import TEXT, TIME, struct
from udfs.kafka.verdicts_columns import doubt
from udfs.reconstruct.config_changes import KAFKA_CONFIG, common_values

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_COMMON = struct(cluster=TEXT, name=TEXT, at=TIME, value=TEXT)


def with_default(rows: DataFrame, config_changes: DataFrame, name: str, at: Column) -> DataFrame:
    """Rows with `cluster`, CONFIG_CHANGES -> the same with `default_value`, text: what all nodes that have printed
    their configuration by a time have a setting at; null unknown, or they differ.

    A line a moment after that time counts, too. What was set at run time before the logs begin is not printed from 3.1
    on, as a broker starts.
    """
    printed = config_changes.where((F.col("resource_type") == KAFKA_CONFIG) & (F.col("name") == name))
    in_order = printed.repartition("cluster").sortWithinPartitions("cluster", "name", "at", "resource")
    common = map_rows(in_order.select("cluster", "name", "at", "resource", "value"), common_values, _COMMON)
    steps = common.groupBy("cluster").agg(F.array_sort(F.collect_list(F.struct("at", "value"))).alias("defaults"))
    before = F.filter("defaults", lambda step: step["at"] <= at + doubt())
    return (
        rows.join(F.broadcast(steps), "cluster", "left")
        .withColumn("default_value", F.try_element_at(before, F.lit(-1))["value"])
        .drop("defaults")
    )
