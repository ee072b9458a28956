"""What the timelines mean: elections, outages, ISR changes and churn, reassignments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.findings.activities import with_activity
from jobs.session import checkpointed
from jobs.settings import Settings
from jobs.timelines.controllers import by_active_controller
from jobs.timelines.evidence import line_as_evidence, milliseconds
from jobs.timelines.order import IN_ORDER, with_rank
from jobs.timelines.topics import HISTORY, INCARNATION, with_incarnation
from schemas.columns import EVIDENCE, IDS
from schemas.findings import ELECTIONS, ISR_CHANGES, ISR_CHURN, OFFLINE_PARTITIONS, REASSIGNMENTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


DECIDED = ("partition_state_change", "partition_state_change_failed", "leader_epoch_updated")
"""Events in which a ZooKeeper controller tells what it decided of a partition."""


# ---- elections ------------------------------------------------------------------------------------------------------
def to_elections(states: DataFrame, events: DataFrame, topics: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE, EVENTS, TOPIC_TIMELINE -> ELECTIONS.

    A leader epoch that names a broker is an election, unless it is the partition's first. Strategy, trigger and live
    brokers are what the controller that logged the transition was doing and knew; in KRaft the logs do not tell them.
    """
    acting = checkpointed(with_activity(events, DECIDED))
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")

    def lag(name: str) -> Column:
        return F.lag(name).over(order)

    steps = states.withColumns(
        {
            "epoch_before": lag("leader_epoch"),
            "leader_before": lag("leader"),
            "adjacent": lag("partition_epoch") + 1 == F.col("partition_epoch"),
            # where any state's eligible leader replicas are told, those of the others are unknown; elsewhere there are none
            "has_elr": F.max(F.col("elr").isNotNull()).over(Window.partitionBy(*INCARNATION)),
            "state_before": F.struct(
                lag("isr").alias("isr"), lag("elr").alias("elr"), lag("replicas").alias("replicas")
            ),
            "lost_at": F.last(F.when((F.col("leader") == -1), F.col("since")), ignorenulls=True).over(
                order.rowsBetween(Window.unboundedPreceding, -1)
            ),
        }
    ).where("leader >= 0 AND leader_epoch > epoch_before")
    isr_before, elr_before = F.col("state_before.isr"), F.col("state_before.elr")
    moved = ~F.col("state_before.replicas").eqNullSafe(F.col("replicas"))
    in_isr = F.array_contains(isr_before, F.col("leader"))
    unclean = (
        F.when(~F.col("adjacent"), None)
        .when(in_isr, False)
        .when(F.coalesce(F.array_contains(elr_before, F.col("leader")), F.lit(False)), False)
        # a record that completes a reassignment adds its new leader to the ISR and elects it in one step
        .when(moved & F.col("state_before.replicas").isNotNull() & F.col("replicas").isNotNull(), False)
        .when(F.col("has_elr") & elr_before.isNull(), None)
        .when(
            (F.col("state_before.replicas").isNull() | F.col("replicas").isNull()) & (F.col("leader_before") >= 0), None
        )
        .otherwise(True)
    )
    won = steps.select(
        *INCARNATION,
        F.col("since").alias("at"),
        "controller_epoch",
        F.when(F.col("leader_epoch") == F.col("epoch_before") + 1, F.col("leader_before")).alias("previous_leader"),
        "leader",
        "leader_epoch",
        F.when(F.col("adjacent"), isr_before).alias("isr_before"),
        F.when(F.col("adjacent"), elr_before).alias("elr_before"),
        "isr",
        "replicas",
        F.when(F.col("adjacent"), F.col("state_before.replicas")).alias("replicas_before"),
        unclean.alias("unclean"),
        F.lit(True).alias("succeeded"),
        F.when((F.col("leader_before") == -1) & F.col("lost_at").isNotNull(), milliseconds("lost_at", "since")).alias(
            "latency_ms"
        ),
        "evidence",
    )
    decided = _decisions(acting, topics)
    explained = won.join(decided, [*INCARNATION, "leader_epoch"], "left")
    failed = _failed_elections(acting, topics)
    extra = {"lost_records_min": F.lit(None).cast("long"), "lost_records_max": F.lit(None).cast("long")}
    return explained.unionByName(failed, allowMissingColumns=True).withColumns(extra).select(*ELECTIONS.columns)


def _decisions(acting: DataFrame, topics: DataFrame) -> DataFrame:
    """Strategy, trigger and live brokers of each leader epoch that a controller logged as decided."""
    online = acting.where(
        "event_type = 'partition_state_change' AND fields['to_state'] = 'OnlinePartition' AND leader_epoch IS NOT NULL"
    )
    from_state = F.col("fields")["from_state"]
    strategy = F.when(from_state == "OfflinePartition", "offline").when(
        (from_state == "OnlinePartition") & F.col("strategy").isin("preferred", "controlled_shutdown", "reassign"),
        F.col("strategy"),
    )
    refreshed = acting.where("event_type = 'leader_epoch_updated'").select(
        "cluster", "topic", "partition", "at", "leader_epoch", F.lit("none").alias("strategy"), F.lit("reassignment").alias("trigger"),
        F.array_sort(F.array_except("alive", "shutting_down")).alias("live_brokers"), "alive", "shutting_down",
    )  # fmt: skip
    told = online.select(
        "cluster", "topic", "partition", "at", "leader_epoch", strategy.alias("strategy"),
        F.when(strategy.isNotNull(), F.col("trigger")).alias("trigger"),
        F.array_sort(F.array_except("alive", "shutting_down")).alias("live_brokers"), "alive", "shutting_down",
    )  # fmt: skip
    first = told.unionByName(refreshed)
    return (
        with_incarnation(first, topics)
        .groupBy(*INCARNATION, "leader_epoch")
        .agg(*(F.min_by(name, "at").alias(name) for name in ("strategy", "trigger", "live_brokers", "shutting_down")))
    )


def _failed_elections(acting: DataFrame, topics: DataFrame) -> DataFrame:
    """ELECTIONS that a controller logged as failed; its stack trace names the strategy (1.1 on)."""
    named = F.regexp_extract("detail", r"(Offline|Reassign|Preferred|ControlledShutdown)\w*?Partition\w*?Leader", 1)
    strategy = (
        F.when(named == "Offline", "offline")
        .when(named == "Reassign", "reassign")
        .when(named == "Preferred", "preferred")
        .when(named == "ControlledShutdown", "controlled_shutdown")
    )
    rows = acting.where(
        "event_type = 'partition_state_change_failed' AND fields['to_state'] = 'OnlinePartition'"
    ).withColumn("named_strategy", strategy)
    return (
        with_incarnation(rows, topics)
        .groupBy(*INCARNATION, "at")
        .agg(
            F.first("named_strategy", ignorenulls=True).alias("strategy"),
            F.first("trigger", ignorenulls=True).alias("trigger"),
            F.max("controller_epoch").alias("controller_epoch"),
            F.lit(None).cast("int").alias("leader"),
            F.lit(None).cast("int").alias("leader_epoch"),
            F.array_sort(F.array_except(F.first("alive"), F.first("shutting_down"))).alias("live_brokers"),
            F.array_sort(F.first("shutting_down")).alias("shutting_down"),
            F.lit(None).cast("boolean").alias("unclean"),
            F.lit(False).alias("succeeded"),
            F.array_sort(F.collect_set(F.struct("node_id", "file_id", "line"))).alias("evidence"),
        )
    )


# ---- outages --------------------------------------------------------------------------------------------------------
def to_offline_partitions(states: DataFrame, elections: DataFrame, brokers: DataFrame, ends: DataFrame) -> DataFrame:
    """Timed rows of `to_states`, ELECTIONS, BROKER_TIMELINE -> OFFLINE_PARTITIONS; `ends`: cluster, end of its logs.

    Only rows whose leader is known count; that there is none is often told without the ISR. Successive states without a leader
    are one interval; one that was over when the first line tells of it is left out, for nobody knows when it was. The broker to
    blame is the last leader, if it went away then.
    """
    order = Window.partitionBy(HISTORY).orderBy("ordinal")
    down = F.col("leader") == -1
    marked = states.withColumns(
        {
            "begins": down & ~F.coalesce(F.lag("leader").over(order) == -1, F.lit(False)),
            "last_leader": F.lag("leader").over(order),
            "isr_then": F.coalesce(
                F.last("isr", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, -1)), F.col("isr")
            ),
            "next_leader": F.lead("leader").over(order),
            "next_epoch": F.lead("leader_epoch").over(order),
        }
    ).withColumn(
        "number",
        F.sum(F.col("begins").cast("int")).over(order.rowsBetween(Window.unboundedPreceding, Window.currentRow)),
    )
    spells = checkpointed(
        marked.where(down)
        .groupBy(*INCARNATION, "number")
        .agg(
            F.min("since").alias("since"),
            F.max_by("until", "ordinal").alias("until"),
            F.min_by("last_leader", "ordinal").alias("last_leader"),
            F.min_by("isr_then", "ordinal").alias("last_isr"),
            F.max_by("next_leader", "ordinal").alias("next_leader"),
            F.max_by("next_epoch", "ordinal").alias("leader_epoch"),
            F.flatten(F.collect_list("evidence")).alias("evidence"),
        )
        .where("until IS NULL OR until > since")
    )
    failed = elections.where("NOT succeeded").select(*INCARNATION, F.col("at").alias("failed_at"))
    failures = (
        spells.join(failed, INCARNATION)
        .where("failed_at >= since AND (until IS NULL OR failed_at <= until)")
        .groupBy(*INCARNATION, "number")
        .agg(F.count("*").cast("int").alias("failed_elections"))
    )
    healing = elections.where("succeeded").select(*INCARNATION, "leader_epoch", "unclean")
    lost = brokers.where("until IS NOT NULL").select(
        "cluster",
        F.col("broker").alias("last_leader"),
        F.col("until").alias("gone_at"),
        F.col("ended_by").alias("went"),
    )
    near = F.abs(F.unix_millis("gone_at") - F.unix_millis("since")) <= 1000
    causes = (
        spells.join(lost, ["cluster", "last_leader"])
        .where(near)
        .groupBy(*INCARNATION, "number")
        .agg(F.min_by("went", F.abs(F.unix_millis("gone_at") - F.unix_millis("since"))).alias("went"))
    )
    cause = F.when(F.col("went") == "session_expired", "broker_failure").otherwise(F.col("went"))
    return (
        spells.join(failures, [*INCARNATION, "number"], "left")
        .join(causes, [*INCARNATION, "number"], "left")
        .join(healing, [*INCARNATION, "leader_epoch"], "left")
        .join(F.broadcast(ends), "cluster", "left")
        .withColumns(
            {
                "duration_ms": (F.unix_millis(F.coalesce("until", "end_of_logs")) - F.unix_millis("since")).cast(
                    "long"
                ),
                "cause": cause,
                "cause_broker": F.when(F.col("went").isNotNull(), F.col("last_leader")),
                "failed_elections": F.coalesce("failed_elections", F.lit(0)),
                "healed_by": F.when(F.col("until").isNull(), None)
                .when(F.col("next_leader").isNull(), "topic_deletion")
                .when(F.col("unclean"), "unclean_election")
                .when(~F.col("unclean"), "clean_election"),
                "evidence": F.slice(F.array_distinct("evidence"), 1, 8),
            }
        )
        .select(*OFFLINE_PARTITIONS.columns)
    )


# ---- ISR ------------------------------------------------------------------------------------------------------------
def to_isr_changes(states: DataFrame, events: DataFrame, topics: DataFrame) -> DataFrame:
    """PARTITION_TIMELINE -> ISR_CHANGES: what each state's ISR has lost or gained against the state before.

    A state that both loses and gains replicas is two rows. The lag is what the leader's shrink line printed.
    """
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    compared = checkpointed(
        states.withColumn("isr_before", F.lag("isr").over(order))
        .where("isr_before IS NOT NULL")
        .withColumns(
            {
                "removed": F.array_except("isr_before", "isr"),
                "added": F.array_except("isr", "isr_before"),
            }
        )
    )
    none = F.array().cast(IDS)
    shrinks = compared.where("size(removed) > 0").withColumns({"kind": F.lit("shrink"), "added": none})
    expands = compared.where("size(added) > 0").withColumns({"kind": F.lit("expand"), "removed": none})
    end_offset = F.col("fields")["leader_end_offset"].try_cast("long")
    behind = F.transform(
        F.regexp_extract_all(F.col("fields")["out_of_sync_replicas"], F.lit(r"endOffset: (\d+)"), 1),
        lambda o: end_offset - o.cast("long"),
    )
    lags = (
        with_incarnation(events.where("event_type = 'isr_shrinking' AND topic IS NOT NULL"), topics)
        .select(
            *INCARNATION,
            F.col("at").alias("said_at"),
            F.array_sort("isr").alias("isr"),
            F.array_max(behind).alias("lag"),
        )
        .where("lag IS NOT NULL")
    )
    leader_shrinks = shrinks.where("made_by = 'leader'").select(*INCARNATION, "ordinal", "since", "isr")
    told = (
        leader_shrinks.join(lags, [*INCARNATION, "isr"])
        .where("unix_millis(since) - unix_millis(said_at) BETWEEN -50 AND 5000")
        .groupBy(*INCARNATION, "ordinal")
        .agg(F.max_by("lag", "said_at").alias("lag"))
        .withColumn("kind", F.lit("shrink"))
    )
    return (
        shrinks.unionByName(expands)
        .withColumn("at", F.col("since"))
        .join(told, [*INCARNATION, "ordinal", "kind"], "left")
        .select(*ISR_CHANGES.columns)
    )


def to_isr_churn(changes: DataFrame, elections: DataFrame, ends: DataFrame, settings: Settings) -> DataFrame:
    """ISR_CHANGES, ELECTIONS -> ISR_CHURN; `ends`: cluster, end of its logs."""
    moves = changes.select(
        *INCARNATION,
        "at",
        "ordinal",
        F.explode(F.concat("added", "removed")).alias("follower"),
        (F.col("kind") == "expand").alias("joined"),
    )
    order = Window.partitionBy(*INCARNATION, "follower").orderBy("ordinal", "joined")
    timed = moves.join(F.broadcast(ends), "cluster", "left").withColumns(
        {
            "back": F.lead("at").over(order),
            "hour": F.date_trunc("hour", "at"),
            "flap": F.col("joined") & (F.lag("joined").over(order) == F.lit(False)),
        }
    )
    out_ms = F.when(~F.col("joined"), F.unix_millis(F.coalesce("back", "end_of_logs")) - F.unix_millis("at"))
    by_hour = timed.groupBy(*INCARNATION, "follower", "hour").agg(
        F.sum((~F.col("joined")).cast("int")).cast("int").alias("shrinks"),
        F.sum(F.col("joined").cast("int")).cast("int").alias("expands"),
        F.sum(F.coalesce(F.col("flap"), F.lit(False)).cast("int")).cast("int").alias("flaps"),
        F.max(out_ms).cast("long").alias("worst_out_ms"),
    )
    moved = (
        elections.where("succeeded AND previous_leader IS NOT NULL AND leader <> previous_leader")
        .groupBy(*INCARNATION, F.date_trunc("hour", "at").alias("hour"))
        .agg(F.count("*").cast("int").alias("leader_changes"))
    )
    return (
        by_hour.join(moved, [*INCARNATION, "hour"], "left")
        .withColumns(
            {
                "leader_changes": F.coalesce("leader_changes", F.lit(0)),
                "churning": F.col("flaps") >= settings.churn_flaps,
            }
        )
        .select(*ISR_CHURN.columns)
    )


# ---- reassignments --------------------------------------------------------------------------------------------------
def to_reassignments(events: DataFrame, states: DataFrame, topics: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS, PARTITION_TIMELINE -> REASSIGNMENTS.

    From 2.4 on (KIP-455) from an assignment with replicas to add or remove to one without; a line or record that leaves a
    list out leaves it as it was, and one whose target is the original again is cancelled. Before, see `_before_2_4`.
    """
    none = F.array().cast(IDS)
    names = topics.select("cluster", "topic_id", F.col("topic").alias("name")).where("topic_id IS NOT NULL")
    zk = events.where(F.col("event_type").isin("reassignment_assignment_updating", "reassignment_assignment_updated"))
    dumped = events.where("event_type = 'metadata_partition_change'")
    replayed = by_active_controller(events.where("event_type = 'kraft_partition_assignment_changed'"), controllers)
    told = F.coalesce("replicas", _ids("adding_replicas"), _ids("removing_replicas"))
    rows = (
        zk.unionByName(dumped)
        .unionByName(replayed)
        .where(F.col("partition").isNotNull() & told.isNotNull())
        .join(F.broadcast(names), ["cluster", "topic_id"], "left")
        .withColumn("topic", F.coalesce("topic", "name"))
        .where("topic IS NOT NULL")
    )
    order = Window.partitionBy(*INCARNATION).orderBy(*IN_ORDER)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    asked = with_incarnation(with_rank(rows, "topic", "partition"), topics).withColumns(
        {
            "replicas": F.last("replicas", ignorenulls=True).over(so_far),
            "adding": F.coalesce(F.last(_ids("adding_replicas"), ignorenulls=True).over(so_far), none),
            "removing": F.coalesce(F.last(_ids("removing_replicas"), ignorenulls=True).over(so_far), none),
        }
    )
    same = F.struct("replicas", "adding", "removing")
    steps = asked.withColumns({"said": same, "before": F.lag(same).over(order)}).where(
        ~F.col("said").eqNullSafe(F.col("before"))
    )
    turns = steps.withColumns(
        {
            "next_at": F.lead("at").over(order),
            "next_replicas": F.lead("replicas").over(order),
            "next_evidence": F.lead(line_as_evidence()).over(order),
        }
    ).where((F.size("adding") > 0) | (F.size("removing") > 0))
    target = F.filter("replicas", lambda r: ~F.array_contains("removing", r))
    original = F.coalesce(_ids("old_replicas"), F.filter("replicas", lambda r: ~F.array_contains("adding", r)))
    in_sync = states.groupBy(*INCARNATION).agg(F.max_by("isr", "ordinal").alias("last_isr"))
    completed = F.array_sort("next_replicas") == F.array_sort("target_replicas")
    from_2_4 = (
        turns.withColumns({"target_replicas": target, "original_replicas": original})
        .join(in_sync, INCARNATION, "left")
        .withColumns(
            {
                "since": F.col("at"),
                "until": F.col("next_at"),
                "adding_replicas": F.array_sort("adding"),
                "removing_replicas": F.array_sort("removing"),
                "missing": F.array_sort(F.array_except("target_replicas", "last_isr")),
            }
        )
        .withColumns(
            {
                "phase": _phase(
                    F.col("until").isNotNull() & completed, F.col("until").isNull() & (F.size("missing") == 0)
                ),
                "state": F.when(
                    F.col("until").isNull(), F.when(F.size("missing") > 0, "stuck").otherwise("in_progress")
                )
                .when(completed, "completed")
                .otherwise("cancelled"),
                "blocked_by": F.when(F.col("until").isNull(), F.col("missing")).otherwise(none),
                "evidence": F.concat(line_as_evidence(), F.coalesce("next_evidence", F.array().cast(EVIDENCE))),
            }
        )
        .select(*REASSIGNMENTS.columns)
    )
    return from_2_4.unionByName(_before_2_4(events, states, topics))


def _phase(done: Column, in_sync: Column) -> Column:
    """How far a reassignment came: KIP-455's phase A waits for the ISR, B hands over; what was done before 2.4 is the same."""
    return F.when(done, "done").when(in_sync, "handing_over").otherwise("waiting_for_isr")


_STEPS_BEFORE_2_4 = (
    "reassignment_started",
    "reassignment_assignment_updated",
    "reassignment_leader_alive",
    "reassignment_leader_not_in_new_replicas",
    "reassignment_leader_dead",
    "reassignment_failed",
)


def _before_2_4(events: DataFrame, states: DataFrame, topics: DataFrame) -> DataFrame:
    """REASSIGNMENTS that controllers until 2.3 logged: begun with a target, ended when the partition is off ZooKeeper's list.

    A controller that takes over begins what is on the list again: that is the same reassignment. It cannot be cancelled,
    but fails if a target is not alive. The assignment before is the last that was told by then, null if none was.
    """
    asked = events.where(F.col("event_type").isin(*_STEPS_BEFORE_2_4) & F.col("topic").isNotNull())
    line = ["cluster", "at", "node_id", "file_id", "line", "event_type"]
    listed = events.where("event_type = 'reassignment_removed_from_zk'").select(
        *line, F.explode("partitions").alias("p")
    )
    rows = asked.select(
        *line, "topic", "partition", "replicas", "topic_id",
        F.when(F.col("event_type") == "reassignment_started", _ids("target_replicas")).alias("target"),
    ).unionByName(
        listed.select(*line, F.col("p.topic").alias("topic"), F.col("p.partition").alias("partition")), allowMissingColumns=True
    )  # fmt: skip
    order = Window.partitionBy(*INCARNATION).orderBy("at", "line", "file_id")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    kind = F.col("event_type")
    begun = kind == "reassignment_started"
    known = F.last(
        F.when(begun | (kind == "reassignment_removed_from_zk"), F.struct("event_type", "target")), ignorenulls=True
    )
    numbered = (
        with_incarnation(rows, topics)
        .withColumn("open", known.over(before))
        .withColumn(
            "turn",
            F.sum(
                F.when(
                    begun
                    & ~F.coalesce((F.col("open.event_type") == "reassignment_started") & (F.col("open.target") == F.col("target")), F.lit(False)),
                    1,
                ).otherwise(0)
            ).over(order.rowsBetween(Window.unboundedPreceding, Window.currentRow)),
        )
        .where("turn > 0")
    )  # fmt: skip
    ended = F.min(
        F.when(
            kind.isin("reassignment_removed_from_zk", "reassignment_failed"),
            F.struct("at", "node_id", "line", "file_id"),
        )
    )
    turns = numbered.groupBy(*INCARNATION, "turn").agg(
        F.min("at").alias("since"),
        F.first("target", ignorenulls=True).alias("target_replicas"),
        F.max_by("replicas", F.when(F.col("replicas").isNotNull(), F.col("at"))).alias("written"),
        F.max((kind == "reassignment_failed").cast("int")).alias("failed"),
        F.max(kind.startswith("reassignment_leader").cast("int")).alias("handing_over"),
        F.min(F.struct("at", "node_id", "line", "file_id")).alias("start"),
        ended.alias("end"),
    )  # fmt: skip
    key = [*INCARNATION, "turn"]
    then = (
        turns.select(*key, F.col("since").alias("asked_at"))
        .join(states.select(*INCARNATION, "ordinal", "since", "replicas", "isr"), INCARNATION)
        .groupBy(*key)
        .agg(
            F.max_by("replicas", F.when((F.col("since") <= F.col("asked_at")) & F.col("replicas").isNotNull(), F.col("ordinal"))).alias("original_replicas"),
            F.max_by("isr", "ordinal").alias("last_isr"),
        )
    )  # fmt: skip
    none = F.array().cast(IDS)
    done = F.col("end").isNotNull() & (F.col("failed") == 0)
    missing = F.array_sort(F.array_except("target_replicas", "last_isr"))
    open_now = F.col("end").isNull()
    both = F.array(F.struct("start.node_id", "start.file_id", "start.line"))
    end = F.array(F.struct("end.node_id", "end.file_id", "end.line"))
    return (
        turns.join(then, key, "left")
        .withColumns(
            {
                "until": F.col("end.at"),
                "adding_replicas": F.array_sort(F.array_except("target_replicas", "original_replicas")),
                "removing_replicas": F.array_sort(F.array_except("original_replicas", "target_replicas")),
                "phase": _phase(done, F.col("handing_over") == 1),
                "state": F.when(done, "completed")
                .when(F.col("failed") == 1, "cancelled")
                .when(F.size(missing) > 0, "stuck")
                .otherwise("in_progress"),
                "blocked_by": F.when(open_now, missing).otherwise(none),
                "evidence": F.when(open_now, both).otherwise(F.concat(both, end)),
            }
        )
        .select(*REASSIGNMENTS.columns)
    )


def _ids(name: str) -> Column:
    """A further field with broker ids, as printed; null if there is none."""
    text = F.col("fields")[name]
    return F.when(text.isNotNull() & (text != "null"), F.regexp_extract_all(text, F.lit(r"(-?\d+)")).cast(IDS))
