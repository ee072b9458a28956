"""When followers fetched from a new leader: elections and fetchers' lines by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.followers_fetch import with_followers_fetch
from jobs.timelines.cluster_facts import EvidenceKinds
from schemas.findings import ELECTIONS
from schemas.ingest import EVENTS

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

ELECTED = """
topic  | partition | incarnation | leader_epoch | last_leader | leader | isr   | at       | succeeded
both   | 0         | 0           | 5            | 1           | 2      | 1,2,3 | 10:00:00 | true
one    | 0         | 0           | 5            | 1           | 2      | 1,2,3 | 10:00:00 | true
alone  | 0         | 0           | 5            | 1           | 2      | 2     | 10:00:00 | true
failed | 0         | 0           |              | 1           |        |       | 10:00:00 | false
early  | 0         | 0           | 5            | 1           | 2      | 2,3   | 10:00:00 | true
late   | 0         | 0           | 5            | 1           | 2      | 2,3   | 10:00:00 | true
last   | 0         | 0           | 5            | 1           | 2      | 2,3   | 10:00:00 | true
other  | 0         | 0           | 5            | 1           | 2      | 2,3   | 10:00:00 | true
again  | 0         | 0           | 5            | 1           | 2      | 2,3   | 10:00:00 | true
again  | 0         | 0           | 6            | 2           | 2      | 2,3   | 10:00:10 | true
old    | 0         | 0           | 5            | 1           | 2      | 2,3   | 10:00:00 | true
before | 0         | 0           | 5            | 1           | 2      | 2,3   | 10:00:00 | true
next   | 0         | 0           | 5            | 1           | 2      | 2,3   | 10:00:00 | true
next   | 0         | 0           | 6            | 4           | 2      | 2,3   | 10:00:10 | true
stays  | 0         | 0           | 5            | 2           | 2      | 2,3   | 10:00:00 | true
first  | 0         | 0           | 5            |             | 2      | 2,3   | 10:00:00 | true
"""
# `leader_epoch` and `leader` are those that the line has of the partition; releases to 2.0 print no leader epoch
ADDED = """
topic  | partition | at       | node_id | leader | leader_epoch | event_type
both   | 0         | 10:00:01 | 1       | 2      | 5            | fetcher_added
both   | 0         | 10:00:03 | 3       | 2      | 5            | fetcher_added
# broker 3 adds one again, and one that is not in the ISR comes later
both   | 0         | 10:00:09 | 3       | 2      | 5            | fetcher_added
both   | 0         | 10:00:20 | 4       | 2      | 5            | fetcher_added
one    | 0         | 10:00:01 | 1       | 2      | 5            | fetcher_added
alone  | 0         | 10:00:01 | 3       | 2      | 5            | fetcher_added
failed | 0         | 10:00:01 | 3       | 2      | 5            | fetcher_added
early  | 0         | 09:59:59 | 3       | 2      | 5            | fetcher_added
late   | 0         | 10:05:01 | 3       | 2      | 5            | fetcher_added
last   | 0         | 10:05:00 | 3       | 2      | 5            | fetcher_added
# from another broker, and not a fetcher
other  | 0         | 10:00:01 | 3       | 4      | 5            | fetcher_added
other  | 0         | 10:00:01 | 3       | 2      | 5            | fetcher_removed
again  | 0         | 10:00:11 | 3       | 2      | 6            | fetcher_added
again  | 0         | 10:00:12 | 3       | 2      | 5            | fetcher_added
old    | 0         | 10:00:04 | 3       | 2      |              | fetcher_added
# what led to it is the leader epoch before
before | 0         | 09:59:59 | 3       | 2      |              | fetcher_added
next   | 0         | 10:00:14 | 3       | 2      |              | fetcher_added
# a follower fetched on from the leader that it had, or it is not known whom it had
stays  | 0         | 10:02:00 | 3       | 2      |              | fetcher_added
first  | 0         | 10:02:00 | 3       | 2      |              | fetcher_added
"""
FETCHED = """
topic  | partition | incarnation | leader_epoch | followers_fetch_ms
both   | 0         | 0           | 5            | 3000
one    | 0         | 0           | 5            |
alone  | 0         | 0           | 5            |
failed | 0         | 0           |              |
early  | 0         | 0           | 5            | 0
late   | 0         | 0           | 5            |
last   | 0         | 0           | 5            | 300000
other  | 0         | 0           | 5            |
again  | 0         | 0           | 5            | 12000
again  | 0         | 0           | 6            | 1000
old    | 0         | 0           | 5            | 4000
before | 0         | 0           | 5            |
next   | 0         | 0           | 5            |
next   | 0         | 0           | 6            | 4000
stays  | 0         | 0           | 5            |
first  | 0         | 0           | 5            |
"""


def test_followers_fetch(frame: Frame, same: Same) -> None:
    listed = F.array(F.struct("topic", "partition", "leader", "leader_epoch"))
    events = frame(EVENTS, ADDED).withColumn("partitions", listed)
    elections = frame(ELECTIONS, ELECTED).drop("followers_fetch_ms")
    same(with_followers_fetch(elections, events, EvidenceKinds()), FETCHED)


def test_fetchers_of_0_8_0_and_of_one_line_for_a_leader(frame: Frame, same: Same) -> None:
    elected = """
topic | partition | incarnation | leader_epoch | last_leader | leader | isr | at       | succeeded
a     | 3         | 0           | 5            | 1           | 2      | 2,3 | 10:00:00 | true
b     | 0         | 0           | 5            | 1           | 2      | 2,3 | 10:00:00 | true
"""
    lines = """
topic | partition | at       | node_id | fields          | event_type
a     | 3         | 10:00:01 | 3       | source_broker=2 | fetcher_added
      |           | 10:00:02 | 3       | source_broker=2 | fetcher_added
"""
    one = F.struct(F.lit("b").alias("topic"), F.lit(0).alias("partition"), F.lit(None).cast("int").alias("leader"),
                   F.lit(5).alias("leader_epoch"))  # fmt: skip
    events = frame(EVENTS, lines).withColumn("partitions", F.when(F.col("topic").isNull(), F.array(one)))
    fetched = "topic | followers_fetch_ms\na | 1000\nb | 2000"
    same(with_followers_fetch(frame(ELECTIONS, elected).drop("followers_fetch_ms"), events, EvidenceKinds()), fetched)


def test_without_a_fetchers_line_there_is_no_join(frame: Frame, same: Same) -> None:
    elections = frame(ELECTIONS, ELECTED).drop("followers_fetch_ms")
    rows = with_followers_fetch(elections, frame(EVENTS, ADDED), EvidenceKinds(event_types=frozenset(["zk_election"])))
    same(rows.where("topic = 'both'"), "topic | followers_fetch_ms\nboth |")
