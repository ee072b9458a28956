"""Elections that were unclean by when brokers came and went, from tables written by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.elections import to_elections
from jobs.findings.overtaken_replicas import SERVER_LOGS, to_overtaken
from jobs.timelines.cluster_facts import EvidenceKinds
from jobs.timelines.known_spans import to_known_spans
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.timelines import BROKER_TIMELINE, CONTROLLER_TIMELINE, PARTITION_TIMELINE, TOPIC_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

BROKERS = """
cluster | broker | since    | until    | evidence | shutdown_since
# 1 goes, then 2, then 1 comes back
zk      | 1      | 10:00:00 | 10:01:00 | 9@f:1 |
zk      | 1      | 10:03:00 | 10:09:00 | |
zk      | 2      | 10:00:00 | 10:02:00 | 9@f:2 |
zk      | 2      | 10:04:00 |          | |
zk      | 9      | 10:00:00 |          | |
# 5 is shut down: its partitions get other leaders before its session ends
zk      | 5      | 10:00:00 | 10:01:40 | 9@f:5 | 10:01:30
zk      | 5      | 10:03:00 |          | |
# both go at once: the controller may take 1 out of no ISR
once    | 1      | 10:00:00 | 10:01:00 | |
once    | 1      | 10:03:00 |          | |
once    | 2      | 10:00:00 | 10:01:00 | |
# 1 is back before 2 goes, and may have joined
back    | 1      | 10:00:00 | 10:01:00 | |
back    | 1      | 10:01:30 |          | |
back    | 2      | 10:00:00 | 10:02:00 | |
# another controller reigns as 2 goes: the one before may not have come to take 1 out
other   | 1      | 10:00:00 | 10:01:00 | |
other   | 1      | 10:03:00 |          | |
other   | 2      | 10:00:00 | 10:02:00 | |
# the log of 3, which may have led, is not there
unread  | 1      | 10:00:00 | 10:01:00 | |
unread  | 1      | 10:03:00 |          | |
unread  | 2      | 10:00:00 | 10:02:00 | |
unread  | 3      | 10:00:00 |          | |
# KRaft's lines have its ISRs
kraft   | 1      | 10:00:00 | 10:01:00 | |
kraft   | 1      | 10:03:00 |          | |
kraft   | 2      | 10:00:00 | 10:02:00 | |
"""
CONTROLLERS = """
cluster | controller_id | since    | until    | mode
zk      | 9             | 09:00:00 |          | zookeeper
once    | 9             | 09:00:00 |          | zookeeper
back    | 9             | 09:00:00 |          | zookeeper
other   | 8             | 09:00:00 | 10:01:30 | zookeeper
other   | 9             | 10:01:30 |          | zookeeper
unread  | 9             | 09:00:00 |          | zookeeper
kraft   | 9             | 09:00:00 |          | kraft
"""
CLUSTERS = ("zk", "once", "back", "other", "unread", "kraft")
LOGS = "cluster | node_id | kind | since | until\n" + "\n".join(
    f"{cluster} | {node} | server | 09:00:00 | 10:10:00" for cluster in CLUSTERS for node in (1, 2, 5, 9)
)
ABSENCES = """
cluster | leader | gone_at  | back_at  | gone_again_at | gone_line | reigns_until | overtaken_by | lost_at
zk      | 1      | 10:01:00 | 10:03:00 | 10:09:00      | 9@f:1     |              | 2            | 10:02:00
zk      | 2      | 10:02:00 | 10:04:00 |               | 9@f:2     |              |              |
zk      | 5      | 10:01:40 | 10:03:00 |               | 9@f:5     |              | 2            | 10:02:00
once    | 1      | 10:01:00 | 10:03:00 |               |           |              |              |
back    | 1      | 10:01:00 | 10:01:30 |               |           |              |              |
other   | 1      | 10:01:00 | 10:03:00 |               |           | 10:01:30     |              |
"""
STATES = """
cluster | topic   | partition | incarnation | ordinal | leader | leader_epoch | since    | isr | evidence
# 2 leads, 1 is taken out, nobody leads, and 1 is elected: of the last three states a line has the last one
zk      | lost    | 0         | 0           | 0       | 2      | 5            | 10:00:30 | 1,2 | 1@s:1
zk      | lost    | 0         | 0           | 1       | 1      | 8            | 10:03:01 | 1 | 1@s:1
# more leader epochs between: others may have led
zk      | more    | 0         | 0           | 0       | 2      | 5            | 10:00:30 | 1,2 | 1@s:1
zk      | more    | 0         | 0           | 1       | 1      | 9            | 10:03:01 | 1 | 1@s:1
# 2 began to lead when 1 had gone: that one may be in the ISR, for the controller did not take it out of this one's
zk      | late    | 0         | 0           | 0       | 2      | 5            | 10:01:30 | 1,2 | 1@s:1
zk      | late    | 0         | 0           | 1       | 1      | 8            | 10:03:01 | 1 | 1@s:1
# so it is here; but as nobody could be elected when 2 had gone, nobody led then, whoever had led before
zk      | nobody  | 0         | 0           | 0       | 2      | 5            | 10:01:30 | 1,2 | 1@s:1
zk      | nobody  | 0         | 0           | 1       | 1      | 9            | 10:03:01 | 1 | 1@s:1
# an election that failed when 1 was back says nothing of that time
zk      | after   | 0         | 0           | 0       | 2      | 5            | 10:01:30 | 1,2 | 1@s:1
zk      | after   | 0         | 0           | 1       | 1      | 9            | 10:03:01 | 1 | 1@s:1
# 2 is elected as 1 goes, does not add it, and 1 is elected when it is back, though 2 is gone only later or never
zk      | alone   | 0         | 0           | 0       | 1      | 4            | 10:00:30 | 1,2 | 1@s:1
zk      | alone   | 0         | 0           | 1       | 2      | 5            | 10:01:00.1 | 2 | 1@s:1
zk      | alone   | 0         | 0           | 2       | 1      | 6            | 10:05:00 | 1 | 1@s:1
zk      | shut    | 0         | 0           | 0       | 5      | 4            | 10:00:30 | 5,9 | 1@s:1
zk      | shut    | 0         | 0           | 1       | 9      | 5            | 10:01:30.1 | 9 | 1@s:1
zk      | shut    | 0         | 0           | 2       | 5      | 6            | 10:05:00 | 5 | 1@s:1
# it adds it
zk      | added   | 0         | 0           | 0       | 1      | 4            | 10:00:30 | 1,2 | 1@s:1
zk      | added   | 0         | 0           | 1       | 2      | 5            | 10:01:00.1 | 2 | 1@s:1
zk      | added   | 0         | 0           | 2       | 1      | 6            | 10:05:00 | 1 | 1@s:1
# nobody led in the leader epoch between: an election failed
zk      | offline | 0         | 0           | 0       | 1      | 4            | 10:00:30 | 1,2 | 1@s:1
zk      | offline | 0         | 0           | 1       | 9      | 5            | 10:01:00.1 | 9 | 1@s:1
zk      | offline | 0         | 0           | 2       | 1      | 7            | 10:05:00 | 1 | 1@s:1
# of a leader epoch between no line tells: another one may have added it
zk      | between | 0         | 0           | 0       | 1      | 4            | 10:00:30 | 1,2 | 1@s:1
zk      | between | 0         | 0           | 1       | 2      | 5            | 10:01:00.1 | 2 | 1@s:1
zk      | between | 0         | 0           | 2       | 1      | 7            | 10:05:00 | 1 | 1@s:1
# 9 began to lead long before 1 went, and is there all along: nothing shows that 1 was taken out
zk      | before  | 0         | 0           | 0       | 9      | 5            | 10:00:30 | 1,9 | 1@s:1
zk      | before  | 0         | 0           | 1       | 1      | 6            | 10:05:00 | 1 | 1@s:1
# 2 led once more before 1 was back, and did not add it, either
zk      | again   | 0         | 0           | 0       | 2      | 5            | 10:00:30 | 1,2 | 1@s:1
zk      | again   | 0         | 0           | 1       | 2      | 7            | 10:02:30 | 2 | 1@s:1
zk      | again   | 0         | 0           | 2       | 1      | 8            | 10:03:01 | 1 | 1@s:1
# another broker led last
zk      | third   | 0         | 0           | 0       | 9      | 5            | 10:00:30 | 1,9 | 1@s:1
zk      | third   | 0         | 0           | 1       | 1      | 8            | 10:03:01 | 1 | 1@s:1
# 1 is elected when it had gone once more, and 2 was back long before
zk      | then    | 0         | 0           | 0       | 2      | 5            | 10:00:30 | 1,2 | 1@s:1
zk      | then    | 0         | 0           | 1       | 1      | 8            | 10:09:30 | 1 | 1@s:1
"""
FAILURES = """
cluster | topic  | partition | at         | node_id | logger              | event_type                    | controller_epoch | fields | detail
zk      | nobody | 0         | 10:02:00.1 | 9       | state.change.logger | partition_state_change_failed | 1 | to_state=OnlinePartition | at kafka.controller.OfflinePartitionLeaderSelector
zk      | after  | 0         | 10:03:00.5 | 9       | state.change.logger | partition_state_change_failed | 1 | to_state=OnlinePartition | at kafka.controller.OfflinePartitionLeaderSelector
zk      | offline | 0        | 10:02:30   | 9       | state.change.logger | partition_state_change_failed | 1 | to_state=OnlinePartition | at kafka.controller.OfflinePartitionLeaderSelector
"""
ADDED = """
cluster | topic | partition | at       | node_id | event_type    | isr
zk      | added | 0         | 10:04:00 | 2       | isr_expanding | 1,2
zk      | alone | 0         | 10:00:50 | 2       | isr_expanding | 1,2
"""
UNCLEAN = """
topic | leader | leader_epoch | unclean | last_leader | evidence
lost  | 1      | 8            | true    | 2           | 1@s:1,9@f:1,9@f:2
more  | 1      | 9            |         |             | 1@s:1
late  | 1      | 8            |         |             | 1@s:1
nobody | 1     | 9            | true    | 2           | 1@s:1,9@f:1,9@f:2
after | 1      | 9            |         |             | 1@s:1
alone | 2      | 5            |         |             | 1@s:1
alone | 1      | 6            | true    | 2           | 1@s:1,9@f:1
shut  | 9      | 5            |         |             | 1@s:1
shut  | 5      | 6            | true    | 9           | 1@s:1,9@f:5
added | 2      | 5            |         |             | 1@s:1
added | 1      | 6            |         |             | 1@s:1
offline | 9    | 5            |         |             | 1@s:1
offline | 1    | 7            | true    | 9           | 1@s:1,9@f:1
between | 2    | 5            |         |             | 1@s:1
between | 1    | 7            |         |             | 1@s:1
before | 1     | 6            |         |             | 1@s:1
again | 2      | 7            |         |             | 1@s:1
again | 1      | 8            | true    | 2           | 1@s:1,9@f:1
third | 1      | 8            |         |             | 1@s:1
then  | 1      | 8            |         |             | 1@s:1
"""


def test_who_cannot_have_joined_the_isr_again(frame: Frame, same: Same) -> None:
    spans = to_known_spans(frame(LOG_COVERAGE, LOGS), SERVER_LOGS, timedelta(minutes=30), "cluster", "node_id")
    overtaken = to_overtaken(frame(BROKER_TIMELINE, BROKERS), frame(CONTROLLER_TIMELINE, CONTROLLERS), spans)
    first = F.col("overtakers")[0]
    with_first = overtaken.withColumns({"overtaken_by": first["last_leader"], "lost_at": first["lost_at"]})
    same(with_first, ABSENCES)
    states = frame(PARTITION_TIMELINE, STATES)
    topics = frame(TOPIC_TIMELINE, "cluster | topic | incarnation | since\n" + "\n".join(
        f"zk | {name} | 0 | 10:00:00" for name in ("lost", "more", "late", "nobody", "after", "alone", "shut", "added", "offline", "between", "before", "again", "third", "then")
    ))  # fmt: skip
    events = frame(EVENTS, FAILURES).unionByName(frame(EVENTS, ADDED))
    elections = to_elections(states, events, topics, spans, EvidenceKinds(), None, overtaken)
    same(elections.where("leader_epoch > 4 AND succeeded"), UNCLEAN)
