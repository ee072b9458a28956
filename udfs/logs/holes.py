"""Holes: the NULs that a log begins with if it was emptied while its writer went on (logrotate's `copytruncate`)."""

from __future__ import annotations


def hole_size(data: bytes) -> int:
    """How many NULs to pass over at the start of a log; an even number: UTF-16 has a NUL in front of a letter or
    behind it.

    >>> hole_size(bytes(7) + b"[2024-02-29"), hole_size(b"[2024-02-29")
    (6, 0)
    """
    return (len(data) - len(data.lstrip(b"\0"))) // 2 * 2
