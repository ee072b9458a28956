"""Lines that show leader epochs, and what leaders knew in them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.epoch_bounds import to_added_replicas, to_assignments_told, to_epoch_bounds
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.spark import FLAG, IDS, INT, LONG, TEXT, TIME, struct

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

# of node 1 what it knows itself, of node 9 what a controller writes and reads
SHOWING = """
topic     | at       | node_id | event_type                           | leader | leader_epoch | isr | fields
stale     | 10:00:00 | 1       | leader_and_isr_stale_leader_epoch    |        | 3            |     | current_leader_epoch=4
begun     | 10:00:00 | 1       | leader_epoch_started                 |        | 5            |     |
follows   | 10:00:00 | 1       | partition_follower_epoch_started     | 2      | 5            |     |
# it does not say which one; a node that prints the leader epochs that it begins (0.11 on) has done so already
skipped   | 10:00:00 | 5       | become_leader_skipped_already_leader |        |              |     |
printed   | 10:00:00 | 1       | become_leader_skipped_already_leader |        |              |     |
removed   | 10:00:00 | 9       | controller_isr_removed               | 2      | 6            | 3,2 |
raised    | 10:00:00 | 9       | leader_epoch_updated                 |        | 7            |     |
read      | 10:00:00 | 9       | controller_isr_removal_not_in_isr    | 2      |              | 2   |
triggered | 10:00:00 | 9       | preferred_election_triggered         |        |              |     | current_leader=2
completed | 10:00:00 | 9       | preferred_election_completed         | 3      |              |     |
# a log has a record of it, of whatever leader
recorded  | 10:00:00 | 1       | leader_epoch_cached                  |        | 5            |     |
# nobody leads; and what any other line has
nobody    | 10:00:00 | 9       | controller_isr_removal_not_in_isr    | -1     |              | 2   |
cached    | 10:00:00 | 1       | metadata_cache_updated               | 2      | 6            | 2   |
"""


# a reassignment of orders-1, whose controller raises the leader epoch at once; of orders-2 another line comes first
ASSIGNMENTS = """
topic  | partition | at       | node_id | line | event_type                      | leader | leader_epoch | replicas
orders | 1         | 10:00:01 | 9       | 11   | reassignment_assignment_updated |        |              | 2,3,4
orders | 2         | 10:00:01 | 9       | 12   | reassignment_assignment_updated |        |              | 2,3,4
orders | 2         | 10:00:01 | 9       | 13   | controller_isr_removed          | 2      | 6            |
orders | 2         | 10:00:01 | 9       | 14   | leader_epoch_updated            |        | 7            |
orders | 1         | 10:00:02 | 9       | 15   | leader_epoch_updated            |        | 5            |
orders | 1         | 10:00:03 | 9       | 16   | reassignment_assignment_updated |        |              | 4,5
"""


def test_assignments_and_when_leaders_learn_of_them(frame: Frame, same: Same) -> None:
    states = [{"topic": "orders", "partition": 1, "replicas": [2, 3]}, {"topic": "orders", "partition": 2}]
    created = frame(EVENTS, "at | node_id | line | event_type\n10:00:00 | 9 | 10 | topics_changed")
    listed = F.from_json(F.lit(json.dumps(states)), EVENTS.schema["partitions"].dataType.simpleString())
    events = created.withColumn("partitions", listed).unionByName(frame(EVENTS, ASSIGNMENTS))
    same(
        to_assignments_told(events),
        """topic  | partition | at       | node_id | line | replicas | is_new | shown_epoch
           orders | 1         | 10:00:00 | 9       | 10   | 2,3      | true   |
           orders | 1         | 10:00:01 | 9       | 11   | 2,3,4    | false  | 5
           orders | 2         | 10:00:01 | 9       | 12   | 2,3,4    | false  |
           orders | 1         | 10:00:03 | 9       | 16   | 4,5      | false  |""",
    )


TOLD_ROWS = struct(
    cluster=TEXT, topic=TEXT, topic_id=TEXT, at=TIME, node_id=INT, file_id=TEXT, line=LONG, is_new=FLAG, replicas=IDS,
    shown_epoch=INT,
)  # fmt: skip
TOLD = """
topic    | at       | line | is_new | replicas | shown_epoch
added    | 10:00:00 | 1    | true   | 1,2      |
added    | 10:00:05 | 2    | false  | 1,2,3,4  | 5
# 3 was there already: a leader may have added it before; of 5 no leader epoch is known
added    | 10:00:09 | 3    | false  | 3,5      |
again    | 10:00:00 | 1    | true   | 1,3      |
again    | 10:00:05 | 2    | false  | 1,2      | 5
again    | 10:00:09 | 3    | false  | 1,2,3    | 7
# nobody knows which replicas it had first
unknown  | 10:00:05 | 2    | false  | 1,2      | 5
# the log of a controller in between is missing
unlogged | 10:00:00 | 1    | true   | 1        |
unlogged | 10:02:00 | 2    | false  | 1,2      | 5
"""


def test_replicas_of_which_no_leader_knew_before(frame: Frame, same: Same) -> None:
    runs = frame(LOG_COVERAGE, "since | until\n10:00:00 | 10:01:00\n10:01:30 | 10:03:00").groupBy("cluster")
    same(
        to_added_replicas(
            frame(TOLD_ROWS, TOLD).withColumns({"partition": F.lit(0), "incarnation": F.lit(0)}),
            runs.agg(F.array_sort(F.collect_list(F.struct("since", "until"))).alias("runs")),
        ),
        """topic | at       | line | shown_epoch | adds | is_shown
           added | 10:00:05 | 2    | 5           | 3    | true
           added | 10:00:05 | 2    | 5           | 4    | true
           again | 10:00:05 | 2    | 5           | 2    | true""",
    )


def test_lines_that_show_leader_epochs(frame: Frame, same: Same) -> None:
    same(
        to_epoch_bounds(frame(EVENTS, SHOWING)),
        """topic     | node_id | shown_epoch | leader | isr | is_written | is_known | is_read | is_shown | keeps_leader
           stale     | 1       | 4           |        |     | false      | true     | false   | true | false
           begun     | 1       | 5           | 1      |     | false      | true     | false   | true | false
           follows   | 1       | 5           |        |     | false      | true     | false   | true | false
           recorded  | 1       | 5           |        |     | false      | false    | false   | true | false
           skipped   | 5       |             | 5      |     | false      | true     | false   | true | false
           removed   | 9       | 6           | 2      | 2,3 | true       | false    | false   | true | true
           raised    | 9       | 7           |        |     | true       | false    | false   | true | true
           read      | 9       |             | 2      |     | false      | false    | true    | true | false
           triggered | 9       |             | 2      |     | false      | false    | false   | true | false
           completed | 9       |             | 3      |     | false      | false    | false   | true | false""",
    )


def test_followers_show_the_leader_epoch_that_they_fetch_in(frame: Frame, same: Same) -> None:
    """Of payments-1 the line does not say it (until 2.0); from itself a broker copies to another directory."""
    partitions = [{"topic": "orders", "partition": 2, "leader_epoch": 7}, {"topic": "payments", "partition": 1}]
    lines = """at       | node_id | line | event_type    | fields
               10:00:00 | 1       | 4    | fetcher_added | source_broker=3
               10:00:01 | 1       | 5    | fetcher_added | source_broker=1"""
    listed = F.from_json(F.lit(json.dumps(partitions)), EVENTS.schema["partitions"].dataType.simpleString())
    same(
        to_epoch_bounds(frame(EVENTS, lines).withColumn("partitions", listed)),
        """topic  | partition | node_id | line | shown_epoch | leader | is_written | is_known | is_read | is_shown
           orders | 2         | 1       | 4    | 7           | 3      | false      | true     | false   | true""",
    )
