"""Leader epochs that were deduced from a leader's last line about them, and are stale: it had begun another one since,
in a line that is lost. A case is a partition's history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.timelines.states.neighbours import without_stale_terms
from schemas.spark import FLAG, IDS, INT, LONG, TIME, struct

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

STATES = struct(history=LONG, partition_epoch=INT, leader=INT, leader_epoch=INT, isr=IDS, at=TIME, is_deduced=FLAG)
KNOWN = """
history | partition_epoch | leader | leader_epoch | isr   | at         | is_deduced
# 8 would repeat 7, and 9 was deduced from the same line; 7 is printed
1       | 7               | 0      | 5            | 0,4   | 10:00:00   |
1       | 8               | 0      | 5            | 0,4   | 10:00:40   | true
1       | 9               | 0      | 5            | 0,1,4 | 10:00:41   | true
# another ISR, another leader or a number in between: nothing repeats
2       | 7               | 0      | 5            | 0,4   | 10:00:00   |
2       | 8               | 0      | 5            | 0,1,4 | 10:00:40   | true
2       | 10              | 0      | 5            | 0,1,4 | 10:00:41   | true
# two printed states that are alike are not judged here
3       | 7               | 0      | 5            | 0,4   | 10:00:00   |
3       | 8               | 0      | 5            | 0,4   | 10:00:40   |
# a printed state that a deduced one would be repeated by: the deduced one is of an earlier leader epoch
4       | 7               | 0      | 5            | 0,4   | 10:00:00   | true
4       | 8               | 0      | 5            | 0,4   | 10:00:40   |
# three writes of leaders by 8, and by 10 still three: 9 of leader epoch 5 would make four of them
5       | 8               | 0      | 5            | 0,4   | 10:00:00   | true
5       | 9               | 0      | 5            | 0     | 10:00:10   | true
5       | 10              | 1      | 7            | 1     | 10:00:20   |
# leader epoch 6 is printed before, by more than clocks differ, and not
6       | 9               | 0      | 5            | 0     | 10:00:11.1 | true
6       | 12              | 0      | 6            | 0,1   | 10:00:10   |
7       | 9               | 0      | 5            | 0     | 10:00:10.9 | true
7       | 12              | 0      | 6            | 0,1   | 10:00:10   |
"""
LEFT = """
history | partition_epoch | leader | leader_epoch | isr
1       | 7               | 0      | 5            | 0,4
1       | 8               | 0      |              | 0,4
1       | 9               | 0      |              | 0,1,4
2       | 7               | 0      | 5            | 0,4
2       | 8               | 0      | 5            | 0,1,4
2       | 10              | 0      | 5            | 0,1,4
3       | 7               | 0      | 5            | 0,4
3       | 8               | 0      | 5            | 0,4
4       | 7               | 0      |              | 0,4
4       | 8               | 0      | 5            | 0,4
5       | 8               | 0      | 5            | 0,4
5       | 9               | 0      |              | 0
5       | 10              | 1      | 7            | 1
6       | 9               | 0      |              | 0
6       | 12              | 0      | 6            | 0,1
7       | 9               | 0      | 5            | 0
7       | 12              | 0      | 6            | 0,1
"""


def test_deduced_leader_epochs_that_others_show_to_be_stale_are_unknown(frame: Frame, same: Same) -> None:
    same(without_stale_terms(frame(STATES, KNOWN), "is_deduced"), LEFT)
