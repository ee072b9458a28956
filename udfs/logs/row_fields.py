"""Rows of exports as lines: which of their fields holds Kafka's line, found out by looking at what is in them.

Either one field has the whole line, as it was printed, or time, level, logger and message are fields of their own; then
they are put together as a line of Apache's layout. What a platform calls its fields does not matter, but for whose
output a row is: names help to tell a host or a file from other texts that are the same in many rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote

from udfs.logs.json_lines import FRAMES, goes_on, trace_among
from udfs.logs.levels import LEVELS
from udfs.logs.loggers import LOGGER_NAME, full_logger
from udfs.logs.time_texts import ZoneOfLines, stamp
from udfs.rules.regex import late

Row = Mapping[str, Any]
"""Values by path: `a.b` for a key in an object, `a.0` for a place in a list; a value that is all of it has no path."""

_SAFE = " @$:;*[]{}<>!?#|\\^~+'\""
_DEEP = 12
_LONG = 64
MOST_FIELDS = 400


def flattened(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The scalars in a value by their paths. Lists of bytes are texts; pairs such as `{field, value}` name a field."""
    if isinstance(value, dict) and depth < _DEEP:
        for key, inner in value.items():
            yield from flattened(inner, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list) and depth < _DEEP:
        if value and all(type(part) is int and -128 <= part < 256 for part in value):
            yield path, bytes(part & 255 for part in value).decode("utf-8", "surrogateescape")
            return
        for i, part in enumerate(value[:_LONG]):
            keys = {key.lower() for key in part} if isinstance(part, dict) else set()
            if len(keys) == 2 and "value" in keys and keys & {"field", "name", "key"}:
                name = next(v for key, v in part.items() if key.lower() != "value")
                inner = next(v for key, v in part.items() if key.lower() == "value")
                yield f"{path}.{name}" if path else str(name), inner
            else:
                yield from flattened(part, f"{path}.{i}" if path else str(i), depth + 1)
    elif value is not None and not isinstance(value, dict | list):
        yield path, value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True)
class RowFields:
    """Which fields of a row are what; None: there is none. `line` has all of it, else the others are put together.

    `channels`: fields that say whose output the row is. `parts`: lines may be in parts, and bring their own line ends.
    `zoned`: the line's own time is local, and `at` says in which zone; `alone`: each line for itself.
    """

    line: str | None = None
    at: str | None = None
    level: str | None = None
    logger: str | None = None
    message: str | None = None
    trace: str | None = None
    channels: tuple[str, ...] = ()
    parts: bool = False
    zoned: bool = False
    alone: bool = False

    @cached_property
    def _zone(self) -> ZoneOfLines:
        return ZoneOfLines(self.alone)

    @cached_property
    def _prefix(self) -> str:
        """How the names of the fields begin that stand beside the line."""
        outer, dot, _ = (self.line or "").rpartition(".")
        return outer + dot

    @property
    def name(self) -> str:
        """A text that `named` reads."""
        one = (("line", self.line), ("at", self.at), ("level", self.level), ("logger", self.logger),
               ("message", self.message), ("trace", self.trace))  # fmt: skip
        pairs = [(name, path) for name, path in one if path is not None] + [("from", path) for path in self.channels]
        flags = [name for name in ("parts", "zoned", "alone") if getattr(self, name)]
        return "&".join([*(f"{name}={quote(path, safe=_SAFE)}" for name, path in pairs), *flags])

    @classmethod
    def named(cls, name: str) -> RowFields:
        """The fields of that name. Raises ValueError for what is none."""
        paths: dict[str, Any] = {}
        channels: list[str] = []
        for part in name.split("&"):
            key, equals, path = part.partition("=")
            if key == "from" and equals:
                channels.append(unquote(path))
            elif key in ("line", "at", "level", "logger", "message", "trace") and equals:
                paths[key] = unquote(path)
            elif key in ("parts", "zoned", "alone") and not equals:
                paths[key] = True
            else:
                raise ValueError(f"{part!r} is no field of a row; expected one such as 'line=message'")
        return cls(**paths, channels=tuple(channels))

    def text(self, row: Row) -> tuple[str, bytes]:
        """Channel and lines of a row; no text if it has no such field."""
        channel = "/".join(_text(row[path]).strip("/") for path in self.channels if path in row)
        if self.line is not None:
            lines = _encoded(_text(row[self.line])) if self.line in row else b""
            if self.zoned and self.at is not None and self.at in row:
                lines = self._zone.with_offset(lines, _text(row[self.at]))
            if goes_on(row, self._prefix):
                return channel, lines.rstrip(b"\r\n")
        else:
            lines = _encoded(self._composed(row))
        return channel, lines if not lines or self.parts or lines.endswith(b"\n") else lines + b"\n"

    def _composed(self, row: Row) -> str:
        """A line in Apache's layout, from fields."""
        assert self.at is not None
        assert self.message is not None
        at = stamp(_text(row.get(self.at, "")))
        message = _text(row.get(self.message, ""))
        level = LEVELS.get(_text(row.get(self.level or "", "")).strip().upper())
        logger = _text(row.get(self.logger or "", "")).strip()
        if at is None or level is None or not logger:
            return message
        first, *more = message.rstrip("\r\n").split("\n")
        trace = row.get(self.trace) if self.trace is not None else trace_among(row, message)
        if trace:
            more += _text(trace).rstrip("\r\n").split("\n")
        return "\n".join([f"[{at}] {level} {first.rstrip(chr(13))} ({spelled_out(logger, first)})", *more, ""])


def spelled_out(logger: str, message: str) -> str:
    """A logger as it is named in the code, see `full_logger`."""
    return full_logger(_encoded(logger), _encoded(message)).decode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


# ---- finding out ----------------------------------------------------------------------------------------------------
_ORIGIN = late(
    r"(?i)pod_?name|log_?stream|hostname|host|instance|computer|node_?name|container_?name|_machine|source_name|pod\b"
    r"|container\b|unit"
)
_FILE = late(r"(?i)file\.?path|filename|file\b|^source$|\bpath\b|log_?file")


def fields_of(rows: Sequence[Row], most: int = 3) -> list[RowFields]:
    """What the fields of some rows may be, the likeliest first; empty if none of them holds what Kafka logs."""
    columns: dict[str, list[str]] = {}
    for row in rows[:MOST_FIELDS]:
        for path, value in row.items():
            columns.setdefault(path, []).append(_text(value))
    names = {path: sum(LOGGER_NAME.search(value) is not None for value in values) for path, values in columns.items()}
    channels = _channels(columns, len(rows))
    at = _time(columns)
    lines = sorted((path for path in names if names[path]), key=lambda p: (-names[p], -sum(map(len, columns[p]))))
    choices = [RowFields(line=path, at=at if at != path else None, channels=channels) for path in lines[:most]]
    composed = _composed(columns, names, at, channels)
    return [*choices, composed] if composed else choices


def _composed(
    columns: Mapping[str, list[str]], names: Mapping[str, int], at: str | None, channels: tuple[str, ...]
) -> RowFields | None:
    """Fields that have to be put together."""
    loggers = [
        path
        for path, values in columns.items()
        if (names[path] or path.lower().rpartition(".")[2] in ("logger", "loggername", "logger_name", "category"))
        and all(re.fullmatch(r"[\w.$-]+", value.strip()) for value in values)
    ]
    levels = [path for path, values in columns.items() if all(value.strip().upper() in LEVELS for value in values)]
    texts = {path: sum(map(len, values)) for path, values in columns.items() if path not in (*loggers, *levels, at)}
    if at is None or not loggers or not levels or not texts:
        return None
    logger = max(loggers, key=lambda path: (names[path], sum(map(len, columns[path]))))
    level = max(levels, key=lambda path: (not columns[path][0].isdigit(), len({*columns[path]})))
    trace = next((path for path, values in columns.items() if path in texts and any(map(FRAMES.search, values))), None)
    likely = [path for path in texts if re.fullmatch(r"(?i).*(message|msg|text|line|body)", path)]
    often = [path for path in likely if len(columns[path]) * 2 >= len(columns[logger])] or [
        path for path in texts if len(columns[path]) * 2 >= len(columns[logger])
    ]
    if not often:
        return None
    message = max(often, key=texts.__getitem__)
    return RowFields(None, at, level, logger, message, trace if trace != message else None, channels)


def _time(columns: Mapping[str, list[str]]) -> str | None:
    """The field that tells the time of most rows, to the millisecond if one does; of several the first."""
    best: tuple[int, int, int] = (0, 0, 0)
    path_of_best = None
    for number, (path, values) in enumerate(columns.items()):
        stamps = [at for at in map(stamp, values[:50]) if at]
        if stamps and len(stamps) * 10 >= 9 * len(values[:50]):
            is_named = bool(re.search(r"(?i)ingest|receiv|index|created|observed|\bid$", path))
            score = (len(values), len({at[20:23] for at in stamps}) > 1, -number - 1000 * is_named)
            if score > best or path_of_best is None:
                best, path_of_best = score, path
    return path_of_best


def _channels(columns: Mapping[str, list[str]], rows: int) -> tuple[str, ...]:
    """The fields that say whose output a row is: a host, pod or stream, and a file."""
    chosen: list[str] = []
    for pattern in (_ORIGIN, _FILE):
        choices = {}
        for path, values in columns.items():
            different = {*values}
            is_name = all(0 < len(value) <= 200 and not re.search(r"\s", value) for value in different)
            often = len(values) * 10 >= 9 * min(rows, MOST_FIELDS)
            if often and is_name and pattern.search(path) and len(different) <= max(1, len(values) // 3):
                choices[path] = len(different)
        if choices:
            chosen.append(max(choices, key=lambda path: choices[path]))
    return tuple(dict.fromkeys(chosen))


def zoned(fields: RowFields) -> RowFields | None:
    """The same with zones from the rows' times; None if they tell none."""
    return replace(fields, zoned=True) if fields.line is not None and fields.at is not None else None
