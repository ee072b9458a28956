"""Temporary space: bytes that are put aside and read again."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from udfs.errors import Failed


@contextmanager
def temporary_space() -> Iterator[None]:
    """Makes an OSError of writing a temporary file one that is nobody's input: raises Failed."""
    try:
        yield
    except OSError as error:
        import tempfile

        folder = tempfile.tempdir or "the folder of temporary files"
        why = error.strerror or str(error)
        raise Failed(f"A temporary file cannot be written in {folder} ({why}); free space or set TMPDIR.") from None


class Scratch:
    """Bytes that are put aside: in memory while they are few, then in a temporary file, which ends with its owner."""

    def __init__(self, in_memory: int) -> None:
        self._most, self._size = in_memory, 0
        self._file: IO[bytes] = io.BytesIO()

    def add(self, *parts: bytes) -> int:
        """Put aside; the place to read it from. Raises Failed if there is no room for it."""
        place, size = self._size, sum(map(len, parts))
        if self._size <= self._most < self._size + size:
            import tempfile

            in_memory = self._file
            in_memory.seek(0)
            with temporary_space():
                self._file = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as its owner
                self._file.write(in_memory.read())
        with temporary_space():
            self._file.seek(place)
            for part in parts:
                self._file.write(part)
        self._size += size
        return place

    def read(self, place: int, size: int) -> bytes:
        """What was put aside there. Raises Failed if there is no room for what is still to be written."""
        with temporary_space():  # what is buffered is written first
            self._file.seek(place)
        return self._file.read(size)
