"""`why`: what is asked about, its story, and how it is printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import click

from jobs.answers.broker_story import BROKER_TABLES, broker_story
from jobs.answers.controller_story import CONTROLLER_TABLES, controller_story
from jobs.answers.lanes import Paint, plain
from jobs.answers.opened import OpenedCluster, log_lines, open_cluster
from jobs.answers.partition_story import MOST_STEPS, TABLES, partition_story, partitions_of
from jobs.answers.story import Story, story_data, story_text, with_nearest_lines
from jobs.describe.describe import moment_of
from jobs.nightly.words import listed
from jobs.read.output import write_text
from udfs.describe.snapshot import iso
from udfs.errors import BadInput
from udfs.merge.times import Moment


def print_why(
    root: str,
    subject: Sequence[str],
    asked: Moment | None,
    *,
    cluster: str | None,
    form: str,
    all_steps: bool,
    engine: str,
) -> None:
    """Print the story of a partition, a broker or the controller. Raises BadInput for what is not in the tables."""
    tables = {*TABLES, *BROKER_TABLES, *CONTROLLER_TABLES}
    with open_cluster(root, cluster, tables, engine) as opened:
        at = _moment(opened, asked)
        most = 1_000_000 if all_steps else MOST_STEPS
        story = _story(opened, " ".join(subject), at, most)
        lines = log_lines(opened, [place for step in story.steps for place in step.lines])
    story = replace(story, steps=[with_nearest_lines(step, lines) for step in story.steps])
    if form == "json":
        write_text([f"{json.dumps(story_data(story, lines), indent=2)}\n"], None)
        return
    width = min(shutil.get_terminal_size((80, 24)).columns, 110) - 2
    write_text([f"{story_text(story, lines, width, painter(), whole=all_steps)}\n"], None)


def _moment(opened: OpenedCluster, asked: Moment | None) -> datetime | None:
    """The moment that was asked for. Raises BadInput if it is not in the logs."""
    if asked is None:
        return None
    at = moment_of(asked, opened.last, opened.first)
    if not opened.first <= at <= opened.last:
        raise BadInput(
            f"The logs are from {iso(opened.first)} to {iso(opened.last)}: nothing is known about {iso(at)}."
        )
    return at


def _story(opened: OpenedCluster, subject: str, at: datetime | None, most: int) -> Story:
    if subject == "controller":
        return controller_story(opened, at, most)
    if match := re.fullmatch(r"broker (\d{1,9})", subject, re.ASCII):
        return broker_story(opened, int(match[1]), at, most)
    topic, dash, partition = subject.rpartition("-")
    is_partition = bool(dash and re.fullmatch(r"\d{1,9}", partition, re.ASCII)) and " " not in topic
    if (hint := _hint(subject)) and not (is_partition and partitions_of(opened, topic)):
        raise BadInput(hint)
    known = partitions_of(opened, subject)
    if is_partition and (partitions_of(opened, topic) or not known):
        return partition_story(opened, topic, int(partition), at, most)
    if known:
        names = listed((f"{subject}-{partition}" for partition in known), 3)
        raise BadInput(f"{subject} is a topic; name one of its partitions: {names}.")
    raise BadInput(f"{subject!r} is no partition; give one such as orders-3, or `broker 3`, or `controller`.")


def _hint(subject: str) -> str | None:
    """How to ask for what looks like a broker or controller; None for what does not."""
    if match := re.fullmatch(r"(?:broker|node)[ -]?(\d{1,9})", subject, re.ASCII | re.IGNORECASE):
        return f"{subject!r} is no partition; of a broker ask `why broker {match[1]}`."
    if re.fullmatch(r"controller[ -]?\d{1,9}", subject, re.ASCII | re.IGNORECASE):
        return f"{subject!r} is no partition; ask `why controller`, with --at for the one of that time."
    return None


def painter() -> Paint:
    """How text is coloured: on a terminal, unless NO_COLOR is set; else not at all."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return plain
    return lambda text, colour: click.style(text, fg=colour) if colour else text
