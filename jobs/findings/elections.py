"""Leader elections: committed ones by the states they began, failed ones by the lines of ZooKeeper controllers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.checkpoints import checkpointed
from jobs.findings.activities import with_activity
from jobs.findings.election_exceptions import printed_ids, printed_isr, printed_live_brokers
from jobs.findings.followers_fetch import with_followers_fetch
from jobs.findings.leader_losses import with_lost_at
from jobs.findings.logged_unclean import with_logged_unclean
from jobs.findings.lost_records import with_lost_records
from jobs.findings.new_leader_epochs import to_new_leader_epochs
from jobs.findings.overtaken_replicas import to_joins, with_overtaken
from jobs.findings.selectors import with_selector
from jobs.findings.states_then import EARLY_MS, LATE_MS, states_then
from jobs.findings.unclean_elections import is_next_epoch, was_unclean
from jobs.timelines.cluster_facts import EvidenceKinds
from jobs.timelines.evidence import milliseconds
from jobs.timelines.leader_epoch_starts import with_leader_epoch_starts
from jobs.timelines.topics import INCARNATION, with_incarnation
from schemas.spark import EVIDENCE, IDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec

DECISION_EVENTS = ("partition_state_change", "partition_state_change_failed", "leader_epoch_updated")
"""Events by which a ZooKeeper controller logs what it decided about a partition."""

_DECISION: Mapping[str, T.DataType] = {
    "strategy": T.StringType(),
    "trigger": T.StringType(),
    "live_brokers": IDS,
    "shutting_down": IDS,
    "target_replicas": IDS,
    "live_evidence": EVIDENCE,
    "selected_unclean": T.BooleanType(),
}
"""What the controller that logged a decision was doing, which brokers it believed alive, by which line, and whether it
said that it chose nobody of the ISR."""
FROM_ISR = ("preferred", "controlled_shutdown")
"""Strategies that elect members of the ISR only, in each release."""


def to_elections(
    states: DataFrame,
    events: DataFrame,
    topics: DataFrame,
    known_spans: DataFrame,
    kinds: EvidenceKinds,
    starts: DataFrame | None = None,
    overtaken: DataFrame | None = None,
) -> DataFrame:
    """PARTITION_TIMELINE, EVENTS, TOPIC_TIMELINE, rows of `to_leader_epoch_starts` and of `to_overtaken` (None: there
    are none) -> ELECTIONS; `known_spans` as `with_activity` wants them.

    A leader epoch that names a broker is an election, unless it is the partition's first. One of which no state before
    is known, or no ISR, is an election if a line shows that it came then: it may have been there since before the logs,
    or a broker that starts again logs it anew. Strategy, trigger and live brokers are those of the controller that
    logged the transition; KRaft does not log them.
    """
    decisions = _decisions(events, known_spans) if kinds.have(DECISION_EVENTS) else None
    new_terms = to_new_leader_epochs(events, kinds)
    if starts is not None:
        elected = starts.where("is_elected").withColumnRenamed("since", "at")
        new_terms = new_terms.unionByName(elected.select(*new_terms.columns))
    is_from_isr = F.when(F.col("strategy").isin(*FROM_ISR), False)
    committed = (
        _committed_elections(states if starts is None else with_leader_epoch_starts(states, starts))
        .join(
            _decisions_by_epoch(decisions, new_terms, topics, states),
            [*INCARNATION, "leader_epoch"],
            "left",
        )
        .where("(epoch_before IS NOT NULL AND isr IS NOT NULL) OR is_new")
        .withColumn("unclean", F.coalesce("unclean", "selected_unclean", is_from_isr))
        .drop("epoch_before", "is_new", "selected_unclean")
    )
    elections = with_logged_unclean(committed, events, topics, kinds)
    failures = None if decisions is None else _logged_failures(decisions, topics)
    if overtaken is not None:
        elections = with_overtaken(elections, overtaken, failures, to_joins(events, topics))
    if decisions is not None and failures is not None:
        failed = _failed_elections(failures, decisions, states)
        elections = elections.unionByName(failed, allowMissingColumns=True)
    # the lines of the decision first, then those of what it was decided by
    lines = F.array_distinct(F.concat("evidence", *_or_none("state_evidence", "live_evidence")))
    # what follows each asks for some of them again
    elections = checkpointed(elections.withColumn("evidence", lines))
    elections = with_followers_fetch(elections, events, kinds)
    # who was alone in sync led last, whatever states are missing; else nobody knows, nor what the new leader lacks
    alone = F.when(F.size("isr_before") == 1, F.try_element_at("isr_before", F.lit(1)))
    last_leader = F.when(F.coalesce("led_unseen", F.lit(False)), alone).otherwise(F.col("last_leader"))
    known = elections.withColumn("last_leader", last_leader)
    return with_lost_records(known, events, topics)


def _decisions(events: DataFrame, known_spans: DataFrame) -> DataFrame:
    """EVENTS -> those of DECISION_EVENTS, with what the controller was doing and which selector chose."""
    return checkpointed(with_selector(with_activity(events, DECISION_EVENTS, known_spans), events))


def _or_none(*names: str) -> list[Column]:
    """Columns of EVIDENCE, no lines where they are null."""
    return [F.coalesce(name, F.array().cast(EVIDENCE)) for name in names]


def _committed_elections(states: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE -> ELECTIONS without _DECISION, `epoch_before`: states with a leader epoch that none before
    had, where damaged lines make it fall and rise again, too; it is null if no state before is known. `led_unseen`: as
    `_with_led_unseen` has it; of `last_leader` also `led_since`, `led_until` (its last state's begin), `led_epoch`."""
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")

    def lag(name: str) -> Column:
        return F.lag(name).over(order)

    before, leads = order.rowsBetween(Window.unboundedPreceding, -1), F.col("leader") >= 0

    def last(name: str, condition: Column) -> Column:
        return F.last(F.when(condition, F.col(name)), ignorenulls=True).over(before)

    compared = states.withColumns(
        {
            "epoch_before": lag("leader_epoch"),
            "highest_epoch": F.max("leader_epoch").over(before),
            "leader_before": lag("leader"),
            "is_adjacent": F.coalesce(_is_next(order), F.lit(False)),
            # if any state's eligible leader replicas are logged, those of the others are unknown; else there are none
            "has_elr": F.max(F.col("elr").isNotNull()).over(Window.partitionBy(*INCARNATION)),
            "state_before": F.struct(
                lag("isr").alias("isr"),
                lag("elr").alias("elr"),
                lag("replicas").alias("replicas"),
                lag("evidence").alias("evidence"),
            ),
            "last_leader": last("leader", leads),
            "led_until": last("since", leads),
            "led_epoch": last("leader_epoch", leads),
        }
    )
    begins_to_lead = leads & ~F.col("leader").eqNullSafe(F.col("last_leader"))
    compared = compared.withColumn("led_since", last("since", begins_to_lead))
    compared = _with_led_unseen(with_lost_at(compared, order), order)
    elected = compared.where("leader >= 0 AND leader_epoch > coalesce(highest_epoch, 0)")
    was_lost = (F.col("leader_before") == -1) & F.col("lost_at").isNotNull()
    return elected.select(
        *INCARNATION,
        "epoch_before",
        F.col("since").alias("at"),
        "controller_epoch",
        F.when(is_next_epoch(), F.col("leader_before")).alias("previous_leader"),
        "leader",
        "leader_epoch",
        *("last_leader", "led_since", "led_until", "led_epoch", "led_unseen"),
        F.when(F.col("is_adjacent"), F.col("state_before.isr")).alias("isr_before"),
        F.when(F.col("is_adjacent"), F.col("state_before.elr")).alias("elr_before"),
        "isr",
        "replicas",
        F.when(F.col("is_adjacent"), F.col("state_before.replicas")).alias("replicas_before"),
        was_unclean().alias("unclean"),
        F.lit(True).alias("succeeded"),
        F.when(was_lost, milliseconds("lost_at", "since")).alias("latency_ms"),
        "evidence",
        F.when(F.col("is_adjacent"), F.slice("state_before.evidence", 1, 1)).alias("state_evidence"),
    )


def _with_led_unseen(states: DataFrame, order: WindowSpec) -> DataFrame:
    """States with `epoch_before` -> the same with `led_unseen`: whether there are leader epochs without a state since
    the last leader that they show, in which another one may have led."""
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    skips_epoch = F.coalesce(F.col("leader_epoch") - F.col("epoch_before") > 1, F.lit(False))
    counted = states.withColumn("skips", F.sum(skips_epoch.cast("int")).over(so_far))
    skips_of_last = F.last(F.when(F.col("leader") >= 0, F.col("skips")), ignorenulls=True).over(before)
    return counted.withColumn("led_unseen", F.coalesce(F.col("skips") > skips_of_last, F.lit(False)))


def _is_next(order: WindowSpec) -> Column:
    """Whether a state follows the one before right away; null unknown.

    Where lines print no partition epochs (ZooKeeper), it does if none is missing in between all the same, or if that
    had no leader, and the leader epoch before: without a leader only the controller writes, and raises the leader epoch
    each time.
    """
    epoch_before, leader_before = F.lag("partition_epoch").over(order), F.lag("leader").over(order)
    is_next = (leader_before == -1) & (F.lag("leader_epoch").over(order) + 1 == F.col("leader_epoch"))
    is_next |= leader_before.isNotNull() & F.coalesce(F.col("missing_before") == 0, F.lit(False))
    by_number = epoch_before + 1 == F.col("partition_epoch")
    return F.when(by_number.isNull(), is_next).otherwise(by_number)


def _decisions_by_epoch(
    decisions: DataFrame | None, new_terms: DataFrame, topics: DataFrame, states: DataFrame
) -> DataFrame:
    """Rows of `with_activity` (None: there are none), of `to_new_leader_epochs`, TOPIC_TIMELINE, PARTITION_TIMELINE ->
    INCARNATION, leader_epoch, _DECISION: of each leader epoch the first; `is_new`: whether a line shows that it came
    then."""
    if decisions is None:
        of_none = {name: F.lit(None).cast(data_type) for name, data_type in _DECISION.items()}
        begun = with_incarnation(new_terms, topics).select(*INCARNATION, "leader_epoch").distinct()
        return begun.withColumns({**of_none, "is_new": F.lit(True)})
    online = decisions.where(
        "event_type = 'partition_state_change' AND fields['to_state'] = 'OnlinePartition' AND leader IS NOT NULL"
    )
    from_state = F.col("fields")["from_state"]
    strategy = F.when(from_state == "OfflinePartition", "offline").otherwise(_strategy_of_online())
    transitions = online.withColumns(
        {
            "strategy": strategy,
            "trigger": _trigger_of(strategy),
            "target_replicas": F.when(strategy == "reassign", F.col("target_replicas")),
            "selected_unclean": F.when(strategy == "offline", F.col("selected_unclean")),
        }
    )
    # a reassignment raises the leader epoch without an election
    refreshed = decisions.where("event_type = 'leader_epoch_updated'").withColumns(
        {
            "strategy": F.lit("none"),
            "trigger": F.lit("reassignment"),
            "target_replicas": F.lit(None).cast(IDS),
            "selected_unclean": F.lit(None).cast("boolean"),
        }
    )
    live_brokers = F.array_sort(F.array_except("alive", "shutting_down")).alias("live_brokers")
    names = ["cluster", "topic", "partition", "at", "controller_epoch", "leader", "leader_epoch"]
    names += [name for name in _DECISION if name != "live_brokers"]
    changes = transitions.unionByName(refreshed).select(*names, live_brokers, F.col("at").alias("decided_at"))
    shown = changes.withColumn("is_new", F.col("strategy").isNotNull()).unionByName(
        new_terms.withColumn("is_new", F.lit(True)), allowMissingColumns=True
    )
    lines = with_incarnation(shown, topics)
    return (
        lines.where("leader_epoch IS NOT NULL")
        .unionByName(_with_leader_epoch(lines.where("leader_epoch IS NULL"), states))
        .groupBy(*INCARNATION, "leader_epoch")
        .agg(*(F.min_by(name, "decided_at").alias(name) for name in _DECISION), F.max("is_new").alias("is_new"))
    )


def _strategy_of_online() -> Column:
    """Strategy of an election in which a partition goes from Online to Online: that of the selector that chose (through
    1.0), else what the controller was doing; null unknown.

    Until 0.10 a controller has several threads: a line about a preferred election of some partitions may stand before
    another one's shutdown. There the selector speaks of each partition, at INFO.
    """
    # transitions print the leader only through 1.0
    has_selector = F.col("leader").isNotNull() & F.col("leader_epoch").isNull()
    is_told = F.col("strategy").isin("preferred", "controlled_shutdown", "reassign")
    is_told &= ~(has_selector & (F.col("strategy") == "preferred"))
    # where the line that began a shutdown is not there, it is not known who shuts down
    is_chosen = (F.col("selector") == "preferred") | (F.col("selector").isin(*FROM_ISR) & (F.size("shutting_down") > 0))
    strategy = F.when(is_chosen, F.col("selector")).when(is_told & F.col("selector").isNull(), F.col("strategy"))
    return F.when(F.col("fields")["from_state"] == "OnlinePartition", strategy)


def _trigger_of(strategy: Column) -> Column:
    """What set off an election of this strategy; null if the controller's last activity leads to others."""
    is_other = F.col("selector").isNotNull() & (F.col("strategy") != strategy)
    return F.when(strategy.isNotNull() & ~F.coalesce(is_other, F.lit(False)), F.col("trigger"))


def _with_leader_epoch(lines: DataFrame, states: DataFrame) -> DataFrame:
    """Transitions of controllers until 1.0, which print the leader only, and PARTITION_TIMELINE -> those with the
    leader epoch that the same controller began with this leader next to that time."""
    first = Window.partitionBy(*INCARNATION, "leader_epoch").orderBy("ordinal")
    begun = states.withColumn("nth", F.row_number().over(first)).where("nth = 1")
    begun = begun.select(*INCARNATION, "leader", "controller_epoch", F.col("leader_epoch").alias("epoch"), "since")
    apart_ms = F.unix_millis("since") - F.unix_millis("at")
    of_line = Window.partitionBy(*INCARNATION, "at", "leader").orderBy(F.abs("apart_ms"), "epoch")
    return (
        lines.join(begun, [*INCARNATION, "leader", "controller_epoch"])
        .withColumn("apart_ms", apart_ms)
        .where(F.col("apart_ms").between(-EARLY_MS, LATE_MS))
        .withColumn("nth", F.row_number().over(of_line))
        .where("nth = 1")
        .withColumn("leader_epoch", F.col("epoch"))
        .select(*lines.columns)
    )


def _failed_elections(failures: DataFrame, decisions: DataFrame, states: DataFrame) -> DataFrame:
    """Rows of `_logged_failures`, of `with_activity`, PARTITION_TIMELINE -> ELECTIONS that a controller logged as
    failed, with what was known of the partition then."""
    traced = decisions.where("event_type = 'partition_state_change'").select("cluster", "node_id").distinct()
    of_nodes = failures.withColumn("node_id", F.get("evidence.node_id", F.lit(0)))
    failed = of_nodes.join(F.broadcast(traced.withColumn("is_traced", F.lit(True))), ["cluster", "node_id"], "left")
    printed = {
        name: F.coalesce(f"printed_{of}", name) for name, of in (("replicas", "replicas"), ("isr_before", "isr"))
    }
    with_states = failed.join(states_then(failed, states), [*INCARNATION, "at"], "left")
    return with_states.withColumns(printed).drop("is_traced", "node_id")


def _logged_failures(decisions: DataFrame, topics: DataFrame) -> DataFrame:
    """Rows of `with_activity`, TOPIC_TIMELINE -> failed elections with what their lines print.

    Its stack trace names the strategy (1.1 on).
    """
    class_name = F.regexp_extract(
        "detail", r"(Offline|Reassign|Preferred|ControlledShutdown)\w*?Partition\w*?Leader", 1
    )
    strategy = (
        F.when(class_name == "Offline", "offline")
        .when(class_name == "Reassign", "reassign")
        .when(class_name == "Preferred", "preferred")
        .when(class_name == "ControlledShutdown", "controlled_shutdown")
        # kafka.controller.OfflinePartitionLeaderSelector, until 1.0, names itself in the prefix of other lines only
        .when(F.col("detail").contains("No replica for partition "), "offline")
        .when(F.col("detail").contains(" besides shutting down brokers "), "controlled_shutdown")
        .when(F.col("fields")["from_state"] == "NewPartition", "new")
        .otherwise(_strategy_of_online())
    )
    failed = decisions.where(
        "event_type = 'partition_state_change_failed' AND fields['to_state'] = 'OnlinePartition'"
    ).withColumn("traced_strategy", strategy)
    known = F.array_except(F.first("alive"), F.first("shutting_down"))
    return (
        with_incarnation(failed, topics)
        .groupBy(*INCARNATION, "at")
        .agg(
            F.first("traced_strategy", ignorenulls=True).alias("strategy"),
            F.first("trigger", ignorenulls=True).alias("trigger"),
            F.max("controller_epoch").alias("controller_epoch"),
            F.lit(None).cast("int").alias("leader"),
            F.lit(None).cast("int").alias("leader_epoch"),
            F.array_sort(F.coalesce(F.first(printed_live_brokers(), ignorenulls=True), known)).alias("live_brokers"),
            F.array_sort(F.first("shutting_down")).alias("shutting_down"),
            F.first(F.when(strategy == "reassign", F.col("target_replicas")), ignorenulls=True).alias(
                "target_replicas"
            ),
            F.first(printed_ids("Assigned replicas are"), ignorenulls=True).alias("printed_replicas"),
            F.array_sort(F.first(printed_isr(), ignorenulls=True)).alias("printed_isr"),
            F.first("live_evidence", ignorenulls=True).alias("live_evidence"),
            F.lit(None).cast("boolean").alias("unclean"),
            F.lit(False).alias("succeeded"),
            F.array_sort(F.collect_set(F.struct("node_id", "file_id", "line"))).alias("evidence"),
        )
    )
