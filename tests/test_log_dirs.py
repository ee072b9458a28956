"""Failed log directories, from lines written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.findings.log_dirs import to_log_dir_failures
from jobs.findings.node_stops import NODE_STOPS
from jobs.timelines.cluster_facts import EvidenceKinds
from schemas.ingest import EVENTS

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

LINES = """
node_id | at         | event_type                   | fields
# 1 has one directory, and its log begins with the halt
1       | 10:00:00   | log_dir_failure_broker_halt  | dirs=/a
# 2 has two: the first fails an hour before the second one, which halts it
2       | 09:00:00   | log_dir_failure_logs_offline | dir=/a
2       | 10:00:00   | log_dir_failure_logs_offline | dir=/b
2       | 10:00:00.1 | log_dir_failure_broker_halt  | dirs=/a, /b
# 3 halts as it could not tell the controller of its failure for half a minute
3       | 10:00:00   | log_dir_failure_started      | dir=/a
3       | 10:00:30   | log_dir_failure_broker_halt  | directory_id=h5K2vX8bQ0-3mJtR_wYz1A
# of 4 no line tells which failed last
4       | 10:00:00   | log_dir_failure_broker_halt  | dirs=/a, /b
# 5 names what failed, and goes on
5       | 10:00:00   | log_dir_failure_started      | dir=/a
5       | 10:00:01   | log_dir_failure_completed    | dir=/a
"""
STARTED = """
node_id | started_at
1       | 10:05:00
2       | 09:30:00
"""
FAILURES = """
broker | log_dir | at       | until    | broker_halted | evidence
1      | /a      | 10:00:00 | 10:05:00 | true          | 1@f:1
2      | /a      | 09:00:00 | 09:30:00 | false         | 2@f:2
2      | /b      | 10:00:00 |          | true          | 2@f:3,2@f:4
3      | /a      | 10:00:00 |          | true          | 3@f:5,3@f:6
4      | /a      | 10:00:00 |          | true          | 4@f:7
4      | /b      | 10:00:00 |          | true          | 4@f:7
5      | /a      | 10:00:00 |          | false         | 5@f:8,5@f:9
"""


def test_which_directory_halted_its_broker(frame: Frame, same: Same) -> None:
    same(to_log_dir_failures(frame(EVENTS, LINES), frame(NODE_STOPS, STARTED), EvidenceKinds()), FAILURES)
