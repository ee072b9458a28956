"""Whether lines that are read in some way are Kafka's: they name its loggers, and say what it says."""

from __future__ import annotations

from udfs.logs.layouts import Layout
from udfs.logs.line_patterns import looks_first
from udfs.logs.loggers import full_logger, is_named_in_full
from udfs.rules.logger_scopes import SCOPED_PREFIX, is_wholly_scoped
from udfs.rules.prefixes import read_prefix
from udfs.rules.regex import late

_ENOUGH = 100
_FEW = 3  # lines of which one may quote another
_BRACKETS = late(rb"\[[^\[\]\n]+\]")
_SHORT_YEAR = late(rb"\W{0,3}\d\d[/.-]\d\d[/.-]\d\d[ T]\d\d:\d\d:\d\d")
_REACH = 300  # bytes of a line in which its message begins


def is_sound(text: bytes, layout: Layout) -> bool:
    """Whether messages of lines are messages of Kafka's: some name a logger that may be its, and of those in scope
    rules know at least half.
    """
    from udfs.rules.parsing import find_rule, split_prefix

    known = unknown = 0
    is_named = bool(layout.logger)
    for line in text.split(b"\n"):
        m = layout.head.match(line)
        if m is None:
            continue
        full = full_logger(m["logger"], m["message"])
        is_named = is_named or is_named_in_full(full)
        if is_wholly_scoped(logger := full.decode("utf-8", "replace")):
            is_known = find_rule(logger.encode(), split_prefix(m["message"].rstrip())[1]) is not None
            known, unknown = known + is_known, unknown + (not is_known)
            if known + unknown >= _ENOUGH:
                break
    return is_named and known >= unknown


def names_loggers(text: bytes, layout: Layout) -> bool:
    """Whether some line names a logger of Kafka's or of its libraries'."""
    if layout.logger:
        return True
    heads = (m for line in text.split(b"\n") if (m := layout.head.match(line)))
    return any(is_named_in_full(full_logger(m["logger"], m["message"])) for m in heads)


def lacks_loggers(text: bytes, layout: Layout | None = None) -> bool:
    """Whether lines have what Kafka's controllers and brokers write, but name no logger, so that nothing of it is read.

    A record that a layout reads without logger is a reject, and does not count: nobody misses it.
    """
    if layout is not None and names_loggers(text, layout):
        return False
    lines = text.split(b"\n")
    bare = (m for line in lines if layout and not layout.head.match(line) and (m := layout.bare.match(line)))
    if any(SCOPED_PREFIX.match(m["message"]) for m in bare):
        return False
    return sum(_is_of_kafka(line[:_REACH]) for line in lines) >= _FEW


def has_short_years(text: bytes) -> bool:
    """Whether lines of Kafka's controllers and brokers have dates such as `24/02/29`, of 2024 or of 2029."""
    some = (line[:_REACH] for line in text.split(b"\n") if _SHORT_YEAR.match(line))
    return sum(map(_has_scoped_prefix, some)) >= _FEW


def _is_of_kafka(line: bytes) -> bool:
    """Whether a line has a time, a level, and a prefix of messages that only loggers in scope write."""
    return _has_scoped_prefix(line) and looks_first(line)


def _has_scoped_prefix(line: bytes) -> bool:
    prefixes = (m[0] for m in _BRACKETS.finditer(line))
    return any(SCOPED_PREFIX.match(some) and read_prefix(some) for some in prefixes)
