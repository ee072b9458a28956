"""What tells how far replicas were behind at a moment, out of the published tables; it needs no Spark.

As in `jobs.describe.describe`, a function `..._at` gives the text of a query over views whose times are naive.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from jobs.read.create_views import literal, rows, time_literal
from udfs.describe.replicas import LEADS, LINES, SHRINK_LATE, VerifiedPartition, verified

if TYPE_CHECKING:
    from collections.abc import Mapping

    from duckdb import DuckDBPyConnection

    from udfs.describe.kafka_topics import Selection
    from udfs.describe.snapshot import Snapshot

_OTHER_LOG = "-(future|delete|stray)[,.]"
"""In lines about logs that are moved to another directory, or deleted: they are not the replica's."""


def left_isr_at(at: datetime) -> str:
    """PARTITION_TIMELINE, TOPIC_TIMELINE -> topic, partition, replica, `left_at`: when each replica that had been in
    the ISR by a moment, in the topic's last incarnation by then, no longer was; no row if it is in it.

    States in which the ISR is unknown say nothing.
    """
    order = "PARTITION BY topic, partition ORDER BY ordinal"
    return f"""WITH last AS (
            SELECT topic, max(incarnation) AS incarnation FROM topic_timeline
            WHERE since <= {time_literal(at)} GROUP BY topic
        ), states AS (
            SELECT topic, partition, isr, lead(since) OVER ({order}) AS left_at, ordinal
            FROM partition_timeline JOIN last USING (topic, incarnation)
            WHERE since <= {time_literal(at)} AND isr IS NOT NULL
        )
        SELECT topic, partition, replica, left_at FROM (SELECT *, unnest(isr) AS replica FROM states)
        QUALIFY row_number() OVER (PARTITION BY topic, partition, replica ORDER BY ordinal DESC) = 1
            AND left_at IS NOT NULL"""


def log_ends_at(at: datetime, since: Mapping[tuple[str, int], datetime]) -> str:
    """EVENTS -> lines up to a moment by which logs of some partitions ended: of each from a time on, and before it the
    last by which a broker began to lead. See `udfs.describe.replicas.verified`."""
    wanted = ", ".join(
        f"({literal(topic)}, {partition}, {time_literal(begin - SHRINK_LATE)})"
        for (topic, partition), begin in since.items()
    )
    number = "coalesce(fields['leader_end_offset'], fields['log_end_offset'], fields['start_offset'], fields['offset'])"
    leads = ", ".join(map(literal, LEADS))
    return f"""SELECT e.topic, e.partition, e."at", e.file_id, e.line, e.event_type, e.leader_epoch,
            coalesce(e.node_id, e.broker_id) AS writer, TRY_CAST({number} AS BIGINT) AS end_offset,
            fields['out_of_sync_replicas'] AS out_of_sync_replicas
        FROM events e JOIN (VALUES {wanted}) AS w(topic, partition, since) USING (topic, partition)
        WHERE e.event_type IN ({", ".join(map(literal, LINES))}) AND e."at" <= {time_literal(at)}
            AND (e.event_type = {literal(LINES[0])} OR {number} IS NOT NULL)
            AND NOT (e.event_type = 'log_loaded' AND regexp_matches(e.message, {literal(_OTHER_LOG)}))
        QUALIFY e."at" >= w.since OR (e.event_type IN ({leads}) AND row_number() OVER (
            PARTITION BY topic, partition, e."at" >= w.since, e.event_type IN ({leads})
            ORDER BY e."at" DESC, e.line DESC) = 1)"""


def verified_at(views: DuckDBPyConnection, snapshot: Snapshot, selection: Selection) -> list[VerifiedPartition]:
    """The partitions of a snapshot that a filter let through, each with its replicas; none before the logs begin."""
    if snapshot.is_before:
        return []
    left = {
        (row["topic"], row["partition"], row["replica"]): row["left_at"]
        for row in rows(views, left_isr_at(snapshot.at))
    }
    begins: dict[tuple[str, int], datetime] = {}
    for topic, partitions in selection.topics:
        began = datetime.fromisoformat(topic.since.removesuffix("Z")) if topic.since else snapshot.first
        for p in partitions:
            outside = [r for r in p.replicas or () if p.isr is not None and r not in p.isr]
            if outside:
                times = [left.get((topic.name, p.partition, r), began) for r in outside]
                begins[topic.name, p.partition] = min(times)
    paths = {row["file_id"]: row["path"] for row in rows(views, "SELECT file_id, path FROM log_files")}
    lines = rows(views, log_ends_at(snapshot.at, begins)) if begins else []
    return verified(snapshot, selection, left, lines, paths)
