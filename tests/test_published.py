"""What a warehouse's last published run made visible, and what is said of a warehouse that cannot be read."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from jobs.read.query import run_query
from jobs.read.views import connect, open_published
from jobs.warehouse.location import located
from jobs.warehouse.lock import sole_writer
from tests.delta_warehouse import publish, write_run, write_table
from udfs.errors import BadInput, Failed

PAY, ORDERS = {"cluster": "c", "topic": "pay"}, {"cluster": "c", "topic": "orders"}


def topics(root: Path | str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Topics of the elections that are published."""
    run_query(str(root), "SELECT topic FROM elections ORDER BY topic", "csv", None)
    return capsys.readouterr().out.split()[1:]


def test_the_last_published_run_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its number, not as text; a refused run after it, and rows that no run pinned, are not seen."""
    publish(tmp_path, 9, elections=[PAY])
    publish(tmp_path, 10, elections=[PAY, ORDERS])
    publish(tmp_path, 11, "refused", elections=[])
    write_table(tmp_path, "elections", [])
    with connect() as connection:
        published = open_published(connection, str(tmp_path))
    assert (published.run_id, published.versions) == ("10", {"elections": 1})
    assert topics(tmp_path, capsys) == ["orders", "pay"]


def test_a_path_that_looks_like_a_pattern(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = publish(tmp_path / "plain", elections=[PAY]).rename(tmp_path / "it's [a]*? % é")
    assert topics(root, capsys) == ["pay"]


@pytest.mark.parametrize("name", ["a%20b", "a b", "é%C3é", "it's [a]*?"])
def test_paths_with_escapes(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they are: from where one stands, as a whole, and as URLs, with and without escapes."""
    (tmp_path / name).mkdir()
    root = publish(tmp_path / "plain", elections=[PAY]).rename(tmp_path / name / "w")
    monkeypatch.chdir(tmp_path / name)
    for path in (root, Path("w"), f"file://{root}", f"file:{root}", root.as_uri()):
        assert topics(path, capsys) == ["pay"]
    assert located(f"{root.as_uri()}/") == str(root)
    (root / "runs" / "_delta_log" / "00000000000000000000.json").write_text("{")
    assert str(root) in complaint(root, Failed)


def test_addresses_that_only_spark_knows() -> None:
    assert "use `--engine spark`" in complaint("hdfs://none.invalid:9000/w", Failed)
    assert "use `--engine spark`" in complaint("ofs://none/w")


def complaint(root: Path | str, kind: type[Exception] = BadInput) -> str:
    with pytest.raises(kind) as error:
        run_query(str(root), "SELECT * FROM elections", "csv", None)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_warehouses_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert complaint(tmp_path / "file").startswith("The warehouse path is a file: ")
    assert complaint(tmp_path / "none").startswith("There is no warehouse in ")
    assert complaint(tmp_path).startswith("There is no warehouse in ")
    write_table(tmp_path, "log_files", [])
    assert complaint(tmp_path).startswith("Nothing is published in ")
    write_run(tmp_path, 1, {}, "refused")
    assert "the data gate refused each run" in complaint(tmp_path)


def test_damaged_tables(tmp_path: Path) -> None:
    root = publish(tmp_path, elections=[PAY])
    data = next((root / "elections").glob("*.parquet"))
    whole = data.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"x" * len(whole)):
        data.write_bytes(damaged)
        assert re.search(r"A file of the warehouse is damaged or gone: .*\.parquet", complaint(root, Failed))
    data.unlink()
    assert "is damaged or gone" in complaint(root, Failed)
    log = next((root / "elections" / "_delta_log").glob("*.json"))
    whole = log.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"{"):
        log.write_bytes(damaged)
        assert "elections is damaged or cannot be read" in complaint(root, Failed)
    shutil.rmtree(log.parent)
    assert "elections is damaged or cannot be read" in complaint(root, Failed)


def test_a_night_that_is_writing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables that it has changed already are read as they were; before the first is published there is nothing."""
    root = publish(tmp_path / "second", elections=[PAY])
    for first in (root, tmp_path / "first"):
        first.mkdir(exist_ok=True)
        with sole_writer(str(first), wait=False, say=print):
            write_table(first, "elections", [ORDERS])
            write_table(first, "log_files", [])
            if first == root:
                assert topics(root, capsys) == ["pay"]
            else:
                assert "its first run is not done, or was stopped; wait for it" in complaint(first)
