"""What Spark's Python workers are spared while they work for us."""

from __future__ import annotations

import ctypes
import gc

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_KEPT_BYTES, _LARGEST_BYTES = 256 << 20, 32 << 20


def prepare() -> None:
    """Makes this process fit for work on millions of rows; to be called at the begin of each task."""
    without_collector()
    with_memory_kept()


def without_collector() -> None:
    """Turns the collector of cyclic garbage off in this process, and spares it all that is there by now.

    Nothing here is cyclic, and millions of tuples make each collection long. Spark has its workers collect between any
    two tasks nevertheless (4.2, `pyspark/daemon.py`), which takes 20 to 70 ms to go through modules, rules and forms:
    as much as framing 30 MB of logs. What is frozen is still freed when nobody has it any more.
    """
    gc.disable()
    gc.freeze()


def with_memory_kept() -> None:
    """Memory that arrays give back stays with this process, up to 256 MiB, where it is glibc that allocates.

    Each block of a log makes arrays of some megabytes. Given back to the system and asked for again, each page of them
    is zeroed anew: a tenth of the time of parsing. Other allocators are left as they are.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # no glibc
        return
    mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
    mallopt(_MMAP_THRESHOLD, _LARGEST_BYTES)
