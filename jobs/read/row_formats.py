"""Rows of a query as text: table, CSV, JSON, JSON lines, Markdown; and as a Parquet file. Rows come in batches."""

from __future__ import annotations

import csv
import errno
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from jobs.read.create_views import literal
from jobs.read.parts import Parts
from jobs.read.values import cell, json_row
from udfs.printable import printable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from duckdb.sqltypes import DuckDBPyType

TEXT_FORMATS = ("table", "csv", "json", "jsonl", "markdown")
FORMATS = (*TEXT_FORMATS, "parquet")
LIMIT = 100
"""Rows of a table on the screen, if nothing else is asked for."""
BATCH = 2000
GROUP = 20_480
"""Rows of a row group of a Parquet file; one is held in memory."""
NARROW = 8
"""A table whose columns would be narrower than that on the terminal shows each row as a block of lines instead."""
Cells = Sequence[str | None]


@dataclass(frozen=True)
class Shape:
    """How rows are shown: the format, how many rows at most (None: all), and the terminal's width if they go to one."""

    form: str
    limit: int | None = None
    width: int | None = None


def text_of(connection: DuckDBPyConnection, parts: Parts, shape: Shape) -> Iterator[str]:
    """Rows of checked queries as pieces of text; the first has begun at the first piece, so that it is known to run."""
    query = parts.queries[0]
    if query.lstrip()[:7].lower() == "explain":
        plans = connection.execute(query).fetchall()
        yield from (f"{plan}\n" for _, plan in plans)
        return
    names, types = columns(connection, query)
    limit = f" LIMIT {shape.limit + 1}" if shape.limit is not None else ""
    if shape.form in ("json", "jsonl"):
        shown = json_row(names, types)
    else:
        shown = ", ".join(cell(name, type_) for name, type_ in zip(names, types, strict=True))
    rows = _rows(connection, (f"SELECT {shown} FROM ({part}\n) AS q{limit}" for part in parts))
    safe = printable if shape.width is not None else str
    yield from _WRITERS[shape.form](names, rows, shape, safe)


def columns(connection: DuckDBPyConnection, query: str) -> tuple[list[str], list[DuckDBPyType]]:
    """Names and types of a query's columns; it is understood, but not run."""
    described = connection.execute(f"SELECT * FROM ({query}\n) AS q LIMIT 0").description or []
    return [column[0] for column in described], [column[1] for column in described]


def write_parquet(connection: DuckDBPyConnection, parts: Parts, path: str, limit: int | None = None) -> None:
    """Rows of checked queries as a Parquet file, which is written where the path points. Raises OSError."""
    columns(connection, parts.queries[0])  # a query that cannot be understood leaves the file alone
    if len(parts.queries) == 1:
        limited = f"SELECT * FROM ({parts.queries[0]}\n) AS q" + (f" LIMIT {limit}" if limit is not None else "")
        _copy(connection, limited, path)
        return
    _write_parts(connection, parts, path)


def _write_parts(connection: DuckDBPyConnection, parts: Parts, path: str) -> None:
    """Each part as row groups of a Parquet file. DuckDB's writer takes more memory the more rows there are."""
    import pyarrow.parquet as pq

    schema = connection.sql(f"SELECT * FROM ({parts.queries[0]}\n) AS q LIMIT 0").to_arrow_reader(1).schema
    with open(path, "wb") as file, pq.ParquetWriter(file, schema) as writer:
        for part in parts:
            for batch in connection.sql(part).to_arrow_reader(GROUP):
                writer.write_batch(batch)


def _copy(connection: DuckDBPyConnection, query: str, path: str) -> None:
    import duckdb

    options = f"FORMAT parquet, USE_TMP_FILE false, ROW_GROUP_SIZE {GROUP}"
    try:
        connection.execute(f"COPY ({query}) TO {literal(path)} ({options})")
    except duckdb.IOException as error:
        if path not in str(error):
            raise
        reason = re.search(r'"errno":"(\d+)"', str(error))
        number = int(reason[1]) if reason else errno.EIO
        raise OSError(number, os.strerror(number), path) from None


def _rows(connection: DuckDBPyConnection, queries: Iterable[str]) -> Iterator[Cells]:
    """Rows, a batch at a time: DuckDB computes no more than is fetched."""
    for query in queries:
        result = connection.execute(query)
        while batch := result.fetchmany(BATCH):
            yield from batch


# ---- formats --------------------------------------------------------------------------------------------------------
def _csv(names: list[str], rows: Iterator[Cells], shape: Shape, safe: Callable[[str], str]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([_no_formula(safe(name)) for name in names])
    for row in islice(rows, shape.limit):
        writer.writerow(["" if value is None else _no_formula(safe(value)) for value in row])
        if buffer.tell() > 1 << 16:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf|nan)", re.IGNORECASE)


def _no_formula(cell: str) -> str:
    """A cell that a spreadsheet takes for text: logs are written by anybody who can make a topic or a client id.

    >>> _no_formula("=cmd|' /C calc'!A0"), _no_formula("-5"), _no_formula("-x"), _no_formula("pay-in")
    ("'=cmd|' /C calc'!A0", '-5', "'-x", 'pay-in')
    """
    is_formula = cell.startswith(("=", "+", "-", "@", "\t", "\r")) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def _jsonl(names: list[str], rows: Iterator[Cells], shape: Shape, safe: Callable[[str], str]) -> Iterator[str]:
    for (row,) in islice(rows, shape.limit):
        yield f"{safe(str(row))}\n"


def _json(names: list[str], rows: Iterator[Cells], shape: Shape, safe: Callable[[str], str]) -> Iterator[str]:
    before = "["
    for (row,) in islice(rows, shape.limit):
        yield f"{before}\n  {safe(str(row))}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


def _markdown(names: list[str], rows: Iterator[Cells], shape: Shape, safe: Callable[[str], str]) -> Iterator[str]:
    def line(values: Sequence[str | None]) -> str:
        return "| " + " | ".join(_in_table(value).replace("|", "\\|") for value in values) + " |\n"

    yield line(names) + "|" + " --- |" * len(names) + "\n"
    yield from map(line, islice(rows, shape.limit))
    if next(rows, None) is not None:
        yield f"\n--limit {shape.limit} cut the rest.\n"


def _table(names: list[str], rows: Iterator[Cells], shape: Shape, safe: Callable[[str], str]) -> Iterator[str]:
    """An aligned table that fits the terminal's width; a last line has the number of rows, or that there are more."""
    read = [[_in_table(value) for value in row] for row in rows]
    cells, more = read[: shape.limit], shape.limit is not None and len(read) > shape.limit
    heads = [_in_table(name) for name in names]
    widths = [max([len(head), *(len(row[i]) for row in cells)]) for i, head in enumerate(heads)]
    fitted = fit(widths, shape.width)
    if fitted is None:
        yield from _blocks(heads, cells, shape.width or 80)
    else:
        for row in [heads, *cells]:
            yield "  ".join(_cut(v, w).ljust(w) for v, w in zip(row, fitted, strict=True)).rstrip() + "\n"
    count = "1 row" if len(cells) == 1 else f"{len(cells)} rows"
    yield f"({count}{f'; --limit {shape.limit} cut the rest' if more else ''})\n"


def fit(widths: Sequence[int], width: int | None) -> list[int] | None:
    """Widths of columns, two blanks apart, that fit a terminal: the widest give way. None if they were too narrow.

    >>> fit([5, 40, 60], 50)
    [5, 20, 21]
    """
    if width is None:
        return list(widths)
    room = width - 2 * (len(widths) - 1)
    if room < sum(min(w, NARROW) for w in widths):
        return None
    least, most = NARROW, max([NARROW, *widths])
    while least < most:  # the widest width at which all fit
        middle = (least + most + 1) // 2
        least, most = (middle, most) if sum(min(w, middle) for w in widths) <= room else (least, middle - 1)
    fitted = [min(w, least) for w in widths]
    for i in reversed(range(len(widths))):
        fitted[i] += min(widths[i] - fitted[i], max(0, room - sum(fitted)))
    return fitted


def _blocks(heads: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Each row as lines `column  value`: more columns than a table fits."""
    room = max(map(len, heads))
    for number, row in enumerate(cells, 1):
        yield f"row {number}\n"
        for head, value in zip(heads, row, strict=True):
            yield f"  {head.ljust(room)}  {_cut(value, max(NARROW, width - room - 4))}".rstrip() + "\n"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _in_table(value: Any) -> str:
    """A cell on one line: nothing for null, control characters as escapes."""
    return "" if value is None else printable(value)


_WRITERS: dict[str, Callable[[list[str], Iterator[Cells], Shape, Callable[[str], str]], Iterator[str]]] = {
    "table": _table,
    "csv": _csv,
    "json": _json,
    "jsonl": _jsonl,
    "markdown": _markdown,
}
