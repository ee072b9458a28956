"""How long a member of the ISR waited to lead a partition without a leader, while a controller was at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.other_decisions import to_silent_outages
from jobs.timelines.cluster_facts import ClusterFacts, EvidenceKinds
from schemas.findings import OFFLINE_PARTITIONS
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.timelines import BROKER_TIMELINE, CONTROLLER_TIMELINE, PARTITION_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame, Same

# nobody leads from 10:00 to 10:10; 1 comes back at 10:01 and begins to shut down after 50 s, 2 comes back at 10:02 and
# goes after 40 s
OUTAGES = """
topic | partition | incarnation | since    | until    | at_least_ms
quits | 0         | 0           | 10:00:00 | 10:10:00 | 600000
dies  | 0         | 0           | 10:00:00 | 10:10:00 | 600000
"""
STATES = """
topic | partition | incarnation | ordinal | leader | isr | replicas | since    | until    | missing_before
quits | 0         | 0           | 4       | -1     | 1   | 1,2      | 10:00:00 | 10:10:00 | 0
dies  | 0         | 0           | 4       | -1     | 2   | 1,2      | 10:00:00 | 10:10:00 | 0
"""
BROKERS = """
broker | since    | until    | shutdown_since | ended_by
1      | 09:00:00 | 10:00:00 |                | session_expired
1      | 10:01:00 | 10:05:00 | 10:01:50       | controlled_shutdown
2      | 10:02:00 | 10:02:40 |                | session_expired
"""
TERMS = """
controller_id | controller_epoch | since    | active_since | until
9             | 3                | 09:00:00 | 09:00:01     |
"""
# a log directory of 2 failed, with its replicas of both
MARKED = """
event_type              | topic | partition | fields
replicas_marked_offline | quits | 0         | broker=2
replicas_marked_offline | dies  | 0         | broker=2
"""


def silent_outages(frame: Frame, events: DataFrame) -> DataFrame:
    """Those of two partitions with ZooKeeper, with these further lines."""
    return to_silent_outages(
        frame(OFFLINE_PARTITIONS, OUTAGES),
        frame(PARTITION_TIMELINE, STATES),
        frame(BROKER_TIMELINE, BROKERS),
        frame(CONTROLLER_TIMELINE, TERMS),
        events,
        ClusterFacts(events, frame(LOG_COVERAGE, "kind\n"), EvidenceKinds(kraft=False)),
    )


def test_a_member_waits_until_it_shuts_down_or_goes(frame: Frame, same: Same) -> None:
    marked = frame(EVENTS, MARKED).withColumn("partitions", F.array(F.struct("topic", "partition")))
    same(
        silent_outages(frame, marked),
        """
        topic | returned | waited_ms | is_shutting_down | is_dir_failed
        quits | 1        | 50000     | false            | false
        dies  | 2        | 40000     | false            | true
        """,
    )


def test_a_member_that_comes_back_without_a_log_directory_may_have_lost_its_replica(frame: Frame, same: Same) -> None:
    """2 registers with a new disk, as it comes back (KIP-858)."""
    registered = 'event_type | at | fields\nkraft_broker_registered | {} | broker=2; log_dirs=["{}"]\n'
    events = frame(EVENTS, registered.format("09:00:00", "a")).unionByName(
        frame(EVENTS, registered.format("10:02:00", "b"))
    )
    same(
        silent_outages(frame, events),
        "topic | returned | waited_ms | is_dir_failed\nquits | 1 | 50000 | false\ndies | 2 | 40000 | true",
    )


# 1 comes back at 10:01 and stays. KRaft logs no election; as far as the tables know the outages may have ended then
KRAFT_OUTAGES = """
topic   | partition | incarnation | since    | until | at_least_ms
silent  | 0         | 0           | 10:00:00 |       | 60000
fetched | 0         | 0           | 10:00:00 |       | 60000
led     | 0         | 0           | 10:00:00 |       | 60000
changed | 0         | 0           | 10:00:00 |       | 60000
"""
KRAFT_STATES = """
topic   | partition | incarnation | ordinal | leader | leader_epoch | isr | replicas | since    | until | missing_before
silent  | 0         | 0           | 4       | -1     | 2            | 1   |          | 10:00:00 |       | 0
fetched | 0         | 0           | 4       | -1     | 2            | 1   |          | 10:00:00 |       | 0
led     | 0         | 0           | 4       | -1     | 2            | 1   |          | 10:00:00 |       | 0
changed | 0         | 0           | 4       | -1     | 2            | 1   |          | 10:00:00 |       | 0
"""
KRAFT_EVENTS = """
event_type                       | topic   | partition | node_id | at       | leader_epoch
partition_follower_epoch_started | silent  | 0         | 1       | 10:01:01 | 2
partition_follower_epoch_started | fetched | 0         | 1       | 10:01:01 | 2
partition_follower_epoch_started | led     | 0         | 1       | 10:01:01 | 2
partition_follower_epoch_started | changed | 0         | 1       | 10:01:01 | 2
partition_leader_epoch_started   | other   | 0         | 1       | 10:01:09 | 5
fetcher_added                    |         |           | 2       | 10:01:02 |
partition_leader_epoch_started   | led     | 0         | 1       | 10:01:02 | 3
isr_updated                      | changed | 0         | 1       | 10:01:04 |
"""


def test_a_kraft_broker_that_is_back_would_log_that_it_leads(frame: Frame, same: Same) -> None:
    """1 logs what else it leads, until 10:05, and nothing of one partition, which nobody follows, either. Without its
    log nothing is known, nor without that of 9, the controller."""
    fetched = F.array(F.struct(F.lit("fetched").alias("topic"), F.lit(0).alias("partition")))
    events = frame(EVENTS, KRAFT_EVENTS).withColumn(
        "partitions", F.when(F.col("event_type") == "fetcher_added", fetched)
    )
    led, decided = "1 | state_change | 09:00:00 | 10:05:00\n", "9 | controller | 09:00:00 | 10:09:00\n"
    for logs, waits in ((led + decided, "silent | 1 | 240000\n"), (led, ""), (decided, "")):
        same(
            to_silent_outages(
                frame(OFFLINE_PARTITIONS, KRAFT_OUTAGES),
                frame(PARTITION_TIMELINE, KRAFT_STATES),
                frame(BROKER_TIMELINE, "broker | since | until\n1 | 09:00:00 | 10:00:00\n1 | 10:01:00 |\n"),
                frame(
                    CONTROLLER_TIMELINE, "mode | controller_id | controller_epoch | since\nkraft | 9 | 3 | 09:00:00\n"
                ),
                events,
                ClusterFacts(events, frame(LOG_COVERAGE, f"node_id | kind | since | until\n{logs}"), EvidenceKinds()),
            ),
            f"topic | returned | waited_ms\n{waits}",
        )
