"""What controllers asked of brokers, and how far the clocks of nodes were apart."""

from __future__ import annotations

from schemas.columns import CLUSTER, DOUBLE, EVIDENCE_COLUMN, FLAG, INT, LONG, TEXT, TIME, ListOf, column, struct, table

CONTROL_REQUESTS = table(
    "control_requests",
    "one LeaderAndIsr/UpdateMetadata/StopReplica request to one broker, as a ZooKeeper controller sends them",
    "cluster, controller_id, broker, number",
    CLUSTER,
    column("controller_id", INT, "Node that sent it."),
    column("broker", INT, "Broker it was for; a controller sends them to its own broker, too."),
    column(
        "number",
        LONG,
        "Counts the requests of this controller to this broker that any line tells of, from 0, by epoch in the controller's order; one "
        "of which only the broker tells comes before the next one that the broker got, else last of its epoch.",
    ),
    column("controller_epoch", INT, "Epoch it was sent in; null not told."),
    column(
        "correlation_id",
        INT,
        "Its number on its connection; connections end when the broker or the reign does. Null: only its sending lines are "
        "there (0.9 on they do not tell it).",
    ),
    column("kind", TEXT, "`LeaderAndIsr`, `UpdateMetadata`, `StopReplica`; null not told."),
    column("partitions", INT, "Partitions it is about, as far as lines tell; null if none does."),
    column(
        "sent_at",
        TIME,
        "When the controller put it into the broker's queue; null: no line, or none that is surely its.",
    ),
    column("received_at", TIME, "Time of the broker's first line on it; null: none."),
    column("handled_at", TIME, "Time of the broker's last line on it; null: none."),
    column(
        "responded_at",
        TIME,
        "When the controller logged the response (TRACE; those of 0.9 to 1.0 do not tell to which request); null: no line.",
    ),
    column(
        "delivery_ms", LONG, "From sent to received, ms, by the clocks of both nodes, corrected; null if either is."
    ),
    column("handling_ms", LONG, "From received to handled, ms, by the broker's clock; null: not received."),
    column("round_trip_ms", LONG, "From sent to the response, ms, by the controller's clock alone; null if either is."),
    column(
        "error",
        TEXT,
        "Error of the response as a whole, `NONE` if it has none; null: no response, or it tells no error.",
    ),
    column("failed_partitions", INT, "Partitions that the response gives an error; null: it names no partitions."),
    column(
        "stale",
        FLAG,
        "True if the broker ignored all of it or some partitions because its controller's or leader's epoch was old; null: "
        "no line of the broker.",
    ),
    column("stale_partitions", INT, "Partitions ignored for an old leader epoch; null: no line of the broker."),
    EVIDENCE_COLUMN,
)

KNOTS = ListOf(struct(at=TIME, ahead_ms=DOUBLE))

CLOCK_OFFSETS = table(
    "clock_offsets",
    "one node's clock against the cluster's reference, in one hour in which lines compare it",
    "cluster, node_id, hour",
    CLUSTER,
    column("node_id", INT, "Node; one that never appears could not be compared, and keeps its own clock."),
    column("hour", TIME, "Begin of the hour, UTC, on the reference's clock."),
    column("reference", INT, "Node whose clock counts: one that most others may agree with."),
    column(
        "offset_ms_min",
        DOUBLE,
        "The node's clock was ahead of the reference's by at least that, ms; negative: behind. Null: not bounded below, or "
        "`contradicting`.",
    ),
    column("offset_ms_max", DOUBLE, "By at most that, ms. Null: not bounded above, or `contradicting`."),
    column("pairs", LONG, "Pairs of lines, one the other's cause, that compare it with other nodes in that hour."),
    column(
        "contradicting",
        FLAG,
        "True: its pairs contradict each other at a drift of 500 ppm, as if its clock had been set; it keeps its own clock.",
    ),
    column(
        "applied",
        KNOTS,
        "What was taken off its times: at times of its own clock, in order, so many ms, evenly more or less between them, "
        "also across hours. Empty: nothing, for it may go right.",
    ),
)
