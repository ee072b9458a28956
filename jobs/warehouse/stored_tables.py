"""Where the Delta tables of a warehouse are, and how Spark names them: by folders, or as tables of a catalog's schema.

In a schema `catalog.schema` each table is `written_<table>`, as runs write it, and `<table>` is a view of the version
that the last published run pinned. Nothing there needs a path: a catalog may forbid them for tables that it manages.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from jobs.exits import spark_reason
from jobs.session import CATALOG
from jobs.warehouse.hadoop import HadoopFolder
from jobs.warehouse.location import is_remote, is_schema, spark_path
from schemas.ledger import RUNS
from schemas.tables import BY_NAME
from udfs.errors import BadInput, Failed, NoSpark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
    from pyspark.sql import types as T

WRITERS = 4
"""Tables written at once: a small Delta write is mostly waiting."""


_NOT_EMPTY = "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
_SHOWN = "kafka_rewind.shown"
"""Property of the view `runs`: a digest of the versions that the views show."""


class StoredTables(Protocol):
    """Delta tables of one warehouse, by their names in `schemas`."""

    def make(self) -> None:
        """Make what the tables are in, if it has to be there before them."""

    def version(self, table: str) -> int:
        """Newest Delta version of a table, published or not; -1 if it does not exist."""

    def load(self, table: str, version: int | None) -> DataFrame:
        """Its rows at a version, or the newest, in the columns that it has."""

    def create(self, table: str, schema: T.StructType, properties: Mapping[str, str]) -> bool:
        """Make it without rows, where it has to be there before it is written; whether that was done."""

    def save(self, writer: DataFrameWriter, table: str) -> None:
        """Write to it; a folder is also made."""

    def delta(self, table: str) -> DeltaTable:
        """The table, for what Delta does besides reading and writing."""

    def show(self, versions: Mapping[str, int]) -> None:
        """Let readers who go by names alone see these versions, where there are any, unless they do."""


def stored_tables(spark: SparkSession, root: str) -> StoredTables:
    """The tables of a warehouse at a location, see `jobs.warehouse.location`."""
    return TablesOfSchema(spark, root) if is_schema(root) else TablesOfFolder(spark, root)


class TablesOfFolder:
    """Each table is a folder in the warehouse's."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._spark, self._root = spark, root

    def make(self) -> None:
        """Nothing: folders come with their tables."""

    def version(self, table: str) -> int:
        """The highest name in the table's log, as Delta's protocol says; asking Delta costs two Spark jobs."""
        log = f"{self._root}/{table}/_delta_log"
        if is_remote(self._root):
            names = HadoopFolder(self._spark, log).names()
        else:
            names = os.listdir(log) if os.path.isdir(log) else []
        return max((int(name[:20]) for name in names if re.fullmatch(r"\d{20}\.json", name)), default=-1)

    def load(self, table: str, version: int | None) -> DataFrame:
        """See StoredTables."""
        reader = self._spark.read.format("delta")
        return (reader if version is None else reader.option("versionAsOf", version)).load(self._path(table))

    def create(self, table: str, schema: T.StructType, properties: Mapping[str, str]) -> bool:
        """Not needed: what a killed write leaves in a folder is in nobody's way."""
        return False

    def save(self, writer: DataFrameWriter, table: str) -> None:
        """See StoredTables."""
        writer.save(self._path(table))

    def delta(self, table: str) -> DeltaTable:
        """See StoredTables."""
        return DeltaTable.forPath(self._spark, self._path(table))

    def show(self, versions: Mapping[str, int]) -> None:
        """Nothing: readers of a folder look up what is pinned."""

    def _path(self, table: str) -> str:
        return spark_path(f"{self._root}/{table}")


class TablesOfSchema:
    """Each table is one of a catalog's schema. Raises Failed, one sentence, where Spark does not reach the catalog."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._spark, self._root = spark, root

    def make(self) -> None:
        """Make the schema if it does not exist."""
        try:
            if not self._spark.catalog.databaseExists(self._root):
                self._spark.sql(f"CREATE SCHEMA IF NOT EXISTS {quoted(self._root)}")
        except (PySparkException, Py4JJavaError) as error:
            raise unreachable_schema(self._root, error) from None

    def version(self, table: str) -> int:
        """As Delta's history tells."""
        try:
            if not self._spark.catalog.tableExists(self._name(table)):
                return -1
            last = self.delta(table).history(1).first()
        except (PySparkException, Py4JJavaError) as error:
            raise unreachable_schema(self._root, error) from None
        assert last is not None  # the table's creation is in it
        return int(last["version"])

    def load(self, table: str, version: int | None) -> DataFrame:
        """See StoredTables."""
        reader = self._spark.read if version is None else self._spark.read.option("versionAsOf", version)
        return reader.table(self._name(table))

    def create(self, table: str, schema: T.StructType, properties: Mapping[str, str]) -> bool:
        """By itself: where a run is killed that writes a table as it creates it, files are left that are no table, and
        no catalog makes one there. A run that is killed here leaves Delta's log of a table without rows, which the
        catalog is told of, or a log that was only begun, which is written first. Raises Failed where other files are.
        """
        columns = [
            f"`{field.name}` {field.dataType.simpleString()} COMMENT {_text(field.metadata.get('comment', ''))}"
            for field in schema.fields
        ]
        table_properties = ", ".join(f"{_text(name)} = {_text(value)}" for name, value in properties.items())
        make = f"CREATE TABLE IF NOT EXISTS {self._name(table)} ({', '.join(columns)}) USING delta"
        try:
            self._spark.sql(make + (f" TBLPROPERTIES ({table_properties})" if properties else ""))
        except PySparkException as error:
            if error.getCondition() != _NOT_EMPTY:
                raise
            location = (error.getMessageParameters() or {}).get("tableLocation", "")
            if not self._is_registered(table, location):
                self._begin(table, location, schema, properties)
        return True

    def _is_registered(self, table: str, location: str) -> bool:
        """Let the catalog know of the Delta table at a location; whether there is one."""
        try:
            self._spark.sql(f"CREATE TABLE {self._name(table)} USING delta LOCATION {_text(location)}")
        except PySparkException:
            return False
        return True

    def _begin(self, table: str, location: str, schema: T.StructType, properties: Mapping[str, str]) -> None:
        """Write the first version of a table whose log has none yet, and let the catalog know of it. Raises Failed
        where other files are than those of a log: they are not ours."""
        others = self._spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        try:
            # what begins with _ or . is not read, and so is Delta's log
            has_others = bool(others.load(location).drop("content").take(1))
            if not has_others:
                empty = self._spark.createDataFrame([], schema).write.format("delta").mode("append")
                empty.options(**properties).save(location)
        except PySparkException:
            has_others = True
        if has_others or not self._is_registered(table, location):
            raise Failed(
                f"Where the table {self._root}.written_{table} belongs are files, but no catalog has a table there, as "
                "of a run that was killed; remove that folder."
            )

    def save(self, writer: DataFrameWriter, table: str) -> None:
        """See StoredTables."""
        writer.saveAsTable(self._name(table))

    def delta(self, table: str) -> DeltaTable:
        """See StoredTables."""
        return DeltaTable.forName(self._spark, self._name(table))

    def show(self, versions: Mapping[str, int]) -> None:
        """Replace the views, one after another; the last is that of `runs`, whose property tells what all show."""
        digest = hashlib.sha256(json.dumps(dict(sorted(versions.items()))).encode()).hexdigest()
        runs = self._view(RUNS.name)
        if self._spark.catalog.tableExists(runs):
            properties = self._spark.sql(f"SHOW TBLPROPERTIES {runs}").collect()
            if (_SHOWN, digest) in {(row["key"], row["value"]) for row in properties}:
                return

        def show_table(name: str) -> None:
            columns = ", ".join(f"`{column}`" for column in self.load(name, versions[name]).columns)
            rows = f"SELECT {columns} FROM {self._name(name)} VERSION AS OF {versions[name]}"
            self._spark.sql(f"CREATE OR REPLACE VIEW {self._view(name)} AS {rows}")

        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(show_table, [name for name in BY_NAME if name in versions and name != RUNS.name]))
        marked = f"TBLPROPERTIES ('{_SHOWN}' = '{digest}')"
        self._spark.sql(f"CREATE OR REPLACE VIEW {runs} {marked} AS SELECT * FROM {self._name(RUNS.name)}")

    def _view(self, table: str) -> str:
        return quoted(f"{self._root}.{table}")

    def _name(self, table: str) -> str:
        return quoted(f"{self._root}.written_{table}")


def unreachable_schema(root: str, error: Exception) -> BadInput | Failed:
    """What to raise where Spark does not know a catalog; or may not read or write its schema, or is not answered."""
    why = spark_reason(error).rstrip(".")
    if re.search(_NO_CATALOG, why):
        catalog = root.partition(".")[0]
        return BadInput(
            f"Spark has no catalog {catalog}; for a folder of the name {root} give ./{root}, and docs/how-to-stores.md "
            "has what catalogs need."
        )
    return Failed(
        f"The schema {root} cannot be reached by Spark ({why}); docs/how-to-stores.md has what catalogs need, "
        f"and a folder of that name is ./{root}."
    )


_NO_CATALOG = r"REQUIRES_SINGLE_PART_NAMESPACE|CATALOG_NOT_FOUND|NO_SUCH_CATALOG|Catalog '.*' (?:not found|plugin)"
"""What Spark says of `catalog.schema` if it knows no such catalog: without one it is a schema in a schema."""


def check_lasts(spark: SparkSession, root: str) -> None:
    """Raises NoSpark for a schema of a catalog that ends with this session."""
    is_sessions_own = is_schema(root) and root.startswith("spark_catalog.")
    if is_sessions_own and spark.conf.get(CATALOG, "in-memory") == "in-memory":
        raise NoSpark(
            "The catalog spark_catalog of this Spark session is in memory and ends with it; give Spark a metastore "
            f"({CATALOG}=hive), see docs/how-to-stores.md."
        )


def _text(text: str) -> str:
    """A text as Spark's SQL has it.

    >>> print(_text("Kafka's \\\\"))
    'Kafka\\'s \\\\'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def quoted(name: str) -> str:
    """A name of several parts as SQL has it.

    >>> quoted("main.kafka-logs.events")
    '`main`.`kafka-logs`.`events`'
    """
    return ".".join(f"`{part}`" for part in name.split("."))
