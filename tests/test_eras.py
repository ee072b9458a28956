"""Where two eras differ: an input that shows it, and what the last and the first release make of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from udfs.kafka.deletion_verdicts import judge_deletion
from udfs.kafka.elections import (
    Elected,
    elect_controlled_shutdown,
    elect_offline,
    elect_preferred,
    elect_reassigned,
    moves_on_shutdown,
    online_replicas,
    recovery_after,
    unclean_default,
    zk_elect,
)
from udfs.kafka.isr_requests import IsrOwner, IsrRequest, kraft_alter_partition, zk_alter_partition
from udfs.kafka.kraft_elections import (
    acceptable_brokers,
    fence_2_8,
    kraft_elect_request,
    kraft_new_partition,
    partition_change,
)
from udfs.kafka.kraft_partition import ControllerConfig, PartitionRegistration, RequestedChange
from udfs.kafka.placement import rack_alternated_list
from udfs.kafka.reassignment import ReassignmentLists, kraft_reassign_complete
from udfs.kafka.releases import ProtocolVersion, Release
from udfs.kafka.replica_removal import ReplicaRemoved, zk_remove_replica
from udfs.kafka.request_handling import leader_and_isr, stop_replica, update_metadata
from udfs.kafka.state_machines import is_legal, starting_replica_state
from udfs.kafka.zk_controller import ZkController
from udfs.kafka.zk_reassignment import zk_reassign_trace

Decide = Callable[[Release], Any]


def leader(choice: Any) -> Any:
    """Who is chosen, or the error."""
    return getattr(choice, "leader", getattr(choice, "error", None))


def offline(isr: list[int], online: list[int], *, unclean: bool = False) -> Decide:
    return lambda release: leader(elect_offline(release, [3, 1, 2], isr, online, unclean))


def last_member(*, unclean: bool) -> Decide:
    def isr(release: Release) -> Any:
        removed = zk_remove_replica(
            release, 1, assigned=[1, 2], leader=1, isr=[1], leader_epoch=0, unclean_enabled=unclean
        )
        assert isinstance(removed, ReplicaRemoved)
        return removed.isr

    return isr


def trace(target: list[int], alive: list[int], isr: list[int]) -> Decide:
    """Whether a reassignment of [1, 2] is refused, or its last leader epoch."""

    def outcome(release: Release) -> Any:
        moved = zk_reassign_trace(release, [1, 2], target, leader=1, isr=isr, leader_epoch=0, alive=alive)
        return moved.error or ("ignored" if moved.ignored else moved.final.leader_epoch)

    return outcome


def shutting_down(isr: list[int], alive: list[int]) -> Decide:
    return lambda release: leader(elect_controlled_shutdown(release, [1, 2, 3], isr, 1, alive, [1]))


def recipients_of_shutdown(release: Release) -> Any:
    elected = zk_elect(
        release, "controlled_shutdown", assigned=[1, 2], isr=[1, 2], leader=1, leader_epoch=0, alive=[1, 2],
        shutting_down=[1],
    )  # fmt: skip
    assert isinstance(elected, Elected)
    return elected.recipients


def handled(**request: Any) -> Decide:
    usual = {"known_controller_epoch": 1, "request_controller_epoch": 1, "current_leader_epoch": 5, "in_replicas": True}
    return lambda release: leader_and_isr(release, **{**usual, "request_leader_epoch": 6, **request}).applied


def stopped(leader_epoch: int, **request: bool) -> Decide:
    return lambda release: stop_replica(
        release, known_controller_epoch=1, request_controller_epoch=1, current_leader_epoch=5,
        request_leader_epoch=leader_epoch, **request,
    ).applied  # fmt: skip


def metadata_of_an_earlier_life(release: Release) -> Any:
    return update_metadata(
        release, known_controller_epoch=1, request_controller_epoch=1, own_broker_epoch=9, request_broker_epoch=8
    ).error


def after_failover(release: Release) -> Any:
    """The leader that is stored of a partition whose replicas are all dead when a controller takes over."""
    controller = ZkController(release, 1, {1, 2})
    controller.create("a-0", [1])
    controller.alive.discard(1)
    controller.fail_over(2)
    return controller.partitions["a-0"].leader


def deletion(*states: str) -> Decide:
    def verdict(release: Release) -> Any:
        lines = [
            {
                "event_type": "partition_state_change" if state == "NonExistentPartition" else "replica_state_change",
                "node_id": 1, "controller_epoch": 1, "replica": 1, "to_state": state, "at": at, "line": at,
            }
            for at, state in enumerate(states)
        ]  # fmt: skip
        return [judged.verdict for judged, _, _ in judge_deletion(lines, [release])]

    return verdict


REPLICAS_GONE_FIRST = deletion(
    "ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "NonExistentReplica", "NonExistentPartition"
)
PARTITION_GONE_FIRST = deletion(
    "NonExistentPartition", "ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "NonExistentReplica"
)

ZOOKEEPER: dict[str, tuple[Decide, str, Any, str, Any]] = {  # what decides, the last release before, the first after
    "a reassignment asks for the ISR": (
        lambda release: leader(elect_reassigned(release, [3, 2], [1, 2], [2, 3])), "0.8.0", 3, "0.8.1", 2
    ),
    "a reassignment begins with a new leader epoch": (trace([1, 2, 3], [1, 2, 3], [1, 2]), "0.8.0", 0, "0.8.1", 1),
    "replicas are deleted in steps": (
        lambda release: is_legal(release, "OfflineReplica", "NonExistentReplica"), "0.8.0", True, "0.8.1", False
    ),
    "a broker looks whether it is assigned": (handled(in_replicas=False), "0.8.0", True, "0.8.1", False),
    "an offline election goes by the assignment": (offline([2, 1], [1, 2]), "0.8.1", 2, "0.8.2", 1),
    "an offline election is clean unless it is allowed": (offline([3], [1]), "0.8.1", 1, "0.8.2", "NoReplicaOnline"),
    "the last member stays in the ISR if unclean elections are not allowed": (
        last_member(unclean=False), "0.8.1", (), "0.8.2", (1,)
    ),
    "a shutdown goes by the assignment": (shutting_down([1, 3, 2], [1, 2, 3]), "0.9", 3, "0.10", 2),
    "a shutdown elects nobody who is dead": (shutting_down([1, 3, 2], [1, 2]), "0.9", 3, "0.10", 2),
    "a reassignment waits for dead targets": (
        trace([1, 3], [1, 2], [1, 2]), "0.10.0", "target not alive", "0.10.1", 1
    ),
    "unclean elections are off": (unclean_default, "0.10.2", True, "0.11", False),
    "failed log directories count": (
        lambda release: sorted(online_replicas(release, [1, 2], (), [1])), "0.11", [1, 2], "1.0", [2]
    ),
    "the last member always stays in the ISR": (last_member(unclean=True), "1.0", (), "1.1", (1,)),
    "a preferred leader is elected again": (
        lambda release: leader(elect_preferred(release, [1, 2], [1, 2], 1, [1, 2])),
        "1.0", "LeaderElectionNotNeeded", "1.1", 1,
    ),
    "who shuts down is not told (KAFKA-7482)": (recipients_of_shutdown, "1.0", (1, 2), "1.1", (2,)),
    "who shuts down is told again": (recipients_of_shutdown, "2.0", (2,), "2.1", (1, 2)),
    "topics that are deleted stay where they are in a shutdown": (
        lambda release: moves_on_shutdown(release, [1, 2], 1, 1, topic_deleting=True), "2.0", True, "2.1", False
    ),
    "replicas are gone before their partition": (REPLICAS_GONE_FIRST, "2.0", ["holds"], "2.1", ["holds"]),
    "a partition is gone before its replicas": (PARTITION_GONE_FIRST, "2.0", ["violated"], "2.1", ["holds"]),
    "broker epochs count": (metadata_of_an_earlier_life, "2.1", "NONE", "2.2", "STALE_BROKER_EPOCH"),
    "a preferred leader is not elected again": (
        lambda release: leader(elect_preferred(release, [1, 2], [1, 2], 1, [1, 2])),
        "2.1", 1, "2.2", "LeaderElectionNotNeeded",
    ),
    "a new controller takes dead leaders off (KAFKA-3143)": (after_failover, "2.2", 1, "2.3", -1),
    "a new controller finds replicas offline": (
        lambda release: starting_replica_state(release, False),
        "2.2", "ReplicaDeletionIneligible", "2.3", "OfflineReplica",
    ),
    "requests of the API are checked": (
        trace([1, 3], [1, 2], [1, 2]), "2.3", 1, "2.4", "INVALID_REPLICA_ASSIGNMENT"
    ),
    "a replica in a failed directory is not deleted": (stopped(6, directory_failed=True), "0.11", True, "1.0", False),
    "a replica in a failed directory is not stopped": (
        stopped(6, directory_failed=True, deletes=False), "2.5", True, "2.6", False
    ),
    "a StopReplica has a leader epoch": (stopped(4), "2.5", True, "2.6", False),
    "a LeaderAndIsr brings the topic id": (
        handled(request_leader_epoch=5, topic_id_matches=None), "2.8", False, "3.0", True
    ),
    "an unclean leader recovers": (
        lambda release: recovery_after(release, True, "RECOVERED"), "3.1", None, "3.2", "RECOVERING"
    ),
    "only who is there joins the ISR": (
        lambda release: zk_alter_partition(
            release, IsrOwner(1, 0, 0, (1,), (1, 2), {1}), IsrRequest(1, 0, 0, (1, 2))
        )[0],
        "3.2", "NONE", "3.3", "INELIGIBLE_REPLICA",
    ),
    "a StopReplica of the same leader epoch is obeyed": (stopped(5), "3.4", False, "3.4.1", True),
}  # fmt: skip

SAME_ON_BOTH_SIDES = {"replicas are gone before their partition"}
"""Legal in both: from 2.1 on a reassignment deletes replicas before."""

PARTITION = PartitionRegistration((1, 2, 3), (1, 2, 3), 1)


def change(partition: PartitionRegistration, acceptable: set[int], kind: str, **asked: Any) -> Decide:
    def record(release: Release) -> Any:
        config = ControllerConfig(release, ProtocolVersion.parse(str(release)))
        written = partition_change(config, partition, acceptable, kind, RequestedChange(**asked))
        return None if written is None else (written.leader, written.isr)

    return record


def joins(**differs: Any) -> Decide:
    owner = IsrOwner(1, 5, 5, (1,), (1, 2), {1} if differs.pop("is_away", False) else {1, 2}, {1: 7, 2: 8})
    values = {"sender": 1, "leader_epoch": 5, "partition_epoch": 5, "isr": (1, 2), **differs}
    return lambda release: kraft_alter_partition(release, owner, IsrRequest(**values))[0]


def requested(election_type: str) -> Decide:
    def error(release: Release) -> Any:
        config = ControllerConfig(release, ProtocolVersion.parse(str(release)))
        return kraft_elect_request(config, PARTITION, {1, 2, 3}, election_type).error

    return error


def completes(target_isr: list[int]) -> Decide:
    lists = ReassignmentLists((4, 2, 3, 1), (4,), (1,))
    return lambda release: kraft_reassign_complete(release, lists, target_isr) is not None


def fenced(acceptable: set[int]) -> Decide:
    """Who leads PARTITION once its leader 1 is fenced, and in which ISR."""

    def leads(release: Release) -> Any:
        if release >= Release(3):
            return change(PARTITION, acceptable, "ONLINE", isr=(2, 3))(release)
        written = fence_2_8(PARTITION, 1)
        return None if written is None else (written.leader, written.isr)

    return leads


KRAFT: dict[str, tuple[Decide, str, Any, str, Any]] = {
    "who is elected in place of a fenced leader is unfenced (KAFKA-13173)": (
        fenced({3}), "2.8", (2, (2, 3)), "3.0", (3, (2, 3))
    ),
    "a new partition begins with who is there": (
        lambda release: kraft_new_partition(release, [1, 2], [1]).isr, "2.8", (1, 2), "3.0", (1,)  # type: ignore[union-attr]
    ),
    "an election that is not needed is refused": (requested("PREFERRED"), "3.0", "NONE", "3.1", "ELECTION_NOT_NEEDED"),
    "a leader that may not lead is replaced, whatever changes": (
        change(PARTITION, {2, 3}, "ONLINE", isr=(1, 2)), "3.1", (1, (1, 2)), "3.2", (2, (1, 2))
    ),
    "who shuts down may not lead": (
        lambda release: sorted(acceptable_brokers(release, [1, 2], [1])), "3.2", [1, 2], "3.3", [2]
    ),
    "only active brokers join the ISR": (joins(is_away=True), "3.2", "NONE", "3.3", "INELIGIBLE_REPLICA"),
    "a newer leader epoch shows another controller": (
        joins(leader_epoch=6), "3.2", "FENCED_LEADER_EPOCH", "3.3", "NOT_CONTROLLER"
    ),
    "who has started anew does not join the ISR": (
        joins(isr_broker_epochs={2: 7}), "3.4", "NONE", "3.5", "INELIGIBLE_REPLICA"
    ),
    "shrinking the ISR leaves the leader epoch (KAFKA-15021)": (
        change(PARTITION, {1, 2, 3}, "ONLINE", isr=(1, 2)), "3.5", (1, (1, 2)), "3.6", (None, (1, 2))
    ),
    "directories count": (
        lambda release: sorted(acceptable_brokers(release, [1, 2], (), [1])), "3.6", [1, 2], "3.7", [2]
    ),
    "a reassignment waits for all its targets (KAFKA-15665)": (completes([2, 4]), "3.7", True, "3.8", False),
}  # fmt: skip


@pytest.mark.parametrize("case", [*ZOOKEEPER, *KRAFT])
def test_eras_differ(case: str) -> None:
    decide, last, before, first, after = (ZOOKEEPER | KRAFT)[case]
    assert decide(Release.parse(last)) == before
    assert decide(Release.parse(first)) == after
    assert (before == after) is (case in SAME_ON_BOTH_SIDES)


def test_racks_alternate() -> None:
    """Rack-aware placement came with 0.10 (KIP-36); what differs there is the order of the brokers."""
    assert rack_alternated_list({1: "a", 2: "a", 3: "b"}) == (1, 3, 2)
