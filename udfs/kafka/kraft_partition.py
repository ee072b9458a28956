"""A KRaft partition as the metadata log has it, changes that are asked for, and the records that make them."""

from dataclasses import dataclass, replace
from enum import StrEnum

from udfs.kafka.elections import RECOVERED
from udfs.kafka.releases import ProtocolVersion, Release


class ElectionKind(StrEnum):
    """What an election may do. In 3.0-3.1 PREFERRED means "move to the preferred one", UNCLEAN "unclean allowed"."""

    PREFERRED = "PREFERRED"
    ONLINE = "ONLINE"
    UNCLEAN = "UNCLEAN"


@dataclass(frozen=True)
class PartitionRegistration:
    """A partition as the metadata log has it. `elr` and `last_known_elr` since 3.7 (KIP-966)."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    recovery: str = RECOVERED


@dataclass(frozen=True)
class RequestedChange:
    """What a change asks for; None leaves a field as it is. `unclean_shutdown` brokers lose their place in the ELR."""

    isr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    recovery: str | None = None
    unclean_shutdown: tuple[int, ...] = ()


NOTHING_REQUESTED = RequestedChange()


@dataclass(frozen=True)
class PartitionChangeRecord:
    """A partition change record: only the fields it carries, None for the others. A leader bumps the leader epoch."""

    leader: int | None = None
    isr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    recovery: str | None = None


@dataclass(frozen=True)
class ControllerConfig:
    """What of release, metadata version and configuration decides. `min_isr` is capped at the replication factor.

    `elr_enabled`: feature eligible.leader.replicas.version is 1: never by default before 4.1, and from 4.1 on
    for clusters formatted with it. `last_known_leader` has no switch in any release and is on.
    """

    release: Release
    metadata_version: ProtocolVersion
    zk_migration: bool = False
    elr_enabled: bool = False
    min_isr: int = 1
    last_known_leader: bool = True


def apply_change(partition: PartitionRegistration, change: PartitionChangeRecord | None) -> PartitionRegistration:
    """The partition after the record. Each adds 1 to the partition epoch, one with a leader 1 to the leader epoch."""
    if change is None:
        return partition
    return replace(
        partition,
        **{name: value for name, value in vars(change).items() if value is not None},
        leader_epoch=partition.leader_epoch + (change.leader is not None),
        partition_epoch=partition.partition_epoch + 1,
    )
