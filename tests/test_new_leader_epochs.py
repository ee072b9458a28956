"""Leader epochs of which a line shows that they came then; events written by hand, every case a topic of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.findings.new_leader_epochs import to_new_leader_epochs
from jobs.timelines.cluster_facts import EvidenceKinds
from schemas.ingest import EVENTS

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

LINES = """
topic   | at       | node_id |line| event_type                         |leader|leader_epoch| fields
# it was in leader epoch 3 before; one that starts finds what there is, be it old
went_on | 10:00:00 | 1       | 1  | partition_leader_epoch_started     |      | 4          | previous_leader_epoch=3
started | 10:00:00 | 1       | 1  | partition_leader_epoch_started     |      | 4          | previous_leader_epoch=-1
# it is sent that there is no leader, then that it leads itself
elected | 10:00:00 | 1       | 1  | become_follower_leader_unavailable | -1   |            |
elected | 10:00:00 | 1       | 2  | partition_leader_epoch_started     |      | 4          | previous_leader_epoch=-1
# a leader that it does not know is one; so is another broker's none no word to this one
unknown | 10:00:00 | 1       | 1  | become_follower_leader_unavailable | 2    |            |
unknown | 10:00:01 | 1       | 2  | partition_leader_epoch_started     |      | 4          | previous_leader_epoch=-1
other   | 10:00:00 | 2       | 1  | become_follower_leader_unavailable | -1   |            |
other   | 10:00:01 | 1       | 1  | partition_leader_epoch_started     |      | 4          | previous_leader_epoch=-1
# it starts again, and finds the same
again   | 10:00:00 | 1       | 1  | become_follower_leader_unavailable | -1   |            |
again   | 10:00:01 | 1       | 2  | partition_leader_epoch_started     |      | 4          | previous_leader_epoch=-1
again   | 10:00:09 | 1       | 3  | partition_leader_epoch_started     |      | 4          | previous_leader_epoch=-1
# until 1.0 a controller says whom it selects
chosen  | 10:00:00 | 9       | 1  | offline_election_selected          | 2    | 5          |
"""


def test_leader_epochs_that_came_then(frame: Frame, same: Same) -> None:
    events = frame(EVENTS, LINES).withColumn("partition", F.lit(0))
    same(
        to_new_leader_epochs(events, EvidenceKinds()),
        """topic   | at       | leader_epoch
           went_on | 10:00:00 | 4
           elected | 10:00:00 | 4
           again   | 10:00:01 | 4
           chosen  | 10:00:00 | 5""",
    )
