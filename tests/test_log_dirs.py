"""Failed log directories, from lines written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.findings.incidents import to_incidents
from jobs.findings.log_dirs import to_log_dir_failures
from jobs.findings.node_stops import NODE_STOPS
from jobs.timelines.cluster_facts import EvidenceKinds
from schemas.findings import ELECTIONS, ISR_CHANGES, OFFLINE_PARTITIONS, REASSIGNMENTS
from schemas.incidents import LOG_DIR_FAILURES
from schemas.ingest import EVENTS
from schemas.timelines import CONTROLLER_TIMELINE, TOPIC_TIMELINE

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
# 6 is started anew at once, and finds that the disk is still broken
6       | 10:00:00   | log_dir_failure_logs_offline | dir=/a
6       | 10:00:25   | log_dir_failure_logs_offline | dir=/a
6       | 10:00:26   | log_dir_failure_completed    | dir=/a
"""
STARTED = """
node_id | started_at
1       | 10:05:00
2       | 09:30:00
6       | 10:00:20
6       | 10:04:00
6       | 10:07:00
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
6      | /a      | 10:00:00 | 10:00:20 | false         | 6@f:10
6      | /a      | 10:00:25 | 10:04:00 | false         | 6@f:11,6@f:12
"""


def test_which_directory_halted_its_broker(frame: Frame, same: Same) -> None:
    same(to_log_dir_failures(frame(EVENTS, LINES), frame(NODE_STOPS, STARTED), EvidenceKinds()), FAILURES)


FILE = "java.io.FileNotFoundException: /srv/b/replication-offset-checkpoint.tmp (No such file or directory)"
SEGMENT = "java.io.IOException: /srv/b/pay-in-3/00000000000000000000.log (Input/output error)"
OLD_HALTS = f"""
node_id | at       | event_type                       | fields            | detail
# before 1.0, a disk that fails halts its broker: the exception names the file
1       | 10:00:00 | high_watermark_checkpoint_failed |                   | {FILE}
2       | 10:00:00 | process_halting                  | doing=replicating | {SEGMENT}
# of what nothing names no directory is told
3       | 10:00:00 | leader_and_isr_disk_error        |                   | java.io.IOException: No space left on device
# from 1.0 on it goes on: other lines tell which directory failed
4       | 10:00:00 | high_watermark_checkpoint_failed | dir=/srv/b        | {FILE}
"""
OLD_FAILURES = f"""
broker | log_dir | at       | broker_halted | evidence | error
1      | /srv/b  | 10:00:00 | true          | 1@f:1    | {FILE}
2      | /srv/b  | 10:00:00 | true          | 2@f:2    | {SEGMENT}
"""


def test_a_disk_that_halts_a_broker_of_before_1_0(frame: Frame, same: Same) -> None:
    failures = to_log_dir_failures(frame(EVENTS, OLD_HALTS), frame(NODE_STOPS, "node_id"), EvidenceKinds())
    same(failures, OLD_FAILURES)


ERRORS = """
node_id | at | event_type | fields | message | detail
# the first one of the directory; others are of what is written next
1 | 09:59:59.998 | log_dir_io_error | file=/a/t-0/leader-epoch-checkpoint |  | java.io.IOException: full
1 | 10:00:00 | log_dir_failure_started | dir=/a |  | 
1 | 10:00:00.010 | log_dir_io_error | dir=/a |  | java.io.IOException: gone
# of another directory, and of another minute; a stack trace that no log has leaves the message
2 | 09:59:00 | log_dir_io_error | file=/a/recovery-point |  | java.io.IOException: old
2 | 09:59:59 | log_dir_io_error | file=/ab/recovery-point |  | java.io.IOException: other
2 | 10:00:00 | log_dir_failure_started | dir=/a |  | 
3 | 10:00:00 | log_dir_io_error | file=/a/recovery-point | Error of recovery-point | 
3 | 10:00:00 | log_dir_failure_broker_halt | dirs=/a |  | 
"""
OF_ERRORS = """
broker | log_dir | at       | error
1      | /a      | 10:00:00 | java.io.IOException: full
2      | /a      | 10:00:00 |
3      | /a      | 10:00:00 | Error of recovery-point
"""


def test_by_which_error_a_directory_failed(frame: Frame, same: Same) -> None:
    same(to_log_dir_failures(frame(EVENTS, ERRORS), frame(NODE_STOPS, "node_id"), EvidenceKinds()), OF_ERRORS)


FAILED = """
broker | log_dir | at       | until    | partitions_offline | broker_halted
# the halt is the only line about it
1      | /a      | 10:00:00 | 10:05:00 | 0                  | true
# the metadata directory fails, which halts the broker; /b had failed half an hour before
2      | /a      | 10:00:00 |          | 1                  | true
2      | /b      | 09:30:00 |          | 1                  | false
# both fail within a millisecond
3      | /a      | 10:00:00 |          | 1                  | false
3      | /b      | 10:00:00 |          | 1                  | true
# it goes on with another one
4      | /a      | 10:00:00 | 10:05:00 | 1                  | false
"""
HALTED = """
node_id | role   | since      | how            | started_at | until    | evidence
1       | broker | 10:00:00   | log_dir_failed | 10:05:00   | 10:05:10 | 9@f:1
1       | broker | 11:00:00   | log_dir_failed |            |          | 9@f:2
2       | broker | 10:00:01   | log_dir_failed |            |          | 9@f:3
3       | broker | 10:00:00   | log_dir_failed |            |          | 9@f:4
4       | broker | 10:05:00   | crashed        | 10:05:00   | 10:05:10 | 9@f:5
"""
LEADERLESS = """
topic | partition | incarnation | since    | cause           | cause_broker | cause_at | at_least_ms | failed_elections
t     | 0         | 0           | 10:00:00 | log_dir_failure | 2            | 10:00:00 | 5000        | 0
t     | 1         | 0           | 09:30:00 | log_dir_failure | 2            | 09:30:00 | 5000        | 0
t     | 2         | 0           | 10:00:00 | log_dir_failure | 3            | 10:00:00 | 5000        | 0
t     | 3         | 0           | 10:00:00 | log_dir_failure | 3            | 10:00:00 | 5000        | 0
t     | 4         | 0           | 10:00:00 | log_dir_failure | 4            | 10:00:00 | 5000        | 0
# of 2's other directories: it is the halt that takes their leader
u     | 0         | 0           | 10:00:01 | log_dir_failure | 2            | 10:00:01 | 5000        | 0
u     | 1         | 0           | 10:00:01 | log_dir_failure | 2            | 10:00:01 | 5000        | 0
"""
HALTS = "halted as its log directory failed"
FOR_GOOD = f"{HALTS}, not back when the logs end"
OF_FAILURES = f"""
root_cause      | root_broker | since    | partitions_affected | title
log_dir_failure | 1           | 10:00:00 | 0 | Broker 1 {HALTS}, back after 5 min 10 s
log_dir_failure | 1           | 11:00:00 | 0 | Broker 1 {FOR_GOOD}
log_dir_failure | 2           | 10:00:00 | 3 | Broker 2 {FOR_GOOD}; 3 partitions without a leader still
log_dir_failure | 2           | 09:30:00 | 1 | A log directory of broker 2 failed; 1 partition without a leader still
log_dir_failure | 3           | 10:00:00 | 2 | Broker 3 {FOR_GOOD}; 2 partitions without a leader still
log_dir_failure | 4           | 10:00:00 | 1 | A log directory of broker 4 failed; 1 partition without a leader still
broker_crash    | 4           | 10:05:00 | 0 | Broker 4 crashed, back after 10.0 s
"""


def test_a_halt_and_the_failure_that_it_followed_from_are_one_incident(frame: Frame, same: Same) -> None:
    incidents = to_incidents(
        frame(NODE_STOPS, HALTED),
        frame(LOG_DIR_FAILURES, FAILED),
        frame(OFFLINE_PARTITIONS, LEADERLESS),
        frame(ELECTIONS, "topic"),
        frame(REASSIGNMENTS, "topic"),
        frame(ISR_CHANGES, "topic"),
        frame(CONTROLLER_TIMELINE, "until"),
        frame(TOPIC_TIMELINE, "topic"),
        frame(EVENTS, "at"),
    ).persist()
    same(incidents, OF_FAILURES)
    assert incidents.select("incident_id").distinct().count() == 7
