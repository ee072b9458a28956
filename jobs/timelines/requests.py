"""EVENTS -> CONTROL_REQUESTS: the requests of one controller to one broker at a time, put together in the workers.

The knowledge is in `udfs.reconstruct.control_requests`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.timelines.evidence import milliseconds
from jobs.timelines.observations import ids_of, number_of
from jobs.timelines.row_streams import map_rows
from schemas.requests import CONTROL_REQUESTS
from udfs.reconstruct.control_request_lines import (
    ANSWERED,
    APIS,
    HANDLED,
    PART_EVENTS,
    REQUEST_EVENTS,
    STALE_CONTROLLER_EVENTS,
    STALE_LEADER_EVENTS,
    STATE_EVENTS,
    STOP_REPLICA,
    ControlRequest,
    RequestLine,
    error_of,
)
from udfs.reconstruct.control_requests import requests_of
from udfs.reconstruct.request_backlog import backlogs

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

REQUEST_KEY = ("cluster", "controller_id", "broker")
"""Between whom requests are sent."""
_LINE_COLUMNS = tuple(field.name for field in fields(RequestLine))
_line_values = itemgetter(*_LINE_COLUMNS)
_LATENCIES = ("delivery_ms", "handling_ms", "round_trip_ms")


def is_about_request() -> Column:
    """Whether an event is about a request of a controller to a broker."""
    names_both = F.col("controller_id").isNotNull() & F.col("node_id").isNotNull()
    return F.col("event_type").isin(*REQUEST_EVENTS) & names_both


def to_request_lines(events: DataFrame) -> DataFrame:
    """EVENTS -> REQUEST_KEY and the fields of `RequestLine`: lines about requests.

    Lines of a broker on one request of the same time are one row. Brokers before 2.6 do not log StopReplica. Most lines
    are a row of their own, so they are exchanged and sorted once, and grouped as they come.
    """
    target = number_of("target_broker")
    brokers = F.when(F.col("side") == HANDLED, F.array("node_id")).when(target.isNotNull(), F.array(target))
    is_stale_partition = F.col("event_type").isin(*STALE_LEADER_EVENTS) & ~F.coalesce(
        F.col("leader_epoch") == number_of("current_leader_epoch"), F.lit(False)
    )
    columns = {
        "broker": F.explode(brokers.otherwise(ids_of("target_brokers"))),
        "epoch": F.col("controller_epoch"),
        "id": F.col("correlation_id"),
        "node": F.col("node_id"),
        "file": F.col("file_id"),
        # each line of the controller counts
        "place": F.when(F.col("side") != HANDLED, F.col("line")).otherwise(0),
        "key": _state_key(),
        "count": _partition_count(),
        "error": number_of("error_code"),
        "failed": _failed_partitions(),
        "stale": F.col("event_type").isin(*STALE_CONTROLLER_EVENTS),
        "stale_partition": is_stale_partition.cast("int"),
    }
    group = (*REQUEST_KEY, "side", "kind", "epoch", "id", "node", "file", "at", "place")
    return (
        _with_side_and_kind(events.where(is_about_request()))
        .select(
            "cluster", "controller_id", "side", "kind", "at", "line",
            *(column.alias(name) for name, column in columns.items()),
        )
        .repartition(*REQUEST_KEY)
        .sortWithinPartitions(*group)
        .groupBy(*group)
        .agg(
            F.min("line").alias("first"),
            F.max("line").alias("last"),
            F.collect_list("key").alias("keys"),
            *(F.max(name).alias(name) for name in ("count", "error", "failed", "stale")),
            F.sum("stale_partition").alias("stale_partitions"),
        )
        .select(*REQUEST_KEY, *_LINE_COLUMNS)
    )  # fmt: skip


def _with_side_and_kind(events: DataFrame) -> DataFrame:
    """EVENTS of REQUEST_EVENTS -> the same with `side` and `kind` of the request, as there."""
    side, kind = F.lit(None).cast("string"), F.lit(None).cast("string")
    for of_side, of_kind in sorted({*REQUEST_EVENTS.values()}, key=str):
        event_types = [name for name, about in REQUEST_EVENTS.items() if about == (of_side, of_kind)]
        side = F.when(F.col("event_type").isin(event_types), of_side).otherwise(side)
        kind = F.when(F.col("event_type").isin(event_types), of_kind).otherwise(kind)
    for api, name in APIS.items():
        kind = F.when(F.col("fields")["api"] == api, name).otherwise(kind)
    return events.withColumns({"side": side, "kind": kind})


def _failed_partitions() -> Column:
    """How many partitions a response gives an error; null of one that names none."""
    codes = F.regexp_extract_all(F.col("fields")["partition_errors"], F.lit(r"(?:error_?[cC]ode=|-> )(-?\d+)"))
    return F.size(F.filter(codes, lambda code: code != "0"))


def _state_key() -> Column:
    """The state of a partition that a request carries, as both sides print it; null of lines that print none."""
    is_deleted = (F.col("event_type") == "metadata_cache_partition_deleted") | F.coalesce(
        F.col("leader") == -2, F.lit(False)
    )
    partition_epoch = F.coalesce(
        F.col("partition_epoch").cast("string"), F.when(F.col("kind") == STOP_REPLICA, "-"), F.lit("")
    )
    parts = (F.col("leader_epoch").cast("string"), F.array_join(F.array_sort("isr"), ","))
    state = F.concat_ws(":", *(F.coalesce(part, F.lit("")) for part in parts), partition_epoch)
    name = F.concat_ws("-", "topic", "partition")
    key = F.concat_ws(":", name, F.when(is_deleted, "-2::-").otherwise(state))
    return F.when(F.col("event_type").isin(*STATE_EVENTS) & F.col("topic").isNotNull(), key)


def _partition_count() -> Column:
    """The number of partitions in a line on a whole request; null if it has none, or is about some of them only."""
    sums = (("become_leader_count", "become_follower_count"), ("added_partition_count", "deleted_partition_count"))
    count = F.coalesce(
        number_of("partition_count"), number_of("replica_count"), *(number_of(a) + number_of(b) for a, b in sums)
    )
    return F.when(~F.col("event_type").isin(*PART_EVENTS), count)


def to_requests(request_lines: DataFrame) -> DataFrame:
    """Rows of `to_request_lines` -> CONTROL_REQUESTS, each time on the clock of the node that logged it."""
    columns = [column for column in CONTROL_REQUESTS.schema if column.name not in _LATENCIES]
    # not every session groups rows as they come
    ordered = request_lines.repartition(*REQUEST_KEY).sortWithinPartitions(*REQUEST_KEY)
    return with_latencies(map_rows(ordered, request_rows, T.StructType(columns)))


def request_rows(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows of `to_request_lines` -> rows of CONTROL_REQUESTS.

    Those of one controller and broker follow each other; times are microseconds, in and out.
    """
    for key, group in groupby(rows, key=itemgetter(*REQUEST_KEY)):
        requests = requests_of(_request_line(row) for row in group)
        for number, (request, backlog) in enumerate(zip(requests, backlogs(requests), strict=True)):
            yield {
                **dict(zip(REQUEST_KEY, key, strict=True)),
                "number": number,
                **_request_row(request),
                "arrived": backlog.arrived,
                "backlog": backlog.waiting,
                "oldest_waiting_ms": None if backlog.oldest_us is None else backlog.oldest_us // 1000,
            }


def _request_line(row: dict[str, Any]) -> RequestLine:
    row["error"] = error_of(row["error"]) if row["side"] == ANSWERED else None
    return RequestLine(*_line_values(row))


def _request_row(request: ControlRequest) -> dict[str, Any]:
    sent, received, handled, answered = request.sent, request.received, request.handled, request.answered
    return {
        "controller_epoch": request.epoch,
        "correlation_id": request.id,
        "kind": request.kind,
        "partitions": request.partitions,
        "sent_at": sent and sent.at,
        "received_at": received and received.at,
        "handled_at": handled and handled.at,
        "responded_at": answered and answered.at,
        "error": answered and answered.error,
        "failed_partitions": answered and answered.failed,
        "stale": (request.stale or request.stale_partitions > 0) if received else None,
        "stale_partitions": request.stale_partitions if received else None,
        "evidence": [
            {"node_id": node, "file_id": file, "line": line}
            for node, file, line in dict.fromkeys(first.evidence for first in request.first_lines)
        ],
    }


def with_latencies(requests: DataFrame) -> DataFrame:
    """Rows of CONTROL_REQUESTS -> the same with _LATENCIES by their times."""
    return requests.withColumns(
        {
            "delivery_ms": milliseconds("sent_at", "received_at"),
            "handling_ms": milliseconds("received_at", "handled_at"),
            "round_trip_ms": milliseconds("sent_at", "responded_at"),
        }
    ).select(*CONTROL_REQUESTS.columns)
