"""New partitions that waited for their first leader: their first elections failed. They have no state meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from jobs.answers.lanes import NONE, Stretch
from jobs.answers.opened import OpenedCluster, places
from jobs.answers.story import Step
from jobs.answers.words import brokers_in_words, brokers_text, span_text
from jobs.nightly.summary_facts import Row
from jobs.nightly.wording import date_time, duration, plural
from jobs.nightly.words import listed, name_of
from jobs.read.create_views import literal

FIRST_LEADER_TABLES = ("elections", "partition_timeline", "topic_timeline", "events")
WITH_TOPIC = timedelta(seconds=5)
"""A partition whose first election fails at most so long after its topic was created was created with it."""
NONE_ALIVE = "No assigned replica is alive"
"""What the exception of a first election says if it fails for that."""


@dataclass(frozen=True)
class FirstLeaderWait:
    """A partition that was created, and had no leader yet."""

    topic: str
    partition: int
    incarnation: int
    failed: Sequence[Row]
    """Its elections that failed, in order; there is one at least."""
    created: Row | None = None
    """The event of its creation, if a line shows it."""
    created_at: datetime | None = None
    """When it was created; None: before its first election, at an unknown time."""
    until: datetime | None = None
    """When it had its first state, or its topic was deleted; None: neither by the end of the logs."""
    first_leader: int | None = None
    is_led: bool = False
    """Whether it has a state."""
    is_none_alive: bool = False
    """Whether a line says that none of its replicas was alive."""

    @property
    def since(self) -> datetime:
        """When it was created, or by when it was."""
        first: datetime = self.failed[0]["at"]
        return first if self.created_at is None else self.created_at

    @property
    def replicas(self) -> Sequence[int] | None:
        return self.created["replicas"] if self.created is not None else None

    def length(self, logs_end: datetime) -> str:
        """`53.6 s`; `at least 53.6 s` if it is not over when the logs end, or began before the first election."""
        ms = ((self.until or logs_end) - self.since) // timedelta(milliseconds=1)
        return f"{'at least ' if self.until is None or self.created_at is None else ''}{duration(ms)}"

    def is_during(self, since: datetime | None, until: datetime | None) -> bool:
        """Whether some part of it is in a time; None: no bound."""
        begins = until is None or self.since <= until
        return begins and (since is None or self.until is None or self.until >= since)


def first_leader_waits(opened: OpenedCluster, condition: str = "true") -> list[FirstLeaderWait]:
    """The waits of partitions that meet a condition on `topic` and `partition`, by topic, partition and incarnation."""
    key = ("topic", "partition", "incarnation")
    failed = opened.table(
        "elections", f"strategy = 'new' AND NOT succeeded AND ({condition})", 'topic, partition, incarnation, "at"'
    )
    groups = {group: list(rows) for group, rows in groupby(failed, lambda row: tuple(row[name] for name in key))}
    if not groups:
        return []
    states = opened.table("partition_timeline", condition, "topic, partition, incarnation, ordinal")
    first_states = {tuple(row[name] for name in key): row for row in reversed(states)}
    names = f"topic IN ({', '.join(sorted({literal(topic) for topic, _, _ in groups}))})"
    topics = {(row["topic"], row["incarnation"]): row for row in opened.table("topic_timeline", names)}
    created = opened.table(
        "events", f"event_type = 'partition_state_change' AND {names} AND fields['to_state'] = 'NewPartition'", '"at"'
    )
    reasons = opened.table(
        "events", f"event_type = 'partition_state_change_failed' AND {names} AND contains(detail, '{NONE_ALIVE}')"
    )
    telling = {(row["file_id"], row["line"]) for row in reasons}
    waits = []
    for (topic, partition, incarnation), rows in groups.items():
        state = first_states.get((topic, partition, incarnation))
        own = [row for row in rows if state is None or row["at"] < state["since"]]
        if own:
            mine = [row for row in created if (row["topic"], row["partition"]) == (topic, partition)]
            of_topic = topics.get((topic, incarnation))
            waits.append(_wait(own, state, of_topic, mine, telling))
    return waits


def _wait(
    failed: Sequence[Row], state: Row | None, topic: Row | None, created: Sequence[Row], telling: set[tuple[str, int]]
) -> FirstLeaderWait:
    """The wait of a partition, of its failed elections, its first state, its topic and events of its creation."""
    first, begin = failed[0], topic["since"] if topic is not None else None
    before = [row for row in created if row["at"] <= first["at"] and (begin is None or row["at"] >= begin)]
    created_at = before[-1]["at"] if before else None
    if not before and begin is not None and begin <= first["at"] <= begin + WITH_TOPIC:
        created_at = begin
    end = state["since"] if state is not None else topic["until"] if topic is not None else None
    return FirstLeaderWait(
        first["topic"], first["partition"], first["incarnation"], failed,
        before[-1] if before else None, created_at, end,
        None if state is None else state["leader"], state is not None,
        any(place in telling for place in places(first["evidence"])),
    )  # fmt: skip


# ---- words ----------------------------------------------------------------------------------------------------------
def waits_sentence(waits: Sequence[FirstLeaderWait], logs_end: datetime) -> str:
    """`2 partitions waited for their first leader: chaos-0 for 53.6 s, orders-13 for 41.1 s.`; empty for none."""
    if not waits:
        return ""
    longest = sorted(waits, key=lambda one: (one.since - (one.until or logs_end), one.topic, one.partition))
    each = listed(f"{name_of(vars(one))} for {one.length(logs_end)}" for one in longest)
    whose = "its" if len(waits) == 1 else "their"
    return f"{plural(len(waits), 'new partition')} waited for {whose} first leader: {each}."


def wait_answer(name: str, wait: FirstLeaderWait, logs_end: datetime) -> str:
    """How long a new partition had no leader, why, and what ended it."""
    length = wait.length(logs_end)
    if wait.until is None:
        text = (
            f"{name} has had no leader yet since it was created at {date_time(wait.since)} UTC ({length} by the logs)"
        )
    elif wait.is_led:
        text = f"{name} waited for its first leader for {length}, {span_text(wait.since, wait.until)}"
    else:
        text = (
            f"{name} never had a leader: it waited for its first one for {length}, {span_text(wait.since, wait.until)}"
        )
    parts = [_why(wait)]
    count = len(wait.failed)
    last = date_time(wait.failed[-1]["at"])[11:]
    parts.append(f"{plural(count, 'election')} failed, {'the last ' if count > 1 else ''}at {last}")
    if wait.first_leader is not None and wait.first_leader >= 0:
        parts.append(f"then broker {wait.first_leader} became its first leader")
    elif wait.until is not None and not wait.is_led:
        parts.append("then its topic was deleted")
    return f"{text}: {'; '.join(parts)}."


def _why(wait: FirstLeaderWait) -> str:
    replicas, alive = wait.replicas, wait.failed[0]["live_brokers"]
    is_apart = replicas is not None and alive is not None and not {*replicas} & {*alive}
    if replicas and (wait.is_none_alive or is_apart):
        brokers = brokers_in_words(replicas)
        if len(replicas) == 1:
            return f"its only replica, on {brokers}, was not alive"
        return f"none of its replicas, on {brokers}, was alive"
    return "none of its replicas was alive" if wait.is_none_alive else "why is in no line"


def wait_steps(wait: FirstLeaderWait) -> list[Step]:
    """That the partition was created, as far as its line is there; elections that failed are steps of their own."""
    if wait.created is None:
        return []
    text = f"created with replicas {brokers_text(wait.replicas)}, NO LEADER yet"
    return [Step(wait.created["at"], text, places([wait.created]), 20, "outage")]


def wait_stretch(wait: FirstLeaderWait, since: datetime, logs_end: datetime) -> Stretch:
    """The time of a wait in a picture that begins at a time."""
    return Stretch(max(wait.since, since), wait.until or logs_end, NONE, "", "red")


def wait_data(opened: OpenedCluster, wait: FirstLeaderWait) -> dict[str, object]:
    """A wait for programs, its lines as `path:line`."""
    lines = [wait.created] if wait.created is not None else []
    lines += [line for row in wait.failed[:1] for line in row["evidence"] or ()]
    return {
        "topic": wait.topic,
        "partition": wait.partition,
        "incarnation": wait.incarnation,
        "created_at": wait.created_at,
        "since": wait.since,
        "until": wait.until,
        "replicas": wait.replicas,
        "first_leader": wait.first_leader,
        "failed_elections": len(wait.failed),
        "last_failed_at": wait.failed[-1]["at"],
        "lines": [opened.names.line(line) for line in lines],
    }
