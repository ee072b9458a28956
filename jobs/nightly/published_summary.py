"""The facts of the published tables by DuckDB: for `summary`, and for a run whose warehouse is a folder.

The queries are those of `jobs.nightly.summary_queries` in DuckDB's SQL, for a tenth of what Spark's plans cost. Runs
may write where DuckDB cannot read, so both stay; a test holds their facts equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from jobs.nightly.summary_facts import (
    CHURN_ORDER,
    INCIDENT_ORDER,
    IS_ALONE,
    IS_DELETION,
    MOST,
    NAMED,
    NOTHING_KNOWN,
    NOTHING_NAMED,
    STREAM_COLUMNS,
    UNCLEAN_ORDER,
    WAIT_ORDER,
    ClusterSummary,
    Named,
    Row,
    summaries_of,
)
from jobs.nightly.summary_text import summaries_as_json, summary_text
from jobs.nightly.unknown_zeros import INCIDENTS as INCIDENTS_TOLD
from jobs.read.create_views import literal, rows, time_literal
from jobs.read.output import write_text
from jobs.read.views import LAST_RUN, REGISTERED_BROKERS, open_views
from jobs.settings import Settings
from schemas.incidents import SEVERITIES
from schemas.kafka_values import UNDER_REPLICATED_STATES
from udfs.kafka.decision_rules import KINDS
from udfs.printable import printable_lines

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def _first(table: str, order: str, most: int = MOST, by: str = "cluster") -> str:
    """The first rows of each cluster (or of what `by` names), with `nth`, from 1, and `total`, the number there are."""
    return (
        f"SELECT *, row_number() OVER (PARTITION BY {by} ORDER BY {order}) AS nth,"
        f" count(*) OVER (PARTITION BY cluster) AS total FROM {table} QUALIFY nth <= {most}"
    )


def _kind() -> str:
    """What the rule of a verdict judges, as in KINDS."""
    kinds = (f"WHEN rule IN {tuple(rule.name for rule in rules)!r} THEN '{name}'" for name, rules in KINDS.items())
    return f"CASE {' '.join(kinds)} ELSE 'invariants' END"


KNOWN_UNTIL = "$known_until"
"""Stands in queries for the time by cluster until when earlier runs knew its logs."""
IS_NAMED = "$is_named"
"""Stands in queries for whether an earlier run named a row, though it is later than that."""
UNCLEAN_ELECTIONS = "(FROM judged WHERE unclean AND is_new)"
OUTAGES = "(FROM outages WHERE is_new AND NOT is_deletion)"
INCIDENTS = "(FROM news WHERE severity <> 'info')"
VIOLATIONS = f"""(FROM verdicts
    WHERE verdict = 'violated' AND coalesce("at" > {KNOWN_UNTIL}, true) AND NOT {IS_NAMED})"""
OUTAGE_ORDER = "at_least_ms DESC NULLS LAST, since, topic, partition"
WORST_INCIDENTS = INCIDENT_ORDER.format(rank=f"list_position({[*SEVERITIES]}, severity)")
LED_AT_END = """(
    FROM partition_timeline ANTI JOIN (FROM offline_partitions WHERE ended_before IS NULL)
        USING (cluster, topic, partition)
    WHERE until IS NULL AND leader >= 0)"""
"""The states at the end of the logs with a leader. One that is dead and still stands in ZooKeeper leads nothing."""
QUERIES: Mapping[str, str] = {
    "log_files": f"SELECT {', '.join(STREAM_COLUMNS)} FROM log_files ORDER BY path, file_id",
    "controller_timeline": _first(
        "controller_timeline",
        "cluster_incarnation DESC NULLS LAST, mode NULLS LAST, controller_epoch DESC NULLS LAST",
        MOST + 1,
    ),
    "partition_timeline": """
        SELECT cluster, count(*) AS states, count(DISTINCT (topic, partition)) AS partitions,
            count(DISTINCT topic) AS topics, sum(inferred::INTEGER) AS inferred, sum(missing_before) AS missing,
            count_if(until IS NULL) AS current
        FROM partition_timeline GROUP BY cluster""",
    "leaders_at_end": f"""
        SELECT cluster, leader AS broker, count(*) FILTER (is_alone AND len(replicas) > 1) AS alone,
            count(*) FILTER (is_alone AND len(replicas) = 1) AS unreplicated,
            coalesce(list_slice(list(concat(topic, '-', partition) ORDER BY topic, partition)
                FILTER (is_alone AND len(replicas) > 1), 1, {MOST}), []) AS names,
            count(*) FILTER (availability IN {UNDER_REPLICATED_STATES!r}) AS under_replicated
        FROM (SELECT *, {IS_ALONE.format(size="len")} AS is_alone FROM {LED_AT_END}) GROUP BY cluster, leader""",
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
        WITH judged AS (
            SELECT *, coalesce("at" > {KNOWN_UNTIL}, true) AND NOT {IS_NAMED} AS is_new FROM elections
        )
        FROM ({_first(UNCLEAN_ELECTIONS, UNCLEAN_ORDER.format(at='"at" NULLS FIRST'))}) UNION ALL BY NAME
        SELECT cluster, succeeded, unclean, is_new, count(*) AS total, sum(lost_records_min) AS lost_min,
            sum(lost_records_max) AS lost_max, count_if(lost_records_max IS NULL) AS unbounded,
            count_if(leader = last_leader) AS led_on
        FROM judged GROUP BY ALL""",
    "offline_partitions": f"""
        WITH outages AS (
            SELECT *, coalesce(ended_before > {KNOWN_UNTIL}, true) AND NOT {IS_NAMED} AS is_new,
                {IS_DELETION} AS is_deletion
            FROM offline_partitions
        ) FROM ({_first(OUTAGES, OUTAGE_ORDER, by="cluster, ended_before IS NULL")}) UNION ALL BY NAME
        SELECT cluster, count_if(NOT is_deletion) AS total,
            count_if(NOT is_deletion AND ended_before IS NULL) AS open_total,
            count_if(NOT is_deletion AND ended_before IS NULL AND cause = 'controlled_shutdown') AS shutdown_total,
            list_sort(list(DISTINCT cause_broker) FILTER (
                NOT is_deletion AND ended_before IS NULL AND cause = 'controlled_shutdown' AND cause_broker IS NOT NULL
            )) AS shutdown_brokers,
            count_if(NOT is_deletion AND is_new) AS new_total, count_if(is_deletion AND is_new) AS deletion_total,
            count_if(is_deletion AND ended_before IS NULL) AS deleting_total
        FROM outages GROUP BY cluster""",
    "first_leader_waits": f"""
        WITH waits AS (
            SELECT cluster, topic, partition, incarnation, min("at") AS since FROM elections
            ANTI JOIN partition_timeline USING (cluster, topic, partition, incarnation)
            ANTI JOIN (FROM topic_timeline WHERE coalesce(deletion_started, until) IS NOT NULL)
                USING (cluster, topic, incarnation)
            WHERE strategy = 'new' AND NOT succeeded GROUP BY ALL
        ) {_first("waits", WAIT_ORDER)}""",
    "incidents": f"""
        WITH news AS (
            SELECT *, until IS NULL AND (coalesce(since <= {KNOWN_UNTIL}, false) OR {IS_NAMED}) AS is_older
            FROM incidents WHERE coalesce(until > {KNOWN_UNTIL}, true) AND (until IS NULL OR NOT {IS_NAMED})
        ) FROM ({_first(INCIDENTS, WORST_INCIDENTS)}) UNION ALL BY NAME
        SELECT cluster, severity, count(*) AS total, count_if(is_older) AS older_total FROM news GROUP BY ALL""",
    "isr_churn": f"""
        SELECT * FROM ({_first("isr_churn", CHURN_ORDER, 3)})
        JOIN (SELECT cluster, sum(churning::INTEGER) AS churning_total, sum(shrinks + expands) AS changes
            FROM isr_churn GROUP BY cluster) USING (cluster)""",
    "reassignments": "SELECT cluster, state, count(*) AS total FROM reassignments GROUP BY ALL",
    "verdicts": f"""
        FROM ({_first(VIOLATIONS, '"at" NULLS FIRST, rule, subject')})
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
    "registered_brokers": REGISTERED_BROKERS,
}  # fmt: skip
"""By table, or by what is asked of several, what is read."""
READ_TABLES = (*QUERIES, "broker_timeline", "topic_timeline")
"""Tables that the queries read."""
PRINTED_RELEASES = """
    SELECT DISTINCT cluster, fields['kafka_version'] AS release FROM events
    WHERE event_type = 'kafka_version' AND fields['kafka_version'] IS NOT NULL"""
"""What nodes printed as they started. It reads the largest table."""


def summaries(
    views: DuckDBPyConnection,
    settings: Settings,
    known_until: Mapping[str, datetime] = NOTHING_KNOWN,
    named: Named = NOTHING_NAMED,
    *,
    with_events: bool = False,
) -> list[ClusterSummary]:
    """The facts of every cluster of a connection's views, whose times are naive; what only events tell if asked."""
    times = "".join(f" WHEN {literal(name)} THEN {time_literal(at)}" for name, at in sorted(known_until.items()))
    known = f"CASE cluster{times} END" if times else "NULL::TIMESTAMP"
    rows_by_table: dict[str, list[Row]] = {
        table: [*rows(views, query.replace(KNOWN_UNTIL, known).replace(IS_NAMED, _is_named(table, named)))]
        for table, query in QUERIES.items()
    }
    rows_by_table |= {"printed_releases": [*rows(views, PRINTED_RELEASES)]} if with_events else {}
    return summaries_of(rows_by_table, settings, known_until)


def _is_named(table: str, named: Named) -> str:
    """Condition: a row of a table is one that was named before."""
    if not named.get(table):
        return "false"
    columns = ", ".join(f"coalesce({name}, {NONE})" if name == "until" else f'"{name}"' for name in NAMED[table][2])
    keys = ", ".join(f"({', '.join(map(_value, key))})" for key in named[table])
    return f"coalesce((cluster, {columns}) IN (VALUES {keys}), false)"


NONE = time_literal(datetime(1, 1, 1))
"""Stands for the end of what is open, as no list of values finds a null."""


def _value(value: object) -> str:
    if isinstance(value, datetime):
        return time_literal(value)
    return NONE if value is None else literal(value) if isinstance(value, str) else str(value)


def summaries_in(
    root: str, settings: Settings, known_until: Mapping[str, datetime], named: Named = NOTHING_NAMED
) -> list[ClusterSummary]:
    """The facts of every cluster of a warehouse in a folder."""
    with open_views(root, only=(*READ_TABLES, "events"), naive=True) as views:
        return summaries(views, settings, known_until, named, with_events=True)


def _lacks_incidents(run: Row) -> bool:
    """Whether a run is of the first release, which did not know incidents."""
    return (run["version"] or "").startswith("0.1.") and "incidents" not in run["names"]


def print_summary(root: str, cluster: str | None, settings: Settings, form: str, engine: str = "duckdb") -> None:
    """Print the facts of all clusters or of one, in words or as JSON. Raises BadInput for an unknown cluster."""
    with_events = engine != "spark"  # which would copy them first
    tables = (*READ_TABLES, "runs", "events") if with_events else (*READ_TABLES, "runs")
    with open_views(root, cluster=cluster, only=tables, naive=True, engine=engine) as views:
        facts = summaries(views, settings, with_events=with_events)
        last = rows(views, LAST_RUN)
    if last and _lacks_incidents(last[0]):
        for summary in facts:
            summary.cannot_be_told[INCIDENTS_TOLD] = (
                f"cannot be told: these tables are of Kafka Rewind {last[0]['version']}; "
                "`kafka-rewind nightly LOGS --rebuild` makes them anew"
            )
    if form == "json":
        text = summaries_as_json(facts)
    else:
        text = printable_lines(summary_text(facts, root, names_cluster=cluster is not None))
    write_text([f"{text}\n"], None)
