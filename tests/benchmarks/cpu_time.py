"""What a run costs: CPU seconds of a whole process tree, JVM and Python workers included."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_seconds() -> float:
    """User and system seconds of this process and all below it, ended ones included."""
    parent: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(") ")[2].split()
        except OSError:  # ended meanwhile; its parent has its time
            continue
        parent[int(folder.name)], ticks[int(folder.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    family = [os.getpid()]
    for process in family:  # grows while it is walked; ids say nothing of who came first, for they are used again
        family += [child for child, its_parent in parent.items() if its_parent == process]
    return sum(ticks[process] for process in family) / os.sysconf("SC_CLK_TCK")


def worker_megabytes() -> float:
    """The largest resident memory that a Python worker of Spark has had, of those that live, in megabytes."""
    most = 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_worker = b"pyspark.daemon" in (folder / "cmdline").read_bytes()
            peak = [line for line in (folder / "status").read_text().splitlines() if line.startswith("VmHWM")]
        except OSError:
            continue
        if is_worker and peak:
            most = max(most, int(peak[0].split()[1]) / 1024)
    return most
