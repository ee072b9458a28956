"""What a night rebuilds: topics with new events, or the cluster if evidence about the time before them changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from jobs.nightly.incremental import AppendedClusters, Scope, as_of, first_difference
from jobs.nightly.plan import first_new_event_times
from jobs.timelines.cluster_facts import ClusterFacts, evidence_kinds, kinds_of_any
from jobs.timelines.lossy_hours import collect_lossy_hours
from schemas.findings import OFFLINE_PARTITIONS
from schemas.ingest import EVENTS, LOG_COVERAGE, LOG_FILES
from schemas.requests import CLOCK_OFFSETS
from schemas.timelines import BROKER_TIMELINE, CONTROLLER_TIMELINE, PARTITION_TIMELINE, TOPIC_TIMELINE
from tests.conftest import DAY, instant, read_rows
from udfs.logs.lost_minutes import LineGap, LostMinutes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from schemas.table import Table

NEWS = "10:10:00"
"""When the first new line was logged. Coverage shows that 1's log goes on from 10:08:00."""
TABLES = {
    "events": EVENTS, "log_coverage": LOG_COVERAGE, "log_files": LOG_FILES, "clock_offsets": CLOCK_OFFSETS,
    "topic_timeline": TOPIC_TIMELINE, "controller_timeline": CONTROLLER_TIMELINE, "broker_timeline": BROKER_TIMELINE,
    "offline_partitions": OFFLINE_PARTITIONS, "partition_timeline": PARTITION_TIMELINE,
}  # fmt: skip
TERMS = "controller_id | controller_epoch | since | active_since | until\n 1 | 1 | 10:00:00 | 10:00:01 |"
BROKERS = "broker | epoch | since | until | started_as | ended_by\n 2 | | 10:00:00 |"
BEFORE = {
    "log_coverage": "node_id | kind | since | until\n 1 | server | 10:00:00 | 10:08:00",
    "log_files": "kafka_versions\n 2.4.0..2.5.1",
    "topic_timeline": "topic | topic_id\n" + "\n".join(f"t{i} |" for i in range(8)) + "\n named | N",
    "controller_timeline": TERMS,
    "broker_timeline": f"{BROKERS} | new |",
}
EVENTS_NOW = """
at       | node_id | topic | topic_id | level | logger                           | event_type
10:00:00 | 1       |       |          | INFO  | kafka.server.KafkaServer         | started
10:01:00 | 1       | t1    |          | INFO  | kafka.cluster.Partition          | isr_updated
10:07:49 | 1       | t2    |          | INFO  | kafka.cluster.Partition          | isr_updated
10:07:51 | 1       | t3    |          | INFO  | kafka.cluster.Partition          | isr_updated
10:11:00 | 1       | t4    |          | INFO  | kafka.cluster.Partition          | isr_updated
10:11:00 | 1       |       |          | INFO  | kafka.controller.KafkaController | controller_ready
"""
NOW = BEFORE | {
    "log_coverage": "node_id | kind | since | until\n 1 | server | 10:00:00 | 10:15:00",
    "controller_timeline": f"{TERMS} 10:11:00\n 2 | 2 | 10:11:00 | |",
    "broker_timeline": f"{BROKERS} 10:12:00 | new | session_expired",
}


def overruns(*times: str) -> str:
    """Lines of broker 9, which goes through two partitions each time that it has announced one."""
    return "\n".join(
        f"{at} | 9 | | | INFO | state.change.logger | {name}" for at in times for name in ("one", "done", "done")
    )


@dataclass
class Case:
    """What is other than in BEFORE and NOW, lines of events that there are besides, and what is rebuilt then."""

    topics: tuple[str, ...] = ()
    reason: str = ""
    before: Mapping[str, str] = field(default_factory=dict)
    now: Mapping[str, str] = field(default_factory=dict)
    lines: str = ""
    lost: Sequence[tuple[str, str]] = ()
    """Stretches in which lines were lost; all nodes are silent from 10:03 to 10:07."""


CASES = {
    # t3's line is less than 10 s older than what is covered now and was not before
    "news": Case(("t3", "t4")),
    "an outage that lasts": Case(
        ("t1", "t3", "t4"),
        before={"offline_partitions": "topic | until | ended_before\n t1 | |\n t2 | 10:05:00 | 10:05:00"},
    ),
    "a list of partitions": Case(("t3", "t4", "t7"), lines="10:12:00 | 1 | | | INFO | x | lists_t7"),
    "a topic that is named by its id": Case(("named", "t3", "t4"), lines="10:12:00 | 1 | | N | INFO | x | y"),
    "KRaft: a leader alone in sync": Case(
        ("t1", "t3", "t4"),
        before={"partition_timeline": "topic | isr | until\n t1 | 1 |\n t2 | 1 | 10:05:00\n t5 | 1,2 |"},
        lines="10:00:02 | 1 | | | INFO | x | kraft_broker_fenced",
    ),
    "most topics": Case(
        reason="5 topics have new events (9 before)",
        lines="\n".join(f"10:12:00 | 1 | {topic} | | INFO | x | y" for topic in ("t5", "t6", "t7")),
    ),
    "a term that began earlier than was known": Case(
        reason="controller_timeline changed for times before the new events",
        now={
            "controller_timeline":
            "controller_id | controller_epoch | since | active_since\n 1 | 1 | 09:59:00 | 10:00:01"
        },
    ),
    "a broker that was gone by then": Case(
        reason="broker_timeline changed for times before the new events",
        now={
            "broker_timeline":
            "broker | since | until | started_as | ended_by\n 2 | 10:00:00 | 10:05:00 | new | fenced"
        },
    ),
    "a clock that is corrected": Case(reason="a clock is corrected", now={"clock_offsets": "node_id | applied\n 2 |"}),
    "a clock that was": Case(reason="a clock is corrected", before={"clock_offsets": "node_id | applied\n 2 |"}),
    "a log that seemed to be at WARN": Case(
        reason="the new events show that a log is at level INFO",
        now={"log_coverage": NOW["log_coverage"] + "\n 2 | server | 10:00:00 | 10:15:00"},
        before={"log_coverage": BEFORE["log_coverage"] + "\n 2 | server | 10:00:00 | 10:09:00"},
        lines="10:00:02 | 1 | | | INFO | x | kraft_broker_fenced\n10:12:00 | 2 | | | INFO | x | y",
    ),
    "a line that proves others to be missing": Case(
        reason="the new events show that logs before them are missing", lost=[("10:02:00", "10:12:00")]
    ),
    "one that was known": Case(("t3", "t4"), lost=[("10:02:00", "10:07:30"), ("10:02:00", "10:12:00")]),
    "lines that prove others of that hour to be lost": Case(
        reason="the new events show that lines before them are lost", lines=overruns(*["10:00:10"] * 4, "10:12:00")
    ),
    "those that did before": Case(("t3", "t4"), lines=overruns(*["10:00:10"] * 5, "10:12:00")),
    "those of the next hour": Case(
        ("t3", "t4"), lines="10:00:02 | 1 | | | INFO | x | kraft_broker_fenced\n" + overruns(*["11:00:00"] * 5)
    ),
    "the first eligible leader replica": Case(
        reason="evidence about eligible leader replicas changed",
        lines="10:00:02 | 1 | | | INFO | x | kraft_broker_fenced\n10:12:00 | 1 | t4 | | INFO | x | kraft_elr",
    ),
    "a term that says by now what it removes": Case(
        reason="the new events show how a controller removed offline replicas",
        lines="10:01:00 | 1 | t1 | | TRACE | x | offline\n10:12:00 | 1 | t4 | | INFO | x | replica_removed_from_isr",
    ),
    "a node that does": Case(
        reason="the new events show how a controller removed offline replicas",
        lines="10:01:00 | 1 | t1 | | TRACE | x | offline\n10:12:00 | 1 | t4 | | INFO | x | controller_isr_removed",
    ),
    "one that always did": Case(
        ("t3", "t4"),
        lines="10:01:00 | 1 | t1 | | TRACE | x | offline\n10:01:00 | 1 | t1 | | INFO | x | replica_removed_from_isr",
    ),
    "another release": Case(
        reason="evidence about its Kafka release changed", now={"log_files": "kafka_versions\n 2.5.0..2.5.1"}
    ),
}  # fmt: skip
FIELDS: Mapping[Any, dict[str, Any]] = {  # of these events more is told
    "offline": {"event_type": "replica_state_change", "controller_epoch": 1, "fields": {"to_state": "OfflineReplica"}},
    "replica_removed_from_isr": {"controller_epoch": 1},
    "lists_t7": {"partitions": [{"topic": "t7", "partition": 0}]},
    "one": {"event_type": "kraft_local_leaders_summary", "fields": {"partition_count": "1"}},
    "done": {"event_type": "partition_leader_epoch_started"},
    "kraft_elr": {"event_type": "kraft_partition_changed", "fields": {"elr": "3"}},
}


@dataclass
class Tables:
    """Stands for the warehouse: what was published, and what is there now."""

    published: dict[str, DataFrame]
    written: dict[str, DataFrame]

    def read(self, name: str) -> DataFrame:
        return self.published[name]

    def newest(self, name: str) -> DataFrame:
        return self.written[name]


def rows_of(spark: SparkSession, table: Table, texts: Mapping[str, str]) -> DataFrame:
    """Rows of a table in one frame, by cluster as text; of events in FIELDS, and of corrected clocks, more is told."""
    frame_rows = []
    for cluster, text in texts.items():
        names, rows = read_rows(table.schema, text)
        for line, row in enumerate(rows, 1):
            values = {
                "cluster": cluster,
                "file_id": "f",
                "line": line,
                "node_id": 1,
                **dict(zip(names, row, strict=True)),
            }
            values |= FIELDS.get(values.get("event_type"), {})
            values |= {"applied": [(instant(NEWS), 1.0)]} if table is CLOCK_OFFSETS else {}
            frame_rows.append(tuple(values.get(name) for name in table.columns))
    return spark.createDataFrame(frame_rows, table.schema)


def micros(at: str) -> int:
    """A time of day in microseconds."""
    return (instant(at) - datetime(1970, 1, 1)) // timedelta(microseconds=1)


@pytest.fixture(scope="module")
def rebuilt(spark: SparkSession) -> tuple[Scope, dict[str, str]]:
    """What is rebuilt, where each case is a cluster, and why."""
    texts = {
        name: ({**BEFORE, **case.before}, {**NOW, **case.now, "events": f"{EVENTS_NOW}{case.lines}"})
        for name, case in CASES.items()
    }

    def tables(side: int) -> dict[str, DataFrame]:
        return {
            name: rows_of(
                spark, table, {case: sides[side].get(name, table.columns[0]) for case, sides in texts.items()}
            )
            for name, table in TABLES.items()
        }

    published, now = tables(0), tables(1)
    kinds = evidence_kinds(now["events"])
    silences = (LineGap(micros("10:03:00"), micros("10:07:00")),)
    lost = {
        name: LostMinutes(tuple(LineGap(micros(since), micros(until)) for since, until in case.lost), silences)
        for name, case in CASES.items()
    }
    facts = ClusterFacts(
        now["events"],
        now["log_coverage"],
        kinds_of_any(kinds.values()),
        kinds,
        lost_minutes=lost,
        lossy_hours=collect_lossy_hours(now["events"]),
    )
    appended = AppendedClusters(
        cast("Any", Tables(published, now)), dict.fromkeys(CASES, instant(NEWS)), now["events"], facts, {}
    )
    new = (now[name] for name in ("clock_offsets", "controller_timeline", "broker_timeline"))
    return appended.scope([*CASES, "another"], *new), appended.reasons


@pytest.mark.parametrize("case", CASES)
def test_what_is_rebuilt(case: str, rebuilt: tuple[Scope, dict[str, str]]) -> None:
    scope, reasons = rebuilt
    assert reasons.get(case, "") == CASES[case].reason
    assert scope.topics.get(case, ()) == CASES[case].topics
    assert (case in scope.whole) == bool(CASES[case].reason)
    assert "another" in scope.whole  # without such news


PUBLISHED = """
file_id | line | at       | node_id | event_type | detail
f       | 1    | 10:00:00 | 1       | x          |
f       | 3    | 10:01:00 | 1       | x          |
f       | 7    | 10:02:00 | 1       | x          |
"""
READ_AGAIN = {  # the same streams tonight -> since when there is news; None: whatever was there is not as it was
    "it has grown": (PUBLISHED + "f | 9 | 10:05:00 | 1 | x |\nf | 11 | 10:06:00 | 1 | x |", "10:05:00"),
    "its last event got further lines": (PUBLISHED[:-1] + " at java.lang\nf | 9 | 10:05:00 | 1 | x |", "10:02:00"),
    "a new stream": (PUBLISHED + "g | 1 | 09:00:00 | 1 | x |", "09:00:00"),
    "nothing new": (PUBLISHED, None),
    "another node": (PUBLISHED.replace("10:00:00 | 1 ", "10:00:00 | 2 "), None),
    "another zone": (PUBLISHED.replace("10:00:00", "11:00:00") + "f | 9 | 10:05:00 | 1 | x |", None),
    "an event is gone": (PUBLISHED.replace("f       | 3    | 10:01:00 | 1       | x          |\n", ""), None),
    "the last one is gone": (PUBLISHED.replace("f       | 7    | 10:02:00 | 1       | x          |\n", ""), None),
    "all are gone": (PUBLISHED.replace("f   ", "g   "), None),
    "one without a time": (PUBLISHED + "f | 9 | | 1 | x |\nf | 11 | 10:06:00 | 1 | x |", None),
}  # fmt: skip


READ_ON = {  # the same, where f was read from its line 7 on
    "it has grown": "10:05:00",
    "its last event got further lines": "10:02:00",
    "a new stream": "09:00:00",
    "nothing new": None,
    "the last one is gone": None,
    "one without a time": None,
}


@pytest.fixture(scope="module")
def news(spark: SparkSession) -> tuple[dict[str, datetime], dict[str, datetime]]:
    """Since when there is news, where each case is a cluster; and if f was read from its line 7 on."""
    published = rows_of(spark, EVENTS, dict.fromkeys(READ_AGAIN, PUBLISHED))
    now = rows_of(spark, EVENTS, {case: text for case, (text, _) in READ_AGAIN.items()})
    tables = cast("Any", Tables({"events": published}, {"events": now}))
    return first_new_event_times(tables, {"f": 1, "g": 1}), first_new_event_times(tables, {"f": 7, "g": 1})


@pytest.mark.parametrize("case", READ_AGAIN)
def test_since_when_there_is_news(case: str, news: tuple[dict[str, datetime], dict[str, datetime]]) -> None:
    since = READ_AGAIN[case][1]
    assert news[0].get(case) == (None if since is None else instant(since))


@pytest.mark.parametrize("case", READ_ON)
def test_since_when_there_is_news_in_a_stream_that_was_read_on(
    case: str, news: tuple[dict[str, datetime], dict[str, datetime]]
) -> None:
    since = READ_ON[case]
    assert news[1].get(case) == (None if since is None else instant(since))


SPANS_OF_A_LOG = {  # hours before, and now -> the first that only one of them has
    "the same": ([(1, 2)], [(1, 2)], None),
    "it goes on": ([(1, 2)], [(1, 5)], 2),
    "after a hole": ([(1, 2)], [(1, 2), (4, 5)], 4),
    "a hole is filled": ([(1, 2), (4, 5)], [(1, 5)], 2),
    "an older log": ([(3, 4)], [(1, 2), (3, 4)], 1),
    "the first": ([], [(3, 4)], 3),
    "gone": ([(1, 2), (3, 4)], [(1, 2)], 3),
}


@pytest.mark.parametrize("case", SPANS_OF_A_LOG)
def test_the_first_difference_of_coverage(case: str) -> None:
    before, after, expected = SPANS_OF_A_LOG[case]

    def hour(number: int) -> datetime:
        return datetime.fromisoformat(f"{DAY} {number:02}:00")

    sides = ([(hour(a), hour(b)) for a, b in side] for side in (before, after))
    assert first_difference(*sides) == (None if expected is None else hour(expected))


def test_what_was_known_by_a_time() -> None:
    noon, row = instant("12:00:00"), {"id": 1, "since": instant("11:00:00"), "until": None, "ended_by": None}
    ended = row | {"until": instant("12:30:00"), "ended_by": "fenced"}
    columns = ("id", "since", "until", "ended_by")
    assert as_of([row], columns, noon) == as_of([ended], columns, noon) == {(1, instant("11:00:00"), None, None)}
    earlier = row | {"until": instant("11:30:00"), "ended_by": "fenced"}
    assert as_of([earlier], columns, noon) == {(1, instant("11:00:00"), instant("11:30:00"), "fenced")}
    assert as_of([row | {"since": noon}], columns, noon) == set()


def test_rows_and_events_of_a_scope() -> None:
    scope = Scope(("all",), {"some": ("a-1", "it's"), "none": ()})
    assert scope.clusters == ("all", "none", "some")
    assert scope.rows_of("isr_churn") == "cluster IN ('all', 'none', 'some')"
    assert scope.rows_of("elections") == (
        "cluster IN ('all') OR cluster = 'none' AND (false) OR cluster = 'some' AND (topic IN ('a-1', 'it\\'s'))"
    )
    assert "(topic IN ('a-1', 'it\\'s') OR topic IS NULL)" in scope.rows_of("verdicts")  # those of controllers
    assert "OR topic IS NULL OR event_type IN (" in scope.events
