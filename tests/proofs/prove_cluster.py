"""A standalone cluster of three workers with folders of their own, logs that only a store has, and processes killed.

`python tests/proofs/prove_cluster.py [KILLS]` (64). The logs are behind the S3 protocol (moto's server), the warehouse
is a shared folder; dynamic allocation and adaptive execution are on. A night's tables must be those of a local run;
then nights with `kill -9` of an executor, a Python worker, a worker, and the driver, in any order at random moments:
what Spark gets over must end well, after the driver's death the night is run again, and all tables must be the same.
Needs `pip install '.[prove]'`. Prints each kill, and what differs; files of a proof that fails stay.
"""

from __future__ import annotations

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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.conftest import MORE, QUIET, SMALL, append  # noqa: E402
from tests.proofs.prove_kill import hashes  # noqa: E402
from tests.proofs.prove_stores import s3  # noqa: E402
from tests.test_submit import CLUSTERS_OWN, commands, end_with_us, wait_for_match  # noqa: E402

WORKERS = 3
RUN_S = 900
"""Seconds after which a night hangs; on a loaded machine of two cores one takes 300."""
KINDS = ("executor", "python worker", "driver", "worker")
OWN = """
spark.executor.cores                                1
spark.dynamicAllocation.enabled                     true
spark.dynamicAllocation.shuffleTracking.enabled     true
spark.dynamicAllocation.minExecutors                1
spark.dynamicAllocation.initialExecutors            1
spark.dynamicAllocation.executorIdleTimeout         15s
spark.sql.adaptive.enabled                          true
"""


@dataclass
class Process:
    """A process of the cluster, leader of a session that has all that it starts."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path


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
    """A master and workers, each with folders of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "conf").mkdir()
        credentials = "".join(
            f"spark.executorEnv.{name}  {value}\n" for name, value in os.environ.items() if name.startswith("AWS_")
        )
        (folder / "conf" / "spark-defaults.conf").write_text(f"{CLUSTERS_OWN}{OWN}{credentials}")
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
        self.workers = [self._worker(number) for number in range(WORKERS)]
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
        return self._start(f"worker-{number}", "worker.Worker", "--cores", "1", "--memory", "1g", self.url)

    def kill(self, kind: str, driver: subprocess.Popen[bytes], chance: random.Random) -> bool:
        """kill -9 of one process; whether there was one. A worker goes with all that it started, and another comes."""
        if driver.poll() is not None:
            return False
        if kind == "driver":
            os.killpg(driver.pid, signal.SIGKILL)
            return True
        if kind == "worker":
            number = chance.randrange(WORKERS)
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
def cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster that runs."""
    started = Cluster(folder)
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
    expected: dict[str, str]
    wrong: list[str] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    """By kind."""

    def submit(self, name: str, number: int = 1) -> Night:
        """Start a night that writes to the warehouse of that name."""
        where = {"JOB": str(self.job), "MASTER": self.on.url, "LOGS": self.logs, "WAREHOUSE": str(self.scratch / name)}
        output = self.scratch / f"{name}-{number}.out"
        with output.open("wb") as out:
            popen = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", commands()[1]],
                env=self.on.environment | where,
                cwd=self.on.folder,
                stdout=out,
                stderr=out,
                start_new_session=True,
                preexec_fn=end_with_us,
            )
        return Night(popen, output)

    def compare(self, what: str, night: Night, name: str) -> None:
        """Wait for a night; print what went wrong, and which tables differ."""
        if fault := night.fault():
            self.wrong.append(name)
            print(f"{what}: {fault}", flush=True)
            return
        actual = hashes(self.scratch / name)
        differ = sorted(t for t in self.expected.keys() | actual.keys() if self.expected.get(t) != actual.get(t))
        self.wrong.extend(differ)
        print(f"{what}: {', '.join(differ) or 'nothing'} differs from local[*]", flush=True)
        if not differ:
            shutil.rmtree(self.scratch / name)

    def night_with_kills(self, number: int, seconds: float, chance: random.Random) -> None:
        """A night with a kill of each kind, in any order at any moments; after its driver's death it is run again."""
        name, begun = f"w-{number}", time.monotonic()
        night = self.submit(name)
        moments = sorted(seconds * chance.uniform(0.1, 0.95) for _ in KINDS)
        for kind, moment in zip(chance.sample(KINDS, len(KINDS)), moments, strict=True):
            with suppress(subprocess.TimeoutExpired):
                night.popen.wait(max(begun + moment - time.monotonic(), 0))
            while not (killed := self.on.kill(kind, night.popen, chance)) and night.popen.poll() is None:
                time.sleep(0.1)
            if not killed:
                print(f"night {number} ended before a kill of its {kind}", flush=True)
                continue
            self.kills[kind] += 1
            print(f"night {number}: {kind}, {time.monotonic() - begun:.0f} s, {night.stage()}", flush=True)
            if kind == "driver":
                night.popen.wait()
                night = self.submit(name, 2)
        with suppress(subprocess.TimeoutExpired):
            night.popen.wait(RUN_S)
        self.compare(f"night {number}, {time.monotonic() - begun:.0f} s", night, name)


def main(arguments: list[str]) -> int:
    """The exit code."""
    kills, chance = int(arguments[0]) if arguments else 64, random.Random(22)
    begun = time.monotonic()
    with ExitStack() as stack:
        scratch = Path(tempfile.mkdtemp(prefix="kafka-rewind-cluster-"))
        store = stack.enter_context(s3(scratch, with_jars=False))
        for night in (SMALL, QUIET, MORE):
            append(scratch / "logs", night)
        store.upload(scratch / "logs")
        job = scratch / "job"
        job.mkdir()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        here = {**os.environ, "JOB": str(job), "PYTHONPATH": str(ROOT), "PATH": path}
        subprocess.run(["bash", "-ec", commands()[0]], env=here, cwd=ROOT, check=True, capture_output=True)
        local = [sys.executable, "-m", "jobs.cli", "nightly", store.logs, "--warehouse", str(scratch / "local")]
        subprocess.run(local, env=here, cwd=ROOT, check=True, capture_output=True)
        on = stack.enter_context(cluster(scratch))
        proof = Proof(on, job, store.logs, scratch, hashes(scratch / "local"))
        start = time.monotonic()
        clean = proof.submit("clean")
        clean.popen.wait()
        seconds = time.monotonic() - start
        proof.compare(f"no kill, {WORKERS} workers, {seconds:.0f} s", clean, "clean")
        for number in range(-(-kills // len(KINDS))):
            proof.night_with_kills(number + 1, seconds, chance)
    if proof.wrong:
        print(f"what is wrong is left in {scratch}")
    else:
        shutil.rmtree(scratch)
    by_kind = ", ".join(f"{count} of a {kind}" for kind, count in sorted(proof.kills.items()))
    seconds = time.monotonic() - begun
    print(f"{proof.kills.total()} kills ({by_kind}), {len(proof.wrong)} tables or nights are wrong; {seconds:.0f} s")
    return 1 if proof.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
