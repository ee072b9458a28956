"""What leaders log of their own ISR; events written by hand, every case a topic of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.epoch_bounds import to_epoch_bounds
from jobs.timelines.leader_lines import (
    to_broken_sessions,
    to_changes_by_leader,
    to_leader_lines,
    to_reported_states,
    with_lost_begins,
    with_styles_of_nodes,
)
from schemas.ingest import EVENTS, LOG_COVERAGE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame, Same

# the state-change log of node 1 has a hole after ten minutes
COVERED = """
node_id | kind         | since    | until
1       | state_change | 10:00:00 | 10:10:00
1       | state_change | 10:20:00 | 10:30:00
1       | server       | 10:00:00 | 10:30:00
"""


def starts_of(frame: Frame) -> DataFrame:
    """Another process of node 1 starts after 25 minutes."""
    return frame(EVENTS, "node_id | at | event_type\n1 | 10:25:00 | broker_starting\n")


def lines_of(frame: Frame, events: str) -> DataFrame:
    """Rows of `to_leader_lines` of partition 0."""
    partition_0 = {"partition": F.lit(0), "incarnation": F.lit(0)}
    of_partition = frame(EVENTS, events).withColumns(partition_0)
    shown = to_epoch_bounds(frame(EVENTS, events)).withColumns(partition_0)
    return to_leader_lines(of_partition, frame(LOG_COVERAGE, COVERED), starts_of(frame), shown)


# All written by node 1 of partition 0. It leads where it was sent so; its lines lie in two files.
WRITTEN = """
topic   | at       | file_id | event_type                      | leader | leader_epoch | partition_epoch | isr | message | fields
plain   | 10:00:01 | s       | leader_and_isr_request_received | 1      | 4            |                 | 1,2 | PartitionState(controllerEpoch=1, isNew=false) |
plain   | 10:00:02 | l       | isr_shrinking                   |        |              |                 | 1   | [Partition plain-0 broker=1] Shrinking ISR from 2,1 to 1 | old_isr=2,1
# sent to lead anew, and refused by the store
refused | 10:00:01 | s       | leader_and_isr_request_received | 1      | 4            |                 | 1,2 | PartitionState(controllerEpoch=1, isNew=false) |
refused | 10:00:02 | s       | leader_and_isr_request_received | 1      | 6            |                 | 1,2 | PartitionState(controllerEpoch=1, isNew=false) |
refused | 10:00:03 | l       | isr_shrinking                   |        |              |                 | 1   | [Partition refused-0 broker=1] Shrinking ISR from 1,2 to 1 | old_isr=1,2
refused | 10:00:04 | s       | leader_and_isr_request_received | 2      | 7            |                 | 2   | PartitionState(controllerEpoch=1, isNew=false) |
refused | 10:00:05 | l       | isr_update_rejected_by_zk       |        |              | 9               |     | [Partition refused-0 broker=1] Cached zkVersion [9] not equal to that in zookeeper, skip updating ISR |
# from 2.4 on it is an intention: another line logs the outcome
later   | 10:00:01 | s       | leader_and_isr_request_received | 1      | 4            |                 | 1,2 | LeaderAndIsrPartitionState(topicName='later', isNew=false) |
later   | 10:00:02 | l       | isr_shrinking                   |        |              |                 | 1   | [Partition later-0 broker=1] Shrinking ISR from 1,2 to 1 | old_isr=1,2
# so a line that 0.11 to 2.4.0 write as they begin to lead; 2.4.1 words it otherwise
begun   | 10:00:01 | l       | leader_epoch_started            |        | 5            |                 |     | [Partition begun-0 broker=1] begun-0 starts at Leader Epoch 5 from offset 0. Previous Leader Epoch was: 4 |
begun   | 10:00:02 | l       | isr_shrinking                   |        |              |                 | 1   | [Partition begun-0 broker=1] Shrinking ISR from 1,2 to 1 | old_isr=1,2
newer   | 10:00:01 | l       | leader_epoch_started            |        | 5            |                 |     | [Partition newer-0 broker=1] newer-0 starts at leader epoch 5 from offset 0 with high watermark 0. Previous leader epoch was 4. |
newer   | 10:00:02 | l       | isr_shrinking                   |        |              |                 | 1   | [Partition newer-0 broker=1] Shrinking ISR from 1,2 to 1 | old_isr=1,2
# no line shows its release: a change of unknown leader epoch, so that what its writer does not log means nothing
unknown | 10:00:02 | l       | isr_shrinking                   |        |              |                 | 1   | [Partition unknown-0 broker=1] Shrinking ISR from 1,2 to 1 | old_isr=1,2
# the log begins after its writer began to lead, but its metadata cache has it; another leader there ends no term:
# what a leader writes goes by LeaderAndIsr requests
told    | 10:00:01 | s       | metadata_cache_updated          | 1      | 4            |                 | 1,2 | |
told    | 10:00:02 | l       | isr_shrinking                   |        |              |                 | 1   | [Partition told-0 broker=1] Shrinking ISR from 1,2 to 1 | old_isr=1,2
told    | 10:00:03 | s       | metadata_cache_updated          | 2      | 5            |                 | 1   | |
told    | 10:00:04 | l       | isr_expanding                   |        |              |                 | 1,3 | [Partition told-0 broker=1] Expanding ISR from 1 to 1,3 | old_isr=1
# the shape of 0.8 shows it, but not the leader epoch
old     | 10:00:02 | l       | isr_expanding                   |        |              |                 | 1,2 | Partition [old,0] on broker 1: Expanding ISR for partition [old,0] from 1 to 1,2 | old_isr=1
old     | 10:25:02 | l       | isr_expanding                   |        |              |                 | 1,2 | Partition [old,0] on broker 1: Expanding ISR for partition [old,0] from 1 to 1,2 | old_isr=1
"""
CHANGED_BY_LEADER = """
topic   | leader | leader_epoch | partition_epoch | isr_before | isr | is_accepted | process
plain   | 1      | 4            |                 | 1,2 | 1   | true | 0
refused | 1      | 6            | 9               | 1,2 | 1   | false | 0
begun   | 1      | 5            |                 | 1,2 | 1   | true | 0
unknown | 1      |              |                 | 1,2 | 1   | true | 0
told    | 1      | 4            |                 | 1,2 | 1   | true | 0
told    | 1      | 4            |                 | 1   | 1,3 | true | 0
old     | 1      |              |                 | 1   | 1,2 | true | 0
old     | 1      |              |                 | 1   | 1,2 | true | 1
"""


def test_changes_that_leaders_wrote_themselves(frame: Frame, same: Same) -> None:
    no_sessions = to_broken_sessions(frame(EVENTS, WRITTEN))
    same(to_changes_by_leader(lines_of(frame, WRITTEN), no_sessions, starts_of(frame)), CHANGED_BY_LEADER)


def test_what_a_leader_writes_while_its_session_ends_is_in_doubt(frame: Frame, same: Same) -> None:
    """Node 1 is last heard of at 10:00:01, and its session has expired at 10:00:11; node 2's connection comes back in
    time; of node 3 no line tells since when it had none."""
    sessions = """
at       | node_id | event_type                | fields
10:00:00 | 1       | zk_session_established    |
10:00:10 | 1       | zk_session_timed_out      | silent_ms=9000
10:00:11 | 1       | zk_session_expired        |
10:00:12 | 1       | zk_session_established    |
10:00:10 | 2       | zk_session_timed_out      | silent_ms=5000
10:00:11 | 2       | zk_session_established    |
10:05:00 | 3       | zk_session_state_changed  | state=Disconnected
10:05:10 | 3       | zk_session_state_changed  | state=Expired
"""
    broken = to_broken_sessions(frame(EVENTS, sessions))
    same(
        broken,
        """
node_id | since    | until
1       | 10:00:01 | 10:00:11
3       | 10:04:40 | 10:05:10
""",
    )
    writes = """
topic  | at           | node_id | event_type    | isr | message                                     | fields
before | 10:00:00.900 | 1       | isr_shrinking | 1   | Partition [before,0] on broker 1: Shrinking | old_isr=1,2
while  | 10:00:10.500 | 1       | isr_shrinking | 1   | Partition [while,0] on broker 1: Shrinking  | old_isr=1,2
after  | 10:00:13     | 1       | isr_shrinking | 1   | Partition [after,0] on broker 1: Shrinking  | old_isr=1,2
kept   | 10:00:10     | 2       | isr_shrinking | 2   | Partition [kept,0] on broker 2: Shrinking   | old_isr=1,2
"""
    same(
        to_changes_by_leader(lines_of(frame, writes), broken, starts_of(frame)).select("topic", "is_doubtful"),
        """
topic  | is_doubtful
before | false
while  | true
after  | false
kept   | false
""",
    )


# `ISR updated to` does not print the leader epoch: it is that of the term that its writer had begun
REPORTED = """
topic   | at       | file_id | event_type                     | leader | leader_epoch | partition_epoch | isr   | fields
# the state before is the one from which the writer's intention starts
grown   | 10:00:01 | l       | leader_epoch_started           |        | 4            |                 |       |
grown   | 10:00:02 | l       | isr_expanding                  |        |              |                 | 2,1   | old_isr=1
grown   | 10:00:03 | l       | isr_updated                    |        |              | 7               | 1,2   |
# another intention came to nothing
other   | 10:00:01 | l       | leader_epoch_started           |        | 4            |                 |       |
other   | 10:00:02 | l       | isr_expanding                  |        |              |                 | 1,3   | old_isr=1
other   | 10:00:03 | l       | isr_updated                    |        |              | 7               | 1,2   |
# an intention of the term before says nothing of the state before
renewed | 10:00:01 | l       | leader_epoch_started           |        | 4            |                 |       |
renewed | 10:00:02 | l       | isr_expanding                  |        |              |                 | 1,2   | old_isr=1
renewed | 10:00:03 | l       | leader_epoch_started           |        | 5            |                 |       |
renewed | 10:00:04 | l       | isr_updated                    |        |              | 7               | 1,2   |
# it follows another leader; it is not known which of two files comes first
follows | 10:00:01 | s       | partition_leader_epoch_started |        | 4            |                 | 1     |
follows | 10:00:02 | s       | partition_follower_epoch_started |      | 5            |                 |       |
follows | 10:00:03 | l       | isr_updated                    |        |              | 7               | 1,2   |
at_once | 10:00:01 | s       | partition_leader_epoch_started |        | 4            |                 | 1     |
at_once | 10:00:02 | s       | partition_leader_epoch_started |        | 5            |                 | 1     |
at_once | 10:00:02 | l       | isr_updated                    |        |              | 7               | 1,2   |
# between the two its state-change log has a hole, in which a newer term may have begun
hole    | 10:09:00 | s       | partition_leader_epoch_started |        | 4            |                 | 1     |
hole    | 10:21:00 | l       | isr_updated                    |        |              | 7               | 1,2   |
# between the two its process starts anew: the line by which it was told again may be in another log
started | 10:24:00 | l       | partition_leader_epoch_started |        | 4            |                 | 1     |
started | 10:24:59 | l       | isr_updated                    |        |              | 7               | 1,2   |
started | 10:26:00 | l       | isr_updated                    |        |              | 8               | 1,2   |
# a second change starts from the first, and is no older than its own lines
second  | 10:00:01 | l       | leader_epoch_started           |        | 4            |                 |       |
second  | 10:00:02 | l       | isr_expanding                  |        |              |                 | 1,3   | old_isr=1
second  | 10:00:03 | l       | isr_shrinking                  |        |              |                 | 1     | old_isr=1,2
second  | 10:00:04 | l       | isr_updated                    |        |              | 8               | 1     |
# two lines tell at once that it leads: which of them is kept does not go by what their files are called
twice   | 10:00:01 | z       | leader_epoch_started           |        | 4            |                 |       |
twice   | 10:00:01 | a       | leader_epoch_started           |        | 4            |                 |       |
twice   | 10:00:02 | l       | isr_expanding                  |        |              |                 | 1,2   | old_isr=1
twice   | 10:00:03 | l       | isr_updated                    |        |              | 7               | 1,2   |
"""
STATES = """
topic   | at       | line | leader | leader_epoch | partition_epoch | isr | by_leader | keeps_leader | is_deduced
grown   | 10:00:03 | 3    | 1      | 4            | 7               | 1,2 | true      | true         | true
grown   | 10:00:03 | 1    |        |              | 7               |     |           |              | true
grown   | 10:00:01 | 2    | 1      | 4            | 6               | 1   |           |              | true
other   | 10:00:03 | 6    | 1      | 4            | 7               | 1,2 | true      | true         | true
other   | 10:00:03 | 4    |        |              | 7               |     |           |              | true
renewed | 10:00:04 | 10   | 1      | 5            | 7               | 1,2 | true      | true         | true
renewed | 10:00:04 | 9    |        |              | 7               |     |           |              | true
follows | 10:00:03 | 13   | 1      |              | 7               | 1,2 | true      | true         | false
at_once | 10:00:02 | 16   | 1      |              | 7               | 1,2 | true      | true         | false
hole    | 10:21:00 | 18   | 1      |              | 7               | 1,2 | true      | true         | false
started | 10:24:59 | 20   | 1      | 4            | 7               | 1,2 | true      | true         | true
started | 10:24:59 | 19   |        |              | 7               |     |           |              | true
started | 10:26:00 | 21   | 1      |              | 8               | 1,2 | true      | true         | false
second  | 10:00:04 | 25   | 1      | 4            | 8               | 1   | true      | true         | true
second  | 10:00:04 | 22   |        |              | 8               |     |           |              | true
second  | 10:00:03 | 24   | 1      | 4            | 7               | 1,2 |           |              | true
twice   | 10:00:03 | 29   | 1      | 4            | 7               | 1,2 | true      | true         | true
twice   | 10:00:03 | 27   |        |              | 7               |     |           |              | true
twice   | 10:00:01 | 28   | 1      | 4            | 6               | 1   |           |              | true
"""


def test_reports_of_leaders(frame: Frame, same: Same) -> None:
    same(to_reported_states(lines_of(frame, REPORTED)), STATES)


# node 1 logs that it begins 4, and node 2 that it begins 5: what node 1 writes after that it writes in a later one
SHOWN = """
topic   | at           | line | node_id | event_type                 | leader_epoch | partition_epoch | isr | message                                                       | fields
lost    | 10:00:00     | 1    | 1       | leader_epoch_started       | 4            |                 |     | lost-0 starts at Leader Epoch 4 from offset 0                 |
lost    | 10:00:01     | 2    | 1       | isr_shrinking              |              |                 | 1   | [Partition lost-0 broker=1] Shrinking ISR from 1,2 to 1       | old_isr=1,2
lost    | 10:00:02     | 3    | 2       | leader_epoch_started       | 5            |                 |     | lost-0 starts at Leader Epoch 5 from offset 0                 |
lost    | 10:00:02     | 4    | 1       | isr_expanding              |              |                 | 1,2 | [Partition lost-0 broker=1] Expanding ISR from 1 to 1,2       | old_isr=1
lost    | 10:00:03     | 5    | 1       | isr_expanding              |              |                 | 1,2 | [Partition lost-0 broker=1] Expanding ISR from 1 to 1,2       | old_isr=1
refused | 10:00:00     | 6    | 1       | leader_epoch_started       | 4            |                 |     | refused-0 starts at Leader Epoch 4 from offset 0              |
refused | 10:00:02     | 7    | 2       | leader_epoch_started       | 5            |                 |     | refused-0 starts at Leader Epoch 5 from offset 0              |
refused | 10:00:03     | 8    | 1       | isr_shrinking              |              |                 | 1   | [Partition refused-0 broker=1] Shrinking ISR from 1,2 to 1    | old_isr=1,2
refused | 10:00:03     | 9    | 1       | isr_update_rejected_by_zk  |              | 9               |     |                                                               |
report  | 10:00:00     | 10   | 1       | leader_epoch_started       | 4            |                 |     | report-0 starts at leader epoch 4 from offset 0               |
report  | 10:00:02     | 11   | 2       | partition_follower_epoch_started | 5      |                 |     |                                                               |
report  | 10:00:03     | 12   | 1       | isr_updated                |              | 7               | 1   |                                                               |
"""


def test_a_leader_of_whose_later_beginning_the_line_is_lost(frame: Frame, same: Same) -> None:
    lines, no_sessions = lines_of(frame, SHOWN), to_broken_sessions(frame(EVENTS, SHOWN))
    same(
        to_changes_by_leader(lines, no_sessions, starts_of(frame)),
        """
topic   | line | leader_epoch | is_accepted
lost    | 2    | 4            | true
lost    | 4    | 4            | true
lost    | 5    |              | true
refused | 8    |              | false
""",
    )
    same(
        to_reported_states(lines),
        """topic  | line | leader | leader_epoch | partition_epoch | isr
           report | 12   | 1      |              | 7               | 1""",
    )


# of leader epoch 5, in which node 1 may lead, or lead on, no line tells; its log is silent for 25 seconds. Of the other
# topic none is missing
UNSEEN = """
topic | at       | line | node_id | event_type           | leader_epoch | isr | message                                                  | fields
two   | 10:00:00 | 1    | 1       | leader_epoch_started | 4            |     | two-0 starts at Leader Epoch 4 from offset 0             |
two   | 10:00:05 | 2    | 1       | isr_shrinking        |              | 1   | [Partition two-0 broker=1] Shrinking ISR from 1,2 to 1   | old_isr=1,2
two   | 10:00:30 | 3    | 1       | isr_expanding        |              | 1,2 | [Partition two-0 broker=1] Expanding ISR from 1 to 1,2   | old_isr=1
two   | 10:00:40 | 4    | 2       | leader_epoch_started | 6            |     | two-0 starts at Leader Epoch 6 from offset 0             |
one   | 10:00:00 | 5    | 1       | leader_epoch_started | 4            |     | one-0 starts at Leader Epoch 4 from offset 0             |
one   | 10:00:30 | 6    | 1       | isr_shrinking        |              | 1   | [Partition one-0 broker=1] Shrinking ISR from 1,2 to 1   | old_isr=1,2
one   | 10:00:40 | 7    | 2       | leader_epoch_started | 5            |     | one-0 starts at Leader Epoch 5 from offset 0             |
"""


def test_what_a_leader_writes_in_a_leader_epoch_that_is_over_as_its_session_ends(frame: Frame, same: Same) -> None:
    """It may have been written before that was over; what the store refused was not."""
    sessions = "at | node_id | event_type | fields\n10:00:04 | 1 | zk_session_timed_out | silent_ms=3000\n10:00:05 | 1 | zk_session_expired |"
    lines, broken = lines_of(frame, SHOWN), to_broken_sessions(frame(EVENTS, sessions))
    same(
        to_changes_by_leader(lines, broken, starts_of(frame)),
        """
topic   | line | leader_epoch | is_accepted | is_doubtful
lost    | 2    | 4            | true        | true
lost    | 4    | 4            | true        | true
lost    | 5    | 4            | true        | true
refused | 8    |              | false       | true
""",
    )


def test_a_leader_that_may_have_begun_another_leader_epoch_while_its_log_is_silent(frame: Frame, same: Same) -> None:
    lines, no_sessions = lines_of(frame, UNSEEN), to_broken_sessions(frame(EVENTS, UNSEEN))
    same(
        to_changes_by_leader(with_lost_begins(lines, frame(EVENTS, UNSEEN)), no_sessions, starts_of(frame)),
        """topic | line | leader_epoch
           two   | 2    | 4
           two   | 3    |
           one   | 6    | 4""",
    )
    spoken = frame(EVENTS, UNSEEN + "two | 10:00:15 | 8 | 1 | broker_started | | | |\n")
    same(
        to_changes_by_leader(with_lost_begins(lines, spoken), no_sessions, starts_of(frame)),
        """topic | line | leader_epoch
           two   | 2    | 4
           two   | 3    | 4
           one   | 6    | 4""",
    )


# 2.4: what a leader has written is numbered, and leader epoch 5 is in no line, though 6 is; node 1 is silent for 25 seconds
NUMBERED = """
topic | at       | line | node_id | event_type           | leader_epoch | partition_epoch | isr | message                                      | fields
# from 5 to 7 there is one write, that by which leader epoch 4 began; what follows at once is of the same
full  | 10:00:00 | 1    | 2       | leader_epoch_started | 3            |                 |     | full-0 starts at leader epoch 3 from offset 0 |
full  | 10:00:01 | 2    | 2       | isr_updated          |              | 5               | 1,2 |                                              |
full  | 10:00:02 | 3    | 1       | leader_epoch_started | 4            |                 |     | full-0 starts at leader epoch 4 from offset 0 |
full  | 10:00:30 | 4    | 1       | isr_updated          |              | 7               | 1   |                                              |
full  | 10:00:40 | 5    | 1       | isr_updated          |              | 8               | 1,2 |                                              |
full  | 10:00:50 | 6    | 2       | leader_epoch_started | 6            |                 |     | full-0 starts at leader epoch 6 from offset 0 |
# from 5 to 8 there is one more, by which 5 may have begun; what follows at once is of the same, whichever that is
room  | 10:00:00 | 11   | 2       | leader_epoch_started | 3            |                 |     | room-0 starts at leader epoch 3 from offset 0 |
room  | 10:00:01 | 12   | 2       | isr_updated          |              | 5               | 1,2 |                                              |
room  | 10:00:02 | 13   | 1       | leader_epoch_started | 4            |                 |     | room-0 starts at leader epoch 4 from offset 0 |
room  | 10:00:30 | 14   | 1       | isr_updated          |              | 8               | 1   |                                              |
room  | 10:00:40 | 15   | 1       | isr_updated          |              | 9               | 1,2 |                                              |
room  | 10:00:50 | 16   | 2       | leader_epoch_started | 6            |                 |     | room-0 starts at leader epoch 6 from offset 0 |
"""


def test_partition_epochs_leave_no_room_for_another_leader_epoch(frame: Frame) -> None:
    lines = with_lost_begins(lines_of(frame, NUMBERED), frame(EVENTS, NUMBERED))
    refuted = {row["line"]: row["is_refuted"] for row in lines.collect()}
    assert refuted == {2: False, 4: False, 5: False, 12: False, 14: True, 15: True}


# of orders no line of node 1 shows how its release logs changes, of payments one does; node 2 was upgraded
STYLES = """
topic    | at       | line | node_id | event_type           | leader_epoch | isr | message                                                | fields
payments | 10:00:00 | 1    | 1       | leader_epoch_started | 4            |     | payments-0 starts at Leader Epoch 4 from offset 0      |
orders   | 10:00:05 | 2    | 1       | isr_shrinking        |              | 1   | [Partition orders-0 broker=1] Shrinking ISR from 1,2 to 1 | old_isr=1,2
payments | 10:00:01 | 3    | 2       | leader_epoch_started | 5            |     | payments-0 starts at Leader Epoch 5 from offset 0      |
audit    | 10:00:02 | 4    | 2       | leader_epoch_started | 7            |     | audit-0 starts at leader epoch 7 from offset 0         |
orders   | 10:00:09 | 5    | 2       | isr_expanding        |              | 1,2 | [Partition orders-0 broker=2] Expanding ISR from 2 to 1,2 | old_isr=2
"""


def test_a_node_s_other_lines_show_how_its_release_logs_changes(frame: Frame, same: Same) -> None:
    lines, events = lines_of(frame, STYLES), frame(EVENTS, STYLES)
    same(
        with_styles_of_nodes(lines, events).select("line", "writes"),
        """line | writes
           2    | true
           5    |""",
    )
