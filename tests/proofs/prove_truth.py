"""Every capture against its truth: `python tests/proofs/prove_truth.py [--keep DIR] [CAPTURE...]` prints the scores.

Runs `nightly` over all captures (`tests.proofs.captures`), each a cluster of one warehouse, and over the metadata dumps
of the KRaft ones in another. Fails if a table scores a precision below 1.0, if no rule matches a record of a logger
wholly in scope, or if a decision of a proven release is called violated; those are printed. `--keep DIR` keeps the
warehouses and scored tables there; those that are there already are scored as they are. A CAPTURE with a slash in it is
a folder like those of data/.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from jobs.session import expected_bytes, session
from tests.proofs.captures import capture_folders, warehouse_of
from tests.rows_as_json import as_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from jobs.warehouse.tables import Warehouse

ROOT = Path(__file__).resolve().parents[2]
TABLES = ("partition_timeline", "elections", "offline_partitions", "controller_timeline", "broker_timeline")
PROVEN = (
    "zk-2.4.1", "zk-2.2.2-chaos", "kraft-3.5.2-chaos", "kraft-3.6.2-combined-chaos", "kraft-3.8.1-1c-chaos",
    "kraft-4.1.0", "kraft-4.3.1-chaos", "kraft-4.4.0-chaos",
)  # fmt: skip
"""Captures of which no decision may be called violated."""
FIGURES = (
    "truth", "candidate", "ignored", "recall", "precision", "recall_of_recoverable", "time_agreement", "since_error_ms",
    "unclean_equal",
)  # fmt: skip
"""Figures of a score that are printed."""


def compare() -> Any:
    """The scorer, tests/truth/compare.py."""
    spec = importlib.util.spec_from_file_location("compare", ROOT / "tests" / "truth" / "compare.py")
    if spec is None or spec.loader is None:
        raise ValueError("tests/truth/compare.py is not there")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prove(warehouse: Warehouse, capture: Path, scorer: Any, folder: Path) -> list[str]:
    """Print the figures of one capture, a cluster of the warehouse; what is wrong."""

    def rows_of(table: str) -> DataFrame:
        return warehouse.read(table).where(F.col("cluster") == capture.name)

    wrong: list[str] = []
    rejects = rows_of("rejects").count()
    accused = rows_of("verdicts").where("verdict = 'violated'").orderBy("at", "subject").collect()
    print(f"\n{capture.name}, {folder.name}: rejects {rejects}, violated verdicts {len(accused)}")
    for row in accused:
        print(f"    {row['rule']} {row['subject']}: {row['explanation']}")
    if rejects or (accused and capture.name in PROVEN):
        wrong.append(f"{capture.name}: {rejects} rejects, {len(accused)} violated")
    truth = scorer.Truth(str(capture))
    for table in TABLES:
        path = folder / f"{capture.name}-{table}.jsonl"
        path.write_text("".join(f"{row['row']}\n" for row in as_text(rows_of(table)).collect()))
        score = scorer.score(truth, table, scorer.candidate(str(path), table))
        print(f"  {table:20} " + "  ".join(f"{k} {score[k]}" for k in FIGURES if k in score))
        if score["precision"] not in (None, 1.0):
            wrong.append(f"{capture.name}: precision of {table} is {score['precision']}")
    return wrong


def main(arguments: list[str]) -> int:
    """Prove all captures, or those named."""
    keep = Path(arguments[1]) if arguments[:1] == ["--keep"] else None
    names = arguments[2:] if keep else arguments
    scorer = compare()
    wrong: list[str] = []
    settings = {"spark.master": "local[2]"}
    with tempfile.TemporaryDirectory() as passing, capture_folders(names) as folders:
        captures = {folder.name: folder for folder in folders if (folder / "truth.jsonl").exists()}
        for folder in folders:
            if folder.name not in captures:
                print(f"{folder.name} has two truths: prove_migration.py scores it")
        inputs = {
            "logs": {name: folder / "logs" for name, folder in captures.items()},
            "dumps": {
                name: folder / "metadata-dump.txt"
                for name, folder in captures.items()
                if (folder / "metadata-dump.txt").exists()
            },
        }
        files = [file for logs in inputs.values() for path in logs.values() for file in (path, *path.rglob("*"))]
        with session(settings, expected_bytes(files)) as spark:
            for form, logs in inputs.items():
                folder = (keep or Path(passing)) / form
                warehouse = warehouse_of(spark, logs, folder / "warehouse")
                published = {
                    row["cluster"] for row in warehouse.read("log_files").select("cluster").distinct().collect()
                }
                wrong += [f"{name}: the gate refused its {form}" for name in logs if name not in published]
                for name in (name for name in logs if name in published):
                    wrong += prove(warehouse, captures[name], scorer, folder)
    print("\n" + ("\n".join(wrong) or "proven"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
