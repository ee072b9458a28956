"""Terms of controllers from events written by hand; a case is a cluster of its own, all are one frame."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.timelines.controllers import kraft_takeovers, to_controller_timeline, to_logged_terms
from jobs.timelines.known_spans import (
    CONTROLLER_LOGS,
    span_around,
    to_controller_runs,
    to_known_spans,
    within_terms,
)
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.timelines import CONTROLLER_TIMELINE

if TYPE_CHECKING:
    from tests.conftest import Frame, Same

CONTROLLER_EVENTS = """
cluster | at       | node_id | event_type               | controller_id | controller_epoch | logger            | file_id
# ZooKeeper: 1 resigns, 2 is replaced and acts on for 1.5 s, 3 stays to the end and never logs that it is ready
zk      | 10:00:00 | 1       | controller_elected       | 1             | 1                | kafka.controller  | f
zk      | 10:00:00.25 | 1    | controller_ready         | 1             | 1                | kafka.controller  | f
zk      | 10:05:00 | 1       | controller_resigned      | 1             |                  | kafka.controller  | f
zk      | 10:05:01 | 2       | controller_elected       | 2             | 2                | kafka.controller  | f
zk      | 10:05:02 | 2       | controller_ready         | 2             | 2                | kafka.controller  | f
zk      | 10:07:00 | 3       | controller_elected       | 3             | 3                | kafka.controller  | f
zk      | 10:07:01.5 | 2     | partition_state_change   | 2             | 2                | state.change.logger | f
zk      | 10:07:02 | 3       | partition_state_change   | 3             | 3                | state.change.logger | f
zk      | 10:07:10 | 2       | controller_resigned      | 2             |                  | kafka.controller  | f
# 1's clock is ahead, and nothing compares it: its term is no younger than the next one
skew    | 10:05:00 | 1       | controller_elected       | 1             | 1                | kafka.controller  | f
skew    | 10:05:00.25 | 1    | controller_ready         | 1             | 1                | kafka.controller  | f
skew    | 10:01:00 | 2       | controller_elected       | 2             | 2                | kafka.controller  | f
# two that are elected with one epoch
both    | 10:00:00 | 1       | controller_elected       | 1             | 4                | kafka.controller  | f
both    | 10:00:01 | 2       | controller_elected       | 2             | 4                | kafka.controller  | f
# before 2.1 winning and raising the epoch are two lines; who wins and raises nothing has no term
two     | 10:00:00 | 4       | controller_elected       | 4             |                  | kafka.controller  | f
two     | 10:00:00.5 | 4     | controller_epoch_incremented | 4         | 7                | kafka.controller  | f
two     | 10:01:00 | 5       | controller_elected       | 5             |                  | kafka.controller  | f
# KRaft: leader of the quorum, then active. 102 lost epoch 6 before another voter followed it, and epoch 7 before it was active
kraft   | 10:00:00 | 100     | raft_leader_elected      | 100           | 2                | org.apache.kafka.raft.QuorumState | f
kraft   | 10:00:00.5 | 100   | kraft_controller_elected |               | 2                | org.apache.kafka.controller.QuorumController | f
kraft   | 10:00:59 | 102     | kraft_controller_epoch_changed | 102     | 5                | org.apache.kafka.controller.QuorumController | f
kraft   | 10:01:00 | 101     | kraft_controller_elected | 101           | 5                | org.apache.kafka.controller.QuorumController | f
kraft   | 10:01:30 | 102     | raft_leader_elected      | 102           | 6                | org.apache.kafka.raft.QuorumState | f
kraft   | 10:01:30.1 | 100   | kraft_controller_epoch_changed | 100     | 6                | org.apache.kafka.controller.QuorumController | f
kraft   | 10:02:00 | 102     | raft_leader_elected      | 102           | 7                | org.apache.kafka.raft.QuorumState | f
kraft   | 10:02:01 | 100     | kraft_controller_epoch_changed | 100     | 7                | org.apache.kafka.controller.QuorumController | f
# 101's first record would stand at offset 4, where the log of 102 begins, which 100 follows: it was never committed. 100's was
begun   | 10:00:00 | 100     | raft_leader_elected      | 100           | 1                | org.apache.kafka.raft.QuorumState | f
begun   | 10:00:01 | 100     | kraft_controller_elected | 100           | 1                | org.apache.kafka.controller.QuorumController | f
begun   | 10:01:00 | 101     | raft_leader_elected      | 101           | 2                | org.apache.kafka.raft.QuorumState | f
begun   | 10:01:01 | 101     | kraft_controller_elected | 101           | 2                | org.apache.kafka.controller.QuorumController | f
begun   | 10:01:02 | 102     | raft_leader_elected      | 102           | 3                | org.apache.kafka.raft.QuorumState | f
begun   | 10:01:03 | 102     | kraft_controller_elected | 102           | 3                | org.apache.kafka.controller.QuorumController | f
# a migration (KIP-866): KRaft's quorum has a leader, of epoch 1 again, before ZooKeeper's last controller resigns
migr    | 10:00:00 | 1       | controller_elected       | 1             | 1                | kafka.controller  | f
migr    | 10:01:00 | 4       | controller_elected       | 4             | 2                | kafka.controller  | f
migr    | 10:02:00 | 100     | kraft_controller_elected | 100           | 1                | org.apache.kafka.controller.QuorumController | f
migr    | 10:05:00 | 4       | controller_resigned      | 4             |                  | kafka.controller  | f
migr    | 10:07:00 | 101     | kraft_controller_elected | 101           | 3                | org.apache.kafka.controller.QuorumController | f
# a dump: the epoch stands in the batch's line
dump    | 10:00:00 |         | metadata_batch           |               | 2                | kafka-dump-log    | d
dump    | 10:00:00 |         | metadata_leader_change   | 100           |                  | kafka-dump-log    | d
dump    | 10:02:00 |         | metadata_batch           |               | 3                | kafka-dump-log    | d
dump    | 10:02:00 |         | metadata_leader_change   | 101           |                  | kafka-dump-log    | d
"""
TERMS = """
cluster | controller_id | controller_epoch | since    | active_since | until    | failover_ms | ended_by | overlap_ms | claimed_by
zk      | 1             | 1                | 10:00:00 | 10:00:00.25  | 10:05:00 | 250         | resigned | 0 | 1
zk      | 2             | 2                | 10:05:01 | 10:05:02     | 10:07:00 | 1000        | replaced | 1500 | 2
zk      | 3             | 3                | 10:07:00 |              |          |             |          | 0 | 3
skew    | 1             | 1                | 10:01:00 | 10:05:00.25  | 10:01:00 | 250         | replaced | 0 | 1
skew    | 2             | 2                | 10:01:00 |              |          |             |          | 0 | 2
both    | 2             | 4                | 10:00:00 |              |          |             |          | 0          | 1,2
two     | 4             | 7                | 10:00:00 |              |          |             |          | 0 | 4
kraft   | 100           | 2                | 10:00:00 | 10:00:00.5   | 10:00:59 | 500         | replaced | 0 | 100
kraft   | 101           | 5                | 10:00:59 | 10:01:00     | 10:02:00 | 1000        | replaced | 0 | 101
kraft   | 102           | 7                | 10:02:00 |              |          |             |          | 0 | 102
begun   | 100           | 1                | 10:00:00 | 10:00:01     | 10:01:02 | 1000        | replaced | 0 | 100
begun   | 102           | 3                | 10:01:02 | 10:01:03     |          | 1000        |          | 0 | 102
migr    | 1             | 1                | 10:00:00 |              | 10:01:00 |             | replaced | 0 | 1
migr    | 4             | 2                | 10:01:00 |              | 10:05:00 |             | resigned | 0 | 4
migr    | 100           | 1                | 10:02:00 | 10:02:00     | 10:07:00 | 0           | replaced | 0 | 100
migr    | 101           | 3                | 10:07:00 | 10:07:00     |          | 0           |          | 0 | 101
dump    | 100           | 2                | 10:00:00 |              | 10:02:00 |             | replaced | 0 | 100
dump    | 101           | 3                | 10:02:00 |              |          |             |          | 0 | 101
"""


def test_reigns(frame: Frame, same: Same) -> None:
    """A voter's line names the leader of the new epoch in a further field: here 101 of 5, none of 6, 102 of 7. A leader's
    line has the offset of its first record."""
    offsets = F.create_map(*(F.lit(value) for pair in {1: "0", 2: "4", 3: "4"}.items() for value in pair))
    named = F.create_map(F.lit(5), F.lit("101"), F.lit(7), F.lit("102"))[F.col("controller_epoch")]
    fields = F.when(
        F.col("event_type") == "kraft_controller_epoch_changed", F.create_map(F.lit("new_controller_id"), named)
    ).when(F.col("cluster") == "begun", F.create_map(F.lit("offset"), offsets[F.col("controller_epoch")]))
    same(to_controller_timeline(frame(EVENTS, CONTROLLER_EVENTS).withColumn("fields", fields)), TERMS)
    same(
        kraft_takeovers(to_controller_timeline(frame(EVENTS, CONTROLLER_EVENTS).withColumn("fields", fields))),
        """
cluster | kraft_since | kraft_began
migr    | 10:05:00    | 10:02:00
""",
    )


RESIGNATIONS = """
cluster | at           | line | node_id | event_type                  | controller_id | controller_epoch | logger
# 1's znode is deleted: it notices that as 2 is elected, and looks who is controller when it has resigned
deposed | 10:00:00     | 1    | 1       | controller_elected          | 1             | 1                | kafka.controller
deposed | 10:01:00.003 | 2    | 1       | controller_resigning        | 1             |                  | kafka.controller
deposed | 10:01:00.006 | 1    | 2       | controller_elected          | 2             | 2                | kafka.controller
deposed | 10:01:00.020 | 3    | 1       | controller_resigned         | 1             |                  | kafka.controller
deposed | 10:01:00.020 | 4    | 1       | controller_election_lost    | 1             |                  | kafka.controller
# much later 1's session ends, as a broker's: it resigns from nothing
deposed | 10:09:00     | 5    | 1       | controller_resigning        | 1             |                  | kafka.controller
deposed | 10:09:00     | 6    | 1       | controller_resigned         | 1             |                  | kafka.controller
# 1 resigns and is elected anew within a millisecond: the lines are of the term before
again   | 10:00:00     | 1    | 1       | controller_elected          | 1             | 1                | kafka.controller
again   | 10:01:00     | 2    | 1       | controller_resigned         | 1             |                  | kafka.controller
again   | 10:01:00     | 3    | 1       | controller_elected          | 1             | 2                | kafka.controller
# 1 crashes, 2 takes over, 1 starts anew, and its session ends
crashed | 10:00:00     | 1    | 1       | controller_elected          | 1             | 1                | kafka.controller
crashed | 10:01:00     | 1    | 2       | controller_elected          | 2             | 2                | kafka.controller
crashed | 10:02:00     | 1    | 1       | broker_starting             |               |                  | kafka.server
crashed | 10:03:00     | 2    | 1       | controller_resigned         | 1             |                  | kafka.controller
# the same without the line of the start, but 1 saw who was controller
elected | 10:00:00     | 1    | 1       | controller_elected          | 1             | 1                | kafka.controller
elected | 10:01:00     | 1    | 2       | controller_elected          | 2             | 2                | kafka.controller
elected | 10:02:00     | 2    | 1       | controller_election_lost    | 1             |                  | kafka.controller
elected | 10:03:00     | 3    | 1       | controller_resigned         | 1             |                  | kafka.controller
# KRaft: 100 renounces epoch 3 behind 101's election, by an error; a line about epoch 2 is of no term that is known
quorum  | 10:00:00     | 1    | 100     | kraft_controller_elected    | 100           | 3                | org.apache.kafka.controller.QuorumController
quorum  | 10:00:30     | 2    | 100     | kraft_controller_resigned   | 100           | 2                | org.apache.kafka.controller.QuorumController
quorum  | 10:01:00     | 1    | 101     | kraft_controller_elected    | 101           | 4                | org.apache.kafka.controller.QuorumController
quorum  | 10:01:00.5   | 3    | 100     | kraft_event_failed_renounce | 100           | 3                | org.apache.kafka.controller.QuorumController
"""
RESIGNED = """
cluster | controller_epoch | until        | ended_by | steps
deposed | 1                | 10:01:00.006 | replaced | resigning 2 at 01:00.003, resigned 3 at 01:00.020
deposed | 2                |              |          |
again   | 1                | 10:01:00     | resigned | resigned 2 at 01:00.000
again   | 2                |              |          |
crashed | 1                | 10:01:00     | replaced |
crashed | 2                |              |          |
elected | 1                | 10:01:00     | replaced |
elected | 2                |              |          |
quorum  | 3                | 10:01:00     | replaced | resigned 3 at 01:00.500
quorum  | 4                |              |          |
"""


def test_resignations(frame: Frame, same: Same) -> None:
    """A controller that is replaced resigns later, or not at all; `steps` are the rows of `resignation` in words."""
    fields = F.when(
        F.col("event_type") == "controller_election_lost", F.create_map(F.lit("new_controller_id"), F.lit("2"))
    )
    terms = to_controller_timeline(frame(EVENTS, RESIGNATIONS).withColumn("fields", fields))
    words = F.transform(
        "resignation", lambda s: F.concat_ws(" ", s["step"], s["line"], F.date_format(s["at"], "'at' mm:ss.SSS"))
    )
    shown = terms.select(
        "cluster",
        "controller_epoch",
        "until",
        "ended_by",
        F.nullif(F.array_join(words, ", "), F.lit("")).alias("steps"),
    )
    same(shown, RESIGNED)


LOGGED_TERMS = """
cluster | mode      | controller_id | controller_epoch | since    | until    | ended_by
# 1 is killed at 10:01 and starts anew at 10:05; the controllers of epochs 3 to 9 are known from nobody
alone   | zookeeper | 1             | 2                | 10:00:00 | 10:06:00 | replaced
alone   | zookeeper | 1             | 10               | 10:06:00 | 10:08:00 | resigned
# 2's log is missing, though a request tells of its term
other   | zookeeper | 1             | 2                | 10:00:00 | 10:03:00 | replaced
other   | zookeeper | 2             | 3                | 10:03:00 | 10:06:00 | replaced
other   | zookeeper | 1             | 4                | 10:06:00 |          |
# one controller follows the other, whatever they do in between
whole   | zookeeper | 1             | 2                | 10:00:00 | 10:03:00 | resigned
whole   | zookeeper | 2             | 3                | 10:03:05 |          |
quorum  | kraft     | 1             | 2                | 10:00:00 | 10:03:00 | replaced
"""
CONTROLLERS_LOGS = """
cluster | at       | node_id | event_type             | logger
alone   | 10:00:01 | 1       | controller_ready       | kafka.controller.KafkaController
alone   | 10:01:00 | 1       | live_brokers_changed   | kafka.controller.KafkaController
alone   | 10:05:00 | 1       | broker_starting        | kafka.server.KafkaServer
alone   | 10:06:01 | 1       | controller_ready       | kafka.controller.KafkaController
other   | 10:02:00 | 1       | live_brokers_changed   | kafka.controller.KafkaController
other   | 10:06:01 | 1       | controller_ready       | kafka.controller.KafkaController
whole   | 10:00:01 | 1       | controller_ready       | kafka.controller.KafkaController
whole   | 10:03:06 | 2       | controller_ready       | kafka.controller.KafkaController
"""


ASKED = """alone | 10:00:30
alone | 10:01:30
alone | 10:07:00
other | 10:02:30
other | 10:03:30
whole | 10:03:30
none  | 10:03:30
"""


def test_terms_end_where_no_log_tells_what_controllers_did(frame: Frame, same: Same) -> None:
    """And what they tell of brokers is known no longer: within a minute of a hole it is not, either."""
    terms = to_logged_terms(frame(CONTROLLER_TIMELINE, LOGGED_TERMS), frame(EVENTS, CONTROLLERS_LOGS))
    same(
        terms.select("cluster", "controller_id", "since", "until"),
        """
cluster | controller_id | since    | until
alone   | 1             | 10:00:00 | 10:01:00
alone   | 1             | 10:06:00 | 10:08:00
other   | 1             | 10:00:00 | 10:03:00
other   | 1             | 10:06:00 |
whole   | 1             | 10:00:00 | 10:03:05
whole   | 2             | 10:03:05 |
quorum  | 1             | 10:00:00 | 10:03:00
""",
    )
    names = "alone", "other", "whole", "quorum", "none"
    logs = "\n".join(f"{name} | 1 | controller | 09:00:00 | 10:10:00" for name in names)
    coverage = frame(LOG_COVERAGE, f"cluster | node_id | kind | since | until\n{logs}\n")
    spans = to_known_spans(coverage, CONTROLLER_LOGS, timedelta(hours=1), "cluster")
    asked = frame(EVENTS, f"cluster | at\n{ASKED}").join(within_terms(spans, terms), "cluster")
    same(
        asked.select("cluster", "at", span_around(F.col("at"))["since"].alias("known_since")),
        """
cluster | at       | known_since
alone   | 10:00:30 | 10:00:00
alone   | 10:01:30 |
alone   | 10:07:00 | 10:06:00
other   | 10:02:30 | 10:00:00
other   | 10:03:30 |
whole   | 10:03:30 | 10:00:00
none    | 10:03:30 | 09:00:00
""",
    )


SPAN_TIMES = """
cluster | at       | by_slack | at_once  | two_early
# a minute before the first span, and a second more
c       | 09:59:00 | 10:00:00 |          |
c       | 09:58:59 |          |          |
c       | 09:59:58 | 10:00:00 |          | 10:00:00
c       | 09:59:57 | 10:00:00 |          |
c       | 10:00:00 | 10:00:00 | 10:00:00 | 10:00:00
c       | 10:10:00 | 10:00:00 | 10:00:00 | 10:00:00
# a minute behind it, and a second more
c       | 10:11:00 | 10:00:00 |          | 10:00:00
c       | 10:11:01 |          |          |
c       | 10:20:00 | 10:20:00 | 10:20:00 | 10:20:00
"""


def test_how_early_and_how_late_a_time_is_of_a_span(frame: Frame, same: Same) -> None:
    """By a minute if nothing is said."""
    logs = "c | 1 | controller | 10:00:00 | 10:10:00\nc | 1 | controller | 10:20:00 | 10:30:00\n"
    coverage = frame(LOG_COVERAGE, f"cluster | node_id | kind | since | until\n{logs}")
    spans = to_known_spans(coverage, CONTROLLER_LOGS, timedelta(minutes=5), "cluster")
    times = "\n".join("|".join(line.split("|")[:2]) for line in SPAN_TIMES.strip().splitlines() if line[0] != "#")
    asked, at, none = frame(EVENTS, f"{times}\n").join(spans, "cluster"), F.col("at"), timedelta(0)
    same(
        asked.select(
            "cluster",
            "at",
            span_around(at)["since"].alias("by_slack"),
            span_around(at, early=none, late=none)["since"].alias("at_once"),
            span_around(at, early=timedelta(seconds=2))["since"].alias("two_early"),
        ),
        SPAN_TIMES,
    )


LOGS = """
cluster | node_id | kind       | since    | until
alone   | 1       | controller | 09:00:00 | 10:10:00
other   | 1       | controller | 09:00:00 | 10:10:00
other   | 2       | server     | 09:00:00 | 10:10:00
whole   | 1       | controller | 09:00:00 | 10:03:00
whole   | 2       | controller | 09:00:00 | 10:10:00
holed   | 1       | controller | 09:00:00 | 10:01:00
holed   | 1       | controller | 10:02:00 | 10:03:00
holed   | 2       | controller | 09:00:00 | 10:10:00
quorum  | 1       | controller | 09:00:00 | 10:10:00
"""


def test_logs_of_all_controllers_are_there_while_epochs_follow_each_other(frame: Frame, same: Same) -> None:
    """Not over an epoch that nobody logs, under a controller whose log is missing (2 of `other`), or has a hole."""
    terms = frame(CONTROLLER_TIMELINE, LOGGED_TERMS).withColumn("cluster_incarnation", F.lit(0))
    holed = terms.where("cluster = 'whole'").withColumn("cluster", F.lit("holed"))
    runs = to_controller_runs(terms.unionByName(holed), frame(LOG_COVERAGE, LOGS))
    run = runs.select("cluster", F.explode("runs").alias("run"))
    same(
        run.select("cluster", "run.since", F.when(F.year("run.until") < 2030, F.col("run.until")).alias("until")),
        """
cluster | since    | until
alone   | 10:00:00 | 10:00:00
alone   | 10:06:00 |
other   | 10:00:00 | 10:03:00
other   | 10:06:00 |
whole   | 10:00:00 |
holed   | 10:03:05 |
""",
    )
