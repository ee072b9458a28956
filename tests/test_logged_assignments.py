"""Assignments of new partitions, by lines of ZooKeeper's controllers as they are read from real logs."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from jobs.timelines.logged_assignments import to_new_assignments
from schemas.ingest import EVENTS
from udfs.rules.parsing import read_message

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import Frame, Same

AT = datetime(2026, 11, 21, 10)
CONTROLLER = "kafka.controller.KafkaController"
LISTS = {  # release: what it logs at INFO of a topic with two partitions, of which the second has another order
    "0.10": (
        "kafka.controller.PartitionStateMachine$TopicChangeListener",
        "[TopicChangeListener on Controller 1]: New topics: [Set(a)], deleted topics: [Set()], new partition replica "
        "assignment [Map([a,1] -> List(2, 0), [a,0] -> List(0, 1))]",
    ),
    "2.2": (
        CONTROLLER,
        "[Controller id=2] New topics: [Set(a)], deleted topics: [Set()], new partition replica assignment "
        "[Map(a-0 -> Vector(0, 1), a-1 -> Vector(2, 0))]",
    ),
    "2.6": (
        CONTROLLER,
        "[Controller id=2] New topics: [Set(a)], deleted topics: [HashSet()], new partition replica assignment "
        "[HashMap(a-0 -> ReplicaAssignment(replicas=0,1, addingReplicas=, removingReplicas=), "
        "a-1 -> ReplicaAssignment(replicas=2,0, addingReplicas=, removingReplicas=))]",
    ),
    "added": (
        CONTROLLER,
        "[Controller id=1] New partitions to be added Map(a-0 -> List(0, 1), a-1 -> List(2, 0))",
    ),
}
EXPECTED = """
cluster | at       | topic | partition | replicas
0.10    | 10:00:00 | a     | 0         | 0,1
0.10    | 10:00:00 | a     | 1         | 2,0
2.2     | 10:00:00 | a     | 0         | 0,1
2.2     | 10:00:00 | a     | 1         | 2,0
2.6     | 10:00:00 | a     | 0         | 0,1
2.6     | 10:00:00 | a     | 1         | 2,0
added   | 10:00:00 | a     | 0         | 0,1
added   | 10:00:00 | a     | 1         | 2,0
trace   | 10:00:01 | a     | 3         | 4,2
"""
OTHERS = """
cluster | at       | topic | partition | event_type             | fields                     | replicas
trace   | 10:00:01 | a     | 3         | partition_state_change | to_state=NewPartition      | 4,2
moved   | 10:00:01 | a     | 4         | partition_state_change | to_state=OnlinePartition   | 4,2
unknown | 10:00:01 | a     | 5         | partition_state_change | to_state=NewPartition      |
"""
EMPTY = "[Controller id=0] New topics: [Set()], deleted topics: [Set()], new partition replica assignment [Map()]"


def test_assignments_of_new_partitions(spark: SparkSession, frame: Frame, same: Same) -> None:
    """Each release lists those of a new topic in a line of its own form; an empty list has none."""
    lists = []
    for cluster, (logger, message) in {**LISTS, "none": (CONTROLLER, EMPTY)}.items():
        event = read_message(logger, message.encode())
        assert event is not None
        row = {"cluster": cluster, "at": AT, "event_type": event["event_type"], "partitions": event["partitions"]}
        lists.append(tuple(row.get(name) for name in EVENTS.schema.names))
    events = frame(EVENTS, OTHERS).unionByName(spark.createDataFrame(lists, EVENTS.schema))
    same(to_new_assignments(events), EXPECTED)
