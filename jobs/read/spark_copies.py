"""Published tables copied by Spark, for whoever reads a warehouse that only Spark reaches (`--engine spark`)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jobs.read.published import Published, StoredRows, nothing_published
from jobs.session import session
from jobs.warehouse.location import expected_size, warehouse_at
from jobs.warehouse.tables import open_warehouse
from schemas.ledger import RUNS
from schemas.tables import BY_NAME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@contextmanager
def copied_tables(root: str, names: Collection[str]) -> Iterator[Published]:
    """Tables of a warehouse in a temporary folder, as its last published run left them. Spark has ended by then.

    Raises BadInput if there is no warehouse, or nothing was published in it.
    """
    root = warehouse_at(root, create=False)
    with tempfile.TemporaryDirectory(prefix="kafka-rewind-") as folder:
        with session(size_bytes=expected_size(root)) as spark:
            warehouse = open_warehouse(spark, root, create=False)
            if not warehouse.versions:
                raise nothing_published(root)
            copies = {
                name: StoredRows(BY_NAME[name].columns, _copy(warehouse.read(name), f"{folder}/{name}"))
                for name in names
                if name == RUNS.name or name in warehouse.versions
            }
        yield Published(root, warehouse.versions, str(warehouse.last_run), copies)


def _copy(rows: DataFrame, folder: str) -> list[str]:
    """Write rows to a local folder as Parquet files, at least one; their paths."""
    spark = rows.sparkSession
    if str(spark.sparkContext.master).startswith("local"):
        spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        rows.write.parquet(f"file://{folder}")
    else:  # workers elsewhere do not see our folder
        import pyarrow.parquet as pq

        os.makedirs(folder)
        pq.write_table(rows.toArrow(), f"{folder}/rows.parquet")
    return sorted(f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(".parquet"))
