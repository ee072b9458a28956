"""`optimize`, the command. What it does is imported when it does it."""

from __future__ import annotations

import click


@click.command()
@click.option("--warehouse", "root", default="./warehouse", show_default=True, help="Folder of the tables, or its URL.")
@click.option(
    "--keep-hours", type=click.FloatRange(min=1), default=168.0, show_default=True, help="Old files stay so long."
)
@click.option("--no-wait", is_flag=True, help="Fail at once if another run is writing to the warehouse.")
def optimize(root: str, keep_hours: float, no_wait: bool) -> None:
    """Make few large files of the many small ones that nights leave, and remove old ones that nobody reads.

    Tables stay as they are; it may run beside readers, and waits for a night that is under way.
    """
    from jobs.nightly.writing import open_for_writing
    from jobs.warehouse.integrity import check_whole
    from jobs.warehouse.location import expected_size, has_ledger, no_warehouse, warehouse_at

    root = warehouse_at(root, create=False)
    if not has_ledger(root):
        check_whole(root)
        raise no_warehouse(root)
    with open_for_writing(root, wait=not no_wait, size_bytes=expected_size(root)) as (warehouse, progress):
        from jobs.nightly.optimize import compact, compaction_text

        with progress.step("compacting"):
            compactions = compact(warehouse, keep_hours, progress.say)
        progress.close()
        click.echo(compaction_text(compactions))
