"""Where the text of a query goes: standard output, on a terminal through a pager, or a file.

A file is written where its name points: links, pipes and devices stay what they are.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice

from udfs.errors import BadInput, Failed


def check_output(form: str, output: str | None) -> None:
    """Raises BadInput for an output that cannot be, Failed if there is no standard output to print to."""
    if output is None and sys.stdout is None:
        raise Failed("Standard output is closed; nothing was read.")
    if form == "parquet" and not output:
        raise BadInput("Parquet is no text; name a file with --output.")
    if output and os.path.isdir(output):
        raise BadInput(f"The output is a folder: {output}; name a file.")
    if output and not os.path.isdir(os.path.dirname(os.path.abspath(output))):
        raise BadInput(f"The output's folder does not exist: {output}; create it first.")


def terminal_width(output: str | None) -> int | None:
    """Columns of the terminal that the text goes to; None if it goes elsewhere."""
    return shutil.get_terminal_size().columns if output is None and sys.stdout.isatty() else None


def write_text(pieces: Iterable[str], output: str | None) -> None:
    """Write text to a file or to standard output. The first piece is made before the file is opened."""
    pieces = iter(pieces)
    begin = list(islice(pieces, 1))
    if output is not None:
        with writing(output), open(output, "w", newline="", encoding="utf-8") as file:
            file.writelines(chain(begin, pieces))
    elif sys.stdout.isatty():
        _page(chain(begin, pieces))
    else:
        sys.stdout.writelines(chain(begin, pieces))


@contextmanager
def writing(output: str) -> Iterator[None]:
    """Write a file within; if that fails, a file that was not there before is taken away. Raises Failed."""
    is_new = not os.path.lexists(output)
    try:
        yield
    except BaseException as error:
        if is_new:
            with suppress(OSError):
                if stat.S_ISREG(os.lstat(output).st_mode):
                    os.unlink(output)
        if isinstance(error, BrokenPipeError):
            return
        if isinstance(error, OSError):
            raise Failed(f"The output cannot be written: {output} ({error.strerror}).") from None
        raise


def _page(pieces: Iterator[str]) -> None:
    """Show text on the terminal, through a pager what is longer than it."""
    import click

    height = shutil.get_terminal_size().lines
    head: list[str] = []
    lines = 0
    for piece in pieces:
        head.append(piece)
        lines += piece.count("\n")
        if lines >= height:
            os.environ.setdefault("LESS", "-FX")
            click.echo_via_pager(chain(head, pieces))
            return
    sys.stdout.writelines(head)
