"""Every capture's actions against its incidents: `python tests/proofs/prove_incidents.py [--keep DIR] [CAPTURE...]`.

Prints by capture what was found of what was injected (kills, pauses past the session timeout, shutdowns, failed log
directories, deleted controller znodes), what was not, and incidents that no action caused; then how many outages have
a cause, unclean elections of the truth and of the incidents, and reassignments that were left pending. Fails if an
action has no incident of its node and begin. `--keep DIR`: warehouses are kept there; one that is there is not made
again.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.nightly.run import nightly
from jobs.session import session
from jobs.settings import Settings
from jobs.warehouse.tables import open_warehouse
from tests.proofs.captures import capture_folders
from tests.proofs.injected import controller_steps, injected, is_deletion, match, read_actions
from tests.proofs.prove_truth import compare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from jobs.warehouse.tables import Warehouse


def milliseconds(at: datetime | None) -> int | None:
    """A time of a table as milliseconds since 1970."""
    return (
        None if at is None else (at.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    )


def incidents_in(warehouse: Warehouse) -> list[dict[str, Any]]:
    """Rows of INCIDENTS, times in ms."""
    rows = [row.asDict(recursive=True) for row in warehouse.read("incidents").collect()]
    for row in rows:
        row |= {name: milliseconds(row[name]) for name in ("since", "until", "began_after")}
        row["steps"] = [{**step, "at": milliseconds(step["at"])} for step in row["steps"]]
    return rows


def prove(warehouse: Warehouse, capture: Path, truth: Any) -> int:
    """Print the figures of one capture; the number of actions that no incident has."""
    actions, incidents = read_actions(capture), incidents_in(warehouse)
    rows, left = match(injected(actions, truth.tables), incidents)
    missing = [
        row
        for row in rows
        if not row.incidents and not (row.kind == "controller" and controller_steps(incidents, row.node, row.ms))
    ]
    unexplained = [row for row in left if not is_deletion(row, actions)]
    kinds, absent = Counter(row.kind for row in rows), Counter(row.kind for row in missing)
    counts_text = ", ".join(f"{kind} {kinds[kind] - absent[kind]}/{kinds[kind]}" for kind in sorted(kinds))
    print(
        f"{capture.name}: {counts_text}; {len(incidents)} incidents, {len(left) - len(unexplained)} waits for deletions"
    )
    for row in missing:
        print(f"  no incident: {row.kind} of {row.node} at {row.ms}")
    for incident in unexplained:
        print(f"  of no action: {incident['incident_id']}: {incident['title']}")
    causes = Counter(row["cause"] is not None for row in warehouse.read("offline_partitions").select("cause").collect())
    unclean = sum(row["unclean"] for row in truth.tables["elections"])
    print(
        f"  outages with a cause: {causes[True]}/{causes.total()}; unclean elections: "
        f"{sum(row['unclean_elections'] for row in incidents)}/{unclean}; reassignments that waited: "
        f"{sum(row['reassignments_blocked'] for row in incidents)}, left pending: "
        f"{sum(row['action'] == 'reassign_pending' for row in actions)}"
    )
    return len(missing)


def warehouse_of(spark: SparkSession, capture: Path, folder: Path) -> Warehouse:
    """The warehouse of a capture's logs, made where there is none."""
    warehouse = open_warehouse(spark, str(folder / capture.name / "warehouse"), create=True)
    if not warehouse.last_run:
        nightly(warehouse, [str(capture / "logs")], Settings(), "default", lambda _: None)
        warehouse = open_warehouse(spark, str(folder / capture.name / "warehouse"), create=False)
    return warehouse


def main(arguments: list[str]) -> int:
    """0 if all actions are incidents."""
    keep = Path(arguments[arguments.index("--keep") + 1]) if "--keep" in arguments else None
    names = [name for name in arguments if not name.startswith("--") and (keep is None or name != str(keep))]
    scorer, missing = compare(), 0
    with session() as spark, tempfile.TemporaryDirectory() as passing, capture_folders(names) as captures:
        for capture in captures:
            warehouse = warehouse_of(spark, capture, keep or Path(passing))
            missing += prove(warehouse, capture, scorer.Truth(str(capture)))
    print(f"\n{missing} actions without an incident")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
