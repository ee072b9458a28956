"""Logs and warehouse in stores that run on loopback: HDFS, S3, Google's, Azure's, and a warehouse in Spark's catalog.

`python tests/proofs/prove_stores.py [hdfs|s3|gs|catalog|abfss ...] [--short]`, see `tests/proofs/running_stores.py`.
For each: a night that is killed in its middle; a first night, the killed one again, a second with appended logs, all in
one process; `sql` and `describe`, without Spark where there is a way. Not with `--short`: kills after more and fewer
commits, a third night over nothing new, two at once. Tables are those of the same nights over local folders. Needs
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

from jobs.read.views import open_views  # noqa: E402
from jobs.session import session  # noqa: E402
from schemas.tables import BY_NAME  # noqa: E402
from tests.conftest import MORE, PER_RUN, QUIET, SMALL, append  # noqa: E402
from tests.proofs.running_stores import RUNNING, Store, stores, what_is_missing  # noqa: E402

KILLS = (9, 2, 16)
"""Commits after which a night is killed; with `--short` the first one only."""
STEPS = ("first night", "killed, again", "second night", "sql")


# ---- tables ----------------------------------------------------------------------------------------------------------
def tables(root: str, prefix: str, engine: str = "duckdb") -> dict[str, str]:
    """By published table the hash of its sorted rows as an engine reads them; run ids and the logs' folder aside."""
    digests = {}
    with open_views(root, engine=engine) as connection:
        for name in BY_NAME:
            if name == "runs":
                continue
            result = connection.execute(f"SELECT * FROM {name}")
            columns = [column[0] for column in result.description]
            kept = [i for i, column in enumerate(columns) if column not in PER_RUN]
            rows = sorted(repr([row[i] for i in kept]) for row in result.fetchall())
            text = "\n".join(rows).replace(prefix, "LOGS")
            digests[name] = hashlib.sha256(text.encode()).hexdigest()
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


# ---- nights in one process -------------------------------------------------------------------------------------------
def run_nights(store: Store, plan: list[tuple[str, str, str]]) -> None:
    """Run nights with one Spark session; print for each, as JSON, its seconds and what its tables are.

    A plan's nights are the night's name, the local folder whose logs are put into the store before, if any, and the
    warehouse.
    """
    from jobs.nightly.run import nightly
    from jobs.settings import Settings
    from jobs.warehouse.tables import writing_warehouse

    with session() as spark:
        for what, folder, root in plan:
            if folder:
                store.upload(Path(folder))
            begun = time.monotonic()
            with writing_warehouse(spark, root, create=True, wait=True, say=lambda _: None) as warehouse:
                outcome = nightly(warehouse, [store.logs], Settings(), "default", lambda _: None)
            assert outcome.published, outcome.audit
            seconds = time.monotonic() - begun
            digests = tables(root, store.logs, store.reader)
            print(json.dumps({"what": what, "seconds": seconds, "tables": digests}), flush=True)


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


def kill_in_the_middle(store: Store, root: str, after: int) -> str:
    """Start a night, kill all its processes when its tables have so many commits; what became of it."""
    process = start(store, "nightly", store.logs, "--warehouse", root)
    while process.poll() is None:
        if commits(store, root) >= after:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"killed after {after} commits"
        time.sleep(0.2)
    return f"ended with {process.returncode} before: {process.communicate()[1][-1000:]}"


@dataclass
class Proof:
    """One store, and what came out."""

    name: str
    store: Store
    nights: dict[str, tuple[Path, dict[str, str]]]
    """Of the first and the second night the logs, and the tables that a local one leaves."""
    seconds: dict[str, str] = field(default_factory=dict)
    """By step how long it took, or that it failed."""
    wrong: int = 0
    """Tables that differ, and commands that failed."""

    def run(self, what: str, *arguments: str) -> str:
        """Run a command, print and note how long it took; its standard output."""
        begun = time.monotonic()
        output, errors = (process := start(self.store, *arguments)).communicate()
        seconds = time.monotonic() - begun
        print(f"  {what:<42} {seconds:6.1f} s  exit {process.returncode}", flush=True)
        failed = process.returncode != 0
        if failed:
            print(f"{output[-1000:]}\n{errors[-1000:]}", flush=True)
        self.wrong += failed
        self.seconds[what] = "fails" if failed else f"{seconds:.0f} s"
        return output

    def compare(self, what: str, actual: dict[str, str], expected: dict[str, str]) -> None:
        """Print and count which tables differ."""
        wrong = sorted(t for t in expected if expected[t] != actual.get(t))
        print(f"  {what}: {len(expected)} tables compared, {len(wrong)} differ {' '.join(wrong)}", flush=True)
        self.wrong += len(wrong)

    def prove(self, kills: tuple[int, ...], *, short: bool) -> None:
        """All nights, and what reads them."""
        print(f"{self.name}: logs {self.store.logs}, warehouse {self.store.warehouse('…')}", flush=True)
        first, second = self.nights[STEPS[0]], self.nights[STEPS[2]]
        self.store.upload(first[0])
        # a stream is named by what it began with as it was first read, so a first night over grown logs is another
        plan = [(STEPS[0], "", self.store.warehouse("a"))]
        for after in kills:
            root = self.store.warehouse(f"killed_{after}")
            became = kill_in_the_middle(self.store, root, after)
            print(f"  {became}", flush=True)
            self.wrong += not became.startswith("killed")
            plan.append((STEPS[1], "", root))
        plan.append((STEPS[2], str(second[0]), self.store.warehouse("a")))
        if not short:
            plan.append(("third night, nothing new", "", self.store.warehouse("a")))
            if self.store.reader == "duckdb":  # Derby lets one process in at a time
                self._two_at_once(first[1])
        self._nights(plan, {STEPS[0]: first[1], STEPS[1]: first[1]}, second[1])
        read = ("--warehouse", self.store.warehouse("a"), "--engine", self.store.reader)
        count = self.run("sql", "sql", "SELECT count(*) AS n FROM events", "--format", "csv", *read)
        self.wrong += count.split()[1:] in ([], ["0"])
        self.wrong += "pay-in" not in self.run("describe", "describe", "--at", "10:05:30", *read)

    def _nights(
        self, plan: list[tuple[str, str, str]], expected: dict[str, dict[str, str]], otherwise: dict[str, str]
    ) -> None:
        """Run nights in a process of its own, and compare each with what is expected of a night of that name."""
        spec = [self.store.logs, self.store.warehouses, self.store.reader, plan]
        command = [sys.executable, __file__, "--nights", json.dumps(spec)]
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                command, env=self.store.variables(), cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True
            )
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("{"):
                    night = json.loads(line)
                    what = night["what"]
                    self.seconds[what] = f"{night['seconds']:.0f} s"
                    print(f"  {what:<42} {night['seconds']:6.1f} s", flush=True)
                    self.compare(what, night["tables"], expected.get(what, otherwise))
            if process.wait():
                errors.seek(0)
                self.wrong += 1
                print(f"  failed: {errors.read()[-3000:]}", flush=True)

    def _two_at_once(self, expected: dict[str, str]) -> None:
        root = self.store.warehouse("two")
        both = [start(self.store, "nightly", self.store.logs, "--warehouse", root) for _ in range(2)]
        for process in both:
            process.communicate()
        print(f"  two at once: exit codes {[process.returncode for process in both]}")
        self.wrong += sum(process.returncode != 0 for process in both)
        self._nights([("two at once", "", root)], {}, expected)


def main(arguments: list[str]) -> int:
    """The exit code."""
    if missing := what_is_missing():
        print(f"not proven: needs {', '.join(missing)}")
        return 1
    begun, short = time.monotonic(), "--short" in arguments
    names = [a for a in arguments if not a.startswith("--")] or list(RUNNING)
    proofs: list[Proof] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        logs, nights = Path(folder) / "logs", {}
        local = Store(str(logs), folder)
        with session() as spark:
            from tests.proofs.prove_kill import night as run_locally

            for step, more in ((STEPS[0], (SMALL, QUIET)), (STEPS[2], (MORE,))):
                for lines in more:
                    append(logs, lines)
                run_locally(spark, Path(local.warehouse("local")), logs)
                nights[step] = logs.with_name(step.replace(" ", "-")), tables(local.warehouse("local"), local.logs)
                shutil.copytree(logs, nights[step][0])
        assert nights[STEPS[0]][1] != nights[STEPS[2]][1]
        for name in names:
            (Path(folder) / name).mkdir()
            try:
                with RUNNING[name](Path(folder) / name) as store:
                    proofs.append(Proof(name, store, nights))
                    proofs[-1].prove(KILLS[:1] if short else KILLS, short=short)
            except Exception as error:  # the other stores are proven all the same
                failed.append(name)
                print(f"{name} failed: {error!r}"[:2000], flush=True)
    print(f"{'store':<8}" + "".join(f"{step:>16}" for step in STEPS) + "    wrong")
    for proof in proofs:
        print(f"{proof.name:<8}" + "".join(f"{proof.seconds.get(s, '-'):>16}" for s in STEPS) + f"{proof.wrong:>9}")
    wrong = sum(proof.wrong for proof in proofs) + len(failed)
    print(f"{wrong} tables differ, stores fail or commands fail; {time.monotonic() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--nights"]:
        of_logs, of_warehouses, by, nights_to_run = json.loads(sys.argv[2])
        run_nights(Store(of_logs, of_warehouses, reader=by), nights_to_run)
    else:
        sys.exit(main(sys.argv[1:]))
