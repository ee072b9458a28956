"""`availability`: what part of the time partitions had a leader, by topic, as bounds."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.answers.listing import Listing, in_columns
from jobs.answers.opened import OpenedCluster
from jobs.answers.outages import MISSING_FACTS_TABLES, missing_facts
from jobs.answers.words import span_text
from jobs.nightly.summary_facts import IS_DELETION, Row
from jobs.nightly.unknown_zeros import OUTAGES, cannot_be_told
from jobs.nightly.wording import duration, plural
from jobs.nightly.words import listed
from jobs.read.create_views import time_literal
from schemas.kafka_values import IS_MIN_ISR_OF_NODES, IS_MIN_ISR_OF_TOPIC, UNDER_REPLICATED_STATES

AVAILABILITY_TABLES = ("partition_timeline", "offline_partitions", "config_changes", *MISSING_FACTS_TABLES)


def availability_answer(opened: OpenedCluster) -> Listing:
    """Topics, the worst first. Time of a partition counts from its first state to its deletion or the end of the logs.

    The time in which it waits without a leader for its topic to be deleted counts neither as time nor as lost. Where
    the logs cannot tell all outages only one bound of each is known, the other one is None.
    """
    topics = opened.rows(_query(opened))
    for row in topics:
        row["availability_at_least"] = _part(
            row["known_ms"] - row["deletion_wait_at_most_ms"], row["leaderless_at_most_ms"]
        )
        row["availability_at_most"] = _part(
            row["known_ms"] - row["deletion_wait_at_least_ms"], row["leaderless_at_least_ms"]
        )
    topics.sort(key=lambda r: (r["availability_at_most"], r["availability_at_least"], r["topic"]))
    missing = missing_facts(opened)
    unknown = []
    if OUTAGES in missing:
        unknown.append(f"Whether there were more outages {cannot_be_told(missing[OUTAGES])}.")
        for row in topics:
            row["availability_at_least"] = row["leaderless_at_most_ms"] = None
    if any(row["under_min_isr_ms"] is None for row in topics):
        unknown.append("Time below min.insync.replicas, of topics of which no line and no setting names it.")
    if partly := [row["topic"] for row in topics if row["unknown_state_ms"]]:
        unknown.append(
            f"Whether replicas were out of sync in some states of {listed(partly)}, whose assignment or ISR no line "
            "names: their under-replicated time is a lower bound."
        )
    cells = [
        [
            row["topic"], row["partitions"], _percents(row), duration(row["leaderless_at_least_ms"]), row["outages"],
            "-" if row["under_min_isr_ms"] is None else duration(row["under_min_isr_ms"]),
            duration(row["under_replicated_ms"]),
        ]
        for row in topics
    ]  # fmt: skip
    head = ["topic", "partitions", "available", "without leader", "outages", "under min ISR", "under-replicated"]
    lines = [*in_columns(head, cells, (1, 2, 3, 4, 5, 6)), *_left_out(topics)]
    return Listing(opened.cluster, _sentence(opened, topics, OUTAGES in missing), lines, unknown, {"topics": topics})


def _left_out(topics: Sequence[Row]) -> list[str]:
    """A sentence about the time that counts neither as time nor as lost, if there is any."""
    waits = [(row["topic"], row["deletion_wait_at_most_ms"]) for row in topics if row["deletion_wait_at_most_ms"]]
    if not waits:
        return []
    total = duration(sum(wait for _, wait in waits))
    return [
        "",
        f"Left out: {total} in which partitions waited for their topic's deletion, of {listed(t for t, _ in waits)}.",
    ]


def _query(opened: OpenedCluster) -> str:
    """By topic the partitions' known time and how long they were in which state, ms."""
    end = time_literal(opened.last)
    length = f"epoch_ms(coalesce(until, greatest({end}, since))) - epoch_ms(since)"
    of_state = "sum(ms) FILTER (WHERE availability = '{}')::BIGINT"
    default = f"(SELECT count(DISTINCT value) FROM config_changes WHERE {IS_MIN_ISR_OF_NODES}) = 1"
    by_lines = f"FROM config_changes WHERE {IS_MIN_ISR_OF_TOPIC} AND (value IS NOT NULL OR {default})"
    is_set = f" OR topic IN (SELECT topic {by_lines})" if opened.has("config_changes") else ""
    return f"""
        WITH states AS (SELECT *, {length} AS ms FROM partition_timeline),
        topics AS (
            SELECT topic, count(DISTINCT partition) AS partitions, sum(ms)::BIGINT AS known_ms,
                CASE WHEN bool_or(availability IN ('AtMinIsr', 'UnderMinIsr')){is_set}
                    THEN coalesce({of_state.format("UnderMinIsr")}, 0) END AS under_min_isr_ms,
                coalesce(sum(ms) FILTER (WHERE availability IN {UNDER_REPLICATED_STATES!r}), 0)
                    ::BIGINT AS under_replicated_ms,
                coalesce(sum(ms) FILTER (WHERE availability IS NULL), 0)::BIGINT AS unknown_state_ms
            FROM states GROUP BY topic
        ),
        lengths AS (
            SELECT *, {IS_DELETION} AS is_deletion, coalesce(at_most_ms, epoch_ms(coalesce(ended_before, {end}))
                - epoch_ms(coalesce(began_after, since)), at_least_ms) AS most_ms
            FROM offline_partitions
        ),
        lost AS (
            SELECT topic, count_if(NOT is_deletion) AS outages,
                sum(at_least_ms) FILTER (NOT is_deletion)::BIGINT AS least,
                sum(most_ms) FILTER (NOT is_deletion)::BIGINT AS most,
                sum(at_least_ms) FILTER (is_deletion)::BIGINT AS wait_least,
                sum(most_ms) FILTER (is_deletion)::BIGINT AS wait_most
            FROM lengths GROUP BY topic
        )
        SELECT topics.topic, partitions, known_ms, coalesce(outages, 0) AS outages,
            coalesce(least, 0) AS leaderless_at_least_ms, greatest(coalesce(most, 0), coalesce(least, 0))
                AS leaderless_at_most_ms, coalesce(wait_least, 0) AS deletion_wait_at_least_ms,
            greatest(coalesce(wait_most, 0), coalesce(wait_least, 0)) AS deletion_wait_at_most_ms,
            under_min_isr_ms, under_replicated_ms, unknown_state_ms
        FROM topics LEFT JOIN lost ON lost.topic = topics.topic"""


def _part(known_ms: int, lost_ms: int) -> float:
    """The part of the known time that was not lost, 0 to 1; not rounded, so that 1 is all of it."""
    return max(0.0, 1 - lost_ms / known_ms) if known_ms > 0 else 1.0


def _percents(row: Row) -> str:
    """`99.31 %`, or bounds; never rounded up to 100."""
    most = _percent(row["availability_at_most"])
    if row["availability_at_least"] is None:
        return f"at most {most} %"
    least = _percent(row["availability_at_least"])
    return f"{most} %" if least == most else f"{least} to {most} %"


def _percent(part: float) -> str:
    text = f"{100 * part:.3f}"
    return "99.999" if text == "100.000" and part < 1 else text


def _sentence(opened: OpenedCluster, topics: Sequence[Row], is_unknown: bool) -> str:
    span = span_text(opened.first, opened.last)
    if not topics:
        return f"No partition is in the logs {span}."
    lost = [row for row in topics if row["outages"]]
    if not lost and is_unknown:
        return f"Whether a partition was without a leader {span} cannot be told from these logs."
    if not lost:
        which = "The only topic" if len(topics) == 1 else f"All {plural(len(topics), 'topic')}"
        return f"{which} had leaders {span}, as far as the logs go."
    worst = lost[0]
    lost_time = f"{'at least ' if is_unknown else ''}{duration(worst['leaderless_at_least_ms'])}"
    return (
        f"{plural(len(lost), 'topic')} of {len(topics):,} had partitions without a leader {span}, the worst of them "
        f"{worst['topic']}: available {_percents(worst)}, {lost_time} of partition time lost."
    )
