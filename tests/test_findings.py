"""Elections, outages, ISR changes, churn and reassignments from timelines written by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.findings.elections import to_elections
from jobs.findings.incidents import to_incidents
from jobs.findings.isr import to_isr_changes, to_isr_churn
from jobs.findings.node_stops import NODE_STOPS, absences_from_isrs, was_absent
from jobs.findings.outage_causes import with_causes, with_latency
from jobs.findings.outages import to_outages
from jobs.findings.reassignment_waits import with_stuck
from jobs.findings.reassignments import to_reassignments
from jobs.findings.shrink_storms import to_shrink_storms
from jobs.findings.states_then import states_then
from jobs.findings.takeovers import to_takeovers
from jobs.settings import Settings
from jobs.timelines.cluster_facts import EvidenceKinds
from jobs.timelines.known_spans import CLUSTER_LOGS, to_controller_runs, to_known_spans
from schemas.findings import ELECTIONS, ISR_CHANGES, OFFLINE_PARTITIONS, REASSIGNMENTS
from schemas.incidents import LOG_DIR_FAILURES
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.spark import CLUSTER, EVIDENCE_COLUMN, INT, TIME, column
from schemas.timelines import BROKER_TIMELINE, CONTROLLER_TIMELINE, PARTITION_TIMELINE, TOPIC_TIMELINE
from tests.conftest import instant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from schemas.table import Table
    from tests.conftest import Frame, Same

TAKEOVERS = T.StructType(
    [
        CLUSTER,
        column("broker", INT, "Broker that a controller found gone."),
        column("stopped", TIME, "Its stop."),
        column("noticed_at", TIME, "When the controller found that."),
        EVIDENCE_COLUMN,
    ]
)
"""Rows of `to_takeovers`, but `controller`."""
LAST = T.StructType(
    [
        CLUSTER,
        column("broker", INT, "The last broker."),
        column("stopped_at", TIME, "When it went."),
        EVIDENCE_COLUMN,
    ]
)
"""Rows of `to_last_brokers`."""
ENDS = T.StructType([CLUSTER, column("end_of_logs", TIME, "End of a cluster's logs.")])


def states(frame: Frame, text: str, table: Table = PARTITION_TIMELINE) -> DataFrame:
    """Rows of a table of states, in the order of their partition epochs; each topic has one partition."""
    return frame(table, text).withColumns(
        {"ordinal": F.col("partition_epoch").cast("long"), "history": F.hash("topic").cast("long")}
    )


# ---- elections ------------------------------------------------------------------------------------------------------
# All of partition 0, incarnation 0. The first state of a partition is no election.
STATES = """
topic     | partition | incarnation | leader | leader_epoch | partition_epoch | isr   | elr | replicas | since    | until    | made_by | controller_epoch
# another leader out of the ISR: clean; the old one was lost for 3 s, in two states
clean     | 0         | 0           | 1      | 0            | 0               | 1,2   |     | 1,2,3    | 10:00:00 | 10:00:01 |         | 1
clean     | 0         | 0           | -1     | 1            | 1               | 1,2   |     | 1,2,3    | 10:00:01 | 10:00:02 |         | 1
clean     | 0         | 0           | -1     | 2            | 2               | 2     |     | 1,2,3    | 10:00:02 | 10:00:04 |         | 1
clean     | 0         | 0           | 2      | 3            | 3               | 2     |     | 1,2,3    | 10:00:04 |          |         | 1
# out of nowhere: unclean
unclean   | 0         | 0           | 1      | 0            | 0               | 1     |     | 1,2      | 10:00:00 | 10:00:01 |         | 1
unclean   | 0         | 0           | -1     | 1            | 1               | 1     |     | 1,2      | 10:00:01 | 10:00:02 |         | 1
unclean   | 0         | 0           | 2      | 2            | 2               | 2     |     | 1,2      | 10:00:02 |          |         | 1
# out of the eligible leader replicas (KIP-966): clean
elr       | 0         | 0           | -1     | 1            | 1               | []    | 2   | 1,2      | 10:00:01 | 10:00:02 |         |
elr       | 0         | 0           | 2      | 2            | 2               | 2     | []  | 1,2      | 10:00:02 |          |         |
# while there was no leader, the eligible leader replicas changed twice: it was lost with the first of these states
waits     | 0         | 0           | 1      | 0            | 0               | 1     | []  | 1,2      | 10:00:00 | 10:00:01 |         |
waits     | 0         | 0           | -1     | 1            | 1               | []    | 1   | 1,2      | 10:00:01 | 10:00:03 |         |
waits     | 0         | 0           | -1     | 1            | 2               | []    | 1,2 | 1,2      | 10:00:03 | 10:00:04 |         |
waits     | 0         | 0           | 2      | 2            | 3               | 2     | 1   | 1,2      | 10:00:04 | 10:00:05 |         |
waits     | 0         | 0           | -1     | 3            | 4               | []    | 2   | 1,2      | 10:00:05 | 10:00:06 |         |
waits     | 0         | 0           | 2      | 4            | 5               | 2     | []  | 1,2      | 10:00:06 |          |         |
# a reassignment brings its own leader into the ISR and elects it in one step: clean; unknown without an assignment
step      | 0         | 0           | 1      | 0            | 0               | 1     |     | 3,1      | 10:00:00 | 10:00:01 |         |
step      | 0         | 0           | 3      | 1            | 1               | 3     |     | 3        | 10:00:01 |          |         |
unknown   | 0         | 0           | 1      | 0            | 0               | 1     |     | 3,1      | 10:00:00 | 10:00:01 |         |
unknown   | 0         | 0           | 3      | 1            | 1               | 3     |     |          | 10:00:01 |          |         |
# with ZooKeeper an assignment is no part of a state: one that was asked for meanwhile makes no election clean
asked     | 0         | 0           | 1      | 0            | 0               | 1     |     | 1,2      | 10:00:00 | 10:00:01 |         | 1
asked     | 0         | 0           | -1     | 1            | 1               | 1     |     | 1,2      | 10:00:01 | 10:00:02 |         | 1
asked     | 0         | 0           | 2      | 2            | 2               | 2     |     | 3,2,1    | 10:00:02 |          |         | 1
widened   | 0         | 0           | 1      | 0            | 0               | 1,2   |     | 1,2      | 10:00:00 | 10:00:01 |         | 1
widened   | 0         | 0           | -1     | 1            | 1               | 2     |     | 1,2      | 10:00:01 | 10:00:02 |         | 1
widened   | 0         | 0           | 2      | 2            | 2               | 2     |     | 1,2,3    | 10:00:02 |          |         | 1
# in KRaft the record that changes it elects
record    | 0         | 0           | 1      | 0            | 0               | 1,2   |     | 1,2,3    | 10:00:00 | 10:00:01 |         | -1
record    | 0         | 0           | -1     | 1            | 1               | 2     |     | 1,2,3    | 10:00:01 | 10:00:02 |         | -1
record    | 0         | 0           | 2      | 2            | 2               | 2     |     | 2,3      | 10:00:02 |          |         | -1
# until 2.0 the dead leader was left in the state; which brokers have the partition does not matter
dead      | 0         | 0           | 1      | 0            | 0               | 1     |     |          | 10:00:00 | 10:00:01 |         | 1
dead      | 0         | 0           | 2      | 1            | 1               | 2     |     |          | 10:00:01 |          |         | 1
# but who is not alone in the ISR joined it before, in a state that is missing though epochs do not show it
joined    | 0         | 0           | 1      | 0            |                 | 1     |     | 1,2      | 10:00:00 | 10:00:01 |         | 1
joined    | 0         | 0           | -1     | 1            |                 | 1     |     | 1,2      | 10:00:01 | 10:00:02 |         | 1
joined    | 0         | 0           | 2      | 2            |                 | 1,2   |     | 3,2,1    | 10:00:02 |          |         | 1
# nor does one in KRaft that only adds replicas
adds      | 0         | 0           | 1      | 0            | 0               | 1     |     | 1,2      | 10:00:00 | 10:00:01 |         | -1
adds      | 0         | 0           | -1     | 1            | 1               | 1     |     | 1,2      | 10:00:01 | 10:00:02 |         | -1
adds      | 0         | 0           | 2      | 2            | 2               | 2     |     | 1,2,3    | 10:00:02 |          |         | -1
# KRaft's controller logs of the step that the partition recovers from then on: a reassignment was cancelled
revoked   | 0         | 0           | 1      | 0            | 0               | 1     |     | 3,1      | 10:00:00 | 10:00:01 |         |
revoked   | 0         | 0           | -1     | 1            | 1               | 1     |     | 3,1      | 10:00:01 | 10:00:02 |         |
revoked   | 0         | 0           | 3      | 2            | 2               | 3     |     | 3        | 10:00:02 |          |         |
# the same, but KRaft's controller logs that the partition recovers from then on
recovers  | 0         | 0           | 1      | 0            | 0               | 1     |     | 3,1      | 10:00:00 | 10:00:01 |         |
recovers  | 0         | 0           | 3      | 1            | 1               | 3     |     |          | 10:00:01 |          |         |
# no new leader: the same one in a new epoch is an election too, a change of the ISR is none
again     | 0         | 0           | 1      | 0            | 0               | 1,2   |     | 1,2      | 10:00:00 | 10:00:01 |         |
again     | 0         | 0           | 1      | 1            | 1               | 1,2   |     | 1,2      | 10:00:01 | 10:00:02 |         |
again     | 0         | 0           | 1      | 1            | 2               | 1     |     | 1,2      | 10:00:02 |          | leader  |
# states between are missing: leader and ISR before are unknown
gap       | 0         | 0           | 1      | 0            | 0               | 1     |     | 1,2      | 10:00:00 | 10:00:01 |         |
gap       | 0         | 0           | 2      | 3            | 4               | 2     |     | 1,2      | 10:00:01 |          |         |
# 0.8: no line prints the version, so nobody knows what was in between, and what the ISR was
old       | 0         | 0           | 1      | 0            |                 | 1     |     | 1,2      | 10:00:00 | 10:00:01 |         |
old       | 0         | 0           | 2      | 1            |                 | 1,2   |     | 1,2      | 10:00:01 |          |         |
# but without a leader only the controller writes; and one that has led already is in sync
none      | 0         | 0           | 1      | 0            |                 | 1,3   |     | 1,2,3    | 10:00:00 | 10:00:01 |         |
none      | 0         | 0           | -1     | 1            |                 | 1     |     | 1,2,3    | 10:00:01 | 10:00:02 |         |
none      | 0         | 0           | 2      | 2            |                 | 2     |     | 1,2,3    | 10:00:02 | 10:00:03 |         |
none      | 0         | 0           | 2      | 3            |                 | 2     |     | 1,2,3    | 10:00:03 |          |         |
# the ISR before is in no line
unsaid    | 0         | 0           | 1      | 0            | 0               |       |     | 1,2      | 10:00:00 | 10:00:01 |         |
unsaid    | 0         | 0           | 2      | 1            | 1               | 2     |     | 1,2      | 10:00:01 |          |         |
# a line with a wrong leader epoch in between: the epoch that it fell from was begun once
fallen    | 0         | 0           | 1      | 0            | 0               | 1     |     | 1,2      | 10:00:00 | 10:00:01 |         |
fallen    | 0         | 0           | 1      | 1            | 1               | 1     |     | 1,2      | 10:00:01 | 10:00:02 |         |
fallen    | 0         | 0           | 2      | 0            | 2               | 1,2   |     | 1,2      | 10:00:02 | 10:00:03 |         |
fallen    | 0         | 0           | 1      | 1            | 3               | 1     |     | 1,2      | 10:00:03 |          |         |
# states of one time: a later one was proved no later
many      | 0         | 0           | 1      | 0            | 0               | 1,2   |     | 1,2      | 10:00:00 | 10:00:01 |         | 1
many      | 0         | 0           | -1     | 1            | 1               | 1,2   |     | 1,2      | 10:00:01 | 10:00:02 |         | 1
many      | 0         | 0           | 1      | 2            | 2               | 1,2   |     | 1,2      | 10:00:02 | 10:00:02 |         | 1
many      | 0         | 0           | 2      | 3            | 3               | 1,2   |     | 1,2      | 10:00:02 |          |         | 1
chosen    | 0         | 0           | 1      | 0            |                 | 1,2   |     | 2,1      | 10:00:00 | 10:00:10 |         | 1
chosen    | 0         | 0           | 2      | 1            |                 | 1,2   |     | 2,1      | 10:00:10 | 10:00:20 |         | 1
chosen    | 0         | 0           | 1      | 2            |                 | 1     |     | 2,1      | 10:00:20 | 10:00:30 |         | 1
chosen    | 0         | 0           | 2      | 3            |                 | 1,2   |     | 2,1      | 10:00:30 |          |         | 1
# no state before is known: of two a line shows that the leader epoch came then, another leader has just started
begun     | 0         | 0           | 2      | 3            | 5               | 2     |     | 1,2      | 10:00:02 |          |         | 1
decided   | 0         | 0           | 2      | 3            | 5               | 2     |     | 1,2      | 10:00:02 |          |         | 1
started   | 0         | 0           | 2      | 3            | 5               | 2     |     | 1,2      | 10:00:02 |          |         | 1
"""
# the controller's own log of two of them, and of an election that failed (in two lines)
DECISIONS = """
file_id | line | topic     | partition | at          | node_id | logger              | event_type                    | controller_epoch | leader | leader_epoch | fields                                                | detail
        |      |           |           | 10:00:00    | 9       | kafka.controller    | broker_set_changed            |                  |        |              | live_brokers=1,2,3                                    |
        |      |           |           | 10:00:00    | 9       | kafka.controller    | broker_failure                |                  |        |              | brokers=4                                             |
        |      | clean     | 0         | 10:00:04    | 9       | state.change.logger | partition_state_change        | 1                | 2      | 3            | from_state=OfflinePartition; to_state=OnlinePartition |
        |      | unclean   | 0         | 10:00:01.5  | 9       | state.change.logger | partition_state_change_failed | 1                |        |              | from_state=OfflinePartition; to_state=OnlinePartition | at kafka.controller.OfflinePartitionLeaderSelector
        |      | unclean   | 0         | 10:00:01.5  | 9       | state.change.logger | partition_state_change_failed | 1                |        |              | from_state=OfflinePartition; to_state=OnlinePartition |
        |      | unclean   | 0         | 10:00:01.6  | 9       | state.change.logger | partition_state_change_failed | 1                |        |              | from_state=OfflinePartition; to_state=OfflinePartition |
# what the exception says of the live brokers counts more than what the controller said before
        |      | unclean   | 0         | 10:00:01.7  | 9       | state.change.logger | partition_state_change_failed | 1                |        |              | from_state=OfflinePartition; to_state=OnlinePartition | No replica for partition [unclean,0] is alive. Live brokers are: [Set(3, 2)], Assigned replicas are: [List(1)]
        |      | unclean   | 0         | 10:00:01.8  | 9       | state.change.logger | partition_state_change_failed | 1                |        |              | from_state=OfflinePartition; to_state=OnlinePartition | No broker in ISR for partition [unclean,0] is alive. Live brokers are: [Set(3, 2)], ISR brokers are: [4,1] at kafka.controller.OfflinePartitionLeaderSelector
        |      | begun     | 0         | 10:00:01.8  | 9       | state.change.logger | partition_state_change_failed | 1                |        |              | from_state=OnlinePartition; to_state=OnlinePartition | No other replicas in ISR 4,1 for [begun,0] besides shutting down brokers 4,1 at kafka.controller.ControlledShutdownLeaderSelector.selectLeader
        |      | begun     | 0         | 10:00:02    | 2       | state.change.logger | partition_leader_epoch_started |             | 2      | 3            | previous_leader_epoch=2                               |
        |      | started   | 0         | 10:00:02    | 2       | state.change.logger | partition_leader_epoch_started |             | 2      | 3            | previous_leader_epoch=-1                              |
        |      | decided   | 0         | 10:00:02    | 9       | state.change.logger | partition_state_change        | 1                | 2      | 3            | from_state=OfflinePartition; to_state=OnlinePartition |
# until 0.11 a state is printed as JSON, in 1.0 otherwise
        |      | begun     | 0         | 10:00:02.1  | 9       | state.change.logger | partition_state_change_failed | 1                |        |              | from_state=OfflinePartition; to_state=OnlinePartition | None of the reassigned replicas for partition [begun,0] are in-sync with the leader. Current leader and ISR: [{"leader":3,"leader_epoch":12,"isr":[3,2]}]
        |      | begun     | 0         | 10:00:02.2  | 9       | state.change.logger | partition_state_change_failed | 1                |        |              | from_state=OfflinePartition; to_state=OnlinePartition | Preferred replica 1 for partition begun-0 is either not alive or not in the isr. Current leader and ISR: [(Leader:3,ISR:3,4,LeaderEpoch:12,ControllerEpoch:1)]
# through 1.0 the selectors say how they choose; transitions print the leader only
c       | 1    | chosen    | 0         | 10:00:10    | 9       | kafka.controller    | preferred_election_triggered  |                  |        |              |                                                       |
s       | 2    | chosen    | 0         | 10:00:10    | 9       | state.change.logger | partition_state_change        | 1                | 2      |              | from_state=OnlinePartition; to_state=OnlinePartition  |
c       | 3    | chosen    | 0         | 10:00:20    | 9       | kafka.controller    | unclean_leader_election       |                  | 1      |              |                                                       |
c       | 4    | chosen    | 0         | 10:00:20    | 9       | kafka.controller    | offline_election_selected     |                  | 1      | 2            |                                                       |
s       | 5    | chosen    | 0         | 10:00:20    | 9       | state.change.logger | partition_state_change        | 1                | 1      |              | from_state=OfflinePartition; to_state=OnlinePartition |
# a selector chose for a shutdown of which no line says who shuts down
c       | 8    | chosen    | 0         | 10:00:29    | 9       | kafka.controller    | controlled_shutdown_election_selected |          | 2      |              |                                                       |
# a preferred election of other partitions was the last thing that the controller began; of this one no selector speaks
c       | 6    |           |           | 10:00:30    | 9       | kafka.controller    | preferred_election_started    |                  |        |              |                                                       |
s       | 7    | chosen    | 0         | 10:00:30    | 9       | state.change.logger | partition_state_change        | 1                | 2      |              | from_state=OnlinePartition; to_state=OnlinePartition  |
q       | 1    | recovers  | 0         | 10:00:01    | 100     | o.a.k.controller    | kraft_partition_changed_unclean |                | 3      | 1            | leader_recovery_state=RECOVERING                      |
q       | 3    | revoked   | 0         | 10:00:02    | 100     | o.a.k.controller    | kraft_partition_changed_unclean |                | 3      | 2            | leader_recovery_state=RECOVERING                      |
q       | 2    | unknown   | 0         | 10:00:01    | 100     | o.a.k.controller    | kraft_partition_changed_unclean |                | 3      | 1            | elr=[]                                                |
"""
TOPICS = """
topic     | incarnation | topic_id | since    | until
recovers  | 0           |          | 10:00:00 |
revoked   | 0           |          | 10:00:00 |
unknown   | 0           |          | 10:00:00 |
chosen    | 0           |          | 10:00:00 |
begun     | 0           |          | 10:00:00 |
started   | 0           |          | 10:00:00 |
decided   | 0           |          | 10:00:00 |
clean     | 0           |          | 10:00:00 |
unclean   | 0           |          | 10:00:00 |
"""
HELD = """
topic   | at         | succeeded | previous_leader | leader | leader_epoch | isr_before | unclean | latency_ms | strategy | trigger        | live_brokers
clean   | 10:00:04   | true      | -1              | 2      | 3            | 2          | false   | 3000       | offline  | broker_failure | 1,2,3
unclean | 10:00:02   | true      | -1              | 2      | 2            | 1          | true    | 1000       |          |                |
unclean | 10:00:01.5 | false     |                 |        |              |            |         |            | offline  | broker_failure | 1,2,3
# only the offline election says that no replica is alive
unclean | 10:00:01.7 | false     |                 |        |              |            |         |            | offline  | broker_failure | 2,3
unclean | 10:00:01.8 | false     |                 |        |              | 1,4        |         |            | offline  | broker_failure | 2,3
begun   | 10:00:01.8 | false     |                 |        |              | 1,4        |         |            | controlled_shutdown | broker_failure | 1,2,3
# nobody knows since when there had been no leader
elr     | 10:00:02   | true      | -1              | 2      | 2            | []         | false   |            |          |                |
waits   | 10:00:04   | true      | -1              | 2      | 2            | []         | false   | 3000       |          |                |
waits   | 10:00:06   | true      | -1              | 2      | 4            | []         | false   | 1000       |          |                |
step    | 10:00:01   | true      | 1               | 3      | 1            | 1          | false   |            |          |                |
unknown | 10:00:01   | true      | 1               | 3      | 1            | 1          |         |            |          |                |
asked   | 10:00:02   | true      | -1              | 2      | 2            | 1          | true    | 1000       |          |                |
widened | 10:00:02   | true      | -1              | 2      | 2            | 2          | false   | 1000       |          |                |
record  | 10:00:02   | true      | -1              | 2      | 2            | 2          | false   | 1000       |          |                |
joined  | 10:00:02   | true      | -1              | 2      | 2            | 1          |         | 1000       |          |                |
adds    | 10:00:02   | true      | -1              | 2      | 2            | 1          | true    | 1000       |          |                |
dead    | 10:00:01   | true      | 1               | 2      | 1            | 1          | true    |            |          |                |
revoked | 10:00:02   | true      | -1              | 3      | 2            | 1          | true    | 1000       |          |                |
recovers | 10:00:01  | true      | 1               | 3      | 1            | 1          | true    |            |          |                |
again   | 10:00:01   | true      | 1               | 1      | 1            | 1,2        | false   |            |          |                |
gap     | 10:00:01   | true      |                 | 2      | 3            |            |         |            |          |                |
old     | 10:00:01   | true      | 1               | 2      | 1            |            |         |            |          |                |
none    | 10:00:02   | true      | -1              | 2      | 2            | 1          | true    | 1000       |          |                |
none    | 10:00:03   | true      | 2               | 2      | 3            |            | false   |            |          |                |
unsaid  | 10:00:01   | true      | 1               | 2      | 1            |            |         |            |          |                |
fallen  | 10:00:01   | true      | 1               | 1      | 1            | 1          | false   |            |          |                |
many    | 10:00:02   | true      | -1              | 1      | 2            | 1,2        | false   | 1000       |          |                |
many    | 10:00:02   | true      | 1               | 2      | 3            | 1,2        | false   |            |          |                |
chosen  | 10:00:10   | true      | 1               | 2      | 1            |            | false   |            | preferred |               | 1,2,3
chosen  | 10:00:20   | true      | 2               | 1      | 2            |            | true    |            | offline  | broker_failure | 1,2,3
chosen  | 10:00:30   | true      | 1               | 2      | 3            |            |         |            |          |                | 1,2,3
begun   | 10:00:02.1 | false     | 2               |        |              | 2,3        |         |            |          | broker_failure | 1,2,3
begun   | 10:00:02.2 | false     | 2               |        |              | 3,4        |         |            |          | broker_failure | 1,2,3
begun   | 10:00:02   | true      |                 | 2      | 3            |            |         |            |          |                |
decided | 10:00:02   | true      |                 | 2      | 3            |            |         |            | offline  | broker_failure | 1,2,3
"""


@pytest.fixture(scope="module")
def elections(frame: Frame) -> DataFrame:
    """ELECTIONS of STATES."""
    spans = known_spans(frame, "9 | controller | 10:00:00 | 10:01:00", "node_id")
    events, topics = frame(EVENTS, DECISIONS), frame(TOPIC_TIMELINE, TOPICS)
    return to_elections(states(frame, STATES), events, topics, spans, EvidenceKinds()).persist()


def test_elections(elections: DataFrame, same: Same) -> None:
    same(elections, HELD)


# 0.8: lines print no versions, but of the first no other state can have been in between
FOLLOWED = """
topic | partition | incarnation | leader | leader_epoch | isr | replicas | since    | until    | missing_before
next  | 0         | 0           | 1      | 4            | 1,2 | 1,2,3    | 10:00:00 | 10:00:01 |
next  | 0         | 0           | 3      | 5            | 3   | 1,2,3    | 10:00:01 |          | 0
other | 0         | 0           | 1      | 4            | 1,2 | 1,2,3    | 10:00:00 | 10:00:01 |
other | 0         | 0           | 3      | 5            | 3   | 1,2,3    | 10:00:01 |          |
"""


def test_the_isr_before_an_election_that_follows_right_away(frame: Frame, same: Same) -> None:
    followed = states(frame, FOLLOWED).withColumn("ordinal", F.col("leader_epoch").cast("long"))
    spans = known_spans(frame, "9 | controller | 10:00:00 | 10:01:00", "node_id")
    events, topics = frame(EVENTS, DECISIONS), frame(TOPIC_TIMELINE, TOPICS)
    of_these = to_elections(followed, events, topics, spans, EvidenceKinds()).where("topic IN ('next', 'other')")
    same(
        of_these,
        """topic | leader_epoch | isr_before | unclean
           next  | 5            | 1,2        | true
           other | 5            |            |""",
    )


# between the last leader that lines show and the next state leader epoch 5 is in no line: another one may have led in it,
# surely 1 where it is alone in sync. What 2 lost later it lost itself
LED_UNSEEN = """
topic | partition | incarnation | leader | leader_epoch | partition_epoch | isr   | replicas | since    | missing_before
seen  | 0         | 0           | 2      | 4            | 19              | 2     | 1,2      | 10:00:00 | 0
seen  | 0         | 0           | -1     | 5            | 20              | 2     | 1,2      | 10:00:01 | 0
seen  | 0         | 0           | 1      | 6            | 21              | 1     | 1,2      | 10:00:02 | 0
alone | 0         | 0           | 2      | 4            | 19              | 1,2   | 1,2      | 10:00:00 | 0
alone | 0         | 0           | -1     | 6            | 21              | 1     | 1,2      | 10:00:03 | 1
alone | 0         | 0           | 2      | 7            | 22              | 2     | 1,2      | 10:00:04 | 0
alone | 0         | 0           | -1     | 8            | 23              | 2     | 1,2      | 10:00:05 | 0
alone | 0         | 0           | 1      | 9            | 24              | 1     | 1,2      | 10:00:06 | 0
two   | 0         | 0           | 2      | 4            | 19              | 1,2,3 | 1,2,3    | 10:00:00 | 0
two   | 0         | 0           | -1     | 6            | 21              | 1,3   | 1,2,3    | 10:00:03 | 1
two   | 0         | 0           | 2      | 7            | 22              | 2     | 1,2,3    | 10:00:04 | 0
"""


def test_who_led_last_is_not_known_where_another_one_may_have_led_unseen(frame: Frame, same: Same) -> None:
    """Else 2 would seem to have led on itself, with all that there was."""
    spans = known_spans(frame, "9 | controller | 10:00:00 | 10:01:00", "node_id")
    topics = frame(TOPIC_TIMELINE, "topic | incarnation | since\nseen | 0 | 10:00:00\nalone | 0 | 10:00:00")
    elections = to_elections(states(frame, LED_UNSEEN), frame(EVENTS, DECISIONS), topics, spans, EvidenceKinds())
    same(
        elections.where("succeeded"),
        """topic | leader_epoch | leader | unclean | last_leader | lost_records_min | lost_records_max
           seen  | 6            | 1      | true    | 2           |                  |
           alone | 7            | 2      | true    | 1           |                  |
           alone | 9            | 1      | true    | 2           |                  |
           two   | 7            | 2      | true    |             |                  |""",
    )


KNOWN_THEN = """
topic | partition | incarnation | leader | leader_epoch | partition_epoch | isr | replicas | since        | missing_before | evidence
# the controller that failed, node 9, logged the state of then itself; node 2 shows the next one late
own   | 0         | 0           | 1      | 0            | 0               | 1   | 1,2      | 10:00:00     | 0              | 9@f:1
own   | 0         | 0           | -1     | 1            | 1               | 1   | 1,2      | 10:00:01     | 0              | 9@f:2
own   | 0         | 0           | 2      | 2            | 2               | 2   | 1,2      | 10:00:02     | 0              | 9@f:3
late  | 0         | 0           | -1     | 1            | 1               | 1   | 1,2      | 10:00:01     | 0              | 9@f:4
late  | 0         | 0           | 2      | 2            | 2               | 2   | 1,2      | 10:00:02     | 0              | 2@f:5
# the leader may have changed the ISR in a state that is missing
lost  | 0         | 0           | 1      | 1            | 1               | 1   | 1,2      | 10:00:01     | 0              | 9@f:6
lost  | 0         | 0           | 2      | 2            | 4               | 2   | 1,2      | 10:00:09     | 2              | 9@f:7
# states may last for days, the last one until the logs end
long  | 0         | 0           | -1     | 1            | 1               | 1   | 1,2      | 10:00:01     | 0              | 9@f:11
long  | 0         | 0           | -1     | 2            | 2               | 2   | 1,2      | 2026-11-24 10:00:00 | 0       | 9@f:12
# at INFO the controller does not log each state: others may have followed
info  | 0         | 0           | -1     | 1            | 1               | 1   | 1,2      | 10:00:01     | 0              | 9@f:15
"""
FAILED = """
topic | partition | incarnation | at         | evidence
own   | 0         | 0           | 10:00:01.5 | 9@f:8
late  | 0         | 0           | 10:00:01.5 | 9@f:9
lost  | 0         | 0           | 10:00:01.5 | 9@f:10
long  | 0         | 0           | 2026-11-23 09:00:00 | 9@f:13
long  | 0         | 0           | 2026-11-26 09:00:00 | 9@f:14
info  | 0         | 0           | 10:00:01.5 | 9@f:16
"""


def test_what_a_partition_was_when_an_election_failed(frame: Frame, same: Same) -> None:
    failed = frame(ELECTIONS, FAILED).withColumn("is_traced", F.col("topic") != "info")
    rows = states_then(failed, states(frame, KNOWN_THEN))
    same(
        rows,
        """
        topic | previous_leader | isr_before | replicas | state_evidence
        own   | -1              | 1          | 1,2      | 9@f:2
        late  |                 |            | 1,2      | 9@f:4
        lost  |                 |            | 1,2      | 9@f:6
        long  | -1              | 1          | 1,2      | 9@f:11
        long  | -1              | 2          | 1,2      | 9@f:12
        info  |                 |            | 1,2      | 9@f:15
        """,
    )


# ---- outages --------------------------------------------------------------------------------------------------------
LED = """
topic   | partition | incarnation | leader | leader_epoch | partition_epoch | isr | since    | until    | evidence
# two states without a leader are one interval; last ISR known of it is the one before the leader was lost
clean   | 0         | 0           | 1      | 0            | 0               | 1,2 | 10:00:00 | 10:00:01 | 9@f:1
clean   | 0         | 0           | -1     | 1            | 1               |     | 10:00:01 | 10:00:02 | 9@f:2
clean   | 0         | 0           | -1     | 2            | 2               | 2   | 10:00:02 | 10:00:04 | 9@f:3
clean   | 0         | 0           | 2      | 3            | 3               | 2   | 10:00:04 |          | 9@f:4
unclean | 0         | 0           | 1      | 0            | 0               | 1   | 10:00:00 | 10:00:01 | 9@f:5
unclean | 0         | 0           | -1     | 1            | 1               | 1   | 10:00:01 | 10:00:02 | 9@f:6
unclean | 0         | 0           | 2      | 2            | 2               | 2   | 10:00:02 |          | 9@f:7
# with ZooKeeper an assignment that changed meanwhile healed nothing; in KRaft the record that did elected
widened | 0         | 0           | 1      | 0            | 0               | 1,2 | 10:00:00 | 10:00:01 | 9@f:67
widened | 0         | 0           | -1     | 1            | 1               | 2   | 10:00:01 | 10:00:02 | 9@f:68
widened | 0         | 0           | 2      | 2            | 2               | 2   | 10:00:02 |          | 9@f:69
record  | 0         | 0           | 1      | 0            | 0               | 1,2 | 10:00:00 | 10:00:01 | 9@f:70
record  | 0         | 0           | -1     | 1            | 1               | 2   | 10:00:01 | 10:00:02 | 9@f:71
record  | 0         | 0           | 2      | 2            | 2               | 2   | 10:00:02 |          | 9@f:72
# open to the end of the logs, which is 10:10; server logs go on for longer
open    | 0         | 0           | 3      | 0            | 0               | 3   | 10:00:00 | 10:09:00 | 9@f:8
open    | 0         | 0           | -1     | 1            | 1               | 3   | 10:09:00 |          | 9@f:9
# ended by its deletion; twice offline is two intervals
dropped | 0         | 0           | -1     | 0            | 0               | 1   | 10:00:00 | 10:00:01 | 9@f:10
dropped | 0         | 0           | 1      | 1            | 1               | 1   | 10:00:01 | 10:00:02 | 9@f:11
dropped | 0         | 0           | -1     | 2            | 2               | 1   | 10:00:02 | 10:00:03 | 9@f:12
# two elections at its end are one outage; one that was over at its first line is none
many    | 0         | 0           | 1      | 0            | 0               | 1,2 | 10:00:00 | 10:00:01 | 9@f:13
many    | 0         | 0           | -1     | 1            | 1               | 1,2 | 10:00:01 | 10:00:02 | 9@f:14
many    | 0         | 0           | 1      | 2            | 2               | 1,2 | 10:00:02 | 10:00:02 | 9@f:15
many    | 0         | 0           | 2      | 3            | 3               | 1,2 | 10:00:02 |          | 9@f:16
at_once | 0         | 0           | 2      | 0            | 0               | 2   | 10:00:00 | 10:00:05 | 9@f:17
at_once | 0         | 0           | -1     | 1            | 1               | 2   | 10:00:05 | 10:00:05 | 9@f:18
at_once | 0         | 0           | 2      | 2            | 2               | 2   | 10:00:05 | 10:00:05 | 9@f:19
at_once | 0         | 0           | -1     | 3            | 3               | 2   | 10:00:05 | 10:00:09 | 9@f:20
at_once | 0         | 0           | 2      | 4            | 4               | 2   | 10:00:09 |          | 9@f:21
before  | 0         | 0           | 1      | 4            | 7               | 1   | 10:00:05 | 10:00:05 | 9@f:22
before  | 0         | 0           | -1     | 5            | 8               | 1   | 10:00:05 | 10:00:05 | 9@f:23
before  | 0         | 0           | 1      | 6            | 9               | 1   | 10:00:05 |          | 9@f:24
# leader epoch 3 is in no line: whoever led from when on, it was not offline when 4 began
epochs  | 0         | 0           | 1      | 1            | 1               | 1   | 10:00:00 | 10:00:10 | 9@f:25
epochs  | 0         | 0           | -1     | 2            | 2               | 1   | 10:00:10 | 10:00:16 | 9@f:26
epochs  | 0         | 0           | 1      | 4            | 5               | 1   | 10:00:16 |          | 9@f:27
# the state in which the leader was lost is in no line, nor is the one that ended it: 0.5 s were up to 5.6
bounds  | 0         | 0           | 1      | 1            | 1               | 1   | 10:00:00 | 10:00:05.1 | 9@f:28
bounds  | 0         | 0           | -1     | 2            | 3               | 1   | 10:00:05.1 | 10:00:05.6 | 9@f:29
bounds  | 0         | 0           | -1     | 3            | 4               | 1   | 10:00:05.6 | 10:00:05.6 | 9@f:30
bounds  | 0         | 0           | 1      | 4            | 6               | 1   | 10:00:05.6 |          | 9@f:31
# across a hole in the logs: still the same leader epoch, and many later
hole    | 0         | 0           | 1      | 1            | 1               | 1   | 10:05:00 | 10:06:00 | 9@f:32
hole    | 0         | 0           | -1     | 2            | 2               | 1   | 10:06:00 | 2026-11-25 12:00:10 | 9@f:33
hole    | 0         | 0           | 1      | 3            | 3               | 1   | 2026-11-25 12:00:10 |          | 9@f:34
lost    | 0         | 0           | 1      | 1            | 1               | 1   | 10:05:00 | 2026-11-25 12:00:20 | 9@f:35
lost    | 0         | 0           | -1     | 2            | 2               | 1   | 2026-11-25 12:00:20 | 2026-11-25 12:00:21 | 9@f:36
lost    | 0         | 0           | 1      | 3            | 3               | 1   | 2026-11-25 12:00:21 |          | 9@f:37
twice   | 0         | 0           | 1      | 1            | 1               | 1   | 10:05:00 | 10:06:00 | 9@f:38
twice   | 0         | 0           | -1     | 2            | 2               | 1   | 10:06:00 | 2026-11-25 12:00:10 | 9@f:39
twice   | 0         | 0           | -1     | 48           | 60              | 1   | 2026-11-25 12:00:10 | 2026-11-25 12:00:12 | 9@f:40
twice   | 0         | 0           | 1      | 49           | 61              | 1   | 2026-11-25 12:00:12 |          | 9@f:41
# the same leader epochs missing, but no logs: nothing speaks for a leader in between
once    | 0         | 0           | 1      | 1            | 1               | 1   | 10:00:00 | 10:00:05 | 9@f:42
once    | 0         | 0           | -1     | 2            | 2               | 1   | 10:00:05 | 10:00:07 | 9@f:43
once    | 0         | 0           | -1     | 4            | 4               | 1   | 10:00:07 | 10:00:08 | 9@f:44
once    | 0         | 0           | 1      | 5            | 5               | 1   | 10:00:08 |          | 9@f:45
# the cluster is created anew, which heals nothing
anew    | 0         | 0           | 1      | 0            | 0               | 1   | 10:00:00 | 10:00:20 | 9@f:52
anew    | 0         | 0           | -1     | 1            | 1               | 1   | 10:00:20 | 10:00:30 | 9@f:53
# broker 9 learned of it with its first requests, and at once that it was over; of the other that it was still so
late    | 0         | 0           | 1      | 1            | 1               | 1   | 10:00:05 | 10:03:00 | 9@f:46
late    | 0         | 0           | -1     | 2            | 2               | 1   | 10:03:00 | 10:03:00.2 | 9@f:47
late    | 0         | 0           | 1      | 3            | 3               | 1   | 10:03:00.2 |        | 9@f:48
lasting | 0         | 0           | 1      | 1            | 1               | 1   | 10:00:05 | 10:03:00 | 9@f:49
lasting | 0         | 0           | -1     | 2            | 2               | 1   | 10:03:00 | 10:03:16 | 9@f:50
lasting | 0         | 0           | 1      | 3            | 3               | 1   | 10:03:16 |          | 9@f:51
# the controller failed to send it while broker 9 was away; it was over as that came back
retried | 0         | 0           | -1     | 2            | 2               | 1   | 10:03:00 | 10:03:00.4 | 9@f:56
retried | 0         | 0           | 1      | 3            | 3               | 1   | 10:03:00.4 |        | 9@f:57
# KRaft let 5 and then 1 return, who was in sync: it led again, which no line says
granted | 0         | 0           | 1      | 1            | 1               | 1   | 10:05:00 | 10:06:00 | 9@f:54
granted | 0         | 0           | -1     | 2            | 2               | 1   | 10:06:00 |          | 9@f:55
# the same with eligible leader replicas: 1 was alone in sync, and another one is not eligible any more
elected | 0         | 0           | 1      | 1            | 1               | 1   | 10:05:00 | 10:06:00 | 9@f:64
elected | 0         | 0           | -1     | 2            | 2               | []  | 10:06:00 | 10:06:05 | 9@f:65
elected | 0         | 0           | -1     | 2            | 3               | []  | 10:06:05 |          | 9@f:66
"""
LED_EVENTS = """
line | node_id | file_id | at       | event_type             | leader | correlation_id | fields
47   | 9       | f       | 10:03:00 | metadata_cache_updated | -1     | 0              |
50   | 9       | f       | 10:03:00 | metadata_cache_updated | -1     | 0              |
56   | 9       | f       | 10:03:00 | controller_request_retry | |                |
# of a later request, when it came
14   | 9       | f       | 10:00:01 | metadata_cache_updated | -1     | 3              |
61   | 9       | f       | 10:05:30 | kraft_broker_unfence_granted | |                | broker=1
62   | 9       | f       | 10:06:20 | kraft_broker_unfence_granted | |                | broker=5
63   | 9       | f       | 10:07:00 | kraft_broker_unfence_granted | |                | broker=1
"""
OUTAGES = """
topic   | since    | until    | duration_ms | last_leader | last_isr | healed_by        | healed_by_broker | failed_elections | evidence
clean   | 10:00:01 | 10:00:04 | 3000        | 1           | 1,2      | clean_election   | 2 | 0                | 9@f:2,9@f:3
unclean | 10:00:01 | 10:00:02 | 1000        | 1           | 1        | unclean_election | 2 | 3                | 9@f:6
widened | 10:00:01 | 10:00:02 | 1000        | 1           | 1,2      | clean_election   | 2 | 0                | 9@f:68
record  | 10:00:01 | 10:00:02 | 1000        | 1           | 1,2      | reassignment     | 2 | 0                | 9@f:71
open    | 10:09:00 |          |             | 3           | 3        |                  |   | 0                | 9@f:9
# nobody knows who led before its first line, and until when
dropped | 10:00:00 | 10:00:01 |             |             | 1        |                  | 1 | 0                | 9@f:10
dropped | 10:00:02 | 10:00:03 | 1000        | 1           | 1        | topic_deletion   |   | 0                | 9@f:12
# an election of the last leader failed just before, and is counted
many    | 10:00:01 | 10:00:02 | 1000        | 1           | 1,2      | clean_election   | 1 | 1                | 9@f:14
at_once | 10:00:05 | 10:00:09 | 4000        | 2           | 2        |                  | 2 | 1                | 9@f:20
epochs  | 10:00:10 |          |             | 1           | 1        |                  | 1 | 0                | 9@f:26
bounds  | 10:00:05.1 | 10:00:05.6 |         | 1           | 1        |                  | 1 | 0                | 9@f:29,9@f:30
hole    | 10:06:00 |          |             | 1           | 1        |                  | 1 | 0                | 9@f:33
lost    | 2026-11-25 12:00:20 | 2026-11-25 12:00:21 | | 1   | 1        |                  | 1 | 0                | 9@f:36
twice   | 10:06:00 |          |             | 1           | 1        |                  |   | 0                | 9@f:39
twice   | 2026-11-25 12:00:10 | 2026-11-25 12:00:12 | |     | 1        |                  | 1 | 0                | 9@f:40
once    | 10:00:05 | 10:00:08 |             | 1           | 1        |                  | 1 | 0                | 9@f:43,9@f:44
anew    | 10:00:20 | 10:00:30 | 10000       | 1           | 1        |                  |   | 0                | 9@f:53
late    | 10:00:05 |          |             | 1           | 1        |                  | 1 | 0                | 9@f:47
lasting | 10:03:00 | 10:03:16 | 16000       | 1           | 1        |                  | 1 | 0                | 9@f:50
retried | 10:03:00 |          |             |             | 1        |                  | 1 | 0                | 9@f:56
granted | 10:06:00 |          |             | 1           | 1        |                  |   | 0                | 9@f:55
elected | 10:06:00 |          |             | 1           | 1        |                  |   | 0                | 9@f:65,9@f:66
"""
BOUNDS = """
topic   | since    | at_least_ms | at_most_ms | began_after | ended_before
clean   | 10:00:01 | 3000        | 3000       | 10:00:01    | 10:00:04
unclean | 10:00:01 | 1000        | 1000       | 10:00:01    | 10:00:02
widened | 10:00:01 | 1000        | 1000       | 10:00:01    | 10:00:02
record  | 10:00:01 | 1000        | 1000       | 10:00:01    | 10:00:02
open    | 10:09:00 | 60000       |            | 10:09:00    |
dropped | 10:00:00 | 1000        |            |             | 10:00:01
dropped | 10:00:02 | 1000        | 1000       | 10:00:02    | 10:00:03
many    | 10:00:01 | 1000        | 1000       | 10:00:01    | 10:00:02
at_once | 10:00:05 | 4000        | 4000       | 10:00:05    | 10:00:09
epochs  | 10:00:10 | 0           | 6000       | 10:00:10    | 10:00:16
bounds  | 10:00:05.1 | 500       | 5600       | 10:00:00    | 10:00:05.6
# the first part of the logs ends at 10:10, the second begins four days later, at noon
hole    | 10:06:00 | 240000      | 352450000  | 10:06:00    | 2026-11-25 12:00:10
lost    | 2026-11-25 12:00:20 | 1000 | 352221000 | 10:10:00 | 2026-11-25 12:00:21
twice   | 10:06:00 | 0           | 352450000  | 10:06:00    | 2026-11-25 12:00:10
twice   | 2026-11-25 12:00:10 | 2000 |        |             | 2026-11-25 12:00:12
once    | 10:00:05 | 1000        | 3000       | 10:00:05    | 10:00:08
anew    | 10:00:20 | 10000       | 10000      | 10:00:20    | 10:00:30
late    | 10:00:05 | 0           | 175200     | 10:00:05    | 10:03:00.2
lasting | 10:03:00 | 16000       | 16000      | 10:03:00    | 10:03:16
retried | 10:03:00 | 0           |            |             | 10:03:00.4
granted | 10:06:00 | 60000       |            | 10:06:00    |
elected | 10:06:00 | 60000       |            | 10:06:00    |
"""
AS_LOST = """
topic | partition | incarnation | at           | previous_leader | succeeded | strategy
many  | 0         | 0           | 10:00:00.976 | 1               | false     | offline
# of an earlier time without a leader; long before
many  | 0         | 0           | 10:00:00.900 | -1              | false     | offline
many  | 0         | 0           | 09:59:58     | 1               | false     | offline
# its leader asked to be shut down, and went on to lead as nobody else could
many  | 0         | 0           | 10:00:00.500 | 1               | false     | controlled_shutdown
# of one that is away any counts
at_once | 0       | 0           | 10:00:06     | -1              | false     | preferred
"""
LED_COVERAGE = """
9 | controller   | 10:00:00 | 10:04:00
8 | state_change | 10:05:00 | 10:10:00
8 | server       | 10:00:00 | 2026-11-26 10:00:00
9 | state_change | 2026-11-25 12:00:00 | 2026-11-25 12:00:30
"""


def known_spans(frame: Frame, coverage: str, *by: str) -> DataFrame:
    """When changes would have been logged, of rows of LOG_COVERAGE."""
    rows = frame(LOG_COVERAGE, f"node_id | kind | since | until\n{coverage}")
    return to_known_spans(rows, CLUSTER_LOGS, timedelta(hours=1), "cluster", *by)


def test_outages(frame: Frame, same: Same, elections: DataFrame) -> None:
    spans = known_spans(frame, LED_COVERAGE)
    anew = {"c": [int(instant("10:00:30").replace(tzinfo=UTC).timestamp()) * 1_000_000]}
    brokers = frame(BROKER_TIMELINE, "broker | since\n9 | 10:00:00")
    decided = elections.unionByName(frame(ELECTIONS, AS_LOST), allowMissingColumns=True)
    events, takeovers, last = frame(EVENTS, LED_EVENTS), frame(TAKEOVERS, "broker"), frame(LAST, "broker")
    rows = to_outages(states(frame, LED), decided, brokers, spans, events, takeovers, last, anew).persist()
    same(rows, OUTAGES)
    same(rows, BOUNDS)


LOST = """
topic   | partition | incarnation | since    | ended_before | last_leader | last_isr | healed_by        | healed_by_broker
crash   | 0         | 0           | 10:00:01 | 10:00:04     | 1           | 1,2      | clean_election   | 2
return  | 0         | 0           | 10:00:01 | 10:00:09     | 1           | 1        | clean_election   | 1
broken  | 0         | 0           | 10:00:01 |              | 26          | 26       |                  |
# nothing shows whether it was clean, but who was in sync and there all along still is, and so is the only one
stays   | 0         | 0           | 10:00:01 | 10:00:04     | 1           | 1,2      |                  | 2
only    | 0         | 0           | 10:00:01 | 10:00:09     | 1           | 1        |                  | 1
unsure  | 0         | 0           | 10:00:01 | 10:00:09     | 4           | 1,4      |                  | 1
# 3 was frozen for 20 s; before and after it was there
frozen  | 0         | 0           | 10:00:31 | 10:00:50     | 3           | 3        | unclean_election | 2
there   | 0         | 0           | 10:01:31 |              | 3           | 3        |                  |
dir     | 1         | 0           | 10:02:01 |              | 3           | 3        |                  |
dir     | 2         | 0           | 10:02:01 |              | 3           | 3        |                  |
# the topic was created anew since: it was another partition that was in the directory
dir     | 1         | 1           | 10:05:01 |              | 3           | 3        |                  |
# who led is not known: all members of its ISR were away, 1 went before 5
isr     | 0         | 0           | 10:00:05 |              |             | 1,5      |                  |
isr     | 1         | 0           | 10:00:05 |              |             | 1,2      |                  |
# 13 had gone 6 s before 14, the last one of the ISR: by then another one led. Not if 15, too, had gone by 5 s later, or
# if another one is there still
passed  | 0         | 0           | 10:04:06.1 | 10:04:30   | 13          | 13,14    | unclean_election | 2
passed  | 1         | 0           | 10:04:05.1 | 10:04:30   | 13          | 13,15    | unclean_election | 2
passed  | 2         | 0           | 10:04:06.1 | 10:04:30   | 13          | 13,14,16 | unclean_election | 2
# both registered anew; of 12 its own lines show that its session had ended
bounce  | 0         | 0           | 10:03:00 | 10:03:01     | 11          | 2,11     | clean_election   | 2
bounce  | 1         | 0           | 10:03:00 | 10:03:01     | 12          | 2,12     | clean_election   | 2
# the topic was being deleted when the broker went
deleted | 0         | 0           | 10:00:01 | 10:00:04     | 1           | 1        | topic_deletion   |
again   | 0         | 0           | 10:00:01 | 10:00:04     | 1           | 1        | topic_deletion   |
# 1 came back when its topic was to be deleted already, or just before
over    | 0         | 0           | 10:00:01 | 10:00:09     | 1           | 1        | topic_deletion   |
over    | 1         | 1           | 10:00:01 | 10:00:09     | 1           | 1        | topic_deletion   |
# 7 died while no controller reigned: 8, which had been it, had crashed. Who was in sync could have led, but for 7 alone
unled   | 0         | 0           | 11:00:20.2 | 11:00:20.3 | 7           | 6,7      | clean_election   | 6
unled   | 1         | 0           | 11:00:20.2 | 11:01:00.2 | 7           | 7        | clean_election   | 7
unled   | 2         | 0           | 11:00:20.2 | 11:00:40   | 7           | 6,7      | clean_election   | 6
# 8 was the controller itself: with it both went
unled   | 3         | 0           | 11:00:20.2 | 11:00:20.3 | 8           | 6,8      | clean_election   | 6
# and 9 died after another controller had taken over
unled   | 4         | 0           | 11:00:31 | 11:00:31.2   | 9           | 6,9      | clean_election   | 6
"""
NODES = """
node_id | role       | since    | began_after | how       | ended_by        | noticed_at | until    | evidence
1       | broker     | 10:00:00.9 | 09:59:51  | crashed   | session_expired | 10:00:00.9 | 10:00:08 | 9@f:1
3       | broker     | 10:00:30 | 10:00:21    | cut_off   | fenced          | 10:00:30   | 10:00:50 | 9@f:2
5       | broker     | 10:00:04 |             | shut_down |                 |            |          | 9@f:3
2       | controller | 10:00:01 |             | crashed   |                 |            |          | 9@f:4
7       | broker     | 11:00:20 | 11:00:10    | crashed   | session_expired | 11:00:20   | 11:01:00 | 6@f:7
8       | broker     | 11:00:20 | 11:00:12    | crashed   | session_expired | 11:00:20   |          | 6@f:8
9       | broker     | 11:00:31 | 11:00:22    | crashed   | session_expired | 11:00:31   |          | 6@f:9
11      | broker     | 10:03:00 | 10:02:50    |           | bounced         | 10:03:00   | 10:03:00 | 9@f:10
12      | broker     | 10:03:00 | 10:02:50    | cut_off   | bounced         | 10:03:00   | 10:03:00 | 9@f:11
13      | broker     | 10:04:00 | 10:03:50    | crashed   | session_expired | 10:04:00   |          | 9@f:13
14      | broker     | 10:04:06 | 10:03:56    | crashed   | session_expired | 10:04:06   |          | 9@f:14
15      | broker     | 10:04:05 | 10:03:55    | crashed   | session_expired | 10:04:05   |          | 9@f:15
26      | broker     | 10:00:00.5 |           | start_failed |              |            |          | 9@f:16
"""
TERMS = """
controller_id | controller_epoch | mode      | since    | active_since | until
8             | 1                | zookeeper | 10:30:00 | 10:30:01     | 11:00:19
6             | 2                | zookeeper | 11:00:19 | 11:00:21     |
"""
FAILED_DIRS = """
broker | log_dir | at       | until | partitions | evidence
3      | /data   | 10:02:00 |       | dir-1      | 9@f:5
"""
DELETIONS = """
topic   | incarnation | since    | deletion_started | deletion_evidence | evidence
deleted | 0           | 09:00:00 | 10:00:00.5       | 9@f:6             | 9@f:4,9@f:9
again   | 0           | 09:00:00 | 10:00:02         | 9@f:7             | 9@f:4,9@f:9
over    | 0           | 09:00:00 | 10:00:07         | 9@f:7             | 9@f:4,9@f:9
over    | 1           | 10:00:00 | 10:00:08.5       | 9@f:7             | 9@f:4,9@f:9
# the first line that shows it may be later than what it was in failed
dir     | 0           | 10:02:02 |                  |                   | 9@f:4
dir     | 1           | 10:04:00 |                  |                   | 9@f:4
"""
CAUSES = """
topic   | partition | cause           | cause_broker | cause_at   | cause_evidence | healed_by
crash   | 0         | broker_crash    | 1            | 10:00:00.9 | 9@f:1          | clean_election
return  | 0         | broker_crash    | 1            | 10:00:00.9 | 9@f:1          | broker_return
broken  | 0         | start_failed    | 26           | 10:00:00.5 | 9@f:16         |
stays   | 0         | broker_crash    | 1            | 10:00:00.9 | 9@f:1          | clean_election
only    | 0         | broker_crash    | 1            | 10:00:00.9 | 9@f:1          | broker_return
unsure  | 0         |                 |              |            | []             |
frozen  | 0         | fenced          | 3            | 10:00:30   | 9@f:2          | unclean_election
there   | 0         |                 |              |            | []             |
dir     | 1         | log_dir_failure | 3            | 10:02:00   | 9@f:5          |
dir     | 2         |                 |              |            | []             |
dir     | 1         |                 |              |            | []             |
isr     | 0         | no_live_isr     | 5            | 10:00:04   | 9@f:3          |
isr     | 1         |                 |              |            | []             |
passed  | 0         | no_live_isr     | 14           | 10:04:06   | 9@f:14         | unclean_election
passed  | 1         | broker_crash    | 13           | 10:04:00   | 9@f:13         | unclean_election
passed  | 2         | broker_crash    | 13           | 10:04:00   | 9@f:13         | unclean_election
bounce  | 0         | bounced         | 11           | 10:03:00   | 9@f:10         | clean_election
bounce  | 1         | session_expired | 12           | 10:03:00   | 9@f:11         | clean_election
deleted | 0         | topic_deletion  |              | 10:00:00.5 | 9@f:6          | topic_deletion
again   | 0         | broker_crash    | 1            | 10:00:00.9 | 9@f:1          | topic_deletion
over    | 0         | broker_crash    | 1            | 10:00:00.9 | 9@f:1          | topic_deletion
over    | 1         | broker_crash    | 1            | 10:00:00.9 | 9@f:1          | topic_deletion
unled   | 0         | no_controller   | 8            | 11:00:20   | 6@f:8,6@f:7    | clean_election
unled   | 1         | broker_crash    | 7            | 11:00:20   | 6@f:7          | broker_return
unled   | 2         | broker_crash    | 7            | 11:00:20   | 6@f:7          | clean_election
unled   | 3         | broker_crash    | 8            | 11:00:20   | 6@f:8          | clean_election
unled   | 4         | broker_crash    | 9            | 11:00:31   | 6@f:9          | clean_election
"""
# since when the broker may have been gone, and when a broker of the ISR was there; a directory that failed, a broker
# that is away and a topic that is deleted have none
GONE_SINCE = """
topic   | partition | cause_after | isr_back_at | began_after
crash   | 0         | 09:59:51    | 10:00:01    |
return  | 0         | 09:59:51    | 10:00:08    |
broken  | 0         |             |             |
stays   | 0         | 09:59:51    | 10:00:01    |
only    | 0         | 09:59:51    | 10:00:08    |
unsure  | 0         |             |             |
frozen  | 0         | 10:00:21    | 10:00:50    |
there   | 0         |             |             |
dir     | 1         |             |             |
dir     | 2         |             |             |
dir     | 1         |             |             |
isr     | 0         |             | 10:00:08    |
isr     | 1         |             |             |
passed  | 0         |             |             |
passed  | 1         | 10:03:50    |             |
passed  | 2         | 10:03:50    | 10:04:06.1  |
bounce  | 0         | 10:02:50    | 10:03:00    |
bounce  | 1         | 10:02:50    | 10:03:00    |
deleted | 0         |             |             |
again   | 0         | 09:59:51    |             |
over    | 0         | 09:59:51    |             |
over    | 1         | 09:59:51    | 10:00:08    |
unled   | 0         | 11:00:12    | 11:00:20.2  | 11:00:10
unled   | 1         | 11:00:10    | 11:01:00    |
unled   | 2         | 11:00:10    | 11:00:20.2  |
unled   | 3         | 11:00:12    | 11:00:20.2  |
unled   | 4         | 11:00:22    | 11:00:31    |
"""


def test_causes_of_outages(frame: Frame, same: Same) -> None:
    stops = frame(NODE_STOPS, NODES)
    takeovers = to_takeovers(stops, frame(CONTROLLER_TIMELINE, TERMS))
    runs = to_controller_runs(frame(CONTROLLER_TIMELINE, TERMS), frame(LOG_COVERAGE, "node_id"))
    inputs = stops, frame(LOG_DIR_FAILURES, FAILED_DIRS), frame(TOPIC_TIMELINE, DELETIONS), takeovers, runs
    outages = with_causes(frame(OFFLINE_PARTITIONS, LOST), *inputs).persist()
    same(outages, CAUSES)
    same(outages, GONE_SINCE)
    # another night works out the same of what the night before wrote
    same(with_causes(outages, *inputs), CAUSES)
    same(with_causes(outages, *inputs), GONE_SINCE)


# 1 is away over midnight, 2 for days, 3 for an hour, 4 until the logs end; by clocks 5 is lost a day before it stops, and
# 6 a day after it is back
OF_OTHER_DAYS = """
node_id | role   | since               | how       | until               | evidence
1       | broker | 2026-11-20 23:59:59 | shut_down | 2026-11-21 00:00:30 | 9@f:1
2       | broker | 2026-11-18 10:00:00 | shut_down | 2026-11-23 10:00:00 | 9@f:2
3       | broker | 2026-11-21 12:00:00 | shut_down | 2026-11-21 13:00:00 | 9@f:3
4       | broker | 2026-11-19 08:00:00 | shut_down |                     | 9@f:4
5       | broker | 2026-11-21 00:00:00.5 | shut_down | 2026-11-21 00:00:30 | 9@f:5
6       | broker | 2026-11-20 23:59:50 | shut_down | 2026-11-20 23:59:59 | 9@f:6
"""
LOST_ON_OTHER_DAYS = """
topic | partition | incarnation | since                 | ended_before          | last_leader | last_isr | healed_by      | healed_by_broker
late  | 0         | 0           | 2026-11-21 00:00:00.5 | 2026-11-21 00:00:40   | 1           | 1        | clean_election | 1
late  | 1         | 0           | 2026-11-20 23:59:57.5 | 2026-11-20 23:59:58   | 1           | 1,3      | clean_election | 3
late  | 2         | 0           | 2026-11-21 00:00:33   | 2026-11-21 00:00:40   | 1           | 1        | clean_election | 1
clock | 5         | 0           | 2026-11-20 23:59:59.5 | 2026-11-20 23:59:59.8 | 5           | 5        | clean_election | 3
clock | 6         | 0           | 2026-11-21 00:00:00.5 | 2026-11-21 00:00:00.8 | 6           | 6        | clean_election | 3
away  | 0         | 0           | 2026-11-20 12:00:00   | 2026-11-20 12:01:00   | 2           | 2,3      | clean_election | 3
long  | 0         | 0           | 2026-11-20 12:00:00   | 2026-11-22 12:00:00   | 4           | 3,4      | clean_election | 3
open  | 0         | 0           | 2026-11-20 12:00:00   |                       | 4           | 4        |                |
"""
# of the third it is known that 1 was back three seconds before; of `long` 3 was away and came back in between
OF_STOPS_ON_OTHER_DAYS = """
topic | partition | cause               | cause_broker | cause_at            | healed_by
late  | 0         | controlled_shutdown | 1            | 2026-11-20 23:59:59 | broker_return
late  | 1         | controlled_shutdown | 1            | 2026-11-20 23:59:59 | clean_election
late  | 2         |                     |              |                     | clean_election
clock | 5         | controlled_shutdown | 5            | 2026-11-21 00:00:00.5 | clean_election
clock | 6         | controlled_shutdown | 6            | 2026-11-20 23:59:50 | clean_election
away  | 0         | controlled_shutdown | 2            | 2026-11-18 10:00:00 | clean_election
long  | 0         | controlled_shutdown | 4            | 2026-11-19 08:00:00 | broker_return
open  | 0         | controlled_shutdown | 4            | 2026-11-19 08:00:00 |
"""
AFTER_MIDNIGHT = """
topic | partition | at                    | succeeded | strategy | previous_leader | latency_ms
late  | 0         | 2026-11-21 00:00:00.5 | true      | offline  | 1               |
away  | 0         | 2026-11-20 00:00:00   | true      | offline  | 2               |
open  | 0         | 2026-11-22 00:00:00   | true      | offline  | 4               |
there | 0         | 2026-11-20 12:00:00   | true      | offline  | 3               |
"""
OF_STOPS_BEFORE_MIDNIGHT = """
topic | latency_ms
late  | 1500
away  | 136800000
open  | 230400000
there |
"""


def test_stops_of_other_days_count(frame: Frame, same: Same) -> None:
    stops, failures = frame(NODE_STOPS, OF_OTHER_DAYS), frame(LOG_DIR_FAILURES, "broker")
    terms = frame(CONTROLLER_TIMELINE, "until")
    runs = to_controller_runs(terms, frame(LOG_COVERAGE, "node_id"))
    outages = with_causes(
        frame(OFFLINE_PARTITIONS, LOST_ON_OTHER_DAYS),
        stops,
        failures,
        frame(TOPIC_TIMELINE, "topic"),
        to_takeovers(stops, terms),
        runs,
    )
    same(outages, OF_STOPS_ON_OTHER_DAYS)
    spans = known_spans(frame, "9 | controller | 2026-11-01 00:00:00 | 2026-11-30 00:00:00")
    inputs = stops, failures, frame(TOPIC_TIMELINE, "topic"), spans
    same(with_latency(frame(ELECTIONS, AFTER_MIDNIGHT), *inputs), OF_STOPS_BEFORE_MIDNIGHT)


PENDING = """
cluster | topic   | incarnation | since    | deletion_started | until
c       | untold  | 0           | 09:00:00 | 10:02:00         |
c       | over    | 0           | 09:00:00 | 10:02:00         | 10:03:00
whole   | pending | 0           | 09:00:00 | 10:02:00         |
ended   | pending | 0           | 09:00:00 | 10:02:00         |
"""
LASTING = """
cluster | topic   | partition | incarnation | since    | ended_before | at_least_ms | healed_by
c       | untold  | 0         | 0           | 10:00:00 |              | 600000      |
c       | untold  | 1         | 0           | 10:05:00 |              | 300000      |
c       | untold  | 2         | 0           | 10:00:00 | 10:01:00     | 60000       | clean_election
c       | over    | 0         | 0           | 10:00:00 | 10:03:00     | 180000      | topic_deletion
whole   | pending | 0         | 0           | 10:00:00 |              | 600000      |
ended   | pending | 0         | 0           | 10:00:00 |              | 600000      |
"""
CONTROLLERS = """
cluster | cluster_incarnation | controller_id | controller_epoch | mode      | since    | until
whole   | 0                   | 1             | 1                | zookeeper | 09:00:00 |
ended   | 0                   | 1             | 1                | zookeeper | 09:00:00 | 10:04:00
ended   | 0                   | 2             | 2                | zookeeper | 10:04:00 |
"""
CONTROLLER_LOGS = """
cluster | node_id | kind       | since    | until
whole   | 1       | controller | 09:00:00 | 10:10:00
ended   | 1       | controller | 09:00:00 | 10:10:00
"""
# where controllers' logs are there, or the deletion's end is, that counts; 2's log is not
UNTIL_DELETION = """
cluster | topic   | partition | at_least_ms | healed_by
c       | untold  | 0         | 120000      | topic_deletion
c       | untold  | 1         | 0           | topic_deletion
c       | untold  | 2         | 60000       | clean_election
c       | over    | 0         | 180000      | topic_deletion
whole   | pending | 0         | 600000      |
ended   | pending | 0         | 240000      | topic_deletion
"""


def test_an_outage_of_a_topic_that_is_deleted_is_known_to_last_only_until_then(frame: Frame, same: Same) -> None:
    runs = to_controller_runs(frame(CONTROLLER_TIMELINE, CONTROLLERS), frame(LOG_COVERAGE, CONTROLLER_LOGS))
    takeovers = to_takeovers(frame(NODE_STOPS, "node_id"), frame(CONTROLLER_TIMELINE, CONTROLLERS))
    inputs = frame(NODE_STOPS, "node_id"), frame(LOG_DIR_FAILURES, "broker"), frame(TOPIC_TIMELINE, PENDING), takeovers
    same(with_causes(frame(OFFLINE_PARTITIONS, LASTING), *inputs, runs), UNTIL_DELETION)


LATE_ELECTIONS = """
topic   | partition | at         | strategy            | previous_leader | leader | leader_epoch | succeeded | latency_ms
crash   | 0         | 10:00:01.4 | offline             | 1               | 2      | 1            | true      |
# a state without a leader was between: its time stays
between | 0         | 10:00:01.4 | offline             | -1              | 2      | 2            | true      | 7
# of a broker that is back, of one that nothing happened to, and of one that was not elected
back    | 0         | 10:03:00   | offline             | 1               | 2      | 1            | true      |
there   | 0         | 10:00:01.4 | offline             | 7               | 2      | 1            | true      |
failed  | 0         | 10:00:01.4 | offline             | 1               |        |              | false     |
# a preferred one is none of a loss
moved   | 0         | 10:00:01.4 | preferred           | 1               | 2      | 1            | true      |
# by KRaft nothing names the strategy; clocks may show it too early
kraft   | 0         | 10:00:29.9 |                     | 3               | 2      | 1            | true      |
dir     | 1         | 10:02:00.3 | offline             | 3               | 2      | 1            | true      |
# logs are missing between the loss and the election
hole    | 0         | 14:00:00   | offline             | -1              | 2      | 2            | true      | 14400000
"""
LATENCIES = """
topic   | latency_ms
crash   | 500
between | 7
back    |
there   |
failed  |
moved   |
kraft   | 0
dir     | 300
hole    |
"""


def test_how_long_elections_took(frame: Frame, same: Same) -> None:
    spans = known_spans(frame, "9 | controller | 10:00:00 | 10:10:00\n9 | controller | 13:00:00 | 15:00:00")
    inputs = frame(NODE_STOPS, NODES), frame(LOG_DIR_FAILURES, FAILED_DIRS), frame(TOPIC_TIMELINE, DELETIONS), spans
    elections = with_latency(frame(ELECTIONS, LATE_ELECTIONS), *inputs).persist()
    same(elections, LATENCIES)
    same(with_latency(elections, *inputs), LATENCIES)
    recreated = elections.where("topic = 'dir'").withColumns(
        {
            "incarnation": F.lit(1),
            "at": F.col("at") + F.expr("INTERVAL 3 MINUTES"),
            "latency_ms": F.lit(None).cast("long"),
        }
    )
    same(with_latency(recreated, *inputs), "topic | latency_ms\n dir |")


# 1 had led until it crashed; nothing is known of a stop of 5
REPLACED = """
topic | partition | incarnation | at           | succeeded | unclean | previous_leader | last_leader | leader | evidence
lost  | 0         | 0           | 10:00:01.4   | true      | true    | 1               | 1           | 2      | 9@f:8
alone | 0         | 0           | 10:03:00     | true      | true    | 5               | 5           | 2      | 9@f:9
"""
OF_STOPS = """
root_cause       | root_broker | unclean_elections
broker_crash     | 1           | 1
unclean_election | 5           | 1
"""


def test_an_unclean_election_is_of_the_incident_that_took_the_leader(frame: Frame, same: Same) -> None:
    """None of the partitions had been without a leader: the controller put another one in its place at once."""
    stops = frame(NODE_STOPS, NODES).where("node_id = 1")
    incidents = to_incidents(
        stops,
        frame(LOG_DIR_FAILURES, "broker"),
        frame(OFFLINE_PARTITIONS, "topic"),
        frame(ELECTIONS, REPLACED),
        frame(REASSIGNMENTS, "topic"),
        frame(ISR_CHANGES, "topic"),
        frame(CONTROLLER_TIMELINE, "until"),
        frame(TOPIC_TIMELINE, "topic"),
        frame(EVENTS, "at"),
    )
    same(incidents, OF_STOPS)


# ---- ISR ------------------------------------------------------------------------------------------------------------
ISRS = """
topic | partition | incarnation | leader | leader_epoch | partition_epoch | isr   | since    | made_by
t     | 0         | 0           | 1      | 0            | 0               | 1,2,3 | 10:00:00 | controller
t     | 0         | 0           | 1      | 0            | 1               | 1,3   | 10:00:10 | leader
t     | 0         | 0           | 1      | 0            | 2               | 1,2,3 | 10:00:20 | leader
t     | 0         | 0           | 2      | 1            | 3               | 2,4   | 10:00:30 | controller
t     | 0         | 0           | 2      | 1            | 4               | 2,4   | 10:00:40 | controller
"""
SHRINKING = """
topic | partition | at         | event_type    | isr | fields
t     | 0         | 10:00:09.9 | isr_shrinking | 3,1 | leader_end_offset=100; out_of_sync_replicas=(brokerId: 2, endOffset: 93)
t     | 0         | 10:00:19.8 | isr_expanding | 3,1,2 |
t     | 0         | 10:00:30   | isr_shrinking | 2,4 | leader_end_offset=100; out_of_sync_replicas=(brokerId: 2, endOffset: 93)
"""
CHANGES = """
topic | at       | kind   | made_by    | added | removed | isr   | leader | partition_epoch | lag | asked_at
t     | 10:00:10 | shrink | leader     | []    | 2       | 1,3   | 1      | 1               | 7   | 10:00:09.9
t     | 10:00:20 | expand | leader     | 2     | []      | 1,2,3 | 1      | 2               |     | 10:00:19.8
# one state may lose and gain; a controller's shrink has no lag, whatever a leader printed
t     | 10:00:30 | shrink | controller | []    | 1,3     | 2,4   | 2      | 3               |     |
t     | 10:00:30 | expand | controller | 4     | []      | 2,4   | 2      | 3               |     |
"""


def test_isr_changes(frame: Frame, same: Same) -> None:
    topics = frame(TOPIC_TIMELINE, "topic | incarnation | since\nt | 0 | 10:00:00")
    same(
        to_isr_changes(
            states(frame, ISRS), frame(EVENTS, SHRINKING), topics, frame(CONTROLLER_TIMELINE, "until"), EvidenceKinds()
        ),
        CHANGES,
    )


GROWN = """
topic | partition | incarnation | leader | leader_epoch | partition_epoch | isr   | since    | missing_before | made_by
# the ISR has grown; it has shrunk, which either may do; one has come and one has gone
t     | 0         | 0           | 1      | 3            | 1               | 1     | 10:00:00 |   |
t     | 0         | 0           | 1      | 3            | 2               | 1,2   | 10:00:10 | 0 |
t     | 0         | 0           | 1      | 3            | 3               | 1     | 10:00:20 | 0 |
t     | 0         | 0           | 1      | 3            | 4               | 2     | 10:00:30 | 0 |
# a state is missing between; another leader
t     | 0         | 0           | 1      | 3            | 6               | 1,2   | 10:00:40 | 1 |
t     | 0         | 0           | 2      | 4            | 7               | 1,2,3 | 10:00:50 | 0 | controller
"""
BY_GROWTH = """
at       | kind   | made_by
10:00:10 | expand | leader
10:00:20 | shrink |
10:00:30 | shrink |
10:00:30 | expand |
10:00:40 | expand |
10:00:50 | expand | controller
"""


def test_an_isr_grows_by_its_leader_only(frame: Frame, same: Same) -> None:
    inputs = frame(EVENTS, SHRINKING), frame(TOPIC_TIMELINE, "topic"), frame(CONTROLLER_TIMELINE, "until")
    same(to_isr_changes(states(frame, GROWN), *inputs, EvidenceKinds()), BY_GROWTH)


UNKNOWN = """
topic | partition | incarnation | leader | leader_epoch | partition_epoch | isr   | since    | made_by
t     | 0         | 0           | 1      | 0            | 0               | 1,2,3 | 10:00:00 |
t     | 0         | 0           | 1      | 0            | 1               | 1,3   | 10:00:10 |
t     | 0         | 0           | 1      | 0            | 2               | 1     | 10:00:20 |
t     | 1         | 0           | 1      | 0            | 0               | 1,2   | 10:00:00 |
t     | 1         | 0           | 1      | 0            | 1               | 1     | 10:00:10 |
"""
ASKED_FOR = """
topic | partition | at         | node_id | event_type    | isr | fields
# broker 1 leads, and asks for what comes; broker 2 does not lead, and what 1 asks for at the end is another change
t     | 0         | 10:00:09.9 | 1       | isr_shrinking | 3,1 | out_of_sync_replicas=(brokerId: 2, endOffset: 93)
t     | 1         | 10:00:09.9 | 2       | isr_shrinking | 1   | out_of_sync_replicas=(brokerId: 2, endOffset: 93)
t     | 0         | 10:00:19.9 | 1       | isr_shrinking | 3,1 | out_of_sync_replicas=(brokerId: 2, endOffset: 93)
"""
OF_ASKERS = """
topic | partition | at       | kind   | made_by | asked_at
t     | 0         | 10:00:10 | shrink | leader  | 10:00:09.9
t     | 0         | 10:00:20 | shrink |         |
t     | 1         | 10:00:10 | shrink |         |
"""


def test_a_change_for_which_the_leader_has_asked_is_its_own(frame: Frame, same: Same) -> None:
    topics = frame(TOPIC_TIMELINE, "topic | incarnation | since\nt | 0 | 10:00:00")
    same(
        to_isr_changes(
            states(frame, UNKNOWN),
            frame(EVENTS, ASKED_FOR),
            topics,
            frame(CONTROLLER_TIMELINE, "until"),
            EvidenceKinds(),
        ),
        OF_ASKERS,
    )


RAISED = """
cluster | topic | partition | incarnation | leader | leader_epoch | partition_epoch | isr   | since    | made_by
k       | t     | 0         | 0           | 1      | 0            | 0               | 1,2,3 | 10:00:00 | controller
k       | t     | 0         | 0           | 1      | 1            | 1               | 1,3   | 10:00:10 | controller
k       | t     | 0         | 0           | 1      | 2            | 2               | 1     | 10:00:20 | controller
k       | t     | 1         | 0           | 2      | 0            | 0               | 1,2,3 | 10:00:00 | controller
k       | t     | 1         | 0           | 1      | 1            | 1               | 1,3   | 10:00:10 | controller
z       | t     | 0         | 0           | 1      | 0            | 0               | 1,2,3 | 10:00:00 | controller
z       | t     | 0         | 0           | 1      | 1            | 1               | 1,3   | 10:00:10 | controller
"""
ASKING_TO_RAISE = """
cluster | topic | partition | at         | node_id | event_type    | isr | fields
k       | t     | 0         | 10:00:09.9 | 1       | isr_shrinking | 3,1 | out_of_sync_replicas=(brokerId: 2, endOffset: 93)
k       | t     | 1         | 10:00:09.9 | 1       | isr_shrinking | 3,1 | out_of_sync_replicas=(brokerId: 2, endOffset: 93)
z       | t     | 0         | 10:00:09.9 | 1       | isr_shrinking | 3,1 | out_of_sync_replicas=(brokerId: 2, endOffset: 93)
"""
RAISERS = """
cluster | partition | at       | made_by
k       | 0         | 10:00:10 | leader
# nobody asked for that
k       | 0         | 10:00:20 | controller
# another leader: the controller elected it
k       | 1         | 10:00:10 | controller
# with ZooKeeper the controller alone raises leader epochs
z       | 0         | 10:00:10 | controller
"""


def test_a_shrink_that_a_leader_of_kraft_asks_for_raises_its_leader_epoch_until_3_5(frame: Frame, same: Same) -> None:
    topics = frame(TOPIC_TIMELINE, "cluster | topic | incarnation | since\nk | t | 0 | 10:00:00\nz | t | 0 | 10:00:00")
    terms = frame(CONTROLLER_TIMELINE, "cluster | since | mode\nk | 10:00:00 | kraft\nz | 10:00:00 | zookeeper")
    changes = to_isr_changes(states(frame, RAISED), frame(EVENTS, ASKING_TO_RAISE), topics, terms, EvidenceKinds())
    same(changes, RAISERS)


BEHIND = """
topic | partition | at         | event_type    | isr | fields
# 3.6 and later: three followers, of one of which a new leader knows nothing
t     | 0         | 10:00:00   |               |     |
t     | 0         | 10:00:09.9 | isr_shrinking | 1   | high_watermark=90; leader_end_offset=100; out_of_sync_replicas=(brokerId: 4, endOffset: unknown, lastCaughtUpTimeMs: unknown) (brokerId: 3, endOffset: -1, lastCaughtUpTimeMs: 1795262396000) (brokerId: 2, endOffset: 93, lastCaughtUpTimeMs: 1795262397000)
# the controller tells brokers 3 s later; what it told before was another change
t     | 0         | 10:00:02   | isr_notification_update_metadata | |
t     | 0         | 10:00:13   | isr_notification_update_metadata | |
"""


def test_followers_that_were_behind(frame: Frame) -> None:
    """The leader's line is 0.1 s before the state, and brokers are told 3 s after it."""
    text = "topic | partition | incarnation | leader | leader_epoch | partition_epoch | isr | since | made_by\n"
    text += "t | 0 | 0 | 1 | 0 | 0 | 1,2,3,4 | 10:00:00 | controller\nt | 0 | 0 | 1 | 0 | 1 | 1 | 10:00:10 | leader\n"
    topics = frame(TOPIC_TIMELINE, "topic | incarnation | since\nt | 0 | 10:00:00")
    terms = frame(CONTROLLER_TIMELINE, "until")
    one = F.when(F.col("event_type").contains("notification"), F.array(F.struct("topic", "partition")))
    events = frame(EVENTS, BEHIND).withColumn("partitions", one)
    (row,) = to_isr_changes(states(frame, text), events, topics, terms, EvidenceKinds()).collect()
    assert (row["leader_end_offset"], row["high_watermark"], row["lag"]) == (100, 90, 7)
    assert [tuple(one) for one in row["behind"]] == [
        (2, 93, 7, datetime(2026, 11, 21, 11, 59, 57)),
        (3, None, None, datetime(2026, 11, 21, 11, 59, 56)),
        (4, None, None, None),
    ]
    assert (row["asked_at"], row["told_at"]) == (instant("10:00:09.9"), instant("10:00:13"))
    # where no line is of these kinds nothing is looked for
    (row,) = to_isr_changes(
        states(frame, text), events, topics, terms, EvidenceKinds(event_types=frozenset())
    ).collect()
    assert (row["kind"], row["behind"], row["asked_at"], row["told_at"]) == ("shrink", None, None, None)


FLAPPING = """
topic | partition | incarnation | leader_epoch | partition_epoch | at       | kind   | added | removed
# follower 2: three times out and in, and out at the end; the third return is in the next hour
t     | 0         | 0           | 0            | 1               | 10:10:00 | shrink | []    | 2
t     | 0         | 0           | 0            | 2               | 10:10:05 | expand | 2     | []
t     | 0         | 0           | 0            | 3               | 10:20:00 | shrink | []    | 2,3
t     | 0         | 0           | 0            | 4               | 10:20:30 | expand | 2     | []
t     | 0         | 0           | 0            | 5               | 10:59:00 | shrink | []    | 2
t     | 0         | 0           | 0            | 6               | 11:01:00 | expand | 2     | []
t     | 0         | 0           | 0            | 7               | 11:02:00 | shrink | []    | 2
# follower 4 joins only
t     | 0         | 0           | 0            | 8               | 11:03:00 | expand | 4     | []
"""
MOVES = """
topic | partition | incarnation | at       | succeeded | previous_leader | leader | leader_epoch
t     | 0         | 0           | 10:30:00 | true      | 1               | 2      | 1
t     | 0         | 0           | 10:31:00 | true      | 2               | 2      | 2
t     | 0         | 0           | 10:32:00 | false     |                 |        |
"""
CHURN = """
topic | follower | hour     | shrinks | expands | flaps | leader_changes | worst_out_ms | churning | stops | flaps_while_up | marginal
t     | 2        | 10:00:00 | 3       | 2       | 2     | 1              | 120000       | true     | 1     | 1              | false
t     | 3        | 10:00:00 | 1       | 0       | 0     | 1              | 2520000      | false    | 0     | 0              | false
t     | 2        | 11:00:00 | 1       | 1       | 1     | 0              | 0            | false    | 0     | 1              | false
t     | 4        | 11:00:00 | 0       | 1       | 0     | 0              |              | false    | 0     | 0              | false
"""


def test_churn(frame: Frame, same: Same) -> None:
    """The logs end with the last change: 3 is out from 10:20 for 42 min, 2 from 11:02 for no time."""
    ends = frame(ENDS, "cluster | end_of_logs\nc | 11:02:00")
    changes, elections, settings = (
        states(frame, FLAPPING, ISR_CHANGES),
        frame(ELECTIONS, MOVES),
        Settings(churn_flaps=2),
    )
    lives = states(frame, "topic | partition_epoch"), frame(TOPIC_TIMELINE, "topic | incarnation\n t | 0")
    same(to_isr_churn(changes, elections, *lives, ends, frame(NODE_STOPS, RESTARTED), settings), CHURN)
    # without its restart follower 2 is one that cannot keep up
    there = to_isr_churn(changes, elections, *lives, ends, frame(NODE_STOPS, "node_id"), settings)
    assert [row["hour"].hour for row in there.where("marginal").collect()] == [10]
    # one that was frozen may log a line between being dropped and the end of its session, one that crashed does not
    for how, count in (("cut_off", 1), ("crashed", 0)):
        text = (
            f"node_id | role | how | since | began_after | until\n2 | broker | {how} | 10:20:09 | 10:20:05 | 10:20:28"
        )
        rows = to_isr_churn(changes, elections, *lives, ends, frame(NODE_STOPS, text), settings)
        assert rows.where("follower = 2 AND hour(hour) = 10").select("stops").collect() == [(count,)]


# out of the ISR, and then no replica any more: 3 of moved, a minute later; 3 of once in the same record (KRaft), which came
# back as a new replica; 2 of dropped until the topic is gone, and in its next incarnation for good
LEAVING = """
topic   | partition | incarnation | partition_epoch | at       | kind   | added | removed
moved   | 0         | 0           | 1               | 10:10:00 | shrink | []    | 3
once    | 0         | 0           | 1               | 10:10:00 | shrink | []    | 3
once    | 0         | 0           | 3               | 10:40:00 | expand | 3     | []
dropped | 0         | 0           | 1               | 10:10:00 | shrink | []    | 2
dropped | 0         | 1           | 1               | 10:50:00 | shrink | []    | 2
"""
ASSIGNED = """
topic   | partition | incarnation | partition_epoch | replicas | since
moved   | 0         | 0           | 0               | 1,2,3    | 10:00:00
# the assignment of this state is in no line
moved   | 0         | 0           | 1               |          | 10:10:00
moved   | 0         | 0           | 2               | 1,2      | 10:11:00
once    | 0         | 0           | 0               | 1,2,3    | 10:00:00
once    | 0         | 0           | 1               | 1,2      | 10:10:00
once    | 0         | 0           | 2               | 1,2,3    | 10:39:00
once    | 0         | 0           | 3               | 1,2,3    | 10:40:00
dropped | 0         | 0           | 1               | 1,2      | 10:10:00
dropped | 0         | 1           | 1               | 1,2      | 10:50:00
"""
LIVES = """
topic   | incarnation | until
moved   | 0           |
once    | 0           |
dropped | 0           | 10:15:00
dropped | 1           |
"""
LEFT = """
topic   | incarnation | follower | shrinks | expands | flaps | worst_out_ms
moved   | 0           | 3        | 1       | 0       | 0     | 60000
once    | 0           | 3        | 1       | 1       | 0     | 0
dropped | 0           | 2        | 1       | 0       | 0     | 300000
dropped | 1           | 2        | 1       | 0       | 0     | 600000
"""


def test_who_is_no_replica_any_more_is_absent_from_no_isr(frame: Frame, same: Same) -> None:
    """The logs end at 11:00."""
    changes, assigned = states(frame, LEAVING, ISR_CHANGES), states(frame, ASSIGNED)
    topics, ends = frame(TOPIC_TIMELINE, LIVES), frame(ENDS, "end_of_logs\n11:00:00")
    churn = to_isr_churn(
        changes, frame(ELECTIONS, "topic"), assigned, topics, ends, frame(NODE_STOPS, "node_id"), Settings()
    )
    same(churn, LEFT)


RESTARTED = """
node_id | role       | since    | began_after | until
# 2 crashed at 10:20, which was noticed 9 s later; a controller of that number is another process
2       | broker     | 10:20:09 | 10:20:00    | 10:20:28
3       | controller | 10:20:00 |             |
"""


BACK_AND_OUT = """
topic | partition | incarnation | leader | leader_epoch | partition_epoch | ordinal | at       | kind   | made_by | added | removed
t     | 0         | 0           | 1      | 0            | 1               | 1       | 10:00:05 | shrink | leader  | []    | 2
t     | 0         | 0           | 1      | 0            | 2               | 2       | 10:00:12 | expand | leader  | 2     | []
t     | 0         | 0           | 1      | 0            | 3               | 3       | 10:00:20 | shrink | leader  | []    | 2
t     | 0         | 0           | 1      | 0            | 4               | 4       | 10:00:25 | expand | leader  | 2     | []
"""
OUT_AGAIN = """
follower | shrinks | stops | flaps | flaps_while_up
2        | 2       | 1     | 2     | 1
"""


def test_who_was_back_in_sync_and_is_dropped_again_is_at_fault_anew(frame: Frame, same: Same) -> None:
    """Broker 2 is restarted for 10 s, in the ISR again, and frozen 8 s later: of as many partitions as a storm has."""
    stops = frame(NODE_STOPS, "node_id | role | how | since | until\n2 | broker | shut_down | 10:00:00 | 10:00:10")
    rows = [
        line.replace(" 0         |", f" {number}         |", 1)
        for number in range(5)
        for line in BACK_AND_OUT.strip().split("\n")[1:]
    ]
    changes = frame(ISR_CHANGES, "\n".join([BACK_AND_OUT.strip().split("\n")[0], *rows]))
    (storm,) = to_shrink_storms(changes, stops).collect()
    assert (storm["node"], storm["role"], storm["count"]) == (2, "follower", 5)
    assert (storm["at"], storm["until"]) == (instant("10:00:20"), instant("10:00:25"))
    lives = states(frame, "topic | partition_epoch"), frame(TOPIC_TIMELINE, "topic | incarnation\n t | 0")
    ends, elections = frame(ENDS, "cluster | end_of_logs\nc | 10:01:00"), frame(ELECTIONS, "topic")
    churn = to_isr_churn(frame(ISR_CHANGES, BACK_AND_OUT), elections, *lives, ends, stops, Settings())
    same(churn, OUT_AGAIN)


# ---- reassignments --------------------------------------------------------------------------------------------------
ASKED = """
topic     | partition | at       | node_id | event_type                         | topic_id | replicas  | fields
# done: what is left is the target
done      | 0         | 10:00:00 | 9       | reassignment_assignment_updating   |          | 3,2,1     | old_replicas=2,1; adding_replicas=3; removing_replicas=1
done      | 0         | 10:00:01 | 9       | reassignment_assignment_updated    |          | 3,2,1     | adding_replicas=3; removing_replicas=1
done      | 0         | 10:00:05 | 9       | reassignment_assignment_updated    |          | 3,2       | adding_replicas=; removing_replicas=
# cancelled: what is left is the original
cancelled | 0         | 10:00:00 | 9       | reassignment_assignment_updating   |          | 3,2,1     | old_replicas=2,1; adding_replicas=3; removing_replicas=1
cancelled | 0         | 10:00:05 | 9       | reassignment_assignment_updated    |          | 2,1       | adding_replicas=; removing_replicas=
# replaced by another request, of the same replicas: it has not ended
replaced  | 0         | 10:00:00 | 9       | reassignment_assignment_updating   |          | 2,1       | old_replicas=1; adding_replicas=2; removing_replicas=
replaced  | 0         | 10:00:03 | 9       | reassignment_assignment_updating   |          | 2,1       | old_replicas=1; adding_replicas=2; removing_replicas=1
replaced  | 0         | 10:00:06 | 9       | reassignment_assignment_updated    |          | 2         | adding_replicas=; removing_replicas=
# open, and every target is in sync; open, and one is not
open      | 0         | 10:00:00 | 9       | reassignment_assignment_updating   |          | 3,2,1     | old_replicas=2,1; adding_replicas=3; removing_replicas=1
stuck     | 0         | 10:00:00 | 9       | reassignment_assignment_updating   |          | 3,2,1     | old_replicas=2,1; adding_replicas=3; removing_replicas=1
# KRaft: by the active controller 100; 101 stands by, and reads it again later. A list that is not named stays.
kraft     | 0         | 10:00:00 | 100     | kraft_partition_assignment_changed | K        | 2,1       | adding_replicas=[2]; removing_replicas=[]
kraft     | 0         | 10:00:00.5 | 101   | kraft_partition_assignment_changed | K        | 2,1       | adding_replicas=[2]; removing_replicas=[]
          | 0         | 10:00:05 | 100     | kraft_partition_assignment_changed | K        | 2,1       | adding_replicas=[]; removing_replicas=null
kraft     | 0         | 10:30:00 | 101     | kraft_partition_assignment_changed | K        | 2,1       | adding_replicas=[2]; removing_replicas=[]
# In the controller's order the target comes first: what the order was before, the record that created it tells.
merged    | 0         | 10:00:00 | 100     | kraft_partition_created            | M        | 0,1,2     | adding_replicas=[]; removing_replicas=[]
merged    | 0         | 10:05:00 | 100     | kraft_partition_assignment_changed | M        | 2,3,0,1   | adding_replicas=[3]; removing_replicas=[0,1]
merged    | 0         | 10:05:05 | 100     | kraft_partition_assignment_changed | M        | 2,3       | adding_replicas=[]; removing_replicas=[]
# another request puts the target in another order, without a line: what ends is that one
turned    | 0         | 10:04:00 | 100     | kraft_partition_created            | U        | 0,1,2     | adding_replicas=[]; removing_replicas=[]
turned    | 0         | 10:05:00 | 100     | kraft_partition_assignment_changed | U        | 2,3,0,1   | adding_replicas=[3]; removing_replicas=[0,1]
turned    | 0         | 10:05:05 | 100     | kraft_partition_assignment_changed | U        | 3,2       | adding_replicas=[]; removing_replicas=[]
# or a state, or nothing does
state     | 0         | 10:05:00 | 100     | kraft_partition_assignment_changed | S        | 2,3,0,1   | adding_replicas=[3]; removing_replicas=[0,1]
nothing   | 0         | 10:05:00 | 100     | kraft_partition_assignment_changed | N        | 2,3,0,1   | adding_replicas=[3]; removing_replicas=[0,1]
# nobody has to catch up: the record that begins it ends it
at_once   | 0         | 10:00:00 | 100     | kraft_partition_created            | O        | 0,1,2     | adding_replicas=[]; removing_replicas=[]
at_once   | 0         | 10:05:00 | 100     | kraft_partition_assignment_changed | O        | 2,0,1     | adding_replicas=null; removing_replicas=null
at_once   | 0         | 10:06:00 | 100     | kraft_partition_assignment_changed | O        | 2,0       | adding_replicas=null; removing_replicas=null
# what its begin is missing of is none of these
tail      | 0         | 10:06:00 | 100     | kraft_partition_assignment_changed | L        | 2,0       | adding_replicas=[]; removing_replicas=[]
# the topic was deleted meanwhile
deleted   | 0         | 10:00:00 | 9       | reassignment_assignment_updating   |          | 3,2,1     | old_replicas=2,1; adding_replicas=3; removing_replicas=1
# until 2.3 a target, and the end of it; another controller begins the same again. 4 was not alive: refused
old       | 0         | 10:00:00 | 9       | reassignment_started               |          |           | target_replicas=3,2
old       | 0         | 10:00:01 | 9       | reassignment_assignment_updated    |          | 2,1,3     |
old       | 0         | 10:00:03 | 8       | reassignment_started               |          |           | target_replicas=3,2
old       | 0         | 10:00:04 | 8       | reassignment_assignment_updated    |          | 3,2       |
old       | 0         | 10:00:05 | 8       | reassignment_removed_from_zk       |          |           |
old       | 0         | 10:10:00 | 8       | reassignment_started               |          |           | target_replicas=4,2
old       | 0         | 10:10:01 | 8       | reassignment_failed                |          |           |
old       | 0         | 10:10:02 | 8       | reassignment_removed_from_zk       |          |           |
older     | 0         | 10:00:00 | 9       | reassignment_started               |          |           | target_replicas=3,2
older     | 0         | 10:00:01 | 9       | reassignment_leader_alive          |          |           | target_replicas=3,2
# nothing to add or to remove: only the order changes, at once
order     | 0         | 10:00:00 | 9       | reassignment_assignment_updating   |          | 1,2       | old_replicas=2,1; adding_replicas=; removing_replicas=
"""
NOW = """
topic | partition | incarnation | leader | leader_epoch | partition_epoch | isr   | replicas | since
open  | 0         | 0           | 2      | 0            | 0               | 1,2   |          | 09:00:00
open  | 0         | 0           | 2      | 0            | 1               | 1,2,3 |          | 10:00:01
stuck | 0         | 0           | 2      | 0            | 0               | 1,2   |          | 09:00:00
deleted | 0       | 0           | 2      | 0            | 0               | 1,2   |          | 09:00:00
merged | 0        | 0           | 2      | 0            | 3               | 0,1,2 | 2,3,0,1  | 10:05:01
state | 0         | 0           | 0      | 0            | 0               | 0,1,2 | 0,1,2    | 09:00:00
state | 0         | 0           | 0      | 0            | 1               | 0,1,2 | 2,3,0,1  | 10:05:00
nothing | 0       | 0           | 0      | 0            | 1               | 0,1,2 | 2,3,0,1  | 10:05:00
old   | 0         | 0           | 2      | 0            | 0               | 1,2   | 2,1      | 09:00:00
old   | 0         | 0           | 2      | 0            | 1               | 1,2,3 | 2,1,3    | 10:00:02
old   | 0         | 0           | 2      | 1            | 2               | 2,3   | 3,2      | 10:00:05
older | 0         | 0           | 2      | 0            | 0               | 1,2   | 2,1      | 09:00:00
"""
MOVED = """
topic     | since    | until    | original_replicas | target_replicas | adding_replicas | removing_replicas | phase           | state       | blocked_by
done      | 10:00:00 | 10:00:05 | 2,1               | 3,2             | 3               | 1                 | done            | completed   | []
cancelled | 10:00:00 | 10:00:05 | 2,1               | 3,2             | 3               | 1                 | waiting_for_isr | cancelled   | []
replaced  | 10:00:00 | 10:00:03 | 1                 | 2,1             | 2               | []                | waiting_for_isr | cancelled   | []
replaced  | 10:00:03 | 10:00:06 | 1                 | 2               | 2               | 1                 | done            | completed   | []
open      | 10:00:00 |          | 2,1               | 3,2             | 3               | 1                 | handing_over    | in_progress | []
stuck     | 10:00:00 |          | 2,1               | 3,2             | 3               | 1                 | waiting_for_isr | stuck       | 3
kraft     | 10:00:00 | 10:00:05 | 1                 | 2,1             | 2               | []                | done            | completed   | []
merged    | 10:05:00 | 10:05:05 | 0,1,2             | 2,3             | 3               | 0,1               | done            | completed   | []
turned    | 10:05:00 | 10:05:05 | 0,1,2             | 2,3             | 3               | 0,1               | waiting_for_isr | cancelled   | []
state     | 10:05:00 |          | 0,1,2             | 2,3             | 3               | 0,1               | waiting_for_isr | stuck       | 3
nothing   | 10:05:00 |          |                   | 2,3             | 3               | 0,1               | waiting_for_isr | stuck       | 3
at_once   | 10:05:00 | 10:05:00 | 0,1,2             | 2,0,1           | []              | []                | done            | completed   | []
at_once   | 10:06:00 | 10:06:00 | 2,0,1             | 2,0             | []              | 1                 | done            | completed   | []
order     | 10:00:00 | 10:00:00 | 2,1               | 1,2             | []              | []                | done            | completed   | []
deleted   | 10:00:00 | 10:30:00 | 2,1               | 3,2             | 3               | 1                 | waiting_for_isr | cancelled   | []
old       | 10:00:00 | 10:00:05 | 2,1               | 3,2             | 3               | 1                 | done            | completed   | []
old       | 10:10:00 | 10:10:01 | 3,2               | 4,2             | 4               | 3                 | waiting_for_isr | cancelled   | []
older     | 10:00:00 |          | 2,1               | 3,2             | 3               | 1                 | handing_over    | stuck       | 3
"""


def test_reassignments(frame: Frame, same: Same) -> None:
    ids = {"kraft": "K", "merged": "M", "state": "S", "nothing": "N", "at_once": "O", "tail": "L", "turned": "U"}
    names = ("done", "cancelled", "replaced", "open", "stuck", "order", "old", "older", "deleted", *ids)
    topics = "topic | incarnation | topic_id | since | until" + "".join(
        f"\n{name} | 0 | {ids.get(name, '')} | 10:00:00 | {'10:30:00' if name == 'deleted' else ''}" for name in names
    )
    terms = "controller_id | controller_epoch | since | until\n100 | 1 | 09:00:00 | 10:20:00\n101 | 2 | 11:00:00 |"
    events, listed = frame(EVENTS, ASKED), F.col("event_type") == "reassignment_removed_from_zk"
    one = F.array(F.struct("topic", "partition"))
    rows = to_reassignments(
        events.withColumns({"partitions": F.when(listed, one), "topic": F.when(~listed, F.col("topic"))}),
        states(frame, NOW),
        frame(TOPIC_TIMELINE, topics),
        frame(CONTROLLER_TIMELINE, terms),
        frame(NODE_STOPS, "node_id | role | since | until\n3 | broker | 09:00:00 | 10:00:20\n3 | broker | 10:04:00 |"),
        EvidenceKinds(),
    ).persist()
    same(rows, MOVED)
    stuck = {
        (row["topic"], f"{row['since']:%H:%M}"): [
            (s["broker"], s["cause"], *map(clock, (s["since"], s["until"]))) for s in row["stuck"]
        ]
        for row in rows.collect()
        if row["stuck"]
    }
    assert stuck == STUCK
    waits = {
        (row["topic"], f"{row['since']:%H:%M}"): [(w["broker"], *map(clock, (w["since"], w["until"]))) for w in waited]
        for row in rows.collect()
        if (waited := row["waits"])
    }
    assert waits == WAITS


STUCK = {  # on which replica it was stuck, why, since when and until when: 3 is away until 10:00:20 and from 10:04 on
    ("stuck", "10:00"): [(3, "broker_away", "10:00:00", "10:00:20"), (3, "broker_away", "10:04:00", None)],
    ("state", "10:05"): [(3, "broker_away", "10:05:00", None)],
    ("nothing", "10:05"): [(3, "broker_away", "10:05:00", None)],
    ("deleted", "10:00"): [(3, "broker_away", "10:00:00", "10:00:20"), (3, "broker_away", "10:04:00", "10:30:00")],
    ("older", "10:00"): [(3, "broker_away", "10:00:00", "10:00:20"), (3, "broker_away", "10:04:00", None)],
}
WAITS = {  # by reassignment the target replicas that were out of the ISR meanwhile, since when and until when
    ("open", "10:00"): [(3, "10:00:00", "10:00:01")],
    ("stuck", "10:00"): [(3, "10:00:00", None)],
    ("merged", "10:05"): [(3, "10:05:01", "10:05:05")],  # no state before is known
    ("state", "10:05"): [(3, "10:05:00", None)],
    ("nothing", "10:05"): [(3, "10:05:00", None)],
    ("deleted", "10:00"): [(3, "10:00:00", "10:30:00")],  # over with its topic
    ("old", "10:00"): [(3, "10:00:00", "10:00:02")],
    ("old", "10:10"): [(4, "10:10:00", "10:10:01")],  # refused
    ("older", "10:00"): [(3, "10:00:00", None)],
}


def test_two_stops_that_end_with_one_return_are_told_one_after_the_other(frame: Frame) -> None:
    """Broker 1 lost its session at 10:00, and was shut down at 10:05: it was away once, until 10:10."""
    wait = F.struct(F.lit(1).alias("broker"), F.col("since"), F.col("until"))
    waiting = frame(REASSIGNMENTS, "topic | since | until\nt | 09:00:00 | 11:00:00").withColumn("waits", F.array(wait))
    text = "node_id | role | since | until | followed_at\n"
    text += "1 | broker | 10:00:00 | 10:10:00 | 10:05:00\n1 | broker | 10:05:00 | 10:10:00 |"
    (row,) = with_stuck(waiting, frame(NODE_STOPS, text)).collect()
    assert [(clock(one["since"]), clock(one["until"])) for one in row["stuck"]] == [
        ("10:00:00", "10:05:00"),
        ("10:05:00", "10:10:00"),
    ]


def clock(at: datetime | None) -> str | None:
    """The time of the day."""
    return None if at is None else f"{at:%H:%M:%S}"


STOPS_OF_BROKERS = """
node_id | role   | since    | until
# 1 is away twice, the second time before it is back from the first one, by what lines tell
1       | broker | 10:00:00 | 10:01:00
1       | broker | 10:00:50 | 10:00:55
2       | broker | 10:05:00 |
"""
LEADERS = """
leader | at           | lag
# 30 s and 2 s before the stop began; both ends belong to it
1      | 09:59:27.999 | 0
1      | 09:59:28     | 1
1      | 10:01:10     | 1
# 30 s after the second stop, and 2 s
1      | 10:01:22     | 1
1      | 10:01:22.001 | 0
2      | 10:04:27     | 0
2      | 12:00:00     | 1
3      | 10:00:00     | 0
"""


def test_who_was_absent_for_having_stopped(frame: Frame, same: Same) -> None:
    changes = frame(ISR_CHANGES, LEADERS)
    absences = absences_from_isrs(frame(NODE_STOPS, STOPS_OF_BROKERS))
    same(changes.join(absences, "cluster").withColumn("lag", was_absent("leader").cast("long")), LEADERS)


SHUT_DOWN = """
node_id | role   | how       | since    | until
1       | broker | shut_down | 10:00:00 | 10:00:20
2       | broker | cut_off   | 11:00:00 | 11:00:10
"""
JOINED = """
leader | at       | asked_at | told_at  | lag
# who is shut down fetches until then; 2 s are what clocks may differ by
1      | 09:59:57 |          |          | 0
1      | 09:59:58 |          |          | 1
# it was back at 10:00:20, and has not joined since
1      | 10:00:30 | 09:59:59 | 10:00:40 | 1
# it had joined again, and is taken out once more
1      | 10:00:30 | 10:00:20 |          | 0
1      | 10:00:30 |          |          | 1
# 2 is frozen at some time before its session ends: not yet when it joins again, but for good if it does not
2      | 10:59:40 |          | 10:59:54.999 | 0
# a session that ends so soon after that was lost before: it is the same freeze
2      | 10:59:40 |          | 10:59:55 | 1
2      | 10:59:40 |          |          | 1
"""


def test_who_had_joined_again_is_absent_no_more(frame: Frame, same: Same) -> None:
    """`asked_at` stands for when it had last joined the ISR, `told_at` for when it joined next."""
    absences = absences_from_isrs(frame(NODE_STOPS, SHUT_DOWN))
    absent = was_absent("leader", F.col("asked_at"), F.col("told_at")).cast("long")
    same(frame(ISR_CHANGES, JOINED).join(absences, "cluster").withColumn("lag", absent), JOINED)
