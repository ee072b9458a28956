"""Rows of the tables that hold at one moment, put together: topics with their partitions, brokers, the controller.

Times are datetimes without a zone, in UTC; rows are dicts by column name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from schemas.kafka_values import METADATA_LOG, NO_LEADER
from udfs.describe.controller_context import (
    BrokerStatus,
    ClusterState,
    ControllerTerm,
    PartitionId,
    ReplicaId,
    alive_of,
)
from udfs.describe.kafka_topics import Alive, DescribedPartition, DescribedTopic, Tool, whole
from udfs.kafka.releases import TRUNK, Release

Row = Mapping[str, Any]

SAME_NAME = ("compression.type", "min.insync.replicas", "unclean.leader.election.enable")
"""Settings that have one name as a topic's and as all brokers' default."""


@dataclass(frozen=True)
class Snapshot:
    """A cluster at one moment, as far as its logs tell."""

    cluster: str
    asked: datetime
    first: datetime
    last: datetime
    """First and last record of the logs."""
    evidence: ClusterState
    notes: tuple[str, ...] = ()
    """What the reader has to know of the logs, a sentence each."""

    @property
    def at(self) -> datetime:
        """The moment that is shown: the one that was asked for, or the last record."""
        return min(self.asked, self.last)

    @property
    def is_before(self) -> bool:
        """Whether the logs had not begun, so that nothing is known."""
        return self.asked < self.first


def iso(at: datetime | None) -> str | None:
    """ISO 8601 with milliseconds, UTC, as exports write it.

    >>> iso(datetime(2026, 11, 21, 2, 14))
    '2026-11-21T02:14:00.000Z'
    """
    return None if at is None else f"{at.isoformat(timespec='milliseconds')}Z"


def tool_of(by_messages: tuple[str, bool] | None, versions: Iterable[str]) -> Tool:
    """The kafka-topics that fits: of the newest release that any node had named by then, else of the one that messages tell.

    `by_messages`: that release, and whether the cluster ran KRaft; where nothing tells, the newest stands.

    >>> str(tool_of(("2.4", False), ["2.3.1", "2.8.2", "unknown"]).release)
    '2.8.2'
    """
    named = [Release.parse(v) for v in versions if re.match(r"\d+(\.\d+)+", v)]
    release = max(named) if named else Release.parse(by_messages[0]) if by_messages else TRUNK
    return Tool(release, by_messages[1] if by_messages else release >= Release(4))


# ---- topics ---------------------------------------------------------------------------------------------------------
def topics_of(
    tool: Tool,
    lives: Iterable[Row],
    partitions: Iterable[Row],
    moves: Iterable[Row],
    assigned: Iterable[Row],
    configs: Sequence[Row],
    paths: Mapping[str, str],
    default_least: Callable[[str], int | None],
    at: datetime,
) -> list[DescribedTopic]:
    """Topics by name, from rows of TOPIC_TIMELINE and PARTITION_TIMELINE that hold at a moment.

    `moves`: rows of REASSIGNMENTS, of each partition at least the last before and the first after. `assigned`: the assignment
    that a ZooKeeper controller last wrote of each partition (topic, partition, replicas, at). `configs`: what was last said
    of each setting (topic, name, value, at; topic null: all brokers' default; name null: all of a topic's overrides).
    `paths`: by file id. `default_least`: a topic's `min.insync.replicas` where no line tells it.
    """
    current: dict[str, Row] = {}
    for life in sorted(lives, key=lambda row: row["incarnation"]):
        if life["topic"] != METADATA_LOG:
            current[life["topic"]] = life
    moved: dict[tuple[str, int, int], list[Row]] = {}
    for row in moves:
        moved.setdefault((row["topic"], row["partition"], row["incarnation"]), []).append(row)
    written = {(row["topic"], row["partition"]): row for row in assigned}
    known: dict[str, list[DescribedPartition]] = {name: [] for name in current}
    for row in partitions:
        if row["topic"] in current and current[row["topic"]]["incarnation"] == row["incarnation"]:
            own_moves = moved.get((row["topic"], row["partition"], row["incarnation"]), [])
            write = written.get((row["topic"], row["partition"]))
            is_of_before = write is not None and write["at"] < current[row["topic"]]["since"]
            known[row["topic"]].append(partition_of(tool, row, own_moves, None if is_of_before else write, paths, at))
    shared = [row for row in configs if row["topic"] is None]
    own: dict[str, list[Row]] = {}
    for row in configs:
        if row["topic"] in current and row["at"] >= current[row["topic"]]["since"]:
            own.setdefault(row["topic"], []).append(row)
    found = []
    for name, life in sorted(current.items()):
        told = configs_of(shared, own.get(name, []))
        logged = (told or {}).get("min.insync.replicas", "")
        topic = DescribedTopic(
            name,
            tuple(known[name]),
            topic_id=life["topic_id"],
            since=iso(life["since"]),
            configs=told,
            min_insync_replicas=int(logged) if logged.isdecimal() else default_least(name),
            deleting=life["deletion_started"] is not None and life["deletion_started"] <= at,
        )
        found.append(whole(topic))
    return found


def partition_of(
    tool: Tool, row: Row, moves: Sequence[Row], written: Row | None, paths: Mapping[str, str], at: datetime
) -> DescribedPartition:
    """A partition, from its row of PARTITION_TIMELINE at a moment, its rows of REASSIGNMENTS around it, and the last assignment written.

    ZooKeeper stores the assignment apart from the state, and it changes between two states: what was written after the
    state counts before what was said of the state.
    """

    def ids(values: Sequence[int] | None) -> tuple[int, ...] | None:
        return None if values is None else tuple(values)

    begun = [move for move in moves if move["since"] <= at]
    last = max(begun, key=lambda move: move["since"], default=None)
    now = last if last is not None and (last["until"] is None or last["until"] > at) else None
    replicas = row["replicas"]
    if written is not None and (replicas is None or written["at"] >= row["since"]):
        replicas = written["replicas"]
    elif replicas is None and now is None and not tool.kraft:
        replicas = _assignment_between(last, moves, at)
    return DescribedPartition(
        row["partition"],
        leader=row["leader"],
        isr=ids(row["isr"]),
        replicas=ids(replicas),
        elr=ids(row["elr"]),
        adding=tuple(now["adding_replicas"] or ()) if now else (),
        removing=tuple(now["removing_replicas"] or ()) if now else (),
        reassigning=now is not None,
        leader_epoch=row["leader_epoch"],
        partition_epoch=row["partition_epoch"],
        since=iso(row["since"]),
        inferred=bool(row["inferred"]),
        evidence=tuple(f"{paths.get(e['file_id'], '?')}:{e['line']}" for e in row["evidence"] or ()),
    )


def _assignment_between(last: Row | None, moves: Iterable[Row], at: datetime) -> Any:
    """The assignment while nothing moves: what the last reassignment led to, else what the next one began with; None unknown.

    With ZooKeeper nothing else changes it, and the controller logs each (KRaft is silent about those that only remove).
    """
    if last is not None:
        return last["target_replicas"] if last["state"] == "completed" else last["original_replicas"]
    following = min((m for m in moves if m["since"] > at), key=lambda move: move["since"], default=None)
    return following["original_replicas"] if following is not None else None


def configs_of(shared: Iterable[Row], own: Iterable[Row]) -> dict[str, str] | None:
    """A topic's settings: the brokers' defaults under its own; None if no line tells any.

    >>> configs_of([], [{"name": None, "value": "Map(a -> 1, b -> 2)"}])
    {'a': '1', 'b': '2'}
    """
    found: dict[str, str] = {}
    is_told = False
    for row in [*(row for row in shared if row["name"] in SAME_NAME), *own]:
        if row["value"] is None:
            continue
        is_told = True
        if row["name"] is None:
            found.update(re.findall(r"([\w.]+) -> ([^,)]*)", row["value"]))
        elif row["value"].strip() == "null":
            found.pop(row["name"], None)
        else:
            found[row["name"]] = row["value"].strip()
    return found if is_told else None


def without_fenced_leaders(tool: Tool, topics: Iterable[DescribedTopic], alive: Alive) -> list[DescribedTopic]:
    """The same without leaders that KRaft had fenced: it takes the office with the same commit, though a line may be late.

    Nobody leads if all replicas are fenced (an ISR of one stays, or is empty with eligible leader replicas: unknown); else
    another may, in a state that no line tells: leader, ISR and assignment are unknown.
    """
    if not tool.kraft:
        return list(topics)
    return [replace(topic, partitions=tuple(_unfenced(p, alive) for p in topic.partitions)) for topic in topics]


def _unfenced(p: DescribedPartition, alive: Alive) -> DescribedPartition:
    if p.leader is None or p.leader == NO_LEADER or alive.get(p.leader, True):
        return p
    all_gone = p.replicas is not None and all(alive.get(replica) is False for replica in p.replicas)
    return replace(
        p, leader=NO_LEADER if all_gone else None, leader_epoch=None, partition_epoch=None, isr=None, elr=None,
        replicas=p.replicas if all_gone else None, inferred=True
    )  # fmt: skip


# ---- brokers and the controller -------------------------------------------------------------------------------------
def reign_of(row: Row | None, at: datetime) -> ControllerTerm:
    """The controller, from the last row of CONTROLLER_TIMELINE that had begun."""
    if row is None:
        return ControllerTerm()
    if row["until"] is not None and row["until"] <= at:
        return ControllerTerm(is_known=True)
    return ControllerTerm(
        row["controller_id"], row["controller_epoch"], iso(row["since"]), iso(row["active_since"]), True
    )


def evidence_of(
    tool: Tool,
    reign: Row | None,
    spans: Iterable[Row],
    topics: Sequence[DescribedTopic],
    said: Sequence[Row],
    at: datetime,
) -> ClusterState:
    """What a controller's context is made of.

    `reign`, `spans`: the last row of CONTROLLER_TIMELINE, and of BROKER_TIMELINE for each broker, that had begun. `said`: the
    last lines that tell what the controller held (kind, topic, partition, broker, value, at; see jobs.describe.describe).
    """
    now = reign_of(reign, at)
    began = reign["since"] if reign is not None and now.controller_id is not None else None
    by_broker = {span["broker"]: span for span in spans}
    leaving = {r["broker"]: r["at"] for r in said if r["kind"] == "leaving"}
    epochs = _epochs(said, began)
    members = [
        broker_of(span, leaving.get(broker), epochs.get(broker), None if tool.kraft else began, at)
        for broker, span in by_broker.items()
    ]
    assigned = {replica for topic in topics for p in topic.partitions for replica in p.replicas or ()}
    members += [BrokerStatus(broker, "unknown") for broker in assigned - set(by_broker)]
    there = alive_of(members)
    topics = without_fenced_leaders(tool, topics, there)
    dirs: dict[int, set[PartitionId]] = {}
    states: dict[PartitionId | ReplicaId, str] = {}
    for r in said:
        broker = r["broker"]
        if r["kind"] == "offline_dir" and there.get(broker) and r["at"] >= by_broker[broker]["since"]:
            dirs.setdefault(broker, set()).add((r["topic"], r["partition"]))
        elif r["kind"] == "state":
            place = (r["topic"], r["partition"])
            states[place if broker is None else (*place, broker)] = r["value"]
    return ClusterState(
        tool,
        now,
        topics,
        sorted(members, key=lambda b: b.broker),
        offline_dirs={broker: frozenset(ids) for broker, ids in dirs.items()},
        logged=states,
        deletion_requested=_asked_to_go(topics, said),
        gone_before=frozenset(n for n, span in by_broker.items() if began and span["until"] and span["until"] <= began),
    )


def broker_of(
    span: Row, leaving: datetime | None, epoch: int | None, reign: datetime | None, at: datetime
) -> BrokerStatus:
    """A broker by its last registration. A new ZooKeeper controller knows nothing of shutdowns asked of the one before it.

    `leaving`: when a controlled shutdown of it was last begun; `epoch`: as the controller printed it; `reign`: its begin.
    """
    if span["until"] is not None and span["until"] <= at:
        return BrokerStatus(span["broker"], "gone", None, iso(span["until"]))
    asked = leaving is not None and leaving >= span["since"] and (reign is None or leaving >= reign)
    known = span["epoch"] if span["epoch"] is not None else epoch
    return BrokerStatus(span["broker"], "shutting_down" if asked else "alive", known, iso(span["since"]))


def _epochs(said: Iterable[Row], began: datetime | None) -> dict[int, int]:
    """Broker epochs as a ZooKeeper controller printed them last; no other reign's."""
    printed = [(r["at"], r["value"]) for r in said if r["kind"] == "epochs" and began is not None and r["at"] >= began]
    last = max(printed)[1] if printed else ""
    return {int(broker): int(epoch) for broker, epoch in re.findall(r"(\d+) -> (\d+)", last)}


def _asked_to_go(topics: Iterable[DescribedTopic], said: Iterable[Row]) -> frozenset[str]:
    """Topics whose deletion was asked for since they are there."""
    asked = [
        (name, iso(r["at"]) or "")
        for r in said
        if r["kind"] == "deleting"
        for name in re.findall(r"[\w.-]+", r["value"] or "")
    ]
    since = {topic.name: topic.since or "" for topic in topics}
    return frozenset(name for name, at in asked if name in since and at >= since[name])
