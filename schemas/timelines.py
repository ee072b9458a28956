"""States over time: partitions, controllers, brokers, topics."""

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
    TIME,
    ListOf,
    column,
    struct,
)
from schemas.table import table

PARTITION_TIMELINE = table(
    "partition_timeline",
    "one committed state of a partition, i.e. one (leader epoch, partition epoch)",
    "cluster, topic, partition, incarnation, ordinal",
    *PARTITION_KEY,
    column("topic_id", TEXT, "Topic id (KIP-516).", null="the release has none, or it is in no log line"),
    column(
        "ordinal",
        LONG,
        "Orders the states of an incarnation: the partition epoch, or a count where the logs do not contain it.",
    ),
    column("leader", INT, "Leader; -1: none.", null="unknown"),
    column("leader_epoch", INT, "Leader epoch."),
    column(
        "partition_epoch",
        INT,
        "Partition epoch (zkVersion).",
        null="not logged, and it does not follow from the states around it",
    ),
    column(
        "controller_epoch",
        INT,
        "Epoch of the controller that decided on the leader epoch; -1 in KRaft broker logs.",
        null="not logged",
    ),
    column("isr", IDS, "In-sync replicas, sorted.", null="unknown"),
    column("elr", IDS, "Eligible leader replicas (KIP-966), sorted.", null="unknown, or the release has none"),
    column(
        "last_known_elr",
        IDS,
        "Last known eligible leader replicas (KIP-966), sorted: the last leader of a partition without ISR and ELR.",
        null="unknown, or the release has none",
    ),
    column(
        "replicas",
        IDS,
        "Replica assignment when the state began, or written within a second, including replicas that are being added "
        "or removed.",
        null="unknown",
    ),
    column("since", TIME, "Time of the first log line that shows the state, UTC."),
    column(
        "until",
        TIME,
        "Start of the next known state, or the topic's deletion, UTC.",
        null="still so at the end of the logs",
    ),
    column(
        "availability",
        TEXT,
        "As in KIP-427: FullyInSync, UnderReplicated, AtMinIsr, UnderMinIsr, Offline; by min.insync.replicas as it was "
        "when the state began, and of no more than there are replicas, as leaders take it from KIP-966 on (3.7). "
        "Before, a topic with fewer replicas than that refuses what is written with acks=all, which is not shown.",
        null="unknown",
    ),
    column(
        "made_by",
        TEXT,
        "Who changed the state: `leader` (an ISR change of its own) or `controller`.",
        null="unknown",
    ),
    column("inferred", FLAG, "True: no log line contains the state in full, and it follows from its neighbours."),
    column(
        "missing_before",
        INT,
        "Number of states between the row before and this one that are not rows, because no line contains them in full "
        "or lines contradict each other; then `until` of the row before is not certain.",
        null="partition epochs are unknown, and so is whether there are any",
    ),
    EVIDENCE_COLUMN,
)

CONTRADICTIONS = table(
    "contradictions",
    "one state of a partition about which log lines contradict each other; it is no row of partition_timeline",
    "cluster, topic, partition, incarnation, leader_epoch, partition_epoch",
    *PARTITION_KEY,
    column("leader_epoch", INT, "Leader epoch.", null="the lines differ about it, or none contains it"),
    column("partition_epoch", INT, "Partition epoch.", null="the lines do not contain it"),
    column("at", TIME, "Time of the first of the lines, UTC."),
    column("contradiction", TEXT, "What the lines contain, in words."),
    EVIDENCE_COLUMN,
)

CONTROLLER_TIMELINE = table(
    "controller_timeline",
    "one term of a controller; in KRaft one term of a leader of the metadata quorum",
    "cluster, cluster_incarnation, controller_epoch, controller_id",
    CLUSTER,
    column(
        "cluster_incarnation",
        INT,
        "How often the cluster was created anew under its name before, from 0; then its epochs begin again, and so do "
        "its topics.",
    ),
    column("controller_id", INT, "Node that was controller; a dump before 4.1 does not say who, and makes no rows."),
    column("controller_epoch", INT, "Controller epoch; in KRaft the quorum's leader epoch."),
    column(
        "claimed_by",
        IDS,
        "Nodes that lines name as the one that was elected with this epoch, sorted; more than one is a bug of Kafka, "
        "and `controller_id` the largest of them.",
        null="written by a version that did not keep them",
    ),
    column(
        "mode",
        TEXT,
        "`zookeeper` or `kraft`. Each counts its epochs for itself: in a migration terms of both overlap, and KRaft's "
        "decide when the last of the others has ended.",
        null="written by a version that did not tell them apart",
    ),
    column(
        "since",
        TIME,
        "When it was elected, UTC; in KRaft when it became leader of the quorum, or another voter first followed it.",
    ),
    column(
        "active_since",
        TIME,
        "When it was ready to serve, UTC; in KRaft when it became the active controller.",
        null="it never logged that",
    ),
    column(
        "until",
        TIME,
        "When the term ended, UTC: it resigned, or the next controller was elected.",
        null="still controller at the end of the logs",
    ),
    column("failover_ms", LONG, "Time from election to ready, ms.", null="it never was ready"),
    column(
        "ended_by",
        TEXT,
        "`resigned`, or `replaced`: the next controller was elected before this one logged that it resigned.",
        null="the term has not ended",
    ),
    column("overlap_ms", LONG, "How long it acted after the next controller was elected, ms; 0: it did not."),
    column(
        "steps",
        ListOf(struct(at=TIME, step=TEXT, node_id=INT, file_id=TEXT, line=LONG)),
        "The steps of its failover that it logged, in order of time, each with its line: `elected`, "
        "`epoch_incremented` (before 2.1), `context_loading`, `context_loaded`, `replica_state_machine_started`, "
        "`partition_state_machine_started`, `ready`, `first_request` (at TRACE); in KRaft `elected`, `active`, "
        "`activation`.",
        null="written by a version that did not keep them",
    ),
    column(
        "resignation",
        ListOf(struct(at=TIME, step=TEXT, node_id=INT, file_id=TEXT, line=LONG)),
        "What it logged of giving up the office, in order of time, each with its line: `resigning` (at DEBUG, "
        "ZooKeeper), `resigned`. Of a term that was `replaced` it did so behind the next controller's election, as a "
        "controller does whose session expired or whose znode was deleted; empty if it logged nothing.",
        null="written by a version that did not keep it",
    ),
    EVIDENCE_COLUMN,
)

BROKER_TIMELINE = table(
    "broker_timeline",
    "one registration of a broker; in KRaft one interval in which it was unfenced",
    "cluster, broker, since",
    CLUSTER,
    column("broker", INT, "Broker id."),
    column("epoch", LONG, "Broker epoch (2.2 on).", null="not logged"),
    column("since", TIME, "When the controller noticed or unfenced it, UTC."),
    column(
        "until",
        TIME,
        "When the controller fenced it or noticed that it was gone, UTC.",
        null="still there at the end of the logs",
    ),
    column(
        "started_as",
        TEXT,
        "`new`, `returned`, `bounced`.",
        null="it was there when the logs begin, or the logs do not show which",
    ),
    column("ended_by", TEXT, "`controlled_shutdown`, `session_expired`, `fenced`, `bounced`.", null="not ended"),
    column("shutdown_since", TIME, "When its controlled shutdown began, UTC.", null="none is logged"),
    EVIDENCE_COLUMN,
)

TOPIC_TIMELINE = table(
    "topic_timeline",
    "one incarnation of a topic",
    "cluster, topic, incarnation",
    CLUSTER,
    column("topic", TEXT, "Topic name."),
    column("incarnation", INT, "Number of deletions before it, from 0."),
    column("topic_id", TEXT, "Topic id (KIP-516).", null="the release has none, or it is in no log line"),
    column("since", TIME, "Time of the first log line that shows that it exists, UTC."),
    column("deletion_started", TIME, "When its deletion was requested, UTC.", null="it was not"),
    column("until", TIME, "When its deletion was complete, UTC.", null="still there at the end of the logs"),
    column("partitions", INT, "Number of partitions, by the highest partition that is logged.", null="none is logged"),
    column(
        "deletion_evidence",
        EVIDENCE,
        "The lines that show `deletion_started`.",
        null="it was not deleted, no line shows that, or a version wrote it that did not keep them",
    ),
    EVIDENCE_COLUMN,
)
