"""What else a decision went by, where its own lines do not print it: who may have been alive, which assignments the
partition may have had, what the settings allow."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.findings.broker_signs import without_stale_lists
from jobs.findings.election_exceptions import to_refusals
from jobs.findings.lost_directories import to_lost_directories
from jobs.findings.outdated_states import with_outdated
from jobs.findings.registered_brokers import registered, with_earliest
from jobs.findings.states_then import states_then
from jobs.findings.switches import DECISION, with_printed_switch, with_topic_switch
from jobs.settings import Settings
from jobs.timelines.configured import configured
from jobs.timelines.known_spans import span_around
from jobs.timelines.logged_assignments import to_new_assignments
from jobs.timelines.observations import number_of
from jobs.timelines.topics import INCARNATION, with_incarnation, with_topic_name
from schemas.kafka_values import NO_LEADER
from schemas.spark import EVIDENCE, IDS, struct
from udfs.kafka.verdicts_columns import doubt

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ASSIGNMENT_EVENTS = (
    "reassignment_assignment_updating", "reassignment_assignment_updated", "reassignment_leader_and_isr_sent",
    "kraft_partition_assignment_changed", "kraft_partition_created", "metadata_partition", "metadata_partition_change",
)  # fmt: skip
"""Events by which controllers log each assignment of a partition, but those that KRaft only takes replicas out of."""
_FAILED_DIRECTORIES = ("replicas_marked_offline", "log_dir_failure_partitions")
"""Events by which controllers and brokers list which replicas are in a log directory that failed."""

_BEGUN_MS = 1000
"""The time of an election is that of its leader's line if both are no further apart: clocks are corrected."""
_ONLINE = struct(certain=IDS, possible=IDS)


def to_election_inputs(
    elections: DataFrame,
    states: DataFrame,
    brokers: DataFrame,
    signs: DataFrame,
    topics: DataFrame,
    known_spans: DataFrame,
    events: DataFrame,
    settings: Settings,
    kraft_clusters: DataFrame,
    begun: DataFrame | None = None,
    old_clusters: Collection[str] = (),
    selector_clusters: Collection[str] = (),
) -> DataFrame:
    """ELECTIONS with `default_switch`, PARTITION_TIMELINE, rows of `with_doubts`, of `to_broker_signs`, TOPIC_TIMELINE,
    EVENTS -> elections with the rest of what the controller decided by.

    `begun`: INCARNATION, leader_epoch, `begun_at`: when lines show that leader epochs began (None: no need of it).

    Adds `lists_live` (whether the controller logged the live brokers), `possibly_online`, `certainly_online` (never
    null), `plausible_replicas` (null unless an assignment is missing, or unknown), `last_known_before` (see
    `_last_known`), `removed_replica` (see `_removed_replicas`), `plausible_isr` (see `_plausible_isrs`), `isr_order`
    (of `old_clusters`, which elected by it; null unknown) and `unclean_enabled` (null unknown: neither set nor, in
    `selector_clusters`, whose releases do so through 1.0, printed with the election), `topic_switch` (see
    `with_topic_switch`), `refusal` (see `to_refusals`), `online_as_begun` (see `_online_as_begun`); `live_brokers` is
    filled from registrations where the controller did not log it, `shutting_down` with none.
    """
    none, no_line = F.array().cast(IDS), F.array().cast(EVIDENCE)
    decisions = without_stale_lists(elections.withColumn("decision", F.coalesce("leader_epoch", F.lit(-1))), signs)
    decisions = checkpointed(with_outdated(decisions, states, begun))
    decisions = decisions.join(_plausible_replicas(decisions, states, events, topics, known_spans), DECISION, "left")
    decisions = decisions.join(_plausible_isrs(decisions, states, kraft_clusters), [*DECISION, "succeeded"], "left")
    decisions = decisions.withColumn(
        "evidence", F.array_distinct(F.concat("evidence", F.coalesce("isr_line", no_line)))
    )
    if old_clusters:
        is_old = F.col("cluster").isin(*old_clusters)
        decisions = decisions.join(_isr_orders(decisions.where(is_old), events.where(is_old)), DECISION, "left")
    decisions = with_printed_switch(decisions, events, selector_clusters)
    decisions = with_topic_switch(decisions, events, known_spans, without=old_clusters)
    decisions = decisions.join(to_refusals(events), ["cluster", "topic", "partition", "at", "succeeded"], "left")
    decisions = decisions.join(_last_known(states), [*INCARNATION, "leader_epoch"], "left")
    decisions = decisions.join(_removed_replicas(events, topics), [*INCARNATION, "leader_epoch"], "left")
    joined = _with_registered(checkpointed(decisions), states, brokers, known_spans, events, kraft_clusters, begun)
    return joined.drop("is_outdated").withColumns(
        {
            "lists_live": F.col("live_brokers").isNotNull(),
            "live_brokers": F.coalesce("live_brokers", "possible"),
            "possibly_online": F.coalesce("live_brokers", "possible", none),
            "certainly_online": F.array_except(
                F.coalesce("live_brokers", "certain", none), F.coalesce("on_failed_dir", none)
            ),
            "shutting_down": F.coalesce("shutting_down", none),
            "unclean_enabled": F.coalesce(
                configured(settings, "unclean_leader_election_enable", "boolean"), "printed_switch"
            ),
        }
    )


def _with_registered(
    decisions: DataFrame,
    states: DataFrame,
    brokers: DataFrame,
    known_spans: DataFrame,
    events: DataFrame,
    kraft_clusters: DataFrame,
    begun: DataFrame | None,
) -> DataFrame:
    """Elections with DECISION -> the same with `possible` and `certain` (see `registered`), `on_failed_dir`,
    `online_as_begun`."""
    dated = checkpointed(
        with_earliest(decisions, states, known_spans, kraft_clusters).withColumn("concerned", _concerned())
    )
    joined = decisions.join(registered(dated, brokers, known_spans, kraft_clusters), DECISION, "left").join(
        on_failed_directories(decisions, events), DECISION, "left"
    )
    if begun is None:
        return joined.withColumn("online_as_begun", F.lit(None).cast(_ONLINE))
    as_begun = _online_as_begun(dated, begun, brokers, known_spans, kraft_clusters)
    return joined.join(as_begun, DECISION, "left")


def _online_as_begun(
    dated: DataFrame, begun: DataFrame, brokers: DataFrame, known_spans: DataFrame, kraft_clusters: DataFrame
) -> DataFrame:
    """Elections of `with_earliest` whose kind no line tells, `begun` -> DECISION, `online_as_begun`: who was, and who
    may have been, registered when the leader logged that it begins the leader epoch.

    That is a moment after the decision, if its node had not been frozen: so it accuses nobody.
    """
    is_dated = F.abs(F.unix_millis("begun_at") - F.unix_millis("at")) <= _BEGUN_MS
    then = (
        dated.where("strategy IS NULL AND succeeded AND earliest < at")
        .join(begun, [*INCARNATION, "leader_epoch"])
        .where(is_dated)
        .withColumn("earliest", F.col("at"))
    )
    online = registered(then, brokers, known_spans, kraft_clusters)
    return online.select(*DECISION, F.struct("certain", "possible").alias("online_as_begun"))


def _plausible_replicas(
    decisions: DataFrame, states: DataFrame, events: DataFrame, topics: DataFrame, known_spans: DataFrame
) -> DataFrame:
    """Elections that lack an assignment, with DECISION -> DECISION, `plausible_replicas`: those that the partition may
    have had around it, the earliest first.

    The last that was logged before, unless there is a hole in the controllers' logs in between, and those logged within
    the doubt about the time of the election.
    """
    lacking = decisions.where("replicas IS NULL OR replicas_before IS NULL").select(*DECISION)
    assigned = _assignments(states, events, topics).withColumnRenamed("at", "assigned_at")
    spanned = (
        lacking.join(assigned, INCARNATION)
        .where(F.col("assigned_at") <= F.col("at") + doubt())
        .join(F.broadcast(known_spans), "cluster", "left")
        .withColumn("known_since", span_around(F.col("at"))["since"])
    )
    is_before = F.col("assigned_at") <= F.col("at") - doubt()
    line = F.struct("assigned_at", "replicas")
    by_election = spanned.groupBy(*DECISION).agg(
        F.max(F.when(is_before, line)).alias("last"),
        F.array_sort(F.collect_set(F.when(~is_before, line))).alias("around"),
        F.first("known_since").alias("known_since"),
    )
    in_order = F.array_compact(F.concat(F.array("last"), F.col("around")))
    return by_election.where("last IS NULL OR last.assigned_at >= known_since").select(
        *DECISION, F.array_distinct(F.transform(in_order, lambda a: a["replicas"])).alias("plausible_replicas")
    )


def _plausible_isrs(decisions: DataFrame, states: DataFrame, kraft_clusters: DataFrame) -> DataFrame:
    """Rows of `with_outdated` with DECISION, PARTITION_TIMELINE -> DECISION, succeeded, `plausible_isr`, `isr_line`: of
    those without an ISR before what it most likely was.

    Of one that failed the ISR before and after it, unless the state was outdated. Of another one by ZooKeeper the last
    ISR that is known of the leader epoch before: from there on only its leader changed it, which it logs; `isr_line` is
    a line that shows it. If nobody led then, that of the one before it, which the lost leader left unless it was in
    sync alone (`ReplicaStateMachine.removeReplicasFromIsr`).
    """
    lacking = decisions.where("isr_before IS NULL")
    current = lacking.where("NOT succeeded AND NOT is_outdated")
    failed = current.select(*DECISION)
    then = states_then(current, states, supposes=True)
    of_failed = failed.join(then.select(*INCARNATION, "at", F.col("isr_before").alias("isr")), [*INCARNATION, "at"])
    state = F.struct("isr", F.slice("evidence", 1, 1).alias("line"), "since", "leader")
    last = states.groupBy(*INCARNATION, "leader_epoch").agg(F.max_by(state, "ordinal").alias("last"))
    elected = lacking.where("succeeded").join(kraft_clusters, "cluster", "left_anti")
    was_lost, epoch = F.col("previous_leader").eqNullSafe(NO_LEADER), F.col("leader_epoch")
    before = F.explode(F.when(was_lost, F.array(epoch - 1, epoch - 2)).otherwise(F.array(epoch - 1)))
    leaves = F.col("was_lost") & (F.col("last.leader") >= 0) & (F.size("last.isr") > 1)
    isr = F.when(leaves, F.array_remove("last.isr", F.col("last.leader"))).otherwise(F.col("last.isr"))
    of_elected = (
        elected.select(*DECISION, was_lost.alias("was_lost"), before.alias("leader_epoch"))
        .join(last, [*INCARNATION, "leader_epoch"])
        .where(F.col("last.since") <= F.col("at"))
        .groupBy(*DECISION)
        .agg(F.max_by(F.struct(isr.alias("isr"), "last.line"), "leader_epoch").alias("last"))
        .select(*DECISION, F.lit(True).alias("succeeded"), "last.isr", "last.line")
    )
    of_failed = of_failed.select(*DECISION, F.lit(False).alias("succeeded"), "isr", F.lit(None).cast(EVIDENCE))
    return of_elected.union(of_failed).toDF(*DECISION, "succeeded", "plausible_isr", "isr_line")


def _isr_orders(decisions: DataFrame, events: DataFrame) -> DataFrame:
    """Elections with DECISION, EVENTS -> DECISION, `isr_order`: the ISR before, in the order of the last line that
    prints it; where it is not known the ISR after, in the order of the first line that prints it.

    Leaders print their changes in the order in which they store them (`Partition.updateIsr`), controllers what they
    read. An election leaves the order as it is.
    """
    printed = events.where("isr IS NOT NULL AND topic IS NOT NULL").select(
        "cluster",
        "topic",
        "partition",
        F.col("at").alias("printed_at"),
        F.col("leader_epoch").alias("printed_epoch"),
        F.col("isr").alias("printed"),
    )
    is_before = (F.col("printed_at") <= F.col("at")) & (F.array_sort("printed") == F.col("isr_before"))
    is_then = F.col("printed_at").between(F.col("at") - doubt(), F.col("at") + doubt())
    is_after = (F.col("printed_epoch") == F.col("leader_epoch")) & (F.array_sort("printed") == F.col("isr"))
    is_after &= F.col("isr_before").isNull() & is_then
    return (
        decisions.select(*DECISION, "isr_before", "isr", "leader_epoch")
        .join(printed, ["cluster", "topic", "partition"])
        .where(is_before | is_after)
        .groupBy(*DECISION)
        .agg(
            F.coalesce(
                F.max_by("printed", F.when(F.col("isr_before").isNotNull(), F.col("printed_at"))),
                F.min_by("printed", "printed_at"),
            ).alias("isr_order")
        )
    )


def _last_known(states: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE -> INCARNATION, leader_epoch, `last_known_before`: the last known eligible leader replicas of
    the state before those that began a leader epoch, where there were any (KIP-966)."""
    before = states.where("size(last_known_elr) > 0").select(
        *INCARNATION, (F.col("partition_epoch") + 1).alias("partition_epoch"), F.col("last_known_elr").alias("known")
    )
    after = states.select(*INCARNATION, "partition_epoch", "leader_epoch")
    return (
        after.join(before, [*INCARNATION, "partition_epoch"])
        .groupBy(*INCARNATION, "leader_epoch")
        .agg(F.min_by("known", "partition_epoch").alias("last_known_before"))
    )


def _removed_replicas(events: DataFrame, topics: DataFrame) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE -> INCARNATION, leader_epoch, `removed_replica`: the replica that a ZooKeeper controller
    says it took out of the ISR as it began a leader epoch. From 2.6 on one line says so, through 1.0 two.

    The first such line of an epoch counts. Later ones print the same state again: a replica that is not in the ISR
    changes nothing.
    """
    begins, ends = "controller_isr_removal_started", ("controller_isr_removed", "replica_removed_from_isr")
    order = Window.partitionBy("cluster", "node_id", "topic", "partition").orderBy("at", "file_id", "line")
    lines = events.where(F.col("event_type").isin(begins, *ends) & F.col("topic").isNotNull()).withColumn(
        "begun", F.when(F.lag("event_type").over(order) == begins, F.lag(number_of("replica")).over(order))
    )
    printed = lines.where(F.col("event_type").isin(*ends) & F.col("leader_epoch").isNotNull()).select(
        "cluster", "topic", "partition", "at", "leader_epoch", F.struct("at", "file_id", "line").alias("place"),
        F.coalesce(number_of("replica"), "begun").alias("replica"),
    )  # fmt: skip
    return (
        with_incarnation(printed, topics)
        .groupBy(*INCARNATION, "leader_epoch")
        .agg(F.min_by("replica", "place").alias("removed_replica"))
    )


def _assignments(states: DataFrame, events: DataFrame, topics: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE, EVENTS, TOPIC_TIMELINE -> INCARNATION, at, replicas: assignments as they were logged."""
    new = to_new_assignments(events)
    printed = events.where(F.col("event_type").isin(*_ASSIGNMENT_EVENTS)).where(
        "replicas IS NOT NULL AND partition IS NOT NULL"
    )
    lines = with_topic_name(printed.select(*new.columns).unionByName(new), topics).where("topic IS NOT NULL")
    before = F.lag("replicas").over(Window.partitionBy(*INCARNATION).orderBy("ordinal"))
    in_states = (
        states.where("replicas IS NOT NULL")
        .withColumn("before", before)
        .where(~F.col("before").eqNullSafe(F.col("replicas")))
        .select(*INCARNATION, F.col("since").alias("at"), "replicas")
    )
    return with_incarnation(lines, topics).select(*INCARNATION, "at", "replicas").unionByName(in_states)


def on_failed_directories(decisions: DataFrame, events: DataFrame) -> DataFrame:
    """Elections, EVENTS -> DECISION, `on_failed_dir`: brokers whose replica was, or may have been, in a log directory
    that had failed by then.

    A ZooKeeper controller lists the replicas, and so does the broker. Where no line does, KRaft tells (3.7 on) that the
    broker lost a directory, which may have had any of them (`to_lost_directories`). Of one that was replaced while the
    broker was away nobody lists them.
    """
    lines = events.where(F.col("event_type").isin(*_FAILED_DIRECTORIES)).select(
        "cluster", "partitions", F.coalesce("broker_id", number_of("broker")).alias("b"), F.col("at").alias("marked_at")
    )
    listed = lines.where("size(partitions) > 0")
    by_partition = listed.withColumn("p", F.explode("partitions")).select(
        "cluster", F.col("p.topic").alias("topic"), F.col("p.partition").alias("partition"), "b", "marked_at"
    )
    is_listed = listed.select("cluster", "b", F.lit(True).alias("is_at_work")).distinct()
    by_broker = to_lost_directories(events).join(is_listed, ["cluster", "b", "is_at_work"], "left_anti")
    of_partition = decisions.join(by_partition, ["cluster", "topic", "partition"])
    of_broker = decisions.join(F.broadcast(by_broker.select("cluster", "b", "marked_at")), "cluster")
    kept = (*DECISION, "b", "marked_at")
    return (
        of_partition.select(*kept)
        .unionByName(of_broker.select(*kept))
        .where(F.col("marked_at") <= F.col("at") + doubt())
        .groupBy(*DECISION)
        .agg(F.collect_set("b").alias("on_failed_dir"))
    )


def _concerned() -> Column:
    """The brokers that an election can depend on: the replicas of all its assignments."""
    none = F.array().cast(IDS)
    lists = [F.coalesce(name, none) for name in ("replicas", "replicas_before", "target_replicas")]
    plausible = F.flatten(F.coalesce("plausible_replicas", F.array().cast("array<array<int>>")))
    return F.array_distinct(F.concat(*lists, plausible))
