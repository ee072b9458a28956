"""What the exception of a failed election names, with ZooKeeper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.observations import as_ids
from schemas.spark import IDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_OF_ELECTIONS = r"kafka\.common\.(?:StateChangeFailed|NoReplicaOnline|LeaderElectionNotNeeded)Exception"
"""Matches the exceptions by which the algorithms say that they elect nobody."""


def printed_live_brokers() -> Column:
    """The live brokers that a failed election names in its exception, without those that shut down; null if it does
    not."""
    printed = F.regexp_extract("detail", r"Live brokers are: \[Set\(([\d, ]*)\)", 1)
    is_printed = F.col("detail").contains("Live brokers are: [Set(")
    return F.when(is_printed, as_ids(F.regexp_extract_all(printed, F.lit(r"(\d+)"))))


def printed_ids(words: str) -> Column:
    """The brokers that a failed election names after these words in its exception (until 1.0), in their order; null if
    it does not."""
    printed = F.regexp_extract("detail", words + r": \[(?:List\()?([\d, ]+)\)?\]", 1)
    return F.when(printed != "", as_ids(F.regexp_extract_all(printed, F.lit(r"(\d+)"))))


def printed_isr() -> Column:
    """The ISR that a failed election names in its exception (until 1.0), but for those of which no replica is alive."""
    left = F.regexp_extract("detail", r"No other replicas in ISR ([\d, ]+) for", 1)
    state = r"Current leader and ISR: \[[^\]]*?(?:\"isr\":\[|,ISR:)(\d+(?:, ?\d+)*)"
    printed = F.concat(left, F.regexp_extract("detail", state, 1))
    ids = F.when(printed != "", F.regexp_extract_all(printed, F.lit(r"(\d+)")).cast(IDS))
    return F.coalesce(printed_ids("ISR brokers are"), ids)


def to_refusals(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, topic, partition, at, `succeeded` (false), `refusal`: elections of ZooKeeper controllers that
    could not be stored, whoever was to lead, and why: ZooKeeper's error, or another controller that wrote before.

    From PartitionStateMachine. An algorithm that elects nobody throws one of its own exceptions; any other, also one
    that it was caused by (through 1.0), ended the election before or after.
    """
    exception = r"\A(?:org\.apache\.zookeeper\.KeeperException\S*:|[^\n]* due to:) "
    error = F.regexp_extract("detail", exception + r"KeeperErrorCode = ([\w ]+?)(?: for |[.\n]|\z)", 1)
    other = F.regexp_extract("detail", rf"(?:\A|\nCaused by: )(?!{_OF_ELECTIONS})(?:\w+\.)+([\w$]+)(?=[:\n]|\z)", 1)
    is_fenced = F.col("detail").contains("already written by another controller")
    is_absent = F.col("detail").contains("LeaderAndIsr information doesn't exist")
    reason = (
        F.when(is_fenced, "another controller has taken over")
        .when(is_absent, "no state of the partition is stored")
        .when(error != "", F.concat(F.lit("ZooKeeper answered "), error))
        .when(other != "", F.concat(F.lit("it ended with "), other))
    )
    return (
        events.where("event_type = 'partition_state_change_failed' AND fields['to_state'] = 'OnlinePartition'")
        .withColumn("refusal", reason)
        .where("refusal IS NOT NULL")
        .groupBy("cluster", "topic", "partition", "at")
        .agg(F.min("refusal").alias("refusal"))
        .withColumn("succeeded", F.lit(False))
    )
