"""The order of what ZooKeeper controllers and brokers log about one incarnation of a partition: plain functions over
rows as dicts.

Both lines of a pair have to be there, and close together: a line that is lost accuses nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from udfs.kafka.judgements import HOLDS, VIOLATED, Finding
from udfs.kafka.reassignment_steps import is_before
from udfs.kafka.request_verdicts import DECIDED, OBEYED, RECEIVED, JudgedRequest
from udfs.kafka.verdicts import verdict_of

Line = Mapping[str, Any]
"""As `udfs.kafka.request_verdicts` has them, with `replica`."""
RULE = "message_order"
STOP_SENT, REPLICA_CHANGE = "stop_replica_request_sent", "replica_state_change"
"""A StopReplica is sent (printed by partition from 2.6 on); a replica goes from one state to another."""
_GONE = "NonExistentPartition"
RIGHT_AFTER_US = 1_000_000
"""Only lines so close together accuse: a topic is not deleted and created again, nor a replica stopped, come back and
stopped again, within such a time."""


def judge_messages(lines: Sequence[Line]) -> Iterator[JudgedRequest]:
    """The rule `message_order`, over one incarnation in order of time: by node and controller epoch one verdict for
    each kind of pair."""
    by_term: dict[tuple[Any, Any], list[Line]] = {}
    for line in lines:
        if line["event_type"] in (DECIDED, STOP_SENT, REPLICA_CHANGE, RECEIVED, *OBEYED):
            by_term.setdefault((line["node_id"], line["controller_epoch"]), []).append(line)
    for (node, epoch), of_term in by_term.items():
        yield from _judged(
            f"requests to broker {node}, controller epoch {epoch}",
            "a request received before it is handled",
            list(_handled(of_term)),
        )
        by = f"by controller {node} epoch {epoch}"
        yield from _judged(f"stops {by}", "a replica offline before it is deleted", list(_stopped(of_term)))
        yield from _judged(f"end {by}", "no other state after the partition is gone", list(_gone(of_term)))


def _judged(about: str, expected: str, pairs: Sequence[tuple[Line, Line, str | None]]) -> Iterator[JudgedRequest]:
    """One verdict for pairs of lines in the order in which they have to be, each with what is wrong with it, if any."""
    wrong = [pair for pair in pairs if pair[2] is not None]
    if wrong:
        first, second, actual = wrong[0]
        finding = Finding(RULE, VIOLATED, 0, expected, actual or "")
        yield JudgedRequest(verdict_of(finding), about, (second, first))
    elif pairs:
        yield JudgedRequest(verdict_of(Finding(RULE, HOLDS, 0, expected, "in that order")), about, pairs[0][:2])


def _handled(lines: Sequence[Line]) -> Iterator[tuple[Line, Line, str | None]]:
    """Requests that a broker received, and the first line by which it handles them."""
    received: dict[tuple[Any, ...], Line] = {}
    handled: dict[tuple[Any, ...], Line] = {}
    for line in lines:
        if line["correlation_id"] is None or line["event_type"] not in (RECEIVED, *OBEYED):
            continue
        request = (line["controller_id"], line["correlation_id"], line["life"], line["registered_at"])
        of_kind = received if line["event_type"] == RECEIVED else handled
        of_kind.setdefault(request, line)
    for request in received.keys() & handled.keys():
        first, second = received[request], handled[request]
        is_swapped = is_before(second, first) and first["at"] - second["at"] <= RIGHT_AFTER_US
        name = f"request {first['correlation_id']}"
        yield first, second, f"{name} handled before it was received" if is_swapped else None


def _stopped(lines: Sequence[Line]) -> Iterator[tuple[Line, Line, str | None]]:
    """Replicas that go offline, from being online or new, and the StopReplica that deletes them."""
    offline = [
        line
        for line in lines
        if line["event_type"] == REPLICA_CHANGE
        and line["to_state"] == "OfflineReplica"
        and line["from_state"] in ("OnlineReplica", "NewReplica")
    ]
    for stop in lines:
        if stop["event_type"] != STOP_SENT or not stop["deletes"]:
            continue
        own = [line for line in offline if line["replica"] == stop["target_broker"]]
        near = [line for line in own if abs(line["at"] - stop["at"]) <= RIGHT_AFTER_US]
        before = [line for line in near if not is_before(stop, line)]
        if before:
            yield before[-1], stop, None
        elif near:
            yield near[0], stop, f"replica {stop['target_broker']} told to delete its log before it was offline"


def _gone(lines: Sequence[Line]) -> Iterator[tuple[Line, Line, str | None]]:
    """The end of the partition, and what the controller logs of it besides."""
    states = [line for line in lines if line["event_type"] == DECIDED]
    for end in (line for line in states if line["to_state"] == _GONE):
        later = [line for line in states if is_before(end, line) and line["at"] - end["at"] <= RIGHT_AFTER_US]
        born = [line for line in later if line["from_state"] == _GONE]
        # behind its creation anew, at whatever distance, it is another partition of that name
        after = [
            line
            for line in later
            if line["from_state"] not in (_GONE, None) and not any(is_before(new, line) for new in born)
        ]
        before = [line for line in states if is_before(line, end)]
        if after:
            yield end, after[0], f"{after[0]['from_state']} to {after[0]['to_state']} after {_GONE}"
        elif before:
            yield before[-1], end, None
