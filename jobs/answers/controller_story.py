"""`why controller`: who reigned when, why the controller changed, and what nobody decided meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from jobs.answers.absences import ABSENCE_TABLES, registrations
from jobs.answers.controller_steps import controller_steps, failover_steps, resigned_step
from jobs.answers.lanes import NONE, Lane, Stretch
from jobs.answers.opened import OpenedCluster, places
from jobs.answers.partition_steps import broker_steps, process_steps
from jobs.answers.selection import most_telling
from jobs.answers.story import Step, Story
from jobs.answers.story_lanes import broker_lanes, controller_lane
from jobs.answers.words import ENDS
from jobs.nightly.summary_facts import Row, node_roles
from jobs.nightly.wording import date_time, duration, plural
from jobs.nightly.words import listed, name_of
from jobs.read.create_views import literal, time_literal
from udfs.describe.snapshot import iso
from udfs.incidents.titles import what_happened

CONTROLLER_TABLES = (*ABSENCE_TABLES, "events", "controller_timeline", "offline_partitions")
MARGIN = timedelta(seconds=5)
MOST_OTHERS = 8
"""Terms that are listed, with the one that is asked about the ones around it."""
LINES = {
    "zk_session_expired": "node {node}: its session with ZooKeeper expired",
    "raft_fetch_timeout": "node {node} heard nothing from the leader of the quorum",
    "raft_election_timeout": "node {node}: an election of the quorum timed out",
    "raft_election_lost": "node {node} lost an election of the quorum",
    "process_signalled": "node {node} received a signal",
    "controller_server_stopping": "node {node} stops its controller",
    "controller_server_starting": "node {node} starts its controller",
    "broker_stopping": "broker {node} begins to shut down",
    "kraft_event_failed_renounce": "node {node} gave up being controller after an error",
}
"""By event type of records about controllers."""
STOPS = ("broker_crash", "broker_halted", "controlled_shutdown", "controller_crash", "controller_shutdown")
"""Causes of incidents by which a node is gone."""
WEIGHTS = {"cause": 0, "broker": 0, "process": 0, "controller": 1}
"""By kind of step, the lower the more it tells: why controllers change before how they do."""
WEIGHTS_OVER_ALL = {"controller": 0, "cause": 0, "broker": 1}
"""Where no change is asked about: who took office before what brokers did."""


def controller_story(opened: OpenedCluster, at: datetime | None, most: int) -> Story:
    """The story of the controllers: the change next to a moment, or all of the logs."""
    terms = opened.table("controller_timeline", order="since, controller_epoch")
    change = _change_at(terms, at)
    if change is not None:
        since, until = change["since"] - 4 * MARGIN, (change["active_since"] or change["since"]) + 2 * MARGIN
        if at is not None:
            since, until = min(since, at), max(until, at)
    else:
        since, until = opened.first, opened.last
    since, until = max(since, opened.first), min(until, opened.last)
    steps = _steps(opened, terms, since, until, with_lines=change is not None)
    if change is None:
        shown = most_telling(steps, most, until, weights=WEIGHTS_OVER_ALL)
    else:
        shown = most_telling(steps, most, change["since"], _turns(change), WEIGHTS)
    brokers = registrations(opened)
    controllers = {row["controller_id"] for row in terms}
    outages = opened.table("offline_partitions", order="since, topic, partition")
    stretches = [
        Stretch(row["since"], row["until"] or row["ended_before"] or opened.last, NONE, "", "red") for row in outages
    ]
    lanes = [
        controller_lane(terms, since, opened.last),
        *broker_lanes([row for row in brokers if row["broker"] in controllers], since, opened.last),
        Lane("no leader", stretches),
    ]
    return Story(
        opened.cluster,
        "controller",
        _answer(opened, terms, at),
        since,
        until,
        at,
        [lane for lane in lanes if lane.stretches],
        shown,
        len(steps) - len(shown),
        list(_others(opened, terms, change)),
        list(_unknown(opened, terms, outages, since, until)),
        {"terms": len(terms)},
    )


def _turns(term: Row) -> set[datetime]:
    """When what the controller of a term did to take office was."""
    times = [term["since"], term["active_since"], *(step["at"] for step in term.get("steps") or ())]
    return {time for time in times if time is not None}


def _change_at(terms: Sequence[Row], at: datetime | None) -> Row | None:
    """The term that began next to a moment; None without one."""
    if at is None or not terms:
        return None
    return min(terms, key=lambda row: abs(row["since"] - at))


def _steps(
    opened: OpenedCluster, terms: Sequence[Row], since: datetime, until: datetime, *, with_lines: bool
) -> list[Step]:
    """Changes of controllers in a time; around one change also what nodes wrote about it."""
    steps = [*controller_steps(terms), *_crashes(opened)]
    controllers = {row["controller_id"] for row in terms}
    brokers = registrations(opened)
    steps += broker_steps(row for row in brokers if row["broker"] in controllers)
    if with_lines:
        reigning = {row["controller_id"] for row in _terms_in(terms, since, until)}
        nodes = ", ".join(map(str, sorted(reigning | _quorum(opened)))) or "NULL"
        kinds = ", ".join(map(literal, LINES))
        events = opened.rows(
            f'SELECT event_type, node_id, broker_id, "at", file_id, line FROM events WHERE event_type IN ({kinds})'
            f' AND node_id IN ({nodes}) AND "at" BETWEEN {time_literal(since)} AND {time_literal(until)}'
            ' ORDER BY "at", file_id, line'
        )
        steps += [*process_steps(events, LINES), *failover_steps(terms)]
    return sorted((s for s in steps if since <= s.at <= until), key=lambda step: (step.at, step.rank, step.text))


def _quorum(opened: OpenedCluster) -> set[int]:
    """The nodes of KRaft's quorum, as far as they have a log of their own as controllers; of ZooKeeper any broker may
    become controller, which makes it none."""
    if not opened.table("controller_timeline", "mode = 'kraft'"):
        return set()
    return {node for node, role in node_roles(opened.streams).items() if role == "controller"}


def _crashes(opened: OpenedCluster) -> Iterator[Step]:
    """Crashes of controllers that are no brokers: their own logs show them as they start anew."""
    for row in opened.table("incidents", "root_cause = 'controller_crash'", "since"):
        text = f"{row['title'][:1].lower()}{row['title'][1:]}"
        yield Step(row["since"], text, places(row["evidence"]), 2, "cause")


def _terms_in(terms: Sequence[Row], since: datetime, until: datetime) -> list[Row]:
    return [row for row in terms if row["since"] <= until and (row["until"] is None or row["until"] >= since)]


def _answer(opened: OpenedCluster, terms: Sequence[Row], at: datetime | None) -> str:
    if not terms:
        return "No term of a controller is in the logs."
    moment = at or opened.last
    reigning = [row for row in terms if row["since"] <= moment and (row["until"] is None or row["until"] > moment)]
    when = f"At {date_time(moment)} UTC" if at is not None else "At the end of the logs"
    if reigning:
        row = reigning[-1]
        now = f"{when} node {row['controller_id']} was controller (epoch {row['controller_epoch']})"
        now += f", since {date_time(row['since'])} UTC{_its_end(opened, row, moment)}"
    else:
        now = f"{when} no controller is known{_last_known(terms, moment)}"
    if len(terms) == 1:
        return f"{now}; the controller did not change in these logs."
    failovers = [row["failover_ms"] for row in terms if row["failover_ms"] is not None]
    slowest = f", the slowest ready after {duration(max(failovers))}" if failovers else ""
    longest = max(_gaps(terms), default=None)
    gap = f"; from a resignation to the next one being ready it took up to {duration(longest)}" if longest else ""
    return f"{now}; the controller changed {plural(len(terms) - 1, 'time')}{slowest}{gap}."


def _its_end(opened: OpenedCluster, term: Row, moment: datetime) -> str:
    """` until it was shut down at ...`, of a node that had gone by a moment, though no line ends its term."""
    stops = ", ".join(map(literal, STOPS))
    rows = opened.table("incidents", f"root_broker = {term['controller_id']} AND root_cause IN ({stops})", "since")
    for row in reversed(rows):
        if term["since"] <= row["since"] <= moment and (row["until"] is None or row["until"] > moment):
            return f" until {what_happened(row['root_cause'], 'it')} at {date_time(row['since'])} UTC"
    return ""


def _last_known(terms: Sequence[Row], moment: datetime) -> str:
    """`: node 4 (epoch 5), the last one, resigned at ...`; empty before the first term."""
    over = [row for row in terms if row["since"] <= moment]
    if not over:
        return ""
    row = over[-1]
    how = "resigned" if row["ended_by"] == "resigned" else "ended"
    return (
        f": node {row['controller_id']} (epoch {row['controller_epoch']}), the last one, {how} at"
        f" {date_time(row['until'])} UTC"
    )


def _gaps(terms: Sequence[Row]) -> Iterator[int]:
    """Milliseconds between a resignation and the next controller being ready; of others nobody knows the end.

    In a migration the last one that used ZooKeeper resigns while one of KRaft's is ready.
    """
    for row, after in pairwise(terms):
        if row["ended_by"] != "resigned" or row["cluster_incarnation"] != after["cluster_incarnation"]:
            continue
        if not any(_was_ready(one, row["until"]) for one in terms):
            gap = int(((after["active_since"] or after["since"]) - row["until"]).total_seconds() * 1000)
            if gap > 0:
                yield gap


def _was_ready(term: Row, at: datetime) -> bool:
    """Whether a controller was ready at a moment, and stayed."""
    ready, until = term.get("active_since"), term["until"]
    return ready is not None and ready <= at and (until is None or until > at)


def _others(opened: OpenedCluster, terms: Sequence[Row], shown: Row | None) -> Iterator[tuple[str, str]]:
    number = len(terms) if shown is None else terms.index(shown) + MOST_OTHERS // 2
    last = min(max(number, MOST_OTHERS), len(terms))
    for row in terms[max(last - MOST_OTHERS, 0) : last]:
        if row is not shown and len(terms) > 1:
            end = f"to {date_time(row['until'])}" if row["until"] else "to the end of the logs"
            how = f", {ENDS.get(row['ended_by'], row['ended_by'])}" if row["ended_by"] else ""
            if row["ended_by"] == "replaced" and (resigned := resigned_step(row)) is not None:
                how += f", resigned at {date_time(resigned['at'])}"
            term = f"controller {row['controller_id']}, epoch {row['controller_epoch']}"
            yield (
                f"{term}, {date_time(row['since'])} {end}{how}",
                opened.command(f"why controller --at {iso(row['since'])}"),
            )
    if (rest := len(terms) - MOST_OTHERS) > 0:
        query = "SELECT controller_id, controller_epoch, since, until, ended_by FROM controller_timeline ORDER BY since"
        yield f"{plural(rest, 'more term')}", opened.command(f'sql "{query}"')


def _unknown(
    opened: OpenedCluster, terms: Sequence[Row], outages: Sequence[Row], since: datetime, until: datetime
) -> Iterator[str]:
    if not any(span.kind == "controller" for span in opened.coverage):
        yield "Most of it: there is no controller log."
    terms = _terms_in(terms, since, until)
    never_ready = [row for row in terms if row["active_since"] is None]
    if never_ready:
        epochs = listed(row["controller_epoch"] for row in never_ready)
        yield f"When the controller of epoch {epochs} was ready: it never logged that."
    for row in terms:
        if row["until"] is None or row["until"] > until or row["ended_by"] != "replaced":
            continue
        if resigned_step(row) is not None:
            continue
        waiting = [o for o in outages if o["since"] <= row["until"] <= (o["until"] or o["ended_before"] or opened.last)]
        meanwhile = f", when {listed(map(name_of, waiting), 3)} had no leader" if waiting else ""
        # rows of earlier versions do not have what it logged
        silent = "it logged no resignation, and " if row.get("resignation") is not None else ""
        yield (
            f"When controller {row['controller_id']} of epoch {row['controller_epoch']} stopped deciding: {silent}"
            f"the next one was elected at {date_time(row['until'])}{meanwhile}."
        )
    if with_gaps := opened.gaps_at(since + (until - since) / 2):
        yield from (f"There is {gap}." for gap in with_gaps)
