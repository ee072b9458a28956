"""`loss`: did we lose data? Unclean elections with bounds on the records that they lost."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.answers.listing import Listing
from jobs.answers.narrowing import ALL, Narrowing
from jobs.answers.opened import OpenedCluster
from jobs.answers.outages import MISSING_FACTS_TABLES, missing_facts
from jobs.answers.words import isr_text
from jobs.nightly.summary_facts import UNCLEAN_ORDER, Row
from jobs.nightly.unknown_zeros import UNCLEAN, cannot_be_told
from jobs.nightly.wording import date_time, plural
from jobs.nightly.words import led_on, listed, lost_text, name_of

LOSS_TABLES = ("elections", "events", "offline_partitions", "topic_timeline", *MISSING_FACTS_TABLES)
CALLED_UNCLEAN = "kraft_partition_changed_unclean"
"""Type of KRaft's line `UNCLEAN partition change`: the new leader was not in the ISR before."""
ENDS_REASSIGNMENT = r"(?:adding|removing)Replicas: \[\d[^\]]*\] -> \[\]"
"""What such a line of a change that ends a reassignment has, as a regular expression."""
MOST_LED_ON = 3
"""So many elections of last leaders that led on themselves are told one by one; more only if all are asked for."""


def loss_answer(opened: OpenedCluster, *, all_rows: bool = False, asked: Narrowing = ALL) -> Listing:
    """The unclean elections that are asked for, those that surely lost records first, those of last leaders that led on
    together."""
    unclean = unclean_elections(opened, asked)
    unjudged, total = _count(opened, f"unclean IS NULL AND {asked.within()}"), _count(opened, asked.within())
    missing = missing_facts(opened)
    unknown = []
    if UNCLEAN in missing:
        unknown.append(f"Whether there were more unclean elections {cannot_be_told(missing[UNCLEAN])}.")
    if unjudged:
        unknown.append(
            f"Whether {plural(unjudged, 'election')} of {total:,} {'was' if unjudged == 1 else 'were'} clean: "
            "the ISR before is in no line."
        )
    others = [row for row in unclean if not led_on(row)]
    if without := sum(row["lost_records_max"] is None for row in others):
        unknown.append(f"How many records {plural(without, 'unclean election')} lost at most.")
    if count := len(unclean) - len(others):
        elections = plural(count, "unclean election")
        unknown.append(f"What the disk of a last leader lost before it led on itself, in {elections}.")
    unknown.append(
        "Records lost otherwise: on broken disks, by retention, or by producers that did not wait for acks=all."
    )
    together = [] if all_rows else [row for row in unclean if led_on(row)]
    together = together if len(together) > MOST_LED_ON else []
    lines = [line for row in (others if together else unclean) for line in _lines(opened, row)]
    if together:
        which = listed(dict.fromkeys(map(name_of, together)))
        lines += [f"{len(together):,} more of the last leaders themselves, which led on from the end of their logs:"]
        lines += [f"{'':<25}{which}; --all lists each"]
    lines += _only_called_unclean(opened, asked)
    data = {
        "unclean_elections": [
            {k: v for k, v in row.items() if k != "evidence"}
            | {"lines": [opened.names.line(line) for line in row["evidence"] or ()]}
            for row in unclean
        ],
        "lost_records_min": sum(row["lost_records_min"] or 0 for row in unclean),
        "lost_records_max": _sum(unclean),
        "led_on": len(unclean) - len(others),
        "elections_not_judged": unjudged,
    }
    sentence = _sentence(asked.span(opened), total, unclean, UNCLEAN in missing or bool(unjudged))
    return Listing(opened.cluster, sentence, lines, unknown, data)


def unclean_elections(opened: OpenedCluster, asked: Narrowing = ALL) -> Sequence[Row]:
    """Rows of unclean elections, those that surely lost most records first, then in order of time."""
    return opened.table("elections", f"unclean AND {asked.within()}", UNCLEAN_ORDER.format(at='"at"'))


def _only_called_unclean(opened: OpenedCluster, asked: Narrowing) -> list[str]:
    """What to think of lines that call the end of a reassignment unclean: its change brings the new leader, which has
    caught up, into the ISR and makes it leader at once (`PartitionRegistration.electionWasClean` asks only for who was
    in the ISR before)."""
    if not opened.has("events"):
        return []
    changes = opened.rows(
        "SELECT DISTINCT topic, partition, incarnation, leader_epoch"
        " FROM (SELECT e.*, incarnation FROM events e JOIN topic_timeline t"
        ' ON e.topic = t.topic AND e."at" BETWEEN t.since AND coalesce(t.until, e."at"))'
        f" SEMI JOIN (FROM elections WHERE NOT unclean AND {asked.within()})"
        " USING (topic, partition, incarnation, leader_epoch)"
        f" WHERE event_type = '{CALLED_UNCLEAN}' AND regexp_matches(message, '{ENDS_REASSIGNMENT}') ORDER BY ALL"
    )
    if not changes:
        return []
    which = listed(dict.fromkeys(map(name_of, changes)))
    return [
        f"{plural(len(changes), 'change')} that the controller's log calls UNCLEAN lost nothing: the new leader had",
        "caught up, and came into the ISR by the change itself, the end of a reassignment:",
        f"{'':<25}{which}",
    ]


def _sum(unclean: Sequence[Row]) -> int | None:
    """The most records that can be lost; None if it is not known of an election."""
    most = [row["lost_records_max"] for row in unclean]
    return None if None in most else sum(most)


def _count(opened: OpenedCluster, condition: str) -> int:
    """How many elections succeeded that meet a condition."""
    count: int = opened.rows(f"SELECT count(*) AS n FROM elections WHERE succeeded AND {condition}")[0]["n"]
    return count


def _sentence(span: str, total: int, unclean: Sequence[Row], is_unknown: bool) -> str:
    """`Yes`, `No` or `Perhaps`, and why."""
    others = [row for row in unclean if not led_on(row)]
    least, most = sum(row["lost_records_min"] or 0 for row in others), _sum(others)
    if not unclean:
        if is_unknown:
            return f"No unclean election is in the logs {span}, but they do not tell all: see below."
        return f"No: {plural(total, 'election')} {span}, none of them unclean."
    partitions = listed(dict.fromkeys(map(name_of, unclean)))
    elections = f"{plural(len(unclean), 'unclean election')} of {partitions}"
    if not others:
        return f"Perhaps: {elections} {span}; the last leader itself led on, and lost records only if its disk did."
    of_last = f"; in {len(unclean) - len(others):,} of them the last leader itself led on" if others != unclean else ""
    if least:
        lost = f"{'at least ' if most != least else ''}{plural(least, 'record')}"
        return f"Yes: {elections} lost {lost} {span}{of_last}."
    if most == 0 and of_last:
        had = "leader had" if len(others) == 1 else "leaders had"
        return f"Perhaps: {elections} {span}{of_last}, the other new {had} all records."
    if most == 0:
        return f"No: {elections} {span}, but the new leaders had all records."
    lost = (
        f"they lost up to {plural(most, 'record')}" if most is not None else "how many records they lost is not known"
    )
    lost = lost.replace("they", "it") if len(unclean) == 1 else lost
    return f"Perhaps: {elections} {span}; {lost}{of_last}."


def _lines(opened: OpenedCluster, row: Row) -> list[str]:
    before = "the ISR before is in no line" if row["isr_before"] is None else isr_text(row["isr_before"])
    return [
        f"{date_time(row['at'])}  {name_of(row)}: broker {row['leader']} became leader in leader epoch "
        f"{row['leader_epoch']}, {before}",
        f"{'':<25}{lost_text(row)}  ({opened.names.proof(row)})",
    ]
