"""ISRs of new partitions, by their assignment and by which brokers their controller counted as alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.timelines.states.assigned_isrs import to_first_isrs, to_lone_isrs, with_assigned_isr
from schemas.ingest import EVENTS
from schemas.spark import FLAG, IDS, INT, LONG, TEXT, TIME, struct
from schemas.timelines import CONTROLLER_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame, Same

NEW = struct(
    cluster=TEXT, topic=TEXT, partition=INT, incarnation=INT, at=TIME, replicas=IDS,
    node_id=INT, file_id=TEXT, line=LONG,
)  # fmt: skip
RUNS = struct(cluster=TEXT, runs=T.ArrayType(struct(since=TIME, until=TIME)))
REASSIGNED = struct(cluster=TEXT, topic=TEXT, partition=INT, reassigned=FLAG, reassigned_since=TIME)

# 0 is the controller until 1 takes over at 10:20, and again from 10:25 on
TERMS = """
controller_id | controller_epoch | mode      | since
0             | 1                | zookeeper | 10:00:00
1             | 2                | zookeeper | 10:20:00
0             | 3                | zookeeper | 10:25:00
"""
# that 3 is deleted before it is added at 10:08 is in no line
SIGNS = """
at       | node_id | line | event_type                               | fields
10:00:01 | 0       | 1    | controller_context_live_brokers          | live_brokers=Set(0, 1, 4)
10:00:02 | 0       | 2    | controller_context_shutting_down_brokers | shutting_down_brokers=Set(4)
10:00:05 | 0       | 3    | broker_set_changed | added_brokers=2,3; deleted_brokers=; live_brokers=0,1,2,3,4
10:02:00 | 0       | 4    | controlled_shutdown_started              | broker=1
10:02:05 | 0       | 5    | broker_set_changed | added_brokers=5; deleted_brokers=; live_brokers=0,1,2,3,4,5
10:03:00 | 0       | 6    | broker_set_changed | added_brokers=; deleted_brokers=1; live_brokers=0,2,3,4,5
10:03:30 | 0       | 7    | broker_set_changed | added_brokers=1; deleted_brokers=; live_brokers=0,1,2,3,4,5
10:05:00 | 0       | 8    | broker_set_changed | added_brokers=; deleted_brokers=2; live_brokers=0,1,3,4,5
10:08:00 | 0       | 9    | broker_set_changed | added_brokers=3; deleted_brokers=; live_brokers=0,1,3,4,5
10:20:01 | 1       | 1    | controller_context_live_brokers          | live_brokers=Set(0, 1)
10:20:02 | 1       | 2    | controller_context_shutting_down_brokers | shutting_down_brokers=Set()
10:25:01 | 0       | 10   | controller_context_live_brokers          | live_brokers=Set(0, 1)
"""
CREATED = """
topic             | partition | incarnation | at       | node_id | file_id | line | replicas
alive             | 0         | 1           | 10:01:00 | 0       | c       | 11   | 2,1,0
shuts_down        | 0         | 1           | 10:02:01 | 0       | c       | 12   | 0,1
still_shuts_down  | 0         | 1           | 10:02:10 | 0       | c       | 13   | 0,1
shut_down_before  | 0         | 1           | 10:01:00 | 0       | c       | 14   | 0,4
back              | 0         | 1           | 10:04:00 | 0       | c       | 15   | 1,0
deleted           | 0         | 1           | 10:06:00 | 0       | c       | 16   | 0,2
lost_line         | 0         | 1           | 10:06:00 | 0       | c       | 17   | 0,3
never_listed      | 0         | 1           | 10:06:00 | 0       | c       | 18   | 0,9
of_next_term      | 0         | 1           | 10:21:00 | 1       | c       | 11   | 0,1
not_there_then    | 0         | 1           | 10:21:00 | 1       | c       | 12   | 0,5
of_a_zombie       | 0         | 1           | 10:26:00 | 1       | c       | 14   | 0,1
went_between      | 0         | 1           | 10:26:00 | 0       | c       | 22   | 0,5
lone              | 0         | 1           | 10:01:00 | 0       | c       | 19   | 2
two_assignments   | 0         | 1           | 10:01:00 | 0       | c       | 20   | 0,1
two_assignments   | 0         | 1           | 10:01:01 | 0       | c       | 21   | 1,0
of_who_is_none    | 0         | 1           | 10:01:00 | 1       | c       | 13   | 0,1
"""


@pytest.fixture(scope="module")
def first(frame: Frame) -> DataFrame:
    """Of a controller whose log is there from 10:00:00 to 10:30:00."""
    runs = frame(RUNS, "cluster | runs\n c |").withColumn("runs", F.expr(_run("10:00:00")))
    return to_first_isrs(frame(NEW, CREATED), frame(EVENTS, SIGNS), frame(CONTROLLER_TIMELINE, TERMS), runs, ["c"])


def _run(since: str) -> str:
    return f"array(named_struct('since', timestamp'2026-11-21 {since}', 'until', timestamp'2026-11-21 10:30:00'))"


def test_a_new_partition_has_all_replicas_in_sync_that_its_controller_counts_as_alive(
    first: DataFrame, same: Same
) -> None:
    same(
        first,
        """topic        | node_id | of_epoch | assigned_isr | assigned_since | assigned_until
           alive        | 2       | 0        | 0,1,2        | 10:01:00       | 10:20:00
           back         | 1       | 0        | 0,1          | 10:04:00       | 10:20:00
           of_next_term | 0       | 0        | 0,1          | 10:21:00       | 10:25:00""",
    )


def test_the_lines_are_that_of_the_assignment_and_those_that_list_its_brokers(first: DataFrame) -> None:
    lines = {
        row["topic"]: [(line["file_id"], line["line"]) for line in row["assigned_lines"]] for row in first.collect()
    }
    assert lines == {
        "alive": [("c", 11), ("f", 1), ("f", 3)],
        "back": [("c", 15), ("f", 1), ("f", 7)],
        "of_next_term": [("c", 11), ("f", 1)],
    }


def test_nothing_is_known_if_the_log_has_a_hole_since_its_brokers_were_listed(frame: Frame, same: Same) -> None:
    """0 and 1 were listed at 10:00:01 and 10:03:30, and the logs of all controllers are there from 10:03:00 on."""
    runs = frame(RUNS, "cluster | runs\n c |").withColumn("runs", F.expr(_run("10:03:00")))
    created = "topic | partition | incarnation | at | node_id | file_id | line | replicas\n"
    new = frame(NEW, f"{created} old | 0 | 1 | 10:04:00 | 0 | c | 1 | 0,1 \n new | 0 | 1 | 10:04:00 | 0 | c | 2 | 1,5")
    events = SIGNS.replace("10:02:05", "10:03:05")
    same(
        to_first_isrs(new, frame(EVENTS, events), frame(CONTROLLER_TIMELINE, TERMS), runs, ["c"]),
        "topic | assigned_isr\n new | 1,5",
    )


def test_a_log_that_begins_within_a_term_has_who_is_alive_in_its_first_list(frame: Frame, same: Same) -> None:
    """0 and 1 were there before it begins; 6 shut down, and is back at once; 5 is deleted. That 7 registers anew is no
    proof that its controller counted on it before."""
    runs = frame(RUNS, "cluster | runs\n c |").withColumn("runs", F.expr(_run("10:00:00")))
    lists = """
        at       | node_id | line | event_type                  | fields
        10:00:03 | 0       | 1    | controlled_shutdown_started | broker=6
        10:00:05 | 0       | 2    | broker_set_changed | added_brokers=; deleted_brokers=5; live_brokers=0,1,6,7
        10:00:09 | 0       | 3    | broker_set_changed | added_brokers=; bounced_brokers=6,7; live_brokers=0,1,6,7"""
    created = """
        topic   | partition | incarnation | at       | node_id | file_id | line | replicas
        early   | 0         | 1           | 10:00:04 | 0       | c       | 1    | 0,1
        listed  | 0         | 1           | 10:00:06 | 0       | c       | 2    | 0,1
        before  | 0         | 1           | 10:00:06 | 0       | c       | 6    | 0,7
        closes  | 0         | 1           | 10:00:06 | 0       | c       | 3    | 0,6
        bounced | 0         | 1           | 10:00:10 | 0       | c       | 4    | 6,0
        gone    | 0         | 1           | 10:00:10 | 0       | c       | 5    | 0,5"""
    same(
        to_first_isrs(frame(NEW, created), frame(EVENTS, lists), frame(CONTROLLER_TIMELINE, TERMS), runs, ["c"]),
        """topic   | assigned_isr | assigned_lines
           listed  | 0,1          | 0@c:2,0@f:2
           bounced | 0,6          | 0@c:4,0@f:3""",
    )


def test_clusters_that_are_not_asked_for_have_none(frame: Frame) -> None:
    runs = frame(RUNS, "cluster | runs\n c |").withColumn("runs", F.expr(_run("10:00:00")))
    events, terms = frame(EVENTS, SIGNS), frame(CONTROLLER_TIMELINE, TERMS)
    assert to_first_isrs(frame(NEW, CREATED), events, terms, runs, ["another"]).isEmpty()


def test_a_lone_replica_is_in_sync_in_each_leader_epoch_until_it_is_reassigned(frame: Frame, same: Same) -> None:
    runs = frame(RUNS, "cluster | runs\n c |").withColumn("runs", F.expr(_run("10:00:00")))
    moved = frame(REASSIGNED, "topic | partition | reassigned | reassigned_since\n lone | 0 | true | 10:10:00")
    # states that are printed within 2 s of each other may be in another order
    same(
        to_lone_isrs(frame(NEW, CREATED), moved, runs),
        """topic | node_id | of_epoch | assigned_isr | assigned_since | assigned_until
           lone  | 2       |          | 2            | 10:01:00       | 10:09:58""",
    )


def test_only_the_leader_that_the_assignment_has_begins_with_that_isr(
    first: DataFrame, frame: Frame, same: Same
) -> None:
    """`back`: 1 leads first, of [1, 0]; who leads a later leader epoch does not tell the ISR of that."""
    begins = frame(
        EVENTS,
        """topic | partition | at       | node_id | leader_epoch | line
           back  | 0         | 10:04:01 | 1       | 0            | 1
           back  | 0         | 10:04:02 | 0       | 0            | 2
           back  | 0         | 10:04:03 | 1       | 1            | 3
           back  | 0         | 10:03:59 | 1       | 0            | 4
           back  | 0         | 10:20:01 | 1       | 0            | 5
           none  | 0         | 10:04:01 | 1       | 0            | 6""",
    ).withColumn("incarnation", F.lit(1))
    same(
        with_assigned_isr(begins, first),
        """line | assigned_isr
           1    | 0,1
           2    |
           3    |
           4    |
           5    |
           6    |""",
    )
    same(with_assigned_isr(begins.where("line = 1"), None), "line | assigned_isr\n 1 |")
