"""`why broker 3`: when a broker was away, why, and what that cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from jobs.answers.absences import ABSENCE_TABLES, registrations
from jobs.answers.lanes import NONE, Lane, Stretch
from jobs.answers.opened import OpenedCluster, Place, places
from jobs.answers.outages import longest
from jobs.answers.partition_steps import ERROR, OF_PARTITION, PROCESSES, process_steps
from jobs.answers.partition_steps import broker_steps as comings_and_goings
from jobs.answers.selection import most_telling
from jobs.answers.story import Step, Story
from jobs.answers.story_lanes import broker_lanes, controller_lane
from jobs.answers.words import ENDS, span_text
from jobs.nightly.summary_facts import Row
from jobs.nightly.wording import date_time, duration, outage_length, plural
from jobs.nightly.words import cause_text, listed, name_of
from jobs.read.create_views import literal, time_literal
from udfs.describe.snapshot import iso
from udfs.errors import BadInput

BROKER_TABLES = (
    *ABSENCE_TABLES, "events", "controller_timeline", "partition_timeline", "offline_partitions", "elections",
    "isr_changes", "log_dir_failures",
)  # fmt: skip
MARGIN = timedelta(seconds=5)
FIRST_TIME = "into the ISR for the first time in these logs"
"""Said of what a broker did not leave before, as a reassignment brought it there."""
EARLY_DROP = timedelta(minutes=1)
"""At most so long before an absence its broker may have dropped out of an ISR for it."""


def broker_story(opened: OpenedCluster, broker: int, at: datetime | None, most: int) -> Story:
    """The story of a broker: around a moment, or around the absence that cost most, or its last one.

    Raises BadInput for a broker that no table has.
    """
    registered = registrations(opened, f"broker = {broker}", "since")
    absences = [*_absences(registered, opened.last), *_failed_starts(opened, broker)]
    if not registered and not absences and not _is_replica(opened, broker):
        known = [row["broker"] for row in opened.rows("SELECT DISTINCT broker FROM broker_timeline ORDER BY 1")]
        raise BadInput(f"There is no broker {broker} in the logs; there are {listed(known, 12) or 'none'}.")
    # of those without a controller the broker that caused it is the controller; the leader was lost, too
    is_lost_leader = f"(cause = 'no_controller' AND last_leader = {broker})"
    lost_by_it = f"coalesce(cause_broker, last_leader) = {broker} OR {is_lost_leader}"
    outages = opened.table("offline_partitions", lost_by_it, "since, topic")
    absence = _absence_at(absences, outages, at)
    if absence is not None:
        since, until = absence["since"] - MARGIN, absence["until"] + MARGIN
        since = _first_drop(opened, broker, since, until)
    else:
        since, until = (at or opened.last) - timedelta(minutes=1), (at or opened.last) + MARGIN
    steps = _steps(opened, broker, registered, outages, since, until)
    kept = () if absence is None else (absence["since"], absence["until"])
    shown = most_telling(steps, most, at, kept)
    begin, end = max(min([since, *(s.at for s in shown)]), opened.first), min(until, opened.last)
    during = [row for row in outages if since <= row["since"] <= until]
    lanes = [
        *broker_lanes(registered, begin, opened.last), *_outage_lane(during, opened.last),
        controller_lane(opened.table("controller_timeline", order="since"), begin, opened.last),
    ]  # fmt: skip
    answer = _answer(broker, absence, absences, outages, registered, at, opened)
    others = list(_others(opened, broker, absences, absence, outages))
    facts = {"broker": broker, "absences": len(absences), "partitions_without_leader": len(outages)}
    return Story(
        opened.cluster, f"broker {broker}", answer, begin, end, at, [lane for lane in lanes if lane.stretches], shown,
        len(steps) - len(shown), others, list(_unknown(opened, registered, absence, at)), facts,
    )  # fmt: skip


def _first_drop(opened: OpenedCluster, broker: int, since: datetime, until: datetime) -> datetime:
    """When an absence began to show, at the latest at `since`: leaders may drop a broker that does not fetch any more
    from the ISR before the controller misses it. Of the partitions that have it in sync again in this time."""
    span = f"BETWEEN {time_literal(since - EARLY_DROP)} AND {time_literal(until)}"
    changes = opened.table(
        "isr_changes", f'(list_contains(removed, {broker}) OR list_contains(added, {broker})) AND "at" {span}', '"at"'
    )
    first, dropped_at = since, dict[tuple[str, int, int], datetime]()
    for row in changes:
        key = _key(row)
        if broker in row["removed"]:
            dropped_at[key] = row["at"]
        elif row["at"] >= since:
            first = min(first, dropped_at.pop(key, since))
        else:
            dropped_at.pop(key, None)
    return first


def _is_replica(opened: OpenedCluster, broker: int) -> bool:
    return bool(opened.rows(f"SELECT 1 FROM partition_timeline WHERE list_contains(replicas, {broker}) LIMIT 1"))


def _failed_starts(opened: OpenedCluster, broker: int) -> Iterator[Row]:
    """Times in which a broker that was not there before could not start: no controller saw it go."""
    for row in opened.table("incidents", f"root_cause = 'start_failed' AND root_broker = {broker}", "since"):
        yield _absence(row["since"], row["until"], opened.last, "start_failed")


def _absences(registered: Sequence[Row], logs_end: datetime) -> Iterator[Row]:
    """Times between two registrations; the last one may not have ended."""
    for number, row in enumerate(registered):
        if row["until"] is not None:
            back = registered[number + 1]["since"] if number + 1 < len(registered) else None
            yield _absence(row["until"], back, logs_end, row["ended_by"])


def _absence(since: datetime, until: datetime | None, logs_end: datetime, ended_by: str | None) -> Row:
    return {"since": since, "until": until or logs_end, "is_open": until is None, "ended_by": ended_by}


def _absence_at(absences: Sequence[Row], outages: Sequence[Row], at: datetime | None) -> Row | None:
    """The absence at a moment; without one that at which most partitions lost their leader, of these the longest."""
    if at is not None:
        return next((row for row in absences if row["since"] <= at <= row["until"]), None)
    return max(absences, key=lambda row: (len(_during(outages, row)), row["until"] - row["since"]), default=None)


def _during(outages: Sequence[Row], absence: Row) -> list[Row]:
    """Outages that began when a broker was away, or at most five seconds before."""
    return [row for row in outages if absence["since"] - MARGIN <= row["since"] <= absence["until"]]


def _steps(
    opened: OpenedCluster,
    broker: int,
    registered: Sequence[Row],
    outages: Sequence[Row],
    since: datetime,
    until: datetime,
) -> list[Step]:
    """What happened to a broker in a time, and to the partitions that it led."""
    span = f"BETWEEN {time_literal(since)} AND {time_literal(until)}"
    kinds = ", ".join(literal(kind) for kind in PROCESSES if kind not in OF_PARTITION)
    events = opened.rows(
        f'SELECT event_type, node_id, broker_id, "at", file_id, line, {ERROR} FROM events WHERE "at" {span}'
        f" AND event_type IN ({kinds}) AND (node_id = {broker} OR (broker_id = {broker}"
        f" AND event_type = 'kraft_broker_session_timeout')) ORDER BY \"at\", file_id, line"
    )
    elections = opened.table(
        "elections", f'previous_leader = {broker} AND succeeded AND leader <> {broker} AND "at" {span}', '"at", topic'
    )
    changes = opened.table("isr_changes", f'list_contains(removed, {broker}) AND "at" {span}', '"at", topic')
    added = opened.table("isr_changes", f'list_contains(added, {broker}) AND "at" {span}', '"at", topic')
    firsts = _first_in_sync(opened, broker)
    back, first = (
        [row for row in added if (firsts.get(_key(row), row["at"]) < row["at"]) == is_known]
        for is_known in (True, False)
    )
    lost = [row for row in outages if since <= row["since"] <= until]
    steps = [
        *comings_and_goings(registered),
        *process_steps(events),
        *_gathered(lost, "since", "lost their leader", "lost its leader", 20, "outage"),
        *_gathered(elections, "at", "got another leader", "got another leader", 30, "election"),
        *_gathered(changes, "at", f"dropped broker {broker} from the ISR", f"dropped broker {broker}", 40, "isr"),
        *_gathered(back, "at", f"have broker {broker} in sync again", f"has broker {broker} in sync again", 50, "isr"),
        *_gathered(first, "at", f"took broker {broker} {FIRST_TIME}", f"took broker {broker} {FIRST_TIME}", 51, "isr"),
    ]
    return sorted((s for s in steps if since <= s.at <= until), key=lambda step: (step.at, step.rank, step.text))


def _key(row: Row) -> tuple[str, int, int]:
    return row["topic"], row["partition"], row["incarnation"]


def _first_in_sync(opened: OpenedCluster, broker: int) -> dict[tuple[str, int, int], datetime]:
    """By partition since when a broker is first seen in its ISR."""
    rows = opened.rows(
        f"SELECT topic, partition, incarnation, min(since) AS since FROM partition_timeline"
        f" WHERE list_contains(isr, {broker}) GROUP BY ALL"
    )
    return {_key(row): row["since"] for row in rows}


def _gathered(rows: Sequence[Row], time: str, verb: str, verb_of_one: str, rank: int, kind: str) -> Iterator[Step]:
    """Rows in order -> a step for those that follow each other within a second."""
    group: list[Row] = []
    for row in [*rows, None]:
        if group and (row is None or row[time] - group[-1][time] > timedelta(seconds=1)):
            names = listed(dict.fromkeys(map(name_of, group)), 6)
            text = f"{names} {verb if len(group) > 1 else verb_of_one}"
            if len(group) > 1:
                text = f"{plural(len(group), 'partition')} {verb}: {names}"
            cause = cause_text(group[0]) if "cause" in group[0] else None
            yield Step(group[0][time], f"{text}; {cause}" if cause else text, _proof(group[0]), rank, kind)
            group = []
        if row is not None:
            group.append(row)


def _proof(row: Row) -> tuple[Place, ...]:
    """The lines of a row; of an outage those that also show its cause, if there are any."""
    evidence, of_cause = row["evidence"] or (), row.get("cause_evidence") or ()
    return places([line for line in evidence if line in of_cause] or evidence)


def _outage_lane(outages: Sequence[Row], logs_end: datetime) -> list[Lane]:
    """When any partition that a broker led had no leader."""
    stretches = [
        Stretch(row["since"], row["until"] or row["ended_before"] or logs_end, NONE, "", "red") for row in outages
    ]
    return [Lane("no leader", stretches)] if stretches else []


def _answer(
    broker: int, absence: Row | None, absences: Sequence[Row], outages: Sequence[Row], registered: Sequence[Row],
    at: datetime | None, opened: OpenedCluster,
) -> str:  # fmt: skip
    if absence is None:
        if at is not None:
            alive = [row for row in registered if row["since"] <= at and (row["until"] is None or row["until"] > at)]
            if alive:
                return f"Broker {broker} was alive at {date_time(at)} UTC, since {date_time(alive[-1]['since'])}."
            return f"Whether broker {broker} was alive at {date_time(at)} UTC is in no line."
        return f"Broker {broker} was never seen away in these logs."
    how = ENDS.get(absence["ended_by"] or "", "")
    length = duration(int((absence["until"] - absence["since"]).total_seconds() * 1000))
    during = _during(outages, absence)
    cost = "no partition lost its leader for it"
    if during:
        worst = longest(during)
        cost = (
            f"{plural(len({name_of(row) for row in during}), 'partition')} had no leader, "
            f"{name_of(worst)} for {outage_length(worst)}"
        )
    end = None if absence["is_open"] else absence["until"]
    at_least = "at least " if absence["is_open"] else ""
    reason = f" ({how})" if how else ""
    text = f"Broker {broker} was away for {at_least}{length}, {span_text(absence['since'], end)}{reason}: {cost}."
    if at is None and len(absences) > 1:
        text += f" It was away {len(absences):,} times in these logs."
    return text


def _others(
    opened: OpenedCluster, broker: int, absences: Sequence[Row], shown: Row | None, outages: Sequence[Row]
) -> Iterator[tuple[str, str]]:
    for row in absences[:8]:
        if row is not shown:
            length = duration(int((row["until"] - row["since"]).total_seconds() * 1000))
            cost = len({name_of(outage) for outage in _during(outages, row)})
            text = f"away for {length} from {date_time(row['since'])}, {plural(cost, 'partition')} without a leader"
            yield text, opened.command(f"why broker {broker} --at {iso(row['since'])}")


def _unknown(
    opened: OpenedCluster, registered: Sequence[Row], absence: Row | None, at: datetime | None
) -> Iterator[str]:
    if not registered:
        yield "When it was alive: no controller's log shows it."
    if absence is not None and absence["ended_by"] is None:
        yield "Why it went."
    moment = absence["since"] if absence is not None else at
    if moment is not None:
        yield from (f"There is {gap}." for gap in opened.gaps_at(moment))
