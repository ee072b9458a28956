"""Controller terms: which node was the controller, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.timelines.cluster_lives import LifeStarts, by_life
from jobs.timelines.evidence import evidence, milliseconds
from jobs.timelines.failover_steps import TERM, with_failover_steps
from jobs.timelines.observations import number_of, with_quorum_epoch
from jobs.timelines.resignations import with_resignation
from jobs.timelines.running_windows import row_and_behind, rows_behind
from jobs.timelines.sorted_times import number_until
from schemas.timelines import CONTROLLER_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ZOOKEEPER, KRAFT = "zookeeper", "kraft"
"""Modes of a controller."""
STARTED = "kraft_controller_created"
"""The first line of a KRaft controller's process."""
_REPLAYED_S = 10
"""A controller that starts replays the metadata log without a pause of so many seconds."""
_DECISION_EVENTS = ("partition_state_change", "leader_and_isr_request_sent", "update_metadata_request_sent")
_ELECTION_EVENTS = (
    "controller_elected",
    "controller_epoch_incremented",
    "kraft_controller_elected",
    "kraft_controller_epoch_changed",
    "raft_leader_elected",
)


def to_controller_timeline(events: DataFrame, life_starts: LifeStarts | None = None) -> DataFrame:
    """EVENTS -> CONTROLLER_TIMELINE, a row for each controller term: in KRaft a term of a leader of the metadata
    quorum. `life_starts`: clusters that were created anew, whose epochs begin again."""
    return by_life(events, life_starts or {}, _terms_of_one_life).select(*CONTROLLER_TIMELINE.columns)


def _terms_of_one_life(events: DataFrame) -> DataFrame:
    """EVENTS -> CONTROLLER_TIMELINE without `cluster_incarnation`."""
    terms = checkpointed(_with_activity(_started_terms(events), events))
    terms = with_resignation(terms, events)
    until = F.least("resigned_at", "next_since")
    has_resigned = F.col("resigned_at").isNotNull() & (F.col("resigned_at") <= F.coalesce("next_since", "resigned_at"))
    return (
        with_failover_steps(terms, events)
        .withColumns(
            {
                "until": until,
                "failover_ms": milliseconds("logged_since", "active_since"),
                "ended_by": F.when(until.isNull(), None).when(has_resigned, "resigned").otherwise("replaced"),
                "overlap_ms": F.greatest(
                    F.coalesce(milliseconds("next_since", "last_decision_at"), F.lit(0)), F.lit(0)
                ),
            }
        )
        .select(*(name for name in CONTROLLER_TIMELINE.columns if name != "cluster_incarnation"))
    )


def _started_terms(events: DataFrame) -> DataFrame:
    """EVENTS -> TERM, claimed_by, mode, since, logged_since, next_since, evidence: when terms began, by election or a
    dump's leader changes.

    Controllers that use ZooKeeper and leaders of KRaft's quorum count their epochs apart, `mode` by `mode`: in a
    migration (KIP-866) both are there. `logged_since` is the first line about the term. A term is no younger than the
    first line about any later one, whatever clocks say: so is `since`. A leader of the quorum whose term ended before
    another voter followed it, or its first record was committed, is left out: it was no controller. So is one whose
    first record a later leader's log lacks, which begins no later: it was never committed, and is nowhere any more.
    """
    dumped = with_quorum_epoch(events).where("event_type = 'metadata_leader_change'")
    elected = (
        _elections(events)
        .withColumn("controller_id", F.coalesce("controller_id", "node_id"))
        .unionByName(dumped)
        .where("controller_epoch IS NOT NULL")
    )
    is_zookeeper = F.col("event_type").isin("controller_elected", "controller_epoch_incremented")
    is_of_quorum = F.col("event_type") == "raft_leader_elected"
    elected = elected.withColumn("mode", F.when(is_zookeeper, ZOOKEEPER).otherwise(KRAFT))
    order = Window.partitionBy("cluster", "mode").orderBy("controller_epoch")
    later, and_later = (behind(("cluster", "mode"), ["controller_epoch"]) for behind in (rows_behind, row_and_behind))
    return (
        elected.groupBy("cluster", "mode", "controller_epoch")
        .agg(
            F.max("controller_id").alias("controller_id"),
            F.array_sort(F.collect_set("controller_id")).alias("claimed_by"),
            F.min("at").alias("since"),
            evidence().alias("evidence"),
            F.max(~is_of_quorum).alias("was_followed"),
            F.min(F.when(is_of_quorum, number_of("offset"))).alias("first_offset"),
        )
        .join(_committed(events), ["cluster", "mode", "controller_epoch"], "left")
        .where("controller_id IS NOT NULL AND (was_followed OR is_committed)")
        .withColumn("later_offset", F.min("first_offset").over(later))
        .where("coalesce(first_offset < later_offset, true)")
        .withColumns({"logged_since": F.col("since"), "since": F.min("since").over(and_later)})
        .withColumn("next_since", F.lead("since").over(order))
        .select(*TERM, "claimed_by", "mode", "since", "logged_since", "next_since", "evidence")
    )


def _committed(events: DataFrame) -> DataFrame:
    """EVENTS -> cluster, mode, controller_epoch, `is_committed`: terms in which the leader of the quorum logs a high
    watermark. It has none before its first record is committed, in a quorum of one at once."""
    return (
        events.where("event_type = 'raft_high_watermark_first_set' AND logger = 'org.apache.kafka.raft.LeaderState'")
        .select("cluster", F.lit(KRAFT).alias("mode"), number_of("raft_epoch").alias("controller_epoch"))
        .distinct()
        .withColumn("is_committed", F.lit(True))
    )


def _elections(events: DataFrame) -> DataFrame:
    """EVENTS -> those that name the controller of an epoch: its own, or in KRaft another voter's that follows it.

    Before 2.1 winning the election and raising the epoch are two lines: the time is that of the first one.
    """
    is_followed = F.col("event_type") == "kraft_controller_epoch_changed"
    own = Window.partitionBy("cluster", "node_id").orderBy("at", "line", "file_id")
    has_won = (F.lag("event_type").over(own) == "controller_elected") & F.lag("controller_epoch").over(own).isNull()
    raised_epoch = F.col("event_type") == "controller_epoch_incremented"
    return (
        events.where(F.col("event_type").isin(*_ELECTION_EVENTS))
        .withColumn(
            "controller_id", F.when(is_followed, number_of("new_controller_id")).otherwise(F.col("controller_id"))
        )
        .where(~is_followed | F.col("controller_id").isNotNull())
        .withColumn("won_at", F.when(has_won, F.lag("at").over(own)))
        .withColumn("at", F.coalesce(F.when(raised_epoch, F.col("won_at")), F.col("at")))
        .drop("won_at")
    )


def _with_activity(terms: DataFrame, events: DataFrame) -> DataFrame:
    """Rows of `_started_terms`, EVENTS -> the same with `active_since` and `last_decision_at`; null if never logged."""
    ready = (
        events.where(F.col("event_type").isin("controller_ready", "kraft_controller_elected"))
        .withColumn("controller_id", F.coalesce("controller_id", "node_id"))
        .groupBy(*TERM)
        .agg(F.min("at").alias("active_since"))
    )
    decided = (
        events.where(F.col("event_type").isin(*_DECISION_EVENTS))
        .groupBy(*TERM)
        .agg(F.max("at").alias("last_decision_at"))
    )
    return terms.join(ready, TERM, "left").join(decided, TERM, "left")


# ---- migration -------------------------------------------------------------------------------------------------------
def kraft_takeovers(controllers: DataFrame) -> DataFrame:
    """CONTROLLER_TIMELINE -> `cluster` of those with controllers of both modes, with `kraft_since`, when the last one
    that used ZooKeeper gave up its office, so that KRaft's decide (KIP-866), null if no line tells; `kraft_began`: when
    KRaft's first one was elected."""
    is_zookeeper = F.col("mode") == ZOOKEEPER
    return (
        controllers.groupBy("cluster")
        .agg(
            F.max(is_zookeeper & F.col("until").isNull()).alias("still"),
            F.max(F.when(is_zookeeper, F.col("until"))).alias("last"),
            F.min(F.when(F.col("mode") == KRAFT, F.col("since"))).alias("kraft_began"),
            F.countDistinct("mode").alias("modes"),
        )
        .where("modes = 2")
        .select("cluster", F.when(~F.col("still"), F.col("last")).alias("kraft_since"), "kraft_began")
    )


def without_epochs_of_kraft(events: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS of a cluster in migration, without the controller epochs of lines that follow the takeover: KRaft sends
    brokers all states anew with its own epoch, which says nothing about who had decided them."""
    is_later = F.coalesce(F.col("at") >= F.col("kraft_since"), F.lit(False))
    fields = F.map_filter("fields", lambda name, _: name != "state_controller_epoch")
    return events.join(F.broadcast(kraft_takeovers(controllers)), "cluster", "left").select(
        *(
            F.when(~is_later, F.col(name)).alias(name)
            if name == "controller_epoch"
            else F.when(is_later, fields).otherwise(F.col(name)).alias(name)
            if name == "fields"
            else name
            for name in events.columns
        )
    )


# ---- the active controller and its standbys --------------------------------------------------------------------------
def by_active_controller(rows: DataFrame, controllers: DataFrame, events: DataFrame) -> DataFrame:
    """Rows of KRaft controllers, CONTROLLER_TIMELINE, EVENTS -> those logged by the controller that was active then.

    Standby controllers replay the same records, and a restarted one replays old ones as if they were new: also where
    it is the next controller itself, as the only one of a quorum always is.
    """
    return with_active(rows, controllers, events).where("is_active").drop("is_active", "starts")


def with_active(rows: DataFrame, controllers: DataFrame, events: DataFrame) -> DataFrame:
    """The same with `is_active`, whether the node was the active controller then, and `starts`, when its controller's
    processes started, null if no line shows that."""
    starts = (
        events.where(F.col("event_type") == STARTED)
        .groupBy("cluster", "node_id")
        .agg(F.collect_set("at").alias("starts"))
    )
    term = F.struct(F.coalesce("active_since", "since").alias("since"), "until")
    terms = controllers.groupBy("cluster", F.col("controller_id").alias("node_id")).agg(
        F.collect_list(term).alias("terms")
    )

    def is_within(term: Column) -> Column:
        restarted_at = F.array_min(F.filter("starts", lambda at: at > term["since"]))
        has_not_ended = term["until"].isNull() | (F.col("at") <= term["until"])
        # as it becomes active it replays what others wrote, within the same millisecond
        return (F.col("at") > term["since"]) & has_not_ended & (restarted_at.isNull() | (F.col("at") < restarted_at))

    spans = F.broadcast(checkpointed(terms.join(starts, ["cluster", "node_id"], "full")))
    is_active = F.coalesce(F.exists("terms", is_within), F.lit(False))
    return rows.join(spans, ["cluster", "node_id"], "left").withColumn("is_active", is_active).drop("terms")


def without_deposed(lines: DataFrame, controllers: DataFrame, node: str = "node_id") -> DataFrame:
    """Rows with `cluster`, `event_type`, `at` and in `node` who logged them, CONTROLLER_TIMELINE -> those but shutdowns
    by ZooKeeper controllers whose last term had ended.

    A controller that was frozen while its session ended goes on with what its queue holds, until it is told:
    a shutdown that a broker asked for long before, though no other controller hears of it.
    """
    terms = controllers.groupBy("cluster", F.col("controller_id").alias(node)).agg(
        F.collect_list("since").alias("begins"), F.collect_list("until").alias("ends")
    )
    begun, ended = (number_until(times, F.col("at")) for times in ("begins", "ends"))
    is_zookeeper = F.col("event_type") == "controlled_shutdown_started"
    is_deposed = F.coalesce(is_zookeeper & (begun > 0) & (begun == ended), F.lit(False))
    return lines.join(F.broadcast(terms), ["cluster", node], "left").where(~is_deposed).drop("begins", "ends")


def to_logged_terms(controllers: DataFrame, events: DataFrame) -> DataFrame:
    """CONTROLLER_TIMELINE, EVENTS -> the same; of ZooKeeper's terms those of which the controller's own log is there,
    each until the time to which that tells what was decided, null the logs' end.

    That is the next term's begin if its epoch is the next one. Otherwise there were controllers whose logs are missing:
    then it is the last line of the controller's log before its process started anew, or another had taken its place.
    """
    kind, at = F.col("event_type"), F.col("at")
    is_start = kind == "broker_starting"
    by_node = Window.partitionBy("cluster", "node_id").orderBy("at", "line", "file_id")
    own = events.where((is_start | F.col("logger").startswith("kafka.controller")) & F.col("node_id").isNotNull())
    lines = own.select(
        "cluster", F.col("node_id").alias("controller_id"), "at", is_start.alias("is_start"),
        F.lag("at").over(by_node).alias("before"),
    )  # fmt: skip
    of_zk = controllers.where(F.col("mode") == ZOOKEEPER)
    terms = of_zk.select("cluster", "controller_id", "controller_epoch", F.col("since").alias("began"), "until")
    is_within = (at >= F.col("began")) & (F.col("until").isNull() | (at <= F.col("until")))
    of_terms = (
        lines.join(F.broadcast(terms), ["cluster", "controller_id"])
        .where(is_within)
        .groupBy("cluster", "controller_epoch")
        .agg(
            F.min(F.when(F.col("is_start") & (at > F.col("began")), F.col("before"))).alias("ended"),
            F.max(F.when(~F.col("is_start"), at)).alias("last"),
        )
    )
    order = Window.partitionBy("cluster").orderBy("controller_epoch")
    following, epoch = F.lead("since").over(order), F.col("controller_epoch")
    is_followed = F.coalesce(F.lead("controller_epoch").over(order) == epoch + 1, F.lit(False))
    # an end that is not the next term's begin, if the controller says nothing of it
    last = F.least("ended", F.when(F.col("following").isNotNull(), F.col("last")).otherwise(F.col("until")))
    logged = (
        of_zk.withColumns({"following": following, "is_followed": is_followed})
        .join(of_terms, ["cluster", "controller_epoch"])
        .withColumn("until", F.when(F.col("is_followed"), F.col("following")).otherwise(last))
    )
    return controllers.where(F.col("mode") != ZOOKEEPER).unionByName(logged.select(*controllers.columns))


def standby_controllers(events: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS, CONTROLLER_TIMELINE -> a standby for each KRaft controller term without the controller's own log, if any.

    Columns: cluster, node_id, `started` (the standby's process), `current_since`, `term_until`. A controller registers
    itself once it runs, and replays that record too: records behind its own are new, those before may be of any time.
    """
    kraft = events.where("event_type LIKE 'kraft%' AND node_id IS NOT NULL")
    terms = controllers.select(*TERM, F.col("since").alias("term_since"), F.col("until").alias("term_until"))
    term_end = F.coalesce("term_until", F.timestamp_micros(F.lit(2**60)))
    with_own_log = (
        kraft.select("cluster", F.col("node_id").alias("controller_id"), "at")
        .join(F.broadcast(terms), ["cluster", "controller_id"])
        .where((F.col("at") >= F.col("term_since")) & (F.col("at") <= term_end))
        .select("cluster", "controller_epoch")
        .distinct()
    )
    current_since = F.greatest("registered_at", "term_since")
    until = F.coalesce(F.least("next_started", "term_until"), "next_started", "term_until")
    first = Window.partitionBy("cluster", "controller_epoch").orderBy("current_since", "node_id")
    return (
        terms.join(with_own_log, ["cluster", "controller_epoch"], "left_anti")
        .join(_controller_processes(kraft), "cluster")
        .withColumns({"current_since": current_since, "term_until": until})
        .where("node_id <> controller_id AND (term_until IS NULL OR current_since < term_until)")
        .withColumn("nth", F.row_number().over(first))
        .where("nth = 1")
        .select("cluster", "node_id", "started", "current_since", "term_until")
    )


def to_replay_spans(events: DataFrame, controllers: DataFrame) -> DataFrame:
    """EVENTS, CONTROLLER_TIMELINE -> cluster, node_id, `replays_since`, `replays_until`: when a controller that had
    started replayed the metadata log, whose records may be of any time.

    Until it is active, or else (3.7 on) its own registration is replayed, or else it is silent for _REPLAYED after a
    record of a partition. Spans of a node do not overlap.
    """
    kraft = events.where("event_type LIKE 'kraft%' AND node_id IS NOT NULL")
    is_start = F.col("event_type") == STARTED
    is_own = (F.col("event_type") == "kraft_controller_registered") & (number_of("node_id") == F.col("node_id"))
    in_order = Window.partitionBy("cluster", "node_id").orderBy("at", "line", "file_id")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    of_process = Window.partitionBy("cluster", "node_id", "process").orderBy("at", "line", "file_id")
    next_at = F.lead("at").over(of_process)
    is_silent = next_at.isNull() | (next_at > F.col("at") + F.expr(f"INTERVAL {_REPLAYED_S} SECONDS"))
    has_replayed = F.max(F.col("topic").isNotNull()).over(of_process.rowsBetween(Window.unboundedPreceding, 0))
    processes = (
        kraft.withColumn("process", F.sum(is_start.cast("int")).over(so_far))
        .where("process > 0")
        .withColumn("ends", F.when(is_silent & has_replayed, F.col("at")))
        .groupBy("cluster", "node_id", "process")
        .agg(
            F.min(F.when(is_start, F.col("at"))).alias("replays_since"),
            F.max(F.when(is_own, F.col("at"))).alias("registered_at"),
            F.min("ends").alias("silent_at"),
            F.max("at").alias("last_at"),
        )
    )
    terms = controllers.groupBy("cluster", F.col("controller_id").alias("node_id")).agg(
        F.array_sort(F.collect_list(F.coalesce("active_since", "since"))).alias("terms")
    )
    own_terms = F.filter("terms", lambda at: at.between(F.col("replays_since"), F.col("last_at")))
    active_at = F.try_element_at(own_terms, F.lit(1))
    current_at = F.coalesce("registered_at", "silent_at", "last_at")
    return processes.join(F.broadcast(terms), ["cluster", "node_id"], "left").select(
        "cluster", "node_id", "replays_since", F.least(active_at, current_at).alias("replays_until")
    )


def _controller_processes(kraft: DataFrame) -> DataFrame:
    """EVENTS of KRaft -> cluster, node_id, started, registered_at, next_started: processes of controllers that
    registered.

    `next_started` is when the node's next process started; null for the last one.
    """
    is_start = F.col("event_type") == STARTED
    is_own = (F.col("event_type") == "kraft_controller_registered") & (number_of("node_id") == F.col("node_id"))
    so_far = (
        Window.partitionBy("cluster", "node_id")
        .orderBy("at", "line", "file_id")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    of_node = Window.partitionBy("cluster", "node_id").orderBy("process")
    return (
        kraft.where(is_start | is_own)
        .withColumn("process", F.sum(is_start.cast("int")).over(so_far))
        .groupBy("cluster", "node_id", "process")
        .agg(
            F.min(F.when(is_start, F.col("at"))).alias("started"),
            F.max(F.when(is_own, F.col("at"))).alias("registered_at"),
        )
        .withColumn("next_started", F.lead("started").over(of_node))
        .where("started IS NOT NULL AND registered_at IS NOT NULL")
        .select("cluster", "node_id", "started", "registered_at", "next_started")
    )
