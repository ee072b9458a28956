"""What readers see is what the last published run pinned."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jobs.warehouse import check_root, open_warehouse, run_row
from schemas.ingest import REJECTS
from schemas.ledger import RUNS
from udfs.streams import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import Frame

AT = datetime(2026, 11, 21, 10)


def test_pinned_versions(spark: SparkSession, frame: Frame, tmp_path: Path) -> None:
    """Write, publish, write on: readers see the published version, and the next run takes the rest back."""
    root = str(tmp_path / "new" / "warehouse")
    warehouse = open_warehouse(spark, root, create=True)
    assert warehouse.read("rejects").count() == 0

    warehouse.write(REJECTS, frame(REJECTS, "file_id | line | reason\na | 1 | x\na | 2 | y"))
    pinned = {"rejects": warehouse.version("rejects")}
    row = run_row(spark, 1, AT, AT, "0", ["c"], ["/logs"], pinned, {"rejects": 2}, {}, "published")
    warehouse.write(RUNS, row)

    warehouse.write(REJECTS, frame(REJECTS, "file_id | line | reason\na | 3 | z"), append=True)
    warehouse.delete(REJECTS, "line = 1")
    refused = {"rejects": warehouse.version("rejects")}
    warehouse.write(
        RUNS, run_row(spark, 2, AT, AT, "0", [], [], refused, {}, {"rejects.typed": 1}, "refused"), append=True
    )

    warehouse = open_warehouse(spark, root, create=False)
    assert (warehouse.last_run, warehouse.versions) == (2, pinned)
    assert sorted(row["line"] for row in warehouse.read("rejects").collect()) == [1, 2]
    assert warehouse.read("events").columns[0] == "cluster"
    assert warehouse.take_back() == ["rejects"]
    rows = spark.read.format("delta").load(warehouse.path("rejects"))
    assert sorted(row["line"] for row in rows.collect()) == [1, 2]


def test_some_rows_are_replaced(spark: SparkSession, frame: Frame, tmp_path: Path) -> None:
    warehouse = open_warehouse(spark, str(tmp_path / "warehouse"), create=True)
    text = "cluster | file_id | line\na | f | 1\nb | f | 2"
    warehouse.write(REJECTS, frame(REJECTS, text), replace="cluster IN ('a')")  # there is no table yet
    warehouse.write(REJECTS, frame(REJECTS, "cluster | file_id | line\na | f | 3"), replace="cluster IN ('a')")
    rows = spark.read.format("delta").load(warehouse.path("rejects"))
    assert sorted((row["cluster"], row["line"]) for row in rows.collect()) == [("a", 3), ("b", 2)]
    comments = {field.name: field.metadata.get("comment") for field in rows.schema.fields}
    assert comments["raw"] == REJECTS.schema["raw"].metadata["comment"]


def test_runs_are_numbered_not_spelled(spark: SparkSession, tmp_path: Path) -> None:
    """Run 10 comes after run 9, though its text sorts before."""
    warehouse = open_warehouse(spark, str(tmp_path / "warehouse"), create=True)
    for number in (9, 10):
        row = run_row(spark, number, AT, AT, "0", [], [], {"events": number}, {}, {}, "published")
        warehouse.write(RUNS, row, append=warehouse.exists("runs"))
    warehouse = open_warehouse(spark, warehouse.root, create=False)
    assert (warehouse.last_run, warehouse.versions) == (10, {"events": 10})


def test_a_path_that_cannot_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for create in (True, False):
        with pytest.raises(BadInput, match="The warehouse path is a file"):
            check_root(str(tmp_path / "file"), create=create)
    with pytest.raises(BadInput, match=r"There is no warehouse in .*none"):
        check_root(str(tmp_path / "none"), create=False)
    check_root(str(tmp_path / "none" / "deeper"), create=True)
    check_root("s3://bucket/warehouse", create=True)
    assert not (tmp_path / "none").exists()


def test_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="file"):
        check_root(str(tmp_path / "file" / "warehouse"), create=True)
