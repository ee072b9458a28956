"""A warehouse that is a schema of one of Spark's catalogs: tables by name, and a view of each pinned version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from delta.tables import DeltaTable

from jobs.read.views import open_views
from jobs.warehouse.location import is_schema, located
from jobs.warehouse.stored_tables import check_lasts
from jobs.warehouse.tables import Overtaken, open_warehouse, writing_warehouse
from schemas.ingest import REJECTS
from schemas.tables import BY_NAME
from tests.test_warehouse import run_row
from udfs.errors import BadInput, Failed, NoSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from jobs.warehouse.tables import Warehouse
    from tests.conftest import Frame

ELECTIONS = BY_NAME["elections"]
SCHEMA = "spark_catalog.kafka_rewind_test"


@pytest.fixture
def schema(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A schema that ends with the test; its catalog ends with the session, which the test does not mind."""
    monkeypatch.setattr("jobs.warehouse.tables.check_lasts", lambda spark, root: None)
    yield SCHEMA
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


def lines_in(spark: SparkSession, table: str) -> list[int]:
    """The lines of all rows, in order."""
    return sorted(row["line"] for row in spark.table(f"{SCHEMA}.{table}").collect())


@pytest.mark.runs
def test_views_show_what_is_published(spark: SparkSession, frame: Frame, schema: str) -> None:
    """What a run writes is in `written_rejects` at once, in the view `rejects` when it is published."""
    warehouse = open_warehouse(spark, schema, create=True)
    warehouse.write(REJECTS, frame(REJECTS, "cluster | line\na | 1\nb | 2"))
    warehouse.publish(run_row(warehouse.written))
    assert lines_in(spark, "rejects") == [1, 2]

    warehouse.write(REJECTS, frame(REJECTS, "cluster | line\na | 3"), replace="cluster IN ('a')")
    warehouse.write(REJECTS, frame(REJECTS, "cluster | line\nc | 4"), append=True)
    warehouse.delete(REJECTS, "line = 2")
    assert (lines_in(spark, "written_rejects"), lines_in(spark, "rejects")) == ([3, 4], [1, 2])

    killed = open_warehouse(spark, schema, create=False)
    assert (killed.last_run, killed.versions) == (1, {"rejects": 1})
    assert killed.roll_back() == ["rejects"]
    assert lines_in(spark, "written_rejects") == [1, 2]
    killed.write(REJECTS, frame(REJECTS, "cluster | line\nd | 5"), append=True)
    killed.write(ELECTIONS, frame(ELECTIONS, "topic | partition\na | 0"))
    killed.publish(run_row(killed.written))
    assert lines_in(spark, "rejects") == [1, 2, 5]
    assert [row["run_id"] for row in spark.table(f"{SCHEMA}.runs").orderBy("run_id").collect()] == ["1", "2"]
    detail = killed.stored.delta("elections").detail().collect()[0]
    assert detail["properties"]["delta.dataSkippingStatsColumns"] == "cluster,at"
    comments = {field.name: field.metadata.get("comment") for field in spark.table(f"{SCHEMA}.rejects").schema.fields}
    assert comments["raw"] == REJECTS.schema["raw"].metadata["comment"]


@pytest.mark.runs
def test_views_that_a_killed_run_left_behind_follow(
    spark: SparkSession, frame: Frame, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was published, and killed before it replaced the views: the next run does."""
    warehouse = open_warehouse(spark, schema, create=True)
    warehouse.write(REJECTS, frame(REJECTS, "cluster | line\na | 1"))
    with monkeypatch.context() as killed:
        killed.setattr(type(warehouse.stored), "show", lambda self, versions: None)
        warehouse.publish(run_row(warehouse.written))
    assert not spark.catalog.tableExists(f"{SCHEMA}.rejects")
    assert open_warehouse(spark, schema, create=False).roll_back() == []
    assert lines_in(spark, "rejects") == [1]


@pytest.mark.runs
def test_a_run_that_is_killed_while_it_creates_a_table_is_in_nobodys_way(
    spark: SparkSession, frame: Frame, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables are made before they are written."""
    warehouse = open_warehouse(spark, schema, create=True)
    rows, elections = frame(REJECTS, "cluster | line\na | 1"), frame(ELECTIONS, "topic | partition\na | 0")
    with monkeypatch.context() as killed:
        killed.setattr(type(warehouse.stored), "save", lambda self, writer, table: None)
        warehouse.write(REJECTS, rows)
        warehouse.write(ELECTIONS, elections)
    assert lines_in(spark, "written_rejects") == []

    again = open_warehouse(spark, schema, create=True)
    assert sorted(again.roll_back()) == ["elections", "rejects"]
    again.write(REJECTS, rows)
    again.write(ELECTIONS, elections)
    again.publish(run_row(again.written))
    assert (lines_in(spark, "rejects"), spark.table(f"{SCHEMA}.elections").count()) == ([1], 1)


def folder_of(spark: SparkSession, table: str) -> Path:
    """Where a table of the schema is."""
    return Path(spark.sql(f"DESCRIBE DETAIL {SCHEMA}.{table}").collect()[0]["location"].removeprefix("file:"))


def where_elections_belong(spark: SparkSession, frame: Frame) -> tuple[Warehouse, Path]:
    """A warehouse without elections, and the folder that is to have them."""
    warehouse = open_warehouse(spark, SCHEMA, create=True)
    warehouse.write(REJECTS, frame(REJECTS, "cluster | line\na | 1"))
    return warehouse, folder_of(spark, "written_rejects").parent / "written_elections"


def publish_elections(spark: SparkSession, frame: Frame, warehouse: Warehouse, folder: Path) -> None:
    """They are there, where they belong."""
    warehouse.write(ELECTIONS, frame(ELECTIONS, "topic | partition\na | 0"))
    warehouse.publish(run_row(warehouse.written))
    assert folder_of(spark, "written_elections") == folder
    assert [row["topic"] for row in spark.table(f"{SCHEMA}.elections").collect()] == ["a"]


@pytest.mark.runs
def test_a_run_that_is_killed_between_deltas_log_and_the_catalog_is_in_nobodys_way(
    spark: SparkSession, frame: Frame, schema: str
) -> None:
    """The catalog is told of the table whose log is there."""
    warehouse, folder = where_elections_belong(spark, frame)
    DeltaTable.create(spark).location(str(folder)).addColumns(ELECTIONS.schema).execute()
    publish_elections(spark, frame, warehouse, folder)


@pytest.mark.runs
def test_a_run_that_is_killed_while_it_writes_deltas_log_is_in_nobodys_way(
    spark: SparkSession, frame: Frame, schema: str
) -> None:
    """Of the log only the file is there that Delta renames as it commits."""
    warehouse, folder = where_elections_belong(spark, frame)
    (folder / "_delta_log").mkdir(parents=True)
    (folder / "_delta_log" / ".00000000000000000000.json.5c1e.tmp").write_bytes(b'{"commitInfo":{}}')
    publish_elections(spark, frame, warehouse, folder)
    detail = warehouse.stored.delta("elections").detail().collect()[0]
    assert detail["properties"]["delta.dataSkippingStatsColumns"] == "cluster,at"
    comments = {field.name: field.metadata.get("comment") for field in spark.table(f"{SCHEMA}.elections").schema.fields}
    assert comments["topic"] == ELECTIONS.schema["topic"].metadata["comment"]


@pytest.mark.runs
def test_files_where_a_table_belongs_are_named(spark: SparkSession, frame: Frame, schema: str) -> None:
    """Nobody knows whose they are."""
    warehouse, folder = where_elections_belong(spark, frame)
    folder.mkdir()
    (folder / "part-0.parquet").write_bytes(b"PAR1")
    with pytest.raises(Failed, match=r"written_elections belongs are files, .* remove that folder\.$"):
        warehouse.write(ELECTIONS, frame(ELECTIONS, "topic | partition\na | 0"))


@pytest.mark.runs
def test_the_slower_of_two_runs_is_not_published(spark: SparkSession, frame: Frame, schema: str) -> None:
    """No lease is held in a schema: versions tell."""
    with writing_warehouse(spark, schema, create=True, wait=False, say=print) as one:
        other = open_warehouse(spark, schema, create=True)
        rows = frame(REJECTS, "cluster | line\na | 1")
        one.write(REJECTS, rows)
        assert other.roll_back() == ["rejects"]
        other.write(REJECTS, rows)
        other.publish(run_row(other.written))
        with pytest.raises(Overtaken):
            one.write(REJECTS, rows, append=True)
        with pytest.raises(Overtaken):
            one.publish(run_row(one.written))
    assert lines_in(spark, "rejects") == [1]


def test_a_catalog_in_memory_is_refused(spark: SparkSession) -> None:
    with pytest.raises(NoSpark, match="in memory and ends with it"):
        open_warehouse(spark, SCHEMA, create=True)
    assert not spark.catalog.databaseExists(SCHEMA)


@pytest.mark.runs
def test_a_schema_that_is_not_there_or_not_reached_is_one_sentence(spark: SparkSession, schema: str) -> None:
    with pytest.raises(BadInput, match=f"^There is no warehouse in {schema}; run `kafka-rewind nightly LOGS"):
        open_warehouse(spark, schema, create=False)
    with pytest.raises(
        BadInput, match=r"^Spark has no catalog nope; for a folder of the name nope\.kafka give \./nope"
    ):
        open_warehouse(spark, "nope.kafka", create=True)


# ---- without Spark ---------------------------------------------------------------------------------------------------
LOCATED = {"main.kafka": "main.kafka", "main.there": "{}/main.there", "./main.kafka": "{}/main.kafka"}


@pytest.mark.parametrize("root", LOCATED)
def test_a_folder_of_such_a_name_goes_first(root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.there").mkdir()
    assert located(root) == LOCATED[root].format(tmp_path)
    assert is_schema(located(root)) == (root == "main.kafka")


def test_readers_without_spark_say_who_reads_it() -> None:
    with (
        pytest.raises(
            BadInput, match=r"^main\.kafka is a schema, .*: use its views, or a command with `--engine spark`\.$"
        ),
        open_views("main.kafka"),
    ):
        pass


def test_a_catalog_that_ends_with_the_session_is_refused() -> None:
    in_memory = cast("SparkSession", SimpleNamespace(conf=SimpleNamespace(get=lambda key, default: "in-memory")))
    with pytest.raises(NoSpark, match=r"in memory and ends with it; give Spark a metastore"):
        check_lasts(in_memory, "spark_catalog.kafka")
    check_lasts(in_memory, "main.kafka")
    check_lasts(in_memory, "/data/spark_catalog.kafka")
