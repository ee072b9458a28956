"""Leader epochs of which only the start is logged: who led, and when, though nobody knows the ISR.

The partition is one of a 2.2.2 cluster at INFO: 4 leads it with [3,4] when it is given to 3 (leader epochs 2 and 3),
which is shut down twice (4 and 6: no leader) and comes back twice (5 and 7). Whole states are logged of the leader
epochs 1 and 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from jobs.findings.elections import to_elections
from jobs.findings.outages import to_outages
from jobs.settings import Settings
from jobs.timelines.cluster_facts import EvidenceKinds
from jobs.timelines.leader_epoch_starts import to_leader_epoch_starts, with_leader_epoch_starts
from jobs.timelines.partitions import to_partition_timeline, with_until
from jobs.timelines.states.columns import STATES
from jobs.timelines.topics import to_numbered_incarnations
from schemas.findings import ELECTIONS
from schemas.ingest import EVENTS
from schemas.timelines import BROKER_TIMELINE, PARTITION_TIMELINE, TOPIC_TIMELINE
from tests.test_findings import LAST, TAKEOVERS, known_spans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame, Same

TOPICS = """
topic    | incarnation | since    | until
payments | 0           | 10:00:00 |
"""
WHOLE = """
topic    | partition | incarnation | history | ordinal | leader | leader_epoch | partition_epoch | isr | since       | follows | evidence
payments | 3         | 0           | 3       | 3       | 4      | 1            | 3               | 3,4 | 10:00:00.84 | true    | 4@f:1
payments | 3         | 0           | 3       | 10      | 3      | 8            | 10              | 3   | 10:01:56    | true    | 3@f:9
"""  # noqa: E501
LOGGED = """
event_type                         | topic    | partition | node_id | at          | leader | leader_epoch | line | fields
leader_epoch_started               | payments | 3         | 4       | 10:00:00.8  |        | 1            | 1    | previous_leader_epoch=0
leader_epoch_started               | payments | 3         | 3       | 10:00:00.86 |        | 2            | 2    | previous_leader_epoch=1
leader_epoch_started               | payments | 3         | 3       | 10:00:00.88 |        | 3            | 3    | previous_leader_epoch=2
become_follower_leader_unavailable | payments | 3         | 3       | 10:00:16    | -1     |              | 4    |
leader_epoch_started               | payments | 3         | 3       | 10:00:16.1  |        | 5            | 5    | previous_leader_epoch=-1
# it starts again, and logs the leader epoch that it finds
leader_epoch_started               | payments | 3         | 3       | 10:00:40    |        | 5            | 6    | previous_leader_epoch=-1
leader_epoch_started               | payments | 3         | 3       | 10:01:29    |        | 7            | 7    | previous_leader_epoch=5
# lines that contradict each other say nothing
leader_epoch_started               | payments | 3         | 3       | 10:01:50    |        | 9            | 8    | previous_leader_epoch=8
leader_epoch_started               | payments | 3         | 4       | 10:01:51    |        | 9            | 8    | previous_leader_epoch=8
# it starts again: that it leads in this leader epoch is known, since when is not
leader_epoch_started               | payments | 3         | 3       | 10:03:00    |        | 10           | 9    | previous_leader_epoch=-1
"""  # noqa: E501
FAILED = """
topic    | partition | incarnation | at       | strategy | previous_leader | succeeded | evidence
payments | 3         | 0           | 10:00:11 | offline  |                 | false     | 2@f:21
payments | 3         | 0           | 10:01:22 | offline  |                 | false     | 2@f:22
"""
BROKERS = """
broker | since    | until
3      | 09:00:00 | 10:00:11
3      | 10:00:15 | 10:01:22
3      | 10:01:28 |
"""
COVERAGE = """
2       | controller   | 10:00:00 | 10:10:00
2       | state_change | 10:00:00 | 10:10:00
"""


@pytest.fixture(scope="module")
def starts(frame: Frame) -> DataFrame:
    """Rows of the leader epochs without a whole state."""
    incarnations = to_numbered_incarnations(frame(TOPIC_TIMELINE, TOPICS))
    rows = to_leader_epoch_starts(
        frame(EVENTS, LOGGED), incarnations, frame(STATES, WHOLE), with_completed=False, with_unled=False
    )
    return rows.persist()


def test_a_leader_epoch_starts_with_its_leader_s_first_line(starts: DataFrame, same: Same) -> None:
    same(
        starts,
        """
        topic    | partition | incarnation | history | leader | leader_epoch | since       | evidence
        payments | 3         | 0           | 3       | 3      | 2            | 10:00:00.86 | 3@f:2
        payments | 3         | 0           | 3       | 3      | 3            | 10:00:00.88 | 3@f:3
        payments | 3         | 0           | 3       | 3      | 5            | 10:00:16.1  | 3@f:5
        payments | 3         | 0           | 3       | 3      | 7            | 10:01:29    | 3@f:7
        payments | 3         | 0           | 3       | 3      | 10           | 10:03:00    | 3@f:9
        """,
    )


# 2 begins to lead payments-0, and the preferred leader 1 is elected, which dies before it hears of it; of orders-0 two
# leader epochs are missing, in either of which it may have led; it leads audit-0 already; 1 is elected to lead clicks-0
# in leader epoch 6, and lines of 5 are lost; to lead views-0 in 5, for 9 logs that it writes 6 afterwards; of likes-0
# another controller logs that
COMPLETIONS = """
event_type                   | topic    | partition | node_id | at       | leader | leader_epoch | line
leader_epoch_started         | payments | 0         | 2       | 10:00:00 |        | 4            | 1
preferred_election_completed | payments | 0         | 9       | 10:00:10 | 1      |              | 2
leader_epoch_started         | payments | 0         | 2       | 10:00:20 |        | 6            | 3
leader_epoch_started         | orders   | 0         | 2       | 10:00:00 |        | 4            | 4
preferred_election_completed | orders   | 0         | 9       | 10:00:10 | 1      |              | 5
leader_epoch_started         | orders   | 0         | 2       | 10:00:20 |        | 7            | 6
leader_epoch_started         | audit    | 0         | 1       | 10:00:00 |        | 4            | 7
preferred_election_completed | audit    | 0         | 9       | 10:00:10 | 1      |              | 8
leader_epoch_started         | audit    | 0         | 2       | 10:00:20 |        | 6            | 9
leader_epoch_started         | clicks   | 0         | 2       | 10:00:00 |        | 4            | 10
preferred_election_completed | clicks   | 0         | 9       | 10:00:10 | 1      |              | 11
leader_epoch_started         | clicks   | 0         | 1       | 10:00:11 |        | 6            | 12
leader_epoch_started         | views    | 0         | 2       | 10:00:00 |        | 4            | 13
preferred_election_completed | views    | 0         | 9       | 10:00:10 | 1      |              | 14
controller_isr_removed       | views    | 0         | 9       | 10:00:11 | 1      | 6            | 15
leader_epoch_started         | likes    | 0         | 2       | 10:00:00 |        | 4            | 16
preferred_election_completed | likes    | 0         | 9       | 10:00:10 | 1      |              | 17
controller_isr_removed       | likes    | 0         | 8       | 10:00:11 | 1      | 6            | 18
"""


def test_the_one_leader_epoch_that_a_preferred_election_can_have_begun(frame: Frame, same: Same) -> None:
    names = "".join(
        f"{topic} | 0 | 10:00:00\n" for topic in ("payments", "orders", "audit", "clicks", "views", "likes")
    )
    topics = frame(TOPIC_TIMELINE, "topic | incarnation | since\n" + names)
    events, states = frame(EVENTS, COMPLETIONS), frame(STATES, "topic\n")
    rows = to_leader_epoch_starts(
        events, to_numbered_incarnations(topics), states, with_completed=True, with_unled=False
    )
    same(
        rows.where("is_elected"),
        """topic    | partition | leader | leader_epoch | since    | evidence
           payments | 0         | 1      | 5            | 10:00:10 | 9@f:2
           views    | 0         | 1      | 5            | 10:00:10 | 9@f:14""",
    )
    timeline, spans = frame(PARTITION_TIMELINE, "topic\n"), known_spans(frame, COVERAGE, "node_id")
    same(
        to_elections(timeline, events, topics, spans, EvidenceKinds(), rows),
        """topic    | partition | leader | leader_epoch | at       | previous_leader | succeeded
           payments | 0         | 1      | 5            | 10:00:10 | 2               | true
           views    | 0         | 1      | 5            | 10:00:10 | 2               | true""",
    )


# 4 follows 1, then 2, which is dead by then and logs nothing; 3 has started and finds leader epoch 6, which may be old,
# and is told of 8 as it comes, before the leader logs it; 4 begins to log about orders-0; from another directory of its
# own it fetches, too; of audit-0 two brokers name two leaders
FOLLOWED = """
event_type           | topic    | partition | node_id | at       | leader_epoch | line | fields
leader_epoch_started | payments | 0         | 1       | 10:00:00 | 4            | 1    |
fetcher_added        | payments | 0         | 4       | 10:00:01 | 4            | 2    | source_broker=1
fetcher_added        | payments | 0         | 4       | 10:00:20 | 5            | 3    | source_broker=2
fetcher_added        | payments | 0         | 3       | 10:00:01 | 4            | 4    | source_broker=1
broker_starting      |          |           | 3       | 10:00:30 |              | 5    |
fetcher_added        | payments | 0         | 3       | 10:00:40 | 6            | 6    | source_broker=5
fetcher_added        | payments | 0         | 3       | 10:00:50 | 8            | 7    | source_broker=1
fetcher_added        | payments | 0         | 4       | 10:00:55 | 9            | 8    | source_broker=4
fetcher_added        | orders   | 0         | 4       | 10:00:50 | 6            | 9    | source_broker=1
fetcher_added        | audit    | 0         | 3       | 10:01:00 | 1            | 10   | source_broker=1
fetcher_added        | audit    | 0         | 3       | 10:02:00 | 2            | 11   | source_broker=1
fetcher_added        | audit    | 0         | 4       | 10:01:00 | 1            | 12   | source_broker=1
fetcher_added        | audit    | 0         | 4       | 10:02:01 | 2            | 13   | source_broker=5
leader_epoch_started | payments | 0         | 1       | 10:00:51 | 8            | 14   | previous_leader_epoch=4
"""


def test_a_follower_tells_of_a_leader_that_logs_nothing(frame: Frame, same: Same) -> None:
    names = "".join(f"{topic} | 0 | 10:00:00\n" for topic in ("payments", "orders", "audit"))
    topics = frame(TOPIC_TIMELINE, "topic | incarnation | since\n" + names)
    one = F.struct("topic", "topic_id", "partition", "leader", "leader_epoch")
    events = frame(EVENTS, FOLLOWED).withColumn("partitions", F.when(F.col("topic").isNotNull(), F.array(one)))
    states = frame(STATES, "topic\n")
    rows = to_leader_epoch_starts(
        events, to_numbered_incarnations(topics), states, with_completed=False, with_unled=False
    )
    same(
        rows.where("is_elected"),
        """topic    | partition | leader | leader_epoch | since    | evidence
           payments | 0         | 2      | 5            | 10:00:20 | 4@f:3
           payments | 0         | 1      | 8            | 10:00:50 | 1@f:14,3@f:7""",
    )
    timeline, spans = frame(PARTITION_TIMELINE, "topic\n"), known_spans(frame, COVERAGE, "node_id")
    same(
        to_elections(timeline, events, topics, spans, EvidenceKinds(), rows).where("leader_epoch = 5"),
        """topic    | partition | leader | leader_epoch | at       | previous_leader | succeeded
           payments | 0         | 2      | 5            | 10:00:20 | 1               | true""",
    )


# 4 follows 1, is sent that nobody leads, and leads then: that was leader epoch 5. 3 hears of it later, by its clock.
# After a leader that 4 does not know two leader epochs are missing, after the last one nobody knows how many. As it has
# started it does not know since when nobody leads orders-0, nor does 3 of orders-1, which the controller takes for new
UNLED = """
event_type                         | topic    | partition | node_id | at       | leader | leader_epoch | line | correlation_id | fields
fetcher_added                      | payments | 0         | 4       | 10:00:01 |        | 4            | 1    |                | source_broker=1
become_follower_leader_unavailable | payments | 0         | 4       | 10:00:20 | -1     |              | 2    | 7              |
leader_epoch_started               | payments | 0         | 4       | 10:00:30 |        | 6            | 3    |                | previous_leader_epoch=4
fetcher_added                      | payments | 0         | 3       | 10:00:02 |        | 4            | 4    |                | source_broker=1
become_follower_leader_unavailable | payments | 0         | 3       | 10:00:31 | -1     |              | 5    | 7              |
fetcher_added                      | payments | 0         | 3       | 10:00:32 |        | 6            | 6    |                | source_broker=4
become_follower_leader_unavailable | payments | 0         | 4       | 10:00:40 | 2      |              | 7    | 7              |
become_follower_leader_unavailable | payments | 0         | 4       | 10:00:41 | -1     |              | 8    | 7              |
leader_epoch_started               | payments | 0         | 4       | 10:00:50 |        | 9            | 9    |                | previous_leader_epoch=6
become_follower_leader_unavailable | payments | 0         | 4       | 10:00:55 | -1     |              | 10   | 7              |
fetcher_added                      | orders   | 1         | 3       | 10:00:02 |        | 4            | 15   |                | source_broker=1
become_follower_leader_unavailable | orders   | 1         | 3       | 10:00:40 | -1     |              | 16   | 1              |
fetcher_added                      | orders   | 1         | 3       | 10:00:41 |        | 6            | 17   |                | source_broker=4
fetcher_added                      | orders   | 0         | 4       | 10:00:01 |        | 4            | 11   |                | source_broker=1
broker_starting                    |          |           | 4       | 10:01:00 |        |              | 12   |                |
become_follower_leader_unavailable | orders   | 0         | 4       | 10:01:20 | -1     |              | 13   | 7              |
leader_epoch_started               | orders   | 0         | 4       | 10:01:30 |        | 6            | 14   |                | previous_leader_epoch=4
"""  # noqa: E501


def test_a_leader_epoch_without_a_leader(frame: Frame, same: Same) -> None:
    topics = frame(TOPIC_TIMELINE, "topic | incarnation | since\npayments | 0 | 10:00:00\norders | 0 | 10:00:00")
    one = F.struct("topic", "topic_id", "partition", "leader", "leader_epoch")
    is_fetched = F.col("event_type") == "fetcher_added"
    events = frame(EVENTS, UNLED).withColumn("partitions", F.when(is_fetched, F.array(one)))
    states = frame(STATES, "topic\n")
    rows = to_leader_epoch_starts(events, to_numbered_incarnations(topics), states, with_unled=True)
    same(
        rows.where("topic = 'payments' OR leader_epoch <> 6"),
        """topic    | partition | leader | leader_epoch | since    | is_elected | evidence
           payments | 0         | -1     | 5            | 10:00:20 | false      | 4@f:2
           payments | 0         | 4      | 6            | 10:00:30 | true       | 4@f:3
           payments | 0         | 4      | 9            | 10:00:50 | false      | 4@f:9""",
    )
    timeline, spans = frame(PARTITION_TIMELINE, "topic\n"), known_spans(frame, COVERAGE, "node_id")
    same(
        to_elections(timeline, events, topics, spans, EvidenceKinds(), rows).where("topic = 'payments'"),
        """topic    | partition | leader | leader_epoch | at       | previous_leader | succeeded
           payments | 0         | 4      | 6            | 10:00:30 | -1              | true
           payments | 0         | 4      | 9            | 10:00:50 |                 | true""",
    )


def test_starts_stand_where_their_leader_epochs_do(frame: Frame, same: Same) -> None:
    """2 logs the start of leader epoch 5 late, for another one has a state by then; and that of 7 early, by its clock,
    for the one before it was seen later. Of a leader epoch with a state none is added; one before all states is first.
    """
    known = """
    topic | partition | incarnation | history | ordinal | leader | leader_epoch | since
    t     | 0         | 0           | 7       | 40      | 1      | 4            | 10:00:01
    t     | 0         | 0           | 7       | 41      | -1     |              | 10:00:02
    t     | 0         | 0           | 7       | 42      | 1      | 6            | 10:00:03
    """
    logged = """
    topic | partition | incarnation | history | leader | leader_epoch | since
    t     | 0         | 0           | 7       | 2      | 0            | 10:00:00
    t     | 0         | 0           | 7       | 2      | 5            | 10:00:04
    t     | 0         | 0           | 7       | 1      | 6            | 10:00:05
    t     | 0         | 0           | 7       | 2      | 7            | 10:00:02.9
    """
    topics = frame(TOPIC_TIMELINE, "topic | incarnation | since\nt | 0 | 10:00:00")
    both = with_leader_epoch_starts(frame(STATES, known), frame(STATES, logged).drop("ordinal"))
    same(
        with_until(both, topics),
        """
        leader | leader_epoch | since    | until
        2      | 0            | 10:00:00 | 10:00:01
        1      | 4            | 10:00:01 | 10:00:02
        2      | 5            | 10:00:02 | 10:00:02
        -1     |              | 10:00:02 | 10:00:03
        1      | 6            | 10:00:03 | 10:00:03
        2      | 7            | 10:00:03 |
        """,
    )


def test_elections_of_which_only_the_start_is_logged(frame: Frame, same: Same, starts: DataFrame) -> None:
    """The leader before is known where no leader epoch is missing; nothing is said of what the leaders had.

    Nobody knows when one was that only a broker shows which starts again."""
    timeline = to_partition_timeline(frame(STATES, WHOLE), frame(TOPIC_TIMELINE, TOPICS), Settings())
    spans = known_spans(frame, COVERAGE, "node_id")
    events, topics = frame(EVENTS, LOGGED), frame(TOPIC_TIMELINE, TOPICS)
    same(
        to_elections(timeline, events, topics, spans, EvidenceKinds(), starts),
        """
        leader | leader_epoch | at          | previous_leader | isr_before | unclean | evidence
        4      | 1            | 10:00:00.84 |                 |            |         | 4@f:1
        3      | 2            | 10:00:00.86 | 4               |            |         | 3@f:2
        3      | 3            | 10:00:00.88 | 3               |            | false   | 3@f:3
        3      | 5            | 10:00:16.1  |                 |            |         | 3@f:5
        3      | 7            | 10:01:29    |                 |            |         | 3@f:7
        3      | 8            | 10:01:56    | 3               |            | false   | 3@f:9
        """,
    )


def test_outages_end_as_a_leader_epoch_starts(frame: Frame, same: Same, starts: DataFrame) -> None:
    """Both elections failed, and each time the leader epoch in between was one without a leader. The ISR is unknown."""
    topics = frame(TOPIC_TIMELINE, TOPICS)
    led = with_until(with_leader_epoch_starts(frame(STATES, WHOLE), starts), topics)
    rows = to_outages(
        led,
        frame(ELECTIONS, FAILED),
        frame(BROKER_TIMELINE, BROKERS),
        known_spans(frame, COVERAGE),
        frame(EVENTS, "topic"),
        frame(TAKEOVERS, "broker"),
        frame(LAST, "broker"),
    )
    same(
        rows,
        """
        since    | until      | duration_ms | last_leader | last_isr | healed_by_broker | failed_elections | evidence
        10:00:11 | 10:00:16.1 | 5100        | 3           |          | 3                | 1                | 2@f:21
        10:01:22 | 10:01:29   | 7000        | 3           |          | 3                | 1                | 2@f:22
        """,
    )
