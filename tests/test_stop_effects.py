"""What followed from stops of nodes, and the lines that show it, from rows written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.node_stops import NODE_STOPS
from jobs.findings.outage_ends import with_ends
from jobs.findings.stop_effects import replicas_of_stops, term_ends
from schemas.findings import ELECTIONS, ISR_CHANGES, OFFLINE_PARTITIONS
from schemas.ingest import EVENTS
from schemas.timelines import CONTROLLER_TIMELINE, TOPIC_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

TERMS = """
controller_id | controller_epoch | mode      | since        | active_since | until        | evidence
# 4 is replaced by 2, which resigns and is elected anew 2 ms later, and then resigns for good
4             | 3                | zookeeper | 10:00:00     | 10:00:00.1   | 10:01:00     | 4@f:4
2             | 4                | zookeeper | 10:01:00     | 10:01:00.1   | 10:02:00     | 2@f:6
2             | 5                | zookeeper | 10:02:00.002 | 10:02:00.1   | 10:03:00     | 2@f:9,4@f:8
"""
TERM_ENDS = """
node | count | at       | other | started_at   | until      | how      | evidence
4    | 3     | 10:01:00 | 2     | 10:01:00     | 10:01:00.1 |          | 2@f:6
2    | 4     | 10:02:00 | 2     | 10:02:00.002 | 10:02:00.1 | lived_on | 2@f:9
2    | 5     | 10:03:00 |       |              |            | lived_on | 2@f:12
"""


def test_the_end_of_a_term_is_shown_by_the_election_of_the_next_one(frame: Frame, same: Same) -> None:
    """The last term has the line of its resignation, line 12, not that of its own election."""
    terms, lines = frame(CONTROLLER_TIMELINE, TERMS), frame(EVENTS, "at")
    steps = [
        F.struct("until", F.lit(step), "controller_id", F.lit("f"), F.lit(line))
        for step, line in (("resigning", 11), ("resigned", 12))
    ]
    resignation = F.array(*steps).cast(CONTROLLER_TIMELINE.schema["resignation"].dataType)
    none = frame(NODE_STOPS, "node_id | role | since")
    resigned = F.when(F.col("controller_id") == 2, resignation)
    same(term_ends(terms.withColumn("resignation", resigned), none, lines), TERM_ENDS)
    # a row that was written without has no line
    assert [row["evidence"] for row in term_ends(terms.where("controller_epoch = 5"), none, lines).collect()] == [None]


def test_a_term_that_ends_as_the_cluster_is_created_anew_is_replaced_by_nobody(frame: Frame, same: Same) -> None:
    terms = """
    cluster_incarnation | controller_id | controller_epoch | since    | active_since | until    | ended_by | evidence
    0                   | 1             | 7                | 10:00:00 | 10:00:00.1   | 10:01:00 | replaced | 1@f:4
    0                   | 1             | 8                | 10:01:00 | 10:01:00.1   | 10:02:00 | replaced | 1@f:6
    1                   | 1             | 1                | 10:02:01 | 10:02:01.1   |          |          | 1@f:9
    """
    none = frame(NODE_STOPS, "node_id | role | since")
    ends = """
    node | count | at       | evidence
    1    | 7     | 10:01:00 | 1@f:6
    """
    same(term_ends(frame(CONTROLLER_TIMELINE, terms), none, frame(EVENTS, "at")), ends)


ALL_ENDED = """
controller_id | controller_epoch | mode  | since    | active_since | until
# 1 logs on, 2 is never heard of again, 3 starts anew after eleven minutes, 4 after three, without a line before
1             | 1                | kraft | 10:00:00 | 10:00:01     | 10:01:00
2             | 2                | kraft | 10:01:00 | 10:01:01     | 10:02:00
3             | 3                | kraft | 10:02:00 | 10:02:01     | 10:03:00
4             | 4                | kraft | 10:03:00 | 10:03:01     | 10:04:00
5             | 5                | kraft | 10:04:00 | 10:04:01     |
"""
OWN_LINES = """
node_id | at         | event_type
1       | 10:00:59   | kraft_fault
1       | 10:05:00   | kraft_fault
1       | 10:06:00   | raft_thread_starting
# by its own clock, that is 1 s ahead
2       | 10:02:00.9 | kraft_fault
3       | 10:14:00   | raft_thread_starting
4       | 10:06:58   | kraft_fault
4       | 10:07:00   | raft_thread_starting
"""
HOW = """
node | how
1    | lived_on
2    |
3    |
4    |
"""


def test_a_process_lived_on_after_its_term_if_it_logs_on_without_a_start(frame: Frame, same: Same) -> None:
    none = frame(NODE_STOPS, "node_id | role | since")
    same(term_ends(frame(CONTROLLER_TIMELINE, ALL_ENDED), none, frame(EVENTS, OWN_LINES)), HOW)


STOPS = """
node_id | role   | since    | began_after | how       | noticed_at | until
# 1 is shut down at 10:00:00, 2 is found gone at 10:01:00, 3's crash is seen as it starts anew at 10:02:00
1       | broker | 10:00:00 | 09:59:50    | shut_down | 10:00:02   |
2       | broker | 10:01:00 | 10:00:50    | crashed   | 10:01:00   |
3       | broker | 10:02:00 | 10:01:45    | crashed   |            | 10:02:01
"""
MOVES = """
topic | partition | at         | succeeded | previous_leader | leader | strategy            | isr | evidence
# it is shut down, and gives up what it leads; 12 s before, and right before, preferred leaders were elected
p     | 0         | 09:59:48   | true      | 1               | 5      |                     | 1,5 | 9@f:1
p     | 1         | 09:59:59   | true      | 1               | 5      |                     | 1,5 | 9@f:2
p     | 2         | 10:00:01   | true      | 1               | 5      |                     | 5   | 9@f:3
p     | 3         | 10:00:01.5 | true      | 1               | 5      | controlled_shutdown | 5   | 9@f:4
# nobody elects others before 2 is found gone, though its last line was 10 s before
q     | 0         | 10:00:52   | true      | 2               | 5      |                     | 5   | 9@f:5
q     | 1         | 10:01:00   | true      | 2               | 5      |                     | 5   | 9@f:6
q     | 2         | 10:01:00   | true      | 2               | 5      | preferred           | 5   | 9@f:7
# of 3 nobody knows when it went
r     | 0         | 10:01:47   | true      | 3               | 5      | offline             |     | 9@f:8
r     | 1         | 10:01:30   | true      | 3               | 5      | offline             |     | 9@f:9
"""
MOVED = """
node | kind  | count | at       | evidence
1    | moved | 2     | 10:00:01 | 9@f:3
2    | moved | 1     | 10:01:00 | 9@f:6
3    | moved | 1     | 10:01:47 | 9@f:8
"""


def test_leaders_that_moved_because_a_broker_stopped(frame: Frame, same: Same) -> None:
    rows = replicas_of_stops(frame(ISR_CHANGES, "topic | partition"), frame(ELECTIONS, MOVES), frame(NODE_STOPS, STOPS))
    same(rows.withColumn("node", F.split("incident", " ")[1].cast("int")), MOVED)


CUT_OFF_AND_SHUT_DOWN = """
node_id | role   | since    | how       | noticed_at | followed_at | until
4       | broker | 10:03:00 | cut_off   | 10:03:00   | 10:08:00    | 10:08:25
4       | broker | 10:08:00 | shut_down |            |             | 10:08:25
"""
ISR_MOVES = """
topic | partition | at       | kind   | removed | added | evidence
# dropped as it is cut off, and as it shuts down
s     | 0         | 10:03:10 | shrink | 4       |       | 9@f:1
s     | 1         | 10:08:05 | shrink | 4       |       | 9@f:2
s     | 0         | 10:08:30 | expand |         | 4     | 9@f:3
s     | 1         | 10:08:31 | expand |         | 4     | 9@f:4
"""
OF_BOTH = """
since    | kind       | count | at       | evidence
10:03:00 | out_of_isr | 1     | 10:03:10 | 9@f:1
10:03:00 | rejoined   | 1     | 10:08:30 | 9@f:3
10:08:00 | out_of_isr | 1     | 10:08:05 | 9@f:2
10:08:00 | rejoined   | 1     | 10:08:31 | 9@f:4
"""


def test_a_broker_that_is_shut_down_before_it_is_back_joins_isrs_after_both(frame: Frame, same: Same) -> None:
    stops = frame(NODE_STOPS, CUT_OFF_AND_SHUT_DOWN)
    rows = replicas_of_stops(frame(ISR_CHANGES, ISR_MOVES), frame(ELECTIONS, "topic | partition"), stops)
    begin = F.timestamp_micros(F.split("incident", " ")[2].cast("long"))
    same(rows.withColumn("since", begin), OF_BOTH)


LOST = """
topic | partition | incarnation | since    | ended_before | healed_by      | evidence
back  | 0         | 0           | 10:00:00 | 10:00:05     | broker_return  | 9@f:1
gone  | 0         | 0           | 10:00:00 | 10:00:06     | topic_deletion | 9@f:1
other | 0         | 0           | 10:00:00 | 10:00:07     | clean_election | 9@f:1
open  | 0         | 0           | 10:00:00 |              |                | 9@f:1
"""
ELECTED = """
topic | partition | incarnation | at       | succeeded | leader | leader_epoch | evidence
back  | 0         | 0           | 10:00:01 | false     |        |              | 9@f:2
back  | 0         | 0           | 10:00:05 | true      | 1      | 3            | 9@f:3,1@g:1
open  | 0         | 0           | 09:00:00 | true      | 1      | 0            | 9@f:4
"""
TOPICS = """
topic | incarnation | until    | evidence
gone  | 0           | 10:00:06 | 9@f:5,9@f:6
back  | 0           |          | 9@f:5
"""
ENDS = """
topic | end_evidence
back  | 9@f:3
gone  | 9@f:6
other |
open  |
"""


def test_what_ended_an_outage_is_shown_by_its_own_line(frame: Frame, same: Same) -> None:
    """The lines of the outage are those of its begin; of `other` no election is known."""
    rows = with_ends(frame(OFFLINE_PARTITIONS, LOST), frame(ELECTIONS, ELECTED), frame(TOPIC_TIMELINE, TOPICS))
    same(rows, ENDS)
