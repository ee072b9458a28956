"""One writer at a time: a lock file in the warehouse's folder, free again when its process ends. It needs no Spark.

Object stores have no locks; there a lease is held (`jobs.warehouse.lease`). Where a file system has none, a run finds
out by the tables' versions that another one wrote meanwhile (`jobs.warehouse.tables`), and is not published.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from jobs.warehouse.location import is_remote
from udfs.errors import BadInput, Failed

NAME = ".lock"
_TRIES = 1000
"""How often a folder is made; each other run removes it once at most."""
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
"""Errors of a file system that has no locks."""


@contextmanager
def sole_writer(root: str, *, wait: bool, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the warehouse in a folder, which is made if it does not exist, and removed if nothing is in it at the end.

    While another process holds it, wait, and say for which; raises Failed instead if `wait` is false.
    """
    if is_remote(root):
        yield
        return
    root = os.path.abspath(root)
    missing = _missing(root)
    lock = _hold(root, wait=wait, say=say)
    try:
        yield
    finally:
        # fails if another run writes there now, or somebody removed the folder
        with suppress(OSError):
            if os.listdir(root) == [NAME]:
                os.unlink(f"{root}/{NAME}")
                for folder in missing:
                    os.rmdir(folder)
        os.close(lock)


def _missing(root: str) -> list[str]:
    """The folders that have to be made, the innermost first."""
    folders = []
    while not os.path.exists(root):
        folders.append(root)
        root = os.path.dirname(root)
    return folders


def _hold(root: str, *, wait: bool, say: Callable[[str], None]) -> int:
    """The locked file of a folder, as a descriptor. A run that had it may have removed the file: then it is made again.

    Raises BadInput for a folder that cannot be made though nothing is in its way, as in /proc and automounted folders.
    """
    path, tries = f"{root}/{NAME}", 0
    while True:
        try:
            os.makedirs(root, exist_ok=True)
            lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except (FileNotFoundError, FileExistsError) as error:
            if _is_blocked(root):
                raise
            tries += 1
            if tries == _TRIES:
                raise BadInput(
                    f"The warehouse cannot be made: {root} ({error.strerror}); give another folder."
                ) from None
            # another run removed or made it in between
            continue
        try:
            _flock(lock, path, wait=wait, say=say)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), os.stat(path)):
                    os.truncate(lock, 0)
                    holder = f"process {os.getpid()}, since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
                    os.pwrite(lock, holder.encode(), 0)
                    return lock
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _is_blocked(root: str) -> bool:
    """Whether something that is no folder, or a link to nothing, has the folder's name."""
    try:
        return not stat.S_ISDIR(os.stat(root).st_mode)
    except FileNotFoundError:
        return os.path.islink(root)


def _flock(lock: int, path: str, *, wait: bool, say: Callable[[str], None]) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(lock, 200, 0).decode(errors="replace") or "just started"
        if not wait:
            raise Failed(
                f"Another run ({holder}) is writing to this warehouse: {os.path.dirname(path)}; "
                "run again when it has finished, or without --no-wait."
            ) from None
        say(f"another run ({holder}) is writing to this warehouse; waiting")
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
