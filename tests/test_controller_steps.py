"""What active KRaft controllers did, from events written by hand; a case is a cluster of its own, all are one frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.states.controller_steps import to_controller_steps
from schemas.ingest import EVENTS
from schemas.timelines import CONTROLLER_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

TERMS = """
cluster   | controller_id | controller_epoch | since    | active_since | until    | ended_by
alone     | 100           | 2                | 10:00:00 | 10:00:00     | 10:01:00 | replaced
committed | 100           | 2                | 10:00:00 | 10:00:00     | 10:01:00 | replaced
again     | 100           | 2                | 10:00:00 | 10:00:00     | 10:01:00 | replaced
again     | 101           | 3                | 10:01:00 | 10:01:00     |          |
taken     | 100           | 2                | 10:00:00 | 10:00:00     | 10:01:00 | replaced
taken     | 101           | 3                | 10:01:00 | 10:01:02     |          |
starting  | 100           | 2                | 10:00:00 | 10:00:00     | 10:01:00 | replaced
counts    | 100           | 2                | 10:00:00 | 10:00:00     |          |
"""
LATE = """
cluster   | at           | node_id | event_type                       | fields
alone     | 10:00:30     | 100     | kraft_broker_session_timeout     | broker=1
alone     | 10:00:59     | 100     | kraft_broker_unfence_granted     | broker=1
alone     | 10:01:05     | 101     | kraft_broker_fenced              | broker=1
committed | 10:00:59     | 100     | kraft_broker_unfence_granted     | broker=1
committed | 10:01:03     | 102     | kraft_broker_unfenced            | broker=1
again     | 10:00:59     | 100     | kraft_broker_unfence_granted     | broker=1
again     | 10:01:02     | 101     | kraft_broker_unfence_granted     | broker=1
again     | 10:01:03     | 102     | kraft_broker_unfenced            | broker=1
taken     | 10:00:59     | 100     | kraft_broker_unfence_granted     | broker=1
taken     | 10:01:02     | 101     | kraft_broker_unfenced            | broker=1
starting  | 10:00:59     | 100     | kraft_broker_unfence_granted     | broker=1
starting  | 10:01:02     | 102     | kraft_controller_created         |
starting  | 10:01:03     | 102     | kraft_broker_unfenced            | broker=1
"""


def test_a_late_step_is_sure_once_another_controller_replays_its_record(frame: Frame, same: Same) -> None:
    """100 unfences broker 1 a second before another takes its place.

    Nobody replays it (`alone`; a record of another kind shows nothing); 102 does, which was there all the time
    (`committed`); 101 does as it becomes active (`taken`);
    what 102 replays may be what 101 wrote after it (`again`), or be of any time, as 102 has just started
    (`starting`).
    """
    same(
        to_controller_steps(frame(EVENTS, LATE), frame(CONTROLLER_TIMELINE, TERMS)).select(
            "cluster", "at", "kind", "is_sure"
        ),
        """
cluster   | at       | kind     | is_sure
alone     | 10:00:30 | fenced   | true
alone     | 10:00:59 | unfenced | false
committed | 10:00:59 | unfenced | true
again     | 10:00:59 | unfenced | false
again     | 10:01:02 | unfenced | true
taken     | 10:00:59 | unfenced | true
starting  | 10:00:59 | unfenced | false
""",
    )


def test_a_late_record_of_a_partition_is_sure_once_another_controller_replays_it(frame: Frame, same: Same) -> None:
    """100 moves an assignment a second before another takes its place; of `alone` 102 replays another record."""
    lines = """
cluster   | at       | node_id | topic | partition | message
alone     | 10:00:59 | 100     | a     | 0         | [100] Replayed PartitionChangeRecord(isr=[1])
alone     | 10:01:03 | 102     | a     | 0         | [102] Replayed PartitionChangeRecord(isr=[2])
committed | 10:00:59 | 100     | a     | 0         | [100] Replayed PartitionChangeRecord(isr=[1])
committed | 10:01:03 | 102     | a     | 1         | [102] Replayed PartitionChangeRecord(isr=[1])
committed | 10:01:03 | 102     | a     | 0         | [102] Replayed PartitionChangeRecord(isr=[1])
"""
    same(
        to_controller_steps(
            frame(EVENTS, lines).withColumn("event_type", F.lit("kraft_partition_assignment_changed")),
            frame(CONTROLLER_TIMELINE, TERMS),
        ).select("cluster", "at", "is_sure"),
        """
cluster   | at       | is_sure
alone     | 10:00:59 | false
committed | 10:00:59 | true
""",
    )


def test_counts_are_of_the_step_before_them(frame: Frame, same: Same) -> None:
    """Two brokers are fenced within 50 ms, and the line behind each says how many partitions changed; a third one, of
    which no such line is behind, changed none. Of a record without its request nobody knows which count is its own."""
    lines = """
cluster | at           | node_id | event_type                   | fields
counts  | 10:00:30     | 100     | kraft_broker_session_timeout | broker=1
counts  | 10:00:30     | 100     | kraft_partitions_changing    | context=handleBrokerFenced; partition_count=16
counts  | 10:00:30.003 | 100     | kraft_broker_session_timeout | broker=2
counts  | 10:00:30.004 | 100     | kraft_partitions_changing    | context=handleBrokerFenced; partition_count=13
counts  | 10:00:30.005 | 100     | kraft_broker_session_timeout | broker=3
counts  | 10:00:40     | 100     | kraft_broker_session_timeout | broker=4
counts  | 10:00:40.001 | 100     | kraft_partitions_changing    | context=handleBrokerFenced; partition_count=7
counts  | 10:00:40.002 | 100     | kraft_broker_fenced          | broker=5
# the first elections of a process take their time; a count that is far behind is of something else
counts  | 10:00:50     | 100     | kraft_broker_unfence_granted | broker=6
counts  | 10:00:50.053 | 100     | kraft_partitions_changing    | context=handleBrokerUnfenced; partition_count=3
counts  | 10:00:55     | 100     | kraft_broker_unfence_granted | broker=7
counts  | 10:00:57     | 100     | kraft_partitions_changing    | context=handleBrokerUnfenced; partition_count=9
"""
    steps = to_controller_steps(frame(EVENTS, lines), frame(CONTROLLER_TIMELINE, TERMS))
    same(
        steps.select("broker", "changed"),
        """
broker | changed
1      | 16
2      | 13
3      | 0
4      |
5      |
6      | 3
7      | 0
""",
    )
