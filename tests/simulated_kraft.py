"""A small KRaft cluster under random faults: the lines that its controller and brokers log at INFO, and the truth.

One controller, 2 to 4 brokers, 1 to 3 partitions. What it decides is written down here by itself, from
PartitionChangeBuilder and ReplicationControlManager, and shares no code with what is tested. Lines are those of the
captures with other values; `events_of` reads them by the project's rules.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from udfs.reconstruct.kraft_facts import (
    ASSIGNMENT_CHANGED,
    CONTROLLED_SHUTDOWN,
    FENCED,
    UNFENCED,
    ControllerStep,
    KnownState,
    PartitionRules,
)
from udfs.reconstruct.kraft_shown import Coverage
from udfs.rules.parsing import read_message

CONTROLLER = 100
SESSION_MS = 9000
REPLICATION, HEARTBEAT = (
    f"org.apache.kafka.controller.{name}" for name in ("ReplicationControlManager", "BrokerHeartbeatManager")
)
STATE_CHANGE, PARTITION = "state.change.logger", "kafka.cluster.Partition"


class Line(NamedTuple):
    """One logged line."""

    at: int
    node: int
    logger: str
    message: str


class State(NamedTuple):
    """A committed state of a partition."""

    at: int
    partition_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]


@dataclass
class Broker:
    """A broker: `alive` its process, `active` what the controller takes it for."""

    alive: bool = True
    active: bool = True
    leader_epochs: dict[int, int] = field(default_factory=dict)
    """Partition -> leader epoch that it last applied."""
    spans: list[list[int]] = field(default_factory=list)
    """When its process ran."""


class SimulatedCluster:
    """A cluster from its start on; `until_3_5`: a release that raises the leader epoch with each shrink."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.until_3_5 = self.dice.random() < 0.4
        self.now = 1_000_000
        self.brokers = {n: Broker(spans=[[self.now, -1]]) for n in range(self.dice.randint(2, 4))}
        self.history: dict[int, list[State]] = {}
        self.lines: list[Line] = []
        self.publications: list[tuple[int, int]] = []
        """When a broker applies the metadata next, and which."""
        for partition in range(self.dice.randint(1, 3)):
            size = self.dice.randint(1, min(3, len(self.brokers)))
            replicas = tuple(self.dice.sample(sorted(self.brokers), size))
            self.history[partition] = [State(self.now, 0, replicas[0], 0, tuple(sorted(replicas)), replicas)]
            self._log_creation(partition, self.history[partition][0])
            self._publish(replicas)

    @property
    def rules(self) -> PartitionRules:
        """What holds of its release."""
        return PartitionRules(True, self.until_3_5, self.until_3_5, has_directories=False)

    def run(self, faults: int) -> None:
        """Some faults, one after another, and time for the lines about the last."""
        for _ in range(faults):
            self._wait(self.dice.choice([300, 2000, 15000, 40000]))
            self.dice.choice(
                [self._kill, self._kill, self._shut_down, self._start, self._start, self._start, self._shrink,
                 self._expand, self._expand, self._expand, self._prefer, self._reassign]
            )()  # fmt: skip
        self._wait(40000)
        for broker in self.brokers.values():
            if broker.spans[-1][1] < 0:
                broker.spans[-1][1] = self.now

    def _wait(self, most_ms: int) -> None:
        until = self.now + self.dice.randint(20, most_ms)
        while due := [p for p in sorted(self.publications) if p[0] <= until]:
            self.now, broker = due[0]
            self.publications.remove(due[0])
            self._apply(broker)
        self.now = until

    # ---- faults
    def _pick(self, *, alive: bool) -> int | None:
        able = [n for n, broker in self.brokers.items() if broker.alive == alive]
        return self.dice.choice(able) if able else None

    def _kill(self) -> None:
        broker = self._pick(alive=True)
        if broker is not None:
            self._stop(broker)
            self._wait(SESSION_MS)
            self._say(REPLICATION, f"Fencing broker {broker} because its session has timed out.")
            self._remove(broker, "handleBrokerFenced")

    def _shut_down(self) -> None:
        broker = self._pick(alive=True)
        if broker is not None:
            self._say(HEARTBEAT, f"Unfenced broker {broker} has requested and been granted a controlled shutdown.")
            self._remove(broker, f"enterControlledShutdown[{broker}]")
            self._wait(1500)
            self._stop(broker)
            self._say(
                HEARTBEAT,
                f"The request from broker {broker} to shut down has been granted since the lowest active offset 9 is "
                "now greater than the broker's controlled shutdown offset 8.",
            )
            self._remove(broker, "handleBrokerFenced")

    def _stop(self, broker: int) -> None:
        self.brokers[broker].alive = False
        self.brokers[broker].spans[-1][1] = self.now
        self.publications = [p for p in self.publications if p[1] != broker]

    def _start(self) -> None:
        broker = self._pick(alive=False)
        if broker is None:
            return
        self.brokers[broker] = Broker(spans=[*self.brokers[broker].spans, [self.now, -1]])
        self._wait(3000)
        self._say(
            HEARTBEAT,
            f"The request from broker {broker} to unfence has been granted because it has caught up with the offset of "
            "its register broker record 7.",
        )
        changed = 0
        for partition, state in self._last().items():
            if state.leader < 0 and broker in state.isr:
                self._write(partition, leader=broker)
                changed += 1
        self._count("handleBrokerUnfenced", changed)
        self._publish([broker])

    def _shrink(self) -> None:
        self._by_leader(lambda state: [n for n in state.isr if n != state.leader], is_shrink=True)

    def _expand(self) -> None:
        self._by_leader(
            lambda state: [n for n in state.replicas if n not in state.isr and self.brokers[n].alive], is_shrink=False
        )

    def _by_leader(self, choices: Any, *, is_shrink: bool) -> None:
        able = [
            (p, n)
            for p, state in self._last().items()
            if state.leader >= 0 and self.brokers[state.leader].alive and self.brokers[state.leader].active
            for n in choices(state)
            if is_shrink or self.brokers[n].active
        ]
        if not able:
            return
        partition, replica = self.dice.choice(able)
        state = self._last()[partition]
        isr = set(state.isr) ^ {replica}
        after = self._write(partition, leader=state.leader if is_shrink and self.until_3_5 else None, isr=isr)
        if not (is_shrink and self.until_3_5):
            members = ",".join(map(str, after.isr))
            message = f"[Partition t-{partition} broker={state.leader}] ISR updated to {members} "
            self.lines.append(
                Line(self.now + 5, state.leader, PARTITION, f"{message}and version updated to {after.partition_epoch}")
            )

    def _prefer(self) -> None:
        for partition, state in self._last().items():
            preferred = state.replicas[0]
            if state.leader not in (-1, preferred) and preferred in state.isr and self.brokers[preferred].active:
                self._write(partition, leader=preferred)

    def _reassign(self) -> None:
        """Replicas are added, by a record that the controller prints; they stay `adding`."""
        partition = self.dice.choice(sorted(self.history))
        state = self._last()[partition]
        new = [n for n in self.brokers if n not in state.replicas]
        if new and len(state.replicas) < 3:
            added = self.dice.choice(new)
            replicas = (*state.replicas, added)
            self._write(partition, replicas=replicas)
            record = (
                f"PartitionChangeRecord(partitionId={partition}, topicId=KhF3C-6ySS-jaby-AF3Bxg, isr=null, leader=-2, "
                f"replicas={list(replicas)}, removingReplicas=null, addingReplicas=[{added}], leaderRecoveryState=-1)"
            )
            self._say(REPLICATION, f"Replayed partition assignment change {record} for topic t")

    # ---- the controller
    def _last(self) -> dict[int, State]:
        return {partition: states[-1] for partition, states in self.history.items()}

    def _remove(self, broker: int, context: str) -> None:
        self.brokers[broker].active = False
        changed = 0
        for partition, state in self._last().items():
            if broker not in state.isr:
                continue
            others = set(state.isr) - {broker}
            if not others:
                if state.leader >= 0 or self.until_3_5:
                    self._write(partition, leader=-1)
                    changed += 1
                continue
            is_led = state.leader in others
            leader = state.leader if is_led else next(n for n in state.replicas if n in others)
            self._write(partition, leader=None if is_led and not self.until_3_5 else leader, isr=others)
            changed += 1
        self._count(context, changed)

    def _write(
        self,
        partition: int,
        leader: int | None = None,
        isr: set[int] | None = None,
        replicas: tuple[int, ...] | None = None,
    ) -> State:
        old = self.history[partition][-1]
        new = State(
            self.now,
            old.partition_epoch + 1,
            old.leader if leader is None else leader,
            old.leader_epoch + (leader is not None),
            old.isr if isr is None else tuple(sorted(isr)),
            replicas or old.replicas,
        )
        self.history[partition].append(new)
        self._publish(new.replicas)
        return new

    # ---- lines
    def _say(self, logger: str, message: str) -> None:
        name = f"Controller {CONTROLLER}" if self.until_3_5 else f"QuorumController id={CONTROLLER}"
        self.lines.append(Line(self.now, CONTROLLER, logger, f"[{name}] {message}"))

    def _count(self, context: str, changed: int) -> None:
        if changed:
            self._say(REPLICATION, f"{context}: changing {changed} partition(s)")

    def _log_creation(self, partition: int, state: State) -> None:
        created = "Created partition" if self.until_3_5 else "Replayed PartitionRecord for new partition"
        self._say(
            REPLICATION,
            f"{created} t-{partition} with topic ID KhF3C-6ySS-jaby-AF3Bxg and PartitionRegistration("
            f"replicas={list(state.replicas)}, isr={list(state.isr)}, removingReplicas=[], addingReplicas=[], "
            f"leader={state.leader}, leaderRecoveryState=RECOVERED, leaderEpoch=0, partitionEpoch=0).",
        )

    def _publish(self, replicas: Iterable[int]) -> None:
        """Brokers apply the metadata some time later, all that there is by then at once."""
        for broker in replicas:
            if self.brokers[broker].alive:
                self.publications.append((self.now + self.dice.randint(10, 400), broker))

    def _apply(self, broker: int) -> None:
        for partition, state in self._last().items():
            leader_epochs = self.brokers[broker].leader_epochs
            if broker not in state.replicas or leader_epochs.get(partition, -1) >= state.leader_epoch:
                continue
            leader_epochs[partition] = state.leader_epoch
            if state.leader == broker:
                members = ",".join(map(str, state.isr))
                message = (
                    f"Leader t-{partition} with topic id Some(KhF3C-6ySS-jaby-AF3Bxg) starts at leader epoch "
                    f"{state.leader_epoch} from offset 0 with partition epoch {state.partition_epoch}, high watermark "
                    f"0, ISR [{members}], adding replicas [] and removing replicas []. Previous leader epoch was 0."
                )
            else:
                message = (
                    f"Follower t-{partition} starts at leader epoch {state.leader_epoch} from offset 0 with partition "
                    f"epoch {state.partition_epoch} and high watermark 0. Current leader is {state.leader}. Previous "
                    "leader epoch was 0."
                )
            self.lines.append(Line(self.now, broker, STATE_CHANGE, f"[Broker id={broker}] {message}"))


class Evidence(NamedTuple):
    """What the lines of a cluster show, as the engine takes it; times in microseconds."""

    known: dict[int, list[KnownState]]
    steps: dict[int, list[ControllerStep]]
    coverage: Coverage
    until: int


KINDS = {
    "kraft_broker_session_timeout": FENCED,
    "kraft_broker_shutdown_granted": FENCED,
    "kraft_broker_unfence_granted": UNFENCED,
    "kraft_broker_controlled_shutdown_granted": CONTROLLED_SHUTDOWN,
}


def evidence_of(cluster: SimulatedCluster) -> Evidence:
    """The lines of a cluster, read by the project's rules."""
    states_by_partition: dict[int, dict[int, list[KnownState]]] = {}
    brokers: list[ControllerStep] = []
    partitions: dict[int, list[ControllerStep]] = {}
    for number, (at, event) in enumerate(events_of(cluster.lines)):
        kind, micros = event["event_type"], at * 1000
        if kind in KINDS:
            brokers.append(
                ControllerStep(micros, CONTROLLER, "c", number, KINDS[kind], int(event["broker"]), changed=0)
            )
        elif kind == "kraft_partitions_changing_summary":
            brokers[-1] = brokers[-1]._replace(changed=int(event["partition_count"]))
        elif kind == "kraft_partition_assignment_changed":
            record = ControllerStep(
                micros, CONTROLLER, "c", number, ASSIGNMENT_CHANGED, None, None, None, event["replicas"]
            )
            partitions.setdefault(event["partition"], []).append(record)
        else:
            state = _known(event, micros)
            states_by_partition.setdefault(event["partition"], {}).setdefault(state.partition_epoch, []).append(state)
    known = {partition: _merged(states) for partition, states in states_by_partition.items()}
    steps = {
        partition: sorted([*brokers, *partitions.get(partition, [])], key=lambda step: (step.at, step.line))
        for partition in known
    }
    coverage = {
        number: [(since * 1000, until * 1000) for since, until in broker.spans]
        for number, broker in cluster.brokers.items()
    }
    return Evidence(known, steps, coverage, cluster.now * 1000)


def events_of(lines: Iterable[Line]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Lines in the order of time, each read by its rule. Raises AssertionError for one that no rule knows."""
    for line in sorted(lines, key=lambda line: line.at):
        event = read_message(line.logger, line.message)
        assert event is not None, line
        yield line.at, event


def _known(event: dict[str, Any], at: int) -> KnownState:
    is_own = event["event_type"] in ("isr_updated", "partition_leader_epoch_started")
    return KnownState(
        event["partition_epoch"], event["node"] if is_own else event["leader"], event.get("leader_epoch"),
        event.get("isr"), None, event.get("replicas"), None, at, event["event_type"] == "isr_updated",
    )  # fmt: skip


def _merged(by_epoch: dict[int, list[KnownState]]) -> list[KnownState]:
    """One state for each partition epoch, with what any of its lines shows; a leader's change keeps its epoch."""
    merged: list[KnownState] = []
    for epoch, states in sorted(by_epoch.items()):

        def first(name: str, states: list[KnownState] = states) -> Any:
            return next((value for state in states if (value := getattr(state, name)) is not None), None)

        isr = first("isr")
        state = KnownState(
            epoch, first("leader"), first("leader_epoch"), None if isr is None else sorted(isr), None,
            first("replicas"), None, min(state.at for state in states), any(state.by_leader for state in states),
        )  # fmt: skip
        before = merged[-1] if merged and merged[-1].partition_epoch == epoch - 1 else None
        if state.leader_epoch is None and before is not None:
            state = state._replace(leader_epoch=before.leader_epoch)
        merged.append(state)
    return merged
