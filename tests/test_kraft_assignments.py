"""Which assignment KRaft's states have where no line prints it; a case is one partition's states, written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.timelines.states.columns import ASSIGNED_STATES
from jobs.timelines.states.kraft_assignments import with_kept_replicas
from schemas.spark import FLAG, INT, TEXT, TIME, struct

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

CLUSTERS = struct(cluster=TEXT, migrates=FLAG)
FENCINGS = struct(cluster=TEXT, leader=INT, fencings=T.ArrayType(TIME))

STATES = """
cluster | topic     | history | ordinal | at       | leader | leader_epoch | isr   | replicas
# the leader is lost in 2, may be as a replica: but nothing adds one until 3, which has all again
c       | between   | 1       | 0       | 10:00:00 | 1      | 0            | 1,2,3 | 1,2,3
c       | between   | 1       | 1       | 10:00:01 | 1      | 0            | 1,2   |
c       | between   | 1       | 2       | 10:00:02 | 2      | 1            | 2     |
c       | between   | 1       | 3       | 10:00:03 | 2      | 1            | 1,2   | 1,2,3
# a replica is added, and taken away again: neither changes anything else
c       | cancelled | 2       | 0       | 10:00:00 | 1      | 0            | 1,2   | 1,2
c       | cancelled | 2       | 1       | 10:00:01 | 1      | 0            | 1,2   |
c       | cancelled | 2       | 2       | 10:00:02 | 1      | 0            | 1,2   | 1,2
# one is added in 1, and may have been taken away in 3 as the leader epoch grew
c       | removed   | 3       | 0       | 10:00:00 | 1      | 0            | 1,2   | 1,2
c       | removed   | 3       | 1       | 10:00:01 | 1      | 0            | 1,2   |
c       | removed   | 3       | 2       | 10:00:02 | 1      | 0            | 1     |
c       | removed   | 3       | 3       | 10:00:03 | 1      | 1            | 1,2   | 1,2
# something that no line shows in 1, a directory maybe: one step cannot lead away and back
c       | once      | 4       | 0       | 10:00:00 | 1      | 0            | 1,2   | 1,2
c       | once      | 4       | 1       | 10:00:01 | 1      | 0            | 1,2   |
c       | once      | 4       | 2       | 10:00:02 | 1      | 0            | 1     |
c       | once      | 4       | 3       | 10:00:03 | 1      | 0            | 1,2   | 1,2
# 1 is lost and comes back; in 3 it may have been taken away
c       | tail      | 5       | 0       | 10:00:00 | 1      | 0            | 1,2   | 2,1
c       | tail      | 5       | 1       | 10:00:01 | -1     | 1            | 1     |
c       | tail      | 5       | 2       | 10:00:02 | 1      | 2            | 1     |
c       | tail      | 5       | 3       | 10:00:03 | 2      | 3            | 2     |
c       | tail      | 5       | 4       | 10:00:04 | 2      | 3            | 1,2   |
# as 5 in the line before, but it was fenced then
c       | fenced    | 6       | 0       | 10:00:00 | 5      | 0            | 2,5   | 2,5
c       | fenced    | 6       | 1       | 10:00:10 | 2      | 1            | 2     |
# what a later line shows holds back to the last step that may have changed it
c       | before    | 7       | 0       | 10:00:00 | 1      | 0            | 1,2   | 1,2
c       | before    | 7       | 1       | 10:00:01 | 1      | 0            | 1,2   |
c       | before    | 7       | 2       | 10:00:02 | 1      | 0            | 1     |
c       | before    | 7       | 3       | 10:00:03 | 1      | 0            | 1,3   | 1,2,3
# a state is lost between 0 and 2
c       | gap       | 8       | 0       | 10:00:00 | 1      | 0            | 1,2   | 1,2
c       | gap       | 8       | 2       | 10:00:02 | 1      | 1            | 1     |
c       | gap       | 8       | 3       | 10:00:03 | 1      | 2            | 1,2   | 1,2
# ZooKeeper stored assignments apart from states
migrates | moved    | 9       | 0       | 10:00:00 | 1      | 0            | 1,2   | 1,2
migrates | moved    | 9       | 1       | 10:00:01 | 1      | 0            | 1     |
"""
ASSIGNED = """
topic     | ordinal | replicas
between   | 0       | 1,2,3
between   | 1       | 1,2,3
between   | 2       | 1,2,3
between   | 3       | 1,2,3
cancelled | 0       | 1,2
cancelled | 1       |
cancelled | 2       | 1,2
removed   | 0       | 1,2
removed   | 1       |
removed   | 2       |
removed   | 3       | 1,2
once      | 0       | 1,2
once      | 1       | 1,2
once      | 2       | 1,2
once      | 3       | 1,2
tail      | 0       | 2,1
tail      | 1       | 2,1
tail      | 2       | 2,1
tail      | 3       |
tail      | 4       |
fenced    | 0       | 2,5
fenced    | 1       | 2,5
before    | 0       | 1,2
before    | 1       | 1,2,3
before    | 2       | 1,2,3
before    | 3       | 1,2,3
gap       | 0       | 1,2
gap       | 2       |
gap       | 3       | 1,2
moved     | 0       | 1,2
moved     | 1       |
"""


def test_an_assignment_goes_on_where_no_step_can_have_changed_it(frame: Frame, same: Same) -> None:
    """An added replica changes nothing else, and a removed one the leader epoch."""
    states = frame(ASSIGNED_STATES, STATES).withColumn("partition", F.lit(0))
    clusters = frame(CLUSTERS, "cluster | migrates\nc | false\nmigrates | true\n")
    fencings = frame(FENCINGS, "cluster | leader | fencings\nc | 5 | 10:00:09\n")
    logged = frame(CLUSTERS, "cluster\nc\nmigrates\n")
    same(with_kept_replicas(states, clusters, fencings, logged), ASSIGNED)


def test_without_a_controllers_log_a_reassignment_may_have_gone_by(frame: Frame, same: Same) -> None:
    """orders-1 of 3.5.2: of the second state a line prints the assignment, of the first none does."""
    states = frame(
        ASSIGNED_STATES,
        """
cluster | topic | history | ordinal | at       | leader | leader_epoch | isr   | replicas
c       | a     | 1       | 0       | 10:00:00 | 1      | 0            | 1,2,3 |
c       | a     | 1       | 1       | 10:00:01 | 1      | 0            | 1,2,3 | 0,2,3,1
""",
    ).withColumn("partition", F.lit(0))
    clusters, none = frame(CLUSTERS, "cluster | migrates\nc | false\n"), frame(FENCINGS, "cluster\n")
    for logged, keeps in (("cluster\nc\n", "true"), ("cluster\n", "false")):
        same(
            with_kept_replicas(states, clusters, none, frame(CLUSTERS, logged)).select("ordinal", "keeps_replicas"),
            f"ordinal | keeps_replicas\n0 | {keeps}\n1 | {keeps}\n",
        )
