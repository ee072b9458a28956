"""Which statements are let through, and what is said of the others."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from jobs.read.create_views import VIEWS
from jobs.read.statements import checked, failure, views_named
from jobs.read.views import open_views
from schemas.findings import ELECTIONS
from tests.delta_warehouse import publish
from udfs.errors import BadInput


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Views on a warehouse of one election."""
    root = publish(tmp_path_factory.mktemp("w"), elections=[{"cluster": "c", "topic": "pay"}])
    with open_views(str(root), comments=True) as opened:
        yield opened


def run(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[object, ...]]:
    """Rows of a query, as `sql` runs it."""
    statement = checked(connection, query)
    try:
        return connection.execute(statement).fetchall()
    except duckdb.Error as error:
        raise failure(error, query) from None


READ = {
    "SELECT topic FROM elections; -- done": [("pay",)],
    "FROM elections SELECT topic": [("pay",)],
    "WITH e AS (FROM elections) SELECT topic, ';' FROM e;": [("pay", ";")],
    "VALUES (1)": [(1,)],
    "SELECT at, e.at FROM elections e WHERE at IS NULL ORDER BY at": [(None, None)],
    "SELECT 'at' AS at": [("at",)],
    "SELECT strftime(timestamptz '2026-11-21 12:00Z' AT TIME ZONE 'Europe/Berlin', '%H')": [("13",)],
    "PIVOT (SELECT topic, cluster FROM elections) ON cluster USING count(*)": [("pay", 1)],
    "SELECT count(*) FROM (SUMMARIZE elections)": [(len(ELECTIONS.columns),)],
}


@pytest.mark.parametrize("query", READ)
def test_statements_that_read(query: str, connection: duckdb.DuckDBPyConnection) -> None:
    assert run(connection, query) == READ[query]


@pytest.mark.parametrize("query", ["EXPLAIN SELECT 1", "EXPLAIN ANALYZE FROM elections", "EXPLAIN (ANALYZE) SELECT 1"])
def test_explain(query: str, connection: duckdb.DuckDBPyConnection) -> None:
    assert run(connection, query)


@pytest.mark.parametrize("query", ["DESCRIBE elections", "DESC elections;", "show elections", "SUMMARIZE elections"])
def test_columns_are_told_with_their_meaning(query: str, connection: duckdb.DuckDBPyConnection) -> None:
    by_name = {row[0]: row[-1] for row in run(connection, query)}
    assert by_name == {field.name: field.doc for field in ELECTIONS.fields}


def test_tables_are_told_with_their_meaning(connection: duckdb.DuckDBPyConnection) -> None:
    tables = {row[0]: row[1] for row in run(connection, "SHOW TABLES")}
    assert str(tables["elections"]).lower() == f"{ELECTIONS.grain}.".lower()
    assert tables.keys() == {*VIEWS}
    assert tables["evidence"] == "One line that proves a row of a derived table."


REFUSED = (
    "COPY (SELECT 1) TO 'x.csv'", "COPY elections FROM 'x.csv'", "EXPORT DATABASE 'x'", "IMPORT DATABASE 'x'",
    "ATTACH 'x.db'", "DETACH memory", "USE memory", "INSTALL httpfs", "LOAD json", "FORCE INSTALL httpfs",
    "SET threads = 1", "RESET threads", "PRAGMA threads = 1", "PRAGMA table_info('runs')", "CALL pragma_version()",
    "CREATE TABLE x AS SELECT 1", "CREATE MACRO f() AS 1", "CREATE SECRET (TYPE s3)", "DROP VIEW runs",
    "DELETE FROM elections", "UPDATE elections SET topic = 'x'", "INSERT INTO elections SELECT 1",
    "ALTER VIEW runs RENAME TO x", "COMMENT ON VIEW runs IS 'x'", "PREPARE x AS SELECT 1", "EXECUTE x", "BEGIN",
    "CHECKPOINT", "VACUUM", "EXPLAIN ANALYZE COPY (SELECT 1) TO 'x.csv'", "EXPLAIN DELETE FROM elections",
)  # fmt: skip


@pytest.mark.parametrize("query", REFUSED)
def test_statements_that_do_more_than_read(query: str, connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(BadInput) as error:
        run(connection, query)
    assert "is no query: published tables are only read" in str(error.value)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_blob('/etc/*')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM '/etc/passwd.csv'",
        "SELECT * FROM read_parquet('https://example.org/x.parquet')",
        "SELECT * FROM read_json('/etc/passwd')",
        "SELECT * FROM sniff_csv('/etc/passwd')",
        "SELECT * FROM parquet_metadata('/etc/passwd')",
        "SELECT * FROM query('FROM read_text(''/etc/passwd'')')",
        "EXPLAIN ANALYZE (SELECT * FROM read_text('/etc/passwd'))",
    ],
)
def test_files_are_out_of_reach(query: str, connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(BadInput) as error:
        run(connection, query)
    assert str(error.value).startswith(("The query reads or writes files, which is not done here", "It is no query"))


def test_variables_of_the_program_are_no_tables(connection: duckdb.DuckDBPyConnection) -> None:
    import pandas as pd

    local = pd.DataFrame({"x": [1]})
    assert len(local) == 1
    with pytest.raises(BadInput, match="There is no table local"):
        run(connection, "SELECT * FROM local")


WRONG = {
    "": "The query is empty; give a statement such as SELECT * FROM elections.",
    "SELECT 1; SELECT 2": "One statement at a time: these are 2.",
    "SELEC 1": 'The query is not understood: syntax error at or near "SELEC".',
    "SELECT getenv('HOME')": "The query is not understood: Scalar Function with name getenv does not exist.",
    "SELECT foo(1)": "The query is not understood: Scalar Function with name foo does not exist.",
    "SELECT * FROM outages": "There is no table outages; did you mean offline_partitions?",
    "SELECT * FROM Brokers": "There is no table Brokers; did you mean broker_timeline?",
    "SELECT * FROM isr": "There is no table isr; did you mean isr_changes?",
    "SELECT * FROM partition_timelin": "There is no table partition_timelin; did you mean partition_timeline?",
    "SELECT topik FROM elections": "There is no column topik there; did you mean topic?",
    "SELECT e.topik FROM elections e": "There is no column topik there; did you mean topic?",
    "SELECT * EXCLUDE (evidence) FROM isr_churn": (
        "There is no column evidence there; there are churning, cluster, expands, flaps, flaps_while_up, follower, "
        "hour, incarnation, leader_changes, marginal, partition, shrinks, stops, topic and worst_out_ms."
    ),
    "SELECT plase FROM evidence": "There is no column plase there; did you mean place?",
    "SELECT 'x'::INTEGER": "The query failed: Could not convert string 'x' to INT32.",
}


@pytest.mark.parametrize("query", WRONG)
def test_what_is_wrong_with_a_query(query: str, connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(BadInput) as error:
        run(connection, query)
    assert str(error.value) == WRONG[query]


def test_views_that_a_query_names() -> None:
    assert views_named("SELECT * FROM Events JOIN log_files USING (file_id)") == ["log_files", "events"]
    assert views_named("SHOW TABLES") is None
    assert views_named("SELECT 1") == []
