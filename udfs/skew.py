"""How far the clocks of nodes are apart, from records that must follow each other: a request and what it caused.

What happened first on one node and then on another bounds the difference of their clocks from one side: the second
time less the first one, plus the time it took, which nobody knows but which is not negative. Requests bound it from
one side, their responses from the other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

HOUR = 3_600_000_000
"""Microseconds; clocks drift, so bounds are told hour by hour."""


@dataclass(frozen=True)
class Pair:
    """Something on one node, and what can only have followed it on another. Times are each node's own, microseconds."""

    first: int
    then: int
    first_at: int
    then_at: int


@dataclass(frozen=True)
class Bounds:
    """A node's clock is ahead of the reference's by `least` to `most` microseconds; None: not bounded on that side."""

    least: int | None
    most: int | None
    pairs: int

    @property
    def offset(self) -> int:
        """The smallest correction that fits: none if the clocks may agree; of bounds that contradict the middle."""
        if self.least is not None and self.most is not None and self.least > self.most:
            return (self.least + self.most) // 2
        if self.least is not None and self.least > 0:
            return self.least
        return self.most if self.most is not None and self.most < 0 else 0


Told = tuple[int, int, Mapping[str, Any]]
"""Node that wrote a record, its time on that node's clock in microseconds, and what a rule reads from it."""

_STATE = ("controller_id", "controller_epoch", "topic", "partition", "leader_epoch", "partition_epoch")


def pairs_of(records: Iterable[Told]) -> Iterator[Pair]:
    """Pairs from the records of controllers and brokers, in any order.

    Request and response: by controller, its epoch, correlation id and broker; what a broker says of a request comes
    before the controller has the response. Sending and receiving: by the state that was sent. A key that comes more
    often than once is not used, for states are sent again; nor are ids that went back, for they start anew with each
    connection.
    """
    answered: dict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
    sent: dict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
    handled: dict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
    received: dict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
    for node, at, told in records:
        event = told.get("event_type")
        by_id = (told.get("controller_id"), told.get("controller_epoch"), told.get("correlation_id"))
        state = tuple(told.get(name) for name in _STATE)
        if event == "controller_response_received" and None not in by_id:
            answered[*by_id, _int(told.get("broker_id", told.get("target_broker")))].append((node, at))
        elif event == "leader_and_isr_request_sent":
            broker = _int(told.get("target_broker", told.get("broker_id")))
            sent[*state, broker].append((node, at))
        elif node == told.get("controller_id") and event not in _BY_BROKERS:
            continue
        elif None not in by_id and event is not None:
            handled[*by_id, node].append((node, at))
            if event == "leader_and_isr_request_received":
                received[*state, node].append((node, at))
    restarted = _restarted(answered) | _restarted(handled)
    for key, ((controller, at), *more) in answered.items():
        if not more and key in handled and (*key[:2], key[3]) not in restarted and _is_one_request(handled[key]):
            broker, last = max(handled[key], key=_time)
            if broker != controller:
                yield Pair(broker, controller, last, at)
    for key, ((controller, at), *more) in sent.items():
        if not more and len(received.get(key, ())) == 1 and None not in key[2:5]:
            ((broker, then),) = received[key]
            if broker != controller:
                yield Pair(controller, broker, at, then)


def _restarted(places: Mapping[tuple[Any, ...], list[tuple[int, int]]]) -> set[tuple[Any, ...]]:
    """Controller, epoch and broker of those whose ids went back: one id then stands for several requests."""
    ids: dict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
    for (controller, epoch, id_, broker), found in places.items():
        if id_ is not None:
            ids[controller, epoch, broker] += [(at, id_) for _, at in (min(found, key=_time), max(found, key=_time))]
    return {key for key, seen in ids.items() if [id_ for _, id_ in sorted(seen)] != sorted(id_ for _, id_ in seen)}


def _time(place: tuple[int, int]) -> int:
    return place[1]


_BY_BROKERS = {"leader_and_isr_request_received", "metadata_cache_updated"}
_LONGEST = 60_000_000  # microseconds that a broker takes for one request at most


def _is_one_request(places: list[tuple[int, int]]) -> bool:
    times = [at for _, at in places]
    return max(times) - min(times) <= _LONGEST


def _int(value: Any) -> int | None:
    return int(value) if value is not None and str(value).lstrip("-").isdigit() else None


def bounds(pairs: Iterable[Pair]) -> dict[int, Bounds]:
    """Bounds of all nodes that pairs connect with the reference: the node with most pairs, of several the least one."""
    at_most: dict[tuple[int, int], int] = {}  # the second node's clock is ahead of the first one's by that at most
    counts: Counter[int] = Counter()
    for pair in pairs:
        key, ahead = (pair.first, pair.then), pair.then_at - pair.first_at
        at_most[key] = min(at_most.get(key, ahead), ahead)
        counts.update(key)
    if not counts:
        return {}
    nodes = sorted(counts)
    for middle in nodes:
        for a in nodes:
            for b in nodes:
                if a != b and (a, middle) in at_most and (middle, b) in at_most:
                    through = at_most[a, middle] + at_most[middle, b]
                    at_most[a, b] = min(at_most.get((a, b), through), through)
    reference = min(nodes, key=lambda node: (-counts[node], node))
    found = {}
    for node in nodes:
        behind = at_most.get((node, reference))
        least = None if behind is None else -behind
        most = at_most.get((reference, node))
        found[node] = Bounds(0, 0, counts[node]) if node == reference else Bounds(least, most, counts[node])
    return found


def offsets(pairs: Iterable[Pair]) -> dict[tuple[int, int], Bounds]:
    """Bounds by (node, hour since 1970 on the first node's clock), and under hour -1 those of the whole time.

    The reference is one for all hours: that of the whole time.
    """
    everything = list(pairs)
    overall = bounds(everything)
    found = {(node, -1): one for node, one in overall.items()}
    reference = next((node for node, one in overall.items() if one.least == one.most == 0), None)
    by_hour: dict[int, list[Pair]] = defaultdict(list)
    for pair in everything:
        by_hour[pair.first_at // HOUR].append(pair)
    for hour, some in by_hour.items():
        within = bounds(some)
        base = within.get(reference) if reference is not None else None
        if base is None:
            continue
        for node, one in within.items():
            found[node, hour] = one if base.least == base.most == 0 else _less(one, base)
    return found


def _less(one: Bounds, base: Bounds) -> Bounds:
    """Bounds against another reference, whose own are `base`."""
    least = None if one.least is None or base.most is None else one.least - base.most
    most = None if one.most is None or base.least is None else one.most - base.least
    return Bounds(least, most, one.pairs)
