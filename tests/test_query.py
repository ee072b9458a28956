"""`sql` and `export` over the published tables, by both engines."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from jobs.cli import main
from jobs.read.create_views import EVIDENCE
from jobs.read.spark_engine import query_tables
from jobs.read.views import open_views
from schemas.findings import OFFLINE_PARTITIONS
from schemas.tables import BY_NAME
from tests.delta_warehouse import publish
from udfs.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from jobs.warehouse.tables import Warehouse
    from tests.conftest import Run

PAY = {"cluster": "c", "topic": "pay", "partition": 0, "isr": [], "replicas": [1, 2]}
BAD = {"cluster": "d", "topic": "\x1b]0;pwned\x07pay|\n", "partition": 1, "unclean": True}


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A warehouse of two elections in two clusters, one of a topic whose name would steer a terminal."""
    files = [{"cluster": name, "file_id": "f", "path": "/x"} for name in "cd"]
    return str(publish(tmp_path / "w", elections=[PAY, BAD], log_files=files))


def invoke(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=stdin)


def printed(*arguments: str, stdin: str | None = None) -> str:
    """What a command prints."""
    result = invoke(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def refused(*arguments: str, code: int = 2, stdin: str | None = None) -> str:
    """The one sentence of a command that does nothing."""
    result = invoke(*arguments, stdin=stdin)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (code, "", 1), result.stderr
    return result.stderr


# ---- without Spark --------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("no_jvm")
class TestSql:
    QUERY = "SELECT topic, isr, at FROM elections ORDER BY partition"

    def test_formats(self, root: str) -> None:
        at = ("--warehouse", root)
        assert printed("sql", self.QUERY, *at, "--limit", "1").splitlines() == [
            "topic  isr  at",
            "pay    []",
            "(1 row; --limit 1 cut the rest)",
        ]
        assert printed("sql", self.QUERY, *at, "--format", "markdown").splitlines() == [
            "| topic | isr | at |",
            "| --- | --- | --- |",
            "| pay | [] |  |",
            "| \\x1b]0;pwned\\x07pay\\|\\n |  |  |",
        ]
        rows = [{"topic": row["topic"], "isr": row.get("isr"), "at": None} for row in (PAY, BAD)]
        assert json.loads(printed("sql", self.QUERY, *at, "--format", "json")) == rows
        lines = printed("sql", self.QUERY, *at, "--format", "jsonl").splitlines()
        assert [json.loads(line) for line in lines] == rows
        assert printed("sql", self.QUERY, *at, "--format", "csv") == f'topic,isr,at\npay,[],\n"{BAD["topic"]}",,\n'
        assert json.loads(printed("sql", "SELECT 1 WHERE false", *at, "--format", "json")) == []

    def test_where_the_query_comes_from(self, root: str, tmp_path: Path) -> None:
        (tmp_path / "q.sql").write_text("SELECT count(*) AS n FROM elections; -- all of them\n")
        at = ("--warehouse", root, "--format", "csv")
        assert printed("sql", "-f", str(tmp_path / "q.sql"), *at) == "n\n2\n"
        assert printed("sql", *at, stdin="FROM elections SELECT count(*) AS n") == "n\n2\n"
        assert printed("sql", "-f", "-", *at, stdin="SELECT 2 AS n") == "n\n2\n"
        assert "not both" in refused("sql", "SELECT 1", "-f", "x", *at)
        assert "The query cannot be read: none.sql (No such file" in refused("sql", "-f", "none.sql", *at)
        assert "The query is empty" in refused("sql", *at, stdin="")

    def test_one_cluster(self, root: str) -> None:
        at = ("--warehouse", root, "--format", "csv")
        assert printed("sql", "SELECT partition FROM elections", *at, "--cluster", "d") == "partition\n1\n"
        assert "There is no cluster e in the warehouse; it has c, d." in refused(
            "sql", "SELECT 1", *at, "--cluster", "e"
        )

    def test_tables(self, root: str) -> None:
        lines = printed("tables", "--format", "csv", "--warehouse", root).splitlines()
        assert [line.split(",")[:2] for line in lines[1:]] == [
            [name, {"elections": "2", "log_files": "2", "runs": "1"}.get(name, "0")] for name in BY_NAME
        ]
        one = printed("tables", "--format", "csv", "--cluster", "d", "--warehouse", root).splitlines()
        assert [line for line in one if line.startswith("elections,1,")]

    def test_what_is_refused_leaves_nothing(self, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        before = sorted(path.name for path in tmp_path.rglob("*"))
        at = ("--warehouse", root)
        assert "did you mean elections?" in refused("sql", "SELECT * FROM election", *at)
        assert "did you mean topic?" in refused("sql", "SELECT topics FROM elections", *at)
        assert "DELETE is no query" in refused("sql", f"DELETE FROM delta.`{root}/elections`", *at)
        assert "reads or writes files" in refused("sql", "SELECT * FROM read_csv('/etc/passwd')", *at)
        assert "COPY is no query" in refused("sql", "COPY elections TO 'x.csv'", *at)
        assert refused("sql", "SELECT topic::INTEGER FROM elections", *at, "-o", "new.csv")
        assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("no_jvm")
class TestOutput:
    @pytest.mark.parametrize("form", ["csv", "parquet"])
    def test_a_file_is_written_where_it_points(self, form: str, root: str, tmp_path: Path) -> None:
        (tmp_path / "real").write_text("x" * 100_000)
        (tmp_path / "link").symlink_to("real")
        printed("export", "elections", "--format", form, "-o", str(tmp_path / "link"), "--warehouse", root)
        assert (tmp_path / "link").is_symlink()
        rows = pq.read_table(tmp_path / "real").num_rows if form == "parquet" else -1
        assert rows in (2, -1)
        assert "xxx" not in (tmp_path / "real").read_bytes().decode("latin-1")

    @pytest.mark.parametrize("form", ["csv", "parquet"])
    def test_a_device_stays_a_device(self, form: str, root: str) -> None:
        sentence = refused("export", "elections", "--format", form, "-o", "/dev/full", "--warehouse", root, code=4)
        assert "The output cannot be written: /dev/full (No space left on device)." in sentence
        assert stat.S_ISCHR(os.stat("/dev/full").st_mode)

    def test_files_get_values_as_they_are(self, root: str, tmp_path: Path) -> None:
        printed("sql", TestSql.QUERY, "--format", "csv", "-o", str(tmp_path / "f"), "--warehouse", root)
        with (tmp_path / "f").open(newline="") as file:
            assert [row["topic"] for row in csv.DictReader(file)] == [PAY["topic"], BAD["topic"]]

    def test_outputs_that_cannot_be(self, root: str, tmp_path: Path) -> None:
        at = ("--warehouse", root)
        assert "Parquet is no text" in refused("export", "elections", "--format", "parquet", *at)
        assert "The output is a folder" in refused("export", "elections", "-o", str(tmp_path), *at)
        assert "folder does not exist" in refused("export", "elections", "-o", str(tmp_path / "no" / "f"), *at)
        assert "There is no table electons; did you mean elections?" in refused("export", "electons", *at)


# ---- both engines ---------------------------------------------------------------------------------------------------
def assert_equal(warehouse: Warehouse) -> None:
    """Every table row for row, nested values and all, as Spark and as DuckDB read it."""
    with open_views(warehouse.root) as connection:
        for name, table in BY_NAME.items():
            theirs = warehouse.read(name).toArrow()
            ours: pa.Table = connection.execute(f"SELECT * FROM {name}").to_arrow_table()
            assert ours.column_names == theirs.column_names == table.columns
            assert in_order(ours.cast(theirs.schema)) == in_order(theirs), name


def in_order(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


def test_every_table_is_equal_by_both_engines(zk: Run, kraft: Run) -> None:
    assert_equal(zk.warehouse)
    assert_equal(kraft.warehouse)


def test_spark_reads_and_nothing_else(zk: Run, tmp_path: Path) -> None:
    spark, at = zk.warehouse.spark, zk.warehouse.root
    assert query_tables(spark, at, "SELECT DISTINCT topic FROM elections WHERE unclean").count() == 1
    assert query_tables(spark, at, "SELECT * FROM elections", "nowhere").count() == 0
    assert query_tables(spark, at, "SHOW TABLES").count() >= len(BY_NAME)
    before = zk.warehouse.version("events")
    for query in (
        f"DELETE FROM delta.`{at}/events`",
        f"INSERT INTO delta.`{at}/events` SELECT * FROM events",
        f"WITH e AS (SELECT * FROM events) INSERT INTO delta.`{at}/events` SELECT * FROM e",
        f"FROM events INSERT INTO delta.`{at}/events` SELECT *",
        f"CREATE TABLE t USING delta LOCATION '{tmp_path}/t' AS SELECT 1",
        f"INSERT OVERWRITE DIRECTORY '{tmp_path}/d' USING csv SELECT 1",
        "DROP TABLE events",
        "SET spark.sql.shuffle.partitions = 3",
    ):
        with pytest.raises(BadInput, match="is no query"):
            query_tables(spark, at, query)
    assert (zk.warehouse.version("events"), list(tmp_path.iterdir())) == (before, [])
    (tmp_path / "secret").write_text("password\n")
    for source in ("csv", "text", "json"):
        with pytest.raises(BadInput, match="not understood"):
            query_tables(spark, at, f"SELECT * FROM {source}.`{tmp_path}/secret`")
    with pytest.raises(BadInput, match="not understood"):
        query_tables(spark, at, f"SELECT * FROM delta.`{at}/events`")
    with pytest.raises(BadInput, match=r"partition_timeline") as error:
        query_tables(spark, at, "SELECT * FROM partitions")
    assert "\n" not in str(error.value)


def test_spark_prints_as_duckdb_does(zk: Run) -> None:
    query = (
        "SELECT topic, partition, isr_before, succeeded, e.at FROM elections e WHERE unclean ORDER BY topic, partition"
    )
    at = ("--warehouse", zk.warehouse.root, "--limit", "3")
    for form in ("table", "jsonl", "csv"):
        by_spark, by_duckdb = (
            printed("sql", query, *at, "--format", form, "--engine", name) for name in ("spark", "duckdb")
        )
        assert by_spark == by_duckdb


# ---- whole runs -----------------------------------------------------------------------------------------------------
def test_sql(zk: Run) -> None:
    """Truth: three unclean elections in the ZooKeeper cluster, at 11:47:37.28. Their leader, broker 2, starts from
    offsets 2002, 2009 and 2006; broker 1 comes back with logs to 2149, 2085 and 2150 and truncates them to those."""
    query = (
        "SELECT topic, partition, leader, isr_before, lost_records_min, lost_records_max FROM elections WHERE unclean"
        " ORDER BY partition"
    )
    assert printed("sql", query, "--warehouse", zk.warehouse.root).splitlines() == [
        "topic       partition  leader  isr_before  lost_records_min  lost_records_max",
        "unclean_ok  0          2       [1]         147               147",
        "unclean_ok  1          2       [1]         76                76",
        "unclean_ok  3          2       [1]         144               144",
        "(3 rows)",
    ]


def test_evidence_names_lines(zk: Run) -> None:
    """Each line that a row is proved by, as `path:line`; the line is there and speaks of the row's topic."""
    rows = [
        json.loads(line)
        for line in printed(
            "sql",
            f"SELECT place, topic FROM {EVIDENCE} WHERE table_name = 'offline_partitions' ORDER BY at, place LIMIT 20",
            *("--format", "jsonl", "--warehouse", zk.warehouse.root),
        ).splitlines()
    ]
    assert len(rows) == 20
    for row in rows:
        path, _, line = row["place"].rpartition(":")
        data = Path(path).read_bytes()
        text = (gzip.decompress(data) if path.endswith(".gz") else data).decode()
        assert row["topic"] in text.split("\n")[int(line) - 1]


def test_export_as_text(zk: Run, tmp_path: Path) -> None:
    """Rows in the order of the table's key; times in ISO 8601; nulls as such; nothing half written lies about."""
    for form in ("jsonl", "csv"):
        output = str(tmp_path / f"out.{form}")
        printed("export", "offline_partitions", "--format", form, "-o", output, "--warehouse", zk.warehouse.root)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "out.jsonl"]
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(rows) == 24
    assert list(rows[0]) == OFFLINE_PARTITIONS.columns
    keys = [tuple(row[name] for name in OFFLINE_PARTITIONS.key) for row in rows]
    assert keys == sorted(keys)
    longest = max(rows, key=lambda row: int(row["at_least_ms"]))
    assert (longest["topic"], longest["since"], longest["cause_broker"]) == ("payments", "2026-11-21T11:47:34.961Z", 1)
    with (tmp_path / "out.csv").open(newline="") as file:
        flat = list(csv.DictReader(file))
    assert [row["since"] for row in flat] == [row["since"] for row in rows]
    assert [json.loads(row["evidence"]) for row in flat] == [row["evidence"] for row in rows]
    assert flat[0]["last_isr"] == json.dumps(rows[0]["last_isr"], separators=(",", ":"))


def test_export_to_standard_output(zk: Run) -> None:
    lines = printed("export", "controller_timeline", "--warehouse", zk.warehouse.root).splitlines()
    assert [json.loads(line)["controller_id"] for line in lines] == [3, 2, 3, 0]


def test_export_as_parquet(zk: Run, tmp_path: Path) -> None:
    for name in ("controller_timeline", "events", "contradictions"):
        output = str(tmp_path / f"{name}.parquet")
        printed("export", name, "--format", "parquet", "-o", output, "--warehouse", zk.warehouse.root)
    table = pq.read_table(tmp_path / "controller_timeline.parquet")
    assert table.column("controller_epoch").to_pylist() == [1, 2, 3, 4]
    assert str(table.schema.field("since").type) == "timestamp[us, tz=UTC]"
    written = pq.read_table(tmp_path / "events.parquet", columns=["file_id", "line"]).to_pylist()
    rows = zk.warehouse.read("events").select("file_id", "line").orderBy("file_id", "line").collect()
    assert [(row["file_id"], row["line"]) for row in written] == [(row["file_id"], row["line"]) for row in rows]
    nothing = pq.read_table(tmp_path / "contradictions.parquet")
    assert (nothing.num_rows, nothing.column_names) == (0, list(BY_NAME["contradictions"].columns))


@pytest.mark.runs
def test_three_nights_with_a_refused_one_between(
    spark: SparkSession, small: Path, grow: Callable[[Path], None], tmp_path: Path
) -> None:
    """What the refused night wrote is not seen, by either engine; nor what a night has written that is under way."""
    from jobs.nightly.run import nightly
    from jobs.settings import Settings
    from jobs.warehouse.tables import open_warehouse

    def night(settings: Settings | None = None) -> Any:
        warehouse = open_warehouse(spark, str(tmp_path / "w"), create=True)
        return nightly(warehouse, [str(small)], settings or Settings(), "default", lambda _: None)

    at = ("--warehouse", str(tmp_path / "w"), "--format", "csv")
    assert night().published
    first = printed("sql", "SELECT count(*) AS n FROM events", *at)
    unknown = (
        "[2026-11-21 10:05:{:02},000] INFO [Controller id=1] Nobody knows number {} "
        "(kafka.controller.KafkaController)\n"
    )
    (small / "broker-2").mkdir()
    refused_log = small / "broker-2" / "controller.log"
    refused_log.write_text("".join(unknown.format(i % 60, i) for i in range(200)))
    assert not night().published
    assert printed("sql", "SELECT count(*) AS n FROM events", *at) == first
    assert_equal(open_warehouse(spark, str(tmp_path / "w"), create=False))
    refused_log.unlink()
    grow(small)
    assert night().published
    assert printed("sql", "SELECT count(*) AS n FROM events", *at) != first
    assert_equal(open_warehouse(spark, str(tmp_path / "w"), create=False))
    statuses = printed("sql", "SELECT run_id, status FROM runs ORDER BY run_id", *at)
    assert re.findall(r"\w+ed\b", statuses) == ["published", "refused", "published"]
