"""A ZooKeeper cluster of any size whose consistent logs are written day by day (`tests.zk_simulator`, at INFO)."""

from __future__ import annotations

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
