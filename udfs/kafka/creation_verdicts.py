"""The assignment of a new topic, by the properties that every placement has: plain functions over rows as dicts.

Kafka draws where it starts, so an assignment is not recomputed; but without racks all follows from the start and the
shift, and those show in it (`udfs.kafka.placement`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from udfs.kafka.judgements import HOLDS, VIOLATED, Finding
from udfs.kafka.placement import place_rack_unaware
from udfs.kafka.verdicts import Verdict, verdict_of

RULE = "assignment_at_creation"
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
        if not replicas or len({*replicas}) < len(replicas) or min(replicas) < 0:
            return _verdict(VIOLATED, expected, f"{list(replicas)} for partition {partition}")
    sizes = sorted({len(replicas) for replicas in assignment.values()})
    count = f"{len(assignment)} partition{'s' if len(assignment) > 1 else ''} of {' or '.join(map(str, sizes))}"
    return _verdict(HOLDS, expected, f"{count}, {_placement(assignment)}")


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
