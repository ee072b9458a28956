"""A standalone cluster of three workers with folders of their own, logs that only a store has, and processes killed.

`python tests/proofs/prove_cluster.py [KILLS] [--keep DIR]` (64). The logs are behind the S3 protocol (moto's server),
the warehouse is a shared folder; dynamic allocation and adaptive execution are on. A first night, a second with
appended logs, and `sql` run there; tables must be those of the same nights with local[2]. Then first and second nights
in turn: every 15 s an executor, a Python worker or a worker is killed with SIGKILL, and the driver at one stage after
another. What Spark gets over must end well; after the driver's death, or where Spark gave up (a task failed four
times), the night is run again; all tables must be the same. The logs are the first minute of data/zk-2.4.1, the second
night's half a minute more. `--keep DIR` keeps the local nights for the next time, which leaves clean ones out, too.
Needs `pip install '.[prove]'`. Prints each kill, and what differs; files of a proof that fails stay.
"""

from __future__ import annotations

import gzip
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from jobs.exits import FAILED  # noqa: E402
from jobs.session import session  # noqa: E402
from tests.conftest import published_rows  # noqa: E402
from tests.proofs.prove_kill import hashes  # noqa: E402
from tests.proofs.prove_kill import night as run_locally  # noqa: E402
from tests.proofs.running_stores import Store, s3  # noqa: E402
from tests.test_submit import CLUSTERS_OWN, commands, end_with_us, wait_for_match  # noqa: E402

WORKERS = 3
RUN_S = 900
"""Seconds after which a night hangs; on a loaded machine of two cores one takes 300."""
VICTIMS = ("executor", "python worker", "worker")
"""What Spark gets over."""
PAUSE_S = (10.0, 20.0)
"""Between two kills of them, at least and at most."""
TRIES = 8
"""How often a night is begun."""
NIGHTS = ("11:45:00", "11:45:30")
"""Until when a night's logs go."""
STAGES = ("ingest", "timelines", "detect", "replay", "audit", "publish")
DRIVER_AT = (("ingest", "detect"), ("timelines", "audit"), ("replay", "publish"))
"""Stages at which a night's driver is killed, one night after another."""
SQL = "SELECT count(*) AS n FROM events"
OWN = """
spark.executor.cores                                1
spark.dynamicAllocation.enabled                     true
spark.dynamicAllocation.shuffleTracking.enabled     true
spark.dynamicAllocation.minExecutors                1
spark.dynamicAllocation.initialExecutors            1
spark.dynamicAllocation.executorIdleTimeout         60s
spark.sql.adaptive.enabled                          true
"""


@dataclass
class Process:
    """A process of the cluster, leader of a session that has all that it starts."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path


def write_logs(folder: Path, until: str) -> None:
    """The real cluster's logs up to a time, as they were then."""
    capture = ROOT / "data" / "zk-2.4.1" / "logs"
    for path in capture.rglob("*.log*"):
        data = path.read_bytes()
        lines = (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines(keepends=True)
        later = (n for n, line in enumerate(lines) if line.startswith(b"[2026") and line[12:20].decode() >= until)
        to = folder / path.relative_to(capture).with_name(path.name.partition(".log")[0] + ".log")
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(b"".join(lines[: next(later, len(lines))]))


def in_session(leader: int, word: str) -> list[int]:
    """Processes of a session that have a word in their command line, in the order of their numbers."""
    pids = []
    for path in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            pid = int(path.name)
            session = int((path / "stat").read_text().rpartition(")")[2].split()[3])
            if session == leader and word in (path / "cmdline").read_text():
                pids.append(pid)
    return sorted(pids)


class Cluster:
    """A master and workers of one core, each with folders of its own.

    `own`: settings of the cluster; `memory_gb`: of each worker.
    """

    def __init__(self, folder: Path, count: int, own: str, memory_gb: int) -> None:
        self.folder, self.memory_gb = folder, memory_gb
        (folder / "conf").mkdir()
        credentials = "".join(
            f"spark.executorEnv.{name}  {value}\n" for name, value in os.environ.items() if name.startswith("AWS_")
        )
        (folder / "conf" / "spark-defaults.conf").write_text(f"{own}{credentials}")
        variables = {
            k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_")) and k != "PYTHONPATH"
        }
        self.environment = variables | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_CONF_DIR": str(folder / "conf"),
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        }
        self.master = self._start("master", "master.Master")
        self.url = wait_for_match(self.master.log, r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        self.workers = [self._worker(number) for number in range(count)]
        for worker in self.workers:
            wait_for_match(worker.log, r"Successfully registered with master (\S+)")

    def _start(self, name: str, main: str, *arguments: str) -> Process:
        own = self.folder / f"{name}-{time.monotonic_ns()}"
        own.mkdir()
        command = [str(Path(sys.executable).parent / "spark-class"), f"org.apache.spark.deploy.{main}"]
        command += ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *arguments]
        with (own / "log").open("wb") as out:
            popen = subprocess.Popen(
                command,
                env={**self.environment, "SPARK_LOCAL_DIRS": str(own / "local"), "SPARK_WORKER_DIR": str(own / "work")},
                cwd=own,
                stdout=out,
                stderr=out,
                start_new_session=True,
                preexec_fn=end_with_us,
            )
        return Process(name, popen, own / "log")

    def _worker(self, number: int) -> Process:
        return self._start(
            f"worker-{number}", "worker.Worker", "--cores", "1", "--memory", f"{self.memory_gb}g", self.url
        )

    def kill(self, kind: str, driver: subprocess.Popen[bytes], chance: random.Random) -> bool:
        """kill -9 of one process; whether there was one. A worker goes with all that it started, and another comes."""
        if driver.poll() is not None:
            return False
        if kind == "driver":
            os.killpg(driver.pid, signal.SIGKILL)
            return True
        if kind == "worker":
            number = chance.randrange(len(self.workers))
            _end(self.workers[number].popen)
            self.workers[number] = self._worker(number)
            return True
        word = {"executor": "CoarseGrainedExecutorBackend", "python worker": "pyspark.daemon"}[kind]
        pids = [pid for worker in self.workers for pid in in_session(worker.popen.pid, word)]
        if not pids:
            return False
        with suppress(ProcessLookupError):
            os.kill(chance.choice(pids), signal.SIGKILL)
        return True

    def close(self) -> None:
        """End all."""
        for process in (*self.workers, self.master):
            _end(process.popen)


def _end(popen: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(popen.pid, signal.SIGKILL)
    popen.wait()


@contextmanager
def cluster(
    folder: Path, count: int = WORKERS, own: str = f"{CLUSTERS_OWN}{OWN}", memory_gb: int = 1
) -> Iterator[Cluster]:
    """A cluster that runs."""
    started = Cluster(folder, count, own, memory_gb)
    try:
        yield started
    finally:
        started.close()


@dataclass
class Night:
    """A night by spark-submit, as the guide shows it, in a session of its own; its output is in a file."""

    popen: subprocess.Popen[bytes]
    output: Path

    def stage(self) -> str:
        """The stage that it named last."""
        stages: list[str] = re.findall(r"^([a-z ]+) \.\.\.$", self.output.read_text(errors="replace"), re.M)
        return stages[-1] if stages else "start"

    def has_trace(self) -> bool:
        """Whether it printed a stack trace."""
        return "Traceback" in self.output.read_text(errors="replace")

    def fault(self) -> str:
        """Wait for its end; what went wrong, empty if all is well. A night that hangs is ended."""
        try:
            code: int | None = self.popen.wait(RUN_S)
        except subprocess.TimeoutExpired:
            code = None
            _end(self.popen)
        text = self.output.read_text(errors="replace")
        if code == 0 and "Traceback" not in text:
            return ""
        how = f"hung at {self.stage()}" if code is None else f"exit {code}"
        return f"{how}{', with a stack trace' if 'Traceback' in text else ''}:\n{text[-4000:]}"


@dataclass
class Proof:
    """What nights are compared with, and where they run."""

    on: Cluster
    job: Path
    logs: str
    scratch: Path
    expected: dict[str, dict[str, str]]
    """By night, `first` and `second`, the hash of each table."""
    wrong: list[str] = field(default_factory=list)
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By victim and stage."""
    given_up: int = 0
    """Nights that Spark gave up, and that were begun again."""

    def submit(self, name: str, command: str = 'nightly "$LOGS"', number: int = 1) -> Night:
        """Start a command, a night if no other is given, on the warehouse of that name."""
        where = {"JOB": str(self.job), "MASTER": self.on.url, "LOGS": self.logs, "WAREHOUSE": str(self.scratch / name)}
        output = self.scratch / f"{name}-{number}.out"
        with output.open("wb") as out:
            popen = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", commands()[1].replace('nightly "$LOGS"', command)],
                env=self.on.environment | where,
                cwd=self.on.folder,
                stdout=out,
                stderr=out,
                start_new_session=True,
                preexec_fn=end_with_us,
            )
        return Night(popen, output)

    def compare(self, what: str, night: Night, name: str, expected: str) -> None:
        """Wait for a night; print what went wrong, and which tables differ."""
        if fault := night.fault():
            self.wrong.append(name)
            print(f"{what}: {fault}", flush=True)
            return
        actual = hashes(self.scratch / name)
        of = self.expected[expected]
        differ = sorted(t for t in of.keys() | actual.keys() if of.get(t) != actual.get(t))
        self.wrong.extend(differ)
        print(f"{what}: {len(of)} tables, {', '.join(differ) or 'nothing'} differs from local[2]", flush=True)

    def clean(self, what: str, name: str) -> float:
        """A night without a kill; its seconds."""
        begun = time.monotonic()
        night = self.submit(name, number=len(list(self.scratch.glob(f"{name}-*.out"))) + 1)
        night.popen.wait()
        seconds = time.monotonic() - begun
        self.compare(f"{what} night, no kill, {WORKERS} workers, {seconds:.0f} s", night, name, what)
        return seconds

    def sql(self, name: str) -> None:
        """Count the events by Spark on the cluster."""
        begun = time.monotonic()
        query = self.submit(name, f'sql "{SQL}" --engine spark', number=9)
        fault = query.fault()
        text = query.output.read_text()
        rows = len(published_rows(self.scratch / name)["events"])
        if fault or re.search(rf"^\W*{rows}\W*$", text, re.M) is None:
            self.wrong.append("sql")
        print(f"sql, {time.monotonic() - begun:.0f} s: {fault or text.split()}", flush=True)

    def night_with_kills(self, number: int, chance: random.Random) -> None:
        """A night with kills at any moments, and of its driver at two stages; after that it is run again."""
        which = ("first", "second")[number % 2]
        name, begun, kills = f"w-{number}", time.monotonic(), self.kills.total()
        if which == "second":
            shutil.copytree(self.scratch / "one-night", self.scratch / name)
        driver_at, victims = list(DRIVER_AT[number % len(DRIVER_AT)]), list(VICTIMS)
        for attempt in range(1, TRIES + 1):
            night, next_kill = self.submit(name, number=attempt), begun
            while (code := night.popen.poll()) is None:
                time.sleep(0.1)
                if driver_at and night.stage() == driver_at[0]:
                    time.sleep(chance.random())
                    if self._kill(number, "driver", night, begun, chance):
                        driver_at.pop(0)
                elif time.monotonic() > next_kill:
                    killed = (victim for victim in victims if self._kill(number, victim, night, begun, chance))
                    if (victim := next(killed, None)) is not None:
                        next_kill = time.monotonic() + chance.uniform(*PAUSE_S)
                        victims.remove(victim)
                        victims.append(victim)
            if code == FAILED and not night.has_trace():
                self.given_up += 1
                print(f"night {number}: Spark gave up at {night.stage()}", flush=True)
            elif code != -signal.SIGKILL:
                break
        kills = self.kills.total() - kills
        what = f"night {number} ({which}), {kills} kills, begun {attempt} times, {time.monotonic() - begun:.0f} s"
        self.compare(what, night, name, which)
        shutil.rmtree(self.scratch / name, ignore_errors=not self.wrong)

    def _kill(self, number: int, victim: str, night: Night, begun: float, chance: random.Random) -> bool:
        """Kill a process, print it; whether there was one."""
        stage = night.stage()
        if not self.on.kill(victim, night.popen, chance):
            return False
        self.kills[victim, stage] += 1
        print(f"night {number}: {victim}, {time.monotonic() - begun:.0f} s, {stage}", flush=True)
        return True

    def matrix(self) -> str:
        """Kills by victim and stage."""
        stages = ["start", *STAGES]
        lines = [f"{'':<14}" + "".join(f"{stage:>10}" for stage in stages)]
        for victim in ("driver", *VICTIMS):
            lines.append(f"{victim:<14}" + "".join(f"{self.kills[victim, stage]:>10}" for stage in stages))
        return "\n".join(lines)


def nights_of_one_machine(upload: Callable[[str], None], store: Store, kept: Path) -> None:
    """Leave a first night over the earlier logs, the second one on it, and a first one over all logs."""
    with session() as spark:
        upload(NIGHTS[0])
        run_locally(spark, kept / "local", store.logs)
        shutil.copytree(kept / "local", kept / "one-night")
        upload(NIGHTS[1])
        run_locally(spark, kept / "local", store.logs)
        run_locally(spark, kept / "local-first", store.logs)


def main(arguments: list[str]) -> int:
    """The exit code."""
    wanted = int(next((a for a in arguments if a.isdigit()), "64"))
    begun, chance, number = time.monotonic(), random.Random(22), 0
    with ExitStack() as stack:
        scratch = Path(tempfile.mkdtemp(prefix="kafka-rewind-cluster-"))
        kept = Path(arguments[arguments.index("--keep") + 1]) if "--keep" in arguments else scratch
        store = stack.enter_context(s3(scratch, with_jars=False))
        logs, job = scratch / "logs", scratch / "job"
        job.mkdir()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        here = {**os.environ, "JOB": str(job), "PYTHONPATH": str(ROOT), "PATH": path}
        subprocess.run(["bash", "-ec", commands()[0]], env=here, cwd=ROOT, check=True, capture_output=True)

        def upload(until: str) -> None:
            write_logs(logs, until)
            store.upload(logs)

        if not (kept / "local-first").exists():
            nights_of_one_machine(upload, store, kept)
        upload(NIGHTS[1])
        if kept != scratch:
            shutil.copytree(kept / "one-night", scratch / "one-night")
        on = stack.enter_context(cluster(scratch))
        expected = {"first": hashes(kept / "local-first"), "second": hashes(kept / "local")}
        proof = Proof(on, job, store.logs, scratch, expected)
        if not (kept / "clean").exists():
            proof.clean("first", "cluster-first")
            shutil.copytree(scratch / "one-night", scratch / "cluster-second")
            proof.clean("second", "cluster-second")
            proof.sql("cluster-second")
            (kept / "clean").touch()
        while proof.kills.total() < wanted and not proof.wrong:
            proof.night_with_kills(number, chance)
            number += 1
        print(proof.matrix())
    if proof.wrong:
        print(f"what is wrong is left in {scratch}")
    else:
        shutil.rmtree(scratch)
    print(
        f"{proof.kills.total()} kills in {number} nights, of which Spark gave up {proof.given_up}; {len(proof.wrong)} "
        f"tables or nights are wrong; {time.monotonic() - begun:.0f} s"
    )
    return 1 if proof.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
