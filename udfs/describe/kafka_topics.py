"""What `kafka-topics --describe` printed, from release to release, of a cluster's state at one moment.

0.8.0 had `kafka-list-topic`, and from 0.8.1 on the tool read ZooKeeper itself; from 2.2 on it could ask a broker
instead, and `--zookeeper` was on its way out (gone in 3.0). So up to 2.1 it is described as ZooKeeper had it, and from
2.2 on as a broker had it. Where Kafka knew a value that is not in the logs, `unknown` stands, a word that Kafka never
printed here.

Two things are not Kafka's: topics are in the order of their names (from 2.2 on a hash table's order, before by name),
and an ISR is in the order of broker ids (Kafka keeps the order of joining, which no table has).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from schemas.kafka_values import NO_LEADER
from udfs.kafka.releases import Release

UNKNOWN = "unknown"

UNAVAILABLE, UNDER_REPLICATED = "unavailable-partitions", "under-replicated-partitions"
AT_MIN_ISR, UNDER_MIN_ISR = "at-min-isr-partitions", "under-min-isr-partitions"
FILTERS = (UNAVAILABLE, UNDER_REPLICATED, AT_MIN_ISR, UNDER_MIN_ISR)
"""kafka-topics' own options, of which it takes one at a time; the last two since 2.3."""

Alive = Mapping[int, bool]
"""Whether a broker was registered (KRaft: unfenced); brokers of which nothing is known are not in it."""


@dataclass(frozen=True)
class DescribedPartition:
    """One partition at a moment. None: not in the logs; leader -1: none."""

    partition: int
    leader: int | None = None
    isr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    """Assignment in its order, replicas that are being added or removed included."""
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    reassigning: bool = False
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    since: str | None = None
    """First proof of this state, ISO 8601."""
    inferred: bool = False
    evidence: tuple[str, ...] = ()
    """The lines that prove it, `path:line`."""


@dataclass(frozen=True)
class DescribedTopic:
    """One topic at a moment; its partitions are in order, from 0 and without a gap, as far as any is known."""

    name: str
    partitions: tuple[DescribedPartition, ...] = ()
    topic_id: str | None = None
    configs: Mapping[str, str] | None = None
    """Overrides in the logs; None if no line has any."""
    min_insync_replicas: int | None = None
    deleting: bool = False
    """Whether its deletion had begun."""
    since: str | None = None
    """First proof that it exists, ISO 8601."""


@dataclass(frozen=True)
class Tool:
    """kafka-topics of a release, pointed at a cluster that ran KRaft or not."""

    release: Release
    kraft: bool = False

    @property
    def asks_brokers(self) -> bool:
        """Whether it asks a broker, not ZooKeeper."""
        return self.kraft or self.release >= Release(2, 2)


def as_received(tool: Tool, p: DescribedPartition, alive: Alive) -> DescribedPartition:
    """A partition as the tool receives it.

    ZooKeeper has what is stored, be the leader -1 or dead. A broker of a ZooKeeper cluster names no leader that is not
    alive, and before 2.4 (KAFKA-8442) no ISR either where there is no leader.
    """
    if not tool.asks_brokers or tool.kraft or p.leader is None:
        return p
    if p.leader != NO_LEADER and alive.get(p.leader, True):
        return p
    return replace(p, leader=NO_LEADER, isr=() if tool.release < Release(2, 4) else p.isr)


def with_gaps_filled(topic: DescribedTopic) -> DescribedTopic:
    """A topic with a partition of which nothing is known in each gap of its numbers: partitions are numbered from 0 on.

    >>> topic = DescribedTopic("a", (DescribedPartition(2), DescribedPartition(1)))
    >>> [p.partition for p in with_gaps_filled(topic).partitions]
    [0, 1, 2]
    """
    by_number = {p.partition: p for p in topic.partitions}
    numbers = range(max(by_number, default=-1) + 1)
    return replace(topic, partitions=tuple(by_number.get(n, DescribedPartition(n)) for n in numbers))


# ---- which partitions -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Selection:
    """Topics with those partitions that a filter lets through; `undecided`: of how many the logs leave it open."""

    only: str | None
    topics: tuple[tuple[DescribedTopic, tuple[DescribedPartition, ...]], ...]
    undecided: int = 0


def select(tool: Tool, topics: Iterable[DescribedTopic], only: str | None, alive: Alive) -> Selection:
    """What one of FILTERS lets through, topics of which nothing is left out; None: everything. Topics by name."""
    in_order = sorted(topics, key=lambda topic: topic.name)
    if only is None:
        return Selection(None, tuple((topic, topic.partitions) for topic in in_order))
    selected, undecided = [], 0
    for topic in in_order:
        verdicts = [(p, passes(tool, topic, as_received(tool, p, alive), only, alive)) for p in topic.partitions]
        undecided += sum(verdict is None for _, verdict in verdicts)
        if partitions := tuple(p for p, verdict in verdicts if verdict):
            selected.append((topic, partitions))
    return Selection(only, tuple(selected), undecided)


def passes(tool: Tool, topic: DescribedTopic, p: DescribedPartition, only: str, alive: Alive) -> bool | None:
    """Whether a filter lets a partition, as received, through; None if the logs leave it open."""
    if only == UNAVAILABLE:
        return _is_unavailable(p, alive)
    if only == UNDER_REPLICATED:
        factor = replication_factor(tool, p)
        return None if factor is None or p.isr is None else len(p.isr) < factor
    least = topic.min_insync_replicas
    if only == AT_MIN_ISR:
        return None if least is None or p.isr is None else len(p.isr) == least
    if only == UNDER_MIN_ISR:
        if tool.release >= Release(2, 4) and p.leader == NO_LEADER:
            return True
        return None if least is None or p.isr is None else len(p.isr) < least
    raise ValueError(f"No such filter: {only!r}; expected one of {', '.join(FILTERS)}")


def _is_unavailable(p: DescribedPartition, alive: Alive) -> bool | None:
    """No leader, or one that is not alive."""
    if p.leader is None:
        return None
    if p.leader == NO_LEADER:
        return True
    return None if p.leader not in alive else not alive[p.leader]


def replication_factor(tool: Tool, p: DescribedPartition) -> int | None:
    """Replicas that a partition is to have; from 2.5 on without those that a reassignment adds (KAFKA-8834)."""
    if p.replicas is None:
        return None
    if tool.release >= Release(2, 5) and p.reassigning:
        return sum(replica not in p.adding for replica in p.replicas)
    return len(p.replicas)


# ---- how it is printed ----------------------------------------------------------------------------------------------
def lines(tool: Tool, selection: Selection, alive: Alive) -> list[str]:
    """What kafka-topics printed; with a filter it printed no lines about topics.

    A topic whose deletion had begun was no longer known to a broker, and so is left out from 2.2 on.
    """
    printed: list[str] = []
    filtered = selection.only is not None
    for topic, partitions in selection.topics:
        if topic.deleting and tool.asks_brokers:
            continue
        if not filtered and tool.release >= Release(0, 8, 1):
            printed.append(topic_line(tool, topic))
        printed += [partition_line(tool, topic, as_received(tool, p, alive), filtered=filtered) for p in partitions]
    return printed


def topic_line(tool: Tool, topic: DescribedTopic) -> str:
    """The line about a topic, 0.8.1 on: no blanks after colons through 2.3, a topic id from 2.8 on (KIP-516)."""
    factor = replication_factor(tool, topic.partitions[0]) if topic.partitions else None
    cells = [("Topic", topic.name)]
    if tool.release >= Release(2, 8):
        cells.append(("TopicId", topic.topic_id or UNKNOWN))
    cells += [
        ("PartitionCount", str(len(topic.partitions) or UNKNOWN)),
        ("ReplicationFactor", UNKNOWN if factor is None else str(factor)),
        ("Configs", _configs(topic.configs)),
    ]
    if _shows_deletion(tool, topic):
        cells.append(("MarkedForDeletion", "true"))
    blank = " " if tool.release >= Release(2, 4) else ""
    return "\t".join(f"{name}:{blank}{value}" for name, value in cells)


def partition_line(tool: Tool, topic: DescribedTopic, p: DescribedPartition, *, filtered: bool = False) -> str:
    """The line about a partition: reassignments from 2.6 on (KAFKA-9688), eligible leader replicas from 3.8 on."""
    cells = [
        ("Topic", topic.name),
        ("Partition", str(p.partition)),
        ("Leader", _leader(tool, p.leader)),
        ("Replicas", _ids(p.replicas)),
        ("Isr", _ids(p.isr)),
    ]
    if tool.release < Release(0, 8, 1):
        return "\t".join(f"{name.lower()}: {value}" for name, value in cells)
    if tool.release >= Release(2, 6) and p.reassigning:
        cells += [("Adding Replicas", _ids(p.adding)), ("Removing Replicas", _ids(p.removing))]
    if tool.release >= Release(3, 8):
        cells += [("Elr", _elr(tool, p)), ("LastKnownElr", _last_known_elr(tool, p))]
    if filtered and _shows_deletion(tool, topic):
        cells.append(("MarkedForDeletion", "true"))
    return "".join(f"\t{name}: {value}" for name, value in cells)


def _leader(tool: Tool, leader: int | None) -> str:
    """ZooKeeper stores -1 for none, and that is what was printed; a broker names none."""
    if leader is None:
        return UNKNOWN
    return "none" if tool.asks_brokers and leader == NO_LEADER else str(leader)


def _shows_deletion(tool: Tool, topic: DescribedTopic) -> bool:
    """0.11 on (KAFKA-4291), where the tool looks into ZooKeeper."""
    return topic.deleting and tool.release >= Release(0, 11) and not tool.asks_brokers


def _configs(configs: Mapping[str, str] | None) -> str:
    return UNKNOWN if configs is None else ",".join(f"{name}={value}" for name, value in sorted(configs.items()))


def _ids(ids: Sequence[int] | None) -> str:
    return UNKNOWN if ids is None else ",".join(map(str, ids))


def _elr(tool: Tool, p: DescribedPartition) -> str:
    """Brokers of a cluster with ZooKeeper do not know the request that asks for them."""
    return _ids(p.elr) if tool.kraft else "N/A"


def _last_known_elr(tool: Tool, p: DescribedPartition) -> str:
    """KRaft empties it when a partition has a leader again, and fills it when the last in sync is gone (KIP-966)."""
    if not tool.kraft:
        return "N/A"
    return "" if p.isr else UNKNOWN


# ---- as data --------------------------------------------------------------------------------------------------------
def as_data(tool: Tool, topic: DescribedTopic, partitions: Iterable[DescribedPartition]) -> dict[str, Any]:
    """A topic and some of its partitions as JSON shows them, as committed: null is unknown, leader -1 none."""
    return {
        "topic": topic.name,
        "topic_id": topic.topic_id,
        "partition_count": len(topic.partitions) or None,
        "replication_factor": replication_factor(tool, topic.partitions[0]) if topic.partitions else None,
        "configs": None if topic.configs is None else dict(sorted(topic.configs.items())),
        "min_insync_replicas": topic.min_insync_replicas,
        "marked_for_deletion": topic.deleting,
        "partitions": [_partition_as_data(p) for p in partitions],
    }


def _partition_as_data(p: DescribedPartition) -> dict[str, Any]:
    return {
        "partition": p.partition,
        "leader": p.leader,
        "leader_epoch": p.leader_epoch,
        "partition_epoch": p.partition_epoch,
        "isr": p.isr,
        "replicas": p.replicas,
        "elr": p.elr,
        "adding_replicas": p.adding,
        "removing_replicas": p.removing,
        "since": p.since,
        "inferred": p.inferred,
        "evidence": p.evidence,
    }
