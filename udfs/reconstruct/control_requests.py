"""What a ZooKeeper controller asked of a broker: one request put together from the lines of both.

Three sorts of lines tell of a request. The controller says what it puts into the broker's queue (TRACE, a line for each
partition; from 2.6 on INFO, a line for each request), the broker what it does for a request, the controller what came
back (TRACE). Brokers and, from 1.1 on, responses give the correlation id, which counts the requests of one connection
(NetworkClient; until 0.8.2 it counts the controller's batches, and the sending lines give it, too). A connection lasts
until the broker or the controller goes; its requests are sent one after another, and handled in that order.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SENT, HANDLED, ANSWERED = "sent", "handled", "answered"
LEADER_AND_ISR, UPDATE_METADATA, STOP_REPLICA = "LeaderAndIsr", "UpdateMetadata", "StopReplica"

APIS: Mapping[str, str] = {
    "LEADER_AND_ISR": LEADER_AND_ISR,
    "UPDATE_METADATA": UPDATE_METADATA,
    "STOP_REPLICA": STOP_REPLICA,
}
"""What responses call the requests, and what we call them."""

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
    "controller_response_received": (ANSWERED, None),  # the line says of which kind
}
"""Event type -> which side of a request it tells of, and the request's kind."""

STALE_CONTROLLER_EVENTS = (
    "leader_and_isr_stale_controller_epoch",
    "stop_replica_stale_controller_epoch",
    "update_metadata_stale_controller_epoch",
)
"""The broker ignored the whole request: it had heard of a newer controller."""

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
    11: "STALE_CONTROLLER_EPOCH", 13: "NETWORK_EXCEPTION", 31: "CLUSTER_AUTHORIZATION_FAILED", 35: "UNSUPPORTED_VERSION",
    41: "NOT_CONTROLLER", 42: "INVALID_REQUEST", 55: "OPERATION_NOT_ATTEMPTED", 56: "KAFKA_STORAGE_ERROR",
    74: "FENCED_LEADER_EPOCH", 77: "STALE_BROKER_EPOCH", 100: "UNKNOWN_TOPIC_ID", 103: "INCONSISTENT_TOPIC_ID",
}  # fmt: skip
"""Error codes of Kafka's protocol that responses to control requests carry."""

_LONGEST = 10_000_000
"""Microseconds between a broker's successive lines on one request, at most; later the id is another connection's."""


def error_of(code: int | None) -> str | None:
    """Kafka's name of an error code, `ERROR_<code>` for one that control requests are not known to give; null for null."""
    return None if code is None else ERRORS.get(code, f"ERROR_{code}")


@dataclass(slots=True)  # frozen it takes three times as long to make, and most lines make one
class RequestLine:
    """What one or several lines of one file and time say of one request. Times are microseconds on their node's clock.

    `first` and `last` are the numbers of these lines; `keys` the partitions' states that they name (see STATE_EVENTS) as
    `topic-partition:leader epoch:ISR:partition epoch`, `count` how many partitions a line says there are, `failed` how
    many were answered with an error.
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
    def place(self) -> tuple[int | None, str, int]:
        """The first line: evidence."""
        return (self.node, self.file, self.first)

    @property
    def when(self) -> tuple[int, int, str]:
        """What orders marks of one node: of one time the line decides before the file."""
        return (self.at, self.first, self.file)


@dataclass
class ControlRequest:
    """A request of a controller to a broker; what no line tells is None. Times as in RequestLine, each of its node's clock."""

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
        """How many partitions it is about; None if no line tells."""
        return self.count if self.count is not None else len(self.keys) or None

    @property
    def marks(self) -> list[RequestLine]:
        """Its first lines, in the order of what they tell."""
        return [mark for mark in (self.sent, self.received, self.answered) if mark is not None]


def requests_of(marks: Iterable[RequestLine]) -> list[ControlRequest]:
    """The requests of one controller to one broker, from all their marks, by epoch and in the order of the controller's clock; one of
    which only the broker tells comes before the next one that the broker got, else last of its epoch.

    Each mark is of one request or none. No time of one node is compared with a time of another.
    """
    by_side: dict[str, list[RequestLine]] = defaultdict(list)
    for mark in sorted(marks, key=lambda mark: mark.when):
        by_side[mark.side].append(mark)
    handled = _connections(by_side[HANDLED])
    answered = _connections([mark for mark in by_side[ANSWERED] if mark.id is not None])
    connections = _joined(handled, answered)
    found = [one for connection in connections for one in connection]
    sends = _batches(by_side[SENT])
    taken = _by_id(connections, sends)
    taken |= _by_number(connections, sends)
    taken |= _by_state(found, sends, taken)
    found += [batch.request() for number, batch in enumerate(sends) if number not in taken]
    return _ordered(found)


def _ordered(requests: Sequence[ControlRequest]) -> list[ControlRequest]:
    """Requests as `requests_of` promises them."""
    places: dict[int, tuple[Any, ...]] = {}
    following: dict[int | None, tuple[Any, ...]] = {}
    for one in sorted((one for one in requests if one.received is not None), key=_start, reverse=True):
        if mark := one.sent or one.answered:
            following[one.epoch] = min(following.get(one.epoch, _LAST), mark.when)
        else:
            places[id(one)] = (*following.get(one.epoch, _LAST), 0, *_start(one))
    for one in requests:
        if mark := one.sent or one.answered:
            places[id(one)] = (*mark.when, 1)
    return sorted(requests, key=lambda one: (-1 if one.epoch is None else one.epoch, places[id(one)]))


_LAST = (math.inf,)


Connection = list[ControlRequest]


def _connections(marks: Sequence[RequestLine]) -> list[Connection]:
    """Requests by connection from the marks of one side, in the order of its node's clock. Ids do not fall on a connection."""
    found: list[Connection] = []
    epoch: int | None = None
    known: dict[tuple[str | None, int | None], ControlRequest] = {}
    highest = -1
    for mark in marks:
        one = known.get((mark.kind, mark.id))
        goes_on = one is None or _goes_on(one, mark)
        other_epoch = mark.epoch is not None and epoch is not None and mark.epoch != epoch
        id_ = mark.id if mark.id is not None else highest
        falls = id_ < highest and (one is None or mark.at != _last(one).at)
        if not found or other_epoch or falls or not goes_on:
            found.append([])
            known, highest, one, epoch = {}, -1, None, None
        epoch = mark.epoch if mark.epoch is not None else epoch
        highest = max(highest, id_)
        if one is None or (mark.side == ANSWERED):
            one = ControlRequest(mark.kind, id=mark.id)
            found[-1].append(one)
            known[mark.kind, mark.id] = one
        _add(one, mark)
        one.epoch = mark.epoch if mark.epoch is not None else one.epoch
    for connection in found:
        epochs = {one.epoch for one in connection} - {None}
        for one in connection:
            one.epoch = next(iter(epochs)) if len(epochs) == 1 else one.epoch
    return found


def _goes_on(request: ControlRequest, mark: RequestLine) -> bool:
    """Whether a mark may be of the request whose kind and id it has, not of one on a later connection."""
    if mark.side == ANSWERED:  # until 0.8.2 one batch may stop replicas in several requests
        return mark.kind == STOP_REPLICA
    return mark.at - _last(request).at <= _LONGEST and not request.keys & {*mark.keys}


def _last(request: ControlRequest) -> RequestLine:
    mark = request.handled or request.answered
    assert mark is not None  # what is in a connection has a line of its side
    return mark


def _add(request: ControlRequest, mark: RequestLine) -> None:
    """A further line of a request."""
    if mark.side == ANSWERED:
        request.answered = mark
    else:
        request.received = request.received or mark
        request.handled = mark
    request.keys |= {*mark.keys}
    request.count = mark.count if mark.count is not None else request.count
    request.stale |= mark.stale
    request.stale_partitions += mark.stale_partitions


def _joined(handled: list[Connection], answered: list[Connection]) -> list[Connection]:
    """What the broker and the controller tell of the same connections in one.

    Connections of one epoch belong together in their order if both sides tell of as many; else those that share ids with one
    of the other side only, which shares ids with none but it.
    """
    by_epoch: dict[int | None, tuple[list[Connection], list[Connection]]] = defaultdict(lambda: ([], []))
    for side, connections in enumerate((handled, answered)):
        for connection in connections:
            by_epoch[connection[0].epoch][side].append(connection)
    found: list[Connection] = []
    for epoch, (theirs, ours) in by_epoch.items():
        if epoch is None:
            pairs = []
        elif len(theirs) == len(ours):
            pairs = list(zip(theirs, ours, strict=True))
        else:
            pairs = _alike(theirs, ours)
        paired = {id(connection) for pair in pairs for connection in pair}
        found += [_one(mine, other) for mine, other in pairs]
        found += [connection for connection in (*theirs, *ours) if id(connection) not in paired]
    return found


def _alike(theirs: list[Connection], ours: list[Connection]) -> list[tuple[Connection, Connection]]:
    ids = [[{(one.kind, one.id) for one in connection} for connection in side] for side in (theirs, ours)]
    shares = [[bool(mine & other) for other in ids[1]] for mine in ids[0]]
    return [
        (theirs[i], ours[j])
        for i, row in enumerate(shares)
        for j, shared in enumerate(row)
        if shared and sum(row) == 1 and sum(other[j] for other in shares) == 1
    ]


def _one(handled: Connection, answered: Connection) -> Connection:
    """One connection as both sides tell it, in the order of its ids."""
    by_id: dict[int | None, list[ControlRequest]] = defaultdict(list)
    for one in handled:
        by_id[one.id].append(one)
    rest: Connection = []
    for one in answered:
        open_ = [mine for mine in by_id[one.id] if one.kind in (mine.kind, None) and mine.answered is None]
        if len(open_) == 1:  # until 0.8.1 responses do not say of which kind they are
            open_[0].answered = one.answered
            open_[0].epoch = open_[0].epoch if open_[0].epoch is not None else one.epoch
        else:
            rest.append(one)
    return sorted([*handled, *rest], key=lambda one: one.id if one.id is not None else -1)


# ---- sending lines ---------------------------------------------------------------------------------------------------
@dataclass
class Batch:
    """The sending lines of one request, as far as lines tell requests apart; where a partition's own line is, by its state."""

    first: RequestLine
    last: RequestLine
    places: dict[str, RequestLine]

    @property
    def count(self) -> int | None:
        """Number of partitions, where a line tells it."""
        return self.last.count

    def request(self) -> ControlRequest:
        """A request of which nothing else is known."""
        one = self.first
        return ControlRequest(one.kind, one.epoch, one.id, sent=one, keys={*self.places}, count=self.count)


def _batches(marks: Sequence[RequestLine]) -> list[Batch]:
    """Lines of one kind that follow each other in their file are one request's.

    A line that tells the number of partitions (2.6 on) ends its request; so does a partition that comes again.
    """
    found: list[Batch] = []
    for mark in sorted(marks, key=lambda m: (m.file, m.first, m.kind or "")):
        before = found[-1] if found else None
        if (
            before is not None
            and before.count is None
            and (before.last.file, before.last.last + 1) == (mark.file, mark.first)
            and (before.last.kind, before.last.epoch, before.last.id) == (mark.kind, mark.epoch, mark.id)
            and not before.places.keys() & {*mark.keys}
        ):
            before.last = mark
            before.places |= dict.fromkeys(mark.keys, mark)
        else:
            found.append(Batch(mark, mark, dict.fromkeys(mark.keys, mark)))
    return sorted(_mended(found), key=lambda batch: batch.first.when)


def _mended(batches: Sequence[Batch]) -> list[Batch]:
    """Batches that a line of another thread has cut are put together: their last line tells how many partitions they have."""
    found: list[Batch] = []
    for batch in batches:
        while (
            found
            and found[-1].count is None
            and batch.count is not None
            and _source(found[-1]) == _source(batch)
            and not found[-1].places.keys() & batch.places.keys()
            and len(found[-1].places) + len(batch.places) <= batch.count
        ):
            before = found.pop()
            batch = Batch(before.first, batch.last, before.places | batch.places)
        found.append(batch)
    return found


def _source(batch: Batch) -> tuple[Any, ...]:
    one = batch.first
    return (one.file, one.kind, one.epoch, one.id)


def _by_id(requests: Sequence[Connection], batches: Sequence[Batch]) -> set[int]:
    """Sent where the sending lines give the id (until 0.8.2), which one controller gives once. Numbers of the batches that were used."""
    places: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, batch in enumerate(batches):
        if batch.first.id is not None:
            places[batch.first.epoch, batch.first.kind, batch.first.id].append(number)
    taken: set[int] = set()
    for connection in requests:
        for one in connection:
            numbers = places.get((one.epoch, one.kind, one.id), [])
            if one.sent is None and numbers:
                one.sent = batches[numbers[0]].first
                one.keys |= {key for number in numbers for key in batches[number].places}
                taken |= {*numbers}
    return taken


def _by_number(requests: Sequence[Connection], batches: Sequence[Batch]) -> set[int]:
    """Sent where every request has a sending line with its number of partitions (2.6 on).

    The ids of a connection count its requests: they lie beside the sending lines of their epoch in one way only, or nothing
    is said. A request that was sent again takes an id of its own: what follows it lies beside the lines before.
    """
    taken: set[int] = set()
    for epoch in {batch.first.epoch for batch in batches}:
        mine = [number for number, batch in enumerate(batches) if batch.first.epoch == epoch]
        if any(batches[number].count is None for number in mine):
            continue
        for connection in requests:
            told = [one for one in connection if one.epoch == epoch and one.id is not None and one.sent is None]
            for one, place in _beside(told, [batches[number] for number in mine]):
                one.sent = batches[mine[place]].first
                one.count = batches[mine[place]].count
                taken.add(mine[place])
    return taken


def _beside(told: Sequence[ControlRequest], batches: Sequence[Batch]) -> list[tuple[ControlRequest, int]]:
    """Requests of a connection with the places of their batches; none where they fit in several ways.

    Either log may begin later or end earlier: at least half of the requests, and four, must lie beside batches, and all of
    those fit. What is only known of logs that have less than that in common may be mistaken, if it happened twice.
    """
    ids = [one.id or 0 for one in told]  # ids of a connection do not fall
    found = []
    for offset in range(-ids[-1], len(batches) - ids[0]) if told else ():
        first, end = bisect_left(ids, -offset), bisect_left(ids, len(batches) - offset)
        is_enough = end - first >= _LEAST and 2 * (end - first) >= len(told)
        if is_enough and all(_fits(told[i], batches[ids[i] + offset]) for i in range(first, end)):
            found.append([(told[i], ids[i] + offset) for i in range(first, end)])
    return found[0] if len(found) == 1 else []


_LEAST = 4
"""Requests that must lie beside their sending lines before numbers and kinds alone are believed."""


def _fits(request: ControlRequest, batch: Batch) -> bool:
    """Whether a request may be the one of a sending line: kind, number of partitions, and on the controller's clock the time.

    A broker may say that it handles LeaderAndIsr for 0 partitions where some were sent.
    """
    return (
        request.kind == batch.first.kind
        and (not request.count or request.count == batch.count)
        and (request.answered is None or request.answered.at >= batch.first.at)
    )


def _by_state(requests: Iterable[ControlRequest], batches: Sequence[Batch], taken: set[int]) -> set[int]:
    """Sent where both sides tell the partitions' states: the n-th time that a state is sent is the n-th time that it is received.

    Only where it is sent as often as it is received, for what was sent to a broker that was not there is not received; and only
    what keeps the order of all.
    """
    is_whole = all(key.rpartition(":")[2] for batch in batches for key in batch.places)

    def shared(key: str) -> str:
        """The part of a state that both sides tell: until 0.11 sending lines lack the partition epoch."""
        return key if is_whole else key.rpartition(":")[0]

    sent: dict[tuple[Any, ...], list[tuple[int, RequestLine]]] = defaultdict(list)
    for number, batch in enumerate(batches):
        if number not in taken:
            for key, mark in batch.places.items():
                sent[batch.first.epoch, batch.first.kind, shared(key)].append((number, mark))
    in_time = sorted((one for one in requests if one.received is not None and one.sent is None), key=_start)
    received: dict[tuple[Any, ...], list[ControlRequest]] = defaultdict(list)
    for one in in_time:
        for key in {shared(key) for key in one.keys}:
            received[one.epoch, one.kind, key].append(one)
    places: dict[int, list[tuple[int, RequestLine]]] = defaultdict(list)
    for state, ones in received.items():
        if len(sent.get(state, ())) == len(ones):
            for one, place in zip(ones, sent[state], strict=True):
                if one.answered is None or one.answered.at >= place[1].at:
                    places[id(one)].append(place)
    matched = [
        (one, min((mark for _, mark in places[id(one)]), key=lambda mark: mark.when))
        for one in in_time
        if places[id(one)]
    ]
    used: set[int] = set()
    for i in _in_order([mark.when for _, mark in matched]):
        one, one.sent = matched[i]
        used |= {number for number, _ in places[id(one)]}
    return used


def _in_order(places: Sequence[tuple[int, int, str]]) -> list[int]:
    """Which of some places to keep so that they rise, as many as can be: what was sent first is received first.

    A state that was sent twice, once to nobody, and of which a log has lost the other sending, breaks that order.
    """
    ends: list[tuple[int, int, str]] = []  # of the rising chains of each length the least end
    last: list[int] = []
    before: list[int] = []
    for i, place in enumerate(places):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [i]
    found: list[int] = []
    i = last[-1] if last else -1
    while i >= 0:
        found.append(i)
        i = before[i]
    return found[::-1]


def _start(request: ControlRequest) -> tuple[int, int, str]:
    assert request.received is not None  # only those are asked
    return request.received.when
