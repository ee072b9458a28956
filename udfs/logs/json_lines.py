"""JSON around log lines: Docker's json-file, and objects of log shippers, several a line or one over several lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from udfs.logs.arrays import Longs
from udfs.logs.channel_text import NO_POSITIONS, ChannelText, Unit, channel_text, line_begins, texts_of_units
from udfs.logs.json_scan import HOLE, json_value
from udfs.logs.layouts import GLUE
from udfs.logs.loggers import full_logger
from udfs.logs.time_texts import ZoneOfLines
from udfs.rules.regex import MANY_BYTES, late

OPEN_OBJECT = 8 << 20
"""Bytes after which a JSON object that has not ended is taken for text that only begins like one."""
_STRING = rb'"((?:[^"\\\n]++|\\.)' + MANY_BYTES + rb')"'
_DOCKER = late(rb'^\{"log":' + _STRING + rb',"stream":"(\w+)"[^\n]*\}\r?$', re.MULTILINE)


class DockerJson:
    """Docker's json-file: an object a line, whose `log` is a line, or a part of one if it has no line end."""

    def feed(self, text: ChannelText, last: bool) -> Iterator[tuple[str, ChannelText]]:
        """The lines by `stream`."""
        data = text.data
        if not data:
            return
        begins = line_begins(data)
        lines, offsets, sizes = text.places.regrouped(begins)
        matches = _DOCKER.findall(data)
        logs: list[bytes]
        if len(matches) == len(begins):
            logs, streams = [log for log, _ in matches], [stream for _, stream in matches]
        else:
            ends = [*begins[1:].tolist(), len(data)]
            pairs = [self._line(data[begin:end]) for begin, end in zip(begins.tolist(), ends, strict=True)]
            logs, streams = [log for log, _ in pairs], [stream for _, stream in pairs]
        for channel in sorted(set(streams)):
            mine = [i for i, stream in enumerate(streams) if stream == channel]
            some = [logs[i] for i in mine]
            bare, lengths = _unescaped(some)
            yield (
                channel.decode(),
                channel_text(bare, np.cumsum(lengths) - lengths, lines[mine], offsets[mine], sizes[mine]),
            )

    @staticmethod
    def _line(line: bytes) -> tuple[bytes, bytes]:
        """Escaped text and stream of one line; of one that is no such object, the line and no stream."""
        bare = line.lstrip(GLUE)  # a crash left a hole before it
        if m := _DOCKER.match(bare):
            return m[1], m[2]
        if not bare.startswith(b"{"):
            return json.dumps(line.decode("utf-8", "surrogateescape"))[1:-1].encode(), b""
        try:
            event = json.loads(bare)
            log, stream = event["log"], event.get("stream", "")
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
    """Bytes of a text from JSON; halves of surrogate pairs as they are."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


class JsonObjects:
    """JSON objects, one or several a line or over several lines: log events, or envelopes around lines.

    `zone`: lines have local times of their own, and the objects tell in which zone.
    """

    def __init__(self, zone: ZoneOfLines | None = None) -> None:
        self._rest = ChannelText(b"", NO_POSITIONS)
        self._zone = zone

    def feed(self, text: ChannelText, last: bool) -> Iterator[tuple[str, ChannelText]]:
        """Each object's text, by the file that it names. What is no object stays as it is."""
        data = self._rest.data + text.data
        places = self._rest.places.plus(text.places)
        units: list[Unit] = []
        position = 0
        while position < len(data):
            lead = _LEAD.match(data, position)
            opening = lead.end() if lead else position
            begin = data.rfind(b"\n", position, opening) + 1
            if begin > position:  # lines that are empty, or only begin or end a list
                units.append((position, None, b""))
                position = begin
            if opening == len(data) or data[opening] != 0x7B:  # a line that is no object
                stop = data.find(b"\n", position) + 1 or len(data)
                if stop > position:
                    units.append((position, "", data[position:stop]))
                position = stop
                continue
            event, end = _object(data, opening)
            if end is None and not last and len(data) - position < OPEN_OBJECT:
                break
            if event is None or end is None:
                end = data.find(b"\n", position) + 1 or len(data)
                units.append((position, "", data[position:end]))
            else:
                while end < len(data) and data[end] in _BETWEEN and data[end - 1] != 10:
                    end += 1
                channel, some = rendered(event)
                if self._zone is not None and (at := _time(event)):
                    some = self._zone.with_offset(some, at)
                units.append((position, channel, some))
            position = end
        self._rest = ChannelText(data[position:], places.after(position))
        yield from texts_of_units(units, places, position)


_LEAD = late(rb"(?:[\s,\[\]]|" + HOLE + rb")*+")
_BETWEEN = b" \t\r\n,[]"


def _object(data: bytes, begin: int) -> tuple[dict[str, Any] | None, int | None]:
    """The JSON object at `begin` and where it ends; no object if it is broken, no end if more of it may follow."""
    event, end = json_value(data, begin)
    if end is None:
        return None, None
    return (event, end) if end > 0 and isinstance(event, dict) else (None, begin + 1)


def _first(event: Mapping[str, Any], *paths: str) -> Any:
    """The first of some values that is there; `a.b` is a key, or a key in an object."""
    for path in paths:
        if path in event:
            return event[path]
        if "." in path:
            outer, _, inner = path.partition(".")
            if isinstance(event.get(outer), dict):
                value = _first(event[outer], inner)
                if value is not None:
                    return value
    return None


def goes_on(row: Mapping[str, Any], prefix: str = "") -> bool:
    """Whether a row, whose fields' names begin with `prefix`, is a part of a line that the next one goes on with, as
    collectors have them of what containers write: CRI's tag, and Docker's drivers for fluentd and journald.

    >>> goes_on({"log": "[2024-02-29", "logtag": "P"}), goes_on({"log": "x", "logtag": "F"}), goes_on({"log": "x"})
    (True, False, False)
    >>> [goes_on({"partial_message": "true", "partial_last": last}) for last in ("false", "true")]
    [True, False]
    """
    if row.get(f"{prefix}logtag") == "P" or row.get(f"{prefix}_p") == "P":
        return True
    for is_part, is_last in _PARTS:
        if _is_true(row.get(prefix + is_part)):
            return not _is_true(row.get(prefix + is_last))
    return False


_PARTS = (("partial_message", "partial_last"), ("CONTAINER_PARTIAL_MESSAGE", "CONTAINER_PARTIAL_LAST"))


def _is_true(value: object) -> bool:
    return value is True or value == "true"


def rendered(event: Mapping[str, Any]) -> tuple[str, bytes]:
    """Channel and text of a JSON object: its text if that is all it has, else a line in Apache's layout.

    >>> rendered({"time": "2024-02-29 23:59:59", "level": "INFO", "logger": "a.B", "message": "x\\n y"})
    ('', b'[2024-02-29 23:59:59] INFO x (a.B)\\n y\\n')
    """
    channel = _first(event, "log.file.path", "source", "kubernetes.pod.name", "kubernetes.pod_name", "container_name")
    host = _first(event, "host.name")
    name = "/".join(text for text in (host, channel) if isinstance(text, str))
    message = _first(event, "message", "log", "msg", "MESSAGE", "text", "log.message")
    if isinstance(message, list) and all(type(part) is int and -128 <= part < 256 for part in message):
        message = bytes(part & 255 for part in message).decode("utf-8", "surrogateescape")  # as journald writes tabs
    text = message if isinstance(message, str) else json.dumps(message if message is not None else event)
    level = _first(event, "level", "log.level", "severity", "levelname", "priority")
    if goes_on(event):
        return name, _utf8(text.rstrip("\r\n"))
    if level is None:
        return name, _utf8(text if text.endswith("\n") else text + "\n")
    logger = _first(event, "logger", "logger_name", "loggerName", "log.logger", "loggerFqcn", "category", "class")
    at = _time(event)
    is_line = _LINE(text) if isinstance(logger, str) else _STAMPED(text)
    if isinstance(level, str) and level.strip().isalpha() and at and not is_line:
        first, *more = text.rstrip("\r\n").split("\n")
        named = f" ({_full(logger, first)})" if isinstance(logger, str) else ""
        traces = ("stack_trace", "thrown.extendedStackTrace", "thrown", "throwable", "exception.stacktrace",
                  "exception", "error.stack_trace", "stacktrace", "stack")  # fmt: skip
        trace = _first(event, *traces) or (trace_among(event, text) if named else None)
        if isinstance(trace, list):
            trace = "\n".join(map(str, trace))
        if trace:
            more += (trace if isinstance(trace, str) else json.dumps(trace)).rstrip("\r\n").split("\n")
        line = f"[{at}] {level.strip().upper()} {first.rstrip(chr(13))}{named}"
        return name, _utf8("\n".join([line, *more, ""]))
    return name, _utf8(text if text.endswith("\n") else text + "\n")


def trace_among(values: Mapping[str, Any], message: str, depth: int = 4) -> str | None:
    """The stack trace among some values, whatever it is called, without its first line if that has the message; None if
    there is none, or if the message has it.
    """
    if "\n" in message and FRAMES.search(message):
        return None
    for value in values.values():
        if depth and isinstance(value, dict) and (inner := trace_among(value, message, depth - 1)):
            return inner
        if isinstance(value, str) and "\n" in value and FRAMES.search(value):
            first, _, rest = value.partition("\n")
            if message and message.split("\n", 1)[0] in first:
                return rest
            if not _STAMPED(first):  # else it is a line of its own
                return value
    return None


FRAMES = late(r"(?m)^\s+at [\w.$/<>]+\(")
"""A stack trace's calls."""


def _full(logger: str, message: str) -> str:
    """A logger as it is named in the code, see `full_logger`."""
    return full_logger(_utf8(logger), _utf8(message)).decode("utf-8", "surrogateescape")


_STAMP = r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"
_STAMPED = re.compile(_STAMP).match
_LINE = re.compile(_STAMP + r".{0,150}?\b(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b").match
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _time(event: Mapping[str, Any]) -> str:
    """The time that an event gives; numbers are seconds or milliseconds since 1970. Empty if it gives none."""
    millis: int | float
    seconds = _first(event, "instant.epochSecond")
    nanos = _first(event, "instant.nanoOfSecond")
    if isinstance(seconds, int):
        millis = seconds * 1000 + (nanos // 1_000_000 if isinstance(nanos, int) else 0)
    else:
        at = _first(event, "timeMillis", "epochMillis", "timestamp", "@timestamp", "time", "ts", "asctime", "datetime")
        if isinstance(at, str):
            return at.strip() if _STAMPED(at.strip()) else ""
        if isinstance(at, bool) or not isinstance(at, int | float):
            return ""
        millis = at * 1000 if abs(at) < 1e11 else at
    try:
        return (_EPOCH + timedelta(milliseconds=int(millis))).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    except (OverflowError, ValueError):
        return ""
