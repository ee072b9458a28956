"""KRaft partitions under faults that `tests.simulated_kraft` does not make, and what lines show of them.

Eligible leader replicas (KIP-966) with `min.insync.replicas`, log directories (KIP-858), unclean elections, whole
reassignments, frozen brokers, controllers that are replaced, brokers without logs, clocks that differ. Decisions are
written down from PartitionChangeBuilder and ReplicationControlManager (3.3 to 4.1) and share no code with what is
tested; lines are given as the engine takes them.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tests.kraft_model_evidence import ModelEvidence, as_evidence
from udfs.reconstruct.kraft_facts import (
    ASSIGNMENT_CHANGED,
    CONTROLLED_SHUTDOWN,
    DIRECTORY_LISTED,
    DIRECTORY_LOST,
    FENCED,
    NONE_ELIGIBLE,
    PREFERRED_ELECTED,
    REPLICA_LOST,
    REPLICAS_REMOVED,
    SHOWN,
    UNCLEAN_RESTART,
    UNFENCED,
    ControllerStep,
    KnownState,
    PartitionRules,
    Shrink,
)

UNTIL_3_5, UNTIL_3_9, FROM_4_1 = "until 3.5", "until 3.9", "from 4.1"
Ids = tuple[int, ...]


@dataclass(frozen=True)
class State:
    """A committed state of a partition; `last_leader` is its `lastKnownElr`."""

    at: int
    partition_epoch: int
    leader: int
    leader_epoch: int
    isr: Ids
    replicas: Ids
    eligible: Ids = ()
    last_leader: Ids = ()
    adding: Ids = ()
    removing: Ids = ()
    unassigned: Ids = ()


@dataclass
class Broker:
    """A broker, its process and what the controller takes it for; `applied`: by partition, leader and partition epoch
    that it applied last."""

    is_alive: bool = True
    is_frozen: bool = False
    is_fenced: bool = False
    shuts_down: bool = False
    was_killed: bool = True
    lost_partitions: set[int] = field(default_factory=set)
    applied: dict[int, tuple[int, int]] = field(default_factory=dict)
    spans: list[list[int]] = field(default_factory=list)

    @property
    def is_active(self) -> bool:
        return not self.is_fenced and not self.shuts_down


class Model:
    """A cluster from its start on; `with_logs`: how likely a broker's log is there."""

    def __init__(self, seed: int, with_logs: float, *, skew_ms: int = 0) -> None:
        self.dice, self.now, self.line = random.Random(seed), 1_000_000, 0
        self.era = self.dice.choice((UNTIL_3_5, UNTIL_3_9, FROM_4_1))
        self.has_directories = self.era != UNTIL_3_5 and self.dice.random() < 0.5
        self.brokers = {n: Broker(spans=[[self.now, -1]]) for n in range(self.dice.randint(3, 5))}
        self.logs = {n for n in self.brokers if self.dice.random() < with_logs}
        self.skew = {n: self.dice.randint(-skew_ms, skew_ms) for n in self.brokers}
        self.history: dict[int, list[State]] = {}
        self.min_isr: dict[int, int] = {}
        self.is_unclean: dict[int, bool] = {}
        self.steps: list[ControllerStep] = []
        self.own_steps: defaultdict[int, list[ControllerStep]] = defaultdict(list)
        self.known: defaultdict[int, list[KnownState]] = defaultdict(list)
        self.shrinks: defaultdict[int, list[Shrink]] = defaultdict(list)
        self.due: list[tuple[int, int, int]] = []
        """When which broker applies the metadata (partition -1), or tells where its replica of a partition is."""
        for broker in self.brokers:
            self.steps.append(self._step(UNFENCED, broker, 0))
        for partition in range(self.dice.randint(1, 4)):
            self._create(partition)

    def _create(self, partition: int) -> None:
        self.now += 5
        replicas = tuple(self.dice.sample(sorted(self.brokers), self.dice.randint(1, 3)))
        missing = replicas if self.has_directories else ()
        state = State(self.now, 0, replicas[0], 0, tuple(sorted(replicas)), replicas, unassigned=missing)
        self.min_isr[partition], self.is_unclean[partition] = self.dice.choice((1, 1, 2)), self.dice.random() < 0.25
        self.history[partition] = [state]
        self._show(partition, state, self.now)
        step = self._step(SHOWN, partition_epoch=0, replicas=list(replicas), unassigned=list(missing))
        self.own_steps[partition].append(step)
        self._publish(replicas)
        self.due += [(self.now + self.dice.randint(50, 900), broker, partition) for broker in missing]

    def run(self, faults: int) -> None:
        """Some faults, one after another, and time for the lines about the last."""
        often = [self.kill, self.start, self.start, self.expand, self.expand, self.reassign, self.resume]
        seldom = [self.kill_two, self.shut_down, self.shrink, self.prefer, self.freeze, self.fail_over]
        rare = [self.set_min_isr, self.lose_directory] if self.dice.random() < 0.5 else []
        for _ in range(faults):
            self.wait(self.dice.choice((300, 2000, 15000, 40000)))
            self.dice.choice([*often, *often, *seldom, *rare])()
        self.wait(40000)
        for broker in self.brokers.values():
            if broker.spans[-1][1] < 0:
                broker.spans[-1][1] = self.now

    # ---- faults
    def kill(self) -> None:
        """A broker dies, and its session ends."""
        for broker in self._pick(lambda b: b.is_alive and not b.is_frozen):
            self._stop(broker)
            self.wait(9000)
            self._fence(broker)

    def kill_two(self) -> None:
        """Two die at once."""
        dead = [n for _ in range(2) for n in self._pick(lambda b: b.is_alive and not b.is_frozen)]
        for broker in set(dead):
            self._stop(broker)
        self.wait(9000)
        for broker in sorted(set(dead)):
            self._fence(broker)
            self.wait(300)

    def start(self) -> None:
        """A broker starts again; the controller learns if its shutdown was unclean (4.0 on)."""
        for broker in self._pick(lambda b: not b.is_alive):
            old = self.brokers[broker]
            self.brokers[broker] = Broker(is_fenced=True, spans=[*old.spans, [self.now, -1]])
            self.wait(2000)
            if self.era == FROM_4_1 and old.was_killed:
                step = self._step(UNCLEAN_RESTART, broker)
                if self._change_all(lambda s, n=broker: n in s.isr + s.eligible, unclean=(broker,)):  # type: ignore[misc]
                    self.steps.append(step)
                self.wait(500)
            self._unfence(broker)

    def shut_down(self) -> None:
        """A controlled shutdown; who leads nothing may go at once."""
        for broker in self._pick(lambda b: b.is_alive and not b.is_frozen and not b.is_fenced):
            if any(state.leader == broker for state in self._last().values()):
                self._decide(CONTROLLED_SHUTDOWN, broker, lambda s, n=broker: n in s.isr)  # type: ignore[misc]
                self.brokers[broker].shuts_down = True
                self.wait(1500)
            self._fence(broker)
            self.wait(100)
            self._stop(broker)
            self.brokers[broker].was_killed = False

    def freeze(self) -> None:
        """A process stands still, at times for longer than its session lasts."""
        for broker in self._pick(lambda b: b.is_alive and not b.is_frozen):
            self.brokers[broker].is_frozen = True
            is_long = self.dice.random() < 0.6
            self.wait(9000 if is_long else 6000)
            if is_long:
                self._fence(broker)
            else:
                self.brokers[broker].is_frozen = False

    def resume(self) -> None:
        """It goes on, and is unfenced."""
        for broker in self._pick(lambda b: b.is_frozen):
            self.brokers[broker].is_frozen = False
            self.wait(2000)
            self._unfence(broker)

    def shrink(self) -> None:
        """A leader takes a follower out of the ISR."""
        able = [(p, n) for p, s in self._last().items() if self._can_write(s) for n in s.isr if n != s.leader]
        for partition, follower in able and [self.dice.choice(able)]:
            self._by_leader(partition, [n for n in self.history[partition][-1].isr if n != follower])

    def expand(self) -> None:
        """A leader takes a follower in."""
        able = [
            (p, n)
            for p, s in self._last().items()
            if self._can_write(s)
            for n in s.replicas
            if n not in s.isr and self._can_follow(n, p)
        ]
        for partition, follower in able and [self.dice.choice(able)]:
            self._by_leader(partition, [*self.history[partition][-1].isr, follower])

    def prefer(self) -> None:
        """Preferred leaders are elected, by the controller's task or as an admin asks."""
        able = [
            p
            for p, s in self._last().items()
            if s.leader not in (-1, s.replicas[0]) and s.replicas[0] in s.isr and self._can_lead(s.replicas[0], p)
        ]
        if able and self.dice.random() < 0.5:
            self.steps.append(self._step(PREFERRED_ELECTED))
        elif able:
            able = [self.dice.choice(able)]
        for partition in able:
            self._change(partition, prefers=True)

    def reassign(self) -> None:
        """A reassignment begins, or is taken back."""
        partition = self.dice.choice(sorted(self.history))
        state = self.history[partition][-1]
        kept = tuple(n for n in state.replicas if n not in state.adding)
        if state.adding or state.removing:
            if set(state.isr) & set(kept) and self.dice.random() < 0.5:
                isr = tuple(n for n in state.isr if n in kept)
                self._change(partition, replace(state, isr=isr, replicas=kept, adding=(), removing=()))
            return
        target = tuple(self.dice.sample(sorted(self.brokers), self.dice.randint(1, 3)))
        adding, removing = (tuple(n for n in a if n not in b) for a, b in ((target, kept), (kept, target)))
        line, before = self._step(REPLICAS_REMOVED), len(self.own_steps[partition])
        wanted = replace(state, replicas=(*target, *removing), adding=adding, removing=removing)
        if target != kept:
            self._change(partition, wanted)
            if len(self.own_steps[partition]) == before:
                self.steps.append(line)

    def set_min_isr(self) -> None:
        """`min.insync.replicas` changes: nobody is eligible any more (4.0 on)."""
        partition = self.dice.choice(sorted(self.history))
        state = self.history[partition][-1]
        self.min_isr[partition] = self.dice.choice((1, 2))
        if self.era == FROM_4_1 and (state.eligible or state.last_leader):
            self.steps.append(self._step(NONE_ELIGIBLE))
            self._write(partition, replace(state, eligible=(), last_leader=()))

    def lose_directory(self) -> None:
        """The directory of a replica fails; its broker's log names the partition, if it is there."""
        able = [
            (p, n)
            for p, s in self._last().items()
            for n in s.replicas
            if self.has_directories and n not in s.unassigned and self._can_follow(n, p)
        ]
        for partition, broker in able and [self.dice.choice(able)]:
            is_named = broker in self.logs
            if is_named:
                line = self._step(REPLICA_LOST, broker)
                self.own_steps[partition].append(line._replace(at=line.at + self.skew[broker] * 1000))
            self.steps.append(self._step(DIRECTORY_LISTED if is_named else DIRECTORY_LOST, broker))
            if broker in self.history[partition][-1].isr:
                self._change(partition, removed=(broker,))
            self.brokers[broker].lost_partitions.add(partition)

    def fail_over(self) -> None:
        """Another controller is elected: what the old one did last may never have been committed."""
        since = (self.now - 3000) * 1000
        self.steps = [step._replace(is_sure=step.is_sure and step.at < since) for step in self.steps]
        if self.dice.random() < 0.5:
            kind, broker = self.dice.choice((FENCED, UNFENCED, CONTROLLED_SHUTDOWN)), self.dice.choice([*self.brokers])
            self.steps.append(self._step(kind, broker, is_sure=False))
        self.wait(4000)

    # ---- brokers
    def _pick(self, condition: Callable[[Broker], bool]) -> list[int]:
        able = [n for n, broker in self.brokers.items() if condition(broker)]
        return [self.dice.choice(able)] if able else []

    def _can_follow(self, broker: int, partition: int) -> bool:
        one = self.brokers[broker]
        return one.is_alive and not one.is_frozen and one.is_active and partition not in one.lost_partitions

    def _can_lead(self, broker: int, partition: int) -> bool:
        return self.brokers[broker].is_active and partition not in self.brokers[broker].lost_partitions

    def _can_write(self, state: State) -> bool:
        return state.leader >= 0 and self._can_follow(state.leader, -1)

    def _stop(self, broker: int) -> None:
        self.brokers[broker].is_alive = False
        self.brokers[broker].spans[-1][1] = self.now
        self.due = [one for one in self.due if one[1] != broker]

    def _fence(self, broker: int) -> None:
        self._decide(FENCED, broker, lambda state: broker in state.isr)
        self.brokers[broker].is_fenced = True

    def _unfence(self, broker: int) -> None:
        self._decide(UNFENCED, broker, lambda state: state.leader < 0)
        self.brokers[broker].is_fenced = self.brokers[broker].shuts_down = False
        self._publish([broker])

    def _by_leader(self, partition: int, isr: Sequence[int]) -> None:
        """A leader asks for an ISR, and logs what came of it."""
        state = self.history[partition][-1]
        leader = state.leader
        if set(isr) < set(state.isr) and leader in self.logs:
            shrink = Shrink(leader, (self.now + self.skew[leader]) * 1000, sorted(isr))
            self.shrinks[partition].append(shrink)
        self.now += self.dice.randint(1, 30)
        after = self._change(partition, replace(state, isr=tuple(isr)))
        is_answer = after is not None and (after.leader, after.leader_epoch) == (leader, state.leader_epoch)
        if after is not None and is_answer and leader in self.logs:
            at = (self.now + 5 + self.skew[leader]) * 1000
            own = KnownState(after.partition_epoch, leader, None, sorted(after.isr), None, None, None, at, True)
            self.known[partition].append(own)

    # ---- the controller
    def _decide(self, kind: str, broker: int, concerns: Callable[[State], bool]) -> None:
        step = self._step(kind, broker)
        is_back = kind == UNFENCED
        changed = self._change_all(concerns, removed=() if is_back else (broker,), added=broker if is_back else -1)
        self.steps.append(step._replace(changed=changed))
        self.now += 1

    def _change_all(self, concerns: Callable[[State], bool], **how: object) -> int:
        """How many partitions were changed."""
        names = [partition for partition, state in self._last().items() if concerns(state)]
        return sum(self._change(partition, **how) is not None for partition in names)  # type: ignore[arg-type]

    def _change(
        self,
        partition: int,
        wanted: State | None = None,
        *,
        removed: Ids = (),
        unclean: Ids = (),
        added: int = -1,
        prefers: bool = False,
    ) -> State | None:
        """PartitionChangeBuilder.build: the state that is written, None if none is."""
        old = self.history[partition][-1]
        new = _without_reassignment(wanted or old, (*removed, *unclean))
        if self.era == FROM_4_1:
            members = set(old.eligible) | set(old.isr)
            is_enough = len(new.isr) >= self.min_isr[partition]
            eligible = () if is_enough else tuple(sorted(members - set(new.isr) - set(unclean)))
            new = replace(new, eligible=eligible)

        def can_lead(broker: int) -> bool:
            is_able = broker == added or self.brokers[broker].is_active
            is_there = partition not in self.brokers[broker].lost_partitions
            return broker not in (*removed, *unclean) and is_able and is_there

        leader, is_unclean = self._elected(partition, old, new, can_lead, prefers=prefers)
        is_named = leader != old.leader or not set(old.replicas) <= set(new.replicas)
        if leader != old.leader and leader in new.eligible:
            new = replace(new, isr=(leader,), eligible=tuple(n for n in new.eligible if n != leader))
        if is_unclean:
            new = replace(new, isr=(leader,), eligible=())
        is_named = is_named or (self.era == UNTIL_3_5 and not set(old.isr) <= set(new.isr))
        if not new.isr and self.era != FROM_4_1:
            new = replace(new, isr=old.isr)
        if self.era == FROM_4_1:
            is_lost = not new.isr and old.isr and old.leader >= 0
            new = replace(new, last_leader=(old.leader,) if is_lost else () if leader >= 0 else old.last_leader)
        new = replace(new, leader=leader, leader_epoch=old.leader_epoch + is_named, isr=tuple(sorted(new.isr)))
        missing = [n for n in new.replicas if n in old.unassigned or (n not in old.replicas and self.has_directories)]
        new = replace(new, unassigned=tuple(missing))
        if new == old:
            return None
        written = self._write(partition, new)
        self._log_record(partition, old, written, is_named=is_named)
        return written

    def _elected(
        self, partition: int, old: State, new: State, can_lead: Callable[[int], bool], *, prefers: bool
    ) -> tuple[int, bool]:
        """Who leads, and whether by an unclean election."""
        candidates = new.isr or new.eligible
        in_order = (*(new.replicas[:1] if prefers else ()), old.leader, *new.replicas)
        for broker in in_order:
            if broker >= 0 and broker in candidates and can_lead(broker):
                return broker, False
        if self.era == FROM_4_1 and not candidates and old.last_leader and can_lead(old.last_leader[0]):
            return old.last_leader[0], True
        able = [broker for broker in new.replicas if can_lead(broker)] if self.is_unclean[partition] else []
        return (able[0], True) if able and not prefers else (-1, False)

    def _write(self, partition: int, new: State) -> State:
        old = self.history[partition][-1]
        written = replace(new, at=self.now, partition_epoch=old.partition_epoch + 1)
        self.history[partition].append(written)
        self._publish({*old.replicas, *new.replicas})
        return written

    def _last(self) -> dict[int, State]:
        return {partition: states[-1] for partition, states in self.history.items()}

    # ---- lines
    def _step(self, kind: str, broker: int | None = None, changed: int | None = None, **more: object) -> ControllerStep:
        self.line += 1
        step = ControllerStep(self.now * 1000, 100, "c", self.line, kind, broker, changed=changed)
        return step._replace(**more)  # type: ignore[arg-type]

    def _log_record(self, partition: int, old: State, new: State, *, is_named: bool) -> None:
        """What the controller logs of a record: one of a reassignment, an unclean election."""
        if (old.adding, old.removing) != (new.adding, new.removing):
            is_other = new.replicas != old.replicas
            missing = list(new.unassigned) if is_other or not self.has_directories else None
            step = self._step(
                ASSIGNMENT_CHANGED,
                leader=new.leader if is_named else None,
                isr=list(new.isr) if new.isr != old.isr else None,
                replicas=list(new.replicas) if is_other else None,
                unassigned=missing,
            )
            self.own_steps[partition].append(step)
        if new.leader >= 0 and new.leader not in old.isr + old.eligible:
            self.own_steps[partition].append(self._step(SHOWN, partition_epoch=new.partition_epoch))
            self._show(partition, replace(new, replicas=()), self.now)

    def _show(self, partition: int, state: State, at: int, *, has_isr: bool = True) -> None:
        missing = list(state.unassigned) if state.partition_epoch == 0 and self.has_directories else None
        isr, replicas = (sorted(state.isr), list(state.replicas) or None) if has_isr else (None, None)
        self.known[partition].append(
            KnownState(state.partition_epoch, state.leader, state.leader_epoch, isr, None, replicas, missing, at * 1000)
        )

    def _publish(self, brokers: Iterable[int]) -> None:
        """Brokers apply the metadata some time later, all that there is by then at once."""
        alive = [n for n in sorted(brokers) if self.brokers[n].is_alive]
        self.due += [(self.now + self.dice.randint(10, 400), broker, -1) for broker in alive]

    def wait(self, most_ms: int) -> None:
        """Time goes by; what is due happens."""
        until = self.now + self.dice.randint(20, most_ms)
        while (ready := min(self.due, default=(until + 1, 0, 0)))[0] <= until:
            self.due.remove(ready)
            at, broker, partition = ready
            self.now = max(self.now, at)
            if self.brokers[broker].is_frozen:
                self.due.append((self.now + 500, broker, partition))
            elif partition < 0:
                self._apply(broker)
            else:
                self._tell_directory(broker, partition)
        self.now = until

    def _apply(self, broker: int) -> None:
        one, at = self.brokers[broker], self.now + self.skew[broker]
        for partition, state in self._last().items():
            leader_epoch, partition_epoch = one.applied.get(partition, (-1, -1))
            if broker not in state.replicas or state.partition_epoch <= partition_epoch:
                continue
            one.applied[partition] = state.leader_epoch, state.partition_epoch
            is_new, leads = state.leader_epoch > leader_epoch, state.leader == broker
            if broker in self.logs:
                shown = replace(state, replicas=()) if is_new else state
                self._show(partition, shown, at, has_isr=leads or not is_new)

    def _tell_directory(self, broker: int, partition: int) -> None:
        state = self.history[partition][-1]
        if broker in state.unassigned and partition not in self.brokers[broker].lost_partitions:
            missing = tuple(n for n in state.unassigned if n != broker)
            self._write(partition, replace(state, unassigned=missing, eligible=()))  # as through 4.2

    def evidence(self) -> dict[int, ModelEvidence]:
        """By partition what lines show."""
        is_old = self.era == UNTIL_3_5
        rules = PartitionRules(self.era != FROM_4_1, is_old, is_old, self.has_directories)
        spans = {
            n: [((a + self.skew[n]) * 1000, (b + self.skew[n]) * 1000) for a, b in broker.spans]
            for n, broker in self.brokers.items()
            if n in self.logs
        }
        return {
            partition: as_evidence(
                self.known[partition], [*self.steps, *self.own_steps[partition]], self.shrinks[partition], rules, spans
            )
            for partition in self.history
        }


def _without_reassignment(state: State, gone: Ids) -> State:
    """A state without some of its ISR, its reassignment completed if all that it adds are in sync."""
    isr = tuple(n for n in state.isr if n not in gone)
    kept = tuple(n for n in isr if n not in state.removing)
    if not (state.adding or state.removing) or not kept or not set(state.adding) <= set(kept):
        return replace(state, isr=isr)
    replicas = tuple(n for n in state.replicas if n not in state.removing)
    return replace(state, isr=kept, replicas=replicas, adding=(), removing=())
