"""Lines about the requests that ZooKeeper controllers send to brokers, and the request that several of them are about.

Three sorts of lines are about a request. The controller logs what it puts into the broker's queue (TRACE, a line for
each partition; from 2.6 on INFO, a line for each request), the broker what it does for a request, the controller what
came back (TRACE). Brokers and, from 1.1 on, responses give the correlation id, which counts the requests of one
connection (NetworkClient; until 0.8.2 it counts the controller's batches, and the sending lines give it, too).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SENT, HANDLED, ANSWERED = "sent", "handled", "answered"
"""Sides of a request: sent by the controller, handled by the broker, answered as the controller logs it."""
LEADER_AND_ISR, UPDATE_METADATA, STOP_REPLICA = "LeaderAndIsr", "UpdateMetadata", "StopReplica"

APIS: Mapping[str, str] = {
    "LEADER_AND_ISR": LEADER_AND_ISR,
    "UPDATE_METADATA": UPDATE_METADATA,
    "STOP_REPLICA": STOP_REPLICA,
}
"""Kinds of requests by the names that responses print."""

_HANDLED_LEADER_AND_ISR = (
    "become_follower_completed", "become_follower_failed", "become_follower_failed_storage",
    "become_follower_fetcher_skipped_shutdown", "become_follower_fetcher_started", "become_follower_leader_unavailable",
    "become_follower_skipped_same_leader", "become_follower_started", "become_follower_stopped_fetchers",
    "become_follower_stopped_fetchers_summary", "become_follower_topic_id_update_skipped_shutdown",
    "become_follower_truncated_log", "become_leader_completed", "become_leader_failed", "become_leader_failed_storage",
    "become_leader_skipped_already_leader", "become_leader_started", "become_leader_stopped_fetchers",
    "become_leader_stopped_fetchers_summary", "leader_and_isr_not_assigned_replica", "leader_and_isr_offline_log_dir",
    "leader_and_isr_request_completed", "leader_and_isr_request_finished_summary", "leader_and_isr_request_handled",
    "leader_and_isr_request_received", "leader_and_isr_request_received_summary", "leader_and_isr_same_leader_epoch",
    "leader_and_isr_stale_controller_epoch", "leader_and_isr_stale_leader_epoch", "leader_and_isr_topic_id_assigned",
    "leader_and_isr_topic_id_removed",
)  # fmt: skip
_HANDLED_UPDATE_METADATA = (
    "metadata_cache_partition_deleted", "metadata_cache_topic_deleted", "metadata_cache_update_summary",
    "metadata_cache_updated", "update_metadata_stale_controller_epoch",
)  # fmt: skip
_HANDLED_STOP_REPLICA = (
    "stop_replica_failed", "stop_replica_offline_log_dir", "stop_replica_request_received",
    "stop_replica_request_received_summary", "stop_replica_same_leader_epoch", "stop_replica_stale_controller_epoch",
    "stop_replica_stale_leader_epoch",
)  # fmt: skip

REQUEST_EVENTS: Mapping[str, tuple[str, str | None]] = {
    "leader_and_isr_request_sent": (SENT, LEADER_AND_ISR),
    "leader_and_isr_request_sent_summary": (SENT, LEADER_AND_ISR),
    "update_metadata_request_sent": (SENT, UPDATE_METADATA),
    "update_metadata_request_sent_summary": (SENT, UPDATE_METADATA),
    "stop_replica_request_sent": (SENT, STOP_REPLICA),
    "stop_replica_request_sent_summary": (SENT, STOP_REPLICA),
    **dict.fromkeys(_HANDLED_LEADER_AND_ISR, (HANDLED, LEADER_AND_ISR)),
    **dict.fromkeys(_HANDLED_UPDATE_METADATA, (HANDLED, UPDATE_METADATA)),
    **dict.fromkeys(_HANDLED_STOP_REPLICA, (HANDLED, STOP_REPLICA)),
    # the line itself names the kind
    "controller_response_received": (ANSWERED, None),
}
"""Event type -> which side of a request the line is about, and the kind of the request."""

PART_EVENTS = ("become_follower_stopped_fetchers_summary", "become_leader_stopped_fetchers_summary")
"""Lines whose number of partitions is that of some partitions of the request: those whose leader changes."""

STALE_CONTROLLER_EVENTS = (
    "leader_and_isr_stale_controller_epoch",
    "stop_replica_stale_controller_epoch",
    "update_metadata_stale_controller_epoch",
)
"""The broker ignored the whole request: it knew a newer controller."""

STALE_LEADER_EVENTS = ("leader_and_isr_stale_leader_epoch", "stop_replica_stale_leader_epoch")
"""The broker ignored a partition of the request; until 2.2 also one whose leader epoch is the one it has."""

STATE_EVENTS = (
    "leader_and_isr_request_sent",
    "leader_and_isr_request_received",
    "update_metadata_request_sent",
    "metadata_cache_updated",
    "metadata_cache_partition_deleted",
    "stop_replica_request_sent",
    "stop_replica_request_received",
)
"""Lines that give the state of one partition as the request carries it; the same on both sides."""

ERRORS: Mapping[int, str] = {
    -1: "UNKNOWN_SERVER_ERROR", 0: "NONE", 3: "UNKNOWN_TOPIC_OR_PARTITION", 5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER", 7: "REQUEST_TIMED_OUT", 8: "BROKER_NOT_AVAILABLE", 9: "REPLICA_NOT_AVAILABLE",
    11: "STALE_CONTROLLER_EPOCH", 13: "NETWORK_EXCEPTION", 31: "CLUSTER_AUTHORIZATION_FAILED",
    35: "UNSUPPORTED_VERSION", 41: "NOT_CONTROLLER", 42: "INVALID_REQUEST", 55: "OPERATION_NOT_ATTEMPTED",
    56: "KAFKA_STORAGE_ERROR", 74: "FENCED_LEADER_EPOCH", 77: "STALE_BROKER_EPOCH", 100: "UNKNOWN_TOPIC_ID",
    103: "INCONSISTENT_TOPIC_ID",
}  # fmt: skip
"""Error codes of Kafka's protocol that responses to control requests carry."""


def error_of(code: int | None) -> str | None:
    """Kafka's name of an error code, `ERROR_<code>` for one that control requests are not known to give; null for
    null."""
    return None if code is None else ERRORS.get(code, f"ERROR_{code}")


# frozen it takes three times as long to make, and most lines make one
@dataclass(slots=True)
class RequestLine:
    """One or several lines of one file and time about one request. Times are microseconds on their node's clock.

    `first` and `last` are the numbers of these lines; `keys` the partitions' states that they name (see STATE_EVENTS)
    as `topic-partition:leader epoch:ISR:partition epoch`, `count` the number of partitions that a line gives, `failed`
    how many were answered with an error. None where the lines do not give it.
    """

    side: str
    node: int | None
    file: str
    at: int
    first: int
    last: int
    kind: str | None = None
    epoch: int | None = None
    id: int | None = None
    keys: Sequence[str] = ()
    count: int | None = None
    error: str | None = None
    failed: int | None = None
    stale: bool = False
    stale_partitions: int = 0

    @property
    def evidence(self) -> tuple[int | None, str, int]:
        """Node, file and number of the first line."""
        return (self.node, self.file, self.first)

    @property
    def order(self) -> tuple[int, int, str]:
        """Sort key for lines of one node: of one time the line number decides before the file."""
        return (self.at, self.first, self.file)


@dataclass
class ControlRequest:
    """A request of a controller to a broker; None where no line gives it.

    Times as in RequestLine, each of its node's clock.
    """

    kind: str | None
    epoch: int | None = None
    id: int | None = None
    sent: RequestLine | None = None
    received: RequestLine | None = None
    handled: RequestLine | None = None
    answered: RequestLine | None = None
    keys: set[str] = field(default_factory=set)
    count: int | None = None
    stale: bool = False
    stale_partitions: int = 0

    @property
    def partitions(self) -> int | None:
        """How many partitions it is about; None if no line gives it."""
        return self.count if self.count is not None else len(self.keys) or None

    @property
    def first_lines(self) -> list[RequestLine]:
        """The first line of each side, in the order in which they happened."""
        return [line for line in (self.sent, self.received, self.answered) if line is not None]

    @property
    def order_at_broker(self) -> tuple[int, int, str]:
        """Sort key for requests by the clock of the broker that received them."""
        assert self.received is not None  # only those are asked
        return self.received.order
