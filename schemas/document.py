"""The reference of all tables, made of what is declared here: `python -m schemas.document > docs/tables.md`."""

from __future__ import annotations

from schemas.columns import Field, ListOf, MapOf, Scalar, Struct, Type
from schemas.joins import JOINS, WITH_EVIDENCE, Join
from schemas.table import Table
from schemas.tables import BY_NAME, DERIVED, SOURCES

_INTRODUCTION = """# Tables

Made from `schemas` by `make docs`; the same texts are the column comments of the Delta tables. How to query and export
them: [how-to-query](how-to-query.md).

- **Key**: no two rows of a table share it.
- **Null**: what it means in this column; a column without an entry is never null.
- **Times** are UTC, to the millisecond. In `log_files`, `log_coverage`, `events` and `rejects` they are by the clock of
  the node that wrote the record; in all tables that follow from them by the cluster's reference clock, as far as nodes'
  clocks could be compared ([clocks](clocks.md)); in `runs` by the clock of the machine that made the tables.
- **Units** are in the names: `_ms` milliseconds, `_bytes` bytes. **Types** are named as in Spark and Delta.
"""
_GROUPS = {
    "What the logs contain": [table.name for table in SOURCES],
    "What follows from them": [table.name for table in DERIVED],
    "Runs": ["runs"],
}


def document() -> str:
    """The page, as Markdown."""
    parts = [_INTRODUCTION, _contents()]
    for title, names in _GROUPS.items():
        parts += [f"## {title}\n", *(_section(BY_NAME[name]) for name in names)]
    return "\n".join([*parts, _joins()])


def _contents() -> str:
    rows = [f"| [{name}](#{name}) | {BY_NAME[name].grain} |" for names in _GROUPS.values() for name in names]
    return "\n".join(["| table | one row is |", "| --- | --- |", *rows, "", "[How tables join](#how-tables-join)\n"])


def _section(table: Table) -> str:
    """A table: its grain, key and columns, and the columns of structs in it."""
    head = f"One row is {table.grain}. Key: {_names(table.key)}.\n"
    lines = [f"### {table.name}\n", head, _columns(table.fields)]
    for field in table.fields:
        if inner := _documented(field.type):
            lines += [f"Each element of `{field.name}` has:\n", _columns(inner)]
    return "\n".join(lines)


def _documented(type_: Type) -> tuple[Field, ...]:
    """The values of a list's structs, if they are documented."""
    if isinstance(type_, ListOf) and isinstance(type_.element, Struct) and type_.element.fields[0].doc:
        return type_.element.fields
    return ()


def _columns(fields: tuple[Field, ...]) -> str:
    rows = [
        f"| `{field.name}` | `{type_name(field.type)}` | {_cell(field.doc)} | {_cell(field.null)} |" for field in fields
    ]
    return "\n".join(["| column | type | meaning | null |", "| --- | --- | --- | --- |", *rows, ""])


def type_name(type_: Type) -> str:
    """A type as Spark's SQL writes it; a documented struct as `struct`.

    >>> type_name(MapOf(Scalar("string"), ListOf(Scalar("int"))))
    'map<string, array<int>>'
    """
    match type_:
        case Scalar(name):
            return name
        case ListOf(element):
            return f"array<{type_name(element)}>"
        case MapOf(key, value):
            return f"map<{type_name(key)}, {type_name(value)}>"
        case Struct(fields):
            if fields[0].doc:
                return "struct"
            return f"struct<{', '.join(f'{field.name}: {type_name(field.type)}' for field in fields)}>"


def _joins() -> str:
    rows = [_join(join) for join in JOINS]
    return "\n".join(
        [
            "## How tables join\n",
            "Always on `cluster`, too, if both tables have it. `evidence.file_id` is a value of each element of the",
            "list `evidence`; the view `evidence` of `kafka-rewind sql` has a row for each of them.\n",
            "| columns | of | are | joined rows |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


def _join(join: Join) -> str:
    target = f"{_names(join.target_columns)} of `{join.target}`"
    tables = "all tables with `evidence`" if join.tables == WITH_EVIDENCE else _names(join.tables)
    return f"| {_names(join.columns)} | {tables} | {target} | {_cell(join.rows)} |"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(document(), end="")
