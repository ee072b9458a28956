"""`brokers`: what each broker did to the partitions, the problem child first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from jobs.answers.absences import ABSENCE_TABLES, registrations
from jobs.answers.listing import Listing, in_columns
from jobs.answers.opened import OpenedCluster
from jobs.answers.outages import is_deletion, longest
from jobs.answers.words import ENDS, brokers_in_words, was_or_were
from jobs.nightly.summary_facts import Row
from jobs.nightly.wording import duration, outage_length, plural
from jobs.nightly.words import name_of

BROKER_LIST_TABLES = (
    *ABSENCE_TABLES, "offline_partitions", "isr_changes", "isr_churn", "log_dir_failures", "partition_timeline",
    "reassignments",
)  # fmt: skip
IS_REASSIGNED = """EXISTS (FROM reassignments r
    WHERE (r.topic, r.partition, r.incarnation) = (change.topic, change.partition, change.incarnation)
    AND r.state = 'completed' AND list_contains(r.removing_replicas, change.b)
    AND change."at" BETWEEN r.since AND r.until + INTERVAL 5 SECONDS)"""
"""Of a broker `b` and a change of an ISR, in SQL: a reassignment took the replica away. Nodes' lines of its end are up
to five seconds apart."""


def brokers_answer(opened: OpenedCluster) -> Listing:
    """All brokers: by the time that partitions were without a leader for them, then log directories that failed, then
    absences, then ISRs that they left, but for those that a reassignment took them out of."""
    brokers = _brokers(opened)
    unknown = []
    if not opened.has("broker_timeline") or not any(row["registrations"] for row in brokers):
        unknown.append("When brokers were alive: no controller's log shows it.")
    if not opened.has("log_dir_failures"):
        unknown.append("Failures of log directories: this warehouse has no table log_dir_failures.")
    if blameless := sum(not is_deletion(row) for row in opened.table("offline_partitions", "cause_broker IS NULL")):
        unknown.append(f"Which broker is behind {plural(blameless, 'outage')}: they count for none.")
    rows = [
        [
            row["broker"], row["state"], row["absences"],
            duration(row["away_ms"]) if row["away_ms"] else "-", row["last_reason"] or "-",
            row["outages"], duration(row["leaderless_ms"]) if row["outages"] else "-",
            row["left_isr"], row["flaps"], *([row["log_dir_failures"]] if opened.has("log_dir_failures") else []),
        ]
        for row in brokers
    ]  # fmt: skip
    head = ["broker", "at the end", "absences", "away", "last reason", "outages", "without leader", "left ISR", "flaps"]
    head += ["log dirs"] if opened.has("log_dir_failures") else []
    return Listing(
        opened.cluster, _sentence(brokers), in_columns(head, rows, (2, 3, 5, 6, 7, 8, 9)), unknown, {"brokers": brokers}
    )


def _sentence(brokers: Sequence[Row]) -> str:
    if not brokers:
        return "No broker is in these logs."
    worst = brokers[0]
    parts = []
    if worst["absences"]:
        parts.append(f"away {plural(worst['absences'], 'time')} ({duration(worst['away_ms'])})")
    if worst["outages"]:
        parts.append(
            f"{plural(worst['outages'], 'outage')} because of it, "
            f"{duration(worst['leaderless_ms'])} of partition time, "
            f"the longest of {worst['worst_partition']} for {worst['worst_length']}"
        )
    if worst["log_dir_failures"]:
        parts.append(plural(worst["log_dir_failures"], "failure") + " of its log directories")
    if worst["left_isr"]:
        parts.append(f"out of an ISR {plural(worst['left_isr'], 'time')}")
    if not parts:
        did = "was away, lost a log directory, caused an outage or left an ISR"
        return f"No broker stands out: none of {len(brokers):,} {did} in these logs."
    gone = sorted(row["broker"] for row in brokers if row["state"] == "gone")
    still = f" At the end of the logs {brokers_in_words(gone)} {was_or_were(gone)} gone." if gone else ""
    most = ", by the time that partitions had no leader because of it" if worst["leaderless_ms"] else ""
    return f"The problem child is broker {worst['broker']}{most}: {'; '.join(parts)}.{still}"


def _brokers(opened: OpenedCluster) -> list[dict[str, Any]]:
    """All brokers with their counts, worst first."""
    spans = _by(registrations(opened), "broker")
    outages = _by(opened.table("offline_partitions", "cause_broker IS NOT NULL", "since"), "cause_broker")
    fell_out = f"NOT {IS_REASSIGNED}" if opened.has("reassignments") else "true"
    changes = "(SELECT *, unnest(removed) AS b FROM isr_changes) AS change"
    left = _counts(opened, "isr_changes", f"SELECT b, count(*) AS n FROM {changes} WHERE {fell_out} GROUP BY b")
    flaps = _counts(opened, "isr_churn", "SELECT follower AS b, sum(flaps)::INTEGER AS n FROM isr_churn GROUP BY b")
    dirs = _counts(opened, "log_dir_failures", "SELECT broker AS b, count(*) AS n FROM log_dir_failures GROUP BY b")
    replicas = opened.rows(
        "SELECT DISTINCT b FROM (SELECT unnest(replicas) AS b FROM partition_timeline WHERE replicas IS NOT NULL)"
    )
    ids = sorted({*spans, *outages, *left, *(row["b"] for row in replicas)})
    brokers = [_facts(b, spans.get(b, []), outages.get(b, []), opened.last) for b in ids]
    for row in brokers:
        broker = row["broker"]
        row |= {"left_isr": left.get(broker, 0), "flaps": flaps.get(broker, 0), "log_dir_failures": dirs.get(broker, 0)}
    return sorted(
        brokers,
        key=lambda row: (
            *(
                -row[name]
                for name in ("leaderless_ms", "outages", "log_dir_failures", "away_ms", "absences", "left_isr")
            ),
            row["broker"],
        ),
    )


def _facts(broker: int, spans: Sequence[Row], outages: Sequence[Row], logs_end: datetime) -> dict[str, Any]:
    ended = [row for row in spans if row["until"] is not None]
    away_ms = 0
    for number, row in enumerate(spans):
        if row["until"] is not None:
            back = spans[number + 1]["since"] if number + 1 < len(spans) else logs_end
            away_ms += max(0, int((back - row["until"]).total_seconds() * 1000))
    worst = longest(outages) if outages else None
    last = ended[-1] if ended else None
    return {
        "broker": broker,
        "state": "unknown" if not spans else "alive" if spans[-1]["until"] is None else "gone",
        "registrations": len(spans),
        "absences": len(ended),
        "away_ms": away_ms,
        "last_gone": last["until"] if last else None,
        "last_reason": ENDS.get(last["ended_by"] or "", last["ended_by"]) if last else None,
        "outages": len(outages),
        "partitions": len({name_of(row) for row in outages}),
        "leaderless_ms": sum(row["at_least_ms"] or 0 for row in outages),
        "worst_partition": name_of(worst) if worst else None,
        "worst_ms": worst["at_least_ms"] if worst else None,
        "worst_length": outage_length(worst) if worst else None,
    }


def _by(rows: Sequence[Row], column: str) -> dict[int, list[Row]]:
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return groups


def _counts(opened: OpenedCluster, table: str, query: str) -> dict[int, int]:
    return {row["b"]: row["n"] for row in opened.rows(query)} if opened.has(table) else {}
