"""Commands that answer out of published tables. What they do is imported when they do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from jobs.describe.command import moment_option_value
from jobs.read.commands import COPIED, engine_option, reading_options

if TYPE_CHECKING:
    from udfs.merge.times import Moment

form_option = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
DONE_CODES = "Exit codes: 0 done; 2 bad usage or input."


def _moment(when: str | None) -> Moment | None:
    return None if when is None else moment_option_value(when)


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
