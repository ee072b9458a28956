"""What a table is: a row's meaning, its columns, and what makes a row unique."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from schemas.columns import Field

if TYPE_CHECKING:
    from pyspark.sql import types as T


@dataclass(frozen=True)
class Table:
    """One table of the warehouse: what a row is, its columns, and the columns that no two rows share."""

    name: str
    grain: str
    fields: tuple[Field, ...]
    key: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """Column names in order."""
        return [field.name for field in self.fields]

    @cached_property
    def schema(self) -> T.StructType:
        """The columns as Spark's schema, their meaning as comments."""
        from schemas.spark import schema_of

        return schema_of(self.fields)


def table(name: str, grain: str, key: str, *columns: Field) -> Table:
    """A table from its columns; `key` is written as comma-separated names."""
    return Table(name, grain, columns, tuple(key.replace(" ", "").split(",")))
