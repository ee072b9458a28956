"""The command line. Nothing here imports Spark until a command needs it, so that help is quick."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from jobs.describe.command import describe
from jobs.merge.command import merge

BAD_INPUT, REFUSED, FAILED = 2, 3, 4


class Quiet(click.Group):
    """A group whose commands end in one sentence where others print usage or a trace; `--debug` shows the trace."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            sys.exit(BAD_INPUT)
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "kafka-rewind"
            click.echo(f"kafka-rewind: {error.format_message().rstrip('.')}; see `{path} --help`.", err=True)
            sys.exit(BAD_INPUT)
        except click.Abort:
            click.echo("kafka-rewind: stopped; nothing was published.", err=True)
            sys.exit(BAD_INPUT)
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort, click.ClickException):
            raise
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0) from None
        except Exception as error:
            if ctx.params.get("debug"):
                import traceback

                traceback.print_exc()
            raise SystemExit(_fail(error)) from None


def _fail(error: Exception) -> int:
    """Say what went wrong in one sentence; the exit code."""
    from udfs.errors import BadInput, Failed

    if isinstance(error, (BadInput, Failed)):
        click.echo(f"kafka-rewind: {error}", err=True)
        return BAD_INPUT if isinstance(error, BadInput) else FAILED
    told = _cause(error)
    if "OutOfMemory" in told:
        told = f"Spark ran out of memory; run it by spark-submit with more --driver-memory. It said: {told}"
    click.echo(f"kafka-rewind: {told} (--debug shows where)", err=True)
    return FAILED


def _cause(error: Exception) -> str:
    """The line of an error that says most: of Java's that of the last cause that says anything, of a Python worker's the last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    if lines[0].startswith("An error occurred while calling"):
        causes = [
            line.removeprefix("Caused by").removeprefix(": ")
            for line in lines
            if line.startswith(("Caused by: ", ": "))
        ]
        return ([cause for cause in causes if ": " in cause] or causes or lines)[-1]
    return lines[-1] if "Python worker" in lines[0] else lines[0]


@click.group(cls=Quiet, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the full trace of an error.")
def main(debug: bool) -> None:
    """Rebuild from Kafka's logs who led each partition, when and why.

    Point `nightly` at a folder of broker and controller logs; `describe`, `sql` and `export` read what it found.
    `ingest`, `timelines`, `detect` and `replay` are its steps, one by one.
    Exit codes: 0 done, 2 bad usage or input, 3 the data gate refused to publish,
    4 failed for another reason.
    """
    if debug:
        os.environ["KAFKA_REWIND_DEBUG"] = "1"


def warehouse_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--warehouse`, the same for every command."""
    return click.option("--warehouse", "root", default="./warehouse", show_default=True, help="Folder of the tables.")(
        command
    )


def writing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every command takes that writes to the warehouse."""
    for option in (
        click.option("--no-wait", is_flag=True, help="Fail at once if another run is writing to the warehouse."),
        click.option("--conf", metavar="FILE", help="YAML settings: clusters, zones, topics (see conf/example.yaml)."),
        warehouse_option,
    ):
        command = option(command)
    return command


def cluster_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--cluster`, for what reads logs."""
    told = "Cluster of logs that the settings do not name."
    return click.option("--cluster", default="default", show_default=True, help=told)(command)


def say(text: str) -> None:
    """Progress, on stderr."""
    click.echo(text, err=True)


def write(
    steps: tuple[str, ...],
    root: str,
    conf: str | None,
    no_wait: bool,
    *,
    logs: tuple[str, ...] = (),
    cluster: str = "default",
    with_rejects: bool = False,
) -> None:
    """Do some steps of a nightly run, and say what was found. What is wrong with paths and settings is said first."""
    from jobs import settings as settings_module
    from jobs.session import expected_bytes, session
    from jobs.warehouse.lock import sole_writer
    from jobs.warehouse.tables import check_root, expected_size
    from udfs.errors import BadInput
    from udfs.logs.paths import find

    settings = settings_module.load(conf)
    if not cluster.strip():
        raise BadInput("--cluster has no name; give one, or leave it out.")
    check_root(root, create=bool(logs))
    size = max(expected_bytes(source.path for source in find(logs)), expected_size(root))
    with sole_writer(root, wait=not no_wait, say=say):
        say("starting Spark ...")
        with session(size_bytes=size) as spark:
            from jobs.nightly.run import run
            from jobs.nightly.summary import gather, refusal, refused_rejects, screen
            from jobs.warehouse.tables import open_warehouse

            warehouse = open_warehouse(spark, root, create=bool(logs))
            outcome = run(warehouse, steps, settings, say, logs=logs, cluster=cluster, with_rejects=with_rejects)
            if not outcome.published:
                click.echo(refusal(outcome, refused_rejects(warehouse, outcome)), err=True)
                raise click.exceptions.Exit(REFUSED)
            say("stages: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in outcome.seconds.items()))
            if not outcome.news:
                click.echo(f"{NOTHING_NEW[bool(logs)]}\n")
            click.echo(screen(gather(warehouse, steps, settings), root, steps))


NOTHING_NEW = {
    True: "Nothing new: these logs are in the tables already.",
    False: "Nothing new: the tables are up to date.",
}
"""What is said of a run that changed nothing, by whether it was given logs."""


@main.command()
@click.argument("logs", nargs=-1, required=True)
@writing_options
@cluster_option
def nightly(logs: tuple[str, ...], root: str, conf: str | None, no_wait: bool, cluster: str) -> None:
    """Read LOGS (files, folders, globs, bundles), update all tables, say what was found."""
    from schemas.ledger import STEPS

    write(STEPS, root, conf, no_wait, logs=logs, cluster=cluster)


@main.command()
@click.argument("logs", nargs=-1)
@writing_options
@cluster_option
@click.option("--reparse-rejects", is_flag=True, help="Read old rejects again by today's rules; LOGS are not needed.")
def ingest(
    logs: tuple[str, ...], root: str, conf: str | None, no_wait: bool, cluster: str, reparse_rejects: bool
) -> None:
    """Read LOGS (files, folders, globs, bundles) into events; the first step of `nightly`."""
    if not logs and not reparse_rejects:
        raise click.UsageError("Missing argument 'LOGS...'.", click.get_current_context())
    write(("ingest",), root, conf, no_wait, logs=logs, cluster=cluster, with_rejects=reparse_rejects)


@main.command()
@writing_options
def timelines(root: str, conf: str | None, no_wait: bool) -> None:
    """Rebuild what was when, of clusters with new events; the second step of `nightly`."""
    write(("timelines",), root, conf, no_wait)


@main.command()
@writing_options
def detect(root: str, conf: str | None, no_wait: bool) -> None:
    """Find outages, elections, ISR changes in new timelines; the third step of `nightly`."""
    write(("detect",), root, conf, no_wait)


@main.command()
@writing_options
def replay(root: str, conf: str | None, no_wait: bool) -> None:
    """Judge new decisions by Kafka's algorithms; the fourth step of `nightly`."""
    write(("replay",), root, conf, no_wait)


@main.command()
@click.argument("query")
@warehouse_option
@click.option("--limit", default=100, show_default=True, help="Rows to print.")
def sql(query: str, root: str, limit: int) -> None:
    """Run a Spark SQL QUERY over the published tables."""
    from jobs.session import session
    from jobs.warehouse.query import print_rows, query_tables
    from jobs.warehouse.tables import check_root, expected_size

    check_root(root, create=False)
    with session(size_bytes=expected_size(root)) as spark:
        print_rows(query_tables(spark, root, query), limit, click.echo)


@main.command()
@click.argument("table")
@warehouse_option
@click.option("--format", "form", type=click.Choice(["jsonl", "csv", "parquet"]), default="jsonl", show_default=True)
@click.option("--output", "-o", metavar="F", help="File to write; standard output if not given (not for parquet).")
def export(table: str, root: str, form: str, output: str | None) -> None:
    """Write a published TABLE out as jsonl, csv or parquet."""
    from jobs.session import session
    from jobs.warehouse.query import check_export, export_table
    from jobs.warehouse.tables import check_root, expected_size

    check_root(root, create=False)
    check_export(table, form, output)
    with session(size_bytes=expected_size(root)) as spark:
        export_table(spark, root, table, form, output)


main.add_command(describe)
main.add_command(merge)


if __name__ == "__main__":
    main()
