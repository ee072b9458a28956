"""What caused each outage, whose return ended it, and how long elections took: by who led, and how that broker went
away and came back.

A cause may be known only later than its outage, such as a crash by the next start: causes are worked out again for all
outages of a cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.evidence import MOST_EVIDENCE, milliseconds
from schemas.findings import ELECTIONS, OFFLINE_PARTITIONS
from schemas.spark import EVIDENCE
from udfs.incidents.node_stops import CRASHED, CUT_OFF, HALTED, LOG_DIR_FAILED, SHUT_DOWN

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SLACK = "INTERVAL 2 SECONDS"
"""What two nodes log about one thing may be so far apart."""


def with_causes(outages: DataFrame, stops: DataFrame, failures: DataFrame, topics: DataFrame) -> DataFrame:
    """OFFLINE_PARTITIONS -> the same with `cause, cause_broker, cause_at, cause_evidence`, and `healed_by` a broker's
    return.

    `stops`: NODE_STOPS; `failures`: LOG_DIR_FAILURES; `topics`: TOPIC_TIMELINE. Stops and failures are few: they are
    looked through for each outage, by broker.
    """
    known = (
        outages.drop("cause", "cause_broker", "cause_at", "cause_evidence")
        .join(F.broadcast(_by_cluster(stops, failures)), "cluster", "left")
        .join(F.broadcast(_deletions(topics)), ["cluster", "topic", "incarnation"], "left")
    )
    is_deleted = F.col("deletion.at") <= F.col("since")
    reason = (
        F.when(is_deleted, F.col("deletion"))
        .when(F.col("dir_reason").isNotNull(), F.col("dir_reason"))
        .when(F.col("leader_reason").isNotNull(), F.col("leader_reason"))
        .otherwise(F.col("isr_reason"))
    )
    return (
        known.withColumns(
            {
                "dir_reason": _failure_around(F.col("last_leader"), F.col("since")),
                "leader_reason": _stop_around(F.col("last_leader"), F.col("since")),
                "isr_reason": _last_stop_of_isr(),
            }
        )
        .withColumns({"reason": reason, "healed_by": _healed_by()})
        .withColumns(
            {
                "cause": F.col("reason.cause"),
                "cause_broker": F.col("reason.broker"),
                "cause_at": F.col("reason.at"),
                "cause_evidence": F.slice(F.coalesce("reason.evidence", F.array().cast(EVIDENCE)), 1, MOST_EVIDENCE),
            }
        )
        .select(*OFFLINE_PARTITIONS.columns)
    )


def with_latency(elections: DataFrame, stops: DataFrame, failures: DataFrame) -> DataFrame:
    """ELECTIONS -> the same with `latency_ms` also where no state without a leader came before.

    There the time counts from when the broker that still led surely had gone, or its directory had failed, whatever
    the cause; clocks may make it 0. `stops` and `failures` as in `with_causes`.
    """
    known = elections.join(F.broadcast(_by_cluster(stops, failures)), "cluster", "left")
    led_before = F.when(F.col("previous_leader") >= 0, F.col("previous_leader"))
    failed, stopped = _failure_around(led_before, F.col("at")), _stop_around(led_before, F.col("at"))
    lost_at = F.when(failed.isNotNull(), failed["at"]).otherwise(stopped["at"])
    is_failover = F.col("succeeded") & F.coalesce(F.col("strategy").isin(*FAILOVERS), F.lit(True))
    since_loss = F.when(F.col("lost_at").isNotNull(), F.greatest(milliseconds("lost_at", "at"), F.lit(0)))
    return (
        known.withColumn("lost_at", F.when(is_failover, lost_at))
        .withColumn("latency_ms", F.coalesce("latency_ms", since_loss))
        .select(*ELECTIONS.columns)
    )


FAILOVERS = ("offline", "controlled_shutdown")
"""Strategies of elections that the loss of a leader leads to."""


def _reason(cause: Column, broker: Column, at: str) -> Column:
    """What caused an outage: a struct of its columns."""
    return F.struct(cause.alias("cause"), broker.cast("int").alias("broker"), F.col(at).alias("at"), "evidence")


# ---- what is known of a cluster -------------------------------------------------------------------------------------
def _by_cluster(stops: DataFrame, failures: DataFrame) -> DataFrame:
    """NODE_STOPS, LOG_DIR_FAILURES -> cluster, and by broker its `stops` in order of time, and `failures`."""
    how = F.col("how")
    lost_session = F.when(F.col("ended_by") == "session_expired", "session_expired").when(
        F.col("ended_by").isNotNull(), "fenced"
    )
    cause = (
        F.when(how == CRASHED, "broker_crash")
        .when(how == SHUT_DOWN, "controlled_shutdown")
        .when(how == HALTED, "broker_halted")
        .when(how == LOG_DIR_FAILED, "log_dir_failure")
        .when(how.isNull() | (how == CUT_OFF), lost_session)
    )
    # a crash that only the next start shows was before it
    is_late = (how == CRASHED) & F.col("noticed_at").isNull()
    stop = F.struct(
        F.when(is_late, F.coalesce("began_after", "since")).otherwise(F.col("since")).alias("away_since"),
        F.col("until").alias("back_at"),
        _reason(cause, F.col("node_id"), "since").alias("reason"),
    )
    failure = F.struct(
        F.col("at").alias("failed_at"),
        F.col("until").alias("restarted_at"),
        "partitions",
        _reason(F.lit("log_dir_failure"), F.col("broker"), "at").alias("reason"),
    )
    by_broker = _lists(stops.where("role = 'broker'"), "node_id", stop, "stops")
    return by_broker.join(_lists(failures, "broker", failure, "failures"), "cluster", "full")


def _lists(rows: DataFrame, broker: str, entry: Column, name: str) -> DataFrame:
    """cluster, and a map of lists of entries by broker."""
    lists = rows.groupBy("cluster", F.col(broker).alias("of")).agg(F.sort_array(F.collect_list(entry)).alias("list"))
    return lists.groupBy("cluster").agg(F.map_from_entries(F.collect_list(F.struct("of", "list"))).alias(name))


def _deletions(topics: DataFrame) -> DataFrame:
    """TOPIC_TIMELINE -> cluster, topic, incarnation, `deletion`, of topics that were to be deleted."""
    reason = _reason(F.lit("topic_deletion"), F.lit(None), "deletion_started")
    return topics.where("deletion_started IS NOT NULL").select(
        "cluster", "topic", "incarnation", reason.alias("deletion")
    )


# ---- what holds of an outage ----------------------------------------------------------------------------------------
def _stop_around(broker: Column, at: Column) -> Column:
    """The reason of the last stop of a broker that a time is in, or just before; null if it was not away then."""
    slack = F.expr(SLACK)

    def is_around(stop: Column) -> Column:
        is_back = F.coalesce(stop["back_at"] + slack < at, F.lit(False))
        return (stop["away_since"] <= at + slack) & ~is_back & stop["reason"]["cause"].isNotNull()

    around = F.filter(F.try_element_at("stops", broker), is_around)
    return F.try_element_at(around, F.lit(-1))["reason"]


def _last_stop_of_isr() -> Column:
    """Where who led is not known: of a partition whose whole ISR was away the last stop, as `no_live_isr`."""
    reasons = F.transform("last_isr", lambda broker: _stop_around(broker, F.col("since")))
    are_all = (F.size("last_isr") > 0) & ~F.exists(reasons, F.isnull)
    last = F.array_max(
        F.transform(
            reasons,
            lambda r: F.struct(r["at"].alias("at"), r["broker"].alias("broker"), r["evidence"].alias("evidence")),
        )
    )
    reason = F.struct(
        F.lit("no_live_isr").alias("cause"), last["broker"].alias("broker"), last["at"].alias("at"),
        last["evidence"].alias("evidence"),
    )  # fmt: skip
    return F.when(F.col("last_leader").isNull() & are_all, reason)


def _failure_around(broker: Column, at: Column) -> Column:
    """The reason of the last failure of a directory of a broker with the partition in it, not yet mended at a time."""
    name = F.concat_ws("-", "topic", "partition")

    def is_of_partition(failure: Column) -> Column:
        is_mended = F.coalesce(failure["restarted_at"] <= at, F.lit(False))
        has_failed = failure["failed_at"] <= at + F.expr(SLACK)
        return has_failed & ~is_mended & F.array_contains(failure["partitions"], name)

    failed = F.filter(F.try_element_at("failures", broker), is_of_partition)
    return F.try_element_at(failed, F.lit(-1))["reason"]


def _healed_by() -> Column:
    """`healed_by`, which tells elections of brokers that had come back from those of others.

    Where nothing else shows whether an election was clean: who was in the ISR when the leader was lost, and was not
    away since, is in it still; and so is its only member.
    """
    healer, ended = F.col("healed_by_broker"), F.col("ended_before")
    slack = F.expr(SLACK)
    of_healer = F.filter(
        F.try_element_at("stops", healer),
        lambda stop: (stop["away_since"] <= ended) & F.coalesce(stop["back_at"] >= F.col("since"), F.lit(True)),
    )
    was_away = F.coalesce(F.size(of_healer) > 0, F.lit(False))
    has_returned = F.exists(of_healer, lambda stop: F.coalesce(stop["back_at"] <= ended + slack, F.lit(False)))
    is_in_isr = F.array_contains("last_isr", healer) & (~was_away | (F.size("last_isr") == 1))
    is_clean = F.col("healed_by").isin("clean_election", "broker_return") | (
        F.col("healed_by").isNull() & F.coalesce(is_in_isr, F.lit(False))
    )
    election = F.when(F.coalesce(has_returned, F.lit(False)), "broker_return").otherwise("clean_election")
    return F.when(is_clean, election).otherwise(F.col("healed_by"))
