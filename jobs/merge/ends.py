"""How a merge ends: its exit codes, and standard streams that cannot be written."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

DONE, BAD_INPUT, FAILED, INTERRUPTED = 0, 2, 4, 130


def complain(text: str) -> None:
    """One sentence on standard error, if it is open and not full."""
    try:
        if sys.stderr is not None:
            print(f"kafka-rewind: {text}", file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def not_written(error: OSError) -> str:
    """The sentence for standard output that cannot be written."""
    return f"The output cannot be written ({error.strerror}); what was printed is not all."


def discard(stream: TextIO) -> None:
    """Drop what a stream still holds and whatever follows: Python would try to write it at the exit, and fail."""
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
