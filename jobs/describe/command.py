"""The command line of `kafka-rewind describe`. What it does is in `jobs.describe.describe`, imported when it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from udfs.describe.snapshot import Snapshot
    from udfs.merge.times import Moment

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FILTERS = {
    "unavailable-partitions": "Only partitions without a leader that is alive.",
    "under-replicated-partitions": "Only partitions with replicas out of sync.",
    "at-min-isr-partitions": "Only partitions with as many in sync as min.insync.replicas asks for.",
    "under-min-isr-partitions": "Only partitions with fewer in sync than that.",
}
VIEWS = {
    "brokers": "The brokers instead: which were alive, shutting down, gone.",
    "controller": "The controller instead: who it was, since when, in which epoch.",
    "context": "What the controller held in memory instead (ControllerContext).",
}


def _flags(told: Mapping[str, str]) -> Decorator:
    """Options that are switches."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for name, text in reversed(list(told.items())):
            command = click.option(f"--{name}", is_flag=True, help=text)(command)
        return command

    return decorate


@click.command(epilog="Exit codes: 0 done, also where nothing is known of that time; 2 bad usage or input.")
@click.option("--at", "when", required=True, metavar="TIME", help="The moment: 2026-11-21T02:14:03.250, 02:14 or -3h.")
@click.option("--topic", metavar="T", help="Only this topic; a regular expression, as kafka-topics takes it.")
@_flags(FILTERS)
@_flags(VIEWS)
@click.option("--cluster", metavar="NAME", help="Which cluster; needed where the warehouse has several.")
@click.option("--conf", metavar="FILE", help="YAML settings, for min.insync.replicas that no log tells.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--warehouse", "root", default="./warehouse", show_default=True, help="Folder of the tables.")
def describe(
    when: str, topic: str | None, cluster: str | None, conf: str | None, form: str, root: str, **flags: bool
) -> None:
    """Print what kafka-topics --describe would have printed at a time, in the format of that release.

    TIME without a zone is UTC; 02:14 is the last such time in the logs, -3h is three hours before their last record. What
    the logs do not tell is `unknown`. What is worth knowing about the answer is said on standard error.
    """
    asked = _moment(when)
    only = _one(flags, FILTERS, "filter")
    view = _one(flags, VIEWS, "view")
    if view and (only or topic is not None):
        raise click.UsageError(f"--{view} shows the whole cluster; leave --{only or 'topic'} out.")

    from jobs import settings as settings_module
    from jobs.session import session
    from jobs.warehouse.tables import check_root, expected_size

    settings = settings_module.load(conf)
    check_root(root, create=False)
    with session(size_bytes=expected_size(root)) as spark:
        from jobs.describe.describe import take
        from jobs.warehouse.tables import open_warehouse

        warehouse = open_warehouse(spark, root, create=False)
        picture = take(warehouse, asked, settings, cluster, topic, with_controller=view in ("brokers", "context"))
    _print(picture, view, only, form)


def _moment(text: str) -> Moment:
    from udfs.merge.times import TIME_EXAMPLES, moment

    try:
        asked = moment(text)
    except ValueError as error:
        raise click.UsageError(f"--at {error}.") from None
    if asked is None:
        raise click.UsageError(f"--at {text!r} is no time; give one such as {TIME_EXAMPLES}.")
    return asked


def _one(flags: Mapping[str, bool], told: Mapping[str, str], what: str) -> str | None:
    """The option of a kind that was given. Raises UsageError if there are several."""
    given = [name for name in told if flags[name.replace("-", "_")]]
    if len(given) > 1:
        raise click.UsageError(f"One {what} at a time: --{' or --'.join(given)}.")
    return given[0] if given else None


def _print(picture: Snapshot, view: str | None, only: str | None, form: str) -> None:
    """The answer on standard output, what is to be known of it on standard error."""
    import json

    from udfs.describe.kafka_topics import select
    from udfs.describe.output import as_data, as_text, remarks

    told = picture.evidence
    chosen = select(told.tool, told.topics, only, told.alive)
    for remark in remarks(picture, chosen, view):
        click.echo(remark, err=True)
    if form == "json":
        click.echo(json.dumps(as_data(picture, chosen, view), indent=2))
    else:
        for line in as_text(picture, chosen, view):
            click.echo(line)
