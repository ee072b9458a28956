"""What the ingest writes: streams, events, rejects."""

from __future__ import annotations

from schemas.columns import CLUSTER, IDS, INT, LONG, TEXT, TEXTS, TIME, ListOf, MapOf, Struct, column, table

PARTITION_STATE = Struct(
    (
        column("topic", TEXT, "Topic name; null if the line gives only its id."),
        column("topic_id", TEXT, "Topic id; null if not given."),
        column("partition", INT, "Number within the topic."),
        column("leader", INT, "Leader; -1 none, null not said."),
        column("leader_epoch", INT, "Leader epoch; null not said."),
        column("partition_epoch", INT, "Partition epoch (zkVersion); null not said."),
        column("controller_epoch", INT, "Controller epoch of the state; null not said."),
        column("isr", IDS, "In-sync replicas as printed; null not said."),
        column("replicas", IDS, "Assignment as printed; null not said."),
        column("adding_replicas", IDS, "Replicas being added; null not said."),
        column("removing_replicas", IDS, "Replicas being removed; null not said."),
        column("offline_replicas", IDS, "Replicas marked offline; null not said."),
        column("elr", IDS, "Eligible leader replicas (KIP-966); null not said."),
    )
)

CLOCK = column(
    "clock",
    TEXT,
    "How its local time became UTC where the zone's clocks were changed: `first_pass` or `second_pass` of a repeated time, "
    "`ambiguous` if nothing tells which, `gap` for a time that was skipped; null everywhere else.",
)

SPANS = ListOf(
    Struct(
        (
            column("node_id", INT, "Node that wrote them; null unknown."),
            column("kind", TEXT, "As in `log_coverage`."),
            column("since", TIME, "Time of the first record, UTC."),
            column("until", TIME, "Time of the last record, UTC."),
            column("records", LONG, "Records, those out of scope included."),
        )
    )
)

LOG_FILES = table(
    "log_files",
    "one log stream ever seen; the same content under another name is the same row",
    "cluster, file_id",
    CLUSTER,
    column("file_id", TEXT, "Opaque name of the stream, given once: begin of the hash of its first content."),
    column("node_ids", IDS, "Nodes that its records name as their writer, sorted."),
    column("role", TEXT, "`broker` or `controller` (KRaft), by its records; null if none tells."),
    column("path", TEXT, "Where it was seen first, or lay when it had grown; `bundle.tar.gz!/member` inside a bundle."),
    column("also_seen_as", TEXTS, "Other paths with the same content, sorted."),
    column(
        "kind",
        TEXT,
        "`state_change`, `controller`, `server` or `metadata_dump`: what most of its records in scope are, by their loggers "
        "(if none is in scope, most of all); `log_coverage` tells the rest. Null if it has no records.",
    ),
    column(
        "format",
        TEXT,
        "How it is written, encoding, wrapper and layout: `apache`, `compose/apache`; null if no line of it is a record.",
    ),
    column(
        "channels", TEXTS, "Outputs that are interleaved in it, such as compose services, sorted; empty if it is one."
    ),
    column("size_bytes", LONG, "Decompressed bytes read so far."),
    column("event_bytes", LONG, "Bytes of first lines of events."),
    column("detail_bytes", LONG, "Bytes of their further lines (stack traces)."),
    column("reject_bytes", LONG, "Bytes of records of wholly scoped loggers that no rule knows."),
    column("other_bytes", LONG, "Bytes of records out of scope, and of lines before the first record."),
    column("duplicate_bytes", LONG, "Bytes that another stream of this cluster had brought already."),
    column("held_back_bytes", LONG, "Bytes of an unterminated last record, for the next run."),
    column("event_lines", LONG, "Number of events."),
    column("reject_lines", LONG, "Number of rejects."),
    column("first_at", TIME, "First time stamp, UTC; null if there is none."),
    column("last_at", TIME, "Last time stamp, UTC; null if there is none."),
    column(
        "kafka_versions", TEXT, "Narrowest range of releases whose messages these are, `2.4.0..2.5.1`; null unknown."
    ),
    column("time_zone", TEXT, "Zone its local times were read in; times that print their zone are read in that."),
    column(
        "status",
        TEXT,
        "`ok`, `no_records` where no line of it is a record's first, `truncated` where its compressed form is damaged: what "
        "stands before the damage was read, `refused` where nothing was read.",
    ),
    column("findings", TEXTS, "What makes its evidence doubtful, a sentence each; empty if nothing does."),
    column("spans", SPANS, "When records of which kind were written, by whom; silences of a minute are no gaps."),
    column("prefix_hash", TEXT, "Hash of the first `size_bytes` bytes: how a grown or renamed file is known again."),
    column("run_id", TEXT, "Run that last read new bytes of it."),
)

EVENTS = table(
    "events",
    "one record of a logger in scope",
    "cluster, file_id, line, byte_offset",
    CLUSTER,
    column("file_id", TEXT, "Stream of the record (log_files).", nullable=True),
    column("line", LONG, "Its first line in the stream, from 1."),
    column("byte_offset", LONG, "Byte at which it starts in the decompressed stream, from 0."),
    column("size_bytes", LONG, "Its bytes, further lines and line ends included."),
    column(
        "node_id",
        INT,
        "Node that wrote it: from the record, else its stream's other records, else the path; null unknown.",
    ),
    column("at", TIME, "The node's own clock in UTC; never corrected. Null where a dump line has none."),
    CLOCK,
    column("level", TEXT, "Log level; null in a metadata dump."),
    column("logger", TEXT, "Full logger name; `kafka-dump-log` for a metadata dump."),
    column("event_type", TEXT, "Which message it is (docs/reference: rules)."),
    column("controller_id", INT, "Controller that acts or sends; null not said."),
    column("controller_epoch", INT, "Its epoch; in a dump the leader epoch of the metadata quorum. Null not said."),
    column("correlation_id", INT, "Correlation id of a control request; null not said."),
    column("broker_id", INT, "Broker that writes or is spoken of; null not said."),
    column("topic", TEXT, "Topic; null not said, or several (see `partitions`)."),
    column("topic_id", TEXT, "Topic id; null not said."),
    column("partition", INT, "Partition; null not said, or several."),
    column("leader", INT, "Leader; -1 none, -2 topic being deleted, null not said."),
    column("leader_epoch", INT, "Leader epoch; null not said."),
    column("partition_epoch", INT, "Partition epoch (zkVersion); null not said."),
    column("isr", IDS, "In-sync replicas in printed order; null not said."),
    column("replicas", IDS, "Assignment in printed order; null not said."),
    column(
        "partitions",
        ListOf(PARTITION_STATE),
        "What a line that names several partitions says of each; null if it names none or one.",
    ),
    column("fields", MapOf(TEXT, TEXT), "Everything else the rule marked, as printed."),
    column("message", TEXT, "The message with its prefix, without time, level and logger."),
    column("detail", TEXT, "Further lines, a stack trace for example; null if there are none."),
)

REJECTS = table(
    "rejects",
    "one record of a wholly scoped logger that no rule knows",
    "cluster, file_id, line, byte_offset",
    CLUSTER,
    column("file_id", TEXT, "Stream of the record."),
    column("line", LONG, "Its first line in the stream, from 1."),
    column("byte_offset", LONG, "Byte at which it starts."),
    column("size_bytes", LONG, "Its bytes, further lines and line ends included."),
    column("head_bytes", LONG, "Bytes of its first line, line end included."),
    column("node_id", INT, "Node that wrote it, as in `events`."),
    column("at", TIME, "The node's own clock in UTC; null if its time stamp is none."),
    CLOCK,
    column("level", TEXT, "Log level."),
    column("logger", TEXT, "Full logger name."),
    column("reason", TEXT, "Why it is no event."),
    column("signature", TEXT, "Its message with ids, names and numbers taken out: what records of one kind share."),
    column(
        "raw",
        TEXT,
        "The whole record without what wraps its lines; bytes that are not UTF-8 as \\xNN, and a backslash that would "
        "look like that as \\x5c.",
    ),
)

LOG_COVERAGE = table(
    "log_coverage",
    "one span in which a node's log of one kind is there",
    "cluster, node_id, kind, since",
    CLUSTER,
    column("node_id", INT, "Node that wrote it; null unknown."),
    column("kind", TEXT, "`state_change`, `controller`, `server` or `metadata_dump`, by the loggers of its records."),
    column("since", TIME, "Time of its first record, UTC."),
    column("until", TIME, "Time of its last record, UTC; the next span begins later than the tolerance allows."),
    column("records", LONG, "Records in it, those out of scope included."),
)
