"""States that a KRaft controller committed and no line states: what its own steps leave no choice about.

A controller at INFO shows a lost leader only by fencing it, replicas that lose their eligibility only by the number of
records that a new registration cleans up, and a step of a reassignment by its record, without the epochs. Each such
step adds 1 to the partition epoch, and 1 to the leader epoch if it names a leader (also none); see
PartitionChangeBuilder, ReplicationControlManager (3.0 on) and, for eligible leader replicas, KIP-966.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from schemas.kafka_values import NO_LEADER

ASSIGNMENT_CHANGED, FENCED, UNFENCED = "assignment_changed", "fenced", "unfenced"
UNCLEAN_RESTART = "unclean_restart"
"""A registration after an unclean shutdown, from 4.0 on: the broker is no eligible leader replica any more
(KIP-966)."""


class ControllerStep(NamedTuple):
    """What the active controller did with one partition's assignment, or with one broker.

    `kind` is ASSIGNMENT_CHANGED, FENCED, UNFENCED or UNCLEAN_RESTART. `at` in microseconds. Steps sort in the order of
    the controller's log.
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


class KraftState(NamedTuple):
    """A partition as far as lines state it; None for what they do not. `eligible`: replicas surely eligible as
    leader."""

    leader: int | None
    leader_epoch: int | None
    partition_epoch: int
    isr: list[int] | None
    replicas: list[int] | None = None
    eligible: frozenset[int] = frozenset()


class KraftInferredState(NamedTuple):
    """A state that a step made, and the step."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: list[int]
    replicas: list[int] | None
    made_by: ControllerStep


def after_step(state: KraftState, step: ControllerStep, keeps_last_member: bool) -> KraftState | None:
    """The state that a step makes of a complete one, the same if it changes nothing; None if that cannot be decided.

    `keeps_last_member`: whether the last member stays in the ISR when it is lost, as without eligible leader replicas.
    Who follows a leader that is not alone in sync is not decided here, for the lines of the new leader show it.
    Raises ValueError for a state whose leader, leader epoch or ISR is None.

    >>> fenced = ControllerStep(9, 102, "f", 1, FENCED, 4, None, None, None)
    >>> after_step(KraftState(4, 7, 17, [4]), fenced, keeps_last_member=False)
    KraftState(leader=-1, leader_epoch=8, partition_epoch=18, isr=[], replicas=None, eligible=frozenset({4}))
    """
    if state.leader is None or state.leader_epoch is None or state.isr is None:
        raise ValueError(f"{state} lacks leader, leader epoch or ISR; steps are counted from a complete state")
    if step.kind == ASSIGNMENT_CHANGED:
        if step.replicas is not None and step.replicas == state.replicas:
            # the record that made it, by clocks that differ: a list is printed only where it changes
            return state
        isr = state.isr if step.isr is None else step.isr
        return KraftState(
            state.leader if step.leader is None else step.leader,
            state.leader_epoch + (step.leader is not None),
            state.partition_epoch + 1,
            isr,
            step.replicas,
            state.eligible - set(isr),
        )
    if step.kind == UNFENCED:  # an election, if there is no leader, shows in the lines of who wins it
        return None if state.leader == NO_LEADER and step.broker in state.eligible.union(state.isr) else state
    if step.kind == UNCLEAN_RESTART and step.broker in state.eligible:
        eligible = state.eligible - {step.broker}
        return KraftState(state.leader, state.leader_epoch, state.partition_epoch + 1, state.isr, None, eligible)
    if step.broker not in state.isr or (keeps_last_member and state.leader == NO_LEADER and len(state.isr) == 1):
        return state
    if state.leader != step.broker or len(state.isr) > 1 or step.kind == UNCLEAN_RESTART:
        return None
    isr = state.isr if keeps_last_member else []
    eligible = state.eligible if keeps_last_member else state.eligible | {state.leader}
    return KraftState(NO_LEADER, state.leader_epoch + 1, state.partition_epoch + 1, isr, None, eligible)


def written_by(state: KraftState, steps: Iterable[ControllerStep], keeps_last_member: bool) -> list[KraftInferredState]:
    """The states that steps make of a complete one, in their order, up to the first that cannot be decided."""
    states: list[KraftInferredState] = []
    for step in steps:
        after = after_step(state, step, keeps_last_member)
        if after is None:
            break
        if after.partition_epoch > state.partition_epoch:
            assert after.leader is not None
            assert after.leader_epoch is not None
            assert after.isr is not None
            states.append(
                KraftInferredState(
                    after.leader, after.leader_epoch, after.partition_epoch, after.isr, after.replicas, step
                )
            )
        state = after
    return states


def inferred_states(
    before: KraftState, steps: Sequence[ControllerStep], after: KraftState | None, keeps_last_member: bool
) -> list[KraftInferredState]:
    """The states after a complete one, up to and with the next logged one; `replicas` are those that a record prints.

    They count only if all steps lead exactly there, and visibly, so that nobody else wrote anything. After the last
    logged one (`after` is None) only one thing is sure: that a leader alone in sync is lost once it is fenced, for
    nobody else could take its place before. Not so if it returned: then it would lead again, and log it, and its
    fencing belongs before that state by other clocks.
    """
    if after is None:
        is_alone_in_sync = before.isr == [before.leader]
        is_fenced_first = bool(steps) and steps[0][4:6] == (FENCED, before.leader)
        is_back = any(step[4:6] == (UNFENCED, before.leader) for step in steps)
        return (
            written_by(before, steps[:1], keeps_last_member)
            if is_alone_in_sync and is_fenced_first and not is_back
            else []
        )
    states = written_by(before, steps, keeps_last_member)
    leads_there = bool(states) and _agree(states[-1], after)
    return states if leads_there and _is_visible(before, states[-1], after) else []


def _is_visible(before: KraftState, last: KraftInferredState, after: KraftState) -> bool:
    """Whether the next logged state itself shows that steps made it: by its leader epoch, or its ISR where it has one.

    Changes of neither, as of a replica's directory, are not logged by controllers, and could as well have come between.
    """
    return last.leader_epoch != before.leader_epoch or (after.isr is not None and last.isr != before.isr)


def _agree(inferred: KraftInferredState, logged: KraftState) -> bool:
    """Whether two states are equal in all that both have."""
    pairs = zip(inferred[:5], logged[:5], strict=True)
    return all(ours is None or theirs is None or ours == theirs for ours, theirs in pairs)
