"""States of partitions over time, rebuilt from statements with window functions.

What orders a partition's states is its partition epoch, never a clock: several nodes tell of one state, each at its
own time; where lines do not print it, the chain of changes does (`udfs.reconstruct.partition_history`). A state is as old as its first proof,
and no younger than the first proof of any later state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.session import checkpointed
from jobs.settings import Settings
from jobs.timelines.cluster_facts import (
    ClusterFacts,
    EvidenceKinds,
    is_assignment_write,
    is_new_assignment,
    is_reassignment,
    is_replica_offline,
)
from jobs.timelines.controllers import by_active_controller
from jobs.timelines.evidence import MOST_EVIDENCE, evidence, line_as_evidence
from jobs.timelines.kraft_inferred import with_untold
from jobs.timelines.observations import number_of, to_changes_by_leader, to_observations, to_unnumbered_observations
from jobs.timelines.partition_history import SAID, to_ordered_states
from jobs.timelines.topics import (
    HISTORY,
    INCARNATION,
    to_numbered_incarnations,
    with_history,
    with_history_of_incarnation,
    with_incarnation,
    with_incarnation_of_history,
)
from schemas.timelines import CONTRADICTIONS, PARTITION_TIMELINE
from udfs.reconstruct.zk_inferred_columns import inferred_states

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec


def to_states(events: DataFrame, topics: DataFrame, controllers: DataFrame, facts: ClusterFacts) -> DataFrame:
    """EVENTS, TOPIC_TIMELINE, CONTROLLER_TIMELINE -> a row per state that any line tells of, with what all say.

    The topics may be some of the clusters', then events of others need not be there; `facts` are those of whole clusters. Columns as in PARTITION_TIMELINE; `leader`, `leader_epoch`, `isr`, `replicas` may be null: no line tells, or lines
    contradict each other, and then `contradiction` says how. `ordinal` orders the states of an incarnation, HISTORY numbers it.

    Statements are exchanged and sorted once, by HISTORY and partition epoch; all that follows keeps to that, so that no row
    is sent anywhere again. Frames up to the end of a history are read from there: from each row they would be quadratic.
    """
    kinds = facts.kinds
    lives = checkpointed(to_numbered_incarnations(topics))
    said = with_history(to_observations(events, kraft=kinds.kraft, dumps=kinds.dumps), lives)
    states = with_incarnation_of_history(_numbered(said, kraft=kinds.kraft or kinds.dumps), lives)
    if kinds.kraft:
        fenced = _fenced(events, controllers)
        implied = _with_implied(states, facts.kraft_clusters, facts.coverage_by_leader, fenced)
        told = with_untold(implied, events, topics, controllers, facts.kraft_clusters, facts.coverage_by_leader)
        states = checkpointed(_with_new(told, implied.columns))
    if kinds.removals:
        states = _with_removals(states, _removals(events, topics, facts), facts.coverage_by_leader)
    states = states.withColumn("ordinal", F.col("partition_epoch").cast("long"))
    if kinds.unnumbered:
        states = _with_steps(checkpointed(states), events, lives, facts.server_coverage)
    states = _with_assignments(states, events, topics, kinds)
    if kinds.kraft:
        states = checkpointed(states)
        states = states.join(_lasting(states, facts.kraft_clusters, fenced), [HISTORY, "ordinal"], "left")
    else:
        states = states.withColumn("is_lasting", F.lit(None).cast("boolean"))
    backwards = Window.partitionBy(HISTORY).orderBy(F.desc("ordinal"))
    whole = backwards.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    the_one = F.min("replicas").over(whole)
    never_moved = ~F.col("reassigned") & (the_one == F.max("replicas").over(whole))
    timed = states.withColumns(
        {
            "the_one": F.when(never_moved & F.coalesce("is_lasting", F.lit(True)), the_one),
            "topic_id": F.max("topic_id").over(whole),
            "since": F.min("at").over(backwards.rowsBetween(Window.unboundedPreceding, Window.currentRow)),
            "next_since": F.min("at").over(backwards.rowsBetween(Window.unboundedPreceding, -1)),
        }
    )
    # a partition that was never seen reassigned has one assignment; of others only what is said of a state counts
    first = F.when(_is_of_state(), F.col("replicas"))
    given = F.when(~F.col("reassigned"), F.col("assigned"))
    return timed.withColumn("replicas", F.coalesce(first, "the_one", given)).drop("the_one", "next_since", "told_at")


def _is_of_state() -> Column:
    """Whether the assignment that was told first of a state is the one it began with.

    KRaft's assignments are part of the states. ZooKeeper stores them apart, and they change within states: a controller that
    sends a state prints with it the assignment of that moment, up to 1.1 even with states of its cache that are over. So it
    must have been told before the state was over, and before the first assignment written in it.
    """
    in_time = F.coalesce(F.col("told_at") <= F.col("next_since"), F.lit(True))
    rewritten = F.exists("writes", lambda at: (at > F.col("since")) & (at <= F.col("told_at")))
    of_kraft = F.col("is_lasting").isNotNull()
    return of_kraft | (in_time & ~F.coalesce(rewritten, F.lit(False)))


def _with_assignments(states: DataFrame, events: DataFrame, topics: DataFrame, kinds: EvidenceKinds) -> DataFrame:
    """States -> the same with `assigned`, what a ZooKeeper controller gave the new partition, whether it was `reassigned`,
    and `writes`, when a ZooKeeper controller had written another assignment (null never)."""
    assigned, reassigned, writes = F.lit(None).cast("array<int>"), F.lit(False), F.lit(None).cast("array<timestamp>")
    if kinds.assigned:
        states = states.join(F.broadcast(_assigned(events, topics)), INCARNATION, "left")
        assigned = F.col("assigned")
    if kinds.reassigned:
        states = states.join(F.broadcast(_reassigned(events, topics)), ["cluster", "topic", "partition"], "left")
        reassigned, writes = F.coalesce("reassigned", F.lit(False)), F.col("writes")
    return states.withColumns({"assigned": assigned, "reassigned": reassigned, "writes": writes})


def _with_steps(numbered: DataFrame, events: DataFrame, lives: DataFrame, seen: DataFrame) -> DataFrame:
    """States -> the same; of incarnations of which lines tell without partition epoch, those that all lines together tell of."""
    unnumbered = checkpointed(with_incarnation(to_unnumbered_observations(events), lives))
    changes = checkpointed(to_changes_by_leader(with_incarnation(events.where("topic IS NOT NULL"), lives)))
    told_by_steps = checkpointed(
        unnumbered.select(*INCARNATION).union(changes.where("leader_epoch IS NOT NULL").select(*INCARNATION)).distinct()
    )
    said = checkpointed(_said(numbered.join(told_by_steps, INCARNATION, "left_semi"), unnumbered, changes, seen))
    by_steps = with_history_of_incarnation(
        to_ordered_states(said, MOST_EVIDENCE).unionByName(_two_leaders(said), allowMissingColumns=True), lives
    )
    in_epoch = Window.partitionBy(HISTORY, "leader_epoch")
    decided = by_steps.withColumn("controller_epoch", F.min("controller_epoch").over(in_epoch))
    by_number = numbered.join(told_by_steps, INCARNATION, "left_anti")
    return by_number.unionByName(decided, allowMissingColumns=True)


def _lasting(states: DataFrame, kraft: DataFrame, fenced: DataFrame) -> DataFrame:
    """Of KRaft's states whether none can have lost a replica before: HISTORY, `ordinal`, `is_lasting`.

    KRaft logs each reassignment that adds replicas, but no word of one that only removes some, and is done at once. So who is
    in sync at some time was a replica all the time before, and what a line prints counts for all states before it. After
    that, a removal would have raised the leader epoch (PartitionChangeBuilder), keeping the leader or taking it out of the
    ISR. So it was none where the epoch stays, or rises because the leader was fenced, comes back, or gives way in sync.
    """
    of_partition = Window.partitionBy(HISTORY)
    order = of_partition.orderBy("ordinal")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    told_after = F.max(F.when(F.col("replicas").isNotNull(), F.col("ordinal"))).over(of_partition) >= F.col("ordinal")
    in_kraft = states.join(F.broadcast(kraft), "cluster", "left_semi")
    last = (
        in_kraft.select(HISTORY, "ordinal", F.explode("isr").alias("replica"))
        .groupBy(HISTORY, "replica")
        .agg(F.max("ordinal").alias("last"))
        .groupBy(HISTORY)
        .agg(F.map_from_entries(F.collect_list(F.struct("replica", "last"))).alias("last_in_sync"))
    )
    before = F.lag(F.struct("leader", "leader_epoch", "at")).over(order)
    was, at, leader = F.col("before.leader"), F.col("at"), F.col("leader")
    was_fenced = F.exists("fencings", lambda fencing: (fencing >= F.col("before.at")) & (fencing <= at))
    no_removal = (F.col("leader_epoch") == F.col("before.leader_epoch")) | (
        (F.col("leader_epoch") == F.col("before.leader_epoch") + 1)
        & (
            ((was >= 0) & (leader == -1))
            | ((was == -1) & (leader >= 0))
            | ((was != leader) & (F.array_contains("isr", was) | F.coalesce(was_fenced, F.lit(False))))
        )
    )
    members = F.first("replicas", ignorenulls=True).over(
        of_partition.orderBy("ordinal").rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    )
    in_sync_after = F.forall(
        "members", lambda r: F.coalesce(F.element_at("last_in_sync", r) >= F.col("ordinal"), F.lit(False))
    )
    return (
        in_kraft.withColumns({"before": before, "members": members, "told_after": told_after})
        .withColumn("leader_before", was)
        .join(F.broadcast(fenced.withColumnRenamed("leader", "leader_before")), ["cluster", "leader_before"], "left")
        .join(last, HISTORY, "left")
        .withColumns(
            {
                "run": F.sum(F.when(F.coalesce(no_removal, F.lit(False)), 0).otherwise(1)).over(so_far),
                "proven": F.coalesce("told_after", F.lit(False)) | F.coalesce(in_sync_after, F.lit(False)),
            }
        )
        .select(
            HISTORY,
            "ordinal",
            F.max("proven")
            .over(
                Window.partitionBy(HISTORY, "run")
                .orderBy("ordinal")
                .rowsBetween(Window.unboundedPreceding, Window.currentRow)
            )
            .alias("is_lasting"),
        )
    )


def _numbered(said: DataFrame, *, kraft: bool) -> DataFrame:
    """OBSERVATIONS with HISTORY -> one row per partition epoch, parts filled in from neighbours that are known to share them.

    What lines contradict each other about stays null, and `contradiction` tells what they say. Without KRaft's lines
    only leaders are known to be kept, and there are no eligible leader replicas.
    """
    flags = _KEPT if kraft else {"keeps_leader": _KEPT["keeps_leader"]}
    eligible = _ELIGIBLE if kraft else ()

    def only(name: str) -> Column:
        return F.when(F.min(name) == F.max(name), F.min(name)).alias(name)

    several = F.coalesce(F.greatest(*(F.min(name) < F.max(name) for name in _TOLD)), F.lit(False))
    in_order = said.repartition(HISTORY).sortWithinPartitions(HISTORY, "partition_epoch")
    states = in_order.groupBy(HISTORY, "partition_epoch").agg(
        F.max("topic_id").alias("topic_id"),
        *(only(name) for name in (*_TOLD, *eligible)),
        F.when(several, _as_told(F.collect_set(F.struct(*_TOLD)))).alias("contradiction"),
        F.min("controller_epoch").alias("controller_epoch"),
        _first_assignment().alias("assignment"),
        F.max("by_leader").alias("by_leader"),
        *(F.max(flag).alias(flag) for flag in flags),
        F.min("at").alias("at"),
        evidence(once=not kraft).alias("evidence"),  # of KRaft's changes a line tells two states, which may be one
    )
    known = _checked(_filled(states, flags)).withColumns(_of_assignment()).drop("assignment")
    return known.withColumns(
        {"inferred": F.lit(False)}
        | {
            name: F.when(F.col("contradiction").isNull(), F.col(name) if kraft else None).cast("array<int>")
            for name in _ELIGIBLE
        }
    )


def _first_assignment() -> Column:
    """Of a group of statements the assignment that was told first, with its time; null if none was."""
    return F.min(F.when(F.col("replicas").isNotNull(), F.struct("at", "replicas")))


def _of_assignment() -> dict[str, Column]:
    """`replicas` and `told_at`, when they were told, from `_first_assignment`."""
    return {"replicas": F.col("assignment.replicas"), "told_at": F.col("assignment.at")}


_TOLD = ("leader", "leader_epoch", "isr")
MOST_HIDDEN = 10
"""Partition epochs in a row that are told by their neighbours; more were never seen."""
_ELIGIBLE = ("elr", "last_known_elr")
_KEPT = {
    "keeps_leader": ("leader", "leader_epoch"),
    "keeps_isr": ("isr",),
    "keeps_elr": ("elr",),
    "keeps_last_known_elr": ("last_known_elr",),
}
"""Flags of statements, and what they say is as in the partition epoch before."""


def _as_told(told: Column) -> Column:
    """What different lines say of a state, in words: `leader 1, leader epoch 3, ISR 1,2; leader 2, leader epoch 3`."""

    def words(one: Column) -> Column:
        isr = F.concat(F.lit("ISR "), F.concat_ws(",", one["isr"].cast("array<string>")))
        return F.concat_ws(
            ", ",
            F.concat(F.lit("leader "), one["leader"]),
            F.concat(F.lit("leader epoch "), one["leader_epoch"]),
            F.when(one["isr"].isNotNull(), isr),
        )

    return F.concat_ws("; ", F.array_sort(F.transform(told, words)))


def _filled(states: DataFrame, flags: Mapping[str, tuple[str, ...]]) -> DataFrame:
    """Carry values both ways along runs of adjacent partition epochs that are known to have kept them.

    Also `highest_before` and `lowest_after`, of leader epochs that lines tell.
    """
    order = Window.partitionBy(HISTORY).orderBy("partition_epoch")
    backwards = Window.partitionBy(HISTORY).orderBy(F.desc("partition_epoch"))
    before, so_far = (Window.unboundedPreceding, -1), (Window.unboundedPreceding, Window.currentRow)
    adjacent = (
        (F.lag("partition_epoch").over(order) + 1 == F.col("partition_epoch"))
        & F.col("contradiction").isNull()
        & F.lag("contradiction").over(order).isNull()
    )

    def nearest(name: str, ends: Column, frame: WindowSpec) -> Column:
        """The value nearest in a frame, if no run ends before it."""
        stop = F.when(F.col(name).isNotNull() | ends, F.struct(name))
        return F.last(stop, ignorenulls=True).over(frame)[name]

    marked = states.withColumns(
        {flag: F.coalesce(F.col(flag) & adjacent, F.lit(False)) for flag in flags}
        | {"highest_before": F.max("leader_epoch").over(order.rowsBetween(*before))}
    )
    carried = marked.withColumns(
        {f"{name}_before": nearest(name, ~F.col(flag), order.rowsBetween(*so_far)) for flag, of in flags.items() for name in of}
        | {f"{flag}_on": F.lead(flag, 1, False).over(order) for flag in flags}
    ).withColumns(
        {f"{name}_after": nearest(name, ~F.col(f"{flag}_on"), backwards.rowsBetween(*so_far)) for flag, of in flags.items() for name in of}
        | {"lowest_after": F.min("leader_epoch").over(backwards.rowsBetween(*before))}
    )  # fmt: skip
    names = [name for of in flags.values() for name in of]
    return carried.withColumns({name: F.coalesce(name, f"{name}_before", f"{name}_after") for name in names}).drop(
        *flags,
        *(f"{flag}_on" for flag in flags),
        *(f"{name}_before" for name in names),
        *(f"{name}_after" for name in names),
    )


def _checked(states: DataFrame) -> DataFrame:
    """Rows of `_filled` -> the same; nothing is left of states that contradict each other.

    A leader epoch has one leader, and it never falls from one partition epoch to the next. It has also one controller epoch:
    a leader writes the one it was elected under, but a later reign may send the same state as its own.
    """
    in_epoch = Window.partitionBy(HISTORY, "leader_epoch")
    least, most = F.min("leader").over(in_epoch), F.max("leader").over(in_epoch)
    found = F.coalesce(
        "contradiction",
        F.when(F.col("leader_epoch") < F.col("highest_before"), F.concat_ws(" ", F.lit("leader epoch"), "leader_epoch", F.lit("after"), "highest_before")),
        F.when(F.col("leader_epoch") > F.col("lowest_after"), F.concat_ws(" ", F.lit("leader epoch"), "leader_epoch", F.lit("before"), "lowest_after")),
        F.when(
            F.col("leader_epoch").isNotNull() & (least < most),
            F.concat(F.lit("leaders "), least, F.lit(", "), most, F.lit(" in one leader epoch")),
        ),
    )  # fmt: skip
    sure = F.col("contradiction").isNull()
    decided = F.min(F.when(sure, F.col("controller_epoch"))).over(in_epoch)
    return (
        states.withColumn("contradiction", found)
        .withColumn(
            "controller_epoch", F.when(F.col("leader_epoch").isNotNull(), decided).otherwise(F.col("controller_epoch"))
        )
        .withColumns({name: F.when(sure, F.col(name)) for name in _TOLD})
        .drop("highest_before", "lowest_after")
    )


def _fenced(events: DataFrame, controllers: DataFrame) -> DataFrame:
    """When the active KRaft controller fenced whom: cluster, leader, `fencings`, all of its times in order."""
    told = events.where("event_type = 'kraft_broker_fenced'").select(
        "cluster", "node_id", "at", F.coalesce(number_of("broker"), F.col("broker_id")).alias("leader")
    )
    return (
        by_active_controller(told, controllers)
        .groupBy("cluster", "leader")
        .agg(F.array_sort(F.collect_set("at")).alias("fencings"))
    )


def _with_implied(states: DataFrame, kraft: DataFrame, heard: DataFrame, fenced: DataFrame) -> DataFrame:
    """Rows of `_numbered` -> the same, and what KRaft's rules leave no choice about, marked `inferred`.

    - A leader that was the only one in sync is lost (only followers tell, and not the ISR): it stays the last member, or
      with eligible leader replicas the ISR is empty.
    - A leader gives way, to another or to none, when it is fenced, however late somebody tells.
    - Partition epochs between two that agree in leader, leader epoch and ISR: only the leader expands an ISR, and it says
      so. So where it was heard all the time and said nothing, neither changed (but replicas, directories or the like).
    - One between a leader alone in sync and nobody: the leader, once fenced, becomes an eligible leader replica. So where
      it is none afterwards, it was lost in the partition epoch between (and that it was eligible was taken back after).
    """
    order = Window.partitionBy(HISTORY).orderBy("partition_epoch")
    before = F.struct("leader", "leader_epoch", "partition_epoch", "isr", "at", "evidence")

    def was(name: str) -> Column:
        return F.col("before")[name]

    alone = was("isr") == F.array(was("leader"))
    gave_way = (
        (F.col("leader") != was("leader"))
        & (F.col("leader_epoch") == was("leader_epoch") + 1)
        & (was("partition_epoch") + 1 == F.col("partition_epoch"))
    )
    lost = (F.col("leader") == -1) & gave_way
    last_isr = F.when(F.col("keeps_last_member"), was("isr")).when(
        ~F.col("keeps_last_member"), F.array().cast("array<int>")
    )
    implied_isr = F.when(F.col("kraft") & F.col("isr").isNull() & lost & alone, last_isr)
    hidden = (
        F.col("kraft")
        & (F.col("partition_epoch") - was("partition_epoch")).between(2, MOST_HIDDEN + 1)
        & (was("leader") == F.col("leader"))
        & (F.col("leader") >= 0)
        & (was("leader_epoch") == F.col("leader_epoch"))
        & (was("isr") == F.col("isr"))
        & ~F.coalesce("by_leader", F.lit(False))
        & F.exists("coverage", lambda s: (s["covered_since"] <= was("at")) & (F.col("at") <= s["covered_until"]))
    )
    hidden_loss = (
        F.col("kraft")
        & (was("partition_epoch") + 2 == F.col("partition_epoch"))
        & ~F.col("keeps_last_member")
        & (F.col("leader") == -1)
        & (was("leader_epoch") + 1 == F.col("leader_epoch"))
        & alone
        & (F.size("isr") == 0)
        & ~F.array_contains("elr", was("leader"))
        & F.col("fenced_at").isNotNull()
    )
    fenced_at = F.get(F.filter("fencings", lambda t: (t >= was("at")) & (t <= F.col("at"))), F.lit(0))

    def between(epoch: Column, at: Column) -> Column:
        return F.struct(
            epoch.alias("partition_epoch"), "leader", "leader_epoch", "isr", "controller_epoch",
            F.lit(True).alias("inferred"), at.alias("at"),
            F.slice(F.concat(was("evidence"), F.col("evidence")), 1, MOST_EVIDENCE).alias("evidence"),
        )  # fmt: skip

    known = (
        states.join(F.broadcast(kraft.withColumn("kraft", F.lit(True))), "cluster", "left")
        .withColumn("before", F.lag(before).over(order))
        .withColumn("leader_before", was("leader"))
        .join(F.broadcast(fenced.withColumnRenamed("leader", "leader_before")), ["cluster", "leader_before"], "left")
        .join(F.broadcast(heard), ["cluster", "leader"], "left")
        .withColumns({"fenced_at": fenced_at, "implied_isr": implied_isr})
    )
    told = known.withColumns(
        {
            "new": F.when(
                hidden,
                F.transform(
                    F.sequence(was("partition_epoch") + 1, F.col("partition_epoch") - 1),
                    lambda epoch: between(epoch, F.col("at")),
                ),
            ).when(hidden_loss, F.array(between(F.col("partition_epoch") - 1, F.col("fenced_at")))),
            "inferred": F.col("implied_isr").isNotNull(),
            "isr": F.coalesce("isr", "implied_isr"),
            "elr": F.coalesce("elr", F.when(F.col("keeps_last_member"), F.array().cast("array<int>"))),
            "at": F.coalesce(F.when(F.col("kraft") & gave_way, F.col("fenced_at")), F.col("at")),
        }
    )
    return _with_new(told, states.columns)


def _with_new(states: DataFrame, columns: list[str]) -> DataFrame:
    """Rows with `new`, an array of structs -> `columns` of the rows and of what is new: keys as in its row, else null if not given.

    All in one pass: a union would read (and plan) the rows twice.
    """
    types = {field.name: field.dataType for field in states.schema}
    given = cast("T.StructType", cast("T.ArrayType", types["new"]).elementType).fieldNames()
    own = {HISTORY, *INCARNATION, "topic_id"}

    def value(new: Column, name: str) -> Column:
        return new[name] if name in given else F.col(name) if name in own else F.lit(None).cast(types[name])

    others = [
        name for name in columns if name != HISTORY
    ]  # which is left as it is, for Spark knows how it is distributed
    rows = F.transform("new", lambda new: F.struct(*(value(new, name).alias(name) for name in others)))
    row = F.array(F.struct(*others))
    return states.select(HISTORY, F.explode(F.coalesce(F.concat(row, rows), row)).alias("state")).select(
        HISTORY, "state.*"
    )


def _removals(events: DataFrame, topics: DataFrame, facts: ClusterFacts) -> DataFrame:
    """INCARNATION, `removals` and `deleting`: replicas that ZooKeeper's controllers took offline, in order, and those of
    them that belong to the topic's deletion. Of reigns that do not log what they made of it (`udfs.reconstruct.zk_inferred`).
    """
    starts = (
        with_incarnation(events.where("event_type = 'topic_deletion_started' AND topic IS NOT NULL"), topics)
        .groupBy("cluster", "topic", "incarnation", "node_id")
        .agg(F.min("at").alias("started"))
    )
    removal = F.struct(
        F.unix_micros("at").alias("at"),
        "node_id",
        "file_id",
        "line",
        number_of("replica").alias("replica"),
        "controller_epoch",
    )
    return (
        with_incarnation(facts.without_result(events.where(is_replica_offline())), topics)
        .join(F.broadcast(starts), ["cluster", "topic", "incarnation", "node_id"], "left")
        .groupBy(*INCARNATION)
        .agg(
            F.array_sort(F.collect_list(removal)).alias("removals"),
            F.array_sort(F.collect_list(F.when(F.col("started") <= F.col("at"), removal))).alias("deleting"),
        )
    )


def _with_removals(states: DataFrame, removals: DataFrame, heard: DataFrame) -> DataFrame:
    """Numbered states -> the same, and those `inferred` that only the removal of a replica from the ISR tells of.

    After the last state that is known they count while the topic is being deleted, if its leader was heard all the time
    and said nothing.
    """
    order = Window.partitionBy(HISTORY).orderBy("partition_epoch")
    whole = F.col("leader").isNotNull() & F.col("leader_epoch").isNotNull() & F.col("isr").isNotNull()
    state = F.struct("leader", "leader_epoch", "partition_epoch", "isr")
    known = states.join(F.broadcast(removals), INCARNATION, "left").withColumns(
        {
            "next_epoch": F.lead("partition_epoch").over(order),
            "after": F.lead(F.when(whole, state)).over(order),
            "next_at": F.unix_micros(F.lead("at").over(order)),
        }
    )
    since = F.unix_micros("at")
    between = whole & F.col("after").isNotNull()
    last = whole & F.col("next_epoch").isNull() & (F.size("deleting") > 0)
    candidates = F.when(between, F.filter("removals", lambda r: r["at"].between(since, F.col("next_at")))).when(
        last, F.col("deleting")
    )
    to_be_heard = F.when(
        last & (F.col("leader") >= 0), F.timestamp_micros(F.try_element_at("deleting", F.lit(-1))["at"])
    )
    in_sight = F.exists(
        "coverage", lambda s: (s["covered_since"] <= F.col("at")) & (s["covered_until"] >= F.col("needed"))
    )
    sure = F.col("needed").isNull() | F.coalesce(in_sight, F.lit(False))
    told = (
        known.withColumns({"candidates": candidates, "needed": to_be_heard})
        .join(F.broadcast(heard), ["cluster", "leader"], "left")
        .withColumn("written", inferred_states(state, since, F.when(sure, F.col("candidates")), F.col("after")))
    )

    def new(written: Column) -> Column:
        removal = written["made_by"]
        line = F.struct(
            removal["node_id"].alias("node_id"), removal["file_id"].alias("file_id"), removal["line"].alias("line")
        )
        return F.struct(
            *(written[name].alias(name) for name in ("leader", "leader_epoch", "partition_epoch", "isr")),
            removal["controller_epoch"].alias("controller_epoch"), F.lit(True).alias("inferred"), F.timestamp_micros(removal["at"]).alias("at"),
            F.concat(F.slice("evidence", 1, 1), F.array(line)).alias("evidence"),
        )  # fmt: skip

    # a state that is told late is as old as the removal that made it
    reached = F.lag(F.when(F.col("after").isNotNull(), F.try_element_at("written", F.lit(-1))["made_by"])).over(order)
    untold_ones = F.filter(
        "written", lambda w: F.col("next_epoch").isNull() | (w["partition_epoch"] < F.col("next_epoch"))
    )
    early = told.withColumns({"new": F.transform(untold_ones, new), "reached": reached})
    dated = early.withColumns(
        {
            "at": F.least("at", F.timestamp_micros("reached.at")),
            "evidence": F.when(
                F.timestamp_micros("reached.at") < F.col("at"),
                F.slice(
                    F.concat(
                        F.array(F.struct("reached.node_id", "reached.file_id", "reached.line")), F.col("evidence")
                    ),
                    1,
                    MOST_EVIDENCE,
                ),
            ).otherwise(F.col("evidence")),
        }
    )
    return _with_new(dated, states.columns)


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
            _first_assignment().alias("assignment"),
            evidence().alias("evidence"),
        )
        .withColumns(nothing)
        .withColumns(_of_assignment())
    )
    whole = numbered.where("leader IS NOT NULL AND leader_epoch IS NOT NULL AND isr IS NOT NULL")
    rows = (
        whole.withColumns(nothing)
        .withColumn("line", F.lit(0).cast("long"))
        .unionByName(told, allowMissingColumns=True)
        .unionByName(changes.withColumn("evidence", line_as_evidence()), allowMissingColumns=True)
    )
    at_the_time = F.col("at").between(F.col("seen.covered_since"), F.col("seen.covered_until"))
    same = (F.col("rows.cluster") == F.col("seen.cluster")) & (F.col("rows.leader") == F.col("seen.leader"))
    return (
        rows.alias("rows")
        .join(F.broadcast(seen).alias("seen"), same & at_the_time, "left")
        .select(*(F.col(name if name.startswith("covered_") else f"rows.{name}") for name in SAID.names))
    )


def _two_leaders(said: DataFrame) -> DataFrame:
    """SAID -> a row per leader epoch for which lines name several leaders; none of them is known then."""
    leaders = F.array_sort(F.collect_set("leader"))
    lines = F.slice(F.array_distinct(F.flatten(F.collect_list("evidence"))), 1, MOST_EVIDENCE)
    return (
        said.where("leader_epoch IS NOT NULL")
        .groupBy(*INCARNATION, "leader_epoch")
        .agg(leaders.alias("leaders"), F.min("at").alias("at"), lines.alias("evidence"))
        .where("size(leaders) > 1")
        .withColumn("contradiction", F.concat_ws(" or ", F.transform("leaders", lambda one: F.concat(F.lit("leader "), one))))
        .drop("leaders")
    )  # fmt: skip


def _assigned(events: DataFrame, topics: DataFrame) -> DataFrame:
    """Assignments that ZooKeeper's controllers gave new partitions: INCARNATION, `assigned`."""
    return (
        with_incarnation(events.where(is_new_assignment()), topics)
        .groupBy(*INCARNATION)
        .agg(F.min_by("replicas", "at").alias("assigned"))
    )


def _reassigned(events: DataFrame, topics: DataFrame) -> DataFrame:
    """Partitions that any controller's log or dump shows being reassigned: cluster, topic, partition, `reassigned`, and
    `writes`, when a ZooKeeper controller had written an assignment."""
    names = topics.where("topic_id IS NOT NULL").select("cluster", "topic_id", F.col("topic").alias("name"))
    return (
        events.where(is_reassignment())
        .join(F.broadcast(names), ["cluster", "topic_id"], "left")
        .groupBy("cluster", F.coalesce("topic", "name").alias("topic"), "partition")
        .agg(F.lit(True).alias("reassigned"), F.collect_set(F.when(is_assignment_write(), F.col("at"))).alias("writes"))
    )


def with_until(states: DataFrame, topics: DataFrame) -> DataFrame:
    """Rows of `to_states` -> the same with `until`: the next row's start, or the end of the topic."""
    backwards = Window.partitionBy(HISTORY).orderBy(F.desc("ordinal"))  # as `to_states` leaves its rows
    ends = topics.select("cluster", "topic", "incarnation", F.col("until").alias("gone"))
    end = F.greatest("gone", F.when(F.col("gone").isNotNull(), F.col("since")))
    known = states.join(F.broadcast(ends), ["cluster", "topic", "incarnation"], "left")
    return known.withColumn("until", F.coalesce(F.lag("since").over(backwards), end)).drop("gone")


def to_partition_timeline(states: DataFrame, topics: DataFrame, settings: Settings) -> DataFrame:
    """Rows of `to_states`, TOPIC_TIMELINE -> PARTITION_TIMELINE: those whose leader, leader epoch and ISR are known."""
    backwards = Window.partitionBy(HISTORY).orderBy(F.desc("ordinal"))  # as `to_states` leaves its rows
    known = states.where("leader IS NOT NULL AND leader_epoch IS NOT NULL AND isr IS NOT NULL")
    timed = with_until(known, topics).withColumns(
        {
            "previous_leader_epoch": F.lead("leader_epoch").over(backwards),
            "adjacent": F.coalesce(
                F.lead("partition_epoch").over(backwards) + 1 == F.col("partition_epoch"), F.lit(False)
            ),
            "missing_before": F.col("partition_epoch") - 1 - F.lead("partition_epoch", 1, -1).over(backwards),
        }
    )
    return timed.withColumns(
        {
            "availability": availability(settings),
            "made_by": made_by(),
            "inferred": F.coalesce("inferred", F.lit(False)),
        }
    ).select(*PARTITION_TIMELINE.columns)


def to_contradictions(states: DataFrame) -> DataFrame:
    """Rows of `to_states` -> CONTRADICTIONS."""
    return states.where("contradiction IS NOT NULL").select(*CONTRADICTIONS.columns)


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
