"""Commands that answer out of published tables. What they do is imported when they do it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from jobs.path_options import PATH
from jobs.read.commands import COPIED, engine_option, form_option, reading_options
from jobs.time_option import moment_option_value

if TYPE_CHECKING:
    from jobs.answers.listing import Listing
    from udfs.merge.times import Moment

DONE_CODES = "Exit codes: 0 done; 2 bad usage or input."


def _moment(when: str | None, option: str = "--at") -> Moment | None:
    return None if when is None else moment_option_value(when, option)


def _narrowing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--since`, `--until` and `--topic`, see `jobs.answers.narrowing`."""
    for option in (
        click.option("--topic", metavar="T", help="Only of these topics; a regular expression."),
        click.option("--until", metavar="TIME", help="Only what was up to this time: 2026-11-21T02:14, 02:14 or -3h."),
        click.option("--since", metavar="TIME", help="Only what was from this time on."),
    ):
        command = option(command)
    return command


def _print_narrowed(
    answer: Callable[..., Listing],
    answer_tables: Collection[str],
    *,
    since: str | None,
    until: str | None,
    topic: str | None,
    form: str,
    engine: str,
    cluster: str | None,
    root: str,
) -> None:
    """Print an answer about what `_narrowing_options` ask for."""
    begin, end = _moment(since, "--since"), _moment(until, "--until")
    from jobs.answers.listing import print_answer
    from jobs.answers.narrowing import NARROWING_TABLES, narrowed
    from jobs.answers.opened import open_cluster

    with open_cluster(root, cluster, {*answer_tables, *NARROWING_TABLES}, engine) as opened:
        print_answer(answer(opened, asked=narrowed(opened, begin, end, topic)), form)


@click.command(epilog=DONE_CODES)
@click.argument("subject", nargs=-1, required=True, metavar="TOPIC-PARTITION | broker ID | controller")
@click.option("--at", "when", metavar="TIME", help="The moment: 2026-11-21T02:14:03.250, 02:14 or -3h.")
@click.option("--all", "all_steps", is_flag=True, help="All steps and whole log lines; without it the most telling.")
@form_option
@engine_option(COPIED)
@reading_options
def why(
    subject: tuple[str, ...],
    when: str | None,
    all_steps: bool,
    form: str,
    engine: str,
    cluster: str | None,
    root: str,
) -> None:
    """Tell what happened to a partition, a broker or the controller, with the log lines that show it.

    Without --at it is about the outage that is still open, or the longest one. The first sentence answers; then a
    picture of that time, the steps, and what the logs do not tell. Times are UTC.
    """
    asked = _moment(when)
    from jobs.answers.why import print_why

    print_why(root, subject, asked, cluster=cluster, form=form, all_steps=all_steps, engine=engine)


def _listing(name: str, text: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A command that lists something of one cluster."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        for option in (reading_options, engine_option(COPIED), form_option):
            function = option(function)
        return click.command(name, help=text, epilog=DONE_CODES)(function)

    return decorate


@_listing(
    "outages", "List when partitions had no leader, those of one cause together, open ones first, deletions last."
)
@click.option("--all", "all_rows", is_flag=True, help="Each partition of a group on a line of its own.")
@_narrowing_options
def outages(all_rows: bool, **options: Any) -> None:
    from jobs.answers.outages import OUTAGE_TABLES, outages_answer

    _print_narrowed(partial(outages_answer, all_rows=all_rows), OUTAGE_TABLES, **options)


@_listing("brokers", "List the brokers, the problem child first: absences, outages behind them, ISRs they fell out of.")
def brokers(form: str, engine: str, cluster: str | None, root: str) -> None:
    from jobs.answers.broker_list import BROKER_LIST_TABLES, brokers_answer
    from jobs.answers.listing import print_answer
    from jobs.answers.opened import open_cluster

    with open_cluster(root, cluster, BROKER_LIST_TABLES, engine) as opened:
        print_answer(brokers_answer(opened), form)


@_listing(
    "availability",
    "List topics by the part of the time in which their partitions had a leader, the worst first. "
    "Waits for a topic's deletion are left out.",
)
def availability(form: str, engine: str, cluster: str | None, root: str) -> None:
    from jobs.answers.availability import AVAILABILITY_TABLES, availability_answer
    from jobs.answers.listing import print_answer
    from jobs.answers.opened import open_cluster

    with open_cluster(root, cluster, AVAILABILITY_TABLES, engine) as opened:
        print_answer(availability_answer(opened), form)


@_listing("loss", "Did we lose data? List unclean elections, with bounds on the records that each lost.")
@click.option("--all", "all_rows", is_flag=True, help="Each election of a last leader that led on itself, too.")
@_narrowing_options
def loss(all_rows: bool, **options: Any) -> None:
    from jobs.answers.loss import LOSS_TABLES, loss_answer

    _print_narrowed(partial(loss_answer, all_rows=all_rows), LOSS_TABLES, **options)


@_listing("incidents", "List what went wrong, each thing once: what it hit, its cause, what ended it.")
@click.option("--all", "all_rows", is_flag=True, help="Planned restarts, too.")
def incidents(all_rows: bool, form: str, engine: str, cluster: str | None, root: str) -> None:
    from jobs.answers.incidents import INCIDENT_TABLES, incidents_answer
    from jobs.answers.listing import print_answer
    from jobs.answers.opened import open_cluster

    with open_cluster(root, cluster, INCIDENT_TABLES, engine) as opened:
        print_answer(incidents_answer(opened, all_rows=all_rows), form)


def _broker_ids(texts: tuple[str, ...]) -> list[int]:
    """The ids of `--lose-broker 1,2 --lose-broker 3`, sorted. Raises UsageError."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    if wrong := [part for part in parts if not (part.isascii() and part.isdigit())]:
        raise click.UsageError(f"--lose-broker {wrong[0]!r} is no broker's id; give ids such as 1 or 1,2.")
    return sorted({int(part) for part in parts})


@click.command("what-if", epilog=DONE_CODES)
@click.option("--lose-broker", "lost", multiple=True, metavar="ID,ID", help="Brokers to lose; may be repeated.")
@click.option(
    "--at", "when", metavar="TIME", help="The moment: 2026-11-21T02:14, 02:14 or -3h; default: the last record."
)
@click.option("--conf", type=PATH, metavar="FILE", help="YAML settings, for min.insync.replicas where no log has it.")
@form_option
@engine_option(COPIED)
@reading_options
def what_if(
    lost: tuple[str, ...],
    when: str | None,
    conf: str | None,
    form: str,
    engine: str,
    cluster: str | None,
    root: str,
) -> None:
    """Tell what would have gone down if brokers had been lost at a moment, all at once.

    The state is the rewound one, the election Kafka's own, without unclean ones. Without --lose-broker: for each
    broker what lives on it alone.
    """
    asked, brokers = moment_option_value(when or "-0s"), _broker_ids(lost)
    from jobs import settings as settings_module
    from jobs.answers.listing import print_answer
    from jobs.answers.what_if import what_if_answer
    from jobs.describe.describe import TABLES, snapshot_at
    from jobs.read.views import open_views

    settings = settings_module.load(conf)
    with open_views(root, cluster=cluster, only=TABLES, naive=True, engine=engine) as views:
        snapshot = snapshot_at(views, asked, settings, cluster, with_controller=True)
    print_answer(what_if_answer(snapshot, brokers), form)


@click.command(
    epilog="Exit codes, its own: 0 OK; 1 WARNING: ended outages, violations, under-replicated partitions, logs that "
    "stopped coming or cannot tell; 2 CRITICAL: partitions without a leader at the end of the logs, unclean elections, "
    "logs older than --max-age; 3 UNKNOWN: the warehouse cannot be read, or the command is used wrongly."
)
@click.option("--since", default="-24h", show_default=True, metavar="TIME", help="What ended before is history.")
@click.option(
    "--max-age", metavar="SPAN", help="CRITICAL if the last record is older by this machine's clock: 26h, 90m."
)
@click.option("--conf", type=PATH, metavar="FILE", help="YAML settings of the night.")
@form_option
@reading_options
def check(since: str, max_age: str | None, conf: str | None, form: str, cluster: str | None, root: str) -> None:
    """Print one line for a monitor: OK:, WARNING: or CRITICAL: and why, then a line for each finding.

    It looks at all clusters, or at one. -24h counts from each cluster's last record.
    """
    from jobs.answers.check import unknown_line
    from jobs.exits import explain
    from jobs.nightly.status import UNKNOWN

    try:
        code = _checked(since, max_age, conf, form, cluster, root)
    except Exception as error:  # a monitor wants its own code for what is no answer, not click's 2
        reason = error.format_message() if isinstance(error, click.ClickException) else explain(error)
        click.echo(unknown_line(reason, form))
        code = UNKNOWN
    if code:
        raise click.exceptions.Exit(code)


def _checked(since: str, max_age: str | None, conf: str | None, form: str, cluster: str | None, root: str) -> int:
    """What `check` prints; its exit code. Raises UsageError for times that are none."""
    from datetime import timedelta

    from jobs import settings as settings_module
    from jobs.answers.check import CheckLimits, run_check
    from udfs.merge.times import span

    try:
        age = None if max_age is None else timedelta(microseconds=span(max_age))
    except ValueError as error:
        raise click.UsageError(f"--max-age {error}.") from None
    limits = CheckLimits(moment_option_value(since, "--since"), age)
    return run_check(root, cluster, limits, form, settings_module.load(conf))


COMMANDS = (why, outages, brokers, availability, loss, incidents, what_if, check)
