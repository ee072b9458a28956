"""The command line of `kafka-rewind merge`. The work is in `jobs.merge.run`, imported when it is needed."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any

import click

from jobs.merge.request import FORMATS, Options
from jobs.path_options import PATH

_OLD = ("logs", "logs-regex", "topic", "partitions", "start-time", "end-time")
"""Options of StateChangeLogMerger, for which one dash was enough."""

_SHORT = "kafka-rewind.merge.short-names"
"""Where the context has which of the shorter names of options were given, for messages about them."""

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _TakesOneDash(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As in click, with `-logs` for `--logs` and the like."""
        end = args.index("--") if "--" in args else len(args)
        for i, arg in enumerate(args[:end]):
            if arg.startswith("-") and arg[1:].partition("=")[0] in _OLD:
                args[i] = f"-{arg}"
        names = {arg.partition("=")[0] for arg in args[:end]}
        ctx.meta[_SHORT] = tuple(name for name in ("--since", "--until") if name in names)
        return super().parse_args(ctx, args)


def _once(ctx: click.Context, param: click.Parameter, values: tuple[Any, ...]) -> Any:
    """The value of an option that may be given once; None if it is not."""
    if len(values) > 1:
        raise click.BadParameter("given twice; give it once.", ctx, param)
    return values[0] if values else None


def _print_version(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            click.echo(f"kafka-rewind {version('kafka-rewind')}")
        except PackageNotFoundError:
            click.echo("kafka-rewind, run from its sources")
        ctx.exit()


def _option(*names: str, **settings: Any) -> Decorator:
    return click.option(*names, multiple=True, callback=_once, **settings)


@click.command(
    cls=_TakesOneDash,
    epilog="Exit codes: 0 done, also if nothing matched; 2 bad usage, or some input could not be read; "
    "4 failed for another reason, such as a full disk; 130 interrupted.",
)
@click.argument("paths", nargs=-1, type=PATH, metavar="[LOGS]...")
@click.option("--logs", multiple=True, metavar="A,B", help="Files, with commas between them; all must be there.")
@_option("--logs-regex", metavar="RE", help="Files of a folder: [FOLDER/]RE, matched anywhere in their names.")
@_option("--topic", metavar="T", help="Records that concern this topic, also those that name several or all of it.")
@_option("--partitions", metavar="0,3,7-9", help="And of it these partitions.")
@_option("--start-time", "--since", "since", metavar="TIME", help="From this time on, inclusive.")
@_option("--end-time", "--until", "until", metavar="TIME", help="Up to this time, inclusive.")
@_option("--around", metavar="TIME", help="Near this time: up to --within before and after it.")
@click.option("--within", metavar="SPAN", help="How near to --around: 90s, 5m, 1h30m. [default: 1m]")
@_option("--broker", metavar="N,N", help="Records that one of these nodes wrote, or that are about one of them.")
@_option("--controller-epoch", type=int, metavar="N", help="Records of this controller epoch.")
@_option("--leader-epoch", type=int, metavar="N", help="Records that name this leader epoch.")
@_option("--correlation-id", type=int, metavar="N", help="Records of requests with this id.")
@_option("--event", metavar="TYPE,TYPE", help="Records of these event types, which `--format short` shows.")
@_option("--level", metavar="LEVEL,LEVEL", help="Records of these levels; WARN+ means WARN and above.")
@_option("--only", metavar="SCOPE,SCOPE", help="Records of these loggers: state-change, controller, partition.")
@_option("--grep", metavar="RE", help="Records in which this matches, stack traces included.")
@_option("--zone", metavar="ZONE", help="IANA name of the zone of the logs' times and of yours; default UTC.")
@click.option("--utc", is_flag=True, help="Your times, and those of `--format short`, are UTC.")
@_option("--conf", type=PATH, metavar="FILE", help="YAML settings, for zones per node (see conf/example.yaml).")
@_option(
    "--skew", metavar="auto|none|FILE", help="Correct the nodes' clocks: estimate, or `NODE: MS` ahead. [default: none]"
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="raw", show_default=True, help="What is printed.")
@click.option("--node", is_flag=True, help="Begin each raw line with the node that wrote it.")
@click.option("--redact", is_flag=True, help="Without names of topics, hosts, principals and clients; needs --key.")
@_option("--key", type=PATH, metavar="FILE", help="File with the key of --redact: the same key, the same names.")
@click.option("--count", is_flag=True, help="Print how many records match, and nothing else.")
@_option("--limit", type=int, metavar="N", help="Print the first N records.")
@click.option("--keep-duplicates", is_flag=True, help="Read files with the same content, too.")
@click.option(
    "--trust-order",
    is_flag=True,
    help="With a window: faster, but a record more than a minute out of order may be missed.",
)
@click.option("--verbose", "-v", is_flag=True, help="Print what was read of each file.")
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print it.")
@click.pass_context
def merge(ctx: click.Context, /, **options: Any) -> None:
    """Merge and filter logs into one history, in the order of time.

    LOGS are files, folders, quoted globs, bundles, or - for standard input; plain or compressed. Without filters every
    record is printed as it stands, stack traces included. The options of Kafka's StateChangeLogMerger still work.

    TIME is `2026-11-21 02:14:03,250` or shorter, 2026-11-21T02:14, with or without Z or +02:00; 02:14 is the last such
    time in the logs, -3h is three hours before their last record.

    For example: kafka-rewind merge logs/ --topic orders --partitions 3 --around 02:14 --within 5m --format short
    (docs/how-to-merge.md walks through an incident).
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here needs
    gc.set_threshold(100_000)  # what is imported is no garbage
    from jobs.merge.run import write_to_stdout

    options["skew"] = "none" if options["skew"] is None else options["skew"]
    ctx.exit(write_to_stdout(Options(**options, short_names=ctx.meta[_SHORT])))
