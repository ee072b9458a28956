"""What controllers were busy with, from lines written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from jobs.findings.controller_activity import to_controller_activity
from schemas.ingest import EVENTS
from udfs.kafka.controller_states import CONTROLLER_STATES

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

LINES = """
node_id | at           | logger                           | event_type                       | fields
# a term begins: 40 ms
1       | 10:00:00     | kafka.controller.KafkaController | controller_elected               |
1       | 10:00:00.03  | kafka.controller.KafkaController | controller_failover_step         |
1       | 10:00:00.04  | kafka.controller.KafkaController | controller_ready                 |
# two changes of the brokers, of 10 ms and of one line; what it does about a deletion meanwhile is no deletion
1       | 10:10:00     | kafka.controller.KafkaController | broker_set_changed               |
1       | 10:10:00.005 | kafka.controller.KafkaController | topic_deletion_restart_on_broker |
1       | 10:10:00.01  | kafka.controller.KafkaController | broker_failure                   |
1       | 10:20:00     | kafka.controller.KafkaController | broker_set_changed               |
# one request for two partitions, then, 2 s later, another one
1       | 11:00:00     | kafka.controller.KafkaController | reassignment_assignment_updating |
1       | 11:00:00.1   | kafka.controller.KafkaController | reassignment_caught_up           |
1       | 11:00:00.2   | kafka.controller.KafkaController | reassignment_assignment_updating |
1       | 11:00:02.2   | kafka.controller.KafkaController | reassignment_assignment_updating |
# until 2.3 it begins with another line, and the state has another name
1       | 12:00:00     | kafka.controller.KafkaController | reassignment_started             |
1       | 12:00:00.1   | kafka.controller.KafkaController | reassignment_caught_up           |
# another node's lines are its own; a broker's line about a broker is no controller's
2       | 10:10:00.02  | kafka.controller.KafkaController | broker_failure                   |
3       | 10:10:00.02  | kafka.server.KafkaServer         | broker_set_changed               |
"""
ACTIVITY = """
controller_id | window   | state                      | event | metric                             | count | max_ms
1             | 10:00:00 | ControllerChange           |       | ControllerChangeRateAndTimeMs      | 1     | 40
1             | 10:00:00 | BrokerChange               |       | LeaderElectionRateAndTimeMs        | 2     | 10
1             | 11:00:00 | AlterPartitionReassignment |       | PartitionReassignmentRateAndTimeMs | 2     | 200
1             | 12:00:00 | PartitionReassignment      |       | PartitionReassignmentRateAndTimeMs | 1     | 100
"""


def test_states_of_a_zookeeper_controller(frame: Frame, same: Same) -> None:
    rows = to_controller_activity(frame(EVENTS, LINES)).persist()
    same(rows.withColumn("max_ms", F.col("max_ms").cast("int")), ACTIVITY)
    [broker_changes] = rows.where("state = 'BrokerChange'").collect()
    assert (broker_changes["mean_ms"], broker_changes["rate"]) == (5.0, pytest.approx(2 / 3600))
    assert [line["line"] for line in broker_changes["evidence"]] == [4]


QUORUM = """
node_id | at       | event_type               | fields
100     | 10:00:00 | kraft_event_processed    | event=alterPartition; elapsed_us=3000
100     | 10:00:01 | kraft_event_processed    | event=alterPartition; elapsed_us=1000
100     | 10:00:02 | kraft_event_processed    | event=registerBroker; elapsed_us=7000
101     | 10:01:00 | kraft_performance_report | event_count=3; average_ms=2.0; slowest_ms=9.5; event=registerBroker
101     | 10:02:00 | kraft_performance_report | event_count=1; average_ms=6.0; slowest_ms=6.0; event=alterPartition
# 0.1 + 0.2 + 0.3 in another order are 0.6 or 0.6000000000000001
102     | 10:00:01 | kraft_performance_report | event_count=1; average_ms=0.1; slowest_ms=0.1; event=registerBroker
102     | 10:00:02 | kraft_performance_report | event_count=1; average_ms=0.2; slowest_ms=0.2; event=registerBroker
102     | 10:00:03 | kraft_performance_report | event_count=1; average_ms=0.3; slowest_ms=0.3; event=registerBroker
"""


def test_events_of_a_kraft_controller(frame: Frame) -> None:
    """Each event that is timed, by its name; of reports the mean of all their events."""
    rows = to_controller_activity(frame(EVENTS, QUORUM)).collect()
    figures = {(row["controller_id"], row["event"]): (row["count"], row["mean_ms"], row["max_ms"]) for row in rows}
    assert figures == {
        (100, "alterPartition"): (2, 2.0, 3.0),
        (100, "registerBroker"): (1, 7.0, 7.0),
        (101, None): (4, 3.0, 9.5),
        (102, None): (3, 0.2, 0.3),
    }
    assert {row["state"] for row in rows} == {"QuorumController"}


def test_a_line_opens_one_state() -> None:
    opened_by = [event_type for state in CONTROLLER_STATES for event_type in state.opened_by]
    assert len(opened_by) == len({*opened_by})
