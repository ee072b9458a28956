"""Truncations of a partition's log that took something from it: the lines that announce one are none by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from jobs.nightly.summary_facts import Row

ANNOUNCED, TRUNCATED = "follower_truncated", "log_truncated"
WITHOUT_EFFECT = "log_truncation_without_effect"
"""What the log itself says to what its fetcher asked for: it ends before that offset (`Log.truncateTo`)."""
_AT_ONCE = timedelta(seconds=5)


def real_truncations(events: Sequence[Row]) -> list[Row]:
    """Rows of EVENTS about a partition, in order -> without truncations that had no effect, each of the others once.

    A fetcher's line announces what the log of its node says next: that it truncates, or that it need not. One that
    nothing follows stands for itself.
    """
    left_out: set[int] = set()
    asked: dict[int | None, int] = {}
    for number, row in enumerate(events):
        kind, node = row["event_type"], row["node_id"]
        if kind == ANNOUNCED:
            asked[node] = number
        elif kind in (TRUNCATED, WITHOUT_EFFECT):
            before = asked.pop(node, None)
            if before is not None and row["at"] - events[before]["at"] <= _AT_ONCE:
                left_out.add(before)
            if kind == WITHOUT_EFFECT:
                left_out.add(number)
    return [row for number, row in enumerate(events) if number not in left_out]
