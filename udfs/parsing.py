"""The plain interpreter of the rules: one record in, one dictionary out. No Spark, no Arrow.

`merge`, tests and whoever asks for one line use it; the ingest uses `udfs.parsing_arrow`, which must agree.
"""

from __future__ import annotations

from typing import Any

from udfs.prefixes import SPLIT, read_prefix
from udfs.rule import Rule
from udfs.rulebook import candidates

import re

_SPLIT = re.compile(SPLIT)


def split_prefix(message: bytes) -> tuple[bytes, bytes]:
    """A message's prefix with its blank, empty if it has none that is known, and the rest."""
    m = _SPLIT.match(message)
    prefix = m[0] if m else b""
    return (prefix, message[len(prefix) :]) if prefix and read_prefix(prefix) is not None else (b"", message)


def find_rule(logger: bytes, rest: bytes) -> Rule | None:
    """The rule that knows a message; None if there is none. `rest` is the message without its prefix."""
    return next((rule for rule in candidates(logger, rest) if rule.pattern.fullmatch(rest)), None)


def read_message(logger: str, message: str) -> dict[str, Any] | None:
    """Event type, columns and further fields of one message; None if no rule knows it.

    What the text says goes before what the prefix says, for example the partition of a line written by another.
    """
    prefix, rest = split_prefix(message.encode())
    rule = find_rule(logger.encode(), rest)
    if rule is None:
        return None
    found = {**(read_prefix(prefix) or {}), **(rule.read(rest) or {})}
    return {"event_type": rule.event_type, **{key: value for key, value in found.items() if value is not None}}
