"""A KRaft controller (3.0 on) as a whole: it takes events and says which records Kafka would write.

Composed of the functions of this package as org.apache.kafka.controller.ReplicationControlManager composes them:
`handleBrokerFenced`, `handleBrokerUnfenced`, `handleBrokerInControlledShutdown`, `alterPartition`, `electLeaders`,
`alterPartitionReassignments`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from schemas.kafka_values import NO_LEADER
from udfs.kafka.elections import Refused
from udfs.kafka.isr_requests import NONE, IsrOwner, IsrRequest, kraft_alter_partition
from udfs.kafka.kraft_elections import (
    HEEDS_SWITCH,
    acceptable_brokers,
    election_kind,
    fails_to_add,
    kraft_elect_request,
    kraft_new_partition,
    partition_change,
    requested_election,
)
from udfs.kafka.kraft_partition import (
    NOTHING_REQUESTED,
    ControllerConfig,
    ElectionKind,
    PartitionChangeRecord,
    PartitionRegistration,
    RequestedChange,
    apply_change,
)
from udfs.kafka.reassignment import ReassignmentLists, kraft_reassign_lists, kraft_reassign_revert


@dataclass
class Records:
    """What an event led to: the changes that were written, with the partition after each, and errors."""

    changes: list[tuple[str, PartitionChangeRecord | None, PartitionRegistration]] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class KraftController:
    """The active controller. `broker_epochs` of the registered brokers; those that are `unfenced`, and of them those
    `in_shutdown`."""

    config: ControllerConfig
    broker_epochs: dict[int, int] = field(default_factory=dict)
    unfenced: set[int] = field(default_factory=set)
    in_shutdown: set[int] = field(default_factory=set)
    partitions: dict[str, PartitionRegistration] = field(default_factory=dict)
    unclean_topics: Collection[str] = ()

    # ---- events -----------------------------------------------------------------------------------------------------
    def register(self, broker: int, epoch: int) -> Records:
        """A broker registers, anew if it is known; it is fenced until it has caught up."""
        records = self.fence(broker) if broker in self.unfenced else Records()
        self.broker_epochs[broker] = epoch
        return records

    def unfence(self, broker: int) -> Records:
        """A broker has caught up: it may lead partitions that nobody leads."""
        records = Records()
        self.unfenced.add(broker)
        for name, partition in list(self.partitions.items()):
            if partition.leader == NO_LEADER:
                self._change(name, "broker", records, adding=broker)
        return records

    def fence(self, broker: int) -> Records:
        """A broker's session ends: it leaves the ISRs, and what it leads is elected anew."""
        self.in_shutdown.discard(broker)
        records = self._without(broker)
        self.unfenced.discard(broker)
        return records

    def shut_down(self, broker: int) -> Records:
        """A broker asks for a controlled shutdown."""
        self.in_shutdown.add(broker)
        return self._without(broker)

    def create(self, name: str, replicas: Sequence[int]) -> Records:
        """A partition is created with an assignment that is asked for."""
        records = Records()
        born = kraft_new_partition(self.config.release, tuple(replicas), self._acceptable())
        if isinstance(born, Refused):
            records.errors.append((name, born.error))
        else:
            self.partitions[name] = born
            records.changes.append((name, None, born))
        return records

    def alter_partition(self, name: str, request: IsrRequest) -> Records:
        """A leader asks for another ISR; that may complete a reassignment."""
        records = Records()
        partition = self.partitions.get(name)
        owner = None
        if partition is not None:
            owner = IsrOwner(
                partition.leader, partition.leader_epoch, partition.partition_epoch, partition.isr,
                partition.replicas, self._acceptable(), self.broker_epochs, partition.recovery,
            )  # fmt: skip
        error, is_written = kraft_alter_partition(self.config.release, owner, request)
        if error != NONE:
            records.errors.append((name, error))
        elif is_written:
            asked = RequestedChange(isr=request.isr, recovery=request.recovery)
            self._change(name, "alter_partition", records, asked)
        return records

    def elect(self, names: Iterable[str], election_type: str = "PREFERRED") -> Records:
        """An administrator asks for elections."""
        records = Records()
        for name in names:
            asked = self.config, self.partitions[name], self._acceptable(), ElectionKind(election_type)
            answer = kraft_elect_request(*asked)
            if answer.error != NONE:
                records.errors.append((name, answer.error))
            else:
                self._write(name, requested_election(*asked), records)
        return records

    def reassign(self, name: str, target: Sequence[int]) -> Records:
        """A reassignment is asked for; the newest request wins. All its brokers must be registered, fenced or not."""
        records = Records()
        before = self.partitions[name]
        is_malformed = not target or len(set(target)) < len(target)
        if is_malformed or not set(target) <= self.broker_epochs.keys():
            records.errors.append((name, "INVALID_REPLICA_ASSIGNMENT"))
            return records
        lists = kraft_reassign_lists(ReassignmentLists(before.replicas, before.adding, before.removing), target)
        asked = RequestedChange(replicas=lists.replicas, adding=lists.adding, removing=lists.removing)
        self._change(name, "reassignment", records, asked)
        return records

    def cancel(self, name: str) -> Records:
        """A pending reassignment is taken back."""
        records = Records()
        before = self.partitions[name]
        if not before.adding and not before.removing:
            records.errors.append((name, "NO_REASSIGNMENT_IN_PROGRESS"))
            return records
        back = kraft_reassign_revert(ReassignmentLists(before.replicas, before.adding, before.removing), before.isr)
        if back.unclean and not self._allows_unclean(name):
            records.errors.append((name, "INVALID_REPLICA_ASSIGNMENT"))
            return records
        asked = RequestedChange(isr=back.isr, replicas=back.replicas, adding=(), removing=())
        self._change(name, "cancel", records, asked)
        return records

    # ---- what they have in common -----------------------------------------------------------------------------------
    def _acceptable(self, *, removing: int | None = None, adding: int | None = None) -> frozenset[int]:
        return acceptable_brokers(
            self.config.release, self.unfenced, self.in_shutdown, removing=removing, adding=adding
        )

    def _allows_unclean(self, name: str) -> bool:
        return self.config.release >= HEEDS_SWITCH and name.rsplit("-", 1)[0] in self.unclean_topics

    def _without(self, broker: int) -> Records:
        """Partitions in whose ISR a broker is, without it; where nobody else is, it stays and leads no more."""
        records = Records()
        for name, partition in list(self.partitions.items()):
            if broker in partition.isr or partition.leader == broker:
                isr = tuple(member for member in partition.isr if member != broker)
                self._change(name, "broker", records, RequestedChange(isr=isr), removing=broker)
        return records

    def _change(
        self,
        name: str,
        cause: str,
        records: Records,
        requested: RequestedChange = NOTHING_REQUESTED,
        *,
        removing: int | None = None,
        adding: int | None = None,
    ) -> None:
        """One change of a partition, if it changes anything."""
        acceptable = self._acceptable(removing=removing, adding=adding)
        kind = election_kind(self.config.release, cause, topic_allows_unclean=self._allows_unclean(name))
        record = partition_change(self.config, self.partitions[name], acceptable, kind, requested)
        if cause == "reassignment" and fails_to_add(self.partitions[name], record):
            records.errors.append((name, "UNKNOWN_SERVER_ERROR"))
        else:
            self._write(name, record, records)

    def _write(self, name: str, record: PartitionChangeRecord | None, records: Records) -> None:
        """A record, if there is one."""
        if record is not None:
            self.partitions[name] = apply_change(self.partitions[name], record)
            records.changes.append((name, record, self.partitions[name]))
