"""The types of `schemas.columns` as Spark has them."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import types as T

from schemas import columns
from schemas.columns import Field, ListOf, MapOf, Scalar, Struct, Type

INT, LONG, DOUBLE, TEXT, FLAG, TIME = (
    T.IntegerType(),
    T.LongType(),
    T.DoubleType(),
    T.StringType(),
    T.BooleanType(),
    T.TimestampType(),
)
_SCALARS: dict[str, T.DataType] = {type_.simpleString(): type_ for type_ in (INT, LONG, DOUBLE, TEXT, FLAG, TIME)}


def spark_type(type_: Type) -> T.DataType:
    """A type as Spark has it.

    >>> spark_type(ListOf(columns.INT)).simpleString()
    'array<int>'
    """
    match type_:
        case Scalar(name):
            return _SCALARS[name]
        case ListOf(element):
            return T.ArrayType(spark_type(element))
        case MapOf(key, value):
            return T.MapType(spark_type(key), spark_type(value))
        case Struct(fields):
            return schema_of(fields)


def spark_field(field: Field) -> T.StructField:
    """A column as Spark has it, its meaning as the comment."""
    return T.StructField(
        field.name, spark_type(field.type), field.nullable, {"comment": field.comment} if field.doc else None
    )


def schema_of(fields: Iterable[Field]) -> T.StructType:
    """Columns as Spark's schema."""
    return T.StructType([spark_field(field) for field in fields])


def struct(**types: T.DataType) -> T.StructType:
    """A type of several values, by their names in order."""
    return T.StructType([T.StructField(name, type_) for name, type_ in types.items()])


def column(name: str, type_: T.DataType, doc: str, *, nullable: bool = True) -> T.StructField:
    """A documented column of a DataFrame that is no table."""
    return T.StructField(name, type_, nullable, {"comment": doc})


IDS, TEXTS, EVIDENCE = T.ArrayType(INT), T.ArrayType(TEXT), spark_type(columns.EVIDENCE)
CLUSTER, EVIDENCE_COLUMN = spark_field(columns.CLUSTER), spark_field(columns.EVIDENCE_COLUMN)
PARTITION_KEY = tuple(map(spark_field, columns.PARTITION_KEY))
