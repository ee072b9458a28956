"""All tables by name."""

from __future__ import annotations

from collections.abc import Mapping

from schemas import config_changes, findings, gauges, incidents, ingest, ledger, requests, timelines
from schemas.table import Table

SOURCES: tuple[Table, ...] = (ingest.LOG_FILES, ingest.LOG_COVERAGE, ingest.EVENTS, ingest.REJECTS)
"""What is read from logs; each run adds to it."""

DERIVED: tuple[Table, ...] = (
    timelines.TOPIC_TIMELINE,
    timelines.PARTITION_TIMELINE,
    timelines.CONTRADICTIONS,
    timelines.CONTROLLER_TIMELINE,
    timelines.BROKER_TIMELINE,
    requests.CONTROL_REQUESTS,
    requests.CLOCK_OFFSETS,
    findings.ELECTIONS,
    findings.OFFLINE_PARTITIONS,
    findings.ISR_CHANGES,
    findings.ISR_CHURN,
    findings.REASSIGNMENTS,
    config_changes.CONFIG_CHANGES,
    incidents.LOG_DIR_FAILURES,
    incidents.INCIDENTS,
    gauges.TOPIC_AVAILABILITY,
    gauges.PREFERRED_REPLICA_IMBALANCE,
    gauges.CLUSTER_MINUTELY,
    gauges.CONTROLLER_ACTIVITY,
    findings.VERDICTS,
)
"""What follows from them; computed again for a cluster with new input."""

BY_NAME: Mapping[str, Table] = {table.name: table for table in (*SOURCES, *DERIVED, ledger.RUNS)}
