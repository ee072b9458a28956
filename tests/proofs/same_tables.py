"""Whether two states of the code make the same tables of the same logs.

`python tests/proofs/same_tables.py make CHECKOUT FOLDER [CAPTURE...]` makes a warehouse of each capture of
../shared/captures (or data/, where that is absent) with the code of a checkout: FOLDER/CAPTURE from its logs, and
FOLDER/CAPTURE-dump from the metadata dump of a KRaft one. Warehouses that are there already are left as they are.

`python tests/proofs/same_tables.py compare BEFORE AFTER [--sentences] [--partial]` compares two such folders by
content: the published rows of each table, as multisets. Ids of streams stand for their paths; columns and values that
were renamed are mapped (RENAMED_COLUMNS, RENAMED_VALUES); `runs` is left out. Sentences (SENTENCES) are compared only
with `--sentences`; with `--partial` AFTER may lack warehouses. Exits with 1 if a row differs, and prints the first ones
of each table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = {
    ("verdicts", "explanation"),
    ("verdicts", "expected"),
    ("verdicts", "actual"),
    ("contradictions", "contradiction"),
    ("log_files", "findings"),
    ("rejects", "reason"),
}
"""Columns whose values are sentences for readers, by table."""
PER_RUN = {("log_files", "run_id"), ("log_files", "disk_state")}
"""Columns that differ from run to run."""
RENAMED_COLUMNS = {("rejects", "skeleton"): "signature"}
"""By table and old name the new name of a column."""
RENAMED_VALUES = {
    ("verdicts", "rule"): {
        "J1": "leader_in_isr",
        "J2": "one_leader_per_leader_epoch",
        "J3": "partition_epoch_grows",
        "J4": "controller_epoch_grows",
        "J5": "one_controller_per_epoch",
        "J6": "stored_controller_epoch_never_falls",
        "J7": "isr_within_replicas",
        "J8": "clean_candidate_first",
        "J9": "unclean_leader_alone",
        "J10": "preferred_leader_elected",
        "J12": "epoch_increments",
        "J13": "legal_transition",
        "J14": "elected_leader_online",
        "J15": "new_partition_state",
        "J17": "received_state_was_stored",
        "J19": "isr_joiner_online",
        "J20": "offline_gauge_matches",
        "J21": "elr_disjoint_from_isr",
        "J23": "broker_epoch_grows",
    }
}
"""By table and column the new value of an old one."""


def inputs(captures: list[str]) -> Iterator[tuple[str, Path]]:
    """By name of the warehouse the logs or the dump to make it of, of some captures or all."""
    shared = ROOT.parent / "shared" / "captures"
    folder = shared if shared.is_dir() else ROOT / "data"
    for capture in sorted(path.parent for path in folder.glob("*/logs")):
        if captures and capture.name not in captures:
            continue
        yield capture.name, capture / "logs"
        if (dump := capture / "metadata-dump.txt").exists():
            yield f"{capture.name}-dump", dump


def make(checkout: Path, folder: Path, captures: list[str]) -> int:
    """Run `nightly` of a checkout over each capture and dump; the exit code."""
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve())}
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, logs in inputs(captures):
        warehouse = (folder / name).resolve()
        if (warehouse / "runs").is_dir():
            print(f"{name}: there already")
            continue
        command = [sys.executable, "-m", "jobs.cli", "nightly", str(logs.resolve()), "--warehouse", str(warehouse)]
        done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
        (folder / f"{name}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
        print(
            f"{name}: {'made' if done.returncode == 0 else f'exit code {done.returncode}, see {name}.txt'}", flush=True
        )
        failed += done.returncode != 0
    return 1 if failed else 0


def published(warehouse: Path) -> dict[str, int]:
    """By table the Delta version that the last published run pins."""
    runs = DeltaTable(str(warehouse / "runs")).to_pyarrow_table(columns=["run_id", "status", "table_versions"])
    last = max((run for run in runs.to_pylist() if run["status"] == "published"), key=lambda run: int(run["run_id"]))
    return dict(last["table_versions"])


def path_by_id(warehouse: Path, version: int) -> dict[str, str]:
    """By stream its path."""
    table = DeltaTable(str(warehouse / "log_files"), version=version).to_pyarrow_table(columns=["file_id", "path"])
    return {row["file_id"]: row["path"] for row in table.to_pylist()}


def comparable(value: Any, paths: dict[str, str]) -> Any:
    """A value as JSON can hold it, ids of streams as paths."""
    if isinstance(value, dict):
        return {
            name: comparable(paths.get(inner, inner) if name == "file_id" else inner, paths)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [comparable(element, paths) for element in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def rows_of(warehouse: Path, table: str, version: int, paths: dict[str, str], *, sentences: bool) -> Counter[str]:
    """The rows of a table, as a multiset of JSON texts."""
    counts: Counter[str] = Counter()
    for batch in DeltaTable(str(warehouse / table), version=version).to_pyarrow_dataset().to_batches():
        for row in batch.to_pylist():
            renamed = {
                RENAMED_COLUMNS.get((table, column), column): RENAMED_VALUES.get((table, column), {}).get(value, value)
                if isinstance(value, str)
                else value
                for column, value in row.items()
                if (table, column) not in PER_RUN and (sentences or (table, column) not in SENTENCES)
            }
            counts[json.dumps(comparable(renamed, paths), sort_keys=True)] += 1
    return counts


def differences(before: Path, after: Path, *, sentences: bool) -> Iterator[tuple[str, Counter[str], Counter[str]]]:
    """By table of two warehouses the rows of each."""
    warehouses = [before, after]
    versions = [published(warehouse) for warehouse in warehouses]
    paths = [path_by_id(warehouse, v["log_files"]) for warehouse, v in zip(warehouses, versions, strict=True)]
    for table in sorted(versions[0].keys() | versions[1].keys()):
        old, new = (
            rows_of(warehouse, table, v[table], ids, sentences=sentences) if table in v else Counter[str]()
            for warehouse, v, ids in zip(warehouses, versions, paths, strict=True)
        )
        yield table, old, new


def compare(before: Path, after: Path, *, sentences: bool, partial: bool) -> int:
    """Compare two folders of warehouses and print what differs; the exit code."""
    names = sorted(path.parent.name for path in before.glob("*/runs"))
    compared = tables = rows = differing = missing = 0
    for name in names:
        if not (after / name / "runs").is_dir():
            missing += 1
            continue
        compared += 1
        for table, old, new in differences(before / name, after / name, sentences=sentences):
            tables, rows = tables + 1, rows + old.total()
            if old == new:
                continue
            differing += 1
            print(f"{name}.{table}: {(old - new).total():,} rows only before, {(new - old).total():,} only after")
            for sign, only in (("-", old - new), ("+", new - old)):
                for row in sorted(only)[:2]:
                    print(f"  {sign} {row[:600]}")
    print(
        f"{compared} warehouses, {tables} tables, {rows:,} rows compared: {differing} tables differ, "
        f"{missing} warehouses missing"
    )
    return 1 if differing or not compared or (missing and not partial) else 0


def main(arguments: list[str]) -> int:
    """Make or compare; the exit code."""
    options = {argument for argument in arguments if argument.startswith("--")}
    command, *rest = [argument for argument in arguments if argument not in options] or [""]
    if command == "make" and len(rest) >= 2 and not options:
        return make(Path(rest[0]), Path(rest[1]), rest[2:])
    if command == "compare" and len(rest) == 2 and options <= {"--sentences", "--partial"}:
        return compare(Path(rest[0]), Path(rest[1]), sentences="--sentences" in options, partial="--partial" in options)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
