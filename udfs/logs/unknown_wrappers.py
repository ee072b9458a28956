"""Wrappers that are found out by looking where in a text Kafka's lines are, whatever platform put it around them.

Each is a name with its parameters in brackets, from which it can be made again: `csv(,&header&line=2)`. What speaks for
one is not looked at here: `udfs.logs.formats` takes that which shows most records.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from urllib.parse import quote, unquote

from udfs.logs.json_scan import Path, json_strings
from udfs.logs.levels import LEVELS
from udfs.logs.line_order import HardWrapped, NewestFirst, wrap_of
from udfs.logs.line_patterns import FullLevels, PatternLines, pattern_of
from udfs.logs.line_prefixes import SOURCE, Prefixed, Suffixed, prefix_of, prefix_of_unknown, suffix_of
from udfs.logs.loggers import LOGGER_NAME
from udfs.logs.row_fields import Row, RowFields, fields_of
from udfs.logs.rows import Delimited, JournalExport, JsonRows, RowReader, Rows, RubyHashes, rows_in
from udfs.logs.time_texts import ZoneOfLines

Unwrapper = Rows | Prefixed | Suffixed | PatternLines | FullLevels | NewestFirst | HardWrapped
LOOKED_AT = 64 << 10
"""Bytes of a text that are looked at."""
_ROWS = 200
_SAFE = " @$:;*[]{}<>!?#|\\^~+'\",=-"
_PREFIXES: Mapping[str, Callable[[], ZoneOfLines] | None] = {
    "prefix": None, "prefix-zoned": ZoneOfLines, "prefix-alone": partial(ZoneOfLines, alone=True)
}  # fmt: skip
_DELIMITERS = (",", ";", "\t", "|")


# ---- by name --------------------------------------------------------------------------------------------------------
def unwrapper(kind: str, parameters: str) -> Unwrapper:
    """The unwrapper of a name. Raises ValueError if there is none."""
    if kind in ("csv", "json-rows", "ruby", "export"):
        reader, _, fields = parameters.partition("&&")
        return Rows(_reader(kind, reader), RowFields.named(fields))
    text = parameters.replace("~1", "/").replace("~0", "~")
    if kind in _PREFIXES:
        pattern = re.compile(text.encode("utf-8", "surrogateescape"), re.MULTILINE)
        return Prefixed(pattern, text.endswith('"'), _PREFIXES[kind])
    if kind == "suffix":
        return Suffixed(re.compile(text.encode("utf-8", "surrogateescape") + rb"(?=\r?$)", re.MULTILINE))
    if kind == "layout":
        return PatternLines(text)
    if kind == "levels":
        return FullLevels(text)
    if kind == "newest-first":
        return NewestFirst(text)
    if kind == "wrapped":
        width, _, how = text.partition(",")
        return HardWrapped(int(width), how)
    raise ValueError(f"{kind!r} is no wrapper")


def _reader(kind: str, text: str) -> RowReader:
    if kind == "csv":
        delimiter, *flags = text.split("&")
        return Delimited(unquote(delimiter), "escapes" in flags, "header" in flags)
    if kind == "json-rows":
        return JsonRows(tuple(unquote(key) for key in text.split(">") if key))
    return JournalExport() if kind == "export" else RubyHashes()


def _name(kind: str, text: str) -> str:
    return f"{kind}({text.replace('~', '~0').replace('/', '~1')})"


# ---- found out ------------------------------------------------------------------------------------------------------
def names_for(text: bytes) -> Iterator[str]:
    """The names of what may be around the lines of a text."""
    some = text[:LOOKED_AT]
    yield from _json(some)
    if b"__REALTIME_TIMESTAMP=" in some[:4096]:
        yield from _of_rows("export", "", rows_in(JournalExport(), some, _ROWS))
    if b"=>" in some:
        yield from _of_rows("ruby", "", rows_in(RubyHashes(), some, _ROWS))
    wrap = name_of_wrap(some)
    if wrap is not None:
        yield wrap
    suffix = suffix_of(some)
    if suffix:
        yield _name("suffix", suffix)
    yield from _tables(some, quoted=True)
    for find in (prefix_of, prefix_of_unknown):
        if prefix := find(some):
            yield _name("prefix", prefix)
    yield from _tables(some, quoted=False)
    yield from (_name("layout", pattern) for pattern in pattern_of(some))


def name_of_source(text: bytes) -> str | None:
    """The name of what takes files and lines of code off behind loggers (log4j's `(%c) (%F:%L)`); None if there are
    none.
    """
    return _name("suffix", SOURCE) if suffix_of(text) == SOURCE else None


def name_of_wrap(text: bytes) -> str | None:
    """The name of what joins lines that were cut to a width; None if they do not look so."""
    wrap = wrap_of(text)
    return None if wrap is None else f"wrapped({wrap})"


def _of_rows(kind: str, reader: str, rows: Sequence[Row]) -> Iterator[str]:
    for fields in fields_of(rows):
        parts = (fields.at, fields.level, fields.logger, fields.message) if fields.line is None else ()
        if not any(_IN_LIST.search(path) for path in parts if path):  # of several records it would be the first
            yield f"{kind}({reader}&&{fields.name})"


_IN_LIST = re.compile(r"\.\d+(?:\.|$)")


def _json(text: bytes) -> Iterator[str]:
    """JSON documents, by the places of strings that name Kafka's loggers."""
    if not re.match(rb"[\s\x1e]*[\[{]", text):
        return
    paths: Counter[tuple[str, ...]] = Counter()
    of_levels: Counter[tuple[str, ...]] = Counter()
    for path, string in json_strings(text.decode("utf-8", "surrogateescape")):
        if LOGGER_NAME.search(string):
            paths[_row_path(path)] += 1
        elif string.upper() in LEVELS:
            of_levels[_row_path(path)] += 1
    for outer, _ in paths.most_common(2):
        records = [path for path, _ in of_levels.most_common(2) if path != outer and path[: len(outer)] == outer]
        for row_path in (*records, outer):  # a logger may stand before a list of its records
            rows = rows_in(JsonRows(row_path), text, _ROWS)
            reader = ">".join(quote(key, safe=_SAFE.replace(">", "")) for key in row_path)
            yield from _of_rows("json-rows", reader, rows)


def _row_path(path: Path) -> tuple[str, ...]:
    """The path of the innermost thing in a list that holds the string at `path`."""
    keys = tuple("*" if isinstance(key, int) else key for key in path)
    places = [i for i, key in enumerate(path) if isinstance(key, int)]
    if not places:
        return ()
    last = places[-1]
    if last == len(path) - 1 and len(places) > 1 and places[-2] == last - 1:
        last = places[-2]  # a list of values in a list of such
    elif last == len(path) - 2 and path[-1] in ("value", "Value") and len(places) > 1:
        last = places[-2]  # a list of pairs of names and values
    return keys[: last + 1]


def _tables(text: bytes, quoted: bool) -> Iterator[str]:
    """Tables with a delimiter, with or without names of columns; of those without quotes only such as look like one."""
    first = text.split(b"\n", 1)[0]
    for delimiter in _DELIMITERS:
        is_quoted = re.search(rb'(?:^|\n|%s)"' % re.escape(delimiter).encode(), text) is not None
        if is_quoted != quoted or (delimiter.encode() not in first and not (delimiter == "," and is_quoted)):
            continue
        for escapes in (False, True) if b'\\"' in text else (False,):
            rows = rows_in(Delimited(delimiter, escapes, False), text, _ROWS + 1)
            has_header = bool(rows) and all(map(_COLUMN_NAME.fullmatch, rows[0].values()))
            widths = Counter(len(row) for row in rows[has_header:])
            if not widths or widths.most_common(1)[0][1] * 2 < len(rows) - 1:
                continue
            if not is_quoted and not has_header and delimiter != "\t":
                continue
            flags = ("&escapes" if escapes else "") + ("&header" if has_header else "")
            names = rows[0] if has_header else {}
            for fields in fields_of([_renamed(row, names) for row in rows[has_header:]]):
                yield f"csv({quote(delimiter, safe=',;|')}{flags}&&{_numbered(fields).name})"


_COLUMN_NAME = re.compile(r"(?!\d+$)[\w@#$%*./:()\[\] -]{1,80}(?<!\d:\d\d)")


def _renamed(row: Row, names: Row) -> Row:
    """Cells by name and number of their column, for names tell what a column may be."""
    return {f"{names.get(number, '')}#{number}": cell for number, cell in row.items()}


def _numbered(fields: RowFields) -> RowFields:
    """The same with columns by their numbers alone."""

    def number(path: str | None) -> str | None:
        return path if path is None else path.rpartition("#")[2]

    return RowFields(
        number(fields.line),
        number(fields.at),
        number(fields.level),
        number(fields.logger),
        number(fields.message),
        number(fields.trace),
        tuple(path.rpartition("#")[2] for path in fields.channels),
    )
