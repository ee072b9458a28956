"""How brokers went away, as far as it is known: what their own logs show beats the end of a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from jobs.answers.opened import OpenedCluster
from jobs.nightly.summary_facts import Row

ABSENCE_TABLES = ("broker_timeline", "incidents")
SLACK = timedelta(seconds=2)
"""Lines of two nodes about one thing are at most so far apart."""
OWN_CAUSES = ("broker_crash", "broker_halted")
"""Values of `incidents.root_cause` that a broker's own lines show, where the controller saw a session end."""


def registrations(opened: OpenedCluster, condition: str = "true", order: str = "broker, since") -> list[Row]:
    """Rows of BROKER_TIMELINE that meet a condition, `ended_by` being the cause that the broker's incident names."""
    rows = opened.table("broker_timeline", condition, order)
    causes = ", ".join(f"'{cause}'" for cause in OWN_CAUSES)
    return with_causes(rows, opened.table("incidents", f"root_cause IN ({causes})", "since"))


def with_causes(rows: Iterable[Row], incidents: Sequence[Row]) -> list[Row]:
    """Rows of BROKER_TIMELINE, `ended_by` being the root cause of the broker's incident of that time, if it has one."""
    return [{**row, "ended_by": _cause(row, incidents) or row["ended_by"]} for row in rows]


def _cause(row: Row, incidents: Sequence[Row]) -> str | None:
    """The root cause of the incident within which a registration ended."""
    end = row["until"]
    of_broker = (one for one in incidents if end is not None and one["root_broker"] == row["broker"])
    return next(
        (
            one["root_cause"]
            for one in of_broker
            if one["since"] - SLACK <= end and (one["until"] is None or end <= one["until"])
        ),
        None,
    )
