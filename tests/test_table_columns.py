"""Rows in the columns of a table: in its order, of its types, null where a column is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as T

from jobs.warehouse.columns import in_columns_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = T.StructType(
    [
        T.StructField("node_ids", T.ArrayType(T.IntegerType())),
        T.StructField("size_bytes", T.LongType()),
        T.StructField("path", T.StringType()),
    ]
)


def test_other_types_and_missing_columns_are_made_those_of_the_table(spark: SparkSession) -> None:
    rows = in_columns_of(SCHEMA, spark.sql("SELECT 3 AS size_bytes, array(1, 2) AS node_ids, 'b' AS other"))
    assert rows.schema.simpleString() == SCHEMA.simpleString()
    assert [tuple(row) for row in rows.collect()] == [([1, 2], 3, None)]


def test_arrays_that_are_as_they_should_be_are_not_made_anew(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [("/logs", 3, [1, 2], True)], "path string, size_bytes long, node_ids array<int>, b boolean"
    )
    ordered = in_columns_of(SCHEMA, rows)
    assert [tuple(row) for row in ordered.collect()] == [([1, 2], 3, "/logs")]
    plan = ordered._jdf.queryExecution().executedPlan().toString()
    assert "transform(" not in plan
    assert "transform(" in rows.to(SCHEMA)._jdf.queryExecution().executedPlan().toString()
