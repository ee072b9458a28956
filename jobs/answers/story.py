"""A story: one sentence that answers, a picture of the time, steps with the lines that prove them, what is unknown."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from jobs.answers.lanes import Lane, Paint, lane_lines, plain
from jobs.answers.opened import LogLine, Place
from udfs.describe.snapshot import iso
from udfs.printable import printable

QUOTED_LINES = 2
"""Lines that the quotation of a record may have, unless all of it was asked for."""
WIDTH = 78


@dataclass(frozen=True)
class Step:
    """Something that happened, with the lines that show it."""

    at: datetime
    text: str
    lines: tuple[Place, ...] = ()
    """A row's evidence has lines of before and after, too: see `with_nearest_lines`."""
    rank: int = 0
    """Of what happened at one time the lower comes first: causes before effects."""
    kind: str = "state"
    """`outage`, `leaderless` (still), `unclean`, `election`, `failed_election`, `isr`, `broker`, `controller`,
    `reassignment`, `process`."""
    most_lines: int = 1
    """How many of its lines are told."""
    again: str | None = None
    """How it is told together with others that say the same: `election failed {count} times until {until}`."""


@dataclass(frozen=True)
class Story:
    """What happened to something around a time."""

    cluster: str
    subject: str
    answer: str
    since: datetime
    until: datetime
    at: datetime | None = None
    """The moment that was asked for."""
    lanes: Sequence[Lane] = ()
    steps: Sequence[Step] = ()
    left_out: int = 0
    """Steps in that time that are not listed."""
    others: Sequence[tuple[str, str]] = ()
    """What else there is about the same thing, and the command that tells it; empty: none does."""
    unknown: Sequence[str] = ()
    """What the logs do not tell, a sentence each."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """For programs: the row that the story is about."""


COLOURS = {
    "cause": "yellow",
    "outage": "red",
    "leaderless": "red",
    "unclean": "red",
    "failed_election": "red",
    "election": "green",
    "broker": "yellow",
}
"""Of steps, on a terminal."""


def story_text(
    story: Story, lines: Mapping[Place, LogLine], width: int = WIDTH, paint: Paint = plain, *, whole: bool = False
) -> str:
    """A story for people, as plain text; what comes from logs is printable. `whole`: records are quoted as a whole."""
    head = printable(f"{story.subject}, cluster {story.cluster}")
    parts = [*wrapped(story.answer, width), ""]
    if story.lanes:
        name_width = max(len(lane.name) for lane in story.lanes)
        lane_width = max(30, width - name_width - 2)
        parts += [*lane_lines(story.lanes, story.since, story.until, lane_width, story.at, paint), ""]
    day, quoted = None, None
    for step in story.steps:
        if step.at.date() != day:
            day = step.at.date()
            parts.append(f"{day} (UTC), {head}")
        parts += step_lines(step, lines, width, paint, whole, quoted)
        quoted = with_nearest_lines(step, lines, 1).lines
    if story.left_out:
        parts.append(f"  ... {story.left_out:,} more steps in this time: --all lists them")
    parts += _section("Cannot be told from these logs:", story.unknown, width)
    parts += ["", "Also:"] if story.others else []
    for text, command in story.others:
        parts += [f"  - {printable(text)}", *([f"    {printable(command)}"] if command else [])]
    return "\n".join(parts).rstrip("\n")


def step_lines(
    step: Step,
    lines: Mapping[Place, LogLine],
    width: int,
    paint: Paint,
    whole: bool,
    quoted: tuple[Place, ...] | None = None,
) -> list[str]:
    """A step with its time, and the line that shows it quoted below, named only if it is the one `quoted` before; with
    `whole` all lines."""
    clock = f"{step.at:%H:%M:%S}.{step.at.microsecond // 1000:03d}"
    first, *rest = wrapped(step.text, width - 14) or [""]
    colour = COLOURS.get(step.kind)
    texts = [f"{clock}  {paint(first, colour)}", *(f"{'':<14}{paint(text, colour)}" for text in rest)]
    for place in step.lines if whole else with_nearest_lines(step, lines, 1).lines:
        line = lines.get(place)
        if line is None:
            continue
        if not whole and (step.kind == "process" or (place,) == quoted):
            texts[-1] += f"  {paint(printable(line.place), 'cyan')}"
            continue
        texts += _quote(line, max(width, 100) - 14, whole, paint)
    return texts


def with_nearest_lines(step: Step, lines: Mapping[Place, LogLine], most: int | None = None) -> Step:
    """The step with as many lines as are told of it, or `most`: those nearest to its time, in the order that they had.

    Of two that are as near it is the one that is not after it. A state's evidence may begin with a line of minutes
    before, which shows what was then; a line whose time is not known is told if no other is there.
    """

    def distance(place: Place) -> tuple[timedelta, bool]:
        at = lines[place].at if place in lines else None
        return (timedelta.max, True) if at is None else (abs(at - step.at), at > step.at)

    nearest = sorted(step.lines, key=distance)[: most or step.most_lines]
    return replace(step, lines=tuple(place for place in step.lines if place in nearest))


def _quote(line: LogLine, width: int, whole: bool, paint: Paint) -> list[str]:
    """`broker-3/state-change.log:310  the message`, of a long one its begin, and the first line of its detail."""
    message = f"{printable(line.place)}  {line.message or ''}"
    texts = wrapped(message, width)
    if len(texts) > QUOTED_LINES and not whole:
        texts = [*texts[: QUOTED_LINES - 1], f"{texts[QUOTED_LINES - 1][: width - 4]} ..."]
    if line.detail and (whole or len(texts) < QUOTED_LINES):
        texts.append(printable(line.detail.splitlines()[0])[:width])
    place = printable(line.place)
    return [
        f"{'':<14}{paint(text[: len(place)], 'cyan') + text[len(place) :] if n == 0 else text}"
        for n, text in enumerate(texts)
    ]


def _section(title: str, sentences: Sequence[str], width: int) -> list[str]:
    if not sentences:
        return []
    texts = ["", title]
    for sentence in sentences:
        first, *rest = wrapped(sentence, width - 4) or [""]
        texts += [f"  - {first}", *(f"    {text}" for text in rest)]
    return texts


def wrapped(text: str, width: int) -> list[str]:
    """Lines of printable text, broken between words; names of files and topics stay whole."""
    return textwrap.wrap(printable(text), width, break_long_words=False, break_on_hyphens=False)


def story_data(story: Story, lines: Mapping[Place, LogLine]) -> dict[str, Any]:
    """The same for programs. Times are ISO 8601, UTC; null is unknown."""
    return {
        "cluster": story.cluster,
        "subject": story.subject,
        "answer": story.answer,
        "at": iso(story.at),
        "since": iso(story.since),
        "until": iso(story.until),
        "facts": dict(story.facts),
        "steps": [
            {
                "at": iso(step.at),
                "kind": step.kind,
                "text": step.text,
                "lines": [line_data(lines[place]) for place in step.lines if place in lines],
            }
            for step in story.steps
        ],
        "steps_left_out": story.left_out,
        "cannot_be_told": list(story.unknown),
        "others": [{"text": text, "command": command or None} for text, command in story.others],
    }


def line_data(line: LogLine) -> dict[str, Any]:
    """A record for programs; `at` is the node's own clock."""
    return {
        "place": line.place,
        "at": iso(line.at),
        "level": line.level,
        "message": line.message,
        "detail": line.detail,
    }
