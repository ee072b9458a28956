"""A ZooKeeper controller and its brokers in a few lines: random faults, the lines that they log at INFO, and the truth.

Four ways to log, as releases have them: `2.2` leaders log changes of the ISR as they write them; `2.4` they report each
write; `2.6` the controller logs its writes, too; `3.6` the controller writes on behalf of leaders, and shrinks an ISR
without raising the leader epoch (KAFKA-15021). Wordings are those of the captures. `decidable` says by brute force
which states the lines of one partition leave no choice about.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import NamedTuple

ERAS = ("2.2", "2.4", "2.6", "3.6")
VERSIONS = {"2.2": "2.2.2", "2.4": "2.4.1", "2.6": "2.6.3", "3.6": "3.9.1"}
BROKERS = (0, 1, 2, 3)
BEGIN = datetime(2026, 3, 1, 10, tzinfo=UTC)
DIES_WRITING = 0.25
"""How often a leader dies between logging that it changes the ISR and doing so (until 2.3)."""
Isr = tuple[int, ...]


class State(NamedTuple):
    """A version of a partition's znode; its number is its place in the history. Leader -1: none. The ISR is sorted."""

    leader: int
    leader_epoch: int
    isr: Isr


class Line(NamedTuple):
    """What one line about a partition says, as brute force reads it; what it does not print is None.

    `kind`: `starts` (the writer begins a leader epoch), `reports` (the leader's write, done), `writes` (as it is done;
    with `isr_before`), `states` (the controller's write).
    """

    kind: str
    leader: int | None = None
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    isr: Isr | None = None
    isr_before: Isr | None = None


@dataclass
class Partition:
    """One partition: what is stored, what its leader believes, and what was logged of it."""

    name: str
    replicas: Isr
    is_unclean: bool = False
    """Whether its topic allows unclean elections, which no line tells."""
    history: list[State] = field(default_factory=list)
    since: list[datetime] = field(default_factory=list)
    led_by: dict[int, int] = field(default_factory=dict)
    """By broker the newest leader epoch in which it was sent to lead."""
    lines: list[Line] = field(default_factory=list)
    failed: list[datetime] = field(default_factory=list)
    """When elections of it failed."""


class Cluster:
    """Brokers, one of them the controller, and partitions; `logs` by path."""

    def __init__(self, era: str, seed: int, partitions: int) -> None:
        self.era, self.random = era, random.Random(f"{era}-{seed}")
        self.now = BEGIN + timedelta(seconds=self.random.randrange(600))
        self.live, self.controller, self.epoch = {*BROKERS}, 0, 0
        self.logs: defaultdict[str, list[str]] = defaultdict(list)
        self.partitions = [self._partition(seed, number) for number in range(partitions)]
        for broker in BROKERS:
            self._start(broker)
        self._elected(0)
        for one in self.partitions:
            if era == "2.6" or era == "3.6":
                self._log(
                    self.controller, "state-change",
                    f"[Controller id={self.controller} epoch={self.epoch}] Changed partition {one.name} state from "
                    f"NonExistentPartition to NewPartition with assigned replicas {_ids(one.replicas)}",
                )  # fmt: skip
            self._write(one, State(one.replicas[0], 0, _sorted(one.replicas)), "NewPartition")

    def _partition(self, seed: int, number: int) -> Partition:
        first, size = self.random.randrange(len(BROKERS)), self.random.choice((2, 3, 3))
        replicas = tuple((first + i) % len(BROKERS) for i in range(size))
        return Partition(f"sim-{seed}-{number}", replicas, is_unclean=number % 4 == 3)

    # ---- lines
    def _log(self, node: int, kind: str, text: str, level: str = "INFO") -> None:
        logger = {
            "state-change": "state.change.logger", "controller": "kafka.controller.KafkaController",
            "server": "kafka.server.KafkaServer", "partition": "kafka.cluster.Partition",
            "app": "org.apache.kafka.common.utils.AppInfoParser",
        }[kind]  # fmt: skip
        file = {"partition": "server", "app": "server"}.get(kind, kind)
        at = self.now.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
        head, *rest = text.split("\n")
        self.logs[f"broker-{node}/{file}.log"] += [f"[{at}] {level} {head} ({logger})", *rest]
        self.now += timedelta(milliseconds=self.random.choice((1, 1, 2, 3)))

    def _start(self, broker: int) -> None:
        self._log(broker, "app", f"Kafka version: {VERSIONS[self.era]}")
        self._log(broker, "server", f"[KafkaServer id={broker}] started")

    def _elected(self, broker: int) -> None:
        self.controller, self.epoch = broker, self.epoch + 1
        self._log(
            broker, "controller",
            f"[Controller id={broker}] {broker} successfully elected as the controller. Epoch incremented to "
            f"{self.epoch} and epoch zk version is now {self.epoch}",
        )  # fmt: skip

    def _brokers_changed(self, added: Isr, gone: Isr) -> None:
        self._log(
            self.controller, "controller",
            f"[Controller id={self.controller}] Newly added brokers: {_ids(added)}, deleted brokers: {_ids(gone)}, "
            f"bounced brokers: , all live brokers: {_ids(sorted(self.live))}",
        )  # fmt: skip

    # ---- writes
    def _store(self, one: Partition, state: State) -> None:
        one.history.append(state)
        one.since.append(self.now)

    def _write(
        self, one: Partition, state: State, from_state: str = "OnlinePartition", removed: int | None = None
    ) -> None:
        """A controller's write, what it logs of it, and what the leader that is sent it logs."""
        self._store(one, state)
        epoch = len(one.history) - 1
        me = f"[Controller id={self.controller} epoch={self.epoch}]"
        isr = ",".join(map(str, state.isr))
        if self.era in ("2.6", "3.6"):
            if removed is not None:
                recovery = "LeaderRecoveryState:RECOVERED," if self.era == "3.6" else ""
                version = f"ZkVersion:{epoch}," if self.era == "3.6" else ""
                self._log(
                    self.controller, "state-change",
                    f"{me} Partition {one.name} state changed to (Leader:{state.leader},ISR:{isr},{recovery}"
                    f"LeaderEpoch:{state.leader_epoch},{version}ControllerEpoch:{self.epoch}) after removing replica "
                    f"{removed} from the ISR as part of transition to OfflineReplica",
                )  # fmt: skip
                one.lines.append(
                    Line("states", state.leader, state.leader_epoch, epoch if version else None, state.isr)
                )
            else:
                printed = f"isr=List({', '.join(map(str, state.isr))}), zkVersion={epoch}"
                if self.era == "3.6":
                    brokers = ", ".join(f"BrokerState(brokerId={n}, brokerEpoch=-1)" for n in state.isr)
                    printed = (
                        f"isrWithBrokerEpoch=List({brokers}), leaderRecoveryState=RECOVERED, partitionEpoch={epoch}"
                    )
                self._log(
                    self.controller, "state-change",
                    f"{me} Changed partition {one.name} from {from_state} to OnlinePartition with state "
                    f"LeaderAndIsr(leader={state.leader}, leaderEpoch={state.leader_epoch}, {printed})",
                )  # fmt: skip
                one.lines.append(Line("states", state.leader, state.leader_epoch, epoch, state.isr))
        if state.leader in self.live and one.led_by.get(state.leader, -1) < state.leader_epoch:
            self._begins(one, state, epoch)

    def _begins(self, one: Partition, state: State, epoch: int) -> None:
        """The leader learns that it leads in a new leader epoch."""
        before = one.led_by.get(state.leader, -1)
        one.led_by[state.leader] = state.leader_epoch
        leader, le, isr = state.leader, state.leader_epoch, _ids(state.isr)
        if self.era == "2.2":
            text = f"{one.name} starts at Leader Epoch {le} from offset 9. Previous Leader Epoch was: {before}"
        elif self.era == "2.4":
            text = (
                f"{one.name} starts at leader epoch {le} from offset 9 with high watermark 9. Previous leader epoch "
                f"was {before}."
            )
        elif self.era == "2.6":
            text = (
                f"Leader {one.name} starts at leader epoch {le} from offset 9 with high watermark 9 ISR [{isr}] "
                f"addingReplicas [] removingReplicas []. Previous leader epoch was {before}."
            )
        else:
            text = (
                f"Leader {one.name} with topic id Some(Qx3Zr0m9T-K1w_Yb7VtLpA) starts at leader epoch {le} from offset "
                f"9 with partition epoch {epoch}, high watermark 9, ISR [{isr}], adding replicas [] and removing "
                f"replicas [] . Previous leader Some({leader}) and previous leader epoch was {before}."
            )
        if self.era in ("2.2", "2.4"):
            self._log(leader, "partition", f"[Partition {one.name} broker={leader}] {text}")
            one.lines.append(Line("starts", leader, le))
        else:
            self._log(leader, "state-change", f"[Broker id={leader}] {text}")
            one.lines.append(Line("starts", leader, le, epoch if self.era == "3.6" else None, state.isr))

    def _leader_writes(self, one: Partition, isr: Isr) -> None:
        """The leader shrinks or expands the ISR."""
        state = one.history[-1]
        me = f"[Partition {one.name} broker={state.leader}]"
        word = "Expanding" if len(isr) > len(state.isr) else "Shrinking"
        if self.era != "3.6" or word == "Shrinking":
            more = (
                "" if word == "Expanding" else
                ". Leader: (highWatermark: 9, endOffset: 9). Out of sync replicas: (brokerId: "
                f"{next(iter({*state.isr} - {*isr}))}, endOffset: 9)."
            )  # fmt: skip
            self._log(state.leader, "partition", f"{me} {word} ISR from {_ids(state.isr)} to {_ids(isr)}{more}")
        self._store(one, State(state.leader, state.leader_epoch, _sorted(isr)))
        epoch = len(one.history) - 1
        if self.era in ("2.4", "2.6"):
            text = f"ISR updated to [{_ids(isr)}] and zkVersion updated to [{epoch}]"
        else:
            text = f"ISR updated to {_ids(isr)}  and version updated to {epoch}"
        if self.era == "2.2":
            one.lines.append(Line("writes", state.leader, isr=_sorted(isr), isr_before=state.isr))
            return
        self._log(state.leader, "partition", f"{me} {text}")
        before = state.isr if self.era != "3.6" or word == "Shrinking" else None
        one.lines.append(Line("reports", state.leader, None, epoch, _sorted(isr), before))

    def _leader_dies_writing(self, one: Partition) -> None:
        """Until 2.3 the leader logs that it shrinks the ISR, and then writes it: it did not come to that.

        Whom it wanted out is elected. Where nobody follows, the lines are those of a write that was stored.
        """
        state = one.history[-1]
        others = [n for n in state.isr if n != state.leader]
        if len(others) == 1 and others[0] in self.live:
            isr = (state.leader,)
            me = f"[Partition {one.name} broker={state.leader}]"
            self._log(state.leader, "partition", f"{me} Shrinking ISR from {_ids(state.isr)} to {_ids(isr)}")
            one.lines.append(Line("writes", state.leader, isr=isr, isr_before=state.isr))

    # ---- faults
    def step(self) -> None:
        """One thing happens, and all that follows of it."""
        self.now += timedelta(milliseconds=self.random.randrange(200, 3000))
        often = ("lag", "lag", "catch up", "catch up", "catch up")
        what = self.random.choice((*often, "kill", "kill", "start", "start", "preferred", "refused", "failover"))
        if what == "kill" and len(self.live) > 1:
            self._kill(self.random.choice(sorted(self.live)))
        elif what == "start" and len(self.live) < len(BROKERS):
            self._come(self.random.choice(sorted({*BROKERS} - self.live)))
        elif what == "failover" and len(self.live) > 1:
            self._elected(self.random.choice(sorted(self.live - {self.controller})))
        for one in self.partitions:
            if self.random.random() < 0.5:
                self._change(one, what)

    def _change(self, one: Partition, what: str) -> None:
        state = one.history[-1]
        if state.leader not in self.live:
            return
        out = [n for n in one.replicas if n in self.live and n not in state.isr]
        lagging = [n for n in state.isr if n != state.leader]
        if what == "lag" and lagging:
            slow = self.random.choice(lagging)
            self._leader_writes(one, tuple(n for n in state.isr if n != slow))
        elif what == "catch up" and out:
            self._leader_writes(one, (*state.isr, self.random.choice(out)))
        elif what == "preferred" and one.replicas[0] != state.leader and one.replicas[0] in self.live & {*state.isr}:
            self._write(one, State(one.replicas[0], state.leader_epoch + 1, state.isr))
        elif what == "refused" and lagging and self.era in ("2.2", "2.4"):
            self._refused(one)

    def _refused(self, one: Partition) -> None:
        """A frozen leader was replaced while it was about to shrink the ISR: its write is refused."""
        state = one.history[-1]
        version, others = len(one.history) - 1, [n for n in state.isr if n != state.leader and n in self.live]
        if not others:
            return
        isr = tuple(n for n in state.isr if n != others[0])
        self._write(one, State(others[0], state.leader_epoch + 1, state.isr))
        me = f"[Partition {one.name} broker={state.leader}]"
        self._log(
            state.leader, "partition",
            f"{me} Shrinking ISR from {_ids(state.isr)} to {_ids(isr)}. Leader: (highWatermark: 9, endOffset: 9). "
            f"Out of sync replicas: (brokerId: {others[0]}, endOffset: 9).",
        )  # fmt: skip
        cached = f"[{version}]" if self.era == "2.2" else f"{version}"
        refused = f"{me} Cached zkVersion {cached} not equal to that in zookeeper, skip updating ISR"
        self._log(state.leader, "partition", refused)

    def _kill(self, broker: int) -> None:
        self.live.remove(broker)
        if self.era == "2.2":
            for one in self.partitions:
                if one.history[-1].leader == broker and self.random.random() < DIES_WRITING:
                    self._leader_dies_writing(one)
        self.now += timedelta(milliseconds=self.random.randrange(50, 900))
        if broker == self.controller:
            self._elected(self.random.choice(sorted(self.live)))
        self._brokers_changed((), (broker,))
        for one in self.partitions:
            state = one.history[-1]
            if state.leader == broker:
                self._elect(one)
        for one in self.partitions:
            state = one.history[-1]
            if broker in state.isr and (len(state.isr) > 1 or state.leader == broker):
                isr = tuple(n for n in state.isr if n != broker) or state.isr
                leader = -1 if state.leader == broker else state.leader
                keeps = self.era == "3.6" and leader == state.leader
                self._write(one, State(leader, state.leader_epoch + (not keeps), isr), removed=broker)

    def _elect(self, one: Partition) -> None:
        """The election of an offline partition, which may fail."""
        state = one.history[-1]
        isr = tuple(n for n in state.isr if n in self.live)
        leader = next((n for n in one.replicas if n in isr), None)
        if leader is None and one.is_unclean:
            leader = next((n for n in one.replicas if n in self.live), None)
            isr = () if leader is None else (leader,)
        if leader is not None:
            self._write(one, State(leader, state.leader_epoch + 1, isr), "OfflinePartition")
            return
        one.failed.append(self.now)
        me = self.controller
        self._log(
            me, "state-change",
            f"[Controller id={me} epoch={self.epoch}] Controller {me} epoch {self.epoch} failed to change state "
            f"for partition {one.name} from OfflinePartition to OnlinePartition",
            "ERROR",
        )  # fmt: skip
        file = self.logs[f"broker-{self.controller}/state-change.log"]
        file.append(
            f"kafka.common.StateChangeFailedException: Failed to elect leader for partition {one.name} under strategy "
            "OfflinePartitionLeaderElectionStrategy(false)"
        )

    def _come(self, broker: int) -> None:
        self._start(broker)
        self.live.add(broker)
        for one in self.partitions:
            one.led_by.pop(broker, None)
        self._brokers_changed((broker,), ())
        for one in self.partitions:
            if one.history[-1].leader not in self.live:
                self._elect(one)


def _ids(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids))


def _sorted(isr: Iterable[int]) -> Isr:
    return tuple(sorted(isr))


def simulate(era: str, seed: int, *, partitions: int = 10, steps: int = 12) -> Cluster:
    """A cluster after so many things happened to it."""
    cluster = Cluster(era, seed, partitions)
    for _ in range(steps):
        cluster.step()
    cluster.now += timedelta(seconds=1)
    for broker in sorted(cluster.live):
        cluster._log(broker, "server", f"[KafkaServer id={broker}] started")
    return cluster


# ---- brute force ----------------------------------------------------------------------------------------------------
Node = tuple[int, State, int]
"""Partition epoch, state, lines read."""


def decidable(one: Partition, era: str, most_hidden: int = 3) -> dict[int, State]:
    """By partition epoch the states in which all histories agree that fit the lines of one partition, in their order.

    Between two lines at most `most_hidden` writes are hidden; what comes after the last line is left out.
    """
    # until 2.5 no line at INFO prints the assignment; a new partition's ISR is what was alive of its replicas
    lines, replicas = one.lines, one.replicas if era in ("2.6", "3.6") else BROKERS
    starts = [
        (0, State(leader, 0, isr), 0)
        for size in range(1, len(replicas) + 1)
        for isr in combinations(_sorted(replicas), size)
        for leader in isr
    ]
    edges: dict[tuple[Node, int], list[tuple[Node, int]]] = {}
    todo = [(node, 0) for node in starts]
    todo = [place for node, hidden in todo for place in _after_write(node, hidden, lines, is_controllers=True)]
    begin = list(todo)
    while todo:
        place = todo.pop()
        if place in edges:
            continue
        edges[place] = [*_next(place, lines, replicas, era, most_hidden)]
        todo += edges[place]
    backwards: dict[tuple[Node, int], list[tuple[Node, int]]] = defaultdict(list)
    for place, following in edges.items():
        for after in following:
            backwards[after].append(place)
    todo = [place for place in edges if place[0][2] == len(lines) and place[1] == 0]
    good = set(todo)
    while todo:
        for before in backwards[todo.pop()]:
            if before not in good:
                good.add(before)
                todo.append(before)
    by_epoch: defaultdict[int, set[State]] = defaultdict(set)
    ends = []
    for node, hidden in good:
        by_epoch[node[0]].add(node[1])
        if node[2] == len(lines) and hidden == 0:
            ends.append(node[0])
    shortest = min(ends, default=-1)
    assert begin
    return {epoch: next(iter(some)) for epoch, some in by_epoch.items() if len(some) == 1 and epoch <= shortest}


def _after_write(node: Node, hidden: int, lines: Sequence[Line], *, is_controllers: bool) -> Iterator[tuple[Node, int]]:
    """Places after a controller's write: its lines are the next ones, or it is hidden."""
    epoch, state, read = node
    yield node, hidden + 1
    for end in range(read + 1, min(read + 3, len(lines) + 1)):
        if is_controllers and all(_says(line, epoch, state) for line in lines[read:end]):
            yield (epoch, state, end), 0


def _says(line: Line, epoch: int, state: State) -> bool:
    """Whether a line may be about a controller's write of a state."""
    return (
        line.kind in ("starts", "states")
        and line.leader == state.leader
        and line.leader_epoch == state.leader_epoch
        and line.partition_epoch in (None, epoch)
        and line.isr in (None, state.isr)
    )


def _next(
    place: tuple[Node, int], lines: Sequence[Line], replicas: Isr, era: str, most_hidden: int
) -> Iterator[tuple[Node, int]]:
    """Where the next write leads."""
    (epoch, state, read), hidden = place
    line = lines[read] if read < len(lines) else None
    if line is not None and line.kind in ("reports", "writes") and line.leader == state.leader:
        fits = line.partition_epoch in (None, epoch + 1) and line.isr_before in (None, state.isr)
        if fits and line.isr is not None and len({*line.isr} ^ {*state.isr}) == 1:
            yield (epoch + 1, State(state.leader, state.leader_epoch, line.isr), read + 1), 0
            # logged before it is stored: a leader that dies in between leaves the line
            if line.kind == "writes" and read + 1 < len(lines) and lines[read + 1].kind == "starts":
                yield (epoch, state, read + 1), hidden
    if hidden >= most_hidden or line is None:
        return
    clean = ((leader, isr) for isr in _parts_of(state.isr) for leader in (-1, *isr))
    unclean = ((leader, (leader,)) for leader in replicas if leader not in state.isr)
    for leader, isr in (*clean, *unclean):
        keeps = era == "3.6" and leader == state.leader
        after = State(leader, state.leader_epoch + (not keeps), isr)
        yield from _after_write((epoch + 1, after, read), hidden, lines, is_controllers=True)


def _parts_of(isr: Isr) -> Iterator[Isr]:
    """All ISRs that a controller may leave of one: it keeps a member at least."""
    for size in range(1, len(isr) + 1):
        yield from combinations(isr, size)
