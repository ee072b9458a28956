"""Night by night, read on from where they were left, logs give the records, streams and accounts of one reading.

    PYTHONPATH=. python tests/proofs/prove_grown_logs.py [--seeds N] [CAPTURE ...]

Each log of a capture grows to a random byte each night, also to the midst of a line, or stays as it is; some are
compressed meanwhile. Only the ingest runs. Compared are events, rejects, log_files and log_coverage with those of one
run over the whole logs. Prints a line for each night and table; exits with 1 if a row differs.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from deltalake import DeltaTable

from jobs.nightly.run import run
from jobs.session import session
from jobs.settings import Settings
from jobs.warehouse.tables import open_warehouse
from tests.proofs.prove_metamorphic import Logs, capture_of, logs_of
from tests.proofs.same_tables import published, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NIGHTS = 4
GROWS, PACKED = 0.8, 0.2
"""Parts of the logs that grow in a night, and that are compressed."""
OF_NAMES = ("path", "also_seen_as")
"""Columns of log_files that depend on what a log was called in which night."""


def write(folder: Path, name: str, data: bytes, *, packed: bool) -> None:
    """Write a log as it is now, whatever it was called before."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    other = path.with_name(f"{path.name}.gz")
    (path if packed else other).unlink(missing_ok=True)
    (other if packed else path).write_bytes(gzip.compress(data, 1) if packed else data)


def tables(root: Path, folder: Path) -> dict[str, Counter[str]]:
    """The published rows by table; streams by their names."""
    versions = published(root)
    streams = DeltaTable(str(root / "log_files"), version=versions["log_files"]).to_pyarrow_table()
    ids = {
        row["file_id"]: Path(row["path"]).relative_to(folder).as_posix().removesuffix(".gz")
        for row in streams.select(["file_id", "path"]).to_pylist()
    }
    rows = {name: rows_of(root, name, version, ids, sentences=True) for name, version in versions.items()}
    plain: Counter[str] = Counter()
    for text, count in rows["log_files"].items():
        row = {name: value for name, value in json.loads(text).items() if name not in OF_NAMES}
        plain[json.dumps(row, sort_keys=True)] += count
    return rows | {"log_files": plain}


def ingest(spark: SparkSession, root: Path, folder: Path) -> str:
    """A run of the ingest; what it says that it reads. Exits if the gate refuses."""
    sentences: list[str] = []
    warehouse = open_warehouse(spark, str(root), create=True)
    outcome = run(warehouse, ("ingest",), Settings(), sentences.append, logs=[str(folder)])
    if not outcome.published:
        raise SystemExit(f"the gate refused: {outcome.audit.failures if outcome.audit else ''}")
    return next((line for line in sentences if line.startswith("reading")), "nothing new")


def prove(spark: SparkSession, name: str, logs: Logs, seed: int) -> int:
    """How many tables differ."""
    chance, wrong = random.Random(f"{name}-{seed}"), 0
    with tempfile.TemporaryDirectory() as scratch:
        by_night, at_once, folder = (Path(scratch, part) for part in ("by-night", "at-once", "logs"))
        ends = dict.fromkeys(logs, 0)
        for night in range(1, NIGHTS + 1):
            for log, data in logs.items():
                if night == NIGHTS:
                    ends[log] = len(data)
                elif chance.random() < GROWS:
                    ends[log] = chance.randint(ends[log], len(data))
                write(folder, log, data[: ends[log]], packed=chance.random() < PACKED)
            print(f"{name} | seed {seed} | night {night} | {ingest(spark, by_night, folder)}", flush=True)
        ingest(spark, at_once, folder)
        ours, theirs = tables(by_night, folder), tables(at_once, folder)
        for table, rows in theirs.items():
            only = (rows - ours[table]).total(), (ours[table] - rows).total()
            print(f"{name} | seed {seed} | {table} | {rows.total():,} rows, {only[0]} missing, {only[1]} others")
            for row in sorted(ours[table] - rows)[:2]:
                print("   ", row[:600])
            wrong += any(only)
    return wrong


def main(words: list[str]) -> int:
    """Prove captures by name (data/ has some, ../shared/captures all)."""
    seeds = int(words.pop(words.index("--seeds") + 1)) if "--seeds" in words else 1
    names = [word for word in words if not word.startswith("--")] or ["zk-2.4.1", "kraft-4.1.0"]
    with session({"spark.master": "local[2]"}) as spark:
        wrong = sum(prove(spark, name, logs_of(capture_of(name)), seed) for name in names for seed in range(seeds))
    print(f"{wrong} tables differ" if wrong else "proven")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
