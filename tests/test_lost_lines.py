"""Hours of which lines are lost here and there."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jobs.findings.lost_lines import to_lossy_hours, with_refuted_input, without_lost_lines
from schemas.findings import VERDICTS
from schemas.requests import CONTROL_REQUESTS
from schemas.spark import IDS, INT, TEXT, struct
from tests.conftest import run_over
from tests.proofs.prove_degraded import thinned
from tests.proofs.prove_metamorphic import logs_of, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import Frame, Same

PACKED = Path(__file__).resolve().parents[1] / "data" / "captures" / "zk-2.2.2-chaos.tar.xz"

INPUTS = struct(
    cluster=TEXT, topic=TEXT, strategy=TEXT, trigger=TEXT, previous_leader=INT, leader=INT, shutting_down=IDS, live_brokers=IDS,
    certainly_online=IDS,
)  # fmt: skip
ELECTIONS = """
topic     | strategy            | trigger             | previous_leader | leader | shutting_down | live_brokers | certainly_online
# nobody is moved off 1, unless it shuts down
stays     | controlled_shutdown | controlled_shutdown | 1               | 2      | 3             | 1,2,3        | 1,2,3
leaves    | controlled_shutdown | controlled_shutdown | 1               | 2      | 1,3           | 1,2,3        | 1,2,3
# nor elected in its place, unless it is gone or its directory has failed; it may be elected as it comes back
there     | offline             | broker_failure      | 1               | 2      | []            | 1,2          | 1,2
nothing   | offline             | broker_failure      | 1               |        | []            | 1,2          | 1,2
back      | offline             | broker_startup      | 1               | 1      | []            | 1,2          | 1,2
gone      | offline             | broker_failure      | 1               | 2      | []            | 2            | 2
directory | offline             | log_dir_failure     | 1               | 2      | []            | 1,2          | 1,2
maybe     | offline             | broker_failure      | 1               | 2      | []            |              | 1,2
nobody    | offline             | broker_failure      | -1              | 2      | []            | 1,2          | 1,2
unknown   | offline             | broker_failure      |                 | 2      | []            | 1,2          | 1,2
kraft     |                     |                     | 1               | 2      |               |              |
"""


def test_inputs_with_which_nobody_would_have_been_elected(frame: Frame, same: Same) -> None:
    same(
        with_refuted_input(frame(INPUTS, ELECTIONS)),
        """topic     | refuted_input
           stays     | shutting_down
           leaves    |
           there     | live_brokers
           nothing   | live_brokers
           back      |
           gone      |
           directory |
           maybe     |
           nobody    |
           unknown   |
           kraft     |""",
    )


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


@pytest.mark.runs
def test_a_night_over_logs_without_one_line_in_ten_accuses_nobody(spark: SparkSession, tmp_path: Path) -> None:
    """Of a cluster whose whole logs accuse nobody either."""
    with tarfile.open(PACKED) as files:
        files.extractall(tmp_path, filter="data")
    capture, logs = tmp_path / "zk-2.2.2-chaos", tmp_path / "logs"
    write(logs, thinned(logs_of(capture), 10))
    verdicts = run_over(spark, tmp_path / "warehouse", capture, logs).warehouse.read("verdicts")
    assert verdicts.where("verdict = 'violated'").count() == 0
    assert verdicts.where("array_contains(missing_inputs, 'lost_lines')").count() > 0
