"""How causes, ends and lengths are written in answers. What no entry knows is written as the table has it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from jobs.nightly.wording import date_time

ENDS = {
    "controlled_shutdown": "shut down under control",
    "session_expired": "session with ZooKeeper expired",
    "fenced": "fenced by the controller",
    "bounced": "restarted",
    "broker_crash": "crashed",
    "broker_halted": "halted after an error",
    "start_failed": "could not start",
}
"""Values of `broker_timeline.ended_by`, and of `incidents.root_cause` that name the same better."""


def failed_election_text(strategy: str | None, has_leader: bool | None) -> str:
    """What is said of an election that failed; one for the preferred leader or a controlled shutdown takes no leader
    away. `has_leader`: whether the partition had one then, None if nobody knows."""
    if strategy == "controlled_shutdown":
        return "election for a controlled shutdown failed"
    if strategy != "preferred":
        return "election failed"
    stays = {True: ", the leader stays", False: ", there is still no leader", None: ""}[has_leader]
    return f"preferred election failed{stays}"


def span_text(since: datetime, until: datetime | None, open_text: str = "the end of the logs") -> str:
    """`from 2026-11-21 11:47:34.961 to 11:47:52.714 UTC`; the date is written once if it is the same."""
    if until is None:
        return f"from {date_time(since)} UTC to {open_text}"
    end = date_time(until)
    return f"from {date_time(since)} to {end[11:] if since.date() == until.date() else end} UTC"


def isr_text(isr: Sequence[int]) -> str:
    """`the ISR was 1,2`; `the ISR was empty`."""
    return f"the ISR was {brokers_text(isr) if isr else 'empty'}"


def brokers_text(brokers: Sequence[int] | None) -> str:
    """`1,2`; `none`; `unknown`."""
    if brokers is None:
        return "unknown"
    return ",".join(map(str, brokers)) or "none"


def brokers_in_words(brokers: Sequence[int]) -> str:
    """`broker 3`; `brokers 1, 2`: as a sentence has them."""
    return f"broker{'s' if len(brokers) > 1 else ''} {', '.join(map(str, brokers))}"


def was_or_were(brokers: Sequence[int]) -> str:
    """The verb behind `brokers_in_words`."""
    return "were" if len(brokers) > 1 else "was"
