"""ISR changes that controllers refuse: a line each as columns, and whether what it says was wrong with the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jobs.findings.refusals import to_refusals
from schemas.ingest import EVENTS
from schemas.timelines import BROKER_TIMELINE, PARTITION_TIMELINE, TOPIC_TIMELINE
from udfs.kafka import refusal_verdicts as refusals
from udfs.kafka.isr_requests import IsrOwner, IsrRequest, kraft_alter_partition
from udfs.kafka.judgements import HOLDS, UNKNOWN, VIOLATED
from udfs.kafka.refusal_verdicts import judge_refusal
from udfs.kafka.releases import Release

if TYPE_CHECKING:
    from tests.conftest import Frame

COLUMNS = (
    "leader_epoch", "partition_epoch", "current_leader_epoch", "current_partition_epoch", "leader", "broker_epoch",
    "current_broker_epoch", "isr", "ineligible", "joining", "error", "from_state", "to_state", "leader_recovery_state",
    "certain", "state_leader", "replicas", "lacks_sender",
)  # fmt: skip


def refused(event_type: str, **values: Any) -> dict[str, Any]:
    """A refusal of broker 1's request."""
    return {**dict.fromkeys(COLUMNS), "event_type": event_type, "sender": 1, "times": 1, **values}


def by_epoch(asked: int, current: int, leader: int | None = 1) -> dict[str, Any]:
    epochs = {"partition_epoch": asked, "current_partition_epoch": current}
    return refused(refusals.PARTITION_EPOCH, **epochs, state_leader=leader)


def invalid_isr(isr: list[int], *, lacks_sender: bool = False, **values: Any) -> dict[str, Any]:
    return refused(refusals.INVALID_ISR, isr=isr, lacks_sender=lacks_sender, **values)


KRAFT_INELIGIBLE, STALE = refusals.INELIGIBLE[1], refusals.STALE_BROKER[1]
REFUSED = {  # line -> verdict
    "an older partition epoch": (by_epoch(12, 13), HOLDS),
    "the current partition epoch": (by_epoch(13, 13), VIOLATED),
    "a broker that does not lead should hear that first": (by_epoch(12, 13, leader=2), VIOLATED),
    "of an epoch ahead whoever asks hears first": (by_epoch(14, 13, leader=2), HOLDS),
    "the current state is not known": (by_epoch(12, 13, leader=None), UNKNOWN),
    "an older leader epoch": (refused(refusals.LEADER_EPOCH, leader_epoch=8, current_leader_epoch=9), HOLDS),
    "the current leader epoch": (refused(refusals.LEADER_EPOCH, leader_epoch=9, current_leader_epoch=9), VIOLATED),
    "another leads": (refused(refusals.NOT_LEADER, leader=2), HOLDS),
    "it leads itself": (refused(refusals.NOT_LEADER, leader=1), VIOLATED),
    "a member is gone": (refused(KRAFT_INELIGIBLE, ineligible=[3], isr=[1, 3], certain=[1]), HOLDS),
    "a member was registered": (refused(KRAFT_INELIGIBLE, ineligible=[3], isr=[1, 3], certain=[3]), UNKNOWN),
    "no member at all": (refused(KRAFT_INELIGIBLE, ineligible=[4], isr=[1, 3], certain=None), VIOLATED),
    "the leader says so": (refused(refusals.OF_BROKER, joining=3, error="INELIGIBLE_REPLICA"), HOLDS),
    "the leader says something else": (refused(refusals.OF_BROKER, joining=3, error="INVALID_REQUEST"), None),
    "a shrink names nobody": (refused(refusals.OF_BROKER, error="INELIGIBLE_REPLICA"), None),
    "an earlier registration": (refused(STALE, broker_epoch=86, current_broker_epoch=246), HOLDS),
    "the registration": (refused(STALE, broker_epoch=246, current_broker_epoch=246), VIOLATED),
    "no registration is known": (refused(STALE, broker_epoch=86), None),
    "a broker that is gone": (refused(refusals.UNKNOWN_BROKER[0]), HOLDS),
    "a broker that is there": (refused(refusals.UNKNOWN_BROKER[0], certain=[1]), UNKNOWN),
    "two while it recovers": (refused(refusals.RECOVERING[0], isr=[1, 2]), HOLDS),
    "one while it recovers": (refused(refusals.RECOVERING[0], isr=[1]), VIOLATED),
    "it recovered": (refused(refusals.RECOVERING[1], isr=[1, 2], leader_recovery_state="RECOVERED"), VIOLATED),
    "it recovers anew": (refused(refusals.RECOVERY_STATE[1], from_state="RECOVERED", to_state="RECOVERING"), HOLDS),
    "it has recovered": (refused(refusals.RECOVERY_STATE[1], from_state="RECOVERING", to_state="RECOVERED"), VIOLATED),
    "the leader is not in its own ISR": (invalid_isr([2, 3], lacks_sender=True, replicas=[1, 2, 3]), HOLDS),
    "the leader is in its own ISR": (invalid_isr([1, 3], lacks_sender=True), VIOLATED),
    "a member that is not assigned": (invalid_isr([1, 9], replicas=[1, 2, 3]), HOLDS),
    "a member twice": (invalid_isr([1, 2, 2], replicas=[1, 2, 3]), HOLDS),
    "a member below 0": (invalid_isr([1, -1]), HOLDS),
    "all are assigned": (invalid_isr([1, 2], replicas=[1, 2, 3]), VIOLATED),
    # through 4.2 the line prints no assignment
    "whether all are assigned is not known": (invalid_isr([1, 9]), UNKNOWN),
    "a later state was there": (refused(refusals.BAD_VERSION, partition_epoch=4, state_leader=1), HOLDS),
    "no later state is known": (refused(refusals.BAD_VERSION, partition_epoch=4), UNKNOWN),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    row, verdict = REFUSED[case]
    judged = judge_refusal(row)
    assert (judged and judged.verdict) == verdict


@pytest.mark.parametrize("case", [case for case, (_, verdict) in REFUSED.items() if verdict in (HOLDS, UNKNOWN)])
@pytest.mark.parametrize("column", [*COLUMNS, "sender"])
def test_a_value_that_a_damaged_line_lacks_accuses_nobody(case: str, column: str) -> None:
    judged = judge_refusal({**REFUSED[case][0], column: None})
    assert judged is None or judged.verdict != VIOLATED


def test_a_verdict_says_what_was_compared() -> None:
    judged = judge_refusal({**by_epoch(12, 13), "times": 3})
    assert judged is not None
    assert judged.actual == (
        "partition epoch 12 in the request, 13 at the controller, where broker 1 leads; broker 1 asked, "
        "3 times within a minute"
    )


@pytest.mark.parametrize("release", ["3.0", "3.2", "3.3", "3.9", "4.1"])
def test_what_the_algorithm_refuses_for_an_epoch_or_a_sender_is_never_violated(release: str) -> None:
    """Leader 1 or 2 in leader epoch 5, partition epoch 7; requests of broker 1."""
    lines = {
        "FENCED_LEADER_EPOCH": lambda r, o: refused(
            refusals.LEADER_EPOCH, leader_epoch=r.leader_epoch, current_leader_epoch=o.leader_epoch
        ),
        "INVALID_REQUEST": lambda r, o: refused(refusals.NOT_LEADER, leader=o.leader),
        "INVALID_UPDATE_VERSION": lambda r, o: by_epoch(r.partition_epoch, o.partition_epoch, leader=o.leader),
    }
    for leader in (1, 2):
        owner = IsrOwner(leader, 5, 7, (1, 2), (1, 2, 3), eligible=(1, 2, 3))
        for leader_epoch in (4, 5, 6):
            for partition_epoch in (6, 7, 8):
                request = IsrRequest(1, leader_epoch, partition_epoch, (1, 2, 3))
                error, _ = kraft_alter_partition(Release.parse(release), owner, request)
                if error in lines:
                    judged = judge_refusal(lines[error](request, owner))
                    assert judged is not None
                    assert judged.verdict == HOLDS


LINES = """
cluster | topic | partition | node_id | file_id | line | at           | event_type                                     | partition_epoch | isr | fields
kraft   | a     | 0         | 100     | f       | 1    | 10:00:10.000 | kraft_alter_partition_rejected_partition_epoch | 6               |     | broker=1; current_partition_epoch=7
# the same again within the minute
kraft   | a     | 0         | 100     | f       | 2    | 10:00:10.050 | kraft_alter_partition_rejected_partition_epoch | 6               |     | broker=1; current_partition_epoch=7
# long after that state had ended
kraft   | a     | 0         | 100     | f       | 3    | 10:05:00     | kraft_alter_partition_rejected_partition_epoch | 5               |     | broker=1; current_partition_epoch=7
# broker 2 was there until 10:00:20
kraft   | a     | 0         | 100     | f       | 4    | 10:00:10     | kraft_alter_partition_rejected_ineligible      |                 | 1,2 | broker=1; ineligible_replicas=[2]
kraft   | a     | 0         | 100     | f       | 5    | 10:01:30     | kraft_alter_partition_rejected_ineligible      |                 | 1,2 | broker=1; ineligible_replicas=[2]
# a whole request of broker 2
kraft   |       |           | 100     | f       | 6    | 10:00:30     | alter_partition_rejected_unknown_broker        |                 |     | broker=2
"""
INVALID = """
cluster | topic | partition | node_id | file_id | line | at       | event_type                                | isr | replicas | fields   | message
kraft   | a     | 0         | 100     | f       | 7    | 10:00:40 | kraft_alter_partition_rejected_invalid_isr | 1,9 |         | broker=1 | specified an invalid ISR [1, 9].
kraft   | a     | 0         | 100     | f       | 8    | 10:00:41 | kraft_alter_partition_rejected_invalid_isr | 2   |         | broker=1 | specified an invalid ISR [2] that doesn't include itself.
kraft   | a     | 0         | 100     | f       | 9    | 10:00:42 | kraft_alter_partition_rejected_invalid_isr | 1,2 | 1,2,3   | broker=1 | specified an invalid ISR. Proposed ISR was [1, 2]
"""
STATES = """
cluster | topic | partition | incarnation | ordinal | leader | leader_epoch | partition_epoch | isr | since    | until
kraft   | a     | 0         | 0           | 6       | 1      | 3            | 6               | 1   | 10:00:00 | 10:00:08
kraft   | a     | 0         | 0           | 7       | 1      | 3            | 7               | 1,2 | 10:00:08 | 10:01:00
kraft   | a     | 0         | 0           | 8       | 1      | 3            | 8               | 1   | 10:01:00 |
"""
BROKERS = """
cluster | broker | since    | until
kraft   | 1      | 09:00:00 |
kraft   | 2      | 09:00:00 | 10:00:20
"""
TOPICS = """
cluster | topic | incarnation | since
kraft   | a     | 0           | 09:00:00
"""


def test_what_refusals_are_judged_by(frame: Frame) -> None:
    topics, states = frame(TOPIC_TIMELINE, TOPICS), frame(PARTITION_TIMELINE, STATES)
    rows = to_refusals(
        frame(EVENTS, LINES).unionByName(frame(EVENTS, INVALID)), topics, states, frame(BROKER_TIMELINE, BROKERS)
    ).collect()
    assert {row["line"]: (row["sender"], row["times"], row["state_leader"], row["certain"]) for row in rows} == {
        1: (1, 2, 1, [1]),
        3: (1, 1, None, [1]),
        4: (1, 1, None, [2]),
        5: (1, 1, None, None),
        6: (2, 1, None, None),
        7: (1, 1, None, [1]),
        8: (1, 1, None, [1]),
        9: (1, 1, None, [1]),
    }
    verdicts = {row["line"]: judge_refusal(row.asDict()) for row in rows}
    assert {line: verdict and verdict.verdict for line, verdict in verdicts.items()} == {
        1: HOLDS, 3: UNKNOWN, 4: UNKNOWN, 5: HOLDS, 6: HOLDS, 7: UNKNOWN, 8: HOLDS, 9: VIOLATED,
    }  # fmt: skip
