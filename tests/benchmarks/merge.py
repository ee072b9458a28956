"""What `kafka-rewind merge` costs: `merge.py [--size-mb 1000] [--logs DIR] [--rounds 3]`.

Beside it, on the same logs and in the same session: `heapq.merge` of records in plain Python, and `grep`, `awk` and
`sort` in pipelines, which know of first lines only. The retired StateChangeLogMerger is not run: on logs of its time
it took 2.7 times the CPU of `heapq.merge` to merge everything, 2.7 for one partition, 1.8 for ten minutes of a topic.

Prints CPU and wall seconds (median of interleaved rounds), the greatest memory of any process, and ratios. What it
generates it removes.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from generate_logs import CAPTURE, generate

ROOT = Path(__file__).resolve().parents[2]

HEAPQ = r"""
import heapq, re, sys
first, last, named = (text.encode() for text in sys.argv[1:4])
stamp, wanted = re.compile(rb"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\]"), re.compile(named)
def records(path, number):
    record, at, line_number = [], b"", 0
    with open(path, "rb") as lines:
        for line in lines:
            if line[:1] == b"[" and stamp.match(line):
                if record and first <= at <= last:
                    text = b"".join(record)
                    if not named or wanted.search(text):
                        yield at, number, line_number, text
                line_number += 1
                at, record = line[1:24], [line]
            else:
                record.append(line)
    if record and first <= at <= last and (not named or wanted.search(b"".join(record))):
        yield at, number, line_number, b"".join(record)
for _, _, _, text in heapq.merge(*(records(path, number) for number, path in enumerate(sys.argv[4:]))):
    sys.stdout.buffer.write(text)
"""


def measured(command: list[str], env: dict[str, str]) -> tuple[float, float, float]:
    """CPU and wall seconds and peak memory in MB of a command and all that it started; its output is thrown away."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(command, stdout=nowhere, stderr=subprocess.PIPE, env=env)
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, own = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[:3]} failed: {errors.decode()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - began, own.ru_maxrss / 1024


def workloads(logs: Path) -> dict[str, dict[str, list[str]]]:
    """What is measured: by workload and contender a command."""
    files = [str(path) for path in sorted(logs.rglob("*.log"))]
    quoted = " ".join(files)
    with open(files[0], "rb") as file:
        begin = datetime.strptime(file.read(20)[1:].decode(), "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
        file.seek(-65536, os.SEEK_END)
        end = file.read().rpartition(b"\n[")[2][:10].decode()
    days = (datetime.fromisoformat(end).date() - begin.date()).days
    day = (begin + timedelta(days=days // 10 * 5)).date()  # every fifth copy has the topics of the first one
    since, until = f"{day} 11:45:00,000", f"{day} 11:47:59,999"
    wide = f"{day} 11:40:00,000", f"{day} 11:49:59,999"
    merge = [sys.executable, "-m", "jobs.cli", "merge", str(logs)]
    heapq = [sys.executable, "-c", HEAPQ]
    everything, partition, topic = ["", "~"], "orders-3(?![\\w.-])", "(?<![\\w.-])orders-\\d"
    pick = f'LC_ALL=C awk \'$0 >= "[{since}" && $0 <= "[{until}]~"\''
    pick_wide = f'LC_ALL=C awk \'$0 >= "[{wide[0]}" && $0 <= "[{wide[1]}]~"\''

    def sorted_by(grep: str) -> list[str]:
        """Each file through grep, all into one merging sort; through named pipes, so that the shell waits for all."""
        greps = "; ".join(f"mkfifo $d/{i}; {grep} {file} > $d/{i} &" for i, file in enumerate(files)).replace("&;", "&")
        pipes = " ".join(f"$d/{i}" for i in range(len(files)))
        return ["bash", "-c", f"export LC_ALL=C; d=$(mktemp -d); {greps} sort -m -s -k1,2 {pipes}; wait; rm -r $d"]

    return {
        "everything": {
            "merge": merge,
            "heapq": [*heapq, *everything, "", *files],
            "grep | sort -m": sorted_by("grep '^\\[20'"),
        },
        "one partition": {
            "merge": [*merge, "--topic", "orders", "--partitions", "3"],
            "heapq": [*heapq, *everything, partition, *files],
            "grep | sort -m": sorted_by("grep -E '^\\[20.*orders-3([^0-9]|$)'"),
        },
        "one topic": {
            "merge": [*merge, "--topic", "orders"],
            "heapq": [*heapq, *everything, topic, *files],
            "grep | sort -m": sorted_by("grep -E '^\\[20.*orders-[0-9]'"),
        },
        "one topic, 10 minutes": {
            "merge": [*merge, "--topic", "orders", "--start-time", wide[0], "--end-time", wide[1]],
            "heapq": [*heapq, *wide, topic, *files],
            "grep | awk | sort": ["bash", "-c", f"LC_ALL=C grep -hE 'orders-[0-9]' {quoted} | {pick_wide} | LC_ALL=C "
                "sort -s"],
        },
        "one partition, 3 minutes": {
            "merge": [*merge, "--topic", "orders", "--partitions", "3", "--start-time", since, "--end-time", until],
            "merge --trust-order": [
                *merge, "--topic", "orders", "--partitions", "3", "--start-time", since, "--end-time", until,
                "--trust-order",
            ],
            "grep | awk | sort": ["bash", "-c", f"LC_ALL=C grep -hE 'orders-3([^0-9]|$)' {quoted} | {pick} | "
                "LC_ALL=C sort -s"],
        },
    }  # fmt: skip


def compare(logs: Path, rounds: int, only: str) -> None:
    """Measure all, print a table."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    print(f"{'':26} {'':20} {'CPU s':>7} {'wall s':>7} {'peak MB':>8}   merge's share of it: CPU, wall")
    for name, contenders in workloads(logs).items():
        if only not in name:
            continue
        results: dict[str, list[tuple[float, float, float]]] = {contender: [] for contender in contenders}
        for _ in range(rounds):
            for contender, command in contenders.items():
                results[contender].append(measured(command, env))
        cost = {c: [statistics.median(column) for column in zip(*r, strict=True)] for c, r in results.items()}
        ours = cost["merge"]
        for contender, (cpu, wall, peak) in cost.items():
            share = "" if contender == "merge" else f"   {ours[0] / cpu:5.2f} {ours[1] / wall:5.2f}"
            print(f"{name:26} {contender:20} {cpu:7.2f} {wall:7.2f} {peak:8.0f}{share}", flush=True)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="What kafka-rewind merge costs.")
    parser.add_argument("--size-mb", type=int, default=1000, help="least size of the logs, in 10^6 bytes")
    parser.add_argument("--logs", type=Path, help="logs that generate_logs.py made; they stay")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="workloads whose name holds this")
    asked = parser.parse_args()
    if asked.logs:
        compare(asked.logs, asked.rounds, asked.only)
        return
    with tempfile.TemporaryDirectory() as folder:
        generate(CAPTURE, Path(folder), asked.size_mb * 10**6)
        compare(Path(folder), asked.rounds, asked.only)


if __name__ == "__main__":
    main()
