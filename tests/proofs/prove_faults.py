"""Whatever happens to logs on their way here, each record of them is read once.

    PYTHONPATH=. python tests/proofs/prove_faults.py [CAPTURE ...]

A fault is what a folder holds on one to three nights, made of clean logs of a capture; after the last night the events
must be those of the clean logs: same node, time, text, none lost, none invented, none twice. All faults are clusters of
one warehouse, so that a night is one ingest. Prints a line for each fault that failed, and figures; exits with 1 if one
did.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.proofs.faults import FAULTS, Fault, Link, Logs, lines_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = next(p for p in (ROOT.parent / "shared" / "captures", ROOT / "data") if p.is_dir())
TRIED = ("zk-0.8.2.2", "zk-1.1.1", "zk-2.4.1", "zk-3.9.1", "kraft-4.1.0")
"""Captures of different layouts and eras; those that are there are tried."""

ADDED = (
    "[2026-11-21 23:59:5{i},000] ERROR [Controller id={node} epoch=9] Controller {node} epoch 9 failed to change state "
    "for partition pay-in-0 from OfflinePartition to OnlinePartition (state.change.logger)\n"
    "kafka.common.StateChangeFailedException: encountered error while electing leader\n"
    "\tat kafka.controller.PartitionStateMachine.electLeader(PartitionStateMachine.scala:360)\n"
    "Caused by: kafka.common.NoReplicaOnlineException: none is alive\n\t... 16 more\n"
    "[2026-11-21 23:59:5{i},001] INFO [Controller id={node} epoch=9] Nobody ever wrote this (state.change.logger)\n"
)
"""Added to each log: an event with a stack trace, and a record that no rule knows."""


BYTES = ("event_bytes", "detail_bytes", "reject_bytes", "other_bytes", "duplicate_bytes", "held_back_bytes")


KINDS = ("controller.log", "state-change.log", "state-change.log")


def logs_of(capture: Path, size: int, kinds: Sequence[str] = KINDS) -> dict[str, bytes]:
    """The first logs of a capture of these kinds that have `size` bytes, so many of each, with what is ADDED."""
    logs: dict[str, bytes] = {}
    folders = sorted(path for path in (capture / "logs").iterdir() if path.is_dir())
    for i, kind in enumerate(kinds):
        for folder in folders:
            name = f"{folder.name}/{kind}"
            path = folder / kind
            if name not in logs and path.is_file() and path.stat().st_size > size:
                added = ADDED.format(i=i, node=folder.name.rpartition("-")[2])
                logs[name] = lines_until(path.read_bytes(), size / path.stat().st_size) + added.encode()
                break
    return logs


@dataclass(frozen=True)
class Result:
    """What became of the events of a fault, and by how many its rejects differ from what they should be."""

    tried: int
    lost: Counter[Any]
    invented: Counter[Any]
    rejects: int

    @property
    def failed(self) -> bool:
        """Whether anything is wrong."""
        return bool(self.lost or self.invented or self.rejects)


def run(spark: SparkSession, root: Path, faults: Mapping[str, Fault], logs: Logs) -> dict[str, Result]:
    """Do faults to logs, all in one warehouse. Raises AssertionError if a byte is not accounted for."""
    from jobs.ingest.ingest import ingest
    from jobs.settings import Settings
    from jobs.warehouse.tables import Warehouse
    from udfs.logs.paths import find

    names = {f"fault-{i}": name for i, name in enumerate(faults)}
    settings = Settings(clusters={f"{root}/in/{short}/*": short for short in names})
    warehouse = Warehouse(spark, str(root / "warehouse"))
    for number in range(max(len(fault.nights) for fault in faults.values())):
        for short, name in names.items():
            if number < len(faults[name].nights):
                _fill(root / "in" / short, faults[name].nights[number](logs))
        ingest(warehouse, find([str(root / "in")]), settings, "default", str(number), lambda _: None)
        warehouse.versions |= warehouse.written
    for row in warehouse.read("log_files").collect():
        assert row["size_bytes"] == sum(row[column] for column in BYTES), row
    events: dict[str, Counter[Any]] = {short: Counter() for short in names}
    columns = ("node_id", "at", "level", "logger", "event_type", "message", "detail")
    for row in warehouse.read("events").select("cluster", *columns).collect():
        text = row["message"], (row["detail"] or "").replace("\r", "")  # CRLF between further lines stays
        events[row[0]][(*row[1:-2], *text)] += 1
    rejects = Counter(row[0] for row in warehouse.read("rejects").select("cluster").collect())
    clean = next(short for short, name in names.items() if name == "clean")
    return {
        name: Result(
            events[clean].total(),
            events[clean] - events[short],
            events[short] - events[clean],
            rejects[short] - rejects[clean] - faults[name].rejects * len(logs),
        )
        for short, name in names.items()
    }


def _fill(folder: Path, files: Mapping[str, bytes | Link]) -> None:
    """Put these files into a folder, and no others."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, Link):
            os.symlink(data.target, path)
        else:
            path.write_bytes(data)


def main() -> int:
    """The exit code."""
    from jobs.session import session

    captures = sys.argv[1:] or [name for name in TRIED if (CAPTURES / name).is_dir()]
    failed = 0
    with session() as spark:
        for capture in captures:
            begun = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                results = run(spark, Path(folder), FAULTS, logs_of(CAPTURES / capture, 60_000))
            wrong = {name: result for name, result in results.items() if result.failed}
            for name, r in wrong.items():
                print(f"{capture}, {name}: {r.lost.total()} lost, {r.invented.total()} too many, rejects {r.rejects:+}")
                for event in [*list(r.lost)[:1], *list(r.invented)[:1]]:
                    print("   ", *map(str, event))
            tried = sum(result.tried for result in results.values())
            lost, invented = (sum(getattr(r, what).total() for r in results.values()) for what in ("lost", "invented"))
            print(
                f"{capture}: {len(results)} faults, {tried} events tried, {lost} lost, {invented} invented or doubled; "
                f"{time.monotonic() - begun:.0f} s"
            )
            failed += len(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
