"""The reference of tables is made from schemas, and the joins it names are possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.columns import ListOf, Struct, Type
from schemas.document import document
from schemas.joins import JOINS, Join
from schemas.table import Table
from schemas.tables import BY_NAME

ROOT = Path(__file__).resolve().parents[1]


def test_the_page_is_fresh() -> None:
    """`make docs` writes it."""
    assert (ROOT / "docs" / "tables.md").read_text(encoding="utf-8") == document()


def type_of(table: Table, name: str) -> Type:
    """The type of a column, or with a dot of a value in a list's structs."""
    first, _, rest = name.partition(".")
    type_ = next(field.type for field in table.fields if field.name == first)
    if not rest:
        return type_
    assert isinstance(type_, ListOf)
    assert isinstance(type_.element, Struct)
    return next(field.type for field in type_.element.fields if field.name == rest)


@pytest.mark.parametrize("join", JOINS, ids=lambda join: f"{'+'.join(join.columns)}-{join.target}")
def test_joined_columns_are_there_with_equal_types(join: Join) -> None:
    target = BY_NAME[join.target]
    for name in join.tables:
        for own, other in zip(join.columns, join.target_columns, strict=True):
            assert type_of(BY_NAME[name], own) == type_of(target, other)


def test_every_table_joins_with_another_one() -> None:
    joined = {name for join in JOINS for name in (*join.tables, join.target)}
    assert joined == {*BY_NAME}


def test_every_null_is_a_phrase() -> None:
    """It becomes the end of the column's comment: `Null: unknown.`"""
    phrases = [field.null for table in BY_NAME.values() for field in table.fields if field.null]
    assert phrases
    assert [phrase for phrase in phrases if phrase.endswith(".") or phrase[0].isupper()] == []
