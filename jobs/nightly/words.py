"""How causes, ends and losses are written on the screen of a run and in answers. What no entry knows is written as the
table has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jobs.nightly.summary_facts import Row
from jobs.nightly.wording import plural

CAUSES = {
    "broker_failure": "{broker} failed",
    "broker_crash": "{broker} crashed",
    "broker_halted": "{broker} halted",
    "start_failed": "{broker} failed to start",
    "session_expired": "{broker} lost its session with ZooKeeper",
    "controlled_shutdown": "{broker} was shut down",
    "fenced": "{broker} was fenced",
    "bounced": "{broker} restarted",
    "log_dir_failure": "a log directory of {broker} failed",
    "topic_deletion": "the topic was being deleted",
    "no_live_isr": "{broker}, the last replica in sync, was gone",
    "no_controller": "no controller was there to elect a leader",
}
"""Values of `offline_partitions.cause`."""
HEALERS = {
    "clean_election": "a clean election",
    "unclean_election": "an unclean election",
    "broker_return": "the return of {broker}",
    "topic_deletion": "the topic's deletion",
    "deletion": "the topic's deletion",
    "reassignment": "a reassignment",
}
"""Values of `offline_partitions.healed_by`."""


def cause_text(row: Row) -> str | None:
    """Why a partition lost its leader; None if it is not known."""
    if row["cause"] is None:
        return None
    return _known(CAUSES, row["cause"], row.get("cause_broker"))


def healer_text(row: Row) -> str | None:
    """What brought a leader back; None if nothing did, or it is not known."""
    if row["healed_by"] is None:
        return None
    return _known(HEALERS, row["healed_by"], row.get("healed_by_broker"))


def _known(texts: dict[str, str], value: str, broker: int | None) -> str:
    text = texts.get(value, value.replace("_", " "))
    return text.format(broker="a broker" if broker is None else f"broker {broker}")


def led_on(row: Row) -> bool:
    """Whether an unclean election elected the last leader itself, which loses what its disk has lost, and no more."""
    return row.get("last_leader") is not None and row["last_leader"] == row.get("leader")


def lost_text(row: Row) -> str:
    """How many records an unclean election lost, as far as it is known."""
    least, most = row.get("lost_records_min"), row.get("lost_records_max")
    if most is None and led_on(row):
        offset = row.get("start_offset")
        with_log = "" if offset is None else f", with its log to offset {offset:,}"
        return f"the last leader itself led on{with_log}; more is lost only if its disk lost it"
    if most is None and not least:
        return "how many records it lost is not known"
    if most is None:
        return f"it lost at least {plural(least or 0, 'record')}"
    if least == most:
        return f"it lost {plural(least, 'record')}" if least else "it lost no records"
    return f"it lost {least or 0:,} to {plural(most, 'record')}"


def listed(values: Iterable[Any], most: int = 5) -> str:
    """`a, b, c and 4 more`."""
    texts = [str(value) for value in values]
    rest = len(texts) - most
    return f"{', '.join(texts[:most])} and {rest:,} more" if rest > 0 else ", ".join(texts)


def first_of(names: Sequence[str], count: int) -> str:
    """`a-0, a-1 and 12 more`: the first names of so many."""
    return ", ".join(names) + (f" and {count - len(names):,} more" if count > len(names) else "")


def name_of(row: Row) -> str:
    """`orders-3`"""
    return f"{row['topic']}-{row['partition']}"


def single_point_text(broker: int, count: int, names: Sequence[str]) -> str:
    """`14 partitions live on broker 3 alone, their other replicas are not in sync: a-0, a-1 and 12 more`."""
    live, other = ("partition lives", "its") if count == 1 else ("partitions live", "their")
    return (
        f"{count:,} {live} on broker {broker} alone, {other} other replicas are not in sync: {first_of(names, count)}"
    )
