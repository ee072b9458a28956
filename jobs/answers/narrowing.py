"""Of which time and topics an answer is: `--since`, `--until` and `--topic`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jobs.answers.opened import OpenedCluster
from jobs.answers.words import span_text
from jobs.describe.describe import matching, moment_of, topic_meant
from jobs.read.create_views import literal, time_literal
from udfs.describe.snapshot import iso
from udfs.errors import BadInput
from udfs.merge.times import Moment


@dataclass(frozen=True)
class Narrowing:
    """What is asked for of a cluster: all of it, unless something is set."""

    since: datetime | None = None
    until: datetime | None = None
    topic: str | None = None
    """As it was given."""
    topics: frozenset[str] = frozenset()
    """Those that it matches."""

    def overlapping(self) -> str:
        """Of rows with `since` and `ended_before`, in SQL: those of which some part is asked for."""
        begin = "" if self.until is None else f" AND since <= {time_literal(self.until)}"
        end = "" if self.since is None else f" AND coalesce(ended_before >= {time_literal(self.since)}, true)"
        return f"{self.of_topics()}{begin}{end}"

    def within(self) -> str:
        """Of rows with `at`, in SQL: those that are asked for."""
        begin = "" if self.since is None else f' AND "at" >= {time_literal(self.since)}'
        end = "" if self.until is None else f' AND "at" <= {time_literal(self.until)}'
        return f"{self.of_topics()}{begin}{end}"

    def of_topics(self) -> str:
        """Of rows with `topic`, in SQL: those of the topics that are asked for."""
        return "true" if self.topic is None else f"topic IN ({', '.join(map(literal, sorted(self.topics)))})"

    def span(self, opened: OpenedCluster) -> str:
        """`from 2026-11-21 11:47:34.961 to 11:47:52.714 UTC in topic payments`: what an answer is about."""
        since, until = max(self.since or opened.first, opened.first), min(self.until or opened.last, opened.last)
        text = span_text(since, until)
        if self.topic is None:
            return text
        is_name = self.topics == {self.topic}
        return f"{text} in topic {self.topic}" if is_name else f"{text} in topics that match {self.topic!r}"


ALL = Narrowing()
"""All of a cluster."""
NARROWING_TABLES = ("topic_timeline",)
"""Tables that `narrowed` reads."""


def narrowed(opened: OpenedCluster, since: Moment | None, until: Moment | None, topic: str | None) -> Narrowing:
    """What the options ask for. Raises BadInput for times outside of the logs, and for a topic that is not in them."""
    begin, end = (None if asked is None else moment_of(asked, opened.last, opened.first) for asked in (since, until))
    if begin is not None and end is not None and begin > end:
        raise BadInput(f"--since {iso(begin)} is after --until {iso(end)}; exchange them.")
    if begin is not None and begin > opened.last:
        raise BadInput(f"The logs end at {iso(opened.last)}: nothing is known since {iso(begin)}.")
    if end is not None and end < opened.first:
        raise BadInput(f"The logs begin at {iso(opened.first)}: nothing is known until {iso(end)}.")
    return Narrowing(begin, end, topic, frozenset() if topic is None else _topics(opened, topic))


def _topics(opened: OpenedCluster, topic: str) -> frozenset[str]:
    names = {row["topic"] for row in opened.table("topic_timeline")}
    matches = matching(topic, names)
    if not matches:
        raise BadInput(f"There is no topic {topic} in the logs; {topic_meant(topic, names)}")
    return frozenset(matches)
