"""What logs tell of one KRaft partition: the controller's steps, states that lines show, and what leaders say."""

from __future__ import annotations

from typing import NamedTuple

ASSIGNMENT_CHANGED, FENCED, UNFENCED = "assignment_changed", "fenced", "unfenced"
CONTROLLED_SHUTDOWN, UNREGISTERED = "controlled_shutdown", "unregistered"
UNCLEAN_RESTART = "unclean_restart"
"""A registration after an unclean shutdown, from 4.0 on: the broker is no eligible leader replica any more
(KIP-966)."""
DIRECTORY_LOST = "directory_lost"
"""A log directory of a broker failed: it leaves the ISR of the partitions there."""
DIRECTORY_LISTED = "directory_listed"
"""The same, and the broker lists the partitions there: no other is concerned."""
REPLICA_LOST = "replica_lost"
"""The same, and the broker names the partition among those there: its replica left the ISR if it was in it."""
REPLICAS_REMOVED = "replicas_removed"
"""Reassignments were accepted that add no replica: which, the controller does not log."""
NONE_ELIGIBLE = "none_eligible"
"""No replica of a topic, or of any, is an eligible leader replica any more, for `min.insync.replicas` changed (4.0 on):
each partition that had some has a state without."""
PREFERRED_ELECTED = "preferred_elected"
"""Preferred leaders were elected by the task that looks for imbalance: of which partitions, the controller does not
log."""
SHOWN = "shown"
"""The controller printed a state as it wrote it, or a new partition with the directories of its replicas."""
REMOVALS = (FENCED, CONTROLLED_SHUTDOWN, UNREGISTERED, UNCLEAN_RESTART, DIRECTORY_LOST)
ACTIVE_AFTER = {
    FENCED: False,
    CONTROLLED_SHUTDOWN: False,
    UNREGISTERED: False,
    UNCLEAN_RESTART: False,
    UNFENCED: True,
}


class ControllerStep(NamedTuple):
    """What the active controller did with one partition's assignment, or with one broker.

    `at` in microseconds. Steps sort in the order of the controller's log.
    """

    at: int
    node_id: int | None
    file_id: str | None
    line: int
    kind: str
    """ASSIGNMENT_CHANGED or SHOWN of the partition, NONE_ELIGIBLE, REPLICAS_REMOVED or PREFERRED_ELECTED of any, else
    of a broker."""
    broker: int | None = None
    """Who was fenced, unfenced, shut down or registered."""
    leader: int | None = None
    """Of a record the leader it names, None if it keeps the leader and its epoch."""
    isr: list[int] | None = None
    """Of a record the ISR, sorted; None if it keeps it."""
    replicas: list[int] | None = None
    """Of a record the assignment; None if it keeps it."""
    unassigned: list[int] | None = None
    """Of a record that prints directories the replicas without one."""
    changed: int | None = None
    """How many partitions it changed; None not logged."""
    is_sure: bool = True
    """False: the controller lost its office so soon that it may never have been committed."""
    partition_epoch: int | None = None
    """Of a state that it printed."""

    @property
    def is_creation(self) -> bool:
        """Whether it is the first record of a partition, at a partition epoch above 0 if ZooKeeper had it before."""
        return self.kind == SHOWN and self.unassigned is not None


class KnownState(NamedTuple):
    """What lines state of one partition epoch; None for what they do not. `at`: the first of them, in microseconds."""

    partition_epoch: int
    leader: int | None
    leader_epoch: int | None
    isr: list[int] | None
    eligible: list[int] | None
    replicas: list[int] | None
    unassigned: list[int] | None
    """Replicas that its creation put in no directory."""
    at: int
    by_leader: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether leader, leader epoch and ISR are known."""
        return self.leader is not None and self.leader_epoch is not None and self.isr is not None


class Shrink(NamedTuple):
    """A leader says that it will take replicas out of the ISR. `at` in microseconds."""

    broker: int
    at: int
    isr: list[int]


class PartitionRules(NamedTuple):
    """What holds of a cluster; None unknown."""

    keeps_last_member: bool | None
    """Whether the last member stays in the ISR when it is lost, as without eligible leader replicas."""
    raises_epoch_of_shrink: bool | None
    """Whether a record that takes a member out of the ISR names the leader, as before metadata version 3.6-IV0."""
    raises_epoch_of_last_member: bool | None
    """Whether also one that would take out the last member, and cannot, before release 3.8."""
    has_directories: bool | None = None
    """Whether brokers tell the controller in which directory a replica is: from release 3.7 on."""
