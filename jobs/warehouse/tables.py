"""The warehouse: one folder or schema of Delta tables, of which readers see what the last published run pinned.

A run first rolls back what runs that were never published have written, then writes, is audited, and at last adds its
row to `runs`. That row names a version of each table, and nothing else makes a table visible; so a run that was killed
or refused leaves no trace for readers, and running it again gives what one clean run gives.

One run writes at a time (`jobs.warehouse.lock`, elsewhere `jobs.warehouse.lease`). A run that was overtaken all the
same finds versions that it did not write, or another row in `runs`, and is not published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from delta.exceptions import DeltaConcurrentModificationException
from pyspark.sql import functions as F

from jobs.checkpoints import checkpointed
from jobs.session import is_own
from jobs.warehouse.columns import in_columns_of
from jobs.warehouse.hadoop import HadoopFolder
from jobs.warehouse.integrity import Pins, find_damage, write_pins
from jobs.warehouse.lease import leased
from jobs.warehouse.location import is_remote, is_schema, no_warehouse, warehouse_at
from jobs.warehouse.stored_tables import WRITERS, StoredTables, check_lasts, stored_tables
from schemas.columns import TIME
from schemas.ledger import RUNS
from schemas.table import Table
from schemas.tables import BY_NAME, DERIVED
from udfs.errors import Failed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RENAMED_COLUMNS = {"rejects": {"signature": "skeleton"}}
"""Of a table the columns that an older release wrote under another name: today's name -> the old one."""


class Overtaken(Failed):
    """Another run wrote to the warehouse while this one did; the text is one sentence."""

    def __init__(self) -> None:
        super().__init__(
            "Another run wrote to this warehouse at the same time; nothing of this run was published, run it again."
        )


@dataclass
class Warehouse:
    """Delta tables in a folder or schema, and what the last published run pinned of them."""

    spark: SparkSession
    root: str
    versions: dict[str, int] = field(default_factory=dict)
    """By table the Delta version that the last published run pinned."""
    rows: dict[str, int] = field(default_factory=dict)
    """By table its number of rows at that version."""
    pending: dict[str, list[str]] = field(default_factory=dict)
    """By step the clusters whose rows it has yet to bring up to date."""
    derived_with: dict[str, str] = field(default_factory=dict)
    """By cluster a digest of the code and settings that made its derived rows."""
    pruned: dict[str, datetime] = field(default_factory=dict)
    """By cluster the time before which its events were pruned; rows that ended before cannot be made anew."""
    last_run: int = 0
    """Number of the last run, published or not; 0 before the first."""
    written: dict[str, int] = field(default_factory=dict)
    """By table the Delta version that this run wrote."""
    replaced: dict[str, str] = field(default_factory=dict)
    """Of tables of which this run wrote only some rows, the condition of these."""
    rows_replaced: dict[str, DataFrame] = field(default_factory=dict)
    """Of those that this run wrote once the rows that it wrote, where they are at hand."""
    is_held: Callable[[], bool] = lambda: True
    """Whether this run still is the one that writes, as far as a store's lease tells."""
    _known_versions: dict[str, int] = field(default_factory=dict)
    """By table the newest Delta version that this run knows of; a newer one is another run's."""
    _cached: dict[str, DataFrame] = field(default_factory=dict)
    """Rows of tables that this run wrote as a whole."""
    _pinned: dict[tuple[str, int], DataFrame] = field(default_factory=dict)
    """By table and Delta version what was read of it: such rows never change."""

    @cached_property
    def stored(self) -> StoredTables:
        """The tables as they are stored."""
        return stored_tables(self.spark, self.root)

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
            # nobody else writes; reading a version by its number costs Delta two Spark jobs
            return self.newest(table)
        version = table, self.versions[table]
        if version not in self._pinned:
            self._pinned[version] = self._load(*version)
        return self._pinned[version]

    def newest(self, table: str) -> DataFrame:
        """A table as it was written last, published or not."""
        return self._cached[table] if self.is_cached(table) else self._load(table)

    def is_cached(self, table: str) -> bool:
        """Whether the newest rows of a table are cached, so that reading them costs nothing."""
        return table in self._cached

    def current(self, table: str) -> DataFrame:
        """A table as this run sees it: as it wrote it itself, else as the last published run left it."""
        return self.newest(table) if table in self.written else self.read(table)

    def rows_kept(self, table: str) -> DataFrame:
        """The published rows of a table that this run has left where it replaced others."""
        return self.read(table).where(f"NOT coalesce({self.replaced[table]}, false)")

    def _load(self, table: str, version: int | None = None) -> DataFrame:
        """A table in today's columns, at a Delta version or the newest."""
        rows = self.stored.load(table, version)
        for name, old in RENAMED_COLUMNS.get(table, {}).items():
            if old in rows.columns:
                both = [F.col(column) for column in (name, old) if column in rows.columns]
                rows = rows.withColumn(name, F.coalesce(*both))
        schema = BY_NAME[table].schema
        return rows if rows.columns == schema.names else rows.to(schema)

    def write(
        self,
        table: Table,
        rows: DataFrame,
        *,
        replace: str | None = None,
        append: bool = False,
        cache: bool = False,
        is_computed: bool = False,
        when_cached: Callable[[DataFrame], None] = lambda rows: None,
    ) -> DataFrame | None:
        """Write rows in the table's columns and order: instead of all, of those that `replace` selects, or besides.

        `cache`: in a session of our own the rows stay cached for this run, and are returned. Reading a table for the
        first time after it was written costs Delta three Spark jobs. `when_cached` is given them before they are saved,
        for whoever goes on with them meanwhile. `is_computed`: the caller holds them. If there are none in either case,
        and the published table has none, nothing is written.
        """
        is_new = not self.exists(table.name)
        replaces_some = replace is not None and not is_new
        caches = cache and is_own(self.spark)
        rows = in_columns_of(table.schema, rows)
        if caches:
            # under column ids of their own: joined with what they were made of, Spark would confuse the two
            rows = checkpointed(rows.select(*(F.col(name).alias(name) for name in rows.columns)))
            when_cached(rows)
        if (caches or is_computed) and self._is_published_empty(table.name) and rows.isEmpty():
            # a commit, and the gate's look at it, cost more than all of the night's work on such a table
            self._cached[table.name] = rows
            return rows
        times = _times_of(table) if is_new else []
        # what a night does not replace is in files that it need not open
        properties = {"delta.dataSkippingStatsColumns": ",".join(("cluster", *times))} if times else {}
        if is_new:
            self._create(table, properties)
        # overwriting costs Delta a Spark job even if the table is empty
        writer = rows.write.format("delta").mode("append" if append or is_new else "overwrite")
        # a table of an older release may lack columns
        writer = writer.option("mergeSchema", "true").options(**properties)
        if replaces_some:
            writer = writer.option("replaceWhere", replace)
        is_whole = not append and not replaces_some
        is_first = table.name not in self.written
        if is_whole:
            self.replaced.pop(table.name, None)
        elif replace is not None and (table.name not in self.written or table.name in self.replaced):
            before = self.replaced.get(table.name)
            self.replaced[table.name] = f"({replace})" if before is None else f"{before} OR ({replace})"
        self._change(table.name, lambda: self.stored.save(writer, table.name))
        if replaces_some and is_computed and is_first and is_own(self.spark):
            self.rows_replaced[table.name] = rows
        if not caches:
            return None
        if is_whole:
            self._cached[table.name] = rows
        return rows

    def _create(self, table: Table, properties: Mapping[str, str]) -> None:
        """Make a table before its first write, where that has to be."""
        if self.stored.create(table.name, table.schema, properties):
            self._known_versions[table.name] = self.version(table.name)

    def _is_published_empty(self, table: str) -> bool:
        """Whether a table is as the last published run left it, without a row."""
        return self.rows.get(table) == 0 and self.versions.get(table) == self.version(table)

    def delete(self, table: Table, condition: str) -> None:
        """Delete the rows of a table that meet a SQL condition."""
        if self.exists(table.name):
            target = self.stored.delta(table.name)
            self._change(table.name, lambda: target.delete(condition))

    def delete_rows(self, table: Table, keys: DataFrame) -> None:
        """Delete the rows of a table whose values in the columns of `keys` are a row of `keys`."""
        if self.exists(table.name):
            same = " AND ".join(f"old.{name} <=> deleted.{name}" for name in keys.columns)
            target = self.stored.delta(table.name).alias("old")
            merge = target.merge(keys.distinct().alias("deleted"), same).whenMatchedDelete()
            self._change(table.name, merge.execute)

    def compact(self, table: str, change: Callable[[], object]) -> None:
        """Do what keeps the rows of a table, in other files. Raises Overtaken as all other changes do."""
        self._change(table, change)
        if self._known_versions[table] == self.versions.get(table):
            del self.written[table]

    def _change(self, table: str, change: Callable[[], object]) -> None:
        """Do what adds at most one version to a table. Raises Overtaken if there is a version of another run."""
        self._cached.pop(table, None)
        self.rows_replaced.pop(table, None)
        before = self.version(table)
        if self._known_versions.get(table, before) != before:
            raise Overtaken
        try:
            change()
        except DeltaConcurrentModificationException:
            raise Overtaken from None
        after = self.version(table)
        if after > before + 1:
            raise Overtaken
        self._known_versions[table] = self.written[table] = after

    def version(self, table: str) -> int:
        """Newest Delta version of a table, published or not; -1 if it does not exist."""
        return self.stored.version(table)

    def roll_back(self) -> list[str]:
        """Undo what runs that were never published have written; the names of the tables that were rolled back."""

        def roll_back_table(name: str) -> bool:
            self._known_versions[name] = newest = self.version(name)
            pinned = self.versions.get(name)
            if newest < 0 or newest == pinned:
                return False
            table = self.stored.delta(name)
            self._change(name, table.delete if pinned is None else lambda: table.restoreToVersion(pinned))
            return True

        names = [name for name in BY_NAME if name != RUNS.name]
        with ThreadPoolExecutor(WRITERS) as pool:
            were_ahead = list(pool.map(roll_back_table, names))
        self.written.clear()
        self.replaced.clear()
        self.rows_replaced.clear()
        if self.versions:
            # a run that was published may have ended before
            self.stored.show(self.versions)
        return [name for name, was_ahead in zip(names, were_ahead, strict=True) if was_ahead]

    def publish(self, run: Mapping[str, Any]) -> None:
        """Add a run's row to `runs`, which makes its versions visible: columns of RUNS without `run_id`; else null.

        Raises Overtaken if another run was quicker.
        """
        if not self.is_held() or any(self.version(table) != known for table, known in self._known_versions.items()):
            # what this run read may be the other run's
            raise Overtaken
        row = {**run, "run_id": str(self.last_run + 1), "pruned": self.pruned or None}
        rows = self.spark.createDataFrame([tuple(row.get(name) for name in RUNS.columns)], RUNS.schema)
        if self._known_versions.get(RUNS.name, 0) < 0:
            self._create(RUNS, {})
        options = {"txnAppId": "kafka-rewind", "txnVersion": row["run_id"], "mergeSchema": "true"}
        try:
            self.stored.save(rows.write.format("delta").mode("append").options(**options), RUNS.name)
        except DeltaConcurrentModificationException:
            raise Overtaken from None
        self._known_versions[RUNS.name] = self.version(RUNS.name)
        if is_remote(self.root):
            # without the lease: Delta leaves a row out whose number another run's row has already
            same = (F.col("run_id") == row["run_id"]) & (F.col("started_at") == F.lit(row["started_at"]))
            if self.newest(RUNS.name).where(same).isEmpty():
                raise Overtaken
        self.last_run += 1
        if row["status"] == "published":
            names = ("table_versions", "rows", "pending", "derived_with")
            pruned = {cluster: before.isoformat() for cluster, before in self.pruned.items()}
            self.stored.show(row["table_versions"])
            write_pins(self.root, Pins(self.last_run, **{name: row.get(name) or {} for name in names}, pruned=pruned))


def _times_of(table: Table) -> list[str]:
    """The times in a derived table, which are of the cluster's clock."""
    is_derived = any(table.name == derived.name for derived in DERIVED)
    return [field.name for field in table.fields if field.type is TIME] if is_derived else []


def open_warehouse(spark: SparkSession, root: str, *, create: bool, repair: bool = False) -> Warehouse:
    """The warehouse in a folder. Raises BadInput if it is a file, or if there is none and `create` is false; Failed if
    it is damaged. With `repair` what is damaged is removed instead, for a run that makes all anew.
    """
    root = warehouse_at(root, create=create)
    pins = None
    if (damage := find_damage(root)) is not None:
        if not repair:
            raise Failed(damage.sentence)
        pins = damage.repair()
    check_lasts(spark, root)
    warehouse = Warehouse(spark, root)
    if create:
        warehouse.stored.make()
    warehouse._known_versions[RUNS.name] = warehouse.version(RUNS.name)
    if warehouse.exists(RUNS.name):
        number = F.col("run_id").cast("long")
        state = F.struct("table_versions", "rows", "pending", "derived_with", "pruned")
        is_published = F.col("status") == "published"
        runs = warehouse._load(RUNS.name, warehouse._known_versions[RUNS.name]).agg(
            F.max(number).alias("number"), F.max_by(state, F.when(is_published, number)).alias("published")
        )
        last = runs.first()
        assert last is not None  # an aggregate has one row
        warehouse.last_run = int(last["number"] or 0)
        if (published := last["published"]) is not None:
            warehouse.versions, warehouse.rows = dict(published["table_versions"]), dict(published["rows"])
            warehouse.pending = {step: list(names) for step, names in (published["pending"] or {}).items()}
            warehouse.derived_with = dict(published["derived_with"] or {})
            warehouse.pruned = dict(published["pruned"] or {})
    elif not create:
        raise no_warehouse(root)
    if pins is not None:
        warehouse.versions = dict(pins.table_versions)
        if not warehouse.last_run:
            warehouse.last_run, warehouse.rows = pins.run_id, dict(pins.rows)
            warehouse.pruned = {name: datetime.fromisoformat(before) for name, before in pins.pruned.items()}
        if damage is not None and damage.needs_logs:
            # all that comes from logs is read again
            warehouse.pruned = {}
    return warehouse


@contextmanager
def writing_warehouse(
    spark: SparkSession, root: str, *, create: bool, repair: bool = False, wait: bool, say: Callable[[str], None]
) -> Iterator[Warehouse]:
    """`open_warehouse` for whoever writes; in a store without locks it is held by a lease until the end.

    A local one is to be locked before (`jobs.warehouse.lock`). In a schema nothing is held: whoever is overtaken finds
    out by versions, as where a lease was lost. Raises Failed if another run holds it and `wait` is
    false.
    """
    if not is_remote(root) or is_schema(root):
        yield open_warehouse(spark, root, create=create, repair=repair)
        return
    with leased(HadoopFolder(spark, root), root, wait=wait, say=say) as is_held:
        warehouse = open_warehouse(spark, root, create=create, repair=repair)
        warehouse.is_held = is_held
        yield warehouse
