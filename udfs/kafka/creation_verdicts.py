"""The assignments of new topics and of partitions added to them, by the properties that every placement has: plain
functions over rows as dicts.

Kafka draws where it starts, so an assignment is not recomputed; but without racks all follows from the start and the
shift, and those show in it (`udfs.kafka.placement`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED, Finding
from udfs.kafka.placement import place_rack_unaware
from udfs.kafka.verdicts import Verdict, verdict_of

RULE, ADDED = "assignment_at_creation", "added_partitions"
MOST_BROKERS = 100
"""With more brokers no start is looked for."""


def judge_creation(assignment: Mapping[int, Sequence[int]]) -> Verdict:
    """The replicas of each partition that a topic was created with: distinct brokers, one at least.

    After kafka.admin.AdminUtils.validateTopicCreate (also of assignments that are asked for), and
    org.apache.kafka.controller.ReplicationControlManager.validateManualPartitionAssignment (KRaft). Both also demand as
    many for each partition, but whoever writes the znode himself is not asked.
    """
    expected = "distinct replicas"
    for partition, replicas in sorted(assignment.items()):
        if not _are_distinct(replicas):
            return _verdict(VIOLATED, expected, f"{list(replicas)} for partition {partition}")
    sizes = sorted({len(replicas) for replicas in assignment.values()})
    count = f"{len(assignment)} partition{'s' if len(assignment) > 1 else ''} of {' or '.join(map(str, sizes))}"
    return _verdict(HOLDS, expected, f"{count}, {_placement(assignment)}")


def judge_addition(
    partition: int, replicas: Sequence[int], factors: Collection[int], *, knows_factors: bool, is_kraft: bool
) -> Verdict:
    """The replicas of a partition that was added to a topic: distinct brokers, as many as partition 0 has.

    `factors`: how many that had at some time, as far as known; `knows_factors`: whether that is all of its time. After
    kafka.admin.AdminUtils.addPartitions (0.8.0), kafka.zk.AdminZkClient.addPartitions (1.1 on) and
    ReplicationControlManager.createPartitions (KRaft): they take the replication factor from partition 0, and refuse
    another that is asked for. With ZooKeeper another program may write the assignment by itself.
    """
    expected = "distinct replicas, as many as partition 0 has"
    actual = f"{list(replicas)} for partition {partition}, {' or '.join(map(str, sorted(factors)))} for partition 0"
    missing: tuple[str, ...] = ()
    if not _are_distinct(replicas):
        verdict, actual = VIOLATED, f"{list(replicas)} for partition {partition}"
    elif len(replicas) in factors:
        verdict, actual = HOLDS, f"{list(replicas)} for partition {partition}"
    elif not factors or not knows_factors:
        verdict, missing = UNKNOWN, ("the assignment of partition 0",)
    elif is_kraft:
        verdict = VIOLATED
    else:
        verdict, missing = UNKNOWN, ("who wrote the assignment",)
    return verdict_of(Finding(ADDED, verdict, 0, expected, "" if verdict == UNKNOWN else actual, missing))


def _are_distinct(replicas: Sequence[int]) -> bool:
    """Whether there are any replicas, each another broker."""
    return bool(replicas) and len({*replicas}) == len(replicas) and min(replicas) >= 0


def _placement(assignment: Mapping[int, Sequence[int]]) -> str:
    """Whether Kafka's placement without racks explains an assignment, with the brokers that are in it."""
    brokers = sorted({broker for replicas in assignment.values() for broker in replicas})
    partitions, factor = len(assignment), len(next(iter(assignment.values())))
    is_even = len({len(replicas) for replicas in assignment.values()}) == 1
    if is_even and sorted(assignment) == list(range(partitions)) and len(brokers) <= MOST_BROKERS:
        start = brokers.index(assignment[0][0])
        for shift in range(max(1, len(brokers) - 1)):
            placed = place_rack_unaware(brokers, partitions, factor, start, shift)
            if all(placed[partition] == tuple(replicas) for partition, replicas in assignment.items()):
                return f"placed in turn from broker {brokers[start]} on"
    return "by racks, by another order of the brokers, or as asked for"


def _verdict(verdict: str, expected: str, actual: str) -> Verdict:
    return verdict_of(Finding(RULE, verdict, 0, expected, actual))
