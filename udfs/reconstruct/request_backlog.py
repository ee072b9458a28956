"""How many requests of a ZooKeeper controller waited for a broker: the slow receiver, and the dead one.

A controller sends a broker one request at a time, each when the one before it was answered
(`ControllerChannelManager.RequestSendThread`); the others wait in a queue, without limit. So what shows that one
arrived shows that those before it on the connection had.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from udfs.reconstruct.control_request_lines import ControlRequest


@dataclass(frozen=True)
class Backlog:
    """What a request found as it was put into the queue; None is unknown."""

    waiting: int | None = None
    """Requests before it that had not arrived yet, at least."""
    oldest_us: int | None = None
    """For how long the first of them had been waiting, in microseconds; None without any."""
    arrived: bool | None = None
    """Whether a line shows that it arrived itself, or a later one on its connection."""


def backlogs(requests: Sequence[ControlRequest]) -> list[Backlog]:
    """The backlog of each request of one controller to one broker, in the order of `requests_of`.

    When the controller logs no response, the broker's clock tells when a request arrived. It is taken to be ahead by as
    much as the fastest request of the term allows, so that whatever clocks say none waits that did not. Where a broker
    got a request that no sending line could be matched with, any request of that term and kind may be it.
    """
    kinds = {request.kind for request in requests if _is_seen(request)}
    if not kinds:
        return [Backlog()] * len(requests)
    unmatched = {(request.epoch, request.kind) for request in requests if request.received and not request.sent}
    return [
        backlog for connection in _connections(requests) for backlog in _of_connection(connection, kinds, unmatched)
    ]


def _is_seen(request: ControlRequest) -> bool:
    return request.received is not None or request.answered is not None


def _connections(requests: Sequence[ControlRequest]) -> Iterator[list[ControlRequest]]:
    """Requests of one epoch whose ids do not fall: each connection counts them from 0.

    So no more requests than its id come before the first one with an id; those before them, to a broker that was gone,
    are of an earlier connection.
    """
    connection: list[ControlRequest] = []
    highest = -1
    for request in requests:
        id_ = highest if request.id is None else request.id
        if connection and (request.epoch != connection[-1].epoch or id_ < highest):
            yield connection
            connection, highest = [], -1
        if request.id is not None and highest < 0 and (others := len(connection) - request.id) > 0:
            yield connection[:others]
            connection = connection[others:]
        connection.append(request)
        highest = max(highest, -1 if request.id is None else request.id)
    if connection:
        yield connection


def _of_connection(
    requests: Sequence[ControlRequest], kinds: set[str | None], unmatched: set[tuple[int | None, str | None]]
) -> Iterator[Backlog]:
    """`unmatched`: epochs and kinds of requests that arrived, and of which nobody knows when they were sent."""
    arrivals = _arrivals(requests)
    is_in_doubt = [
        not arrival.is_shown and (request.epoch, request.kind) in unmatched
        for request, arrival in zip(requests, arrivals, strict=True)
    ]
    is_known = not any(is_in_doubt) and all(arrival.at is not None for arrival in arrivals if arrival.is_shown)
    sent: list[tuple[int, int | None]] = []
    first = 0
    for request, arrival, in_doubt in zip(requests, arrivals, is_in_doubt, strict=True):
        arrived = True if arrival.is_shown else False if request.kind in kinds and not in_doubt else None
        if request.sent is None or not is_known:
            yield Backlog(arrived=arrived)
            continue
        at = request.sent.at
        while first < len(sent) and (by := sent[first][1]) is not None and by <= at:
            first += 1
        waiting = len(sent) - first
        yield Backlog(waiting, at - sent[first][0] if waiting else None, arrived)
        sent.append((at, arrival.at))


@dataclass(frozen=True)
class _Arrival:
    """Whether a request had arrived by some line, and when at the latest by the controller's clock; None unknown."""

    is_shown: bool
    at: int | None


def _arrivals(requests: Sequence[ControlRequest]) -> list[_Arrival]:
    """Of each request of a connection the first line that shows that it had arrived: its own or a later one's.

    Of one that no sending line could be matched with it is unknown which ones are earlier.
    """
    ahead = min(
        (r.received.at - r.sent.at for r in requests if r.received is not None and r.sent is not None), default=None
    )
    arrivals: list[_Arrival] = []
    is_shown = False
    first: int | None = None
    for request in reversed(requests):
        times = [request.answered.at] if request.answered is not None else []
        if request.received is not None and ahead is not None:
            times.append(request.received.at - ahead)
        has_place = request.sent is not None or request.answered is not None
        is_shown |= has_place and _is_seen(request)
        first = min([*times, *([] if first is None else [first])], default=None)
        arrivals.append(_Arrival(is_shown or _is_seen(request), first))
    return arrivals[::-1]
