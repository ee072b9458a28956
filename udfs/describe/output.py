"""A snapshot of a cluster in words and as data: topics, brokers, the controller, or what it held in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from udfs.describe import controller_context
from udfs.describe import kafka_topics as describe
from udfs.describe import replicas as replica_states
from udfs.describe.controller_context import BrokerStatus, ControllerTerm
from udfs.describe.kafka_topics import AT_MIN_ISR, UNDER_MIN_ISR, UNKNOWN, Selection, Tool
from udfs.describe.replicas import VerifiedPartition
from udfs.describe.snapshot import Snapshot, iso
from udfs.kafka.releases import TRUNK, Release

BROKERS, CONTROLLER, CONTEXT = "brokers", "controller", "context"
"""What can be shown instead of topics."""
REPLICAS = "verify-replicas"
"""The same, of a selection of partitions."""


def as_text(
    snapshot: Snapshot, selection: Selection, view: str | None, verified: Sequence[VerifiedPartition] = ()
) -> list[str]:
    """Lines for people; none where nothing is known. `verified`: the selection, for the view of replicas."""
    cluster = snapshot.state
    if snapshot.is_before:
        return []
    if view == BROKERS:
        return [broker_line(cluster.tool, broker) for broker in cluster.brokers]
    if view == CONTROLLER:
        return [controller_line(cluster.term)]
    if view == CONTEXT:
        return controller_context.lines(cluster)
    if view == REPLICAS:
        return list(replica_states.as_lines(snapshot, verified))
    return describe.lines(cluster.tool, selection, cluster.alive)


def broker_line(tool: Tool, broker: BrokerStatus) -> str:
    """`Broker: 3  State: alive  Epoch: 25  Since: ...`, with tabs; there are no broker epochs before 2.2 (KIP-380)."""
    cells = [("Broker", str(broker.broker)), ("State", broker.state)]
    if broker.state in ("alive", "shutting_down") and (tool.kraft or tool.release >= Release(2, 2)):
        cells.append(("Epoch", UNKNOWN if broker.epoch is None else str(broker.epoch)))
    if broker.since is not None:
        cells.append(("Since", broker.since))
    return "\t".join(f"{name}: {value}" for name, value in cells)


def controller_line(term: ControllerTerm) -> str:
    """`Controller: 3  Epoch: 1  Since: ...  ActiveSince: ...`, with tabs; `none` between two controller terms."""
    if term.controller_id is None:
        return f"Controller: {'none' if term.is_known else UNKNOWN}"
    return "\t".join(
        [
            f"Controller: {term.controller_id}",
            f"Epoch: {term.controller_epoch}",
            f"Since: {term.since}",
            f"ActiveSince: {term.active_since or UNKNOWN}",
        ]
    )


def as_data(
    snapshot: Snapshot, selection: Selection, view: str | None, verified: Sequence[VerifiedPartition] = ()
) -> dict[str, Any]:
    """The same for programs. Null is unknown; `known` is false before the logs begin."""
    cluster = snapshot.state
    head = {
        "cluster": snapshot.cluster,
        "asked": iso(snapshot.asked),
        "at": iso(snapshot.at),
        "known": not snapshot.is_before,
        "logs_since": iso(snapshot.first),
        "logs_until": iso(snapshot.last),
        "kafka_version": None if cluster.tool.release == TRUNK else str(cluster.tool.release),
        "kraft": None if snapshot.is_before else cluster.tool.kraft,
        "remarks": list(remarks(snapshot, selection, view))[1:],
    }
    if view == BROKERS:
        return head | {"brokers": [_broker(b) for b in ([] if snapshot.is_before else cluster.brokers)]}
    if view == CONTROLLER:
        return head | {"controller": _controller(cluster.term)}
    if view == CONTEXT:
        return head | {"context": None if snapshot.is_before else controller_context.as_data(cluster)}
    if view == REPLICAS:
        return head | {"partitions": replica_states.as_data(verified)}
    return head | {
        "topics": [describe.as_data(cluster.tool, topic, partitions) for topic, partitions in selection.topics]
    }


def _broker(broker: BrokerStatus) -> dict[str, Any]:
    return {"broker": broker.broker, "state": broker.state, "epoch": broker.epoch, "since": broker.since}


def _controller(term: ControllerTerm) -> dict[str, Any] | None:
    if not term.is_known:
        return None
    names = ("controller_id", "controller_epoch", "since", "active_since")
    return {name: getattr(term, name) for name in names}


def remarks(snapshot: Snapshot, selection: Selection, view: str | None) -> Iterator[str]:
    """What a reader has to know about the output, a sentence each; the first names the cluster and the moment."""
    cluster = snapshot.state
    release = "kafka-topics" if cluster.tool.release == TRUNK else f"kafka-topics {cluster.tool.release}"
    form = f", as {release} would print it" if view is None and not snapshot.is_before else ""
    yield f"Cluster {snapshot.cluster} at {iso(snapshot.at)}{form}."
    if snapshot.is_before:
        yield f"Its logs begin at {iso(snapshot.first)}: nothing is known about {iso(snapshot.asked)}."
        return
    if snapshot.asked > snapshot.last:
        yield f"Its logs end then; changes until {iso(snapshot.asked)} are not known."
    yield from snapshot.notes
    if view in (None, REPLICAS):
        yield from _remarks_on_topics(cluster.tool, selection)
    elif view == BROKERS and not cluster.alive:
        yield "No controller log shows which brokers were alive."


def _remarks_on_topics(tool: Tool, selection: Selection) -> Iterator[str]:
    blank = [
        f"{topic.name}-{p.partition}" for topic, partitions in selection.topics for p in partitions if p.leader is None
    ]
    if blank:
        yield f"The logs do not show the state of {_first(blank)} at that time."
    if selection.undecided:
        needs_min_isr = selection.only in (AT_MIN_ISR, UNDER_MIN_ISR)
        hint = (
            "if min.insync.replicas is missing, give it with --conf" if needs_min_isr else "run it without the filter"
        )
        partitions = f"{selection.undecided:,} partition{'s are' if selection.undecided > 1 else ' is'}"
        yield f"{partitions} left out: the logs do not show whether the filter applies ({hint})."
    if tool.asks_brokers and selection.only is None:
        for topic, _ in selection.topics:
            if topic.deleting:
                yield f"Topic {topic.name} is left out: it was being deleted, and brokers no longer listed it."


def _first(values: Sequence[str], most: int = 5) -> str:
    """`a, b and 3 more`."""
    shown = ", ".join(values[:most])
    return f"{shown} and {len(values) - most:,} more" if len(values) > most else shown
