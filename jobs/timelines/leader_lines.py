"""What leaders log of their own ISR, read together with when they began to lead: their lines lack the leader epoch.

Until 2.3 a leader writes a changed ISR itself, at once: there its line is a change, unless the next one logs that it
was refused. From 2.4 on those lines are intentions, and `ISR updated to` reports what was written, with the partition
epoch. A write needs the partition epoch that the leader knows, so it was written in the leader epoch that it knows, and
onto the ISR that it knows: the state just before is the one that the intention starts from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.timelines.cluster_facts import day_of, days
from jobs.timelines.lost_minutes import to_silences
from jobs.timelines.observations import (
    EPOCH_STARTED,
    LEADER_STARTED,
    OBSERVATIONS,
    ids_of,
    number_of,
    select_observations,
    sorted_ids,
)
from jobs.timelines.running_windows import rows_from
from jobs.timelines.sorted_times import number_until
from jobs.timelines.topics import INCARNATION
from schemas.spark import FLAG, IDS, INT, column
from udfs.logs.coverage import TOLERANCE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

REPORTED = "isr_updated"
REFUSED = "isr_update_rejected_by_zk"
PROCESS_STARTS = "broker_starting"
NO_LEADER_SENT = "become_follower_leader_unavailable"
"""With ZooKeeper a broker is sent a leader that it does not know, or -1, none."""
CHANGES = ("isr_shrinking", "isr_expanding", REFUSED, REPORTED)
STARTED = (EPOCH_STARTED, LEADER_STARTED)
"""A leader begins a leader epoch."""
FOLLOWS = "partition_follower_epoch_started"
SENT = "leader_and_isr_request_received"
CACHED = "metadata_cache_updated"
BROKEN = ("zk_session_timed_out", "zk_session_disconnected")
"""A broker has lost its connection to ZooKeeper, some time before."""
EXPIRED = ("zk_session_expired", "zk_session_state_changed")
SESSION_EVENTS = (*BROKEN, *EXPIRED, "zk_session_established")
LONGEST_SESSION = "INTERVAL 30 SECONDS"
"""So long before a session expires the connection was lost, where no line tells when: longer than Kafka's defaults."""
WRITER = [*INCARNATION, "node_id"]

CHANGES_BY_LEADER = T.StructType(
    [
        *(
            field
            for field in OBSERVATIONS
            if field.name not in ("elr", "last_known_elr", "by_leader", "is_replayed", "is_deduced")
            and not field.name.startswith("keeps_")
        ),
        column("incarnation", INT, "Incarnation of the topic."),
        column("isr_before", IDS, "ISR before, sorted."),
        column(
            "is_accepted", FLAG, "False if the store refused it; then the partition epoch is that of the ISR before."
        ),
        column("is_doubtful", FLAG, "Whether the writer's session with ZooKeeper ended before it could be written."),
        column("writes", FLAG, "Whether the writer's release logs changes as it writes them; null unknown."),
        column("process", INT, "How many processes of its node had started by then: two of one number are of one."),
    ]
)


def to_leader_lines(events: DataFrame, coverage: DataFrame, starts: DataFrame, shown: DataFrame) -> DataFrame:
    """EVENTS with `incarnation`, LOG_COVERAGE, EVENTS by which processes start, rows of `to_epoch_bounds` with
    `incarnation` -> a row for each line of CHANGES, as its columns and:

    - `term`: the line by which its writer had begun to lead by then, or, where the log begins later, had last been told
      that it leads (`leader_epoch, file_id, line`); null if no line shows it, if the writer follows, or if its logs
      have a hole since, or its process ended: another one is told anew, in a log that may be missing;
    - `is_clear`: no line of another file at the same time begins another leader epoch;
    - `is_refuted`: `shown` has a later leader epoch than `term` by then: the writer's own line of one is missing;
    - `may_be_later`: of the leader epoch behind that of `term` no line shows who led, but of a later one;
    - `writes`: whether the writer is of a release whose leaders log changes as they write them; null unknown;
    - `before`, `next`: the writer's change before and the next one (`event_type, term, isr, old_isr, partition_epoch,
      at, file_id, line`, and `is_first`: whether it is the first of its term).
    """
    kind, node = F.col("event_type"), F.coalesce("node_id", "broker_id")
    is_start = kind.isin(*STARTED, FOLLOWS, SENT) & F.col("leader_epoch").isNotNull()
    leads = kind.isin(*STARTED) | (kind.isin(SENT, CACHED) & (F.col("leader") == node))
    # UpdateMetadata follows the LeaderAndIsr request of the same leader epoch
    is_cached = (kind == CACHED) & leads & F.col("leader_epoch").isNotNull()
    lines = events.where((kind.isin(*CHANGES) | is_start | is_cached) & F.col("topic").isNotNull() & node.isNotNull())
    # of two lines about it at one time not the file's id decides, which depends on what was read first
    term = F.struct("leader_epoch", leads.alias("leads"), "at", "line", "file_id")
    order = Window.partitionBy(*WRITER).orderBy("at", "line", "file_id")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    by_time = Window.partitionBy(*WRITER).orderBy(F.unix_micros("at"))
    earlier = by_time.rangeBetween(Window.unboundedPreceding, -1)
    is_newer = F.col("newest").isNull() | (F.col("cached.leader_epoch") > F.col("newest.leader_epoch"))
    with_terms = (
        lines.withColumns({"node_id": node, "is_start": is_start, "is_change": kind.isin(*CHANGES)})
        .withColumns(
            {
                "newest": F.max(F.when(is_start, term)).over(so_far),
                "cached": F.max(F.when(is_cached, term)).over(earlier),
                "newest_before": F.max(F.when(is_start, F.col("leader_epoch"))).over(earlier),
                "newest_by_then": F.max(F.when(is_start, F.col("leader_epoch"))).over(
                    by_time.rangeBetween(Window.unboundedPreceding, 0)
                ),
                "writes": F.last(_writes(node), ignorenulls=True).over(so_far),
            }
        )
        .where("is_change")
        .withColumn("newest", F.when(is_newer, F.col("cached")).otherwise(F.col("newest")))
    )
    covered = with_terms.withColumn("day", day_of("newest.at")).join(
        F.broadcast(_spans_by_day(coverage, starts)), ["cluster", "node_id", "day"], "left"
    )
    in_term = covered.withColumns(
        {
            "term": F.when(F.col("newest.leads") & ~_has_hole_since(F.col("newest.at")), F.col("newest")),
            "is_clear": F.col("newest_before").eqNullSafe(F.col("newest_by_then"))
            | (F.col("newest.file_id") == F.col("file_id")),
        }
    )
    is_first = ~F.lag("term").over(order)["leader_epoch"].eqNullSafe(F.col("term.leader_epoch"))
    in_term = _with_refuted(in_term, shown).withColumn("is_first", is_first)
    names = ("event_type", "term", "isr", "partition_epoch", "at", "file_id", "line", "is_first")
    change = F.struct(*names, ids_of("old_isr").alias("old_isr"))
    return in_term.withColumns({"before": F.lag(change).over(order), "next": F.lead(change).over(order)}).drop(
        "newest", "cached", "newest_before", "newest_by_then", "is_start", "is_change", "spans", "day"
    )


def _with_refuted(lines: DataFrame, shown: DataFrame) -> DataFrame:
    """Rows with INCARNATION, `at` and `term`, rows of `to_epoch_bounds` -> the former with `is_refuted` and
    `may_be_later`. That a later leader epoch is shown before may be no more than that nodes' clocks differ: then the
    leaders of both tell (`placed_changes`)."""
    by_time = Window.partitionBy(*INCARNATION).orderBy(F.unix_micros("at"))
    by_then = by_time.rangeBetween(Window.unboundedPreceding, -1)
    later = rows_from(INCARNATION, "own_epoch", 1)
    own_epoch = F.coalesce("term.leader_epoch", "shown_epoch")
    led_epoch = F.when(F.col("leader").isNotNull(), F.col("shown_epoch")).alias("led_epoch")
    epochs = shown.where("shown_epoch IS NOT NULL").select(*INCARNATION, "at", "shown_epoch", led_epoch)
    is_later = F.max("shown_epoch").over(by_then) > own_epoch
    both = lines.unionByName(epochs, allowMissingColumns=True).withColumn("own_epoch", own_epoch)
    return (
        both.withColumns(
            {
                "is_refuted": F.coalesce(is_later, F.lit(False)),
                "may_be_later": F.coalesce(F.min("led_epoch").over(later) > own_epoch + 1, F.lit(False)),
            }
        )
        .where("is_change")
        .drop("shown_epoch", "led_epoch", "own_epoch")
    )


def with_lost_begins(lines: DataFrame, events: DataFrame) -> DataFrame:
    """Rows of `to_leader_lines`, EVENTS -> the former, refuted also where their writer may have begun another leader
    epoch while its logs are silent: where there may have been one in which it led, or led on, and there is room for it:
    between two changes of the partition each leader epoch is a write, too."""
    in_doubt = lines.where("may_be_later AND NOT is_refuted AND term IS NOT NULL")
    if in_doubt.isEmpty():
        return lines
    nodes = in_doubt.select("cluster", "node_id").distinct()
    silences = to_silences(events.join(F.broadcast(nodes), ["cluster", "node_id"], "left_semi"), "node_id")
    of_node = silences.groupBy("cluster", "node_id").agg(F.collect_list(F.struct("since", "until")).alias("silences"))
    begun, at = F.unix_micros("term.at"), F.unix_micros("at")
    was_silent = F.exists("silences", lambda one: (one["since"] >= begun) & (one["until"] <= at))
    is_lost = F.col("may_be_later") & F.coalesce(was_silent, F.lit(False))
    flagged = lines.join(F.broadcast(of_node), ["cluster", "node_id"], "left").withColumn("is_lost", is_lost)
    return (
        _with_room(flagged)
        .withColumn("is_refuted", F.col("is_refuted") | (F.col("is_lost") & F.col("has_room")))
        .drop("silences", "is_lost", "has_room")
    )


def _with_room(lines: DataFrame) -> DataFrame:
    """Rows of `to_leader_lines` with `is_lost` -> the same with `has_room`: whether a leader epoch that no line shows
    may have begun before a change. It may not if those that are known since the change before, of which the same is so,
    or which is in no doubt, take all the partition epochs between."""
    is_numbered = (F.col("event_type") == REPORTED) & F.col("partition_epoch").isNotNull() & F.col("term").isNotNull()
    order = Window.partitionBy(*INCARNATION, "is_numbered").orderBy("partition_epoch", "at", "line", "file_id")
    writes, epoch = F.col("partition_epoch"), F.col("term.leader_epoch")
    is_full = writes - F.lag(writes).over(order) - 1 == epoch - F.lag(epoch).over(order)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    of_chain = Window.partitionBy(*INCARNATION, "is_numbered", "chain").orderBy(
        "partition_epoch", "at", "line", "file_id"
    )
    is_wrong = F.first(F.col("is_lost") | F.col("is_refuted")).over(
        of_chain.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return (
        lines.withColumn("is_numbered", F.coalesce(is_numbered, F.lit(False)))
        .withColumn("chain", F.sum(F.when(is_full, 0).otherwise(1)).over(so_far))
        .withColumn("has_room", ~F.col("is_numbered") | is_wrong)
        .drop("is_numbered", "chain")
    )


def with_styles_of_nodes(lines: DataFrame, events: DataFrame) -> DataFrame:
    """Rows of `to_leader_lines`, EVENTS -> the former with `writes` also where no line of the writer about the
    partition shows it: if all of its node's lines that show it agree."""
    lacking = lines.where("writes IS NULL").select("cluster", "node_id").distinct()
    if lacking.isEmpty():
        return lines
    node = F.coalesce("node_id", "broker_id")
    shown = events.withColumns({"node_id": node, "style": _writes(node)}).where("style IS NOT NULL")
    styles = (
        shown.join(F.broadcast(lacking), ["cluster", "node_id"], "left_semi")
        .groupBy("cluster", "node_id")
        .agg(F.min("style").alias("style"), F.max("style").alias("greatest"))
        .where("style = greatest")
        .drop("greatest")
    )
    return (
        lines.join(F.broadcast(styles), ["cluster", "node_id"], "left")
        .withColumn("writes", F.coalesce("writes", "style"))
        .drop("style")
    )


def _writes(node: Column) -> Column:
    """Whether a line shows that its writer's release logs changes as it writes them (until 2.3); null if it shows
    nothing.

    2.4.0 begins terms in the words of those before, and reports each change besides.
    """
    kind, message = F.col("event_type"), F.col("message")
    return (
        F.when((kind == SENT) & (F.col("leader") == node), ~message.contains("LeaderAndIsrPartitionState("))
        .when(kind == EPOCH_STARTED, message.contains("starts at Leader Epoch "))
        .when(kind == LEADER_STARTED, F.lit(False))
        .when(message.startswith("Partition ["), F.lit(True))
    )


def _spans_by_day(coverage: DataFrame, starts: DataFrame) -> DataFrame:
    """LOG_COVERAGE, EVENTS by which processes start -> cluster, node_id, day, `spans` on that day: when its logs are
    there, other than its controller's, and when each is `broken`: the log goes on after a hole, or is missing for long;
    and those of processes, broken by the start of the next one."""
    order = Window.partitionBy("cluster", "node_id", "kind").orderBy("since")
    long_after = F.col("until") + F.expr(f"INTERVAL {int(TOLERANCE.total_seconds())} SECONDS 1 MICROSECOND")
    span = F.struct("since", "until", "broken")
    of_brokers = coverage.where("kind <> 'controller' AND node_id IS NOT NULL")
    names = ("cluster", "node_id", "since", "until", "broken")
    of_logs = of_brokers.withColumn("broken", F.least(F.lead("since").over(order), long_after)).select(*names)
    in_order = Window.partitionBy("cluster", "node_id").orderBy("at")
    first = of_brokers.groupBy("cluster", "node_id").agg(F.min("since").alias("first"))
    processes = starts.join(F.broadcast(first), ["cluster", "node_id"]).withColumns(
        {"since": F.coalesce(F.lag("at").over(in_order), "first"), "until": F.col("at"), "broken": F.col("at")}
    )
    return (
        of_logs.unionByName(processes.where("since <= until").select(*names))
        .withColumn("day", days("since", "until"))
        .groupBy("cluster", "node_id", "day")
        .agg(F.collect_list(span).alias("spans"))
    )


def _has_hole_since(start: Column) -> Column:
    """Whether a log of the node that is there at a time ends before the row's, so that a newer term may be missing."""
    is_broken = F.exists(
        "spans", lambda span: start.between(span["since"], span["until"]) & (span["broken"] <= F.col("at"))
    )
    return F.coalesce(is_broken, F.lit(False))


def is_begin() -> Column:
    """Whether an event is the line of a leader that begins a leader epoch and prints no ISR (until 2.5)."""
    is_whole = F.col("topic").isNotNull() & F.col("leader_epoch").isNotNull() & F.col("node_id").isNotNull()
    return (F.col("event_type") == EPOCH_STARTED) & is_whole


def to_broken_sessions(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, node_id, `since`, `until`: when brokers had no connection to ZooKeeper, at the end of which
    their session had expired. What they were about to write meanwhile they wrote in vain."""
    kind = F.col("event_type")
    silent = F.make_dt_interval(secs=F.coalesce(number_of("silent_ms"), F.lit(0)) / 1000)
    is_expired = kind.isin(*EXPIRED) & (F.coalesce(F.col("fields")["state"], F.lit("Expired")) == "Expired")
    in_order = Window.partitionBy("cluster", "node_id").orderBy("at", "line", "file_id")
    established = F.sum((kind == "zk_session_established").cast("int")).over(in_order)
    expired_at = F.max(F.when(is_expired, F.col("at")))
    return (
        events.where(kind.isin(*SESSION_EVENTS) & F.col("node_id").isNotNull())
        .withColumn("session", established)
        .groupBy("cluster", "node_id", "session")
        .agg(F.min(F.when(kind.isin(*BROKEN), F.col("at") - silent)).alias("broken"), expired_at.alias("until"))
        .where("until IS NOT NULL")
        .select(
            "cluster", "node_id", F.coalesce("broken", F.col("until") - F.expr(LONGEST_SESSION)).alias("since"), "until"
        )
    )


def to_changes_by_leader(lines: DataFrame, broken_sessions: DataFrame, starts: DataFrame) -> DataFrame:
    """Rows of `to_leader_lines` and `to_broken_sessions`, EVENTS by which processes start -> CHANGES_BY_LEADER: what
    leaders up to Kafka 2.3 wrote themselves.

    A change belongs to the newest leader epoch under which its writer began to lead by then; null if no line shows it,
    or if another one may have begun since. So is it while no line shows the writer's release.
    """
    spans = broken_sessions.withColumn("day", days("since", "until")).groupBy("cluster", "node_id", "day")
    broken = spans.agg(F.collect_list(F.struct("since", "until")).alias("broken"))
    is_doubtful = F.exists("broken", lambda span: F.col("at").between(span["since"], span["until"]))
    is_refused = F.coalesce(F.col("next.event_type") == REFUSED, F.lit(False))
    changes = lines.where(
        F.col("event_type").isin("isr_shrinking", "isr_expanding") & F.coalesce("writes", F.lit(True))
    )
    by_day = changes.withColumn("day", day_of("at")).join(F.broadcast(broken), ["cluster", "node_id", "day"], "left")
    # one that was refused says which version its leader knew, but not in which leader epoch
    is_over = F.col("is_refuted") & (is_refused | ~F.coalesce(is_doubtful, F.lit(False)))
    started = starts.groupBy("cluster", "node_id").agg(F.collect_list("at").alias("starts"))
    with_starts = by_day.join(F.broadcast(started), ["cluster", "node_id"], "left")
    return with_starts.select(
        *(
            {
                "leader": F.col("node_id").alias("leader"),
                "leader_epoch": F.when(~is_over, F.col("term.leader_epoch")).alias("leader_epoch"),
                "partition_epoch": F.when(is_refused, F.col("next.partition_epoch")).alias("partition_epoch"),
                "controller_epoch": F.lit(None).cast("int").alias("controller_epoch"),
                "isr": sorted_ids(F.col("isr")).alias("isr"),
                "replicas": F.lit(None).cast(IDS).alias("replicas"),
                "isr_before": ids_of("old_isr").alias("isr_before"),
                "is_accepted": (~is_refused).alias("is_accepted"),
                "is_doubtful": F.coalesce(is_doubtful, F.lit(False)).alias("is_doubtful"),
                "process": F.coalesce(number_until("starts", F.col("at")), F.lit(0)).alias("process"),
            }.get(name, F.col(name))
            for name in CHANGES_BY_LEADER.fieldNames()
        )
    )


def to_reported_states(lines: DataFrame) -> DataFrame:
    """Rows of `to_leader_lines` -> OBSERVATIONS: what leaders report that was written, and the state just before it.

    The first change of a term starts from the state with which it began, which is as old as that.
    Where the leader epoch is that of the writer's term, a row more has the line that began it, as evidence.
    """
    term = F.when(F.col("is_clear") & ~F.col("is_refuted"), F.col("term"))
    isr = sorted_ids(F.col("isr"))
    is_intended = F.col("before.event_type").isin("isr_shrinking", "isr_expanding") & (
        sorted_ids(F.col("before.isr")) == isr
    )
    is_same_term = F.col("before.term.leader_epoch") == term["leader_epoch"]
    reported = lines.where((F.col("event_type") == REPORTED) & F.col("partition_epoch").isNotNull())

    def row(**values: Column) -> Column:
        names = ("partition_epoch", "at", "file_id", "line", "leader", "leader_epoch", "isr", "by_leader", "is_deduced")
        return F.struct(
            *(values.get(name, F.lit(None).cast(OBSERVATIONS[name].dataType)).alias(name) for name in names)
        )

    node, epoch = F.col("node_id"), F.col("partition_epoch")
    own = row(
        partition_epoch=epoch,
        at=F.col("at"),
        file_id=F.col("file_id"),
        line=F.col("line"),
        leader=node,
        leader_epoch=term["leader_epoch"],
        isr=isr,
        by_leader=F.lit(True),
        is_deduced=term.isNotNull(),
    )
    start = row(
        partition_epoch=epoch,
        at=F.col("at"),
        file_id=term["file_id"],
        line=term["line"],
        is_deduced=F.lit(True),
    )
    before = row(
        partition_epoch=epoch - 1,
        at=F.when(F.col("before.is_first"), term["at"]).otherwise(F.col("before.at")),
        file_id=F.col("before.file_id"),
        line=F.col("before.line"),
        leader=node,
        leader_epoch=term["leader_epoch"],
        isr=F.col("before.old_isr"),
        is_deduced=F.lit(True),
    )
    has_before = F.coalesce(is_intended & is_same_term & (epoch > 0), F.lit(False))
    rows = F.array(
        own,
        F.when(term.isNotNull(), start),
        F.when(has_before, before),
    )
    names = ["cluster", "topic", "topic_id", "partition", "node_id"]
    exploded = reported.select(*names, F.explode(F.filter(rows, lambda one: one.isNotNull())).alias("row"))
    flat = exploded.select(*names, "row.*")
    return select_observations(flat, keeps_leader=F.when(F.col("by_leader"), True))
