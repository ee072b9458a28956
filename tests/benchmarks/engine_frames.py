"""The engines and floors of `engines.py` as DataFrames."""

import os
import tempfile
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa
from engine_arrow import (
    Block,
    FieldsOf,
    FileRange,
    Matcher,
    match_all,
    parse_blocks,
    read_task,
    regex_fields,
    without_collector,
)
from engine_catalyst import catalyst
from engine_polars import keep_all, polars_fields
from engine_rules import ARROW, EVENTS, PLACED_EVENTS, PLACES
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

TASK_BYTES = 16 << 20
"""One task's share of the logs: its columns become one Arrow batch per kind."""


Engine = Callable[[SparkSession, list[str]], DataFrame]


def framed(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Records as Spark's text source frames them: without `[20`, but for a file's first; no places to be had."""
    return spark.read.text(paths, lineSep="\n[20")


def tasks_of(paths: list[str], size: int = TASK_BYTES) -> list[list[FileRange]]:
    """Cuts files into ranges and packs them into tasks of about `size` bytes."""
    ranges = [
        FileRange(path, file, start, min(start + size, os.path.getsize(path)))
        for file, path in enumerate(paths)
        for start in range(0, os.path.getsize(path), size)
    ]
    filled = list(accumulate(part.end - part.start for part in ranges))
    tasks: dict[int, list[FileRange]] = {}
    for part, before in zip(ranges, [0, *filled], strict=False):
        tasks.setdefault(before // size, []).append(part)
    return list(tasks.values())


TaskReader = Callable[[int, list[FileRange]], Iterator[pa.RecordBatch]]


def over_tasks(spark: SparkSession, tasks: list[list[FileRange]], read: TaskReader, schema: T.StructType) -> DataFrame:
    """`read(number, task)` gives the batches of a task; one partition each."""

    def batches(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch["id"].to_pylist():
                yield from read(number, tasks[number])

    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(batches, schema)


def count_lines(number: int, task: list[FileRange]) -> Iterator[pa.RecordBatch]:
    """How many lines end in each range of a task."""
    counts = []
    for part in task:
        with open(part.path, "rb") as file:
            file.seek(part.start)
            counts.append(file.read(part.end - part.start).count(b"\n"))
    yield pa.record_batch({"number": [number] * len(counts), "lines": counts})


def with_lines_before(spark: SparkSession, tasks: list[list[FileRange]]) -> list[list[FileRange]]:
    """The same tasks; each range knows how many lines its file has before it. Reads all files once."""
    schema = T.StructType([T.StructField("number", T.LongType()), T.StructField("lines", T.LongType())])
    lines: dict[int, list[int]] = {}
    for number, count in over_tasks(spark, tasks, count_lines, schema).collect():
        lines.setdefault(number, []).append(count)
    before: dict[int, int] = {}
    counted: list[list[FileRange]] = []
    for number, task in enumerate(tasks):
        counted.append([])
        for part, count in zip(task, lines[number], strict=True):
            counted[-1].append(FileRange(part.path, part.file, part.start, part.end, before.get(part.file, 0)))
            before[part.file] = before.get(part.file, 0) + count
    return counted


def ranges_with(match: Matcher, fields_of: FieldsOf, keep: bool = False) -> Engine:
    """Engine C or D."""

    def read(number: int, task: list[FileRange]) -> Iterator[pa.RecordBatch]:
        return without_collector(parse_blocks(read_task(task), match, fields_of, ARROW, keep))

    def engine(spark: SparkSession, paths: list[str]) -> DataFrame:
        return over_tasks(spark, with_lines_before(spark, tasks_of(paths)), read, PLACED_EVENTS)

    return engine


def text_to_python(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Engine B: Spark frames, the worker does to each Arrow batch what C does to a range."""
    value = F.col("value")
    whole = F.concat(F.when(F.startswith(value, F.lit("[20")), "").otherwise(F.lit("[20")), value, F.lit("\n"))
    schema = pa.schema([field for field in ARROW if field.name not in PLACES])

    def texts(batches: Iterator[pa.RecordBatch]) -> Iterator[Block]:
        for batch in batches:
            _, offsets, data = batch.column(0).buffers()
            bounds = np.frombuffer(offsets, np.int32)
            yield data.slice(bounds[0], bounds[len(batch)] - bounds[0]).to_pybytes(), (0, 0, 0)

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return without_collector(parse_blocks(texts(batches), match_all, regex_fields, schema, keep=False))

    return framed(spark, paths).select(whole.alias("value")).mapInArrow(parse, EVENTS)


def text_to_python_and_dropped(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Floor of B: the text goes to the worker, which drops it."""

    def drop(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, 0)

    return framed(spark, paths).mapInArrow(drop, "value string")


def replayed(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Floor of C: its batches, kept in files by a run before, handed to Spark."""
    folder = Path(tempfile.gettempdir()) / "engines-replayed"
    tasks = tasks_of(paths)
    if not folder.exists():
        folder.mkdir()
        for number, task in enumerate(with_lines_before(spark, tasks)):
            with pa.ipc.new_file(str(folder / str(number)), ARROW) as out:
                for batch in parse_blocks(read_task(task), match_all, regex_fields, ARROW, keep=False):
                    out.write_batch(batch)

    def read(number: int, task: list[FileRange]) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(folder / str(number))) as file:
            batches = pa.ipc.open_file(file)
            for batch in range(batches.num_record_batches):
                yield batches.get_batch(batch)

    return over_tasks(spark, tasks, read, PLACED_EVENTS)


def parsed_and_dropped(spark: SparkSession, paths: list[str]) -> DataFrame:
    """C without its output: reading and parsing alone."""

    def read(number: int, task: list[FileRange]) -> Iterator[pa.RecordBatch]:
        for batch in without_collector(parse_blocks(read_task(task), match_all, regex_fields, ARROW, keep=False)):
            yield batch.slice(0, 0)

    return over_tasks(spark, with_lines_before(spark, tasks_of(paths)), read, PLACED_EVENTS)


FLOORS: dict[str, Engine] = {
    "text_count": lambda spark, paths: spark.read.text(paths).groupBy().count(),
    "text_noop": lambda spark, paths: spark.read.text(paths),
    "framed_noop": framed,
    "text_to_python_and_dropped": text_to_python_and_dropped,
    "C_output_replayed": replayed,
    "C_parsed_and_dropped": parsed_and_dropped,
}
ENGINES: dict[str, Engine] = {
    "A_text_catalyst": lambda spark, paths: catalyst(framed(spark, paths)),
    "B_text_python": text_to_python,
    "C_ranges_python": ranges_with(match_all, regex_fields),
    "C_with_messages": ranges_with(match_all, regex_fields, keep=True),
    "D_ranges_polars": ranges_with(keep_all, polars_fields),
}
