"""How a run ends for whoever started it: what it prints of the clusters, and its exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from jobs.exits import FOUND, REFUSED
from jobs.nightly.published_summary import summaries_in
from jobs.nightly.refusal_text import refusal_text
from jobs.nightly.status import is_there
from jobs.nightly.summary_queries import summarize
from jobs.nightly.summary_text import NOTHING_MORE, summaries_as_json, summary_text
from jobs.warehouse.location import is_remote
from udfs.printable import printable_lines

if TYPE_CHECKING:
    from jobs.nightly.run import Outcome
    from jobs.nightly.summary_facts import ClusterSummary
    from jobs.settings import Settings
    from jobs.warehouse.tables import Warehouse


def published_summaries(
    warehouse: Warehouse, steps: Sequence[str], settings: Settings, outcome: Outcome
) -> list[ClusterSummary]:
    """What a run came to, by cluster; nothing if it was refused."""
    if not outcome.published:
        return []
    known = outcome.known
    if is_remote(warehouse.root):
        summaries = summarize(warehouse, steps, settings, known.news_since, known.named)
    else:
        summaries = summaries_in(warehouse.root, settings, known.news_since, known.named)
    for summary in summaries:
        summary.known_until = known.until.get(summary.cluster)
    return summaries


def end_refused(outcome: Outcome) -> NoReturn:
    """Say what the gate refused, and end."""
    click.echo(printable_lines(refusal_text(outcome)), err=True)
    raise click.exceptions.Exit(REFUSED)


def print_summaries(
    summaries: Sequence[ClusterSummary],
    root: str,
    steps: Sequence[str],
    form: str,
    more: Mapping[str, Mapping[str, Any]] = NOTHING_MORE,
) -> None:
    """Print what a run came to, in words or as JSON, which has `more` about clusters, by their names."""
    if form == "json":
        click.echo(summaries_as_json(summaries, steps, more))
    else:
        click.echo(printable_lines(summary_text(summaries, root, steps)))


def end_with_findings(summaries: Sequence[ClusterSummary], fail_on: Sequence[str]) -> None:
    """End with the code for findings if any of a kind is open, or new since the last run."""
    if any(is_there(summaries, kind) for kind in fail_on):
        raise click.exceptions.Exit(FOUND)
