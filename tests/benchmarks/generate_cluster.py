"""Makes consistent logs of a ZooKeeper cluster of any size: `generate_cluster.py OUT_DIR --days N --day-mb D`.

Unlike copies of a capture (`generate_logs.py`) all lines are of one cluster with one history: each state follows from
the one before, controller epochs rise, and no two lines contradict each other (`tests/zk_simulator.py`, at INFO). Each
log is rotated by the day, `broker-1/server.log.2026-03-02`; a day lasts 20 hours from 10:00. With `--quiet` no broker
fails on the last day, and only a tenth of the topics change. The output depends on the arguments alone.
"""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta
from pathlib import Path

from tests.zk_simulator import BEGIN, Cluster, Partition

PARTITIONS = 4
"""Of each topic."""
QUIET_SHARE = 10
"""One topic in so many changes on a quiet day."""
STEP_BYTES = 100
"""What a step logs of each partition, about; a quiet one a tenth of it."""


class DailyCluster(Cluster):
    """A cluster whose logs are written to files day by day; `day` counts from 0."""

    def __init__(self, folder: Path, topics: int, *, era: str = "2.6", seed: int = 1) -> None:
        self.folder, self.day = folder, 0
        super().__init__(era, seed, topics * PARTITIONS)

    def _partition(self, seed: int, number: int) -> Partition:
        one = super()._partition(seed, number)
        one.name = f"topic-{number // PARTITIONS}-{number % PARTITIONS}"
        return one

    def write_day(self, size: int, *, quiet: bool = False) -> int:
        """Let a day pass in which at least so many bytes are logged; how many they are."""
        begin = BEGIN + timedelta(days=self.day)
        steps = size // (STEP_BYTES * len(self.partitions) // (QUIET_SHARE if quiet else 1)) + 1
        written = number = 0
        while written < size:
            # one after the other if there are more of them than was estimated
            self.now = max(self.now, begin + timedelta(hours=20) * min(number / steps, 1))
            self._quiet_step() if quiet else self.step()
            written, number = written + self._flush(begin), number + 1
        self.day += 1
        return written

    def _quiet_step(self) -> None:
        """Followers of some topics fall behind and catch up."""
        self.now += timedelta(seconds=1)
        for one in self.partitions[:: QUIET_SHARE * PARTITIONS]:
            self._change(one, self.random.choice(("lag", "catch up")))

    def _flush(self, date: datetime) -> int:
        """Append what was logged to the day's files; its bytes."""
        written = 0
        for name, lines in self.logs.items():
            path = self.folder / f"{name}.{date:%Y-%m-%d}"
            path.parent.mkdir(parents=True, exist_ok=True)
            text = "".join(f"{line}\n" for line in lines).encode()
            with path.open("ab") as file:
                file.write(text)
            written += len(text)
        self.logs.clear()
        return written


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
