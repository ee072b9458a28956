"""How a table is written down: its columns with their meaning, and what makes a row unique.

Types stand here without Spark: who only reads tables needs none. `schemas.spark` has the same types for Spark.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scalar:
    """A type of single values, by the name that Spark's SQL gives it."""

    name: str


@dataclass(frozen=True)
class ListOf:
    """A list of values of one type."""

    element: Type


@dataclass(frozen=True)
class MapOf:
    """Values by keys."""

    key: Type
    value: Type


@dataclass(frozen=True)
class Struct:
    """Several values by their names, in order."""

    fields: tuple[Field, ...]


Type = Scalar | ListOf | MapOf | Struct


@dataclass(frozen=True)
class Field:
    """A column, or a value in a struct: its name, type and meaning, and what null means; empty: it is never null."""

    name: str
    type: Type
    doc: str = ""
    null: str = ""
    nullable: bool = True

    @property
    def comment(self) -> str:
        """The meaning and what null means, as the column comment of Spark and Delta."""
        return f"{self.doc} Null: {self.null}." if self.null else self.doc


INT, LONG, DOUBLE = Scalar("int"), Scalar("bigint"), Scalar("double")
TEXT, FLAG, TIME = Scalar("string"), Scalar("boolean"), Scalar("timestamp")
IDS = ListOf(INT)
TEXTS = ListOf(TEXT)


def struct(**types: Type) -> Struct:
    """A type of several values, by their names in order."""
    return Struct(tuple(Field(name, type_) for name, type_ in types.items()))


def column(name: str, type_: Type, doc: str, *, null: str = "", nullable: bool = True) -> Field:
    """A documented column; `null` is what null means. Spark carries both along as the column comment."""
    return Field(name, type_, doc, null, nullable)


EVIDENCE = ListOf(struct(node_id=INT, file_id=TEXT, line=LONG))
CLUSTER = column("cluster", TEXT, "Cluster name: from conf's path rule, `--cluster`, or `default`.")
PARTITION_KEY = (
    CLUSTER,
    column("topic", TEXT, "Topic name."),
    column("partition", INT, "Number within the topic, from 0."),
    column("incarnation", INT, "How often the topic had been deleted before, from 0; all epochs restart with it."),
)
EVIDENCE_COLUMN = column(
    "evidence", EVIDENCE, "The lines that prove the row: node, stream and first line of each record."
)
