"""What went wrong, in words: the first sentences of a cluster's summary, its incidents, outages and elections."""

from __future__ import annotations

from collections.abc import Mapping

from jobs.nightly.summary_facts import MOST, ClusterSummary, Row
from jobs.nightly.unknown_zeros import INCIDENTS, ISR_CHANGES, OUTAGES, REASSIGNMENTS, UNCLEAN, untold_text
from jobs.nightly.wording import Names, duration, ids, labelled, outage_length, plural
from jobs.nightly.words import cause_text, first_of, healer_text, listed, lost_text, name_of, single_point_text
from schemas.incidents import SEVERITIES


# ---- the first sentences --------------------------------------------------------------------------------------------
def first_sentences(summary: ClusterSummary, names: Names) -> list[str]:
    """How the cluster stands now, what happened, and whether records were lost."""
    return [_leaders_now(summary), _what_happened(summary, names), _what_was_lost(summary)]


def _leaders_now(summary: ClusterSummary) -> str:
    """Which partitions have no leader at the end of the logs."""
    besides = _besides(summary)
    without = [row for row in summary.outages if row["ended_before"] is None]
    if without:
        verb = "has" if summary.open_outages == 1 else "have"
        which = first_of([*map(name_of, without)], summary.open_outages)
        partitions = plural(summary.open_outages, "partition")
        have = f"{verb} no leader at the end of the logs"
        return f"{partitions} of {summary.current_partitions:,} {have}: {which}{besides}.{_why_shut_down(summary)}"
    if OUTAGES in summary.cannot_be_told:
        return f"Whether partitions are without a leader {summary.cannot_be_told[OUTAGES]}{besides}."
    if not summary.current_partitions:
        return f"No state of a partition is in the logs{besides}."
    if summary.open_deletions:
        led = summary.current_partitions - summary.open_deletions
        have = "has" if led == 1 else "have"
        partitions = plural(summary.current_partitions, "partition")
        return f"{led:,} of {partitions} {have} a leader at the end of the logs{besides}."
    return f"Each of {plural(summary.current_partitions, 'partition')} has a leader at the end of the logs{besides}."


def _besides(summary: ClusterSummary) -> str:
    """Which partitions have no leader and are no outage, and which have one and too few replicas in sync."""
    parts = []
    if count := summary.open_deletions:
        parts.append(f"{count:,} {'waits for its topic' if count == 1 else 'wait for their topic'}'s deletion")
    if count := summary.waiting_partitions:
        waits = "waits for its first leader" if count == 1 else "wait for their first leader"
        names = [*map(name_of, summary.first_leader_waits)]
        parts.append(f"{plural(count, 'new partition')} {waits}: {first_of(names, count)}")
    if summary.under_replicated:
        parts.append(f"{plural(summary.under_replicated, 'partition')} under-replicated")
    return "".join(f"; {part}" for part in parts)


def _why_shut_down(summary: ClusterSummary) -> str:
    """That brokers were shut down, as those of a whole cluster are, where partitions have no leader because of that."""
    if not summary.shut_down:
        return ""
    brokers, were = ("broker", "was") if len(summary.shut_down) == 1 else ("brokers", "were")
    because = f"because {brokers} {ids(summary.shut_down)} {were} shut down."
    if summary.open_outages == 1:
        return f" It lost its leader {because}"
    if summary.open_by_shutdown == 1:
        return f" 1 of them lost its leader {because}"
    which = "All" if summary.open_by_shutdown == summary.open_outages else f"{summary.open_by_shutdown:,}"
    return f" {which} of them lost their leaders {because}"


def _what_happened(summary: ClusterSummary, names: Names) -> str:
    """How many incidents there were, how many older ones are open, and the worst of them."""
    if INCIDENTS in summary.cannot_be_told:
        return f"Whether there were incidents {summary.cannot_be_told[INCIDENTS]}."
    since = f" since the last run ({names.time(summary.known_until)})" if summary.known_until else ""
    new, older = _incidents_by_severity(summary)
    planned = new.pop("info", 0)
    besides = f"; {plural(planned, 'planned one')}" if planned else ""
    still_open = f"; {sum(older.values()):,} from before still open ({_by_severity(older)})" if older else ""
    worst = f" The worst: {summary.incidents[0]['title']}." if summary.incidents else ""
    if not new:
        return f"No incident{since}{besides}{still_open}.{worst if older else ''}"
    return f"{plural(sum(new.values()), 'incident')}{since} ({_by_severity(new)}{besides}){still_open}.{worst}"


def _incidents_by_severity(summary: ClusterSummary) -> tuple[dict[str, int], dict[str, int]]:
    """Numbers of new incidents by severity, the worst first, planned ones last; and of older ones that are open and
    were not planned."""
    older = {name: summary.older_incidents[name] for name in SEVERITIES if summary.older_incidents.get(name)}
    counts = {name: summary.incident_counts.get(name, 0) - older.get(name, 0) for name in SEVERITIES}
    older.pop("info", 0)
    return {name: count for name, count in counts.items() if count}, older


def _by_severity(counts: Mapping[str, int]) -> str:
    """`1 critical, 3 minor`."""
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def _what_was_lost(summary: ClusterSummary) -> str:
    """Whether unclean elections lost records."""
    if summary.new_unclean:
        least, most = summary.lost_to_others
        subject = plural(summary.new_unclean, "unclean election")
        if summary.new_led_on == summary.new_unclean:
            return f"{subject}, in which the last leader itself led on: records are lost only if its disk lost them."
        led_on = f"; in {summary.new_led_on:,} of them the last leader itself led on" if summary.new_led_on else ""
        if most is None and not least:
            return f"{subject}: how many records were lost is not known{led_on}."
        lost = lost_text({"lost_records_min": least, "lost_records_max": most}).removeprefix("it ")
        return f"{subject} {lost}{led_on}."
    if UNCLEAN in summary.cannot_be_told:
        return f"Whether records were lost by unclean elections {summary.cannot_be_told[UNCLEAN]}."
    return f"No{' new' if summary.known_until else ''} unclean election, so none lost records."


# ---- the sections ---------------------------------------------------------------------------------------------------
def finding_lines(summary: ClusterSummary, names: Names) -> list[str]:
    """Outages that are open, incidents, outages that are over, unclean elections; then what is no alarm."""
    reassigned = ", ".join(f"{count:,} {state}" for state, count in sorted((summary.reassignments or {}).items()))
    without = [row for row in summary.outages if row["ended_before"] is None]
    ended = [row for row in summary.outages if row["ended_before"] is not None]
    return [
        *labelled(
            "offline now",
            [_open_text(summary)] if without else [],
            [_outage(row, names) for row in without],
        ),
        *labelled("single point", *_single_points(summary)),
        *labelled("incidents", [_incidents_text(summary)], [_incident(row, names) for row in summary.incidents]),
        *labelled("outages", [_outages_text(summary)], [_outage(row, names) for row in ended]),
        *labelled("deletions", [_deletions_text(summary)] if summary.deletion_outages else []),
        *labelled(
            "unclean", [_unclean_text(summary)], [_unclean_election(row, names) for row in summary.unclean_elections]
        ),
        *labelled("elections", _election_sentences(summary)),
        *labelled("ISR", [_churn_text(summary, names)]),
        *labelled("reassigned", [reassigned or _none_of(summary, REASSIGNMENTS, "none")]),
    ]


def _open_text(summary: ClusterSummary) -> str:
    listed = "" if summary.open_outages <= MOST else f", the {MOST} that have been longest"
    return f"{plural(summary.open_outages, 'partition')} without a leader when the logs end{listed}:"


def _single_points(summary: ClusterSummary) -> tuple[list[str], list[str]]:
    """Which partitions have no leader as soon as one more broker is lost, by broker; two lists for `labelled`."""
    alone = [row for row in summary.single_points if row["alone"]]
    unreplicated = [row for row in summary.single_points if row["unreplicated"]]
    sentences = [single_point_text(row["broker"], row["alone"], row["names"]) for row in alone[:MOST]]
    if rest := sum(row["alone"] for row in alone[MOST:]):
        sentences.append(
            f"{plural(rest, 'more partition')} on one of {plural(len(alone) - MOST, 'other broker')} alone"
        )
    if unreplicated:
        by_broker = listed(f"{row['unreplicated']:,} on broker {row['broker']}" for row in unreplicated)
        total = sum(row["unreplicated"] for row in unreplicated)
        sentences.append(
            f"{plural(total, 'partition')} {'has' if total == 1 else 'have'} one replica only: {by_broker}"
        )
    return sentences, []


def _incidents_text(summary: ClusterSummary) -> str:
    new, older = _incidents_by_severity(summary)
    new.pop("info", None)
    count, older_count = sum(new.values()), sum(older.values())
    parts = [f"{count:,}{' new' if summary.known_until else ''}"] if count else []
    parts += [f"{older_count:,} from before still open"] if older_count else []
    if not parts:
        return f"none{' since the last run' if summary.known_until else ''}"
    return f"{', '.join(parts)}, {'the worst first' if count + older_count <= MOST else f'the {MOST} worst'}:"


def _incident(row: Row, names: Names) -> str:
    return f"{row['severity'].upper():<8} {names.time(row['since'])}  {row['title']} ({names.proof(row)})"


def _deletions_text(summary: ClusterSummary) -> str:
    return f"{plural(summary.deletion_outages, 'partition')} waited without a leader for a topic to be deleted"


def _unclean_text(summary: ClusterSummary) -> str:
    older = (summary.elections.get("unclean") or 0) - summary.new_unclean
    besides = f"; {older:,} before it" if older else ""
    if summary.new_unclean:
        first = f", the {MOST} that lost most" if summary.new_unclean > MOST else ""
        return f"{plural(summary.new_unclean, 'unclean election')}{besides}{first}:"
    none = "none since the last run" if summary.known_until else "no unclean elections"
    return f"{_none_of(summary, UNCLEAN, none)}{besides}"


def _none_of(summary: ClusterSummary, fact: str, none: str) -> str:
    """That there is none; or, where the logs cannot tell, so."""
    return summary.cannot_be_told.get(fact, none)


def _election_sentences(summary: ClusterSummary) -> list[str]:
    """`12 succeeded, 1 failed, 0 unclean`, and of what of it the logs cannot tell all, why."""

    def words(name: str) -> str:
        count = summary.elections.get(name, 0)
        known = f"{count:,} {name}" if count is not None else f"unknown how many {name}"
        return f"at least {known}" if count and f"elections.{name}" in summary.cannot_be_told else known

    names = ("succeeded", "failed", "unclean")
    reasons = dict.fromkeys(
        summary.cannot_be_told[f"elections.{name}"] for name in names if f"elections.{name}" in summary.cannot_be_told
    )
    return [", ".join(map(words, names)), *(f"more {reason}" for reason in reasons)]


def _outages_text(summary: ClusterSummary) -> str:
    """How many times without a leader are over; or, where the logs cannot tell, so."""
    reason = summary.cannot_be_told.get(OUTAGES)
    ended = summary.new_outages - summary.open_outages
    older = (summary.outage_count or 0) - summary.new_outages
    besides = f"; {older:,} before it" if older else ""
    if not ended:
        if reason:
            return f"{untold_text(OUTAGES, summary.open_outages)} {reason}"
        if summary.known_until:
            return f"{'no others' if summary.open_outages else 'none'} since the last run{besides}"
        apart = ", deletions apart" if summary.deletion_outages else ""
        gaps = " while logs are there (see missing)" if summary.missing_logs else ""
        return f"no {'other ' if summary.open_outages else ''}partition was without a leader{apart}{gaps}"
    rest = f"; others {reason}" if reason else ""
    listed = "the longest first" if ended <= MOST else f"the {MOST} longest"
    return f"{ended:,} that ended{besides}{rest}, {listed}:"


def _outage(row: Row, names: Names) -> str:
    """`payments-0 had no leader for 17.8 s from 11:47:34.961: broker 1 crashed; ended by ...`"""
    cause = cause_text(row)
    if cause is None and row["last_leader"] is not None:
        cause = f"it lost its leader {row['last_leader']}"
    if row["ended_before"] is None:
        end = "still offline at the end of the logs"
    elif row["until"] is None:
        end = f"it was over by {names.time(row['ended_before'])}"
    else:
        healer = healer_text(row)
        end = f"ended {f'by {healer} ' if healer else ''}at {names.time(row['until'])}"
    failed = f", after {plural(row['failed_elections'], 'failed election')}" if row["failed_elections"] else ""
    return (
        f"{name_of(row)} had no leader for {outage_length(row)} from {names.time(row['since'])}: "
        f"{cause or 'cause unknown'}; {end}{failed} ({names.proof(row)})"
    )


def _unclean_election(row: Row, names: Names) -> str:
    if row["isr_before"] is None:
        isr = "the ISR before is in no line"
    else:
        isr = f"the ISR was {ids(row['isr_before'])}" if row["isr_before"] else "the ISR was empty"
    return (
        f"{name_of(row)}: broker {row['leader']} became leader at {names.time(row['at'])} "
        f"in leader epoch {row['leader_epoch']}, {isr}; {lost_text(row)} ({names.proof(row)})"
    )


def _churn_text(summary: ClusterSummary, names: Names) -> str:
    if summary.isr_changes is None:
        return summary.cannot_be_told[ISR_CHANGES]
    followers = plural(summary.churning_followers, "follower")
    text = f"{plural(summary.isr_changes, 'replica change')}, {followers} churning"
    if not summary.churn or not summary.churn[0]["flaps"]:
        return text
    worst = summary.churn[0]
    hour = names.time(worst["hour"])[: -len(":00.000")]
    text += f"; worst: broker {worst['follower']} of {name_of(worst)}, "
    text += f"{plural(worst['flaps'], 'flap')} in the hour from {hour}"
    return text if worst["worst_out_ms"] is None else f"{text}, out of sync for up to {duration(worst['worst_out_ms'])}"
