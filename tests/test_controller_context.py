"""What a controller held in memory, rebuilt from who led, who was alive, and the transitions it logged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from udfs.describe.controller_context import (
    BrokerStatus,
    ClusterState,
    ControllerTerm,
    as_data,
    lines,
    offline_partition_count,
    partition_state,
    replica_state,
)
from udfs.describe.kafka_topics import DescribedPartition, DescribedTopic, Tool
from udfs.kafka.releases import Release

BROKERS = [
    BrokerStatus(1, "alive", 11),
    BrokerStatus(2, "shutting_down", 12),
    BrokerStatus(3, "gone"),
    BrokerStatus(9, "unknown"),
]


def cluster(release: str, *topics: DescribedTopic, kraft: bool = False, **more: Any) -> ClusterState:
    base = ClusterState(Tool(Release.parse(release), kraft), ControllerTerm(1, 7, is_known=True), topics, BROKERS)
    return replace(base, **more)


def one(leader: int | None, *replicas: int, **more: Any) -> DescribedTopic:
    p = replace(DescribedPartition(0, leader=leader, isr=replicas, replicas=replicas, leader_epoch=4), **more)
    return DescribedTopic("a", (p,))


PARTITIONS: dict[str, tuple[str, DescribedTopic, dict[str, Any], str | None]] = {  # release, topic, more evidence -> state
    "its leader is alive": ("2.4", one(1, 1), {}, "OnlinePartition"),
    "its leader is shutting down": ("2.4", one(2, 2), {}, "OnlinePartition"),
    "no leader": ("2.4", one(-1, 3), {}, "OfflinePartition"),
    "a dead leader is still stored (KAFKA-3143)": ("2.2", one(3, 3), {}, "OfflinePartition"),
    "its leader's log directory failed": ("2.4", one(1, 1), {"offline_dirs": {1: frozenset({("a", 0)})}}, "OfflinePartition"),
    "its leader is unknown": ("2.4", one(9, 9), {}, None),
    "no state known": ("2.4", one(None), {}, None),
    "no state known, but a transition": ("2.4", one(None), {"logged_states": {("a", 0): "NewPartition"}}, "NewPartition"),
    # without TRACE only transitions to New and Online are logged (2.6 on): the last one may be outdated
    "at INFO what follows counts": ("2.6", one(-1, 3), {"logged_states": {("a", 0): "OnlinePartition"}}, "OfflinePartition"),
    "at TRACE transitions count": ("2.6", one(1, 1), {"logged_states": {("a", 0): "OfflinePartition", ("a", 0, 1): "OnlineReplica"}}, "OfflinePartition"),
    "under deletion nothing follows": ("2.4", replace(one(1, 1), deleting=True), {}, None),
    "under deletion a transition counts": ("2.4", replace(one(1, 1), deleting=True), {"logged_states": {("a", 0): "NonExistentPartition"}}, "NonExistentPartition"),
}  # fmt: skip


@pytest.mark.parametrize("case", PARTITIONS)
def test_partition_state(case: str) -> None:
    release, topic, more, expected = PARTITIONS[case]
    assert partition_state(cluster(release, topic, **more), topic, topic.partitions[0]) == expected


REPLICAS: dict[str, tuple[str, DescribedTopic, int, dict[str, Any], str | None]] = {  # release, topic, broker, more evidence -> state
    "alive": ("2.4", one(1, 1, 3), 1, {}, "OnlineReplica"),
    "dead": ("2.4", one(1, 1, 3), 3, {}, "OfflineReplica"),
    "dead when the term began, through 2.2": ("2.2", one(1, 1, 3), 3, {"gone_before": frozenset({3})}, "ReplicaDeletionIneligible"),
    "dead when the term began, from 2.3 on": ("2.3", one(1, 1, 3), 3, {"gone_before": frozenset({3})}, "OfflineReplica"),
    "its log directory failed": ("2.4", one(2, 2, 1), 1, {"offline_dirs": {1: frozenset({("a", 0)})}}, "OfflineReplica"),
    "another's log directory failed": ("2.4", one(2, 2, 1), 1, {"offline_dirs": {1: frozenset({("a", 1)})}}, "OnlineReplica"),
    "being added": ("2.4", one(2, 1, 2, adding=(1,), reassigning=True), 1, {}, "NewReplica"),
    "leads in controlled shutdown": ("2.4", one(2, 1, 2), 2, {}, "OnlineReplica"),
    "the only one in controlled shutdown": ("2.4", one(-1, 2), 2, {}, "OnlineReplica"),
    "follows in controlled shutdown: did it lead when it was asked for?": ("2.4", one(1, 1, 2), 2, {}, None),
    "the transition counts": ("2.4", one(1, 1, 2), 2, {"logged_states": {("a", 0, 2): "OfflineReplica"}}, "OfflineReplica"),
    "unknown": ("2.4", one(1, 1, 9), 9, {}, None),
}  # fmt: skip


@pytest.mark.parametrize("case", REPLICAS)
def test_replica_state(case: str) -> None:
    release, topic, broker, more, expected = REPLICAS[case]
    assert replica_state(cluster(release, topic, **more), topic, topic.partitions[0], broker) == expected


THREE = DescribedTopic("t", (DescribedPartition(0, leader=1, replicas=(1,)), DescribedPartition(1, leader=-1, replicas=(3,)), DescribedPartition(2, leader=3, replicas=(3,))))  # fmt: skip
OFFLINE: dict[
    str, tuple[str, bool, DescribedTopic, dict[str, Any], int]
] = {  # release, KRaft, topic, more -> OfflinePartitionsCount
    "leaders that are dead count through 2.0": ("1.1", False, THREE, {}, 2),
    "from 2.1 on it counts states, here the same": ("2.1", False, THREE, {}, 2),
    "KRaft counts those without a leader": ("4.1", True, THREE, {}, 1),
    "topics to be deleted count up to 0.9": ("0.9", False, THREE, {"deletion_requested": frozenset({"t"})}, 2),
    "and no more from 0.10 on": ("0.10", False, THREE, {"deletion_requested": frozenset({"t"})}, 0),
}


@pytest.mark.parametrize("case", OFFLINE)
def test_offline_partition_count(case: str) -> None:
    release, kraft, topic, more, expected = OFFLINE[case]
    assert offline_partition_count(cluster(release, topic, kraft=kraft, **more)) == expected


def test_context_as_data() -> None:
    moving = one(1, 3, 1, adding=(3,), reassigning=True)
    going = DescribedTopic("b", (DescribedPartition(0, leader=1, isr=(1,), replicas=(1, 3)),), deleting=True)
    data = as_data(cluster("2.4", moving, going, deletion_requested=frozenset({"b"})))
    assert data["live_brokers"] == {"1": 11, "2": 12}
    assert data["shutting_down_broker_ids"] == [2]
    assert (data["controller_id"], data["epoch"], data["all_topics"]) == (1, 7, ["a", "b"])
    assert data["partitions_being_reassigned"] == {"a-0": {"adding_replicas": (3,), "removing_replicas": ()}}
    assert data["topics_to_be_deleted"] == data["topics_with_deletion_started"] == ["b"]
    assert data["topics_ineligible_for_deletion"] == ["b"]  # broker 3 is gone
    assert data["partitions"]["a-0"]["offline_replicas"] == [3]
    assert data["partitions"]["a-0"]["partition_state"] == "OnlinePartition"


def test_kraft_has_no_states() -> None:
    data = as_data(cluster("4.1", one(-1, 1, 3), kraft=True))
    assert data["partitions"]["a-0"]["partition_state"] is None
    assert data["partitions"]["a-0"]["replica_states"] is None
    assert data["replicas_on_offline_dirs"] is None
    assert data["partitions"]["a-0"]["offline_replicas"] == [3]
    assert data["topics_to_be_deleted"] == []


def test_context_as_text() -> None:
    text = lines(cluster("2.4", one(1, 3, 1, adding=(3,), reassigning=True), offline_dirs={1: frozenset({("a", 3)})}))
    assert text == [
        "controllerId: 1",
        "epoch: 7",
        "liveBrokers: 1 (epoch 11), 2 (epoch 12)",
        "shuttingDownBrokerIds: 2",
        "allTopics: a",
        "partitionsBeingReassigned: a-0 (+ 3; - none)",
        "replicasOnOfflineDirs: 1: a-3",
        "topicsToBeDeleted:",
        "topicsWithDeletionStarted:",
        "topicsIneligibleForDeletion:",
        "offlinePartitionCount: 0",
        "\tTopic: a\tPartition: 0\tState: OnlinePartition\tLeader: 1\tLeaderEpoch: 4\tIsr: 3,1"
        "\tReplicas: 3 OfflineReplica, 1 OnlineReplica\tOfflineReplicas: 3",
    ]


def test_no_controller() -> None:
    assert lines(cluster("2.4", term=ControllerTerm(is_known=True)))[:2] == ["controllerId: none", "epoch: unknown"]
    assert lines(cluster("2.4", term=ControllerTerm(), brokers=[]))[:3] == ["controllerId: unknown", "epoch: unknown", "liveBrokers: unknown"]  # fmt: skip
