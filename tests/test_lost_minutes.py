"""Minutes of which all logs are missing: what tells of them, and which silence is the hole."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any, cast

from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.nightly.inputs import DerivationInputs
from jobs.timelines.cluster_facts import EvidenceKinds
from jobs.timelines.known_spans import to_known_spans
from jobs.timelines.lost_minutes import collect_lost_minutes, to_losses, to_silences, without_holes
from jobs.timelines.states.controller_steps import to_logged_spans
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.timelines import CONTROLLER_TIMELINE
from tests.conftest import instant
from udfs.logs.lost_minutes import LEAST_SILENCE, LineGap, LostMinutes, holes_of

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

SECOND = 1_000_000


def stretches(*spans: tuple[int, int]) -> list[LineGap]:
    return [LineGap(since * SECOND, until * SECOND) for since, until in spans]


def micros(at: str) -> int:
    return (instant(at) - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def clock(rows: DataFrame) -> list[tuple[str, str, str]]:
    """Rows with since and until in microseconds as cluster and times of day, in order."""
    times = rows.selectExpr(
        "cluster",
        "date_format(timestamp_micros(since), 'HH:mm:ss')",
        "date_format(timestamp_micros(until), 'HH:mm:ss')",
    )
    return sorted((row[0], row[1], row[2]) for row in times.collect())


# ---- which silence is the hole --------------------------------------------------------------------------------------
SILENCES = stretches((100, 125), (200, 290), (400, 430), (500, 530))


def test_the_longest_silence_in_which_lines_were_lost_is_the_hole() -> None:
    assert holes_of(stretches((90, 300)), SILENCES) == stretches((200, 290))


def test_a_hole_explains_all_losses_around_it() -> None:
    """That of 90 to 450 would not need the one at 400 to 430, but the shorter one does."""
    assert holes_of(stretches((90, 450), (150, 310), (395, 440), (0, 1000)), SILENCES) == stretches(
        (200, 290), (400, 430)
    )


def test_of_two_silences_of_one_length_it_is_the_first() -> None:
    assert holes_of(stretches((390, 540)), SILENCES) == stretches((400, 430))


def test_where_others_log_on_nothing_is_a_hole() -> None:
    assert holes_of(stretches((130, 280), (210, 600)), stretches((100, 125), (200, 290))) == []


spans = st.lists(st.integers(0, 60), min_size=2, max_size=2, unique=True).map(lambda ends: LineGap(*sorted(ends)))


@given(st.lists(spans, max_size=8), st.lists(st.integers(0, 60), unique=True, max_size=12).map(sorted))
def test_holes_are_silences_and_explain_what_they_can(losses: list[LineGap], ends: list[int]) -> None:
    silences = [LineGap(*pair) for pair in zip(ends[::2], ends[1::2], strict=False)]
    holes = holes_of(losses, silences)
    assert holes == sorted({*holes} & {*silences})

    def are_within(some: list[LineGap], loss: LineGap) -> bool:
        return any(loss.since <= one.since and one.until <= loss.until for one in some)

    assert all(are_within(holes, loss) == are_within(silences, loss) for loss in losses)
    assert all(any(are_within([hole], loss) for loss in losses) for hole in holes)
    assert len(holes) <= len({*losses})


def test_what_older_lines_tell() -> None:
    lost = LostMinutes(tuple(stretches((90, 300), (395, 440))), tuple(SILENCES))
    assert lost.older(400 * SECOND) == LostMinutes(tuple(stretches((90, 300))), tuple(SILENCES[:2]))
    assert lost.holes() == stretches((200, 290), (400, 430))


# ---- what tells of holes --------------------------------------------------------------------------------------------
LINES = """
cluster | at       | node_id | event_type                       | topic | partition | leader_epoch | broker_id | fields
# broker 1 had leader epoch 4 at 10:03, and its last line is about 3
leader  | 10:00:00 | 1       | partition_follower_epoch_started | t     | 0         | 3            |           | previous_leader_epoch=2
leader  | 10:00:10 | 2       | partition_follower_epoch_started | t     | 0         | 4            |           | previous_leader_epoch=3
leader  | 10:03:00 | 1       | partition_leader_epoch_started   | t     | 0         | 5            |           | previous_leader_epoch=4
# it was told of 3 and 5 at once
batch   | 10:00:00 | 1       | partition_follower_epoch_started | t     | 0         | 3            |           | previous_leader_epoch=2
batch   | 10:03:00 | 1       | partition_leader_epoch_started   | t     | 0         | 5            |           | previous_leader_epoch=3
# its process is a new one, and knows of none before
anew    | 10:00:00 | 1       | partition_follower_epoch_started | t     | 0         | 3            |           | previous_leader_epoch=2
anew    | 10:03:00 | 1       | partition_leader_epoch_started   | t     | 0         | 5            |           | previous_leader_epoch=-1
# from 3.9 on followers print the new epoch as the one before
bug     | 10:00:00 | 1       | partition_follower_epoch_started | t     | 0         | 3            |           | previous_leader_epoch=3
bug     | 10:03:00 | 1       | partition_follower_epoch_started | t     | 0         | 5            |           | previous_leader_epoch=5
# the same line in two files
twice   | 10:00:00 | 1       | partition_leader_epoch_started   | t     | 0         | 3            |           | previous_leader_epoch=2
twice   | 10:00:00 | 1       | partition_leader_epoch_started   | t     | 0         | 3            |           | previous_leader_epoch=2
# 101 registered broker 2 as 300, and at 10:02 it is 500; 100 replays as it starts what was long ago
broker  | 10:00:00 | 101     | kraft_broker_registered          |       |           |              | 2         | broker_epoch=300
broker  | 10:01:00 | 101     | kraft_broker_unfenced            |       |           |              | 2         | broker_epoch=300
broker  | 10:01:25 | 100     | kraft_broker_unfenced            |       |           |              | 2         | broker_epoch=7
broker  | 10:02:00 | 101     | kraft_broker_fenced              |       |           |              | 2         | broker_epoch=500
# its registration is there
known   | 10:00:00 | 101     | kraft_broker_unfenced            |       |           |              | 2         | broker_epoch=300
known   | 10:01:00 | 101     | kraft_broker_registered          |       |           |              | 2         | broker_epoch=500
known   | 10:02:00 | 101     | kraft_broker_fenced              |       |           |              | 2         | broker_epoch=500
# 101 reports each minute, and at 10:03 it did not
report  | 10:01:00 | 101     | kraft_performance_report         |       |           |              |           | interval_ms=60000
report  | 10:02:01 | 101     | kraft_performance_report         |       |           |              |           | interval_ms=60000
report  | 10:04:01 | 101     | kraft_performance_report         |       |           |              |           | interval_ms=60000
# it was not the active one meanwhile
term    | 10:01:00 | 101     | kraft_performance_report         |       |           |              |           | interval_ms=60000
term    | 10:04:01 | 101     | kraft_performance_report         |       |           |              |           | interval_ms=60000
"""  # noqa: E501
TERMS = """
cluster | mode  | controller_id | controller_epoch | since    | until
broker  | kraft | 101           | 1                | 09:59:00 |
known   | kraft | 101           | 1                | 09:59:00 |
report  | kraft | 101           | 1                | 09:59:00 |
term    | kraft | 101           | 1                | 09:59:00 | 10:02:00
term    | kraft | 100           | 2                | 10:02:00 | 10:03:00
term    | kraft | 101           | 3                | 10:03:00 |
"""


SKIPPED = """
cluster | at       | node_id | event_type   | topic | partition | leader_epoch | leader
# of leader epoch 4 there is no line; 5 is first seen at 10:03
skips   | 10:00:00 | 1       | state_change | t     | 0         | 3 |
skips   | 10:01:00 | 2       | state_change | t     | 0         | 3 |
skips   | 10:03:00 | 1       | state_change | t     | 0         | 5 |
skips   | 10:04:00 | 1       | state_change | t     | 0         | 6 |
# another broker has it
whole   | 10:00:00 | 1       | state_change | t     | 0         | 3 |
whole   | 10:02:00 | 2       | state_change | t     | 0         | 4 |
whole   | 10:03:00 | 1       | state_change | t     | 0         | 5 |
# the topic was created anew: 5 is of the one before
anew    | 10:00:00 | 1       | state_change | t     | 0         | 5 |
anew    | 10:03:00 | 1       | state_change | t     | 0         | 3 |
# other partitions, and lines without one
others  | 10:00:00 | 1       | state_change | t     | 0         | 3 |
others  | 10:03:00 | 1       | state_change | t     | 1         | 5 |
others  | 10:03:00 | 1       | state_change |       |           | 5 |
# while its topic is deleted, a partition has leader -2
deleted | 10:00:00 | 1       | state_change | t     | 0         | 3 |
deleted | 10:01:00 | 1       | state_change | t     | 0         | 0            | -2
deleted | 10:03:00 | 1       | state_change | t     | 0         | 5 |
"""


def test_of_a_traced_cluster_each_leader_epoch_is_in_some_line(frame: Frame) -> None:
    lines, none = frame(EVENTS, SKIPPED), frame(CONTROLLER_TIMELINE, "cluster")
    assert clock(to_losses(lines, none, ["skips", "whole", "anew", "others", "deleted"])) == [
        ("skips", "10:01:00", "10:03:00")
    ]
    assert clock(to_losses(lines, none)) == []


def test_leader_epochs_may_be_in_no_line_where_requests_are_not_logged_or_in_kraft(frame: Frame) -> None:
    lines = frame(EVENTS, SKIPPED).where("cluster = 'skips'")
    kinds = {
        "traced": EvidenceKinds(kraft=False, dumps=False),
        "info": EvidenceKinds(kraft=False, dumps=False, event_types=frozenset({"control_request_failed"})),
        "none": EvidenceKinds(kraft=False, dumps=False, requests=False),
        "kraft": EvidenceKinds(dumps=False),
    }
    named = [lines.withColumn("cluster", F.lit(name)) for name in kinds]
    inputs = DerivationInputs(cast("Any", None), tuple(kinds), measures_clocks=False)
    of_clusters = {"_all_events": reduce(DataFrame.unionByName, named), "kinds_by_cluster": kinds}
    inputs.__dict__.update(of_clusters, controllers=frame(CONTROLLER_TIMELINE, "cluster"))
    assert inputs.lost_minutes.keys() == {"traced"}


def test_controllers_of_kraft_are_asked_where_there_are_any(frame: Frame) -> None:
    inputs = DerivationInputs(cast("Any", None), ("report",), measures_clocks=False)
    of_clusters = {"_all_events": frame(EVENTS, LINES), "kinds_by_cluster": {"report": EvidenceKinds(dumps=False)}}
    inputs.__dict__.update(of_clusters, controllers=frame(CONTROLLER_TIMELINE, TERMS))
    assert inputs.lost_minutes.keys() == {"report"}


def test_what_tells_that_lines_are_missing(frame: Frame) -> None:
    assert clock(to_losses(frame(EVENTS, LINES), frame(CONTROLLER_TIMELINE, TERMS))) == [
        ("broker", "10:01:00", "10:02:00"),
        ("leader", "10:00:00", "10:03:00"),
        ("report", "10:02:01", "10:04:01"),
    ]


def test_silences_are_of_all_nodes(frame: Frame) -> None:
    """From 10:00:20 to 10:00:45 nobody logs anything; 19 s are no silence."""
    lines = "at | node_id\n10:00:01 | 1\n10:00:20 | 2\n10:00:45 | 1\n10:00:46 | 1\n10:01:05 | 2"
    assert clock(to_silences(frame(EVENTS, lines))) == [("c", "10:00:20", "10:00:45")]
    assert LEAST_SILENCE == 20 * SECOND


def test_the_hole_of_lost_lines_is_a_silence(frame: Frame) -> None:
    """Broker 1 lost its line of leader epoch 4 after the last line of broker 2, or that would be there, too."""
    lost = collect_lost_minutes(frame(EVENTS, LINES), frame(CONTROLLER_TIMELINE, TERMS))
    start = micros("10:00:00")
    assert {
        name: [[(end - start) // SECOND for end in hole] for hole in one.holes()] for name, one in lost.items()
    } == {
        "broker": [[85, 120]],
        "leader": [[10, 180]],
        "report": [[121, 241]],
    }


# ---- what becomes of it ---------------------------------------------------------------------------------------------
COVERAGE = """
cluster | node_id | kind          | since    | until    | records
c       | 1       | controller    | 10:00:00 | 11:00:00 | 9
c       | 2       | server        | 10:10:10 | 10:20:00 | 5
other   | 1       | server        | 10:00:00 | 11:00:00 | 9
"""


def hole_of(since: str, until: str) -> dict[str, list[LineGap]]:
    return {"c": [LineGap(micros(since), micros(until))]}


def test_logs_are_not_there_in_a_hole(frame: Frame, same: Same) -> None:
    same(
        without_holes(frame(LOG_COVERAGE, COVERAGE), hole_of("10:10:00", "10:12:00")),
        """
        cluster | node_id | kind          | since    | until    | records
        c       | 1       | controller    | 10:00:00 | 10:10:00 | 9
        c       | 1       | controller    | 10:12:00 | 11:00:00 | 9
        c       | 2       | server        | 10:12:00 | 10:20:00 | 5
        other   | 1       | server        | 10:00:00 | 11:00:00 | 9
        """,
    )


def test_nobody_logs_a_term_in_a_hole(frame: Frame) -> None:
    terms = frame(CONTROLLER_TIMELINE, "mode | controller_id | controller_epoch | since\nkraft | 1 | 1 | 09:00:00")
    spans = to_logged_spans(frame(LOG_COVERAGE, COVERAGE), terms, hole_of("10:10:00", "10:12:00"))
    rows = spans.selectExpr("cluster", "inline(logged)")
    assert clock(rows.where("is_there")) == [("c", "10:00:00", "11:00:00")]
    assert clock(rows.where("NOT is_there")) == [("c", "10:10:00", "10:12:00")]


def test_what_was_known_before_a_hole_is_not_known_behind_it(frame: Frame) -> None:
    """Facts hold a minute before and after their span: a hole of 30 s is as long as that at least."""
    coverage = frame(LOG_COVERAGE, COVERAGE)

    def known(since: str, until: str) -> list[tuple[str, str, str]]:
        holes = hole_of(since, until)
        spans = to_known_spans(coverage, ("controller",), timedelta(hours=1), "cluster", holes=holes)
        ends = spans.selectExpr("cluster", "inline(spans)")
        return clock(ends.selectExpr("cluster", "unix_micros(since) AS since", "unix_micros(until) AS until"))

    assert known("10:10:00", "10:12:00") == [("c", "10:00:00", "10:10:00"), ("c", "10:12:00", "11:00:00")]
    assert known("10:10:00", "10:10:30") == [("c", "10:00:00", "10:09:30"), ("c", "10:11:00", "11:00:00")]
