"""Which rows violate an expectation of `schemas.expectations`, as Columns over the table alone.

All windows of a table go by its one row order, so that Spark sorts it once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_

from pyspark.sql import Column, Window, WindowSpec
from pyspark.sql import functions as F

from schemas.expectations import ALLOWED, BYTES, WRITTEN, Expectation, row_order
from schemas.table import Table


def violated(table: Table, expectation: Expectation) -> Column:
    """Whether a row violates an expectation of its table; null counts as no."""
    condition = expectation.condition or expectation.name
    if condition in OF_ANY_TABLE:
        return OF_ANY_TABLE[condition](table, expectation)
    return OF_ONE_TABLE[condition]()


def _window(table: Table) -> WindowSpec:
    by, order = row_order(table)
    return Window.partitionBy(*by).orderBy(*order)


def _has_equal_before(table: Table, _: Expectation) -> Column:
    """Whether the row before has the same key: rows of equal keys are neighbours."""
    window = _window(table)
    rest = [name for name in table.key if name not in row_order(table).by]
    is_not_first = F.row_number().over(window) > 1
    return reduce(lambda same, name: same & F.col(name).eqNullSafe(F.lag(name).over(window)), rest, is_not_first)


def _is_null(_: Table, expectation: Expectation) -> Column:
    return reduce(or_, (F.col(name).isNull() for name in expectation.about), F.lit(False))


def _overlaps_next(table: Table, _: Expectation) -> Column:
    return F.coalesce(F.col("until") > F.lead("since").over(_window(table)), F.lit(False))


def _falls(table: Table, expectation: Expectation) -> Column:
    (name,) = expectation.about
    return F.coalesce(F.col(name) < F.lag(name).over(_window(table)), F.lit(False))


def _ends_before_it_begins(_: Table, __: Expectation) -> Column:
    return F.coalesce(F.col("until") < F.col("since"), F.lit(False))


def _lacks_evidence(_: Table, __: Expectation) -> Column:
    return F.coalesce(F.size("evidence"), F.lit(0)) < 1


OF_ANY_TABLE: Mapping[str, Callable[[Table, Expectation], Column]] = {
    "keys_unique": _has_equal_before,
    "keys_known": _is_null,
    "no_overlap": _overlaps_next,
    "since_before_until": _ends_before_it_begins,
    "monotone": _falls,
    "has_evidence": _lacks_evidence,
}
"""Conditions that fit any table with the columns they need."""


def _differs_from_written() -> Column:
    """Whether a stream's account differs from the records written; null sums: they were not counted."""
    account = (
        F.col("event_bytes") + F.col("detail_bytes"),
        F.col("event_lines"),
        F.col("reject_bytes"),
        F.col("reject_lines"),
    )
    differences = (~own.eqNullSafe(F.col(name)) for own, name in zip(account, WRITTEN, strict=True))
    return F.col(WRITTEN[0]).isNotNull() & reduce(or_, differences, F.lit(False))


def _has_too_many_rejects() -> Column:
    return (
        ~F.col("status").eqNullSafe("truncated")
        & (F.col("reject_lines") > 20)
        & (F.col("reject_lines") > F.col(ALLOWED) * (F.col("reject_lines") + F.col("event_lines")))
    )


def _is_no_verdict() -> Column:
    is_unexplained = (F.col("verdict") == "unknown") & (F.size("missing_inputs") < 1)
    return ~F.col("verdict").isin("holds", "violated", "unknown") | is_unexplained


OF_ONE_TABLE: Mapping[str, Callable[[], Column]] = {
    "bytes_accounted": lambda: F.col("size_bytes") != sum((F.col(name) for name in BYTES), F.lit(0)),
    "as_written": _differs_from_written,
    "reject_ratio": _has_too_many_rejects,
    "of_one_cluster": lambda: F.col("cluster_incarnation") < 0,
    "typed": lambda: F.col("event_type").isNull() | F.col("logger").isNull(),
    "leader_if_succeeded": lambda: F.col("succeeded") & F.col("leader").isNull(),
    "changes_something": lambda: F.when(F.col("kind") == "shrink", F.size("removed") < 1).otherwise(
        F.size("added") < 1
    ),
    "received_before_handled": lambda: F.coalesce(F.col("handled_at") < F.col("received_at"), F.lit(False)),
    "bounds_in_order": lambda: F.coalesce(F.col("offset_ms_min") > F.col("offset_ms_max"), F.lit(False)),
    "three_valued": _is_no_verdict,
}
"""Conditions of one table's own expectations."""
