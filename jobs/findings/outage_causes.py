"""What caused each outage, whose return ended it, and how long elections took: by who led, and how that broker went
away and came back.

A cause may be known only later than its outage, such as a crash by the next start: causes are worked out again for all
outages of a cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.findings.node_stops import lists_by_broker
from jobs.timelines.cluster_facts import day_of
from jobs.timelines.evidence import MOST_EVIDENCE, milliseconds
from jobs.timelines.known_spans import controller_run_at, span_around
from schemas.findings import ELECTIONS, OFFLINE_PARTITIONS
from schemas.spark import EVIDENCE
from udfs.incidents.node_stops import BOUNCED, CRASHED, CUT_OFF, HALTED, LOG_DIR_FAILED, SHUT_DOWN, START_FAILED
from udfs.kafka.elections import MOST_ELECTION_S

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SLACK = "INTERVAL 2 SECONDS"
"""What two nodes log about one thing may be so far apart."""
SOON = f"INTERVAL {MOST_ELECTION_S} SECONDS"
_OF_CAUSE = ("cause", "cause_broker", "cause_at", "cause_after", "cause_evidence")


def with_causes(
    outages: DataFrame,
    stops: DataFrame,
    failures: DataFrame,
    topics: DataFrame,
    takeovers: DataFrame,
    controller_runs: DataFrame,
) -> DataFrame:
    """OFFLINE_PARTITIONS -> the same with _OF_CAUSE, `isr_back_at`, and `healed_by` a broker's return.

    `stops`: NODE_STOPS; `failures`: LOG_DIR_FAILURES; `topics`: TOPIC_TIMELINE; `takeovers`: rows of `to_takeovers`;
    `controller_runs`: rows of `to_controller_runs`, when the end of a deletion would have been logged.
    For each outage the stops of its day are looked through, by broker, and all failures, which are few. Of a leader
    that was lost while no controller reigned only its last line tells since when. Where another one must have
    taken the place of the last leader that lines show, nobody knows who led.
    """
    outages = _until_deletion(outages, topics, controller_runs).drop(*_OF_CAUSE, "isr_back_at")
    known = (
        _with_stops(outages, _stops(stops, takeovers), F.col("since"), F.coalesce("ended_before", "since"))
        .join(F.broadcast(_failures(failures)), "cluster", "left")
        .join(F.broadcast(_lives(topics)), _LIFE, "left")
        .withColumns(
            {
                "dir_reason": _failure_around(F.col("last_leader"), F.col("since")),
                "leader_stop": _stop_around(F.col("last_leader"), F.col("since")),
                "last_of_isr": _last_stop_of_isr(),
                "healed_by": _healed_by(),
            }
        )
        .withColumn("was_replaced", _was_replaced())
    )
    is_deleted = F.coalesce(F.col("deletion.at") <= F.col("since"), F.lit(False))
    is_unled = ~is_deleted & F.col("dir_reason").isNull() & _was_unled()
    reason = (
        F.when(is_deleted, F.col("deletion"))
        .when(F.col("dir_reason").isNotNull(), F.col("dir_reason"))
        .when(is_unled, F.col("leader_stop.no_controller"))
        .when(F.col("leader_stop").isNotNull() & ~F.col("was_replaced"), F.col("leader_stop.reason"))
        .when(F.col("last_leader").isNull() | F.col("was_replaced"), F.col("last_of_isr.reason"))
    )
    lost_after = F.when(is_unled, F.least("began_after", "leader_stop.reason.after"))
    return (
        known.withColumns({"reason": reason, "lost_after": lost_after})
        .withColumns(
            {
                "cause": F.col("reason.cause"),
                "cause_broker": F.col("reason.broker"),
                "cause_at": F.col("reason.at"),
                "cause_after": F.col("reason.after"),
                "cause_evidence": F.slice(F.coalesce("reason.evidence", F.array().cast(EVIDENCE)), 1, MOST_EVIDENCE),
                "isr_back_at": F.when(F.col("reason").isNotNull() & ~is_deleted, _isr_back_at()),
                "began_after": F.coalesce("lost_after", "began_after"),
                "duration_ms": F.when(F.col("lost_after").isNull(), F.col("duration_ms")),
                "at_most_ms": F.when(
                    F.col("lost_after").isNotNull(), milliseconds("lost_after", "ended_before")
                ).otherwise(F.col("at_most_ms")),
            }
        )
        .select(*OFFLINE_PARTITIONS.columns)
    )


def with_latency(
    elections: DataFrame, stops: DataFrame, failures: DataFrame, topics: DataFrame, known_spans: DataFrame
) -> DataFrame:
    """ELECTIONS -> the same with `latency_ms` also where no state without a leader came before.

    There the time counts from when the broker that still led surely had gone, or its directory had failed, whatever
    the cause; clocks may make it 0. `stops`, `failures` and `topics` as in `with_causes`. `known_spans`: rows of
    `to_known_spans` by cluster, when changes of leaders would have been logged: over a hole in these no time is known.
    """
    known = _with_stops(elections, _stops(stops), F.col("at"), F.col("at"))
    known = known.join(F.broadcast(_failures(failures)), "cluster", "left").join(
        F.broadcast(_lives(topics)), _LIFE, "left"
    )
    led_before = F.when(F.col("previous_leader") >= 0, F.col("previous_leader"))
    failed, stopped = _failure_around(led_before, F.col("at")), _stop_around(led_before, F.col("at"))["reason"]
    lost_at = F.when(failed.isNotNull(), failed["at"]).otherwise(stopped["at"])
    is_failover = F.col("succeeded") & F.coalesce(F.col("strategy").isin(*FAILOVERS), F.lit(True))
    since_loss = F.when(F.col("lost_at").isNotNull(), F.greatest(milliseconds("lost_at", "at"), F.lit(0)))
    latency_ms = F.coalesce("latency_ms", since_loss)
    was_lost_at = F.timestamp_millis(F.unix_millis("at") - F.col("latency_ms"))
    is_told = span_around(F.col("at"))["since"] == span_around(was_lost_at)["since"]
    return (
        known.join(F.broadcast(known_spans), "cluster", "left")
        .withColumn("lost_at", F.when(is_failover, lost_at))
        .withColumn("latency_ms", latency_ms)
        .withColumn("latency_ms", F.when(is_told, F.col("latency_ms")))
        .select(*ELECTIONS.columns)
    )


def with_stop_around(rows: DataFrame, stops: DataFrame, broker: Column, name: str) -> DataFrame:
    """Rows with `cluster` and `at`, NODE_STOPS -> the former with `name`: when the last stop of a broker began that
    `at` is in, or right behind; null if it was not away then."""
    known = _with_stops(rows, _stops(stops), F.col("at"), F.col("at"))
    stopped_at = _stop_around(broker, F.col("at"))["reason"]["at"]
    return known.withColumn(name, stopped_at).drop("stops_of_day", "lasting_stops")


FAILOVERS = ("offline", "controlled_shutdown")
"""Strategies of elections that the loss of a leader leads to."""


def _reason(cause: Column, broker: Column, at: Column, evidence: Column, after: Column | None = None) -> Column:
    """What caused an outage: a struct of its columns."""
    return F.struct(
        cause.alias("cause"),
        broker.cast("int").alias("broker"),
        at.alias("at"),
        (F.lit(None) if after is None else after).cast("timestamp").alias("after"),
        evidence.alias("evidence"),
    )


# ---- what is known of a cluster -------------------------------------------------------------------------------------
def _stops(stops: DataFrame, takeovers: DataFrame | None = None) -> DataFrame:
    """NODE_STOPS, rows of `to_takeovers` -> cluster, broker, `stop`: when it was away, and the reason that it is for an
    outage. A stop that a controller noticed as it took over has `no_controller`, a second reason."""
    how, evidence = F.col("how"), F.col("evidence")
    ended_by = F.col("ended_by")
    lost_session = (
        F.when(how.isNull() & (ended_by == BOUNCED), BOUNCED)
        .when(ended_by.isin("session_expired", BOUNCED), "session_expired")
        .when(ended_by.isNotNull(), "fenced")
    )
    cause = (
        F.when(how == CRASHED, "broker_crash")
        .when(how == SHUT_DOWN, "controlled_shutdown")
        .when(how == HALTED, "broker_halted")
        .when(how == LOG_DIR_FAILED, "log_dir_failure")
        .when(how == START_FAILED, START_FAILED)
        .when(how.isNull() | (how == CUT_OFF), lost_session)
    )
    # a crash that only the next start shows was before it
    is_late = (how == CRASHED) & F.col("noticed_at").isNull()
    last_line = F.when(how.isNull() | how.isin(CRASHED, CUT_OFF), F.col("began_after"))
    no_controller = F.col("found.reason") if takeovers is not None else F.lit(None).cast(_REASON)
    stop = F.struct(
        F.when(is_late, F.coalesce("began_after", "since")).otherwise(F.col("since")).alias("away_since"),
        F.col("until").alias("back_at"),
        F.col("noticed_at"),
        _reason(cause, F.col("node_id"), F.col("since"), evidence, last_line).alias("reason"),
        no_controller.alias("no_controller"),
    )
    of_brokers = stops.where("role = 'broker'")
    if takeovers is not None:
        of_brokers = of_brokers.join(F.broadcast(_for_lack_of_controller(takeovers)), _STOP, "left")
    return of_brokers.select("cluster", F.col("node_id").alias("broker"), stop.alias("stop"))


def _failures(failures: DataFrame) -> DataFrame:
    """LOG_DIR_FAILURES -> cluster, and by broker its `failures` in order of time."""
    failure = F.struct(
        F.col("at").alias("failed_at"),
        F.col("until").alias("restarted_at"),
        "partitions",
        _reason(F.lit("log_dir_failure"), F.col("broker"), F.col("at"), F.col("evidence")).alias("reason"),
    )
    return lists_by_broker(failures, "broker", {"failures": failure})


def _with_stops(rows: DataFrame, stops: DataFrame, begin: Column, end: Column) -> DataFrame:
    """Rows with `cluster`, rows of `_stops` -> the former with, by broker, the stops that a time from `begin` to `end`
    may be in or next to: those of its day that have ended, `stops_of_day`, and `lasting_stops`, which have not.

    Of more than one day all that have ended. Not all of them for each row: a history of many days has many rows, and
    many stops, and Spark interprets what looks through them.
    """
    away_since, back_at, slack = F.col("stop.away_since"), F.col("stop.back_at"), F.expr(SLACK)
    days = F.sequence(day_of(away_since - slack), day_of(back_at + slack))
    of_all_days = F.array(F.lit(None).cast("bigint"))
    ended = stops.where(back_at.isNotNull()).withColumn("of_day", F.explode(F.concat(days, of_all_days)))
    by_day = lists_by_broker(ended, "broker", {"stops_of_day": F.col("stop")}, "of_day")
    lasting = lists_by_broker(stops.where(back_at.isNull()), "broker", {"lasting_stops": F.col("stop")})
    day = F.when(day_of(begin) == day_of(end), day_of(begin))
    is_of_day = (F.col("cluster") == F.col("of_cluster")) & F.col("day").eqNullSafe(F.col("of_day"))
    return (
        rows.withColumn("day", day)
        .join(F.broadcast(by_day.withColumnRenamed("cluster", "of_cluster")), is_of_day, "left")
        .drop("day", "of_cluster", "of_day")
        .join(F.broadcast(lasting), "cluster", "left")
    )


_STOP = ["cluster", "node_id", "since"]
_LIFE = ["cluster", "topic", "incarnation"]
_REASON = T.StructType(
    [
        T.StructField("cause", T.StringType()),
        T.StructField("broker", T.IntegerType()),
        T.StructField("at", T.TimestampType()),
        T.StructField("after", T.TimestampType()),
        T.StructField("evidence", EVIDENCE),
    ]
)


def _for_lack_of_controller(takeovers: DataFrame) -> DataFrame:
    """Rows of `to_takeovers` -> _STOP, `found.reason`: that no controller reigned, by the stop of the one before."""
    lines = F.concat(F.slice("controller.evidence", 1, MOST_EVIDENCE // 2), F.slice("evidence", 1, MOST_EVIDENCE // 2))
    reason = _reason(
        F.lit("no_controller"),
        F.col("controller.broker"),
        F.col("controller.at"),
        lines,
        F.col("controller.after"),
    )
    return takeovers.select(
        "cluster",
        F.col("broker").alias("node_id"),
        F.col("stopped").alias("since"),
        F.struct(reason.cast(_REASON).alias("reason")).alias("found"),
    )


def _lives(topics: DataFrame) -> DataFrame:
    """TOPIC_TIMELINE -> _LIFE, `deletion` of topics that were to be deleted, and `recreated_at` of those that had been
    before: what failed until then is not theirs."""
    reason = _reason(F.lit("topic_deletion"), F.lit(None), F.col("deletion_started"), F.col("deletion_evidence"))
    return topics.where("deletion_started IS NOT NULL OR incarnation > 0").select(
        *_LIFE,
        F.when(F.col("deletion_started").isNotNull(), reason).alias("deletion"),
        F.when(F.col("incarnation") > 0, F.col("since")).alias("recreated_at"),
    )


def _until_deletion(outages: DataFrame, topics: DataFrame, controller_runs: DataFrame) -> DataFrame:
    """OFFLINE_PARTITIONS, TOPIC_TIMELINE, rows of `to_controller_runs` -> OFFLINE_PARTITIONS. One that no line ends,
    and whose topic is deleted, surely lasts for as long as the end of that would have been logged; it is the deletion
    that ends it, whenever that is."""
    deletions = topics.where("deletion_started IS NOT NULL AND until IS NULL").select(*_LIFE, "deletion_started")
    asked_at = F.greatest("since", "deletion_started")
    known = (
        outages.join(F.broadcast(deletions), _LIFE, "left")
        .join(F.broadcast(controller_runs), "cluster", "left")
        .withColumn("told_until", F.coalesce(controller_run_at(asked_at)["until"], asked_at))
        .withColumn("told_ms", milliseconds("since", "told_until"))
    )
    is_untold = F.expr("ended_before IS NULL AND deletion_started IS NOT NULL AND at_least_ms > told_ms")
    return known.withColumns(
        {
            "at_least_ms": F.when(is_untold, F.col("told_ms")).otherwise(F.col("at_least_ms")),
            "healed_by": F.when(is_untold, F.lit("topic_deletion")).otherwise(F.col("healed_by")),
        }
    ).select(*outages.columns)


# ---- what holds of an outage ----------------------------------------------------------------------------------------
def _stop_around(broker: Column, at: Column) -> Column:
    """The last stop of a broker that a time is in, or just before; null if it was not away then."""
    slack = F.expr(SLACK)

    def is_around(stop: Column) -> Column:
        is_back = F.coalesce(stop["back_at"] + slack < at, F.lit(False))
        return (stop["away_since"] <= at + slack) & ~is_back & stop["reason"]["cause"].isNotNull()

    around = F.filter(_stops_of(broker), is_around)
    return F.try_element_at(around, F.lit(-1))


def _stops_of(broker: Column) -> Column:
    """The stops of a broker that a row of `_with_stops` has, in order of time."""
    parts = F.array(F.try_element_at("stops_of_day", broker), F.try_element_at("lasting_stops", broker))
    return F.sort_array(F.flatten(F.array_compact(parts)))


def _was_unled() -> Column:
    """Whether a leader was lost while no controller reigned, and the next one elected a replica that had been there all
    along as soon as it found that."""
    found_at = F.col("leader_stop.noticed_at")
    is_soon = F.coalesce(F.col("ended_before") <= found_at + F.expr(SOON), F.lit(False))
    return F.col("leader_stop.no_controller").isNotNull() & is_soon & (F.col("healed_by") == "clean_election")


def _was_replaced() -> Column:
    """Whether the whole ISR was away, and another member of it went only when the last leader that lines show had been
    gone for longer than an election takes: that member, or another one, led by then."""
    is_other = F.col("last_of_isr.broker") != F.col("last_leader")
    went_later = F.least("since", "last_of_isr.gone_at") > F.col("leader_stop.reason.at") + F.expr(SOON)
    return F.coalesce(is_other & went_later, F.lit(False))


def _isr_back_at() -> Column:
    """When the first broker of the ISR was there that the outage found away, or its begin if one was there all along;
    null if none was before the end, or before the topic was to be deleted. A broker whose directory failed has no
    replica, the last leader was away."""

    def there_at(broker: Column) -> Column:
        stop = _stop_around(broker, F.col("since"))
        was_away = _failure_around(broker, F.col("since")).isNotNull() | broker.eqNullSafe(F.col("last_leader"))
        is_back, never_left = stop["back_at"].isNotNull(), stop.isNull() & ~was_away
        return F.when(is_back, F.greatest("since", stop["back_at"])).when(never_left, F.col("since"))

    first = F.array_min(F.transform("last_isr", there_at))
    is_before_end = F.coalesce(first <= F.col("ended_before"), F.lit(True))
    return F.when(is_before_end & F.coalesce(first < F.col("deletion.at"), F.lit(True)), first)


def _last_stop_of_isr() -> Column:
    """Of a partition whose whole ISR was away the stop of the member that went last: `gone_at`, and as `no_live_isr`
    the reason if nobody knows who led."""
    stops = F.transform("last_isr", lambda broker: _stop_around(broker, F.col("since")))
    are_all = (F.size("last_isr") > 0) & ~F.exists(stops, F.isnull)

    def with_times(stop: Column) -> Column:
        reason = stop["reason"]
        # one that is shut down is there until a controller notices that it has gone
        gone_at = F.coalesce(stop["noticed_at"], reason["at"]).alias("gone_at")
        no_live_isr = _reason(F.lit("no_live_isr"), reason["broker"], reason["at"], reason["evidence"])
        return F.struct(
            gone_at, reason["at"].alias("at"), reason["broker"].alias("broker"), no_live_isr.alias("reason")
        )

    return F.when(are_all, F.array_max(F.transform(stops, with_times)))


def _failure_around(broker: Column, at: Column) -> Column:
    """The reason of the last failure of a directory of a broker with the partition in it, not yet mended at a time; one
    from before the topic was created anew had another partition of that name in it."""
    name = F.concat_ws("-", "topic", "partition")

    def is_of_partition(failure: Column) -> Column:
        is_mended = F.coalesce(failure["restarted_at"] <= at, F.lit(False))
        has_failed = failure["failed_at"] <= at + F.expr(SLACK)
        has_failed &= F.coalesce(failure["failed_at"] >= F.col("recreated_at"), F.lit(True))
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
        _stops_of(healer),
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
