"""The data gate: Great Expectations decides whether what was written may be published.

Spark counts the rows that violate each expectation; Great Expectations asserts that each count is 0. So a table of any
size costs one Spark aggregation, and the suites in `schemas.expectations` stay plain data.
"""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, reduce
from threading import Thread
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from jobs.warehouse.expectations import violated
from schemas.expectations import ALLOWED, SUITES, WRITTEN, Expectation
from schemas.table import Table
from schemas.tables import BY_NAME

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Failure:
    """An expectation that does not hold: how many rows violate it, the first of them as JSON, and whose they are."""

    name: str
    description: str
    rows: int
    examples: tuple[str, ...]
    clusters: tuple[str | None, ...]
    """Clusters of violating rows, sorted; None, the first, for rows of no cluster."""


@dataclass(frozen=True)
class Audit:
    """The gate's result: rows that violate each expectation, rows of each table, and the expectations that fail."""

    violations: Mapping[str, int]
    rows_by_cluster: Mapping[str, Mapping[str | None, int]]
    """By table and cluster."""
    failures: tuple[Failure, ...]

    @property
    def rows(self) -> dict[str, int]:
        """Rows of each table."""
        return {table: sum(by_cluster.values()) for table, by_cluster in self.rows_by_cluster.items()}

    @property
    def refused(self) -> frozenset[str | None]:
        """Clusters with rows that violate an expectation; None among them: rows of no cluster do."""
        return frozenset(cluster for failure in self.failures for cluster in failure.clusters)


@dataclass(frozen=True)
class WrittenStream:
    """A stream of which a run wrote records: from which line on, and the bytes and number of those before."""

    cluster: str
    file_id: str
    first_line: int = 1
    event_bytes: int = 0
    event_lines: int = 0
    reject_bytes: int = 0
    reject_lines: int = 0


def audit(
    tables: Mapping[str, DataFrame],
    max_reject_percent: int = 2,
    streams: Sequence[WrittenStream] | None = None,
    replaced: Mapping[str, str] | None = None,
    kept: Mapping[str, DataFrame] | None = None,
) -> Audit:
    """Count violations in each table, and let Great Expectations judge the counts.

    If `events` and `rejects` are among the tables, `log_files` is compared with their sums. `max_reject_percent`: see
    Settings. `streams`: of which records were written; None: of all. `replaced`: by table the condition of the rows
    that were written, if not all were. Others passed the gate before. `kept`: of tables that have only the rows that
    were written, the others, which are counted.
    """
    kept = kept or {}
    some = _written_rows(tables, streams, replaced or {})
    with ThreadPoolExecutor(4) as pool:
        library = pool.submit(_library)
        totals = {name: pool.submit(_rows_by_cluster, tables[name]) for name in some}
        counting_kept = pool.submit(_rows_by_table, kept)
        tables = {**tables, **some}
        counting = {name: pool.submit(_count, name, rows) for name, rows in tables.items() if name != "log_files"}
        if "log_files" in tables:
            sums = [counting[name].result()[1] for name in RECORDS if name in counting]
            written = sums if len(sums) == len(RECORDS) else (None, None)
            allowed = F.lit(max_reject_percent / 100)
            log_files = with_written(tables["log_files"], *written, streams=streams)
            tables["log_files"] = log_files.withColumn(ALLOWED, allowed)
            counting["log_files"] = pool.submit(_count, "log_files", tables["log_files"])
        counted = {name: counting[name].result()[0] for name in tables}
        before = counting_kept.result()
        gx = library.result()
    violating = {
        f"{table}.{e.name}": {cluster: n for cluster, counts in by_cluster.items() if (n := counts[e.name])}
        for table, by_cluster in counted.items()
        for e in SUITES[table]
    }
    violations = {name: sum(by_cluster.values()) for name, by_cluster in violating.items()}
    failing = _judge(gx, counted)
    failures = tuple(
        Failure(
            name := f"{table}.{e.name}",
            e.description,
            violations[name],
            _examples(BY_NAME[table], tables[table], e),
            tuple(sorted(violating[name], key=lambda cluster: (cluster is not None, cluster))),
        )
        for table in counted
        for e in SUITES[table]
        if f"{table}.{e.name}" in failing
    )
    row_counts: dict[str, Mapping[str | None, int]] = {
        table: {cluster: counts["rows"] for cluster, counts in by_cluster.items()}
        for table, by_cluster in counted.items()
    }
    row_counts |= {table: total.result() for table, total in totals.items()}
    row_counts |= {table: Counter(row_counts[table]) + Counter(rows) for table, rows in before.items()}
    return Audit(violations, row_counts, failures)


def prepare() -> None:
    """Let the library be imported, 2 s, while Spark does something else."""
    Thread(target=_library, daemon=True).start()


REJECTED = "log_files.reject_ratio"
"""The expectation that a log of a release that is not understood violates."""
RECORDS = ("events", "rejects")
"""Tables of records; each is counted by stream."""
Sums = dict[tuple[str | None, str | None], tuple[int, int]]
"""By cluster and stream the bytes and number of the records written."""
Counts = dict[str | None, dict[str, int]]
"""By cluster the number of `rows`, and of those that violate each expectation."""


def _count(table: str, rows: DataFrame) -> tuple[Counts, Sums]:
    """Rows of each cluster in a table, and those that violate each expectation; of records also sums by stream."""
    marked = rows.withColumns({f"bad_{e.name}": violated(BY_NAME[table], e) for e in SUITES[table]})
    bad = [F.coalesce(F.sum(F.col(f"bad_{e.name}").cast("int")), F.lit(0)).alias(e.name) for e in SUITES[table]]
    is_row = F.col("path") if table == "log_files" else F.lit(1)
    is_record = table in RECORDS
    sums = [F.sum("size_bytes").alias("bytes")] if is_record else []
    by = ["cluster", *(["file_id"] if is_record else [])]
    counts = marked.groupBy(*by).agg(F.count(is_row).alias("rows"), *bad, *sums).collect()
    names = ["rows", *(e.name for e in SUITES[table])]
    by_cluster: Counts = {}
    for row in counts:
        of_cluster = by_cluster.setdefault(row["cluster"], dict.fromkeys(names, 0))
        for name in names:
            of_cluster[name] += int(row[name])
    if not is_record:
        return by_cluster, {}
    return by_cluster, {(r["cluster"], r["file_id"]): (int(r["bytes"] or 0), int(r["rows"])) for r in counts}


def _rows_by_cluster(rows: DataFrame) -> dict[str | None, int]:
    """Number of rows of each cluster."""
    return {row["cluster"]: row["count"] for row in rows.groupBy("cluster").count().collect()}


def _rows_by_table(tables: Mapping[str, DataFrame]) -> dict[str, dict[str | None, int]]:
    """By table and cluster the number of rows, in one query."""
    counts = [rows.groupBy("cluster").count().withColumn("table", F.lit(name)) for name, rows in tables.items()]
    by_table: dict[str, dict[str | None, int]] = {name: {} for name in tables}
    for row in reduce(lambda some, others: some.unionByName(others), counts).collect() if counts else ():
        by_table[row["table"]][row["cluster"]] = row["count"]
    return by_table


def _written_rows(
    tables: Mapping[str, DataFrame], streams: Sequence[WrittenStream] | None, replaced: Mapping[str, str]
) -> dict[str, DataFrame]:
    """Of tables of which a run wrote only some rows, these."""
    some = {name: rows.where(replaced[name]) for name, rows in tables.items() if name in replaced}
    records = {name: rows for name, rows in tables.items() if name in RECORDS and streams is not None}
    return some | {name: _written_records(rows, streams or ()) for name, rows in records.items()}


def _written_records(records: DataFrame, streams: Sequence[WrittenStream]) -> DataFrame:
    """The records of streams from the lines on from which they were written."""
    first_lines = records.sparkSession.createDataFrame(
        [(stream.cluster, stream.file_id, stream.first_line) for stream in streams],
        "cluster string, file_id string, first_line long",
    )
    joined = records.join(F.broadcast(first_lines), ["cluster", "file_id"])
    return joined.where("line >= first_line").select(*records.columns)


def with_written(
    log_files: DataFrame,
    events: Sums | None,
    rejects: Sums | None,
    *,
    streams: Sequence[WrittenStream] | None = None,
) -> DataFrame:
    """LOG_FILES with the columns WRITTEN: sums over the records of each stream; null if they were not counted.

    A stream that has records but no row gets one, without an account. `streams`: those that were counted, and what is
    before the records that were; None: all.
    """
    if events is None or rejects is None:
        return log_files.withColumns({name: F.lit(None).cast("long") for name in WRITTEN})
    spark = log_files.sparkSession
    names = ["cluster", "file_id", *WRITTEN]
    before = {(s.cluster, s.file_id): s for s in streams or ()}
    sums = []
    for key in sorted({*events, *rejects, *before}, key=str):
        of_events, of_rejects = events.get(key, (0, 0)), rejects.get(key, (0, 0))
        known = before.get((str(key[0]), str(key[1])), WrittenStream("", ""))
        sums.append(
            (
                *key,
                of_events[0] + known.event_bytes,
                of_events[1] + known.event_lines,
                of_rejects[0] + known.reject_bytes,
                of_rejects[1] + known.reject_lines,
            )
        )
    written = spark.createDataFrame(sums, ", ".join(f"{n} {'long' if n in WRITTEN else 'string'}" for n in names))
    joined = log_files.join(written, ["cluster", "file_id"], "full")
    if streams is not None:
        return joined
    return joined.withColumns({name: F.coalesce(name, F.lit(0)) for name in WRITTEN})


def _examples(table: Table, rows: DataFrame, expectation: Expectation, most: int = 3) -> tuple[str, ...]:
    """The first violating rows as JSON, in the order of these texts."""
    violating = rows.withColumn("bad", violated(table, expectation)).where("bad")
    examples = violating.select(F.to_json(F.struct(*expectation.columns)).alias("row")).orderBy("row").limit(most)
    return tuple(row["row"] for row in examples.collect())


@cache
def _library() -> Any:
    """Great Expectations, silent: no usage statistics, no progress bars, no log lines of its own."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    with _main_module_has_file():
        import great_expectations as gx

    return gx


@contextmanager
def _main_module_has_file() -> Iterator[None]:
    """Let the main module have a `__file__`, which it has not where a host runs Python: PySpark 4.2 takes that for its
    own doctests, and ends the process with exit code 0 as somebody imports Spark Connect without grpc
    (`pyspark.sql.connect.utils.check_dependencies`)."""
    main_module = sys.modules["__main__"]
    if hasattr(main_module, "__file__"):
        yield
        return
    main_module.__file__ = ""
    try:
        yield
    finally:
        del main_module.__file__


def _judge(gx: Any, counted: Mapping[str, Counts]) -> set[str]:
    """Names of the expectations that fail: one suite over the number of rows that violate each of them."""
    import pandas as pd

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    totals = {
        f"{table}.{e.name}": sum(of_cluster[e.name] for of_cluster in by_cluster.values())
        for table, by_cluster in counted.items()
        for e in SUITES[table]
    }
    frame: pd.DataFrame = pd.DataFrame([totals])
    asset = context.data_sources.add_pandas("audit").add_dataframe_asset("counts")
    suite = gx.ExpectationSuite("audit")
    for name in totals:
        suite.add_expectation(gx.expectations.ExpectColumnMaxToBeBetween(column=name, max_value=0))
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
    return {r.expectation_config.kwargs["column"] for r in batch.validate(suite).results if not r.success}
