"""`reassign` and `elect`: what Kafka's tools would have done, by cases worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.answers.admin import read_plan
from udfs.errors import BadInput
from udfs.kafka.admin_requests import Controller, Partition, elect, execute, generate, plan_json, verify
from udfs.kafka.releases import Release
from udfs.kafka.zk_reassignment import ReassignmentStep, requests_in_words

ALL = frozenset({1, 2, 3, 4, 5, 6})
ZK, KRAFT = Controller(Release(2, 4), False, ALL), Controller(Release(3, 9), True, ALL)


def a(replicas: tuple[int, ...], isr: tuple[int, ...], leader: int, epoch: int = 0) -> Partition:
    return Partition("a", 0, replicas, isr, leader, epoch)


ELECTIONS = {  # controller, kind, partition -> error, leader
    "it moves": (ZK, "PREFERRED", a((1, 2), (1, 2), 2), "NONE", 1),
    "it is there": (ZK, "PREFERRED", a((1, 2), (1, 2), 1), "ELECTION_NOT_NEEDED", 1),
    "the first is out of sync": (ZK, "PREFERRED", a((1, 2), (2,), 2), "PREFERRED_LEADER_NOT_AVAILABLE", 2),
    "unclean": (Controller(Release(2, 4), False, frozenset({2})), "UNCLEAN", a((1, 2), (1,), -1), "NONE", 2),
    "KRaft moves": (KRAFT, "PREFERRED", a((1, 2), (1, 2), 2), "NONE", 1),
    "by znode": (Controller(Release(1, 1), False, ALL), "PREFERRED", a((1, 2), (1, 2), 2), "NONE", 1),
}


@pytest.mark.parametrize("case", ELECTIONS)
def test_elections_that_are_asked_for(case: str) -> None:
    controller, kind, partition, error, leader = ELECTIONS[case]
    answer = elect(controller, partition, kind)
    assert (answer.error, answer.leader) == (error, leader)


def test_one_broker_moves_to_another() -> None:
    """KIP-455 (2.4): 1 to 2 with leader epoch 7. The request raises it, 2 catches up, leads, and 1 leaves the ISR."""
    steps, error = execute(ZK, a((1,), (1,), 1, 7), [2])
    assert error is None
    assert [(s.assignment, s.leader, set(s.isr), s.leader_epoch) for s in steps] == [
        ((2, 1), 1, {1}, 7),
        ((2, 1), 1, {1}, 8),
        ((2, 1), 1, {1}, 8),
        ((2, 1), 1, {1, 2}, 8),
        ((2, 1), 1, {1, 2}, 8),
        ((2, 1), 2, {1, 2}, 9),
        ((2, 1), 2, {2}, 10),
        ((2, 1), 2, {2}, 10),
        ((2,), 2, {2}, 10),
    ]


def test_kraft_completes_with_the_record_of_the_last_one_that_catches_up() -> None:
    steps, error = execute(KRAFT, a((1, 2), (1, 2), 1, 7), [2, 3])
    assert error is None
    assert [(s.assignment, s.leader, s.isr, s.leader_epoch) for s in steps] == [
        ((2, 3, 1), 1, (1, 2), 7),
        ((2, 3), 2, (2, 3), 8),
    ]


def test_a_dead_target_is_refused() -> None:
    for controller in (
        Controller(Release(2, 4), False, frozenset({1})),
        Controller(Release(3, 9), True, frozenset({1})),
    ):
        assert execute(controller, a((1,), (1,), 1), [2]) == ([], "INVALID_REPLICA_ASSIGNMENT")


def test_a_proposal_in_the_tools_json() -> None:
    """Three brokers, two replicas, start 1: the second is one further for each lap (AdminUtils)."""
    present = [Partition("a", n, (1, 2), (1, 2), 1, 0) for n in range(2)]
    proposed = generate(Release(4), present, [3, 2, 1], start_index=1)
    assert plan_json(Release(2, 4), proposed) == {
        "version": 1,
        "partitions": [
            {"topic": "a", "partition": 0, "replicas": [2, 1], "log_dirs": ["any", "any"]},
            {"topic": "a", "partition": 1, "replicas": [3, 2], "log_dirs": ["any", "any"]},
        ],
    }
    assert "log_dirs" not in str(plan_json(Release(1), proposed))


def test_a_proposal_of_4_1_is_striped() -> None:
    """The second replica is the one after the first, and each partition begins one further (StripedReplicaPlacer)."""
    present = [Partition("a", n, (1, 2), (1, 2), 1, 0) for n in range(3)]
    proposed = generate(Release(4, 1), present, [3, 2, 1], start_index=1)
    assert [partition.replicas for partition in proposed] == [(2, 3), (3, 1), (1, 2)]


def test_an_addition_that_would_lead_fails() -> None:
    """3 was taken away, but is an eligible leader replica still (KIP-966): it has no directory yet."""
    controller = Controller(Release(4, 1), True, frozenset({2, 3}), registered=frozenset({1, 2, 3}), elr_enabled=True)
    lost = Partition("a", 0, (1, 2), (), -1, 7, elr=(1, 3), min_isr=2)
    assert execute(controller, lost, [3, 1, 2]) == ([], "UNKNOWN_SERVER_ERROR")


def test_how_far_a_plan_is() -> None:
    now = a((1, 2), (1, 2), 1)
    assert verify(now, [1, 2], is_reassigning=False) == "Reassignment of partition a-0 is completed."
    assert verify(now, [1, 2], is_reassigning=True) == "Reassignment of partition a-0 is still in progress."
    assert verify(now, [2, 3], is_reassigning=False) == (
        "There is no active reassignment of partition a-0, but replica set is 1,2 rather than 2,3."
    )


def test_a_plan_is_read() -> None:
    read = read_plan(b'{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[1,2]}]}')
    assert read == {("a", 0): [1, 2]}
    for plan in (b"", b"[]", b'{"partitions":[{"topic":"a"}]}', b"\xff\xfe", b"\x80{}"):
        with pytest.raises(BadInput):
            read_plan(plan)


# ---- pending reassignments ------------------------------------------------------------------------------------------
def followed(steps: list[ReassignmentStep]) -> list[tuple[tuple[int, ...], int, set[int], int]]:
    return [(s.assignment, s.leader, set(s.isr), s.leader_epoch) for s in steps]


def test_kraft_takes_a_dead_broker_that_is_registered() -> None:
    """`validateManualPartitionAssignment` (3.0 on) asks for registrations alone, of all targets."""
    controller = Controller(Release(3, 9), True, frozenset({1, 4}), registered=frozenset({1, 2, 4}))
    steps, error = execute(controller, a((1,), (1,), 1), [2])
    assert (followed(steps), error) == ([((2, 1), 1, {1}, 0)], "it waits for replicas to catch up")
    assert execute(controller, a((1,), (1,), 1), [3]) == ([], "INVALID_REPLICA_ASSIGNMENT")
    assert execute(controller, a((1, 9), (1,), 1), [9, 1]) == ([], "INVALID_REPLICA_ASSIGNMENT")


def test_another_target_drops_what_the_pending_reassignment_adds() -> None:
    """KIP-455: 1,2 was on its way to 4,5, and 4 has caught up. The origin is 1,2, whatever was added meanwhile."""
    pending = Partition("a", 0, (4, 5, 1, 2), (1, 2, 4), 1, 8, adding=(4, 5), removing=(1, 2))
    steps, error = execute(ZK, pending, [3, 1])
    assert error is None
    assert followed(steps) == [
        ((3, 1, 2), 1, {1, 2, 4}, 8),  # stored
        ((3, 1, 2), 1, {1, 2}, 9),  # 4 offline
        ((3, 1, 2), 1, {1, 2}, 9),  # 5 offline
        ((3, 1, 2), 1, {1, 2}, 9),  # both deleted
        ((3, 1, 2), 1, {1, 2}, 10),
        ((3, 1, 2), 1, {1, 2}, 10),  # 3 is new
        ((3, 1, 2), 1, {1, 2, 3}, 10),
        ((3, 1, 2), 1, {1, 2, 3}, 10),  # 3 online
        ((3, 1, 2), 1, {1, 2, 3}, 11),
        ((3, 1, 2), 1, {1, 3}, 12),  # 2 offline
        ((3, 1, 2), 1, {1, 3}, 12),
        ((3, 1), 1, {1, 3}, 12),
    ]


def test_the_origin_as_the_target_cancels() -> None:
    pending = Partition("a", 0, (4, 1, 2), (1, 2, 4), 1, 8, adding=(4,), removing=(2,))
    steps, error = execute(ZK, pending, [1, 2])
    assert error is None
    assert followed(steps) == [
        ((1, 2), 1, {1, 2, 4}, 8),
        ((1, 2), 1, {1, 2}, 9),
        ((1, 2), 1, {1, 2}, 9),
        ((1, 2), 1, {1, 2}, 10),
        ((1, 2), 1, {1, 2}, 10),
    ]


def test_a_replica_that_is_being_added_has_to_be_alive() -> None:
    """`validateReplicas` counts what the origin lacks, so also what the pending reassignment adds."""
    controller = Controller(Release(2, 4), False, frozenset({1, 2}))
    pending = Partition("a", 0, (4, 1), (1,), 1, 8, adding=(4,), removing=(1,))
    assert execute(controller, pending, [4, 1]) == ([], "INVALID_REPLICA_ASSIGNMENT")


def test_before_2_4_the_tool_refuses_while_a_reassignment_is_pending() -> None:
    pending = Partition("a", 0, (1, 2), (1,), 1, 8, adding=(2,), removing=(1,))
    earlier = Controller(Release(2, 3), False, ALL)
    assert execute(earlier, pending, [3]) == ([], "There is an existing assignment running")


def test_kraft_keeps_pending_lists_that_a_request_has_nothing_to_replace_with() -> None:
    """0,1 on its way to 2,3 is asked back to 0,1: through 3.7 it waits for ever, from 3.8 (KAFKA-15665) it is done."""
    pending = Partition("a", 0, (2, 3, 0, 1), (0, 1), 0, 5, adding=(2, 3), removing=(0, 1))
    brokers = frozenset(range(4))
    steps, error = execute(Controller(Release(3, 7), True, brokers), pending, [0, 1])
    assert (followed(steps), error) == ([((0, 1, 2, 3), 0, {0, 1}, 5)], "it waits for replicas to catch up")
    steps, error = execute(Controller(Release(3, 8), True, brokers), pending, [0, 1])
    assert (followed(steps), error) == ([((0, 1), 0, {0, 1}, 6)], None)


def test_a_replica_that_kraft_is_adding_catches_up() -> None:
    pending = Partition("a", 0, (2, 3, 1), (1,), 1, 5, adding=(2, 3), removing=(1,))
    steps, error = execute(KRAFT, pending, [2, 3])
    assert (followed(steps)[-1], error) == (((2, 3), 2, {2, 3}, 6), None)


def test_kraft_takes_no_requests_before_3_0() -> None:
    """In 2.8 only brokers of a ZooKeeper cluster listen to either (ElectLeadersRequest, `zkBroker`)."""
    early = Controller(Release(2, 8), True, ALL)
    with pytest.raises(ValueError, match=r"Kafka 2\.8 with KRaft takes no election requests"):
        elect(early, a((1, 2), (1, 2), 2), "PREFERRED")
    with pytest.raises(ValueError, match=r"Kafka 2\.8 with KRaft takes no reassignments"):
        execute(early, a((1, 2), (1, 2), 2), [1])


# ---- eligible leader replicas ---------------------------------------------------------------------------------------
def test_an_unclean_election_takes_an_eligible_leader_replica_first() -> None:
    """KIP-966: ISR empty, 2 is eligible: its election is clean. Without the feature the first that is there leads."""
    lost = Partition("a", 0, (1, 3, 2), (), -1, 4, elr=(2,))
    eligible = Controller(Release(4, 1), True, frozenset({2, 3}), elr_enabled=True)
    for election_type in ("UNCLEAN", "PREFERRED"):
        answer = elect(eligible, lost, election_type)
        assert (answer.error, answer.leader, answer.isr) == ("NONE", 2, (2,))
    assert elect(replace(eligible, elr_enabled=False), replace(lost, elr=()), "UNCLEAN").leader == 3


def test_the_last_known_leader_leads_where_nobody_is_eligible() -> None:
    lost = Partition("a", 0, (1, 3, 2), (), -1, 4, elr=(), last_known_elr=(2,))
    answer = elect(Controller(Release(4, 1), True, frozenset({2, 3}), elr_enabled=True), lost, "UNCLEAN")
    assert (answer.error, answer.leader) == ("NONE", 2)


# ---- requests -------------------------------------------------------------------------------------------------------
Requests = list[tuple[str, str]]
EVERYBODY = frozenset({1, 2, 3, 4, 5, 6, 7})


def requests_of(version: str, replicas: tuple[int, ...], target: list[int]) -> Requests:
    """Each step, and its requests as words."""
    controller = Controller(Release.parse(version), False, EVERYBODY)
    steps, error = execute(controller, a(replicas, replicas, replicas[0]), target)
    assert error is None
    return [(step.step, requests_in_words(step.requests, controller.alive)) for step in steps]


TO_ALL = "UpdateMetadata to all"
CLASSIC: Requests = [  # KafkaController.onPartitionReassignment, {1,2,3} to {4,5,6}; broker 7 has no replica
    ("assignment widened in ZK", ""),
    ("epoch bump to OAR+RAR", f"LeaderAndIsr to 1,2,3,4,5,6; {TO_ALL}"),
    ("4 and 5 and 6 become NewReplica", f"LeaderAndIsr to 4,5,6; {TO_ALL}"),
    ("leader expands ISR with 4", ""),
    ("leader expands ISR with 5", ""),
    ("leader expands ISR with 6", ""),
    ("4 and 5 and 6 become OnlineReplica", ""),
    ("leader moved to 4", f"LeaderAndIsr to 4,5,6; {TO_ALL}"),
    ("1 offline, leaves ISR", "StopReplica to 1"),
    ("2 offline, leaves ISR", "StopReplica to 2"),
    ("3 offline, leaves ISR", f"LeaderAndIsr to 4,5,6; {TO_ALL}; StopReplica to 3"),
    ("1 and 2 and 3 deleted", "StopReplica with delete to 1,2,3"),
    ("assignment narrowed in ZK", TO_ALL),
]
WITHOUT_STOP: Requests = [
    *CLASSIC[2:8],
    *((f"{broker} offline, leaves ISR", f"LeaderAndIsr to 4; {TO_ALL}") for broker in (1, 2, 3)),
    *CLASSIC[11:],
]
REQUESTS: dict[str, Requests] = {
    "0.8.0": WITHOUT_STOP,
    "0.8.1": CLASSIC,
    "0.8.2": CLASSIC,
    "1.1": CLASSIC,
    "2.3": CLASSIC,
    "2.4": CLASSIC,
    "3.9": CLASSIC,
}


@pytest.mark.parametrize("version", REQUESTS)
def test_requests_of_the_steps(version: str) -> None:
    assert requests_of(version, (1, 2, 3), [4, 5, 6]) == REQUESTS[version]


def test_before_2_4_replicas_that_stay_are_asked_once_more() -> None:
    """All of the target go online again, and the epoch is refreshed on the old replicas, too; KIP-455 does neither."""
    assert requests_of("2.3", (1, 2), [1, 3])[4:7] == [
        ("3 becomes OnlineReplica", ""),
        ("1 stays OnlineReplica", f"LeaderAndIsr to 1; {TO_ALL}"),
        ("leader epoch refreshed", f"LeaderAndIsr to 1,2,3; {TO_ALL}"),
    ]
    assert requests_of("2.4", (1, 2), [1, 3])[4:6] == [
        ("3 becomes OnlineReplica", ""),
        ("leader epoch refreshed", f"LeaderAndIsr to 1,3; {TO_ALL}"),
    ]


def test_brokers_that_are_gone_are_sent_nothing() -> None:
    controller = Controller(Release(2, 4), False, frozenset({1, 3}), frozenset({3}))
    steps, _ = execute(controller, a((1, 2), (1, 2), 1), [1])
    assert [requests_in_words(step.requests, controller.alive) for step in steps] == [
        "", f"LeaderAndIsr to 1; {TO_ALL}", f"LeaderAndIsr to 1; {TO_ALL}", "", TO_ALL,
    ]  # fmt: skip


def test_kraft_sends_no_requests() -> None:
    steps, _ = execute(KRAFT, a((1, 2, 3), (1, 2, 3), 1), [4, 5, 6])
    assert [step.requests for step in steps] == [()] * 4


def test_a_leader_that_cannot_be_elected_does_not_stop_the_reassignment() -> None:
    """The state machine logs the failure (`handleStateChanges`), and the old replicas are stopped all the same."""
    controller = Controller(Release(2, 4), False, frozenset({3}))
    steps, error = execute(controller, a((1, 2), (1, 2), 1), [2])
    assert error == "StateChangeFailed"
    assert followed(steps)[-1] == ((2,), -1, {2}, 1)
