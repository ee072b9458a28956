"""What the replay costs: its share of a night, and whether that grows as the decisions do.

    PYTHONPATH=. python tests/benchmarks/replay.py [--night-mb 300] [--decisions 200000 2000000]

A first night runs over copies of a capture (`generate_logs.py`, each copy a day with topics of its own), and CPU
seconds of the process tree are printed by step. Then the tables of a night over one copy are multiplied, each time with
other topics, until the replay comes to as many verdicts as asked for: printed are its CPU microseconds by verdict, as
a ratio to those at the smallest of these numbers, and the largest resident memory of Python's workers.
"""

from __future__ import annotations

import argparse
import math
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from cpu_time import cpu_seconds, worker_megabytes
from generate_logs import CAPTURE, generate
from nights import night
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.nightly.incremental import Scope
from jobs.nightly.inputs import DerivationInputs
from jobs.nightly.steps import STEP_SETTINGS, write_verdicts
from jobs.nightly.work import Work
from jobs.session import expected_bytes, session, size_session, with_settings
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse, open_warehouse

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

TABLES = (
    "log_files", "log_coverage", "events", "clock_offsets", "controller_timeline", "broker_timeline", "topic_timeline",
    "partition_timeline", "elections", "reassignments", "offline_partitions",
)  # fmt: skip
"""What the replay reads."""
LIMIT = 1.3
"""As many times the CPU of the smallest number of decisions a verdict may cost at the largest."""


def share_of_a_night(spark: SparkSession, folder: Path, megabytes: int) -> None:
    """Print the steps of a first night over so many megabytes of logs."""
    size = generate(CAPTURE / "logs", folder / "logs", megabytes * 10**6)
    spent = night(spark, folder / "night", folder / "logs").spent
    total = sum(spent.values())
    steps = "  ".join(f"{step} {seconds:.1f}" for step, seconds in spent.items())
    print(f"night over {size / 1e6:.0f} MB: {total:.1f} CPU s  {steps}")
    print(f"replay: {spent['replay'] / total:.1%} of it", flush=True)


# ---- linearity ------------------------------------------------------------------------------------------------------
def multiplied(rows: DataFrame, times: int) -> DataFrame:
    """Rows about topics, so many times, each time about other topics; rows about none stay once."""
    names = [name for name in ("topic", "topic_id") if name in rows.columns]
    if not names:
        return rows
    lists = "partitions" in rows.columns and isinstance(rows.schema["partitions"].dataType, T.ArrayType)
    is_about_topics = F.col("topic").isNotNull() | (F.col("partitions").isNotNull() if lists else F.lit(False))
    copies = rows.sparkSession.range(times).withColumnRenamed("id", "_copy")
    copied = rows.where(is_about_topics).crossJoin(copies).withColumns({name: _renamed(F.col(name)) for name in names})
    if lists:
        renamed = F.transform("partitions", lambda p: p.withField("topic", _renamed(p["topic"])))
        copied = copied.withColumn("partitions", renamed)
    return copied.select(*rows.columns).unionByName(rows.where(~is_about_topics))


def _renamed(name: Column) -> Column:
    return F.concat(name, F.lit("-"), F.col("_copy"))


class Replay(Work):
    """The step as a night does it; its rows are counted as they are saved."""

    def write(self, tables):  # type: ignore[no-untyped-def]  # as `Work.write`
        tables["verdicts"]().write.mode("overwrite").parquet(f"{self.warehouse.root}/verdicts.parquet")


def replayed(spark: SparkSession, base: Warehouse, root: Path, times: int) -> tuple[int, float, float, float]:
    """The replay over multiplied tables: verdicts, CPU seconds, seconds, megabytes of the largest worker."""
    for table in TABLES:
        multiplied(base.read(table), times).write.format("delta").save(str(root / table))
    warehouse = Warehouse(spark, str(root))
    # the session is that of the night over one copy until now
    size_session(spark, times * expected_bytes(CAPTURE.rglob("*.log")))
    clusters = tuple(row["cluster"] for row in base.read("log_files").select("cluster").distinct().collect())
    begun, cpu = time.monotonic(), cpu_seconds()
    with with_settings(spark, STEP_SETTINGS), ThreadPoolExecutor(8) as pool:
        inputs = DerivationInputs(warehouse, clusters, measures_clocks=False)
        write_verdicts(Replay(warehouse, Settings(), inputs, Scope(clusters), pool))
    spent = cpu_seconds() - cpu, time.monotonic() - begun
    count = spark.read.parquet(f"{root}/verdicts.parquet").count()
    spark.catalog.clearCache()
    return count, *spent, worker_megabytes()


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description="Measure the replay's share of a night, and whether it is linear.")
    parser.add_argument("--night-mb", type=int, default=300, help="0: no night")
    parser.add_argument("--decisions", type=int, nargs="*", default=[200_000, 2_000_000])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, session({"spark.master": "local[2]"}, 10**8) as spark:
        folder = Path(scratch)
        night(spark, folder / "base", CAPTURE / "logs")
        base = open_warehouse(spark, str(folder / "base"), create=False)
        verdicts = base.read("verdicts").count()
        first: float | None = None
        print(f"{'times':>6}{'verdicts':>12}{'CPU s':>9}{'s':>8}{'us CPU':>9}{'ratio':>7}{'worker MB':>11}")
        for wanted in asked.decisions:
            times = math.ceil(wanted / verdicts)
            count, cpu, seconds, megabytes = replayed(spark, base, folder / "multiplied", times)
            each = cpu / count * 1e6
            first = each if first is None else first
            figures = f"{cpu:>9.1f}{seconds:>8.1f}{each:>9.1f}{each / first:>7.2f}{megabytes:>11.0f}"
            print(f"{times:>6}{count:>12,}{figures}", flush=True)
            shutil.rmtree(folder / "multiplied")
        if asked.night_mb:
            share_of_a_night(spark, folder, asked.night_mb)
        if first is not None and each > LIMIT * first:
            raise SystemExit(f"a verdict costs {each / first:.2f} times as much at {count:,} as at the smallest number")


if __name__ == "__main__":
    main()
