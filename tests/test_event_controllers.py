"""Controllers as a whole: events in, what Kafka writes and sends out; and whatever happens, invariants hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.test_vectors import releases
from udfs.kafka.invariants import check_sequence
from udfs.kafka.isr_requests import IsrOwner, IsrRequest, kraft_alter_partition, zk_alter_partition
from udfs.kafka.judgements import violations
from udfs.kafka.kraft_controller import KraftController
from udfs.kafka.kraft_partition import ControllerConfig, PartitionRegistration
from udfs.kafka.releases import MINOR_RELEASES, ProtocolVersion, Release
from udfs.kafka.state_decisions import check_decisions
from udfs.kafka.stored_state import Cluster, StoredState
from udfs.kafka.zk_controller import ONLINE, ZkController, ZkPartition

BROKERS = {1, 2, 3, 4}
ZOOKEEPER, KRAFT = Release(2, 4), Release(3, 9)
VECTORS = Path(__file__).parent / "vectors"
Fields = dict[str, Any]


def zookeeper(release: Release = ZOOKEEPER, **partitions: list[int]) -> ZkController:
    """A controller in epoch 7 with partitions that it has just created."""
    controller = ZkController(release, 7, set(BROKERS))
    for topic, replicas in partitions.items():
        controller.create(f"{topic}-0", replicas)
    return controller


def state(controller: ZkController, name: str = "a-0") -> tuple[int | None, list[int], int]:
    """Leader, ISR, leader epoch."""
    partition = controller.partitions[name]
    return partition.leader, [*partition.isr], partition.leader_epoch


# ---- ZooKeeper ------------------------------------------------------------------------------------------------------
def test_a_leader_crashes_and_returns() -> None:
    controller = zookeeper(a=[1, 2])
    crashed = controller.broker_failed(1)
    assert state(controller) == (2, [2], 1)
    # one election tells both: the replica that is gone is not in the ISR any more when it is taken offline
    assert len(crashed.writes) == 1
    assert {(r.kind, r.broker) for r in crashed.requests} == {
        ("LeaderAndIsr", 2), ("UpdateMetadata", 2), ("UpdateMetadata", 3), ("UpdateMetadata", 4)
    }  # fmt: skip
    returned = controller.broker_started(1)
    assert [(r.kind, r.broker, r.leader_epoch) for r in returned.requests] == [("LeaderAndIsr", 1, 1)]
    controller.isr_changed("a-0", [2, 1])
    controller.elect(["a-0"])
    assert state(controller) == (1, [2, 1], 2)


def test_the_last_in_sync_replica_crashes() -> None:
    """It stays in the ISR without leading, and leads again as soon as it is back, or the next controller sees it."""
    controller = zookeeper(a=[1])
    lost = controller.broker_failed(1)
    assert lost.failures == [("a-0", "StateChangeFailed")]
    assert state(controller) == (-1, [1], 1)
    controller.broker_started(1)
    assert state(controller) == (1, [1], 2)


def test_a_new_controller_takes_dead_replicas_offline_from_2_3_on() -> None:
    """KAFKA-3143: before, a dead leader stayed the leader in ZooKeeper."""
    for release, leader in ((Release(2, 2), 1), (Release(2, 3), -1)):
        controller = zookeeper(release, a=[1])
        controller.alive.discard(1)
        controller.fail_over(8)
        assert controller.partitions["a-0"].leader == leader


def test_a_controlled_shutdown_moves_what_it_can() -> None:
    controller = zookeeper(a=[1, 2], b=[2, 1], c=[1, 3])
    controller.isr_changed("c-0", [1])
    shut_down = controller.shut_down(1)
    assert state(controller, "a-0") == (2, [2], 1)
    assert state(controller, "b-0") == (2, [2], 1)
    assert [(r.kind, r.broker, r.partition) for r in shut_down.requests if r.kind == "StopReplica"] == [
        ("StopReplica", 1, "b-0")
    ]
    # nobody else of its ISR is there: the shutdown has to wait
    assert controller.remaining(1) == ["c-0"]
    assert shut_down.failures == [("c-0", "StateChangeFailed")]


def test_a_reassignment_waits_for_its_target_and_ends() -> None:
    """1, 2, 3 to 4, 5, 6: begun with a new epoch, the leader moved, three replicas removed one by one."""
    controller = ZkController(Release(2, 3), 7, {1, 2, 3, 4, 5, 6})
    controller.create("a-0", [1, 2, 3])
    controller.reassign("a-0", [4, 5, 6])
    assert state(controller) == (1, [1, 2, 3], 1)
    assert set(controller.partitions["a-0"].replicas) == {1, 2, 3, 4, 5, 6}
    controller.isr_changed("a-0", [1, 2, 3, 4, 5])
    assert state(controller) == (1, [1, 2, 3, 4, 5], 1)
    done = controller.isr_changed("a-0", [1, 2, 3, 4, 5, 6])
    assert state(controller) == (4, [4, 5, 6], 5)
    assert [(after.leader, after.leader_epoch) for _, after in done.writes] == [(1, 1), (4, 2), (4, 3), (4, 4), (4, 5)]
    assert controller.partitions["a-0"].replicas == (4, 5, 6)


def test_another_target_replaces_a_pending_reassignment() -> None:
    """KIP-455: 3 had only been on its way, so it goes first; the origin stays 1, 2."""
    controller = zookeeper(a=[1, 2])
    controller.reassign("a-0", [3, 4])
    controller.isr_changed("a-0", [1, 2, 3])
    replaced = controller.reassign("a-0", [2, 4])
    assert [(after.isr, after.leader_epoch) for _, after in replaced.writes] == [((1, 2), 2), ((1, 2), 3)]
    assert [(r.broker, r.deletes) for r in replaced.requests if r.kind == "StopReplica"] == [(3, False), (3, True)]
    pending = controller.partitions["a-0"]
    assert (pending.replicas, pending.adding, pending.removing) == ((2, 4, 1), (4,), (1,))
    controller.isr_changed("a-0", [1, 2, 4])
    assert state(controller) == (2, [2, 4], 5)
    assert controller.partitions["a-0"].replicas == (2, 4)


def test_a_reassignment_of_zookeeper_is_cancelled() -> None:
    controller = zookeeper(a=[1, 2])
    controller.reassign("a-0", [3, 4])
    controller.isr_changed("a-0", [1, 2, 3])
    controller.cancel("a-0")
    assert state(controller) == (1, [1, 2], 3)
    assert controller.partitions["a-0"].replicas == (1, 2)
    assert controller.cancel("a-0").failures == [("a-0", "NO_REASSIGNMENT_IN_PROGRESS")]
    with pytest.raises(ValueError, match="cancels no reassignments"):
        zookeeper(Release(2, 3), a=[1]).cancel("a-0")


def test_until_2_3_nothing_replaces_a_pending_reassignment() -> None:
    """The handler of the znode looks at its creation alone (PartitionReassignmentHandler)."""
    controller = zookeeper(Release(2, 3), a=[1, 2])
    controller.reassign("a-0", [3, 4])
    assert controller.reassign("a-0", [2]).writes == []
    assert controller.partitions["a-0"].target == (3, 4)


RESUMED = {"0.8.0": 0, "0.8.1": 1, "1.1": 1, "2.4": 1, "2.8": 1, "3.9": 1}
"""Release -> by how much the leader epoch grows each time a reassignment is taken up that has to wait."""


@pytest.mark.parametrize("version", RESUMED)
def test_a_pending_reassignment_is_taken_up_again(version: str) -> None:
    """onPartitionReassignment runs again after a failover, and when a target broker returns; not for others."""
    bump, release = RESUMED[version], Release.parse(version)
    controller = ZkController(release, 7, {1, 2, 3})
    controller.create("a-0", [1, 2])
    controller.reassign("a-0", [1, 3])
    assert state(controller) == (1, [1, 2], bump)
    resumed = controller.fail_over(8)
    assert state(controller) == (1, [1, 2], 2 * bump)
    assert {r.broker for r in resumed.requests if r.kind == "LeaderAndIsr"} == ({1, 2, 3} if bump else set())
    controller.broker_failed(3)
    controller.broker_started(4)
    assert state(controller) == (1, [1, 2], 2 * bump)
    controller.broker_started(3)
    assert state(controller) == (1, [1, 2], 3 * bump)
    controller.isr_changed("a-0", [1, 2, 3])
    assert state(controller) == (1, [1, 3], 4 * bump + 1)
    assert controller.partitions["a-0"].target is None


def test_a_new_controller_takes_replicas_offline_before_it_elects() -> None:
    """replicaStateMachine.startup comes first: from 2.3 on a leader that died with the controller costs two epochs."""
    for release, epoch in ((Release(2, 2), 1), (Release(2, 3), 2)):
        controller = zookeeper(release, a=[1, 2])
        controller.alive.discard(1)
        controller.fail_over(8)
        assert state(controller) == (2, [2], epoch)


def test_a_leader_asks_for_another_isr() -> None:
    """KIP-497: the leader epoch stays, all brokers are sent the metadata, and a reassignment may be complete."""
    controller = zookeeper(Release(2, 8), a=[1, 2, 3])
    shrunk = controller.alter_partition("a-0", IsrRequest(1, 0, 0, (1, 2)))
    assert state(controller) == (1, [1, 2], 0)
    assert {(r.kind, r.broker) for r in shrunk.requests} == {("UpdateMetadata", broker) for broker in BROKERS}
    stale = controller.alter_partition("a-0", IsrRequest(1, 0, 0, (1,)))
    assert (stale.failures, stale.writes) == ([("a-0", "INVALID_UPDATE_VERSION")], [])
    assert controller.alter_partition("a-0", IsrRequest(9, 0, 1, (1,))).failures == [("a-0", "STALE_BROKER_EPOCH")]
    controller.reassign("a-0", [1, 4])
    controller.alter_partition("a-0", IsrRequest(1, 1, 2, (1, 2, 4)))
    assert state(controller) == (1, [1, 4], 3)
    with pytest.raises(ValueError, match="no requests to change the ISR"):
        zookeeper(Release(2, 6), a=[1]).alter_partition("a-0", IsrRequest(1, 0, 0, (1,)))


def test_a_leader_that_recovers_is_alone_until_it_says_so() -> None:
    """KIP-704: an unclean leader asks for RECOVERED first."""
    controller = ZkController(Release(3, 9), 7, set(BROKERS), unclean_topics={"a"})
    controller.create("a-0", [1, 2])
    controller.isr_changed("a-0", [1])
    controller.broker_failed(1)
    now = controller.partitions["a-0"]
    assert (now.leader, now.isr, now.recovery) == (2, (2,), "RECOVERING")
    controller.broker_started(1)
    asked = IsrRequest(2, now.leader_epoch, now.partition_epoch, (2, 1), recovery="RECOVERING")
    assert controller.alter_partition("a-0", asked).failures == [("a-0", "INVALID_REQUEST")]
    assert controller.alter_partition("a-0", replace(asked, recovery="RECOVERED")).failures == []
    assert controller.partitions["a-0"].recovery == "RECOVERED"


def test_a_partition_of_which_nothing_is_stored_waits_with_its_reassignment() -> None:
    controller = ZkController(Release(2, 4), 7, {2})
    controller.create("a-0", [1])
    assert controller.reassign("a-0", [2]).writes == []
    controller.broker_started(1)
    assert state(controller) == (2, [2, 1], 0)


def zk_vectors(op: str) -> list[tuple[str, Fields]]:
    return [
        (f"{path.stem}: {vector['name']}", vector)
        for path in sorted(VECTORS.glob("*.json"))
        for vector in json.loads(path.read_text(encoding="utf-8"))
        if vector["input"]["op"] == op
    ]


def in_state(release: Release, inputs: Fields, name: str = "a-0") -> ZkController:
    """A controller that has a vector's partition."""
    partition = ZkPartition(
        tuple(inputs["assignment"]), inputs["leader"], tuple(inputs["isr"]), inputs["leader_epoch"], state=ONLINE,
        controller_epoch=inputs.get("stored_controller_epoch", 0),
    )  # fmt: skip
    offline = {name: set(inputs.get("offline_replicas", ()))}
    allowed = inputs.get("unclean_enabled")
    return ZkController(
        release, inputs.get("controller_epoch", 0), set(inputs["alive"]), {name: partition},
        set(inputs.get("shutting_down", ())), offline, None if allowed is None else {"a"} if allowed else set(),
    )  # fmt: skip


OFFLINE = [
    (name, vector)
    for name, vector in zk_vectors("zk_elect")
    if vector["input"]["strategy"] == "offline" and "inter_broker_protocol" not in vector["input"]
]


@pytest.mark.parametrize(("name", "vector"), OFFLINE, ids=[name for name, _ in OFFLINE])
def test_offline_elections_of_the_vectors_as_events(name: str, vector: Fields) -> None:
    """A partition without a leader is elected as a broker comes that has no part in it."""
    for release, _ in releases(vector["era"]):
        controller = in_state(release, vector["input"])
        controller.partitions["a-0"] = ZkPartition(
            **{**vars(controller.partitions["a-0"]), "state": "OfflinePartition"}
        )
        decision = controller.broker_started(99)
        expected = vector["expected"]
        if "error" in expected:
            assert decision.failures == [("a-0", expected["error"])], release
            continue
        after = controller.partitions["a-0"]
        now = {
            "leader": after.leader,
            "isr": [*after.isr],
            "leader_epoch": after.leader_epoch,
            "isr_set": sorted(after.isr),
        }
        compared = expected.keys() & now.keys()
        assert {key: now[key] for key in compared} == {key: expected[key] for key in compared}, release


def by_op(op: str, keep: Callable[[Fields], bool] = lambda inputs: True) -> list[tuple[str, Fields]]:
    return [(name, vector) for name, vector in zk_vectors(op) if keep(vector["input"])]


def check(controller: ZkController, expected: Fields, release: Release) -> None:
    """What a vector expects of the partition, as far as it says."""
    after = controller.partitions["a-0"]
    now = {
        "leader": after.leader, "isr": [*after.isr], "isr_set": sorted(after.isr), "leader_epoch": after.leader_epoch,
        "assignment": [*after.replicas],
    }  # fmt: skip
    compared = expected.keys() & now.keys()
    assert {key: now[key] for key in compared} == {key: expected[key] for key in compared}, release


SHUTDOWNS = by_op("zk_elect", lambda v: v["strategy"] == "controlled_shutdown" and "inter_broker_protocol" not in v)
REQUESTS = by_op("zk_elect_request", lambda v: {*v} <= {"op", "election_type", "assignment", "leader", "isr", "alive"})
BIRTHS = by_op("zk_new_partition")
REMOVALS = by_op("zk_remove_replica", lambda v: v["replica"] != v["leader"] and not v.get("topic_deleting"))
MOVES = by_op("zk_reassign_final")


@pytest.mark.parametrize(("name", "vector"), SHUTDOWNS, ids=[name for name, _ in SHUTDOWNS])
def test_controlled_shutdowns_of_the_vectors_as_events(name: str, vector: Fields) -> None:
    for release, _ in releases(vector["era"]):
        controller = in_state(release, vector["input"])
        decision = controller.shut_down(vector["input"]["leader"])
        if "error" in vector["expected"]:
            assert decision.failures == [("a-0", vector["expected"]["error"])], release
        else:
            check(controller, vector["expected"], release)


@pytest.mark.parametrize(("name", "vector"), REQUESTS, ids=[name for name, _ in REQUESTS])
def test_election_requests_of_the_vectors_as_events(name: str, vector: Fields) -> None:
    for release, _ in releases(vector["era"]):
        controller = in_state(release, {"leader_epoch": 0, **vector["input"]})
        decision = controller.elect(["a-0"], vector["input"]["election_type"])
        expected = vector["expected"]
        check(controller, {"leader_epoch": expected["leader_epoch_bump"], **expected}, release)
        refused = expected["error"] not in ("NONE", "ELECTION_NOT_NEEDED")
        assert decision.failures == ([("a-0", expected["error"])] if refused else [])


@pytest.mark.parametrize(("name", "vector"), BIRTHS, ids=[name for name, _ in BIRTHS])
def test_new_partitions_of_the_vectors_as_events(name: str, vector: Fields) -> None:
    inputs = vector["input"]
    for release, _ in releases(vector["era"]):
        down = set(inputs.get("shutting_down", ()))
        offline = {"a-0": set(inputs.get("offline_replicas", ()))}
        controller = ZkController(release, 1, set(inputs["alive"]), shutting_down=down, offline_replicas=offline)
        decision = controller.create("a-0", inputs["assignment"])
        if "error" in vector["expected"]:
            assert decision.failures == [("a-0", vector["expected"]["error"])], release
            assert controller.partitions["a-0"].leader is None
        else:
            check(controller, vector["expected"], release)


@pytest.mark.parametrize(("name", "vector"), REMOVALS, ids=[name for name, _ in REMOVALS])
def test_removals_of_the_vectors_as_events(name: str, vector: Fields) -> None:
    """A follower's broker is gone: nobody is elected, it leaves the ISR."""
    inputs = vector["input"]
    for release, _ in releases(vector["era"]):
        alive = set(inputs["assignment"]) | {inputs["leader"]}
        controller = in_state(release, {"alive": alive, **inputs})
        decision = controller.broker_failed(inputs["replica"])
        if "error" in vector["expected"]:
            assert decision.failures == [("a-0", vector["expected"]["error"])], release
        else:
            check(controller, vector["expected"], release)
            assert bool(decision.writes) == vector["expected"]["written"]


@pytest.mark.parametrize(("name", "vector"), MOVES, ids=[name for name, _ in MOVES])
def test_reassignments_of_the_vectors_as_events(name: str, vector: Fields) -> None:
    inputs = vector["input"]
    for release, _ in releases(vector["era"]):
        controller = in_state(release, inputs)
        controller.reassign("a-0", inputs["target"])
        for broker in inputs.get("catch_up_order", ()):
            controller.isr_changed("a-0", [*controller.partitions["a-0"].isr, broker])
        check(controller, vector["expected"], release)


# ---- KRaft ----------------------------------------------------------------------------------------------------------
def kraft(release: Release = KRAFT, **partitions: list[int]) -> KraftController:
    controller = KraftController(ControllerConfig(release, ProtocolVersion.parse(str(release.line))))
    for broker in sorted(BROKERS):
        controller.register(broker, broker)
        controller.unfence(broker)
    for topic, replicas in partitions.items():
        controller.create(f"{topic}-0", replicas)
    return controller


def test_a_fenced_leader_is_replaced_and_returns_as_a_follower() -> None:
    controller = kraft(a=[1, 2, 3])
    controller.fence(1)
    partition = controller.partitions["a-0"]
    assert (partition.leader, partition.isr, partition.leader_epoch, partition.partition_epoch) == (2, (2, 3), 1, 1)
    assert controller.unfence(1).changes == []
    request = IsrRequest(2, 1, 1, (2, 3, 1), 2, isr_broker_epochs={1: 1})
    assert controller.alter_partition("a-0", request).errors == []
    assert controller.elect(["a-0"]).errors == []
    assert controller.partitions["a-0"].leader == 1


def test_the_last_in_sync_replica_leads_again_once_it_is_unfenced() -> None:
    controller = kraft(a=[1])
    controller.fence(1)
    assert (controller.partitions["a-0"].leader, controller.partitions["a-0"].isr) == (-1, (1,))
    controller.unfence(1)
    assert controller.partitions["a-0"].leader == 1


def test_a_reassignment_of_kraft_is_complete_with_the_request_that_brings_the_last_replica() -> None:
    controller = kraft(a=[1, 2])
    controller.reassign("a-0", [3, 2])
    pending = controller.partitions["a-0"]
    assert (pending.replicas, pending.adding, pending.removing, pending.leader_epoch) == ((3, 2, 1), (3,), (1,), 0)
    controller.alter_partition("a-0", IsrRequest(1, 0, 1, (1, 2, 3), 1))
    done = controller.partitions["a-0"]
    assert (done.replicas, set(done.isr), done.adding, done.removing) == ((3, 2), {2, 3}, (), ())
    assert (done.leader, done.leader_epoch) == (3, 1)


def test_kraft_asks_for_the_registrations_of_all_targets() -> None:
    """`validateManualPartitionAssignment` does not look at what is assigned already."""
    controller = kraft(a=[1, 2])
    controller.fence(2)
    del controller.broker_epochs[2]
    assert controller.reassign("a-0", [1, 2, 3]).errors == [("a-0", "INVALID_REPLICA_ASSIGNMENT")]
    assert controller.reassign("a-0", [1, 3]).errors == []


def test_a_cancelled_reassignment_goes_back() -> None:
    controller = kraft(a=[1, 2])
    controller.reassign("a-0", [3, 4])
    assert controller.cancel("a-0").errors == []
    back = controller.partitions["a-0"]
    assert (set(back.replicas), back.adding, back.removing) == ({1, 2}, (), ())
    assert controller.cancel("a-0").errors == [("a-0", "NO_REASSIGNMENT_IN_PROGRESS")]


# ---- requests to change the ISR -------------------------------------------------------------------------------------
OWNER = IsrOwner(1, 5, 9, (1, 2), (1, 2, 3), {1, 2, 3}, {1: 10, 2: 20, 3: 30})
ANSWERS: dict[str, tuple[Fields, Release, str]] = {  # what differs from a right request to let 3 in -> KRaft's answer
    "right": ({}, Release(3, 9), "NONE"),
    "an older leader epoch": ({"leader_epoch": 4}, Release(3, 9), "FENCED_LEADER_EPOCH"),
    "a newer leader epoch": ({"leader_epoch": 6}, Release(3, 9), "NOT_CONTROLLER"),
    "a newer leader epoch, 3.2": ({"leader_epoch": 6}, Release(3, 2), "FENCED_LEADER_EPOCH"),
    "an older partition epoch": ({"partition_epoch": 8}, Release(3, 9), "INVALID_UPDATE_VERSION"),
    "not from the leader": ({"sender": 2, "sender_broker_epoch": 20}, Release(3, 9), "INVALID_REQUEST"),
    "of an earlier life": ({"sender_broker_epoch": 9}, Release(3, 9), "STALE_BROKER_EPOCH"),
    "without the leader": ({"isr": (2, 3)}, Release(3, 9), "INVALID_REQUEST"),
    "with one that is not assigned": ({"isr": (1, 2, 4)}, Release(3, 9), "INVALID_REQUEST"),
    "with one that has started anew": ({"isr_broker_epochs": {3: 29}}, Release(3, 9), "INELIGIBLE_REPLICA"),
    "with one that has started anew, 3.4": ({"isr_broker_epochs": {3: 29}}, Release(3, 4), "NONE"),
    "two members that recover": ({"recovery": "RECOVERING"}, Release(3, 9), "INVALID_REQUEST"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_of_kraft_to_a_request_for_another_isr(case: str) -> None:
    differs, release, error = ANSWERS[case]
    request = IsrRequest(
        **{"sender": 1, "leader_epoch": 5, "partition_epoch": 9, "isr": (1, 2, 3), "sender_broker_epoch": 10, **differs}
    )
    assert kraft_alter_partition(release, OWNER, request) == (error, error == "NONE")


def test_answers_of_zookeeper_controllers_to_a_request_for_another_isr() -> None:
    def answer(release: Release, **differs: Any) -> tuple[str, bool]:
        values = {"sender": 1, "leader_epoch": 5, "partition_epoch": 9, "isr": (1, 2, 4), "sender_broker_epoch": 10}
        return zk_alter_partition(release, OWNER, IsrRequest(**{**values, **differs}))

    # it asks neither who leads nor what is assigned, but from 3.3 on whether all members are there (KIP-841)
    assert answer(Release(3, 2)) == ("NONE", True)
    assert answer(Release(3, 3)) == ("INELIGIBLE_REPLICA", False)
    gone = replace(OWNER, eligible={1})
    assert zk_alter_partition(Release(3, 3), gone, IsrRequest(1, 5, 9, (1,))) == ("NONE", True)
    assert zk_alter_partition(Release(3, 3), replace(gone, isr=(1, 2, 3)), IsrRequest(1, 5, 9, (1, 2))) == (
        "INELIGIBLE_REPLICA",
        False,
    )
    # what is stored is asked for again: the same list, from its leader
    assert answer(Release(2, 8), isr=(1, 2)) == ("NONE", False)
    assert answer(Release(2, 8), isr=(2, 1)) == ("NONE", True)
    assert answer(Release(2, 8), isr=(2, 1), partition_epoch=8) == ("INVALID_UPDATE_VERSION", False)
    assert answer(Release(2, 8), isr=(1, 2), sender=2, sender_broker_epoch=20) == ("NONE", True)
    # 3.2 asks first whether a leader that recovers is alone, and nobody whether he knows more
    assert answer(Release(3, 2), leader_epoch=6) == ("NONE", True)
    assert answer(Release(3, 2), partition_epoch=10) == ("INVALID_UPDATE_VERSION", False)
    assert answer(Release(3, 2), leader_epoch=4, recovery="RECOVERING") == ("INVALID_REQUEST", False)
    assert answer(Release(3, 3), leader_epoch=4, recovery="RECOVERING") == ("FENCED_LEADER_EPOCH", False)
    assert answer(Release(2, 8), partition_epoch=8) == ("INVALID_UPDATE_VERSION", False)
    assert answer(Release(2, 8), leader_epoch=6) == ("NONE", True)
    assert answer(Release(3, 9), leader_epoch=6) == ("NOT_CONTROLLER", False)
    assert answer(Release(2, 8), leader_epoch=4) == ("FENCED_LEADER_EPOCH", False)
    assert answer(Release(2, 8), sender_broker_epoch=3) == ("STALE_BROKER_EPOCH", False)


# ---- whatever happens -----------------------------------------------------------------------------------------------
EVENTS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["fail", "start", "shut_down", "elect", "expand", "shrink", "cancel", "fail_over"]),
            st.sampled_from([1, 2, 3]),
        ),
        st.tuples(st.just("reassign"), st.permutations([1, 2, 3, 4]).map(lambda order: tuple(order[:2]))),
    ),
    max_size=12,
)


def change_isr(controller: ZkController, isr: tuple[int, ...]) -> list[tuple[str, ZkPartition]]:
    """What a leader that changes its ISR leads to: by itself until 2.6, as a request from 2.7 on."""
    if controller.release < Release(2, 7):
        return controller.isr_changed("a-0", isr).writes
    now = controller.partitions["a-0"]
    assert now.leader is not None
    return controller.alter_partition("a-0", IsrRequest(now.leader, now.leader_epoch, now.partition_epoch, isr)).writes


@given(st.sampled_from([release for release in MINOR_RELEASES if Release(0, 8, 1) <= release < Release(4)]), EVENTS)
def test_states_of_a_zookeeper_controller_keep_the_invariants(release: Release, events: list[tuple[str, Any]]) -> None:
    controller = ZkController(release, 7, set(BROKERS))
    writes = controller.create("a-0", [1, 2, 3]).writes
    for event, value in events:
        partition = controller.partitions["a-0"]
        led = partition.leader in controller.alive
        if event == "fail" and value in controller.alive:
            writes += controller.broker_failed(value).writes
        elif event == "start" and value not in controller.alive:
            writes += controller.broker_started(value).writes
        elif event == "shut_down" and value in controller.alive:
            writes += controller.shut_down(value).writes
        elif event == "elect" and release >= Release(2, 2):
            writes += controller.elect(["a-0"]).writes
        elif (
            event == "expand"
            and led
            and value in controller.alive
            and value in set(partition.replicas) - set(partition.isr)
        ):
            writes += change_isr(controller, (*partition.isr, value))
        elif event == "shrink" and led and value in partition.isr and value != partition.leader:
            writes += change_isr(controller, tuple(b for b in partition.isr if b != value))
        elif event == "reassign":
            writes += controller.reassign("a-0", value).writes
        elif event == "cancel" and release >= Release(2, 4):
            writes += controller.cancel("a-0").writes
        elif event == "fail_over":
            writes += controller.fail_over(controller.epoch + 1).writes
    states = [
        StoredState(p.leader, p.leader_epoch, p.isr, p.partition_epoch, p.controller_epoch, replicas=p.replicas)
        for _, p in writes
        if p.leader is not None
    ]
    cluster = Cluster(release)
    assert violations([*check_sequence(cluster, states), *check_decisions(cluster, states)]) == []


@given(st.sampled_from([release for release in MINOR_RELEASES if release >= Release(3)]), EVENTS)
def test_states_of_a_kraft_controller_keep_the_invariants(release: Release, events: list[tuple[str, Any]]) -> None:
    controller = kraft(release, a=[1, 2, 3])
    states = [controller.partitions["a-0"]]
    for event, value in events:
        now = controller.partitions["a-0"]
        request = None
        if event == "fail" and value in controller.unfenced:
            controller.fence(value)
        elif event == "start" and value not in controller.unfenced:
            controller.unfence(value)
        elif event == "shut_down" and value in controller.unfenced:
            controller.shut_down(value)
        elif event == "elect":
            controller.elect(["a-0"])
        elif event == "expand" and now.leader >= 0 and value in set(now.replicas) - set(now.isr):
            request = (*now.isr, value)
        elif event == "shrink" and now.leader >= 0 and value in set(now.isr) - {now.leader}:
            request = tuple(b for b in now.isr if b != value)
        elif event == "reassign":
            controller.reassign("a-0", value)
        elif event == "cancel":
            controller.cancel("a-0")
        if request is not None:
            controller.alter_partition("a-0", IsrRequest(now.leader, now.leader_epoch, now.partition_epoch, request))
        if controller.partitions["a-0"] != states[-1]:
            states.append(controller.partitions["a-0"])
    assert violations(check_sequence(Cluster(release, kraft=True), [_stored(p) for p in states])) == []


def _stored(partition: PartitionRegistration) -> StoredState:
    return StoredState(
        partition.leader, partition.leader_epoch, partition.isr, partition.partition_epoch, replicas=partition.replicas
    )
