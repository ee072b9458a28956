"""What lines log of partitions, before states are made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.timelines.states.partition_evidence import with_term
from schemas.ingest import EVENTS
from schemas.timelines import CONTROLLER_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

# 1 was elected as the logs show, 2 only in KRaft, and of 3 no election is there
TERMS = """
controller_id | controller_epoch | mode      | since
1             | 4                | zookeeper | 10:05:00
1             | 6                | zookeeper | 10:15:00
2             | 5                | kraft     | 10:00:00
"""
LISTS = """
topic   | at       | node_id | event_type
before  | 10:04:59 | 1       | controller_all_leaders
elected | 10:05:00 | 1       | controller_all_leaders
later   | 10:20:00 | 1       | controller_all_leaders
kraft   | 10:20:00 | 2       | controller_all_leaders
unknown | 10:20:00 | 3       | controller_all_leaders
"""


def test_a_controller_that_the_logs_show_elected_has_read_all_states_since(frame: Frame, same: Same) -> None:
    same(
        with_term(frame(EVENTS, LISTS), frame(CONTROLLER_TIMELINE, TERMS)),
        """topic   | is_of_term
           before  | false
           elected | true
           later   | true
           kraft   | false
           unknown | false""",
    )
