"""What follows from the timelines: elections, outages, ISR changes, reassignments, verdicts."""

from __future__ import annotations

from schemas.columns import (
    CLUSTER,
    EVIDENCE,
    EVIDENCE_COLUMN,
    FLAG,
    IDS,
    INT,
    LONG,
    PARTITION_KEY,
    TEXT,
    TEXTS,
    TIME,
    ListOf,
    column,
    struct,
)
from schemas.table import table

ELECTIONS = table(
    "elections",
    "one leader election of one partition, including failed ones (leader null)",
    "cluster, topic, partition, incarnation, at, leader_epoch",
    *PARTITION_KEY,
    column("at", TIME, "Time of the first log line that shows its outcome, UTC."),
    column(
        "strategy",
        TEXT,
        "`offline`, `reassign`, `preferred`, `controlled_shutdown`, `none` (only the leader epoch changed), `new` (a "
        "new partition for which nobody could be elected).",
        null="unknown",
    ),
    column(
        "trigger",
        TEXT,
        "What the controller was doing: `broker_failure`, `auto`, `zk`, `admin`, ...",
        null="unknown",
    ),
    column("controller_epoch", INT, "Epoch of the controller that elected.", null="not logged"),
    column("previous_leader", INT, "Leader before; -1: none.", null="unknown"),
    column("leader", INT, "Elected broker.", null="the election failed"),
    column("leader_epoch", INT, "Leader epoch that it began.", null="the election failed"),
    column("isr_before", IDS, "ISR of the state before, sorted.", null="unknown"),
    column("replicas", IDS, "Replica assignment, in its order.", null="unknown"),
    column("replicas_before", IDS, "Replica assignment of the state before, in its order.", null="unknown"),
    column("live_brokers", IDS, "Brokers that the controller saw as alive, sorted.", null="unknown"),
    column(
        "shutting_down",
        IDS,
        "Brokers that the controller saw in controlled shutdown, sorted.",
        null="unknown",
    ),
    column(
        "target_replicas",
        IDS,
        "Of a `reassign` election the replicas that the reassignment aims for, in their order.",
        null="not logged, or another strategy",
    ),
    column(
        "elr_before",
        IDS,
        "Eligible leader replicas (KIP-966) of the state before, sorted.",
        null="unknown, or the release has none",
    ),
    column("isr", IDS, "ISR that the election wrote, sorted.", null="the election failed, or unknown"),
    column(
        "unclean",
        FLAG,
        "True: the new leader was not in the ISR before, nor an eligible leader replica.",
        null="unknown",
    ),
    column("succeeded", FLAG, "Whether a leader was elected."),
    column(
        "latency_ms",
        LONG,
        "Time from the loss of the old leader to this election, ms: from the state without a leader; where there was "
        "none, from when its broker surely had gone (the end of its session, the start of its shutdown) or its log "
        "directory had failed.",
        null="the leader was not lost, or unknown: lost before the logs begin, or states or logs are missing since",
    ),
    column(
        "followers_fetch_ms",
        LONG,
        "Time from this election until the last follower of its ISR added its fetcher for the new leader, ms; at "
        "least 0, as clocks of two nodes differ. A fetcher that is added within five minutes counts.",
        null="a follower's line is not there, nobody else is in the ISR, the leader stays and followers fetch on "
        "(until 2.0), or unknown",
    ),
    column(
        "last_leader",
        INT,
        "Of an unclean election the last leader before, which held the records that were lost. If it was elected "
        "itself, it led on from the end of its log.",
        null="the election was not unclean, or unknown: leader epochs before it are in no line",
    ),
    column(
        "start_offset",
        LONG,
        "Of an unclean election the first offset of its leader epoch, as its leader logs it (0.11 on): the "
        "end of its log then.",
        null="the election was not unclean, or unknown",
    ),
    column(
        "lost_records_min",
        LONG,
        "At least this number of records was lost: what the last leader had when it came back, and cut off to follow. "
        "0 if it was elected itself.",
        null="unknown, or the election was not unclean",
    ),
    column(
        "lost_records_max",
        LONG,
        "At most this number of records was lost.",
        null="as lost_records_min, or no bound: a last leader that was elected itself may have lost some with its disk",
    ),
    EVIDENCE_COLUMN,
)

OFFLINE_PARTITIONS = table(
    "offline_partitions",
    "one interval in which a partition has no leader",
    "cluster, topic, partition, incarnation, since",
    *PARTITION_KEY,
    column(
        "since",
        TIME,
        "Time of the first log line that shows leader -1, UTC, or that a controller failed to elect another leader "
        "for a dead one: until 2.0 it then writes no state, and the dead broker stays leader in ZooKeeper; at INFO "
        "until 2.5 no line prints the state that it writes. Where it is in a broker's first requests, and may have "
        "been over by then, `began_after`: the partition had no leader at some time before `ended_before`.",
    ),
    column(
        "until",
        TIME,
        "Time of the first log line that shows the next leader, or of the topic's deletion, UTC, if that was logged "
        "when it happened.",
        null="still offline at the end of the logs (`ended_before` is null), or it ended at an unknown time: log lines "
        "about states between are missing, or logs are",
    ),
    column(
        "duration_ms",
        LONG,
        "Length of the interval, ms.",
        null="unknown: it was offline at the end of the logs, or lines about the start or the end are missing",
    ),
    column(
        "at_least_ms",
        LONG,
        "How long the partition surely had no leader at a stretch, ms: up to `until`, or as long as logs are there "
        "that would show a leader.",
    ),
    column(
        "at_most_ms",
        LONG,
        "How long it can have been at most, ms: from `began_after` to `ended_before`.",
        null="no upper bound is known",
    ),
    column(
        "began_after",
        TIME,
        "Until when the partition surely had a leader, UTC; `since` if the change was logged when it came.",
        null="no line shows the leader before",
    ),
    column(
        "ended_before",
        TIME,
        "Time of the first log line that shows the next leader, the topic's deletion, or the next such interval, UTC.",
        null="still offline at the end of the logs",
    ),
    column(
        "cause",
        TEXT,
        "`broker_crash`; `controlled_shutdown`; `broker_halted` (after an error of its own); `start_failed`; "
        "`session_expired` "
        "(ZooKeeper) or `fenced` (KRaft): the leader's session ended, and its process lived on, or its lines do not "
        "tell; `bounced` (ZooKeeper): it registered anew, and its lines do not tell why; `log_dir_failure`; "
        "`no_live_isr`: who led is not known, and no member of the ISR was there; "
        "`topic_deletion`: the topic was being deleted, and waited for that; `no_controller` (ZooKeeper): the leader "
        "was lost while no controller reigned, though another replica in sync was there, which the next one elected.",
        null="unknown",
    ),
    column(
        "cause_broker",
        INT,
        "Broker that was lost; of `no_live_isr` the last one, of `no_controller` the controller before.",
        null="unknown, or the topic was deleted",
    ),
    column(
        "cause_at",
        TIME,
        "When that broker surely had gone, the directory had failed, or the deletion was asked for, UTC.",
        null="unknown",
    ),
    column(
        "cause_after",
        TIME,
        "Until when that broker was surely there: its last line before it crashed, was frozen or cut off, UTC. Clients "
        "may have been without the leader since then.",
        null="`cause_at` is exact, or the line is not known",
    ),
    column("cause_evidence", EVIDENCE, "The lines that prove the cause; empty if it is unknown."),
    column(
        "last_leader",
        INT,
        "Leader before, the last that lines show; of `no_live_isr` it had been replaced.",
        null="unknown",
    ),
    column("last_isr", IDS, "ISR when the leader was lost, sorted.", null="unknown"),
    column(
        "healed_by",
        TEXT,
        "`broker_return`: an in-sync replica that had been away was elected; `clean_election` of one that was there "
        "all along; `unclean_election`, `reassignment`, `topic_deletion`, which is known also where no line tells when "
        "it was done.",
        null="still offline, or unknown, or the cluster was created anew",
    ),
    column("healed_by_broker", INT, "Broker that was elected.", null="still offline, or the topic was deleted"),
    column(
        "isr_back_at",
        TIME,
        "When the first broker of `last_isr` was there again, or `since` if one had been there all along, UTC: from "
        "then on a replica in sync could have led.",
        null="none of them was before it ended, or the topic was being deleted, or it is unknown",
    ),
    column("failed_elections", INT, "Number of elections that failed as the leader was lost, or meanwhile."),
    EVIDENCE_COLUMN,
)

ISR_CHANGES = table(
    "isr_changes",
    "one shrink or expand of a partition's ISR",
    "cluster, topic, partition, incarnation, ordinal, kind",
    *PARTITION_KEY,
    column("at", TIME, "Time of the first log line that shows the changed ISR, UTC."),
    column("kind", TEXT, "`shrink` or `expand`."),
    column("made_by", TEXT, "`leader` or `controller`.", null="unknown"),
    column("added", IDS, "Replicas that joined, sorted."),
    column("removed", IDS, "Replicas that left, sorted."),
    column("isr", IDS, "ISR afterwards, sorted."),
    column("leader", INT, "Leader of the state; -1: none.", null="unknown"),
    column("leader_epoch", INT, "Leader epoch of the state."),
    column("partition_epoch", INT, "Partition epoch of the state.", null="unknown"),
    column("ordinal", LONG, "The state's place in its incarnation, as in partition_timeline."),
    column(
        "lag",
        LONG,
        "Largest lag of a removed follower, in records, that the leader logged.",
        null="not logged",
    ),
    column(
        "behind",
        ListOf(struct(follower=INT, end_offset=LONG, lag=LONG, caught_up_at=TIME)),
        "The removed followers as the leader logged them, sorted: the end of each one's log, by how many records that "
        "is less than the leader's, and when it had caught up last, by the leader's own clock; null of what the leader "
        "did not know, or the release (until 3.5) does not print.",
        null="not logged: Kafka prints it from 2.2 on, and only leaders do",
    ),
    column("leader_end_offset", LONG, "End of the leader's log then.", null="as behind"),
    column("high_watermark", LONG, "High watermark then.", null="as behind"),
    column(
        "asked_at",
        TIME,
        "Time of the leader's own line that it shrinks or expands the ISR, UTC; the change was committed up to seconds "
        "later.",
        null="no such line, or the controller changed it",
    ),
    column(
        "told_at",
        TIME,
        "When the ZooKeeper controller told brokers of a change that a leader had written, UTC (0.9 on, at DEBUG).",
        null="no such line, or the controller changed it",
    ),
    EVIDENCE_COLUMN,
)

ISR_CHURN = table(
    "isr_churn",
    "one follower of a partition in one hour with at least one ISR change",
    "cluster, topic, partition, incarnation, follower, hour",
    *PARTITION_KEY,
    column("follower", INT, "Broker that left or joined the ISR."),
    column("hour", TIME, "Start of the hour, UTC."),
    column("shrinks", INT, "How often it left."),
    column("expands", INT, "How often it joined."),
    column("flaps", INT, "Pairs of leaving and joining again, a replica all the while."),
    column("leader_changes", INT, "Leader changes of the partition in that hour."),
    column(
        "worst_out_ms",
        LONG,
        "Longest absence that began in the hour, ms: until it joined again, a reassignment took the replica away, or "
        "the topic was gone; to the end of the logs if it has not ended.",
        null="no absence began in the hour",
    ),
    column("churning", FLAG, "Whether it flapped at least as often as the threshold (default 3)."),
    column(
        "stops",
        INT,
        "How often it left around a stop of its broker: a shutdown, a crash, or the end of a session. A planned "
        "restart is one, and one flap.",
    ),
    column("flaps_while_up", INT, "Flaps that began while its broker was there, as far as is known."),
    column(
        "marginal",
        FLAG,
        "Whether these are as many as the threshold: the follower cannot keep up, whereas one that only churns was "
        "stopped and started.",
    ),
)

REASSIGNMENTS = table(
    "reassignments",
    "one reassignment of one partition",
    "cluster, topic, partition, incarnation, since",
    *PARTITION_KEY,
    column("since", TIME, "When the controller began it, UTC."),
    column("until", TIME, "When it was complete or cancelled, UTC.", null="neither by the end of the logs"),
    column("original_replicas", IDS, "Replica assignment before, in its order.", null="unknown"),
    column("target_replicas", IDS, "Requested replica assignment, in its order.", null="unknown"),
    column("adding_replicas", IDS, "Replicas to add, sorted.", null="unknown"),
    column("removing_replicas", IDS, "Replicas to remove, sorted.", null="unknown"),
    column(
        "phase",
        TEXT,
        "How far it got: `waiting_for_isr` (KIP-455's phase A: target replicas are added to the assignment and catch "
        "up), `handing_over` (phase B: all of them were in sync; a leader among them is elected, other replicas are "
        "stopped), `done`. Before 2.4 the steps were the same, without these names; KRaft hands over in the record "
        "that completes it.",
    ),
    column(
        "state",
        TEXT,
        "`completed`, `cancelled` (before 2.4 also: refused, because a target replica was not alive), `in_progress`, "
        "`stuck` (a target replica is not in sync).",
    ),
    column("blocked_by", IDS, "Target replicas that are not in the ISR at the end, sorted; empty: none."),
    column(
        "waits",
        ListOf(struct(broker=INT, since=TIME, until=TIME)),
        "Target replicas that it waited for, by broker: since when each was out of the ISR while it lasted, and until "
        "when: until it joined or the reassignment was over (null: neither by the end of the logs). As far as states "
        "are logged.",
    ),
    column(
        "stuck",
        ListOf(struct(since=TIME, until=TIME, broker=INT, cause=TEXT)),
        "When it was stuck, in order, and on which broker: `broker_away`, one that it waited for was away for 5 s or "
        "more; `not_in_sync`, one that is there has not caught up by the end of the logs. "
        "`until` is null if it is so still.",
    ),
    EVIDENCE_COLUMN,
)

VERDICTS = table(
    "verdicts",
    "one rule applied to one decision",
    "cluster, rule, subject",
    CLUSTER,
    column(
        "rule",
        TEXT,
        "Rule: an invariant (`leader_in_isr`, ...) or an algorithm (`offline_election`, ...); see docs/invariants.md.",
    ),
    column("subject", TEXT, "Decision that it was applied to, unique within the rule."),
    column("topic", TEXT, "Topic.", null="the decision is not about a partition"),
    column("partition", INT, "Partition.", null="the decision is not about a partition"),
    column("at", TIME, "When the decision was logged, UTC."),
    column("verdict", TEXT, "`holds`, `violated`, `unknown`."),
    column("expected", TEXT, "What the rule demands.", null="unknown"),
    column("actual", TEXT, "What was logged.", null="the verdict is `unknown`, and nothing could be compared"),
    column("missing_inputs", TEXTS, "Inputs that are not in the logs; empty unless `unknown`."),
    column("explanation", TEXT, "The verdict in one sentence."),
    EVIDENCE_COLUMN,
)
