"""Rows of the tables that hold at one moment, put together: topics with their partitions, brokers, the controller.

Times are datetimes without a zone, in UTC; rows are dicts by column name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
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
from udfs.describe.kafka_topics import Alive, DescribedPartition, DescribedTopic, Tool, with_gaps_filled
from udfs.kafka.elections import MOST_ELECTION_S
from udfs.kafka.releases import TRUNK, Release

Row = Mapping[str, Any]

SAME_NAME = ("compression.type", "min.insync.replicas", "unclean.leader.election.enable")
"""Settings that a topic and the brokers' default have under one name."""


@dataclass(frozen=True)
class Snapshot:
    """A cluster at one moment, as far as its logs show."""

    cluster: str
    asked: datetime
    first: datetime
    last: datetime
    """First and last record of the logs."""
    state: ClusterState
    notes: tuple[str, ...] = ()
    """What is missing in the logs around that moment, a sentence each."""
    shows_elr: bool = False
    """Whether any state of the cluster, at any time, has eligible leader replicas."""

    @property
    def at(self) -> datetime:
        """The moment that is shown: the one that was asked for, or the last record."""
        return min(self.asked, self.last)

    @property
    def is_before(self) -> bool:
        """Whether the moment is before the first record, so that nothing is known."""
        return self.asked < self.first


def iso(at: datetime | None) -> str | None:
    """ISO 8601 with milliseconds, UTC, as exports write it.

    >>> iso(datetime(2026, 11, 21, 2, 14))
    '2026-11-21T02:14:00.000Z'
    """
    return None if at is None else f"{at.isoformat(timespec='milliseconds')}Z"


def tool_of(by_messages: tuple[str, bool] | None, versions: Iterable[str]) -> Tool:
    """The kafka-topics of the newest release that a node had logged by then, else of the lowest that messages allow.

    `by_messages`: that release, and whether the cluster ran KRaft; None: unknown, then it is the newest one.

    >>> str(tool_of(("2.4", False), ["2.3.1", "2.8.2", "unknown"]).release)
    '2.8.2'
    """
    named = [Release.parse(v) for v in versions if re.match(r"\d+(\.\d+)+", v)]
    release = max(named) if named else Release.parse(by_messages[0]) if by_messages else TRUNK
    return Tool(release, by_messages[1] if by_messages else release >= Release(4))


# ---- topics ---------------------------------------------------------------------------------------------------------
def topics_of(
    tool: Tool,
    incarnations: Iterable[Row],
    partitions: Iterable[Row],
    reassignments: Iterable[Row],
    assignments: Iterable[Row],
    configs: Sequence[Row],
    paths: Mapping[str, str],
    default_min_isr: Callable[[str], int | None],
    at: datetime,
) -> list[DescribedTopic]:
    """Topics by name, from rows of TOPIC_TIMELINE and PARTITION_TIMELINE that hold at a moment.

    `reassignments`: rows of REASSIGNMENTS, of each partition at least the last before and the first after.
    `assignments`: the last one of each partition that a ZooKeeper controller wrote (topic, partition, replicas, at).
    `configs`: the last value of each setting in order of time (topic, name, value, at; topic null: the default of all
    brokers; name null: all of them). `paths`: by file id. `default_min_isr`: a topic's `min.insync.replicas` where no
    line has it.
    """
    current: dict[str, Row] = {}
    for incarnation in sorted(incarnations, key=lambda row: row["incarnation"]):
        if incarnation["topic"] != METADATA_LOG:
            current[incarnation["topic"]] = incarnation
    reassignments_of: dict[tuple[str, int, int], list[Row]] = {}
    for row in reassignments:
        reassignments_of.setdefault((row["topic"], row["partition"], row["incarnation"]), []).append(row)
    last_writes = {(row["topic"], row["partition"]): row for row in assignments}
    partitions_of: dict[str, list[DescribedPartition]] = {name: [] for name in current}
    for row in partitions:
        if row["topic"] in current and current[row["topic"]]["incarnation"] == row["incarnation"]:
            around = reassignments_of.get((row["topic"], row["partition"], row["incarnation"]), [])
            write = last_writes.get((row["topic"], row["partition"]))
            if write is not None and write["at"] < current[row["topic"]]["since"]:
                write = None  # of an incarnation before
            partitions_of[row["topic"]].append(partition_of(tool, row, around, write, paths, at))
    shared = [row for row in configs if row["topic"] is None]
    own: dict[str, list[Row]] = {}
    for row in configs:
        if row["topic"] in current and row["at"] >= current[row["topic"]]["since"]:
            own.setdefault(row["topic"], []).append(row)
    topics = []
    for name, incarnation in sorted(current.items()):
        topic_configs = configs_of(shared, own.get(name, []))
        min_isr = (topic_configs or {}).get("min.insync.replicas", "")
        topic = DescribedTopic(
            name,
            tuple(partitions_of[name]),
            topic_id=incarnation["topic_id"],
            since=iso(incarnation["since"]),
            configs=topic_configs,
            min_insync_replicas=int(min_isr) if min_isr.isdecimal() else default_min_isr(name),
            deleting=incarnation["deletion_started"] is not None and incarnation["deletion_started"] <= at,
        )
        topics.append(with_gaps_filled(topic))
    return topics


def partition_of(
    tool: Tool, row: Row, reassignments: Sequence[Row], last_write: Row | None, paths: Mapping[str, str], at: datetime
) -> DescribedPartition:
    """A partition, from its row of PARTITION_TIMELINE at a moment and its rows of REASSIGNMENTS around it.

    ZooKeeper stores the assignment apart from the state, and it changes between two states: an assignment written after
    the state (`last_write`) counts before the one that came with the state.
    """

    def ids(values: Sequence[int] | None) -> tuple[int, ...] | None:
        return None if values is None else tuple(values)

    started = [move for move in reassignments if move["since"] <= at]
    last = max(started, key=lambda move: move["since"], default=None)
    ongoing = last if last is not None and (last["until"] is None or last["until"] > at) else None
    replicas = row["replicas"]
    if last_write is not None and (replicas is None or last_write["at"] >= row["since"]):
        replicas = last_write["replicas"]
    elif replicas is None and ongoing is None and not tool.kraft:
        replicas = _assignment_between(last, reassignments, at)
    return DescribedPartition(
        row["partition"],
        leader=row["leader"],
        isr=ids(row["isr"]),
        replicas=ids(replicas),
        elr=ids(row["elr"]),
        last_known_elr=ids(row["last_known_elr"]),
        adding=tuple(ongoing["adding_replicas"] or ()) if ongoing else (),
        removing=tuple(ongoing["removing_replicas"] or ()) if ongoing else (),
        reassigning=ongoing is not None,
        leader_epoch=row["leader_epoch"],
        partition_epoch=row["partition_epoch"],
        since=iso(row["since"]),
        inferred=bool(row["inferred"]),
        evidence=tuple(f"{paths.get(e['file_id'], '?')}:{e['line']}" for e in row["evidence"] or ()),
    )


def _assignment_between(last: Row | None, reassignments: Iterable[Row], at: datetime) -> Any:
    """The assignment between reassignments: what the last one led to, else what the next one began with; None unknown.

    With ZooKeeper nothing else changes it, and the controller logs each; KRaft does not log those that only remove.
    """
    if last is not None:
        return last["target_replicas"] if last["state"] == "completed" else last["original_replicas"]
    following = min((m for m in reassignments if m["since"] > at), key=lambda move: move["since"], default=None)
    return following["original_replicas"] if following is not None else None


def configs_of(shared: Iterable[Row], own: Iterable[Row]) -> dict[str, str] | None:
    """A topic's settings: the brokers' defaults under its own, each in order of time; None if no line has any.

    >>> configs_of([], [{"name": None, "value": "Map(a -> 1, b -> 2)"}, {"name": "a", "value": "3"}])
    {'a': '3', 'b': '2'}
    """
    defaults, overrides = _last_settings(shared), _last_settings(own)
    inherited = {name: value for name, value in (defaults or {}).items() if name in SAME_NAME}
    return {**inherited, **(overrides or {})} if inherited or overrides is not None else None


def _last_settings(rows: Iterable[Row]) -> dict[str, str] | None:
    """What settings were after some changes; one without a name has all that there are. None if no change has any."""
    settings: dict[str, str] | None = None
    for row in rows:
        if row["value"] is None:
            continue
        if row["name"] is None:
            settings = dict(re.findall(r"([\w.]+) -> ([^,)]*)", row["value"]))
            continue
        settings = settings or {}
        if row["value"].strip() == "null":
            settings.pop(row["name"], None)
        else:
            settings[row["name"]] = row["value"].strip()
    return settings


def without_fenced_leaders(tool: Tool, topics: Iterable[DescribedTopic], alive: Alive) -> list[DescribedTopic]:
    """The same without leaders that KRaft had fenced: the commit that fences a broker takes its leaderships away.

    The line about the partition may come later. Nobody leads if all replicas are fenced; the ISR then is unknown, as an
    ISR of one stays but is empty with eligible leader replicas. Else another may lead: leader, ISR and assignment are
    unknown.
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
        last_known_elr=None,
        replicas=p.replicas if all_gone else None, inferred=True
    )  # fmt: skip


def without_replaced_leaders(
    topics: Iterable[DescribedTopic], members: Iterable[BrokerStatus], registrations: Iterable[Row], at: datetime
) -> list[DescribedTopic]:
    """Topics of a ZooKeeper cluster without leaders that had gone MOST_ELECTION_S before, while another replica in sync
    was there all that time: some other one leads, or the ISR was another, and no line shows that state."""
    electable = {member.broker for member in members if member.state == "alive"}
    gone, there, elected_by = set(), set(), at - timedelta(seconds=MOST_ELECTION_S)
    for row in registrations:
        if row["until"] is not None and row["until"] <= elected_by:
            gone.add(row["broker"])
        elif row["broker"] in electable and row["since"] <= elected_by:
            there.add(row["broker"])

    def as_known(p: DescribedPartition) -> DescribedPartition:
        if p.leader not in gone or not there.intersection(p.isr or ()):
            return p
        return replace(p, leader=None, leader_epoch=None, partition_epoch=None, isr=None, inferred=True)

    return [replace(topic, partitions=tuple(map(as_known, topic.partitions))) for topic in topics]


# ---- brokers and the controller -------------------------------------------------------------------------------------
def controller_term_of(row: Row | None, at: datetime) -> ControllerTerm:
    """The controller, from the last row of CONTROLLER_TIMELINE that had begun."""
    if row is None:
        return ControllerTerm()
    if row["until"] is not None and row["until"] <= at:
        return ControllerTerm(is_known=True)
    return ControllerTerm(
        row["controller_id"], row["controller_epoch"], iso(row["since"]), iso(row["active_since"]), True
    )


def cluster_state_of(
    tool: Tool,
    term: Row | None,
    registrations: Iterable[Row],
    topics: Sequence[DescribedTopic],
    context_lines: Sequence[Row],
    at: datetime,
) -> ClusterState:
    """What a controller's context is made of.

    `term`, `registrations`: the last row of CONTROLLER_TIMELINE, and of BROKER_TIMELINE for each broker, that had
    begun. `context_lines`: the last lines on what the controller held (kind, topic, partition, broker, value, at), as
    `jobs.describe.describe.to_context_lines` gives them.
    """
    controller = controller_term_of(term, at)
    began = term["since"] if term is not None and controller.controller_id is not None else None
    by_broker = {row["broker"]: row for row in registrations}
    leaving = {r["broker"]: r["at"] for r in context_lines if r["kind"] == "leaving"}
    epochs = _epochs(context_lines, began)
    members = [
        broker_of(row, leaving.get(broker), epochs.get(broker), None if tool.kraft else began, at)
        for broker, row in by_broker.items()
    ]
    assigned = {replica for topic in topics for p in topic.partitions for replica in p.replicas or ()}
    members += [BrokerStatus(broker, "unknown") for broker in assigned - set(by_broker)]
    alive = alive_of(members)
    topics = without_fenced_leaders(tool, topics, alive)
    if not tool.kraft:
        topics = without_replaced_leaders(topics, members, by_broker.values(), at)
    dirs: dict[int, set[PartitionId]] = {}
    states: dict[PartitionId | ReplicaId, str] = {}
    for r in context_lines:
        broker = r["broker"]
        if r["kind"] == "offline_dir" and alive.get(broker) and r["at"] >= by_broker[broker]["since"]:
            dirs.setdefault(broker, set()).add((r["topic"], r["partition"]))
        elif r["kind"] == "state":
            place = (r["topic"], r["partition"])
            states[place if broker is None else (*place, broker)] = r["value"]
    return ClusterState(
        tool,
        controller,
        topics,
        sorted(members, key=lambda b: b.broker),
        offline_dirs={broker: frozenset(ids) for broker, ids in dirs.items()},
        logged_states=states,
        deletion_requested=_deletions_requested(topics, context_lines),
        gone_before=frozenset(
            broker for broker, row in by_broker.items() if began and row["until"] and row["until"] <= began
        ),
        registrations={r["broker"]: r["value"] == "registered" for r in context_lines if r["kind"] == "registration"},
    )


def broker_of(
    row: Row, leaving: datetime | None, epoch: int | None, began: datetime | None, at: datetime
) -> BrokerStatus:
    """A broker by its last registration. A new ZooKeeper controller does not know which shutdowns the last one granted.

    `leaving`: when its last controlled shutdown began; `epoch`: as the controller printed it; `began`: when the
    controller term did.
    """
    if row["until"] is not None and row["until"] <= at:
        return BrokerStatus(row["broker"], "gone", None, iso(row["until"]))
    is_leaving = leaving is not None and leaving >= row["since"] and (began is None or leaving >= began)
    broker_epoch = row["epoch"] if row["epoch"] is not None else epoch
    return BrokerStatus(row["broker"], "shutting_down" if is_leaving else "alive", broker_epoch, iso(row["since"]))


def _epochs(context_lines: Iterable[Row], began: datetime | None) -> dict[int, int]:
    """Broker epochs as a ZooKeeper controller printed them last in its term, which began then."""
    of_term = [r for r in context_lines if r["kind"] == "epochs" and began is not None and r["at"] >= began]
    printed = [(r["at"], r["value"]) for r in of_term]
    last = max(printed)[1] if printed else ""
    return {int(broker): int(epoch) for broker, epoch in re.findall(r"(\d+) -> (\d+)", last)}


def _deletions_requested(topics: Iterable[DescribedTopic], context_lines: Iterable[Row]) -> frozenset[str]:
    """Topics whose deletion was asked for since they exist."""
    requests = [
        (name, iso(r["at"]) or "")
        for r in context_lines
        if r["kind"] == "deleting"
        for name in re.findall(r"[\w.-]+", r["value"] or "")
    ]
    since = {topic.name: topic.since or "" for topic in topics}
    return frozenset(name for name, at in requests if name in since and at >= since[name])
