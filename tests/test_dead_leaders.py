"""Outages that only a failed election shows: the leader was dead, and the controller wrote no state."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from jobs.answers.partition_steps import PartitionRows, steps_of
from jobs.answers.story_lanes import partition_lanes
from jobs.findings.last_brokers import to_last_brokers, without_deleted
from jobs.findings.outages import to_outages
from schemas.findings import ELECTIONS, OFFLINE_PARTITIONS
from schemas.ingest import EVENTS
from schemas.spark import INT, TEXT, TIME, struct
from schemas.timelines import BROKER_TIMELINE, CONTROLLER_TIMELINE
from tests.test_findings import LAST, TAKEOVERS, known_spans, states

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

STATES = """
topic    | partition | incarnation | leader | leader_epoch | partition_epoch | isr | since    | until    | evidence
# broker 2 dies with the controller, the new one finds nobody to elect, 2 returns and is elected
returns  | 0         | 0           | 2      | 0            | 0               | 2   | 10:00:00 | 10:01:10 | 9@f:1
returns  | 0         | 0           | 2      | 1            | 1               | 2   | 10:01:10 |          | 9@f:2
# two controllers in turn fail: one outage, from the first; an ISR that changed before does not matter
twice    | 0         | 0           | 2      | 0            | 0               | 1,2 | 10:00:00 | 10:00:30 | 9@f:3
twice    | 0         | 0           | 2      | 0            | 1               | 2   | 10:00:30 | 10:01:12 | 9@f:4
twice    | 0         | 0           | 3      | 1            | 2               | 3   | 10:01:12 |          | 9@f:5
# still so when the logs end
open     | 0         | 0           | 3      | 5            | 9               | 3   | 10:00:00 |          | 9@f:6
# 2 was back for long before the next state: who elected it when is in no line
unknown  | 0         | 0           | 2      | 0            | 0               | 2   | 10:00:00 | 10:02:00 | 9@f:7
unknown  | 0         | 0           | 2      | 3            | 4               | 2   | 10:02:00 |          | 9@f:8
never    | 0         | 0           | 2      | 0            | 0               | 2   | 10:00:00 |          | 9@f:9
# another strategy failed: the leader stays, alive
moving   | 0         | 0           | 1      | 0            | 0               | 1   | 10:00:00 | 10:03:00 | 9@f:10
# nobody knows who led
nobody   | 0         | 0           | 2      | 0            | 0               | 2   | 10:00:00 | 10:01:10 | 9@f:11
# a state without a leader follows later: all of it is one outage
written  | 0         | 0           | 2      | 0            | 0               | 2   | 10:00:00 | 10:01:05 | 9@f:12
written  | 0         | 0           | -1     | 1            | 1               | 2   | 10:01:05 | 10:01:11 | 9@f:13
written  | 0         | 0           | 2      | 2            | 2               | 2   | 10:01:11 |          | 9@f:14
# as all controllers do from 2.1 on: the state without a leader is written 20 ms after the election failed
at_once  | 0         | 0           | 2      | 0            | 0               | 2   | 10:00:00 | 10:01:00.02 | 9@f:15
at_once  | 0         | 0           | -1     | 1            | 1               | 2   | 10:01:00.02 | 10:01:11 | 9@f:16
at_once  | 0         | 0           | 2      | 2            | 2               | 2   | 10:01:11 |          | 9@f:17
# a controller finds 4 dead as it takes over, and elects another one at once, or 20 s later, or writes that none leads
found    | 0         | 0           | 4      | 0            | 0               | 4,5 | 10:00:00 | 10:04:00.3 | 9@f:31
found    | 0         | 0           | 5      | 1            | 1               | 5   | 10:04:00.3 |        | 9@f:32
late     | 0         | 0           | 4      | 0            | 0               | 4,5 | 10:00:00 | 10:04:20 | 9@f:33
late     | 0         | 0           | 5      | 1            | 1               | 5   | 10:04:20 |          | 9@f:34
none     | 0         | 0           | 4      | 0            | 0               | 4,5 | 10:00:00 | 10:04:00.2 | 9@f:35
none     | 0         | 0           | -1     | 1            | 1               | 5   | 10:04:00.2 | 10:04:00.3 | 9@f:36
none     | 0         | 0           | 5      | 2            | 2               | 5   | 10:04:00.3 |        | 9@f:37
# the controller failed to elect one, and wrote the leader epoch 4, then 5: only the first and the last are in the logs
unseen   | 0         | 0           | 2      | 3            | 3               | 2   | 10:00:00 | 10:01:11 | 9@f:51
unseen   | 0         | 0           | 2      | 5            | 5               | 2   | 10:01:11 |          | 9@f:52
# more leader epochs are missing: there was no leader as it failed, and nobody knows until when
several  | 0         | 0           | 2      | 3            | 3               | 2   | 10:00:00 | 10:01:11 | 9@f:53
several  | 0         | 0           | 2      | 7            | 7               | 2   | 10:01:11 |          | 9@f:54
# no leader epoch is missing: whose election failed is not known
next     | 0         | 0           | 2      | 3            | 3               | 2   | 10:00:00 | 10:01:11 | 9@f:55
next     | 0         | 0           | 2      | 4            | 4               | 2   | 10:01:11 |          | 9@f:56
# nobody of the ISR is back as the logs end
still    | 0         | 0           | 3      | 3            | 3               | 3   | 10:00:00 |          | 9@f:57
# 2 was in sync and is back: lines are missing
elected  | 0         | 0           | 3      | 3            | 3               | 2,3 | 10:00:00 |          | 9@f:58
# 5 was never lost
alive    | 0         | 0           | 5      | 3            | 3               | 5   | 10:00:00 |          | 9@f:59
# 2 shuts down, which the controller counts as dead already: it leads on, and takes 3 into the ISR
leaving  | 0         | 0           | 2      | 3            | 3               | 2   | 10:00:00 | 10:01:11 | 9@f:72
leaving  | 0         | 0           | 2      | 3            | 4               | 2,3 | 10:01:11 |          | 9@f:73
# as it has gone it is lost
gone     | 0         | 0           | 2      | 3            | 3               | 2   | 10:00:00 | 10:01:12 | 9@f:74
gone     | 0         | 0           | 2      | 4            | 4               | 2   | 10:01:12 |          | 9@f:75
# others shut down
other    | 0         | 0           | 2      | 3            | 3               | 2   | 10:00:00 | 10:01:12 | 9@f:76
other    | 0         | 0           | 2      | 4            | 4               | 2   | 10:01:12 |          | 9@f:77
"""
FOUND = """
broker | stopped  | noticed_at | evidence
4      | 10:04:00 | 10:04:00   | 6@f:41
"""
FAILED = """
topic    | partition | incarnation | at       | strategy  | previous_leader | succeeded | shutting_down | evidence
returns  | 0         | 0           | 10:01:00 | offline   | 2               | false     |               | 9@f:21
twice    | 0         | 0           | 10:01:00 | offline   | 2               | false     |               | 9@f:22
twice    | 0         | 0           | 10:01:05 | offline   | 2               | false     |               | 9@f:23
open     | 0         | 0           | 10:01:00 | offline   | 3               | false     |               | 9@f:24
unknown  | 0         | 0           | 10:01:00 | offline   | 2               | false     |               | 9@f:25
never    | 0         | 0           | 10:01:00 | offline   | 2               | false     |               | 9@f:26
moving   | 0         | 0           | 10:01:00 | preferred | 1               | false     |               | 9@f:27
nobody   | 0         | 0           | 10:01:00 | offline   |                 | false     |               | 9@f:28
written  | 0         | 0           | 10:01:00 | offline   | 2               | false     |               | 9@f:29
at_once  | 0         | 0           | 10:01:00 | offline   | 2               | false     |               | 9@f:30
unseen   | 0         | 0           | 10:01:00 | offline   |                 | false     |               | 9@f:61
unseen   | 0         | 0           | 10:01:05 | offline   |                 | false     |               | 9@f:62
several  | 0         | 0           | 10:01:00 | offline   |                 | false     |               | 9@f:63
next     | 0         | 0           | 10:01:00 | offline   |                 | false     |               | 9@f:64
still    | 0         | 0           | 10:01:00 | offline   |                 | false     |               | 9@f:65
elected  | 0         | 0           | 10:01:00 | offline   |                 | false     |               | 9@f:66
alive    | 0         | 0           | 10:01:00 | offline   |                 | false     |               | 9@f:67
leaving  | 0         | 0           | 10:01:00 | offline   | 2               | false     | 2             | 9@f:68
gone     | 0         | 0           | 10:01:00 | offline   | 2               | false     | 2             | 9@f:69
gone     | 0         | 0           | 10:01:03 | offline   | 2               | false     |               | 9@f:70
other    | 0         | 0           | 10:01:00 | offline   | 2               | false     | 4,5           | 9@f:71
"""
BROKERS = """
broker | since    | until
2      | 09:00:00 | 10:01:00
2      | 10:01:09 |
3      | 09:00:00 | 10:01:00
5      | 09:00:00 |
"""
OUTAGES = """
topic   | since    | until    | duration_ms | at_least_ms | at_most_ms | last_leader | last_isr | healed_by_broker | failed_elections | evidence
returns | 10:01:00 | 10:01:10 | 10000       | 10000       | 10000      | 2           | 2        | 2                | 1                | 9@f:21
twice   | 10:01:00 | 10:01:12 | 12000       | 12000       | 12000      | 2           | 2        | 3                | 2                | 9@f:22
open    | 10:01:00 |          |             | 540000      |            | 3           | 3        |                  | 1                | 9@f:24
written | 10:01:00 | 10:01:11 | 11000       | 11000       | 11000      | 2           | 2        | 2                | 1                | 9@f:29,9@f:13
at_once | 10:01:00.02 | 10:01:11 | 10980    | 10980       | 10980      | 2           | 2        | 2                | 1                | 9@f:16
found   | 10:04:00 | 10:04:00.3 | 300       | 300         | 300        | 4           | 4,5      | 5                | 0                | 6@f:41
none    | 10:04:00.2 | 10:04:00.3 | 100     | 100         | 100        | 4           | 4,5      | 5                | 0                | 9@f:36
unseen  | 10:01:00 | 10:01:11 | 11000       | 11000       | 11000      | 2           | 2        | 2                | 2                | 9@f:61
several | 10:01:00 |          |             | 0           | 11000      | 2           | 2        | 2                | 1                | 9@f:63
still   | 10:01:00 |          |             | 540000      |            | 3           | 3        |                  | 1                | 9@f:65
gone    | 10:01:03 | 10:01:12 | 9000        | 9000        | 9000       | 2           | 2        | 2                | 1                | 9@f:70
other   | 10:01:00 | 10:01:12 | 12000       | 12000       | 12000      | 2           | 2        | 2                | 1                | 9@f:71
"""  # noqa: E501
COVERAGE = """
9       | controller   | 10:00:00 | 10:10:00
9       | state_change | 10:00:00 | 10:10:00
"""


def test_a_failed_election_of_a_dead_leader_begins_an_outage(frame: Frame, same: Same) -> None:
    spans = known_spans(frame, COVERAGE)
    failed, brokers, events = frame(ELECTIONS, FAILED), frame(BROKER_TIMELINE, BROKERS), frame(EVENTS, "topic")
    rows, takeovers, last = states(frame, STATES), frame(TAKEOVERS, FOUND), frame(LAST, "broker")
    same(to_outages(rows, failed, brokers, spans, events, takeovers, last), OUTAGES)
    # at INFO ordinals count from far up
    far = rows.withColumn("ordinal", F.lit(2**63 - 100) + F.col("ordinal"))
    same(to_outages(far, failed, brokers, spans, events, takeovers, last), OUTAGES)


# ---- the last broker ------------------------------------------------------------------------------------------------
ENDED = """
cluster | broker | since    | until    | evidence
last    | 1      | 09:00:00 | 10:01:00 | 2@f:1,2@f:2
last    | 2      | 09:00:00 | 10:02:00 | 2@f:3,2@f:4
# another one is still there, the last one was not the controller, or another controller came
others  | 1      | 09:00:00 |          | 2@f:1
others  | 2      | 09:00:00 | 10:02:00 | 2@f:3,2@f:4
ruled   | 1      | 09:00:00 | 10:01:00 | 2@f:1,2@f:2
ruled   | 2      | 09:00:00 | 10:02:00 | 2@f:3,2@f:4
after   | 2      | 09:00:00 | 10:02:00 | 2@f:3,2@f:4
# long before its session ended: others may have reigned meanwhile
gap     | 2      | 09:00:00 | 10:02:00 | 2@f:3,2@f:4
kraft   | 2      | 09:00:00 | 10:02:00 | 2@f:3,2@f:4
"""
LAST_TERMS = """
cluster | cluster_incarnation | controller_id | controller_epoch | mode      | since    | until
last    | 0                   | 1             | 1                | zookeeper | 09:00:00 | 10:00:59
last    | 0                   | 2             | 2                | zookeeper | 10:01:00 | 10:01:59
others  | 0                   | 2             | 2                | zookeeper | 09:00:00 | 10:01:59
ruled   | 0                   | 1             | 1                | zookeeper | 09:00:00 | 10:01:59
after   | 0                   | 2             | 2                | zookeeper | 09:00:00 | 10:01:59
after   | 0                   | 3             | 3                | zookeeper | 10:02:01 |
gap     | 0                   | 2             | 2                | zookeeper | 09:00:00 | 10:01:30
kraft   | 0                   | 2             | 2                | kraft     | 09:00:00 | 10:01:59
"""
LAST_BROKERS = """
cluster | broker | stopped_at | evidence
last    | 2      | 10:02:00   | 2@f:4
"""
LAST_LED = """
topic   | partition | incarnation | leader | leader_epoch | partition_epoch | isr | since    | until    | evidence
led     | 0         | 0           | 1      | 0            | 0               | 1,2 | 10:00:00 | 10:01:00 | 9@f:1
led     | 0         | 0           | 2      | 1            | 1               | 2   | 10:01:00 |          | 9@f:2
# it was deleted before, or as 2 went, by other clocks; nobody knows who led after 1; it had no leader already
deleted | 0         | 0           | 2      | 0            | 0               | 2   | 10:00:00 | 10:01:50 | 9@f:3
late    | 0         | 0           | 2      | 0            | 0               | 2   | 10:00:00 | 10:02:00.5 | 9@f:7
other   | 0         | 0           | 1      | 0            | 0               | 1   | 10:00:00 |          | 9@f:4
offline | 0         | 0           | -1     | 3            | 3               | 1   | 10:00:00 |          | 9@f:5
"""
LAST_STOP = """
broker | stopped_at | evidence
2      | 10:02:00   | 2@f:4
"""
LAST_OUTAGES = """
topic   | since    | until | at_least_ms | last_leader | last_isr | evidence
led     | 10:02:00 |       | 480000      | 2           | 2        | 2@f:4
offline | 10:00:00 |       | 600000      |             | 1        | 9@f:5
"""


def test_the_last_broker_was_the_controller_and_saw_the_others_go(frame: Frame, same: Same) -> None:
    same(to_last_brokers(frame(BROKER_TIMELINE, ENDED), frame(CONTROLLER_TIMELINE, LAST_TERMS)), LAST_BROKERS)


def test_what_the_last_broker_led_has_no_leader_once_it_is_shut_down(frame: Frame, same: Same) -> None:
    spans, brokers = (
        known_spans(frame, COVERAGE),
        frame(BROKER_TIMELINE, "broker | since | until\n2 | 09:00:00 | 10:02:00"),
    )
    none, events, takeovers = frame(ELECTIONS, "topic"), frame(EVENTS, "topic"), frame(TAKEOVERS, "broker")
    rows = to_outages(states(frame, LAST_LED), none, brokers, spans, events, takeovers, frame(LAST, LAST_STOP))
    same(rows, LAST_OUTAGES)


# ---- the story of such a partition -----------------------------------------------------------------------------------
def at(second: int) -> datetime:
    return datetime(2026, 11, 21, 10, 0, second)


def led(since: int, until: int | None, leader: int, epoch: int) -> dict[str, Any]:
    return {
        "incarnation": 0, "ordinal": epoch, "leader": leader, "leader_epoch": epoch, "partition_epoch": epoch,
        "isr": [2], "replicas": [2], "since": at(since), "until": None if until is None else at(until),
        "made_by": None, "inferred": False, "evidence": [],
    }  # fmt: skip


OUTAGE = {
    "incarnation": 0, "since": at(10), "until": at(20), "ended_before": at(20), "last_leader": 2, "last_isr": [2],
    "cause": "broker_crash", "cause_broker": 2, "cause_at": None,
    "evidence": [{"node_id": 9, "file_id": "f", "line": 21}],
}  # fmt: skip


def story(*states: dict[str, Any]) -> PartitionRows:
    return PartitionRows(states, [OUTAGE], [])


def test_the_story_has_the_time_without_a_leader() -> None:
    rows = story(led(0, 20, 2, 0), led(20, None, 2, 1))
    texts = [(step.at, step.text) for step in steps_of(rows, at(0), at(30))]
    assert (
        at(10),
        "NO LEADER: broker 2 led until then, broker 2 crashed; nobody could be elected, and it stayed the leader in "
        "ZooKeeper; ISR 2",
    ) in texts
    (leader, *_) = partition_lanes(rows, at(0), at(30), at(30))
    assert [(stretch.since, stretch.until, stretch.label) for stretch in leader.stretches] == [
        (at(0), at(10), "2"),
        (at(10), at(20), ""),
        (at(20), at(30), "2"),
    ]


@pytest.mark.parametrize("states", [(led(0, 20, 2, 3), led(20, None, 2, 5)), (led(0, None, 2, 3),)], ids=len)
def test_the_story_says_where_no_line_prints_the_state_without_a_leader(states: tuple[dict[str, Any], ...]) -> None:
    rows = story(*states)
    failed = {
        "incarnation": 0, "at": at(10), "succeeded": False, "previous_leader": None, "leader_epoch": None,
        "isr_before": None, "live_brokers": None, "evidence": [],
    }  # fmt: skip
    (outage, *_) = [
        step for step in steps_of(replace(rows, elections=[failed]), at(0), at(30)) if step.kind == "outage"
    ]
    assert (
        outage.text == "NO LEADER: broker 2 led until then, broker 2 crashed; nobody could be elected, and no line "
        "prints the state; ISR 2"
    )


def test_the_story_says_where_nobody_knows_who_led() -> None:
    """Broker 2, the leader that lines show, had gone long before broker 3, the last one of the ISR."""
    outage = {**OUTAGE, "cause": "no_live_isr", "cause_broker": 3}
    rows = PartitionRows([led(0, 20, 2, 3), led(20, None, 2, 6)], [outage], [])
    printed = story(led(0, 10, 2, 3), led(10, 20, -1, 5), led(20, None, 2, 6))
    gone = "NO LEADER: who led until then is in no line, broker 3, the last replica in sync, was gone; "
    for one in (rows, replace(rows, outages=[{**outage, "last_leader": None}]), replace(printed, outages=[outage])):
        (text,) = [step.text for step in steps_of(one, at(0), at(30)) if step.kind == "outage"]
        assert text.startswith(gone)
    (leader, *_) = partition_lanes(rows, at(0), at(30), at(30))
    assert [(stretch.since, stretch.label) for stretch in leader.stretches] == [
        (at(0), "2"),
        (at(10), ""),
        (at(20), "2"),
    ]


def test_an_outage_that_a_state_shows_is_told_once() -> None:
    rows = story(led(0, 10, 2, 0), led(10, 20, -1, 1), led(20, None, 2, 2))
    assert [step.kind for step in steps_of(rows, at(1), at(15))] == ["outage"]


def test_a_topic_that_was_being_deleted_has_no_outage_as_the_last_broker_is_shut_down(frame: Frame, same: Same) -> None:
    """Broker 1 was the last one, and went at 10:10:00; what waits for its deletion since before has a line."""
    stops = frame(struct(cluster=TEXT, broker=INT, stopped_at=TIME), "broker | stopped_at\n 1 | 10:10:00")
    outages = """
        topic | since    | cause
        gone  | 10:10:00 | topic_deletion
        there | 10:10:00 | controlled_shutdown
        plain | 10:10:00 |
        waits | 10:09:00 | topic_deletion"""
    same(
        without_deleted(frame(OFFLINE_PARTITIONS, outages), stops),
        "topic\n there\n plain\n waits",
    )
