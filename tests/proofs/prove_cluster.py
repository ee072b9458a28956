"""A standalone cluster of three workers with folders of their own, logs that only a store has, and processes killed.

`python tests/proofs/prove_cluster.py [KILLS]` (64). The logs are behind the S3 protocol (moto's server), the warehouse
is a shared folder; dynamic allocation and adaptive execution are on. A night's tables must be those of a local run;
then nights with `kill -9` of an executor, a Python worker, a worker, or the driver, in turn, at random moments: what
Spark gets over must end well, after the driver's death the night is run again, and all tables must be the same.
Needs `pip install '.[prove]'`. Prints each kill, and what differs.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.conftest import MORE, QUIET, SMALL, append  # noqa: E402
from tests.proofs.prove_kill import hashes  # noqa: E402
from tests.proofs.prove_stores import s3  # noqa: E402
from tests.test_submit import CLUSTERS_OWN, commands, wait_for_match  # noqa: E402

WORKERS = 3
KINDS = ("executor", "python worker", "driver", "worker")
OWN = """
spark.executor.cores                                1
spark.dynamicAllocation.enabled                     true
spark.dynamicAllocation.shuffleTracking.enabled     true
spark.dynamicAllocation.minExecutors                1
spark.dynamicAllocation.initialExecutors            1
spark.dynamicAllocation.executorIdleTimeout         5s
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
            )
        return Process(name, popen, own / "log")

    def _worker(self, number: int) -> Process:
        return self._start(f"worker-{number}", "worker.Worker", "--cores", "1", "--memory", "1g", self.url)

    def kill(self, kind: str, driver: subprocess.Popen[str], chance: random.Random) -> bool:
        """kill -9 of one process; whether there was one. A worker goes with all that it started, and another comes."""
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


def submit(on: Cluster, job: Path, logs: str, warehouse: Path) -> subprocess.Popen[str]:
    """A night by spark-submit, as the guide shows it, in a session of its own."""
    where = {"JOB": str(job), "MASTER": on.url, "LOGS": logs, "WAREHOUSE": str(warehouse)}
    return subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", commands()[1]],
        env=on.environment | where,
        cwd=on.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finished(night: subprocess.Popen[str]) -> None:
    """Wait for a night; exits with its output unless it went well."""
    output, _ = night.communicate()
    if night.returncode != 0:
        sys.exit(f"a night ended with {night.returncode}:\n{output[-4000:]}")


def main(arguments: list[str]) -> int:
    """The exit code."""
    kills, chance = int(arguments[0]) if arguments else 64, random.Random(22)
    begun = time.monotonic()
    wrong: list[str] = []
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = stack.enter_context(s3(scratch))
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
        expected = hashes(scratch / "local")
        on = stack.enter_context(cluster(scratch))

        def compare(what: str, warehouse: Path) -> None:
            actual = hashes(warehouse)
            differ = sorted(t for t in expected.keys() | actual.keys() if expected.get(t) != actual.get(t))
            wrong.extend(differ)
            print(f"{what}: {', '.join(differ) or 'nothing'} differs from local[*]", flush=True)

        start = time.monotonic()
        finished(submit(on, job, store.logs, scratch / "clean"))
        seconds = time.monotonic() - start
        compare(f"no kill, {WORKERS} workers, {seconds:.0f} s", scratch / "clean")
        for number in range(kills):
            kind, after = KINDS[number % len(KINDS)], seconds * chance.uniform(0.15, 0.95)
            warehouse = scratch / f"w-{number}"
            driver = submit(on, job, store.logs, warehouse)
            time.sleep(after)
            is_there = driver.poll() is None and on.kill(kind, driver, chance)
            if kind == "driver":
                driver.communicate()
                driver = submit(on, job, store.logs, warehouse)
            finished(driver)
            compare(
                f"kill {number + 1}, {kind} after {after:.0f} s{'' if is_there else ' (there was none)'}", warehouse
            )
    print(f"{kills} kills, {len(wrong)} tables differ; {time.monotonic() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
