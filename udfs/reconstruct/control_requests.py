"""The requests of a ZooKeeper controller to a broker, each put together from the lines of both.

A connection lasts until the broker or the controller goes; its requests are sent one after another, and handled in that
order. Their correlation ids never fall.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from udfs.reconstruct.control_request_lines import (
    ANSWERED,
    HANDLED,
    SENT,
    STOP_REPLICA,
    ControlRequest,
    RequestLine,
)
from udfs.reconstruct.sent_requests import match_by_id, match_by_number, match_by_state, sent_requests

Connection = list[ControlRequest]
"""Requests of one connection, in their order."""

_MAX_GAP_US = 10_000_000
"""Microseconds between a broker's successive lines on one request, at most; later the id is another connection's."""
_LAST = (math.inf,)


def requests_of(lines: Iterable[RequestLine]) -> list[ControlRequest]:
    """The requests of one controller to one broker, from all lines about them.

    They are ordered by epoch and by the controller's clock; one about which only the broker has lines comes before the
    next one that the broker got, else last of its epoch. Each line is of one request or none. No time of one node is
    compared with a time of another.
    """
    by_side: dict[str, list[RequestLine]] = defaultdict(list)
    for line in sorted(lines, key=lambda line: line.order):
        by_side[line.side].append(line)
    handled = _connections(by_side[HANDLED])
    answered = _connections([line for line in by_side[ANSWERED] if line.id is not None])
    connections = _join_connections(handled, answered)
    requests = [request for connection in connections for request in connection]
    sends = sent_requests(by_side[SENT])
    matched = match_by_id(connections, sends)
    matched |= match_by_number(connections, sends)
    matched |= match_by_state(requests, sends, matched)
    requests += [send.as_request() for number, send in enumerate(sends) if number not in matched]
    return _in_order(requests)


def _in_order(requests: Sequence[ControlRequest]) -> list[ControlRequest]:
    """Requests in the order that `requests_of` promises."""
    order: dict[int, tuple[Any, ...]] = {}
    following: dict[int | None, tuple[Any, ...]] = {}
    received = [request for request in requests if request.received is not None]
    for request in sorted(received, key=lambda request: request.order_at_broker, reverse=True):
        if line := request.sent or request.answered:
            following[request.epoch] = min(following.get(request.epoch, _LAST), line.order)
        else:
            order[id(request)] = (*following.get(request.epoch, _LAST), 0, *request.order_at_broker)
    for request in requests:
        if line := request.sent or request.answered:
            order[id(request)] = (*line.order, 1)
    return sorted(requests, key=lambda request: (-1 if request.epoch is None else request.epoch, order[id(request)]))


# ---- connections -----------------------------------------------------------------------------------------------------
def _connections(lines: Sequence[RequestLine]) -> list[Connection]:
    """Requests by connection from the lines of one side, which are in the order of its node's clock."""
    connections: list[Connection] = []
    epoch: int | None = None
    by_id: dict[tuple[str | None, int | None], ControlRequest] = {}
    highest_id = -1
    for line in lines:
        request = by_id.get((line.kind, line.id))
        is_later_request = request is not None and not _may_be_of(request, line)
        is_other_epoch = line.epoch is not None and epoch is not None and line.epoch != epoch
        line_id = line.id if line.id is not None else highest_id
        id_falls = line_id < highest_id and (request is None or line.at != _last_line(request).at)
        if not connections or is_other_epoch or id_falls or is_later_request:
            connections.append([])
            by_id, highest_id, request, epoch = {}, -1, None, None
        epoch = line.epoch if line.epoch is not None else epoch
        highest_id = max(highest_id, line_id)
        if request is None or (line.side == ANSWERED):
            request = ControlRequest(line.kind, id=line.id)
            connections[-1].append(request)
            by_id[line.kind, line.id] = request
        _add_line(request, line)
        request.epoch = line.epoch if line.epoch is not None else request.epoch
    for connection in connections:
        epochs = {request.epoch for request in connection} - {None}
        for request in connection:
            request.epoch = next(iter(epochs)) if len(epochs) == 1 else request.epoch
    return connections


def _may_be_of(request: ControlRequest, line: RequestLine) -> bool:
    """Whether a line may be about the request whose kind and id it has, not about one on a later connection."""
    if line.side == ANSWERED:  # until 0.8.2 one batch may stop replicas in several requests
        return line.kind == STOP_REPLICA
    return line.at - _last_line(request).at <= _MAX_GAP_US and not request.keys & {*line.keys}


def _last_line(request: ControlRequest) -> RequestLine:
    line = request.handled or request.answered
    assert line is not None  # a request of a connection has a line of its side
    return line


def _add_line(request: ControlRequest, line: RequestLine) -> None:
    """Adds a further line to a request."""
    if line.side == ANSWERED:
        request.answered = line
    else:
        request.received = request.received or line
        request.handled = line
    request.keys |= {*line.keys}
    request.count = line.count if line.count is not None else request.count
    request.stale |= line.stale
    request.stale_partitions += line.stale_partitions


# ---- both sides of a connection --------------------------------------------------------------------------------------
def _join_connections(handled: list[Connection], answered: list[Connection]) -> list[Connection]:
    """Connections as the broker and as the controller logged them, with both sides of one in one.

    Connections of one epoch belong together in their order if both sides have as many; else those that share ids with
    one of the other side only, which shares ids with none but it.
    """
    by_epoch: dict[int | None, tuple[list[Connection], list[Connection]]] = defaultdict(lambda: ([], []))
    for side, connections in enumerate((handled, answered)):
        for connection in connections:
            by_epoch[connection[0].epoch][side].append(connection)
    joined: list[Connection] = []
    for epoch, (of_broker, of_controller) in by_epoch.items():
        if epoch is None:
            pairs = []
        elif len(of_broker) == len(of_controller):
            pairs = list(zip(of_broker, of_controller, strict=True))
        else:
            pairs = _pairs_by_id(of_broker, of_controller)
        paired = {id(connection) for pair in pairs for connection in pair}
        joined += [_join_requests(*pair) for pair in pairs]
        joined += [connection for connection in (*of_broker, *of_controller) if id(connection) not in paired]
    return joined


def _pairs_by_id(of_broker: list[Connection], of_controller: list[Connection]) -> list[tuple[Connection, Connection]]:
    """Connections of both sides that share ids with each other only."""
    ids = [
        [{(request.kind, request.id) for request in connection} for connection in side]
        for side in (of_broker, of_controller)
    ]
    shares = [[bool(these & those) for those in ids[1]] for these in ids[0]]
    return [
        (of_broker[i], of_controller[j])
        for i, row in enumerate(shares)
        for j, is_shared in enumerate(row)
        if is_shared and sum(row) == 1 and sum(other[j] for other in shares) == 1
    ]


def _join_requests(handled: Connection, answered: Connection) -> Connection:
    """One connection from what both sides logged about it, in the order of its ids."""
    by_id: dict[int | None, list[ControlRequest]] = defaultdict(list)
    for request in handled:
        by_id[request.id].append(request)
    unmatched: Connection = []
    for answer in answered:
        candidates = [
            request for request in by_id[answer.id] if answer.kind in (request.kind, None) and request.answered is None
        ]
        if len(candidates) == 1:  # until 0.8.1 responses do not name their kind
            candidates[0].answered = answer.answered
            candidates[0].epoch = candidates[0].epoch if candidates[0].epoch is not None else answer.epoch
        else:
            unmatched.append(answer)
    return sorted([*handled, *unmatched], key=lambda request: request.id if request.id is not None else -1)
