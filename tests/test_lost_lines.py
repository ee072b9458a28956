"""Hours of which lines are lost here and there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.findings.lost_lines import to_lossy_hours, without_lost_lines
from schemas.findings import VERDICTS
from schemas.requests import CONTROL_REQUESTS

if TYPE_CHECKING:
    from tests.conftest import Frame, Same


def requests(controller: int, hour: int, sent: int, lost: int) -> str:
    """Requests of a controller in an hour: those that it logs to have sent, and those that only a broker logs."""
    both = f"{controller} | {hour}:00:01 | {hour}:00:02\n" * sent
    return both + f"{controller} | | {hour}:59:59\n" * lost


def test_an_hour_has_lost_lines_if_many_requests_were_never_sent(frame: Frame, same: Same) -> None:
    """Of controller 1 it is 5 of 125, the share that counts, then one less; of 2 nothing that it sent is logged; of 3
    it is a larger share of fewer requests than count."""
    rows = requests(1, 10, 120, 5) + requests(1, 11, 121, 4) + requests(2, 12, 0, 9) + requests(3, 13, 6, 4)
    same(
        to_lossy_hours(frame(CONTROL_REQUESTS, "controller_id | sent_at | received_at\n" + rows)),
        """cluster | hour
           c       | 10:00:00""",
    )


def test_what_is_lost_with_them_accuses_nobody(frame: Frame, same: Same) -> None:
    verdicts = """at       | rule             | verdict  | expected | actual            | missing_inputs | explanation
                  10:59:59 | offline_election | violated | leader 2 | leader 3          |                | wrong
                  11:00:00 | offline_election | violated | leader 2 | leader 3          |                | wrong
                  10:00:00 | offline_election | holds    | leader 3 | leader 3          |                | right
                  10:00:00 | leader_in_isr    | violated | in ISR   | leader 3, ISR [1] |                | wrong"""
    hours = frame(VERDICTS, "at\n10:00:00\n").selectExpr("cluster", "at AS hour")
    unknown = "offline_election cannot be judged: other lines of that hour are lost; logged leader 3."
    same(
        without_lost_lines(frame(VERDICTS, verdicts), hours),
        f"""at       | rule             | verdict  | expected | actual            | missing_inputs | explanation
            10:59:59 | offline_election | unknown  | leader 2 | leader 3          | lost_lines     | {unknown}
            11:00:00 | offline_election | violated | leader 2 | leader 3          |                | wrong
            10:00:00 | offline_election | holds    | leader 3 | leader 3          |                | right
            10:00:00 | leader_in_isr    | violated | in ISR   | leader 3, ISR [1] |                | wrong""",
    )
