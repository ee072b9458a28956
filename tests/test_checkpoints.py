"""Rows that are held for whoever asks again, without the plan that made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.session import checkpointed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def column_ids(rows: DataFrame) -> set[str]:
    """Spark's names of the columns with their ids, such as `node_id#7L`."""
    return {*rows._jdf.queryExecution().analyzed().output().mkString(" ").split()}


def test_checkpointed_rows_share_no_column_with_what_they_were_made_of(spark: SparkSession) -> None:
    """Else Spark may fail to tell the two apart where they are joined."""
    rows = spark.createDataFrame([(1, "a"), (2, "b"), (2, "c")], "node_id long, topic string")
    held = checkpointed(rows)
    assert len(column_ids(rows)) == 2
    assert not column_ids(held) & column_ids(rows)
    assert sorted(held.collect()) == [(1, "a"), (2, "b"), (2, "c")]
    assert sorted(held.join(rows.groupBy("node_id").count(), "node_id").collect()) == [
        (1, "a", 1), (2, "b", 2), (2, "c", 2),
    ]  # fmt: skip
