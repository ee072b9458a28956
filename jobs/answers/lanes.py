"""A span of time as rows of characters, one for each thing that changes in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

NONE, FADED, UP, UNKNOWN = "▒", "─", "█", " "
"""No leader; a state that goes on; alive; nothing known."""


@dataclass(frozen=True)
class Stretch:
    """From when to when a lane shows a mark; its label stands at the begin where it fits."""

    since: datetime
    until: datetime
    mark: str
    label: str = ""
    colour: str | None = None


@dataclass(frozen=True)
class Lane:
    """What changes over a time, by stretches in order; of two that share a column the more urgent one is seen."""

    name: str
    stretches: Sequence[Stretch]


Paint = Callable[[str, str | None], str]
"""A text in a colour."""


def plain(text: str, _: str | None) -> str:
    """Text without colour."""
    return text


def lane_lines(
    lanes: Sequence[Lane],
    since: datetime,
    until: datetime,
    width: int,
    at: datetime | None = None,
    paint: Paint = plain,
) -> list[str]:
    """The lanes below a scale of times; `at` is marked below them."""
    name_width = max([len(lane.name) for lane in lanes] + [4])
    begin, end = (f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}" for moment in (since, until))
    lines = [f"{'UTC':<{name_width}}  {begin}{end:>{max(width - len(begin), len(end) + 1)}}"]
    for lane in lanes:
        text = lane_text(lane, since, until, width, paint)
        lines += [f"{lane.name:<{name_width}}  {text}".rstrip()] if text.strip() else []
    if at is not None and since <= at <= until:
        lines.append(f"{'':<{name_width}}  {'':<{_column(at, since, until, width)}}▲ {at:%H:%M:%S}")
    return lines


def _column(at: datetime, since: datetime, until: datetime, width: int) -> int:
    """In which column a moment is."""
    return max(0, min(width - 1, int(width * ((at - since) / max(until - since, timedelta(milliseconds=1))))))


def lane_text(lane: Lane, since: datetime, until: datetime, width: int, paint: Paint = plain) -> str:
    """A lane's characters. What is shorter than a column has one all the same; being without a leader hides the rest.

    >>> t = datetime(2026, 11, 21)
    >>> second = timedelta(seconds=1)
    >>> led = Stretch(t, t + 5 * second, FADED, "1")
    >>> lane_text(Lane("leader", [led, Stretch(t + 5 * second, t + 10 * second, NONE)]), t, t + 10 * second, 10)
    '1────▒▒▒▒▒'
    """
    marks: list[str] = [UNKNOWN] * width
    colours: list[str | None] = [None] * width
    urgent = [False] * width
    for stretch in lane.stretches:
        if stretch.until < since or stretch.since > until:
            continue
        first = _column(stretch.since, since, until, width)
        last = _column(stretch.until, since, until, width)
        last = max(first, last - 1 if stretch.until < until else last)
        text = stretch.label + stretch.mark * width if len(stretch.label) <= last - first + 1 else stretch.mark * width
        for column in range(first, last + 1):
            if urgent[column] and stretch.mark != NONE:
                continue
            marks[column], colours[column] = text[column - first], stretch.colour
            urgent[column] = urgent[column] or stretch.mark == NONE
    return _painted(marks, colours, paint)


def _painted(marks: Sequence[str], colours: Sequence[str | None], paint: Paint) -> str:
    """Characters, those of one colour painted at once."""
    pieces: list[tuple[str, str | None]] = []
    for mark, colour in zip(marks, colours, strict=True):
        if pieces and pieces[-1][1] == colour:
            pieces[-1] = pieces[-1][0] + mark, colour
        else:
            pieces.append((mark, colour))
    return "".join(paint(text, colour) if colour else text for text, colour in pieces)
