"""What follows from no line where lines are lost here and there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.findings.lost_lines import with_refuted_input, without_lost_lines
from schemas.findings import VERDICTS
from schemas.spark import IDS, INT, TEXT, struct

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

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
