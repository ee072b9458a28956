"""Proof: a migration from ZooKeeper to KRaft (KIP-866) is one history: states, outages, elections, brokers and terms
against both truths, and no false violation.

    python tests/proofs/prove_migration.py [CAPTURE] [--warehouse DIR]

Prints the figures; with --warehouse of a night that was run. Exit 1 where a row is wrong or a decision accused.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from deltalake import DeltaTable

from jobs.cli import main as cli
from tests.proofs.captures import capture_folders
from tests.truth import compare
from tests.truth.migration import MigrationTruth

TABLES = ("partition_timeline", "offline_partitions", "elections", "broker_timeline", "controller_timeline")
SHOWN = ("truth", "candidate", "recall", "precision", "recall_of_recoverable", "time_agreement", "recall_over_1s")


def rows_of(warehouse: Path, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(str(warehouse / table)).to_pyarrow_table().to_pylist()
    return rows


def prove(capture: Path, warehouse: Path, misses: int) -> bool:
    """Print the scores of each table; whether all rows are right and nobody is accused."""
    truth, is_right = MigrationTruth(capture), True
    for table in TABLES:
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.writelines(
                f"{json.dumps(row, default=lambda at: at.isoformat())}\n" for row in rows_of(warehouse, table)
            )
            file.flush()
            rebuilt = compare.candidate(file.name, table)  # type: ignore[no-untyped-call]
        scores = compare.score(truth, table, rebuilt, misses=misses)  # type: ignore[no-untyped-call]
        print(table, {name: scores[name] for name in SHOWN if name in scores})
        is_right = is_right and scores["precision"] == 1
    violations = [row for row in rows_of(warehouse, "verdicts") if row["verdict"] == "violated"]
    for row in violations[:misses]:
        print("VIOLATED", row["explanation"], row["subject"])
    print("violations", len(violations))
    return is_right and not violations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("capture", type=Path, nargs="?")
    parser.add_argument("--warehouse", type=Path)
    parser.add_argument("--misses", type=int, default=5)
    asked = parser.parse_args()
    with capture_folders([str(asked.capture) if asked.capture else "migration-3.9.1"]) as (capture,):
        if asked.warehouse:
            sys.exit(not prove(capture, asked.warehouse, asked.misses))
        with tempfile.TemporaryDirectory() as warehouse:
            night = CliRunner().invoke(cli, ["nightly", str(capture / "logs"), "--warehouse", warehouse])
            print(night.output)
            sys.exit(not prove(capture, Path(warehouse), asked.misses))


if __name__ == "__main__":
    main()
