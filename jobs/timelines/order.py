"""The one order of records of several nodes: time, event rank (cause before effect), node, line, file.

Files come last, for their ids carry no order: they depend on how much of a file was there when it was first read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from udfs.rules.event_rank_columns import event_rank

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENT_ORDER = ("at", "rank", "node_id", "line", "file_id")
"""What windows order rows of `with_rank` by."""


def with_rank(rows: DataFrame, *of: str) -> DataFrame:
    """Rows with `cluster, file_id, at, line, message` -> the same with `rank`, see `udfs.rules.event_rank`.

    Lines of one file never swap at equal time: the rank of each is the greatest of its own and of those before it then.
    `of`: columns of what is put in order by itself, such as a partition; lines about others do not count then.
    """
    before = (
        Window.partitionBy("cluster", "file_id", "at", *of)
        .orderBy("line")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return rows.withColumn("rank", F.max(event_rank("message")).over(before))
