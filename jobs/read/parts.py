"""A large table in parts that follow each other in the order of its key: no sort holds more than one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from jobs.read.create_views import duckdb_type, identifier, literal
from schemas.table import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS = 50_000
"""Rows of a part, about."""
_SAMPLED = 200
"""Rows that are looked at to find where a part ends."""


@dataclass
class Parts:
    """Queries with the same columns whose rows follow each other. Each is run when the one before it was read."""

    queries: Sequence[str]
    begun: int = 0

    def __iter__(self) -> Iterator[str]:
        for number, query in enumerate(self.queries):
            self.begun = number
            yield query

    def percent(self, connection: DuckDBPyConnection) -> int:
        """How much was read; of a single query how far DuckDB has come with it."""
        if len(self.queries) == 1:
            return max(0, int(connection.query_progress()))
        return 100 * self.begun // len(self.queries)


def in_order_of_key(connection: DuckDBPyConnection, table: Table, rows: int = ROWS) -> Parts:
    """All rows of a table's view, in the order of its key, in parts of so many rows, about."""
    key = ", ".join(f"{identifier(name)} NULLS FIRST" for name in table.key)
    parts = _conditions(connection, table, rows) if len(table.key) > 2 else ["true"]
    return Parts([f"SELECT * FROM {table.name} WHERE {part} ORDER BY {key}" for part in parts])


def _conditions(connection: DuckDBPyConnection, table: Table, rows: int) -> list[str]:
    """Which rows each part has: a range of the key's second column or, where one value has many rows, of its third."""
    first, second, third = (_KeyColumn(table, name) for name in table.key[:3])
    groups = connection.execute(
        f"SELECT {first}::VARCHAR, {second}::VARCHAR, count(*) FROM {table.name} GROUP BY {first}, {second}"
        f" ORDER BY {first} NULLS FIRST, {second} NULLS FIRST"
    ).fetchall()
    if sum(count for *_, count in groups) <= rows:
        return ["true"]
    conditions: list[str] = []
    run: list[tuple[str | None, str]] = []  # groups of one part, of the same first value
    size = 0

    def end_part() -> None:
        nonlocal size
        if run:
            conditions.append(f"{first.is_value(run[0][0])} AND {second.between(run[0][1], run[-1][1])}")
        run.clear()
        size = 0

    for one, other, count in groups:
        if other is None or count > rows:
            end_part()
            group = f"{first.is_value(one)} AND {second.is_value(other)}"
            conditions += _split(connection, table, group, third, count, rows)
            continue
        if run and (run[0][0] != one or size + count > rows):
            end_part()
        run.append((one, other))
        size += count
    end_part()
    return conditions


class _KeyColumn:
    """A column of a key as SQL compares it; values are texts."""

    def __init__(self, table: Table, name: str) -> None:
        self._name = identifier(name)
        self._type = duckdb_type(next(field.type for field in table.fields if field.name == name))

    def __str__(self) -> str:
        return self._name

    def value(self, text: str) -> str:
        """A value of this column."""
        return f"CAST({literal(text)} AS {self._type})"

    def is_value(self, text: str | None) -> str:
        return f"{self._name} IS NULL" if text is None else f"{self._name} = {self.value(text)}"

    def between(self, least: str, most: str) -> str:
        return f"{self._name} BETWEEN {self.value(least)} AND {self.value(most)}"


def _split(
    connection: DuckDBPyConnection, table: Table, group: str, column: _KeyColumn, count: int, rows: int
) -> list[str]:
    """A group of rows by ranges of a column, whose ends are values of a sample."""
    parts = -(-count // rows)
    if parts == 1:
        return [group]
    sampled = connection.execute(
        f"SELECT v::VARCHAR FROM (SELECT {column} AS v FROM (SELECT {column} FROM {table.name} WHERE {group})"
        f" USING SAMPLE reservoir({parts * _SAMPLED} ROWS)) WHERE v IS NOT NULL ORDER BY v"
    ).fetchall()
    places = (len(sampled) * number // parts for number in range(1, parts))
    ends = list(dict.fromkeys(sampled[place][0] for place in places)) if sampled else []
    if not ends:
        return [group]
    first = f"{group} AND ({column} < {column.value(ends[0])} OR {column} IS NULL)"
    middle = [
        f"{group} AND {column} >= {column.value(least)} AND {column} < {column.value(most)}"
        for least, most in pairwise(ends)
    ]
    return [first, *middle, f"{group} AND {column} >= {column.value(ends[-1])}"]
