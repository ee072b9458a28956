"""A night that brings new input of some topics, beside the same night that rebuilds its cluster as a whole.

    PYTHONPATH=. python tests/benchmarks/nights.py [--size-mb 150] [--rounds 1] [--ingest-only]

Logs are made of a capture, each copy a day with topics of its own (`generate_logs.py`). The first night has all days
but the last, which the second brings. Printed are CPU seconds of the process tree by step, for the second night in both
ways; with `--ingest-only` of its ingest alone, which is the same in both.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cpu_time import cpu_seconds
from generate_logs import CAPTURE, generate

import jobs.ingest.ingest
from jobs.nightly.run import run
from jobs.session import session
from jobs.settings import Settings
from jobs.warehouse.tables import open_warehouse
from schemas.ledger import STEPS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Steps:
    """CPU seconds by step, as a run tells what it begins."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self.reports: list[str] = []
        self._name, self._begun = "begin", cpu_seconds()

    def __call__(self, line: str) -> None:
        if not line.endswith(" ..."):
            self.reports.append(line)
            return
        self.end()
        self._name = line.removesuffix(" ...")

    def end(self) -> None:
        """What was begun last is done."""
        now = cpu_seconds()
        self.spent[self._name] = now - self._begun
        self._begun = now


def last_day_of(data: bytes) -> int:
    """Where the last day of a log begins."""
    day = data[data.rfind(b"\n[20") + 1 :][:11]
    return data.find(day) if day.startswith(b"[20") else len(data)


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(
        description="Measure a night by topics with new input beside one by whole clusters."
    )
    parser.add_argument("--size-mb", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--ingest-only", action="store_true")
    asked = parser.parse_args()
    worth, done = jobs.ingest.ingest.WORTH_BYTES, STEPS[:1] if asked.ingest_only else STEPS
    spent: dict[str, list[dict[str, float]]] = {"topics with new input": [], "whole": []}
    with tempfile.TemporaryDirectory() as folder:
        root, logs = Path(folder), Path(folder, "logs")
        size = generate(CAPTURE / "logs", logs, asked.size_mb * 10**6)
        late = {path: path.read_bytes() for path in sorted(logs.rglob("*.log"))}
        for path, data in late.items():
            path.write_bytes(data[: last_day_of(data)])
        with session({"spark.master": "local[2]"}, size) as spark:
            night(spark, root / "first", logs, done)
            for path, data in late.items():
                path.write_bytes(data)
            for _ in range(asked.rounds):
                for name, least in (("topics with new input", worth), ("whole", size + 1)):
                    jobs.ingest.ingest.WORTH_BYTES = least
                    shutil.copytree(root / "first", root / "second")
                    steps = night(spark, root / "second", logs, done)
                    spent[name].append(steps.spent)
                    print(f"{name}: {'; '.join(steps.reports)}", flush=True)
                    shutil.rmtree(root / "second")
    print(f"{size / 1e6:.0f} MB, {asked.rounds} rounds, CPU seconds of the process tree, medians")
    for name, rounds in spent.items():
        medians = {step: statistics.median(one.get(step, 0) for one in rounds) for step in rounds[0]}
        print(f"{name:18} {sum(medians.values()):7.1f}  " + "  ".join(f"{s} {v:.1f}" for s, v in medians.items()))


def night(spark: SparkSession, root: Path, logs: Path, done: Sequence[str] = STEPS) -> Steps:
    """A run of some steps."""
    steps = Steps()
    warehouse = open_warehouse(spark, str(root), create=True)
    outcome = run(warehouse, done, Settings(), steps, logs=[str(logs)])
    steps.end()
    if not outcome.published:
        raise SystemExit(f"the gate refused: {outcome.audit.failures if outcome.audit else ''}")
    return steps


if __name__ == "__main__":
    main()
