"""Progress on a terminal: what is shown of a plan of steps, and where nothing is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from jobs.ingest.bytes_read import NOT_COUNTED, BytesRead, shown_while_read
from jobs.nightly.steps import TABLES
from jobs.progress import EVERY, Progress, on_terminal
from schemas.tables import DERIVED

ROOT = Path(__file__).resolve().parents[1]


class Terminal:
    """A pseudo-terminal: what was written to it, line by line."""

    def __init__(self) -> None:
        self.screen, self.end = os.openpty()
        os.set_blocking(self.screen, False)
        self.stream = os.fdopen(self.end, "w", encoding="utf-8")
        self.text = ""

    def read(self) -> str:
        """All that was written so far."""
        try:
            while data := os.read(self.screen, 65536):
                self.text += data.decode("utf-8")
        except BlockingIOError:
            pass
        return self.text

    def wait_for(self, pattern: str) -> None:
        """Fails unless it is written within some seconds."""
        until = time.monotonic() + 10
        while not re.search(pattern, self.read()):
            assert time.monotonic() < until, self.text
            time.sleep(EVERY / 4)

    def lines(self) -> list[str]:
        """What a reader sees at the end: a line that was drawn over is what stands there last."""
        rows = []
        for line in self.read().replace("\r\n", "\n").split("\n"):
            cells: list[str] = []
            for part in line.split("\r"):
                cells[: len(part)] = part
            rows.append("".join(cells).rstrip())
        return rows


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    shown = Terminal()
    yield shown
    shown.stream.close()
    os.close(shown.screen)


def test_a_plan_of_steps(terminal: Terminal) -> None:
    """Each is shown with what is done of it and how much there is; what is said stands above; the end is clean."""
    progress, done = Progress(terminal.stream, shown_after=0), [0]
    with progress.step("starting Spark", says=True):
        terminal.wait_for(r"starting Spark 00:0\d")
    with progress.step("ingest"):
        with progress.step("ingest, reading logs", 300_000_000, "B", lambda: done[0]):
            terminal.wait_for(r"ingest, reading logs: 0\.00 of 300MB \| +\| 00:0\d")
            done[0] = 150_000_000
            terminal.wait_for(r"150M of 300MB \|█{10} {10}\|")
            done[0] = 400_000_000  # more than was planned: a file has grown meanwhile
            terminal.wait_for(r"300M of 300MB \|█{20}\|")
        with progress.step("ingest, writing", 4, "tables", lambda: 3):
            terminal.wait_for(r"ingest, writing: 3 of 4 tables \|█{15} {5}\|")
        terminal.wait_for(r"ingest 00:0\d")  # the outer one goes on
    with progress.step("query", 100, "%", lambda: 33):
        terminal.wait_for(r"query: 33% \|")
    progress.close()
    assert "".join(terminal.lines()) == ""


def test_what_is_said_stands_above(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress(terminal.stream, shown_after=0)
    monkeypatch.setattr("sys.stderr", terminal.stream)
    with progress.step("ingest"):
        terminal.wait_for("ingest 00:0")
        progress.say("reading 3 streams")
        count = terminal.text.count("ingest 00:0")
        terminal.wait_for(f"(?s)(ingest 00:0.*){{{count + 1}}}")
    progress.close()
    progress.say("done")
    assert [line for line in terminal.lines() if line] == ["reading 3 streams", "done"]


def test_errors_leave_nothing(terminal: Terminal) -> None:
    """A step that fails, and a count that does: what is done is not disturbed."""

    def broken() -> int:
        raise ValueError("closed")

    progress = Progress(terminal.stream, shown_after=0)
    with suppress(KeyError), progress.step("audit"):
        terminal.wait_for("audit 00:0")
        raise KeyError
    with progress.step("replay", 1, "tables", broken):
        time.sleep(2 * EVERY)
    progress.close()
    assert "".join(terminal.lines()) == ""


def test_short_steps_are_not_shown(terminal: Terminal) -> None:
    progress = Progress(terminal.stream)
    with progress.step("merge", 100, "B", lambda: 1):
        time.sleep(2 * EVERY)
    progress.close()
    assert terminal.read() == ""


PLAN = """
import sys, time
from jobs.progress import on_terminal
with on_terminal() as progress, progress.step("ingest", says=True):
    time.sleep(1.5)
assert progress.is_shown is False
print("tqdm" in sys.modules)
"""


@pytest.mark.parametrize(
    ("term", "is_terminal", "expected"),
    [("xterm", True, r"\ringest 00:01"), ("dumb", True, "^ingest ...\n$"), ("xterm", False, "^ingest ...\n$")],
)
def test_where_it_is_shown(term: str, is_terminal: bool, expected: str, terminal: Terminal) -> None:
    environment = {**os.environ, "TERM": term, "PYTHONPATH": str(ROOT)}
    error = terminal.end if is_terminal else subprocess.PIPE
    command = [sys.executable, "-c", PLAN]
    ended = subprocess.run(command, env=environment, stderr=error, stdout=subprocess.PIPE, text=True, check=True)
    text = terminal.read().replace("\r\n", "\n") if is_terminal else ended.stderr
    assert re.search(expected, text), text
    assert ended.stdout == f"{term == 'xterm' and is_terminal}\n"


CLOSED = MagicMock(isatty=MagicMock(side_effect=ValueError("closed")))


@pytest.mark.parametrize("stream", [None, CLOSED], ids=["none", "closed"])
def test_without_standard_error(stream: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    with on_terminal() as progress:
        assert not progress.is_shown


class TestBytesRead:
    def test_workers_add_up(self, tmp_path: Path) -> None:
        (tmp_path / "count").touch()
        counted = BytesRead(str(tmp_path / "count"))
        for number in (1 << 40, 0, 5):
            counted.add(number)
        assert counted.total() == (1 << 40) + 5
        (tmp_path / "count").unlink()
        counted.add(7)  # the step is over
        assert not (tmp_path / "count").exists()
        assert NOT_COUNTED.total() is None

    @pytest.mark.parametrize("master", ["local[*]", "yarn"])
    def test_counted_where_workers_are_on_this_machine(self, master: str, terminal: Terminal) -> None:
        spark = MagicMock()
        spark.sparkContext.master = master
        progress = Progress(terminal.stream, shown_after=0)
        with shown_while_read(spark, progress, "reading", 10) as counted:
            counted.add(5)
            terminal.wait_for("reading: 5.00 of 10.0B" if master == "local[*]" else "reading 00:0")
        progress.close()
        assert counted.path is None or not os.path.exists(counted.path)
        with shown_while_read(spark, Progress(), "reading", 10) as counted:
            assert counted is NOT_COUNTED


def test_tables_of_the_steps() -> None:
    """Each derived table is written by one step, so that a step ends with all of its tables written."""
    assert sorted(name for names in TABLES.values() for name in names) == sorted(table.name for table in DERIVED)


START: dict[str, Callable[[Path], list[str]]] = {
    "help": lambda _: ["--help"],
    "merge": lambda folder: ["merge", str(folder)],
}


@pytest.mark.parametrize("case", START)
def test_quick_commands_do_not_load_it(case: str, tmp_path: Path) -> None:
    (tmp_path / "state-change.log").write_text("[2026-11-21 10:00:00,000] INFO x (state.change.logger)\n")
    program = (
        "import sys, jobs.cli\n"
        "try:\n    jobs.cli.main(sys.argv[1:])\n"
        "except SystemExit:\n    pass\n"
        "sys.exit('tqdm' in sys.modules)"
    )
    command = [sys.executable, "-c", program, *START[case](tmp_path)]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0
