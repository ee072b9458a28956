"""A state of a KRaft partition that may have been, and what a record makes of it.

Sources: PartitionRegistration.merge and PartitionChangeBuilder (3.0 on), for eligible leader replicas KIP-966, for
directories KIP-858.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from udfs.reconstruct.kraft_facts import KnownState

Ids = frozenset[int]


class PossibleState(NamedTuple):
    """A state of a partition in one history; None for what is not known."""

    partition_epoch: int
    leader: int
    leader_epoch: int
    isr: Ids
    replicas: tuple[int, ...] | None
    eligible: Ids
    """Replicas that surely are eligible as leader though not in sync."""
    perhaps_eligible: Ids | None
    """Those, and others that may be; None: any."""
    unassigned: Ids | None
    """Replicas of which the controller knows no directory."""
    is_unlogged: bool
    """Whether it is a change that the leader made and did not live to log."""
    without_directory: Ids = frozenset()
    """Replicas that left the ISR with their directory: they cannot lead before their broker is back with another."""

    @classmethod
    def of(cls, known: KnownState) -> PossibleState:
        """The state that lines show in full."""
        assert known.leader is not None
        assert known.leader_epoch is not None
        assert known.isr is not None
        return cls(
            known.partition_epoch, known.leader, known.leader_epoch, frozenset(known.isr),
            tuple(known.replicas) if known.replicas else None,
            frozenset(known.eligible or ()),
            None if known.eligible is None else frozenset(known.eligible),
            None if known.unassigned is None else frozenset(known.unassigned),
            False,
        )  # fmt: skip

    def shown_as(self, known: KnownState) -> PossibleState | None:
        """The same with what lines show of this partition epoch; None if they show something else."""
        if (
            (known.leader is not None and known.leader != self.leader)
            or (known.leader_epoch is not None and known.leader_epoch != self.leader_epoch)
            or (known.isr is not None and self.isr != frozenset(known.isr))
        ):
            return None
        replicas = self.replicas if known.replicas is None else tuple(known.replicas)
        if self.replicas is not None and replicas != self.replicas:
            return None  # each record that adds replicas is logged, so none came back that were taken away
        is_unlogged = self.is_unlogged and known.isr is None
        shown = self._replace(replicas=replicas, is_unlogged=is_unlogged)
        if known.eligible is None:
            return shown
        eligible = frozenset(known.eligible)
        is_possible = self.eligible <= eligible and (self.perhaps_eligible is None or eligible <= self.perhaps_eligible)
        return shown._replace(eligible=eligible, perhaps_eligible=eligible) if is_possible else None

    def written(self, leader: int | None = None, isr: Ids | None = None) -> PossibleState:
        """The state after a record that names a leader (None: it keeps leader and epoch) and an ISR.

        Who leaves the ISR may be eligible as leader, if fewer than `min.insync.replicas` are in sync, else nobody is.
        """
        after = self.isr if isr is None else isr
        perhaps = None if self.perhaps_eligible is None else (self.perhaps_eligible | self.isr) - after
        return self._replace(
            partition_epoch=self.partition_epoch + 1,
            leader=self.leader if leader is None else leader,
            leader_epoch=self.leader_epoch + (leader is not None),
            isr=after,
            eligible=self.eligible if not after else frozenset(),
            perhaps_eligible=perhaps,
            is_unlogged=False,
        )

    def without_eligible(self) -> PossibleState:
        """The same in a cluster that has no eligible leader replicas."""
        return self._replace(eligible=frozenset(), perhaps_eligible=frozenset())


Activity = Mapping[int, bool]
"""Broker -> whether the controller takes it for able to lead: unfenced and not shutting down; absent if unknown."""
