"""States inferred from replicas that a ZooKeeper controller took offline. A removal is written as its time and
replica."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from udfs.reconstruct.zk_inferred import ReplicaOffline, inferred_states

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import Frame, Same


def removals(*offline: tuple[int, int]) -> list[ReplicaOffline]:
    return [ReplicaOffline(at, 0, "f", line, replica, 4) for line, (at, replica) in enumerate(offline, 1)]


BEFORE = (2, 6, 18, [0, 1, 2, 3, 4])  # leader, leader epoch, partition epoch, ISR; first logged at 10
CASES = {  # before, removals, after -> states
    # a reassignment to 2, 3, 4 takes 0 and 1 offline, and only the second is logged (zk-2.4.1, orders-0)
    "up to a logged state that the removals lead to": (
        BEFORE, removals((11, 0), (12, 1)), (2, 8, 20, [2, 3, 4]), [(2, 7, 19, [1, 2, 3, 4]), (2, 8, 20, [2, 3, 4])],
    ),
    "who was not in sync is not written": (
        BEFORE, removals((11, 0), (12, 9), (13, 2)), (-1, 8, 20, [1, 3, 4]),
        [(2, 7, 19, [1, 2, 3, 4]), (-1, 8, 20, [1, 3, 4])],
    ),
    "somebody else wrote, too: nothing is sure": (BEFORE, removals((11, 0), (12, 1)), (2, 9, 22, [2, 3, 4]), []),
    "they lead elsewhere": (BEFORE, removals((11, 0), (12, 3)), (2, 8, 20, [2, 3, 4]), []),
    "no removals": (BEFORE, [], (2, 8, 20, [2, 3, 4]), []),
    # a topic that is being deleted: no line shows what becomes of it (zk-2.4.1, payments-2 and -1)
    "after the last state": (
        (0, 6, 11, [0, 3, 4]), removals((11, 0), (12, 3), (13, 4)), None,
        [(-1, 7, 12, [3, 4]), (-1, 8, 13, [4]), (-1, 9, 14, [4])],
    ),
    # in a deletion all replicas go: without the line of one of them it is not known what the others left
    "after the last state, of which a line is lost": ((0, 6, 11, [0, 3, 4]), removals((11, 0), (13, 4)), None, []),
    "the last one in sync stays, the leader is lost": ((4, 6, 11, [4]), removals((11, 4)), None, [(-1, 7, 12, [4])]),
    "removals before it was logged are in it": ((-1, 8, 13, [4]), removals((8, 3), (9, 4), (11, 1)), None, []),
    "one before that is not in it: clocks differ, nothing is sure": (
        (0, 6, 11, [0, 3, 4]), removals((9, 0), (11, 3)), None, [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_inferred_states(name: str) -> None:
    before, offline, after, expected = CASES[name]
    assert [state[:4] for state in inferred_states(before, 10, offline, after)] == expected


def test_a_state_names_the_removal_that_made_it() -> None:
    offline = removals((11, 0), (12, 9), (13, 3), (14, 4))
    states = inferred_states((0, 6, 11, [0, 3, 4]), 10, offline, None)
    assert [state.made_by for state in states] == [offline[0], offline[2], offline[3]]


def test_spark_and_python_agree(spark: SparkSession) -> None:
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    from udfs.reconstruct.zk_inferred_columns import REPLICA_OFFLINE, ZK_STATE
    from udfs.reconstruct.zk_inferred_columns import inferred_states as on_columns

    schema = T.StructType(
        [
            T.StructField("name", T.StringType()),
            T.StructField("before", ZK_STATE),
            T.StructField("removals", T.ArrayType(REPLICA_OFFLINE)),
            T.StructField("after", ZK_STATE),
        ]
    )
    cases = spark.createDataFrame(
        [(name, before, offline, after) for name, (before, offline, after, _) in CASES.items()], schema
    )
    inferred = on_columns(F.col("before"), F.lit(10), F.col("removals"), F.col("after"))
    for name, states in cases.select("name", inferred).collect():
        before, offline, after, _ = CASES[name]
        expected = [(*state[:4], tuple(state.made_by)) for state in inferred_states(before, 10, offline, after)]
        assert [(*state[:4], tuple(state["made_by"])) for state in states or ()] == expected, name


def test_removals_between_ordered_states(spark: SparkSession, frame: Frame, same: Same) -> None:
    """orders-0 of 2.2.2: its leader's change to [0, 2] prints no partition epoch, then its topic is deleted. a-1-1: the
    removal of 3 was logged before the state that it made, within a millisecond; the next one was made by another."""
    from pyspark.sql import functions as F

    from jobs.timelines.states.columns import ORDERED_STATES
    from jobs.timelines.states.partition_evidence import ZkEvidence
    from jobs.timelines.states.zookeeper import with_ordered_states_of_removals
    from schemas.ingest import EVENTS
    from schemas.timelines import PARTITION_TIMELINE

    states = frame(
        ORDERED_STATES,
        """
history | topic  | partition | ordinal | leader | leader_epoch | partition_epoch | isr | at           | evidence
1       | orders | 0         | 0       | 2      | 3            | 8               | 0,2 | 10:00:00.767 | 2@s:818
1       | orders | 0         | 1       | -1     | 5            | 10              | 0   | 10:00:28     | 2@f:2920
2       | a-1    | 1         | 0       | -1     | 9            | 19              | 3   | 10:00:29.032 | 2@f:4986
2       | a-1    | 1         | 1       | -1     | 10           | 20              | 3   | 10:01:09     | 1@f:4550
""",
    ).withColumn("incarnation", F.lit(0))
    offline = frame(
        EVENTS,
        """
topic  | partition | at           | node_id | line | fields
orders | 0         | 10:00:01.331 | 2       | 1807 | replica=1
orders | 0         | 10:00:01.352 | 2       | 2386 | replica=2
orders | 0         | 10:00:01.358 | 2       | 2402 | replica=0
a-1    | 1         | 10:00:29.032 | 2       | 4971 | replica=3
""",
    ).withColumn("incarnation", F.lit(0))
    none = offline.limit(0)
    coverage = spark.createDataFrame(
        [], "cluster string, leader int, coverage array<struct<covered_since: timestamp, covered_until: timestamp>>"
    )
    follows = with_ordered_states_of_removals(states, coverage, ZkEvidence(offline, none))
    same(
        follows.select(*(name for name in ORDERED_STATES.names if name in PARTITION_TIMELINE.columns), "at"),
        """
topic  | ordinal | leader | leader_epoch | partition_epoch | isr | at           | inferred
orders | 0       | 2      | 3            | 8               | 0,2 | 10:00:00.767 |
orders | 1       | -1     | 4            | 9               | 0   | 10:00:01.352 | true
orders | 2       | -1     | 5            | 10              | 0   | 10:00:01.358 |
a-1    | 0       | -1     | 9            | 19              | 3   | 10:00:29.032 |
a-1    | 1       | -1     | 10           | 20              | 3   | 10:01:09     |
""",
    )
