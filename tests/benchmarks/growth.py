"""What a night costs that brings one day, by how many days are in the warehouse already.

    PYTHONPATH=. python tests/benchmarks/growth.py [--day-mb 8] [--days 0 1 5 20] [--topics 100] [--quiet]

Logs are those of one consistent cluster (`generate_cluster.py`). For each number of days a first night reads all,
then a second one, in a session of its own, the day after. Printed are CPU seconds of the process tree by step, wall
seconds, Spark jobs, and the ratios to the night after one day and to the first night over a day alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cpu_time import cpu_seconds
from nights import Steps

from jobs.nightly.run import run
from jobs.session import expected_bytes, session
from jobs.settings import Settings
from jobs.warehouse.tables import open_warehouse
from schemas.ledger import STEPS
from tests.daily_cluster import DailyCluster


def night(root: str, logs: str) -> dict[str, Any]:
    """One night in a session of its own; what it cost."""
    begin, size = time.monotonic(), expected_bytes(path for path in Path(logs).rglob("*") if path.is_file())
    with session({"spark.master": "local[2]"}, size) as spark:
        steps = Steps()
        steps.spent["start"] = cpu_seconds()
        outcome = run(open_warehouse(spark, root, create=True), STEPS, Settings(), steps, logs=[logs])
        steps.end()
        if not outcome.published:
            raise SystemExit(f"the gate refused: {outcome.audit.failures if outcome.audit else ''}")
        java = spark.sparkContext._jsc.sc().dagScheduler().nextJobId()
        spent = {name: round(seconds, 1) for name, seconds in steps.spent.items() if name != "begin"}
        return {
            "cpu": round(cpu_seconds(), 1),
            "wall": round(time.monotonic() - begin),
            "jobs": int(java if isinstance(java, int) else java.intValue()),
            "mb": round(size / 1e6),
            **spent,
        }


def apart(root: Path, logs: Path) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--night", str(root), str(logs)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    cost: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return cost


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description="Measure nights of one day after histories of several lengths.")
    parser.add_argument("--day-mb", type=float, default=8)
    parser.add_argument("--days", type=int, nargs="+", default=[0, 1, 5, 20])
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--quiet", action="store_true", help="few topics change on the day that the night brings")
    parser.add_argument("--night", nargs=2, metavar=("ROOT", "LOGS"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.night:
        print(json.dumps(night(*asked.night)))
        return
    size, costs = int(asked.day_mb * 1e6), {}
    for days in asked.days:
        with tempfile.TemporaryDirectory() as folder:
            root, logs = Path(folder, "warehouse"), Path(folder, "logs")
            cluster = DailyCluster(logs, asked.topics)
            for _ in range(days):
                cluster.write_day(size)
            history = apart(root, logs) if days else None
            cluster.write_day(size, quiet=asked.quiet)
            costs[days] = apart(root, logs)
            print(f"{days} days: {costs[days]}" + (f"; the history: {history}" if history else ""), flush=True)
    for name, base in (("a day", 1), ("none", 0)):
        if base in costs:
            ratios = {days: round(cost["cpu"] / costs[base]["cpu"], 2) for days, cost in costs.items()}
            print(f"CPU as a multiple of that after {name}: {ratios}")


if __name__ == "__main__":
    main()
