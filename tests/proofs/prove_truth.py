"""Every capture against its truth: `python tests/proofs/prove_truth.py [--keep DIR] [CAPTURE...]` prints the scores.

Runs `nightly` over each capture (`tests.proofs.captures`), KRaft ones from their logs and again from their metadata
dump alone. Fails if a table scores a precision below 1.0, if no rule matches a record of a logger wholly in scope, or
if a decision of a proven release is called violated; those are printed. `--keep DIR` keeps the warehouses and scored
tables there; those that are there already are scored as they are. A CAPTURE with a slash in it is a folder like those
of data/.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.nightly.run import nightly
from jobs.session import session
from jobs.settings import Settings
from jobs.warehouse.tables import open_warehouse
from tests.proofs.captures import capture_folders
from tests.rows_as_json import as_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
TABLES = ("partition_timeline", "elections", "offline_partitions", "controller_timeline", "broker_timeline")
PROVEN = (
    "zk-2.4.1", "zk-2.2.2-chaos", "kraft-3.5.2-chaos", "kraft-3.6.2-combined-chaos", "kraft-3.8.1-1c-chaos",
    "kraft-4.1.0", "kraft-4.3.1-chaos", "kraft-4.4.0-chaos",
)  # fmt: skip
"""Captures of which no decision may be called violated."""


def compare() -> Any:
    """The scorer, tests/truth/compare.py."""
    spec = importlib.util.spec_from_file_location("compare", ROOT / "tests" / "truth" / "compare.py")
    if spec is None or spec.loader is None:
        raise ValueError("tests/truth/compare.py is not there")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prove(spark: SparkSession, capture: Path, logs: Path, scorer: Any, keep: Path | None = None) -> list[str]:
    """Run over one set of logs, print the figures; what is wrong."""
    wrong: list[str] = []
    proven = capture.name in PROVEN
    with tempfile.TemporaryDirectory() as passing:
        folder = keep / (capture.name + ("" if logs.is_dir() else "-dump")) if keep else Path(passing)
        warehouse = open_warehouse(spark, str(folder / "warehouse"), create=True)
        began = time.monotonic()
        outcome = None
        if not warehouse.last_run:
            outcome = nightly(warehouse, [str(logs)], Settings(), "default", lambda _: None)
            warehouse = open_warehouse(spark, str(folder / "warehouse"), create=False)
        print(f"\n{capture.name}, {logs.name}: {time.monotonic() - began:.0f} s")
        if outcome is not None and (outcome.audit is None or outcome.audit.failures):
            failures = (
                [f"{f.name} ({f.rows} rows)" for f in outcome.audit.failures] if outcome.audit else ["nothing read"]
            )
            print(f"  refused: {', '.join(failures)}")
            return [f"{capture.name}: the gate refused: {', '.join(failures)}"]
        rejects = warehouse.read("rejects").count()
        accused = warehouse.read("verdicts").where("verdict = 'violated'").orderBy("at", "subject").collect()
        violated = len(accused)
        print(f"  rejects {rejects}, violated verdicts {violated}")
        for row in accused:
            print(f"    {row['rule']} {row['subject']}: {row['explanation']}")
        if rejects or (violated and proven):
            wrong.append(f"{capture.name}: {rejects} rejects, {violated} violated")
        truth = scorer.Truth(str(capture))
        for table in TABLES:
            path = folder / f"{table}.jsonl"
            path.write_text("".join(f"{row['row']}\n" for row in as_text(warehouse.read(table)).collect()))
            score = scorer.score(truth, table, scorer.candidate(str(path), table))
            figures = (
                "truth",
                "candidate",
                "ignored",
                "recall",
                "precision",
                "recall_of_recoverable",
                "time_agreement",
                "since_error_ms",
                "unclean_equal",
            )
            print(f"  {table:20} " + "  ".join(f"{k} {score[k]}" for k in figures if k in score))
            if score["precision"] not in (None, 1.0):
                wrong.append(f"{capture.name}: precision of {table} is {score['precision']}")
    return wrong


def main(arguments: list[str]) -> int:
    """Prove all captures, or those named."""
    keep = Path(arguments[1]) if arguments[:1] == ["--keep"] else None
    names = arguments[2:] if keep else arguments
    scorer = compare()
    wrong: list[str] = []
    with session({"spark.master": "local[2]"}) as spark, capture_folders(names) as captures:
        for capture in captures:
            if not (capture / "truth.jsonl").exists():
                print(f"\n{capture.name} has two truths: prove_migration.py scores it")
                continue
            wrong += prove(spark, capture, capture / "logs", scorer, keep)
            if (capture / "metadata-dump.txt").exists():
                wrong += prove(spark, capture, capture / "metadata-dump.txt", scorer, keep)
    print("\n" + ("\n".join(wrong) or "proven"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
