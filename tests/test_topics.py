"""Incarnations of topics from events written by hand; a case is a topic of its own, all are one frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.topics import to_topic_timeline
from schemas.ingest import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import Column

    from tests.conftest import Frame, Same

TOPIC_EVENTS = """
topic   | at       | event_type                   | topic_id | partition
# without ids: the controller's line that a deletion is complete ends an incarnation, whatever brokers still log
twice   | 10:00:00 | partition_state_change       |          | 0
twice   | 10:00:01 | partition_state_change       |          | 2
twice   | 10:05:00 | topic_deletion_started       |          |
twice   | 10:06:00 | topic_deletion_completed     |          |
twice   | 10:06:01 | metadata_cache_partition_deleted |      | 0
twice   | 10:07:00 | partition_state_change       |          | 0
gone    | 10:00:00 | partition_state_change       |          | 0
gone    | 10:05:00 | topic_deletion_started       |          |
gone    | 10:06:00 | topic_deletion_completed     |          |
gone    | 10:06:01 | metadata_cache_partition_deleted |      | 0
# no line of the deletion: 2 had dropped it and is sent it again, 3's epochs went back; created again: 2 incarnations
unseen  | 10:00:00 | metadata_cache_updated       |          | 0
unseen  | 10:05:00 | metadata_cache_partition_deleted |      | 0
unseen  | 10:07:00 | metadata_cache_updated       |          | 0
unseen  | 10:00:01 | metadata_cache_updated       |          | 0
unseen  | 10:07:01 | metadata_cache_updated       |          | 0
# with ids: an id is an incarnation
ids     | 10:00:00 | kraft_topic_created          | T1       |
ids     | 10:00:00 | kraft_partition_created      | T1       | 0
ids     | 10:05:00 | kraft_topic_removed          | T1       |
ids     | 10:06:00 | kraft_topic_created          | T2       |
# a controller that starts replays what was long ago; a leader's line tells that the second one was there before
replayed | 10:00:00 | partition_leader_epoch_started | T8     | 0
replayed | 10:09:00 | kraft_topic_created          | T7       |
replayed | 10:09:00 | kraft_topic_removed          | T7       |
replayed | 10:09:01 | kraft_topic_created          | T8       |
# a deletion of which a log begins in the middle: a broker dropped the partition before the controller's first line
amid    | 10:00:00 | metadata_cache_partition_deleted |      | 0
amid    | 10:00:01 | partition_state_change       |          | 0
amid    | 10:00:02 | partition_state_change_to_nothing |     | 0
amid    | 10:05:00 | partition_state_change_to_new |         | 0
amid    | 10:05:01 | metadata_cache_updated       |          | 0
# what ends it is in no line, and what a broker dropped was the topic before
before  | 10:00:00 | metadata_cache_partition_deleted |      | 0
before  | 10:00:01 | partition_state_change       |          | 0
before  | 10:05:00 | partition_state_change_to_new |         | 0
before  | 10:05:01 | metadata_cache_updated       |          | 0
# whoever asked for it: a topic that is never created is none, and one that is has the partitions that it got
refused | 10:00:00 | kraft_create_topics_result   |          |
asked   | 10:00:00 | kraft_create_topics_result   |          |
fewer   | 10:00:00 | kraft_topic_created          | T3       |
fewer   | 10:00:00 | kraft_partition_created      | T3       | 5
fewer   | 10:05:00 | kraft_topic_removed          | T3       |
fewer   | 10:06:00 | kraft_topic_created          | T4       |
fewer   | 10:06:00 | kraft_partition_created      | T4       | 3
fewer   | 10:07:00 | log_truncated                |          | 5
# what a broker finds on its disk does not make a topic, nor give it partitions
twice   | 10:09:00 | log_loaded                   |          | 9
stray   | 10:00:00 | log_loaded                   |          | 0
# KRaft's own log is no topic
__cluster_metadata | 10:00:00 | log_truncated      |          | 0
# a broker that starts creates what is long there, before the controller replays the topic before
restarted | 10:00:00 | kraft_partition_created     | T10      | 0
restarted | 10:09:00 | kraft_topic_created         | T9       |
restarted | 10:09:00 | kraft_topic_removed         | T9       |
restarted | 10:09:01 | kraft_topic_created         | T10      |
# one broker's log: it leads the first one, whose creation is in no line, and what it finds of it later is left over
leads   | 10:00:00 | partition_leader_epoch_started | T11    | 0
leads   | 10:05:00 | kraft_partition_created      | T12      | 1
leads   | 10:06:00 | stray_partition_found        | T11      | 0
"""
TOPICS = """
topic | incarnation | topic_id | since    | deletion_started | until    | partitions | evidence
twice | 0           |          | 10:00:00 | 10:05:00         | 10:06:00 | 3          | 1@f:1,1@f:4
twice | 1           |          | 10:07:00 |                  |          | 1          | 1@f:6
gone  | 0           |          | 10:00:00 | 10:05:00         | 10:06:00 | 1          | 1@f:7,1@f:9
unseen | 0          |          | 10:00:00 | 10:05:00         | 10:05:00 | 1          | 2@f:11,2@f:12
unseen | 1          |          | 10:07:00 |                  |          | 1          | 2@f:13
ids   | 0           | T1       | 10:00:00 | 10:05:00         | 10:05:00 | 1          | 1@f:16,1@f:17,1@f:18
ids   | 1           | T2       | 10:06:00 |                  |          |            | 1@f:19
replayed | 0        | T7       | 10:00:00 | 10:00:00         | 10:00:00 |            | 1@f:21,1@f:22
replayed | 1        | T8       | 10:00:00 |                  |          | 1          | 1@f:23
amid  | 0           |          | 10:00:01 |                  | 10:00:02 | 1          | 1@f:25,1@f:26
amid  | 1           |          | 10:05:00 |                  |          | 1          | 1@f:27
before | 0          |          | 10:00:01 |                  | 10:05:00 | 1          | 1@f:30
before | 1          |          | 10:05:00 |                  |          | 1          | 1@f:31
asked | 0           |          | 10:00:00 |                  |          |            | 1@f:34
fewer | 0           | T3       | 10:00:00 | 10:05:00         | 10:05:00 | 6          | 1@f:35,1@f:36,1@f:37
fewer | 1           | T4       | 10:06:00 |                  |          | 4          | 1@f:38,1@f:39
restarted | 0       | T9       | 10:00:00 | 10:00:00         | 10:00:00 |            | 1@f:45,1@f:46
restarted | 1       | T10      | 10:00:00 |                  |          | 1          | 1@f:44,1@f:47
leads | 0           | T11      | 10:00:00 | 10:05:00         | 10:05:00 | 1          | 1@f:48
leads | 1           | T12      | 10:05:00 |                  |          | 2          | 1@f:49
"""


def test_incarnations(frame: Frame, same: Same) -> None:
    """Of `unseen` lines 11 to 13 are broker 2's, with leader epoch 0, 14 and 15 broker 3's, with 2 and then 0."""
    kind = F.col("event_type")

    def field(name: str, value: str) -> Column:
        return F.create_map(F.lit(name), F.lit(value))

    is_cached = (kind == "metadata_cache_updated") & F.col("topic").isin("amid", "before")
    ours, epoch = F.col("topic") == "unseen", F.when(F.col("line") == 14, 2).otherwise(0)
    events = frame(EVENTS, TOPIC_EVENTS).withColumns(
        {
            "node_id": F.when(ours, F.when(F.col("line") < 14, 2).otherwise(3)).otherwise(F.col("node_id")),
            "leader": F.when((ours & (F.col("line") != 12)) | is_cached, 1),
            "leader_epoch": F.when((ours & (F.col("line") != 12)) | is_cached, epoch),
            "controller_epoch": F.when(ours | is_cached, 1),
            "fields": F.when(kind.endswith("_to_new"), field("to_state", "NewPartition"))
            .when(kind.endswith("_to_nothing"), field("to_state", "NonExistentPartition"))
            .when(F.col("topic") == "refused", field("result", "INVALID_REPLICATION_FACTOR"))
            .when(F.col("topic") == "asked", field("result", "SUCCESS")),
        }
    )
    events = events.withColumn("event_type", F.regexp_replace("event_type", "_to_(new|nothing)$", ""))
    same(to_topic_timeline(events), TOPICS)


GIVEN_UP = """
topic  | at       | node_id | event_type                 | partition | leader_epoch
# only brokers' own logs: 1 gives up its replica, and 2 begins to lead at leader epoch 0: created again
anew   | 10:00:00 | 1       | leader_epoch_started       | 0         | 0
anew   | 10:01:00 | 1       | leader_epoch_started       | 0         | 3
anew   | 10:05:00 | 1       | replica_deletion_scheduled | 0         |
anew   | 10:06:00 | 2       | leader_epoch_started       | 0         | 0
anew   | 10:07:00 | 1       | leader_epoch_started       | 0         | 1
# the partition was reassigned, which raises the leader epoch
moved  | 10:00:00 | 1       | leader_epoch_started       | 0         | 0
moved  | 10:05:00 | 1       | replica_deletion_scheduled | 0         |
moved  | 10:06:00 | 2       | leader_epoch_started       | 0         | 2
# epoch 0 began on another node's clock before, and nobody gave up anything
behind | 10:00:00 | 1       | leader_epoch_started       | 0         | 1
behind | 10:00:01 | 2       | leader_epoch_started       | 0         | 0
"""
OF_THEIR_OWN = """
topic  | incarnation | since    | until
anew   | 0           | 10:00:00 | 10:06:00
anew   | 1           | 10:06:00 |
moved  | 0           | 10:00:00 |
behind | 0           | 10:00:00 |
"""


def test_a_leader_that_begins_anew_shows_a_new_incarnation(frame: Frame, same: Same) -> None:
    same(to_topic_timeline(frame(EVENTS, GIVEN_UP)), OF_THEIR_OWN)


GROUPS_GIVE_UP = """
topic  | at       | node_id | event_type                 | partition | leader_epoch
# the controller's log is missing: what brokers did with committed offsets tells that the deletion began
gone   | 10:00:00 | 1       | leader_epoch_started       | 0         | 0
       | 10:05:00 | 2       | group_offsets_removed      |           |
       | 10:05:01 | 3       | group_offsets_removed      |           |
# and then 2 leads it in its first leader epoch
again  | 10:00:00 | 1       | leader_epoch_started       | 0         | 0
again  | 10:05:02 | 1       | replica_deletion_scheduled | 0         |
again  | 10:06:00 | 2       | leader_epoch_started       | 0         | 0
# the controller reports when it was done; brokers say so before, and once more as it tries again
known  | 10:00:00 | 1       | leader_epoch_started       | 0         | 0
known  | 10:04:00 | 1       | topic_deletion_started     |           |
known  | 10:07:00 | 1       | topic_deletion_completed   |           |
"""
OF_GROUPS = """
topic | incarnation | since    | deletion_started | until    | partitions | deletion_evidence
gone  | 0           | 10:00:00 | 10:05:00         |          | 1          | 2@f:2
again | 0           | 10:00:00 | 10:05:00         | 10:05:01 | 1          | 2@f:2
again | 1           | 10:06:00 |                  |          | 1          |
known | 0           | 10:00:00 | 10:04:00         | 10:07:00 | 1          | 1@f:8
"""


def test_brokers_give_up_what_groups_committed_of_a_topic_whose_deletion_began(frame: Frame, same: Same) -> None:
    """Each line names all partitions of the topics, also those of which no other line tells."""
    names = [
        f'{{"topic": "{topic}", "partition": {number}}}' for topic in ("gone", "again", "known") for number in (0, 4)
    ]
    listed = F.from_json(F.lit(f"[{', '.join(names)}]"), EVENTS.schema["partitions"].dataType.simpleString())
    events = frame(EVENTS, GROUPS_GIVE_UP)
    events = events.withColumn("partitions", F.when(F.col("event_type") == "group_offsets_removed", listed))
    same(to_topic_timeline(events), OF_GROUPS)


CREATED_AGAIN = """
topic  | at       | node_id | event_type                     | partition | leader_epoch | fields
# nobody's log of the deletion is there. 1 had led, and as controller creates what it does not know any more
again  | 10:00:00 | 1       | partition_leader_epoch_started | 0         | 0            |
again  | 10:05:00 | 1       | replica_removed_from_isr       | 0         | 1            |
again  | 10:06:00 | 1       | partition_state_change         | 0         |              | to_state=NewPartition
again  | 10:06:01 | 1       | partition_state_change         | 0         | 0            | to_state=OnlinePartition
again  | 10:06:02 | 1       | partition_leader_epoch_started | 0         | 0            |
# it creates a partition more
more   | 10:00:00 | 1       | partition_leader_epoch_started | 0         | 0            |
more   | 10:06:00 | 1       | partition_state_change         | 1         |              | to_state=NewPartition
# 2 leads what 1 creates, and its clock is behind
behind | 10:05:59 | 2       | partition_leader_epoch_started | 0         | 0            |
behind | 10:06:00 | 1       | partition_state_change         | 0         |              | to_state=NewPartition
"""
OF_CREATIONS = """
topic  | incarnation | until
again  | 0           | 10:06:00
again  | 1           |
more   | 0           |
behind | 0           |
"""


def test_who_creates_a_partition_that_its_node_knew_shows_a_new_incarnation(frame: Frame, same: Same) -> None:
    same(to_topic_timeline(frame(EVENTS, CREATED_AGAIN)), OF_CREATIONS)


OTHER_IDS = """
topic | at       | node_id | event_type                     | partition | topic_id | leader_epoch
# a leader begins with another topic id, of a partition that the topic before had elsewhere
other | 10:00:00 | 1       | log_loaded                     | 2         | T1       |
other | 10:01:00 | 1       | partition_leader_epoch_started | 2         | T1       | 3
other | 10:06:00 | 1       | partition_leader_epoch_started | 0         | T2       | 0
other | 10:07:00 | 1       | log_loaded                     | 2         | T1       |
other | 10:08:00 | 1       | partition_leader_epoch_started | 0         | T2       | 1
# the controller logs when it was deleted; what a broker still had on its disk then was no other topic
down  | 10:01:00 | 2       | topic_deletion_completed       |           |          |
down  | 10:02:00 | 1       | log_loaded                     | 0         | T3       |
down  | 10:03:00 | 1       | partition_leader_epoch_started | 0         | T4       | 0
# one id
same  | 10:00:00 | 1       | log_loaded                     | 0         | T5       |
same  | 10:01:00 | 1       | partition_leader_epoch_started | 0         | T5       | 3
"""
OF_THEIR_IDS = """
topic | incarnation | topic_id
other | 0           | T1
other | 1           | T2
down  | 0           |
down  | 1           | T4
same  | 0           | T5
"""


def test_another_topic_id_shows_a_new_incarnation(frame: Frame, same: Same) -> None:
    same(to_topic_timeline(frame(EVENTS, OTHER_IDS)).select("topic", "incarnation", "topic_id"), OF_THEIR_IDS)


DELETED_TOPICS = """
topic   | at       | line | node_id | event_type                       | topic_id | partition
# the controller's word, and not the line of the topic's creation, nor of its end
told    | 10:00:00 | 1    | 1       | partition_state_change           |          | 0
told    | 10:05:00 | 2    | 2       | topic_deletion_started           |          |
told    | 10:05:01 | 3    | 2       | metadata_cache_partition_deleted |          | 0
told    | 10:06:00 | 4    | 2       | topic_deletion_completed         |          |
# no controller says so: the first broker that dropped it
dropped | 10:00:00 | 5    | 1       | metadata_cache_updated           |          | 0
dropped | 10:05:01 | 6    | 2       | metadata_cache_partition_deleted |          | 0
dropped | 10:05:02 | 7    | 1       | metadata_cache_partition_deleted |          | 0
there   | 10:00:00 | 8    | 1       | partition_state_change           |          | 0
# in KRaft it is gone as it is deleted
ids     | 10:00:00 | 9    | 100     | kraft_topic_created              | T1       |
ids     | 10:05:00 | 10   | 100     | kraft_topic_removed              | T1       |
stays   | 10:00:00 | 11   | 100     | kraft_topic_created              | T2       |
"""
DELETIONS = """
topic   | deletion_started | deletion_evidence
told    | 10:05:00         | 2@f:2
dropped | 10:05:01         | 2@f:6
there   |                  |
ids     | 10:05:00         | 100@f:10
stays   |                  |
"""


def test_the_line_of_a_deletion_is_the_one_that_began_it(frame: Frame, same: Same) -> None:
    same(to_topic_timeline(frame(EVENTS, DELETED_TOPICS).withColumn("file_id", F.lit("f"))), DELETIONS)
