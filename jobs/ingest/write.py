"""Writing what was read: records but those that the tables have, streams with their accounts, and coverage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from jobs.ingest.accounts import LogFileRow, default_node, subtract_moved
from jobs.ingest.crossing_streams import ComparedStream, compared_stream
from jobs.ingest.equal_records import PLACE
from jobs.ingest.overlaps import find_overlaps
from jobs.settings import Settings
from jobs.warehouse.tables import Warehouse
from schemas.ingest import EVENTS, LOG_COVERAGE, LOG_FILES, REJECTS
from udfs.logs.coverage import CoverageSpan, merged_coverage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Nodes = Mapping[str, Mapping[str, int | None]]
"""By stream that was read and channel the node of records that name none."""


def write_records(
    warehouse: Warehouse, parsed: DataFrame, rows: Mapping[str, LogFileRow], nodes: Nodes, replaced: set[str]
) -> set[str]:
    """Write events and rejects, but for those that the tables have; the clusters of which published rows were deleted.

    `parsed` are PARSED; `replaced`: published streams whose records were read again. Bytes that another stream has
    move to `duplicate_bytes` of a stream's row.
    """
    published = warehouse.current("events"), warehouse.current("rejects")
    overlaps = find_overlaps(parsed, *published, _compared_streams(rows, nodes))
    try:
        for file_id, moved in overlaps.moved.items():
            subtract_moved(rows[file_id], moved)
        _delete_records(warehouse, replaced, overlaps.superseded)
        records = _with_nodes(parsed, rows, nodes)
        if overlaps.duplicates is not None:
            records = records.join(overlaps.duplicates, PLACE, "left_anti")
        appends = bool(warehouse.versions)
        warehouse.write(EVENTS, _to_events(records), append=appends)
        warehouse.write(REJECTS, _to_rejects(records), append=appends)
    finally:
        overlaps.unpersist()
    return {rows[file_id]["cluster"] for file_id in overlaps.moved}


def _compared_streams(rows: Mapping[str, LogFileRow], nodes: Nodes) -> list[ComparedStream]:
    """All streams whose records have times."""
    streams = []
    for file_id, row in rows.items():
        by_channel = nodes.get(file_id, {"": default_node(row["node_ids"], "", row["path"])})
        node = next(iter(by_channel.values())) if len(by_channel) == 1 else None
        streams.append(compared_stream(row, node, is_new=file_id in nodes))
    return [stream for stream in streams if stream]


def _delete_records(warehouse: Warehouse, replaced: set[str], superseded: DataFrame | None) -> None:
    """Delete the published records of streams that were read again, and those that others supersede."""
    if replaced:
        condition = "file_id IN (" + ", ".join(f"'{file_id}'" for file_id in sorted(replaced)) + ")"
        warehouse.delete(EVENTS, condition)
        warehouse.delete(REJECTS, condition)
    if superseded is not None:
        warehouse.delete_rows(EVENTS, superseded)
        warehouse.delete_rows(REJECTS, superseded)


def _with_nodes(parsed: DataFrame, rows: Mapping[str, LogFileRow], nodes: Nodes) -> DataFrame:
    """The records of PARSED with their cluster, and with the default node where they name none."""
    defaults = [
        (file_id, rows[file_id]["cluster"], channel, node)
        for file_id, by_channel in sorted(nodes.items())
        for channel, node in by_channel.items()
    ]
    by_stream = parsed.sparkSession.createDataFrame(
        defaults, "file_id string, cluster string, channel string, default_node int"
    )
    records = parsed.where("record <> 'account'").join(F.broadcast(by_stream), ["file_id", "channel"])
    return records.withColumn("node_id", F.coalesce("node_id", "default_node"))


def _to_events(records: DataFrame) -> DataFrame:
    return records.where("record = 'event'").select(*EVENTS.columns)


def _to_rejects(records: DataFrame) -> DataFrame:
    rejects = records.where("record = 'reject'")
    return rejects.withColumns({"reason": F.col("event_type"), "raw": F.col("message")}).select(*REJECTS.columns)


def write_streams(warehouse: Warehouse, rows: Mapping[str, LogFileRow], settings: Settings) -> None:
    """Write LOG_FILES, whose rows these are by file id, and LOG_COVERAGE."""
    spark = warehouse.spark
    streams = [tuple(rows[file_id][name] for name in LOG_FILES.columns) for file_id in sorted(rows)]
    by_cluster: defaultdict[str, list[CoverageSpan]] = defaultdict(list)
    for row in rows.values():
        by_cluster[row["cluster"]] += [CoverageSpan(*span.values()) for span in row["spans"] or ()]
    coverage = [
        (name, *span)
        for name, spans in sorted(by_cluster.items())
        for span in merged_coverage(spans, settings.coverage_tolerance)
    ]
    with ThreadPoolExecutor(2) as pool:
        writes = [
            pool.submit(warehouse.write, table, spark.createDataFrame(tuples, table.schema), cache=True)
            for table, tuples in ((LOG_FILES, streams), (LOG_COVERAGE, coverage))
        ]
        for write in writes:
            write.result()
