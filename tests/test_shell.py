"""The prompt: what it completes, when an entry is whole, and that it asks nobody but a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from jobs.cli import main
from jobs.read.shell import _is_whole, answer, candidates
from jobs.read.views import open_views
from tests.delta_warehouse import publish


def test_completion() -> None:
    assert candidates("SELECT uncl FROM elections", "uncl") == ["unclean"]
    assert "unclean" not in candidates("SELECT uncl FROM runs", "uncl")
    assert "unclean" in candidates("SELECT uncl", "uncl")
    assert candidates("from elec", "elec") == ["elections"]
    assert candidates("sel", "sel") == ["SELECT"]
    assert candidates("", "") == []


@pytest.mark.parametrize("text", ["SELECT 1;", "exit", "\\q", "", "SELECT\n1 ;\n"])
def test_entries_that_are_whole(text: str) -> None:
    assert _is_whole(text)
    assert not _is_whole("SELECT count(*)")


def test_answers_are_rows_or_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An error ends no session."""
    with open_views(str(publish(tmp_path, elections=[{"cluster": "c", "topic": "pay"}]))) as connection:
        answer(connection, "SELECT * FROM election;")
        answer(connection, "DROP VIEW elections;")
        answer(connection, "SELECT topic FROM elections;")
    printed = capsys.readouterr()
    assert printed.out.splitlines() == ["topic", "pay", "(1 row)"]
    assert [line.split(";")[0] for line in printed.err.splitlines()] == [
        "There is no table election",
        "DROP is no query: published tables are only read, and no file or setting is touched here.",
    ]


def test_without_a_terminal(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["shell", "--warehouse", str(publish(tmp_path))])
    assert (result.exit_code, result.stderr) == (
        2,
        "kafka-rewind: The shell needs a terminal; pipe queries to `kafka-rewind sql`.\n",
    )
