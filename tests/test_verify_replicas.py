"""`describe --verify-replicas`: which replicas were in sync, and how far behind the others were by lines."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from jobs.describe.replicas import left_isr_at, log_ends_at, verified_at
from tests.delta_warehouse import assert_rows, views_of
from udfs.describe.controller_context import BrokerStatus, ClusterState, ControllerTerm
from udfs.describe.kafka_topics import DescribedPartition, DescribedTopic, Tool, select
from udfs.describe.output import REPLICAS, as_data, as_text, remarks
from udfs.describe.replicas import log_end, verified
from udfs.describe.snapshot import Snapshot
from udfs.kafka.releases import Release

SHRINK, LEADS, FOLLOWS = "isr_shrinking", "partition_leader_epoch_started", "partition_follower_epoch_started"


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-21 {clock}")


NOON = at("12:00")


def line(clock: str, writer: int, kind: str, end: int | None, epoch: int | None = None, **more: Any) -> dict[str, Any]:
    return {
        "topic": "pay", "partition": 0, "at": at(clock), "file_id": "f", "line": 7, "event_type": kind,
        "writer": writer, "leader_epoch": epoch, "end_offset": end, "out_of_sync_replicas": None, **more,
    }  # fmt: skip


def shrink(clock: str, leader: int, end: int, followers: str) -> dict[str, Any]:
    return line(clock, leader, SHRINK, end, out_of_sync_replicas=followers)


BOTH = "(brokerId: 2, endOffset: 881, lastCaughtUpTimeMs: 9) (brokerId: 3, endOffset: 899)"
LOG_ENDS = {  # of broker 2, which left the ISR at 11:00:01: lines -> offset, lag_min, lag_max
    "the leader prints both ends as it shrinks the ISR": ([shrink("11:00", 1, 902, BOTH)], (881, 21, 21)),
    "lines from before it left say nothing": ([shrink("10:59", 1, 902, BOTH)], None),
    "another follower's line is not about it": ([shrink("11:00", 1, 902, "(brokerId: 3, endOffset: 899)")], None),
    "until 2.0 the leader prints no ends": ([shrink("11:00", 1, 902, "") | {"end_offset": None}], None),
    "as it follows, the leader's end is the one with which that began, or more": (
        [line("10:00", 1, LEADS, 700, 4), line("11:05", 1, LEADS, 902, 5), line("11:04", 2, FOLLOWS, 850, 5)],
        (850, 52, None),
    ),
    "a leader's log grows while it leads": (
        [line("10:00", 1, LEADS, 700, 4), shrink("11:00", 1, 902, BOTH), line("11:05", 2, "log_loaded", 870)],
        (870, 32, None),
    ),
    "what is cut off is gone": (
        [line("11:05", 1, LEADS, 902, 5), line("11:06", 2, FOLLOWS, 950, 5), line("11:07", 2, "log_truncated", 902)],
        (902, 0, None),
    ),
    "more than the leader has is no negative lag": (
        [line("11:05", 1, LEADS, 902, 5), line("11:06", 2, FOLLOWS, 950, 5)], (950, 0, None)
    ),
    "without a line of the leader its end is not known": ([line("11:06", 2, "log_loaded", 870)], (870, None, None)),
    "its own end while it led is no other leader's": (
        [line("11:01", 2, LEADS, 500, 4), line("11:06", 2, "log_loaded", 400)], (400, None, None)
    ),
    "the last line counts": (
        [line("11:05", 1, LEADS, 902, 5), line("11:09", 2, "log_loaded", 901), line("11:06", 2, FOLLOWS, 850, 5)],
        (901, 1, None),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LOG_ENDS)
def test_log_end(case: str) -> None:
    lines, expected = LOG_ENDS[case]
    end = log_end(2, lines, at("11:00:01"), {"f": "broker-1/server.log"})
    assert (end and (end.offset, end.lag_min, end.lag_max)) == expected
    assert end is None or end.evidence == "broker-1/server.log:7"


# ---- what is printed ------------------------------------------------------------------------------------------------
P0 = DescribedPartition(0, leader=1, isr=(1,), replicas=(2, 1), leader_epoch=5, since="s", evidence=("f:1",))
P1 = DescribedPartition(1, leader=3, isr=None, replicas=(3,))
P2 = DescribedPartition(2, leader=1, isr=(1, 3), replicas=None)
PAY, GONE = DescribedTopic("pay", (P0, P1, P2)), DescribedTopic("gone", (P0,), deleting=True)
BROKERS = [BrokerStatus(1, "alive"), BrokerStatus(2, "gone"), BrokerStatus(3, "shutting_down")]
STATE = ClusterState(Tool(Release(2, 4, 1)), ControllerTerm(), (PAY, GONE), BROKERS)
SNAPSHOT = Snapshot("c", NOON, at("10:00"), at("13:00"), STATE)
SELECTION = select(STATE.tool, STATE.topics, None, STATE.alive)


def test_a_line_for_each_replica() -> None:
    replicas = verified(SNAPSHOT, SELECTION, {("pay", 0, 2): at("11:00:01")}, [shrink("11:00", 1, 902, BOTH)], {})
    assert [text.replace("\t", ">") for text in as_text(SNAPSHOT, SELECTION, REPLICAS, replicas)] == [
        ">Topic: pay>Partition: 0>Leader: 1>Replicas: 2,1>Isr: 1",
        ">>Replica: 2>Broker: gone>InSync: no>OutSince: 2026-11-21T11:00:01.000Z>Lag: 21"
        ">EndOffset: 881 at 2026-11-21T11:00:00.000Z",
        ">>Replica: 1>Broker: alive>InSync: yes",
        ">Topic: pay>Partition: 1>Leader: 3>Replicas: 3>Isr: unknown",
        ">>Replica: 3>Broker: shutting_down>InSync: unknown",
        ">Topic: pay>Partition: 2>Leader: 1>Replicas: unknown>Isr: 1,3",
        ">>Replica: 1>Broker: alive>InSync: yes",
        ">>Replica: 3>Broker: shutting_down>InSync: yes",
        "2026-11-21 12:00:00,000: max lag is 21 for partition pay-0 at offset 881 among 3 partitions",
    ]
    assert next(remarks(SNAPSHOT, SELECTION, REPLICAS)) == "Cluster c at 2026-11-21T12:00:00.000Z."


def test_a_lag_that_may_be_larger_says_so() -> None:
    lines = [line("11:05", 1, LEADS, 902, 5), line("11:06", 2, FOLLOWS, 850, 5)]
    text = as_text(SNAPSHOT, SELECTION, REPLICAS, verified(SNAPSHOT, SELECTION, {}, lines, {}))
    assert text[1].endswith("\tOutSince: unknown\tLag: 52 or more\tEndOffset: 850 at 2026-11-21T11:06:00.000Z")
    assert text[-1].endswith(": max lag is 52 or more for partition pay-0 at offset 850 among 3 partitions")


def test_without_a_lag_there_is_no_line_of_the_largest() -> None:
    text = as_text(SNAPSHOT, SELECTION, REPLICAS, verified(SNAPSHOT, SELECTION, {}, [], {}))
    assert text[1].endswith("\tInSync: no\tOutSince: unknown\tLag: unknown")
    assert text[-1].startswith("\t\tReplica")


def test_as_data() -> None:
    lines = [line("11:05", 1, LEADS, 902, 5), line("11:06", 2, FOLLOWS, 850, 5)]
    left = {("pay", 0, 2): at("11:00:01")}
    data = as_data(SNAPSHOT, SELECTION, REPLICAS, verified(SNAPSHOT, SELECTION, left, lines, {"f": "p"}))
    first = data["partitions"][0]
    assert (first["topic"], first["partition"], first["leader"], first["leader_epoch"]) == ("pay", 0, 1, 5)
    assert first["replicas"] == [
        {"replica": 2, "broker": "gone", "in_sync": False, "out_since": "2026-11-21T11:00:01.000Z", "lag_min": 52,
         "lag_max": None, "end_offset": 850, "end_offset_at": "2026-11-21T11:06:00.000Z", "end_offset_evidence": "p:7"},
        {"replica": 1, "broker": "alive", "in_sync": True, "out_since": None, "lag_min": None, "lag_max": None,
         "end_offset": None, "end_offset_at": None, "end_offset_evidence": None},
    ]  # fmt: skip


# ---- rows -----------------------------------------------------------------------------------------------------------
TOPICS = """
    topic | incarnation | since
    pay   | 0           | 08:00
    pay   | 1           | 10:00
    pay   | 2           | 12:30
"""
STATES = """
    topic | partition | incarnation | ordinal | since | isr
    pay   | 0         | 0           | 0       | 08:00 | 1,2,4
    pay   | 0         | 0           | 1       | 08:30 | 1,2
    pay   | 0         | 1           | 0       | 10:00 | 1,2,3
    pay   | 0         | 1           | 1       | 10:10 | 1
    pay   | 0         | 1           | 2       | 10:20 | 1,2
    pay   | 0         | 1           | 3       | 10:30 |
    pay   | 0         | 1           | 4       | 11:00 | 1
    pay   | 0         | 1           | 5       | 12:10 | 1,3
"""


def test_when_replicas_left_the_isr() -> None:
    """Of the incarnation of that moment; a state without an ISR says nothing."""
    with views_of({"topic_timeline": TOPICS, "partition_timeline": STATES}) as views:
        assert_rows(views, left_isr_at(NOON), "topic | partition | replica | left_at\npay|0|2|11:00\npay|0|3|10:10")


EVENTS = """
    topic | partition | at | node_id | event_type | leader_epoch | message | fields
    pay   | 0         | 10:00 | 1       | partition_leader_epoch_started | 4            |         | start_offset=700
    pay   | 0         | 10:05 | 1       | partition_leader_epoch_started | 5            |         | start_offset=800
    pay   | 0         | 10:59 | 2       | log_loaded                     |              |         | log_end_offset=1
    pay   | 0         | 10:59:56 | 1    | isr_shrinking | | | leader_end_offset=902
    pay   | 0         | 11:01 | 2       | log_loaded                     |              | -delete, | log_end_offset=2
    pay   | 0         | 11:02 | 2       | log_loaded                     |              | /d/a-0, | log_end_offset=870
    pay   | 0         | 11:03 | 2       | log_truncated                  |              |         | offset=860
    pay   | 0         | 12:01 | 2       | log_truncated                  |              |         | offset=3
    pay   | 1         | 11:03 | 2       | log_truncated                  |              |         | offset=4
    pay   | 0         | 11:04 | 2       | isr_updated                    |              |         |
"""


def test_lines_that_print_ends_of_logs() -> None:
    """From a time on, a leader's shrink line a little before, and the last begin of a leader epoch before that."""
    expected = """
        at       | writer | event_type                     | leader_epoch | end_offset
        10:05    | 1      | partition_leader_epoch_started | 5            | 800
        10:59:56 | 1      | isr_shrinking                  |              | 902
        11:02    | 2      | log_loaded                     |              | 870
        11:03    | 2      | log_truncated                  |              | 860
    """
    with views_of({"events": EVENTS}) as views:
        assert_rows(views, log_ends_at(NOON, {("pay", 0): at("11:00")}), expected)


def test_a_snapshot_with_its_replicas() -> None:
    files = "path\nbroker-1/server.log"
    tables = {"topic_timeline": TOPICS, "partition_timeline": STATES, "events": EVENTS, "log_files": files}
    topic = replace(PAY, partitions=(P0,), since="2026-11-21T10:00:00.000Z")
    snapshot = replace(SNAPSHOT, state=replace(STATE, topics=(topic,)))
    with views_of(tables) as views:
        (partition,) = verified_at(views, snapshot, select(STATE.tool, [topic], None, STATE.alive))
        early = replace(snapshot, asked=at("09:00"))
        assert verified_at(views, early, select(STATE.tool, [topic], None, STATE.alive)) == []
    outside, leader = partition.replicas
    assert (leader.in_sync, leader.log_end) == (True, None)
    assert outside.out_since == at("11:00")
    assert outside.log_end is not None
    # the leader had printed 902 by then
    assert (outside.log_end.offset, outside.log_end.lag_min, outside.log_end.lag_max) == (860, 42, None)
    assert outside.log_end.evidence == "broker-1/server.log:7"
