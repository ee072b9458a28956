"""Rows of decisions that are no elections, as functions of `udfs.kafka` judge them: silence while a partition has no
leader, the automatic rebalance, the assignment of new topics, what a controlled shutdown leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.findings.lost_directories import to_first_losses
from jobs.timelines.cluster_facts import ClusterFacts
from jobs.timelines.controllers import KRAFT, ZOOKEEPER
from jobs.timelines.epoch_bounds import FETCHED
from jobs.timelines.evidence import milliseconds
from jobs.timelines.kafka_releases import node_release
from jobs.timelines.leader_lines import FOLLOWS
from jobs.timelines.observations import LEADER_STARTED, number_of
from jobs.timelines.sorted_times import last_until
from jobs.timelines.topics import INCARNATION
from udfs.kafka.rebalance_verdicts import LINES, PREFERRED
from udfs.kafka.verdicts_columns import doubt

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CREATED_TOGETHER = "INTERVAL 10 SECONDS"
"""Partitions that a topic has so long after its first ones were created with it."""
STOPS_WITHIN = "INTERVAL 10 MINUTES"
"""A broker whose controlled shutdown has succeeded is gone so soon; one that fails later has been back, be there a line
of that or not."""
_OUTAGE = [*INCARNATION, "began"]
_LEADS_OR_FOLLOWS = (LEADER_STARTED, FOLLOWS)
"""Events by which a broker logs that it begins to lead a partition, or to follow its leader."""
_BY_LEADERS = ("isr_updated", "isr_shrinking", "isr_expanding")
"""Events of leaders that change the ISR."""


def to_silent_outages(
    outages: DataFrame,
    states: DataFrame,
    brokers: DataFrame,
    controllers: DataFrame,
    events: DataFrame,
    facts: ClusterFacts,
) -> DataFrame:
    """OFFLINE_PARTITIONS, PARTITION_TIMELINE, BROKER_TIMELINE, CONTROLLER_TIMELINE, EVENTS -> outages during which a
    member of the ISR was registered while a controller was at work, with what `judge_silence` wants.

    A member counts until the controller logs that it shuts down; where no line tells when, it may have all the time.
    KRaft's controllers do not log whom they elect: there a member that came back logs what it is told of others, and
    would log that it leads. A broker that lost a log directory may have lost this replica (`is_dir_failed`).
    """
    spans = _outage_spans(outages, events)
    end = F.least("ended", "state_until", "went", "replaced_at")  # nulls are left out
    begin = F.greatest("began", "state_since", "came", "active")
    on_failed = F.array_contains("marked", F.col("broker")) | (F.col("dir_lost_at") <= F.col("to"))
    there = (
        spans.join(_leaderless_members(states), INCARNATION)
        .where("state_since >= began AND state_since < ended")
        .join(F.broadcast(_stays(brokers)), ["cluster", "broker"])
        .where(_may_overlap("came", "went", "state_since", "state_until"))
        .join(F.broadcast(_terms(controllers)), "cluster")
        .where(_may_overlap("active", "replaced_at", "came", "went"))
        .where(_may_overlap("active", "replaced_at", "state_since", "state_until"))
        .where("(run_since IS NULL OR state_since >= run_since) AND (is_assigned OR is_kraft)")
    )
    waits = (
        (_with_silent_logs(there, begin, events, facts.coverage) if facts.kinds.kraft else there)
        .withColumns({"from": begin, "to": end, "is_replaced": F.col("ends_replaced") & (F.col("replaced_at") == end)})
        .where(F.col("from") < F.col("to"))
        .join(F.broadcast(to_first_losses(events)), ["cluster", "broker"], "left")
        .withColumn("is_dir_failed", F.col("is_dir_failed") | F.coalesce(on_failed, F.lit(False)))
        .withColumn("waited_ms", milliseconds("from", "to"))
    )
    by_member = waits.groupBy(*_OUTAGE, "broker", "controller_id", "controller_epoch").agg(
        F.sum("waited_ms").alias("waited_ms"),
        *(F.max(name).alias(name) for name in ("is_replaced", "is_shutting_down", "is_dir_failed", "is_over")),
        F.first("evidence").alias("evidence"),
        F.first("broker_evidence").alias("broker_evidence"),
    )
    longest = F.struct("waited_ms", "broker", "is_replaced", "is_shutting_down", "is_dir_failed", "is_over")
    return (
        by_member.groupBy(*_OUTAGE)
        .agg(F.max(F.struct(longest.alias("w"), "evidence", "broker_evidence")).alias("m"))
        .select(
            *INCARNATION,
            F.col("began").alias("since"),
            "m.w.*",
            F.array_distinct(F.concat("m.evidence", "m.broker_evidence")).alias("evidence"),
        )
        .withColumnRenamed("broker", "returned")
    )


def _stays(brokers: DataFrame) -> DataFrame:
    """BROKER_TIMELINE -> its stays as `to_silent_outages` wants them: until the controller logs a shutdown."""
    has_no_time = F.col("shutdown_since").isNull() & (F.coalesce("ended_by", F.lit("")) == "controlled_shutdown")
    return brokers.select(
        "cluster", "broker", F.col("since").alias("came"), F.least("until", "shutdown_since").alias("went"),
        has_no_time.alias("is_shutting_down"), F.slice("evidence", 1, 1).alias("broker_evidence"),
    )  # fmt: skip


def _may_overlap(since: str, until: str, other_since: str, other_until: str) -> Column:
    """Whether two spans have a time in common, as far as their ends are known. Asked right after each join: together
    all stays and all terms of a long history are as many as its square."""
    begins_before = F.coalesce(F.col(since) < F.col(other_until), F.lit(True))
    return begins_before & F.coalesce(F.col(until) > F.col(other_since), F.lit(True))


def _terms(controllers: DataFrame) -> DataFrame:
    """CONTROLLER_TIMELINE -> its terms as `to_silent_outages` wants them."""
    return with_run_of_terms(controllers).select(
        "cluster", "controller_id", "controller_epoch", F.coalesce("active_since", "since").alias("active"),
        F.col("until").alias("replaced_at"), (F.coalesce("ended_by", F.lit("")) == "replaced").alias("ends_replaced"),
        "run_since", (F.col("mode") == KRAFT).alias("is_kraft"),
    )  # fmt: skip


def _with_silent_logs(there: DataFrame, begin: Column, events: DataFrame, coverage: DataFrame) -> DataFrame:
    """Members of the ISR under terms of controllers, when each could lead, EVENTS, LOG_COVERAGE -> the same, `ended` no
    earlier than the logs of both, if the member logs after that what else it leads or follows: of KRaft's outages that
    are not over, if no line has a later leader epoch, or a change of the ISR, and none tells a follower whom to fetch
    from. The controller's log would tell that the topic is deleted, or that it decides nothing."""
    partition, broker = ["cluster", "topic", "partition"], F.col("node_id").alias("broker")
    later = events.where("topic IS NOT NULL AND leader_epoch IS NOT NULL").groupBy(*partition)
    fetched = events.where((F.col("event_type") == FETCHED) & F.col("partitions").isNotNull()).select(
        "cluster", "at", F.explode("partitions").alias("p")
    )
    changed = events.where(F.col("event_type").isin(*_BY_LEADERS) & F.col("topic").isNotNull())
    led = fetched.select("cluster", "p.topic", "p.partition", "at").unionByName(changed.select(*partition, "at"))
    lines = events.where(F.col("event_type").isin(*_LEADS_OR_FOLLOWS) & F.col("node_id").isNotNull())
    logged = lines.groupBy("cluster", broker).agg(F.max("at").alias("logged_last"))
    span = F.max(F.struct("since", "until"))
    spans = coverage.where("kind = 'state_change'").groupBy("cluster", broker).agg(span.alias("log"))
    logs = spans.join(logged, ["cluster", "broker"])
    of_controllers = coverage.where("kind = 'controller'").groupBy("cluster", F.col("node_id").alias("controller_id"))
    is_led_by_nobody = F.expr("NOT is_over AND last_epoch <= state_epoch AND (led_at IS NULL OR led_at < began)")
    is_logged = F.expr("is_kraft AND log.since <= began AND decisions.since <= began")
    is_logged &= F.col("logged_last") > begin
    silent_until = F.when(is_led_by_nobody & is_logged, F.least("log.until", "decisions.until"))
    return (
        there.join(later.agg(F.max("leader_epoch").alias("last_epoch")), partition, "left")
        .join(led.groupBy(*partition).agg(F.max("at").alias("led_at")), partition, "left")
        .join(F.broadcast(logs), ["cluster", "broker"], "left")
        .join(F.broadcast(of_controllers.agg(span.alias("decisions"))), ["cluster", "controller_id"], "left")
        .withColumn("ended", F.greatest("ended", silent_until))
        .drop("last_epoch", "led_at", "log", "logged_last", "decisions")
    )


def _leaderless_members(states: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE -> INCARNATION, `state_since`, `state_until`, `state_epoch`, `broker`: members of the ISR of
    each state without a leader, and `is_assigned`, whether its assignment is known and has them: ZooKeeper keeps both
    apart; not of one after which states are missing (by their partition epochs, else by leader epochs), for
    one of those may have ended the wait."""
    in_order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    skipped = F.lead("leader_epoch").over(in_order) - F.col("leader_epoch") - 1
    next_missing = F.coalesce(F.lead("missing_before").over(in_order), skipped)
    return (
        states.withColumn("next_missing", next_missing)
        .where("leader = -1 AND coalesce(next_missing, 0) <= 0")
        .select(
            *INCARNATION, F.col("since").alias("state_since"), F.col("until").alias("state_until"),
            F.col("leader_epoch").alias("state_epoch"), "replicas", F.explode("isr").alias("broker"),
        )
        .withColumn("is_assigned", F.coalesce(F.array_contains("replicas", F.col("broker")), F.lit(False)))
        .drop("replicas")
    )  # fmt: skip


def with_run_of_terms(controllers: DataFrame) -> DataFrame:
    """CONTROLLER_TIMELINE -> the same with `run_since`, of ZooKeeper's terms: since when each controller's log is there
    up to this term. What was the state before may have ended under one whose log is missing."""
    in_order = Window.partitionBy("cluster").orderBy("controller_epoch")
    follows = F.coalesce(F.lag("controller_epoch").over(in_order) == F.col("controller_epoch") - 1, F.lit(False))
    begin = F.when((F.col("mode") == ZOOKEEPER) & ~F.col("follows"), F.col("since"))
    return controllers.withColumn("follows", follows).withColumn(
        "run_since", F.last(begin, ignorenulls=True).over(in_order)
    )


def _outage_spans(outages: DataFrame, events: DataFrame) -> DataFrame:
    """OFFLINE_PARTITIONS, EVENTS -> INCARNATION, `began`, `ended`, `is_over`, `is_dir_failed`, `marked`, `evidence`;
    without those of topics that are being deleted."""
    is_deleted = (F.col("cause") == "topic_deletion") | (F.col("healed_by") == "topic_deletion")
    marked = _marked_offline(events)
    lost = outages.join(F.broadcast(marked), ["cluster", "topic", "partition"], "left")
    failed = F.coalesce("cause", F.lit("")) == "log_dir_failure"
    return lost.where(~F.coalesce(is_deleted, F.lit(False))).select(
        *INCARNATION,
        F.col("since").alias("began"),
        (F.col("since") + F.expr("make_dt_interval(0, 0, 0, at_least_ms / 1000.0)")).alias("ended"),
        F.col("until").isNotNull().alias("is_over"),
        failed.alias("is_dir_failed"), "marked", "evidence",
    )  # fmt: skip


def _marked_offline(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, topic, partition, `marked`: brokers with its replica on a log directory that ever failed."""
    lines = events.where("event_type = 'replicas_marked_offline' AND partitions IS NOT NULL")
    exploded = lines.select("cluster", number_of("broker").alias("broker"), F.explode("partitions").alias("p"))
    return exploded.groupBy("cluster", "p.topic", "p.partition").agg(F.collect_set("broker").alias("marked"))


def to_rebalance_lines(events: DataFrame, node_releases: DataFrame) -> DataFrame:
    """EVENTS, rows of `to_node_releases` -> lines of ZooKeeper controllers about the automatic rebalance as
    `judge_rebalances` wants them, those of one node together, in order."""
    names = F.transform("partitions", lambda p: F.concat_ws("-", p["topic"], p["partition"]))
    is_map = F.col("event_type") == PREFERRED
    lines = events.where(F.col("event_type").isin(*LINES) & F.col("node_id").isNotNull()).select(
        "cluster", "node_id", "at", "file_id", "line", "event_type",
        number_of("broker").alias("broker"),
        F.col("fields")["imbalance_ratio"].try_cast("double").alias("ratio"),
        F.when(~is_map, names).alias("partitions"),
        F.when(is_map, F.transform("partitions", lambda p: F.get(p["replicas"], F.lit(0)))).alias("preferred"),
        (F.col("fields")["trigger"] == "AutoTriggered").alias("is_auto"),
    )  # fmt: skip
    known = lines.join(F.broadcast(node_releases), ["cluster", "node_id"], "left")
    lines = known.withColumn("node_release", node_release(F.col("at"))).drop("processes")
    return lines.repartition("cluster", "node_id").sortWithinPartitions("cluster", "node_id", "at", "file_id", "line")


def to_created_topics(states: DataFrame, topics: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE, TOPIC_TIMELINE -> cluster, topic, incarnation, `at`, `partitions` that it was created with,
    and those that were `added` later: (partition, replicas, evidence, since, and `began`, that in microseconds), as far
    as their first state is there and has an assignment.

    `at`: when the first of these was there; `factors`: how many replicas partition 0 had at any time, `knows_factors`
    whether its assignment is always known, from its first state on.
    """
    topic = ["cluster", "topic", "incarnation"]
    state = F.struct("leader_epoch", "partition_epoch", "replicas", "since", "evidence")
    is_first = F.col("partition") == 0
    size = F.when(F.col("replicas").isNotNull(), F.size("replicas"))
    first = states.groupBy(*INCARNATION).agg(
        F.min_by(state, "ordinal").alias("first"),
        F.collect_set(F.when(is_first, size)).alias("factors"),
        F.min(F.when(is_first, size.isNotNull())).alias("knows_factors"),
    )
    is_born = F.expr("first.leader_epoch = 0 AND first.replicas IS NOT NULL AND first.partition_epoch = 0")
    partition = F.struct(
        "partition",
        F.col("first.replicas").alias("replicas"),
        F.col("first.evidence").alias("evidence"),
        F.col("first.since").alias("since"),
        F.unix_micros("first.since").alias("began"),
    )
    grouped = first.groupBy(*topic).agg(
        F.array_sort(F.collect_list(F.when(is_born, partition))).alias("all"),
        F.flatten(F.collect_list("factors")).alias("factors"),
        F.coalesce(F.max(F.col("knows_factors") & is_born), F.lit(False)).alias("knows_factors"),
        F.min(F.when(is_born, F.col("first.since"))).alias("at"),
        F.min(F.when(is_born & is_first, F.col("first.since"))).alias("first_since"),
    )
    # partition 0 cannot be added
    created = F.coalesce("first_since", "created_at", "at") + F.expr(CREATED_TOGETHER)
    begins = topics.select(*topic, F.col("since").alias("created_at"))
    return (
        grouped.where("size(all) > 0")
        .join(F.broadcast(begins), topic, "left")
        .withColumns(
            {
                "partitions": F.filter("all", lambda p: p["since"] <= created),
                "added": F.filter("all", lambda p: p["since"] > created),
            }
        )
        .drop("all", "created_at", "first_since")
    )


def with_clean_exit(elections: DataFrame, events: DataFrame, brokers: DataFrame) -> DataFrame:
    """ELECTIONS, EVENTS, BROKER_TIMELINE -> elections with `left_cleanly`: whether the previous leader had logged right
    before that its controlled shutdown succeeded, and has neither registered nor been elected since."""
    exits = (
        events.where("event_type = 'controlled_shutdown_succeeded' AND node_id IS NOT NULL")
        .groupBy("cluster", F.col("node_id").alias("previous_leader"))
        .agg(F.collect_list("at").alias("exits"))
    )
    returns = brokers.groupBy("cluster", F.col("broker").alias("previous_leader")).agg(
        F.collect_list("since").alias("returns")
    )
    last_return = last_until("returns", F.col("at") + doubt())
    has_returned = F.when(F.col("returns").isNotNull(), F.coalesce(last_return > F.col("last_exit"), F.lit(False)))
    before = Window.partitionBy(*INCARNATION).orderBy("at").rowsBetween(Window.unboundedPreceding, -1)
    elected = F.last(F.when(F.col("leader") >= 0, F.struct("leader", "at")), ignorenulls=True).over(before)
    is_elected = (elected["leader"] == F.col("previous_leader")) & (elected["at"] > F.col("last_exit"))
    has_returned |= F.coalesce(is_elected, F.lit(False))
    is_recent = F.col("last_exit") >= F.col("at") - F.expr(STOPS_WITHIN)
    key = ["cluster", "previous_leader"]
    return (
        elections.join(F.broadcast(exits), key, "left")
        .join(F.broadcast(returns), key, "left")
        .withColumn("last_exit", last_until("exits", F.col("at")))
        .withColumn("left_cleanly", F.coalesce(is_recent, F.lit(False)) & ~F.coalesce(has_returned, F.lit(True)))
        .drop("exits", "returns", "last_exit")
    )
