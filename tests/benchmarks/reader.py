"""Where the reader's time goes, in one process and without Spark: `reader.py [--size-mb 200] [--rounds 3]`.

Each stage is measured with all stages before it: reading the bytes, framing, matching templates, slicing the columns.
CPU seconds, the least of some rounds after one to warm up, in which the templates are learned; that is printed, too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from generate_logs import CAPTURE, generate

from udfs.arrow.parse import read_range
from udfs.arrow.templates import template_cache
from udfs.logs.formats import format_named
from udfs.logs.framing import BLOCK, Frames, frames
from udfs.logs.worker_setup import prepare

APACHE = format_named("apache")


def read(path: Path) -> int:
    """Read the bytes."""
    with path.open("rb") as stream:
        return sum(1 for _ in iter(lambda: stream.read(BLOCK), b""))


def blocks(path: Path) -> Iterator[Frames]:
    """Frame the records."""
    with path.open("rb") as stream:
        yield from (part for part in frames(stream, APACHE, 0, None, 1) if isinstance(part, Frames))


def framed(path: Path) -> int:
    """Count the records."""
    return sum(map(len, blocks(path)))


def matched(path: Path) -> int:
    """Find the template of each record."""
    cache = template_cache(APACHE.layout)
    return sum(len(cache.match(block).templates) for block in blocks(path))


def parsed(path: Path) -> int:
    """Make the batches."""
    with path.open("rb") as stream:
        return sum(batch.num_rows for batch in read_range(stream, APACHE, "UTC", "file", 0, None, 1))


STAGES: dict[str, Callable[[Path], int]] = {
    "read": read,
    "+ framing": framed,
    "+ templates": matched,
    "+ columns": parsed,
}


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description="Measure the stages of the reader in one process.")
    parser.add_argument("--size-mb", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    prepare()  # as in the ingest
    with tempfile.TemporaryDirectory() as folder:
        size = generate(CAPTURE / "logs", Path(folder), asked.size_mb * 10**6) / 1e6
        paths = sorted(Path(folder).rglob("*.log"))
        spent: dict[str, list[float]] = {name: [] for name in STAGES}
        for _ in range(asked.rounds + 1):
            for name, stage in STAGES.items():
                began = time.process_time()
                for path in paths:
                    stage(path)
                spent[name].append(time.process_time() - began)
        for name, (first, *rest) in spent.items():
            print(f"{name:12} {min(rest):6.2f} CPU s  {size / min(rest):7.1f} MB/CPU-s   first {first:6.2f} CPU s")


if __name__ == "__main__":
    main()
