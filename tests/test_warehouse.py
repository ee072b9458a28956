"""What readers see is what the last published run pinned."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jobs.warehouse.location import DATABRICKS, located, mounted, spark_path, warehouse_at
from jobs.warehouse.tables import Overtaken, open_warehouse, writing_warehouse
from schemas.ingest import REJECTS
from udfs.errors import BadInput, Failed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import Frame

AT = datetime(2026, 11, 21, 10)


def run_row(versions: dict[str, int], status: str = "published") -> dict[str, Any]:
    """What a run tells of itself."""
    return {"started_at": AT, "finished_at": AT, "table_versions": versions, "rows": {}, "status": status}


def test_pinned_versions(spark: SparkSession, frame: Frame, tmp_path: Path) -> None:
    """Write, publish, write on: readers see the published version, and the next run takes the rest back."""
    root = str(tmp_path / "new" / "warehouse")
    warehouse = open_warehouse(spark, root, create=True)
    assert warehouse.read("rejects").count() == 0

    warehouse.write(REJECTS, frame(REJECTS, "file_id | line | reason\na | 1 | x\na | 2 | y"))
    assert warehouse.written == {"rejects": 0}
    pinned = dict(warehouse.written)
    pending = {"detect": ["c"]}
    warehouse.publish(run_row(pinned) | {"rows": {"rejects": 2}, "pending": pending})

    warehouse.write(REJECTS, frame(REJECTS, "file_id | line | reason\na | 3 | z"), append=True)
    warehouse.delete(REJECTS, "line = 1")
    assert warehouse.written == {"rejects": 2}
    warehouse.publish(run_row(warehouse.written, "refused") | {"rows": {"rejects": 9}, "pending": {}})

    warehouse = open_warehouse(spark, root, create=False)
    assert (warehouse.last_run, warehouse.versions) == (2, pinned)
    assert (warehouse.rows, warehouse.pending) == ({"rejects": 2}, pending)
    assert sorted(row["line"] for row in warehouse.read("rejects").collect()) == [1, 2]
    assert warehouse.read("events").columns[0] == "cluster"
    assert warehouse.roll_back() == ["rejects"]
    assert warehouse.written == {}
    rows = spark.read.format("delta").load(f"{warehouse.root}/rejects")
    assert sorted(row["line"] for row in rows.collect()) == [1, 2]


ROOTS = {"a folder": "{}", "a URL, as of an object store": "file://{}"}


@pytest.mark.parametrize("case", ROOTS)
def test_the_slower_of_two_runs_is_not_published(
    case: str, spark: SparkSession, frame: Frame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing locks: both begin, one publishes; the other notices, and nothing of the first is rolled back."""
    monkeypatch.setattr("jobs.warehouse.tables.warehouse_at", lambda root, create: root)
    root = ROOTS[case].format(tmp_path / "warehouse")
    one, other = (open_warehouse(spark, root, create=True) for _ in range(2))
    rows = frame(REJECTS, "file_id | line | reason\na | 1 | x")
    one.write(REJECTS, rows)
    one.publish(run_row(one.written))
    with pytest.raises(Overtaken, match="nothing of this run was published, run it again"):
        other.publish(run_row({}))

    one, other = (open_warehouse(spark, root, create=False) for _ in range(2))
    assert one.roll_back() == other.roll_back() == []
    one.write(REJECTS, rows, append=True)
    assert other.roll_back() == ["rejects"]  # it began later, and cannot know of the first
    with pytest.raises(Overtaken):
        one.write(REJECTS, rows, append=True)
    other.write(REJECTS, rows, append=True)
    other.publish(run_row(other.written))
    with pytest.raises(Overtaken):
        one.publish(run_row(one.written))
    later = open_warehouse(spark, root, create=False)
    assert later.last_run == 2
    assert later.read("rejects").count() == 2
    assert later.roll_back() == []


def test_two_rows_of_one_number_at_the_same_moment(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both saw the ledger without the other's row: Delta leaves the second one out, and its run finds that out."""
    monkeypatch.setattr("jobs.warehouse.tables.warehouse_at", lambda root, create: root)
    root = f"file://{tmp_path / 'warehouse'}"
    one, other = (open_warehouse(spark, root, create=True) for _ in range(2))
    one.publish(run_row({"events": 1}))
    looks = iter([-1, 0])  # the first time it looks, the row is not there yet
    monkeypatch.setattr(other, "version", lambda _: next(looks))
    with pytest.raises(Overtaken):
        other.publish(run_row({"events": 2}) | {"started_at": AT.replace(hour=11)})
    later = open_warehouse(spark, root, create=False)
    assert (later.last_run, later.versions) == (1, {"events": 1})


def test_some_rows_are_replaced(spark: SparkSession, frame: Frame, tmp_path: Path) -> None:
    warehouse = open_warehouse(spark, str(tmp_path / "warehouse"), create=True)
    text = "cluster | file_id | line\na | f | 1\nb | f | 2"
    warehouse.write(REJECTS, frame(REJECTS, text), replace="cluster IN ('a')")  # there is no table yet
    warehouse.write(REJECTS, frame(REJECTS, "cluster | file_id | line\na | f | 3"), replace="cluster IN ('a')")
    rows = spark.read.format("delta").load(f"{warehouse.root}/rejects")
    assert sorted((row["cluster"], row["line"]) for row in rows.collect()) == [("a", 3), ("b", 2)]
    comments = {field.name: field.metadata.get("comment") for field in rows.schema.fields}
    assert comments["raw"] == REJECTS.schema["raw"].metadata["comment"]


def test_what_is_held_is_what_is_there(spark: SparkSession, frame: Frame, tmp_path: Path) -> None:
    """A table that was written as a whole stays cached, until some of it changes."""
    warehouse = open_warehouse(spark, str(tmp_path / "warehouse"), create=True)

    def lines() -> tuple[list[int], list[int]]:
        stored = spark.read.format("delta").load(f"{warehouse.root}/rejects")
        cached, on_disk = (
            sorted(row["line"] for row in rows.collect()) for rows in (warehouse.newest("rejects"), stored)
        )
        return cached, on_disk

    warehouse.write(REJECTS, frame(REJECTS, "cluster | line\na | 1\nb | 2"), cache=True)
    assert warehouse.is_cached("rejects")
    assert lines() == ([1, 2], [1, 2])
    warehouse.write(REJECTS, frame(REJECTS, "cluster | line\na | 3"), replace="cluster IN ('a')", cache=True)
    assert lines() == ([2, 3], [2, 3])
    warehouse.write(REJECTS, frame(REJECTS, "cluster | line\na | 4\nb | 5"), cache=True)
    assert lines() == ([4, 5], [4, 5])
    warehouse.delete(REJECTS, "line = 4")
    assert lines() == ([5], [5])


def test_rows_that_replace_others_are_at_hand_until_the_table_changes_again(
    spark: SparkSession, frame: Frame, tmp_path: Path
) -> None:
    """What is judged of a window is what was written; what was published and is not replaced stays."""
    warehouse = open_warehouse(spark, str(tmp_path / "warehouse"), create=True)
    warehouse.write(REJECTS, frame(REJECTS, "cluster | line\na | 1\na | 2\n | 3\nb | 4"))
    warehouse.publish(run_row(warehouse.written))
    warehouse = open_warehouse(spark, warehouse.root, create=False)

    def replace(line: int) -> None:
        rows = frame(REJECTS, f"cluster | line\na | {line}")
        warehouse.write(REJECTS, rows, replace=f"cluster = 'a' AND line >= {min(line, 2)}", is_computed=True)

    replace(7)
    assert [row["line"] for row in warehouse.rows_replaced["rejects"].collect()] == [7]
    assert sorted(row["line"] for row in warehouse.rows_kept("rejects").collect()) == [1, 3, 4]
    replace(8)  # with this alone at hand, 7 were not judged if it had stayed
    assert warehouse.rows_replaced == {}


def test_runs_are_numbered_not_spelled(spark: SparkSession, tmp_path: Path) -> None:
    """Run 10 comes after run 9, though its text sorts before."""
    warehouse = open_warehouse(spark, str(tmp_path / "warehouse"), create=True)
    warehouse.last_run = 8
    for number in (9, 10):
        warehouse.publish(run_row({}) | {"rows": {"events": number}})
    warehouse = open_warehouse(spark, warehouse.root, create=False)
    assert (warehouse.last_run, warehouse.rows) == (10, {"events": 10})


def test_columns_that_an_older_release_did_not_have(spark: SparkSession, frame: Frame, tmp_path: Path) -> None:
    """They are null in its rows, and the next run adds them."""
    warehouse = open_warehouse(spark, str(tmp_path / "warehouse"), create=True)
    old = frame(REJECTS, "file_id | line | signature\na | 1 | x").drop("signature")
    old.write.format("delta").save(f"{warehouse.root}/rejects")
    assert warehouse.newest("rejects").columns == REJECTS.columns
    warehouse.write(REJECTS, frame(REJECTS, "file_id | line | signature\na | 2 | y"), append=True)
    rows = warehouse.newest("rejects").orderBy("line").collect()
    assert [(row["line"], row["signature"]) for row in rows] == [(1, None), (2, "y")]


def test_a_column_that_an_older_release_called_otherwise(spark: SparkSession, frame: Frame, tmp_path: Path) -> None:
    """Its values are read under today's name, also beside rows of today."""
    warehouse = open_warehouse(spark, str(tmp_path / "warehouse"), create=True)
    old = frame(REJECTS, "file_id | line | signature\na | 1 | x").withColumnRenamed("signature", "skeleton")
    old.write.format("delta").save(f"{warehouse.root}/rejects")
    assert [row["signature"] for row in warehouse.newest("rejects").collect()] == ["x"]
    warehouse.write(REJECTS, frame(REJECTS, "file_id | line | signature\na | 2 | y"), append=True)
    rows = warehouse.newest("rejects").orderBy("line")
    assert rows.columns == REJECTS.columns
    assert [(row["line"], row["signature"]) for row in rows.collect()] == [(1, "x"), (2, "y")]


def test_a_path_that_cannot_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for create in (True, False):
        with pytest.raises(BadInput, match="The warehouse path is a file"):
            warehouse_at(str(tmp_path / "file"), create=create)
    with pytest.raises(BadInput, match=r"There is no warehouse in .*none"):
        warehouse_at(str(tmp_path / "none"), create=False)
    warehouse_at(str(tmp_path / "none" / "deeper"), create=True)
    warehouse_at("s3://bucket/warehouse", create=True)
    assert not (tmp_path / "none").exists()


def test_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="file"):
        warehouse_at(str(tmp_path / "file" / "warehouse"), create=True)


LOCATIONS = {  # --warehouse, on Databricks -> where it is, what Spark is given
    "a folder": ("/data/w/", False, "/data/w", "file:///data/w"),
    "its URL": ("file:///data/w", False, "/data/w", "file:///data/w"),
    "an object store": ("s3a://bucket/w/", False, "s3a://bucket/w", "s3a://bucket/w"),
    "DBFS is no folder here": ("dbfs:/w", False, "dbfs:/w", "dbfs:/w"),
    "DBFS as some write it": ("dbfs:///w", False, "dbfs:/w", "dbfs:/w"),
    "a mount of DBFS": ("/dbfs/w", True, "dbfs:/w", "dbfs:/w"),
    "a volume": ("/Volumes/main/kafka/v/w", True, "dbfs:/Volumes/main/kafka/v/w", "dbfs:/Volumes/main/kafka/v/w"),
    "a folder called Volumes elsewhere": ("/Volumes/w", False, "/Volumes/w", "file:///Volumes/w"),
    "another folder there": ("/tmp/w", True, "/tmp/w", "file:///tmp/w"),
}


@pytest.mark.parametrize("case", LOCATIONS)
def test_one_path_for_python_and_spark(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    root, is_databricks, where, for_spark = LOCATIONS[case]
    monkeypatch.delenv(DATABRICKS, raising=False)
    if is_databricks:
        monkeypatch.setenv(DATABRICKS, "17.3")
    assert (located(root), spark_path(located(root))) == (where, for_spark)


def test_readers_without_spark_see_what_is_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.isdir", lambda path: path in ("/Volumes/a/b/c/w", "/dbfs/w"))
    assert [mounted(root) for root in ("dbfs:/Volumes/a/b/c/w", "dbfs:/w", "dbfs:/other", "s3://b/w")] == [
        "/Volumes/a/b/c/w",
        "/dbfs/w",
        "dbfs:/other",
        "s3://b/w",
    ]


def test_a_cluster_whose_default_file_system_is_another(spark: SparkSession, frame: Frame, tmp_path: Path) -> None:
    """A path without scheme is a folder of this machine all the same: the second run finds the versions of the first.
    A URL is that file system's, where this machine has no such folder, and one run at a time holds it."""
    hdfs = tmp_path / "hdfs"
    hdfs.mkdir()
    settings = {"fs.defaultFS": "viewfs://c/", "fs.viewfs.mounttable.c.link./w": f"file://{hdfs}"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    rows = frame(REJECTS, "file_id | line | reason\na | 1 | x")
    silent: dict[str, Any] = {"wait": False, "say": print}
    try:
        for root, folder in ((str(tmp_path / "local"), tmp_path / "local"), ("viewfs://c/w/new", hdfs / "new")):
            for lines in (1, 2):
                with writing_warehouse(spark, root, create=True, **silent) as warehouse:
                    assert warehouse.roll_back() == []
                    warehouse.write(REJECTS, rows, append=True)
                    warehouse.publish(run_row(warehouse.written))
                assert open_warehouse(spark, root, create=False).read("rejects").count() == lines
            assert (folder / "rejects" / "_delta_log").is_dir()
        one, other = (writing_warehouse(spark, root, create=True, **silent) for _ in range(2))
        with one, pytest.raises(Failed, match="Another run"), other:
            pytest.fail("two wrote")
    finally:
        for name in settings:
            spark.conf.unset(name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hdfs", "local"]


def test_a_table_that_was_empty_and_stays_so_is_not_written(spark: SparkSession, frame: Frame, tmp_path: Path) -> None:
    """Most nights most clusters have no reassignment; a commit of nothing costs a Spark job, and so does its audit."""
    root, nothing = str(tmp_path / "warehouse"), frame(REJECTS, "cluster | line")
    warehouse = open_warehouse(spark, root, create=True)
    warehouse.write(REJECTS, nothing, cache=True)
    assert warehouse.written == {"rejects": 0}  # a table that is not there is made
    warehouse.publish(run_row(warehouse.written) | {"rows": {"rejects": 0}})

    warehouse = open_warehouse(spark, root, create=False)
    assert warehouse.write(REJECTS, nothing, replace="cluster IN ('a')", cache=True) is not None
    assert (warehouse.written, warehouse.newest("rejects").count()) == ({}, 0)
    warehouse.write(REJECTS, frame(REJECTS, "cluster | line\na | 1"), replace="cluster IN ('a')", cache=True)
    assert (warehouse.written, warehouse.newest("rejects").count()) == ({"rejects": 1}, 1)
    warehouse.write(REJECTS, nothing, replace="cluster IN ('a')", cache=True)  # it is no longer as it was published
    assert (warehouse.written, warehouse.newest("rejects").count()) == ({"rejects": 2}, 0)
