"""What an election of ZooKeeper at INFO may have gone by, of which its own lines print neither kind nor ISR."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from jobs.findings.broker_signs import to_broker_signs, with_doubts
from jobs.findings.decision_inputs import to_election_inputs
from jobs.findings.switches import with_default_switch
from jobs.settings import Settings
from jobs.timelines.known_spans import CONTROLLER_LOGS, to_known_spans
from jobs.timelines.topics import INCARNATION
from schemas.findings import ELECTIONS
from schemas.ingest import EVENTS, LOG_COVERAGE
from schemas.spark import FLAG, TEXT, struct
from schemas.timelines import BROKER_TIMELINE, PARTITION_TIMELINE, TOPIC_TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame, Same

ELECTED = """
cluster | topic  | partition | at       | previous_leader | leader | leader_epoch | isr_before | isr | strategy | succeeded | evidence
# 2 leads after 1, which had [1, 2, 3] in sync last
zk      | led    | 0         | 10:01:00 | 1               | 2      | 5            |            | 2,3 |          | true      | 2@f:9
kraft   | led    | 0         | 10:01:00 | 1               | 2      | 5            |            |     |          | true      | 2@f:9
# after 1 was lost, and nobody led in leader epoch 5
zk      | lost   | 0         | 10:01:00 | -1              | 2      | 6            |            |     |          | true      | 2@f:10
zk      | alone  | 0         | 10:01:00 | -1              | 1      | 6            |            |     |          | true      | 1@f:11
# the state without a leader is known
zk      | stated | 0         | 10:01:00 | -1              | 3      | 6            |            |     |          | true      | 3@f:12
# of the leader epoch before no state is known
zk      | gap    | 0         | 10:01:00 |                 | 2      | 7            |            |     |          | true      | 2@f:13
# the state is younger than the election, by the clocks of two nodes
zk      | later  | 0         | 09:59:00 | 1               | 2      | 5            |            |     |          | true      | 2@f:14
# a line prints the ISR before
zk      | traced | 0         | 10:01:00 | 1               | 2      | 5            | 1,2        | 2   | offline  | true      | 2@f:15
"""  # noqa: E501
STATES = """
cluster | topic  | partition | leader | leader_epoch | isr   | since    | evidence
zk      | led    | 0         | 1      | 4            | 1,2   | 10:00:00 | 1@g:1
zk      | led    | 0         | 1      | 4            | 1,2,3 | 10:00:30 | 1@g:2,1@g:3
zk      | led    | 0         | 2      | 5            | 2,3   | 10:01:00 | 2@g:11
kraft   | led    | 0         | 1      | 4            | 1,2,3 | 10:00:30 | 1@g:2
zk      | lost   | 0         | 1      | 4            | 1,2,3 | 10:00:00 | 1@g:4
zk      | alone  | 0         | 1      | 4            | 1     | 10:00:00 | 1@g:5
zk      | stated | 0         | 1      | 4            | 1,2,3 | 10:00:00 | 1@g:6
zk      | stated | 0         | -1     | 5            | 3     | 10:00:30 | 9@g:7
zk      | gap    | 0         | 1      | 4            | 1,2   | 10:00:00 | 1@g:8
zk      | later  | 0         | 1      | 4            | 1,2   | 10:00:00 | 1@g:9
zk      | traced | 0         | 1      | 4            | 1,2   | 10:00:00 | 1@g:10
"""
PLAUSIBLE = """
cluster | topic  | plausible_isr | evidence
zk      | led    | 1,2,3         | 2@f:9,1@g:2
kraft   | led    |               | 2@f:9
zk      | lost   | 2,3           | 2@f:10,1@g:4
zk      | alone  | 1             | 1@f:11,1@g:5
zk      | stated | 3             | 3@f:12,9@g:7
zk      | gap    |               | 2@f:13
zk      | later  |               | 2@f:14
zk      | traced |               | 2@f:15
"""
BROKERS = """
cluster | broker | since    | until    | evidence
zk      | 1      | 09:30:00 | 10:00:50 | 9@c:1,9@c:4
zk      | 2      | 09:30:00 |          | 9@c:1
zk      | 3      | 10:00:40 |          | 9@c:3
"""
COVERAGE = """
cluster | node_id | kind       | since    | until
zk      | 9       | controller | 09:00:00 | 11:00:00
"""


def inputs(frame: Frame, begun: DataFrame | None = None) -> DataFrame:
    """Inputs of the elections above."""
    events, brokers = frame(EVENTS, "event_type\n"), frame(BROKER_TIMELINE, BROKERS)
    first = F.lit(0)
    replicas = F.array(*map(F.lit, (1, 2, 3)))
    states = frame(PARTITION_TIMELINE, STATES).withColumns({"incarnation": first, "replicas": replicas})
    states = states.withColumn("ordinal", F.unix_micros("since"))
    signs = to_broker_signs(states.where("false"), events)
    return to_election_inputs(
        with_default_switch(frame(ELECTIONS, ELECTED).withColumn("incarnation", first), None),
        states,
        with_doubts(brokers, signs),
        signs,
        frame(TOPIC_TIMELINE, "topic\n"),
        to_known_spans(frame(LOG_COVERAGE, COVERAGE), CONTROLLER_LOGS, timedelta(hours=1), "cluster"),
        events,
        Settings(),
        events.sparkSession.createDataFrame([("kraft", True)], struct(cluster=TEXT, raises_epoch_of_shrink=FLAG)),
        begun,
    )


def test_the_isr_that_the_lines_before_leave(frame: Frame, same: Same) -> None:
    same(inputs(frame), PLAUSIBLE)


@pytest.mark.parametrize(
    ("begun_at", "certain", "possible"),
    [("10:01:00.5", [2, 3], [2, 3]), ("10:01:02", None, None), (None, None, None)],
    ids=["the leader logs it then", "it logs it later: it was not dated by that line", "nobody logs it"],
)
def test_who_was_online_as_a_leader_epoch_began(
    frame: Frame, begun_at: str | None, certain: list[int] | None, possible: list[int] | None
) -> None:
    """Between the state before, at 10:00:30, and the election 3 came and 1 went: whichever the controller knew of."""
    rows = "" if begun_at is None else f"zk | led | 0 | 0 | 5 | {begun_at}"
    begun = frame(ELECTIONS, f"cluster | topic | partition | incarnation | leader_epoch | at\n{rows}")
    begun = begun.select(*INCARNATION, "leader_epoch", F.col("at").alias("begun_at"))
    row = inputs(frame, begun).where("cluster = 'zk' AND topic = 'led'").first()
    assert row is not None
    assert [sorted(row[name]) for name in ("certainly_online", "possibly_online")] == [[2], [1, 2, 3]]
    online = row["online_as_begun"]
    seen = (None, None) if online is None else (sorted(online["certain"]), sorted(online["possible"]))
    assert seen == (certain, possible)
