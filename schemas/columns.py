"""How a table is written down: its columns with their meaning, and what makes a row unique."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as T

INT, LONG, DOUBLE, TEXT, FLAG, TIME = (
    T.IntegerType(),
    T.LongType(),
    T.DoubleType(),
    T.StringType(),
    T.BooleanType(),
    T.TimestampType(),
)
IDS = T.ArrayType(T.IntegerType())
TEXTS = T.ArrayType(T.StringType())


def struct(**types: T.DataType) -> T.StructType:
    """A type of several values, by their names in order."""
    return T.StructType([T.StructField(name, type_) for name, type_ in types.items()])


def column(name: str, type_: T.DataType, doc: str, *, nullable: bool = True) -> T.StructField:
    """A documented column; Spark carries the text along as the column comment."""
    return T.StructField(name, type_, nullable, {"comment": doc})


EVIDENCE = T.ArrayType(struct(node_id=INT, file_id=TEXT, line=LONG))
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


@dataclass(frozen=True)
class Table:
    """One table of the warehouse: what a row is, its columns, and the columns that no two rows share."""

    name: str
    grain: str
    schema: T.StructType
    key: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """Column names in order."""
        return self.schema.fieldNames()


def table(name: str, grain: str, key: str, *columns: T.StructField) -> Table:
    """A table from its columns; `key` is written as comma-separated names."""
    return Table(name, grain, T.StructType(list(columns)), tuple(key.replace(" ", "").split(",")))
