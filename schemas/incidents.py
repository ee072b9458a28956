"""What went wrong: incidents with their causes and stories, and failed log directories."""

from __future__ import annotations

from schemas.columns import (
    CLUSTER,
    DOUBLE,
    EVIDENCE_COLUMN,
    FLAG,
    INT,
    LONG,
    TEXT,
    TEXTS,
    TIME,
    ListOf,
    column,
    struct,
)
from schemas.table import table

SEVERITIES = ("critical", "major", "minor", "info")
"""Values of `incidents.severity`, the worst first."""

LOG_DIR_FAILURES = table(
    "log_dir_failures",
    "one failed log directory of a broker",
    "cluster, broker, log_dir, at",
    CLUSTER,
    column("broker", INT, "Broker."),
    column("log_dir", TEXT, "Path of the directory, as the broker logs it."),
    column("at", TIME, "Time of the first log line about the failure, UTC."),
    column("until", TIME, "When the broker's next process started, UTC.", null="none did by the end of the logs"),
    column("partitions_offline", INT, "Number of replicas that the broker's lines name as offline with it."),
    column("partitions", TEXTS, "Their partitions, `topic-3`, sorted."),
    column("broker_halted", FLAG, "Whether the broker halted because of it."),
    column("error", TEXT, "Exception by which the broker found that it had failed, its first line.", null="not logged"),
    EVIDENCE_COLUMN,
)

INCIDENTS = table(
    "incidents",
    "one thing that went wrong, or was done on purpose, with all that followed from it",
    "cluster, incident_id",
    CLUSTER,
    column(
        "incident_id", TEXT, "Cause, node and begin; the same for the same logs, `broker_crash-3-20261121T114645467`."
    ),
    column(
        "severity",
        TEXT,
        "`critical`: an unclean election, or partitions that are without a leader still because something failed; "
        "`major`: they surely were for 1 s or more because something failed; `minor`: something failed, and no "
        "partition is known to have been without a leader so long, or a shutdown left some so for 1 s or more, or "
        "still; "
        "`info`: done on purpose, with nothing of that.",
    ),
    column("title", TEXT, "The incident in one line."),
    column(
        "since",
        TIME,
        "When it surely had begun, UTC: the first line of a shutdown, else when the controller noticed, else when "
        "the next process started.",
    ),
    column(
        "began_after",
        TIME,
        "Until when the node was surely there, UTC: its last line before.",
        null="not known, or `since` is exact",
    ),
    column(
        "until",
        TIME,
        "When it was over, UTC: the node was back, or it stopped once more and was not back by the end of the logs, "
        "and no partition was without a leader because of it; where the end of an outage is not known, by when it was, "
        "and if a deletion ended it, no line tells when, until when it surely lasted.",
        null="not over at the end of the logs",
    ),
    column(
        "root_cause",
        TEXT,
        "`broker_crash`, `session_expired` (ZooKeeper) or `fenced` (KRaft): the broker's session ended, it was frozen "
        "or cut off where its own lines show that it lived on; `bounced` (ZooKeeper): it registered anew, and its "
        "lines do not tell whether it was restarted; `controlled_shutdown`, `broker_halted`, "
        "`start_failed` (it was not there before), "
        "`log_dir_failure`, `controller_crash`, `controller_shutdown`, `controller_changed` (another controller took "
        "over, and no line shows that the process of the one before ended), `isr_shrink_storm` (leaders took it out "
        "of five ISRs or more in a minute, or it took its followers out, though it was not stopped, and its session "
        "lived on), `reassignment_stuck`, `unclean_election`, `topic_deletion`.",
        null="partitions lost their leaders, and the logs do not tell why",
    ),
    column("root_broker", INT, "Broker or controller that it began with.", null="none, or unknown"),
    column("topics_affected", INT, "Topics of `partitions_affected`."),
    column("partitions_affected", INT, "Partitions that were without a leader because of it."),
    column(
        "leaderless_partition_minutes",
        DOUBLE,
        "Minutes without a leader, summed over partitions; where an end is unknown, as far as they are sure.",
    ),
    column(
        "out_of_isr", INT, "Partitions in whose ISR the broker no longer was; of a leader's storm, of its followers."
    ),
    column("reassignments_blocked", INT, "Reassignments that waited for the broker, or are stuck."),
    column("elections_failed", INT, "Elections that failed as leaders were lost, or meanwhile."),
    column("unclean_elections", INT, "Unclean elections that ended it, or that it was."),
    column("lost_records_min", LONG, "At least this number of records was lost.", null="unknown; or nothing was"),
    column("lost_records_max", LONG, "At most this number of records was lost.", null="unknown; or nothing was"),
    column(
        "healed_by",
        TEXT,
        "What ended the longest time without a leader, as in offline_partitions.",
        null="no partition was without a leader, or it is not over, or unknown",
    ),
    column(
        "healed_by_broker", INT, "The broker that became its leader.", null="as `healed_by`; or a deletion ended it"
    ),
    column(
        "steps",
        ListOf(struct(at=TIME, what=TEXT, node_id=INT, file_id=TEXT, line=LONG)),
        "What happened, in order of time, each with its first line.",
    ),
    column(
        "story",
        TEXT,
        "The same in two to eight sentences: how it began, what it did to which partitions, why nobody could be "
        "elected, what ended it, what was lost. `[2]` is the second line of `evidence`.",
    ),
    EVIDENCE_COLUMN,
)
