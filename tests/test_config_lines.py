"""Which lines tell of settings, of whom, and in which order: CONFIG_CHANGES from events written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.findings.config_changes import to_config_changes
from jobs.timelines.cluster_facts import EvidenceKinds
from schemas.ingest import EVENTS
from schemas.timelines import CONTROLLER_TIMELINE, TOPIC_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

LINES = """
topic | topic_id | at       | node_id | broker_id | file_id | line | event_type              | fields | detail
# ZooKeeper: each broker prints all of a topic's settings; brokers' own, and the default of all
t     |          | 10:00:00 | 1       |           | f       | 1    | topic_config_changed    | config=Map(a -> 1) |
t     |          | 10:05:00 | 1       |           | f       | 2    | topic_config_changed    | config=Map(a -> 2) |
t     |          | 10:05:00 | 2       |           | g       | 8    | topic_config_changed    | config=Map(a -> 2) |
      |          | 10:06:00 | 1       |           | f       | 3    | broker_config_changed   | entity=4; config=Map(b -> 5) |
      |          | 10:07:00 | 1       |           | f       | 4    | broker_config_changed   | entity=<default>; config=Map(b -> 6) |
# KRaft: the active controller replays one setting; 101, which stands by, replays an old one as it starts
k     |          | 10:10:00 | 100     |           | c       | 1    | kraft_config_set        | config_resource_type=TOPIC; config_name=a; config_value=1 |
k     |          | 10:11:00 | 100     |           | c       | 2    | kraft_config_set        | config_resource_type=TOPIC; config_name=a; config_value=2 |
k     |          | 10:12:00 | 101     |           | d       | 1    | kraft_config_set        | config_resource_type=TOPIC; config_name=a; config_value=1 |
      |          | 10:13:00 | 100     | 4         | c       | 3    | kraft_config_set        | config_resource_type=BROKER; config_name=b; config_value=7 |
      |          | 10:14:00 | 100     |           | c       | 4    | kraft_config_set        | config_resource_type=BROKER; config_name=b; config_value=8 |
# a broker of KRaft prints all; which broker wrote the line does not matter
k     |          | 10:15:00 | 5       | 5         | h       | 1    | metadata_config_updated | config=a -> 2,c -> 3 |
      |          | 10:16:00 | 5       | 5         | h       | 2    | metadata_config_updated | entity_type=broker; entity=4; config=b -> 9 |
      |          | 10:17:00 | 5       | 5         | h       | 3    | metadata_config_updated | config= |
# with its topic all of this goes
gone  |          | 10:20:00 | 5       | 5         | h       | 4    | metadata_config_updated | config=a -> 1 |
gone  |          | 10:30:01 | 5       | 5         | h       | 5    | metadata_config_updated | config= |
# a broker that starts prints what its own log still has of a topic that is gone
gone  |          | 10:31:00 | 6       | 6         | i       | 1    | metadata_config_updated | config=a -> 1 |
# one of ZooKeeper prints the settings of the next topic before that is there
next  |          | 10:32:00 | 1       |           | f       | 6    | topic_config_changed    | config=Map(a -> 1) |
# a dump's record without a value removes
k     |          | 10:40:00 |         |           | m       | 1    | metadata_config         | config_resource_type=TOPIC; config_name=c |
# a new log shows what is in force for its topic, which is not what is set; a node prints all, which is not what is set of it
new   |          | 10:50:00 | 1       |           | f       | 7    | replica_log_created     | min_insync_replicas=2 |
new   |          | 10:50:00 | 2       |           | g       | 9    | replica_log_created     | min_insync_replicas=2 |
plain |          | 10:50:01 | 1       |           | f       | 8    | replica_log_created     | |
      |          | 10:51:00 | 4       |           | j       | 1    | kafka_config_printed    |        | min.insync.replicas = 1
      |          | 10:51:00 |         |           | n       | 1    | kafka_config_printed    |        | min.insync.replicas = 3
"""  # noqa: E501
CHANGES = """
resource_type | topic | resource  | name | at       | previous_value | value | first_seen | evidence
topic         | t     |           | a    | 10:00:00 |                | 1     | true       | 1@f:1
topic         | t     |           | a    | 10:05:00 | 1              | 2     | false      | 1@f:2
broker        |       | 4         | b    | 10:06:00 |                | 5     | true       | 1@f:3
broker        |       | <default> | b    | 10:07:00 |                | 6     | true       | 1@f:4
topic         | k     |           | a    | 10:10:00 |                | 1     | true       | 100@c:1
topic         | k     |           | a    | 10:11:00 | 1              | 2     | false      | 100@c:2
broker        |       | 4         | b    | 10:13:00 | 5              | 7     | false      | 100@c:3
broker        |       | <default> | b    | 10:14:00 | 6              | 8     | false      | 100@c:4
topic         | k     |           | c    | 10:15:00 |                | 3     | true       | 5@h:1
broker        |       | 4         | b    | 10:16:00 | 7              | 9     | false      | 5@h:2
broker        |       | <default> | b    | 10:17:00 | 8              |       | false      | 5@h:3
topic         | gone  |           | a    | 10:20:00 |                | 1     | true       | 5@h:4
topic         | next  |           | a    | 10:32:00 |                | 1     | true       | 1@f:6
topic         | k     |           | c    | 10:40:00 | 3              |       | false      | @m:1
new_log       | new   |           | min.insync.replicas | 10:50:00 |  | 2     | true       | 1@f:7
new_log       | plain |           | min.insync.replicas | 10:50:01 |  |       | true       | 1@f:8
kafka_config  |       | 4         | min.insync.replicas | 10:51:00 |  | 1     | true       | 4@j:1
"""


def test_changes_of_settings(frame: Frame, same: Same) -> None:
    topics = frame(
        TOPIC_TIMELINE,
        "topic | incarnation | since | deletion_started | until\n"
        "t | 0 | 09:00:00 | |\nk | 0 | 09:00:00 | |\ngone | 0 | 09:00:00 | 10:29:00 | 10:30:00\n"
        "next | 0 | 09:00:00 | 10:30:00 | 10:31:00\nnext | 1 | 10:32:00.1 | |\n"
        "new | 0 | 10:49:00 | |\nplain | 0 | 10:49:00 | |",
    )
    controllers = frame(CONTROLLER_TIMELINE, "controller_id | controller_epoch | since\n100 | 1 | 09:00:00")
    events = frame(EVENTS, LINES)
    same(to_config_changes(events, topics, controllers, EvidenceKinds()), CHANGES)
