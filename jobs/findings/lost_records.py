"""How many records unclean elections lost: by where the new leader began, and what the last one still had.

The last leader comes back with its log, and cuts off what the new leader does not have. Its first line as a follower
prints the end of its log (2.6 on), else its checkpointed high watermark is a lower bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.topics import INCARNATION
from schemas.findings import ELECTIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_STARTED = ("partition_leader_epoch_started", "leader_epoch_started")
_FOLLOWS, _LOADED, _TRUNCATED = "partition_follower_epoch_started", "replica_log_loaded", "log_truncated"
_KEY = [*INCARNATION, "leader_epoch"]


def with_lost_records(elections: DataFrame, events: DataFrame) -> DataFrame:
    """Rows of ELECTIONS with `last_leader`, EVENTS -> ELECTIONS with the records that unclean ones lost."""
    unclean = elections.where("unclean").select(
        *_KEY, F.col("at").alias("elected_at"), F.col("leader").alias("elected"), "last_leader"
    )
    lines = events.where(F.col("event_type").isin(*_STARTED, _FOLLOWS, _LOADED, _TRUNCATED)).select(
        "cluster", "topic", "partition", "at", "event_type", "fields",
        F.col("leader_epoch").alias("epoch"), F.coalesce("node_id", "broker_id").alias("writer"),
    )  # fmt: skip
    near_lines = lines.join(F.broadcast(unclean), ["cluster", "topic", "partition"])
    by_election = near_lines.groupBy(*_KEY).agg(
        _first("start_offset", F.col("event_type").isin(*_STARTED) & _is_new_leader()).alias("start_offset"),
        _first("start_offset", (F.col("event_type") == _FOLLOWS) & _has_returned()).alias("log_end"),
        _first("high_watermark", (F.col("event_type") == _LOADED) & _has_returned()).alias("high_watermark"),
        _first("offset", (F.col("event_type") == _TRUNCATED) & _has_returned()).alias("truncated_to"),
    )
    kept = F.coalesce("truncated_to", "start_offset")
    lost, at_least = (_not_negative(F.col(name) - kept) for name in ("log_end", "high_watermark"))
    return (
        elections.join(F.broadcast(by_election), _KEY, "left")
        .withColumns(
            {
                "lost_records_min": F.coalesce(lost, at_least),
                "lost_records_max": lost,
                "last_leader": F.when(F.col("unclean"), F.col("last_leader")),
            }
        )
        .select(*ELECTIONS.columns)
    )


def _not_negative(count: Column) -> Column:
    """A count of records, at least 0; null stays null."""
    return F.when(count.isNotNull(), F.greatest(F.lit(0), count)).cast("long")


def _is_new_leader() -> Column:
    """Whether a line is of the broker that was elected, about the leader epoch that it began."""
    return (F.col("writer") == F.col("elected")) & (F.col("epoch") == F.col("leader_epoch"))


def _has_returned() -> Column:
    """Whether a line is of the last leader, come back as a follower of the elected one."""
    is_last_leader = (F.col("writer") == F.col("last_leader")) & (F.col("last_leader") != F.col("elected"))
    return is_last_leader & (F.col("at") >= F.col("elected_at"))


def _first(name: str, condition: Column) -> Column:
    """Aggregate: a field of the first line for which a condition holds, as a number; null where none is."""
    return F.min_by(F.when(condition, F.col("fields")[name].try_cast("long")), F.when(condition, F.col("at")))
