"""What a collector puts before each line, found out from lines in which Kafka's own begin shows where it ends."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

from udfs.logs.channel_text import ChannelText, Unit, changed_lines, line_begins, texts_of_units
from udfs.logs.layouts import LAYOUTS
from udfs.logs.line_patterns import begin_of_own, looks_first
from udfs.logs.time_texts import DATED, ZONES, ZoneOfLines
from udfs.rules.regex import MANY_BYTES, late

_LONGEST = 400
_LINES = 300
_OBJECT = late(rb'\{\s*"[\w@$.-]+"\s*(?::|=>)')
_PIECE = late(r"[0-9]+|[^\W\d_]+|.", re.DOTALL)
_PASSING = late(
    rf"Mon|Tue|Wed|Thu|Fri|Sat|Sun|{'|'.join(name for name in ZONES if len(name) > 1)}|"
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
)
_DIGIT = late(r"\d")
_HOST = late(r"(?=[^\W\d])(?!.*:\d\d)[\w./@:\[\]-]{2,}")


class Prefixed:
    """Takes off what a pattern matches at the begin of lines; its groups `c0`, `c1`, … say whose output a line is.

    A line without prefix is the output's of the line above. `is_quoted`: the line is in quotes, as JSON has them, and
    what is behind it belongs to the prefix. `zones`: what makes the zone of each output's lines from the time in group
    `at`, or, if there is no such group, from that in the prefix. Lines that syslog joined are parted again
    (`with_line_ends`).
    """

    def __init__(
        self, pattern: re.Pattern[bytes], is_quoted: bool = False, zones: Callable[[], ZoneOfLines] | None = None
    ) -> None:
        self._pattern, self._is_quoted = pattern, is_quoted
        self._zones = None if zones is None else defaultdict[str, ZoneOfLines](zones)
        self._has_parts = "part" in pattern.groupindex
        self._has_time = "at" in pattern.groupindex
        self._channel = ""
        self._others = _OtherPrefixes() if all(re.fullmatch(r"c\d+", name) for name in pattern.groupindex) else None

    def feed(self, text: ChannelText, last: bool) -> Iterator[tuple[str, ChannelText]]:
        """The lines without it, by output."""
        data = text.data
        if not data:
            return
        begins = line_begins(data).tolist()
        units: list[Unit] = []
        match = self._pattern.match
        channel = self._channel
        for begin, end in zip(begins, [*begins[1:], len(data)], strict=True):
            m = match(data, begin, end)
            if m is None and self._others is not None:
                m = self._others.match(data[begin:end])
            elif self._others is not None:
                self._others.usual = m
            if m is None:
                units.append((begin, channel, data[begin:end]))
                continue
            channel = b"/".join(m[name] for name in _channel_groups(m.re)).decode("utf-8", "backslashreplace")
            line = data[begin + m.end() - m.pos : end]
            if self._is_quoted and (quoted := _IN_QUOTES.match(line)):
                line = _unescaped(quoted[1]) + b"\n"
            if self._has_parts and m["part"] == b"P":
                line = line.rstrip(b"\r\n")
            if self._zones is not None and (at := self._outer_time(m)):
                line = self._zones[channel].with_offset(line, at)
            line = with_line_ends(line)
            units.append((begin, channel, line))
        self._channel = channel
        yield from texts_of_units(units, text.places, len(data))

    def _outer_time(self, m: re.Match[bytes]) -> str:
        """The time in a prefix; empty if it has none."""
        if self._has_time:
            return (m["at"] or b"").decode()
        at = _DATED.search(m[0].decode("utf-8", "replace"))
        return at[0] if at else ""


@cache
def _channel_groups(pattern: re.Pattern[bytes]) -> list[str]:
    return sorted(name for name in pattern.groupindex if name[0] == "c")


class _OtherPrefixes:
    """Prefixes that are as the usual one but for names of hosts, which come later than what was looked at.

    Such a name shows before the begin of a record; from there on it is taken off all lines.
    """

    def __init__(self) -> None:
        self.usual: re.Match[bytes] | None = None  # the last one
        self._patterns: list[re.Pattern[bytes]] = []

    def match(self, line: bytes) -> re.Match[bytes] | None:
        """The match with such a prefix at the begin of a line; None if there is none."""
        for pattern in self._patterns:
            if m := pattern.match(line):
                return m
        if self.usual is None or len(self._patterns) == _MOST_OTHERS or not (size := _size_before_record(line)):
            return None
        other = self._like_usual(line[:size].decode("utf-8", "surrogateescape"))
        if other is None:
            return None
        self._patterns.append(re.compile(other.encode("utf-8", "surrogateescape"), re.MULTILINE))
        return self._patterns[-1].match(line)

    def _like_usual(self, text: str) -> str | None:
        """The pattern of a prefix that differs from the usual one in names of hosts alone; None if it is no such."""
        assert self.usual is not None
        usual = re.split(r"(\s+)", self.usual[0].decode("utf-8", "surrogateescape"))
        tokens = re.split(r"(\s+)", text)
        spans = [self.usual.span(name) for name in _channel_groups(self.usual.re)]
        if len(tokens) != len(usual):
            return None
        parts: list[str] = []
        position = self.usual.start()
        for i, (token, of_usual) in enumerate(zip(tokens, usual, strict=True)):
            end = position + len(of_usual.encode("utf-8", "surrogateescape"))
            is_alike = re.fullmatch(_literal(of_usual), token) is not None
            if not is_alike and not (_is_host(token) and _is_host(of_usual)):
                return None
            if not is_alike or any(position <= begin < end for begin, _ in spans):
                parts.append(f"(?P<c{i:03}>{_literal(token)})")
            else:
                parts.append(f"(?:{token}|(?=\\r?$))" if i == len(tokens) - 2 and not tokens[-1] else _literal(token))
            position = end
        return "".join(parts)


_MOST_OTHERS = 100
_DATED = late(DATED)


def with_line_ends(line: bytes) -> bytes:
    r"""What syslog made one line of, as the lines that it was: rsyslog writes control characters as their octal numbers
    (`EscapeControlCharactersOnReceive`).

    >>> with_line_ends(b"java.io.IOException: gone#012#011at kafka.Kafka.main(Kafka.scala)")
    b'java.io.IOException: gone\n\tat kafka.Kafka.main(Kafka.scala)'
    """
    return line.replace(b"#012", b"\n").replace(b"#011", b"\t") if b"#01" in line else line


_IN_QUOTES = late(rb'((?:[^"\\\n]|\\.)' + MANY_BYTES + rb')"')


def _unescaped(text: bytes) -> bytes:
    try:
        return str(json.loads(b'"' + text + b'"', strict=False)).encode("utf-8", "surrogatepass")
    except ValueError:
        return text


class Suffixed:
    """Takes off what a pattern matches at the end of lines."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._pattern = pattern

    def feed(self, text: ChannelText, last: bool) -> Iterator[tuple[str, ChannelText]]:
        """The lines without it."""
        yield from changed_lines(text, partial(self._pattern.sub, b""))


SOURCE = r" \([\w$]+\.(?:scala|java)(?::\d+)?\)"  # log4j's (%F:%L)
_BEHIND_LOGGER = late(
    rb" \([\w.$-]+\.[\w.$-]+\)([\t ,;|]+[^\[(][^\n\r]{0,100}?|" + SOURCE.encode() + rb")\r?$", re.MULTILINE
)


def suffix_of(text: bytes) -> str | None:
    """The pattern of what stands behind the loggers of most lines that end in one, or of tabs that end most lines; None
    if it is not of one kind.
    """
    if text.count(b"\t\n") * 5 > text.count(b"\n") * 4:
        return r"\t+"
    suffixes = [m[1].decode("utf-8", "surrogateescape") for m in _BEHIND_LOGGER.finditer(text)][:_LINES]
    if len(suffixes) < 3 or len(suffixes) * 20 < text.count(b"\n"):
        return None
    return SOURCE if all(re.fullmatch(SOURCE, suffix) for suffix in suffixes) else _shaped(sorted({*suffixes}))


def _size_before_known(line: bytes) -> int:
    """How many bytes of a line are before the begin of a record in a known layout, or else of an object; 0: none is."""
    torn = (layout.torn for layout in LAYOUTS if layout.torn is not None)
    begins = [m.start() for pattern in torn if (m := pattern.search(line, 1, _LONGEST))]
    if not begins and (m := _OBJECT.search(line, 1, _LONGEST)):
        begins = [m.start()]
    return min(begins, default=0)


def _size_before_record(line: bytes) -> int:
    """The same for any layout."""
    begin = _size_before_known(line)
    if begin:
        return begin
    text = line[:_LONGEST].decode("utf-8", "surrogateescape")
    return len(text[: begin_of_own(text)].encode("utf-8", "surrogateescape"))


def prefix_of(text: bytes) -> str | None:
    """The pattern of the prefix of most lines of a text; a quote at its end says that the lines are quoted."""
    prefixes: list[str] = []
    lines = [line for line in text.split(b"\n") if line.strip()][: 4 * _LINES]
    for line in lines:
        if size := _size_before_known(line):
            prefixes.append(line[:size].decode("utf-8", "surrogateescape"))
        if len(prefixes) == _LINES:
            break
    return _pattern_of_most(prefixes, len(lines))


def prefix_of_unknown(text: bytes) -> str | None:
    """The pattern of the prefix of most lines in a layout that nobody knows; None if it may be the layout's own.

    It is none of the layout's if it has a time, for the layout has one, too, or if further lines of records have it.
    """
    lines = [line for line in text.split(b"\n") if line.strip()][: 4 * _LINES]
    texts = [line[:_LONGEST].decode("utf-8", "surrogateescape") for line in lines]
    pattern = _pattern_of_most([some[:begin] for some in texts if (begin := begin_of_own(some))], len(lines))
    if pattern is None:
        return None
    match = re.compile(pattern.encode("utf-8", "surrogateescape")).match
    further = [line for line in lines if not looks_first(line)]
    prefixes = [m[0].decode("utf-8", "replace") for line in lines if (m := match(line))]
    has_time = sum(_DATED.search(prefix) is not None for prefix in prefixes) * 2 > len(prefixes)
    is_everywhere = len(further) > 2 and sum(match(line) is not None for line in further) * 2 > len(further)
    return pattern if has_time or is_everywhere else None


def _pattern_of_most(prefixes: Sequence[str], lines: int) -> str | None:
    """The pattern of the texts before some of so many lines; None if they are few, or not alike."""
    tokens = [re.split(r"(\s+)", prefix) for prefix in prefixes[:_LINES]]
    if len(tokens) < 2 or len(tokens) * 20 < lines:
        return None
    count = Counter(map(len, tokens)).most_common(1)[0][0]
    return _pattern_of(list(zip(*(some for some in tokens if len(some) == count), strict=True)))


def _pattern_of(columns: Sequence[tuple[str, ...]]) -> str | None:
    """A pattern of texts by their tokens: blanks at odd places, others at even ones."""
    parts: list[str] = []
    hosts = 0
    for i, column in enumerate(columns):
        different = sorted({*column})
        if i % 2:
            blank = re.escape(different[0]).replace("\\ ", " ") if len(different) == 1 else r"[ \t]+"
            parts.append(f"(?:{blank}|(?=\\r?$))" if i == len(columns) - 2 and not any(columns[-1]) else blank)
        elif len(different) == 1 and not (_HOST.fullmatch(different[0]) and _DIGIT.search(different[0])):
            parts.append(_literal(different[0]))
        elif len(different) == 1:  # a host with a number: others may come later
            parts.append(f"(?P<c{hosts}>{_literal(different[0])})")
            hosts += 1
        elif all(map(_is_host, different)) and len(different) * 3 <= len(column):
            parts.append(f"(?P<c{hosts}>{_shaped(different) or _charset(different)})")
            hosts += 1
        else:
            pattern = _shaped(different)
            if pattern is None and i == len(columns) - 1:
                return None
            parts.append(pattern or r"\S+")
    return "".join(parts) or None


def _is_host(text: str) -> bool:
    """Whether a text may be a host's name, and is no day, month or zone."""
    return _HOST.fullmatch(text) is not None and not _PASSING.fullmatch(text)


def _shaped(texts: Sequence[str]) -> str | None:
    """A pattern of texts that are made of the same kinds of characters; None if they are not."""
    pieces = [_PIECE.findall(text) for text in texts]
    if len({len(some) for some in pieces}) > 1:
        return None
    parts = []
    for column in zip(*pieces, strict=True):
        if len({*column}) == 1 and not column[0].isdigit():
            parts.append(_literal(column[0]))
        elif all(part.isdecimal() for part in column):
            parts.append(r"\d+")
        elif all(re.fullmatch(r"[^\W\d_]+", part) for part in column):
            parts.append(r"[^\W\d_]+")
        else:
            return None
    return "".join(parts)


def _charset(texts: Sequence[str]) -> str:
    """A pattern of the characters of texts: letters and digits, and what else is in them."""
    others = sorted({char for text in texts for char in text if not char.isalnum()})
    return rf"[\w{''.join(map(re.escape, others))}]+?"


def _literal(text: str) -> str:
    """A text as a pattern; numbers are any, and so are days, months and zones, which do not last as long as a log."""
    return "".join(
        r"\d+" if part.isdecimal() else r"[A-Za-z]+" if _PASSING.fullmatch(part) else re.escape(part)
        for part in _PIECE.findall(text)
    )
