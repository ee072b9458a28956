"""`what-if`: what would go down if brokers were lost, by Kafka's own election over a rewound state."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from jobs.answers.admin import controller_of, notes_of, too_early
from jobs.answers.listing import Listing, in_columns
from jobs.answers.words import brokers_in_words, was_or_were
from jobs.nightly.wording import date_time, plural
from jobs.nightly.words import listed
from schemas.kafka_values import NO_LEADER
from udfs.describe.kafka_topics import DescribedPartition, DescribedTopic
from udfs.describe.snapshot import Snapshot, iso
from udfs.errors import BadInput
from udfs.kafka.admin_requests import Controller, Partition, lose

ALIVE = ("alive", "shutting_down")


@dataclass
class Losses:
    """What becomes of the partitions. Each is named `topic-0`."""

    offline: list[str] = field(default_factory=list)
    """Would lose their leader, and no replica in sync is left."""
    already_offline: list[str] = field(default_factory=list)
    under_min_isr: list[str] = field(default_factory=list)
    """Would have a leader, but fewer replicas in sync than `min.insync.replicas`: no writes with acks=all."""
    last_replica: list[str] = field(default_factory=list)
    """Would have a single replica in sync."""
    moved: dict[int, list[str]] = field(default_factory=dict)
    """By broker the partitions that it would take over."""
    unknown: list[str] = field(default_factory=list)
    """Their leader, ISR or assignment is in no line, or whether others are eligible to lead."""
    untouched: int = 0


def gone_brokers(snapshot: Snapshot) -> set[int]:
    """Brokers that were away at the moment."""
    return {broker.broker for broker in snapshot.state.brokers if broker.state not in ALIVE}


def losses_of(snapshot: Snapshot, lost: Collection[int]) -> Losses:
    """What becomes of each partition if brokers are lost at once. Unclean elections do not count."""
    losses = Losses()
    state = snapshot.state
    gone, controller = gone_brokers(snapshot), controller_of(snapshot)
    for topic in state.topics:
        for partition in topic.partitions:
            _judge(controller, topic, partition, {*lost}, gone, losses)
    return losses


def _judge(
    controller: Controller,
    topic: DescribedTopic,
    partition: DescribedPartition,
    lost: set[int],
    gone: set[int],
    losses: Losses,
) -> None:
    """Put one partition where it belongs."""
    name = f"{topic.name}-{partition.partition}"
    if partition.leader == -1 or partition.leader in gone:  # one that is dead may stay named in ZooKeeper
        losses.already_offline.append(name)
        return
    if partition.isr is None or partition.leader is None:
        losses.unknown.append(name)
        return
    if not lost & {*partition.isr, partition.leader}:
        losses.untouched += 1
        return
    left = [broker for broker in partition.isr if broker not in lost]
    elr, minimum = partition.elr or (), topic.min_insync_replicas
    # of replicas that no line names only those in sync can be elected, in an order that matters if several are left
    replicas = (*partition.isr, *elr) if partition.replicas is None else partition.replicas
    if partition.leader in lost:
        if partition.replicas is None and len({*left} - gone) > 1:
            losses.unknown.append(name)
            return
        whole = Partition(
            topic.name, partition.partition, replicas, partition.isr, partition.leader, 0, partition.adding,
            partition.removing, elr, min_isr=minimum or 1,
        )  # fmt: skip
        leader, isr = lose(controller, whole, lost)
        if leader == NO_LEADER:
            others = {*replicas} - {*partition.isr} - lost - gone
            is_unknown = others and _lacks_eligible(controller, partition, minimum)
            (losses.unknown if is_unknown else losses.offline).append(name)
            return
        losses.moved.setdefault(leader, []).append(name)
        left = list(isr)
    if minimum is not None and len(left) < minimum:
        losses.under_min_isr.append(name)
    elif len(left) == 1 and len(replicas) > 1:
        losses.last_replica.append(name)


def _lacks_eligible(controller: Controller, partition: DescribedPartition, minimum: int | None) -> bool:
    """Whether replicas may be eligible to lead of which no line tells: with enough of them in sync there are none."""
    if not controller.elr_enabled or partition.elr is not None:
        return False
    in_sync, replicas = len(partition.isr or ()), partition.replicas
    return minimum is None or in_sync < (minimum if replicas is None else min(minimum, len(replicas)))


def what_if_answer(snapshot: Snapshot, lost: Sequence[int]) -> Listing:
    """What would go down if brokers were lost at a moment; without any, for each broker what it alone holds.

    Nobody misses partitions whose topic was being deleted. Raises BadInput for a broker that no line of that moment
    names.
    """
    if snapshot.is_before:
        return too_early(snapshot)
    snapshot = _without_deletions(snapshot)
    if not lost:
        return _single_points(snapshot)
    known = {*_replicas(snapshot), *(broker.broker for broker in snapshot.state.brokers)}
    when = f"{date_time(snapshot.at)} UTC"
    if not known:
        raise BadInput(f"No broker is known at {when}: no line up to then names one.")
    if unknown := {*lost} - known:
        raise BadInput(f"There is no broker {listed(sorted(unknown))} at {when}; there are {listed(sorted(known))}.")
    losses = losses_of(snapshot, lost)
    return Listing(
        snapshot.cluster,
        _sentence(snapshot, lost, losses),
        _lines(losses),
        _unknown(snapshot, losses),
        _data(snapshot, lost, losses),
    )


def _without_deletions(snapshot: Snapshot) -> Snapshot:
    """The snapshot without the topics that were being deleted, and a note of them."""
    deleting = [topic.name for topic in snapshot.state.topics if topic.deleting]
    if not deleting:
        return snapshot
    were = "it was" if len(deleting) == 1 else "they were"
    topics = [topic for topic in snapshot.state.topics if not topic.deleting]
    note = f"What would become of {listed(deleting)}: {were} being deleted, and left out."
    return replace(snapshot, state=replace(snapshot.state, topics=topics), notes=(*snapshot.notes, note))


def _replicas(snapshot: Snapshot) -> set[int]:
    """All brokers that have a replica."""
    partitions = [partition for topic in snapshot.state.topics for partition in topic.partitions]
    return {broker for p in partitions for broker in (*(p.replicas or ()), *(p.isr or ()))}


def _sentence(snapshot: Snapshot, lost: Sequence[int], losses: Losses) -> str:
    total = sum(len(topic.partitions) for topic in snapshot.state.topics)
    down = f"{plural(len(losses.offline), 'partition')} of {total:,} would have no leader"
    if not losses.offline:
        down = f"none of {plural(total, 'partition')} would lose its leader and get no other"
    moved = sum(map(len, losses.moved.values()))
    parts = [down]
    if losses.under_min_isr:
        parts.append(f"{plural(len(losses.under_min_isr), 'partition')} would take no writes with acks=all")
    if moved:
        parts.append(f"{plural(moved, 'leader')} would move")
    if losses.already_offline:
        parts.append(f"{plural(len(losses.already_offline), 'partition')} had none already")
    if losses.unknown:
        parts.append(f"of {plural(len(losses.unknown), 'partition')} that is not known")
    left = {*_replicas(snapshot), *(one.broker for one in snapshot.state.brokers)} - gone_brokers(snapshot) - {*lost}
    controller = f"; the controller would {'change' if left else 'be lost'}, too"
    if snapshot.state.term.controller_id not in lost:
        controller = ""
    gone = sorted({*lost} & gone_brokers(snapshot))
    was = f"; {brokers_in_words(gone)} {was_or_were(gone)} away already" if gone else ""
    return (
        f"Had {brokers_in_words(lost)} been lost at {date_time(snapshot.at)} UTC: {', '.join(parts)}{controller}{was}."
    )


def _lines(losses: Losses) -> list[str]:
    kinds = (
        ("no leader", losses.offline),
        ("below min.insync.replicas", losses.under_min_isr),
        ("a single replica in sync", losses.last_replica),
        ("no leader already", losses.already_offline),
    )
    lines = [f"{title + ':':<27}{len(names):>6,}  {listed(names, 8)}" for title, names in kinds if names]
    moved = [(broker, names) for broker, names in sorted(losses.moved.items())]
    lines += [f"{f'broker {broker} would lead:':<27}{len(names):>6,}  {listed(names, 8)}" for broker, names in moved]
    return [*lines, f"{'not touched:':<27}{losses.untouched:>6,}"]


def _unknown(snapshot: Snapshot, losses: Losses) -> list[str]:
    unknown = notes_of(snapshot)
    if losses.unknown:
        elr = " (if too few are in sync, the ELR)" if controller_of(snapshot).elr_enabled else ""
        unknown.append(f"What would become of {listed(losses.unknown)}: leader, ISR{elr} or assignment is in no line.")
    topics = snapshot.state.topics
    if any(topic.min_insync_replicas is None for topic in topics):
        names = listed((topic.name for topic in topics if topic.min_insync_replicas is None), 3)
        unknown.append(f"Which partitions would fall below min.insync.replicas, of {names}: name it with --conf.")
    if not snapshot.state.brokers:
        unknown.append("Which brokers were alive: no controller's log shows it; all replicas count as alive.")
    return unknown


def _data(snapshot: Snapshot, lost: Sequence[int], losses: Losses) -> dict[str, object]:
    return {
        "at": iso(snapshot.at),
        "lost_brokers": list(lost),
        "offline": losses.offline,
        "under_min_isr": losses.under_min_isr,
        "last_replica": losses.last_replica,
        "already_offline": losses.already_offline,
        "new_leaders": {str(broker): names for broker, names in sorted(losses.moved.items())},
        "untouched": losses.untouched,
        "unknown": losses.unknown,
    }


def _single_points(snapshot: Snapshot) -> Listing:
    """For each broker what would go down if it alone were lost, the worst first."""
    brokers = sorted(_replicas(snapshot) - gone_brokers(snapshot))
    alone = {broker: losses_of(snapshot, [broker]) for broker in brokers}
    order = sorted(brokers, key=lambda b: (-len(alone[b].offline), -len(alone[b].under_min_isr), b))
    rows = []
    for broker in order:
        losses = alone[broker]
        moved = sum(map(len, losses.moved.values()))
        rows.append([broker, len(losses.offline), len(losses.under_min_isr), moved, listed(losses.offline)])
    head = ["lost broker", "no leader", "below min ISR", "leaders move", "partitions that live on it alone"]
    when = date_time(snapshot.at)
    worst = order[0] if order else None
    offline = losses_of(snapshot, []).already_offline
    if worst is None:
        sentence = _nothing_to_lose(snapshot, len(offline))
    elif alone[worst].offline:
        count = plural(len(alone[worst].offline), "partition")
        only = _without_other_replica(snapshot, alone[worst].offline)
        sentence = f"At {when} UTC {count} lived on broker {worst} alone{only}: {listed(alone[worst].offline)}."
    else:
        sentence = f"At {when} UTC no partition lived on one broker alone."
    if worst is not None and offline:
        sentence += f" {plural(len(offline), 'partition')} had no leader already: {listed(offline)}."
    data = {"at": iso(snapshot.at), "brokers": [{"broker": b, **_data(snapshot, [b], alone[b])} for b in order]}
    unknown = _unknown(snapshot, Losses(unknown=alone[worst].unknown if worst is not None else []))
    lines = in_columns(head, rows, (1, 2, 3)) if rows else []
    return Listing(snapshot.cluster, sentence, lines, unknown, data)


def _without_other_replica(snapshot: Snapshot, names: Sequence[str]) -> str:
    """How many of some partitions have one replica only, as words in brackets; empty if none has."""
    single = {
        f"{topic.name}-{partition.partition}"
        for topic in snapshot.state.topics
        for partition in topic.partitions
        if len(partition.replicas or ()) == 1
    }
    count = len(single & {*names})
    which = "" if count == len(names) else f"{count:,} of them "
    return f" ({which}with one replica only)" if count else ""


def _nothing_to_lose(snapshot: Snapshot, offline: int) -> str:
    """Of a moment at which no broker is known that holds a replica and is alive: what is known instead."""
    when = f"{date_time(snapshot.at)} UTC"
    total = sum(len(topic.partitions) for topic in snapshot.state.topics)
    if not total:
        return f"No partition is known at {when}."
    gone = sorted(gone_brokers(snapshot))
    away = f": {brokers_in_words(gone)} had gone" if gone else ""
    which = plural(total, "partition") if offline == total else f"{offline:,} of {plural(total, 'partition')}"
    return f"At {when} {which} had no leader, and no broker with a replica is known to be alive{away}."
