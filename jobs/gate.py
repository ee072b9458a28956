"""The data gate: Great Expectations says whether what was written may be seen.

Violations are counted natively, one number an expectation; Great Expectations asserts that each is 0. So a table of
any size costs one Spark aggregation, and the suites in `schemas.expectations` stay plain data.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from schemas.expectations import MEASURES, Expectation

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Failure:
    """An expectation that does not hold: how many rows violate it, and the first of them in words."""

    name: str
    says: str
    rows: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Audit:
    """What the gate found: rows that violate each expectation, rows of each table, and the failures."""

    violations: Mapping[str, int]
    rows: Mapping[str, int]
    failures: tuple[Failure, ...]


def audit(tables: Mapping[str, DataFrame]) -> Audit:
    """Count violations in each table, and let Great Expectations judge the counts."""
    with ThreadPoolExecutor(4) as pool:
        library = pool.submit(_library)
        counted = dict(zip(tables, pool.map(lambda item: _count(*item), tables.items()), strict=True))
        gx = library.result()
    violations = {f"{table}.{e.name}": counts[e.name] for table, counts in counted.items() for e in MEASURES[table]}
    broken = _judge(gx, counted)
    failures = tuple(
        Failure(f"{table}.{e.name}", e.says, counted[table][e.name], _examples(tables[table], e))
        for table in counted
        for e in MEASURES[table]
        if f"{table}.{e.name}" in broken
    )
    return Audit(violations, {table: counts["rows"] for table, counts in counted.items()}, failures)


def _count(table: str, rows: DataFrame) -> dict[str, int]:
    """Violating rows of each expectation of a table, and its rows."""
    measured = rows
    for expectation in MEASURES[table]:
        measured = measured.withColumn(f"bad_{expectation.name}", expectation.violated())
    sums = [F.coalesce(F.sum(F.col(f"bad_{e.name}").cast("int")), F.lit(0)).alias(e.name) for e in MEASURES[table]]
    row = measured.agg(F.count(F.lit(1)).alias("rows"), *sums).first()
    return {name: int(value) for name, value in (row.asDict() if row else {}).items()}


def _examples(rows: DataFrame, expectation: Expectation, most: int = 3) -> tuple[str, ...]:
    """The first violating rows, by their key, in words."""
    bad = rows.withColumn("bad", expectation.violated()).where("bad")
    shown = bad.select(F.to_json(F.struct(*expectation.shows)).alias("row")).orderBy("row").limit(most)
    return tuple(row["row"] for row in shown.collect())


def _library() -> Any:
    """Great Expectations, silent: no usage statistics, no progress bars, no log lines of its own."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    import great_expectations as gx

    return gx


def _judge(gx: Any, counted: Mapping[str, Mapping[str, int]]) -> set[str]:
    """Names of the expectations that fail, one suite a table."""
    import pandas as pd

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    source = context.data_sources.add_pandas("audit")
    broken: set[str] = set()
    for table, counts in counted.items():
        frame: pd.DataFrame = pd.DataFrame([{e.name: counts[e.name] for e in MEASURES[table]}])
        batch = source.add_dataframe_asset(table).add_batch_definition_whole_dataframe("all")
        suite = gx.ExpectationSuite(table)
        for expectation in MEASURES[table]:
            suite.add_expectation(gx.expectations.ExpectColumnMaxToBeBetween(column=expectation.name, max_value=0))
        result = batch.get_batch({"dataframe": frame}).validate(suite)
        broken |= {f"{table}.{r.expectation_config.kwargs['column']}" for r in result.results if not r.success}
    return broken
