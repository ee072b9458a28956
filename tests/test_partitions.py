"""States of partitions from events written by hand; a case is a topic of its own, all of a kind are one frame."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.settings import Settings, TopicSettings
from jobs.timelines.cluster_facts import ClusterFacts, EvidenceKinds, evidence_kinds, kinds_of_any
from jobs.timelines.controllers import to_controller_timeline
from jobs.timelines.min_isr import with_min_isr
from jobs.timelines.partitions import to_contradictions, to_partition_timeline, to_states
from jobs.timelines.topics import to_topic_timeline
from schemas.config_changes import CONFIG_CHANGES
from schemas.ingest import EVENTS, LOG_COVERAGE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame, Same


def server_coverage(events: DataFrame) -> DataFrame:
    """LOG_COVERAGE of these events: each node's own log is one span from its first record to its last; so is what a
    controller logs."""
    own = events.where("logger <> 'state.change.logger' AND logger NOT LIKE 'kafka.controller%'")
    logs = own.withColumn("kind", F.lit("server")).unionByName(events.withColumn("kind", F.lit("controller")))
    spans = logs.groupBy("cluster", "node_id", "kind").agg(
        F.min("at").alias("since"), F.max("at").alias("until"), F.count("*").alias("records")
    )
    return spans.select(*LOG_COVERAGE.columns)


# All of partition 0. Some lines state all of a state; `isr_updated` is the leader's, and states the ISR alone.
PARTITION_EVENTS = """
topic    | at       | node_id | event_type                  | topic_id | partition | controller_epoch | leader | leader_epoch | partition_epoch | isr     | replicas | fields
# several nodes log one state: one row, as old as the first proof
several  | 10:00:02 | 2       | leader_and_isr_request_received |      | 0         | 1                | 1      | 0            | 0               | 1,2     | 1,2      |
several  | 10:00:01 | 1       | partition_state_change      |          | 0         | 1                | 1      | 0            | 0               | 2,1     | 1,2      |
# no line of a state before the next one is proved: it is no younger than that
late     | 10:00:01 | 1       | partition_state_change      |          | 0         | 1                | 1      | 0            | 0               | 1,2     | 1,2      |
late     | 10:00:05 | 2       | metadata_cache_updated      |          | 0         | 1                | 2      | 1            | 1               | 1,2     | 1,2      |
late     | 10:00:03 | 1       | partition_state_change      |          | 0         | 1                | 1      | 2            | 2               | 1,2     | 1,2      |
# ISR-only reports take leader and leader epoch over from the epoch before ...
isr      | 10:00:01 | 1       | partition_state_change      |          | 0         | 1                | 1      | 3            | 6               | 1,2     | 1,2      |
isr      | 10:00:02 | 1       | isr_updated                 |          | 0         |                  |        |              | 7               | 1       |          |
isr      | 10:00:03 | 1       | isr_updated                 |          | 0         |                  |        |              | 8               | 1,2     |          |
# ... but not across a gap: of 9 is known that 1 led, not under which leader epoch
gap      | 10:00:01 | 1       | partition_state_change      |          | 0         | 1                | 1      | 3            | 6               | 1,2     | 1,2      |
gap      | 10:00:02 | 1       | isr_updated                 |          | 0         |                  |        |              | 9               | 1       |          |
gap      | 10:00:04 | 1       | partition_state_change      |          | 0         | 1                | 2      | 5            | 12              | 2       | 1,2      |
# a leader's report fills the epoch after it, too: the state before a whole one that the leader kept
back     | 10:00:01 | 1       | isr_updated                 |          | 0         |                  |        |              | 7               | 1       |          |
back     | 10:00:02 | 1       | isr_updated                 |          | 0         |                  |        |              | 8               | 1,2     |          |
back     | 10:00:03 | 2       | metadata_cache_updated      |          | 0         | 1                | 1      | 3            | 8               | 1,2     | 1,2      |
# KRaft: an absent part of a change line was kept
kraft    | 10:00:01 | 100     | kraft_partition_created     | K        | 0         |                  | 1      | 0            | 0               | 1,2,3   | 1,2,3    | elr=[]
kraft    | 10:00:02 | 100     | kraft_partition_changed     | K        | 0         |                  |        |              | 1               | 1,3     |          | old_isr=[1, 2, 3]; elr=[2]; old_elr=[]; old_partition_epoch=0
kraft    | 10:00:03 | 100     | kraft_partition_changed     | K        | 0         |                  | 3      | 1            | 2               | 3       |          | old_isr=[1, 3]; old_leader=1; old_leader_epoch=0; old_partition_epoch=1
# deleted and created again, without an id and with one: all epochs restart
again    | 10:00:01 | 1       | partition_state_change      |          | 0         | 1                | 1      | 0            | 0               | 1       | 1        |
again    | 10:00:02 | 1       | partition_state_change      |          | 0         | 1                | -1     | 1            | 1               | 1       | 1        |
again    | 10:00:03 | 1       | topic_deletion_completed    |          |           |                  |        |              |                 |         |          |
again    | 10:00:04 | 1       | partition_state_change      |          | 0         | 2                | 2      | 0            | 0               | 2       | 2        |
reborn   | 10:00:01 | 100     | kraft_partition_created     | R1       | 0         |                  | 1      | 0            | 0               | 1       | 1        |
reborn   | 10:00:02 | 100     | kraft_topic_removed         | R1       |           |                  |        |              |                 |         |          |
reborn   | 10:00:03 | 100     | kraft_partition_created     | R2       | 0         |                  | 2      | 0            | 0               | 2       | 2        |
# a broker is late with the old one's state: its id shows which one it means
reborn   | 10:00:04 | 1       | partition_leader_epoch_started | R1    | 0         |                  |        | 0            | 0               | 1       |          |
# under deletion is no state
deleting | 10:00:01 | 1       | partition_state_change      |          | 0         | 1                | 1      | 0            | 0               | 1       | 1        |
deleting | 10:00:02 | 1       | update_metadata_request_sent |         | 0         | 1                | -2     | 0            | 0               | 1       | 1        |
# two nodes log different states of 1; and what follows stands in an order that no controller writes. None of them is a row
unsure   | 10:00:01 | 1       | partition_state_change      |          | 0         | 1                | 1      | 0            | 0               | 1,2     | 1,2      |
unsure   | 10:00:02 | 1       | partition_state_change      |          | 0         | 1                | 1      | 1            | 1               | 1,2     | 1,2      |
unsure   | 10:00:03 | 2       | metadata_cache_updated      |          | 0         | 1                | 2      | 1            | 1               | 1,2     | 1,2      |
unsure   | 10:00:04 | 1       | partition_state_change      |          | 0         | 1                | 1      | 3            | 2               | 1,2     | 1,2      |
unsure   | 10:00:05 | 2       | metadata_cache_updated      |          | 0         | 1                | 1      | 2            | 3               | 1,2     | 1,2      |
unsure   | 10:00:06 | 1       | partition_state_change      |          | 0         | 1                | 1      | 4            | 4               | 1,2     | 1,2      |
# no line states what became of it when its replicas were taken offline to be deleted, but that they were
silent   | 10:00:01 | 1       | partition_state_change      |          | 0         | 2                | -1     | 3            | 6               | 4,5     | 4,5      |
silent   | 10:00:02 | 1       | topic_deletion_started      |          |           |                  |        |              |                 |         |          |
silent   | 10:00:03 | 1       | replica_state_change        |          | 0         | 2                |        |              |                 |         |          | replica=5; to_state=OfflineReplica
silent   | 10:00:03 | 1       | replica_state_change        |          | 0         | 2                |        |              |                 |         |          | replica=4; to_state=OfflineReplica
# the ladder of availability, with min.insync.replicas 2: 4, 3, 2, 1, 0 of 4 replicas in sync
ladder   | 10:00:00 | 1       | partition_state_change      |          | 0         | 1                | 1      | 0            | 0               | 1,2,3,4 | 1,2,3,4  |
ladder   | 10:00:01 | 1       | isr_updated                 |          | 0         |                  |        |              | 1               | 1,2,3   |          |
ladder   | 10:00:02 | 1       | isr_updated                 |          | 0         |                  |        |              | 2               | 1,2     |          |
ladder   | 10:00:03 | 1       | isr_updated                 |          | 0         |                  |        |              | 3               | 1       |          |
ladder   | 10:00:04 | 1       | partition_state_change      |          | 0         | 1                | -1     | 1            | 4               | 1       | 1,2,3,4  |
# the leader's own change is known by its epochs where it does not report it; a reassigned partition keeps no assignment
moving   | 10:00:01 | 1       | partition_state_change      |          | 0         | 1                | 1      | 0            | 0               | 1,2     | 1,2      |
moving   | 10:00:02 | 1       | reassignment_assignment_updated |      | 0         |                  |        |              |                 |         | 1,2,3    | adding_replicas=3
moving   | 10:00:03 | 1       | update_metadata_request_sent |         | 0         | 1                | 1      | 0            | 1               | 1,2,3   |          | state_controller_epoch=1
# lines disagree who led in leader epoch 1, in states that do not follow each other; none of that leader epoch is a row
rivals   | 10:00:01 | 1       | partition_state_change      |          | 0         | 1                | 1      | 0            | 0               | 1,2     | 1,2      |
rivals   | 10:00:02 | 1       | partition_state_change      |          | 0         | 1                | 3      | 1            | 2               | 1,2     | 1,2      |
rivals   | 10:00:03 | 1       | partition_state_change      |          | 0         | 1                | 2      | 1            | 4               | 1,2     | 1,2      |
rivals   | 10:00:04 | 1       | partition_state_change      |          | 0         | 1                | 3      | 1            | 6               | 1,2     | 1,2      |
rivals   | 10:00:05 | 1       | partition_state_change      |          | 0         | 1                | 1      | 2            | 7               | 1,2     | 1,2      |
# so where the leader epoch of the first follows only from the state after it, which is logged to have kept it
usurped  | 10:00:01 | 1       | isr_updated                 |          | 0         |                  |        |              | 7               | 1,2     |          |
usurped  | 10:00:02 | 2       | isr_updated                 |          | 0         |                  |        |              | 8               | 2       |          |
usurped  | 10:00:03 | 3       | metadata_cache_updated      |          | 0         | 1                | 2      | 4            | 8               | 2       | 1,2      |
# a controller that starts replays what was years ago: no row, but what a broker shows, too, is as old as that line
         | 10:05:00 | 103     | kraft_controller_created    |          |           |                  |        |              |                 |         |          |
replayed | 10:05:01 | 103     | kraft_partition_created     | P        | 0         |                  | 1      | 0            | 0               | 1,2     | 1,2      |
replayed | 10:05:02 | 103     | kraft_partition_changed_unclean | P    | 0         |                  | 2      | 4            | 9               | 2       |          | old_isr=[1]; old_leader=-1; old_leader_epoch=3; old_partition_epoch=8
current  | 10:05:03 | 103     | kraft_partition_created     | Q        | 0         |                  | 1      | 0            | 0               | 1,2     | 1,2      |
current  | 10:05:40 | 2       | partition_follower_epoch_started | Q   | 0         |                  | 1      | 0            | 0               |         |          |
# once it has caught up, what it replays has just been written
new      | 10:05:50 | 103     | kraft_partition_created     | N        | 0         |                  | 1      | 0            | 0               | 1,2     | 1,2      |
"""
TIMELINE = """
topic   | incarnation | leader | leader_epoch | partition_epoch | isr     | replicas | since    | until    | availability    | made_by    | evidence
several | 0           | 1      | 0            | 0               | 1,2     | 1,2      | 10:00:01 |          | FullyInSync     | controller | 1@f:2,2@f:1
late    | 0           | 1      | 0            | 0               | 1,2     | 1,2      | 10:00:01 | 10:00:03 | FullyInSync     | controller | 1@f:3
late    | 0           | 2      | 1            | 1               | 1,2     | 1,2      | 10:00:03 | 10:00:03 | FullyInSync     | controller | 2@f:4
late    | 0           | 1      | 2            | 2               | 1,2     | 1,2      | 10:00:03 |          | FullyInSync     | controller | 1@f:5
isr     | 0           | 1      | 3            | 6               | 1,2     | 1,2      | 10:00:01 | 10:00:02 | FullyInSync     |            | 1@f:6
isr     | 0           | 1      | 3            | 7               | 1       | 1,2      | 10:00:02 | 10:00:03 | UnderReplicated | leader     | 1@f:7
isr     | 0           | 1      | 3            | 8               | 1,2     | 1,2      | 10:00:03 |          | FullyInSync     | leader     | 1@f:8
gap     | 0           | 1      | 3            | 6               | 1,2     | 1,2      | 10:00:01 | 10:00:04 | FullyInSync     |            | 1@f:9
gap     | 0           | 2      | 5            | 12              | 2       | 1,2      | 10:00:04 |          | UnderReplicated |            | 1@f:11
back    | 0           | 1      | 3            | 7               | 1       | 1,2      | 10:00:01 | 10:00:02 | UnderReplicated | leader     | 1@f:12
back    | 0           | 1      | 3            | 8               | 1,2     | 1,2      | 10:00:02 |          | FullyInSync     | leader     | 1@f:13,2@f:14
kraft   | 0           | 1      | 0            | 0               | 1,2,3   | 1,2,3    | 10:00:01 | 10:00:02 | FullyInSync     | controller | 100@f:15,100@f:16
kraft   | 0           | 1      | 0            | 1               | 1,3     | 1,2,3    | 10:00:02 | 10:00:03 | UnderReplicated |            | 100@f:16,100@f:17
kraft   | 0           | 3      | 1            | 2               | 3       |          | 10:00:03 |          |                 | controller | 100@f:17
again   | 0           | 1      | 0            | 0               | 1       | 1        | 10:00:01 | 10:00:02 | FullyInSync     | controller | 1@f:18
again   | 0           | -1     | 1            | 1               | 1       | 1        | 10:00:02 | 10:00:03 | Offline         | controller | 1@f:19
again   | 1           | 2      | 0            | 0               | 2       | 2        | 10:00:04 |          | FullyInSync     | controller | 1@f:21
reborn  | 0           | 1      | 0            | 0               | 1       | 1        | 10:00:01 | 10:00:02 | FullyInSync     | controller | 100@f:22,1@f:25
reborn  | 1           | 2      | 0            | 0               | 2       | 2        | 10:00:03 |          | FullyInSync     | controller | 100@f:24
deleting | 0          | 1      | 0            | 0               | 1       | 1        | 10:00:01 |          | FullyInSync     | controller | 1@f:26
unsure  | 0           | 1      | 0            | 0               | 1,2     | 1,2      | 10:00:01 | 10:00:06 | FullyInSync     | controller | 1@f:28
unsure  | 0           | 1      | 4            | 4               | 1,2     | 1,2      | 10:00:06 |          | FullyInSync     |            | 1@f:33
silent  | 0           | -1     | 3            | 6               | 4,5     | 4,5      | 10:00:01 | 10:00:03 | Offline         |            | 1@f:34
silent  | 0           | -1     | 4            | 7               | 4       | 4,5      | 10:00:03 | 10:00:03 | Offline         | controller | 1@f:34,1@f:36
silent  | 0           | -1     | 5            | 8               | 4       | 4,5      | 10:00:03 |          | Offline         | controller | 1@f:34,1@f:37
ladder  | 0           | 1      | 0            | 0               | 1,2,3,4 | 1,2,3,4  | 10:00:00 | 10:00:01 | FullyInSync     | controller | 1@f:38
ladder  | 0           | 1      | 0            | 1               | 1,2,3   | 1,2,3,4  | 10:00:01 | 10:00:02 | UnderReplicated | leader     | 1@f:39
ladder  | 0           | 1      | 0            | 2               | 1,2     | 1,2,3,4  | 10:00:02 | 10:00:03 | AtMinIsr        | leader     | 1@f:40
ladder  | 0           | 1      | 0            | 3               | 1       | 1,2,3,4  | 10:00:03 | 10:00:04 | UnderMinIsr     | leader     | 1@f:41
ladder  | 0           | -1     | 1            | 4               | 1       | 1,2,3,4  | 10:00:04 |          | Offline         | controller | 1@f:42
moving  | 0           | 1      | 0            | 0               | 1,2     | 1,2      | 10:00:01 | 10:00:03 | FullyInSync     | controller | 1@f:43
moving  | 0           | 1      | 0            | 1               | 1,2,3   | 1,2,3    | 10:00:03 |          | FullyInSync     | leader     | 1@f:45
rivals  | 0           | 1      | 0            | 0               | 1,2     | 1,2      | 10:00:01 | 10:00:05 | FullyInSync     | controller | 1@f:46
rivals  | 0           | 1      | 2            | 7               | 1,2     | 1,2      | 10:00:05 |          | FullyInSync     |            | 1@f:50
current | 0           | 1      | 0            | 0               | 1,2     | 1,2      | 10:05:40 |          | FullyInSync     | controller | 103@f:57,2@f:58
new     | 0           | 1      | 0            | 0               | 1,2     | 1,2      | 10:05:50 |          | FullyInSync     | controller | 103@f:59
"""


def facts_of(events: DataFrame) -> ClusterFacts:
    """Facts of clusters, none of whose logs has a hole."""
    kinds = evidence_kinds(events)
    return ClusterFacts(events, server_coverage(events), kinds_of_any(kinds.values()), kinds)


def states_of(events: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Rows of `to_states`, and the topics; what they are made of is computed once, as in a night."""
    topics, terms = checkpointed(to_topic_timeline(events)), checkpointed(to_controller_timeline(events))
    return checkpointed(to_states(events, topics, terms, facts_of(events))), topics


@pytest.fixture(scope="module")
def states(frame: Frame) -> tuple[DataFrame, DataFrame]:
    """Those of PARTITION_EVENTS. Some of them are a KRaft cluster's."""
    of_kraft = F.col("topic").isin("kraft", "reborn", "replayed", "current", "new") | F.col("topic").isNull()
    events = frame(EVENTS, PARTITION_EVENTS).withColumn("cluster", F.when(of_kraft, "k").otherwise("c"))
    return states_of(events)


def test_committed_states(states: tuple[DataFrame, DataFrame], same: Same) -> None:
    settings = Settings(topics={"ladder": TopicSettings(min_insync_replicas=2)})
    same(to_partition_timeline(*states, settings), TIMELINE)


SETTINGS_IN_LINES = """
topic  | resource_type | name                | at       | value
# ladder may have 2 of 4 in sync from its creation on, logged a second late; for some minutes 3; then again what brokers have
ladder | topic         | min.insync.replicas | 10:00:01 | 2
ladder | topic         | min.insync.replicas | 10:04:00 | 3
# another setting, and the default of all brokers
isr    | topic         | retention.ms        | 10:00:00 | 2
       | broker        | min.insync.replicas | 10:00:00 | 2
# of the topic's first life, which ended at 10:00:03; the second begins a second later
again  | topic         | min.insync.replicas | 10:00:01 | 2
# removed again before the state began
back   | topic         | min.insync.replicas | 09:00:00 | 2
back   | topic         | min.insync.replicas | 09:30:00 |
"""
NEW_LOGS = """
topic  | resource_type | resource | name                | at       | value
# logs of `isr` begin with what its topic has, those of `ladder` and of the first life of `again` with none of their own
isr    | new_log       |          | min.insync.replicas | 10:00:01 | 2
ladder | new_log       |          | min.insync.replicas | 10:00:00 |
again  | new_log       |          | min.insync.replicas | 10:00:01 |
       | kafka_config  | 1        | min.insync.replicas | 08:00:00 | 3
"""
BY_NEW_LOGS = """
topic  | partition_epoch | min_isr
ladder | 0               | 3
ladder | 1               | 3
ladder | 2               | 3
ladder | 3               | 3
ladder | 4               | 3
isr    | 6               | 2
isr    | 7               | 2
isr    | 8               | 2
again  | 0               |
back   | 7               |
back   | 8               |
"""
LADDER = """
topic  | partition_epoch | min_isr
ladder | 0               | 2
ladder | 1               | 2
ladder | 2               | 2
ladder | 3               | 2
ladder | 4               | 2
isr    | 6               | 1
isr    | 7               | 1
isr    | 8               | 1
again  | 0               | 1
back   | 7               | 1
back   | 8               | 1
"""


def test_what_a_line_sets_for_a_topic_counts_before_the_settings(
    states: tuple[DataFrame, DataFrame], frame: Frame, same: Same
) -> None:
    """By the settings 1 replica has to be in sync. A line of an incarnation before counts for that one only."""
    changes = frame(CONFIG_CHANGES, SETTINGS_IN_LINES)
    same(with_min_isr(*with_settings(states), Settings(min_insync_replicas=1), changes), LADDER)


def with_settings(states: tuple[DataFrame, DataFrame]) -> tuple[DataFrame, DataFrame]:
    """Of `states` those of topics that have settings, and the topics."""
    rows, topics = states
    of_topics = rows.where(F.col("topic").isin("ladder", "isr", "back") & F.col("leader_epoch").isNotNull())
    return of_topics.unionByName(rows.where("topic = 'again' AND incarnation = 1")), topics


def test_a_topic_without_its_own_has_what_brokers_print(
    states: tuple[DataFrame, DataFrame], frame: Frame, same: Same
) -> None:
    """If a line shows that it has none; what is set for us counts before."""
    changes = frame(CONFIG_CHANGES, NEW_LOGS)
    same(with_min_isr(*with_settings(states), Settings(), changes), BY_NEW_LOGS)
    by_settings = with_min_isr(*with_settings(states), Settings(min_insync_replicas=1), changes)
    same(by_settings.where("topic = 'ladder'").select("min_isr").distinct(), "min_isr\n1")


def test_the_ladder_by_lines(states: tuple[DataFrame, DataFrame], frame: Frame, same: Same) -> None:
    timeline = to_partition_timeline(*states, Settings(), frame(CONFIG_CHANGES, SETTINGS_IN_LINES))
    wanted = "\n".join(line for line in TIMELINE.strip().splitlines() if line.startswith(("topic", "ladder")))
    same(timeline.where("topic = 'ladder'"), wanted)


HALF_KNOWN = """
topic | partition_epoch | leader | leader_epoch | isr
gap   | 6               | 1      | 3            | 1,2
gap   | 9               | 1      |              | 1
gap   | 12              | 2      | 5            | 2
"""


def test_half_a_state_is_kept_but_not_published(states: tuple[DataFrame, DataFrame], same: Same) -> None:
    same(states[0].where("topic = 'gap'"), HALF_KNOWN)


def test_evidence_that_is_not_there_may_be_left_out_of_the_plan(frame: Frame) -> None:
    """KRaft's lines, replicas taken offline and reassignments are among PARTITION_EVENTS; the rest is not."""
    kinds = evidence_kinds(frame(EVENTS, PARTITION_EVENTS))["c"]
    assert kinds.have(["metadata_partition", "kraft_partition_changed"])
    assert not kinds.have(["metadata_partition", "broker_set_changed"])
    assert kinds == EvidenceKinds(
        event_types=kinds.event_types,
        requests=False,
        dumps=False,
        unnumbered=False,
        assigned=False,
        listed=False,
        zookeeper=False,
        lost_directories=False,
        begun_by_leaders=False,
    )


STARTS = """
event_type                     | leader_epoch | partition_epoch | isr
leader_epoch_started           | 5            |                 |
partition_leader_epoch_started | 5            |                 | 1
partition_leader_epoch_started | 5            | 9               | 1
isr_updated                    |              | 9               | 1
"""


@pytest.mark.parametrize(
    ("rows", "is_unnumbered"), [((0,), True), ((1,), True), ((2,), False), ((3,), False), ((2, 3), False)]
)
def test_leaders_of_zookeeper_clusters(frame: Frame, rows: tuple[int, ...], is_unnumbered: bool) -> None:
    """What leaders begin and report counts for ZooKeeper unless lines of KRaft are there."""
    head, *lines = STARTS.strip().splitlines()
    text = "\n".join([head, *(lines[row] for row in rows)])
    kinds = evidence_kinds(frame(EVENTS, text))["c"]
    assert (kinds.unnumbered, kinds.zookeeper) == (is_unnumbered, rows != (2,))
    with_kraft = evidence_kinds(frame(EVENTS, f"{text}\nkraft_broker_fenced | | |"))["c"]
    assert (with_kraft.unnumbered, with_kraft.zookeeper) == (False, False)


TWO_CLUSTERS = """
cluster | at       | node_id | event_type                     | topic | partition | leader | leader_epoch | partition_epoch | isr | replicas
k       | 10:00:00 | 101     | kraft_broker_fenced            |       |           |        |              |                 |     |
k       | 10:00:01 | 1       | partition_leader_epoch_started | t     | 0         | 1      | 4            | 6               | 1,2 | 1,2
k       | 10:00:05 | 1       | isr_updated                    | t     | 0         |        |              | 9               | 1   |
z       | 10:00:01 | 1       | leader_epoch_started           | t     | 0         |        | 4            |                 |     |
z       | 10:00:05 | 1       | isr_updated                    | t     | 0         |        |              | 9               | 1   |
"""
BOTH = """
cluster | partition_epoch | leader | leader_epoch | isr | at
k       | 6               | 1      | 4            | 1,2 | 10:00:01
k       | 9               | 1      |              | 1   | 10:00:05
z       | 9               | 1      | 4            | 1   | 10:00:05
"""


def test_lines_are_read_as_those_of_their_own_cluster(frame: Frame, same: Same) -> None:
    """A leader's report of its ISR belongs to the leader epoch that it began, where it writes to ZooKeeper; in KRaft it
    may have lost the partition and got it back between 6 and 9, whatever other clusters the warehouse has."""
    events = frame(EVENTS, TWO_CLUSTERS)
    rows, _ = states_of(events)
    same(rows.withColumn("at", F.col("since")), BOTH)


# At INFO until 2.5: `single` has one replica as long as the logs of all controllers say so; `pair` has two; `moved` is
# given another one, so that it may have had it as leader epoch 1 began; of `other` the leader is not the replica that it was created with: a line about that is missing.
SINGLES = """
at       | node_id | file_id | line | event_type                      | logger           | topic  | partition | leader_epoch | controller_epoch | controller_id | replicas | fields
10:00:00 | 9       | c       | 1    | controller_elected              | kafka.controller |        |           |              | 1                | 9             |          |
10:00:01 | 9       | c       | 2    | partition_state_change          | kafka.controller | single | 0         |              | 1                |               | 1        | from_state=NonExistentPartition; to_state=NewPartition
10:00:01 | 9       | c       | 3    | partition_state_change          | kafka.controller | pair   | 0         |              | 1                |               | 1,2      | from_state=NonExistentPartition; to_state=NewPartition
10:00:01 | 9       | c       | 4    | partition_state_change          | kafka.controller | moved  | 0         |              | 1                |               | 1        | from_state=NonExistentPartition; to_state=NewPartition
10:00:01 | 9       | c       | 5    | partition_state_change          | kafka.controller | other  | 0         |              | 1                |               | 1        | from_state=NonExistentPartition; to_state=NewPartition
10:00:02 | 1       | s       | 1    | leader_epoch_started            |                  | single | 0         | 0            |                  |               |          |
10:00:02 | 1       | s       | 2    | leader_epoch_started            |                  | pair   | 0         | 0            |                  |               |          |
10:00:02 | 1       | s       | 3    | leader_epoch_started            |                  | moved  | 0         | 0            |                  |               |          |
10:00:02 | 2       | t       | 1    | leader_epoch_started            |                  | other  | 0         | 0            |                  |               |          |
10:00:29.9 | 1     | s       | 7    | leader_epoch_started            |                  | moved  | 0         | 1            |                  |               |          |
10:00:30 | 9       | c       | 6    | reassignment_assignment_updated | kafka.controller | moved  | 0         |              |                  |               | 1,2      |
10:01:00 | 1       | s       | 4    | leader_epoch_started            |                  | single | 0         | 2            |                  |               |          |
"""
WHOLE = """
at       | node_id | file_id | line | event_type                     | logger           | topic | partition | leader_epoch | partition_epoch | isr | replicas | controller_epoch | fields
10:00:01 | 9       | c       | 7    | partition_state_change         | kafka.controller | whole | 0         |              |                 |     | 1        | 1                | from_state=NonExistentPartition; to_state=NewPartition
10:00:02 | 1       | s       | 5    | leader_epoch_started           |                  | whole | 0         | 0            |                 |     |          |                  |
10:00:02 | 1       | s       | 6    | partition_leader_epoch_started |                  | whole | 0         | 0            | 0               | 1   | 1        |                  |
"""
OF_SINGLES = """
topic  | leader | leader_epoch | isr | since    | inferred | evidence
single | 1      | 0            | 1   | 10:00:02 | true     | 1@s:1,9@c:2
single | 1      | 2            | 1   | 10:01:00 | true     | 1@s:4,9@c:2
moved  | 1      | 0            | 1   | 10:00:02 | true     | 1@s:3,9@c:4
"""


def test_a_partition_of_one_replica_begins_each_leader_epoch_in_sync_alone(frame: Frame, same: Same) -> None:
    events = frame(EVENTS, SINGLES)
    topics, terms = checkpointed(to_topic_timeline(events)), checkpointed(to_controller_timeline(events))
    rows = to_states(events, topics, terms, facts_of(events))
    same(rows.where("isr IS NOT NULL"), OF_SINGLES)
    # with a hole in the controllers' logs nobody knows whether it was given another replica
    missing = terms.withColumn("controller_epoch", F.lit(1)).unionByName(
        terms.withColumns({"controller_epoch": F.lit(3), "since": F.lit("2026-11-21 10:00:50").cast("timestamp")})
    )
    known = to_states(events, topics, missing, facts_of(events)).where("isr IS NOT NULL AND leader_epoch = 2")
    assert known.isEmpty()


def test_a_state_that_a_line_prints_whole_is_there_once(frame: Frame, same: Same) -> None:
    events = frame(EVENTS, SINGLES).unionByName(frame(EVENTS, WHOLE))
    rows, _ = states_of(events)
    same(rows.where("topic = 'whole'"), "topic | leader_epoch | partition_epoch | isr\nwhole | 0 | 0 | 1")


# the leader epoch of the change is in the line that began the term, half a minute before
OF_A_TERM = """
at       | node_id | file_id | line | event_type                     | topic | partition | leader_epoch | partition_epoch | isr | replicas
10:00:02 | 1       | s       | 3    | partition_leader_epoch_started | late  | 0         | 0            | 0               | 1,2 | 1,2
10:00:30 | 1       | l       | 9    | isr_updated                    | late  | 0         |              | 1               | 1   |
"""
LATE = """
leader_epoch | partition_epoch | isr | since    | evidence
0            | 0               | 1,2 | 10:00:02 | 1@s:3
0            | 1               | 1   | 10:00:30 | 1@l:9,1@s:3
"""


def test_the_first_line_of_a_state_is_the_one_that_shows_it(frame: Frame, same: Same) -> None:
    events = frame(EVENTS, OF_A_TERM)
    states, _ = states_of(events)
    same(states, LATE)


# the controller takes up both again: `again` it did not know any more, `spoilt` it had as online, which Kafka never does
CREATIONS = """
topic  | at       | node_id | file_id | event_type             | partition | controller_epoch | replicas | fields
again  | 10:00:00 | 9       | f       | partition_state_change | 0         | 4                | 1,2      | from_state=NonExistentPartition; to_state=NewPartition
spoilt | 10:00:00 | 9       | f       | partition_state_change | 0         | 4                | 1,2      | from_state=NonExistentPartition; to_state=NewPartition
again  | 10:05:00 | 9       | f       | partition_state_change | 0         | 4                | 1,2      | from_state=NonExistentPartition; to_state=NewPartition
spoilt | 10:05:00 | 9       | f       | partition_state_change | 0         | 4                | 1,2      | from_state=OnlinePartition; to_state=NewPartition
"""


def test_a_partition_that_the_controller_knows_is_not_created(frame: Frame, same: Same) -> None:
    topics = to_topic_timeline(frame(EVENTS, CREATIONS))
    same(topics, "topic | incarnation\nagain | 0\nagain | 1\nspoilt | 0")


def test_what_is_missing_is_counted(states: tuple[DataFrame, DataFrame], same: Same) -> None:
    """Of `gap` 7, 8 and 9 to 11 are no rows, nor what came before 6; of `unsure` those that contradict each other."""
    timeline = to_partition_timeline(*states, Settings()).where("topic IN ('gap', 'unsure')")
    same(
        timeline, "topic | partition_epoch | missing_before\ngap | 6 | 6\ngap | 12 | 5\nunsure | 0 | 0\nunsure | 4 | 3"
    )


def test_observations_are_sent_and_sorted_by_partition_once(states: tuple[DataFrame, DataFrame], frame: Frame) -> None:
    """Where there is nothing but numbered states: one exchange, no row through Python, no join of large sides."""
    events, topics = frame(EVENTS, PARTITION_EVENTS), states[1]
    names = ("kraft", "dumps", "removals", "unnumbered", "assigned", "reassigned", "listed", "zookeeper")
    none: dict[str, Any] = dict.fromkeys(names, False)
    kinds = EvidenceKinds(**none)
    rows = to_states(
        events, topics, to_controller_timeline(events), ClusterFacts(events, server_coverage(events), kinds)
    )
    plan = main_path(to_partition_timeline(rows, topics, Settings()))
    assert plan.count("Exchange") == 1
    assert {"SortMergeJoin", "BatchEvalPython", "ArrowEvalPython", "MapInArrow", "ObjectHashAggregate"}.isdisjoint(plan)


def main_path(rows: DataFrame) -> list[str]:
    """Names of the operators that rows go through, without those that make what is broadcast."""
    names: list[str] = []
    broadcast: int | None = None
    for line in rows._jdf.queryExecution().executedPlan().toString().splitlines():
        operator = re.match(r"[\s:+*-]*(?:\(\d+\) )?(?=(\w+))", line)
        if operator and (broadcast is None or operator.end() <= broadcast):
            names.append(operator[1])
            broadcast = operator.end() if operator[1] == "BroadcastExchange" else None
    return names


CONTRADICTIONS = """
topic  | partition_epoch | at       | contradiction                                                       | evidence
unsure | 1               | 10:00:02 | leader 1, leader epoch 1, ISR 1,2; leader 2, leader epoch 1, ISR 1,2 | 1@f:29,2@f:30
unsure | 2               | 10:00:04 | leader epoch 3 before 2                                             | 1@f:31
unsure | 3               | 10:00:05 | leader epoch 2 after 3                                              | 2@f:32
rivals | 2               | 10:00:02 | leaders 2, 3 in one leader epoch                                     | 1@f:47
rivals | 4               | 10:00:03 | leaders 2, 3 in one leader epoch                                     | 1@f:48
rivals | 6               | 10:00:04 | leaders 2, 3 in one leader epoch                                     | 1@f:49
usurped | 7              | 10:00:01 | leaders 1, 2 in one leader epoch                                     | 1@f:51
usurped | 8              | 10:00:02 | leaders 1, 2 in one leader epoch                                     | 2@f:52,3@f:53
"""


def test_contradictions(states: tuple[DataFrame, DataFrame], same: Same) -> None:
    same(to_contradictions(states[0]), CONTRADICTIONS)


def test_eligible_leader_replicas_are_carried_along(states: tuple[DataFrame, DataFrame], same: Same) -> None:
    same(states[0].where("topic = 'kraft'"), "partition_epoch | elr | topic_id\n0 | [] | K\n1 | 2 | K\n2 | 2 | K")


# Until 1.0 no line names a partition epoch. Broker 1 leads, and logs what it writes; 9 is the controller.
STEPS = """
at       | node_id | file_id | logger              | event_type                      | leader | leader_epoch | isr   | replicas | message | fields
10:00:00 | 9       | c       | state.change.logger | partition_state_change          |        |              |       | 1,2,3    | changed | to_state=NewPartition
10:00:01 | 1       | s       | kafka.cluster.Partition | broker_started              |        |              |       |          | started |
10:00:02 | 9       | c       | state.change.logger | leader_and_isr_request_sent     | 1      | 0            | 1,2,3 |          | sending |
10:00:03 | 1       | s       | state.change.logger | leader_and_isr_request_received | 1      | 0            | 1,2,3 |          | Broker 1 received LeaderAndIsr request (LeaderAndIsrInfo:( |
10:00:04 | 1       | s       | kafka.cluster.Partition | isr_shrinking               |        |              | 1     |          | Partition [t,0] on broker 1: Shrinking | old_isr=3,1,2
10:00:05 | 1       | s       | kafka.cluster.Partition | isr_expanding               |        |              | 1,2   |          | Partition [t,0] on broker 1: Expanding | old_isr=1
10:00:06 | 2       | s2      | state.change.logger | metadata_cache_updated          | 1      | 0            | 1,2   |          | cached |
10:00:07 | 9       | c       | kafka.controller.KafkaController | leader_epoch_updated |       | 1            |       |          | Updated leader epoch |
10:00:08 | 9       | c       | kafka.controller.KafkaController | controller_isr_removed | -1   | 2            | 2     |          | New leader and ISR |
10:00:09 | 1       | s       | kafka.cluster.Partition | broker_stopped              |        |              |       |          | stopped |
"""
STEPPED = """
ordinal | partition_epoch | leader | leader_epoch | isr   | replicas | since    | until    | made_by    | evidence
0       | 0               | 1      | 0            | 1,2,3 | 1,2,3    | 10:00:02 | 10:00:04 | controller | 9@c:3,1@s:4
1       | 1               | 1      | 0            | 1     | 1,2,3    | 10:00:04 | 10:00:05 | leader     | 1@s:5
2       | 2               | 1      | 0            | 1,2   | 1,2,3    | 10:00:05 | 10:00:07 | leader     | 1@s:6,2@s2:7
3       | 3               | 1      | 1            | 1,2   | 1,2,3    | 10:00:07 | 10:00:08 | controller | 9@c:8
4       | 4               | -1     | 2            | 2     | 1,2,3    | 10:00:08 |          | controller | 9@c:9
"""


def test_states_without_partition_epoch_are_ordered_by_their_steps(frame: Frame, same: Same) -> None:
    on_partition = F.col("event_type").startswith("broker_")
    events = frame(EVENTS, STEPS).withColumns(
        {"topic": F.when(~on_partition, "t"), "partition": F.when(~on_partition, 0)}
    )
    states, topics = states_of(events)
    same(to_partition_timeline(states, topics, Settings()), STEPPED)


# ZooKeeper keeps assignments apart from states, which they may change within: what is first logged of a state counts, ...
ASSIGNED = """
topic     | at       | node_id | event_type                      | leader | leader_epoch | partition_epoch | isr | replicas
kept      | 10:00:01 | 1       | partition_state_change          | 1      | 0            | 0               | 1,2 | 1,2
kept      | 10:00:02 | 1       | reassignment_assignment_updated |        |              |                 |     | 1,2,3
kept      | 10:00:03 | 2       | metadata_cache_updated          | 1      | 0            | 0               | 1,2 | 1,2,3
kept      | 10:00:04 | 1       | partition_state_change          | 1      | 1            | 1               | 1,2 | 1,2,3
# ... but not if another was written in that state before it was logged,
written   | 10:00:01 | 1       | partition_state_change          | 1      | 0            | 0               | 1,2 |
written   | 10:00:02.5 | 1     | reassignment_assignment_updated |        |              |                 |     | 1,2,3
written   | 10:00:03 | 2       | metadata_cache_updated          | 1      | 0            | 0               | 1,2 | 1,2,3
# ... nor if the state was over: up to 1.1 a controller that begins a reassignment may send such ones of its cache
over      | 10:00:01 | 1       | partition_state_change          | 1      | 0            | 0               | 1,2 |
over      | 10:00:02 | 1       | partition_state_change          | 1      | 1            | 1               | 1   | 1,2
over      | 10:00:03 | 2       | metadata_cache_updated          | 1      | 0            | 0               | 1,2 | 1,2,3
over      | 10:00:04 | 1       | reassignment_assignment_updated |        |              |                 |     | 1,2,3
# what controllers wrote last counts for all states until the next, at the end of a reassignment for the one just before
done      | 10:00:01 | 1       | partition_state_change          | 1      | 0            | 0               | 1,2 | 1,2
done      | 10:00:05 | 1       | reassignment_assignment_updated |        |              |                 |     | 1,2,3
done      | 10:00:06 | 1       | partition_state_change          | 1      | 1            | 1               | 1,2 |
done      | 10:00:09 | 1       | partition_state_change          | 1      | 2            | 2               | 1,3 |
done      | 10:00:09.2 | 1     | reassignment_assignment_updated |        |              |                 |     | 1,3
done      | 10:00:20 | 1       | partition_state_change          | 1      | 3            | 3               | 1   |
# ... at its begin for the one that comes behind, though another one began just before
begun     | 10:00:01 | 1       | partition_state_change          | 1      | 0            | 0               | 1,2 | 1,2
begun     | 10:00:04.8 | 1     | partition_state_change          | 1      | 1            | 1               | 1,2 |
begun     | 10:00:05 | 1       | reassignment_assignment_updated |        |              |                 |     | 3,1,2
begun     | 10:00:05.1 | 1     | partition_state_change          | 1      | 2            | 2               | 1,2 |
# ... unless an ISR has another broker
holed     | 10:00:01 | 1       | partition_state_change          | 1      | 0            | 0               | 1,2 | 1,2
holed     | 10:00:05 | 1       | reassignment_assignment_updated |        |              |                 |     | 1,2,3
holed     | 10:00:06 | 1       | partition_state_change          | 1      | 1            | 1               | 1,2 |
holed     | 10:00:20 | 1       | partition_state_change          | 1      | 2            | 2               | 1,4 |
# a partition that was never reassigned has one, whenever it is logged
unmoved   | 10:00:01 | 1       | partition_state_change          | 1      | 0            | 0               | 1,2 |
unmoved   | 10:00:02 | 1       | partition_state_change          | 1      | 1            | 1               | 1   |
unmoved   | 10:00:03 | 2       | metadata_cache_updated          | 1      | 0            | 0               | 1,2 | 1,2
# ... and one whose ISR has another broker was, though the log of the controller that did it is missing
elsewhere | 10:00:01 | 1       | partition_state_change          | 1      | 0            | 0               | 1,2 | 1,2
elsewhere | 10:00:02 | 1       | partition_state_change          | 1      | 1            | 1               | 1,3 |
elsewhere | 10:00:03 | 1       | partition_state_change          | 1      | 2            | 2               | 1   |
"""
BEGUN_WITH = """
topic     | leader_epoch | replicas
kept      | 0            | 1,2
kept      | 1            | 1,2,3
written   | 0            |
over      | 0            |
over      | 1            | 1,2
done      | 0            | 1,2
done      | 1            | 1,2,3
done      | 2            | 1,3
done      | 3            | 1,3
begun     | 0            | 1,2
begun     | 1            |
begun     | 2            | 3,1,2
holed     | 0            | 1,2
holed     | 1            |
holed     | 2            |
unmoved   | 0            | 1,2
unmoved   | 1            | 1,2
elsewhere | 0            | 1,2
elsewhere | 1            |
elsewhere | 2            |
"""


def test_an_assignment_is_the_one_that_the_state_began_with(frame: Frame, same: Same) -> None:
    """Of clusters whose lines print partition epochs, that print none, and of which only the controller's do."""
    epoch = F.col("partition_epoch")
    printed = {
        "all": epoch,
        "none": F.lit(None).cast("int"),
        "some": F.when(F.col("event_type") == "partition_state_change", epoch),
    }
    lines = frame(EVENTS, ASSIGNED).withColumn("partition", F.lit(0))
    parts = [lines.withColumns({"cluster": F.lit(name), "partition_epoch": column}) for name, column in printed.items()]
    events = parts[0].unionByName(parts[1]).unionByName(parts[2])
    states, topics = states_of(events)
    timeline = to_partition_timeline(states, topics, Settings()).persist()
    for name in printed:
        same(timeline.where(F.col("cluster") == name), BEGUN_WITH)


UNASSIGNED = """
topic    | at       | node_id | logger              | event_type                      | controller_id | controller_epoch | leader | leader_epoch | partition_epoch | isr | replicas | fields
         | 10:00:00 | 1       | kafka.controller.KafkaController | controller_elected              | 1             | 1                |        |              |                 |     |          |
printed  | 10:00:01 | 1       | state.change.logger | partition_state_change          | 1             | 1                |        |              |                 |     | 1,2      | to_state=NewPartition
printed  | 10:00:01 | 1       | state.change.logger | partition_state_change          | 1             | 1                | 1      | 0            | 0               | 1,2 |          |
printed  | 10:00:02 | 1       | state.change.logger | partition_state_change          | 1             | 1                | 1      | 1            | 1               | 1,3 |          |
printed  | 10:00:03 | 1       | state.change.logger | partition_state_change          | 1             | 1                | 1      | 2            | 2               | 1   |          |
# from 10:00:05 on its assignment is the one that is written; 4 is in the ISR long after that
written  | 10:00:01 | 1       | state.change.logger | partition_state_change          | 1             | 1                | 1      | 0            | 0               | 1,2 | 1,2      |
written  | 10:00:05 | 1       | kafka.controller.KafkaController | reassignment_assignment_updated |               | 1                |        |              |                 |     | 1,2,3    |
written  | 10:00:06 | 1       | state.change.logger | partition_state_change          | 1             | 1                | 1      | 1            | 1               | 1,2 |          |
written  | 10:00:20 | 1       | state.change.logger | partition_state_change          | 1             | 1                | 1      | 2            | 2               | 1,4 |          |
"""


@pytest.mark.parametrize("is_logged", [True, False])
def test_an_isr_beyond_the_assignment_makes_it_unknown_unless_all_controllers_are_logged(
    frame: Frame, same: Same, *, is_logged: bool
) -> None:
    events = frame(EVENTS, UNASSIGNED).withColumn("partition", F.when(F.col("topic").isNotNull(), 0))
    if not is_logged:
        events = events.where("event_type <> 'controller_elected'")
    states, _ = states_of(events)
    known, moved = ("1,2", "1,2,3") if is_logged else ("", "")
    same(
        states,
        f"""
topic   | leader_epoch | replicas
printed | 0            | {known}
printed | 1            | {known}
printed | 2            | {known}
written | 0            | 1,2
written | 1            | {moved}
written | 2            | {moved}
""",
    )


# What KRaft does not log. `b` ran 3.9, without eligible leader replicas; of `a` a line shows them. 5 leads `quiet`.
NOT_LOGGED = """
cluster | topic | at       | node_id | file_id | logger | event_type                       | topic_id | leader | leader_epoch | partition_epoch | isr | replicas | fields
a       |       | 10:00:00 | 100     | f       | o.a.k  | kraft_controller_elected         |          |        |              |                 |     |          |
a       |       | 10:00:03 | 100     | f       | o.a.k  | kraft_broker_fenced              |          |        |              |                 |     |          | broker=1
a       | lost  | 10:00:01 | 100     | f       | o.a.k  | kraft_partition_created          | L        | 1      | 0            | 0               | 1   | 1        | elr=[]
a       | lost  | 10:00:09 | 2       | f       | o.a.k  | partition_follower_epoch_started |          | -1     | 1            | 1               |     |          |
# fenced at 10:00:03, 1 became eligible. Of `gone` it is no longer when that is logged, and no line tells why
a       | gone  | 10:00:01 | 100     | f       | o.a.k  | kraft_partition_created          | G        | 1      | 0            | 0               | 1   | 1        | elr=[]
a       | gone  | 10:00:09 | 100     | f       | o.a.k  | kraft_partition_changed          | G        | 1      | 2            | 3               | 1   |          | old_isr=[]; old_leader=-1; old_leader_epoch=1; old_partition_epoch=2; old_elr=[]; elr=[]
a       | still | 10:00:01 | 100     | f       | o.a.k  | kraft_partition_created          | S        | 1      | 0            | 0               | 1   | 1        | elr=[]
a       | still | 10:00:09 | 100     | f       | o.a.k  | kraft_partition_changed          | S        | 1      | 2            | 3               | 1   |          | old_isr=[]; old_leader=-1; old_leader_epoch=1; old_partition_epoch=2; old_elr=[1]; elr=[]
# what follows from a reassignment's record: the loss before it, and the ISR that 2 does not log of the state it made
a       | moved | 10:00:01 | 100     | f       | o.a.k  | kraft_partition_created          | M        | 1      | 0            | 0               | 1   | 1        | elr=[]
a       | moved | 10:00:05 | 100     | f       | o.a.k  | kraft_partition_assignment_changed | M      |        |              |                 |     | 2,1      | adding_replicas=[2]
a       | moved | 10:00:09 | 2       | f       | o.a.k  | partition_follower_epoch_started |          | -1     | 1            | 2               |     |          |
# deleted before any line of its loss; 1 logged the state itself, and its log covers the time until then
a       | cut   | 10:00:01 | 100     | f       | o.a.k  | kraft_partition_created          | C        | 1      | 0            | 0               | 1   | 1        | elr=[]
a       | cut   | 10:00:02 | 1       | f       | o.a.k  | become_leader_skipped_already_leader | C    | 1      | 0            | 0               | 1   | 1        |
a       | cut   | 10:00:06 | 100     | f       | o.a.k  | kraft_topic_removed              | C        |        |              |                 |     |          |
a       |       | 10:00:00 | 1       | f       | o.a.k  | broker_started                   |          |        |              |                 |     |          |
a       |       | 10:00:07 | 1       | f       | o.a.k  | broker_started                   |          |        |              |                 |     |          |
a       | elr   | 10:00:01 | 100     | f       | o.a.k  | kraft_partition_changed          | E        |        |              | 4               | 2   |          | old_isr=[2, 3]; elr=[3]; old_elr=[]; old_partition_epoch=3
b       |       | 10:00:00 | 5       | f       | o.a.k  | kafka_version                    |          |        |              |                 |     |          | kafka_version=3.9.1
b       | kept  | 10:00:01 | 100     | f       | o.a.k  | kraft_partition_created          | K        | 1      | 0            | 0               | 1   | 1        |
b       | kept  | 10:00:09 | 2       | f       | o.a.k  | partition_follower_epoch_started |          | -1     | 1            | 1               |     |          |
# two were in sync: who was lost with the leader is not known
b       | two   | 10:00:01 | 100     | f       | o.a.k  | kraft_partition_created          | W        | 1      | 0            | 0               | 1,2 | 1,2      |
b       | two   | 10:00:09 | 2       | f       | o.a.k  | partition_follower_epoch_started |          | -1     | 1            | 1               |     |          |
b       | quiet | 10:00:01 | 100     | f       | o.a.k  | kraft_partition_created          | Q        | 5      | 0            | 0               | 5   | 5        |
b       | quiet | 10:00:07 | 5       | f       | o.a.k  | become_leader_skipped_already_leader |      | 5      | 0            | 3               | 5   | 5        |
b       |       | 10:00:09 | 5       | f       | o.a.k  | broker_stopped                   |          |        |              |                 |     |          |
# the log of 6 covers the time from 10:00:07 on: it may have shrunk and expanded the ISR
b       | blind | 10:00:01 | 100     | f       | o.a.k  | kraft_partition_created          | B        | 6      | 0            | 0               | 6,7 | 6,7      |
b       | blind | 10:00:07 | 6       | f       | o.a.k  | become_leader_skipped_already_leader |      | 6      | 0            | 2               | 6,7 | 6,7      |
# 5 logs that it expanded the ISR: before, it was another
b       | loud  | 10:00:01 | 100     | f       | o.a.k  | kraft_partition_created          | D        | 5      | 0            | 0               | 5,6 | 5,6      |
b       | loud  | 10:00:07 | 5       | f       | o.a.k  | isr_updated                      |          |        |              | 2               | 5,6 |          |
b       | loud  | 10:00:07 | 5       | f       | o.a.k  | become_leader_skipped_already_leader |      | 5      | 0            | 2               | 5,6 | 5,6      |
"""
IMPLIED = """
topic | partition_epoch | leader | leader_epoch | isr | elr | since    | inferred
lost  | 0               | 1      | 0            | 1   | []  | 10:00:01 | false
lost  | 1               | -1     | 1            | []  |     | 10:00:03 | true
gone  | 0               | 1      | 0            | 1   | []  | 10:00:01 | false
gone  | 2               | -1     | 1            | []  | []  | 10:00:09 | false
gone  | 3               | 1      | 2            | 1   | []  | 10:00:09 | false
still | 0               | 1      | 0            | 1   | []  | 10:00:01 | false
still | 2               | -1     | 1            | []  | 1   | 10:00:09 | false
still | 3               | 1      | 2            | 1   | []  | 10:00:09 | false
moved | 0               | 1      | 0            | 1   | []  | 10:00:01 | false
moved | 1               | -1     | 1            | []  |     | 10:00:03 | true
moved | 2               | -1     | 1            | []  |     | 10:00:05 | true
cut   | 0               | 1      | 0            | 1   | []  | 10:00:01 | false
cut   | 1               | -1     | 1            | []  |     | 10:00:03 | true
kept  | 0               | 1      | 0            | 1   | []  | 10:00:01 | false
kept  | 1               | -1     | 1            | 1   | []  | 10:00:09 | true
two   | 0               | 1      | 0            | 1,2 | []  | 10:00:01 | false
quiet | 0               | 5      | 0            | 5   | []  | 10:00:01 | false
quiet | 1               | 5      | 0            | 5   | []  | 10:00:07 | true
quiet | 2               | 5      | 0            | 5   | []  | 10:00:07 | true
quiet | 3               | 5      | 0            | 5   | []  | 10:00:07 | false
blind | 0               | 6      | 0            | 6,7 | []  | 10:00:01 | false
blind | 2               | 6      | 0            | 6,7 | []  | 10:00:07 | false
loud  | 0               | 5      | 0            | 5,6 | []  | 10:00:01 | false
loud  | 1               | 5      | 0            | 5   | []  | 10:00:07 | true
loud  | 2               | 5      | 0            | 5,6 | []  | 10:00:07 | false
"""


def test_what_kraft_does_not_log(frame: Frame, same: Same) -> None:
    events = frame(EVENTS, NOT_LOGGED).withColumns(
        {
            "partition": F.when(F.col("topic").isNotNull(), 0),
            "controller_epoch": F.when(F.col("event_type") == "kraft_controller_elected", 1),
        }
    )
    states, topics = states_of(events)
    same(to_partition_timeline(states, topics, Settings()).where("topic <> 'elr'"), IMPLIED)


# A reassignment that only removes replicas leaves no line in KRaft, but raises the leader epoch. 3 is behind in `less` at
# first, and may be no replica any more from 3 on; of `back` it is in sync again later, so it was one all the time. 1 was
# fenced when it lost `fenced`, and gave way in sync in `preferred`; `taken` it may have lost as a replica.
REMOVED = """
topic     | at       | event_type              | topic_id | leader | leader_epoch | partition_epoch | isr   | replicas | fields
          | 10:00:00 | kraft_controller_elected |         |        |              |                 |       |          |
          | 10:00:05 | kraft_broker_fenced     |          |        |              |                 |       |          | broker=1
less      | 10:00:01 | kraft_partition_created | L        | 1      | 0            | 0               | 1,2,3 | 3,1,2    | elr=[]
less      | 10:00:02 | kraft_partition_changed | L        |        |              | 1               | 1,2   |          | old_isr=[1, 2, 3]; old_partition_epoch=0
less      | 10:00:03 | kraft_partition_changed | L        | 1      | 1            | 2               | 1     |          | old_isr=[1, 2]; old_leader=1; old_leader_epoch=0; old_partition_epoch=1
less      | 10:00:04 | kraft_partition_changed | L        |        |              | 3               | 1,2   |          | old_isr=[1]; old_partition_epoch=2
back      | 10:00:01 | kraft_partition_created | B        | 1      | 0            | 0               | 1,3   | 3,1      | elr=[]
back      | 10:00:02 | kraft_partition_changed | B        | 1      | 1            | 1               | 1     |          | old_isr=[1, 3]; old_leader=1; old_leader_epoch=0; old_partition_epoch=0
back      | 10:00:03 | kraft_partition_changed | B        |        |              | 2               | 1,3   |          | old_isr=[1]; old_partition_epoch=1
fenced    | 10:00:01 | kraft_partition_created | F        | 1      | 0            | 0               | 1,2   | 1,2      | elr=[]
fenced    | 10:00:05 | kraft_partition_changed | F        | 2      | 1            | 1               | 2     |          | old_isr=[1, 2]; old_leader=1; old_leader_epoch=0; old_partition_epoch=0
preferred | 10:00:01 | kraft_partition_created | P        | 1      | 0            | 0               | 1,2   | 2,1,3    | elr=[]
preferred | 10:00:03 | kraft_partition_changed | P        | 2      | 1            | 1               | 1,2   |          | old_isr=[1, 2]; old_leader=1; old_leader_epoch=0; old_partition_epoch=0
taken     | 10:00:01 | kraft_partition_created | T        | 1      | 0            | 0               | 1,2   | 1,2      | elr=[]
taken     | 10:00:03 | kraft_partition_changed | T        | 2      | 1            | 1               | 2     |          | old_isr=[1, 2]; old_leader=1; old_leader_epoch=0; old_partition_epoch=0
"""
KEPT = """
topic     | partition_epoch | replicas
less      | 0               | 3,1,2
less      | 1               | 3,1,2
less      | 2               |
less      | 3               |
back      | 0               | 3,1
back      | 1               | 3,1
back      | 2               | 3,1
fenced    | 0               | 1,2
fenced    | 1               | 1,2
preferred | 0               | 2,1,3
preferred | 1               | 2,1,3
taken     | 0               | 1,2
taken     | 1               |
"""


def test_replicas_may_be_removed_without_a_line(frame: Frame, same: Same) -> None:
    events = frame(EVENTS, REMOVED).withColumns(
        {
            "partition": F.when(F.col("topic").isNotNull(), 0),
            "controller_id": F.lit(1),
            "controller_epoch": F.lit(1),
        }
    )
    states, topics = states_of(events)
    same(to_partition_timeline(states, topics, Settings()), KEPT)
