"""From which folders and archives Spark's workers import."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jobs.worker_daemon import without_archives

PYSPARK, PY4J = "/opt/spark/python/lib/pyspark.zip", "/opt/spark/python/lib/py4j-0.10.9.9-src.zip"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages; neither PySpark nor Py4J is imported yet."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pyspark", "py4j")]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


def add(folder: Path, package: str) -> None:
    """An empty package."""
    (folder / package).mkdir()
    (folder / package / "__init__.py").touch()


def test_an_archive_is_left_out_if_its_package_is_elsewhere(elsewhere: Path) -> None:
    for package in ("pyspark", "py4j"):
        add(elsewhere, package)
    path = [PYSPARK, PY4J, "/opt/job.zip", str(elsewhere)]
    assert without_archives(path) == ["/opt/job.zip", str(elsewhere)]


def test_an_archive_stays_if_its_package_is_nowhere_else(elsewhere: Path) -> None:
    add(elsewhere, "pyspark")
    before = list(sys.path)
    path = [PYSPARK, PY4J, str(elsewhere)]
    assert without_archives(path) == [PY4J, str(elsewhere)]
    assert sys.path == before
