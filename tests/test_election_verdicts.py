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
    "nothing tells why it was held, but the leader before had 2 in sync: so 2 leads, of those that are left": (
        "2.4", {"strategy": None, "plausible_isr": [1, 2]}, "holds", ()
    ),
    "had it been 3 that was in sync, 3 would lead; an ISR that may have changed since accuses nobody": (
        "2.4", {"strategy": None, "plausible_isr": [1, 3]}, "unknown", ("isr_before",)
    ),
    "whoever was in sync with the leader that died, 2 is the first of those that are left": (
        "2.4", {"strategy": None, "isr": [2, 3]}, "holds", ()
    ),
    "and 3 is not": ("2.4", {"strategy": None, "leader": 3, "isr": [2, 3]}, "unknown", ("isr_before",)),
    "the leader stays, first or not: with all others of the ISR, or without one that was taken out of it": (
        "2.4", {"strategy": None, "previous_leader": 3, "leader": 3, "isr": [2, 3]}, "holds", ()
    ),
    "a leader that is not assigned any more was in sync, too: that ISR was none of the assignment": (
        "2.4", {"strategy": None, "previous_leader": 4, "isr": [2, 3]}, "unknown", ("isr_before",)
    ),
    "who is left alone may have been elected uncleanly": (
        "2.4", {"strategy": None}, "unknown", ("isr_before", "unclean.leader.election.enable")
    ),
    "unless a line tells that it was in sync": ("2.4", {"strategy": None, "unclean": False}, "holds", ()),
    "of one that was held for a known reason it tells nothing": (
        "2.4", {"plausible_isr": [1, 2]}, "unknown", ("isr_before", "unclean.leader.election.enable")
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
    "what was set by whoever asks may have been changed at run time, where a line of the topic says so": (
        "2.4", {"isr_before": [1], "topic_switch": True, "unclean_enabled": False}, "unknown",
        ("unclean.leader.election.enable",),
    ),
    "the other way round, too": (
        "2.4", {**FAILED, "isr_before": [1], "topic_switch": False, "unclean_enabled": True}, "unknown",
        ("unclean.leader.election.enable",),
    ),
    "or where the controller was electing because they had just been allowed": (
        "2.4", {"isr_before": [1], "unclean_enabled": False, "trigger": "unclean_election_enabled"}, "unknown",
        ("unclean.leader.election.enable",),
    ),
    "what was set by whoever asks counts where lines say the same": (
        "2.4", {"isr_before": [1], "topic_switch": False, "unclean_enabled": False}, "violated", ()
    ),
    "and where they say nothing": ("2.4", {"isr_before": [1], "unclean_enabled": False}, "violated", ()),
    "a choice that is wrong either way is": (
        "2.4", {"isr_before": [2, 3], "leader": 3, "isr": [2, 3], "topic_switch": True, "unclean_enabled": False},
        "violated", (),
    ),
    "unless an administrator may have asked for it": (
        "2.4", {"isr_before": [1], "topic_switch": False, "unclean_enabled": False, "trigger": None}, "unknown",
        ("trigger",),
    ),
    "a line that prints no replicas tells no assignment": (
        "2.4", {"strategy": "preferred", "isr_before": [1, 2], "isr": [1, 2], "replicas": []}, "unknown", ("replicas",)
    ),
    "nor do lines around that print none": (
        "2.4",
        {
            "strategy": "preferred", "isr_before": [1, 2], "isr": [1, 2], "replicas": None,
            "plausible_replicas": [[], [2, 1, 3]],
        },
        "holds", (),
    ),
    "nor that there is no target": (
        "2.2", {"strategy": "reassign", "isr_before": [1, 2], "isr": [1, 2], "replicas": None, "target_replicas": []},
        "unknown", ("replicas",),
    ),
    "unless the controller's session had expired, whoever was": (
        "2.4", {**FAILED, "refusal": "ZooKeeper answered Session expired"}, "holds", ()
    ),
    "of whatever kind the election was": (
        "2.4", {**FAILED, "strategy": None, "refusal": "another controller has taken over"}, "holds", ()
    ),
    "the list of the alive is too old: the leader is among them, in whose place somebody was elected": (
        "2.4", {"isr_before": [1, 2, 3], "leader": 3, "isr": [3], "refuted_input": "live_brokers"}, "unknown",
        ("live_brokers",),
    ),
    "only who leads is known: of those whom the leader before had in sync last 2 is the next": (
        "2.4", {"strategy": None, "isr": None, "plausible_isr": [1, 2, 3]}, "holds", ()
    ),
    "had it been 3 alone, 3 would lead": (
        "2.4", {"strategy": None, "isr": None, "plausible_isr": [1, 3]}, "unknown", ("isr_before",)
    ),
    "2 is the next by each ISR that the election before may have left": (
        "2.4", {"strategy": None, "isr": None, "isrs_left_before": [[1, 2], [1, 2, 3]]}, "holds", ()
    ),
    "and by one of two": (
        "2.4", {"strategy": None, "isr": None, "isrs_left_before": [[1, 2], [1, 3]]}, "unknown", ("isr_before",)
    ),
    "the ISR that the election before left counts where the one after is known, too": (
        "2.4", {"strategy": None, "isrs_left_before": [[1, 2]]}, "holds", ()
    ),
    "nobody knows an ISR: who leads in another one's place goes by it": (
        "2.4", {"strategy": None, "isr": None}, "unknown", ("isr_before",)
    ),
    "a leader that stays may do so whatever the ISR": (
        "2.4", {"strategy": None, "isr": None, "previous_leader": 2}, "holds", ()
    ),
    "if it is assigned": (
        "2.4", {"strategy": None, "isr": None, "previous_leader": 4, "leader": 4}, "unknown", ("isr_before",)
    ),
    "only 1 was left in sync, which is away: so nobody was elected": (
        "2.4", {**FAILED, "isrs_left_before": [[1]], "unclean_enabled": False}, "holds", ()
    ),
    "or 2 was, which is alive": (
        "2.4", {**FAILED, "isrs_left_before": [[1], [2]], "unclean_enabled": False}, "unknown", ("isr_before",)
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


KRAFT: dict[str, Any] = {
    **ELECTION, "strategy": None, "trigger": None, "previous_leader": 1, "isr_before": [0, 1, 3],
    "replicas_before": [4, 0, 2, 1, 3], "replicas": [4, 0, 2], "live_brokers": [0, 1, 3, 4], "leader": 4, "isr": [0, 4],
    "certainly_online": [0, 1, 3, 4], "possibly_online": [0, 1, 3, 4], "elr_before": [], "unclean_enabled": False,
}  # fmt: skip
"""[1, 2, 3] becomes [4, 0, 2]: 4 is the last added replica to be in sync, 2 lags."""
CANCELLED = {
    "previous_leader": 3, "leader": 3, "isr_before": [0, 2, 3], "isr": [3], "replicas_before": [2, 1, 0, 3, 4],
    "replicas": [3, 4], "certainly_online": [0, 3], "possibly_online": [0, 2, 3],
}  # fmt: skip
"""A reassignment of [3, 4] is taken back while 4 is down."""
LAST_KNOWN = {
    "previous_leader": -1, "leader": 1, "isr_before": [], "isr": [1], "elr_before": [4], "last_known_before": [1],
    "replicas_before": [4, 0, 1], "replicas": [4, 0, 1], "certainly_online": [0, 1], "possibly_online": [0, 1, 4],
}  # fmt: skip
"""Nobody is in sync, 4 is eligible, and 1, which led last, leads again: as 4 registers, not shut down cleanly."""
SHUTS_DOWN = {
    "previous_leader": 3,
    "leader": 4,
    "isr_before": [3],
    "isr": [4],
    "replicas_before": [3, 4],
    "replicas": [3, 4],
    "unclean_enabled": True,
    "certainly_online": [4],
    "possibly_online": [3, 4],
}
"""3 was in sync alone and begins its shutdown: 4 leads, uncleanly, as the topic allows it."""


@pytest.mark.parametrize(
    ("changes", "verdict", "missing"),
    [
        (LAST_KNOWN, "unknown", ("unclean_shutdown",)),
        ({**LAST_KNOWN, "certainly_online": [0, 1, 4]}, "violated", ()),
        ({**LAST_KNOWN, "last_known_before": [0]}, "violated", ()),
        # 0, which led last, is away: an unclean election, which the topic allows, does not ask who is eligible
        (
            {
                **LAST_KNOWN,
                "last_known_before": [0],
                "unclean_enabled": True,
                "certainly_online": [1],
                "possibly_online": [1, 4],
            },
            "holds",
            (),
        ),
        (SHUTS_DOWN, "holds", ()),
        ({**SHUTS_DOWN, "certainly_online": [3, 4]}, "violated", ()),
        # somebody may have asked for it
        ({**SHUTS_DOWN, "unclean_enabled": False}, "unknown", ("trigger",)),
    ],
)
def test_who_goes_as_somebody_is_elected(changes: dict[str, Any], verdict: str, missing: tuple[str, ...]) -> None:
    """What takes a broker out and what elects another one is one decision, so that broker is not certainly online."""
    row = {**KRAFT, "unclean": True, **changes}
    judged = judge_election(row, Release(4, 2), is_kraft=True, elr_enabled=True)
    assert (judged.verdict, judged.missing) == (verdict, missing)


ELIGIBLE = {
    "previous_leader": 2, "leader": 1, "isr_before": [2], "isr": [1], "elr_before": [1],
    "replicas_before": [3, 1, 2], "replicas": [3, 1, 2], "certainly_online": [1, 3], "possibly_online": [1, 3],
}  # fmt: skip
"""2 is alone in sync and goes; 1 is eligible."""


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "holds"),
        ({"replicas_before": [1, 2, 3], "replicas": [1, 2, 3]}, "holds"),
        ({"possibly_online": [1, 2, 3]}, "holds"),
        ({"certainly_online": [1, 2, 3], "possibly_online": [1, 2, 3]}, "violated"),  # 2 is there
        ({"elr_before": [1, 3]}, "violated"),  # 3 is the first replica, and eligible, too
        # 3 is in sync, and there
        ({"isr_before": [2, 3], "replicas_before": [1, 3, 2], "replicas": [1, 3, 2]}, "violated"),
    ],
)
def test_an_eligible_replica_leads_as_the_last_member_leaves_the_isr(changes: dict[str, Any], verdict: str) -> None:
    """One record takes 2 out of the ISR and elects (PartitionChangeBuilder, 3.7 on)."""
    judged = judge_election({**KRAFT, **ELIGIBLE, **changes}, Release(4, 1), is_kraft=True, elr_enabled=True)
    assert judged.verdict == verdict


def test_words_on_who_was_eligible_and_who_led_last() -> None:
    """The ISR is empty: the replicas before 0 are not in the ELR, and without any the last known leader leads."""
    eligible = {**KRAFT, **LAST_KNOWN, "elr_before": [0], "last_known_before": [], "leader": 0, "isr": [0]}
    judged = judge_election(eligible, Release(4, 2), is_kraft=True, elr_enabled=True)
    assert judged.verdict == "holds"
    assert judged.explanation == (
        "Assignment [4, 0, 1], ISR [], ELR [0], no leader, alive [0, 1], maybe [4]: the leader stays if it may lead; "
        "else the first replica that may lead and is in the ISR leads; if the ISR is empty, the ELR counts instead, "
        "and if both are, the only last known one leads, uncleanly (4 is not in the ELR). So leader 0, ISR [0] is "
        "expected; the log has leader 0, ISR [0]."
    )
    led_last = {**KRAFT, **LAST_KNOWN, "elr_before": [], "unclean": True}
    judged = judge_election(led_last, Release(4, 2), is_kraft=True, elr_enabled=True)
    assert judged.verdict == "holds"
    assert judged.explanation.startswith("Assignment [4, 0, 1], ISR [], last known ELR [1], no leader, alive [0, 1], ")


@pytest.mark.parametrize(
    ("release", "changes", "verdict"),
    [
        ("4.2", {}, "violated"),
        ("4.3", {}, "holds"),
        ("3.7", CANCELLED, "holds"),
        ("3.9", CANCELLED, "holds"),
        ("4.4", CANCELLED, "holds"),
        ("4.2", {**CANCELLED, "isr": [0, 3]}, "violated"),
    ],
)
def test_replicas_leave(release: str, changes: dict[str, Any], verdict: str) -> None:
    """From 4.3 on a lagging target blocks no reassignment (KAFKA-19975); one that is cancelled waits for none."""
    judged = judge_election({**KRAFT, **changes}, Release.parse(release), is_kraft=True, elr_enabled=True)
    assert judged.verdict == verdict


LINGERING = {
    "previous_leader": -1, "leader": 3, "isr_before": [], "isr": [3], "elr_before": [0, 2, 3, 4],
    "last_known_before": [0], "replicas_before": [4, 0], "replicas": [1, 3, 0, 4],
    "certainly_online": [1, 2, 3], "possibly_online": [1, 2, 3],
}  # fmt: skip
"""Nobody is in sync, 0 and 4 are away, and 2 and 3, which were taken off the assignment, are eligible still; 1 and 3
are added: no controller can write this."""


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "violated"),
        ({"leader": 1, "isr": [1]}, "violated"),  # it was never eligible
        (
            {
                "leader": 4, "isr": [4], "replicas": [1, 4, 0, 3],
                "certainly_online": [3, 4], "possibly_online": [3, 4],
            },
            "holds",
        ),
    ],
)  # fmt: skip
def test_a_replica_that_is_added_again_does_not_lead(changes: dict[str, Any], verdict: str) -> None:
    """A reassignment does not take those that it removes off the eligible ones, but has no directory of theirs as it
    adds them: it fails (`LeaderAcceptor`)."""
    judged = judge_election({**KRAFT, **LINGERING, **changes}, Release(4, 3), is_kraft=True, elr_enabled=True)
    assert judged.verdict == verdict


@pytest.mark.parametrize("release", ["3.0", "3.1", "3.2", "3.9"])
@pytest.mark.parametrize(("leader", "verdict"), [(2, "holds"), (4, "violated")])
def test_an_unclean_election_as_the_last_member_goes(release: str, leader: int, verdict: str) -> None:
    """1 is alone in sync and goes; 2 is the first that is there. Through 3.1 nobody is elected while the ISR that is
    asked for has the leader (`PartitionChangeBuilder.shouldTryElection`), so 1 was taken out of it."""
    row = {
        **KRAFT, "previous_leader": 1, "isr_before": [1], "leader": leader, "isr": [leader], "replicas": [1, 2, 4],
        "replicas_before": [1, 2, 4], "certainly_online": [2, 4], "possibly_online": [2, 4], "unclean_enabled": True,
    }  # fmt: skip
    judged = judge_election(row, Release.parse(release), is_kraft=True, elr_enabled=False)
    assert judged.verdict == verdict
