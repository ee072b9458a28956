"""Makes consistent logs of a ZooKeeper cluster of any size: `generate_cluster.py OUT_DIR --days N --day-mb D`.

Unlike copies of a capture (`generate_logs.py`) all lines are of one cluster with one history: each state follows from
the one before, controller epochs rise, and no two lines contradict each other (`tests/zk_simulator.py`, at INFO). Each
log is rotated by the day, `broker-1/server.log.2026-03-02`; a day lasts 20 hours from 10:00. With `--quiet` no broker
fails on the last day, and only a tenth of the topics change. The output depends on the arguments alone.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.daily_cluster import DailyCluster


def generate_cluster(folder: Path, days: int, day_bytes: int, topics: int, *, quiet: bool = False) -> int:
    """Write the logs of so many days; their bytes."""
    cluster = DailyCluster(folder, topics)
    return sum(cluster.write_day(day_bytes, quiet=quiet and day == days - 1) for day in range(days))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Make consistent logs of a cluster, day by day.")
    parser.add_argument("out", type=Path, metavar="OUT_DIR")
    parser.add_argument("--days", type=int, default=2)
    parser.add_argument("--day-mb", type=float, default=8)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--quiet", action="store_true", help="few topics change on the last day")
    asked = parser.parse_args()
    size = generate_cluster(asked.out, asked.days, int(asked.day_mb * 1e6), asked.topics, quiet=asked.quiet)
    print(f"{size} bytes in {asked.out}")


if __name__ == "__main__":
    main()
