"""Requests of controllers to brokers, and how far the clocks of nodes were apart."""

from __future__ import annotations

from schemas.columns import CLUSTER, DOUBLE, EVIDENCE_COLUMN, FLAG, INT, LONG, TEXT, TIME, ListOf, column, struct
from schemas.table import table

CONTROL_REQUESTS = table(
    "control_requests",
    "one LeaderAndIsr, UpdateMetadata or StopReplica request of a ZooKeeper controller to one broker",
    "cluster, controller_id, broker, number",
    CLUSTER,
    column("controller_id", INT, "Node that sent it."),
    column("broker", INT, "Broker that it was sent to; a controller also sends them to its own broker."),
    column(
        "number",
        LONG,
        "Numbers the requests of this controller to this broker that are in the logs, from 0, by epoch in the "
        "controller's order; one that only the broker logged comes before the next one that the broker received, else "
        "last of its epoch.",
    ),
    column("controller_epoch", INT, "Controller epoch that it was sent in.", null="not logged"),
    column(
        "correlation_id",
        INT,
        "Correlation id on its connection; connections end with the broker's process or the controller's term.",
        null="only the controller's lines about sending it are there; from 0.9 on they lack the id",
    ),
    column("kind", TEXT, "`LeaderAndIsr`, `UpdateMetadata`, `StopReplica`.", null="not logged"),
    column("partitions", INT, "Number of partitions that the logs name in it.", null="they name none"),
    column(
        "sent_at",
        TIME,
        "When the controller put it into the broker's queue, UTC.",
        null="no line, or none that certainly belongs to it",
    ),
    column("received_at", TIME, "Time of the broker's first line about it, UTC.", null="no line"),
    column("handled_at", TIME, "Time of the broker's last line about it, UTC.", null="no line"),
    column(
        "responded_at",
        TIME,
        "When the controller logged the response, UTC (at TRACE; 0.9 to 1.0 do not log which request it answers).",
        null="no line",
    ),
    column(
        "delivery_ms",
        LONG,
        "Time from sent to received, ms, by the corrected clocks of both nodes.",
        null="one of the two times is",
    ),
    column("handling_ms", LONG, "Time from received to handled, ms, by the broker's clock.", null="not received"),
    column(
        "round_trip_ms",
        LONG,
        "Time from sent to the response, ms, by the controller's clock alone.",
        null="one of the two times is",
    ),
    column(
        "error",
        TEXT,
        "Error code of the response as a whole, `NONE` if there was no error.",
        null="no response, or it has no error code",
    ),
    column(
        "failed_partitions",
        INT,
        "Number of partitions with an error in the response.",
        null="the response names no partitions",
    ),
    column(
        "stale",
        FLAG,
        "True: the broker ignored the request, or some of its partitions, because of an old controller epoch or leader "
        "epoch.",
        null="no line of the broker",
    ),
    column(
        "stale_partitions",
        INT,
        "Number of partitions ignored because of an old leader epoch.",
        null="no line of the broker",
    ),
    column(
        "arrived",
        FLAG,
        "Whether a line shows that it arrived, or that a later one on the same connection did: they arrive in order. "
        "False of the last ones to a broker that is dead or hangs, and of what was on its way when the logs end.",
        null="no line of the broker or the controller shows of any request of its kind whether it arrived, or the "
        "broker got one of its kind and controller epoch of which no line tells when it was sent",
    ),
    column(
        "backlog",
        INT,
        "How many requests were in the broker's queue when this one was put into it, at least: sent before on the same "
        "connection, and not arrived yet.",
        null="not sent by a line, or it is unknown when they arrived",
    ),
    column(
        "oldest_waiting_ms",
        LONG,
        "For how long the first of these had been waiting then, ms.",
        null="none was waiting, or backlog is unknown",
    ),
    EVIDENCE_COLUMN,
)

CORRECTION_POINTS = ListOf(struct(at=TIME, ahead_ms=DOUBLE))

CLOCK_OFFSETS = table(
    "clock_offsets",
    "one node's clock against the cluster's reference clock, in one hour in which log lines compare it",
    "cluster, node_id, hour",
    CLUSTER,
    column("node_id", INT, "Node; one without any row could not be compared, and keeps its own clock."),
    column("hour", TIME, "Start of the hour, UTC, on the reference clock."),
    column("reference", INT, "Node whose clock is the reference: one that agrees with most others."),
    column(
        "offset_ms_min",
        DOUBLE,
        "The node's clock was ahead of the reference by at least that, ms; negative: behind.",
        null="no lower bound, or `contradicting`",
    ),
    column(
        "offset_ms_max",
        DOUBLE,
        "The node's clock was ahead of the reference by at most that, ms.",
        null="no upper bound, or `contradicting`",
    ),
    column(
        "pairs",
        LONG,
        "Number of line pairs, one line the other's cause, that compare it with other nodes in that hour.",
    ),
    column(
        "contradicting",
        FLAG,
        "True: its line pairs contradict each other at a drift of up to 500 ppm, as if its clock had been set; it "
        "keeps its own clock.",
    ),
    column(
        "applied",
        CORRECTION_POINTS,
        "The correction: at these times of its own clock, in order, `ahead_ms` was subtracted, interpolated linearly "
        "between them, also across hours. Empty: nothing, because the clock may be right.",
    ),
)
