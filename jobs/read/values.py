"""DuckDB's values as texts, by expressions that DuckDB computes itself: as JSON, and as a cell of a table or of CSV.

Times are ISO 8601 with milliseconds, those of the tables end in `Z`; a null in JSON is null, in a cell it is nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jobs.read.create_views import identifier

if TYPE_CHECKING:
    from duckdb.sqltypes import DuckDBPyType

_TIME_FORMAT = "'%Y-%m-%dT%H:%M:%S.%g'"
_NESTED = {"list", "array", "struct", "map", "union", "variant"}


def json_row(names: Sequence[str], types: Sequence[DuckDBPyType]) -> str:
    """A row as a JSON object."""
    values = (
        f"{identifier(name)} := {_json(type_, identifier(name))}" for name, type_ in zip(names, types, strict=True)
    )
    return f"to_json(struct_pack({', '.join(values)}))::VARCHAR"


def cell(name: str, type_: DuckDBPyType) -> str:
    """A column's value as text, lists and structs as JSON."""
    value = identifier(name)
    if type_.id in _NESTED:
        return f"to_json({_json(type_, value)})::VARCHAR"
    return f"({_time(type_.id, value) or value})::VARCHAR"


def _time(kind: str, value: str) -> str | None:
    """A time as text; None for a value that is none."""
    if kind == "timestamp with time zone":
        return f"strftime({value}, {_TIME_FORMAT}) || 'Z'"
    return f"strftime({value}, {_TIME_FORMAT})" if kind.startswith("timestamp") else None


def _json(type_: DuckDBPyType, value: str, depth: int = 0) -> str:
    """A value as one that `to_json` writes as we want it."""
    kind, inner = type_.id, f"x{depth}"
    if (time := _time(kind, value)) is not None:
        return time
    if kind in ("float", "double"):  # JSON has no infinity
        return f"CASE WHEN isfinite({value}) THEN to_json({value}) ELSE to_json({value}::VARCHAR) END"
    if kind not in ("list", "array", "struct", "map"):
        return value
    # sizes and names among the children are of other kinds
    parts: dict[str, DuckDBPyType] = dict(type_.children)  # type: ignore[arg-type]
    if kind == "struct":
        fields = {name: _json(part, f"{value}.{identifier(name)}", depth + 1) for name, part in parts.items()}
        if all(text == f"{value}.{identifier(name)}" for name, text in fields.items()):
            return value
        packed = ", ".join(f"{identifier(name)} := {text}" for name, text in fields.items())
        return f"CASE WHEN {value} IS NULL THEN NULL ELSE struct_pack({packed}) END"
    if kind == "map":
        element = f"struct_pack(key := {inner}.key, value := {_json(parts['value'], f'{inner}.value', depth + 1)})"
        if element.endswith(f"value := {inner}.value)"):
            return value
        return f"map_from_entries(list_transform(map_entries({value}), lambda {inner}: {element}))"
    element = _json(parts["child"], inner, depth + 1)
    return value if element == inner else f"list_transform({value}, lambda {inner}: {element})"
