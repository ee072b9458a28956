"""Does memory stay the same however much is read?

    PYTHONPATH=. python tests/proofs/prove_memory.py [--sizes-mb 100 1000 5000] [--gz-mb 2000] [--folder DIR]

Logs of each size, made from data/zk-2.4.1, and one `.gz` of so many decompressed bytes are each read by a session of
their own, as the ingest does: survey, then all records typed, into a noop sink. Printed is the most resident memory
that the driver, the JVM and any of the Python workers had, megabytes. The proof fails if the driver or a worker takes
more than HALF_AS_MUCH_AGAIN of what it takes for the least size, or the JVM more than its heap and OUTSIDE_HEAP_MB.

A JVM takes what it may before it collects, so that it holds all sizes with the same heap is what counts: HEAP_MB.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from generate_logs import CAPTURE, copies, generate

HALF_AS_MUCH_AGAIN = 1.5
HEAP_MB = 1024
OUTSIDE_HEAP_MB = 700  # code, classes, threads, network buffers
KINDS = {"pyspark.daemon": "worker", "java": "jvm", "--measure": "driver"}
"""What stands in the command line of a kind of process; the first that fits."""


def measure(folder: Path) -> None:
    """Read all files of a folder as the ingest does, and drop the records in Spark."""
    from jobs.ingest.reading import read_ranges, survey_all
    from jobs.session import expected_bytes, session
    from jobs.settings import Settings
    from udfs.logs.ranges import ranges

    paths = sorted(str(path) for path in folder.rglob("*") if path.is_file())
    began = time.monotonic()
    settings = {"spark.master": "local[2]", "spark.driver.memory": f"{HEAP_MB}m"}
    with session(settings, expected_bytes(paths)) as spark:
        surveys = [surveyed for _, surveyed in survey_all(spark, {"": paths}, {"": {}}, Settings())]
        size = sum(surveyed.size for surveyed in surveys)
        tasks = [task for i, surveyed in enumerate(surveys) for task in ranges(surveyed, f"file{i}")]
        read_ranges(spark, tasks).write.format("noop").mode("overwrite").save()
    print(f"{size / 1e6:.0f} MB, {len(tasks)} ranges, {time.monotonic() - began:.0f} s", flush=True)


def below(pid: int) -> list[int]:
    """A process and all below it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(") ")[2].split()[1])
        except OSError:  # ended meanwhile
            continue
        children.setdefault(parent, []).append(int(folder.name))
    pids = [pid]
    for parent in pids:
        pids += children.get(parent, [])
    return pids


def peak_mb(pid: int) -> tuple[str, float] | None:
    """The kind of a process and the most memory it ever had; None if it is of no kind, or has ended."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text()
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    kind = next((kind for mark, kind in KINDS.items() if mark in command), None)
    most = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")), None)
    return (kind, int(most) / 1024) if kind and most else None


def peaks(folder: Path) -> dict[str, float]:
    """The most memory of each kind of process while a folder is read."""
    most: dict[str, float] = {}
    run = subprocess.Popen([sys.executable, __file__, "--measure", str(folder)])
    while run.poll() is None:
        for pid in below(run.pid):
            if peak := peak_mb(pid):
                kind, size = peak
                most[kind] = max(most.get(kind, 0), size)
        time.sleep(0.2)
    if run.returncode:
        raise SystemExit(f"reading {folder} ended with {run.returncode}")
    return most


def write_gz(path: Path, size: int) -> None:
    """One state-change log of at least so many bytes, compressed."""
    written = 0
    with gzip.open(path, "wb", compresslevel=1) as out:
        for name, text in copies(CAPTURE / "logs"):
            if name.name == "state-change.log":
                written += out.write(text)
            if written >= size:
                return


def main() -> None:
    """Read the command line, measure, print; ends with 1 where memory grows."""
    parser = argparse.ArgumentParser(description="Measure the memory of the ingest's reader.")
    parser.add_argument("--sizes-mb", type=int, nargs="*", default=[100, 1000, 5000])
    parser.add_argument("--gz-mb", type=int, default=2000)
    parser.add_argument("--folder", type=Path, help="where the logs are made; the temporary folder otherwise")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        return measure(asked.measure)
    names = {f"{size} MB": size for size in asked.sizes_mb} | ({"one .gz": 0} if asked.gz_mb else {})
    peaks_by_input = {}
    for name, size in names.items():
        if asked.folder:
            asked.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
            if size:
                generate(CAPTURE / "logs", Path(folder), size * 10**6)
            else:
                write_gz(Path(folder, "state-change.log.gz"), asked.gz_mb * 10**6)
            peaks_by_input[name] = peaks(Path(folder))
        sizes = ", ".join(f"{kind} {size:.0f}" for kind, size in sorted(peaks_by_input[name].items()))
        print(
            f"{name}: {sizes} MB at most; {shutil.disk_usage(asked.folder or '/tmp').free / 1e9:.0f} GB free",
            flush=True,
        )
    least = next(iter(peaks_by_input.values()))
    limits = {kind: size * HALF_AS_MUCH_AGAIN for kind, size in least.items()} | {"jvm": HEAP_MB + OUTSIDE_HEAP_MB}
    too_large = [
        f"{name}: {kind} {size:.0f} MB, at most {limits[kind]:.0f} expected"
        for name, most in peaks_by_input.items()
        for kind, size in most.items()
        if size > limits[kind]
    ]
    print("\n".join(too_large) or "memory stays the same")
    sys.exit(bool(too_large))


if __name__ == "__main__":
    main()
