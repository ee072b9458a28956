"""Requests as the controller logged that it sends them, matched with what brokers and responses say about requests.

Sending lines from 0.9 on do not give the correlation id: they are matched by the states of the partitions that they
carry, or (2.6 on) by the number of partitions and the order of ids. Where that leaves a choice, nothing is matched.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from udfs.reconstruct.control_request_lines import ControlRequest, RequestLine

_LEAST_MATCHES = 4
"""Requests that must lie beside their sending lines before numbers and kinds alone count as a match."""


@dataclass
class SentRequest:
    """The sending lines of one request, as far as it is distinct; `by_state`: the line of each partition's state."""

    first: RequestLine
    last: RequestLine
    by_state: dict[str, RequestLine]

    @property
    def count(self) -> int | None:
        """Number of partitions, where a line gives it."""
        return self.last.count

    @property
    def writer(self) -> tuple[Any, ...]:
        """What all lines of one request share."""
        return (self.first.file, self.first.kind, self.first.epoch, self.first.id)

    def as_request(self) -> ControlRequest:
        """A request of which nothing but its sending is known."""
        line = self.first
        return ControlRequest(line.kind, line.epoch, line.id, sent=line, keys={*self.by_state}, count=self.count)


def sent_requests(lines: Sequence[RequestLine]) -> list[SentRequest]:
    """Sending lines by request, in the order of the controller's clock.

    Lines of one kind that follow each other in their file are one request's. A line that gives the number of partitions
    (2.6 on) ends its request; so does a partition that comes again.
    """
    sends: list[SentRequest] = []
    for line in sorted(lines, key=lambda line: (line.file, line.first, line.kind or "")):
        before = sends[-1] if sends else None
        if (
            before is not None
            and before.count is None
            and (before.last.file, before.last.last + 1) == (line.file, line.first)
            and (before.last.kind, before.last.epoch, before.last.id) == (line.kind, line.epoch, line.id)
            and not before.by_state.keys() & {*line.keys}
        ):
            before.last = line
            before.by_state |= dict.fromkeys(line.keys, line)
        else:
            sends.append(SentRequest(line, line, dict.fromkeys(line.keys, line)))
    return sorted(_rejoined(sends), key=lambda send: send.first.order)


def _rejoined(sends: Sequence[SentRequest]) -> list[SentRequest]:
    """Requests between whose lines another thread wrote, put together by the number of partitions in the last line."""
    rejoined: list[SentRequest] = []
    for send in sends:
        while (
            rejoined
            and rejoined[-1].count is None
            and send.count is not None
            and rejoined[-1].writer == send.writer
            and not rejoined[-1].by_state.keys() & send.by_state.keys()
            and len(rejoined[-1].by_state) + len(send.by_state) <= send.count
        ):
            before = rejoined.pop()
            send = SentRequest(before.first, send.last, before.by_state | send.by_state)
        rejoined.append(send)
    return rejoined


# ---- by id -----------------------------------------------------------------------------------------------------------
def match_by_id(connections: Iterable[Sequence[ControlRequest]], sends: Sequence[SentRequest]) -> set[int]:
    """Sets `sent` where the sending lines give the id (until 0.8.2), which one controller gives once.

    Returns the numbers of the sent requests that were matched, as do the functions below.
    """
    numbers_by_id: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, send in enumerate(sends):
        if send.first.id is not None:
            numbers_by_id[send.first.epoch, send.first.kind, send.first.id].append(number)
    matched: set[int] = set()
    for connection in connections:
        for request in connection:
            numbers = numbers_by_id.get((request.epoch, request.kind, request.id), [])
            if request.sent is None and numbers:
                request.sent = sends[numbers[0]].first
                request.keys |= {key for number in numbers for key in sends[number].by_state}
                matched |= {*numbers}
    return matched


# ---- by number of partitions -----------------------------------------------------------------------------------------
def match_by_number(connections: Iterable[Sequence[ControlRequest]], sends: Sequence[SentRequest]) -> set[int]:
    """Sets `sent` where every request has a sending line with its number of partitions (2.6 on).

    The ids of a connection count its requests: they lie beside the sending lines of their epoch in one way only, or
    nothing is matched. A request that was sent again takes an id of its own: what follows it lies beside the lines
    before.
    """
    connections = list(connections)
    matched: set[int] = set()
    for epoch in {send.first.epoch for send in sends}:
        of_epoch = [number for number, send in enumerate(sends) if send.first.epoch == epoch]
        if any(sends[number].count is None for number in of_epoch):
            continue
        for connection in connections:
            unmatched = [
                request
                for request in connection
                if request.epoch == epoch and request.id is not None and request.sent is None
            ]
            for request, place in _beside(unmatched, [sends[number] for number in of_epoch]):
                request.sent = sends[of_epoch[place]].first
                request.count = sends[of_epoch[place]].count
                matched.add(of_epoch[place])
    return matched


def _beside(requests: Sequence[ControlRequest], sends: Sequence[SentRequest]) -> list[tuple[ControlRequest, int]]:
    """Requests of a connection with the places of their sending lines; none where they fit in several ways.

    Either log may begin later or end earlier: at least half of the requests, and _LEAST_MATCHES, must lie beside
    sending lines, and all of those fit. With logs that have less than that in common a match could be a mistake.
    """
    ids = [request.id or 0 for request in requests]  # ids of a connection do not fall
    ways = []
    # where half of them lie beside sending lines, one of those in the middle does; others may be damaged, and far off
    middle = {ids[(len(ids) - 1) // 2], ids[len(ids) // 2]} if ids else ()
    for offset in sorted({place - id_ for id_ in middle for place in range(len(sends))}):
        first, end = bisect_left(ids, -offset), bisect_left(ids, len(sends) - offset)
        is_enough = end - first >= _LEAST_MATCHES and 2 * (end - first) >= len(requests)
        if is_enough and all(_fits(requests[i], sends[ids[i] + offset]) for i in range(first, end)):
            ways.append([(requests[i], ids[i] + offset) for i in range(first, end)])
    return ways[0] if len(ways) == 1 else []


def _fits(request: ControlRequest, send: SentRequest) -> bool:
    """Whether a request may be that of a sending line: by kind, number of partitions, and the controller's clock."""
    return (
        request.kind == send.first.kind
        and (request.count is None or request.count == send.count)
        and (request.answered is None or request.answered.at >= send.first.at)
    )


# ---- by states of partitions -----------------------------------------------------------------------------------------
def match_by_state(requests: Iterable[ControlRequest], sends: Sequence[SentRequest], matched: set[int]) -> set[int]:
    """Sets `sent` by the partitions' states: the n-th time that a state is sent is the n-th time that it is received.

    Only where it is sent as often as it is received, for what was sent to a broker that was not there is not received;
    and only what keeps the order of all. Sent requests with numbers in `matched` are left out.
    """
    is_whole = all(key.rpartition(":")[2] for send in sends for key in send.by_state)

    def shared(key: str) -> str:
        """The part of a state that both sides print: until 0.11 sending lines lack the partition epoch."""
        return key if is_whole else key.rpartition(":")[0]

    sent = _sends_by_state(sends, matched, shared)
    in_order = sorted(
        (request for request in requests if request.received is not None and request.sent is None),
        key=lambda request: request.order_at_broker,
    )
    received: dict[tuple[Any, ...], list[ControlRequest]] = defaultdict(list)
    for request in in_order:
        for key in {shared(key) for key in request.keys}:
            received[request.epoch, request.kind, key].append(request)
    candidates: dict[int, list[tuple[int, RequestLine]]] = defaultdict(list)
    for state, receivers in received.items():
        if len(sent.get(state, ())) == len(receivers):
            for request, (number, line) in zip(receivers, sent[state], strict=True):
                if request.answered is None or request.answered.at >= line.at:
                    candidates[id(request)].append((number, line))
    pairs = [
        (request, min((line for _, line in candidates[id(request)]), key=lambda line: line.order))
        for request in in_order
        if candidates[id(request)]
    ]
    newly_matched: set[int] = set()
    for i in _longest_rising([line.order for _, line in pairs]):
        request, request.sent = pairs[i]
        newly_matched |= {number for number, _ in candidates[id(request)]}
    return newly_matched


def _sends_by_state(
    sends: Sequence[SentRequest], matched: set[int], shared: Callable[[str], str]
) -> dict[tuple[Any, ...], list[tuple[int, RequestLine]]]:
    """By epoch, kind and state the numbers and lines of sent requests that are not matched, in their order."""
    by_state: dict[tuple[Any, ...], list[tuple[int, RequestLine]]] = defaultdict(list)
    for number, send in enumerate(sends):
        if number not in matched:
            for key, line in send.by_state.items():
                by_state[send.first.epoch, send.first.kind, shared(key)].append((number, line))
    return by_state


def _longest_rising(values: Sequence[tuple[int, int, str]]) -> list[int]:
    """Indices of a longest strictly rising subsequence: what was sent first is received first.

    A state that was sent twice, once to nobody, and of which a log has lost the other sending, breaks that order.

    >>> _longest_rising([(1, 0, ""), (5, 0, ""), (2, 0, ""), (3, 0, "")])
    [0, 2, 3]
    """
    # of the rising subsequences of each length the least end, and its index
    ends: list[tuple[int, int, str]] = []
    last: list[int] = []
    before: list[int] = []
    for i, value in enumerate(values):
        length = bisect_left(ends, value)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [value]
        last[length : length + 1] = [i]
    chain: list[int] = []
    i = last[-1] if last else -1
    while i >= 0:
        chain.append(i)
        i = before[i]
    return chain[::-1]
