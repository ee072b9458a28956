"""Every command in README and docs is run, and README's screen is what the command prints."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from jobs.cli import main

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "data"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PLACEHOLDER = re.compile(r"\bLOGS\b|\bDIR\b|\bFILE\b|\.\.\.")


def commands(page: Path) -> list[str]:
    """The command lines in a page's plain code blocks; those with placeholders are forms, not commands."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    blocks = [text for language, text in fences if language in ("", "sh")]
    lines = [line.partition("   #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith(("kafka-rewind ", "make ")) and not PLACEHOLDER.search(line)]


ELSEWHERE = ("docs/how-to-describe.md", "docs/how-to-merge.md")
"""Pages whose commands are run, and their output compared, by other tests (test_describe_job, test_merge_docs)."""
ANSWERS = ("why", "outages", "brokers", "availability", "loss", "incidents", "what-if", "report", "elect", "reassign")
READING = sorted(
    command
    for command in {c for page in PAGES if str(page.relative_to(ROOT)) not in ELSEWHERE for c in commands(page)}
    if command.split()[:2][-1] in ("sql", "export", "describe", "merge", "summary", "tables", *ANSWERS)
)
TARGETS = sorted({c for page in PAGES for c in commands(page) if c.startswith("make ")})


def test_readme_begins_with_the_two_commands() -> None:
    assert commands(ROOT / "README.md")[:2] == ["make demo", "make test"]


@pytest.mark.parametrize("command", TARGETS)
def test_make_knows_the_target(command: str) -> None:
    dry = subprocess.run([*shlex.split(command), "-n"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert dry.returncode == 0, dry.stderr


@pytest.mark.parametrize("command", READING)
def test_a_reading_command_works(
    command: str, zk: Run, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "demo-warehouse").symlink_to(zk.warehouse.root)
    if "kraft-warehouse" in command:
        (tmp_path / "kraft-warehouse").symlink_to(request.getfixturevalue("kraft").warehouse.root)
    (tmp_path / "data").symlink_to(DATA)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, shlex.split(command)[1:], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert result.output.strip() or "--output" in command


def test_the_demo_runs_what_readme_says() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert "kafka-rewind nightly data/zk-2.4.1/logs --warehouse demo-warehouse" in makefile
    assert "kafka-rewind nightly data/zk-2.4.1/logs --warehouse demo-warehouse" in commands(ROOT / "README.md")


def test_the_lines_in_readme_are_what_the_demo_prints(zk: Run) -> None:
    from jobs.nightly.summary_queries import summarize
    from jobs.nightly.summary_text import summary_text

    printed = summary_text(summarize(zk.warehouse), "demo-warehouse")
    shown = re.findall(
        r"^```text\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )[0]
    lines = iter(printed.splitlines())
    quoted = [line for line in shown.strip().splitlines() if line.strip() != "…"]
    assert len(quoted) > 8
    assert [line for line in quoted if line not in lines] == []  # in order: each is looked for behind the one before
