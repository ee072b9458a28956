"""When leaders were lost, from states written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window

from jobs.findings.leader_losses import with_lost_at
from jobs.timelines.topics import INCARNATION
from schemas.timelines import PARTITION_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

STATES = """
topic   | partition | incarnation | ordinal | leader | leader_epoch | partition_epoch | since
# lost with the first of two states without a leader; the one that is missing between them had none either
whole   | 0         | 0           | 0       | 1      | 4            | 10              | 10:00:00
whole   | 0         | 0           | 1       | -1     | 5            | 11              | 10:00:01
whole   | 0         | 0           | 3       | -1     | 5            | 13              | 10:00:03
whole   | 0         | 0           | 4       | 2      | 6            | 14              | 10:00:04
whole   | 0         | 0           | 5       | 2      | 6            | 15              | 10:00:05
# lost again
whole   | 0         | 0           | 6       | -1     | 7            | 16              | 10:01:00
whole   | 0         | 0           | 7       | 1      | 8            | 17              | 10:01:02
# there was no leader when the logs begin; the topic is created anew
first   | 0         | 0           | 1       | -1     | 5            | 11              | 10:00:01
first   | 0         | 0           | 2       | 2      | 6            | 12              | 10:00:04
first   | 0         | 1           | 0       | 1      | 0            | 0               | 10:00:05
first   | 0         | 1           | 1       | -1     | 1            | 1               | 10:00:06
first   | 0         | 1           | 2       | 1      | 2            | 2               | 10:00:08
# the state that lost the leader is missing, or the one that had another, or one between two without
before  | 0         | 0           | 0       | 1      | 4            | 10              | 10:00:00
before  | 0         | 0           | 2       | -1     | 6            | 12              | 10:00:02
before  | 0         | 0           | 3       | 2      | 7            | 13              | 10:00:04
behind  | 0         | 0           | 0       | 1      | 4            | 10              | 10:00:00
behind  | 0         | 0           | 1       | -1     | 5            | 11              | 10:00:02
behind  | 0         | 0           | 3       | 2      | 7            | 13              | 10:00:04
between | 0         | 0           | 0       | 1      | 4            | 10              | 10:00:00
between | 0         | 0           | 1       | -1     | 5            | 11              | 10:00:01
between | 0         | 0           | 3       | -1     | 7            | 13              | 10:00:03
between | 0         | 0           | 4       | 2      | 8            | 14              | 10:00:04
# 0.8: no line prints the version
old     | 0         | 0           | 0       | 1      | 4            |                 | 10:00:00
old     | 0         | 0           | 1       | -1     | 5            |                 | 10:00:01
old     | 0         | 0           | 2       | 2      | 6            |                 | 10:00:04
"""
LOST = """
topic   | incarnation | since    | lost_at
whole   | 0           | 10:00:04 | 10:00:01
whole   | 0           | 10:01:02 | 10:01:00
first   | 0           | 10:00:04 |
first   | 1           | 10:00:08 | 10:00:06
before  | 0           | 10:00:04 |
behind  | 0           | 10:00:04 |
between | 0           | 10:00:04 |
old     | 0           | 10:00:04 | 10:00:01
"""


def test_when_the_leader_was_lost(frame: Frame, same: Same) -> None:
    order = Window.partitionBy(*INCARNATION).orderBy("ordinal")
    lost = with_lost_at(frame(PARTITION_TIMELINE, STATES), order)
    same(lost.where("leader >= 0 AND ordinal > 0 AND ordinal <> 5"), LOST)
