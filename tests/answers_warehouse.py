"""A small published warehouse for answers: one outage that ended uncleanly, one that is still open. No Spark.

Broker 1 leads pay-in-0, loses its session at 10:05:00, and broker 2, which had left the ISR a minute before, is elected
uncleanly at 10:06:00. pay-in-1 has had no leader since 10:08:00; nobody knows why. The logs end at 10:10:00.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.conftest import instant
from tests.delta_warehouse import Rows, publish

STATE, CONTROLLER, SERVER = "aaaa", "bbbb", "cccc"
"""Streams: broker 3's state-change.log and controller.log, broker 1's server.log."""
LINES = {  # (stream, line) -> node, time, event type, message
    (STATE, 10): (3, "10:00:01", "partition_state_change", "Changed partition pay-in-0 to OnlinePartition"),
    (SERVER, 20): (1, "10:04:00", "isr_updated", "[Partition pay-in-0 broker=1] ISR updated to [1]"),
    (CONTROLLER, 30): (3, "10:05:00", "broker_change", "Newly added brokers: , deleted brokers: 1"),
    (STATE, 40): (3, "10:05:00.015", "partition_state_change_failed", "Controller 3 epoch 1 failed to change state"),
    (STATE, 41): (3, "10:05:00.020", "replica_state_change", "pay-in-0 has leader \x1b[31m-1"),
    (STATE, 42): (3, "10:06:00", "partition_state_change", "pay-in-0 </script><img src=x onerror=alert(1)> leader 2"),
    (SERVER, 21): (1, "10:05:30", "broker_starting", "starting"),
    (STATE, 50): (3, "10:08:00", "replica_state_change", "pay-in-1 has leader -1"),
}


def proof(*places: tuple[str, int]) -> list[dict[str, Any]]:
    """Evidence."""
    return [{"node_id": LINES[place][0], "file_id": place[0], "line": place[1]} for place in places]


def row(**values: Any) -> dict[str, Any]:
    """A row of cluster `c`; texts such as `10:05:00` under names of times are times."""
    names = (
        "at",
        "since",
        "until",
        "began_after",
        "ended_before",
        "active_since",
        "first_at",
        "last_at",
        "hour",
        "sent_at",
    )
    return {"cluster": "c"} | {
        name: instant(value) if name in names and isinstance(value, str) else value for name, value in values.items()
    }


def partition(number: int, **values: Any) -> dict[str, Any]:
    """A row about a partition of pay-in."""
    return row(topic="pay-in", partition=number, incarnation=0, **values)


def state(number: int, ordinal: int, leader: int, epoch: int, isr: list[int], **values: Any) -> dict[str, Any]:
    """A state of a partition."""
    known = {"partition_epoch": ordinal, "controller_epoch": 1, "inferred": False, "missing_before": 0}
    return partition(number, ordinal=ordinal, leader=leader, leader_epoch=epoch, isr=isr, **(known | values))


def tables() -> dict[str, Rows]:
    """All rows by table."""
    streams = [(STATE, "broker-3/state-change.log", 3), (CONTROLLER, "broker-3/controller.log", 3), (SERVER, "broker-1/server.log", 1)]  # fmt: skip
    return {
        "log_files": [
            row(file_id=file_id, path=f"/logs/{path}", node_ids=[node], role="broker", kind="server", size_bytes=1,
                event_bytes=1, detail_bytes=0, reject_bytes=0, other_bytes=0, duplicate_bytes=0, held_back_bytes=0,
                event_lines=1, reject_lines=0, time_zone="UTC", status="ok", also_seen_as=[], findings=[],
                kafka_versions="2.4.0..2.5.1", first_at="10:00:00", last_at="10:10:00")
            for file_id, path, node in streams
        ],
        "log_coverage": [
            row(node_id=node, kind=kind, since="10:00:00", until="10:10:00", records=9)
            for node in (1, 2, 3) for kind in ("server", "state_change", "controller")
        ],
        "events": [
            row(file_id=file_id, line=line, byte_offset=line, node_id=node, at=at, level="INFO", logger="l",
                event_type=kind, message=message, fields=[])
            for (file_id, line), (node, at, kind, message) in LINES.items()
        ],
        "topic_timeline": [row(topic="pay-in", incarnation=0, since="10:00:01", partitions=2)],
        "partition_timeline": [
            state(0, 0, 1, 0, [1, 2], replicas=[1, 2], since="10:00:01", until="10:04:00", availability="FullyInSync", made_by="controller", evidence=proof((STATE, 10))),
            state(0, 1, 1, 0, [1], replicas=[1, 2], since="10:04:00", until="10:05:00.020", availability="UnderReplicated", made_by="leader", evidence=proof((SERVER, 20))),
            state(0, 2, -1, 1, [1], replicas=[1, 2], since="10:05:00.020", until="10:06:00", availability="Offline", made_by="controller", evidence=proof((STATE, 41))),
            state(0, 3, 2, 2, [2], replicas=[1, 2], since="10:06:00", availability="UnderReplicated", made_by="controller", evidence=proof((STATE, 42))),
            state(1, 0, 3, 0, [3], replicas=[3], since="10:00:01", until="10:08:00", availability="FullyInSync", evidence=proof((STATE, 10))),
            state(1, 1, -1, 1, [3], replicas=[3], since="10:08:00", availability="Offline", inferred=True, evidence=proof((STATE, 50))),
        ],
        "offline_partitions": [
            partition(0, since="10:05:00.020", until="10:06:00", duration_ms=59_980, at_least_ms=59_980, at_most_ms=59_980,
                began_after="10:05:00.020", ended_before="10:06:00", cause="broker_failure", cause_broker=1, last_leader=1,
                last_isr=[1], healed_by="unclean_election", failed_elections=1, evidence=proof((STATE, 41), (STATE, 42))),
            partition(1, since="10:08:00", at_least_ms=120_000, began_after="10:08:00", last_leader=3, last_isr=[3],
                failed_elections=0, evidence=proof((STATE, 50))),
        ],
        "elections": [
            partition(0, at="10:05:00.015", succeeded=False, strategy="offline", live_brokers=[2, 3], evidence=proof((STATE, 40))),
            partition(0, at="10:06:00", succeeded=True, unclean=True, strategy="offline", previous_leader=-1, leader=2,
                leader_epoch=2, isr_before=[1], isr=[2], latency_ms=60_000, lost_records_min=5, lost_records_max=9, evidence=proof((STATE, 42))),
        ],
        "isr_changes": [
            partition(0, at="10:04:00", kind="shrink", made_by="leader", added=[], removed=[2], isr=[1], leader=1, leader_epoch=0, ordinal=1, lag=7, evidence=proof((SERVER, 20))),
        ],
        "isr_churn": [
            partition(0, follower=2, hour="10:00", shrinks=1, expands=0, flaps=0, leader_changes=1, churning=False),
        ],
        "broker_timeline": [
            row(broker=1, since="10:00:00", until="10:05:00", ended_by="session_expired", evidence=proof((STATE, 10), (CONTROLLER, 30))),
            row(broker=2, since="10:00:00", evidence=[]),
            row(broker=3, since="10:00:00", evidence=[]),
        ],
        "controller_timeline": [
            row(cluster_incarnation=0, controller_id=3, controller_epoch=1, mode="zookeeper", since="10:00:00", active_since="10:00:00.100", failover_ms=100, overlap_ms=0, evidence=[]),
        ],
        "reassignments": [],
        "control_requests": [row(controller_id=3, controller_epoch=1, correlation_id=1, kind="LeaderAndIsr", broker=1, partitions=1, sent_at="10:00:02", evidence=[])],
        "verdicts": [
            row(rule="leader_in_isr", subject="pay-in-0@2", topic="pay-in", partition=0, at="10:06:00", verdict="violated",
                expected="one of 1", actual="2", missing_inputs=[], explanation="The leader is not in the ISR.", evidence=proof((STATE, 42))),
            row(rule="leader_in_isr", subject="pay-in-1@0", topic="pay-in", partition=1, at="10:00:01", verdict="holds", missing_inputs=[], explanation="ok", evidence=[]),
        ],
        "rejects": [], "contradictions": [], "clock_offsets": [],
    }  # fmt: skip


def night(root: Path, changes: Mapping[str, Rows] | None = None, without: tuple[str, ...] = ()) -> Path:
    """The warehouse, with other rows of some tables, or without some tables; its folder."""
    whole = {name: rows for name, rows in (tables() | dict(changes or {})).items() if name not in without}
    return publish(root, 1, "published", **whole)


def moment(text: str) -> datetime:
    """A time of that day."""
    return instant(text)
