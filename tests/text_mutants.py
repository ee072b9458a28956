"""Lines of logs and dumps edited as text, so that a whole night over them has to call something violated.

A mutant edits what all lines print of one decision. Which decisions there are, and where their lines stand, is taken
from the tables of a night over the lines as they are (`History`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from udfs.kafka.releases import Release

Row = Mapping[str, Any]
Place = tuple[str, int]
"""A stream's id and the number of a line in it."""
NOBODY = 99
"""A broker that there is none of."""
UNKNOWN_RELEASE = Release(0, 8)
SURE_US = 2_500_000
"""A broker that was there or away so long before and after a decision surely was."""
ELECTIONS = ("offline_election", "preferred_election", "controlled_shutdown_election", "reassign_election",
             "zk_election", "epoch_refresh", "preferred_leader_elected")  # fmt: skip
"""The rules of which one judges a ZooKeeper controller's new leader epoch, whatever made it; the last one also where
the state before is not known."""


@dataclass(frozen=True)
class Mutant:
    """A decision that was spoiled: `at` (microseconds) and where, and what to put in place of the messages of lines
    (null: the line goes; the message that it has: it has to stay); `after` are messages of new lines behind a line, and
    `words` what to put in place of words of lines, which several mutants may share. `until`: when all that was spoiled
    has been stated anew, null at once."""

    at: int
    topic: str | None
    partition: int | None
    edits: Mapping[Place, str | None]
    after: Mapping[Place, Sequence[str]] = field(default_factory=dict)
    until: int | None = None
    words: Mapping[Place, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class TextKind:
    """One way to spoil text: the rules of which one has to be violated, and the mutants of a history."""

    name: str
    rules: tuple[str, ...]
    mutants: Callable[[History], Iterator[Mutant]]
    is_dated: bool = True
    """Whether the verdict has the time of what was spoiled."""


@dataclass
class History:
    """What is known of a cluster: states of each incarnation in order, lines by partition and by place, spans of
    brokers, elections by (topic, partition, incarnation, leader epoch)."""

    states: Sequence[Sequence[Row]]
    lines: Mapping[tuple[str, int], Sequence[Row]]
    messages: Mapping[Place, str]
    stays: Mapping[int, Sequence[tuple[int, int | None]]]
    strategies: Mapping[tuple[str, int, int, int], str | None] = field(default_factory=dict)
    others: Sequence[Row] = ()
    """Lines about no partition: those of controllers' failovers."""
    returns: Mapping[int, Sequence[tuple[int, int | None]]] = field(default_factory=dict)
    """Spans of brokers that no controlled shutdown ended."""
    end: int = 0
    """Time of the last line."""
    release: Release = UNKNOWN_RELEASE
    """The lowest that a process printed."""

    def of_incarnations(self) -> Iterator[tuple[tuple[str, int], list[Row]]]:
        """Topic and partition with the lines of one incarnation, in order of time."""
        begins: dict[tuple[str, int], list[int]] = {}
        for states in self.states:
            begins.setdefault((states[0]["topic"], states[0]["partition"]), []).append(states[0]["since"] - SURE_US)
        for key, lines in self.lines.items():
            later = sorted(begins.get(key, ()))[1:]
            for since, until in pairwise([0, *later, 1 << 63]):
                yield key, [line for line in lines if since <= line["at"] < until]

    @cached_property
    def begins(self) -> dict[tuple[str, int], list[tuple[int, int]]]:
        """By topic and partition, incarnations with when the lines of each begin, in order."""
        begins: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for states in self.states:
            first = states[0]
            own = (first["incarnation"], first["since"] - SURE_US)
            begins.setdefault((first["topic"], first["partition"]), []).append(own)
        return {key: sorted(lives) for key, lives in begins.items()}

    def lines_of(self, state: Row) -> list[Row]:
        """Lines of the incarnation of a state."""
        key = (state["topic"], state["partition"])
        lives = self.begins[key]
        own = dict(lives)[state["incarnation"]]
        until = min((since for incarnation, since in lives if incarnation > state["incarnation"]), default=1 << 63)
        return [line for line in self.lines.get(key, ()) if own <= line["at"] < until]

    def changes(self) -> Iterator[tuple[Row, Row, Row | None]]:
        """Each state with the one before and the one after, where none is missing before."""
        for states in self.states:
            for at in range(1, len(states)):
                if not states[at]["missing_before"]:
                    yield states[at - 1], states[at], states[at + 1] if at + 1 < len(states) else None

    def restated(self, state: Row) -> int:
        """When a record of a dump, which has only what changes, has stated leader and ISR anew after a state."""
        key = ("topic", "partition", "incarnation")
        (states,) = (of_one for of_one in self.states if all(of_one[0][name] == state[name] for name in key))
        place = next(at for at, one in enumerate(states) if one["ordinal"] == state["ordinal"])
        for before, after in pairwise(states[place:]):
            if before is not state and before["leader"] != after["leader"] and before["isr"] != after["isr"]:
                return int(after["since"])
        return 1 << 62

    def is_there(self, broker: int, at: int) -> bool:
        """Whether a broker surely was there."""
        return any(
            since <= at - SURE_US and (until is None or until >= at + SURE_US)
            for since, until in self.stays.get(broker, ())
        )

    def is_away(self, broker: int, at: int) -> bool:
        """Whether a broker surely was not there."""
        return broker in self.stays and all(
            since > at + SURE_US or (until is not None and until < at - SURE_US) for since, until in self.stays[broker]
        )


# ---- records of a metadata dump -------------------------------------------------------------------------------------
def _record(history: History, state: Row, **data: Any) -> Mutant | None:
    """The record that made a state with other data (null: without it); None if no single record made it."""
    if len(state["evidence"]) != 1:
        return None
    place = (state["evidence"][0]["file_id"], state["evidence"][0]["line"])
    message = history.messages.get(place)
    head, separator, payload = (message or "").partition("payload: ")
    if not separator:
        return None
    record = json.loads(payload)
    record["data"] = {n: v for n, v in {**record["data"], **data}.items() if v is not None}
    text = f"{head}payload: {json.dumps(record, separators=(',', ':'))}"
    return Mutant(state["since"], state["topic"], state["partition"], {place: text}, until=history.restated(state))


def _elected(history: History) -> Iterator[tuple[Row, Row]]:
    """States in which another broker leads than before, of those whose assignment is the same, with the one before."""
    for before, state, _ in history.changes():
        is_same = before["replicas"] is not None and before["replicas"] == state["replicas"]
        if state["leader"] >= 0 and state["leader"] != before["leader"] and is_same and before["isr"] is not None:
            yield before, state


def _isr_changes(history: History) -> Iterator[tuple[Row, Row]]:
    """States in which only the ISR is another one than before."""
    for before, state, _ in history.changes():
        is_same = before["replicas"] is not None and before["replicas"] == state["replicas"]
        if state["leader"] == before["leader"] >= 0 and is_same and state["isr"] != before["isr"] and before["isr"]:
            yield before, state


def _of_records(edit: Callable[[History, Row, Row], Iterator[Row]], changes: Any) -> Any:
    """Mutants of records, each with the data that `edit` gives."""

    def mutants(history: History) -> Iterator[Mutant]:
        for before, state in changes(history):
            for data in edit(history, before, state):
                if (mutant := _record(history, state, **data)) is not None:
                    yield mutant

    return mutants


def _outside(history: History, before: Row, state: Row) -> Iterator[Row]:
    return ({"leader": b} for b in state["replicas"] if b not in state["isr"] and b not in before["isr"])


def _outside_alone(history: History, before: Row, state: Row) -> Iterator[Row]:
    if any(history.is_there(b, state["since"]) for b in before["isr"]):
        yield from ({"leader": b, "isr": [b]} for b in state["replicas"] if b not in before["isr"])


def _unassigned(history: History, before: Row, state: Row) -> Iterator[Row]:
    yield {"leader": NOBODY, "isr": [*state["isr"], NOBODY]}


def _dead(history: History, before: Row, state: Row) -> Iterator[Row]:
    return ({"leader": b, "isr": sorted({*state["isr"], b})} for b in before["isr"]
            if b != state["leader"] and history.is_away(b, state["since"]))  # fmt: skip


def _later_replica(history: History, before: Row, state: Row) -> Iterator[Row]:
    """Not the first replica that is in the ISR and there."""
    order = [b for b in state["replicas"] if b in state["isr"] and history.is_there(b, state["since"])]
    return ({"leader": b} for b in order[1:] if b not in (state["leader"], before["leader"]))


def _joins_unassigned(history: History, before: Row, state: Row) -> Iterator[Row]:
    yield {"isr": [*state["isr"], NOBODY]}


def _leader_leaves(history: History, before: Row, state: Row) -> Iterator[Row]:
    others = [b for b in state["isr"] if b != state["leader"]]
    if others:
        yield {"isr": others}


def _fenced_joins(history: History, before: Row, state: Row) -> Iterator[Row]:
    is_same_epoch = state["leader_epoch"] == before["leader_epoch"]
    fenced = [b for b in state["replicas"] if b not in before["isr"] and history.is_away(b, state["since"])]
    if not is_same_epoch:
        fenced = []  # a record that raises the leader epoch states its leader
    return ({"isr": [*before["isr"], b]} for b in fenced)


def _in_both(history: History, before: Row, state: Row) -> Iterator[Row]:
    if state["elr"] and state["isr"]:
        yield {"eligibleLeaderReplicas": [*state["elr"], state["isr"][0]]}


def _not_alone(history: History, before: Row, state: Row) -> Iterator[Row]:
    is_unclean = state["leader"] not in before["isr"] and state["leader"] not in (before["elr"] or ())
    if is_unclean and before["isr"] and len(state["isr"]) == 1:
        yield {"isr": [state["leader"], before["isr"][0]]}


def _no_recovery(history: History, before: Row, state: Row) -> Iterator[Row]:
    is_unclean = state["leader"] not in before["isr"] and state["leader"] not in (before["elr"] or ())
    if is_unclean and before["isr"]:
        yield {"leaderRecoveryState": None}


def _born(history: History) -> Iterator[tuple[Row, Row]]:
    """First states."""
    for states in history.states:
        if states[0]["leader_epoch"] == states[0]["partition_epoch"] == 0 and states[0]["replicas"]:
            yield states[0], states[0]


def _born_with_second(history: History, before: Row, state: Row) -> Iterator[Row]:
    rest = [b for b in state["replicas"] if b in state["isr"]]
    if len(rest) > 1:
        yield {"leader": rest[1]}


def _born_late(history: History, before: Row, state: Row) -> Iterator[Row]:
    """Not partition 0: how many replicas added ones must have is known by its creation."""
    if state["partition"]:
        yield {"leaderEpoch": 1, "partitionEpoch": 0}


def _born_twice(history: History, before: Row, state: Row) -> Iterator[Row]:
    if len(state["replicas"]) > 1 and len(state["isr"]) > 1:
        yield {"replicas": [state["replicas"][0]] * len(state["replicas"])}


def _added(history: History) -> Iterator[tuple[Row, Row]]:
    """First states of partitions that were added to a topic."""
    began: dict[tuple[str, int], int] = {}
    for _, state in _born(history):
        key = state["topic"], state["incarnation"]
        began[key] = min(began.get(key, state["since"]), state["since"])
    for _, state in _born(history):
        if state["since"] > began[state["topic"], state["incarnation"]] + 11_000_000 and state["partition"]:
            yield state, state


def _other_factor(history: History, before: Row, state: Row) -> Iterator[Row]:
    """As many replicas as partition 0 never had: a reassignment may have given it any of those."""
    factors = {
        len(one["replicas"])
        for states in history.states
        if (states[0]["topic"], states[0]["partition"], states[0]["incarnation"])
        == (state["topic"], 0, state["incarnation"])
        for one in states
        if one["replicas"]
    }
    all_brokers = [*state["replicas"], *(b for b in range(5) if b not in state["replicas"])]
    for factor in range(len(all_brokers), 0, -1):
        if factor not in factors:
            replicas = all_brokers[:factor]
            isr = [b for b in replicas if b in state["isr"]]
            leader = state["leader"] if state["leader"] in isr else isr[0] if isr else None
            if leader is not None:
                directories = ["AAAAAAAAAAAAAAAAAAAAAQ"] * factor
                yield {"replicas": replicas, "isr": isr, "directories": directories, "leader": leader}
            return


def _mixed_change(history: History) -> Iterator[Mutant]:
    """A reassignment that begins with adding replicas takes an old one away in the same change."""
    for before, state, _ in history.changes():
        old, new = before["replicas"], state["replicas"]
        if old and new and set(old) < set(new):
            gone = next((b for b in old if b != state["leader"]), None)
            if gone is not None:
                isr = [b for b in state["isr"] if b != gone]
                mutant = _record(history, state, replicas=[b for b in new if b != gone], isr=isr, removingReplicas=[])
                if mutant is not None:
                    yield mutant


def _epoch_falls(history: History) -> Iterator[Mutant]:
    """A broker registers again, with broker epoch 1 in all records of that registration."""
    registered: dict[str, tuple[int, str, dict[Place, str | None]]] = {}
    for line in history.others:
        epoch = re.findall(r'"brokerEpoch":(\d+)', line["message"])
        broker = re.findall(r'"(?:brokerId|id)":(\d+)', line["message"])
        if not epoch or not broker:
            continue
        if line["event_type"] == "metadata_register_broker":
            if broker[0] in registered:
                at, _, edits = registered[broker[0]]
                yield from [Mutant(at, None, None, edits, until=1 << 62)] if edits else []
            registered[broker[0]] = (line["at"], epoch[0], {}) if broker[0] not in registered else (
                line["at"], epoch[0], {(line["file_id"], line["line"]): _of_epoch_1(line["message"])}
            )  # fmt: skip
        elif broker[0] in registered and registered[broker[0]][1] == epoch[0] and registered[broker[0]][2]:
            registered[broker[0]][2][line["file_id"], line["line"]] = _of_epoch_1(line["message"])
    for at, _, edits in registered.values():
        yield from [Mutant(at, None, None, edits, until=1 << 62)] if edits else []


def _of_epoch_1(message: str) -> str:
    return re.sub(r'"brokerEpoch":\d+', '"brokerEpoch":1', message)


RECORDS = (
    TextKind("record: one outside the ISR leads", ("leader_in_isr",), _of_records(_outside, _elected)),
    TextKind("record: one outside the ISR leads alone", ("clean_candidate_first", "kraft_election"),
             _of_records(_outside_alone, _elected)),
    TextKind("record: one leads that is not assigned", ("isr_within_replicas", "kraft_election"),
             _of_records(_unassigned, _elected)),
    TextKind("record: a dead one leads", ("elected_leader_online", "kraft_election"), _of_records(_dead, _elected)),
    TextKind("record: a later replica leads", ("kraft_election",), _of_records(_later_replica, _elected)),
    TextKind("record: one joins that is not assigned", ("isr_within_replicas",),
             _of_records(_joins_unassigned, _isr_changes)),
    TextKind("record: the leader leaves its ISR", ("leader_in_isr",), _of_records(_leader_leaves, _isr_changes)),
    TextKind("record: a fenced one joins", ("isr_joiner_online",), _of_records(_fenced_joins, _isr_changes)),
    TextKind("record: eligible and in the ISR", ("elr_disjoint_from_isr",), _of_records(_in_both, _isr_changes)),
    TextKind("record: an unclean leader is not alone", ("unclean_leader_alone",), _of_records(_not_alone, _elected)),
    TextKind("record: an unclean leader does not recover", ("unclean_leader_alone",),
             _of_records(_no_recovery, _elected)),
    TextKind("record: a new partition led by its second replica", ("new_partition_state",),
             _of_records(_born_with_second, _born)),
    TextKind("record: a new partition in leader epoch 1", ("new_partition_state",), _of_records(_born_late, _born)),
    TextKind("record: a replica twice", ("assignment_at_creation", "added_partitions"),
             _of_records(_born_twice, _born)),
    TextKind("record: an added partition of more replicas", ("added_partitions",),
             _of_records(_other_factor, _added)),
    TextKind("record: a change adds and removes", ("assignment_change",), _mixed_change),
    TextKind("record: a broker epoch falls", ("broker_epoch_grows",), _epoch_falls, is_dated=False),
)  # fmt: skip
