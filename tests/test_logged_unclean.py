"""Whether an election was unclean, where only a line of the controller says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.findings.logged_unclean import with_logged_unclean
from jobs.timelines.cluster_facts import EvidenceKinds
from schemas.findings import ELECTIONS
from schemas.ingest import EVENTS
from schemas.timelines import TOPIC_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

# the controller is 9; 8 was one before, whose lines are none of 9's
LINES = """
topic | partition | at           | node_id | event_type                      | leader | leader_epoch | fields
lost  | 0         | 10:00:05     | 9       | unclean_leader_election         | 2      |              |
lost  | 0         | 10:00:05.001 | 9       | offline_election_selected       | 2      | 4            |
kept  | 0         | 10:00:05.002 | 9       | offline_election_selected       | 3      | 7            |
old   | 0         | 10:00:00     | 9       | unclean_leader_election         | 2      |              |
old   | 0         | 10:00:10.001 | 9       | offline_election_selected       | 2      | 2            |
other | 0         | 10:00:05     | 8       | unclean_leader_election         | 2      |              |
other | 0         | 10:00:05.001 | 9       | offline_election_selected       | 2      | 3            |
# chosen again after a write that failed: then another was alive
again | 0         | 10:00:06     | 9       | unclean_leader_election         | 2      |              |
again | 0         | 10:00:06.001 | 9       | offline_election_selected       | 2      | 5            |
again | 0         | 10:00:07     | 9       | offline_election_selected       | 2      | 5            |
# what was chosen never was written: another leads
fails | 0         | 10:00:05     | 9       | unclean_leader_election         | 2      |              |
fails | 0         | 10:00:05.001 | 9       | offline_election_selected       | 2      | 6            |
known | 0         | 10:00:05     | 9       | unclean_leader_election         | 2      |              |
known | 0         | 10:00:05.001 | 9       | offline_election_selected       | 2      | 1            |
kraft | 0         | 10:00:05     | 9       | kraft_partition_changed_unclean | 2      | 3            | leader_recovery_state=RECOVERING
kraft | 1         | 10:00:05     | 9       | kraft_partition_changed_unclean | 2      | 3            | leader_recovery_state=RECOVERED
skips | 0         | 10:00:05     | 9       | unclean_leader_election         | 2      |              |
skips | 0         | 10:00:05.001 | 9       | offline_election_selected       | 2      | 4            |
"""
EXISTING = """
topic | incarnation | since
lost  | 0           | 09:00:00
skips | 0           | 09:00:00
kept  | 0           | 09:00:00
old   | 0           | 09:00:00
other | 0           | 09:00:00
again | 0           | 09:00:00
fails | 0           | 09:00:00
known | 0           | 09:00:00
kraft | 0           | 09:00:00
"""
COMMITTED = """
topic | partition | incarnation | previous_leader | last_leader | leader | leader_epoch | strategy | unclean | evidence
lost  | 0         | 0           | 1               | 1           | 2      | 4            |          |         | 2@s:7
# of leader epoch 3 nothing is known: 2, which led in 2, may have lost it to another
skips | 0         | 0           |                 | 2           | 2      | 4            |          |         | 2@s:7
kept  | 0         | 0           |                 | 1           | 3      | 7            |          |         | 2@s:7
old   | 0         | 0           | 1               | 1           | 2      | 2            |          |         | 2@s:7
other | 0         | 0           | 1               | 1           | 2      | 3            |          |         | 2@s:7
again | 0         | 0           | 1               | 1           | 2      | 5            |          |         | 2@s:7
fails | 0         | 0           | 3               | 3           | 1      | 6            |          |         | 2@s:7
known | 0         | 0           | 1               | 1           | 2      | 1            | reassign | false   | 2@s:7
kraft | 0         | 0           | 1               | 1           | 2      | 3            |          |         | 2@s:7
kraft | 1         | 0           | 1               | 1           | 2      | 3            |          |         | 2@s:7
"""
AS_LOGGED = """
topic | partition | last_leader | strategy | unclean | evidence
lost  | 0         | 1           | offline  | true    | 2@s:7,9@f:1
skips | 0         |             | offline  | true    | 2@s:7,9@f:17
kept  | 0         | 1           | offline  | false   | 2@s:7
old   | 0         | 1           | offline  | false   | 2@s:7
other | 0         | 1           | offline  | false   | 2@s:7
again | 0         | 1           | offline  | false   | 2@s:7
fails | 0         | 3           |          |         | 2@s:7
known | 0         | 1           | reassign | false   | 2@s:7
kraft | 0         | 1           |          | true    | 2@s:7
kraft | 1         | 1           |          |         | 2@s:7
"""


def test_controllers_say_whether_somebody_of_the_isr_was_alive(frame: Frame, same: Same) -> None:
    elections = with_logged_unclean(
        frame(ELECTIONS, COMMITTED), frame(EVENTS, LINES), frame(TOPIC_TIMELINE, EXISTING), EvidenceKinds()
    )
    same(elections, AS_LOGGED)


def test_where_no_line_says_it_nothing_is_joined(frame: Frame) -> None:
    elections = frame(ELECTIONS, COMMITTED)
    kinds = EvidenceKinds(event_types=frozenset({"partition_state_change"}))
    assert with_logged_unclean(elections, frame(EVENTS, LINES), frame(TOPIC_TIMELINE, EXISTING), kinds) is elections
