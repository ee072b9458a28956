"""A DuckDB connection on published tables: a view of each, with its comments, and nothing else within reach.

DuckDB reads the Parquet files of the pinned versions itself: it reads only the columns and row groups that a query
needs, and never holds a table. Tables in object stores come through delta-rs and Arrow. The connection can open no
other file, loads no extension, and its settings are locked.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jobs.read.published import Published, damaged, local_files, open_published
from schemas.columns import Field, ListOf, MapOf, Scalar, Struct, Table, Type
from schemas.tables import BY_NAME, DERIVED
from udfs.errors import BadInput, Failed

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "512MB"
"""What DuckDB may hold; larger sorts go to temporary files."""
EVIDENCE = "evidence"
"""The view that names the lines which prove derived rows."""
VIEWS = (*BY_NAME, EVIDENCE)
_OPTIONS = {
    "python_enable_replacements": False,  # no variable of ours is a table
    "python_scan_all_frames": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_SCALARS = {
    "int": "INTEGER",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMPTZ",
}


@contextmanager
def connect() -> Iterator[DuckDBPyConnection]:
    """A connection without tables whose times are UTC; what it spills goes to a folder that is removed at the end."""
    import duckdb

    spill = os.path.join(tempfile.gettempdir(), f"kafka-rewind-{os.getpid()}-{os.urandom(4).hex()}")
    connection = duckdb.connect(":memory:", config={**_OPTIONS, "temp_directory": spill, "memory_limit": MEMORY})
    try:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
    finally:
        with suppress(duckdb.Error):
            connection.close()
        shutil.rmtree(spill, ignore_errors=True)


@contextmanager
def open_views(
    root: str,
    *,
    cluster: str | None = None,
    only: Collection[str] | None = None,
    writes: Collection[str] = (),
    naive: bool = False,
    comments: bool = False,
) -> Iterator[DuckDBPyConnection]:
    """A connection on a view of each published table (of those in `only`), of all clusters or of one.

    It can read the tables' files and write those of `writes`, and no others. `naive`: times have no zone, as our own
    code has them in Python; they are UTC all the same. `comments`: views and columns say what they mean.
    Raises BadInput for a warehouse or a cluster that is not there.
    """
    with plain_path(root) as path, connect() as connection:
        published = open_published(connection, path)
        files = list(writes)
        names = VIEWS if only is None else _with_needed(only)
        if cluster is not None:
            check_cluster(connection, published, cluster)
        for name in names:
            if name != EVIDENCE:
                files += create_view(connection, published, BY_NAME[name], cluster, naive=naive)
        if EVIDENCE in names:
            create_evidence(connection)
        if comments:
            add_comments(connection, names)
        connection.execute("SET allowed_paths = $1", [files])
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection


def _with_needed(names: Collection[str]) -> list[str]:
    """Views, and those that they read."""
    needed = {*names}
    if EVIDENCE in needed:
        needed |= {"log_files", *(table.name for table in DERIVED)}
    return [name for name in VIEWS if name in needed]


@contextmanager
def plain_path(root: str) -> Iterator[str]:
    """The same warehouse by a path in which DuckDB sees no pattern, and delta-rs no escape. Errors name its own."""
    if "://" in root or re.fullmatch(r"[\w./+,=@-]*", root, re.ASCII) or not os.path.isdir(root):
        yield root
        return
    folder = tempfile.mkdtemp(prefix="kafka-rewind-")
    link = f"{folder}/warehouse"
    try:
        os.symlink(os.path.abspath(root), link)
        yield link
    except (BadInput, Failed) as error:
        raise type(error)(str(error).replace(link, root)) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_cluster(connection: DuckDBPyConnection, published: Published, cluster: str) -> None:
    """Raises BadInput for a cluster that is not in the warehouse."""
    create_view(connection, published, BY_NAME["log_files"])
    known = clusters(connection)
    if cluster not in known:
        raise BadInput(f"There is no cluster {cluster} in the warehouse; it has {', '.join(known) or 'none'}.")


def clusters(connection: DuckDBPyConnection) -> list[str]:
    """Names of all clusters, sorted."""
    return [name for (name,) in connection.execute("SELECT DISTINCT cluster FROM log_files ORDER BY 1").fetchall()]


def the_cluster(connection: DuckDBPyConnection, name: str | None) -> str:
    """The cluster of a name, or the only one. Raises BadInput if there is none, or several to choose from."""
    found = connection.execute("SELECT DISTINCT cluster FROM log_coverage ORDER BY 1").fetchall()
    names = [cluster for (cluster,) in found]
    if not names:
        raise BadInput("The warehouse has no logs with times; run `kafka-rewind nightly LOGS` first.")
    if name is None and len(names) > 1:
        raise BadInput(f"The warehouse has several clusters: {', '.join(names)}; name one with --cluster.")
    if name is not None and name not in names:
        raise BadInput(f"There is no cluster {name} in the warehouse; it has {', '.join(names)}.")
    return name or names[0]


# ---- views ----------------------------------------------------------------------------------------------------------
def create_view(
    connection: DuckDBPyConnection,
    published: Published,
    table: Table,
    cluster: str | None = None,
    *,
    naive: bool = False,
) -> list[str]:
    """A view of a table in today's columns; the files that it reads.

    A column that an older release did not write is null; a table of which nothing was published has no rows.
    """
    import duckdb

    files: list[str] = []
    columns: Collection[str] = ()
    source = "(SELECT 1) WHERE false"
    if published.has(table.name):
        delta = published.delta(table.name)
        columns = {field.name for field in delta.schema().fields}
        if published.is_remote:
            connection.register(f"_{table.name}", delta.to_pyarrow_dataset())
            source = f"_{table.name}"
        elif files := local_files(delta):
            source = f"read_parquet([{', '.join(map(literal, files))}], union_by_name = true)"
    selected = ", ".join(_column(field, columns if source[0] != "(" else (), naive) for field in table.fields)
    rows = f"SELECT {selected} FROM {source}"
    if cluster is not None and "cluster" in table.columns and source[0] != "(":
        rows += f" WHERE cluster = {literal(cluster)}"
    try:
        connection.execute(f"CREATE OR REPLACE VIEW {table.name} AS {rows}")
    except duckdb.Error as error:  # a file's end, which has its columns
        raise damaged(error) from None
    return files


def _column(field: Field, columns: Collection[str], naive: bool) -> str:
    """A column as the view has it: its times are instants, which Spark's files do not say."""
    value = identifier(field.name) if field.name in columns else "NULL"
    type_ = duckdb_type(field.type)
    if naive:
        type_ = type_.replace("TIMESTAMPTZ", "TIMESTAMP")
    return f"{value}::{type_} AS {identifier(field.name)}" if value == "NULL" or "TIMESTAMP" in type_ else value


def create_evidence(connection: DuckDBPyConnection) -> None:
    """The view of the lines that prove derived rows, with the paths of their streams."""
    parts = []
    for table in DERIVED:
        if "evidence" not in table.columns:
            continue
        topic, partition = (name if name in table.columns else "NULL" for name in ("topic", "partition"))
        at = next(f'"{name}"' for name in ("at", "since", "sent_at") if name in table.columns)
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
        ("at", "timestamp", "Time of the row: its `at`, its `since`, or when a request was first seen."),
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
