"""Numbers over time, in the names of Kafka's metrics: availability, imbalance, and what a dashboard shows by minute."""

from __future__ import annotations

from schemas.columns import CLUSTER, DOUBLE, EVIDENCE_COLUMN, INT, LONG, TEXT, TIME, column
from schemas.table import table

TOPIC_AVAILABILITY = table(
    "topic_availability",
    "one topic in one hour or day in which a partition of it was without a leader, or had fewer replicas in sync than "
    "min.insync.replicas; in all others it was available, as far as logs are there",
    "cluster, topic, span, window",
    CLUSTER,
    column("topic", TEXT, "Topic name, of all its incarnations."),
    column("span", TEXT, "`hour` or `day`."),
    column("window", TIME, "Start of the hour or day, UTC."),
    column("partitions", INT, "Partitions that it had at most.", null="none is logged"),
    column(
        "leaderless_ms",
        LONG,
        "Milliseconds without a leader, summed over partitions; where an end is unknown, as far as they are sure. The "
        "wait for a deletion counts like any other.",
    ),
    column(
        "under_min_isr_ms",
        LONG,
        "Milliseconds with a leader and fewer replicas in sync than min.insync.replicas (UnderMinIsr, as "
        "partition_timeline has it), summed over partitions.",
        null="min.insync.replicas of the topic is in no setting",
    ),
    column(
        "availability",
        DOUBLE,
        "Part of the time of all partitions in which they had a leader, from 0 to 1.",
        null="the number of partitions is unknown",
    ),
)

PREFERRED_REPLICA_IMBALANCE = table(
    "preferred_replica_imbalance",
    "one broker in one interval in which the partitions that it leads, and is to lead, were the same",
    "cluster, broker, since",
    CLUSTER,
    column("broker", INT, "Broker."),
    column("since", TIME, "When it began, UTC."),
    column("until", TIME, "When a leader or an assignment changed, UTC.", null="still so at the end of the logs"),
    column("leaders", INT, "Partitions that it leads (LeaderCount)."),
    column("preferred", INT, "Partitions whose first replica it is, as far as assignments are logged."),
    column("imbalanced", INT, "Those of them that another broker leads, or none (PreferredReplicaImbalanceCount)."),
    column(
        "ratio",
        DOUBLE,
        "`imbalanced` of `preferred`; above leader.imbalance.per.broker.percentage (10 %) Kafka elects preferred "
        "leaders.",
        null="it is the first replica of none",
    ),
)

CLUSTER_MINUTELY = table(
    "cluster_minutely",
    "one minute from the first to the last line of a cluster's logs, as a dashboard would show it",
    "cluster, minute",
    CLUSTER,
    column("minute", TIME, "Start of the minute, UTC."),
    column("offline_partitions_count", INT, "Partitions surely without a leader at its end (OfflinePartitionsCount)."),
    column("offline_partitions_seen", INT, "Partitions that were without a leader at any time in it."),
    column(
        "under_replicated_partitions",
        INT,
        "Partitions with a leader and fewer replicas in sync than assigned, at its end (UnderReplicatedPartitions), as "
        "far as assignments are logged.",
    ),
    column("active_controller_count", INT, "Controllers that were ready to serve at its end (ActiveControllerCount)."),
    column("leader_elections", INT, "Elections that succeeded in it (LeaderElectionRateAndTimeMs)."),
    column("unclean_leader_elections", INT, "Those that were unclean (UncleanLeaderElectionsPerSec)."),
    column("isr_shrinks", INT, "ISRs that shrank in it (IsrShrinksPerSec), controllers' changes among them."),
    column("isr_expands", INT, "ISRs that grew in it (IsrExpandsPerSec)."),
)

CONTROLLER_ACTIVITY = table(
    "controller_activity",
    "one state of a controller, or one kind of its events, in one hour in which it had that state or event",
    "cluster, controller_id, window, state, event",
    CLUSTER,
    column("controller_id", INT, "Controller."),
    column("window", TIME, "Start of the hour, UTC."),
    column(
        "state",
        TEXT,
        "With ZooKeeper a state of Kafka's ControllerState: `ControllerChange`, `BrokerChange`, `TopicChange`, "
        "`TopicDeletion`, `AlterPartitionReassignment` (until 2.3 `PartitionReassignment`), `AutoLeaderBalance`, "
        "`ManualLeaderBalance`, `ControlledShutdown`, `IsrChange`, `LogDirChange`, ...; with KRaft `QuorumController`.",
    ),
    column(
        "event",
        TEXT,
        "KRaft's name of the event, `alterPartition`, where each is logged (DEBUG).",
        null="all events of the hour together (KRaft 3.9 on), or a state of a ZooKeeper controller",
    ),
    column("metric", TEXT, "Kafka's metric of it, `LeaderElectionRateAndTimeMs`; its name in ControllerStats."),
    column("count", LONG, "How often lines show that it began."),
    column("rate", DOUBLE, "The same by second of the hour."),
    column(
        "mean_ms",
        DOUBLE,
        "Mean time, ms. Of a ZooKeeper controller from the first to the last line of each: at least so long.",
    ),
    column("max_ms", DOUBLE, "Longest time, ms, likewise."),
    EVIDENCE_COLUMN,
)
