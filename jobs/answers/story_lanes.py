"""The picture of a story: who led a partition, who was in sync, which brokers were there, who was controller."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from jobs.answers.first_leaders import wait_stretch
from jobs.answers.lanes import FADED, NONE, UP, Lane, Stretch
from jobs.answers.partition_steps import PartitionRows, unwritten_outages
from jobs.answers.words import brokers_text
from jobs.nightly.summary_facts import Row

COLOURS = ("green", "blue", "magenta", "cyan", "yellow", "white")
"""Of leaders, by their ids."""


def partition_lanes(rows: PartitionRows, since: datetime, until: datetime, logs_end: datetime) -> list[Lane]:
    """Leader, ISR, its brokers and the controllers over a time."""

    def around(some: Iterable[Row]) -> list[Row]:
        return [row for row in some if row["since"] <= until and (row["until"] is None or row["until"] >= since)]

    states, unwritten = around(rows.states), unwritten_outages(rows)
    leaders = [wait_stretch(wait, since, logs_end) for wait in rows.waits if wait.is_during(since, until)]
    isrs = []
    for state in states:
        end = state["until"] or logs_end
        begin = max(state["since"], since)
        leader = state["leader"]
        if leader == -1:
            leaders.append(Stretch(begin, end, NONE, "", "red"))
        elif leader is not None:
            lost_at = min([end, *(row["since"] for row in unwritten if begin <= row["since"] < end)])
            leaders.append(Stretch(begin, lost_at, FADED, str(leader), COLOURS[leader % len(COLOURS)]))
            leaders += [Stretch(lost_at, end, NONE, "", "red")] if lost_at < end else []
        if state["isr"] is not None:
            isrs.append(Stretch(begin, end, "·", brokers_text(state["isr"])))
    lanes = [Lane("leader", _joined(leaders)), Lane("ISR", _joined(isrs))]
    lanes += broker_lanes(around(rows.brokers), since, logs_end)
    lanes.append(controller_lane(around(rows.terms), since, logs_end))
    return [lane for lane in lanes if lane.stretches]


def broker_lanes(registrations: Iterable[Row], since: datetime, logs_end: datetime) -> list[Lane]:
    """Rows of BROKER_TIMELINE -> a lane for each broker, empty where it was away."""
    by_broker: dict[int, list[Stretch]] = {}
    for row in registrations:
        stretch = Stretch(max(row["since"], since), row["until"] or logs_end, UP)
        by_broker.setdefault(row["broker"], []).append(stretch)
    return [Lane(f"broker {broker}", stretches) for broker, stretches in sorted(by_broker.items())]


def controller_lane(terms: Iterable[Row], since: datetime, logs_end: datetime) -> Lane:
    """Rows of CONTROLLER_TIMELINE -> who was controller."""
    return Lane(
        "controller",
        [
            Stretch(max(row["since"], since), row["until"] or logs_end, FADED, str(row["controller_id"]))
            for row in terms
        ],
    )


def _joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Stretches of which those that follow each other with one label and mark are one."""
    joined: list[Stretch] = []
    for stretch in stretches:
        last = joined[-1] if joined else None
        if last and (last.mark, last.label) == (stretch.mark, stretch.label) and last.until >= stretch.since:
            joined[-1] = Stretch(last.since, stretch.until, last.mark, last.label, last.colour)
        else:
            joined.append(stretch)
    return joined
