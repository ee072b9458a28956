"""docs/how-to-merge.md shows what its commands print, on standard output and then on standard error."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from jobs.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "how-to-merge.md").read_text()
SHOWN = dict(
    re.findall(r"^```sh\n(kafka-rewind merge [^\n]*)\n```\n\n```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
)


def test_the_page_walks_through_an_incident() -> None:
    assert len(SHOWN) >= 5
    assert len(re.findall(r"^kafka-rewind merge data", PAGE, re.MULTILINE)) == len(SHOWN)


@pytest.mark.parametrize("command", SHOWN)
def test_a_command_prints_what_is_shown(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(main, shlex.split(command)[1:], catch_exceptions=False)
    assert result.stdout + result.stderr == SHOWN[command]
    assert result.exit_code == 0


def test_every_option_of_the_page_is_one_of_the_command() -> None:
    known = CliRunner().invoke(main, ["merge", "--help"]).output
    assert [option for option in set(re.findall(r"--[a-z][a-z-]+", PAGE)) if option not in known] == []
