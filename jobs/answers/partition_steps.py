"""What happened to one partition, step by step: its states and elections, its brokers, the controller. No queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobs.answers.controller_steps import controller_steps
from jobs.answers.first_leaders import FirstLeaderWait, wait_steps
from jobs.answers.opened import places
from jobs.answers.story import Step
from jobs.answers.words import ENDS, brokers_in_words, brokers_text, failed_election_text
from jobs.nightly.summary_facts import Row
from jobs.nightly.wording import duration, plural
from jobs.nightly.words import cause_text, lost_text
from udfs.printable import CONTROL_CHARACTERS, MOST_ERROR

NO_LIVE_ISR = "no_live_isr"
"""Cause of an outage before which nobody knows who led: the last leader that lines show had been replaced."""
LED_UNSEEN = "who led until then is in no line"


@dataclass(frozen=True)
class PartitionRows:
    """All rows about one partition, in order, and those of its brokers and the controllers."""

    states: Sequence[Row]
    outages: Sequence[Row]
    elections: Sequence[Row]
    isr_changes: Sequence[Row] = ()
    reassignments: Sequence[Row] = ()
    violations: Sequence[Row] = ()
    topics: Sequence[Row] = ()
    brokers: Sequence[Row] = ()
    terms: Sequence[Row] = ()
    waits: Sequence[FirstLeaderWait] = ()
    processes: Sequence[Row] = field(default_factory=tuple)
    """Events about the brokers' processes and the partition's log."""


def steps_of(rows: PartitionRows, since: datetime, until: datetime) -> list[Step]:
    """All steps in a span of time, in order."""
    steps = [
        *_state_steps(rows),
        *(step for wait in rows.waits for step in wait_steps(wait)),
        *_unwritten_steps(rows),
        *_causes(rows.outages),
        *_failed_elections(rows),
        *broker_steps(rows.brokers),
        *controller_steps(rows.terms),
        *_reassignment_steps(rows.reassignments),
        *_topic_steps(rows.topics),
        *_violation_steps(rows.violations),
        *process_steps(rows.processes),
    ]
    causes = {(step.at, step.lines[:1]) for step in steps if step.kind == "cause"}  # said once
    return sorted(
        (
            step
            for step in steps
            if since <= step.at <= until
            and not (step.kind in ("broker", "process") and (step.at, step.lines[:1]) in causes)
        ),
        key=lambda step: (step.at, step.rank, step.text),
    )


# ---- states ---------------------------------------------------------------------------------------------------------
def _state_steps(rows: PartitionRows) -> Iterator[Step]:
    """A step for each state: who leads, who is in sync, and by which election."""
    elections = {(row["incarnation"], row["leader_epoch"]): row for row in rows.elections if row["succeeded"]}
    changes = {(row["incarnation"], row["ordinal"], row["kind"]): row for row in rows.isr_changes}
    outages = {(row["incarnation"], row["since"]): row for row in rows.outages}
    for before, state in zip([None, *rows.states], rows.states, strict=False):
        election = elections.get((state["incarnation"], state["leader_epoch"]))
        if before is None or before["incarnation"] != state["incarnation"]:
            yield _first_state(state, _begin(state, election, rows.waits, is_anew=before is not None))
        elif state["leader"] == -1:
            yield _leaderless(before, state, outages.get((state["incarnation"], state["since"])))
        elif state["leader_epoch"] != before["leader_epoch"]:
            yield _led(before, state, election)
        else:
            yield _isr_step(before, state, changes)


def _begin(state: Row, election: Row | None, waits: Iterable[FirstLeaderWait], *, is_anew: bool) -> str:
    """How a first state is told: whether the partition had to wait for it, was created with it, or is only seen then.

    `is_anew`: the partition was there before, and was deleted.
    """
    if any(wait.until == state["since"] and wait.incarnation == state["incarnation"] for wait in waits):
        return "led for the first time,"
    is_new = election is not None and election["strategy"] == "new"
    if state["partition_epoch"] == 0 or (state["partition_epoch"] is None and is_new):
        return "created anew" if is_anew else "created"
    return "first seen after it was created anew," if is_anew else "first seen"


def _first_state(state: Row, verb: str) -> Step:
    leader = "no leader" if state["leader"] == -1 else f"leader {_id(state['leader'])}"
    text = f"{verb} with {leader}, ISR {brokers_text(state['isr'])}"
    if state["replicas"] is not None:
        text += f", replicas {brokers_text(state['replicas'])}"
    return Step(state["since"], text, places(state["evidence"]), 40)


def _leaderless(before: Row, state: Row, outage: Row | None) -> Step:
    text, again = "NO LEADER", None
    isr = f"; ISR {brokers_text(state['isr'])}"
    if outage is not None and outage["cause"] == NO_LIVE_ISR:
        text += f": {LED_UNSEEN}"
    elif before["leader"] is not None and before["leader"] >= 0:
        text += f": broker {before['leader']} led until then"
    elif before["leader"] == -1:
        text = f"still no leader (leader epoch {state['leader_epoch']})"
        again = f"still no leader in {{count}} new leader epochs until {{until}}{isr}" if outage is None else None
    cause = cause_text(outage) if outage is not None else None
    text = _marked(f"{text}{f', {cause}' if cause else ''}{isr}", state)
    kind = "outage" if again is None else "leaderless"
    return Step(state["since"], text, places(state["evidence"]), 20, kind, 2, again)


def unwritten_outages(rows: PartitionRows) -> list[Row]:
    """Outages of which no state says so: the controller failed to elect a leader; if it wrote a state, it is unseen."""
    written = {(state["incarnation"], state["since"]) for state in rows.states if state["leader"] == -1}
    led = [state for state in rows.states if state["leader"] is not None and state["leader"] >= 0]
    return [
        row
        for row in rows.outages
        if (row["incarnation"], row["since"]) not in written
        and any(
            state["incarnation"] == row["incarnation"]
            and row["last_leader"] in (state["leader"], None)
            and state["since"] < row["since"]
            and (state["until"] is None or row["since"] < state["until"])
            for state in led
        )
    ]


def _unwritten_steps(rows: PartitionRows) -> Iterator[Step]:
    for row in unwritten_outages(rows):
        cause = cause_text(row)
        result = "no line prints the state" if _is_unseen(row, rows) else "it stayed the leader in ZooKeeper"
        is_unseen = row["cause"] == NO_LIVE_ISR or row["last_leader"] is None
        leader = LED_UNSEEN if is_unseen else f"broker {row['last_leader']} led until then"
        text = f"NO LEADER: {leader}{f', {cause}' if cause else ''}; "
        text += f"nobody could be elected, and {result}; ISR {brokers_text(row['last_isr'])}"
        yield Step(row["since"], text, places(row["evidence"]), 20, "outage", 2)


def _is_unseen(outage: Row, rows: PartitionRows) -> bool:
    """Whether only a failed election shows it, of which nobody knows whom it followed (`to_unseen_losses`)."""
    failed = (row for row in rows.elections if not row["succeeded"] and row["previous_leader"] is None)
    return any((row["incarnation"], row["at"]) == (outage["incarnation"], outage["since"]) for row in failed)


def _led(before: Row, state: Row, election: Row | None) -> Step:
    """A new leader epoch: who was elected, how."""
    kind = "election"
    skips = state["leader_epoch"] > before["leader_epoch"] + 1
    stays = state["leader"] == before["leader"] and not skips
    if state["leader"] is None:
        text = f"leader epoch {state['leader_epoch']}, its leader is not known"
    elif stays:
        text = f"broker {state['leader']} stays leader in leader epoch {state['leader_epoch']}"
        kind = "isr"
    else:
        text = f"broker {state['leader']} became leader, leader epoch {state['leader_epoch']}"
        if before["leader"] is not None and before["leader"] >= 0 and not skips:
            text += f", after broker {before['leader']}"
    if election is not None and not stays:
        how = [election["strategy"].replace("_", " ")] if election["strategy"] not in (None, "none") else []
        text += f" ({' '.join([*how, 'election'])}{_cleanness(election)}{_latency(election)})"
        if election["unclean"]:
            text += f": {lost_text(election)}"
            kind = "unclean"
    text += f"; ISR {brokers_text(state['isr'])}"
    if before["isr"] is not None and before["isr"] != state["isr"] and not skips:
        text += f", before {brokers_text(before['isr'])}"
    evidence = election["evidence"] if election is not None else state["evidence"]
    return Step(state["since"], _marked(text, state), places(evidence), 60, kind, 2)


def _cleanness(election: Row) -> str:
    if election["unclean"] is None:
        return ", clean or not is unknown"
    return ", UNCLEAN" if election["unclean"] else ", clean"


def _latency(election: Row) -> str:
    """How long the election took, and how long its followers."""
    after_loss, followers = election["latency_ms"], election["followers_fetch_ms"]
    text = f", {duration(after_loss)} after the loss" if after_loss is not None else ""
    return f"{text}, followers fetching {duration(followers)} later" if followers is not None else text


def _isr_step(before: Row, state: Row, changes: Mapping[tuple[int, int, str], Row]) -> Step:
    """A state of the same leader epoch: who left or joined the ISR."""
    parts = []
    left = sorted({*(before["isr"] or ())} - {*(state["isr"] or ())}) if state["isr"] is not None else []
    joined = sorted({*(state["isr"] or ())} - {*(before["isr"] or ())}) if before["isr"] is not None else []
    if left:
        parts.append(f"{brokers_in_words(left)} left the ISR")
        change = changes.get((state["incarnation"], state["ordinal"], "shrink"))
        if change is not None and change["lag"] is not None:
            parts[-1] += f", {plural(change['lag'], 'record')} behind"
    if joined:
        parts.append(f"{brokers_in_words(joined)} joined the ISR")
    if not parts:
        parts.append(f"leader {_id(state['leader'])} goes on")
    if state["replicas"] is not None and before["replicas"] not in (None, state["replicas"]):
        parts.append(f"replicas {brokers_text(before['replicas'])} to {brokers_text(state['replicas'])}")
    text = f"{', '.join(parts)}; ISR {brokers_text(state['isr'])}"
    if state["made_by"] == "controller":
        text += ", changed by the controller"
    return Step(state["since"], _marked(text, state), places(state["evidence"]), 50, "isr")


def _marked(text: str, state: Row) -> str:
    """The text, and that the state is inferred."""
    return f"{text} [inferred]" if state["inferred"] else text


def _id(broker: int | None) -> str:
    return "unknown" if broker is None else str(broker)


# ---- what happened around it ----------------------------------------------------------------------------------------
def _causes(outages: Iterable[Row]) -> Iterator[Step]:
    """What each outage goes back to, where the table has its time and lines."""
    for row in outages:
        cause, at = cause_text(row), row.get("cause_at")
        if cause is not None and at is not None:
            yield Step(at, cause, places(row.get("cause_evidence")), 2, "cause", 2)


def _failed_elections(rows: PartitionRows) -> Iterator[Step]:
    for row in rows.elections:
        if not row["succeeded"]:
            known = [
                f"ISR {brokers_text(row['isr_before'])}" if row["isr_before"] is not None else "",
                f"alive {brokers_text(row['live_brokers'])}" if row["live_brokers"] is not None else "",
            ]
            facts = ", ".join(filter(None, known))
            facts = f": {facts}" if facts else ""
            words = failed_election_text(row.get("strategy"), _has_leader(row, rows))
            again = f"{words} {{count}} times until {{until}}{facts}"
            lines = places(row["evidence"])
            yield Step(row["at"], f"{words}{facts}", lines, 30, "failed_election", again=again)


def _has_leader(election: Row, rows: PartitionRows) -> bool | None:
    """Whether a partition had a leader as an election of it failed; None if nobody knows."""
    at, own = election["at"], election["incarnation"]
    for outage in rows.outages:
        end = outage["until"] or outage["ended_before"]
        if outage["incarnation"] == own and outage["since"] < at and (end is None or at < end):
            return False
    leader = election["previous_leader"]
    if leader is None:
        begun = [state["leader"] for state in rows.states if state["incarnation"] == own and state["since"] <= at]
        leader = begun[-1] if begun else None
    return None if leader is None else bool(leader >= 0)


CAME = {"returned": "came back", "bounced": "came back", "new": "registered"}
"""Values of `broker_timeline.started_as`."""


def broker_steps(registrations: Iterable[Row]) -> Iterator[Step]:
    """Rows of BROKER_TIMELINE, those of a broker in order -> brokers that came and went, as the controller saw it.

    One that was there before came back, also where a controller that had just taken over found it there.
    """
    known = set()
    for row in registrations:
        broker, evidence = row["broker"], list(row["evidence"] or ())
        came = CAME.get(row["started_as"], "came") if row["started_as"] is not None else None
        if came is None and broker in known:
            came = "came back"
        known.add(broker)
        if came is not None:
            yield Step(row["since"], f"broker {broker} {came}", places(evidence), 5, "broker")
        if row["until"] is not None:
            how = ENDS.get(row["ended_by"] or "", row["ended_by"] or "it is not known why")
            lost = places(evidence[-1:] if len(evidence) > 1 or came is None else ())
            yield Step(row["until"], f"broker {broker} gone: {how.replace('_', ' ')}", lost, 4, "broker")


def _reassignment_steps(reassignments: Iterable[Row]) -> Iterator[Step]:
    for row in reassignments:
        plan = f"from {brokers_text(row['original_replicas'])} to {brokers_text(row['target_replicas'])}"
        yield Step(row["since"], f"reassignment {plan} began", places(row["evidence"]), 35, "reassignment")
        if row["until"] is not None:
            yield Step(row["until"], f"reassignment {plan} {row['state']}", (), 70, "reassignment")


def _topic_steps(topics: Iterable[Row]) -> Iterator[Step]:
    for row in topics:
        if row["deletion_started"] is not None:
            line = places(row.get("deletion_evidence"))
            yield Step(row["deletion_started"], "deletion of the topic was requested", line, 15, "topic")
        if row["until"] is not None:
            yield Step(row["until"], "topic deleted", places((row["evidence"] or ())[-1:]), 80, "topic")


def _violation_steps(violations: Iterable[Row]) -> Iterator[Step]:
    for row in violations:
        text = f"rule {row['rule']} VIOLATED: expected {row['expected']}, but it was {row['actual']}"
        yield Step(row["at"], text, places(row["evidence"]), 90, "violated")


PROCESSES = {
    "process_signalled": "broker {node} received a signal",
    "process_halting": "broker {node} halts{error}",
    "process_exiting": "broker {node} exits{error}",
    "broker_stopping": "broker {node} begins to shut down",
    "broker_stopped": "broker {node} has shut down",
    "broker_starting": "broker {node} starts",
    "server_start_failed": "broker {node} failed to start{error}",
    "unclean_shutdown_found": "broker {node} finds that it was not shut down cleanly",
    "log_dir_failure_started": "broker {node}: a log directory failed",
    "log_dir_failure_broker_halt": "broker {node} halts: no log directory is left",
    "zk_session_expired": "broker {node}: its session with ZooKeeper expired",
    "kraft_broker_session_timeout": "the controller misses the heartbeats of broker {broker}",
    "follower_truncated": "broker {node} truncated its log{to}",
    "log_truncated": "broker {node} truncated its log{to}",
    "log_truncated_fully": "broker {node} truncated its log fully{anew}",
    "replicas_out_of_sync": "the leader finds followers out of sync",
    "leader_and_isr_disk_error": "broker {node}: a disk failed it",
}
"""By event type of brokers' own records that belong to a story."""
OF_PARTITION = (
    "follower_truncated", "log_truncated", "log_truncated_fully", "replicas_out_of_sync", "leader_and_isr_disk_error",
)  # fmt: skip
"""Those of them that are about one partition."""
_FIRST_LINE = f"left(split_part(detail, chr(10), 1), {MOST_ERROR})"
ERROR = f"""nullif(trim(regexp_replace({_FIRST_LINE}, '{CONTROL_CHARACTERS}', ' ', 'g')), '') AS "error\""""
"""SQL: the first line of the stack trace behind a record, as one that a terminal can show; null if there is none."""


def process_steps(events: Iterable[Row], texts: Mapping[str, str] = PROCESSES) -> Iterator[Step]:
    """Rows of EVENTS in order -> what nodes wrote about themselves; what repeats within five seconds once.

    `offset`, where rows have it: to which offset a log was truncated, null if the line does not tell; `error`: see
    ERROR.
    """
    last: dict[tuple[str, int | None, int | None, str | None], datetime] = {}
    for row in events:
        text = texts.get(row["event_type"])
        offset = row.get("offset")
        key = row["event_type"], row["node_id"], row["broker_id"], offset
        if text is None or row["at"] is None:
            continue
        if key in last and row["at"] - last[key] < timedelta(seconds=5):
            continue
        last[key] = row["at"]
        node, broker = _id(row["node_id"]), _id(row["broker_id"])
        to, anew = ("", "") if offset is None else (f" to offset {offset}", f", to begin anew at offset {offset}")
        error = f": {row['error']}" if row.get("error") else ""
        words = text.format(node=node, broker=broker, to=to, anew=anew, error=error)
        yield Step(row["at"], words, ((row["file_id"], row["line"]),), 3, "process")
