"""Availability by hour, preferred replica imbalance, gauges by minute, and lost records, from rows written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.findings.gauges import (
    to_cluster_minutely,
    to_preferred_replica_imbalance,
    to_topic_availability,
    with_assignments,
)
from jobs.findings.lost_records import with_lost_records
from jobs.settings import Settings
from schemas.config_changes import CONFIG_CHANGES
from schemas.findings import ELECTIONS, ISR_CHANGES, OFFLINE_PARTITIONS
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.spark import CLUSTER, TIME, column
from schemas.timelines import CONTROLLER_TIMELINE, PARTITION_TIMELINE, TOPIC_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame, Same

# t-0: no line shows its assignment but the one of the second state; u-0 is led by another than its first replica
STATES = """
topic | partition | incarnation | ordinal | leader | isr | replicas | since    | until    | availability
t     | 0         | 0           | 0       | 1      | 1,2 |          | 10:00:00 | 10:59:30 |
t     | 0         | 0           | 1       | -1     | 1   | 1,2      | 10:59:30 | 11:01:00 | Offline
t     | 0         | 0           | 2       | 2      | 2   |          | 11:01:00 | 11:01:50 | UnderMinIsr
t     | 0         | 0           | 3       | 2      | 1,2 |          | 11:01:50 |          |
u     | 0         | 0           | 0       | 2      | 2   | 1,2      | 11:01:00 |          |
"""
OUTAGES = """
topic | partition | incarnation | since    | ended_before | at_least_ms
t     | 0         | 0           | 10:59:30 | 11:01:00     | 90000
"""
IMBALANCE = """
broker | since    | until    | leaders | preferred | imbalanced | ratio
1      | 10:00:00 | 10:59:30 | 1       | 1         | 0          | 0
1      | 10:59:30 | 11:01:00 | 0       | 1         | 1          | 1
1      | 11:01:00 |          | 0       | 2         | 2          | 1
2      | 11:01:00 |          | 2       | 0         | 0          |
"""
AVAILABLE = """
topic | span | window              | partitions | leaderless_ms | under_min_isr_ms
t     | hour | 10:00:00            | 2          | 30000         | 0
t     | hour | 11:00:00            | 2          | 60000         | 50000
t     | day  | 00:00:00            | 2          | 90000         | 50000
"""
MINUTES = """
minute   | offline_partitions_count | offline_partitions_seen | under_replicated_partitions | active_controller_count | leader_elections | isr_shrinks
10:58:00 | 1                        | 1                       | 0                           | 0                       | 0                | 0
10:59:00 | 1                        | 2                       | 0                           | 1                       | 0                | 1
11:00:00 | 1                        | 1                       | 0                           | 1                       | 0                | 0
11:01:00 | 0                        | 1                       | 1                           | 1                       | 2                | 0
11:02:00 | 0                        | 0                       | 1                           | 1                       | 0                | 0
"""
ENDS = T.StructType([CLUSTER, column("end_of_logs", TIME, "End of a cluster's logs.")])


@pytest.fixture(scope="module")
def assigned(frame: Frame) -> DataFrame:
    return with_assignments(frame(PARTITION_TIMELINE, STATES), frame(OFFLINE_PARTITIONS, OUTAGES)).persist()


def test_imbalance(frame: Frame, same: Same, assigned: DataFrame) -> None:
    rows = to_preferred_replica_imbalance(assigned)
    same(rows.withColumn("ratio", F.col("ratio").cast("int")), IMBALANCE)


def availability_inputs(frame: Frame, topics: str) -> tuple[DataFrame, DataFrame, DataFrame, DataFrame]:
    """OUTAGES, STATES, rows `topic | incarnation | partitions`, and the end of the logs."""
    return (
        frame(OFFLINE_PARTITIONS, OUTAGES),
        frame(PARTITION_TIMELINE, STATES),
        frame(TOPIC_TIMELINE, f"topic | incarnation | partitions\n {topics}"),
        frame(ENDS, "end_of_logs\n 11:02:10"),
    )


def test_availability(frame: Frame, same: Same) -> None:
    inputs = availability_inputs(frame, "t | 0 | 1\n t | 1 | 2")
    rows = to_topic_availability(*inputs, Settings(min_insync_replicas=2)).persist()
    same(rows, AVAILABLE)
    least = min(row["availability"] for row in rows.where("span = 'hour'").collect())
    assert least == pytest.approx(1 - 60 / 7200)
    # without a setting nobody knows how many replicas have to be in sync
    unset = to_topic_availability(*inputs, Settings())
    assert [row["under_min_isr_ms"] for row in unset.collect()] == [None] * 3
    # a line may set it for a topic; one that removes it again leaves what brokers have
    of_topic = "topic | resource_type | name | at | value\n"
    line = f"{of_topic} t | topic | min.insync.replicas | 10:00:00 | 2"
    same(to_topic_availability(*inputs, Settings(), frame(CONFIG_CHANGES, line)), AVAILABLE)
    others = f"{of_topic} t | topic | retention.ms | 10:00:00 | 2\n t | topic | min.insync.replicas | 10:00:00 |"
    unset = to_topic_availability(*inputs, Settings(), frame(CONFIG_CHANGES, others))
    assert [row["under_min_isr_ms"] for row in unset.collect()] == [None] * 3
    # which nodes print, all of them the same
    brokers = f"{others}\n | kafka_config | min.insync.replicas | 09:00:00 | 2"
    same(to_topic_availability(*inputs, Settings(), frame(CONFIG_CHANGES, brokers)), AVAILABLE)
    unlike = f"{brokers}\n | kafka_config | min.insync.replicas | 09:00:01 | 1"
    unset = to_topic_availability(*inputs, Settings(), frame(CONFIG_CHANGES, unlike))
    assert [row["under_min_isr_ms"] for row in unset.collect()] == [None] * 3


def test_availability_of_a_topic_with_many_partitions(frame: Frame, same: Same) -> None:
    """50 partitions, as __consumer_offsets has them: their milliseconds of a day are more than an int holds."""
    inputs = availability_inputs(frame, "t | 0 | 50")
    rows = to_topic_availability(*inputs, Settings()).where("span = 'day'").collect()
    assert [row["availability"] for row in rows] == [pytest.approx(1 - 90 / (50 * 86_400))]


# of the second one the logs tell no end: it surely was without a leader until 10:59:10
WITH_BOUNDS = """
topic | partition | incarnation | since    | until    | ended_before | at_least_ms
t     | 0         | 0           | 10:59:30 | 11:01:00 | 11:01:00     | 90000
v     | 0         | 0           | 10:58:50 |          | 11:01:30     | 20000
"""


def test_minutes(frame: Frame, same: Same, assigned: DataFrame) -> None:
    rows = to_cluster_minutely(
        frame(OFFLINE_PARTITIONS, WITH_BOUNDS),
        assigned,
        frame(CONTROLLER_TIMELINE, "active_since | until\n 10:59:10 |"),
        frame(ELECTIONS, "at | succeeded | unclean\n 11:01:00 | true | false\n 11:01:02 | true |\n 11:01:03 | false |"),
        frame(ISR_CHANGES, "at | kind\n 10:59:59 | shrink"),
        frame(LOG_COVERAGE, "since | until\n 10:58:30 | 11:02:10\n 10:59:00 | 11:00:00"),
    )
    same(rows.where("minute >= '2026-11-21 10:58:00'"), MINUTES)


# one partition loses its leader twice within 10:59, and is one; the next minute it is without a leader from its begin.
# The deletion of x ended its outage, no line tells when: it surely had no leader until 11:01:30. y has none still.
ONCE_AGAIN = """
topic | partition | incarnation | since       | until       | ended_before | at_least_ms | healed_by
w     | 0         | 0           | 10:59:10    | 10:59:20    | 10:59:20     | 10000       | clean_election
w     | 0         | 0           | 10:59:40    | 11:00:00.5  | 11:00:00.5   | 20500       | clean_election
w     | 0         | 0           | 11:00:30    | 11:00:40    | 11:00:40     | 10000       | clean_election
w     | 1         | 0           | 10:59:10    | 10:59:20    | 10:59:20     | 10000       | clean_election
x     | 0         | 0           | 11:00:00    |             |              | 90000       | topic_deletion
y     | 0         | 0           | 11:00:00    |             |              | 60000       |
"""
COUNTED_ONCE = """
minute   | offline_partitions_count | offline_partitions_seen
10:59:00 | 1                        | 2
11:00:00 | 2                        | 3
11:01:00 | 1                        | 2
11:02:00 | 1                        | 1
"""


def test_a_partition_counts_once_in_a_minute_and_no_longer_than_it_surely_had_no_leader(
    frame: Frame, same: Same
) -> None:
    nothing = frame(PARTITION_TIMELINE, "topic"), frame(CONTROLLER_TIMELINE, "until"), frame(ELECTIONS, "topic")
    logs = frame(LOG_COVERAGE, "since | until\n 10:59:00 | 11:02:10")
    rows = to_cluster_minutely(frame(OFFLINE_PARTITIONS, ONCE_AGAIN), *nothing, frame(ISR_CHANGES, "topic"), logs)
    same(rows, COUNTED_ONCE)


# 1 was replaced as it loaded its context, and noticed only after it had said that it was ready
LATE_CONTROLLER = """
controller_id | since    | active_since | until
1             | 10:58:10 | 11:00:10     | 10:59:30
2             | 10:59:30 | 10:59:40     |
"""


def test_a_controller_that_was_replaced_before_it_was_ready_was_never_active(frame: Frame, same: Same) -> None:
    nothing = frame(ELECTIONS, "topic"), frame(ISR_CHANGES, "topic")
    rows = to_cluster_minutely(
        frame(OFFLINE_PARTITIONS, "topic"),
        frame(PARTITION_TIMELINE, "topic"),
        frame(CONTROLLER_TIMELINE, LATE_CONTROLLER),
        *nothing,
        frame(LOG_COVERAGE, "since | until\n 10:58:00 | 11:01:10"),
    )
    same(rows, "minute | active_controller_count\n 10:58:00 | 0\n 10:59:00 | 1\n 11:00:00 | 1\n 11:01:00 | 1")


# until 2.0 no state says that the leader, the only one in sync, was dead from 10:59:30 on, and twice
UNWRITTEN = """
topic | partition | incarnation | ordinal | leader | isr | replicas | since    | until    | availability
z     | 0         | 0           | 0       | 1      | 1   | 1,2      | 10:58:00 | 11:01:00 | UnderMinIsr
z     | 0         | 0           | 1       | 1      | 1   | 1,2      | 11:01:00 |          | UnderMinIsr
"""
UNWRITTEN_OUTAGES = """
topic | partition | incarnation | since    | until    | ended_before | at_least_ms
z     | 0         | 0           | 10:59:30 | 11:01:00 | 11:01:00     | 90000
z     | 0         | 0           | 11:01:30 |          |              | 60000
# the partition of another incarnation
z     | 0         | 1           | 10:58:30 | 10:59:00 | 10:59:00     | 30000
"""
UNLED = """
broker | since    | until    | leaders | preferred | imbalanced
1      | 10:58:00 | 10:59:30 | 1       | 1         | 0
1      | 10:59:30 | 11:01:00 | 0       | 1         | 1
1      | 11:01:00 | 11:01:30 | 1       | 1         | 0
1      | 11:01:30 |          | 0       | 1         | 1
"""
UNLED_MINUTES = """
minute   | offline_partitions_count | under_replicated_partitions
10:58:00 | 1                        | 1
10:59:00 | 1                        | 0
11:00:00 | 1                        | 0
11:01:00 | 1                        | 0
11:02:00 | 1                        | 0
"""


def test_a_dead_leader_leads_no_partition_though_no_state_says_so(frame: Frame, same: Same) -> None:
    outages, states = frame(OFFLINE_PARTITIONS, UNWRITTEN_OUTAGES), frame(PARTITION_TIMELINE, UNWRITTEN)
    assigned = with_assignments(states, outages).persist()
    same(to_preferred_replica_imbalance(assigned), UNLED)
    nothing = frame(CONTROLLER_TIMELINE, "until"), frame(ELECTIONS, "topic"), frame(ISR_CHANGES, "topic")
    logs = frame(LOG_COVERAGE, "since | until\n 10:58:00 | 11:02:10")
    same(to_cluster_minutely(outages, assigned, *nothing, logs), UNLED_MINUTES)
    topics, ends = frame(TOPIC_TIMELINE, "topic | partitions\n z | 1"), frame(ENDS, "end_of_logs\n 11:02:30")
    rows = to_topic_availability(outages, states, topics, ends, Settings(min_insync_replicas=2)).where("span = 'day'")
    # 90, 60 and 30 s without a leader; with one from 10:58:00 to 10:59:30, and from 11:01:00 to 11:01:30
    same(rows, "topic | leaderless_ms | under_min_isr_ms\n z | 180000 | 120000")


# ---- lost records ---------------------------------------------------------------------------------------------------
UNCLEAN = """
topic  | partition | incarnation | at       | leader_epoch | leader | unclean | last_leader
kept   | 0         | 0           | 10:00:00 | 4            | 2      | true    | 1
loaded | 0         | 0           | 10:00:00 | 6            | 2      | true    | 1
least  | 0         | 0           | 10:00:00 | 4            | 2      | true    | 1
unread | 0         | 0           | 10:00:00 | 4            | 2      | true    | 1
before | 0         | 0           | 10:00:00 | 4            | 2      | true    | 1
early  | 0         | 0           | 10:00:00 | 4            | 2      | true    | 1
grown  | 0         | 0           | 10:00:00 | 4            | 2      | true    | 1
marks  | 0         | 0           | 10:00:00 | 4            | 2      | true    | 1
differ | 0         | 0           | 10:00:00 | 4            | 2      | true    | 1
leads  | 0         | 0           | 10:00:00 | 4            | 2      | true    | 1
next   | 0         | 0           | 10:00:00 | 4            | 2      | true    | 1
next   | 0         | 0           | 10:01:00 | 5            | 3      | true    | 2
again  | 0         | 0           | 10:00:00 | 4            | 2      | true    | 1
self   | 0         | 0           | 10:00:00 | 4            | 1      | true    | 1
alone  | 0         | 0           | 10:00:00 | 4            | 1      | true    | 1
clean  | 0         | 0           | 10:00:00 | 4            | 2      | false   | 1
"""
LINES = """
at       | node_id | topic  | partition | event_type                       | leader_epoch | fields
09:00:00 | 1       | kept   | 0         | partition_follower_epoch_started | 1            | start_offset=5
10:00:00 | 2       | kept   | 0         | partition_leader_epoch_started   | 4            | start_offset=886; high_watermark=878
10:00:01 | 2       | kept   | 0         | partition_leader_epoch_started   | 5            | start_offset=990
10:00:04 | 1       | kept   | 0         | log_loaded                       |              | log_end_offset=953
10:00:05 | 1       | kept   | 0         | replica_log_loaded               |              | high_watermark=946
10:00:05 | 1       | kept   | 0         | partition_follower_epoch_started | 4            | start_offset=953; high_watermark=946
10:00:06 | 1       | kept   | 0         | log_truncated                    |              | offset=886
10:00:09 | 1       | kept   | 0         | log_truncated                    |              | offset=900
# up to 2.5 only the load prints the end of its log; what it has when it starts anew is also its new leader's
09:00:05 | 1       | loaded | 0         | log_loaded                       |              | log_end_offset=426
10:00:00 | 2       | loaded | 0         | leader_epoch_started             | 6            | start_offset=2002; high_watermark=1976
10:00:04 | 1       | loaded | 0         | log_loaded                       |              | log_end_offset=2149
10:00:04 | 3       | loaded | 0         | log_loaded                       |              | log_end_offset=3000
10:00:05 | 1       | loaded | 0         | replica_log_loaded               |              | high_watermark=2134
10:00:06 | 1       | loaded | 0         | log_truncated                    |              | offset=2002
10:09:00 | 1       | loaded | 0         | log_loaded                       |              | log_end_offset=4000
# it cut off nothing yet: what it has above the new leader's start need not be of this leader's time
10:00:00 | 2       | least  | 0         | leader_epoch_started             | 4            | start_offset=2002; high_watermark=1976
10:00:04 | 1       | least  | 0         | log_loaded                       |              | log_end_offset=2149
10:00:05 | 1       | least  | 0         | replica_log_loaded               |              | high_watermark=2134
# where the new leader began is in no line: it may have had less than the other cut off
10:00:04 | 1       | unread | 0         | log_loaded                       |              | log_end_offset=2149
10:00:06 | 1       | unread | 0         | log_truncated                    |              | offset=2002
# a broker that led on without a restart: its log grew since it was loaded
09:00:05 | 1       | before | 0         | log_loaded                       |              | log_end_offset=426
10:00:00 | 2       | before | 0         | leader_epoch_started             | 4            | start_offset=400
10:00:06 | 1       | before | 0         | log_truncated                    |              | offset=400
# one that was started anew before the other was elected: since then nobody has led
09:30:00 | 1       | early  | 0         | leader_epoch_started             | 3            | start_offset=300
09:59:59 | 1       | early  | 0         | log_loaded                       |              | log_end_offset=589
10:00:00 | 2       | early  | 0         | leader_epoch_started             | 4            | start_offset=565
10:00:06 | 1       | early  | 0         | log_truncated                    |              | offset=564
# but not one that led after it had started
09:00:05 | 1       | grown  | 0         | log_loaded                       |              | log_end_offset=589
09:30:00 | 1       | grown  | 0         | leader_epoch_started             | 3            | start_offset=300
10:00:00 | 2       | grown  | 0         | leader_epoch_started             | 4            | start_offset=565
10:00:06 | 1       | grown  | 0         | log_truncated                    |              | offset=564
# until 0.11 a follower cuts off what is above its high watermark, whatever the new leader has
10:00:00 | 2       | marks  | 0         | leader_epoch_started             | 4            | start_offset=2002
10:00:04 | 1       | marks  | 0         | log_loaded                       |              | log_end_offset=2149
10:00:06 | 1       | marks  | 0         | log_truncated                    |              | offset=2134
10:00:07 | 1       | marks  | 0         | log_truncated                    |              | offset=2050
# it was loaded twice, one may be a log that is moved to another directory, or to be deleted
10:00:00 | 2       | differ | 0         | leader_epoch_started             | 4            | start_offset=2002
10:00:03 | 1       | differ | 0         | log_loaded                       |              | log_end_offset=2149
10:00:04 | 1       | differ | 0         | log_loaded                       |              | log_end_offset=2100
10:00:06 | 1       | differ | 0         | log_truncated                    |              | offset=2002
# it cut off nothing of this, led again, and only then lost records to another
10:00:00 | 2       | leads  | 0         | leader_epoch_started             | 4            | start_offset=2149
10:00:04 | 1       | leads  | 0         | log_loaded                       |              | log_end_offset=2149
10:05:00 | 1       | leads  | 0         | leader_epoch_started             | 5            | start_offset=2300
10:09:00 | 1       | leads  | 0         | log_loaded                       |              | log_end_offset=2500
10:09:01 | 1       | leads  | 0         | log_truncated                    |              | offset=2400
# it comes back after the next unclean election, to which it loses what the first had kept, too
10:00:00 | 2       | next   | 0         | partition_leader_epoch_started   | 4            | start_offset=880
10:01:00 | 3       | next   | 0         | partition_leader_epoch_started   | 5            | start_offset=700
10:02:00 | 1       | next   | 0         | partition_follower_epoch_started | 5            | start_offset=900
10:02:01 | 1       | next   | 0         | log_truncated                    |              | offset=700
10:03:00 | 2       | next   | 0         | partition_follower_epoch_started | 5            | start_offset=950
10:03:01 | 2       | next   | 0         | log_truncated                    |              | offset=700
# the topic is another by then
10:00:00 | 2       | again  | 0         | leader_epoch_started             | 4            | start_offset=2002
11:00:04 | 1       | again  | 0         | log_loaded                       |              | log_end_offset=30
11:00:06 | 1       | again  | 0         | log_truncated                    |              | offset=20
10:00:00 | 1       | self   | 0         | partition_leader_epoch_started   | 4            | start_offset=841
10:00:05 | 1       | self   | 0         | partition_follower_epoch_started | 5            | start_offset=900
"""
LOST = """
topic  | leader_epoch | lost_records_min | lost_records_max | last_leader | start_offset
kept   | 4            | 67               | 67               | 1           | 886
loaded | 6            | 147              | 147              | 1           | 2002
least  | 4            | 132              |                  | 1           | 2002
unread | 4            | 147              |                  | 1           |
before | 4            |                  |                  | 1           | 400
early  | 4            | 25               | 25               | 1           | 565
grown  | 4            |                  |                  | 1           | 565
marks  | 4            | 147              | 147              | 1           | 2002
differ | 4            | 98               | 147              | 1           | 2002
leads  | 4            |                  |                  | 1           | 2149
next   | 4            | 20               | 20               | 1           | 880
next   | 5            | 250              | 250              | 2           | 700
again  | 4            |                  |                  | 1           | 2002
self   | 4            | 0                |                  | 1           | 841
alone  | 4            | 0                |                  | 1           |
clean  | 4            |                  |                  |             |
"""
RECREATED = """
topic | incarnation | since
again | 0           | 09:00:00
again | 1           | 11:00:00
"""


def test_lost_records(frame: Frame, same: Same) -> None:
    others = "".join(f"{name} | 0 | 09:00:00\n" for name in sorted({row.split()[0] for row in LOST.split("\n")[2:-1]}))
    topics = frame(TOPIC_TIMELINE, RECREATED + others.replace("again | 0 | 09:00:00\n", ""))
    same(with_lost_records(frame(ELECTIONS, UNCLEAN), frame(EVENTS, LINES), topics), LOST)
