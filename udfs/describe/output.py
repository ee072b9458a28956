"""A picture of a cluster in words and as data: topics, brokers, the controller, or what it held in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from udfs.describe import controller_context
from udfs.describe import kafka_topics as describe
from udfs.describe.controller_context import BrokerStatus, ControllerTerm
from udfs.describe.kafka_topics import AT_MIN_ISR, UNDER_MIN_ISR, UNKNOWN, Selection, Tool
from udfs.describe.snapshot import Snapshot, iso
from udfs.kafka.releases import TRUNK, Release

BROKERS, CONTROLLER, CONTEXT = "brokers", "controller", "context"
"""What can be shown instead of topics."""


def as_text(picture: Snapshot, selection: Selection, view: str | None) -> list[str]:
    """Lines for people; none where nothing is known."""
    told = picture.evidence
    if picture.is_before:
        return []
    if view == BROKERS:
        return [broker_line(told.tool, broker) for broker in told.brokers]
    if view == CONTROLLER:
        return [controller_line(told.reign)]
    if view == CONTEXT:
        return controller_context.lines(told)
    return describe.lines(told.tool, selection, told.alive)


def broker_line(tool: Tool, broker: BrokerStatus) -> str:
    """`Broker: 3  State: alive  Epoch: 25  Since: ...`, with tabs; there are no broker epochs before 2.2 (KIP-380)."""
    cells = [("Broker", str(broker.broker)), ("State", broker.state)]
    if broker.state in ("alive", "shutting_down") and (tool.kraft or tool.release >= Release(2, 2)):
        cells.append(("Epoch", UNKNOWN if broker.epoch is None else str(broker.epoch)))
    if broker.since is not None:
        cells.append(("Since", broker.since))
    return "\t".join(f"{name}: {value}" for name, value in cells)


def controller_line(reign: ControllerTerm) -> str:
    """`Controller: 3  Epoch: 1  Since: ...  ActiveSince: ...`, with tabs; `none` between two reigns."""
    if reign.controller_id is None:
        return f"Controller: {'none' if reign.is_known else UNKNOWN}"
    return "\t".join(
        [
            f"Controller: {reign.controller_id}",
            f"Epoch: {reign.controller_epoch}",
            f"Since: {reign.since}",
            f"ActiveSince: {reign.active_since or UNKNOWN}",
        ]
    )


def as_data(picture: Snapshot, selection: Selection, view: str | None) -> dict[str, Any]:
    """The same for programs. Null is unknown; `known` is false before the logs begin."""
    told = picture.evidence
    head = {
        "cluster": picture.cluster,
        "asked": iso(picture.asked),
        "at": iso(picture.at),
        "known": not picture.is_before,
        "logs_since": iso(picture.first),
        "logs_until": iso(picture.last),
        "kafka_version": None if told.tool.release == TRUNK else str(told.tool.release),
        "kraft": None if picture.is_before else told.tool.kraft,
        "remarks": list(remarks(picture, selection, view))[1:],
    }
    if view == BROKERS:
        return head | {"brokers": [_broker(b) for b in ([] if picture.is_before else told.brokers)]}
    if view == CONTROLLER:
        return head | {"controller": _controller(told.reign)}
    if view == CONTEXT:
        return head | {"context": None if picture.is_before else controller_context.as_data(told)}
    return head | {"topics": [describe.as_data(told.tool, topic, some) for topic, some in selection.topics]}


def _broker(broker: BrokerStatus) -> dict[str, Any]:
    return {"broker": broker.broker, "state": broker.state, "epoch": broker.epoch, "since": broker.since}


def _controller(reign: ControllerTerm) -> dict[str, Any] | None:
    if not reign.is_known:
        return None
    names = ("controller_id", "controller_epoch", "since", "active_since")
    return {name: getattr(reign, name) for name in names}


def remarks(picture: Snapshot, selection: Selection, view: str | None) -> Iterator[str]:
    """What is to be known of an answer, a sentence each; the first says of what and when it is."""
    told = picture.evidence
    release = "kafka-topics" if told.tool.release == TRUNK else f"kafka-topics {told.tool.release}"
    form = f", as {release} would print it" if view is None and not picture.is_before else ""
    yield f"Cluster {picture.cluster} at {iso(picture.at)}{form}."
    if picture.is_before:
        yield f"Its logs begin at {iso(picture.first)}: nothing is known of {iso(picture.asked)}."
        return
    if picture.asked > picture.last:
        yield f"Its logs end then: what changed until {iso(picture.asked)} is not known."
    yield from picture.notes
    if view is None:
        yield from _remarks_on_topics(told.tool, selection)
    elif view == BROKERS and not told.alive:
        yield "No controller's log tells which brokers were there."


def _remarks_on_topics(tool: Tool, selection: Selection) -> Iterator[str]:
    blank = [f"{topic.name}-{p.partition}" for topic, some in selection.topics for p in some if p.leader is None]
    if blank:
        yield f"No line tells the state of {_some(blank)} by then."
    if selection.undecided:
        why = "min.insync.replicas may be missing, give it with --conf" if selection.only in (AT_MIN_ISR, UNDER_MIN_ISR) else "see the answer without a filter"  # fmt: skip
        many = f"{selection.undecided:,} partition{'s are' if selection.undecided > 1 else ' is'}"
        yield f"{many} left out because the logs do not tell whether the filter lets them through ({why})."
    if tool.asks_brokers and selection.only is None:
        for topic, _ in selection.topics:
            if topic.deleting:
                yield f"Topic {topic.name} was being deleted, and brokers no longer told of it: it is left out."


def _some(values: Sequence[str], most: int = 5) -> str:
    """`a, b and 3 more`."""
    shown = ", ".join(values[:most])
    return f"{shown} and {len(values) - most:,} more" if len(values) > most else shown
