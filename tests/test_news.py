"""What is new to a run, and what the runs before knew and named."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jobs.nightly.news import Known, known_before
from jobs.nightly.summary_queries import with_named
from schemas.findings import ELECTIONS, OFFLINE_PARTITIONS, VERDICTS
from schemas.incidents import INCIDENTS
from schemas.ingest import LOG_FILES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame


@dataclass
class Tables:
    """A warehouse as far as `known_before` looks at it."""

    published: dict[str, DataFrame]
    written: DataFrame
    versions: dict[str, int]

    def read(self, table: str) -> DataFrame:
        return self.published[table]

    def newest(self, _: str) -> DataFrame:
        return self.written


BEFORE = """
cluster | file_id | first_at | last_at
grew    | a       | 10:00:00 | 11:00:00
late    | b       | 10:00:00 | 11:00:00
"""
AFTER = """
cluster | file_id | first_at | last_at
grew    | a       | 10:00:00 | 12:00:00
grew    | c       | 11:30:00 | 12:00:00
late    | b       | 10:00:00 | 11:00:00
late    | d       | 10:30:00 | 10:40:00
new     | e       | 09:00:00 | 10:00:00
"""
INCIDENTS_BEFORE = """
cluster | incident_id | severity | since    | until
late    | early       | major    | 10:10:00 | 10:20:00
late    | over        | major    | 10:35:00 | 10:45:00
late    | open        | minor    | 10:50:00 |
grew    | other       | major    | 10:35:00 | 10:45:00
"""


def at(hour: int, minute: int) -> datetime:
    return datetime(2026, 11, 21, hour, minute)


def test_what_is_known(frame: Frame) -> None:
    """A stream that grew, and one that begins later, bring news from the end on; late logs from their own begin on, but
    for what was published before. A cluster that nobody knew has no such time."""
    tables = {"elections": ELECTIONS, "offline_partitions": OFFLINE_PARTITIONS, "verdicts": VERDICTS}
    published = {name: frame(table, "cluster") for name, table in tables.items()}
    published |= {"log_files": frame(LOG_FILES, BEFORE), "incidents": frame(INCIDENTS, INCIDENTS_BEFORE)}
    warehouse: Any = Tables(published, frame(LOG_FILES, AFTER), {"log_files": 1})
    known = known_before(warehouse)
    assert known.until == {"grew": at(11, 0), "late": at(11, 0)}
    assert known.news_since == {"grew": at(11, 0), "late": at(10, 30)}
    assert {name: sorted(rows) for name, rows in known.named.items() if rows} == {
        "incidents": [("late", "open", "minor", None), ("late", "over", "major", at(10, 45))]
    }
    warehouse.versions = {}
    assert known_before(warehouse) == Known()


def test_which_rows_were_named(frame: Frame) -> None:
    """One that is worse by now, or over, is another."""
    rows = frame(
        INCIDENTS,
        """
cluster | incident_id | severity | since    | until
late    | over        | major    | 10:35:00 | 10:45:00
late    | worse       | critical | 10:36:00 | 10:45:00
late    | open        | minor    | 10:50:00 |
late    | ended       | minor    | 10:51:00 | 10:55:00
other   | over        | major    | 10:35:00 | 10:45:00
""",
    )
    named = {
        "incidents": [
            ("late", "over", "major", at(10, 45)), ("late", "worse", "major", at(10, 45)),
            ("late", "open", "minor", None), ("late", "ended", "minor", None),
        ]
    }  # fmt: skip
    collected = with_named(rows, "incidents", named).collect()
    assert sorted((row["cluster"], row["incident_id"]) for row in collected if row["is_named"]) == [
        ("late", "open"), ("late", "over"),
    ]  # fmt: skip
    assert len(collected) == 5
