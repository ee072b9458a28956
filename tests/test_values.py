"""Kafka's renderings of names, lists and states, where they are easily read wrong."""

from __future__ import annotations

import pytest

from udfs.rules import values

NAMES = {  # text -> partitions
    "old form": ("[pay-in,3],[refunds,0]", [("pay-in", 3), ("refunds", 0)]),
    "old form with a blank": ("Set([pay-in, 3])", [("pay-in", 3)]),
    "new form": ("Set(pay-in-3, refunds-0)", [("pay-in", 3), ("refunds", 0)]),
    "tuple": ("(pay-in,3),(refunds,0)", [("pay-in", 3), ("refunds", 0)]),
    "a topic that ends in a hyphen": ("mysql-kafka--0", [("mysql-kafka-", 0)]),
    "a topic that ends in a number": ("a-1-2,a-1-0", [("a-1", 2), ("a-1", 0)]),
    "a numeric topic": ("[12,7]", [("12", 7)]),
    "two ids are no partition": ("Map(pay-in-3 -> Buffer(4, 5))", [("pay-in", 3)]),
    "two ids in brackets neither": ("Map(pay-in-3 -> [4, 5])", [("pay-in", 3)]),
    "replicas, each partition once": (
        "[Topic=pay-in,Partition=3,Replica=4],[Topic=pay-in,Partition=3,Replica=5]",
        [("pay-in", 3)],
    ),
    "replicas of 0.8.0": ("PartitionAndReplica(pay-in,3,4)", [("pay-in", 3)]),
    "request data": ("[RemainingPartition(topicName='pay-in', partitionIndex=3)]", [("pay-in", 3)]),
    "none": ("Set()", []),
}


@pytest.mark.parametrize("case", NAMES)
def test_partition_names(case: str) -> None:
    text, named = NAMES[case]
    assert [(each["topic"], each["partition"]) for each in values.partition_names(text)] == named


STATES = {  # text -> what it says
    "JSON of 0.8.0": ('{ "ISR":"4,5", "leader":"4", "leaderEpoch":"12" }', ([4, 5], 4, 12, None)),
    "JSON": ('{"leader":4,"leader_epoch":12,"isr":[4,5]}', ([4, 5], 4, 12, None)),
    "parentheses": ("(Leader:4,ISR:4,5,LeaderEpoch:12,ControllerEpoch:7)", ([4, 5], 4, 12, None)),
    "parentheses, version, empty ISR": (
        "(Leader:-1,ISR:,LeaderEpoch:12,ZkVersion:31,ControllerEpoch:7)",
        ([], -1, 12, 31),
    ),
    "bare list": ("PartitionState(leader=4, leaderEpoch=12, isr=4,5, zkVersion=31, replicas=4,5)", ([4, 5], 4, 12, 31)),
    "Scala list": ("LeaderAndIsr(leader=4, leaderEpoch=12, isr=List(4, 5), zkVersion=31)", ([4, 5], 4, 12, 31)),
    "with broker epochs": (
        (
            "LeaderAndIsr(leader=4, leaderEpoch=12, isrWithBrokerEpoch=List(BrokerState(brokerId=4, brokerEpoch=-1), "
            "BrokerState(brokerId=5, brokerEpoch=348)), leaderRecoveryState=RECOVERED, partitionEpoch=31)"
        ),
        ([4, 5], 4, 12, 31),
    ),
    "wire structure": (
        "{topic=pay-in,partition=3,leader=4,leader_epoch=12,isr=[4,5],zk_version=31,replicas=[4,5]}",
        ([4, 5], 4, 12, 31),
    ),
}


@pytest.mark.parametrize("case", STATES)
def test_partition_state(case: str) -> None:
    text, expected = STATES[case]
    state = values.partition_state(text)
    assert (state["isr"], state["leader"], state["leader_epoch"], state.get("partition_epoch")) == expected


def test_states_of_a_request() -> None:
    """Each partition has its own state, also behind an unbalanced parenthesis; names of hosts are no partitions."""
    text = (
        "Name:LeaderAndIsrRequest;Version:0;Controller:1;ControllerEpoch:8;CorrelationId:27;ClientId:id_1-host_k-1;"
        "Leaders:id:4,host:k-4,port:9092;PartitionState:"
        "(pay-in,3) -> (LeaderAndIsrInfo:(Leader:4,ISR:4,LeaderEpoch:12,ControllerEpoch:7),ReplicationFactor:2),"
        "AllReplicas:4,5),(refunds,0) -> (LeaderAndIsrInfo:(Leader:5,ISR:5,6,LeaderEpoch:3,ControllerEpoch:8),"
        "ReplicationFactor:2),AllReplicas:6,5)"
    )
    read = values.request(text)
    assert (read["api"], read["controller_id"], read["controller_epoch"], read["correlation_id"]) == (
        "LEADER_AND_ISR",
        1,
        8,
        27,
    )
    assert read["partitions"] == [
        {
            "topic": "pay-in",
            "partition": 3,
            "leader": 4,
            "leader_epoch": 12,
            "controller_epoch": 7,
            "isr": [4],
            "replicas": [4, 5],
        },
        {
            "topic": "refunds",
            "partition": 0,
            "leader": 5,
            "leader_epoch": 3,
            "controller_epoch": 8,
            "isr": [5, 6],
            "replicas": [6, 5],
        },
    ]


def test_stopped_replicas_of_a_request() -> None:
    text = "(type=StopReplicaRequest, controllerId=1, deletePartitions=false, brokerEpoch=9, partitions=pay-in-3,a-1-0)"
    read = values.request(text)
    assert read["delete_partition"] == "false"
    assert [(each["topic"], each["partition"]) for each in read["partitions"]] == [("pay-in", 3), ("a-1", 0)]


FETCHED = {  # list of a fetcher's line -> leader of each partition
    "0.8.1": (
        "List([[a,3], initOffset 42 to broker id:5,host:k-6,port:9092] , [[a-1,0], initOffset 0 to broker id:4,host:k",
        [5, 4],
    ),
    "0.9": ("List([[pay-in,3], initOffset 42 to broker BrokerEndPoint(5,k-6,9092)] )", [5]),
    "0.10.1": ("List([pay-in-3, initOffset 42 to broker BrokerEndPoint(5,k-6,9092)] )", [5]),
    "one that does not say": ("List([pay-in-3, initOffset 42 to somewhere] )", [None]),
    "2.1 says it before the list": ("Map(pay-in-3 -> (offset=42, leaderEpoch=12))", [None]),
}


@pytest.mark.parametrize("case", FETCHED)
def test_leaders_of_fetchers(case: str) -> None:
    text, leaders = FETCHED[case]
    assert [each.get("leader") for each in values.fetched(text)] == leaders


@pytest.mark.parametrize("topic_id", ["h5K2vX8bQ0-3mJtR_wYz1A", "h5K999999999vX8bQ0-22mJtR_wYz4A"])
def test_a_topic_id_counts_no_characters(topic_id: str) -> None:
    """A log template stands for lines whose numbers have other lengths: a reader that counts would not fit them all."""
    endpoint = "BrokerEndPoint(id=5, host=k-5:9092)"
    text = f"Map(pay-in-3 -> InitialFetchState(Some({topic_id}),{endpoint},12,880))"
    assert values.fetched(text) == [{"topic": "pay-in", "partition": 3, "leader_epoch": 12, "topic_id": topic_id}]
