"""Log lines spoiled as text and read again by the rules: what must be flagged of requests, deletions,
reassignments and rebalances.

Each kind edits the lines of one incarnation of a partition, or of one controller's rebalances, consistently."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from udfs.kafka import deletion_verdicts, reassignment_steps, rebalance_verdicts, request_verdicts
from udfs.rules.parsing import read_message

Record = Mapping[str, Any]
"""`at` (microseconds), `node_id`, `file_id`, `line`, `logger`, `message`, `life`, `registered_at`."""
Records = list[Record]
_PRINTED = (
    "controller_id", "controller_epoch", "correlation_id", "leader", "leader_epoch", "to_state", "target_broker",
    "current_leader_epoch", "replica", "broker", "from_state", "replicas",
)  # fmt: skip
_LISTS = ("target_replicas", "adding_replicas", "removing_replicas")
_PLACE = ("at", "node_id", "file_id", "line", "life", "registered_at")


def row_of(record: Record) -> dict[str, Any]:
    """A record as the verdicts want it, read by the rules."""
    event = read_message(record["logger"], record["message"]) or {"event_type": None}
    row = (
        {name: _number(event.get(name)) for name in _PRINTED}
        | {name: record[name] for name in _PLACE}
        | {"log_since": 0}
    )
    row |= {name: None if event.get(name) is None else _numbers(event[name]) for name in _LISTS}
    partitions = event.get("partitions")
    names = None if partitions is None else [f"{p['topic']}-{p['partition']}" for p in partitions]
    is_map = event["event_type"] == rebalance_verdicts.PREFERRED
    deletes, ratio, trigger = (event.get(name) for name in ("delete_partition", "imbalance_ratio", "trigger"))
    return row | {
        "event_type": event["event_type"],
        "deletes": None if deletes is None else deletes == "true",
        "ratio": None if ratio is None else float(ratio),
        "partitions": None if is_map else names,
        "preferred": [p["replicas"][0] for p in partitions or ()] if is_map else None,
        "is_auto": None if trigger is None else trigger == "AutoTriggered",
    }


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d+", value) else value


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"-?\d+", text)]


@dataclass(frozen=True)
class LineKind:
    """One way to spoil lines; `edits` gives the lines of each mutant."""

    name: str
    rule: str
    edits: Callable[[Records], Iterator[Records]]


def _edited(record: Record, *changes: tuple[str, str], later_us: int = 0) -> Record:
    message = record["message"]
    for pattern, replacement in changes:
        message = re.sub(pattern, replacement, message)
    return {**record, "message": message, "at": record["at"] + later_us}


# ---- requests -------------------------------------------------------------------------------------------------------
def _to_leaders(records: Records) -> Iterator[tuple[Record, list[int]]]:
    """Decisions with the places of the requests to their leaders, where others are printed before and after."""
    rows = [row_of(record) for record in records]
    for record, row in zip(records, rows, strict=True):
        if row["event_type"] != request_verdicts.DECIDED or row["leader_epoch"] is None or (row["leader"] or -1) < 0:
            continue
        own = [
            (at, other)
            for at, other in enumerate(rows)
            if other["event_type"] == request_verdicts.SENT
            and (other["node_id"], other["controller_epoch"]) == (row["node_id"], row["controller_epoch"])
        ]
        places = [
            at
            for at, other in own
            if (other["leader_epoch"], other["target_broker"]) == (row["leader_epoch"], row["leader"])
        ]
        others = [other for at, other in own if at not in places]
        is_framed = any(o["at"] < row["at"] for o in others) and any(o["at"] > row["at"] for o in others)
        shows = any(o["leader_epoch"] == row["leader_epoch"] and o["at"] >= row["at"] for o in others)
        if places and is_framed and shows:
            yield record, places


def _unreceived(records: Records, decision: Record) -> Records:
    """Records without what the elected leader logs of the request, which it was not sent."""
    elected = row_of(decision)
    rows = [row_of(record) for record in records]
    mine = [
        row["node_id"] == elected["leader"] and row["controller_epoch"] == elected["controller_epoch"] for row in rows
    ]
    is_received = [
        own and row["event_type"] == request_verdicts.RECEIVED and row["leader_epoch"] == elected["leader_epoch"]
        for own, row in zip(mine, rows, strict=True)
    ]
    ids = {row["correlation_id"] for row, is_one in zip(rows, is_received, strict=True) if is_one}
    handled = (request_verdicts.LEADS, *request_verdicts.OBEYED, request_verdicts.RECEIVED)
    return [
        record
        for record, row, own in zip(records, rows, mine, strict=True)
        if not (own and row["event_type"] in handled and row["correlation_id"] in ids)
    ]


def _left_out(records: Records) -> Iterator[Records]:
    for decision, places in _to_leaders(records):
        yield _unreceived([record for at, record in enumerate(records) if at not in places], decision)


def _misdirected(records: Records) -> Iterator[Records]:
    for decision, places in _to_leaders(records):
        to_nobody = [
            _edited(record, (r"to broker \d+ for", "to broker 99 for")) if at in places else record
            for at, record in enumerate(records)
        ]
        yield _unreceived(to_nobody, decision)


def _obeyed(records: Records) -> Iterator[tuple[int, Record, Record, dict[str, Any]]]:
    """Requests that a broker applied: the place, both lines, and the first as a row; with a leader."""
    rows = [row_of(record) for record in records]
    failed = {(r["node_id"], r["correlation_id"]) for r in rows if r["event_type"] in request_verdicts.FAILED}
    for at, row in enumerate(rows):
        if row["event_type"] not in request_verdicts.OBEYED or (row["node_id"], row["correlation_id"]) in failed:
            continue
        key = ("node_id", "controller_epoch", "correlation_id", "life", "registered_at")
        for before in range(at - 1, -1, -1):
            request = rows[before]
            if request["event_type"] == request_verdicts.RECEIVED and all(request[k] == row[k] for k in key):
                if request["leader"] is not None and request["leader"] >= 0:
                    yield at, records[before], records[at], request
                break


_NUMBER = (r"(correlation ?[iI]d) \d+", r"\1 999999")


def _obeyed_again(records: Records) -> Iterator[Records]:
    for at, received, begun, _ in _obeyed(records):
        copies = [_edited(line, _NUMBER, later_us=begun["at"] - line["at"]) for line in (received, begun)]
        yield [*records[: at + 1], *copies, *records[at + 1 :]]


def _zombie_obeyed(records: Records) -> Iterator[Records]:
    for at, received, begun, row in _obeyed(records):
        earlier = (r"(from controller \d+) epoch \d+", rf"\1 epoch {row['controller_epoch'] - 1}")
        newer = (r"(leaderEpoch=|LeaderEpoch:)\d+", rf"\g<1>{row['leader_epoch'] + 1}")
        copies = [
            _edited(line, _NUMBER, earlier, newer, later_us=begun["at"] - line["at"]) for line in (received, begun)
        ]
        yield [*records[: at + 1], *copies, *records[at + 1 :]]


def _another_leader(records: Records) -> Iterator[Records]:
    rows = [row_of(record) for record in records]
    known = {
        row["leader_epoch"]
        for row in rows
        if row["event_type"] == request_verdicts.SENT
        or (row["event_type"] == request_verdicts.DECIDED and row["to_state"] == "OnlinePartition")
    }
    for at, row in enumerate(rows):
        if row["event_type"] == request_verdicts.RECEIVED and row["leader_epoch"] in known - {None}:
            wrong = _edited(records[at], (r"leader=-?\d+", "leader=98"), (r"\(Leader:-?\d+", "(Leader:98"))
            yield [*records[:at], wrong, *records[at + 1 :]]


def _newer_ignored(records: Records) -> Iterator[Records]:
    for at, record in enumerate(records):
        row = row_of(record)
        if row["event_type"] == request_verdicts.STALE and row["leader_epoch"]:
            behind = str(row["leader_epoch"] - 1)
            wrong = _edited(
                record, (rf"(?i)(current leader epoch(?: is)?) {row['current_leader_epoch']}\b", rf"\1 {behind}")
            )
            yield [*records[:at], wrong, *records[at + 1 :]]


# ---- deletions and rebalances ---------------------------------------------------------------------------------------
def _gone_halfway(records: Records) -> Iterator[Records]:
    """The partition is gone while its first replica is being deleted."""
    rows = [row_of(record) for record in records]
    for at, row in enumerate(rows):
        if row["event_type"] != request_verdicts.DECIDED or row["to_state"] != "NonExistentPartition":
            continue
        started = [
            place
            for place, other in enumerate(rows)
            if other["to_state"] == deletion_verdicts.STATES[0]
            and (other["node_id"], other["controller_epoch"]) == (row["node_id"], row["controller_epoch"])
        ]
        if started:
            rest = [record for place, record in enumerate(records) if place != at]
            begin = started[0] - (1 if at < started[0] else 0)
            moved = {**records[at], "at": records[started[0]]["at"]}
            yield [*rest[: begin + 1], moved, *rest[begin + 1 :]]


# ---- reassignments --------------------------------------------------------------------------------------------------
def _ends(records: Records) -> Iterator[tuple[int, Record, list[Record]]]:
    """Ends of reassignments: the place of the stored assignment, the line about the leader, and those between."""
    rows = [row_of(record) for record in records]
    for at, row in enumerate(rows):
        if row["event_type"] != reassignment_steps.STORED:
            continue
        for before in range(at - 1, -1, -1):
            is_own = rows[before]["node_id"] == row["node_id"]
            if is_own and rows[before]["event_type"] in reassignment_steps.LEADER_STEPS:
                own = [r for r in records[before + 1 : at] if r["node_id"] == row["node_id"]]
                yield at, records[before], [r for r in own if r["at"] > records[before]["at"]]
                break
            if is_own and rows[before]["event_type"] == reassignment_steps.STORED:
                break


def _stored_early(records: Records) -> Iterator[Records]:
    """The assignment is stored before the old replicas are deleted."""
    for at, leader, between in _ends(records):
        started = [r for r in between if row_of(r)["to_state"] == "ReplicaDeletionStarted"]
        if started and started[0]["at"] - 1 > leader["at"]:
            moved = {**records[at], "at": started[0]["at"] - 1}
            rest = [record for place, record in enumerate(records) if place != at]
            begin = rest.index(started[0])
            yield [*rest[:begin], moved, *rest[begin:]]


def _led_by_old(records: Records) -> Iterator[Records]:
    """A broker that is no target leads at the end."""
    for _, _, between in _ends(records):
        for record in between:
            row = row_of(record)
            if row["event_type"] == request_verdicts.DECIDED and row["leader"] is not None:
                wrong = _edited(record, (r"leader=\d+", "leader=98"), (r"with leader \d+", "with leader 98"))
                yield [wrong if r is record else r for r in records]


def _lists_mixed(records: Records) -> Iterator[Records]:
    """What is added is not assigned."""
    for at, record in enumerate(records):
        row = row_of(record)
        if row["event_type"] == reassignment_steps.STORED and row["adding_replicas"]:
            wrong = _edited(record, (r"addingReplicas=\d+(,\d+)*", "addingReplicas=98"))
            yield [*records[:at], wrong, *records[at + 1 :]]


def _ratio_wrong(records: Records) -> Iterator[Records]:
    has_map = False
    for at, record in enumerate(records):
        row = row_of(record)
        if row["event_type"] == rebalance_verdicts.CHECK:
            has_map = False
        elif row["event_type"] == rebalance_verdicts.PREFERRED:
            has_map = row["broker"] is None and bool(row["preferred"])
            preferred = set(row["preferred"] or ())
        elif row["event_type"] == rebalance_verdicts.RATIO and has_map and row["broker"] in preferred:
            wrong = _edited(record, (r" is [\d.E-]+$", f" is {row['ratio'] / 2 + 0.3}"))
            yield [*records[:at], wrong, *records[at + 1 :]]


REQUESTS = (
    LineKind("request left out", "request_follows", _left_out),
    LineKind("request sent to another broker", "request_follows", _misdirected),
    LineKind("the same leader epoch obeyed again", "request_acceptance", _obeyed_again),
    LineKind("a zombie controller obeyed", "request_acceptance", _zombie_obeyed),
    LineKind("a newer leader epoch ignored", "request_acceptance", _newer_ignored),
    LineKind("another leader received", "received_state_was_stored", _another_leader),
    LineKind("a reassignment stored before replicas are deleted", "reassignment_steps", _stored_early),
    LineKind("a reassignment led by none of its target", "reassignment_steps", _led_by_old),
    LineKind("a reassignment adds who is not assigned", "reassignment_lists", _lists_mixed),
    LineKind("a partition gone halfway through its deletion", "topic_deletion", _gone_halfway),
)
REBALANCES = (LineKind("an imbalance counted wrong", "auto_rebalance", _ratio_wrong),)


def rows_of(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Records as rows, in their order."""
    return [row_of(record) for record in records]
