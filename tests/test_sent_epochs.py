"""Which leader epochs had not been written yet when a controller read a state, or began its term; events by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.epoch_bounds import to_epoch_bounds
from jobs.timelines.sent_epochs import to_sent_epochs, with_limits
from schemas.ingest import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame, Same

# controller 9 begins its terms 3 and 5; of orders-0 it reads three times who leads
LINES = """
topic  | partition | at       | node_id | line | event_type                        | controller_id | controller_epoch | leader | leader_epoch | fields
       |           | 10:00:00 | 9       | 10   | controller_epoch_incremented      | 9             | 3                |        |              |
orders | 0         | 10:00:10 | 9       | 11   | controller_isr_removal_not_in_isr |               |                  | 2      |              |
orders | 0         | 10:00:20 | 9       | 12   | preferred_election_completed      |               |                  | 2      |              |
orders | 0         | 10:00:40 | 9       | 20   | controller_isr_removal_not_in_isr |               |                  | 3      |              |
orders | 0         | 10:01:00 | 9       | 30   | controller_isr_removal_not_in_isr |               |                  | 3      |              |
       |           | 10:02:00 | 9       | 40   | controller_epoch_incremented      | 9             | 5                |        |              |
# broker 1 ignores what controller 9 sent it in its terms, and one of controller 8, of which no term is known
orders | 0         | 10:03:00 | 1       | 50   | leader_and_isr_stale_leader_epoch | 9             | 3                |        | 7            | current_leader_epoch=9
orders | 0         | 10:03:00 | 1       | 51   | leader_and_isr_stale_leader_epoch | 9             | 5                |        | 9            | current_leader_epoch=9
orders | 0         | 10:03:00 | 1       | 52   | leader_and_isr_stale_leader_epoch | 8             | 4                |        | 2            | current_leader_epoch=9
"""  # noqa: E501

# requests that controller 9 does not send: (time, line, leader epoch of orders-0)
DROPPED = (("10:00:05", 9, 4), ("10:00:30", 15, 6), ("10:00:50", 25, 8))


def events(frame: Frame) -> DataFrame:
    """LINES and DROPPED, the latter of term 3."""
    lines = frame(EVENTS, LINES)
    for at, line, epoch in DROPPED:
        kind = "controller_request_dropped_broker_offline"
        one = frame(EVENTS, f"at | node_id | line | event_type | controller_epoch\n{at} | 9 | {line} | {kind} | 3")
        state = json.dumps([{"topic": "orders", "partition": 0, "leader_epoch": epoch}, {"topic": "payments"}])
        listed = F.from_json(F.lit(state), EVENTS.schema["partitions"].dataType.simpleString())
        lines = lines.unionByName(one.withColumn("partitions", listed))
    return lines


def test_leader_epochs_that_controllers_send(frame: Frame, same: Same) -> None:
    same(
        to_sent_epochs(events(frame)),
        """topic  | partition | at       | node_id | line | controller_epoch | sent_epoch | is_own
           orders | 0         | 10:00:05 | 9       | 9    | 3                | 4          | true
           orders | 0         | 10:00:30 | 9       | 15   | 3                | 6          | true
           orders | 0         | 10:00:50 | 9       | 25   | 3                | 8          | true
           orders | 0         | 10:03:00 | 9       | 50   | 3                | 7          | false
           orders | 0         | 10:03:00 | 9       | 51   | 5                | 9          | false
           orders | 0         | 10:03:00 | 8       | 52   | 4                | 2          | false""",
    )


def test_what_a_controller_sends_limits_what_it_had_read(frame: Frame, same: Same) -> None:
    """What brokers print of it limits only what the term began with: when it was sent nobody knows. What
    `preferred_election_completed` prints the controller had in mind, and ZooKeeper may have been ahead of that."""
    lines, first = events(frame), {"incarnation": F.lit(0)}
    rows = with_limits(to_epoch_bounds(lines).withColumns(first), to_sent_epochs(lines).withColumns(first), lines)
    same(
        rows.where("node_id = 9").withColumn("by", F.col("limit_line.line")),
        """topic  | partition | at       | line | leader | is_shown | limit | by
           orders | 0         | 10:00:00 | 10   |        | true     | 4     | 9
           orders | 0         | 10:00:10 | 11   | 2      | true     | 6     | 15
           orders | 0         | 10:00:20 | 12   | 2      | true     |       |
           orders | 0         | 10:00:40 | 20   | 3      | true     | 8     | 25
           orders | 0         | 10:01:00 | 30   | 3      | true     |       |
           orders | 0         | 10:02:00 | 40   |        | true     | 9     | 51""",
    )
