"""Since when lines are new to a run: what an alarm is about that no run before has raised."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from jobs.warehouse.tables import Warehouse


def known_until(warehouse: Warehouse) -> dict[str, datetime]:
    """By cluster that was published before, the time of the last record that was known then.

    Where this run read streams that were not known, and that begin before it (late logs, another broker's bundle),
    the begin of the first of them: what they show of that time is new.
    """
    if "log_files" not in warehouse.versions:
        return {}
    columns = ("cluster", "file_id", "first_at", "last_at")
    before, after = warehouse.read("log_files").select(*columns), warehouse.newest("log_files").select(*columns)
    added = after.join(before, ["cluster", "file_id"], "left_anti")
    ends = before.groupBy("cluster").agg(F.max("last_at").alias("until"))
    begins = added.groupBy("cluster").agg(F.min("first_at").alias("since"))
    rows = ends.join(begins, "cluster", "left").select("cluster", F.least("until", "since").alias("until")).collect()
    return {row["cluster"]: row["until"] for row in rows if row["until"] is not None}
