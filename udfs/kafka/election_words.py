"""Verdicts on elections in words that an engineer checks by hand: inputs, who qualifies, what was logged."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from udfs.kafka.elections import Strategy
from udfs.kafka.judgements import UNKNOWN, lacking
from udfs.kafka.verdicts import Verdict

Row = Mapping[str, Any]
_BY = {
    Strategy.OFFLINE: "the first replica of the assignment that is alive and in the ISR leads",
    Strategy.REASSIGN: "the first target replica that is alive and in the ISR leads",
    Strategy.PREFERRED: "the first replica leads if it is alive and in the ISR",
    Strategy.CONTROLLED_SHUTDOWN: "the first other replica that is alive and in the ISR leads, those that shut down "
    "leave the ISR",
    "none": "a reassignment raises the leader epoch and changes nothing else",
    "new": "the replicas that are alive are the ISR, and the first of them leads",
    "replica_removal": "a replica that goes offline leaves the ISR, and the leader stays",
}
_IN_ORDER = (Strategy.OFFLINE, Strategy.REASSIGN, Strategy.CONTROLLED_SHUTDOWN, None)
"""Elections that try one replica after the other; null: of KRaft, or of a strategy that no line tells."""
_ONE_LEADER = re.compile(r"leader (\d+)(?:, ISR \[[\d, ]*\])?")
MOST_NAMED = 3
"""Most values of an input that an explanation names."""
_BY_UNKNOWN = "none of the elections, nor a new epoch of the same leader, may decide otherwise"
_BY_KRAFT = "the leader stays if it may lead; else the first replica that may lead and is in the ISR leads"
_BY_ELR = (
    f"{_BY_KRAFT}; if the ISR is empty, the ELR counts instead, and if both are, the only last known one leads, "
    "uncleanly"
)
"""Of partitions with eligible leader replicas (KIP-966)."""


def in_one_sentence(verdict: Verdict, row: Row, plausible: Sequence[Row] = ()) -> Verdict:
    """The verdict with an explanation that has the election's inputs, the rule, what follows and what was logged.
    `plausible`: the election with each value that inputs which no line prints may have had."""
    worked_out = {name: _distinct(name, plausible) for name in ("replicas", "isr_before") if row[name] is None}
    row = {**row, **{name: values[0] for name, values in worked_out.items() if len(values) == 1}}
    by_strategy = _BY.get(row.get("strategy") or "", _BY_UNKNOWN)
    by_kraft = _BY_ELR if row.get("elr_before") or row.get("last_known_before") else _BY_KRAFT
    rule = by_kraft if verdict.rule == "kraft_election" else by_strategy
    by_rule = f"{_inputs(row, worked_out)}: {rule}{_passed_over(verdict, row)}"
    text = f"{by_rule}. So {_expected(verdict)}; the log has {verdict.actual}."
    if verdict.verdict == UNKNOWN:
        text += f" It cannot be judged without {lacking(verdict.missing)}."
    return replace(verdict, explanation=text)


def _expected(verdict: Verdict) -> str:
    return f"{verdict.expected} is expected" if verdict.expected else "nothing follows"


def _passed_over(verdict: Verdict, row: Row) -> str:
    """` (2 is not alive, 4 is not in the ISR)`: the replicas before the one that is expected to lead, and why they do
    not; empty if it is the first, or several may lead."""
    leader = _ONE_LEADER.fullmatch(verdict.expected or "")
    order = row.get("target_replicas") or row["replicas"]
    if leader is None or not order or int(leader[1]) not in order or row.get("strategy") not in _IN_ORDER:
        return ""
    before = list(order)[: list(order).index(int(leader[1]))]
    why = [f"{broker} {reason}" for broker in before if (reason := _why_not(broker, row)) is not None]
    return f" ({', '.join(why)})" if why else ""


def _why_not(broker: int, row: Row) -> str | None:
    """Why a replica cannot lead; None where no input tells."""
    if broker in (row.get("shutting_down") or ()):
        return "shuts down"
    isr, elr = row["isr_before"], row.get("elr_before")
    name, eligible = ("ELR", elr) if elr and not isr else ("ISR", isr)
    if eligible is not None and broker not in eligible:
        return f"is not in the {name}"
    if row["live_brokers"] is not None and broker not in row["certainly_online"]:
        return "may not be alive" if broker in row["possibly_online"] else "is not alive"
    return None


def _distinct(name: str, rows: Sequence[Row]) -> list[list[int]]:
    """The different lists that rows have, in their order."""
    return [list(brokers) for brokers in dict.fromkeys(tuple(row[name]) for row in rows if row[name] is not None)]


def _worked_out(name: str, row: Row, worked_out: Mapping[str, list[list[int]]]) -> str:
    """`[2, 4]`, as a line prints it, or `[2, 4] or [2] (worked out)`."""
    values = worked_out.get(name, ())
    return f"{' or '.join(map(str, values))} (worked out)" if 0 < len(values) <= MOST_NAMED else _ids(row[name])


def _inputs(row: Row, worked_out: Mapping[str, list[list[int]]]) -> str:
    """`Assignment [2, 4, 1], ISR [2, 4], leader 2, alive [1, 4]`."""
    before = row["previous_leader"]
    leader = "leader unknown" if before is None else "no leader" if before < 0 else f"leader {before}"
    parts = [f"Assignment {_worked_out('replicas', row, worked_out)}"]
    parts.append(f"ISR {_worked_out('isr_before', row, worked_out)}")
    lists = {"ELR": row.get("elr_before"), "last known ELR": row.get("last_known_before")}
    parts += [*(f"{name} {_ids(brokers)}" for name, brokers in lists.items() if brokers), leader]
    alive = row["live_brokers"]
    surely, maybe = row["certainly_online"], sorted({*row["possibly_online"]} - {*row["certainly_online"]})
    if alive is not None:
        parts.append(f"alive {_ids(sorted(surely))}" + (f", maybe {_ids(maybe)}" if maybe else ""))
    if row.get("shutting_down"):
        parts.append(f"shutting down {_ids(row['shutting_down'])}")
    return ", ".join(parts)


def _ids(brokers: Any) -> str:
    return "unknown" if brokers is None else str(list(brokers))
