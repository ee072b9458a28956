"""The fault matrix of `make prove` (tests/proofs/prove_faults.py) on a few kilobytes of one capture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import DATA
from tests.proofs.faults import FAULTS
from tests.proofs.prove_faults import logs_of, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


FAST = (
    "clean",
    "gzipped",
    "zstandard",
    "copied under two names",
    "twice in one run",
    "several brokers in one file",
    "grown, renamed and gzipped",
    "copytruncate that tears a record",
    "replaced by another with the same first kilobyte",
    "a kilobyte, rotated away and replaced by another with the same",
    "late",
    "excerpts that overlap, in one run",
    "rotated files and their concatenation",
    "a tar.gz file",
    "a bundle trimmed at the head",
    "a loop of links",
    "CRLF",
    "UTF-16 that grows",
    "NULs",
    "bytes that are not UTF-8",
    "a line of 100 kB",
    "torn lines",
    "compose",
    "CRI, long lines in parts",
)
"""At most two nights each."""


@pytest.mark.runs
def test_each_record_is_read_once(spark: SparkSession, tmp_path: Path) -> None:
    logs = logs_of(DATA / "zk-2.4.1", 8_000, ("controller.log", "state-change.log"))
    assert len(logs) == 2
    results = run(spark, tmp_path, {name: FAULTS[name] for name in FAST}, logs)
    assert {result.tried for result in results.values()} == {sum(data.count(b"\n[20") for data in logs.values())}
    failed = {
        name: (result.lost.total(), result.invented.total(), result.rejects)
        for name, result in results.items()
        if result.failed
    }
    assert failed == {}  # by fault: events lost, events too many, rejects too many
