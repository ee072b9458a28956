"""Plain functions of `udfs` over streams of rows, in the workers: for what depends on the rows before. And no rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as T

ROWS_PER_BATCH = 4096
"""Rows in an Arrow batch."""
RowStream = Iterable[dict[str, Any]]


def map_rows(ordered: DataFrame, work: Callable[[RowStream], RowStream], schema: T.StructType) -> DataFrame:
    """What `work` makes of the rows of each partition, one after another; ROWS_PER_BATCH are held at a time.

    RowStream are dicts, times microseconds since 1970 UTC, both in and out.
    """

    def in_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        types = to_arrow_schema(schema, timezone="UTC")
        results = iter(work(_rows(batches)))
        while batch := list(islice(results, ROWS_PER_BATCH)):
            yield pa.RecordBatch.from_pylist(batch, schema=types)

    return ordered.mapInArrow(in_batches, schema)


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        for number, field in enumerate(batch.schema):
            if pa.types.is_timestamp(field.type):
                batch = batch.set_column(number, field.name, batch.column(number).cast(pa.int64()))
        yield from batch.to_pylist()


def no_rows(spark: SparkSession, schema: T.StructType) -> DataFrame:
    """No rows of a schema; Spark leaves out of a plan what is joined and grouped with them."""
    columns = (F.lit(None).cast(field.dataType).alias(field.name) for field in schema)
    return spark.range(1).limit(0).select(*columns)
