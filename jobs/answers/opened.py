"""One cluster's published tables, opened for an answer: its views, its streams, and what its logs do not cover."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jobs.nightly.summary_facts import Row, node_roles
from jobs.nightly.wording import Names
from jobs.read.create_views import identifier, literal, rows
from jobs.read.views import LAST_RUN, REGISTERED_BROKERS, open_views, the_cluster
from schemas.tables import BY_NAME
from udfs.logs.coverage import CoverageSpan, coverage_gaps_at

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ALWAYS = ("log_files", "log_coverage", "runs", "broker_timeline", "partition_timeline")
"""Tables that each answer reads."""


@dataclass(frozen=True)
class OpenedCluster:
    """A cluster of a warehouse. Times are naive, in UTC."""

    root: str
    cluster: str
    views: DuckDBPyConnection
    streams: Sequence[Row]
    coverage: Sequence[CoverageSpan]
    published: frozenset[str]
    """Tables that the last run published; another one has no rows, which says nothing."""
    is_named: bool = False
    """Whether the cluster was named, as it must be where there are several."""

    def rows(self, query: str) -> list[dict[str, Any]]:
        """All rows of a query."""
        return rows(self.views, query)

    def has(self, table: str) -> bool:
        """Whether the warehouse has a table: one of a later release may be missing."""
        return table in BY_NAME and table in self.published

    def table(self, name: str, condition: str = "true", order: str = "") -> list[dict[str, Any]]:
        """Rows of a table that meet a condition, in an order, ties by its key; none if the warehouse lacks it."""
        if not self.has(name):
            return []
        orders = [*([order] if order else []), *map(identifier, BY_NAME[name].key)]
        return self.rows(f"FROM {name} WHERE {condition} ORDER BY {', '.join(orders)}")

    @property
    def first(self) -> datetime:
        """Time of the first record of the logs."""
        return min(span.since for span in self.coverage)

    @property
    def last(self) -> datetime:
        """Time of the last record of the logs."""
        return max(span.until for span in self.coverage)

    def command(self, words: str) -> str:
        """A command to copy, over the same warehouse and cluster."""
        root = "" if self.root == "./warehouse" else f" --warehouse {shlex.quote(self.root)}"
        cluster = f" --cluster {shlex.quote(self.cluster)}" if self.is_named else ""
        return f"kafka-rewind {words}{cluster}{root}"

    @cached_property
    def names(self) -> Names:
        """How lines and times are written."""
        return Names(self.streams)

    def gaps_at(self, at: datetime) -> list[str]:
        """Which logs are missing at a moment, a sentence each."""
        return coverage_gaps_at(self.coverage, at, node_roles(self.streams), registered=self.registered)

    @cached_property
    def registered(self) -> list[int]:
        """Brokers that a controller registered and that a partition is on."""
        return [row["broker"] for row in self.rows(REGISTERED_BROKERS)]


@contextmanager
def open_cluster(
    root: str, cluster: str | None, tables: Collection[str], engine: str = "duckdb"
) -> Iterator[OpenedCluster]:
    """The only cluster of a warehouse, or the one of a name, with views of some tables.

    Raises BadInput if there is no such cluster, or several to choose from.
    """
    with open_views(root, cluster=cluster, only={*tables, *ALWAYS}, naive=True, engine=engine) as views:
        name = the_cluster(views, cluster)
        streams = rows(views, "FROM log_files ORDER BY path, file_id")
        spans = rows(views, f"SELECT {', '.join(CoverageSpan._fields)} FROM log_coverage ORDER BY ALL")
        coverage = [CoverageSpan(**span) for span in spans]
        yield OpenedCluster(root, name, views, streams, coverage, _published(views), cluster is not None)


def _published(views: DuckDBPyConnection) -> frozenset[str]:
    """Tables of which the last published run pins a version."""
    return frozenset(name for row in rows(views, LAST_RUN) for name in row["names"])


# ---- lines ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class LogLine:
    """A record that proves something, as it stands in a log."""

    place: str
    """`broker-3/state-change.log:5321`"""
    at: datetime | None
    """By the node's own clock."""
    level: str | None
    message: str | None
    """Null: the record is not among the events."""
    detail: str | None = None


Place = tuple[str, int]
"""Stream and line."""


def places(evidence: Iterable[Row] | None) -> tuple[Place, ...]:
    """The lines of a row's evidence."""
    return tuple((line["file_id"], line["line"]) for line in evidence or ())


def log_lines(opened: OpenedCluster, wanted: Collection[Place]) -> dict[Place, LogLine]:
    """Records by where they begin. One that is no event has no message."""
    if not wanted:
        return {}
    files = ", ".join(sorted({literal(file_id) for file_id, _ in wanted}))
    values = ", ".join(f"({literal(file_id)}, {line})" for file_id, line in sorted(set(wanted)))
    query = (
        'SELECT e.file_id, e.line, e."at", e.level, e.message, e.detail FROM events e'
        f" JOIN (VALUES {values}) v(file_id, line) ON e.file_id = v.file_id AND e.line = v.line"
        f" WHERE e.file_id IN ({files})"
    )
    records = {(row["file_id"], row["line"]): row for row in opened.rows(query)}
    lines = {}
    for file_id, line in wanted:
        place = opened.names.line({"file_id": file_id, "line": line})
        record = records.get((file_id, line), {})
        lines[file_id, line] = LogLine(
            place, record.get("at"), record.get("level"), record.get("message"), record.get("detail")
        )
    return lines
