"""Levels in all ways to write them, and log4j's names for them."""

from __future__ import annotations

NAMES = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""log4j's levels; each begins with a letter of its own."""
LEVELS = {
    **{name[:size]: name for name in NAMES for size in (3, 4, 5)},  # cut short, as by `%.-4p` or `%p{length=3}`
    "WARNING": "WARN", "INFORMATION": "INFO", "INFORMATIONAL": "INFO", "NOTICE": "INFO", "CRITICAL": "FATAL",
    "SEVERE": "ERROR", "7": "DEBUG", "6": "INFO", "5": "INFO", "4": "WARN", "3": "ERROR", "2": "FATAL",
}  # fmt: skip
"""Names of levels, and syslog's numbers, as log4j's levels."""
CUT = "|".join(sorted({name[:size] for name in NAMES for size in (3, 4)} - {*NAMES}, key=len, reverse=True))
"""Names that are cut short, as a regular expression."""
_BY_BYTES = {name[:size].encode(): name.encode() for name in NAMES for size in (1, 2, 3, 4)}


def full_level(level: bytes) -> bytes:
    """A level that is cut short in full; others as they are.

    >>> full_level(b"ERRO"), full_level(b"W"), full_level(b"INFO"), full_level(b"X")
    (b'ERROR', b'WARN', b'INFO', b'X')
    """
    return _BY_BYTES.get(level, level)


def is_much_cut(level: bytes) -> bool:
    """Whether a level is cut to one letter or two."""
    return len(level) <= 2 and level in _BY_BYTES
