"""The command line of `kafka-rewind describe`; `jobs.describe.describe` is imported only when it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from jobs.path_options import PATH, warehouse_option
from jobs.read.commands import COPIED, engine_option
from jobs.time_option import moment_option_value

if TYPE_CHECKING:
    from udfs.describe.kafka_topics import Selection
    from udfs.describe.replicas import VerifiedPartition
    from udfs.describe.snapshot import Snapshot

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FILTERS = {
    "unavailable-partitions": "Only partitions without a leader that is alive.",
    "under-replicated-partitions": "Only partitions with fewer in-sync replicas than the replication factor.",
    "at-min-isr-partitions": "Only partitions with exactly min.insync.replicas replicas in sync.",
    "under-min-isr-partitions": "Only partitions with fewer than min.insync.replicas replicas in sync.",
}
VIEWS = {
    "brokers": "Show the brokers instead: alive, shutting down or gone.",
    "controller": "Show the controller instead: its id, its epoch, since when.",
    "context": "Show what the controller held in memory instead (ControllerContext).",
}
OF_PARTITIONS = {
    "verify-replicas": "Show each replica of the partitions: in sync or not, since when, and how far behind.",
}


def _flags(help_texts: Mapping[str, str]) -> Decorator:
    """Options that are switches."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for name, text in reversed(list(help_texts.items())):
            command = click.option(f"--{name}", is_flag=True, help=text)(command)
        return command

    return decorate


@click.command(epilog="Exit codes: 0 done, also where nothing is known about that time; 2 bad usage or input.")
@click.option("--at", "when", required=True, metavar="TIME", help="The moment: 2026-11-21T02:14:03.250, 02:14 or -3h.")
@click.option("--topic", metavar="T", help="Only this topic; a regular expression, as kafka-topics takes it.")
@_flags(FILTERS)
@_flags(VIEWS)
@_flags(OF_PARTITIONS)
@click.option("--cluster", metavar="NAME", help="Which cluster; needed if the warehouse has several.")
@click.option("--conf", type=PATH, metavar="FILE", help="YAML settings, for min.insync.replicas where no log has it.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@engine_option(COPIED)
@warehouse_option
def describe(
    when: str,
    topic: str | None,
    cluster: str | None,
    conf: str | None,
    form: str,
    engine: str,
    root: str,
    **flags: bool,
) -> None:
    """Print what kafka-topics --describe would have printed at a time, in the format of that release.

    TIME without a zone is UTC; 02:14 is the last such time in the logs, -3h is three hours before their last record.
    Values that are not in the logs are `unknown`. Remarks about the output go to standard error.
    """
    asked = moment_option_value(when)
    only = _only_one(flags, FILTERS, "filter")
    view = _only_one(flags, VIEWS, "view")
    verifies = flags["verify_replicas"]
    if view and verifies:
        raise click.UsageError(f"Only one view at a time: --{view} or --verify-replicas.")
    if view and (only or topic is not None):
        raise click.UsageError(f"--{view} shows the whole cluster; leave --{only or 'topic'} out.")

    from jobs import settings as settings_module
    from jobs.describe.describe import TABLES, snapshot_at
    from jobs.describe.replicas import verified_at
    from jobs.read.views import open_views
    from udfs.describe.kafka_topics import select
    from udfs.describe.output import REPLICAS

    settings = settings_module.load(conf)
    with open_views(root, only=TABLES, naive=True, engine=engine) as views:
        with_controller = verifies or view in ("brokers", "context")
        snapshot = snapshot_at(views, asked, settings, cluster, topic, with_controller=with_controller)
        selection = select(snapshot.state.tool, snapshot.state.topics, only, snapshot.state.alive)
        verified = verified_at(views, snapshot, selection) if verifies else []
    _print(snapshot, selection, verified, REPLICAS if verifies else view, form)


def _only_one(flags: Mapping[str, bool], names: Iterable[str], kind: str) -> str | None:
    """The option of a kind that is set, if one is. Raises UsageError if there are several."""
    chosen = [name for name in names if flags[name.replace("-", "_")]]
    if len(chosen) > 1:
        raise click.UsageError(f"Only one {kind} at a time: --{' or --'.join(chosen)}.")
    return chosen[0] if chosen else None


def _print(
    snapshot: Snapshot, selection: Selection, verified: Sequence[VerifiedPartition], view: str | None, form: str
) -> None:
    """The output on standard output, remarks about it on standard error."""
    import json

    from udfs.describe.output import as_data, as_text, remarks

    for remark in remarks(snapshot, selection, view):
        click.echo(remark, err=True)
    if form == "json":
        click.echo(json.dumps(as_data(snapshot, selection, view, verified), indent=2))
    else:
        for line in as_text(snapshot, selection, view, verified):
            click.echo(line)
