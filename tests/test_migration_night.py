"""A whole night over a cluster that went from ZooKeeper to KRaft, against its exact truth: both transaction logs."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jobs.nightly.run import run
from jobs.settings import Settings
from jobs.warehouse.tables import open_warehouse
from schemas.ledger import STEPS
from tests.proofs.prove_migration import prove

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKED = Path(__file__).resolve().parents[1] / "data" / "captures" / "migration-3.9.1.tar.xz"


@pytest.mark.runs
def test_a_migration_is_one_history(spark: SparkSession, tmp_path: Path) -> None:
    """No row is wrong, and nobody is accused."""
    with tarfile.open(PACKED) as files:
        files.extractall(tmp_path, filter="data")
    capture, warehouse = tmp_path / "migration-3.9.1", tmp_path / "warehouse"
    outcome = run(
        open_warehouse(spark, str(warehouse), create=True), STEPS, Settings(), print, logs=[str(capture / "logs")]
    )
    assert outcome.published
    assert prove(capture, warehouse, misses=5)
