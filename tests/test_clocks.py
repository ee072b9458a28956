"""One clock: pairs of lines that compare clocks, offsets by hour, times carried over; requests and ranks as Columns."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from jobs.merge.request import Options
from jobs.merge.run import merge
from jobs.timelines.clocks import (
    CLOCK_PAIRS,
    clock_offset_rows,
    collect_skew_bounds,
    on_cluster_clock,
    to_clock_corrections,
    to_clock_offsets,
    to_clock_pairs,
)
from jobs.timelines.order import EVENT_ORDER, with_rank
from jobs.timelines.requests import to_request_lines, to_requests
from schemas.ingest import EVENTS
from schemas.requests import CLOCK_OFFSETS, CONTROL_REQUESTS
from tests.test_event_rank import RANKED
from udfs.reconstruct.clock_pairs import ClockPairs
from udfs.reconstruct.clock_skew import SkewBound
from udfs.rules.event_rank_columns import event_rank

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import Frame, Run, Same

SECOND = 1_000_000
HOUR = 3600 * SECOND


# ---- offsets ---------------------------------------------------------------------------------------------------------
def test_offsets_by_node_and_hour() -> None:
    """Node 2 is 10 s ahead. In the first hour it is bounded from both sides, in the second only from above."""
    bounds = [
        SkewBound(1, 2, 0, 10 * SECOND + 4000, 3),
        SkewBound(2, 1, 10 * SECOND, -10 * SECOND + 4000, 2),
        SkewBound(1, 2, HOUR, 10 * SECOND + 9000),
        SkewBound(1, 3, 0, 5000),
    ]
    rows = {(row["node_id"], row["hour"].hour): row for row in clock_offset_rows("c", bounds)}
    assert sorted(rows) == [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0)]
    assert {row["reference"] for row in rows.values()} == {1}
    assert (rows[1, 0]["offset_ms_min"], rows[1, 0]["offset_ms_max"], rows[1, 0]["pairs"]) == (0, 0, 6)
    ahead = rows[2, 0]
    assert (ahead["pairs"], ahead["contradicting"]) == (5, False)
    assert ahead["offset_ms_min"] == pytest.approx(9_995, abs=0.1)  # its way is 4 ms, and times are cut to milliseconds
    assert ahead["offset_ms_max"] == pytest.approx(10_005, abs=0.1)
    assert rows[2, 1]["offset_ms_max"] == 10_010
    assert rows[2, 1]["offset_ms_min"] == pytest.approx(9_995 - 1_800, abs=6)  # 500 ppm of an hour
    assert (rows[3, 0]["offset_ms_min"], rows[3, 0]["offset_ms_max"], rows[3, 0]["applied"]) == (None, 6, [])


def test_times_are_carried_to_the_clusters_clock(spark: SparkSession, frame: Frame, same: Same) -> None:
    """Node 2 was 5 s ahead at 10:00:00 and 6 s at 10:00:20; node 3 keeps its clock, and so do lines of nobody."""
    points = "array(named_struct('at', timestamp'2026-11-21 10:00:00', 'ahead_ms', 5000D), named_struct('at', timestamp'2026-11-21 10:00:20', 'ahead_ms', 6000D))"
    offsets = frame(CLOCK_OFFSETS.schema, "node_id | hour\n 2 | 10:00\n 3 | 10:00").withColumn(
        "applied", F.expr(f"IF(node_id = 2, {points}, array())")
    )
    corrections = to_clock_corrections(offsets)
    assert corrections is not None
    events = frame(
        EVENTS,
        """
        node_id | at
        2       | 09:00:00
        2       | 10:00:05
        2       | 10:00:15
        2       | 10:00:20.001
        2       | 11:00:00
        3       | 10:00:15
                | 10:00:15
        """,
    )
    same(
        on_cluster_clock(events, corrections, {"at": "node_id"}),
        """
        line | node_id | at
        1    | 2       | 08:59:55
        2    | 2       | 09:59:59.75
        3    | 2       | 10:00:09.25
        4    | 2       | 10:00:14.001
        5    | 2       | 10:59:54
        6    | 3       | 10:00:15
        7    |         | 10:00:15
        """,
    )
    assert to_clock_corrections(offsets.where("node_id = 3")) is None


def test_what_one_node_begins_comes_before_what_others_log_about_it(frame: Frame, same: Same) -> None:
    """Broker 2 shrinks the ISR of a-0; controller 1 and broker 3 log its version 5.

    Topic b was deleted: its epochs come again. Version 6 does not have the ISR that was intended before. In KRaft 101 is elected before 102 follows it, and
    a broker's process names its incarnation before any controller registers that.
    """
    events = (
        frame(
            EVENTS,
            """
        node_id | at         | event_type               | topic | partition | partition_epoch | isr
        2       | 10:00:10   | isr_shrinking            | a     | 0         |                 | 2,1
        2       | 10:00:10.2 | isr_updated              | a     | 0         | 5               | 1,2
        1       | 10:00:03.1 | partition_state_change   | a     | 0         | 5               | 1,2
        3       | 10:00:11.5 | metadata_cache_updated   | a     | 0         | 5               | 1,2
        3       | 10:00:11   | metadata_cache_updated   | a     | 0         | 5               | 1,2
        3       | 10:00:01   | metadata_cache_updated   | a     | 0         | 4               | 1,2,3
        2       | 10:00:20   | isr_expanding            | a     | 0         |                 | 1,2,3
        2       | 10:00:21   | isr_updated              | a     | 0         | 6               | 1,2
        3       | 10:00:22   | metadata_cache_updated   | a     | 0         | 6               | 1,2
        2       | 10:00:10   | isr_shrinking            | b     | 0         |                 | 2
        2       | 10:00:11   | isr_updated              | b     | 0         | 1               | 2
        3       | 10:00:12   | metadata_cache_updated   | b     | 0         | 1               | 2
        1       | 10:00:00   | topic_deletion_completed | b     |           |                 |
        """,
        )
        .unionByName(
            frame(
                EVENTS,
                """
            node_id | at         | event_type          | controller_id | controller_epoch
            101     | 10:01:00   | raft_leader_elected | 101           | 4
            102     | 10:01:05   | raft_leader_changed | 101           | 4
            102     | 10:07:00   | raft_leader_changed | 101           | 4
            102     | 10:08:00   | raft_leader_changed | 100           | 5
            """,
            )
        )
        .unionByName(
            frame(
                EVENTS,
                """
            node_id | at         | event_type                  | fields
            5       | 10:02:00   | broker_incarnation_starting | incarnation_id=A
            101     | 10:02:01   | kraft_broker_registered     | incarnation_id=A
            101     | 10:02:00.5 | kraft_broker_registering    | incarnation_id=A
            101     | 10:03:00   | kraft_broker_registered     | incarnation_id=B
            """,
            )
        )
    )
    pairs = to_clock_pairs(frame(CONTROL_REQUESTS.schema, "broker"), events)
    same(
        pairs,
        """
        cluster | cause | effect | cause_at | effect_at
        c       | 2     | 1    | 10:00:10 | 10:00:03.1
        c       | 2     | 3    | 10:00:10 | 10:00:11
        c       | 101   | 102  | 10:01:00 | 10:01:05
        c       | 5     | 101  | 10:02:00 | 10:02:00.5
        """,
    )


def test_of_many_pairs_the_closest_of_ten_seconds_counts(spark: SparkSession, frame: Frame) -> None:
    pairs = frame(
        CLOCK_PAIRS,
        """
        cause | effect | cause_at | effect_at
        1     | 2    | 10:00:01 | 10:00:01.9
        1     | 2    | 10:00:02 | 10:00:02.5
        1     | 2    | 10:00:12 | 10:00:12.7
        """,
    )
    bounds = collect_skew_bounds(pairs)["c"]
    assert sorted((bound.cause, bound.effect, bound.ahead, bound.pairs) for bound in bounds) == [
        (1, 2, 500_000, 2),
        (1, 2, 700_000, 1),
    ]
    rows = to_clock_offsets(spark, {"c": bounds}).collect()
    assert {row["node_id"]: row["offset_ms_max"] for row in rows} == {
        1: 0,
        # 5 ms may drift in 10 s
        2: pytest.approx(506),
    }


def test_plain_python_finds_the_same(zk: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`merge --skew auto` goes by the same pairs: they give the rows that the nightly has published."""
    bounds: list[SkewBound] = []
    skew_bounds = ClockPairs.skew_bounds

    def recorded(pairs: ClockPairs) -> list[SkewBound]:
        bounds.extend(skew_bounds(pairs))
        return bounds

    monkeypatch.setattr(ClockPairs, "skew_bounds", recorded)
    merge(Options(paths=(str(zk.capture / "logs"),), skew="auto", count=True), io.BytesIO(), lambda _: None)
    published = zk.rows("clock_offsets")
    names = [name for name in CLOCK_OFFSETS.columns if name != "hour"]  # is naive, of Spark's zone
    rows = clock_offset_rows(published[0]["cluster"], bounds)
    assert [[row[name] for name in names] for row in rows] == [
        [row[name] for name in names] for row in sorted(published, key=lambda row: (row["node_id"], row["hour"]))
    ]


# ---- requests --------------------------------------------------------------------------------------------------------
def test_requests_from_events(frame: Frame, same: Same) -> None:
    """Kafka 2.4: a LeaderAndIsr of two partitions to broker 2, whose clock is 5 s ahead; an UpdateMetadata to two."""
    events = frame(
        EVENTS,
        """
        file_id | line | node_id | at          | event_type                      | controller_id | controller_epoch | correlation_id | topic | partition | leader_epoch | partition_epoch | isr | fields
        s1      | 1    | 1       | 10:00:00    | leader_and_isr_request_sent     | 1 | 4 |   | a | 0 | 3 | 7 | 2,1 | target_broker=2
        s1      | 2    | 1       | 10:00:00    | leader_and_isr_request_sent     | 1 | 4 |   | a | 1 | 2 | 3 | 2   | target_broker=2
        s1      | 3    | 1       | 10:00:00.01 | update_metadata_request_sent    | 1 | 4 |   | a | 0 | 3 | 7 | 2,1 | target_brokers=HashSet(2, 3)
        s2      | 1    | 2       | 10:00:05.02 | leader_and_isr_request_received | 1 | 4 | 9 | a | 0 | 3 | 7 | 2,1 |
        s2      | 2    | 2       | 10:00:05.02 | leader_and_isr_request_received | 1 | 4 | 9 | a | 1 | 2 | 3 | 2   |
        s2      | 3    | 2       | 10:00:05.03 | leader_and_isr_stale_leader_epoch | 1 | 4 | 9 | a | 1 | 2 |   |     | current_leader_epoch=3
        s1      | 4    | 1       | 10:00:00.05 | controller_response_received    | 1 | 4 | 9 |   |   |   |   |     | target_broker=2; api=LEADER_AND_ISR; error_code=0; partition_errors={error_code=0},{error_code=6}
        s1      | 5    | 1       | 10:00:00.06 | become_leader_completed         |   |   | 9 |   |   |   |   |     |
        """,
    )
    same(
        to_requests(to_request_lines(events)),
        """
        cluster | controller_id | broker | number | controller_epoch | correlation_id | kind           | partitions | sent_at     | received_at | handled_at  | responded_at | delivery_ms | handling_ms | round_trip_ms | error | failed_partitions | stale | stale_partitions | evidence
        c       | 1             | 2      | 0      | 4                | 9              | LeaderAndIsr   | 2          | 10:00:00    | 10:00:05.02 | 10:00:05.03 | 10:00:00.05  | 5020        | 10          | 50            | NONE  | 1                 | true  | 1                | 1@s1:1,2@s2:1,1@s1:4
        c       | 1             | 2      | 1      | 4                |                | UpdateMetadata | 1          | 10:00:00.01 |             |             |              |             |             |               |       |                   |       |                  | 1@s1:3
        c       | 1             | 3      | 0      | 4                |                | UpdateMetadata | 1          | 10:00:00.01 |             |             |              |             |             |               |       |                   |       |                  | 1@s1:3
        """,
    )


def test_how_many_leaders_change_is_not_how_many_partitions_a_request_has(frame: Frame, same: Same) -> None:
    """Kafka 2.6 at INFO: of the 15 partitions of broker 2 none gets another leader, of the 3 of the second request
    two. The broker says so 10 ms after it began."""
    sent, handled, fetchers = (
        "leader_and_isr_request_sent_summary",
        "leader_and_isr_request_received_summary",
        "become_follower_stopped_fetchers_summary",
    )
    events = frame(
        EVENTS,
        f"""
        file_id | line | node_id | at           | event_type | controller_id | controller_epoch | correlation_id | fields
        s1      | 1    | 1       | 10:00:00     | {sent}     | 1 | 4 |   | target_broker=2; become_leader_count=11; become_follower_count=4
        s1      | 2    | 1       | 10:00:01     | {sent}     | 1 | 4 |   | target_broker=2; become_leader_count=0; become_follower_count=3
        s1      | 3    | 1       | 10:00:02     | {sent}     | 1 | 4 |   | target_broker=2; become_leader_count=1; become_follower_count=0
        s1      | 4    | 1       | 10:00:03     | {sent}     | 1 | 4 |   | target_broker=2; become_leader_count=0; become_follower_count=6
        s2      | 1    | 2       | 10:00:00.02  | {handled}  | 1 |   | 1 | partition_count=15
        s2      | 2    | 2       | 10:00:00.03  | {fetchers} | 1 | 4 | 1 | partition_count=0
        s2      | 3    | 2       | 10:00:01.02  | {handled}  | 1 |   | 2 | partition_count=3
        s2      | 4    | 2       | 10:00:01.03  | {fetchers} | 1 | 4 | 2 | partition_count=2
        s2      | 5    | 2       | 10:00:02.02  | {handled}  | 1 |   | 3 | partition_count=1
        s2      | 6    | 2       | 10:00:03.02  | {handled}  | 1 |   | 4 | partition_count=6
        """,
    )
    requests = to_requests(to_request_lines(events))
    same(
        requests.select("number", "correlation_id", "partitions", "sent_at", "received_at"),
        """
        number | correlation_id | partitions | sent_at  | received_at
        0      | 1              | 15         | 10:00:00 | 10:00:00.02
        1      | 2              | 3          | 10:00:01 | 10:00:01.02
        2      | 3              | 1          | 10:00:02 | 10:00:02.02
        3      | 4              | 6          | 10:00:03 | 10:00:03.02
        """,
    )


# ---- order -----------------------------------------------------------------------------------------------------------
def test_ranks_of_records_as_columns_and_their_order(spark: SparkSession) -> None:
    """The ranks are those of merge. In file g an answer stands before a sending of the same time: they stay so."""
    messages = [text.split(" ", 1)[1] for text in RANKED]
    ranked = spark.createDataFrame([(message,) for message in messages], "message string").withColumn(
        "rank", event_rank("message")
    )
    assert {row["message"]: row["rank"] for row in ranked.collect()} == dict(
        zip(messages, RANKED.values(), strict=True)
    )
    lines = spark.createDataFrame(
        [
            ("c", "f", 1, 1, 5, "[Broker id=3] Cached leader info x"),
            ("c", "g", 2, 1, 7, "[Controller id=1 epoch=2] Received response x for request"),
            ("c", "g", 2, 1, 8, "[Controller id=1 epoch=2] Sending UpdateMetadata request x"),
            ("c", "h", 3, 1, 1, "[Controller id=3 epoch=2] Sending UpdateMetadata request x"),
        ],
        "cluster string, file_id string, node_id int, at int, line int, message string",
    )
    in_order = with_rank(lines).orderBy(*EVENT_ORDER).collect()
    assert [(row["file_id"], row["line"]) for row in in_order] == [("h", 1), ("f", 5), ("g", 7), ("g", 8)]
