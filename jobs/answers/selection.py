"""Which steps of a story are told if there are too many: what repeats once, what tells most, what is nearest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from jobs.answers.story import Step

WEIGHTS = {
    "cause": 0, "outage": 0, "unclean": 0, "election": 1, "leaderless": 1, "topic": 1, "failed_election": 2,
    "broker": 2, "reassignment": 3,
}  # fmt: skip
"""By kind of step, the lower the more it tells: what changed the leader before brokers' own records."""
OTHERS = 4
"""The weight of all others."""
BEFORE, AFTER = 3, 2
"""So many steps before and after the moment that was asked for are always told."""
ENDS_RUN = ("outage", "unclean", "election")
"""Kinds of steps after which what was the same before is not the same any more."""


def most_telling(
    steps: Sequence[Step],
    most: int,
    at: datetime | None = None,
    kept: Collection[datetime] = (),
    weights: Mapping[str, int] = WEIGHTS,
) -> list[Step]:
    """At most so many steps, in order: all if they are few enough.

    What is at the times `kept` comes first, such as the begin and the end of an outage, with what is next to the moment
    `at`; then what weighs least, ties by how near it is to `at`, or without one by time.
    """
    if len(steps) <= most:
        return list(steps)
    steps = gathered(steps)
    near = _next_to(steps, at)

    def order(number: int) -> tuple[bool, int, float, int]:
        step = steps[number]
        distance = abs((step.at - at).total_seconds()) if at is not None else 0.0
        is_kept = number in near or (step.at in kept and step.kind != "process")
        return not is_kept, weights.get(step.kind, OTHERS), distance, number

    return [steps[number] for number in sorted(sorted(range(len(steps)), key=order)[:most])]


def _next_to(steps: Sequence[Step], at: datetime | None) -> set[int]:
    """The numbers of the last steps before a moment and the first ones after it."""
    if at is None:
        return set()
    after = next((number for number, step in enumerate(steps) if step.at > at), len(steps))
    return {*range(max(after - BEFORE, 0), min(after + AFTER, len(steps)))}


def gathered(steps: Sequence[Step]) -> list[Step]:
    """Steps in order, those of a kind that say the same again as one, which says how often and until when."""
    result: list[Step] = []
    runs: dict[str, list[Step]] = {}
    place: dict[str, int] = {}
    for step in steps:
        run = runs.get(step.kind)
        if step.again is not None and run and run[0].again == step.again:
            run.append(step)
            result[place[step.kind]] = _as_one(run)
            continue
        if step.kind in ENDS_RUN:
            runs.clear()
        if step.again is not None:
            runs[step.kind], place[step.kind] = [step], len(result)
        result.append(step)
    return result


def _as_one(run: Sequence[Step]) -> Step:
    first, last = run[0], run[-1]
    until = last.at.isoformat(sep=" ", timespec="milliseconds")
    text = (first.again or "").format(count=len(run), until=until[11:] if first.at.date() == last.at.date() else until)
    return replace(first, text=text)
