"""What others put around log lines, taken off again: encodings, colours, prefixes of collectors, JSON.

A chain of unwrappers turns the bytes of a stream into texts of one or more channels. Each piece of a text knows the
line, the offset and the number of bytes of the stream that it is from, so that the account stays exact in the bytes
on disk: pieces of one stream never overlap, and together they are all of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from udfs.logs.loggers import full_logger
from udfs.rules.regex import late

Longs = npt.NDArray[np.int64]

_NONE = np.zeros(0, np.int64)
OPEN_OBJECT = 8 << 20
"""Bytes after which a JSON object that has not ended is taken for text that only begins like one."""


@dataclass(frozen=True)
class Places:
    """Where the pieces of a text are from. `begins` are positions in the text, whose length is `length`.

    A piece may be empty. A position inside of a piece is counted from its end, for unwrapping takes from the begin: as
    many bytes of it are left in the stream as in the text, if it has so many. So it is the same wherever texts are cut.
    """

    length: int
    begins: Longs
    lines: Longs
    offsets: Longs
    sizes: Longs

    def within(self, positions: Longs) -> tuple[Longs, Longs]:
        """The number of the piece of each position, and how many of its bytes in the stream are before."""
        piece = np.searchsorted(self.begins, positions, side="right") - 1
        ends = np.append(self.begins[1:], self.length)[piece]
        begins, sizes = self.begins[piece], self.sizes[piece]
        inside = np.maximum(sizes - (ends - positions), 0)
        inside = np.where(positions == begins, 0, inside)
        return piece, np.where(positions >= self.length, sizes, inside)

    def lines_of(self, positions: Longs) -> Longs:
        """The numbers of the lines that hold the positions."""
        return self.lines[self.within(positions)[0]]

    def offsets_of(self, positions: Longs) -> Longs:
        """The positions as they are in the stream."""
        piece, inside = self.within(positions)
        found: Longs = self.offsets[piece] + inside
        return found

    def volumes(self, positions: Longs) -> Longs:
        """How many bytes of these pieces are before each position; none are before the first one."""
        if not len(self.begins):
            return np.zeros(len(positions), np.int64)
        piece, inside = self.within(positions)
        found: Longs = (np.cumsum(self.sizes) - self.sizes)[piece] + inside
        return np.where(positions == 0, 0, found) if self.length else found

    def after(self, position: int) -> Places:
        """What is left behind a position."""
        if position == 0:
            return self
        if position >= self.length:
            return NO_PLACES
        (piece,), (inside,) = self.within(np.array([position]))
        offsets, sizes = self.offsets[piece:].copy(), self.sizes[piece:].copy()
        offsets[0] += inside
        sizes[0] -= inside
        begins = np.maximum(self.begins[piece:] - position, 0)
        return Places(self.length - position, begins, self.lines[piece:], offsets, sizes)

    def plus(self, more: Places) -> Places:
        """The places of two texts, one behind the other."""
        if not len(self.begins):
            return more
        return Places(
            self.length + more.length,
            np.append(self.begins, more.begins + self.length),
            np.append(self.lines, more.lines),
            np.append(self.offsets, more.offsets),
            np.append(self.sizes, more.sizes),
        )

    def regrouped(self, begins: Longs) -> tuple[Longs, Longs, Longs]:
        """Lines, offsets and sizes of other pieces of the same text, which begin at `begins`, the first one at 0."""
        volumes = self.volumes(begins)
        total = int(self.sizes.sum())
        return self.lines_of(begins), self.offsets_of(begins), np.diff(np.append(volumes, total))


NO_PLACES = Places(0, _NONE, _NONE, _NONE, _NONE)


@dataclass(frozen=True)
class Text:
    """A text of one channel, and where it is from."""

    data: bytes
    places: Places


def _text(data: bytes, begins: Longs, lines: Longs, offsets: Longs, sizes: Longs) -> Text:
    return Text(data, Places(len(data), begins, lines, offsets, sizes))


def _line_begins(data: bytes) -> Longs:
    """Where the lines of a text begin that is not empty."""
    begins = np.append(0, np.flatnonzero(np.frombuffer(data, np.uint8) == 10) + 1)
    return begins[:-1] if begins[-1] == len(data) else begins


# ----------------------------------------------------------------------------------------------------------- encodings

_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
UTF8_MARK = b"\xef\xbb\xbf"


def encoding_of(sample: bytes) -> str:
    """`utf-16-le` or `utf-16-be`, by the mark or by the zero bytes between ASCII; empty if it is neither."""
    if sample[:2] in _MARKS:
        return _MARKS[sample[:2]]
    begin = sample[:512]
    for name, zeros, others in (("utf-16-le", begin[1::2], begin[::2]), ("utf-16-be", begin[::2], begin[1::2])):
        if len(zeros) > 20 and zeros.count(0) > 0.9 * len(zeros) and others.count(0) < 0.1 * len(others):
            return name
    return ""


def decoded(data: bytes, encoding: str, is_first: bool = True) -> bytes:
    """UTF-8 of whole lines of a stream, the first ones without their mark; what is no text stays as it is."""
    whole = len(data) // 2 * 2
    text = data
    if encoding:
        characters = data[:whole].decode(encoding, "surrogatepass")
        text = characters.encode("utf-8", "surrogatepass") + data[whole:]
    return text.removeprefix(UTF8_MARK) if is_first else text


def _source(stream: BinaryIO, encoding: str, block: int) -> Iterator[Text]:
    """The lines of a stream, in blocks of whole ones."""
    rest = b""
    line, offset = 1, 0
    last = False
    while not last:
        more = stream.read(max(block, len(rest)))
        last = not more
        data = rest + more
        ends = _line_ends(data, encoding)
        stop = len(data) if last else int(ends[-1]) if len(ends) else 0
        rest = data[stop:]
        if not stop:
            continue
        ends = np.append(ends, stop) if not len(ends) or ends[-1] < stop else ends
        text = decoded(data[:stop], encoding, is_first=offset == 0)
        sizes = np.diff(ends, prepend=0)
        begins = (_line_begins(text) if text else np.zeros(1, np.int64))[: len(ends)]
        begins = np.append(begins, np.full(len(ends) - len(begins), len(text)))  # it may end in what is no character
        yield _text(text, begins, line + np.arange(len(ends)), offset + ends - sizes, sizes)
        line += len(ends)
        offset += stop


def _line_ends(data: bytes, encoding: str) -> Longs:
    """Positions behind the line ends."""
    if not encoding:
        return np.flatnonzero(np.frombuffer(data, np.uint8) == 10) + 1
    units = np.frombuffer(data, "<u2" if encoding == "utf-16-le" else ">u2", len(data) // 2)
    return np.flatnonzero(units == 10) * 2 + 2


# ------------------------------------------------------------------------------------------------------------ wrappers


class Unwrapper(Protocol):
    """One layer taken off. `feed` takes a text of whole lines and gives texts by channel; `last` ends the stream."""

    def feed(self, text: Text, last: bool) -> Iterator[tuple[str, Text]]: ...


class _Lines:
    """Takes off what `pattern` matches at the begin of lines, or anywhere if they all stay in one channel."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._pattern = pattern

    def feed(self, text: Text, last: bool) -> Iterator[tuple[str, Text]]:
        """The same lines without it."""
        if text.data:
            bare = self._pattern.sub(b"", text.data)
            begins = _line_begins(bare) if bare else np.zeros(1, np.int64)
            before = _line_begins(text.data)
            if len(begins) < len(before):  # nothing is left of the last line, which has no end
                begins = np.append(begins, len(bare))
            yield "", _text(bare, begins, *text.places.regrouped(before))


class _Channels:
    """Takes prefixes off that name the channel of a line, in group `channel`.

    A group `part` that is `P` says that the line goes on in the channel's next one. A line without prefix is of the
    channel of the line above, unless `strays` says that it has one of its own, the nameless. `is_fixed` says that a
    channel's prefix is always the same.
    """

    def __init__(self, pattern: re.Pattern[bytes], strays: bool = False, is_fixed: bool = False) -> None:
        self._pattern, self._strays, self._is_fixed = pattern, strays, is_fixed
        self._parts = "part" in pattern.groupindex
        self._current = b""

    def feed(self, text: Text, last: bool) -> Iterator[tuple[str, Text]]:
        """The lines by channel, each channel's in order."""
        data = text.data
        if not data:
            return
        begins = _line_begins(data)
        lines, offsets, sizes = text.places.regrouped(begins)
        first = self._pattern.match(data) if self._is_fixed else None
        if first is not None and data.count(b"\n" + first[0]) == len(begins) - 1:  # one channel only
            self._current = first["channel"]
            bare = data.replace(b"\n" + first[0], b"\n")[len(first[0]) :]
            bare_begins = begins - len(first[0]) * np.arange(len(begins))
            yield _name(self._current), _text(bare, bare_begins, lines, offsets, sizes)
            return
        ends = np.append(begins[1:], len(data)).tolist()
        froms = begins.tolist()
        found = {m.start(): m for m in self._pattern.finditer(data)}
        by_channel: dict[bytes, list[int]] = {}
        current = self._current
        for i, begin in enumerate(froms):
            m = found.get(begin)
            if m is not None:
                current = m["channel"]
                froms[i] = m.end()
                if self._parts and m["part"] == b"P":
                    ends[i] -= 2 if data[ends[i] - 2 : ends[i]] == b"\r\n" else data[ends[i] - 1] == 10
            elif self._strays:
                current = b""
            by_channel.setdefault(current, []).append(i)
        self._current = current
        for channel, mine in by_channel.items():
            pieces = [data[froms[i] : ends[i]] for i in mine]
            lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
            some = _text(b"".join(pieces), np.cumsum(lengths) - lengths, lines[mine], offsets[mine], sizes[mine])
            yield _name(channel), some


def _name(channel: bytes) -> str:
    return channel.decode("utf-8", "backslashreplace")


_STRING = rb'"((?:[^"\\\n]++|\\.)*+)"'
_DOCKER = late(rb'^\{"log":' + _STRING + rb',"stream":"(\w+)"[^\n]*\}\r?$', re.MULTILINE)


class _DockerJson:
    """Docker's json-file: an object a line, whose `log` is a line, or a part of one if it has no line end."""

    def feed(self, text: Text, last: bool) -> Iterator[tuple[str, Text]]:
        """The lines by `stream`."""
        data = text.data
        if not data:
            return
        begins = _line_begins(data)
        lines, offsets, sizes = text.places.regrouped(begins)
        found = _DOCKER.findall(data)
        logs: list[bytes]
        if len(found) == len(begins):
            logs, streams = [log for log, _ in found], [stream for _, stream in found]
        else:
            ends = [*begins[1:].tolist(), len(data)]
            pairs = [self._line(data[begin:end]) for begin, end in zip(begins.tolist(), ends, strict=True)]
            logs, streams = [log for log, _ in pairs], [stream for _, stream in pairs]
        for channel in sorted(set(streams)):
            mine = [i for i, stream in enumerate(streams) if stream == channel]
            some = [logs[i] for i in mine]
            bare, lengths = _unescaped(some)
            yield channel.decode(), _text(bare, np.cumsum(lengths) - lengths, lines[mine], offsets[mine], sizes[mine])

    @staticmethod
    def _line(line: bytes) -> tuple[bytes, bytes]:
        """Escaped text and stream of one line; of one that is no such object, the line and no stream."""
        if m := _DOCKER.match(line):
            return m[1], m[2]
        if not line.startswith(b"{"):
            return json.dumps(line.decode("utf-8", "surrogateescape"))[1:-1].encode(), b""
        try:
            told = json.loads(line)
            log, stream = told["log"], told.get("stream", "")
        except (ValueError, KeyError, TypeError, RecursionError):
            return json.dumps(line.decode("utf-8", "surrogateescape"))[1:-1].encode(), b""
        return json.dumps(str(log))[1:-1].encode(), str(stream).encode("utf-8", "backslashreplace")


def _unescaped(strings: list[bytes]) -> tuple[bytes, Longs]:
    """JSON strings, given without their quotes, as one text, and the length of each; broken ones as they are."""
    whole = _unescape(b"".join(strings))
    if whole is not None and all(s.endswith(b"\\n") for s in strings):
        ends = np.flatnonzero(np.frombuffer(whole, np.uint8) == 10) + 1
        if len(ends) == len(strings):
            return whole, np.diff(ends, prepend=0)
    texts = [s if (text := _unescape(s)) is None else text for s in strings]
    return b"".join(texts), np.fromiter(map(len, texts), np.int64, len(texts))


_decode = json.JSONDecoder(strict=False).decode


def _unescape(string: bytes) -> bytes | None:
    if b"\\" not in string and b'"' not in string:
        return string
    try:
        return _utf8(_decode('"' + string.decode("utf-8", "surrogateescape") + '"'))
    except ValueError:
        return None


def _utf8(text: str) -> bytes:
    """Bytes of what JSON told; halves of surrogate pairs as they are."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


class _Json:
    """JSON objects, one or several a line or over several lines: log events, or envelopes around lines."""

    def __init__(self) -> None:
        self._rest = Text(b"", NO_PLACES)

    def feed(self, text: Text, last: bool) -> Iterator[tuple[str, Text]]:
        """Each object's text, by the file that it says to be from. What is no object stays as it is."""
        data = self._rest.data + text.data
        places = self._rest.places.plus(text.places)
        units: list[tuple[int, str, bytes]] = []  # begin, channel, text
        position = 0
        while position < len(data):
            lead = _LEAD.match(data, position)
            opening = lead.end() if lead else position
            begin = data.rfind(b"\n", position, opening) + 1
            if begin > position:  # lines that are empty, or only begin or end a list
                units.append((position, "", b""))
                position = begin
            if opening == len(data) or data[opening] != 0x7B:  # a line that is no object
                stop = data.find(b"\n", position) + 1 or len(data)
                if stop > position:
                    units.append((position, "", data[position:stop]))
                position = stop
                continue
            told, end = _object(data, opening)
            if end is None and not last and len(data) - position < OPEN_OBJECT:
                break
            if told is None or end is None:
                end = data.find(b"\n", position) + 1 or len(data)
                units.append((position, "", data[position:end]))
            else:
                while end < len(data) and data[end] in _BETWEEN and data[end - 1] != 10:
                    end += 1
                units.append((position, *rendered(told)))
            position = end
        self._rest = Text(data[position:], places.after(position))
        if not units:
            return
        begins = np.array([begin for begin, _, _ in units], np.int64)
        volumes = np.append(places.volumes(begins), places.volumes(np.array([position])))
        lines, offsets, sizes = places.lines_of(begins), places.offsets_of(begins), np.diff(volumes)
        by_channel: dict[str, list[int]] = {}
        current = ""
        for i, (_, channel, some) in enumerate(units):
            current = current if not channel and not some else channel
            by_channel.setdefault(current, []).append(i)
        for channel, mine in by_channel.items():
            texts = [units[i][2] for i in mine]
            lengths = np.fromiter(map(len, texts), np.int64, len(texts))
            yield channel, _text(b"".join(texts), np.cumsum(lengths) - lengths, lines[mine], offsets[mine], sizes[mine])


_LEAD = late(rb"[\s,\[\]]*+")
_LIKELY = late(rb'\{\s*+(?:["}]|\Z)')
_TO_END = late(r"\s*\Z")
_BETWEEN = b" \t\r\n,[]"
_scan = json.JSONDecoder().raw_decode


def _object(data: bytes, begin: int) -> tuple[dict[str, Any] | None, int | None]:
    """The JSON object at `begin` and where it ends; no object if it is broken, no end if more of it may follow.

    Read from its line or a little of the text at first, for what breaks is counted from the begin of what is read.
    """
    line = data.find(b"\n", begin, begin + 65536) + 1 - begin
    for reach in (line if line > 0 else 4096, 1 << 18, len(data)):
        some = data[begin : begin + reach]
        is_all = begin + reach >= len(data)
        told, size = _object_in(some)
        if size is not None or is_all:
            break
    return told, None if size is None else begin + size


def _object_in(data: bytes) -> tuple[dict[str, Any] | None, int | None]:
    """The same for a text that begins with an object."""
    if not _LIKELY.match(data):
        return None, 1
    characters = data.decode("latin-1")
    try:
        told, end = _scan(characters, 0)
        if "\\u" in characters[:end] or not data[:end].isascii():
            told = json.loads(data[:end].decode("utf-8", "surrogateescape"))
    except json.JSONDecodeError as error:
        is_open = error.msg.startswith("Unterminated") or _TO_END.match(characters, error.pos) is not None
        return None, None if is_open else 1
    except (RecursionError, ValueError):
        return None, 1
    return (told, end) if isinstance(told, dict) else (None, 1)


def _first(told: Mapping[str, Any], *paths: str) -> Any:
    """The first of some values that is there; `a.b` is a key, or a key in an object."""
    for path in paths:
        if path in told:
            return told[path]
        if "." in path:
            outer, _, inner = path.partition(".")
            if isinstance(told.get(outer), dict):
                found = _first(told[outer], inner)
                if found is not None:
                    return found
    return None


def rendered(told: Mapping[str, Any]) -> tuple[str, bytes]:
    """Channel and text of a JSON object: its text if that is all it has, else a line in Apache's layout.

    >>> rendered({"time": "2024-02-29 23:59:59", "level": "INFO", "logger": "a.B", "message": "x\\n y"})
    ('', b'[2024-02-29 23:59:59] INFO x (a.B)\\n y\\n')
    """
    channel = _first(told, "log.file.path", "source", "kubernetes.pod.name", "kubernetes.pod_name", "container_name")
    name = channel if isinstance(channel, str) else ""
    message = _first(told, "message", "log", "msg", "MESSAGE", "text", "log.message")
    text = message if isinstance(message, str) else json.dumps(message if message is not None else told)
    level = _first(told, "level", "log.level", "severity", "levelname", "priority")
    if level is None:
        return name, _utf8(text if text.endswith("\n") else text + "\n")
    logger = _first(told, "logger", "logger_name", "loggerName", "log.logger", "loggerFqcn", "category", "class")
    at = _time(told)
    if isinstance(level, str) and level.strip().isalpha() and at and (isinstance(logger, str) or not _STAMPED(text)):
        first, *more = text.rstrip("\r\n").split("\n")
        named = f" ({_full(logger, first)})" if isinstance(logger, str) else ""
        traces = ("stack_trace", "thrown.extendedStackTrace", "thrown", "throwable", "exception.stacktrace",
                  "exception", "error.stack_trace", "stacktrace")  # fmt: skip
        trace = _first(told, *traces)
        if isinstance(trace, list):
            trace = "\n".join(map(str, trace))
        if trace:
            more += (trace if isinstance(trace, str) else json.dumps(trace)).rstrip("\r\n").split("\n")
        line = f"[{at}] {level.strip().upper()} {first.rstrip(chr(13))}{named}"
        return name, _utf8("\n".join([line, *more, ""]))
    return name, _utf8(text if text.endswith("\n") else text + "\n")


def _full(logger: str, message: str) -> str:
    """A logger as it is named in the code; some layouts write its class alone."""
    if "." in logger and not re.match(r"\w\.\w\.", logger):
        return logger
    return full_logger(_utf8(logger), _utf8(message)).decode("utf-8", "surrogateescape")


_STAMPED = re.compile(r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d").match
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _time(told: Mapping[str, Any]) -> str:
    """When an event was, as it says itself; numbers are seconds or milliseconds since 1970. Empty if it does not."""
    seconds = _first(told, "instant.epochSecond")
    nanos = _first(told, "instant.nanoOfSecond")
    if isinstance(seconds, int):
        millis = seconds * 1000 + (nanos // 1_000_000 if isinstance(nanos, int) else 0)
    else:
        at = _first(told, "timestamp", "@timestamp", "timeMillis", "epochMillis", "time", "ts", "asctime", "datetime")
        if isinstance(at, str):
            return at.strip() if _STAMPED(at.strip()) else ""
        if isinstance(at, bool) or not isinstance(at, int | float):
            return ""
        millis = int(at * 1000) if abs(at) < 1e11 else int(at)
    try:
        return (_EPOCH + timedelta(milliseconds=millis)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    except (OverflowError, ValueError):
        return ""


_ISO = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"


def _pattern(text: bytes) -> re.Pattern[bytes]:
    return late(text, re.MULTILINE)


@dataclass(frozen=True)
class Wrapper:
    """A kind of wrapping; `fits` matches once in about each line of it. `sample` is what it makes of the line `x`."""

    fits: re.Pattern[bytes]
    make: Callable[[], Unwrapper]
    sample: bytes


_COLOUR = _pattern(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
_COMPOSE = _pattern(rb"^(?P<channel>\w[\w.-]*) +\|(?: |(?=\r?$))")
_POD = _pattern(rb"^\[pod/(?P<channel>[^\]\s]+)\] ")
_CRI = _pattern(rb"^" + _ISO + rb" (?P<channel>stdout|stderr) (?P<part>[FP])(?::\w+)*(?: |(?=\r?$))")
_STAMPS = _pattern(rb"^" + _ISO + rb"(?: |(?=\r?$))")
_SYSLOG = _pattern(
    rb"^(?:<\d{1,3}>1? ?)?(?:[^\s\d\[:|]{2,24} {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)?|\d{1,2} [^\s\d\[:|]{2,24} \d\d:\d\d:\d\d|"
    + _ISO
    + rb") (?P<channel>[\w.:-]+ [^\s:\[\]]+)(?:\[\d+\])?:(?: |(?=\r?$))"
)
_GREP = _pattern(rb"^(?P<channel>(?:[A-Za-z]:)?(?=\d*+[^\s:\[\]{}\"|\d])[^\s:\[\]{}\"|]++):(?:\d+:)?")
_BRACES = _pattern(rb"^[ \t]*(?:\[[ \t]*)?\{")

WRAPPERS: Mapping[str, Wrapper] = {
    "ansi": Wrapper(_COLOUR, lambda: _Lines(_COLOUR), b"\x1b[32mx\x1b[0m"),
    "json-file": Wrapper(
        _pattern(rb'^\{"log":'), _DockerJson, b'{"log":"x\\n","stream":"stdout","time":"2024-02-29T23:59:59.999Z"}'
    ),
    "json": Wrapper(_BRACES, _Json, b'{"message":"x"}'),
    "cri": Wrapper(_CRI, lambda: _Channels(_CRI), b"2024-02-29T23:59:59.999999999Z stdout F x"),
    "syslog": Wrapper(_SYSLOG, lambda: _Channels(_SYSLOG), b"Feb 29 23:59:59 kafka-03 kafka-server-start.sh[15550]: x"),
    "compose": Wrapper(_COMPOSE, lambda: _Channels(_COMPOSE, strays=True, is_fixed=True), b"kafka  | x"),
    "pod": Wrapper(_POD, lambda: _Channels(_POD, is_fixed=True), b"[pod/kafka-0/kafka] x"),
    "stamps": Wrapper(_STAMPS, lambda: _Lines(_STAMPS), b"2024-02-29T23:59:59.999999999Z x"),
    "grep": Wrapper(_GREP, lambda: _Channels(_GREP), b"broker-3/state-change.log:x"),
}


class _Layer:
    """One wrapper of a chain, over all channels of the one outside of it; keeps what is no whole line yet."""

    def __init__(self, wrapper: Wrapper) -> None:
        self._wrapper = wrapper
        self._inner: dict[str, Unwrapper] = {}
        self._rests: dict[str, list[Text]] = {}

    def feed(self, channel: str, text: Text) -> Iterator[tuple[str, Text]]:
        """Take a text, give what is inside of its whole lines."""
        rests = self._rests.setdefault(channel, [])
        stop = text.data.rfind(b"\n") + 1
        if not stop:
            rests.append(text)
            return
        whole = _joined([*rests, text])
        stop += len(whole.data) - len(text.data)
        behind = whole.places.after(stop)
        rests[:] = [Text(whole.data[stop:], behind)] if len(behind.begins) else []
        yield from self._unwrap(channel, _until(whole, stop), last=False)

    def end(self) -> Iterator[tuple[str, Text]]:
        """What is left at the end of the stream."""
        for channel, rests in self._rests.items():
            yield from self._unwrap(channel, _joined(rests), last=True)

    def _unwrap(self, channel: str, text: Text, last: bool) -> Iterator[tuple[str, Text]]:
        inner = self._inner.get(channel)
        if inner is None:
            inner = self._inner[channel] = self._wrapper.make()
        if not text.data and len(text.places.begins):  # bytes that were no text
            yield channel, text
            text = Text(b"", NO_PLACES)
        for name, some in inner.feed(text, last):
            yield "/".join(filter(None, (channel, name))), some


def _joined(texts: list[Text]) -> Text:
    places = NO_PLACES
    for text in texts:
        places = places.plus(text.places)
    return Text(b"".join([text.data for text in texts]), places)


def _until(text: Text, stop: int) -> Text:
    """The text before a position."""
    if stop == len(text.data):
        return text
    places = text.places
    (piece,), (inside,) = places.within(np.array([stop]))
    keep = piece + 1 if places.begins[piece] < stop else piece
    sizes = places.sizes[:keep].copy()
    if keep > piece:
        sizes[-1] = inside
    return _text(text.data[:stop], places.begins[:keep], places.lines[:keep], places.offsets[:keep], sizes)


def unwrapped(stream: BinaryIO, encoding: str, wrapper: str, block: int) -> Iterator[tuple[str, Text]]:
    """The texts in a stream by channel; `wrapper` names the layers from the outside in, such as `cri/compose`."""
    layers = [_Layer(WRAPPERS[name]) for name in wrapper.split("/") if name]

    def through(channel: str, text: Text, depth: int) -> Iterator[tuple[str, Text]]:
        if depth == len(layers):
            yield channel, text
            return
        for name, inner in layers[depth].feed(channel, text):
            yield from through(name, inner, depth + 1)

    for text in _source(stream, encoding, block):
        yield from through("", text, 0)
    for depth, layer in enumerate(layers):
        for name, inner in layer.end():
            yield from through(name, inner, depth + 1)
