"""JSON values at a place of a text that may end within them, and the paths of the strings in a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from udfs.rules.regex import MANY, late

HOLE = rb"[\0\xef\xbb\xbf]++(?=[\[{])"
"""Regular expression of what a crash, or a file that was put behind another, leaves before a value."""
_scan = json.JSONDecoder().raw_decode
_TO_END = late(r"\s*\Z")
_LIKELY = late(rb'\{\s*+(?:["}]|\Z)|\[|"|-?\d|t|f|n')
_ATOM = late(rb"[\w.+-]*+\Z")


def json_value(data: bytes, begin: int) -> tuple[Any, int | None]:
    """The value at `begin` and where it ends; None as its end if more of it may follow, -1 if it is broken.

    Read from its line or a little of the text at first, for what breaks is counted from the begin of what is read.
    """
    line = data.find(b"\n", begin, begin + 65536) + 1 - begin
    value, size = None, None
    for reach in (line if line > 0 else 4096, 1 << 18, len(data)):
        is_all = begin + reach >= len(data)
        value, size = _value_in(data[begin : begin + reach], is_all)
        if size is not None or is_all:
            break
    return value, size if size is None or size < 0 else begin + size


def _value_in(data: bytes, is_all: bool) -> tuple[Any, int | None]:
    """The same for a text that begins with a value."""
    if not _LIKELY.match(data):
        return None, -1
    if data[:1] not in b'{["' and _ATOM.match(data):
        return None, None  # a number may go on
    characters = data.decode("latin-1")
    try:
        value, end = _scan(characters, 0)
        if "\\u" in characters[:end] or not data[:end].isascii():
            value = json.loads(data[:end].decode("utf-8", "surrogateescape"))
    except json.JSONDecodeError as error:
        is_open = error.msg.startswith("Unterminated") or _TO_END.match(characters, error.pos) is not None
        return None, None if is_open else -1
    except (RecursionError, ValueError):
        return None, -1
    return value, end


_TOKEN = late(r'"((?:[^"\\]|\\.)' + MANY + r')"(\s*:)?|[{}\[\],]|[^\s{}\[\],":]+', re.DOTALL)
Path = tuple[str | int, ...]


def json_strings(text: str) -> Iterator[tuple[Path, str]]:
    """The strings in JSON documents, also of one that is cut, with their paths: keys, and places in lists."""
    path: list[str | int] = []
    for m in _TOKEN.finditer(text):
        token = m[0]
        if token == "{":
            path.append("")
        elif token == "[":
            path.append(0)
        elif token in "}]":
            if path:
                path.pop()
        elif token == ",":
            if path and isinstance(path[-1], int):
                path[-1] += 1
        elif m[2] is not None and path and isinstance(path[-1], str):
            path[-1] = m[1]
        elif token[0] == '"':
            yield tuple(path), m[1]


def is_cut_document(text: bytes) -> bool:
    """Whether a text is the begin of one JSON document that goes on behind it."""
    begin = len(text) - len(text.lstrip(b" \t\r\n["))
    return text[begin : begin + 1] == b"{" and json_value(text, begin)[1] is None
