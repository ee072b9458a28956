"""Failed elections in later leader epochs than any state that is known; a case is a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.findings.outdated_states import with_outdated
from schemas.findings import ELECTIONS
from schemas.spark import INT, TEXT, TIME, struct
from schemas.timelines import PARTITION_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

BEGUN = struct(cluster=TEXT, topic=TEXT, partition=INT, incarnation=INT, leader_epoch=INT, begun_at=TIME)
# of each the state of leader epoch 0, the first one; `moved` was reassigned to 4 since
STATES = """
topic   | partition | incarnation | leader_epoch | since    | replicas
moved   | 0         | 0           | 0            | 10:00:00 | 4,0,1
printed | 0         | 0           | 0            | 10:00:00 | 4,0,1
known   | 0         | 0           | 0            | 10:00:00 | 4,0,1
known   | 0         | 0           | 3            | 10:03:00 | 4
"""
BEGINS = """
topic   | partition | incarnation | leader_epoch | begun_at
moved   | 0         | 0           | 0            | 10:00:00
moved   | 0         | 0           | 3            | 10:03:00
printed | 0         | 0           | 3            | 10:03:00
known   | 0         | 0           | 3            | 10:03:00
unseen  | 0         | 0           | 1            | 10:00:00
"""
ELECTED = """
topic   | partition | incarnation | at       | succeeded | replicas
moved   | 0         | 0           | 10:02:59 | false     | 4,0,1
moved   | 0         | 0           | 10:05:00 | false     | 4,0,1
moved   | 0         | 0           | 10:05:00 | true      | 4,0,1
printed | 0         | 0           | 10:05:00 | false     | 4
known   | 0         | 0           | 10:05:00 | false     | 4
unseen  | 0         | 0           | 10:05:00 | false     |
"""


def test_a_state_is_over_as_a_later_leader_epoch_begins(frame: Frame, same: Same) -> None:
    """What the line of the failed election prints itself stays."""
    elections, states = frame(ELECTIONS, ELECTED), frame(PARTITION_TIMELINE, STATES)
    same(
        with_outdated(elections, states, frame(BEGUN, BEGINS)),
        """topic   | at       | succeeded | is_outdated | replicas
           moved   | 10:02:59 | false     | false       | 4,0,1
           moved   | 10:05:00 | false     | true        |
           moved   | 10:05:00 | true      | false       | 4,0,1
           printed | 10:05:00 | false     | true        | 4
           known   | 10:05:00 | false     | false       | 4
           unseen  | 10:05:00 | false     | true        |""",
    )


def test_where_decisions_are_logged_no_state_is_outdated(frame: Frame, same: Same) -> None:
    elections, states = frame(ELECTIONS, ELECTED), frame(PARTITION_TIMELINE, STATES)
    assert with_outdated(elections, states, None).where("is_outdated OR topic = 'moved' AND replicas IS NULL").isEmpty()
