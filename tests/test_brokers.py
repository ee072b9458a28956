"""When brokers were there, from events written by hand; a case is a broker of its own, all are one frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.brokers import to_broker_timeline
from jobs.timelines.cluster_facts import EvidenceKinds
from schemas.ingest import EVENTS
from schemas.timelines import CONTROLLER_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

BROKER_EVENTS = """
cluster | at       | node_id | event_type                      | broker_id | fields
# ZooKeeper: 1 and 2 are there, 3 comes; 2 dies and returns, 1 bounces, 3 is shut down
zk      | 10:00:00 | 0       | controller_context_live_brokers |           | live_brokers=Set(1, 2)
zk      | 10:01:00 | 0       | broker_set_changed              |           | added_brokers=3; deleted_brokers=; bounced_brokers=; live_brokers=1,2,3
zk      | 10:02:00 | 0       | broker_set_changed              |           | added_brokers=; deleted_brokers=2; bounced_brokers=; live_brokers=1,3
zk      | 10:03:00 | 0       | broker_set_changed              |           | added_brokers=2; deleted_brokers=; bounced_brokers=; live_brokers=1,2,3
zk      | 10:04:00 | 0       | broker_set_changed              |           | added_brokers=; deleted_brokers=; bounced_brokers=1; live_brokers=1,2,3
zk      | 10:05:00 | 0       | controlled_shutdown_started     |           | broker=3
zk      | 10:06:00 | 0       | broker_set_changed              |           | added_brokers=; deleted_brokers=3; bounced_brokers=; live_brokers=1,2
# 2 was the next controller, and died as such: the one after it does not find it, and sees it come back
zk      | 10:07:00 | 1       | controller_context_live_brokers |           | live_brokers=Set(1)
zk      | 10:08:00 | 1       | broker_set_changed              |           | added_brokers=2; deleted_brokers=; bounced_brokers=; live_brokers=1,2
# what brokers log themselves: 1 was gone while no controller looked, 2 a second before one noticed, 3 is noticed first
own     | 09:59:00 | 1       | broker_registered_in_zk         |           | broker=1; broker_epoch=20
own     | 10:00:00 | 0       | controller_context_live_brokers |           | live_brokers=Set(1, 2)
own     | 10:00:01 | 0       | controller_context_broker_epochs |          | broker_epochs=Map(1 -> 20, 2 -> 21)
own     | 10:01:00 | 0       | broker_set_changed              |           | added_brokers=3; deleted_brokers=; bounced_brokers=; live_brokers=1,2,3
own     | 10:01:00.05 | 3    | broker_registered_in_zk         |           | broker=3; broker_epoch=30
own     | 10:05:00 | 1       | broker_registered_in_zk         |           | broker=1; broker_epoch=40
own     | 10:06:00 | 2       | broker_registered_in_zk         |           | broker=2; broker_epoch=50
own     | 10:06:01 | 0       | broker_set_changed              |           | added_brokers=; deleted_brokers=; bounced_brokers=2; live_brokers=1,2,3
own     | 10:07:00 | 0       | broker_set_changed              |           | added_brokers=; deleted_brokers=3; bounced_brokers=; live_brokers=1,2
own     | 10:08:00 | 3       | broker_registered_in_zk         |           | broker=3
own     | 10:08:01 | 0       | broker_set_changed              |           | added_brokers=3; deleted_brokers=; bounced_brokers=; live_brokers=1,2,3
# no controller was there as 1 and 2 went and came back. The next one has read who is there before 1 did, and lists that
# after it; 2 is shut down within two seconds after it came back, and registers again
first   | 10:00:00 | 0       | controller_context_live_brokers |           | live_brokers=Set(1, 2)
first   | 10:05:00 | 1       | broker_registered_in_zk         |           | broker=1; broker_epoch=40
first   | 10:05:00.05 | 3    | controller_context_live_brokers |           | live_brokers=Set(2, 3)
first   | 10:05:00.3 | 3     | broker_set_changed              |           | added_brokers=1; deleted_brokers=; bounced_brokers=; live_brokers=1,2,3
first   | 10:06:00 | 2       | broker_registered_in_zk         |           | broker=2; broker_epoch=50
first   | 10:06:01 | 3       | broker_set_changed              |           | added_brokers=; deleted_brokers=2; bounced_brokers=; live_brokers=1,3
first   | 10:07:00 | 2       | broker_registered_in_zk         |           | broker=2; broker_epoch=60
first   | 10:07:01 | 3       | broker_set_changed              |           | added_brokers=2; deleted_brokers=; bounced_brokers=; live_brokers=1,2,3
# lines are lost: that of 2's return, which it logs itself and a later list shows; that of 3's, which only the list
# shows; and that of 1's end, which no later list has
lost    | 10:00:00 | 0       | controller_context_live_brokers |           | live_brokers=Set(1, 2, 3, 4)
lost    | 10:01:00 | 0       | broker_set_changed              |           | added_brokers=; deleted_brokers=2,3; bounced_brokers=; live_brokers=1,4
lost    | 10:02:00 | 2       | broker_registered_in_zk         |           | broker=2; broker_epoch=40
lost    | 10:05:00 | 0       | broker_set_changed              |           | added_brokers=; deleted_brokers=4; bounced_brokers=; live_brokers=2,3
lost    | 10:06:00 | 0       | broker_set_changed              |           | added_brokers=4; deleted_brokers=; bounced_brokers=; live_brokers=2,3,4
# all are shut down: 0 notices how 2 and 4 go; of 1, 5 and 6 only their own logs tell, 5's release does not log that it closes
# its session. 3 is back soon, and a later controller does not find 4, that 6 is there
end     | 09:59:00 | 2       | broker_started                  | 2         |
end     | 10:00:00 | 0       | controller_context_live_brokers |           | live_brokers=Set(1, 2, 3, 4, 5, 6)
end     | 10:03:00 | 2       | zk_session_closing              |           |
end     | 10:03:00.01 | 0    | broker_set_changed              |           | added_brokers=; deleted_brokers=2; bounced_brokers=; live_brokers=1,3,4,5,6
end     | 10:03:02 | 2       | broker_stopped                  | 2         |
end     | 10:04:00 | 4       | broker_stopped                  | 4         |
end     | 10:04:01 | 6       | broker_stopped                  | 6         |
end     | 10:05:00 | 0       | controller_context_live_brokers |           | live_brokers=Set(1, 3, 5, 6)
end     | 10:05:59 | 3       | broker_stopped                  | 3         |
end     | 10:06:00 | 3       | broker_starting                 |           |
end     | 10:07:00 | 0       | controlled_shutdown_started     |           | broker=1
end     | 10:08:00 | 1       | zk_session_closing              |           |
end     | 10:08:02 | 1       | broker_stopped                  | 1         |
end     | 10:09:00 | 5       | broker_stopped                  | 5         |
# KRaft: the active controller's word counts. 101 stands by until 10:10; 100 is restarted at 10:20 and reads its past again
kraft   | 10:01:00 | 100     | kraft_broker_registered         |           | broker=1; broker_epoch=7; fenced=true; kind=new
kraft   | 10:01:01 | 100     | kraft_broker_unfenced           |           | broker=1; broker_epoch=7
kraft   | 10:01:02 | 101     | kraft_broker_unfenced           |           | broker=1; broker_epoch=7
kraft   | 10:05:00 | 100     | kraft_broker_fenced             |           | broker=1; broker_epoch=7
kraft   | 10:05:01 | 101     | kraft_broker_fenced             |           | broker=1; broker_epoch=7
kraft   | 10:11:00 | 101     | kraft_broker_unfenced           |           | broker=1; broker_epoch=9
kraft   | 10:20:00 | 100     | kraft_broker_unfenced           |           | broker=1; broker_epoch=7
kraft   | 10:20:00 | 100     | kraft_broker_fenced             |           | broker=1; broker_epoch=7
# 3 and 4 had been there before these logs begin; of 2, which is shut down, nothing tells
kraft   | 10:02:00 | 100     | kraft_broker_registered         |           | broker=3; broker_epoch=7; fenced=true; kind=new_incarnation
kraft   | 10:02:01 | 100     | kraft_broker_unfenced           |           | broker=3; broker_epoch=7
kraft   | 10:02:00 | 100     | kraft_broker_fenced             |           | broker=4; broker_epoch=6
kraft   | 10:02:02 | 100     | kraft_broker_unfenced           |           | broker=4; broker_epoch=6
kraft   | 10:12:00 | 101     | kraft_broker_unfenced           |           | broker=2; broker_epoch=8
kraft   | 10:13:00 | 101     | kraft_broker_controlled_shutdown_granted |  | broker=2
kraft   | 10:14:00 | 101     | kraft_broker_fenced             |           | broker=2; broker_epoch=8
# the metadata version is raised: 6 registers anew as what it is, and stays unfenced
kraft   | 10:02:00 | 100     | kraft_broker_registered         |           | broker=6; broker_epoch=9; fenced=true; kind=new
kraft   | 10:02:01 | 100     | kraft_broker_unfenced           |           | broker=6; broker_epoch=9
kraft   | 10:04:00 | 100     | kraft_broker_registered         |           | broker=6; broker_epoch=9; fenced=false; kind=same_incarnation
# a standby that starts replays a shutdown of long ago
kraft   | 10:04:00 | 102     | kraft_controller_created        |           |
kraft   | 10:04:01 | 102     | kraft_broker_controlled_shutdown_replayed | | broker=1
kraft   | 10:04:02 | 102     | kraft_controller_registered     |           | node_id=102
# 100 was active, but its log is missing. 101, started at 10:03, reads the past until it finds itself: 1 is there, 2 is not
alone   | 10:03:00 | 101     | kraft_controller_created        |           |
alone   | 10:03:01 | 101     | kraft_broker_unfenced           |           | broker=1; broker_epoch=7
alone   | 10:03:01 | 101     | kraft_broker_unfenced           |           | broker=2; broker_epoch=8
alone   | 10:03:02 | 101     | kraft_broker_fenced             |           | broker=1; broker_epoch=7
alone   | 10:03:02 | 101     | kraft_controller_registered     |           | node_id=101
alone   | 10:03:03 | 101     | kraft_broker_unfenced           |           | broker=1; broker_epoch=7
alone   | 10:03:03 | 101     | kraft_broker_fenced             |           | broker=2; broker_epoch=8
alone   | 10:03:04 | 101     | kraft_controller_registered     |           | node_id=101
alone   | 10:03:05 | 102     | kraft_broker_fenced             |           | broker=1; broker_epoch=7
alone   | 10:08:00 | 101     | kraft_broker_fenced             |           | broker=1; broker_epoch=7
# a snapshot that it loads has 3 as unfenced
alone   | 10:03:01 | 101     | kraft_broker_registered         |           | broker=3; broker_epoch=5; fenced=false; kind=new
alone   | 10:08:30 | 101     | kraft_broker_fenced             |           | broker=3; broker_epoch=5
# Kafka 3.3 to 3.5 logs registrations and what the active controller grants, no change of a registration. 100 was there before
# and replays the past; 1 is fenced, returns, is shut down and registers anew; 2 is restarted before its session ends
granted | 10:00:30 | 100     | kraft_broker_registered         |           | broker=1; broker_epoch=7; fenced=true; kind=new
granted | 10:01:00 | 101     | kraft_broker_registered         |           | broker=1; broker_epoch=7; fenced=true; kind=new
granted | 10:01:01 | 101     | kraft_broker_unfence_granted    |           | broker=1; offset=7
granted | 10:05:00 | 101     | kraft_broker_session_timeout    |           | broker=1
granted | 10:05:30 | 101     | kraft_broker_unfence_granted    |           | broker=1; offset=7
granted | 10:06:00 | 101     | kraft_broker_controlled_shutdown_granted |  | broker=1
granted | 10:06:02 | 101     | kraft_broker_shutdown_granted   |           | broker=1; offset=90
granted | 10:07:00 | 101     | kraft_broker_registered         |           | broker=1; broker_epoch=95; fenced=true; kind=new_incarnation
granted | 10:07:01 | 101     | kraft_broker_unfence_granted    |           | broker=1; offset=95
granted | 10:02:00 | 101     | kraft_broker_registered         |           | broker=2; broker_epoch=8; fenced=true; kind=new
granted | 10:02:01 | 101     | kraft_broker_unfence_granted    |           | broker=2; offset=8
granted | 10:03:00 | 101     | kraft_broker_registered         |           | broker=2; broker_epoch=60; fenced=true; kind=new_incarnation
granted | 10:03:01 | 101     | kraft_broker_unfence_granted    |           | broker=2; offset=60
granted | 10:04:00 | 101     | kraft_broker_unfence_granted    |           | broker=3; offset=207
granted | 10:04:01 | 101     | kraft_broker_unfenced           |           | broker=3; broker_epoch=206
granted | 10:02:00 | 101     | kraft_broker_registered         |           | broker=5; broker_epoch=8; fenced=true; kind=new
granted | 10:02:02 | 101     | kraft_broker_unfence_granted    |           | broker=5; offset=10
granted | 10:08:00 | 101     | kraft_broker_unfence_granted    |           | broker=4; offset=300
granted | 10:09:00 | 101     | kraft_broker_immediate_shutdown_granted |   | broker=4
# a migration: KRaft knows 1 and fences it before it decides; from 10:05 on its word counts, and 1 is there
migr    | 10:00:00 | 0       | controller_context_live_brokers |           | live_brokers=Set(1)
migr    | 10:03:00 | 100     | kraft_broker_unfenced           |           | broker=1; broker_epoch=7
migr    | 10:03:30 | 100     | kraft_broker_fenced             |           | broker=1; broker_epoch=7
migr    | 10:04:00 | 100     | kraft_broker_unfenced           |           | broker=1; broker_epoch=8
migr    | 10:06:00 | 100     | kraft_broker_fenced             |           | broker=1; broker_epoch=8
migr    | 10:07:00 | 100     | kraft_broker_unfenced           |           | broker=1; broker_epoch=9
migr    | 10:08:00 | 0       | broker_set_changed              |           | added_brokers=; deleted_brokers=1; bounced_brokers=; live_brokers=
# the only controller of its quorum is restarted at 10:05, replays its past, and is active again from 10:06 on
single  | 10:01:00 | 1       | kraft_broker_unfenced           |           | broker=1; broker_epoch=13
single  | 10:05:00 | 1       | kraft_controller_created        |           |
single  | 10:05:01 | 1       | kraft_broker_fenced             |           | broker=1; broker_epoch=7
single  | 10:05:01 | 1       | kraft_broker_unfenced           |           | broker=1; broker_epoch=13
single  | 10:06:01 | 1       | kraft_broker_fenced             |           | broker=1; broker_epoch=13
single  | 10:06:02 | 1       | kraft_broker_unfenced           |           | broker=1; broker_epoch=45
# up to 3.2 the offset is another one, and the record that follows has the epoch
early   | 10:01:00 | 101     | kraft_broker_unfence_granted    |           | broker=1; offset=40; text=last committed metadata offset
early   | 10:01:00 | 101     | kraft_broker_unfenced           |           | broker=1; broker_epoch=7
early   | 10:02:00 | 101     | kraft_broker_unfence_granted    |           | broker=2; offset=41; text=last committed metadata offset
# a dump has no clock but its records'. This one is the log from its start; of the next what came later, and a snapshot
dump    | 10:00:00 |         | metadata_batch                  |           | offset=0
dump    | 10:01:00 |         | metadata_register_broker        | 1         | broker_epoch=7; offset=7; fenced=true
dump    | 10:02:00 |         | metadata_broker_registration_change | 1     | broker_epoch=7; fenced_change=-1
dump    | 10:03:00 |         | metadata_broker_registration_change | 1     | broker_epoch=7; fenced_change=0; in_controlled_shutdown_change=1
dump    | 10:04:00 |         | metadata_broker_registration_change | 1     | broker_epoch=7; fenced_change=1
dump    | 10:05:00 |         | metadata_unfence_broker         | 1         | broker_epoch=7
later   | 10:01:00 |         | metadata_batch                  |           | offset=90
later   | 10:01:00 |         | metadata_register_broker        | 1         | broker_epoch=90; offset=90; fenced=true
later   | 10:02:00 |         | metadata_unfence_broker         | 1         | broker_epoch=90
snap    | 10:01:00 |         | metadata_batch                  |           | offset=0
snap    | 10:01:00 |         | metadata_register_broker        | 1         | broker_epoch=90; offset=7; fenced=false
snap    | 10:01:00 |         | metadata_register_broker        | 2         | broker_epoch=91; offset=8; fenced=true
snap    | 10:02:00 |         | metadata_unfence_broker         | 2         | broker_epoch=91
"""
ACTIVE = """
cluster | controller_id | controller_epoch | since    | until    | mode
kraft   | 100           | 2                | 10:00:00 | 10:10:00 |
kraft   | 101           | 3                | 10:10:00 | |
alone   | 100           | 2                | 10:00:00 | |
granted | 101           | 2                | 10:00:00 | |
early   | 101           | 2                | 10:00:00 | |
single  | 1             | 2                | 10:00:00 | 10:06:00 |
single  | 1             | 3                | 10:06:00 | |
migr    | 0             | 2                | 10:00:00 | 10:05:00 | zookeeper
migr    | 100           | 1                | 10:02:00 |          | kraft
"""
SPANS = """
cluster | broker | epoch | since    | until    | started_as | ended_by | shutdown_since
zk      | 1      |       | 10:00:00 | 10:04:00 |            | bounced |
zk      | 1      |       | 10:04:00 |          | bounced    | |
zk      | 2      |       | 10:00:00 | 10:02:00 |            | session_expired |
zk      | 2      |       | 10:03:00 | 10:07:00 | returned   | session_expired |
zk      | 2      |       | 10:08:00 |          | returned   | |
zk      | 3      |       | 10:01:00 | 10:06:00 | new        | controlled_shutdown | 10:05:00
own     | 1      | 20    | 10:00:00 | 10:05:00 |            | session_expired |
own     | 1      | 40    | 10:05:00 |          | returned   | |
own     | 2      | 21    | 10:00:00 | 10:06:01 |            | bounced |
own     | 2      | 50    | 10:06:01 |          | bounced    | |
own     | 3      | 30    | 10:01:00 | 10:07:00 | new        | session_expired |
own     | 3      |       | 10:08:01 |          | returned   | |
first   | 1      |       | 10:00:00 | 10:05:00.05 |         | session_expired |
first   | 1      | 40    | 10:05:00.3 |        | returned   | |
first   | 2      |       | 10:00:00 | 10:06:00 |            | session_expired |
first   | 2      | 50    | 10:06:00 | 10:06:01 | returned   | session_expired |
first   | 2      | 60    | 10:07:01 |          | returned   | |
first   | 3      |       | 10:05:00.05 |       |            | |
lost    | 1      |       | 10:00:00 | 10:05:00 |            | session_expired |
lost    | 2      |       | 10:00:00 | 10:01:00 |            | session_expired |
lost    | 2      | 40    | 10:02:00 |          | returned   | |
lost    | 3      |       | 10:00:00 | 10:01:00 |            | session_expired |
lost    | 3      |       | 10:05:00 |          |            | |
lost    | 4      |       | 10:00:00 | 10:05:00 |            | session_expired |
lost    | 4      |       | 10:06:00 |          | returned   | |
end     | 1      |       | 10:00:00 | 10:08:00 |            | controlled_shutdown | 10:07:00
end     | 2      |       | 10:00:00 | 10:03:00.01 |         | session_expired |
end     | 3      |       | 10:00:00 |          |            | |
end     | 4      |       | 10:00:00 | 10:05:00 |            | session_expired |
end     | 5      |       | 10:00:00 | 10:09:00 |            | session_expired |
end     | 6      |       | 10:00:00 |          |            | |
kraft   | 1      | 7     | 10:01:01 | 10:05:00 | new        | fenced |
kraft   | 1      | 9     | 10:11:00 |          | returned   | |
kraft   | 2      | 8     | 10:12:00 | 10:14:00 |            | controlled_shutdown | 10:13:00
kraft   | 3      | 7     | 10:02:01 |          | returned   | |
kraft   | 4      | 6     | 10:02:02 |          | returned   | |
kraft   | 6      | 9     | 10:02:01 |          | new        | |
alone   | 1      | 7     | 10:03:03 | 10:08:00 |            | fenced |
alone   | 3      | 5     | 10:03:01 | 10:08:30 |            | fenced |
granted | 1      | 7     | 10:01:01 | 10:05:00 | new        | fenced |
granted | 1      | 7     | 10:05:30 | 10:06:02 | returned   | controlled_shutdown | 10:06:00
granted | 1      | 95    | 10:07:01 |          | returned   | |
granted | 2      | 8     | 10:02:01 | 10:03:00 | new        | fenced |
granted | 2      | 60    | 10:03:01 |          | returned   | |
granted | 5      | 8     | 10:02:02 |          | new        | |
granted | 3      | 206   | 10:04:00 |          |            | |
granted | 4      | 300   | 10:08:00 | 10:09:00 |            | controlled_shutdown | 10:09:00
migr    | 1      |       | 10:00:00 | 10:06:00 |            | fenced |
migr    | 1      | 9     | 10:07:00 |          | returned   | |
early   | 1      | 7     | 10:01:00 |          |            | |
early   | 2      |       | 10:02:00 |          |            | |
single  | 1      | 13    | 10:01:00 | 10:06:01 |            | fenced |
single  | 1      | 45    | 10:06:02 |          | returned   | |
dump    | 1      | 7     | 10:02:00 | 10:04:00 | new        | controlled_shutdown | 10:03:00
dump    | 1      | 7     | 10:05:00 |          | returned   | |
later   | 1      | 90    | 10:02:00 |          |            | |
snap    | 1      | 90    | 10:01:00 |          |            | |
snap    | 2      | 91    | 10:02:00 |          | returned   | |
"""


DEPOSED = """
at       | node_id | event_type                  | fields
10:00:00 | 8       | broker_set_changed          | added_brokers=1,2; deleted_brokers=; live_brokers=1,2
# 8 is frozen, and 9 takes over; what 8 goes on with, before it knows that, is no shutdown of broker 1
10:05:00 | 9       | controller_context_live_brokers | live_brokers=1,2
10:06:00 | 8       | controlled_shutdown_started | broker=1
10:06:00 | 9       | controlled_shutdown_started | broker=2
"""
AFTER_DEPOSITION = """
controller_id | controller_epoch | since    | until    | mode
8             | 1                | 09:00:00 | 10:05:00 | zookeeper
9             | 2                | 10:05:00 |          | zookeeper
"""


def test_a_controller_that_another_has_replaced_shuts_nobody_down(frame: Frame) -> None:
    spans = to_broker_timeline(frame(EVENTS, DEPOSED), frame(CONTROLLER_TIMELINE, AFTER_DEPOSITION), EvidenceKinds())
    assert {row["broker"]: row["shutdown_since"] is not None for row in spans.collect()} == {1: False, 2: True}


def test_broker_spans(frame: Frame, same: Same) -> None:
    other_offset = F.col("fields")["text"].isNotNull()
    message = F.when(other_offset, F.col("fields")["text"]).otherwise("the offset of its register broker record")
    events = frame(EVENTS, BROKER_EVENTS).withColumn("message", message)
    same(to_broker_timeline(events, frame(CONTROLLER_TIMELINE, ACTIVE), EvidenceKinds()), SPANS)
