"""States over time, rebuilt from statements with window functions.

What orders a partition's states is its partition epoch, never a clock: several nodes tell of one state, each at its
own time; where lines do not print it, the chain of changes does (`udfs.histories`). A state is as old as its first proof,
and no younger than the first proof of any later state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.histories import SAID, to_ordered
from jobs.settings import Settings
from jobs.statements import (
    ids_of,
    number_of,
    to_changes_by_leader,
    to_statements,
    to_unnumbered,
    with_quorum_epoch,
)
from schemas.timelines import BROKER_TIMELINE, CONTROLLER_TIMELINE, PARTITION_TIMELINE, TOPIC_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_EVIDENCE = 8
"""Lines kept as evidence of a row: its earliest."""

INCARNATION = ["cluster", "topic", "partition", "incarnation"]


def evidence(most: int = MOST_EVIDENCE) -> Column:
    """Aggregate: the earliest lines of a group as EVIDENCE."""
    lines = F.array_sort(F.collect_set(F.struct("at", "node_id", "file_id", "line")))
    return F.transform(
        F.slice(lines, 1, most),
        lambda e: F.struct(e["node_id"].alias("node_id"), e["file_id"].alias("file_id"), e["line"].alias("line")),
    )


def line_as_evidence() -> Column:
    """EVIDENCE of a row that is one line."""
    return F.array(F.struct("node_id", "file_id", "line"))


# ---- topics ---------------------------------------------------------------------------------------------------------
def to_topic_timeline(events: DataFrame) -> DataFrame:
    """EVENTS -> TOPIC_TIMELINE. In KRaft an incarnation is a topic id; before, it ends with the controller's report of the deletion."""
    columns = ["cluster", "topic", "topic_id", "at", "node_id", "file_id", "line", "event_type", "partition"]
    named = events.where("topic IS NOT NULL").select(*columns)
    listed = events.where("partitions IS NOT NULL").select(
        "cluster", F.explode("partitions").alias("p"), "at", "node_id", "file_id", "line", "event_type"
    )
    seen = named.unionByName(
        listed.select(
            "cluster", F.col("p.topic").alias("topic"), F.col("p.topic_id").alias("topic_id"), "at", "node_id", "file_id",
            "line", "event_type", F.col("p.partition").alias("partition"),
        ).where("topic IS NOT NULL")
    )  # fmt: skip
    is_birth = F.col("event_type").isin("kraft_topic_created", "metadata_topic", "kraft_partition_created")
    names = (
        seen.where(is_birth & F.col("topic_id").isNotNull())
        .groupBy("cluster", "topic_id")
        .agg(F.min("topic").alias("topic"))
    )
    partitions = (
        seen.where("partition IS NOT NULL")
        .groupBy("cluster", "topic")
        .agg((F.max("partition") + 1).alias("partitions"))
    )
    born = (
        seen.where(is_birth & F.col("topic_id").isNotNull())
        .groupBy("cluster", "topic", "topic_id")
        .agg(F.min("at").alias("since"), evidence(2).alias("evidence"))
    )
    gone = (
        events.where(
            F.col("event_type").isin("kraft_topic_removed", "metadata_remove_topic") & F.col("topic_id").isNotNull()
        )
        .groupBy("cluster", "topic_id")
        .agg(F.min("at").alias("until"), evidence(2).alias("ended"))
    )
    by_id = (
        born.join(gone, ["cluster", "topic_id"], "left")
        .withColumn(
            "incarnation", F.row_number().over(Window.partitionBy("cluster", "topic").orderBy("since", "topic_id")) - 1
        )
        .withColumn("deletion_started", F.col("until"))
    )
    by_deletion = _by_deletion(
        seen.join(names.select("cluster", "topic").distinct(), ["cluster", "topic"], "left_anti")
    )
    return (
        by_id.unionByName(by_deletion)
        .join(partitions, ["cluster", "topic"], "left")
        .withColumn(
            "evidence",
            F.concat("evidence", F.coalesce("ended", F.array().cast(TOPIC_TIMELINE.schema["evidence"].dataType))),
        )
        .select(*TOPIC_TIMELINE.columns)
    )


def _by_deletion(seen: DataFrame) -> DataFrame:
    """Incarnations of topics without ids: each report of a completed deletion ends one."""
    by_topic = Window.partitionBy("cluster", "topic").orderBy("at", "file_id", "line")
    done = F.col("event_type") == "topic_deletion_completed"
    before = by_topic.rowsBetween(Window.unboundedPreceding, -1)
    numbered = seen.withColumn("incarnation", F.coalesce(F.sum(done.cast("int")).over(before), F.lit(0)).cast("int"))
    ended = F.when(done, F.struct("at", "node_id", "file_id", "line"))
    spans = numbered.groupBy("cluster", "topic", "incarnation").agg(
        F.max(F.when(F.col("topic_id").isNotNull(), F.col("topic_id"))).alias("topic_id"),
        F.min("at").alias("since"),
        F.min(F.when(F.col("event_type") == "topic_deletion_started", F.col("at"))).alias("deletion_started"),
        F.max(ended).alias("end"),
        F.min(F.struct("at", "node_id", "file_id", "line")).alias("start"),
        # brokers may speak of a topic once more after its deletion; that alone does not create it again
        F.max(
            F.col("event_type").isin("partition_state_change", "topics_changed", "leader_and_isr_request_sent")
        ).alias("alive"),
    )

    def as_evidence(name: str) -> Column:
        return F.array(F.struct(f"{name}.node_id", f"{name}.file_id", f"{name}.line"))

    return spans.where("incarnation = 0 OR alive").select(
        "cluster", "topic", "incarnation", "topic_id", "since", "deletion_started", F.col("end.at").alias("until"),
        as_evidence("start").alias("evidence"), F.when(F.col("end").isNotNull(), as_evidence("end")).alias("ended"),
    )  # fmt: skip


def with_incarnation(rows: DataFrame, topics: DataFrame) -> DataFrame:
    """Rows with `cluster, topic, at` -> the same with `incarnation`: by topic id where the row has one, else by time."""
    lives = topics.groupBy("cluster", "topic").agg(
        F.array_sort(F.collect_list(F.struct("incarnation", "topic_id", "since", "until"))).alias("lives")
    )
    by_id = F.filter("lives", lambda life: life["topic_id"] == F.col("topic_id"))
    # a life begins with its first proof; what the controller says of a deletion ends it for everybody
    started = F.filter("lives", lambda life: (life["incarnation"] == 0) | (life["since"] <= F.col("at")))
    incarnation = F.coalesce(
        F.get(by_id, F.lit(0))["incarnation"] if "topic_id" in rows.columns else F.lit(None).cast("int"),
        F.size(started) - 1,
    )
    return rows.join(F.broadcast(lives), ["cluster", "topic"]).withColumn("incarnation", incarnation).drop("lives")


# ---- partitions -----------------------------------------------------------------------------------------------------
def to_states(events: DataFrame, topics: DataFrame) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE -> one row per state that any line tells of, with what all lines say of it together.

    Columns as in PARTITION_TIMELINE; `leader`, `leader_epoch`, `isr`, `replicas` may be null: no line tells. `ordinal`
    orders the states of an incarnation.
    """
    seen = _seen(events)
    fenced = _fenced(events)
    told = _numbered(with_incarnation(to_statements(events), topics))
    numbered = _with_implied(told, _kraft(events), seen, fenced).persist()  # used twice, and slow to plan
    unnumbered = with_incarnation(to_unnumbered(events), topics)
    changes = to_changes_by_leader(with_incarnation(events.where("topic IS NOT NULL"), topics))
    told_by_steps = unnumbered.select(*INCARNATION).union(
        changes.where("leader_epoch IS NOT NULL").select(*INCARNATION)
    ).distinct().persist()  # fmt: skip
    by_steps = to_ordered(
        _said(numbered.join(told_by_steps, INCARNATION, "left_semi"), unnumbered, changes, seen), MOST_EVIDENCE
    )
    by_number = numbered.join(told_by_steps, INCARNATION, "left_anti").withColumn(
        "ordinal", F.col("partition_epoch").cast("long")
    )
    states = by_number.unionByName(by_steps, allowMissingColumns=True)
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    after = order.rowsBetween(Window.currentRow, Window.unboundedFollowing)
    whole = order.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    never_moved = ~F.coalesce("reassigned", F.lit(False)) & (F.size(F.collect_set("replicas").over(whole)) == 1)
    known = states.join(F.broadcast(_reassigned(events, topics)), ["cluster", "topic", "partition"], "left").join(
        _assigned(events, topics), INCARNATION, "left"
    )
    return known.withColumns(
        {
            # a partition that was never seen reassigned has one assignment; of others only what is said of a state counts
            # (KRaft logs no word of a reassignment that only removes replicas and is done at once)
            "replicas": F.coalesce(
                "replicas",
                F.when(never_moved, F.first("replicas", ignorenulls=True).over(whole)),
                F.when(~F.coalesce("reassigned", F.lit(False)), F.col("assigned")),
            ),
            "topic_id": F.max("topic_id").over(Window.partitionBy(*INCARNATION)),
            # a leader writes the epoch it was elected under; a later reign may send the same state as its own
            "controller_epoch": F.min("controller_epoch").over(Window.partitionBy(*INCARNATION, "leader_epoch")),
            "since": F.min("at").over(after),
        }
    )


def _numbered(said: DataFrame) -> DataFrame:
    """STATEMENTS with `incarnation` -> one row per partition epoch, parts filled in from neighbours that are known to share them."""

    def first(name: str) -> Column:
        return F.get(F.array_sort(F.collect_set(name)), F.lit(0)).alias(name)

    states = said.groupBy(*INCARNATION, "partition_epoch").agg(
        F.max("topic_id").alias("topic_id"),
        first("leader"),
        first("leader_epoch"),
        first("isr"),
        first("elr"),
        F.min("controller_epoch").alias("controller_epoch"),
        F.max_by("replicas", F.when(F.col("replicas").isNotNull(), F.col("at"))).alias("replicas"),
        F.max("by_leader").alias("by_leader"),
        F.max("keeps_leader").alias("keeps_leader"),
        F.max("keeps_isr").alias("keeps_isr"),
        F.max("keeps_elr").alias("keeps_elr"),
        F.min("at").alias("at"),
        evidence().alias("evidence"),
    )
    filled = states
    for flag, names in (("keeps_leader", ("leader", "leader_epoch")), ("keeps_isr", ("isr",)), ("keeps_elr", ("elr",))):
        filled = _fill(filled, flag, names)
    return filled


def _kraft(events: DataFrame) -> DataFrame:
    """Clusters whose controllers run KRaft: cluster, and `keeps_last`: whether a lost last member stays in the ISR; null unknown.

    It stays without eligible leader replicas, which no release before 4.0 turns on; one that is printed proves them.
    """
    elr = F.col("event_type").startswith("kraft") & (F.size(ids_of("elr")) > 0)
    major = F.regexp_extract(F.col("fields")["kafka_version"], r"^(\d+)", 1).try_cast("int")
    told = events.where("event_type = 'kafka_version' OR event_type LIKE 'kraft%'").groupBy("cluster")
    return (
        told.agg(
            F.max(F.col("event_type").startswith("kraft")).alias("kraft"),
            F.max(elr).alias("elr"),
            F.max(F.when(F.col("event_type") == "kafka_version", major)).alias("major"),
        )
        .where("kraft")
        .select("cluster", F.when(F.col("elr"), False).when(F.col("major") < 4, True).alias("keeps_last"))
    )


def _fenced(events: DataFrame) -> DataFrame:
    """When the active KRaft controller fenced whom: cluster, leader, `fencings`, all of its times in order."""
    told = events.where("event_type = 'kraft_broker_fenced'").select(
        "cluster", "node_id", "at", F.coalesce(number_of("broker"), F.col("broker_id")).alias("leader")
    )
    return (
        by_active_controller(told, to_controller_timeline(events))
        .groupBy("cluster", "leader")
        .agg(F.array_sort(F.collect_set("at")).alias("fencings"))
    )


def _with_implied(states: DataFrame, kraft: DataFrame, seen: DataFrame, fenced: DataFrame) -> DataFrame:
    """Rows of `_numbered` -> the same, and what KRaft's rules leave no choice about, marked `inferred`.

    - A leader that was the only one in sync is lost (only followers tell, and not the ISR): it stays the last member, or
      with eligible leader replicas the ISR is empty. It was lost when it was fenced, however late somebody tells.
    - One partition epoch between two that agree in leader, leader epoch and ISR: only the leader expands an ISR, and it
      says so. So where it was heard all the time and said nothing, neither changed (but replicas, directories or the like).
    - One between a leader alone in sync and nobody: the leader, once fenced, becomes an eligible leader replica. So where
      it is none afterwards, it was lost in the partition epoch between (and that it was eligible was taken back after).
    """
    order = Window.partitionBy(*INCARNATION).orderBy("partition_epoch")

    def lag(name: str) -> Column:
        return F.lag(name).over(order)

    adjacent = lag("partition_epoch") + 1 == F.col("partition_epoch")
    lost = (F.col("leader") == -1) & (F.col("leader_epoch") == lag("leader_epoch") + 1) & adjacent
    last_isr = F.when(F.col("keeps_last"), lag("isr")).when(~F.col("keeps_last"), F.array().cast("array<int>"))
    implied_isr = F.when(F.col("isr").isNull() & lost & (lag("isr") == F.array(lag("leader"))), last_isr)
    hidden = (
        (lag("partition_epoch") + 2 == F.col("partition_epoch"))
        & (lag("leader") == F.col("leader"))
        & (F.col("leader") >= 0)
        & (lag("leader_epoch") == F.col("leader_epoch"))
        & (lag("isr") == F.col("isr"))
        & ~F.coalesce("by_leader", F.lit(False))
    )
    hidden_loss = (
        (lag("partition_epoch") + 2 == F.col("partition_epoch"))
        & (F.col("leader") == -1)
        & (lag("leader_epoch") + 1 == F.col("leader_epoch"))
        & (lag("isr") == F.array(lag("leader")))
        & (F.size("isr") == 0)
        & ~F.array_contains("elr", lag("leader"))
    )
    fenced_at = F.get(F.filter("fencings", lambda t: (t >= F.col("at_before")) & (t <= F.col("at"))), F.lit(0))
    loser = fenced.withColumnRenamed("leader", "leader_before")
    known = states.join(F.broadcast(kraft.withColumn("kraft", F.lit(True))), "cluster", "left").withColumns(
        {
            "lost": F.coalesce("kraft", F.lit(False)) & F.coalesce(lost, F.lit(False)),
            "leader_before": lag("leader"),
            "implied_isr": F.when(F.col("kraft"), implied_isr),
            "hidden_loss": F.coalesce(hidden_loss & ~F.col("keeps_last"), F.lit(False)),
            "hidden": F.coalesce("kraft", F.lit(False)) & F.coalesce(hidden, F.lit(False)),
            "at_before": lag("at"),
            "evidence_before": lag("evidence"),
        }
    )
    filled = (
        known.join(F.broadcast(loser), ["cluster", "leader_before"], "left")
        .withColumns(
            {
                "fenced_at": fenced_at,
                "inferred": F.col("implied_isr").isNotNull(),
                "isr": F.coalesce("isr", "implied_isr"),
                "elr": F.coalesce("elr", F.when(F.col("keeps_last"), F.array().cast("array<int>"))),
                "at": F.coalesce(F.when(F.col("lost"), fenced_at), F.col("at")),
            }
        )
        .persist()
    )  # used three times
    implied = {
        "partition_epoch": F.col("partition_epoch") - 1,
        "evidence": F.slice(F.concat("evidence_before", "evidence"), 1, MOST_EVIDENCE),
        "replicas": F.lit(None).cast("array<int>"),
        "elr": F.lit(None).cast("array<int>"),
        "inferred": F.lit(True),
    }
    between = (
        filled.where("hidden")
        .join(F.broadcast(seen), ["cluster", "leader"])
        .where("seen_since <= at_before AND at <= seen_until")
        .withColumns(implied)
    )
    losses = filled.where(F.col("hidden_loss") & F.col("fenced_at").isNotNull()).withColumns(
        {**implied, "at": F.col("fenced_at")}
    )
    columns = [*states.columns, "inferred"]
    return filled.select(*columns).unionByName(between.select(*columns)).unionByName(losses.select(*columns))


def _said(numbered: DataFrame, unnumbered: DataFrame, changes: DataFrame, seen: DataFrame) -> DataFrame:
    """All that is said of incarnations whose states are ordered by their steps -> SAID."""
    nothing = {"was": F.lit(None).cast("array<int>"), "written": F.lit(True)}
    told = (
        unnumbered.groupBy(*INCARNATION, "leader_epoch", "leader", "isr")
        .agg(
            F.max("topic_id").alias("topic_id"),
            F.min("at").alias("at"),
            F.min("line").alias("line"),
            F.min("controller_epoch").alias("controller_epoch"),
            F.max_by("replicas", F.when(F.col("replicas").isNotNull(), F.col("at"))).alias("replicas"),
            evidence().alias("evidence"),
        )
        .withColumns(nothing)
    )
    whole = numbered.where("leader IS NOT NULL AND leader_epoch IS NOT NULL AND isr IS NOT NULL")
    rows = (
        whole.withColumns(nothing)
        .withColumn("line", F.lit(0).cast("long"))
        .unionByName(told, allowMissingColumns=True)
        .unionByName(changes.withColumn("evidence", line_as_evidence()), allowMissingColumns=True)
    )
    return rows.join(F.broadcast(seen), ["cluster", "leader"], "left").select(*SAID.names)


def _seen(events: DataFrame) -> DataFrame:
    """From when to when each node's own log (not its controller's) is there: cluster, leader, seen_since, seen_until."""
    own = events.where(
        "node_id IS NOT NULL AND logger <> 'state.change.logger' AND logger NOT LIKE 'kafka.controller%'"
    )
    return own.groupBy("cluster", F.col("node_id").alias("leader")).agg(
        F.min("at").alias("seen_since"), F.max("at").alias("seen_until")
    )


def _assigned(events: DataFrame, topics: DataFrame) -> DataFrame:
    """Assignments that ZooKeeper's controllers gave new partitions: INCARNATION, `assigned`."""
    new = events.where(
        "event_type = 'partition_state_change' AND fields['to_state'] = 'NewPartition' AND replicas IS NOT NULL"
    )
    return with_incarnation(new, topics).groupBy(*INCARNATION).agg(F.min_by("replicas", "at").alias("assigned"))


def _reassigned(events: DataFrame, topics: DataFrame) -> DataFrame:
    """Partitions that any controller's log or dump shows being reassigned: cluster, topic, partition, `reassigned`."""
    names = topics.where("topic_id IS NOT NULL").select("cluster", "topic_id", F.col("topic").alias("name"))
    asked = F.col("event_type").isin("reassignment_assignment_updating", "reassignment_assignment_updated") | (
        F.col("event_type").isin("kraft_partition_assignment_changed", "metadata_partition_change")
        & (F.col("replicas").isNotNull() | F.col("fields")["adding_replicas"].isNotNull())
    )
    return (
        events.where(asked)
        .join(F.broadcast(names), ["cluster", "topic_id"], "left")
        .select("cluster", F.coalesce("topic", "name").alias("topic"), "partition", F.lit(True).alias("reassigned"))
        .distinct()
    )


def with_until(states: DataFrame, topics: DataFrame) -> DataFrame:
    """Rows of `to_states` -> the same with `until`: the next row's start, or the end of the topic."""
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    ends = topics.select("cluster", "topic", "incarnation", F.col("until").alias("gone"))
    end = F.greatest("gone", F.when(F.col("gone").isNotNull(), F.col("since")))
    known = states.join(F.broadcast(ends), ["cluster", "topic", "incarnation"], "left")
    return known.withColumn("until", F.coalesce(F.lead("since").over(order), end)).drop("gone")


def to_partition_timeline(states: DataFrame, topics: DataFrame, settings: Settings) -> DataFrame:
    """Rows of `to_states`, TOPIC_TIMELINE -> PARTITION_TIMELINE: those whose leader, leader epoch and ISR are known."""
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    known = states.where("leader IS NOT NULL AND leader_epoch IS NOT NULL AND isr IS NOT NULL")
    timed = with_until(known, topics).withColumns(
        {
            "previous_leader_epoch": F.lag("leader_epoch").over(order),
            "adjacent": F.coalesce(F.lag("partition_epoch").over(order) + 1 == F.col("partition_epoch"), F.lit(False)),
        }
    )
    return timed.withColumns(
        {
            "availability": availability(settings),
            "made_by": made_by(),
            "inferred": F.coalesce("inferred", F.lit(False)),
        }
    ).select(*PARTITION_TIMELINE.columns)


def _fill(states: DataFrame, flag: str, names: tuple[str, ...]) -> DataFrame:
    """Carry values both ways along runs of adjacent partition epochs that are known to have kept them."""
    order = Window.partitionBy(*INCARNATION).orderBy("partition_epoch")
    goes_on = F.coalesce(F.col(flag), F.lit(False)) & (
        F.lag("partition_epoch").over(order) + 1 == F.col("partition_epoch")
    )
    run = F.sum(F.when(goes_on, 0).otherwise(1)).over(order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    in_run = (
        Window.partitionBy(*INCARNATION, "run")
        .orderBy("partition_epoch")
        .rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    )
    marked = states.withColumn("run", run)
    return marked.withColumns(
        {name: F.coalesce(F.col(name), F.first(name, ignorenulls=True).over(in_run)) for name in names}
    ).drop("run")


def availability(settings: Settings) -> Column:
    """KIP-427 ladder of a state; the lower steps need `min.insync.replicas`, else null below FullyInSync is UnderReplicated."""
    least = F.lit(settings.min_insync_replicas).cast("int")
    for topic, told in settings.topics.items():
        if told.min_insync_replicas is not None:
            least = F.when(F.col("topic") == topic, told.min_insync_replicas).otherwise(least)
    least = F.when(least.isNotNull(), F.least(least, F.size("replicas")))  # least() alone would pass a null over
    in_sync = F.size("isr")
    return (
        F.when(F.col("leader") == -1, "Offline")
        .when(F.col("replicas").isNull(), None)
        .when(in_sync < least, "UnderMinIsr")
        .when((in_sync == least) & (in_sync < F.size("replicas")), "AtMinIsr")
        .when(in_sync < F.size("replicas"), "UnderReplicated")
        .otherwise("FullyInSync")
    )


def made_by() -> Column:
    """`leader` if it reported the change as its own, or (ZooKeeper) only the partition epoch moved; else `controller` if the leader epoch did."""
    return (
        F.when(F.col("by_leader"), "leader")
        .when(F.col("previous_leader_epoch").isNull() & (F.col("partition_epoch") == 0), "controller")
        .when(F.col("adjacent") & (F.col("leader_epoch") > F.col("previous_leader_epoch")), "controller")
        .when(F.col("adjacent") & (F.col("controller_epoch") >= 0), "leader")
    )


# ---- controllers ----------------------------------------------------------------------------------------------------
def to_controller_timeline(events: DataFrame) -> DataFrame:
    """EVENTS -> CONTROLLER_TIMELINE. ZooKeeper: who won the election; KRaft: who became the active controller, or a dump's leader changes.

    A leader of the quorum that lost its office before it became active is no controller.
    """
    told = _claims(events)
    dumped = with_quorum_epoch(events).where("event_type = 'metadata_leader_change'")
    elected = (
        told.withColumn("controller_id", F.coalesce("controller_id", "node_id"))
        .unionByName(dumped)
        .where("controller_epoch IS NOT NULL")
    )
    reigns = elected.groupBy("cluster", "controller_epoch").agg(
        F.max("controller_id").alias("controller_id"), F.min("at").alias("since"), evidence().alias("evidence")
    )
    ready = (
        events.where(F.col("event_type").isin("controller_ready"))
        .groupBy("cluster", "controller_id", "controller_epoch")
        .agg(F.min("at").alias("active_since"))
    )
    resigned = events.where(F.col("event_type").isin("controller_resigned", "kraft_controller_resigned")).select(
        "cluster", F.coalesce("controller_id", "node_id").alias("controller_id"), F.col("at").alias("resigned_at")
    )
    acted = (
        events.where(
            F.col("event_type").isin(
                "partition_state_change", "leader_and_isr_request_sent", "update_metadata_request_sent"
            )
        )
        .groupBy("cluster", "controller_id", "controller_epoch")
        .agg(F.max("at").alias("last_act"))
    )
    order = Window.partitionBy("cluster").orderBy("controller_epoch")
    known = (
        reigns.where("controller_id IS NOT NULL")
        .withColumn("next_since", F.lead("since").over(order))
        .join(ready, ["cluster", "controller_id", "controller_epoch"], "left")
        .join(acted, ["cluster", "controller_id", "controller_epoch"], "left")
    )
    own_next = Window.partitionBy("cluster", "controller_id").orderBy("controller_epoch")
    ended = (
        known.withColumn("own_next", F.lead("since").over(own_next))
        .join(resigned, ["cluster", "controller_id"], "left")
        .withColumn(
            "resigned_at",
            F.when(
                (F.col("resigned_at") >= F.col("since"))
                & (F.col("own_next").isNull() | (F.col("resigned_at") <= F.col("own_next"))),
                F.col("resigned_at"),
            ),
        )
        .groupBy(
            "cluster",
            "controller_id",
            "controller_epoch",
            "since",
            "active_since",
            "next_since",
            "last_act",
            "evidence",
        )
        .agg(F.min("resigned_at").alias("resigned_at"))
    )
    first_end = F.least("resigned_at", "next_since")
    active_since = F.coalesce("active_since", F.when(F.col("last_act").isNull(), F.col("since")))
    return (
        ended.withColumn("active_since", active_since)
        .withColumns(
            {
                "until": first_end,
                "failover_ms": milliseconds("since", "active_since"),
                "ended_by": F.when(first_end.isNull(), None)
                .when(
                    F.col("resigned_at").isNotNull()
                    & (F.col("resigned_at") <= F.coalesce("next_since", "resigned_at")),
                    "resigned",
                )
                .otherwise("replaced"),
                "overlap_ms": F.greatest(F.coalesce(milliseconds("next_since", "last_act"), F.lit(0)), F.lit(0)),
            }
        )
        .select(*CONTROLLER_TIMELINE.columns)
    )


def _claims(events: DataFrame) -> DataFrame:
    """Lines by which a node says that it is the controller of an epoch. Before 2.1 winning and raising the epoch are two lines."""
    kinds = ("controller_elected", "controller_epoch_incremented", "kraft_controller_elected")
    own = Window.partitionBy("cluster", "node_id").orderBy("at", "file_id", "line")
    won_before = (F.lag("event_type").over(own) == "controller_elected") & F.lag("controller_epoch").over(own).isNull()
    return (
        events.where(F.col("event_type").isin(*kinds))
        .withColumn("won_at", F.when(won_before, F.lag("at").over(own)))
        .withColumn("at", F.coalesce(F.when(F.col("event_type") == kinds[1], F.col("won_at")), F.col("at")))
        .drop("won_at")
    )


def milliseconds(since: str, until: str) -> Column:
    """Milliseconds between two time columns."""
    return ((F.unix_micros(until) - F.unix_micros(since)) / 1000).cast("long")


# ---- brokers --------------------------------------------------------------------------------------------------------
def by_active_controller(rows: DataFrame, controllers: DataFrame) -> DataFrame:
    """Rows of KRaft controllers -> those logged by the controller that was active then.

    Standby controllers replay the same records, and a restarted one replays old ones as if they were news.
    """
    reigns = controllers.select(
        "cluster",
        F.col("controller_id").alias("node_id"),
        F.col("since").alias("reign_since"),
        F.col("until").alias("reign_until"),
    )
    now = (F.col("at") >= F.col("reign_since")) & (
        F.col("reign_until").isNull() | (F.col("at") <= F.col("reign_until"))
    )
    return rows.join(F.broadcast(reigns), ["cluster", "node_id"]).where(now).drop("reign_since", "reign_until")


def to_broker_timeline(events: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS, CONTROLLER_TIMELINE -> BROKER_TIMELINE: spans in which the controller counted a broker as there (ZooKeeper) or unfenced (KRaft)."""
    replayed = by_active_controller(_kraft_marks(events.where("event_type LIKE 'kraft%'")), controllers)
    dumped = _kraft_marks(events.where("event_type LIKE 'metadata%'"))
    marks = _zk_marks(events).unionByName(replayed).unionByName(dumped)
    by_broker = Window.partitionBy("cluster", "broker").orderBy("at", "rank", "file_id", "line")
    before = by_broker.rowsBetween(Window.unboundedPreceding, -1)
    turns = marks.withColumn("was_up", F.last("up").over(before)).where(
        (F.col("up") & ~F.coalesce("was_up", F.lit(False))) | (~F.col("up") & F.coalesce("was_up", F.lit(False)))
    )
    spans = turns.withColumns(
        {
            "until": F.lead("at").over(by_broker),
            "ended_by": F.lead("how").over(by_broker),
            "end_node": F.lead("node_id").over(by_broker),
            "end_file": F.lead("file_id").over(by_broker),
            "end_line": F.lead("line").over(by_broker),
            "nth": F.row_number().over(by_broker),
            "since": F.col("at"),
        }
    ).where("up")
    leaving = events.where(
        F.col("event_type").isin(
            "controlled_shutdown_started",
            "kraft_broker_controlled_shutdown_granted",
            "kraft_broker_controlled_shutdown_replayed",
        )
    ).select(
        "cluster", F.coalesce(number_of("broker"), F.col("broker_id")).alias("broker"), F.col("at").alias("leaving_at")
    )
    left = (
        spans.join(leaving, ["cluster", "broker"], "left")
        .withColumn(
            "left",
            (F.col("leaving_at") >= F.col("since"))
            & (F.col("until").isNull() | (F.col("leaving_at") <= F.col("until"))),
        )
        .groupBy("cluster", "broker", "since")
        .agg(F.max("left").alias("left"))
    )
    both = F.array(F.struct("node_id", "file_id", "line"))
    end = F.array(
        F.struct(
            F.col("end_node").alias("node_id"), F.col("end_file").alias("file_id"), F.col("end_line").alias("line")
        )
    )
    return (
        spans.join(left, ["cluster", "broker", "since"], "left")
        .withColumns(
            {
                "started_as": F.when(F.col("how") == "there", None)
                .when(F.col("how") == "bounced", "bounced")
                .when(F.col("nth") == 1, "new")
                .otherwise("returned"),
                "ended_by": F.when(F.col("until").isNull(), None)
                .when(F.col("left"), "controlled_shutdown")
                .otherwise(F.col("ended_by")),
                "evidence": F.when(F.col("end_line").isNull(), both).otherwise(F.concat(both, end)),
            }
        )
        .select(*BROKER_TIMELINE.columns)
    )


_MARK = ["cluster", "broker", "epoch", "at", "rank", "up", "how", "node_id", "file_id", "line"]


def _zk_marks(events: DataFrame) -> DataFrame:
    """Turns of brokers as ZooKeeper's controller logged them."""
    base = ["cluster", "at", "node_id", "file_id", "line"]
    changed = events.where("event_type = 'broker_set_changed'")
    parts = [
        (changed, "bounced_brokers", 0, False, "bounced"),
        (changed, "bounced_brokers", 1, True, "bounced"),
        (changed, "deleted_brokers", 0, False, "session_expired"),
        (changed, "added_brokers", 1, True, "added"),
        (events.where("event_type = 'controller_context_live_brokers'"), "live_brokers", 1, True, "there"),
    ]
    frames = [
        rows.select(
            *base, F.explode(ids_of(name)).alias("broker"), F.lit(rank).alias("rank"), F.lit(up).alias("up"),
            F.lit(how).alias("how"), F.lit(None).cast("long").alias("epoch"),
        )
        for rows, name, rank, up, how in parts
    ]  # fmt: skip
    marks = frames[0]
    for frame in frames[1:]:
        marks = marks.unionByName(frame)
    # a new controller lists who is there; whoever was known and is not in the list went away before
    listed = events.where("event_type = 'controller_context_live_brokers'").select(
        *base, ids_of("live_brokers").alias("live")
    )
    absent = (
        listed.join(F.broadcast(marks.select("cluster", "broker").distinct()), "cluster")
        .where(~F.array_contains("live", F.col("broker")))
        .select(
            *base, "broker", F.lit(0).alias("rank"), F.lit(False).alias("up"), F.lit("session_expired").alias("how"),
            F.lit(None).cast("long").alias("epoch"),
        )
    )  # fmt: skip
    return marks.unionByName(absent).select(*_MARK)


def _kraft_marks(events: DataFrame) -> DataFrame:
    """Turns of brokers as KRaft's controllers replayed them, or as a dump has them."""
    fenced, turn = F.col("fields")["fenced"], F.col("fields")["fenced_change"]
    kinds = {
        "kraft_broker_unfenced": F.lit(True),
        "kraft_broker_fenced": F.lit(False),
        "kraft_broker_registered": F.lit(False),
        "kraft_broker_unregistered": F.lit(False),
        "metadata_register_broker": fenced == "false",
        "metadata_unregister_broker": F.lit(False),
        "metadata_fence_broker": F.lit(False),
        "metadata_unfence_broker": F.lit(True),
        "metadata_broker_registration_change": F.when(turn == "1", False).when(turn == "-1", True),
    }
    up = F.lit(None).cast("boolean")
    for kind, value in kinds.items():
        up = F.when(F.col("event_type") == kind, value).otherwise(up)
    return (
        events.where(F.col("event_type").isin(*kinds))
        .withColumns(
            {
                "up": up,
                "rank": F.lit(0),
                "how": F.when(up, "added").otherwise("fenced"),
                "broker": F.coalesce(number_of("broker"), F.col("broker_id")),
                "epoch": F.coalesce(
                    F.col("fields")["broker_epoch"].try_cast("long"), F.col("fields")["epoch"].try_cast("long")
                ),
            }
        )
        .where("up IS NOT NULL AND broker IS NOT NULL")
        .select(*_MARK)
    )
