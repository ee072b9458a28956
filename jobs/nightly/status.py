"""How clusters stand, in one word and one line: what is wrong now, and what went wrong since the last run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.nightly.summary_facts import ClusterSummary
from jobs.nightly.unknown_zeros import OUTAGES, UNCLEAN, untold_text
from jobs.nightly.wording import date_time, plural

OK, WARNING, CRITICAL, UNKNOWN = 0, 1, 2, 3
"""Severities, and exit codes of `check`, as monitoring plugins have them."""
WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")


@dataclass(frozen=True)
class Status:
    """How a cluster stands: the worst severity, and what is wrong, the worst first."""

    severity: int
    reasons: tuple[str, ...]


def status_of(summary: ClusterSummary) -> Status:
    """CRITICAL: a partition has no leader, or a new election was unclean. WARNING: anything else that is new and wrong,
    that is wrong still, or that the logs cannot tell."""
    ended = (summary.new_outages or 0) - summary.open_outages
    stuck = (summary.reassignments or {}).get("stuck", 0)
    waiting_words = ("new partition without its first leader", "new partitions without their first leader")
    open_words = ("partition without a leader", "partitions without a leader")
    reasons = [
        (CRITICAL, summary.open_outages, open_words),
        (CRITICAL, summary.new_unclean, ("unclean election", "unclean elections")),
        (WARNING, summary.waiting_partitions, waiting_words),
        (WARNING, ended, ("ended outage", "ended outages")),
        (WARNING, summary.new_violations, ("violation of Kafka's rules", "violations of Kafka's rules")),
        (WARNING, summary.under_replicated, ("under-replicated partition", "under-replicated partitions")),
        (WARNING, stuck, ("stuck reassignment", "stuck reassignments")),
    ]
    present = [(severity, f"{count:,} {words[count != 1]}") for severity, count, words in reasons if count]
    present += [(WARNING, f"{text} cannot be told") for text, _ in open_questions(summary)]
    return Status(max((severity for severity, _ in present), default=OK), tuple(text for _, text in present))


def open_questions(summary: ClusterSummary) -> list[tuple[str, str]]:
    """What must not be taken for a zero: what nobody can tell, and why: `("whether there were more outages", "cannot be
    told from these logs: ...")`."""
    counts = {OUTAGES: summary.new_outages, UNCLEAN: summary.new_unclean}
    return [
        (untold_text(fact, count), summary.cannot_be_told[fact])
        for fact, count in counts.items()
        if fact in summary.cannot_be_told
    ]


def status_line(summaries: Sequence[ClusterSummary]) -> str:
    """`CRITICAL: 3 unclean elections, 24 ended outages`; of several clusters each that is not OK, the worst first."""
    statuses = sorted(((summary, status_of(summary)) for summary in summaries), key=lambda pair: -pair[1].severity)
    wrong = [(summary, status) for summary, status in statuses if status.reasons]
    word = WORDS[max((status.severity for _, status in statuses), default=OK)]
    if not wrong:
        return f"{word}: {_nothing_wrong(summaries)}"
    texts = [
        f"{summary.cluster}: {', '.join(status.reasons)}" if len(summaries) > 1 else ", ".join(status.reasons)
        for summary, status in wrong
    ]
    return f"{word}: {'; '.join(texts)}"


def _nothing_wrong(summaries: Sequence[ClusterSummary]) -> str:
    """What nothing is wrong with, and since when that is looked at."""
    known = [summary.known_until for summary in summaries if summary.known_until]
    since = f", and nothing went wrong since {date_time(min(known))}" if len(known) == len(summaries) and known else ""
    return f"nothing is wrong in {plural(len(summaries), 'cluster')}{since}"


def is_there(summaries: Sequence[ClusterSummary], kind: str) -> bool:
    """Whether there is any of what `nightly --fail-on` names that is open, or new since the last run; an incident that
    was planned is none."""
    numbers = {
        "incidents": lambda summary: sum(n for name, n in summary.incident_counts.items() if name != "info"),
        "unclean": lambda summary: summary.new_unclean,
        "offline": lambda summary: summary.new_outages,
        "violated": lambda summary: summary.new_violations,
    }
    return any(numbers[kind](summary) for summary in summaries)
