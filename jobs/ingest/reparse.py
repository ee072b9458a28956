"""Old rejects become events by rules that are newer than they are, from the table alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from jobs.ingest.accounts import release_range
from jobs.ingest.equal_records import PLACE
from jobs.ingest.ingest import NewInput
from jobs.ingest.workers import PARSED
from jobs.ingest.write import write_streams
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse
from schemas.ingest import EVENTS, REJECTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

READ = (*PLACE, "size_bytes", "head_bytes", "node_id", "at", "clock", "raw")
"""Columns of REJECTS that parsing needs."""


def reparse_rejects(warehouse: Warehouse, settings: Settings, say: Callable[[str], None]) -> NewInput:
    """Parse the published rejects by today's rules; those that are events now move, and their streams' accounts with
    them."""
    rows = {row["file_id"]: row.asDict(recursive=True) for row in warehouse.current("log_files").collect()}
    streams = [(i, row["format"], row["time_zone"]) for i, row in rows.items() if row["reject_lines"] and row["format"]]
    if not streams:
        say("there are no rejects to read again")
        return NewInput(())
    spark = warehouse.spark
    rejects = warehouse.current("rejects")
    formats = spark.createDataFrame(streams, "file_id string, format string, time_zone string")
    parsed = parse_rejects(rejects.select(*READ).join(F.broadcast(formats), "file_id")).persist()
    try:
        events = parsed.where("record = 'event'")
        size, head = F.col("size_bytes"), F.col("head_bytes")
        sums = events.groupBy("file_id").agg(F.count(F.lit(1)), F.sum(head), F.sum(size - head)).collect()
        if not sums:
            count = sum(row["reject_lines"] for row in rows.values())
            say(f"today's rules match none of the {count:,} rejects")
            return NewInput(())
        versions = (
            parsed.where("record = 'account'").select("file_id", F.col("fields")["versions"]).distinct().collect()
        )
        for file_id, lines, event_bytes, detail_bytes in sums:
            row = rows[file_id]
            row["event_lines"] += lines
            row["reject_lines"] -= lines
            row["event_bytes"] += event_bytes
            row["detail_bytes"] += detail_bytes
            row["reject_bytes"] -= event_bytes + detail_bytes
            ranges = {part for stream, text in versions if stream == file_id for part in text.split(",") if part}
            row["kafka_versions"] = release_range(ranges | ({row["kafka_versions"]} - {None}))
        clusters = spark.createDataFrame(
            [(i, row["cluster"]) for i, row in rows.items()], "file_id string, cluster string"
        )
        remaining = rejects.join(events.select(*PLACE), PLACE, "left_anti")
        warehouse.write(EVENTS, events.join(F.broadcast(clusters), "file_id").select(*EVENTS.columns), append=True)
        warehouse.write(REJECTS, remaining)
        write_streams(warehouse, rows, settings)
    finally:
        parsed.unpersist()
    say(f"{sum(lines for _, lines, *_ in sums):,} rejects are events now")
    return NewInput(tuple(sorted({rows[file_id]["cluster"] for file_id, *_ in sums})))


def parse_rejects(rejects: DataFrame) -> DataFrame:
    """REJECTS, the columns READ, with their streams' `format` and `time_zone` -> PARSED (see `udfs.arrow.reparse`)."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from udfs.arrow.reparse import reparse

        for batch in batches:
            yield from reparse(batch)

    return rejects.mapInArrow(work, PARSED)
