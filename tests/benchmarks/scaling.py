"""A first night on a standalone cluster of one worker, then of two, each of one core; logs as of `generate_logs.py`.

    PYTHONPATH=. python tests/benchmarks/scaling.py [--size-mb 305] [--workers 1 2]

Printed are seconds, CPU seconds of the driver's machine and of the workers', and the driver's share of them. The driver
has a core of its own beside one worker; beside two they share what the machine has.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from generate_logs import CAPTURE, generate

from tests.proofs.prove_cluster import OWN, ROOT, cluster
from tests.test_submit import commands, end_with_us

SETTINGS = f"""
spark.driver.host             127.0.0.1
spark.driver.bindAddress      127.0.0.1
spark.driver.memory           4g
spark.executor.memory         3g
spark.ui.enabled              false
{OWN}"""
MEMORY_GB = 4


@dataclass(frozen=True)
class Spent:
    """What a night took: seconds, and CPU seconds."""

    seconds: float
    driver: float
    workers: float


def cpu_of_ended() -> float:
    """CPU seconds of all children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def night(scratch: Path, job: Path, logs: Path, workers: int) -> Spent:
    """A first night with so many workers."""
    folder = scratch / f"on-{workers}"
    folder.mkdir()
    with cluster(folder, workers, SETTINGS, MEMORY_GB) as on:
        before, begun = cpu_of_ended(), time.monotonic()
        where = {"JOB": str(job), "MASTER": on.url, "LOGS": str(logs), "WAREHOUSE": str(folder / "warehouse")}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands()[1]],
            env=on.environment | where, cwd=folder, capture_output=True, text=True, preexec_fn=end_with_us, check=False,
        )  # fmt: skip
        seconds, driver = time.monotonic() - begun, cpu_of_ended() - before
        if done.returncode:
            sys.exit(f"exit {done.returncode}: {done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        time.sleep(2)  # executors end with their application
    return Spent(seconds, driver, cpu_of_ended() - before - driver)


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description="Measure a night on one worker and on two.")
    parser.add_argument("--size-mb", type=int, default=305)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        logs, job = scratch / "logs", scratch / "job"
        size = generate(CAPTURE / "logs", logs, asked.size_mb * 10**6)
        job.mkdir()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        here = {**os.environ, "JOB": str(job), "PYTHONPATH": str(ROOT), "PATH": path}
        subprocess.run(["bash", "-ec", commands()[0]], env=here, cwd=ROOT, check=True, capture_output=True)
        first: Spent | None = None
        for workers in asked.workers:
            spent = night(scratch, job, logs, workers)
            first = first or spent
            ratio, share = spent.seconds / first.seconds, spent.driver / (spent.driver + spent.workers)
            print(
                f"{size / 1e6:,.0f} MB, workers {workers}: {spent.seconds:.0f} s, {ratio:.2f} of the first; CPU s: "
                f"driver {spent.driver:.0f}, workers {spent.workers:.0f}; share of the driver {share:.2f}",
                flush=True,
            )
            shutil.rmtree(scratch / f"on-{workers}")


if __name__ == "__main__":
    main()
