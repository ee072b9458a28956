"""The command `summary`. What it does is imported when it does it."""

from __future__ import annotations

import click

from jobs.path_options import PATH
from jobs.read.commands import COPIED, engine_option, form_option, reading_options


@click.command()
@form_option
@click.option(
    "--conf", type=PATH, metavar="FILE", help="YAML settings of the night, for time zones and gaps that it tolerates."
)
@engine_option(COPIED)
@reading_options
def summary(form: str, conf: str | None, engine: str, cluster: str | None, root: str) -> None:
    """Print the summary of the published tables again, as the last night printed it."""
    from jobs import settings as settings_module
    from jobs.nightly.published_summary import print_summary

    print_summary(root, cluster, settings_module.load(conf), form, engine)
