"""How many bytes of logs have been read while workers read them: each adds its numbers to a file.

Spark's own counters know of a task only when it has ended, and a task may read half a gigabyte.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobs.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NUMBER = 8
"""Bytes of a number in the file."""


@dataclass(frozen=True)
class BytesRead:
    """A count that workers add to. `path` None: nobody looks at it."""

    path: str | None = None

    def add(self, number: int) -> None:
        """Count further bytes; a file that is gone counts nothing."""
        if self.path is not None and number:
            with suppress(OSError):
                file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
                try:
                    os.write(file, number.to_bytes(_NUMBER, "little"))
                finally:
                    os.close(file)

    def total(self) -> int | None:
        """All that was counted; None if nothing is."""
        if self.path is None:
            return None
        with open(self.path, "rb") as file:
            numbers = file.read()
        whole = len(numbers) // _NUMBER * _NUMBER
        return sum(int.from_bytes(numbers[i : i + _NUMBER], "little") for i in range(0, whole, _NUMBER))


NOT_COUNTED = BytesRead()


@contextmanager
def shown_while_read(spark: SparkSession, progress: Progress, name: str, total: int) -> Iterator[BytesRead]:
    """A step in which workers read so many bytes; how many they have read is known if they are on this machine."""
    if not progress.is_shown or not str(spark.sparkContext.master).startswith("local"):
        with progress.step(name):
            yield NOT_COUNTED
        return
    with tempfile.NamedTemporaryFile(prefix="kafka-rewind-") as file:
        counted = BytesRead(file.name)
        with progress.step(name, total, "B", counted.total):
            yield counted
