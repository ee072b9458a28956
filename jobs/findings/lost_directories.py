"""KRaft's brokers that lost a log directory (3.7 on, KIP-858), which may have had any of their replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.observations import number_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FAILED = "kraft_directories_offline"
"""A controller tells that directories of a broker failed."""
_RECORDS = ("metadata_register_broker", "metadata_broker_registration_change")
_REGISTERS = ("kraft_broker_registered", "metadata_register_broker")
"""A broker registers, with its directories."""


def to_lost_directories(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, `b`, `marked_at`, `is_at_work`: brokers with a log directory that failed while they were at
    work, or that is not among those that they registered with anew: its disk was replaced, or taken out.

    A replica that is assigned to such a directory is not elected, however long its broker has been back
    (org.apache.kafka.metadata.BrokerRegistration.hasOnlineDir). A list without any is of a broker that keeps them.
    """
    kind, broker = F.col("event_type"), F.coalesce("broker_id", number_of("broker")).alias("b")
    failures = events.where(kind == _FAILED).select(
        "cluster", broker, F.col("at").alias("marked_at"), F.lit(True).alias("is_at_work")
    )
    directories = F.from_json(F.col("fields")["log_dirs"], "array<string>").alias("directories")
    is_of_broker = kind.startswith("kraft_broker") | kind.isin(*_RECORDS)
    lines = events.where(is_of_broker & F.col("fields")["log_dirs"].isNotNull()).select(
        "cluster", broker, F.col("at").alias("marked_at"), (~kind.isin(*_REGISTERS)).alias("is_at_work"),
        "file_id", "line", directories,
    )  # fmt: skip
    order = Window.partitionBy("cluster", "b").orderBy("marked_at", "file_id", "line")
    missing = (
        lines.where("b IS NOT NULL AND size(directories) > 0")
        .withColumn("lost", F.array_except(F.lag("directories").over(order), "directories"))
        .where("size(lost) > 0")
    )
    return failures.unionByName(missing.select(*failures.columns))


def to_first_losses(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, broker, `dir_lost_at`: when a broker lost a log directory for the first time."""
    by_broker = to_lost_directories(events).groupBy("cluster", F.col("b").alias("broker"))
    return by_broker.agg(F.min("marked_at").alias("dir_lost_at"))
