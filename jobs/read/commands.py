"""Commands that read published tables: `sql`, `export`, `tables`, `shell`. What they do is imported when they do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from jobs.path_options import FOLDER, PATH, warehouse_option

FORMATS = ("table", "csv", "json", "jsonl", "markdown", "parquet")


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every command takes that reads published tables."""
    cluster = click.option("--cluster", metavar="NAME", help="Only the rows of this cluster.")
    return cluster(warehouse_option(command))


def output_options(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--format` and `--output`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option(
                "--output", "-o", type=PATH, metavar="FILE", help="File to write; without it standard output."
            ),
            click.option("--format", "form", type=click.Choice(FORMATS), default=default, show_default=True),
        ):
            command = option(command)
        return command

    return decorate


def engine_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--engine`."""
    return click.option(
        "--engine", type=click.Choice(["duckdb", "spark"]), default="duckdb", show_default=True, help=text
    )


form_option = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
"""`--format` of commands that answer in words; with json standard output is one document."""
COPIED = "spark: Spark copies the tables first, from wherever it reaches them."


@click.command()
@click.argument("query", required=False)
@click.option(
    "--file", "-f", "file", type=PATH, metavar="FILE", help="Read the query from a file; - is standard input."
)
@output_options("table")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many rows; a table on the screen has 100.")
@engine_option("spark: Spark's SQL, which also reaches tables of its catalogs.")
@reading_options
def sql(
    query: str | None,
    file: str | None,
    form: str,
    output: str | None,
    limit: int | None,
    engine: str,
    cluster: str | None,
    root: str,
) -> None:
    """Run QUERY, in DuckDB's SQL, over the published tables; without it the query is read from standard input.

    SHOW TABLES lists the tables, DESCRIBE TABLE_NAME says what their columns mean; the view `evidence` names the lines
    that prove a row. Nothing is written but --output.
    """
    from jobs.read.query import query_from, run_query

    asked = query_from(query, file)
    if engine == "spark":
        from jobs.read.spark_engine import run_spark_query

        run_spark_query(root, asked, form, output, limit=limit, cluster=cluster)
    else:
        run_query(root, asked, form, output, limit=limit, cluster=cluster)


@click.command()
@click.argument("table")
@output_options("jsonl")
@engine_option(COPIED)
@reading_options
def export(table: str, form: str, output: str | None, engine: str, cluster: str | None, root: str) -> None:
    """Write the published TABLE out as a whole, in the order of its key."""
    from jobs.read.query import export_table

    export_table(root, table, form, output, cluster=cluster, engine=engine)


@click.command()
@output_options("table")
@engine_option(COPIED)
@reading_options
def tables(form: str, output: str | None, engine: str, cluster: str | None, root: str) -> None:
    """List the published tables: how many rows of which time each has, and what one row is."""
    from jobs.read.query import run_query
    from jobs.read.tables import overview_query

    run_query(root, overview_query(), form, output, cluster=cluster, engine=engine)


@click.command()
@reading_options
def shell(cluster: str | None, root: str) -> None:
    """Ask queries one after the other, with completion and history, as `sql` takes them."""
    from jobs.read.shell import run_shell

    run_shell(root, cluster)


@click.command()
@click.argument("to", type=FOLDER)
@click.option(
    "--key",
    "key_file",
    required=True,
    type=PATH,
    metavar="FILE",
    help="File with the key: the same key, the same names.",
)
@warehouse_option
def redact(to: str, key_file: str, root: str) -> None:
    """Copy the published tables to the new folder TO, without names of topics, hosts, principals, clients and folders.

    Each becomes a hash by the key, the same everywhere; all commands read TO as a warehouse.
    """
    from jobs.read.redact import redact as copy
    from udfs.redaction import key_of

    counts = copy(root, to, key_of(key_file))
    click.echo(
        f"Wrote {to}: {counts['t']} topics, {counts['h']} hosts, {counts['p']} principals, {counts['c']} client ids"
        f" and {counts['d']} folders have other names there."
    )
