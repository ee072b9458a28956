"""Which histories of one KRaft partition fit what lines show of it, and what is the same in all of them.

A controller at INFO logs what it does to brokers, each record that moves an assignment, and how many partitions a step
changed, but not which, nor what came of it. What follows is searched for: from each state that lines may leave
possible, every record that the controller could write next is tried (`udfs.reconstruct.kraft_records`), in the order of
its steps, and only histories that pass through all that lines show are kept. A state counts as inferred only where all
of them agree, and its time is a step's only where all of them give it to that step.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from schemas.kafka_values import NO_LEADER
from udfs.reconstruct.kraft_explanations import Explanation, InferredState
from udfs.reconstruct.kraft_records import (
    ACTIVE_AFTER,
    ASSIGNMENT_CHANGED,
    REPLICAS_REMOVED,
    Activity,
    ControllerStep,
    KnownState,
    PartitionRules,
    PossibleState,
    Shrink,
    records_of_nobody,
    records_of_step,
    records_unseen,
)

SECOND = 1_000_000
FOREVER = 2**62
CLOCK_TOLERANCE = 1 * SECOND
"""A line may be dated so long before the step that made its state: clocks of two nodes, in microseconds."""
LOG_DELAY = 15 * SECOND
"""A line about a state comes at most so long after another took its place, and a new leader's so long after its
election, in microseconds."""
SAME_EVENT = SECOND // 10
"""A record that the controller logs so near to a step belongs to it, in microseconds."""
MOST_HIDDEN = 10
"""Partition epochs in a row that no line mentions; more are taken as missing logs."""
MOST_POSSIBLE = 400
"""Possible states at one moment; where there are more, nothing is inferred."""
LEADS_SILENTLY = 30 * SECOND
"""A broker that leads for longer logs that it does, if its log is there, in microseconds."""

Coverage = Mapping[int, Sequence[tuple[int, int]]]
"""Broker -> spans of time in which its own log is there."""


class _Node(NamedTuple):
    """A possible state after the first `position` steps."""

    position: int
    state: PossibleState


def explain(
    known: Sequence[KnownState],
    steps: Sequence[ControllerStep],
    rules: PartitionRules,
    coverage: Coverage,
    until: int,
    changes: Mapping[int, bool] | None = None,
    *,
    has_controller_log: bool = True,
    shrinks: Sequence[Shrink] | None = None,
) -> Explanation:
    """What follows for one partition from `known` states, by partition epoch, and `steps`, in the controller's order.

    `until`: end of the logs, or of the topic. `shrinks`: all that leaders log; None unknown. `changes`: of steps, by
    index, whether they changed this partition.
    """
    result = Explanation()
    activity = _activity(steps)
    start = 0
    while start < len(known):
        if not known[start].is_complete:
            start += 1
            continue
        passed, best = 0, Explanation()
        # where the controller's log explains nothing, it may be missing
        for is_logged in (True, False) if has_controller_log else (False,):
            part = Explanation()
            search = _Search(known[start:], steps, activity, rules, coverage, until, changes or {}, is_logged, shrinks)
            reached = search.run(part)
            if reached > passed:
                if passed:  # what the controller's log explains it does, though it may be missing later
                    furthest = known[start + passed - 1].partition_epoch
                    later = {epoch: state for epoch, state in part.states.items() if epoch > furthest}
                    part.states, part.changes = best.states | later, best.changes
                passed, best = reached, part
            if start + passed == len(known):
                break
        result.states |= best.states
        result.changes |= best.changes
        start += passed
    return result


def _activity(steps: Sequence[ControllerStep]) -> list[dict[int, bool]]:
    """Before each step, and after the last, which brokers the controller takes for able to lead."""
    active: dict[int, bool] = {}
    before = [dict(active)]
    for step in steps:
        if step.broker is not None and step.kind in ACTIVE_AFTER:
            active = dict(active)
            if step.is_sure:
                active[step.broker] = ACTIVE_AFTER[step.kind]
            else:
                active.pop(step.broker, None)
        before.append(active)
    return before


class _Search:
    """All histories from one known state on, until a moment after which none fits."""

    def __init__(
        self,
        known: Sequence[KnownState],
        steps: Sequence[ControllerStep],
        activity: Sequence[Activity],
        rules: PartitionRules,
        coverage: Coverage,
        until: int,
        changes: Mapping[int, bool],
        is_logged: bool,
        shrinks: Sequence[Shrink] | None,
    ) -> None:
        self.is_logged, self.shrinks = is_logged, shrinks
        self.written_at = {step.partition_epoch: step.at for step in steps if step.partition_epoch is not None}
        self.known, self.steps, self.activity = known, steps, activity
        self.rules, self.coverage, self.until, self.changes = rules, coverage, until, changes
        self.by_epoch = {state.partition_epoch: state for state in known}
        self.epochs = [state.partition_epoch for state in known]
        self.lasting = list(accumulate((state.at for state in known), max))
        """Of each known state, until when it lasted at least, but for LOG_DELAY: lines are about what is."""
        self.leader_epochs = {state.leader_epoch for state in known}
        self.last_epoch = known[-1].partition_epoch
        self.latest = self._latest()
        self.before: dict[_Node, set[_Node]] = {}
        """Node -> those that it follows, since the last moment that all histories share."""

    def _latest(self) -> dict[int, int]:
        """Partition epoch -> when it was there at the latest: first line of it, or of any later one."""
        latest: dict[int, int] = {}
        soonest = FOREVER
        for state in reversed(self.known):
            soonest = min(soonest, state.at)
            latest[state.partition_epoch] = soonest
        return latest

    def run(self, result: Explanation) -> int:
        """Search, and add what follows; how many known states that explains, at least 1."""
        first = self.known[0]
        origin = PossibleState.of(first)
        if self.rules.keeps_last_member:
            origin = origin.without_eligible()
        if self.rules.has_directories is False:
            origin = origin._replace(unassigned=frozenset())
        elif not self.is_logged:
            origin = origin._replace(unassigned=None)
        else:
            created = [
                step for step in self.steps if step.is_creation and step.partition_epoch == first.partition_epoch
            ]
            if created:
                origin = origin._replace(unassigned=frozenset(created[0].unassigned or ()))
        if origin.replicas is None:
            origin = origin._replace(replicas=self._likely_replicas())
        frontier: set[_Node] = set()
        passed = least = 0
        for position in range(len(self.steps) + 1):
            step = self.steps[position] if position < len(self.steps) else None
            begins = self.steps[position - 1].at if position else -FOREVER
            ends = step.at if step is not None else FOREVER
            entering = frontier
            if begins - CLOCK_TOLERANCE <= first.at and ends >= self._earliest(first):
                entering = frontier | {_Node(position, origin)}
            if not entering:
                continue
            while passed < len(self.known) and (
                step is None or self.latest[self.known[passed].partition_epoch] < ends - CLOCK_TOLERANCE
            ):
                least = self.known[passed].partition_epoch
                passed += 1
            reached = self._with_records_of_nobody(entering, begins, ends)
            leaving = {
                node
                for node in reached
                if node.state.partition_epoch >= least
                and not (node in entering and self._would_be_logged(node.state, begins, min(ends, self.until)))
            }
            # of too many not all are there, also if few of them are left
            if not leaving or len(reached) > MOST_POSSIBLE:
                return self._give_up(reached, result)
            if step is None:
                self._conclude(leaving, result, is_end=True)
                return len(self.known)
            frontier = self._after_step(leaving, position, step)
            if not frontier:
                return self._give_up(leaving, result)
            if len(frontier) == 1 and step.at - CLOCK_TOLERANCE > first.at:
                self._conclude(frontier, result, is_end=False)
        return len(self.known)

    def _likely_replicas(self) -> tuple[int, ...] | None:
        """The assignment that lines show later, if it cannot have changed until then; else unknown."""
        shown = next((state for state in self.known if state.replicas), None)
        if shown is None or shown.replicas is None:
            return None
        moved = [step.at for step in self.steps if step.kind in (ASSIGNMENT_CHANGED, REPLICAS_REMOVED)]
        is_kept = all(at < self.known[0].at - LOG_DELAY or at > shown.at for at in moved)
        return tuple(shown.replicas) if is_kept else None

    def _give_up(self, nodes: set[_Node], result: Explanation) -> int:
        """How many known states some nodes have passed; what was concluded of later ones is taken back.

        For whatever no history explains may have been written before what was taken for the next state.
        """
        furthest = max(node.state.partition_epoch for node in nodes)
        passed = [state for state in self.known if state.partition_epoch <= furthest]
        for epoch in [epoch for epoch in result.states if epoch > passed[-1].partition_epoch]:
            del result.states[epoch]
        for position in [n for n in result.changes if self.steps[n].at >= passed[-1].at - LOG_DELAY]:
            del result.changes[position]
        return len(passed)

    def _with_records_of_nobody(self, entering: set[_Node], begins: int, ends: int) -> set[_Node]:
        """Nodes, and those that records without a line may make of them meanwhile."""
        nodes, open_nodes = set(entering), list(entering)
        while open_nodes and len(nodes) <= MOST_POSSIBLE:
            node = open_nodes.pop()
            state, active = node.state, self.activity[node.position]
            epoch = state.partition_epoch + 1
            known = self.by_epoch.get(epoch)
            if not self._may_be_written(epoch, begins, ends) or self._is_hidden_too_long(epoch):
                continue
            # what may be missing after the last line tells nothing
            if not self.is_logged and epoch > self.last_epoch:
                continue
            is_covered = self._covers(state.leader, epoch)
            if known is None and state.unassigned is None and epoch > self.last_epoch:
                state = state._replace(unassigned=frozenset())
            shrinks = self._shrinks(state.leader, begins, ends) if is_covered else None
            written = set(records_of_nobody(state, known, active, self.rules, is_covered=is_covered, shrinks=shrinks))
            if not self.is_logged and not (known is not None and known.by_leader):
                written.update(records_unseen(state, active, self.rules))
            for after in written:
                shown = after if known is None else after.shown_as(known)
                if shown is None or (state.is_unlogged and shown.leader_epoch == state.leader_epoch):
                    continue
                new = _Node(node.position, shown)
                if new not in nodes:
                    nodes.add(new)
                    open_nodes.append(new)
                self.before.setdefault(new, set()).add(node)
        return nodes

    def _after_step(self, leaving: set[_Node], position: int, step: ControllerStep) -> set[_Node]:
        """Nodes after a step."""
        frontier: set[_Node] = set()
        active = self.activity[position]
        has_record = step.kind != ASSIGNMENT_CHANGED and self._has_record(position, step)
        for node in leaving:
            after = records_of_step(node.state, step, active, self.rules)
            if not self.is_logged:
                after = {state._replace(unassigned=node.state.unassigned) for state in after}
            if not step.is_sure or has_record:
                after.add(node.state)
            for state in after:
                shown: PossibleState | None = state
                if state.partition_epoch > node.state.partition_epoch:
                    if self.changes.get(position) is False or step.changed == 0:
                        continue
                    if node.state.is_unlogged and state.leader_epoch == node.state.leader_epoch:
                        continue
                    if not self._may_be_written(state.partition_epoch, step.at, step.at):
                        continue
                    known = self.by_epoch.get(state.partition_epoch)
                    if known is not None:
                        shown = None if known.by_leader and step.kind != ASSIGNMENT_CHANGED else state.shown_as(known)
                elif self.changes.get(position) is True and not has_record:
                    continue
                if shown is not None:
                    new = _Node(position + 1, shown)
                    frontier.add(new)
                    self.before.setdefault(new, set()).add(node)
        return frontier

    def _has_record(self, position: int, step: ControllerStep) -> bool:
        """Whether the controller logs a record of the partition that may be what came of a broker's step."""
        near = range(max(position - 3, 0), min(position + 4, len(self.steps)))
        return any(
            self.steps[n].kind == ASSIGNMENT_CHANGED and abs(self.steps[n].at - step.at) <= SAME_EVENT for n in near
        )

    def _may_be_written(self, epoch: int, begins: int, ends: int) -> bool:
        """Whether a partition epoch can have been written in a span of time, by when lines show it."""
        known = self.by_epoch.get(epoch)
        following = bisect_left(self.epochs, epoch)
        if following and ends < self.lasting[following - 1] - LOG_DELAY:
            return False
        if known is None:
            return True
        if epoch in self.written_at:
            return begins - SAME_EVENT <= self.written_at[epoch] <= ends + SAME_EVENT
        return begins <= self.latest[epoch] + CLOCK_TOLERANCE and ends >= self._earliest(known)

    def _earliest(self, known: KnownState) -> int:
        """When a state that lines show can have been written at the earliest.

        Who leads a new leader epoch logs it soon, and its own changes of the ISR; other changes nobody may log until a
        replica returns.
        """
        before = self.by_epoch.get(known.partition_epoch - 1)
        is_new_epoch = (
            before is not None
            and before.leader_epoch is not None
            and known.leader_epoch is not None
            and before.leader_epoch < known.leader_epoch
            and known.leader != NO_LEADER
        )
        is_soon = is_new_epoch or known.by_leader or known.partition_epoch == 0
        return known.at - LOG_DELAY if is_soon else -FOREVER

    def _is_hidden_too_long(self, epoch: int) -> bool:
        """Whether more partition epochs in a row are hidden than are tried."""
        return all(epoch - n not in self.by_epoch for n in range(MOST_HIDDEN + 1))

    def _covers(self, leader: int, epoch: int) -> bool:
        """Whether the leader's own log is there all the time around a partition epoch, while it leads."""
        following = bisect_left(self.epochs, epoch)
        before = self.known[max(following - 1, 0)]
        after = self.known[following] if following < len(self.known) else None
        is_same = after is not None and after.leader_epoch in (None, before.leader_epoch)
        until = after.at if after is not None and is_same else before.at
        return any(start <= before.at and until <= end for start, end in self.coverage.get(leader, ()))

    def _shrinks(self, leader: int, begins: int, ends: int) -> set[frozenset[int]] | None:
        """The ISRs to which a leader says it shrinks, so that they may be written in a span of time; None unknown."""
        if self.shrinks is None:
            return None
        since, until = begins - LOG_DELAY, ends + CLOCK_TOLERANCE
        return {frozenset(one.isr) for one in self.shrinks if one.broker == leader and since <= one.at <= until}

    def _is_within_term(self, epoch: int) -> bool:
        """Whether the states that are known before and after a partition epoch are of one leader epoch.

        Who leads otherwise may have come by a reassignment, which can leave any leader with any ISR.
        """
        before = [state for state in self.known if state.partition_epoch < epoch and state.is_complete]
        after = [state for state in self.known if state.partition_epoch > epoch and state.is_complete]
        return bool(before and after) and before[-1].leader_epoch == after[0].leader_epoch

    def _is_lost(self, epoch: int) -> bool:
        """Whether lines show that an epoch has no leader, and all of the one before: that is no reassignment."""
        state, before = self.by_epoch.get(epoch), self.by_epoch.get(epoch - 1)
        return state is not None and state.leader == NO_LEADER and before is not None and before.is_complete

    def _would_be_logged(self, state: PossibleState, begins: int, ends: int) -> bool:
        """Whether lines would show a leader epoch, for its leader's log is there, and it led long.

        Or a leader's own change of the ISR: it kept its place for so long that it logged the answer.
        """
        is_new = state.leader >= 0 and state.leader_epoch not in self.leader_epochs
        silence = LEADS_SILENTLY if is_new else LOG_DELAY if state.is_unlogged else FOREVER
        shown_by = begins + silence
        covered = self.coverage.get(state.leader, ())
        return shown_by <= ends and any(start <= begins and shown_by <= end for start, end in covered)

    def _conclude(self, last: set[_Node], result: Explanation, *, is_end: bool) -> None:
        """Add what all histories that end in some nodes share; they are forgotten."""
        possible: dict[int, set[PossibleState]] = {}
        makers: dict[int, set[int | None]] = {}
        changed: dict[int, set[bool]] = {}
        nodes, open_nodes = set(last), list(last)
        while open_nodes:
            node = open_nodes.pop()
            possible.setdefault(node.state.partition_epoch, set()).add(node.state)
            for before in self.before.get(node, ()):
                is_record = before.state.partition_epoch < node.state.partition_epoch
                is_step = before.position < node.position
                if is_record:
                    makers.setdefault(node.state.partition_epoch, set()).add(before.position if is_step else None)
                if is_step:
                    changed.setdefault(before.position, set()).add(is_record)
                if before not in nodes:
                    nodes.add(before)
                    open_nodes.append(before)
        reached_by_all = min(node.state.partition_epoch for node in last)
        for epoch, states in possible.items():
            if epoch <= reached_by_all:
                self._add(epoch, states, makers.get(epoch, set()), result)
        for position, answers in changed.items() if self.is_logged else ():
            result.changes[position] = answers.pop() if len(answers) == 1 else None
        self.before = {node: set() for node in last}

    def _add(self, epoch: int, states: set[PossibleState], makers: set[int | None], result: Explanation) -> None:
        """Add a state if all histories have it."""
        alike = {(state.leader, state.leader_epoch, state.isr) for state in states}
        if len(alike) != 1 or epoch == self.known[0].partition_epoch or (epoch in result.states and not makers):
            return
        if not (self.is_logged or self._is_within_term(epoch) or self._is_lost(epoch)):
            return
        leader, leader_epoch, isr = alike.pop()
        assignments = {state.replicas for state in states}
        replicas = assignments.pop() if len(assignments) == 1 else None
        maker = next(iter(makers)) if len(makers) == 1 else None
        result.states[epoch] = InferredState(
            epoch, leader, leader_epoch, sorted(isr), None if replicas is None else list(replicas), maker
        )
