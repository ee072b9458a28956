"""What lines log of partitions, before states are made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.timelines.states.partition_evidence import with_term, without_old_retries
from schemas.ingest import EVENTS, LOG_COVERAGE
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


def test_what_a_request_asked_for_that_fails_soon_may_have_been_over_before_the_logs_begin(
    frame: Frame, same: Same
) -> None:
    """They begin at 10:00:00; what controller 2 lists as it drops requests for a broker that is gone is new."""
    retries = """
        topic   | at       | node_id | event_type
        old     | 10:01:29 | 2       | controller_request_retry
        dropped | 10:01:29 | 2       | controller_request_dropped_broker_offline
        later   | 10:01:30 | 2       | controller_request_retry
        before  | 10:01:10 | 1       | controller_request_retry
        elected | 10:01:11 | 1       | controller_request_retry"""
    terms = "controller_id | controller_epoch | mode | since\n 1 | 4 | zookeeper | 10:01:11"
    coverage = """
        node_id | kind       | since    | until
        1       | controller | 10:00:30 | 10:30:00
        2       | server     | 10:00:00 | 10:30:00"""
    same(
        without_old_retries(frame(EVENTS, retries), frame(CONTROLLER_TIMELINE, terms), frame(LOG_COVERAGE, coverage)),
        "topic\n dropped\n later\n elected",
    )
