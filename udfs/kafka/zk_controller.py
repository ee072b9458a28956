"""A ZooKeeper controller (0.8.0 to 3.9) as a whole: it takes events and says what Kafka would write and send.

Composed of the functions of this package, in the order of kafka.controller.KafkaController: `onBrokerStartup`,
`onBrokerFailure`, `doControlledShutdown`, `onReplicaElection`, `onPartitionReassignment`, `processAlterPartition`,
`onControllerFailover`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from schemas.kafka_values import NO_LEADER
from udfs.kafka.elections import (
    RECOVERED,
    Elected,
    Refused,
    Strategy,
    moves_on_shutdown,
    online_replicas,
    recovery_after,
    zk_elect,
    zk_elect_request,
    zk_new_partition,
)
from udfs.kafka.isr_requests import NONE, IsrOwner, IsrRequest, zk_alter_partition
from udfs.kafka.reassignment import ReassignmentLists
from udfs.kafka.releases import Release
from udfs.kafka.replica_removal import zk_remove_replica
from udfs.kafka.zk_reassignment import (
    KIP_455,
    ReassigningController,
    ReassignmentStep,
    reassignment_pass,
    refusal_of,
)

NEW, ONLINE, OFFLINE = "NewPartition", "OnlinePartition", "OfflinePartition"


@dataclass(frozen=True)
class ZkPartition:
    """A partition as a controller has it; `leader` None: nothing is stored yet. Of a pending reassignment its `target`,
    and which of the replicas it adds and removes (until 2.3 not stored)."""

    replicas: tuple[int, ...]
    leader: int | None = None
    isr: tuple[int, ...] = ()
    leader_epoch: int = 0
    partition_epoch: int = 0
    controller_epoch: int = 0
    state: str = NEW
    target: tuple[int, ...] | None = None
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    recovery: str = RECOVERED


@dataclass(frozen=True)
class Request:
    """A request to one broker about one partition; `leader_epoch` null in UpdateMetadata about none."""

    kind: str
    broker: int
    partition: str
    leader_epoch: int
    deletes: bool = False


@dataclass
class Decision:
    """What an event led to, in order: states written, requests, and partitions for which nothing could be done."""

    writes: list[tuple[str, ZkPartition]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class ZkController:
    """The active controller of one term. `offline_replicas`: by partition the brokers whose log directory failed."""

    release: Release
    epoch: int
    alive: set[int]
    partitions: dict[str, ZkPartition] = field(default_factory=dict)
    shutting_down: set[int] = field(default_factory=set)
    offline_replicas: dict[str, set[int]] = field(default_factory=dict)
    unclean_topics: Collection[str] | None = None

    # ---- events -----------------------------------------------------------------------------------------------------
    def create(self, name: str, replicas: Sequence[int]) -> Decision:
        """A partition appears in ZooKeeper."""
        decision = Decision()
        self.partitions[name] = ZkPartition(tuple(replicas))
        self._elect_offline([name], decision)
        return decision

    def broker_started(self, broker: int) -> Decision:
        """A broker registers: its replicas are told their states, partitions without a leader get one, and
        reassignments that it is a target of are taken up again, with another leader epoch if they still wait."""
        decision = Decision()
        self.alive.add(broker)
        self.shutting_down.discard(broker)
        for name, partition in self.partitions.items():
            if broker in partition.replicas and partition.leader is not None:
                decision.requests.append(Request("LeaderAndIsr", broker, name, partition.leader_epoch))
        self._elect_offline(self.partitions, decision)
        for name, partition in list(self.partitions.items()):
            if partition.target is not None and broker in partition.target:
                self._reassign(name, partition.target, decision)
        return decision

    def broker_failed(self, broker: int) -> Decision:
        """A registration is gone: partitions that it led are elected anew, then its replicas leave their ISRs."""
        decision = Decision()
        self.alive.discard(broker)
        self.shutting_down.discard(broker)
        for name, partition in self.partitions.items():
            if partition.leader == broker:
                self.partitions[name] = replace(partition, state=OFFLINE)
        self._elect_offline(self.partitions, decision)
        self._take_offline([broker], self.partitions, decision)
        return decision

    def log_dir_failed(self, broker: int, names: Collection[str]) -> Decision:
        """Replicas on a failed log directory (1.0 on) go the way of those of a broker that died."""
        decision = Decision()
        for name in names:
            self.offline_replicas.setdefault(name, set()).add(broker)
            if self.partitions[name].leader == broker:
                self.partitions[name] = replace(self.partitions[name], state=OFFLINE)
        self._elect_offline(self.partitions, decision)
        self._take_offline([broker], names, decision)
        return decision

    def shut_down(self, broker: int) -> Decision:
        """A broker asks for a controlled shutdown: what it leads moves, what it follows stops."""
        decision = Decision()
        self.shutting_down.add(broker)
        for name, partition in list(self.partitions.items()):
            if partition.leader is None or broker not in partition.replicas or len(partition.replicas) < 2:
                continue
            if moves_on_shutdown(self.release, partition.replicas, partition.leader, broker):
                self._elect(name, Strategy.CONTROLLED_SHUTDOWN, decision)
            elif partition.leader != broker:
                decision.requests.append(Request("StopReplica", broker, name, partition.leader_epoch))
                self._take_offline([broker], [name], decision)
        return decision

    def remaining(self, broker: int) -> list[str]:
        """Partitions with another replica that a broker still leads: a controlled shutdown has not succeeded."""
        return [name for name, p in self.partitions.items() if p.leader == broker and len(p.replicas) > 1]

    def isr_changed(self, name: str, isr: Sequence[int]) -> Decision:
        """A leader has changed its ISR; a reassignment that waited for that goes on."""
        decision = Decision()
        partition = self.partitions[name]
        self._store(
            name,
            replace(partition, isr=tuple(isr), partition_epoch=partition.partition_epoch + 1),
            decision,
            raises=False,
        )
        self._complete(name, decision)
        return decision

    def alter_partition(self, name: str, request: IsrRequest) -> Decision:
        """A leader asks for another ISR (KIP-497, 2.7 on); that may complete a reassignment. All brokers are sent the
        metadata, whatever the answer. ValueError before 2.7."""
        if self.release < Release(2, 7):
            raise ValueError(f"Kafka {self.release} takes no requests to change the ISR; expected 2.7 or later")
        decision, partition = Decision(), self.partitions[name]
        owner = IsrOwner(
            self._led(partition), partition.leader_epoch, partition.partition_epoch, partition.isr, partition.replicas,
            self.alive - self.shutting_down, recovery=partition.recovery,
        )  # fmt: skip
        error, is_written = zk_alter_partition(self.release, owner, request)
        if request.sender not in self.alive:
            error, is_written = "STALE_BROKER_EPOCH", False
        if error != NONE:
            decision.failures.append((name, error))
        if is_written:
            after = replace(
                partition, isr=request.isr, partition_epoch=partition.partition_epoch + 1, recovery=request.recovery,
                controller_epoch=self.epoch,
            )  # fmt: skip
            self._store(name, after, decision, raises=False)
        elif error != "STALE_BROKER_EPOCH":
            self._update_metadata(name, decision)
        if error == NONE:
            self._complete(name, decision)
        return decision

    def elect(self, names: Iterable[str], election_type: str = "PREFERRED") -> Decision:
        """An administrator asks for elections (2.2 on; UNCLEAN from 2.4 on)."""
        decision = Decision()
        for name in names:
            partition = self.partitions[name]
            answer = zk_elect_request(
                self.release, election_type, assigned=partition.replicas, leader=self._led(partition),
                isr=partition.isr, alive=self.alive, shutting_down=self.shutting_down,
                offline_replicas=self.offline_replicas.get(name, ()),
            )  # fmt: skip
            if answer.leader_epoch_bump:
                unclean = answer.leader not in partition.isr
                recovery = recovery_after(self.release, unclean, partition.recovery)
                self._write(name, answer.leader, answer.isr, decision, recovery)
            elif answer.error not in ("NONE", "ELECTION_NOT_NEEDED"):
                decision.failures.append((name, answer.error))
        return decision

    def reassign(self, name: str, target: Sequence[int]) -> Decision:
        """A reassignment is asked for by znode; it goes as far as the ISR lets it.

        From 2.4 on it replaces a pending one (KIP-455); until 2.3 the znode is not read while there is one.
        """
        decision, partition = Decision(), self.partitions[name]
        if partition.target is not None and self.release < KIP_455:
            return decision
        live = self.alive - self.shutting_down
        error = refusal_of(self.release, _lists(partition), target, live, by_znode=True)
        if error is None:
            self._reassign(name, target, decision)
        elif error:
            decision.failures.append((name, error))
        return decision

    def cancel(self, name: str) -> Decision:
        """A pending reassignment is taken back: the origin is the target (2.4 on). ValueError before 2.4."""
        if self.release < KIP_455:
            raise ValueError(f"Kafka {self.release} cancels no reassignments; expected 2.4 or later")
        decision, partition = Decision(), self.partitions[name]
        if not partition.adding and not partition.removing:
            decision.failures.append((name, "NO_REASSIGNMENT_IN_PROGRESS"))
        else:
            origin = [broker for broker in partition.replicas if broker not in partition.adding]
            self._reassign(name, origin, decision)
        return decision

    def fail_over(self, epoch: int) -> Decision:
        """Another controller takes over: from 2.3 on dead replicas leave their ISRs (KAFKA-3143), then partitions whose
        leader is gone are elected, and pending reassignments are taken up again, with another leader epoch."""
        decision = Decision()
        self.epoch = epoch
        self.shutting_down.clear()
        if self.release >= Release(2, 3):
            dead = {broker for p in self.partitions.values() for broker in p.replicas} - self.alive
            self._take_offline(sorted(dead), self.partitions, decision)
        for name, partition in self.partitions.items():
            is_led = partition.leader in self._online(name)
            state = NEW if partition.leader is None else ONLINE if is_led else OFFLINE
            self.partitions[name] = replace(partition, state=state)
        self._elect_offline(self.partitions, decision)
        for name, partition in list(self.partitions.items()):
            if partition.target is not None:
                self._reassign(name, partition.target, decision)
        return decision

    # ---- what they have in common -----------------------------------------------------------------------------------
    def _online(self, name: str) -> frozenset[int]:
        offline = self.offline_replicas.get(name, ())
        return online_replicas(self.release, self.alive, self.shutting_down, offline)

    def _allows_unclean(self, name: str) -> bool | None:
        """Whether a topic allows unclean elections; None: as the release does by default."""
        return None if self.unclean_topics is None else name.rsplit("-", 1)[0] in self.unclean_topics

    @staticmethod
    def _led(partition: ZkPartition) -> int:
        return NO_LEADER if partition.leader is None else partition.leader

    def _elect_offline(self, names: Iterable[str], decision: Decision) -> None:
        """The partitions among some that have no leader."""
        for name in list(names):
            partition = self.partitions[name]
            if partition.leader is None:
                born = zk_new_partition(self.release, partition.replicas, self._online(name))
                if isinstance(born, Elected):
                    first = replace(partition, leader=born.leader, isr=born.isr, partition_epoch=0, state=ONLINE)
                    self._store(name, first, decision, raises=False)
                else:
                    decision.failures.append((name, born.error))
            elif partition.state == OFFLINE:
                self._elect(name, Strategy.OFFLINE, decision)

    def _elect(self, name: str, strategy: Strategy, decision: Decision) -> None:
        partition = self.partitions[name]
        outcome = zk_elect(
            self.release, strategy, assigned=partition.replicas, isr=partition.isr, leader=self._led(partition),
            leader_epoch=partition.leader_epoch, alive=self.alive, shutting_down=self.shutting_down,
            offline_replicas=self.offline_replicas.get(name, ()),
            unclean_enabled=self._allows_unclean(name),
            controller_epoch=self.epoch, stored_controller_epoch=partition.controller_epoch,
            recovery=partition.recovery,
        )  # fmt: skip
        if isinstance(outcome, Refused):
            decision.failures.append((name, outcome.error))
        else:
            self._write(name, outcome.leader, outcome.isr, decision, outcome.recovery)

    def _take_offline(self, brokers: Iterable[int], names: Iterable[str], decision: Decision) -> None:
        """Replicas of brokers leave the ISRs of partitions."""
        for name in list(names):
            for broker in brokers:
                partition = self.partitions[name]
                if partition.leader is None or broker not in partition.replicas:
                    continue
                removed = zk_remove_replica(
                    self.release, broker, assigned=partition.replicas, leader=partition.leader, isr=partition.isr,
                    leader_epoch=partition.leader_epoch, unclean_enabled=self._allows_unclean(name),
                    controller_epoch=self.epoch, stored_controller_epoch=partition.controller_epoch,
                )  # fmt: skip
                if isinstance(removed, Refused):
                    decision.failures.append((name, removed.error))
                elif removed.written:
                    self._write(name, removed.leader, removed.isr, decision)

    def _complete(self, name: str, decision: Decision) -> None:
        """A pending reassignment whose target is in sync goes on."""
        partition = self.partitions[name]
        if partition.target is not None and set(partition.target) <= set(partition.isr):
            self._reassign(name, partition.target, decision)

    def _reassign(self, name: str, target: Sequence[int], decision: Decision) -> None:
        """A run of onPartitionReassignment. A partition of which nothing is stored only gets the lists: it waits."""
        partition = self.partitions[name]
        controller = ReassigningController(
            self.release, self._online(name), frozenset(self.alive), self._allows_unclean(name)
        )
        at = ReassignmentStep("before", partition.replicas, self._led(partition), partition.isr, partition.leader_epoch)
        run = reassignment_pass(controller, at, _lists(partition), target)
        for step in run.steps if partition.leader is not None else ():
            now = self.partitions[name]
            after = replace(now, replicas=step.assignment)
            if step.leader_epoch > now.leader_epoch or step.leader != now.leader:
                after = replace(
                    after, leader=step.leader, isr=step.isr, leader_epoch=step.leader_epoch,
                    partition_epoch=now.partition_epoch + 1, controller_epoch=self.epoch,
                    state=now.state if step.leader in (NO_LEADER, now.leader) else ONLINE,
                )  # fmt: skip
                decision.writes.append((name, after))
            self.partitions[name] = after
            decision.requests += [
                Request(request.kind, broker, name, step.leader_epoch, request.deletes)
                for request in step.requests
                for broker in request.brokers
            ]
        if run.error is not None:
            decision.failures.append((name, run.error))
        self.partitions[name] = replace(
            self.partitions[name],
            replicas=run.lists.replicas,
            adding=run.lists.adding,
            removing=run.lists.removing,
            target=None if run.completed and partition.leader is not None else tuple(target),
        )

    def _write(
        self, name: str, leader: int, isr: Sequence[int], decision: Decision, recovery: str | None = None
    ) -> None:
        """A new leader epoch."""
        before = self.partitions[name]
        after = replace(
            before,
            leader=leader,
            isr=tuple(isr),
            leader_epoch=before.leader_epoch + 1,
            partition_epoch=before.partition_epoch + 1,
            state=OFFLINE if leader == NO_LEADER else ONLINE,
            recovery=before.recovery if recovery is None else recovery,
        )
        self._store(name, after, decision)

    def _store(self, name: str, after: ZkPartition, decision: Decision, *, raises: bool = True) -> None:
        """A state is written; if the controller did, its replicas that are there are told, and all brokers."""
        if raises or self.partitions[name].leader is None:
            after = replace(after, controller_epoch=self.epoch)
            for broker in sorted(set(after.replicas) & self.alive):
                decision.requests.append(Request("LeaderAndIsr", broker, name, after.leader_epoch))
        self.partitions[name] = after
        decision.writes.append((name, after))
        self._update_metadata(name, decision)

    def _update_metadata(self, name: str, decision: Decision) -> None:
        leader_epoch = self.partitions[name].leader_epoch
        decision.requests += [Request("UpdateMetadata", broker, name, leader_epoch) for broker in sorted(self.alive)]


def _lists(partition: ZkPartition) -> ReassignmentLists:
    return ReassignmentLists(partition.replicas, partition.adding, partition.removing)
