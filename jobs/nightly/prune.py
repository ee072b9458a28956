"""`prune`: events and rejects of long ago go, what was derived of them stays, and stays right in later nights.

Of a pruned cluster a night works out at most the window that begins where its events do (`jobs.nightly.windows`), so
what goes are the events that such a window does without: all but those since shortly before the time, lines that name
no partition, assignments, and what rows that last beyond the time rest on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from jobs.nightly.optimize import publish_upkeep, vacuum
from jobs.nightly.sql_literals import time_literal
from jobs.nightly.window_events import events_in
from jobs.nightly.windows import Windows, any_window, hour_of, windows_before
from jobs.read.published import nothing_published
from jobs.timelines.clocks import time_of
from jobs.warehouse.tables import Warehouse
from schemas.ingest import EVENTS, REJECTS
from udfs.describe.snapshot import iso
from udfs.errors import BadInput

if TYPE_CHECKING:
    from udfs.merge.times import Moment

STEP = "prune"


@dataclass(frozen=True)
class Pruned:
    """What went of a table: its rows before and after."""

    table: str
    before: int
    after: int


@dataclass(frozen=True)
class Pruning:
    """By cluster the time before which it was pruned, what went of each table, and by other cluster why nothing did."""

    times: Mapping[str, datetime]
    tables: tuple[Pruned, ...]
    left: Mapping[str, str]


def prune(
    warehouse: Warehouse, asked: Moment, only: str | None, keep_hours: float, say: Callable[[str], None]
) -> Pruning:
    """Delete events and rejects from before a time, of one cluster or all, publish that, and remove files that nobody
    reads any more.

    A relative time counts from the last event. Raises BadInput if nothing is published, a step is out of date, there is
    no such cluster, or the time is after all events.
    """
    if not warehouse.versions:
        raise nothing_published(warehouse.root)
    if late := sorted({name for names in warehouse.pending.values() for name in names}):
        raise BadInput(f"Tables of {', '.join(late)} are out of date; run a `nightly` over the warehouse first.")
    started = datetime.now(UTC).replace(tzinfo=None)
    for name in warehouse.roll_back():
        say(f"{name} was rolled back: an earlier run was not published")
    clusters = _clusters(warehouse, only)
    time = _moment_in(warehouse, asked)
    before = hour_of(time)
    left = _left(warehouse, clusters, before)
    windows = windows_before(warehouse, dict.fromkeys(clusters - left.keys(), before))
    left |= dict.fromkeys(clusters - left.keys() - windows.keys(), nothing_before(time))
    if not windows:
        return Pruning({}, (), left)
    counts = [_prune_events(warehouse, windows), _prune_rejects(warehouse, windows)]
    warehouse.pruned |= {cluster: window.seal for cluster, window in windows.items()}
    rows = {**warehouse.rows, **{pruned.table: pruned.after for pruned in counts}}
    publish_upkeep(warehouse, STEP, started, {**warehouse.versions, **warehouse.written}, rows)
    vacuum(warehouse, [pruned.table for pruned in counts], keep_hours)
    return Pruning({cluster: window.seal for cluster, window in windows.items()}, tuple(counts), left)


def _clusters(warehouse: Warehouse, only: str | None) -> set[str]:
    """The clusters to prune. Raises BadInput if there is not the one that was asked for."""
    clusters = {row["cluster"] for row in warehouse.read("log_files").select("cluster").distinct().collect()}
    if only is not None and only not in clusters:
        raise BadInput(f"There is no cluster {only!r} in {warehouse.root}; there are {', '.join(sorted(clusters))}.")
    return clusters if only is None else {only}


def _moment_in(warehouse: Warehouse, asked: Moment) -> datetime:
    """The time that was asked for. Raises BadInput if it is after all events."""
    last = warehouse.read("events").agg(F.unix_micros(F.max("at")).alias("last")).collect()[0]["last"]
    if last is None:
        raise BadInput(f"There are no events in {warehouse.root}.")
    moment = asked.before(last)
    micros = moment.utc if moment.local is None else moment.local
    if micros is None or micros > last:
        raise BadInput(
            f"The last event is from {time_of(last):%F %T}: to prune what is before a later time would leave none."
        )
    return time_of(max(micros, 0)).replace(tzinfo=None)  # nothing was logged before 1970


def nothing_before(time: datetime) -> str:
    """Why a cluster is not pruned whose events all begin in the hour of a time, or later.

    >>> nothing_before(datetime(2026, 8, 21, 12, 14))
    'it has no event from before 2026-08-21 12:00, and whole hours are pruned'
    """
    hour = hour_of(time)
    return f"it has no event from before {hour:%F %H:%M}{', and whole hours are pruned' if time != hour else ''}"


def _left(warehouse: Warehouse, clusters: Iterable[str], before: datetime) -> dict[str, str]:
    """By cluster why it is not pruned."""
    offsets = warehouse.read("clock_offsets").where("size(applied) > 0").select("cluster").distinct()
    left = {row["cluster"]: "a clock is corrected, by all lines that compare it" for row in offsets.collect()}
    for cluster, time in warehouse.pruned.items():
        if time >= before:
            left[cluster] = f"it was pruned before {time:%F %H:%M}"
    return {cluster: why for cluster, why in left.items() if cluster in clusters}


def _prune_events(warehouse: Warehouse, windows: Windows) -> Pruned:
    """Delete the events that the windows do without."""
    events, is_old = warehouse.read("events"), _before(windows, "at")
    before = events.count()
    warehouse.write(EVENTS, events_in(windows, events.where(is_old), warehouse), replace=is_old)
    return Pruned("events", before, warehouse.newest("events").count())


def _prune_rejects(warehouse: Warehouse, windows: Windows) -> Pruned:
    """Delete the rejects from before the windows, and those without a time of streams that ended before."""
    before = warehouse.read("rejects").count()
    if before:
        ended = warehouse.read("log_files").where(_before(windows, "last_at"))
        warehouse.delete(REJECTS, _before(windows, "at"))
        warehouse.delete_rows(REJECTS, ended.select("cluster", "file_id"))
    return Pruned("rejects", before, warehouse.newest("rejects").count() if before else 0)


def _before(windows: Windows, column: str) -> str:
    """Condition: rows of the windows' clusters whose time in a column is before their window."""
    return any_window(windows, lambda window: f"{column} < {time_literal(window.begin)}")


def pruning_data(pruning: Pruning) -> dict[str, Any]:
    """The same for programs: `pruned`, by cluster the time; `tables`, rows before and after; `left`, by cluster why."""
    return {
        "pruned": {cluster: iso(time) for cluster, time in sorted(pruning.times.items())},
        "tables": [asdict(table) for table in pruning.tables],
        "left": dict(sorted(pruning.left.items())),
    }


def pruning_text(pruning: Pruning) -> str:
    """What was pruned, and what was not."""
    times = [f"  {cluster}: before {time:%F %H:%M}" for cluster, time in sorted(pruning.times.items())]
    tables = [f"  {t.table:<8} {t.before:>13,} rows are {t.after:,} now" for t in pruning.tables]
    if tables and all(t.before == t.after for t in pruning.tables):
        tables.append("  none was older than the six hours of logs before that time, which are kept")
    left = [f"{cluster} stays as it is: {why}." for cluster, why in sorted(pruning.left.items())]
    return "\n".join([*(["Pruned:", *times, *tables] if times else []), *left])
