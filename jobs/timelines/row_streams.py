"""Plain functions over streams of rows, in the workers: for knowledge that goes from row to row, as `udfs` holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql import types as T

ROWS_PER_BATCH = 4096
RowStream = Iterable[dict[str, Any]]


def map_rows(ordered: DataFrame, work: Callable[[RowStream], RowStream], schema: T.StructType) -> DataFrame:
    """What `work` makes of the rows of each partition, one after another; held are some at a time.

    RowStream are dicts, times microseconds since 1970 UTC, both in and out.
    """

    def in_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        types = to_arrow_schema(schema, timezone="UTC")
        made = iter(work(_rows(batches)))
        while some := list(islice(made, ROWS_PER_BATCH)):
            yield pa.RecordBatch.from_pylist(some, schema=types)

    return ordered.mapInArrow(in_batches, schema)


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        for number, field in enumerate(batch.schema):
            if pa.types.is_timestamp(field.type):
                batch = batch.set_column(number, field.name, batch.column(number).cast(pa.int64()))
        yield from batch.to_pylist()
