"""The commands `reassign` and `elect`. What they do is imported when they do it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jobs.answers.commands import DONE_CODES
from jobs.read.commands import COPIED, engine_option, form_option, reading_options
from jobs.time_option import moment_option_value
from jobs.whole_help import WholeHelp

if TYPE_CHECKING:
    from udfs.describe.snapshot import Snapshot

plan_option = click.option(
    "--file", "plan", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The plan, in the JSON of kafka-reassign-partitions.",
)  # fmt: skip
topic_option = click.option("--topic", metavar="T", help="Only these topics; a regular expression.")


def rewound_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every command takes that asks what would have been done at a moment."""
    at = click.option("--at", "when", metavar="TIME", default="-0s", help="The moment; default: the last record.")
    return reading_options(engine_option(COPIED)(at(command)))


def _snapshot(when: str, engine: str, cluster: str | None, root: str) -> Snapshot:
    asked = moment_option_value(when)
    from jobs.describe.describe import TABLES, snapshot_at
    from jobs.read.views import open_views
    from jobs.settings import Settings

    with open_views(root, cluster=cluster, only=TABLES, naive=True, engine=engine) as views:
        return snapshot_at(views, asked, Settings(), cluster, with_controller=True)


@click.group(cls=WholeHelp)
def reassign() -> None:
    """Tell what kafka-reassign-partitions would have done at a moment. Nothing is changed."""


@reassign.command(epilog=DONE_CODES)
@click.option("--broker-list", "brokers", required=True, metavar="IDS", help="Brokers to place on: 1,2,3.")
@click.option("--start-index", type=click.IntRange(min=0), default=0, show_default=True, help="Kafka draws it.")
@topic_option
@rewound_options
def generate(
    brokers: str, start_index: int, topic: str | None, when: str, engine: str, cluster: str | None, root: str
) -> None:
    """Print the present assignment, and the one that the tool would propose, in its JSON (without racks)."""
    try:
        ids = [int(broker) for broker in brokers.split(",")]
    except ValueError:
        raise click.UsageError("--broker-list takes ids of brokers, such as 1,2,3.") from None
    from jobs.answers.admin import generate_text
    from jobs.answers.words import brokers_in_words, was_or_were
    from jobs.read.output import write_text

    text, absent = generate_text(_snapshot(when, engine, cluster, root), topic, ids, start_index)
    write_text([text], None)
    if absent:
        click.echo(f"{brokers_in_words(absent).capitalize()} {was_or_were(absent)} not there, and left out.", err=True)


@reassign.command(epilog=DONE_CODES)
@plan_option
@form_option
@rewound_options
def execute(plan: Path, form: str, when: str, engine: str, cluster: str | None, root: str) -> None:
    """Print the steps that the controller of that release would have taken for a plan, if added replicas catch up."""
    from jobs.answers.admin import execute_answer, read_plan
    from jobs.answers.listing import print_answer

    wanted = read_plan(plan.read_bytes())
    print_answer(execute_answer(_snapshot(when, engine, cluster, root), wanted), form)


@reassign.command(epilog=DONE_CODES)
@plan_option
@form_option
@rewound_options
def verify(plan: Path, form: str, when: str, engine: str, cluster: str | None, root: str) -> None:
    """Print how far a plan was carried out at a moment."""
    from jobs.answers.admin import read_plan, verify_text
    from jobs.read.output import write_text

    wanted = read_plan(plan.read_bytes())
    write_text([verify_text(_snapshot(when, engine, cluster, root), wanted, form)], None)


@click.command(epilog=DONE_CODES)
@click.argument("election", type=click.Choice(["preferred", "unclean"]))
@topic_option
@form_option
@rewound_options
def elect(election: str, topic: str | None, form: str, when: str, engine: str, cluster: str | None, root: str) -> None:
    """Tell what kafka-leader-election would have done at a moment: who would lead what. Nothing is changed."""
    from jobs.answers.admin import elect_answer
    from jobs.answers.listing import print_answer

    print_answer(elect_answer(_snapshot(when, engine, cluster, root), election.upper(), topic), form)


ADMIN_COMMANDS = (reassign, elect)
