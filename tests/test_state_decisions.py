"""Decisions that states show, and elections with inputs that no line prints: cases worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from udfs.kafka.election_verdicts import judge_election
from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED
from udfs.kafka.plausible_inputs import plausible_rows
from udfs.kafka.reassignment_verdicts import judge_reassignment
from udfs.kafka.releases import Release
from udfs.kafka.state_decisions import assignment_change, isr_change, new_partition, replica_removal
from udfs.kafka.stored_state import Cluster, StoredState
from udfs.kafka.verdict_rows import broker_verdicts
from udfs.kafka.zk_reassignment import zk_reassign_trace

ZK, KRAFT = Cluster(Release(3, 9)), Cluster(Release(3, 9), kraft=True)
BEFORE = StoredState(1, 5, (1, 2), partition_epoch=7, replicas=(1, 2, 3))


def state(leader: int, epochs: tuple[int, int], isr: tuple[int, ...], trigger: str | None = None) -> StoredState:
    return StoredState(leader, epochs[0], isr, epochs[1], replicas=(1, 2, 3), trigger=trigger)


ISR_CHANGES = {  # cluster, state after BEFORE -> verdict
    "an expansion": (ZK, state(1, (5, 8), (1, 2, 3), "leader"), HOLDS),
    "a shrink": (ZK, state(1, (5, 8), (1,), "leader"), HOLDS),
    "somebody who is not assigned": (ZK, state(1, (5, 8), (1, 2, 9), "leader"), VIOLATED),
    "itself": (ZK, state(1, (5, 8), (2,), "leader"), VIOLATED),
    "another leader": (ZK, state(2, (5, 8), (2,), "leader"), VIOLATED),
    "a leader epoch of its own": (ZK, state(1, (6, 8), (1,), "leader"), VIOLATED),
    "KRaft raised it before 3.6": (KRAFT, state(1, (6, 8), (1,), "leader"), HOLDS),
    "states are lost": (ZK, state(1, (5, 9), (1, 2, 3), "leader"), UNKNOWN),
    "a controller's": (ZK, state(2, (6, 8), (2,)), None),
}


@pytest.mark.parametrize("case", ISR_CHANGES)
def test_isr_changes_of_leaders(case: str) -> None:
    cluster, after, verdict = ISR_CHANGES[case]
    judgement = isr_change(cluster, BEFORE, after)
    assert (judgement and judgement.verdict) == verdict


@pytest.mark.parametrize(
    ("isr", "elr", "leader", "verdict"),
    [
        ((), (1, 2, 3), 3, VIOLATED),
        ((), (1, 2), 3, VIOLATED),
        ((), (1, 2, 3), 4, VIOLATED),
        ((1,), (3,), 3, VIOLATED),
        ((), (1, 2, 3), 1, HOLDS),
        ((), (1, 2, 3), -1, HOLDS),
    ],
)
def test_an_added_replica_does_not_lead_yet(
    isr: tuple[int, ...], elr: tuple[int, ...], leader: int, verdict: str
) -> None:
    """3 and 4 are added; 3, which had been taken away, may be eligible still (KIP-966), but has no directory yet."""
    before = StoredState(-1, 5, isr, 7, replicas=(1, 2), elr=elr)
    after = StoredState(leader, 6, (leader,) if leader >= 0 else isr, 8, replicas=(3, 4, 1, 2))
    judgement = assignment_change(KRAFT, before, after)
    assert judgement is not None
    assert judgement.verdict == verdict


REMOVALS: dict[str, tuple[str, StoredState, StoredState, str | None]] = {  # release, before, after -> verdict
    "the leader goes": ("2.4", BEFORE, state(-1, (6, 8), (2,)), HOLDS),
    "it stays in the ISR": ("2.4", BEFORE, state(-1, (6, 8), (1, 2)), VIOLATED),
    "the last one stays": ("2.4", state(1, (5, 7), (1,)), state(-1, (6, 8), (1,)), HOLDS),
    "the last one goes": ("2.4", state(1, (5, 7), (1,)), state(-1, (6, 8), ()), VIOLATED),
    "to 0.8.1 it went": ("0.8.1", state(1, (5, 7), (1,)), state(-1, (6, 8), ()), HOLDS),
    "to 1.0 as unclean elections are allowed": ("0.9", state(1, (5, 7), (1,)), state(-1, (6, 8), ()), HOLDS),
    "it is removed again": ("2.4", state(-1, (5, 7), (1,)), state(-1, (6, 8), (1,)), HOLDS),
    "a leader stays": ("2.4", BEFORE, state(1, (6, 8), (1,)), None),
}


@pytest.mark.parametrize("case", REMOVALS)
def test_leaders_that_go_offline(case: str) -> None:
    release, before, after, verdict = REMOVALS[case]
    judgement = replica_removal(Cluster(Release.parse(release)), before, after)
    assert (judgement and judgement.verdict) == verdict


BIRTHS = {  # online, maybe online, ISR -> verdict; the assignment is [1, 2, 3]
    "all are there": ([1, 2, 3], [], (1, 2, 3), HOLDS),
    "one is not": ([1, 3], [], (1, 3), HOLDS),
    "one may be": ([1, 3], [2], (1, 2, 3), HOLDS),
    "the controller knew less": ([1, 2, 3], [], (1, 3), UNKNOWN),
}


@pytest.mark.parametrize("case", BIRTHS)
@pytest.mark.parametrize("cluster", [ZK, KRAFT])
def test_new_partitions(case: str, cluster: Cluster) -> None:
    online, maybe, isr, verdict = BIRTHS[case]
    born = StoredState(
        isr[0], 0, isr, 0, replicas=(1, 2, 3), trigger="new", online=frozenset(online), maybe_online=frozenset(maybe)
    )
    judgement = new_partition(cluster, born)
    assert judgement is not None
    assert judgement.verdict == verdict


# ---- elections whose inputs are not all logged -----------------------------------------------------------------------
ELECTION: dict[str, Any] = {
    "succeeded": True, "strategy": "offline", "trigger": "broker_failure", "previous_leader": -1, "leader": 2,
    "isr": [2, 3], "isr_before": [2, 3], "replicas": [1, 2, 3], "replicas_before": [1, 2, 3], "live_brokers": [2, 3],
    "certainly_online": [2, 3], "possibly_online": [2, 3], "shutting_down": [], "unclean_enabled": False,
    "elr_before": None,
}  # fmt: skip
NO_LIVE: dict[str, Any] = {"live_brokers": None, "certainly_online": [], "possibly_online": []}
ZK_ELECTIONS: dict[str, tuple[str, dict[str, Any], tuple[str, str, tuple[str, ...]]]] = {
    # release, what is other than in ELECTION -> rule, verdict, missing inputs
    "as it is": ("2.4", {}, ("offline_election", HOLDS, ())),
    "an assignment around it": (
        "2.4",
        {"replicas": None, "plausible_replicas": [[1, 2, 3], [2, 3]]},
        ("offline_election", HOLDS, ()),
    ),
    "assignments that disagree accuse nobody": (
        "2.4",
        {"replicas": None, "plausible_replicas": [[1, 2, 3], [3, 2]]},
        ("offline_election", UNKNOWN, ("replicas",)),
    ),
    "no assignment anywhere": ("2.4", {"replicas": None}, ("offline_election", UNKNOWN, ("replicas",))),
    "who was alive decides": ("2.4", NO_LIVE, ("offline_election", UNKNOWN, ("live_brokers",))),
    "the only member that can lead": (
        "2.4",
        {**NO_LIVE, "isr": [2], "isr_before": [2], "replicas": [2, 3]},
        ("offline_election", HOLDS, ()),
    ),
    "the ISR before was no other": (
        "2.4",
        {"isr_before": None, "strategy": "preferred", "previous_leader": 3, "replicas": [2, 3]},
        ("preferred_election", HOLDS, ()),
    ),
    "a removal by its outcome": (
        "2.4",
        {"strategy": None, "previous_leader": 2, "isr_before": [1, 2, 3], "replicas": None, **NO_LIVE},
        ("replica_removal", HOLDS, ()),
    ),
    "no strategy decides so": (
        "2.4",
        {"strategy": None, "leader": 3, "live_brokers": [2, 3]},
        ("zk_election", VIOLATED, ()),
    ),
    "a shutdown that no line shows": (
        "0.10",
        {"strategy": None, "previous_leader": 1, "isr_before": [1, 2, 3], "live_brokers": [1, 2, 3],
         "certainly_online": [1, 2, 3], "possibly_online": [1, 2, 3]},
        ("zk_election", HOLDS, ()),
    ),
    "the target of a reassignment": (
        "2.4",
        {"strategy": "reassign", "target_replicas": [3, 2], "leader": 3, "replicas": None, "previous_leader": 1,
         "isr_before": [2, 3], "live_brokers": [2, 3]},
        ("reassign_election", HOLDS, ()),
    ),
    "0.9 took the stored order of the ISR": (
        "0.9",
        {"strategy": "controlled_shutdown", "previous_leader": 1, "leader": 3, "isr_before": [1, 2, 3],
         "isr_order": [3, 1, 2], "shutting_down": [1]},
        ("controlled_shutdown_election", HOLDS, ()),
    ),
    "which no line prints": (
        "0.9",
        {"strategy": "controlled_shutdown", "previous_leader": 1, "leader": 3, "isr_before": [1, 2, 3],
         "shutting_down": [1]},
        ("controlled_shutdown_election", UNKNOWN, ("isr_order",)),
    ),
    "nobody of the ISR is there": (
        "2.4",
        {"succeeded": False, "leader": None, "isr": None, "isr_before": [1]},
        ("offline_election", HOLDS, ()),
    ),
    "somebody is": (
        "2.4",
        {"succeeded": False, "leader": None, "isr": None},
        ("offline_election", VIOLATED, ()),
    ),
    "a new partition without a replica that is alive": (
        "2.4",
        {"succeeded": False, "strategy": "new", "leader": None, "isr": None, "isr_before": [], "replicas": [1, 4]},
        ("new_partition", HOLDS, ()),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ZK_ELECTIONS)
def test_elections_with_plausible_inputs(case: str) -> None:
    release, other, expected = ZK_ELECTIONS[case]
    verdict = judge_election({**ELECTION, **other}, Release.parse(release), is_kraft=False, elr_enabled=False)
    assert (verdict.rule, verdict.verdict, verdict.missing) == expected


def test_kraft_may_have_dropped_replicas_that_no_line_names() -> None:
    """[1, 2, 3] is what the last line shows; 3 was not in sync since: it may have been removed or not."""
    row = {
        **ELECTION, "replicas": None, "replicas_before": None, "plausible_replicas": [[1, 2, 3]], "isr": [2],
        "isr_before": [1, 2], "previous_leader": 1,
    }  # fmt: skip
    rows, missing = plausible_rows(row, is_kraft=True)
    assert {tuple(plausible["replicas"]) for plausible in rows} == {(1, 2, 3), (1, 2)}
    assert missing == ("replicas", "replicas_before")


# ---- reassignments, broker epochs ------------------------------------------------------------------------------------
COMPLETED: dict[str, tuple[str, bool, list[list[int]], bool, str]] = {
    # from [1, 2] to [2, 3]: release, KRaft, ISRs while it lasted, whether all are known -> verdict
    "all were in sync": ("2.4", False, [[1, 2], [1, 2, 3], [2, 3]], True, HOLDS),
    "never at once": ("2.4", False, [[1, 2], [1, 3]], True, VIOLATED),
    "a state is missing": ("2.4", False, [[1, 2], [1, 3]], False, UNKNOWN),
    "KRaft to 3.7 waits for 3 only": ("3.7", True, [[1, 2], [3]], True, HOLDS),
    "and later for all": ("3.8", True, [[1, 2], [3]], True, VIOLATED),
    "until KAFKA-19975": ("4.2", True, [[1, 2], [3]], True, HOLDS),
}


def test_another_order_of_the_same_replicas_waits_for_nobody() -> None:
    """From 2.4 on it is complete at once, though 2 is out of sync (`isReassignmentComplete`)."""
    row = {
        "original_replicas": [1, 2], "target_replicas": [2, 1], "adding_replicas": [], "removing_replicas": [],
        "states": [{"isr": [1], "lines": []}], "is_whole": True,
    }  # fmt: skip
    assert judge_reassignment(row, Release(2, 4), is_kraft=False).verdict == HOLDS


@pytest.mark.parametrize("case", COMPLETED)
def test_when_a_reassignment_is_complete(case: str) -> None:
    release, is_kraft, isrs, is_whole, expected = COMPLETED[case]
    row = {
        "original_replicas": [1, 2], "target_replicas": [2, 3], "adding_replicas": [3], "removing_replicas": [1],
        "states": [{"isr": isr, "lines": []} for isr in isrs], "is_whole": is_whole,
    }  # fmt: skip
    assert judge_reassignment(row, Release.parse(release), is_kraft=is_kraft).verdict == expected


def test_only_requests_of_the_api_are_checked_for_dead_brokers() -> None:
    """processZkPartitionReassignment (2.4-3.9) takes what the znode has; it waits for broker 9."""
    inputs: dict[str, Any] = {"leader": 1, "isr": [1], "leader_epoch": 0, "alive": [1]}
    by_api = zk_reassign_trace(Release(2, 4), [1], [9], **inputs)
    by_znode = zk_reassign_trace(Release(2, 4), [1], [9], **inputs, by_znode=True)
    assert (by_api.error, by_api.ignored) == ("INVALID_REPLICA_ASSIGNMENT", True)
    assert (by_znode.error, by_znode.ignored, by_znode.completed) == (None, False, False)
    assert by_znode.final.assignment == (9, 1)


def test_broker_epochs_grow() -> None:
    """KRaft fences and unfences one registration: epoch 7 twice is one."""
    rows = [
        {"cluster": "c", "broker": 1, "epoch": epoch, "since": at, "evidence": []}
        for at, epoch in enumerate([5, 7, 7, 9, 8])
    ]
    assert [(row["at"], row["verdict"]) for row in broker_verdicts(rows)] == [(1, HOLDS), (3, HOLDS), (4, VIOLATED)]
