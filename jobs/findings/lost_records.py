"""How many records unclean elections lost: by where the new leader began, and what the last one still had.

The last leader comes back with its log, and cuts off what the new leader does not have. Its first line as a follower
prints the end of its log (2.6 on); before, the line by which it was loaded as the broker started. Where neither is
there, the checkpointed high watermark is a lower bound. A last leader that is elected itself leads on with what its
disk has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.timelines.leader_lines import STARTED
from jobs.timelines.topics import INCARNATION, with_incarnation
from schemas.findings import ELECTIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_FOLLOWS, _TRUNCATED = "partition_follower_epoch_started", "log_truncated"
_LOG_LOADED, _REPLICA_LOADED = "log_loaded", "replica_log_loaded"
_KEY = [*INCARNATION, "leader_epoch"]


def with_lost_records(elections: DataFrame, events: DataFrame, topics: DataFrame) -> DataFrame:
    """Rows of ELECTIONS with `last_leader`, EVENTS, TOPIC_TIMELINE -> ELECTIONS with what unclean ones lost.

    By the load of a log the number is exact if the new leader's start is known: until 0.11 (KIP-101) a follower first
    cuts off what is above its own high watermark.
    """
    by_election = (
        _lines_of_leaders(elections, events, topics)
        .groupBy(*_KEY)
        .agg(
            _first("start_offset", F.col("event_type").isin(*STARTED) & _is_new_leader()).alias("epoch_start"),
            _first("start_offset", _is_returned(_FOLLOWS)).alias("log_end"),
            _loaded_end(F.min).alias("loaded_end_min"),
            _loaded_end(F.max).alias("loaded_end_max"),
            _first("high_watermark", _is_returned(_REPLICA_LOADED)).alias("high_watermark"),
            _first("offset", _cuts_off()).alias("truncated_to"),
        )
    )
    kept = F.least("truncated_to", "epoch_start")
    lost, loaded_min, loaded_max, at_least = (
        _not_negative(F.col(name) - kept) for name in ("log_end", "loaded_end_min", "loaded_end_max", "high_watermark")
    )
    led_on = F.when(F.col("unclean") & (F.col("leader") == F.col("last_leader")), F.lit(0).cast("long"))
    return (
        elections.join(F.broadcast(by_election), _KEY, "left")
        .withColumns(
            {
                "start_offset": F.col("epoch_start"),
                "lost_records_min": F.coalesce(led_on, lost, loaded_min, at_least),
                "lost_records_max": F.coalesce(lost, F.when(F.col("epoch_start").isNotNull(), loaded_max)),
                "last_leader": F.when(F.col("unclean"), F.col("last_leader")),
            }
        )
        .select(*ELECTIONS.columns)
    )


def _lines_of_leaders(elections: DataFrame, events: DataFrame, topics: DataFrame) -> DataFrame:
    """Rows of ELECTIONS, EVENTS, TOPIC_TIMELINE -> lines on the log of the partition of each unclean election, until
    its last leader leads again: what it loses then it loses to another.

    Columns: those of the election, `next_unclean` (when the next one came), `led_at`, when the last leader had begun to
    lead, and `truncated_at`, when it first cut its log off.
    """
    in_order = Window.partitionBy(*INCARNATION).orderBy("at", "leader_epoch")
    unclean = elections.where("unclean").select(
        *_KEY, F.col("at").alias("elected_at"), F.col("leader").alias("elected"), "last_leader",
        F.lead("at").over(in_order).alias("next_unclean"),
    )  # fmt: skip
    kinds = (*STARTED, _FOLLOWS, _LOG_LOADED, _REPLICA_LOADED, _TRUNCATED)
    lines = events.where(F.col("event_type").isin(*kinds) & F.col("topic").isNotNull()).select(
        "cluster", "topic", "topic_id", "partition", "at", "event_type", "fields",
        F.col("leader_epoch").alias("epoch"), F.coalesce("node_id", "broker_id").alias("writer"),
    )  # fmt: skip
    of_election = Window.partitionBy(*_KEY)
    leads_again = F.col("event_type").isin(*STARTED) & (F.col("writer") == F.col("last_leader"))
    leads_again &= F.col("epoch") > F.col("leader_epoch")
    led = F.col("event_type").isin(*STARTED) & (F.col("writer") == F.col("last_leader"))
    led &= F.col("epoch") < F.col("leader_epoch")
    return (
        with_incarnation(lines, topics)
        .join(F.broadcast(unclean), INCARNATION)
        .withColumn("leads_again_at", F.min(F.when(leads_again, F.col("at"))).over(of_election))
        .where("leads_again_at IS NULL OR at < leads_again_at")
        .withColumn("led_at", F.max(F.when(led, F.col("at"))).over(of_election))
        .withColumn("truncated_at", F.min(F.when(_cuts_off(), F.col("at"))).over(of_election))
    )


def _not_negative(count: Column) -> Column:
    """A count of records, at least 0; null stays null."""
    return F.when(count.isNotNull(), F.greatest(F.lit(0), count)).cast("long")


def _is_new_leader() -> Column:
    """Whether a line is of the broker that was elected, about the leader epoch that it began."""
    return (F.col("writer") == F.col("elected")) & (F.col("epoch") == F.col("leader_epoch"))


def _is_of_last_leader(event_type: str) -> Column:
    """Whether a line of a type is of the last leader, which is not the elected one."""
    is_last_leader = (F.col("writer") == F.col("last_leader")) & (F.col("last_leader") != F.col("elected"))
    return (F.col("event_type") == event_type) & is_last_leader


def _is_returned(event_type: str) -> Column:
    """Whether a line of a type is of the last leader, come back as a follower of the elected one."""
    return _is_of_last_leader(event_type) & (F.col("at") >= F.col("elected_at"))


def _cuts_off() -> Column:
    """Whether by a line the last leader cuts off what the elected one did not have, not what a later one had not."""
    return _is_returned(_TRUNCATED) & (F.col("next_unclean").isNull() | (F.col("at") < F.col("next_unclean")))


def _loaded_end(bound: Callable[[Column], Column]) -> Column:
    """Aggregate: least or highest end of the last leader's log as it was loaded, before it was cut off.

    Loads differ where one is of a log that is moved to another directory, or to be deleted. One before the election
    tells nothing: the log may have grown since. But by a process that came when the broker had led it has not.
    """
    is_load = _is_of_last_leader(_LOG_LOADED) & F.col("at").between(
        F.least("elected_at", "led_at"), F.col("truncated_at")
    )
    return bound(F.when(is_load, _number("log_end_offset")))


def _first(name: str, condition: Column) -> Column:
    """Aggregate: a field of the first line for which a condition holds, as a number; null where none is."""
    return F.min_by(F.when(condition, _number(name)), F.when(condition, F.col("at")))


def _number(name: str) -> Column:
    return F.col("fields")[name].try_cast("long")
