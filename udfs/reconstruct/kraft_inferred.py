"""States that a KRaft controller committed and no line states: what its own steps leave no choice about.

A controller at INFO tells of a lost leader only by fencing it, of replicas that lose their eligibility only by the number of
records that a new registration cleans up, and of a step of a reassignment by its record, without the epochs. Each such step
adds 1 to the partition epoch, and 1 to the leader epoch if it names a leader (also none); see PartitionChangeBuilder,
ReplicationControlManager (3.0 on) and, for eligible leader replicas, KIP-966.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from schemas.kafka_values import NO_LEADER

ASSIGNED, FENCED, UNFENCED, REBORN = "assigned", "fenced", "unfenced", "reborn"


class Step(NamedTuple):
    """What the active controller did: a record of an assignment, a broker fenced or unfenced, or registered after an unclean shutdown.

    `at` in microseconds. Steps sort in the order of the controller's log.
    """

    at: int
    node_id: int | None
    file_id: str | None
    line: int
    kind: str
    broker: int | None
    """Who was fenced, unfenced or registered."""
    leader: int | None
    """Of a record the leader it names, None if it keeps the leader and its epoch."""
    isr: list[int] | None
    """Of a record the ISR, sorted; None if it keeps it."""
    replicas: list[int] | None
    """Of a record the assignment; None if it keeps it."""


class State(NamedTuple):
    """A partition as far as it is told; None for what is not. `eligible`: those who surely are eligible leader replicas."""

    leader: int | None
    leader_epoch: int | None
    partition_epoch: int
    isr: list[int] | None
    replicas: list[int] | None = None
    eligible: frozenset[int] = frozenset()


class Written(NamedTuple):
    """A state that a step made, and the step."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: list[int]
    replicas: list[int] | None
    made_by: Step


def after_step(state: State, step: Step, keeps_last: bool) -> State | None:
    """The state that a step makes of a whole one, the same if it changes nothing; None if nobody can tell.

    `keeps_last`: whether the last member stays in the ISR when it is lost, as without eligible leader replicas. Who follows a
    leader that is not alone in sync is not decided here, for the lines of the new leader tell.

    >>> fenced = Step(9, 102, "f", 1, FENCED, 4, None, None, None)
    >>> after_step(State(4, 7, 17, [4]), fenced, keeps_last=False)
    State(leader=-1, leader_epoch=8, partition_epoch=18, isr=[], replicas=None, eligible=frozenset({4}))
    """
    if state.leader is None or state.leader_epoch is None or state.isr is None:
        raise ValueError(f"{state} is not told in full; steps are counted from one that is")
    if step.kind == ASSIGNED:
        if step.replicas is not None and step.replicas == state.replicas:
            return state  # the record that made it, by clocks that differ: a list is printed only where it changes
        isr = state.isr if step.isr is None else step.isr
        return State(
            state.leader if step.leader is None else step.leader,
            state.leader_epoch + (step.leader is not None),
            state.partition_epoch + 1,
            isr,
            step.replicas,
            state.eligible - set(isr),
        )
    if step.kind == UNFENCED:  # an election, if there is no leader, is told by who wins it
        return None if state.leader == NO_LEADER and step.broker in state.eligible.union(state.isr) else state
    if step.kind == REBORN and step.broker in state.eligible:
        eligible = state.eligible - {step.broker}
        return State(state.leader, state.leader_epoch, state.partition_epoch + 1, state.isr, None, eligible)
    if step.broker not in state.isr or (keeps_last and state.leader == NO_LEADER and len(state.isr) == 1):
        return state
    if state.leader != step.broker or len(state.isr) > 1 or step.kind == REBORN:
        return None
    kept = state.isr if keeps_last else []
    eligible = state.eligible if keeps_last else state.eligible | {state.leader}
    return State(NO_LEADER, state.leader_epoch + 1, state.partition_epoch + 1, kept, None, eligible)


def written_by(state: State, steps: Iterable[Step], keeps_last: bool) -> list[Written]:
    """The states that steps make of a whole one, in their order, as far as they can be told."""
    states: list[Written] = []
    for step in steps:
        after = after_step(state, step, keeps_last)
        if after is None:
            break
        if after.partition_epoch > state.partition_epoch:
            assert after.leader is not None
            assert after.leader_epoch is not None
            assert after.isr is not None
            states.append(
                Written(after.leader, after.leader_epoch, after.partition_epoch, after.isr, after.replicas, step)
            )
        state = after
    return states


def untold(before: State, steps: Sequence[Step], after: State | None, keeps_last: bool) -> list[Written]:
    """The states after a whole one, up to and with the next that any line tells of; `replicas` are those that a record prints.

    They count only if all steps lead exactly there, and visibly, so that nobody else wrote anything. After the last one that is told only
    one thing is sure: that a leader alone in sync is lost once it is fenced, for nobody else could take its place before. Not
    so if it returned: then it would lead again, and say so, and its fencing belongs before that state by other clocks.
    """
    if after is None:
        alone = before.isr == [before.leader]
        first = bool(steps) and steps[0][4:6] == (FENCED, before.leader)
        returned = any(step[4:6] == (UNFENCED, before.leader) for step in steps)
        return written_by(before, steps[:1], keeps_last) if alone and first and not returned else []
    states = written_by(before, steps, keeps_last)
    leads_there = bool(states) and _agree(states[-1], after)
    return states if leads_there and _shows(before, states[-1], after) else []


def _shows(before: State, last: Written, after: State) -> bool:
    """Whether the told state itself shows that steps made it: by its leader epoch, or by the ISR where it tells that.

    What changes neither, as the directory of a replica, is not told by controllers, and could as well have come between.
    """
    return last.leader_epoch != before.leader_epoch or (after.isr is not None and last.isr != before.isr)


def _agree(state: Written, told: State) -> bool:
    pairs = zip(state[:5], told[:5], strict=True)
    return all(said is None or found is None or said == found for found, said in pairs)
