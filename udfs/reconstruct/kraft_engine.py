"""Which histories of one KRaft partition fit what lines show of it, and what is the same in all of them.

A controller at INFO logs what it does to brokers, each record that moves an assignment, and how many partitions a step
changed, but not which, nor what came of it. What follows is searched for: from each state that lines may leave
possible, every record that the controller could write next is tried (`udfs.reconstruct.kraft_records`), in the order of
its steps, and only histories that pass through all that lines show are kept. A state counts as inferred only where all
of them agree, and its time is a step's only where all of them give it to that step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from schemas.kafka_values import NO_LEADER
from udfs.reconstruct.kraft_explanations import Explanation, InferredState
from udfs.reconstruct.kraft_facts import (
    ACTIVE_AFTER,
    ASSIGNMENT_CHANGED,
    PREFERRED_ELECTED,
    ControllerStep,
    KnownState,
    PartitionRules,
    Shrink,
)
from udfs.reconstruct.kraft_possible_state import Activity, PossibleState
from udfs.reconstruct.kraft_records import (
    records_of_nobody,
    records_of_step,
    records_unclean,
    records_unseen,
)
from udfs.reconstruct.kraft_shown import (
    CLOCK_TOLERANCE,
    FOREVER,
    LOG_DELAY,
    SAME_EVENT,
    SECOND,
    Coverage,
    ShownStates,
)

MOST_POSSIBLE = 400
"""Possible states at one moment; where there are more, nothing is inferred behind it."""


class _Node(NamedTuple):
    """A possible state after the first `position` steps."""

    position: int
    state: PossibleState


class _Maker(NamedTuple):
    """What a history has a state made by: the step at `position`, or a record of nobody before it."""

    position: int
    is_step: bool


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
        passed, best, end = 0, Explanation(), len(known)
        # where the controller's log explains nothing, it may be missing, until the next state that lines show in full
        for is_logged in (True, False) if has_controller_log else (False,):
            part = Explanation()
            search = _Search(
                known[start:end], steps, activity, rules, coverage, until, changes or {}, is_logged, shrinks
            )
            reached = search.run(part)
            if reached > passed:
                if passed:  # what the controller's log explains it does, though it may be missing later
                    furthest = known[start + passed - 1].partition_epoch
                    later = {epoch: state for epoch, state in part.states.items() if epoch > furthest}
                    part.states, part.changes = best.states | later, best.changes
                passed, best = reached, part
            if start + passed == len(known):
                break
            if is_logged:
                complete = (n for n in range(start + passed, len(known)) if known[n].is_complete)
                end = next(complete, len(known) - 1) + 1
        result.states |= best.states
        result.changes |= best.changes
        is_bridged = has_controller_log and start + passed == end < len(known)
        start += passed - 1 if is_bridged else passed
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
        self.shown = ShownStates(known, steps, coverage, shrinks)
        self.known, self.steps, self.activity = known, steps, activity
        self.rules, self.until, self.changes, self.is_logged = rules, until, changes, is_logged
        self.before: dict[_Node, set[_Node]] = {}
        """Node -> those that it follows, since the last moment that all histories share."""

    def _origin(self) -> PossibleState:
        """The first known state, with what the cluster's rules and the creation of the partition tell of it."""
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
            origin = origin._replace(replicas=self.shown.likely_replicas())
        return origin

    def run(self, result: Explanation) -> int:
        """Search, and add what follows; how many known states that explains, at least 1."""
        first, origin = self.known[0], self._origin()
        # one that KRaft took over from ZooKeeper is shown before its record is printed
        first_at = max(first.at, self.shown.written_at.get(first.partition_epoch, first.at))
        frontier: set[_Node] = set()
        passed = least = 0
        for position in range(len(self.steps) + 1):
            step = self.steps[position] if position < len(self.steps) else None
            begins = self.steps[position - 1].at if position else -FOREVER
            ends = step.at if step is not None else FOREVER
            entering = frontier
            if begins - CLOCK_TOLERANCE <= first_at and ends >= self.shown.earliest(first):
                entering = frontier | {_Node(position, origin)}
            if not entering:
                continue
            while passed < len(self.known) and (
                step is None or self.shown.latest[self.known[passed].partition_epoch] < ends - CLOCK_TOLERANCE
            ):
                least = self.known[passed].partition_epoch
                passed += 1
            reached = self._with_records_of_nobody(entering, begins, ends)
            leaving = {
                node
                for node in reached
                if node.state.partition_epoch >= least
                and not (node in entering and self.shown.would_be_logged(node.state, begins, min(ends, self.until)))
            }
            # of too many not all are there, also if few of them are left
            is_too_much = len(reached) > MOST_POSSIBLE
            # the first state may have been written only later
            may_begin_later = step is not None and step.at - CLOCK_TOLERANCE <= first_at
            if not leaving and not is_too_much and may_begin_later:
                frontier = set()
                continue
            if is_too_much:  # all histories are there until this step, though not behind it
                self._conclude(entering, result, is_end=False)
            if not leaving or is_too_much:
                return self._give_up(entering if is_too_much else reached, result)
            if step is None:
                self._conclude(leaving, result, is_end=True)
                return len(self.known)
            frontier = self._after_step(leaving, position, step)
            if not frontier and not may_begin_later:
                return self._give_up(leaving, result)
            if len(frontier) == 1 and step.at - CLOCK_TOLERANCE > first_at:
                self._conclude(frontier, result, is_end=False)
        return len(self.known)

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
            known = self.shown.by_epoch.get(epoch)
            if not self.shown.may_be_written(epoch, begins, ends) or self.shown.is_hidden_too_long(epoch):
                continue
            # what may be missing after the last line tells nothing
            if not self.is_logged and epoch > self.shown.last_epoch:
                continue
            is_covered = self.shown.covers(state.leader, epoch)
            if known is None and state.unassigned is None and epoch > self.shown.last_epoch:
                state = state._replace(unassigned=frozenset())
            shrinks = self.shown.shrinks_of(state.leader, begins, ends) if is_covered else None
            written = set(
                records_of_nobody(
                    state, known, active, self.rules, is_covered=is_covered, shrinks=shrinks,
                    may_be_unclean=not self.is_logged or epoch in self.shown.written_at, members=self.shown.members,
                )
            )  # fmt: skip
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
            following = self.shown.by_epoch.get(node.state.partition_epoch + 1)
            shown_replicas = None if following is None else following.replicas
            after = records_of_step(node.state, step, active, self.rules, shown_replicas)
            if following is not None and self.shown.is_printed_with(following, step):
                after.update(records_unclean(node.state, following))
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
                    if not self.shown.may_be_written(state.partition_epoch, step.at, step.at):
                        continue
                    known = self.shown.by_epoch.get(state.partition_epoch)
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

    def _conclude(self, last: set[_Node], result: Explanation, *, is_end: bool) -> None:
        """Add what all histories that end in some nodes share; they are forgotten."""
        possible: dict[int, set[PossibleState]] = {}
        makers: dict[int, set[_Maker]] = {}
        changed: dict[int, set[bool]] = {}
        nodes, open_nodes = set(last), list(last)
        while open_nodes:
            node = open_nodes.pop()
            possible.setdefault(node.state.partition_epoch, set()).add(node.state)
            for before in self.before.get(node, ()):
                is_record = before.state.partition_epoch < node.state.partition_epoch
                is_step = before.position < node.position
                if is_record:
                    makers.setdefault(node.state.partition_epoch, set()).add(_Maker(before.position, is_step))
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
        if is_end and self.is_logged:
            self._add_loss(last, result)
        self.before = {node: set() for node in last}

    def _add_loss(self, last: set[_Node], result: Explanation) -> None:
        """Add that the partition has lost its leader, if all histories end so by the same step, though they differ in
        how: whether there was a preferred election before is not logged."""
        newest = max([self.known[-1].partition_epoch, *result.states])
        newest_state = result.states.get(newest, self.known[-1])
        is_newer = any(node.state.partition_epoch > newest for node in last)
        if newest_state.leader == NO_LEADER or not is_newer or any(node.state.leader != NO_LEADER for node in last):
            return
        losses: set[int | None] = set()
        nodes, open_nodes = set(last), list(last)
        while open_nodes:
            node = open_nodes.pop()
            before = self.before.get(node, set())
            if not before:
                return
            for earlier in before:
                if earlier.state.leader != NO_LEADER:
                    losses.add(earlier.position if earlier.position < node.position else None)
                elif earlier not in nodes:
                    nodes.add(earlier)
                    open_nodes.append(earlier)
        if len(losses) == 1 and (step := losses.pop()) is not None:
            epoch = max(node.state.partition_epoch for node in last)
            result.states[epoch] = InferredState(epoch, NO_LEADER, None, None, None, step)

    def _add(self, epoch: int, states: set[PossibleState], makers: set[_Maker], result: Explanation) -> None:
        """Add a state if all histories have it."""
        alike = {(state.leader, state.leader_epoch, state.isr) for state in states}
        if len(alike) != 1 or epoch == self.known[0].partition_epoch or (epoch in result.states and not makers):
            return
        if not (self.is_logged or self.shown.is_within_term(epoch) or self.shown.is_lost(epoch)):
            return
        leader, leader_epoch, isr = alike.pop()
        assignments = {state.replicas for state in states}
        replicas = assignments.pop() if len(assignments) == 1 else None
        # the last of the histories to have it has it by then
        shown_by = max((maker.position for maker in makers), default=len(self.steps))
        is_shown = self.is_logged and shown_by < len(self.steps)
        result.states[epoch] = InferredState(
            epoch, leader, leader_epoch, sorted(isr), None if replicas is None else list(replicas),
            self._maker(epoch, makers), shown_by if is_shown else None,
        )  # fmt: skip

    def _maker(self, epoch: int, makers: set[_Maker]) -> int | None:
        """The step that made a state in all histories; None if they differ.

        A preferred leader that is logged as the controller elects such leaders is one of them: that an admin asked for
        it within the same second is possible, too, but then the time differs by no more.
        """
        steps = [maker.position for maker in makers if maker.is_step]
        if len(steps) != 1:
            return None
        step, known = self.steps[steps[0]], self.shown.by_epoch.get(epoch)
        is_preferred = step.kind == PREFERRED_ELECTED and known is not None and abs(known.at - step.at) <= SECOND
        return steps[0] if len(makers) == 1 or is_preferred else None
