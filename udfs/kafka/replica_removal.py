"""What a ZooKeeper controller writes when it takes a replica offline (ReplicaStateMachine), 0.8.0 to 3.9."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.kafka_values import NO_LEADER
from udfs.kafka.elections import STATE_CHANGE_FAILED, Refused, unclean_default
from udfs.kafka.releases import Release


@dataclass(frozen=True)
class ReplicaRemoved:
    """Leadership after a replica went offline; `written` is false where nothing was stored and no epoch moved."""

    written: bool
    leader: int
    isr: tuple[int, ...]
    leader_epoch: int
    recipients: tuple[int, ...]


def zk_remove_replica(
    release: Release,
    replica: int,
    *,
    assigned: Sequence[int],
    leader: int,
    isr: Sequence[int],
    leader_epoch: int,
    unclean_enabled: bool | None = None,
    topic_deleting: bool = False,
    controller_epoch: int = 0,
    stored_controller_epoch: int = 0,
) -> ReplicaRemoved | Refused:
    """A replica goes offline. Leaving the ISR adds 1 to the leader epoch; a leader leaves -1 behind.

    The last ISR member: dropped through 0.8.1; 0.8.2-1.0 dropped only if the topic allows unclean elections;
    kept from 1.1, so that removing it again bumps the epoch again.

    >>> zk_remove_replica(Release(2, 4), 4, assigned=[0, 4], leader=4, isr=[0, 4], leader_epoch=6)
    ReplicaRemoved(written=True, leader=-1, isr=(0,), leader_epoch=7, recipients=(0,))
    """
    if stored_controller_epoch > controller_epoch:
        return Refused(STATE_CHANGE_FAILED)
    recipients = tuple(sorted(broker for broker in assigned if broker != replica))
    if replica not in isr:
        leader_after, isr_after, epoch_after = leader, tuple(isr), leader_epoch
    else:
        leader_after = NO_LEADER if replica == leader else leader
        isr_after = tuple(broker for broker in isr if broker != replica)
        epoch_after = leader_epoch + 1
        if not isr_after and _keeps_last_member(release, unclean_enabled):
            isr_after = (replica,)
    if release < Release(0, 8, 1):  # only the leader is told, and only of a smaller ISR
        recipients = () if leader_after == NO_LEADER or replica not in isr else (leader_after,)
    return ReplicaRemoved(replica in isr, leader_after, isr_after, epoch_after, () if topic_deleting else recipients)


def _keeps_last_member(release: Release, unclean_enabled: bool | None) -> bool:
    if Release(0, 8, 2) <= release < Release(1, 1):
        return not (unclean_default(release) if unclean_enabled is None else unclean_enabled)
    return release >= Release(1, 1)
