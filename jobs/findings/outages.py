"""Intervals in which a partition has no leader, and how they ended; what caused them is in `outage_causes`."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.findings.dead_leaders import with_dead_leaders
from jobs.timelines.cluster_facts import day_of_or_open, days_or_open
from jobs.timelines.cluster_lives import LifeStarts
from jobs.timelines.evidence import MOST_EVIDENCE, evidence_by, milliseconds
from jobs.timelines.known_spans import span_around
from jobs.timelines.leader_epoch_starts import LAST_OF_FIRST_REQUESTS
from jobs.timelines.observations import number_of
from jobs.timelines.states.partition_evidence import RETRIED
from jobs.timelines.topics import HISTORY, INCARNATION
from schemas.findings import OFFLINE_PARTITIONS
from schemas.spark import EVIDENCE, IDS
from udfs.kafka.elections import Strategy

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OUTAGE = [*INCARNATION, "number"]
"""Key of an outage: outages of a partition are numbered."""
MOST_DELAY_MS = 15_000
"""A broker works off its first requests in so much time."""


def to_outages(
    states: DataFrame,
    elections: DataFrame,
    brokers: DataFrame,
    known_spans: DataFrame,
    events: DataFrame,
    takeovers: DataFrame,
    last_brokers: DataFrame,
    life_starts: LifeStarts | None = None,
) -> DataFrame:
    """Timed rows of `to_states`, ELECTIONS, BROKER_TIMELINE, spans, EVENTS, rows of `to_takeovers`, `to_last_brokers`
    -> OFFLINE_PARTITIONS, their causes left open.

    `known_spans`: rows of `to_known_spans` by cluster, when changes of leaders would have been logged. Only rows whose
    leader is known count; often the lines say that there is none without the ISR.
    """
    states = with_dead_leaders(states, elections, brokers, takeovers, last_brokers)
    open_until = _returns(states, events)
    outages = checkpointed(_outages(states, known_spans, _late_lines(events), open_until))
    ended_by = elections.where("succeeded").select(
        *INCARNATION, "leader_epoch", "unclean", _was_reassigned().alias("was_reassigned")
    )
    is_over, is_led = F.col("ended_before").isNotNull(), F.col("next_leader") >= 0
    is_deleted = is_over & F.col("next_leader").isNull() & ~_ends_with_life(life_starts or {})
    return (
        outages.join(_failed_elections(outages, elections), OUTAGE, "left")
        .join(ended_by, [*INCARNATION, "leader_epoch"], "left")
        .withColumns(
            {
                "cause": F.lit(None).cast("string"),
                "cause_broker": F.lit(None).cast("int"),
                "cause_at": F.lit(None).cast("timestamp"),
                "cause_after": F.lit(None).cast("timestamp"),
                "isr_back_at": F.lit(None).cast("timestamp"),
                "cause_evidence": F.array().cast(EVIDENCE),
                "failed_elections": F.coalesce("failed_elections", F.lit(0)),
                "healed_by": F.when(is_deleted, "topic_deletion")
                .when(~is_over | ~is_led, None)
                .when(F.col("unclean"), "unclean_election")
                .when(~F.col("unclean") & F.col("was_reassigned"), "reassignment")
                .when(~F.col("unclean"), "clean_election"),
                "healed_by_broker": F.when(is_over & is_led, F.col("next_leader")),
                "evidence": F.slice(F.array_distinct("evidence"), 1, MOST_EVIDENCE),
            }
        )
        .select(*OFFLINE_PARTITIONS.columns)
    )


def _was_reassigned() -> Column:
    """Whether an election was part of a reassignment: by its strategy, in KRaft by the record that changes the
    assignment, too. With ZooKeeper, where states have a controller epoch, one may be asked for at any time."""
    is_kraft = F.coalesce(F.col("controller_epoch") < 0, F.lit(True))
    is_of_record = is_kraft & (F.col("replicas") != F.col("replicas_before"))
    return F.coalesce(F.col("strategy") == Strategy.REASSIGN, is_of_record)


def _ends_with_life(life_starts: LifeStarts) -> Column:
    """Whether `ended_before` is when the cluster was created anew: nothing healed then."""
    starts = [
        (F.col("cluster") == cluster)
        & F.unix_millis("ended_before").isin([t // 1000 for start in of_cluster for t in (start - 1, start)])
        for cluster, of_cluster in life_starts.items()
    ]
    return F.coalesce(reduce(or_, starts, F.lit(False)), F.lit(False))


def _late_lines(events: DataFrame) -> DataFrame:
    """EVENTS -> lines that show late that a partition has no leader, for they print what a request has that waited for
    its broker: cluster, `first_line`.

    The broker logs it as it is newly connected, the controller as it fails to send it (`RequestSendThread.doWork`).
    """
    is_first = f"leader = -1 AND correlation_id <= {LAST_OF_FIRST_REQUESTS}"
    late = events.where(f"{is_first} OR event_type = '{RETRIED}'")
    return late.select("cluster", F.struct("node_id", "file_id", "line").alias("first_line")).distinct()


def _returns(states: DataFrame, events: DataFrame) -> DataFrame:
    """Timed rows of `to_states`, EVENTS -> HISTORY, `returned_at`, of partitions whose last state has no leader: when
    KRaft's controller let a broker that had been in sync return, by which they get one though no line says so."""
    returns = events.where("event_type = 'kraft_broker_unfence_granted'").select(
        "cluster", F.coalesce(number_of("broker"), F.col("broker_id")).alias("broker"), F.col("at").alias("returned_at")
    )
    backwards = Window.partitionBy(HISTORY).orderBy(F.desc("ordinal"))
    before = Window.partitionBy(HISTORY).orderBy("ordinal").rowsBetween(Window.unboundedPreceding, -1)
    none = F.array().cast(IDS)
    isr_before = F.last(F.when(F.size("isr") > 0, F.col("isr")), ignorenulls=True).over(before)
    last = states.withColumns({"nth": F.row_number().over(backwards), "isr_before": isr_before})
    # an ISR is empty while whoever was in it is an eligible leader replica, if no line shows that it is none any more
    has_isr = F.coalesce(F.size("isr") > 0, F.lit(False))
    brokers = F.when(has_isr, F.col("isr")).otherwise(
        F.array_union(F.coalesce("elr", none), F.coalesce("isr_before", none))
    )
    in_sync = last.where("nth = 1 AND leader = -1 AND until IS NULL").select(
        "cluster", HISTORY, "since", F.explode(brokers).alias("broker")
    )
    return (
        in_sync.join(F.broadcast(returns), ["cluster", "broker"])
        .where("returned_at > since")
        .groupBy(HISTORY)
        .agg(F.min("returned_at").alias("returned_at"))
    )


def _outages(states: DataFrame, known_spans: DataFrame, late_lines: DataFrame, open_until: DataFrame) -> DataFrame:
    """Timed rows of `to_states`, spans, lines of `_late_lines`, rows of `_returns` -> OUTAGE, times and lengths of
    OFFLINE_PARTITIONS, last_leader, last_isr, next_leader, leader_epoch, evidence.

    Successive states without a leader are one outage, unless logs and leader epochs between them are missing: then
    there may have been a leader. One that was over when the first line about it was logged is left out: nobody knows
    when it was.
    """
    runs = _runs(_offline_states(states, known_spans, late_lines, open_until))
    is_exact = F.col("sure_until") == F.col("ended_before")
    is_whole = is_exact & (F.col("began_after") == F.col("since")) & (F.col("runs") == 1)
    return (
        runs.withColumn("sure_ms", milliseconds("since", "sure_until"))
        .groupBy(*OUTAGE)
        .agg(
            *(F.min_by(name, "run").alias(name) for name in ("began_after", "last_leader", "last_isr")),
            F.max_by("until", "run").alias("ended_before"),
            F.max_by("sure_until", "run").alias("sure_until"),
            F.max_by("next_leader", "run").alias("next_leader"),
            F.max_by("next_epoch", "run").alias("leader_epoch"),
            F.min("since").alias("since"),
            F.max("sure_ms").alias("at_least_ms"),
            F.count("run").alias("runs"),
            evidence_by("run").alias("evidence"),
        )
        .where("ended_before IS NULL OR ended_before > since")
        .withColumns(
            {
                "last_leader": F.when(F.col("last_leader") >= 0, F.col("last_leader")),
                "until": F.when(is_exact, F.col("ended_before")),
                "at_most_ms": milliseconds("began_after", "ended_before"),
                "duration_ms": F.when(is_whole, milliseconds("since", "ended_before")),
            }
        )
    )


def _runs(offline: DataFrame) -> DataFrame:
    """Rows of `_offline_states` -> OUTAGE, run: states that surely had no leader between them, either.

    Runs are one outage if logs are there between them.
    """
    order = Window.partitionBy(HISTORY).orderBy("ordinal")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # the row before is the state before, if that had no leader
    is_same_span = F.coalesce(F.lag("span.since").over(order) == F.col("span.since"), F.lit(False))
    was_offline = F.coalesce(F.col("last_leader") == -1, F.lit(False))
    continues = was_offline & F.col("follows_epoch")
    return (
        offline.withColumns(
            {
                "starts_run": ~continues,
                "starts": ~(continues | (was_offline & is_same_span)),
            }
        )
        .withColumns(
            {
                "number": F.sum(F.col("starts").cast("int")).over(so_far),
                "run": F.sum(F.col("starts_run").cast("int")).over(so_far),
            }
        )
        .groupBy(*OUTAGE, "run")
        .agg(
            *(F.min_by(name, "ordinal").alias(name) for name in ("began_after", "last_leader", "last_isr")),
            *(F.max_by(name, "ordinal").alias(name) for name in ("until", "sure_until", "next_leader", "next_epoch")),
            F.min("since").alias("since"),
            evidence_by("ordinal").alias("evidence"),
        )
    )


def _offline_states(
    states: DataFrame, known_spans: DataFrame, late_lines: DataFrame, open_until: DataFrame
) -> DataFrame:
    """Timed rows of `to_states`, spans, lines of `_late_lines`, rows of `_returns` -> those without a leader, with
    what is known of the time around them.

    `began_after`: when the partition had a leader last, `since` itself if the change was logged when it came; null
    unknown. `sure_until`: until when it surely had none. `follows_epoch`: no leader epoch is missing between the state
    before and this one. `span`: in which changes would have been logged. A state of which a broker learned late, and
    that may have been over by then, begins when the partition had a leader last.
    """
    order = Window.partitionBy(HISTORY).orderBy("ordinal")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    around = {
        f"{side}_{name}": shifted(name).over(order)
        for side, shifted in (("last", F.lag), ("next", F.lead))
        for name in ("leader", "since", "leader_epoch", "partition_epoch")
    }
    # of a leader of whom only the start is logged nobody knows the ISR
    isr_then = F.when(F.col("isr").isNotNull() | (F.col("leader") >= 0), F.struct("isr"))
    last_isr = F.coalesce(F.last(isr_then, ignorenulls=True).over(before)["isr"], "isr")
    offline = states.withColumns({**around, "last_isr": last_isr}).where("leader = -1")
    with_spans = (
        offline.withColumn("first_line", F.try_element_at("evidence", F.lit(1)))
        .join(F.broadcast(late_lines.withColumn("is_late", F.lit(True))), ["cluster", "first_line"], "left")
        .join(F.broadcast(known_spans), "cluster", "left")
        .join(open_until, HISTORY, "left")
        .withColumns(
            {
                "span": span_around(F.col("since")),
                "last_span": span_around(F.col("last_since")),
                "follows_epoch": _are_next("last_leader_epoch", "leader_epoch"),
                "follows": _are_neighbours("last", ""),
                "is_followed": F.col("next_leader").isNull() | _are_neighbours("", "next"),
            }
        )
    )
    known_until = F.greatest("since", "span.until")
    was_led = F.col("last_leader") >= 0
    may_be_over = F.coalesce(F.col("is_late") & (milliseconds("since", "until") <= MOST_DELAY_MS), F.lit(False))
    since = F.when(may_be_over & was_led, F.col("last_since")).otherwise(F.col("since"))
    # what a line of a log that goes on shows as the next state came right then
    is_within = F.coalesce(span_around(F.col("until"))["since"] == F.col("span.since"), F.lit(False))
    is_offline_next = (F.col("next_leader") == -1) & _are_next("leader_epoch", "next_leader_epoch")
    began_in_span = F.coalesce(F.col("last_span.since") == F.col("span.since"), F.lit(False))
    return with_spans.withColumns(
        {
            "since": since,
            "began_after": F.when(may_be_over, F.when(was_led, F.col("last_since")))
            .when(was_led & F.col("follows") & began_in_span, F.col("since"))
            .when(was_led & F.col("follows"), F.least("since", F.greatest("last_since", "last_span.until")))
            .when(was_led, F.col("last_since")),
            "sure_until": F.when(may_be_over, since)
            .when(F.col("until").isNull(), F.least(known_until, "returned_at"))
            .when(is_offline_next | (F.col("is_followed") & is_within), F.col("until"))
            .when(F.col("is_followed"), F.least("until", known_until))
            .otherwise(F.col("since")),
            "next_epoch": F.col("next_leader_epoch"),
        }
    ).drop("spans")


def _are_neighbours(first: str, second: str) -> Column:
    """Whether no state is missing between two of `last`, the state itself (empty) and `next`, by partition epochs;
    where these are unknown, by leader epochs."""
    names = [[f"{side}_{name}".strip("_") for side in (first, second)] for name in ("partition_epoch", "leader_epoch")]
    (epoch, next_epoch), leader_epochs = names
    return F.coalesce(F.col(epoch) + 1 == F.col(next_epoch), _are_next(*leader_epochs))


def _are_next(first: str, second: str) -> Column:
    """Whether no leader epoch is missing between two."""
    return F.coalesce(F.col(second) - F.col(first) <= 1, F.lit(False))


AS_IT_IS_LOST = "INTERVAL 2 SECONDS"
"""So long before the state without a leader an election may have failed that led to it."""


def takes_leader() -> Column:
    """Whether who led lost the place by an election that failed. Of another strategy than that for a lost leader, such
    as a controlled shutdown's, the leader stays when nobody else is elected."""
    is_for_lost = F.coalesce(F.col("strategy") == Strategy.OFFLINE, F.lit(True))
    return (F.col("previous_leader") >= 0) & is_for_lost


def _failed_elections(outages: DataFrame, elections: DataFrame) -> DataFrame:
    """Rows of `_outages`, ELECTIONS -> OUTAGE, failed_elections: how many failed meanwhile, where any did.

    The first one may be logged just before the state without a leader that follows from it; of others that failed then
    the leader stayed.
    """
    failed = elections.where("NOT succeeded").select(
        *INCARNATION, "previous_leader", "strategy", F.col("at").alias("failed_at"), day_of_or_open("at").alias("day")
    )
    begin = F.when(takes_leader(), F.col("since") - F.expr(AS_IT_IS_LOST)).otherwise(F.col("since"))
    return (
        outages.select(
            *OUTAGE,
            "since",
            "ended_before",
            days_or_open(F.col("since") - F.expr(AS_IT_IS_LOST), F.col("ended_before")).alias("day"),
        )
        .join(failed, [*INCARNATION, "day"])
        .where((F.col("failed_at") >= begin) & F.expr("ended_before IS NULL OR failed_at <= ended_before"))
        .groupBy(*OUTAGE)
        .agg(F.count("*").cast("int").alias("failed_elections"))
    )
