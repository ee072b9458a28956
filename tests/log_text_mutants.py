"""Lines of controllers and brokers edited as text, as they print them from 0.10 to 4.0 (KRaft at INFO): see
`tests.text_mutants`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from schemas.kafka_values import NO_LEADER
from tests.line_mutants import REQUESTS, LineKind, row_of
from tests.text_mutants import ELECTIONS, NOBODY, History, Mutant, Row, TextKind
from udfs.kafka.gauge_verdicts import COUNTER
from udfs.kafka.message_verdicts import STOP_SENT
from udfs.kafka.request_verdicts import DECIDED, OBEYED, RECEIVED

_STATE = (
    r"leader=-?\d+, leaderEpoch={epoch}, isr=(\w*[(\[])?[\d, ]*?([)\]])?,"
    r"( leaderRecoveryState=\w+,)? (zkVersion|partitionEpoch)={version}\b"
)
"""A state as 0.9 to 3.9 print it with its version; 1.0 and 1.1 print a request's ISR without brackets."""
_WITH_BROKER_EPOCHS = (
    r"leader=-?\d+, leaderEpoch={epoch}, isrWithBrokerEpoch=List\((?:BrokerState\([^()]*\)(?:, )?)*\),"
    r"( leaderRecoveryState=\w+,) partitionEpoch={version}\b"
)
"""A state as ZooKeeper's controllers print it from 3.7 on."""
_REGISTRATION = (
    r"(PartitionRegistration\([^()]*\bisr=)\[[\d, ]*\]([^()]*\bleader=)-?\d+"
    r"([^()]*\bleaderEpoch={epoch}, partitionEpoch={version}\))"
)
"""A state as KRaft's controllers, and its brokers from 4.1 on, print it."""
_SHORTLY_US, _APART_US = 280_000_000, 20_000_000
"""Lines so long before and after show that a log was whole; those nearer may be of the same moment."""
_IN_BRACKETS = r"\([^()]*(?:\([^()]*\)[^()]*)*\)"
AROUND_US = 60_000_000
"""So long other lines around a request are left as they are."""
_LEADS = ("become_leader_started", "become_leader_finished", "become_leader_handling_completed",
          "leader_epoch_started", "partition_leader_epoch_started")  # fmt: skip
_FOLLOWS = ("become_follower_started", "partition_follower_epoch_started")


def _is_of_state(line: Row, state: Row) -> bool:
    pattern = _STATE.format(epoch=state["leader_epoch"], version=state["partition_epoch"])
    return re.search(pattern, line["message"]) is not None


def _rewritten(
    history: History, state: Row, leader: int, isr: Sequence[int], *, drop: Callable[[Row], bool] = lambda line: False
) -> Mutant | None:
    """All lines that print a state, with another leader and ISR; lines to `drop` go. None if none prints it."""
    edits: dict[tuple[str, int], str | None] = {}
    printing = {(line["file_id"], line["line"]) for line in state["evidence"]}
    for line in history.lines_of(state):
        place = (line["file_id"], line["line"])
        text = None if drop(line) else _with_state(line, state, leader, isr, prints=place in printing)
        if text != line["message"]:
            edits[place] = text
    if not any(edits.values()):
        return None
    return Mutant(state["since"], state["topic"], state["partition"], edits, until=state["until"])


def _with_state(line: Row, state: Row, leader: int, isr: Sequence[int], *, prints: bool = False) -> str:
    """A line's message, with another leader and ISR where it prints that state: in a request or a decision, as what
    the controller made of it, as what a leader has written or is about to write (`prints`: the line is known to be
    about that state), or as what it had before its next change."""
    epoch, version, dense = state["leader_epoch"], state["partition_epoch"], ",".join(map(str, isr))
    message = str(line["message"])

    def stated(match: re.Match[str]) -> str:
        opened, closed, recovery, name = match.groups(default="")
        members = (", " if opened else ",").join(map(str, isr))
        return f"leader={leader}, leaderEpoch={epoch}, isr={opened}{members}{closed},{recovery} {name}={version}"

    if "sentLeaderAndIsr=" not in message:  # what a leader asks for, with the version that it replaces
        message = re.sub(_STATE.format(epoch=epoch, version=version), stated, message)
        states = ", ".join(f"BrokerState(brokerId={b}, brokerEpoch=-1)" for b in isr)
        with_epochs = f"leader={leader}, leaderEpoch={epoch}, isrWithBrokerEpoch=List({states}),"
        message = re.sub(
            _WITH_BROKER_EPOCHS.format(epoch=epoch, version=version),
            rf"{with_epochs}\g<1> partitionEpoch={version}",
            message,
        )
    registered = rf"\g<1>[{', '.join(map(str, isr))}]\g<2>{leader}\g<3>"
    message = re.sub(_REGISTRATION.format(epoch=epoch, version=version), registered, message)
    message = _with_difference(message, state, leader, isr)
    shown = re.search(
        rf"\(Leader:-?\d+,ISR:([\d,]*)(,LeaderRecoveryState:\w+)?,LeaderEpoch:{epoch},(ZkVersion:{version},)?", message
    )
    is_then = state["since"] - 1_000_000 <= line["at"] <= (state["until"] or line["at"]) + 3_000_000
    if shown is not None and _are(shown[1], state["isr"]) and (shown[3] or is_then):
        rest = f"{shown[2] or ''},LeaderEpoch:{epoch},{shown[3] or ''}"
        message = message.replace(shown[0], f"(Leader:{leader},ISR:{dense}{rest}")
    stored = re.search(rf'"leader":-?\d+,("version":1,)?"leader_epoch":{epoch},"isr":\[([\d,]*)\]', message)
    if stored is not None and _are(stored[2], state["isr"]) and is_then:
        text = f'"leader":{leader},{stored[1] or ""}"leader_epoch":{epoch},"isr":[{dense}]'
        message = message.replace(stored[0], text)
    written = rf"(updated to \[?)[\d,]+(\]?(?: \([\w-]+\))? +and (?:zkV|v)ersion updated to \[?{version}(?!\d))"
    message = re.sub(written, rf"\g<1>{dense}\g<2>", message)
    if f"partitionEpoch={version}," in message and f"already the leader with leader epoch {epoch}" in message:
        message = re.sub(r"(ISR \[)[\d,]+\]", rf"\g<1>{dense}]", message)
    began = rf"(starts at leader epoch {epoch} from offset .* partition epoch {version}[, ].*)"
    message = re.sub(rf"{began}(ISR \[)[\d,]+\]", rf"\g<1>\g<2>{dense}]", message)
    started = re.search(
        rf"starts at leader epoch {epoch} from offset \d+ with high watermark \d+ ISR \[([\d,]*)\]", message
    )
    if (
        started is not None and _are(started[1], state["isr"]) and is_then
    ):  # 2.6 to 3.2, with the ISR that the leader was sent
        message = message.replace(f"ISR [{started[1]}]", f"ISR [{dense}]")
    message = re.sub(rf"{began}(Current leader is )-?\d+", rf"\g<1>\g<2>{leader}", message)
    change = re.search(r"\bPartitionChangeRecord\(.*?\bisr=\[([\d, ]*)\]", message)
    if prints and change is not None and _are(change[1], state["isr"]):
        message = message.replace(
            change[0], change[0].replace(f"isr=[{change[1]}]", f"isr=[{', '.join(map(str, isr))}]")
        )
    message = _with_words(line, message, state, leader)
    return _with_change(line, message, state, dense, prints=prints)


def _with_difference(message: str, state: Row, leader: int, isr: Sequence[int]) -> str:
    """A KRaft controller's message that prints what a change leads from and to, with a state in its place."""
    epochs = re.search(r"\bpartitionEpoch: (\d+) -> (\d+)", message)
    version, ids = state["partition_epoch"], f"[{', '.join(map(str, isr))}]"
    if epochs is not None and int(epochs[1]) == version:
        message = re.sub(r"\bisr: \[[\d, ]*\] ->", f"isr: {ids} ->", message)
        message = re.sub(r"\bleader: -?\d+ ->", f"leader: {leader} ->", message)
    elif epochs is not None and int(epochs[2]) == version:
        message = re.sub(r"(\bisr: \[[\d, ]*\] ->) \[[\d, ]*\]", rf"\g<1> {ids}", message)
        message = re.sub(r"(\bleader: -?\d+ ->) -?\d+", rf"\g<1> {leader}", message)
    return message


def _with_words(line: Row, message: str, state: Row, leader: int) -> str:
    """A controller's message that names the leader which it elected, to 1.0 without a leader epoch."""
    if abs(line["at"] - state["since"]) > 1_000_000 or line["leader_epoch"] is not None:
        return message
    words = r"(\belected leader |OnlinePartition with leader |New leader is )" + rf"{state['leader']}\b"
    return re.sub(words, rf"\g<1>{leader}", message)


def _with_change(line: Row, message: str, state: Row, dense: str, *, prints: bool) -> str:
    """A leader's message about a change of the ISR, to that of a state or from it."""
    change = re.search(r"(ISR (?:for partition \S+ )?from )([\d,]+)( to )([\d,]+)", message)
    if change is None or line["node_id"] != state["leader"]:
        return message
    is_near = state["made_by"] != "controller" and (prints or 0 <= state["since"] - line["at"] < 3_000_000)
    is_later = line["at"] > state["since"] and (state["until"] is None or line["at"] <= state["until"] + 3_000_000)
    old = dense if is_later and _are(change[2], state["isr"]) else change[2]
    new = dense if is_near and _are(change[4], state["isr"]) else change[4]
    return message.replace(change[0], f"{change[1]}{old}{change[3]}{new}")


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


def _contradicts(state: Row, leader: int) -> Callable[[Row], bool]:
    """Whether a line says that the leader of a state leads in its leader epoch, or that the one which is to lead
    instead follows."""
    if leader == state["leader"]:
        return lambda line: False
    return lambda line: (
        ((line["event_type"] in _LEADS and line["node_id"] == state["leader"])
         or (line["event_type"] in _FOLLOWS and line["node_id"] == leader))
        and line["leader_epoch"] in (state["leader_epoch"], None)
        and abs(line["at"] - state["since"]) < 3_000_000
    )  # fmt: skip


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
                if leader == state["leader"] and sorted(isr) == sorted(state["isr"]):
                    continue  # a preferred election of who leads already
                mutant = _rewritten(history, state, leader, isr, drop=_contradicts(state, leader))
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
    if _prints_assignment(history, state):
        yield NOBODY, [*state["isr"], NOBODY]


def _prints_assignment(history: History, state: Row) -> bool:
    """Whether lines print the assignment together with a state. One that is only known from before accuses nobody: an
    ISR with another broker may follow a reassignment of which no line is left."""
    printing = {(line["file_id"], line["line"]) for line in state["evidence"]}
    return any(
        (line["file_id"], line["line"]) in printing and re.search(r"replicas=\[?\d", line["message"])
        for line in history.lines_of(state)
    )


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


def _leader_left_out(history: History) -> Iterator[Mutant]:
    """The ISR that a leader begins with does not have it."""
    for _, state in _single(history):
        others = [b for b in state["isr"] if b != state["leader"]]
        mutant = _rewritten(history, state, state["leader"], others) if others else None
        if mutant is not None:
            yield mutant


def _unclean_not_alone(history: History) -> Iterator[Mutant]:
    """A KRaft controller's unclean change keeps a member of the ISR before."""
    for before, state in _single(history):
        if len(state["isr"]) != 1 or state["leader"] in before["isr"] or not before["isr"]:
            continue
        version = f"partitionEpoch: {before['partition_epoch']} -> {state['partition_epoch']}"
        lines = history.lines_of(state)
        if any("UNCLEAN partition change" in line["message"] and version in line["message"] for line in lines):
            mutant = _rewritten(history, state, state["leader"], [state["leader"], before["isr"][0]])
            if mutant is not None:
                yield mutant


# ---- what leaders change --------------------------------------------------------------------------------------------
def _of_leaders(edit: Callable[[History, Row, Row], list[int] | None]) -> Callable[[History], Iterator[Mutant]]:
    """Mutants of ISR changes by leaders, with the ISR of `edit`: in their own lines and all that print the state."""

    def mutants(history: History) -> Iterator[Mutant]:
        for before, state, _ in history.changes():
            if state["made_by"] != "leader" or state["leader"] < 0 or state["partition_epoch"] is None:
                continue
            isr = edit(history, before, state)
            mutant = None if isr is None else _rewritten(history, state, state["leader"], isr)
            if mutant is not None:
                yield mutant

    return mutants


def _joins_unassigned(history: History, before: Row, state: Row) -> list[int] | None:
    return [*state["isr"], NOBODY] if _prints_assignment(history, state) else None


def _leader_leaves(history: History, before: Row, state: Row) -> list[int] | None:
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
    """A partition without a leader was no offline one. Before 2.1 the metric does not count states: no fault there."""
    if history.release < COUNTER:
        return
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
    elected: dict[str, Row] = {}
    for line in history.others:
        if line["event_type"] == "controller_elected":
            elected[line["file_id"]] = line
        elif line["event_type"] == "controller_replica_state_machine_started":
            last[line["file_id"]] = line
        elif line["event_type"] == "controller_partition_state_machine_started":
            first, before = last.pop(line["file_id"], None), elected.get(line["file_id"])
            if first is not None:
                mutant = _swapped(first, line, first["at"], None, None)
                kept = {} if before is None else {(before["file_id"], before["line"]): before["message"]}
                yield Mutant(mutant.at, None, None, {**kept, **mutant.edits})


def _one_epoch_twice(history: History) -> Iterator[Mutant]:
    """A controller is elected with the epoch of the one before."""
    elections = [line for line in history.others if line["event_type"] == "controller_elected"]
    for before, line in pairwise(elections):
        epoch = before["controller_epoch"]
        text = re.sub(rf"incremented to {line['controller_epoch']}\b", f"incremented to {epoch}", line["message"])
        if text != line["message"] and before["node_id"] != line["node_id"]:
            # the line of the one before is taken, too: with another epoch it would be no second claim
            kept = {(before["file_id"], before["line"]): before["message"]}
            yield Mutant(before["at"], None, None, {**kept, (line["file_id"], line["line"]): text})


def _never_learned(history: History) -> Iterator[Mutant]:
    """A broker's metadata cache never learns of a topic, though it was there, and logged others shortly before and
    after, when the topic was created or it registered: by lines that begin later nobody can tell."""
    by_broker: dict[int, dict[str, list[Row]]] = {}
    lives: dict[str, set[Any]] = {}
    for states in history.states:
        # a topic that is deleted, or created again, is not asked
        lives.setdefault(states[0]["topic"], set()).add((states[0]["incarnation"], states[-1]["until"]))
    for (topic, _), lines in history.lines.items():
        for line in lines:
            if line["event_type"] == "metadata_cache_updated":
                by_broker.setdefault(line["node_id"], {}).setdefault(topic, []).append(line)
    for broker, topics in by_broker.items():
        last = max(line["at"] for lines in topics.values() for line in lines)
        since = max((since for since, _ in history.stays.get(broker, ()) if since < last), default=last)
        for topic, own in topics.items():
            others = [lines[0]["at"] for b, of_b in by_broker.items() if b != broker for lines in [of_b.get(topic, ())]
                      if lines]  # fmt: skip
            due = max(min(others, default=last), since)
            logged = [line["at"] - due for t, lines in topics.items() if t != topic for line in lines]
            is_around = any(-_SHORTLY_US < d < -_APART_US for d in logged) and any(
                _APART_US < d < _SHORTLY_US for d in logged
            )
            if lives.get(topic) == {(0, None)} and is_around and last - due > 2 * _APART_US:
                yield Mutant(last, None, None, {(line["file_id"], line["line"]): None for line in own})


def _born_twice(history: History) -> Iterator[Mutant]:
    """A new partition has one broker twice."""
    for states in history.states:
        first = states[0]
        if first["leader_epoch"] != 0 or first["partition_epoch"] != 0 or len(first["replicas"] or ()) < 2:
            continue
        ids = first["replicas"]
        edits: dict[tuple[str, int], str | None] = {}
        for line in history.lines_of(first):
            text = line["message"]
            for separator in (", ", ","):
                one, other = separator.join(map(str, ids)), separator.join([str(ids[0])] * len(ids))
                text = re.sub(
                    rf"((?:replicas=|AllReplicas:|assigned replicas )\[?){one}(?![\d,]*\d)", rf"\g<1>{other}", text
                )
            if text != line["message"] and line["leader_epoch"] in (0, None):
                edits[line["file_id"], line["line"]] = text
        words = dict(_in_creation(history, first))
        if edits:
            yield Mutant(first["since"], first["topic"], first["partition"], edits, words=words)


def _in_creation(history: History, first: Row) -> Iterator[tuple[tuple[str, int], tuple[str, str]]]:
    """Lines that name all new partitions, with the words about one, and with its first replica in place of all."""
    ids, topic, partition = first["replicas"], first["topic"], first["partition"]
    name = rf"(?:{re.escape(topic)}-{partition}|\[{re.escape(topic)},{partition}\]) -> "
    for line in history.others:
        assigned = re.search(rf"{name}(?:ReplicaAssignment\(replicas=|\w+\()([\d, ]+)", line["message"])
        if line["event_type"] != "topics_changed" or assigned is None:
            continue
        if [int(b) for b in re.findall(r"\d+", assigned[1])] == [*ids]:
            dense = re.sub(r"\d+", str(ids[0]), assigned[1])
            yield (line["file_id"], line["line"]), (assigned[0], assigned[0].replace(assigned[1], dense))


def _never_restored(history: History) -> Iterator[Mutant]:
    """A partition has no leader any more, though a member of its ISR comes back: all later lines go, but those that
    print the state without a leader, and those by which controllers come; so do fetchers' words about it, which are of
    followers that know a leader. Topics that are deleted wait for nobody."""
    elections = {
        (line["file_id"], line["line"]): line["message"]
        for line in history.others
        if line["event_type"] == "controller_elected"
    }
    for states in history.states:
        begun: int | None = None
        for state, after in pairwise(states if states[-1]["until"] is None else ()):
            begun = None if state["leader"] != NO_LEADER else begun or state["since"]
            if begun is None or after["leader"] < 0:
                continue
            back = [
                since
                for b in set(state["isr"] or ()) & set(state["replicas"] or ())
                for since, until in history.returns.get(b, ())
                if since > state["since"] and (until is None or until > since + 70_000_000)
            ]
            if not back or history.end < back[0] + 70_000_000:
                continue
            edits: dict[tuple[str, int], str | None] = {
                (line["file_id"], line["line"]): None
                for line in history.lines.get((state["topic"], state["partition"]), ())
                if (line["leader_epoch"] or 0) > state["leader_epoch"]
                or (line["leader_epoch"] is None and line["at"] > after["since"] - 500_000)
                or line["at"] > after["since"] + 3_000_000
            }
            fetched = rf"\b{re.escape(state['topic'])}-{state['partition']} -> InitialFetchState" + _IN_BRACKETS
            words = {
                (line["file_id"], line["line"]): (piece[0], "")
                for line in history.others
                if line["event_type"] == "fetcher_added" and line["at"] > after["since"] - 500_000
                for piece in [re.search(fetched, line["message"])]
                if piece is not None
            }
            yield Mutant(begun, state["topic"], state["partition"], {**elections, **edits}, words=words)


def _of_lines(kind: LineKind) -> Callable[[History], Iterator[Mutant]]:
    """Mutants of a kind of `tests.line_mutants`, as edits of lines."""

    def mutants(history: History) -> Iterator[Mutant]:
        for (topic, partition), lines in history.of_incarnations():
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
    TextKind("log: an election drops a member of the ISR", ELECTIONS,
             _of_elections(_member_dropped)),
    TextKind("log: an election adds a member to the ISR", ELECTIONS,
             _of_elections(_member_gained)),
    TextKind("log: a preferred election moves nothing", ELECTIONS, _of_elections(_old_leader, "preferred")),
    TextKind("log: an unclean leader is not alone", ("unclean_leader_alone", *ELECTIONS),
             _of_elections(_not_alone, "offline")),
    TextKind("log: one joins that is not assigned", ("isr_within_replicas", "isr_change"),
             _of_leaders(_joins_unassigned)),
    TextKind("log: the leader leaves its ISR", ("leader_in_isr", "isr_change"), _of_leaders(_leader_leaves)),
    TextKind("log: a leader begins outside its ISR", ("leader_in_isr",), _leader_left_out),
    TextKind("log: an unclean change keeps a member of the ISR", ("unclean_leader_alone", "kraft_election"),
             _unclean_not_alone),
    TextKind("log: a request handled before it is received", ("message_order",), _handled_first),
    TextKind("log: a replica deleted before it is offline", ("message_order",), _deleted_first),
    TextKind("log: a state after the partition is gone", ("message_order",), _state_after_end),
    TextKind("log: a partition without a leader that does not count", ("offline_gauge_matches",), _not_counted),
    TextKind("log: an online partition becomes new", ("legal_transition",), _illegal, is_dated=False),
    TextKind("log: an online replica is deleted", ("legal_transition",), _illegal_replica, is_dated=False),
    TextKind("log: partitions' state machine first", ("failover_order",), _machines_swapped),
    TextKind("log: two controllers of one epoch", ("one_controller_per_epoch",), _one_epoch_twice),
    TextKind("log: a cache that never learns of a topic", ("metadata_learned",), _never_learned, is_dated=False),
    # the ISR has the brokers in whose place the first one stands
    TextKind("log: a replica twice", ("assignment_at_creation", "added_partitions", "isr_within_replicas"),
             _born_twice),
    TextKind("log: no leader though one is back", ("leader_restored",), _never_restored),
    *(TextKind(f"log: {kind.name}", (kind.rule,), _of_lines(kind)) for kind in REQUESTS),
)  # fmt: skip
