"""What lines state of one partition's leader epochs, and the states in order that come of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.kafka_values import NO_LEADER

Isr = tuple[int, ...]
"""In-sync replicas, sorted."""


@dataclass(frozen=True)
class EpochObservation:
    """What one line, or several that agree, states of one leader epoch of one partition. One of:

    - a state: leader and ISR, and its partition epoch if the line prints it;
    - the leader's own change of the ISR from `isr_before` to `isr`; `is_accepted` is false if the store refused it, and
      then `partition_epoch` is the one that the leader took for that of `isr_before`; `is_doubtful`: the leader was
      about to write it, but had no connection to the store, and its session ended;
    - only that the controller wrote this leader epoch and changed nothing else: leader and ISR are None;
    - only that the leader began to lead in it, `is_begin`: the ISR is None.

    `is_of_creation`: lines show that the partition was created then, or after; else it may have been there before.
    `is_listed`: nothing states it but lists of all that a controller had cached, which may have been over as the logs
    begin.

    `is_report`: the leader itself reports a state, which it wrote with that partition epoch.

    `at` is in microseconds. `coverage` is the span around `at` in which the leader's own log is there, None if it is
    not; since `whole_since` the logs of all brokers are that are known by then, and `there` is who these are. `key` is
    the caller's name for it.
    """

    leader_epoch: int
    at: int
    leader: int | None = None
    isr: Isr | None = None
    partition_epoch: int | None = None
    isr_before: Isr | None = None
    is_accepted: bool = True
    is_doubtful: bool = False
    coverage: tuple[int, int] | None = None
    whole_since: int | None = None
    there: frozenset[int] = frozenset()
    is_begin: bool = False
    is_of_creation: bool = True
    is_listed: bool = False
    is_report: bool = False
    key: int = 0


@dataclass(frozen=True)
class OrderedState:
    """One committed state, the `step`-th of its leader epoch from 0, and the keys of what proves it.

    `since` is the time of its own first proof. The partition epoch is None where it is not known. `follows`: no state
    between the one before and this one is missing; false if that is not known. `is_printed`: lines print partition
    epochs of its leader epoch, which place it; else it is counted from others. `refutes`: they show that what was
    counted up to this state is wrong.
    """

    leader_epoch: int
    step: int
    partition_epoch: int | None
    leader: int
    isr: Isr
    by_leader: bool
    since: int
    proofs: tuple[int, ...]
    follows: bool = False
    is_printed: bool = False
    refutes: bool = False


def not_over(observations: Sequence[EpochObservation]) -> list[EpochObservation]:
    """Those of the first leader epoch that is known, in their order, without states that may have ended before the logs
    begin.

    A controller learns late that a leader changed the ISR (until 2.6), in 0.8 never: what only its list of all
    partitions has was true once. Without a leader nobody changes it. Else it was not over if the leader's next change
    starts from it; if there is none, if other lines have it, as a change that has led to it.
    """
    return [
        o
        for o in observations
        if not o.is_listed or o.is_of_creation or o.leader == NO_LEADER or _is_there(o, observations)
    ]


def _is_there(listed: EpochObservation, observations: Sequence[EpochObservation]) -> bool:
    """Whether other lines show that what a list has was there by then, or later."""
    changes = [o for o in observations if o.isr_before is not None and o.at >= listed.at]
    if changes:
        return min(changes, key=lambda change: change.at).isr_before == listed.isr
    return any(not o.is_listed and o.isr == listed.isr for o in observations)
