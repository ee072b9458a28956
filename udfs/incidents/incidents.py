"""One incident from its facts: what it was, how bad, since when and until when, what ended it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from udfs.incidents.node_stops import CRASHED, HALTED, LOG_DIR_FAILED, SHUT_DOWN, START_FAILED, lost_session
from udfs.incidents.stories import story_of
from udfs.incidents.symptoms import AT_ONCE_MS, Fact, Symptoms, count_of, symptoms_of
from udfs.incidents.titles import title_of
from udfs.incidents.wording import at_text

SHORTEST_DELETION_MS = 5000
"""A deletion that leaves partitions without a leader for less is no incident."""
MOST_EVIDENCE = 24
Incident = dict[str, Any]


def incidents_of(facts: Iterable[Fact]) -> Iterator[Incident]:
    """Facts in order of cluster, incident and time -> rows of INCIDENTS."""
    for (cluster, _), of_one in groupby(facts, key=lambda fact: (fact["cluster"], fact["incident"])):
        incident = incident_of(symptoms_of(cluster, of_one))
        if incident is not None:
            yield incident


def incident_of(symptoms: Symptoms) -> Incident | None:
    """The row of one incident; None if what happened is none."""
    cause, since = root_cause(symptoms), begin(symptoms)
    if since is None or is_none(symptoms):
        return None
    node = root_node(symptoms)
    steps, story, evidence = story_of(symptoms, cause, since)
    healed = symptoms.longest or {}
    digits = "".join(char for char in at_text(since) if char.isdigit())
    name = symptoms.deletion["topic"] if symptoms.deletion is not None else node
    return {
        "cluster": symptoms.cluster,
        "incident_id": "-".join(
            str(part) for part in (cause or "unknown", name, f"{digits[:8]}T{digits[8:]}") if part is not None
        ),
        "severity": severity(symptoms, cause),
        "title": title_of(symptoms, cause, since),
        "since": since,
        "began_after": began_after(symptoms, since),
        "until": end(symptoms),
        "root_cause": cause,
        "root_broker": node,
        "topics_affected": len(symptoms.topics),
        "partitions_affected": len(symptoms.partitions),
        "leaderless_partition_minutes": symptoms.outages.ms / 60_000,
        "out_of_isr": count_of(symptoms.out_of_isr),
        "elections_failed": symptoms.elections_failed,
        "unclean_elections": len(symptoms.unclean),
        "lost_records_min": symptoms.lost_min,
        "lost_records_max": symptoms.lost_max if symptoms.lost_is_bounded else None,
        "reassignments_blocked": len(symptoms.reassignments),
        "healed_by": healed.get("healed_by"),
        "healed_by_broker": healed.get("healed_by_broker"),
        "steps": steps,
        "story": story,
        "evidence": evidence[:MOST_EVIDENCE],
    }


def is_none(symptoms: Symptoms) -> bool:
    """Whether it is no incident: a deletion that went at once, a moment that no cause is known of."""
    if symptoms.deletion is not None:
        return symptoms.longest_ms < SHORTEST_DELETION_MS
    is_outage_only = not (symptoms.stop or symptoms.log_dirs or symptoms.terms or symptoms.unclean or symptoms.storm)
    most_ms = symptoms.outages.most_ms
    return is_outage_only and not symptoms.reassignments and most_ms is not None and most_ms < AT_ONCE_MS


def root_cause(symptoms: Symptoms) -> str | None:
    """The cause, as INCIDENTS names it; None if it is unknown."""
    stop = symptoms.stop
    if symptoms.deletion is not None:
        return "topic_deletion"
    if symptoms.storm is not None:
        return "isr_shrink_storm"
    if symptoms.log_dirs:
        return "log_dir_failure"
    if stop is not None:
        role, how = stop["role"], stop["how"]
        if how == SHUT_DOWN:
            return "controlled_shutdown" if role == "broker" else "controller_shutdown"
        if how == CRASHED:
            return f"{role}_crash"
        if how in (HALTED, LOG_DIR_FAILED):
            return "broker_halted" if how == HALTED else "log_dir_failure"
        if how == START_FAILED:
            return START_FAILED
        return lost_session(how, stop["ended_by"])
    if symptoms.terms:
        return "controller_changed"
    if symptoms.longest is None and symptoms.unclean:
        return "unclean_election"
    return "reassignment_stuck" if symptoms.reassignments and symptoms.longest is None else None


def root_node(symptoms: Symptoms) -> int | None:
    """The node that it began with."""
    firsts = (symptoms.log_dirs, symptoms.terms, symptoms.reassignments, symptoms.unclean)
    for fact in (symptoms.stop, symptoms.storm, *(fact for facts in firsts for fact in facts[:1])):
        if fact is not None:
            node: int | None = fact["node"]
            return node
    return None


def begin(symptoms: Symptoms) -> int | None:
    """When it surely had begun: a halt with the failure of a directory, a controller's crash that the next start shows
    when another took over."""
    stop = symptoms.stop
    if stop is not None:
        after = stop["began_after"] or stop["at"]
        ends: list[int] = [
            term["at"] for term in symptoms.terms if stop["how"] == CRASHED and after <= term["at"] <= stop["at"]
        ]
        ends += [fact["at"] for fact in (stop, *symptoms.log_dirs)]
        return min(ends)
    roots = (*symptoms.log_dirs, *symptoms.terms, *symptoms.unclean, *symptoms.reassignments)
    times: list[int] = [fact["at"] for fact in roots]
    times += [fact["at"] for fact in (symptoms.deletion, symptoms.first, symptoms.storm) if fact is not None]
    return min(times, default=None)


def began_after(symptoms: Symptoms, since: int) -> int | None:
    """The last line of the node before it went without a word."""
    stop = symptoms.stop
    is_exact = stop is None or stop["how"] in (SHUT_DOWN, HALTED, LOG_DIR_FAILED, START_FAILED)
    if is_exact or stop is None or stop["began_after"] is None:
        return None
    last_line: int = stop["began_after"]
    return min(last_line, since)


def end(symptoms: Symptoms) -> int | None:
    """When the node was back, or its next stop began, and all partitions had leaders; None if that is not so."""
    stop = symptoms.stop
    stop_over = None if stop is None else stop["until"] or stop["followed_at"]
    if symptoms.open_outages or (stop is not None and stop_over is None):
        return None
    storms = [symptoms.storm] if symptoms.storm is not None else []
    if any(fact["until"] is None for fact in (*symptoms.log_dirs, *symptoms.reassignments, *storms)):
        return None
    roots = [*symptoms.log_dirs, *symptoms.reassignments, *symptoms.terms, *symptoms.unclean, *storms]
    times: list[int] = [fact["until"] or fact["at"] for fact in roots]
    return max([*times, stop_over or 0, symptoms.outages_until or 0, symptoms.deleted_after or 0]) or None


def severity(symptoms: Symptoms, cause: str | None) -> str:
    """How bad it was: `critical`, `major`, `minor` or `info`."""
    is_planned = cause in ("controlled_shutdown", "controller_shutdown", "topic_deletion")
    if symptoms.unclean or (symptoms.open_outages and not is_planned):
        return "critical"
    is_long = symptoms.longest_ms >= AT_ONCE_MS or symptoms.open_outages > 0
    if is_planned:
        return "minor" if is_long and cause != "topic_deletion" else "info"
    return "major" if is_long else "minor"
