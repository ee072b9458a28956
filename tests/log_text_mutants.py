"""Lines of ZooKeeper controllers and brokers edited as text, as 2.2 to 2.8 print them: see `tests.text_mutants`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from schemas.kafka_values import NO_LEADER
from tests.line_mutants import REQUESTS, LineKind, row_of
from tests.text_mutants import ELECTIONS, NOBODY, History, Mutant, Row, TextKind
from udfs.kafka.message_verdicts import STOP_SENT
from udfs.kafka.request_verdicts import DECIDED, OBEYED, RECEIVED

_STATE = r"leader=-?\d+, leaderEpoch={epoch}, isr=(List\(|\[)[\d, ]*([\])]), zkVersion={version}\b"
AROUND_US = 60_000_000
"""So long other lines around a request are left as they are."""
_LEADS = ("become_leader_started", "become_leader_finished", "become_leader_handling_completed",
          "leader_epoch_started", "partition_leader_epoch_started")  # fmt: skip


def _is_of_state(line: Row, state: Row) -> bool:
    pattern = _STATE.format(epoch=state["leader_epoch"], version=state["partition_epoch"])
    return re.search(pattern, line["message"]) is not None


def _rewritten(
    history: History, state: Row, leader: int, isr: Sequence[int], *, drop: Callable[[Row], bool] = lambda line: False
) -> Mutant | None:
    """All lines that print a state, with another leader and ISR; lines to `drop` go. None if none prints it."""
    edits: dict[tuple[str, int], str | None] = {}
    for line in history.lines.get((state["topic"], state["partition"]), ()):
        text = None if drop(line) else _with_state(line, state, leader, isr)
        if text != line["message"]:
            edits[line["file_id"], line["line"]] = text
    if not any(edits.values()):
        return None
    return Mutant(state["since"], state["topic"], state["partition"], edits)


def _with_state(line: Row, state: Row, leader: int, isr: Sequence[int]) -> str:
    """A line's message, with another leader and ISR where it prints that state: in a request or a decision, as what
    the controller made of it, or as what a leader has written or is about to write."""
    epoch, version, dense = state["leader_epoch"], state["partition_epoch"], ",".join(map(str, isr))
    spaced, message = ", ".join(map(str, isr)), str(line["message"])
    new = rf"leader={leader}, leaderEpoch={epoch}, isr=\g<1>{spaced}\g<2>, zkVersion={version}"
    message = re.sub(_STATE.format(epoch=epoch, version=version), new, message)
    shown = re.search(rf"\(Leader:-?\d+,ISR:([\d,]*),LeaderEpoch:{epoch},(ZkVersion:{version},)?", message)
    if shown is not None and _are(shown[1], state["isr"]):
        message = message.replace(shown[0], f"(Leader:{leader},ISR:{dense},LeaderEpoch:{epoch},{shown[2] or ''}")
    written = rf"(updated to \[?)[\d,]+(\]?(?: \([\w-]+\))? and (?:zkV|v)ersion updated to \[{version}\])"
    message = re.sub(written, rf"\g<1>{dense}\g<2>", message)
    asked = re.search(r"( ISR from [\d,]+ to )([\d,]+)", message)
    is_near = 0 <= state["since"] - line["at"] < 3_000_000 and line["node_id"] == state["leader"]
    if asked is not None and is_near and _are(asked[2], state["isr"]):
        message = message.replace(asked[0], f"{asked[1]}{dense}")
    return message


def _are(ids: str, isr: Sequence[int]) -> bool:
    """Whether ids as text are an ISR, in whatever order."""
    return sorted(map(int, filter(None, ids.split(",")))) == sorted(isr)


def _single(history: History) -> Iterator[tuple[Row, Row]]:
    """Elections of a controller that no change of the ISR follows within the leader epoch."""
    for before, state, after in history.changes():
        is_last = after is None or after["leader_epoch"] > state["leader_epoch"]
        is_election = state["made_by"] == "controller" and state["leader_epoch"] > before["leader_epoch"]
        is_known = state["leader"] >= 0 and None not in (before["isr"], state["replicas"], state["partition_epoch"])
        if is_last and is_election and is_known:
            yield before, state


def _strategy(history: History, state: Row) -> str | None:
    key = (state["topic"], state["partition"], state["incarnation"], state["leader_epoch"])
    return history.strategies.get(key)


def _leads(state: Row) -> Callable[[Row], bool]:
    """Whether a line says that the leader of a state leads in its leader epoch."""
    return lambda line: (
        line["event_type"] in _LEADS
        and line["node_id"] == state["leader"]
        and line["leader_epoch"] in (state["leader_epoch"], None)
        and abs(line["at"] - state["since"]) < 3_000_000
    )


def _of_elections(
    edit: Callable[[History, Row, Row], Iterator[tuple[int, Sequence[int]]]], *strategies: str
) -> Callable[[History], Iterator[Mutant]]:
    """Mutants of elections, of some strategies or of all that are known, with the leaders and ISRs of `edit`."""

    def mutants(history: History) -> Iterator[Mutant]:
        for before, state in _single(history):
            strategy = _strategy(history, state)
            if strategy is None or (strategies and strategy not in strategies):
                continue
            for leader, isr in edit(history, before, state):
                mutant = _rewritten(history, state, leader, isr, drop=_leads(state))
                if mutant is not None:
                    yield mutant

    return mutants


def _another_member(history: History, before: Row, state: Row) -> Iterator[tuple[int, Sequence[int]]]:
    return ((b, state["isr"]) for b in state["isr"] if b != state["leader"])


def _outside(history: History, before: Row, state: Row) -> Iterator[tuple[int, Sequence[int]]]:
    return ((b, state["isr"]) for b in state["replicas"] if b not in state["isr"] and b not in before["isr"])


def _outside_alone(history: History, before: Row, state: Row) -> Iterator[tuple[int, Sequence[int]]]:
    if any(history.is_there(b, state["since"]) for b in before["isr"]):
        yield from ((b, [b]) for b in state["replicas"] if b not in before["isr"])


def _unassigned(history: History, before: Row, state: Row) -> Iterator[tuple[int, Sequence[int]]]:
    yield NOBODY, [*state["isr"], NOBODY]


def _member_dropped(history: History, before: Row, state: Row) -> Iterator[tuple[int, Sequence[int]]]:
    gone = [b for b in state["isr"] if b != state["leader"] and history.is_there(b, state["since"])]
    return ((state["leader"], [other for other in state["isr"] if other != b]) for b in gone)


def _member_gained(history: History, before: Row, state: Row) -> Iterator[tuple[int, Sequence[int]]]:
    out = [b for b in state["replicas"] if b not in before["isr"] and b not in state["isr"]]
    return ((state["leader"], [*state["isr"], b]) for b in out)


def _old_leader(history: History, before: Row, state: Row) -> Iterator[tuple[int, Sequence[int]]]:
    if before["leader"] in before["isr"]:
        yield before["leader"], before["isr"]


def _not_alone(history: History, before: Row, state: Row) -> Iterator[tuple[int, Sequence[int]]]:
    if state["leader"] not in before["isr"] and before["isr"]:
        yield state["leader"], [state["leader"], before["isr"][0]]


# ---- what leaders change --------------------------------------------------------------------------------------------
def _of_leaders(edit: Callable[[Row, Row], list[int] | None]) -> Callable[[History], Iterator[Mutant]]:
    """Mutants of ISR changes by leaders, with the ISR of `edit`: in their own lines and all that print the state."""

    def mutants(history: History) -> Iterator[Mutant]:
        for before, state, _ in history.changes():
            if state["made_by"] != "leader" or state["leader"] < 0 or state["partition_epoch"] is None:
                continue
            isr = edit(before, state)
            mutant = None if isr is None else _rewritten(history, state, state["leader"], isr)
            if mutant is not None:
                yield mutant

    return mutants


def _joins_unassigned(before: Row, state: Row) -> list[int]:
    return [*state["isr"], NOBODY]


def _leader_leaves(before: Row, state: Row) -> list[int] | None:
    return [b for b in state["isr"] if b != state["leader"]] or None


# ---- lines of their own ---------------------------------------------------------------------------------------------
def _swapped(one: Row, other: Row, at: int, topic: str | None, partition: int | None) -> Mutant:
    """Two lines with their messages exchanged, so that times and places stay in order."""
    places = ((one["file_id"], one["line"]), (other["file_id"], other["line"]))
    return Mutant(at, topic, partition, {places[0]: other["message"], places[1]: one["message"]})


def _handled_first(history: History) -> Iterator[Mutant]:
    """A request is handled before it is received."""
    for (topic, partition), lines in history.lines.items():
        received = {}
        for line in lines:
            request = (line["file_id"], line["controller_epoch"], line["correlation_id"])
            if line["event_type"] == RECEIVED:
                received[request] = line
            elif line["event_type"] in OBEYED and (first := received.pop(request, None)) is not None:
                yield _swapped(first, line, first["at"], topic, partition)


def _deleted_first(history: History) -> Iterator[Mutant]:
    """A replica is told to delete its log before it is offline."""
    for (topic, partition), lines in history.lines.items():
        offline = {}
        for line in lines:
            row = row_of({**line, "life": 0, "registered_at": 0})
            if row["to_state"] == "OfflineReplica" and row["from_state"] in ("OnlineReplica", "NewReplica"):
                offline[line["file_id"], row["replica"]] = line
            is_deletion = line["event_type"] == STOP_SENT and "deletePartition=true" in line["message"]
            first = offline.get((line["file_id"], row["target_broker"])) if is_deletion else None
            if first is not None and line["at"] - first["at"] < 900_000:
                yield _swapped(first, line, first["at"], topic, partition)


def _state_after_end(history: History) -> Iterator[Mutant]:
    """A partition changes its state after it is gone."""
    for (topic, partition), lines in history.lines.items():
        for line in lines:
            if line["event_type"] == DECIDED and "to NonExistentPartition" in line["message"]:
                again = re.sub(r"from \w+ to \w+", "from OnlinePartition to OfflinePartition", line["message"])
                place = (line["file_id"], line["line"])
                yield Mutant(line["at"], topic, partition, {}, after={place: [again]})


def _not_counted(history: History) -> Iterator[Mutant]:
    """A partition without a leader was no offline one."""
    for before, state, _ in history.changes():
        if before["leader"] != -1 or state["leader_epoch"] != before["leader_epoch"] + 1:
            continue
        for line in history.lines.get((state["topic"], state["partition"]), ()):
            if "from OfflinePartition to OnlinePartition" in line["message"] and _is_of_state(line, state):
                text = line["message"].replace("from OfflinePartition", "from OnlinePartition")
                place = (line["file_id"], line["line"])
                yield Mutant(state["since"], state["topic"], state["partition"], {place: text})


def _illegal(history: History) -> Iterator[Mutant]:
    """A partition that is online becomes new."""
    for (topic, partition), lines in history.lines.items():
        for line in lines:
            if "from OnlinePartition to OfflinePartition" in line["message"]:
                text = line["message"].replace("to OfflinePartition", "to NewPartition")
                yield Mutant(line["at"], topic, partition, {(line["file_id"], line["line"]): text})


def _illegal_replica(history: History) -> Iterator[Mutant]:
    """A replica that is online is being deleted."""
    for (topic, partition), lines in history.lines.items():
        for line in lines:
            if "from OnlineReplica to OfflineReplica" in line["message"]:
                text = line["message"].replace("to OfflineReplica", "to ReplicaDeletionStarted")
                yield Mutant(line["at"], topic, partition, {(line["file_id"], line["line"]): text})


def _machines_swapped(history: History) -> Iterator[Mutant]:
    """The state machine of partitions starts before that of replicas."""
    last: dict[str, Row] = {}
    for line in history.others:
        if line["event_type"] == "controller_replica_state_machine_started":
            last[line["file_id"]] = line
        elif line["event_type"] == "controller_partition_state_machine_started":
            first = last.pop(line["file_id"], None)
            if first is not None:
                yield _swapped(first, line, first["at"], None, None)


def _one_epoch_twice(history: History) -> Iterator[Mutant]:
    """A controller is elected with the epoch of the one before."""
    elections = [line for line in history.others if line["event_type"] == "controller_elected"]
    for before, line in pairwise(elections):
        epoch = before["controller_epoch"]
        text = re.sub(rf"incremented to {line['controller_epoch']}\b", f"incremented to {epoch}", line["message"])
        if text != line["message"] and before["node_id"] != line["node_id"]:
            yield Mutant(before["at"], None, None, {(line["file_id"], line["line"]): text})


def _never_learned(history: History) -> Iterator[Mutant]:
    """A broker's metadata cache never learns of a topic."""
    by_broker: dict[int, dict[str, list[Row]]] = {}
    for (topic, _), lines in history.lines.items():
        for line in lines:
            if line["event_type"] == "metadata_cache_updated":
                by_broker.setdefault(line["node_id"], {}).setdefault(topic, []).append(line)
    for topics in by_broker.values():
        last = max(line["at"] for lines in topics.values() for line in lines)
        for lines in topics.values():
            yield Mutant(last, None, None, {(line["file_id"], line["line"]): None for line in lines})


def _born_twice(history: History) -> Iterator[Mutant]:
    """A new partition has one broker twice."""
    for states in history.states:
        first = states[0]
        if first["leader_epoch"] != 0 or first["partition_epoch"] != 0 or len(first["replicas"] or ()) < 2:
            continue
        ids = first["replicas"]
        spaced, dense = (separator.join(map(str, ids)) for separator in (", ", ","))
        twice, twice_dense = (separator.join([str(ids[0])] * len(ids)) for separator in (", ", ","))
        edits: dict[tuple[str, int], str | None] = {}
        for line in history.lines.get((first["topic"], first["partition"]), ()):
            text = line["message"].replace(f"replicas=[{spaced}]", f"replicas=[{twice}]")
            text = re.sub(rf"(assigned replicas ){dense}\b", rf"\g<1>{twice_dense}", text)
            if text != line["message"] and line["leader_epoch"] in (0, None):
                edits[line["file_id"], line["line"]] = text
        if edits:
            yield Mutant(first["since"], first["topic"], first["partition"], edits)


def _never_restored(history: History) -> Iterator[Mutant]:
    """A partition has no leader any more, though a member of its ISR comes back: all later lines go."""
    for states in history.states:
        begun: int | None = None
        for state, after in pairwise(states):
            begun = None if state["leader"] != NO_LEADER else begun or state["since"]
            if begun is None or after["leader"] < 0:
                continue
            back = [
                since
                for b in set(state["isr"] or ()) & set(state["replicas"] or ())
                for since, until in history.returns.get(b, ())
                if since > state["since"] and (until is None or until > since + 40_000_000)
            ]
            if not back or history.end < back[0] + 40_000_000:
                continue
            edits: dict[tuple[str, int], str | None] = {
                (line["file_id"], line["line"]): None
                for line in history.lines.get((state["topic"], state["partition"]), ())
                if (line["leader_epoch"] or 0) > state["leader_epoch"] or line["at"] > after["since"] - 500_000
            }
            yield Mutant(begun, state["topic"], state["partition"], edits)


def _of_lines(kind: LineKind) -> Callable[[History], Iterator[Mutant]]:
    """Mutants of a kind of `tests.line_mutants`, as edits of lines."""

    def mutants(history: History) -> Iterator[Mutant]:
        for (topic, partition), lines in history.lines.items():
            records: list[Row] = [{**line, "registered_at": line["life"]} for line in lines if line["is_request"]]
            places = {(r["file_id"], r["line"]): r for r in records}
            for spoiled in kind.edits(records):
                mutant = _difference(topic, partition, places, spoiled)
                if mutant is not None:
                    yield mutant

    return mutants


def _difference(
    topic: str, partition: int, places: Mapping[tuple[str, int], Any], spoiled: Sequence[Row]
) -> Mutant | None:
    """Edits that make spoiled records of some; None if a line only moves to another time."""
    edits: dict[tuple[str, int], str | None] = {}
    after: dict[tuple[str, int], list[str]] = {}
    seen: set[tuple[str, int]] = set()
    last: tuple[str, int] | None = None
    for record in spoiled:
        place = (record["file_id"], record["line"])
        is_copy = place in seen
        if is_copy and last is not None:
            after.setdefault(last, []).append(record["message"])
            continue
        if record["at"] != places[place]["at"]:
            return None
        seen.add(place)
        last = place
        if record["message"] != places[place]["message"]:
            edits[place] = record["message"]
    edits |= dict.fromkeys(places.keys() - seen)
    times = [places[place]["at"] for place in (*edits, *after)]
    # whether requests are printed at all shows by those around
    return Mutant(min(times), topic, partition, edits, after, until=min(times) + AROUND_US) if times else None


LINES = (
    TextKind("log: another member of the ISR leads", ELECTIONS, _of_elections(_another_member)),
    TextKind("log: one outside the ISR leads", ("leader_in_isr",), _of_elections(_outside)),
    TextKind("log: one outside the ISR leads alone", ("clean_candidate_first", *ELECTIONS),
             _of_elections(_outside_alone)),
    TextKind("log: one leads that is not assigned", ("isr_within_replicas", *ELECTIONS), _of_elections(_unassigned)),
    TextKind("log: an election drops a member of the ISR", (*ELECTIONS, "epoch_refresh"),
             _of_elections(_member_dropped)),
    TextKind("log: an election adds a member to the ISR", (*ELECTIONS, "epoch_refresh"),
             _of_elections(_member_gained)),
    TextKind("log: a preferred election moves nothing", ELECTIONS, _of_elections(_old_leader, "preferred")),
    TextKind("log: an unclean leader is not alone", ("unclean_leader_alone", *ELECTIONS),
             _of_elections(_not_alone, "offline")),
    TextKind("log: one joins that is not assigned", ("isr_within_replicas", "isr_change"),
             _of_leaders(_joins_unassigned)),
    TextKind("log: the leader leaves its ISR", ("leader_in_isr", "isr_change"), _of_leaders(_leader_leaves)),
    TextKind("log: a request handled before it is received", ("message_order",), _handled_first),
    TextKind("log: a replica deleted before it is offline", ("message_order",), _deleted_first),
    TextKind("log: a state after the partition is gone", ("message_order",), _state_after_end),
    TextKind("log: a partition without a leader that does not count", ("offline_gauge_matches",), _not_counted),
    TextKind("log: an online partition becomes new", ("legal_transition",), _illegal, is_dated=False),
    TextKind("log: an online replica is deleted", ("legal_transition",), _illegal_replica, is_dated=False),
    TextKind("log: partitions' state machine first", ("failover_order",), _machines_swapped),
    TextKind("log: two controllers of one epoch", ("one_controller_per_epoch",), _one_epoch_twice),
    TextKind("log: a cache that never learns of a topic", ("metadata_learned",), _never_learned, is_dated=False),
    TextKind("log: a replica twice", ("assignment_at_creation", "added_partitions"), _born_twice),
    TextKind("log: no leader though one is back", ("leader_restored",), _never_restored),
    *(TextKind(f"log: {kind.name}", (kind.rule,), _of_lines(kind)) for kind in REQUESTS),
)  # fmt: skip
