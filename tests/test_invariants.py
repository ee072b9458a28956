"""Invariants against tables worked out by hand from Kafka's source; the algorithms' own output breaks none."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.kafka.elections import Elected, online_replicas, zk_elect, zk_new_partition
from udfs.kafka.epoch_invariants import partition_epoch_ahead
from udfs.kafka.invariants import check_sequence
from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED, explain, violations
from udfs.kafka.kraft_elections import (
    partition_change,
)
from udfs.kafka.kraft_partition import (
    ControllerConfig,
    ElectionKind,
    PartitionRegistration,
    RequestedChange,
    apply_change,
)
from udfs.kafka.releases import MINOR_RELEASES, ProtocolVersion, Release
from udfs.kafka.replica_removal import ReplicaRemoved, zk_remove_replica
from udfs.kafka.stored_state import Cluster, StoredState

ZK, KRAFT = Cluster(Release(3, 9)), Cluster(Release(3, 9), kraft=True, protocol=ProtocolVersion.parse("3.9-IV0"))
START = StoredState(
    1, 5, (1, 2), partition_epoch=7, controller_epoch=3, replicas=(1, 2, 3), online=frozenset({1, 2, 3})
)


def after(
    leader: int = 1, epochs: tuple[int, int | None] = (6, 8), isr: tuple[int, ...] = (1, 2), **further: Any
) -> StoredState:
    """START a change later."""
    return replace(START, leader=leader, leader_epoch=epochs[0], partition_epoch=epochs[1], isr=isr, **further)


def verdicts(cluster: Cluster, *states: StoredState) -> dict[tuple[str, int], str]:
    return {(finding.rule, finding.at): finding.verdict for finding in check_sequence(cluster, states)}


PAIRS: dict[
    str, tuple[Cluster, StoredState, str, str | None]
] = {  # cluster, state after START, rule -> verdict; None: the rule does not apply
    "leader in the ISR": (ZK, after(2, isr=(2,)), "leader_in_isr", HOLDS),
    "leader outside": (ZK, after(2, isr=(3,)), "leader_in_isr", VIOLATED),
    "a leader and no ISR": (ZK, after(2, isr=()), "leader_in_isr", VIOLATED),
    "no leader": (ZK, after(-1), "leader_in_isr", HOLDS),
    "a deletion": (ZK, after(-2), "leader_in_isr", None),
    "0.8.0 reassigns past the ISR": (Cluster(Release(0, 8)), after(3, trigger="reassign"), "leader_in_isr", None),
    "another leader, same epoch": (ZK, after(2, (5, 8)), "one_leader_per_leader_epoch", VIOLATED),
    "epoch goes back": (ZK, after(1, (4, 8)), "one_leader_per_leader_epoch", VIOLATED),
    "orders survive a gap": (ZK, after(2, (9, 20)), "one_leader_per_leader_epoch", HOLDS),
    "one version, two states": (ZK, after(1, (5, 7), isr=(1,)), "partition_epoch_grows", VIOLATED),
    "the ISR is a set": (ZK, after(1, (5, 7), isr=(2, 1)), "partition_epoch_grows", HOLDS),
    "version goes back": (ZK, after(1, (5, 6)), "partition_epoch_grows", VIOLATED),
    "the leader epoch overtakes": (ZK, after(2, (7, 8)), "partition_epoch_grows", VIOLATED),
    "no version logged": (ZK, after(2, (6, None)), "partition_epoch_grows", UNKNOWN),
    "controller epoch goes down": (ZK, after(controller_epoch=2), "stored_controller_epoch_never_falls", VIOLATED),
    "controller epoch not logged": (ZK, after(controller_epoch=None), "stored_controller_epoch_never_falls", UNKNOWN),
    "a stranger in the ISR": (ZK, after(isr=(1, 9)), "isr_within_replicas", VIOLATED),
    "a leaving one": (ZK, after(isr=(1, 9), departing=frozenset({9})), "isr_within_replicas", HOLDS),
    "one of the assignment before": (ZK, after(isr=(1, 3), replicas=(1, 2)), "isr_within_replicas", HOLDS),
    "assignment not known": (ZK, after(isr=(1, 9), replicas=None), "isr_within_replicas", UNKNOWN),
    "unclean, ISR dead": (ZK, after(3, isr=(3,), online=frozenset({3})), "clean_candidate_first", HOLDS),
    "unclean, ISR member up": (ZK, after(3, isr=(3,), online=frozenset({2, 3})), "clean_candidate_first", VIOLATED),
    "that member is not assigned": (
        ZK,
        after(3, isr=(3,), online=frozenset({2, 3}), replicas=(1, 3)),
        "clean_candidate_first",
        HOLDS,
    ),
    "nobody knows who was up": (ZK, after(3, isr=(3,), online=None), "clean_candidate_first", UNKNOWN),
    "states lost before it": (
        ZK,
        after(3, (6, 9), isr=(3,), online=frozenset({2, 3})),
        "clean_candidate_first",
        UNKNOWN,
    ),
    "a clean one": (ZK, after(2), "clean_candidate_first", None),
    "unclean, allowed": (ZK, after(3, isr=(3,), unclean_enabled=True), "unclean_leader_alone", HOLDS),
    "unclean, forbidden": (ZK, after(3, isr=(3,), unclean_enabled=False), "unclean_leader_alone", VIOLATED),
    "unclean, setting not known": (ZK, after(3, isr=(3,)), "unclean_leader_alone", UNKNOWN),
    "unclean, asked for": (
        ZK,
        after(3, isr=(3,), unclean_enabled=False, trigger="unclean_request"),
        "unclean_leader_alone",
        HOLDS,
    ),
    "unclean, not alone": (ZK, after(3, isr=(3, 1), unclean_enabled=True), "unclean_leader_alone", VIOLATED),
    "unclean, no switch yet": (Cluster(Release(0, 8, 1)), after(3, isr=(3,)), "unclean_leader_alone", HOLDS),
    "unclean, not recovering": (
        KRAFT,
        after(3, isr=(3,), unclean_enabled=True, recovery="RECOVERED"),
        "unclean_leader_alone",
        VIOLATED,
    ),
    "unclean, recovering": (
        KRAFT,
        after(3, isr=(3,), unclean_enabled=True, recovery="RECOVERING"),
        "unclean_leader_alone",
        HOLDS,
    ),
    "from a completed reassignment": (KRAFT, after(3, isr=(3,), trigger="leader"), "unclean_leader_alone", None),
    "states lost before an unclean one": (
        ZK,
        after(3, (8, 20), isr=(3,), unclean_enabled=False),
        "unclean_leader_alone",
        UNKNOWN,
    ),
    "dropped replicas, no recovery: clean": (
        *(
            KRAFT,
            after(3, isr=(3,), replicas=(3,), recovery="RECOVERED", unclean_enabled=False),
            "unclean_leader_alone",
        ),
        None,
    ),
    "dropped replicas, recovery not known": (KRAFT, after(3, isr=(3,), replicas=(3,)), "unclean_leader_alone", UNKNOWN),
    "assignment not logged, so a reassignment may have been completed": (
        KRAFT,
        after(3, isr=(3, 1), replicas=None),
        "unclean_leader_alone",
        UNKNOWN,
    ),
    "assignment not logged, but it recovers": (
        KRAFT,
        after(3, isr=(3, 1), replicas=None, recovery="RECOVERING"),
        "unclean_leader_alone",
        VIOLATED,
    ),
    "in ZooKeeper mode that is unclean": (ZK, after(3, isr=(3, 1), replicas=(3, 1)), "unclean_leader_alone", VIOLATED),
    "preferred": (ZK, after(1, trigger="preferred"), "preferred_leader_elected", HOLDS),
    "preferred, but another leads": (ZK, after(2, trigger="preferred"), "preferred_leader_elected", VIOLATED),
    "preferred, but another leads, whatever was before": (
        ZK,
        after(2, (8, 20), trigger="preferred"),
        "preferred_leader_elected",
        VIOLATED,
    ),
    "preferred, states lost before it": (
        ZK,
        after(1, (8, 20), trigger="preferred"),
        "preferred_leader_elected",
        UNKNOWN,
    ),
    "preferred, not in sync": (
        ZK,
        after(3, isr=(1, 2), replicas=(3, 1, 2), trigger="preferred"),
        "preferred_leader_elected",
        VIOLATED,
    ),
    "preferred, ISR changed": (ZK, after(1, isr=(1,), trigger="preferred"), "preferred_leader_elected", VIOLATED),
    "KRaft, leader gone": (
        KRAFT,
        after(2, online=frozenset({2}), trigger="preferred"),
        "preferred_leader_elected",
        None,
    ),
    "the leader's own change": (ZK, after(1, (5, 8), isr=(1,), trigger="leader"), "epoch_increments", HOLDS),
    "must not move the leader epoch": (ZK, after(1, (6, 8), isr=(1,), trigger="leader"), "epoch_increments", VIOLATED),
    "a decision must": (ZK, after(1, (5, 8), isr=(1,), trigger="replica_offline"), "epoch_increments", VIOLATED),
    "batch retry: a gap": (
        Cluster(Release(2, 3)),
        after(2, (7, 9), isr=(2,), trigger="offline"),
        "epoch_increments",
        UNKNOWN,
    ),
    "nothing to go by": (ZK, after(1, (5, 8), isr=(1,)), "epoch_increments", None),
    "KRaft shrinks without a bump": (KRAFT, after(1, (5, 8), isr=(1,)), "epoch_increments", HOLDS),
    "and bumps for nothing": (KRAFT, after(1, (6, 8), isr=(1,)), "epoch_increments", VIOLATED),
    "as it used to": (Cluster(Release(3, 5), kraft=True), after(1, (6, 8), isr=(1,)), "epoch_increments", HOLDS),
    "metadata version not known": (
        Cluster(Release(3, 9), kraft=True),
        after(1, (6, 8), isr=(1,)),
        "epoch_increments",
        UNKNOWN,
    ),
    "KRaft growing never bumps": (
        Cluster(Release(3, 9), kraft=True),
        after(1, (6, 8), isr=(1, 2, 3)),
        "epoch_increments",
        VIOLATED,
    ),
    "KRaft, a replica lost": (KRAFT, after(1, (6, 8), replicas=(1, 2)), "epoch_increments", HOLDS),
    "a live leader": (ZK, after(2), "elected_leader_online", HOLDS),
    "a dead one": (ZK, after(2, online=frozenset({1})), "elected_leader_online", VIOLATED),
    "the last known one": (
        KRAFT,
        after(2, online=frozenset(), trigger="last_known_leader"),
        "elected_leader_online",
        None,
    ),
    "an offline broker joins": (
        ZK,
        after(1, (5, 8), isr=(1, 2, 3), online=frozenset({1, 2})),
        "isr_joiner_online",
        VIOLATED,
    ),
    "which was allowed": (
        Cluster(Release(3, 2)),
        after(1, (5, 8), isr=(1, 2, 3), online=frozenset({1})),
        "isr_joiner_online",
        None,
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_pair(case: str) -> None:
    cluster, state, rule, verdict = PAIRS[case]
    assert verdicts(cluster, START, state).get((rule, 1)) == verdict


@pytest.mark.parametrize(
    ("isr_before", "leader", "isr", "verdict"),
    [
        ((4,), -1, (2,), None),
        ((), -1, (2,), None),
        ((4,), -1, (3,), VIOLATED),  # 2 is the first that stays
        ((3,), -1, (2, 3), VIOLATED),  # 3 stays in sync
        ((4,), 2, (2,), VIOLATED),
    ],
)
def test_a_cancelled_reassignment_names_the_first_replica_be_it_there_or_not(
    isr_before: tuple[int, ...], leader: int, isr: tuple[int, ...], verdict: str | None
) -> None:
    """4 was added to [2, 3], and alone is in sync; neither 2 nor 3 is there (PartitionReassignmentRevert)."""
    before = replace(START, leader=-1, isr=isr_before, replicas=(2, 3, 4))
    state = after(leader, (6, 8), isr, replicas=(2, 3), online=frozenset({1}))
    assert verdicts(KRAFT, before, state).get(("isr_joiner_online", 1)) == verdict


BIRTHS: dict[str, tuple[StoredState, str | None]] = {  # state -> verdict of new_partition_state
    "as it should be": (StoredState(2, 0, (2, 3), 0, replicas=(1, 2, 3), trigger="new"), HOLDS),
    "not the first in sync": (StoredState(3, 0, (2, 3), 0, replicas=(1, 2, 3), trigger="new"), VIOLATED),
    "not in assignment order": (StoredState(3, 0, (3, 2), 0, replicas=(1, 2, 3), trigger="new"), VIOLATED),
    "epochs not 0": (StoredState(2, 1, (2, 3), 1, replicas=(1, 2, 3), trigger="new"), VIOLATED),
    "assignment not known": (StoredState(2, 0, (2, 3), 0, trigger="new"), UNKNOWN),
    "not a birth": (StoredState(2, 4, (2, 3), 6), None),
}


@pytest.mark.parametrize("case", BIRTHS)
def test_birth(case: str) -> None:
    state, verdict = BIRTHS[case]
    assert verdicts(ZK, state).get(("new_partition_state", 0)) == verdict


Ids = tuple[int, ...]
LISTS: dict[
    str, tuple[Ids, Ids, Ids, int | None, str]
] = {  # isr, elr, last known, min ISR -> verdict of elr_disjoint_from_isr
    "disjoint below min ISR": ((1,), (2,), (), 2, HOLDS),
    "twice in": ((1,), (1,), (), 2, VIOLATED),
    "the last known leader is eligible too": ((), (1, 2), (1,), 2, HOLDS),
    "last known ones are not": ((1,), (2,), (2, 3), 2, VIOLATED),
    "not a replica": ((1,), (9,), (), 2, VIOLATED),
    "at min ISR": ((1, 2), (3,), (), 2, VIOLATED),
    "just elected from the ELR, min ISR 1": ((1,), (3,), (), 1, HOLDS),
    "min ISR 1, and two in sync": ((1, 2), (3,), (), 1, VIOLATED),
    "min ISR not known": ((1, 2), (3,), (), None, UNKNOWN),
    "empty lists need nothing": ((1, 2), (), (), None, HOLDS),
}


@pytest.mark.parametrize("case", LISTS)
def test_lists(case: str) -> None:
    isr, elr, last_known, min_isr, verdict = LISTS[case]
    state = replace(START, isr=isr, elr=elr, last_known_elr=last_known, min_isr=min_isr)
    assert verdicts(replace(KRAFT, elr_enabled=True), state)["elr_disjoint_from_isr", 0] == verdict
    assert ("elr_disjoint_from_isr", 0) not in verdicts(KRAFT, state)


def test_a_preferred_election_may_take_an_eligible_replica() -> None:
    empty = replace(START, leader=-1, isr=(), elr=(1, 2))
    assert (
        verdicts(KRAFT, empty, after(1, isr=(1,), elr=(2,), trigger="preferred"))["preferred_leader_elected", 1]
        == HOLDS
    )
    assert (
        verdicts(KRAFT, replace(empty, elr=()), after(1, isr=(1,), trigger="preferred"))["preferred_leader_elected", 1]
        == VIOLATED
    )


def test_removed_replicas_may_linger_in_the_elr() -> None:
    state = replace(START, isr=(1,), elr=(2,), replicas=(1,), min_isr=2)
    cluster = replace(KRAFT, elr_enabled=True)
    assert verdicts(cluster, state)["elr_disjoint_from_isr", 0] == VIOLATED
    assert verdicts(cluster, replace(state, departing=frozenset({2})))["elr_disjoint_from_isr", 0] == HOLDS


def test_the_last_known_leader_is_kept_while_nobody_leads() -> None:
    """1 led last; 2 and 3 are in the ISR, as many as have to be, and may not lead. As 2 leads nobody is kept."""
    cluster = replace(KRAFT, elr_enabled=True)
    state = replace(START, leader=-1, isr=(2, 3), last_known_elr=(1,), replicas=(1, 2, 3), min_isr=2)
    assert verdicts(cluster, state)["elr_disjoint_from_isr", 0] == HOLDS
    assert verdicts(cluster, replace(state, leader=2))["elr_disjoint_from_isr", 0] == VIOLATED
    assert verdicts(cluster, replace(state, last_known_elr=(1, 4)))["elr_disjoint_from_isr", 0] == VIOLATED


def test_a_version_below_the_leader_epoch() -> None:
    assert partition_epoch_ahead(StoredState(1, 5, (1,), 5)).verdict == HOLDS
    assert partition_epoch_ahead(StoredState(1, 5, (1,), 4)).verdict == VIOLATED
    assert partition_epoch_ahead(StoredState(1, 5, (1,))).verdict == UNKNOWN


def test_findings_in_words() -> None:
    explanations = {
        (finding.rule, finding.at): explain(finding)
        for finding in check_sequence(ZK, [START, after(2, (6, None), isr=(3,))])
    }
    assert (
        explanations["leader_in_isr", 1]
        == "leader_in_isr is violated: expected a leader in the ISR, or -1; logged leader 2, ISR [3]."
    )
    assert explanations["partition_epoch_grows", 1].startswith(
        "partition_epoch_grows cannot be judged: the logs lack the partition epoch; expected "
    )
    assert explanations["leader_in_isr", 0].startswith("leader_in_isr holds: ")


def test_what_is_not_known_of_an_unclean_leader_in_words() -> None:
    """Who was online is taken from lines that may be late; the switch has one name, that of Kafka's setting."""
    findings = {f.rule: f for f in check_sequence(ZK, [START, after(3, isr=(3,), online=None)]) if f.at == 1}
    assert explain(findings["clean_candidate_first"]).startswith(
        "clean_candidate_first cannot be judged: the logs lack which brokers were online just then (a line may show "
        "that late); expected "
    )
    assert findings["unclean_leader_alone"].missing == ("unclean.leader.election.enable",)


# --- the algorithms keep the rules ------------------------------------------------------------------------------------

ZK_RELEASES = st.sampled_from([release for release in MINOR_RELEASES if Release(0, 8, 2) <= release < Release(4)])
ROUNDS = st.lists(
    st.tuples(st.frozensets(st.integers(1, 4)), st.sampled_from(["offline", "preferred", "leader", "replica_offline"])),
    max_size=8,
)


@given(ZK_RELEASES, ROUNDS, st.booleans())
def test_zookeeper_histories_break_no_rule(
    at: Release, rounds: list[tuple[frozenset[int], str]], unclean: bool
) -> None:
    assigned = (3, 1, 2, 4)
    created = zk_new_partition(at, assigned, online_replicas(at, assigned))
    assert isinstance(created, Elected)
    states = [StoredState(created.leader, 0, created.isr, 0, 1, assigned, "new", frozenset(assigned))]
    for online, trigger in rounds:
        now = states[-1]
        partition: dict[str, Any] = {
            "assigned": assigned,
            "leader": now.leader,
            "isr": now.isr,
            "leader_epoch": now.leader_epoch,
        }
        if trigger == "leader":
            joined = sorted(online - set(now.isr))[:1]
            if now.leader == -1 or not joined:
                continue
            change = replace(now, isr=(*now.isr, *joined))
        elif trigger == "replica_offline":
            removal = zk_remove_replica(at, assigned[0], **partition, unclean_enabled=unclean)
            assert isinstance(removal, ReplicaRemoved)
            if not removal.written:
                continue
            change = replace(now, leader=removal.leader, isr=removal.isr, leader_epoch=removal.leader_epoch)
        else:
            elected = zk_elect(at, trigger, **partition, alive=online, unclean_enabled=unclean)
            if not isinstance(elected, Elected):
                continue
            change = replace(
                *(now,),
                leader=elected.leader,
                isr=elected.isr,
                leader_epoch=elected.leader_epoch,
                recovery=elected.recovery,
            )
        change = replace(change, trigger=trigger, online=online, unclean_enabled=unclean)
        states.append(replace(change, partition_epoch=len(states)))
    findings = list(check_sequence(Cluster(at), states))
    assert violations(findings) == []
    assert all(finding.verdict == HOLDS for finding in findings)


@given(
    st.sampled_from([release for release in MINOR_RELEASES if release >= Release(3, 2)]),
    st.lists(st.tuples(st.frozensets(st.integers(1, 3)), st.sampled_from(ElectionKind)), max_size=8),
    st.booleans(),
)
def test_kraft_histories_break_no_rule(
    at: Release, rounds: list[tuple[frozenset[int], ElectionKind]], elr_enabled: bool
) -> None:
    elr_enabled = elr_enabled and at >= Release(4, 1)
    metadata_version = ProtocolVersion(at, 0)
    settings = ControllerConfig(at, metadata_version, elr_enabled=elr_enabled, min_isr=2)
    cluster = Cluster(at, True, metadata_version, elr_enabled=elr_enabled)
    partition = PartitionRegistration((2, 1, 3), (2, 1, 3), 2)
    states = [_state(partition, frozenset({1, 2, 3}), "new")]
    for online, kind in rounds:
        trigger = {"PREFERRED": "preferred", "UNCLEAN": "unclean_request"}.get(kind)
        requested = (
            RequestedChange()
            if trigger == "preferred"
            else RequestedChange(isr=tuple(id_ for id_ in partition.isr if id_ in online))
        )
        record = partition_change(settings, partition, online, kind, requested)
        partition = apply_change(partition, record)
        if record is not None:
            states.append(_state(partition, online, trigger))
    assert violations(check_sequence(cluster, states)) == []


def _state(partition: PartitionRegistration, online: frozenset[int], trigger: str | None) -> StoredState:
    return StoredState(
        *(partition.leader, partition.leader_epoch, partition.isr, partition.partition_epoch, 1, partition.replicas),
        *(trigger, online),
        recovery=partition.recovery,
        elr=partition.elr,
        last_known_elr=partition.last_known_elr,
        min_isr=2,
    )
