"""States over time: partitions, controllers, brokers, topics."""

from __future__ import annotations

from schemas.columns import CLUSTER, EVIDENCE_COLUMN, FLAG, IDS, INT, LONG, PARTITION_KEY, TEXT, TIME, column, table

PARTITION_TIMELINE = table(
    "partition_timeline",
    "one committed state of a partition, i.e. one (leader epoch, partition epoch)",
    "cluster, topic, partition, incarnation, ordinal",
    *PARTITION_KEY,
    column("topic_id", TEXT, "Topic id; null where the release has none or no line tells it."),
    column(
        "ordinal", LONG, "Orders the states of an incarnation: the partition epoch, or where lines lack it a count."
    ),
    column("leader", INT, "Leader; -1 none, null unknown."),
    column("leader_epoch", INT, "Leader epoch."),
    column("partition_epoch", INT, "Partition epoch (zkVersion); null where neither lines nor counting tell it."),
    column(
        "controller_epoch",
        INT,
        "Epoch of the controller that decided its leader epoch; -1 in KRaft broker logs; null not told.",
    ),
    column("isr", IDS, "In-sync replicas, sorted; null unknown."),
    column("elr", IDS, "Eligible leader replicas (KIP-966), sorted; null unknown, or none in this release."),
    column(
        "last_known_elr",
        IDS,
        "Last known eligible leader replicas (KIP-966): of a partition without ISR and ELR who was the last; sorted; null "
        "unknown, or none in this release.",
    ),
    column(
        "replicas", IDS, "Assignment that the state began with, replicas being added or removed with it; null unknown."
    ),
    column("since", TIME, "First proof of the state, UTC."),
    column(
        "until", TIME, "Start of the next known state, or the topic's deletion; null: still so at the end of the logs."
    ),
    column(
        "availability", TEXT, "KIP-427: FullyInSync, UnderReplicated, AtMinIsr, UnderMinIsr, Offline; null unknown."
    ),
    column("made_by", TEXT, "`leader` (its own ISR change), `controller`; null unknown."),
    column("inferred", FLAG, "True if no line states it in full, and its neighbours leave no choice."),
    column(
        "missing_before",
        INT,
        "States between the row before and this one that are not rows, for no line tells them in full or lines contradict "
        "each other: until then `until` of the row before is not sure. Null unknown, for partition epochs are.",
    ),
    EVIDENCE_COLUMN,
)

CONTRADICTIONS = table(
    "contradictions",
    "one state of a partition of which lines say different things; it is no row of partition_timeline",
    "cluster, topic, partition, incarnation, leader_epoch, partition_epoch",
    *PARTITION_KEY,
    column("leader_epoch", INT, "Leader epoch; null: it is what they differ about, or is in no line."),
    column("partition_epoch", INT, "Partition epoch; null where lines do not print it."),
    column("at", TIME, "First of the lines, UTC."),
    column("contradiction", TEXT, "What they say, in words."),
    EVIDENCE_COLUMN,
)

CONTROLLER_TIMELINE = table(
    "controller_timeline",
    "one reign of a controller; in KRaft one term of a leader of the metadata quorum",
    "cluster, controller_epoch, controller_id",
    CLUSTER,
    column("controller_id", INT, "Node that reigned."),
    column("controller_epoch", INT, "Its epoch; in KRaft the quorum's leader epoch."),
    column(
        "since", TIME, "When it was elected, UTC; in KRaft leader of the quorum, or first followed by another voter."
    ),
    column(
        "active_since", TIME, "When it was ready to serve; in KRaft the active controller; null if it never said so."
    ),
    column(
        "until", TIME, "When it ended: it resigned, or the next was elected; null: still so at the end of the logs."
    ),
    column("failover_ms", LONG, "From election to ready, ms; null if it never was."),
    column("ended_by", TEXT, "`resigned`, `replaced` (the next was elected before it said so); null: not ended."),
    column("overlap_ms", LONG, "How long it acted after the next one was elected, ms; 0 if not."),
    EVIDENCE_COLUMN,
)

BROKER_TIMELINE = table(
    "broker_timeline",
    "one registration of a broker; in KRaft one unfenced span",
    "cluster, broker, since",
    CLUSTER,
    column("broker", INT, "Broker id."),
    column("epoch", LONG, "Broker epoch (2.2 on); null where none is logged."),
    column("since", TIME, "When the controller noticed or unfenced it, UTC."),
    column("until", TIME, "When the controller noticed that it was gone or fenced it; null: still there."),
    column(
        "started_as", TEXT, "`new`, `returned`, `bounced`; null: it was there when the logs begin, or nothing tells."
    ),
    column("ended_by", TEXT, "`controlled_shutdown`, `session_expired`, `fenced`, `bounced`; null: not ended."),
    EVIDENCE_COLUMN,
)

TOPIC_TIMELINE = table(
    "topic_timeline",
    "one incarnation of a topic",
    "cluster, topic, incarnation",
    CLUSTER,
    column("topic", TEXT, "Topic name."),
    column("incarnation", INT, "Deletions before it, from 0."),
    column("topic_id", TEXT, "Topic id; null where the release has none or no line tells it."),
    column("since", TIME, "First proof that it exists, UTC."),
    column("deletion_started", TIME, "When its deletion was asked for; null if it was not."),
    column("until", TIME, "When it was gone; null: still there."),
    column("partitions", INT, "Partitions seen."),
    EVIDENCE_COLUMN,
)
