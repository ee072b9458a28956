"""A run that is killed at any commit, then run again, gives the tables of one clean run; so do two runs at once.

    PYTHONPATH=. python tests/proofs/prove_kill.py [STRIDE]

A first night of a small cluster creates the warehouse; a second one brings appended logs, an excerpt that overlaps, and
one that continues a truncated record that was published. Each night is killed with SIGKILL, the JVM and the workers
with it, before and during the first commit, before and during the second, and so on (each STRIDE-th of them). Tables
are compared by the hash of their sorted rows, run ids aside. Prints a line for each kill, and how many tables differ;
exits with 1 if one does.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.conftest import MORE, PER_RUN, SMALL, append, published_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
MOMENTS = ("before", "during")
DURING_SECONDS = 0.15
"""How long after its begin a commit is killed: it takes half a second or more, most of it writing files."""


# ---- the run that is killed ------------------------------------------------------------------------------------------
def killed_run(number: int, moment: str, command: list[str]) -> int:
    """Run a command of the command line, killed at the commit of that number, from 1; 0: never, and prints how many."""
    from jobs import cli
    from jobs.warehouse.tables import Warehouse

    commits, lock = [0], threading.Lock()

    def at_commit() -> None:
        with lock:
            commits[0] += 1
            if commits[0] == number:
                if moment == "before":
                    _kill()
                threading.Timer(DURING_SECONDS, _kill).start()

    real_change, real_publish = Warehouse._change, Warehouse.publish

    def counted_change(self: Warehouse, table: str, change: Callable[[], object]) -> None:
        at_commit()
        real_change(self, table, change)

    def counted_publish(self: Warehouse, run: Any) -> None:
        at_commit()
        real_publish(self, run)

    Warehouse._change = counted_change  # type: ignore[method-assign]  # to see each commit
    Warehouse.publish = counted_publish  # type: ignore[method-assign]  # to see each commit
    code = cli.main(command, standalone_mode=False)
    print(f"commits {commits[0]}", flush=True)
    return code if isinstance(code, int) else 0


def _kill() -> None:
    os.killpg(0, signal.SIGKILL)


def start(number: int, moment: str, logs: Path, root: Path) -> subprocess.Popen[str]:
    """Start a nightly run in a process group of its own."""
    command = [
        sys.executable,
        __file__,
        "--killed",
        str(number),
        moment,
        "nightly",
        str(logs),
        "--warehouse",
        str(root),
    ]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=root.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


# ---- what it is compared with ----------------------------------------------------------------------------------------
def hashes(root: Path) -> dict[str, str]:
    """By published table the hash of its sorted rows, run ids and where files were on disk aside."""
    digests: dict[str, str] = {}
    for name, rows in published_rows(root).items():
        if name != "runs":
            texts = sorted(repr({key: value for key, value in row.items() if key not in PER_RUN}) for row in rows)
            digests[name] = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    return digests


def night(spark: SparkSession, root: Path, logs: Path | str) -> None:
    """A nightly run in this process."""
    from jobs.nightly.run import nightly
    from jobs.settings import Settings
    from jobs.warehouse.tables import open_warehouse

    outcome = nightly(open_warehouse(spark, str(root), create=True), [str(logs)], Settings(), "default", lambda _: None)
    assert outcome.published, outcome.audit


def second_night(logs: Path) -> None:
    """The logs of the second night: appended ones, an excerpt of one, and the rest of a truncated record."""
    append(logs, MORE)
    whole = (logs / "broker-1" / "controller.log").read_bytes().splitlines(keepends=True)
    (logs / "broker-1" / "excerpt.log").write_bytes(b"".join(whole[3:6]))
    truncated = (logs / "broker-1" / "truncated.log").read_bytes()
    (logs / "broker-1" / "goes-on.log").write_bytes(truncated + b"\tat kafka.controller.KafkaController.elect\n")
    (logs / "broker-1" / "truncated.log").unlink()


TRUNCATED = (
    b"[2026-11-21 10:04:00,000] ERROR [Controller id=1 epoch=1] Controller 1 epoch 1 failed to change state for "
    b"partition pay-in-0 from OfflinePartition to OnlinePartition (state.change.logger)\n"
    b"kafka.common.StateChangeFailedException\n"
)


def kills(
    spark: SparkSession, name: str, before: Path | None, logs: Path, scratch: Path, stride: int
) -> tuple[int, int]:
    """Kill one night at its commits; the number of kills, and of tables that differ after another run."""
    clean = scratch / f"{name}-clean"
    _copy(before, clean)
    first = start(0, "never", logs, clean)
    output, errors = first.communicate()
    assert first.returncode == 0, errors
    commits = int(output.rpartition("commits ")[2])
    expected = hashes(clean)
    one_night = threading.Lock()

    def kill(number: int, moment: str) -> list[str] | None:
        """The tables that differ; None if the run ended before it could be killed."""
        root = scratch / f"killed-{number}-{moment}"
        _copy(before, root)
        process = start(number, moment, logs, root)
        process.communicate()
        if process.returncode != -signal.SIGKILL:
            print(f"{name}, {moment} commit {number}: ended with {process.returncode} before it could be killed")
            return None
        with one_night:
            night(spark, root, logs)
        actual = hashes(root)
        shutil.rmtree(root)
        differ = sorted(table for table in expected.keys() | actual.keys() if expected.get(table) != actual.get(table))
        print(f"{name}, {moment} commit {number} of {commits}: {', '.join(differ) or 'nothing'} differs", flush=True)
        return differ

    with ThreadPoolExecutor(2) as pool:  # the next one starts while the last one is run again
        runs = [pool.submit(kill, n, moment) for n in range(1, commits + 1, stride) for moment in MOMENTS]
        results = [differ for differ in (run.result() for run in runs) if differ is not None]
    differing = sum(map(len, results))
    print(f"{name}: {commits} commits, killed {len(results)} times, {differing} tables differ")
    return len(results), differing


def two_at_once(spark: SparkSession, logs: Path, scratch: Path) -> int:
    """Two runs on one warehouse at the same time: one waits. The number of tables that differ from one run's."""
    roots = scratch / "alone", scratch / "together"
    night(spark, roots[0], logs)
    runs = [start(0, "never", logs, roots[1]) for _ in range(2)]
    for process in runs:
        process.communicate()
    codes: list[int] = [process.returncode for process in runs]
    alone, together = map(hashes, roots)
    differ = sorted(table for table in alone.keys() | together.keys() if alone.get(table) != together.get(table))
    print(f"two at once: exit codes {codes}, {len(differ)} tables differ {' '.join(differ)}")
    return len(differ) + sum(map(abs, codes))


def _copy(before: Path | None, root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    if before is not None:
        shutil.copytree(before, root)


def main() -> int:
    """The exit code."""
    from jobs.session import session

    stride = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, session() as spark:
        scratch, logs = Path(folder), Path(folder) / "logs"
        append(logs, SMALL)
        (logs / "broker-1" / "truncated.log").write_bytes(TRUNCATED)
        done, differ = kills(spark, "first night", None, logs, scratch, stride)
        before = scratch / "before"
        night(spark, before, logs)
        second_night(logs)
        more, wrong = kills(spark, "second night", before, logs, scratch, stride)
        wrong += two_at_once(spark, logs, scratch)
    print(f"{done + more} kills, {differ + wrong} tables differ; {time.monotonic() - begun:.0f} s")
    return 1 if differ + wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--killed"]:
        sys.exit(killed_run(int(sys.argv[2]), sys.argv[3], sys.argv[4:]))
    sys.exit(main())
