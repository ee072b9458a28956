"""The order of the steps by which a controller takes office: plain functions over rows as dicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from udfs.kafka.judgements import HOLDS, VIOLATED, Finding
from udfs.kafka.reassignment_steps import is_before
from udfs.kafka.verdicts import Verdict, verdict_of

Step = Mapping[str, Any]
"""Columns: `step`, and its first line: `at` (microseconds), `node_id`, `file_id`, `line`."""
RULE = "failover_order"
ORDERS = {
    "zookeeper": (
        (
            "elected", "epoch_incremented", "context_loading", "context_loaded", "replica_state_machine_started",
            "partition_state_machine_started", "ready",
        ),
        ("context_loaded", "first_request"),
    ),
    "kraft": (("elected", "active", "activation"),),
}  # fmt: skip
"""By mode of a controller chains of steps, each to be taken before those behind it.

`KafkaController.onControllerFailover` (0.8.0-3.9): handlers and context first, then the state machines, then "Ready to
serve"; the replica state machine sends requests as it starts. `QuorumController.QuorumMetaLogListener` (KRaft): Raft
elects the leader, which claims its office, then writes what activation needs.
"""
TOGETHER_US = 10_000_000
"""Steps further apart accuse nobody: lines may be lost between them, and the node may have been elected again."""


def judge_failover(mode: str, steps: Sequence[Step], until: int | None) -> tuple[Verdict, tuple[Step, ...]] | None:
    """The steps of a controller term, with its end: verdict and lines; None if no two of them have an order.

    Both lines are the controller's own. Those of one file are in the order of the file, others of their times; at equal
    times there is none.
    """
    of_term = {step["step"]: step for step in steps if until is None or step["at"] <= until}
    pairs = [pair for chain in ORDERS.get(mode, ()) for pair in _ordered(chain, of_term)]
    if not pairs:
        return None
    swapped = [(one, other) for one, other in pairs if is_before(other, one)]
    near = [(one, other) for one, other in swapped if one["at"] - other["at"] <= TOGETHER_US]
    if swapped and not near:
        return None
    first, second = near[0] if near else pairs[0]
    expected = " before ".join(_words(step) for step in ((first, second) if near else _in_order(pairs)))
    lines: tuple[Step, ...] = (second, first)
    if near:
        actual = f"{_words(second)} before {_words(first)}"
    else:
        lines = tuple(_in_order(pairs))
        actual = f"{len(lines)} steps in that order"
    return verdict_of(Finding(RULE, VIOLATED if near else HOLDS, 0, expected, actual)), lines


def _ordered(chain: Sequence[str], of_term: Mapping[str, Step]) -> Iterator[tuple[Step, Step]]:
    """Neighbours of a chain, of the steps that are there."""
    yield from pairwise(of_term[name] for name in chain if name in of_term)


def _in_order(pairs: Sequence[tuple[Step, Step]]) -> list[Step]:
    """The steps of pairs, each once, as the chains have them."""
    steps: list[Step] = []
    for step in (step for pair in pairs for step in pair):
        if step not in steps:
            steps.append(step)
    return steps


def _words(step: Step) -> str:
    return str(step["step"]).replace("_", " ")
