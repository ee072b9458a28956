"""Every capture's actions against its incidents: `python tests/proofs/prove_incidents.py [--keep DIR] [CAPTURE...]`.

Prints by capture what was found of what was injected (kills, pauses past the session timeout, shorter ones by which a
broker was out of many ISRs, shutdowns, failed log directories, deleted controller znodes), what was not, and incidents
that no action caused; then how many outages have a cause that was done to its broker then, unclean elections of the
truth and of the incidents, and reassignments that were left pending. Fails if an action has no incident of its node and
begin, or an outage no such cause. The captures are clusters of one warehouse. `--keep DIR`: it is kept there, as by
`prove_truth.py`; one that is there is not made again.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from jobs.session import session
from tests.proofs.captures import capture_folders, warehouse_of
from tests.proofs.injected import controller_steps, injected, is_deletion, is_restart, match, read_actions, was_done
from tests.proofs.prove_truth import compare

if TYPE_CHECKING:
    from jobs.warehouse.tables import Warehouse


def milliseconds(at: datetime | None) -> int | None:
    """A time of a table as milliseconds since 1970."""
    return (
        None if at is None else (at.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    )


def incidents_in(warehouse: Warehouse, cluster: str) -> list[dict[str, Any]]:
    """Rows of INCIDENTS of a cluster, times in ms."""
    of_cluster = warehouse.read("incidents").where(F.col("cluster") == cluster)
    rows = [row.asDict(recursive=True) for row in of_cluster.collect()]
    for row in rows:
        row |= {name: milliseconds(row[name]) for name in ("since", "until", "began_after")}
        row["steps"] = [{**step, "at": milliseconds(step["at"])} for step in row["steps"]]
    return rows


def prove(warehouse: Warehouse, capture: Path, truth: Any) -> int:
    """Print the figures of one capture; the number of actions that no incident has."""
    actions, incidents = read_actions(capture), incidents_in(warehouse, capture.name)
    rows, left = match(injected(actions, truth.tables), incidents)
    missing = [
        row
        for row in rows
        if not row.incidents
        and not (row.kind == "controller" and controller_steps(incidents, row.node, row.ms))
        and not is_restart(incidents, row)
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
    names = ("topic", "since", "cause", "cause_broker", "cause_at", "cause_after")
    outages = warehouse.read("offline_partitions").where(F.col("cluster") == capture.name).select(*names).collect()
    timed = [
        row.asDict() | {name: milliseconds(row[name]) for name in ("since", "cause_at", "cause_after")}
        for row in outages
    ]
    unexpected = [row for row in timed if not was_done(row, actions)]
    for outage in unexpected:
        print(f"  nothing of that cause was done: {outage}")
    unclean = sum(row["unclean"] for row in truth.tables["elections"])
    print(
        f"  outages with the cause that was done: {len(timed) - len(unexpected)}/{len(timed)}; unclean elections: "
        f"{sum(row['unclean_elections'] for row in incidents)}/{unclean}; reassignments that waited: "
        f"{sum(row['reassignments_blocked'] for row in incidents)}, left pending: "
        f"{sum(row['action'] == 'reassign_pending' for row in actions)}"
    )
    return len(missing) + len(unexpected)


def main(arguments: list[str]) -> int:
    """0 if all actions are incidents."""
    keep = Path(arguments[arguments.index("--keep") + 1]) if "--keep" in arguments else None
    names = [name for name in arguments if not name.startswith("--") and (keep is None or name != str(keep))]
    scorer, missing = compare(), 0
    with session() as spark, tempfile.TemporaryDirectory() as passing, capture_folders(names) as folders:
        captures = {folder.name: folder for folder in folders if (folder / "truth.jsonl").exists()}
        logs = {name: folder / "logs" for name, folder in captures.items()}
        warehouse = warehouse_of(spark, logs, (keep or Path(passing)) / "logs" / "warehouse")
        for capture in captures.values():
            missing += prove(warehouse, capture, scorer.Truth(str(capture)))
    print(f"\n{missing} actions without an incident, or outages without their action")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
