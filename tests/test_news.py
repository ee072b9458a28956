"""Since when lines are new to a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from jobs.nightly.news import known_until
from schemas.ingest import LOG_FILES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.conftest import Frame


@dataclass
class LogFiles:
    """A warehouse as far as `known_until` looks at it."""

    published: DataFrame
    written: DataFrame
    versions: dict[str, int]

    def read(self, _: str) -> DataFrame:
        return self.published

    def newest(self, _: str) -> DataFrame:
        return self.written


def test_known_until(frame: Frame) -> None:
    """A stream that grew, and one that begins later, bring news from the end on; late logs from their own begin on;
    a cluster that nobody knew has no such time."""
    before = """
cluster | file_id | first_at | last_at
grew    | a       | 10:00:00 | 11:00:00
late    | b       | 10:00:00 | 11:00:00
"""
    after = """
cluster | file_id | first_at | last_at
grew    | a       | 10:00:00 | 12:00:00
grew    | c       | 11:30:00 | 12:00:00
late    | b       | 10:00:00 | 11:00:00
late    | d       | 10:30:00 | 10:40:00
new     | e       | 09:00:00 | 10:00:00
"""
    log_files = LogFiles(frame(LOG_FILES, before), frame(LOG_FILES, after), {"log_files": 1})
    assert known_until(log_files) == {"grew": datetime(2026, 11, 21, 11), "late": datetime(2026, 11, 21, 10, 30)}  # type: ignore[arg-type]
    log_files.versions = {}
    assert known_until(log_files) == {}  # type: ignore[arg-type]
