"""What the timelines mean: elections, outages, ISR changes, reassignments, verdicts."""

from __future__ import annotations

from schemas.columns import (
    CLUSTER,
    EVIDENCE_COLUMN,
    FLAG,
    IDS,
    INT,
    LONG,
    PARTITION_KEY,
    TEXT,
    TEXTS,
    TIME,
    column,
    table,
)

ELECTIONS = table(
    "elections",
    "one leader election of one partition, also failed ones (leader null)",
    "cluster, topic, partition, incarnation, at, leader_epoch",
    *PARTITION_KEY,
    column("at", TIME, "First proof of its outcome, UTC."),
    column(
        "strategy",
        TEXT,
        "`offline`, `reassign`, `preferred`, `controlled_shutdown`, `none` (epoch refreshed); null unknown.",
    ),
    column(
        "trigger", TEXT, "What the controller was doing: `broker_failure`, `auto`, `zk`, `admin`, ...; null unknown."
    ),
    column("controller_epoch", INT, "Epoch of the controller that elected; null not told."),
    column("previous_leader", INT, "Leader before; -1 none, null unknown."),
    column("leader", INT, "Elected broker; null if the election failed."),
    column("leader_epoch", INT, "Leader epoch that it began; null if it failed."),
    column("isr_before", IDS, "ISR of the state before, sorted; null unknown."),
    column("replicas", IDS, "Assignment in its order; null unknown."),
    column("replicas_before", IDS, "Assignment of the state before; null unknown."),
    column("live_brokers", IDS, "Brokers the controller believed alive, sorted; null unknown."),
    column("shutting_down", IDS, "Brokers in controlled shutdown as the controller knew, sorted; null unknown."),
    column("elr_before", IDS, "Eligible leader replicas before, sorted; null unknown, or none in this release."),
    column("isr", IDS, "ISR that the election wrote, sorted; null if it failed, or unknown."),
    column("unclean", FLAG, "The new leader was not in the ISR before (nor an eligible leader replica); null unknown."),
    column("succeeded", FLAG, "Whether a leader was found."),
    column(
        "latency_ms", LONG, "From the loss of the old leader to this election, ms; null if it was not lost, or unknown."
    ),
    column("lost_records_min", LONG, "At least so many records were lost; null unknown."),
    column("lost_records_max", LONG, "At most so many records were lost; null unknown."),
    EVIDENCE_COLUMN,
)

OFFLINE_PARTITIONS = table(
    "offline_partitions",
    "one interval in which a partition has no leader",
    "cluster, topic, partition, incarnation, since",
    *PARTITION_KEY,
    column("since", TIME, "First proof of leader -1, UTC."),
    column("until", TIME, "First proof of the next leader, or the deletion; null: still offline."),
    column("duration_ms", LONG, "Length, ms; to the end of the logs if it is open."),
    column(
        "cause",
        TEXT,
        "`broker_failure`, `controlled_shutdown`, `fenced`, `log_dir_failure`, `topic_deletion`; null unknown.",
    ),
    column("cause_broker", INT, "Broker that was lost; null unknown."),
    column("last_leader", INT, "Leader before; null unknown."),
    column("last_isr", IDS, "ISR when the leader was lost, sorted; null unknown."),
    column("healed_by", TEXT, "`clean_election`, `unclean_election`, `topic_deletion`; null: open, or unknown."),
    column("failed_elections", INT, "Elections that failed meanwhile."),
    EVIDENCE_COLUMN,
)

ISR_CHANGES = table(
    "isr_changes",
    "one shrink or expand",
    "cluster, topic, partition, incarnation, ordinal, kind",
    *PARTITION_KEY,
    column("at", TIME, "First proof of the changed ISR, UTC."),
    column("kind", TEXT, "`shrink` or `expand`."),
    column("made_by", TEXT, "`leader` or `controller`; null unknown."),
    column("added", IDS, "Replicas that joined, sorted."),
    column("removed", IDS, "Replicas that left, sorted."),
    column("isr", IDS, "ISR afterwards, sorted."),
    column("leader", INT, "Leader then; -1 none."),
    column("leader_epoch", INT, "Leader epoch of the state."),
    column("partition_epoch", INT, "Partition epoch of the state; null unknown."),
    column("ordinal", LONG, "The state's place in its incarnation (partition_timeline)."),
    column("lag", LONG, "Largest lag of a removed follower that the leader printed, in records; null not told."),
    EVIDENCE_COLUMN,
)

ISR_CHURN = table(
    "isr_churn",
    "one partition and follower in one hour with at least one change",
    "cluster, topic, partition, incarnation, follower, hour",
    *PARTITION_KEY,
    column("follower", INT, "Broker that left or joined the ISR."),
    column("hour", TIME, "Start of the hour, UTC."),
    column("shrinks", INT, "How often it left."),
    column("expands", INT, "How often it joined."),
    column("flaps", INT, "Pairs of leaving and joining again."),
    column("leader_changes", INT, "Leader changes of the partition in that hour."),
    column(
        "worst_out_ms", LONG, "Longest absence that began in the hour, ms; to the end of the logs if it is still out."
    ),
    column("churning", FLAG, "Whether it flapped at least as often as the threshold says (default 3)."),
)

REASSIGNMENTS = table(
    "reassignments",
    "one reassignment of one partition",
    "cluster, topic, partition, incarnation, since",
    *PARTITION_KEY,
    column("since", TIME, "When the controller began it, UTC."),
    column("until", TIME, "When it was done or cancelled; null: not by the end of the logs."),
    column("original_replicas", IDS, "Assignment before, in its order; null unknown."),
    column("target_replicas", IDS, "Assignment asked for, in its order; null unknown."),
    column("adding_replicas", IDS, "Replicas to add, sorted."),
    column("removing_replicas", IDS, "Replicas to remove, sorted."),
    column(
        "phase",
        TEXT,
        "How far it came: `waiting_for_isr` (KIP-455's phase A: targets are added to the assignment and catch up), "
        "`handing_over` (phase B: all targets were in sync; a leader among them is elected, other replicas are stopped), "
        "`done`. Before 2.4 the steps were the same, without being named; KRaft hands over in the record that completes it.",
    ),
    column(
        "state",
        TEXT,
        "`completed`, `cancelled` (before 2.4 also: refused, as a target was not alive), `in_progress`, `stuck` (a target "
        "is not in sync).",
    ),
    column("blocked_by", IDS, "Targets not in the ISR at the end, sorted; empty if none."),
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
        "Rule: an invariant (`leader_in_isr`...) or an algorithm (`offline_election`...); see docs/invariants.md.",
    ),
    column("subject", TEXT, "Decision it was applied to, unique within the rule."),
    column("topic", TEXT, "Topic; null if it is about no partition."),
    column("partition", INT, "Partition; null if it is about none."),
    column("at", TIME, "When the decision was logged, UTC."),
    column("verdict", TEXT, "`holds`, `violated`, `unknown`."),
    column("expected", TEXT, "What the rule demands; null if unknown."),
    column("actual", TEXT, "What was logged."),
    column("missing_inputs", TEXTS, "Inputs that the logs lack; empty unless `unknown`."),
    column("explanation", TEXT, "The verdict in one sentence."),
    EVIDENCE_COLUMN,
)
