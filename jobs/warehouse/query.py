"""Reading what was published: SQL over pinned versions, and export."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.warehouse.tables import open_warehouse
from schemas.tables import BY_NAME
from udfs.errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def register_views(spark: SparkSession, root: str) -> None:
    """A temporary view of each table as the last published run left it."""
    warehouse = open_warehouse(spark, root, create=False)
    for name in BY_NAME:
        warehouse.read(name).createOrReplaceTempView(name)


def query_tables(spark: SparkSession, root: str, query: str) -> DataFrame:
    """A query's rows. Raises BadInput, in Spark's words, if it cannot be understood, and if it would write."""
    register_views(spark, root)
    try:
        rows = spark.sql(query)
    except PySparkException as error:
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise BadInput(f"The query is not understood: {first} Tables are {', '.join(sorted(BY_NAME))}.") from None
    return rows


def as_text(rows: DataFrame) -> DataFrame:
    """Rows as JSON texts, one column `row`; times in ISO 8601 with milliseconds, UTC; nulls kept."""
    options = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "ignoreNullFields": "false"}
    return rows.select(F.to_json(F.struct(*[F.col(f"`{c}`") for c in rows.columns]), options).alias("row"))


def print_rows(rows: DataFrame, limit: int, echo: Callable[[str], None]) -> None:
    """Rows as an aligned table; a last line says if there are more."""
    head = rows.limit(limit + 1)
    names = rows.columns
    values = [json.loads(r["row"]) for r in as_text(head).collect()] if names else []
    cells = [[_cell(row.get(name)) for name in names] for row in values[:limit]]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(names)]

    def line(values: list[str]) -> str:
        return "  ".join(v.ljust(w) for v, w in zip(values, widths, strict=True)).rstrip()

    echo(line(names))
    for row in cells:
        echo(line(row))
    more = f"; --limit {limit} cut the rest" if len(values) > limit else ""
    echo(f"({min(len(values), limit)} rows{more})")


def _cell(value: Any) -> str:
    """One value as a table shows it: empty for null, lists and structs as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def check_export(table: str, form: str, output: str | None) -> None:
    """Raises BadInput for an export that cannot be; needs no Spark."""
    if table not in BY_NAME:
        raise BadInput(f"There is no table {table}; tables are {', '.join(sorted(BY_NAME))}.")
    if form == "parquet" and not output:
        raise BadInput("Parquet is no text; name a file with --output.")
    if output and os.path.isdir(output):
        raise BadInput(f"The output is a folder: {output}; name a file.")
    if output and not os.path.isdir(os.path.dirname(os.path.abspath(output))):
        raise BadInput(f"The output's folder does not exist: {output}; create it first.")


def export_table(spark: SparkSession, root: str, table: str, form: str, output: str | None) -> None:
    """Write a table out in the order of its key, row by row or batch by batch: memory does not grow with it."""
    warehouse = open_warehouse(spark, root, create=False)
    rows = warehouse.read(table).orderBy(*BY_NAME[table].key)
    if form == "parquet":
        assert output is not None  # check_export
        with _replacing(output, "wb") as file:
            _write_parquet(rows, file)
        return
    with _replacing(output, "w") as file:
        if form == "jsonl":
            for row in as_text(rows).toLocalIterator():
                file.write(row["row"] + "\n")
        else:
            flat = [
                F.to_json(c).alias(c) if isinstance(rows.schema[c].dataType, (T.ArrayType, T.MapType)) else F.col(c)
                for c in rows.columns
            ]
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(rows.columns)
            for row in as_text(rows.select(*flat)).toLocalIterator():
                writer.writerow(["" if v is None else v for v in json.loads(row["row"]).values()])


def _write_parquet(rows: DataFrame, file: IO[bytes]) -> None:
    """One file, a row group for each Arrow batch; they come partition by partition."""
    with pq.ParquetWriter(file, rows.limit(0).toArrow().schema) as writer:
        for row in rows.mapInArrow(_as_streams, "stream binary").toLocalIterator():
            with pa.ipc.open_stream(row["stream"]) as stream:
                for batch in stream:
                    writer.write_batch(batch.cast(writer.schema))


def _as_streams(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch as a value: Arrow's stream of it."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["stream"])


@contextmanager
def _replacing(output: str | None, mode: str) -> Iterator[Any]:
    """A file that appears whole or not at all; standard output if there is no name."""
    if output is None:
        yield sys.stdout
        return
    part = f"{output}.part"
    try:
        is_text = mode == "w"
        with open(part, mode, newline="" if is_text else None, encoding="utf-8" if is_text else None) as file:
            yield file
        os.replace(part, output)
    finally:
        if os.path.exists(part):
            os.remove(part)
