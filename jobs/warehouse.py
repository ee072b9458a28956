"""The warehouse: one folder of Delta tables, of which readers see what the last published run pinned.

A run first takes back whatever a run that never got published has written, then writes, is audited, and at last adds
its row to `runs`. That row names a version of each table, and nothing else makes a table visible; so a run that was
killed or refused leaves no trace for readers, and running it again gives what one clean run gives.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from delta.tables import DeltaTable
from pyspark.sql import functions as F

from schemas.columns import Table
from schemas.ledger import RUNS
from schemas.tables import BY_NAME
from udfs.streams import BadInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WRITERS = 4
"""Tables written at once: a small Delta write is mostly waiting."""


@dataclass
class Warehouse:
    """A folder of Delta tables; `versions` are those that the last published run pinned."""

    spark: SparkSession
    root: str
    versions: dict[str, int] = field(default_factory=dict)
    last_run: int = 0

    def path(self, table: str) -> str:
        """Where a table lies."""
        return f"{self.root}/{table}"

    def exists(self, table: str) -> bool:
        """Whether anything was ever written to it, published or not."""
        return bool(DeltaTable.isDeltaTable(self.spark, self.path(table)))

    def read(self, table: str) -> DataFrame:
        """A table as the last published run left it; without rows if there is none."""
        if table == RUNS.name and self.last_run:
            return self.spark.read.format("delta").load(self.path(table))
        if table not in self.versions:
            return self.spark.createDataFrame([], BY_NAME[table].schema)
        return self.at_version(table, self.versions[table])

    def newest(self, table: str) -> DataFrame:
        """A table as it was written last, published or not: what the gate looks at."""
        return self.spark.read.format("delta").load(self.path(table))

    def at_version(self, table: str, version: int) -> DataFrame:
        """A table at a Delta version."""
        return self.spark.read.format("delta").option("versionAsOf", version).load(self.path(table))

    def write(self, table: Table, rows: DataFrame, *, replace: str | None = None, append: bool = False) -> None:
        """Write rows in the table's columns and order: instead of all rows, of those that `replace` selects, or besides."""
        writer = rows.to(table.schema).write.format("delta").mode("append" if append else "overwrite")
        if replace and self.exists(table.name):
            writer = writer.option("replaceWhere", replace)
        writer.save(self.path(table.name))

    def delete(self, table: Table, condition: str) -> None:
        """Take rows out of a table."""
        if self.exists(table.name):
            DeltaTable.forPath(self.spark, self.path(table.name)).delete(condition)

    def version(self, table: str) -> int:
        """Newest Delta version of a table, published or not.

        In a local folder it is the highest name in the log, as Delta's protocol says; asking Delta costs two Spark jobs.
        """
        log = f"{self.path(table)}/_delta_log"
        if "://" not in log:
            return max(int(name[:20]) for name in os.listdir(log) if re.fullmatch(r"\d{20}\.json", name))
        row = DeltaTable.forPath(self.spark, self.path(table)).history(1).select("version").first()
        assert row is not None  # a Delta table has a history
        return int(row[0])

    def take_back(self) -> list[str]:
        """Undo what runs that were never published have written; the names of the tables that were put back."""
        names = [table for table in BY_NAME if table != RUNS.name and self.exists(table)]

        def one(name: str) -> str | None:
            pinned = self.versions.get(name)
            if pinned is None:
                DeltaTable.forPath(self.spark, self.path(name)).delete()
            elif self.version(name) == pinned:
                return None
            else:
                DeltaTable.forPath(self.spark, self.path(name)).restoreToVersion(pinned)
            return name

        with ThreadPoolExecutor(WRITERS) as pool:
            return [name for name in pool.map(one, names) if name]


def open_warehouse(spark: SparkSession, root: str, *, create: bool) -> Warehouse:
    """The warehouse in a folder; raises BadInput if it is a file, or if there is none and `create` is not asked for."""
    check_root(root, create=create)
    root = root if "://" in root else os.path.abspath(root)
    warehouse = Warehouse(spark, root)
    if warehouse.exists(RUNS.name):
        runs = spark.read.format("delta").load(warehouse.path(RUNS.name))
        last = runs.agg(F.max(F.col("run_id").cast("long"))).first()
        warehouse.last_run = int(last[0]) if last and last[0] is not None else 0
        published = (
            runs.where("status = 'published'")
            .orderBy(F.col("run_id").cast("long").desc())
            .select("table_versions")
            .first()
        )
        if published is not None:
            warehouse.versions = dict(published[0])
    elif not create:
        raise BadInput(f"There is no warehouse in {root}; run `kafka-rewind nightly LOGS --warehouse {root}` first.")
    return warehouse


def check_root(root: str, *, create: bool) -> None:
    """Raises BadInput for a warehouse path that cannot be one; needs no Spark."""
    if "://" in root:
        return
    if os.path.exists(root) and not os.path.isdir(root):
        raise BadInput(f"The warehouse path is a file: {root}; give a folder, it is created if it does not exist.")
    if not create and not os.path.isdir(root):
        raise BadInput(f"There is no warehouse in {root}; run `kafka-rewind nightly LOGS --warehouse {root}` first.")
    parent = os.path.abspath(root)
    while not os.path.exists(parent):
        parent = os.path.dirname(parent)
    if not os.path.isdir(parent):
        raise BadInput(
            f"The warehouse path goes through a file: {parent}; give a folder, it is created if it does not exist."
        )
    if create and not os.access(parent, os.W_OK):
        raise BadInput(f"The warehouse cannot be written: {root}; check the permissions of {parent}.")


def run_row(
    spark: SparkSession,
    run_id: int,
    started_at: datetime,
    finished_at: datetime,
    version: str,
    clusters: list[str],
    inputs: list[str],
    table_versions: Mapping[str, int],
    rows: Mapping[str, int],
    expectations: Mapping[str, int],
    status: str,
) -> DataFrame:
    """RUNS, one row."""
    row = (
        str(run_id), started_at, finished_at, version, clusters, inputs,
        dict(table_versions), dict(rows), dict(expectations), status,
    )  # fmt: skip
    return spark.createDataFrame([row], RUNS.schema)
