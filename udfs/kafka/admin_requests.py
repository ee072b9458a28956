"""What the tools for reassignments and elections would have done to a partition: Kafka's algorithms as a what-if.

After kafka.admin.ReassignPartitionsCommand and LeaderElectionCommand; the controller's part is in `zk_reassignment`,
`reassignment`, `elections` and `kraft_elections`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from schemas.kafka_values import NO_LEADER
from udfs.kafka.elections import Choice, ElectionAnswer, elect_offline, elect_preferred, zk_elect_request
from udfs.kafka.kraft_elections import acceptable_brokers, fails_to_add, kraft_elect_request, partition_change
from udfs.kafka.kraft_partition import ControllerConfig, PartitionRegistration, RequestedChange, apply_change
from udfs.kafka.placement import StripedBroker, place_rack_unaware, place_striped
from udfs.kafka.reassignment import ReassignmentLists, kraft_reassign_lists
from udfs.kafka.releases import ProtocolVersion, Release
from udfs.kafka.zk_reassignment import KIP_455, ReassignmentStep, zk_reassign_trace

LOG_DIRS = Release(1, 1)
"""From here on the tool's plans name log directories (KIP-113)."""
STRIPED_PLANS = Release(4, 1)
"""From here on it places as KRaft does."""
WAITS = "it waits for replicas to catch up"


@dataclass(frozen=True)
class Controller:
    """What decides what a controller does: its release, its mode, and the brokers that it takes for alive (KRaft:
    unfenced). `registered`, in KRaft: those and the fenced ones; None: nobody is fenced. `elr_enabled`: KIP-966."""

    release: Release
    kraft: bool
    alive: frozenset[int]
    shutting_down: frozenset[int] = frozenset()
    registered: frozenset[int] | None = None
    elr_enabled: bool = False

    @property
    def live(self) -> frozenset[int]:
        """Those of the alive brokers that do not shut down."""
        return self.alive - self.shutting_down

    @property
    def acceptable(self) -> frozenset[int]:
        """Who may lead in KRaft."""
        return acceptable_brokers(self.release, self.alive, self.shutting_down)

    def config(self, min_isr: int) -> ControllerConfig:
        """What KRaft's decisions go by; the metadata version is the release's own."""
        version = ProtocolVersion.parse(str(self.release.line))
        return ControllerConfig(self.release, version, elr_enabled=self.elr_enabled, min_isr=min_isr)


@dataclass(frozen=True)
class Partition:
    """A partition as the controller has it: `replicas` with those that a pending reassignment adds and removes."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    min_isr: int = 1

    @property
    def registration(self) -> PartitionRegistration:
        """The same for KRaft's functions."""
        return PartitionRegistration(
            self.replicas, self.isr, self.leader, self.leader_epoch,
            adding=self.adding, removing=self.removing, elr=self.elr, last_known_elr=self.last_known_elr,
        )  # fmt: skip


def elect(controller: Controller, partition: Partition, election_type: str) -> ElectionAnswer:
    """The answer to a request for a PREFERRED or UNCLEAN election, and who leads then.

    Before 2.2 a preferred election is asked for by znode, which answers nothing. UNCLEAN is a ValueError before 2.4
    (KIP-460), as is any request to KRaft before 3.0.
    """
    if controller.kraft:
        _need_kraft_3(controller, "election requests")
        config = controller.config(partition.min_isr)
        return kraft_elect_request(config, partition.registration, controller.acceptable, election_type)
    if controller.release < Release(2, 2) and election_type == "PREFERRED":
        choice = elect_preferred(
            controller.release, partition.replicas, partition.isr, partition.leader, controller.live
        )
        if isinstance(choice, Choice):
            return ElectionAnswer("NONE", choice.leader, choice.isr, 1)
        return ElectionAnswer(choice.error, partition.leader, partition.isr, 0)
    return zk_elect_request(
        controller.release, election_type, assigned=partition.replicas, leader=partition.leader, isr=partition.isr,
        alive=controller.alive, shutting_down=controller.shutting_down,
    )  # fmt: skip


def lose(controller: Controller, partition: Partition, lost: Collection[int]) -> tuple[int, tuple[int, ...]]:
    """Who leads a partition once brokers are lost at once, its leader among them, and who is in sync; -1: nobody leads.
    No election is unclean.

    KRaft takes them out of the ISR, and elects of the rest; if there is none, of the eligible leader replicas
    (ReplicationControlManager.handleBrokerFenced, 3.0 on).
    """
    if controller.kraft and controller.release >= Release(3):
        asked = RequestedChange(isr=tuple(broker for broker in partition.isr if broker not in lost))
        before, acceptable = partition.registration, controller.acceptable - {*lost}
        config = controller.config(partition.min_isr)
        after = apply_change(before, partition_change(config, before, acceptable, "ONLINE", asked))
        return after.leader, after.isr
    online = controller.live - {*lost}
    choice = elect_offline(controller.release, partition.replicas, partition.isr, online, unclean_enabled=False)
    if not isinstance(choice, Choice) or choice.unclean:
        return NO_LEADER, partition.isr
    return choice.leader, choice.isr


def _need_kraft_3(controller: Controller, requests: str) -> None:
    if controller.release < Release(3):
        raise ValueError(f"Kafka {controller.release} with KRaft takes no {requests}")


def generate(
    release: Release, partitions: Sequence[Partition], brokers: Sequence[int], start_index: int
) -> list[Partition]:
    """The plan that `kafka-reassign-partitions --generate` proposes without racks: each topic placed anew over some
    brokers, with the replication factor that it has; from 4.1 on as KRaft places it (StripedReplicaPlacer). Kafka draws
    the start, and striped each further number: here it is the start, too. ValueError for too few brokers, of the first
    topic that has too few."""
    by_topic: dict[str, list[Partition]] = {}
    for partition in partitions:
        by_topic.setdefault(partition.topic, []).append(partition)
    proposed = []
    for topic, of_topic in by_topic.items():
        replication_factor = len(of_topic[0].replicas)
        if replication_factor > len(brokers):
            there = {0: "is no broker", 1: "is only 1 broker"}.get(len(brokers), f"are only {len(brokers)} brokers")
            raise ValueError(
                f"Topic {topic} has replication factor {replication_factor}, but there {there} to place it on"
            )
        if release >= STRIPED_PLANS:
            usable = [StripedBroker(broker) for broker in sorted(brokers)]
            striped = place_striped(usable, len(of_topic), replication_factor, lambda bound: start_index % bound)
            placed = dict(enumerate(striped))
        else:
            placed = place_rack_unaware(sorted(brokers), len(of_topic), replication_factor, start_index)
        for number, partition in enumerate(sorted(of_topic, key=lambda p: p.partition)):
            proposed.append(replace(partition, replicas=placed[number]))
    return proposed


def plan_json(release: Release, partitions: Sequence[Partition]) -> dict[str, object]:
    """Assignments as the tool prints and reads them; from 1.1 on with log directories."""

    def entry(partition: Partition) -> Mapping[str, object]:
        fields: dict[str, object] = {
            "topic": partition.topic,
            "partition": partition.partition,
            "replicas": list(partition.replicas),
        }
        return fields | ({"log_dirs": ["any"] * len(partition.replicas)} if release >= LOG_DIRS else {})

    return {"version": 1, "partitions": [entry(partition) for partition in partitions]}


def execute(
    controller: Controller, partition: Partition, target: Sequence[int]
) -> tuple[list[ReassignmentStep], str | None]:
    """The steps of a reassignment that is asked for by the API (before 2.4 by znode), if the added replicas that are
    alive catch up in their order, and the error that refuses it or that its end met with; null: it ends.

    It replaces a pending one; before 2.4 the tool refuses that. ValueError for KRaft before 3.0, which takes none.
    """
    if controller.kraft:
        _need_kraft_3(controller, "reassignments")
        return _kraft_steps(controller, partition, target)
    if controller.release < KIP_455 and (partition.adding or partition.removing):
        return [], "There is an existing assignment running"
    outcome = zk_reassign_trace(
        controller.release, partition.replicas, target, leader=partition.leader, isr=partition.isr,
        leader_epoch=partition.leader_epoch, alive=controller.live,
        catch_up_order=_joining(partition, target, controller.live), adding=partition.adding,
        removing=partition.removing, shutting_down=controller.shutting_down,
    )  # fmt: skip
    waits = None if outcome.completed or outcome.ignored else WAITS
    return list(outcome.steps), outcome.error or waits


def _joining(partition: Partition, target: Sequence[int], live: Collection[int]) -> list[int]:
    """Who of a target is to join the ISR: added replicas that can."""
    staying = {*partition.replicas} - {*partition.adding}
    return [broker for broker in target if broker not in staying and broker in live and broker not in partition.isr]


def _kraft_steps(
    controller: Controller, partition: Partition, target: Sequence[int]
) -> tuple[list[ReassignmentStep], str | None]:
    """The same in KRaft: the record that begins it, one for each replica that catches up; the last one completes it.

    All targets must be registered, alive or not (ReplicationControlManager.validateManualPartitionAssignment, 3.0 on).
    """
    registered = controller.alive if controller.registered is None else controller.registered
    if not target or len(set(target)) < len(target) or not set(target) <= registered:
        return [], "INVALID_REPLICA_ASSIGNMENT"
    now, acceptable = partition.registration, controller.acceptable
    lists = kraft_reassign_lists(ReassignmentLists(now.replicas, now.adding, now.removing), target)
    begin = RequestedChange(replicas=lists.replicas, adding=lists.adding, removing=lists.removing)
    config, steps = controller.config(partition.min_isr), list[ReassignmentStep]()
    for text, request in _kraft_requests(begin, _joining(partition, target, acceptable)):
        if request.isr is not None and now.leader not in controller.alive:
            break  # nobody to catch up with
        asked = request if request.isr is None else replace(request, isr=(*now.isr, *request.isr))
        record = partition_change(config, now, acceptable, "ONLINE", asked)
        if fails_to_add(now, record):
            return steps, "UNKNOWN_SERVER_ERROR"
        after = apply_change(now, record)
        if after != now:
            done = ", which completes it" if not after.adding and not after.removing else ""
            steps.append(ReassignmentStep(f"{text}{done}", after.replicas, after.leader, after.isr, after.leader_epoch))
        now = after
    return steps, WAITS if now.adding or now.removing else None


def _kraft_requests(begin: RequestedChange, joining: Sequence[int]) -> Iterator[tuple[str, RequestedChange]]:
    yield "assignment changed", begin
    for broker in joining:
        yield f"{broker} caught up", RequestedChange(isr=(broker,))


def verify(partition: Partition, target: Sequence[int], *, is_reassigning: bool) -> str:
    """What `kafka-reassign-partitions --verify` says of a partition (2.6 on).

    >>> verify(Partition("a", 0, (1, 2), (1, 2), 1, 0), [1, 2], is_reassigning=False)
    'Reassignment of partition a-0 is completed.'
    """
    name = f"{partition.topic}-{partition.partition}"
    if is_reassigning:
        return f"Reassignment of partition {name} is still in progress."
    if tuple(target) == partition.replicas:
        return f"Reassignment of partition {name} is completed."
    present, wanted = (",".join(map(str, replicas)) for replicas in (partition.replicas, target))
    return f"There is no active reassignment of partition {name}, but replica set is {present} rather than {wanted}."
