"""`optimize`: a year of nights leaves many small files; this makes few large ones of them, and removes the old."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from delta.tables import DeltaTable

from jobs.read.published import nothing_published
from jobs.session import cores_at_most, with_settings
from jobs.version import product_version
from jobs.warehouse.stored_tables import WRITERS
from jobs.warehouse.tables import Warehouse
from schemas.ledger import RUNS
from schemas.tables import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

STEP = "optimize"
_VACUUM = {
    # Delta's own guard against a time shorter than a week
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # else it adds two versions to each table, which no run pins
    "spark.databricks.delta.vacuum.logging.enabled": "false",
}
"""Settings of Spark while old files are removed."""


@dataclass(frozen=True)
class Compaction:
    """What became of a table: its files before and after."""

    table: str
    before: int
    after: int


def compact(warehouse: Warehouse, keep_hours: float, say: Callable[[str], None]) -> list[Compaction]:
    """Make few files of many in each published table, publish that, and remove files that nobody reads any more.

    Readers see the same rows before and after. What the last published run pinned is never removed, nor what another
    version needed in the last `keep_hours`, for whoever began to read then. Raises BadInput if nothing is published.
    """
    if not warehouse.versions:
        raise nothing_published(warehouse.root)
    started = datetime.now(UTC).replace(tzinfo=None)
    for name in warehouse.roll_back():
        say(f"{name} was rolled back: an earlier run was not published")
    names = [name for name in BY_NAME if name in warehouse.versions]
    with ThreadPoolExecutor(WRITERS) as pool:
        compactions = list(pool.map(lambda name: _compacted(warehouse, name), names))
    versions = {**warehouse.versions, **warehouse.written}
    if versions != warehouse.versions:
        publish_upkeep(warehouse, STEP, started, versions, warehouse.rows)
    compactions.append(_compacted(warehouse, RUNS.name))
    vacuum(warehouse, [*names, RUNS.name], keep_hours)
    return compactions


def _compacted(warehouse: Warehouse, name: str) -> Compaction:
    """Compact one table; its rows stay as they are."""
    table = warehouse.stored.delta(name)
    before = _files(table)
    if before > 1:
        warehouse.compact(name, lambda: table.optimize().executeCompaction())
    return Compaction(name, before, _files(table) if before > 1 else before)


def _files(table: DeltaTable) -> int:
    """How many files hold the newest version of a table."""
    detail = table.detail().first()
    assert detail is not None  # of each table one row
    return int(detail["numFiles"])


def publish_upkeep(
    warehouse: Warehouse, step: str, started: datetime, versions: Mapping[str, int], rows: Mapping[str, int]
) -> None:
    """Let readers see what upkeep wrote: all else is as the last published run left it."""
    warehouse.publish(
        {
            "started_at": started,
            "finished_at": datetime.now(UTC).replace(tzinfo=None),
            "version": product_version(),
            "steps": [step],
            "clusters": [],
            "refused": [],
            "inputs": [],
            "table_versions": versions,
            "rows": dict(rows),
            "expectations": {},
            "pending": warehouse.pending,
            "derived_with": warehouse.derived_with,
            "status": "published",
        }
    )
    warehouse.versions, warehouse.rows = dict(versions), dict(rows)


def vacuum(warehouse: Warehouse, names: list[str], keep_hours: float) -> None:
    """Remove files that no version of the last hours has."""
    spark = warehouse.spark
    # a table has one folder or few; Spark would begin 10,000 tasks for each to list them
    listing = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": str(cores_at_most(spark))}
    with with_settings(spark, {**_VACUUM, **listing}):
        for name in names:
            warehouse.stored.delta(name).vacuum(keep_hours)


def compaction_data(compactions: Sequence[Compaction]) -> dict[str, Any]:
    """What was done for programs: of each table its files before and after."""
    return {"tables": [asdict(compaction) for compaction in compactions]}


def compaction_text(compactions: list[Compaction]) -> str:
    """What was done, on a line for each table that changed."""
    changed = [c for c in compactions if c.after != c.before]
    lines = [f"  {c.table:<28} {c.before:>6,} files are {c.after:,} now" for c in changed]
    same = len(compactions) - len(changed)
    if not changed:
        return "Nothing to compact: all tables have as few files as they need."
    return "\n".join(["Compacted:", *lines, f"  {same} other tables have as few files as they need."])
