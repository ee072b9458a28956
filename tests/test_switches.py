"""Whether unclean elections of a topic are allowed, by lines on its settings."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.switches import settled_switch, with_default_switch, with_topic_switch
from jobs.timelines.known_spans import CONTROLLER_LOGS, to_known_spans
from schemas.config_changes import CONFIG_CHANGES
from schemas.findings import ELECTIONS
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.spark import FLAG, TEXT, struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame, Same

LINES = """
cluster | topic   | at       | event_type              | fields | message
# a new log prints all settings through 2.7, and later those that are not the default
zk      | all     | 10:00:00 | replica_log_created     |        | Created log for partition all-0 in /d with properties {min.insync.replicas -> 1, unclean.leader.election.enable -> false, retention.bytes -> -1}.
zk      | some    | 10:00:00 | replica_log_created     |        | Created log for partition some-0 in /d with properties {unclean.leader.election.enable=true}
zk      | none    | 10:00:00 | replica_log_created     |        | Created log for partition none-0 in /d with properties {}
# a topic is created with it, and then changed
zk      | changed | 10:00:00 | topic_creation_written  |        | Creating topic changed with configuration {unclean.leader.election.enable=true} and initial partition assignment HashMap()
zk      | changed | 10:00:30 | replica_log_created     |        | Created log for partition changed-1 in /d with properties {unclean.leader.election.enable=true}
zk      | changed | 10:02:00 | topic_config_changed    |        | Processing override for entityPath: topics/changed with config: Map(unclean.leader.election.enable -> false)
zk      | changed | 10:04:00 | topic_config_changed    |        | Processing override for entityPath: topics/changed with config: Map()
# KRaft prints one setting a line
kraft   | one     | 10:00:00 | kraft_config_set        | config_resource_type=TOPIC; config_name=unclean.leader.election.enable; config_value=true | Replayed
kraft   | one     | 10:00:01 | kraft_config_set        | config_resource_type=TOPIC; config_name=min.insync.replicas; config_value=1 | Replayed
kraft   | gone    | 10:00:00 | metadata_config         | config_resource_type=TOPIC; config_name=unclean.leader.election.enable; config_value=true | {}
kraft   | gone    | 10:00:30 | metadata_config         | config_resource_type=TOPIC; config_name=unclean.leader.election.enable | {}
# 0.8.2
old     | all     | 10:00:00 | replica_log_created     |        | Created log for partition [all,0] in /d with properties {unclean.leader.election.enable -> true}.
"""
PRINTED = """
cluster | resource_type | resource | name                           | at       | value
# what a node prints of its settings; one of them is set otherwise, and then is not
kraft   | kafka_config  | 1        | unclean.leader.election.enable | 09:59:00 | true
zk      | kafka_config  | 1        | unclean.leader.election.enable | 09:59:00 | false
zk      | kafka_config  | 1        | min.insync.replicas            | 09:59:00 | true
zk      | kafka_config  | 2        | unclean.leader.election.enable | 10:04:00 | true
zk      | kafka_config  | 2        | unclean.leader.election.enable | 10:05:30 | false
zk      | topic         |          | unclean.leader.election.enable | 10:05:40 | true
old     | kafka_config  | 1        | unclean.leader.election.enable | 09:59:00 | false
"""
DECIDED = """
cluster | topic   | partition | incarnation | at       | leader_epoch
zk      | all     | 0         | 0           | 10:01:00 | 1
zk      | some    | 0         | 0           | 10:01:00 | 1
zk      | none    | 0         | 0           | 10:01:00 | 1
zk      | none    | 0         | 0           | 09:59:30 | 2
zk      | changed | 0         | 0           | 09:59:00 | 1
zk      | changed | 0         | 0           | 10:01:00 | 2
zk      | changed | 0         | 0           | 10:03:00 | 3
zk      | changed | 0         | 0           | 10:05:00 | 4
zk      | changed | 0         | 0           | 10:05:50 | 5
# hours later, after a hole in the controllers' logs
zk      | all     | 0         | 0           | 15:00:30 | 2
kraft   | one     | 0         | 0           | 10:01:00 | 1
kraft   | gone    | 0         | 0           | 10:01:00 | 1
old     | all     | 0         | 0           | 10:01:00 | 1
"""
COVERAGE = """
cluster | node_id | kind       | since    | until
zk      | 1       | controller | 09:58:00 | 10:06:00
zk      | 1       | controller | 15:00:00 | 15:06:00
kraft   | 1       | controller | 09:58:00 | 10:06:00
old     | 1       | controller | 09:58:00 | 10:06:00
"""


def switches(frame: Frame) -> DataFrame:
    spans = to_known_spans(frame(LOG_COVERAGE, COVERAGE), CONTROLLER_LOGS, timedelta(hours=1), "cluster")
    decisions = frame(ELECTIONS, DECIDED).withColumn("decision", F.col("leader_epoch"))
    decisions = with_default_switch(decisions, frame(CONFIG_CHANGES, PRINTED))
    return with_topic_switch(decisions, frame(EVENTS, LINES), spans, without=["old"])


def test_switch_of_a_topic(frame: Frame, same: Same) -> None:
    """What no line sets for the topic is as all nodes print it; a topic of which there is no line may have its own."""
    same(
        switches(frame),
        """
        cluster | topic   | leader_epoch | topic_switch
        zk      | all     | 1            | false
        zk      | some    | 1            | true
        zk      | none    | 1            | false
        zk      | none    | 2            |
        zk      | changed | 1            |
        zk      | changed | 2            | true
        zk      | changed | 3            | false
        zk      | changed | 4            |
        zk      | changed | 5            | false
        zk      | all     | 2            |
        kraft   | one     | 1            | true
        kraft   | gone    | 1            | true
        old     | all     | 1            |
        """,
    )


def test_what_is_set_not_to_be_may_have_been_allowed_at_run_time(frame: Frame, same: Same) -> None:
    """Otherwise what is set counts; where nothing is, a line that allows it does."""
    elections = """
    topic     | unclean_enabled | topic_switch | trigger
    set       | false           |              | broker_failure
    same      | false           | false        | broker_failure
    changed   | false           | true         | broker_failure
    enabled   | false           |              | unclean_election_enabled
    allowed   | true            | false        | broker_failure
    told      |                 | true         | broker_failure
    forbidden |                 | false        | broker_failure
    nothing   |                 |              | unclean_election_enabled
    """
    schema = struct(topic=TEXT, unclean_enabled=FLAG, topic_switch=FLAG, trigger=TEXT)
    same(
        frame(schema, elections).select("topic", settled_switch().alias("is_allowed")),
        """
        topic     | is_allowed
        set       | false
        same      | false
        changed   |
        enabled   |
        allowed   | true
        told      | true
        forbidden |
        nothing   |
        """,
    )
