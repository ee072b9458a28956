"""`sql` and `export`: a query over published tables, or a table as a whole, as text or as a Parquet file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING

from jobs.progress import on_terminal
from jobs.read.create_views import VIEWS
from jobs.read.output import check_output, terminal_width, write_text, writing
from jobs.read.parts import Parts, in_order_of_key
from jobs.read.published import table_named
from jobs.read.row_formats import LIMIT, Shape, text_of, write_parquet
from jobs.read.statements import asks_for_comments, checked, failure, views_named
from jobs.read.views import open_views
from udfs.errors import BadInput

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def run_query(
    root: str,
    query: str,
    form: str,
    output: str | None,
    *,
    limit: int | None = None,
    cluster: str | None = None,
    engine: str = "duckdb",
) -> None:
    """Print a query's rows, or write them to a file. Raises BadInput for what is no query, or cannot be understood."""
    check_output(form, output)
    writes = [output] if output is not None and form == "parquet" else []
    comments, only = asks_for_comments(query), views_named(query)
    with open_views(root, cluster=cluster, only=only, writes=writes, comments=comments, engine=engine) as connection:
        write_rows(connection, query, form, output, limit)


def export_table(
    root: str, table: str, form: str, output: str | None, *, cluster: str | None = None, engine: str = "duckdb"
) -> None:
    """Write a published table out, in the order of its key, without sorting it as a whole."""
    exported = table_named(table)
    check_output(form, output)
    writes = [output] if output is not None and form == "parquet" else []
    with open_views(root, cluster=cluster, only=[table], writes=writes, engine=engine) as connection, sentences(table):
        limit = LIMIT if form in ("table", "markdown") and output is None else None
        _write(connection, in_order_of_key(connection, exported), "export", form, output, limit)


def write_rows(
    connection: DuckDBPyConnection, query: str, form: str, output: str | None, limit: int | None = None
) -> None:
    """Print rows of a query over a connection's views, or write them to a file; at most `limit`, by default 100."""
    if limit is None and form in ("table", "markdown") and output is None:
        limit = LIMIT
    with sentences(query):
        _write(connection, Parts([checked(connection, query)]), "query", form, output, limit)


def _write(
    connection: DuckDBPyConnection, parts: Parts, name: str, form: str, output: str | None, limit: int | None
) -> None:
    """Print rows of checked queries, or write them to a file. How far that is is shown until rows are on the screen."""
    with on_terminal() as progress, progress.step(name, 100, "%", lambda: parts.percent(connection)):
        if form == "parquet":
            assert output is not None  # check_output
            with writing(output):
                write_parquet(connection, parts, output, limit)
            return
        pieces = text_of(connection, parts, Shape(form, limit, terminal_width(output)))
        if output is None and sys.stdout.isatty():
            first = list(islice(pieces, 1))
            progress.close()
            pieces = chain(first, pieces)
        write_text(pieces, output)


@contextmanager
def sentences(query: str) -> Iterator[None]:
    """Errors of DuckDB about a query as one sentence each."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise failure(error, query) from None


def query_from(argument: str | None, file: str | None) -> str:
    """The query: the argument, a file (`-`: standard input), or what is piped in. Raises BadInput."""
    if argument is not None and file is not None:
        raise BadInput("Give the query as an argument or with --file, not both.")
    if argument is not None and argument != "-":
        return argument
    if file is None and argument is None and sys.stdin.isatty():
        raise BadInput(f"There is no query; give one, or a file with --file. Tables are {', '.join(sorted(VIEWS))}.")
    try:
        if file in (None, "-"):
            return sys.stdin.read()
        with open(str(file), encoding="utf-8") as opened:
            return opened.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise BadInput(f"The query cannot be read: {file or 'standard input'} ({reason}).") from None
