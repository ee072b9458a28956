"""One election with inputs that no line prints: what all plausible values lead to is a verdict, and accuses nobody."""

from __future__ import annotations

from typing import Any

import pytest

from udfs.kafka.election_verdicts import judge_election
from udfs.kafka.releases import Release

ELECTION: dict[str, Any] = {
    "succeeded": True, "strategy": "offline", "trigger": "broker_failure", "previous_leader": 1, "leader": 2,
    "isr": [2], "isr_before": None, "replicas": [1, 2, 3], "replicas_before": [1, 2, 3], "live_brokers": [2, 3],
    "certainly_online": [2, 3], "possibly_online": [2, 3], "shutting_down": [], "unclean": None,
    "unclean_enabled": None,
}  # fmt: skip
"""Broker 1 has died: 2 leads, and is in sync alone. Who was in sync before is in no line."""
SHUTDOWN = {"strategy": "controlled_shutdown", "shutting_down": [1], "trigger": "controlled_shutdown"}
FAILED = {"succeeded": False, "leader": None, "isr": None, "previous_leader": -1}

CASES: dict[str, tuple[str, dict[str, Any], str, tuple[str, ...]]] = {
    "2 may have been out of sync, and elected uncleanly": (
        "1.0", {}, "unknown", ("isr_before", "unclean.leader.election.enable")
    ),
    "the selector says that it chose from the ISR": ("1.0", {"unclean": False}, "holds", ()),
    "it says that nobody of the ISR is alive, so 1 was in sync alone": (
        "1.0", {"unclean": True, "unclean_enabled": True}, "holds", ()
    ),
    "which an election that must be clean does not do": (
        "1.0", {"unclean": True, "unclean_enabled": False}, "unknown", ("isr_before",)
    ),
    "through 0.9 the next in the stored order leads: 3, as the new ISR was stored in the order of the old one": (
        "0.9", {**SHUTDOWN, "leader": 3, "isr": [2, 3], "isr_order": [3, 2]}, "holds", ()
    ),
    "not 2, which is behind it; but an ISR that was worked out accuses nobody": (
        "0.9", {**SHUTDOWN, "leader": 2, "isr": [2, 3], "isr_order": [3, 2]}, "unknown", ("isr_before",)
    ),
    "no line prints the order": ("0.9", {**SHUTDOWN, "leader": 3, "isr": [2, 3]}, "unknown", ("isr_before",)),
    "from 0.10 on the order of the assignment counts": (
        "0.10", {**SHUTDOWN, "leader": 2, "isr": [2, 3], "isr_order": [3, 2]}, "holds", ()
    ),
    "nobody of the assignment is alive: nobody can be elected, whoever was in sync": (
        "0.8.2", {**FAILED, "certainly_online": [4], "possibly_online": [4], "live_brokers": [4]}, "holds", ()
    ),
    "2 is alive, and may have been in sync": (
        "2.4", {**FAILED, "unclean_enabled": False}, "unknown", ("isr_before",)
    ),
    "lines say that unclean elections of the topic are not allowed: so nobody was elected, though 3 is alive": (
        "2.4", {**FAILED, "isr_before": [1], "topic_switch": False}, "holds", ()
    ),
    "that they are: but a broker's line about a setting accuses nobody": (
        "2.4", {**FAILED, "isr_before": [1], "topic_switch": True}, "unknown", ("unclean.leader.election.enable",)
    ),
    "it explains the election of an outsider": ("2.4", {"isr_before": [1], "topic_switch": True}, "holds", ()),
    "what was set by whoever asks counts before lines": (
        "2.4", {"isr_before": [1], "topic_switch": True, "unclean_enabled": False}, "violated", ()
    ),
    "whoever may have asked for it": (
        "2.4", {"isr_before": [1], "topic_switch": True, "unclean_enabled": False, "trigger": None}, "unknown",
        ("trigger",),
    ),
    "unless the controller's session had expired, whoever was": (
        "2.4", {**FAILED, "refusal": "ZooKeeper answered Session expired"}, "holds", ()
    ),
    "of whatever kind the election was": (
        "2.4", {**FAILED, "strategy": None, "refusal": "another controller has taken over"}, "holds", ()
    ),
    "a replica that the controller took out of the ISR was in it": (
        "2.6", {"strategy": None, "previous_leader": 2, "removed_replica": 1}, "holds", ()
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_verdict(case: str) -> None:
    release, changes, verdict, missing = CASES[case]
    judged = judge_election({**ELECTION, **changes}, Release.parse(release), is_kraft=False, elr_enabled=False)
    assert (judged.verdict, judged.missing) == (verdict, missing)


def test_why_a_refused_election_is_right() -> None:
    row = {**ELECTION, **FAILED, "refusal": "ZooKeeper answered Session expired"}
    judged = judge_election(row, Release(2, 4), is_kraft=False, elr_enabled=False)
    assert judged.explanation == (
        "offline_election holds: expected no leader, for ZooKeeper answered Session expired; logged no leader."
    )
