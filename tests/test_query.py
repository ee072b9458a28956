"""SQL and export over the published tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from jobs.cli import main
from jobs.warehouse.query import export_table, print_rows, query_tables
from schemas.findings import OFFLINE_PARTITIONS
from schemas.tables import BY_NAME
from udfs.errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import Run


def output_of(*arguments: str) -> str:
    """What a command prints."""
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_sql(zk: Run) -> None:
    """Truth: three unclean elections in the ZooKeeper cluster, at 11:47:37.28."""
    query = (
        "SELECT topic, partition, leader, isr_before, lost_records_min FROM elections WHERE unclean ORDER BY partition"
    )
    assert output_of("sql", query, "--warehouse", zk.warehouse.root).splitlines() == [
        "topic       partition  leader  isr_before  lost_records_min",
        "unclean_ok  0          2       [1]",
        "unclean_ok  1          2       [1]",
        "unclean_ok  3          2       [1]",
        "(3 rows)",
    ]


def test_sql_says_if_rows_are_cut(zk: Run) -> None:
    lines: list[str] = []
    print_rows(
        query_tables(zk.warehouse.spark, zk.warehouse.root, "SELECT DISTINCT topic FROM elections ORDER BY topic"),
        2,
        lines.append,
    )
    assert lines == ["topic", "a-1", "audit.events-v1", "(2 rows; --limit 2 cut the rest)"]


def test_a_query_that_is_not_understood(zk: Run) -> None:
    with pytest.raises(BadInput) as error:
        query_tables(zk.warehouse.spark, zk.warehouse.root, "SELECT * FROM partitions")
    assert "\n" not in str(error.value)
    assert "partition_timeline" in str(error.value)


def test_export_as_text(spark: SparkSession, zk: Run, tmp_path: Path) -> None:
    """Rows in the order of the table's key; times in ISO 8601; nulls as such; nothing half written lies about."""
    for form in ("jsonl", "csv"):
        export_table(spark, zk.warehouse.root, "offline_partitions", form, str(tmp_path / f"out.{form}"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "out.jsonl"]
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(rows) == 24
    assert list(rows[0]) == OFFLINE_PARTITIONS.columns
    keys = [tuple(row[name] for name in OFFLINE_PARTITIONS.key) for row in rows]
    assert keys == sorted(keys)
    longest = max(rows, key=lambda row: int(row["duration_ms"]))
    assert (longest["topic"], longest["since"], longest["cause_broker"]) == ("payments", "2026-11-21T11:47:34.961Z", 1)
    with (tmp_path / "out.csv").open(newline="") as file:
        flat = list(csv.DictReader(file))
    assert [row["since"] for row in flat] == [row["since"] for row in rows]
    assert [json.loads(row["evidence"]) for row in flat] == [row["evidence"] for row in rows]
    assert flat[0]["last_isr"] == json.dumps(rows[0]["last_isr"], separators=(",", ":"))


def test_export_to_standard_output(zk: Run) -> None:
    lines = output_of("export", "controller_timeline", "--warehouse", zk.warehouse.root).splitlines()
    assert [json.loads(line)["controller_id"] for line in lines] == [3, 2, 3, 0]


def test_export_as_parquet(spark: SparkSession, zk: Run, tmp_path: Path) -> None:
    export_table(spark, zk.warehouse.root, "controller_timeline", "parquet", str(tmp_path / "out.parquet"))
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column("controller_epoch").to_pylist() == [1, 2, 3, 4]
    assert str(table.schema.field("since").type).startswith("timestamp[us")


def test_export_as_parquet_comes_in_batches(
    spark: SparkSession, zk: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of the key, and never as a whole: a table may be larger than what the driver can take."""
    monkeypatch.setattr("pyspark.sql.classic.dataframe.DataFrame.toArrow", _of_no_rows)
    before = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    try:
        for name in ("events", "contradictions"):
            export_table(spark, zk.warehouse.root, name, "parquet", str(tmp_path / f"{name}.parquet"))
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", before or "10000")
    written = pq.ParquetFile(tmp_path / "events.parquet")
    rows = zk.warehouse.read("events").select("file_id", "line").orderBy("file_id", "line").collect()
    assert written.num_row_groups >= len(rows) / 100
    exported = written.read(["file_id", "line"]).to_pylist()
    assert [(row["file_id"], row["line"]) for row in exported] == [(row["file_id"], row["line"]) for row in rows]
    nothing = pq.read_table(tmp_path / "contradictions.parquet")
    assert (nothing.num_rows, nothing.column_names) == (0, list(BY_NAME["contradictions"].columns))


TO_ARROW = ClassicDataFrame.toArrow


def _of_no_rows(rows: ClassicDataFrame) -> pa.Table:
    table = TO_ARROW(rows)
    assert table.num_rows == 0
    return table
