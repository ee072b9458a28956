"""Logs and warehouse in stores that run on loopback: HDFS, S3, Google's, Azure's (`tests/proofs/running_stores.py`).

`python tests/proofs/prove_stores.py [hdfs|s3|gs|abfss ...] [--kills=N] [--short]`. For each: a night, a second with
appended logs, `sql` and `describe` without Spark, nights that are killed in their middle, and again; a third over
nothing new, and two at once (not with `--short`). Tables are those of the same nights over local folders. Needs
`pip install '.[prove]'`, Maven, Go and npm; prints what ran where, with seconds, and a table of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from jobs.session import session  # noqa: E402
from tests.conftest import MORE, QUIET, SMALL, append  # noqa: E402
from tests.proofs.prove_kill import night as run_locally  # noqa: E402
from tests.proofs.running_stores import RUNNING, Store, stores, what_is_missing  # noqa: E402

KILLS = (9, 2, 16)
"""Commits after which a night is killed."""
STEPS = ("first night", "second night", "killed, again", "sql")


# ---- commands --------------------------------------------------------------------------------------------------------
def start(store: Store, *arguments: str) -> subprocess.Popen[str]:
    """A command in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "jobs.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=ROOT,
        env=store.variables(),
    )


def tables(root: str, prefix: str, engine: str = "duckdb") -> dict[str, str]:
    """By published table the hash of its sorted rows as an engine reads them; run ids and the logs' folder aside."""
    from jobs.read.views import open_views
    from schemas.tables import BY_NAME

    digests = {}
    with open_views(root, engine=engine) as connection:
        for name in BY_NAME:
            if name == "runs":
                continue
            result = connection.execute(f"SELECT * FROM {name}")
            columns = [column[0] for column in result.description]
            rows = sorted(
                repr([v for c, v in zip(columns, row, strict=True) if c != "run_id"]) for row in result.fetchall()
            )
            text = "\n".join(rows).replace(prefix, "LOGS")
            digests[name] = hashlib.sha256(text.encode()).hexdigest()
    return digests


def tables_by_spark(store: Store, root: str) -> dict[str, str]:
    """The same in a process of its own, whose Spark is that of the store."""
    code = (
        "import json, sys\n"
        "from tests.proofs.prove_stores import tables\n"
        "print(json.dumps(tables(sys.argv[1], sys.argv[2], 'spark')))"
    )
    command = [sys.executable, "-c", code, root, store.logs]
    output = subprocess.run(command, env=store.variables(), cwd=ROOT, check=True, capture_output=True, text=True).stdout
    digests: dict[str, str] = json.loads(output.splitlines()[-1])
    return digests


def commits(store: Store, root: str) -> int:
    """How many versions the tables of a warehouse have, together."""
    from pyarrow.fs import FileSelector

    if store.reader == "spark":
        schema = root.partition(".")[2]
        return len(list((Path(store.logs).parent / "tables" / f"{schema}.db").glob("*/_delta_log/*.json")))
    system, path, _ = stores()._place(re.sub("^s3a", "s3", root))
    files = system.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
    return sum(bool(re.search(r"/_delta_log/\d{20}\.json$", f.path)) for f in files)


def kill_in_the_middle(store: Store, root: str, after: int) -> str:
    """Start a night, kill all its processes when its tables have so many commits; what became of it."""
    process = start(store, "nightly", store.logs, "--warehouse", root)
    while process.poll() is None:
        if commits(store, root) >= after:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"killed after {after} commits"
        time.sleep(0.2)
    return f"ended with {process.returncode} before"


@dataclass
class Proof:
    """One store, what its tables are compared with, and what came out."""

    name: str
    store: Store
    seconds: dict[str, str] = field(default_factory=dict)
    """By step how long it took, or that it failed."""
    wrong: int = 0
    """Tables that differ, and commands that failed."""

    def run(self, what: str, *arguments: str, step: str = "") -> str:
        """Run a command, print and note how long it took; its standard output."""
        begun = time.monotonic()
        output, errors = (process := start(self.store, *arguments)).communicate()
        seconds = time.monotonic() - begun
        print(f"  {what:<42} {seconds:6.1f} s  exit {process.returncode}", flush=True)
        failed = process.returncode != 0
        if failed:
            print(f"{output[-1000:]}\n{errors[-1000:]}", flush=True)
        self.wrong += failed
        if step:
            self.seconds[step] = "fails" if failed else f"{seconds:.0f} s"
        return output

    def night(self, what: str, root: str, expected: dict[str, str], step: str = "") -> None:
        """A night, whose tables are to be the expected ones."""
        self.run(what, "nightly", self.store.logs, "--warehouse", root, step=step)
        self.compare(what, root, expected)

    def compare(self, what: str, root: str, expected: dict[str, str]) -> None:
        """Print and count which tables differ."""
        try:
            if self.store.reader == "duckdb":
                actual = tables(root, self.store.logs)
            else:
                actual = tables_by_spark(self.store, root)
        except Exception as error:  # a proof goes on
            actual = {}
            print(f"  not read: {str(error)[:500]}", flush=True)
        wrong = sorted(t for t in expected if expected[t] != actual.get(t))
        print(f"  {what}: {len(expected)} tables compared, {len(wrong)} differ {' '.join(wrong)}", flush=True)
        self.wrong += len(wrong)

    def prove(self, first: tuple[Path, dict[str, str]], second: tuple[Path, dict[str, str]], kills: int) -> None:
        """All nights; of each its logs, and what is expected."""
        at = self.store.warehouse("a")
        print(f"{self.name}: logs {self.store.logs}, warehouse {self.store.warehouses}", flush=True)
        self.store.upload(first[0])
        self.night("first night", at, first[1], STEPS[0])
        self.store.upload(second[0])
        self.night("second night", at, second[1], STEPS[1])
        read = ("--warehouse", at, "--engine", self.store.reader)
        count = self.run("sql", "sql", "SELECT count(*) AS n FROM events", "--format", "csv", *read, step=STEPS[3])
        self.wrong += count.split()[1:] in ([], ["0"])
        described = self.run("describe", "describe", "--at", "10:05:30", *read)
        self.wrong += "pay-in" not in described
        for after in KILLS[:kills]:
            root = self.store.warehouse(f"killed_{after}")
            print(f"  {kill_in_the_middle(self.store, root, after)}", flush=True)
            self.night("and run again (waits for the lease)", root, second[1], STEPS[2])

    def prove_more(self, expected: dict[str, str]) -> None:
        """A night over nothing new, Spark as reader, two nights at once."""
        at = self.store.warehouse("a")
        self.night("third night, nothing new", at, expected)
        self.run("sql --engine spark", "sql", "SELECT 1", "--engine", "spark", "--warehouse", at)
        root = self.store.warehouse("two")
        both = [start(self.store, "nightly", self.store.logs, "--warehouse", root) for _ in range(2)]
        for process in both:
            process.communicate()
        print(f"  two at once: exit codes {[process.returncode for process in both]}")
        self.wrong += sum(process.returncode != 0 for process in both)
        self.compare("two at once", root, expected)


def main(arguments: list[str]) -> int:
    """The exit code."""
    if missing := what_is_missing():
        print(f"not proven: needs {', '.join(missing)}")
        return 1
    begun = time.monotonic()
    kills = next((int(a.removeprefix("--kills=")) for a in arguments if a.startswith("--kills=")), len(KILLS))
    names = [a for a in arguments if not a.startswith("--")] or list(RUNNING)
    proofs = []
    with tempfile.TemporaryDirectory() as folder:
        logs, nights = Path(folder) / "logs", []
        with session() as spark:
            for number, more in enumerate((SMALL, QUIET, MORE)):
                append(logs, more)
                if number:
                    run_locally(spark, Path(folder) / "local", logs)
                    nights.append((logs.with_name(f"night-{number}"), tables(f"{folder}/local", str(logs))))
                    shutil.copytree(logs, nights[-1][0])
        assert nights[0][1] != nights[1][1]
        for name in names:
            (Path(folder) / name).mkdir()
            with RUNNING[name](Path(folder) / name) as store:
                proof = Proof(name, store)
                proofs.append(proof)
                proof.prove(nights[0], nights[1], kills)
                if "--short" not in arguments:
                    proof.prove_more(nights[1][1])
    print(f"{'store':<8}" + "".join(f"{step:>16}" for step in STEPS) + "    wrong")
    for proof in proofs:
        print(f"{proof.name:<8}" + "".join(f"{proof.seconds.get(s, '-'):>16}" for s in STEPS) + f"{proof.wrong:>9}")
    wrong = sum(proof.wrong for proof in proofs)
    print(f"{wrong} tables differ or commands fail; {time.monotonic() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
