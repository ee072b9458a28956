"""A warehouse that lacks what its last run published says so, and what can restore it. No Spark."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.read.query import run_query
from jobs.warehouse.integrity import Pins, find_damage, read_pins, write_pins
from jobs.work_folder import LOCK, WORK, work_folder
from tests.delta_warehouse import publish
from udfs.errors import Failed

PAY = {"cluster": "c", "topic": "pay"}


def data_of(root: Path, table: str) -> Path:
    """The newest file of a table."""
    return max((root / table).glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)


def log_of(root: Path, table: str) -> Path:
    """Its newest commit."""
    return max((root / table / "_delta_log").glob("*.json"))


def overwrite(path: Path) -> None:
    path.write_bytes(b"x" * path.stat().st_size)


ANEW, LOGS = "restores it from the events that are there", "only logs can restore that"
DAMAGES: dict[str, tuple[Callable[[Path], object], str, str]] = {  # what is done -> what is said
    "a table": (lambda root: shutil.rmtree(root / "elections"), "elections (it is gone)", ANEW),
    "its log": (lambda root: shutil.rmtree(root / "elections/_delta_log"), "elections (its Delta log is gone)", ANEW),
    "a commit is cut": (
        lambda root: os.truncate(log_of(root, "elections"), 30), "elections (its Delta log cannot be read)", ANEW
    ),
    "the last commit": (
        lambda root: log_of(root, "elections").unlink(), "elections (its Delta log cannot be read)", ANEW
    ),
    "a file": (
        lambda root: data_of(root, "elections").unlink(),
        "elections (1 of its 1 files is gone, cut or overwritten)", ANEW,
    ),
    "a file is cut": (
        lambda root: os.truncate(data_of(root, "verdicts"), 100),
        "verdicts (1 of its 1 files is gone, cut or overwritten)", ANEW,
    ),
    "a file is another table's": (
        lambda root: shutil.copy(data_of(root, "events"), data_of(root, "verdicts")),
        "verdicts (1 of its 1 files is gone, cut or overwritten)", ANEW,
    ),
    "events are overwritten": (
        lambda root: overwrite(data_of(root, "events")), "events (1 of its 1 files is gone, cut or overwritten)", LOGS
    ),
    "the account of streams": (lambda root: shutil.rmtree(root / "log_files"), "log_files (it is gone)", LOGS),
    "runs": (
        lambda root: shutil.rmtree(root / "runs"), "runs (it is gone)", f"{ANEW}, but for the list of earlier runs"
    ),
    "the last run": (
        lambda root: log_of(root, "runs").unlink(), "runs (run 2 is not in it)", f"{ANEW}, but for the list"
    ),
}  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two runs, of which the second changed the elections."""
    sources = {"log_files": [{"cluster": "c", "file_id": "f"}], "events": [PAY], "rejects": []}
    publish(tmp_path / "w", 1, **sources, elections=[PAY], verdicts=[PAY])
    folder = publish(tmp_path / "w", 2, **sources, elections=[PAY, PAY], verdicts=[PAY])
    write_pins(str(folder), Pins(2, dict.fromkeys((*sources, "elections", "verdicts"), 1)))
    return folder


@pytest.mark.parametrize("case", DAMAGES)
def test_what_is_gone_is_said(case: str, root: Path) -> None:
    assert find_damage(str(root)) is None
    do, what, how = DAMAGES[case]
    do(root)
    damage = find_damage(str(root))
    assert damage is not None
    assert damage.sentence.startswith(f"The warehouse {root} is damaged: {what}; ")
    assert how in damage.sentence
    assert f"`kafka-rewind nightly LOGS --rebuild --warehouse {root}`" in damage.sentence
    pins = damage.repair()
    still = find_damage(str(root))  # until a run has made it anew
    assert still is not None
    assert {*damage.tables} <= {*still.tables}
    tables = {"log_files", "events", "rejects", "elections", "verdicts"} - {what.split()[0]}
    assert {*pins.table_versions} == (tables - {"log_files", "events", "rejects"} if how is LOGS else tables)
    assert all((root / name).is_dir() for name in pins.table_versions)


def test_a_folder_of_tables_without_published_runs_is_not_damaged(root: Path, tmp_path: Path) -> None:
    """A first run was stopped, or nothing is there; nor is a warehouse of a release that left no second record."""
    assert find_damage(str(tmp_path / "none")) is None
    (root / ".published.json").unlink()
    assert find_damage(str(root)) is None
    shutil.rmtree(root / "runs")
    assert find_damage(str(root)) is None
    (root / ".published.json").write_text("{")
    assert read_pins(str(root)) is None


@pytest.mark.parametrize("name", ["it's [a]*? % é", "a%20b"])
def test_folders_with_odd_names(name: str, root: Path, tmp_path: Path) -> None:
    odd = root.rename(tmp_path / name)
    assert find_damage(str(odd)) is None
    shutil.rmtree(odd / "elections")
    damage = find_damage(str(odd))
    assert damage is not None
    assert damage.sentence.startswith(f"The warehouse {odd} is damaged: elections (it is gone); ")


def test_readers_say_it_too(root: Path) -> None:
    data_of(root, "elections").unlink()
    with pytest.raises(Failed, match=r"damaged or gone: .*\.parquet.*; run `kafka-rewind nightly LOGS --rebuild`"):
        run_query(str(root), "SELECT * FROM elections", "csv", None)
    shutil.rmtree(root / "runs")
    with pytest.raises(Failed, match=r"is damaged: runs \(it is gone\), elections \(1 of "):
        run_query(str(root), "SELECT * FROM verdicts", "csv", None)


def test_work_folders_of_killed_runs_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    killed, other = tmp_path / f"{WORK}killed", tmp_path / "blockmgr-of-somebody-else"
    for folder in (killed / "blockmgr-1", other):
        folder.mkdir(parents=True)
    (killed / LOCK).touch()
    with work_folder() as first, work_folder() as second:
        assert {path.name for path in tmp_path.iterdir()} == {Path(first).name, Path(second).name, other.name}
    assert [path.name for path in tmp_path.iterdir()] == [other.name]
