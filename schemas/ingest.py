"""What the ingest writes: streams, coverage, events, rejects."""

from __future__ import annotations

from schemas.columns import CLUSTER, IDS, INT, LONG, TEXT, TEXTS, TIME, ListOf, MapOf, Struct, column
from schemas.table import table

NOT_LOGGED = "not in the line"

PARTITION_STATE = Struct(
    (
        column("topic", TEXT, "Topic name.", null="the line has only its id"),
        column("topic_id", TEXT, "Topic id.", null=NOT_LOGGED),
        column("partition", INT, "Number within the topic."),
        column("leader", INT, "Leader; -1: none.", null=NOT_LOGGED),
        column("leader_epoch", INT, "Leader epoch.", null=NOT_LOGGED),
        column("partition_epoch", INT, "Partition epoch (zkVersion).", null=NOT_LOGGED),
        column("controller_epoch", INT, "Controller epoch of the state.", null=NOT_LOGGED),
        column("isr", IDS, "In-sync replicas in logged order.", null=NOT_LOGGED),
        column("replicas", IDS, "Replica assignment in logged order.", null=NOT_LOGGED),
        column("adding_replicas", IDS, "Replicas being added.", null=NOT_LOGGED),
        column("removing_replicas", IDS, "Replicas being removed.", null=NOT_LOGGED),
        column("offline_replicas", IDS, "Replicas marked offline.", null=NOT_LOGGED),
        column("elr", IDS, "Eligible leader replicas (KIP-966).", null=NOT_LOGGED),
    )
)

CLOCK = column(
    "clock",
    TEXT,
    "How its local time became UTC around a clock change of the time zone: `first_pass` or `second_pass` of a repeated "
    "time, `ambiguous` if it could be either, `gap` for a time that was skipped.",
    null="not in a repeated or skipped hour",
)

SPANS = ListOf(
    Struct(
        (
            column("node_id", INT, "Node that wrote the records.", null="unknown"),
            column("kind", TEXT, "As in log_coverage."),
            column("since", TIME, "Time of the first record, UTC."),
            column("until", TIME, "Time of the last record, UTC."),
            column("records", LONG, "Number of records, including those out of scope."),
        )
    )
)

LAST_RECORD = Struct(
    (
        column("byte_offset", LONG, "Byte at which it starts in the decompressed stream, from 0."),
        column("line", LONG, "Number of its first line, from 1."),
        column("size_bytes", LONG, "Its size, bytes."),
        column("record", TEXT, "`event` or `reject`.", null="out of scope"),
        column(
            "account_before",
            TEXT,
            "What the records before it add up to: bytes and lines as in this table, writers, kinds and times; JSON.",
        ),
    )
)

LOG_FILES = table(
    "log_files",
    "one log stream ever read; the same content under another name is the same row",
    "cluster, file_id",
    CLUSTER,
    column("file_id", TEXT, "Permanent id of the stream: the start of a hash of the content first read."),
    column("node_ids", IDS, "Nodes that its records name as their writer, sorted."),
    column(
        "role",
        TEXT,
        "Of the nodes, by its records: `broker`, or `controller`, ZooKeeper's own log of it, too.",
        null="none of them shows it",
    ),
    column(
        "path",
        TEXT,
        "Path when it was first read, or last appended to; `bundle.tar.gz!/member` inside a bundle.",
    ),
    column("also_seen_as", TEXTS, "Other paths with the same content, sorted."),
    column(
        "kind",
        TEXT,
        "`state_change`, `controller`, `server` or `metadata_dump`: what most of its records in scope are, by their "
        "loggers (if none is in scope, most of all records); log_coverage has the others.",
        null="it has no records",
    ),
    column(
        "format",
        TEXT,
        "How it is written: encoding, wrapper and layout, as `apache` or `compose/apache`.",
        null="no line of it is a log record",
    ),
    column(
        "channels", TEXTS, "Outputs that are interleaved in it, such as compose services, sorted; empty if it is one."
    ),
    column("size_bytes", LONG, "Size read so far, decompressed, bytes."),
    column("event_bytes", LONG, "First lines of events, bytes."),
    column("detail_bytes", LONG, "Further lines of events (stack traces), bytes."),
    column("reject_bytes", LONG, "Records of loggers wholly in scope that no rule matches, bytes."),
    column("other_bytes", LONG, "Records out of scope, and lines before the first record, bytes."),
    column("duplicate_bytes", LONG, "Records that another stream of this cluster has, bytes."),
    column("held_back_bytes", LONG, "An unterminated last record, left for the next run, bytes."),
    column("event_lines", LONG, "Number of events."),
    column("reject_lines", LONG, "Number of rejects."),
    column("first_at", TIME, "Earliest time stamp, by the node's own clock, UTC.", null="it has none"),
    column("last_at", TIME, "Latest time stamp, by the node's own clock, UTC.", null="it has none"),
    column(
        "kafka_versions",
        TEXT,
        "Narrowest range of releases that write these messages, `2.4.0..2.5.1`.",
        null="unknown",
    ),
    column(
        "time_zone", TEXT, "Zone in which its local times were read; a time that is logged with a zone is read in that."
    ),
    column(
        "status",
        TEXT,
        "`ok`; `no_records`: no line of it begins a record; `truncated`: its compressed form is damaged, and what "
        "stands before the damage was read; `refused`: nothing was read.",
    ),
    column(
        "drift",
        MapOf(TEXT, LONG),
        "What no rule knows of its events, though one reads them (docs/rules.md): names of new fields, a "
        "blank between, or `appended text` -> number of events.",
        null="written by a version that did not count them",
    ),
    column("findings", TEXTS, "What makes its evidence doubtful, one sentence each; empty: nothing."),
    column(
        "spans",
        SPANS,
        "When it has records of which kind, and who wrote them; silences of up to a minute do not end a span.",
    ),
    column(
        "prefix_hash", TEXT, "Hash of the first `size_bytes` bytes, by which an appended or renamed stream is known."
    ),
    column(
        "last_record",
        LAST_RECORD,
        "From where on it is read when it has grown: its last record, for that may get further lines.",
        null="it is read as a whole: it is wrapped or a dump, or has records that another stream has",
    ),
    column(
        "disk_state",
        TEXT,
        "Hash of path, file number, size, time of change and zones when it was read: a file that is still so is not "
        "read again.",
        null="it was in a bundle or a store",
    ),
    column("run_id", TEXT, "Run that last read new bytes of it."),
)

EVENTS = table(
    "events",
    "one record of a logger in scope",
    "cluster, file_id, line, byte_offset",
    CLUSTER,
    column("file_id", TEXT, "Stream of the record."),
    column("line", LONG, "Number of its first line in the stream, from 1."),
    column("byte_offset", LONG, "Byte at which it starts in the decompressed stream, from 0."),
    column("size_bytes", LONG, "Its size, including further lines and line ends, bytes."),
    column(
        "node_id",
        INT,
        "Node that wrote it: from the record, else from the stream's other records, else from the path.",
        null="unknown",
    ),
    column("at", TIME, "Time stamp, by the node's own clock, never corrected, UTC.", null="a dump's line without one"),
    CLOCK,
    column("level", TEXT, "Log level.", null="a line of a metadata dump"),
    column("logger", TEXT, "Full logger name; `kafka-dump-log` for a metadata dump."),
    column("event_type", TEXT, "Which message it is: the name of the rule that matches it."),
    column("controller_id", INT, "Controller that acts or sends.", null=NOT_LOGGED),
    column(
        "controller_epoch",
        INT,
        "Its epoch; in a metadata dump the leader epoch of the metadata quorum.",
        null=NOT_LOGGED,
    ),
    column("correlation_id", INT, "Correlation id of a control request.", null=NOT_LOGGED),
    column("broker_id", INT, "Broker that writes the record or that it is about.", null=NOT_LOGGED),
    column("topic", TEXT, "Topic.", null="not in the line, or it names several (see `partitions`)"),
    column("topic_id", TEXT, "Topic id.", null=NOT_LOGGED),
    column("partition", INT, "Partition.", null="not in the line, or it names several (see `partitions`)"),
    column("leader", INT, "Leader; -1: none, -2: the topic is being deleted.", null=NOT_LOGGED),
    column("leader_epoch", INT, "Leader epoch.", null=NOT_LOGGED),
    column("partition_epoch", INT, "Partition epoch (zkVersion).", null=NOT_LOGGED),
    column("isr", IDS, "In-sync replicas in logged order.", null=NOT_LOGGED),
    column("replicas", IDS, "Replica assignment in logged order.", null=NOT_LOGGED),
    column(
        "partitions",
        ListOf(PARTITION_STATE),
        "The states in a line that names several partitions.",
        null="it names none, or one",
    ),
    column("fields", MapOf(TEXT, TEXT), "All other values that the rule reads from the message, as logged."),
    column("message", TEXT, "The message with its prefix, without time, level and logger."),
    column("detail", TEXT, "Further lines, a stack trace for example.", null="there are none"),
)

REJECTS = table(
    "rejects",
    "one record of a logger wholly in scope that no rule matches",
    "cluster, file_id, line, byte_offset",
    CLUSTER,
    column("file_id", TEXT, "Stream of the record."),
    column("line", LONG, "Number of its first line in the stream, from 1."),
    column("byte_offset", LONG, "Byte at which it starts in the decompressed stream, from 0."),
    column("size_bytes", LONG, "Its size, including further lines and line ends, bytes."),
    column("head_bytes", LONG, "Size of its first line, including the line end, bytes."),
    column("node_id", INT, "Node that wrote it, as in events.", null="unknown"),
    column("at", TIME, "Time stamp, by the node's own clock, never corrected, UTC.", null="it is not a valid time"),
    CLOCK,
    column("level", TEXT, "Log level."),
    column("logger", TEXT, "Full logger name."),
    column("reason", TEXT, "Why it is no event."),
    column(
        "signature",
        TEXT,
        "Message signature: the message without ids, names and numbers; records of one kind share it.",
    ),
    column(
        "raw",
        TEXT,
        "The whole record without the wrapper of its lines; bytes that are not UTF-8 as \\xNN, and a backslash that "
        "would look like that as \\x5c.",
    ),
)

LOG_COVERAGE = table(
    "log_coverage",
    "one interval for which a node's log of one kind is there",
    "cluster, node_id, kind, since",
    CLUSTER,
    column("node_id", INT, "Node that wrote it.", null="unknown"),
    column("kind", TEXT, "`state_change`, `controller`, `server` or `metadata_dump`, by the loggers of its records."),
    column("since", TIME, "Time of the first record, by the node's own clock, UTC."),
    column(
        "until",
        TIME,
        "Time of the last record, by the node's own clock, UTC; the next one comes later than the tolerance allows.",
    ),
    column("records", LONG, "Number of records, including those out of scope."),
)
