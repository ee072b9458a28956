"""`summary`: the facts of the published tables again, without a night.

The queries are those of `jobs.nightly.summary_queries` in DuckDB's SQL. Nights may write
where DuckDB cannot read, so both stay; a test holds their facts equal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jobs.nightly.summary_facts import MOST, STREAM_COLUMNS, ClusterSummary, Row, summaries_of
from jobs.nightly.summary_text import summary_text
from jobs.read.create_views import rows
from jobs.read.output import write_text
from jobs.read.views import open_views
from jobs.settings import Settings
from udfs.kafka.decision_rules import KINDS
from udfs.printable import printable_lines

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def _first(table: str, order: str, most: int = MOST) -> str:
    """The first rows of each cluster, with `nth`, from 1, and `total`, the number there are."""
    return (
        f"SELECT *, row_number() OVER (PARTITION BY cluster ORDER BY {order}) AS nth,"
        f" count(*) OVER (PARTITION BY cluster) AS total FROM {table} QUALIFY nth <= {most}"
    )


def _kind() -> str:
    """What the rule of a verdict judges, as in KINDS."""
    kinds = (f"WHEN rule IN {tuple(rule.name for rule in rules)!r} THEN '{name}'" for name, rules in KINDS.items())
    return f"CASE {' '.join(kinds)} ELSE 'invariants' END"


QUERIES: Mapping[str, str] = {
    "log_files": f"SELECT {', '.join(STREAM_COLUMNS)} FROM log_files ORDER BY path, file_id",
    "controller_timeline": _first(
        "controller_timeline",
        "cluster_incarnation DESC NULLS LAST, mode NULLS LAST, controller_epoch DESC NULLS LAST",
        MOST + 1,
    ),
    "partition_timeline": """
        SELECT cluster, count(*) AS states, count(DISTINCT (topic, partition)) AS partitions,
            count(DISTINCT topic) AS topics, sum(inferred::INTEGER) AS inferred, sum(missing_before) AS missing
        FROM partition_timeline GROUP BY cluster""",
    "clock_offsets": """
        SELECT cluster, node_id, sum(pairs) AS pairs, max(reference) AS reference,
            max(contradicting) AS contradicting, max(len(applied) > 0) AS corrected,
            min(list_min([p.ahead_ms FOR p IN applied])) AS from_ms,
            max(list_max([p.ahead_ms FOR p IN applied])) AS to_ms
        FROM clock_offsets GROUP BY cluster, node_id""",
    "control_requests": """
        SELECT cluster, kind, count(*) AS total, sum(stale::INTEGER) AS stale,
            sum((error <> 'NONE')::INTEGER) AS failed,
            max(round_trip_ms) AS slowest_ms, count_if(received_at IS NULL AND responded_at IS NULL) AS only_sent,
            sum((sent_at IS NOT NULL AND partitions IS NOT NULL)::INTEGER) AS traced
        FROM control_requests GROUP BY cluster, kind""",
    "contradictions": _first("contradictions", '"at" NULLS FIRST, topic NULLS FIRST, partition NULLS FIRST'),
    "elections": f"""
        FROM ({_first("(FROM elections WHERE unclean)", '"at" NULLS FIRST, topic, partition')}) UNION ALL BY NAME
        SELECT cluster, succeeded, unclean, count(*) AS total FROM elections GROUP BY ALL""",
    "offline_partitions": f"""
        SELECT * FROM ({_first("offline_partitions", "at_least_ms DESC NULLS LAST, since, topic, partition")})
        JOIN (SELECT cluster, count_if(ended_before IS NULL) AS open_total FROM offline_partitions GROUP BY cluster)
        USING (cluster)""",
    "isr_churn": f"""
        SELECT * FROM ({_first("isr_churn", "flaps DESC, shrinks DESC, topic, partition, follower", 3)})
        JOIN (SELECT cluster, sum(churning::INTEGER) AS churning_total, sum(shrinks + expands) AS changes
            FROM isr_churn GROUP BY cluster) USING (cluster)""",
    "reassignments": "SELECT cluster, state, count(*) AS total FROM reassignments GROUP BY ALL",
    "verdicts": f"""
        FROM ({_first("(FROM verdicts WHERE verdict = 'violated')", '"at" NULLS FIRST, rule, subject')})
        UNION ALL BY NAME
        SELECT cluster, {_kind()} AS kind, verdict, count(*) AS total FROM verdicts GROUP BY ALL""",
    "rejects": f"""
        WITH signatures AS (
            SELECT *, coalesce(signature, reason) AS of_kind, count(*) OVER kind AS number FROM rejects
            WINDOW kind AS (PARTITION BY cluster, coalesce(signature, reason))
            QUALIFY row_number() OVER (
                PARTITION BY cluster, coalesce(signature, reason) ORDER BY "at" NULLS FIRST, file_id, line
            ) = 1
        ), kinds AS (
            SELECT cluster, of_kind AS signature, number AS count,
                {{'at': "at", 'file_id': file_id, 'line': line}} AS first FROM signatures
        ) {_first("kinds", "count DESC, signature NULLS FIRST")}""",
    "log_coverage": "FROM log_coverage",
}  # fmt: skip
"""By table what is read of it."""


def summaries(views: DuckDBPyConnection, settings: Settings) -> list[ClusterSummary]:
    """The facts of every cluster of a connection's views, whose times are naive."""
    rows_by_table: dict[str, list[Row]] = {table: [*rows(views, query)] for table, query in QUERIES.items()}
    return summaries_of(rows_by_table, settings)


def print_summary(root: str, cluster: str | None, settings: Settings, form: str, engine: str = "duckdb") -> None:
    """Print the facts of all clusters or of one, in words or as JSON. Raises BadInput for an unknown cluster."""
    with open_views(root, cluster=cluster, only=QUERIES, naive=True, engine=engine) as views:
        facts = summaries(views, settings)
    if form == "json":
        text = json.dumps([_as_data(of_cluster) for of_cluster in facts], indent=2, default=_as_text)
    else:
        text = printable_lines(summary_text(facts, root))
    write_text([f"{text}\n"], None)


def _as_data(summary: ClusterSummary) -> dict[str, Any]:
    """A cluster's facts by name; times as exports have them."""
    return asdict(summary)


def _as_text(value: object) -> object:
    if isinstance(value, datetime):
        return f"{value.isoformat(timespec='milliseconds')}Z"
    return str(value)
