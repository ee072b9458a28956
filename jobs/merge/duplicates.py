"""Logs that were given twice: the same content under two names, or a log and an older copy of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from jobs.merge.log import Log

_COMPARED_AT_ONCE = 1 << 20


def without_duplicates(logs: list[Log], say: Callable[[str], None]) -> list[Log]:
    """Of logs with the same content one, of a log and its begin the whole. What is left out is said."""
    distinct: list[Log] = []
    for log in logs:
        for other in [other for other in distinct if begin_alike(log, other)]:
            is_one_file = os.path.realpath(log.path) == os.path.realpath(other.path)
            if is_one_file or is_begin(log.open, other.open):
                say(same_content(log, other))
                break
            if is_begin(other.open, log.open):
                say(f"{other.name} is the start of {log.name}, which is read instead (--keep-duplicates reads both).")
                distinct[distinct.index(other)] = log
                break
        else:
            distinct.append(log)
    return distinct


def same_content(log: Log, other: Log) -> str:
    """The sentence on a log that is left out."""
    return f"{log.name} has the same content as {other.name} and is left out (--keep-duplicates reads both)."


def begin_alike(one: Log, other: Log) -> bool:
    """Whether the samples of two logs are the same as far as both go."""
    size = min(len(one.sample), len(other.sample))
    return size > 0 and one.sample[:size] == other.sample[:size]


def is_begin(short: Callable[[], BinaryIO], whole: Callable[[], BinaryIO]) -> bool:
    """Whether a stream begins with all bytes of another one; False if one of them cannot be read."""
    from udfs.errors import BadInput

    try:
        with short() as one, whole() as other:
            while data := one.read(_COMPARED_AT_ONCE):
                rest = memoryview(data)
                while rest:
                    piece = other.read(len(rest))
                    if not piece or piece != rest[: len(piece)]:
                        return False
                    rest = rest[len(piece) :]
    except (OSError, EOFError, BadInput):
        return False
    return True
