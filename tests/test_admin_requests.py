"""`reassign` and `elect`: what Kafka's tools would have done, by cases worked out by hand."""

from __future__ import annotations

import pytest

from jobs.answers.admin import read_plan
from udfs.errors import BadInput
from udfs.kafka.admin_requests import Controller, Partition, elect, execute, generate, plan_json, verify
from udfs.kafka.releases import Release

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
    proposed = generate(present, [3, 2, 1], start_index=1)
    assert plan_json(Release(2, 4), proposed) == {
        "version": 1,
        "partitions": [
            {"topic": "a", "partition": 0, "replicas": [2, 1], "log_dirs": ["any", "any"]},
            {"topic": "a", "partition": 1, "replicas": [3, 2], "log_dirs": ["any", "any"]},
        ],
    }
    assert "log_dirs" not in str(plan_json(Release(1), proposed))


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
