"""The command `report`. What it does is imported when it does it."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from jobs.path_options import PATH
from jobs.read.commands import COPIED, engine_option, form_option, reading_options


@click.command(epilog="Exit codes: 0 done; 2 bad usage or input; 4 failed for another reason.")
@click.option("--output", "-o", required=True, type=PATH, metavar="FILE", help="HTML file to write.")
@form_option
@engine_option(COPIED)
@reading_options
def report(output: str, form: str, engine: str, cluster: str | None, root: str) -> None:
    """Write a report of one cluster: a single HTML file with all charts, which needs no network to be read.

    It has what went wrong, brokers and partitions over time, ISR churn, election latency, verdicts, and what the logs
    cannot tell; a click on anything shows its log lines.
    """
    from jobs.report.write import write_report

    written = write_report(root, output, cluster, engine)
    click.echo(json.dumps(asdict(written), indent=2) if form == "json" else written.sentence)
