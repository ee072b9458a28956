"""`check`: one line for a monitor, by the published tables of all clusters or of one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from jobs.answers.listing import as_json
from jobs.answers.outages import OutageGroup, group_length, outage_groups
from jobs.describe.describe import moment_of
from jobs.nightly.published_summary import LED_AT_END, READ_TABLES, summaries
from jobs.nightly.status import CRITICAL, OK, UNKNOWN, WARNING, WORDS, open_questions
from jobs.nightly.summary_facts import ClusterSummary, Row
from jobs.nightly.wording import date_time, duration, plural
from jobs.nightly.words import cause_text, first_of, listed, lost_text, name_of
from jobs.read.create_views import literal, rows, time_literal
from jobs.read.output import write_text
from jobs.read.views import REGISTERED_BROKERS, open_views
from jobs.settings import Settings
from schemas.kafka_values import UNDER_REPLICATED_STATES
from udfs.describe.snapshot import iso
from udfs.errors import BadInput
from udfs.logs.coverage import TOLERANCE, CoverageSpan, unlogged_brokers
from udfs.merge.times import Moment
from udfs.printable import printable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SILENT = TOLERANCE
"""A node whose last record is so much older than its cluster's has stopped sending logs."""


@dataclass(frozen=True)
class CheckFinding:
    """Something that a monitor is to know, with where to look."""

    severity: int
    cluster: str
    kind: str
    """`offline`, `unclean`, `waiting`, `violated`, `outage`, `under_replicated`, `silent`, `stale`, `unknown`."""
    text: str
    look: str = ""
    """The command that tells more."""
    count: int = 1
    """How many partitions, elections, nodes it is about."""


@dataclass(frozen=True)
class CheckLimits:
    """What is asked of a check."""

    since: Moment
    """What ended before that is history; what is open still counts."""
    max_age: timedelta | None = None
    """How old the last record may be by this machine's clock; None: not asked."""


def run_check(root: str, cluster: str | None, limits: CheckLimits, form: str, settings: Settings) -> int:
    """Print the state of all clusters or of one, its word first; the exit code."""
    with open_views(root, cluster=cluster, only=READ_TABLES, naive=True) as views:
        of_clusters = summaries(views, settings)
        if not of_clusters:
            raise BadInput("The warehouse has no logs; run `kafka-rewind nightly LOGS` first.")
        findings = [finding for one in of_clusters for finding in _findings(views, one, limits, root)]
        last = [row["last_at"] for one in of_clusters for row in one.streams if row["last_at"]]
    findings.sort(key=lambda finding: -finding.severity)
    severity = max((finding.severity for finding in findings), default=OK)
    if form == "json":
        text = as_data(findings, severity)
    else:
        text = as_text(findings, severity, len(of_clusters), max(last, default=None))
    write_text([f"{text}\n"], None)
    return severity


def as_text(findings: Sequence[CheckFinding], severity: int, clusters: int, last: datetime | None) -> str:
    """The line for the monitor, with counts behind a bar as plugins print them; below it a line for each finding."""
    counts = {kind: sum(finding.count for finding in findings if finding.kind == kind) for kind in COUNTED}
    if findings:
        numbers = ", ".join(plural(counts[kind], word) for kind, word in COUNTED.items() if counts[kind])
        head = f"{numbers}; first: {_text(findings[0], clusters)}"
    else:
        until = f"logs until {date_time(last)} UTC" if last else "no record has a time"
        head = f"nothing wrong in {plural(clusters, 'cluster')}, {until}"
    metrics = " ".join(f"{kind}={count}" for kind, count in counts.items())
    lines = [f"{WORDS[severity]}: {printable(head)} | {metrics}"]
    for finding in findings:
        look = f" [{finding.look}]" if finding.look else ""
        lines.append(printable(f"{WORDS[finding.severity]} {_text(finding, clusters)}{look}"))
    return "\n".join(lines)


def _text(finding: CheckFinding, clusters: int) -> str:
    """What was found; where several clusters were looked at, in which of them."""
    is_named = clusters == 1 or f"cluster {finding.cluster} " in finding.text
    return finding.text if is_named else f"{finding.cluster}: {finding.text}"


COUNTED = {
    "offline": "offline partition",
    "unclean": "unclean election",
    "waiting": "leaderless new partition",
    "stale": "stale cluster",
    "violated": "violation",
    "outage": "ended outage",
    "under_replicated": "under-replicated partition",
    "silent": "silent node",
    "unknown": "open question",
}
"""Kinds of findings, and what of each is counted."""


def as_data(findings: Sequence[CheckFinding], severity: int) -> str:
    """The same for programs."""
    return json.dumps(
        {
            "status": WORDS[severity],
            "code": severity,
            "findings": [
                {
                    "status": WORDS[f.severity], "cluster": f.cluster, "kind": f.kind, "count": f.count, "text": f.text,
                    "command": f.look or None,
                }
                for f in findings
            ],
        },
        indent=2,
        default=as_json,
    )  # fmt: skip


# ---- what is looked at ----------------------------------------------------------------------------------------------
def _findings(
    views: DuckDBPyConnection, summary: ClusterSummary, limits: CheckLimits, root: str
) -> Iterator[CheckFinding]:
    """What is wrong with one cluster."""
    cluster, own = summary.cluster, f"cluster = {literal(summary.cluster)}"
    fields = ", ".join(CoverageSpan._fields)
    spans = [CoverageSpan(**row) for row in rows(views, f"SELECT {fields} FROM log_coverage WHERE {own}")]
    where = f" --cluster {shlex.quote(cluster)} --warehouse {shlex.quote(root)}"
    if not spans:
        yield CheckFinding(WARNING, cluster, "stale", f"cluster {cluster} has no logs with times")
        return
    last = max(span.until for span in spans)
    since = time_literal(moment_of(limits.since, last))
    lately = f'{own} AND "at" >= {since}'
    outages = rows(views, f"FROM offline_partitions WHERE {own} AND coalesce(ended_before >= {since}, true)")
    for group in outage_groups(outages):
        yield from _outages(group, cluster, where)
    if waits := summary.first_leader_waits:
        yield _waiting(waits, summary.waiting_partitions, cluster, where)
    for row in rows(views, f'FROM elections WHERE unclean AND {lately} ORDER BY "at", topic, partition'):
        election = f"unclean election of broker {row['leader']} at {date_time(row['at'])} UTC"
        text = f"{name_of(row)}: {election}, {lost_text(row)}"
        yield CheckFinding(CRITICAL, cluster, "unclean", text, f"kafka-rewind loss{where}")
    violated = "FROM verdicts WHERE verdict = 'violated'"
    for row in rows(views, f'{violated} AND {lately} ORDER BY "at", rule, subject'):
        text = f"{row['rule']} is violated by {row['subject']} at {date_time(row['at'])} UTC"
        yield CheckFinding(WARNING, cluster, "violated", text, f'kafka-rewind sql "{violated}"{where}')
    under = rows(
        views,
        f"SELECT DISTINCT topic, partition FROM {LED_AT_END} WHERE {own}"
        f" AND availability IN {UNDER_REPLICATED_STATES!r} ORDER BY 1, 2",
    )
    if under:
        text = f"under-replicated at the end of the logs: {listed(map(name_of, under))}"
        yield CheckFinding(WARNING, cluster, "under_replicated", text, count=len(under))
    yield from _silences(spans, last, cluster, limits)
    registered = [row["broker"] for row in rows(views, f"FROM ({REGISTERED_BROKERS}) WHERE {own}")]
    if without := unlogged_brokers(spans, registered):
        which = f"{'broker' if len(without) == 1 else 'brokers'} {listed(map(str, without))}"
        text = f"no log of {which} of cluster {cluster} is there"
        yield CheckFinding(WARNING, cluster, "silent", text, count=len(without))
    for text, reason in open_questions(summary):
        yield CheckFinding(WARNING, cluster, "unknown", f"{text} {reason}")


def _outages(group: OutageGroup, cluster: str, where: str) -> Iterator[CheckFinding]:
    """Open ones are critical; those that ended since, but for deletions, are a warning."""
    names = list(dict.fromkeys(map(name_of, group.outages)))
    worst = group.worst
    cause = cause_text(worst)
    because = f", {cause}" if cause else ""
    # without a time it tells of the outage that is open, else of the partition's longest
    moment = "" if group.is_open else f" --at {iso(worst['since'])}"
    look = f"kafka-rewind why {shlex.quote(name_of(worst))}{moment}{where}"
    if group.is_open:
        verb = "has" if len(names) == 1 else "have"
        text = f"{listed(names)} {verb} had no leader since {date_time(group.since)} UTC{because}"
        yield CheckFinding(CRITICAL, cluster, "offline", text, look, len(names))
    elif not group.is_deletion:
        text = f"{listed(names)} had no leader for {group_length(group)} from {date_time(group.since)} UTC{because}"
        yield CheckFinding(WARNING, cluster, "outage", text, look, len(group.outages))


def _waiting(waits: Sequence[Row], count: int, cluster: str, where: str) -> CheckFinding:
    """New partitions that have no leader yet; `waits` names some of them, those that have waited longest first."""
    first = waits[0]
    names = first_of([*map(name_of, waits)], count)
    verb = "waits for its first leader" if count == 1 else "wait for their first leader"
    text = f"{names} {verb}: elections have failed since {date_time(first['since'])} UTC"
    look = f"kafka-rewind why {shlex.quote(name_of(first))}{where}"
    return CheckFinding(WARNING, cluster, "waiting", text, look, count)


def _silences(
    spans: Sequence[CoverageSpan], last: datetime, cluster: str, limits: CheckLimits
) -> Iterator[CheckFinding]:
    """Nodes whose logs stopped coming, and a cluster of which none came lately."""
    ends: dict[int, datetime] = {}
    for span in spans:
        if span.node_id is not None:
            ends[span.node_id] = max(ends.get(span.node_id, span.until), span.until)
    for node, end in sorted(ends.items()):
        if last - end > SILENT:
            text = f"node {node} of cluster {cluster} has sent no log since {date_time(end)} UTC"
            yield CheckFinding(WARNING, cluster, "silent", text)
    if limits.max_age is not None:
        age = datetime.now(UTC).replace(tzinfo=None) - last
        if age > limits.max_age:
            old = duration(int(age.total_seconds() * 1000))
            text = f"the last record of cluster {cluster} is {old} old ({date_time(last)} UTC)"
            yield CheckFinding(CRITICAL, cluster, "stale", text)


def unknown_line(reason: str, form: str) -> str:
    """What a monitor sees if nothing can be said."""
    if form == "json":
        return json.dumps({"status": "UNKNOWN", "code": UNKNOWN, "error": reason})
    return f"UNKNOWN: {printable(reason)}"
