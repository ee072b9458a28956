"""What a line states of a partition; events written by hand, one frame for all cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from jobs.timelines.observations import (
    ids_of,
    printed_ids,
    to_listed_observations,
    to_observations,
    to_selected_observations,
    to_unnumbered_observations,
)
from schemas.ingest import EVENTS
from udfs.rules.parsing import read_message

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import Frame, Same

# every case is a topic of its own
LOGGED = """
topic      | partition | event_type                      | node_id | broker_id | controller_epoch | leader | leader_epoch | partition_epoch | isr     | replicas | fields
# a controller's decision, and the request that carries another's: the state's own epoch counts
decided    | 0         | partition_state_change          | 0       |           | 4                | 2      | 1            | 3               | 3,2     | 2,3      | to_state=OnlinePartition
resent     | 0         | leader_and_isr_request_sent     | 0       |           | 5                | 2      | 1            | 3               | 2,3     | 2,3      | state_controller_epoch=4
# the assignment that a reassignment is about to write is not that of the state
coming     | 0         | reassignment_leader_and_isr_sent | 0      |           | 4                | 2      | 1            | 3               | 2,3     | 2,4      |
# a change of state that names no partition epoch is no observation
planned    | 0         | partition_state_change          | 0       |           | 4                |        |              |                 |         | 2,3      | to_state=NewPartition
# neither is a topic under deletion, nor an intention
deleted    | 0         | update_metadata_request_sent    | 0       |           | 4                | -2     | 1            | 3               | 2       | 2,3      |
wanted     | 0         | isr_shrinking                   | 2       | 2         |                  |        |              |                 | 2       |          |
# no leader is a state
offline    | 0         | metadata_cache_updated          | 3       |           | 4                | -1     | 2            | 4               | 2       | 2,3      |
# what the leader reports of itself: the node that writes leads
reported   | 0         | isr_updated                     | 2       | 2         | 4                |        |              | 5               | 3,2     |          |
started    | 0         | partition_leader_epoch_started  | 2       | 2         | 4                |        | 6            | 7               | 2       | 2,3      |
# the node is not known by its prefix, but by the text
unsigned   | 0         | isr_updated                     |         | 2         |                  |        |              | 5               | 2       |          |
"""
OBSERVED = """
topic      | leader | leader_epoch | partition_epoch | controller_epoch | isr | replicas | by_leader | keeps_leader | keeps_isr
decided    | 2      | 1            | 3               | 4                | 2,3 | 2,3      |           |              |
resent     | 2      | 1            | 3               | 4                | 2,3 | 2,3      |           |              |
coming     | 2      | 1            | 3               | 4                | 2,3 |          |           |              |
offline    | -1     | 2            | 4               | 4                | 2   | 2,3      |           |              |
reported   | 2      |              | 5               |                  | 2,3 |          | true      | true         |
started    | 2      | 6            | 7               |                  | 2   | 2,3      | false     |              |
unsigned   | 2      |              | 5               |                  | 2   |          | true      | true         |
"""


def test_logged_states(frame: Frame, same: Same) -> None:
    same(to_observations(frame(EVENTS, LOGGED)), OBSERVED)


# `isr: [1, 2] -> [2], leader: 1 -> 2, ...` states both; a part that is absent was kept
CHANGES = """
topic | partition | event_type                      | leader | leader_epoch | partition_epoch | isr | fields
moved | 0         | kraft_partition_changed         | 2      | 4            | 8               | 2   | old_leader=1; old_leader_epoch=3; old_partition_epoch=7; old_isr=[1, 2]; elr=[1]; old_elr=[]
shrunk| 0         | kraft_partition_changed         |        |              | 8               | 2   | old_partition_epoch=7; old_isr=[1, 2]
elr   | 0         | kraft_partition_changed         |        |              | 8               |     | old_partition_epoch=7; elr=[]; old_elr=[3]; last_known_elr=[3]; old_last_known_elr=[]
lost  | 0         | kraft_partition_changed_unclean | 3      | 4            | 8               | 3   | old_leader=-1; old_leader_epoch=3; old_partition_epoch=7; old_isr=[]
"""
CHANGED = """
topic | leader | leader_epoch | partition_epoch | isr | elr | last_known_elr | keeps_leader | keeps_isr | keeps_elr | keeps_last_known_elr
moved | 1      | 3            | 7               | 1,2 | []  |                |              |           |           |
moved | 2      | 4            | 8               | 2   | 1   |                | false        | false     | false     | true
shrunk|        |              | 7               | 1,2 |     |                |              |           |           |
shrunk|        |              | 8               | 2   |     |                | true         | false     | true      | true
elr   |        |              | 7               |     | 3   | []             |              |           |           |
elr   |        |              | 8               |     | []  | 3              | true         | true      | false     | false
lost  | -1     | 3            | 7               | []  |     |                |              |           |           |
lost  | 3      | 4            | 8               | 3   |     |                | false        | false     | true      | true
"""


def test_change_lines_state_before_and_after(frame: Frame, same: Same) -> None:
    same(to_observations(frame(EVENTS, CHANGES)), CHANGED)


# Until 1.0 few lines name a partition epoch
UNNUMBERED = """
topic     | partition | event_type                      | node_id | controller_epoch | leader | leader_epoch | partition_epoch | isr | replicas | message | fields
sent      | 0         | leader_and_isr_request_sent     | 0       | 4                | 2      | 1            |                 | 3,2 |          | Controller 0 epoch 4 sending LeaderAndIsr request (Leader:2,ISR:3,2 | state_controller_epoch=3
removed   | 0         | controller_isr_removed          | 0       |                  | -1     | 2            |                 | 2   |          | New leader and ISR |
refreshed | 0         | leader_epoch_updated            | 0       |                  |        | 3            |                 |     |          | Updated leader epoch |
# from 2.6 to 3.2 a leader prints what it was sent; before, only the leader epoch
begun     | 0         | partition_leader_epoch_started  | 2       |                  |        | 1            |                 | 3,2 |          | Leader begun-0 starts |
begins    | 0         | leader_epoch_started            | 2       |                  |        | 1            |                 |     |          | begins-0 starts |
# these have a partition epoch, or are no state
numbered  | 0         | leader_and_isr_request_sent     | 0       | 4                | 2      | 1            | 7               | 2   |          | Sending |
numbered  | 0         | partition_leader_epoch_started  | 2       |                  |        | 1            | 7               | 2   |          | Leader |
numbered  | 0         | leader_epoch_updated            | 0       | 4                |        | 1            | 7               |     |          | Updated |
deleted   | 0         | update_metadata_request_sent    | 0       | 4                | -2     | 1            |                 | 2   |          | Sending |
chosen    | 0         | offline_election_selected       | 0       | 4                | 2      | 1            |                 | 2   |          | Selected new leader and ISR |
# 0.10's brokers print the assignment as a set; others print it in its order
set       | 0         | leader_and_isr_request_received | 2       | 4                | 2      | 1            |                 | 2   | 3,2      | Broker 2 received LeaderAndIsr request PartitionState(controllerEpoch=4, replicas=[3, 2]) |
list      | 0         | leader_and_isr_request_received | 2       | 4                | 2      | 1            |                 | 2   | 3,2      | Broker 2 received LeaderAndIsr request PartitionState(controllerEpoch=4, replicas=3,2, isNew=false) |
cached    | 0         | metadata_cache_updated          | 2       | 4                | 2      | 1            |                 | 2   | 3,2      | Broker 2 cached leader info (AllReplicas:3,2) for partition cached-0 |
cached_09 | 0         | metadata_cache_updated          | 2       | 4                | 2      | 1            |                 | 2   | 3,2      | Broker 2 cached leader info (AllReplicas:3,2) for partition [cached_09,0] |
"""
OBSERVED_WITHOUT_EPOCH = """
topic     | leader | leader_epoch | controller_epoch | isr | replicas
sent      | 2      | 1            | 3                | 2,3 |
removed   | -1     | 2            |                  | 2   |
refreshed |        | 3            |                  |     |
begun     | 2      | 1            |                  | 2,3 |
set       | 2      | 1            | 4                | 2   |
list      | 2      | 1            | 4                | 2   | 3,2
cached    | 2      | 1            | 4                | 2   |
cached_09 | 2      | 1            | 4                | 2   | 3,2
"""


def test_states_without_partition_epoch(frame: Frame, same: Same) -> None:
    same(to_unnumbered_observations(frame(EVENTS, UNNUMBERED)), OBSERVED_WITHOUT_EPOCH)


SELECTED_STATES = """
topic   | partition | at       | event_type                | node_id | leader | leader_epoch | isr | fields
# at INFO nothing else shows the election; what was selected at first could not be written
chosen  | 0         | 10:00:00 | offline_election_selected | 0       | 2      | 1            | 2,3 |
chosen  | 0         | 10:00:01 | offline_election_selected | 0       | 3      | 1            | 3   |
chosen  | 0         | 10:05:00 | offline_election_selected | 0       | 2      | 3            | 2   |
# at TRACE the controller logs what it wrote
written | 0         | 10:00:00 | offline_election_selected | 0       | 2      | 1            | 2   |
written | 0         | 10:00:01 | partition_state_change    | 0       | 2      | 1            | 2   | to_state=OnlinePartition
written | 0         | 10:05:00 | offline_election_selected | 0       | 2      | 3            | 2   |
# a first state (DEBUG), and that of a topic that was created anew
created | 0         | 10:00:00 | partition_init_leader_and_isr | 0   | 1      | 0            | 2,1 |
created | 0         | 10:00:01 | partition_init_leader_and_isr | 0   | 2      | 0            | 2   |
"""
OBSERVED_SELECTIONS = """
topic  | at       | leader | leader_epoch | partition_epoch | isr
chosen | 10:00:01 | 3      | 1            |                 | 3
chosen | 10:05:00 | 2      | 3            |                 | 2
created | 10:00:00 | 1     | 0            |                 | 1,2
created | 10:00:01 | 2     | 0            |                 | 2
"""


def test_states_that_controllers_are_about_to_write(frame: Frame, same: Same) -> None:
    same(to_selected_observations(frame(EVENTS, SELECTED_STATES)), OBSERVED_SELECTIONS)


def test_states_that_controllers_list(frame: Frame, same: Same) -> None:
    """With or without partition epoch; a topic that is being deleted, and what lacks the ISR, are no state."""
    listed = [
        ("cache", 0, 2, 5, None, [3, 2]),
        ("cache", 1, -1, 5, 9, [3]),
        ("cache", 2, -2, 5, 9, [3]),
        ("cache", 3, 2, 5, 9, None),
    ]
    one = "named_struct('topic', '{}', 'partition', {}, 'leader', {}, 'leader_epoch', {}, 'partition_epoch', {}, 'isr', {})"
    array = ", ".join(
        one.format(
            *(f"array({', '.join(map(str, v))})" if isinstance(v, list) else "null" if v is None else v for v in row)
        )
        for row in listed
    )
    texts = "event_type | message\ncontroller_all_leaders | [Controller id=1] All leaders = cache-0 -> (Leader:2"
    event = frame(EVENTS, texts).drop("partitions")
    events = event.withColumn("partitions", F.expr(f"array({array})"))
    same(
        to_listed_observations(events),
        """topic | partition | leader | leader_epoch | partition_epoch | isr | is_by_comma
           cache | 0         | 2      | 5            |                 | 2,3 | false
           cache | 1         | -1     | 5            | 9               | 3   | false""",
    )
    bracketed = "[Controller 1]: After leader election, leader cache is updated to Map([cache,0] -> (Leader:2"
    until_0_10 = to_listed_observations(events.withColumn("message", F.lit(bracketed)))
    assert {row["is_by_comma"] for row in until_0_10.collect()} == {True}


# KRaft names the topic by its id alone where it prints the state before an election
ELECTED = """
topic | topic_id | partition | event_type                  | leader | leader_epoch | partition_epoch | isr | fields
pay   | T1       | 3         | kraft_topic_created         |        |              |                 |     |
      | T1       | 3         | kraft_leader_elected_elr    | 3      |              |                 |     | previous_leader=-1; previous_leader_epoch=4; previous_partition_epoch=8; previous_isr=[]; previous_elr=[3, 1]; previous_replicas=[3, 1, 2]
      | T2       | 0         | kraft_leader_elected_elr    | 3      |              |                 |     | previous_leader=-1; previous_leader_epoch=1; previous_partition_epoch=2; previous_isr=[]; previous_elr=[3]
"""


def test_the_state_before_an_election(frame: Frame, same: Same) -> None:
    """A topic id that no line names stays out."""
    same(
        to_observations(frame(EVENTS, ELECTED)),
        "topic | partition | leader | leader_epoch | partition_epoch | isr | elr | replicas\n"
        "pay | 3 | -1 | 4 | 8 | [] | 1,3 | 3,1,2",
    )


# A dump: epochs start with the partition record, and each change adds 1; T1 is deleted and another topic is born.
# Lines lie as two nodes' dumps have them: the same records twice.
DUMP = """
file_id | line | logger         | event_type                | topic | topic_id | partition | leader | leader_epoch | partition_epoch | isr | replicas | fields
a       | 1    | kafka-dump-log | metadata_topic            | pay   | T1       |           |        |              |                 |     |          | offset=10
a       | 2    | kafka-dump-log | metadata_partition        |       | T1       | 0         | 3      | 5            | 20              | 1,3 | 3,1      | offset=11
a       | 3    | kafka-dump-log | metadata_partition_change |       | T1       | 0         |        |              |                 | 3   |          | offset=12
a       | 4    | kafka-dump-log | metadata_partition_change |       | T1       | 0         | -1     |              |                 | []  |          | offset=13; elr=[3]
a       | 5    | kafka-dump-log | metadata_partition_change |       | T1       | 0         | 3      |              |                 | 3   |          | offset=14; elr=[]
b       | 1    | kafka-dump-log | metadata_partition_change |       | T1       | 0         | 3      |              |                 | 3   |          | offset=14; elr=[]
b       | 2    | kafka-dump-log | metadata_partition_change |       | T1       | 0         |        |              |                 |     | 3,2      | offset=9000
b       | 3    | kafka-dump-log | metadata_topic            | pay   | T2       |           |        |              |                 |     |          | offset=9001
b       | 4    | kafka-dump-log | metadata_partition        |       | T2       | 0         | 1      | 0            | 0               | 1   | 1        | offset=9002
"""
DUMPED = """
topic | topic_id | partition | leader | leader_epoch | partition_epoch | isr | elr | replicas
pay   | T1       | 0         | 3      | 5            | 20              | 1,3 | []  | 3,1
pay   | T1       | 0         | 3      | 5            | 21              | 3   | []  | 3,1
pay   | T1       | 0         | -1     | 6            | 22              | []  | 3   | 3,1
pay   | T1       | 0         | 3      | 7            | 23              | 3   | []  | 3,1
pay   | T1       | 0         | 3      | 7            | 24              | 3   | []  | 3,2
pay   | T2       | 0         | 1      | 0            | 0               | 1   | []  | 1
"""


def test_dump_records_are_replayed(frame: Frame, same: Same) -> None:
    """An absent leader is unchanged, and each record adds 1 to the partition epoch."""
    same(to_observations(frame(EVENTS, DUMP)), DUMPED)


# T1 and T2 have an eligible leader replica when `min.insync.replicas` of T1's topic changes, then that of all topics;
# T3, of another topic, has none, and T0 is gone.
CLEARED = """
file_id | line | logger         | event_type                | topic | topic_id | partition | leader | leader_epoch | partition_epoch | isr | replicas | fields
a       | 1    | kafka-dump-log | metadata_topic            | pay   | T0       |           |        |              |                 |     |          | offset=1
a       | 2    | kafka-dump-log | metadata_partition        |       | T0       | 0         | 3      | 0            | 0               | 3   | 3,1      | offset=2; elr=[1]
a       | 3    | kafka-dump-log | metadata_remove_topic     |       | T0       |           |        |              |                 |     |          | offset=3
a       | 4    | kafka-dump-log | metadata_topic            | pay   | T1       |           |        |              |                 |     |          | offset=4
a       | 5    | kafka-dump-log | metadata_topic            | ship  | T2       |           |        |              |                 |     |          | offset=5
a       | 6    | kafka-dump-log | metadata_topic            | mail  | T3       |           |        |              |                 |     |          | offset=6
a       | 7    | kafka-dump-log | metadata_partition        |       | T1       | 0         | 3      | 0            | 0               | 3,1 | 3,1      | offset=7
a       | 8    | kafka-dump-log | metadata_partition        |       | T2       | 0         | 3      | 0            | 0               | 3,1 | 3,1      | offset=8
a       | 9    | kafka-dump-log | metadata_partition        |       | T3       | 0         | 3      | 0            | 0               | 3,1 | 3,1      | offset=9
a       | 10   | kafka-dump-log | metadata_partition_change |       | T1       | 0         |        |              |                 | 3   |          | offset=10; elr=[1]
a       | 11   | kafka-dump-log | metadata_partition_change |       | T2       | 0         | -1     |              |                 | []  |          | offset=11; last_known_elr=[3]
a       | 12   | kafka-dump-log | metadata_clear_elr        | pay   |          |           |        |              |                 |     |          | offset=12
b       | 1    | kafka-dump-log | metadata_clear_elr        | pay   |          |           |        |              |                 |     |          | offset=12
b       | 2    | kafka-dump-log | metadata_partition_change |       | T1       | 0         |        |              |                 | 3,1 |          | offset=13
b       | 3    | kafka-dump-log | metadata_clear_elr        |       |          |           |        |              |                 |     |          | offset=14
"""
CLEARINGS = """
topic | topic_id | leader | leader_epoch | partition_epoch | isr | elr | last_known_elr | line
pay   | T0       | 3      | 0            | 0               | 3   | 1   | []             | 2
pay   | T1       | 3      | 0            | 0               | 1,3 | []  | []             | 7
pay   | T1       | 3      | 0            | 1               | 3   | 1   | []             | 10
pay   | T1       | 3      | 0            | 2               | 3   | []  | []             | 12
pay   | T1       | 3      | 0            | 3               | 1,3 | []  | []             | 2
ship  | T2       | 3      | 0            | 0               | 1,3 | []  | []             | 8
ship  | T2       | -1     | 1            | 1               | []  | []  | 3              | 11
ship  | T2       | -1     | 1            | 2               | []  | []  | []             | 3
mail  | T3       | 3      | 0            | 0               | 1,3 | []  | []             | 9
"""


def test_a_record_that_clears_the_eligible_replicas_is_a_change_of_each_partition_that_has_any(
    frame: Frame, same: Same
) -> None:
    same(to_observations(frame(EVENTS, CLEARED)), CLEARINGS)


READ = {  # what the jobs read from further fields -> a message that has them
    "elr, old_elr, old_isr, old_leader, old_leader_epoch, old_partition_epoch": (
        "org.apache.kafka.controller.ReplicationControlManager",
        "[QuorumController id=101] partition change for pay-in-3 with topic ID L3mK9pQrSt2uVwXyZ0aBcD: isr: [4, 5] -> [5],"
        " leader: 4 -> 5, leaderEpoch: 8 -> 9, elr: [] -> [4], partitionEpoch: 21 -> 22",
    ),
    "elr, offset": (
        "kafka-dump-log",
        '| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] payload: {"type":'
        '"PARTITION_CHANGE_RECORD","version":2,"data":{"partitionId":3,"topicId":"L3mK9pQrSt2uVwXyZ0aBcD","isr":[5],'
        '"leader":5,"eligibleLeaderReplicas":[4],"lastKnownElr":[]}}',
    ),
    "fenced_change, broker_epoch": (
        "kafka-dump-log",
        '| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] payload: {"type":'
        '"BROKER_REGISTRATION_CHANGE_RECORD","version":0,"data":{"brokerId":4,"brokerEpoch":300,"fenced":1}}',
    ),
    "fenced, broker_epoch ": (
        "kafka-dump-log",
        '| offset: 640 CreateTime: 1764000000123 keySize: -1 valueSize: 30 sequence: -1 headerKeys: [] payload: {"type":'
        '"REGISTER_BROKER_RECORD","version":3,"data":{"brokerId":4,"incarnationId":"q1WeRtYuIo-pAsDfGhJk_L",'
        '"brokerEpoch":300,"endPoints":[],"features":[],"rack":null,"fenced":true}}',
    ),
    "added_brokers, deleted_brokers, bounced_brokers, live_brokers": (
        "kafka.controller.KafkaController",
        "[Controller id=1] Newly added brokers: 6, deleted brokers: , bounced brokers: 5, all live brokers: 4,5,6",
    ),
    "old_replicas, adding_replicas, removing_replicas": (
        "kafka.controller.KafkaController",
        "[Controller id=1] Updating assignment of partition pay-in-3 from ReplicaAssignment(replicas=4,5, addingReplicas=,"
        " removingReplicas=) to ReplicaAssignment(replicas=4,5,6, addingReplicas=6, removingReplicas=5)",
    ),
    "from_state, to_state": (
        "state.change.logger",
        "[Controller id=1 epoch=8] Changed partition pay-in-3 from OfflinePartition to OnlinePartition with leader 4",
    ),
    "leader_end_offset, out_of_sync_replicas": (
        "kafka.cluster.Partition",
        "[Partition pay-in-3 broker=4] Shrinking ISR from 4,6,5 to 4,5. Leader: (highWatermark: 880, endOffset: 902)."
        " Out of sync replicas: (brokerId: 6, endOffset: 881).",
    ),
    "election_type, trigger": (
        "kafka.controller.KafkaController",
        "[Controller id=1] Starting replica leader election (PREFERRED) for partitions pay-in-3 triggered by AutoTriggered",
    ),
    "state_controller_epoch": (
        "state.change.logger",
        "[Broker id=4] Cached leader info UpdateMetadataPartitionState(topicName='pay-in', partitionIndex=3, controllerEpoch=7,"
        " leader=4, leaderEpoch=12, isr=[4, 5], zkVersion=31, replicas=[4, 5, 6], offlineReplicas=[6]) for partition pay-in-3"
        " in response to UpdateMetadata request sent by controller 1 epoch 8 with correlation id 27",
    ),
}


@pytest.mark.parametrize("names", READ)
def test_the_rules_name_fields_as_the_jobs_read_them(names: str) -> None:
    """Jobs know fields by name only: a rule that names one otherwise would leave nulls, not an error."""
    read = read_message(*READ[names])
    assert read is not None
    assert {name.strip() for name in names.split(",")} <= set(read)


@pytest.mark.parametrize(
    ("printed", "ids", "in_order"),
    [
        ("Set(2, 1)", [1, 2], [2, 1]),
        ("", [], []),
        # more than an int holds, as in a line that was damaged: unknown, and no night ends with it
        ("2,99999999999", None, None),
        (None, None, None),
    ],
)
def test_lists_of_ids(
    spark: SparkSession, printed: str | None, ids: list[int] | None, in_order: list[int] | None
) -> None:
    fields = {} if printed is None else {"brokers": printed}
    events = spark.createDataFrame([(fields,)], "fields map<string,string>")
    assert events.select(ids_of("brokers"), printed_ids("brokers")).collect() == [(ids, in_order)]
