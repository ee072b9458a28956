"""Night by night, rebuilding only topics with new input, the tables become those of one run over all logs.

    PYTHONPATH=. python tests/proofs/prove_nights.py [--nights N] [--as-it-is] [--random SEED] [--stretch TIMES]
        [CAPTURE ...]

Logs of a capture are divided by time into nights, the later ones short. What is rebuilt is found out even though the
logs are small, and only that is, however much. In captures all topics change all the time, so they are made quiet, too:
after the first night only lines are left that name one topic, another one each night, or none, and each night is hours
after the one before. With `--stretch` logs stay as they are, but all took so many times as long, and windows are worked
out however short history is. Prints a line for each night and table; exits with 1 if a row differs.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

import jobs.ingest.ingest
import jobs.nightly.incremental
import jobs.nightly.windows
from jobs.nightly.run import run
from jobs.session import session
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse, open_warehouse
from schemas.ledger import STEPS
from schemas.tables import DERIVED
from tests.proofs.prove_metamorphic import (
    RECORD,
    Change,
    Logs,
    Row,
    capture_of,
    differences,
    ends_of,
    filtered,
    logs_of,
    stamp,
    timed,
    write,
)

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import SparkSession

APART = timedelta(hours=3)
"""How much later than it was a night is for each one before it: a silence that is a hole in the logs."""
FIRST = 0.5
"""Part of the time that the first night has."""


def by(data: bytes, at: datetime) -> bytes:
    """What of a log was there at a time: its records until the first that is not older, whole ones."""
    records: list[bytes] = RECORD.split(data)
    late = next((i for i, record in enumerate(records) if record[:24] >= stamp(at)[:24]), len(records))
    return b"".join(records[:late])


def quiet(logs: Logs, topics: Sequence[str], night_ends: Sequence[datetime]) -> Logs:
    """The same without records that name topics other than that night's, and nights apart; the first has all."""
    names = {name: re.compile(rb"(?<![\w.-])" + re.escape(name.encode()) + rb"(?![\w.])") for name in topics}
    ends = [stamp(end)[:24] for end in night_ends]

    def wanted(record: bytes) -> bool:
        night = bisect_right(ends, record[:24])
        return night == 0 or not any(
            name != topics[night % len(topics)] and pattern.search(record) for name, pattern in names.items()
        )

    return {
        name: timed(data, lambda at: at + APART * bisect_right(night_ends, at))
        for name, data in filtered(logs, wanted).items()
    }


def stretched(logs: Logs, times: int) -> Logs:
    """Logs of the same history, so many times as long."""
    begin, _ = ends_of(logs)
    return {name: timed(data, lambda at: begin + (at - begin) * times) for name, data in logs.items()}


def rows_with_paths(warehouse: Warehouse, table: str, streams: Mapping[str, str]) -> list[Row]:
    """All rows of a table; `streams`: what stands for file ids, which depend on what was read first."""

    def with_paths(value: object) -> object:
        if isinstance(value, dict):
            return {name: with_paths(part) for name, part in value.items()}
        if isinstance(value, list):
            return [with_paths(part) for part in value]
        return streams.get(value, value) if isinstance(value, str) else value

    return [cast("Row", with_paths(row.asDict(recursive=True))) for row in warehouse.read(table).collect()]


def tables(warehouse: Warehouse) -> Mapping[str, list[Row]]:
    """All derived rows by table, streams by their paths."""
    streams = {row["file_id"]: row["path"] for row in warehouse.read("log_files").select("file_id", "path").collect()}
    return {table.name: rows_with_paths(warehouse, table.name, streams) for table in DERIVED}


def nightly(warehouse: Warehouse, folder: Path, logs: Logs) -> list[str]:
    """A night over logs; what it says of topics. Exits if the gate refuses."""
    write(folder, logs)
    progress: list[str] = []
    outcome = run(warehouse, STEPS, Settings(), progress.append, logs=[str(folder)])
    if not outcome.published:
        raise SystemExit(f"the gate refused: {outcome.audit.failures if outcome.audit else ''}")
    return [line for line in progress if " since " in line or "as a whole" in line]


def shares(nights: int, seed: int | None) -> list[float]:
    """Parts of the time by whose ends nights end, but for the last."""
    if seed is None:
        return [FIRST + (1 - FIRST) * i / (nights - 1) for i in range(nights)]
    chance = random.Random(seed)
    return sorted(chance.random() for _ in range(nights))


def prove(
    spark: SparkSession,
    capture: Path,
    root: Path,
    nights: int,
    *,
    as_it_is: bool,
    seed: int | None = None,
    times: int = 1,
) -> int:
    """How many tables of a capture differ, made quiet or not; with a seed nights end at random times."""
    logs = stretched(logs_of(capture), times)
    begin, end = ends_of(logs)
    night_ends = [begin + (end - begin) * share for share in shares(nights, seed)]
    night_ends = [
        at.replace(microsecond=at.microsecond // 1000 * 1000) for at in night_ends
    ]  # as precise as the logs are
    night_ends[-1] = end.replace(year=end.year + 1)
    warehouse = open_warehouse(spark, str(root / "by-night"), create=True)
    for number in range(nights):
        rebuilt = nightly(warehouse, root / "logs", {name: by(data, night_ends[number]) for name, data in logs.items()})
        print(f"{capture.name} | night {number + 1} | {'; '.join(rebuilt) or 'the first'}", flush=True)
        if number == 0 and not as_it_is:
            known = warehouse.read("topic_timeline").select("topic").distinct().collect()
            logs = quiet(logs, sorted(row["topic"] for row in known), night_ends)
            night_ends = [at + APART * i for i, at in enumerate(night_ends)]
    ours = tables(warehouse)
    at_once = open_warehouse(spark, str(root / "at-once"), create=True)
    nightly(at_once, root / "logs", {})
    theirs = tables(at_once)
    wrong = 0
    for table in ours:
        differ, _, shown = differences(theirs[table], ours[table], Change([]), 0)
        print(f"{capture.name} | {table} | {len(ours[table])} rows, {differ} differ")
        for one in shown[:3]:
            print("   ", one)
        wrong += differ > 0
    return wrong


def main(words: list[str]) -> int:
    """Prove captures by name (data/ has some, ../shared/captures all)."""
    nights = int(words.pop(words.index("--nights") + 1)) if "--nights" in words else 4
    seed = int(words.pop(words.index("--random") + 1)) if "--random" in words else None
    times = int(words.pop(words.index("--stretch") + 1)) if "--stretch" in words else 1
    if times > 1:
        jobs.nightly.windows.WORTH_EVENTS, jobs.nightly.windows.WORTH_SHARE = 0, 0
    names = [word for word in words if not word.startswith("--")]
    jobs.ingest.ingest.WORTH_BYTES, jobs.nightly.incremental.MOST_SHARE = 0, 1.0
    wrong = 0
    with session({"spark.master": "local[2]"}) as spark:
        for name in names or ["zk-2.4.1"]:
            with tempfile.TemporaryDirectory() as folder:
                is_asked = "--as-it-is" in words or times > 1
                capture = capture_of(name)
                wrong += prove(spark, capture, Path(folder), nights, as_it_is=is_asked, seed=seed, times=times)
    print(f"{wrong} tables differ" if wrong else "proven")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
