"""`outages`: times without a leader, those of one cause together; open ones first, deletions apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.answers.first_leaders import FIRST_LEADER_TABLES, first_leader_waits, wait_data, waits_sentence
from jobs.answers.listing import Listing
from jobs.answers.narrowing import ALL, Narrowing
from jobs.answers.opened import OpenedCluster
from jobs.answers.words import brokers_in_words, span_text, was_or_were
from jobs.nightly.summary_facts import DELETION, Row
from jobs.nightly.unknown_zeros import OUTAGES, cannot_be_told, missing_logs_by_fact, untold_text
from jobs.nightly.wording import date_time, duration, outage_length, plural
from jobs.nightly.words import cause_text, healer_text, listed, name_of

MISSING_FACTS_TABLES = ("control_requests", "controller_timeline")
"""Tables that `missing_facts` reads."""
OUTAGE_TABLES = ("offline_partitions", *MISSING_FACTS_TABLES, *FIRST_LEADER_TABLES)
TOGETHER = timedelta(seconds=5)
"""Partitions that lost their leader with one cause at most so long after each other went down together."""


@dataclass(frozen=True)
class OutageGroup:
    """Outages of one cause that began together, all of them open or none, in the order of their begins."""

    outages: Sequence[Row]

    @property
    def worst(self) -> Row:
        """The longest."""
        return longest(self.outages)

    @property
    def is_open(self) -> bool:
        return is_open(self.outages[0])

    @property
    def is_deletion(self) -> bool:
        """Whether nobody misses these partitions: their topic was deleted."""
        return all(map(is_deletion, self.outages))

    @property
    def since(self) -> datetime:
        since: datetime = self.outages[0]["since"]
        return since

    @property
    def leaderless_ms(self) -> int:
        """Partitions' time without a leader that is sure, added up, ms."""
        return sum(row["at_least_ms"] or 0 for row in self.outages)


def outage_groups(outages: Iterable[Row]) -> list[OutageGroup]:
    """Outages -> groups: open ones first, then those with most time without a leader, ties by their begin."""
    groups: list[list[Row]] = []
    last_of: dict[tuple[object, ...], list[Row]] = {}
    for row in sorted(outages, key=lambda row: (row["since"], row["topic"], row["partition"])):
        key = _cause_key(row)
        group = last_of.get(key)
        if group is None or row["since"] - group[-1]["since"] > TOGETHER:
            groups.append(group := [])
            last_of[key] = group
        group.append(row)
    return sorted(
        map(OutageGroup, groups),
        key=lambda group: (group.is_deletion, not group.is_open, -group.leaderless_ms, group.since),
    )


def _cause_key(row: Row) -> tuple[object, ...]:
    """Outages that share it may have one cause: a topic's deletion, a broker's loss, else the last leader's loss; and
    are all open, or all over."""
    if is_deletion(row):
        return is_open(row), "deletion", row["topic"]
    return is_open(row), row["cause"], row["cause_broker"], row["last_leader"] if row["cause"] is None else None


def longest(outages: Iterable[Row]) -> Row:
    """The outage that surely was the longest, of several the first one, of these by name. There must be one."""
    return min(outages, key=lambda row: (-(row["at_least_ms"] or 0), row["since"], row["topic"], row["partition"]))


def is_open(row: Row) -> bool:
    """Whether a partition is without a leader when the logs end; nobody knows that of one whose topic is deleted."""
    return row["ended_before"] is None and row["healed_by"] is None


def is_deletion(row: Row) -> bool:
    """Whether nobody misses the partition: its topic was being deleted, or has been since. The same as IS_DELETION."""
    has_ended_untold = row["ended_before"] is None and row["healed_by"] == DELETION
    return bool((row["cause"] or row["healed_by"]) == DELETION or has_ended_untold)


def outages_answer(opened: OpenedCluster, *, all_rows: bool, asked: Narrowing = ALL) -> Listing:
    """The times without a leader of a cluster that are asked for, each as a whole."""
    groups = outage_groups(opened.table("offline_partitions", asked.overlapping()))
    missing = missing_facts(opened)
    unknown = untold_outages(missing, sum(len(group.outages) for group in groups))
    if without := sum(row["cause"] is None and not is_deletion(row) for group in groups for row in group.outages):
        unknown.append(f"The cause of {plural(without, 'outage')}.")
    lines = [line for group in groups for line in group_lines(opened, group, all_rows=all_rows)]
    waits = [one for one in first_leader_waits(opened, asked.of_topics()) if one.is_during(asked.since, asked.until)]
    sentences = [_sentence(asked.span(opened), groups, OUTAGES in missing), waits_sentence(waits, opened.last)]
    data = {
        "outages": [outage_data(opened, row) for group in groups for row in group.outages],
        "waits_for_first_leader": [wait_data(opened, one) for one in waits],
    }
    return Listing(opened.cluster, " ".join(filter(None, sentences)), lines, unknown, data)


def untold_outages(missing: Mapping[str, str], count: int) -> list[str]:
    """`missing_facts`, and how many outages there are -> a sentence if there may be more."""
    if OUTAGES not in missing:
        return []
    return [f"{untold_text(OUTAGES, count).capitalize()} {cannot_be_told(missing[OUTAGES])}."]


def missing_facts(opened: OpenedCluster) -> dict[str, str]:
    """What the logs of a cluster cannot tell, and which log is missing for it (see `jobs.nightly.unknown_zeros`)."""
    traced = opened.has("control_requests") and opened.rows(
        "SELECT 1 FROM control_requests WHERE sent_at IS NOT NULL AND partitions IS NOT NULL LIMIT 1"
    )
    ranges = [row["kafka_versions"] for row in opened.streams]
    terms = opened.table("controller_timeline", "mode = 'kraft' AND until IS NULL")
    kinds = {span.kind for span in opened.coverage}
    return missing_logs_by_fact(kinds, ranges, has_requests=bool(traced), is_kraft=bool(terms))


def _sentence(span: str, groups: Sequence[OutageGroup], is_unknown: bool) -> str:
    lost = [group for group in groups if not group.is_deletion]
    rows = [row for group in lost for row in group.outages]
    deleted = sum(len(group.outages) for group in groups if group.is_deletion)
    besides = f"; {plural(deleted, 'more outage')} of topics that were deleted" if deleted else ""
    if not rows:
        if is_unknown:
            return f"Whether a partition was without a leader {span} cannot be told from these logs{besides}."
        return f"No partition was without a leader {span}, as far as the logs go{besides}."
    still_open = [row for row in rows if is_open(row)]
    worst = longest(rows)
    begin = (
        f"{plural(len(still_open), 'partition')} had no leader when the logs end" if still_open else "All have ended"
    )
    if still_open and all(row["cause"] == "controlled_shutdown" for row in still_open):
        brokers = sorted({row["cause_broker"] for row in still_open})
        begin += f", because {brokers_in_words(brokers)} {was_or_were(brokers)} shut down"
    total = duration(sum(row["at_least_ms"] or 0 for row in rows))
    return (
        f"{begin}: {plural(len(rows), 'outage')} of {plural(len({name_of(row) for row in rows}), 'partition')} "
        f"{span}, {total} of partition time, the longest of {name_of(worst)} for {outage_length(worst)}{besides}."
    )


def group_lines(opened: OpenedCluster, group: OutageGroup, *, all_rows: bool) -> Iterator[str]:
    """A group in two lines: which partitions, how long, why, what ended it, and the line that shows the first."""
    worst = group.worst
    names = list(dict.fromkeys(map(name_of, group.outages)))
    state = "STILL OFFLINE" if group.is_open else "deleted" if group.is_deletion else "offline"
    cause = cause_text(worst) or (
        f"cause unknown, broker {worst['last_leader']} led before"
        if worst["last_leader"] is not None
        else "cause unknown"
    )
    healers = list(dict.fromkeys(filter(None, (healer_text(row) for row in group.outages))))
    healed = f"; ended by {listed(healers)}" if healers else ""
    count = f"{plural(len(names), 'partition')}: " if len(names) > 1 else ""
    yield f"{date_time(group.since)}  {state:<13}  {group_length(group)}, {cause}{healed}"
    yield f"{'':<25}{count}{listed(names, 8)}  ({opened.names.proof(worst)})"
    if all_rows and len(group.outages) > 1:
        for row in group.outages:
            yield f"{'':<25}{name_of(row)}  {span_text(row['since'], row['until'])}, {outage_length(row)}"


def group_length(group: OutageGroup) -> str:
    """How long the outages of a group were: of one its length; of several that ended `up to 20.9 s`."""
    if len(group.outages) == 1 or group.is_open:
        return outage_length(group.worst)
    lengths = [row["at_most_ms"] if row["duration_ms"] is None else row["duration_ms"] for row in group.outages]
    return outage_length(group.worst) if None in lengths else f"up to {duration(max(lengths))}"


def outage_data(opened: OpenedCluster, row: Row) -> dict[str, object]:
    """A row of OFFLINE_PARTITIONS for programs, its lines as `path:line`."""
    values = {name: value for name, value in row.items() if name not in ("evidence", "cluster")}
    return {**values, "lines": [opened.names.line(line) for line in row["evidence"] or ()]}
