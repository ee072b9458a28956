"""Rows of exports: tables with a delimiter, JSON of any shape, journald's export format, Ruby's hashes.

A reader takes a text in pieces and gives for each row its values and where it ends. What is no row stays a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from udfs.logs.channel_text import NO_POSITIONS, ChannelText, Unit, texts_of_units
from udfs.logs.json_scan import HOLE, json_value
from udfs.logs.row_fields import Row, RowFields, flattened
from udfs.rules.regex import MANY_BYTES, late

OPEN_ROW = 8 << 20
"""Bytes after which a row that has not ended is taken for text that only begins like one."""


@dataclass(frozen=True)
class RowStep:
    """What is next in a text: where it ends, and a row, or no row but a line of text (`is_line`), or what surrounds
    rows."""

    end: int
    row: Row | None = None
    is_line: bool = False


class RowReader(Protocol):
    """Finds the next row at a position of a text; None if the text ends within it and more may follow."""

    def step(self, data: bytes, position: int, last: bool) -> RowStep | None: ...


class Rows:
    """Takes rows apart and keeps what Kafka logged."""

    def __init__(self, reader: RowReader, fields: RowFields) -> None:
        self._reader, self._fields = reader, fields
        self._rest = ChannelText(b"", NO_POSITIONS)
        self._channel = ""

    def feed(self, text: ChannelText, last: bool) -> Iterator[tuple[str, ChannelText]]:
        """The lines in each row, by the output that the row names. What is no row stays as it is."""
        data, places = self._rest.data + text.data, self._rest.places.plus(text.places)
        units: list[Unit] = []
        position = 0
        while position < len(data):
            step = self._reader.step(data, position, last)
            if step is None:
                if not last and len(data) - position < OPEN_ROW:
                    break
                step = RowStep(line_end(data, position), is_line=True)
            if step.row is not None:
                units.append((position, *self._fields.text(step.row)))
            else:
                units.append((position, None, data[position : step.end] if step.is_line else b""))
            position = step.end
        self._rest = ChannelText(data[position:], places.after(position))
        yield from texts_of_units(units, places, position, self._channel)
        self._channel = next((channel for _, channel, _ in reversed(units) if channel is not None), self._channel)


def line_end(data: bytes, position: int) -> int:
    """Where the line ends, its line end included."""
    return data.find(b"\n", position) + 1 or len(data)


def rows_in(reader: RowReader, data: bytes, most: int) -> list[Row]:
    """The first rows of a text."""
    rows: list[Row] = []
    position = 0
    while position < len(data) and len(rows) < most:
        step = reader.step(data, position, False)
        if step is None:
            break
        if step.row is not None:
            rows.append(step.row)
        position = step.end
    return rows


class Delimited:
    """Rows with a delimiter, fields quoted where they need it (RFC 4180); paths are numbers of columns from 0.

    `escapes`: a quote in a quoted field has a backslash before it, instead of being doubled. `header`: the first row
    has names.
    """

    def __init__(self, delimiter: str, escapes: bool, header: bool) -> None:
        d = re.escape(delimiter).encode()
        inner = rb'(?:[^"\\]|\\.)' if escapes else rb'(?:[^"]|"")'
        inner += MANY_BYTES
        field = rb'(?:[ ]*"' + inner + rb'"[ ]*(?=' + d + rb"|\r?\n|\r?\Z)|(?!\s*+\")[^" + d + rb"\r\n]*+)"
        self._row = re.compile(field + rb"(?:" + d + field + rb")" + MANY_BYTES + rb"\r?(?:\n|\Z)", re.DOTALL)
        self._field = re.compile(field + rb"(?:" + d + rb"|\r?\n|\r?\Z)", re.DOTALL)
        self._escapes, self._is_header, self._delimiter = escapes, header, delimiter.encode()
        self._open = re.compile(rb'[^"\n]*+"', re.DOTALL)

    def step(self, data: bytes, position: int, last: bool) -> RowStep | None:
        """See RowReader."""
        m = self._row.match(data, position)
        if m is None or (m.end() == len(data) and not last and data[-1:] != b"\n"):
            return None if self._may_go_on(data, position, last) else RowStep(line_end(data, position), is_line=True)
        if self._is_header:
            self._is_header = False
            return RowStep(m.end())
        return RowStep(m.end(), dict(enumerate_fields(self.fields(data, position, m.end()))))

    def _may_go_on(self, data: bytes, position: int, last: bool) -> bool:
        if last:
            return False
        return b"\n" not in data[position:] or self._open.match(data, position) is not None

    def fields(self, data: bytes, begin: int, end: int) -> list[str]:
        """The fields of a row."""
        texts = []
        while begin < end:
            m = self._field.match(data, begin, end)
            if m is None or m.end() == begin:
                break
            raw = m[0].rstrip(b"\r\n") if m[0][-1:] == b"\n" else m[0]
            raw = raw.removesuffix(self._delimiter) if m.end() < end else raw.rstrip(b"\r")
            bare = raw.strip(b" ")
            if bare[:1] == b'"' and bare[-1:] == b'"' and len(bare) > 1:
                raw = _unquoted(bare[1:-1], self._escapes)
            texts.append(raw.decode("utf-8", "surrogateescape"))
            begin = m.end()
        return texts


def enumerate_fields(texts: list[str]) -> Iterator[tuple[str, str]]:
    """Fields by their number; empty ones are left out."""
    return ((str(i), text) for i, text in enumerate(texts) if text)


_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


def _unquoted(text: bytes, escapes: bool) -> bytes:
    if not escapes:
        return text.replace(b'""', b'"') if b'""' in text else text
    return re.sub(rb"\\(.)", lambda m: _ESCAPED.get(m[1], m[1]), text, flags=re.DOTALL) if b"\\" in text else text


class JsonRows:
    """Rows at one path of JSON documents, one behind the other; `*` in the path is any place in a list.

    What is around the rows is passed over, but for the scalars that stand before them in the same objects, such as the
    labels of a stream: a row has them, too, by their paths behind a `^`.
    """

    def __init__(self, path: tuple[str, ...]) -> None:
        self._path = path
        self._open: list[tuple[bytes, str]] = []  # kinds of the objects and lists around, and the key in each
        self._around: list[dict[str, Any]] = []

    def step(self, data: bytes, position: int, last: bool) -> RowStep | None:
        """See RowReader."""
        at = _passed(data, position)
        if at == len(data):
            return RowStep(at)
        if data[at] in b"]}":
            if self._open:
                self._open.pop()
                self._around.pop()
            return RowStep(self._behind(data, at + 1))
        if self._open and self._open[-1][0] == b"{":
            m = _KEY.match(data, at)
            if m is None:
                return self._broken(data, at) if _is_whole_line(data, at) else None
            try:
                self._open[-1] = (b"{", json.loads(m[1].decode("utf-8", "surrogateescape")))
            except ValueError:  # an escape that JSON does not have
                return self._broken(data, at)
            at = m.end()
            if at == len(data):
                return None
        path = tuple(key for _, key in self._open)
        kind = data[at : at + 1]
        if path != self._path and kind in b"[{" and kind and path == self._path[: len(path)]:
            self._open.append((kind, "*" if kind == b"[" else ""))
            self._around.append({})
            return RowStep(at + 1)
        value, end = json_value(data, at)
        if end is None:
            return self._broken(data, at) if last else None
        if end < 0:
            return self._broken(data, at)
        if path == self._path:
            around = {f"^{name}": v for outer in self._around for name, v in outer.items()}
            return RowStep(self._behind(data, end), {**around, **dict(flattened(value))})
        if self._open and self._open[-1][0] == b"{":
            self._around[-1].update(flattened(value, self._open[-1][1]))
        return RowStep(end)

    def _behind(self, data: bytes, end: int) -> int:
        """The end of what follows on the same line and means nothing."""
        while end < len(data) and data[end] in b" \t\r\n," and data[end - 1] != 10:
            end += 1
        return end

    def _broken(self, data: bytes, at: int) -> RowStep:
        self._open.clear()
        self._around.clear()
        return RowStep(line_end(data, at), is_line=True)


_BLANK = late(rb"(?:[\s,\x1e]|" + HOLE + rb")*+")
_KEY = late(rb'("(?:[^"\\\n]|\\.)' + MANY_BYTES + rb'")\s*+:\s*+')


def _passed(data: bytes, position: int) -> int:
    m = _BLANK.match(data, position)
    return m.end() if m else position


def _is_whole_line(data: bytes, at: int) -> bool:
    return data.find(b"\n", at) >= 0


class JournalExport:
    """Entries of `journalctl -o export`: a field a line, binary ones with their length; a blank line ends an entry."""

    def step(self, data: bytes, position: int, last: bool) -> RowStep | None:
        """See RowReader."""
        row: dict[str, Any] = {}
        at = position
        while at < len(data):
            end = data.find(b"\n", at)
            if end < 0:
                return RowStep(len(data), row) if last and row else None
            line = data[at:end]
            at = end + 1
            if not line.strip():
                return RowStep(at, row) if row else RowStep(at)
            name, equals, value = line.partition(b"=")
            if not equals:
                size = int.from_bytes(data[at : at + 8], "little")
                if not _NAME.fullmatch(name) or size > OPEN_ROW:
                    return RowStep(at, is_line=True)
                value = data[at + 8 : at + 8 + size]
                at += 8 + size + 1
                if at > len(data) + last:
                    return None
            row[name.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
        return RowStep(len(data), row) if last and row else None


_NAME = late(rb"[A-Z0-9_]+")


class RubyHashes:
    """Hashes as Ruby prints them: Logstash's `rubydebug`, and Fluent Bit's standard output."""

    def step(self, data: bytes, position: int, last: bool) -> RowStep | None:
        """See RowReader."""
        begin = _OPENING.match(data, position)
        if begin is None:
            end = line_end(data, position)
            return RowStep(end, is_line=bool(data[position:end].strip(b" \t\r\n],")))
        depth, parts = 0, []
        at = begin.end() - 1
        while (m := _TOKEN.match(data, at)) is not None:
            at = m.end()
            token = m[0].strip()
            depth += (token in (b"{", b"[")) - (token in (b"}", b"]"))
            parts.append(_json_token(token))
            if depth == 0:
                break
        if depth or m is None:
            return None if not last and at >= len(data) - 64 else RowStep(line_end(data, position), is_line=True)
        try:
            row = dict(flattened(json.loads(b"".join(parts).decode("utf-8", "surrogateescape"), strict=False)))
        except (ValueError, RecursionError):
            return RowStep(line_end(data, position), is_line=True)
        end = line_end(data, at)
        return RowStep(end if not data[at:end].strip(b" \t\r\n],") else at, row)


_OPENING = late(rb"[ \t]*+\{(?=\s*+\"[^\"\n]*+\"\s*=>|\s*+[\"}])")
_TOKEN = late(
    rb'\s*+(?:\[\d+\] (?=["{\[\w])|"(?:[^"\\]|\\.)'
    + MANY_BYTES
    + rb'"|=>|[{}\[\],]|[^\s"{}\[\],=]++(?: [^\s"{}\[\],=]++)'
    + MANY_BYTES
    + rb"|=)",
    re.DOTALL,
)
_RUBY: Mapping[bytes, bytes] = {b"=>": b":", b"nil": b"null", b"true": b"true", b"false": b"false"}
_NUMBER = late(rb"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_ESCAPE = late(rb"\\(.)", re.DOTALL)


def _json_escape(m: re.Match[bytes]) -> bytes:
    if m[1] in b'"\\/bfnrtu':
        return m[0]
    return b"\\u001b" if m[1] == b"e" else m[1]


def _json_token(token: bytes) -> bytes:
    """A token of a hash as JSON has it."""
    if token[:1] == b"[" and len(token) > 1:  # its place in a list
        return b""
    if token[:1] == b'"':
        return _ESCAPE.sub(_json_escape, token) if b"\\" in token else token
    if token in b"{}[]," or _NUMBER.fullmatch(token):
        return token
    return _RUBY.get(token) or json.dumps(token.decode("utf-8", "surrogateescape")).encode()
