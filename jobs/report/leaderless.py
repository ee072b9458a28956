"""When partitions had no leader, laid over their states, in which a dead leader may still stand. No queries.

Until 2.0 a ZooKeeper controller that finds nobody to lead writes no state; nor does one that is the last broker to go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from jobs.answers.outages import is_open
from jobs.nightly.summary_facts import Row
from schemas.kafka_values import NO_LEADER

Span = tuple[datetime, datetime | None]
"""From when until when; None: the end of the logs."""


def leaderless_spans(outages: Iterable[Row]) -> dict[tuple[str, int], list[Span]]:
    """OFFLINE_PARTITIONS -> by topic and partition when it surely had no leader, in order of time."""
    spans: dict[tuple[str, int], list[Span]] = {}
    for row in sorted(outages, key=lambda row: row["since"]):
        sure_end = row["since"] + timedelta(milliseconds=row["at_least_ms"] or 0)
        until = None if is_open(row) else row["until"] or sure_end
        spans.setdefault((row["topic"], row["partition"]), []).append((row["since"], until))
    return spans


def led_spans(
    since: datetime, until: datetime | None, leader: int | None, leaderless: Sequence[Span]
) -> Iterator[tuple[datetime, datetime | None, int | None]]:
    """A state's time in pieces, each with its leader: nobody leads in an outage, whoever stands in the state."""
    for begin, end in leaderless if leader != NO_LEADER else ():
        begin = max(begin, since)
        if (until is not None and begin >= until) or (end is not None and end <= begin):
            continue
        if since < begin:
            yield since, begin, leader
        end = until if end is None or (until is not None and end > until) else end
        yield begin, end, NO_LEADER
        if end == until:
            return
        since = end or begin
    yield since, until, leader
