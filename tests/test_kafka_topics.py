"""What kafka-topics --describe printed, release by release; expected lines are written after Kafka's own source of that tag."""

from __future__ import annotations

import pytest

from udfs.describe.kafka_topics import (
    AT_MIN_ISR,
    FILTERS,
    UNAVAILABLE,
    UNDER_MIN_ISR,
    UNDER_REPLICATED,
    DescribedPartition,
    DescribedTopic,
    Tool,
    as_data,
    as_received,
    lines,
    passes,
    select,
    with_gaps_filled,
)
from udfs.kafka.releases import Release

ALIVE = {1: True, 2: True, 3: False}
P0 = DescribedPartition(0, leader=1, isr=(1, 2), replicas=(2, 1))
P1 = DescribedPartition(1, leader=-1, isr=(3,), replicas=(3,), elr=())
PAY = DescribedTopic(
    "pay", (P0, P1), topic_id="rIvSGtgqSBu5tkyMNTEHKg", configs={"retention.ms": "1", "min.insync.replicas": "2"}
)


def tool(release: str, *, kraft: bool = False) -> Tool:
    return Tool(Release.parse(release), kraft)


def printed(
    at: Tool, *topics: DescribedTopic, only: str | None = None, alive: dict[int, bool] | None = None
) -> list[str]:
    """Lines with `>` for tabs."""
    there = ALIVE if alive is None else alive
    return [line.replace("\t", ">") for line in lines(at, select(at, topics, only, there), there)]


FORMS = {  # release, KRaft -> what it printed of PAY
    ("0.8.0", False): [
        "topic: pay>partition: 0>leader: 1>replicas: 2,1>isr: 1,2",
        "topic: pay>partition: 1>leader: -1>replicas: 3>isr: 3",
    ],
    ("0.8.1", False): [
        "Topic:pay>PartitionCount:2>ReplicationFactor:2>Configs:min.insync.replicas=2,retention.ms=1",
        ">Topic: pay>Partition: 0>Leader: 1>Replicas: 2,1>Isr: 1,2",
        ">Topic: pay>Partition: 1>Leader: -1>Replicas: 3>Isr: 3",
    ],
    # asks a broker: no leader is `none`, and has no ISR (KAFKA-8442)
    ("2.3.1", False): [
        "Topic:pay>PartitionCount:2>ReplicationFactor:2>Configs:min.insync.replicas=2,retention.ms=1",
        ">Topic: pay>Partition: 0>Leader: 1>Replicas: 2,1>Isr: 1,2",
        ">Topic: pay>Partition: 1>Leader: none>Replicas: 3>Isr: ",
    ],
    ("2.4", False): [
        "Topic: pay>PartitionCount: 2>ReplicationFactor: 2>Configs: min.insync.replicas=2,retention.ms=1",
        ">Topic: pay>Partition: 0>Leader: 1>Replicas: 2,1>Isr: 1,2",
        ">Topic: pay>Partition: 1>Leader: none>Replicas: 3>Isr: 3",
    ],
    ("2.8", False): [
        "Topic: pay>TopicId: rIvSGtgqSBu5tkyMNTEHKg>PartitionCount: 2>ReplicationFactor: 2>Configs: min.insync.replicas=2,retention.ms=1",
        ">Topic: pay>Partition: 0>Leader: 1>Replicas: 2,1>Isr: 1,2",
        ">Topic: pay>Partition: 1>Leader: none>Replicas: 3>Isr: 3",
    ],
    # brokers with ZooKeeper do not know eligible leader replicas
    ("3.9", False): [
        "Topic: pay>TopicId: rIvSGtgqSBu5tkyMNTEHKg>PartitionCount: 2>ReplicationFactor: 2>Configs: min.insync.replicas=2,retention.ms=1",
        ">Topic: pay>Partition: 0>Leader: 1>Replicas: 2,1>Isr: 1,2>Elr: N/A>LastKnownElr: N/A",
        ">Topic: pay>Partition: 1>Leader: none>Replicas: 3>Isr: 3>Elr: N/A>LastKnownElr: N/A",
    ],
    # those of the first partition are unknown
    ("4.1", True): [
        "Topic: pay>TopicId: rIvSGtgqSBu5tkyMNTEHKg>PartitionCount: 2>ReplicationFactor: 2>Configs: min.insync.replicas=2,retention.ms=1",
        ">Topic: pay>Partition: 0>Leader: 1>Replicas: 2,1>Isr: 1,2>Elr: unknown>LastKnownElr: ",
        ">Topic: pay>Partition: 1>Leader: none>Replicas: 3>Isr: 3>Elr: >LastKnownElr: ",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("release", "kraft"), FORMS)
def test_form(release: str, kraft: bool) -> None:
    assert printed(tool(release, kraft=kraft), PAY) == FORMS[release, kraft]


SAME_FORM = {  # releases -> print as this one
    "0.8.1": ["0.8.2.2", "0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.1.1"],
    "2.3.1": ["2.2.2"],
    "2.4": ["2.5.1", "2.7.2"],
    "2.8": ["3.0.2", "3.3.2", "3.7.2"],
    "3.9": ["3.8.1"],
}


@pytest.mark.parametrize(("release", "like"), [(r, like) for like, rs in SAME_FORM.items() for r in rs])
def test_releases_in_between(release: str, like: str) -> None:
    assert printed(tool(release), PAY) == FORMS[like, False]


def test_topics_by_name_partitions_by_number_from_0() -> None:
    topics = [DescribedTopic("b", (P0,)), with_gaps_filled(DescribedTopic("a", (P1,)))]
    assert printed(tool("2.4"), *topics) == [
        "Topic: a>PartitionCount: 2>ReplicationFactor: unknown>Configs: unknown",
        ">Topic: a>Partition: 0>Leader: unknown>Replicas: unknown>Isr: unknown",
        ">Topic: a>Partition: 1>Leader: none>Replicas: 3>Isr: 3",
        "Topic: b>PartitionCount: 1>ReplicationFactor: 2>Configs: unknown",
        ">Topic: b>Partition: 0>Leader: 1>Replicas: 2,1>Isr: 1,2",
    ]


def test_a_topic_of_which_no_partition_is_known() -> None:
    shown = printed(tool("2.8"), DescribedTopic("a", configs={}))
    assert shown == ["Topic: a>TopicId: unknown>PartitionCount: unknown>ReplicationFactor: unknown>Configs: "]


MOVING = DescribedPartition(0, leader=1, isr=(1, 2), replicas=(3, 1, 2), adding=(3,), removing=(1, 2), reassigning=True)
REASSIGNED = {  # release -> replication factor, and what follows the ISR
    "2.4": ("3", ""),
    "2.5": ("2", ""),  # without those being added (KAFKA-8834)
    "2.6": ("2", ">Adding Replicas: 3>Removing Replicas: 1,2"),  # KAFKA-9688
}


@pytest.mark.parametrize("release", REASSIGNED)
def test_reassignment(release: str) -> None:
    factor, rest = REASSIGNED[release]
    head, line = printed(tool(release), DescribedTopic("a", (MOVING,)))
    assert head == f"Topic: a>PartitionCount: 1>ReplicationFactor: {factor}>Configs: unknown"
    assert line == f">Topic: a>Partition: 0>Leader: 1>Replicas: 3,1,2>Isr: 1,2{rest}"
    under = passes(tool(release), DescribedTopic("a", (MOVING,)), MOVING, UNDER_REPLICATED, ALIVE)
    assert under is (release == "2.4")


DELETED = {  # release, filter -> lines
    ("0.10.2", None): ["Topic:a>PartitionCount:1>ReplicationFactor:2>Configs:", ">Topic: a>Partition: 0>Leader: 1>Replicas: 2,1>Isr: 1,2"],
    ("0.11", None): ["Topic:a>PartitionCount:1>ReplicationFactor:2>Configs:>MarkedForDeletion:true", ">Topic: a>Partition: 0>Leader: 1>Replicas: 2,1>Isr: 1,2"],
    ("1.1", AT_MIN_ISR): [">Topic: a>Partition: 0>Leader: 1>Replicas: 2,1>Isr: 1,2>MarkedForDeletion: true"],
    ("2.2", None): [],  # a broker has forgotten it
}  # fmt: skip


@pytest.mark.parametrize(("release", "only"), DELETED)
def test_topic_under_deletion(release: str, only: str | None) -> None:
    topic = DescribedTopic("a", (P0,), configs={}, deleting=True, min_insync_replicas=2)
    assert printed(tool(release), topic, only=only) == DELETED[release, only]


def partition(leader: int | None, isr: tuple[int, ...] | None, replicas: tuple[int, ...] | None) -> DescribedPartition:
    return DescribedPartition(0, leader=leader, isr=isr, replicas=replicas)


PASSES = {  # release, filter, leader, isr, replicas, min.insync.replicas -> lets it through
    "a leader that is alive": ("2.4", UNAVAILABLE, 1, (1,), (1,), None, False),
    "no leader": ("2.4", UNAVAILABLE, -1, (1,), (1,), None, True),
    "a stored leader that is dead": ("1.1", UNAVAILABLE, 3, (3,), (3,), None, True),
    "a leader that may be alive or not": ("1.1", UNAVAILABLE, 9, (9,), (9,), None, None),
    "no state known": ("2.4", UNAVAILABLE, None, None, None, None, None),
    "all in sync": ("2.4", UNDER_REPLICATED, 1, (1, 2), (1, 2), None, False),
    "one out of sync": ("2.4", UNDER_REPLICATED, 1, (1,), (1, 2), None, True),
    "assignment unknown": ("2.4", UNDER_REPLICATED, 1, (1,), None, None, None),
    "as many as needed": ("2.3", AT_MIN_ISR, 1, (1, 2), (1, 2, 3), 2, True),
    "more than needed": ("2.3", AT_MIN_ISR, 1, (1, 2, 3), (1, 2, 3), 2, False),
    "as many as needed, all in sync": ("2.3", AT_MIN_ISR, 1, (1, 2), (1, 2), 2, True),
    "unknown how many are needed": ("2.3", AT_MIN_ISR, 1, (1, 2), (1, 2), None, None),
    "fewer than needed": ("2.3", UNDER_MIN_ISR, 1, (1,), (1, 2), 2, True),
    "not fewer": ("2.3", UNDER_MIN_ISR, 1, (1, 2), (1, 2), 2, False),
    "unknown how many: fewer?": ("2.4", UNDER_MIN_ISR, 1, (1,), (1, 2), None, None),
    "without a leader from 2.4 on": ("2.4", UNDER_MIN_ISR, -1, (1,), (1,), 1, True),
    "without a leader from 2.4 on, whatever is needed": ("2.4", UNDER_MIN_ISR, -1, (1,), (1,), None, True),
    "without a leader in 2.3: its ISR was not shown": ("2.3", UNDER_MIN_ISR, -1, (1,), (1,), 1, True),
    "without a leader in 2.1, ISR as stored": ("2.1", UNDER_MIN_ISR, -1, (1,), (1,), 1, False),
}


@pytest.mark.parametrize("case", PASSES)
def test_filter(case: str) -> None:
    release, only, leader, isr, replicas, least, expected = PASSES[case]
    at, p = tool(release), partition(leader, isr, replicas)
    topic = DescribedTopic("a", (p,), min_insync_replicas=least)
    assert passes(at, topic, as_received(at, p, ALIVE), only, ALIVE) is expected
    chosen = select(at, [topic], only, ALIVE)
    assert chosen.topics == (((topic, (p,)),) if expected else ())
    assert chosen.undecided == (expected is None)


def test_filters_print_no_topic_lines() -> None:
    shown = printed(tool("2.4"), PAY, DescribedTopic("ok", (P0,)), only=UNAVAILABLE)
    assert shown == [">Topic: pay>Partition: 1>Leader: none>Replicas: 3>Isr: 3"]


def test_filters_are_kafkas() -> None:
    assert FILTERS == (
        "unavailable-partitions",
        "under-replicated-partitions",
        "at-min-isr-partitions",
        "under-min-isr-partitions",
    )
    with pytest.raises(ValueError, match="No such filter: 'offline'"):
        passes(tool("2.4"), PAY, P0, "offline", ALIVE)


DEAD = DescribedPartition(0, leader=3, isr=(3, 1), replicas=(3, 1))
RECEIVED = {  # release, KRaft -> leader and ISR as the tool receives them, of a stored leader that is dead
    ("2.1", False): (3, (3, 1)),
    ("2.2", False): (-1, ()),
    ("2.4", False): (-1, (3, 1)),
    ("4.1", True): (3, (3, 1)),  # a fenced broker leads nothing; if it seems so the clocks of two lines differ
}


@pytest.mark.parametrize(("release", "kraft"), RECEIVED)
def test_a_dead_leader(release: str, kraft: bool) -> None:
    received = as_received(tool(release, kraft=kraft), DEAD, ALIVE)
    assert (received.leader, received.isr) == RECEIVED[release, kraft]


def test_data_is_as_committed() -> None:
    """Whatever kafka-topics of that release made of it."""
    data = as_data(tool("2.3"), DescribedTopic("a", (DEAD,), since="2026-11-21T10:00:00.000Z"), [DEAD])
    assert data["partitions"][0]["leader"] == 3
    assert data["partitions"][0]["isr"] == (3, 1)
    assert (data["partition_count"], data["replication_factor"], data["configs"]) == (1, 2, None)
