"""From files to records: streams are surveyed, and what is new of them is planned and read.

Surveying, reading and parsing happen in Python workers. What their accounts add up to is in
`jobs.ingest.stream_accounts`.
"""

from __future__ import annotations

import os
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.ingest.bytes_read import NOT_COUNTED, BytesRead, shown_while_read
from jobs.ingest.first_look import no_logs
from jobs.ingest.read_plan import LogFileRow, ReadPlan
from jobs.ingest.stream_accounts import Account
from jobs.ingest.unchanged_files import disk_state, unchanged
from jobs.progress import SILENT, Progress
from jobs.session import cores_at_most
from jobs.settings import Settings
from udfs.arrow.schema import SCHEMA
from udfs.errors import FileChanged
from udfs.logs.paths import Source, name_on_disk
from udfs.logs.ranges import Range, groups
from udfs.logs.survey import KnownStreams, Survey, known_streams, survey
from udfs.logs.worker_setup import prepare

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARSED = from_arrow_schema(SCHEMA)
"""What reading ranges gives: records, and accounts of ranges."""
_SURVEY = T.StructType([T.StructField("survey", T.BinaryType())])


# ---- what is to be read ----------------------------------------------------------------------------------------------
def plan_reading(
    spark: SparkSession,
    sources: Sequence[Source],
    published: Mapping[str, LogFileRow],
    settings: Settings,
    cluster: str,
    run_id: str,
    say: Callable[[str], None],
    progress: Progress = SILENT,
) -> ReadPlan:
    """Survey files, and plan what is to be read of them. `cluster`: for paths that the settings do not name.

    A file that cannot be read is reported. Raises BadInput if none is a log.
    """
    by_cluster: defaultdict[str, list[str]] = defaultdict(list)
    for source in sources:
        by_cluster[settings.cluster_of(source.path, cluster)].append(source.path)
    of_cluster = defaultdict[str, list[LogFileRow]](list)
    for row in published.values():
        of_cluster[row["cluster"]].append(row)
    known = {
        name: known_streams([(row["size_bytes"], row["prefix_hash"], row["file_id"]) for row in of_cluster[name]])
        for name in by_cluster
    }
    # the state of a file before it is surveyed: what is written meanwhile makes it another one
    states = {source.path: disk_state(source.path, settings) for source in sources}
    plan = ReadPlan(dict(published), run_id, disk_states=states)
    for name, paths in by_cluster.items():
        same = unchanged({path: states[path] for path in paths}, of_cluster[name])
        for row in same.values():
            plan.add_unchanged(row)
        by_cluster[name] = [path for path in paths if path not in same]
    left = {path for paths in by_cluster.values() for path in paths}
    size = sum(_size_on_disk(s.path) if s.size is None else s.size for s in sources if s.path in left)
    with shown_while_read(spark, progress, "ingest, looking for what is new", size) as bytes_read:
        for name, surveyed in survey_all(spark, by_cluster, known, settings, bytes_read):
            plan.add(name, surveyed)
    plan.note_disk_states()
    for surveyed in plan.damaged:
        say(surveyed.error or "")
    for sentence in plan.in_other_clusters():
        say(sentence)
    if not plan.has_logs:
        raise no_logs([source.path for source in sources], plan.damaged)
    return plan


def survey_all(
    spark: SparkSession,
    paths: Mapping[str, list[str]],
    known: Mapping[str, KnownStreams],
    settings: Settings,
    bytes_read: BytesRead = NOT_COUNTED,
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
                bytes_read.add(_size_on_disk(path))
                yield pa.RecordBatch.from_arrays([pickled], names=["survey"])

    files = [(name, path) for name, of_cluster in paths.items() for path in of_cluster]
    if not files:
        return []
    table = pa.table({"cluster": [name for name, _ in files], "path": [path for _, path in files]})
    rows = _spread(spark, table, len(files)).mapInArrow(work, _SURVEY).collect()
    return sorted((pickle.loads(row[0]) for row in rows), key=lambda surveyed: (surveyed[0], surveyed[1].source))


def _size_on_disk(path: str) -> int:
    """Bytes of a file; 0 if it is gone."""
    with suppress(OSError):
        return os.stat(name_on_disk(path)).st_size
    return 0


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_ranges(spark: SparkSession, tasks: list[Range], bytes_read: BytesRead = NOT_COUNTED) -> DataFrame:
    """The records of all ranges, as PARSED: events, rejects, and an `account` row for each range and channel; of a file
    that is not what the survey saw a row `changed` for each of its streams."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from udfs.arrow.parse import read_range
        from udfs.arrow.schema import changed_batch
        from udfs.logs.formats import format_named
        from udfs.logs.ranges import open_ranges

        prepare()
        for batch in batches:
            for row in batch.column(0).to_pylist():
                group: list[Range] = pickle.loads(row)
                try:
                    for task, stream in open_ranges(group[0].path, group):
                        place = (task.file_id, task.start, task.end, task.first_line)
                        at = stream.tell()
                        format_, changes = format_named(task.format), task.clock_changes
                        parsed = read_range(stream, format_, task.zone, *place, changes, last_apart=True)
                        for records in parsed:
                            yield records
                            at, before = stream.tell(), at
                            bytes_read.add(at - before)
                except FileChanged:
                    yield changed_batch(sorted({task.file_id for task in group}))

    if not tasks:
        return spark.createDataFrame([], PARSED)
    to_read = groups(tasks, cores_at_most(spark))
    table = pa.table({"group": pa.array([pickle.dumps(group) for group in to_read], pa.binary())})
    return _spread(spark, table, table.num_rows).mapInArrow(work, PARSED)


def _spread(spark: SparkSession, table: pa.Table, most: int) -> DataFrame:
    """A small table, its rows dealt evenly to tasks: at most `most`, and at most four a core."""
    parts = max(1, min(most, 4 * cores_at_most(spark)))
    order = [i for part in range(parts) for i in range(part, table.num_rows, parts)]
    counts = [len(range(part, table.num_rows, parts)) for part in range(parts)]
    numbered = table.take(pa.array(order, pa.int64())).append_column(
        "part", pa.array([part for part, count in enumerate(counts) for _ in range(count)], pa.int32())
    )
    return spark.createDataFrame(numbered).repartitionByRange(parts, "part").drop("part")


def parse_rejects(rejects: DataFrame) -> DataFrame:
    """REJECTS, the columns READ, with their streams' `format` and `time_zone` -> PARSED (see `udfs.arrow.reparse`)."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from udfs.arrow.reparse import reparse

        for batch in batches:
            yield from reparse(batch)

    return rejects.mapInArrow(work, PARSED)


def accounts_of(parsed: DataFrame) -> tuple[list[Account], set[str]]:
    """Of PARSED the accounts of all ranges, and the file ids of streams that changed while they were read."""
    rows = parsed.where("record IN ('account', 'changed')").select("record", "file_id", "fields").collect()
    changed = {row["file_id"] for row in rows if row["record"] == "changed"}
    return [(r["file_id"], r["fields"]) for r in rows if r["record"] == "account"], changed
