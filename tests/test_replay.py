"""Verdicts on decisions written by hand: those the algorithm makes hold, doctored ones are violated, the rest is unknown."""

from __future__ import annotations

from datetime import timedelta
from functools import reduce
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.findings.broker_signs import to_broker_signs, with_doubts
from jobs.findings.replay import showing_elr, to_completed, to_verdicts
from jobs.findings.switches import with_default_switch
from jobs.settings import Settings, TopicSettings
from jobs.timelines.cluster_facts import ClusterFacts, EvidenceKinds
from jobs.timelines.kafka_releases import to_node_releases, to_process_releases, to_term_releases
from jobs.timelines.known_spans import CONTROLLER_LOGS, to_known_spans
from schemas.findings import ELECTIONS, OFFLINE_PARTITIONS, REASSIGNMENTS
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.spark import EVIDENCE
from schemas.timelines import BROKER_TIMELINE, CONTROLLER_TIMELINE, PARTITION_TIMELINE, TOPIC_TIMELINE
from udfs.kafka.decision_rules import INVARIANTS
from udfs.kafka.election_verdicts import judge_election
from udfs.kafka.releases import Release, lowest_release, printed_release
from udfs.kafka.verdicts import Verdict, algorithm_release, without_input

if TYPE_CHECKING:
    from schemas.table import Table
    from tests.conftest import Frame, Same

ELR = {  # verdict without known eligible leader replicas -> the verdict that stays, and the input it lacks
    "an accused leader may have been one": (("violated", ()), ("unknown", ("elr_before",))),
    "what holds holds": (("holds", ()), ("holds", ())),
    "another input is missing already": (("unknown", ("replicas",)), ("unknown", ("replicas",))),
}


@pytest.mark.parametrize("case", ELR)
def test_nobody_is_accused_where_eligible_leader_replicas_are_unknown(case: str) -> None:
    (verdict, missing), expected = ELR[case]
    verdict_without_elr = without_input(
        Verdict("unclean_leader_alone", verdict, "an unclean leader that is allowed", "leader 2", missing, "text"),
        "elr_before",
    )
    assert (verdict_without_elr.verdict, verdict_without_elr.missing) == expected


def test_an_election_of_a_release_without_an_algorithm_is_unknown() -> None:
    """Kafka 2.8 with KRaft, early access."""
    row = {
        "leader": 2, "isr": [2], "succeeded": True, "strategy": None, "replicas": [1, 2], "replicas_before": [1, 2],
        "isr_before": [1, 2], "previous_leader": 1, "live_brokers": [2], "unclean_enabled": False,
        "certainly_online": [2], "possibly_online": [2], "elr_before": None,
    }  # fmt: skip
    early = judge_election(row, Release(2, 8), is_kraft=True, elr_enabled=False)
    assert (early.verdict, early.missing) == ("unknown", ("an algorithm to judge Kafka 2.8 by",))
    assert judge_election(row, Release(3), is_kraft=True, elr_enabled=False).verdict == "holds"


def test_an_election_as_a_reassignment_ends_without_a_replica_that_was_there_before() -> None:
    """From [4,0,3] to [3,2,0], of which 3 is out of sync: only 2, which is added, must be in the ISR for it to end."""
    row = {
        "leader": 2, "isr": [0, 2], "succeeded": True, "strategy": None, "replicas": [3, 2, 0],
        "replicas_before": [3, 2, 0, 4], "isr_before": [0, 4], "previous_leader": 4, "live_brokers": [0, 2, 4],
        "unclean_enabled": False, "certainly_online": [0, 2, 4], "possibly_online": [0, 2, 4], "elr_before": None,
    }  # fmt: skip
    assert judge_election(row, Release(3, 3), is_kraft=True, elr_enabled=False).verdict == "holds"
    wrong = judge_election({**row, "leader": 0}, Release(3, 3), is_kraft=True, elr_enabled=False)
    assert (wrong.verdict, wrong.expected) == ("violated", "leader 2, ISR [0, 2]")


def test_an_election_of_which_no_isr_is_known_to_have_members() -> None:
    """No replica has to have been there then; but a partition has replicas."""
    row = {
        "leader": None, "isr": [], "succeeded": False, "strategy": None, "replicas": None, "replicas_before": None,
        "isr_before": [], "previous_leader": -1, "live_brokers": None, "unclean_enabled": False,
        "certainly_online": [], "possibly_online": [], "elr_before": None, "plausible_replicas": [[1]],
    }  # fmt: skip
    assert judge_election(row, Release(3, 3), is_kraft=True, elr_enabled=False).verdict == "holds"


RANGES: dict[str, tuple[list[str | None], Release | None]] = {  # ranges of a cluster's streams -> its release
    "the lowest that all allow": (["1.1.0..3.1.2", "2.4.0.."], Release(2, 4)),
    "streams without a range": ([None, "2.4.0..2.4.1"], Release(2, 4)),
    "no stream has one": ([None, None], None),
    "no stream": ([], None),
}


@pytest.mark.parametrize("case", RANGES)
def test_release_of_a_cluster(case: str) -> None:
    ranges, release = RANGES[case]
    assert lowest_release(ranges) == release


PRINTED: dict[str, tuple[list[str | None], Release | None]] = {  # what brokers print -> the release
    "one": (["2.3.0"], Release(2, 3)),
    "the latest of an upgrade": (["2.3.1", "2.4.0", None], Release(2, 4)),
    "four numbers": (["0.10.2.2"], Release(0, 10, 2, 2)),
    "Confluent and Cloudera number their own": (["7.3.0-ccs", "2.5.0.7.1.7.0-551"], None),
    "no version": (["unknown", ""], None),
}


@pytest.mark.parametrize("case", PRINTED)
def test_printed_release(case: str) -> None:
    texts, release = PRINTED[case]
    assert printed_release(texts) == release


# Kafka 2.4.1 with ZooKeeper; all of partition 0. Offline elections try the assignment in its order, live ones in the ISR only.
ZK_ELECTIONS = """
cluster | topic     | partition | incarnation | at       | strategy            | trigger | previous_leader | leader | leader_epoch | isr_before | replicas | live_brokers | shutting_down | isr | unclean | succeeded
zk      | right     | 0         | 0           | 10:00:01 | offline             |         | -1              | 2      | 3            | 2,3        | 1,2,3    | 2,3          |               | 2,3 | false   | true
# doctored: 1 is alive and first in the assignment, but 2 was elected
zk      | doctored  | 0         | 0           | 10:00:02 | offline             |         | -1              | 2      | 3            | 1,2        | 1,2      | 1,2          |               | 1,2 | false   | true
# doctored: nobody of the ISR is alive, and the topic does not allow unclean elections
zk      | forbidden | 0         | 0           | 10:00:03 | offline             | failure | -1              | 2      | 3            | 1          | 1,2      | 2            |               | 2   | true    | true
zk      | allowed   | 0         | 0           | 10:00:04 | offline             |         | -1              | 2      | 3            | 1          | 1,2      | 2            |               | 2   | true    | true
# right if it is allowed, wrong if not: unknown, and the setting is what is missing
zk      | unset     | 0         | 0           | 10:00:05 | offline             |         | -1              | 2      | 3            | 1          | 1,2      | 2            |               | 2   | true    | true
zk      | preferred | 0         | 0           | 10:00:06 | preferred           |         | 2               | 1      | 3            | 1,2        | 1,2      | 1,2          |               | 1,2 | false   | true
# doctored: the preferred replica is 1
zk      | preferred2 | 0        | 0           | 10:00:07 | preferred           |         | 3               | 2      | 3            | 1,2,3      | 1,2,3    | 1,2,3        |               | 1,2,3 | false | true
# 1 shuts down: 2 leads, and 1 leaves the ISR
zk      | shutdown  | 0         | 0           | 10:00:08 | controlled_shutdown |         | 1               | 2      | 3            | 1,2        | 1,2      | 2            | 1             | 2   | false   | true
# doctored: 1 stays in the ISR
zk      | shutdown2 | 0         | 0           | 10:00:09 | controlled_shutdown |         | 1               | 2      | 3            | 1,2        | 1,2      | 2            | 1             | 1,2 | false   | true
# 3 shuts down, and 1 is moved off: the line by which 1 began to shut down, too, is lost
zk      | shutdown3 | 0         | 0           | 10:00:09 | controlled_shutdown |         | 1               | 2      | 3            | 1,2        | 1,2      | 1,2          | 3             | 2   | false   | true
# an epoch refresh changes nothing else
zk      | refresh   | 0         | 0           | 10:00:10 | none                |         | 1               | 1      | 3            | 1,2        | 1,2      | 1,2          |               | 1,2 | false   | true
# the same, but an administrator asked for it (KIP-460); or nobody knows whether one did
zk      | asked     | 0         | 0           | 10:00:03 | offline             | admin   | -1              | 2      | 3            | 1          | 1,2      | 2            |               | 2   | true    | true
zk      | perhaps   | 0         | 0           | 10:00:03 | offline             |         | -1              | 2      | 3            | 1          | 1,2      | 2            |               | 2   | true    | true
# 3 is dead and leaves the ISR; the leader stays
zk      | removal   | 0         | 0           | 10:00:03 |                     |         | 1               | 1      | 3            | 1,2,3      | 1,2,3    |              |               | 1,2 | false   | true
# the ISR before is not known, but the controller says that it took 3 out of it; later it says so of 4, which was not in it
zk      | removal2  | 0         | 0           | 10:00:03 |                     |         | 1               | 1      | 3            |            |          |              |               | 1,2 | false   | true
zk      | removal3  | 0         | 0           | 10:00:03 |                     |         | 1               | 1      | 3            |            |          |              |               | 1,2 | false   | true
# 3 is still in it, or another leads: that is no removal of 3; but whatever the ISR was, some decision leads to it
zk      | stays     | 0         | 0           | 10:00:03 |                     |         | 1               | 1      | 3            |            | 1,2,3    |              |               | 1,3 | false   | true
zk      | moves     | 0         | 0           | 10:00:03 |                     |         | 2               | 1      | 3            |            | 1,2,3    |              |               | 1,2 | false   | true
# the ISR before is not known; only an offline election explains the other, for 2 is not preferred
zk      | blind     | 0         | 0           | 10:00:11 | offline             |         | -1              | 2      | 3            |            | 1,2      | 1,2          |               | 2   |         | true
zk      | unsaid    | 0         | 0           | 10:00:12 |                     |         | -1              | 2      | 3            | 2          | 1,2      | 1,2          |               | 2   | false   | true
# nor here, nor why it was held; but 1 was in sync with 2 when it had last changed the ISR. Later, or of an epoch before, tells nothing
zk      | carried   | 0         | 0           | 10:00:12 |                     |         | 1               | 2      | 3            |            | 1,2      | 2            |               | 2   |         | true
zk      | later     | 0         | 0           | 10:00:12 |                     |         | 1               | 2      | 3            |            | 1,2      | 2            |               | 2   |         | true
zk      | older     | 0         | 0           | 10:00:12 |                     |         | 1               | 2      | 3            |            | 1,2      | 2            |               | 2   |         | true
# failures of two days at the same time of day are two decisions; the ISR before is not logged
zk      | nobody    | 0         | 0           | 2026-11-21 10:00:14 | offline |         | -1           |        |              |            | 1,2      | 2            |               |     |         | false
zk      | nobody    | 0         | 0           | 2026-11-22 10:00:14 | offline |         | -1           |        |              |            | 1,2      | 2            |               |     |         | false
# 7 is in no list of live brokers, yet begins to lead, so it is there: a later list is lost; 8 shows nothing
zk      | stale     | 0         | 0           | 10:00:20 | offline             |         | -1              | 7      | 3            | 7          | 7        | 2            |               | 7   | false   | true
zk      | dead      | 0         | 0           | 10:00:20 | offline             |         | -1              | 8      | 3            | 8          | 8        | 2            |               | 8   | false   | true
# another cluster, whose release is unknown, is left out
dark    | t         | 0         | 0           | 10:00:13 | offline             |         | -1              | 2      | 3            | 1          | 1,2      | 1,2          |               | 2   | true    | true
"""
ZK_VERDICTS = """
topic      | rule                         | subject                     | verdict  | missing_inputs
right      | offline_election             | right-0#0 leader epoch 3      | holds    | []
doctored   | offline_election             | doctored-0#0 leader epoch 3   | violated | []
forbidden  | offline_election             | forbidden-0#0 leader epoch 3  | violated | []
allowed    | offline_election             | allowed-0#0 leader epoch 3    | holds    | []
unset      | offline_election             | unset-0#0 leader epoch 3      | unknown  | unclean.leader.election.enable
preferred  | preferred_election           | preferred-0#0 leader epoch 3  | holds    | []
preferred2 | preferred_election           | preferred2-0#0 leader epoch 3 | violated | []
shutdown   | controlled_shutdown_election | shutdown-0#0 leader epoch 3   | holds    | []
shutdown2  | controlled_shutdown_election | shutdown2-0#0 leader epoch 3  | violated | []
shutdown3  | controlled_shutdown_election | shutdown3-0#0 leader epoch 3  | unknown  | shutting_down
refresh    | epoch_refresh                | refresh-0#0 leader epoch 3    | holds    | []
blind      | offline_election             | blind-0#0 leader epoch 3      | unknown  | isr_before
unsaid     | zk_election                  | unsaid-0#0 leader epoch 3     | holds    | []
carried    | zk_election                  | carried-0#0 leader epoch 3    | holds    | []
later      | zk_election                  | later-0#0 leader epoch 3      | unknown  | isr_before,unclean.leader.election.enable
older      | zk_election                  | older-0#0 leader epoch 3      | unknown  | isr_before,unclean.leader.election.enable
asked      | offline_election             | asked-0#0 leader epoch 3      | holds    | []
perhaps    | offline_election             | perhaps-0#0 leader epoch 3    | unknown  | trigger
removal    | replica_removal              | removal-0#0 leader epoch 3    | holds    | []
removal2   | replica_removal              | removal2-0#0 leader epoch 3   | holds    | []
removal3   | replica_removal              | removal3-0#0 leader epoch 3   | holds    | []
stays      | zk_election                  | stays-0#0 leader epoch 3      | holds    | []
moves      | zk_election                  | moves-0#0 leader epoch 3      | holds    | []
stale      | offline_election             | stale-0#0 leader epoch 3      | holds    | []
dead       | offline_election             | dead-0#0 leader epoch 3       | violated | []
nobody     | offline_election             | nobody-0#0 failed at 2026-11-21 10:00:14.000000 | unknown | isr_before,unclean.leader.election.enable
nobody     | offline_election             | nobody-0#0 failed at 2026-11-22 10:00:14.000000 | unknown | isr_before,unclean.leader.election.enable
"""
# KRaft 4.1: the controller did not log who was alive, but registrations show it. Broker 1 was fenced at 10:00:00.
KRAFT_ELECTIONS = """
cluster | topic    | partition | incarnation | at       | previous_leader | leader | leader_epoch | isr_before | elr_before | replicas | replicas_before | isr | unclean | succeeded
kraft   | right    | 0         | 0           | 10:01:00 | 1               | 2      | 3            | 1,2        | []         | 1,2      | 1,2             | 2   | false   | true
# doctored: 3 was not in the ISR while 2, which was, is alive, and unclean elections are off
kraft   | doctored | 0         | 0           | 10:01:00 | 1               | 3      | 3            | 1,2        | []         | 1,2,3    | 1,2,3           | 3   | true    | true
# so two days later: 2 has been there for days, 1 came back and went again
kraft   | right    | 0         | 0           | 2026-11-23 10:01:00 | 1    | 2      | 5            | 1,2        | []         | 1,2      | 1,2             | 2   | false   | true
# four days later, with no logs in between: 3 was fenced the last time anybody saw it, and may have come back since
kraft   | holes    | 0         | 0           | 2026-11-25 10:01:00 | -1   | 3      | 7            | 3          | []         | 2,3      | 2,3             | 3   | false   | true
# nothing is known of any of its replicas since the hole: the one that leads must have come back, the other may have
kraft   | unseen   | 0         | 0           | 2026-11-25 10:01:00 | -1   | 3      | 7            | 3          | []         | 3        | 3               | 3   | false   | true
kraft   | unseen2  | 0         | 0           | 2026-11-25 10:01:00 | -1   | 3      | 7            | 1,3        | []         | 1,3      | 1,3             | 1,3 | false   | true
# just when 1 was fenced: it may have been there or not
kraft   | blind    | 0         | 0           | 10:01:00 | 1               | 2      | 3            | 1,2        | []         | 1,2      |                 | 2   | false   | true
"""
# as in `doctored`, but when it was elected is in no line: some time since the line of the state before
KRAFT_ELECTIONS += """kraft   | undated  | 0         | 0           | 10:01:00 | 1               | 3      | 3            | 1,2        | []         | 1,2,3    | 1,2,3           | 3   | true    | true
kraft   | latest   | 0         | 0           | 10:01:00 | 1               | 3      | 3            | 1,2        | []         | 1,2,3    | 1,2,3           | 3   | true    | true
"""
UNDATED_STATES = """
cluster | topic   | partition | incarnation | leader | leader_epoch | partition_epoch | isr | replicas | since    | until    | inferred | evidence
kraft   | undated | 0         | 0           | 3      | 3            | 5               | 3   | 1,2,3    | 10:01:00 | 10:01:00 | true     | 1@f:1
# so is the last state
kraft   | latest  | 0         | 0           | 3      | 3            | 5               | 3   | 1,2,3    | 10:01:00 |          | true     | 1@f:1
"""
BROKERS = """
cluster | broker | since    | until
kraft   | 1      | 09:00:00 | 10:00:00
kraft   | 1      | 2026-11-22 23:00:00 | 2026-11-23 10:00:00
kraft   | 2      | 09:00:00 | 2026-11-23 11:00:00
kraft   | 2      | 2026-11-25 10:00:00 |
kraft   | 3      | 09:00:00 | 2026-11-23 11:00:00
"""
COVERAGE = """
cluster | node_id | kind       | since      | until
kraft   | 100     | controller | 09:00:00   | 2026-11-23 12:00:00
kraft   | 100     | controller | 2026-11-25 09:59:00 | 2026-11-25 11:00:00
# other logs tell nothing of brokers
kraft   | 2       | server     | 09:00:00   | 2026-11-26 12:00:00
# here a start of broker 3 would be logged
late    | 3       | server     | 09:00:00   | 12:00:00
"""
KRAFT_VERDICTS = """
topic      | rule           | subject                      | verdict  | missing_inputs
right      | kraft_election | right-0#0 leader epoch 3     | holds    | []
doctored   | kraft_election | doctored-0#0 leader epoch 3  | violated | []
right      | kraft_election | right-0#0 leader epoch 5     | holds    | []
holes      | kraft_election | holes-0#0 leader epoch 7     | holds    | []
unseen     | kraft_election | unseen-0#0 leader epoch 7    | holds    | []
unseen2    | kraft_election | unseen2-0#0 leader epoch 7   | unknown  | live_brokers
blind      | kraft_election | blind-0#0 leader epoch 3     | unknown  | replicas_before
undated    | kraft_election | undated-0#0 leader epoch 3   | unknown  | live_brokers,unclean.leader.election.enable
latest     | kraft_election | latest-0#0 leader epoch 3   | unknown  | live_brokers,unclean.leader.election.enable
"""
# States: right ones, and three invariants broken: a leader outside the ISR, two leaders in one epoch, an ISR member that is
# not assigned
STATES = """
cluster | topic  | partition | incarnation | leader | leader_epoch | partition_epoch | controller_epoch | isr | replicas | since | made_by
zk      | sound  | 0         | 0           | 1      | 0            | 0               | 1                | 1,2 | 1,2      | 10:00:00 |
zk      | sound  | 0         | 0           | 2      | 1            | 1               | 1                | 2   | 1,2      | 10:00:01 |
# another life of the topic begins anew: no epoch falls
zk      | sound  | 0         | 1           | 1      | 0            | 0               | 2                | 1   | 1        | 10:00:02 |
zk      | outside | 0        | 0           | 3      | 0            | 1               | 1                | 1,2 | 1,2,3    | 10:00:00 | controller
zk      | twice  | 0         | 0           | 1      | 4            | 6               | 1                | 1,2 | 1,2      | 10:00:00 |
zk      | twice  | 0         | 0           | 2      | 4            | 7               | 1                | 1,2 | 1,2      | 10:00:01 |
zk      | stranger | 0       | 0           | 1      | 0            | 1               | 1                | 1,9 | 1,2      | 10:00:00 |
zk      | carried | 0        | 0           | 1      | 2            | 4               | 1                | 1   | 1,2      | 10:00:00 |
zk      | carried | 0        | 0           | 1      | 2            | 5               | 1                | 1,2 | 1,2      | 10:00:05 |
zk      | later   | 0        | 0           | 1      | 2            | 4               | 1                | 1,2 | 1,2      | 10:00:13 |
zk      | older   | 0        | 0           | 1      | 1            | 4               | 1                | 1,2 | 1,2      | 10:00:00 |
"""
# a replica that was deleted cannot come back without becoming NonExistentReplica
TRANSITIONS = """
cluster | topic | partition | node_id | at       | event_type             | controller_epoch | fields
zk      | sound | 0         | 1       | 10:00:00 | partition_state_change | 4                | from_state=NewPartition; to_state=OnlinePartition
zk      | sound | 0         | 1       | 10:00:01 | partition_state_change | 4                | from_state=OnlinePartition; to_state=OnlinePartition
zk      | sound | 0         | 1       | 10:00:02 | replica_state_change   | 4                | replica=2; from_state=ReplicaDeletionSuccessful; to_state=OnlineReplica
"""
BROKEN = """
rule                        | subject                  | verdict
legal_transition            | sound-0#0 replica 2, controller 1 epoch 4 | violated
leader_in_isr               | outside-0#0 epochs 0.1   | violated
one_leader_per_leader_epoch | twice-0#0 epochs 4.7     | violated
isr_within_replicas         | stranger-0#0 epochs 0.1  | violated
"""
# epoch 5 was claimed by two controllers
TERMS = """
cluster | controller_id | controller_epoch | since
zk      | 1             | 4                | 10:00:00
zk      | 2             | 5                | 10:01:00
zk      | 3             | 5                | 10:02:00
"""
# a reassignment is complete once its targets were in sync at once; the second one was not, as far as the states show
MOVES = """
cluster | topic | partition | incarnation | since    | until       | target_replicas | adding_replicas | state
zk      | sound | 0         | 0           | 10:00:00 | 10:00:01    | 1,2             | 2               | completed
zk      | outside | 0       | 0           | 10:00:00 | 10:00:01    | 2,3             | 3               | completed
zk      | outside | 0       | 0           | 10:05:00 |             | 2,3             | 3               | stuck
# of what it was completed with there is no line
zk      | outside | 0       | 0           | 10:00:01 | 10:00:09    | 2,4             | 4               | completed
"""
MOVED = """
topic   | rule                    | verdict  | missing_inputs
sound   | reassignment_completion | holds    | []
outside | reassignment_completion | violated | []
outside | reassignment_completion | unknown  | states while it lasted
"""
# a cluster of 2.4.1 in which things are left out, or come too late
OUTAGES = """
cluster | topic | partition | incarnation | since    | until    | at_least_ms
late    | stuck | 0         | 0           | 10:00:00 | 10:02:00 | 120000
late    | fine  | 0         | 0           | 10:00:00 | 10:00:31 | 31000
# nobody of the ISR is back
late    | alone | 0         | 0           | 10:00:00 | 10:02:00 | 120000
"""
LATE_STATES = """
cluster | topic | partition | incarnation | leader | leader_epoch | partition_epoch | isr | replicas | since    | until
late    | stuck | 0         | 0           | -1     | 1            | 1               | 2   | 1,2      | 10:00:00 | 10:02:00
late    | fine  | 0         | 0           | -1     | 1            | 1               | 2   | 1,2      | 10:00:00 | 10:00:31
late    | alone | 0         | 0           | -1     | 1            | 1               | 3   | 2,3      | 10:00:00 | 10:02:00
late    | twice | 0         | 0           | 1      | 0            | 0               | 1   | 1,1      | 09:00:00 |
"""
LATE_BROKERS = """
cluster | broker | since    | until
late    | 1      | 09:00:00 | 09:59:00
late    | 2      | 10:00:30 |
"""
TOPICS = """
cluster | topic | incarnation | since
zk      | sound | 0           | 09:00:00
zk      | removal2 | 0        | 09:00:00
zk      | removal3 | 0        | 09:00:00
zk      | stays | 0           | 09:00:00
zk      | moves | 0           | 09:00:00
late    | a     | 0           | 09:00:00
rolls   | a     | 0           | 09:00:00
fixed  | a     | 0           | 09:00:00
older   | a     | 0           | 09:00:00
"""
LATE_TERMS = """
cluster | controller_id | controller_epoch | since
late    | 9             | 1                | 09:00:00
"""
LATE_EVENTS = """
cluster | topic | partition | node_id | at       | event_type                        | controller_id | controller_epoch | correlation_id | leader | leader_epoch | fields
zk      | stale | 0         | 7       | 10:00:21 | partition_leader_epoch_started    |               |                  |                |        | 3            |
late    | a     | 0         | 9       | 10:01:00 | leader_and_isr_request_sent       | 9             | 1                |                | 1      | 0            | target_broker=1
late    | a     | 0         | 9       | 10:01:01 | partition_state_change            | 9             | 1                |                | 2      | 1            | to_state=OnlinePartition; from_state=OfflinePartition
late    | a     | 0         | 9       | 10:01:20 | leader_and_isr_request_sent       | 9             | 1                |                | 3      | 2            | target_broker=3
late    | a     | 0         | 3       | 10:01:21 | leader_and_isr_request_received   | 9             | 1                | 4              | 3      | 2            |
late    | a     | 0         | 3       | 10:01:21 | become_leader_started             | 9             | 1                | 4              |        |              |
late    | a     | 0         | 3       | 10:01:22 | leader_and_isr_request_received   | 9             | 1                | 5              | 3      | 1            |
late    | a     | 0         | 3       | 10:01:22 | become_leader_started             | 9             | 1                | 5              |        |              |
late    |       |           | 9       | 10:02:00 | auto_rebalance_imbalance_ratio    | 9             |                  |                |        |              | broker=1; imbalance_ratio=0.05
late    |       |           | 1       | 09:58:59 | controlled_shutdown_succeeded     |               |                  |                |        |              |
"""
LATE_ELECTIONS = """
cluster | topic | partition | incarnation | at       | strategy | trigger        | previous_leader | leader | leader_epoch | isr_before | replicas | isr | succeeded
late    | b     | 0         | 0           | 09:59:01 | offline  | broker_failure | 1               | 2      | 3            | 1,2        | 1,2      | 2   | true
# so long after it had left it must have been back, though no line tells
late    | c     | 0         | 0           | 10:30:00 | offline  | broker_failure | 1               | 2      | 3            | 1,2        | 1,2      | 2   | true
"""
LATE = """
rule                          | subject                                                     | verdict
leader_restored               | stuck-0#0 without a leader from 2026-11-21 10:00:00.000000  | violated
leader_restored               | fine-0#0 without a leader from 2026-11-21 10:00:00.000000   | holds
assignment_at_creation        | twice#0                                                     | violated
request_follows               | a-0#0 leader epoch 1, controller epoch 1                    | violated
received_state_was_stored     | a-0#0 leader epoch 2 as received                            | holds
received_state_was_stored     | a-0#0 leader epoch 1 as received                            | violated
request_acceptance            | a-0#0 broker 3, controller epoch 1                          | violated
auto_rebalance                | controller 9, broker 1, imbalance 0.05 no. 1                | holds
controlled_shutdown_completes | b-0#0 leader epoch 3                                        | violated
"""
# Kafka 0.8.2: who is elected if nobody of the ISR is alive shows whether unclean elections are allowed
OLD_ELECTIONS = """
cluster | topic | partition | incarnation | at       | strategy | previous_leader | leader | leader_epoch | isr_before | replicas | live_brokers | isr | succeeded
old     | never | 0         | 0           | 10:00:00 | offline  | -1              |        |              | 1          | 1,2      | 2            |     | false
old     | may   | 0         | 0           | 10:00:00 | offline  | -1              | 2      | 3            | 1          | 1,2      | 2            | 2   | true
old     | mute  | 0         | 0           | 10:00:00 | offline  | -1              |        |              | 1          | 1,2      | 2            |     | false
"""
OLD_EVENTS = """
cluster | topic | partition | node_id | at       | event_type                    | controller_epoch | detail
old     | never | 0         | 9       | 10:00:00 | partition_state_change_failed | 1                | No broker in ISR for partition [never,0] is alive.
old     | may   | 0         | 9       | 10:00:00 | offline_election_isr_dead     |                  |
# of another time
old     | mute  | 0         | 9       | 09:00:00 | partition_state_change_failed | 1                | No broker in ISR for partition [mute,0] is alive.
"""
OLD_VERDICTS = """
topic | rule             | verdict | missing_inputs
never | offline_election | holds   | []
may   | offline_election | holds   | []
mute  | offline_election | unknown | unclean.leader.election.enable
"""
# a rolling upgrade: controller 2 was 0.9 when its term 5 began
STARTS = """
cluster | node_id | at       | event_type    | fields
zk      | 1       | 09:00:00 | kafka_version | kafka_version=2.4.1
zk      | 2       | 09:00:00 | kafka_version | kafka_version=0.8.2.1
zk      | 2       | 10:00:30 | kafka_version | kafka_version=0.9.0.1
zk      | 3       | 10:03:00 | kafka_version | kafka_version=3.9.1
"""
TERM_RELEASES = """
cluster | controller_epoch | term_release
zk      | 4                | 2.4.1
zk      | 5                | 0.9.0.1
"""
# a cluster that is upgraded from 3.4.0 to 3.5.0: broker 1 is new from 10:00:00 on, though it says so at 10:00:04 only, and
# controller 9 from 11:00:00 on; the log of broker 3 does not have its start
ROLLING = """
cluster | topic | partition | node_id | at       | event_type                     | controller_id | controller_epoch | leader_epoch | fields
rolls   |       |           | 1       | 09:00:00 | kafka_version                  |               |                  |              | kafka_version=3.4.0
rolls   |       |           | 2       | 09:00:00 | kafka_version                  |               |                  |              | kafka_version=3.4.0
rolls   |       |           | 1       | 10:00:00 | broker_starting                |               |                  |              |
rolls   |       |           | 1       | 10:00:04 | kafka_version                  |               |                  |              | kafka_version=3.5.0
rolls   | a     | 0         | 1       | 09:30:00 | stop_replica_same_leader_epoch | 9             | 1                | 4            |
rolls   | a     | 0         | 1       | 10:00:02 | stop_replica_same_leader_epoch | 9             | 2                | 4            |
rolls   | a     | 0         | 1       | 10:01:00 | stop_replica_same_leader_epoch | 9             | 3                | 4            |
rolls   | a     | 0         | 2       | 10:01:00 | stop_replica_same_leader_epoch | 9             | 3                | 4            |
rolls   | a     | 0         | 3       | 10:01:00 | stop_replica_same_leader_epoch | 9             | 3                | 4            |
# the cluster fixed is the same, but --conf says that it is 3.4.0
fixed  |       |           | 1       | 10:00:04 | kafka_version                  |               |                  |              | kafka_version=3.5.0
fixed  | a     | 0         | 1       | 10:01:00 | stop_replica_same_leader_epoch | 9             | 3                | 4            |
# deletions: a partition is gone before its replicas from 2.1 on; controller 9 was upgraded at 11:00:00
older   |       |           | 9       | 09:00:00 | kafka_version                  |               |                  |              | kafka_version=2.0.1
older   | a     | 0         | 9       | 10:00:00 | partition_state_change         | 9             | 5                |              | from_state=OfflinePartition; to_state=NonExistentPartition
older   | a     | 0         | 9       | 10:00:01 | replica_state_change           | 9             | 5                |              | from_state=OfflineReplica; to_state=ReplicaDeletionStarted; replica=1
older   |       |           | 9       | 11:00:00 | kafka_version                  |               |                  |              | kafka_version=2.8.0
older   | a     | 0         | 9       | 11:10:00 | partition_state_change         | 9             | 6                |              | from_state=OfflinePartition; to_state=NonExistentPartition
older   | a     | 0         | 9       | 11:10:01 | replica_state_change           | 9             | 6                |              | from_state=OfflineReplica; to_state=ReplicaDeletionStarted; replica=1
# the automatic rebalance leaves out what is due, after it has mended less: through 1.1 it may have been silent
silent  |       |           | 9       | 09:00:00 | kafka_version                  |               |                  |              | kafka_version=1.1.0
silent  |       |           | 9       | 10:00:00 | auto_rebalance_imbalance_ratio |               |                  |              | broker=1; imbalance_ratio=0.3
silent  |       |           | 9       | 11:00:00 | kafka_version                  |               |                  |              | kafka_version=2.4.1
silent  |       |           | 9       | 11:10:00 | auto_rebalance_imbalance_ratio |               |                  |              | broker=1; imbalance_ratio=0.4
"""
ROLLING_VERDICTS = """
cluster | rule               | subject                                    | verdict  | missing_inputs
rolls   | request_acceptance | a-0#0 broker 1, controller epoch 1         | holds    | []
rolls   | request_acceptance | a-0#0 broker 1, controller epoch 2         | violated | []
rolls   | request_acceptance | a-0#0 broker 1, controller epoch 3         | violated | []
rolls   | request_acceptance | a-0#0 broker 2, controller epoch 3         | holds    | []
rolls   | request_acceptance | a-0#0 broker 3, controller epoch 3         | unknown  | kafka_release
fixed  | request_acceptance | a-0#0 broker 1, controller epoch 3         | holds    | []
older   | topic_deletion     | a-0#0 deletion by controller 9 epoch 5     | violated | []
older   | topic_deletion     | a-0#0 deletion by controller 9 epoch 6     | holds    | []
silent  | auto_rebalance     | controller 9, broker 1, imbalance 0.3 no. 1 | unknown | live_brokers
silent  | auto_rebalance     | controller 9, broker 1, imbalance 0.4 no. 1 | unknown | leader.imbalance.per.broker.percentage
"""
# of two controllers of KRaft the first is 3.7, which waits only for who is added, and the second 3.8, which waits for all;
# which of them ended the last one is not certain
MOVED_TERMS = """
cluster | controller_id | controller_epoch | since    | until
moves   | 1             | 1                | 09:00:00 | 10:30:00
moves   | 2             | 2                | 10:30:00 |
"""
MOVED_STARTS = """
cluster | node_id | at       | event_type    | fields
moves   | 1       | 08:00:00 | kafka_version | kafka_version=3.7.1
moves   | 2       | 10:20:00 | kafka_version | kafka_version=3.8.0
"""
MOVED_STATES = """
cluster | topic | partition | incarnation | leader | leader_epoch | partition_epoch | isr | replicas | missing_before | since    | until | made_by
moves   | one   | 0         | 0           | 2      | 1            | 1               | 2   | 1,2      | 0              | 09:00:00 | 09:59:59 |
moves   | one   | 0         | 0           | 2      | 1            | 2               | 2,3 | 1,2,3    | 0              | 09:59:59 | |
moves   | two   | 0         | 0           | 2      | 1            | 1               | 2   | 1,2      | 0              | 09:00:00 | 10:59:59 |
moves   | two   | 0         | 0           | 2      | 1            | 2               | 2,3 | 1,2,3    | 0              | 10:59:59 | | controller
moves   | edge  | 0         | 0           | 2      | 1            | 1               | 2   | 1,2      | 0              | 09:00:00 | 10:29:59 |
moves   | edge  | 0         | 0           | 2      | 1            | 2               | 2,3 | 1,2,3    | 0              | 10:29:59 | |
"""
UPGRADE_MOVES = """
cluster | topic | partition | incarnation | since    | until    | original_replicas | target_replicas | adding_replicas | removing_replicas | state
moves   | one   | 0         | 0           | 09:50:00 | 10:00:00 | 1,2               | 2,3,1           | 3               | []                | completed
moves   | two   | 0         | 0           | 10:50:00 | 11:00:00 | 1,2               | 2,3,1           | 3               | []                | completed
moves   | edge  | 0         | 0           | 10:20:00 | 10:30:00 | 1,2               | 2,3,1           | 3               | []                | completed
"""
UPGRADE_MOVED = """
topic | verdict  | missing_inputs
one   | holds    | []
two   | violated | []
edge  | holds    | []
"""
REMOVALS = """
cluster | topic    | partition | at       | leader_epoch | event_type               | fields
zk      | removal2 | 0         | 10:00:03 | 3            | replica_removed_from_isr | replica=3; to_state=OfflineReplica
zk      | removal2 | 0         | 10:00:04 | 3            | replica_removed_from_isr | replica=4; to_state=OfflineReplica
# as it was printed through 1.0
zk      | removal3 | 0         | 10:00:02 |              | controller_isr_removal_started | replica=3
zk      | removal3 | 0         | 10:00:03 | 3            | controller_isr_removed   |
zk      | stays    | 0         | 10:00:03 | 3            | replica_removed_from_isr | replica=3; to_state=OfflineReplica
zk      | moves    | 0         | 10:00:03 | 3            | replica_removed_from_isr | replica=3; to_state=OfflineReplica
"""
RELEASES = {
    "zk": ("2.4.1", False), "late": ("2.4.1", False), "old": ("0.8.2.2", False), "kraft": ("4.1.0", True),
    "rolls": ("3.4..3.5", False), "fixed": ("3.4", False), "older": ("2.0.1..2.8", False),
    "silent": ("1.1..2.4.1", False), "moves": ("3.7.1..3.8", True),
}  # fmt: skip
SETTINGS = Settings(
    kafka_versions={"fixed": "3.4.0"},
    topics={
        "forbidden": TopicSettings(unclean_leader_election_enable=False),
        "asked": TopicSettings(unclean_leader_election_enable=False),
        "perhaps": TopicSettings(unclean_leader_election_enable=False),
        "allowed": TopicSettings(unclean_leader_election_enable=True),
        "doctored": TopicSettings(unclean_leader_election_enable=False),
    },
)


def union(frame: Frame, table: Table, *texts: str) -> DataFrame:
    """Rows of several texts."""
    return reduce(DataFrame.unionByName, (frame(table, text) for text in texts))


@pytest.fixture(scope="module")
def verdicts(frame: Frame) -> DataFrame:
    """VERDICTS of all of the above."""
    of_kraft = frame(ELECTIONS, KRAFT_ELECTIONS).withColumn("evidence", F.array().cast(EVIDENCE))
    elections = frame(ELECTIONS, ZK_ELECTIONS).unionByName(of_kraft)
    states = union(frame, PARTITION_TIMELINE, STATES, LATE_STATES, MOVED_STATES, UNDATED_STATES)
    terms = union(frame, CONTROLLER_TIMELINE, TERMS, LATE_TERMS, MOVED_TERMS)
    brokers = frame(BROKER_TIMELINE, BROKERS).unionByName(frame(BROKER_TIMELINE, LATE_BROKERS))
    events = union(frame, EVENTS, TRANSITIONS, LATE_EVENTS, OLD_EVENTS, REMOVALS, ROLLING)
    ordered = states.withColumn("ordinal", F.col("partition_epoch").cast("long"))
    signs = to_broker_signs(ordered, events)
    elections = elections.unionByName(frame(ELECTIONS, LATE_ELECTIONS)).unionByName(frame(ELECTIONS, OLD_ELECTIONS))
    rows = to_verdicts(
        with_default_switch(elections, None),
        ordered,
        terms,
        terms,
        brokers,
        with_doubts(brokers, signs),
        signs,
        union(frame, REASSIGNMENTS, MOVES, UPGRADE_MOVES),
        frame(OFFLINE_PARTITIONS, OUTAGES),
        frame(TOPIC_TIMELINE, TOPICS),
        to_known_spans(frame(LOG_COVERAGE, COVERAGE), CONTROLLER_LOGS, timedelta(hours=1), "cluster"),
        events,
        showing_elr(frame(PARTITION_TIMELINE, STATES)),
        ClusterFacts(frame(EVENTS, "event_type\n"), frame(LOG_COVERAGE, COVERAGE), EvidenceKinds()),
        RELEASES,
        to_term_releases(terms, union(frame, EVENTS, STARTS, MOVED_STARTS)),
        SETTINGS,
    )
    return rows.persist()


LAST_STATES = """
cluster | topic | partition | incarnation | leader | isr   | missing_before | since    | until    | made_by    | ordinal
info    | t     | 0         | 0           | 4      | 0,4   | 0              | 10:00:00 | 10:05:00 | controller | 1
info    | t     | 0         | 0           | 4      | 0,2,4 | 0              | 10:05:00 |          | controller | 2
traced  | t     | 0         | 0           | 4      | 0,4   | 0              | 10:00:00 | 10:05:00 | controller | 1
traced  | t     | 0         | 0           | 4      | 0,2,4 | 0              | 10:05:00 |          | controller | 2
kraft   | t     | 0         | 0           | 4      | 0,4   | 0              | 10:00:00 | 10:05:00 | controller | 1
kraft   | t     | 0         | 0           | 4      | 0,2,4 | 0              | 10:05:00 |          | controller | 2
"""
LAST_MOVES = """
cluster | topic | partition | incarnation | since    | until    | target_replicas | state
info    | t     | 0         | 0           | 10:01:00 | 10:05:01 | 2,4             | completed
traced  | t     | 0         | 0           | 10:01:00 | 10:05:01 | 2,4             | completed
kraft   | t     | 0         | 0           | 10:01:00 | 10:05:01 | 2,4             | completed
"""


def test_behind_the_last_state_the_controller_of_zookeeper_may_have_written_at_info(frame: Frame, same: Same) -> None:
    """As logs of 2.1.1 end that take 0 out of the ISR without a line, right before the reassignment is complete."""
    unsent, received = frozenset({"control_request_failed"}), frozenset({"leader_and_isr_request_received"})
    kinds = {name: EvidenceKinds(event_types=unsent) for name in ("info", "kraft")}
    kinds["traced"] = EvidenceKinds(event_types=received)
    none = frame(EVENTS, "event_type\n")
    releases = {"info": ("2.1.1", False), "traced": ("2.1.1", False), "kraft": ("3.9.0", True)}
    facts = ClusterFacts(none, none, EvidenceKinds(), kinds)
    same(
        to_completed(frame(REASSIGNMENTS, LAST_MOVES), frame(PARTITION_TIMELINE, LAST_STATES), releases, facts),
        """cluster | is_whole
           info    | false
           traced  | true
           kraft   | true""",
    )


def test_eligible_leader_replicas_are_on_where_a_state_shows_some() -> None:
    """A dump of 4.1 looks like one of 3.x: the lists in its states show that they were on (KIP-966; 3.7 on)."""
    assert algorithm_release(Release.parse("3.0.0"), True, True) == (Release(3, 7), True)
    assert algorithm_release(Release.parse("3.9.1"), True, None) == (Release(3, 9, 1), False)
    assert algorithm_release(Release.parse("4.1.0"), True, None) == (Release(4, 1), True)
    assert algorithm_release(Release.parse("2.4.1"), False, None) == (Release(2, 4, 1), False)


def test_elections_of_zookeeper(verdicts: DataFrame, same: Same) -> None:
    same(
        verdicts.where(
            "cluster = 'zk' AND (rule LIKE '%_election' OR rule IN ('epoch_refresh', 'replica_removal')) AND subject LIKE '%#0 %'"
        ),
        ZK_VERDICTS,
    )


def test_elections_of_kraft(verdicts: DataFrame, same: Same) -> None:
    same(verdicts.where("cluster = 'kraft' AND rule = 'kraft_election'"), KRAFT_VERDICTS)


def test_a_cluster_of_unknown_release_is_not_judged(verdicts: DataFrame) -> None:
    assert verdicts.where("cluster = 'dark'").count() == 0


def test_broken_states(verdicts: DataFrame, same: Same) -> None:
    same(
        verdicts.where(
            F.col("rule").isin([rule.name for rule in INVARIANTS])
            & F.expr("cluster = 'zk' AND topic IS NOT NULL AND verdict = 'violated'")
        ),
        BROKEN,
    )


def test_transitions(verdicts: DataFrame, same: Same) -> None:
    same(
        verdicts.where("cluster = 'zk' AND rule = 'legal_transition'"),
        """
        subject                                   | verdict  | actual
        sound-0#0, controller 1 epoch 4           | holds    | NewPartition to OnlinePartition, OnlinePartition to OnlinePartition
        sound-0#0 replica 2, controller 1 epoch 4 | violated | ReplicaDeletionSuccessful to OnlineReplica
        """,
    )


def test_completed_reassignments(verdicts: DataFrame, same: Same) -> None:
    same(verdicts.where("rule = 'reassignment_completion' AND cluster = 'zk'"), MOVED)


def test_who_decides_in_a_rolling_upgrade_is_judged_by_its_own_release(verdicts: DataFrame, same: Same) -> None:
    """A broker by what its process printed, a controller by what that of its term did; `--conf` counts before both."""
    is_rolling = "cluster IN ('rolls', 'fixed', 'older', 'silent')"
    same(verdicts.where(f"{is_rolling} AND rule NOT IN ('legal_transition', 'request_follows')"), ROLLING_VERDICTS)


def test_reassignments_in_a_rolling_upgrade_are_judged_by_the_term_that_ended_them(
    verdicts: DataFrame, same: Same
) -> None:
    same(verdicts.where("rule = 'reassignment_completion' AND cluster = 'moves'"), UPGRADE_MOVED)


def test_what_was_left_out_or_came_too_late(verdicts: DataFrame, same: Same) -> None:
    kinds = [rule for rule in {line.split("|")[0].strip() for line in LATE.strip().splitlines()} if rule != "rule"]
    same(verdicts.where(F.col("rule").isin(kinds) & (F.col("cluster") == "late")), LATE)


def test_whether_unclean_elections_are_allowed_shows_until_1_0(verdicts: DataFrame, same: Same) -> None:
    same(verdicts.where("cluster = 'old' AND rule = 'offline_election'"), OLD_VERDICTS)


def test_releases_of_terms(frame: Frame, same: Same) -> None:
    terms, starts = frame(CONTROLLER_TIMELINE, TERMS), frame(EVENTS, STARTS)
    same(to_term_releases(terms, starts), TERM_RELEASES)
    assert to_term_releases(terms, starts, ["zk"]).count() == 0


def test_a_process_has_its_release_from_its_first_line_on(frame: Frame, same: Same) -> None:
    """It is elected as it starts, 2 s before it prints its version; a version without a begin counts from itself."""
    starts = frame(
        EVENTS,
        """
        cluster | node_id | at       | event_type      | fields
        up      | 1       | 09:00:00 | broker_starting |
        up      | 1       | 09:00:04 | kafka_version   | kafka_version=2.0.1
        # a client in the same process
        up      | 1       | 09:10:00 | kafka_version   | kafka_version=2.0.1
        # a start that failed, and then one that did not
        up      | 1       | 10:00:00 | broker_starting |
        up      | 1       | 10:01:00 | broker_starting |
        up      | 1       | 10:01:04 | kafka_version   | kafka_version=2.8.0
        up      | 2       | 10:30:00 | kafka_version   | kafka_version=2.8.0
        """,
    )
    same(
        to_process_releases(starts),
        """
        cluster | node_id | started_at | version
        up      | 1       | 09:00:00   | 2.0.1
        up      | 1       | 09:10:00   | 2.0.1
        up      | 1       | 10:01:00   | 2.8.0
        up      | 2       | 10:30:00   | 2.8.0
        """,
    )
    terms = frame(
        CONTROLLER_TIMELINE,
        """
        cluster | controller_id | controller_epoch | since
        up      | 1             | 1                | 09:00:02
        up      | 1             | 2                | 09:30:00
        up      | 1             | 3                | 10:01:02
        up      | 2             | 4                | 10:29:00
        """,
    )
    same(
        to_term_releases(terms, starts),
        """
        cluster | controller_epoch | term_release
        up      | 1                | 2.0.1
        up      | 2                | 2.0.1
        up      | 3                | 2.8.0
        """,
    )
    assert to_node_releases(starts, ["up"]).count() == 0


def test_two_controllers_of_one_epoch(verdicts: DataFrame) -> None:
    rows = verdicts.where("subject LIKE 'controller %' AND verdict = 'violated'").collect()
    assert {row["subject"] for row in rows} == {"controller 3 epoch 5"}


def test_a_violation_says_what_was_expected(verdicts: DataFrame) -> None:
    row = verdicts.where("topic = 'doctored' AND cluster = 'zk' AND rule = 'offline_election'").first()
    assert row is not None
    assert "1" in row["expected"]
    assert "2" in row["actual"]
    assert row["explanation"] == (
        "Assignment [1, 2], ISR [1, 2], no leader, alive [1, 2]: the first replica of the assignment that is alive and "
        "in the ISR leads. So leader 1, ISR [1, 2] is expected; the log has leader 2, ISR [1, 2]."
    )
