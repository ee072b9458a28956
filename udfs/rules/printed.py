"""Patterns of what Kafka prints of an object: `Name(key=value, ...)`, with objects, lists and maps within each other.

All are possessive: a broken line is refused at once.
"""

from __future__ import annotations

from udfs.rules.regex import MANY

_QUOTED = rf"(?<==)'[^'\n]*+'|'|\"(?:[^\"\\]|\\.){MANY}\""  # a quoted value; an apostrophe; JSON


def nested(depth: int) -> str:
    """What may stand between two brackets, with so many brackets within each other."""
    inner = rf"|[(\[{{]{nested(depth - 1)}[)\]}}]" if depth else ""
    return rf"(?:[^()\[\]{{}}'\"]++|{_QUOTED}{inner}){MANY}"


BALANCED = nested(8)
"""What may stand between two brackets."""
FIELD = rf"[A-Za-z]\w*=(?:[^,()\[\]{{}}'\"]++|{_QUOTED}|[(\[{{]{nested(3)}[)\]}}]){MANY}"
"""A field of an object."""
MORE = rf"(?:, ?{FIELD})*?"
"""Fields between two others, or behind the last one; as few as possible."""
BEFORE = rf"(?:{FIELD}, ?)*?"
"""Fields before another one; as few as possible."""
