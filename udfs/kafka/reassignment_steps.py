"""The steps of a reassignment, as a ZooKeeper controller logs them: plain functions over rows as dicts.

After kafka.controller.KafkaController.onPartitionReassignment. A controller takes them one after the other without
doing anything else meanwhile. It begins by storing the widened assignment, LeaderAndIsr to all, and new replicas; it
ends with the leader, the old replicas offline and deleted, and the assignment stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED, Finding
from udfs.kafka.verdicts import Verdict, verdict_of

Line = Mapping[str, Any]
"""Columns: `event_type`, `at` (microseconds), `node_id`, `file_id`, `line`; null where the line does not print it:
`leader`, `leader_epoch`, `replicas`, `target_replicas`, `adding_replicas`, `removing_replicas`, `from_state`,
`to_state`, `replica`."""
Wrong = list[tuple[str, Line]]
RULE, LISTS = "reassignment_steps", "reassignment_lists"

STARTED, STORED, SENT = "reassignment_started", "reassignment_assignment_updated", "reassignment_leader_and_isr_sent"
UPDATING, CAUGHT_UP = "reassignment_assignment_updating", "reassignment_caught_up"
UNLISTED = "reassignment_removed_from_zk"
LEADER_STAYS = ("reassignment_leader_alive", "reassignment_leader_dead")
LEADER_LEAVES = "reassignment_leader_not_in_new_replicas"
LEADER_STEPS = (*LEADER_STAYS, LEADER_LEAVES)
LINES = (STARTED, UPDATING, STORED, SENT, CAUGHT_UP, *LEADER_STEPS)
"""Events of one partition that tell of a reassignment; `UNLISTED` names several."""
_PARTITION, _REPLICA = "partition_state_change", "replica_state_change"
_BOUNDS = (STARTED, STORED, *LEADER_STEPS)
_GONE = ("ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "NonExistentReplica")
TOGETHER_US = 10_000_000
"""Lines further apart are not taken for steps of one pass: others may be lost between them."""
RIGHT_AFTER_US = 1_000_000
"""Only lines so close together accuse: a partition is not reassigned again within such a time."""


@dataclass(frozen=True)
class JudgedSteps:
    """A verdict, what it is about within the partition, and the lines that it rests on, in their order."""

    verdict: Verdict
    about: str
    lines: tuple[Line, ...]


def judge_steps(lines: Sequence[Line]) -> Iterator[JudgedSteps]:
    """The rules `reassignment_steps` and `reassignment_lists`, over the lines of one incarnation in order of time."""
    by_node: dict[int, list[Line]] = {}
    for line in lines:
        if line["event_type"] in (*LINES, UNLISTED, _PARTITION, _REPLICA) and line["node_id"] is not None:
            by_node.setdefault(line["node_id"], []).append(line)
    seen: set[str] = set()
    for node in sorted(by_node):
        for judged in _passes(by_node[node], lines):
            if judged.about not in seen:
                seen.add(judged.about)
                yield judged
    yield from _lists(lines)


def _passes(of_node: Sequence[Line], lines: Sequence[Line]) -> Iterator[JudgedSteps]:
    """The starts and ends that a controller logged."""
    for at, line in enumerate(of_node):
        if line["event_type"] in LEADER_STEPS and line["target_replicas"]:
            yield _finish(of_node, at)
        elif line["event_type"] == SENT and _assignment(line) and (judged := _start(of_node, line, lines)) is not None:
            yield judged


def is_before(one: Line, other: Line) -> bool:
    """Whether a node certainly logged one line before another: earlier in a file, or at an earlier time."""
    if one["file_id"] == other["file_id"]:
        return bool(one["line"] < other["line"])
    return bool(one["at"] < other["at"])


# ---- the end: from the leader to the stored assignment ----------------------------------------------------------
def _finish(lines: Sequence[Line], begin: int) -> JudgedSteps:
    """A pass that ends a reassignment, from the line about its leader on."""
    first = lines[begin]
    target = set(first["target_replicas"])
    near = [line for line in lines if abs(line["at"] - first["at"]) <= TOGETHER_US]
    bounds = [line for line in near if line["event_type"] in _BOUNDS and is_before(first, line)]
    last = bounds[0] if bounds and bounds[0]["event_type"] == STORED else None
    wrong = _leader_named(first, target)
    steps = [first]
    if last is not None:
        inside = [line for line in near if is_before(first, line) and is_before(line, last)]
        deleted = [line for line in inside if line["event_type"] == _REPLICA and line["to_state"] in _GONE]
        is_other = set(last["replicas"] or ()) != target and not (deleted and _is_settled(last))
        faults = _inside(inside, deleted, target) + _stored(last, target) + _too_late(near, last, target)
        is_short = last["at"] - first["at"] <= RIGHT_AFTER_US
        if is_other or any(_begins_another(line) for line in inside) or (faults and not is_short):
            last = None  # another request came in between, or may have: this pass was given up, or its end is lost
        else:
            wrong += faults
            steps = [first, *(line for line in inside if _is_step(line)), last]
    about = f"leader and end of the reassignment to {sorted(target)}, {_place(first)}"
    expected = f"a leader of {sorted(target)}, then the others offline and deleted, then {sorted(target)} stored"
    return _judged(expected, steps, wrong, about, None if last is not None else "the end of the steps")


def _begins_another(line: Line) -> bool:
    """Whether a line between shows that the end of the pass was lost: it belongs to the start of the next one, or to
    what follows the end."""
    is_start = line["event_type"] == SENT and line["adding_replicas"] is not None and not _is_settled(line)
    return is_start or line["event_type"] == UNLISTED or _is_new_replica(line)


def _leader_named(line: Line, target: set[int]) -> Wrong:
    """The line about the leader says that it is one of the target replicas, or that it is none."""
    is_target = line["leader"] in target
    if line["leader"] is None or not target or is_target == (line["event_type"] in LEADER_STAYS):
        return []
    return [(f"leader {line['leader']} is {'' if is_target else 'not '}one of {sorted(target)}", line)]


def _inside(inside: Sequence[Line], deleted: Sequence[Line], target: set[int]) -> Wrong:
    """What must not be between the line about the leader and the stored assignment."""
    wrong: Wrong = []
    for line in inside:
        kind = line["event_type"]
        if kind == SENT and _assignment(line) and {*_assignment(line)} != target:
            wrong.append((f"LeaderAndIsr was sent with {_assignment(line)}", line))
        if _is_leader_line(line):
            if line["leader"] is not None and line["leader"] not in target:
                wrong.append((f"leader {line['leader']} is not one of {sorted(target)}", line))
            if any(is_before(other, line) for other in deleted):
                wrong.append((f"leader {line['leader']} was decided after replica {deleted[0]['replica']} went", line))
        if kind == CAUGHT_UP:
            wrong.append(("the targets were in sync only after the leader was looked at", line))
        if kind == _REPLICA and (line["from_state"], line["to_state"]) == ("NewReplica", "OnlineReplica"):
            wrong.append((f"replica {line['replica']} was online only after the leader was looked at", line))
    wrong += [(f"target replica {line['replica']} was deleted", line) for line in deleted if line["replica"] in target]
    return wrong


def _stored(last: Line, target: set[int]) -> Wrong:
    is_wrong = last["replicas"] is not None and {*last["replicas"]} != target
    return [] if not is_wrong else [(f"{last['replicas']} was stored", last)]


def _too_late(near: Sequence[Line], last: Line, target: set[int]) -> Wrong:
    """Replicas that are deleted after the assignment without them was stored, before anything else begins."""
    later = [line for line in near if is_before(last, line) and line["at"] - last["at"] <= RIGHT_AFTER_US]
    bound = next((line for line in later if line["event_type"] in (*_BOUNDS, SENT) or _is_new_replica(line)), None)
    for line in later:
        is_old = line["event_type"] == _REPLICA and line["to_state"] == _GONE[0] and line["replica"] not in target
        if is_old and (bound is None or is_before(line, bound)):
            return [(f"old replica {line['replica']} was deleted after the assignment without it was stored", line)]
    return []


# ---- the start: stored, sent, new replicas ----------------------------------------------------------------------
def _start(lines: Sequence[Line], sent: Line, of_all: Sequence[Line]) -> JudgedSteps | None:
    """A pass that starts a reassignment, by its LeaderAndIsr; None: that is of its end, or may be."""
    near = [line for line in lines if abs(line["at"] - sent["at"]) <= TOGETHER_US]
    bounds = [line for line in near if line["event_type"] in _BOUNDS]
    earlier = [line for line in bounds if is_before(line, sent)]
    later = [line for line in bounds if not is_before(line, sent)]
    if _is_settled(sent) or (earlier and earlier[-1]["event_type"] in LEADER_STEPS) or _widens_nothing(sent, earlier):
        return None
    lists = _printed_lists(sent)
    stored = earlier[-1] if earlier and _stores(earlier[-1], lists) else None
    begun = stored or _last_stored(sent, of_all, lists)
    new = [line for line in near if _is_new_replica(line) and line["replica"] in lists[0]]
    wrong: Wrong = []
    if begun is None and later and _is_stored_late(sent, later[0], new):
        wrong.append(("LeaderAndIsr was sent before the assignment was stored", later[0]))
    if stored is not None and _is_first(sent, stored, of_all):
        wrong += [
            (f"replica {line['replica']} was new before LeaderAndIsr was sent", line)
            for line in new
            if is_before(stored, line) and is_before(line, sent)
        ]
    steps = [*([begun] if begun is not None else []), sent]
    if later:
        new = [line for line in new if is_before(line, later[0])]
    steps += [line for line in new if is_before(sent, line)]
    about = f"start with the assignment {list(lists[0])}, leader epoch {sent['leader_epoch']}, {_place(sent)}"
    expected = f"{list(lists[0])} stored, then LeaderAndIsr to them, then the new replicas"
    return _judged(expected, steps, wrong, about, None if begun is not None else "the stored assignment")


def _is_stored_late(sent: Line, stored: Line, new: Sequence[Line]) -> bool:
    """Whether the assignment of a start was stored after LeaderAndIsr. To 2.3 an end, too, stores what it sent; only
    that new replicas came even later shows that it was a start."""
    lists = _printed_lists(sent)
    is_start = len(lists) > 1 or any(is_before(stored, line) for line in new)
    return is_start and _stores(stored, lists) and is_before(sent, stored)


def _last_stored(sent: Line, of_all: Sequence[Line], lists: tuple[tuple[int, ...], ...]) -> Line | None:
    """The assignment as it was stored last, by whichever controller, if it is the one sent: the start is repeated after
    a new controller and the return of a broker, from 2.4 on without storing it again."""
    earlier = [line for line in of_all if line["event_type"] == STORED and line["at"] < sent["at"]]
    return earlier[-1] if earlier and _stores(earlier[-1], lists) else None


def _widens_nothing(sent: Line, earlier: Sequence[Line]) -> bool:
    """Whether a LeaderAndIsr to 2.3, which prints no lists, may be that of an end: nothing shows that it is a start."""
    if sent["adding_replicas"] is not None:
        return False
    return not any(line["event_type"] == STARTED for line in earlier[-2:])


def _stores(line: Line, lists: tuple[tuple[int, ...], ...]) -> bool:
    if line["event_type"] != STORED:
        return False
    stored = _printed_lists(line)
    return stored == lists if len(lists) > 1 else set(stored[0]) == set(lists[0])


def _is_first(sent: Line, stored: Line, of_all: Sequence[Line]) -> bool:
    """Whether no other LeaderAndIsr can have been sent since the assignment was stored: its leader epoch is the next
    after all that were printed by then."""
    known = [line["leader_epoch"] for line in of_all if line["leader_epoch"] is not None and line["at"] < stored["at"]]
    return sent["leader_epoch"] is not None and bool(known) and sent["leader_epoch"] <= max(known) + 1


# ---- lists --------------------------------------------------------------------------------------------------------
def _lists(lines: Sequence[Line]) -> Iterator[JudgedSteps]:
    """Each assignment that lines print with what it adds and removes (2.4 on), once."""
    seen: set[tuple[Any, ...]] = set()
    for line in lines:
        if line["event_type"] not in (UPDATING, STORED, SENT) or None in (line["adding_replicas"], line["replicas"]):
            continue
        lists = _printed_lists(line)
        if lists in seen:
            continue
        seen.add(lists)
        wrong = _wrong_lists(*lists)
        replicas, adding, removing = map(list, lists)
        expected = "the target first, then what is removed, with what is added among the target"
        shown = f"replicas {replicas}, adding {adding}, removing {removing}"
        finding = Finding(LISTS, VIOLATED if wrong else HOLDS, 0, expected, "; ".join([shown, *wrong]))
        yield JudgedSteps(verdict_of(finding), f"assignment {replicas}, {adding}, {removing}", (line,))


def _wrong_lists(replicas: tuple[int, ...], adding: tuple[int, ...], removing: tuple[int, ...]) -> list[str]:
    """What is wrong with the lists of `ReplicaAssignment.reassignTo`; its target is what is not removed."""
    return [
        text
        for text, is_wrong in (
            ("a replica is listed twice", len(set(replicas)) < len(replicas)),
            ("added replicas are not assigned", not set(adding) <= set(replicas)),
            ("removed replicas are not assigned", not set(removing) <= set(replicas)),
            ("a replica is added and removed", bool(set(adding) & set(removing))),
            ("what is removed is not last", set(replicas[len(replicas) - len(removing) :]) != set(removing)),
        )
        if is_wrong
    ]


# ---- lines --------------------------------------------------------------------------------------------------------
def _assignment(line: Line) -> list[int]:
    """The replicas that a line prints; to 2.3 LeaderAndIsr calls them its target."""
    return list(line["replicas"] or line["target_replicas"] or ())


def _printed_lists(line: Line) -> tuple[tuple[int, ...], ...]:
    """Replicas, and from 2.4 on which of them are added and removed."""
    if line["adding_replicas"] is None:
        return (tuple(_assignment(line)),)
    return tuple(_assignment(line)), tuple(line["adding_replicas"]), tuple(line["removing_replicas"] or ())


def _place(line: Line) -> str:
    """Which pass it is: controllers repeat what they begin."""
    at = datetime.fromtimestamp(line["at"] / 1e6, UTC)
    return f"controller {line['node_id']} at {at:%F %H:%M:%S.%f}, line {line['line']}"


def _is_settled(line: Line) -> bool:
    """Whether nobody is added or removed; to 2.3 no line tells."""
    if line["event_type"] == SENT and line["adding_replicas"] is None:
        return False
    return not line["adding_replicas"] and not line["removing_replicas"]


def _is_new_replica(line: Line) -> bool:
    return (line["event_type"], line["from_state"], line["to_state"]) == (_REPLICA, _GONE[-1], "NewReplica")


def _is_leader_line(line: Line) -> bool:
    """Whether it tells whom the controller made the leader, or let stay."""
    return (line["event_type"], line["to_state"]) in ((SENT, None), (_PARTITION, "OnlinePartition"))


def _is_step(line: Line) -> bool:
    shown = ("OfflineReplica", *_GONE[::2])
    return (line["event_type"] == _REPLICA and line["to_state"] in shown) or _is_leader_line(line)


def _judged(expected: str, steps: Sequence[Line], wrong: Wrong, about: str, missing: str | None) -> JudgedSteps:
    """A verdict with the steps in the order in which they were logged; of a wrong one the lines that show it."""
    if wrong:
        lines = [steps[0], *(line for _, line in wrong)]
        text = "; ".join(dict.fromkeys(text for text, _ in wrong))
        unique = {(line["file_id"], line["line"]): line for line in lines}
        return JudgedSteps(verdict_of(Finding(RULE, VIOLATED, 0, expected, text)), about, tuple(unique.values()))
    if missing is not None:
        return JudgedSteps(verdict_of(Finding(RULE, UNKNOWN, 0, expected, "", (missing,))), about, tuple(steps))
    shown = "; ".join(_in_words(line) for line in steps)
    return JudgedSteps(verdict_of(Finding(RULE, HOLDS, 0, expected, shown)), about, tuple(steps))


def _in_words(line: Line) -> str:
    kind = line["event_type"]
    if kind == _REPLICA:
        return f"replica {line['replica']} {line['to_state']}"
    if kind == STORED:
        return f"{_assignment(line)} stored"
    if kind == SENT:
        return f"LeaderAndIsr with leader {line['leader']} and {_assignment(line)}"
    return f"leader {line['leader']}"
