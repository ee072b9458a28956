"""Text from logs as a terminal may show it: what would steer the terminal is spelt out. Imports nothing of ours."""

from __future__ import annotations

import re

_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"  # C0, DEL, C1, breaks, directions
)
CONTROL_CHARACTERS = r"[\x00-\x1f\x7f-\x9f]+"
"""A regular expression, for Spark and DuckDB alike."""
MOST_ERROR = 200
"""Characters of an error that are told of it."""
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    """The text on one line, each control character as its escape: colours, titles, links, bells, line breaks.

    >>> print(printable("pay\\x1b]0;title\\x07\\nments"))
    pay\\x1b]0;title\\x07\\nments
    """
    return text if text.isprintable() else _STEERING.sub(_escape, text)


def printable_lines(text: str) -> str:
    """The same of a text of several lines, which stay lines."""
    return "\n".join(map(printable, text.split("\n")))


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return _NAMED.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
