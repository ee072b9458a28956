"""Layouts that nobody knew before, found out from the lines themselves and rewritten as Apache's.

A layout is named as log4j's patterns are: `[%d] [%t] %p %m (%c)`. `%d` is a moment in any form, `%p` a level in
capitals or not, `%c` a logger, `%t` any word, and `%m` the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from udfs.logs.channel_text import ChannelText, changed_lines
from udfs.logs.layouts import LAYOUTS, Layout
from udfs.logs.levels import CUT, LEVELS, full_level, is_much_cut
from udfs.logs.loggers import LOGGER_NAME, is_known_logger
from udfs.logs.row_fields import spelled_out
from udfs.logs.time_texts import DATED, ZONES, stamp
from udfs.rules.prefixes import read_prefix
from udfs.rules.regex import late

_NAMES = "TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|SEVERE|NOTICE|CRITICAL"
_LEVEL = late(rf"(?i)(?<![\w./-])(?:{_NAMES})(?![\w./-])")
_CUT_LEVEL = late(rf"(?<![\w./-])(?:{CUT})(?![\w./-])")
_AT = late(DATED)
_KAFKAS = late(rf"\[(?P<at>{DATED})\] (?P<level>{_NAMES}) ")
_COUNT = late(r"[\d.]+")
_IN_PARENTHESES = r"\((?:[^()\n]|\([^()\n]*\))*\)"  # a thread's name may have some itself
_SEPARATORS = ("|", ":", "-")
_LINES = 2000
_FEW = 3  # of which one may quote another
_GAP = 80  # and as many between them
_HEAD = 220  # characters of a line in which time and level stand
_TIME_ONLY = late(rf"^\W{{0,3}}\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?\W.{{0,100}}\b(?:{_NAMES})\b", re.MULTILINE)
_SINCE_START = late(rf"^\d{{1,12}} +\[[^\]\n]+\] +(?:{_NAMES}) ", re.MULTILINE)
_KNOWN = "|".join((_NAMES, CUT, *ZONES))
_UNKNOWN_ZONE = late(rf"(?:{DATED}) ?(?:(?!(?:{_KNOWN})\])(?:[A-Z]{{3,5}}|[A-Z]\w+/\w+)\]|(?:AST|BST|CST|IST)\b)")


class PatternLines:
    """Rewrites lines of a pattern as lines of Apache's layout; others stay."""

    def __init__(self, pattern: str) -> None:
        self._match = re.compile(_regex(pattern), re.DOTALL).match

    def feed(self, text: ChannelText, last: bool) -> Iterator[tuple[str, ChannelText]]:
        """The same lines in Apache's layout."""
        yield from changed_lines(text, self._rewritten)

    def _rewritten(self, line: bytes) -> bytes:
        m = self._match(line.decode("utf-8", "surrogateescape"))
        at = stamp(m["d"]) if m else None
        level = LEVELS.get(m["p"].upper()) if m else None
        if m is None or at is None or level is None:
            return line
        message, logger = m["m"], m["c"]
        if logger:
            message = f"{message} ({spelled_out(logger, message)})"
        return f"[{at}] {level} {message}{m['end']}".encode("utf-8", "surrogateescape")


class FullLevels:
    """Writes the levels of a named layout's lines, of which they have a letter or two, in full."""

    def __init__(self, layout: str) -> None:
        self._layout = next((some for some in LAYOUTS if some.name == layout), None)
        if self._layout is None:
            raise ValueError(f"{layout!r} is no layout; expected one such as 'apache'")

    def feed(self, text: ChannelText, last: bool) -> Iterator[tuple[str, ChannelText]]:
        """The same lines with levels in full."""
        yield from changed_lines(text, self._full)

    def _full(self, line: bytes) -> bytes:
        assert self._layout is not None
        m = self._layout.head.match(line) or self._layout.bare.match(line)
        if m is None or not is_much_cut(m["level"]):
            return line
        return line[: m.start("level")] + full_level(m["level"]) + line[m.end("level") :]


def has_much_cut_levels(text: bytes, layout: Layout) -> bool:
    """Whether the levels of all lines of a named layout are cut to one letter or two."""
    levels = {m["level"] for line in text.split(b"\n") if (m := layout.head.match(line))}
    return bool(levels) and all(map(is_much_cut, levels))


def _regex(pattern: str) -> str:
    """A pattern as a regular expression. Raises ValueError if it lacks a part."""
    if any(part not in pattern for part in ("%d", "%p", "%m")):
        raise ValueError(f"{pattern!r} is no pattern of a layout; expected one such as '[%d] [%t] %p %m (%c)'")
    head, _, tail = pattern.partition("%m")
    parts = [r"[\0\ufeff]*"]
    some = re.findall(r"\[%t\]|\(%t\)|%t|%d|%p|%c|\s+|.", head)
    for part, following in zip(some, [*some[1:], ""], strict=True):
        blanks = r"[ \t]*" if following in _SEPARATORS else r"[ \t]+"  # before which a column may be full
        parts.append(
            {
                "[%t]": r"\[[^\]\n]*\]",
                "(%t)": _IN_PARENTHESES,
                "%t": r"[^\s]*?",
                "%d": rf"(?P<d>{DATED})",
                "%p": rf"[ ]*(?P<p>(?i:{_NAMES})|(?:{CUT})(?!\w))[ ]*",
                "%c": r"[ ]*(?P<c>[\w$-]+(?:\.[\w$-]+)*)(?::[\d?]+)?[ ]*",
            }.get(part, blanks if part.isspace() else re.escape(part))
        )
    if "%c" in head:
        behind = r"(?P<m>[^\r\n]*)"
    else:
        threads = r"(?:[ ]*\[[^\]\n]*\])?" if "%t" in tail else ""
        behind = rf"(?P<m>[^\r\n]*?)(?:[ ]\((?P<c>[\w.$-]+)(?::\d+)?\){threads}[ ]*|)"
    return "".join(parts) + behind + r"(?P<end>\0*\r*\n?)\Z"


def pattern_of(text: bytes) -> list[str]:
    """The patterns of most of the lines of a text that name a logger, the most frequent first; else none."""
    patterns: Counter[str] = Counter()
    lines = 0  # that have one
    for line in text.decode("utf-8", "surrogateescape").split("\n")[:_LINES]:
        pattern = _pattern_of_line(line.rstrip("\r"))
        logger = LOGGER_NAME.search(line)
        lines += pattern is not None or (logger is not None and is_known_logger(logger[0]))
        if pattern:
            patterns[pattern] += 1
            if patterns[pattern] == 100:
                break
    most = patterns.most_common(3)
    is_of_most = patterns.total() * 2 > lines
    return [pattern for pattern, count in most if is_of_most and count * 5 > most[0][1]]


def _pattern_of_line(line: str) -> str | None:
    """The pattern of one line; None if it lacks time, level or logger."""
    pair = _time_and_level(line)
    logger = LOGGER_NAME.search(line)
    if pair is None or stamp(pair[0][0]) is None or _UNKNOWN_ZONE.search(line, 0, _HEAD):
        return None
    at, level = pair
    spans = [(*at.span(), "%d"), (*level.span(), "%p")]
    tail = ""
    trailing = re.search(r" \((?P<c>[\w.$-]+)(?::\d+)?\)(?P<t> *\[[^\]]*\])?\s*$", line)
    if trailing is not None and trailing.start() >= max(at.end(), level.end()):
        tail = " (%c) [%t]" if trailing["t"] else " (%c)"
    elif logger is not None and logger.start() < _HEAD and line[logger.start() - 1 : logger.start()] != "(":
        spans.append((*logger.span(), "%c"))
    elif short := re.compile(r"(?<![\w.])[A-Za-z][\w$]*(?=(?::[\d?]+)?\]?(?: *[-:])+ )").search(
        line, level.end(), _HEAD
    ):
        spans.append((*short.span(), "%c"))
    else:
        return None
    spans.sort()
    if any(not 0 < b[0] - a[1] <= _GAP for a, b in pairwise(spans)) or spans[0][0] > _GAP:
        return None  # they touch, or stand in the message
    if spans[-1][2] != "%c" and any(name == "%c" for _, _, name in spans):
        return None
    parts, position = [], 0
    for begin, end, name in spans:
        parts += [_between(line[position:begin]), name]
        position = end
    behind = re.compile(r"(?::[\d?]+(?!\w))?(?: *([\])>]))?").match(line, position)
    assert behind is not None
    parts.append(behind[1] or "")
    position = behind.end()
    while (m := re.compile(r"(\s*)\[([^\]]*)\](?=[\s:])").match(line, position)) and not _is_prefix(m[0].strip()):
        parts.append(f"{m[1]}[%t]")
        position = m.end()
    if thread := re.compile(rf"(\s+){_IN_PARENTHESES}(?=\s)").match(line, position):
        parts.append(f"{thread[1]}(%t)")
        position = thread.end()
    separator = re.compile(r"\s*(?:[-:|>]+\s+|\|)?").match(line, position)
    pattern = "".join([*parts, separator[0] if separator else "", "%m", tail])
    return None if "%t%" in pattern else pattern


def _time_and_level(line: str) -> tuple[re.Match[str], re.Match[str]] | None:
    """Time and level of a first line; None if it lacks one. Of several dates before the level the last is its own: who
    wraps lines writes his before them. If he writes a level, too, those that stand as Kafka writes them are the line's.
    """
    if own := _KAFKAS.search(line, 0, _HEAD):
        at, level = _AT.match(line, own.start("at")), _LEVEL.match(line, own.start("level"))
        return None if at is None or level is None else (at, level)
    level = _LEVEL.search(line, 0, _HEAD) or _CUT_LEVEL.search(line, 0, _HEAD)
    times = list(_AT.finditer(line, 0, _HEAD))
    if level is None or not times:
        return None
    before = [m for m in times if m.end() <= level.start()]
    dates = [m for m in before if not _COUNT.fullmatch(m[0])]  # others are numbers, which may be ids
    return (dates or before or times)[-1 if dates else 0], level


def holds_records(text: bytes, layout: Layout) -> bool:
    """Whether messages of a layout's records are Kafka's own lines with time and level: another program logged them."""
    heads = [m for line in text.split(b"\n")[:_LINES] if (m := layout.head.match(line))]
    own = sum(_KAFKAS.search(m["message"][:_HEAD].decode("latin-1")) is not None for m in heads)
    return len(heads) >= _FEW and own * 2 > len(heads)


def begin_of_own(line: str) -> int:
    """Where in a first line of any layout begins what the layout writes: at its time or its level. Of other lines 0.

    >>> begin_of_own("host-1 2024-02-29T23:59:59Z [2024-02-29 23:59:59,999] [main] INFO x (a.B)")
    28
    """
    pair = _time_and_level(line)
    if pair is None:
        return 0
    first, second = sorted(m.span() for m in pair)
    begin = first[0] - line[: first[0]].endswith(("[", "("))
    return begin if 0 < second[0] - first[1] <= _GAP else 0


def looks_first(line: bytes) -> bool:
    """Whether a line has a time and a level near its begin, as a record's first has in any pattern, or behind a prefix.

    >>> looks_first(b"host [2024-02-29 23:59:59,999] [main] INFO x"), looks_first(b"2024-02-29 is a day")
    (True, False)
    """
    text = line[:_HEAD].decode("latin-1")
    at, level = _AT.search(text), _LEVEL.search(text) or _CUT_LEVEL.search(text)
    if at is None or level is None:
        return False
    return at.start() <= _GAP and 0 < max(level.start() - at.end(), at.start() - level.end()) <= _GAP


def _between(text: str) -> str:
    """What stands between two parts, its words as `%t`; blanks that fill a bracket are none of it.

    >>> _between("   ] [  main ] [  "), _between(" | main   | ")
    ('] [%t] [', ' | %t   | ')
    """
    text = re.sub(r"^ +(?=[\])>])|(?<=[\[(<]) +$", "", text)
    words = r"\[ *[^\]\s][^\]]*\]|[^\s\[\]()|]*\w[^\s\[\]()|]*"
    return re.sub(words, lambda m: "[%t]" if m[0][0] == "[" else "%t", text)


def _is_prefix(bracket: str) -> bool:
    return read_prefix(bracket.encode("utf-8", "surrogateescape")) is not None


def names_unknown_zone(text: bytes) -> bool:
    """Whether times of lines name a zone of which it is not known that it means one offset from UTC."""
    return _UNKNOWN_ZONE.search(text.decode("utf-8", "surrogateescape")) is not None


def counts_from_start(text: bytes) -> bool:
    """Whether lines have the milliseconds since their program began (log4j's `%r`) in place of a time."""
    return _SINCE_START.search(text.decode("utf-8", "surrogateescape")) is not None


def lacks_dates(text: bytes) -> bool:
    """Whether lines have a time of the day, but no date."""
    return _TIME_ONLY.search(text.decode("utf-8", "surrogateescape")) is not None
