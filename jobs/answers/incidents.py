"""`incidents`: what went wrong, each thing once, with what it hit, in the words of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jobs.answers.listing import Listing
from jobs.answers.opened import OpenedCluster
from jobs.answers.outages import OUTAGE_TABLES, OutageGroup, group_lines, missing_facts, outage_groups, untold_outages
from jobs.answers.story import wrapped
from jobs.answers.words import span_text
from jobs.nightly.published_summary import LED_AT_END, WORST_INCIDENTS
from jobs.nightly.summary_facts import Row
from jobs.nightly.wording import date_time, plural
from jobs.nightly.words import single_point_text

INCIDENT_TABLES = (*OUTAGE_TABLES, "incidents", "partition_timeline")


def incidents_answer(opened: OpenedCluster, *, all_rows: bool) -> Listing:
    """All incidents, the worst first; of severity info only with `all_rows`.

    Where a warehouse lacks the table, outages of one cause that began together stand for them.
    """
    unknown = untold_outages(missing_facts(opened), opened.rows("SELECT count(*) AS n FROM offline_partitions")[0]["n"])
    if not opened.has("incidents"):
        return _from_outages(opened, unknown)
    incidents = opened.table("incidents", order=WORST_INCIDENTS)
    shown = [row for row in incidents if all_rows or row["severity"] != "info"]
    alone = single_points(opened)
    lines = [line for row in shown for line in incident_lines(opened, row)]
    lines += [
        f"When the logs end {single_point_text(row['broker'], len(row['partitions']), row['partitions'][:8])}"
        for row in alone
    ]
    data = {"incidents": [incident_data(opened, row) for row in incidents], "single_points": alone}
    return Listing(opened.cluster, _sentence(opened, incidents, shown), lines, unknown, data)


def single_points(opened: OpenedCluster) -> list[dict[str, Any]]:
    """By broker the partitions that it alone has in sync at the end of the logs, of several replicas; most first.

    Rows with `broker`, `partitions`: `topic-3`, sorted. They have no leader as soon as that broker is gone.
    """
    if not opened.has("partition_timeline"):
        return []
    return opened.rows(
        f"""SELECT leader AS broker, list(concat(topic, '-', partition) ORDER BY topic, partition) AS partitions
        FROM {LED_AT_END} WHERE len(isr) = 1 AND len(replicas) > 1
        GROUP BY leader ORDER BY len(partitions) DESC, leader"""
    )


def _sentence(opened: OpenedCluster, incidents: list[dict[str, object]], shown: list[dict[str, object]]) -> str:
    span = span_text(opened.first, opened.last)
    info = len(incidents) - len(shown)
    planned = f"; {plural(info, 'planned one')} not listed, --all lists them" if info else ""
    if not shown:
        return f"No incident {span}{planned}."
    counts = {row["severity"]: sum(other["severity"] == row["severity"] for other in shown) for row in shown}
    still = sum(row["until"] is None for row in shown)
    goes_on = f", {still:,} not over at the end of the logs" if still else ""
    by_severity = ", ".join(f"{count:,} {severity}" for severity, count in counts.items())
    return f"{plural(len(shown), 'incident')} {span} ({by_severity}){goes_on}{planned}."


def incident_lines(opened: OpenedCluster, row: Row) -> Iterator[str]:
    """An incident: its title, when, its story, and the lines that it names, each behind its number."""
    yield f"{str(row['severity']).upper()}  {row['title']}"
    is_moment = row["since"] == row["until"]
    yield f"    at {date_time(row['since'])} UTC" if is_moment else f"    {span_text(row['since'], row['until'])}"
    yield from (f"    {text}" for text in wrapped(row["story"] or "", 96))
    proofs = [opened.names.line(line) for line in row["evidence"] or ()]
    yield from (f"    {text}" for text in numbered_lines(proofs, 96))
    yield ""


def numbered_lines(proofs: Sequence[str], width: int) -> Iterator[str]:
    """Places of lines as a story numbers them, from 1, as many to a row as fit; a longer one has its own row.

    >>> list(numbered_lines(["a.log:1", "b.log:2", "c.log:3"], 32))
    ['lines: [1] a.log:1, [2] b.log:2,', '       [3] c.log:3']
    """
    row = "lines:"
    for number, proof in enumerate(proofs, 1):
        entry = f"[{number}] {proof}{',' if number < len(proofs) else ''}"
        if len(row) + 1 + len(entry) > width and row != "lines:":
            yield row
            row = " " * len("lines:")
        row += f" {entry}"
    if proofs:
        yield row


def incident_data(opened: OpenedCluster, row: Row) -> dict[str, object]:
    """A row of INCIDENTS for programs, lines as `path:line`."""
    values = {name: value for name, value in row.items() if name not in ("evidence", "cluster", "steps")}
    steps = [
        {"at": step["at"], "what": step["what"], "line": opened.names.line(step) if step["file_id"] else None}
        for step in row.get("steps") or ()
    ]
    return {**values, "steps": steps, "lines": [opened.names.line(line) for line in row["evidence"] or ()]}


def _from_outages(opened: OpenedCluster, unknown: list[str]) -> Listing:
    """Outages of one cause that began together, in place of incidents."""
    groups = [group for group in outage_groups(opened.table("offline_partitions")) if not group.is_deletion]
    lines = [line for group in groups for line in group_lines(opened, group, all_rows=False)]
    unknown = [
        "Incidents in which no partition lost its leader: this warehouse has no table incidents (the next night writes "
        "it); these are outages of one cause.",
        *unknown,
    ]
    span = span_text(opened.first, opened.last)
    sentence = f"{plural(len(groups), 'incident')} {span}, by outages." if groups else f"No outage {span}."
    return Listing(opened.cluster, sentence, lines, unknown, {"incidents": [_group_data(group) for group in groups]})


def _group_data(group: OutageGroup) -> dict[str, object]:
    worst, ends = group.worst, [row["until"] or row["ended_before"] for row in group.outages]
    return {
        "since": group.since,
        "until": None if group.is_open else max(filter(None, ends), default=None),
        "root_cause": worst["cause"],
        "root_broker": worst["cause_broker"],
        "partitions_affected": len(group.outages),
        "healed_by": worst["healed_by"],
    }
