"""From which folders and archives Spark's workers import."""

from __future__ import annotations

import sys
from pathlib import Path

from jobs.worker_daemon import without_archives

PYSPARK, PY4J = "/opt/spark/python/lib/pyspark.zip", "/opt/spark/python/lib/py4j-0.10.9.9-src.zip"


def add(folder: Path, package: str) -> None:
    """An empty package."""
    (folder / package).mkdir()
    (folder / package / "__init__.py").touch()


def test_an_archive_is_left_out_if_its_package_is_elsewhere(tmp_path: Path) -> None:
    for package in ("pyspark", "py4j"):
        add(tmp_path, package)
    path = [PYSPARK, PY4J, "/opt/job.zip", str(tmp_path)]
    assert without_archives(path) == ["/opt/job.zip", str(tmp_path)]


def test_an_archive_stays_if_its_package_is_nowhere_else(tmp_path: Path) -> None:
    add(tmp_path, "pyspark")
    before = list(sys.path)
    path = [PYSPARK, PY4J, str(tmp_path)]
    assert without_archives(path) == [PY4J, str(tmp_path)]
    assert sys.path == before
