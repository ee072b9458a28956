"""What follows of modelled KRaft partitions was so, whatever is missing of their lines."""

from __future__ import annotations

import pytest

from tests.kraft_model import FROM_4_1, Broker, Model, State
from tests.proofs.prove_kraft_model import FAULTS, SKEW_MS, WITH_LOGS, count

FAULTY = (283, 317, 367)
"""Histories of which states followed once that were not so."""


@pytest.mark.parametrize("seed", [*range(12), *FAULTY])
def test_nothing_that_follows_is_wrong(seed: int) -> None:
    assert not any("WRONG" in name for name in count(seed))


def test_histories_are_the_same_each_time() -> None:
    one, other = (Model(5, WITH_LOGS[2], skew_ms=SKEW_MS) for _ in range(2))
    for model in (one, other):
        model.run(FAULTS)
    assert one.history == other.history
    assert one.evidence() == other.evidence()


def test_another_eligible_replica_leads_as_the_only_one_in_sync_is_fenced() -> None:
    """min.insync.replicas 2: [0, 1] to [0] makes 1 eligible, which leads as 0 is fenced; back in sync nobody is."""
    model = Model(0, 1.0)
    model.era, model.has_directories = FROM_4_1, False
    first = State(model.now, 0, leader=0, leader_epoch=0, isr=(0, 1), replicas=(0, 1))
    model.history, model.min_isr, model.is_unclean, model.due = {0: [first]}, {0: 2}, {0: False}, []
    model.brokers = {0: Broker(), 1: Broker()}
    model.shrink()
    model._fence(0)
    model._unfence(0)
    model.expand()
    values = [(s.leader, s.leader_epoch, s.isr, s.eligible) for s in model.history[0][1:]]
    assert values == [(0, 0, (0,), (1,)), (1, 1, (1,), (0,)), (1, 1, (0, 1), ())]
