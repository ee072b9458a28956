"""Warehouses for tests that start no Spark: tables written by delta-rs, and the row of `runs` that pins them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from duckdb import DuckDBPyConnection

from jobs.read.create_views import duckdb_type, identifier, rows
from jobs.read.views import connect
from schemas.columns import ListOf, MapOf, Scalar, Struct, Type
from schemas.tables import BY_NAME
from tests.conftest import read_rows

Rows = Sequence[Mapping[str, Any]]
_SCALARS = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
DAY = datetime(2026, 11, 21)


def arrow_type(type_: Type) -> pa.DataType:
    """A type as Arrow has it."""
    match type_:
        case Scalar(name):
            return _SCALARS[name]
        case ListOf(element):
            return pa.list_(arrow_type(element))
        case MapOf(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case Struct(fields):
            return pa.struct([(field.name, arrow_type(field.type)) for field in fields])


def arrow_table(name: str, rows: Rows, without: Sequence[str] = ()) -> pa.Table:
    """Rows of a table in its columns; those that a row does not name are null."""
    fields = [field for field in BY_NAME[name].fields if field.name not in without]
    schema = pa.schema([(field.name, arrow_type(field.type)) for field in fields])
    whole = [{field.name: row.get(field.name) for field in fields} for row in rows]
    return pa.Table.from_pylist(whole, schema)


def write_table(root: Path, name: str, rows: Rows, without: Sequence[str] = ()) -> int:
    """Write all rows of a table, `without` some columns; its Delta version."""
    path = str(root / name)
    write_deltalake(path, arrow_table(name, rows, without), mode="overwrite", schema_mode="overwrite")
    version: int = DeltaTable(path).version()
    return version


def write_run(
    root: Path, number: int, versions: Mapping[str, int], status: str = "published", release: str | None = None
) -> None:
    """Add a run to `runs`."""
    row = {"run_id": str(number), "started_at": DAY, "status": status, "version": release}
    row["table_versions"] = list(versions.items())
    write_deltalake(str(root / "runs"), arrow_table("runs", [row]), mode="append")


def publish(root: Path, number: int = 1, status: str = "published", /, **tables: Rows) -> Path:
    """Write tables, and the run that makes them visible or not; the warehouse's folder."""
    write_run(root, number, {name: write_table(root, name, rows) for name, rows in tables.items()}, status)
    return root


# ---- tables as text -------------------------------------------------------------------------------------------------
@contextmanager
def views_of(tables: Mapping[str, str]) -> Iterator[DuckDBPyConnection]:
    """Tables written as text (see `tests.conftest.frame`) as queries over the views read them, with naive times."""
    with connect() as connection:
        for name, text in tables.items():
            names, cells = read_rows(BY_NAME[name].schema, text)
            whole = [
                {"cluster": "c", "line": i, "file_id": "f", "node_id": 1, **dict(zip(names, row, strict=True))}
                for i, row in enumerate(cells, 1)
            ]
            connection.register("_rows", arrow_table(name, whole))
            columns = [f"{identifier(f.name)}::{duckdb_type(f.type)}" for f in BY_NAME[name].fields]
            types = ", ".join(columns).replace("TIMESTAMPTZ", "TIMESTAMP")
            aliases = ", ".join(identifier(f.name) for f in BY_NAME[name].fields)
            connection.execute(f"CREATE TABLE {name}({aliases}) AS SELECT {types} FROM _rows")
        yield connection


def assert_rows(connection: DuckDBPyConnection, query: str, text: str) -> None:
    """Fails unless the named columns of a query's rows hold these, in any order."""
    lines = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    names, *expected = lines
    assert sorted([as_cell(row[name]) for name in names] for row in rows(connection, query)) == sorted(expected)


def as_cell(value: Any) -> str:
    """A value as tables in text have it."""
    if isinstance(value, datetime):
        return f"{value:%H:%M}" if value.second == 0 else f"{value:%H:%M:%S}"
    return "" if value is None else ",".join(map(str, value)) if isinstance(value, list) else str(value)
