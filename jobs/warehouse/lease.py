"""One writer at a time where files cannot be locked: object stores and Hadoop file systems.

Writers are numbered. Each creates the file of the next number, which a store lets only one of them do, and writes it
anew while it works. The next one comes when the last has noted that it is done, or has not written for PATIENCE_S
seconds by the store's own clock: then it was killed. One that was only stopped for so long finds a higher number when
it goes on, and is not published. The highest number is never removed, so nobody takes one that was used.
"""

from __future__ import annotations

import os
import platform
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Protocol

from udfs.errors import Failed

FOLDER = ".writers"
BEAT_S = 20.0
"""How often a writer writes its file anew."""
PATIENCE_S = 120.0
"""A writer that did not write its file for so long is gone."""
POLL_S = 2.0
_DONE = "done"


class Folder(Protocol):
    """Files in a folder of a store that lists what was written at once (`jobs.warehouse.hadoop.HadoopFolder`)."""

    def names(self, folder: str = "") -> list[str]:
        """What is in it."""

    def create(self, name: str, text: str) -> bool:
        """Write a file unless it is there; of several that do so at once one is told True."""

    def overwrite(self, name: str, text: str) -> None:
        """Write a file."""

    def read(self, name: str) -> tuple[str, int] | None:
        """Text and time in ms by the store's clock; None if there is none."""

    def delete(self, name: str) -> None:
        """Remove a file if it is there."""


@contextmanager
def leased(
    folder: Folder,
    root: str,
    *,
    wait: bool,
    say: Callable[[str], None],
    beat_s: float = BEAT_S,
    patience_s: float = PATIENCE_S,
    poll_s: float = POLL_S,
) -> Iterator[Callable[[], bool]]:
    """Hold a warehouse. What comes is a function: whether it is still held, which is to be asked before publishing.

    While another writer holds it, wait, and say for which; raises Failed instead if `wait` is false.
    """
    holder = f"process {os.getpid()} on {platform.node()}, since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    text = f"{holder}\n{uuid.uuid4()}"
    number = _acquire(folder, root, text, wait, say, patience_s, poll_s)
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(beat_s):
            with suppress(Exception):  # the next beat may come through; who misses many is no longer the holder
                folder.overwrite(_name(number), text)

    def is_held() -> bool:
        return _numbers(folder)[-1:] == [number]

    beating = threading.Thread(target=beat, daemon=True)
    beating.start()
    try:
        yield is_held
    finally:
        ended.set()
        beating.join()
        with suppress(Exception):  # whoever waits takes it for gone then
            folder.overwrite(_name(number), f"{text}\n{_DONE}")


def _acquire(
    folder: Folder, root: str, text: str, wait: bool, say: Callable[[str], None], patience_s: float, poll_s: float
) -> int:
    """The number under which the warehouse is held."""
    waits_for = ""
    while True:
        last = max(_numbers(folder), default=0)
        holder = _holder(folder, last, patience_s)
        if holder is None and folder.create(_name(last + 1), text):
            numbers = _numbers(folder)
            for number in numbers:
                if number < last + 1:
                    folder.delete(_name(number))
            if max(numbers) == last + 1:
                return last + 1
            # it was long ago that nobody held it: others have come and gone
            folder.delete(_name(last + 1))
        elif holder is not None:
            if not wait:
                raise Failed(
                    f"Another run ({holder}) is writing to this warehouse: {root}; "
                    "run again when it has finished, or without --no-wait."
                )
            if holder != waits_for:
                say(f"another run ({holder}) is writing to this warehouse; waiting")
                waits_for = holder
            time.sleep(poll_s)


def _holder(folder: Folder, number: int, patience_s: float) -> str | None:
    """Who holds a number; None if nobody does: it was never used, or its writer is done or gone."""
    held = folder.read(_name(number)) if number else None
    if held is None or held[0].endswith(f"\n{_DONE}"):
        return None
    probe = f"{FOLDER}/probe-{uuid.uuid4()}"
    folder.overwrite(probe, "what time is it?")
    try:
        now = folder.read(probe)
    finally:
        folder.delete(probe)
    is_gone = now is not None and now[1] - held[1] > patience_s * 1000
    return None if is_gone else held[0].partition("\n")[0]


def _name(number: int) -> str:
    return f"{FOLDER}/{number:020}"


def _numbers(folder: Folder) -> list[int]:
    """Numbers that have a file, ascending."""
    return sorted(int(name) for name in folder.names(FOLDER) if re.fullmatch(r"\d{20}", name))
