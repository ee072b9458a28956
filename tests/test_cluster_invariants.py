"""Controllers, transitions, requests, the gauge and broker epochs against sequences worked out by hand."""

from dataclasses import replace

import pytest

from udfs.kafka.cluster_invariants import (
    check_broker_epochs,
    check_controllers,
    check_offline_gauge,
    check_received,
    check_transitions,
)
from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED, violations
from udfs.kafka.releases import Release
from udfs.kafka.stored_state import StoredState

CLAIMS: dict[str, tuple[list[tuple[int, int]], list[str]]] = {  # (epoch, controller) -> rules violated
    "succession with a gap": ([(4, 1), (5, 2), (7, 1)], []),
    "the same line twice": ([(4, 1), (4, 1)], []),
    "an old epoch again": ([(4, 1), (5, 2), (4, 1)], ["controller_epoch_grows"]),
    "two in one epoch": ([(4, 1), (4, 2)], ["controller_epoch_grows", "one_controller_per_epoch"]),
}


@pytest.mark.parametrize("case", CLAIMS)
def test_claims(case: str) -> None:
    claims, rules = CLAIMS[case]
    assert violations(check_controllers(claims)) == rules


def test_transitions() -> None:
    path = [("NewPartition", "OnlinePartition"), ("OnlinePartition", "NonExistentPartition")]
    assert [finding.verdict for finding in check_transitions(Release(3, 9), path)] == [HOLDS, VIOLATED]
    with_gap = [("NewReplica", "OnlineReplica"), ("OfflineReplica", "OnlineReplica")]
    assert [finding.verdict for finding in check_transitions(Release(3, 9), with_gap)] == [HOLDS, HOLDS, UNKNOWN]
    with pytest.raises(ValueError, match="No such transition"):
        list(check_transitions(Release(3, 9), [("NewReplica", "OnlinePartition")]))


def test_requests_received_by_brokers() -> None:
    state = StoredState(1, 5, (1, 2))
    received = [state, replace(state, leader=2), replace(state, leader_epoch=9), replace(state, leader=-2)]
    assert [(finding.at, finding.verdict) for finding in check_received([state], received)] == [
        *((0, HOLDS), (1, VIOLATED), (2, UNKNOWN))
    ]


def test_gauge_and_broker_epochs() -> None:
    path = [("NewPartition", "OfflinePartition"), ("OfflinePartition", "OnlinePartition")]
    assert [finding.verdict for finding in check_offline_gauge(path, [1, 1])] == [HOLDS, VIOLATED]
    assert [finding.verdict for finding in check_broker_epochs([3, 8, 8])] == [HOLDS, VIOLATED]
