"""Views of published tables in a DuckDB connection, in today's columns and with what they mean."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jobs.read.published import Published, damaged
from schemas.columns import Field, ListOf, MapOf, Scalar, Struct, Type
from schemas.table import Table
from schemas.tables import BY_NAME, DERIVED

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

EVIDENCE = "evidence"
"""The view that names the lines which prove derived rows."""
VIEWS = (*BY_NAME, EVIDENCE)
_BEFORE = {
    "offline_partitions": {
        "began_after": '"since"',
        "ended_before": '"until"',
        "at_least_ms": '"duration_ms"',
        "at_most_ms": 'CASE WHEN "until" IS NOT NULL THEN "duration_ms" END',
    }
}
"""Table -> column that 0.1.0 did not write -> what that release had in its place."""
_SCALARS = {
    "int": "INTEGER",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMPTZ",
}


def create_view(
    connection: DuckDBPyConnection,
    published: Published,
    table: Table,
    cluster: str | None = None,
    *,
    naive: bool = False,
) -> list[str]:
    """A view of a table in today's columns; the files that it reads.

    A column that an older release did not write is null, or what it had in its place; a table of which nothing was
    published has no rows.
    """
    import duckdb

    stored = published.stored(table.name)
    columns = stored.columns if stored is not None else ()
    if stored is None:
        source = "(SELECT 1) WHERE false"
    elif stored.dataset is not None:
        connection.register(f"_{table.name}", stored.dataset)
        source = f"_{table.name}"
    else:
        source = f"read_parquet([{', '.join(map(literal, stored.files))}], union_by_name = true)"
    rows = f"SELECT {', '.join(_column(table, field, columns, naive) for field in table.fields)} FROM {source}"
    if cluster is not None and "cluster" in table.columns and stored is not None:
        rows += f" WHERE cluster = {literal(cluster)}"
    try:
        connection.execute(f"CREATE OR REPLACE VIEW {table.name} AS {rows}")
    except duckdb.Error as error:  # a file's end, which has its columns
        raise damaged(error) from None
    return [*stored.files] if stored is not None else []


def _column(table: Table, field: Field, columns: Collection[str], naive: bool) -> str:
    """A column as the view has it: its times are instants, which Spark's files do not say."""
    name, type_ = identifier(field.name), duckdb_type(field.type)
    value = name
    if field.name not in columns:
        value = _BEFORE.get(table.name, {}).get(field.name, "NULL") if columns else "NULL"
    if naive:
        type_ = type_.replace("TIMESTAMPTZ", "TIMESTAMP")
    return f"({value})::{type_} AS {name}" if value != name or "TIMESTAMP" in type_ else value


def create_evidence(connection: DuckDBPyConnection) -> None:
    """The view of the lines that prove derived rows, with the paths of their streams."""
    parts = []
    for table in DERIVED:
        if "evidence" not in table.columns:
            continue
        topic, partition = (name if name in table.columns else "NULL" for name in ("topic", "partition"))
        at = next(f'"{name}"' for name in ("at", "since", "sent_at", "window") if name in table.columns)
        if table.name == "control_requests":
            at = "coalesce(sent_at, received_at, responded_at)"
        parts.append(
            f"SELECT '{table.name}' AS table_name, cluster, {topic}::VARCHAR AS topic,"
            f' {partition}::INTEGER AS partition, {at} AS "at", unnest(evidence) AS e FROM {table.name}'
        )
    rows = " UNION ALL ".join(parts)
    connection.execute(
        f"CREATE VIEW {EVIDENCE} AS SELECT r.table_name, r.cluster, r.topic, r.partition, r.at, r.e.node_id AS node_id,"
        " r.e.file_id AS file_id, r.e.line AS line, f.path || ':' || r.e.line AS place"
        f" FROM ({rows}) r LEFT JOIN log_files f ON f.cluster = r.cluster AND f.file_id = r.e.file_id"
    )


EVIDENCE_GRAIN = "One line that proves a row of a derived table."
EVIDENCE_FIELDS = tuple(
    Field(name, Scalar(type_), doc)
    for name, type_, doc in (
        ("table_name", "string", "Table of the row that it proves."),
        ("cluster", "string", "Cluster of the row."),
        ("topic", "string", "Topic of the row; null if the table has none."),
        ("partition", "int", "Partition of the row; null if the table has none."),
        ("at", "timestamp", "Time of the row: its `at`, `since` or `window`, or when a request was first seen."),
        ("node_id", "int", "Node that wrote the line; null unknown."),
        ("file_id", "string", "Stream of the line (log_files)."),
        ("line", "bigint", "Its number in the stream, from 1."),
        ("place", "string", "The line as `path:line`; the path is where the stream was first seen."),
    )
)


def add_comments(connection: DuckDBPyConnection, views: Collection[str]) -> None:
    """Let views and their columns say what they mean."""
    statements = []
    for name in views:
        fields = EVIDENCE_FIELDS if name == EVIDENCE else BY_NAME[name].fields
        grain = EVIDENCE_GRAIN if name == EVIDENCE else f"{BY_NAME[name].grain[0].upper()}{BY_NAME[name].grain[1:]}."
        statements.append(f"COMMENT ON VIEW {name} IS {literal(grain)}")
        statements += [
            f"COMMENT ON COLUMN {name}.{identifier(field.name)} IS {literal(field.doc)}"
            for field in fields
            if field.doc
        ]
    connection.execute("; ".join(statements))


# ---- SQL ------------------------------------------------------------------------------------------------------------
def duckdb_type(type_: Type) -> str:
    """A type as DuckDB writes it.

    >>> duckdb_type(ListOf(Struct((Field("at", Scalar("timestamp")),))))
    'STRUCT("at" TIMESTAMPTZ)[]'
    """
    match type_:
        case Scalar(name):
            return _SCALARS[name]
        case ListOf(element):
            return f"{duckdb_type(element)}[]"
        case MapOf(key, value):
            return f"MAP({duckdb_type(key)}, {duckdb_type(value)})"
        case Struct(fields):
            return f"STRUCT({', '.join(f'{identifier(field.name)} {duckdb_type(field.type)}' for field in fields)})"


def identifier(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def time_literal(at: datetime) -> str:
    """A time without a zone as SQL writes it."""
    return f"TIMESTAMP '{at.isoformat(' ')}'"


def rows(connection: DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    """All rows of a query, as dicts by column name."""
    result = connection.execute(query)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def literal(text: str) -> str:
    """A text as SQL quotes it.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
