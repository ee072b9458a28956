"""Partition and replica states of the ZooKeeper controller: legal transitions, what they send, where they start.

After kafka.controller.PartitionState and ReplicaState. KRaft has neither machine. Unknown partitions and replicas are
NonExistent. An illegal transition is logged as an error and changes nothing.
"""

from udfs.kafka.releases import Release

PARTITION_STATES = ("NewPartition", "OnlinePartition", "OfflinePartition", "NonExistentPartition")  # codes 0-3
REPLICA_STATES = (  # codes 1-7; 0.8.0 knows New, Online, Offline and NonExistent only
    "NewReplica",
    "OnlineReplica",
    "OfflineReplica",
    "ReplicaDeletionStarted",
    "ReplicaDeletionSuccessful",
    "ReplicaDeletionIneligible",
    "NonExistentReplica",
)

Transition = tuple[str, str]

_PARTITION_0_8_1: tuple[Transition, ...] = (
    ("NonExistentPartition", "NewPartition"),
    ("NewPartition", "OnlinePartition"),
    ("OnlinePartition", "OnlinePartition"),
    ("OfflinePartition", "OnlinePartition"),
    ("NewPartition", "OfflinePartition"),
    ("OnlinePartition", "OfflinePartition"),
    ("OfflinePartition", "OfflinePartition"),
    ("OfflinePartition", "NonExistentPartition"),
)

_REPLICA_0_8_0: tuple[Transition, ...] = (
    ("NonExistentReplica", "NewReplica"),
    ("NewReplica", "OnlineReplica"),
    ("OnlineReplica", "OnlineReplica"),
    ("OfflineReplica", "OnlineReplica"),
    ("NewReplica", "OfflineReplica"),
    ("OnlineReplica", "OfflineReplica"),
    ("OfflineReplica", "NonExistentReplica"),
)

_REPLICA_0_8_1: tuple[Transition, ...] = (
    ("NonExistentReplica", "NewReplica"),
    ("NewReplica", "OnlineReplica"),
    ("OnlineReplica", "OnlineReplica"),
    ("OfflineReplica", "OnlineReplica"),
    ("ReplicaDeletionIneligible", "OnlineReplica"),
    ("NewReplica", "OfflineReplica"),
    ("OnlineReplica", "OfflineReplica"),
    ("OfflineReplica", "OfflineReplica"),
    ("ReplicaDeletionIneligible", "OfflineReplica"),
    ("OfflineReplica", "ReplicaDeletionStarted"),
    ("ReplicaDeletionStarted", "ReplicaDeletionSuccessful"),
    ("ReplicaDeletionStarted", "ReplicaDeletionIneligible"),
    ("ReplicaDeletionSuccessful", "NonExistentReplica"),
)


def partition_transitions(release: Release) -> tuple[Transition, ...]:
    """The legal (from, to) pairs of partitions. 0.8.0 may not go Offline twice."""
    if release < Release(0, 8, 1):
        return tuple(pair for pair in _PARTITION_0_8_1 if pair != ("OfflinePartition", "OfflinePartition"))
    return _PARTITION_0_8_1


def replica_transitions(release: Release) -> tuple[Transition, ...]:
    """The legal (from, to) pairs of replicas. From 2.3 also Offline to Ineligible (KAFKA-3143)."""
    if release < Release(0, 8, 1):
        return _REPLICA_0_8_0
    if release < Release(2, 3):
        return _REPLICA_0_8_1
    return (*_REPLICA_0_8_1, ("OfflineReplica", "ReplicaDeletionIneligible"))


def is_legal(release: Release, was: str, now: str) -> bool:
    """Whether a partition or replica may go from one state to the other; a name of neither is a ValueError."""
    if was in PARTITION_STATES and now in PARTITION_STATES:
        return (was, now) in partition_transitions(release)
    if was in REPLICA_STATES and now in REPLICA_STATES:
        return (was, now) in replica_transitions(release)
    raise ValueError(f"No such transition: {was!r} to {now!r}; expected two partition states or two replica states")


_SHORT = {name: f"{name}Partition" for name in ("New", "Online", "Offline")} | {"NotExists": "NonExistentPartition"}
"""Partition states as 0.8.0 prints them in some lines: `state from NotExists to New`."""


def is_known_legal(release: Release, was: str, now: str) -> bool | None:
    """Whether a transition that a log prints is legal; None where it names a state that there is not: a damaged
    line."""
    was, now = _SHORT.get(was, was), _SHORT.get(now, now)
    try:
        return is_legal(release, was, now)
    except ValueError:
        return None


def replica_requests(release: Release) -> dict[str, tuple[str, ...]]:
    """What a replica's transition into a state sends. From 2.6 StopReplica carries a leader epoch."""
    requests = {
        "NewReplica": ("LeaderAndIsr(isNew=true) to that replica if leadership known", "UpdateMetadata"),
        "OnlineReplica": ("LeaderAndIsr unless it came from NewReplica", "UpdateMetadata"),
        "OfflineReplica": ("StopReplica(delete=false)", "LeaderAndIsr to the other replicas", "UpdateMetadata"),
    }
    if release < Release(0, 8, 1):
        return requests | {"NonExistentReplica": ("StopReplica(delete=true)",)}
    return requests | {
        "ReplicaDeletionStarted": ("StopReplica(delete=true)",),
        "ReplicaDeletionIneligible": (),
        "ReplicaDeletionSuccessful": (),
        "NonExistentReplica": (),
    }


def starting_partition_state(leader: int | None, leader_online: bool) -> str:
    """How a new controller classes a partition; `leader` None means that no leadership is stored."""
    if leader is None:
        return "NewPartition"
    return "OnlinePartition" if leader_online else "OfflinePartition"


def starting_replica_state(release: Release, broker_live: bool) -> str:
    """How a new controller classes a replica. Dead ones are Ineligible in 0.8.1-2.2, else Offline."""
    if broker_live:
        return "OnlineReplica"
    return "ReplicaDeletionIneligible" if Release(0, 8, 1) <= release < Release(2, 3) else "OfflineReplica"
