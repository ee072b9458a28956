"""The warehouse: one folder of Delta tables, of which readers see what the last published run pinned.

A run first takes back whatever a run that never got published has written, then writes, is audited, and at last adds
its row to `runs`. That row names a version of each table, and nothing else makes a table visible; so a run that was
killed or refused leaves no trace for readers, and running it again gives what one clean run gives.

One run writes at a time (`jobs.warehouse.lock`). Where there are no locks, a run that was overtaken finds versions that it did not
write, or another row in `runs`, and is not published.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from delta.exceptions import DeltaConcurrentModificationException
from delta.tables import DeltaTable
from pyspark.sql import functions as F

from jobs.session import checkpointed, expected_bytes, is_own
from schemas.columns import Table
from schemas.ingest import EVENTS
from schemas.ledger import RUNS
from schemas.tables import BY_NAME
from udfs.errors import BadInput, Failed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WRITERS = 4
"""Tables written at once: a small Delta write is mostly waiting."""


class Overtaken(Failed):
    """Another run wrote to the warehouse while this one did; the text is one sentence."""

    def __init__(self) -> None:
        super().__init__(
            "Another run wrote to this warehouse at the same time; nothing of this run was published, run it again."
        )


@dataclass
class Warehouse:
    """A folder of Delta tables; `versions` are those that the last published run pinned, `rows` their numbers of rows,
    `pending` the clusters that each step has yet to bring up to date."""

    spark: SparkSession
    root: str
    versions: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    pending: dict[str, list[str]] = field(default_factory=dict)
    derived_with: dict[str, str] = field(default_factory=dict)
    """By cluster a digest of the code and settings that made its derived rows."""
    last_run: int = 0
    written: dict[str, int] = field(default_factory=dict)
    """Version of each table that this run wrote."""
    _seen: dict[str, int] = field(default_factory=dict)  # newest version of each table that this run knows of
    _held: dict[str, DataFrame] = field(default_factory=dict)  # the rows of tables that this run wrote as a whole

    def path(self, table: str) -> str:
        """Where a table lies."""
        return f"{self.root}/{table}"

    def exists(self, table: str) -> bool:
        """Whether anything was ever written to it, published or not."""
        return self.version(table) >= 0

    def read(self, table: str) -> DataFrame:
        """A table as the last published run left it; without rows if there is none."""
        if table == RUNS.name and self.last_run:
            return self._load(table)
        if table not in self.versions:
            return self.spark.createDataFrame([], BY_NAME[table].schema)
        if self.written.get(table) == self.versions[table]:
            return self.newest(table)  # nobody else writes; going back to a version costs Delta two Spark jobs
        return self._load(table, self.versions[table])

    def newest(self, table: str) -> DataFrame:
        """A table as it was written last, published or not."""
        return self._held[table] if self.is_cached(table) else self._load(table)

    def is_cached(self, table: str) -> bool:
        """Whether the newest rows of a table are at hand, so that reading them costs nothing."""
        return table in self._held

    def current(self, table: str) -> DataFrame:
        """A table as this run sees it: as it wrote it itself, else as the last published run left it."""
        return self.newest(table) if table in self.written else self.read(table)

    def _load(self, table: str, version: int | None = None) -> DataFrame:
        """A table in today's columns, at a Delta version or the newest."""
        reader = self.spark.read.format("delta")
        rows = (reader if version is None else reader.option("versionAsOf", version)).load(self.path(table))
        schema = BY_NAME[table].schema
        return rows if rows.columns == schema.names else rows.to(schema)

    def write(
        self, table: Table, rows: DataFrame, *, replace: str | None = None, append: bool = False, hold: bool = False
    ) -> DataFrame | None:
        """Write rows in the table's columns and order: instead of all rows, of those that `replace` selects, or besides.

        `hold`: in a session of our own the rows stay at hand for this run, and are returned. Reading a table for the first time
        after it was written costs Delta three Spark jobs.
        """
        is_new = not self.exists(table.name)
        replaces_some = replace is not None and not is_new
        holds = hold and is_own(self.spark)
        rows = rows.to(table.schema)
        if holds:
            # under ids of their own: Spark fails to tell them from columns of what they were made of, if the two are joined
            rows = checkpointed(rows.select(*(F.col(name).alias(name) for name in rows.columns)))
        # to overwrite costs Delta a Spark job, even if there is nothing
        writer = rows.write.format("delta").mode("append" if append or is_new else "overwrite")
        writer = writer.option("mergeSchema", "true")  # columns that an older release did not have
        if replaces_some:
            writer = writer.option("replaceWhere", replace)
        self._change(table.name, lambda: writer.save(self.path(table.name)))
        if not holds:
            return None
        if not append and not replaces_some:
            self._held[table.name] = rows
        return rows

    def delete(self, table: Table, condition: str) -> None:
        """Take rows out of a table."""
        if self.exists(table.name):
            target = DeltaTable.forPath(self.spark, self.path(table.name))
            self._change(table.name, lambda: target.delete(condition))

    def delete_rows(self, table: Table, keys: DataFrame) -> None:
        """Take rows out of a table: those whose values of the columns of `keys` are there."""
        if self.exists(table.name):
            same = " AND ".join(f"old.{name} <=> taken.{name}" for name in keys.columns)
            target = DeltaTable.forPath(self.spark, self.path(table.name)).alias("old")
            merge = target.merge(keys.distinct().alias("taken"), same).whenMatchedDelete()
            self._change(table.name, merge.execute)

    def _change(self, table: str, change: Callable[[], object]) -> None:
        """Do something that adds at most one version to a table. Raises Overtaken if there are others."""
        self._held.pop(table, None)
        before = self.version(table)
        if self._seen.get(table, before) != before:
            raise Overtaken
        try:
            change()
        except DeltaConcurrentModificationException:
            raise Overtaken from None
        after = self.version(table)
        if after > before + 1:
            raise Overtaken
        self._seen[table] = self.written[table] = after

    def version(self, table: str) -> int:
        """Newest Delta version of a table, published or not; -1 if it does not exist.

        It is the highest name in the table's log, as Delta's protocol says; asking Delta costs two Spark jobs.
        """
        log = f"{self.path(table)}/_delta_log"
        if "://" not in log:
            names = os.listdir(log) if os.path.isdir(log) else []
        else:
            java, context = self.spark._jvm, self.spark.sparkContext._jsc
            assert java is not None  # never with Spark Connect, which this is not written for
            where = java.org.apache.hadoop.fs.Path(log)
            files = where.getFileSystem(context.hadoopConfiguration())
            names = [one.getPath().getName() for one in files.listStatus(where)] if files.exists(where) else []
        return max((int(name[:20]) for name in names if re.fullmatch(r"\d{20}\.json", name)), default=-1)

    def roll_back(self) -> list[str]:
        """Undo what runs that were never published have written; the names of the tables that were put back."""

        def one(name: str) -> str | None:
            self._seen[name] = found = self.version(name)
            pinned = self.versions.get(name)
            if found < 0 or found == pinned:
                return None
            table = DeltaTable.forPath(self.spark, self.path(name))
            self._change(name, table.delete if pinned is None else lambda: table.restoreToVersion(pinned))
            return name

        with ThreadPoolExecutor(WRITERS) as pool:
            names = [name for name in pool.map(one, [name for name in BY_NAME if name != RUNS.name]) if name]
        self.written.clear()
        return names

    def publish(self, told: Mapping[str, Any]) -> None:
        """Add a run's row to `runs`, which makes its versions visible: RUNS without its number; what is not told is null.

        Raises Overtaken if another run was quicker.
        """
        if any(self.version(table) != seen for table, seen in self._seen.items()):
            raise Overtaken  # what was read back may be another run's
        row = {**told, "run_id": str(self.last_run + 1)}
        rows = self.spark.createDataFrame([tuple(row.get(name) for name in RUNS.columns)], RUNS.schema)
        options = {"txnAppId": "kafka-rewind", "txnVersion": row["run_id"], "mergeSchema": "true"}
        try:
            rows.write.format("delta").mode("append").options(**options).save(self.path(RUNS.name))
        except DeltaConcurrentModificationException:
            raise Overtaken from None
        self._seen[RUNS.name] = self.version(RUNS.name)
        if "://" in self.root:  # no lock: Delta leaves a row out whose number another run's row has already
            same = (F.col("run_id") == row["run_id"]) & (F.col("started_at") == F.lit(row["started_at"]))
            if self.newest(RUNS.name).where(same).isEmpty():
                raise Overtaken
        self.last_run += 1


def open_warehouse(spark: SparkSession, root: str, *, create: bool) -> Warehouse:
    """The warehouse in a folder; raises BadInput if it is a file, or if there is none and `create` is not asked for."""
    check_root(root, create=create)
    root = root if "://" in root else os.path.abspath(root)
    warehouse = Warehouse(spark, root)
    warehouse._seen[RUNS.name] = warehouse.version(RUNS.name)
    if warehouse.exists(RUNS.name):
        number = F.col("run_id").cast("long")
        told = F.struct("table_versions", "rows", "pending", "derived_with")
        found = warehouse._load(RUNS.name, warehouse._seen[RUNS.name]).agg(
            F.max(number).alias("number"), F.max_by(told, F.when(F.col("status") == "published", number)).alias("told")
        )
        last = found.first()
        assert last is not None  # an aggregate has one row
        warehouse.last_run = int(last["number"] or 0)
        if last["told"] is not None:
            warehouse.versions, warehouse.rows = dict(last["told"]["table_versions"]), dict(last["told"]["rows"])
            warehouse.pending = {step: list(names) for step, names in (last["told"]["pending"] or {}).items()}
            warehouse.derived_with = dict(last["told"]["derived_with"] or {})
    elif not create:
        raise BadInput(f"There is no warehouse in {root}; run `kafka-rewind nightly LOGS --warehouse {root}` first.")
    return warehouse


def expected_size(root: str) -> int:
    """Bytes of the logs that a warehouse holds, about; 0 where it is no local folder, or not there yet. Needs no Spark."""
    return 0 if "://" in root else expected_bytes(Path(root, EVENTS.name).rglob("*.parquet"))


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
