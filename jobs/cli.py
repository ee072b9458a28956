"""The command line. Nothing here imports Spark until a command needs it, so that help is quick."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from jobs.answers.admin_commands import ADMIN_COMMANDS
from jobs.answers.commands import COMMANDS as ANSWERS
from jobs.describe.command import describe
from jobs.exits import (
    BAD_INPUT,
    DONE,
    FAILED,
    FOUND,
    INTERRUPTED,
    complain,
    discard,
    exit_code,
    explain,
    flush_output,
    not_written,
    print_error,
    print_utf8,
)
from jobs.merge.command import merge
from jobs.nightly.summary_command import summary
from jobs.nightly.upkeep_command import optimize, prune
from jobs.path_options import PATH, warehouse_option
from jobs.read.commands import export, form_option, redact, shell, sql, tables
from jobs.report.command import report
from jobs.whole_help import WholeHelp

if TYPE_CHECKING:
    from jobs.settings import Settings
    from udfs.logs.paths import Source


class CommandGroup(WholeHelp):
    """Commands that end in one sentence where click would print usage and Python a trace; `--debug` shows the trace."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        print_utf8()
        code = self._run(*args, **{**extra, "standalone_mode": False})
        if (unwritten := flush_output()) is not None and code == DONE:
            complain(not_written(unwritten))
            code = FAILED
        if not standalone_mode and code == DONE:
            return code
        sys.exit(code)

    def _run(self, *args: Any, **extra: Any) -> int:
        """The exit code of a command, whatever happens to it."""
        try:
            code = super().main(*args, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            print_error(error.format_message())
            return BAD_INPUT
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "kafka-rewind"
            sentence = usage_sentence(error, path)
            if path.rpartition(" ")[2] != "check":
                complain(sentence)
                return BAD_INPUT
            from jobs.answers.check import unknown_line
            from jobs.nightly.status import UNKNOWN

            # for a monitor 2 is CRITICAL, and it reads standard output only
            words = extra.get("args") or (args[0] if args else None) or sys.argv
            click.echo(unknown_line(sentence, "json" if "json" in words else "text"))
            return UNKNOWN
        except click.Abort:
            complain("Interrupted.")
            return INTERRUPTED
        except SystemExit as ended:  # by a signal; or by click with 1, where the reader of a pipe is gone
            return ended.code if isinstance(ended.code, int) and ended.code > 1 else DONE
        except OSError as error:  # the usage cannot be printed
            return end(error)
        return code if isinstance(code, int) else DONE

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort, click.ClickException):
            raise
        except BrokenPipeError:
            discard(sys.stdout)
            raise click.exceptions.Exit(DONE) from None
        except Exception as error:
            if ctx.params.get("debug"):
                import traceback

                traceback.print_exc()
            raise click.exceptions.Exit(end(error)) from None


def usage_sentence(error: click.UsageError, path: str) -> str:
    """How a command is used wrongly, and where its usage is. An option is proposed only if it is spelt much alike."""
    sentence = " ".join(error.format_message().split()).replace("'. Choose from: ", "', one of ").rstrip(".")
    if isinstance(error, click.NoSuchOption):
        from difflib import get_close_matches

        names = {name.strip("-"): name for name in error.possibilities or ()}
        near = get_close_matches(error.option_name.strip("-"), names, 1, LEAST_ALIKE)
        sentence = f"No such option '{error.option_name}'{f'; did you mean {names[near[0]]}?' if near else ''}"
    return f"{sentence}{' See' if sentence.endswith('?') else '; see'} `{path} --help`."


LEAST_ALIKE = 0.7
"""How alike, from 0 to 1, an option's name must be to one that does not exist."""


def end(error: Exception) -> int:
    """Print why a command ends with an exception; its exit code."""
    if (unwritten := flush_output()) is not None:
        complain(not_written(unwritten))
        return FAILED
    complain(explain(error))
    return exit_code(error)


def print_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """End with the version if `--version` is given."""
    if is_asked:
        from jobs.version import product_version

        click.echo(f"kafka-rewind {product_version()}")
        ctx.exit()


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=print_version, help="Print it.")
@click.option("--debug", is_flag=True, help="Show the full trace of an error, and what Spark says when it starts.")
def main(debug: bool) -> None:
    """Rebuild from Kafka's logs who led each partition, when and why.

    Point `nightly` at a folder of broker and controller logs; `why`, `outages`, `brokers`, `availability`,
    `loss`, `incidents`, `what-if`, `check`, `summary`, `describe`, `tables`, `sql`, `shell` and `export` read its
    tables, without Spark; `report` writes them as one HTML file.
    `ingest`, `timelines`, `detect` and `replay` are its steps, one by one. `merge` needs no tables.

    Exit codes: 0 done; 2 bad usage or input; 3 the data gate refused to publish; 4 failed for another reason (no Java,
    no memory, a full disk, another run, a bug); 130 interrupted. 1: `check` or `--fail-on` found what they ask for.
    """
    if debug:
        os.environ["KAFKA_REWIND_DEBUG"] = "1"


def writing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every command takes that writes to the warehouse."""
    for option in (
        click.option("--no-wait", is_flag=True, help="Fail at once if another run is writing to the warehouse."),
        click.option(
            "--conf", type=PATH, metavar="FILE", help="YAML settings: clusters, zones, topics (see conf/example.yaml)."
        ),
        warehouse_option,
    ):
        command = option(command)
    return command


def cluster_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--cluster`, for what reads logs."""
    text = "Cluster of logs that the settings do not name."
    return click.option("--cluster", default="default", show_default=True, help=text)(command)


def checked(
    root: str, conf: str | None, logs: tuple[str, ...], cluster: str
) -> tuple[Settings, str, int, list[Source]]:
    """The settings, where the warehouse is, the bytes of logs, about, and their files. Raises BadInput, before Spark
    starts."""
    from jobs import settings as settings_module
    from jobs.ingest.first_look import check_logs
    from jobs.session import expected_bytes
    from jobs.warehouse.integrity import check_whole
    from jobs.warehouse.location import expected_size, has_ledger, no_warehouse, warehouse_at
    from udfs.errors import BadInput
    from udfs.logs.paths import find

    settings = settings_module.load(conf)
    if not cluster.strip():
        raise BadInput("--cluster has no name; give one, or leave it out.")
    if not cluster.isprintable():
        raise BadInput(f"--cluster is {cluster!r}; {settings_module.PRINTABLE}.")
    root = warehouse_at(root, create=bool(logs))
    sources = find(logs)
    paths = [source.path for source in sources]
    if paths:
        check_logs(paths, settings.limits)
    elif not has_ledger(root):
        check_whole(root)
        raise no_warehouse(root)
    size = expected_bytes({source.path: source.size for source in sources})
    return settings, root, max(size, expected_size(root)), sources


def write(
    steps: tuple[str, ...],
    root: str,
    conf: str | None,
    no_wait: bool,
    *,
    logs: tuple[str, ...] = (),
    cluster: str = "default",
    with_rejects: bool = False,
    report_file: str | None = None,
    rebuild: bool = False,
    form: str = "text",
    fail_on: Sequence[str] = (),
    more: Callable[[], Mapping[str, Any]] | None = None,
) -> None:
    """Run some steps, print the summary, write the report; exit 1 for what `fail_on` names.

    `more`: what JSON says of clusters besides, by their names. Bad paths and settings end it before Spark starts.
    """
    from jobs.nightly.writing import open_for_writing

    settings, root, size, sources = checked(root, conf, logs, cluster)
    opened = open_for_writing(root, wait=not no_wait, size_bytes=size, create=bool(logs), repair=rebuild)
    with opened as (warehouse, progress):
        from jobs.nightly.ending import end_refused, end_with_findings, print_summaries, published_summaries
        from jobs.nightly.run import run

        outcome = run(
            warehouse,
            steps,
            settings,
            progress.say,
            logs=logs,
            sources=sources,
            cluster=cluster,
            with_rejects=with_rejects,
            rebuild=rebuild,
            progress=progress,
        )
        with progress.step("summary"):
            summaries = published_summaries(warehouse, steps, settings, outcome)
        progress.close()
        if not outcome.published:
            end_refused(outcome)
        progress.say("stages: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in outcome.seconds.items()))
        if not outcome.has_new_input:
            progress.say(NOTHING_NEW[bool(logs)])
        print_summaries(summaries, root, steps, form, more() if more is not None else {})
        if report_file is not None:
            write_night_report(root, report_file, form)
        if outcome.refused:
            end_refused(outcome)
        end_with_findings(summaries, fail_on)


def write_night_report(root: str, file: str, form: str) -> None:
    """Write the HTML reports of a night, and say where they are; beside JSON on standard error."""
    from jobs.report.write import write_reports

    for written in write_reports(root, file):
        click.echo(written.sentence, err=form == "json")


NOTHING_NEW = {
    True: "Nothing new: these logs are in the tables already; `kafka-rewind summary` tells of all that they show.",
    False: "Nothing new: the tables are up to date; `kafka-rewind summary` tells of all that they show.",
}
"""What a run that changed nothing prints, by whether it was given logs."""


@main.command()
@click.argument("logs", nargs=-1, required=True, type=PATH)
@writing_options
@cluster_option
@click.option(
    "--report",
    "report_file",
    type=PATH,
    metavar="FILE",
    help="Write an HTML report, too; of several clusters FILE-NAME of each.",
)
@click.option("--rebuild", is_flag=True, help="Make all that follows from events anew, also in a damaged warehouse.")
@form_option
@click.option(
    "--fail-on",
    type=click.Choice(["incidents", "unclean", "offline", "violated"]),
    multiple=True,
    help="Exit 1 if there are any that are open, or new since the last run; several times for several.",
)
def nightly(
    logs: tuple[str, ...],
    root: str,
    conf: str | None,
    no_wait: bool,
    cluster: str,
    report_file: str | None,
    rebuild: bool,
    form: str,
    fail_on: tuple[str, ...],
) -> None:
    """Read LOGS (files, folders, globs, bundles), update all tables, print a summary."""
    from schemas.ledger import STEPS

    if report_file is not None:
        from jobs.read.output import check_output

        check_output("html", report_file)
    write(
        STEPS,
        root,
        conf,
        no_wait,
        logs=logs,
        cluster=cluster,
        report_file=report_file,
        rebuild=rebuild,
        form=form,
        fail_on=fail_on,
    )


@main.command()
@click.argument("logs", nargs=-1, type=PATH)
@writing_options
@cluster_option
@click.option("--reparse-rejects", is_flag=True, help="Read old rejects again by today's rules; LOGS are not needed.")
@form_option
def ingest(
    logs: tuple[str, ...], root: str, conf: str | None, no_wait: bool, cluster: str, reparse_rejects: bool, form: str
) -> None:
    """Read LOGS (files, folders, globs, bundles) into events; the first step of `nightly`."""
    if not logs and not reparse_rejects:
        raise click.UsageError("Missing argument 'LOGS...'.", click.get_current_context())
    write(("ingest",), root, conf, no_wait, logs=logs, cluster=cluster, with_rejects=reparse_rejects, form=form)


@main.command()
@writing_options
@form_option
def timelines(root: str, conf: str | None, no_wait: bool, form: str) -> None:
    """Rebuild the timelines of clusters with new events; the second step of `nightly`."""
    write(("timelines",), root, conf, no_wait, form=form)


@main.command()
@writing_options
@form_option
def detect(root: str, conf: str | None, no_wait: bool, form: str) -> None:
    """Find outages, elections, ISR changes in new timelines; the third step of `nightly`."""
    write(("detect",), root, conf, no_wait, form=form)


@main.command(epilog="Exit codes: 0 done; 1 --fail-on violated, and some are; 2 bad usage or input; 3 refused.")
@writing_options
@click.option("--rule", metavar="R", help="Print the verdicts of this rule; docs/invariants.md has them.")
@click.option("--topic", metavar="T", help="Print the verdicts on this topic's decisions; a regular expression.")
@click.option("--fail-on", type=click.Choice(["violated"]), help="Exit 1 if any of the verdicts asked for is violated.")
@form_option
def replay(
    root: str, conf: str | None, no_wait: bool, rule: str | None, topic: str | None, fail_on: str | None, form: str
) -> None:
    """Judge new decisions by Kafka's algorithms; the fourth step of `nightly`.

    With --rule or --topic those verdicts follow the summary that are violated or unknown, with their inputs; in JSON
    each cluster has them as `asked`.
    """
    from jobs.read.verdicts import asked_verdicts, check_filters, verdict_data, verdict_lines
    from udfs.printable import printable_lines

    check_filters(rule, topic)
    is_asked = rule is not None or topic is not None or fail_on is not None
    more = (lambda: verdict_data(asked_verdicts(root, rule, topic))) if is_asked and form == "json" else None
    write(("replay",), root, conf, no_wait, form=form, more=more)
    if not is_asked:
        return
    asked = asked_verdicts(root, rule, topic)
    if form == "text":
        click.echo(printable_lines("\n".join(verdict_lines(asked))))
    if fail_on and asked.violated:
        raise click.exceptions.Exit(FOUND)


main.add_command(describe)
main.add_command(optimize)
main.add_command(prune)
for answer in (*ANSWERS, *ADMIN_COMMANDS):
    main.add_command(answer)
main.add_command(merge)
main.add_command(report)
main.add_command(sql)
main.add_command(export)
main.add_command(tables)
main.add_command(summary)
main.add_command(shell)
main.add_command(redact)


if __name__ == "__main__":
    main()
