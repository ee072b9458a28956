"""`optimize`: fewer files, the same rows, and nothing gone that a published run pinned."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jobs.nightly.optimize import STEP, Compaction, compact, compaction_text
from jobs.read.views import open_views
from jobs.warehouse.tables import open_warehouse
from schemas.ingest import EVENTS, REJECTS
from schemas.table import Table
from udfs.errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import Frame

AT = datetime(2026, 11, 21, 10)


def lines(root: Path, table: str = "rejects") -> list[int]:
    """What a reader sees without Spark."""
    with open_views(str(root), only=[table]) as connection:
        return [line for (line,) in connection.execute(f"SELECT line FROM {table} ORDER BY line").fetchall()]


def files(root: Path, table: str = "rejects") -> int:
    return len(list((root / table).glob("*.parquet")))


@pytest.mark.runs
def test_many_nights_become_one_file(spark: SparkSession, frame: Frame, tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    rows: dict[str, Any] = {"started_at": AT, "finished_at": AT, "rows": {"rejects": 3}, "status": "published"}

    def night(table: Table, line: int) -> None:
        warehouse = open_warehouse(spark, str(root), create=True)
        warehouse.write(table, frame(table, f"file_id | line\na | {line}").coalesce(1), append=True)
        warehouse.publish(
            {**rows, "table_versions": {**warehouse.versions, **warehouse.written}, "pending": {"x": ["c"]}}
        )

    for line in (1, 2, 3):
        night(REJECTS, line)
    night(EVENTS, 1)
    warehouse = open_warehouse(spark, str(root), create=False)
    warehouse.write(REJECTS, frame(REJECTS, "file_id | line\na | 9").coalesce(1), append=True)  # a run that was killed
    assert files(root) == 4

    messages: list[str] = []
    warehouse = open_warehouse(spark, str(root), create=False)
    pinned = warehouse.versions["rejects"]
    compactions = {c.table: c for c in compact(warehouse, 168, messages.append)}
    assert messages == ["rejects was rolled back: an earlier run was not published"]
    assert compactions["rejects"] == Compaction("rejects", 3, 1)
    assert compactions["events"] == Compaction("events", 1, 1)
    assert lines(root) == [1, 2, 3]
    assert files(root) == 5  # the old ones stay for a week

    warehouse = open_warehouse(spark, str(root), create=False)
    last = warehouse.read("runs").orderBy("run_id").collect()[-1]
    assert (last["steps"], last["rows"]) == ([STEP], {"rejects": 3})
    assert warehouse.versions["rejects"] > pinned
    assert (warehouse.rows, warehouse.pending) == ({"rejects": 3}, {"x": ["c"]})
    assert warehouse.roll_back() == []

    compact(warehouse, 0, messages.append)  # nothing to compact: no run is added, old files go
    assert open_warehouse(spark, str(root), create=False).last_run == warehouse.last_run
    assert (files(root), lines(root)) == (1, [1, 2, 3])
    night(REJECTS, 4)
    assert lines(root) == [1, 2, 3, 4]


def test_a_warehouse_without_tables(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Nothing is published"):
        compact(open_warehouse(spark, str(tmp_path / "w"), create=True), 168, print)


def test_what_was_done_in_words() -> None:
    assert compaction_text([Compaction("events", 35, 2), Compaction("runs", 1, 1)]).splitlines() == [
        "Compacted:",
        "  events                           35 files are 2 now",
        "  1 other tables have as few files as they need.",
    ]
    assert (
        compaction_text([Compaction("runs", 1, 1)]) == "Nothing to compact: all tables have as few files as they need."
    )
