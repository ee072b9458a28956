"""Texts and times as SQL, for conditions that Delta takes as text only."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime


def text_literals(texts: Iterable[str]) -> str:
    """Texts as SQL.

    >>> print(text_literals(["a-1", "it's", "b\\\\"]))
    'a-1', 'it\\'s', 'b\\\\'
    """
    return ", ".join("'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'" for text in texts)


def time_literal(time: datetime) -> str:
    """A time as SQL; sessions are in UTC.

    >>> time_literal(datetime(2026, 11, 21, 10, 0, 0, 500))
    "TIMESTAMP'2026-11-21 10:00:00.000500'"
    """
    return f"TIMESTAMP'{time:%F %T.%f}'"
