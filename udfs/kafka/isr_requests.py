"""Requests of leaders to change the ISR (AlterIsr, 2.7-3.1; AlterPartition, 3.2 on), as controllers answer them.

After kafka.controller.KafkaController.processAlterPartition and
org.apache.kafka.controller.ReplicationControlManager.validateAlterPartitionData. The first check that fails answers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from udfs.kafka.elections import RECOVERED, RECOVERING
from udfs.kafka.releases import Release

NONE = "NONE"


@dataclass(frozen=True)
class IsrRequest:
    """What a leader asks for. `isr_broker_epochs`: of members, from 3.5 on (KIP-903); those without are not checked."""

    sender: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    sender_broker_epoch: int | None = None
    recovery: str = RECOVERED
    isr_broker_epochs: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class IsrOwner:
    """The partition as the controller has it, and the brokers that it takes for eligible; `broker_epochs` of those that
    are registered."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    eligible: Collection[int]
    broker_epochs: Mapping[int, int] = field(default_factory=dict)
    recovery: str = RECOVERED


def zk_alter_partition(
    release: Release, owner: IsrOwner, request: IsrRequest, *, is_controller: bool = True
) -> tuple[str, bool]:
    """Error and whether something is written, by a ZooKeeper controller (2.7 on with KIP-497).

    A state that is there already, members in their stored order and from its own leader, is a success without a write.
    A partition epoch is compared as it is written; that a broker knows more than the controller, and whether members
    live, is asked from 3.3 on. Neither the sender's leadership nor the assignment is checked.
    """
    if not is_controller:
        return "NOT_CONTROLLER", False
    if _is_stale(owner, request):
        return "STALE_BROKER_EPOCH", False
    asks_more = release >= Release(3, 3)
    if asks_more and (request.leader_epoch > owner.leader_epoch or request.partition_epoch > owner.partition_epoch):
        return "NOT_CONTROLLER", False
    if Release(3, 2) <= release < Release(3, 3) and _breaks_recovery(owner, request):
        return "INVALID_REQUEST", False
    if request.leader_epoch < owner.leader_epoch:
        return "FENCED_LEADER_EPOCH", False
    if _is_stored(owner, request):
        return NONE, False
    if request.partition_epoch != owner.partition_epoch:
        return "INVALID_UPDATE_VERSION", False
    if asks_more and _breaks_recovery(owner, request):
        return "INVALID_REQUEST", False
    if asks_more and not set(request.isr) <= set(owner.eligible):
        return "INELIGIBLE_REPLICA", False
    return NONE, True


def _is_stored(owner: IsrOwner, request: IsrRequest) -> bool:
    """Whether the state that is asked for is the one that is there (kafka.api.LeaderAndIsr.equalsIgnoreZk)."""
    asked = request.sender, request.leader_epoch, request.isr, request.recovery
    return asked == (owner.leader, owner.leader_epoch, owner.isr, owner.recovery)


def kraft_alter_partition(release: Release, owner: IsrOwner | None, request: IsrRequest) -> tuple[str, bool]:
    """Error and whether a record is written, by the KRaft controller; `owner` None: there is no such partition.

    Releases before 3.3 answer FENCED_LEADER_EPOCH to any other leader epoch, 2.8 only to the leader. From 3.3 on
    (KIP-841) all members must be active, from 3.5 on (KIP-903) with the broker epoch that the leader knows.
    """
    if owner is None:
        return "UNKNOWN_TOPIC_OR_PARTITION", False
    if _is_stale(owner, request):
        return "STALE_BROKER_EPOCH", False
    if release < Release(3) and request.sender != owner.leader:
        return "INVALID_REQUEST", False
    newer = "NOT_CONTROLLER" if release >= Release(3, 3) else "FENCED_LEADER_EPOCH"
    if request.leader_epoch > owner.leader_epoch:
        return newer, False
    if release >= Release(3, 3) and request.partition_epoch > owner.partition_epoch:
        return newer, False
    if request.leader_epoch < owner.leader_epoch:
        return "FENCED_LEADER_EPOCH", False
    if request.sender != owner.leader:
        return "INVALID_REQUEST", False
    if request.partition_epoch != owner.partition_epoch:
        return "INVALID_UPDATE_VERSION", False
    members = set(request.isr)
    is_wrong = not members <= set(owner.replicas) or len(members) < len(request.isr) or owner.leader not in members
    if is_wrong or _breaks_recovery(owner, request):
        return "INVALID_REQUEST", False
    if release >= Release(3, 3) and not all(_is_eligible(release, owner, request, member) for member in members):
        return "INELIGIBLE_REPLICA", False
    return NONE, True


def _is_stale(owner: IsrOwner, request: IsrRequest) -> bool:
    """Whether the sender's broker epoch is not the one that the controller has."""
    known = owner.broker_epochs.get(request.sender)
    return (
        bool(owner.broker_epochs) and request.sender_broker_epoch is not None and known != request.sender_broker_epoch
    )


def _breaks_recovery(owner: IsrOwner, request: IsrRequest) -> bool:
    """A leader that recovers is alone in the ISR, and none begins to by itself (KIP-704)."""
    if request.recovery == RECOVERING:
        return len(request.isr) > 1 or owner.recovery == RECOVERED
    return False


def _is_eligible(release: Release, owner: IsrOwner, request: IsrRequest, member: int) -> bool:
    known = request.isr_broker_epochs.get(member)
    is_current = release < Release(3, 5) or known is None or owner.broker_epochs.get(member, known) == known
    return member in owner.eligible and is_current
