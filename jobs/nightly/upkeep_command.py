"""`optimize` and `prune`, the commands. What they do is imported when they do it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from jobs.path_options import warehouse_option
from jobs.read.commands import form_option
from jobs.time_option import moment_option_value

if TYPE_CHECKING:
    from jobs.progress import Progress
    from jobs.warehouse.tables import Warehouse

_keep_hours = click.option(
    "--keep-hours", type=click.FloatRange(min=1), default=168.0, show_default=True, help="Old files stay so long."
)
_no_wait = click.option("--no-wait", is_flag=True, help="Fail at once if another run is writing to the warehouse.")


@click.command()
@warehouse_option
@_keep_hours
@_no_wait
@form_option
def optimize(root: str, keep_hours: float, no_wait: bool, form: str) -> None:
    """Make few large files of the many small ones that nights leave, and remove old ones that nobody reads.

    Tables stay as they are; it may run beside readers, and waits for a night that is under way.
    """
    with _opened(root, wait=not no_wait) as (warehouse, progress):
        from jobs.nightly.optimize import compact, compaction_data, compaction_text

        with progress.step("compacting"):
            compactions = compact(warehouse, keep_hours, progress.say)
        progress.close()
        click.echo(
            json.dumps(compaction_data(compactions), indent=2) if form == "json" else compaction_text(compactions)
        )


@click.command()
@click.option(
    "--before", required=True, metavar="TIME", help="What is before goes: 2026-08-21, or -90d from the last event on."
)
@click.option("--cluster", help="Only of this cluster.")
@warehouse_option
@_keep_hours
@_no_wait
@form_option
def prune(before: str, cluster: str | None, root: str, keep_hours: float, no_wait: bool, form: str) -> None:
    """Delete events and rejects from before a time; all that was derived from them stays.

    Later nights go on from there. Lines that later rows rest on stay, and so does what was logged in the six hours
    before. What was derived from deleted events can be made anew from logs only.
    """
    asked = moment_option_value(before, "--before")
    with _opened(root, wait=not no_wait) as (warehouse, progress):
        from jobs.nightly.prune import prune as prune_tables
        from jobs.nightly.prune import pruning_data, pruning_text

        with progress.step("pruning"):
            pruning = prune_tables(warehouse, asked, cluster, keep_hours, progress.say)
        progress.close()
        click.echo(json.dumps(pruning_data(pruning), indent=2) if form == "json" else pruning_text(pruning))


@contextmanager
def _opened(root: str, *, wait: bool) -> Iterator[tuple[Warehouse, Progress]]:
    """The warehouse, for whoever changes what is in it already."""
    from jobs.nightly.writing import open_for_writing
    from jobs.warehouse.integrity import check_whole
    from jobs.warehouse.location import expected_size, has_ledger, no_warehouse, warehouse_at

    root = warehouse_at(root, create=False)
    if not has_ledger(root):
        check_whole(root)
        raise no_warehouse(root)
    with open_for_writing(root, wait=wait, size_bytes=expected_size(root)) as opened:
        yield opened
