"""Which brokers were registered when something was decided, shortly after lines about them; a case is a topic."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.findings.broker_signs import with_doubts
from jobs.findings.decision_inputs import on_failed_directories
from jobs.findings.registered_brokers import registered, with_earliest
from jobs.timelines.known_spans import CONTROLLER_LOGS, to_known_spans
from schemas.findings import ELECTIONS
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.spark import EVIDENCE_COLUMN, FLAG, IDS, INT, LONG, PARTITION_KEY, TEXT, TIME, struct
from schemas.timelines import BROKER_TIMELINE, PARTITION_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

DECISIONS = T.StructType(
    [*PARTITION_KEY, *struct(at=TIME, earliest=TIME, decision=LONG, concerned=IDS), EVIDENCE_COLUMN]
)
CLUSTERS = struct(cluster=TEXT, is_kraft=FLAG)
SIGNS = struct(cluster=TEXT, broker=INT, at=TIME, is_alive=FLAG)
COVERAGE = """
cluster | node_id | kind          | since    | until
zk      | 3       | controller    | 09:00:00 | 11:00:00
kraft   | 100     | controller    | 09:00:00 | 11:00:00
dump    |         | metadata_dump | 09:00:00 | 11:00:00
"""
BROKERS = """
cluster | broker | since    | until      | shutdown_since | evidence
zk      | 1      | 10:00:00 |            |                | 3@f:5
zk      | 2      | 09:59:00 | 10:00:00   |                | 3@f:1,3@f:5
zk      | 5      | 10:00:00 | 10:00:00.5 |                | 3@f:5,3@f:8
zk      | 6      | 09:59:00 | 10:05:00   | 10:00:30       | 3@f:5,3@f:8
kraft   | 1      | 10:00:00 |            |                | 100@f:5
kraft   | 6      | 09:59:00 | 10:05:00   | 10:00:30       | 100@f:5
dump    | 1      | 10:00:00 |            |                | @f:5
dump    | 2      | 09:59:00 | 10:00:00   |                | @f:1,@f:7
"""
LINES = """
cluster | topic    | at         | concerned | evidence
# the controller itself logs it, 200 ms after what it says of 1 and 2
zk      | by_it    | 10:00:00.2 | 1,2       | 3@g:9
zk      | by_other | 10:00:00.2 | 1,2       | 4@g:9
zk      | at_once  | 10:00:00   | 1         | 3@g:9
# 5 goes 300 ms later: maybe the controller knew it
zk      | goes     | 10:00:00.2 | 5         | 3@g:9
# KRaft logs records up to 0.5 s late
kraft   | late     | 10:00:00.2 | 1         | 100@f:9
kraft   | certain  | 10:00:05   | 1         | 100@f:9
# 6 shuts down: until it is fenced it is there, and leads nothing any more
kraft   | before   | 10:00:20   | 1,6       | 100@f:9
kraft   | shuts    | 10:00:30   | 1,6       | 100@f:9
kraft   | leaves   | 10:04:00   | 1,6       | 100@f:9
zk      | leaves   | 10:04:00   | 1,6       | 3@g:9
# it is the unfencing that made it
kraft   | by_cause | 10:00:00.2 | 1         | 1@s:3,100@f:5
# records of one batch have one time
dump    | behind   | 10:00:00   | 1,2       | @f:6
dump    | ahead    | 10:00:00   | 1         | @f:4
dump    | other    | 10:00:00.2 | 1         | @g:6
"""
UNDATED = """
cluster | topic    | earliest | at       | concerned | evidence
# 1 came and 2 went meanwhile; 6 was there all the time
zk      | long     | 09:59:30 | 10:00:05 | 1,2,6     | 3@g:9
"""


def test_lines_that_tell_the_order_leave_no_doubt(frame: Frame, same: Same) -> None:
    """A decision of which nothing is known has no row; 2 may have been there or not in `behind`, as it goes then."""
    dated = frame(DECISIONS, LINES).withColumn("earliest", F.col("at"))
    decisions = dated.unionByName(frame(DECISIONS, UNDATED)).withColumns(
        {"partition": F.lit(0), "incarnation": F.lit(0), "decision": F.lit(1)}
    )
    spans = to_known_spans(frame(LOG_COVERAGE, COVERAGE), CONTROLLER_LOGS, timedelta(hours=1), "cluster")
    kraft = frame(CLUSTERS, "cluster\nkraft\ndump\n")
    brokers = with_doubts(frame(BROKER_TIMELINE, BROKERS), frame(SIGNS, "cluster\n"))
    same(
        registered(decisions, brokers, spans, kraft).withColumn("possible", F.array_sort("possible")),
        """
topic    | certain | possible
by_it    | 1       | 1
certain  | 1       | 1
by_cause | 1       | 1
behind   | 1       | 1,2
before   | 1,6     | 1,6
shuts    | 1       | 1,6
leaves   | 1       | 1,6
leaves   | 1,6     | 1,6
long     | 6       | 1,2,6
""",
    )


STATES = """
cluster | topic | leader_epoch | ordinal | since
zk      | hole  | 9            | 4       | 09:00:00
zk      | hole  | 10           | 5       | 10:00:03
# of the leader epoch its first state counts
zk      | hole  | 10           | 6       | 10:00:04
zk      | told  | 9            | 4       | 09:00:00
zk      | told  | 10           | 5       | 10:00:03
zk      | since | 9            | 4       | 10:00:01
zk      | since | 10           | 5       | 10:00:03
zk      | first | 10           | 5       | 10:00:03
kraft   | kraft | 9            | 4       | 10:00:01
kraft   | kraft | 10           | 5       | 10:00:03
"""
ELECTED = """
cluster | topic | leader_epoch | at       | strategy | succeeded
zk      | hole  | 10           | 10:00:03 |          | true
zk      | told  | 10           | 10:00:03 | offline  | true
zk      | since | 10           | 10:00:03 |          | true
zk      | first | 10           | 10:00:03 |          | true
zk      | none  |              | 10:00:03 |          | false
kraft   | kraft | 10           | 10:00:03 |          | true
"""


def test_an_election_without_the_line_of_its_decision_came_after_the_state_before(frame: Frame, same: Same) -> None:
    """The controllers' logs have a hole from 09:10 to 10:00: `hole` may have been decided in it. Of `told` the
    controller logs that it decides then, and of `none` that it fails."""
    of_partition = {"partition": F.lit(0), "incarnation": F.lit(0)}
    hole = "cluster | node_id | kind | since | until\nzk | 3 | controller | 08:00:00 | 09:10:00\n"
    hole += "zk | 3 | controller | 10:00:00 | 11:00:00\n"
    spans = to_known_spans(frame(LOG_COVERAGE, hole), CONTROLLER_LOGS, timedelta(minutes=5), "cluster")
    elections = frame(ELECTIONS, ELECTED).withColumns(of_partition)
    states = frame(PARTITION_TIMELINE, STATES).withColumns(of_partition)
    same(
        with_earliest(elections, states, spans, frame(CLUSTERS, "cluster\nkraft\n")),
        """
topic | earliest
told  | 10:00:03
since | 10:00:01
first | 10:00:03
none  | 10:00:03
kraft | 10:00:03
""",
    )


# ---- whose replica was in a failed log directory ---------------------------------------------------------------------
FAILED_DIRECTORIES = """
cluster | event_type                 | at       | broker_id | fields   | partitions
zk      | replicas_marked_offline    | 10:00:00 | 1         |          | pay-in:0
kraft   | log_dir_failure_partitions | 10:00:00 | 2         |          | pay-in:0
kraft   | kraft_directories_offline  | 10:00:01 |           | broker=2 |
kraft   | kraft_directories_offline  | 10:00:01 |           | broker=3 |
# 4 comes back without a directory, 5 with one more, 6 as it was, though a change lists none; 7 loses one at work
kraft   | kraft_broker_registered    | 09:00:00 |           | broker=4; log_dirs=["a", "b"] |
kraft   | kraft_broker_registered    | 10:00:01 |           | broker=4; log_dirs=["b", "c"] |
kraft   | kraft_broker_registered    | 09:00:00 |           | broker=5; log_dirs=["a"] |
kraft   | kraft_broker_registered    | 10:00:01 |           | broker=5; log_dirs=["b", "a"] |
kraft   | kraft_broker_registered    | 09:00:00 |           | broker=6; log_dirs=["a"] |
kraft   | kraft_broker_registration_replayed | 09:30:00 |   | broker=6; log_dirs=[] |
kraft   | kraft_broker_registered    | 10:00:01 |           | broker=6; log_dirs=["a"] |
dump    | metadata_register_broker   | 09:00:00 | 7         | log_dirs=["a", "b"] |
dump    | metadata_broker_registration_change | 09:30:00 | 7 | fenced_change=-1 |
dump    | metadata_broker_registration_change | 10:00:01 | 7 | log_dirs=["b"] |
"""
WITH_FAILED = """
cluster | topic  | partition | incarnation | at       | decision
zk      | pay-in | 0         | 0           | 09:59:50 | 1
zk      | pay-in | 0         | 0           | 10:00:00 | 2
zk      | pay-in | 1         | 0           | 10:00:00 | 2
kraft   | pay-in | 0         | 0           | 10:00:02 | 1
kraft   | pay-in | 1         | 0           | 10:00:02 | 1
dump    | pay-in | 0         | 0           | 10:00:02 | 1
"""


def test_replicas_in_failed_log_directories(frame: Frame, same: Same) -> None:
    """2 lists what was in its directory; of 3 only the controller tells that one failed, so it may be any replica; and
    of those of 4 and 7, which lack a directory that they had."""
    partitions = F.transform(
        F.split("partitions_text", ","),
        lambda p: F.struct(F.split(p, ":")[0].alias("topic"), F.split(p, ":")[1].cast("int").alias("partition")),
    )
    schema = T.StructType([*(f for f in EVENTS.schema if f.name != "partitions"), *struct(partitions_text=TEXT)])
    events = frame(schema, FAILED_DIRECTORIES.replace(" partitions\n", " partitions_text\n")).withColumn(
        "partitions", partitions
    )
    decisions = frame(T.StructType([*PARTITION_KEY, *struct(at=TIME, decision=LONG)]), WITH_FAILED)
    rows = on_failed_directories(decisions, events).withColumn("on_failed_dir", F.array_sort("on_failed_dir"))
    same(
        rows,
        """
cluster | topic  | partition | decision | on_failed_dir
zk      | pay-in | 0         | 2        | 1
kraft   | pay-in | 0         | 1        | 2,3,4
kraft   | pay-in | 1         | 1        | 3,4
dump    | pay-in | 0         | 1        | 7
""",
    )
