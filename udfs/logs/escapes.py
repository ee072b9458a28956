"""A reject's bytes as text, and back: nothing of a record that no rule matches is lost.

Bytes that are not UTF-8 are written as `\\xNN`. Where the record itself holds such a text, its backslash is written as
`\\x5c`, so that each text stands for one record only.
"""

from __future__ import annotations

import re

_LOOKS_ESCAPED = re.compile(rb"\\(?=x[0-9a-f]{2})")
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


def escaped(raw: bytes) -> str:
    """The bytes as text.

    >>> escaped(b"topic \\xff is no \\\\xff")
    'topic \\\\xff is no \\\\x5cxff'
    """
    return protected(raw).decode("utf-8", "backslashreplace")


def protected(raw: bytes) -> bytes:
    """The bytes with each backslash escaped that would be taken for an escape; for whoever decodes them later."""
    return _LOOKS_ESCAPED.sub(rb"\\x5c", raw) if b"\\x" in raw else raw


def recovered(text: str) -> bytes:
    """The bytes that `escaped` made a text of.

    >>> recovered('topic \\\\xff is no \\\\x5cxff')
    b'topic \\xff is no \\\\xff'
    """
    return _ESCAPED.sub(lambda m: bytes([int(m[1], 16)]), text.encode())
