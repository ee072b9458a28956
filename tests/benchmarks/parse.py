"""How fast logs become typed rows: megabytes per CPU second, beside the floors of the same session.

`python tests/benchmarks/parse.py --size-mb 200 [--rounds 5]` makes input of that size from data/zk-2.4.1 and measures

- text scan: Spark's text source into a noop sink, the least any reader of these bytes costs;
- count: the same, counted;
- transport floor: the text sent to a Python worker and dropped there;
- framing: our range readers with line numbers and byte offsets, nothing parsed;
- way back: as many rows as parsing gives, one parsed block again and again, handed to Spark and dropped: neither
  framed nor parsed;
- dropped: framing and parsing to typed columns in the worker, and nothing handed to Spark;
- parse: the same, the ingest's own reader, into a noop sink;
- Delta: the same, written to a Delta table of the columns of `events`; what that takes beyond `parse` is the writing.

CPU seconds of the whole process tree, rounds interleaved, the first dropped, medians. Ratios hold where absolute
figures move with the machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

sys.path.insert(0, str(Path(__file__).parent))
from cpu_time import cpu_seconds
from generate_logs import CAPTURE, generate

from jobs.ingest.reading import PARSED, read_ranges, survey_all
from jobs.session import session
from jobs.settings import Settings
from schemas.ingest import EVENTS
from udfs.logs.ranges import Range, ranges
from udfs.logs.worker_setup import prepare


def dropped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take everything, give one number."""
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"rows": pa.array([rows], pa.int64())})


def framed(tasks: list[Range]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Frame the ranges in the worker, count records."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from udfs.logs.formats import format_named
        from udfs.logs.framing import OtherBytes, frames
        from udfs.logs.ranges import open_range

        prepare()  # as in the ingest
        for batch in batches:
            for number in batch.column(0).to_pylist():
                task, records = tasks[number], 0
                with open_range(task) as stream:
                    for part in frames(stream, format_named(task.format), task.start, task.end, task.first_line):
                        records += 0 if isinstance(part, OtherBytes) else len(part)
                yield pa.RecordBatch.from_pydict({"rows": pa.array([records], pa.int64())})

    return work


def parsed(tasks: list[Range]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Parse the ranges in the worker, count rows."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from udfs.arrow.parse import read_range
        from udfs.logs.formats import format_named
        from udfs.logs.ranges import open_range

        prepare()  # as in the ingest
        for batch in batches:
            for number in batch.column(0).to_pylist():
                task = tasks[number]
                place = (task.file_id, task.start, task.end, task.first_line)
                with open_range(task) as stream:
                    batches_read = read_range(stream, format_named(task.format), task.zone, *place, task.clock_changes)
                    records = sum(part.num_rows for part in batches_read)
                yield pa.RecordBatch.from_pydict({"rows": pa.array([records], pa.int64())})

    return work


def a_block(tasks: list[Range]) -> pa.RecordBatch:
    """The rows of the block of a middling number of rows, of the first block of each range."""
    from udfs.arrow.parse import read_range
    from udfs.logs.formats import format_named
    from udfs.logs.ranges import open_range

    blocks = []
    for task in tasks:
        with open_range(task) as stream:
            place = (task.file_id, task.start, task.end, task.first_line)
            blocks.append(
                next(iter(read_range(stream, format_named(task.format), task.zone, *place, task.clock_changes)))
            )
    return sorted(blocks, key=lambda block: block.num_rows)[len(blocks) // 2]


def handed_back(block: pa.RecordBatch, times: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Give a block's rows so many times for each task."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, block.schema) as stream:
        stream.write_batch(block)
    stream = sink.getvalue().to_pybytes()

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare()
        (mine,) = pa.ipc.open_stream(stream)
        for batch in batches:
            for _ in range(times * batch.num_rows):
                yield mine

    return work


def into_noop(rows: DataFrame) -> None:
    """Compute all rows, keep none."""
    rows.write.format("noop").mode("overwrite").save()


def into_delta(rows: DataFrame, path: str) -> None:
    """Write the events as the ingest does, but for what it looks up for a stream."""
    events = rows.where("record = 'event'").withColumn("cluster", F.lit("c")).select(*EVENTS.columns)
    events.write.format("delta").mode("overwrite").save(path)


def contestants(spark: SparkSession, folder: str, paths: list[str]) -> dict[str, Callable[[], None]]:
    """What is measured, by name; the first is the scan."""
    rows = T.StructType([T.StructField("rows", T.LongType())])
    surveys = [surveyed for _, surveyed in survey_all(spark, {"": paths}, {"": {}}, Settings())]
    tasks = [task for i, surveyed in enumerate(surveys) for task in ranges(surveyed, f"file{i}")]
    text = spark.read.option("recursiveFileLookup", "true").text(folder)
    numbers = spark.range(0, len(tasks), 1, len(tasks))
    block = a_block(tasks)
    records = numbers.mapInArrow(parsed(tasks), rows).groupBy().sum("rows").collect()[0][0]
    times = round(records / block.num_rows / len(tasks))
    return {
        "text scan": lambda: into_noop(text),
        "count": lambda: into_noop(text.groupBy().count()),
        "transport floor": lambda: into_noop(text.mapInArrow(dropped, rows)),
        "framing": lambda: into_noop(numbers.mapInArrow(framed(tasks), rows)),
        "way back": lambda: into_noop(numbers.mapInArrow(handed_back(block, times), PARSED)),
        "dropped": lambda: into_noop(numbers.mapInArrow(parsed(tasks), rows)),
        "parse": lambda: into_noop(read_ranges(spark, tasks)),
        "Delta": lambda: into_delta(read_ranges(spark, tasks), f"{folder}-delta"),
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description="Measure parsing against the text-scan and transport floors.")
    parser.add_argument("--size-mb", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    settings, expected = {"spark.master": "local[2]"}, asked.size_mb * 10**6
    with tempfile.TemporaryDirectory() as root, session(settings, expected) as spark:
        folder = str(Path(root, "logs"))
        size = generate(CAPTURE / "logs", Path(folder), expected) / 1e6
        paths = [str(path) for path in sorted(Path(folder).rglob("*.log"))]
        engines = contestants(spark, folder, paths)
        spent: dict[str, list[float]] = {name: [] for name in engines}
        walls: dict[str, list[float]] = {name: [] for name in engines}
        for number in range(asked.rounds + 1):
            for name, engine in engines.items():
                before, began = cpu_seconds(), time.perf_counter()
                engine()
                if number:
                    spent[name].append(cpu_seconds() - before)
                    walls[name].append(time.perf_counter() - began)
        medians = {name: statistics.median(seconds) for name, seconds in spent.items()}
        print(f"{size:.0f} MB, {asked.rounds} rounds, CPU seconds of the process tree: median (least-most)")
        for name, median in medians.items():
            print(
                f"{name:16} {median:7.2f} ({min(spent[name]):.2f}-{max(spent[name]):.2f})  "
                f"{size / median:7.1f} MB/CPU-s  "
                f"{statistics.median(walls[name]):6.2f} s wall  x scan {medians['text scan'] / median:.3f}  "
                f"x count {medians['count'] / median:.3f}  x transport {medians['transport floor'] / median:.3f}"
            )


if __name__ == "__main__":
    main()
