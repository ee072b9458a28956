"""What a run costs: CPU seconds of a whole process tree, JVM and Python workers included."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_seconds() -> float:
    """User and system seconds of this process and all below it, ended ones included."""
    stats = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(") ")[2].split()
        except OSError:  # ended meanwhile; its parent has its time
            continue
        stats[int(folder.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    family, ticks = {os.getpid()}, 0
    for process in sorted(stats):
        if process in family or stats[process][0] in family:
            family.add(process)
            ticks += stats[process][1]
    return ticks / os.sysconf("SC_CLK_TCK")
