"""Invariants of sequences other than states: of controllers, transitions, requests, gauges and broker epochs."""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from schemas.kafka_values import LEADER_DURING_DELETE
from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED, Finding, judge
from udfs.kafka.metrics import offline_counter
from udfs.kafka.releases import Release
from udfs.kafka.state_machines import is_legal
from udfs.kafka.stored_state import StoredState


def check_controllers(claims: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    """The rules `controller_epoch_grows` and `one_controller_per_epoch`, over (epoch, controller) in stored order.

    Epochs may skip numbers: a controller can die before it does anything. A claim that repeats the last one is no
    other.
    """
    claimants: dict[int, int] = {}
    for at, (epoch, controller) in enumerate(claims):
        if at and claims[at - 1] == (epoch, controller):
            continue
        latest = max(claimants, default=0)
        grows = judge(epoch > latest, f"a controller epoch above {latest}", f"epoch {epoch} of controller {controller}")
        holder = claimants.setdefault(epoch, controller)
        actual = f"controller {controller}" if holder == controller else f"controllers {holder} and {controller}"
        unique = judge(holder == controller, "one controller per epoch", f"{actual} in epoch {epoch}")
        yield Finding("controller_epoch_grows", grows.verdict, at, grows.expected, grows.actual)
        yield Finding("one_controller_per_epoch", unique.verdict, at, unique.expected, unique.actual)


def check_transitions(release: Release, transitions: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    """The rule `legal_transition`, for the transitions of one partition or replica in one controller term.

    A transition that starts elsewhere than the last one ended means that lines are lost: it is judged by itself, and
    what lies between is unknown.
    """
    for at, (was, now) in enumerate(transitions):
        legal = judge(is_legal(release, was, now), "a legal transition", f"{was} to {now}")
        yield Finding("legal_transition", legal.verdict, at, legal.expected, legal.actual)
        if at and transitions[at - 1][1] != was:
            lost = f"transitions between {transitions[at - 1][1]} and {was}"
            yield Finding("legal_transition", UNKNOWN, at, "a transition from the state before", "", (lost,))


def check_received(stored: Collection[StoredState], received: Sequence[StoredState]) -> Iterator[Finding]:
    """The rule `received_state_was_stored`: each (leader, leader epoch) sent to a broker was stored by a controller.

    A leader epoch without any stored state is a gap: unknown. Leader -2 marks a deletion and does not count.
    """
    stored_leaders = {(state.leader_epoch, state.leader) for state in stored}
    stored_epochs = {epoch for epoch, _ in stored_leaders}
    expected = "a leader and leader epoch that some controller stored"
    for at, state in enumerate(received):
        if state.leader == LEADER_DURING_DELETE:
            continue
        actual = f"leader {state.leader} at leader epoch {state.leader_epoch}"
        if state.leader_epoch not in stored_epochs:
            lost = f"states of leader epoch {state.leader_epoch}"
            yield Finding("received_state_was_stored", UNKNOWN, at, expected, actual, (lost,))
            continue
        verdict = HOLDS if (state.leader_epoch, state.leader) in stored_leaders else VIOLATED
        yield Finding("received_state_was_stored", verdict, at, expected, actual)


def check_offline_gauge(transitions: Sequence[tuple[str, str]], readings: Sequence[int]) -> Iterator[Finding]:
    """The rule `offline_gauge_matches` (2.1 on): OfflinePartitionsCount, read after each partition transition."""
    for at, (count, reading) in enumerate(zip(offline_counter(transitions), readings, strict=True)):
        yield Finding(
            "offline_gauge_matches",
            HOLDS if count == reading else VIOLATED,
            at,
            f"{count} offline partitions",
            f"{reading} reported",
        )


def check_broker_epochs(epochs: Sequence[int]) -> Iterator[Finding]:
    """The rule `broker_epoch_grows` (2.2 on), over the epochs of one broker's registrations in stored order."""
    for at, (before, after) in enumerate(pairwise(epochs), start=1):
        verdict = HOLDS if after > before else VIOLATED
        yield Finding("broker_epoch_grows", verdict, at, f"a broker epoch above {before}", f"broker epoch {after}")
