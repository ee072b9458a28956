"""The lines by which the leader selectors of Kafka through 1.0 say whom they choose, and the decisions that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.findings.selectors import with_selector
from schemas.ingest import EVENTS

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

# controller.log is file `c`, state-change.log `s`; each topic has one partition, unless it says otherwise
CHOSEN = """
topic    | partition | node_id | file_id | line | at           | event_type                            | leader
clean    | 0         | 1       | c       | 1    | 10:00:00     | offline_election_isr_alive            | 2
clean    | 0         | 1       | c       | 2    | 10:00:00     | offline_election_selected             | 2
unclean  | 0         | 1       | c       | 3    | 10:00:00     | unclean_leader_election               | 3
unclean  | 0         | 1       | c       | 4    | 10:00:00     | offline_election_selected             | 3
moved    | 0         | 1       | c       | 5    | 10:00:01     | preferred_election_triggered          |
moved    | 0         | 1       | c       | 6    | 10:00:05     | controlled_shutdown_election_selected | 3
# another partition, and another node
moved    | 1         | 1       | c       | 7    | 10:00:05     | preferred_election_triggered          |
moved    | 0         | 2       | c2      | 8    | 10:00:05     | preferred_election_triggered          |
# whom it chose is not who leads then; or it chose minutes before
other    | 0         | 1       | c       | 9    | 10:00:05     | controlled_shutdown_election_selected | 3
late     | 0         | 1       | c       | 10   | 10:00:05     | preferred_election_triggered          |
"""
DECIDED = """
topic    | partition | node_id | file_id | line | at           | event_type             | leader
clean    | 0         | 1       | s       | 1    | 10:00:00     | partition_state_change | 2
unclean  | 0         | 1       | s       | 2    | 10:00:00.1   | partition_state_change | 3
moved    | 0         | 1       | s       | 3    | 10:00:01.1   | partition_state_change | 1
# what was chosen before the last decision is done
moved    | 0         | 1       | s       | 4    | 10:00:01.2   | partition_state_change | 2
moved    | 0         | 1       | s       | 5    | 10:00:05.1   | partition_state_change | 3
other    | 0         | 1       | s       | 6    | 10:00:05.1   | partition_state_change | 2
late     | 0         | 1       | s       | 7    | 10:02:00     | partition_state_change | 2
silent   | 0         | 1       | s       | 8    | 10:02:00     | partition_state_change | 2
"""


def test_selectors(frame: Frame, same: Same) -> None:
    same(
        with_selector(frame(EVENTS, DECIDED), frame(EVENTS, CHOSEN)),
        """
        topic   | line | selector            | selected_unclean
        clean   | 1    | offline             | false
        unclean | 2    | offline             | true
        moved   | 3    | preferred           |
        moved   | 4    |                     |
        moved   | 5    | controlled_shutdown |
        other   | 6    |                     |
        late    | 7    |                     |
        silent  | 8    |                     |
        """,
    )
