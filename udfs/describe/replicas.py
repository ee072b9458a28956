"""Replicas of a cluster at one moment: which were in sync, and how far the others were behind where lines say.

What `kafka-replica-verification` asks the brokers of a running cluster, out of its logs: these print where a log ends
only as a follower leaves the ISR (2.1 on), as a broker begins to lead (0.11 on) or to follow (2.6 on), and as a log is
loaded or cut off. So a lag is that of its line; it is exact where the leader printed both ends together, and else a
lower bound, for a leader's log only grows while it leads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from udfs.describe.kafka_topics import UNKNOWN, DescribedPartition, Selection, as_received, partition_line
from udfs.describe.snapshot import Snapshot, iso

Row = Mapping[str, Any]

SHRINKING = "isr_shrinking"
LEADS = ("partition_leader_epoch_started", "leader_epoch_started")
FOLLOWS, LOADED, TRUNCATED = "partition_follower_epoch_started", "log_loaded", "log_truncated"
LINES = (SHRINKING, *LEADS, FOLLOWS, LOADED, TRUNCATED)
"""Events that print where a replica's log ends."""
SHRINK_LATE = timedelta(seconds=5)
"""So long before the first proof of a state the leader's shrink line may be."""
_OUT_OF_SYNC = re.compile(r"brokerId: (\d+), endOffset: (\d+)")


@dataclass(frozen=True)
class LogEnd:
    """Where the log of a replica ended, as its last line prints it; `lag_min`, `lag_max`: how many records it lacked of
    the leader's log, equal if exact, `lag_max` null if it may be more, both null if the leader's end is not known."""

    offset: int
    at: datetime
    evidence: str
    lag_min: int | None = None
    lag_max: int | None = None


@dataclass(frozen=True)
class ReplicaStatus:
    """One replica of a partition. `in_sync` null: the ISR is not known."""

    replica: int
    state: str
    """Of its broker: `alive`, `shutting_down`, `gone` or `unknown`."""
    in_sync: bool | None
    out_since: datetime | None = None
    """First proof of a state without it, after the last one with it; null if it is in sync, or never was as far as the
    logs show."""
    log_end: LogEnd | None = None
    """Null if it is in sync, or no line since it left prints it."""


@dataclass(frozen=True)
class VerifiedPartition:
    """A partition with the states of its replicas, in the order of the assignment; of its ISR if that is unknown."""

    topic: str
    partition: DescribedPartition
    replicas: tuple[ReplicaStatus, ...]


def verified(
    snapshot: Snapshot,
    selection: Selection,
    left_isr: Mapping[tuple[str, int, int], datetime],
    lines: Iterable[Row],
    paths: Mapping[str, str],
) -> list[VerifiedPartition]:
    """The partitions of a selection with their replicas.

    `left_isr`: when a replica (topic, partition, broker) that had been in the ISR no longer was; `lines`: events of
    LINES up to the moment (topic, partition, at, file_id, line, event_type, writer, leader_epoch, end_offset,
    out_of_sync_replicas). Topics that brokers no longer listed are left out, as `kafka-topics` does.
    """
    cluster = snapshot.state
    states = {broker.broker: broker.state for broker in cluster.brokers}
    lines_of: dict[tuple[str, int], list[Row]] = {}
    for line in lines:
        lines_of.setdefault((line["topic"], line["partition"]), []).append(line)
    whole: list[VerifiedPartition] = []
    for topic, partitions in selection.topics:
        if topic.deleting and cluster.tool.asks_brokers:
            continue
        for p in partitions:
            statuses = []
            for replica in p.replicas if p.replicas is not None else p.isr or ():
                status = ReplicaStatus(
                    replica, states.get(replica, "unknown"), None if p.isr is None else replica in p.isr
                )
                if status.in_sync is False:
                    since = left_isr.get((topic.name, p.partition, replica))
                    end = log_end(replica, lines_of.get((topic.name, p.partition), ()), since, paths)
                    status = ReplicaStatus(replica, status.state, False, since, end)
                statuses.append(status)
            whole.append(VerifiedPartition(topic.name, p, tuple(statuses)))
    return whole


def log_end(replica: int, lines: Sequence[Row], since: datetime | None, paths: Mapping[str, str]) -> LogEnd | None:
    """Where a replica's log ended by the last of the lines on one partition from a time on; None if no line prints it.

    A leader's shrink line has both ends; it comes up to SHRINK_LATE before the first proof that the replica left. Else
    the leader's end is the last that it had printed by then, or the one with which it began the leader epoch that the
    replica follows in.
    """
    starts = {line["leader_epoch"]: line["end_offset"] for line in lines if line["event_type"] in LEADS}
    leaders_end: int | None = None
    last: LogEnd | None = None
    for line in sorted(lines, key=lambda row: (row["at"], row["file_id"], row["line"])):
        kind, is_own = line["event_type"], line["writer"] == replica
        offset = lag_min = lag_max = None
        if kind == SHRINKING:
            ends = dict(_OUT_OF_SYNC.findall(line["out_of_sync_replicas"] or ""))
            if str(replica) in ends and line["end_offset"] is not None:
                offset = int(ends[str(replica)])
                lag_min = lag_max = line["end_offset"] - offset
        elif is_own and kind not in LEADS:
            offset = line["end_offset"]
            known = [end for end in (starts.get(line["leader_epoch"]), leaders_end) if end is not None]
            lag_min = max(0, max(known) - offset) if known else None
        if kind == SHRINKING or kind in LEADS:
            leaders_end = None if is_own else line["end_offset"]
        slack = SHRINK_LATE if kind == SHRINKING else timedelta(0)
        if offset is not None and (since is None or line["at"] >= since - slack):
            place = f"{paths.get(line['file_id'], '?')}:{line['line']}"
            last = LogEnd(offset, line["at"], place, lag_min, lag_max)
    return last


# ---- how it is printed ----------------------------------------------------------------------------------------------
def as_lines(snapshot: Snapshot, partitions: Sequence[VerifiedPartition]) -> Iterator[str]:
    """A line for each partition, in kafka-topics' words, then one for each of its replicas; at the end the largest lag,
    in the words of kafka-replica-verification, if any lag is known."""
    cluster = snapshot.state
    topics = {topic.name: topic for topic in cluster.topics}
    lagging: list[tuple[int, LogEnd, str]] = []
    for one in partitions:
        received = as_received(cluster.tool, one.partition, cluster.alive)
        yield partition_line(cluster.tool, topics[one.topic], received)
        for status in one.replicas:
            yield _replica_line(status)
            if (end := status.log_end) is not None and end.lag_min is not None:
                lagging.append((end.lag_min, end, f"{one.topic}-{one.partition.partition}"))
    if lagging:
        _, end, place = max(lagging, key=itemgetter(0))
        at = f"{snapshot.at:%Y-%m-%d %H:%M:%S},{snapshot.at.microsecond // 1000:03}"
        among = f"at offset {end.offset} among {len(partitions)} partitions"
        yield f"{at}: max lag is {_lag(end)} for partition {place} {among}"


def _replica_line(status: ReplicaStatus) -> str:
    in_sync = UNKNOWN if status.in_sync is None else "yes" if status.in_sync else "no"
    cells = [("Replica", str(status.replica)), ("Broker", status.state), ("InSync", in_sync)]
    if status.in_sync is False:
        cells.append(("OutSince", iso(status.out_since) or UNKNOWN))
        cells.append(("Lag", _lag(status.log_end)))
    if status.log_end is not None:
        cells.append(("EndOffset", f"{status.log_end.offset} at {iso(status.log_end.at)}"))
    return "".join(f"\t{cell}" for cell in ["", *(f"{name}: {value}" for name, value in cells)])


def _lag(end: LogEnd | None) -> str:
    if end is None or end.lag_min is None:
        return UNKNOWN
    return str(end.lag_min) if end.lag_max is not None else f"{end.lag_min} or more"


def as_data(partitions: Iterable[VerifiedPartition]) -> list[dict[str, Any]]:
    """The same for programs: null is unknown, or does not apply to a replica in sync."""
    return [
        {
            "topic": one.topic,
            "partition": one.partition.partition,
            "leader": one.partition.leader,
            "leader_epoch": one.partition.leader_epoch,
            "isr": one.partition.isr,
            "since": one.partition.since,
            "evidence": one.partition.evidence,
            "replicas": [_replica(status) for status in one.replicas],
        }
        for one in partitions
    ]


def _replica(status: ReplicaStatus) -> dict[str, Any]:
    end = status.log_end
    return {
        "replica": status.replica,
        "broker": status.state,
        "in_sync": status.in_sync,
        "out_since": iso(status.out_since),
        "lag_min": end and end.lag_min,
        "lag_max": end and end.lag_max,
        "end_offset": end and end.offset,
        "end_offset_at": iso(end.at) if end else None,
        "end_offset_evidence": end and end.evidence,
    }
