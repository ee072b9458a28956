"""A window of history: where it is sealed and begins, which events it needs, and what shows that it is too short."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

import jobs.nightly.windows
from jobs.nightly.window_check import differing_clusters, going_on
from jobs.nightly.window_events import events_in
from jobs.nightly.windows import BEGINS, STORIES, Window, choose_windows, lasting_into, window_before
from schemas.findings import ELECTIONS, OFFLINE_PARTITIONS
from schemas.gauges import PREFERRED_REPLICA_IMBALANCE
from schemas.ingest import EVENTS
from schemas.requests import CLOCK_OFFSETS, CONTROL_REQUESTS
from schemas.tables import BY_NAME, DERIVED
from schemas.timelines import BROKER_TIMELINE, PARTITION_TIMELINE
from tests.conftest import instant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.conftest import Frame, Same

SEAL = "2026-11-21T00:00:00"
WINDOW = Window(begin=instant("2026-11-20 10:00"), compared_from=instant("2026-11-20 16:00"), seal=instant(SEAL))
WINDOWS = {"c": WINDOW}


class Tables:
    """Stands for a warehouse: `published` rows of tables, `newest` ones, all others empty."""

    def __init__(self, spark: SparkSession, published: Mapping[str, DataFrame], **newest: DataFrame) -> None:
        self.spark, self.published, self.written = spark, published, newest

    def exists(self, name: str) -> bool:
        return True

    def read(self, name: str) -> DataFrame:
        return self.published.get(name, self.spark.createDataFrame([], BY_NAME[name].schema))

    def newest(self, name: str) -> DataFrame:
        return self.written.get(name, self.read(name))


def tables(spark: SparkSession, published: Mapping[str, DataFrame], **newest: DataFrame) -> Any:
    return Tables(spark, published, **newest)


def test_each_derived_table_has_a_begin() -> None:
    assert {*BEGINS} == {table.name for table in DERIVED}
    assert {*STORIES} < {*BEGINS}


# ---- where a window is sealed, and begins ----------------------------------------------------------------------------
def day(number: int, hour: int = 0) -> datetime:
    return datetime(2026, 11, number, hour)


@pytest.fixture
def always_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs.nightly.windows, "WORTH_EVENTS", 1)
    monkeypatch.setattr(jobs.nightly.windows, "WORTH_SHARE", 0)


HISTORY = """
cluster    | at
day by day | 2026-11-18 09:00
day by day | 2026-11-20 23:30
day by day | 2026-11-21 03:30
day by day | 2026-11-21 04:59
paused     | 2026-11-11 10:00
paused     | 2026-11-12 10:00
paused     | 2026-11-13 10:00
young      | 2026-11-21 05:00
corrected  | 2026-11-18 09:00
corrected  | 2026-11-20 23:30
"""
NEWS = {name: instant("2026-11-21 05:00") for name in ("day by day", "paused", "young", "corrected")}


def test_a_window_counts_its_hours_back_from_the_last_event_before_its_seal() -> None:
    window = window_before(day(21, 4), instant("2026-11-13 10:00"), {})
    assert window == Window(day(13, 4), day(13, 7), day(21, 4), {"topic_availability": day(21)})


def test_windows_are_sealed_at_the_hour_of_the_first_news(
    spark: SparkSession, frame: Frame, always_worth: None
) -> None:
    offsets = [("corrected", 1, day(18), 2, 1.0, 2.0, 5, False, [(day(18), 1.5)])]
    published = {
        "events": frame(EVENTS, HISTORY),
        "clock_offsets": spark.createDataFrame(offsets, CLOCK_OFFSETS.schema),
    }
    windows = choose_windows(tables(spark, published), NEWS)
    # `young` has no event before its seal; the times of `corrected` depend on all that compares its clocks
    assert windows == {
        "day by day": window_before(day(21, 4), instant("2026-11-21 03:30"), {}),
        # its last lines before a silence are news, too
        "paused": window_before(day(13, 9), instant("2026-11-12 10:00"), {}),
    }


LATER_CHANGES = {  # published rows, of a seal on the 21st -> tables with a seal of their own, and the begin
    "an outage that lasts": (
        "offline_partitions",
        "topic | since | ended_before\n t | 2026-11-19 12:34 |\n u | 2026-11-18 10:00 | 2026-11-20 12:00",
        {table: day(19, 12) for table in STORIES},
        day(19, 11),
    ),
    "an incident that ended after the seal": (
        "incidents",
        "incident_id | since | until\n i | 2026-11-20 23:34 | 2026-11-21 00:10",
        {table: day(20, 23) for table in STORIES},
        None,
    ),
    "beyond the horizon": ("incidents", "incident_id | since | until\n i | 2026-11-13 23:34 |", {}, None),
    "an unclean election whose loss is not known": (
        "elections",
        """
        topic | at               | unclean | lost_records_max
        # most losses will never be known
        t     | 2026-11-20 17:34 | true    |
        t     | 2026-11-20 18:34 | true    |
        t     | 2026-11-20 18:04 | true    | 7
        t     | 2026-11-20 18:04 | false   |
        """,
        {"elections": day(20, 18)},
        day(20, 17),
    ),
    "a follower that has not come back": (
        "isr_changes",
        """
        topic | partition | incarnation | at               | kind   | added | removed
        t     | 0         | 0           | 2026-11-18 10:00 | shrink | []    | 1
        t     | 0         | 0           | 2026-11-19 10:30 | shrink | []    | 2
        t     | 0         | 0           | 2026-11-20 10:00 | expand | 1     | []
        t     | 1         | 0           | 2026-11-01 10:00 | shrink | []    | 1
        """,
        # it only makes a number of that hour greater
        {"isr_churn": day(19, 10)},
        None,
    ),
}


@pytest.mark.parametrize("case", LATER_CHANGES)
def test_what_can_change_later_has_an_earlier_seal(
    case: str, spark: SparkSession, frame: Frame, always_worth: None
) -> None:
    table, rows, own_seals, begin = LATER_CHANGES[case]
    published = {
        "events": frame(EVENTS, "at\n 2026-11-01 09:00\n 2026-11-20 23:00\n 2026-11-21 00:05:59"),
        table: frame(BY_NAME[table], rows),
    }
    window = choose_windows(tables(spark, published), {"c": instant("2026-11-21 00:06")})["c"]
    assert window.seal == day(21)
    assert window.own_seals == {**own_seals, "topic_availability": day(21)}
    assert window.begin == (begin or day(20, 17))
    assert window.seal_of("isr_changes") == "TIMESTAMP'2026-11-21 00:00:00.000000'"


def test_news_shortly_after_the_hour_is_news_of_the_hour_before(
    spark: SparkSession, frame: Frame, always_worth: None
) -> None:
    events = frame(EVENTS, "at\n 2026-11-18 09:00\n 2026-11-20 22:00\n 2026-11-21 00:03:59")
    windows = choose_windows(tables(spark, {"events": events}), {"c": instant("2026-11-21 00:04")})
    assert windows["c"].seal == day(20, 23)


def test_a_short_history_is_not_worth_a_window(spark: SparkSession, frame: Frame) -> None:
    assert choose_windows(tables(spark, {"events": frame(EVENTS, HISTORY)}), NEWS) == {}


def test_what_began_before_the_seal_and_has_ended_stays(frame: Frame, same: Same) -> None:
    states = frame(
        PARTITION_TIMELINE,
        """
        topic        | since            | until
        ended        | 2026-11-20 22:00 | 2026-11-20 23:00
        still so     | 2026-11-01 10:00 |
        lasts beyond | 2026-11-20 22:00 | 2026-11-21 00:00
        later        | 2026-11-21 00:00 | 2026-11-21 01:00
        """,
    )
    same(states.where(WINDOW.is_later("partition_timeline")), "topic\n still so\n lasts beyond\n later")
    elections = frame(ELECTIONS, "topic | at\n before | 2026-11-20 23:59\n later | 2026-11-21 00:00")
    same(elections.where(WINDOW.is_later("elections")), "topic\n later")


# ---- which events it needs -------------------------------------------------------------------------------------------
def test_what_had_ended_a_day_before_the_window_is_not_looked_through(frame: Frame, same: Same) -> None:
    """The window of c begins on the 20th at 10:00; of d all is worked out."""
    rows = """
    cluster | broker | since            | until
    c       | 1      | 2026-11-01 10:00 | 2026-11-19 09:59
    c       | 2      | 2026-11-01 10:00 | 2026-11-19 10:00
    c       | 3      | 2026-11-01 10:00 | 2026-11-20 12:00
    c       | 4      | 2026-11-01 10:00 |
    d       | 5      | 2026-11-01 10:00 | 2026-11-01 11:00
    """
    stays = frame(BROKER_TIMELINE, rows)
    same(stays.where(lasting_into(WINDOWS, "until")), "broker\n2\n3\n4\n5")
    same(stays.where(lasting_into({}, "until")), "broker\n1\n2\n3\n4\n5")


def test_events_of_a_window(spark: SparkSession, frame: Frame, same: Same) -> None:
    columns = "cluster | at | file_id | line | topic | partition | event_type | replicas"
    events = frame(
        EVENTS,
        f"""
        {columns}
        c     | 2026-11-20 10:00 | f | 1 | t | 0 | isr_updated            |
        c     | 2026-11-20 09:59 | f | 2 | t | 0 | isr_updated            |
        c     | 2026-11-19 08:00 | f | 3 | t | 0 | isr_updated            |
        c     | 2026-11-18 08:00 | f | 4 | t | 0 | isr_updated            |
        c     | 2026-11-18 08:00 | f | 5 | t | 1 | isr_updated            |
        c     | 2026-11-18 08:00 | f | 6 | t | 1 | isr_updated            |
        c     | 2026-11-01 08:00 | f | 7 |   |   | started                |
        c     | 2026-11-01 08:00 | f | 8 | t | 1 | partition_state_change | 1,2
        c     |                  | f | 9 | t | 2 | isr_updated            |
        c     | 2026-11-01 08:00 | f | 10 | t | 1 | replica_log_created   |
        other | 2026-11-01 08:00 | f | 5 | t | 0 | isr_updated            |
        """,
    )
    new_partition = "fields = map('to_state', 'NewPartition')"
    events = events.selectExpr(
        *(
            f"CASE WHEN line = 8 THEN {new_partition.split(' = ')[1]} ELSE fields END AS fields" if n == "fields" else n
            for n in events.columns
        )
    )
    states = frame(
        PARTITION_TIMELINE,
        """
        topic | partition | incarnation | leader_epoch | since            | until            | evidence
        # 0's leader began on the 19th; a state of it lasts into the window
        t     | 0         | 0           | 1            | 2026-11-18 08:00 | 2026-11-19 08:00 | 1@f:4
        t     | 0         | 0           | 2            | 2026-11-19 08:00 | 2026-11-20 09:59 | 1@f:3
        t     | 0         | 0           | 2            | 2026-11-20 09:59 |                  | 1@f:2
        # what lines of 1 are about is over, but for an outage that rests on one
        t     | 1         | 0           | 1            | 2026-11-18 08:00 | 2026-11-20 09:00 | 1@f:5
        """,
    )
    outages = frame(
        OFFLINE_PARTITIONS,
        "topic | partition | since | ended_before | evidence\n t | 1 | 2026-11-18 08:00 | | 1@f:6",
    )
    published = {"partition_timeline": states, "offline_partitions": outages}
    needed = events_in(WINDOWS, events, tables(spark, published))
    same(
        needed,
        "cluster | line\n c | 1\n c | 2\n c | 3\n c | 6\n c | 7\n c | 8\n c | 9\n c | 10\n other | 5",
    )


# ---- what counts from the begin of all logs --------------------------------------------------------------------------
def test_states_are_counted_from_where_published_ones_are(spark: SparkSession, frame: Frame, same: Same) -> None:
    columns = "topic | partition | incarnation | ordinal | leader | leader_epoch | isr | since | until"
    published = frame(
        PARTITION_TIMELINE,
        f"""
        {columns}
        t   | 0 | 0 | 40 | 1 | 7 | 1,2 | 2026-11-20 15:00 | 2026-11-20 23:00
        t   | 0 | 0 | 41 | 1 | 7 | 1   | 2026-11-20 23:00 |
        new | 0 | 0 | 0  | 1 | 0 | 1   | 2026-11-20 23:00 |
        """,
    )
    again = frame(
        PARTITION_TIMELINE,
        f"""
        {columns}
        t   | 0 | 0 | 1 | 1 | 7 | 1,2 | 2026-11-20 15:00 | 2026-11-20 23:00
        t   | 0 | 0 | 2 | 1 | 7 | 1   | 2026-11-20 23:00 | 2026-11-21 02:00
        t   | 0 | 0 | 3 | 1 | 7 | 1,2 | 2026-11-21 02:00 |
        new | 0 | 0 | 0 | 1 | 0 | 1   | 2026-11-20 23:00 |
        """,
    )
    counted = going_on("partition_timeline", again, tables(spark, {"partition_timeline": published}), WINDOWS)
    same(counted, "topic | ordinal\n t | 40\n t | 41\n t | 42\n new | 0")


def test_requests_are_counted_on_for_each_broker(spark: SparkSession, frame: Frame, same: Same) -> None:
    columns = "controller_id | broker | number | controller_epoch | sent_at | received_at | evidence"
    published = frame(
        CONTROL_REQUESTS,
        f"{columns}\n 1 | 2 | 900 | 3 | 2026-11-20 23:00 | | 1@f:5\n 1 | 3 | 20 | 3 | 2026-11-20 23:00 | | 1@f:6",
    )
    again = frame(
        CONTROL_REQUESTS,
        f"""
        {columns}
        1 | 2 | 10 | 3 | 2026-11-20 23:00 | | 1@f:5
        1 | 2 | 11 | 3 | 2026-11-21 01:00 | | 1@f:9
        1 | 3 | 0  | 3 | 2026-11-20 23:00 | | 1@f:6
        1 | 4 | 0  | 3 | 2026-11-21 01:00 | | 1@f:8
        """,
    )
    counted = going_on("control_requests", again, tables(spark, {"control_requests": published}), WINDOWS)
    same(counted, "broker | number\n 2 | 900\n 2 | 901\n 3 | 20\n 4 | 0")


def test_numbers_that_did_not_change_since_before_the_window_are_one_interval(
    spark: SparkSession, frame: Frame, same: Same
) -> None:
    columns = "broker | since | until | leaders | preferred | imbalanced"
    published = frame(
        PREFERRED_REPLICA_IMBALANCE,
        f"{columns}\n 1 | 2026-11-02 10:00 | | 3 | 2 | 0\n 2 | 2026-11-20 22:00 | | 5 | 2 | 0",
    )
    again = frame(
        PREFERRED_REPLICA_IMBALANCE,
        f"""
        {columns}
        1 | 2026-10-01 10:00 | 2026-11-21 03:00 | 3 | 2 | 0
        1 | 2026-11-21 03:00 |                  | 2 | 2 | 1
        2 | 2026-11-20 22:00 | 2026-11-21 03:00 | 6 | 2 | 0
        """,
    )
    of_broker = tables(spark, {"preferred_replica_imbalance": published})
    resumed = going_on("preferred_replica_imbalance", again, of_broker, WINDOWS)
    same(
        resumed,
        """
        broker | since            | until            | leaders
        1      | 2026-11-02 10:00 | 2026-11-21 03:00 | 3
        1      | 2026-11-21 03:00 |                  | 2
        # other numbers are another interval, and will be seen not to be the published one
        2      | 2026-11-20 22:00 | 2026-11-21 03:00 | 6
        """,
    )


# ---- what shows that it is too short ---------------------------------------------------------------------------------
STATES = "topic | partition | incarnation | ordinal | leader | since | until"
PUBLISHED_STATES = (
    "t | 0 | 0 | 1 | 1 | 2026-11-20 11:00 | 2026-11-20 17:00",
    "t | 0 | 0 | 2 | 2 | 2026-11-20 17:00 | 2026-11-20 18:00",
    "t | 0 | 0 | 3 | 1 | 2026-11-20 18:00 |",
)
OUTAGES = "topic | partition | incarnation | since | ended_before | last_leader"
PUBLISHED_OUTAGES = ("t | 1 | 0 | 2026-11-01 10:00 | | 1", "t | 2 | 0 | 2026-11-20 18:00 | 2026-11-20 19:00 | 1")
DIFFERENCES = {  # rows of a window: states, outages -> the table that shows it
    "the same": (PUBLISHED_STATES, PUBLISHED_OUTAGES, None),
    "what lasted has ended": (
        (*PUBLISHED_STATES[:2], PUBLISHED_STATES[2] + " 2026-11-21 04:00", "t | 0 | 0 | 4 | 2 | 2026-11-21 04:00 |"),
        PUBLISHED_OUTAGES,
        None,
    ),
    "what began before the hours that are compared": (
        (PUBLISHED_STATES[0].replace("| 1 | 1 |", "| 1 | 9 |"), *PUBLISHED_STATES[1:]),
        PUBLISHED_OUTAGES,
        None,
    ),
    "another leader": (
        (PUBLISHED_STATES[0], PUBLISHED_STATES[1].replace("| 2 | 2 |", "| 2 | 9 |"), PUBLISHED_STATES[2]),
        PUBLISHED_OUTAGES,
        "partition_timeline (ended rows)",
    ),
    "one is missing": (
        (PUBLISHED_STATES[0], PUBLISHED_STATES[2]),
        PUBLISHED_OUTAGES,
        "partition_timeline (ended rows)",
    ),
    "what lasts has another name": (
        (*PUBLISHED_STATES[:2], PUBLISHED_STATES[2].replace("| 3 |", "| 4 |")),
        PUBLISHED_OUTAGES,
        "partition_timeline (lasting rows)",
    ),
    "an old outage has ended": (
        PUBLISHED_STATES,
        (PUBLISHED_OUTAGES[0].replace("| | 1", "| 2026-11-21 04:00 | 1"), PUBLISHED_OUTAGES[1]),
        "offline_partitions (open rows)",
    ),
    "an outage of another leader": (
        PUBLISHED_STATES,
        (PUBLISHED_OUTAGES[0], PUBLISHED_OUTAGES[1].replace("| 1", "| 2")),
        "offline_partitions (ended rows)",
    ),
}


@pytest.mark.parametrize("case", DIFFERENCES)
def test_rows_before_the_seal_are_compared(case: str, spark: SparkSession, frame: Frame) -> None:
    states, outages, table = DIFFERENCES[case]

    def rows(states: tuple[str, ...], outages: tuple[str, ...]) -> dict[str, DataFrame]:
        return {
            "partition_timeline": frame(PARTITION_TIMELINE, "\n".join((STATES, *states))),
            "offline_partitions": frame(OFFLINE_PARTITIONS, "\n".join((OUTAGES, *outages))),
        }

    published = tables(spark, rows(PUBLISHED_STATES, PUBLISHED_OUTAGES))
    differing = differing_clusters(published, rows(states, outages), WINDOWS)
    assert differing == ({} if table is None else {"c": table})
