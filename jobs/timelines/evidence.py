"""Columns that rows of all tables have: the lines that prove them, and lengths of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column

MOST_EVIDENCE = 8
"""Lines kept as evidence of a row: its earliest."""


def evidence(
    most: int = MOST_EVIDENCE, *, of: Column | None = None, once: bool = False, besides: Column | None = None
) -> Column:
    """Aggregate: the earliest lines of a group as EVIDENCE, of all its rows or of those of which `of` is true.

    `once`: no line is in it twice, which need not be looked for. `besides`: of rows of one time those of which it is
    true come last, as their lines show only a part of what the row is, and may be older than it.
    """
    line = F.struct("at", *([] if besides is None else [besides.alias("besides")]), "node_id", "line", "file_id")
    if of is not None:
        line = F.when(of, line)
    lines = F.sort_array(F.collect_list(line) if once else F.collect_set(line))
    return F.transform(
        F.slice(lines, 1, most),
        lambda e: F.struct(e["node_id"].alias("node_id"), e["file_id"].alias("file_id"), e["line"].alias("line")),
    )


def evidence_by(*order: str) -> Column:
    """Aggregate: the EVIDENCE of a group's rows, one behind the other, in the order of some columns of theirs; Spark
    collects rows of a group in any order."""
    rows = F.array_sort(F.collect_list(F.struct(*order, "evidence")))
    return F.flatten(F.transform(rows, lambda row: row["evidence"]))


def line_as_evidence() -> Column:
    """EVIDENCE of a row that is one line."""
    return F.array(F.struct("node_id", "file_id", "line"))


def milliseconds(since: str, until: str) -> Column:
    """Milliseconds between two time columns."""
    return ((F.unix_micros(until) - F.unix_micros(since)) / 1000).cast("long")
