"""What is new to a run: what an alarm is about that no run before has raised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.nightly.sql_literals import time_literal
from jobs.nightly.summary_facts import NAMED, Named

if TYPE_CHECKING:
    from jobs.warehouse.tables import Warehouse


@dataclass(frozen=True)
class Known:
    """What the runs before knew and named, of clusters that were published before."""

    until: Mapping[str, datetime] = field(default_factory=dict)
    """By cluster the time of the last record that was known."""
    news_since: Mapping[str, datetime] = field(default_factory=dict)
    """By cluster since when lines may be new: the same, or where this run read streams that were not known, and that
    begin before it (late logs, another broker's bundle), the begin of the first of them."""
    named: Named = field(default_factory=dict)
    """Of clusters with such streams the rows since then that were published before: they are no news."""


def known_before(warehouse: Warehouse) -> Known:
    """What is known, once the ingest has written what is new, and before anything is published."""
    if "log_files" not in warehouse.versions:
        return Known()
    columns = ("cluster", "file_id", "first_at", "last_at")
    before, after = warehouse.read("log_files").select(*columns), warehouse.newest("log_files").select(*columns)
    added = after.join(before, ["cluster", "file_id"], "left_anti")
    ends = before.groupBy("cluster").agg(F.max("last_at").alias("until"))
    begins = added.groupBy("cluster").agg(F.min("first_at").alias("since"))
    rows = [row for row in ends.join(begins, "cluster", "left").collect() if row["until"] or row["since"]]
    until = {row["cluster"]: row["until"] or row["since"] for row in rows}
    news_since = {row["cluster"]: min(until[row["cluster"]], row["since"] or row["until"]) for row in rows}
    late = {cluster: since for cluster, since in news_since.items() if since < until[cluster]}
    return Known(until, news_since, {name: named_since(warehouse, name, late) for name in NAMED} if late else {})


def named_since(warehouse: Warehouse, table: str, since: Mapping[str, datetime]) -> list[tuple[object, ...]]:
    """The keys of published rows of some clusters since a time."""
    condition, time, keys = NAMED[table]
    is_recent = F.lit(False)
    for cluster, at in sorted(since.items()):
        is_later = F.coalesce(F.expr(f"{time} > {time_literal(at)}"), F.lit(True))
        is_recent |= (F.col("cluster") == cluster) & is_later
    rows = warehouse.read(table).where(condition).where(is_recent).select("cluster", *keys).distinct()
    return [tuple(row) for row in rows.collect()]
