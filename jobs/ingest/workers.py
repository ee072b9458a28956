"""What Python workers do for the ingest: survey files, and read ranges of streams into records."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.settings import Settings
from udfs.arrow.schema import SCHEMA
from udfs.logs.ranges import Range, groups
from udfs.logs.survey import KnownStreams, Survey, survey
from udfs.logs.worker_setup import prepare

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARSED = from_arrow_schema(SCHEMA)
"""What reading ranges gives: records, and accounts of ranges."""
_SURVEY = T.StructType([T.StructField("survey", T.BinaryType())])


def survey_all(
    spark: SparkSession, paths: Mapping[str, list[str]], known: Mapping[str, KnownStreams], settings: Settings
) -> list[tuple[str, Survey]]:
    """Survey each file of each cluster in the workers; clusters in order, and of each its sources in order."""
    default_zone, zones, limits = settings.time_zone or "UTC", dict(settings.node_time_zones), settings.limits

    def zone_of(node: int | None, _: str) -> str:
        return default_zone if node is None else zones.get(node, default_zone)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare()
        for batch in batches:
            for name, path in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                surveys = survey(path, known[name], zone_of, limits)
                pickled = pa.array([pickle.dumps((name, surveyed)) for surveyed in surveys], pa.binary())
                yield pa.RecordBatch.from_arrays([pickled], names=["survey"])

    files = [(name, path) for name, of_cluster in paths.items() for path in of_cluster]
    table = pa.table({"cluster": [name for name, _ in files], "path": [path for _, path in files]})
    rows = _spread(spark, table, len(files)).mapInArrow(work, _SURVEY).collect()
    return sorted((pickle.loads(row[0]) for row in rows), key=lambda surveyed: (surveyed[0], surveyed[1].source))


def read_ranges(spark: SparkSession, tasks: list[Range]) -> DataFrame:
    """The records of all ranges, as PARSED: events, rejects, and an `account` row for each range and channel."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from udfs.arrow.parse import read_range
        from udfs.logs.formats import format_named
        from udfs.logs.ranges import open_ranges

        prepare()
        for batch in batches:
            for row in batch.column(0).to_pylist():
                group: list[Range] = pickle.loads(row)
                for task, stream in open_ranges(group[0].path, group):
                    place = (task.file_id, task.start, task.end, task.first_line)
                    yield from read_range(stream, format_named(task.format), task.zone, *place, task.clock_changes)

    if not tasks:
        return spark.createDataFrame([], PARSED)
    table = pa.table({"group": pa.array([pickle.dumps(group) for group in groups(tasks)], pa.binary())})
    return _spread(spark, table, table.num_rows).mapInArrow(work, PARSED)


def _spread(spark: SparkSession, table: pa.Table, most: int) -> DataFrame:
    """A small table, its rows dealt evenly to tasks: at most `most`, and at most four a core."""
    cores = spark.sparkContext.defaultParallelism
    parts = max(1, min(most, 4 * cores))
    order = [i for part in range(parts) for i in range(part, table.num_rows, parts)]
    counts = [len(range(part, table.num_rows, parts)) for part in range(parts)]
    numbered = table.take(pa.array(order, pa.int64())).append_column(
        "part", pa.array([part for part, count in enumerate(counts) for _ in range(count)], pa.int32())
    )
    return spark.createDataFrame(numbered).repartitionByRange(parts, "part").drop("part")
