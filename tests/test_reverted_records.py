"""What controllers log of records that were never committed, from lines written by hand; a case is a cluster of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from jobs.timelines.reverted_records import collect_reverted_spans, without_reverted
from schemas.ingest import EVENTS
from schemas.timelines import CONTROLLER_TIMELINE
from tests.conftest import instant
from udfs.rules.parsing import read_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from tests.conftest import Frame, Same

CONTROLLERS = "org.apache.kafka.controller."
TERMS = """
controller_id | controller_epoch | mode  | since    | active_since | until
100           | 2                | kraft | 10:00:00 | 10:00:00     | 10:10:00
101           | 3                | kraft | 10:10:00 | 10:10:00.5   |
"""
RENOUNCED = "QuorumController | Renouncing the leadership due to a metadata log event. We were the leader at epoch 2, but in the new epoch 3, the leader is 101. Reverting to last stable offset 640."
FOLLOWS = "QuorumController | In the new epoch 3, the leader is 101."
ELECTED = "QuorumController | Becoming the active controller at epoch 3, next write offset 641."
STARTED = "QuorumController | Creating new QuorumController with clusterId d8FgH1jKLm-NoPq_RsTu5w."
LOADED = "ConfigurationControlManager | Replayed ConfigRecord for ConfigResource(type=TOPIC, name='pay-in') which set configuration min.insync.replicas to 2"
FENCING = "ReplicationControlManager | Fencing broker {} because its session has timed out."
FENCED = "ClusterControlManager | Replayed BrokerRegistrationChangeRecord modifying the registration for broker {0}: BrokerRegistrationChangeRecord(brokerId={0}, brokerEpoch=31, fenced=1, inControlledShutdown=0, logDirs=[])"
TEXTS = {
    "renounced": RENOUNCED,
    "follows 101": FOLLOWS,
    "elected": ELECTED,
    "started": STARTED,
    "config": LOADED,
    **{f"fencing {broker}": FENCING.format(broker) for broker in range(1, 5)},
    **{f"fenced {broker}": FENCED.format(broker) for broker in range(1, 5)},
}
"""What the lines of cases stand for: the logger's class and the message."""

CASES = {  # at | node | line; `x`: it is about a record that was not committed
    "a paused controller goes on fencing after its successor was elected, until it learns of that": """
10:09:40    | 100 | fencing 1
10:10:00.5  | 101 | elected
10:10:20    | 100 | fencing 2   | x
10:10:20.01 | 100 | fenced 2    | x
10:10:20.01 | 101 | fencing 3
10:10:20.02 | 100 | renounced
10:10:21    | 100 | fenced 3
""",
    "it learns of that by another line, as after an append that failed": """
10:10:20    | 100 | fencing 2   | x
10:10:20.02 | 100 | follows 101
10:10:21    | 100 | fenced 3
""",
    "it was killed before it learned of that: its next process knows": """
10:09:40    | 100 | fencing 1
10:10:20    | 100 | fencing 2   | x
10:12:00    | 100 | started
10:12:00.1  | 100 | fenced 1
""",
    "no line shows that it learned of it": """
10:10:00.5  | 101 | elected
10:10:20    | 100 | fencing 2
""",
    "who is cut off writes what nobody replays, and nothing that it writes behind that is committed": """
10:05:00    | 101 | config
10:09:52    | 100 | fencing 1
10:09:52.01 | 100 | fenced 1
10:09:52.03 | 101 | fenced 1
10:09:56    | 100 | fencing 2   | x
10:09:56.01 | 100 | fenced 2    | x
10:09:57    | 100 | fencing 3   | x
10:09:59    | 100 | renounced
10:10:00.5  | 101 | elected
""",
    "another controller replays it, which was there all the time": """
10:05:00    | 101 | config
10:09:56    | 100 | fencing 2
10:09:56.01 | 100 | fenced 2
10:09:59    | 100 | renounced
10:10:00.5  | 101 | elected
10:10:02    | 102 | fenced 2
""",
    "the successor replays it as it becomes active": """
10:05:00    | 101 | config
10:09:56    | 100 | fencing 2
10:09:56.01 | 100 | fenced 2
10:09:59    | 100 | renounced
10:10:00.5  | 101 | fenced 2
10:10:00.5  | 101 | elected
""",
    "the successor does the same anew, and others replay that": """
10:05:00    | 101 | config
10:09:56    | 100 | fencing 2   | x
10:09:56.01 | 100 | fenced 2    | x
10:09:59    | 100 | renounced
10:10:00.5  | 101 | elected
10:10:03    | 101 | fenced 2
10:10:03.01 | 102 | fenced 2
""",
    "a process that starts replays old records, and is no proof": """
10:05:00    | 101 | config
10:09:56    | 100 | fencing 2   | x
10:09:56.01 | 100 | fenced 2    | x
10:09:59    | 100 | renounced
10:10:00.5  | 101 | elected
10:10:02    | 102 | started
10:10:03    | 102 | fenced 2
""",
    "the successor itself had just started": """
10:09:30    | 101 | started
10:09:40    | 101 | config
10:09:56    | 100 | fencing 2
10:09:56.01 | 100 | fenced 2
10:09:59    | 100 | renounced
10:10:00.5  | 101 | elected
""",
    "without the successor's log it may have replayed what was written before": """
10:09:56    | 100 | fencing 2
10:09:56.01 | 100 | fenced 2
10:10:20    | 100 | fencing 3   | x
10:10:20.02 | 100 | renounced
""",
    "a clock that is ahead: what seems to be written behind the election was replayed before it": """
10:05:00    | 101 | config
10:10:00.6  | 100 | fencing 2
10:10:00.61 | 100 | fenced 2
10:09:59.9  | 101 | fenced 2
10:10:00.5  | 101 | elected
10:10:00.62 | 100 | renounced
""",
    "a clock that may be ahead, and no successor's log": """
10:10:00.6  | 100 | fencing 2
10:10:00.62 | 100 | renounced
""",
    "right behind the election, and the successor was there": """
10:05:00    | 101 | config
10:10:00.6  | 100 | fencing 2   | x
10:10:00.61 | 100 | fenced 2    | x
10:10:00.62 | 100 | renounced
10:10:00.5  | 101 | elected
""",
    "what only one controller logs, at DEBUG": """
10:05:00    | 101 | config
10:09:56    | 100 | DEBUG config
10:09:59    | 100 | renounced
10:10:00.5  | 101 | elected
""",
}


OTHER_TERMS = """
cluster   | controller_id | controller_epoch | mode  | since    | active_since | until
took over | 100           | 2                | kraft | 10:09:54 | 10:09:56     | 10:10:00
took over | 101           | 3                | kraft | 10:10:00 | 10:10:00.5   |
was none  | 100           | 2                | kraft | 10:09:54 |              | 10:10:00
was none  | 101           | 3                | kraft | 10:10:00 | 10:10:00.5   |
rotated   | 100           | 2                | kraft | 10:00:00 | 10:00:00     | 10:10:00
rotated   | 101           | 3                | kraft | 10:10:00 | 10:10:00.5   |
"""
KEPT = {  # as it became active it replayed what others wrote; it never became active; in 101's log a new file began
    "took over": """
10:05:00    | 101 | config
10:09:56    | 100 | fenced 2
10:09:59    | 100 | renounced
10:10:00.5  | 101 | elected
""",
    "was none": """
10:05:00    | 101 | config
10:09:56    | 100 | fenced 2
10:09:59    | 100 | follows 101
10:10:00.5  | 101 | elected
""",
    "rotated": """
10:09:30    | 101 | started
10:09:40    | 101 | config
10:09:56    | 100 | fenced 2
10:09:59    | 100 | renounced
10:10:00.5  | 101 | elected
""",
}


def lines_of(cases: Mapping[str, str]) -> list[list[str]]:
    """cluster, at, node, line, `x` or nothing."""
    rows = []
    for name, text in cases.items():
        for row in text.strip().splitlines():
            cells = [cell.strip() for cell in row.split("|")]
            rows.append([name, *cells, *[""] * (4 - len(cells))])
    return rows


def as_events(frame: Frame, cases: Mapping[str, str]) -> DataFrame:
    """The lines of cases as rules read them."""
    rows = ["cluster | at | node_id | level | logger | message | event_type | controller_epoch"]
    for cluster, at, node, line, _ in lines_of(cases):
        name = line.removeprefix("DEBUG ")
        level = "INFO" if name == line else "DEBUG"
        logger, message = TEXTS[name].split(" | ")
        event = read_message(CONTROLLERS + logger, f"[QuorumController id={node}] {message}")
        assert event is not None, name
        cells = (cluster, at, node, level, CONTROLLERS + logger, f"[QuorumController id={node}] {message}")
        rows.append(" | ".join((*cells, event["event_type"], str(event.get("controller_epoch", "")))))
    return frame(EVENTS, "\n".join(rows))


@pytest.fixture(scope="module")
def events(frame: Frame) -> DataFrame:
    return as_events(frame, CASES)


@pytest.fixture(scope="module")
def controllers(frame: Frame) -> DataFrame:
    clusters = F.explode(F.array(*map(F.lit, CASES)))
    return frame(CONTROLLER_TIMELINE, TERMS).withColumn("cluster", clusters).select(*CONTROLLER_TIMELINE.columns)


def test_lines_about_records_that_were_not_committed_are_left_out(
    events: DataFrame, controllers: DataFrame, same: Same
) -> None:
    spans = collect_reverted_spans(events, controllers)
    kept = [f"{cluster} | {n}" for n, (cluster, *_, mark) in enumerate(lines_of(CASES), 1) if not mark]
    same(without_reverted(events, spans), "\n".join(("cluster | line", *kept)))


def test_spans_begin_with_the_first_such_record_and_end_as_the_controller_learns_of_it(
    events: DataFrame, controllers: DataFrame
) -> None:
    spans = {row[0]: tuple(row[1:]) for row in collect_reverted_spans(events, controllers)}
    paused, _, _, _, cut_off, *_ = CASES
    # from 1 s after the election on, for clocks; from 50 ms before the record on, for what led to it is logged first
    assert spans[paused] == (100, instant("10:10:01"), instant("10:10:20.02"))
    assert spans[cut_off] == (100, instant("10:09:55.96"), instant("10:09:59"))


def test_what_may_be_of_others_is_kept(frame: Frame) -> None:
    events = as_events(frame, KEPT).withColumn(
        "file_id", F.when(F.col("event_type").endswith("created"), "f").otherwise("g")
    )
    assert not collect_reverted_spans(events, frame(CONTROLLER_TIMELINE, OTHER_TERMS))


def test_nothing_is_looked_for_where_no_span_is(events: DataFrame) -> None:
    assert without_reverted(events, []) is events
