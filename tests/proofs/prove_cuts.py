"""Logs that come in pieces over several nights give the tables that they give at once, wherever they are cut.

    PYTHONPATH=. python tests/proofs/prove_cuts.py [--cuts N] [--nights N] [--seed S] [CAPTURE ...]

Each cut of a capture is a cluster of one warehouse: its logs end at random times, also in the middle of an outage, a
reassignment or a failover. In each second cut every node has times of its own, and one node's logs come a night late.
What of a cluster is rebuilt is found out though logs are small. Prints a line for each capture and table; exits with 1
if a row differs, evidence included, from those of the cluster whose logs came in the first night.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import jobs.ingest.ingest
import jobs.nightly.incremental
from jobs.nightly.run import run
from jobs.session import session
from jobs.settings import Settings
from jobs.warehouse.tables import open_warehouse
from schemas.ledger import STEPS
from schemas.tables import DERIVED
from tests.proofs.prove_metamorphic import Change, Logs, Row, capture_of, differences, ends_of, logs_of, node_of, write
from tests.proofs.prove_nights import by, rows_with_paths

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE = "at-once"


def pieces(logs: Logs, nights: int, number: int, seed: int) -> list[Logs]:
    """What is there of logs in each night of a cut."""
    chance = random.Random(f"{seed} {number}")
    begin, end = ends_of(logs)
    nodes = sorted({node_of(name) for name in logs})
    shared = sorted(chance.random() for _ in range(nights - 1))
    is_by_node = number % 2 == 1
    shares = {node: sorted(chance.random() for _ in range(nights - 1)) if is_by_node else shared for node in nodes}
    late = chance.choice(nodes) if is_by_node else None
    parts: list[Logs] = []
    for night in range(nights - 1):
        there: Logs = {}
        for name, data in logs.items():
            node = node_of(name)
            position = night - (node == late)
            if position >= 0:
                at = begin + (end - begin) * shares[node][position]
                there[name] = by(data, at.replace(microsecond=at.microsecond // 1000 * 1000))
        parts.append({name: data for name, data in there.items() if data})
    return [*parts, logs]


def prove(spark: SparkSession, capture: Path, root: Path, cuts: int, nights: int, seed: int) -> int:
    """How many rows of a capture's cuts differ."""
    logs = logs_of(capture)
    parts = {f"cut-{number}": pieces(logs, nights, number, seed) for number in range(cuts)}
    clusters = {f"{root}/in/{name}/*": name for name in (WHOLE, *parts)}
    warehouse = open_warehouse(spark, str(root / "warehouse"), create=True)
    for night in range(nights):
        tonight = {name: of_nights[night] for name, of_nights in parts.items()} | ({WHOLE: logs} if night == 0 else {})
        for name, there in tonight.items():
            write(root / "in" / name, there)
        folders = [str(root / "in" / name) for name, there in tonight.items() if there]
        outcome = run(warehouse, STEPS, Settings(clusters=clusters), lambda _: None, logs=folders)
        if not outcome.published or outcome.refused:
            raise SystemExit(f"the gate refused: {outcome.audit.failures if outcome.audit else ''}")
    files = warehouse.read("log_files").select("cluster", "file_id", "path").collect()
    streams = {row["file_id"]: row["path"].rpartition(f"/{row['cluster']}/")[2] for row in files}
    wrong = 0
    for table in DERIVED:
        rows: dict[str, list[Row]] = {}
        for row in rows_with_paths(warehouse, table.name, streams):
            rows.setdefault(row["cluster"], []).append(row)
        whole, differing = rows.get(WHOLE, []), Counter[str]()
        for name in parts:
            differ, _, shown = differences(whole, rows.get(name, []), Change([]), 0)
            differing[name] = differ
            if differ:
                print(f"{capture.name} | {table.name} | {name}: {differ}: {' ~ '.join(shown[:2])}")
        cuts_that_differ = sum(differ > 0 for differ in differing.values())
        print(
            f"{capture.name} | {table.name} | {len(whole)} rows, {differing.total()} differ in {cuts_that_differ} of "
            f"{cuts} cuts",
            flush=True,
        )
        wrong += differing.total()
    return wrong


def main(words: Sequence[str]) -> int:
    """Prove captures by name (data/ has some, ../shared/captures all)."""
    options = {"--cuts": 8, "--nights": 3, "--seed": 1}
    names = list(words)
    for option in options:
        if option in names:
            at = names.index(option)
            options[option] = int(names[at + 1])
            del names[at : at + 2]
    jobs.ingest.ingest.WORTH_BYTES, jobs.nightly.incremental.MOST_SHARE = 0, 1.0
    wrong = 0
    with session({"spark.master": "local[2]"}) as spark:
        for name in names or ["zk-2.4.1", "kraft-4.1.0"]:
            with tempfile.TemporaryDirectory() as folder:
                wrong += prove(spark, capture_of(name), Path(folder), *options.values())
    print(f"{wrong} rows differ" if wrong else "proven")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
