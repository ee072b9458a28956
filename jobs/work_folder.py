"""The folder for what a run writes besides tables."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

WORK, LOCK = "kafka-rewind-work-", ".lock"
"""How the names of work folders begin, and the file in each that its process holds locked."""


@contextmanager
def work_folder() -> Iterator[str]:
    """A folder for what a session writes besides tables, removed at its end.

    Those of processes that were killed are removed first: each holds the lock of a file in its own.
    """
    for path in Path(tempfile.gettempdir()).glob(f"{WORK}*/{LOCK}"):
        with suppress(OSError), open(path, "rb") as left:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path.parent, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=WORK)
    lock = os.open(f"{folder}/{LOCK}.new", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(f"{folder}/{LOCK}.new", f"{folder}/{LOCK}")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
