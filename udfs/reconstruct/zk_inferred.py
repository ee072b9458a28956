"""States that a ZooKeeper controller wrote without a word: replicas that went offline, taken out of the ISR one by one.

From 1.1 to 2.5 the controller tells of such a write only by the requests that follow, with the last state of a batch, and
of a topic queued for deletion not at all. But it logs each replica that it took offline, and what that does to the
partition leaves no choice: the ISR loses the replica unless it is the last, a lost leader is replaced by none, the leader
epoch grows by 1, and nothing is written if the replica was not in sync (ReplicaStateMachine; KIP-497 and 2.6 log the result).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from schemas.kafka_values import NO_LEADER


class Removal(NamedTuple):
    """One replica taken offline: when (microseconds), the line that says so, which, and in whose controller epoch.

    In the order of the log if sorted.
    """

    at: int
    node_id: int | None
    file_id: str | None
    line: int
    replica: int
    controller_epoch: int | None


class Written(NamedTuple):
    """A state that a removal made, and the removal that made it."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: list[int]
    made_by: Removal


def without(leader: int, isr: Sequence[int], replica: int) -> tuple[int, list[int]] | None:
    """Leader and ISR once a replica went offline; None if it was not in sync, so that nothing is written.

    >>> without(4, [0, 4], 0), without(4, [4], 4), without(4, [4], 0)
    ((4, [4]), (-1, [4]), None)
    """
    if replica not in isr:
        return None
    return NO_LEADER if replica == leader else leader, [r for r in isr if r != replica] or list(isr)


def written_by(
    leader: int, leader_epoch: int, partition_epoch: int, isr: Sequence[int], removals: Iterable[Removal]
) -> list[Written]:
    """The states that removals make of one, in their order."""
    states: list[Written] = []
    for removal in removals:
        after = without(leader, isr, removal.replica)
        if after is not None:
            (leader, isr), leader_epoch, partition_epoch = after, leader_epoch + 1, partition_epoch + 1
            states.append(Written(leader, leader_epoch, partition_epoch, list(isr), removal))
    return states


def untold(
    before: tuple[int, int, int, Sequence[int]],
    since: int,
    removals: Sequence[Removal],
    after: tuple[int, int, int, Sequence[int]] | None,
) -> list[Written]:
    """The states after a known one, up to the next known one if there is one, as (leader, leader epoch, partition epoch, ISR).

    Before another they count only if the removals lead exactly there, so that nobody else wrote anything. After the last one, first told at `since`, they count if it shows the earlier removals; of the later ones
    the caller has to know that nobody else wrote in between.
    """
    if after is None:
        leader, _, _, isr = before
        alone = leader == NO_LEADER and len(isr) == 1
        if any(r.at <= since and r.replica in isr and not alone for r in removals):
            return []
        return written_by(*before, [r for r in removals if r.at > since])
    states = written_by(*before, removals)
    if not states or states[-1][:4] != (*after[:3], list(after[3])):
        return []
    return states
