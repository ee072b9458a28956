"""A warehouse opened for a command that writes to it: locked, with Spark started, and how far it is on the screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from jobs.progress import Progress, on_terminal
from jobs.session import session
from jobs.warehouse.lock import sole_writer

if TYPE_CHECKING:
    from jobs.warehouse.tables import Warehouse


@contextmanager
def open_for_writing(
    root: str, *, wait: bool, size_bytes: int, create: bool = False, repair: bool = False
) -> Iterator[tuple[Warehouse, Progress]]:
    """The warehouse at a location, held until the end. `size_bytes`: of the logs that it is about, for the session.

    `create`, `repair`: see `open_warehouse`. Raises Failed if another run holds it and `wait` is false.
    """
    with ExitStack() as stack:
        progress = stack.enter_context(on_terminal())
        stack.enter_context(sole_writer(root, wait=wait, say=progress.say))
        with progress.step("starting Spark", says=True):
            spark = stack.enter_context(session(size_bytes=size_bytes))
        from jobs.warehouse.tables import writing_warehouse

        opened = writing_warehouse(spark, root, create=create, repair=repair, wait=wait, say=progress.say)
        yield stack.enter_context(opened), progress
