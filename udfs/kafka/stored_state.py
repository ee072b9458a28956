"""A partition's state as a controller stored it, and the release that stored it: what invariants are checked on."""

from dataclasses import dataclass

from udfs.kafka.releases import ProtocolVersion, Release

ELECTIONS = frozenset({"offline", "reassign", "preferred", "controlled_shutdown", "unclean_request"})
CONTROLLER_TRIGGERS = ELECTIONS | {"replica_offline", "epoch_refresh"}


@dataclass(frozen=True)
class StoredState:
    """A stored state of a partition; None is "not known".

    `trigger` is what made it: `new`, one of ELECTIONS, `replica_offline`, `epoch_refresh`, `last_known_leader`,
    `reassign_revert`, or `leader` (the leader's own ISR change, AlterPartition included).
    `online` are the brokers on which a replica was online at that moment, `maybe_online` those of which nobody knows
    whether one was, `departing` ids that a reassignment removes or has just removed, `replicas` those with adding and
    removing ones.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int | None = None
    controller_epoch: int | None = None
    replicas: tuple[int, ...] | None = None
    trigger: str | None = None
    online: frozenset[int] | None = None
    maybe_online: frozenset[int] = frozenset()
    unclean_enabled: bool | None = None
    recovery: str | None = None
    departing: frozenset[int] = frozenset()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    min_isr: int | None = None


@dataclass(frozen=True)
class Cluster:
    """Which rules apply: the controller's release and mode; protocol or metadata version, None if not known."""

    release: Release
    kraft: bool = False
    protocol: ProtocolVersion | None = None
    zk_migration: bool = False
    elr_enabled: bool = False


def gap(before: StoredState, after: StoredState) -> tuple[str, ...]:
    """What keeps the two from being neighbours: the states lost between them, or a missing epoch."""
    if after.leader_epoch - before.leader_epoch > 1:
        return (f"states between leader epochs {before.leader_epoch} and {after.leader_epoch}",)
    if before.partition_epoch is None or after.partition_epoch is None:
        return ("partition_epoch",)
    if after.partition_epoch - before.partition_epoch > 1:
        return (f"states between partition epochs {before.partition_epoch} and {after.partition_epoch}",)
    return ()
