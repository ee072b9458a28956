"""ZooKeeper elections against tables worked out by hand from Kafka's source, and what must always hold."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.kafka.elections import (
    RECOVERED,
    RECOVERING,
    Choice,
    Elected,
    ElectionAnswer,
    Refused,
    elect_controlled_shutdown,
    elect_offline,
    elect_preferred,
    elect_reassigned,
    moves_on_shutdown,
    online_replicas,
    recovery_after,
    unclean_default,
    zk_elect,
    zk_elect_request,
    zk_new_partition,
)
from udfs.kafka.metrics import (
    LedPartition,
    leader_imbalance,
    offline_partitions_count,
    preferred_imbalance_count,
)
from udfs.kafka.placement import StripedBroker, place_rack_aware, place_striped
from udfs.kafka.reassignment import ReassignmentLists, reassign_to
from udfs.kafka.releases import MINOR_RELEASES, TRUNK, Era, ProtocolVersion, Release, era_of, releases_between
from udfs.kafka.replica_removal import ReplicaRemoved, zk_remove_replica
from udfs.kafka.request_handling import leader_and_isr, stop_replica, update_metadata
from udfs.kafka.state_machines import starting_partition_state, starting_replica_state
from udfs.kafka.zk_reassignment import zk_reassign_trace

FAILED, NONE_ONLINE = Refused("StateChangeFailed"), Refused("NoReplicaOnline")
Ids = Sequence[int]


def release(text: str) -> Release:
    return Release.parse(text)


# --- releases and eras ---------------------------------------------------------------------------------------------

RELEASES = {  # text -> release, minor release it belongs to
    "four numbers before 1.0": ("0.8.2.1", Release(0, 8, 2, 1), Release(0, 8, 2)),
    "a short old name is its first patch": ("0.9", Release(0, 9), Release(0, 9)),
    "0.10.2 is a minor release of its own": ("0.10.2.2", Release(0, 10, 2, 2), Release(0, 10, 2)),
    "three numbers from 1.0 on": ("3.4.1", Release(3, 4, 1), Release(3, 4)),
    "snapshots count as the release": ("4.1.0-SNAPSHOT", Release(4, 1), Release(4, 1)),
    "candidates too": ("3.9.1-rc0", Release(3, 9, 1), Release(3, 9)),
    "trunk comes last": ("trunk", TRUNK, TRUNK),
}


@pytest.mark.parametrize("case", RELEASES)
def test_release(case: str) -> None:
    text, parsed, line = RELEASES[case]
    assert Release.parse(text) == parsed
    assert parsed.line == line


@pytest.mark.parametrize("text", ["", "kafka", "3.x", "1.2.3.4.5", "-1"])
def test_no_release(text: str) -> None:
    with pytest.raises(ValueError, match="Not a Kafka release"):
        Release.parse(text)


def test_releases_are_ordered_as_released() -> None:
    assert list(MINOR_RELEASES) == sorted(MINOR_RELEASES)
    assert MINOR_RELEASES[-1] < TRUNK
    assert [str(one) for one in releases_between(release("0.10.2"), release("1.1"))] == [
        *("0.10.2", "0.11.0", "1.0", "1.1")
    ]


ERAS = {  # release, KRaft -> era
    ("0.8.0", False): Era.Z0,
    ("0.8.1.1", False): Era.Z1,
    ("0.9.0.1", False): Era.Z2,
    ("0.10.2.2", False): Era.Z3,
    ("1.0.2", False): Era.Z4,
    ("1.1.1", False): Era.Z5,
    ("2.3.1", False): Era.Z6,
    ("2.4.1", False): Era.Z7,
    ("3.9.1", False): Era.Z8,
    ("2.8.2", True): Era.K0,
    ("3.1.0", True): Era.K1,
    ("3.6.2", True): Era.K2,
    ("3.9.1", True): Era.K3,
    ("4.0.0", True): Era.K3,
    ("4.1.0", True): Era.K4,
    ("trunk", True): Era.K4,
}


@pytest.mark.parametrize(("text", "kraft"), ERAS)
def test_era(text: str, kraft: bool) -> None:
    assert era_of(release(text), kraft=kraft) == ERAS[text, kraft]


@pytest.mark.parametrize(("text", "kraft"), [("0.7.2", False), ("4.0.0", False), ("trunk", False), ("2.7.2", True)])
def test_no_era(text: str, kraft: bool) -> None:
    with pytest.raises(ValueError, match=r"no (KRaft|ZooKeeper) controller"):
        era_of(release(text), kraft=kraft)


def test_protocol_without_iv_is_the_last_of_its_release() -> None:
    order = ["0.8.2.X", "0.10.0-IV1", "0.10.2-IV0", "2.7-IV0", "2.7-IV2", "2.7", "3.6-IV0", "3.6", "4.0-IV0"]
    assert [ProtocolVersion.parse(text) for text in order] == sorted(ProtocolVersion.parse(text) for text in order)


# --- elections by strategy, new partitions ----------------------------------------------------------------------------

OFFLINE: dict[
    str, tuple[str, Ids, Ids, Ids, bool, Choice | Refused]
] = {  # release, assigned, isr, online, unclean allowed -> choice
    "ISR order decides at first": ("0.8.1", [1, 2, 3], [3, 2], [2, 3], False, Choice(3, (3, 2), (2, 3))),
    "then assignment order": ("0.8.2", [1, 2, 3], [3, 2], [2, 3], False, Choice(2, (3, 2), (2, 3))),
    "the dead leave the ISR": ("2.4", [1, 2, 3], [3, 1, 2], [3], False, Choice(3, (3,), (3,))),
    "clean goes before unclean": ("2.4", [1, 2, 3], [3], [1, 2, 3], True, Choice(3, (3,), (1, 2, 3))),
    "nobody in sync: it stays offline": ("3.9", [1, 2], [1], [2], False, FAILED),
    "the same in selector days": ("1.0", [1, 2], [1], [2], False, NONE_ONLINE),
    "unclean shrinks the ISR to the leader": ("3.9", [1, 2, 3], [1], [3, 2], True, Choice(2, (2,), (2, 3), True)),
    "unclean without asking": ("0.8.0", [1, 2, 3], [1], [3, 2], False, Choice(2, (2,), (2, 3), True)),
    "an empty ISR is unclean too": ("0.9", [1, 2], [], [2], True, Choice(2, (2,), (2,), True)),
    "a stranger in sync bars unclean": ("1.1", [1, 2], [9], [1, 2, 9], True, FAILED),
    "a stranger breaks the selector": ("1.0", [1, 2], [9], [1, 2, 9], True, FAILED),
    "a stranger may lead in ISR order": ("0.8.1", [1, 2], [9], [1, 2, 9], True, Choice(9, (9,), (1, 2))),
    "a dead stranger does not matter": ("1.1", [1, 2], [9], [1], True, Choice(1, (1,), (1,), True)),
}


@pytest.mark.parametrize("case", OFFLINE)
def test_offline(case: str) -> None:
    text, assigned, isr, online, unclean_enabled, choice = OFFLINE[case]
    assert elect_offline(release(text), assigned, isr, online, unclean_enabled) == choice


REASSIGNED: dict[str, tuple[str, Ids, Ids, Ids, Choice | Refused]] = {  # release, target, isr, online -> choice
    "0.8.0 does not consult the ISR": ("0.8.0", [4, 5], [5], [4, 5], Choice(4, (5,), (4, 5))),
    "later the ISR counts": ("0.8.1", [4, 5], [5], [4, 5], Choice(5, (5,), (4, 5))),
    "target order, dead passed over, all get it": (
        "2.4",
        [4, 5, 6],
        [6, 5, 4],
        [6, 5],
        Choice(5, (6, 5, 4), (4, 5, 6)),
    ),
    "none in sync, 0.8.0 needs a live one": ("0.8.0", [4], [4], [1], FAILED),
    "none in sync, selector": ("0.10.2", [4], [1], [1, 4], NONE_ONLINE),
    "none in sync, algorithm": ("1.1", [4], [1], [1, 4], FAILED),
}


@pytest.mark.parametrize("case", REASSIGNED)
def test_reassigned(case: str) -> None:
    text, target, isr, online, choice = REASSIGNED[case]
    assert elect_reassigned(release(text), target, isr, online) == choice


PREFERRED: dict[
    str, tuple[str, Ids, Ids, int, Ids, Choice | Refused]
] = {  # release, assigned, isr, leader, online -> choice
    "the first takes over, the ISR stays": ("3.9", [1, 2], [2, 1], 2, [1, 2], Choice(1, (2, 1), (1, 2))),
    "it leads already": ("1.0", [1, 2], [1, 2], 1, [1, 2], Refused("LeaderElectionNotNeeded")),
    "it leads already, the epoch moves": ("2.1", [1, 2], [1, 2], 1, [1, 2], Choice(1, (1, 2), (1, 2))),
    "filtered again": ("2.2", [1, 2], [1, 2], 1, [1, 2], Refused("LeaderElectionNotNeeded")),
    "out of sync": ("3.9", [1, 2], [2], 2, [1, 2], FAILED),
    "offline": ("3.9", [1, 2], [1, 2], 2, [2], FAILED),
}


@pytest.mark.parametrize("case", PREFERRED)
def test_preferred(case: str) -> None:
    text, assigned, isr, leader, online, choice = PREFERRED[case]
    assert elect_preferred(release(text), assigned, isr, leader, online) == choice


Shutdown = tuple[str, Ids, Ids, int, Ids, Ids, Ids, Choice | Refused]
SHUTDOWN: dict[str, Shutdown] = {  # release, assigned, isr, leader, alive, shutting down, offline -> choice
    "0.8.0 drops the leader by itself": ("0.8.0", [1, 2], [1, 2], 1, [1, 2], [], [], Choice(2, (2,), (1, 2))),
    "ISR order, even a dead one": ("0.9", [1, 2, 3], [3, 2, 1], 1, [1, 2], [1], [], Choice(3, (3, 2), (1, 2))),
    "assignment order, alive": ("0.10.0", [1, 2, 3], [3, 2, 1], 1, [1, 2], [1], [], Choice(2, (3, 2), (1, 2))),
    "the leaving one gets no request": ("2.0", [1, 2, 3], [3, 2, 1], 1, [1, 2, 3], [1], [], Choice(2, (3, 2), (2, 3))),
    "and gets one again": ("2.1", [1, 2, 3], [3, 2, 1], 1, [1, 2, 3], [1], [], Choice(2, (3, 2), (1, 2, 3))),
    "a failed directory does not lead": (
        "2.1",
        [1, 2, 3],
        [1, 2, 3],
        1,
        [1, 2, 3],
        [1],
        [2],
        Choice(3, (2, 3), (1, 3)),
    ),
    "two leave at once": ("3.9", [1, 2, 3], [1, 2, 3], 1, [1, 2, 3], [1, 2], [], Choice(3, (3,), (1, 2, 3))),
    "nobody else in sync": ("3.9", [1, 2], [1], 1, [1, 2], [1], [], FAILED),
}


@pytest.mark.parametrize("case", SHUTDOWN)
def test_controlled_shutdown(case: str) -> None:
    text, assigned, isr, leader, alive, leaving, offline, choice = SHUTDOWN[case]
    chosen = elect_controlled_shutdown(release(text), assigned, isr, leader, alive, leaving, offline)
    assert chosen == choice


def test_who_moves_on_shutdown() -> None:
    assert moves_on_shutdown(release("3.9"), [1, 2], leader=1, leaving=1)
    assert not moves_on_shutdown(release("3.9"), [1, 2], leader=2, leaving=1)
    assert not moves_on_shutdown(release("3.9"), [1], leader=1, leaving=1)
    assert not moves_on_shutdown(release("2.1"), [1, 2], leader=1, leaving=1, topic_deleting=True)
    assert moves_on_shutdown(release("2.0"), [1, 2], leader=1, leaving=1, topic_deleting=True)


def test_failed_directories_count_from_1_0() -> None:
    assert online_replicas(release("0.11"), [1, 2, 3], [3], [2]) == {1, 2}
    assert online_replicas(release("1.0"), [1, 2, 3], [3], [2]) == {1}


RECOVERY: dict[str, tuple[str, bool, str, str | None, str | None]] = {  # release, unclean, before, protocol -> after
    "not yet invented": ("3.1", True, RECOVERED, None, None),
    "unclean starts it": ("3.2", True, RECOVERED, "3.2-IV0", RECOVERING),
    "an old protocol never does": ("3.9", True, RECOVERED, "3.1-IV0", RECOVERED),
    "nor does it end it": ("3.9", False, RECOVERING, "3.1-IV0", RECOVERING),
    "clean keeps what was": ("3.9", False, RECOVERING, "3.9", RECOVERING),
}


@pytest.mark.parametrize("case", RECOVERY)
def test_recovery(case: str) -> None:
    text, unclean, before, protocol, after = RECOVERY[case]
    parsed = ProtocolVersion.parse(protocol) if protocol else None
    assert recovery_after(release(text), unclean, before, parsed) == after


def test_unclean_default_turned_with_0_11() -> None:
    assert unclean_default(release("0.10.2.2"))
    assert not unclean_default(release("0.11"))
    dead: dict[str, Any] = {"assigned": [1, 2], "isr": [1], "leader": 1, "leader_epoch": 3, "alive": [2]}
    assert zk_elect(release("0.10.2"), "offline", **dead) == Elected(2, (2,), 4, (2,), True, None)
    assert zk_elect(release("0.11"), "offline", **dead) == NONE_ONLINE


def test_a_newer_controller_has_taken_over() -> None:
    healthy: dict[str, Any] = {"assigned": [1, 2], "isr": [1, 2], "leader": 1, "leader_epoch": 3, "alive": [2]}
    epochs: dict[str, Any] = {"controller_epoch": 5, "stored_controller_epoch": 6}
    assert zk_elect(release("3.9"), "offline", **healthy, **epochs) == FAILED


def test_birth() -> None:
    assert zk_new_partition(release("3.9"), [3, 1, 2], [1, 2]) == Elected(1, (1, 2), 0, (1, 2), False, RECOVERED)
    assert zk_new_partition(release("0.8.0"), [3], [1, 2]) == FAILED


# --- election requests ------------------------------------------------------------------------------------------------

# release, type, leader, isr, further -> answer, for assignment [1, 2] and brokers 1 and 2 alive
REQUESTS: dict[str, tuple[str, str, int, Ids, dict[str, Any], tuple[str, int, tuple[int, ...], int]]] = {
    "not the controller": ("3.9", "UNCLEAN", -1, [1], {"is_controller": False}, ("NOT_CONTROLLER", -1, (1,), 0)),
    "no such partition": (
        *("3.9", "UNCLEAN", -1, [1], {"partition_known": False}),
        ("UNKNOWN_TOPIC_OR_PARTITION", -1, (1,), 0),
    ),
    "being deleted": (
        *("3.9", "PREFERRED", 2, [1, 2], {"topic_deleting": True}),
        ("INVALID_TOPIC_EXCEPTION", 2, (1, 2), 0),
    ),
    "moves back": ("2.2", "PREFERRED", 2, [1, 2], {}, ("NONE", 1, (1, 2), 1)),
    "a leaving leader does not count": ("3.9", "UNCLEAN", 1, [1], {"shutting_down": [1]}, ("NONE", 2, (2,), 1)),
    "forced by the Admin client only": (
        *("3.9", "UNCLEAN", 1, [1], {"shutting_down": [1], "from_admin": False}),
        ("ELIGIBLE_LEADERS_NOT_AVAILABLE", 1, (1,), 0),
    ),
}


@pytest.mark.parametrize("case", REQUESTS)
def test_request(case: str) -> None:
    text, kind, leader, isr, further, response = REQUESTS[case]
    outcome = zk_elect_request(release(text), kind, assigned=[1, 2], leader=leader, isr=isr, alive=[1, 2], **further)
    assert outcome == ElectionAnswer(*response)


@pytest.mark.parametrize(("text", "kind"), [("2.1", "PREFERRED"), ("2.3", "UNCLEAN"), ("3.9", "ONLINE")])
def test_request_not_known_to_the_release(text: str, kind: str) -> None:
    with pytest.raises(ValueError, match="election"):
        zk_elect_request(release(text), kind, assigned=[1], leader=1, isr=[1], alive=[1])


# --- replicas that go offline -----------------------------------------------------------------------------------------

# release, replica, leader, isr, unclean allowed -> removal, for assignment [1, 2, 3], leader epoch 5
REMOVALS: dict[str, tuple[str, int, int, Ids, bool | None, ReplicaRemoved]] = {
    "a follower": ("2.4", 2, 1, [1, 2, 3], None, ReplicaRemoved(True, 1, (1, 3), 6, (1, 3))),
    "the leader leaves -1": ("2.4", 1, 1, [1, 2], None, ReplicaRemoved(True, -1, (2,), 6, (2, 3))),
    "0.8.0 sends it to the leader": ("0.8.0", 2, 1, [1, 2, 3], None, ReplicaRemoved(True, 1, (1, 3), 6, (1,))),
    "0.8.0 has nobody to send it to": ("0.8.0", 1, 1, [1, 2], None, ReplicaRemoved(True, -1, (2,), 6, ())),
    "0.8.0 sends nothing of one not in sync": ("0.8.0", 3, 1, [1, 2], None, ReplicaRemoved(False, 1, (1, 2), 5, ())),
    "the last one goes": ("0.8.1", 1, 1, [1], False, ReplicaRemoved(True, -1, (), 6, (2, 3))),
    "goes by default, unclean being on": ("0.10.2", 1, 1, [1], None, ReplicaRemoved(True, -1, (), 6, (2, 3))),
    "stays by default, unclean being off": ("0.11", 1, 1, [1], None, ReplicaRemoved(True, -1, (1,), 6, (2, 3))),
    "stays whatever the switch": ("1.1", 1, 1, [1], True, ReplicaRemoved(True, -1, (1,), 6, (2, 3))),
    "not in sync: nothing written": ("3.9", 3, 1, [1, 2], None, ReplicaRemoved(False, 1, (1, 2), 5, (1, 2))),
}


@pytest.mark.parametrize("case", REMOVALS)
def test_removal(case: str) -> None:
    text, replica, leader, isr, unclean, removal = REMOVALS[case]
    known: dict[str, Any] = {
        "assigned": [1, 2, 3],
        "leader": leader,
        "isr": isr,
        "leader_epoch": 5,
        "unclean_enabled": unclean,
    }
    assert zk_remove_replica(release(text), replica, **known) == removal


def test_removal_under_a_newer_controller() -> None:
    known: dict[str, Any] = {"assigned": [1, 2], "leader": 1, "isr": [1, 2], "leader_epoch": 5}
    epochs: dict[str, Any] = {"controller_epoch": 1, "stored_controller_epoch": 2}
    assert zk_remove_replica(release("3.9"), 1, **known, **epochs) == FAILED


# --- E ----------------------------------------------------------------------------------------------------------------

# release, assigned (1 leads), target, alive, caught up -> leader, epoch, isr, error, completed
Reassigned = tuple[str, Ids, Ids, Ids, Ids, int, int, tuple[int, ...], str | None, bool]
REASSIGNMENTS: dict[str, Reassigned] = {
    "[a] to [b] costs 3": ("1.1", [1], [2], [1, 2], [2], 2, 3, (2,), None, True),
    "0.8.0 does not bump at the start": ("0.8.0", [1], [2], [1, 2], [2], 2, 2, (2,), None, True),
    "0.8.0 keeps leader and epoch": ("0.8.0", [1, 2], [1], [1, 2], [], 1, 1, (1,), None, True),
    "all replicas replaced": ("2.3", [1, 2, 3], [4, 5, 6], [1, 2, 3, 4, 5, 6], [4, 5, 6], 4, 5, (4, 5, 6), None, True),
    "one target lags: pending": ("2.4", [1], [2, 3], [1, 2, 3], [3], 1, 1, (1, 3), None, False),
    "a dead target, then refused": ("0.10.0", [1], [2], [1], [], 1, 0, (1,), "target not alive", False),
    "a dead target, then awaited": ("0.10.1", [1], [2], [1], [], 1, 1, (1,), None, False),
    "a dead addition": ("2.4", [1], [2], [1], [], 1, 0, (1,), "INVALID_REPLICA_ASSIGNMENT", False),
    "a double target": ("2.4", [1], [2, 2], [1, 2], [], 1, 0, (1,), "INVALID_REPLICA_ASSIGNMENT", False),
    "a pure reorder finishes at once": ("2.4", [1, 2], [2, 1], [1, 2], [], 1, 1, (1, 2), None, True),
    "leader dead, targets dead too": ("2.4", [1, 2], [2], [], [], -1, 1, (2,), "StateChangeFailed", True),
}


@pytest.mark.parametrize("case", REASSIGNMENTS)
def test_zk_reassignment(case: str) -> None:
    text, assigned, target, alive, caught_up, leader, epoch, isr, error, completed = REASSIGNMENTS[case]
    outcome = zk_reassign_trace(
        release(text), assigned, target, leader=1, isr=assigned, leader_epoch=0, alive=alive, catch_up_order=caught_up
    )
    assert (outcome.final.leader, outcome.final.leader_epoch, outcome.final.isr) == (leader, epoch, isr)
    assert (outcome.error, outcome.completed) == (error, completed)


def test_a_lagging_replica_that_was_there_is_not_new() -> None:
    outcome = zk_reassign_trace(
        *(release("2.4"), [1, 2], [2, 3]), leader=1, isr=[1], leader_epoch=0, alive=[1, 2, 3], catch_up_order=[3, 2]
    )
    created = [move for step in outcome.steps for move in step.replica_transitions if move[2] == "NewReplica"]
    assert created == [(3, "NonExistentReplica", "NewReplica")]
    assert outcome.final.isr == (3, 2)


def test_deletion_has_no_states_of_its_own_in_0_8_0() -> None:
    for text, states in {"0.8.0": 1, "0.8.1": 3}.items():
        outcome = zk_reassign_trace(release(text), [1, 2], [1], leader=1, isr=[1, 2], leader_epoch=0, alive=[1, 2])
        deletion = [move for step in outcome.steps for move in step.replica_transitions]
        assert len(deletion) == states
        assert (deletion[0][1], deletion[-1][2]) == ("OfflineReplica", "NonExistentReplica")


# --- where the vectors of G and H are silent --------------------------------------------------------------------------

STOPS = {"3.4": False, "3.4.0": False, "3.4.1": True, "3.5": True}  # release -> is an equal leader epoch obeyed


@pytest.mark.parametrize("text", STOPS)
def test_stop_replica_with_an_equal_epoch(text: str) -> None:
    epochs: dict[str, Any] = {"known_controller_epoch": 1, "request_controller_epoch": 1}
    response = stop_replica(release(text), **epochs, current_leader_epoch=9, request_leader_epoch=9)
    assert response.applied == STOPS[text]


EQUAL_EPOCHS: dict[
    str, tuple[str, dict[str, Any], bool]
] = {  # release, further -> is LeaderAndIsr with an equal leader epoch obeyed
    "brings a topic id": ("3.0", {"topic_id_matches": None}, True),
    "too early for that": ("2.8", {"topic_id_matches": None}, False),
    "from a migrating controller": ("3.6.2", {"from_migrating_kraft": True}, True),
    "before brokers looked who sends it": ("3.6.1", {"from_migrating_kraft": True}, False),
    "to a broker that is not assigned": ("3.6.2", {"from_migrating_kraft": True, "in_replicas": False}, False),
    "just repeated": ("3.9", {}, False),
}


@pytest.mark.parametrize("case", EQUAL_EPOCHS)
def test_leader_and_isr_with_an_equal_epoch(case: str) -> None:
    text, further, applied = EQUAL_EPOCHS[case]
    epochs: dict[str, Any] = {"known_controller_epoch": 1, "request_controller_epoch": 1}
    response = leader_and_isr(
        release(text), **epochs, current_leader_epoch=9, request_leader_epoch=9, **{"in_replicas": True, **further}
    )
    assert response.applied == applied


def test_update_metadata() -> None:
    assert update_metadata(release("3.9"), known_controller_epoch=3, request_controller_epoch=4).applied
    stale = update_metadata(release("3.9"), known_controller_epoch=3, request_controller_epoch=2)
    assert (stale.applied, stale.error, stale.known_controller_epoch) == (False, "STALE_CONTROLLER_EPOCH", 3)


BOTH_STALE = {  # release -> what a request of an old controller to an earlier life of a broker is refused for
    "2.1": "STALE_CONTROLLER_EPOCH",  # brokers have no epochs yet
    "2.2": "STALE_BROKER_EPOCH",
    "3.9": "STALE_BROKER_EPOCH",
}


@pytest.mark.parametrize("text", BOTH_STALE)
def test_the_broker_epoch_is_looked_at_first(text: str) -> None:
    """kafka.server.KafkaApis asks `isBrokerEpochStale` before ReplicaManager looks at the controller epoch."""
    epochs: dict[str, Any] = {"known_controller_epoch": 3, "request_controller_epoch": 2, "own_broker_epoch": 9}
    leader_epochs: dict[str, Any] = {"current_leader_epoch": 5, "request_leader_epoch": 6}
    answers = [
        leader_and_isr(release(text), **epochs, **leader_epochs, request_broker_epoch=8, in_replicas=True),
        stop_replica(release(text), **epochs, **leader_epochs, request_broker_epoch=8),
        update_metadata(release(text), **epochs, request_broker_epoch=8),
    ]
    assert [(a.applied, a.error, a.scope, a.known_controller_epoch) for a in answers] == [
        (False, BOTH_STALE[text], "request", 3)
    ] * 3


GAUGES = {  # release -> preferred imbalance, offline partitions with broker 1 leaving, 2 dead
    "0.8.0": (4, 4),
    "0.8.1": (4, 3),
    "0.10.0": (3, 2),
    "2.4": (3, None),  # 3 that is added leads already, and counts all the same
}


@pytest.mark.parametrize("text", GAUGES)
def test_gauges(text: str) -> None:
    partitions = [
        LedPartition((1, 2), 1, (1, 2)),
        LedPartition((1, 2), -1, (2,)),
        LedPartition((1, 2), 2, (2,), topic_deleting=True),
        LedPartition((3, 2), 2, (2,), adding=(3,)),
        LedPartition((3, 1), 3, (3, 1), adding=(3,)),
        LedPartition((2, 3), 3, (3, 2), adding=(2,)),
    ]
    imbalance, offline = GAUGES[text]
    assert preferred_imbalance_count(release(text), partitions) == imbalance
    if offline is None:
        with pytest.raises(ValueError, match="counts transitions"):
            offline_partitions_count(release(text), partitions, alive=[1, 3])
    else:
        assert offline_partitions_count(release(text), partitions, alive=[1, 3], shutting_down=[1]) == offline


def test_topics_that_go_are_not_rebalanced() -> None:
    """Of what stays 1 leads one of two; that it does not lead what goes, or alone prefers 3, does not count."""
    partitions = [
        LedPartition((1, 2), 1),
        LedPartition((1, 2), 2),
        LedPartition((1, 2), 2, topic_deleting=True),
        LedPartition((3, 2), 2, topic_deleting=True),
    ]
    assert leader_imbalance(partitions) == {1: 0.5}


def test_a_new_controller_classes_what_it_finds() -> None:
    assert [starting_partition_state(*elected) for elected in ((None, False), (1, True), (-1, False))] == [
        *("NewPartition", "OnlinePartition", "OfflinePartition")
    ]
    assert [starting_replica_state(release(text), False) for text in ("0.8.0", "0.8.1", "2.2", "2.3")] == [
        *("OfflineReplica", "ReplicaDeletionIneligible", "ReplicaDeletionIneligible", "OfflineReplica")
    ]
    assert starting_replica_state(release("2.0"), True) == "OnlineReplica"


def test_nobody_is_preferred_of_no_replicas() -> None:
    """An assignment that is empty has no first replica: Kafka's `headOption` finds nobody (1.1 on)."""
    assert elect_preferred(release("2.4"), [], [1], 1, online={1}) == FAILED
    asked = zk_elect_request(release("2.4"), "PREFERRED", assigned=[], leader=1, isr=[1], alive=[1])
    assert asked == ElectionAnswer("PREFERRED_LEADER_NOT_AVAILABLE", 1, (1,), 0)


def test_racks_of_some_brokers_only() -> None:
    """kafka.admin.AdminUtils: all brokers have a rack, or none has."""
    with pytest.raises(ValueError, match=r"Brokers \[3\] have no rack"):
        place_rack_aware({1: "a", 2: "b", 3: None}, 1, 2, 0)
    assert place_rack_aware({1: None, 2: None, 3: None}, 2, 2, 1) == {0: (2, 1), 1: (3, 2)}
    with pytest.raises(ValueError, match="no broker"):
        place_rack_aware({}, 1, 1, 0)


def test_striped_racks_in_hash_order() -> None:
    """StripedReplicaPlacer keeps racks in a HashMap by name: as Java hashes it, "r2" (3584) is in its first of 16
    buckets, "r1" (3583) in the last. The iterators begin at offsets drawn in that order, the racks by name."""
    brokers = [StripedBroker(number, rack) for number, rack in ((1, "r1"), (2, "r1"), (3, "r2"), (4, "r2"), (5, "r2"))]
    draws = iter([(3, 2), (2, 0), (2, 0)])

    def draw(bound: int) -> int:
        expected_bound, value = next(draws)
        assert bound == expected_bound
        return value

    # r1 begins with 1 and r2 with 5; a round later each is one further
    assert place_striped(brokers, 2, 2, draw) == ((1, 5), (3, 2))


@given(st.data(), st.integers(1, 6), st.integers(1, 8))
def test_striped_placement_is_even(data: st.DataObject, count: int, partitions: int) -> None:
    fences = data.draw(st.lists(st.booleans(), min_size=count, max_size=count).filter(lambda all_: not all(all_)))
    brokers = [StripedBroker(id_, data.draw(st.sampled_from("abc")), fenced) for id_, fenced in enumerate(fences)]
    factor = data.draw(st.integers(1, count))
    placed = place_striped(brokers, partitions, factor, lambda bound: data.draw(st.integers(0, bound - 1)))
    assert len(placed) == partitions
    for replicas in placed:
        assert len(set(replicas)) == factor
        assert not brokers[replicas[0]].fenced


# --- what always holds ------------------------------------------------------------------------------------------------

BROKERS = st.integers(0, 6)
ZK_RELEASES = st.sampled_from([one for one in MINOR_RELEASES if one < Release(4)])
REPLICAS = st.lists(BROKERS, min_size=1, max_size=4, unique=True)


class Known(TypedDict):
    """Keyword arguments of `zk_elect`."""

    assigned: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int
    alive: list[int]
    shutting_down: list[int]
    target: list[int]
    unclean_enabled: bool


@st.composite
def partitions(draw: st.DrawFn) -> Known:
    """Keyword arguments of `zk_elect` for a partition whose ISR is within its assignment."""
    assigned = draw(REPLICAS)
    isr = draw(st.permutations(assigned))[: draw(st.integers(1, len(assigned)))]
    alive = draw(st.lists(BROKERS, unique=True))
    return {
        "assigned": assigned,
        "isr": isr,
        "leader": draw(st.sampled_from([*isr, -1])),
        "leader_epoch": draw(st.integers(0, 9)),
        "alive": alive,
        "shutting_down": draw(st.lists(st.sampled_from(alive), unique=True)) if alive else [],
        "target": draw(REPLICAS),
        "unclean_enabled": draw(st.booleans()),
    }


STRATEGIES = ["offline", "reassign", "preferred", "controlled_shutdown"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(known=partitions(), at=ZK_RELEASES)
def test_elections_keep_their_promises(strategy: str, known: Known, at: Release) -> None:
    outcome = zk_elect(at, strategy, **known)
    if isinstance(outcome, Refused):
        return
    assert outcome.leader_epoch == known["leader_epoch"] + 1
    assert set(outcome.isr) <= set(known["assigned"])
    assert list(outcome.recipients) == sorted(outcome.recipients)
    if strategy == "reassign" and at < Release(0, 8, 1):
        return
    assert outcome.leader in outcome.isr
    assert outcome.unclean == (outcome.leader not in known["isr"])
    if strategy != "controlled_shutdown" or at >= Release(0, 10):
        assert outcome.leader in set(known["alive"]) - set(known["shutting_down"])
    if outcome.unclean:
        assert strategy == "offline"
        assert outcome.isr == (outcome.leader,)
        assert not set(known["isr"]) & (set(known["alive"]) - set(known["shutting_down"]))


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(known=partitions(), at=ZK_RELEASES, order=st.randoms(use_true_random=False))
def test_the_order_of_brokers_does_not_matter(strategy: str, known: Known, at: Release, order: Random) -> None:
    alive = order.sample(known["alive"], len(known["alive"]))
    shutting_down = order.sample(known["shutting_down"], len(known["shutting_down"]))
    shuffled: Known = {**known, "alive": alive, "shutting_down": shutting_down}
    assert zk_elect(at, strategy, **known) == zk_elect(at, strategy, **shuffled)


@given(known=partitions(), at=ZK_RELEASES)
def test_removing_a_replica_twice(known: Known, at: Release) -> None:
    replica = known["assigned"][0]

    def remove(leader: int, isr: Ids, leader_epoch: int) -> ReplicaRemoved:
        removal = zk_remove_replica(
            at,
            replica,
            assigned=known["assigned"],
            leader=leader,
            isr=isr,
            leader_epoch=leader_epoch,
            unclean_enabled=known["unclean_enabled"],
        )
        assert isinstance(removal, ReplicaRemoved)
        return removal

    once = remove(known["leader"], known["isr"], known["leader_epoch"])
    twice = remove(once.leader, once.isr, once.leader_epoch)
    assert (twice.leader, twice.isr) == (once.leader, once.isr)
    assert twice.written == (once.isr == (replica,))
    assert twice.leader_epoch - once.leader_epoch == twice.written
    assert replica != once.leader or not once.written
    assert replica not in twice.recipients


@given(assigned=REPLICAS, first=REPLICAS, second=REPLICAS)
def test_the_latest_reassignment_wins_and_cancelling_returns_to_the_origin(
    assigned: list[int], first: list[int], second: list[int]
) -> None:
    pending = reassign_to(ReassignmentLists(tuple(assigned)), first)
    overridden = reassign_to(pending, second)
    assert [id_ for id_ in overridden.replicas if id_ not in overridden.removing] == second
    assert set(overridden.replicas) - set(overridden.adding) == set(assigned)
    cancelled = reassign_to(pending, assigned)
    assert cancelled == ReassignmentLists(tuple(assigned))


@given(assigned=REPLICAS, target=REPLICAS, at=ZK_RELEASES)
def test_a_finished_reassignment_ends_at_its_target(assigned: list[int], target: list[int], at: Release) -> None:
    everybody = range(7)
    outcome = zk_reassign_trace(
        *(at, assigned, target),
        leader=assigned[0],
        isr=assigned,
        leader_epoch=0,
        alive=everybody,
        catch_up_order=[id_ for id_ in target if id_ not in assigned],
    )
    assert outcome.completed != outcome.ignored
    assert outcome.ignored == (assigned == target and at < Release(2, 4))
    assert outcome.final.assignment == tuple(target)
    assert set(outcome.final.isr) == set(target)
    assert outcome.final.leader in target
    epochs = [0, *(step.leader_epoch for step in outcome.steps)]
    assert all(0 <= after - before <= 1 for before, after in pairwise(epochs))
