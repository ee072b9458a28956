"""States that a ZooKeeper controller wrote without logging them: replicas that went offline left the ISR one by one.

From 1.1 to 2.5 the controller shows such a write only in the requests that follow, with the last state of a batch, and
of a topic queued for deletion not at all. But it logs each replica that it took offline, and what that does to the
partition leaves no choice (`udfs.kafka.replica_removal`; KIP-497 and 2.6 log the result).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from schemas.kafka_values import NO_LEADER
from udfs.kafka.releases import Release
from udfs.kafka.replica_removal import ReplicaRemoved, zk_remove_replica

SINCE = Release(1, 1)
"""The first release whose controller keeps the last member of the ISR whatever the topic's settings."""


class ReplicaOffline(NamedTuple):
    """One replica taken offline: when (microseconds), the line that logs it, which, and in whose controller epoch.

    In the order of the log if sorted.
    """

    at: int
    node_id: int | None
    file_id: str | None
    line: int
    replica: int
    controller_epoch: int | None


class ZkInferredState(NamedTuple):
    """A state that the controller wrote when a replica went offline, and the line of that replica."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: list[int]
    made_by: ReplicaOffline


def written_by(
    leader: int, leader_epoch: int, partition_epoch: int, isr: Sequence[int], removals: Iterable[ReplicaOffline]
) -> list[ZkInferredState]:
    """The states that removals make of one, in their order; a replica that is not in the ISR makes none.

    >>> offline = ReplicaOffline(9, 0, "f", 1, replica=4, controller_epoch=2)
    >>> [state[:4] for state in written_by(4, 7, 17, [0, 4], [offline])]
    [(-1, 8, 18, [0])]
    """
    states: list[ZkInferredState] = []
    for removal in removals:
        after = zk_remove_replica(
            SINCE, removal.replica, assigned=isr, leader=leader, isr=isr, leader_epoch=leader_epoch
        )
        if isinstance(after, ReplicaRemoved) and after.written:
            leader, leader_epoch, partition_epoch, isr = (
                after.leader,
                after.leader_epoch,
                partition_epoch + 1,
                after.isr,
            )
            states.append(ZkInferredState(leader, leader_epoch, partition_epoch, list(isr), removal))
    return states


def inferred_states(
    before: tuple[int, int, int, Sequence[int]],
    since: int,
    removals: Sequence[ReplicaOffline],
    after: tuple[int, int, int, Sequence[int]] | None,
) -> list[ZkInferredState]:
    """The states after a logged one, up to and with the next logged one.

    `before` and `after` are (leader, leader epoch, partition epoch, ISR). Between two states they count only if the
    removals lead exactly from one to the other, so that nobody else wrote anything. After the last one (`after` is
    None), first logged at `since`, they count if it shows the earlier removals; of the later ones the caller has to
    know that nobody else wrote in between, and that the topic is being deleted, so that all members of the ISR go: if
    one is not among them, its line is lost.
    """
    if after is None:
        leader, _, _, isr = before
        is_last_member = leader == NO_LEADER and len(isr) == 1
        if any(r.at <= since and r.replica in isr and not is_last_member for r in removals):
            return []
        later = [r for r in removals if r.at > since]
        is_whole = is_last_member or {*isr} <= {r.replica for r in later}
        return written_by(*before, later) if is_whole else []
    states = written_by(*before, removals)
    if not states or states[-1][:4] != (*after[:3], list(after[3])):
        return []
    return states
