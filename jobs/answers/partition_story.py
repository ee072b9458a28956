"""`why TOPIC-PARTITION`: which time of a partition is asked about, and what the answer is."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from jobs.answers.absences import ABSENCE_TABLES, registrations
from jobs.answers.first_leaders import FirstLeaderWait, first_leader_waits, wait_answer, wait_data
from jobs.answers.leader_epochs import with_epochs_of_elections
from jobs.answers.opened import OpenedCluster
from jobs.answers.outages import is_open
from jobs.answers.partition_steps import ERROR, OF_PARTITION, PROCESSES, PartitionRows, steps_of
from jobs.answers.selection import most_telling
from jobs.answers.story import Story
from jobs.answers.story_lanes import partition_lanes
from jobs.answers.truncations import WITHOUT_EFFECT, real_truncations
from jobs.answers.words import brokers_in_words, brokers_text, isr_text, span_text, was_or_were
from jobs.nightly.summary_facts import Row
from jobs.nightly.wording import date_time, outage_length, plural
from jobs.nightly.words import cause_text, healer_text, led_on, listed, lost_text
from jobs.read.create_views import literal, time_literal
from jobs.read.published import nearest
from udfs.describe.snapshot import iso
from udfs.errors import BadInput

TABLES = (
    "events", "topic_timeline", "partition_timeline", "offline_partitions", "elections", "isr_changes", "reassignments",
    "verdicts", *ABSENCE_TABLES, "controller_timeline", "log_dir_failures",
)  # fmt: skip
BEFORE, AFTER = 6, 4
"""States before and after what is asked about that belong to its story, if none in full sync ends it sooner."""
MOST_STEPS = 30
MARGIN = timedelta(seconds=2)


def partition_story(
    opened: OpenedCluster, topic: str, partition: int, at: datetime | None, most: int = MOST_STEPS
) -> Story:
    """The story of a partition: around a moment, or around its open outage, its longest one, the wait for its first
    leader, or its last state.

    Raises BadInput for a partition that the tables do not have.
    """
    rows = _partition_rows(opened, topic, partition)
    outage = _outage_at(rows.outages, at, opened.last)
    state = _state_at(rows.states, at)
    wait = _wait_at(rows, at) if outage is None else None
    deleted_at = state["until"] if state is not None and at is None else None  # nothing else ends the last state
    since, until = _story_span(rows, wait or outage, state, deleted_at, opened.last)
    rows = _with_processes(opened, rows, topic, partition, since - MARGIN, until + MARGIN)
    steps = steps_of(rows, since - MARGIN, until + MARGIN)
    shown = most_telling(steps, most, at, _turns(wait or outage, state, deleted_at))
    begin = min([since, *(step.at for step in shown), *([at] if at else [])])
    end = max([until, *(step.at for step in shown), *([at] if at else [])])
    margin = max((end - begin) / 20, timedelta(milliseconds=500))
    begin, end = max(begin - margin, opened.first), min(end + margin, opened.last)
    name = f"{topic}-{partition}"
    if outage is not None:
        answer, facts = _outage_answer(name, outage, rows), _data(outage)
    elif wait is not None:
        answer, facts = wait_answer(name, wait, opened.last), _data(wait_data(opened, wait))
    else:
        answer, facts = _state_answer(name, state, rows, at, opened), _data(state) if state is not None else {}
    return Story(
        opened.cluster, name, answer, begin, end, at, partition_lanes(rows, begin, end, opened.last), shown,
        len(steps) - len(shown), list(_others(opened, name, rows, wait or outage)),
        list(_unknown(opened, rows, outage, at or since, begin, end)), facts,
    )  # fmt: skip


def _partition_rows(opened: OpenedCluster, topic: str, partition: int) -> PartitionRows:
    one = f"topic = {literal(topic)} AND partition = {partition}"
    elections = opened.table("elections", one, '"at", leader_epoch')
    states = with_epochs_of_elections(opened.table("partition_timeline", one, "incarnation, ordinal"), elections)
    topics = opened.table("topic_timeline", f"topic = {literal(topic)}", "incarnation")
    waits = first_leader_waits(opened, one)
    if not states and not waits and not opened.table("offline_partitions", one):
        raise BadInput(_no_such_partition(opened, topic, partition, bool(topics)))
    lists = [*(state[name] for state in states for name in ("replicas", "isr")), *(wait.replicas for wait in waits)]
    replicas = sorted({broker for brokers in lists for broker in brokers or ()})
    of_brokers = f"broker IN ({', '.join(map(str, replicas))})" if replicas else "false"
    return PartitionRows(
        states,
        opened.table("offline_partitions", one, "since"),
        elections,
        opened.table("isr_changes", one, "incarnation, ordinal"),
        opened.table("reassignments", one, "since"),
        opened.table("verdicts", f"{one} AND verdict = 'violated'", '"at", rule'),
        topics,
        registrations(opened, of_brokers),
        opened.table("controller_timeline", order="since, controller_epoch"),
        waits,
    )


def partitions_of(opened: OpenedCluster, topic: str) -> list[int]:
    """The partitions of a topic that have a story: states, or elections that failed before the first one."""
    rows = opened.rows(
        f"""SELECT partition FROM partition_timeline WHERE topic = {literal(topic)}
        UNION SELECT partition FROM elections WHERE topic = {literal(topic)} ORDER BY 1"""
    )
    return [row["partition"] for row in rows]


def _no_such_partition(opened: OpenedCluster, topic: str, partition: int, is_topic: bool) -> str:
    if known := partitions_of(opened, topic):
        return f"Topic {topic} has no partition {partition} in the logs; it has {listed(known)}."
    if is_topic:
        return f"The logs show no state of {topic}-{partition}, though the topic was there."
    names = [row["topic"] for row in opened.rows("SELECT DISTINCT topic FROM partition_timeline ORDER BY 1")]
    return f"There is no topic {topic} in the logs; {nearest(topic, names)}"


def _with_processes(
    opened: OpenedCluster, rows: PartitionRows, topic: str, partition: int, since: datetime, until: datetime
) -> PartitionRows:
    """The rows with what the brokers of a partition wrote about themselves in a time."""
    brokers = {row["broker"] for row in rows.brokers} | {b for s in rows.states for b in (s["replicas"] or ())}
    nodes = ", ".join(map(str, sorted(brokers))) or "NULL"
    own = ", ".join(literal(kind) for kind in PROCESSES if kind not in OF_PARTITION)
    partitions = ", ".join(map(literal, (*OF_PARTITION, WITHOUT_EFFECT)))
    events = opened.rows(
        f"""SELECT event_type, node_id, broker_id, "at", file_id, line, {ERROR},
        coalesce(fields['offset'], fields['high_watermark']) AS "offset" FROM events WHERE"""
        f' "at" BETWEEN {time_literal(since)} AND {time_literal(until)} AND ('
        f"(event_type IN ({own}) AND (node_id IN ({nodes}) OR broker_id IN ({nodes})))"
        f" OR (event_type IN ({partitions}) AND topic = {literal(topic)} AND partition = {partition}))"
        ' ORDER BY "at", file_id, line'
    )
    return replace(rows, processes=real_truncations(events))


# ---- which time -----------------------------------------------------------------------------------------------------
def _end(row: Row, logs_end: datetime) -> datetime:
    end: datetime = row["until"] or row.get("ended_before") or logs_end
    return end


def _outage_at(outages: Sequence[Row], at: datetime | None, logs_end: datetime) -> Row | None:
    """The outage at a moment; without one the open outage, else the longest, of these the last."""
    if at is not None:
        during = [row for row in outages if row["since"] <= at <= _end(row, logs_end)]
        return during[-1] if during else None
    still_open = [row for row in outages if is_open(row)]
    return max(still_open or outages, key=lambda row: (row["at_least_ms"] or 0, row["since"]), default=None)


def _wait_at(rows: PartitionRows, at: datetime | None) -> FirstLeaderWait | None:
    """The wait for a first leader at a moment; without one the last if the partition had no outage."""
    if at is not None:
        during = [wait for wait in rows.waits if wait.since <= at and (wait.until is None or at < wait.until)]
        return during[-1] if during else None
    return rows.waits[-1] if rows.waits and not rows.outages else None


def _state_at(states: Sequence[Row], at: datetime | None) -> Row | None:
    """The state that held at a moment; without one the last."""
    begun = [state for state in states if at is None or state["since"] <= at]
    return begun[-1] if begun else None


def _story_span(
    rows: PartitionRows,
    outage: Row | FirstLeaderWait | None,
    state: Row | None,
    deleted_at: datetime | None,
    logs_end: datetime,
) -> tuple[datetime, datetime]:
    """From the last state in full sync before what is asked about to the first one after it."""
    if isinstance(outage, FirstLeaderWait):
        return outage.since, outage.until or logs_end
    if outage is not None:
        begin, end = outage["since"], _end(outage, logs_end)
    elif state is not None:
        begin = end = deleted_at or state["since"]
    else:
        return logs_end, logs_end
    before = [row for row in rows.states if row["since"] < begin][-BEFORE:]
    after = [row for row in rows.states if row["since"] > end or (outage is not None and row["since"] == end)][:AFTER]
    synced = [row for row in before if row["availability"] == "FullyInSync"]
    if synced and before:
        # the change away from full sync belongs to the story, the time in it does not
        begin = next((row["since"] for row in before if row["since"] > synced[-1]["since"]), begin)
    elif before:
        begin = before[0]["since"]
    if outage is not None:
        recovered = next((row for row in after if row["availability"] == "FullyInSync"), None)
        end = max(end, recovered["since"] if recovered else after[-1]["since"] if after else end)
    return begin, end


def _turns(outage: Row | FirstLeaderWait | None, state: Row | None, deleted_at: datetime | None) -> set[datetime]:
    """When what is asked about began and ended."""
    if isinstance(outage, FirstLeaderWait):
        times = [outage.since, outage.until]
    elif outage is not None:
        times = [outage["since"], outage.get("cause_at"), outage["until"] or outage["ended_before"]]
    else:
        times = [state["since"], deleted_at] if state is not None else []
    return {time for time in times if time is not None}


# ---- the answer -----------------------------------------------------------------------------------------------------
def _outage_answer(name: str, outage: Row, rows: PartitionRows) -> str:
    """What an outage was, why, and what ended it; whether records were lost."""
    if is_open(outage):
        begin = f"{name} has had no leader since {date_time(outage['since'])} UTC ({outage_length(outage)} by the logs)"
    elif outage["ended_before"] is None:
        begin = f"{name} had no leader for {outage_length(outage)}, from {date_time(outage['since'])} UTC on"
    else:
        span = span_text(outage["since"], outage["until"], f"a time before {date_time(outage['ended_before'])}")
        begin = f"{name} had no leader for {outage_length(outage)}, {span}"
    cause = cause_text(outage)
    last_isr, lost = outage["last_isr"], outage.get("cause_broker")
    if cause and lost is not None and last_isr == [lost]:
        cause += _alone(outage, rows)
    elif cause and last_isr is not None:
        cause += f" ({isr_text(last_isr)})"
    if not cause:
        known = [f"broker {outage['last_leader']} led before"] if outage["last_leader"] is not None else []
        known += [isr_text(last_isr)] if last_isr is not None else []
        cause = "the cause is not known" + (f" ({'; '.join(known)})" if known else "")
    return f"{begin}: {cause}{_ending(outage, rows)}."


def _alone(outage: Row, rows: PartitionRows) -> str:
    """That only the broker that was lost could lead: there was no other replica, or none in sync."""
    before = [row for row in rows.states if row["since"] < outage["since"]]
    replicas = before[-1]["replicas"] if before else None
    if not replicas:  # those of a state before may have been replaced since
        return ", the only replica in sync"
    return ", the only replica" if len(replicas) == 1 else f", the only one of {len(replicas)} replicas in sync"


def _ending(outage: Row, rows: PartitionRows) -> str:
    """What ended an outage, and what it cost."""
    failed = f"{plural(outage['failed_elections'], 'election')} failed meanwhile" if outage["failed_elections"] else ""
    if outage["ended_before"] is None:
        unknown_end = "" if is_open(outage) else "; its topic was deleted, and when that was done is in no line"
        return f"; {failed}{unknown_end}" if failed else unknown_end
    healer = healer_text(outage)
    parts = [failed] if failed else []
    next_state = next((row for row in rows.states if row["since"] == outage["ended_before"]), None)
    leader = next_state["leader"] if next_state is not None else None
    if healer:
        text = f"{healer} ended it"
        if leader is not None and leader >= 0:
            means = "an election" if outage["healed_by"] == "broker_return" else healer
            text = f"{means} made broker {leader} leader"
            back = [
                row for row in rows.brokers
                if row["broker"] == leader and outage["since"] <= row["since"] <= outage["ended_before"]
            ]  # fmt: skip
            if back:
                is_prompt = outage["ended_before"] - back[-1]["since"] <= timedelta(seconds=2)
                text += " when it came back at " if is_prompt else ", which was back since "
                text += date_time(back[-1]["since"])[11:]
        parts.append(text)
    elif outage["until"] is None:
        parts.append("how it ended is in no line")
    election = next((row for row in rows.elections if row["unclean"] and row["at"] == outage["ended_before"]), None)
    if election is not None:
        parts.append(lost_text(election))
    return "".join(f"; {part}" for part in parts)


def _state_answer(name: str, state: Row | None, rows: PartitionRows, at: datetime | None, opened: OpenedCluster) -> str:
    """How a partition stood at a moment, and since when."""
    if state is None:
        first = rows.states[0]["since"] if rows.states else None
        if rows.waits and (created := rows.waits[0].created_at) is not None:
            return f"{name} was not there at {date_time(at)} UTC: it was created at {date_time(created)}."
        return f"Nothing is known about {name} at {date_time(at)} UTC: the logs show it from {date_time(first)} on."
    if at is not None and state["until"] is not None and state["until"] <= at:
        anew = next((row["since"] for row in rows.topics if row["since"] > at), None)
        again = f", and created anew at {date_time(anew)}" if anew is not None else ""
        deleted = f"the topic was deleted at {date_time(state['until'])}{again}"
        return f"{name} was not there at {date_time(at)} UTC: {deleted}."
    when = f"At {date_time(at)} UTC" if at is not None else f"At the end of the logs ({date_time(opened.last)} UTC)"
    leader = {None: "an unknown leader", -1: "no leader"}.get(state["leader"], f"leader {state['leader']}")
    stood = f"{leader}, ISR {brokers_text(state['isr'])}"
    if state["replicas"] is not None:
        stood += f" of replicas {brokers_text(state['replicas'])}"
    if at is None and state["until"] is not None:
        text = f"{when} {name} was not there: the topic was deleted at {date_time(state['until'])}"
        return f"{text}. Until then it had {stood}, since {date_time(state['since'])}{_no_outage(rows)}."
    if at is not None and (gap := _gap_around(rows.states, at)) is not None:
        known = f"it had {stood} at {date_time(state['since'])}"
        return f"How {name} stood at {date_time(at)} UTC is not known: {known}, and {_in_no_line(*gap)}."
    text = f"{when} {name} had {stood}, since {date_time(state['since'])}"
    missing = sorted({*(state["replicas"] or ())} - {*(state["isr"] or ())}) if state["isr"] is not None else []
    if missing:
        gone = [broker for broker in missing if _was_away(rows.brokers, broker, at or opened.last)]
        text += f"; {brokers_in_words(missing)} {was_or_were(missing)} out of sync"
        who = ("they" if len(gone) > 1 else "it") if gone == missing else brokers_in_words(gone)
        text += f", for {who} {was_or_were(gone)} gone" if gone else ""
    return f"{text}{_no_outage(rows)}."


def _no_outage(rows: PartitionRows) -> str:
    return "" if rows.outages or rows.waits else "; no outage of it is in the logs"


def _gap_around(states: Sequence[Row], at: datetime) -> tuple[Row, Row] | None:
    """The known states before and after a moment if there were others between them."""
    for before, after in pairwise(states):
        is_around = before["since"] <= at < after["since"] and before["incarnation"] == after["incarnation"]
        if is_around and after["missing_before"]:
            return before, after
    return None


def _in_no_line(before: Row, after: Row) -> str:
    """That states between two known ones are not known."""
    are = "is" if after["missing_before"] == 1 else "are"
    between = f"between {date_time(before['since'])} and {date_time(after['since'])}"
    return f"{plural(after['missing_before'], 'state')} {between} {are} in no line"


def _was_away(registrations: Sequence[Row], broker: int, at: datetime) -> bool:
    """Whether a broker had gone and not yet come back."""
    own = [row for row in registrations if row["broker"] == broker and row["since"] <= at]
    return bool(own) and own[-1]["until"] is not None and own[-1]["until"] <= at


def _others(
    opened: OpenedCluster, name: str, rows: PartitionRows, outage: Row | FirstLeaderWait | None
) -> Iterator[tuple[str, str]]:
    """Other outages of the partition, waits for its first leader, and its unclean elections."""
    for row in sorted(rows.outages, key=lambda row: -(row["at_least_ms"] or 0))[:6]:
        if row is not outage:
            text = f"no leader for {outage_length(row)} from {date_time(row['since'])}"
            yield text, opened.command(f"why {shlex.quote(name)} --at {iso(row['since'])}")
    for wait in rows.waits:
        if wait is not outage:
            text = f"no first leader for {wait.length(opened.last)} from {date_time(wait.since)}"
            yield text, opened.command(f"why {shlex.quote(name)} --at {iso(wait.since)}")
    for row in [row for row in rows.elections if row["unclean"]][:5]:
        yield f"unclean election of broker {row['leader']} at {date_time(row['at'])}: {lost_text(row)}", ""


def _unknown(
    opened: OpenedCluster, rows: PartitionRows, outage: Row | None, at: datetime, since: datetime, until: datetime
) -> Iterator[str]:
    """What the logs do not tell about a time, a sentence each."""
    if outage is not None:
        if outage["cause"] is None:
            yield "Why the leader was lost."
        if outage["began_after"] is not None and outage["began_after"] < outage["since"]:
            yield f"When exactly it began: after {date_time(outage['began_after'])}, by {date_time(outage['since'])}."
        if outage["until"] is None and outage["ended_before"] is not None:
            yield f"When exactly it ended: by {date_time(outage['ended_before'])}."
    states = [row for row in rows.states if since <= row["since"] <= until]
    if inferred := sum(bool(row["inferred"]) for row in states):
        yield f"{plural(inferred, 'state')} of this time: no line prints it in full, it follows from its neighbours."
    if missing := sum(row["missing_before"] or 0 for row in states):
        yield f"{plural(missing, 'state')} between those above: no line shows them."
    if (gap := _gap_around(rows.states, at)) is not None and gap[1] not in states:
        yield f"How it stood then: {_in_no_line(*gap)}."
    for before, state in pairwise(rows.states):
        if state in states and before["leader"] is None:
            yield f"Who led from {date_time(before['since'])}."
    for row in rows.elections:
        if since <= row["at"] <= until and row["unclean"] and row["lost_records_max"] is None:
            election = f"the unclean election of {date_time(row['at'])}"
            if led_on(row):
                yield f"Whether broker {row['leader']} had lost records with its disk before {election}."
            else:
                yield f"How many records {election} lost."
    yield from (f"There is {gap}." for gap in opened.gaps_at(at))


def _data(row: Row) -> dict[str, object]:
    """A row for programs, its evidence left out."""
    return {
        name: iso(value) if isinstance(value, datetime) else value for name, value in row.items() if name != "evidence"
    }
