"""What a controller held in memory at a moment: Kafka's `ControllerContext`, rebuilt.

With ZooKeeper the controller kept a state for each partition and each replica (`udfs.kafka.state_machines`). Their
transitions are logged at TRACE; where they are not, the states follow from who led, who was alive and what was being
moved. KRaft's controllers have no such states: there they are null, and an offline partition is one without a leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas.kafka_values import NO_LEADER
from udfs.describe.kafka_topics import UNKNOWN, Alive, DescribedPartition, DescribedTopic, Tool
from udfs.kafka.metrics import LedPartition, offline_partitions_count
from udfs.kafka.releases import Release
from udfs.kafka.state_machines import starting_replica_state

PartitionId = tuple[str, int]
"""Topic and number."""
ReplicaId = tuple[str, int, int]
"""Topic, number and broker."""


@dataclass(frozen=True)
class BrokerStatus:
    """A broker at a moment: `alive`, `shutting_down` (asked to, and still there), `gone` (KRaft: fenced), `unknown`."""

    broker: int
    state: str
    epoch: int | None = None
    since: str | None = None
    """Since when it is in this state, or of one that is shutting down, alive; ISO 8601."""


@dataclass(frozen=True)
class ControllerTerm:
    """The controller at a moment; no id: there was none, or it is unknown."""

    controller_id: int | None = None
    controller_epoch: int | None = None
    since: str | None = None
    active_since: str | None = None
    is_known: bool = False
    """Whether the logs show who it was, or that there was none."""


@dataclass(frozen=True)
class ClusterState:
    """What the context is rebuilt from, all of one moment."""

    tool: Tool
    term: ControllerTerm
    topics: Sequence[DescribedTopic]
    brokers: Sequence[BrokerStatus]
    offline_dirs: Mapping[int, frozenset[PartitionId]] = field(default_factory=dict)
    """Replicas that the controller marked offline for a failed log directory, by broker."""
    logged_states: Mapping[PartitionId | ReplicaId, str] = field(default_factory=dict)
    """The state that the last logged transition of this controller term led to."""
    deletion_requested: frozenset[str] = frozenset()
    """Topics whose deletion was asked for."""
    gone_before: frozenset[int] = frozenset()
    """Brokers that were gone when the controller term began, and still are."""
    registrations: Mapping[int, bool] = field(default_factory=dict)
    """KRaft: whether the last line about a broker's registration makes one (fenced or not), or ends it."""

    @property
    def alive(self) -> Alive:
        """Who was registered, shutting down or not."""
        return alive_of(self.brokers)

    @property
    def shutting_down(self) -> frozenset[int]:
        """Who was in controlled shutdown."""
        return frozenset(b.broker for b in self.brokers if b.state == "shutting_down")

    @property
    def logs_replica_transitions(self) -> bool:
        """Whether transitions of replicas are logged: at TRACE, as all others of partitions then are."""
        return any(len(name) == 3 for name in self.logged_states)


def alive_of(brokers: Iterable[BrokerStatus]) -> Alive:
    """Whether each broker was registered; unknown ones are left out."""
    return {b.broker: b.state != "gone" for b in brokers if b.state != "unknown"}


# ---- states ---------------------------------------------------------------------------------------------------------
def partition_state(cluster: ClusterState, topic: DescribedTopic, p: DescribedPartition) -> str | None:
    """The state of a partition with ZooKeeper; None if neither a transition nor the rest shows it."""
    logged_states = cluster.logged_states.get((topic.name, p.partition))
    implied = None if topic.deleting else implied_partition_state(cluster, topic, p)
    return (logged_states or implied) if cluster.logs_replica_transitions else (implied or logged_states)


def implied_partition_state(cluster: ClusterState, topic: DescribedTopic, p: DescribedPartition) -> str | None:
    """Online with a leader that is online, else Offline: through 2.2 a dead leader stays stored (KAFKA-3143)."""
    if p.leader is None or (p.leader != NO_LEADER and p.leader not in cluster.alive):
        return None
    is_online = p.leader != NO_LEADER and cluster.alive[p.leader] and not _on_offline_dir(cluster, topic, p, p.leader)
    return "OnlinePartition" if is_online else "OfflinePartition"


def replica_state(cluster: ClusterState, topic: DescribedTopic, p: DescribedPartition, broker: int) -> str | None:
    """The state of a replica with ZooKeeper; None if neither a transition nor the rest shows it."""
    logged_states = cluster.logged_states.get((topic.name, p.partition, broker))
    if logged_states is not None and cluster.logs_replica_transitions:
        return logged_states
    return None if topic.deleting else implied_replica_state(cluster, topic, p, broker)


def implied_replica_state(
    cluster: ClusterState, topic: DescribedTopic, p: DescribedPartition, broker: int
) -> str | None:
    """What follows from the broker; one that is being added is New until the reassignment is done.

    In a controlled shutdown the replicas that followed when it was asked for are Offline, those that led are Online
    and stay so when others lead (until it asks again): which it was is not in the state of the moment.
    """
    if broker not in cluster.alive:
        return None
    if not cluster.alive[broker]:
        at_start = starting_replica_state(cluster.tool.release, False)
        return at_start if broker in cluster.gone_before else "OfflineReplica"
    if _on_offline_dir(cluster, topic, p, broker):
        return "OfflineReplica"
    if broker in cluster.shutting_down and p.leader != broker and len(p.replicas or ()) > 1:
        return None
    return "NewReplica" if p.reassigning and broker in p.adding else "OnlineReplica"


def _on_offline_dir(cluster: ClusterState, topic: DescribedTopic, p: DescribedPartition, broker: int) -> bool:
    return (topic.name, p.partition) in cluster.offline_dirs.get(broker, frozenset())


def is_replica_online(cluster: ClusterState, topic: DescribedTopic, p: DescribedPartition, broker: int) -> bool | None:
    """`isReplicaOnline`: alive, not shutting down, and not on a failed log directory; None unknown."""
    if broker not in cluster.alive:
        return None
    return (
        cluster.alive[broker] and broker not in cluster.shutting_down and not _on_offline_dir(cluster, topic, p, broker)
    )


# ---- the whole ------------------------------------------------------------------------------------------------------
def offline_partition_count(cluster: ClusterState) -> int:
    """The metric OfflinePartitionsCount of that release, of the partitions whose leader is known."""
    living = [t for t in cluster.topics if not t.deleting]
    if cluster.tool.kraft:
        return sum(p.leader == NO_LEADER for t in living for p in t.partitions)
    if cluster.tool.release >= Release(2, 1):
        return sum(partition_state(cluster, t, p) == "OfflinePartition" for t in living for p in t.partitions)
    led = [
        LedPartition(
            p.replicas or (),
            NO_LEADER if p.leader is None else p.leader,
            topic_deleting=t.name in to_be_deleted(cluster),
        )
        for t in cluster.topics
        for p in t.partitions
        if p.leader == NO_LEADER or p.leader in cluster.alive  # None is in neither
    ]
    there = [broker for broker, alive in cluster.alive.items() if alive]
    return offline_partitions_count(cluster.tool.release, led, there, cluster.shutting_down)


def to_be_deleted(cluster: ClusterState) -> list[str]:
    """Topics whose deletion was asked for or had begun, and that were there; KRaft deletes in one step."""
    if cluster.tool.kraft:
        return []
    return sorted(t.name for t in cluster.topics if t.deleting or t.name in cluster.deletion_requested)


def ineligible_for_deletion(cluster: ClusterState) -> list[str]:
    """Topics to be deleted that have to wait: a replica is not online, or a partition is being reassigned."""
    waiting = set(to_be_deleted(cluster))
    return [
        t.name
        for t in cluster.topics
        if t.name in waiting
        and any(
            p.reassigning or any(is_replica_online(cluster, t, p, broker) is False for broker in p.replicas or ())
            for p in t.partitions
        )
    ]


def as_data(cluster: ClusterState) -> dict[str, Any]:
    """The context by the names of ControllerContext's fields, in snake_case; null is unknown, or (KRaft) not kept."""
    zk = not cluster.tool.kraft
    states = {
        f"{t.name}-{p.partition}": {
            "assignment": p.replicas,
            "leader": p.leader,
            "leader_epoch": p.leader_epoch,
            "partition_epoch": p.partition_epoch,
            "isr": p.isr,
            "partition_state": partition_state(cluster, t, p) if zk else None,
            "replica_states": {str(b): replica_state(cluster, t, p, b) for b in p.replicas or ()} if zk else None,
            "offline_replicas": offline_replicas(cluster, t, p),
        }
        for t in cluster.topics
        for p in t.partitions
    }
    return {
        "controller_id": cluster.term.controller_id,
        "epoch": cluster.term.controller_epoch,
        "live_brokers": {str(b.broker): b.epoch for b in cluster.brokers if b.state in ("alive", "shutting_down")},
        "shutting_down_broker_ids": sorted(cluster.shutting_down),
        "all_topics": [t.name for t in cluster.topics],
        "partitions": states,
        "partitions_being_reassigned": {
            f"{t.name}-{p.partition}": {"adding_replicas": p.adding, "removing_replicas": p.removing}
            for t in cluster.topics
            for p in t.partitions
            if p.reassigning
        },
        "replicas_on_offline_dirs": {
            str(broker): sorted(f"{topic}-{number}" for topic, number in ids)
            for broker, ids in sorted(cluster.offline_dirs.items())
        }
        if zk
        else None,
        "topics_to_be_deleted": to_be_deleted(cluster),
        "topics_with_deletion_started": [t.name for t in cluster.topics if t.deleting],
        "topics_ineligible_for_deletion": ineligible_for_deletion(cluster),
        "offline_partition_count": offline_partition_count(cluster),
        "unknown_partition_count": sum(p.leader is None for t in cluster.topics for p in t.partitions),
    }


def offline_replicas(cluster: ClusterState, topic: DescribedTopic, p: DescribedPartition) -> list[int]:
    """Replicas that were not online, in the assignment's order; unknown ones are left out."""
    return [broker for broker in p.replicas or () if is_replica_online(cluster, topic, p, broker) is False]


def lines(cluster: ClusterState) -> list[str]:
    """The context as text: a line for each of ControllerContext's fields, then one for each partition."""
    data = as_data(cluster)

    def names(values: Iterable[Any]) -> str:
        return ", ".join(map(str, values))

    moved = [
        f"{name} (+ {names(lists['adding_replicas']) or 'none'}; - {names(lists['removing_replicas']) or 'none'})"
        for name, lists in data["partitions_being_reassigned"].items()
    ]
    epochs = [f"{broker} (epoch {_or_unknown(epoch)})" for broker, epoch in data["live_brokers"].items()]
    dirs = data["replicas_on_offline_dirs"]
    head = {
        "controllerId": "none" if cluster.term.is_known and data["controller_id"] is None else data["controller_id"],
        "epoch": data["epoch"],
        "liveBrokers": names(epochs) if cluster.alive else None,
        "shuttingDownBrokerIds": names(data["shutting_down_broker_ids"]),
        "allTopics": names(data["all_topics"]),
        "partitionsBeingReassigned": names(moved),
        "replicasOnOfflineDirs": "not kept"
        if dirs is None
        else names(f"{broker}: {' '.join(ids)}" for broker, ids in dirs.items()),
        "topicsToBeDeleted": names(data["topics_to_be_deleted"]),
        "topicsWithDeletionStarted": names(data["topics_with_deletion_started"]),
        "topicsIneligibleForDeletion": names(data["topics_ineligible_for_deletion"]),
        "offlinePartitionCount": data["offline_partition_count"],
    }
    text = [f"{name}: {_or_unknown(value)}".rstrip() for name, value in head.items()]
    return text + [_partition_line(cluster, t, p) for t in cluster.topics for p in t.partitions]


def _partition_line(cluster: ClusterState, topic: DescribedTopic, p: DescribedPartition) -> str:
    def ids(values: Sequence[int] | None) -> str:
        return UNKNOWN if values is None else ",".join(map(str, values))

    cells = [("Topic", topic.name), ("Partition", str(p.partition))]
    if not cluster.tool.kraft:
        cells.append(("State", partition_state(cluster, topic, p) or UNKNOWN))
    cells += [("Leader", _or_unknown(p.leader)), ("LeaderEpoch", _or_unknown(p.leader_epoch)), ("Isr", ids(p.isr))]
    if cluster.tool.kraft or p.replicas is None:
        cells.append(("Replicas", ids(p.replicas)))
    else:
        states = [f"{broker} {replica_state(cluster, topic, p, broker) or UNKNOWN}" for broker in p.replicas]
        cells.append(("Replicas", ", ".join(states)))
    cells.append(("OfflineReplicas", ids(offline_replicas(cluster, topic, p))))
    return "".join(f"\t{name}: {value}" for name, value in cells)


def _or_unknown(value: Any) -> str:
    return UNKNOWN if value is None else str(value)
