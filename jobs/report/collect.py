"""What a report shows, out of the published tables: plain values for the page's script, times in ms since its begin."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from jobs.answers.loss import unclean_elections
from jobs.answers.opened import OpenedCluster
from jobs.answers.outages import OutageGroup, group_length, is_open, outage_groups
from jobs.answers.words import brokers_text
from jobs.nightly.summary_facts import Row
from jobs.nightly.wording import duration, outage_length, plural
from jobs.nightly.words import cause_text, healer_text, listed, lost_text, name_of
from jobs.read.create_views import literal
from jobs.report.leaderless import leaderless_spans, led_spans
from schemas.kafka_values import NO_LEADER, UNDER_REPLICATED_STATES

TABLES = (
    "events", "partition_timeline", "offline_partitions", "elections", "isr_changes", "isr_churn", "verdicts",
    "broker_timeline", "controller_timeline", "control_requests", "contradictions", "rejects", "incidents",
    "log_dir_failures", "topic_timeline", "reassignments",
)  # fmt: skip
EPOCH = datetime(1970, 1, 1)
MILLISECOND = timedelta(milliseconds=1)
UNKNOWN, GONE = -2, -3
"""Leaders that are no broker, beside NO_LEADER: not known; the partition is not there."""
INFERRED, UNDER_REPLICATED, UNDER_MIN_ISR = 1, 4, 8
"""Flags of a state."""
MOST_ROWS = 5000
"""Outages, elections and violations that are in the file; the worst of them, and the number of all is told."""
MOST_LINES = 20_000
"""Log lines that are quoted in it; others are named."""
MOST_STEPS = 40
"""Steps of an incident that are listed."""
MOST_PROOFS = 24
"""Lines of an incident: its story names them by their places."""
MOST_TEXT = 600
"""Characters of a quoted line."""
MOST_CELL_LINES = 3
"""Lines of a cell of the heat map."""
BUCKETS = 72
"""Columns of the heat map, about."""

Refs = list[list[int]]
"""Lines as pairs: number of the file in the report, and number in the file."""


@dataclass
class Report:
    """A report in the making."""

    opened: OpenedCluster
    begin: datetime
    values: dict[str, Any] = field(default_factory=dict)
    """What the page's script reads, by name."""
    files: dict[str, int] = field(default_factory=dict)
    """Streams that it names, with their numbers."""
    numbers: dict[tuple[str, int], int] = field(default_factory=dict)
    """Place of each topic and partition in the list of partitions."""

    def ms(self, at: datetime | None) -> int | None:
        """A time in the report."""
        return None if at is None else self.sure_ms(at)

    def sure_ms(self, at: datetime) -> int:
        """A time in the report, of which there is one."""
        return (at - self.begin) // MILLISECOND

    def file(self, file_id: str) -> int:
        """A stream's number in the report."""
        return self.files.setdefault(file_id, len(self.files))

    def refs(self, evidence: Iterable[Row] | None, most: int = 4) -> Refs:
        """Lines of a row's evidence."""
        return [[self.file(line["file_id"]), line["line"]] for line in list(evidence or ())[:most]]


def collect(opened: OpenedCluster) -> Report:
    """All values of a cluster's report."""
    begins = opened.rows("SELECT min(since) AS since FROM partition_timeline")
    begin = min([opened.first, *(row["since"] for row in begins if row["since"])])
    report = Report(opened, begin)
    values = report.values
    values["begin_ms"] = (begin - EPOCH) // MILLISECOND
    values["span_ms"] = report.ms(opened.last)
    values["options"] = f" --cluster {shlex.quote(opened.cluster)}" if opened.is_named else ""
    _add_partitions(report)
    _add_brokers(report)
    _add_churn(report)
    _add_elections(report)
    groups = outage_groups(opened.table("offline_partitions"))
    values["outages"] = [_outage(report, row) for group in groups for row in group.outages][:MOST_ROWS]
    values["incidents"] = _incidents(report, groups)
    values["verdicts"] = [
        {
            **{name: row[name] for name in ("rule", "subject", "expected", "actual", "explanation")},
            "at": report.ms(row["at"]),
            "refs": report.refs(row["evidence"]),
        }
        for row in opened.table("verdicts", "verdict = 'violated'", '"at", rule, subject')[:MOST_ROWS]
    ]
    values["lines"] = _lines(report)
    values["files"] = [opened.names.stream(file_id) for file_id in report.files]
    return report


STATELESS_OUTAGES = f"""
    SELECT topic, partition, incarnation, since, {NO_LEADER} AS leader, last_isr AS isr, evidence,
        CASE WHEN until IS NOT NULL THEN until WHEN ended_before IS NOT NULL OR healed_by IS NOT NULL
            THEN since + to_milliseconds(at_least_ms) END AS until
    FROM offline_partitions ANTI JOIN partition_timeline USING (topic, partition)"""
"""Times without a leader of partitions of which no line prints a state, as states, in SQL."""


# ---- partitions -----------------------------------------------------------------------------------------------------
def _add_partitions(report: Report) -> None:
    """Partitions by name: number of the topic, number in it, and their states, eight numbers each."""
    leaderless = leaderless_spans(report.opened.table("offline_partitions"))
    cursor = report.opened.views.execute(
        f"""SELECT topic, partition, since, until, leader, isr, len(replicas), availability, inferred, leader_epoch,
            evidence[1].file_id, evidence[1].line
        FROM (FROM partition_timeline UNION ALL BY NAME {STATELESS_OUTAGES})
        ORDER BY topic, partition, incarnation, ordinal, since"""
    )
    topics: dict[str, int] = {}
    isrs: dict[tuple[int, ...], int] = {}
    partitions: list[tuple[int, int, list[int]]] = []
    while batch := cursor.fetchmany(10_000):
        for topic, partition, since, until, leader, isr, size, availability, inferred, epoch, file_id, line in batch:
            number = topics.setdefault(topic, len(topics))
            if not partitions or partitions[-1][:2] != (number, partition):
                report.numbers[topic, partition] = len(partitions)
                partitions.append((number, partition, []))
            isr_number = -1 if isr is None else isrs.setdefault(tuple(isr), len(isrs))
            place = (-1, 0) if file_id is None else (report.file(file_id), line or 0)
            for begin, end, leads in led_spans(since, until, leader, leaderless.get((topic, partition), ())):
                flags = _flags(inferred, None if leads == NO_LEADER else availability)
                shown_by = (-1, 0) if leads != leader and leads == NO_LEADER else place  # lines of the outage show it
                known = [isr_number, size or 0, flags, -1 if epoch is None else epoch, *shown_by]
                leads = UNKNOWN if leads is None else leads
                _add_state(partitions[-1][2], report.sure_ms(begin), report.ms(end), [leads, *known])
    report.values["topics"] = list(topics)
    report.values["partitions"] = partitions
    report.values["isrs"] = [brokers_text(isr) for isr in isrs]
    report.values["isr_sizes"] = [len(isr) for isr in isrs]


def _flags(inferred: bool | None, availability: str | None) -> int:
    """Flags of a state."""
    flags = INFERRED * bool(inferred) | UNDER_REPLICATED * (availability in UNDER_REPLICATED_STATES)
    return flags | UNDER_MIN_ISR * (availability == "UnderMinIsr")


def _add_state(states: list[int], since: int, until: int | None, known: list[int]) -> None:
    """Put a state behind those before it, and behind it that the partition is gone."""
    _end_before(states, since)
    states += [max(since, states[-8]) if states else since, *known]
    if until is not None:
        states += [max(until, since), GONE, -1, 0, 0, -1, -1, 0]


def _end_before(states: list[int], since: int) -> None:
    """Take away the end of the state before if the next one follows it at once."""
    if len(states) >= 16 and states[-7] == GONE and states[-8] >= since:
        del states[-8:]


# ---- brokers and controllers ----------------------------------------------------------------------------------------
def _add_brokers(report: Report) -> None:
    """When brokers were there and shutting down, and who was controller."""
    opened = report.opened
    stops: dict[int, list[datetime]] = {}
    kinds = ", ".join(map(literal, ("controlled_shutdown_requested", "broker_stopping")))
    for row in opened.rows(f'SELECT node_id, "at" FROM events WHERE event_type IN ({kinds}) ORDER BY "at"'):
        if row["node_id"] is not None and row["at"] is not None:
            stops.setdefault(row["node_id"], []).append(row["at"])
    spans: dict[int, list[dict[str, Any]]] = {}
    for row in opened.table("broker_timeline", order="broker, since"):
        own = stops.get(row["broker"], [])
        within = [at for at in own if row["until"] is not None and row["since"] < at <= row["until"]]
        spans.setdefault(row["broker"], []).append(
            {
                "since": report.ms(row["since"]),
                "until": report.ms(row["until"]),
                "stopping": report.ms(within[0] if within else row["shutdown_since"]),
                "started_as": row["started_as"],
                "ended_by": row["ended_by"],
                "refs": report.refs(row["evidence"]),
            }
        )
    replicas = opened.rows("SELECT DISTINCT unnest(replicas) AS b FROM partition_timeline WHERE replicas IS NOT NULL")
    for row in replicas:
        spans.setdefault(row["b"], [])
    report.values["brokers"] = [{"id": broker, "spans": spans[broker]} for broker in sorted(spans)]
    report.values["broker_order"] = {str(broker): number for number, broker in enumerate(sorted(spans))}
    report.values["terms"] = [
        {
            "id": row["controller_id"],
            "epoch": row["controller_epoch"],
            "mode": row["mode"],
            "since": report.ms(row["since"]),
            "active": report.ms(row["active_since"]),
            "until": report.ms(row["until"]),
            "ended_by": row["ended_by"],
            "refs": report.refs(row["evidence"]),
        }
        for row in opened.table("controller_timeline", order="since, controller_epoch")
    ]


WIDTHS_MS = (1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000)


def _add_churn(report: Report) -> None:
    """How often each broker left or joined an ISR, by columns of time."""
    span = report.values["span_ms"] or 1
    width = next((one for one in WIDTHS_MS if span / one <= BUCKETS), WIDTHS_MS[-1])
    cells = report.opened.rows(
        f"""SELECT ((epoch_ms("at") - {report.values["begin_ms"]}) // {width})::BIGINT AS bucket, b, count(*) AS n,
            count_if(kind = 'shrink') AS shrinks, list(DISTINCT concat(topic, '-', partition)) AS names,
            list(evidence[1] ORDER BY "at", topic, partition)[:{MOST_CELL_LINES}] AS lines
        FROM (SELECT *, unnest(list_concat(added, removed)) AS b FROM isr_changes)
        GROUP BY bucket, b ORDER BY b, bucket"""
    )
    brokers = sorted({row["b"] for row in cells})
    numbers = {broker: number for number, broker in enumerate(brokers)}
    report.values["churn"] = {
        "width_ms": width,
        "brokers": brokers,
        "cells": [
            [
                *(row["bucket"], numbers[row["b"]], row["n"], row["shrinks"], listed(sorted(row["names"]), 8)),
                report.refs(filter(None, row["lines"]), MOST_CELL_LINES),
            ]
            for row in cells
        ],
    }


HAS_LATENCY = "succeeded AND latency_ms IS NOT NULL"
"""Of ELECTIONS, in SQL."""


def _add_elections(report: Report) -> None:
    """Elections whose latency is known, and the unclean ones."""
    opened = report.opened
    known = opened.rows(
        f"""SELECT topic, partition, epoch_ms("at") - {report.values["begin_ms"]} AS t, latency_ms,
            coalesce(unclean, false) AS unclean
        FROM elections WHERE {HAS_LATENCY} ORDER BY latency_ms DESC, t, topic, partition LIMIT {4 * MOST_ROWS}"""
    )
    report.values["elections"] = [
        [row["t"], row["latency_ms"], int(row["unclean"]), report.numbers.get((row["topic"], row["partition"]), -1)]
        for row in known
    ]
    report.values["uncleans"] = [
        {
            "name": name_of(row),
            "at": report.ms(row["at"]),
            "leader": str(row["leader"]),
            "isr": brokers_text(row["isr_before"]),
            "lost": lost_text(row),
            "refs": report.refs(row["evidence"]),
        }
        for row in unclean_elections(opened)[:MOST_ROWS]
    ]


# ---- what went wrong ------------------------------------------------------------------------------------------------
def _outage(report: Report, row: Row) -> dict[str, Any]:
    return {
        "name": name_of(row),
        "partition": report.numbers.get((row["topic"], row["partition"]), -1),
        "since": report.ms(row["since"]),
        "until": report.ms(row["until"] or row["ended_before"]),
        "is_until_known": row["until"] is not None,
        "sure_ms": row["at_least_ms"] or 0,
        "is_open": is_open(row),
        "length": outage_length(row),
        "cause": cause_text(row),
        "healed": healer_text(row),
        "failed": row["failed_elections"],
        "isr": brokers_text(row["last_isr"]),
        "refs": report.refs(row["evidence"]),
    }


def _incidents(report: Report, groups: Sequence[OutageGroup]) -> list[dict[str, Any]]:
    """Rows of INCIDENTS; where a warehouse lacks them, outages of one cause that began together."""
    if report.opened.has("incidents"):
        rows = report.opened.table("incidents", order="since, incident_id")[:MOST_ROWS]
        return [
            {
                "severity": row["severity"],
                "minutes": row["leaderless_partition_minutes"] or 0,
                "title": row["title"],
                "since": report.ms(row["since"]),
                "until": report.ms(row["until"]),
                "is_open": row["until"] is None,
                "story": row["story"],
                "names": _affected(row),
                "steps": [[report.ms(step["at"]), step["what"]] for step in (row.get("steps") or ())[:MOST_STEPS]],
                "refs": report.refs(row["evidence"], MOST_PROOFS),
            }
            for row in rows
        ]
    return [_of_group(report, group) for group in groups][:MOST_ROWS]


def _affected(row: Row) -> str | None:
    """What an incident cost: partitions without a leader, and their time without one; None if none was."""
    partitions, minutes = row.get("partitions_affected"), row.get("leaderless_partition_minutes")
    if not partitions:
        return None
    least = "" if row["until"] is not None else "at least "
    cost = f", {least}{duration(round(minutes * 60_000))} of partition time" if minutes else ""
    return f"{plural(partitions, 'partition')} without a leader{cost}"


def _of_group(report: Report, group: OutageGroup) -> dict[str, Any]:
    worst = group.worst
    names = list(dict.fromkeys(map(name_of, group.outages)))
    cause = cause_text(worst) or "cause unknown"
    healers = listed(dict.fromkeys(filter(None, (healer_text(row) for row in group.outages))))
    story = f"{plural(len(names), 'partition')} without a leader for {group_length(group)}: {cause}."
    if group.is_open:
        story += " Not over at the end of the logs."
    elif healers:
        story += f" Ended by {healers}."
    ends = [row["until"] or row["ended_before"] for row in group.outages]
    subject = names[0] if len(names) == 1 else plural(len(names), "partition")
    return {
        "severity": "info" if group.is_deletion else "critical" if group.is_open else "warning",
        "minutes": group.leaderless_ms / 60_000,
        "title": f"{subject} offline: {cause}",
        "since": report.ms(group.since),
        "until": None if group.is_open else report.ms(max((end for end in ends if end is not None), default=None)),
        "is_open": group.is_open,
        "story": story,
        "names": listed(names, 8),
        "steps": [],
        "refs": [ref for row in group.outages[:4] for ref in report.refs(row["evidence"], 2)],
    }


# ---- lines ----------------------------------------------------------------------------------------------------------
def _lines(report: Report) -> dict[str, str]:
    """What stands in the lines that the report names, by `file:line`; the most important ones if there are many."""
    wanted: list[list[int]] = []
    for name in ("incidents", "outages", "uncleans", "verdicts", "terms"):
        wanted += [ref for row in report.values[name] for ref in row["refs"]]
    wanted += [ref for broker in report.values["brokers"] for span in broker["spans"] for ref in span["refs"]]
    wanted += [ref for cell in report.values["churn"]["cells"] for ref in cell[-1]]
    of_states = [
        [states[i + 6], states[i + 7]]
        for _, _, states in sorted(report.values["partitions"], key=lambda one: -len(one[2]))
        for i in range(0, len(states), 8)
        if states[i + 6] >= 0
    ]
    places = list(dict.fromkeys(map(tuple, [*wanted, *of_states])))[:MOST_LINES]
    return _quoted(report, places)


def _quoted(report: Report, places: Sequence[tuple[int, ...]]) -> dict[str, str]:
    if not places:
        return {}
    ids = list(report.files)
    values = ", ".join(f"({literal(ids[file])}, {line})" for file, line in places)
    views = report.opened.views
    views.execute("CREATE OR REPLACE TEMP TABLE _places (file_id VARCHAR, line BIGINT)")
    views.execute(f"INSERT INTO _places VALUES {values}")
    rows = report.opened.rows(
        f"""SELECT e.file_id, e.line, e.level, left(e.message, {MOST_TEXT}) AS message, length(e.message) AS length,
            left(split_part(e.detail, chr(10), 1), {MOST_TEXT}) AS detail
        FROM events e JOIN _places p ON e.file_id = p.file_id AND e.line = p.line"""
    )
    return {f"{report.files[row['file_id']]}:{row['line']}": _text(row) for row in rows}


def _text(row: Mapping[str, Any]) -> str:
    text = f"{row['level'] or ''} {row['message'] or ''}".strip()
    if (row["length"] or 0) > MOST_TEXT:
        text += "…"
    return f"{text}\n{row['detail']}" if row["detail"] else text
