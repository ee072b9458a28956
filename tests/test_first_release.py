"""A warehouse that Kafka Rewind 0.1.0 left: what it says is read, what it did not know is not told."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from jobs.cli import main
from tests.answers_warehouse import tables
from tests.delta_warehouse import write_run, write_table

LATER = ("began_after", "ended_before", "at_least_ms", "at_most_ms")
"""Columns of outages that 0.1.0 did not write: it had their begin, their end and the time between."""


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """pay-in-0 had no leader for a minute, pay-in-1 has none at the end, two minutes later."""
    rows = tables()
    ended, still_open = rows["offline_partitions"]
    rows["offline_partitions"] = [ended, {**still_open, "duration_ms": 120_000}]
    versions = {name: write_table(tmp_path, name, part) for name, part in rows.items() if name != "offline_partitions"}
    versions["offline_partitions"] = write_table(tmp_path, "offline_partitions", rows["offline_partitions"], LATER)
    write_run(tmp_path, 1, versions, release="0.1.0")
    return tmp_path


def answer(warehouse: Path, *arguments: str) -> str:
    result = CliRunner().invoke(main, [*arguments, "--warehouse", str(warehouse)], catch_exceptions=False)
    return " ".join(result.stdout.split())


def test_its_outages_are_as_long_as_they_were(warehouse: Path) -> None:
    columns = "partition, at_least_ms, at_most_ms, began_after = since AS began, ended_before IS NULL AS is_open"
    query = f"SELECT {columns} FROM offline_partitions ORDER BY partition"
    assert answer(warehouse, "sql", "--format", "csv", query) == (
        "partition,at_least_ms,at_most_ms,began,is_open 0,59980,59980,true,false 1,120000,,true,true"
    )
    assert "2 min 59 s of partition time, the longest of pay-in-1 for 2 min 0 s." in answer(warehouse, "outages")
    assert "offline=1" in answer(warehouse, "check")
    assert "pay-in-0 had no leader for 60.0 s" in answer(warehouse, "why", "pay-in-0", "--at", "10:05:30")


def test_it_says_nothing_of_incidents(warehouse: Path) -> None:
    """Its tables have none, which is not that there were none."""
    summary = answer(warehouse, "summary")
    assert "Whether there were incidents cannot be told: these tables are of Kafka Rewind 0.1.0;" in summary
    assert "No incident" not in summary
