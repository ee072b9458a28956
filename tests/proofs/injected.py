"""What was done to a capture's cluster, as actions.jsonl has it, held against its incidents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from udfs.incidents.storms import FEWEST_PARTITIONS

Incident = Mapping[str, Any]
SLACK_MS = 2_000
LONGEST_NOTICE_MS = 15_000
"""Longer than the session timeout of the captures (9 s), and what a controller takes to act on its end."""
BOOT_MS = 10_000
"""A process that was started logs its first line within this time."""
SILENT_MS = 1_500
"""And none within this."""


CAUSES: Mapping[str, tuple[str, ...]] = {
    "kill": ("broker_crash", "controller_crash", "session_expired", "fenced"),
    "pause": ("session_expired", "fenced", "controller_changed"),
    "controlled_shutdown": ("controlled_shutdown", "controller_shutdown"),
    "log_dir_failure": ("log_dir_failure",),
}
"""By action the root causes that its incident may have; of who is not back when the logs end none tells a crash."""
AWAY = ("kill", "pause", "controlled_shutdown")
OF_OUTAGES: Mapping[str, tuple[str, ...]] = {
    "start_failed": ("start", "log_dir_failure"),
    "broker_halted": ("log_dir_failure",),
    "bounced": AWAY,
    "no_controller": AWAY,
    "no_live_isr": (*AWAY, "log_dir_failure"),
}
"""Actions that lead to an outage, by further causes that one may have, but for `topic_deletion`."""


@dataclass
class Injected:
    """One action that has to be an incident: what it is called, of which node, from when until when it may begin."""

    kind: str
    node: int | None
    ms: int
    causes: tuple[str, ...]
    until_ms: int
    incidents: list[Incident] = field(default_factory=list)


def dropped(states: Iterable[Mapping[str, Any]], node: int | None, since: int, until: int) -> set[tuple[str, int]]:
    """Partitions whose leader took a node out of the ISR in a span of time."""
    last: dict[tuple[str, int], Mapping[str, Any]] = {}
    partitions = set()
    for state in sorted(states, key=lambda row: row["since"]):
        partition = (state["topic"], state["partition"])
        before, last[partition] = last.get(partition), state
        if before is None or before["leader"] != state["leader"]:
            continue
        removed = {*before["isr"]} - {*state["isr"]}
        if since <= state["since"] <= until and node in removed:
            partitions.add(partition)
    return partitions


def read_actions(folder: Path) -> list[dict[str, Any]]:
    """The actions of a capture, in order, `node` of all names of it."""
    rows = [json.loads(line) for line in (folder / "actions.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{**row, "node": row.get("node", row.get("broker"))} for row in rows]


Truth = Mapping[str, Iterable[Mapping[str, Any]]]
"""Tables of a capture's truth, times in ms."""


def injected(actions: list[dict[str, Any]], truth: Truth) -> Iterator[Injected]:
    """What of the actions went wrong, or was a shutdown.

    A process that was frozen counts if its broker's session ended by that, or its term as controller, or if it was out
    of many ISRs by that. What is done to a process that was started moments ago counts if that had logged anything.
    """
    ends = [(row["broker"], row["until"]) for row in truth["broker_timeline"] if row["until"] is not None]
    ends += [(row["controller_id"], row["until"]) for row in truth["controller_timeline"] if row["until"] is not None]

    def has_ended(node: int | None, since: int, until: int) -> bool:
        return any(who == node and since <= end <= until for who, end in ends)

    for number, row in enumerate(actions):
        ms, node = row["ms"], row["node"]
        if _is_fresh(actions[:number], row, truth):
            continue
        of_node = [later for later in actions[number + 1 :] if later["node"] == node]
        if row["action"] == "kill":
            start = next((later["ms"] for later in of_node if later["action"] == "start"), ms)
            late = max(ms + LONGEST_NOTICE_MS, start + BOOT_MS)
            yield Injected("kill", node, ms, CAUSES["kill"], late)
        elif row["action"] == "pause":
            resumed = next((later["ms"] for later in of_node if later["action"] == "resume"), ms)
            if has_ended(node, ms, resumed + SLACK_MS):
                yield Injected("pause", node, ms, CAUSES["pause"], resumed + SLACK_MS)
            elif len(dropped(truth["partition_timeline"], node, ms, resumed + SLACK_MS)) >= FEWEST_PARTITIONS:
                yield Injected("storm", node, ms, ("isr_shrink_storm",), resumed + SLACK_MS)
        elif row["action"] == "controlled_shutdown":
            yield Injected("shutdown", node, ms, CAUSES["controlled_shutdown"], ms + SLACK_MS)
        elif row["action"] == "log_dir_failure":
            yield Injected("log dir", node, ms, CAUSES["log_dir_failure"], ms + LONGEST_NOTICE_MS)
        elif row["action"] == "delete_controller_znode":
            yield Injected("controller", row["controller"], ms, ("controller_changed",), ms + SLACK_MS)
        elif row["action"] == "remove_controller" and has_ended(node, ms, ms + SLACK_MS):
            yield Injected("controller", node, ms, ("controller_changed",), ms + SLACK_MS)


def _is_fresh(before: list[dict[str, Any]], action: Mapping[str, Any], truth: Truth) -> bool:
    """Whether a process is killed, shut down or frozen that was started less than a JVM takes to log a line before; one
    that is frozen before it registered does not end a session by that, either."""
    starts = [row["ms"] for row in before if row["node"] == action["node"] and row["action"] == "start"]
    if not starts or action["action"] not in ("kill", "controlled_shutdown", "pause"):
        return False
    if action["ms"] - starts[-1] <= SILENT_MS:
        return True
    begins = (row["since"] for row in truth["broker_timeline"] if row["broker"] == action["node"])
    is_broker = any(row["broker"] == action["node"] for row in truth["broker_timeline"])
    is_registered = any(starts[-1] <= begin <= action["ms"] for begin in begins)
    return action["action"] == "pause" and is_broker and not is_registered and action["ms"] - starts[-1] <= BOOT_MS


def was_done(outage: Mapping[str, Any], actions: Iterable[Mapping[str, Any]]) -> bool:
    """Whether an outage (`topic`, `since`, `cause`, `cause_broker`, `cause_at`, `cause_after`, times in ms) has a cause
    that was done to its broker, or topic, so shortly before that it can be that."""
    times = [outage[name] for name in ("since", "cause_at", "cause_after") if outage[name] is not None]
    end = (outage["since"] if outage["cause_at"] is None else outage["cause_at"]) + SLACK_MS
    near = [row for row in actions if min(times) - LONGEST_NOTICE_MS - SLACK_MS <= row["ms"] <= end]
    if outage["cause"] == "topic_deletion":
        return any(row["action"] == "delete_topic" and row["topic"] == outage["topic"] for row in near)
    kinds = {kind for kind, causes in CAUSES.items() if outage["cause"] in causes} | {
        *OF_OUTAGES.get(outage["cause"], ())
    }
    return any(row["action"] in kinds and row["node"] == outage["cause_broker"] for row in near)


def is_deletion(incident: Incident, actions: Iterable[Mapping[str, Any]]) -> bool:
    """Whether an incident is the wait for a deletion that was asked for."""
    topics = {row["topic"] for row in actions if row["action"] == "delete_topic"}
    return incident["root_cause"] == "topic_deletion" and any(f" {topic} " in incident["title"] for topic in topics)


def controller_steps(incidents: Iterable[Incident], node: int | None, ms: int) -> bool:
    """Whether an incident of another cause has the end of a node's term as controller about then among its steps."""
    return any(
        step["what"].endswith(f"as controller from node {node}") and abs(step["at"] - ms) <= SLACK_MS
        for incident in incidents
        for step in incident["steps"]
    )


def is_restart(incidents: Iterable[Incident], action: Injected) -> bool:
    """Whether a node was stopped, or lost a directory, once more before it was back: its incident has several starts
    as steps, or one that failed, and lasted beyond that."""
    if action.kind not in ("kill", "shutdown", "log dir"):
        return False
    for incident in incidents:
        steps = [step["what"].split(":")[0] for step in incident["steps"]]
        starts = sum(
            what.endswith((f" {action.node} started anew", f" {action.node} failed to start")) for what in steps
        )
        lasts = incident["until"] is None or action.ms < incident["until"]
        if incident["root_broker"] == action.node and incident["since"] - SLACK_MS < action.ms and lasts and starts > 1:
            return True
    return False


def match(actions: Iterable[Injected], incidents: Iterable[Incident]) -> tuple[list[Injected], list[Incident]]:
    """The actions with the incidents of their node and cause that begin in their time, and the incidents of none.

    Each incident is of one action: of those that it can be, the last before it began.
    """
    rows, left = list(actions), []
    for incident in sorted(incidents, key=lambda row: row["since"]):
        may_be = [
            row
            for row in rows
            if row.node == incident["root_broker"]
            and incident["root_cause"] in row.causes
            and row.ms - SLACK_MS <= incident["since"] <= row.until_ms
            and not row.incidents
        ]
        if may_be:  # clocks of logs may be late, and early by a moment
            begin = incident["since"]
            max(may_be, key=lambda row: (row.ms <= begin, row.ms if row.ms <= begin else -row.ms)).incidents.append(
                incident
            )
        else:
            left.append(incident)
    return rows, left
